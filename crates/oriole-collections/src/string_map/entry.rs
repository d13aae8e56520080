//! The entry API of string tables.

use super::node::{Head, NodeBox};
use super::{RawStrings, StringKey, Strings};
use crate::raw::Vacant;
use core::fmt;
use core::ptr::NonNull;

/// A key's place in a map, present or not.
pub enum Entry<'a, 'k, V, S: StringKey + ?Sized, T: RawStrings> {
    /// The key is present.
    Occupied(OccupiedEntry<'a, V, S, T>),
    /// The key is missing.
    Vacant(VacantEntry<'a, 'k, V, S, T>),
}

/// An entry that is present.
pub struct OccupiedEntry<'a, V, S: StringKey + ?Sized, T: RawStrings> {
    map: &'a mut Strings<V, S, T>,
    index: usize,
    node: NonNull<Head>,
}

/// An entry that is missing.
pub struct VacantEntry<'a, 'k, V, S: StringKey + ?Sized, T: RawStrings> {
    map: &'a mut Strings<V, S, T>,
    vacant: Vacant,
    key: &'k S,
}

// SAFETY: an entry is an exclusive borrow of its map.
unsafe impl<V: Send, S: StringKey + ?Sized, T: RawStrings> Send for OccupiedEntry<'_, V, S, T> {}
// SAFETY: as above.
unsafe impl<V: Sync, S: StringKey + ?Sized, T: RawStrings> Sync for OccupiedEntry<'_, V, S, T> {}

impl<'a, 'k, V, S: StringKey + ?Sized, T: RawStrings> Entry<'a, 'k, V, S, T> {
    crate::entry_methods::entry_methods!('a, S, V);

    /// Stores a value, whether there was one or not.
    #[inline]
    #[cfg_attr(debug_assertions, track_caller)]
    pub fn insert_entry(self, value: V) -> OccupiedEntry<'a, V, S, T> {
        match self {
            Entry::Occupied(mut entry) => {
                entry.insert(value);
                entry
            }
            Entry::Vacant(entry) => entry.insert_entry(value),
        }
    }
}

impl<'a, V, S: StringKey + ?Sized, T: RawStrings> OccupiedEntry<'a, V, S, T> {
    /// # Safety
    ///
    /// The bucket must have a node.
    pub(super) unsafe fn new(map: &'a mut Strings<V, S, T>, index: usize) -> Self {
        let node = map.raw.node_at(index).expect("an entry");
        Self { map, index, node }
    }

    /// The stored key.
    pub fn key(&self) -> &S {
        // SAFETY: the node is live while the map is borrowed, and its bytes are those of a key.
        unsafe { S::from_bytes(Head::key(self.node)) }
    }

    /// The stored key, for as long as the map was borrowed.
    pub fn into_key(self) -> &'a S {
        // SAFETY: as in `key`.
        unsafe { S::from_bytes(Head::key(self.node)) }
    }

    /// The value.
    pub fn get(&self) -> &V {
        // SAFETY: the node is live while the map is borrowed.
        unsafe { NodeBox::value(self.node).as_ref() }
    }

    /// The value.
    pub fn get_mut(&mut self) -> &mut V {
        // SAFETY: as in `get`, exclusively.
        unsafe { NodeBox::value(self.node).as_mut() }
    }

    /// The value, for as long as the map was borrowed.
    pub fn into_mut(self) -> &'a mut V {
        // SAFETY: as in `get_mut`.
        unsafe { NodeBox::value(self.node).as_mut() }
    }

    /// Replaces the value.
    pub fn insert(&mut self, value: V) -> V {
        core::mem::replace(self.get_mut(), value)
    }

    /// Removes the entry. Other entries stay at their addresses.
    pub fn remove(self) -> V {
        // SAFETY: the bucket has a node, and the map was borrowed ever since.
        unsafe { self.map.take(self.index) }.into_value()
    }
}

impl<'a, 'k, V, S: StringKey + ?Sized, T: RawStrings> VacantEntry<'a, 'k, V, S, T> {
    /// # Safety
    ///
    /// The vacancy must be one of this map for this key.
    pub(super) unsafe fn new(map: &'a mut Strings<V, S, T>, vacant: Vacant, key: &'k S) -> Self {
        Self { map, vacant, key }
    }

    /// The key looked for.
    pub fn key(&self) -> &'k S {
        self.key
    }

    /// Stores a value.
    pub fn insert(self, value: V) -> &'a mut V {
        self.insert_entry(value).into_mut()
    }

    /// Stores a value.
    pub fn insert_entry(self, value: V) -> OccupiedEntry<'a, V, S, T> {
        let Self { map, vacant, key } = self;
        // SAFETY: the vacancy was found for this key, and the map was borrowed ever since.
        unsafe {
            let index = map.occupy(vacant, key, value);
            OccupiedEntry::new(map, index)
        }
    }
}

impl<V: fmt::Debug, S: StringKey + ?Sized, T: RawStrings> fmt::Debug for Entry<'_, '_, V, S, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Entry::Occupied(entry) => entry.fmt(f),
            Entry::Vacant(entry) => entry.fmt(f),
        }
    }
}

impl<V: fmt::Debug, S: StringKey + ?Sized, T: RawStrings> fmt::Debug
    for OccupiedEntry<'_, V, S, T>
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OccupiedEntry")
            .field("key", &self.key())
            .field("value", self.get())
            .finish_non_exhaustive()
    }
}

impl<V, S: StringKey + ?Sized, T: RawStrings> fmt::Debug for VacantEntry<'_, '_, V, S, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("VacantEntry").field(&self.key()).finish()
    }
}
