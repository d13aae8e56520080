//! `OrderedMap` and `OrderedSet`: tables that iterate in insertion order (LLVM's `MapVector` and `SetVector`).
//!
//! The entries live in a vector; a dense table maps each key to its position. Use them wherever output depends on order
//! and keys have no natural order of their own.
//!
//! Hashes, comparisons, clones and callbacks may panic. Each operation calls them before it changes the vector or the table,
//! so the two always hold the same entries.

use crate::{DenseKey, DenseMap, Lookup};
use alloc::vec::{self, Vec};
use core::fmt;
use core::ops::Index;
use core::slice;

/// A map that iterates in insertion order.
///
/// ```
/// use oriole_collections::extra::OrderedMap;
/// let mut map = OrderedMap::from([("z", 1), ("a", 2)]);
/// *map.entry("m").or_insert(0) += 5;
/// assert_eq!(map.iter().collect::<Vec<_>>(), [(&"z", &1), (&"a", &2), (&"m", &5)]);
/// assert_eq!(map["a"], 2);
/// ```
#[derive(Clone)]
pub struct OrderedMap<K: DenseKey + Clone, V> {
    positions: DenseMap<K, u32>,
    entries: Vec<(K, V)>,
}

impl<K: DenseKey + Clone, V> OrderedMap<K, V> {
    /// An empty map.
    #[track_caller]
    pub const fn new() -> Self {
        Self {
            positions: DenseMap::new(),
            entries: Vec::new(),
        }
    }

    /// An empty map with room for so many entries.
    #[track_caller]
    pub fn with_capacity(entries: usize) -> Self {
        Self {
            positions: DenseMap::with_capacity(entries),
            entries: Vec::with_capacity(entries),
        }
    }

    /// Number of entries.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Makes room for `additional` more entries.
    pub fn reserve(&mut self, additional: usize) {
        self.positions.reserve(additional);
        self.entries.reserve(additional);
    }

    /// A key's position in insertion order.
    pub fn position<Q: Lookup<K> + ?Sized>(&self, key: &Q) -> Option<usize> {
        self.positions.get(key).map(|&position| position as usize)
    }

    /// The entry at a position of insertion order.
    pub fn get_index(&self, position: usize) -> Option<(&K, &V)> {
        self.entries.get(position).map(|(key, value)| (key, value))
    }

    /// The first entry.
    pub fn first(&self) -> Option<(&K, &V)> {
        self.get_index(0)
    }

    /// The last entry.
    pub fn last(&self) -> Option<(&K, &V)> {
        self.entries.last().map(|(key, value)| (key, value))
    }

    /// The value of a key.
    pub fn get<Q: Lookup<K> + ?Sized>(&self, key: &Q) -> Option<&V> {
        self.position(key).map(|position| &self.entries[position].1)
    }

    /// The value of a key.
    pub fn get_mut<Q: Lookup<K> + ?Sized>(&mut self, key: &Q) -> Option<&mut V> {
        let position = self.position(key)?;
        Some(&mut self.entries[position].1)
    }

    /// The stored key and the value.
    pub fn get_key_value<Q: Lookup<K> + ?Sized>(&self, key: &Q) -> Option<(&K, &V)> {
        self.get_index(self.position(key)?)
    }

    /// Whether the key is present.
    pub fn contains_key<Q: Lookup<K> + ?Sized>(&self, key: &Q) -> bool {
        self.positions.contains_key(key)
    }

