//! Leaf operands of instructions.

use crate::entities::{Constant, Register, Symbol, Value};

/// A selected part of a register: `.x`, `.b0`, `.b3210`, `.h10`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Member(u16);

/// Members of vector registers.
const COMPONENTS: &str = "xyzwrgba";
/// Codes from here on are selectors of bytes or halves: a flag for halves, the number of digits, three bits a digit.
const SELECTOR: u16 = 1 << 15;
const HALVES: u16 = 1 << 14;

impl Member {
    /// The whole register.
    pub const WHOLE: Member = Member(0);

    /// The member with this spelling, dot included; the empty text is the whole register.
    pub fn from_text(text: &str) -> Option<Member> {
        let Some(name) = text.strip_prefix('.') else {
            return text.is_empty().then_some(Member::WHOLE);
        };
        if let (1, Some(index)) = (name.len(), COMPONENTS.find(name)) {
            return Some(Member(index as u16 + 1));
        }
        let (halves, longest) = match name.as_bytes().first()? {
            b'b' => (0, 4),
            b'h' => (HALVES, 2),
            _ => return None,
        };
        let digits = &name.as_bytes()[1..];
        if digits.is_empty() || digits.len() > longest {
            return None;
        }
        let mut code = SELECTOR | halves;
        for (position, digit) in digits.iter().enumerate() {
            code |=
                u16::from(digit.checked_sub(b'0').filter(|&digit| digit < 8)?) << (3 * position);
        }
        // Two bits left between the digits of the longest selector and the flags: the length, from 1.
        Some(Member(code | ((digits.len() - 1) as u16) << 12))
    }

    /// A number that tells it from others.
    pub(crate) fn code(self) -> u16 {
        self.0
    }

    /// The spelling, dot included.
    pub fn text(self) -> String {
        match self.0 {
            0 => String::new(),
            code if code & SELECTOR == 0 => {
                let index = usize::from(code) - 1;
                format!(".{}", &COMPONENTS[index..=index])
            }
            code => {
                let mut text = String::from(if code & HALVES != 0 { ".h" } else { ".b" });
                for position in 0..=(code >> 12 & 3) {
                    text.push(char::from(b'0' + (code >> (3 * position) & 7) as u8));
                }
                text
            }
        }
    }
}

/// A leaf of an instruction's operand tree, or its guard.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operand {
    /// A value that is read.
    Value(Value),
    /// A pinned register, read or written as the leaf's role says.
    Register(Register),
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
    #[inline]
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
        for text in [
            "", ".x", ".a", ".w", ".b0", ".b3", ".h1", ".h10", ".b3210", ".b0000", ".b7654",
            ".h32", ".b10",
        ] {
            assert_eq!(Member::from_text(text).unwrap().text(), text);
        }
        for text in [".q", ".h", ".b8", ".h210", ".b43210", "x", ".xy"] {
            assert_eq!(Member::from_text(text), None, "{text}");
        }
    }
}
