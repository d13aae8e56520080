//! `hashbrown`'s table behind this crate's API, to measure a whole program with it: `--cfg oriole_tables="hashbrown"`.
//!
//! Keys are hashed by this crate's mixers, which cost what Fx does: a multiplication and a rotation. Not part of any other build.

use crate::raw::{Found, RawTable, Slot, TryReserveError, Vacant};
use crate::{DenseKey, Lookup};
use core::ptr::NonNull;
use hashbrown::HashTable;

crate::raw::aliases!("hashbrown");

/// The table.
pub struct Table<K, V>(HashTable<Slot<K, V>>);

/// Iterator over the entries' addresses, gathered first.
pub struct RawIter<T>(alloc::vec::IntoIter<NonNull<T>>);

impl<T> Clone for RawIter<T> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<T> Iterator for RawIter<T> {
    type Item = NonNull<T>;

    fn next(&mut self) -> Option<NonNull<T>> {
        self.0.next()
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.0.size_hint()
    }
}

// SAFETY: pointers come from hashbrown's references to its entries.
unsafe impl<K, V> RawTable<K, V> for Table<K, V> {
    const EMPTY: Self = Self(HashTable::new());
    const NAME: &'static str = "hashbrown";
    type RawIter = RawIter<Slot<K, V>>;

    #[inline]
    fn len(&self) -> usize {
        self.0.len()
    }

    fn bucket_count(&self) -> usize {
        self.0.num_buckets().next_power_of_two() & !1
    }

    fn capacity(&self) -> usize {
        self.0.capacity()
    }

    fn allocated_bytes(&self) -> usize {
        self.0.allocation_size()
    }

    #[inline]
    fn find<Q: Lookup<K> + ?Sized>(&self, query: &Q) -> Option<NonNull<Slot<K, V>>>
    where
        K: DenseKey,
    {
        if self.0.is_empty() {
            return None;
        }
        let found = self
            .0
            .find(query.lookup_mix(), |slot| query.matches(&slot.key));
        found.map(NonNull::from)
    }

    fn probes<Q: Lookup<K> + ?Sized>(&self, _: &Q) -> usize
    where
        K: DenseKey,
    {
        1
    }

    #[inline]
    fn find_or_vacant<Q: Lookup<K> + ?Sized>(&mut self, query: &Q) -> Found<K, V>
    where
        K: DenseKey,
    {
        let hash = query.lookup_mix();
        match self.0.find_mut(hash, |slot| query.matches(&slot.key)) {
            Some(slot) => Ok(NonNull::from(slot)),
            None => Err(Vacant { hash, index: 0 }),
        }
    }

    #[inline]
    unsafe fn occupy(&mut self, vacant: Vacant, slot: Slot<K, V>) -> NonNull<Slot<K, V>>
    where
        K: DenseKey,
    {
        let entry = self
            .0
            .insert_unique(vacant.hash, slot, |slot| slot.key.mix());
        NonNull::from(entry.into_mut())
    }

    #[inline]
    unsafe fn erase(&mut self, at: NonNull<Slot<K, V>>, _: impl FnMut(&K, &mut V)) -> Slot<K, V>
    where
        K: DenseKey,
    {
        // SAFETY: the caller vouches for the slot.
        let hash = unsafe { at.as_ref() }.key.mix();
        match self
            .0
            .find_entry(hash, |slot| core::ptr::eq(slot, at.as_ptr()))
        {
            Ok(entry) => entry.remove().0,
            Err(_) => unreachable!("the hash of a key has changed"),
        }
    }

    fn retain(&mut self, mut keep: impl FnMut(&K, &mut V) -> bool)
    where
        K: DenseKey,
    {
        self.0.retain(|slot| keep(&slot.key, &mut slot.value));
    }

    fn reset(&mut self) {
        // The entries have been moved out.
        let capacity = self.0.capacity();
        let old = core::mem::replace(self, Self::EMPTY);
        old.free_forgetting();
        self.0 = HashTable::with_capacity(capacity);
    }

    fn try_reserve(&mut self, additional: usize) -> Result<(), TryReserveError>
    where
        K: DenseKey,
    {
        self.0
            .try_reserve(additional, |slot| slot.key.mix())
            .map_err(|_| TryReserveError::CapacityOverflow)
    }

    fn shrink_to(&mut self, capacity: usize)
    where
        K: DenseKey,
    {
        self.0.shrink_to(capacity, |slot| slot.key.mix());
    }

    fn raw_iter(&self) -> RawIter<Slot<K, V>> {
        let slots: alloc::vec::Vec<_> = self.0.iter().map(NonNull::from).collect();
        RawIter(slots.into_iter())
    }

    /// In linear time: hashbrown says which bucket an entry is in only to those who can hash it, and the compiler asks nowhere.
    fn position(&self, slot: NonNull<Slot<K, V>>) -> usize {
        self.0
            .iter_buckets()
            .find(|&index| self.at(index) == Some(slot))
            .expect("a slot of this table")
    }

    fn at(&self, position: usize) -> Option<NonNull<Slot<K, V>>> {
        self.0.get_bucket(position).map(NonNull::from)
    }

    fn free_forgetting(self) {
        // The standard way to free without dropping: the slots become ones without a destructor.
        let slots = self.0.into_iter();
        for slot in slots {
            core::mem::forget(slot);
        }
    }

    fn clear(&mut self) {
        self.0.clear();
    }

    fn duplicate(&self) -> Self
    where
        K: DenseKey + Clone,
        V: Clone,
    {
        Self(self.0.clone())
    }
}
