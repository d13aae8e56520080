//! Costs of requests in loops that are followed round by round.
//!
//! ## Example
//! `for (s = 1; s < 256; s *= 2)` with an access at `2 * s * tid`: in each round `s` is a number, and so are the addresses. With an access at
//! `tid` behind `if (tid % (2 * s) == 0)` they are known anyway, but which lanes take part is known of a round only.
//!
//! ## Soundness
//! Rounds are followed from the first one on until all lanes leave the loop or numbers repeat: those are all there may be. A request costs
//! at least what it costs in the cheapest and at most what it costs in the dearest.

use super::cost::WarpCost;
use super::{Assumption, OfWarps, Request, RequestCost, Status, of_warp, summary};
use crate::dominators::{Dominators, PostDominators};
use crate::lane_patterns::{ANY_WARP, CauseKind, LanePatterns, Lanes, Setting};
use crate::loops::{Loop, Loops};
use crate::manager::Analyses;
use crate::scalar_evolution::ScalarEvolution;
use crate::uniformity::Uniformity;
use oriole_collections::SmallVec;
use oriole_ir::{Block, Definition, Function, Instruction, Operand, Value};
use std::collections::BTreeMap;
use std::rc::Rc;

/// So many rounds of a loop are followed, in so many loops around each other, and in all of a kernel.
const MOST_ROUNDS: usize = 40;
const MOST_LOOPS: usize = 3;
const MOST_QUESTIONS: usize = 1_200;

/// Follows the rounds of one nest of loops for one warp.
struct Rounds<'a, 'p> {
    function: &'a Function,
    patterns: &'p mut LanePatterns<'a>,
    dominators: Rc<Dominators>,
    warp: u32,
    /// From the outermost to the innermost.
    nest: Vec<Loop>,
    requests: Vec<Request>,
    /// The costs of the rounds so far, by request.
    costs: Vec<Vec<WarpCost>>,
    given: BTreeMap<Value, Lanes>,
    /// Whether lanes may have left a loop in an earlier round than others.
    has_left: bool,
    questions: usize,
}

impl Rounds<'_, '_> {
    /// Follows a loop of the nest and what is inside it; nothing if that is too much, or something is not known. Tells whether the round
    /// of the loop around is always executed.
    fn follow(&mut self, level: usize, is_certain: bool) -> Option<()> {
        let Some(&this) = self.nest.get(level) else {
            return self.count(None, is_certain);
        };
        let mut is_certain = is_certain;
        let mut numbers = self.start(this)?;
        if numbers.is_empty() {
            // Which rounds these are is not known.
            return self.follow(level + 1, false);
        }
        let parameters: Vec<Value> = numbers.iter().map(|own| own.0).collect();
        let has_left = self.has_left;
        let mut seen: Vec<Vec<(Value, Lanes)>> = Vec::new();
        while !seen.contains(&numbers) {
            if seen.len() == MOST_ROUNDS {
                return None;
            }
            seen.push(numbers.clone());
            self.given.extend(numbers.iter().cloned());
            let (ends, next, goes_round, leaves_apart) = self.ask(|patterns| {
                let ends = patterns.ends_at(this);
                let next = patterns.next_round(this, &parameters);
                let goes_round = ends.is_none() && patterns.goes_round(this);
                (ends, next, goes_round, patterns.may_have_left(this))
            })?;
            match (ends, level + 1 == self.nest.len()) {
                (Some(end), true) => self.count(Some(end), is_certain)?,
                (Some(end), false) => {
                    let inside = self.nest[level + 1..].first().copied();
                    let header = inside.map(|inside| self.patterns.header(inside));
                    // The inner loop is behind where lanes leave.
                    if header.is_none_or(|header| !self.is_behind(end, header)) {
                        self.follow(level + 1, is_certain)?;
                    }
                }
                (None, _) => self.follow(level + 1, is_certain)?,
            }
            is_certain &= goes_round;
            self.has_left |= leaves_apart;
            if ends.is_some() {
                break;
            }
            let next: Option<Vec<Lanes>> = next.into_iter().collect();
            numbers = parameters.iter().copied().zip(next?).collect();
        }
        for parameter in parameters {
            self.given.remove(&parameter);
        }
        self.has_left = has_left;
        Some(())
    }

    /// The parameters of a loop that are numbers in its first round and the second, with the numbers they are.
    fn start(&mut self, this: Loop) -> Option<Vec<(Value, Lanes)>> {
        let mut numbers = self.ask(|patterns| patterns.first_round(this))?;
        loop {
            let parameters: Vec<Value> = numbers.iter().map(|own| own.0).collect();
            self.given.extend(numbers.iter().cloned());
            let next = self.ask(|patterns| patterns.next_round(this, &parameters))?;
            for parameter in &parameters {
                self.given.remove(parameter);
            }
            let before = numbers.len();
            let mut next = next.into_iter();
            numbers.retain(|_| next.next().flatten().is_some());
            if numbers.len() == before {
                return Some(numbers);
            }
        }
    }

