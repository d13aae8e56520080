//! Sums, products and bitwise combinations as lists of leaves: their canonical form, and the steps that compute it.
//!
//! Nothing here knows of instructions: a leaf is a value with a rank, and what comes out is a list of steps each of which
//! may use the one before.

use crate::associative::mask;
use oriole_ir::Value;
use oriole_ir::arithmetic::{Family, Operation};
use oriole_isa::ptxas;

/// Which part of a sum a leaf belongs to, in the order in which parts are added. Of the orders that were tried this one took fewest
/// machine instructions (docs/optimizing.md). A likely reason, which was not tested by itself: `ptxas` adds up once for a warp what
/// is the same for its threads, and makes one instruction of a product and the sum that it is added to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Part {
    /// The same for all threads of a warp, and no product.
    Scalar,
    /// Different by thread.
    #[default]
    Divergent,
    /// A product that is the same for all threads of a warp.
    ScalarProduct,
}

/// What leaves are sorted by: the part they belong to; then the place where a value is available, composites of the same family at the place of their
/// first leaf and before that leaf, then the place of the definition itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Rank {
    pub part: Part,
    pub anchor: u32,
    pub is_simple: bool,
    pub place: u32,
    pub index: u32,
}

/// What a leaf of a sum adds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Leaf {
    /// A value.
    Value(Value),
    /// The product of two values, from a `mad`.
    Product(Value, Value),
    /// The product of a value and a constant, from a `mad`.
    Scaled(Value, u64),
}

/// A leaf with its sign; only sums have negative leaves, and those are values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Term {
    pub rank: Rank,
    pub leaf: Leaf,
    pub negative: bool,
}

/// The leaves of a tree.
#[derive(Clone, Debug, Default)]
pub(super) struct Terms {
    pub terms: Vec<Term>,
    pub constants: Vec<u64>,
}

/// A source of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Source {
    Value(Value),
    Constant(u64),
    /// The result of the step before.
    Previous,
}

/// One instruction of the canonical form; the sources it does not have are constants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    Unary(Operation, Source),
    Binary(Operation, Source, Source),
    Mad(Source, Source, Source),
    /// Nothing is left to compute.
    Move(Source),
}

impl Step {
    /// The values it reads.
    pub fn sources(&self) -> impl Iterator<Item = Source> {
        let list = match *self {
            Step::Unary(_, source) | Step::Move(source) => [Some(source), None, None],
            Step::Binary(_, left, right) => [Some(left), Some(right), None],
            Step::Mad(one, other, addend) => [Some(one), Some(other), Some(addend)],
        };
        list.into_iter().flatten()
    }
}

/// The constant that changes nothing.
fn identity(family: Family, bits: u32) -> u64 {
    match family {
        Family::Add | Family::Or | Family::Xor => 0,
        Family::Mul => 1,
        Family::And => mask(bits),
    }
}

/// The constant that decides everything, if the family has one.
fn absorber(family: Family, bits: u32) -> Option<u64> {
    match family {
        Family::Add | Family::Xor => None,
        Family::Mul | Family::And => Some(0),
        Family::Or => Some(mask(bits)),
    }
}

fn combine(family: Family, left: u64, right: u64) -> u64 {
    match family {
        Family::Add => left.wrapping_add(right),
        Family::Mul => left.wrapping_mul(right),
        Family::And => left & right,
        Family::Or => left | right,
        Family::Xor => left ^ right,
    }
}

impl Terms {
    pub fn clear(&mut self) {
        self.terms.clear();
        self.constants.clear();
    }

    /// Whether more than the order of the operands of one step depends on the order of the leaves. If there are two of them and one is
    /// added as it is, that one comes first whatever their order; and if both are, the step that adds them commutes.
    pub fn depend_on_order(&self) -> bool {
        match self.terms.as_slice() {
            [] | [_] => false,
            pair @ [_, _] => !pair
                .iter()
                .any(|term| matches!(term.leaf, Leaf::Value(_)) && !term.negative),
            _ => true,
        }
    }

