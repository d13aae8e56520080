//! `SmallMap` and `PtrSet`: up to `N` entries inside the object, scanned in order; a hash table beyond.
//!
//! Most maps of a compiler hold a handful of entries. As long as there are at most `N`, there is no allocation and no hash:
//! the entries lie in an array and a lookup compares keys one after the other. The `N + 1`st entry moves them all into a
//! table of the design `T`; clearing comes back inside.

use crate::instrument::{Description, Tally};
use crate::map::{self, Map};
use crate::raw::RawTable;
use crate::{DenseKey, Lookup, SmallVec};
use alloc::vec::Vec;
use core::fmt;
use core::ops::Index;

/// A map with room for `N` entries inside itself; use it through [`SmallDenseMap`](crate::extra::SmallDenseMap).
///
/// ```
/// let mut map = oriole_collections::extra::SmallDenseMap::<u32, &str, 4>::from([(1, "one")]);
/// *map.entry(2).or_insert("") = "two";
/// assert!(map.is_small());
/// assert_eq!(map[&2], "two");
/// ```
pub struct SmallMap<K, V, const N: usize, T> {
    repr: Repr<K, V, N, T>,
    /// Counts what happens inside the object; a table counts for itself.
    tally: Tally,
}

fn describe<K, V, T: RawTable<K, V>>() -> Description {
    Description {
        kind: "SmallDenseMap",
        design: T::NAME,
        key: core::any::type_name::<K>(),
        value: core::any::type_name::<V>(),
        key_bytes: size_of::<K>(),
        value_bytes: size_of::<V>(),
    }
}

enum Repr<K, V, const N: usize, T> {
    /// Never more than `N`, so never spilled to the heap by the vector itself.
    Inline(SmallVec<[(K, V); N]>),
    Table(Map<K, V, T>),
}

impl<K: DenseKey, V, const N: usize, T: RawTable<K, V>> SmallMap<K, V, N, T> {
    /// An empty map; allocates nothing.
    #[track_caller]
    pub fn new() -> Self {
        Self {
            repr: Repr::Inline(SmallVec::new()),
            tally: Tally::new(describe::<K, V, T>),
        }
    }

    /// Counts a lookup inside the object: as many probes as keys are compared.
    #[inline(always)]
    fn count<Q: Lookup<K> + ?Sized>(&self, len: usize, found: Option<usize>, key: &Q) {
        self.tally.find(
            found.is_some(),
            || found.map_or(len, |at| at + 1),
            || key.lookup_mix(),
        );
    }

    /// Number of entries.
    #[inline]
    pub fn len(&self) -> usize {
        match &self.repr {
            Repr::Inline(entries) => entries.len(),
            Repr::Table(map) => map.len(),
        }
    }

    /// Whether there are none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether the entries still lie inside the object.
    #[inline]
    pub fn is_small(&self) -> bool {
        matches!(self.repr, Repr::Inline(_))
    }

    #[inline]
    fn position<Q: Lookup<K> + ?Sized>(entries: &[(K, V)], key: &Q) -> Option<usize> {
        entries.iter().position(|entry| key.matches(&entry.0))
    }

    /// The value of a key.
    #[inline]
    pub fn get<Q: Lookup<K> + ?Sized>(&self, key: &Q) -> Option<&V> {
        match &self.repr {
            Repr::Inline(entries) => {
                let found = Self::position(entries, key);
                self.count(entries.len(), found, key);
                found.map(|at| &entries[at].1)
            }
            Repr::Table(map) => map.get(key),
        }
    }

    /// The value of a key.
    #[inline]
    pub fn get_mut<Q: Lookup<K> + ?Sized>(&mut self, key: &Q) -> Option<&mut V> {
        if let Repr::Inline(entries) = &self.repr {
            self.count(entries.len(), Self::position(entries, key), key);
        }
        match &mut self.repr {
            Repr::Inline(entries) => Self::position(entries, key).map(|at| &mut entries[at].1),
            Repr::Table(map) => map.get_mut(key),
        }
    }

