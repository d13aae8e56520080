//! Requests of one warp that cost the same: loops that were unrolled access what is so many sectors further, again and again.
//!
//! ## Soundness
//! Addresses that differ by a multiple of [`unit`](super::group_cost::unit), of accesses that do the same, in one block, by the same lanes and
//! without a guard, cost the same: all that is counted depends on how far lanes are apart and on where in such a unit they start. Of copies
//! both sides must be so, by lines of a cache.

use super::Request;
use super::group_cost::unit;
use crate::lane_patterns::Arriving;
use oriole_collections::SmallVec;
use oriole_ir::{AccessKind, Address, Base, Block, Function};
use oriole_isa::Space;
use oriole_isa::memory_cost::Operation;

/// What two requests have in common that cost the same.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Likeness {
    block: Block,
    kind: AccessKind,
    space: Space,
    operation: Operation,
    bytes: u32,
    is_partial: bool,
    arriving: Arriving,
    places: [Option<(Base, u64)>; 2],
}

/// Bytes of a line of a cache.
const LINE: u64 = 128;

impl Likeness {
    /// Of a request without a guard at an address that is known.
    pub fn of(function: &Function, request: &Request, arriving: Arriving) -> Option<Likeness> {
        if function.guard(request.instruction).is_some() {
            return None;
        }
        let place = |address: Address, unit: u64| {
            let offset = address.offset.rem_euclid(unit as i64) as u64;
            Some((address.base, offset))
        };
        let places = match request.depends_on_both() {
            true => request.copied?.map(|address| place(address, LINE)),
            false => [place(request.address?, unit(request)), None],
        };
        Some(Likeness {
            block: function.block_of(request.instruction)?,
            kind: request.kind,
            space: request.space,
            operation: request.operation,
            bytes: request.bytes,
            is_partial: request.is_partial,
            arriving,
            places,
        })
    }
}

/// So many requests are remembered.
const MOST: usize = 16;

/// The last requests of a warp that were counted.
#[derive(Default)]
pub(super) struct LikeRequests {
    /// With the number of the request.
    last: SmallVec<[(Likeness, usize); MOST]>,
    next: usize,
}

impl LikeRequests {
    /// The number of the last request that is like this one.
    pub fn find(&self, likeness: &Likeness) -> Option<usize> {
        let found = self.last.iter().rev().find(|own| own.0 == *likeness);
        found.map(|own| own.1)
    }

    /// Remembers a request.
    pub fn insert(&mut self, likeness: Likeness, number: usize) {
        match self.last.len() {
            ..MOST => self.last.push((likeness, number)),
            _ => {
                self.last[self.next] = (likeness, number);
                self.next = (self.next + 1) % MOST;
            }
        }
    }
}
