//! `Map`: the public face of every table design of this crate.
//!
//! All methods live here once; the design (`T`) only knows about buckets. Bucket order, in which [`Map::iter`] goes, is an
//! accident of hashing and changes when a key is added. Where output depends on order, use [`Map::iter_sorted`],
//! [`Map::into_sorted_vec`] or [`OrderedMap`](crate::extra::OrderedMap). Every iterator of bucket order has a second name that says so
//! (`iter_unordered`): a compiler that must be deterministic forbids the first (clippy's `disallowed-methods`) and has to
//! justify the second.

mod entry;
mod iter;

pub use entry::{Entry, OccupiedEntry, VacantEntry};
pub use iter::{
    Drain, ExtractIf, IntoIter, IntoKeys, IntoValues, Iter, IterMut, Keys, Values, ValuesMut,
};

use crate::instrument::{Description, Tally};
use crate::raw::{Found, RawTable, Slot, TryReserveError, Vacant};
use crate::witness::{Stamp, Witness};
use crate::{DenseKey, Lookup, SmallVec};
use alloc::vec::Vec;
use core::fmt;
use core::marker::PhantomData;
use core::ops::Index;
use core::ptr::NonNull;

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

/// The query of a key that is known to be missing: it has the key's hash and compares no keys.
struct Unequal<'a, K>(&'a K);

impl<K: DenseKey> Lookup<K> for Unequal<'_, K> {
    fn lookup_mix(&self) -> u64 {
        self.0.mix()
    }
    fn lookup_keyed(&self, secret: u64) -> u64 {
        self.0.mix_keyed(secret)
    }
    fn lookup_classic_hash(&self) -> u32 {
        self.0.classic_hash()
    }
    fn matches(&self, _: &K) -> bool {
        false
    }
}

