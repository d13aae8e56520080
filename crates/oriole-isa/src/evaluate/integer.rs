//! Integer arithmetic: sums, products, carry chains, division, extrema, dot products.

use super::{Bits, Outputs, as_number, sign_extend, truncate};
use crate::mnemonic::Mnemonic;
use crate::modifier::{Flag, MulMode};
use crate::opcode::Opcode;
use crate::scalar_type::ScalarType;

pub(super) fn evaluate(mnemonic: &Mnemonic, inputs: &[Bits]) -> Option<Outputs> {
    let scalar_type = mnemonic.first_type()?;
    if !scalar_type.is_integer()
        || (mnemonic.modifiers().mul_mode == Some(MulMode::Wide) && scalar_type.widened().is_none())
    {
        return None;
    }
    match (mnemonic.opcode(), inputs) {
        (Opcode::Addc | Opcode::Subc, &[a, b, carry]) => {
            Some(sum(mnemonic, scalar_type, a, b, carry & 1 != 0))
        }
        (Opcode::Add | Opcode::Sub, &[a, b]) if scalar_type.lanes() == 1 => {
            // Without a carry flag read, a subtraction starts with no borrow.
            Some(sum(mnemonic, scalar_type, a, b, false))
        }
        (Opcode::Madc, &[a, b, c, carry]) => {
            product_sum(mnemonic, scalar_type, [a, b, c], carry & 1)
        }
        (Opcode::Mad, &[a, b, c]) => product_sum(mnemonic, scalar_type, [a, b, c], 0),
        (Opcode::Dp4a | Opcode::Dp2a, &[a, b, c]) => {
            dot_product(mnemonic, a, b, c).map(Outputs::one)
        }
        _ if scalar_type.lanes() > 1 => packed(mnemonic, scalar_type, inputs).map(Outputs::one),
        _ => scalar(mnemonic, scalar_type, inputs).map(Outputs::one),
    }
}

/// `a + b` or `a - b`, with the carry flag in and out. The manual calls the flag of a subtraction its borrow; the machine adds
/// the complement of `b`, so the flag is the carry of that sum, which is set when nothing is borrowed. Only chains that mix
/// additions and subtractions can tell.
fn sum(mnemonic: &Mnemonic, scalar_type: ScalarType, a: Bits, b: Bits, carry: bool) -> Outputs {
    let width = scalar_type.bits();
    let subtract = matches!(mnemonic.opcode(), Opcode::Sub | Opcode::Subc);
    if mnemonic.has(Flag::Saturate) {
        let (a, b) = (as_number(a, scalar_type), as_number(b, scalar_type));
        let exact = if subtract { a - b } else { a + b };
        return Outputs::one(saturate(exact, scalar_type));
    }
    let (a, b) = (truncate(a, width), truncate(b, width));
    let carry = carry || mnemonic.opcode() == Opcode::Sub;
    let addend = if subtract { truncate(!b, width) } else { b };
    let exact = a + addend + Bits::from(carry);
    let carry_out = mnemonic
        .has(Flag::CarryOut)
        .then_some((exact >> width) & 1 != 0);
    Outputs::with_carry(truncate(exact, width), carry_out)
}

/// `mad` and `madc`: part of the product, plus `c`, plus the carry.
fn product_sum(
    mnemonic: &Mnemonic,
    scalar_type: ScalarType,
    [a, b, c]: [Bits; 3],
    carry: Bits,
) -> Option<Outputs> {
    let mode = mnemonic.modifiers().mul_mode?;
    let part = product(scalar_type, mode, a, b);
    let width = match mode {
        MulMode::Wide => scalar_type.widened()?.bits(),
        _ => scalar_type.bits(),
    };
    if mnemonic.has(Flag::Saturate) {
        let exact = sign_extend(part, width) + sign_extend(c, width);
        return Some(Outputs::one(saturate(exact, scalar_type)));
    }
    let exact = part + truncate(c, width) + carry;
    let carry_out = mnemonic
        .has(Flag::CarryOut)
        .then_some((exact >> width) & 1 != 0);
    Some(Outputs::with_carry(truncate(exact, width), carry_out))
}

/// Low half, high half or whole of a product, truncated to its width.
fn product(scalar_type: ScalarType, mode: MulMode, a: Bits, b: Bits) -> Bits {
    let width = scalar_type.bits();
    // 64-bit unsigned operands: the product fits in 128 bits, read as unsigned.
    let whole = if scalar_type.is_signed() {
        (as_number(a, scalar_type) * as_number(b, scalar_type)) as Bits
    } else {
        truncate(a, width) * truncate(b, width)
    };
    match mode {
        MulMode::Low => truncate(whole, width),
        MulMode::High => truncate(whole >> width, width),
        MulMode::Wide => truncate(whole, 2 * width),
    }
}

