//! Binary floating-point formats, decoded to exact numbers and rounded back.
//!
//! A finite number is `(-1)^sign · significand · 2^exponent` with an integer significand. Arithmetic works on those without
//! loss and rounds once, in [`Format::round`]; a `sticky` bit stands for a remainder smaller than the last place, which is
//! all that rounding needs to know.

use crate::modifier::Rounding;
use crate::scalar_type::ScalarType;

/// Which bit patterns are not numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Specials {
    /// All-ones exponent: infinity, and NaN.
    Ieee,
    /// Only the all-ones pattern is NaN; no infinity (`.e4m3`).
    NanOnly,
    /// Every pattern is a number (`.e2m1`, `.e2m3`, `.e3m2`).
    None,
}

/// A floating-point format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Format {
    pub(super) exponent_bits: u32,
    pub(super) mantissa_bits: u32,
    pub(super) specials: Specials,
}

pub(super) const F16: Format = Format::ieee(5, 10);
pub(super) const BF16: Format = Format::ieee(8, 7);
pub(super) const F32: Format = Format::ieee(8, 23);
pub(super) const F64: Format = Format::ieee(11, 52);
/// `.tf32` as a 19-bit pattern; its register form has 13 zero bits below.
pub(super) const TF32: Format = Format::ieee(8, 10);

/// A decoded value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Value {
    Nan,
    Infinity { negative: bool },
    Finite(Exact),
}

/// An exact number, or one with a remainder below its last place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Exact {
    pub(super) negative: bool,
    pub(super) exponent: i32,
    pub(super) significand: u128,
    /// The magnitude is larger by less than one unit of the significand.
    pub(super) sticky: bool,
}

impl Exact {
    pub(super) const fn zero(negative: bool) -> Exact {
        Exact {
            negative,
            exponent: 0,
            significand: 0,
            sticky: false,
        }
    }

    pub(super) const fn is_zero(self) -> bool {
        self.significand == 0 && !self.sticky
    }

    /// An integer as an exact number.
    pub(super) const fn integer(value: i128) -> Exact {
        Exact {
            negative: value < 0,
            exponent: 0,
            significand: value.unsigned_abs(),
            sticky: false,
        }
    }

    /// The integer nearest in the direction of rounding, as magnitude.
    pub(super) fn round_to_integer(self, rounding: Rounding) -> u128 {
        if self.exponent >= 0 {
            let shift = self.exponent as u32;
            return if self.significand.leading_zeros() >= shift || self.significand == 0 {
                self.significand.checked_shl(shift).unwrap_or(0)
            } else {
                u128::MAX
            };
        }
        shift_right_rounding(
            self.significand,
            self.sticky,
            self.exponent.unsigned_abs(),
            self.negative,
            rounding,
        )
    }
}

/// `significand / 2^shift`, rounded; the remainder decides.
fn shift_right_rounding(
    significand: u128,
    sticky: bool,
    shift: u32,
    negative: bool,
    rounding: Rounding,
) -> u128 {
    let (kept, half, below) = if shift == 0 {
        (significand, false, sticky)
    } else if shift > 128 {
        (0, false, significand != 0 || sticky)
    } else {
        let kept = significand.checked_shr(shift).unwrap_or(0);
        let half = (significand >> (shift - 1)) & 1 != 0;
        let below = significand & ((1 << (shift - 1)) - 1) != 0 || sticky;
        (kept, half, below)
    };
    let up = match rounding {
        Rounding::NearestEven | Rounding::IntegerNearestEven => half && (below || kept & 1 != 0),
        Rounding::NearestAway => half,
        Rounding::Zero | Rounding::IntegerZero | Rounding::Stochastic => false,
        Rounding::NegativeInfinity | Rounding::IntegerNegativeInfinity => {
            negative && (half || below)
        }
        Rounding::PositiveInfinity | Rounding::IntegerPositiveInfinity => {
            !negative && (half || below)
        }
    };
    kept + u128::from(up)
}

impl Format {
    const fn ieee(exponent_bits: u32, mantissa_bits: u32) -> Format {
        Format {
            exponent_bits,
            mantissa_bits,
            specials: Specials::Ieee,
        }
    }

