//! The debug generation check: what lets a stale cursor say where it went stale.
//!
//! Rust's borrows already forbid keeping a reference across a mutation. A [`Cursor`](crate::map::Cursor) is the one
//! handle that borrows nothing, so in debug builds it carries the generation of the map it came from, and the map
//! remembers the place of its last mutation. Release builds carry neither.

#[cfg(debug_assertions)]
use core::panic::Location;

/// A map's generation and the place of its last mutation; empty in release builds.
#[derive(Clone, Copy)]
pub(crate) struct Witness {
    #[cfg(debug_assertions)]
    generation: u64,
    #[cfg(debug_assertions)]
    mutated_at: &'static Location<'static>,
}

/// What a cursor remembers of the moment it was made; empty in release builds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stamp {
    #[cfg(debug_assertions)]
    generation: u64,
    #[cfg(debug_assertions)]
    made_at: &'static Location<'static>,
}

impl Witness {
    #[track_caller]
    #[inline]
    pub(crate) const fn new() -> Self {
        Self {
            #[cfg(debug_assertions)]
            generation: 0,
            #[cfg(debug_assertions)]
            mutated_at: Location::caller(),
        }
    }

    /// Notes a mutation that may move or free entries.
    #[inline(always)]
    #[cfg_attr(debug_assertions, track_caller)]
    pub(crate) fn mutate(&mut self) {
        #[cfg(debug_assertions)]
        {
            self.generation += 1;
            self.mutated_at = Location::caller();
        }
    }

    #[inline(always)]
    #[cfg_attr(debug_assertions, track_caller)]
    pub(crate) fn stamp(&self) -> Stamp {
        Stamp {
            #[cfg(debug_assertions)]
            generation: self.generation,
            #[cfg(debug_assertions)]
            made_at: Location::caller(),
        }
    }

    /// Panics in debug builds when the table was mutated after the stamp was taken.
    #[inline(always)]
    #[cfg_attr(debug_assertions, track_caller)]
    pub(crate) fn check(&self, stamp: Stamp) {
        #[cfg(debug_assertions)]
        if self.generation != stamp.generation {
            panic!(
                "stale cursor: made at {}, but the table was mutated at {} since",
                stamp.made_at, self.mutated_at
            );
        }
        #[cfg(not(debug_assertions))]
        let _ = stamp;
    }
}
