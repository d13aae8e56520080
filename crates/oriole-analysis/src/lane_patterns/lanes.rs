//! One number for each lane of a warp.

use crate::known_bits::{mask, sign_extend};
use std::rc::Rc;

/// Lanes of a warp.
pub const LANES: usize = 32;

/// One number for each lane. Each sequence of numbers has one form only, so that equal ones are found to be equal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Lanes {
    /// The same in all lanes.
    Same(u64),
    /// `first + lane * step`, modulo two to the 64th: most of what addresses are made of. The step is not zero.
    Linear {
        /// The number of the first lane.
        first: u64,
        /// What each lane has more than the one before.
        step: u64,
    },
    /// Any others.
    Each(Rc<[u64; LANES]>),
}

impl Lanes {
    /// A number for each lane.
    pub fn from_fn(number: impl FnMut(usize) -> u64) -> Lanes {
        Lanes::from_array(std::array::from_fn(number))
    }

    /// These numbers.
    pub fn from_array(lanes: [u64; LANES]) -> Lanes {
        let step = lanes[1].wrapping_sub(lanes[0]);
        let mut differs = 0;
        for pair in lanes.windows(2) {
            differs |= pair[1].wrapping_sub(pair[0]) ^ step;
        }
        match differs {
            0 => Lanes::linear(lanes[0], step),
            _ => Lanes::Each(Rc::new(lanes)),
        }
    }

    /// `first + lane * step`.
    pub fn linear(first: u64, step: u64) -> Lanes {
        match step {
            0 => Lanes::Same(first),
            _ => Lanes::Linear { first, step },
        }
    }

    /// The number of a lane.
    #[inline]
    pub fn get(&self, lane: usize) -> u64 {
        match self {
            Lanes::Same(number) => *number,
            Lanes::Linear { first, step } => first.wrapping_add(step.wrapping_mul(lane as u64)),
            Lanes::Each(lanes) => lanes[lane],
        }
    }

    /// The numbers of all lanes.
    pub fn to_array(&self) -> [u64; LANES] {
        match self {
            Lanes::Same(number) => [*number; LANES],
            Lanes::Linear { .. } => std::array::from_fn(|lane| self.get(lane)),
            Lanes::Each(lanes) => **lanes,
        }
    }

    /// The number of all lanes, if they have one.
    #[inline]
    pub fn as_same(&self) -> Option<u64> {
        match self {
            Lanes::Same(number) => Some(*number),
            Lanes::Linear { .. } | Lanes::Each(_) => None,
        }
    }

    /// The low bits.
    pub fn masked(&self, bits: u32) -> Lanes {
        let mask = mask(bits);
        match self {
            Lanes::Same(number) => Lanes::Same(number & mask),
            Lanes::Linear { .. } | Lanes::Each(_) if bits >= 64 => self.clone(),
            &Lanes::Linear { first, step } => {
                // A sequence whose ends have no more bits has none in between. There are fewer than 64 of them.
                let span = (step as i64).checked_mul(LANES as i64 - 1);
                let last = span.and_then(|span| span.checked_add_unsigned(first));
                match first <= mask && last.is_some_and(|last| (0..=mask as i64).contains(&last)) {
                    true => self.clone(),
                    false => Lanes::from_fn(|lane| self.get(lane) & mask),
                }
            }
            Lanes::Each(lanes) => match lanes.iter().fold(0, |all, lane| all | lane) & !mask {
                0 => self.clone(),
                _ => Lanes::from_fn(|lane| lanes[lane] & mask),
            },
        }
    }

    /// Numbers of so many bits in more, by their sign.
    pub(super) fn sign_extended(&self, from: u32, to: u32) -> Lanes {
        let is_positive = from > 0 && self.masked(from - 1) == *self;
        match is_positive {
            true => self.clone(),
            false => self.map(|lane| sign_extend(lane, from) as u64 & mask(to)),
        }
    }

    /// The sums, modulo two to the 64th.
    pub fn plus(&self, other: &Lanes) -> Lanes {
        use Lanes::{Linear, Same};
        match (self, other) {
            (Same(0), other) | (other, Same(0)) => other.clone(),
            (Same(left), Same(right)) => Same(left.wrapping_add(*right)),
            (Same(number), &Linear { first, step }) | (&Linear { first, step }, Same(number)) => {
                Lanes::linear(first.wrapping_add(*number), step)
            }
            (
                &Linear { first, step },
                &Linear {
                    first: start,
                    step: more,
                },
            ) => Lanes::linear(first.wrapping_add(start), step.wrapping_add(more)),
            _ => Lanes::from_fn(|lane| self.get(lane).wrapping_add(other.get(lane))),
        }
    }

    /// The products, modulo two to the 64th.
    pub fn times(&self, other: &Lanes) -> Lanes {
        use Lanes::{Linear, Same};
        match (self, other) {
            (Same(0), _) | (_, Same(0)) => Same(0),
            (Same(1), other) | (other, Same(1)) => other.clone(),
            (Same(left), Same(right)) => Same(left.wrapping_mul(*right)),
            (Same(factor), &Linear { first, step }) | (&Linear { first, step }, Same(factor)) => {
                Lanes::linear(first.wrapping_mul(*factor), step.wrapping_mul(*factor))
            }
            _ => Lanes::from_fn(|lane| self.get(lane).wrapping_mul(other.get(lane))),
        }
    }

    /// What a function makes of each lane's number.
    pub(super) fn map(&self, each: impl Fn(u64) -> u64) -> Lanes {
        match self {
            Lanes::Same(number) => Lanes::Same(each(*number)),
            _ => Lanes::from_fn(|lane| each(self.get(lane))),
        }
    }

    /// What a function makes of each lane's two numbers.
    pub(super) fn zip(&self, other: &Lanes, each: impl Fn(u64, u64) -> u64) -> Lanes {
        match (self, other) {
            (Lanes::Same(left), Lanes::Same(right)) => Lanes::Same(each(*left, *right)),
            _ => Lanes::from_fn(|lane| each(self.get(lane), other.get(lane))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Equal numbers of all kinds, and numbers that wrap.
    fn examples() -> Vec<Lanes> {
        let starts = [0, 1, 31, 1 << 31, u64::from(u32::MAX), u64::MAX];
        let steps = [0, 1, 4, u64::MAX, u64::MAX - 3, 1 << 31, 1 << 59];
        let mut examples = Vec::new();
        for start in starts {
            for step in steps {
                examples.push(Lanes::linear(start, step));
            }
            examples.push(Lanes::from_fn(|lane| start.wrapping_add(lane as u64 / 8)));
            examples.push(Lanes::from_fn(|lane| (lane as u64 % 8).wrapping_mul(start)));
        }
        examples
    }

    #[test]
    fn arithmetic_is_that_of_each_lane() {
        for one in examples() {
            for bits in [1, 5, 16, 32, 63, 64] {
                let masked = Lanes::from_fn(|lane| one.get(lane) & mask(bits));
                assert_eq!(one.masked(bits), masked, "{one:?}, {bits} bits");
            }
            assert_eq!(Lanes::from_array(one.to_array()), one);
            for two in examples() {
                let sum = Lanes::from_fn(|lane| one.get(lane).wrapping_add(two.get(lane)));
                assert_eq!(one.plus(&two), sum, "{one:?} + {two:?}");
                let product = Lanes::from_fn(|lane| one.get(lane).wrapping_mul(two.get(lane)));
                assert_eq!(one.times(&two), product, "{one:?} * {two:?}");
            }
        }
    }
}
