//! Where the ways out of a branch meet again.
//!
//! ## Definition
//! The region of a branch is what is reached from it without going through its post-dominator or through the branch again.
//! A block joins if two ways lead from the branch to it that have no block between in common: one edge and a longer way, or
//! two longer ones.
//!
//! ## Method
//! In the region a join is a child of the branch in the tree of dominators *of the region*, which need not be those of the
//! function: others may jump into it. Of the region only some blocks matter. What is dominated, in the function, by a block
//! that does not dominate the branch is reached only through that block, and the post-dominator is not among it: so the walk
//! goes straight from such a block to its dominance frontier. A nest of branches costs each of them its own blocks alone,
//! and thousands of branches to one exit two steps each.
//!
//! ## Not done
//! A walk that comes back to a loop's header goes down again block by block to the branch: many branches in a row out of one
//! loop are quadratic in that row. Where frontiers are quadratic (loops nested thousands deep) every block is a step. All
//! walks together may take [`STEPS_PER_BLOCK`] steps for each block of the function; from then on they give no answer.

use oriole_ir::graph::{Adjacency, NONE, Tree, dominance_frontiers, immediate_dominators};

/// Steps of all walks together for each block of the function.
const STEPS_PER_BLOCK: usize = 32;

/// Steps that even the smallest function may take.
const LEAST_STEPS: usize = 4096;

/// Finds the joins of one branch after the other.
pub(crate) struct BranchJoins<'a> {
    successors: &'a Adjacency,
    dominators: &'a Tree,
    frontiers: Option<Adjacency>,
    /// Number of each block in the walk at hand, [`NONE`] between walks.
    numbers: Vec<u32>,
    /// Steps that are left.
    steps: usize,
}

impl<'a> BranchJoins<'a> {
    pub(crate) fn new(
        successors: &'a Adjacency,
        predecessors: &Adjacency,
        dominators: &'a Tree,
    ) -> BranchJoins<'a> {
        let count = successors.node_count();
        let parents: Vec<u32> = (0..count as u32)
            .map(|node| dominators.parent(node))
            .collect();
        let root = dominators.preorder()[0];
        BranchJoins {
            successors,
            dominators,
            frontiers: dominance_frontiers(&parents, predecessors, root, 16 * count + 1024),
            numbers: vec![NONE; count],
            steps: STEPS_PER_BLOCK * count + LEAST_STEPS,
        }
    }

    /// The joins of a branch with this post-dominator; nothing if too many steps were taken.
    pub(crate) fn of(&mut self, branch: u32, stop: Option<u32>) -> Option<Vec<u32>> {
        let mut blocks = vec![branch];
        let mut edges: Vec<(u32, u32)> = Vec::new();
        self.numbers[branch as usize] = 0;
        let mut at = 0;
        while at < blocks.len() {
            let block = blocks[at];
            let from = at as u32;
            at += 1;
            if Some(block) == stop {
                continue;
            }
            let next = match &self.frontiers {
                Some(frontiers) if !self.dominators.is_ancestor(block, branch) => {
                    frontiers.of(block)
                }
                _ => self.successors.of(block),
            };
            match self.steps.checked_sub(1 + next.len()) {
                Some(left) => self.steps = left,
                None => {
                    self.steps = 0;
                    break;
                }
            }
            for &target in next {
                if target == branch {
                    continue;
                }
                let number = &mut self.numbers[target as usize];
                if *number == NONE {
                    *number = blocks.len() as u32;
                    blocks.push(target);
                }
                edges.push((from, *number));
            }
        }
        for &block in &blocks {
            self.numbers[block as usize] = NONE;
        }
        if self.steps == 0 {
            return None;
        }
        let joins = joins(blocks.len(), &edges).into_iter();
        Some(joins.map(|number| blocks[number as usize]).collect())
    }
}

/// Nodes that two ways from node 0 lead to that share none between.
fn joins(count: usize, edges: &[(u32, u32)]) -> Vec<u32> {
    if let Some(found) = joins_of_tree(count, edges) {
        return found.into_iter().collect();
    }
    let graph = Adjacency::new(count, edges.iter().copied());
    let reversed = graph.reversed();
    let tree = Tree::new(immediate_dominators(&graph, &reversed, 0), 0);
    (1..count as u32)
        .filter(|&node| {
            tree.parent(node) == 0
                && reversed
                    .of(node)
                    .iter()
                    .any(|&from| from != 0 && !tree.is_ancestor(node, from))
        })
        .collect()
}

/// Nodes that are looked at without a tree of dominators.
const FEW_NODES: usize = 16;