    fn is_behind(&self, end: Block, block: Block) -> bool {
        end != block && self.dominators.dominates(end, block)
    }

    fn ask<T>(&mut self, question: impl FnMut(&mut LanePatterns<'_>) -> T) -> Option<T> {
        self.questions = self.questions.checked_sub(1)?;
        self.patterns.give(self.given.clone());
        Some(self.patterns.ask(self.warp, question))
    }

    /// Counts the requests in this round, but those behind a block where all lanes leave.
    fn count(&mut self, end: Option<Block>, is_certain: bool) -> Option<()> {
        // Without numbers nothing is known of a round that is not known of all of them.
        if self.given.is_empty() {
            return None;
        }
        let (function, requests) = (self.function, self.requests.clone());
        let costs = self.ask(|patterns| {
            let cost = |request: &Request| {
                let mut cost = of_warp(function, patterns, request);
                let is_more = cost.cause.is_none() && cost.least as f64 > cost.ideal + 1e-9;
                cost.has_wasteful_round =
                    is_certain && is_more && patterns.is_made_in_round(request.instruction);
                cost
            };
            requests.iter().map(cost).collect::<Vec<WarpCost>>()
        })?;
        // If nothing is settled in one round, following others settles nothing.
        let is_settled = |own: &WarpCost| own.lanes == 0 || own.least == own.most;
        if !costs.iter().any(is_settled) {
            return None;
        }
        let more = self.patterns.assumed_of_loops().to_vec();
        for (index, mut cost) in costs.into_iter().enumerate() {
            let block = function.block_of(self.requests[index].instruction)?;
            if end.is_some_and(|end| self.is_behind(end, block)) {
                continue;
            }
            cost.assumed.extend_from_slice(&more);
            cost.is_supposed |= self.has_left;
            self.costs[index].push(cost);
        }
        Some(())
    }
}

/// Costs by request and warp, if all can be followed; those of one warp where all are alike.
fn by_warps(
    setting: &Setting,
    requests: usize,
    follow: &mut dyn FnMut(u32) -> Option<Vec<WarpCost>>,
) -> Option<Vec<OfWarps>> {
    let warps = setting.warps();
    let first = follow(0)?;
    if setting.has_like_warps()
        && let (Some(any), Some(last)) = (follow(ANY_WARP), follow(warps - 1))
    {
        let mut all = any.iter().zip(first.iter().zip(&last));
        let is_like = |any: &WarpCost, other: &WarpCost| any.cause.is_none() && any.is_like(other);
        if all.all(|(any, (first, last))| is_like(any, first) && is_like(any, last)) {
            let alike = first.into_iter().zip(any).map(|(mut own, any)| {
                own.strides = any.strides;
                own.stride_pointers = any.stride_pointers;
                OfWarps::alike(own, warps)
            });
            return Some(alike.collect());
        }
    }
    let mut of_warps: Vec<Vec<WarpCost>> = vec![Vec::new(); requests];
    for warp in 0..warps {
        for (own, cost) in of_warps.iter_mut().zip(follow(warp)?) {
            own.push(cost);
        }
    }
    Some(of_warps.into_iter().map(OfWarps::each).collect())
}

/// Whether lanes go apart in each round of a loop before they make a request.
struct DivergentGuards<'a> {
    function: &'a Function,
    loops: &'a Loops,
    dominators: &'a Dominators,
    post_dominators: &'a PostDominators,
    uniformity: &'a Uniformity,
}

/// So many blocks before a request are looked at, and so many operations that compute a condition.
const MOST_GUARDS: usize = 16;
const MOST_OPERATIONS: usize = 24;

impl DivergentGuards<'_> {
    /// Whether some lanes do not make a request in a round of a loop around it, by a condition that is computed in it: not one that ends the loop.
    fn take_lanes_out_of(&self, this: Loop, instruction: Instruction) -> bool {
        let Some(mut at) = self.function.block_of(instruction) else {
            return false;
        };
        if self.decides(this, instruction) {
            return true;
        }
        for _ in 0..MOST_GUARDS {
            let above = self.dominators.immediate(at);
            let Some(above) = above.filter(|&above| self.loops.contains(this, above)) else {
                return false;
            };
            let mut edges = self.function.edges(above).iter();
            if !self.post_dominators.dominates(at, above)
                && edges.all(|edge| self.loops.contains(this, edge.target))
                && let Some(branch) = self.function.last_instruction(above)
                && self.decides(this, branch)
            {
                return true;
            }
            at = above;
        }
        false
    }

    /// Whether an instruction is executed by some lanes only, in a round of a loop, by its guard.
    fn decides(&self, this: Loop, instruction: Instruction) -> bool {
        let Some(Operand::Value(predicate)) = self.function.guard(instruction) else {
            return false;
        };
        !self.uniformity.is_uniform(predicate) && self.is_number_of_round(this, predicate)
    }

    /// Whether a value may be a number in a round of a loop and another one in the next: it is computed of what the loop counts, and of
    /// nothing that is given to the kernel or read from memory.
    fn is_number_of_round(&self, this: Loop, value: Value) -> bool {
        let function = self.function;
        let mut is_counted = false;
        let mut waiting: SmallVec<[Value; 8]> = SmallVec::from_slice(&[value]);
        for _ in 0..MOST_OPERATIONS {
            let Some(value) = waiting.pop() else {
                return is_counted;
            };
            match function.values()[value].definition {
                Definition::Instruction(definer) => {
                    let format = function.format(definer);
                    if !format.is_pure() || format.opaque {
                        return false;
                    }
                    waiting.extend(function.uses(definer));
                }
                Definition::Parameter(block) => {
                    let around = self.loops.innermost(block);
                    if around.is_none_or(|own| self.loops.header(own) != block) {
                        return false;
                    }
                    is_counted |= around == Some(this);
                }
                Definition::Undefined => return false,
            }
        }
        false
    }
}

