//! Whether the lanes that come to instructions, as found for any warp, are those of every warp.
//!
//! ## Example
//! `if (i < n)` with `i = blockIdx.x * blockDim.x + threadIdx.x`: which lanes come to what is guarded is not known, whichever warp it is, since
//! nothing is known of `n`. `if (threadIdx.x < 100)` is another matter: the first warps come as a whole, and the last ones do not at all.
//!
//! ## Soundness
//! What is found for any warp holds for all of them. Only more could be found for one: that is looked for here, and where it might be, the
//! answer is that warps may differ.
//!
//! ## Method
//! A condition is the same for all warps if no thread's number is in it, or if it is known lane by lane without the warp. It stays unknown if
//! it depends on data, or if a number is compared of which no warp knows some bit, while lanes differ by more than that bit is worth; if
//! lanes do not differ, it holds for all or for none of them, and no warp knows which. Lanes that come
//! to an instruction because of such conditions alone are those of every warp; that they have met again, of which all branches of the
//! function decide, matters only if nothing was supposed of them before.
//!
//! A pattern costs each warp what it costs any if what is in it of a warp's number moves all lanes by whole sectors, or words.

use super::active_lanes::Condition;
use super::evaluate::Input;
use super::{ANY_WARP, Atom, AtomKey, CauseKind, Entry, LANES, LanePatterns, Pattern};
use crate::known_bits::mask;
use crate::loops::Loop;
use oriole_collections::SmallVec;
use oriole_ir::{Block, Definition, Instruction, Operand, Value};
use oriole_isa::Opcode;
use std::rc::Rc;

/// So many instructions are followed from an atom to what it was made of.
const DEEPEST: u32 = 8;

/// What was found of conditions for any warp.
struct Alike {
    /// By value: whether as much is known of a predicate in each warp as in any, once that was asked.
    predicates: Vec<Option<bool>>,
    /// By block: whether the conditions that decide which lanes come to it are alike.
    blocks: Vec<Option<bool>>,
}

