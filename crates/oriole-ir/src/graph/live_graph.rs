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
    joins: Vec<u32>,
}

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
        let successors = Adjacency::new(count, self.edges.iter().copied());
        let dominators = immediate_dominators(&successors, &successors.reversed(), ROOT);
        self.joins.clear();
        for (index, &(block, _)) in self.nodes.iter().enumerate() {
            let node = self.first_live + index as u32;
            // Where control starts, what was there before meets the definitions that reach it, if any do.
            if dominators[node as usize] == ROOT
                && (block != self.entry || self.is_reached_by_definitions(&successors, node))
            {
                self.joins.push(block);
            }
        }
        &self.joins
    }

    /// Whether a way leads from a definition to a node.
    fn is_reached_by_definitions(&self, successors: &Adjacency, node: u32) -> bool {
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
