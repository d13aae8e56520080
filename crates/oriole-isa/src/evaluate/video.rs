//! Video instructions. Their selectors stand on the operands, not in the mnemonic, and are passed beside the inputs.

use super::{Bits, Outputs, sign_extend, truncate};
use crate::mnemonic::Mnemonic;
use crate::modifier::{Comparison, Flag, ReductionOperation, ShiftMode};
use crate::opcode::Opcode;
use crate::scalar_type::ScalarType;

/// The selectors and signs written on the operands of a video instruction, selectors without their dot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct VideoOperands<'a> {
    /// `d.h0`, or the lane mask of a packed instruction.
    pub destination: Option<&'a str>,
    /// `a.b1`.
    pub a: Option<&'a str>,
    /// `b.h1`.
    pub b: Option<&'a str>,
    /// Exactly one of `a` and `b` of `vmad` is negated.
    pub negate_product: bool,
    /// `c` of `vmad` is negated.
    pub negate_c: bool,
}

/// The result of a video instruction; inputs are `a`, `b` and, where written, `c`.
pub fn evaluate_video(
    mnemonic: &Mnemonic,
    inputs: &[Bits],
    operands: &VideoOperands<'_>,
) -> Option<Outputs> {
    use Opcode::*;
    if mnemonic.is_opaque() {
        return None;
    }
    let value = match mnemonic.opcode() {
        Vadd | Vsub | Vabsdiff | Vmin | Vmax | Vshl | Vshr | Vset => {
            scalar(mnemonic, inputs, operands)?
        }
        Vmad => multiply_add(mnemonic, inputs, operands)?,
        Vadd2 | Vsub2 | Vavrg2 | Vabsdiff2 | Vmin2 | Vmax2 | Vset2 => {
            packed(mnemonic, inputs, operands, 2)?
        }
        Vadd4 | Vsub4 | Vavrg4 | Vabsdiff4 | Vmin4 | Vmax4 | Vset4 => {
            packed(mnemonic, inputs, operands, 4)?
        }
        _ => return None,
    };
    Some(Outputs::one(value))
}

/// Position and width of a scalar selector.
fn selector_field(selector: &str) -> Option<(u32, u32)> {
    Some(match selector {
        "b0" => (0, 8),
        "b1" => (8, 8),
        "b2" => (16, 8),
        "b3" => (24, 8),
        "h0" => (0, 16),
        "h1" => (16, 16),
        _ => return None,
    })
}

/// The selected part of an operand as a number of its type.
fn part(value: Bits, scalar_type: ScalarType, selector: Option<&str>) -> Option<i128> {
    let (shift, width) = match selector {
        None => (0, 32),
        Some(selector) => selector_field(selector)?,
    };
    Some(number(value >> shift, width, scalar_type.is_signed()))
}

fn number(value: Bits, width: u32, signed: bool) -> i128 {
    if signed {
        sign_extend(value, width)
    } else {
        truncate(value, width) as i128
    }
}

fn clamp(value: i128, width: u32, signed: bool) -> i128 {
    if signed {
        value.clamp(-(1 << (width - 1)), (1 << (width - 1)) - 1)
    } else {
        value.clamp(0, (1 << width) - 1)
    }
}

/// Saturation of scalar video instructions, which differs from the manual's: the exact value is kept in 34 bits; a whole
/// unsigned word is bounded below only, unless it was shifted; and for a part of a word the value is read as unsigned unless both operands are
/// signed, so that a negative value becomes the largest.
fn saturate_as_hardware(
    value: i128,
    width: u32,
    signed: bool,
    both_signed: bool,
    shifted: bool,
) -> i128 {
    if width < 32 {
        let value = if value < 0 && !both_signed {
            i128::MAX
        } else {
            value
        };
        return clamp(value, width, signed);
    }
    let value = number(value as Bits, 34, true);
    if signed || shifted {
        clamp(value, 32, signed)
    } else {
        value.max(0)
    }
}

