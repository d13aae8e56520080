//! Nests of two loops whose order can be changed.
//!
//! ## Example
//! `for (i…) for (j…) a[j * 64 + i] = b[j * 64 + i]`, with counts that are known: no iteration accesses what another one does, so `j` may be the
//! outer loop. `a[j * 64 + i] = a[(j + 1) * 64 + i - 1]` must stay: iteration `(i, j)` writes what `(i + 1, j - 1)` reads.
//!
//! ## Soundness
//! Each thread executes the same iterations in another order. That is the same if no iteration gives another anything but counters and memory, if nothing
//! behind the nest uses what it computes, and if no two iterations that change places access the same bytes, one of them writing:
//! those of which one loop is further and the other less far. Offsets from one base differ by known numbers, and all distances that
//! counts allow are tried. Different pointers are supposed not to overlap, and said ([`Interchange::apart`]). There are no barriers, atomics,
//! calls or volatile accesses in the nest, so other threads cannot count on an order.

use super::dependence::is_invariant;
use super::{Factor, Polynomial, Subscripts};
use crate::control_flow::ControlFlow;
use crate::loops::{Loop, Loops};
use crate::scalar_evolution::{Expression, Kind, Query};
use oriole_ir::{AccessKind, Block, Function, Instruction, Use, Value};
use oriole_isa::{Flag, Space, Terminator};

/// A nest of two loops that can be exchanged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interchange {
    /// The headers: the outer one first.
    pub headers: [Block; 2],
    /// How often the loops run.
    pub trips: [u64; 2],
    /// What accesses are apart from one iteration to the next, in bytes, by their number among those given: of both loops.
    pub steps: Vec<[i64; 2]>,
    /// Bases that must not overlap for it.
    pub apart: Vec<[Expression; 2]>,
}

/// An access of the inner loop.
#[derive(Clone, Copy, Debug)]
pub struct NestAccess<'a> {
    /// The instruction.
    pub instruction: Instruction,
    /// What it does.
    pub kind: AccessKind,
    /// Where.
    pub space: Space,
    /// Bytes of a thread.
    pub bytes: u32,
    /// The array, if it is known.
    pub subscripts: Option<&'a Subscripts>,
}

/// Loops that run more often are left alone.
const MOST_TRIPS: u64 = 1 << 12;

/// Nests with more accesses are left alone.
const MOST_ACCESSES: usize = 32;

