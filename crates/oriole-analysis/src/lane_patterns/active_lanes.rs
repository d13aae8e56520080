//! Which lanes of a warp come to a block.
//!
//! ## Method
//! The lanes that come to a block are those that come to its immediate dominator if it post-dominates that, and otherwise those among
//! them for which the dominator's branch goes its way. A condition that is concrete says which these are, and a uniform one that they
//! stay together. Of other conditions (`i < n`) it is supposed that they hold for all lanes, and said so. So it is that lanes that went apart
//! have met again ([`reconvergence`](super::reconvergence)), and that all lanes call a function.

use super::pattern::{Pattern, Supposed};
use super::{Entry, LanePatterns};
use oriole_collections::SmallVec;
use oriole_ir::{Block, FunctionKind, Instruction, Operand, Value};
use oriole_isa::Terminator;
use oriole_syntax::tree::Guard;
use std::rc::Rc;

/// Lanes that come to a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arriving {
    /// The lanes, as a mask.
    pub lanes: u32,
    /// Whether conditions that cannot be told were supposed to hold for all of them.
    pub is_supposed: bool,
}

/// Whether lanes come to a block by different edges at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Apart {
    /// They do not.
    Never,
    /// They do not, if what is supposed holds.
    IfNot(SmallVec<[Supposed; 2]>),
    /// They may.
    Perhaps,
}

/// So many branches before a join are looked at on each way to it.
const MOST_ROUTE: u32 = 6;

/// What is known of a condition.
pub(super) enum Condition {
    /// The lanes it holds for.
    Lanes(u32),
    /// It holds for all or for none.
    Uniform,
    Unknown,
}

