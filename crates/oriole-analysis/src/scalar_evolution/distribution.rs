//! Sums with a minimum or maximum among their terms, as minima and maxima of sums: what the terms have in common cancels out.

use super::Query;
use super::arithmetic::List;
use super::expression::{Expression, Kind};
use super::ranges::Range;
use super::tables::Key;
use oriole_collections::SmallVec;

/// The most nodes of a sum that is distributed over an extreme among its terms.
const MOST_DISTRIBUTED: u32 = 64;

impl Query<'_> {
    /// Of a sum with one signed extreme among its terms: the sum of the others, and each arm of the extreme with the sum that it makes
    /// with the others. What it has in common with them is gone from that.
    pub(super) fn distributed(&mut self, sum: Expression) -> List {
        let expressions = &self.state.expressions;
        let none = SmallVec::new();
        if expressions.kind(sum) != Kind::Add || expressions.size(sum) > MOST_DISTRIBUTED {
            return none;
        }
        let is_extreme = |&term: &Expression| is_signed_extreme(expressions.kind(term));
        let terms = expressions.operands(sum);
        let mut extremes = terms.iter().copied().filter(is_extreme);
        let (Some(extreme), None) = (extremes.next(), extremes.next()) else {
            return none;
        };
        let rest: List = terms.iter().copied().filter(|&it| it != extreme).collect();
        let arms: List = SmallVec::from_slice(expressions.operands(extreme));
        let size = expressions.size(sum);
        let key = Key::range(sum);
        let rest = self.fold_sum(key, &rest);
        let mut made: List = SmallVec::from_slice(&[rest]);
        for arm in arms {
            let sum = self.fold_sum(key, &[rest, arm]);
            made.extend([arm, sum]);
        }
        // Each step makes it smaller, so there is a last one.
        let expressions = &self.state.expressions;
        match made.iter().all(|&each| expressions.size(each) < size) {
            true => made,
            false => none,
        }
    }

    /// The range of a sum with one signed extreme, from what [`Query::distributed`] gives, if nothing in it wraps.
    pub(super) fn distributed_range(
        &self,
        sum: Expression,
        terms: &[Range],
        made: &[Range],
    ) -> Option<Range> {
        let expressions = &self.state.expressions;
        let (rest, arms) = made.split_first()?;
        let terms = expressions.operands(sum).iter().zip(terms);
        let is_extreme = |term| is_signed_extreme(expressions.kind(term));
        let (&extreme, whole) = terms.into_iter().find(|&(&term, _)| is_extreme(term))?;
        let kind = expressions.kind(extreme);
        let does_not_wrap = |range: &Range| {
            let low = i128::from(range.signed.low) + i128::from(rest.signed.low);
            let high = i128::from(range.signed.high) + i128::from(rest.signed.high);
            let full = Range::full(range.bits()).signed;
            low >= full.low.into() && high <= full.high.into()
        };
        if !does_not_wrap(whole) {
            return None;
        }
        // An arm bounds the extreme on one side by itself; only all of them bound it on the other.
        let full = Range::full(rest.bits());
        let mut range = full;
        let mut all: Option<Range> = None;
        let mut is_complete = true;
        for pair in arms.chunks_exact(2) {
            let (arm, sum) = (pair[0], pair[1]);
            if !does_not_wrap(&arm) {
                is_complete = false;
                continue;
            }
            range = match kind {
                Kind::SignedMin => {
                    range.with_signed(full.signed.low.into(), sum.signed.high.into())
                }
                _ => range.with_signed(sum.signed.low.into(), full.signed.high.into()),
            };
            all = Some(all.map_or(sum, |all| all.extreme(kind, sum)));
        }
        Some(match all.filter(|_| is_complete) {
            Some(all) => range.meet(all),
            None => range,
        })
    }
}

fn is_signed_extreme(kind: Kind) -> bool {
    matches!(kind, Kind::SignedMax | Kind::SignedMin)
}
