//! Where separated lanes meet again: immediate post-dominators of the decoded code.
//!
//! ## Method
//! Basic blocks of the operations, an edge from every block that leaves the function (and, so that it has a way out, from one
//! block of every endless loop) to a virtual exit, and the algorithm of Lengauer and Tarjan with path compression over the
//! reversed graph, which takes O(m log n) on any graph. A branch whose lanes meet only at the exit has no meeting point: its
//! lanes meet where the function returns.

use crate::program::{Function, Kind, NONE, PredicateSource};

/// Sets the meeting point of every operation that can separate lanes.
pub(crate) fn set_reconvergence(function: &mut Function) {
    let count = function.code.len();
    let mut is_leader = vec![false; count + 1];
    is_leader[0] = true;
    for (index, operation) in function.code.iter().enumerate() {
        match &operation.kind {
            Kind::Branch { target } => {
                is_leader[*target as usize] = true;
                is_leader[index + 1] = true;
            }
            Kind::BranchIndexed { table, .. } => {
                for &target in &function.tables[*table as usize] {
                    is_leader[target as usize] = true;
                }
                is_leader[index + 1] = true;
            }
            Kind::Return | Kind::Exit | Kind::Call(_) => is_leader[index + 1] = true,
            _ => {}
        }
    }
    let starts: Vec<usize> = (0..count).filter(|&index| is_leader[index]).collect();
    let mut block_of = vec![0u32; count];
    for (block, &start) in starts.iter().enumerate() {
        let end = starts.get(block + 1).copied().unwrap_or(count);
        block_of[start..end].fill(block as u32);
    }
    let blocks = starts.len();
    let exit = blocks;
    let mut successors: Vec<Vec<usize>> = vec![Vec::new(); blocks + 1];
    for (block, &start) in starts.iter().enumerate() {
        let end = starts.get(block + 1).copied().unwrap_or(count);
        debug_assert!(start < end);
        let last = &function.code[end - 1];
        let guarded = last.guard != PredicateSource::TRUE;
        let next = if end < count {
            block_of[end] as usize
        } else {
            exit
        };
        let out = &mut successors[block];
        match &last.kind {
            Kind::Branch { target } => {
                out.push(block_of[*target as usize] as usize);
                if guarded {
                    out.push(next);
                }
            }
            Kind::BranchIndexed { table, .. } => {
                out.extend(
                    function.tables[*table as usize]
                        .iter()
                        .map(|&target| block_of[target as usize] as usize),
                );
                if guarded {
                    out.push(next);
                }
            }
            Kind::Return | Kind::Exit => {
                out.push(exit);
                if guarded {
                    out.push(next);
                }
            }
            _ => out.push(next),
        }
    }
    let immediate = post_dominators(&mut successors, exit);
    for index in 0..count {
        let operation = &mut function.code[index];
        match operation.kind {
            Kind::Branch { .. } | Kind::BranchIndexed { .. } => {
                let meeting = immediate[block_of[index] as usize];
                operation.reconverge = if meeting == exit || meeting == usize::MAX {
                    NONE
                } else {
                    starts[meeting] as u32
                };
            }
            Kind::Call(_) => operation.reconverge = index as u32 + 1,
            _ => {}
        }
    }
}

/// The immediate post-dominator of every node but the exit.
fn post_dominators(successors: &mut [Vec<usize>], exit: usize) -> Vec<usize> {
    let nodes = successors.len();
    let mut predecessors: Vec<Vec<usize>> = vec![Vec::new(); nodes];
    for (node, out) in successors.iter().enumerate() {
        for &successor in out {
            predecessors[successor].push(node);
        }
    }
    give_endless_loops_an_exit(successors, &mut predecessors, exit);
    Dominators::new(&predecessors, exit).immediate(successors)
}

/// Adds an edge to the exit from the last block of every part of the graph that cannot reach it.
fn give_endless_loops_an_exit(
    successors: &mut [Vec<usize>],
    predecessors: &mut [Vec<usize>],
    exit: usize,
) {
    let mut reaches = vec![false; successors.len()];
    let mut work = Vec::new();
    let mut start = exit;
    for candidate in (0..successors.len()).rev() {
        // The exit is the last node, so everything that reaches it is known from the first round on.
        if reaches[candidate] {
            continue;
        }
        if candidate != exit {
            start = candidate;
            successors[start].push(exit);
            predecessors[exit].push(start);
        }
        reaches[start] = true;
        work.push(start);
        while let Some(node) = work.pop() {
            for &predecessor in &predecessors[node] {
                if !reaches[predecessor] {
                    reaches[predecessor] = true;
                    work.push(predecessor);
                }
            }
        }
    }
}

const UNVISITED: usize = usize::MAX;

/// The state of Lengauer and Tarjan's algorithm. Nodes are known by their number in depth-first order.
struct Dominators {
    /// The node of each number.
    order: Vec<usize>,
    /// The number of each node.
    number: Vec<usize>,
    /// The number of the parent in the depth-first tree.
    parent: Vec<usize>,
    semidominator: Vec<usize>,
    /// The forest of processed nodes, with compressed paths: an ancestor, and the node with the least semidominator on the
    /// way to it.
    ancestor: Vec<usize>,
    label: Vec<usize>,
}

