//! Which NaN an operation gives. The manual leaves most of this open; the rules here are what hardware does, and are kept
//! in one place so that a recorded counterexample changes one function.

use super::float_format::{BF16, F32, F64, Format, Specials};
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
        // Double precision keeps the first NaN of a sum or product, and the last of `fma`, made quiet.
        let mut nans = inputs.iter().filter(|&&input| format.is_nan(input));
        let chosen = if inputs.len() == 3 {
            nans.next_back()
        } else {
            nans.next()
        };
        if let Some(nan) = chosen {
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
    let sign = if from.is_negative(nan) {
        to.sign_bit()
    } else {
        0
    };
    let payload = nan & ((1 << from.mantissa_bits) - 1);
    if to == F64 || (from == F64 && to.specials == Specials::Ieee) {
        // To and from double precision the sign and the upper payload survive.
        let payload = if to.mantissa_bits >= from.mantissa_bits {
            payload << (to.mantissa_bits - from.mantissa_bits)
        } else {
            payload >> (from.mantissa_bits - to.mantissa_bits)
        };
        return quiet(to, to.infinity(false) | sign | payload);
    }
    if from == BF16 && to == F32 {
        // A shift.
        return nan << 16;
    }
    canonical(to)
}

/// The result of `abs` or `neg` of a NaN; `result` would be the input with its sign changed. Double precision keeps the
/// sign, too.
pub(super) fn of_sign_operation(format: Format, input: u64, result: u64) -> u64 {
    let _ = result;
    if format == F64 {
        quiet(format, input)
    } else {
        canonical(format)
    }
}

/// The NaN result of `min` and `max`.
pub(super) fn of_extremum(format: Format, inputs: &[u64]) -> u64 {
    of_arithmetic(format, inputs)
}

/// The integer a NaN converts to: zero, but the top bit alone where the source or the destination has 64 bits.
pub(super) fn to_integer(from: Format, to: ScalarType) -> u128 {
    let width = to.bits();
    if from == F64 || width == 64 {
        1 << (width - 1)
    } else {
        0
    }
}
