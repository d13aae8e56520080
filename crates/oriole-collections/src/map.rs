//! `Map`: the public face of every table design of this crate.
//!
//! All methods live here once; the design (`T`) only knows about buckets. Iteration is called `iter_unordered`, because
//! bucket order is an accident of hashing: it is the same in every run (nothing is seeded), but it changes when a key is
//! added. Where output depends on order, use [`Map::iter_sorted`], [`Map::into_sorted_vec`] or
//! [`OrderedMap`](crate::OrderedMap).

use crate::instrument::{Description, Tally};
use crate::raw::{RawTable, Slot, Vacant};
use crate::witness::{Stamp, Witness};
use crate::{DenseKey, Lookup};
use std::fmt;
use std::marker::PhantomData;
use std::ops::Index;
use std::ptr::NonNull;

/// A hash map over the table design `T`; use it through an alias such as [`DenseMap`](crate::DenseMap).
pub struct Map<K, V, T> {
    raw: T,
    witness: Witness,
    tally: Tally,
    entries: PhantomData<(K, V)>,
}

/// A place in a map that borrows nothing: valid until the map is next mutated, which debug builds check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cursor {
    position: usize,
    stamp: Stamp,
}

fn describe<K, V, T: RawTable<K, V>>() -> Description {
    Description {
        kind: "DenseMap",
        design: T::NAME,
        key: std::any::type_name::<K>(),
        value: std::any::type_name::<V>(),
        key_bytes: size_of::<K>(),
        value_bytes: size_of::<V>(),
    }
}

impl<K, V, T: RawTable<K, V>> Map<K, V, T> {
    /// An empty map; allocates nothing.
    #[track_caller]
    #[inline]
    pub const fn new() -> Self {
        Self {
            raw: T::EMPTY,
            witness: Witness::new(),
            tally: Tally::new(describe::<K, V, T>),
            entries: PhantomData,
        }
    }

    /// Number of entries.
    #[inline]
    pub fn len(&self) -> usize {
        self.raw.len()
    }

    /// Whether there are none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.raw.len() == 0
    }

    /// How many entries fit before the table grows.
    pub fn capacity(&self) -> usize {
        self.raw.capacity()
    }

    /// Number of buckets.
    pub fn bucket_count(&self) -> usize {
        self.raw.bucket_count()
    }

    /// Bytes of the heap allocation.
    pub fn allocated_bytes(&self) -> usize {
        self.raw.allocated_bytes()
    }

    /// Every entry, in bucket order.
    #[inline]
    pub fn iter_unordered(&self) -> Iter<'_, K, V, T> {
        Iter {
            raw: self.raw.raw_iter(),
            borrow: PhantomData,
        }
    }

    /// Every entry with its value mutable, in bucket order.
    #[inline]
    pub fn iter_mut_unordered(&mut self) -> IterMut<'_, K, V, T> {
        IterMut {
            raw: self.raw.raw_iter(),
            borrow: PhantomData,
        }
    }

    /// Every key, in bucket order.
    #[inline]
    pub fn keys_unordered(&self) -> impl ExactSizeIterator<Item = &K> + use<'_, K, V, T> {
        self.iter_unordered().map(|(key, _)| key)
    }

    /// Every value, in bucket order.
    #[inline]
    pub fn values_unordered(&self) -> impl ExactSizeIterator<Item = &V> + use<'_, K, V, T> {
        self.iter_unordered().map(|(_, value)| value)
    }

    /// Every value, in bucket order.
    #[inline]
    pub fn values_mut_unordered(
        &mut self,
    ) -> impl ExactSizeIterator<Item = &mut V> + use<'_, K, V, T> {
        self.iter_mut_unordered().map(|(_, value)| value)
    }

    /// Every entry by ascending key.
    pub fn iter_sorted(&self) -> std::vec::IntoIter<(&K, &V)>
    where
        K: Ord,
    {
        let mut entries: Vec<(&K, &V)> = self.iter_unordered().collect();
        entries.sort_unstable_by(|a, b| a.0.cmp(b.0));
        entries.into_iter()
    }

    /// The entries by ascending key.
    pub fn into_sorted_vec(self) -> Vec<(K, V)>
    where
        K: Ord + DenseKey,
    {
        let mut entries: Vec<(K, V)> = self.into_iter().collect();
        entries.sort_unstable_by(|a, b| a.0.cmp(&b.0));
        entries
    }

    /// Removes every entry. The allocation is kept unless it is large and less than a quarter full (LLVM's rule).
    #[cfg_attr(debug_assertions, track_caller)]
    pub fn clear(&mut self) {
        self.witness.mutate();
        self.tally.clear();
        self.raw.clear();
    }
}

