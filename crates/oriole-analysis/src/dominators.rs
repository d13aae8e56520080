//! Dominators and post-dominators, with constant-time queries.

use crate::control_flow::ControlFlow;
use crate::manager::{Analyses, Analysis, Others, Reads, Update};
use crate::reshaping::{Step, steps};
use oriole_ir::graph::{Adjacency, NONE, Tree, immediate_dominators};
use oriole_ir::{Block, Function, Journal};

/// The dominator tree over the reachable blocks.
#[derive(Clone, Debug)]
pub struct Dominators {
    tree: Tree,
}

impl Dominators {
    /// The dominators of a graph.
    pub fn of(function: &Function, flow: &ControlFlow) -> Dominators {
        let root = function.entry().as_u32();
        let parents = immediate_dominators(flow.successor_graph(), flow.predecessor_graph(), root);
        Dominators {
            tree: Tree::new(parents, root),
        }
    }

    /// The tree, with blocks as numbers.
    pub(crate) fn tree(&self) -> &Tree {
        &self.tree
    }

    /// The closest strict dominator.
    pub fn immediate(&self, block: Block) -> Option<Block> {
        Some(self.tree.parent(block.as_u32()))
            .filter(|&parent| parent != NONE)
            .map(|parent| Block::from_index(parent as usize))
    }

    /// Whether every path to `block` goes through `dominator`; a block dominates itself.
    pub fn dominates(&self, dominator: Block, block: Block) -> bool {
        self.tree.is_ancestor(dominator.as_u32(), block.as_u32())
    }

    /// Blocks whose immediate dominator is this one.
    pub fn children(&self, block: Block) -> impl DoubleEndedIterator<Item = Block> + '_ {
        self.tree
            .children(block.as_u32())
            .iter()
            .map(|&child| Block::from_index(child as usize))
    }

    /// Depth in the tree; the entry has depth 0.
    pub fn depth(&self, block: Block) -> u32 {
        self.tree.depth(block.as_u32())
    }

    /// Reachable blocks, each after its dominators.
    pub fn preorder(&self) -> impl Iterator<Item = Block> + '_ {
        self.tree
            .preorder()
            .iter()
            .map(|&node| Block::from_index(node as usize))
    }
}

impl PartialEq for Dominators {
    fn eq(&self, other: &Dominators) -> bool {
        self.tree.node_count() == other.tree.node_count()
            && self.tree.preorder() == other.tree.preorder()
            && self
                .tree
                .preorder()
                .iter()
                .all(|&node| self.tree.parent(node) == other.tree.parent(node))
    }
}

impl Analysis for Dominators {
    const NAME: &'static str = "dominators";
    const READS: Reads = Reads {
        control_flow: true,
        values: false,
        order: false,
        effects: false,
        variables: false,
    };

    fn compute(function: &Function, analyses: &mut Analyses) -> Dominators {
        Dominators::of(function, &analyses.get::<ControlFlow>(function))
    }

    /// Blocks cut in two, merged blocks and blocks put on edges move a few nodes of the tree. Any other edge may move nodes
    /// anywhere in it, and to find them costs about as much as all dominators.
    fn update(
        &mut self,
        function: &Function,
        journal: &Journal,
        others: &mut Others<'_>,
    ) -> Update {
        let Some((steps, flow)) = steps(function, journal, others) else {
            return Update::Recompute;
        };
        let count = function.blocks().len();
        if steps.is_empty() && count == self.tree.node_count() {
            return Update::Kept;
        }
        let root = function.entry().as_u32();
        let mut parents = std::mem::take(&mut self.tree).into_parents();
        parents.resize(count, NONE);
        let is_reached =
            |parents: &[u32], node: u32| node == root || parents[node as usize] != NONE;
        let hand_over = |parents: &mut [u32], from: u32, to: u32| {
            for parent in parents {
                if *parent == from {
                    *parent = to;
                }
            }
        };
        for step in &steps {
            match step.as_numbers() {
                Step::Split(block, rest) if is_reached(&parents, block) => {
                    hand_over(&mut parents, block, rest);
                    parents[rest as usize] = block;
                }
                Step::Merge(block, next) if is_reached(&parents, block) => {
                    parents[next as usize] = NONE;
                    hand_over(&mut parents, next, block);
                }
                Step::SplitEdge(from, new) if is_reached(&parents, from) => {
                    parents[new as usize] = from;
                }
                _ => {}
            }
        }
        // A block is dominated by the one that was put on an edge to it if all other ways to it come through it.
        for step in &steps {
            let Step::SplitEdge(from, new) = step.as_numbers() else {
                continue;
            };
            let [to] = *flow.successor_graph().of(new) else {
                return Update::Recompute;
            };
            if !is_reached(&parents, from) || parents[to as usize] != from {
                continue;
            }
            let is_below = |mut node: u32| {
                while node != to && node != NONE {
                    node = parents[node as usize];
                }
                node == to
            };
            let mut other = flow.predecessor_graph().of(to).iter();
            if other.all(|&other| other == new || !is_reached(&parents, other) || is_below(other)) {
                parents[to as usize] = new;
            }
        }
        self.tree = Tree::new(parents, root);
        Update::Kept
    }
}

