//! What a request costs by what a parameter of the kernel is, where lanes are apart by a multiple of it.
//!
//! ## Example
//! `tile[threadIdx.x * n]`: 32 wavefronts if `n` is a multiple of 32, 16 if it is one of 16 and not of 32, and so on; one if it is odd.
//!
//! ## Soundness
//! In shared memory the bank of a lane depends on the parameter modulo 32 words. Two lanes of one bank ask for one word only if their
//! addresses are the same, which is excluded for parameters that are at least so far from zero that what lanes have else cannot
//! make up for it. Each residue is counted with one such number, and all residues with the same largest power of two must cost the
//! same. There is no table for global memory.

use super::Request;
use super::cost::WarpCost;
use crate::known_bits::{Known, sign_extend};
use crate::lane_patterns::{Atom, LANES, Pattern};
use oriole_isa::Space;

/// What a request costs if a parameter is something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StrideRow {
    /// The parameter, by number.
    pub parameter: u32,
    /// What it is.
    pub case: StrideCase,
    /// Sectors or wavefronts.
    pub cost: u64,
}

/// What a parameter may be: a multiple of a power of two and, unless it is the largest one that counts, of no larger one; and so far
/// from zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StrideCase {
    /// The power of two.
    pub of: u64,
    /// Whether larger powers of two are the same case.
    pub is_largest: bool,
    /// The least that it is, without its sign.
    pub at_least: u64,
}

impl StrideCase {
    /// Whether a parameter of 32 bits is so.
    pub fn holds(&self, argument: u64) -> bool {
        let own = sign_extend(argument, 32).unsigned_abs();
        let is_multiple = own.is_multiple_of(self.of);
        let is_more = own.is_multiple_of(2 * self.of);
        own >= self.at_least.max(1) && is_multiple && (self.is_largest || !is_more)
    }
}

impl std::fmt::Display for StrideRow {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let StrideRow {
            parameter,
            case,
            cost,
        } = self;
        write!(formatter, "{cost} if arg {parameter} ")?;
        match (case.of, case.is_largest) {
            (1, _) => write!(formatter, "is odd"),
            (of, true) => write!(formatter, "is a multiple of {of}"),
            (of, false) => write!(formatter, "is a multiple of {of}, not of {}", 2 * of),
        }
    }
}

/// The largest power of two that counts for banks.
const BANKS: u64 = 32;

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
    let Some(number) = parameter(atom) else {
        return Vec::new();
    };
    let count = |value: u64| {
        let mut cost = WarpCost::none(lanes);
        cost.count(request, &pattern.with_atom(atom, value), known);
        let is_exact = cost.cause.is_none() && cost.least == cost.most;
        is_exact.then_some(cost.least)
    };
    let row = |case: StrideCase, cost: u64| StrideRow {
        parameter: number,
        case,
        cost,
    };
    let mut rows = Vec::new();
    if !matches!(request.space, Space::Shared | Space::SharedCluster) {
        return rows;
    }
    // Parts of words would have banks depend on more than the parameter modulo 32.
    if (0..LANES).any(|lane| !term.factor.get(lane).is_multiple_of(4)) {
        return Vec::new();
    }
    let Some(at_least) = least_apart(pattern, &term.factor, lanes, request.bytes) else {
        return Vec::new();
    };
    let base = at_least.next_multiple_of(BANKS);
    let mut of = BANKS;
    while of > 0 {
        let residues = (0..BANKS).filter(|residue| match of {
            BANKS => *residue == 0,
            of => residue.is_multiple_of(of) && !residue.is_multiple_of(2 * of),
        });
        let mut costs = residues.map(|residue| count(base + residue));
        let Some(Some(cost)) = costs.next() else {
            return Vec::new();
        };
        if costs.any(|own| own != Some(cost)) {
            return Vec::new();
        }
        let case = StrideCase {
            of,
            is_largest: of == BANKS,
            at_least,
        };
        rows.push(row(case, cost));
        of /= 2;
    }
    merge(&mut rows);
    rows
}

/// One row for the largest powers of two that cost the same.
fn merge(rows: &mut Vec<StrideRow>) {
    while let [first, second, ..] = rows[..]
        && first.cost == second.cost
        && let StrideCase { of, at_least, .. } = second.case
    {
        rows.remove(0);
        rows[0].case = StrideCase {
            of,
            is_largest: true,
            at_least,
        };
    }
}

/// What a parameter must be at least, without its sign, for lanes with different factors to access different words.
fn least_apart(
    pattern: &Pattern,
    factor: &crate::lane_patterns::Lanes,
    lanes: u32,
    bytes: u32,
) -> Option<u64> {
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
    // Words of four bytes at least.
    let needed = spread.checked_add(u64::from(bytes.max(4)))?;
    let at_least = needed.div_ceil(nearest);
    (nearest != u64::MAX && at_least < 1 << 16).then_some(at_least)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_stride_far_from_zero_is_one_case() {
        let case = |of, is_largest| StrideCase {
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
        let cases: Vec<StrideCase> = cases.collect();
        for stride in -100..=100i32 {
            let argument = u64::from(stride as u32);
            let holds = cases.iter().filter(|case| case.holds(argument)).count();
            assert_eq!(holds, usize::from(stride.abs() >= 3), "{stride}");
        }
    }
}
