//! The classic string table: a bucket array of node pointers, an end marker, and a parallel array of hashes.
//!
//! This is the layout of the builtin-name table of the reference: null for an empty bucket, −8 for an erased one, the value
//! 2 one past the last so that iteration needs no count, and after it the 32-bit hash of each bucket. A lookup compares the
//! hash, then the length, then the bytes. Sixteen buckets at first; after an insertion the table doubles when it is more than
//! three quarters full and rehashes at its size when an eighth or fewer of the buckets are truly empty.
//!
//! By that rule the 769th name takes a table of 1,024 buckets to 2,048. The reference says that its 770 names end in 1,024,
//! which contradicts the rule it gives itself by two names; the rule is what is kept here.

use crate::string_map::{Node, NodeBox, RawStrings, StringKeys, Strings as Face};
use std::marker::PhantomData;
use std::ptr::{NonNull, without_provenance_mut};

const FIRST_BUCKETS: usize = 16;

/// A map from strings of the classic design.
pub type StringMap<V> = Face<V, Strings<V>>;
/// A set of strings of the classic design.
pub type StringSet = StringKeys<Strings<()>>;

/// The table.
pub struct Strings<V> {
    /// The buckets and the end marker.
    buckets: Box<[*mut Node<V>]>,
    hashes: Box<[u32]>,
    len: usize,
    tombstones: usize,
    owned: PhantomData<Node<V>>,
}

// SAFETY: the table owns its nodes exclusively, like a `Vec<Box<(String, V)>>`.
unsafe impl<V: Send> Send for Strings<V> {}
// SAFETY: shared access only reads the nodes.
unsafe impl<V: Sync> Sync for Strings<V> {}

impl<V> Strings<V> {
    const EMPTY: *mut Node<V> = std::ptr::null_mut();
    const TOMBSTONE: *mut Node<V> = without_provenance_mut(-8isize as usize);
    const END: *mut Node<V> = without_provenance_mut(2);

    fn capacity(&self) -> usize {
        self.buckets.len().saturating_sub(1)
    }

    /// The node of a bucket, when it is used.
    fn used(&self, index: usize) -> Option<NonNull<Node<V>>> {
        let pointer = self.buckets[index];
        NonNull::new(pointer).filter(|_| pointer != Self::TOMBSTONE)
    }

    /// The bucket of a key, or else the first tombstone or empty bucket on its way, with the number of buckets inspected.
    fn probe(&self, hash: u32, key: &str) -> (Result<usize, usize>, usize) {
        let mask = self.capacity() - 1;
        let mut index = hash as usize & mask;
        let mut step = 1;
        let mut vacant = None;
        loop {
            let pointer = self.buckets[index];
            if pointer == Self::EMPTY {
                return (Err(vacant.unwrap_or(index)), step);
            }
            if pointer == Self::TOMBSTONE {
                vacant.get_or_insert(index);
            } else if self.hashes[index] == hash {
                // SAFETY: the pointer is neither sentinel, so the node is live.
                let stored = unsafe { NodeBox::key(NonNull::new_unchecked(pointer)) };
                if stored.len() == key.len() && stored == key {
                    return (Ok(index), step);
                }
            }
            index = (index + step) & mask;
            step += 1;
        }
    }

    fn allocate(&mut self, buckets: usize) {
        let mut array = vec![Self::EMPTY; buckets + 1];
        array[buckets] = Self::END;
        self.buckets = array.into();
        self.hashes = vec![0; buckets].into();
        self.tombstones = 0;
    }

