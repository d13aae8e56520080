//! Whether an instruction is executed in the first round of loops, by every thread, or in the next round.
//!
//! ## Soundness
//! An instruction that is executed at all is executed in the first round of the loops around it if every branch between it and their headers
//! is one that it stands behind both ways of, one whose lanes are known, or one that leaves the only loop there is: a lane
//! that takes its other way never comes to the instruction. What stands before the loops decides only whether it is executed at all.

use super::LanePatterns;
use super::active_lanes::Condition;
use super::joins::ROUNDS;
use super::pattern::{Atom, AtomKey};
use crate::loops::Loop;
use oriole_ir::{Block, FunctionKind, Instruction, Symbol, SymbolKind};
use oriole_isa::Terminator;

impl LanePatterns<'_> {
    /// Whether an atom is what rounds of a loop added to what it started with: nothing in the first one.
    pub fn is_of_rounds(&self, atom: Atom) -> bool {
        match self.atoms.get(atom).key {
            AtomKey::Part(_, slot) => slot == ROUNDS,
            AtomKey::Rounds(_) => true,
            _ => false,
        }
    }

    /// Bytes of a variable.
    pub fn bytes_of(&self, symbol: Symbol) -> Option<u64> {
        let bytes = match self.function.symbols()[symbol].kind {
            SymbolKind::Variable(variable) => {
                self.function.variables()[variable].variable_type.bytes
            }
            SymbolKind::Global(global) => {
                let variable = self.environment.module()?.variable(global)?;
                variable.variable_type.bytes
            }
            _ => None,
        };
        bytes.filter(|&bytes| bytes > 0).map(u64::from)
    }

    /// Whether every thread of a kernel executes an instruction.
    pub fn is_always_made(&self, instruction: Instruction) -> bool {
        let block = self.block(instruction);
        self.function.kind() == FunctionKind::Entry
            && self.function.guard(instruction).is_none()
            && self.post_dominators.dominates(block, self.function.entry())
    }

    /// Whether an instruction that is executed at all is executed in the first round of all loops around it.
    pub fn is_made_in_first_round(&mut self, instruction: Instruction) -> bool {
        self.is_made(instruction, true)
    }

    /// Whether an instruction is executed in the round of loops that is asked about.
    pub fn is_made_in_round(&mut self, instruction: Instruction) -> bool {
        self.is_made(instruction, false)
    }

    fn is_made(&mut self, instruction: Instruction, is_first: bool) -> bool {
        match self.guard(instruction) {
            None | Some(Condition::Lanes(_)) => {}
            Some(Condition::Uniform | Condition::Unknown) => return false,
        }
        let mut at = self.block(instruction);
        while self.loops.innermost(at).is_some()
            && let Some(above) = self.dominators.immediate(at)
            && let Some(around) = self.loops.innermost(above)
        {
            let is_certain = self.post_dominators.dominates(at, above)
                || is_first
                    && self.loops.parent(around).is_none()
                    && self.leaves_else(around, above, at)
                || self.is_decided(above, at);
            if !is_certain {
                return false;
            }
            at = above;
        }
        true
    }

    /// Whether a block that ends in a branch leaves a loop unless it goes to another block.
    fn leaves_else(&self, around: Loop, above: Block, to: Block) -> bool {
        let edges = self.function.edges(above);
        self.is_only_way(above, to)
            && edges
                .iter()
                .all(|edge| edge.target == to || !self.loops.contains(around, edge.target))
    }

    /// Whether it is known which lanes go from a block to another one, by the only way to it, and some do.
    fn is_decided(&mut self, above: Block, to: Block) -> bool {
        let Some(last) = self.function.last_instruction(above) else {
            return false;
        };
        if !self.is_only_way(above, to)
            || self.function.format(last).effects.terminator != Terminator::Branch
        {
            return false;
        }
        let all = self.lanes();
        let takes = self
            .function
            .edges(above)
            .first()
            .is_some_and(|edge| edge.target == to);
        match self.guard(last) {
            Some(Condition::Lanes(lanes)) => all & if takes { lanes } else { !lanes } != 0,
            _ => false,
        }
    }

    /// Whether all lanes go round a loop again, as far as its branches tell: none of them leaves it.
    pub fn goes_round(&mut self, this: Loop) -> bool {
        let order: Vec<Block> = self.flow.reverse_postorder().to_vec();
        let own = order
            .into_iter()
            .filter(|&block| self.loops.contains(this, block));
        let own: Vec<Block> = own.collect();
        own.into_iter().all(|block| self.stays_here(this, block))
    }

    /// Whether no lane leaves a loop at a block.
    fn stays_here(&mut self, this: Loop, block: Block) -> bool {
        let leaves = |to: Block| !self.loops.contains(this, to);
        if !self.flow.successors(block).any(leaves) && !self.flow.may_leave(block) {
            return true;
        }
        if self.flow.may_leave(block) {
            return false;
        }
        let Some((lanes, taken, next)) = self.branch_of(block) else {
            return false;
        };
        let all = self.lanes();
        let leaves = |to: Block| !self.loops.contains(this, to);
        (lanes & all == 0 || !leaves(taken)) && (lanes & all == all || !leaves(next))
    }
}
