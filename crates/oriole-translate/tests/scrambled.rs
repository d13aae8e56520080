//! Leaving SSA form stays right whatever a pass did: values replaced by others that dominate them, homes exchanged or lost.
//!
//! Replacements here do not keep the meaning of the program; they keep it in SSA form. What is checked is that the registers
//! assigned hold the values the SSA form says, and that what is written is a function again with the same instructions.

mod random;

use oriole_analysis::{Analyses, ControlFlow, Dominators};
use oriole_ir::{
    Block, Definition, Editor, Formats, Function, Instruction, Operand, Value, verify,
};
use oriole_isa::{Opcode, ScalarType, build};
use oriole_syntax::scopes::Globals;
use oriole_translate::{assign, check, into_ssa, out_of_ssa};
use random::Random;

/// Replaces values by values of the same type that dominate them, and changes homes.
fn scramble(function: &mut Function, random: &mut Random) {
    let flow = ControlFlow::of(function);
    let dominators = Dominators::of(function, &flow);
    let mut defined: Vec<(Value, Block, u32)> = Vec::new();
    for &block in flow.reverse_postorder() {
        for &parameter in &function.blocks()[block].parameters {
            defined.push((parameter, block, 0));
        }
        for (position, instruction) in function.instructions_of(block).enumerate() {
            for result in function.results(instruction) {
                defined.push((result, block, position as u32 + 1));
            }
        }
    }
    let registers: Vec<oriole_ir::Register> = function
        .registers()
        .iter()
        .filter(|(_, data)| !data.pinned)
        .map(|(register, _)| register)
        .collect();
    let mut editor = Editor::new(function);
    insert_additions(&mut editor, &defined, random);
    for &(value, block, position) in &defined {
        if random.below(4) == 0 {
            let (other, other_block, other_position) = defined[random.below(defined.len())];
            let values = editor.function().values();
            let before = if other_block == block {
                other_position < position
            } else {
                dominators.dominates(other_block, block)
            };
            if before && other != value && values[other].scalar_type == values[value].scalar_type {
                editor.replace_value(value, other);
            }
        }
        if random.below(6) == 0 {
            let register = registers[random.below(registers.len())];
            let same = editor.function().registers()[register].scalar_type
                == Some(editor.function().values()[value].scalar_type);
            if random.below(3) == 0 {
                editor.set_name(value, None);
            } else if same {
                editor.set_name(value, Some(register));
            }
        }
    }
    editor.finish();
}

/// Inserts `add.s32 new, old, 7` behind some definitions: instructions without a statement and values without a home.
fn insert_additions(editor: &mut Editor<'_>, defined: &[(Value, Block, u32)], random: &mut Random) {
    for &(value, _, _) in defined {
        let function = editor.function();
        let data = function.values()[value];
        let Definition::Instruction(definition) = data.definition else {
            continue;
        };
        let (true, Some(next)) = (
            data.scalar_type == ScalarType::B32,
            function.next_instruction(definition),
        ) else {
            continue;
        };
        if random.below(10) != 0 {
            continue;
        }
        let format = editor.plain_format(&build::typed(Opcode::Add, ScalarType::S32), 3);
        let seven = editor.integer(7, false);
        editor.insert_before(
            next,
            format,
            &[Operand::Result(0), Operand::Value(value), seven],
            &[ScalarType::B32],
        );
    }
}

/// The mnemonics of a function, without branches: those that lead to the next place anyway are not written.
fn instruction_texts(function: &Function) -> Vec<String> {
    function
        .block_order()
        .iter()
        .flat_map(|&block| function.instructions_of(block))
        .map(|instruction: Instruction| function.format(instruction).mnemonic.text().to_owned())
        .filter(|mnemonic| !mnemonic.starts_with("bra"))
        .collect()
}

#[test]
fn scrambled_functions_keep_their_meaning() {
    let folder = oriole_corpus::folder();
    let mut files: Vec<_> = ["nvcc", "triton", "hand", "numba"]
        .iter()
        .flat_map(|origin| std::fs::read_dir(folder.join(origin)).unwrap())
        .map(|entry| entry.unwrap().path())
        .collect();
    files.sort();
    let mut random = Random(0x9E37_79B9_7F4A_7C15);
    let (mut functions, mut copies) = (0, 0);
    for file in files {
        let text = std::fs::read_to_string(&file).unwrap();
        if text.len() > 40_000 {
            continue;
        }
        let (module, errors) = oriole_syntax::parse(file.display().to_string(), text);
        assert!(errors.is_empty(), "{}: {errors:?}", file.display());
        let (globals, _) = Globals::of(&module);
        for index in 0..module.functions.len() {
            let Some(body) = &module.functions[index].body else {
                continue;
            };
            if body.statements.len() > 400 {
                continue;
            }
            for _ in 0..3 {
                let mut translated =
                    into_ssa(&module, &globals, index, &mut Formats::new()).unwrap();
                scramble(&mut translated.function, &mut random);
                let violations = verify(&translated.function);
                assert!(
                    violations.is_empty(),
                    "{}: {}",
                    file.display(),
                    violations[0]
                );
                let flow = ControlFlow::of(&translated.function);
                let assignment = assign(&translated.function, &mut Analyses::new());
                let mismatches = check(&translated.function, &flow, &assignment);
                assert!(
                    mismatches.is_empty(),
                    "{}: {}\n{}",
                    file.display(),
                    mismatches[0],
                    oriole_ir::text::print(module.whole_text(), &translated.function)
                );
                let before = instruction_texts(&translated.function);
                let undefined = translated
                    .function
                    .values()
                    .values()
                    .filter(|value| value.definition == Definition::Undefined)
                    .count();
                let mut written = module.clone();
                let inserted = out_of_ssa(
                    &mut written,
                    &globals,
                    index,
                    &mut translated,
                    &mut Analyses::new(),
                )
                .unwrap_or_else(|error| panic!("{}: {error}", file.display()))
                .copies;
                let inserted: usize = inserted.iter().map(|copies| copies.count).sum();
                // What was written is a function, with the instructions there were and the copies that were announced.
                let printed = oriole_syntax::print(&written);
                let (again, errors) = oriole_syntax::parse("again", printed);
                assert!(errors.is_empty(), "{}: {errors:?}", file.display());
                let (globals, _) = Globals::of(&again);
                let again_ssa = into_ssa(&again, &globals, index, &mut Formats::new())
                    .unwrap_or_else(|errors| panic!("{}: {errors:?}", file.display()));
                assert!(verify(&again_ssa.function).is_empty());
                let after = instruction_texts(&again_ssa.function);
                let extra = after.len() - before.len();
                assert!(extra >= inserted, "{}", file.display());
                let undefined_after = again_ssa
                    .function
                    .values()
                    .values()
                    .filter(|value| value.definition == Definition::Undefined)
                    .count();
                // A register read before it is written would be a new undefined value.
                assert!(undefined_after <= undefined, "{}", file.display());
                functions += 1;
                copies += inserted;
            }
        }
    }
    assert!(functions > 500, "only {functions} functions were scrambled");
    assert!(
        copies > 300,
        "only {copies} copies were needed: the test tests nothing"
    );
}
