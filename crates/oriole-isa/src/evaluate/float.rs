//! IEEE arithmetic in every format and rounding, on exact integers.

use super::float_format::{Exact, F16, F32, Format, Value};
use super::{Bits, nan, truncate};
use crate::mnemonic::Mnemonic;
use crate::modifier::{Flag, Rounding};
use crate::opcode::Opcode;
use crate::scalar_type::ScalarType;

pub(super) fn evaluate(mnemonic: &Mnemonic, inputs: &[Bits]) -> Option<Bits> {
    let scalar_type = mnemonic.first_type()?;
    let format = Format::of(scalar_type)?;
    if mnemonic.has(Flag::OutOfBounds) || mnemonic.has(Flag::CarryOut) {
        return None;
    }
    if let Some(&narrow) = mnemonic.types().get(1) {
        return mixed(mnemonic, format, narrow, inputs);
    }
    let width = format.width();
    let mut result = 0;
    let mut lane_inputs = [0u64; 3];
    let count = inputs.len();
    if count > lane_inputs.len() {
        return None;
    }
    for lane in 0..scalar_type.lanes() {
        let shift = lane * width;
        for (slot, &input) in lane_inputs.iter_mut().zip(inputs) {
            *slot = truncate(input >> shift, width) as u64;
        }
        let value = evaluate_lane(mnemonic, format, &lane_inputs[..count])?;
        result |= Bits::from(value) << shift;
    }
    Some(result)
}

/// `add.f32.f16 d, a, c`, `sub` and `fma.f32.f16 d, a, b, c`: narrow factors, an exact widening, one rounding.
fn mixed(mnemonic: &Mnemonic, format: Format, narrow: ScalarType, inputs: &[Bits]) -> Option<Bits> {
    let narrow = Format::of(narrow)?;
    let widen = |bits: Bits| {
        let bits = truncate(bits, narrow.width()) as u64;
        match narrow.decode(bits) {
            Value::Nan => nan::canonical(format),
            Value::Infinity { negative } => format.infinity(negative),
            Value::Finite(exact) => format.round(exact, Rounding::NearestEven, false),
        }
    };
    let last = |bits: Bits| truncate(bits, format.width()) as u64;
    let value = match (mnemonic.opcode(), inputs) {
        (Opcode::Add | Opcode::Sub, &[a, c]) => {
            evaluate_lane(mnemonic, format, &[widen(a), last(c)])
        }
        (Opcode::Fma, &[a, b, c]) => {
            evaluate_lane(mnemonic, format, &[widen(a), widen(b), last(c)])
        }
        _ => None,
    }?;
    Some(value.into())
}

fn evaluate_lane(mnemonic: &Mnemonic, format: Format, inputs: &[u64]) -> Option<u64> {
    let flush = mnemonic.has(Flag::FlushToZero);
    let mut flushed = [0u64; 3];
    for (slot, &input) in flushed.iter_mut().zip(inputs) {
        *slot = if flush { format.flush(input) } else { input };
    }
    let count = inputs.len();
    let inputs = &flushed[..count];
    let rounding = mnemonic
        .modifiers()
        .rounding
        .unwrap_or(Rounding::NearestEven);
    let mut raw = compute(mnemonic, format, inputs, rounding)?;
    // What is tiny when rounded to full precision is flushed, even if the coarser steps of subnormal numbers lift it to the
    // smallest normal number. Right below that number, full precision has the steps of a mantissa one bit longer.
    if flush && raw & !format.sign_bit() == 1 << format.mantissa_bits {
        let finer = format.with_mantissa_bits(format.mantissa_bits + 1);
        let inputs = flushed.map(|input| input << 1);
        let precise = compute(mnemonic, finer, &inputs[..count], rounding)?;
        if finer.is_subnormal(precise) {
            raw &= format.sign_bit();
        }
    }
    if mnemonic.opcode() == Opcode::Copysign {
        return Some(raw);
    }
    Some(finish(mnemonic, format, raw))
}

