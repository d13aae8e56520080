//! Orders and dominators of directed graphs given as adjacency lists.
//!
//! ## Method
//! Depth-first search with an explicit stack; dominators by Semi-NCA (Georgiadis, "Linear-Time Algorithms for Dominators
//! and Related Problems", 2005): semidominators as in Lengauer and Tarjan, then each immediate dominator by walking up the
//! tree built so far. Near linear on control flow graphs of any shape, and nothing recurses.

/// Successors or predecessors of each node, in one array.
#[derive(Clone, Debug, Default)]
pub struct Adjacency {
    starts: Vec<u32>,
    targets: Vec<u32>,
}

impl Adjacency {
    /// The graph with these edges; the targets of a node keep the order of the edges.
    pub fn new(node_count: usize, edges: impl Iterator<Item = (u32, u32)> + Clone) -> Adjacency {
        let mut starts = vec![0u32; node_count + 1];
        for (from, _) in edges.clone() {
            starts[from as usize + 1] += 1;
        }
        for node in 0..node_count {
            starts[node + 1] += starts[node];
        }
        let mut next = starts.clone();
        let mut targets = vec![0; *starts.last().unwrap_or(&0) as usize];
        for (from, to) in edges {
            let place = &mut next[from as usize];
            targets[*place as usize] = to;
            *place += 1;
        }
        Adjacency { starts, targets }
    }

    /// The same graph with all edges turned round.
    pub fn reversed(&self) -> Adjacency {
        let count = self.node_count();
        let mut starts = vec![0u32; count + 1];
        for &to in &self.targets {
            starts[to as usize + 1] += 1;
        }
        for node in 0..count {
            starts[node + 1] += starts[node];
        }
        let mut next = starts.clone();
        let mut targets = vec![0; self.targets.len()];
        for from in 0..count as u32 {
            for &to in self.of(from) {
                let place = &mut next[to as usize];
                targets[*place as usize] = from;
                *place += 1;
            }
        }
        Adjacency { starts, targets }
    }

    /// How many nodes there are.
    #[inline]
    pub fn node_count(&self) -> usize {
        self.starts.len().saturating_sub(1)
    }

    /// The targets of a node.
    #[inline]
    pub fn of(&self, node: u32) -> &[u32] {
        &self.targets[self.starts[node as usize] as usize..self.starts[node as usize + 1] as usize]
    }
}

/// No node.
pub const NONE: u32 = u32::MAX;

/// Nodes reachable from `root` in postorder.
pub fn postorder(graph: &Adjacency, root: u32) -> Vec<u32> {
    let mut seen = vec![false; graph.node_count()];
    let mut order = Vec::with_capacity(graph.node_count());
    let mut stack = vec![(root, 0usize)];
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

/// The immediate dominator of each node, [`NONE`] for the root and for nodes it does not reach.
pub fn immediate_dominators(graph: &Adjacency, predecessors: &Adjacency, root: u32) -> Vec<u32> {
    let count = graph.node_count();
    let mut number = vec![NONE; count];
    let mut vertex: Vec<u32> = Vec::with_capacity(count);
    let mut parent: Vec<u32> = Vec::with_capacity(count);
    let mut stack = vec![(root, 0u32)];
    while let Some((node, from)) = stack.pop() {
        if number[node as usize] != NONE {
            continue;
        }
        let own = vertex.len() as u32;
        number[node as usize] = own;
        vertex.push(node);
        parent.push(from);
        for &next in graph.of(node).iter().rev() {
            if number[next as usize] == NONE {
                stack.push((next, own));
            }
        }
    }
    // All below is in depth-first numbers. `ancestor` is the link-eval forest, `label` its best semidominator so far.
    let reached = vertex.len();
    let mut semi: Vec<u32> = (0..reached as u32).collect();
    let mut label = semi.clone();
    let mut ancestor = parent.clone();
    let mut path: Vec<u32> = Vec::new();
    for node in (1..reached as u32).rev() {
        let mut best = parent[node as usize];
        for &predecessor in predecessors.of(vertex[node as usize]) {
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
                while ancestor[at as usize] > node {
                    path.push(at);
                    at = ancestor[at as usize];
                }
                let mut best = label[at as usize];
                while let Some(below) = path.pop() {
                    if label[below as usize] > best {
                        label[below as usize] = best;
                    } else {
                        best = label[below as usize];
                    }
                    ancestor[below as usize] = ancestor[at as usize];
                }
                label[start as usize]
            };
            best = best.min(candidate);
        }
        semi[node as usize] = best;
        label[node as usize] = best;
    }
    let mut dominator = parent;
    for node in 1..reached {
        let mut at = dominator[node];
        while at > semi[node] {
            at = dominator[at as usize];
        }
        dominator[node] = at;
    }
    let mut result = vec![NONE; count];
    for node in 1..reached {
        result[vertex[node] as usize] = vertex[dominator[node] as usize];
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
#[derive(Clone, Debug)]
pub struct Tree {
    parents: Vec<u32>,
    children: Adjacency,
    enter: Vec<u32>,
    leave: Vec<u32>,
    depth: Vec<u32>,
    preorder: Vec<u32>,
}

impl Tree {
    /// The tree with these parents; nodes with parent [`NONE`] other than the root are outside it.
    pub fn new(parents: Vec<u32>, root: u32) -> Tree {
        let count = parents.len();
        let edges = (0..count as u32)
            .filter(|&node| parents[node as usize] != NONE)
            .map(|node| (parents[node as usize], node));
        let children = Adjacency::new(count, edges);
        let mut tree = Tree {
            children,
            enter: vec![NONE; count],
            leave: vec![0; count],
            depth: vec![0; count],
            preorder: Vec::with_capacity(count),
            parents,
        };
        let mut clock = 0;
        let mut stack = vec![(root, 0usize)];
        tree.enter[root as usize] = clock;
        tree.preorder.push(root);
        while let Some((node, position)) = stack.last_mut() {
            let node = *node;
            match tree.children.of(node).get(*position) {
                Some(&child) => {
                    *position += 1;
                    clock += 1;
                    tree.enter[child as usize] = clock;
                    tree.depth[child as usize] = tree.depth[node as usize] + 1;
                    tree.preorder.push(child);
                    stack.push((child, 0));
                }
                None => {
                    tree.leave[node as usize] = clock;
                    stack.pop();
                }
            }
        }
        tree
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
        self.depth[node as usize]
    }

    /// Nodes in preorder.
    pub fn preorder(&self) -> &[u32] {
        &self.preorder
    }

    /// Whether the node is in the tree.
    pub fn contains(&self, node: u32) -> bool {
        self.enter[node as usize] != NONE
    }

    /// Whether `ancestor` is on the path from the root to `node`, ends included. False for nodes outside.
    #[inline]
    pub fn is_ancestor(&self, ancestor: u32, node: u32) -> bool {
        let (a, n) = (ancestor as usize, node as usize);
        self.enter[a] != NONE
            && self.enter[n] != NONE
            && self.enter[a] <= self.enter[n]
            && self.enter[n] <= self.leave[a]
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
