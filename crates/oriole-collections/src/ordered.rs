//! `OrderedMap` and `OrderedSet`: tables that iterate in insertion order (LLVM's `MapVector` and `SetVector`).
//!
//! The entries live in a vector; a dense table maps each key to its position. Use them wherever output depends on order
//! and keys have no natural order of their own.

use crate::{DenseKey, DenseMap, Lookup};
use alloc::vec::Vec;
use core::fmt;

/// A map that iterates in insertion order.
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

    /// Number of entries.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// A key's position in insertion order.
    pub fn position<Q: Lookup<K> + ?Sized>(&self, key: &Q) -> Option<usize> {
        self.positions.get(key).map(|&position| position as usize)
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

    /// Whether the key is present.
    pub fn contains_key<Q: Lookup<K> + ?Sized>(&self, key: &Q) -> bool {
        self.positions.contains_key(key)
    }

    /// Stores a value and returns the one it replaced; a key keeps its first position.
    #[cfg_attr(debug_assertions, track_caller)]
    pub fn insert(&mut self, key: K, value: V) -> Option<V> {
        let next = self.entries.len();
        let position = *self.positions.get_or_insert(key.clone(), next as u32) as usize;
        if position < next {
            drop(key);
            return Some(core::mem::replace(&mut self.entries[position].1, value));
        }
        self.entries.push((key, value));
        None
    }

    /// The value of a key, made by `make` when missing.
    #[cfg_attr(debug_assertions, track_caller)]
    pub fn get_or_insert_with(&mut self, key: K, make: impl FnOnce() -> V) -> &mut V {
        let next = self.entries.len();
        let position = match self.positions.get(&key) {
            Some(&position) => position as usize,
            None => {
                // The value first: were `make` to panic, no position may point past the end.
                self.entries.push((key.clone(), make()));
                self.positions.insert(key, next as u32);
                next
            }
        };
        &mut self.entries[position].1
    }

    /// Keeps the entries for which `keep` is true, in order; linear in the number of entries.
    #[cfg_attr(debug_assertions, track_caller)]
    pub fn retain(&mut self, mut keep: impl FnMut(&K, &mut V) -> bool) {
        self.entries.retain_mut(|(key, value)| keep(key, value));
        self.positions.clear();
        for (position, (key, _)) in self.entries.iter().enumerate() {
            self.positions.insert(key.clone(), position as u32);
        }
    }

    /// Removes a key, keeping the order of the others; linear in the number of entries after it.
    #[cfg_attr(debug_assertions, track_caller)]
    pub fn remove<Q: Lookup<K> + ?Sized>(&mut self, key: &Q) -> Option<V> {
        let position = self.positions.remove(key)? as usize;
        let (_, value) = self.entries.remove(position);
        for (key, _) in &self.entries[position..] {
            *self.positions.get_mut(key).expect("entry without position") -= 1;
        }
        Some(value)
    }

    /// Removes every entry.
    #[cfg_attr(debug_assertions, track_caller)]
    pub fn clear(&mut self) {
        let Self { positions, entries } = self;
        positions.clear();
        entries.clear();
    }

    /// Every entry in insertion order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (&K, &V)> + ExactSizeIterator + Clone {
        self.entries.iter().map(|(key, value)| (key, value))
    }

    /// Every entry in insertion order.
    pub fn iter_mut(
        &mut self,
    ) -> impl DoubleEndedIterator<Item = (&K, &mut V)> + ExactSizeIterator {
        self.entries.iter_mut().map(|(key, value)| (&*key, value))
    }

    /// The entries in insertion order.
    pub fn into_vec(self) -> Vec<(K, V)> {
        self.entries
    }
}

impl<K: DenseKey + Clone, V> Default for OrderedMap<K, V> {
    #[track_caller]
    fn default() -> Self {
        Self::new()
    }
}

impl<K: DenseKey + Clone + fmt::Debug, V: fmt::Debug> fmt::Debug for OrderedMap<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
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
    fn from_iter<I: IntoIterator<Item = (K, V)>>(entries: I) -> Self {
        let mut map = Self::new();
        map.extend(entries);
        map
    }
}

/// A set that iterates in insertion order.
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

    /// A key's position in insertion order.
    pub fn position<Q: Lookup<K> + ?Sized>(&self, key: &Q) -> Option<usize> {
        self.map.position(key)
    }

    /// Removes the key inserted last (a worklist's `pop`).
    #[cfg_attr(debug_assertions, track_caller)]
    pub fn pop(&mut self) -> Option<K> {
        let (key, ()) = self.map.entries.pop()?;
        self.map.positions.remove(&key);
        Some(key)
    }

    /// Removes a key, keeping the order of the others; whether it was present.
    #[cfg_attr(debug_assertions, track_caller)]
    pub fn remove<Q: Lookup<K> + ?Sized>(&mut self, key: &Q) -> bool {
        self.map.remove(key).is_some()
    }

    /// Every key in insertion order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &K> + ExactSizeIterator + Clone {
        self.map.iter().map(|(key, ())| key)
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
    fn from_iter<I: IntoIterator<Item = K>>(keys: I) -> Self {
        let mut set = Self::new();
        set.extend(keys);
        set
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