/// The rounded result before `.ftz`, `.sat` and `.relu`.
fn compute(mnemonic: &Mnemonic, format: Format, inputs: &[u64], rounding: Rounding) -> Option<u64> {
    Some(match (mnemonic.opcode(), inputs) {
        (Opcode::Add, &[a, b]) => add(format, a, b, inputs, rounding),
        (Opcode::Sub, &[a, b]) => add(format, a, b ^ format.sign_bit(), inputs, rounding),
        (Opcode::Mul, &[a, b]) => multiply(format, a, b, inputs, rounding),
        // Without a rounding, `mad.f32` is an old machine's truncating form.
        (Opcode::Mad, _) if mnemonic.modifiers().rounding.is_none() => return None,
        (Opcode::Fma | Opcode::Mad, &[a, b, c]) => multiply_add(format, [a, b, c], rounding),
        (Opcode::Div, &[a, b]) => divide(format, a, b, inputs, rounding),
        (Opcode::Rcp, &[a]) => divide(format, format.one(), a, inputs, rounding),
        (Opcode::Sqrt, &[a]) => square_root(format, a, rounding),
        (Opcode::Abs, &[a]) => sign_operation(format, a, a & !format.sign_bit()),
        (Opcode::Neg, &[a]) => sign_operation(format, a, a ^ format.sign_bit()),
        (Opcode::Copysign, &[a, b]) => b & !format.sign_bit() | a & format.sign_bit(),
        (Opcode::Min | Opcode::Max, &[a, b]) => extremum(mnemonic, format, a, b),
        (Opcode::Min | Opcode::Max, &[a, b, c]) => {
            if mnemonic.has(Flag::XorSign) {
                return None;
            }
            let absolute = |bits: u64| {
                if mnemonic.has(Flag::Absolute) {
                    bits & !format.sign_bit()
                } else {
                    bits
                }
            };
            let first = extremum(mnemonic, format, absolute(a), absolute(b));
            extremum(mnemonic, format, first, absolute(c))
        }
        _ => return None,
    })
}

/// Applies `.ftz`, `.sat` and `.relu` to a result.
fn finish(mnemonic: &Mnemonic, format: Format, bits: u64) -> u64 {
    let bits = if mnemonic.has(Flag::FlushToZero) {
        format.flush(bits)
    } else {
        bits
    };
    if mnemonic.has(Flag::Saturate) {
        saturate(format, bits)
    } else if mnemonic.has(Flag::Relu) {
        relu(format, bits)
    } else {
        bits
    }
}

/// Clamps to [0, 1]; NaN becomes +0.
pub(super) fn saturate(format: Format, bits: u64) -> u64 {
    if format.is_nan(bits) || format.is_negative(bits) {
        0
    } else {
        bits.min(format.one())
    }
}

/// A negative result becomes +0; NaN becomes the canonical NaN.
pub(super) fn relu(format: Format, bits: u64) -> u64 {
    if format.is_nan(bits) {
        nan::canonical(format)
    } else if format.is_negative(bits) {
        0
    } else {
        bits
    }
}

/// `abs` and `neg` are arithmetic to the hardware: a NaN comes out as arithmetic makes it.
fn sign_operation(format: Format, input: u64, result: u64) -> u64 {
    if format.is_nan(input) {
        nan::of_sign_operation(format, input, result)
    } else {
        result
    }
}

fn add(format: Format, a: u64, b: u64, nans: &[u64], rounding: Rounding) -> u64 {
    match (format.decode(a), format.decode(b)) {
        (Value::Nan, _) | (_, Value::Nan) => nan::of_arithmetic(format, nans),
        (Value::Infinity { negative: x }, Value::Infinity { negative: y }) if x != y => {
            nan::canonical(format)
        }
        (Value::Infinity { negative }, _) | (_, Value::Infinity { negative }) => {
            format.infinity(negative)
        }
        (Value::Finite(x), Value::Finite(y)) => {
            format.round(add_exact(x, y, rounding), rounding, false)
        }
    }
}

fn multiply(format: Format, a: u64, b: u64, nans: &[u64], rounding: Rounding) -> u64 {
    let negative = format.is_negative(a) != format.is_negative(b);
    match (format.decode(a), format.decode(b)) {
        (Value::Nan, _) | (_, Value::Nan) => nan::of_arithmetic(format, nans),
        (Value::Infinity { .. }, Value::Finite(x)) | (Value::Finite(x), Value::Infinity { .. })
            if x.is_zero() =>
        {
            nan::canonical(format)
        }
        (Value::Infinity { .. }, _) | (_, Value::Infinity { .. }) => format.infinity(negative),
        (Value::Finite(x), Value::Finite(y)) => format.round(multiply_exact(x, y), rounding, false),
    }
}

