//! The values of numbers and constant expressions.
//!
//! Integer constants are 64 bits wide and signed unless they carry `U` or need the top bit; constant expressions follow
//! C's precedence with the usual arithmetic conversions, all in 64 bits (PTX manual, "Constants"). Where the manual is
//! silent or wrong, ptxas 13.0 decides: `%` is always unsigned, a shift takes its count modulo 64, and `WARP_SZ` is 32.

use crate::lexer::{Lexer, TokenKind};

/// A constant.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Literal {
    /// An integer: its 64 bits, and whether it is unsigned.
    Integer {
        /// The bits in two's complement.
        bits: u64,
        /// Unsigned by its spelling or size.
        unsigned: bool,
    },
    /// A single-precision number given by its bits: `0f3F800000`.
    Single(u32),
    /// A double-precision number: `0d…`, or a decimal with a point or exponent.
    Double(u64),
}

impl Literal {
    fn signed(value: i64) -> Literal {
        Literal::Integer {
            bits: value as u64,
            unsigned: false,
        }
    }

    /// The 64 bits of an integer constant.
    pub fn integer(self) -> Option<u64> {
        match self {
            Literal::Integer { bits, .. } => Some(bits),
            Literal::Single(_) | Literal::Double(_) => None,
        }
    }
}

/// The value of one number token, or nothing if it is misspelled or too large.
pub fn parse(text: &str) -> Option<Literal> {
    let bytes = text.as_bytes();
    // Most are a few decimal digits.
    if let [b'1'..=b'9', ..] | [b'0'] = bytes
        && bytes.len() < 19
        && bytes.iter().all(u8::is_ascii_digit)
    {
        let add = |value: u64, &digit: &u8| value * 10 + u64::from(digit - b'0');
        return Some(Literal::Integer {
            bits: bytes.iter().fold(0, add),
            unsigned: false,
        });
    }
    if let [b'0', kind, digits @ ..] = bytes {
        match kind {
            b'f' | b'F' if digits.len() == 8 => {
                return digits_value(digits, 16).map(|bits| Literal::Single(bits as u32));
            }
            b'd' | b'D' if digits.len() == 16 => {
                return digits_value(digits, 16).map(Literal::Double);
            }
            _ => {}
        }
    }
    let (digits, suffix) = match bytes {
        [digits @ .., b'U'] => (digits, true),
        _ => (bytes, false),
    };
    let bits = match digits {
        [b'0', b'x' | b'X', rest @ ..] => digits_value(rest, 16),
        [b'0', b'b' | b'B', rest @ ..] => digits_value(rest, 2),
        [b'0', rest @ ..] if !rest.is_empty() => digits_value(rest, 8),
        _ => digits_value(digits, 10),
    };
    match bits {
        Some(bits) => Some(Literal::Integer {
            bits,
            unsigned: suffix || bits >> 63 != 0,
        }),
        None if !suffix
            && matches!(bytes, [b'0'..=b'9' | b'.', ..])
            && text.contains(['.', 'e', 'E']) =>
        {
            let value = text.parse::<f64>().ok()?;
            value
                .is_finite()
                .then_some(Literal::Double(value.to_bits()))
        }
        None => None,
    }
}

/// Whether the text is a well-formed decimal number with a point or an exponent, whatever its size.
pub(crate) fn is_decimal_float(text: &str) -> bool {
    text.bytes()
        .all(|byte| matches!(byte, b'0'..=b'9' | b'.' | b'e' | b'E' | b'+' | b'-'))
        && text.parse::<f64>().is_ok()
}

/// The value of digits as ptxas reads them: a value that outgrows 64 bits wraps once, then it is refused.
fn digits_value(digits: &[u8], radix: u32) -> Option<u64> {
    if digits.is_empty() {
        return None;
    }
    let mut value = 0u64;
    for &byte in digits {
        let digit = char::from(byte).to_digit(radix)?;
        if value >> 63 != 0 {
            return None;
        }
        value = value
            .wrapping_mul(u64::from(radix))
            .wrapping_add(u64::from(digit));
    }
    Some(value)
}