impl<K: DenseKey, V, T: RawTable<K, V>> Map<K, V, T> {
    /// An empty map with room for `entries`.
    #[track_caller]
    pub fn with_capacity(entries: usize) -> Self {
        let mut map = Self::new();
        map.raw.reserve(entries);
        map.tally.reserve(entries, || map.raw.allocated_bytes());
        map
    }

    /// Makes room for `additional` more entries.
    #[cfg_attr(debug_assertions, track_caller)]
    pub fn reserve(&mut self, additional: usize) {
        self.witness.mutate();
        self.raw.reserve(additional);
        self.tally
            .reserve(additional, || self.raw.allocated_bytes());
    }

    /// Reallocates to the least size that holds the entries.
    #[cfg_attr(debug_assertions, track_caller)]
    pub fn shrink_to_fit(&mut self) {
        self.witness.mutate();
        self.raw.shrink_to_fit();
    }

    #[inline(always)]
    fn find_slot<Q: Lookup<K> + ?Sized>(&self, key: &Q) -> Option<NonNull<Slot<K, V>>> {
        let found = self.raw.find(key);
        self.tally.find(
            found.is_some(),
            || self.raw.probes(key),
            || key.lookup_mix(),
        );
        found
    }

    /// As the table's, counted as a hit when present; a vacancy is counted when it is filled.
    #[inline(always)]
    fn find_or_vacant(&mut self, key: &K) -> Result<NonNull<Slot<K, V>>, Vacant> {
        let place = self.raw.find_or_vacant(key);
        if place.is_ok() {
            self.tally.find(true, || self.raw.probes(key), || key.mix());
        }
        place
    }

    /// Fills a vacancy.
    ///
    /// # Safety
    ///
    /// As for [`RawTable::occupy`].
    #[inline(always)]
    #[cfg_attr(debug_assertions, track_caller)]
    unsafe fn occupy(&mut self, vacant: Vacant, key: K, value: V) -> NonNull<Slot<K, V>> {
        self.witness.mutate();
        let probes = self.tally.measure(|| self.raw.probes(&key));
        let mix = self.tally.measure(|| key.mix());
        let buckets = self.raw.bucket_count();
        // SAFETY: the caller vouches for the vacancy.
        let slot = unsafe { self.raw.occupy(vacant, Slot { key, value }) };
        self.tally.insert(
            probes,
            || mix,
            self.raw.bucket_count() != buckets,
            || self.raw.allocated_bytes(),
        );
        slot
    }

    /// Takes the entry of a key out.
    #[inline(always)]
    #[cfg_attr(debug_assertions, track_caller)]
    fn take_entry<Q: Lookup<K> + ?Sized>(
        &mut self,
        key: &Q,
        on_moved: impl FnMut(&K, &mut V),
    ) -> Option<Slot<K, V>> {
        let probes = self.tally.measure(|| self.raw.probes(key));
        let slot = self.raw.find(key);
        self.tally
            .erase(slot.is_some(), probes, || key.lookup_mix());
        let slot = slot?;
        self.witness.mutate();
        // SAFETY: the slot was just found in this table.
        Some(unsafe { self.raw.erase(slot, on_moved) })
    }

    /// The value of a key.
    #[inline]
    pub fn get<Q: Lookup<K> + ?Sized>(&self, key: &Q) -> Option<&V> {
        // SAFETY: the table vouches for the slot, and `self` stays borrowed as long as the reference lives.
        self.find_slot(key)
            .map(|slot| unsafe { &slot.as_ref().value })
    }

    /// The value of a key.
    #[inline]
    pub fn get_mut<Q: Lookup<K> + ?Sized>(&mut self, key: &Q) -> Option<&mut V> {
        // SAFETY: as in `get`, with `self` borrowed exclusively.
        self.find_slot(key)
            .map(|mut slot| unsafe { &mut slot.as_mut().value })
    }

