//! `StringMap` and `StringSet`: tables of strings whose entries stay put.
//!
//! Each entry is one heap node that holds the value and the bytes of its key; a bucket is a pointer to it, and a parallel
//! array holds the low 32 bits of each key's XXH3 hash, compared before the bytes. Linear probing, load at most 3/4,
//! Algorithm R on erase: only bucket pointers move, so references to entries outlive other insertions and erasures.

use crate::key::mix_bytes;
use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::fmt;
use std::marker::PhantomData;
use std::ptr::NonNull;

/// First number of buckets.
const FIRST_BUCKETS: usize = 16;

/// The low half of the key's XXH3, which is what tables store and compare.
#[inline]
pub(crate) fn string_hash(key: &str) -> u32 {
    mix_bytes(key.as_bytes()) as u32
}

/// The head of a heap node; the key's bytes follow it.
#[repr(C)]
pub(crate) struct Node<V> {
    value: V,
    length: usize,
}

/// An owning pointer to a node.
pub(crate) struct NodeBox<V>(pub(crate) NonNull<Node<V>>);

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

/// A map from strings.
pub struct StringMap<V> {
    /// Occupied where `Some`; a power of two of them, or none.
    buckets: Box<[Option<NonNull<Node<V>>>]>,
    /// The hash of each occupied bucket.
    hashes: Box<[u32]>,
    len: usize,
    owned: PhantomData<Node<V>>,
}

// SAFETY: the map owns its nodes exclusively, like a `Vec<Box<(String, V)>>`.
unsafe impl<V: Send> Send for StringMap<V> {}
// SAFETY: shared access only reads the nodes.
unsafe impl<V: Sync> Sync for StringMap<V> {}

impl<V> StringMap<V> {
    /// An empty map; allocates nothing.
    pub fn new() -> Self {
        Self {
            buckets: Box::new([]),
            hashes: Box::new([]),
            len: 0,
            owned: PhantomData,
        }
    }

    /// Number of entries.
    #[inline]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Number of buckets.
    pub fn bucket_count(&self) -> usize {
        self.buckets.len()
    }

    /// The bucket of a key, or else the unused one where it would go (meaningless when there are no buckets).
    #[inline]
    fn probe(&self, hash: u32, key: &str) -> Result<usize, usize> {
        if self.buckets.is_empty() {
            return Err(0);
        }
        let mask = self.buckets.len() - 1;
        let mut index = hash as usize & mask;
        loop {
            let Some(node) = self.buckets[index] else {
                return Err(index);
            };
            // SAFETY: a node in a bucket is live.
            if self.hashes[index] == hash && unsafe { NodeBox::key(node) } == key {
                return Ok(index);
            }
            index = (index + 1) & mask;
        }
    }

    #[inline]
    fn node(&self, key: &str) -> Option<NonNull<Node<V>>> {
        self.probe(string_hash(key), key)
            .ok()
            .and_then(|index| self.buckets[index])
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
        match self.probe(hash, key) {
            Ok(index) => {
                let node = self.buckets[index].expect("probe found an entry");
                // SAFETY: the node is live and the map borrowed exclusively.
                Some(std::mem::replace(
                    unsafe { NodeBox::value_mut(node) },
                    value,
                ))
            }
            Err(index) => {
                self.insert_at(index, hash, key, value);
                None
            }
        }
    }

    /// The value of a key, made by `make` when missing.
    pub fn get_or_insert_with(&mut self, key: &str, make: impl FnOnce() -> V) -> &mut V {
        let hash = string_hash(key);
        let node = match self.probe(hash, key) {
            Ok(index) => self.buckets[index].expect("probe found an entry"),
            Err(index) => self.insert_at(index, hash, key, make()),
        };
        // SAFETY: the node is live and the map borrowed exclusively.
        unsafe { NodeBox::value_mut(node) }
    }

    fn insert_at(&mut self, index: usize, hash: u32, key: &str, value: V) -> NonNull<Node<V>> {
        let mut index = index;
        if (self.len + 1) * 4 > self.buckets.len() * 3 {
            self.rehash((self.buckets.len() * 2).max(FIRST_BUCKETS));
            index = self.first_unused(hash);
        }
        let node = NodeBox::new(key, value);
        let pointer = node.0;
        std::mem::forget(node);
        self.buckets[index] = Some(pointer);
        self.hashes[index] = hash;
        self.len += 1;
        pointer
    }

    fn first_unused(&self, hash: u32) -> usize {
        let mask = self.buckets.len() - 1;
        let mut index = hash as usize & mask;
        while self.buckets[index].is_some() {
            index = (index + 1) & mask;
        }
        index
    }

    #[cold]
    fn rehash(&mut self, buckets: usize) {
        let old_buckets = std::mem::replace(&mut self.buckets, vec![None; buckets].into());
        let old_hashes = std::mem::replace(&mut self.hashes, vec![0; buckets].into());
        for (node, &hash) in old_buckets.iter().zip(&old_hashes) {
            if node.is_some() {
                let index = self.first_unused(hash);
                self.buckets[index] = *node;
                self.hashes[index] = hash;
            }
        }
    }

    /// Makes room for `additional` more entries.
    pub fn reserve(&mut self, additional: usize) {
        let buckets = ((self.len + additional) * 4)
            .div_ceil(3)
            .next_power_of_two()
            .max(FIRST_BUCKETS);
        if buckets > self.buckets.len() {
            self.rehash(buckets);
        }
    }

