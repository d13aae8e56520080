//! Orders and dominators of directed graphs given as adjacency lists.
//!
//! ## Method
//! Depth-first search with an explicit stack; dominators by Semi-NCA (Georgiadis, "Linear-Time Algorithms for Dominators
//! and Related Problems", 2005): semidominators as in Lengauer and Tarjan, then each immediate dominator by walking up the
//! tree built so far. Near linear on control flow graphs of any shape, and nothing recurses.

mod live_graph;
mod loop_nest;

pub use live_graph::LiveGraph;
pub use loop_nest::{LoopNest, merge_runs};

/// Successors or predecessors of each node, in one array.
#[derive(Clone, Debug, Default)]
pub struct Adjacency {
    starts: Vec<u32>,
    targets: Vec<u32>,
}

impl Adjacency {
    /// The graph with these edges; the targets of a node keep the order of the edges.
    pub fn new(node_count: usize, edges: impl Iterator<Item = (u32, u32)> + Clone) -> Adjacency {
        // Degrees stand two places behind their node, so that their sums are starts one place behind it. These move on as the
        // targets are entered, and at the end each is where the next node starts.
        let mut starts = vec![0u32; node_count + 2];
        edges.clone().for_each(|(from, _)| {
            starts[from as usize + 2] += 1;
        });
        let mut sum = 0;
        for start in &mut starts[2..] {
            sum += *start;
            *start = sum;
        }
        let mut targets = vec![0; sum as usize];
        edges.for_each(|(from, to)| {
            let place = &mut starts[from as usize + 1];
            targets[*place as usize] = to;
            *place += 1;
        });
        starts.pop();
        Adjacency { starts, targets }
    }

    /// The same graph with all edges turned round.
    pub fn reversed(&self) -> Adjacency {
        let count = self.node_count();
        let edges =
            (0..count as u32).flat_map(|from| self.of(from).iter().map(move |&to| (to, from)));
        Adjacency::new(count, edges)
    }

    /// How many nodes there are.
    #[inline]
    pub fn node_count(&self) -> usize {
        self.starts.len().saturating_sub(1)
    }

    /// Adds nodes without edges until there are this many.
    pub fn grow(&mut self, node_count: usize) {
        let end = self.targets.len() as u32;
        self.starts.resize(node_count + 1, end);
    }

    /// Gives a node other targets. What stands behind them moves, so this is for few nodes.
    pub fn set(&mut self, node: u32, targets: &[u32]) {
        let (start, end) = (self.starts[node as usize], self.starts[node as usize + 1]);
        self.targets
            .splice(start as usize..end as usize, targets.iter().copied());
        let more = (targets.len() as u32).wrapping_sub(end - start);
        if more != 0 {
            for start in &mut self.starts[node as usize + 1..] {
                *start = start.wrapping_add(more);
            }
        }
    }

    /// The targets of a node.
    #[inline]
    pub fn of(&self, node: u32) -> &[u32] {
        &self.targets[self.starts[node as usize] as usize..self.starts[node as usize + 1] as usize]
    }
}

/// Room for the stack of a walk that is rarely deeper.
const DEPTH: usize = 32;

/// No node.
pub const NONE: u32 = u32::MAX;

/// Nodes reachable from `root` in postorder.
pub fn postorder(graph: &Adjacency, root: u32) -> Vec<u32> {
    let mut seen = vec![false; graph.node_count()];
    let mut order = Vec::with_capacity(graph.node_count());
    let mut stack = Vec::with_capacity(DEPTH);
    stack.push((root, 0usize));
    seen[root as usize] = true;
    while let Some((node, position)) = stack.last_mut() {
        match graph.of(*node).get(*position) {
            Some(&next) => {
                *position += 1;
                if !seen[next as usize] {
                    seen[next as usize] = true;
                    stack.push((next, 0));
                }
            }
            None => {
                order.push(*node);
                stack.pop();
            }
        }
    }
    order
}

