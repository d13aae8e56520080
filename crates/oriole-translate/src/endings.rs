//! How each block ends in the text: which branches are written, and where they lead.
//!
//! A block that has nothing left in it is passed by, unless it stands before a loop; a branch to what comes next anyway is not
//! written, and a branch over another one is turned round, unless it leads to what is hardly ever executed: what control falls into,
//! `ptxas` takes for the usual way. A branch that would need a negated guard stays: `ptxas` unrolls no loop that such a branch decides.
//! Only now is it known which blocks are empty: copies on edges have
//! been placed, or have turned out not to be needed. Functions that nobody has edited end their blocks as they were written.

use crate::assignment::{Assignment, EdgeCopies};
use crate::copy_placement::Placement;
use oriole_analysis::branch_prediction::is_hardly_taken;
use oriole_collections::{BitSet, DenseSet, IndexVec};
use oriole_ir::{Block, Function, Instruction, Operand};
use oriole_isa::Terminator;
use oriole_syntax::tree::Guard;

/// What is done with the instruction that ends a block, if it is a branch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    /// It is written.
    Kept,
    /// It is left out.
    Dropped,
    /// It is written with the opposite guard, and leads where the block would have fallen through to.
    Turned,
}

/// True if the branch may be inverted: the result has a positive guard and does not fall into a rare block.
fn may_be_turned(function: &Function, branch: Instruction) -> bool {
    function.format(branch).guard == Guard::IfNot && !is_hardly_taken(function, branch)
}

/// The endings of all blocks.
pub(crate) struct Endings {
    endings: IndexVec<Block, Ending>,
    /// Where control gets that goes to each block.
    landings: IndexVec<Block, Block>,
    silent: BitSet<Block>,
    /// The branch to write behind the last instruction.
    behind: IndexVec<Block, Option<Block>>,
}

impl Endings {
    /// As they were written: branches are kept, and added where a block no longer comes before the one it falls into.
    pub fn written(function: &Function) -> Endings {
        let mut endings = Endings {
            endings: IndexVec::from_elem(Ending::Kept, function.blocks().len()),
            landings: function.blocks().keys().collect(),
            silent: BitSet::new(),
            behind: IndexVec::from_elem(None, function.blocks().len()),
        };
        let order = function.block_order();
        for (position, &block) in order.iter().enumerate() {
            let data = &function.blocks()[block];
            if let Some(edge) = data.fall_through() {
                let target = data.edges[edge].target;
                if order.get(position + 1) != Some(&target) {
                    endings.behind[block] = Some(target);
                }
            }
        }
        endings
    }

    /// With as few branches as can be.
    pub fn straightened(function: &Function, assignment: &Assignment) -> Endings {
        let mut endings = Endings::written(function);
        endings.find_silent(function, assignment);
        let split: DenseSet<(u32, u32)> = assignment
            .edges
            .iter()
            .filter(|edge| edge.placement == Placement::NewBlock)
            .map(|edge| (edge.block.as_u32(), edge.edge as u32))
            .collect();
        let copies_behind: DenseSet<Block> = assignment
            .edges
            .iter()
            .filter(|edge| edge.placement == Placement::AfterTerminator)
            .map(|edge| edge.block)
            .collect();
        // Backwards, so that the next block with something in it is known.
        let mut next: Option<Block> = None;
        for &block in function.block_order().iter().rev() {
            if endings.silent.contains(block) {
                endings.endings[block] = Ending::Dropped;
                endings.behind[block] = None;
                continue;
            }
            endings.end(
                function,
                block,
                next,
                &split,
                copies_behind.contains(&block),
            );
            next = Some(block);
        }
        endings
    }

