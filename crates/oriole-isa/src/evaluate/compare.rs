//! Comparison, selection and classification.

use std::cmp::Ordering;

use super::float::flushes;
use super::float_format::{Exact, Format, Value};
use super::{Bits, Outputs, as_number, sign_extend, truncate};
use crate::mnemonic::Mnemonic;
use crate::modifier::{BooleanOperation, Comparison, Flag, TestOperation};
use crate::opcode::Opcode;
use crate::scalar_type::ScalarType;

/// `setp` and `set`.
pub(super) fn evaluate(mnemonic: &Mnemonic, inputs: &[Bits]) -> Option<Outputs> {
    let modifiers = mnemonic.modifiers();
    let comparison = modifiers.comparison?;
    let (a, b, predicate) = match (modifiers.boolean, inputs) {
        (None, &[a, b]) => (a, b, None),
        (Some(operation), &[a, b, c]) => (a, b, Some((operation, c & 1 != 0))),
        _ => return None,
    };
    let combine = |truth: bool| match predicate {
        None => truth,
        Some((BooleanOperation::And, c)) => truth && c,
        Some((BooleanOperation::Or, c)) => truth || c,
        Some((BooleanOperation::Xor, c)) => truth != c,
    };
    let flush = mnemonic.has(Flag::FlushToZero);
    let lane_truth = |scalar_type: ScalarType, lane: u32| {
        let shift = lane * scalar_type.lane().bits();
        compare(
            comparison,
            scalar_type.lane(),
            a >> shift,
            b >> shift,
            flush,
        )
    };
    match (mnemonic.opcode(), mnemonic.types()) {
        (Opcode::Setp, &[source]) => {
            let low = lane_truth(source, 0)?;
            // The second predicate is the complement, or the upper lane's.
            let other = if source.lanes() == 2 {
                lane_truth(source, 1)?
            } else {
                !low
            };
            Some(Outputs::two(combine(low).into(), combine(other).into()))
        }
        // One half-word mask for each lane.
        (Opcode::Set, &[destination, source])
            if destination.is_integer()
                && (destination.lanes(), destination.bits()) == (1, 32)
                && source.lanes() == 2 =>
        {
            let mut result = 0;
            for lane in 0..2 {
                if combine(lane_truth(source, lane)?) {
                    result |= 0xffff << (lane * 16);
                }
            }
            Some(Outputs::one(result))
        }
        (Opcode::Set, &[destination, source]) if destination.lanes() == source.lanes() => {
            let lane_type = destination.lane();
            let width = lane_type.bits();
            let truth_value = match Format::of(lane_type) {
                Some(format) => format.one().into(),
                None => truncate(!0, width),
            };
            let mut result = 0;
            for lane in 0..source.lanes() {
                if combine(lane_truth(source, lane)?) {
                    result |= truth_value << (lane * width);
                }
            }
            Some(Outputs::one(result))
        }
        _ => None,
    }
}

fn compare(
    comparison: Comparison,
    scalar_type: ScalarType,
    a: Bits,
    b: Bits,
    flush: bool,
) -> Option<bool> {
    use Comparison::*;
    let ordering = if scalar_type.is_float() {
        let format = Format::of(scalar_type)?;
        let pattern = |value: Bits| {
            let bits = truncate(value, format.width()) as u64;
            if flush && flushes(format) {
                format.flush(bits)
            } else {
                bits
            }
        };
        compare_floats(format, pattern(a), pattern(b))
    } else {
        if matches!(
            comparison,
            EqualUnordered
                | NotEqualUnordered
                | LessUnordered
                | LessEqualUnordered
                | GreaterUnordered
                | GreaterEqualUnordered
                | Number
                | NotANumber
        ) {
            return None;
        }
        let unsigned = matches!(comparison, Lower | LowerSame | Higher | HigherSame);
        let number = |value| {
            if unsigned {
                truncate(value, scalar_type.bits()) as i128
            } else {
                as_number(value, scalar_type)
            }
        };
        Some(number(a).cmp(&number(b)))
    };
    Some(match (comparison, ordering) {
        (Number, ordering) => ordering.is_some(),
        (NotANumber, ordering) => ordering.is_none(),
        (
            EqualUnordered
            | NotEqualUnordered
            | LessUnordered
            | LessEqualUnordered
            | GreaterUnordered
            | GreaterEqualUnordered,
            None,
        ) => true,
        (_, None) => false,
        (Equal | EqualUnordered, Some(ordering)) => ordering.is_eq(),
        (NotEqual | NotEqualUnordered, Some(ordering)) => ordering.is_ne(),
        (Less | Lower | LessUnordered, Some(ordering)) => ordering.is_lt(),
        (LessEqual | LowerSame | LessEqualUnordered, Some(ordering)) => ordering.is_le(),
        (Greater | Higher | GreaterUnordered, Some(ordering)) => ordering.is_gt(),
        (GreaterEqual | HigherSame | GreaterEqualUnordered, Some(ordering)) => ordering.is_ge(),
    })
}

/// The order of two numbers, zeros equal; `None` when either is NaN.
fn compare_floats(format: Format, a: u64, b: u64) -> Option<Ordering> {
    if format.is_nan(a) || format.is_nan(b) {
        return None;
    }
    let key = |bits: u64| {
        let magnitude = (bits & (format.sign_bit() - 1)) as i128;
        if format.is_negative(bits) {
            -magnitude
        } else {
            magnitude
        }
    };
    Some(key(a).cmp(&key(b)))
}

