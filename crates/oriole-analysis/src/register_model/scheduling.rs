//! An order of a block's instructions that keeps few values alive, for the pressures among the [features](super::features).
//!
//! ## Method
//! List scheduling: of the instructions whose operands are there, the one that frees the most registers beyond those it fills
//! comes next, if there is one that frees at least as many as it fills; else the first in the order that was given. Loads stay
//! between the instructions that order memory; the end of the block stays the end. At most 24 ready instructions are
//! compared for each place, so that long blocks take linear time.

use super::facts::Fact;
use super::folding::View;
use super::reordered::Code;
use crate::liveness::{BlockEnds, Program};
use std::ops::Range;

/// Ready instructions that are compared.
const WINDOW: usize = 24;

/// No entry of a list.
const NONE: u32 = u32::MAX;

/// Tables that every block uses again.
pub(super) struct Scheduler<'a> {
    code: &'a Code<'a>,
    /// Instructions of this block that still have to read a value, once each.
    readers: Vec<u32>,
    /// The exclusive or of their places: the place of the last one, if there is one left.
    places: Vec<u32>,
    /// The last instruction that was found to read a value, by its number and one more.
    seen: Vec<u32>,
    /// Where the values that each instruction of the block reads begin, and the end.
    starts: Vec<u32>,
    reads: Vec<u32>,
    is_idle: Vec<bool>,
    growth: Vec<i32>,
    /// How many instructions each one waits for.
    waits: Vec<u32>,
    /// The first entry in `followers` of each instruction.
    heads: Vec<u32>,
    /// An instruction that waits, and the next entry.
    followers: Vec<(u32, u32)>,
    /// The last instruction found to wait for each one.
    waiting: Vec<u32>,
    loads: Vec<u32>,
    ready: Ready,
}

