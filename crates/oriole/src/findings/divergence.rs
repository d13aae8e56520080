//! Branches that take the lanes of a warp different ways: in loops, out of loops, and around barriers.
//!
//! ## Method
//! A branch is judged by its condition, in the first warp of a block. A comparison whose sides are both lane patterns with something
//! unknown that is the same in all lanes (`i < n`) divides at most the warp at the boundary, and is not spoken of. What is left
//! is conditions that are known in each lane and differ, and those that are computed from what lanes loaded or from
//! the lane by other arithmetic.

use super::roots::definition;
use super::{Facts, FindingKind, Found, Impact, Subject};
use oriole_analysis::lane_patterns::{Entry, LANES, LanePatterns};
use oriole_analysis::{Analyses, Loop};
use oriole_collections::BitSet;
use oriole_ir::{Block, Instruction, Operand, Value};
use oriole_isa::{Opcode, ScalarType, Terminator};
use std::collections::BTreeSet;

/// How a branch divides the lanes of a warp.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    /// It does not, or nobody knows.
    Together,
    /// At a boundary. Lanes are up to so far from each other on the way there.
    Boundary(u64),
    /// `taken` of the `arriving` active lanes take it; the rest fall through.
    Lanes { taken: u32, arriving: u32 },
    /// By something that each lane computes.
    Computed { is_data: bool },
}

/// Branches that may divide lanes, with how.
type Branches = Vec<(Block, Instruction, Verdict)>;

pub(super) fn find(subject: &Subject<'_>, analyses: &mut Analyses, found: &mut Vec<Found>) {
    let function = subject.function;
    let barriers = barriers(subject);
    let mut conditional = Vec::new();
    for &block in function.block_order() {
        if !subject.flow.is_reachable(block) || !subject.uniform.is_divergent_branch(block) {
            continue;
        }
        // Others are not spoken of.
        if barriers.is_empty() && subject.loops.innermost(block).is_none() {
            continue;
        }
        let Some(last) = function.last_instruction(block) else {
            continue;
        };
        let is_branch = function.format(last).effects.terminator == Terminator::Branch;
        if let Some(Operand::Value(predicate)) = function.guard(last).filter(|_| is_branch) {
            conditional.push((block, last, predicate));
        }
    }
    if conditional.is_empty() {
        return;
    }
    let branches: Branches = subject.ask(analyses, |patterns| {
        let judged = conditional.iter().map(|&(block, last, predicate)| {
            let verdict = judge(subject, patterns, block, predicate);
            (block, last, verdict)
        });
        judged.collect()
    });
    let mut spoken: BTreeSet<usize> = BTreeSet::new();
    for &(block, last, verdict) in &branches {
        let Some(this) = subject.loops.innermost(block) else {
            continue;
        };
        let mut ways = subject.flow.successors(block);
        match ways.all(|way| subject.loops.contains(this, way)) {
            true => inside(subject, block, last, verdict, found),
            // Once for each loop, however many exits it has.
            false if spoken.contains(&this.index()) => {}
            false => {
                let before = found.len();
                leaving(subject, this, block, last, verdict, found);
                if found.len() > before {
                    spoken.insert(this.index());
                }
            }
        }
    }
    divergent_barriers(subject, &barriers, &branches, found);
}