fn describe<K, V, T: RawTable<K, V>>() -> Description {
    Description {
        kind: "DenseMap",
        design: T::NAME,
        key: core::any::type_name::<K>(),
        value: core::any::type_name::<V>(),
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

    crate::raw::size_methods!();

    /// Bytes of the heap allocation.
    pub fn allocated_bytes(&self) -> usize {
        self.raw.allocated_bytes()
    }

    /// Every entry, in bucket order.
    #[inline]
    pub fn iter(&self) -> Iter<'_, K, V, T> {
        Iter::new(&self.raw)
    }

    /// Every entry, in bucket order; the same as [`Map::iter`].
    #[inline]
    pub fn iter_unordered(&self) -> Iter<'_, K, V, T> {
        Iter::new(&self.raw)
    }

    /// Every entry with its value mutable, in bucket order.
    #[inline]
    pub fn iter_mut(&mut self) -> IterMut<'_, K, V, T> {
        IterMut::new(&mut self.raw)
    }

    /// Every entry with its value mutable, in bucket order; the same as [`Map::iter_mut`].
    #[inline]
    pub fn iter_mut_unordered(&mut self) -> IterMut<'_, K, V, T> {
        IterMut::new(&mut self.raw)
    }

    /// Every key, in bucket order.
    #[inline]
    pub fn keys(&self) -> Keys<'_, K, V, T> {
        Keys(Iter::new(&self.raw))
    }

    /// Every key, in bucket order; the same as [`Map::keys`].
    #[inline]
    pub fn keys_unordered(&self) -> Keys<'_, K, V, T> {
        Keys(Iter::new(&self.raw))
    }

    /// Every value, in bucket order.
    #[inline]
    pub fn values(&self) -> Values<'_, K, V, T> {
        Values(Iter::new(&self.raw))
    }

    /// Every value, in bucket order; the same as [`Map::values`].
    #[inline]
    pub fn values_unordered(&self) -> Values<'_, K, V, T> {
        Values(Iter::new(&self.raw))
    }

    /// Every value, mutable, in bucket order.
    #[inline]
    pub fn values_mut(&mut self) -> ValuesMut<'_, K, V, T> {
        ValuesMut(IterMut::new(&mut self.raw))
    }

    /// Every value, mutable, in bucket order; the same as [`Map::values_mut`].
    #[inline]
    pub fn values_mut_unordered(&mut self) -> ValuesMut<'_, K, V, T> {
        ValuesMut(IterMut::new(&mut self.raw))
    }

    /// The keys, in bucket order.
    pub fn into_keys(self) -> IntoKeys<K, V, T> {
        IntoKeys(self.into_iter())
    }

    /// The values, in bucket order.
    pub fn into_values(self) -> IntoValues<K, V, T> {
        IntoValues(self.into_iter())
    }

    /// Removes every entry and yields them, in bucket order. The allocation is kept as by [`Map::clear`]; entries that are not
    /// asked for are dropped with the iterator. When the iterator is forgotten, they leak, and the map is empty.
    #[cfg_attr(debug_assertions, track_caller)]
    pub fn drain(&mut self) -> Drain<'_, K, V, T> {
        self.witness.mutate();
        self.tally.clear();
        Drain::new(&mut self.raw)
    }

    /// Every entry by ascending key.
    pub fn iter_sorted(&self) -> alloc::vec::IntoIter<(&K, &V)>
    where
        K: Ord,
    {
        let mut entries: Vec<(&K, &V)> = Vec::with_capacity(self.len());
        self.visit(|key, value| entries.push((key, value)));
        entries.sort_unstable_by(|a, b| a.0.cmp(b.0));
        entries.into_iter()
    }

    /// Calls `visit` with every entry in bucket order, by little code.
    #[inline]
    pub(crate) fn visit<'a>(&'a self, mut visit: impl FnMut(&'a K, &'a V)) {
        self.raw.visit(|slot| {
            // SAFETY: the table vouches for the slot, and `self` stays borrowed as long as the references live.
            let Slot { key, value } = unsafe { slot.as_ref() };
            visit(key, value);
        });
    }

    /// The entries by ascending key.
    pub fn into_sorted_vec(self) -> Vec<(K, V)>
    where
        K: Ord,
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
        map.reserve(entries);
        map
    }

    /// Makes room for `additional` more entries. Panics when there cannot be so many.
    #[cfg_attr(debug_assertions, track_caller)]
    pub fn reserve(&mut self, additional: usize) {
        if let Err(error) = self.try_reserve(additional) {
            error.raise();
        }
    }

    /// Makes room for `additional` more entries, or says why it cannot.
    #[cfg_attr(debug_assertions, track_caller)]
    pub fn try_reserve(&mut self, additional: usize) -> Result<(), TryReserveError> {
        self.witness.mutate();
        self.raw.try_reserve(additional)?;
        self.tally
            .reserve(additional, || self.raw.allocated_bytes());
        Ok(())
    }

    /// Reallocates to the least size that holds the entries.
    #[cfg_attr(debug_assertions, track_caller)]
    pub fn shrink_to_fit(&mut self) {
        self.shrink_to(0);
    }

    /// Reallocates to the least size that holds the entries and at least `capacity`.
    #[cfg_attr(debug_assertions, track_caller)]
    pub fn shrink_to(&mut self, capacity: usize) {
        self.witness.mutate();
        self.raw.shrink_to(capacity);
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
    fn find_or_vacant(&mut self, key: &K) -> Found<K, V> {
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

    /// Moves the last of `entries`, whose key the map does not have, into the map; false if there is none. If the hash of the key
    /// panics, the entry stays where it was.
    pub(crate) fn move_last<A: smallvec::Array<Item = (K, V)>>(
        &mut self,
        entries: &mut SmallVec<A>,
    ) -> bool {
        let Some((key, _)) = entries.last() else {
            return false;
        };
        let Err(vacant) = self.raw.find_or_vacant(&Unequal(key)) else {
            unreachable!("a query that matches nothing was found");
        };
        if let Some((key, value)) = entries.pop() {
            // SAFETY: the table was not changed since it named the vacancy.
            unsafe { self.occupy(vacant, key, value) };
        }
        true
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
        let taken = self.raw.take(key, on_moved);
        self.tally
            .erase(taken.is_some(), probes, || key.lookup_mix());
        if taken.is_some() {
            self.witness.mutate();
        }
        taken
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

    /// The values of several keys at once. Panics when two of the keys are the same entry's.
    ///
    /// ```
    /// let mut map = oriole_collections::DenseMap::from([("a", 1), ("b", 2)]);
    /// if let [Some(a), Some(b)] = map.get_disjoint_mut(["a", "b"]) {
    ///     std::mem::swap(a, b);
    /// }
    /// assert_eq!((map["a"], map["b"]), (2, 1));
    /// ```
    pub fn get_disjoint_mut<Q: Lookup<K> + ?Sized, const N: usize>(
        &mut self,
        keys: [&Q; N],
    ) -> [Option<&mut V>; N] {
        let slots = keys.map(|key| self.find_slot(key));
        for (index, slot) in slots.iter().enumerate() {
            assert!(
                slot.is_none() || !slots[..index].contains(slot),
                "two of the keys are the same"
            );
        }
        // SAFETY: the table vouches for the slots, which are different ones, and `self` stays borrowed exclusively.
        slots.map(|slot| slot.map(|slot| unsafe { &mut (*slot.as_ptr()).value }))
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
                // First, so that nothing is on its way to the caller should its destructor panic.
                drop(key);
                // SAFETY: the table vouches for the slot, and a destructor cannot reach the table.
                Some(core::mem::replace(
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
            // SAFETY: the slot was just found, and the map stays borrowed.
            Ok(slot) => Entry::Occupied(unsafe { OccupiedEntry::new(self, slot) }),
            // SAFETY: the vacancy was just found for this key, and the map stays borrowed.
            Err(vacant) => Entry::Vacant(unsafe { VacantEntry::new(self, vacant, key) }),
        }
    }

    /// Removes a key and returns its value. Other entries may move.
    #[inline]
    #[cfg_attr(debug_assertions, track_caller)]
    pub fn remove<Q: Lookup<K> + ?Sized>(&mut self, key: &Q) -> Option<V> {
        let (key, value) = self.remove_entry(key)?;
        drop(key);
        Some(value)
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

    /// Removes and yields the entries for which `take` is true, as it goes; the others stay, and so do those not yet visited when
    /// the iterator is dropped.
    ///
    /// ```
    /// let mut map: oriole_collections::DenseMap<u32, u32> = (0..10).map(|n| (n, n * n)).collect();
    /// let mut odd: Vec<_> = map.extract_if(|key, _| key % 2 == 1).collect();
    /// odd.sort();
    /// assert_eq!(odd, [(1, 1), (3, 9), (5, 25), (7, 49), (9, 81)]);
    /// assert_eq!(map.len(), 5);
    /// ```
    #[cfg_attr(debug_assertions, track_caller)]
    pub fn extract_if<F: FnMut(&K, &mut V) -> bool>(
        &mut self,
        take: F,
    ) -> ExtractIf<'_, K, V, T, F> {
        self.witness.mutate();
        ExtractIf::new(self, take)
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
        self.erase_at_with(cursor, |_, _| ())
    }

    /// Removes the entry at a cursor, calling `on_moved` once for each other entry that changed its bucket; see [`Map::at`].
    #[cfg_attr(debug_assertions, track_caller)]
    pub fn erase_at_with(&mut self, cursor: Cursor, on_moved: impl FnMut(&K, &mut V)) -> (K, V) {
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
        let Slot { key, value } = unsafe { self.raw.erase(slot, on_moved) };
        (key, value)
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
        // Of many entries some may be there already; half of them is the usual guess.
        let (at_least, _) = entries.size_hint();
        let room = if self.is_empty() {
            at_least
        } else {
            at_least.div_ceil(2)
        };
        self.reserve(room);
        for (key, value) in entries {
            self.insert(key, value);
        }
    }
}

impl<'a, K: DenseKey + Copy, V: Copy, T: RawTable<K, V>> Extend<(&'a K, &'a V)> for Map<K, V, T> {
    #[cfg_attr(debug_assertions, track_caller)]
    fn extend<I: IntoIterator<Item = (&'a K, &'a V)>>(&mut self, entries: I) {
        self.extend(entries.into_iter().map(|(key, value)| (*key, *value)));
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