/// `selp`, `slct` and `testp`.
pub(super) fn select(mnemonic: &Mnemonic, inputs: &[Bits]) -> Option<Bits> {
    let width = mnemonic.first_type()?.bits();
    match (mnemonic.opcode(), mnemonic.types(), inputs) {
        (Opcode::Selp, _, &[a, b, c]) => Some(truncate(if c & 1 != 0 { a } else { b }, width)),
        (Opcode::Slct, &[_, ScalarType::S32], &[a, b, c]) => {
            Some(truncate(if sign_extend(c, 32) >= 0 { a } else { b }, width))
        }
        (Opcode::Slct, &[_, ScalarType::F32], &[a, b, c]) => {
            let flush = mnemonic.has(Flag::FlushToZero);
            let first = compare(Comparison::GreaterEqual, ScalarType::F32, c, 0, flush)?;
            Some(truncate(if first { a } else { b }, width))
        }
        (Opcode::Testp, &[scalar_type], &[a]) => {
            let format = Format::of(scalar_type)?;
            let bits = truncate(a, format.width()) as u64;
            let subnormal = format.is_subnormal(bits);
            let value = format.decode(bits);
            let finite = matches!(value, Value::Finite(Exact { .. }));
            let truth = match mnemonic.modifiers().test? {
                TestOperation::Finite => finite,
                TestOperation::Infinite => matches!(value, Value::Infinity { .. }),
                TestOperation::Number => value != Value::Nan,
                TestOperation::NotANumber => value == Value::Nan,
                // Zeros count as normal.
                TestOperation::Normal => finite && !subnormal,
                TestOperation::Subnormal => subnormal,
            };
            Some(truth.into())
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::evaluate;
    use super::*;

    fn run(text: &str, inputs: &[Bits]) -> Vec<Bits> {
        let outputs = evaluate(&Mnemonic::parse(text), inputs).unwrap_or_else(|| panic!("{text}"));
        outputs.values().to_vec()
    }

    const NAN: Bits = 0x7fc0_0000;
    const ONE: Bits = 0x3f80_0000;

    #[test]
    fn integers_compare_by_their_sign() {
        assert_eq!(run("setp.lt.s32", &[0xffff_ffff, 0]), [1, 0]);
        assert_eq!(run("setp.lt.u32", &[0xffff_ffff, 0]), [0, 1]);
        assert_eq!(run("setp.lo.u32", &[0, 1]), [1, 0]);
        assert_eq!(run("setp.hs.u64", &[5, 5]), [1, 0]);
        assert_eq!(run("setp.eq.b16", &[0xf_0001, 1]), [1, 0]);
    }

    #[test]
    fn nan_is_unordered() {
        assert_eq!(run("setp.ne.f32", &[NAN, ONE]), [0, 1]);
        assert_eq!(run("setp.neu.f32", &[NAN, ONE]), [1, 0]);
        assert_eq!(run("setp.nan.f32", &[ONE, NAN]), [1, 0]);
        assert_eq!(run("setp.num.f32", &[ONE, ONE]), [1, 0]);
        assert_eq!(run("setp.eq.f32", &[0, 0x8000_0000]), [1, 0]);
        assert_eq!(run("setp.lt.f32", &[0, 1]), [1, 0]);
        assert_eq!(run("setp.lt.ftz.f32", &[0, 1]), [0, 1]);
    }

    #[test]
    fn predicates_combine_with_both_results() {
        assert_eq!(run("setp.lt.and.s32", &[0, 1, 1]), [1, 0]);
        assert_eq!(run("setp.lt.and.s32", &[0, 1, 0]), [0, 0]);
        assert_eq!(run("setp.lt.or.s32", &[0, 1, 1]), [1, 1]);
        assert_eq!(run("setp.lt.xor.s32", &[0, 1, 1]), [0, 1]);
        assert_eq!(run("setp.lt.f16x2", &[0x3c00_0000, 0x0000_3c00]), [1, 0]);
    }

    #[test]
    fn set_writes_masks_or_ones() {
        assert_eq!(run("set.lt.u32.s32", &[0, 1]), [0xffff_ffff]);
        assert_eq!(run("set.lt.f32.s32", &[0, 1]), [ONE]);
        assert_eq!(run("set.lt.f16x2.f16x2", &[0, 0x3c00_0000]), [0x3c00_0000]);
        assert_eq!(run("set.gt.or.u32.f32", &[0, 0, 1]), [0xffff_ffff]);
    }

    #[test]
    fn selection_and_tests() {
        assert_eq!(run("selp.b32", &[1, 2, 0]), [2]);
        assert_eq!(run("slct.u32.s32", &[1, 2, 0xffff_ffff]), [2]);
        assert_eq!(run("slct.u32.f32", &[1, 2, 0x8000_0000]), [1]);
        assert_eq!(run("slct.u32.f32", &[1, 2, NAN]), [2]);
        assert_eq!(run("slct.ftz.u32.f32", &[1, 2, 0x8000_0001]), [1]);
        assert_eq!(run("testp.normal.f32", &[0]), [1]);
        assert_eq!(run("testp.subnormal.f64", &[1]), [1]);
        assert_eq!(run("testp.finite.f32", &[0x7f80_0000]), [0]);
        assert_eq!(run("testp.notanumber.f32", &[NAN]), [1]);
    }
}
