//! Constant folding of every mnemonic whose result is known, on edges and random constants.
//!
//! A kernel computes values from constants and stores them. It must store the same values after the pass.

use crate::harness::{ENTRY, HEADER, Setup, Trial, edges, floats, prologue};
use oriole_generate::mnemonics::{ValueForm, value_forms};
use oriole_generate::{Random, Width};
use oriole_isa::{Opcode, evaluate};
use std::fmt::Write;

/// Values of each opcode, at least: of few mnemonics several.
const FEWEST_OF_OPCODE: usize = 40;
/// Passes that know what instructions give of constants.
const PASSES: &[&str] = &[
    "constant-folding",
    "algebraic-simplification",
    "general-optimize",
];
/// Values that one kernel computes.
const VALUES: usize = 100;

/// A constant of a width: an edge, a floating-point number, or anything.
fn constant(random: &mut Random, width: Width) -> u64 {
    let bits = match width {
        Width::Predicate => return random.bits() & 1,
        Width::Half => 16,
        Width::Word => 32,
        Width::Double => 64,
    };
    match random.below(3) {
        0 => *random.pick(&edges(bits)),
        1 => *random.pick(&floats(bits)),
        _ => random.bits() & (u64::MAX >> (64 - bits)),
    }
}

/// Operands for which the result of a form is certain.
fn operands(random: &mut Random, form: &ValueForm) -> Vec<u64> {
    for _ in 0..200 {
        let draw = |index| match form.source_width(index) {
            Some(width) => constant(random, width),
            None => random.bits() & 255,
        };
        let operands: Vec<u64> = (0..form.sources.len()).map(draw).collect();
        let inputs: Vec<u128> = operands.iter().map(|&bits| bits.into()).collect();
        if evaluate(&form.mnemonic, &inputs).is_some() {
            return operands;
        }
    }
    panic!("`{}` is never certain", form.text);
}

/// The instructions of a form on constants. In some, a loaded value is one of the operands.
fn value(random: &mut Random, form: &ValueForm, number: usize) -> String {
    let mut text = String::new();
    let mut names = Vec::new();
    // A loaded divisor may be zero, and the result of a loaded amount may be open.
    let loads = match form.mnemonic.opcode() {
        Opcode::Div | Opcode::Rem => number % 4 == 3 && !form.has_floats(),
        _ => number % 4 == 3 && is_always_certain(random, form),
    };
    for (index, bits) in operands(random, form).into_iter().enumerate() {
        let Some(width) = form.source_width(index) else {
            names.push(bits.to_string());
            continue;
        };
        if loads && index == 0 {
            names.push(format!("{}{}", width.stem(), 1 + bits % 2));
            continue;
        }
        let name = format!("{}{}", width.stem(), 10 + index);
        let _ = writeln!(text, "    mov{} {name}, {bits};", width.type_name());
        names.push(name);
    }
    let width = form.result_width();
    let result = format!("{}9", width.stem());
    let _ = writeln!(text, "    {} {result}, {};", form.text, names.join(", "));
    let at = 8 * number;
    match width {
        Width::Predicate => {
            let _ = writeln!(
                text,
                "    selp.b32 %r8, 1, 2, {result};\n    st.global.b32 [%out+{at}], %r8;"
            );
        }
        width => {
            let _ = writeln!(
                text,
                "    st.global{} [%out+{at}], {result};",
                width.type_name()
            );
        }
    }
    text
}

/// True for a form with a certain result for each of many operands.
fn is_always_certain(random: &mut Random, form: &ValueForm) -> bool {
    (0..40).all(|_| {
        let draw = |index| match form.source_width(index) {
            Some(width) => u128::from(constant(random, width)),
            None => 5,
        };
        let inputs: Vec<u128> = (0..form.sources.len()).map(draw).collect();
        evaluate(&form.mnemonic, &inputs).is_some()
    })
}

/// A kernel that computes these values.
fn kernel(random: &mut Random, forms: &[&ValueForm]) -> String {
    let mut text = format!("{HEADER}{ENTRY}\n{{\n{}", prologue(8 * VALUES));
    text += "    ld.global.b32 %r1, [%in];\n    ld.global.b32 %r2, [%in+8];\n    ld.global.b64 %d1, [%in];\n    \
        ld.global.b64 %d2, [%in+8];\n    ld.global.b16 %h1, [%in];\n    ld.global.b16 %h2, [%in+8];\n    \
        setp.lt.s32 %p1, %r1, %r2;\n    setp.eq.s32 %p2, %r1, 0;\n";
    for (number, form) in forms.iter().enumerate() {
        text += &value(random, form, number);
    }
    text + "    ret;\n}\n"
}

#[test]
fn folded_values_are_those_of_the_instructions() {
    let mut random = Random::new(0xF01D);
    let mut chosen: Vec<&ValueForm> = Vec::new();
    for forms in value_forms().values() {
        let forms: Vec<&ValueForm> = forms.iter().filter(|form| !form.has_carry()).collect();
        let count = FEWEST_OF_OPCODE.max(forms.len());
        chosen.extend(forms.into_iter().cycle().take(count));
    }
    let setup = Setup {
        width: 32,
        block: [32, 1, 1],
        threads: 32,
        output_bytes: 8 * VALUES,
    };
    let mut kernels = 0;
    for forms in chosen.chunks(VALUES) {
        let text = kernel(&mut random, forms);
        let trial = Trial::new(&text, setup).unwrap_or_else(|error| panic!("{error}"));
        for &pass in PASSES {
            let counters = trial
                .check(&[pass])
                .unwrap_or_else(|error| panic!("{error}"));
            kernels += usize::from(counters.contains("constant-folding.instructions"));
        }
    }
    // Simplification counts what it folds as its own.
    let expected = 2 * chosen.len().div_ceil(VALUES);
    assert_eq!(kernels, expected, "kernels in which something is folded");
}
