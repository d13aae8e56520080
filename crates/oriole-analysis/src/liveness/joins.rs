//! Values of registers that are written several times: where they join, and which one is live where.
//!
//! ## Method
//! PHI-definitions go on the iterated dominance frontier of the definitions, restricted to blocks where the register is
//! live. The 64 registers of a word of the live sets are placed together: what a block defines goes to its frontier, where
//! what is live becomes a definition in turn. So a block costs something only where a word has a definition or a join.
//!
//! Frontiers together are quadratic in loops nested thousands deep. There, and for one register alone, Sreedhar and Gao's
//! walk over the dominator tree by descending depth is used. It does not enter a subtree whose root the register is not
//! live in: whatever is live at a join below it is defined below it too, and that definition's own frontier has the join.
//!
//! With the joins known, a segment that begins where a block does, and is neither a join nor the entry, continues the value
//! that is live at the end of the block's immediate dominator. The dominator is in another segment, since the blocks of one
//! come in depth-first order.

use super::live_intervals::{Segment, ValueKind, ValueNumber};
use super::live_sets::{ByWord, Found, LiveSets, Words};
use super::program::Program;
use super::slot_indexes::{Moment, SlotIndexes};
use oriole_ir::graph::{Adjacency, Tree, dominance_frontiers, immediate_dominators};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// In the place of a segment's value, before values are told apart: the block the segment begins in, and whether a join
/// begins it.
pub(crate) fn origin(block: u32, is_join: bool) -> u32 {
    block << 1 | u32::from(is_join)
}

/// The origin of a segment that a definition begins.
pub(crate) const DEFINITION: u32 = u32::MAX;

/// No value yet.
const UNKNOWN: u32 = u32::MAX;

/// Immediate dominators, and what it takes to tell the values of one register after the other apart.
pub(crate) struct Joins {
    parents: Vec<u32>,
    /// Values of the segments of the register at hand.
    names: Vec<u32>,
    path: Vec<u32>,
}

impl Joins {
    pub(crate) fn new(program: &impl Program) -> Joins {
        Joins {
            parents: immediate_dominators(program.successors(), program.predecessors(), 0),
            names: Vec::new(),
            path: Vec::new(),
        }
    }

    /// Where values of the registers in `complex` join, given the definitions of all globals.
    pub(crate) fn place(
        &self,
        program: &impl Program,
        sets: &LiveSets,
        complex: &[u64],
        defined: &[(u32, u32)],
    ) -> Words {
        let defined = defined
            .iter()
            .copied()
            .filter(|&(bit, _)| complex[bit as usize / 64] >> (bit % 64) & 1 != 0);
        let defined = ByWord::new(complex.len(), defined);
        let blocks = program.block_count();
        match dominance_frontiers(&self.parents, program.predecessors(), 0, 16 * blocks + 1024) {
            Some(frontiers) => spread(blocks, sets, &defined, &frontiers, complex),
            None => self.place_by_walks(program, sets, &defined, complex.len()),
        }
    }

    /// The same for each register alone.
    fn place_by_walks(
        &self,
        program: &impl Program,
        sets: &LiveSets,
        defined: &ByWord,
        words: usize,
    ) -> Words {
        let mut walk = Walk::new(program, self);
        let mut found: Vec<Found> = Vec::new();
        let mut order: Vec<(u32, u32)> = Vec::new();
        let mut joins = vec![0u64; program.block_count()];
        for word in 0..words {
            order.clear();
            order.extend_from_slice(defined.of(word));
            order.sort_unstable();
            let first = found.len();
            for own in order.chunk_by(|a, b| a.0 == b.0) {
                let bit = own[0].0;
                let is_live = |block: u32| sets.word(block, word as u32) >> (bit % 64) & 1 != 0;
                walk.place(program, own.iter().map(|pair| pair.1), is_live);
                for &block in &walk.joins {
                    if joins[block as usize] == 0 {
                        found.push((word as u32, block, 0));
                    }
                    joins[block as usize] |= 1 << (bit % 64);
                }
            }
            for (_, block, bits) in &mut found[first..] {
                *bits = std::mem::take(&mut joins[*block as usize]);
            }
        }
        Words::new(program.block_count(), &found)
    }