    /// The entry of a key, for looking and changing.
    pub fn entry(&mut self, key: K) -> Entry<'_, K, V> {
        match self.position(&key) {
            Some(position) => Entry::Occupied(OccupiedEntry {
                map: self,
                position,
            }),
            None => Entry::Vacant(VacantEntry { map: self, key }),
        }
    }

    /// Adds an entry whose key is missing.
    #[cfg_attr(debug_assertions, track_caller)]
    fn add(&mut self, key: K, value: V) -> usize {
        let next = self.entries.len();
        let position = u32::try_from(next).expect("more entries than positions have numbers");
        self.entries.reserve(1);
        self.positions.insert(key.clone(), position);
        self.entries.push((key, value));
        next
    }

    /// Stores a value and returns the one it replaced; a key keeps its first position.
    #[cfg_attr(debug_assertions, track_caller)]
    pub fn insert(&mut self, key: K, value: V) -> Option<V> {
        if let Some(position) = self.position(&key) {
            drop(key);
            return Some(core::mem::replace(&mut self.entries[position].1, value));
        }
        self.add(key, value);
        None
    }

    /// The value of a key, made by `make` when missing.
    #[cfg_attr(debug_assertions, track_caller)]
    pub fn get_or_insert_with(&mut self, key: K, make: impl FnOnce() -> V) -> &mut V {
        let position = match self.position(&key) {
            Some(position) => position,
            None => self.add(key, make()),
        };
        &mut self.entries[position].1
    }

    /// Keeps the entries for which `keep` is true, in order; linear in the number of entries.
    #[cfg_attr(debug_assertions, track_caller)]
    pub fn retain(&mut self, mut keep: impl FnMut(&K, &mut V) -> bool) {
        const REMOVED: u32 = u32::MAX;
        let mut kept = 0;
        let moved_to: Vec<u32> = self
            .entries
            .iter_mut()
            .map(|(key, value)| {
                if !keep(key, value) {
                    return REMOVED;
                }
                kept += 1;
                kept - 1
            })
            .collect();
        let Self { positions, entries } = self;
        for position in positions.values_mut_unordered() {
            *position = moved_to[*position as usize];
        }
        // Destructors may panic, so they run last.
        let removed_keys: Vec<(K, u32)> = positions
            .extract_if(|_, position| *position == REMOVED)
            .collect();
        let mut at = moved_to.iter();
        let removed: Vec<(K, V)> = entries
            .extract_if(.., |_| at.next() == Some(&REMOVED))
            .collect();
        drop(removed_keys);
        drop(removed);
    }

    /// Removes the last entry.
    #[cfg_attr(debug_assertions, track_caller)]
    pub fn pop(&mut self) -> Option<(K, V)> {
        let (key, _) = self.entries.last()?;
        let copy = self.positions.remove_entry(key);
        let last = self.entries.pop();
        drop(copy);
        last
    }

    /// Removes a key, keeping the order of the others; linear in the number of entries, but for the last one.
    #[cfg_attr(debug_assertions, track_caller)]
    pub fn remove<Q: Lookup<K> + ?Sized>(&mut self, key: &Q) -> Option<V> {
        let (copy, position) = self.positions.remove_entry(key)?;
        let (key, value) = self.entries.remove(position as usize);
        if (position as usize) < self.entries.len() {
            for later in self.positions.values_mut_unordered() {
                *later -= u32::from(*later > position);
            }
        }
        drop((copy, key));
        Some(value)
    }

    /// Removes a key by moving the last entry to its place; constant time.
    #[cfg_attr(debug_assertions, track_caller)]
    pub fn swap_remove<Q: Lookup<K> + ?Sized>(&mut self, key: &Q) -> Option<V> {
        let at = self.positions.cursor(key)?;
        let (last, _) = self.entries.last()?;
        let last = self.positions.cursor(last);
        let position = *self.positions.at(at).1;
        if let Some(last) = last {
            *self.positions.at_mut(last) = position;
        }
        let copy = self.positions.erase_at(at);
        let (key, value) = self.entries.swap_remove(position as usize);
        drop((copy, key));
        Some(value)
    }

    /// Removes every entry.
    #[cfg_attr(debug_assertions, track_caller)]
    pub fn clear(&mut self) {
        drop(self.drain());
    }

    /// Removes every entry and yields them in insertion order.
    #[cfg_attr(debug_assertions, track_caller)]
    pub fn drain(&mut self) -> vec::Drain<'_, (K, V)> {
        let Self { positions, entries } = self;
        // The vector is empty from here on, also if the destructor of a key panics.
        let drained = entries.drain(..);
        positions.clear();
        drained
    }

    /// Every entry in insertion order.
    pub fn iter(&self) -> Iter<'_, K, V> {
        Iter(self.entries.iter())
    }

    /// Every entry in insertion order.
    pub fn iter_mut(&mut self) -> IterMut<'_, K, V> {
        IterMut(self.entries.iter_mut())
    }

    /// Every key in insertion order.
    pub fn keys(&self) -> impl DoubleEndedIterator<Item = &K> + ExactSizeIterator + Clone {
        self.entries.iter().map(|(key, _)| key)
    }

    /// Every value in insertion order.
    pub fn values(&self) -> impl DoubleEndedIterator<Item = &V> + ExactSizeIterator + Clone {
        self.entries.iter().map(|(_, value)| value)
    }

    /// Every value in insertion order.
    pub fn values_mut(&mut self) -> impl DoubleEndedIterator<Item = &mut V> + ExactSizeIterator {
        self.entries.iter_mut().map(|(_, value)| value)
    }

    /// The entries in insertion order.
    pub fn as_slice(&self) -> &[(K, V)] {
        &self.entries
    }

    /// The entries in insertion order.
    pub fn into_vec(self) -> Vec<(K, V)> {
        self.entries
    }
}