/// The nest of an innermost loop, given all accesses of it, if it can be exchanged with the loop around it.
pub fn interchange(
    function: &Function,
    flow: &ControlFlow,
    loops: &Loops,
    query: &mut Query<'_>,
    inner: Loop,
    accesses: &[NestAccess<'_>],
) -> Option<Interchange> {
    let outer = loops.parent(inner)?;
    let headers = [loops.header(outer), loops.header(inner)];
    if accesses.is_empty() || accesses.len() > MOST_ACCESSES {
        return None;
    }
    let mut trips = [0; 2];
    for (count, header) in trips.iter_mut().zip(headers) {
        let taken = query.backedge_taken(header)?;
        let exact = query.expressions().as_constant(taken.exact)?;
        *count = exact.checked_add(1)?;
        if taken.exits.len() != 1 || *count > MOST_TRIPS {
            return None;
        }
    }
    let nest = Nest {
        function,
        flow,
        loops,
        outer,
        inner,
    };
    if !nest.has_only(accesses) || !nest.is_closed() || !nest.has_only_counters(query, headers) {
        return None;
    }
    let mut steps = Vec::new();
    let mut rests = Vec::new();
    for access in accesses {
        let subscripts = access.subscripts?;
        let (rest, inner) = subscripts
            .offset
            .as_ref()?
            .split(Factor::Counter(headers[1]))?;
        let (rest, outer) = rest.split(Factor::Counter(headers[0]))?;
        if !is_invariant(query, headers[0], &[&rest]) {
            return None;
        }
        let number = |own: &Polynomial| i64::try_from(own.as_constant()?).ok();
        steps.push([number(&outer)?, number(&inner)?]);
        rests.push(rest);
    }
    let mut apart = Vec::new();
    for (index, one) in accesses.iter().enumerate() {
        for (other, two) in accesses.iter().enumerate().skip(index) {
            let writes = |own: &NestAccess<'_>| own.kind != AccessKind::Load;
            if !(writes(one) || writes(two)) || !may_meet(function, one, two) {
                continue;
            }
            let arrays = [one.subscripts?, two.subscripts?];
            let bases = arrays.map(|own| own.base);
            if bases[0] != bases[1] {
                if arrays.iter().all(|own| own.starts_at_launch) {
                    return None;
                }
                let kind = |base| query.expressions().kind(base);
                let are_variables = bases.iter().all(|&base| kind(base) == Kind::Symbol);
                if !are_variables && !apart.contains(&bases) {
                    apart.push(bases);
                }
                continue;
            }
            let gap = rests[other].subtract(&rests[index])?.as_constant()?;
            let pair = Pair {
                steps: steps[index],
                gap: i64::try_from(gap).ok()?,
                bytes: [one.bytes.into(), two.bytes.into()],
            };
            if steps[index] != steps[other] || pair.is_reversed(trips) {
                return None;
            }
        }
    }
    Some(Interchange {
        headers,
        trips,
        steps,
        apart,
    })
}

/// Whether two accesses may be of one memory that changes.
fn may_meet(function: &Function, one: &NestAccess<'_>, two: &NestAccess<'_>) -> bool {
    // Nobody writes what is loaded so.
    let is_constant = |own: &NestAccess<'_>| {
        function
            .format(own.instruction)
            .mnemonic
            .has(Flag::NonCoherent)
    };
    let is_other =
        one.space != two.space && one.space != Space::Generic && two.space != Space::Generic;
    !is_constant(one) && !is_constant(two) && !is_other
}

/// Two accesses whose addresses are `steps * counters`, and `steps * counters + gap`.
struct Pair {
    steps: [i64; 2],
    gap: i64,
    bytes: [i64; 2],
}

impl Pair {
    /// Whether bytes meet in two iterations of which one is further in one loop and less far in the other.
    fn is_reversed(&self, trips: [u64; 2]) -> bool {
        let [outer, inner] = trips.map(|count| count as i128 - 1);
        let [step_out, step_in] = self.steps.map(i128::from);
        let [first, second] = self.bytes.map(i128::from);
        let meets = |out: i128, own: i128| {
            let apart = step_out * out + own;
            apart > -second && apart < first
        };
        for by in (-inner..=inner).filter(|&by| by != 0) {
            let own = step_in * by + i128::from(self.gap);
            // Iterations of the outer loop that go the other way.
            let (low, high) = if by > 0 { (-outer, -1) } else { (1, outer) };
            if low > high {
                continue;
            }
            if step_out == 0 {
                if meets(0, own) {
                    return true;
                }
                continue;
            }
            let nearest = -own / step_out;
            let reach = (first + second) / step_out.abs() + 2;
            let (from, to) = ((nearest - reach).max(low), (nearest + reach).min(high));
            if (from..=to).any(|out| meets(out, own)) {
                return true;
            }
        }
        false
    }
}

struct Nest<'a> {
    function: &'a Function,
    flow: &'a ControlFlow,
    loops: &'a Loops,
    outer: Loop,
    inner: Loop,
}