    /// Removes a key and returns its value. Other entries stay at their addresses.
    pub fn remove(&mut self, key: &str) -> Option<V> {
        let mut hole = self.probe(string_hash(key), key).ok()?;
        let node = self.buckets[hole].take()?;
        self.len -= 1;
        let mask = self.buckets.len() - 1;
        let mut index = (hole + 1) & mask;
        while self.buckets[index].is_some() {
            let home = self.hashes[index] as usize & mask;
            if index.wrapping_sub(home) & mask >= index.wrapping_sub(hole) & mask {
                self.buckets[hole] = self.buckets[index].take();
                self.hashes[hole] = self.hashes[index];
                hole = index;
            }
            index = (index + 1) & mask;
        }
        Some(NodeBox(node).into_value())
    }

    /// Removes a key; whether it was present.
    pub fn erase(&mut self, key: &str) -> bool {
        self.remove(key).is_some()
    }

    /// Keeps the entries for which `keep` is true, in one pass.
    pub fn retain(&mut self, mut keep: impl FnMut(&str, &mut V) -> bool) {
        if self.len == 0 {
            return;
        }
        let mask = self.buckets.len() - 1;
        let start = (0..=mask)
            .find(|&index| self.buckets[index].is_none())
            .expect("the load limit leaves an unused bucket");
        let mut removed_in_run = false;
        for step in 1..=mask {
            let index = (start + step) & mask;
            let Some(node) = self.buckets[index] else {
                removed_in_run = false;
                continue;
            };
            // SAFETY: the node is live and the map borrowed exclusively.
            if !unsafe { keep(NodeBox::key(node), NodeBox::value_mut(node)) } {
                self.buckets[index] = None;
                self.len -= 1;
                removed_in_run = true;
                drop(NodeBox(node));
            } else if removed_in_run {
                self.buckets[index] = None;
                let hash = self.hashes[index];
                let target = self.first_unused(hash);
                self.buckets[target] = Some(node);
                self.hashes[target] = hash;
            }
        }
    }

    /// Removes the entries for which `remove` is true, in one pass, and returns how many there were.
    pub fn remove_if(&mut self, mut remove: impl FnMut(&str, &mut V) -> bool) -> usize {
        let before = self.len;
        self.retain(|key, value| !remove(key, value));
        before - self.len
    }

    /// Removes every entry; keeps the buckets.
    pub fn clear(&mut self) {
        self.len = 0;
        for bucket in &mut self.buckets {
            if let Some(node) = bucket.take() {
                drop(NodeBox(node));
            }
        }
    }

    fn nodes(&self) -> impl Iterator<Item = NonNull<Node<V>>> {
        self.buckets.iter().filter_map(|bucket| *bucket)
    }

    /// Every entry, in bucket order.
    pub fn iter_unordered(&self) -> impl Iterator<Item = (&str, &V)> {
        // SAFETY: the nodes are live while the map is borrowed.
        self.nodes()
            .map(|node| unsafe { (NodeBox::key(node), NodeBox::value(node)) })
    }

    /// Every entry with its value mutable, in bucket order.
    pub fn iter_mut_unordered(&mut self) -> impl Iterator<Item = (&str, &mut V)> {
        // SAFETY: the nodes are live while the map is borrowed, exclusively, and each is met once.
        self.nodes()
            .map(|node| unsafe { (NodeBox::key(node), NodeBox::value_mut(node)) })
    }

    /// Every entry by ascending key.
    pub fn iter_sorted(&self) -> std::vec::IntoIter<(&str, &V)> {
        let mut entries: Vec<(&str, &V)> = self.iter_unordered().collect();
        entries.sort_unstable_by_key(|entry| entry.0);
        entries.into_iter()
    }
}

impl<V> Drop for StringMap<V> {
    fn drop(&mut self) {
        self.clear();
    }
}

impl<V> Default for StringMap<V> {
    fn default() -> Self {
        Self::new()
    }
}

impl<V: Clone> Clone for StringMap<V> {
    fn clone(&self) -> Self {
        self.iter_unordered()
            .map(|(key, value)| (key, value.clone()))
            .collect()
    }
}

impl<V: PartialEq> PartialEq for StringMap<V> {
    fn eq(&self, other: &Self) -> bool {
        self.len == other.len
            && self
                .iter_unordered()
                .all(|(key, value)| other.get(key) == Some(value))
    }
}

impl<V: Eq> Eq for StringMap<V> {}

impl<V: fmt::Debug> fmt::Debug for StringMap<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter_sorted()).finish()
    }
}

impl<S: AsRef<str>, V> Extend<(S, V)> for StringMap<V> {
    fn extend<I: IntoIterator<Item = (S, V)>>(&mut self, entries: I) {
        for (key, value) in entries {
            self.insert(key.as_ref(), value);
        }
    }
}

impl<S: AsRef<str>, V> FromIterator<(S, V)> for StringMap<V> {
    fn from_iter<I: IntoIterator<Item = (S, V)>>(entries: I) -> Self {
        let mut map = Self::new();
        map.extend(entries);
        map
    }
}

/// A set of strings whose entries stay put.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct StringSet {
    map: StringMap<()>,
}

impl StringSet {
    /// An empty set.
    pub fn new() -> Self {
        Self::default()
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

impl fmt::Debug for StringSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter_sorted()).finish()
    }
}

impl<S: AsRef<str>> Extend<S> for StringSet {
    fn extend<I: IntoIterator<Item = S>>(&mut self, keys: I) {
        for key in keys {
            self.insert(key.as_ref());
        }
    }
}

impl<S: AsRef<str>> FromIterator<S> for StringSet {
    fn from_iter<I: IntoIterator<Item = S>>(keys: I) -> Self {
        let mut set = Self::new();
        set.extend(keys);
        set
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
