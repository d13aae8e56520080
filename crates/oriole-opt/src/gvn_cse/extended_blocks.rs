//! The pre-pass of mode 2 with `GvnCseExtendedBlocks`: which instructions may have an equal one in their extended basic block.
//!
//! An extended basic block is a block with several ways in, or none, and everything that is reached from it through blocks
//! with one way in. Instructions of one format that occur twice in such a region are marked, and then, until nothing
//! changes, the instructions their operands come from: whole expression trees. What is not marked has nothing equal in its
//! region and need not be looked up.

use oriole_analysis::ControlFlow;
use oriole_collections::{BitSet, DenseMap, IndexVec};
use oriole_ir::{Block, Definition, Format, Function, Instruction};

/// The regions of a function and what is marked in them.
pub(super) struct ExtendedBlocks {
    roots: IndexVec<Block, Block>,
    marked: BitSet<Instruction>,
}

impl ExtendedBlocks {
    pub fn of(function: &Function, flow: &ControlFlow) -> ExtendedBlocks {
        let mut roots: IndexVec<Block, Block> = function.blocks().keys().collect();
        for &block in flow.reverse_postorder() {
            let mut from = flow.predecessors(block);
            if let (Some(only), None) = (from.next(), from.next())
                && flow.is_reachable(only)
                && only != block
                && block != function.entry()
            {
                roots[block] = roots[only];
            }
        }
        let mut seen: DenseMap<(u32, u32), Instruction> = DenseMap::new();
        let mut marked: BitSet<Instruction> = BitSet::with_domain(function.instruction_bound());
        let mut worklist: Vec<Instruction> = Vec::new();
        for &block in flow.reverse_postorder() {
            for instruction in function.instructions_of(block) {
                let format: Format = function.instruction(instruction).format;
                let key = (roots[block].as_u32(), format.as_u32());
                let first = *seen.get_or_insert_with(key, || instruction);
                if first != instruction {
                    worklist.push(first);
                    worklist.push(instruction);
                }
            }
        }
        while let Some(instruction) = worklist.pop() {
            if !marked.insert(instruction) {
                continue;
            }
            for value in function.uses(instruction) {
                if let Definition::Instruction(source) = function.values()[value].definition {
                    worklist.push(source);
                }
            }
        }
        ExtendedBlocks { roots, marked }
    }

    /// Whether an instruction may have an equal one in its region.
    pub fn is_marked(&self, instruction: Instruction) -> bool {
        self.marked.contains(instruction)
    }

    /// Whether two blocks are in one region.
    pub fn are_together(&self, one: Block, other: Block) -> bool {
        self.roots[one] == self.roots[other]
    }
}
