//! `Set`: a map without values, over any table design.

mod algebra;
mod iter;

pub use algebra::{Difference, Intersection, SymmetricDifference, Union};
pub use iter::{Drain, ExtractIf, IntoIter, Iter};

use crate::map::Map;
use crate::raw::{RawTable, TryReserveError};
use crate::{DenseKey, Lookup};
use alloc::vec::Vec;
use core::fmt;

/// A hash set over the table design `T`; use it through an alias such as [`DenseSet`](crate::DenseSet).
pub struct Set<K, T> {
    map: Map<K, (), T>,
}

impl<K, T: RawTable<K, ()>> Set<K, T> {
    /// An empty set; allocates nothing.
    #[track_caller]
    #[inline]
    pub const fn new() -> Self {
        Self { map: Map::new() }
    }

    /// Number of keys.
    #[inline]
    pub fn len(&self) -> usize {
        self.map.len()
    }

    /// Whether there are none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.map.is_empty()
    }

    /// How many keys fit before the table grows.
    pub fn capacity(&self) -> usize {
        self.map.capacity()
    }

    /// Number of buckets.
    pub fn bucket_count(&self) -> usize {
        self.map.bucket_count()
    }

    /// Bytes of the heap allocation.
    pub fn allocated_bytes(&self) -> usize {
        self.map.allocated_bytes()
    }

    /// Every key, in bucket order.
    #[inline]
    pub fn iter(&self) -> Iter<'_, K, T> {
        Iter(self.map.keys_unordered())
    }

    /// Every key, in bucket order; the same as [`Set::iter`].
    #[inline]
    pub fn iter_unordered(&self) -> Iter<'_, K, T> {
        Iter(self.map.keys_unordered())
    }

    /// Removes every key and yields them, in bucket order; see [`Map::drain`].
    #[cfg_attr(debug_assertions, track_caller)]
    pub fn drain(&mut self) -> Drain<'_, K, T> {
        Drain(self.map.drain())
    }

    /// Every key in ascending order.
    pub fn iter_sorted(&self) -> alloc::vec::IntoIter<&K>
    where
        K: Ord,
    {
        let mut keys: Vec<&K> = Vec::with_capacity(self.len());
        self.map.visit(|key, _| keys.push(key));
        keys.sort_unstable();
        keys.into_iter()
    }

    /// The keys in ascending order.
    pub fn into_sorted_vec(self) -> Vec<K>
    where
        K: Ord,
    {
        let mut keys: Vec<K> = self.into_iter().collect();
        keys.sort_unstable();
        keys
    }

    /// Removes every key; see [`Map::clear`].
    #[cfg_attr(debug_assertions, track_caller)]
    pub fn clear(&mut self) {
        self.map.clear();
    }
}

impl<K: DenseKey, T: RawTable<K, ()>> Set<K, T> {
    /// An empty set with room for `keys`.
    #[track_caller]
    pub fn with_capacity(keys: usize) -> Self {
        Self {
            map: Map::with_capacity(keys),
        }
    }

    /// Makes room for `additional` more keys.
    #[cfg_attr(debug_assertions, track_caller)]
    pub fn reserve(&mut self, additional: usize) {
        self.map.reserve(additional);
    }

    /// Makes room for `additional` more keys, or says why it cannot.
    #[cfg_attr(debug_assertions, track_caller)]
    pub fn try_reserve(&mut self, additional: usize) -> Result<(), TryReserveError> {
        self.map.try_reserve(additional)
    }

    /// Reallocates to the least size that holds the keys.
    #[cfg_attr(debug_assertions, track_caller)]
    pub fn shrink_to_fit(&mut self) {
        self.map.shrink_to_fit();
    }

    /// Reallocates to the least size that holds the keys and at least `capacity`.
    #[cfg_attr(debug_assertions, track_caller)]
    pub fn shrink_to(&mut self, capacity: usize) {
        self.map.shrink_to(capacity);
    }

    /// Whether the key is present.
    #[inline]
    pub fn contains<Q: Lookup<K> + ?Sized>(&self, key: &Q) -> bool {
        self.map.contains_key(key)
    }

    /// The stored key equal to this one.
    #[inline]
    pub fn get<Q: Lookup<K> + ?Sized>(&self, key: &Q) -> Option<&K> {
        self.map.get_key_value(key).map(|(key, ())| key)
    }

    /// Adds a key; whether it was missing.
    #[inline]
    #[cfg_attr(debug_assertions, track_caller)]
    pub fn insert(&mut self, key: K) -> bool {
        self.map.insert(key, ()).is_none()
    }