/// The node that joins, of few nodes that are a tree but for one that ways end at. Nothing if they are not: most often there are two or
/// three nodes.
fn joins_of_tree(count: usize, edges: &[(u32, u32)]) -> Option<Option<u32>> {
    if count > FEW_NODES {
        return None;
    }
    let mut parents = [NONE; FEW_NODES];
    let mut end = None;
    for &(from, to) in edges {
        match &mut parents[to as usize] {
            parent if *parent == NONE => *parent = from,
            _ if end.is_none_or(|end| end == to) => end = Some(to),
            _ => return None,
        }
    }
    let Some(end) = end else {
        return Some(None);
    };
    if edges.iter().any(|&(from, _)| from == end) {
        return None;
    }
    // The first node behind node 0 on the way to each node before the end; the end itself for an edge from node 0.
    let first = |from: u32| {
        let (mut node, mut below) = (from, end);
        while node != 0 {
            (node, below) = (parents[node as usize], node);
        }
        below
    };
    let ways = edges.iter().filter(|edge| edge.1 == end);
    let mut ways = ways.map(|&(from, _)| first(from));
    let one = ways.next();
    Some(ways.any(|other| Some(other) != one).then_some(end))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is reached by edges out of the branch, the branch and the stop not being gone through, nor `gone` entered.
    fn region(graph: &Adjacency, branch: u32, stop: Option<u32>, gone: u32) -> Vec<bool> {
        let mut seen = vec![false; graph.node_count()];
        let mut stack = graph.of(branch).to_vec();
        while let Some(node) = stack.pop() {
            if node == gone || std::mem::replace(&mut seen[node as usize], true) {
                continue;
            }
            if node != branch && Some(node) != stop {
                stack.extend_from_slice(graph.of(node));
            }
        }
        seen
    }

    /// Joins by their definition: a node that is still reached whichever other node is taken away, and not only by edges
    /// from the branch.
    fn slow(graph: &Adjacency, branch: u32, stop: Option<u32>) -> Vec<u32> {
        let nodes = 0..graph.node_count() as u32;
        let whole = region(graph, branch, stop, NONE);
        nodes
            .clone()
            .filter(|&node| node != branch && whole[node as usize])
            .filter(|&node| {
                let mut others = nodes
                    .clone()
                    .filter(|&other| other != node && other != branch);
                let without = region(graph, branch, stop, node);
                others.all(|other| region(graph, branch, stop, other)[node as usize])
                    && nodes.clone().any(|from| {
                        from != branch
                            && Some(from) != stop
                            && without[from as usize]
                            && graph.of(from).contains(&node)
                    })
            })
            .collect()
    }

    #[test]
    fn joins_are_what_their_definition_says_on_random_graphs() {
        let mut state = 0x2545_F491_4F6C_DD1Du64;
        let mut random = |bound: u32| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 20) as u32 % bound
        };
        let mut found = 0;
        for round in 0..3000 {
            let count = 2 + round % 11;
            let mut edges: Vec<(u32, u32)> = Vec::new();
            for node in 0..count - 1 {
                // Mostly forward, as code is; sometimes anywhere.
                for _ in 0..(random(12) + 7) / 6 {
                    let target = if random(4) == 0 {
                        random(count)
                    } else {
                        (node + 1 + random(3)).min(count - 1)
                    };
                    edges.push((node, target));
                }
            }
            let graph = Adjacency::new(count as usize, edges.iter().copied());
            let reversed = graph.reversed();
            let tree = Tree::new(immediate_dominators(&graph, &reversed, 0), 0);
            // Post-dominators, with an exit behind every node, or behind those that lead nowhere.
            let exits: Vec<(u32, u32)> = (0..count)
                .filter(|&node| graph.of(node).is_empty() || random(8) == 0)
                .map(|node| (node, count))
                .collect();
            let whole = Adjacency::new(
                count as usize + 1,
                edges.iter().copied().chain(exits.iter().copied()),
            );
            let post = immediate_dominators(&whole.reversed(), &whole, count);
            let mut walks = BranchJoins::new(&graph, &reversed, &tree);
            let mut steps = BranchJoins {
                frontiers: None,
                ..BranchJoins::new(&graph, &reversed, &tree)
            };
            for branch in (0..count).filter(|&node| tree.contains(node)) {
                // A part with no way out has none here; the analysis gives it one.
                let stop = match post[branch as usize] {
                    NONE => continue,
                    stop => Some(stop).filter(|&stop| stop != count),
                };
                let sorted = |joins: Option<Vec<u32>>| {
                    let mut joins = joins.expect("few steps");
                    joins.sort_unstable();
                    joins
                };
                let expected = slow(&graph, branch, stop);
                found += expected.len();
                assert_eq!(
                    sorted(walks.of(branch, stop)),
                    expected,
                    "{branch} {edges:?}"
                );
                assert_eq!(sorted(steps.of(branch, stop)), expected);
            }
        }
        assert!(found > 1000, "{found}");
    }

    #[test]
    fn walks_that_take_too_long_give_no_answer() {
        // Every block leads to the next and back to the first: each branch walks down the whole row.
        let count = 4_000u32;
        let edges: Vec<(u32, u32)> = (0..count - 1)
            .flat_map(|node| [(node, node + 1), (node, 0)])
            .collect();
        let graph = Adjacency::new(count as usize, edges.iter().copied());
        let reversed = graph.reversed();
        let tree = Tree::new(immediate_dominators(&graph, &reversed, 0), 0);
        let mut walks = BranchJoins::new(&graph, &reversed, &tree);
        let answers = (0..count - 1)
            .filter(|&branch| walks.of(branch, Some(branch + 1)).is_some())
            .count();
        assert!((10..1000).contains(&answers), "{answers}");
    }

    #[test]
    fn many_exits_and_deep_nests_take_few_steps() {
        let count = 40_000u32;
        // Every block leads to the next and to the last.
        let exits = (0..count - 1).flat_map(|node| [(node, node + 1), (node, count - 1)]);
        // The first half opens, the second closes: node k and its counterpart are the ends of a branch.
        let nest = (0..count - 1).flat_map(|node| {
            let other = (node < count / 2).then_some((node, count - 1 - node));
            [Some((node, node + 1)), other].into_iter().flatten()
        });
        let shapes: [Vec<(u32, u32)>; 2] = [exits.collect(), nest.collect()];
        for (shape, edges) in shapes.iter().enumerate() {
            let graph = Adjacency::new(count as usize, edges.iter().copied());
            let reversed = graph.reversed();
            let tree = Tree::new(immediate_dominators(&graph, &reversed, 0), 0);
            let mut walks = BranchJoins::new(&graph, &reversed, &tree);
            for branch in 0..count / 2 - 1 {
                let stop = if shape == 0 {
                    count - 1
                } else {
                    count - 1 - branch
                };
                assert_eq!(walks.of(branch, Some(stop)), Some(vec![stop]));
            }
        }
    }
}