    /// Sorts the leaves, gathers the constants and drops what cancels out. Constants of 64-bit sums are gathered only if the
    /// sum fits into 32 bits, unless `large` ones are welcome.
    pub fn canonicalize(&mut self, family: Family, bits: u32, large: bool) {
        self.terms.sort_by_key(|term| term.rank);
        match family {
            Family::Add => self.cancel_signs(),
            Family::Xor => self.cancel_pairs(),
            Family::And | Family::Or => self.terms.dedup_by_key(|term| term.leaf),
            Family::Mul => {}
        }
        let constant = self
            .constants
            .iter()
            .fold(identity(family, bits), |all, &next| {
                combine(family, all, next)
            })
            & mask(bits);
        let unwelcome = family == Family::Add
            && bits == 64
            && !large
            && !self.terms.is_empty()
            && self.constants.len() > 1
            && i64::from(constant as i32) as u64 != constant;
        if unwelcome {
            for constant in &mut self.constants {
                *constant &= mask(bits);
            }
            self.constants.sort_unstable();
        } else {
            self.constants.clear();
            if absorber(family, bits) == Some(constant) {
                self.terms.clear();
                self.constants.push(constant);
                return;
            }
            if constant != identity(family, bits) {
                self.constants.push(constant);
            }
        }
    }

    /// `a - a` is nothing. Leaves with one value stand together.
    fn cancel_signs(&mut self) {
        if !self.terms.iter().any(|term| term.negative) {
            return;
        }
        let mut kept: Vec<Term> = Vec::with_capacity(self.terms.len());
        for &term in &self.terms {
            match kept.last() {
                Some(last) if last.leaf == term.leaf && last.negative != term.negative => {
                    kept.pop();
                }
                _ => kept.push(term),
            }
        }
        self.terms = kept;
    }

    /// `a ^ a` is nothing.
    fn cancel_pairs(&mut self) {
        let mut kept: Vec<Term> = Vec::with_capacity(self.terms.len());
        for &term in &self.terms {
            if kept.last().is_some_and(|last| last.leaf == term.leaf) {
                kept.pop();
            } else {
                kept.push(term);
            }
        }
        self.terms = kept;
    }

    /// How many steps the leaves take, as they are.
    pub fn cost(&self) -> usize {
        let positive = self
            .terms
            .iter()
            .any(|term| matches!(term.leaf, Leaf::Value(_)) && !term.negative);
        let steps = self.terms.len() + self.constants.len();
        let free = positive || !self.constants.is_empty();
        (steps - usize::from(free && steps > 0)).max(1)
    }

    /// The steps that compute the leaves in order, constants last.
    pub fn steps(&self, family: Family, bits: u32, steps: &mut Vec<Step>) {
        steps.clear();
        if family != Family::Add {
            self.plain_steps(family, bits, steps);
            return;
        }
        let mut constants = self.constants.iter().copied();
        let first = self
            .terms
            .iter()
            .position(|term| matches!(term.leaf, Leaf::Value(_)) && !term.negative);
        let mut so_far = match first {
            Some(first) => match self.terms[first].leaf {
                Leaf::Value(value) => Some(Source::Value(value)),
                _ => None,
            },
            None => constants.next().map(Source::Constant),
        };
        for (index, term) in self.terms.iter().enumerate() {
            if Some(index) == first {
                continue;
            }
            let step = match (term.leaf, so_far) {
                (Leaf::Value(value), so_far) if term.negative => match so_far {
                    Some(so_far) => Step::Binary(Operation::Sub, so_far, Source::Value(value)),
                    // Spelled `sub.u16`, which ptxas gets right.
                    None if ptxas::negates_wrongly(bits) => {
                        Step::Binary(Operation::Sub, Source::Constant(0), Source::Value(value))
                    }
                    None => Step::Unary(Operation::Neg, Source::Value(value)),
                },
                (Leaf::Value(value), Some(so_far)) => {
                    Step::Binary(Operation::Add, so_far, Source::Value(value))
                }
                (Leaf::Value(value), None) => Step::Move(Source::Value(value)),
                (Leaf::Product(one, other), Some(so_far)) => {
                    Step::Mad(Source::Value(one), Source::Value(other), so_far)
                }
                (Leaf::Product(one, other), None) => {
                    Step::Binary(Operation::Mul, Source::Value(one), Source::Value(other))
                }
                (Leaf::Scaled(value, factor), Some(so_far)) => {
                    Step::Mad(Source::Value(value), Source::Constant(factor), so_far)
                }
                (Leaf::Scaled(value, factor), None) => multiply(Source::Value(value), factor, bits),
            };
            steps.push(step);
            so_far = Some(Source::Previous);
        }
        for constant in constants {
            let start = so_far.expect("the first constant is a start");
            steps.push(Step::Binary(
                Operation::Add,
                start,
                Source::Constant(constant),
            ));
            so_far = Some(Source::Previous);
        }
        if steps.is_empty() {
            steps.push(Step::Move(so_far.unwrap_or(Source::Constant(0))));
        }
    }

