//! Natural loops of a graph and how they are nested.
//!
//! ## Method
//! A back edge leads to a node that dominates its source; the loop of a header is every node that reaches one of its back
//! edges without passing the header. Headers are taken innermost first (reverse preorder of the dominator tree), and a
//! node already in an inner loop is skipped to the header of the outermost loop found around it (union-find with path
//! compression), so the walk is nearly linear in the graph. Loops are then numbered along the nest, so that "is inside" is two
//! comparisons.

use super::{Adjacency, NONE, Tree};
use std::ops::RangeInclusive;

/// The loops of a graph, by number, inner ones before those around them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoopNest {
    loops: Vec<LoopData>,
    /// The innermost loop around each node, or [`NONE`].
    innermost: Vec<u32>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct LoopData {
    header: u32,
    /// The loop around it, or [`NONE`].
    parent: u32,
    /// A loop further out, or [`NONE`]: with these and parents any loop around it is a logarithm of steps away (Myers, "An
    /// applicative random-access stack", 1983).
    jump: u32,
    depth: u32,
    /// Its position in a preorder of the nest, and that of the last loop inside it.
    enter: u32,
    leave: u32,
}

impl LoopNest {
    /// The nest of a graph without loops.
    pub fn none(node_count: usize) -> LoopNest {
        LoopNest {
            loops: Vec::new(),
            innermost: vec![NONE; node_count],
        }
    }

    /// The loops of a graph, given its predecessors and its dominator tree.
    pub fn new(predecessors: &Adjacency, dominators: &Tree) -> LoopNest {
        let mut nest = LoopNest::none(predecessors.node_count());
        let mut worklist: Vec<u32> = Vec::new();
        // For each loop one around it, or itself: a forest that is flattened as it is walked.
        let mut outermost: Vec<u32> = Vec::new();
        let reachable = |node: u32| {
            let from = predecessors.of(node).iter().copied();
            from.filter(|&from| dominators.contains(from))
        };
        for &header in dominators.preorder().iter().rev() {
            worklist.extend(reachable(header).filter(|&from| dominators.is_ancestor(header, from)));
            if worklist.is_empty() {
                continue;
            }
            let this = nest.loops.len() as u32;
            nest.loops.push(LoopData {
                header,
                parent: NONE,
                jump: NONE,
                depth: 0,
                enter: 0,
                leave: 0,
            });
            outermost.push(this);
            while let Some(node) = worklist.pop() {
                match nest.innermost[node as usize] {
                    NONE => {
                        nest.innermost[node as usize] = this;
                        if node != header {
                            worklist.extend(reachable(node));
                        }
                    }
                    inner => {
                        // The outermost loop found so far around this node becomes a child of the new one.
                        let mut child = inner;
                        while outermost[child as usize] != child {
                            let above = outermost[child as usize];
                            outermost[child as usize] = outermost[above as usize];
                            child = outermost[child as usize];
                        }
                        if child != this {
                            nest.loops[child as usize].parent = this;
                            outermost[child as usize] = this;
                            worklist.extend(reachable(nest.loops[child as usize].header));
                        }
                    }
                }
            }
        }
        nest.number();
        nest
    }

    /// Gives loops their depths and positions.
    fn number(&mut self) {
        // How many loops each has inside, itself included; inner ones come first.
        let mut sizes = vec![1u32; self.loops.len()];
        for (index, this) in self.loops.iter().enumerate() {
            if this.parent != NONE {
                sizes[this.parent as usize] += sizes[index];
            }
        }
        // The next free position in each loop, and outside all of them.
        let mut next = vec![0u32; self.loops.len()];
        let mut next_outside = 0;
        for index in (0..self.loops.len()).rev() {
            let (place, depth) = match self.loops[index].parent {
                NONE => (&mut next_outside, 0),
                parent => (
                    &mut next[parent as usize],
                    self.loops[parent as usize].depth,
                ),
            };
            let enter = *place;
            *place += sizes[index];
            next[index] = enter + 1;
            let jump = self.jump_of(self.loops[index].parent);
            let this = &mut self.loops[index];
            this.jump = jump;
            this.depth = depth + 1;
            this.enter = enter;
            this.leave = enter + sizes[index] - 1;
        }
    }