fn judge(
    subject: &Subject<'_>,
    patterns: &mut LanePatterns<'_>,
    block: Block,
    predicate: Value,
) -> Verdict {
    let function = subject.function;
    // An instruction without a guard says which lanes come to the block.
    let mut instructions = function.instructions_of(block);
    let plain = instructions.find(|&own| function.guard(own).is_none());
    let arriving = |patterns: &mut LanePatterns<'_>| match plain {
        Some(plain) => patterns.executing(plain).lanes,
        None => patterns.lanes(),
    };
    let mut verdict = Verdict::Together;
    let mut stack = vec![predicate];
    let mut visited = 0;
    while let Some(value) = stack.pop() {
        visited += 1;
        if visited > MOST_CONDITIONS || subject.uniform.is_uniform(value) {
            continue;
        }
        if let Entry::Known(pattern) = patterns.entry(value, block) {
            if pattern.is_concrete() && pattern.assumed.is_empty() && value == predicate {
                let set = (0..LANES).filter(|&lane| pattern.lanes.get(lane) & 1 != 0);
                let lanes: u32 = set.fold(0, |lanes, lane| lanes | 1 << lane);
                let arriving = arriving(patterns);
                let taken = lanes & arriving;
                if taken != 0 && taken != arriving {
                    return Verdict::Lanes {
                        taken: taken.count_ones(),
                        arriving: arriving.count_ones(),
                    };
                }
            }
            continue;
        }
        let made = definition(function, value);
        let opcode = made.map(|made| function.format(made).mnemonic.opcode());
        let own = match (made, opcode) {
            (Some(made), Some(Opcode::And | Opcode::Or | Opcode::Xor | Opcode::Not)) => {
                stack.extend(function.uses(made));
                Verdict::Together
            }
            (Some(made), Some(Opcode::Setp)) => {
                let is_predicate =
                    |&own: &Value| function.values()[own].scalar_type == ScalarType::Pred;
                stack.extend(function.uses(made).filter(is_predicate));
                let sides: Vec<Value> = function
                    .uses(made)
                    .filter(|own| !is_predicate(own))
                    .collect();
                compared(subject, patterns, block, &sides)
            }
            _ => computed(subject, value),
        };
        verdict = worse(verdict, own);
    }
    verdict
}

/// Conditions joined into one that are looked at.
const MOST_CONDITIONS: usize = 16;

fn worse(left: Verdict, right: Verdict) -> Verdict {
    let rank = |verdict| match verdict {
        Verdict::Together => 0,
        Verdict::Boundary(apart) => 1 + apart.min(1 << 40),
        Verdict::Lanes { .. } => u64::MAX - 2,
        Verdict::Computed { is_data } => u64::MAX - 1 + u64::from(is_data),
    };
    match rank(left) >= rank(right) {
        true => left,
        false => right,
    }
}

fn computed(subject: &Subject<'_>, value: Value) -> Verdict {
    let origin = subject.origins().get(value);
    match origin.differs_widely() {
        true => Verdict::Computed {
            is_data: origin.is_data(),
        },
        false => Verdict::Together,
    }
}

/// How a comparison of these values divides lanes.
fn compared(
    subject: &Subject<'_>,
    patterns: &mut LanePatterns<'_>,
    block: Block,
    sides: &[Value],
) -> Verdict {
    let mut apart = 0;
    for &side in sides {
        match patterns.entry(side, block) {
            Entry::Known(pattern) if pattern.has_one_group() => {
                let numbers: Vec<u64> = (0..LANES).map(|lane| pattern.lanes.get(lane)).collect();
                let bits = pattern.bits;
                let from =
                    |lane: &u64| oriole_analysis::sign_extend(lane.wrapping_sub(numbers[0]), bits);
                let offsets: Vec<i64> = numbers.iter().map(from).collect();
                let least = offsets.iter().copied().min().unwrap_or(0);
                let most = offsets.iter().copied().max().unwrap_or(0);
                apart += most.abs_diff(least);
            }
            Entry::Known(_) => {}
            Entry::Varying(_) => return computed(subject, side),
        }
    }
    Verdict::Boundary(apart)
}

/// Instructions of an arm that make a branch worth speaking of.
const LONG_ARM: usize = 10;
/// Likewise if there is no other arm.
const LONG_ONLY_ARM: usize = 24;
/// Blocks beyond this are not counted.
const MOST_BLOCKS: usize = 64;

