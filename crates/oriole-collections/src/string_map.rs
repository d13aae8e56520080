//! `StringMap` and `StringSet`: tables of strings whose entries stay put.
//!
//! Each entry is one heap node that holds the bytes of its key, a zero byte and the value; a bucket is a pointer to it, with the key's
//! hash beside it, so that growing touches no node. Only buckets move, so an entry stays at its address until it is erased, and
//! its key can be handed to C.
//!
//! This file has the public face; the designs are [`swiss`](mod@swiss), [`linear`](mod@linear) and [`classic`](crate::classic). Keys are
//! `str` or `[u8]`. Nothing here depends on the type of the values but what reads, makes and drops them.

mod entry;
mod iter;
pub mod linear;
mod node;
mod sets;
pub mod swiss;

pub use entry::{Entry, OccupiedEntry, VacantEntry};
pub use iter::{Drain, IntoIter, Iter, IterMut, Keys, Values, ValuesMut};
pub use node::Head;
pub use sets::StringKeys;

use crate::instrument::{Description, Tally};
use crate::key::mix_bytes;
use crate::raw::{TryReserveError, Vacant};
use alloc::boxed::Box;
use alloc::vec::Vec;
use core::ffi::CStr;
use core::fmt;
use core::marker::PhantomData;
use core::ops::Index;
use core::ptr::NonNull;
use node::NodeBox;

/// The low half of the key's XXH3, which is what LLVM's tables store and compare.
#[inline]
pub(crate) fn string_hash(key: &[u8]) -> u32 {
    mix_bytes(key) as u32
}

mod sealed {
    /// Only this crate can say what a string is.
    pub trait Sealed {}
    impl Sealed for str {}
    impl Sealed for [u8] {}
}

/// What a string table can have as keys: `str` and `[u8]`.
pub trait StringKey: sealed::Sealed + Ord + fmt::Debug + 'static {
    /// The bytes.
    fn bytes(&self) -> &[u8];
    /// The string of these bytes.
    ///
    /// # Safety
    ///
    /// The bytes must be those of such a string.
    unsafe fn from_bytes(bytes: &[u8]) -> &Self;
    /// The same in a box.
    fn boxed(&self) -> Box<Self>;
}

impl StringKey for str {
    #[inline]
    fn bytes(&self) -> &[u8] {
        self.as_bytes()
    }
    #[inline]
    unsafe fn from_bytes(bytes: &[u8]) -> &Self {
        // SAFETY: the caller vouches for the bytes.
        unsafe { core::str::from_utf8_unchecked(bytes) }
    }
    fn boxed(&self) -> Box<Self> {
        self.into()
    }
}

impl StringKey for [u8] {
    #[inline]
    fn bytes(&self) -> &[u8] {
        self
    }
    #[inline]
    unsafe fn from_bytes(bytes: &[u8]) -> &Self {
        bytes
    }
    fn boxed(&self) -> Box<Self> {
        self.into()
    }
}

/// A design of string table. It knows nodes by their heads, owns none of them, and runs no code of the user's.
///
/// # Safety
///
/// The nodes that `find` and `node_at` return must be those that `occupy` was given and neither `erase` nor `forget_all` has taken
/// out, each at one bucket.
#[allow(clippy::len_without_is_empty)] // not an API for users
pub unsafe trait RawStrings: Sized {
    /// Short name of the design, for reports.
    const NAME: &'static str;
    /// A table without an allocation.
    const EMPTY: Self;
    /// Number of entries.
    fn len(&self) -> usize;
    /// Number of buckets.
    fn bucket_count(&self) -> usize;
    /// How many entries fit without growing.
    fn capacity(&self) -> usize;
    /// Bytes of the buckets and hashes, without the nodes.
    fn allocated_bytes(&self) -> usize;
    /// The node of a key.
    fn find(&self, key: &[u8]) -> Option<NonNull<Head>>;
    /// How many buckets a lookup inspects; only for reports.
    fn probes(&self, key: &[u8]) -> usize;
    /// The bucket of a key, or where it would go.
    fn find_or_vacant(&mut self, key: &[u8]) -> Result<usize, Vacant>;
    /// Stores a node at a vacancy; its bucket.
    ///
    /// # Safety
    ///
    /// `vacant` must come from `find_or_vacant` for this node's key, with no mutation in between. The node must stay live until it
    /// is taken out.
    unsafe fn occupy(&mut self, vacant: Vacant, node: NonNull<Head>) -> usize;
    /// Takes a node out.
    ///
    /// # Safety
    ///
    /// The bucket must have one.
    unsafe fn erase(&mut self, index: usize) -> NonNull<Head>;
    /// The node in a bucket.
    fn node_at(&self, index: usize) -> Option<NonNull<Head>>;
    /// The bucket from which buckets can be visited in turn while entries are erased; see
    /// [`RawTable::scan_start`](crate::raw::RawTable::scan_start).
    fn scan_start(&self) -> usize {
        0
    }
    /// Makes room for `additional` more entries.
    fn try_reserve(&mut self, additional: usize) -> Result<(), TryReserveError>;
    /// Reallocates to the least size that holds the entries and `capacity`.
    fn shrink_to(&mut self, capacity: usize);
    /// Takes all nodes out.
    fn forget_all(&mut self);
}