fn multiply_add(format: Format, [a, b, c]: [u64; 3], rounding: Rounding) -> u64 {
    let negative = format.is_negative(a) != format.is_negative(b);
    let product = match (format.decode(a), format.decode(b)) {
        (Value::Nan, _) | (_, Value::Nan) => return nan::of_arithmetic(format, &[a, b, c]),
        (Value::Infinity { .. }, Value::Finite(x)) | (Value::Finite(x), Value::Infinity { .. })
            if x.is_zero() =>
        {
            return if format.is_nan(c) {
                nan::of_arithmetic(format, &[c])
            } else {
                nan::canonical(format)
            };
        }
        (Value::Infinity { .. }, _) | (_, Value::Infinity { .. }) => Value::Infinity { negative },
        (Value::Finite(x), Value::Finite(y)) => Value::Finite(multiply_exact(x, y)),
    };
    match (product, format.decode(c)) {
        (_, Value::Nan) | (Value::Nan, _) => nan::of_arithmetic(format, &[a, b, c]),
        (Value::Infinity { negative: x }, Value::Infinity { negative: y }) if x != y => {
            nan::canonical(format)
        }
        (Value::Infinity { negative }, _) | (_, Value::Infinity { negative }) => {
            format.infinity(negative)
        }
        (Value::Finite(x), Value::Finite(y)) => {
            format.round(add_exact(x, y, rounding), rounding, false)
        }
    }
}

fn multiply_exact(a: Exact, b: Exact) -> Exact {
    Exact {
        negative: a.negative != b.negative,
        exponent: a.exponent + b.exponent,
        significand: a.significand * b.significand,
        sticky: false,
    }
}

/// The exact sum, or one with a remainder where the operands lie too far apart. Significands have at most 106 bits: with
/// the larger moved up to bit 125, a remainder is lost only when at most one leading bit can cancel.
fn add_exact(a: Exact, b: Exact, rounding: Rounding) -> Exact {
    if a.is_zero() && b.is_zero() {
        let negative = if a.negative == b.negative {
            a.negative
        } else {
            rounding == Rounding::NegativeInfinity
        };
        return Exact::zero(negative);
    }
    if a.is_zero() {
        return b;
    }
    if b.is_zero() {
        return a;
    }
    let raise = |exact: Exact| {
        let shift = exact.significand.leading_zeros() - 2;
        Exact {
            significand: exact.significand << shift,
            exponent: exact.exponent - shift as i32,
            ..exact
        }
    };
    let (a, b) = (raise(a), raise(b));
    let (large, small) = if (a.exponent, a.significand) >= (b.exponent, b.significand) {
        (a, b)
    } else {
        (b, a)
    };
    let shift = (large.exponent - small.exponent) as u32;
    let shifted = small.significand.checked_shr(shift).unwrap_or(0);
    let lost = shift >= 128 || shifted << shift != small.significand;
    let significand = if large.negative == small.negative {
        large.significand + shifted
    } else {
        // With a remainder the true difference lies below; the sticky bit then adds from one unit further down.
        large.significand - shifted - u128::from(lost)
    };
    if significand == 0 && !lost {
        return Exact::zero(rounding == Rounding::NegativeInfinity);
    }
    Exact {
        negative: large.negative,
        exponent: large.exponent,
        significand,
        sticky: lost,
    }
}

fn divide(format: Format, a: u64, b: u64, nans: &[u64], rounding: Rounding) -> u64 {
    let negative = format.is_negative(a) != format.is_negative(b);
    match (format.decode(a), format.decode(b)) {
        (Value::Nan, _) | (_, Value::Nan) => nan::of_arithmetic(format, nans),
        (Value::Infinity { .. }, Value::Infinity { .. }) => nan::canonical(format),
        (Value::Infinity { .. }, _) => format.infinity(negative),
        (_, Value::Infinity { .. }) => format.zero(negative),
        (Value::Finite(x), Value::Finite(y)) => {
            if y.is_zero() {
                return if x.is_zero() {
                    nan::canonical(format)
                } else {
                    format.infinity(negative)
                };
            }
            if x.is_zero() {
                return format.zero(negative);
            }
            // At least 128 − 2 − 53 bits of quotient.
            let raise = x.significand.leading_zeros() - 1;
            let numerator = x.significand << raise;
            let quotient = Exact {
                negative,
                exponent: x.exponent - raise as i32 - y.exponent,
                significand: numerator / y.significand,
                sticky: !numerator.is_multiple_of(y.significand),
            };
            format.round(quotient, rounding, false)
        }
    }
}

