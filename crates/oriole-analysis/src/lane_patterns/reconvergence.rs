//! Whether lanes that come to an instruction may come in parts, since they went apart before.
//!
//! PTX does not say where lanes that took different ways go on together. Machines have them wait for each other where the ways meet, as a
//! rule; not always behind calls, indirect branches and loops that lanes leave at different times, as was seen on an H200
//! (`docs/validation.md`). So a cost behind such a place is one of lanes that have met again, which is said to be supposed. Instructions
//! that a warp has to execute together (`bar.sync`, and all that are `.aligned`) have them meet.
//!
//! ## Method
//! Lanes go apart at a branch whose condition cannot be told. They may come in parts to the blocks where the ways from it meet, to those
//! that loops are left for there, to what stands behind a call, and to all that can be reached from there without a meeting.

use super::LanePatterns;
use super::active_lanes::Condition;
use oriole_collections::BitSet;
use oriole_ir::{Block, Instruction};
use oriole_isa::{Flag, Opcode, Terminator};
use std::rc::Rc;

/// What an instruction does to lanes that went apart.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Meeting {
    Together,
    Perhaps,
}

/// Where lanes meet or part, whichever warp it is.
pub(super) struct Meetings {
    /// By instruction: what the last one before it in its block that matters does.
    before: Vec<Option<Meeting>>,
    /// By block: what its last instruction that matters does.
    last: Vec<Option<Meeting>>,
}

impl LanePatterns<'_> {
    /// Whether lanes may come to an instruction in parts.
    pub(super) fn may_come_in_parts(&mut self, instruction: Instruction) -> bool {
        let meetings = self.known_meetings();
        if let Some(before) = meetings.before[instruction.index()] {
            return before == Meeting::Perhaps;
        }
        let block = self.block(instruction);
        if self.parted.is_none() {
            self.parted = Some(self.find_parted());
        }
        let parted = self.parted.as_ref();
        parted.is_some_and(|parted| parted.contains(block))
    }

    fn known_meetings(&mut self) -> Rc<Meetings> {
        if let Some(meetings) = &self.meetings {
            return Rc::clone(meetings);
        }
        let meetings = self.meetings();
        Rc::clone(self.meetings.insert(meetings))
    }

    fn meeting(&self, instruction: Instruction) -> Option<Meeting> {
        let format = self.function.format(instruction);
        if format.opaque || format.effects.is_call {
            return Some(Meeting::Perhaps);
        }
        let mnemonic = &format.mnemonic;
        let meets = matches!(mnemonic.opcode(), Opcode::BarSync | Opcode::BarRed)
            || mnemonic.has(Flag::Aligned);
        let is_guarded = self.function.guard(instruction).is_some();
        (meets && !is_guarded).then_some(Meeting::Together)
    }

    /// The instructions at which lanes meet or may part, by block: the same for all warps.
    fn meetings(&self) -> Rc<Meetings> {
        let mut meetings = Meetings {
            before: vec![None; self.function.instruction_bound()],
            last: vec![None; self.function.blocks().len()],
        };
        for &block in self.flow.reverse_postorder() {
            let mut last = None;
            for instruction in self.function.instructions_of(block) {
                meetings.before[instruction.index()] = last;
                last = self.meeting(instruction).or(last);
            }
            meetings.last[block.index()] = last;
        }
        Rc::new(meetings)
    }

    /// The blocks that lanes may come to in parts.
    fn find_parted(&mut self) -> BitSet<Block> {
        let order = self.flow.reverse_postorder().to_vec();
        let meetings = self.known_meetings();
        // What the last instruction of a block that matters does.
        let last = &meetings.last;
        let mut entered = self.first_parted(&order);
        let mut worklist: Vec<Block> = Vec::new();
        for &block in &order {
            if entered.contains(block) || last[block.index()] == Some(Meeting::Perhaps) {
                worklist.push(block);
            }
        }
        while let Some(block) = worklist.pop() {
            if last[block.index()] == Some(Meeting::Together) {
                continue;
            }
            for to in self.flow.successors(block) {
                if entered.insert(to) {
                    worklist.push(to);
                }
            }
        }
        entered
    }

    /// The blocks where lanes come from branches that they went apart at.
    fn first_parted(&mut self, order: &[Block]) -> BitSet<Block> {
        let count = self.function.blocks().len();
        let mut splits: BitSet<Block> = BitSet::with_domain(count);
        let mut parted: BitSet<Block> = BitSet::with_domain(count);
        for &block in order {
            if self.splits(block) {
                splits.insert(block);
                let around = self.loops.innermost(block);
                for to in self.flow.successors(block) {
                    if around.is_some_and(|around| !self.loops.contains(around, to)) {
                        parted.insert(to);
                    }
                }
            }
        }
        for &block in order {
            if self.uniformity.is_divergent_join(block) {
                let causes = self.uniformity.join_causes(block);
                if causes.is_none_or(|mut causes| causes.any(|branch| splits.contains(branch))) {
                    parted.insert(block);
                }
            }
        }
        parted
    }

    /// Whether it cannot be told which lanes leave a block which way.
    fn splits(&mut self, block: Block) -> bool {
        if !self.uniformity.is_divergent_branch(block) {
            return false;
        }
        let Some(last) = self.function.last_instruction(block) else {
            return false;
        };
        match self.guard(last) {
            None => {
                let terminator = self.function.format(last).effects.terminator;
                terminator == Terminator::IndirectBranch
            }
            Some(Condition::Unknown) => true,
            Some(Condition::Uniform | Condition::Lanes(_)) => false,
        }
    }
}