    /// The stored key and the value.
    #[inline]
    pub fn get_key_value<Q: Lookup<K> + ?Sized>(&self, key: &Q) -> Option<(&K, &V)> {
        self.find_slot(key).map(|slot| {
            // SAFETY: as in `get`.
            let Slot { key, value } = unsafe { slot.as_ref() };
            (key, value)
        })
    }

    /// The value of a key, or a copy of `default`.
    #[inline]
    pub fn get_or<Q: Lookup<K> + ?Sized>(&self, key: &Q, default: V) -> V
    where
        V: Copy,
    {
        self.get(key).copied().unwrap_or(default)
    }

    /// Whether the key is present.
    #[inline]
    pub fn contains_key<Q: Lookup<K> + ?Sized>(&self, key: &Q) -> bool {
        self.find_slot(key).is_some()
    }

    /// Stores a value and returns the one it replaced.
    #[inline]
    #[cfg_attr(debug_assertions, track_caller)]
    pub fn insert(&mut self, key: K, value: V) -> Option<V> {
        match self.find_or_vacant(&key) {
            Ok(mut slot) => {
                // SAFETY: the table vouches for the slot.
                Some(std::mem::replace(
                    unsafe { &mut slot.as_mut().value },
                    value,
                ))
            }
            Err(vacant) => {
                // SAFETY: the vacancy was found for this key just above.
                unsafe { self.occupy(vacant, key, value) };
                None
            }
        }
    }

    /// Stores a value unless the key is present; whether it did.
    #[inline]
    #[cfg_attr(debug_assertions, track_caller)]
    pub fn try_insert(&mut self, key: K, value: V) -> bool {
        let before = self.len();
        self.get_or_insert_with(key, || value);
        self.len() != before
    }

    /// The value of a key, made by `make` when missing.
    #[inline]
    #[cfg_attr(debug_assertions, track_caller)]
    pub fn get_or_insert_with(&mut self, key: K, make: impl FnOnce() -> V) -> &mut V {
        let mut slot = match self.find_or_vacant(&key) {
            Ok(slot) => slot,
            Err(vacant) => {
                let value = make();
                // SAFETY: the vacancy was found for this key, and `make` cannot reach the table.
                unsafe { self.occupy(vacant, key, value) }
            }
        };
        // SAFETY: the table vouches for the slot, and `self` stays borrowed exclusively.
        unsafe { &mut slot.as_mut().value }
    }

    /// The value of a key, `value` when missing.
    #[inline]
    #[cfg_attr(debug_assertions, track_caller)]
    pub fn get_or_insert(&mut self, key: K, value: V) -> &mut V {
        self.get_or_insert_with(key, || value)
    }

    /// The value of a key, the default when missing (LLVM's `operator[]`).
    #[inline]
    #[cfg_attr(debug_assertions, track_caller)]
    pub fn get_or_default(&mut self, key: K) -> &mut V
    where
        V: Default,
    {
        self.get_or_insert_with(key, V::default)
    }

