//! Narrow loads of which only the high half is taken: `ptxas` takes the low half for it.
//!
//! ## Example
//! ```text
//! ld.global.u16 %r1, [%rd1];
//! mov.b32 {_, %h2}, %r1;                 // ptxas gives what was loaded, not 0
//! ```
//! This is the quirk `high-half-of-narrow-load` of [`oriole_isa::ptxas::QUIRKS`].
//!
//! ## Definition
//! A load of 8 or 16 bits, not of a vector and not of a parameter, is a *hazard* if somebody takes its second 16 bits and
//! nobody who is needed reads anything else of it. `ptxas` sees through copies, choices, parameters of blocks, guards,
//! conversions that extend as the load does, the low word of a double word, and operations on pairs of halves.
//!
//! ## Method
//! From each such load forward over its readers, with a worklist; linear in them, and at most `MOST_VALUES` of each load. Who
//! is needed is found only if there are narrow loads and something that takes halves apart.
//!
//! ## Not done
//! What `ptxas` simplifies first (`add.s32 %r2, %r1, 0`, a store to local memory and a load back) is taken for another reader.

use super::{Hazard, needed_values};
use oriole_collections::SmallVec;
use oriole_ir::{Function, Instruction, Operand, ShapeKind, Traits, Use, Value};
use oriole_isa::{Opcode, ScalarType, Space};

/// Values that are looked at for each load; one that reaches more is taken for no hazard.
const MOST_VALUES: usize = 64;

/// What a reader makes of a value.
enum Reading {
    /// It takes the second 16 bits.
    HighHalf,
    /// Its result holds what the value does, in the same place.
    Passes(Value),
    /// It reads nothing that is in the low word.
    Nothing,
    /// It reads the low half.
    Other,
}

/// Places that `ptxas` gets wrong.
pub fn hazards(function: &Function) -> Vec<Hazard> {
    let mut found = Vec::new();
    if !function.traits().have(Traits::TAKES_APART) {
        return found;
    }
    let mut loads: Vec<(Instruction, ScalarType)> = Vec::new();
    let mut takes_apart = false;
    for &block in function.block_order() {
        for instruction in function.instructions_of(block) {
            match function.format(instruction).mnemonic.opcode() {
                Opcode::Ld | Opcode::Ldu => {
                    let element = narrow_load(function, instruction);
                    loads.extend(element.map(|element| (instruction, element)));
                }
                Opcode::Mov => takes_apart |= part_bits(function, instruction) == Some(16),
                _ => {}
            }
        }
    }
    if loads.is_empty() || !takes_apart {
        return found;
    }

    let needed = needed_values(function);
    let is_needed = |value: Value| needed.contains(value);
    for (load, element) in loads {
        let mut unpack = None;
        let mut reached: SmallVec<[Value; 8]> = function.results(load).collect();
        let mut next = 0;
        let is_hazard = loop {
            let Some(&value) = reached.get(next) else {
                break unpack.is_some();
            };
            if reached.len() > MOST_VALUES {
                break false;
            }
            next += 1;
            let mut is_other = false;
            let mut pass = |value: Value| {
                if !reached.contains(&value) {
                    reached.push(value);
                }
            };
            for reader in function.uses_of(value) {
                match reader {
                    Use::Edge(block) => {
                        for edge in &function.blocks()[block].edges {
                            let parameters = &function.blocks()[edge.target].parameters;
                            for (&argument, &parameter) in
                                function.arguments(*edge).iter().zip(parameters)
                            {
                                if argument == value && is_needed(parameter) {
                                    pass(parameter);
                                }
                            }
                        }
                    }
                    Use::Instruction(reader) => {
                        let is_dead = function.format(reader).is_removable()
                            && function.results(reader).len() > 0
                            && !function.results(reader).any(is_needed);
                        if is_dead {
                            continue;
                        }
                        match reading(function, reader, value, element, &is_needed) {
                            Reading::HighHalf => unpack = Some(reader),
                            Reading::Passes(result) => pass(result),
                            Reading::Nothing => {}
                            Reading::Other => is_other = true,
                        }
                    }
                }
            }
            if is_other {
                break false;
            }
        };
        if let Some(unpack) = unpack.filter(|_| is_hazard) {
            found.push(Hazard::HighHalf { load, unpack });
        }
    }
    found
}

/// Whether an instruction takes the second 16 bits of what it takes apart and not the first, given which values are read.
pub fn takes_only_high_half(
    function: &Function,
    instruction: Instruction,
    is_read: impl Fn(Value) -> bool,
) -> bool {
    part_bits(function, instruction) == Some(16)
        && !is_part_read(function, instruction, 0, &is_read)
        && is_part_read(function, instruction, 1, &is_read)
}