/// A key's place in an [`OrderedMap`], present or not.
pub enum Entry<'a, K: DenseKey + Clone, V> {
    /// The key is present.
    Occupied(OccupiedEntry<'a, K, V>),
    /// The key is missing.
    Vacant(VacantEntry<'a, K, V>),
}

/// An entry that is present.
pub struct OccupiedEntry<'a, K: DenseKey + Clone, V> {
    map: &'a mut OrderedMap<K, V>,
    position: usize,
}

/// An entry that is missing.
pub struct VacantEntry<'a, K: DenseKey + Clone, V> {
    map: &'a mut OrderedMap<K, V>,
    key: K,
}

impl<'a, K: DenseKey + Clone, V> Entry<'a, K, V> {
    crate::entry_methods::entry_methods!('a, K, V);
}

impl<'a, K: DenseKey + Clone, V> OccupiedEntry<'a, K, V> {
    /// The stored key.
    pub fn key(&self) -> &K {
        &self.map.entries[self.position].0
    }

    /// The position in insertion order.
    pub fn position(&self) -> usize {
        self.position
    }

    /// The value.
    pub fn get(&self) -> &V {
        &self.map.entries[self.position].1
    }

    /// The value.
    pub fn get_mut(&mut self) -> &mut V {
        &mut self.map.entries[self.position].1
    }

    /// The value, for as long as the map was borrowed.
    pub fn into_mut(self) -> &'a mut V {
        &mut self.map.entries[self.position].1
    }

    /// Replaces the value.
    pub fn insert(&mut self, value: V) -> V {
        core::mem::replace(self.get_mut(), value)
    }

    /// Removes the entry, keeping the order of the others.
    pub fn remove(self) -> V {
        let key = self.key().clone();
        self.map.remove(&key).expect("the entry is present")
    }
}

impl<'a, K: DenseKey + Clone, V> VacantEntry<'a, K, V> {
    /// The key looked for.
    pub fn key(&self) -> &K {
        &self.key
    }

    /// The key looked for.
    pub fn into_key(self) -> K {
        self.key
    }

    /// Stores a value, as the last one.
    pub fn insert(self, value: V) -> &'a mut V {
        let position = self.map.add(self.key, value);
        &mut self.map.entries[position].1
    }
}

/// Iterator of [`OrderedMap::iter`].
#[derive(Debug)]
pub struct Iter<'a, K, V>(slice::Iter<'a, (K, V)>);

/// Iterator of [`OrderedMap::iter_mut`].
#[derive(Debug)]
pub struct IterMut<'a, K, V>(slice::IterMut<'a, (K, V)>);

impl<K, V> Clone for Iter<'_, K, V> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<'a, K, V> Iterator for Iter<'a, K, V> {
    type Item = (&'a K, &'a V);

    fn next(&mut self) -> Option<Self::Item> {
        self.0.next().map(|(key, value)| (key, value))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.0.size_hint()
    }
}

impl<'a, K, V> Iterator for IterMut<'a, K, V> {
    type Item = (&'a K, &'a mut V);

    fn next(&mut self) -> Option<Self::Item> {
        self.0.next().map(|(key, value)| (&*key, value))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.0.size_hint()
    }
}

impl<K, V> DoubleEndedIterator for Iter<'_, K, V> {
    fn next_back(&mut self) -> Option<Self::Item> {
        self.0.next_back().map(|(key, value)| (key, value))
    }
}

impl<K, V> DoubleEndedIterator for IterMut<'_, K, V> {
    fn next_back(&mut self) -> Option<Self::Item> {
        self.0.next_back().map(|(key, value)| (&*key, value))
    }
}

impl<K, V> ExactSizeIterator for Iter<'_, K, V> {}
impl<K, V> ExactSizeIterator for IterMut<'_, K, V> {}
impl<K, V> core::iter::FusedIterator for Iter<'_, K, V> {}
impl<K, V> core::iter::FusedIterator for IterMut<'_, K, V> {}

impl<K: DenseKey + Clone, V> IntoIterator for OrderedMap<K, V> {
    type Item = (K, V);
    type IntoIter = vec::IntoIter<(K, V)>;

    fn into_iter(self) -> Self::IntoIter {
        self.entries.into_iter()
    }
}

