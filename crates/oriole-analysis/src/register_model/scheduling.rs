//! An order of a block's instructions that keeps few values alive, for the pressures among the [features](super::features).
//!
//! ## Method
//! List scheduling: of the instructions whose operands are there, the one that frees the most registers beyond those it fills
//! comes next, if there is one that frees at least as many as it fills; else the first in the order that was given. Loads stay
//! between the instructions that order memory; the end of the block stays the end. At most 24 ready instructions are
//! compared for each place, so that long blocks take linear time.

use super::folding::{Folded, is_fence};
use crate::liveness::{Lists, LiveIntervals, Values};
use oriole_collections::SmallVec;
use oriole_ir::graph::Adjacency;
use oriole_ir::{Function, Instruction, Value};

/// Ready instructions that are compared.
const WINDOW: usize = 24;

/// Tables that every block uses again.
pub(super) struct Scheduler<'a> {
    function: &'a Function,
    values: &'a Values,
    folded: &'a Folded,
    /// Live intervals of the folded function.
    intervals: &'a LiveIntervals,
    /// The instruction of this block that defines a value.
    definers: Vec<u32>,
    /// Instructions of this block that still have to read a value, once each.
    readers: Vec<u32>,
    /// The exclusive or of their places: the place of the last one, if there is one left.
    places: Vec<u32>,
}

impl<'a> Scheduler<'a> {
    pub(super) fn new(
        function: &'a Function,
        values: &'a Values,
        folded: &'a Folded,
        intervals: &'a LiveIntervals,
    ) -> Scheduler<'a> {
        Scheduler {
            function,
            values,
            folded,
            intervals,
            definers: vec![u32::MAX; values.value_count()],
            readers: vec![0; values.value_count()],
            places: vec![0; values.value_count()],
        }
    }

    /// Adds the values an instruction reads, as folded, once each.
    fn read(&self, instruction: Instruction, reads: &mut Lists<Value>) {
        let mut own: SmallVec<[Value; 8]> = SmallVec::new();
        let uses = self.function.uses(instruction);
        own.extend(uses.map(|value| self.folded.root(value)));
        own.sort_unstable();
        own.dedup();
        for value in own {
            reads.push(value);
        }
    }

    /// Orders the instructions of a block, given in an order that is possible; `is_idle` says which of them, by number, take no place in
    /// the code.
    pub(super) fn order(
        &mut self,
        block: u32,
        order: &[u32],
        is_idle: impl Fn(u32) -> bool,
    ) -> Vec<u32> {
        if order.len() < 3 {
            return order.to_vec();
        }
        let count = order.len();
        let instructions: Vec<Instruction> = order
            .iter()
            .map(|&number| self.values.instruction(number))
            .collect();
        // What takes no place in the code comes as soon as it can and counts for nothing.
        let idle: Vec<bool> = order.iter().map(|&number| is_idle(number)).collect();
        let mut reads: Lists<Value> = Lists::with_capacity(count, 3 * count);
        for (at, &instruction) in instructions.iter().enumerate() {
            for result in self.function.results(instruction) {
                self.definers[result.index()] = at as u32;
            }
            if !idle[at] {
                self.read(instruction, &mut reads);
            }
            reads.close();
            for &value in reads.of(at as u32) {
                self.readers[value.index()] += 1;
                self.places[value.index()] ^= at as u32;
            }
        }
        let mut growth: Vec<i32> = Vec::with_capacity(count);
        for (at, &instruction) in instructions.iter().enumerate() {
            growth.push(self.growth(block, instruction, reads.of(at as u32)));
        }
        let (mut waits, followers) = self.dependences(&instructions);
        let mut ready = Ready::with_domain(count);
        for at in (0..count as u32).filter(|&at| waits[at as usize] == 0) {
            ready.insert(at);
        }
        let mut result = Vec::with_capacity(count);
        while let Some(at) = ready.best(&idle, &growth) {
            ready.remove(at);
            result.push(order[at as usize]);
            for &value in reads.of(at) {
                self.readers[value.index()] -= 1;
                self.places[value.index()] ^= at;
                // The last one that reads it frees it.
                if self.readers[value.index()] == 1 {
                    let last = self.places[value.index()] as usize;
                    growth[last] -= self.freed(block, value);
                }
            }
            for &follower in followers.of(at) {
                waits[follower as usize] -= 1;
                if waits[follower as usize] == 0 {
                    ready.insert(follower);
                }
            }
        }
        for &instruction in &instructions {
            for value in self.function.results(instruction) {
                self.definers[value.index()] = u32::MAX;
            }
        }
        debug_assert_eq!(result.len(), count);
        result
    }

    /// Registers an instruction fills less those it frees.
    fn growth(&self, block: u32, instruction: Instruction, reads: &[Value]) -> i32 {
        let filled: u32 = self
            .function
            .results(instruction)
            .map(|value| self.folded.units(self.function, value))
            .sum();
        let last = reads
            .iter()
            .filter(|value| self.readers[value.index()] == 1);
        let freed: i32 = last.map(|&value| self.freed(block, value)).sum();
        filled as i32 - freed
    }

    /// Registers that the last instruction of a block to read a value frees.
    fn freed(&self, block: u32, value: Value) -> i32 {
        match self.intervals.is_live_out(value.as_u32(), block) {
            true => 0,
            false => self.folded.units(self.function, value) as i32,
        }
    }

    /// For each instruction how many it waits for, and those that wait for it.
    fn dependences(&self, instructions: &[Instruction]) -> (Vec<u32>, Adjacency) {
        let count = instructions.len();
        let mut waits = vec![0u32; count];
        let mut pairs: Vec<(u32, u32)> = Vec::with_capacity(3 * count);
        let mut last_fence = None;
        let mut loads: Vec<u32> = Vec::new();
        let mut before: Vec<u32> = Vec::new();
        for (at, &instruction) in instructions.iter().enumerate() {
            before.clear();
            let uses = self.function.uses(instruction);
            before.extend(
                uses.map(|value| self.definers[value.index()])
                    .filter(|&definer| definer != u32::MAX && definer != at as u32),
            );
            let last = at + 1 == count;
            let fence = is_fence(self.function, instruction);
            if last {
                before.clear();
                before.extend(0..at as u32);
            } else if fence || !self.function.format(instruction).effects.is_pure() {
                before.extend(last_fence);
                if fence {
                    before.append(&mut loads);
                    last_fence = Some(at as u32);
                } else {
                    loads.push(at as u32);
                }
            }
            before.sort_unstable();
            before.dedup();
            waits[at] = before.len() as u32;
            pairs.extend(before.iter().map(|&definer| (definer, at as u32)));
        }
        (waits, Adjacency::new(count, pairs.into_iter()))
    }
}

