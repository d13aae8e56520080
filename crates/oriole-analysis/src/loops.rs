//! The loop nest: natural loops, their headers, bodies and nesting.
//!
//! ## Method
//! A back edge leads to a block that dominates its source; the loop of a header is every block that reaches one of its back
//! edges without passing the header. Headers are taken innermost first (reverse preorder of the dominator tree), and a
//! block already in an inner loop is skipped to the header of the outermost loop found around it (union-find with path
//! compression), so the walk is nearly linear in the graph. Loops are then numbered along the nest, so that "is inside" is two
//! comparisons. A cycle without a dominating header is irreducible: it is reported, and is no loop.

use crate::control_flow::ControlFlow;
use crate::dominators::Dominators;
use crate::manager::{Analyses, Analysis, Reads};
use oriole_collections::IndexVec;
use oriole_ir::{Block, Function};

oriole_collections::entity! {
    /// A loop.
    pub struct Loop = "loop";
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct LoopData {
    header: Block,
    parent: Option<Loop>,
    depth: u32,
    back_edges: Vec<Block>,
    /// Its position in a preorder of the nest, and that of the last loop inside it.
    enter: u32,
    leave: u32,
}

/// The loops of a function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loops {
    loops: IndexVec<Loop, LoopData>,
    innermost: Vec<Option<Loop>>,
    irreducible: Vec<(Block, Block)>,
}

impl Loops {
    /// The loops of a graph without cycles.
    pub fn none(flow: &ControlFlow) -> Loops {
        Loops {
            loops: IndexVec::new(),
            innermost: vec![None; flow.successor_graph().node_count()],
            irreducible: Vec::new(),
        }
    }

    /// The loops of a graph.
    pub fn of(flow: &ControlFlow, dominators: &Dominators) -> Loops {
        let mut loops = Loops::none(flow);
        for &block in flow.reverse_postorder() {
            for target in flow.successors(block) {
                if flow.position(target) <= flow.position(block)
                    && !dominators.dominates(target, block)
                {
                    loops.irreducible.push((block, target));
                }
            }
        }
        let preorder: Vec<Block> = dominators.preorder().collect();
        let mut worklist: Vec<Block> = Vec::new();
        // For each loop one around it, or itself: a forest that is flattened as it is walked.
        let mut outermost: IndexVec<Loop, Loop> = IndexVec::new();
        for &header in preorder.iter().rev() {
            let back_edges: Vec<Block> = flow
                .predecessors(header)
                .filter(|&from| flow.is_reachable(from) && dominators.dominates(header, from))
                .collect();
            if back_edges.is_empty() {
                continue;
            }
            worklist.extend(&back_edges);
            let this = loops.loops.push(LoopData {
                header,
                parent: None,
                depth: 0,
                back_edges,
                enter: 0,
                leave: 0,
            });
            outermost.push(this);
            while let Some(block) = worklist.pop() {
                match loops.innermost[block.index()] {
                    None => {
                        loops.innermost[block.index()] = Some(this);
                        if block != header {
                            worklist.extend(
                                flow.predecessors(block)
                                    .filter(|&from| flow.is_reachable(from)),
                            );
                        }
                    }
                    Some(inner) => {
                        // The outermost loop found so far around this block becomes a child of the new one.
                        let mut child = inner;
                        while outermost[child] != child {
                            outermost[child] = outermost[outermost[child]];
                            child = outermost[child];
                        }
                        if child != this {
                            loops.loops[child].parent = Some(this);
                            outermost[child] = this;
                            let inner_header = loops.loops[child].header;
                            worklist.extend(
                                flow.predecessors(inner_header)
                                    .filter(|&from| flow.is_reachable(from)),
                            );
                        }
                    }
                }
            }
        }
        // Outer loops were found after inner ones: depths go from the last to the first.
        for index in (0..loops.loops.len()).rev() {
            let this = Loop::from_index(index);
            let depth = loops.loops[this]
                .parent
                .map_or(0, |parent| loops.loops[parent].depth);
            loops.loops[this].depth = depth + 1;
        }
        loops.number_nest();
        loops
    }

