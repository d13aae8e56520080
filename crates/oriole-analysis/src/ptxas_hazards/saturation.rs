//! Saturating sums that `ptxas` folds with sums that wrap.
//!
//! ## Example
//! ```text
//! add.s32 %r3, %r1, %r2;                 // may wrap
//! sub.sat.s32 %r4, %r3, %r2;             // ptxas gives %r1
//! add.s32 %r5, %r1, 5;
//! add.sat.s32 %r6, %r5, 7;               // ptxas gives %r1 + 12, saturated
//! ```
//! This is the quirk `folded-saturation` of [`oriole_isa::ptxas::QUIRKS`].
//!
//! ## Definition
//! `add.sat.s32` and `sub.sat.s32` are hazards if an operand is a sum or difference of words that wraps, and a term of it cancels
//! against the other operand or against a term of that one, or if it has a constant term and the other operand is constant, but
//! for a constant minuend. A sum with a constant zero is none.
//!
//! ## Method
//! One look at the operands of each saturating sum, through copies.
//!
//! ## Not done
//! Constants that have to be computed first, and `mad.lo` by 1 or −1. Floating-point sums, `mad.hi.sat`, `vadd.sat` and the other
//! order, a sum of a saturated one, are right, and so is what comes through a guard or a parameter of a block.

use super::{Hazard, original};
use crate::known_bits::literal_bits;
use oriole_collections::SmallVec;
use oriole_ir::{Definition, Function, Instruction, Operand, Traits, Value};
use oriole_isa::{Flag, Opcode, ScalarType};

/// What is added.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Term {
    Value(Value),
    /// A constant, and whether it is subtracted, in one.
    Constant(u32),
}

/// A term, and whether it is subtracted.
type Signed = (Term, bool);

/// Places that `ptxas` gets wrong.
pub fn hazards(function: &Function) -> Vec<Hazard> {
    let mut found = Vec::new();
    if !function.traits().have(Traits::SATURATES) {
        return found;
    }
    for &block in function.block_order() {
        for saturating in function.instructions_of(block) {
            let mnemonic = &function.format(saturating).mnemonic;
            let is_saturating = matches!(mnemonic.opcode(), Opcode::Add | Opcode::Sub)
                && mnemonic.has(Flag::Saturate)
                && mnemonic.first_type() == Some(ScalarType::S32);
            if is_saturating && let Some(wrapping) = folded(function, saturating) {
                found.push(Hazard::FoldedSaturation {
                    wrapping,
                    saturating,
                });
            }
        }
    }
    found
}

/// The wrapping sum that `ptxas` folds with a saturating one.
fn folded(function: &Function, saturating: Instruction) -> Option<Instruction> {
    let &[first, second] = &*terms(function, saturating)? else {
        return None;
    };
    let sums = [first, second].map(|(term, is_subtracted)| {
        let sum = sum_of(function, term)?;
        let mut parts = terms(function, sum)?;
        for part in &mut parts {
            *part = match *part {
                (Term::Constant(bits), _) if is_subtracted => {
                    (Term::Constant(bits.wrapping_neg()), false)
                }
                (term, sign) => (term, sign != is_subtracted),
            };
        }
        Some((sum, parts))
    });
    let constants = [first, second].map(|(term, _)| matches!(term, Term::Constant(_)));
    let has_constant = |parts: &[Signed]| {
        let mut terms = parts.iter();
        terms.any(|(term, _)| matches!(term, Term::Constant(_)))
    };
    for (index, sum) in sums.iter().enumerate() {
        let Some((sum, parts)) = sum else {
            continue;
        };
        let (other, is_subtracted) = [second, first][index];
        // Of a constant minuend and a sum, nothing is folded.
        let is_minuend = index == 1 && second.1;
        if constants[1 - index] && has_constant(parts) && !is_minuend {
            return Some(*sum);
        }
        let further = sums[1 - index].iter().flat_map(|(_, parts)| parts).copied();
        for against in std::iter::once((other, is_subtracted)).chain(further) {
            if parts.iter().any(|&part| cancels(part, against)) {
                return Some(*sum);
            }
        }
    }
    None
}

/// Whether two terms add up to nothing.
fn cancels(one: Signed, other: Signed) -> bool {
    match (one, other) {
        ((Term::Value(one), sign), (Term::Value(other), other_sign)) => {
            one == other && sign != other_sign
        }
        ((Term::Constant(one), _), (Term::Constant(other), _)) => one.wrapping_add(other) == 0,
        _ => false,
    }
}

/// The instruction that computes a value as a wrapping sum or difference of words.
fn sum_of(function: &Function, term: Term) -> Option<Instruction> {
    let Term::Value(value) = term else {
        return None;
    };
    let Definition::Instruction(sum) = function.values()[value].definition else {
        return None;
    };
    let format = function.format(sum);
    let mnemonic = &format.mnemonic;
    let is_sum = matches!(mnemonic.opcode(), Opcode::Add | Opcode::Sub)
        && !format.opaque
        && !format.is_guarded()
        && !mnemonic.has(Flag::Saturate)
        && matches!(
            mnemonic.first_type(),
            Some(ScalarType::S32 | ScalarType::U32 | ScalarType::B32)
        );
    is_sum.then_some(sum)
}

/// The two terms of a sum or difference of words; nothing if one is zero.
fn terms(function: &Function, sum: Instruction) -> Option<SmallVec<[Signed; 2]>> {
    let format = function.format(sum);
    let &[Operand::Result(0), first, second] = function.leaves(sum) else {
        return None;
    };
    let subtracts = format.mnemonic.opcode() == Opcode::Sub;
    let mut found = SmallVec::new();
    for (operand, is_subtracted) in [(first, false), (second, subtracts)] {
        let signed = match term(function, operand)? {
            Term::Constant(0) => return None,
            Term::Constant(bits) if is_subtracted => (Term::Constant(bits.wrapping_neg()), false),
            term => (term, is_subtracted),
        };
        found.push(signed);
    }
    Some(found)
}

/// What an operand is, through copies.
fn term(function: &Function, operand: Operand) -> Option<Term> {
    let constant = |operand: Operand| match operand {
        Operand::Constant(constant) => {
            literal_bits(function.constants()[constant].literal?, ScalarType::S32)
        }
        _ => None,
    };
    let Operand::Value(value) = operand else {
        return Some(Term::Constant(constant(operand)? as u32));
    };
    let value = original(function, value);
    if let Definition::Instruction(definer) = function.values()[value].definition
        && let format = function.format(definer)
        && format.mnemonic.opcode() == Opcode::Mov
        && !format.is_guarded()
        && let &[Operand::Result(0), moved] = function.leaves(definer)
        && let Some(bits) = constant(moved)
    {
        return Some(Term::Constant(bits as u32));
    }
    Some(Term::Value(value))
}
