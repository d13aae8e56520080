//! The entry API: a key's place, found once and then looked at, filled or emptied.

use super::Map;
use crate::DenseKey;
use crate::raw::{RawTable, Slot, Vacant};
use core::fmt;
use core::ptr::NonNull;

/// A key's place in a map, present or not.
pub enum Entry<'a, K, V, T> {
    /// The key is present.
    Occupied(OccupiedEntry<'a, K, V, T>),
    /// The key is missing.
    Vacant(VacantEntry<'a, K, V, T>),
}

/// An entry that is present.
pub struct OccupiedEntry<'a, K, V, T> {
    map: &'a mut Map<K, V, T>,
    slot: NonNull<Slot<K, V>>,
}

// SAFETY: an entry is an exclusive borrow of its map.
unsafe impl<K: Send, V: Send, T: Send> Send for OccupiedEntry<'_, K, V, T> {}
// SAFETY: as above.
unsafe impl<K: Sync, V: Sync, T: Sync> Sync for OccupiedEntry<'_, K, V, T> {}

/// An entry that is missing.
pub struct VacantEntry<'a, K, V, T> {
    map: &'a mut Map<K, V, T>,
    vacant: Vacant,
    key: K,
}

impl<'a, K: DenseKey, V, T: RawTable<K, V>> Entry<'a, K, V, T> {
    crate::entry_methods::entry_methods!('a, K, V);

    /// Stores a value, whether there was one or not.
    #[inline]
    #[cfg_attr(debug_assertions, track_caller)]
    pub fn insert_entry(self, value: V) -> OccupiedEntry<'a, K, V, T> {
        match self {
            Entry::Occupied(mut entry) => {
                entry.insert(value);
                entry
            }
            Entry::Vacant(entry) => entry.insert_entry(value),
        }
    }
}

impl<'a, K: DenseKey, V, T: RawTable<K, V>> OccupiedEntry<'a, K, V, T> {
    /// # Safety
    ///
    /// The slot must be an entry of this map.
    pub(super) unsafe fn new(map: &'a mut Map<K, V, T>, slot: NonNull<Slot<K, V>>) -> Self {
        Self { map, slot }
    }

    /// The stored key.
    pub fn key(&self) -> &K {
        // SAFETY: the slot is occupied and the map borrowed exclusively.
        unsafe { &self.slot.as_ref().key }
    }

    /// The value.
    #[inline]
    pub fn get(&self) -> &V {
        // SAFETY: as in `key`.
        unsafe { &self.slot.as_ref().value }
    }

    /// The value.
    #[inline]
    pub fn get_mut(&mut self) -> &mut V {
        // SAFETY: as in `key`.
        unsafe { &mut self.slot.as_mut().value }
    }

    /// The value, for as long as the map was borrowed.
    #[inline]
    pub fn into_mut(mut self) -> &'a mut V {
        // SAFETY: as in `key`; the borrow of the map ends no sooner than `'a`.
        unsafe { &mut self.slot.as_mut().value }
    }

    /// The stored key, for as long as the map was borrowed.
    pub fn into_key(self) -> &'a K {
        // SAFETY: as in `into_mut`.
        unsafe { &(*self.slot.as_ptr()).key }
    }

    /// Replaces the value.
    pub fn insert(&mut self, value: V) -> V {
        core::mem::replace(self.get_mut(), value)
    }

    /// Removes the entry. Other entries may move.
    #[cfg_attr(debug_assertions, track_caller)]
    pub fn remove(self) -> V {
        let (key, value) = self.remove_entry();
        drop(key);
        value
    }

    /// Removes the entry and returns it whole. Other entries may move.
    #[cfg_attr(debug_assertions, track_caller)]
    pub fn remove_entry(self) -> (K, V) {
        self.map.witness.mutate();
        // SAFETY: the slot is occupied and the map borrowed exclusively.
        unsafe {
            let slot = self.slot;
            self.map.tally.erase(true, 1, || slot.as_ref().key.mix());
            let Slot { key, value } = self.map.raw.erase(slot, |_, _| ());
            (key, value)
        }
    }
}

impl<'a, K: DenseKey, V, T: RawTable<K, V>> VacantEntry<'a, K, V, T> {
    /// # Safety
    ///
    /// The vacancy must be one of this map for this key.
    pub(super) unsafe fn new(map: &'a mut Map<K, V, T>, vacant: Vacant, key: K) -> Self {
        Self { map, vacant, key }
    }

    /// The key looked for.
    pub fn key(&self) -> &K {
        &self.key
    }

    /// The key looked for.
    pub fn into_key(self) -> K {
        self.key
    }

    /// Stores a value.
    #[inline]
    #[cfg_attr(debug_assertions, track_caller)]
    pub fn insert(self, value: V) -> &'a mut V {
        self.insert_entry(value).into_mut()
    }

    /// Stores a value.
    #[inline]
    #[cfg_attr(debug_assertions, track_caller)]
    pub fn insert_entry(self, value: V) -> OccupiedEntry<'a, K, V, T> {
        let Self { map, vacant, key } = self;
        // SAFETY: the vacancy was found for this key, and the map was borrowed ever since.
        let slot = unsafe { map.occupy(vacant, key, value) };
        OccupiedEntry { map, slot }
    }
}

impl<K: DenseKey + fmt::Debug, V: fmt::Debug, T: RawTable<K, V>> fmt::Debug for Entry<'_, K, V, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Entry::Occupied(entry) => entry.fmt(f),
            Entry::Vacant(entry) => entry.fmt(f),
        }
    }
}

impl<K: DenseKey + fmt::Debug, V: fmt::Debug, T: RawTable<K, V>> fmt::Debug
    for OccupiedEntry<'_, K, V, T>
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OccupiedEntry")
            .field("key", self.key())
            .field("value", self.get())
            .finish_non_exhaustive()
    }
}

impl<K: DenseKey + fmt::Debug, V, T: RawTable<K, V>> fmt::Debug for VacantEntry<'_, K, V, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("VacantEntry").field(self.key()).finish()
    }
}