    fn end(
        &mut self,
        function: &Function,
        block: Block,
        next: Option<Block>,
        split: &DenseSet<(u32, u32)>,
        copies_behind: bool,
    ) {
        let data = &function.blocks()[block];
        let landing = |edge: usize| self.landings[data.edges[edge].target];
        let last = function
            .last_instruction(block)
            .filter(|&last| function.format(last).effects.terminator == Terminator::Branch);
        let mut behind = data.fall_through().map(landing);
        if let Some(last) = last {
            match data.edges.len() {
                1 if is_plain(function, last) && Some(landing(0)) == next => {
                    self.endings[block] = Ending::Dropped;
                }
                2 if data.falls_through && !copies_behind => {
                    let (taken, fallen) = (landing(0), landing(1));
                    let is_split = split.contains(&(block.as_u32(), 0));
                    if taken == fallen && !is_split {
                        self.endings[block] = Ending::Dropped;
                    } else if Some(taken) == next && (is_split || may_be_turned(function, last)) {
                        // A block of copies stands right before the one they are for, so it is fallen into all the same.
                        self.endings[block] = Ending::Turned;
                        behind = None;
                    }
                }
                _ => {}
            }
        }
        self.behind[block] = behind.filter(|&target| Some(target) != next);
    }

    /// Whether a block falls into the copies of its own branch.
    pub fn falls_into_copies(&self, edge: &EdgeCopies) -> bool {
        edge.placement == Placement::NewBlock
            && edge.edge == 0
            && self.endings[edge.block] == Ending::Turned
    }

    /// Finds blocks with nothing to write in them, and where they lead.
    fn find_silent(&mut self, function: &Function, assignment: &Assignment) {
        let mut busy: BitSet<Block> = BitSet::with_domain(function.blocks().len());
        busy.insert(function.entry());
        for edge in &assignment.edges {
            let target = function.blocks()[edge.block].edges[edge.edge].target;
            match edge.placement {
                Placement::AfterTerminator | Placement::BeforeTerminator => {
                    busy.insert(edge.block);
                }
                Placement::TargetStart | Placement::NewBlock => {
                    busy.insert(target);
                }
            }
        }
        for &block in function.block_order() {
            if function.ends_in_indirect_branch(block) {
                for edge in &function.blocks()[block].edges {
                    busy.insert(edge.target);
                }
            }
        }
        let order = function.block_order();
        for (position, &block) in order.iter().enumerate() {
            let edges = &function.blocks()[block].edges;
            let next = order.get(position + 1);
            if assignment.preheaders.contains(block) && next != Some(&edges[0].target) {
                continue;
            }
            let mut instructions = function.instructions_of(block);
            let is_empty = match (instructions.next(), instructions.next()) {
                (None, None) => true,
                (Some(only), None) => {
                    function.format(only).effects.terminator == Terminator::Branch
                        && is_plain(function, only)
                }
                _ => false,
            };
            if is_empty && !busy.contains(block) && edges.len() == 1 {
                self.silent.insert(block);
            }
        }
        // Follow chains; what runs in a circle stays.
        for &block in function.block_order() {
            let mut at = block;
            let mut path = Vec::new();
            while self.silent.contains(at) && self.landings[at] == at && !path.contains(&at) {
                path.push(at);
                at = function.blocks()[at].edges[0].target;
                if path.len() > MOST_HOPS {
                    break;
                }
            }
            let lands = if path.contains(&at) || path.len() > MOST_HOPS {
                for &silent in &path {
                    self.silent.remove(silent);
                }
                continue;
            } else {
                self.landings[at]
            };
            for silent in path {
                self.landings[silent] = lands;
            }
        }
    }

    /// What becomes of the branch that ends a block.
    pub fn ending(&self, block: Block) -> Ending {
        self.endings[block]
    }

    /// Where control gets that goes to a block.
    pub fn landing(&self, block: Block) -> Block {
        self.landings[block]
    }

    /// Whether nothing of a block is written.
    pub fn is_silent(&self, block: Block) -> bool {
        self.silent.contains(block)
    }

    /// The branch to write behind a block.
    pub fn behind(&self, block: Block) -> Option<Block> {
        self.behind[block]
    }
}

/// Empty blocks in a row that are passed by in one go.
const MOST_HOPS: usize = 64;

/// Whether a branch is `bra label` and nothing else.
fn is_plain(function: &Function, branch: Instruction) -> bool {
    !function.format(branch).is_guarded()
        && matches!(function.operands(branch), [Operand::Target(0)])
}