/// A map from strings over the design `T`; use it through an alias such as [`StringMap`](crate::StringMap).
///
/// ```
/// let mut map = oriole_collections::StringMap::new();
/// map.insert("one", 1);
/// *map.entry("two").or_insert(0) += 2;
/// assert_eq!(map["two"], 2);
/// assert_eq!(map.iter_sorted().collect::<Vec<_>>(), [("one", &1), ("two", &2)]);
/// ```
pub struct Strings<V, S: StringKey + ?Sized, T: RawStrings> {
    raw: T,
    tally: Tally,
    entries: PhantomData<(V, Box<S>)>,
}

// SAFETY: the map owns its nodes exclusively, like a `Vec<Box<(S, V)>>`.
unsafe impl<V: Send, S: StringKey + ?Sized, T: RawStrings> Send for Strings<V, S, T> {}
// SAFETY: shared access only reads the nodes.
unsafe impl<V: Sync, S: StringKey + ?Sized, T: RawStrings> Sync for Strings<V, S, T> {}

fn describe<V, S: ?Sized, T: RawStrings>() -> Description {
    Description {
        kind: "StringMap",
        design: T::NAME,
        key: core::any::type_name::<S>(),
        value: core::any::type_name::<V>(),
        key_bytes: 0,
        value_bytes: size_of::<V>(),
    }
}

/// Drops every node of a table that is nobody's any more; those after one whose destructor panics too.
fn drop_nodes<V, T: RawStrings>(raw: &T) {
    struct Rest<'a, V, T: RawStrings>(&'a T, usize, PhantomData<V>);

    impl<V, T: RawStrings> Rest<'_, V, T> {
        fn run(&mut self) {
            while self.1 < self.0.bucket_count() {
                self.1 += 1;
                if let Some(node) = self.0.node_at(self.1 - 1) {
                    // SAFETY: the caller has taken the table from its map, so each node is dropped here and nowhere else.
                    drop(unsafe { NodeBox::<V>::from_raw(node) });
                }
            }
        }
    }

    impl<V, T: RawStrings> Drop for Rest<'_, V, T> {
        fn drop(&mut self) {
            self.run();
        }
    }

    Rest::<V, T>(raw, 0, PhantomData).run();
}

impl<V, S: StringKey + ?Sized, T: RawStrings> Strings<V, S, T> {
    /// An empty map; allocates nothing.
    #[track_caller]
    pub const fn new() -> Self {
        Self {
            raw: T::EMPTY,
            tally: Tally::new(describe::<V, S, T>),
            entries: PhantomData,
        }
    }

    /// An empty map with room for `entries`.
    #[track_caller]
    pub fn with_capacity(entries: usize) -> Self {
        let mut map = Self::new();
        map.reserve(entries);
        map
    }

    crate::raw::size_methods!();

    /// Bytes of the buckets and hashes, without the entries.
    pub fn allocated_bytes(&self) -> usize {
        self.raw.allocated_bytes()
    }

