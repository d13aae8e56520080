//! Where one register after the other is live, and where its definitions meet.
//!
//! ## Method
//! The blocks where a register is live are found by walking back from its uses. A loop that does not define the register is
//! one node of that walk, however much is nested in it. In the graph of these nodes, with a root before the definitions, two
//! ways from different definitions meet where nothing but the root dominates: that is the iterated dominance frontier of the
//! definitions, where the register is live, and is found without iterating.

use super::{Adjacency, LoopNest, NONE, immediate_dominators};

/// The node before all definitions.
const ROOT: u32 = 0;

/// Walks back from the uses of one register after the other.
pub struct LiveGraph<'graph> {
    predecessors: &'graph Adjacency,
    nest: &'graph LoopNest,
    /// Whether control gets to a block.
    is_reachable: &'graph dyn Fn(u32) -> bool,
    entry: u32,
    round: u32,
    /// Of each block: the round in which it last defined the register, and its node then.
    definitions: Vec<(u32, u32)>,
    /// Of each block: the round in which the register was last found live at its start, and its node then. The header stands
    /// for a loop that does not define the register.
    live: Vec<(u32, u32)>,
    /// Nodes where the register is live, after the root and the definitions: the block, and the loop it stands for, or
    /// [`NONE`].
    nodes: Vec<(u32, u32)>,
    edges: Vec<(u32, u32)>,
    first_live: u32,
    /// Where in the nest of loops the definitions are.
    positions: Vec<u32>,
    /// Of each node, a bit for each node that dominates it; see [`LiveGraph::dominators_as_bits`].
    dominators: Vec<u64>,
    joins: Vec<u32>,
}

/// Graphs with up to so many nodes have their dominators as bits.
const MOST_BITS: usize = 63;

impl<'graph> LiveGraph<'graph> {
    /// For the registers of a function with this graph of blocks.
    pub fn new(
        predecessors: &'graph Adjacency,
        nest: &'graph LoopNest,
        is_reachable: &'graph dyn Fn(u32) -> bool,
        entry: u32,
    ) -> LiveGraph<'graph> {
        let blocks = predecessors.node_count();
        LiveGraph {
            predecessors,
            nest,
            is_reachable,
            entry,
            round: 0,
            definitions: vec![(0, 0); blocks],
            live: vec![(0, 0); blocks],
            nodes: Vec::new(),
            edges: Vec::new(),
            first_live: 0,
            positions: Vec::new(),
            dominators: Vec::new(),
            joins: Vec::new(),
        }
    }

    /// Takes the next register: the blocks that define it, each once, and those that use it before they define it.
    pub fn walk(
        &mut self,
        definitions: impl Iterator<Item = u32>,
        exposed: impl Iterator<Item = u32>,
    ) {
        self.round += 1;
        self.nodes.clear();
        self.edges.clear();
        self.positions.clear();
        let mut node = ROOT;
        for block in definitions {
            node += 1;
            self.definitions[block as usize] = (self.round, node);
            self.edges.push((ROOT, node));
            self.positions.extend(self.nest.position(block));
        }
        self.positions.sort_unstable();
        self.first_live = node + 1;
        for block in exposed {
            self.live_node(block);
        }
        let mut at = 0;
        while let Some(&(block, around)) = self.nodes.get(at) {
            let node = self.first_live + at as u32;
            at += 1;
            if block == self.entry {
                // What was there before the function began.
                self.edges.push((ROOT, node));
            }
            for &from in self.predecessors.of(block) {
                if !(self.is_reachable)(from) || around != NONE && self.nest.contains(around, from)
                {
                    continue;
                }
                let (round, definition) = self.definitions[from as usize];
                let source = if round == self.round {
                    definition
                } else {
                    self.live_node(from)
                };
                self.edges.push((source, node));
            }
        }
    }

    /// The node of a block at whose start the register is live.
    fn live_node(&mut self, block: u32) -> u32 {
        let around = self.nest.outermost_without(block, &self.positions);
        let block = around.map_or(block, |around| self.nest.header(around));
        let live = &mut self.live[block as usize];
        if live.0 != self.round {
            *live = (self.round, self.first_live + self.nodes.len() as u32);
            self.nodes.push((block, around.unwrap_or(NONE)));
        }
        live.1
    }

    /// Where the register is live at the start: blocks, each with the loop that it stands for or [`NONE`].
    pub fn live_nodes(&self) -> &[(u32, u32)] {
        &self.nodes
    }

    /// The blocks where definitions meet and the register is live, in no particular order.
    pub fn joins(&mut self) -> &[u32] {
        let count = self.first_live as usize + self.nodes.len();
        let mut joins = std::mem::take(&mut self.joins);
        joins.clear();
        if count <= MOST_BITS {
            self.dominators_as_bits(count);
            let bits = &self.dominators;
            self.add_joins(&mut joins, |node| {
                bits[node as usize] == 1 << ROOT | 1 << node
            });
        } else {
            let successors = Adjacency::new(count, self.edges.iter().copied());
            let dominators = immediate_dominators(&successors, &successors.reversed(), ROOT);
            self.add_joins(&mut joins, |node| dominators[node as usize] == ROOT);
        }
        self.joins = joins;
        &self.joins
    }

    /// Adds the blocks of nodes that nothing but the root dominates.
    fn add_joins(&self, joins: &mut Vec<u32>, is_join: impl Fn(u32) -> bool) {
        for (node, &(block, _)) in (self.first_live..).zip(&self.nodes) {
            // Where control starts, what was there before meets the definitions that reach it, if any do.
            if is_join(node) && (block != self.entry || self.is_reached_by_definitions(node)) {
                joins.push(block);
            }
        }
    }

    /// Finds what dominates each of a few nodes: itself, and what dominates all it is reached from. Where nothing leads to, all bits
    /// stay set. Most registers are live in a handful of blocks, where this takes a tenth of what making a graph takes.
    fn dominators_as_bits(&mut self, count: usize) {
        self.dominators.clear();
        self.dominators.resize(count, u64::MAX);
        self.dominators[ROOT as usize] = 1 << ROOT;
        for definition in ROOT + 1..self.first_live {
            self.dominators[definition as usize] = 1 << ROOT | 1 << definition;
        }
        // Behind the edges to the definitions come those of the walk back, so that the last ones are next to definitions.
        let live = &self.edges[self.first_live as usize - 1..];
        let mut is_changed = true;
        while is_changed {
            is_changed = false;
            // The edges into a node follow each other.
            for edges in live.chunk_by(|one, other| one.1 == other.1).rev() {
                let node = edges[0].1;
                let above = edges.iter().fold(u64::MAX, |above, &(from, _)| {
                    above & self.dominators[from as usize]
                });
                let found = above | 1 << node;
                is_changed |= found != self.dominators[node as usize];
                self.dominators[node as usize] = found;
            }
        }
    }

    /// Whether a way leads from a definition to a node.
    fn is_reached_by_definitions(&self, node: u32) -> bool {
        let count = self.first_live as usize + self.nodes.len();
        let successors = Adjacency::new(count, self.edges.iter().copied());
        let mut seen = vec![false; successors.node_count()];
        let mut stack: Vec<u32> = (ROOT + 1..self.first_live).collect();
        while let Some(at) = stack.pop() {
            if at == node {
                return true;
            }
            if !std::mem::replace(&mut seen[at as usize], true) {
                stack.extend_from_slice(successors.of(at));
            }
        }
        false
    }
}

impl std::fmt::Debug for LiveGraph<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("LiveGraph")
            .field("live", &self.nodes)
            .finish_non_exhaustive()
    }
}