/// A secondary `.min` or `.max`. Hardware compares 64 bits, signed or not as the destination is: a sum or difference is
/// extended from 32 bits with its sign, any other value is exact, `c` is extended by its type. What was not recorded is
/// left open unless it fits 31 bits, where all readings agree.
fn extremum_as_hardware(
    mnemonic: &Mnemonic,
    [a_type, b_type]: [ScalarType; 2],
    signed: bool,
    value: i128,
    c: Bits,
    operation: ReductionOperation,
) -> Option<Bits> {
    let saturates = mnemonic.has(Flag::Saturate);
    let both_signed = a_type.is_signed() && b_type.is_signed();
    let is_sum = matches!(mnemonic.opcode(), Opcode::Vadd | Opcode::Vsub);
    let is_known = match mnemonic.opcode() {
        Opcode::Vadd | Opcode::Vsub => both_signed || !saturates,
        Opcode::Vmin | Opcode::Vmax | Opcode::Vabsdiff => both_signed,
        Opcode::Vshl | Opcode::Vshr => a_type.is_signed() && !saturates,
        Opcode::Vset => true,
        _ => false,
    };
    let small = 0..=i128::from(i32::MAX);
    let is_small = small.contains(&value) && small.contains(&(truncate(c, 32) as i128));
    if !is_known && !is_small {
        return None;
    }
    let value = if is_sum {
        sign_extend(value as Bits, 32)
    } else {
        value
    };
    let value = number(value as Bits, 64, signed);
    let c = number(c, 32, signed);
    let result = match operation {
        ReductionOperation::Min => value.min(c),
        ReductionOperation::Max => value.max(c),
        _ => return None,
    };
    Some(truncate(result as Bits, 32))
}

fn holds(comparison: Comparison, a: i128, b: i128) -> Option<bool> {
    Some(match comparison {
        Comparison::Equal => a == b,
        Comparison::NotEqual => a != b,
        Comparison::Less => a < b,
        Comparison::LessEqual => a <= b,
        Comparison::Greater => a > b,
        Comparison::GreaterEqual => a >= b,
        _ => return None,
    })
}

/// The types of d, a and b; a comparison names a and b only, and its results are unsigned.
fn operand_types(mnemonic: &Mnemonic) -> Option<[ScalarType; 3]> {
    match *mnemonic.types() {
        [a, b] => Some([ScalarType::U32, a, b]),
        [d, a, b] => Some([d, a, b]),
        _ => None,
    }
}

fn scalar(mnemonic: &Mnemonic, inputs: &[Bits], operands: &VideoOperands<'_>) -> Option<Bits> {
    let (&[a, b], rest) = inputs.split_first_chunk::<2>()?;
    let [d_type, a_type, b_type] = operand_types(mnemonic)?;
    let modifiers = mnemonic.modifiers();
    let (a, b) = (part(a, a_type, operands.a)?, part(b, b_type, operands.b)?);
    let shift = || match modifiers.shift_mode {
        Some(ShiftMode::Clamp) => Some(b.clamp(0, 32) as u32),
        Some(ShiftMode::Wrap) => Some((b & 31) as u32),
        None => None,
    };
    let value = match mnemonic.opcode() {
        Opcode::Vadd => a + b,
        Opcode::Vsub => a - b,
        Opcode::Vabsdiff => (a - b).abs(),
        Opcode::Vmin => a.min(b),
        Opcode::Vmax => a.max(b),
        Opcode::Vshl => a << shift()?,
        Opcode::Vshr => a >> shift()?,
        Opcode::Vset => holds(modifiers.comparison?, a, b)?.into(),
        _ => return None,
    };
    let (position, width) = match operands.destination {
        None => (0, 32),
        Some(selector) => selector_field(selector)?,
    };
    let shifts = matches!(mnemonic.opcode(), Opcode::Vshl | Opcode::Vshr);
    let saturates = mnemonic.has(Flag::Saturate);
    // A shift that is merged into the upper half takes the upper half of its result, which is saturated as a whole word.
    let keeps_place = shifts && operands.destination == Some("h1");
    if shifts && saturates && !keeps_place && operands.destination.is_some() {
        return None;
    }
    let value = if saturates {
        saturate_as_hardware(
            value,
            if keeps_place { 32 } else { width },
            d_type.is_signed(),
            a_type.is_signed() && b_type.is_signed(),
            mnemonic.opcode() == Opcode::Vshl || keeps_place,
        )
    } else {
        value
    };
    match (modifiers.operation, operands.destination, rest) {
        (None, None, []) => Some(truncate(value as Bits, 32)),
        (None, Some(_), &[c]) => {
            let mask = truncate(!0, width) << position;
            let placed = if keeps_place { 0 } else { position };
            let merged = ((value as Bits) << placed) & mask;
            Some(truncate(c & !mask | merged, 32))
        }
        (Some(operation), None, &[c]) => {
            if operation == ReductionOperation::Add {
                return Some(truncate((value as Bits).wrapping_add(c), 32));
            }
            let is_vset = mnemonic.opcode() == Opcode::Vset;
            let signed = if is_vset { a_type } else { d_type }.is_signed();
            extremum_as_hardware(mnemonic, [a_type, b_type], signed, value, c, operation)
        }
        _ => None,
    }
}