impl<'a, K: DenseKey + Clone, V> IntoIterator for &'a OrderedMap<K, V> {
    type Item = (&'a K, &'a V);
    type IntoIter = Iter<'a, K, V>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl<'a, K: DenseKey + Clone, V> IntoIterator for &'a mut OrderedMap<K, V> {
    type Item = (&'a K, &'a mut V);
    type IntoIter = IterMut<'a, K, V>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter_mut()
    }
}

impl<K: DenseKey + Clone, V> Default for OrderedMap<K, V> {
    #[track_caller]
    fn default() -> Self {
        Self::new()
    }
}

/// Equal when they have equal entries, whatever their order, as for other maps.
impl<K: DenseKey + Clone, V: PartialEq> PartialEq for OrderedMap<K, V> {
    fn eq(&self, other: &Self) -> bool {
        self.len() == other.len()
            && self
                .iter()
                .all(|(key, value)| other.get(key) == Some(value))
    }
}

impl<K: DenseKey + Clone, V: Eq> Eq for OrderedMap<K, V> {}

impl<K: DenseKey + Clone + fmt::Debug, V: fmt::Debug> fmt::Debug for OrderedMap<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

impl<K: DenseKey + Clone, V, Q: Lookup<K> + ?Sized> Index<&Q> for OrderedMap<K, V> {
    type Output = V;

    #[track_caller]
    fn index(&self, key: &Q) -> &V {
        self.get(key).expect("no entry for the key")
    }
}

impl<K: DenseKey + Clone, V> Extend<(K, V)> for OrderedMap<K, V> {
    fn extend<I: IntoIterator<Item = (K, V)>>(&mut self, entries: I) {
        for (key, value) in entries {
            self.insert(key, value);
        }
    }
}

impl<K: DenseKey + Clone, V> FromIterator<(K, V)> for OrderedMap<K, V> {
    #[track_caller]
    fn from_iter<I: IntoIterator<Item = (K, V)>>(entries: I) -> Self {
        let mut map = Self::new();
        map.extend(entries);
        map
    }
}

impl<K: DenseKey + Clone, V, const N: usize> From<[(K, V); N]> for OrderedMap<K, V> {
    #[track_caller]
    fn from(entries: [(K, V); N]) -> Self {
        entries.into_iter().collect()
    }
}

/// A set that iterates in insertion order.
///
/// ```
/// let mut worklist = oriole_collections::extra::OrderedSet::from([3, 1, 3]);
/// assert!(!worklist.insert(1));
/// assert_eq!(worklist.pop(), Some(1));
/// assert_eq!(worklist.iter().collect::<Vec<_>>(), [&3]);
/// ```
#[derive(Clone)]
pub struct OrderedSet<K: DenseKey + Clone> {
    map: OrderedMap<K, ()>,
}

impl<K: DenseKey + Clone> OrderedSet<K> {
    /// An empty set.
    #[track_caller]
    pub const fn new() -> Self {
        Self {
            map: OrderedMap::new(),
        }
    }

    /// Number of keys.
    pub fn len(&self) -> usize {
        self.map.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.map.is_empty()
    }

    /// Adds a key; whether it was missing.
    #[cfg_attr(debug_assertions, track_caller)]
    pub fn insert(&mut self, key: K) -> bool {
        self.map.insert(key, ()).is_none()
    }

    /// Whether the key is present.
    pub fn contains<Q: Lookup<K> + ?Sized>(&self, key: &Q) -> bool {
        self.map.contains_key(key)
    }

    /// The stored key equal to this one.
    pub fn get<Q: Lookup<K> + ?Sized>(&self, key: &Q) -> Option<&K> {
        self.map.get_key_value(key).map(|(key, ())| key)
    }

    /// The key at a position of insertion order.
    pub fn get_index(&self, position: usize) -> Option<&K> {
        self.map.get_index(position).map(|(key, ())| key)
    }

    /// A key's position in insertion order.
    pub fn position<Q: Lookup<K> + ?Sized>(&self, key: &Q) -> Option<usize> {
        self.map.position(key)
    }

    /// Removes the key inserted last (a worklist's `pop`).
    #[cfg_attr(debug_assertions, track_caller)]
    pub fn pop(&mut self) -> Option<K> {
        self.map.pop().map(|(key, ())| key)
    }

    /// Removes a key, keeping the order of the others; whether it was present.
    #[cfg_attr(debug_assertions, track_caller)]
    pub fn remove<Q: Lookup<K> + ?Sized>(&mut self, key: &Q) -> bool {
        self.map.remove(key).is_some()
    }