    /// Makes room for `additional` more entries. Panics when there cannot be so many.
    pub fn reserve(&mut self, additional: usize) {
        if let Err(error) = self.try_reserve(additional) {
            error.raise();
        }
    }

    /// Makes room for `additional` more entries, or says why it cannot.
    pub fn try_reserve(&mut self, additional: usize) -> Result<(), TryReserveError> {
        self.raw.try_reserve(additional)?;
        self.tally
            .reserve(additional, || self.raw.allocated_bytes());
        Ok(())
    }

    /// Reallocates the buckets to the least size that holds the entries.
    pub fn shrink_to_fit(&mut self) {
        self.raw.shrink_to(0);
    }

    #[inline]
    fn node(&self, key: &S) -> Option<NonNull<Head>> {
        let found = self.raw.find(key.bytes());
        self.tally.find(
            found.is_some(),
            || self.raw.probes(key.bytes()),
            || mix_bytes(key.bytes()),
        );
        found
    }

    /// As the table's, counted as a hit when present; a vacancy is counted when it is filled.
    #[inline]
    fn find_or_vacant(&mut self, key: &S) -> Result<usize, Vacant> {
        let place = self.raw.find_or_vacant(key.bytes());
        if place.is_ok() {
            let Self { raw, tally, .. } = self;
            tally.find(true, || raw.probes(key.bytes()), || mix_bytes(key.bytes()));
        }
        place
    }

    /// Fills a vacancy.
    ///
    /// # Safety
    ///
    /// `vacant` must have been found in this map for this key, with no mutation in between.
    unsafe fn occupy(&mut self, vacant: Vacant, key: &S, value: V) -> usize {
        let probes = self.tally.measure(|| self.raw.probes(key.bytes()));
        let buckets = self.raw.bucket_count();
        let node = NodeBox::new(key.bytes(), value);
        // SAFETY: the caller vouches for the vacancy; the map owns the node from now on.
        let index = unsafe { self.raw.occupy(vacant, node.into_raw()) };
        self.tally.insert(
            probes,
            || mix_bytes(key.bytes()),
            self.raw.bucket_count() != buckets,
            || self.raw.allocated_bytes(),
        );
        index
    }

    /// Takes the node of a bucket out.
    ///
    /// # Safety
    ///
    /// The bucket must have one.
    unsafe fn take(&mut self, index: usize) -> NodeBox<V> {
        // SAFETY: the caller vouches for the bucket; the node is nobody's from now on.
        let node = unsafe { NodeBox::from_raw(self.raw.erase(index)) };
        self.tally.erase(true, 1, || mix_bytes(NodeBox::key(&node)));
        node
    }

    /// The value of a key.
    #[inline]
    pub fn get(&self, key: &S) -> Option<&V> {
        // SAFETY: the node is live while the map is borrowed.
        self.node(key)
            .map(|node| unsafe { NodeBox::value(node).as_ref() })
    }

    /// The value of a key.
    #[inline]
    pub fn get_mut(&mut self, key: &S) -> Option<&mut V> {
        // SAFETY: the node is live while the map is borrowed, exclusively.
        self.node(key)
            .map(|node| unsafe { NodeBox::value(node).as_mut() })
    }

    /// The stored key, at its lasting address, and the value.
    pub fn get_key_value(&self, key: &S) -> Option<(&S, &V)> {
        // SAFETY: the node is live while the map is borrowed, and its bytes are those of a key.
        self.node(key).map(|node| unsafe {
            (
                S::from_bytes(Head::key(node)),
                NodeBox::value(node).as_ref(),
            )
        })
    }

    /// The stored key as C has strings, unless it is missing or has a zero byte in it.
    ///
    /// ```
    /// let map = oriole_collections::StringMap::from([("name", 1)]);
    /// assert_eq!(map.c_str("name"), Some(c"name"));
    /// ```
    pub fn c_str(&self, key: &S) -> Option<&CStr> {
        let node = self.node(key)?;
        // SAFETY: the node is live while the map is borrowed.
        CStr::from_bytes_with_nul(unsafe { Head::key_with_nul(node) }).ok()
    }

    /// Whether the key is present.
    #[inline]
    pub fn contains_key(&self, key: &S) -> bool {
        self.node(key).is_some()
    }