/// Whether other lanes make a request in some round than were supposed to.
fn has_other_lanes(supposed: &RequestCost, followed: &RequestCost) -> bool {
    let mut warps = supposed.warps.iter().zip(followed.warps.iter());
    warps.any(|(all, some)| {
        some.masks.is_empty() || some.masks.iter().any(|&mask| mask != all.lanes)
    })
}

/// Counts again what is not settled and in loops that can be followed round by round.
pub(super) fn settle<'a>(
    function: &'a Function,
    analyses: &mut Analyses,
    setting: &Setting,
    evolution: &'a ScalarEvolution,
    costs: &mut [RequestCost],
) {
    let loops = analyses.get::<Loops>(function);
    let dominators = analyses.get::<Dominators>(function);
    let guards = DivergentGuards {
        function,
        loops: &loops,
        dominators: &dominators,
        post_dominators: &analyses.get::<PostDominators>(function),
        uniformity: &analyses.get::<Uniformity>(function),
    };
    let innermost = |cost: &RequestCost| {
        let is_data = cost
            .cause
            .is_some_and(|cause| cause.kind == CauseKind::Data);
        // Where lanes are apart by known numbers, only the start of a sector is open, and rounds have different ones.
        let is_open = match cost.status {
            Status::Bounded => cost.offsets.is_none(),
            Status::Unknown => !is_data,
            Status::Proved | Status::ProvedIf => false,
        };
        let block = function.block_of(cost.request.instruction);
        let this = block.and_then(|block| loops.innermost(block))?;
        // All lanes may have been supposed to do what in each round only some do.
        let is_supposed = cost.assumptions.contains(&Assumption::FullWarp);
        let is_guarded = is_supposed && guards.take_lanes_out_of(this, cost.request.instruction);
        (is_open || is_guarded).then_some((this, is_guarded))
    };
    let mut open: BTreeMap<usize, (Loop, Vec<(usize, bool)>)> = BTreeMap::new();
    for (index, cost) in costs.iter().enumerate() {
        if let Some((this, is_guarded)) = innermost(cost) {
            let group = open.entry(this.index()).or_insert((this, Vec::new()));
            group.1.push((index, is_guarded));
        }
    }
    if open.is_empty() {
        return;
    }
    let query = evolution.on(function);
    let mut patterns = LanePatterns::new(function, analyses, setting.clone(), query);
    let mut questions = MOST_QUESTIONS;
    for (this, members) in open.into_values() {
        let mut nest = Vec::new();
        let mut around = Some(this);
        while let Some(own) = around {
            nest.push(own);
            around = loops.parent(own);
        }
        nest.reverse();
        if nest.len() > MOST_LOOPS {
            continue;
        }
        let requests = members.iter().map(|&(own, _)| costs[own].request);
        let requests: Vec<Request> = requests.collect();
        let mut follow = |warp: u32| {
            let mut rounds = Rounds {
                function,
                patterns: &mut patterns,
                dominators: Rc::clone(&dominators),
                warp,
                nest: nest.clone(),
                requests: requests.clone(),
                costs: vec![Vec::new(); requests.len()],
                given: BTreeMap::new(),
                has_left: false,
                questions,
            };
            let is_followed = rounds.follow(0, true).is_some();
            questions = rounds.questions;
            let costs = rounds.costs.into_iter().map(WarpCost::of_rounds);
            is_followed.then(|| costs.collect::<Vec<WarpCost>>())
        };
        let Some(of_warps) = by_warps(setting, requests.len(), &mut follow) else {
            continue;
        };
        for (&(index, is_guarded), warps) in members.iter().zip(&of_warps) {
            let cost = &mut costs[index];
            let mut other = summary(&cost.request, warps, cost.trips);
            let is_narrower = other.most - other.least < cost.most - cost.least;
            other.is_followed =
                is_guarded && other.status != Status::Unknown && has_other_lanes(cost, &other);
            if other.is_followed
                || other.status < cost.status
                || other.status == cost.status && is_narrower
            {
                *cost = other;
            }
        }
    }
}
