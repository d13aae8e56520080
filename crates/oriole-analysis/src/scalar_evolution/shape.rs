//! Blocks, dominators and loops as the analysis read them, and what of it a change touches.
//!
//! Loops are named by their header: numbers of loops change when others come and go.

use super::tables::Key;
use crate::control_flow::ControlFlow;
use crate::dominators::Dominators;
use crate::loops::{Loop, Loops};
use oriole_collections::{IndexVec, PackedOption};
use oriole_ir::{Block, Function};

/// The graph of a function.
#[derive(Clone, Debug)]
pub(super) struct Shape {
    pub flow: ControlFlow,
    pub dominators: Dominators,
    pub loops: Loops,
    /// The loop each header is the header of.
    loop_of_header: IndexVec<Block, PackedOption<Loop>>,
    /// Which edge of the immediate dominator every way to a block takes, if all take one.
    dominating_edges: IndexVec<Block, Option<u32>>,
    exits: IndexVec<Loop, Vec<ExitEdge>>,
}

/// An edge out of a loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ExitEdge {
    pub from: Block,
    /// Which edge of the block leaves the loop; nothing if the thread ends there.
    pub edge: Option<u32>,
}

impl Shape {
    pub fn of(
        function: &Function,
        flow: ControlFlow,
        dominators: Dominators,
        loops: Loops,
    ) -> Shape {
        let count = function.blocks().len();
        let mut loop_of_header = IndexVec::from_elem(PackedOption::none(), count);
        for this in loops.iter() {
            loop_of_header[loops.header(this)] = PackedOption::some(this);
        }
        let dominating_edges = dominating_edges(function, &flow, &dominators);
        let mut exits = IndexVec::from_elem(Vec::new(), loops.iter().count());
        for &from in flow.reverse_postorder() {
            let targets = function.edges(from).iter().map(|edge| Some(edge.target));
            let ends = flow.may_leave(from).then_some(None);
            for (index, target) in targets.chain(ends).enumerate() {
                let edge = target.is_some().then_some(index as u32);
                let mut inner = loops.innermost(from);
                while let Some(this) = inner
                    && !target.is_some_and(|target| loops.contains(this, target))
                {
                    exits[this].push(ExitEdge { from, edge });
                    inner = loops.parent(this);
                }
            }
        }
        Shape {
            flow,
            dominators,
            loops,
            loop_of_header,
            dominating_edges,
            exits,
        }
    }

    /// The graph of a function, computed now.
    pub fn compute(function: &Function) -> Shape {
        let flow = ControlFlow::of(function);
        let dominators = Dominators::of(function, &flow);
        let loops = match flow.has_cycles() {
            true => Loops::of(&flow, &dominators),
            false => Loops::none(&flow),
        };
        Shape::of(function, flow, dominators, loops)
    }

    /// Whether the block was there when this was computed.
    pub fn has(&self, block: Block) -> bool {
        block.index() < self.loop_of_header.len()
    }

    pub fn is_reachable(&self, block: Block) -> bool {
        block.index() < self.loop_of_header.len() && self.flow.is_reachable(block)
    }

    /// The loop with this header.
    pub fn headed(&self, header: Block) -> Option<Loop> {
        self.loop_of_header.get(header)?.expand()
    }

    /// Whether a block is in the loop with this header.
    pub fn contains(&self, header: Block, block: Block) -> bool {
        self.headed(header)
            .is_some_and(|this| self.is_reachable(block) && self.loops.contains(this, block))
    }

