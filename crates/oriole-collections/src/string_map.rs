//! `StringMap` and `StringSet`: tables of strings whose entries stay put.
//!
//! Each entry is one heap node that holds the value and the bytes of its key; a bucket is a pointer to it, and a parallel
//! array holds the low 32 bits of each key's XXH3 hash, compared before the bytes. This file has the nodes and the public
//! face; the designs are in [`string_linear`](crate::string_linear) and [`classic`](crate::classic). In both only bucket
//! pointers move, so an entry stays at its address until it is erased.

use crate::instrument::{Description, Tally};
use crate::key::mix_bytes;
use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::fmt;
use std::marker::PhantomData;
use std::ptr::NonNull;

/// The low half of the key's XXH3, which is what tables store and compare.
#[inline]
pub(crate) fn string_hash(key: &str) -> u32 {
    mix_bytes(key.as_bytes()) as u32
}

/// The head of a heap node; the key's bytes follow it. Only designs deal in nodes.
#[repr(C)]
pub struct Node<V> {
    value: V,
    length: usize,
}

/// An owning pointer to a node.
pub struct NodeBox<V>(pub(crate) NonNull<Node<V>>);

impl<V> NodeBox<V> {
    fn layout(length: usize) -> (Layout, usize) {
        let bytes = Layout::array::<u8>(length).expect("string too long");
        Layout::new::<Node<V>>()
            .extend(bytes)
            .expect("string too long")
    }

    pub(crate) fn new(key: &str, value: V) -> Self {
        let (layout, offset) = Self::layout(key.len());
        // SAFETY: the layout holds at least the length word, so it is not empty.
        let Some(node) = NonNull::new(unsafe { alloc(layout) }) else {
            handle_alloc_error(layout)
        };
        // SAFETY: the allocation holds the head and, from `offset` on, the bytes of the key.
        unsafe {
            node.cast::<Node<V>>().write(Node {
                value,
                length: key.len(),
            });
            node.add(offset)
                .copy_from_nonoverlapping(NonNull::from(key.as_bytes()).cast(), key.len());
        }
        Self(node.cast())
    }

    /// The key of a live node.
    ///
    /// # Safety
    ///
    /// The node must be live for `'a`.
    #[inline]
    pub(crate) unsafe fn key<'a>(node: NonNull<Node<V>>) -> &'a str {
        // SAFETY: the node is live; its bytes were copied from a `str` and never change. They follow the head directly,
        // because bytes need no alignment.
        unsafe {
            let bytes = node.as_ptr().add(1).cast::<u8>();
            std::str::from_utf8_unchecked(std::slice::from_raw_parts(
                bytes,
                (*node.as_ptr()).length,
            ))
        }
    }

    /// The value of a live node.
    ///
    /// # Safety
    ///
    /// The node must be live for `'a`.
    #[inline]
    pub(crate) unsafe fn value<'a>(node: NonNull<Node<V>>) -> &'a V {
        // SAFETY: the caller vouches for the node.
        unsafe { &(*node.as_ptr()).value }
    }

    /// The value of a live node.
    ///
    /// # Safety
    ///
    /// The node must be live for `'a` and nothing else may refer to its value.
    #[inline]
    pub(crate) unsafe fn value_mut<'a>(node: NonNull<Node<V>>) -> &'a mut V {
        // SAFETY: the caller vouches for the node.
        unsafe { &mut (*node.as_ptr()).value }
    }

    pub(crate) fn into_value(self) -> V {
        let node = self.0;
        std::mem::forget(self);
        // SAFETY: the node is owned; its value is read once and its memory freed with the layout it was made with.
        unsafe {
            let layout = Self::layout((*node.as_ptr()).length).0;
            let value = node.read().value;
            dealloc(node.as_ptr().cast(), layout);
            value
        }
    }
}

impl<V> Drop for NodeBox<V> {
    fn drop(&mut self) {
        // SAFETY: the node is owned, live, and freed with the layout it was made with.
        unsafe {
            let layout = Self::layout((*self.0.as_ptr()).length).0;
            self.0.drop_in_place();
            dealloc(self.0.as_ptr().cast(), layout);
        }
    }
}

