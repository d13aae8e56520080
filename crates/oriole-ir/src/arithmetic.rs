//! Integer arithmetic modulo two to the width, told by the exact spelling of the mnemonic: whatever carries another modifier
//! (`.sat`, `.cc`, `.hi`, `.wide`, `.f32`) is none of it.

/// What an instruction does to integers modulo two to its width.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// A sum.
    Add,
    /// A difference.
    Sub,
    /// A difference from zero.
    Neg,
    /// The low half of a product.
    Mul,
    /// The low half of a product, and a sum.
    Mad,
    /// A shift to the left.
    Shl,
    /// Bits that are set in both.
    And,
    /// Bits that are set in either.
    Or,
    /// Bits that differ.
    Xor,
}

/// The operation under which leaves are gathered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// Sums.
    Add,
    /// Low halves of products.
    Mul,
    /// Bitwise `and`.
    And,
    /// Bitwise `or`.
    Or,
    /// Bitwise exclusive `or`.
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
            // From zero, ptxas takes `sub.s16` for `neg.s16`: quirk `negated-half-word` of `isa::ptxas`.
            Operation::Sub => ["sub.u16", "sub.s32", "sub.s64"],
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
pub struct Node {
    /// What is done.
    pub operation: Operation,
    /// In how many bits: 16, 32 or 64.
    pub bits: u32,
}

impl Node {
    /// The node that plain functions with this mnemonic and so many operands are, if they are one.
    pub(crate) fn of(mnemonic: &str, operands: usize) -> Option<Node> {
        let (name, scalar_type) = mnemonic.rsplit_once('.')?;
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
        (operands == 1 + operation.sources()).then_some(Node { operation, bits })
    }
}
