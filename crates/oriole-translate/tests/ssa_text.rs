//! The SSA form of every function at hand can be printed, read and printed again: the text is the same, and so is the function.
//! Texts that are mutated are refused or read, and nothing else happens.

mod random;

use oriole_ir::text::{Printer, print, read};
use oriole_ir::{Formats, Function, Operand, Value};
use oriole_syntax::scopes::Globals;
use oriole_translate::into_ssa;
use random::Random;
use std::path::{Path, PathBuf};

/// The PTX of the corpus and of the file tests.
fn files() -> Vec<PathBuf> {
    let mut files = oriole_corpus::files();
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/files");
    files.extend(oriole_corpus::below(&tests));
    files
}

/// Calls a function for each function of each file, with the text its names are slices of.
fn for_each_function(mut visit: impl FnMut(&str, &str, &Function)) {
    for file in files() {
        let name = file.display().to_string();
        let text = std::fs::read_to_string(&file).unwrap();
        let (module, errors) = oriole_syntax::parse(name.as_str(), text.as_str());
        let (globals, more) = Globals::of(&module);
        if !errors.is_empty() || !more.is_empty() {
            continue;
        }
        for index in 0..module.functions.len() {
            if module.functions[index].body.is_none() {
                continue;
            }
            if let Ok(translated) = into_ssa(&module, &globals, index, &mut Formats::new()) {
                visit(&name, module.whole_text(), &translated.function);
            }
        }
    }
}

/// What an operand is, whatever numbers its parts have in its function.
fn operand_text(names: &str, function: &Function, operand: Operand) -> String {
    match operand {
        Operand::Register(register) => {
            let data = function.registers()[register];
            let name = &names[data.name.span().range()];
            format!("{name} {:?} {}", data.scalar_type, data.pinned)
        }
        Operand::Symbol(symbol) => {
            let data = function.symbols()[symbol];
            let name = &names[data.name.span().range()];
            let kind = format!("{:?}", data.kind);
            // Numbers in it refer to a module.
            let kind = kind.split(|letter: char| letter.is_ascii_digit()).next();
            format!("{name} {kind:?} {:?}", data.space)
        }
        Operand::Constant(constant) => format!("{:?}", function.constants()[constant].literal),
        operand => format!("{operand:?}"),
    }
}

fn value_text(names: &str, function: &Function, value: Value) -> String {
    let data = function.values()[value];
    let home = data.name.expand().map(|home| {
        let data = function.registers()[home];
        (&names[data.name.span().range()], data.scalar_type)
    });
    format!(
        "{value} {:?} {:?} {home:?}",
        data.definition, data.scalar_type
    )
}

/// Everything about a function that a pass can see, piece by piece.
fn pieces(names: &str, function: &Function) -> Vec<String> {
    let mut pieces = vec![format!("{:?}", function.kind())];
    for &block in function.block_order() {
        let data = &function.blocks()[block];
        let value = |&value: &Value| value_text(names, function, value);
        let parameters: Vec<String> = data.parameters.iter().map(value).collect();
        pieces.push(format!("{block} {parameters:?} {}", data.falls_through));
        for instruction in function.instructions_of(block) {
            let format = function.format(instruction);
            let operand = |&operand: &Operand| operand_text(names, function, operand);
            let operands: Vec<String> =
                function.operands(instruction).iter().map(operand).collect();
            let results: Vec<String> = function
                .results(instruction)
                .map(|value| value_text(names, function, value))
                .collect();
            pieces.push(format!(
                "{instruction} {results:?} {} {:?} {:?} {operands:?}",
                format.mnemonic.text(),
                format.guard,
                format.shape
            ));
        }
        for &edge in function.edges(block) {
            pieces.push(format!("{} {:?}", edge.target, function.arguments(edge)));
        }
    }
    pieces
}