    /// Numbers the loops so that those inside a loop follow it.
    fn number_nest(&mut self) {
        // How many loops each has inside, itself included; inner ones come first.
        let mut sizes: IndexVec<Loop, u32> = IndexVec::from_elem(1, self.loops.len());
        for this in self.iter() {
            if let Some(parent) = self.loops[this].parent {
                sizes[parent] += sizes[this];
            }
        }
        // The next free position in each loop, and outside all of them.
        let mut next: IndexVec<Loop, u32> = IndexVec::from_elem(0, self.loops.len());
        let mut next_outside = 0;
        for index in (0..self.loops.len()).rev() {
            let this = Loop::from_index(index);
            let place = match self.loops[this].parent {
                Some(parent) => &mut next[parent],
                None => &mut next_outside,
            };
            let enter = *place;
            *place += sizes[this];
            next[this] = enter + 1;
            self.loops[this].enter = enter;
            self.loops[this].leave = enter + sizes[this] - 1;
        }
    }

    /// All loops, inner before outer.
    pub fn iter(&self) -> impl Iterator<Item = Loop> + use<> {
        (0..self.loops.len()).map(Loop::from_index)
    }

    /// The innermost loop around a block.
    pub fn innermost(&self, block: Block) -> Option<Loop> {
        self.innermost[block.index()]
    }

    /// How many loops are around a block.
    pub fn depth(&self, block: Block) -> u32 {
        self.innermost(block)
            .map_or(0, |inner| self.loops[inner].depth)
    }

    /// The block a loop is entered at.
    pub fn header(&self, this: Loop) -> Block {
        self.loops[this].header
    }

    /// The loop directly around a loop.
    pub fn parent(&self, this: Loop) -> Option<Loop> {
        self.loops[this].parent
    }

    /// The blocks that jump back to the header.
    pub fn back_edges(&self, this: Loop) -> &[Block] {
        &self.loops[this].back_edges
    }

    /// Whether a block is in a loop or in one inside it.
    pub fn contains(&self, this: Loop, block: Block) -> bool {
        self.innermost(block)
            .is_some_and(|inner| self.is_inside(inner, this))
    }

    /// Whether a loop is another one or inside it.
    pub fn is_inside(&self, inner: Loop, outer: Loop) -> bool {
        let LoopData { enter, leave, .. } = self.loops[outer];
        (enter..=leave).contains(&self.loops[inner].enter)
    }

    /// The position of the innermost loop around a block in a preorder of the nest.
    pub fn nest_position(&self, block: Block) -> Option<u32> {
        self.innermost(block).map(|this| self.loops[this].enter)
    }

    /// The [`Loops::nest_position`]s of the blocks in a loop: from the first to the last of these.
    pub fn nest_range(&self, this: Loop) -> std::ops::RangeInclusive<u32> {
        self.loops[this].enter..=self.loops[this].leave
    }

    /// The outermost loop around a block that contains none of some other blocks, given the [`Loops::nest_position`]s of
    /// those, sorted.
    ///
    /// A register that the other blocks define, and no others, holds the same everywhere in this loop; and if it is live at
    /// the start of the block, it is live at the start of every block of the loop.
    pub fn outermost_without(&self, block: Block, positions: &[u32]) -> Option<Loop> {
        let is_free = |&this: &Loop| {
            let LoopData { enter, leave, .. } = self.loops[this];
            let next = positions.partition_point(|&position| position < enter);
            positions.get(next).is_none_or(|&position| position > leave)
        };
        let mut found = self.innermost(block).filter(is_free)?;
        while let Some(parent) = self.parent(found).filter(is_free) {
            found = parent;
        }
        Some(found)
    }

    /// Edges that enter a cycle elsewhere than at its dominating header.
    pub fn irreducible_edges(&self) -> &[(Block, Block)] {
        &self.irreducible
    }
}

impl Analysis for Loops {
    const NAME: &'static str = "loops";
    const READS: Reads = Reads {
        control_flow: true,
        values: false,
        order: false,
        effects: false,
    };

    fn compute(function: &Function, analyses: &mut Analyses) -> Loops {
        let flow = analyses.get::<ControlFlow>(function);
        if !flow.has_cycles() {
            return Loops::none(&flow);
        }
        let dominators = analyses.get::<Dominators>(function);
        Loops::of(&flow, &dominators)
    }
}
