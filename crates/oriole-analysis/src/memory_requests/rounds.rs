//! Costs of requests in loops that are followed round by round.
//!
//! ## Example
//! `for (s = 1; s < 256; s *= 2)` with an access at `2 * s * tid`: in each round `s` is a number, and so are the addresses.
//!
//! ## Soundness
//! Rounds are followed from the first one on until all lanes leave the loop or numbers repeat: those are all there may be. A request costs
//! at least what it costs in the cheapest and at most what it costs in the dearest.

use super::cost::WarpCost;
use super::{OfWarps, Request, RequestCost, Status, of_warp, summary};
use crate::dominators::Dominators;
use crate::lane_patterns::{ANY_WARP, CauseKind, LanePatterns, Lanes, Setting};
use crate::loops::{Loop, Loops};
use crate::manager::Analyses;
use crate::scalar_evolution::ScalarEvolution;
use oriole_ir::{Block, Function, Value};
use std::collections::BTreeMap;
use std::rc::Rc;

/// So many rounds of a loop are followed, in so many loops around each other, and in all of a kernel.
const MOST_ROUNDS: usize = 40;
const MOST_LOOPS: usize = 3;
const MOST_QUESTIONS: usize = 400;

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

/// Counts again what is not settled and in loops that can be followed round by round.
pub(super) fn settle<'a>(
    function: &'a Function,
    analyses: &mut Analyses,
    setting: &Setting,
    evolution: &'a ScalarEvolution,
    costs: &mut [RequestCost],
) {
    let loops = analyses.get::<Loops>(function);
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
        block
            .filter(|_| is_open)
            .and_then(|block| loops.innermost(block))
    };
    let mut open: BTreeMap<usize, (Loop, Vec<usize>)> = BTreeMap::new();
    for (index, cost) in costs.iter().enumerate() {
        if let Some(this) = innermost(cost) {
            let group = open.entry(this.index()).or_insert((this, Vec::new()));
            group.1.push(index);
        }
    }
    if open.is_empty() {
        return;
    }
    let dominators = analyses.get::<Dominators>(function);
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
        let requests: Vec<Request> = members.iter().map(|&own| costs[own].request).collect();
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
        for (&index, warps) in members.iter().zip(&of_warps) {
            let cost = &mut costs[index];
            let other = summary(&cost.request, warps, cost.trips);
            let is_narrower = other.most - other.least < cost.most - cost.least;
            if other.status < cost.status || other.status == cost.status && is_narrower {
                *cost = other;
            }
        }
    }
}
