//! Which loops `ptxas` is going to unroll, and how often.
//!
//! ## Method
//! A rule that was found by compiling generated loops with `ptxas` 13.0.88. A loop costs its instructions without dead ones and
//! copies; loads from global memory count twice, atomics eleven times, `ex2` six times. Only innermost loops are unrolled, and none
//! with `.pragma "nounroll"`, a call, a counter whose step is not a number, a barrier in a body of several blocks, or a negated guard on
//! the branch that leaves the loop or stays in it.
//! Where the trip count is not a number, four copies are made of loops that cost at most 50 with a global load, 26 without. Where it
//! is `t`, and the loop costs `c` beside its counter, all copies are made if `t·c²/(c + 32) ≤ 350`; else some of loops of one
//! block that cost at most 75.
//!
//! ## Not done
//! Loops of constants without loads, of which `ptxas` unrolls some with a thousand iterations; functions of very
//! many loops or blocks.

use crate::scalar_evolution::{Kind, ScalarEvolution};
use crate::{Analyses, ControlFlow, Loop, Loops};
use oriole_ir::{Block, Function, Instruction};
use oriole_isa::{Opcode, Space};
use oriole_syntax::tree::Guard;

/// Loops that cost more are never unrolled.
const MOST_COST: u32 = 400;
/// Counts of loops depend on each other, so functions with more loops, or more blocks, are taken as they are.
const MOST_LOOPS: usize = 256;
const MOST_BLOCKS: usize = 4096;
/// What the counter's own instructions cost.
const COUNTER: u32 = 4;
/// The size that unrolled loops are held to.
const BUDGET: u64 = 350;

/// What an instruction costs by the rule above.
fn cost(function: &Function, instruction: Instruction) -> u32 {
    let mnemonic = &function.format(instruction).mnemonic;
    match mnemonic.opcode() {
        Opcode::Ld if is_global(mnemonic.space()) => 2,
        Opcode::Atom => 11,
        Opcode::Ex2 => 6,
        _ => 1,
    }
}

fn is_global(space: Option<Space>) -> bool {
    matches!(space, Some(Space::Global | Space::Generic) | None)
}

/// How many copies of each loop's body there will be, by the loop's index. `is_idle` says which instructions are dead, or copies.
pub fn copies(
    function: &Function,
    is_idle: impl Fn(Instruction) -> bool,
    analyses: &mut Analyses,
) -> Vec<u32> {
    let flow = analyses.get::<ControlFlow>(function);
    let loops = analyses.get::<Loops>(function);
    let count = loops.iter().count();
    let mut copies = vec![1; count];
    let blocks = flow.reverse_postorder().len();
    if count == 0 || count > MOST_LOOPS || blocks > MOST_BLOCKS {
        return copies;
    }
    let mut bodies: Vec<Vec<Block>> = vec![Vec::new(); count];
    let mut is_outer = vec![false; count];
    for &block in flow.reverse_postorder() {
        if let Some(this) = loops.innermost(block) {
            bodies[this.index()].push(block);
        }
    }
    for parent in loops.iter().filter_map(|this| loops.parent(this)) {
        is_outer[parent.index()] = true;
    }
    let mut candidates: Vec<(Loop, u32, bool)> = Vec::new();
    for this in loops.iter().filter(|this| !is_outer[this.index()]) {
        let body = &bodies[this.index()];
        if function.blocks()[loops.header(this)].nounroll {
            continue;
        }
        if let Some((cost, loads)) = cost_of(function, &is_idle, body) {
            candidates.push((this, cost, loads));
        }
    }
    if candidates.is_empty() {
        return copies;
    }
    let is_negated = |block: Block, this: Loop| {
        let branch = function.last_instruction(block);
        let guard = branch.map(|branch| function.format(branch).guard);
        let mut edges = function.edges(block).iter();
        guard == Some(Guard::IfNot) && edges.any(|edge| !loops.contains(this, edge.target))
    };
    candidates.retain(|&(this, ..)| {
        let mut body = bodies[this.index()].iter();
        !body.any(|&block| is_negated(block, this))
    });
    let evolution = analyses.get::<ScalarEvolution>(function);
    let mut query = evolution.on(function);
    // The count of a loop needs those of the loops before it: the last first finds all at once.
    for (this, cost, loads) in candidates.into_iter().rev() {
        let header = loops.header(this);
        let Some(taken) = query.backedge_taken(header) else {
            continue;
        };
        let is_one_block = bodies[this.index()].len() == 1;
        if let Some(trips) = query.expressions().as_constant(taken.exact) {
            copies[this.index()] = of_known(trips.saturating_add(1), cost, is_one_block);
            continue;
        }
        let is_counted = taken.exits.len() == 1
            && (query.expressions().kind(taken.exact) != Kind::CouldNotCompute
                || query
                    .exit_count_of(header, taken.exits[0])
                    .is_some_and(|exit| exit.predicated.is_some()));
        if is_counted && cost <= if loads { 50 } else { 26 } {
            copies[this.index()] = 4;
        }
    }
    copies
}

/// Copies of a loop with a known trip count.
fn of_known(trips: u64, cost: u32, is_one_block: bool) -> u32 {
    let own = u64::from(cost.saturating_sub(COUNTER).max(1));
    let fits = trips.saturating_mul(own * own) / (own + 32) <= BUDGET;
    if fits {
        return trips.min(u64::from(u32::MAX)) as u32;
    }
    if !is_one_block || own > 75 {
        return 1;
    }
    let most = BUDGET / own;
    (1..=most)
        .rev()
        .find(|&factor| factor + trips % factor <= most)
        .unwrap_or(1) as u32
}

/// What a loop costs and whether it loads from global memory; nothing if it is not unrolled whatever its counter.
fn cost_of(
    function: &Function,
    is_idle: impl Fn(Instruction) -> bool,
    body: &[Block],
) -> Option<(u32, bool)> {
    let mut sum = 0;
    let mut loads = false;
    for &block in body {
        for instruction in function.instructions_of(block) {
            let format = function.format(instruction);
            let waits = format.effects.ordering.orders_memory()
                && !matches!(format.mnemonic.opcode(), Opcode::Atom | Opcode::Red);
            if format.effects.is_call || waits && body.len() > 1 {
                return None;
            }
            loads |= format.mnemonic.opcode() == Opcode::Ld && is_global(format.mnemonic.space());
            if !is_idle(instruction) {
                sum += cost(function, instruction);
            }
            if sum > MOST_COST {
                return None;
            }
        }
    }
    Some((sum, loads))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_trip_counts_give_all_copies_some_or_one() {
        assert_eq!(of_known(8, 12, true), 8);
        assert_eq!(of_known(1000, 12, false), 1);
        // 43 copies would do, but those that are left over count as well: 1000 = 25 · 40.
        assert_eq!(of_known(1000, 12, true), 40);
        assert_eq!(of_known(1000, 90, true), 1);
    }
}