    /// Gives values to the segments of a register, in order, with [`origin`]s in place of values, and joins neighbours of
    /// one value. Results are appended.
    pub(crate) fn resolve(
        &mut self,
        slots: &SlotIndexes,
        raw: &[Segment],
        segments: &mut Vec<Segment>,
        values: &mut Vec<ValueNumber>,
    ) {
        let first_value = values.len();
        self.names.clear();
        for segment in raw {
            let kind = if segment.start.moment() != Moment::Block {
                Some(ValueKind::Instruction)
            } else if segment.value == DEFINITION {
                Some(ValueKind::Parameter)
            } else if segment.value & 1 != 0 {
                Some(ValueKind::Phi)
            } else if segment.value == 0 {
                Some(ValueKind::LiveIn)
            } else {
                None
            };
            self.names.push(match kind {
                Some(kind) => {
                    values.push(ValueNumber {
                        definition: segment.start,
                        kind,
                    });
                    (values.len() - first_value) as u32 - 1
                }
                None => UNKNOWN,
            });
        }
        let base = segments.len();
        for (index, segment) in raw.iter().enumerate() {
            let mut at = index;
            while self.names[at] == UNKNOWN {
                self.path.push(at as u32);
                let parent = self.parents[(raw[at].value >> 1) as usize];
                let end = slots.end(parent);
                // The last segment that begins before the dominator ends is live there.
                at = raw.partition_point(|segment| segment.start < end) - 1;
                debug_assert!(raw[at].end >= end);
            }
            let value = self.names[at];
            for at in self.path.drain(..) {
                self.names[at as usize] = value;
            }
            match segments[base..].last_mut() {
                Some(last) if last.value == value && last.end == segment.start => {
                    last.end = segment.end;
                }
                _ => segments.push(Segment { value, ..*segment }),
            }
        }
    }
}

/// Spreads definitions to frontiers, a word of registers at a time.
fn spread(
    blocks: usize,
    sets: &LiveSets,
    defined: &ByWord,
    frontiers: &Adjacency,
    complex: &[u64],
) -> Words {
    let mut joins = vec![0u64; blocks];
    let mut waiting = vec![0u64; blocks];
    let mut stack: Vec<u32> = Vec::new();
    let mut found: Vec<Found> = Vec::new();
    for (word, &complex) in complex.iter().enumerate() {
        let first = found.len();
        for &(bit, block) in defined.of(word) {
            if frontiers.of(block).is_empty() {
                continue;
            }
            if waiting[block as usize] == 0 {
                stack.push(block);
            }
            waiting[block as usize] |= 1 << (bit % 64);
        }
        while let Some(block) = stack.pop() {
            let bits = std::mem::take(&mut waiting[block as usize]) & complex;
            for &join in frontiers.of(block) {
                let at = join as usize;
                let new = bits & !joins[at];
                if new == 0 {
                    continue;
                }
                let new = new & sets.word(join, word as u32);
                if new == 0 {
                    continue;
                }
                if joins[at] == 0 {
                    found.push((word as u32, join, 0));
                }
                joins[at] |= new;
                if waiting[at] == 0 {
                    stack.push(join);
                }
                waiting[at] |= new;
            }
        }
        for (_, block, bits) in &mut found[first..] {
            *bits = std::mem::take(&mut joins[*block as usize]);
        }
    }
    Words::new(blocks, &found)
}

/// Sreedhar and Gao's walk, for one register after the other.
pub(crate) struct Walk {
    tree: Tree,
    round: u32,
    defines: Vec<u32>,
    visited: Vec<u32>,
    placed: Vec<u32>,
    queue: BinaryHeap<(u32, Reverse<u32>)>,
    stack: Vec<u32>,
    /// Where values of the register at hand join.
    joins: Vec<u32>,
}

impl Walk {
    pub(crate) fn new(program: &impl Program, joins: &Joins) -> Walk {
        let count = program.block_count();
        Walk {
            tree: Tree::new(joins.parents.clone(), 0),
            round: 0,
            defines: vec![0; count],
            visited: vec![0; count],
            placed: vec![0; count],
            queue: BinaryHeap::new(),
            stack: Vec::new(),
            joins: Vec::new(),
        }
    }

    /// Finds the blocks where values join, given those that define the register and where it is live-in.
    pub(crate) fn place(
        &mut self,
        program: &impl Program,
        definitions: impl Iterator<Item = u32>,
        is_live: impl Fn(u32) -> bool,
    ) {
        self.round += 1;
        let round = self.round;
        self.joins.clear();
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
                        || !is_live(target)
                    {
                        continue;
                    }
                    self.placed[target as usize] = round;
                    self.joins.push(target);
                    if self.defines[target as usize] != round {
                        self.queue.push((self.tree.depth(target), Reverse(target)));
                    }
                }
                for &child in self.tree.children(block) {
                    if self.visited[child as usize] != round && is_live(child) {
                        self.visited[child as usize] = round;
                        self.stack.push(child);
                    }
                }
            }
        }
    }
}