    /// Whether the key is present.
    #[inline]
    pub fn contains_key<Q: Lookup<K> + ?Sized>(&self, key: &Q) -> bool {
        self.get(key).is_some()
    }

    /// Moves the entries into a table when there is no room for one more inside.
    #[inline]
    fn make_room(&mut self) {
        if let Repr::Inline(entries) = &mut self.repr
            && entries.len() == N
        {
            let mut spill = Spill {
                entries,
                map: Map::<K, V, T>::new(),
            };
            spill.map.reserve(N + 1);
            while spill.map.move_last(spill.entries) {}
            let map = core::mem::take(&mut spill.map);
            drop(spill);
            self.repr = Repr::Table(map);
        }
    }

    /// Stores a value and returns the one it replaced.
    #[inline]
    pub fn insert(&mut self, key: K, value: V) -> Option<V> {
        if let Repr::Inline(entries) = &mut self.repr {
            if let Some(at) = Self::position(entries, &key) {
                self.tally.find(true, || at + 1, || key.mix());
                drop(key);
                return Some(core::mem::replace(&mut entries[at].1, value));
            }
            self.make_room();
        }
        match &mut self.repr {
            Repr::Inline(entries) => {
                self.tally.insert(entries.len(), || key.mix(), false, || 0);
                entries.push((key, value));
                None
            }
            Repr::Table(map) => map.insert(key, value),
        }
    }

    /// The value of a key, made by `make` when missing.
    #[inline]
    pub fn get_or_insert_with(&mut self, key: K, make: impl FnOnce() -> V) -> &mut V {
        let known = match &self.repr {
            Repr::Inline(entries) => Self::position(entries, &key),
            Repr::Table(_) => None,
        };
        if known.is_none() {
            self.make_room();
        }
        match &mut self.repr {
            Repr::Inline(entries) => {
                let at = match known {
                    Some(at) => {
                        self.tally.find(true, || at + 1, || key.mix());
                        at
                    }
                    None => {
                        self.tally.insert(entries.len(), || key.mix(), false, || 0);
                        entries.push((key, make()));
                        entries.len() - 1
                    }
                };
                &mut entries[at].1
            }
            Repr::Table(map) => map.get_or_insert_with(key, make),
        }
    }

    /// The value of a key, the default when missing.
    #[inline]
    pub fn get_or_default(&mut self, key: K) -> &mut V
    where
        V: Default,
    {
        self.get_or_insert_with(key, V::default)
    }