fn inside(
    subject: &Subject<'_>,
    block: Block,
    last: Instruction,
    verdict: Verdict,
    found: &mut Vec<Found>,
) {
    let Some(join) = subject.post_dominators.immediate(block) else {
        return;
    };
    let ways: Vec<Block> = subject.flow.successors(block).collect();
    let &[one, other] = &ways[..] else {
        return;
    };
    let (one, other) = (between(subject, one, join), between(subject, other, join));
    // What both ways have in common is executed once, if lanes meet there.
    let count = |own: &[Block], others: &[Block]| {
        let own = own.iter().filter(|block| !others.contains(block));
        own.map(|&block| subject.function.instructions_of(block).count())
            .sum::<usize>()
    };
    let (one, other) = (count(&one, &other), count(&other, &one));
    let (shorter, longer) = (one.min(other), one.max(other));
    let trips = subject.executions(block);
    let (impact, what, why, wasted) = match verdict {
        Verdict::Lanes { taken, arriving } if shorter >= LONG_ARM => (
            Impact::Usual,
            format!("the warp executes both sides, {shorter} and {longer} instructions"),
            format!("{taken} of {arriving} active lanes take this branch"),
            shorter,
        ),
        Verdict::Lanes { taken, arriving } if longer >= LONG_ONLY_ARM && 2 * taken == arriving => (
            Impact::Minor,
            format!("half of the lanes are idle for {longer} instructions"),
            format!("{taken} of {arriving} active lanes take this branch"),
            longer / 2,
        ),
        Verdict::Computed { is_data } if shorter >= LONG_ARM => (
            Impact::Minor,
            format!("a divergent warp executes both sides, {shorter} and {longer} instructions"),
            format!("the condition depends on {}", by(is_data)),
            shorter / 2,
        ),
        _ => return,
    };
    found.push(Found {
        kind: FindingKind::DivergentBranch,
        impact,
        instruction: last,
        what,
        why,
        facts: Facts {
            count: Some(wasted as u32),
            ..Facts::default()
        },
        weight: wasted as f64 * trips,
    });
}

fn by(is_data: bool) -> &'static str {
    match is_data {
        true => "loaded data",
        false => "the lane id",
    }
}

/// The blocks between a block and one that all ways from it come to; some of them if they are many.
fn between(subject: &Subject<'_>, from: Block, to: Block) -> Vec<Block> {
    let mut found = Vec::new();
    let mut seen: BTreeSet<Block> = BTreeSet::from([to]);
    let mut stack = vec![from];
    while let Some(block) = stack.pop() {
        if found.len() < MOST_BLOCKS && seen.insert(block) {
            found.push(block);
            stack.extend(subject.flow.successors(block));
        }
    }
    found
}

/// Iterations by which lanes must differ. What blocks look like may not be known, and loops whose step is that of a small block differ by
/// none.
const LEAST_MORE: u64 = 8;

/// Lanes that leave a loop at different times.
fn leaving(
    subject: &Subject<'_>,
    this: Loop,
    block: Block,
    last: Instruction,
    verdict: Verdict,
    found: &mut Vec<Found>,
) {
    let reason = match verdict {
        Verdict::Computed { is_data } => format!("the trip count depends on {}", by(is_data)),
        Verdict::Boundary(apart) if apart > 0 => {
            let Some(step) = step(subject, this, last) else {
                return;
            };
            let more = apart / step.max(1);
            if more < LEAST_MORE {
                return;
            }
            format!("trip counts of lanes differ by up to {more}")
        }
        _ => return,
    };
    let header = subject.loops.header(this);
    let mut body = vec![block];
    if header != block {
        body.extend(between(subject, header, block));
    }
    let body: usize = body
        .iter()
        .filter(|&&own| subject.loops.contains(this, own))
        .map(|&own| subject.function.instructions_of(own).count())
        .sum();
    found.push(Found {
        kind: FindingKind::LaneDependentLoop,
        impact: Impact::Usual,
        instruction: last,
        what: "lanes of a warp leave this loop at different iterations".to_owned(),
        why: format!("{reason}: a warp iterates until its last lane is done"),
        facts: Facts {
            reason: Some(reason),
            ..Facts::default()
        },
        weight: body as f64 * subject.executions(block) / 2.0,
    });
}

