//! Which NaN an operation gives. The manual leaves most of this open; the rules here are what hardware does, and are kept
//! in one place so that a recorded counterexample changes one function.

use super::float_format::{F64, Format};
use crate::scalar_type::ScalarType;

/// The NaN an operation makes of ordinary numbers, and, but for `.f64`, of NaN inputs.
pub(super) const fn canonical(format: Format) -> u64 {
    if format.mantissa_bits == F64.mantissa_bits {
        // The sign is set, as on other processors, and the payload is empty.
        0xfff8_0000_0000_0000
    } else {
        // All ones below the sign.
        format.sign_bit() - 1
    }
}

/// The NaN result of arithmetic on the inputs, in operand order.
pub(super) fn of_arithmetic(format: Format, inputs: &[u64]) -> u64 {
    if format == F64 {
        // Double precision keeps the first NaN, made quiet.
        if let Some(nan) = inputs.iter().find(|&&input| format.is_nan(input)) {
            return quiet(format, *nan);
        }
    }
    canonical(format)
}

/// A signalling NaN becomes the quiet NaN of the same payload.
pub(super) const fn quiet(format: Format, nan: u64) -> u64 {
    nan | 1 << (format.mantissa_bits - 1)
}

/// The result of a conversion of a NaN to another format.
pub(super) fn of_conversion(from: Format, to: Format, nan: u64) -> u64 {
    if from == super::float_format::F32 && to == F64 {
        let payload = (nan & 0x7f_ffff) << 29;
        let sign = (nan >> 31) << 63;
        return quiet(to, sign | 0x7ff0_0000_0000_0000 | payload);
    }
    canonical(to)
}

/// The result of `abs` or `neg` of a NaN; `result` is the input with its sign changed.
pub(super) fn of_sign_operation(format: Format, input: u64, result: u64) -> u64 {
    let _ = input;
    if format == F64 {
        result
    } else {
        canonical(format)
    }
}

/// The NaN result of `min` and `max`.
pub(super) fn of_extremum(format: Format, inputs: &[u64]) -> u64 {
    of_arithmetic(format, inputs)
}

/// The integer a NaN converts to: zero, but the sign bit alone where the source or the destination has 64 bits.
pub(super) fn to_integer(from: Format, to: ScalarType) -> u128 {
    let width = to.bits();
    if from == F64 && width >= 32 || width == 64 {
        1 << (width - 1)
    } else {
        0
    }
}