    /// The entry of a key, for looking and changing.
    pub fn entry(&mut self, key: K) -> Entry<'_, K, V, N, T> {
        match self.contains_key(&key) {
            true => Entry::Occupied(OccupiedEntry { map: self, key }),
            false => Entry::Vacant(VacantEntry { map: self, key }),
        }
    }

    /// Every entry with its value mutable, in no particular order.
    pub fn iter_mut(&mut self) -> IterMut<'_, K, V, T> {
        match &mut self.repr {
            Repr::Inline(entries) => IterMut::Inline(entries.iter_mut()),
            Repr::Table(map) => IterMut::Table(map.iter_mut_unordered()),
        }
    }

    /// Every entry; the same as [`SmallMap::iter_unordered`].
    #[inline]
    pub fn iter(&self) -> Iter<'_, K, V, T> {
        self.iter_unordered()
    }

    /// Every key, in no particular order.
    pub fn keys(&self) -> impl ExactSizeIterator<Item = &K> {
        self.iter_unordered().map(|(key, _)| key)
    }

    /// Every value, in no particular order.
    pub fn values(&self) -> impl ExactSizeIterator<Item = &V> {
        self.iter_unordered().map(|(_, value)| value)
    }

    /// Every value, mutable, in no particular order.
    pub fn values_mut(&mut self) -> impl ExactSizeIterator<Item = &mut V> {
        self.iter_mut().map(|(_, value)| value)
    }

    /// Removes a key and returns its value. Other entries may move.
    #[inline]
    pub fn remove<Q: Lookup<K> + ?Sized>(&mut self, key: &Q) -> Option<V> {
        match &mut self.repr {
            Repr::Inline(entries) => {
                let found = Self::position(entries, key);
                let len = entries.len();
                self.tally.erase(found.is_some(), len, || key.lookup_mix());
                let (key, value) = entries.swap_remove(found?);
                drop(key);
                Some(value)
            }
            Repr::Table(map) => map.remove(key),
        }
    }

    /// Removes a key; whether it was present. Other entries may move.
    #[inline]
    pub fn erase<Q: Lookup<K> + ?Sized>(&mut self, key: &Q) -> bool {
        self.remove(key).is_some()
    }

    /// Removes a key, calling `on_moved` once for each other entry that changed its place; whether it was present.
    pub fn erase_with<Q: Lookup<K> + ?Sized>(
        &mut self,
        key: &Q,
        mut on_moved: impl FnMut(&K, &mut V),
    ) -> bool {
        match &mut self.repr {
            Repr::Inline(entries) => {
                let Some(at) = Self::position(entries, key) else {
                    return false;
                };
                drop(entries.swap_remove(at));
                if let Some((key, value)) = entries.get_mut(at) {
                    on_moved(key, value);
                }
                true
            }
            Repr::Table(map) => map.erase_with(key, on_moved),
        }
    }

    /// Keeps the entries for which `keep` is true, in one pass.
    pub fn retain(&mut self, mut keep: impl FnMut(&K, &mut V) -> bool) {
        match &mut self.repr {
            Repr::Inline(entries) => {
                let tally = &mut self.tally;
                entries.retain(|(key, value)| {
                    let kept = keep(key, value);
                    if !kept {
                        tally.erase(true, 1, || key.mix());
                    }
                    kept
                });
            }
            Repr::Table(map) => map.retain(keep),
        }
    }

    /// Removes the entries for which `remove` is true, in one pass, and returns how many there were.
    pub fn remove_if(&mut self, mut remove: impl FnMut(&K, &mut V) -> bool) -> usize {
        let before = self.len();
        self.retain(|key, value| !remove(key, value));
        before - self.len()
    }

    /// Removes every entry and any table.
    pub fn clear(&mut self) {
        self.tally.clear();
        self.repr = Repr::Inline(SmallVec::new());
    }

    /// Every entry: in insertion order while small, if nothing was erased and no hash panicked, else in no particular order.
    #[inline]
    pub fn iter_unordered(&self) -> Iter<'_, K, V, T> {
        match &self.repr {
            Repr::Inline(entries) => Iter::Inline(entries.iter()),
            Repr::Table(map) => Iter::Table(map.iter_unordered()),
        }
    }

    /// Every entry by ascending key.
    pub fn iter_sorted(&self) -> alloc::vec::IntoIter<(&K, &V)>
    where
        K: Ord,
    {
        let mut entries: Vec<(&K, &V)> = self.iter_unordered().collect();
        entries.sort_unstable_by(|a, b| a.0.cmp(b.0));
        entries.into_iter()
    }
}

/// Entries on their way from inside the object to a table. If a hash panics, those that have moved come back.
struct Spill<'a, K: DenseKey, V, const N: usize, T: RawTable<K, V>> {
    entries: &'a mut SmallVec<[(K, V); N]>,
    map: Map<K, V, T>,
}

impl<K: DenseKey, V, const N: usize, T: RawTable<K, V>> Drop for Spill<'_, K, V, N, T> {
    fn drop(&mut self) {
        self.entries.extend(self.map.drain());
    }
}

/// A key's place in a [`SmallMap`], present or not.
pub enum Entry<'a, K, V, const N: usize, T> {
    /// The key is present.
    Occupied(OccupiedEntry<'a, K, V, N, T>),
    /// The key is missing.
    Vacant(VacantEntry<'a, K, V, N, T>),
}

/// An entry that is present.
pub struct OccupiedEntry<'a, K, V, const N: usize, T> {
    map: &'a mut SmallMap<K, V, N, T>,
    key: K,
}

