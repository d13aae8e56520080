//! The classic string table: a bucket array of node pointers, an end marker, and a parallel array of hashes.
//!
//! This is the layout of the builtin-name table of the reference: null for an empty bucket, −8 for an erased one, the value
//! 2 one past the last so that iteration needs no count, and after it the 32-bit hash of each bucket. A lookup compares the
//! hash, then the length, then the bytes. Sixteen buckets at first; after an insertion the table doubles when it is more than
//! three quarters full and rehashes at its size when an eighth or fewer of the buckets are truly empty.
//!
//! By that rule the 769th name takes a table of 1,024 buckets to 2,048. The reference says that its 770 names end in 1,024,
//! which contradicts the rule it gives itself by two names; the rule is what is kept here.

use crate::raw::{TryReserveError, Vacant};
use crate::string_map::{Head, RawStrings, StringKeys, Strings as Face, string_hash};
use alloc::vec;
use alloc::vec::Vec;
use core::ptr::{NonNull, without_provenance_mut};

const FIRST_BUCKETS: usize = 16;

/// A map from strings of the classic design.
pub type StringMap<V> = Face<V, str, Strings>;
/// A set of strings of the classic design.
pub type StringSet = StringKeys<str, Strings>;

/// The table.
pub struct Strings {
    /// The buckets and the end marker.
    buckets: Vec<*mut Head>,
    hashes: Vec<u32>,
    len: usize,
    tombstones: usize,
}

impl Strings {
    const EMPTY_BUCKET: *mut Head = core::ptr::null_mut();
    const TOMBSTONE: *mut Head = without_provenance_mut(-8isize as usize);
    const END: *mut Head = without_provenance_mut(2);

    /// The bucket of a key, or else the first tombstone or empty bucket on its way, with the number of buckets inspected.
    fn probe(&self, hash: u32, key: &[u8]) -> (Result<usize, usize>, usize) {
        let mask = self.bucket_count() - 1;
        let mut index = hash as usize & mask;
        let mut step = 1;
        let mut vacant = None;
        loop {
            let pointer = self.buckets[index];
            if pointer == Self::EMPTY_BUCKET {
                return (Err(vacant.unwrap_or(index)), step);
            }
            if pointer == Self::TOMBSTONE {
                vacant.get_or_insert(index);
            } else if self.hashes[index] == hash {
                // SAFETY: the pointer is neither sentinel, so the node is live.
                let stored = unsafe { Head::key(NonNull::new_unchecked(pointer)) };
                if stored.len() == key.len() && stored == key {
                    return (Ok(index), step);
                }
            }
            index = (index + step) & mask;
            step += 1;
        }
    }

    #[cold]
    fn rehash(&mut self, buckets: usize) {
        let mut array = vec![Self::EMPTY_BUCKET; buckets + 1];
        array[buckets] = Self::END;
        let new_hashes = vec![0; buckets];
        let old_buckets = core::mem::replace(&mut self.buckets, array);
        let old_hashes = core::mem::replace(&mut self.hashes, new_hashes);
        self.tombstones = 0;
        let mask = buckets - 1;
        for (&pointer, &hash) in old_buckets.iter().zip(&old_hashes) {
            if pointer == Self::EMPTY_BUCKET || pointer == Self::TOMBSTONE {
                continue;
            }
            let mut index = hash as usize & mask;
            let mut step = 1;
            while self.buckets[index] != Self::EMPTY_BUCKET {
                index = (index + step) & mask;
                step += 1;
            }
            self.buckets[index] = pointer;
            self.hashes[index] = hash;
        }
    }

    /// Number of erased buckets that still lengthen probes.
    pub fn tombstones(&self) -> usize {
        self.tombstones
    }
}

/// The buckets for so many entries.
fn buckets_for(entries: usize) -> Result<usize, TryReserveError> {
    entries
        .checked_mul(4)
        .and_then(|quarters| (quarters / 3 + 1).checked_next_power_of_two())
        .filter(|&buckets| buckets <= 1 << 31)
        .map(|buckets| buckets.max(FIRST_BUCKETS))
        .ok_or(TryReserveError::CapacityOverflow)
}

