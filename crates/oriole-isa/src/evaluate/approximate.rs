//! Values within the manual's error for instructions that are not bit-exact: `.approx`, `.full`, and what else
//! [`super::evaluate`] leaves open. For execution; never for folding.

use super::float_format::{Exact, F32, F64, Format, Value};
use super::{Bits, Outputs, evaluate, nan, truncate};
use crate::mnemonic::Mnemonic;
use crate::modifier::{Flag, Rounding};
use crate::opcode::Opcode;

/// The value of the instruction within its documented error, exact where [`evaluate`] is.
///
/// Division and remainder by zero give all ones, as current hardware does.
pub fn approximate(mnemonic: &Mnemonic, inputs: &[Bits]) -> Option<Outputs> {
    if let Some(exact) = evaluate(mnemonic, inputs) {
        return Some(exact);
    }
    if mnemonic.is_opaque() {
        return None;
    }
    let scalar_type = mnemonic.first_type()?;
    if !scalar_type.is_float() {
        let width = scalar_type.bits();
        return match (mnemonic.opcode(), inputs) {
            // What the manual leaves undefined: a base beyond the mask, and the offset without a magnitude.
            (Opcode::Fns, &[_, _, offset]) if truncate(offset, 32) == 1 << 31 => {
                Some(Outputs::one(0))
            }
            (Opcode::Fns, &[_, _, _]) => Some(Outputs::one(truncate(!0, 32))),
            (Opcode::Div | Opcode::Rem, &[_, b]) if truncate(b, width) == 0 => {
                Some(Outputs::one(truncate(!0, width)))
            }
            _ => None,
        };
    }
    let format = Format::of(scalar_type)?;
    let width = format.width();
    let mut result = 0;
    for lane in 0..scalar_type.lanes() {
        let mut arguments = [0.0; 3];
        if inputs.len() > arguments.len() {
            return None;
        }
        for (argument, &input) in arguments.iter_mut().zip(inputs) {
            let bits = truncate(input >> (lane * width), width) as u64;
            *argument = to_host(format, flush(mnemonic, format, bits));
        }
        let value = function(mnemonic.opcode(), &arguments[..inputs.len()])?;
        let bits = flush(mnemonic, format, from_host(format, value));
        result |= Bits::from(bits) << (lane * width);
    }
    Some(Outputs::one(result))
}

fn flush(mnemonic: &Mnemonic, format: Format, bits: u64) -> u64 {
    // `tanh` and the double-precision seeds flush without being asked.
    let always = mnemonic.opcode() == Opcode::Tanh && format == F32;
    if mnemonic.has(Flag::FlushToZero) || always {
        format.flush(bits)
    } else {
        bits
    }
}

fn function(opcode: Opcode, arguments: &[f64]) -> Option<f64> {
    Some(match (opcode, arguments) {
        (Opcode::Div, &[a, b]) => a / b,
        (Opcode::Rcp, &[a]) => 1.0 / a,
        (Opcode::Sqrt, &[a]) => a.sqrt(),
        (Opcode::Rsqrt, &[a]) => 1.0 / a.sqrt(),
        (Opcode::Sin, &[a]) => a.sin(),
        (Opcode::Cos, &[a]) => a.cos(),
        (Opcode::Lg2, &[a]) => a.log2(),
        (Opcode::Ex2, &[a]) => a.exp2(),
        (Opcode::Tanh, &[a]) => a.tanh(),
        _ => return None,
    })
}

fn to_host(format: Format, bits: u64) -> f64 {
    match format.decode(bits) {
        Value::Nan => f64::NAN,
        Value::Infinity { negative: false } => f64::INFINITY,
        Value::Infinity { negative: true } => f64::NEG_INFINITY,
        Value::Finite(exact) => f64::from_bits(F64.round(exact, Rounding::NearestEven, false)),
    }
}

fn from_host(format: Format, value: f64) -> u64 {
    match F64.decode(value.to_bits()) {
        Value::Nan => nan::canonical(format),
        Value::Infinity { negative } => format.infinity(negative),
        Value::Finite(exact @ Exact { .. }) => format.round(exact, Rounding::NearestEven, false),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn single(text: &str, inputs: &[f32]) -> f32 {
        let bits: Vec<Bits> = inputs.iter().map(|value| value.to_bits().into()).collect();
        let outputs =
            approximate(&Mnemonic::parse(text), &bits).unwrap_or_else(|| panic!("{text}"));
        f32::from_bits(outputs.values()[0] as u32)
    }

    #[test]
    fn functions_are_close() {
        assert_eq!(single("rcp.approx.ftz.f32", &[4.0]), 0.25);
        assert_eq!(single("ex2.approx.f32", &[10.0]), 1024.0);
        assert_eq!(single("lg2.approx.f32", &[0.125]), -3.0);
        assert_eq!(single("div.full.f32", &[1.0, 4.0]), 0.25);
        assert_eq!(single("rsqrt.approx.f32", &[0.0]), f32::INFINITY);
        assert!((single("sin.approx.f32", &[1.0]) - 1.0f32.sin()).abs() < 1e-6);
        assert!(single("sqrt.approx.f32", &[-1.0]).is_nan());
        assert_eq!(single("ex2.approx.ftz.f32", &[-130.0]), 0.0);
        assert_eq!(single("add.f32", &[1.0, 2.0]), 3.0);
    }

    #[test]
    fn division_by_zero_has_a_value() {
        let run = |text: &str| approximate(&Mnemonic::parse(text), &[7, 0]).map(|o| o.values()[0]);
        assert_eq!(run("div.u32"), Some(0xffff_ffff));
        assert_eq!(run("rem.u32"), Some(0xffff_ffff));
        assert_eq!(run("add.u32"), Some(7));
    }
}