/// The strongly connected component of each node, by number (Tarjan, "Depth-first search and linear graph algorithms",
/// 1972).
pub fn components(graph: &Adjacency) -> Vec<u32> {
    let count = graph.node_count();
    let mut component = vec![NONE; count];
    let mut number = vec![NONE; count];
    let mut lowest = vec![0u32; count];
    let (mut next, mut found) = (0, 0);
    // Nodes whose component is not known yet, in order of their numbers.
    let mut open: Vec<u32> = Vec::new();
    let mut stack: Vec<(u32, usize)> = Vec::new();
    for root in 0..count as u32 {
        if number[root as usize] != NONE {
            continue;
        }
        stack.push((root, 0));
        while let Some((node, position)) = stack.last_mut() {
            let node = *node;
            let at = node as usize;
            if *position == 0 {
                (number[at], lowest[at]) = (next, next);
                next += 1;
                open.push(node);
            }
            match graph.of(node).get(*position) {
                Some(&target) => {
                    *position += 1;
                    if number[target as usize] == NONE {
                        stack.push((target, 0));
                    } else if component[target as usize] == NONE {
                        lowest[at] = lowest[at].min(number[target as usize]);
                    }
                }
                None => {
                    if lowest[at] == number[at] {
                        while let Some(own) = open.pop() {
                            component[own as usize] = found;
                            if own == node {
                                break;
                            }
                        }
                        found += 1;
                    }
                    stack.pop();
                    if let Some(&(above, _)) = stack.last() {
                        lowest[above as usize] = lowest[above as usize].min(lowest[at]);
                    }
                }
            }
        }
    }
    component
}

/// A node on the way to its dominator; all but `vertex` in depth-first numbers.
struct Numbered {
    /// Its own number in the graph.
    vertex: u32,
    /// Its parent in the depth-first tree, and in the end its dominator.
    parent: u32,
    /// The link-eval forest, and the best semidominator in it so far.
    ancestor: u32,
    label: u32,
    semi: u32,
}

/// The immediate dominator of each node, [`NONE`] for the root and for nodes it does not reach.
pub fn immediate_dominators(graph: &Adjacency, predecessors: &Adjacency, root: u32) -> Vec<u32> {
    let count = graph.node_count();
    let mut number = vec![NONE; count];
    let mut nodes: Vec<Numbered> = Vec::with_capacity(count);
    let mut stack = Vec::with_capacity(DEPTH);
    stack.push((root, 0u32));
    while let Some((vertex, parent)) = stack.pop() {
        if number[vertex as usize] != NONE {
            continue;
        }
        let own = nodes.len() as u32;
        number[vertex as usize] = own;
        nodes.push(Numbered {
            vertex,
            parent,
            ancestor: parent,
            label: own,
            semi: own,
        });
        for &next in graph.of(vertex).iter().rev() {
            if number[next as usize] == NONE {
                stack.push((next, own));
            }
        }
    }
    let reached = nodes.len();
    let mut path: Vec<u32> = Vec::new();
    for node in (1..reached as u32).rev() {
        let mut best = nodes[node as usize].parent;
        for &predecessor in predecessors.of(nodes[node as usize].vertex) {
            let start = number[predecessor as usize];
            if start == NONE {
                continue;
            }
            let candidate = if start <= node {
                start
            } else {
                // Walk up the linked part (numbers above `node`), compressing the path.
                path.clear();
                let mut at = start;
                while nodes[at as usize].ancestor > node {
                    path.push(at);
                    at = nodes[at as usize].ancestor;
                }
                let Numbered {
                    ancestor, label, ..
                } = nodes[at as usize];
                let mut best = label;
                while let Some(below) = path.pop() {
                    let below = &mut nodes[below as usize];
                    best = best.min(below.label);
                    below.label = best;
                    below.ancestor = ancestor;
                }
                nodes[start as usize].label
            };
            best = best.min(candidate);
        }
        nodes[node as usize].semi = best;
        nodes[node as usize].label = best;
    }
    let mut result = number;
    result.fill(NONE);
    for node in 1..reached {
        let Numbered {
            vertex,
            parent,
            semi,
            ..
        } = nodes[node];
        let mut dominator = parent;
        while dominator > semi {
            dominator = nodes[dominator as usize].parent;
        }
        nodes[node].parent = dominator;
        result[vertex as usize] = nodes[dominator as usize].vertex;
    }
    result
}

