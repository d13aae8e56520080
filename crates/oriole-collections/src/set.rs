//! `Set`: a map without values, over any table design.

use crate::map::Map;
use crate::raw::RawTable;
use crate::{DenseKey, Lookup};
use std::fmt;

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
    pub fn iter_unordered(&self) -> impl ExactSizeIterator<Item = &K> + use<'_, K, T> {
        self.map.keys_unordered()
    }

    /// Every key in ascending order.
    pub fn iter_sorted(&self) -> std::vec::IntoIter<&K>
    where
        K: Ord,
    {
        let mut keys: Vec<&K> = self.iter_unordered().collect();
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

    /// Reallocates to the least size that holds the keys.
    #[cfg_attr(debug_assertions, track_caller)]
    pub fn shrink_to_fit(&mut self) {
        self.map.shrink_to_fit();
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

    /// Whether every key of this set is in the other.
    pub fn is_subset(&self, other: &Self) -> bool {
        self.len() <= other.len() && self.iter_unordered().all(|key| other.contains(key))
    }

    /// Whether no key is in both sets.
    pub fn is_disjoint(&self, other: &Self) -> bool {
        self.iter_unordered().all(|key| !other.contains(key))
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

/// Owning iterator over a set's keys, in bucket order.
pub struct IntoIter<K, T: RawTable<K, ()>>(crate::map::IntoIter<K, (), T>);

impl<K, T: RawTable<K, ()>> Iterator for IntoIter<K, T> {
    type Item = K;

    #[inline]
    fn next(&mut self) -> Option<K> {
        self.0.next().map(|(key, ())| key)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.0.size_hint()
    }
}

impl<K, T: RawTable<K, ()>> IntoIterator for Set<K, T> {
    type Item = K;
    type IntoIter = IntoIter<K, T>;

    fn into_iter(self) -> Self::IntoIter {
        IntoIter(self.map.into_iter())
    }
}
