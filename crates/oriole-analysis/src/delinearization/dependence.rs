//! Whether an iteration of a loop accesses what another one does.
//!
//! ## Soundness
//! Both accesses are of one thread, with one iteration of every loop around. Their offsets from one base differ by a number for each
//! iteration between them and a rest: if that number and the rest are known, whether bytes meet is decided by arithmetic. Distinct
//! variables do not meet, unless both are `.extern .shared`: those start at one address. A step that is unknown may be zero, or less than an
//! access is wide, and then neighbouring iterations meet too: its range proves that it is not, or the claim assumes it and says so. Everything else is unknown. Nothing assumes that sums do not wrap: an extension without a proof is a leaf.

use super::{Factor, Polynomial, Subscripts};
use crate::scalar_evolution::{Kind, Leaf, Query};
use oriole_ir::Block;

/// How two accesses of a loop's iterations are related.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dependence {
    /// No iteration accesses what another one does.
    Independent,
    /// What the first accesses is accessed by the second so many iterations later; if negative, earlier.
    Distance {
        /// The number of iterations.
        iterations: i64,
        /// The step of the loop is assumed to have that many bytes at least, up or down; nothing if that is proved.
        least_step: Option<u32>,
    },
    /// All that can be told.
    Unknown,
}

impl Dependence {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Dependence::Independent => "independent",
            Dependence::Distance { .. } => "distance",
            Dependence::Unknown => "unknown",
        }
    }
}

impl std::fmt::Display for Dependence {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match *self {
            Dependence::Distance {
                iterations,
                least_step,
            } => {
                write!(formatter, "distance {iterations}")?;
                match least_step {
                    None => Ok(()),
                    Some(bytes) => write!(formatter, ", if a step has at least {bytes} bytes"),
                }
            }
            _ => formatter.write_str(self.name()),
        }
    }
}

/// How two accesses, of so many bytes each, in a loop are related from iteration to iteration.
pub fn dependence(
    query: &mut Query<'_>,
    header: Block,
    first: (&Subscripts, u32),
    second: (&Subscripts, u32),
) -> Dependence {
    let (one, two) = (first.0, second.0);
    if one.base != two.base {
        let is_variable = |own: &Subscripts| query.expressions().kind(own.base) == Kind::Symbol;
        let may_overlap = one.starts_at_launch && two.starts_at_launch;
        return match is_variable(one) && is_variable(two) && !may_overlap {
            true => Dependence::Independent,
            false => Dependence::Unknown,
        };
    }
    decided(query, header, first, second).unwrap_or(Dependence::Unknown)
}

fn decided(
    query: &mut Query<'_>,
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
    if !is_whole || iterations == 0 {
        return None;
    }
    let widest = bytes.max(other_bytes);
    let bits = query.expressions().bits(one.base);
    let is_wide = is_at_least(query, &step, widest, bits);
    Some(Dependence::Distance {
        iterations,
        least_step: (!is_wide).then_some(widest),
    })
}

/// Whether ranges show that a polynomial of so many bits is at least a number, up or down, and does not wrap.
fn is_at_least(query: &mut Query<'_>, polynomial: &Polynomial, least: u32, bits: u32) -> bool {
    let Some((low, high)) = range(query, polynomial) else {
        return false;
    };
    let (least, limit) = (i128::from(least), 1i128 << (bits - 1));
    (low >= least || high <= -least) && low >= -limit && high < limit
}

/// The lowest and highest number that a polynomial is; nothing if they are too large.
fn range(query: &mut Query<'_>, polynomial: &Polynomial) -> Option<(i128, i128)> {
    let (mut low, mut high) = (0i128, 0i128);
    for (product, coefficient) in polynomial.terms() {
        let mut own = (coefficient, coefficient);
        for &factor in product {
            let (least, most) = match factor {
                Factor::Leaf(leaf) => {
                    let range = query.range(leaf).signed;
                    (range.low.into(), range.high.into())
                }
                Factor::Counter(header) => {
                    let most = query.backedge_taken(header)?.maximum?;
                    (0, i128::from(most))
                }
            };
            let corners = [
                own.0.checked_mul(least)?,
                own.0.checked_mul(most)?,
                own.1.checked_mul(least)?,
                own.1.checked_mul(most)?,
            ];
            own = (*corners.iter().min()?, *corners.iter().max()?);
        }
        (low, high) = (low.checked_add(own.0)?, high.checked_add(own.1)?);
    }
    Some((low, high))
}

/// A distance that assumes nothing.
fn at(iterations: i64) -> Dependence {
    Dependence::Distance {
        iterations,
        least_step: None,
    }
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
        (&[one], false) => i64::try_from(one).map_or(Dependence::Unknown, at),
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
                        [one] => at(one as i64),
                        _ => Dependence::Unknown,
                    };
                    let found = by_numbers(step, gap, bytes, other);
                    assert_eq!(found, expected, "{step} {gap} {bytes} {other}");
                }
            }
        }
    }
}
