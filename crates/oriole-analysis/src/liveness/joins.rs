//! Value numbers of one register that is written several times: where its values join, and which one is live where.
//!
//! ## Method
//! PHI-definitions go on the iterated dominance frontier of the definitions, restricted to blocks where the register is
//! live (Sreedhar and Gao's walk over the dominator tree, by descending depth). The walk does not enter a subtree whose root
//! the register is not live in: whatever is live at a join below it is defined below it too, and that definition's own
//! frontier has the join. So the walk costs what the register is live in. Then the blocks with segments are visited in
//! preorder of the dominator tree with a stack of those that dominate: a block without PHI gets the value its nearest
//! dominator on the stack ends with.

use super::live_intervals::{Segment, ValueKind, ValueNumber};
use super::program::Program;
use super::slot_indexes::{Moment, Slot};
use oriole_ir::graph::{Tree, immediate_dominators};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// What is needed to find joins, for one register after the other.
pub(crate) struct Joins {
    tree: Tree,
    /// Position of each block in preorder.
    preorder: Vec<u32>,
    round: u32,
    live: Vec<u32>,
    defines: Vec<u32>,
    visited: Vec<u32>,
    placed: Vec<u32>,
    queue: BinaryHeap<(u32, Reverse<u32>)>,
    stack: Vec<u32>,
    runs: Vec<(u32, u32, u32)>,
    ends: Vec<(u32, u32)>,
    fresh: Vec<ValueNumber>,
    defining: Vec<u32>,
    order: Vec<u32>,
    names: Vec<u32>,
}

impl Joins {
    pub(crate) fn new(program: &impl Program) -> Joins {
        let count = program.block_count();
        let parents = immediate_dominators(program.successors(), program.predecessors(), 0);
        let tree = Tree::new(parents, 0);
        let mut preorder = vec![u32::MAX; count];
        for (position, &block) in tree.preorder().iter().enumerate() {
            preorder[block as usize] = position as u32;
        }
        Joins {
            tree,
            preorder,
            round: 0,
            live: vec![0; count],
            defines: vec![0; count],
            visited: vec![0; count],
            placed: vec![0; count],
            queue: BinaryHeap::new(),
            stack: Vec::new(),
            runs: Vec::new(),
            ends: Vec::new(),
            fresh: Vec::new(),
            defining: Vec::new(),
            order: Vec::new(),
            names: Vec::new(),
        }
    }

    /// Marks the blocks where values join, given those that define the register.
    fn place(&mut self, program: &impl Program, definitions: impl Iterator<Item = u32>) {
        let round = self.round;
        for block in definitions {
            if std::mem::replace(&mut self.defines[block as usize], round) != round {
                self.queue.push((self.tree.depth(block), Reverse(block)));
            }
        }
        while let Some((depth, Reverse(root))) = self.queue.pop() {
            self.visited[root as usize] = round;
            self.stack.push(root);
            while let Some(block) = self.stack.pop() {
                for &target in program.successors().of(block) {
                    if self.tree.depth(target) > depth
                        || self.tree.parent(target) == block
                        || self.placed[target as usize] == round
                        || self.live[target as usize] != round
                    {
                        continue;
                    }
                    self.placed[target as usize] = round;
                    if self.defines[target as usize] != round {
                        self.queue.push((self.tree.depth(target), Reverse(target)));
                    }
                }
                for &child in self.tree.children(block) {
                    if self.visited[child as usize] != round && self.live[child as usize] == round {
                        self.visited[child as usize] = round;
                        self.stack.push(child);
                    }
                }
            }
        }
    }

    /// Gives values to the segments of a register, of which each lies in one block, whose number stands in place of the
    /// value, and joins neighbours of one value. A segment that starts where its block does is live-in. Results are
    /// appended.
    pub(crate) fn resolve(
        &mut self,
        program: &impl Program,
        raw: &mut [Segment],
        segments: &mut Vec<Segment>,
        values: &mut Vec<ValueNumber>,
    ) {
        self.runs.clear();
        self.round += 1;
        let mut definitions = std::mem::take(&mut self.defining);
        definitions.clear();
        let mut at = 0;
        while at < raw.len() {
            let block = raw[at].value;
            let first = at;
            if raw[at].start.moment() == Moment::Block {
                self.live[block as usize] = self.round;
                at += 1;
            }
            // What comes into the entry from outside is no definition: it dominates everything, and meets others only
            // where they are defined.
            if at < raw.len() && raw[at].value == block {
                definitions.push(block);
            }
            while at < raw.len() && raw[at].value == block {
                at += 1;
            }
            self.runs.push((block, first as u32, at as u32));
        }
        self.place(program, definitions.iter().copied());
        self.defining = definitions;
        let mut runs = std::mem::take(&mut self.runs);
        runs.sort_unstable_by_key(|run| self.preorder[run.0 as usize]);
        self.ends.clear();
        self.fresh.clear();
        for &(block, first, last) in &runs {
            while let Some(&(top, _)) = self.ends.last()
                && !self.tree.is_ancestor(top, block)
            {
                self.ends.pop();
            }
            let mut current = self.ends.last().map(|top| top.1);
            for segment in &mut raw[first as usize..last as usize] {
                if segment.start.moment() == Moment::Block {
                    if self.placed[block as usize] == self.round {
                        current = Some(self.fresh(segment.start, ValueKind::Phi));
                    } else if block == 0 {
                        current = Some(self.fresh(segment.start, ValueKind::LiveIn));
                    }
                } else {
                    current = Some(self.fresh(segment.start, ValueKind::Instruction));
                }
                segment.value =
                    current.expect("a block without definition has a dominator with one");
            }
            if let Some(current) = current {
                self.ends.push((block, current));
            }
        }
        self.runs = runs;
        // Values are numbered in order of their definitions.
        self.order.clear();
        self.order.extend(0..self.fresh.len() as u32);
        self.order
            .sort_unstable_by_key(|&value| self.fresh[value as usize].definition);
        self.names.clear();
        self.names.resize(self.fresh.len(), 0);
        for (name, &value) in self.order.iter().enumerate() {
            self.names[value as usize] = name as u32;
            values.push(self.fresh[value as usize]);
        }
        let base = segments.len();
        for segment in raw.iter() {
            let value = self.names[segment.value as usize];
            match segments[base..].last_mut() {
                Some(last) if last.value == value && last.end == segment.start => {
                    last.end = segment.end;
                }
                _ => segments.push(Segment { value, ..*segment }),
            }
        }
    }

    fn fresh(&mut self, definition: Slot, kind: ValueKind) -> u32 {
        self.fresh.push(ValueNumber { definition, kind });
        self.fresh.len() as u32 - 1
    }
}