#[test]
fn what_is_printed_is_read_as_the_same_function() {
    let mut functions = 0;
    for_each_function(|name, names, function| {
        let line_of = |statement| Some(statement);
        let text = Printer::new(names, function)
            .with_lines(&line_of)
            .function();
        let read = read(&text).unwrap_or_else(|errors| {
            let error = &errors[0];
            let from = text[..error.span().start as usize].rfind('\n').unwrap_or(0);
            panic!("{name}: {} in{:.200}", error.message, &text[from..])
        });
        let [again] = &read[..] else {
            panic!("{name}: {} functions", read.len());
        };
        let printed = Printer::new(&text, again).with_lines(&line_of).function();
        let differs = text
            .lines()
            .zip(printed.lines())
            .find(|(one, other)| one != other);
        assert!(text == printed, "{name}: {differs:?}");
        let (before, after) = (pieces(names, function), pieces(&text, again));
        for (before, after) in before.iter().zip(&after) {
            assert_eq!(before, after, "{name}");
        }
        assert_eq!(before.len(), after.len(), "{name}");
        functions += 1;
    });
    assert!(functions > 500, "only {functions} functions");
}

/// Changes a few places of a text: bytes, words, lines.
fn mutate(text: &str, random: &mut Random) -> String {
    const WORDS: &[&str] = &[
        "v0",
        "v1:b32",
        "v99999",
        "block1(",
        "->",
        "->0",
        "#0",
        "#7",
        "@",
        "%r1#2",
        "pinned ",
        "if ",
        "else ",
        "not ",
        "next",
        "{",
        "}",
        "[",
        "]",
        "(",
        ")",
        "+",
        "-",
        "|",
        "=",
        ":",
        ",",
        "\n",
        "\"",
        "at 7",
        "undefined ",
        "?",
        "_",
        "!",
        ".x",
        "ret",
        "bra",
        "entry k {\n",
        "mov.b32 ",
        "//",
        "é",
        "\0",
        "4294967295",
        "-9223372036854775808S",
    ];
    let mut bytes = text.as_bytes().to_vec();
    for _ in 0..1 + random.below(4) {
        let at = random.below(bytes.len());
        let end = (at + random.below(12)).min(bytes.len());
        match random.below(8) {
            // Another number, as a rule another value.
            4.. => {
                let digit = |byte: &u8| byte.is_ascii_digit();
                if let Some(found) = bytes[at..].iter().position(digit) {
                    bytes[at + found] = b'0' + random.below(10) as u8;
                }
            }
            0 => {
                bytes.drain(at..end);
            }
            1 => {
                let word = WORDS[random.below(WORDS.len())];
                bytes.splice(at..at, word.bytes());
            }
            2 => {
                let word = WORDS[random.below(WORDS.len())];
                bytes.splice(at..end, word.bytes());
            }
            _ => {
                let from = random.below(bytes.len());
                let part = bytes[from..(from + 60).min(bytes.len())].to_vec();
                bytes.splice(at..at, part);
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[test]
fn mutated_texts_break_nothing() {
    let mut seeds = Vec::new();
    for_each_function(|_, names, function| {
        let text = print(names, function);
        if text.len() < 4000 {
            seeds.push(text);
        }
    });
    let count = std::env::var("ORIOLE_SSA_MUTATIONS");
    let count = count
        .ok()
        .and_then(|count| count.parse().ok())
        .unwrap_or(6000);
    let mut random = Random(0x5EED_0F55_A7E7_7E57);
    let (mut accepted, mut refused) = (0, 0);
    for _ in 0..count {
        let text = mutate(&seeds[random.below(seeds.len())], &mut random);
        match read(&text) {
            // What can be read is printed and read again.
            Ok(functions) => {
                accepted += 1;
                let line_of = |line| Some(line);
                let print = |names: &str, functions: &[Function]| -> String {
                    let print = |each| Printer::new(names, each).with_lines(&line_of).function();
                    functions.iter().map(print).collect()
                };
                let printed = print(&text, &functions);
                let again =
                    read(&printed).unwrap_or_else(|errors| panic!("{errors:?}\n{text}\n{printed}"));
                assert_eq!(print(&printed, &again), printed, "{text}");
            }
            Err(errors) => {
                refused += 1;
                assert!(!errors.is_empty());
                for error in errors {
                    assert!(error.span().end as usize <= text.len(), "{error:?}");
                    assert!(!error.message.is_empty());
                }
            }
        }
    }
    assert!(
        accepted > count / 50 && refused > count / 50,
        "{accepted} and {refused}"
    );
}