    /// The jump of a loop with this parent, whose own jump is known.
    fn jump_of(&self, parent: u32) -> u32 {
        let depth = |this: u32| match this {
            NONE => 0,
            this => self.loops[this as usize].depth,
        };
        if parent == NONE {
            return NONE;
        }
        let first = self.loops[parent as usize].jump;
        let second = match first {
            NONE => NONE,
            first => self.loops[first as usize].jump,
        };
        // Two equal jumps from the parent make one of both.
        if first != NONE && depth(parent) - depth(first) == depth(first) - depth(second) {
            second
        } else {
            parent
        }
    }

    /// Adds nodes that are in no loop until there are this many.
    pub fn grow(&mut self, node_count: usize) {
        self.innermost.resize(node_count, NONE);
    }

    /// Puts a node into the same loops as another.
    pub fn set_like(&mut self, node: u32, other: u32) {
        self.innermost[node as usize] = self.innermost[other as usize];
    }

    /// Takes a node that is no header out of all loops.
    pub fn remove(&mut self, node: u32) {
        self.innermost[node as usize] = NONE;
    }

    /// How many loops there are.
    pub fn len(&self) -> usize {
        self.loops.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.loops.is_empty()
    }

    /// The innermost loop around a node.
    #[inline]
    pub fn innermost(&self, node: u32) -> Option<u32> {
        Some(self.innermost[node as usize]).filter(|&this| this != NONE)
    }

    /// The node a loop is entered at.
    #[inline]
    pub fn header(&self, this: u32) -> u32 {
        self.loops[this as usize].header
    }

    /// The loop directly around a loop.
    #[inline]
    pub fn parent(&self, this: u32) -> Option<u32> {
        Some(self.loops[this as usize].parent).filter(|&parent| parent != NONE)
    }

    /// How many loops are around the nodes of a loop that are in none inside it.
    pub fn depth(&self, this: u32) -> u32 {
        self.loops[this as usize].depth
    }

    /// Whether a node is in a loop or in one inside it.
    pub fn contains(&self, this: u32, node: u32) -> bool {
        self.position(node)
            .is_some_and(|position| self.range(this).contains(&position))
    }

    /// The position of the innermost loop around a node in a preorder of the nest.
    pub fn position(&self, node: u32) -> Option<u32> {
        self.innermost(node)
            .map(|this| self.loops[this as usize].enter)
    }

    /// The positions of the nodes in a loop: from the first to the last of these.
    pub fn range(&self, this: u32) -> RangeInclusive<u32> {
        let LoopData { enter, leave, .. } = self.loops[this as usize];
        enter..=leave
    }

    /// The outermost loop around a node that contains none of some other nodes, given the [`LoopNest::position`]s of those,
    /// sorted.
    ///
    /// A register that the other nodes define, and no others, holds the same everywhere in this loop; and if it is live at
    /// the start of the node, it is live at the start of every node of the loop.
    pub fn outermost_without(&self, node: u32, positions: &[u32]) -> Option<u32> {
        let is_free = |&this: &u32| {
            let range = self.range(this);
            let next = positions.partition_point(|position| position < range.start());
            positions
                .get(next)
                .is_none_or(|position| position > range.end())
        };
        let mut found = self.innermost(node).filter(is_free)?;
        // All loops around one that is not free are not free either.
        while let Some(parent) = self.parent(found).filter(is_free) {
            let jump = Some(self.loops[found as usize].jump);
            found = jump
                .filter(|&jump| jump != NONE && is_free(&jump))
                .unwrap_or(parent);
        }
        Some(found)
    }

    /// The nodes of each loop as runs of consecutive numbers, in order, those of inner loops included.
    pub fn runs(&self) -> Vec<Vec<(u32, u32)>> {
        let mut runs: Vec<Vec<(u32, u32)>> = vec![Vec::new(); self.loops.len()];
        for (node, &this) in self.innermost.iter().enumerate() {
            if this != NONE {
                runs[this as usize].push((node as u32, node as u32 + 1));
            }
        }
        for index in 0..runs.len() {
            merge_runs(&mut runs[index]);
            if let Some(parent) = self.parent(index as u32) {
                let own = std::mem::take(&mut runs[index]);
                runs[parent as usize].extend_from_slice(&own);
                runs[index] = own;
            }
        }
        runs
    }
}

/// Sorts runs and joins those that touch or overlap.
pub fn merge_runs(runs: &mut Vec<(u32, u32)>) {
    runs.sort_unstable();
    let mut kept = 0;
    for at in 1..runs.len() {
        let (start, end) = runs[at];
        if start <= runs[kept].1 {
            runs[kept].1 = runs[kept].1.max(end);
        } else {
            kept += 1;
            runs[kept] = (start, end);
        }
    }
    runs.truncate(kept + 1);
}