impl LanePatterns<'_> {
    /// Whether each warp has the lanes come to these instructions that were found for any warp, by what was asked about it last.
    pub fn like_arrivals(&mut self, instructions: &[Instruction]) -> Vec<bool> {
        if self.warp != ANY_WARP {
            return vec![false; instructions.len()];
        }
        let mut alike = Alike {
            predicates: vec![None; self.function.values().len()],
            blocks: vec![None; self.function.blocks().len()],
        };
        let conditions = std::mem::take(&mut self.conditions);
        let are_all = conditions.iter().all(|own| self.is_like(own, &mut alike));
        let like = instructions
            .iter()
            .map(|&own| are_all || self.is_supposed_alike(own, &mut alike))
            .collect();
        self.conditions = conditions;
        like
    }

    /// Whether the lanes that come to an instruction are supposed to, because of conditions that are alike in all warps.
    fn is_supposed_alike(&mut self, instruction: Instruction, alike: &mut Alike) -> bool {
        let block = self.block(instruction);
        let Some(arriving) = self.arriving[block.index()] else {
            return false;
        };
        let is_guard_alike = match self.function.guard(instruction) {
            Some(Operand::Value(predicate)) => self.is_like(predicate, alike),
            Some(_) => false,
            None => true,
        };
        let is_unknown = matches!(self.computed_guard(instruction), Some(Condition::Unknown));
        is_guard_alike
            && (arriving.is_supposed || is_unknown)
            && self.are_conditions_alike(block, alike)
    }

    /// Whether the conditions that decide which lanes come to a block are alike.
    fn are_conditions_alike(&mut self, block: Block, alike: &mut Alike) -> bool {
        let mut path = Vec::new();
        let mut at = block;
        let mut is_alike = loop {
            if let Some(found) = alike.blocks[at.index()] {
                break found;
            }
            path.push(at);
            match self.dominators.immediate(at) {
                Some(above) => at = above,
                None => break true,
            }
        };
        for &each in path.iter().rev() {
            if let Some(above) = self.dominators.immediate(each) {
                is_alike = is_alike && self.is_way_alike(above, each, alike);
            }
            alike.blocks[each.index()] = Some(is_alike);
        }
        is_alike
    }

    /// Whether lanes come from a block to one that it immediately dominates as they do in any warp.
    fn is_way_alike(&mut self, above: Block, block: Block, alike: &mut Alike) -> bool {
        let Some(last) = self.function.last_instruction(above) else {
            return true;
        };
        // Where there are other ways lanes are supposed to come, whichever warp it is.
        if self.post_dominators.dominates(block, above) || !self.is_only_way(above, block) {
            return true;
        }
        let mut around = self.loops.innermost(above);
        while let Some(this) = around.filter(|&this| !self.loops.contains(this, block)) {
            if !self.is_left_alike(this, alike) {
                return false;
            }
            around = self.loops.parent(this);
        }
        match self.function.guard(last) {
            Some(Operand::Value(predicate)) => self.is_like(predicate, alike),
            Some(_) => false,
            None => true,
        }
    }

    /// Whether lanes leave a loop as they do in any warp.
    fn is_left_alike(&mut self, this: Loop, alike: &mut Alike) -> bool {
        let exits = self.leaves_apart[this.index()].clone();
        exits.into_iter().all(|exit| {
            let last = self.function.last_instruction(exit);
            match last.and_then(|last| self.function.guard(last)) {
                Some(Operand::Value(predicate)) => self.is_like(predicate, alike),
                _ => false,
            }
        })
    }

    /// Whether addresses cost each warp as much as they cost any, if the same lanes access them: what depends on the warp is a multiple of
    /// this many bytes, which makes no difference to the cost, and the same in all lanes.
    pub fn costs_each_warp(&self, pattern: &Pattern, unit: u64) -> bool {
        pattern.terms.iter().all(|term| {
            let moves_whole = |factor: u64| factor.is_multiple_of(unit);
            term.factor.as_same().is_some_and(moves_whole)
                || term
                    .monomial
                    .iter()
                    .all(|&atom| self.is_atom_of_all_warps(atom, DEEPEST))
        })
    }

    /// Whether as much is known of a condition in each warp as in any, remembered.
    fn is_like(&mut self, predicate: Value, alike: &mut Alike) -> bool {
        if let Some(found) = alike.predicates[predicate.index()] {
            return found;
        }
        let found = self.is_alike(predicate);
        alike.predicates[predicate.index()] = Some(found);
        found
    }

    /// Whether as much is known of a condition in each warp as in any.
    fn is_alike(&mut self, predicate: Value) -> bool {
        if self.uniformity.is_uniform(predicate) {
            return true;
        }
        match &self.entries[predicate.index()] {
            None => false,
            Some(Entry::Known(pattern)) => {
                let pattern = Rc::clone(pattern);
                pattern.assumed.is_empty()
                    && (self.is_of_all_warps(&pattern, DEEPEST)
                        || pattern.is_uniform() && self.stays_uniform(predicate))
            }
            Some(Entry::Varying(cause)) => match (cause.kind, cause.origin) {
                (CauseKind::Data | CauseKind::Call, _) => true,
                (CauseKind::Arithmetic, Some(origin)) => self.stays_unknown(origin),
                (CauseKind::Join, Some(origin)) => self.stays_apart(origin),
                _ => false,
            },
        }
    }

    /// Whether lanes come to the block of a parameter by the same different edges in every warp: the branches that they come from go as they
    /// do in any.
    fn stays_apart(&mut self, parameter: Value) -> bool {
        let Some(block) = self.function.defining_block(parameter) else {
            return false;
        };
        let Some(predicates) = self.join_conditions(block) else {
            return false;
        };
        let stays_unknown = |this: &mut Self, predicate: Value| {
            let entry = this.entries[predicate.index()].as_ref();
            match entry {
                Some(Entry::Varying(cause)) => match (cause.kind, cause.origin) {
                    (CauseKind::Data | CauseKind::Call, _) => true,
                    (CauseKind::Arithmetic, Some(origin)) => this.stays_unknown(origin),
                    _ => false,
                },
                _ => false,
            }
        };
        predicates.into_iter().any(|own| stays_unknown(self, own))
    }

    /// Whether no warp's number is in a pattern, nor in what its atoms were made of, as far as that is followed.
    fn is_of_all_warps(&self, pattern: &Pattern, depth: u32) -> bool {
        let mut atoms = pattern.terms.iter().flat_map(|term| &term.monomial);
        atoms.all(|&atom| self.is_atom_of_all_warps(atom, depth))
    }

    /// Whether no warp's number is in an atom.
    fn is_atom_of_all_warps(&self, atom: Atom, depth: u32) -> bool {
        match self.atom_key(atom) {
            AtomKey::Parameter(..) | AtomKey::Symbol(_) | AtomKey::Rounds(_) => true,
            AtomKey::Warp(_) => false,
            AtomKey::Value(value) | AtomKey::Part(value, _) | AtomKey::Bit(value, _) => {
                self.uniformity.is_uniform(value) || depth > 0 && self.is_made_of_all(value, depth)
            }
        }
    }

    /// Whether no warp's number is in the patterns of an instruction's operands.
    fn is_made_of_all(&self, value: Value, depth: u32) -> bool {
        let Definition::Instruction(instruction) = self.function.values()[value].definition else {
            return false;
        };
        self.is_evaluated(instruction)
            && self.function.uses(instruction).all(|used| {
                let entry = self.entries[used.index()].as_ref();
                let pattern = entry.and_then(Entry::pattern);
                pattern.is_some_and(|pattern| self.is_of_all_warps(pattern, depth - 1))
            })
            && self.has_uniform_symbols(instruction)
    }

    /// The operands of a comparison that gives a predicate.
    fn compared_by(&mut self, predicate: Value) -> Option<[Input; 2]> {
        let function = self.function;
        let Definition::Instruction(instruction) = function.values()[predicate].definition else {
            return None;
        };
        let format = function.format(instruction);
        if format.mnemonic.opcode() != Opcode::Setp || !self.is_evaluated(instruction) {
            return None;
        }
        let block = self.block(instruction);
        let leaves = function.leaves(instruction)[1..].iter();
        let mut inputs: SmallVec<[Input; 2]> = SmallVec::new();
        for (&leaf, &wanted) in leaves.zip(&format.operand_types()[1..]) {
            inputs.push(self.operand(leaf, wanted, block, true)?);
        }
        <[Input; 2]>::try_from(inputs.into_vec()).ok()
    }

    /// Whether the outcome of a comparison is not known in any warp: lanes differ by more than the lowest bit is worth that no warp knows of
    /// what they are compared with, so that what is above is not the same in all of them.
    fn stays_unknown(&mut self, predicate: Value) -> bool {
        let Some([first, second]) = self.compared_by(predicate) else {
            return false;
        };
        let stays = |this: &Self, number: &Input, lanes: &Input| {
            let unknown = this.unknown_bit(number);
            unknown.is_some_and(|bit| is_spread(&lanes.pattern, bit))
        };
        stays(self, &first, &second) || stays(self, &second, &first)
    }

    /// Whether a comparison has the same outcome in all lanes of each warp, and no warp knows which.
    fn stays_uniform(&mut self, predicate: Value) -> bool {
        let Some(inputs) = self.compared_by(predicate) else {
            return false;
        };
        inputs.iter().all(|input| input.pattern.is_uniform())
            && inputs.iter().any(|own| self.unknown_bit(own).is_some())
    }

    /// The lowest bit of a number that is the same in all lanes, depends on no warp, and is not known.
    fn unknown_bit(&self, input: &Input) -> Option<u32> {
        let pattern = &input.pattern;
        if !pattern.is_uniform() || !self.is_of_all_warps(pattern, DEEPEST) {
            return None;
        }
        let view = pattern.bit_view(input.known, &|atom| self.known(atom))?;
        (view.unknown != 0).then(|| view.unknown.trailing_zeros())
    }
}

/// Whether lanes differ by known numbers, and by at least what a bit is worth, whatever is added to all of them.
fn is_spread(pattern: &Pattern, bit: u32) -> bool {
    let [first, last] = [0, LANES - 1].map(|lane| pattern.lanes.get(lane));
    let apart = last.wrapping_sub(first) & mask(pattern.bits);
    let back = first.wrapping_sub(last) & mask(pattern.bits);
    pattern.has_one_group() && apart.min(back) >= 1 << bit
}