fn square_root(format: Format, a: u64, rounding: Rounding) -> u64 {
    match format.decode(a) {
        Value::Nan => nan::of_arithmetic(format, &[a]),
        Value::Infinity { negative: false } => a,
        Value::Infinity { negative: true } => nan::canonical(format),
        Value::Finite(exact) if exact.is_zero() => a,
        Value::Finite(exact) if exact.negative => nan::canonical(format),
        Value::Finite(exact) => {
            // An even exponent, and enough bits that the root has more than 60.
            let mut raise = exact.significand.leading_zeros() - 1;
            if (exact.exponent - raise as i32) % 2 != 0 {
                raise -= 1;
            }
            let radicand = exact.significand << raise;
            let root = radicand.isqrt();
            let result = Exact {
                negative: false,
                exponent: (exact.exponent - raise as i32) / 2,
                significand: root,
                sticky: root * root != radicand,
            };
            format.round(result, rounding, false)
        }
    }
}

/// `min` and `max`: one NaN loses, unless `.NaN`; −0 is below +0.
fn extremum(mnemonic: &Mnemonic, format: Format, a: u64, b: u64) -> u64 {
    let (nan_a, nan_b) = (format.is_nan(a), format.is_nan(b));
    let xor_sign = mnemonic.has(Flag::XorSign);
    let sign = (a ^ b) & format.sign_bit();
    if (nan_a && nan_b) || ((nan_a || nan_b) && mnemonic.has(Flag::PropagateNan)) {
        return nan::of_extremum(format, &[a, b]);
    }
    let (a, b) = if xor_sign {
        (a & !format.sign_bit(), b & !format.sign_bit())
    } else {
        (a, b)
    };
    let chosen = if nan_a {
        b
    } else if nan_b {
        a
    } else {
        // Sign and magnitude as an ordered integer.
        let key = |bits: u64| {
            let magnitude = (bits & (format.sign_bit() - 1)) as i64;
            if format.is_negative(bits) {
                -magnitude - 1
            } else {
                magnitude
            }
        };
        match mnemonic.opcode() {
            Opcode::Min if key(b) < key(a) => b,
            Opcode::Max if key(b) > key(a) => b,
            _ => a,
        }
    };
    if xor_sign { chosen | sign } else { chosen }
}

/// Whether the type is one that `.ftz` flushes in conversions and comparisons.
pub(super) fn flushes(format: Format) -> bool {
    format == F32 || format == F16
}

#[cfg(test)]
mod tests {
    use super::super::evaluate;
    use super::*;

    fn run(text: &str, inputs: &[Bits]) -> Bits {
        let outputs = evaluate(&Mnemonic::parse(text), inputs).unwrap_or_else(|| panic!("{text}"));
        outputs.values()[0]
    }

