//! `IndexVec`: a vector indexed by an entity instead of a number.
//!
//! The primary map from an entity to its data: pushing makes the next entity. With [`IndexVec::ensure`] it also serves
//! as a secondary map that grows on demand with a default value.

use crate::Entity;
use alloc::vec;
use alloc::vec::Vec;
use core::fmt;
use core::marker::PhantomData;
use core::ops::{Index, IndexMut};

/// A vector whose index type is the entity `K`.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct IndexVec<K, V> {
    items: Vec<V>,
    key: PhantomData<fn(K) -> K>,
}

impl<K: Entity, V> IndexVec<K, V> {
    /// An empty vector.
    pub const fn new() -> Self {
        Self {
            items: Vec::new(),
            key: PhantomData,
        }
    }

    /// An empty vector with room for `capacity` items.
    pub fn with_capacity(capacity: usize) -> Self {
        Self::from_vec(Vec::with_capacity(capacity))
    }

    /// The items in order become those of entities 0, 1, 2, …
    pub fn from_vec(items: Vec<V>) -> Self {
        Self {
            items,
            key: PhantomData,
        }
    }

    /// `count` copies of `value`.
    pub fn from_elem(value: V, count: usize) -> Self
    where
        V: Clone,
    {
        Self::from_vec(vec![value; count])
    }

    /// Number of items.
    #[inline]
    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// Whether there are none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// The entity the next [`push`](Self::push) will return.
    #[inline]
    pub fn next_key(&self) -> K {
        K::from_index(self.items.len())
    }

    /// Appends an item and returns its entity.
    #[inline]
    pub fn push(&mut self, value: V) -> K {
        let key = self.next_key();
        self.items.push(value);
        key
    }

    /// Removes the last item.
    pub fn pop(&mut self) -> Option<V> {
        self.items.pop()
    }

    /// The item, when the entity is in range.
    #[inline]
    pub fn get(&self, key: K) -> Option<&V> {
        self.items.get(key.index())
    }

    /// The item, when the entity is in range.
    #[inline]
    pub fn get_mut(&mut self, key: K) -> Option<&mut V> {
        self.items.get_mut(key.index())
    }

    /// Two different items at once; panics when the entities are equal or out of range.
    #[track_caller]
    pub fn get_two_mut(&mut self, a: K, b: K) -> (&mut V, &mut V) {
        let (a, b) = (a.index(), b.index());
        assert!(a != b, "the two entities are the same");
        if a < b {
            let (low, high) = self.items.split_at_mut(b);
            (&mut low[a], &mut high[0])
        } else {
            let (low, high) = self.items.split_at_mut(a);
            (&mut high[0], &mut low[b])
        }
    }

    /// Whether the entity is in range.
    #[inline]
    pub fn contains_key(&self, key: K) -> bool {
        key.index() < self.items.len()
    }

    /// Grows with clones of `fill` until `key` is in range, then returns its item.
    #[inline]
    pub fn ensure(&mut self, key: K, fill: V) -> &mut V
    where
        V: Clone,
    {
        let index = key.index();
        if index >= self.items.len() {
            self.items.resize(index + 1, fill);
        }
        &mut self.items[index]
    }

    /// Makes the length `count`, filling with clones of `fill`.
    pub fn resize(&mut self, count: usize, fill: V)
    where
        V: Clone,
    {
        self.items.resize(count, fill);
    }

    /// Removes every item from `count` on.
    pub fn truncate(&mut self, count: usize) {
        self.items.truncate(count);
    }

    /// Removes every item.
    pub fn clear(&mut self) {
        self.items.clear();
    }

    /// Makes room for `additional` more items.
    pub fn reserve(&mut self, additional: usize) {
        if self.items.is_empty() && self.items.capacity() < additional {
            // To grow what is there would move all of it, though there is nothing in it.
            self.items = Vec::with_capacity(additional);
        } else {
            self.items.reserve(additional);
        }
    }

    /// Makes room for `additional` more items, and no more.
    pub fn reserve_exact(&mut self, additional: usize) {
        self.items.reserve_exact(additional);
    }

    /// Sees that there is an entity for each item, once for all of them.
    #[inline]
    #[track_caller]
    fn check_length(&self) {
        let most = u32::MAX as usize;
        assert!(self.items.len() <= most, "entity index out of range");
    }

    /// Every entity in order.
    #[inline]
    pub fn keys(&self) -> Keys<K> {
        self.check_length();
        Keys {
            next: 0,
            end: self.items.len(),
            key: PhantomData,
        }
    }

