//! Arithmetic of 64-bit floats in code that is otherwise of 32 bits.
//!
//! ## Method
//! A chain of 64-bit operations that begins with conversions from 32 bits and constants alone, and whose results are only converted back, computes
//! nothing that anybody sees with more than 32 bits. It is there because of a literal without `f` or a function of the wrong
//! name. What is said is said of the conversion back. Kernels that load or store 64-bit floats, or that take one, are left alone.

use super::roots::definition;
use super::{Facts, FindingKind, Found, Impact, Subject};
use crate::report::words;
use oriole_ir::{Function, Instruction, Operand, Value};
use oriole_isa::{Opcode, ScalarType};
use std::collections::BTreeSet;

pub(super) fn find(subject: &Subject<'_>, found: &mut Vec<Found>) {
    let function = subject.function;
    let mut narrowing = Vec::new();
    for (block, instruction) in subject.instructions() {
        let mnemonic = &function.format(instruction).mnemonic;
        match mnemonic.opcode() {
            Opcode::Cvt if mnemonic.types() == [ScalarType::F32, ScalarType::F64] => {
                narrowing.push((block, instruction));
            }
            Opcode::Ld | Opcode::St | Opcode::Atom | Opcode::Red
                if mnemonic.first_type() == Some(ScalarType::F64) =>
            {
                return;
            }
            _ => {}
        }
    }
    for (block, instruction) in narrowing {
        let Some(chain) = chain(function, instruction) else {
            continue;
        };
        let count = chain.len();
        found.push(Found {
            kind: FindingKind::DoublePrecision,
            impact: Impact::Usual,
            instruction,
            what: format!(
                "{} on floats",
                words::count(count as u64, "double-precision operation")
            ),
            why: "the result is rounded to float again".to_owned(),
            facts: Facts {
                count: Some(count as u32),
                ..Facts::default()
            },
            weight: COST * count as f64 * subject.executions(block),
        });
    }
}

/// Instructions of 32 bits that could be issued in the time of one of 64, about: 2 on datacenter GPUs, 64 on others.
const COST: f64 = 2.0;

/// Longer chains are not looked at.
const MOST_OPERATIONS: usize = 256;

/// The 64-bit operations that a conversion to 32 bits is computed by, if they start from floats of 32 bits and constants.
fn chain(function: &Function, narrowing: Instruction) -> Option<BTreeSet<usize>> {
    let mut operations = BTreeSet::new();
    let mut widened = false;
    let mut stack: Vec<Value> = sources(function, narrowing)?;
    while let Some(value) = stack.pop() {
        let instruction = definition(function, value)?;
        let format = function.format(instruction);
        let mnemonic = &format.mnemonic;
        if !format.is_simple() || mnemonic.first_type() != Some(ScalarType::F64) {
            return None;
        }
        match mnemonic.opcode() {
            Opcode::Mov => stack.extend(sources(function, instruction)?),
            Opcode::Cvt if mnemonic.types() == [ScalarType::F64, ScalarType::F32] => {
                widened = true;
            }
            Opcode::Add
            | Opcode::Sub
            | Opcode::Mul
            | Opcode::Fma
            | Opcode::Mad
            | Opcode::Div
            | Opcode::Rcp
            | Opcode::Sqrt
            | Opcode::Rsqrt
            | Opcode::Neg
            | Opcode::Abs
            | Opcode::Min
            | Opcode::Max => {
                if operations.insert(instruction.index()) {
                    stack.extend(sources(function, instruction)?);
                }
            }
            _ => return None,
        }
        if operations.len() > MOST_OPERATIONS {
            return None;
        }
    }
    (widened && !operations.is_empty()).then_some(operations)
}

/// The values that an instruction reads; nothing if it reads something that is neither a value nor a constant.
fn sources(function: &Function, instruction: Instruction) -> Option<Vec<Value>> {
    let mut values = Vec::new();
    for &leaf in function.leaves(instruction).iter().skip(1) {
        match leaf {
            Operand::Value(value) => values.push(value),
            Operand::Constant(_) => {}
            _ => return None,
        }
    }
    Some(values)
}