impl LanePatterns<'_> {
    /// The lanes that execute an instruction.
    pub fn active(&mut self, instruction: Instruction) -> Arriving {
        let block = self.block(instruction);
        let mut arriving = self.executing(instruction);
        // What is supposed already need not be shown to be; the dearest questions come last.
        let mut around = self.loops.innermost(block);
        while let Some(this) = around.filter(|_| !arriving.is_supposed) {
            arriving.is_supposed = self.may_have_left(this);
            around = self.loops.parent(this);
        }
        arriving.is_supposed = arriving.is_supposed || self.may_come_in_parts(instruction);
        arriving
    }

    /// The lanes that execute an instruction, where it does not matter whether others have left a loop, or come later.
    pub fn executing(&mut self, instruction: Instruction) -> Arriving {
        let block = self.block(instruction);
        let mut arriving = self.arriving(block);
        match self.guard(instruction) {
            None | Some(Condition::Uniform) => {}
            Some(Condition::Lanes(lanes)) => arriving.lanes &= lanes,
            Some(Condition::Unknown) => arriving.is_supposed = true,
        }
        arriving
    }

    /// Whether lanes may have left a loop while others are still in it: in any round, or, where numbers of a round are given, in that one.
    pub fn may_have_left(&mut self, this: crate::loops::Loop) -> bool {
        if let Some(found) = self.has_left[this.index()] {
            return found;
        }
        let exits = self.leaves_apart[this.index()].clone();
        let found = exits.into_iter().any(|block| !self.is_together(block));
        self.has_left[this.index()] = Some(found);
        found
    }

    /// Whether all lanes leave a block the same way.
    fn is_together(&mut self, block: Block) -> bool {
        if let Some(last) = self.function.last_instruction(block)
            && let Some(Operand::Value(predicate)) = self.function.guard(last)
        {
            self.conditions.insert(predicate);
            self.compute(predicate);
        }
        self.was_together(block)
    }

    /// Likewise, by what was computed.
    fn was_together(&self, block: Block) -> bool {
        let Some(last) = self.function.last_instruction(block) else {
            return true;
        };
        let terminator = self.function.format(last).effects.terminator;
        match self.computed_guard(last) {
            None => terminator != Terminator::IndirectBranch,
            Some(Condition::Uniform) => true,
            Some(Condition::Lanes(lanes)) => {
                let all = self.setting.lanes(self.warp);
                lanes & all == 0 || lanes & all == all
            }
            Some(Condition::Unknown) => false,
        }
    }

    /// The lanes that come to a block.
    fn arriving(&mut self, block: Block) -> Arriving {
        let mut path = Vec::new();
        let mut at = block;
        let mut found = loop {
            if let Some(found) = self.arriving[at.index()] {
                break found;
            }
            path.push(at);
            match self.dominators.immediate(at) {
                Some(above) => at = above,
                None => {
                    // Only some lanes may have called a function.
                    let is_called = self.function.kind() != FunctionKind::Entry;
                    break Arriving {
                        lanes: self.setting.lanes(self.warp),
                        is_supposed: is_called || !self.flow.is_reachable(at),
                    };
                }
            }
        };
        for &each in path.iter().rev() {
            if let Some(above) = self.dominators.immediate(each) {
                found = self.behind(found, above, each);
            }
            self.arriving[each.index()] = Some(found);
        }
        found
    }

    /// Of the lanes that come to a block, those that come to one that it immediately dominates.
    fn behind(&mut self, arriving: Arriving, above: Block, block: Block) -> Arriving {
        if self.post_dominators.dominates(block, above) {
            return arriving;
        }
        let supposed = Arriving {
            is_supposed: true,
            ..arriving
        };
        let Some(last) = self.function.last_instruction(above) else {
            return supposed;
        };
        if !self.is_only_way(above, block) {
            return supposed;
        }
        // Others may have left a loop elsewhere.
        let mut around = self.loops.innermost(above);
        while let Some(this) = around.filter(|&this| !self.loops.contains(this, block)) {
            if self.may_have_left(this) {
                return supposed;
            }
            around = self.loops.parent(this);
        }
        let lanes = match self.guard(last) {
            Some(Condition::Uniform) => return arriving,
            Some(Condition::Lanes(lanes)) => lanes,
            // An indirect branch, or one further down that only some lanes come back from.
            None | Some(Condition::Unknown) => return supposed,
        };
        let is_branch = self.function.format(last).effects.terminator == Terminator::Branch;
        let edges = self.function.edges(above);
        let takes = is_branch && edges.first().is_some_and(|edge| edge.target == block);
        Arriving {
            lanes: arriving.lanes & if takes { lanes } else { !lanes },
            ..arriving
        }
    }

    /// Whether the only way into a block, but for back edges, is one from what immediately dominates it: only some of the lanes may take
    /// another.
    pub(super) fn is_only_way(&self, above: Block, block: Block) -> bool {
        let is_back = |from: &Block| self.dominators.dominates(block, *from);
        let forward = self.flow.predecessors(block).filter(|from| !is_back(from));
        forward.eq([above])
    }

    /// What is known of the guard of an instruction, with its negation.
    pub(super) fn guard(&mut self, instruction: Instruction) -> Option<Condition> {
        if let Some(Operand::Value(predicate)) = self.function.guard(instruction) {
            self.conditions.insert(predicate);
            self.compute(predicate);
        }
        self.computed_guard(instruction)
    }

    /// Likewise, if it was computed.
    pub(super) fn computed_guard(&self, instruction: Instruction) -> Option<Condition> {
        let negated = match self.function.format(instruction).guard {
            Guard::None => return None,
            Guard::If => false,
            Guard::IfNot => true,
        };
        let Some(Operand::Value(predicate)) = self.function.guard(instruction) else {
            return Some(Condition::Unknown);
        };
        let Entry::Known(pattern) = self.seen_from(predicate, self.block(instruction)) else {
            return Some(Condition::Unknown);
        };
        if !pattern.assumed.is_empty() {
            return Some(Condition::Unknown);
        }
        if pattern.is_concrete() {
            let lanes = (0..32).filter(|&lane| (pattern.lanes.get(lane) & 1 != 0) != negated);
            let lanes: u32 = lanes.fold(0, |lanes, lane| lanes | 1 << lane);
            return Some(Condition::Lanes(lanes));
        }
        Some(match pattern.is_uniform() {
            true => Condition::Uniform,
            false => Condition::Unknown,
        })
    }

    /// The lanes that take a branch, if that was computed and is known.
    pub(super) fn taken_by(&self, instruction: Instruction) -> Option<u32> {
        match self.computed_guard(instruction) {
            Some(Condition::Lanes(lanes)) => Some(lanes),
            _ => None,
        }
    }

    /// The predicates of the branches behind which lanes may come to a block by different edges, all of which stand before it; nothing
    /// if one does not, or they are not known.
    pub(super) fn join_conditions(&self, block: Block) -> Option<Vec<Value>> {
        let mut predicates = Vec::new();
        for branch in self.uniformity.join_causes(block)? {
            if self.flow.position(branch) >= self.flow.position(block) {
                return None;
            }
            let last = self.function.last_instruction(branch)?;
            if let Some(Operand::Value(predicate)) = self.function.guard(last) {
                predicates.push(predicate);
            }
        }
        Some(predicates)
    }

    /// Whether lanes may come to a block by different edges at once, given what was computed of the conditions that decide it.
    pub(super) fn apart(&self, block: Block) -> Apart {
        if !self.uniformity.is_divergent_join(block) {
            return Apart::Never;
        }
        let Some(causes) = self.uniformity.join_causes(block) else {
            return Apart::Perhaps;
        };
        let is_known = self.join_conditions(block).is_some();
        let mut supposed = SmallVec::new();
        for branch in causes {
            if is_known && self.was_together(branch) {
                continue;
            }
            if !self.may_suppose_together(branch) {
                return Apart::Perhaps;
            }
            supposed.push(Supposed::Together(branch));
        }
        match supposed.is_empty() {
            true => Apart::Never,
            false => Apart::IfNot(supposed),
        }
    }

    /// The branches between a block and what immediately dominates it decide by which edge a lane comes to it: their conditions.
    pub(super) fn route_conditions(&self, block: Block, needs: &mut Vec<Value>) {
        let Some(top) = self.dominators.immediate(block) else {
            return;
        };
        for from in self.flow.predecessors(block) {
            let mut at = Some(from);
            for _ in 0..MOST_ROUTE {
                let Some(here) = at else {
                    break;
                };
                if let Some(last) = self.function.last_instruction(here)
                    && let Some(Operand::Value(predicate)) = self.function.guard(last)
                    && self.flow.position(here) < self.flow.position(block)
                {
                    needs.push(predicate);
                }
                at = self.dominators.immediate(here).filter(|_| here != top);
            }
        }
    }

    /// The lanes that may come to a block by an edge from another one.
    fn route(&self, from: Block, block: Block) -> u32 {
        let Some(top) = self.dominators.immediate(block) else {
            return u32::MAX;
        };
        let mut lanes = self.edge_lanes(from, block);
        let mut at = from;
        for _ in 0..MOST_ROUTE {
            let Some(above) = self.dominators.immediate(at).filter(|_| at != top) else {
                break;
            };
            // The only way in.
            if self.flow.predecessors(at).count() == 1 {
                lanes &= self.edge_lanes(above, at);
            }
            at = above;
        }
        lanes
    }

    /// The lanes that may leave a block for another one, if its branch was computed.
    fn edge_lanes(&self, from: Block, to: Block) -> u32 {
        let edges = self.function.edges(from);
        let ways = edges.iter().filter(|edge| edge.target == to).count();
        let (Some(last), 1, 2) = (self.function.last_instruction(from), ways, edges.len()) else {
            return u32::MAX;
        };
        if self.function.format(last).effects.terminator != Terminator::Branch {
            return u32::MAX;
        }
        match self.computed_guard(last) {
            Some(Condition::Lanes(lanes)) if edges[0].target == to => lanes,
            Some(Condition::Lanes(lanes)) => !lanes,
            _ => u32::MAX,
        }
    }

    /// In each lane what it has by the edge that it comes by, if each lane can come by one of them only.
    pub(super) fn chosen_by_lane(
        &self,
        block: Block,
        arguments: &[(Block, Value)],
        patterns: &[Rc<Pattern>],
    ) -> Option<Pattern> {
        let threads = self.lanes();
        let (&(first, _), others) = arguments.split_first()?;
        let mut taken = self.route(first, block) & threads;
        let mut chosen = patterns.first()?.as_ref().clone();
        for (&(from, _), pattern) in others.iter().zip(&patterns[1..]) {
            let lanes = self.route(from, block) & threads;
            if lanes & taken != 0 || pattern.bits != chosen.bits {
                return None;
            }
            taken |= lanes;
            chosen = Pattern::select(lanes, pattern, &chosen)?;
        }
        Some(chosen)
    }
}
