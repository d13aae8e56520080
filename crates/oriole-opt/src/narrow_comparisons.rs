//! Compares the low halves of 64-bit integers where these decide.
//!
//! ## Example
//! ```text
//! cvt.u64.u32 %rd1, %r1;                  cvt.u64.u32 %rd1, %r1;
//! mov.u64 %rd2, 0;                        mov.u64 %rd2, 0;
//! $loop:                                  $loop:
//! …                                  →    …
//! add.s64 %rd2, %rd2, 1;                  add.s64 %rd2, %rd2, 1;
//!                                         cvt.u32.u64 %r2, %rd2;
//! setp.ne.s64 %p1, %rd2, %rd1;            setp.ne.s32 %p1, %r2, %r1;
//! @%p1 bra $loop;                         @%p1 bra $loop;
//! ```
//!
//! ## Soundness
//! ScalarEvolution says whether the low halves decide, and how (`scalar_evolution::narrowing`): by ranges, by the conditions that
//! dominate the comparison, and by how often loops run.
//!
//! ## Profit
//! One of two machine instructions for each comparison, except on `sm_120`, which has 64-bit ones: nothing is done there.
//!
//! ## Method
//! Machine code compares 64 bits in two steps, and `ptxas` does not find that one would do; the low half of a register costs nothing. What was
//! extended is compared as it was before. If only the comparison reads an `and`, the `and` becomes one of 32 bits. The machine's `and`
//! compares its result with zero, unless a conversion comes between them. If nothing but low halves is read of a counter then,
//! `narrow-counters` makes it one. Answers are asked for before anything is changed.
//!
//! ## Not done
//! `setp` with two results, `set`, and comparisons of numbers that may be large (`narrow_comparisons`).

use crate::manager::{Action, Context, Pass, Trigger};
use crate::remark::Rewrite;
use oriole_analysis::scalar_evolution::{LowHalves, ScalarEvolution};
use oriole_analysis::{Analyses, ControlFlow, literal_bits};
use oriole_ir::{Definition, Editor, Function, Instruction, Operand, Traits, Value};
use oriole_isa::cost::CostModel;
use oriole_isa::{Comparison, MnemonicText, Opcode, ScalarType, build};

/// The pass.
pub(crate) const PASS: Pass = Pass {
    name: "narrow-comparisons",
    summary: "Compare the low halves of 64-bit integers where these decide",
    action: Action::Once(run, Trigger::Rewrites),
};

fn run(editor: &mut Editor<'_>, analyses: &mut Analyses, context: &mut Context<'_>) {
    if !CostModel::of(context.environment.target()).has_wide_pairs() {
        return;
    }
    let function = editor.function();
    if !function.traits().have(Traits::COMPARES_WIDE) {
        return;
    }
    let flow = analyses.get::<ControlFlow>(function);
    let mut wide = Vec::new();
    for &block in flow.reverse_postorder() {
        let instructions = function.instructions_of(block);
        let own = instructions.filter(|&it| is_wide_comparison(function, it));
        wide.extend(own.map(|instruction| (instruction, block)));
    }
    if wide.is_empty() {
        return;
    }
    let mut narrow: Vec<(Instruction, LowHalves)> = Vec::new();
    {
        let evolution = analyses.get::<ScalarEvolution>(function);
        let mut query = evolution.on(function);
        for (instruction, block) in wide {
            let halves = query.low_halves(instruction, block);
            narrow.extend(halves.map(|halves| (instruction, halves)));
        }
    }
    for (instruction, halves) in narrow {
        let rewrite = Rewrite {
            counter: "narrow-comparisons.comparisons",
            instruction,
            why: "low halves decide it",
            equal: None,
        };
        if !context.allows(editor.function(), rewrite) {
            return;
        }
        compare_low_halves(editor, instruction, halves);
    }
}

/// Whether an instruction is a comparison of 64-bit integers into one predicate that is read.
fn is_wide_comparison(function: &Function, instruction: Instruction) -> bool {
    let format = function.format(instruction);
    let mut results = function.results(instruction);
    format.mnemonic.opcode() == Opcode::Setp
        && format.is_simple()
        && format
            .mnemonic
            .first_type()
            .is_some_and(|compared| compared.bits() == 64 && !compared.is_float())
        && results.len() == 1
        && results.all(|result| function.use_count(result) > 0)
        && function.operands(instruction)[1..3]
            .iter()
            .all(|operand| match *operand {
                Operand::Value(value) => function.values()[value].scalar_type.bits() == 64,
                Operand::Constant(constant) => function.constants()[constant].literal.is_some(),
                _ => false,
            })
}