/// An entry that is missing.
pub struct VacantEntry<'a, K, V, const N: usize, T> {
    map: &'a mut SmallMap<K, V, N, T>,
    key: K,
}

impl<'a, K: DenseKey, V, const N: usize, T: RawTable<K, V>> Entry<'a, K, V, N, T> {
    crate::entry_methods::entry_methods!('a, K, V);
}

impl<'a, K: DenseKey, V, const N: usize, T: RawTable<K, V>> OccupiedEntry<'a, K, V, N, T> {
    /// The key looked for.
    pub fn key(&self) -> &K {
        &self.key
    }

    /// The value.
    pub fn get(&self) -> &V {
        self.map.get(&self.key).expect("the entry is present")
    }

    /// The value.
    pub fn get_mut(&mut self) -> &mut V {
        self.map.get_mut(&self.key).expect("the entry is present")
    }

    /// The value, for as long as the map was borrowed.
    pub fn into_mut(self) -> &'a mut V {
        self.map.get_mut(&self.key).expect("the entry is present")
    }

    /// Replaces the value.
    pub fn insert(&mut self, value: V) -> V {
        core::mem::replace(self.get_mut(), value)
    }

    /// Removes the entry.
    pub fn remove(self) -> V {
        self.map.remove(&self.key).expect("the entry is present")
    }
}

impl<'a, K: DenseKey, V, const N: usize, T: RawTable<K, V>> VacantEntry<'a, K, V, N, T> {
    /// The key looked for.
    pub fn key(&self) -> &K {
        &self.key
    }

    /// The key looked for.
    pub fn into_key(self) -> K {
        self.key
    }

    /// Stores a value.
    pub fn insert(self, value: V) -> &'a mut V {
        self.map.get_or_insert_with(self.key, || value)
    }
}

/// Iterator of [`SmallMap::iter_mut`].
pub enum IterMut<'a, K, V, T: RawTable<K, V>> {
    /// Inside the object.
    Inline(core::slice::IterMut<'a, (K, V)>),
    /// In a table.
    Table(map::IterMut<'a, K, V, T>),
}

impl<'a, K, V, T: RawTable<K, V>> Iterator for IterMut<'a, K, V, T> {
    type Item = (&'a K, &'a mut V);

    fn next(&mut self) -> Option<Self::Item> {
        match self {
            IterMut::Inline(entries) => entries.next().map(|(key, value)| (&*key, value)),
            IterMut::Table(entries) => entries.next(),
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        match self {
            IterMut::Inline(entries) => entries.size_hint(),
            IterMut::Table(entries) => entries.size_hint(),
        }
    }
}

impl<K, V, T: RawTable<K, V>> ExactSizeIterator for IterMut<'_, K, V, T> {}

impl<'a, K: DenseKey, V, const N: usize, T: RawTable<K, V>> IntoIterator
    for &'a SmallMap<K, V, N, T>
{
    type Item = (&'a K, &'a V);
    type IntoIter = Iter<'a, K, V, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter_unordered()
    }
}

impl<'a, K: DenseKey, V, const N: usize, T: RawTable<K, V>> IntoIterator
    for &'a mut SmallMap<K, V, N, T>
{
    type Item = (&'a K, &'a mut V);
    type IntoIter = IterMut<'a, K, V, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter_mut()
    }
}

impl<K, V, Q, const N: usize, T> Index<&Q> for SmallMap<K, V, N, T>
where
    K: DenseKey,
    Q: Lookup<K> + ?Sized,
    T: RawTable<K, V>,
{
    type Output = V;

    #[track_caller]
    fn index(&self, key: &Q) -> &V {
        self.get(key).expect("no entry for the key")
    }
}

