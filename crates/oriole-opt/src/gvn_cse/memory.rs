//! What is known about memory at each instruction: a version that changes whenever what is read may have changed.
//!
//! Two loads from one address read the same if nothing between them may have written there. Instead of looking between
//! them, every load gets the number of the last event that may have changed what it reads: a store, an atomic, a barrier, a
//! call, or the start of a block where ways with different histories meet. Equal numbers mean that nothing happened.
//!
//! Within a block stores are told apart by address: the same base with offsets that do not overlap cannot meet. Between
//! blocks only state spaces are told apart. A block keeps the versions of the block before it if all ways in agree, and at
//! the head of a loop if nothing in the loop writes the space.

use crate::memory_effects::clobbers;
use oriole_analysis::{ControlFlow, Loop, Loops};
use oriole_collections::IndexVec;
use oriole_ir::{Block, Function};
use oriole_isa::SpaceSet;

/// Events a load looks back over before it gives up telling addresses apart.
const MOST_EVENTS: usize = 64;

/// Part of memory: bytes from an offset from a base, by the number of its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub base: u64,
    pub offset: i64,
    pub bytes: u32,
}

impl Place {
    fn misses(self, other: Place) -> bool {
        self.base == other.base
            && (self.offset.saturating_add(i64::from(self.bytes)) <= other.offset
                || other.offset.saturating_add(i64::from(other.bytes)) <= self.offset)
    }
}

struct Event {
    version: u64,
    spaces: SpaceSet,
    place: Option<Place>,
}

/// Versions of memory along a walk over the blocks in reverse postorder.
pub(super) struct Memory<'run> {
    flow: &'run ControlFlow,
    loops: &'run Loops,
    /// What each loop may change.
    changed: IndexVec<Loop, SpaceSet>,
    /// The versions at the end of blocks that were walked.
    at_end: IndexVec<Block, Option<[u64; 8]>>,
    current: [u64; 8],
    /// What happened in this block.
    events: Vec<Event>,
    at_start: [u64; 8],
    next: u64,
    /// Whether anything is carried from block to block.
    across_blocks: bool,
}

impl<'run> Memory<'run> {
    pub fn new(
        function: &Function,
        flow: &'run ControlFlow,
        loops: &'run Loops,
        across_blocks: bool,
    ) -> Memory<'run> {
        let mut changed: IndexVec<Loop, SpaceSet> =
            IndexVec::from_elem(SpaceSet::NONE, loops.iter().count());
        if across_blocks && !changed.is_empty() {
            for &block in flow.reverse_postorder() {
                let mut here = SpaceSet::NONE;
                for instruction in function.instructions_of(block) {
                    here = here.union(clobbers(function.format(instruction)));
                }
                if let Some(this) = loops.innermost(block) {
                    changed[this] = changed[this].union(here);
                }
            }
            // Inner loops come before those around them.
            for this in loops.iter() {
                if let Some(parent) = loops.parent(this) {
                    changed[parent] = changed[parent].union(changed[this]);
                }
            }
        }
        Memory {
            flow,
            loops,
            changed,
            at_end: IndexVec::from_elem(None, function.blocks().len()),
            current: [0; 8],
            events: Vec::new(),
            at_start: [0; 8],
            next: 1,
            across_blocks,
        }
    }

    fn fresh(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    /// Begins a block, all of whose predecessors by forward edges were walked before.
    pub fn enter(&mut self, block: Block) {
        self.events.clear();
        let mut ways_in = self.flow.predecessors(block);
        if self.across_blocks
            && let (Some(only), None) = (ways_in.next(), ways_in.next())
            && let Some(end) = self.at_end[only]
        {
            self.current = end;
            self.at_start = end;
            return;
        }
        let header_of = self
            .loops
            .innermost(block)
            .filter(|&this| self.loops.header(this) == block);
        for (kind, &spaces) in SpaceSet::EACH.iter().enumerate() {
            let mut version = None;
            let mut agree = self.across_blocks;
            for from in self.flow.predecessors(block) {
                if !self.flow.is_reachable(from) {
                    continue;
                }
                match (&self.at_end[from], header_of) {
                    (Some(end), _) => {
                        agree &= version.is_none_or(|version| version == end[kind]);
                        version = Some(end[kind]);
                    }
                    // Back from the loop this block heads.
                    (None, Some(this)) if self.loops.contains(this, from) => {
                        agree &= !self.changed[this].intersects(spaces);
                    }
                    (None, _) => agree = false,
                }
            }
            self.current[kind] = match version.filter(|_| agree) {
                Some(version) => version,
                None => self.fresh(),
            };
        }
        self.at_start = self.current;
    }

    /// Ends a block.
    pub fn leave(&mut self, block: Block) {
        self.at_end[block] = Some(self.current);
    }

    /// Something happens that may change memory. Gives the version a store of a known place creates there.
    pub fn change(&mut self, spaces: SpaceSet, place: Option<Place>) -> u64 {
        let version = self.fresh();
        for (kind, &space) in SpaceSet::EACH.iter().enumerate() {
            if spaces.intersects(space) {
                self.current[kind] = version;
            }
        }
        self.events.push(Event {
            version,
            spaces,
            place,
        });
        version
    }

    /// The version of what a load reads.
    pub fn version(&self, spaces: SpaceSet, place: Option<Place>) -> u64 {
        for event in self.events.iter().rev().take(MOST_EVENTS) {
            let misses =
                matches!((event.place, place), (Some(one), Some(other)) if one.misses(other));
            if event.spaces.intersects(spaces) && !misses {
                return event.version;
            }
        }
        if self.events.len() > MOST_EVENTS {
            newest(&self.current, spaces)
        } else {
            newest(&self.at_start, spaces)
        }
    }
}

/// The last event that touched any of these spaces. Numbers are given out along the walk, so equal ones mean that nothing
/// happened to any of them in between.
fn newest(versions: &[u64; 8], spaces: SpaceSet) -> u64 {
    SpaceSet::EACH
        .iter()
        .zip(versions)
        .filter(|(space, _)| spaces.intersects(**space))
        .map(|(_, &version)| version)
        .max()
        .unwrap_or(0)
}