    #[cold]
    fn rehash(&mut self, buckets: usize) {
        let old_buckets = std::mem::take(&mut self.buckets);
        let old_hashes = std::mem::take(&mut self.hashes);
        self.allocate(buckets);
        let mask = buckets - 1;
        for (&pointer, &hash) in old_buckets.iter().zip(&old_hashes) {
            if pointer == Self::EMPTY || pointer == Self::TOMBSTONE {
                continue;
            }
            let mut index = hash as usize & mask;
            let mut step = 1;
            while self.buckets[index] != Self::EMPTY {
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

impl<V> Drop for Strings<V> {
    fn drop(&mut self) {
        self.clear();
    }
}

// SAFETY: a pointer in a bucket that is neither null nor the tombstone is an owned, live node, in that bucket only;
// dropping the table clears it.
unsafe impl<V> RawStrings<V> for Strings<V> {
    const NAME: &'static str = "classic";

    fn new() -> Self {
        Self {
            buckets: Box::new([]),
            hashes: Box::new([]),
            len: 0,
            tombstones: 0,
            owned: PhantomData,
        }
    }

    fn len(&self) -> usize {
        self.len
    }

    fn bucket_count(&self) -> usize {
        self.capacity()
    }

    fn allocated_bytes(&self) -> usize {
        size_of_val(&*self.buckets) + size_of_val(&*self.hashes)
    }

    fn find(&self, hash: u32, key: &str) -> Option<NonNull<Node<V>>> {
        if self.buckets.is_empty() {
            return None;
        }
        self.probe(hash, key)
            .0
            .ok()
            .and_then(|index| self.used(index))
    }

    fn probes(&self, hash: u32, key: &str) -> usize {
        if self.buckets.is_empty() {
            return 0;
        }
        self.probe(hash, key).1
    }

    fn insert(&mut self, hash: u32, node: NodeBox<V>) -> NonNull<Node<V>> {
        if self.buckets.is_empty() {
            self.allocate(FIRST_BUCKETS);
        }
        let pointer = node.0;
        std::mem::forget(node);
        // SAFETY: the node is live.
        let (place, _) = self.probe(hash, unsafe { NodeBox::key(pointer) });
        let index = place.expect_err("the key is not present");
        if self.buckets[index] == Self::TOMBSTONE {
            self.tombstones -= 1;
        }
        self.buckets[index] = pointer.as_ptr();
        self.hashes[index] = hash;
        self.len += 1;
        let buckets = self.capacity();
        if self.len * 4 > buckets * 3 {
            self.rehash(buckets * 2);
        } else if buckets - (self.len + self.tombstones) <= buckets / 8 {
            self.rehash(buckets);
        }
        pointer
    }

    fn remove(&mut self, hash: u32, key: &str) -> Option<NodeBox<V>> {
        if self.buckets.is_empty() {
            return None;
        }
        let index = self.probe(hash, key).0.ok()?;
        let node = self.used(index)?;
        self.buckets[index] = Self::TOMBSTONE;
        self.len -= 1;
        self.tombstones += 1;
        Some(NodeBox(node))
    }

    fn retain(&mut self, mut keep: impl FnMut(&str, &mut V) -> bool) {
        for index in 0..self.capacity() {
            let Some(node) = self.used(index) else {
                continue;
            };
            // SAFETY: the node is live and the table borrowed exclusively.
            if !unsafe { keep(NodeBox::key(node), NodeBox::value_mut(node)) } {
                self.buckets[index] = Self::TOMBSTONE;
                self.len -= 1;
                self.tombstones += 1;
                drop(NodeBox(node));
            }
        }
    }

    fn reserve(&mut self, additional: usize) {
        let buckets = ((self.len + additional) * 4 / 3 + 1)
            .next_power_of_two()
            .max(FIRST_BUCKETS);
        if additional != 0 && buckets > self.capacity() {
            self.rehash(buckets);
        }
    }

    fn clear(&mut self) {
        self.len = 0;
        self.tombstones = 0;
        for index in 0..self.capacity() {
            let node = self.used(index);
            self.buckets[index] = Self::EMPTY;
            if let Some(node) = node {
                drop(NodeBox(node));
            }
        }
    }

    /// Stops at the end marker rather than at a count.
    fn nodes(&self) -> impl Iterator<Item = NonNull<Node<V>>> {
        self.buckets
            .iter()
            .take_while(|&&pointer| pointer != Self::END)
            .filter_map(|&pointer| NonNull::new(pointer).filter(|_| pointer != Self::TOMBSTONE))
    }
}
