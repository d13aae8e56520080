//! Successors, predecessors and reverse postorder of the blocks.

use crate::manager::{Analyses, Analysis, Reads};
use oriole_ir::graph::{Adjacency, postorder};
use oriole_ir::{Block, Function};
use oriole_isa::Terminator;

/// The control flow graph.
///
/// A block that a guarded `ret` or `exit` may leave has that exit too: see [`ControlFlow::may_leave`].
#[derive(Clone, Debug)]
pub struct ControlFlow {
    successors: Adjacency,
    predecessors: Adjacency,
    reverse_postorder: Vec<Block>,
    /// Position in reverse postorder, `u32::MAX` if unreachable.
    positions: Vec<u32>,
    leaves: Vec<bool>,
}

impl ControlFlow {
    /// The graph of a function.
    pub fn of(function: &Function) -> ControlFlow {
        let count = function.blocks().len();
        let edges = function.block_order().iter().flat_map(|&block| {
            function.blocks()[block]
                .edges
                .iter()
                .map(move |edge| (block.as_u32(), edge.target.as_u32()))
        });
        let successors = Adjacency::new(count, edges);
        let predecessors = successors.reversed();
        let reverse_postorder: Vec<Block> = postorder(&successors, function.entry().as_u32())
            .into_iter()
            .rev()
            .map(|node| Block::from_index(node as usize))
            .collect();
        let mut positions = vec![u32::MAX; count];
        for (position, block) in reverse_postorder.iter().enumerate() {
            positions[block.index()] = position as u32;
        }
        let mut leaves = vec![false; count];
        for &block in function.block_order() {
            let data = &function.blocks()[block];
            leaves[block.index()] = data.edges.is_empty()
                || function.last_instruction(block).is_some_and(|last| {
                    let format = function.format(last);
                    let runs_off_the_end = format.is_guarded() && !data.falls_through;
                    let returns = matches!(
                        format.effects.terminator,
                        Terminator::Return | Terminator::Exit
                    );
                    returns || (format.is_terminator() && runs_off_the_end)
                });
        }
        ControlFlow {
            successors,
            predecessors,
            reverse_postorder,
            positions,
            leaves,
        }
    }

    /// The graph as arrays.
    pub fn successor_graph(&self) -> &Adjacency {
        &self.successors
    }

    /// The graph with edges turned round.
    pub fn predecessor_graph(&self) -> &Adjacency {
        &self.predecessors
    }

    /// Blocks that a block leads to, in order of its edges.
    pub fn successors(&self, block: Block) -> impl DoubleEndedIterator<Item = Block> + '_ {
        self.successors
            .of(block.as_u32())
            .iter()
            .map(|&node| Block::from_index(node as usize))
    }

    /// Blocks with an edge to a block; once per edge.
    pub fn predecessors(&self, block: Block) -> impl ExactSizeIterator<Item = Block> + '_ {
        self.predecessors
            .of(block.as_u32())
            .iter()
            .map(|&node| Block::from_index(node as usize))
    }

    /// Reachable blocks in reverse postorder.
    pub fn reverse_postorder(&self) -> &[Block] {
        &self.reverse_postorder
    }

    /// Whether execution can get to a block.
    pub fn is_reachable(&self, block: Block) -> bool {
        self.positions[block.index()] != u32::MAX
    }

    /// Position of a reachable block in reverse postorder.
    pub fn position(&self, block: Block) -> usize {
        debug_assert!(self.is_reachable(block));
        self.positions[block.index()] as usize
    }

    /// Whether an edge leads back to a block at or before the one it leaves: every cycle has such an edge.
    pub fn has_cycles(&self) -> bool {
        self.reverse_postorder.iter().any(|&block| {
            let position = self.position(block);
            self.successors(block)
                .any(|target| self.position(target) <= position)
        })
    }

    /// Whether a thread may leave the function at the end of this block.
    pub fn may_leave(&self, block: Block) -> bool {
        self.leaves[block.index()]
    }
}

impl PartialEq for ControlFlow {
    fn eq(&self, other: &ControlFlow) -> bool {
        let same_edges = |a: &Adjacency, b: &Adjacency| {
            a.node_count() == b.node_count()
                && (0..a.node_count() as u32).all(|node| a.of(node) == b.of(node))
        };
        same_edges(&self.successors, &other.successors)
            && self.reverse_postorder == other.reverse_postorder
            && self.leaves == other.leaves
    }
}

impl Analysis for ControlFlow {
    const NAME: &'static str = "control-flow";
    const READS: Reads = Reads {
        control_flow: true,
        values: false,
        order: false,
        effects: false,
    };

    fn compute(function: &Function, _: &mut Analyses) -> ControlFlow {
        ControlFlow::of(function)
    }
}