/// By how much the comparison that a loop is left by moves in an iteration, if that is a number.
fn step(subject: &Subject<'_>, this: Loop, last: Instruction) -> Option<u64> {
    let function = subject.function;
    let predicate = function.guard(last)?.value()?;
    let comparison = definition(function, predicate)?;
    if function.format(comparison).mnemonic.opcode() != Opcode::Setp {
        return None;
    }
    let mut query = subject.evolution.on(function);
    let mut steps = Vec::new();
    for side in function.uses(comparison) {
        if function.values()[side].scalar_type.is_float() {
            return None;
        }
        let expression = query.expression(side);
        let Some((header, _, step)) = query.expressions().as_affine(expression) else {
            continue;
        };
        if header == subject.loops.header(this) {
            steps.push(query.expressions().as_signed(step)?);
        }
    }
    match steps[..] {
        [step] if step != 0 => Some(step.unsigned_abs()),
        _ => None,
    }
}

/// Whether an instruction waits for all threads of the block.
fn waits(subject: &Subject<'_>, instruction: Instruction) -> bool {
    let format = subject.function.format(instruction);
    let is_aligned = match format.mnemonic.opcode() {
        Opcode::BarSync => true,
        Opcode::BarrierSync => format.mnemonic.has_modifier("aligned"),
        _ => false,
    };
    // With a number of threads it waits for these.
    is_aligned && !format.opaque && format.operand_count == 1
}

/// All of them.
fn barriers(subject: &Subject<'_>) -> Vec<(Block, Instruction)> {
    let instructions = subject.instructions();
    let barriers = instructions.filter(|&(_, instruction)| waits(subject, instruction));
    barriers.collect()
}

/// Barriers that some lanes come to while others wait at another one, or at the same one in another iteration.
fn divergent_barriers(
    subject: &Subject<'_>,
    barriers: &[(Block, Instruction)],
    branches: &Branches,
    found: &mut Vec<Found>,
) {
    let function = subject.function;
    if barriers.is_empty() {
        return;
    }
    let mut reaches: BitSet<Block> = BitSet::with_domain(function.blocks().len());
    let mut stack: Vec<Block> = barriers.iter().map(|barrier| barrier.0).collect();
    while let Some(block) = stack.pop() {
        if reaches.insert(block) {
            stack.extend(subject.flow.predecessors(block));
        }
    }
    let dividing: Vec<(Block, Instruction)> = branches
        .iter()
        .filter(|branch| branch.2 != Verdict::Together && branch.2 != Verdict::Boundary(0))
        .map(|branch| (branch.0, branch.1))
        .collect();
    if dividing.len().saturating_mul(barriers.len()) > MOST_PAIRS {
        return;
    }
    for &(at, barrier) in barriers {
        for &(branch, last) in &dividing {
            let decides = |way: Block| subject.post_dominators.dominates(at, way);
            if subject.post_dominators.dominates(at, branch) {
                continue;
            }
            let ways: Vec<Block> = subject.flow.successors(branch).collect();
            let comes = ways.iter().any(|&way| decides(way));
            let misses = ways
                .iter()
                .any(|&way| !decides(way) && reaches.contains(way));
            if !comes || !misses {
                continue;
            }
            found.push(Found {
                kind: FindingKind::DivergentBarrier,
                impact: Impact::Wrong,
                instruction: barrier,
                what: "only some lanes reach this barrier".to_owned(),
                why: format!(
                    "the branch at {} diverges, and the other lanes wait at another barrier",
                    subject.at(last)
                ),
                facts: Facts::default(),
                weight: subject.executions(at),
            });
            break;
        }
    }
}

/// Pairs of barriers and branches that are looked at.
const MOST_PAIRS: usize = 100_000;
