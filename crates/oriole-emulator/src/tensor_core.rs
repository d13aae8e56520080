//! How a tensor core adds products of floating-point numbers, as seen on compute capability 9.0.
//!
//! All products of an inner product and the accumulator are added at once: each is cut, towards zero, to 25 binary places below the
//! largest exponent among them, the sum of what is left is exact, and it is rounded to the destination: towards zero to single
//! precision, to nearest even to half. The exponent of a product is the sum of its factors' exponents, not that of its value;
//! a zero has none. `tests/data/mma_h200.txt` holds what this was found from.

use oriole_isa::ScalarType;

/// Places kept below the largest exponent.
const PLACES: i32 = 25;

/// The sums of one instruction.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TensorCore {
    /// The exponent of subnormal factors, and of a subnormal accumulator.
    factor_minimum: i32,
    accumulator_minimum: i32,
    to_single: bool,
}

impl TensorCore {
    /// For products of half precision, `.bf16` and `.tf32`; others were not looked at.
    pub(crate) fn of(
        factors: ScalarType,
        accumulator: ScalarType,
        result: ScalarType,
    ) -> Option<TensorCore> {
        let known = matches!(
            factors,
            ScalarType::F16 | ScalarType::Bf16 | ScalarType::Tf32
        ) && matches!(result, ScalarType::F16 | ScalarType::F32);
        let minimum = |scalar_type| {
            if scalar_type == ScalarType::F16 {
                -14
            } else {
                -126
            }
        };
        known.then(|| TensorCore {
            factor_minimum: minimum(factors),
            accumulator_minimum: minimum(accumulator),
            to_single: result == ScalarType::F32,
        })
    }

    /// The sum of products and an accumulator. To single precision it is rounded already; to half precision it is exact.
    pub(crate) fn sum(
        &self,
        factors: impl Iterator<Item = (f64, f64)> + Clone,
        accumulator: f64,
    ) -> f64 {
        let mut plain = accumulator;
        let mut largest = None;
        if accumulator != 0.0 {
            largest = Some(exponent(accumulator, self.accumulator_minimum));
        }
        for (x, y) in factors.clone() {
            plain += x * y;
            if x * y != 0.0 {
                let exponents = exponent(x, self.factor_minimum) + exponent(y, self.factor_minimum);
                largest = largest.max(Some(exponents));
            }
        }
        let Some(largest) = largest.filter(|_| plain.is_finite()) else {
            return plain;
        };
        let unit = largest - PLACES;
        let (up, down) = (2f64.powi(-unit), 2f64.powi(unit));
        let kept: f64 = factors.map(|(x, y)| (x * y * up).trunc()).sum();
        let sum = (kept + (accumulator * up).trunc()) * down;
        if self.to_single {
            towards_zero(sum).into()
        } else {
            sum
        }
    }
}

/// The exponent of a number that is at least the smallest normal one.
fn exponent(value: f64, minimum: i32) -> i32 {
    let field = (value.to_bits() >> 52 & 0x7ff) as i32;
    (field - 1023).max(minimum)
}

/// Rounds to single precision; what is too large becomes infinite.
fn towards_zero(value: f64) -> f32 {
    let nearest = value as f32;
    if nearest.is_finite() && f64::from(nearest).abs() > value.abs() {
        f32::from_bits(nearest.to_bits() - 1)
    } else {
        nearest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_terms_are_cut() {
        let core =
            TensorCore::of(ScalarType::F16, ScalarType::F32, ScalarType::F32).expect("known");
        let sum = |terms: &[f64], accumulator: f64| {
            core.sum(terms.iter().map(|&term| (term, 1.0)), accumulator)
        };
        let place = |exponent: i32| 2f64.powi(exponent);
        assert_eq!(sum(&[1.0, 2.0], 3.0), 6.0);
        // Eight terms of half a place count if they are kept, and the result is cut to 24 bits.
        assert_eq!(sum(&[place(-14); 4], place(11)), place(11) + place(-12));
        assert_eq!(sum(&[place(-14); 4], place(12)), place(12));
        assert_eq!(sum(&[-place(-14)], place(12)), place(12));
        assert_eq!(sum(&[place(-12), -place(-14)], place(12)), place(12));
        assert_eq!(sum(&[0.0], -0.0), 0.0);
        assert!(sum(&[f64::INFINITY], f64::NEG_INFINITY).is_nan());
        assert!(TensorCore::of(ScalarType::S8, ScalarType::S32, ScalarType::S32).is_none());
    }

    #[test]
    fn half_precision_is_rounded_later() {
        let core =
            TensorCore::of(ScalarType::F16, ScalarType::F16, ScalarType::F16).expect("known");
        let sum = core.sum([(1.0, 1.0), (2f64.powi(-11), 1.0)].into_iter(), 0.0);
        assert_eq!(sum, 1.0 + 2f64.powi(-11));
    }
}