fn multiply_add(
    mnemonic: &Mnemonic,
    inputs: &[Bits],
    operands: &VideoOperands<'_>,
) -> Option<Bits> {
    let &[a, b, c] = inputs else {
        return None;
    };
    let &[_, a_type, b_type] = mnemonic.types() else {
        return None;
    };
    let product = part(a, a_type, operands.a)? * part(b, b_type, operands.b)?;
    let signed =
        a_type.is_signed() || b_type.is_signed() || operands.negate_product || operands.negate_c;
    let top_bit = truncate(c, 32) >> 31 != 0;
    // Was recorded for parts of a word; the sum has 64 bits, which a product of whole words can fill.
    if !signed && top_bit && product >= 1 << 62 {
        return None;
    }
    // Hardware extends `c` with its sign even if all operands are unsigned, and shifts zeros in from above.
    let c = number(c, 32, signed || top_bit);
    let sum = match (operands.negate_product, operands.negate_c) {
        (false, false) => product + c + i128::from(mnemonic.has(Flag::PlusOne)),
        (true, false) => c - product,
        (false, true) => product - c,
        (true, true) => return None,
    };
    let shift = match () {
        () if mnemonic.has_modifier("shr7") => 7,
        () if mnemonic.has_modifier("shr15") => 15,
        () => 0,
    };
    let scaled = if signed || shift == 0 {
        sum >> shift
    } else {
        number(sum as Bits, 64, false) >> shift
    };
    let result = if mnemonic.has(Flag::Saturate) {
        clamp(scaled, 32, signed)
    } else {
        scaled
    };
    Some(truncate(result as Bits, 32))
}

/// The source lanes of a packed selector, lowest result lane first; `h10` reads lane 0 then 1.
fn lanes(selector: Option<&str>, default: [u32; 4], count: usize) -> Option<[u32; 4]> {
    let Some(selector) = selector else {
        return Some(default);
    };
    let digits = selector.strip_prefix(if count == 2 { 'h' } else { 'b' })?;
    if digits.len() != count {
        return None;
    }
    let mut result = [0; 4];
    for (slot, digit) in result[..count].iter_mut().zip(digits.chars().rev()) {
        *slot = digit.to_digit(2 * count as u32)?;
    }
    Some(result)
}