    /// The format of one lane of a type.
    pub(super) const fn of(scalar_type: ScalarType) -> Option<Format> {
        const fn small(exponent_bits: u32, mantissa_bits: u32, specials: Specials) -> Format {
            Format {
                exponent_bits,
                mantissa_bits,
                specials,
            }
        }
        Some(match scalar_type.lane() {
            ScalarType::F16 => F16,
            ScalarType::Bf16 => BF16,
            ScalarType::F32 => F32,
            ScalarType::F64 => F64,
            ScalarType::Tf32 => TF32,
            ScalarType::E5m2 => Format::ieee(5, 2),
            ScalarType::E4m3 => small(4, 3, Specials::NanOnly),
            ScalarType::E2m1 => small(2, 1, Specials::None),
            ScalarType::E2m3 => small(2, 3, Specials::None),
            ScalarType::E3m2 => small(3, 2, Specials::None),
            _ => return None,
        })
    }

    /// The same range with another precision.
    pub(super) const fn with_mantissa_bits(self, mantissa_bits: u32) -> Format {
        Format {
            mantissa_bits,
            ..self
        }
    }

    pub(super) const fn width(self) -> u32 {
        1 + self.exponent_bits + self.mantissa_bits
    }

    const fn bias(self) -> i32 {
        (1 << (self.exponent_bits - 1)) - 1
    }

    /// The exponent of the last place of subnormal numbers.
    const fn minimum_exponent(self) -> i32 {
        1 - self.bias() - self.mantissa_bits as i32
    }

    pub(super) const fn sign_bit(self) -> u64 {
        1 << (self.width() - 1)
    }

    const fn mantissa_mask(self) -> u64 {
        (1 << self.mantissa_bits) - 1
    }

    const fn exponent_mask(self) -> u64 {
        (1 << self.exponent_bits) - 1
    }

    pub(super) const fn infinity(self, negative: bool) -> u64 {
        let magnitude = self.exponent_mask() << self.mantissa_bits;
        if negative {
            magnitude | self.sign_bit()
        } else {
            magnitude
        }
    }

    /// The pattern of the largest finite number.
    pub(super) const fn largest(self, negative: bool) -> u64 {
        let all = self.sign_bit() - 1;
        let magnitude = match self.specials {
            Specials::Ieee => (self.exponent_mask() << self.mantissa_bits) - 1,
            Specials::NanOnly => all - 1,
            Specials::None => all,
        };
        if negative {
            magnitude | self.sign_bit()
        } else {
            magnitude
        }
    }

    pub(super) const fn zero(self, negative: bool) -> u64 {
        if negative { self.sign_bit() } else { 0 }
    }

    /// The pattern of 1.0.
    pub(super) const fn one(self) -> u64 {
        (self.bias() as u64) << self.mantissa_bits
    }

    pub(super) const fn is_negative(self, bits: u64) -> bool {
        bits & self.sign_bit() != 0
    }

    pub(super) fn is_nan(self, bits: u64) -> bool {
        self.decode(bits) == Value::Nan
    }

    /// Whether the pattern is a nonzero number below the normal range.
    pub(super) const fn is_subnormal(self, bits: u64) -> bool {
        let magnitude = bits & (self.sign_bit() - 1);
        magnitude != 0 && magnitude >> self.mantissa_bits == 0
    }

    /// A subnormal number becomes a zero of its sign.
    pub(super) const fn flush(self, bits: u64) -> u64 {
        if self.is_subnormal(bits) {
            bits & self.sign_bit()
        } else {
            bits
        }
    }

    pub(super) fn decode(self, bits: u64) -> Value {
        let negative = self.is_negative(bits);
        let field = (bits >> self.mantissa_bits) & self.exponent_mask();
        let mantissa = bits & self.mantissa_mask();
        match self.specials {
            Specials::Ieee if field == self.exponent_mask() => {
                return if mantissa == 0 {
                    Value::Infinity { negative }
                } else {
                    Value::Nan
                };
            }
            Specials::NanOnly
                if field == self.exponent_mask() && mantissa == self.mantissa_mask() =>
            {
                return Value::Nan;
            }
            _ => {}
        }
        let (significand, exponent) = if field == 0 {
            (mantissa, self.minimum_exponent())
        } else {
            (
                mantissa | 1 << self.mantissa_bits,
                self.minimum_exponent() + field as i32 - 1,
            )
        };
        Value::Finite(Exact {
            negative,
            exponent,
            significand: significand.into(),
            sticky: false,
        })
    }

