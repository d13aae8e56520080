//! Bit manipulation: logic, shifts, fields, counts, permutation.

use super::{Bits, Outputs, sign_extend, truncate};
use crate::mnemonic::Mnemonic;
use crate::modifier::{BooleanOperation, Direction, Flag, PermuteMode, ShiftMode};
use crate::opcode::Opcode;

const NOT_FOUND: Bits = 0xffff_ffff;

pub(super) fn evaluate(mnemonic: &Mnemonic, inputs: &[Bits]) -> Option<Bits> {
    let scalar_type = mnemonic.first_type()?;
    let width = scalar_type.bits();
    let mode = mnemonic.modifiers().shift_mode;
    let low = |value| truncate(value, width);
    Some(match (mnemonic.opcode(), inputs) {
        (Opcode::And, &[a, b]) => low(a & b),
        (Opcode::Or, &[a, b]) => low(a | b),
        (Opcode::Xor, &[a, b]) => low(a ^ b),
        (Opcode::Not, &[a]) => low(!a),
        (Opcode::Cnot, &[a]) => Bits::from(low(a) == 0),
        (Opcode::Shl, &[a, b]) => match truncate(b, 32) {
            count if count < Bits::from(width) => low(a << count),
            _ => 0,
        },
        (Opcode::Shr, &[a, b]) => {
            let count = truncate(b, 32).min(Bits::from(width)) as u32;
            if scalar_type.is_signed() {
                low((sign_extend(a, width) >> count.min(width - 1)) as Bits)
            } else if count < width {
                low(a) >> count
            } else {
                0
            }
        }
        (Opcode::Shf, &[a, b, c]) => {
            let funnel = truncate(b, 32) << 32 | truncate(a, 32);
            let count = match mode? {
                ShiftMode::Clamp => truncate(c, 32).min(32),
                ShiftMode::Wrap => c & 31,
            };
            match mnemonic.modifiers().direction? {
                Direction::Left => truncate((funnel << count) >> 32, 32),
                Direction::Right => truncate(funnel >> count, 32),
            }
        }
        (Opcode::Popc, &[a]) => low(a).count_ones().into(),
        (Opcode::Clz, &[a]) => (low(a).leading_zeros() - (128 - width)).into(),
        (Opcode::Brev, &[a]) => low(a).reverse_bits() >> (128 - width),
        (Opcode::Bfind, &[a]) => {
            let negative = scalar_type.is_signed() && sign_extend(a, width) < 0;
            let field = low(if negative { !a } else { a });
            match field.checked_ilog2() {
                None => NOT_FOUND,
                Some(position) if mnemonic.has(Flag::ShiftAmount) => (width - 1 - position).into(),
                Some(position) => position.into(),
            }
        }
        (Opcode::Fns, &[mask, base, offset]) => find_nth_set(mask, base, offset)?,
        (Opcode::Bfe, &[a, b, c]) => {
            let (position, length) = (field_operand(b, width), field_operand(c, width));
            let last = (position + length).wrapping_sub(1).min(width - 1);
            let sign = scalar_type.is_signed() && length > 0 && (low(a) >> last) & 1 != 0;
            // Above the value stands the sign, so that a field reaching beyond it is filled.
            let extended = if sign { low(a) | !0 << width } else { low(a) };
            let kept = truncate(extended >> position.min(width), length.min(width));
            low(if sign && length < width {
                kept | !0 << length
            } else {
                kept
            })
        }
        (Opcode::Bfi, &[a, b, c, d]) => {
            let (position, length) = (field_operand(c, width), field_operand(d, width));
            if position >= width {
                low(b)
            } else {
                let mask = low(truncate(!0, length.min(width)) << position);
                low(b & !mask | (a << position) & mask)
            }
        }
        (Opcode::Szext, &[a, b]) => {
            let count = truncate(b, 32);
            let wrapped = (count & 31) as u32;
            if count >= 32 && mode? == ShiftMode::Clamp {
                low(a)
            } else if scalar_type.is_signed() && wrapped > 0 {
                low(sign_extend(a, wrapped) as Bits)
            } else {
                truncate(a, wrapped)
            }
        }
        (Opcode::Bmsk, &[a, b]) => {
            let (position, length) = (truncate(a, 32), truncate(b, 32));
            let clamp = mode? == ShiftMode::Clamp;
            if clamp && position >= 32 {
                0
            } else if clamp && length >= 32 {
                low(!0 << (position & 31))
            } else {
                low(truncate(!0, (length & 31) as u32) << (position & 31))
            }
        }
        (Opcode::Prmt, &[a, b, c]) => permute(mnemonic.modifiers().permute, a, b, c),
        _ => return None,
    })
}

