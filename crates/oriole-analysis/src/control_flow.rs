//! Successors, predecessors and reverse postorder of the blocks.

use crate::manager::{Analyses, Analysis, Others, Reads, Update};
use oriole_collections::BitSet;
use oriole_ir::graph::{Adjacency, postorder};
use oriole_ir::{Block, Change, Function, Journal};
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
        let mut leaves = vec![false; count];
        for &block in function.block_order() {
            leaves[block.index()] = leaves_at(function, block);
        }
        let mut flow = ControlFlow {
            successors,
            predecessors,
            reverse_postorder: Vec::new(),
            positions: Vec::new(),
            leaves,
        };
        flow.order(function.entry());
        flow
    }

    /// Finds reverse postorder, given successors.
    fn order(&mut self, entry: Block) {
        let nodes = postorder(&self.successors, entry.as_u32());
        self.reverse_postorder.clear();
        self.reverse_postorder
            .extend(nodes.into_iter().rev().map(Block::from_u32));
        self.positions.clear();
        self.positions
            .resize(self.successors.node_count(), u32::MAX);
        for (position, block) in self.reverse_postorder.iter().enumerate() {
            self.positions[block.index()] = position as u32;
        }
    }

    /// Gives a block other successors, in both directions.
    fn set_successors(&mut self, block: Block, targets: &[u32]) {
        let from = block.as_u32();
        let mut touched = self.successors.of(from).to_vec();
        touched.extend_from_slice(targets);
        touched.sort_unstable();
        touched.dedup();
        let mut row: Vec<u32> = Vec::new();
        for target in touched {
            let edges = targets.iter().filter(|&&other| other == target).count();
            let old = self.predecessors.of(target).iter().copied();
            // Predecessors are in order of their numbers, once per edge.
            row.clear();
            row.extend(old.clone().filter(|&other| other < from));
            row.extend(std::iter::repeat_n(from, edges));
            row.extend(old.filter(|&other| other > from));
            self.predecessors.set(target, &row);
        }
        self.successors.set(from, targets);
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

    /// The blocks that an edge leads back to.
    pub fn loop_headers(&self) -> BitSet<Block> {
        let mut headers: BitSet<Block> = BitSet::new();
        for &block in &self.reverse_postorder {
            let position = self.position(block);
            let targets = self.successors(block);
            headers.extend(targets.filter(|&target| self.position(target) <= position));
        }
        headers
    }

    /// Whether a block stands between a branch and a loop that the branch is not in, given the headers of all loops. `ptxas` hoists what
    /// does not change in the loop to such a block; where there is none, before the branch, so that it is executed on the other way too.
    pub fn is_preheader(&self, block: Block, headers: &BitSet<Block>) -> bool {
        let (mut before, mut behind) = (self.predecessors(block), self.successors(block));
        let (Some(branch), None) = (before.next(), before.next()) else {
            return false;
        };
        let (Some(header), None) = (behind.next(), behind.next()) else {
            return false;
        };
        let mut others = self.successors(branch).filter(|&other| other != block);
        headers.contains(header)
            && others.next().is_some_and(|other| other != header)
            && self.is_reachable(block)
            && self.position(block) < self.position(header)
    }

    /// Whether a thread may leave the function at the end of this block.
    pub fn may_leave(&self, block: Block) -> bool {
        self.leaves[block.index()]
    }
}

/// Whether a thread may leave the function at the end of a block.
#[inline]
fn leaves_at(function: &Function, block: Block) -> bool {
    let data = &function.blocks()[block];
    data.edges.is_empty()
        || function.last_instruction(block).is_some_and(|last| {
            let format = function.format(last);
            let runs_off_the_end = format.is_guarded() && !data.falls_through;
            let returns = matches!(
                format.effects.terminator,
                Terminator::Return | Terminator::Exit
            );
            returns || (format.is_terminator() && runs_off_the_end)
        })
}

/// Of how many blocks the edges are exchanged in place. Each moves what stands behind it in an array, and with more of them
/// it is cheaper to make the arrays again.
const MOST_EXCHANGED: usize = 12;

impl PartialEq for ControlFlow {
    fn eq(&self, other: &ControlFlow) -> bool {
        let same_edges = |a: &Adjacency, b: &Adjacency| {
            a.node_count() == b.node_count()
                && (0..a.node_count() as u32).all(|node| a.of(node) == b.of(node))
        };
        same_edges(&self.successors, &other.successors)
            && same_edges(&self.predecessors, &other.predecessors)
            && self.reverse_postorder == other.reverse_postorder
            && self.positions == other.positions
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
        variables: false,
    };

    fn compute(function: &Function, _: &mut Analyses) -> ControlFlow {
        ControlFlow::of(function)
    }

    /// Reads the blocks that the journal names again. Reverse postorder is walked again if an edge changed: a new block may
    /// come anywhere in it.
    fn update(&mut self, function: &Function, journal: &Journal, _: &mut Others<'_>) -> Update {
        let mut touched: Vec<Block> = Vec::new();
        let mut removed: Vec<Block> = Vec::new();
        for &change in &journal.entries {
            match change {
                Change::BlockRemoved(block) => removed.push(block),
                Change::BlockAdded(block)
                | Change::EdgesChanged(block)
                | Change::TerminatorChanged(block) => touched.push(block),
                Change::BlockSplit(block, other)
                | Change::BlocksMerged(block, other)
                | Change::EdgeSplit(block, other) => touched.extend([block, other]),
                _ => continue,
            }
            // A block may be named several times, but not that often.
            if touched.len() + removed.len() > 8 * MOST_EXCHANGED {
                return Update::Recompute;
            }
        }
        touched.sort_unstable();
        touched.dedup();
        removed.sort_unstable();
        touched.retain(|block| removed.binary_search(block).is_err());
        if touched.len() + removed.len() > MOST_EXCHANGED {
            return Update::Recompute;
        }
        let count = function.blocks().len();
        let mut is_other_graph = count != self.successors.node_count();
        self.successors.grow(count);
        self.predecessors.grow(count);
        self.leaves.resize(count, false);
        let mut targets: Vec<u32> = Vec::new();
        for &block in touched.iter().chain(&removed) {
            targets.clear();
            let edges = &function.blocks()[block].edges;
            targets.extend(edges.iter().map(|edge| edge.target.as_u32()));
            if self.successors.of(block.as_u32()) != targets {
                self.set_successors(block, &targets);
                is_other_graph = true;
            }
        }
        for &block in &touched {
            self.leaves[block.index()] = leaves_at(function, block);
        }
        for &block in &removed {
            self.leaves[block.index()] = false;
        }
        if is_other_graph {
            self.order(function.entry());
        }
        Update::Kept
    }
}
