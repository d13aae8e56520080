//! What a request costs by what a parameter of the kernel is, where lanes are apart by a multiple of it.
//!
//! ## Example
//! `tile[threadIdx.x * n]`: 32 wavefronts if `n` is a multiple of 32, 16 if it is one of 16 and not of 32, and so on; one if it is odd.
//! `x[threadIdx.x * n]`, floats in global memory: 4 sectors if `n` is 1, 8 if it is 2, and so on; 32 if it is 9 or more.
//!
//! ## Soundness
//! In shared memory the bank of a lane depends on the parameter modulo 32 words. Two lanes of one bank ask for one word only if their
//! addresses are the same, which is excluded for parameters that are at least so far from zero that what lanes have else cannot
//! make up for it. In global memory lanes with different factors have no sector in common if the parameter is so far from zero, and where each of
//! them begins in a sector depends on the parameter modulo 32. Each residue is counted with one such number, and all residues with the same
//! largest power of two must cost the same. Parameters of global memory that are nearer to zero are counted one by one. A row
//! is left out if it depends on something else that is not known.

use super::Request;
use super::cost::{WarpCost, groups};
use super::group_cost::{Memory, memory};
use crate::known_bits::{Known, sign_extend};
use crate::lane_patterns::{Atom, LANES, Lanes, Pattern};

/// What a request costs if a parameter is something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StrideRow {
    /// The parameter, by number.
    pub parameter: u32,
    /// What it is.
    pub case: StrideCase,
    /// Sectors or wavefronts.
    pub cost: u64,
    /// Bytes by which adjacent lanes are apart for each one of the parameter.
    pub unit: u64,
}

/// What a parameter may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StrideCase {
    /// This number.
    Is(u32),
    /// A multiple of a power of two and, unless it is the largest one that counts, of no larger one; and so far from zero.
    Multiple {
        /// The power of two.
        of: u64,
        /// Whether larger powers of two are the same case.
        is_largest: bool,
        /// The least that it is, without its sign.
        at_least: u64,
    },
}

impl StrideCase {
    /// Whether a parameter of 32 bits is so.
    pub fn holds(&self, argument: u64) -> bool {
        let own = sign_extend(argument, 32).unsigned_abs();
        match *self {
            StrideCase::Is(number) => argument == u64::from(number),
            StrideCase::Multiple {
                of,
                is_largest,
                at_least,
            } => {
                let is_more = own.is_multiple_of(2 * of);
                own >= at_least.max(1) && own.is_multiple_of(of) && (is_largest || !is_more)
            }
        }
    }
}

impl std::fmt::Display for StrideRow {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let StrideRow {
            parameter,
            case,
            cost,
            ..
        } = self;
        write!(formatter, "{cost} if arg {parameter} ")?;
        let (of, is_largest, at_least) = match *case {
            StrideCase::Is(number) => return write!(formatter, "is {number}"),
            StrideCase::Multiple {
                of,
                is_largest,
                at_least,
            } => (of, is_largest, at_least),
        };
        match (of, is_largest) {
            (1, true) => return write!(formatter, "is {at_least} or more"),
            (1, false) => write!(formatter, "is odd")?,
            (of, true) => write!(formatter, "is a multiple of {of}")?,
            (of, false) => write!(formatter, "is a multiple of {of}, not of {}", 2 * of)?,
        }
        match at_least > of {
            true => write!(formatter, ", {at_least} or more"),
            false => Ok(()),
        }
    }
}

/// The largest power of two that counts: for banks of words, and for bytes of sectors.
const PERIOD: u64 = 32;

/// So many numbers near zero have rows of their own.
const MOST_NUMBERS: u64 = 9;

/// The cost of a request by what a parameter is; empty if lanes are apart by something else.
pub(super) fn rows(
    request: &Request,
    pattern: &Pattern,
    lanes: u32,
    parameter: &dyn Fn(Atom) -> Option<u32>,
    known: &dyn Fn(Atom) -> Known,
) -> Vec<StrideRow> {
    let mut varying = pattern
        .terms
        .iter()
        .filter(|term| term.factor.as_same().is_none());
    let (Some(term), None) = (varying.next(), varying.next()) else {
        return Vec::new();
    };
    let [atom] = term.monomial[..] else {
        return Vec::new();
    };
    let Some(parameter) = parameter(atom) else {
        return Vec::new();
    };
    let first = lanes.trailing_zeros().min(30) as usize;
    let factor = |lane: usize| sign_extend(term.factor.get(lane), pattern.bits);
    let table = Table {
        request,
        pattern,
        lanes,
        atom,
        parameter,
        unit: factor(first).abs_diff(factor(first + 1)),
        known,
    };
    match memory(request.space) {
        // Parts of words would have banks depend on more than the parameter modulo 32.
        Memory::Shared if (0..LANES).all(|lane| term.factor.get(lane).is_multiple_of(4)) => {
            let needed = u64::from(request.bytes.max(4));
            let least = least_apart(pattern, &term.factor, lanes, needed);
            least.map_or_else(Vec::new, |least| table.multiples(least, true))
        }
        Memory::Global if !request.operation.is_copy() => {
            // What begins so far behind another has no sector in common with it.
            let needed = u64::from(request.bytes) + PERIOD - 1;
            let least = least_apart(pattern, &term.factor, lanes, needed);
            least.map_or_else(Vec::new, |least| table.of_global(least))
        }
        _ => Vec::new(),
    }
}

