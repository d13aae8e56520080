//! `ListPool`: many small lists of entities in one vector.
//!
//! An instruction's operands, a block's parameters, a branch's arguments: each is a list of a few entities, and most
//! never change. A list is a four-byte handle into a pool; storage comes in power-of-two size classes with free lists,
//! so a list that grows leaves its old block to the next one. The pool is freed at once.

use crate::Entity;
use alloc::vec::Vec;
use core::fmt;
use core::marker::PhantomData;

/// A list of entities stored in a [`ListPool`]; four bytes, and nothing while empty.
///
/// Copying a handle copies no elements: give each list one owner.
pub struct EntityList<E> {
    /// Position of the first element plus one; zero for the empty list. The length sits just before the first element.
    start: u32,
    entity: PhantomData<fn() -> E>,
}

/// The storage of many [`EntityList`]s.
#[derive(Clone)]
pub struct ListPool<E> {
    words: Vec<u32>,
    /// Head of the free blocks of each size class, plus one; zero when there is none.
    free: Vec<u32>,
    entity: PhantomData<fn(E) -> E>,
}

/// Words of a block of this class, the length word included.
const fn block_words(class: usize) -> usize {
    4 << class
}

fn class_for(length: usize) -> usize {
    // The least class whose block holds the elements and their count: 3, 7, 15, …
    (length + 1).next_power_of_two().max(4).trailing_zeros() as usize - 2
}

impl<E: Entity> ListPool<E> {
    /// An empty pool.
    pub const fn new() -> Self {
        Self {
            words: Vec::new(),
            free: Vec::new(),
            entity: PhantomData,
        }
    }

    /// Frees every list; handles made before must not be used again.
    pub fn clear(&mut self) {
        let Self {
            words,
            free,
            entity: _,
        } = self;
        words.clear();
        free.clear();
    }

    /// Words in use or on a free list.
    pub fn allocated_words(&self) -> usize {
        self.words.len()
    }

    fn take_block(&mut self, class: usize) -> usize {
        if let Some(head) = self.free.get_mut(class)
            && *head != 0
        {
            let block = *head as usize - 1;
            *head = self.words[block];
            return block;
        }
        let block = self.words.len();
        assert!(
            block + block_words(class) < u32::MAX as usize,
            "list pool is full"
        );
        self.words.resize(block + block_words(class), 0);
        block
    }

    fn give_block(&mut self, class: usize, block: usize) {
        if self.free.len() <= class {
            self.free.resize(class + 1, 0);
        }
        self.words[block] = self.free[class];
        self.free[class] = block as u32 + 1;
    }
}

impl<E: Entity> EntityList<E> {
    /// The empty list.
    pub const fn new() -> Self {
        Self {
            start: 0,
            entity: PhantomData,
        }
    }

    /// A list of these entities.
    pub fn from_slice(entities: &[E], pool: &mut ListPool<E>) -> Self {
        let mut list = Self::new();
        list.extend(entities.iter().copied(), pool);
        list
    }

    /// A list of these entities.
    pub fn from_iter(entities: impl IntoIterator<Item = E>, pool: &mut ListPool<E>) -> Self {
        let mut list = Self::new();
        list.extend(entities, pool);
        list
    }