/// The position or length of a field. The manual says that eight bits count; that holds of 32-bit fields, while 64-bit
/// ones are put together from shifts that clamp on all 32 bits.
fn field_operand(value: Bits, width: u32) -> u32 {
    if width == 64 {
        truncate(value, 32).min(256) as u32
    } else {
        (value & 0xff) as u32
    }
}

fn find_nth_set(mask: Bits, base: Bits, offset: Bits) -> Option<Bits> {
    let base = sign_extend(base, 32);
    let offset = sign_extend(offset, 32);
    // The manual leaves a base beyond the mask undefined; the offset without a magnitude is not searched by hardware.
    if !(0..32).contains(&base) || offset == i128::from(i32::MIN) {
        return None;
    }
    let is_set = |position: i128| (mask >> position) & 1 != 0;
    if offset == 0 {
        return Some(if is_set(base) {
            base as Bits
        } else {
            NOT_FOUND
        });
    }
    let step = offset.signum();
    let mut left = offset.abs() - 1;
    let mut position = base;
    while (0..32).contains(&position) {
        if is_set(position) {
            if left == 0 {
                return Some(position as Bits);
            }
            left -= 1;
        }
        position += step;
    }
    Some(NOT_FOUND)
}

fn permute(mode: Option<PermuteMode>, a: Bits, b: Bits, c: Bits) -> Bits {
    let source = truncate(b, 32) << 32 | truncate(a, 32);
    let byte = |index: u32| (source >> (8 * index)) & 0xff;
    let control = (c & 3) as u32;
    let select = |index: u32| -> Bits {
        match mode {
            None => {
                let selector = (c >> (4 * index)) as u32 & 0xf;
                let value = byte(selector & 7);
                if selector & 8 == 0 {
                    value
                } else if value & 0x80 != 0 {
                    0xff
                } else {
                    0
                }
            }
            Some(PermuteMode::ForwardFourExtract) => byte(control + index),
            Some(PermuteMode::BackwardFourExtract) => byte((8 + control - index) & 7),
            Some(PermuteMode::ReplicateEight) => byte(control),
            Some(PermuteMode::EdgeClampLeft) => byte(index.max(control)),
            Some(PermuteMode::EdgeClampRight) => byte(index.min(control)),
            Some(PermuteMode::ReplicateSixteen) => byte((control & 1) * 2 + (index & 1)),
        }
    };
    (0..4).fold(0, |result, index| result | select(index) << (8 * index))
}