    /// The entry of a key, for looking and changing with one probe.
    pub fn entry<'a, 'k>(&'a mut self, key: &'k S) -> Entry<'a, 'k, V, S, T> {
        match self.find_or_vacant(key) {
            // SAFETY: the bucket was just found, and the map stays borrowed.
            Ok(index) => Entry::Occupied(unsafe { OccupiedEntry::new(self, index) }),
            // SAFETY: the vacancy was just found for this key, and the map stays borrowed.
            Err(vacant) => Entry::Vacant(unsafe { VacantEntry::new(self, vacant, key) }),
        }
    }

    /// Stores a value and returns the one it replaced.
    pub fn insert(&mut self, key: &S, value: V) -> Option<V> {
        match self.entry(key) {
            Entry::Occupied(mut entry) => Some(entry.insert(value)),
            Entry::Vacant(entry) => {
                entry.insert(value);
                None
            }
        }
    }

    /// The value of a key, made by `make` when missing.
    pub fn get_or_insert_with(&mut self, key: &S, make: impl FnOnce() -> V) -> &mut V {
        self.entry(key).or_insert_with(make)
    }

    /// Removes a key and returns its value. Other entries stay at their addresses.
    pub fn remove(&mut self, key: &S) -> Option<V> {
        match self.raw.find_or_vacant(key.bytes()) {
            // SAFETY: the bucket was just found.
            Ok(index) => Some(unsafe { self.take(index) }.into_value()),
            Err(_) => {
                let Self { raw, tally, .. } = self;
                tally.find(false, || raw.probes(key.bytes()), || mix_bytes(key.bytes()));
                None
            }
        }
    }

    /// Removes a key; whether it was present.
    pub fn erase(&mut self, key: &S) -> bool {
        self.remove(key).is_some()
    }

    /// Keeps the entries for which `keep` is true, in one pass.
    pub fn retain(&mut self, mut keep: impl FnMut(&S, &mut V) -> bool) {
        let (start, buckets) = (self.raw.scan_start(), self.raw.bucket_count());
        let mut step = 0;
        while step < buckets {
            let index = (start + step) & (buckets - 1);
            let Some(node) = self.raw.node_at(index) else {
                step += 1;
                continue;
            };
            // SAFETY: the node is live and the map borrowed exclusively.
            let kept = unsafe {
                let key = S::from_bytes(Head::key(node));
                keep(key, NodeBox::value(node).as_mut())
            };
            if kept {
                step += 1;
            } else {
                // Another entry may move here, so the bucket is looked at once more.
                // SAFETY: the bucket has the node. The table is whole again before the node is dropped.
                drop(unsafe { self.take(index) });
            }
        }
    }

    /// Removes the entries for which `remove` is true, in one pass, and returns how many there were.
    pub fn remove_if(&mut self, mut remove: impl FnMut(&S, &mut V) -> bool) -> usize {
        let before = self.len();
        self.retain(|key, value| !remove(key, value));
        before - self.len()
    }

    /// Removes every entry; keeps the buckets.
    pub fn clear(&mut self) {
        self.tally.clear();
        // The map has no entries any more while destructors run.
        let mut raw = core::mem::replace(&mut self.raw, T::EMPTY);
        drop_nodes::<V, T>(&raw);
        raw.forget_all();
        self.raw = raw;
    }

    /// Every entry by ascending key.
    pub fn iter_sorted(&self) -> alloc::vec::IntoIter<(&S, &V)> {
        let mut entries: Vec<(&S, &V)> = self.iter_unordered().collect();
        entries.sort_unstable_by_key(|entry| entry.0);
        entries.into_iter()
    }
}

impl<V, S: StringKey + ?Sized, T: RawStrings> Drop for Strings<V, S, T> {
    fn drop(&mut self) {
        drop_nodes::<V, T>(&core::mem::replace(&mut self.raw, T::EMPTY));
    }
}

impl<V, S: StringKey + ?Sized, T: RawStrings> Default for Strings<V, S, T> {
    #[track_caller]
    fn default() -> Self {
        Self::new()
    }
}