/// The 32-bit part of a 24-bit product.
fn product24(scalar_type: ScalarType, mode: MulMode, a: Bits, b: Bits) -> Bits {
    let whole = if scalar_type.is_signed() {
        (sign_extend(a, 24) * sign_extend(b, 24)) as Bits
    } else {
        truncate(a, 24) * truncate(b, 24)
    };
    match mode {
        MulMode::High => truncate(whole >> 16, 32),
        _ => truncate(whole, 32),
    }
}

pub(super) fn saturate(value: i128, scalar_type: ScalarType) -> Bits {
    let width = scalar_type.bits();
    let (low, high) = if scalar_type.is_signed() {
        (-(1i128 << (width - 1)), (1i128 << (width - 1)) - 1)
    } else {
        (0, ((1u128 << width) - 1) as i128)
    };
    truncate(value.clamp(low, high) as Bits, width)
}

fn scalar(mnemonic: &Mnemonic, scalar_type: ScalarType, inputs: &[Bits]) -> Option<Bits> {
    let width = scalar_type.bits();
    let mode = mnemonic.modifiers().mul_mode;
    let number = |value| as_number(value, scalar_type);
    let wrap = |value: i128| truncate(value as Bits, width);
    Some(match (mnemonic.opcode(), inputs) {
        (Opcode::Mul, &[a, b]) => product(scalar_type, mode?, a, b),
        (Opcode::Mul24, &[a, b]) => product24(scalar_type, mode?, a, b),
        (Opcode::Mad24, &[a, b, c]) => {
            let part = product24(scalar_type, mode?, a, b);
            if mnemonic.has(Flag::Saturate) {
                saturate(sign_extend(part, 32) + number(c), scalar_type)
            } else {
                truncate(part + truncate(c, 32), 32)
            }
        }
        (Opcode::Sad, &[a, b, c]) => {
            let difference = number(a).abs_diff(number(b));
            truncate(truncate(c, width) + difference, width)
        }
        (Opcode::Div, &[a, b]) if number(b) != 0 => wrap(number(a).wrapping_div(number(b))),
        (Opcode::Rem, &[a, b]) if number(b) != 0 => wrap(number(a).wrapping_rem(number(b))),
        (Opcode::Abs, &[a]) => wrap(number(a).abs()),
        (Opcode::Neg, &[a]) => wrap(-number(a)),
        (Opcode::Min, &[a, b]) => wrap(relu(mnemonic, number(a).min(number(b)))),
        (Opcode::Max, &[a, b]) => wrap(relu(mnemonic, number(a).max(number(b)))),
        _ => return None,
    })
}

fn relu(mnemonic: &Mnemonic, value: i128) -> i128 {
    if mnemonic.has(Flag::Relu) {
        value.max(0)
    } else {
        value
    }
}

/// `add`, `min` and `max` on two half-words.
fn packed(mnemonic: &Mnemonic, scalar_type: ScalarType, inputs: &[Bits]) -> Option<Bits> {
    let &[a, b] = inputs else {
        return None;
    };
    let lane = scalar_type.lane();
    let width = lane.bits();
    let mut result = 0;
    for index in 0..scalar_type.lanes() {
        let shift = index * width;
        let (a, b) = (as_number(a >> shift, lane), as_number(b >> shift, lane));
        let value = match mnemonic.opcode() {
            Opcode::Add => a + b,
            Opcode::Min => relu(mnemonic, a.min(b)),
            Opcode::Max => relu(mnemonic, a.max(b)),
            _ => return None,
        };
        result |= truncate(value as Bits, width) << shift;
    }
    Some(result)
}

fn dot_product(mnemonic: &Mnemonic, a: Bits, b: Bits, c: Bits) -> Option<Bits> {
    let &[a_type, b_type] = mnemonic.types() else {
        return None;
    };
    let part = |value: Bits, scalar_type: ScalarType, index: u32, width: u32| {
        let field = value >> (index * width);
        if scalar_type.is_signed() {
            sign_extend(field, width)
        } else {
            truncate(field, width) as i128
        }
    };
    let total: i128 = match mnemonic.opcode() {
        Opcode::Dp4a => (0..4)
            .map(|index| part(a, a_type, index, 8) * part(b, b_type, index, 8))
            .sum(),
        _ => {
            let offset = match mnemonic.modifiers().mul_mode? {
                MulMode::Low => 0,
                MulMode::High => 2,
                MulMode::Wide => return None,
            };
            (0..2)
                .map(|index| part(a, a_type, index, 16) * part(b, b_type, offset + index, 8))
                .sum()
        }
    };
    Some(truncate((total + truncate(c, 32) as i128) as Bits, 32))
}

#[cfg(test)]
mod tests {
    use super::super::evaluate;
    use super::*;

    fn run(text: &str, inputs: &[Bits]) -> Bits {
        let outputs = evaluate(&Mnemonic::parse(text), inputs).unwrap_or_else(|| panic!("{text}"));
        outputs.values()[0]
    }

