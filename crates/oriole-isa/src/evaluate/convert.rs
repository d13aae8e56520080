//! `cvt` and `cvt.pack`.
//!
//! A conversion from floating point to an integer clamps to the destination's range whether or not `.sat` is written; one
//! between integers wraps unless it is.

use super::float::{flushes, relu, saturate};
use super::float_format::{Exact, F16, F32, F64, Format, Specials, TF32, Value};
use super::{Bits, as_number, integer, nan, truncate};
use crate::mnemonic::Mnemonic;
use crate::modifier::{Flag, Rounding};
use crate::scalar_type::ScalarType;

pub(super) fn evaluate(mnemonic: &Mnemonic, inputs: &[Bits]) -> Option<Bits> {
    let &[to, from] = mnemonic.types() else {
        return None;
    };
    // Stochastic rounding takes random bits whose use differs by format; scale formats are not numbers with a sign.
    if mnemonic.modifiers().rounding == Some(Rounding::Stochastic)
        || [to.lane(), from.lane()].contains(&ScalarType::Ue8m0)
    {
        return None;
    }
    match *inputs {
        [a] if to.lanes() == from.lanes() => {
            let (to_width, from_width) = (lane_width(to), lane_width(from));
            let mut result = 0;
            for lane in 0..to.lanes() {
                let value = truncate(a >> (lane * from_width), from_width);
                result |= convert(mnemonic, to.lane(), from.lane(), value)? << (lane * to_width);
            }
            Some(result)
        }
        // The first operand goes to the upper lane.
        [a, b] if to.lanes() == 2 && from.lanes() == 1 => {
            let high = convert(mnemonic, to.lane(), from, a)?;
            let low = convert(mnemonic, to.lane(), from, b)?;
            Some(high << lane_width(to) | low)
        }
        _ => None,
    }
}

/// Bits between the starts of two lanes.
fn lane_width(scalar_type: ScalarType) -> u32 {
    scalar_type.bits() / scalar_type.lanes()
}

fn convert(mnemonic: &Mnemonic, to: ScalarType, from: ScalarType, value: Bits) -> Option<Bits> {
    match (Format::of(to), Format::of(from)) {
        (None, None) => Some(between_integers(mnemonic, to, from, value)),
        (Some(to_format), None) => {
            let rounding = mnemonic.modifiers().rounding?;
            let exact = Exact::integer(as_number(value, from));
            let bits = to_format.round(exact, rounding, false);
            Some(finish(mnemonic, to_format, bits).into())
        }
        (None, Some(from_format)) => {
            let rounding = mnemonic.modifiers().rounding?;
            to_integer(mnemonic, to, from_format, value, rounding)
        }
        (Some(to_format), Some(from_format)) => {
            let bits = truncate(value, from_format.width()) as u64;
            between_floats(mnemonic, to_format, from_format, bits).map(|bits| {
                // A `.tf32` register holds the number as an `.f32` with a short mantissa.
                if to == ScalarType::Tf32 {
                    Bits::from(bits) << 13
                } else {
                    bits.into()
                }
            })
        }
    }
}

fn between_integers(mnemonic: &Mnemonic, to: ScalarType, from: ScalarType, value: Bits) -> Bits {
    let number = as_number(value, from);
    if mnemonic.has(Flag::Saturate) {
        integer::saturate(number, to)
    } else {
        truncate(number as Bits, to.bits())
    }
}

fn to_integer(
    mnemonic: &Mnemonic,
    to: ScalarType,
    from: Format,
    value: Bits,
    rounding: Rounding,
) -> Option<Bits> {
    if !to.is_integer() {
        return None;
    }
    let bits = truncate(value, from.width()) as u64;
    let bits = if mnemonic.has(Flag::FlushToZero) && flushes(from) {
        from.flush(bits)
    } else {
        bits
    };
    Some(match from.decode(bits) {
        Value::Nan => nan::to_integer(from, to),
        Value::Infinity { negative } => {
            integer::saturate(if negative { i128::MIN } else { i128::MAX }, to)
        }
        Value::Finite(exact) => {
            let magnitude = exact.round_to_integer(rounding).min(i128::MAX as u128) as i128;
            integer::saturate(
                if exact.negative {
                    -magnitude
                } else {
                    magnitude
                },
                to,
            )
        }
    })
}