/// The post-dominator tree over the reachable blocks, rooted in a virtual exit that follows every way out.
///
/// Loops without a way out are given one, at the block that comes last in reverse postorder, so that every reachable block
/// is in the tree.
#[derive(Clone, Debug)]
pub struct PostDominators {
    tree: Tree,
    exit: u32,
}

impl PostDominators {
    /// The post-dominators of a graph.
    pub fn of(flow: &ControlFlow) -> PostDominators {
        let count = flow.successor_graph().node_count();
        let exit = count as u32;
        let order = flow.reverse_postorder();
        let mut reaches_exit = vec![false; count];
        let mut ways_out: Vec<u32> = Vec::new();
        let mut stack: Vec<u32> = Vec::new();
        // First the real ways out, then, from the last block backwards, one for each part that has none.
        let real = order.iter().filter(|&&block| flow.may_leave(block));
        let given = order.iter().rev();
        for (block, is_real) in real
            .map(|block| (block, true))
            .chain(given.map(|block| (block, false)))
        {
            let node = block.as_u32();
            if !is_real && reaches_exit[node as usize] {
                continue;
            }
            ways_out.push(node);
            stack.push(node);
            while let Some(node) = stack.pop() {
                if !std::mem::replace(&mut reaches_exit[node as usize], true) {
                    stack.extend_from_slice(flow.predecessor_graph().of(node));
                }
            }
        }
        let reversed_edges = order
            .iter()
            .flat_map(|&block| {
                flow.successor_graph()
                    .of(block.as_u32())
                    .iter()
                    .map(move |&successor| (successor, block.as_u32()))
            })
            .chain(ways_out.iter().map(|&node| (exit, node)));
        let graph = Adjacency::new(count + 1, reversed_edges);
        let parents = immediate_dominators(&graph, &graph.reversed(), exit);
        PostDominators {
            tree: Tree::new(parents, exit),
            exit,
        }
    }

    /// The closest strict post-dominator; nothing if that is the exit.
    pub fn immediate(&self, block: Block) -> Option<Block> {
        Some(self.tree.parent(block.as_u32()))
            .filter(|&parent| parent != NONE && parent != self.exit)
            .map(|parent| Block::from_index(parent as usize))
    }

    /// Whether every path from `block` to the exit goes through `post_dominator`; a block post-dominates itself.
    pub fn dominates(&self, post_dominator: Block, block: Block) -> bool {
        self.tree
            .is_ancestor(post_dominator.as_u32(), block.as_u32())
    }
}

impl PartialEq for PostDominators {
    fn eq(&self, other: &PostDominators) -> bool {
        self.exit == other.exit
            && self.tree.preorder() == other.tree.preorder()
            && self
                .tree
                .preorder()
                .iter()
                .all(|&node| self.tree.parent(node) == other.tree.parent(node))
    }
}

impl Analysis for PostDominators {
    const NAME: &'static str = "post-dominators";
    const READS: Reads = Reads {
        control_flow: true,
        values: false,
        order: false,
        effects: false,
        variables: false,
    };

    // Not updated: who asks for it computes uniformity from it, which costs many times as much and has to be computed again.
    fn compute(function: &Function, analyses: &mut Analyses) -> PostDominators {
        PostDominators::of(&analyses.get::<ControlFlow>(function))
    }
}