/// A design of string table.
///
/// # Safety
///
/// `find` and `nodes` must return nodes that the table owns and that are live until it is next changed, and `nodes` must
/// return each once. The table must drop the nodes it owns.
#[allow(clippy::len_without_is_empty)] // not an API for users
pub unsafe trait RawStrings<V>: Sized {
    /// Short name of the design, for reports.
    const NAME: &'static str;
    /// A table without an allocation.
    fn new() -> Self;
    /// Number of entries.
    fn len(&self) -> usize;
    /// Number of buckets.
    fn bucket_count(&self) -> usize;
    /// Bytes of the buckets and hashes, without the nodes.
    fn allocated_bytes(&self) -> usize;
    /// The node of a key.
    fn find(&self, hash: u32, key: &str) -> Option<NonNull<Node<V>>>;
    /// How many buckets a lookup inspects; only for reports.
    fn probes(&self, hash: u32, key: &str) -> usize;
    /// Stores a node whose key is not present.
    fn insert(&mut self, hash: u32, node: NodeBox<V>) -> NonNull<Node<V>>;
    /// Takes the node of a key out.
    fn remove(&mut self, hash: u32, key: &str) -> Option<NodeBox<V>>;
    /// Removes in one pass every entry for which `keep` is false.
    fn retain(&mut self, keep: impl FnMut(&str, &mut V) -> bool);
    /// Makes room for `additional` more entries.
    fn reserve(&mut self, additional: usize);
    /// Removes every entry; keeps the buckets.
    fn clear(&mut self);
    /// Every node, in bucket order.
    fn nodes(&self) -> impl Iterator<Item = NonNull<Node<V>>>;
}

/// A map from strings over the design `T`; use it through an alias such as [`StringMap`](crate::StringMap).
pub struct Strings<V, T> {
    raw: T,
    tally: Tally,
    values: PhantomData<V>,
}

fn describe<V, T: RawStrings<V>>() -> Description {
    Description {
        kind: "StringMap",
        design: T::NAME,
        key: "str",
        value: std::any::type_name::<V>(),
        key_bytes: 0,
        value_bytes: size_of::<V>(),
    }
}

