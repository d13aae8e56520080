//! Leaf operands of instructions.

use crate::entities::{Constant, Register, Symbol, Value};

/// A selected part of a register, `.x` or `.b0`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Member(u8);

const MEMBERS: [&str; 15] = [
    "", ".x", ".y", ".z", ".w", ".r", ".g", ".b", ".a", ".b0", ".b1", ".b2", ".b3", ".h0", ".h1",
];

impl Member {
    /// The whole register.
    pub const WHOLE: Member = Member(0);

    /// The member with this spelling, dot included; the empty text is the whole register.
    pub fn from_text(text: &str) -> Option<Member> {
        MEMBERS
            .iter()
            .position(|&member| member == text)
            .map(|index| Member(index as u8))
    }

    /// The spelling, dot included.
    pub fn text(self) -> &'static str {
        MEMBERS[self.0 as usize]
    }
}

/// A leaf of an instruction's operand tree, or its guard.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operand {
    /// A value that is read.
    Value(Value),
    /// A pinned register, read or written as the leaf's role says.
    Register(Register, Member),
    /// The instruction's n-th result.
    Result(u16),
    /// A constant.
    Constant(Constant),
    /// A variable, function or special register.
    Symbol(Symbol),
    /// A branch target: the block's n-th edge.
    Target(u16),
    /// `_`.
    Sink,
}

impl Operand {
    /// The value read, if this is one.
    pub fn value(self) -> Option<Value> {
        match self {
            Operand::Value(value) => Some(value),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operands_are_eight_bytes() {
        assert_eq!(size_of::<Operand>(), 8);
    }

    #[test]
    fn members_keep_their_spelling() {
        for text in MEMBERS {
            assert_eq!(Member::from_text(text).unwrap().text(), text);
        }
        assert_eq!(Member::from_text(".q"), None);
    }
}
