//! Where separated lanes meet again: immediate post-dominators of the decoded code.
//!
//! ## Method
//! Basic blocks of the operations, an edge from every block that leaves the function (and, so that it has a way out, from one
//! block of every endless loop) to a virtual exit, and the iteration of Cooper, Harvey and Kennedy over the reversed
//! graph. A branch whose lanes meet only at the exit has no meeting point: its lanes meet where the function returns.

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

/// The immediate post-dominator of every node; `usize::MAX` for nodes that are never reached backwards.
fn post_dominators(successors: &mut [Vec<usize>], exit: usize) -> Vec<usize> {
    let nodes = successors.len();
    loop {
        // Nodes from which the exit can be reached.
        let mut predecessors: Vec<Vec<usize>> = vec![Vec::new(); nodes];
        for (node, out) in successors.iter().enumerate() {
            for &successor in out {
                predecessors[successor].push(node);
            }
        }
        let mut order = Vec::with_capacity(nodes);
        let mut state = vec![0u8; nodes];
        let mut stack = vec![(exit, 0)];
        state[exit] = 1;
        while let Some((node, next)) = stack.pop() {
            if let Some(&predecessor) = predecessors[node].get(next) {
                stack.push((node, next + 1));
                if state[predecessor] == 0 {
                    state[predecessor] = 1;
                    stack.push((predecessor, 0));
                }
            } else {
                order.push(node);
            }
        }
        // An endless loop gets a way out at its last block.
        if let Some(stuck) = (0..nodes).rev().find(|&node| state[node] == 0) {
            successors[stuck].push(exit);
            continue;
        }
        let mut number = vec![0; nodes];
        for (index, &node) in order.iter().enumerate() {
            number[node] = index;
        }
        let mut immediate = vec![usize::MAX; nodes];
        immediate[exit] = exit;
        let mut changed = true;
        while changed {
            changed = false;
            for &node in order.iter().rev().skip(1) {
                let mut best = usize::MAX;
                for &successor in &successors[node] {
                    if immediate[successor] == usize::MAX {
                        continue;
                    }
                    best = if best == usize::MAX {
                        successor
                    } else {
                        let (mut a, mut b) = (best, successor);
                        while a != b {
                            while number[a] < number[b] {
                                a = immediate[a];
                            }
                            while number[b] < number[a] {
                                b = immediate[b];
                            }
                        }
                        a
                    };
                }
                if immediate[node] != best {
                    immediate[node] = best;
                    changed = true;
                }
            }
        }
        return immediate;
    }
}