impl<V, T: RawStrings<V>> Strings<V, T> {
    /// An empty map; allocates nothing.
    #[track_caller]
    pub fn new() -> Self {
        Self {
            raw: T::new(),
            tally: Tally::new(describe::<V, T>),
            values: PhantomData,
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

    /// Number of buckets.
    pub fn bucket_count(&self) -> usize {
        self.raw.bucket_count()
    }

    /// Bytes of the buckets and hashes, without the entries.
    pub fn allocated_bytes(&self) -> usize {
        self.raw.allocated_bytes()
    }

    #[inline]
    fn node(&self, key: &str) -> Option<NonNull<Node<V>>> {
        self.node_hashed(string_hash(key), key)
    }

    #[inline]
    fn node_hashed(&self, hash: u32, key: &str) -> Option<NonNull<Node<V>>> {
        let found = self.raw.find(hash, key);
        self.tally.find(
            found.is_some(),
            || self.raw.probes(hash, key),
            || u64::from(hash),
        );
        found
    }

    /// As `node_hashed`, for a lookup whose miss will count as an insertion.
    #[inline]
    fn node_hashed_or_absent(&self, hash: u32, key: &str) -> Option<NonNull<Node<V>>> {
        let found = self.raw.find(hash, key);
        if found.is_some() {
            self.tally
                .find(true, || self.raw.probes(hash, key), || u64::from(hash));
        }
        found
    }

    fn add(&mut self, hash: u32, key: &str, value: V) -> NonNull<Node<V>> {
        let probes = self.tally.measure(|| self.raw.probes(hash, key));
        let buckets = self.raw.bucket_count();
        let node = self.raw.insert(hash, NodeBox::new(key, value));
        self.tally.insert(
            probes,
            || u64::from(hash),
            self.raw.bucket_count() != buckets,
            || self.raw.allocated_bytes(),
        );
        node
    }

    /// The value of a key.
    #[inline]
    pub fn get(&self, key: &str) -> Option<&V> {
        // SAFETY: the node is live while the map is borrowed.
        self.node(key).map(|node| unsafe { NodeBox::value(node) })
    }

    /// The value of a key.
    #[inline]
    pub fn get_mut(&mut self, key: &str) -> Option<&mut V> {
        // SAFETY: the node is live while the map is borrowed, exclusively.
        self.node(key)
            .map(|node| unsafe { NodeBox::value_mut(node) })
    }

    /// The stored key, at its lasting address, and the value.
    pub fn get_key_value(&self, key: &str) -> Option<(&str, &V)> {
        // SAFETY: the node is live while the map is borrowed.
        self.node(key)
            .map(|node| unsafe { (NodeBox::key(node), NodeBox::value(node)) })
    }

    /// Whether the key is present.
    #[inline]
    pub fn contains_key(&self, key: &str) -> bool {
        self.node(key).is_some()
    }

    /// Stores a value and returns the one it replaced.
    pub fn insert(&mut self, key: &str, value: V) -> Option<V> {
        let hash = string_hash(key);
        if let Some(node) = self.node_hashed_or_absent(hash, key) {
            // SAFETY: the node is live and the map borrowed exclusively.
            let slot = unsafe { NodeBox::value_mut(node) };
            return Some(std::mem::replace(slot, value));
        }
        self.add(hash, key, value);
        None
    }

    /// The value of a key, made by `make` when missing.
    pub fn get_or_insert_with(&mut self, key: &str, make: impl FnOnce() -> V) -> &mut V {
        let hash = string_hash(key);
        let node = match self.raw.find(hash, key) {
            Some(node) => node,
            None => self.raw.insert(hash, NodeBox::new(key, make())),
        };
        // SAFETY: the node is live and the map borrowed exclusively.
        unsafe { NodeBox::value_mut(node) }
    }

    /// Makes room for `additional` more entries.
    pub fn reserve(&mut self, additional: usize) {
        self.raw.reserve(additional);
    }

    /// Removes a key and returns its value. Other entries stay at their addresses.
    pub fn remove(&mut self, key: &str) -> Option<V> {
        let hash = string_hash(key);
        let probes = self.tally.measure(|| self.raw.probes(hash, key));
        let removed = self.raw.remove(hash, key);
        self.tally
            .erase(removed.is_some(), probes, || u64::from(hash));
        removed.map(NodeBox::into_value)
    }

    /// Removes a key; whether it was present.
    pub fn erase(&mut self, key: &str) -> bool {
        self.remove(key).is_some()
    }

    /// Keeps the entries for which `keep` is true, in one pass.
    pub fn retain(&mut self, keep: impl FnMut(&str, &mut V) -> bool) {
        self.raw.retain(keep);
    }

    /// Removes the entries for which `remove` is true, in one pass, and returns how many there were.
    pub fn remove_if(&mut self, mut remove: impl FnMut(&str, &mut V) -> bool) -> usize {
        let before = self.len();
        self.retain(|key, value| !remove(key, value));
        before - self.len()
    }

    /// Removes every entry; keeps the buckets.
    pub fn clear(&mut self) {
        self.raw.clear();
    }

    /// Every entry, in bucket order.
    pub fn iter_unordered(&self) -> impl Iterator<Item = (&str, &V)> {
        // SAFETY: the nodes are live while the map is borrowed.
        self.raw
            .nodes()
            .map(|node| unsafe { (NodeBox::key(node), NodeBox::value(node)) })
    }

    /// Every entry with its value mutable, in bucket order.
    pub fn iter_mut_unordered(&mut self) -> impl Iterator<Item = (&str, &mut V)> {
        // SAFETY: the nodes are live while the map is borrowed, exclusively, and each is met once.
        self.raw
            .nodes()
            .map(|node| unsafe { (NodeBox::key(node), NodeBox::value_mut(node)) })
    }

    /// Every entry by ascending key.
    pub fn iter_sorted(&self) -> std::vec::IntoIter<(&str, &V)> {
        let mut entries: Vec<(&str, &V)> = self.iter_unordered().collect();
        entries.sort_unstable_by_key(|entry| entry.0);
        entries.into_iter()
    }
}

impl<V, T: RawStrings<V>> Default for Strings<V, T> {
    #[track_caller]
    fn default() -> Self {
        Self::new()
    }
}

impl<V: Clone, T: RawStrings<V>> Clone for Strings<V, T> {
    fn clone(&self) -> Self {
        self.iter_unordered()
            .map(|(key, value)| (key, value.clone()))
            .collect()
    }
}

impl<V: PartialEq, T: RawStrings<V>> PartialEq for Strings<V, T> {
    fn eq(&self, other: &Self) -> bool {
        self.len() == other.len()
            && self
                .iter_unordered()
                .all(|(key, value)| other.get(key) == Some(value))
    }
}

impl<V: Eq, T: RawStrings<V>> Eq for Strings<V, T> {}

impl<V: fmt::Debug, T: RawStrings<V>> fmt::Debug for Strings<V, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter_sorted()).finish()
    }
}