    /// The entry of a key, for looking and changing with one probe.
    #[inline]
    pub fn entry(&mut self, key: K) -> Entry<'_, K, V, T> {
        match self.find_or_vacant(&key) {
            Ok(slot) => Entry::Occupied(OccupiedEntry {
                map: self,
                slot,
                key: PhantomData,
            }),
            Err(vacant) => Entry::Vacant(VacantEntry {
                map: self,
                vacant,
                key,
            }),
        }
    }

    /// Removes a key and returns its value. Other entries may move.
    #[inline]
    #[cfg_attr(debug_assertions, track_caller)]
    pub fn remove<Q: Lookup<K> + ?Sized>(&mut self, key: &Q) -> Option<V> {
        self.remove_entry(key).map(|(_, value)| value)
    }

    /// Removes a key and returns it with its value. Other entries may move.
    #[inline]
    #[cfg_attr(debug_assertions, track_caller)]
    pub fn remove_entry<Q: Lookup<K> + ?Sized>(&mut self, key: &Q) -> Option<(K, V)> {
        let Slot { key, value } = self.take_entry(key, |_, _| ())?;
        Some((key, value))
    }

    /// Removes a key; whether it was present. Other entries may move.
    #[inline]
    #[cfg_attr(debug_assertions, track_caller)]
    pub fn erase<Q: Lookup<K> + ?Sized>(&mut self, key: &Q) -> bool {
        self.remove_entry(key).is_some()
    }

    /// Removes a key, calling `on_moved` once for each other entry that changed its bucket; whether it was present.
    #[inline]
    #[cfg_attr(debug_assertions, track_caller)]
    pub fn erase_with<Q: Lookup<K> + ?Sized>(
        &mut self,
        key: &Q,
        on_moved: impl FnMut(&K, &mut V),
    ) -> bool {
        self.take_entry(key, on_moved).is_some()
    }

    /// Keeps the entries for which `keep` is true, in one pass.
    #[cfg_attr(debug_assertions, track_caller)]
    pub fn retain(&mut self, keep: impl FnMut(&K, &mut V) -> bool) {
        self.witness.mutate();
        let Self { raw, tally, .. } = self;
        let mut keep = keep;
        raw.retain(|key, value| {
            let kept = keep(key, value);
            if !kept {
                tally.erase(true, 1, || key.mix());
            }
            kept
        });
    }

    /// Removes the entries for which `remove` is true, in one pass, and returns how many there were.
    #[cfg_attr(debug_assertions, track_caller)]
    pub fn remove_if(&mut self, mut remove: impl FnMut(&K, &mut V) -> bool) -> usize {
        let before = self.len();
        self.retain(|key, value| !remove(key, value));
        before - self.len()
    }

    /// The place of a key, to be used with [`Map::at`] before the next mutation.
    #[inline]
    #[cfg_attr(debug_assertions, track_caller)]
    pub fn cursor<Q: Lookup<K> + ?Sized>(&self, key: &Q) -> Option<Cursor> {
        // Not inside the closure: the stamp remembers its caller.
        let stamp = self.witness.stamp();
        self.find_slot(key).map(|slot| Cursor {
            position: self.raw.position(slot),
            stamp,
        })
    }

    /// The entry at a cursor. Panics when the bucket is empty; debug builds panic whenever the map was mutated since the
    /// cursor was made, and say where.
    #[inline]
    #[cfg_attr(debug_assertions, track_caller)]
    pub fn at(&self, cursor: Cursor) -> (&K, &V) {
        self.witness.check(cursor.stamp);
        let slot = self
            .raw
            .at(cursor.position)
            .expect("cursor at an empty bucket");
        // SAFETY: the table vouches for the slot.
        let Slot { key, value } = unsafe { slot.as_ref() };
        (key, value)
    }

    /// The value at a cursor; see [`Map::at`].
    #[inline]
    #[cfg_attr(debug_assertions, track_caller)]
    pub fn at_mut(&mut self, cursor: Cursor) -> &mut V {
        self.witness.check(cursor.stamp);
        let mut slot = self
            .raw
            .at(cursor.position)
            .expect("cursor at an empty bucket");
        // SAFETY: the table vouches for the slot, and `self` is borrowed exclusively.
        unsafe { &mut slot.as_mut().value }
    }

    /// Removes the entry at a cursor; see [`Map::at`].
    #[cfg_attr(debug_assertions, track_caller)]
    pub fn erase_at(&mut self, cursor: Cursor) -> (K, V) {
        self.witness.check(cursor.stamp);
        let slot = self
            .raw
            .at(cursor.position)
            .expect("cursor at an empty bucket");
        self.witness.mutate();
        // SAFETY: the table vouches for the slot.
        self.tally
            .erase(true, 1, || unsafe { slot.as_ref() }.key.mix());
        // SAFETY: as above.
        let Slot { key, value } = unsafe { self.raw.erase(slot, |_, _| ()) };
        (key, value)
    }
}

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
    key: PhantomData<K>,
}

/// An entry that is missing.
pub struct VacantEntry<'a, K, V, T> {
    map: &'a mut Map<K, V, T>,
    vacant: Vacant,
    key: K,
}

