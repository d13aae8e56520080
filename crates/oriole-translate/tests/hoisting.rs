//! A register of an inner scope that is needed outside gets a new name at the function's start; all others keep theirs.

use oriole_analysis::Analyses;
use oriole_ir::{Definition, Editor, Formats, Value};
use oriole_syntax::scopes::Globals;
use oriole_translate::{Translated, into_ssa, out_of_ssa};

const TEXT: &str = ".version 8.0
.target sm_80
.address_size 64
.entry k(
	.param .u64 p
)
{
	.reg .b64 %rd<2>;
	.reg .b32 %r<3>;
	ld.param.u64 %rd1, [p];
	mov.u32 %r1, %ctaid.x;
	{
		.reg .b32 %r<3>;
		mov.u32 %r1, %tid.x;
		st.global.u32 [%rd1], %r1;
	}
	add.s32 %r2, %r1, 1;
	st.global.u32 [%rd1+4], %r2;
	ret;
}
";

/// The value that the n-th `mov` gives.
fn moved(translated: &Translated, number: usize) -> Value {
    let function = &translated.function;
    let block = function.entry();
    let instruction = function
        .instructions_of(block)
        .filter(|&instruction| function.format(instruction).mnemonic.text() == "mov.u32")
        .nth(number)
        .expect("there are two moves");
    function
        .results(instruction)
        .next()
        .expect("a move has a result")
}

#[test]
fn an_inner_register_needed_outside_is_renamed_and_declared_at_the_start() {
    let (mut module, errors) = oriole_syntax::parse("k.ptx", TEXT);
    assert!(errors.is_empty(), "{errors:?}");
    let (globals, _) = Globals::of(&module);
    let mut translated = into_ssa(&module, &globals, 0, &mut Formats::new()).unwrap();
    let (outer, inner) = (moved(&translated, 0), moved(&translated, 1));
    let mut editor = Editor::new(&mut translated.function);
    editor.replace_value(outer, inner);
    editor.finish();
    assert_ne!(
        translated.function.values()[inner].definition,
        Definition::Undefined
    );
    let written = out_of_ssa(
        &mut module,
        &globals,
        0,
        &mut translated,
        &mut Analyses::new(),
    )
    .unwrap();
    assert_eq!(written.copies, []);
    let printed = oriole_syntax::print(&module);
    let expected = TEXT
        .replace(
            "{\n\t.reg .b64",
            "{\n\t.reg .b32 %oriole_b32_0;\n\t.reg .b64",
        )
        .replace("mov.u32 %r1, %tid.x", "mov.u32 %oriole_b32_0, %tid.x")
        .replace("[%rd1], %r1", "[%rd1], %oriole_b32_0")
        .replace("add.s32 %r2, %r1, 1", "add.s32 %r2, %oriole_b32_0, 1");
    assert_eq!(printed, expected);
}

#[test]
fn new_names_avoid_those_in_use() {
    let text = TEXT.replace(
        "\t.reg .b64 %rd<2>;\n",
        "\t.reg .b64 %rd<2>;\n\t.reg .b32 %oriole_b32_0;\n",
    );
    let (mut module, errors) = oriole_syntax::parse("k.ptx", text);
    assert!(errors.is_empty(), "{errors:?}");
    let (globals, _) = Globals::of(&module);
    let mut translated = into_ssa(&module, &globals, 0, &mut Formats::new()).unwrap();
    let (outer, inner) = (moved(&translated, 0), moved(&translated, 1));
    let mut editor = Editor::new(&mut translated.function);
    editor.replace_value(outer, inner);
    editor.finish();
    out_of_ssa(
        &mut module,
        &globals,
        0,
        &mut translated,
        &mut Analyses::new(),
    )
    .unwrap();
    let printed = oriole_syntax::print(&module);
    assert!(printed.contains(".reg .b32 %oriole_b32_1;"), "{printed}");
}
