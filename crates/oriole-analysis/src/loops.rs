//! The loop nest: natural loops, their headers, bodies and nesting.
//!
//! ## Method
//! Loops are found as [`LoopNest`] says. A cycle without a dominating header is irreducible: it is reported, and is no loop.

use crate::control_flow::ControlFlow;
use crate::dominators::Dominators;
use crate::manager::{Analyses, Analysis, Others, Reads, Update};
use crate::reshaping::{Step, steps};
use oriole_ir::graph::LoopNest;
use oriole_ir::{Block, Function, Journal};

oriole_collections::entity! {
    /// A loop.
    pub struct Loop = "loop";
}

/// The loops of a function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loops {
    nest: LoopNest,
    back_edges: Vec<Vec<Block>>,
    irreducible: Vec<(Block, Block)>,
}

impl Loops {
    /// The loops of a graph without cycles.
    pub fn none(flow: &ControlFlow) -> Loops {
        Loops {
            nest: LoopNest::none(flow.successor_graph().node_count()),
            back_edges: Vec::new(),
            irreducible: Vec::new(),
        }
    }

    /// The loops of a graph.
    pub fn of(flow: &ControlFlow, dominators: &Dominators) -> Loops {
        let nest = LoopNest::new(flow.predecessor_graph(), dominators.tree());
        let mut irreducible = Vec::new();
        for &block in flow.reverse_postorder() {
            for target in flow.successors(block) {
                if flow.position(target) <= flow.position(block)
                    && !dominators.dominates(target, block)
                {
                    irreducible.push((block, target));
                }
            }
        }
        let back_edges = (0..nest.len() as u32)
            .map(|this| {
                let header = Block::from_u32(nest.header(this));
                flow.predecessors(header)
                    .filter(|&from| flow.is_reachable(from) && dominators.dominates(header, from))
                    .collect()
            })
            .collect();
        Loops {
            nest,
            back_edges,
            irreducible,
        }
    }

    /// Edges that left one block leave another: the two follow each other, so that no edge becomes a back edge by it.
    fn move_edges(&mut self, from: Block, to: Block) {
        for back_edges in &mut self.back_edges {
            if back_edges.contains(&from) {
                for edge in back_edges.iter_mut().filter(|edge| **edge == from) {
                    *edge = to;
                }
                back_edges.sort_unstable();
            }
        }
        for edge in &mut self.irreducible {
            if edge.0 == from {
                edge.0 = to;
            }
        }
    }

    /// The loops with blocks as numbers.
    pub fn nest(&self) -> &LoopNest {
        &self.nest
    }

    /// All loops, inner before outer.
    pub fn iter(&self) -> impl Iterator<Item = Loop> + use<> {
        (0..self.nest.len()).map(Loop::from_index)
    }

    /// The innermost loop around a block.
    pub fn innermost(&self, block: Block) -> Option<Loop> {
        self.nest.innermost(block.as_u32()).map(Loop::from_u32)
    }

    /// How many loops are around a block.
    pub fn depth(&self, block: Block) -> u32 {
        self.nest
            .innermost(block.as_u32())
            .map_or(0, |inner| self.nest.depth(inner))
    }

    /// The block a loop is entered at.
    pub fn header(&self, this: Loop) -> Block {
        Block::from_u32(self.nest.header(this.as_u32()))
    }

    /// The loop directly around a loop.
    pub fn parent(&self, this: Loop) -> Option<Loop> {
        self.nest.parent(this.as_u32()).map(Loop::from_u32)
    }

    /// The blocks that jump back to the header.
    pub fn back_edges(&self, this: Loop) -> &[Block] {
        &self.back_edges[this.index()]
    }

    /// Whether a block is in a loop or in one inside it.
    pub fn contains(&self, this: Loop, block: Block) -> bool {
        self.nest.contains(this.as_u32(), block.as_u32())
    }

    /// The outermost loop around a block that contains none of some other blocks: see [`LoopNest::outermost_without`].
    pub fn outermost_without(&self, block: Block, positions: &[u32]) -> Option<Loop> {
        self.nest
            .outermost_without(block.as_u32(), positions)
            .map(Loop::from_u32)
    }