fn between_floats(mnemonic: &Mnemonic, to: Format, from: Format, bits: u64) -> Option<u64> {
    let flush = mnemonic.has(Flag::FlushToZero);
    // Between single and half precision nothing is flushed on the way in.
    let bits = if flush && from == F32 && to != F16 {
        from.flush(bits)
    } else {
        bits
    };
    let rounding = mnemonic.modifiers().rounding;
    let result = match from.decode(bits) {
        // Without rounding or flushing these are moves.
        Value::Nan if to == from && to != F16 && rounding.is_none() && keeps_nan(mnemonic) => bits,
        Value::Nan if to == TF32 && from == F32 && rounding == Some(Rounding::NearestAway) => {
            // The mantissa is cut; saturation then subtracts one, as it does from infinity.
            return Some((bits >> 13) - u64::from(mnemonic.has(Flag::SaturateFinite)));
        }
        // `.ftz` makes the conversion arithmetic, which knows one NaN.
        Value::Nan if flush && from != F64 && to == F32 => nan::canonical(to),
        Value::Nan if flush && from == F32 && to == F64 => {
            nan::of_conversion(from, to, nan::canonical(from))
        }
        Value::Nan if to.specials == Specials::None => return Some(to.largest(false)),
        Value::Nan => nan::of_conversion(from, to, bits),
        Value::Infinity { negative } => {
            if mnemonic.has(Flag::SaturateFinite) || to.specials != Specials::Ieee {
                to.largest(negative)
            } else {
                to.infinity(negative)
            }
        }
        Value::Finite(exact) => match rounding {
            Some(
                rounding @ (Rounding::IntegerNearestEven
                | Rounding::IntegerZero
                | Rounding::IntegerNegativeInfinity
                | Rounding::IntegerPositiveInfinity),
            ) => to_integral(to, from, exact, bits, rounding)?,
            _ => {
                // Widening conversions carry no rounding because they need none.
                let narrowing =
                    to.mantissa_bits < from.mantissa_bits || to.exponent_bits < from.exponent_bits;
                if narrowing && rounding.is_none() {
                    return None;
                }
                to.round(
                    exact,
                    rounding.unwrap_or(Rounding::NearestEven),
                    mnemonic.has(Flag::SaturateFinite),
                )
            }
        },
    };
    Some(finish(mnemonic, to, result))
}

fn keeps_nan(mnemonic: &Mnemonic) -> bool {
    ![Flag::FlushToZero, Flag::Saturate, Flag::Relu]
        .iter()
        .any(|&flag| mnemonic.has(flag))
}

/// A number rounded to an integral value of the same format.
fn to_integral(
    to: Format,
    from: Format,
    exact: Exact,
    bits: u64,
    rounding: Rounding,
) -> Option<u64> {
    if to != from {
        return None;
    }
    if exact.exponent >= 0 {
        return Some(bits);
    }
    let integral = Exact {
        negative: exact.negative,
        exponent: 0,
        significand: exact.round_to_integer(rounding),
        sticky: false,
    };
    Some(to.round(integral, Rounding::NearestEven, false))
}

fn finish(mnemonic: &Mnemonic, to: Format, bits: u64) -> u64 {
    // `.ftz` flushes single-precision results only; a half-precision result may be subnormal.
    let bits = if mnemonic.has(Flag::FlushToZero) && to == F32 {
        to.flush(bits)
    } else {
        bits
    };
    if mnemonic.has(Flag::Saturate) {
        saturate(to, bits)
    } else if mnemonic.has(Flag::Relu) {
        relu(to, bits)
    } else {
        bits
    }
}

/// `cvt.pack.sat`: two saturated values beside each other, above them the low bits of `c`.
pub(super) fn pack(mnemonic: &Mnemonic, inputs: &[Bits]) -> Option<Bits> {
    let (&[a, b], rest) = inputs.split_first_chunk::<2>()?;
    let (&to, &from) = (mnemonic.types().first()?, mnemonic.types().get(1)?);
    let width = to.bits();
    if !to.is_integer() || to.lanes() > 1 || width > 16 || !from.is_integer() {
        return None;
    }
    let high = integer::saturate(as_number(a, from), to);
    let low = integer::saturate(as_number(b, from), to);
    let pair = high << width | low;
    match (rest, mnemonic.types().len()) {
        ([], 2) => Some(pair),
        (&[c], 3) => Some(truncate(c << (2 * width) | pair, 32)),
        _ => None,
    }
}

/// The register form of `.tf32` is 32 bits wide.
const _: () = assert!(TF32.width() + 13 == 32);

#[cfg(test)]
mod tests {
    use super::super::evaluate;
    use super::*;

    fn run(text: &str, inputs: &[Bits]) -> Bits {
        let outputs = evaluate(&Mnemonic::parse(text), inputs).unwrap_or_else(|| panic!("{text}"));
        outputs.values()[0]
    }

    fn single(value: f32) -> Bits {
        value.to_bits().into()
    }

    #[test]
    fn integers_wrap_or_saturate() {
        assert_eq!(run("cvt.u8.u32", &[0x1ff]), 0xff);
        assert_eq!(run("cvt.s64.s32", &[0xffff_ffff]), u64::MAX.into());
        assert_eq!(run("cvt.u64.u32", &[0xffff_ffff]), 0xffff_ffff);
        assert_eq!(run("cvt.sat.s8.s32", &[0xffff_0000]), 0x80);
        assert_eq!(run("cvt.sat.u8.s32", &[0xffff_0000]), 0);
        assert_eq!(run("cvt.sat.u32.s64", &[1 << 40]), 0xffff_ffff);
    }