impl<'a, K: DenseKey, V, T: RawTable<K, V>> Entry<'a, K, V, T> {
    /// The value, `value` when missing.
    #[inline]
    #[cfg_attr(debug_assertions, track_caller)]
    pub fn or_insert(self, value: V) -> &'a mut V {
        self.or_insert_with(|| value)
    }

    /// The value, made by `make` when missing.
    #[inline]
    #[cfg_attr(debug_assertions, track_caller)]
    pub fn or_insert_with(self, make: impl FnOnce() -> V) -> &'a mut V {
        match self {
            Entry::Occupied(entry) => entry.into_mut(),
            Entry::Vacant(entry) => entry.insert(make()),
        }
    }

    /// The value, the default when missing.
    #[inline]
    #[cfg_attr(debug_assertions, track_caller)]
    pub fn or_default(self) -> &'a mut V
    where
        V: Default,
    {
        self.or_insert_with(V::default)
    }

    /// Changes the value when present.
    #[inline]
    pub fn and_modify(mut self, change: impl FnOnce(&mut V)) -> Self {
        if let Entry::Occupied(entry) = &mut self {
            change(entry.get_mut());
        }
        self
    }

    /// The key.
    pub fn key(&self) -> &K {
        match self {
            Entry::Occupied(entry) => entry.key(),
            Entry::Vacant(entry) => entry.key(),
        }
    }
}

impl<'a, K: DenseKey, V, T: RawTable<K, V>> OccupiedEntry<'a, K, V, T> {
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

    /// Replaces the value.
    pub fn insert(&mut self, value: V) -> V {
        std::mem::replace(self.get_mut(), value)
    }

    /// Removes the entry. Other entries may move.
    #[cfg_attr(debug_assertions, track_caller)]
    pub fn remove(self) -> V {
        self.map.witness.mutate();
        // SAFETY: the slot is occupied and the map borrowed exclusively.
        unsafe {
            let slot = self.slot;
            self.map.tally.erase(true, 1, || slot.as_ref().key.mix());
            self.map.raw.erase(slot, |_, _| ()).value
        }
    }
}

impl<'a, K: DenseKey, V, T: RawTable<K, V>> VacantEntry<'a, K, V, T> {
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
        let Self { map, vacant, key } = self;
        // SAFETY: the vacancy was found for this key, and the map was borrowed ever since.
        unsafe { &mut map.occupy(vacant, key, value).as_mut().value }
    }
}

/// Iterator of [`Map::iter_unordered`].
pub struct Iter<'a, K, V, T: RawTable<K, V>> {
    raw: T::RawIter,
    borrow: PhantomData<&'a (K, V)>,
}

/// Iterator of [`Map::iter_mut_unordered`].
pub struct IterMut<'a, K, V, T: RawTable<K, V>> {
    raw: T::RawIter,
    borrow: PhantomData<&'a mut (K, V)>,
}

/// Owning iterator, in bucket order.
pub struct IntoIter<K, V, T: RawTable<K, V>> {
    table: std::mem::ManuallyDrop<T>,
    raw: T::RawIter,
    entries: PhantomData<(K, V)>,
}

impl<K, V, T: RawTable<K, V>> Clone for Iter<'_, K, V, T> {
    fn clone(&self) -> Self {
        Self {
            raw: self.raw.clone(),
            borrow: PhantomData,
        }
    }
}

impl<'a, K, V, T: RawTable<K, V>> Iterator for Iter<'a, K, V, T> {
    type Item = (&'a K, &'a V);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let slot = self.raw.next()?;
        // SAFETY: the map is borrowed for `'a`, so its slots stay where they are.
        let Slot { key, value } = unsafe { slot.as_ref() };
        Some((key, value))
    }

    #[inline]
    fn fold<B, F: FnMut(B, Self::Item) -> B>(self, init: B, mut f: F) -> B {
        self.raw.fold(init, |result, slot| {
            // SAFETY: as in `next`.
            let Slot { key, value } = unsafe { slot.as_ref() };
            f(result, (key, value))
        })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.raw.size_hint()
    }
}