    /// Every item in order.
    #[inline]
    pub fn values(&self) -> core::slice::Iter<'_, V> {
        self.items.iter()
    }

    /// Every item in order.
    #[inline]
    pub fn values_mut(&mut self) -> core::slice::IterMut<'_, V> {
        self.items.iter_mut()
    }

    /// Every entity with its item, in order.
    #[inline]
    pub fn iter(
        &self,
    ) -> impl DoubleEndedIterator<Item = (K, &V)> + ExactSizeIterator + Clone + use<'_, K, V> {
        self.check_length();
        self.items
            .iter()
            .enumerate()
            .map(|(index, item)| (K::from_fitting_index(index), item))
    }

    /// Every entity with its item, in order.
    #[inline]
    pub fn iter_mut(
        &mut self,
    ) -> impl DoubleEndedIterator<Item = (K, &mut V)> + ExactSizeIterator + use<'_, K, V> {
        self.check_length();
        self.items
            .iter_mut()
            .enumerate()
            .map(|(index, item)| (K::from_fitting_index(index), item))
    }

    /// The items as a slice.
    #[inline]
    pub fn as_slice(&self) -> &[V] {
        &self.items
    }

    /// The items as a slice.
    #[inline]
    pub fn as_mut_slice(&mut self) -> &mut [V] {
        &mut self.items
    }

    /// The items as a vector.
    pub fn into_vec(self) -> Vec<V> {
        self.items
    }
}

/// Iterator over the entities of an [`IndexVec`].
#[derive(Clone, Debug)]
pub struct Keys<K> {
    next: usize,
    end: usize,
    key: PhantomData<fn() -> K>,
}

impl<K: Entity> Iterator for Keys<K> {
    type Item = K;

    #[inline]
    fn next(&mut self) -> Option<K> {
        (self.next < self.end).then(|| {
            self.next += 1;
            K::from_fitting_index(self.next - 1)
        })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.end - self.next, Some(self.end - self.next))
    }
}

impl<K: Entity> DoubleEndedIterator for Keys<K> {
    #[inline]
    fn next_back(&mut self) -> Option<K> {
        (self.next < self.end).then(|| {
            self.end -= 1;
            K::from_fitting_index(self.end)
        })
    }
}

impl<K: Entity> ExactSizeIterator for Keys<K> {}

impl<K: Entity, V> Default for IndexVec<K, V> {
    fn default() -> Self {
        Self::new()
    }
}

impl<K: Entity, V> Index<K> for IndexVec<K, V> {
    type Output = V;

    #[inline]
    #[track_caller]
    fn index(&self, key: K) -> &V {
        &self.items[key.index()]
    }
}

impl<K: Entity, V> IndexMut<K> for IndexVec<K, V> {
    #[inline]
    #[track_caller]
    fn index_mut(&mut self, key: K) -> &mut V {
        &mut self.items[key.index()]
    }
}

impl<K: Entity, V: fmt::Debug> fmt::Debug for IndexVec<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

impl<K: Entity, V> FromIterator<V> for IndexVec<K, V> {
    fn from_iter<I: IntoIterator<Item = V>>(items: I) -> Self {
        Self::from_vec(items.into_iter().collect())
    }
}

impl<K: Entity, V> Extend<V> for IndexVec<K, V> {
    fn extend<I: IntoIterator<Item = V>>(&mut self, items: I) {
        self.items.extend(items);
    }
}

impl<'a, K: Entity, V> IntoIterator for &'a IndexVec<K, V> {
    type Item = &'a V;
    type IntoIter = core::slice::Iter<'a, V>;

    fn into_iter(self) -> Self::IntoIter {
        self.items.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    crate::entity! {
        struct Value = "v";
    }

    #[test]
    fn push_makes_consecutive_entities() {
        let mut values = IndexVec::<Value, &str>::new();
        let a = values.push("a");
        let b = values.push("b");
        assert_eq!((a.index(), b.index()), (0, 1));
        assert_eq!(values[b], "b");
        assert_eq!(values.get(Value::from_index(2)), None);
        assert_eq!(values.keys().rev().collect::<Vec<_>>(), [b, a]);
        assert_eq!(format!("{values:?}"), r#"{v0: "a", v1: "b"}"#);
    }

    #[test]
    fn ensure_fills_the_gap() {
        let mut marks = IndexVec::<Value, u8>::new();
        *marks.ensure(Value::from_index(3), 7) += 1;
        assert_eq!(marks.as_slice(), [7, 7, 7, 8]);
    }

    #[test]
    fn two_items_at_once() {
        let mut values: IndexVec<Value, u32> = (0..4).collect();
        let (x, y) = values.get_two_mut(Value::from_index(3), Value::from_index(1));
        std::mem::swap(x, y);
        assert_eq!(values.into_vec(), [0, 3, 2, 1]);
    }
}
