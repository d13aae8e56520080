//! Every pass on all pairs of integer instructions of which one reads the other.
//!
//! There is no list of patterns: each pair runs before and after the pass, with some constant between the two instructions. Pairs
//! are made of all opcodes that can be evaluated, so a new one takes part by itself.

use crate::harness::{ENTRY, HEADER, Setup, Trial, edges, prologue};
use oriole_generate::mnemonics::{ValueForm, value_forms};
use oriole_isa::{Opcode, ScalarType, evaluate};
use std::collections::BTreeSet;
use std::fmt::Write;

/// Pairs that one kernel computes.
const PAIRS: usize = 96;
/// Threads, each with operands of its own.
const THREADS: usize = 96;

/// Constants of an instruction, and of the one that reads it. No instruction is trivial with the first: there is a pair with each.
const CONSTANTS: [[u32; 2]; 8] = [
    [8, 7],
    [0xFFFF_FF00, 0xFF],
    [6, 6],
    [0xF0F0, 0xFFFF_0F0F],
    [31, 33],
    [0x8000_0001, 0x7FFF_FFFF],
    [5, 3],
    [0x00FF_FF00, 0x1_0000],
];

/// How one instruction reads another: `a` and `b` are operands, `c` and `d` constants, `i` is the inner result.
const SHAPES: [[&str; 2]; 8] = [
    ["ac", "ai"],
    ["ac", "ia"],
    ["ac", "id"],
    ["ab", "ib"],
    ["ab", "ai"],
    ["ca", "ia"],
    ["ac", "ic"],
    ["ac", "bi"],
];

/// Instructions of one or two words that give a word, those together that compute the same.
fn forms() -> Vec<Vec<&'static ValueForm>> {
    let mut classes: Vec<Vec<&ValueForm>> = Vec::new();
    for forms in value_forms().values() {
        let is_word = |own: &Option<ScalarType>| {
            own.is_some_and(|own| !own.is_float() && own.lanes() == 1 && own.bits() == 32)
        };
        let is_usable = |form: &&ValueForm| {
            is_word(&Some(form.result))
                && form.sources.len() <= 2
                && form.sources.iter().all(is_word)
                && !form.has_carry()
        };
        let first = classes.len();
        for form in forms.iter().filter(is_usable) {
            let is_same = |class: &&mut Vec<&ValueForm>| compute_the_same(class[0], form);
            match classes[first..].iter_mut().find(is_same) {
                Some(class) => class.push(form),
                None => classes.push(vec![form]),
            }
        }
    }
    classes
}

/// Whether two forms give the same for all pairs of edges.
fn compute_the_same(one: &ValueForm, other: &ValueForm) -> bool {
    let edges = edges(32);
    one.sources.len() == other.sources.len()
        && edges.iter().all(|&first| {
            edges.iter().all(|&second| {
                let inputs = [first.into(), second.into()];
                let inputs = &inputs[..one.sources.len()];
                evaluate(&one.mnemonic, inputs) == evaluate(&other.mnemonic, inputs)
            })
        })
}

/// One instruction; the words say what its operands are.
fn instruction(form: &ValueForm, operands: &str, constants: [u32; 2], result: &str) -> String {
    let mut text = String::new();
    let mut names = Vec::new();
    for (index, letter) in operands.chars().take(form.sources.len()).enumerate() {
        let name = match letter {
            'a' => "%r1".to_owned(),
            'b' => "%r2".to_owned(),
            'c' => (constants[0] as i32).to_string(),
            'd' => (constants[1] as i32).to_string(),
            _ => "%r3".to_owned(),
        };
        // A division by zero is the one thing integers leave open.
        let divides = matches!(form.mnemonic.opcode(), Opcode::Div | Opcode::Rem) && index == 1;
        match divides && name.starts_with('%') {
            true => {
                let _ = writeln!(text, "    or.b32 %r5, {name}, 1;");
                names.push("%r5".to_owned());
            }
            false => names.push(name),
        }
    }
    let _ = writeln!(text, "    {} {result}, {};", form.text, names.join(", "));
    text
}

/// All pairs, as instructions; the pairs of a row are in the shapes given, one after the other.
fn pairs(shapes: &[[&str; 2]]) -> Vec<String> {
    let forms = forms();
    let mut pairs = Vec::new();
    for inner in &forms {
        for outer in &forms {
            let number = pairs.len();
            let shape = shapes[(number + number / forms.len()) % shapes.len()];
            // An instruction with one operand reads the inner result.
            let reads = match outer[0].sources.len() {
                1 => "i",
                _ => shape[1],
            };
            let constants = CONSTANTS[(number * 5 + number / 8) % CONSTANTS.len()];
            let (inner, outer) = (inner[number % inner.len()], outer[number / 3 % outer.len()]);
            pairs.push(
                instruction(inner, shape[0], constants, "%r3")
                    + &instruction(outer, reads, constants, "%r4"),
            );
        }
    }
    pairs
}

/// A kernel that computes pairs, each for itself.
fn kernel(pairs: &[String]) -> String {
    let mut text = format!("{HEADER}{ENTRY}\n{{\n{}", prologue(4 * PAIRS));
    text += "    ld.global.b32 %r1, [%in];\n    ld.global.b32 %r2, [%in+8];\n";
    for (number, pair) in pairs.iter().enumerate() {
        text += pair;
        let _ = writeln!(text, "    st.global.b32 [%out+{}], %r4;", 4 * number);
    }
    text + "    ret;\n}\n"
}

/// Runs passes, given by the number of the kernel, on pairs of instructions. Gives the passes that did something.
fn run(
    passes: impl Fn(usize) -> Vec<&'static str>,
    shapes: &[[&str; 2]],
) -> BTreeSet<&'static str> {
    let setup = Setup {
        width: 32,
        block: [32, 1, 1],
        threads: THREADS,
        output_bytes: 4 * PAIRS,
    };
    let mut active = BTreeSet::new();
    for (number, chunk) in pairs(shapes).chunks(PAIRS).enumerate() {
        let trial = Trial::new(&kernel(chunk), setup).unwrap_or_else(|error| panic!("{error}"));
        for pass in passes(number) {
            let counters = trial.check(&[pass]);
            if !counters
                .unwrap_or_else(|error| panic!("{error}"))
                .is_empty()
            {
                active.insert(pass);
            }
        }
    }
    active
}

#[test]
fn pairs_of_instructions_give_what_they_gave() {
    let all: Vec<_> = oriole_opt::PASSES.iter().map(|pass| pass.name).collect();
    let active = run(|_| all.clone(), &SHAPES[..1]);
    assert!(active.len() >= 10, "{active:?}");
    // The other shapes are for those that look at straight code, in turn. `ORIOLE_PAIRS` asks for all of them.
    let active: Vec<_> = active.into_iter().collect();
    let rest = &SHAPES[1..];
    if std::env::var_os("ORIOLE_PAIRS").is_some() {
        for shape in rest {
            run(|_| active.clone(), &[*shape]);
        }
    }
    let in_turn = |number: usize| vec!["general-optimize", active[number % active.len()]];
    run(in_turn, rest);
}