    /// Headers of all loops in reverse postorder: those around a loop come before it.
    pub fn headers(&self) -> impl Iterator<Item = Block> + '_ {
        let order = self.flow.reverse_postorder().iter().copied();
        order.filter(|&block| self.headed(block).is_some())
    }

    /// Whether a block is entered by an edge that goes back, or is the entry: its parameters are opaque by themselves.
    pub fn has_retreating_edge(&self, function: &Function, block: Block) -> bool {
        block == function.entry()
            || self.flow.predecessors(block).any(|from| {
                self.flow.is_reachable(from)
                    && self.flow.position(from) >= self.flow.position(block)
            })
    }

    /// The edge of its immediate dominator that every way to a block takes.
    pub fn dominating_edge(&self, block: Block) -> Option<(Block, u32)> {
        let edge = (*self.dominating_edges.get(block)?)?;
        Some((self.dominators.immediate(block)?, edge))
    }

    /// The edges out of the loop with this header, and the places in it where a thread may end, in reverse postorder.
    pub fn exits(&self, header: Block) -> &[ExitEdge] {
        self.headed(header)
            .map_or(&[], |this| self.exits[this].as_slice())
    }

    fn inner_header(&self, block: Block) -> Option<Block> {
        if !self.is_reachable(block) {
            return None;
        }
        let inner = self.loops.innermost(block)?;
        Some(self.loops.header(inner))
    }

    fn parent_header(&self, header: Block) -> Option<Block> {
        let parent = self.loops.parent(self.headed(header)?)?;
        Some(self.loops.header(parent))
    }

    /// Whether the edges to a block are those it had, and it is a header and reached if it was.
    fn has_same_edges_to(&self, old: &Shape, block: Block) -> bool {
        if !self.is_reachable(block) || !old.is_reachable(block) {
            return self.is_reachable(block) == old.is_reachable(block);
        }
        self.headed(block).is_some() == old.headed(block).is_some()
            && self.edges_to(block).eq(old.edges_to(block))
    }

    /// The blocks that control comes to a block from, once per edge, and whether it goes back.
    fn edges_to(&self, block: Block) -> impl Iterator<Item = (Block, bool)> + '_ {
        let position = self.flow.position(block);
        let from = self.flow.predecessors(block);
        let reached = from.filter(|&from| self.flow.is_reachable(from));
        reached.map(move |from| (from, self.flow.position(from) >= position))
    }

    /// The sources that are not what they were before.
    pub fn touched_since(&self, function: &Function, old: &Shape) -> Vec<Key> {
        let mut touched = Vec::new();
        let count = function.blocks().len();
        let blocks = (0..count).map(Block::from_index);
        let mut changed: IndexVec<Block, bool> = IndexVec::from_elem(false, count);
        let was = |block: Block| block.index() < old.loop_of_header.len();
        for block in blocks.clone() {
            if !was(block) || !self.has_same_edges_to(old, block) {
                touched.push(Key::incoming(block));
            }
            let successors_differ = !was(block)
                || self.flow.successor_graph().of(block.as_u32())
                    != old.flow.successor_graph().of(block.as_u32())
                || self.flow.may_leave(block) != old.flow.may_leave(block);
            if successors_differ {
                touched.push(Key::terminator(block));
            }
            let (before, now) = (
                was(block).then(|| old.inner_header(block)).flatten(),
                self.inner_header(block),
            );
            if successors_differ || before != now {
                for header in before.into_iter().chain(now) {
                    changed[header] = true;
                }
            }
            let (before, now) = (
                was(block).then(|| old.parent_header(block)).flatten(),
                self.parent_header(block),
            );
            if before != now {
                for header in before.into_iter().chain(now) {
                    changed[header] = true;
                }
            }
        }
        for shape in [old, self] {
            // Inner loops come before those around them.
            for this in shape.loops.iter() {
                let header = shape.loops.header(this);
                if changed[header]
                    && let Some(parent) = shape.parent_header(header)
                {
                    changed[parent] = true;
                }
            }
        }
        touched.extend(blocks.clone().filter(|&it| changed[it]).map(Key::in_loop));
        let mut same: IndexVec<Block, bool> = IndexVec::from_elem(false, count);
        for block in self.dominators.preorder() {
            let immediate = self.dominators.immediate(block);
            same[block] = was(block)
                && old.is_reachable(block)
                && old.dominators.immediate(block) == immediate
                && old.dominating_edges[block] == self.dominating_edges[block]
                && immediate.is_none_or(|above| same[above]);
        }
        touched.extend(blocks.filter(|&it| !same[it]).map(Key::dominance));
        touched
    }
}

/// Of each block the only edge from the immediate dominator that leads to it, if all other edges to it come from behind it.
fn dominating_edges(
    function: &Function,
    flow: &ControlFlow,
    dominators: &Dominators,
) -> IndexVec<Block, Option<u32>> {
    let mut edges = IndexVec::from_elem(None, function.blocks().len());
    for &above in flow.reverse_postorder() {
        for (position, block) in flow.successors(above).enumerate() {
            if dominators.immediate(block) == Some(above) {
                edges[block] = Some(position as u32);
            }
        }
    }
    for &block in flow.reverse_postorder() {
        let Some(above) = dominators.immediate(block) else {
            continue;
        };
        let is_behind = |from| !flow.is_reachable(from) || dominators.dominates(block, from);
        let before = flow.predecessors(block).filter(|&from| !is_behind(from));
        // Once per edge.
        if !before.eq([above]) {
            edges[block] = None;
        }
    }
    edges
}