/// What rows are counted of.
struct Table<'a> {
    request: &'a Request,
    pattern: &'a Pattern,
    lanes: u32,
    atom: Atom,
    parameter: u32,
    unit: u64,
    known: &'a dyn Fn(Atom) -> Known,
}

impl Table<'_> {
    /// What it costs if the parameter is a number, if that is one number.
    fn count(&self, number: u64) -> Option<u64> {
        let mut cost = WarpCost::none(self.lanes);
        let pattern = self.pattern.with_atom(self.atom, number);
        cost.count(self.request, &pattern, self.known);
        let is_exact = cost.cause.is_none() && cost.least == cost.most;
        is_exact.then_some(cost.least)
    }

    /// Whether each lane is by itself in one sector of global memory, wherever it is aligned.
    fn is_lane_by_lane(&self) -> bool {
        let bytes = self.request.bytes;
        let is_whole = bytes.is_power_of_two() && bytes <= 32;
        let mut groups = groups(self.pattern, self.lanes).into_iter();
        is_whole
            && memory(self.request.space) == Memory::Global
            && groups.all(|group| group.is_power_of_two())
    }

    fn row(&self, case: StrideCase, cost: u64) -> StrideRow {
        StrideRow {
            parameter: self.parameter,
            case,
            cost,
            unit: self.unit,
        }
    }

    /// Numbers near zero, the least first, then the others.
    fn of_global(&self, at_least: u64) -> Vec<StrideRow> {
        let mut rows = Vec::new();
        for number in 0..at_least.min(MOST_NUMBERS) {
            if let Some(cost) = self.count(number) {
                rows.push(self.row(StrideCase::Is(number as u32), cost));
            }
        }
        rows.extend(self.multiples(at_least, false));
        rows
    }

    /// Multiples of powers of two, the largest first; nothing if all are needed and one is not known.
    fn multiples(&self, at_least: u64, needs_all: bool) -> Vec<StrideRow> {
        if self.is_lane_by_lane() {
            let case = StrideCase::Multiple {
                of: 1,
                is_largest: true,
                at_least,
            };
            return vec![self.row(case, self.lanes.count_ones().into())];
        }
        let base = at_least.next_multiple_of(PERIOD);
        let mut rows = Vec::new();
        let mut of = PERIOD;
        while of > 0 {
            let residues = (0..PERIOD).filter(|residue| match of {
                PERIOD => *residue == 0,
                of => residue.is_multiple_of(of) && !residue.is_multiple_of(2 * of),
            });
            let mut costs = residues.map(|residue| self.count(base + residue));
            let cost = costs.next().flatten();
            let cost = cost.filter(|cost| costs.all(|own| own == Some(*cost)));
            let case = StrideCase::Multiple {
                of,
                is_largest: of == PERIOD,
                at_least,
            };
            match cost {
                Some(cost) => rows.push(self.row(case, cost)),
                None if needs_all => return Vec::new(),
                None => {}
            }
            of /= 2;
        }
        merge(&mut rows);
        rows
    }
}

/// One row for the largest powers of two that cost the same.
fn merge(rows: &mut Vec<StrideRow>) {
    while let [first, second, ..] = rows[..]
        && first.cost == second.cost
        && let StrideCase::Multiple {
            of: larger,
            is_largest: true,
            ..
        } = first.case
        && let StrideCase::Multiple { of, at_least, .. } = second.case
        && larger == 2 * of
    {
        rows.remove(0);
        rows[0].case = StrideCase::Multiple {
            of,
            is_largest: true,
            at_least,
        };
    }
}

/// What a parameter must be at least, without its sign, for lanes with different factors to be so many bytes apart.
fn least_apart(pattern: &Pattern, factor: &Lanes, lanes: u32, needed: u64) -> Option<u64> {
    let active: Vec<usize> = (0..LANES).filter(|lane| lanes >> lane & 1 != 0).collect();
    let number = |number: u64| sign_extend(number, pattern.bits);
    let mut nearest = u64::MAX;
    let mut spread = 0;
    for (index, &one) in active.iter().enumerate() {
        for &other in &active[..index] {
            let apart = number(factor.get(one)).abs_diff(number(factor.get(other)));
            if apart != 0 {
                nearest = nearest.min(apart);
                let rest = pattern
                    .lanes
                    .get(one)
                    .wrapping_sub(pattern.lanes.get(other));
                spread = spread.max(number(rest).unsigned_abs());
            }
        }
    }
    let needed = spread.checked_add(needed)?;
    let at_least = needed.div_ceil(nearest);
    (nearest != u64::MAX && at_least < 1 << 16).then_some(at_least)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_stride_far_from_zero_is_one_case() {
        let case = |of, is_largest| StrideCase::Multiple {
            of,
            is_largest,
            at_least: 3,
        };
        let cases = [
            case(32, true),
            case(16, false),
            case(8, false),
            case(4, false),
        ];
        let cases = cases.into_iter().chain([case(2, false), case(1, false)]);
        let mut cases: Vec<StrideCase> = cases.collect();
        cases.extend([0, 1, 2].map(StrideCase::Is));
        for stride in -100..=100i32 {
            let argument = u64::from(stride as u32);
            let holds = cases.iter().filter(|case| case.holds(argument)).count();
            assert_eq!(holds, usize::from(stride >= 0 || stride <= -3), "{stride}");
        }
    }
}
