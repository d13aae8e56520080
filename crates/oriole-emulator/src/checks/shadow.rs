//! What every word of shared and global memory remembers of its accesses.
//!
//! The last writes, up to two of different bytes, and up to three reads that did not happen before each other: enough to find a
//! race with the latest accesses of a word, not with every one there ever was.

use oriole_isa::Scope;

use super::clocks::Place;

/// One access to a word.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Record {
    pub(crate) block: u64,
    /// Its number in the block.
    pub(crate) thread: u16,
    /// Bytes of the word; none marks an empty place.
    pub(crate) bytes: u8,
    pub(crate) writes: bool,
    /// An atomic, or a relaxed, acquiring, releasing or volatile access, of this scope.
    pub(crate) strong: Option<Scope>,
    /// A copy by `cp.async`.
    pub(crate) copies: bool,
    pub(crate) clock: u32,
    pub(crate) function: u32,
    pub(crate) pc: u32,
}

const EMPTY: Record = Record {
    block: 0,
    thread: 0,
    bytes: 0,
    writes: false,
    strong: None,
    copies: false,
    clock: 0,
    function: 0,
    pc: 0,
};

impl Record {
    /// Whether an access, executed at a place, races with an earlier one that did not happen before it.
    pub(crate) fn conflicts(&self, other: &Record, at: Place) -> bool {
        let strong = match (self.strong, other.strong) {
            (Some(mine), Some(theirs)) => {
                let there = Place {
                    block: other.block,
                    cluster: other.block / at.cluster_blocks,
                    ..at
                };
                at.reaches(mine, other.block) && there.reaches(theirs, at.block)
            }
            _ => false,
        };
        self.bytes & other.bytes != 0 && (self.writes || other.writes) && !strong
    }

    /// What the access does, in words.
    pub(crate) fn verb(&self) -> &'static str {
        match (self.copies, self.strong, self.writes) {
            (true, _, true) => "written by `cp.async`",
            (true, _, false) => "read by `cp.async`",
            (false, Some(_), true) => "written by an atomic or strong access",
            (false, Some(_), false) => "read by a strong access",
            (false, None, true) => "written",
            (false, None, false) => "read",
        }
    }
}

/// The accesses of one word.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shadow {
    writes: [Record; 2],
    reads: [Record; 3],
}

impl Default for Shadow {
    fn default() -> Shadow {
        Shadow {
            writes: [EMPTY; 2],
            reads: [EMPTY; 3],
        }
    }
}

impl Shadow {
    /// An earlier access that races with a new one.
    pub(crate) fn conflict(
        &self,
        record: &Record,
        at: Place,
        ordered: impl Fn(&Record) -> bool,
    ) -> Option<Record> {
        let reads = self.reads.iter().filter(|_| record.writes);
        self.writes
            .iter()
            .chain(reads)
            .find(|earlier| record.conflicts(earlier, at) && !ordered(earlier))
            .copied()
    }

    /// Remembers an access.
    pub(crate) fn remember(&mut self, record: Record, ordered: impl Fn(&Record) -> bool) {
        if record.writes {
            for read in &mut self.reads {
                if read.bytes & !record.bytes == 0 {
                    *read = EMPTY;
                }
            }
            let covered = |write: &Record| write.bytes & !record.bytes == 0;
            let slot = self.writes.iter().position(covered).unwrap_or(1);
            self.writes[slot] = record;
            self.writes.swap(0, slot);
        } else {
            let free = |read: &Record| {
                read.bytes == 0 || (ordered(read) && read.bytes & !record.bytes == 0)
            };
            let slot = self.reads.iter().position(free).unwrap_or(2);
            self.reads[slot] = record;
            self.reads.swap(0, slot);
        }
    }
}

/// The bytes of each word that an access touches: word number and mask.
pub(crate) fn words(offset: u64, width: u32) -> impl Iterator<Item = (u64, u8)> {
    (offset >> 2..(offset + u64::from(width)).div_ceil(4)).map(move |word| {
        let first = offset.max(word * 4) - word * 4;
        let last = (offset + u64::from(width)).min(word * 4 + 4) - word * 4;
        (word, ((1u16 << last) - (1 << first)) as u8)
    })
}