    /// Edges that enter a cycle elsewhere than at its dominating header.
    pub fn irreducible_edges(&self) -> &[(Block, Block)] {
        &self.irreducible
    }
}

/// The blocks of each loop.
#[derive(Clone, Debug)]
pub struct LoopBlocks {
    /// By the place of their innermost loop in a preorder of the nest, and then in reverse postorder.
    blocks: Vec<Block>,
    /// Where those of each place begin, and the end.
    starts: Vec<u32>,
}

impl LoopBlocks {
    /// The blocks of the loops of a graph.
    pub fn of(flow: &ControlFlow, loops: &Loops) -> LoopBlocks {
        let position = |block: Block| loops.nest.position(block.as_u32());
        let mut starts: Vec<u32> = vec![0; loops.nest.len() + 1];
        for &block in flow.reverse_postorder() {
            if let Some(position) = position(block) {
                starts[position as usize + 1] += 1;
            }
        }
        for place in 1..starts.len() {
            starts[place] += starts[place - 1];
        }
        let count = starts.last().copied().unwrap_or(0);
        let mut blocks = vec![Block::from_index(0); count as usize];
        let mut next = starts.clone();
        for &block in flow.reverse_postorder() {
            if let Some(position) = position(block) {
                let place = &mut next[position as usize];
                blocks[*place as usize] = block;
                *place += 1;
            }
        }
        LoopBlocks { blocks, starts }
    }

    /// The blocks of a loop, those of loops in it included. Those of each of these are in reverse postorder.
    pub fn all(&self, loops: &Loops, this: Loop) -> &[Block] {
        let range = loops.nest.range(this.as_u32());
        self.between(*range.start(), *range.end() + 1)
    }

    /// The blocks of a loop that are in no loop in it, in reverse postorder.
    pub fn own(&self, loops: &Loops, this: Loop) -> &[Block] {
        let start = *loops.nest.range(this.as_u32()).start();
        self.between(start, start + 1)
    }

    fn between(&self, first: u32, end: u32) -> &[Block] {
        let places = [first, end].map(|place| self.starts[place as usize] as usize);
        &self.blocks[places[0]..places[1]]
    }
}

impl Analysis for Loops {
    const NAME: &'static str = "loops";
    const READS: Reads = Reads {
        control_flow: true,
        values: false,
        order: false,
        effects: false,
        variables: false,
    };

    fn compute(function: &Function, analyses: &mut Analyses) -> Loops {
        let flow = analyses.get::<ControlFlow>(function);
        if !flow.has_cycles() {
            return Loops::none(&flow);
        }
        let dominators = analyses.get::<Dominators>(function);
        Loops::of(&flow, &dominators)
    }

    /// The two halves of a block, and two blocks that are merged, are in the same loops. A block on an edge, or blocks split and
    /// merged in turn, may change the order of the dominator tree, by which loops are numbered; without cycles there is nothing
    /// to number.
    fn update(
        &mut self,
        function: &Function,
        journal: &Journal,
        others: &mut Others<'_>,
    ) -> Update {
        let Some((steps, _)) = steps(function, journal, others) else {
            return Update::Recompute;
        };
        let has_cycles = !self.nest.is_empty() || !self.irreducible.is_empty();
        let has = |kind: fn(&Step<Block>) -> bool| steps.iter().any(kind);
        let is_split = has(|step| matches!(step, Step::Split(..)));
        let is_merged = has(|step| matches!(step, Step::Merge(..)));
        let is_edge_split = has(|step| matches!(step, Step::SplitEdge(..)));
        if has_cycles && (is_edge_split || is_split && is_merged) {
            return Update::Recompute;
        }
        self.nest.grow(function.blocks().len());
        for step in steps {
            match step {
                Step::Split(block, rest) => {
                    self.nest.set_like(rest.as_u32(), block.as_u32());
                    self.move_edges(block, rest);
                }
                Step::Merge(block, next) => {
                    self.nest.remove(next.as_u32());
                    self.move_edges(next, block);
                }
                Step::SplitEdge(..) => {}
            }
        }
        Update::Kept
    }
}