/// The dominance frontier of each node, given immediate dominators: where what the node dominates ends. Nothing if there are
/// more than `limit` pairs; loops nested in each other have quadratically many.
pub fn dominance_frontiers(
    dominators: &[u32],
    predecessors: &Adjacency,
    root: u32,
    limit: usize,
) -> Option<Adjacency> {
    let count = dominators.len();
    let is_reachable = |node: u32| node == root || dominators[node as usize] != NONE;
    let mut seen = vec![NONE; count];
    let mut pairs: Vec<(u32, u32)> = Vec::new();
    for join in (0..count as u32).filter(|&node| is_reachable(node)) {
        // The root has no dominator: the way up from its predecessors ends behind it.
        let top = dominators[join as usize];
        for &from in predecessors.of(join) {
            if !is_reachable(from) {
                continue;
            }
            let mut at = from;
            while at != top && std::mem::replace(&mut seen[at as usize], join) != join {
                pairs.push((at, join));
                at = dominators[at as usize];
            }
        }
        if pairs.len() > limit {
            return None;
        }
    }
    Some(Adjacency::new(count, pairs.iter().copied()))
}

/// A tree given by parents, numbered so that "is an ancestor of" is two comparisons.
#[derive(Clone, Debug, Default)]
pub struct Tree {
    parents: Vec<u32>,
    children: Adjacency,
    places: Vec<Place>,
    preorder: Vec<u32>,
}

/// The place of a node in a tree.
#[derive(Clone, Copy, Debug)]
struct Place {
    /// Its position in preorder, [`NONE`] outside the tree.
    enter: u32,
    /// That of the last node below it.
    leave: u32,
    depth: u32,
}

impl Tree {
    /// The tree with these parents; nodes with parent [`NONE`] other than the root are outside it.
    pub fn new(parents: Vec<u32>, root: u32) -> Tree {
        let count = parents.len();
        let edges = (0..count as u32)
            .filter(|&node| parents[node as usize] != NONE)
            .map(|node| (parents[node as usize], node));
        let children = Adjacency::new(count, edges);
        let outside = Place {
            enter: NONE,
            leave: 0,
            depth: 0,
        };
        let mut places = vec![outside; count];
        let mut preorder = Vec::with_capacity(count);
        let mut stack = Vec::with_capacity(DEPTH);
        places[root as usize].enter = 0;
        preorder.push(root);
        stack.push((root, 0usize));
        while let Some((node, position)) = stack.last_mut() {
            let node = *node;
            match children.of(node).get(*position) {
                Some(&child) => {
                    *position += 1;
                    places[child as usize].enter = preorder.len() as u32;
                    places[child as usize].depth = stack.len() as u32;
                    preorder.push(child);
                    stack.push((child, 0));
                }
                None => {
                    places[node as usize].leave = preorder.len() as u32 - 1;
                    stack.pop();
                }
            }
        }
        Tree {
            parents,
            children,
            places,
            preorder,
        }
    }

    /// Takes the tree apart into the parents it was made of.
    pub fn into_parents(self) -> Vec<u32> {
        self.parents
    }

    /// How many nodes there are, those outside included.
    pub fn node_count(&self) -> usize {
        self.parents.len()
    }

    /// The parent, [`NONE`] for the root and for nodes outside.
    #[inline]
    pub fn parent(&self, node: u32) -> u32 {
        self.parents[node as usize]
    }

    /// The children, in order of their numbers.
    #[inline]
    pub fn children(&self, node: u32) -> &[u32] {
        self.children.of(node)
    }

    /// Distance from the root.
    #[inline]
    pub fn depth(&self, node: u32) -> u32 {
        self.places[node as usize].depth
    }

    /// Nodes in preorder.
    pub fn preorder(&self) -> &[u32] {
        &self.preorder
    }

    /// Whether the node is in the tree.
    pub fn contains(&self, node: u32) -> bool {
        self.places[node as usize].enter != NONE
    }