fn compare_low_halves(editor: &mut Editor<'_>, instruction: Instruction, halves: LowHalves) {
    let function = editor.function();
    let mnemonic = function.format(instruction).mnemonic.clone();
    let wide = mnemonic.first_type().expect("a type that is compared");
    // How numbers are told apart does not depend on the type, but `ptxas` unrolls loops better that test for signed ones.
    let is_equality = matches!(
        mnemonic.modifiers().comparison,
        Some(Comparison::Equal | Comparison::NotEqual)
    );
    let is_signed = match halves {
        LowHalves::Unsigned => is_equality,
        LowHalves::Same => is_equality || wide.is_signed(),
        LowHalves::Differ | LowHalves::Equal => true,
    };
    let narrow = ScalarType::integer(is_signed, 32).expect("32 bits");
    let made = match halves {
        LowHalves::Differ => build::setp(Comparison::NotEqual, narrow),
        LowHalves::Equal => build::setp(Comparison::Equal, narrow),
        LowHalves::Same | LowHalves::Unsigned => match mnemonic.with_type(0, narrow) {
            Some(made) => made,
            None => return,
        },
    };
    let mut operands = function.operands(instruction).to_vec();
    for operand in &mut operands[1..3] {
        *operand = low_half(editor, instruction, *operand, (wide, narrow));
    }
    let format = editor.plain_format(&made, operands.len());
    editor.rewrite(instruction, format, &operands);
}

/// The low half of an operand, computed before an instruction if it is not there.
fn low_half(
    editor: &mut Editor<'_>,
    before: Instruction,
    operand: Operand,
    (wide, narrow): (ScalarType, ScalarType),
) -> Operand {
    let function = editor.function();
    match operand {
        Operand::Value(value) => {
            if let Some(half) = extended(function, value) {
                return Operand::Value(half);
            }
            if let Some(sources) = masked(function, value) {
                // A mask of a mask is cut, so that this ends.
                let [left, right] = sources.map(|source| match source {
                    Operand::Value(source) if masked(editor.function(), source).is_some() => {
                        Operand::Value(cut(editor, before, source))
                    }
                    source => low_half(editor, before, source, (wide, narrow)),
                });
                let and = build::typed(Opcode::And, ScalarType::B32);
                return Operand::Value(insert(editor, before, &and, &[left, right]));
            }
            Operand::Value(cut(editor, before, value))
        }
        Operand::Constant(constant) => {
            let literal = function.constants()[constant].literal;
            let bits = literal.and_then(|literal| literal_bits(literal, wide));
            let bits = bits.expect("a number") as u32;
            // A negative number is easier to read with its sign.
            match narrow.is_signed() && (bits as i32) < 0 {
                true => editor.integer(bits as i32 as i64 as u64, false),
                false => editor.integer(bits.into(), false),
            }
        }
        other => other,
    }
}

/// The operands of an `and` with one reader.
fn masked(function: &Function, value: Value) -> Option<[Operand; 2]> {
    let Definition::Instruction(instruction) = function.values()[value].definition else {
        return None;
    };
    let format = function.format(instruction);
    let &[_, left, right] = function.operands(instruction) else {
        return None;
    };
    let is_number = |operand: Operand| match operand {
        Operand::Value(value) => function.values()[value].scalar_type.bits() == 64,
        Operand::Constant(constant) => function.constants()[constant].literal.is_some(),
        _ => false,
    };
    let is_mask = format.mnemonic.opcode() == Opcode::And
        && format.is_simple()
        && function.use_count(value) == 1
        && is_number(left)
        && is_number(right);
    is_mask.then_some([left, right])
}

/// The low half of a value, as a value of its own.
fn cut(editor: &mut Editor<'_>, before: Instruction, value: Value) -> Value {
    let cut = build::cvt(ScalarType::U32, ScalarType::U64);
    insert(editor, before, &cut, &[Operand::Value(value)])
}

/// Puts an instruction with one result of 32 bits before another.
fn insert(
    editor: &mut Editor<'_>,
    before: Instruction,
    mnemonic: &MnemonicText,
    sources: &[Operand],
) -> Value {
    let mut operands = vec![Operand::Result(0)];
    operands.extend_from_slice(sources);
    let format = editor.plain_format(mnemonic, operands.len());
    let made = editor.insert_before(before, format, &operands, &[ScalarType::B32]);
    editor.copy_line(before, made);
    let mut results = editor.function().results(made);
    results.next().expect("it has one result")
}

/// The 32-bit value that a value is the extension of.
fn extended(function: &Function, value: Value) -> Option<Value> {
    let Definition::Instruction(instruction) = function.values()[value].definition else {
        return None;
    };
    let format = function.format(instruction);
    let (&[to, from], &[_, Operand::Value(source)]) =
        (format.mnemonic.types(), function.operands(instruction))
    else {
        return None;
    };
    let is_extension = format.mnemonic.opcode() == Opcode::Cvt
        && format.is_simple()
        && to.is_integer()
        && from.is_integer()
        && (to.bits(), from.bits()) == (64, 32)
        && function.values()[source].scalar_type.bits() == 32;
    is_extension.then_some(source)
}