impl Nest<'_> {
    fn blocks(&self) -> impl Iterator<Item = Block> + '_ {
        let blocks = self.flow.reverse_postorder().iter().copied();
        blocks.filter(|&block| self.loops.contains(self.outer, block))
    }

    /// Whether there are no other loops, and nothing but these accesses, all in the inner loop, does more than compute.
    fn has_only(&self, accesses: &[NestAccess<'_>]) -> bool {
        let is_fine = |block: Block, instruction: Instruction| {
            let format = self.function.format(instruction);
            let is_branch = matches!(
                format.effects.terminator,
                Terminator::Branch | Terminator::None
            );
            if format.opaque || format.effects.convergent || !is_branch {
                return false;
            }
            if format.effects.terminator == Terminator::Branch || format.is_pure() {
                return true;
            }
            let access = self.function.access(instruction);
            let is_plain =
                access.is_some_and(|own| own.is_weak() && own.kind != AccessKind::Atomic);
            let is_given = accesses.iter().any(|own| own.instruction == instruction);
            is_plain && is_given && self.loops.contains(self.inner, block)
        };
        self.blocks().all(|block| {
            let around = self.loops.innermost(block);
            let is_own = around == Some(self.outer) || around == Some(self.inner);
            let mut instructions = self.function.instructions_of(block);
            is_own && instructions.all(|instruction| is_fine(block, instruction))
        })
    }

    /// Whether nothing outside uses what the nest computes.
    fn is_closed(&self) -> bool {
        let is_inside = |block: Option<Block>| {
            block.is_some_and(|block| self.loops.contains(self.outer, block))
        };
        let is_used_inside = |value: Value| {
            self.function.uses_of(value).all(|user| match user {
                Use::Instruction(user) => is_inside(self.function.block_of(user)),
                Use::Edge(block) => self.function.edges(block).iter().all(|edge| {
                    let is_given = self.function.arguments(*edge).contains(&value);
                    !is_given || is_inside(Some(edge.target))
                }),
            })
        };
        self.blocks().all(|block| {
            let data = &self.function.blocks()[block];
            let instructions = self.function.instructions_of(block);
            let mut results = instructions.flat_map(|own| self.function.results(own));
            data.parameters.iter().all(|&own| is_used_inside(own)) && results.all(is_used_inside)
        })
    }

    /// Whether headers carry nothing from iteration to iteration but numbers that each adds the same to.
    fn has_only_counters(&self, query: &mut Query<'_>, headers: [Block; 2]) -> bool {
        headers.into_iter().all(|header| {
            let parameters = self.function.blocks()[header].parameters.clone();
            parameters.into_iter().all(|parameter| {
                let is_number = !self.function.values()[parameter].scalar_type.is_float();
                is_number && {
                    let expression = query.expression(parameter);
                    let affine = query.expressions().as_affine(expression);
                    affine.is_some_and(|(own, _, step)| {
                        own == header && query.expressions().as_constant(step).is_some()
                    })
                }
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Holds the answer against all pairs of iterations.
    #[test]
    fn distances_are_those_of_all_pairs_of_iterations() {
        let trips = [3u64, 4];
        for step_out in [-8, -4, 0, 2, 4, 16] {
            for step_in in [-12, -4, 0, 4, 6, 12] {
                for gap in -20..=20 {
                    for bytes in [[4, 4], [1, 8], [2, 4]] {
                        let pair = Pair {
                            steps: [step_out, step_in],
                            gap,
                            bytes,
                        };
                        let mut expected = false;
                        for (o, i) in all(trips) {
                            for (p, j) in all(trips) {
                                let apart = step_out * (p - o) + step_in * (j - i) + gap;
                                let meets = apart > -bytes[1] && apart < bytes[0];
                                expected |= meets && (p - o) * (j - i) < 0;
                            }
                        }
                        let found = pair.is_reversed(trips);
                        assert_eq!(found, expected, "{step_out} {step_in} {gap} {bytes:?}");
                    }
                }
            }
        }
    }

    fn all([outer, inner]: [u64; 2]) -> impl Iterator<Item = (i64, i64)> {
        let inner = move |out: u64| (0..inner).map(move |own| (out as i64, own as i64));
        (0..outer).flat_map(inner)
    }
}
