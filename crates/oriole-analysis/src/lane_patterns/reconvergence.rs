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

/// What an instruction does to lanes that went apart.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Meeting {
    Together,
    Perhaps,
}

impl LanePatterns<'_> {
    /// Whether lanes may come to an instruction in parts.
    pub(super) fn may_come_in_parts(&mut self, instruction: Instruction) -> bool {
        if self.parted.is_none() {
            self.parted = Some(self.find_parted());
        }
        let parted = self.parted.as_ref();
        parted.is_some_and(|parted| parted.contains(instruction))
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

    fn find_parted(&mut self) -> BitSet<Instruction> {
        let count = self.function.blocks().len();
        let order = self.flow.reverse_postorder().to_vec();
        // What the last instruction of a block that matters does.
        let mut last: Vec<Option<Meeting>> = vec![None; count];
        let mut entered = self.first_parted(&order);
        let mut worklist: Vec<Block> = Vec::new();
        for &block in &order {
            let meetings = self.function.instructions_of(block);
            last[block.index()] = meetings.filter_map(|own| self.meeting(own)).last();
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
        let mut parted = BitSet::with_domain(self.function.instruction_bound());
        for &block in &order {
            let mut in_parts = entered.contains(block);
            for instruction in self.function.instructions_of(block) {
                if in_parts {
                    parted.insert(instruction);
                }
                match self.meeting(instruction) {
                    None => {}
                    Some(meeting) => in_parts = meeting == Meeting::Perhaps,
                }
            }
        }
        parted
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