/// The value of a constant expression such as `(1 << 4) + 0x10` or `-3`, or nothing if it is not one.
///
/// Works with two explicit stacks: the depth of an expression is bounded by memory, not by the call stack.
pub fn evaluate(text: &str) -> Option<Literal> {
    // Nearly always it is a number and nothing else.
    if let Some(literal) = parse(text) {
        return Some(literal);
    }
    // Or one with a sign.
    if let Some(number) = text.strip_prefix('-')
        && let Some(literal) = parse(number)
    {
        return Some(negated(literal));
    }
    let mut lexer = Lexer::new(text);
    let mut values: Vec<Literal> = Vec::new();
    let mut operators: Vec<Operator> = Vec::new();
    let mut expects_value = true;
    loop {
        let token = lexer.next();
        let word = &text[token.span().range()];
        match token.kind {
            TokenKind::End => break,
            TokenKind::Number if expects_value => {
                values.push(parse(word)?);
                expects_value = false;
            }
            TokenKind::Word if expects_value && word == "WARP_SZ" => {
                values.push(Literal::signed(32));
                expects_value = false;
            }
            // A cast, `(.s64)`, or an open parenthesis.
            TokenKind::OpenParen if expects_value => operators.push(Operator::Open),
            TokenKind::DotWord if expects_value && operators.last() == Some(&Operator::Open) => {
                operators.pop();
                let unsigned = match word {
                    ".s64" => false,
                    ".u64" => true,
                    _ => return None,
                };
                if lexer.next().kind != TokenKind::CloseParen {
                    return None;
                }
                operators.push(Operator::Cast { unsigned });
            }
            TokenKind::CloseParen if !expects_value => loop {
                match operators.pop()? {
                    Operator::Open => break,
                    operator => apply(operator, &mut values)?,
                }
            },
            _ if expects_value => operators.push(match word {
                "-" => Operator::Negate,
                "+" => Operator::Plus,
                "~" => Operator::Complement,
                "!" => Operator::Not,
                _ => return None,
            }),
            _ => {
                let operator = Operator::binary(word)?;
                while let Some(&top) = operators.last() {
                    // `:` closes everything since its `?`; `?` takes nothing from the left.
                    let stop = match operator {
                        Operator::Colon => top == Operator::Question,
                        Operator::Question => top.precedence() <= operator.precedence(),
                        _ => top.precedence() < operator.precedence(),
                    };
                    if stop || top == Operator::Open {
                        break;
                    }
                    operators.pop();
                    apply(top, &mut values)?;
                }
                if operator == Operator::Colon {
                    if operators.pop() != Some(Operator::Question) {
                        return None;
                    }
                    operators.push(Operator::Select);
                } else {
                    operators.push(operator);
                }
                expects_value = true;
            }
        }
    }
    if expects_value {
        return None;
    }
    while let Some(operator) = operators.pop() {
        apply(operator, &mut values)?;
    }
    (values.len() == 1).then(|| values[0])
}

#[derive(Clone, Copy, PartialEq)]
enum Operator {
    Open,
    Cast { unsigned: bool },
    Negate,
    Plus,
    Complement,
    Not,
    Binary(&'static str, u8),
    Question,
    Colon,
    Select,
}

impl Operator {
    fn binary(word: &str) -> Option<Operator> {
        const TABLE: [(&str, u8); 18] = [
            ("||", 3),
            ("&&", 4),
            ("|", 5),
            ("^", 6),
            ("&", 7),
            ("==", 8),
            ("!=", 8),
            ("<", 9),
            (">", 9),
            ("<=", 9),
            (">=", 9),
            ("<<", 10),
            (">>", 10),
            ("+", 11),
            ("-", 11),
            ("*", 12),
            ("/", 12),
            ("%", 12),
        ];
        match word {
            "?" => Some(Operator::Question),
            ":" => Some(Operator::Colon),
            _ => TABLE
                .iter()
                .find(|entry| entry.0 == word)
                .map(|&(name, precedence)| Operator::Binary(name, precedence)),
        }
    }

