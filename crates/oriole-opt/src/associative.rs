//! The integer operations that may be regrouped, told by the exact spelling of their mnemonic: whatever carries another
//! modifier (`.sat`, `.cc`, `.hi`, `.wide`, `.f32`) is none of them.

use oriole_ir::{Format, FormatData, Function, Instruction, Operand, Value};
use oriole_syntax::literal::Literal;

/// What an instruction does to integers modulo two to its width.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operation {
    Add,
    Sub,
    Neg,
    /// The low half of a product.
    Mul,
    /// The low half of a product, and a sum.
    Mad,
    Shl,
    And,
    Or,
    Xor,
}

/// The operation under which leaves are gathered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Family {
    Add,
    Mul,
    And,
    Or,
    Xor,
}

impl Operation {
    /// The family whose trees an instruction with this operation can be a node of.
    pub fn family(self) -> Family {
        match self {
            Operation::Add | Operation::Sub | Operation::Neg | Operation::Mad => Family::Add,
            Operation::Mul | Operation::Shl => Family::Mul,
            Operation::And => Family::And,
            Operation::Or => Family::Or,
            Operation::Xor => Family::Xor,
        }
    }

    /// Whether the first two sources may be exchanged.
    pub fn commutes(self) -> bool {
        !matches!(self, Operation::Sub | Operation::Neg | Operation::Shl)
    }

    /// The spelling for a width.
    pub fn mnemonic(self, bits: u32) -> &'static str {
        let [narrow, single, double] = match self {
            Operation::Add => ["add.s16", "add.s32", "add.s64"],
            Operation::Sub => ["sub.s16", "sub.s32", "sub.s64"],
            Operation::Neg => ["neg.s16", "neg.s32", "neg.s64"],
            Operation::Mul => ["mul.lo.s16", "mul.lo.s32", "mul.lo.s64"],
            Operation::Mad => ["mad.lo.s16", "mad.lo.s32", "mad.lo.s64"],
            Operation::Shl => ["shl.b16", "shl.b32", "shl.b64"],
            Operation::And => ["and.b16", "and.b32", "and.b64"],
            Operation::Or => ["or.b16", "or.b32", "or.b64"],
            Operation::Xor => ["xor.b16", "xor.b32", "xor.b64"],
        };
        match bits {
            16 => narrow,
            32 => single,
            _ => double,
        }
    }

    fn sources(self) -> usize {
        match self {
            Operation::Neg => 1,
            Operation::Mad => 3,
            _ => 2,
        }
    }
}

/// An operation and the width it works on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Node {
    pub operation: Operation,
    pub bits: u32,
}

impl Node {
    /// The node that unguarded instructions of a format are, if they are one.
    fn of(format: &FormatData) -> Option<Node> {
        if format.is_guarded() || format.opaque || !format.is_pure() {
            return None;
        }
        let (name, scalar_type) = format.mnemonic.text().rsplit_once('.')?;
        let operation = match name {
            "add" => Operation::Add,
            "sub" => Operation::Sub,
            "neg" => Operation::Neg,
            "mul.lo" => Operation::Mul,
            "mad.lo" => Operation::Mad,
            "shl" => Operation::Shl,
            "and" => Operation::And,
            "or" => Operation::Or,
            "xor" => Operation::Xor,
            _ => return None,
        };
        let bits = match scalar_type {
            "s16" | "u16" | "b16" => 16,
            "s32" | "u32" | "b32" => 32,
            "s64" | "u64" | "b64" => 64,
            _ => return None,
        };
        let plain = format.shape.len() == 1 + operation.sources() && format.plain;
        plain.then_some(Node { operation, bits })
    }
}

/// The lowest bits.
pub(crate) fn mask(bits: u32) -> u64 {
    u64::MAX >> (64 - bits)
}

/// The nodes that formats are, looked up once each.
#[derive(Default)]
pub(crate) struct Nodes {
    known: Vec<Option<Option<Node>>>,
}

impl Nodes {
    /// The node that instructions of a format are.
    pub fn of_format(&mut self, function: &Function, format: Format) -> Option<Node> {
        let index = format.as_u32() as usize;
        if index >= self.known.len() {
            self.known.resize(index + 1, None);
        }
        *self.known[index].get_or_insert_with(|| Node::of(function.format_data(format)))
    }

    /// The node an instruction is, if its sources are values of its width and integer constants. Registers declared for
    /// floating point take part only where arithmetic cannot get to them.
    pub fn of(&mut self, function: &Function, instruction: Instruction) -> Option<Node> {
        let node = self.of_format(function, function.instruction(instruction).format)?;
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
        let leaves = function.leaves(instruction);
        if leaves.first() != Some(&Operand::Result(0)) {
            return None;
        }
        let result = function.results(instruction).next()?;
        if !holds(result) {
            return None;
        }
        let sound = if node.operation == Operation::Shl {
            fits(leaves[1]) && integer(function, leaves[2]).is_some()
        } else {
            leaves[1..].iter().all(|&leaf| fits(leaf))
        };
        sound.then_some(node)
    }
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