    /// Keeps the keys for which `keep` is true, in order.
    #[cfg_attr(debug_assertions, track_caller)]
    pub fn retain(&mut self, mut keep: impl FnMut(&K) -> bool) {
        self.map.retain(|key, ()| keep(key));
    }

    /// Every key in insertion order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &K> + ExactSizeIterator + Clone {
        self.map.keys()
    }

    /// Removes every key.
    #[cfg_attr(debug_assertions, track_caller)]
    pub fn clear(&mut self) {
        self.map.clear();
    }
}

impl<K: DenseKey + Clone> Default for OrderedSet<K> {
    #[track_caller]
    fn default() -> Self {
        Self::new()
    }
}

/// Equal when they have equal keys, whatever their order, as for other sets.
impl<K: DenseKey + Clone> PartialEq for OrderedSet<K> {
    fn eq(&self, other: &Self) -> bool {
        self.map == other.map
    }
}

impl<K: DenseKey + Clone> Eq for OrderedSet<K> {}

impl<K: DenseKey + Clone + fmt::Debug> fmt::Debug for OrderedSet<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}

impl<K: DenseKey + Clone> Extend<K> for OrderedSet<K> {
    fn extend<I: IntoIterator<Item = K>>(&mut self, keys: I) {
        for key in keys {
            self.insert(key);
        }
    }
}

impl<K: DenseKey + Clone> FromIterator<K> for OrderedSet<K> {
    #[track_caller]
    fn from_iter<I: IntoIterator<Item = K>>(keys: I) -> Self {
        let mut set = Self::new();
        set.extend(keys);
        set
    }
}

impl<K: DenseKey + Clone, const N: usize> From<[K; N]> for OrderedSet<K> {
    #[track_caller]
    fn from(keys: [K; N]) -> Self {
        keys.into_iter().collect()
    }
}

/// The keys of an [`OrderedSet`], in insertion order.
#[derive(Debug)]
pub struct IntoKeys<K>(vec::IntoIter<(K, ())>);

impl<K> Iterator for IntoKeys<K> {
    type Item = K;

    fn next(&mut self) -> Option<K> {
        self.0.next().map(|(key, ())| key)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.0.size_hint()
    }
}

impl<K> ExactSizeIterator for IntoKeys<K> {}

impl<K: DenseKey + Clone> IntoIterator for OrderedSet<K> {
    type Item = K;
    type IntoIter = IntoKeys<K>;

    fn into_iter(self) -> IntoKeys<K> {
        IntoKeys(self.map.into_iter())
    }
}

/// References to the keys of an [`OrderedSet`], in insertion order.
#[derive(Debug)]
pub struct Keys<'a, K>(slice::Iter<'a, (K, ())>);

impl<K> Clone for Keys<'_, K> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<'a, K> Iterator for Keys<'a, K> {
    type Item = &'a K;

    fn next(&mut self) -> Option<&'a K> {
        self.0.next().map(|(key, ())| key)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.0.size_hint()
    }
}

impl<K> ExactSizeIterator for Keys<'_, K> {}

impl<'a, K: DenseKey + Clone> IntoIterator for &'a OrderedSet<K> {
    type Item = &'a K;
    type IntoIter = Keys<'a, K>;

    fn into_iter(self) -> Keys<'a, K> {
        Keys(self.map.entries.iter())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn iterates_in_insertion_order_and_keeps_the_first_position() {
        let mut map: OrderedMap<u32, &str> = [(9, "a"), (1, "b"), (5, "c")].into_iter().collect();
        assert_eq!(map.insert(1, "B"), Some("b"));
        assert_eq!(map.iter().map(|(k, _)| *k).collect::<Vec<_>>(), [9, 1, 5]);
        assert_eq!(map.remove(&9), Some("a"));
        assert_eq!(map.position(&5), Some(1));
        *map.get_or_insert_with(7, || "d") = "D";
        map.retain(|key, _| *key != 1);
        assert_eq!(map.get(&5), Some(&"c"));
        assert_eq!(map.into_vec(), [(5, "c"), (7, "D")]);
    }

    #[test]
    fn set_pops_the_last() {
        let mut set: OrderedSet<u32> = [3, 1, 3, 2].into_iter().collect();
        assert_eq!(set.len(), 3);
        assert_eq!(set.pop(), Some(2));
        assert!(!set.contains(&2) && set.insert(2));
        assert_eq!(format!("{set:?}"), "{3, 1, 2}");
    }
}