    fn precedence(self) -> u8 {
        match self {
            Operator::Open => 0,
            Operator::Question | Operator::Colon | Operator::Select => 2,
            Operator::Binary(_, precedence) => precedence,
            Operator::Cast { .. }
            | Operator::Negate
            | Operator::Plus
            | Operator::Complement
            | Operator::Not => 13,
        }
    }
}

fn apply(operator: Operator, values: &mut Vec<Literal>) -> Option<()> {
    let value = match operator {
        Operator::Open | Operator::Question | Operator::Colon => return None,
        Operator::Select => {
            let (no, yes, condition) = (values.pop()?, values.pop()?, values.pop()?);
            if condition.integer()? != 0 { yes } else { no }
        }
        Operator::Binary(name, _) => {
            let (right, left) = (values.pop()?, values.pop()?);
            binary(name, left, right)?
        }
        _ => {
            let operand = values.pop()?;
            match (operator, operand) {
                (Operator::Plus, operand) => operand,
                (Operator::Cast { unsigned }, Literal::Integer { bits, .. }) => {
                    Literal::Integer { bits, unsigned }
                }
                (Operator::Negate, operand) => negated(operand),
                (Operator::Complement, Literal::Integer { bits, unsigned }) => Literal::Integer {
                    bits: !bits,
                    unsigned,
                },
                (Operator::Not, Literal::Integer { bits, .. }) => {
                    Literal::signed(i64::from(bits == 0))
                }
                _ => return None,
            }
        }
    };
    values.push(value);
    Some(())
}

fn negated(literal: Literal) -> Literal {
    match literal {
        Literal::Integer { bits, unsigned } => Literal::Integer {
            bits: bits.wrapping_neg(),
            unsigned,
        },
        Literal::Single(bits) => Literal::Single(bits ^ 1 << 31),
        Literal::Double(bits) => Literal::Double(bits ^ 1 << 63),
    }
}

fn binary(name: &str, left: Literal, right: Literal) -> Option<Literal> {
    if let (Literal::Double(left), Literal::Double(right)) = (left, right) {
        let (left, right) = (f64::from_bits(left), f64::from_bits(right));
        let value = match name {
            "+" => left + right,
            "-" => left - right,
            "*" => left * right,
            "/" => left / right,
            _ => return None,
        };
        return Some(Literal::Double(value.to_bits()));
    }
    let (
        Literal::Integer {
            bits: left,
            unsigned: left_unsigned,
        },
        Literal::Integer {
            bits: right,
            unsigned: right_unsigned,
        },
    ) = (left, right)
    else {
        return None;
    };
    let unsigned = left_unsigned || right_unsigned;
    let (signed_left, signed_right) = (left as i64, right as i64);
    let number = |bits: u64| Literal::Integer { bits, unsigned };
    let truth = |value: bool| Literal::signed(i64::from(value));
    Some(match name {
        "+" => number(left.wrapping_add(right)),
        "-" => number(left.wrapping_sub(right)),
        "*" => number(left.wrapping_mul(right)),
        "/" if unsigned => number(left.checked_div(right)?),
        "/" => number(signed_left.checked_div(signed_right)? as u64),
        "%" => number(left.checked_rem(right)?),
        "&" => number(left & right),
        "|" => number(left | right),
        "^" => number(left ^ right),
        "<<" => Literal::Integer {
            bits: left.wrapping_shl(right as u32),
            unsigned: left_unsigned,
        },
        ">>" => Literal::Integer {
            bits: if left_unsigned {
                left.wrapping_shr(right as u32)
            } else {
                signed_left.wrapping_shr(right as u32) as u64
            },
            unsigned: left_unsigned,
        },
        "==" => truth(left == right),
        "!=" => truth(left != right),
        "&&" => truth(left != 0 && right != 0),
        "||" => truth(left != 0 || right != 0),
        "<" => truth(if unsigned {
            left < right
        } else {
            signed_left < signed_right
        }),
        ">" => truth(if unsigned {
            left > right
        } else {
            signed_left > signed_right
        }),
        "<=" => truth(if unsigned {
            left <= right
        } else {
            signed_left <= signed_right
        }),
        ">=" => truth(if unsigned {
            left >= right
        } else {
            signed_left >= signed_right
        }),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn integer(text: &str) -> Option<i64> {
        evaluate(text)
            .and_then(Literal::integer)
            .map(|bits| bits as i64)
    }

    #[test]
    fn spellings_of_integers() {
        for (text, value) in [
            ("42", 42),
            ("052", 42),
            ("0x2A", 42),
            ("0b101010U", 42),
            ("-42", -42),
            ("0xFFFFFFFFFFFFFFFF", -1),
            ("- -7", 7),
            ("0", 0),
        ] {
            assert_eq!(integer(text), Some(value), "{text}");
        }
    }

    #[test]
    fn expressions_follow_c() {
        for (text, value) in [
            ("1+2*3", 7),
            ("(1+2)*3", 9),
            ("1<<4|1", 17),
            ("7/2", 3),
            ("-7/2", -3),
            ("-7 % 3", 0),
            ("7 % -3", 7),
            ("7 / -3", -2),
            ("1 << 64", 1),
            ("1 << -1", i64::MIN),
            ("-1 >> 70", -1),
            ("1U >> 64", 1),
            ("WARP_SZ * 2", 64),
            ("1 ? 2 ? 3 : 4 : 5", 3),
            ("~0", -1),
            ("!5", 0),
            ("1 ? 10 : 20", 10),
            ("0 ? 1 : 0 ? 2 : 3", 3),
            ("5 > 3 && 2 < 1", 0),
            ("-1 < 1U", 0),
            ("(.s64)-1 < 1", 1),
            ("0xFFFFFFFFFFFFFFFF >> 63", 1),
            ("-1 >> 63", -1),
            ("10 - 3 - 2", 5),
        ] {
            assert_eq!(integer(text), Some(value), "{text}");
        }
        for text in ["", "1+", "(1", "1)", "1 2", "1/0", "* 3", "1 : 2", "a"] {
            assert_eq!(evaluate(text), None, "{text}");
        }
        let deep = format!("{}1{}", "(".repeat(100_000), ")".repeat(100_000));
        assert_eq!(integer(&deep), Some(1));
    }

    #[test]
    fn large_numbers_wrap_as_in_ptxas() {
        for (text, value) in [
            ("18446744073709551616", 0),
            ("28446744073709551616", 0x8ac7_2304_89e8_0000),
            ("0x1FFFFFFFFFFFFFFFF", u64::MAX),
            ("0x1000000000000000000000000000000001", 1),
            ("02000000000000000000001", 1),
            ("00000000000000000000000000000000000000000001", 1),
        ] {
            assert_eq!(parse(text).and_then(Literal::integer), Some(value));
        }
        for text in [
            "184467440737095516150",
            "99999999999999999999999",
            "0x1FFFFFFFFFFFFFFFFF",
            "07777777777777777777777777777777777777",
            "0b11111111111111111111111111111111111111111111111111111111111111111",
            "1e400",
        ] {
            assert_eq!(parse(text), None, "{text}");
        }
    }

    #[test]
    fn floats_keep_their_bits() {
        assert_eq!(evaluate("0f3F800000"), Some(Literal::Single(0x3F80_0000)));
        assert_eq!(evaluate("-0f3F800000"), Some(Literal::Single(0xBF80_0000)));
        assert_eq!(evaluate("1.5"), Some(Literal::Double(1.5f64.to_bits())));
        assert_eq!(evaluate(".5e1"), Some(Literal::Double(5f64.to_bits())));
        assert_eq!(evaluate("08.5"), Some(Literal::Double(8.5f64.to_bits())));
        assert_eq!(
            evaluate("0d3FF8000000000000"),
            Some(Literal::Double(1.5f64.to_bits()))
        );
    }
}