impl<'a, K, V, T: RawTable<K, V>> Iterator for IterMut<'a, K, V, T> {
    type Item = (&'a K, &'a mut V);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let mut slot = self.raw.next()?;
        // SAFETY: the map is borrowed exclusively for `'a`, and each slot is yielded once.
        let Slot { key, value } = unsafe { slot.as_mut() };
        Some((key, value))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.raw.size_hint()
    }
}

impl<K, V, T: RawTable<K, V>> Iterator for IntoIter<K, V, T> {
    type Item = (K, V);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let slot = self.raw.next()?;
        // SAFETY: each slot is yielded once, and the table never drops its slots itself from here on.
        let Slot { key, value } = unsafe { slot.read() };
        Some((key, value))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.raw.size_hint()
    }
}

impl<K, V, T: RawTable<K, V>> ExactSizeIterator for Iter<'_, K, V, T> {}
impl<K, V, T: RawTable<K, V>> ExactSizeIterator for IterMut<'_, K, V, T> {}
impl<K, V, T: RawTable<K, V>> ExactSizeIterator for IntoIter<K, V, T> {}

impl<K, V, T: RawTable<K, V>> Drop for IntoIter<K, V, T> {
    fn drop(&mut self) {
        for slot in self.raw.by_ref() {
            // SAFETY: these slots were not yielded yet; the table forgets them below.
            unsafe { slot.drop_in_place() };
        }
        // SAFETY: the table is not used again.
        unsafe { std::mem::ManuallyDrop::take(&mut self.table) }.free_forgetting();
    }
}

impl<K, V, T: RawTable<K, V>> IntoIterator for Map<K, V, T> {
    type Item = (K, V);
    type IntoIter = IntoIter<K, V, T>;

    fn into_iter(self) -> Self::IntoIter {
        let raw = self.raw.raw_iter();
        IntoIter {
            table: std::mem::ManuallyDrop::new(self.raw),
            raw,
            entries: PhantomData,
        }
    }
}

impl<K, V, T: RawTable<K, V>> Default for Map<K, V, T> {
    #[track_caller]
    fn default() -> Self {
        Self::new()
    }
}

impl<K: DenseKey + Clone, V: Clone, T: RawTable<K, V>> Clone for Map<K, V, T> {
    #[track_caller]
    fn clone(&self) -> Self {
        Self {
            raw: self.raw.duplicate(),
            ..Self::new()
        }
    }
}

impl<K: DenseKey, V: PartialEq, T: RawTable<K, V>> PartialEq for Map<K, V, T> {
    fn eq(&self, other: &Self) -> bool {
        self.len() == other.len()
            && self
                .iter_unordered()
                .all(|(key, value)| other.get(key) == Some(value))
    }
}

impl<K: DenseKey, V: Eq, T: RawTable<K, V>> Eq for Map<K, V, T> {}

impl<K: fmt::Debug, V: fmt::Debug, T: RawTable<K, V>> fmt::Debug for Map<K, V, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter_unordered()).finish()
    }
}

impl<K: DenseKey, V, T: RawTable<K, V>> Extend<(K, V)> for Map<K, V, T> {
    #[cfg_attr(debug_assertions, track_caller)]
    fn extend<I: IntoIterator<Item = (K, V)>>(&mut self, entries: I) {
        let entries = entries.into_iter();
        let (at_least, _) = entries.size_hint();
        self.reserve(at_least);
        for (key, value) in entries {
            self.insert(key, value);
        }
    }
}

impl<K: DenseKey, V, T: RawTable<K, V>> FromIterator<(K, V)> for Map<K, V, T> {
    #[track_caller]
    fn from_iter<I: IntoIterator<Item = (K, V)>>(entries: I) -> Self {
        let mut map = Self::new();
        map.extend(entries);
        map
    }
}

impl<K: DenseKey, V, T: RawTable<K, V>, const N: usize> From<[(K, V); N]> for Map<K, V, T> {
    #[track_caller]
    fn from(entries: [(K, V); N]) -> Self {
        entries.into_iter().collect()
    }
}

impl<K: DenseKey, V, Q: Lookup<K> + ?Sized, T: RawTable<K, V>> Index<&Q> for Map<K, V, T> {
    type Output = V;

    #[inline]
    #[track_caller]
    fn index(&self, key: &Q) -> &V {
        self.get(key).expect("no entry for the key")
    }
}