impl<V: Clone, S: StringKey + ?Sized, T: RawStrings> Clone for Strings<V, S, T> {
    #[track_caller]
    fn clone(&self) -> Self {
        let mut copy = Self::with_capacity(self.len());
        for (key, value) in self.iter_unordered() {
            copy.insert(key, value.clone());
        }
        copy
    }
}

impl<V: PartialEq, S: StringKey + ?Sized, T: RawStrings> PartialEq for Strings<V, S, T> {
    fn eq(&self, other: &Self) -> bool {
        self.len() == other.len()
            && self
                .iter_unordered()
                .all(|(key, value)| other.get(key) == Some(value))
    }
}

impl<V: Eq, S: StringKey + ?Sized, T: RawStrings> Eq for Strings<V, S, T> {}

impl<V: fmt::Debug, S: StringKey + ?Sized, T: RawStrings> fmt::Debug for Strings<V, S, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter_sorted()).finish()
    }
}

impl<K: AsRef<S>, V, S: StringKey + ?Sized, T: RawStrings> Extend<(K, V)> for Strings<V, S, T> {
    fn extend<I: IntoIterator<Item = (K, V)>>(&mut self, entries: I) {
        for (key, value) in entries {
            self.insert(key.as_ref(), value);
        }
    }
}

impl<K: AsRef<S>, V, S: StringKey + ?Sized, T: RawStrings> FromIterator<(K, V)>
    for Strings<V, S, T>
{
    #[track_caller]
    fn from_iter<I: IntoIterator<Item = (K, V)>>(entries: I) -> Self {
        let mut map = Self::new();
        map.extend(entries);
        map
    }
}

impl<K: AsRef<S>, V, S: StringKey + ?Sized, T: RawStrings, const N: usize> From<[(K, V); N]>
    for Strings<V, S, T>
{
    #[track_caller]
    fn from(entries: [(K, V); N]) -> Self {
        entries.into_iter().collect()
    }
}

impl<V, S: StringKey + ?Sized, T: RawStrings> Index<&S> for Strings<V, S, T> {
    type Output = V;

    #[track_caller]
    fn index(&self, key: &S) -> &V {
        self.get(key).expect("no entry for the key")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{StringMap, StringSet};

    #[test]
    fn hash_is_the_low_half_of_xxh3() {
        // XXH3-64 of nothing is 0x2D06800538D394C2.
        assert_eq!(string_hash(b""), 0x38D3_94C2);
    }

    #[test]
    fn entries_stay_put_over_growth_and_erasure() {
        let mut map = StringMap::new();
        map.insert("stay", 1u64);
        let before = map.get_key_value("stay").map(|(key, _)| key.as_ptr());
        let count = if cfg!(miri) { 100 } else { 1000 };
        for number in 0..count {
            map.insert(&format!("name{number}"), number);
        }
        for number in 0..count {
            assert_eq!(map.remove(&format!("name{number}")), Some(number));
        }
        assert_eq!(
            map.get_key_value("stay").map(|(key, _)| key.as_ptr()),
            before
        );
        assert_eq!(map.len(), 1);
    }

    #[test]
    fn values_are_dropped_once() {
        use std::rc::Rc;
        let witness = Rc::new(());
        let mut map: StringMap<Rc<()>> =
            (0..40).map(|n| (n.to_string(), witness.clone())).collect();
        assert_eq!(Rc::strong_count(&witness), 41);
        map.insert("7", witness.clone());
        drop(map.remove("8"));
        map.remove_if(|key, _| key.len() == 1);
        assert_eq!(Rc::strong_count(&witness), 1 + map.len());
        drop(map);
        assert_eq!(Rc::strong_count(&witness), 1);
    }

    #[test]
    fn set_of_strings() {
        let mut set: StringSet = ["b", "a", "", "b"].into_iter().collect();
        assert_eq!(set.iter_sorted().collect::<Vec<_>>(), ["", "a", "b"]);
        assert!(!set.insert("a") && set.remove("a") && set.insert("a"));
        assert_eq!(set.remove_if(str::is_empty), 1);
        assert_eq!(format!("{set:?}"), r#"{"a", "b"}"#);
    }
}