// SAFETY: a pointer in a bucket that is neither null nor the tombstone is a node the table was given; nothing but `erase` and
// `forget_all` takes it out.
unsafe impl RawStrings for Strings {
    const NAME: &'static str = "classic";
    const EMPTY: Self = Self {
        buckets: Vec::new(),
        hashes: Vec::new(),
        len: 0,
        tombstones: 0,
    };

    fn len(&self) -> usize {
        self.len
    }

    fn bucket_count(&self) -> usize {
        self.buckets.len().saturating_sub(1)
    }

    fn capacity(&self) -> usize {
        self.bucket_count() / 4 * 3
    }

    fn allocated_bytes(&self) -> usize {
        size_of_val(&*self.buckets) + size_of_val(&*self.hashes)
    }

    fn find(&self, key: &[u8]) -> Option<NonNull<Head>> {
        if self.buckets.is_empty() {
            return None;
        }
        let index = self.probe(string_hash(key), key).0.ok()?;
        self.node_at(index)
    }

    fn probes(&self, key: &[u8]) -> usize {
        if self.buckets.is_empty() {
            return 0;
        }
        self.probe(string_hash(key), key).1
    }

    fn find_or_vacant(&mut self, key: &[u8]) -> Result<usize, Vacant> {
        if self.buckets.is_empty() {
            self.rehash(FIRST_BUCKETS);
        }
        let hash = string_hash(key);
        self.probe(hash, key).0.map_err(|index| Vacant {
            hash: hash.into(),
            index,
        })
    }

    unsafe fn occupy(&mut self, vacant: Vacant, node: NonNull<Head>) -> usize {
        let index = vacant.index;
        if self.buckets[index] == Self::TOMBSTONE {
            self.tombstones -= 1;
        }
        self.buckets[index] = node.as_ptr();
        self.hashes[index] = vacant.hash as u32;
        self.len += 1;
        let buckets = self.bucket_count();
        if self.len * 4 > buckets * 3 {
            self.rehash(buckets * 2);
        } else if buckets - (self.len + self.tombstones) <= buckets / 8 {
            self.rehash(buckets);
        } else {
            return index;
        }
        // The node has moved to another bucket.
        let mask = self.bucket_count() - 1;
        let mut index = vacant.hash as usize & mask;
        let mut step = 1;
        while self.buckets[index] != node.as_ptr() {
            index = (index + step) & mask;
            step += 1;
        }
        index
    }

    unsafe fn erase(&mut self, index: usize) -> NonNull<Head> {
        let node = self.node_at(index).expect("an entry");
        self.buckets[index] = Self::TOMBSTONE;
        self.len -= 1;
        self.tombstones += 1;
        node
    }

    fn node_at(&self, index: usize) -> Option<NonNull<Head>> {
        let &pointer = self.buckets.get(index)?;
        NonNull::new(pointer).filter(|_| pointer != Self::TOMBSTONE && pointer != Self::END)
    }

    fn try_reserve(&mut self, additional: usize) -> Result<(), TryReserveError> {
        let entries = self.len.checked_add(additional);
        let buckets = buckets_for(entries.ok_or(TryReserveError::CapacityOverflow)?)?;
        if additional != 0 && buckets > self.bucket_count() {
            self.rehash(buckets);
        }
        Ok(())
    }

    fn shrink_to(&mut self, capacity: usize) {
        let wanted = capacity.max(self.len);
        if wanted == 0 {
            *self = Self::EMPTY;
        } else if let Ok(buckets) = buckets_for(wanted)
            && buckets < self.bucket_count()
        {
            self.rehash(buckets);
        }
    }

    fn forget_all(&mut self) {
        self.len = 0;
        self.tombstones = 0;
        for bucket in &mut self.buckets {
            if *bucket != Self::END {
                *bucket = Self::EMPTY_BUCKET;
            }
        }
    }
}
