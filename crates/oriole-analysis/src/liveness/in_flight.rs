//! Registers that asynchronous instructions still read or write.
//!
//! The operands of `wgmma.mma_async` belong to it until a `wgmma.wait_group` that waits for it. To the live ranges such a
//! wait reads them. What is in flight at the start of a block is what is in flight at the end of a block before it: a
//! forward dataflow problem over the registers that asynchronous instructions mention.
//!
//! `wait_group N` with `N` above zero leaves the last groups in flight; which ones is not followed, so it ends none of them,
//! and the next wait for all reads them again. A register that is written meanwhile is no longer held.

use super::lists::Lists;
use super::program::{Access, AccessKind};
use oriole_collections::BitSet;
use oriole_ir::graph::{Adjacency, postorder};

/// What the instructions of a function do to registers in flight, in order.
#[derive(Default)]
pub(super) struct InFlight {
    /// Instructions with the registers they take.
    taken: Vec<(u32, u32)>,
    /// Instructions that wait, and whether for all.
    waits: Vec<(u32, bool)>,
}

impl InFlight {
    /// An asynchronous instruction holds a register.
    pub(super) fn take(&mut self, instruction: u32, register: u32) {
        self.taken.push((instruction, register));
    }

    /// An instruction waits for the groups before the last `left`; for all if that is not known.
    pub(super) fn wait(&mut self, instruction: u32, left: Option<u32>) {
        self.waits
            .push((instruction, left.is_none_or(|left| left == 0)));
    }

    /// Makes every wait read what is in flight there. Blocks are given by their first instructions.
    pub(super) fn hold(
        &self,
        accesses: Lists<Access>,
        blocks: &[u32],
        successors: &Adjacency,
        registers: usize,
    ) -> Lists<Access> {
        if self.taken.is_empty() || self.waits.is_empty() {
            return accesses;
        }
        let count = blocks.len() - 1;
        let mut at_start: Vec<BitSet<usize>> = vec![BitSet::with_domain(registers); count];
        let mut order = postorder(successors, 0);
        order.reverse();
        let mut again = true;
        while again {
            again = false;
            for &block in &order {
                let mut held = at_start[block as usize].clone();
                self.walk(&accesses, blocks, block, &mut held, |_, _| {});
                for &next in successors.of(block) {
                    again |= at_start[next as usize].union_with(&held);
                }
            }
        }
        let mut result = Lists::default();
        for block in 0..count as u32 {
            let mut reads: Vec<(u32, Vec<u32>)> = Vec::new();
            let mut held = at_start[block as usize].clone();
            self.walk(&accesses, blocks, block, &mut held, |wait, held| {
                reads.push((wait, held.iter().map(|register| register as u32).collect()));
            });
            let mut reads = reads.into_iter().peekable();
            for instruction in blocks[block as usize]..blocks[block as usize + 1] {
                accesses
                    .of(instruction)
                    .iter()
                    .for_each(|&access| result.push(access));
                if let Some((_, registers)) = reads.next_if(|read| read.0 == instruction) {
                    for register in registers {
                        result.push(Access::new(register, AccessKind::Use));
                    }
                }
                result.close();
            }
        }
        result
    }

    /// Goes through a block with what is in flight, and says what is at each wait.
    fn walk(
        &self,
        accesses: &Lists<Access>,
        blocks: &[u32],
        block: u32,
        held: &mut BitSet<usize>,
        mut at_wait: impl FnMut(u32, &BitSet<usize>),
    ) {
        let (first, end) = (blocks[block as usize], blocks[block as usize + 1]);
        let mut taken = &self.taken[self.taken.partition_point(|pair| pair.0 < first)..];
        let mut waits = &self.waits[self.waits.partition_point(|pair| pair.0 < first)..];
        for instruction in first..end {
            if !held.is_empty() {
                for access in accesses.of(instruction) {
                    if access.defines() {
                        held.remove(access.entity() as usize);
                    }
                }
            }
            while let Some((&(own, register), rest)) = taken.split_first()
                && own == instruction
            {
                held.insert(register as usize);
                taken = rest;
            }
            if let Some((&(own, all), rest)) = waits.split_first()
                && own == instruction
            {
                at_wait(instruction, held);
                if all {
                    held.clear();
                }
                waits = rest;
            }
        }
    }
}