    /// Whether there are no elements; needs no pool.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.start == 0
    }

    /// Number of elements.
    #[inline]
    pub fn len(&self, pool: &ListPool<E>) -> usize {
        match self.start {
            0 => 0,
            start => pool.words[start as usize - 1] as usize,
        }
    }

    /// The element at a position.
    #[inline]
    pub fn get(&self, position: usize, pool: &ListPool<E>) -> Option<E> {
        (position < self.len(pool))
            .then(|| E::from_index(pool.words[self.start as usize + position] as usize))
    }

    /// The first element.
    #[inline]
    pub fn first(&self, pool: &ListPool<E>) -> Option<E> {
        self.get(0, pool)
    }

    /// The elements in order.
    #[inline]
    pub fn iter<'a>(
        &self,
        pool: &'a ListPool<E>,
    ) -> impl DoubleEndedIterator<Item = E> + ExactSizeIterator + Clone + use<'a, E> {
        let start = self.start as usize;
        pool.words[start..start + self.len(pool)]
            .iter()
            .map(|&word| E::from_index(word as usize))
    }

    /// Replaces the element at a position; panics when it is out of range.
    #[inline]
    #[track_caller]
    pub fn set(&self, position: usize, entity: E, pool: &mut ListPool<E>) {
        assert!(position < self.len(pool), "position out of range");
        pool.words[self.start as usize + position] = entity.index() as u32;
    }

    /// Adds an element at the end and returns its position.
    pub fn push(&mut self, entity: E, pool: &mut ListPool<E>) -> usize {
        let length = self.len(pool);
        self.set_length(length, length + 1, pool);
        pool.words[self.start as usize + length] = entity.index() as u32;
        length
    }

    /// Adds an element at a position, moving the later ones up.
    #[track_caller]
    pub fn insert(&mut self, position: usize, entity: E, pool: &mut ListPool<E>) {
        let length = self.len(pool);
        assert!(position <= length, "position out of range");
        self.set_length(length, length + 1, pool);
        let start = self.start as usize;
        pool.words
            .copy_within(start + position..start + length, start + position + 1);
        pool.words[start + position] = entity.index() as u32;
    }

    /// Removes the element at a position, moving the later ones down.
    #[track_caller]
    pub fn remove(&mut self, position: usize, pool: &mut ListPool<E>) -> E {
        let length = self.len(pool);
        assert!(position < length, "position out of range");
        let start = self.start as usize;
        let removed = E::from_index(pool.words[start + position] as usize);
        pool.words
            .copy_within(start + position + 1..start + length, start + position);
        self.set_length(length, length - 1, pool);
        removed
    }

    /// Keeps the first `length` elements.
    pub fn truncate(&mut self, length: usize, pool: &mut ListPool<E>) {
        let before = self.len(pool);
        if length < before {
            self.set_length(before, length, pool);
        }
    }

    /// Adds elements at the end.
    pub fn extend(&mut self, entities: impl IntoIterator<Item = E>, pool: &mut ListPool<E>) {
        for entity in entities {
            self.push(entity, pool);
        }
    }

    /// Keeps the elements for which `keep` is true.
    pub fn retain(&mut self, mut keep: impl FnMut(E) -> bool, pool: &mut ListPool<E>) {
        let (start, length) = (self.start as usize, self.len(pool));
        let mut kept = 0;
        for position in 0..length {
            let word = pool.words[start + position];
            if keep(E::from_index(word as usize)) {
                pool.words[start + kept] = word;
                kept += 1;
            }
        }
        self.truncate(kept, pool);
    }

    /// Removes every element and gives the storage back to the pool.
    pub fn clear(&mut self, pool: &mut ListPool<E>) {
        let length = self.len(pool);
        self.set_length(length, 0, pool);
    }

    /// A second list with the same elements.
    pub fn deep_clone(&self, pool: &mut ListPool<E>) -> Self {
        let length = self.len(pool);
        let mut copy = Self::new();
        copy.set_length(0, length, pool);
        let start = self.start as usize;
        pool.words
            .copy_within(start..start + length, copy.start as usize);
        copy
    }

    fn set_length(&mut self, from: usize, to: usize, pool: &mut ListPool<E>) {
        if to == 0 {
            if from != 0 {
                pool.give_block(class_for(from), self.start as usize - 1);
                self.start = 0;
            }
            return;
        }
        let old_class = (from != 0).then(|| class_for(from));
        if old_class != Some(class_for(to)) {
            let block = pool.take_block(class_for(to));
            if let Some(class) = old_class {
                let start = self.start as usize;
                pool.words
                    .copy_within(start..start + from.min(to), block + 1);
                pool.give_block(class, start - 1);
            }
            self.start = block as u32 + 1;
        }
        pool.words[self.start as usize - 1] = to as u32;
    }
}

impl<E> Clone for EntityList<E> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<E> Copy for EntityList<E> {}

impl<E: Entity> Default for EntityList<E> {
    fn default() -> Self {
        Self::new()
    }
}

impl<E> fmt::Debug for EntityList<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "EntityList@{}", self.start)
    }
}

impl<E: Entity> Default for ListPool<E> {
    fn default() -> Self {
        Self::new()
    }
}

impl<E> fmt::Debug for ListPool<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ListPool({} words)", self.words.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    crate::entity! {
        struct Value = "v";
    }

    #[test]
    fn a_handle_is_four_bytes_and_an_empty_list_takes_no_storage() {
        assert_eq!(size_of::<EntityList<Value>>(), 4);
        let pool = ListPool::<Value>::new();
        let list = EntityList::<Value>::new();
        assert!(list.is_empty());
        assert_eq!(list.len(&pool), 0);
        assert_eq!(list.iter(&pool).count(), 0);
    }

    #[test]
    fn freed_blocks_are_used_again() {
        let mut pool = ListPool::<Value>::new();
        let mut first = EntityList::from_iter((0..7).map(Value::from_index), &mut pool);
        let words = pool.allocated_words();
        first.clear(&mut pool);
        let second = EntityList::from_iter((0..7).map(Value::from_index), &mut pool);
        assert_eq!(pool.allocated_words(), words);
        assert_eq!(second.len(&pool), 7);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 1 } else { 64 }))]
        #[test]
        fn lists_of_one_pool_do_not_disturb_each_other(
            steps in prop::collection::vec((0usize..6, 0usize..4, 0usize..50), 1..200)
        ) {
            let mut pool = ListPool::<Value>::new();
            let mut lists = [EntityList::<Value>::new(); 4];
            let mut models: [Vec<Value>; 4] = Default::default();
            for (operation, which, number) in steps {
                let (list, model) = (&mut lists[which], &mut models[which]);
                let value = Value::from_index(number);
                match operation {
                    0 | 1 => {
                        list.push(value, &mut pool);
                        model.push(value);
                    }
                    2 => {
                        let at = number % (model.len() + 1);
                        list.insert(at, value, &mut pool);
                        model.insert(at, value);
                    }
                    3 if !model.is_empty() => {
                        let at = number % model.len();
                        prop_assert_eq!(list.remove(at, &mut pool), model.remove(at));
                    }
                    4 => {
                        list.retain(|v| v.index() % 3 != 0, &mut pool);
                        model.retain(|v| v.index() % 3 != 0);
                    }
                    _ => {
                        let copy = list.deep_clone(&mut pool);
                        list.clear(&mut pool);
                        *list = copy;
                    }
                }
                for (list, model) in lists.iter().zip(&models) {
                    prop_assert_eq!(list.iter(&pool).collect::<Vec<_>>(), model.clone());
                }
            }
        }
    }
}