    /// Rounds to the format. Overflow gives infinity or the largest number as the rounding says; with `saturate`, and
    /// in formats without infinity, always the largest number.
    pub(super) fn round(self, exact: Exact, rounding: Rounding, saturate: bool) -> u64 {
        let negative = exact.negative;
        if exact.is_zero() {
            return self.zero(negative);
        }
        let top = match exact.significand.checked_ilog2() {
            Some(top) => exact.exponent + top as i32,
            None => exact.exponent - 1,
        };
        let quantum = (top - self.mantissa_bits as i32).max(self.minimum_exponent());
        let shift = quantum - exact.exponent;
        let kept = if shift >= 0 {
            shift_right_rounding(
                exact.significand,
                exact.sticky,
                shift as u32,
                negative,
                rounding,
            )
        } else {
            // The remainder, if any, is far below the last place and only directed rounding sees it; callers keep enough
            // bits that a number with a remainder never needs a left shift.
            debug_assert!(!exact.sticky);
            exact.significand << shift.unsigned_abs()
        };
        // `kept` has at most one bit more than the mantissa holds, and adding it into the exponent field carries.
        let field = if kept >> self.mantissa_bits == 0 {
            0
        } else {
            (quantum - self.minimum_exponent()) as u128
        };
        let magnitude = (field << self.mantissa_bits) + kept;
        if magnitude > u128::from(self.largest(false)) {
            let to_largest = saturate
                || self.specials != Specials::Ieee
                || match rounding {
                    Rounding::Zero => true,
                    Rounding::NegativeInfinity => !negative,
                    Rounding::PositiveInfinity => negative,
                    _ => false,
                };
            return if to_largest {
                self.largest(negative)
            } else {
                self.infinity(negative)
            };
        }
        magnitude as u64 | self.zero(negative)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round_trip(format: Format) {
        let limit = 1u64 << format.width();
        for bits in 0..limit {
            if let Value::Finite(exact) = format.decode(bits) {
                assert_eq!(
                    format.round(exact, Rounding::NearestEven, false),
                    bits,
                    "{format:?} {bits:x}"
                );
            }
        }
    }

    #[test]
    fn every_small_number_survives_decoding_and_rounding() {
        for scalar_type in [
            ScalarType::F16,
            ScalarType::Bf16,
            ScalarType::E5m2,
            ScalarType::E4m3,
            ScalarType::E2m1,
            ScalarType::E2m3,
            ScalarType::E3m2,
        ] {
            round_trip(Format::of(scalar_type).expect("a format"));
        }
    }

    #[test]
    fn largest_numbers() {
        assert_eq!(F32.largest(false), f32::MAX.to_bits().into());
        assert_eq!(F64.largest(true), f64::MIN.to_bits());
        assert_eq!(
            Format::of(ScalarType::E4m3)
                .expect("a format")
                .largest(false),
            0x7e
        );
        assert_eq!(
            Format::of(ScalarType::E5m2)
                .expect("a format")
                .largest(false),
            0x7b
        );
        assert_eq!(F32.one(), 1.0f32.to_bits().into());
    }

    #[test]
    fn rounding_agrees_with_the_host() {
        for bits in (0..=u32::MAX).step_by(65_537 * 3) {
            let value = f32::from_bits(bits);
            if value.is_nan() {
                continue;
            }
            let wide = f64::from(value) * 1.000_000_03;
            let Value::Finite(exact) = F64.decode(wide.to_bits()) else {
                continue;
            };
            let rounded = F32.round(exact, Rounding::NearestEven, false);
            assert_eq!(rounded, u64::from((wide as f32).to_bits()), "{wide}");
        }
    }

    #[test]
    fn integers_round_both_ways() {
        let exact = Exact {
            negative: true,
            exponent: -1,
            significand: 5,
            sticky: false,
        };
        assert_eq!(exact.round_to_integer(Rounding::IntegerNearestEven), 2);
        assert_eq!(exact.round_to_integer(Rounding::IntegerNegativeInfinity), 3);
        assert_eq!(exact.round_to_integer(Rounding::IntegerPositiveInfinity), 2);
        assert_eq!(exact.round_to_integer(Rounding::NearestAway), 3);
        let tiny = Exact {
            exponent: -400,
            ..exact
        };
        assert_eq!(tiny.round_to_integer(Rounding::IntegerNegativeInfinity), 1);
        assert_eq!(tiny.round_to_integer(Rounding::IntegerZero), 0);
    }
}
