//! String tables of LLVM's new design: linear probing and Algorithm R on the bucket pointers.
//!
//! No used bits here: whether a bucket is used is a null test, and the array of hashes already turns most mismatches away
//! before a node is touched. Load at most 3/4, first 16 buckets. Keys chosen to collide make it slow; the swiss design is the
//! one that defends itself.

use super::node::Head;
use super::{RawStrings, StringKeys, Strings, string_hash};
use crate::raw::{TryReserveError, Vacant};
use alloc::vec;
use alloc::vec::Vec;
use core::ptr::NonNull;

/// First number of buckets.
const FIRST_BUCKETS: usize = 16;

/// A map from strings.
pub type StringMap<V> = Strings<V, str, Table>;
/// A set of strings.
pub type StringSet = StringKeys<str, Table>;

/// The table.
pub struct Table {
    /// Occupied where `Some`; a power of two of them, or none.
    buckets: Vec<Option<NonNull<Head>>>,
    /// The hash of each occupied bucket.
    hashes: Vec<u32>,
    len: usize,
}

impl Table {
    /// The bucket of a key, or else the unused one where it would go (meaningless when there are no buckets).
    #[inline]
    fn probe(&self, hash: u32, key: &[u8]) -> Result<usize, usize> {
        if self.buckets.is_empty() {
            return Err(0);
        }
        let mask = self.buckets.len() - 1;
        let mut index = hash as usize & mask;
        loop {
            let Some(node) = self.buckets[index] else {
                return Err(index);
            };
            // SAFETY: a node in a bucket is live.
            if self.hashes[index] == hash && unsafe { Head::key(node) } == key {
                return Ok(index);
            }
            index = (index + 1) & mask;
        }
    }

    fn first_unused(&self, hash: u32) -> usize {
        let mask = self.buckets.len() - 1;
        let mut index = hash as usize & mask;
        while self.buckets[index].is_some() {
            index = (index + 1) & mask;
        }
        index
    }

    #[cold]
    fn rehash(&mut self, buckets: usize) {
        let new_buckets = vec![None; buckets];
        let new_hashes = vec![0; buckets];
        let old_buckets = core::mem::replace(&mut self.buckets, new_buckets);
        let old_hashes = core::mem::replace(&mut self.hashes, new_hashes);
        for (node, &hash) in old_buckets.iter().zip(&old_hashes) {
            if node.is_some() {
                let index = self.first_unused(hash);
                self.buckets[index] = *node;
                self.hashes[index] = hash;
            }
        }
    }
}

/// The buckets for so many entries.
fn buckets_for(entries: usize) -> Result<usize, TryReserveError> {
    entries
        .checked_mul(4)
        .and_then(|quarters| quarters.div_ceil(3).checked_next_power_of_two())
        .filter(|&buckets| buckets <= 1 << 31)
        .map(|buckets| buckets.max(FIRST_BUCKETS))
        .ok_or(TryReserveError::CapacityOverflow)
}

// SAFETY: buckets hold the nodes they were given; nothing but `erase` and `forget_all` takes them out.
unsafe impl RawStrings for Table {
    const NAME: &'static str = "linear";
    const EMPTY: Self = Self {
        buckets: Vec::new(),
        hashes: Vec::new(),
        len: 0,
    };

    fn len(&self) -> usize {
        self.len
    }

    fn bucket_count(&self) -> usize {
        self.buckets.len()
    }

    fn capacity(&self) -> usize {
        self.buckets.len() / 4 * 3
    }

    fn allocated_bytes(&self) -> usize {
        size_of_val(&*self.buckets) + size_of_val(&*self.hashes)
    }

    fn find(&self, key: &[u8]) -> Option<NonNull<Head>> {
        let index = self.probe(string_hash(key), key).ok()?;
        self.buckets[index]
    }

    fn probes(&self, key: &[u8]) -> usize {
        if self.buckets.is_empty() {
            return 0;
        }
        let (mask, hash) = (self.buckets.len() - 1, string_hash(key));
        let (Ok(end) | Err(end)) = self.probe(hash, key);
        (end.wrapping_sub(hash as usize) & mask) + 1
    }

    fn find_or_vacant(&mut self, key: &[u8]) -> Result<usize, Vacant> {
        let hash = string_hash(key);
        self.probe(hash, key).map_err(|index| Vacant {
            hash: hash.into(),
            index,
        })
    }

    unsafe fn occupy(&mut self, vacant: Vacant, node: NonNull<Head>) -> usize {
        let (mut index, hash) = (vacant.index, vacant.hash as u32);
        if (self.len + 1) * 4 > self.buckets.len() * 3 {
            self.rehash((self.buckets.len() * 2).max(FIRST_BUCKETS));
            index = self.first_unused(hash);
        }
        self.buckets[index] = Some(node);
        self.hashes[index] = hash;
        self.len += 1;
        index
    }

    unsafe fn erase(&mut self, index: usize) -> NonNull<Head> {
        let mut hole = index;
        let node = self.buckets[hole].take().expect("an entry");
        self.len -= 1;
        let mask = self.buckets.len() - 1;
        let mut index = (hole + 1) & mask;
        while self.buckets[index].is_some() {
            let home = self.hashes[index] as usize & mask;
            if index.wrapping_sub(home) & mask >= index.wrapping_sub(hole) & mask {
                self.buckets[hole] = self.buckets[index].take();
                self.hashes[hole] = self.hashes[index];
                hole = index;
            }
            index = (index + 1) & mask;
        }
        node
    }

    fn node_at(&self, index: usize) -> Option<NonNull<Head>> {
        self.buckets.get(index).copied().flatten()
    }

    /// After an unused bucket: what is erased pulls entries back, which can then not come from before the start.
    fn scan_start(&self) -> usize {
        let unused = self.buckets.iter().position(|bucket| bucket.is_none());
        unused.unwrap_or(0)
    }

    fn try_reserve(&mut self, additional: usize) -> Result<(), TryReserveError> {
        let entries = self.len.checked_add(additional);
        let buckets = buckets_for(entries.ok_or(TryReserveError::CapacityOverflow)?)?;
        if additional != 0 && buckets > self.buckets.len() {
            self.rehash(buckets);
        }
        Ok(())
    }

    fn shrink_to(&mut self, capacity: usize) {
        let wanted = capacity.max(self.len);
        if wanted == 0 {
            *self = Self::EMPTY;
        } else if let Ok(buckets) = buckets_for(wanted)
            && buckets < self.buckets.len()
        {
            self.rehash(buckets);
        }
    }

    fn forget_all(&mut self) {
        self.len = 0;
        self.buckets.fill(None);
    }
}