    #[test]
    fn floats_to_integers_clamp() {
        assert_eq!(run("cvt.rzi.s32.f32", &[single(-1.9)]), 0xffff_ffff);
        assert_eq!(run("cvt.rmi.s32.f32", &[single(-1.1)]), 0xffff_fffe);
        assert_eq!(run("cvt.rni.s32.f32", &[single(2.5)]), 2);
        assert_eq!(run("cvt.rpi.u32.f32", &[single(2.1)]), 3);
        assert_eq!(run("cvt.rzi.u32.f32", &[single(-5.0)]), 0);
        assert_eq!(run("cvt.rzi.s32.f32", &[single(1e20)]), 0x7fff_ffff);
        assert_eq!(run("cvt.rzi.s8.f32", &[single(300.0)]), 0x7f);
        assert_eq!(
            run("cvt.rzi.u64.f32", &[single(f32::INFINITY)]),
            u64::MAX.into()
        );
        assert_eq!(run("cvt.rpi.ftz.s32.f32", &[1]), 0);
        assert_eq!(run("cvt.rpi.s32.f32", &[1]), 1);
    }

    #[test]
    fn integers_to_floats_round() {
        assert_eq!(
            run("cvt.rn.f32.u32", &[0xffff_ffff]),
            single(4_294_967_296.0)
        );
        assert_eq!(
            run("cvt.rz.f32.u32", &[0xffff_ffff]),
            single(4_294_967_040.0)
        );
        assert_eq!(run("cvt.rn.f16.s32", &[0xffff_0000]), 0xfc00);
        assert_eq!(
            run("cvt.rn.f64.s64", &[u64::MAX.into()]),
            (-1.0f64).to_bits().into()
        );
        assert_eq!(run("cvt.rn.sat.f32.s32", &[7]), single(1.0));
    }

    #[test]
    fn floats_to_floats() {
        assert_eq!(run("cvt.rn.f16.f32", &[single(65_520.0)]), 0x7c00);
        assert_eq!(run("cvt.rz.f16.f32", &[single(65_520.0)]), 0x7bff);
        assert_eq!(run("cvt.f32.f16", &[0x0001]), single(5.960_464_5e-8));
        assert_eq!(run("cvt.rn.bf16.f32", &[single(1.003_906_3)]), 0x3f80);
        assert_eq!(
            run("cvt.rn.relu.f16x2.f32", &[single(-1.0), single(2.0)]),
            0x4000
        );
        assert_eq!(
            run("cvt.rn.f16x2.f32", &[single(1.0), single(2.0)]),
            0x3c00_4000
        );
        assert_eq!(run("cvt.rni.f32.f32", &[single(-0.4)]), 0x8000_0000);
        assert_eq!(
            run("cvt.rzi.f64.f64", &[1.75f64.to_bits().into()]),
            1.0f64.to_bits().into()
        );
        assert_eq!(run("cvt.sat.f32.f32", &[single(-3.0)]), 0);
        assert_eq!(run("cvt.rna.tf32.f32", &[0x3f80_1000]), 0x3f80_2000);
        assert_eq!(run("cvt.rn.tf32.f32", &[0x3f80_1000]), 0x3f80_0000);
    }

    #[test]
    fn small_formats() {
        assert_eq!(
            run(
                "cvt.rn.satfinite.e4m3x2.f32",
                &[single(1000.0), single(1.0)]
            ),
            0x7e38
        );
        assert_eq!(
            run("cvt.rn.satfinite.e5m2x2.f32", &[single(-1e9), single(0.5)]),
            0xfb38
        );
        assert_eq!(run("cvt.rn.f16x2.e4m3x2", &[0x387f]), 0x3c00_7fff);
        assert_eq!(
            run(
                "cvt.rn.satfinite.e2m1x2.f32",
                &[single(100.0), single(-1.0)]
            ),
            0x7a
        );
        assert_eq!(
            run(
                "cvt.rn.satfinite.e2m3x2.f32",
                &[single(f32::NAN), single(7.5)]
            ),
            0x1f1f
        );
    }

    #[test]
    fn packing() {
        assert_eq!(
            run("cvt.pack.sat.s16.s32", &[0x1_0000, 0xffff_0000]),
            0x7fff_8000
        );
        assert_eq!(
            run("cvt.pack.sat.u8.s32.b32", &[300, 5, 0xabcd]),
            0xabcd_ff05
        );
        assert_eq!(
            run("cvt.pack.sat.s4.s32.b32", &[100, 0xffff_ffff, 1]),
            0x17f
        );
    }
}
