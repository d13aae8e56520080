//! The integer instructions that may be regrouped.

use oriole_ir::arithmetic::{Node, Operation};
use oriole_ir::{Function, Instruction, Operand, Value};
use oriole_syntax::literal::Literal;

/// The lowest bits.
pub(crate) fn mask(bits: u32) -> u64 {
    u64::MAX >> (64 - bits)
}

/// The node an instruction is, if its sources are values of its width and integer constants. Registers declared for floating
/// point take part only where arithmetic cannot get to them.
pub(crate) fn node_of(function: &Function, instruction: Instruction) -> Option<Node> {
    let node = function.format(instruction).arithmetic?;
    let is_logic = matches!(
        node.operation,
        Operation::And | Operation::Or | Operation::Xor
    );
    let holds = |value: Value| {
        let scalar_type = function.values()[value].scalar_type;
        scalar_type.bits() == node.bits && (is_logic || !scalar_type.is_float())
    };
    let fits = |operand: Operand| match operand {
        Operand::Value(value) => holds(value),
        Operand::Constant(_) => integer(function, operand).is_some(),
        _ => false,
    };
    // Nodes are unguarded: all operands are leaves.
    let (&Operand::Result(0), sources) = function.operands(instruction).split_first()? else {
        return None;
    };
    if !holds(function.results(instruction).next()?) {
        return None;
    }
    let is_sound = match (node.operation, sources) {
        (Operation::Shl, &[shifted, amount]) => {
            fits(shifted) && integer(function, amount).is_some()
        }
        _ => sources.iter().all(|&source| fits(source)),
    };
    is_sound.then_some(node)
}

/// The bits of an integer constant.
pub(crate) fn integer(function: &Function, operand: Operand) -> Option<u64> {
    match operand {
        Operand::Constant(constant) => match function.constants()[constant].literal? {
            Literal::Integer { bits, .. } => Some(bits),
            _ => None,
        },
        _ => None,
    }
}

/// What shifting left by an amount multiplies by: the amount is read as 32 bits, and shifts past the width give zero.
pub(crate) fn power(amount: u64, bits: u32) -> u64 {
    match amount as u32 {
        amount if amount < bits => 1 << amount,
        _ => 0,
    }
}