impl<K, V, const N: usize, const M: usize, T> From<[(K, V); M]> for SmallMap<K, V, N, T>
where
    K: DenseKey,
    T: RawTable<K, V>,
{
    fn from(entries: [(K, V); M]) -> Self {
        entries.into_iter().collect()
    }
}

/// Iterator of [`SmallMap::iter_unordered`].
pub enum Iter<'a, K, V, T: RawTable<K, V>> {
    /// Inside the object.
    Inline(core::slice::Iter<'a, (K, V)>),
    /// In a table.
    Table(map::Iter<'a, K, V, T>),
}

impl<'a, K, V, T: RawTable<K, V>> Iterator for Iter<'a, K, V, T> {
    type Item = (&'a K, &'a V);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        match self {
            Iter::Inline(entries) => entries.next().map(|(key, value)| (key, value)),
            Iter::Table(entries) => entries.next(),
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        match self {
            Iter::Inline(entries) => entries.size_hint(),
            Iter::Table(entries) => entries.size_hint(),
        }
    }
}

impl<K, V, T: RawTable<K, V>> ExactSizeIterator for Iter<'_, K, V, T> {}

/// Owning iterator of a [`SmallMap`].
pub enum IntoIter<K, V, const N: usize, T: RawTable<K, V>> {
    /// From inside the object.
    Inline(smallvec::IntoIter<[(K, V); N]>),
    /// From a table.
    Table(map::IntoIter<K, V, T>),
}

impl<K, V, const N: usize, T: RawTable<K, V>> Iterator for IntoIter<K, V, N, T> {
    type Item = (K, V);

    fn next(&mut self) -> Option<(K, V)> {
        match self {
            IntoIter::Inline(entries) => entries.next(),
            IntoIter::Table(entries) => entries.next(),
        }
    }
}

impl<K: DenseKey, V, const N: usize, T: RawTable<K, V>> IntoIterator for SmallMap<K, V, N, T> {
    type Item = (K, V);
    type IntoIter = IntoIter<K, V, N, T>;

    fn into_iter(self) -> Self::IntoIter {
        match self.repr {
            Repr::Inline(entries) => IntoIter::Inline(entries.into_iter()),
            Repr::Table(map) => IntoIter::Table(map.into_iter()),
        }
    }
}

impl<K: DenseKey, V, const N: usize, T: RawTable<K, V>> Default for SmallMap<K, V, N, T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<K, V, const N: usize, T> Clone for SmallMap<K, V, N, T>
where
    K: DenseKey + Clone,
    V: Clone,
    T: RawTable<K, V>,
{
    fn clone(&self) -> Self {
        Self {
            repr: match &self.repr {
                Repr::Inline(entries) => Repr::Inline(entries.clone()),
                Repr::Table(map) => Repr::Table(map.clone()),
            },
            tally: Tally::new(describe::<K, V, T>),
        }
    }
}

impl<K, V, const N: usize, T> PartialEq for SmallMap<K, V, N, T>
where
    K: DenseKey,
    V: PartialEq,
    T: RawTable<K, V>,
{
    fn eq(&self, other: &Self) -> bool {
        self.len() == other.len()
            && self
                .iter_unordered()
                .all(|(key, value)| other.get(key) == Some(value))
    }
}

impl<K: DenseKey, V: Eq, const N: usize, T: RawTable<K, V>> Eq for SmallMap<K, V, N, T> {}

impl<K, V, const N: usize, T> fmt::Debug for SmallMap<K, V, N, T>
where
    K: DenseKey + fmt::Debug,
    V: fmt::Debug,
    T: RawTable<K, V>,
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter_unordered()).finish()
    }
}

impl<K: DenseKey, V, const N: usize, T: RawTable<K, V>> Extend<(K, V)> for SmallMap<K, V, N, T> {
    fn extend<I: IntoIterator<Item = (K, V)>>(&mut self, entries: I) {
        for (key, value) in entries {
            self.insert(key, value);
        }
    }
}

