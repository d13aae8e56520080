//! What a hash table design must offer so that [`Map`](crate::map::Map) and [`Set`](crate::set::Set) can be built on it.
//!
//! Every design of this crate (linear, hybrid, classic) implements this one trait, so all of them have the same public
//! API by construction and can be swapped, measured and model-checked by the same code.

use crate::{DenseKey, Lookup};
use std::ptr::NonNull;

/// One bucket's contents.
#[derive(Clone, Debug)]
pub struct Slot<K, V> {
    /// The key.
    pub key: K,
    /// The value; `()` in a set.
    pub value: V,
}

/// Where a missing key would go: the answer of [`RawTable::find_or_vacant`].
#[derive(Clone, Copy, Debug)]
pub struct Vacant {
    /// The key's hash as the design computes it.
    pub hash: u64,
    /// The bucket to fill, as long as the table is not changed in between and needs no growth.
    pub index: usize,
    /// For the design: what kind of place it is. A constant on each way to a vacancy, so that storing need not ask again.
    pub form: u8,
}

/// A hash table design.
///
/// # Safety
///
/// Every pointer returned by `find`, `find_or_vacant`, `occupy`, `at` and `raw_iter` must point at an initialised slot
/// inside the table's allocation, valid until the table is next mutated, and `raw_iter` must yield each slot once.
#[allow(clippy::len_without_is_empty)] // not an API for users
pub unsafe trait RawTable<K, V>: Sized {
    /// A table without an allocation.
    const EMPTY: Self;
    /// Short name of the design, for reports.
    const NAME: &'static str;
    /// Iterator over the occupied slots; it does not borrow the table. Its `size_hint` is exact.
    type RawIter: Iterator<Item = NonNull<Slot<K, V>>> + Clone;

    /// Number of entries.
    fn len(&self) -> usize;
    /// Number of buckets.
    fn bucket_count(&self) -> usize;
    /// How many entries fit without growing.
    fn capacity(&self) -> usize;
    /// Bytes of the heap allocation.
    fn allocated_bytes(&self) -> usize;
    /// The slot that holds the key.
    fn find<Q: Lookup<K> + ?Sized>(&self, query: &Q) -> Option<NonNull<Slot<K, V>>>
    where
        K: DenseKey;
    /// How many buckets (or groups of buckets) a lookup inspects; only for reports.
    fn probes<Q: Lookup<K> + ?Sized>(&self, query: &Q) -> usize
    where
        K: DenseKey;
    /// The slot that holds the key, or where it would go.
    fn find_or_vacant<Q: Lookup<K> + ?Sized>(
        &mut self,
        query: &Q,
    ) -> Result<NonNull<Slot<K, V>>, Vacant>
    where
        K: DenseKey;
    /// Stores an entry at a vacancy, growing first when the table is full.
    ///
    /// # Safety
    ///
    /// `vacant` must come from `find_or_vacant` for this very key, with no mutation in between.
    unsafe fn occupy(&mut self, vacant: Vacant, slot: Slot<K, V>) -> NonNull<Slot<K, V>>
    where
        K: DenseKey;
    /// Takes an entry out; `on_moved` is called once for each other entry that changed its bucket, at its new place.
    ///
    /// # Safety
    ///
    /// `at` must be an occupied slot of this table.
    unsafe fn erase(
        &mut self,
        at: NonNull<Slot<K, V>>,
        on_moved: impl FnMut(&K, &mut V),
    ) -> Slot<K, V>
    where
        K: DenseKey;
    /// Removes in one pass every entry for which `keep` is false.
    fn retain(&mut self, keep: impl FnMut(&K, &mut V) -> bool)
    where
        K: DenseKey;
    /// Removes every entry, by LLVM's rule: a table less than a quarter full and larger than its minimum shrinks.
    fn clear(&mut self);
    /// Makes room for `additional` more entries.
    fn reserve(&mut self, additional: usize)
    where
        K: DenseKey;
    /// Reallocates to the least size that holds the entries; frees the allocation when there are none.
    fn shrink_to_fit(&mut self)
    where
        K: DenseKey;
    /// The occupied slots in bucket order.
    fn raw_iter(&self) -> Self::RawIter;
    /// The bucket index of a slot.
    fn position(&self, slot: NonNull<Slot<K, V>>) -> usize;
    /// The slot at a bucket index, when occupied.
    fn at(&self, position: usize) -> Option<NonNull<Slot<K, V>>>;
    /// Frees the allocation without dropping any entry: they have been moved out.
    fn free_forgetting(self);
    /// The same table again, bucket for bucket.
    fn duplicate(&self) -> Self
    where
        K: DenseKey + Clone,
        V: Clone;
}
