//! Whether an iteration of a loop accesses what another one does.
//!
//! ## Soundness
//! Both accesses are of one thread, with one iteration of every loop around. Their offsets from one base differ by a number for each
//! iteration between them and a rest: if that number and the rest are known, whether bytes meet is decided by arithmetic. Distinct
//! variables do not meet. Everything else is unknown. Nothing assumes that sums do not wrap: an extension without a proof is a leaf.

use super::{Factor, Polynomial, Subscripts};
use crate::scalar_evolution::{Kind, Leaf, Query};
use oriole_ir::Block;

/// How two accesses of a loop's iterations are related.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dependence {
    /// No iteration accesses what another one does.
    Independent,
    /// What the first accesses is accessed by the second so many iterations later; if negative, earlier.
    Distance(i64),
    /// All that can be told.
    Unknown,
}

impl Dependence {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Dependence::Independent => "independent",
            Dependence::Distance(_) => "distance",
            Dependence::Unknown => "unknown",
        }
    }
}

/// How two accesses, of so many bytes each, in a loop are related from iteration to iteration.
pub fn dependence(
    query: &Query<'_>,
    header: Block,
    first: (&Subscripts, u32),
    second: (&Subscripts, u32),
) -> Dependence {
    let (one, two) = (first.0, second.0);
    if one.base != two.base {
        let is_variable = |own: &Subscripts| query.expressions().kind(own.base) == Kind::Symbol;
        return match is_variable(one) && is_variable(two) {
            true => Dependence::Independent,
            false => Dependence::Unknown,
        };
    }
    decided(query, header, first, second).unwrap_or(Dependence::Unknown)
}

fn decided(
    query: &Query<'_>,
    header: Block,
    (one, bytes): (&Subscripts, u32),
    (two, other_bytes): (&Subscripts, u32),
) -> Option<Dependence> {
    let counter = Factor::Counter(header);
    let (rest, step) = one.offset.as_ref()?.split(counter)?;
    let (other_rest, other_step) = two.offset.as_ref()?.split(counter)?;
    if step != other_step || !is_invariant(query, header, &[&rest, &other_rest, &step]) {
        return None;
    }
    // The second access, so many iterations later, is at this distance: step * iterations + gap.
    let gap = other_rest.subtract(&rest)?;
    if let (Some(step), Some(gap)) = (step.as_constant(), gap.as_constant()) {
        return Some(by_numbers(step, gap, bytes.into(), other_bytes.into()));
    }
    // A gap of whole steps, whatever they are.
    let mut found = None;
    for (product, coefficient) in step.terms() {
        let own = gap.terms().find(|term| term.0 == product);
        let own = own.map_or(0, |term| term.1);
        if own % coefficient != 0 || found.is_some_and(|found| found != -own / coefficient) {
            return None;
        }
        found = Some(-own / coefficient);
    }
    let iterations = found?;
    let is_whole = step.scale(iterations)?.add(&gap)?.is_zero();
    let iterations = i64::try_from(iterations).ok()?;
    (is_whole && iterations != 0).then_some(Dependence::Distance(iterations))
}

/// By numbers: bytes meet where `-other_bytes < step * iterations + gap < bytes`.
fn by_numbers(step: i128, gap: i128, bytes: i128, other_bytes: i128) -> Dependence {
    if step == 0 {
        // The same place in every iteration, or never.
        return match gap > -other_bytes && gap < bytes {
            true => Dependence::Unknown,
            false => Dependence::Independent,
        };
    }
    let meets = |iterations: i128| {
        let apart = step * iterations + gap;
        apart > -other_bytes && apart < bytes
    };
    let nearest = -gap / step;
    let mut around: Vec<i128> = Vec::new();
    let reach = (bytes + other_bytes) / step.abs() + 2;
    for iterations in nearest - reach.min(64)..=nearest + reach.min(64) {
        if iterations != 0 && meets(iterations) {
            around.push(iterations);
        }
    }
    match (&around[..], reach > 64) {
        (_, true) => Dependence::Unknown,
        ([], false) => Dependence::Independent,
        (&[one], false) => i64::try_from(one).map_or(Dependence::Unknown, Dependence::Distance),
        _ => Dependence::Unknown,
    }
}

/// Whether a loop changes nothing in polynomials but its counter.
pub(super) fn is_invariant(query: &Query<'_>, header: Block, polynomials: &[&Polynomial]) -> bool {
    let expressions = query.expressions();
    let changes = |factor: &Factor| match *factor {
        // An inner loop may be in any iteration.
        Factor::Counter(own) => query.contains(header, own),
        Factor::Leaf(leaf) => expressions.postorder(leaf).into_iter().any(|part| {
            let is_own = |own: Block| query.contains(header, own);
            match expressions.as_leaf(part) {
                Some(Leaf::Value(value) | Leaf::Start(value)) => {
                    query.defining_block(value).is_none_or(is_own)
                }
                _ => expressions.header(part).is_some_and(is_own),
            }
        }),
    };
    let mut terms = polynomials.iter().flat_map(|polynomial| polynomial.terms());
    !terms.any(|(product, _)| product.iter().any(changes))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Holds the answer against all iterations near by.
    #[test]
    fn numbers_decide_as_trying_all_iterations_does() {
        for step in -9..=9i128 {
            for gap in -20..=20i128 {
                for (bytes, other) in [(1, 1), (4, 4), (2, 8), (8, 4)] {
                    let meets = |iterations: i128| {
                        let first = 0..bytes;
                        let start = step * iterations + gap;
                        (start..start + other).any(|byte| first.contains(&byte))
                    };
                    let all: Vec<i128> = (-100..=100)
                        .filter(|&iterations| iterations != 0 && meets(iterations))
                        .collect();
                    let expected = match all[..] {
                        [] => Dependence::Independent,
                        [one] => Dependence::Distance(one as i64),
                        _ => Dependence::Unknown,
                    };
                    let found = by_numbers(step, gap, bytes, other);
                    assert_eq!(found, expected, "{step} {gap} {bytes} {other}");
                }
            }
        }
    }
}
