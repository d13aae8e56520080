//! Values that lanes have from other lanes, and registers packed and unpacked.
//!
//! ## Soundness
//! `shfl.sync` gives each lane the number of another lane at the same instruction: that is so where [`Convergence`] shows that lanes
//! meet at it and nowhere else. A lane that reads from one that does not take part gets something undefined, of which nothing need
//! be said.
//!
//! [`Convergence`]: crate::Convergence

use super::LanePatterns;
use super::evaluate::Input;
use super::lanes::{LANES, Lanes};
use super::pattern::Pattern;
use crate::known_bits::mask;
use oriole_collections::SmallVec;
use oriole_ir::{Instruction, Operand, ShapeKind, ShapeNode, Value};
use oriole_isa::{Opcode, Role, ScalarType, shuffle_source};

/// Slots of [`super::AtomKey::Part`].
const HALF: u32 = 5000;

impl LanePatterns<'_> {
    /// Whether an instruction gives what other lanes have, or parts of registers.
    pub(super) fn is_exchange(&self, instruction: Instruction) -> bool {
        let format = self.function.format(instruction);
        if format.opaque || format.is_guarded() {
            return false;
        }
        match format.mnemonic.opcode() {
            Opcode::Shfl => self.converges,
            Opcode::Redux | Opcode::VoteSync => self.converges,
            Opcode::Mov => is_vector_move(&format.shape),
            _ => false,
        }
    }

    /// The operands that an instruction reads, which are registers, constants or names.
    fn sources(&self, instruction: Instruction) -> SmallVec<[(Operand, usize); 4]> {
        let format = self.function.format(instruction);
        let leaves = self.function.leaves(instruction).iter().zip(&format.leaves);
        let used = leaves.filter(|(_, leaf)| leaf.role == Role::Use);
        used.map(|(&operand, leaf)| (operand, leaf.operand as usize))
            .collect()
    }

    /// The pattern of such a value.
    pub(super) fn exchanged(&mut self, value: Value, instruction: Instruction) -> Option<Pattern> {
        let format = self.function.format(instruction);
        let mut results = self.function.leaves(instruction).iter();
        let own = self
            .function
            .results(instruction)
            .position(|it| it == value)?;
        let place = results.position(|leaf| *leaf == Operand::Result(own as u16))?;
        match format.mnemonic.opcode() {
            Opcode::Shfl => self.shuffled(value, instruction, place),
            Opcode::Redux | Opcode::VoteSync => self.agreed(value, instruction),
            _ => self.repacked(value, instruction, place),
        }
    }

    /// What all lanes have found together.
    fn agreed(&mut self, value: Value, instruction: Instruction) -> Option<Pattern> {
        let &(members, _) = self.sources(instruction).last()?;
        let block = self.block(instruction);
        let members = self.operand(members, Some(ScalarType::B32), block, false)?;
        members.pattern.is_uniform().then(|| self.uniform(value))
    }

    /// `shfl`: the number of another lane, or whether there is one.
    fn shuffled(
        &mut self,
        value: Value,
        instruction: Instruction,
        place: usize,
    ) -> Option<Pattern> {
        let mode = self
            .function
            .format(instruction)
            .mnemonic
            .modifiers()
            .shuffle?;
        let block = self.block(instruction);
        let sources = self.sources(instruction);
        let &[(given, _), (offset, _), (control, _), (members, _)] = &sources[..] else {
            return None;
        };
        let word = Some(ScalarType::B32);
        let members = self.operand(members, word, block, false)?.pattern;
        let offset = self.operand(offset, word, block, false)?.pattern;
        let control = self.operand(control, word, block, false)?.pattern;
        if !members.is_uniform() || !offset.is_concrete() || !control.is_concrete() {
            return None;
        }
        let from: [(usize, bool); LANES] = std::array::from_fn(|lane| {
            shuffle_source(mode, lane, offset.lanes.get(lane), control.lanes.get(lane))
        });
        if place == 1 {
            let inside = Lanes::from_fn(|lane| u64::from(from[lane].1));
            return Some(Pattern::concrete(inside, 1));
        }
        let lanes = from.map(|(lane, _)| lane);
        if let Some(Input { pattern, .. }) = self.operand(given, word, block, false) {
            return Some(pattern.permuted(&lanes));
        }
        let is_one = lanes.iter().all(|&lane| lane == lanes[0]);
        is_one.then(|| self.uniform(value))
    }

    /// `mov` between a register and a vector of its parts.
    fn repacked(
        &mut self,
        value: Value,
        instruction: Instruction,
        place: usize,
    ) -> Option<Pattern> {
        let block = self.block(instruction);
        let sources = self.sources(instruction);
        let held = self.function.values()[value].scalar_type.bits();
        if let &[(whole, _)] = &sources[..] {
            let whole = self.operand(whole, None, block, true)?;
            let shift = u32::try_from(place).ok()? * held;
            if shift + held > whole.pattern.bits {
                return None;
            }
            if shift == 0 {
                return Some(whole.pattern.truncate(held));
            }
            let view = whole
                .pattern
                .bit_view(whole.known, &|atom| self.known(atom))?;
            let part = |bits: u64| bits >> shift & mask(held);
            let lanes = Lanes::from_fn(|lane| part(view.lanes.get(lane)));
            let assumed = whole.pattern.assumed.clone();
            let result = self.of_bits(value, HALF, lanes, part(view.unknown), held)?;
            return Some(result.assuming(&assumed));
        }
        let width = held / u32::try_from(sources.len()).ok()?.max(1);
        let mut result = Pattern::concrete(Lanes::Same(0), held);
        for (index, &(part, _)) in sources.iter().enumerate() {
            let part = self.operand(part, None, block, true)?;
            if part.pattern.bits != width {
                return None;
            }
            let index = index as u32;
            let wide = match part.pattern.is_concrete() {
                true => Pattern::concrete(part.pattern.lanes.clone(), held),
                false => self.widen(value, HALF + 64 * (index + 1), &part, held, false)?,
            };
            let scaled = wide.scale(&Lanes::Same(1 << (index * width)));
            result = result.add(&scaled)?.assuming(&part.pattern.assumed);
        }
        Some(result)
    }
}

/// Whether operands are whole registers, constants and vectors of these, with one vector among them.
fn is_vector_move(shape: &[ShapeNode]) -> bool {
    let is_vector = |node: &&ShapeNode| node.kind == ShapeKind::Vector;
    let is_plain = |node: &ShapeNode| {
        let whole = ShapeNode {
            kind: node.kind,
            size: node.size,
            ..ShapeNode::LEAF
        };
        *node == whole && matches!(node.kind, ShapeKind::Leaf | ShapeKind::Vector)
    };
    shape.iter().all(is_plain) && shape.iter().filter(is_vector).count() == 1
}