/// `lop3`, with or without the predicate result.
pub(super) fn lop3(mnemonic: &Mnemonic, inputs: &[Bits]) -> Option<Outputs> {
    let (&[a, b, c, table], predicate) = inputs.split_first_chunk::<4>()?;
    let value = (0..8).fold(0, |result, row: u32| {
        let pick = |operand: Bits, bit: u32| if row & bit != 0 { operand } else { !operand };
        if (table >> row) & 1 != 0 {
            result | pick(a, 4) & pick(b, 2) & pick(c, 1)
        } else {
            result
        }
    });
    let value = truncate(value, 32);
    match (mnemonic.modifiers().boolean, predicate) {
        (None, []) => Some(Outputs::one(value)),
        (Some(operation), &[predicate]) => {
            let any = value != 0;
            let predicate = predicate & 1 != 0;
            let result = match operation {
                BooleanOperation::Or => any || predicate,
                BooleanOperation::And => any && predicate,
                BooleanOperation::Xor => return None,
            };
            Some(Outputs::two(value, result.into()))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::evaluate;
    use super::*;

    fn run(text: &str, inputs: &[Bits]) -> Bits {
        let outputs = evaluate(&Mnemonic::parse(text), inputs).unwrap_or_else(|| panic!("{text}"));
        outputs.values()[0]
    }

    /// The manual's loop for `bfe`, bit by bit.
    fn extract_by_definition(a: u64, b: u32, c: u32, width: u32, signed: bool) -> u64 {
        let (position, length) = if width == 64 {
            (b, c)
        } else {
            (b & 0xff, c & 0xff)
        };
        let sign = if !signed || length == 0 {
            0
        } else {
            (a >> (position + length - 1).min(width - 1)) & 1
        };
        (0..width).fold(0, |result, index| {
            let bit = if index < length && position + index < width {
                (a >> (position + index)) & 1
            } else {
                sign
            };
            result | bit << index
        })
    }

    #[test]
    fn field_extraction_follows_the_manual() {
        let value = 0x8123_4567_89ab_cdef_u64;
        for position in [0u32, 1, 5, 31, 32, 33, 63, 64, 100, 127, 128, 200, 255, 256] {
            for length in [0u32, 1, 7, 31, 32, 33, 63, 64, 65, 128, 255, 257] {
                for (text, width, signed) in [
                    ("bfe.u32", 32, false),
                    ("bfe.s32", 32, true),
                    ("bfe.u64", 64, false),
                    ("bfe.s64", 64, true),
                ] {
                    let value = truncate(value.into(), width) as u64;
                    for value in [value, !value] {
                        let value = truncate(value.into(), width) as u64;
                        let inputs = [value.into(), position.into(), length.into()];
                        assert_eq!(
                            run(text, &inputs),
                            extract_by_definition(value, position, length, width, signed).into(),
                            "{text} {value:x} {position} {length}"
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn shifts_clamp() {
        assert_eq!(run("shl.b32", &[1, 32]), 0);
        assert_eq!(run("shl.b32", &[1, 31]), 0x8000_0000);
        assert_eq!(run("shr.s32", &[0x8000_0000, 99]), 0xffff_ffff);
        assert_eq!(run("shr.u64", &[u64::MAX.into(), 64]), 0);
        assert_eq!(run("shr.s16", &[0x8000, 0xffff_ffff]), 0xffff);
        assert_eq!(run("shf.l.wrap.b32", &[0x8000_0000, 1, 1]), 3);
        assert_eq!(run("shf.r.clamp.b32", &[1, 2, 40]), 2);
        assert_eq!(run("shf.l.clamp.b32", &[7, 2, 40]), 7);
    }

    #[test]
    fn counts_and_searches() {
        assert_eq!(run("clz.b64", &[1]), 63);
        assert_eq!(run("clz.b32", &[0]), 32);
        assert_eq!(run("popc.b32", &[0xf0f0_f0f0_f0f0]), 16);
        assert_eq!(run("brev.b32", &[1]), 0x8000_0000);
        assert_eq!(run("bfind.s32", &[0xffff_ffff]), NOT_FOUND);
        assert_eq!(run("bfind.shiftamt.u32", &[1]), 31);
        assert_eq!(run("fns.b32", &[0b1011, 0, 3]), 3);
        assert_eq!(run("fns.b32", &[0b1011, 3, 0xffff_fffe]), 1);
        assert_eq!(run("fns.b32", &[0b1011, 2, 0]), NOT_FOUND);
    }

    #[test]
    fn fields_and_masks() {
        assert_eq!(run("bfi.b32", &[0xff, 0, 4, 8]), 0xff0);
        assert_eq!(run("bfi.b32", &[0xff, 5, 40, 8]), 5);
        assert_eq!(
            run("bfi.b64", &[u64::MAX.into(), 0, 60, 200]),
            0xf000_0000_0000_0000
        );
        assert_eq!(run("bmsk.clamp.b32", &[4, 8]), 0xff0);
        assert_eq!(run("bmsk.clamp.b32", &[4, 40]), 0xffff_fff0);
        assert_eq!(run("bmsk.wrap.b32", &[36, 40]), 0xff0);
        assert_eq!(run("szext.clamp.s32", &[0x80, 8]), 0xffff_ff80);
        assert_eq!(run("szext.wrap.u32", &[0x1ff, 40]), 0xff);
        assert_eq!(run("szext.clamp.s32", &[0x1ff, 40]), 0x1ff);
    }

    #[test]
    fn permutations() {
        let (a, b) = (0x3322_1100, 0x7766_5584);
        assert_eq!(run("prmt.b32", &[a, b, 0x7430]), 0x7784_3300);
        assert_eq!(run("prmt.b32", &[a, b, 0xcccc]), 0xffff_ffff);
        assert_eq!(run("prmt.b32.f4e", &[a, b, 1]), 0x8433_2211);
        assert_eq!(run("prmt.b32.b4e", &[a, b, 1]), 0x6677_0011);
        assert_eq!(run("prmt.b32.rc8", &[a, b, 2]), 0x2222_2222);
        assert_eq!(run("prmt.b32.ecl", &[a, b, 2]), 0x3322_2222);
        assert_eq!(run("prmt.b32.ecr", &[a, b, 1]), 0x1111_1100);
        assert_eq!(run("prmt.b32.rc16", &[a, b, 3]), 0x3322_3322);
    }

    #[test]
    fn three_input_logic() {
        let (a, b, c) = (0xf0, 0xcc, 0xaa);
        for table in 0..256 {
            assert_eq!(run("lop3.b32", &[a, b, c, table]) & 0xff, table);
        }
        let outputs = evaluate(&Mnemonic::parse("lop3.or.b32"), &[0, 0, 0, 0, 1]).expect("valid");
        assert_eq!(outputs.values(), [0, 1]);
    }
}
