//! Integer arithmetic modulo two to the width: whatever carries another modifier (`.sat`, `.cc`, `.hi`, `.wide`, `.f32`) is none
//! of it.

use oriole_isa::{Mnemonic, MnemonicText, Modifiers, MulMode, Opcode, ScalarType, build};

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

    /// The opcode, and the part of a product that is kept.
    const fn opcode(self) -> (Opcode, Option<MulMode>) {
        match self {
            Operation::Add => (Opcode::Add, None),
            Operation::Sub => (Opcode::Sub, None),
            Operation::Neg => (Opcode::Neg, None),
            Operation::Mul => (Opcode::Mul, Some(MulMode::Low)),
            Operation::Mad => (Opcode::Mad, Some(MulMode::Low)),
            Operation::Shl => (Opcode::Shl, None),
            Operation::And => (Opcode::And, None),
            Operation::Or => (Opcode::Or, None),
            Operation::Xor => (Opcode::Xor, None),
        }
    }

    /// The mnemonic for a width; nothing if there is no such integer.
    pub fn mnemonic(self, bits: u32) -> Option<MnemonicText> {
        let scalar_type = match self {
            Operation::Shl | Operation::And | Operation::Or | Operation::Xor => {
                ScalarType::untyped(bits)
            }
            // From zero, ptxas takes `sub.s16` for `neg.s16`: quirk `negated-half-word` of `isa::ptxas`.
            Operation::Sub if bits == 16 => ScalarType::unsigned(bits),
            _ => ScalarType::signed(bits),
        }?;
        Some(match self.opcode() {
            (opcode, Some(mode)) => build::product(opcode, mode, scalar_type),
            (opcode, None) => build::typed(opcode, scalar_type),
        })
    }

    /// How many operands it reads.
    pub fn sources(self) -> usize {
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
    pub(crate) fn of(mnemonic: &Mnemonic, operands: usize) -> Option<Node> {
        let operation = match mnemonic.opcode() {
            Opcode::Add => Operation::Add,
            Opcode::Sub => Operation::Sub,
            Opcode::Neg => Operation::Neg,
            Opcode::Mul => Operation::Mul,
            Opcode::Mad => Operation::Mad,
            Opcode::Shl => Operation::Shl,
            Opcode::And => Operation::And,
            Opcode::Or => Operation::Or,
            Opcode::Xor => Operation::Xor,
            _ => return None,
        };
        let (_, mul_mode) = operation.opcode();
        let mut plain = Modifiers::default();
        plain.mul_mode = mul_mode;
        let &[scalar_type] = mnemonic.types() else {
            return None;
        };
        let bits = scalar_type.bits();
        let is_integer = (scalar_type.is_integer() || scalar_type.is_bits())
            && scalar_type.lanes() == 1
            && matches!(bits, 16 | 32 | 64);
        let is_node = is_integer
            && !mnemonic.is_opaque()
            && *mnemonic.modifiers() == plain
            && operands == 1 + operation.sources();
        is_node.then_some(Node { operation, bits })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_are_told_by_all_of_the_mnemonic() {
        let node = |text, operands| Node::of(&Mnemonic::parse(text), operands);
        let is = |operation, bits| Some(Node { operation, bits });
        assert_eq!(node("add.u32", 3), is(Operation::Add, 32));
        assert_eq!(node("mad.lo.s16", 4), is(Operation::Mad, 16));
        assert_eq!(node("xor.b64", 3), is(Operation::Xor, 64));
        for none in [
            "add.sat.s32",
            "add.cc.u32",
            "add.f32",
            "add.u16x2",
            "add.s32.s32",
            "add.sideways.s32",
            "mul.hi.s32",
            "mul.wide.s32",
            "mul.f32",
            "and.pred",
            "min.s32",
        ] {
            assert_eq!(node(none, 3), None, "{none}");
        }
        assert_eq!(node("add.u32", 2), None);
    }

    #[test]
    fn operations_are_nodes_of_their_mnemonics() {
        use Operation::*;
        for operation in [Add, Sub, Neg, Mul, Mad, Shl, And, Or, Xor] {
            for bits in [16, 32, 64] {
                let mnemonic = operation.mnemonic(bits).expect("an integer").decode();
                let operands = 1 + operation.sources();
                assert_eq!(
                    Node::of(&mnemonic, operands),
                    Some(Node { operation, bits })
                );
            }
            assert_eq!(operation.mnemonic(24), None);
        }
    }
}