    /// Whether `ancestor` is on the path from the root to `node`, ends included. False for nodes outside.
    #[inline]
    pub fn is_ancestor(&self, ancestor: u32, node: u32) -> bool {
        let Place { enter, leave, .. } = self.places[ancestor as usize];
        let node = self.places[node as usize].enter;
        // Outside the tree, `enter` is above all positions.
        node != NONE && (enter..=leave).contains(&node)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn graph(count: usize, edges: &[(u32, u32)]) -> (Adjacency, Adjacency) {
        let graph = Adjacency::new(count, edges.iter().copied());
        let reversed = graph.reversed();
        (graph, reversed)
    }

    /// Dominators by definition: `a` dominates `b` if removing `a` makes `b` unreachable.
    fn slow(graph: &Adjacency, root: u32) -> Vec<u32> {
        let count = graph.node_count();
        let reach = |without: u32| {
            let mut seen = vec![false; count];
            let mut stack = vec![root];
            while let Some(node) = stack.pop() {
                if node == without || std::mem::replace(&mut seen[node as usize], true) {
                    continue;
                }
                stack.extend_from_slice(graph.of(node));
            }
            seen
        };
        let all = reach(NONE);
        let without: Vec<Vec<bool>> = (0..count as u32).map(reach).collect();
        let dominates = |a: usize, b: usize| all[b] && (a == b || !without[a][b]);
        (0..count)
            .map(|node| {
                if !all[node] || node as u32 == root {
                    return NONE;
                }
                let strict = (0..count).filter(|&a| all[a] && a != node && dominates(a, node));
                strict
                    .clone()
                    .find(|&a| strict.clone().all(|other| dominates(other, a)))
                    .map_or(NONE, |a| a as u32)
            })
            .collect()
    }

    #[test]
    fn dominators_agree_with_their_definition_on_random_graphs() {
        let mut state = 0x1234_5678_9abc_def0u64;
        let mut random = |bound: usize| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state % bound as u64) as u32
        };
        for round in 0..600 {
            let count = 1 + round % 14;
            let edge_count = random(3 * count);
            let edges: Vec<(u32, u32)> = (0..edge_count)
                .map(|_| (random(count), random(count)))
                .collect();
            let (graph, reversed) = graph(count, &edges);
            assert_eq!(
                immediate_dominators(&graph, &reversed, 0),
                slow(&graph, 0),
                "{edges:?}"
            );
        }
    }

    #[test]
    fn rows_are_exchanged_in_place() {
        let (mut graph, _) = graph(4, &[(0, 1), (0, 2), (1, 3), (2, 3), (3, 0)]);
        graph.grow(6);
        graph.set(0, &[4]);
        graph.set(4, &[1, 2, 5]);
        graph.set(3, &[]);
        let rows: Vec<&[u32]> = (0..6).map(|node| graph.of(node)).collect();
        let expected: [&[u32]; 6] = [&[4], &[3], &[3], &[], &[1, 2, 5], &[]];
        assert_eq!(rows, expected);
    }

    #[test]
    fn components_are_what_reaches_each_other() {
        let (graph, _) = graph(
            7,
            &[
                (0, 1),
                (1, 2),
                (2, 1),
                (2, 3),
                (3, 3),
                (4, 5),
                (5, 6),
                (6, 4),
                (6, 0),
            ],
        );
        let found = components(&graph);
        for one in 0..7 {
            for other in 0..7 {
                let together = one == other
                    || [[1, 2].as_slice(), &[4, 5, 6]]
                        .iter()
                        .any(|own| own.contains(&one) && own.contains(&other));
                assert_eq!(found[one] == found[other], together, "{one} {other}");
            }
        }
    }

    #[test]
    fn ladder_with_one_exit_is_not_quadratic() {
        let count = 200_000u32;
        let edges: Vec<(u32, u32)> = (0..count - 1)
            .flat_map(|node| [(node, node + 1), (node, count - 1)])
            .collect();
        let (graph, reversed) = graph(count as usize, &edges);
        let dominators = immediate_dominators(&graph, &reversed, 0);
        assert_eq!(dominators[count as usize - 1], 0);
        assert_eq!(dominators[1000], 999);
        let tree = Tree::new(dominators, 0);
        assert!(tree.is_ancestor(999, 1000) && !tree.is_ancestor(1000, 999));
        assert!(!tree.is_ancestor(5, count - 1));
    }

    #[test]
    fn postorder_ends_with_the_root() {
        let (graph, _) = graph(4, &[(0, 1), (0, 2), (1, 3), (2, 3), (3, 0)]);
        assert_eq!(postorder(&graph, 0), [3, 1, 2, 0]);
    }
}