impl Dominators {
    fn new(edges: &[Vec<usize>], root: usize) -> Dominators {
        let nodes = edges.len();
        let mut order = Vec::with_capacity(nodes);
        let mut number = vec![UNVISITED; nodes];
        let mut parent = Vec::with_capacity(nodes);
        let mut stack = vec![(root, 0, 0)];
        while let Some((node, from, next)) = stack.pop() {
            if next == 0 {
                if number[node] != UNVISITED {
                    continue;
                }
                number[node] = order.len();
                order.push(node);
                parent.push(from);
            }
            if let Some(&successor) = edges[node].get(next) {
                stack.push((node, from, next + 1));
                if number[successor] == UNVISITED {
                    stack.push((successor, number[node], 0));
                }
            }
        }
        let count = order.len();
        Dominators {
            order,
            number,
            parent,
            semidominator: (0..count).collect(),
            ancestor: vec![UNVISITED; count],
            label: (0..count).collect(),
        }
    }

    /// The node with the least semidominator between a node and the root of its tree in the forest.
    fn evaluate(&mut self, node: usize) -> usize {
        if self.ancestor[node] == UNVISITED {
            return node;
        }
        let mut path = vec![node];
        let mut top = node;
        while self.ancestor[self.ancestor[top]] != UNVISITED {
            top = self.ancestor[top];
            path.push(top);
        }
        path.pop();
        while let Some(below) = path.pop() {
            let above = self.ancestor[below];
            if self.semidominator[self.label[above]] < self.semidominator[self.label[below]] {
                self.label[below] = self.label[above];
            }
            self.ancestor[below] = self.ancestor[above];
        }
        self.label[node]
    }

    /// The immediate dominator of every node; `back` are the reversed edges.
    fn immediate(mut self, back: &[Vec<usize>]) -> Vec<usize> {
        let count = self.order.len();
        let mut dominator = vec![0; count];
        let mut buckets: Vec<Vec<usize>> = vec![Vec::new(); count];
        for node in (1..count).rev() {
            for &source in &back[self.order[node]] {
                let source = self.number[source];
                if source != UNVISITED {
                    let best = self.evaluate(source);
                    self.semidominator[node] =
                        self.semidominator[node].min(self.semidominator[best]);
                }
            }
            buckets[self.semidominator[node]].push(node);
            let parent = self.parent[node];
            self.ancestor[node] = parent;
            for other in std::mem::take(&mut buckets[parent]) {
                let best = self.evaluate(other);
                dominator[other] = if self.semidominator[best] < self.semidominator[other] {
                    best
                } else {
                    parent
                };
            }
        }
        for node in 1..count {
            if dominator[node] != self.semidominator[node] {
                dominator[node] = dominator[dominator[node]];
            }
        }
        let mut immediate = vec![usize::MAX; back.len()];
        for node in 1..count {
            immediate[self.order[node]] = self.order[dominator[node]];
        }
        immediate
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arguments::SplitMix64;

    /// Whether every way from a node to the exit leads through another, by removing that one.
    fn post_dominates(successors: &[Vec<usize>], exit: usize, by: usize, node: usize) -> bool {
        let mut seen = vec![false; successors.len()];
        let mut work = vec![node];
        while let Some(node) = work.pop() {
            if node == by || std::mem::replace(&mut seen[node], true) {
                continue;
            }
            if node == exit {
                return false;
            }
            work.extend(&successors[node]);
        }
        true
    }

    #[test]
    fn post_dominators_are_those_of_the_definition() {
        let mut random = SplitMix64::new(7);
        for round in 0..300 {
            let nodes = 2 + (random.next_number() % 12) as usize;
            let exit = nodes - 1;
            let mut successors: Vec<Vec<usize>> = (0..nodes)
                .map(|node| {
                    if node == exit {
                        return Vec::new();
                    }
                    (0..=random.next_number() % 2)
                        .map(|_| (random.next_number() % nodes as u64) as usize)
                        .collect()
                })
                .collect();
            let immediate = post_dominators(&mut successors, exit);
            for (node, &found) in immediate[..exit].iter().enumerate() {
                let strict: Vec<usize> = (0..nodes)
                    .filter(|&by| by != node && post_dominates(&successors, exit, by, node))
                    .collect();
                // The immediate one is post-dominated by all others.
                let nearest = strict.iter().copied().find(|&by| {
                    strict
                        .iter()
                        .all(|&other| other == by || post_dominates(&successors, exit, other, by))
                });
                assert_eq!(
                    Some(found),
                    nearest,
                    "round {round}, node {node}: {successors:?}"
                );
            }
        }
    }

    #[test]
    fn every_endless_loop_has_a_way_out() {
        // 0 -> 1 -> 0 and 2 -> 3 -> 2, apart from the exit 4.
        let mut successors = vec![vec![1], vec![0], vec![3], vec![2], Vec::new()];
        let immediate = post_dominators(&mut successors, 4);
        assert_eq!(immediate[..4], [1, 4, 3, 4]);
    }
}