    fn plain_steps(&self, family: Family, bits: u32, steps: &mut Vec<Step>) {
        let operation = match family {
            Family::Add => Operation::Add,
            Family::Mul => Operation::Mul,
            Family::And => Operation::And,
            Family::Or => Operation::Or,
            Family::Xor => Operation::Xor,
        };
        let mut so_far = None;
        for term in &self.terms {
            let Leaf::Value(value) = term.leaf else {
                unreachable!("only sums have products as leaves");
            };
            so_far = Some(match so_far {
                None => Source::Value(value),
                Some(so_far) => {
                    steps.push(Step::Binary(operation, so_far, Source::Value(value)));
                    Source::Previous
                }
            });
        }
        if let (Some(so_far), Some(&constant)) = (so_far, self.constants.first()) {
            steps.push(if family == Family::Mul {
                multiply(so_far, constant, bits)
            } else {
                Step::Binary(operation, so_far, Source::Constant(constant))
            });
        }
        if steps.is_empty() {
            let constant = self
                .constants
                .first()
                .map_or(identity(family, bits), |&constant| constant);
            steps.push(Step::Move(so_far.unwrap_or(Source::Constant(constant))));
        }
    }
}

/// A product with a constant: a shift where that is one.
fn multiply(source: Source, factor: u64, bits: u32) -> Step {
    let factor = factor & mask(bits);
    if factor.is_power_of_two() {
        let amount = u64::from(factor.trailing_zeros());
        Step::Binary(Operation::Shl, source, Source::Constant(amount))
    } else {
        Step::Binary(Operation::Mul, source, Source::Constant(factor))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn term(index: usize, negative: bool) -> Term {
        Term {
            rank: Rank {
                part: Part::Divergent,
                anchor: index as u32,
                is_simple: true,
                place: index as u32,
                index: 0,
            },
            leaf: Leaf::Value(Value::from_index(index)),
            negative,
        }
    }

    fn source(source: Source, previous: u64, values: &[u64]) -> u64 {
        match source {
            Source::Value(value) => values[value.index()],
            Source::Constant(bits) => bits,
            Source::Previous => previous,
        }
    }

    fn run(steps: &[Step], values: &[u64], bits: u32) -> u64 {
        let mut previous = 0u64;
        for step in steps {
            let get = |which| source(which, previous, values);
            previous = match *step {
                Step::Move(only) => get(only),
                Step::Unary(_, only) => get(only).wrapping_neg(),
                Step::Mad(one, other, addend) => {
                    get(one).wrapping_mul(get(other)).wrapping_add(get(addend))
                }
                Step::Binary(operation, left, right) => {
                    let (left, right) = (get(left), get(right));
                    match operation {
                        Operation::Add => left.wrapping_add(right),
                        Operation::Sub => left.wrapping_sub(right),
                        Operation::Mul => left.wrapping_mul(right),
                        Operation::Shl => left << right,
                        Operation::And => left & right,
                        Operation::Or => left | right,
                        Operation::Xor => left ^ right,
                        _ => unreachable!(),
                    }
                }
            } & mask(bits);
        }
        previous
    }

    fn value_of(terms: &Terms, family: Family, bits: u32, values: &[u64]) -> u64 {
        let leaves = terms.terms.iter().map(|term| {
            let leaf = match term.leaf {
                Leaf::Value(value) => values[value.index()],
                Leaf::Product(one, other) => {
                    values[one.index()].wrapping_mul(values[other.index()])
                }
                Leaf::Scaled(value, factor) => values[value.index()].wrapping_mul(factor),
            };
            if term.negative {
                leaf.wrapping_neg()
            } else {
                leaf
            }
        });
        leaves
            .chain(terms.constants.iter().copied())
            .fold(identity(family, bits), |all, next| {
                combine(family, all, next)
            })
            & mask(bits)
    }

    /// A generator of numbers that are as good as random (xorshift).
    struct Numbers(u64);

    impl Numbers {
        fn next(&mut self) -> u64 {
            self.0 ^= self.0 << 13;
            self.0 ^= self.0 >> 7;
            self.0 ^= self.0 << 17;
            self.0
        }

        fn below(&mut self, bound: u64) -> u64 {
            self.next() % bound
        }
    }

    #[test]
    fn the_canonical_form_means_the_same_and_is_reached_at_once() {
        let mut numbers = Numbers(0x1234_5678_9ABC_DEF1);
        let families = [
            Family::Add,
            Family::Mul,
            Family::And,
            Family::Or,
            Family::Xor,
        ];
        let mut steps = Vec::new();
        for round in 0..20_000 {
            let family = families[round % families.len()];
            let bits = [16, 32, 64][numbers.below(3) as usize];
            let mut terms = Terms::default();
            for _ in 0..numbers.below(7) {
                let mut next = term(numbers.below(5) as usize, false);
                if family == Family::Add {
                    next.negative = numbers.below(3) == 0;
                    if !next.negative && numbers.below(4) == 0 {
                        let one = Value::from_index(numbers.below(5) as usize);
                        let other = Value::from_index(numbers.below(5) as usize);
                        next.leaf = Leaf::Product(one, other);
                        next.rank.index = 1 + numbers.below(9) as u32;
                    } else if !next.negative && numbers.below(4) == 0 {
                        let factor = [0, 1, 3, 8, u64::MAX][numbers.below(5) as usize];
                        next.leaf = Leaf::Scaled(Value::from_index(1), factor);
                        next.rank.index = 10 + numbers.below(9) as u32;
                    }
                }
                terms.terms.push(next);
            }
            for _ in 0..numbers.below(4) {
                let constant = match numbers.below(6) {
                    0 => 0,
                    1 => 1,
                    2 => u64::MAX,
                    3 => 1 << 20,
                    4 => 0x7FFF_FFFF,
                    _ => numbers.next(),
                };
                terms.constants.push(constant);
            }
            let large = numbers.below(2) == 0;
            let mut canonical = terms.clone();
            canonical.canonicalize(family, bits, large);
            let mut again = canonical.clone();
            again.canonicalize(family, bits, large);
            assert_eq!(canonical.terms, again.terms);
            assert_eq!(canonical.constants, again.constants);
            canonical.steps(family, bits, &mut steps);
            assert!(steps.len() <= canonical.cost().max(1));
            let small = terms.terms.len() + terms.constants.len();
            let extra = usize::from(
                !terms
                    .terms
                    .iter()
                    .any(|term| matches!(term.leaf, Leaf::Value(_)) && !term.negative),
            );
            assert!(steps.len() <= small.saturating_sub(1).max(1) + extra);
            for _ in 0..4 {
                let values: Vec<u64> = (0..5).map(|_| numbers.next()).collect();
                assert_eq!(
                    run(&steps, &values, bits),
                    value_of(&terms, family, bits, &values),
                    "{family:?} {bits} {terms:?} {steps:?}"
                );
            }
        }
    }

    #[test]
    fn large_sums_are_gathered_only_on_request() {
        let mut terms = Terms {
            terms: vec![term(1, false)],
            constants: vec![0x7FFF_FFFF, 0x7FFF_FFFF],
        };
        terms.canonicalize(Family::Add, 64, false);
        assert_eq!(terms.constants, [0x7FFF_FFFF, 0x7FFF_FFFF]);
        terms.canonicalize(Family::Add, 64, true);
        assert_eq!(terms.constants, [0xFFFF_FFFE]);
    }
}