/// Places of instructions whose operands are there: a set of bits, and one bit for each word of it that is not zero.
struct Ready {
    words: Vec<u64>,
    summary: Vec<u64>,
}

impl Ready {
    fn with_domain(count: usize) -> Ready {
        let words = count.div_ceil(64);
        Ready {
            words: vec![0; words],
            summary: vec![0; words.div_ceil(64)],
        }
    }

    fn insert(&mut self, at: u32) {
        let word = at as usize / 64;
        self.words[word] |= 1 << (at % 64);
        self.summary[word / 64] |= 1 << (word % 64);
    }

    fn remove(&mut self, at: u32) {
        let word = at as usize / 64;
        self.words[word] &= !(1 << (at % 64));
        if self.words[word] == 0 {
            self.summary[word / 64] &= !(1 << (word % 64));
        }
    }

    /// Of the first places, the first that is idle, else the one that grows least, if it does not grow, else the first.
    fn best(&self, idle: &[bool], growth: &[i32]) -> Option<u32> {
        let mut best = None;
        let mut least = 1;
        let mut left = WINDOW;
        for (index, &summary) in self.summary.iter().enumerate() {
            let mut words = summary;
            while words != 0 {
                let word = 64 * index + words.trailing_zeros() as usize;
                words &= words - 1;
                let mut bits = self.words[word];
                while bits != 0 {
                    let at = 64 * word + bits.trailing_zeros() as usize;
                    bits &= bits - 1;
                    if left == 0 {
                        return best;
                    }
                    left -= 1;
                    if idle[at] {
                        return Some(at as u32);
                    }
                    if best.is_none() || growth[at] < least {
                        best = Some(at as u32);
                        least = least.min(growth[at]);
                    }
                }
            }
        }
        best
    }
}
