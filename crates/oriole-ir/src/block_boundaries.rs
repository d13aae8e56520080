//! Where blocks begin and end in the text of a function, and which labels lead out of them.
//!
//! A block starts at the function's start, at a label some branch names, and behind a branch, `ret` or `exit`. Labels no
//! branch names (debug information has thousands) split nothing. Who reads a body tells of its labels and instructions in
//! order, and asks for the edges in the end.

use crate::Block;
use oriole_collections::BitSet;
use oriole_isa::Terminator;
use oriole_syntax::scopes::Scopes;

/// Finds blocks and edges while a body is read.
pub struct BlockBoundaries<'scopes> {
    scopes: &'scopes Scopes,
    /// Labels that some branch names.
    targets: BitSet<usize>,
    /// The block of each of these that was met.
    label_blocks: Vec<Option<Block>>,
    /// The number of the next label.
    next_label: u32,
    /// The block that is read.
    block: Block,
    /// Whether it has not ended yet.
    is_open: bool,
    ends: Vec<End>,
    /// Labels that blocks branch to, those of one block after those of another.
    labels: Vec<u32>,
    /// Where those of the instruction that is read begin.
    first_label: usize,
}

/// How a block ends.
struct End {
    block: Block,
    /// Where its labels end; they begin where those of the end before do.
    labels_end: u32,
    falls_through: bool,
}

/// What a label among the operands of an instruction is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LabelOperand {
    /// A place to branch to, the so-many-th of the instruction.
    Target(u16),
    /// A list of places or of prototypes.
    Table,
}

impl<'scopes> BlockBoundaries<'scopes> {
    /// Starts with the first block of a function with resolved names.
    pub fn new(scopes: &'scopes Scopes) -> BlockBoundaries<'scopes> {
        BlockBoundaries {
            scopes,
            targets: scopes.branch_target_labels(),
            label_blocks: vec![None; scopes.labels.len()],
            next_label: 0,
            block: Block::from_index(0),
            is_open: true,
            ends: Vec::with_capacity(scopes.labels.len() + 1),
            labels: Vec::with_capacity(scopes.labels.len()),
            first_label: 0,
        }
    }

    /// The block that is read.
    #[inline]
    pub fn block(&self) -> Block {
        self.block
    }

    /// Meets the next label of the function: its number, if a block starts there.
    pub fn label(&mut self) -> Option<u32> {
        let label = self.next_label;
        self.next_label += 1;
        if !self.targets.contains(label as usize) {
            return None;
        }
        if self.is_open {
            self.end_block(true);
        }
        self.start_block();
        self.label_blocks[label as usize] = Some(self.block);
        Some(label)
    }

    /// Meets an instruction: whether a block starts with it. What follows is about this one.
    #[inline]
    pub fn instruction(&mut self) -> bool {
        self.first_label = self.labels.len();
        if self.is_open {
            return false;
        }
        self.start_block();
        true
    }

    /// Meets a label among the operands.
    pub fn mention(&mut self, label: u32) -> LabelOperand {
        if let Some(listed) = self.scopes.branch_targets.get(&label) {
            self.labels.extend_from_slice(listed);
            return LabelOperand::Table;
        }
        if self.scopes.labels[label as usize].table.is_some() {
            return LabelOperand::Table;
        }
        self.labels.push(label);
        LabelOperand::Target((self.labels.len() - 1 - self.first_label) as u16)
    }

    /// Whether the instruction names somewhere to go.
    #[inline]
    pub fn has_labels(&self) -> bool {
        self.labels.len() > self.first_label
    }

    /// Ends the instruction, and with it the block if it is a terminator. Labels lead nowhere if it is no branch.
    #[inline]
    pub fn end(&mut self, terminator: Terminator, is_guarded: bool) {
        if !matches!(terminator, Terminator::Branch | Terminator::IndirectBranch) {
            self.labels.truncate(self.first_label);
        }
        if terminator != Terminator::None {
            self.end_block(is_guarded);
        }
    }

    fn start_block(&mut self) {
        self.block = Block::from_index(self.block.index() + 1);
        self.is_open = true;
    }

    fn end_block(&mut self, falls_through: bool) {
        self.is_open = false;
        self.ends.push(End {
            block: self.block,
            labels_end: self.labels.len() as u32,
            falls_through,
        });
    }

    /// The block that starts at a label, if one does.
    pub fn block_at(&self, label: u32) -> Option<Block> {
        self.label_blocks[label as usize]
    }

    /// The blocks that lead somewhere, in order: each with the labels it branches to, and whether control falls into the next
    /// one. Behind the last block there is nothing to fall into: the function ends there.
    pub fn ends(&self) -> impl Iterator<Item = (Block, &[u32], bool)> {
        let mut start = 0;
        self.ends.iter().map(move |end| {
            let labels = &self.labels[start..end.labels_end as usize];
            start = end.labels_end as usize;
            let falls_through = end.falls_through && end.block != self.block;
            (end.block, labels, falls_through)
        })
    }
}