impl<K, V, const N: usize, T> FromIterator<(K, V)> for SmallMap<K, V, N, T>
where
    K: DenseKey,
    T: RawTable<K, V>,
{
    fn from_iter<I: IntoIterator<Item = (K, V)>>(entries: I) -> Self {
        let mut map = Self::new();
        map.extend(entries);
        map
    }
}

/// The key of a [`PtrSet`]: an address, with the sentinels −1 and −2 in the classic design.
pub struct Pointer<T>(*const T);

crate::key::pointer_key!(Pointer, -1, -2);

/// A set of pointers with room for `N` inside itself; use it through [`SmallPtrSet`](crate::extra::SmallPtrSet).
///
/// It holds addresses and never looks at what they point to.
pub struct PtrSet<T, const N: usize, R> {
    map: SmallMap<Pointer<T>, (), N, R>,
}

impl<T, const N: usize, R: RawTable<Pointer<T>, ()>> PtrSet<T, N, R> {
    /// An empty set; allocates nothing.
    pub fn new() -> Self {
        Self {
            map: SmallMap::new(),
        }
    }

    /// Number of pointers.
    #[inline]
    pub fn len(&self) -> usize {
        self.map.len()
    }

    /// Whether there are none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.map.is_empty()
    }

    /// Whether the pointers still lie inside the object.
    #[inline]
    pub fn is_small(&self) -> bool {
        self.map.is_small()
    }

    /// Whether the pointer is present.
    #[inline]
    pub fn contains(&self, pointer: *const T) -> bool {
        self.map.contains_key(&Pointer(pointer))
    }

    /// Adds a pointer; whether it was missing.
    #[inline]
    pub fn insert(&mut self, pointer: *const T) -> bool {
        self.map.insert(Pointer(pointer), ()).is_none()
    }

    /// Removes a pointer; whether it was present.
    #[inline]
    pub fn remove(&mut self, pointer: *const T) -> bool {
        self.map.erase(&Pointer(pointer))
    }

    /// Removes the pointers for which `remove` is true, in one pass, and returns how many there were.
    pub fn remove_if(&mut self, mut remove: impl FnMut(*const T) -> bool) -> usize {
        self.map.remove_if(|pointer, ()| remove(pointer.0))
    }

    /// Removes every pointer and any table.
    pub fn clear(&mut self) {
        self.map.clear();
    }

    /// Every pointer, in no particular order.
    pub fn iter_unordered(&self) -> impl ExactSizeIterator<Item = *const T> {
        self.map.iter_unordered().map(|(pointer, ())| pointer.0)
    }
}

impl<T, const N: usize, R: RawTable<Pointer<T>, ()>> Default for PtrSet<T, N, R> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T, const N: usize, R: RawTable<Pointer<T>, ()>> Clone for PtrSet<T, N, R> {
    fn clone(&self) -> Self {
        Self {
            map: self.map.clone(),
        }
    }
}

impl<T, const N: usize, R: RawTable<Pointer<T>, ()>> PartialEq for PtrSet<T, N, R> {
    fn eq(&self, other: &Self) -> bool {
        self.map == other.map
    }
}

impl<T, const N: usize, R: RawTable<Pointer<T>, ()>> Eq for PtrSet<T, N, R> {}

impl<T, const N: usize, R: RawTable<Pointer<T>, ()>> fmt::Debug for PtrSet<T, N, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter_unordered()).finish()
    }
}

impl<T, const N: usize, R: RawTable<Pointer<T>, ()>> Extend<*const T> for PtrSet<T, N, R> {
    fn extend<I: IntoIterator<Item = *const T>>(&mut self, pointers: I) {
        for pointer in pointers {
            self.insert(pointer);
        }
    }
}

impl<T, const N: usize, R: RawTable<Pointer<T>, ()>> FromIterator<*const T> for PtrSet<T, N, R> {
    fn from_iter<I: IntoIterator<Item = *const T>>(pointers: I) -> Self {
        let mut set = Self::new();
        set.extend(pointers);
        set
    }
}