    /// Adds a key in place of an equal one, which is returned.
    #[cfg_attr(debug_assertions, track_caller)]
    pub fn replace(&mut self, key: K) -> Option<K> {
        let old = self.take(&key);
        self.map.insert(key, ());
        old
    }

    /// The stored key equal to this one, which is stored when there was none.
    #[cfg_attr(debug_assertions, track_caller)]
    pub fn get_or_insert(&mut self, key: K) -> &K {
        self.map.entry(key).insert_entry(()).into_key()
    }

    /// Removes and yields the keys for which `take` is true, as it goes; see [`Map::extract_if`].
    #[cfg_attr(debug_assertions, track_caller)]
    pub fn extract_if<F: FnMut(&K) -> bool>(&mut self, take: F) -> ExtractIf<'_, K, T, F> {
        ExtractIf::new(self, take)
    }

    /// Removes a key; whether it was present. Other keys may move.
    #[inline]
    #[cfg_attr(debug_assertions, track_caller)]
    pub fn remove<Q: Lookup<K> + ?Sized>(&mut self, key: &Q) -> bool {
        self.map.erase(key)
    }

    /// Removes a key and returns it.
    #[inline]
    #[cfg_attr(debug_assertions, track_caller)]
    pub fn take<Q: Lookup<K> + ?Sized>(&mut self, key: &Q) -> Option<K> {
        self.map.remove_entry(key).map(|(key, ())| key)
    }

    /// Removes a key, calling `on_moved` once for each other key that changed its bucket; whether it was present.
    #[inline]
    #[cfg_attr(debug_assertions, track_caller)]
    pub fn erase_with<Q: Lookup<K> + ?Sized>(
        &mut self,
        key: &Q,
        mut on_moved: impl FnMut(&K),
    ) -> bool {
        self.map.erase_with(key, |key, ()| on_moved(key))
    }

    /// Keeps the keys for which `keep` is true, in one pass.
    #[cfg_attr(debug_assertions, track_caller)]
    pub fn retain(&mut self, mut keep: impl FnMut(&K) -> bool) {
        self.map.retain(|key, ()| keep(key));
    }

    /// Removes the keys for which `remove` is true, in one pass, and returns how many there were.
    #[cfg_attr(debug_assertions, track_caller)]
    pub fn remove_if(&mut self, mut remove: impl FnMut(&K) -> bool) -> usize {
        self.map.remove_if(|key, ()| remove(key))
    }
}

impl<K, T: RawTable<K, ()>> Default for Set<K, T> {
    #[track_caller]
    fn default() -> Self {
        Self::new()
    }
}

impl<K: DenseKey + Clone, T: RawTable<K, ()>> Clone for Set<K, T> {
    #[track_caller]
    fn clone(&self) -> Self {
        Self {
            map: self.map.clone(),
        }
    }
}

impl<K: DenseKey, T: RawTable<K, ()>> PartialEq for Set<K, T> {
    fn eq(&self, other: &Self) -> bool {
        self.len() == other.len() && self.is_subset(other)
    }
}

impl<K: DenseKey, T: RawTable<K, ()>> Eq for Set<K, T> {}

impl<K: fmt::Debug, T: RawTable<K, ()>> fmt::Debug for Set<K, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter_unordered()).finish()
    }
}

impl<K: DenseKey, T: RawTable<K, ()>> Extend<K> for Set<K, T> {
    #[cfg_attr(debug_assertions, track_caller)]
    fn extend<I: IntoIterator<Item = K>>(&mut self, keys: I) {
        self.map.extend(keys.into_iter().map(|key| (key, ())));
    }
}

impl<'a, K: DenseKey + Copy, T: RawTable<K, ()>> Extend<&'a K> for Set<K, T> {
    #[cfg_attr(debug_assertions, track_caller)]
    fn extend<I: IntoIterator<Item = &'a K>>(&mut self, keys: I) {
        self.extend(keys.into_iter().copied());
    }
}

impl<K: DenseKey, T: RawTable<K, ()>> FromIterator<K> for Set<K, T> {
    #[track_caller]
    fn from_iter<I: IntoIterator<Item = K>>(keys: I) -> Self {
        let mut set = Self::new();
        set.extend(keys);
        set
    }
}

impl<K: DenseKey, T: RawTable<K, ()>, const N: usize> From<[K; N]> for Set<K, T> {
    #[track_caller]
    fn from(keys: [K; N]) -> Self {
        keys.into_iter().collect()
    }
}
