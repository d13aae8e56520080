//! The order of blocks and of the instructions in them, apart from what they are.
//!
//! Doubly linked lists: inserting and removing anywhere is constant time, which matters in blocks of a hundred thousand
//! instructions.

use crate::entities::{Block, Instruction};
use oriole_collections::{Entity, IndexVec, PackedOption};

#[derive(Clone, Copy, Debug, Default)]
struct InstructionNode {
    previous: PackedOption<Instruction>,
    next: PackedOption<Instruction>,
    block: PackedOption<Block>,
}

#[derive(Clone, Copy, Debug, Default)]
struct BlockNode {
    first: PackedOption<Instruction>,
    last: PackedOption<Instruction>,
}

/// The order of a function.
#[derive(Clone, Debug, Default)]
pub(crate) struct Layout {
    instructions: IndexVec<Instruction, InstructionNode>,
    blocks: IndexVec<Block, BlockNode>,
    order: Vec<Block>,
}

impl Layout {
    pub fn order(&self) -> &[Block] {
        &self.order
    }

    /// Forgets everything but keeps its room.
    pub fn clear(&mut self) {
        self.instructions.clear();
        self.blocks.clear();
        self.order.clear();
    }

    /// Makes room for about so many instructions and blocks more.
    pub fn reserve(&mut self, instructions: usize, blocks: usize) {
        self.instructions.reserve(instructions);
        self.blocks.reserve(blocks);
        self.order.reserve(blocks);
    }

    pub fn append_block(&mut self, block: Block) {
        self.blocks.ensure(block, BlockNode::default());
        self.order.push(block);
    }

    /// Puts a new block behind another.
    pub fn insert_block_after(&mut self, block: Block, after: Block) {
        self.insert_block(block, self.position(after) + 1);
    }

    /// Puts a new block before another.
    pub fn insert_block_before(&mut self, block: Block, before: Block) {
        self.insert_block(block, self.position(before));
    }

    fn position(&self, block: Block) -> usize {
        let found = self.order.iter().position(|&other| other == block);
        found.expect("the block is in the order")
    }

    fn insert_block(&mut self, block: Block, position: usize) {
        self.blocks.ensure(block, BlockNode::default());
        self.order.insert(position, block);
    }

    pub fn retain_blocks(&mut self, keep: impl FnMut(&Block) -> bool) {
        self.order.retain(keep);
    }

    #[inline]
    pub fn block_of(&self, instruction: Instruction) -> Option<Block> {
        self.instructions
            .get(instruction)
            .and_then(|node| node.block.expand())
    }

    #[inline]
    pub fn first(&self, block: Block) -> Option<Instruction> {
        self.blocks[block].first.expand()
    }

    #[inline]
    pub fn last(&self, block: Block) -> Option<Instruction> {
        self.blocks[block].last.expand()
    }

    #[inline]
    pub fn next(&self, instruction: Instruction) -> Option<Instruction> {
        self.instructions[instruction].next.expand()
    }

    #[inline]
    pub fn previous(&self, instruction: Instruction) -> Option<Instruction> {
        self.instructions[instruction].previous.expand()
    }

    #[inline]
    pub fn append(&mut self, block: Block, instruction: Instruction) {
        let ends = &mut self.blocks[block];
        let last = std::mem::replace(&mut ends.last, PackedOption::some(instruction));
        match last.expand() {
            Some(last) => self.instructions[last].next = PackedOption::some(instruction),
            None => ends.first = PackedOption::some(instruction),
        }
        let node = InstructionNode {
            previous: last,
            next: PackedOption::none(),
            block: PackedOption::some(block),
        };
        // Mostly it is the newest one.
        if instruction == self.instructions.next_key() {
            self.instructions.push(node);
        } else {
            *self
                .instructions
                .ensure(instruction, InstructionNode::default()) = node;
        }
    }

    /// Puts all instructions that were never anywhere, up to one, into a block that has none.
    pub fn append_up_to(&mut self, block: Block, end: Instruction) {
        let (first, end) = (self.instructions.len(), end.index());
        if first >= end {
            return;
        }
        let at = |index: usize| PackedOption::some(Instruction::from_fitting_index(index));
        let node = |previous, next| InstructionNode {
            previous,
            next,
            block: PackedOption::some(block),
        };
        self.instructions
            .push(node(PackedOption::none(), at(first + 1)));
        let others = (first + 1..end).map(|index| node(at(index - 1), at(index + 1)));
        self.instructions.extend(others);
        let last = Instruction::from_index(end - 1);
        self.instructions[last].next = PackedOption::none();
        self.blocks[block] = BlockNode {
            first: at(first),
            last: PackedOption::some(last),
        };
    }