    /// A small generator of varied bit patterns.
    fn patterns(count: usize) -> impl Iterator<Item = u64> {
        let mut state = 0x9e37_79b9_7f4a_7c15_u64;
        (0..count).map(move |index| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            // Draw exponents together now and then, so that sums cancel.
            if index % 3 == 0 {
                state & !(0x7f0 << 52) | 0x3f0 << 52
            } else {
                state
            }
        })
    }

    #[test]
    fn double_precision_agrees_with_the_host() {
        let values: Vec<u64> = patterns(400).collect();
        for (index, &a) in values.iter().enumerate() {
            let b = values[(index * 7 + 3) % values.len()];
            let c = values[(index * 11 + 5) % values.len()];
            let (x, y, z) = (f64::from_bits(a), f64::from_bits(b), f64::from_bits(c));
            for (text, expected) in [
                ("add.f64", x + y),
                ("sub.f64", x - y),
                ("mul.f64", x * y),
                ("div.rn.f64", x / y),
                ("fma.rn.f64", x.mul_add(y, z)),
                ("sqrt.rn.f64", x.sqrt()),
                ("rcp.rn.f64", 1.0 / x),
            ] {
                let inputs = [a.into(), b.into(), c.into()];
                let arity = match text {
                    "fma.rn.f64" => 3,
                    "sqrt.rn.f64" | "rcp.rn.f64" => 1,
                    _ => 2,
                };
                let result = run(text, &inputs[..arity]) as u64;
                if expected.is_nan() {
                    assert!(f64::from_bits(result).is_nan(), "{text} {a:x} {b:x} {c:x}");
                } else {
                    assert_eq!(result, expected.to_bits(), "{text} {a:x} {b:x} {c:x}");
                }
            }
        }
    }

    #[test]
    fn fused_sums_cancel_exactly() {
        // a·a − rounded(a·a): the low half of the product.
        for bits in patterns(200) {
            let a = f64::from_bits(bits & !(0x7ff << 52) | 0x3ff << 52);
            let product = a * a;
            let exact = a.mul_add(a, -product);
            let inputs = [
                a.to_bits().into(),
                a.to_bits().into(),
                (-product).to_bits().into(),
            ];
            assert_eq!(run("fma.rn.f64", &inputs), exact.to_bits().into());
        }
    }

    #[test]
    fn directed_roundings_bracket() {
        let one = Bits::from(1.0f32.to_bits());
        let three = Bits::from(3.0f32.to_bits());
        let down = run("div.rm.f32", &[one, three]);
        assert_eq!(run("div.rz.f32", &[one, three]), down);
        assert_eq!(run("div.rp.f32", &[one, three]), down + 1);
        assert_eq!(
            run("div.rn.f32", &[one, three]),
            (1.0f32 / 3.0).to_bits().into()
        );
        let tiny = 1;
        assert_eq!(run("add.rp.f32", &[one, tiny]), one + 1);
        assert_eq!(run("add.rm.f32", &[one, tiny]), one);
        assert_eq!(run("sub.rz.f32", &[one, tiny]), one - 1);
        assert_eq!(run("sub.rn.f32", &[one, tiny]), one);
        assert_eq!(run("add.rm.f32", &[one, one | 0x8000_0000]), 0x8000_0000);
        let largest = Bits::from(f32::MAX.to_bits());
        assert_eq!(run("add.rz.f32", &[largest, largest]), largest);
        assert_eq!(run("add.rm.f32", &[largest, largest]), largest);
        assert_eq!(run("add.rp.f32", &[largest, largest]), 0x7f80_0000);
    }

    #[test]
    fn flush_saturate_relu() {
        assert_eq!(run("add.ftz.f32", &[1, 0x8000_0001]), 0);
        assert_eq!(run("mul.ftz.f32", &[0x0080_0000, 0x3f00_0000]), 0);
        assert_eq!(run("mul.f32", &[0x0080_0000, 0x3f00_0000]), 0x0040_0000);
        assert_eq!(run("mul.ftz.f32", &[0x0080_0000, 0x3f7f_ffff]), 0);
        assert_eq!(run("mul.f32", &[0x0080_0000, 0x3f7f_ffff]), 0x0080_0000);
        assert_eq!(run("add.sat.f32", &[0x3f80_0000, 0x3f80_0000]), 0x3f80_0000);
        assert_eq!(run("add.sat.f32", &[0x7fff_ffff, 0]), 0);
        assert_eq!(
            run("fma.rn.relu.f16x2", &[0xbc00_3c00, 0x3c00_3c00, 0]),
            0x3c00
        );
    }

    #[test]
    fn half_precision_lanes() {
        assert_eq!(run("add.f16x2", &[0x3c00_4000, 0x3c00_3c00]), 0x4000_4200);
        assert_eq!(run("mul.bf16", &[0x3fc0, 0x4000]), 0x4040);
        assert_eq!(run("fma.rn.f16", &[0x7bff, 0x4000, 0]), 0x7c00);
    }

    #[test]
    fn extrema_order_zeros_and_drop_nans() {
        assert_eq!(run("min.f32", &[0, 0x8000_0000]), 0x8000_0000);
        assert_eq!(run("max.f32", &[0x8000_0000, 0]), 0);
        assert_eq!(run("min.f32", &[0x7fc0_0001, 5]), 5);
        assert_eq!(run("min.NaN.f32", &[0x7fc0_0001, 5]), 0x7fff_ffff);
        assert_eq!(
            run("max.xorsign.abs.f32", &[0xc000_0000, 0x3f80_0000]),
            0xc000_0000
        );
        assert_eq!(
            run("max.f32", &[0x3f80_0000, 0x4000_0000, 0x4040_0000]),
            0x4040_0000
        );
    }
}