    fn carry(text: &str, inputs: &[Bits]) -> (Bits, Option<bool>) {
        let outputs = evaluate(&Mnemonic::parse(text), inputs).unwrap_or_else(|| panic!("{text}"));
        (outputs.values()[0], outputs.carry)
    }

    const MAXIMUM: Bits = 0xffff_ffff;

    #[test]
    fn sums_wrap_and_saturate() {
        assert_eq!(run("add.u32", &[MAXIMUM, 2]), 1);
        assert_eq!(run("add.s64", &[u64::MAX.into(), 1]), 0);
        assert_eq!(run("add.sat.s32", &[0x7fff_ffff, 1]), 0x7fff_ffff);
        assert_eq!(run("sub.sat.s32", &[0x8000_0000, 1]), 0x8000_0000);
        assert_eq!(run("add.u16x2", &[0xffff_ffff, 0x0001_0001]), 0);
    }

    #[test]
    fn carries_chain() {
        assert_eq!(carry("add.cc.u32", &[MAXIMUM, 1]), (0, Some(true)));
        assert_eq!(carry("addc.u32", &[1, 1, 1]), (3, None));
        assert_eq!(
            carry("addc.cc.u32", &[MAXIMUM, MAXIMUM, 1]),
            (MAXIMUM, Some(true))
        );
        // The carry of a subtraction is that no borrow is needed.
        assert_eq!(carry("sub.cc.u32", &[0, 1]), (MAXIMUM, Some(false)));
        assert_eq!(carry("sub.cc.u32", &[1, 1]), (0, Some(true)));
        assert_eq!(carry("sub.cc.u32", &[1, 0]), (1, Some(true)));
        assert_eq!(carry("subc.cc.u32", &[5, 4, 0]), (0, Some(true)));
        assert_eq!(carry("subc.cc.u32", &[5, 5, 0]), (MAXIMUM, Some(false)));
        assert_eq!(carry("subc.cc.u32", &[5, 4, 1]), (1, Some(true)));
        assert_eq!(carry("sub.s64", &[5, 7]), (u64::MAX as Bits - 1, None));
        assert_eq!(
            carry("mad.lo.cc.u32", &[MAXIMUM, MAXIMUM, MAXIMUM]),
            (0, Some(true))
        );
        assert_eq!(
            carry("madc.hi.u32", &[MAXIMUM, MAXIMUM, 0, 1]),
            (MAXIMUM, None)
        );
    }

    #[test]
    fn products() {
        assert_eq!(run("mul.hi.s32", &[MAXIMUM, MAXIMUM]), 0);
        assert_eq!(
            run("mul.hi.u64", &[u64::MAX.into(), u64::MAX.into()]),
            u128::from(u64::MAX - 1)
        );
        assert_eq!(
            run("mul.hi.s64", &[u64::MAX.into(), 1]),
            u128::from(u64::MAX)
        );
        assert_eq!(run("mul.wide.u16", &[0xffff, 0xffff]), 0xfffe_0001);
        assert_eq!(run("mul24.lo.s32", &[0xff_ffff, 2]), 0xffff_fffe);
        assert_eq!(run("mul24.hi.u32", &[0xff_ffff, 0xff_ffff]), 0xffff_fe00);
        assert_eq!(
            run("mad.hi.sat.s32", &[0x7fff_ffff, 0x7fff_ffff, 0x7fff_ffff]),
            0x7fff_ffff
        );
    }

    #[test]
    fn division_truncates() {
        assert_eq!(run("div.s32", &[0xffff_fff9, 2]), 0xffff_fffd);
        assert_eq!(run("rem.s32", &[0xffff_fff9, 2]), MAXIMUM);
        assert_eq!(run("div.s32", &[0x8000_0000, MAXIMUM]), 0x8000_0000);
        assert_eq!(run("rem.u64", &[10, 4]), 2);
    }

    #[test]
    fn extrema_and_dot_products() {
        assert_eq!(run("min.s32", &[MAXIMUM, 1]), MAXIMUM);
        assert_eq!(run("min.u32", &[MAXIMUM, 1]), 1);
        assert_eq!(run("max.relu.s32", &[MAXIMUM, 0xffff_fff0]), 0);
        assert_eq!(run("max.s16x2", &[0x8000_0001, 0x0002_ffff]), 0x0002_0001);
        assert_eq!(run("dp4a.s32.s32", &[0x0101_01ff, 0x0101_0101, 10]), 12);
        assert_eq!(run("dp2a.hi.u32.u32", &[0x0002_0003, 0x0504_0000, 1]), 23);
        assert_eq!(run("sad.s32", &[MAXIMUM, 1, 5]), 7);
        assert_eq!(run("abs.s32", &[0x8000_0000]), 0x8000_0000);
    }
}