/// The type of which a load reads one element, if it has 16 bits or fewer and `ptxas` gets it wrong.
fn narrow_load(function: &Function, instruction: Instruction) -> Option<ScalarType> {
    let format = function.format(instruction);
    let mnemonic = &format.mnemonic;
    let element = mnemonic.first_type()?;
    let is_narrow = matches!(mnemonic.opcode(), Opcode::Ld | Opcode::Ldu)
        && !format.opaque
        && element.bits() <= 16
        && mnemonic.modifiers().vector.is_none()
        && !matches!(
            mnemonic.space(),
            Some(Space::Param | Space::ParamEntry | Space::ParamFunc)
        );
    is_narrow.then_some(element)
}

/// How many bits each part has that a `mov` takes a register apart into.
fn part_bits(function: &Function, instruction: Instruction) -> Option<u32> {
    let format = function.format(instruction);
    let [vector, .., whole] = &*format.shape else {
        return None;
    };
    let parts = format.leaves.len().checked_sub(1)?;
    let is_unpack = format.mnemonic.opcode() == Opcode::Mov
        && !format.opaque
        && vector.kind == ShapeKind::Vector
        && whole.kind == ShapeKind::Leaf
        && format.operand_count == 2
        && matches!(function.leaves(instruction).last(), Some(Operand::Value(_)));
    let bits = format.mnemonic.first_type()?.bits();
    (is_unpack && parts > 0).then(|| bits / parts as u32)
}

/// Whether somebody reads one of the parts.
fn is_part_read(
    function: &Function,
    instruction: Instruction,
    part: usize,
    is_read: &impl Fn(Value) -> bool,
) -> bool {
    match function.leaves(instruction).get(part) {
        Some(&Operand::Result(index)) => function
            .results(instruction)
            .nth(usize::from(index))
            .is_some_and(is_read),
        _ => false,
    }
}

/// What an instruction that is needed reads of a value that was loaded as this type.
fn reading(
    function: &Function,
    reader: Instruction,
    value: Value,
    element: ScalarType,
    is_needed: &impl Fn(Value) -> bool,
) -> Reading {
    let format = function.format(reader);
    let mnemonic = &format.mnemonic;
    let mut results = function.results(reader);
    let is_kept = function.otherwise(reader).contains(&Operand::Value(value));
    let leaves = function.leaves(reader);
    let is_operand = leaves.contains(&Operand::Value(value));
    if format.opaque || is_kept && (is_operand || results.len() != 1) {
        return Reading::Other;
    }
    let Some(result) = results.next() else {
        return Reading::Other;
    };
    if is_kept {
        return Reading::Passes(result);
    }
    match part_bits(function, reader) {
        Some(16) => {
            return match [0, 1].map(|part| is_part_read(function, reader, part, is_needed)) {
                [true, _] => Reading::Other,
                [false, true] => Reading::HighHalf,
                [false, false] => Reading::Nothing,
            };
        }
        Some(32) => {
            let low = match leaves[0] {
                Operand::Result(_) => Some(result),
                _ => None,
            };
            return low.map_or(Reading::Nothing, Reading::Passes);
        }
        Some(_) => return Reading::Other,
        None => {}
    }
    let passes = match mnemonic.opcode() {
        Opcode::Mov => leaves.len() == 2,
        Opcode::Selp | Opcode::Slct => leaves[1..3].contains(&Operand::Value(value)),
        Opcode::Cvt => match *mnemonic.types() {
            [to, from] if !to.is_float() && !from.is_float() => extends(element, from, to),
            _ => false,
        },
        Opcode::Add
        | Opcode::Sub
        | Opcode::Mul
        | Opcode::Fma
        | Opcode::Min
        | Opcode::Max
        | Opcode::Neg
        | Opcode::Abs => mnemonic
            .first_type()
            .is_some_and(|first| matches!(first, ScalarType::F16x2 | ScalarType::Bf16x2)),
        _ => false,
    };
    match passes {
        true => Reading::Passes(result),
        false => Reading::Other,
    }
}

/// Whether a conversion leaves what a load of this type extended as it is.
fn extends(element: ScalarType, from: ScalarType, to: ScalarType) -> bool {
    if to.bits() < 32 {
        return false;
    }
    match from.bits() {
        bits if bits < element.bits() => false,
        bits if bits == element.bits() => from.is_signed() == element.is_signed(),
        bits if bits < 32 => !element.is_signed() || from.is_signed(),
        _ => true,
    }
}
