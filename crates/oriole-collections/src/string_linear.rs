//! String tables of the new design: linear probing and Algorithm R on the bucket pointers.
//!
//! No used bits here: whether a bucket is used is a null test, and the array of hashes already turns most mismatches away
//! before a node is touched. Load at most 3/4, first 16 buckets.

use crate::string_map::{Node, NodeBox, RawStrings, StringKeys, Strings};
use std::marker::PhantomData;
use std::ptr::NonNull;

/// First number of buckets.
const FIRST_BUCKETS: usize = 16;

/// A map from strings.
pub type StringMap<V> = Strings<V, Table<V>>;
/// A set of strings.
pub type StringSet = StringKeys<Table<()>>;

/// The table.
pub struct Table<V> {
    /// Occupied where `Some`; a power of two of them, or none.
    buckets: Box<[Option<NonNull<Node<V>>>]>,
    /// The hash of each occupied bucket.
    hashes: Box<[u32]>,
    len: usize,
    owned: PhantomData<Node<V>>,
}

// SAFETY: the table owns its nodes exclusively, like a `Vec<Box<(String, V)>>`.
unsafe impl<V: Send> Send for Table<V> {}
// SAFETY: shared access only reads the nodes.
unsafe impl<V: Sync> Sync for Table<V> {}

impl<V> Table<V> {
    /// The bucket of a key, or else the unused one where it would go (meaningless when there are no buckets).
    #[inline]
    fn probe(&self, hash: u32, key: &str) -> Result<usize, usize> {
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
            if self.hashes[index] == hash && unsafe { NodeBox::key(node) } == key {
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
        let old_buckets = std::mem::replace(&mut self.buckets, vec![None; buckets].into());
        let old_hashes = std::mem::replace(&mut self.hashes, vec![0; buckets].into());
        for (node, &hash) in old_buckets.iter().zip(&old_hashes) {
            if node.is_some() {
                let index = self.first_unused(hash);
                self.buckets[index] = *node;
                self.hashes[index] = hash;
            }
        }
    }
}

impl<V> Drop for Table<V> {
    fn drop(&mut self) {
        self.clear();
    }
}

// SAFETY: a node in a bucket is owned and live, and is in one bucket only; dropping the table clears it.
unsafe impl<V> RawStrings<V> for Table<V> {
    const NAME: &'static str = "linear";

    fn new() -> Self {
        Self {
            buckets: Box::new([]),
            hashes: Box::new([]),
            len: 0,
            owned: PhantomData,
        }
    }

    #[inline]
    fn len(&self) -> usize {
        self.len
    }

    fn bucket_count(&self) -> usize {
        self.buckets.len()
    }

    fn allocated_bytes(&self) -> usize {
        size_of_val(&*self.buckets) + size_of_val(&*self.hashes)
    }

    #[inline]
    fn find(&self, hash: u32, key: &str) -> Option<NonNull<Node<V>>> {
        self.probe(hash, key)
            .ok()
            .and_then(|index| self.buckets[index])
    }

    fn probes(&self, hash: u32, key: &str) -> usize {
        if self.buckets.is_empty() {
            return 0;
        }
        let mask = self.buckets.len() - 1;
        let (Ok(end) | Err(end)) = self.probe(hash, key);
        (end.wrapping_sub(hash as usize) & mask) + 1
    }

    fn insert(&mut self, hash: u32, node: NodeBox<V>) -> NonNull<Node<V>> {
        if (self.len + 1) * 4 > self.buckets.len() * 3 {
            self.rehash((self.buckets.len() * 2).max(FIRST_BUCKETS));
        }
        let index = self.first_unused(hash);
        let pointer = node.0;
        std::mem::forget(node);
        self.buckets[index] = Some(pointer);
        self.hashes[index] = hash;
        self.len += 1;
        pointer
    }

    fn remove(&mut self, hash: u32, key: &str) -> Option<NodeBox<V>> {
        let mut hole = self.probe(hash, key).ok()?;
        let node = self.buckets[hole].take()?;
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
        Some(NodeBox(node))
    }

    fn retain(&mut self, mut keep: impl FnMut(&str, &mut V) -> bool) {
        if self.len == 0 {
            return;
        }
        let mask = self.buckets.len() - 1;
        let start = (0..=mask)
            .find(|&index| self.buckets[index].is_none())
            .expect("the load limit leaves an unused bucket");
        let mut removed_in_run = false;
        for step in 1..=mask {
            let index = (start + step) & mask;
            let Some(node) = self.buckets[index] else {
                removed_in_run = false;
                continue;
            };
            // SAFETY: the node is live and the table borrowed exclusively.
            if !unsafe { keep(NodeBox::key(node), NodeBox::value_mut(node)) } {
                self.buckets[index] = None;
                self.len -= 1;
                removed_in_run = true;
                drop(NodeBox(node));
            } else if removed_in_run {
                self.buckets[index] = None;
                let hash = self.hashes[index];
                let target = self.first_unused(hash);
                self.buckets[target] = Some(node);
                self.hashes[target] = hash;
            }
        }
    }

    fn reserve(&mut self, additional: usize) {
        let buckets = ((self.len + additional) * 4)
            .div_ceil(3)
            .next_power_of_two()
            .max(FIRST_BUCKETS);
        if additional != 0 && buckets > self.buckets.len() {
            self.rehash(buckets);
        }
    }

    fn clear(&mut self) {
        self.len = 0;
        for bucket in &mut self.buckets {
            if let Some(node) = bucket.take() {
                drop(NodeBox(node));
            }
        }
    }

    fn nodes(&self) -> impl Iterator<Item = NonNull<Node<V>>> {
        self.buckets.iter().filter_map(|bucket| *bucket)
    }
}