    /// Moves all instructions of `other` behind those of `block`.
    pub fn append_all_of(&mut self, block: Block, other: Block) {
        debug_assert_ne!(block, other);
        let moved = std::mem::take(&mut self.blocks[other]);
        let Some(first) = moved.first.expand() else {
            return;
        };
        let mut at = Some(first);
        while let Some(instruction) = at {
            let node = &mut self.instructions[instruction];
            node.block = PackedOption::some(block);
            at = node.next.expand();
        }
        let ends = &mut self.blocks[block];
        let last = std::mem::replace(&mut ends.last, moved.last);
        match last.expand() {
            Some(last) => self.instructions[last].next = PackedOption::some(first),
            None => ends.first = PackedOption::some(first),
        }
        self.instructions[first].previous = last;
    }

    pub fn insert_before(&mut self, instruction: Instruction, before: Instruction) {
        self.instructions
            .ensure(instruction, InstructionNode::default());
        let InstructionNode {
            previous, block, ..
        } = self.instructions[before];
        let block = block
            .expand()
            .expect("the place to insert at is in a block");
        self.instructions[instruction] = InstructionNode {
            previous,
            next: PackedOption::some(before),
            block: PackedOption::some(block),
        };
        self.instructions[before].previous = PackedOption::some(instruction);
        match previous.expand() {
            Some(previous) => self.instructions[previous].next = PackedOption::some(instruction),
            None => self.blocks[block].first = PackedOption::some(instruction),
        }
    }

    pub fn remove(&mut self, instruction: Instruction) {
        let InstructionNode {
            previous,
            next,
            block,
        } = self.instructions[instruction];
        let block = block
            .expand()
            .expect("only instructions in a block are removed");
        match previous.expand() {
            Some(previous) => self.instructions[previous].next = next,
            None => self.blocks[block].first = next,
        }
        match next.expand() {
            Some(next) => self.instructions[next].previous = previous,
            None => self.blocks[block].last = previous,
        }
        self.instructions[instruction] = InstructionNode::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listed(layout: &Layout, block: Block) -> Vec<usize> {
        std::iter::successors(layout.first(block), |&at| layout.next(at))
            .map(Instruction::index)
            .collect()
    }

    #[test]
    fn runs_of_instructions_are_chained() {
        let mut layout = Layout::default();
        let [empty, one, several] = [0, 1, 2].map(Block::from_index);
        for (block, end) in [(empty, 0), (one, 1), (several, 4)] {
            layout.append_block(block);
            layout.append_up_to(block, Instruction::from_index(end));
        }
        assert_eq!(layout.first(empty), None);
        assert_eq!(listed(&layout, one), [0]);
        assert_eq!(listed(&layout, several), [1, 2, 3]);
        let last = Instruction::from_index(3);
        assert_eq!(layout.last(several), Some(last));
        assert_eq!(layout.block_of(last), Some(several));
        assert_eq!(layout.previous(last), Some(Instruction::from_index(2)));
        assert_eq!(layout.previous(Instruction::from_index(1)), None);
    }

    #[test]
    fn all_of_a_block_is_moved_behind_another() {
        let mut layout = Layout::default();
        let [empty, one, other] = [0, 1, 2].map(Block::from_index);
        for (block, end) in [(empty, 0), (one, 2), (other, 4)] {
            layout.append_block(block);
            layout.append_up_to(block, Instruction::from_index(end));
        }
        layout.append_all_of(one, other);
        assert_eq!(listed(&layout, one), [0, 1, 2, 3]);
        layout.append_all_of(one, other);
        layout.append_all_of(empty, one);
        assert_eq!(listed(&layout, empty), [0, 1, 2, 3]);
        for block in [one, other] {
            assert_eq!((layout.first(block), layout.last(block)), (None, None));
        }
        let backwards = std::iter::successors(layout.last(empty), |&at| layout.previous(at));
        assert_eq!(
            backwards.map(Instruction::index).collect::<Vec<_>>(),
            [3, 2, 1, 0]
        );
        let blocks = (0..4).map(|index| layout.block_of(Instruction::from_index(index)));
        assert!(blocks.into_iter().all(|block| block == Some(empty)));
    }

    #[test]
    fn insertion_and_removal_keep_the_chain() {
        let mut layout = Layout::default();
        let block = Block::from_index(0);
        layout.append_block(block);
        let at = Instruction::from_index;
        for index in 0..3 {
            layout.append(block, at(index));
        }
        layout.insert_before(at(5), at(0));
        layout.insert_before(at(4), at(2));
        assert_eq!(listed(&layout, block), [5, 0, 1, 4, 2]);
        layout.remove(at(2));
        layout.remove(at(5));
        layout.remove(at(1));
        assert_eq!(listed(&layout, block), [0, 4]);
        assert_eq!(layout.last(block), Some(at(4)));
        assert_eq!(layout.block_of(at(1)), None);
        layout.remove(at(0));
        layout.remove(at(4));
        assert_eq!(layout.first(block), None);
        assert_eq!(layout.last(block), None);
    }
}
