//! What is live where blocks end, block by block, without live intervals.
//!
//! ## Method
//! What is live at the end of a block is the union of what is live where its successors begin, and what it reads at its end. It is
//! put together a word of the [live sets](super::LiveSets) at a time, for the block that is [entered](BlockEnds::enter). Whoever walks
//! all blocks from the last one up is told only what differs from the start of the block below ([`BlockEnds::cross`]), so that
//! values that live through many blocks cost nothing there. Where sets are kept as runs of blocks, as in deep nests of loops,
//! these differences are found beforehand, and single values are looked up.

use super::deep_nests::Changes;
use super::live_sets::{LiveSets, Method};
use super::program::Program;

/// No block.
const NONE: u32 = u32::MAX;

/// The ends of a program's blocks.
pub(crate) struct BlockEnds<'a, P> {
    program: &'a P,
    sets: LiveSets,
    /// What changes between blocks, if sets are kept as runs.
    changes: Option<Changes>,
    /// The block that was entered, or [`NONE`] if control does not reach it.
    block: u32,
    /// What is live at its end; if sets are kept as runs, what is read there.
    out: Vec<u64>,
    /// Words of it that may not be zero; unless rows are dense.
    list: Vec<u32>,
    /// Scratch: words of the block below; zero in between.
    inside: Vec<u64>,
}

impl<'a, P: Program> BlockEnds<'a, P> {
    pub(crate) fn new(program: &'a P) -> BlockEnds<'a, P> {
        BlockEnds::with(program, Method::Automatic)
    }

    /// With live sets computed in a given way.
    pub(crate) fn with(program: &'a P, method: Method) -> BlockEnds<'a, P> {
        let (sets, defined) = LiveSets::with_definitions(program, method);
        // No values are told apart here, so nothing is cut where control does not fall through.
        let out = vec![0; sets.word_count()];
        let changes = Changes::new(program, &sets, &defined, &out, |_| true);
        BlockEnds {
            program,
            changes,
            block: NONE,
            out,
            list: Vec::new(),
            inside: match sets.is_sparse() {
                true => vec![0; sets.word_count()],
                false => Vec::new(),
            },
            sets,
        }
    }

    pub(crate) fn program(&self) -> &'a P {
        self.program
    }

    pub(crate) fn sets(&self) -> &LiveSets {
        &self.sets
    }

    /// Makes a block the one that is asked about.
    pub(crate) fn enter(&mut self, block: u32) {
        let sets = &self.sets;
        let is_dense = sets.row(block).is_some();
        if is_dense {
            self.out.fill(0);
        } else {
            for index in self.list.drain(..) {
                self.out[index as usize] = 0;
            }
        }
        if !sets.is_reachable(block) {
            self.block = NONE;
            return;
        }
        self.block = block;
        let successors = self.program.successors().of(block);
        if let Some(words) = sets.sparse() {
            for &successor in successors {
                for (index, word) in words.of(successor) {
                    let out = &mut self.out[index as usize];
                    if *out == 0 {
                        self.list.push(index);
                    }
                    *out |= word;
                }
            }
        } else if is_dense {
            for &successor in successors {
                let row = sets.row(successor).expect("dense");
                for (word, &other) in self.out.iter_mut().zip(row) {
                    *word |= other;
                }
            }
        }
        for &entity in self.program.exit_uses(block) {
            let bit = sets.bit(entity).expect("what is read at an exit is global");
            let out = &mut self.out[bit as usize / 64];
            if *out == 0 && !is_dense {
                self.list.push(bit / 64);
            }
            *out |= 1 << (bit % 64);
        }
    }

    /// Whether something is live at the end of the block that was entered.
    #[inline]
    pub(crate) fn is_live(&self, entity: u32) -> bool {
        let Some(bit) = self.sets.bit(entity) else {
            return false;
        };
        self.out[bit as usize / 64] >> (bit % 64) & 1 != 0
            || self.sets.runs().is_some_and(|runs| {
                self.block != NONE
                    && self
                        .program
                        .successors()
                        .of(self.block)
                        .iter()
                        .any(|&next| runs.contains(bit, next))
            })
    }

    /// Enters a block, and says what is live at its end and not at the start of the next in layout, and what is live there only.
    pub(crate) fn cross(&mut self, above: u32, mut change: impl FnMut(u32, bool)) {
        self.enter(above);
        let sets = &self.sets;
        if let Some(changes) = &self.changes {
            for own in changes.of(above) {
                if own.closes != own.opens {
                    change(sets.entity(own.bit), own.opens);
                }
            }
            return;
        }
        let mut word = |index: usize, out: u64, inside: u64| {
            let mut differs = out ^ inside;
            while differs != 0 {
                let low = differs.trailing_zeros();
                change(sets.entity(index as u32 * 64 + low), out >> low & 1 != 0);
                differs &= differs - 1;
            }
        };
        let below = (above as usize + 1 < self.program.block_count()).then_some(above + 1);
        if let Some(words) = sets.sparse() {
            if let Some(below) = below {
                for (index, inside) in words.of(below) {
                    if self.out[index as usize] == 0 {
                        self.list.push(index);
                    }
                    self.inside[index as usize] = inside;
                }
            }
            for &index in &self.list {
                let index = index as usize;
                word(
                    index,
                    self.out[index],
                    std::mem::take(&mut self.inside[index]),
                );
            }
            return;
        }
        let row = below.map(|below| sets.row(below).expect("dense"));
        for (index, &out) in self.out.iter().enumerate() {
            word(index, out, row.map_or(0, |row| row[index]));
        }
    }
}
