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
//! it depends on data, or if a number is compared that no warp knows the low bits of, while lanes differ by more than these.

use super::evaluate::Input;
use super::{ANY_WARP, AtomKey, CauseKind, Entry, LANES, LanePatterns, Pattern};
use crate::known_bits::mask;
use oriole_ir::{Definition, Value};
use oriole_isa::Opcode;
use std::rc::Rc;

/// Comparisons look at the low bits of numbers, below what is unknown of them: so few do not tell the lanes of a warp apart.
const LOW_BITS: u32 = 4;

/// So many instructions are followed from an atom to what it was made of.
const DEEPEST: u32 = 8;

impl LanePatterns<'_> {
    /// Whether each warp has the lanes come to instructions that were found, for any warp, by the conditions that were asked about.
    pub fn has_like_arrivals(&mut self) -> bool {
        let conditions = std::mem::take(&mut self.conditions);
        let is_alike = self.warp == ANY_WARP && conditions.iter().all(|own| self.is_alike(own));
        self.conditions = conditions;
        is_alike
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
                pattern.assumed.is_empty() && self.is_of_all_warps(&pattern, DEEPEST)
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
        atoms.all(|&atom| match self.atom_key(atom) {
            AtomKey::Parameter(..) | AtomKey::Symbol(_) | AtomKey::Rounds(_) => true,
            AtomKey::Warp(_) => false,
            AtomKey::Value(value) | AtomKey::Part(value, _) | AtomKey::Bit(value, _) => {
                self.uniformity.is_uniform(value) || depth > 0 && self.is_made_of_all(value, depth)
            }
        })
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

    /// Whether the outcome of a comparison is not known in any warp.
    fn stays_unknown(&mut self, predicate: Value) -> bool {
        let function = self.function;
        let Definition::Instruction(instruction) = function.values()[predicate].definition else {
            return false;
        };
        let format = function.format(instruction);
        if format.mnemonic.opcode() != Opcode::Setp || !self.is_evaluated(instruction) {
            return false;
        }
        let block = self.block(instruction);
        let leaves = &function.leaves(instruction)[1..];
        let mut inputs: Vec<Input> = Vec::new();
        for (&leaf, &wanted) in leaves.iter().zip(&format.operand_types()[1..]) {
            match self.operand(leaf, wanted, block, true) {
                Some(input) => inputs.push(input),
                None => return false,
            }
        }
        let [first, second] = &inputs[..] else {
            return false;
        };
        let stays = |this: &Self, number: &Input, lanes: &Input| {
            this.is_unknown_everywhere(number) && is_spread(&lanes.pattern)
        };
        stays(self, first, second) || stays(self, second, first)
    }

    /// Whether a number is the same in all lanes, depends on no warp, and one of its low bits is not known.
    fn is_unknown_everywhere(&self, input: &Input) -> bool {
        let pattern = &input.pattern;
        let view = pattern.bit_view(input.known, &|atom| self.known(atom));
        pattern.is_uniform()
            && self.is_of_all_warps(pattern, DEEPEST)
            && view.is_some_and(|view| view.unknown & mask(LOW_BITS) != 0)
    }
}

/// Whether lanes differ by known numbers, and by more than low bits, whatever is added to all of them.
fn is_spread(pattern: &Pattern) -> bool {
    let [first, last] = [0, LANES - 1].map(|lane| pattern.lanes.get(lane));
    let apart = last.wrapping_sub(first) & mask(pattern.bits);
    let back = first.wrapping_sub(last) & mask(pattern.bits);
    pattern.has_one_group() && apart.min(back) >= 1 << LOW_BITS
}