impl<'a> Scheduler<'a> {
    pub(super) fn new(code: &'a Code<'a>) -> Scheduler<'a> {
        Scheduler {
            code,
            readers: Vec::new(),
            places: Vec::new(),
            seen: Vec::new(),
            starts: Vec::new(),
            reads: Vec::new(),
            is_idle: Vec::new(),
            growth: Vec::new(),
            waits: Vec::new(),
            heads: Vec::new(),
            followers: Vec::new(),
            waiting: Vec::new(),
            loads: Vec::new(),
            ready: Ready::default(),
        }
    }

    /// The values that an instruction of the block reads, as folded, once each.
    fn reads_of(&self, at: u32) -> Range<usize> {
        self.starts[at as usize] as usize..self.starts[at as usize + 1] as usize
    }

    /// Orders the instructions of the block that was entered; no block is ordered twice.
    pub(super) fn order(
        &mut self,
        range: Range<u32>,
        ends: &BlockEnds<'_, View<'_>>,
        order: &mut Vec<u32>,
    ) {
        if range.len() < 3 {
            order.extend(range);
            return;
        }
        self.find_reads(range.clone());
        self.find_growth(range.clone(), ends);
        self.find_dependences(range.clone());
        let units = |value: u32| self.code.view.units(value) as i32;
        let last = range.len() as u32 - 1;
        self.ready.reset(range.len());
        for at in (0..last).filter(|&at| self.waits[at as usize] == 0) {
            self.ready.insert(at);
        }
        while let Some(at) = self.ready.best(&self.is_idle, &self.growth) {
            self.ready.remove(at);
            order.push(range.start + at);
            for index in self.reads_of(at) {
                let value = self.reads[index];
                let left = &mut self.readers[value as usize];
                *left -= 1;
                self.places[value as usize] ^= at;
                // The last one that reads it frees it.
                if *left == 1 && !ends.is_live(value) {
                    let reader = self.places[value as usize] as usize;
                    self.growth[reader] -= units(value);
                }
            }
            let mut next = self.heads[at as usize];
            while next != NONE {
                let (follower, following) = self.followers[next as usize];
                self.waits[follower as usize] -= 1;
                if self.waits[follower as usize] == 0 {
                    self.ready.insert(follower);
                }
                next = following;
            }
        }
        // The end of the block waits for all others.
        order.push(range.start + last);
        for index in self.reads_of(last) {
            let value = self.reads[index] as usize;
            self.readers[value] -= 1;
            self.places[value] ^= last;
        }
        debug_assert_eq!(order.len(), range.len());
    }

    fn find_reads(&mut self, range: Range<u32>) {
        let code = self.code;
        let count = code.values.value_count() as u32;
        self.readers.resize(count as usize, 0);
        self.places.resize(count as usize, 0);
        self.seen.resize(count as usize, 0);
        self.starts.clear();
        self.starts.push(0);
        self.reads.clear();
        self.is_idle.clear();
        for (at, number) in (0..).zip(range) {
            // What takes no place in the code comes as soon as it can and counts for nothing.
            let place = code.place(number);
            self.is_idle.push(place.is_none());
            for access in place.map_or(&[][..], |place| code.view.accesses(place)) {
                let value = access.entity();
                if !access.uses()
                    || value >= count
                    || std::mem::replace(&mut self.seen[value as usize], number + 1) == number + 1
                {
                    continue;
                }
                self.reads.push(value);
                self.readers[value as usize] += 1;
                self.places[value as usize] ^= at;
            }
            self.starts.push(self.reads.len() as u32);
        }
    }

    /// Finds the registers that each instruction fills less those it frees.
    fn find_growth(&mut self, range: Range<u32>, ends: &BlockEnds<'_, View<'_>>) {
        let view = self.code.view;
        let count = self.code.values.value_count() as u32;
        self.growth.clear();
        for (at, number) in (0..).zip(range) {
            let mut growth = 0;
            if let Some(place) = self.code.place(number) {
                for access in view.accesses(place) {
                    if access.defines() && access.entity() < count {
                        growth += view.units(access.entity()) as i32;
                    }
                }
            }
            for &value in &self.reads[self.reads_of(at)] {
                if self.readers[value as usize] == 1 && !ends.is_live(value) {
                    growth -= view.units(value) as i32;
                }
            }
            self.growth.push(growth);
        }
    }

    /// Finds how many instructions each one waits for, and those that wait for it; of the end of the block, which waits for all, nothing.
    fn find_dependences(&mut self, range: Range<u32>) {
        let code = self.code;
        let count = range.len();
        self.heads.clear();
        self.heads.resize(count, NONE);
        self.waiting.clear();
        self.waiting.resize(count, NONE);
        self.waits.clear();
        self.followers.clear();
        self.loads.clear();
        let (heads, waiting, followers) = (&mut self.heads, &mut self.waiting, &mut self.followers);
        let mut last_fence = None;
        for (at, number) in (0..count as u32 - 1).zip(range.clone()) {
            let mut waits = 0;
            let mut wait = |other: u32| {
                if std::mem::replace(&mut waiting[other as usize], at) != at {
                    waits += 1;
                    let head = &mut heads[other as usize];
                    followers.push((at, *head));
                    *head = followers.len() as u32 - 1;
                }
            };
            for input in code.inputs(range.start, number) {
                wait(input - range.start);
            }
            let is_fence = code.is(number, Fact::FENCE);
            if is_fence || !code.is(number, Fact::PURE) {
                if let Some(fence) = last_fence {
                    wait(fence);
                }
                if is_fence {
                    self.loads.drain(..).for_each(&mut wait);
                    last_fence = Some(at);
                } else {
                    self.loads.push(at);
                }
            }
            self.waits.push(waits);
        }
    }
}

/// Places of instructions whose operands are there: a set of bits, and one bit for each word of it that is not zero.
#[derive(Default)]
struct Ready {
    words: Vec<u64>,
    summary: Vec<u64>,
}

impl Ready {
    /// Makes it an empty set of places below a count.
    fn reset(&mut self, count: usize) {
        let words = count.div_ceil(64);
        self.words.clear();
        self.words.resize(words, 0);
        self.summary.clear();
        self.summary.resize(words.div_ceil(64), 0);
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