impl<S: AsRef<str>, V, T: RawStrings<V>> Extend<(S, V)> for Strings<V, T> {
    fn extend<I: IntoIterator<Item = (S, V)>>(&mut self, entries: I) {
        for (key, value) in entries {
            self.insert(key.as_ref(), value);
        }
    }
}

impl<S: AsRef<str>, V, T: RawStrings<V>> FromIterator<(S, V)> for Strings<V, T> {
    fn from_iter<I: IntoIterator<Item = (S, V)>>(entries: I) -> Self {
        let mut map = Self::new();
        map.extend(entries);
        map
    }
}

/// A set of strings over the design `T`; use it through an alias such as [`StringSet`](crate::StringSet).
pub struct StringKeys<T> {
    map: Strings<(), T>,
}

impl<T: RawStrings<()>> Default for StringKeys<T> {
    #[track_caller]
    fn default() -> Self {
        Self::new()
    }
}

impl<T: RawStrings<()>> Clone for StringKeys<T> {
    fn clone(&self) -> Self {
        Self {
            map: self.map.clone(),
        }
    }
}

impl<T: RawStrings<()>> PartialEq for StringKeys<T> {
    fn eq(&self, other: &Self) -> bool {
        self.map == other.map
    }
}

impl<T: RawStrings<()>> Eq for StringKeys<T> {}

impl<T: RawStrings<()>> StringKeys<T> {
    /// An empty set.
    #[track_caller]
    pub fn new() -> Self {
        Self {
            map: Strings::new(),
        }
    }

    /// Number of strings.
    pub fn len(&self) -> usize {
        self.map.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.map.is_empty()
    }

    /// Whether the string is present.
    pub fn contains(&self, key: &str) -> bool {
        self.map.contains_key(key)
    }

    /// Adds a string; whether it was missing.
    pub fn insert(&mut self, key: &str) -> bool {
        let before = self.map.len();
        self.map.get_or_insert_with(key, || ());
        self.map.len() != before
    }

    /// Removes a string; whether it was present.
    pub fn remove(&mut self, key: &str) -> bool {
        self.map.erase(key)
    }

    /// Removes the strings for which `remove` is true, in one pass, and returns how many there were.
    pub fn remove_if(&mut self, mut remove: impl FnMut(&str) -> bool) -> usize {
        self.map.remove_if(|key, ()| remove(key))
    }

    /// Every string, in bucket order.
    pub fn iter_unordered(&self) -> impl Iterator<Item = &str> {
        self.map.iter_unordered().map(|(key, ())| key)
    }

    /// Every string in ascending order.
    pub fn iter_sorted(&self) -> impl Iterator<Item = &str> {
        self.map.iter_sorted().map(|(key, ())| key)
    }

    /// Removes every string.
    pub fn clear(&mut self) {
        self.map.clear();
    }
}

impl<T: RawStrings<()>> fmt::Debug for StringKeys<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter_sorted()).finish()
    }
}

impl<S: AsRef<str>, T: RawStrings<()>> Extend<S> for StringKeys<T> {
    fn extend<I: IntoIterator<Item = S>>(&mut self, keys: I) {
        for key in keys {
            self.insert(key.as_ref());
        }
    }
}

impl<S: AsRef<str>, T: RawStrings<()>> FromIterator<S> for StringKeys<T> {
    fn from_iter<I: IntoIterator<Item = S>>(keys: I) -> Self {
        let mut set = Self::new();
        set.extend(keys);
        set
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{StringMap, StringSet};

    #[test]
    fn hash_is_the_low_half_of_xxh3() {
        // XXH3-64 of nothing is 0x2D06800538D394C2.
        assert_eq!(string_hash(""), 0x38D3_94C2);
    }

    #[test]
    fn entries_stay_put_over_growth_and_erasure() {
        let mut map = StringMap::new();
        map.insert("stay", 1u64);
        let before = map.get_key_value("stay").map(|(key, _)| key.as_ptr());
        for number in 0..1000 {
            map.insert(&format!("name{number}"), number);
        }
        for number in 0..1000 {
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
