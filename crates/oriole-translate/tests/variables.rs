//! Variables that a pass adds, changes and removes are declared so, and all others as they were.

use oriole_analysis::Analyses;
use oriole_ir::{Editor, Formats, Function, Instruction, Operand, Variable, VariableType, verify};
use oriole_isa::{ScalarType, Space};
use oriole_syntax::scopes::Globals;
use oriole_syntax::tree::Module;
use oriole_translate::{OutOfSsaError, into_ssa, out_of_ssa};

const HEADER: &str = ".version 8.0\n.target sm_80\n.address_size 64\n";

/// Edits the first function of a module; gives the lines of its text that changed, removed ones with `-`, new ones with `+`.
fn edited(
    text: &str,
    edit: impl FnOnce(&mut Editor<'_>, &dyn Fn(&Function, &str) -> Variable),
) -> Result<Vec<String>, OutOfSsaError> {
    let text = format!("{HEADER}{text}");
    let (mut module, errors) = oriole_syntax::parse("k.ptx", text.as_str());
    assert!(errors.is_empty(), "{errors:?}");
    let (globals, _) = Globals::of(&module);
    let before = oriole_syntax::print(&module);
    let mut translated = into_ssa(&module, &globals, 0, &mut Formats::new()).unwrap();
    let named = |module: &Module, function: &Function, name: &str| {
        let mut variables = function.variables().iter();
        let is_named = |data: &oriole_ir::VariableData| module.text(data.name) == name;
        variables.find(|(_, data)| is_named(data)).unwrap().0
    };
    let mut editor = Editor::new(&mut translated.function);
    edit(&mut editor, &|function, name| {
        named(&module, function, name)
    });
    editor.finish();
    assert_eq!(verify(&translated.function), []);
    out_of_ssa(
        &mut module,
        &globals,
        0,
        &mut translated,
        &mut Analyses::new(),
    )?;
    let after = oriole_syntax::print(&module);
    assert_eq!(oriole_syntax::parse("again.ptx", after.as_str()).1, []);
    let (before, after): (Vec<&str>, Vec<&str>) =
        (before.lines().collect(), after.lines().collect());
    let gone = before.iter().filter(|line| !after.contains(line));
    let new = after.iter().filter(|line| !before.contains(line));
    let gone = gone.map(|line| format!("-{}", line.trim()));
    Ok(gone
        .chain(new.map(|line| format!("+{}", line.trim())))
        .collect())
}

/// The instructions of the first block.
fn instructions(function: &Function) -> Vec<Instruction> {
    function.instructions_of(function.entry()).collect()
}

const KERNEL: &str = ".entry k(.param .u64 p)
{
    .reg .b32 %r<4>;
    .local .align 8 .b8 first[8]; // one
    .local .b32 second, third[2], fourth; // three
    .local .b32 range<2>;
    // before
    .shared .f32 unused;
    st.local.u32 [first+4], 1;
    st.local.u32 [second], 2;
    st.local.u32 [range1], 3;
    ret;
}
";

#[test]
fn a_variable_that_is_removed_loses_its_declaration() {
    let lines = edited(KERNEL, |editor, named| {
        let stores = instructions(editor.function());
        let (first, range) = (
            named(editor.function(), "first"),
            named(editor.function(), "range1"),
        );
        editor.remove_instruction(stores[0]);
        editor.remove_instruction(stores[2]);
        for variable in [first, range] {
            editor.remove_variable(variable);
        }
        for name in ["third", "unused"] {
            let variable = named(editor.function(), name);
            editor.remove_variable(variable);
        }
    });
    assert_eq!(
        lines.unwrap(),
        [
            "-.local .align 8 .b8 first[8]; // one",
            "-.local .b32 second, third[2], fourth; // three",
            "-.shared .f32 unused;",
            "-st.local.u32 [first+4], 1;",
            "-st.local.u32 [range1], 3;",
            "+.local .b32 second, fourth; // three",
        ],
        "a range stays, and so does the comment before"
    );
}

#[test]
fn a_variable_of_another_type_is_declared_where_it_was() {
    let padded = |count, alignment| VariableType {
        alignment,
        ..VariableType::array(ScalarType::B8, count)
    };
    let lines = edited(KERNEL, |editor, named| {
        for (name, variable_type) in [
            ("first", padded(12, 16)),
            ("third", VariableType::array(ScalarType::F64, 2)),
            ("range1", VariableType::scalar(ScalarType::B64)),
        ] {
            let variable = named(editor.function(), name);
            editor.set_variable_type(variable, variable_type);
        }
    });
    assert_eq!(
        lines.unwrap(),
        [
            "-.local .align 8 .b8 first[8]; // one",
            "-.local .b32 second, third[2], fourth; // three",
            "-st.local.u32 [range1], 3;",
            "+.local .b64 range1_oriole_0;",
            "+.local .align 16 .b8 first[12]; // one",
            "+.local .b32 second, fourth;",
            "+.local .f64 third[2]; // three",
            "+st.local.u32 [range1_oriole_0], 3;",
        ]
    );
}

#[test]
fn an_added_variable_has_a_name_of_its_own() {
    let lines = edited(KERNEL, |editor, named| {
        let first = named(editor.function(), "first");
        let data = editor.function().variables()[first];
        let added = editor.add_variable(data.name, Space::Shared, data.variable_type);
        let store = instructions(editor.function())[0];
        let operand = editor.variable(added);
        editor.set_operand(store, 0, operand);
        // One of this name that nothing names is declared too.
        editor.add_variable(
            data.name,
            Space::Local,
            VariableType::scalar(ScalarType::U16),
        );
    });
    assert_eq!(
        lines.unwrap(),
        [
            "-st.local.u32 [first+4], 1;",
            "+.shared .align 8 .b8 first_oriole_0[8];",
            "+.local .u16 first_oriole_1;",
            "+st.local.u32 [first_oriole_0+4], 1;",
        ],
        "the instruction is rewritten although the name starts like the one before"
    );
}

const SCOPED: &str = ".entry k(.param .u64 p)
{
    .reg .b32 %r<4>;
    .shared .b32 x;
    st.shared.u32 [x], 1;
    {
        .shared .b32 x, y;
        st.shared.u32 [x], 2;
        st.shared.u32 [y], 3;
    }
    st.shared.u32 [x], 4;
    ret;
}
";

/// Lets one store name what another names.
fn rename(editor: &mut Editor<'_>, store: usize, like: usize) {
    let stores = instructions(editor.function());
    let name: Operand = editor.function().operands(stores[like])[0];
    editor.set_operand(stores[store], 0, name);
}

#[test]
fn what_is_named_outside_of_its_scope_is_declared_for_the_function() {
    let lines = edited(SCOPED, |editor, _| rename(editor, 3, 2));
    assert_eq!(
        lines.unwrap(),
        [
            "-.shared .b32 x, y;",
            "-st.shared.u32 [y], 3;",
            "-st.shared.u32 [x], 4;",
            "+.shared .b32 y_oriole_0;",
            "+.shared .b32 x;",
            "+st.shared.u32 [y_oriole_0], 3;",
            "+st.shared.u32 [y_oriole_0], 4;",
        ]
    );
    // The outer `x` is hidden in the inner scope.
    let lines = edited(SCOPED, |editor, _| rename(editor, 2, 0));
    assert_eq!(
        lines.unwrap(),
        [
            "-.shared .b32 x;",
            "-st.shared.u32 [x], 1;",
            "-st.shared.u32 [y], 3;",
            "-st.shared.u32 [x], 4;",
            "+.shared .b32 x_oriole_0;",
            "+st.shared.u32 [x_oriole_0], 1;",
            "+st.shared.u32 [x_oriole_0], 3;",
            "+st.shared.u32 [x_oriole_0], 4;",
        ]
    );
}

#[test]
fn what_cannot_be_declared_again_leaves_the_function_as_it_was() {
    let global = SCOPED.replace(
        "        .shared .b32 x, y;",
        "        .shared .b32 x; .global .b32 y = 7;",
    );
    let refused = edited(&global, |editor, _| rename(editor, 3, 2));
    assert!(refused.unwrap_err().to_string().contains("cannot be seen"));
    let parameter = SCOPED
        .replace(
            "        .shared .b32 x, y;",
            "        .shared .b32 x, y; .shared .b32 p;",
        )
        .replace("    st.shared.u32 [x], 1;", "    st.param.u32 [p], 1;");
    let refused = edited(&parameter, |editor, _| rename(editor, 2, 0));
    assert!(refused.unwrap_err().to_string().contains("cannot be seen"));
}

#[test]
fn debug_sections_keep_declarations() {
    let text = format!("{KERNEL}.section .debug_info {{\n.b64 first\n}}\n");
    let lines = edited(&text, |editor, named| {
        let store = instructions(editor.function())[0];
        editor.remove_instruction(store);
        let first = named(editor.function(), "first");
        editor.remove_variable(first);
    });
    assert_eq!(lines.unwrap(), ["-st.local.u32 [first+4], 1;"]);
}

#[test]
fn debug_sections_name_what_was_changed() {
    let text = format!("{KERNEL}.section .debug_info {{\n.b64 first\n}}\n");
    let lines = edited(&text, |editor, named| {
        let first = named(editor.function(), "first");
        let larger = VariableType {
            bytes: Some(16),
            ..editor.function().variables()[first].variable_type
        };
        editor.set_variable_type(first, larger);
    });
    // Both would take room.
    let expected = [
        "-.local .align 8 .b8 first[8]; // one",
        "+.local .align 8 .b8 first[16]; // one",
    ];
    assert_eq!(lines.unwrap(), expected);
}