fn packed(
    mnemonic: &Mnemonic,
    inputs: &[Bits],
    operands: &VideoOperands<'_>,
    count: usize,
) -> Option<Bits> {
    let &[a, b, c] = inputs else {
        return None;
    };
    let [d_type, a_type, b_type] = operand_types(mnemonic)?;
    let width = 32 / count as u32;
    let both = truncate(b, 32) << 32 | truncate(a, 32);
    let offset = count as u32;
    let a_lanes = lanes(operands.a, [0, 1, 2, 3], count)?;
    let b_lanes = lanes(
        operands.b,
        [offset, offset + 1, offset + 2, offset + 3],
        count,
    )?;
    let mask: u32 = match operands.destination {
        None => (1 << count) - 1,
        Some(selector) => {
            let digits = selector.strip_prefix(if count == 2 { 'h' } else { 'b' })?;
            digits.chars().try_fold(0, |mask, digit| {
                Some(mask | 1 << digit.to_digit(count as u32)?)
            })?
        }
    };
    let accumulate = mnemonic.modifiers().operation == Some(ReductionOperation::Add);
    let mut total = if accumulate {
        truncate(c, 32) as i128
    } else {
        0
    };
    let mut merged = 0;
    for lane in 0..count {
        let shift = lane as u32 * width;
        let x = number(both >> (a_lanes[lane] * width), width, a_type.is_signed());
        let y = number(both >> (b_lanes[lane] * width), width, b_type.is_signed());
        let value = match mnemonic.opcode() {
            Opcode::Vadd2 | Opcode::Vadd4 => x + y,
            Opcode::Vsub2 | Opcode::Vsub4 => x - y,
            Opcode::Vavrg2 | Opcode::Vavrg4 => (x + y + i128::from(x + y >= 0)) >> 1,
            Opcode::Vabsdiff2 | Opcode::Vabsdiff4 => (x - y).abs(),
            Opcode::Vmin2 | Opcode::Vmin4 => x.min(y),
            Opcode::Vmax2 | Opcode::Vmax4 => x.max(y),
            Opcode::Vset2 | Opcode::Vset4 => holds(mnemonic.modifiers().comparison?, x, y)?.into(),
            _ => return None,
        };
        let value = if mnemonic.has(Flag::Saturate) {
            clamp(value, width, d_type.is_signed())
        } else {
            value
        };
        let selected = mask >> lane & 1 != 0;
        if accumulate && selected {
            total += value;
        }
        let source = if selected { value as Bits } else { c >> shift };
        merged |= truncate(source, width) << shift;
    }
    Some(if accumulate {
        truncate(total as Bits, 32)
    } else {
        merged
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(text: &str, inputs: &[Bits], operands: VideoOperands<'_>) -> Bits {
        let outputs = evaluate_video(&Mnemonic::parse(text), inputs, &operands);
        outputs.unwrap_or_else(|| panic!("{text}")).values()[0]
    }

    #[test]
    fn scalar_selectors_and_merges() {
        let plain = VideoOperands::default();
        assert_eq!(
            run("vadd.s32.s32.s32.sat", &[0x7fff_ffff, 1], plain),
            0x7fff_ffff
        );
        let selected = VideoOperands {
            a: Some("b3"),
            b: Some("h1"),
            ..plain
        };
        assert_eq!(
            run("vadd.s32.s32.u32", &[0xff00_0000, 0x0005_0000], selected),
            4
        );
        let merged = VideoOperands {
            destination: Some("h1"),
            ..plain
        };
        assert_eq!(
            run("vmax.u32.u32.u32", &[3, 5, 0xaaaa_bbbb], merged),
            0x0005_bbbb
        );
        assert_eq!(run("vabsdiff.u32.u32.u32.add", &[3, 5, 10], plain), 12);
        assert_eq!(run("vset.s32.s32.lt", &[0xffff_ffff, 0], plain), 1);
        assert_eq!(run("vshl.u32.u32.u32.clamp", &[1, 40], plain), 0);
        assert_eq!(
            run("vshr.s32.s32.u32.wrap", &[0x8000_0000, 33], plain),
            0xc000_0000
        );
    }

    #[test]
    fn multiply_add_scales() {
        let plain = VideoOperands::default();
        assert_eq!(run("vmad.u32.u32.u32.po", &[3, 4, 5], plain), 18);
        assert_eq!(run("vmad.s32.s32.s32.shr7", &[256, 4, 0], plain), 8);
        let negated = VideoOperands {
            negate_c: true,
            ..plain
        };
        assert_eq!(run("vmad.s32.s32.s32", &[3, 4, 5], negated), 7);
    }

    #[test]
    fn packed_lanes() {
        let plain = VideoOperands::default();
        assert_eq!(
            run("vadd2.s32.s32.s32", &[0x0001_0002, 0x0003_0004, 0], plain),
            0x0004_0006
        );
        assert_eq!(
            run("vavrg4.u32.u32.u32", &[0x0000_0003, 0x0000_0004, 0], plain),
            4
        );
        assert_eq!(
            run("vabsdiff4.u32.u32.u32.add", &[0x0102_0304, 0, 1], plain),
            11
        );
        let masked = VideoOperands {
            destination: Some("h1"),
            a: Some("h32"),
            ..plain
        };
        assert_eq!(
            run("vmin2.s32.s32.s32", &[0, 0x0003_0004, 0xdddd_eeee], masked),
            0x0003_eeee
        );
    }
}
