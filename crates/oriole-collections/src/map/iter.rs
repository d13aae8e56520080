//! The iterators of a map.

use super::Map;
use crate::DenseKey;
use crate::raw::{RawTable, Slot, Unowned, drop_all};
use core::fmt;
use core::iter::FusedIterator;
use core::marker::PhantomData;
use core::mem::replace;

/// Iterator of [`Map::iter`].
pub struct Iter<'a, K, V, T: RawTable<K, V>> {
    raw: T::RawIter,
    borrow: PhantomData<&'a (K, V)>,
}

/// Iterator of [`Map::iter_mut`].
pub struct IterMut<'a, K, V, T: RawTable<K, V>> {
    raw: T::RawIter,
    borrow: PhantomData<&'a mut (K, V)>,
}

/// Owning iterator, in bucket order.
pub struct IntoIter<K, V, T: RawTable<K, V>> {
    raw: T::RawIter,
    /// Its entries are those that `raw` still yields. Freed after them, whether their destructors panic or not.
    _table: Unowned<K, V, T>,
}

/// Iterator of [`Map::drain`].
pub struct Drain<'a, K, V, T: RawTable<K, V>> {
    raw: T::RawIter,
    /// Its entries are those that `raw` still yields; gone once it has been given back.
    table: Option<Unowned<K, V, T>>,
    /// Empty as long as the iterator lives, and when it is forgotten.
    map: &'a mut T,
}

/// Iterator of [`Map::extract_if`].
pub struct ExtractIf<'a, K, V, T, F> {
    map: &'a mut Map<K, V, T>,
    start: usize,
    step: usize,
    take: F,
}

// SAFETY: the iterator is pointers into a table that is borrowed for `'a`, as a slice iterator is.
unsafe impl<K: Sync, V: Sync, T: RawTable<K, V>> Send for Iter<'_, K, V, T> {}
// SAFETY: as above.
unsafe impl<K: Sync, V: Sync, T: RawTable<K, V>> Sync for Iter<'_, K, V, T> {}
// SAFETY: as above; the borrow is exclusive.
unsafe impl<K: Send, V: Send, T: RawTable<K, V>> Send for IterMut<'_, K, V, T> {}
// SAFETY: as above; a shared iterator yields nothing.
unsafe impl<K: Sync, V: Sync, T: RawTable<K, V>> Sync for IterMut<'_, K, V, T> {}
// SAFETY: the iterator owns the entries and the table.
unsafe impl<K: Send, V: Send, T: RawTable<K, V> + Send> Send for IntoIter<K, V, T> {}
// SAFETY: as above.
unsafe impl<K: Sync, V: Sync, T: RawTable<K, V> + Sync> Sync for IntoIter<K, V, T> {}
// SAFETY: the iterator owns the entries and the table.
unsafe impl<K: Send, V: Send, T: RawTable<K, V> + Send> Send for Drain<'_, K, V, T> {}
// SAFETY: as above.
unsafe impl<K: Sync, V: Sync, T: RawTable<K, V> + Sync> Sync for Drain<'_, K, V, T> {}

impl<K, V, T: RawTable<K, V>> Iter<'_, K, V, T> {
    #[inline]
    pub(super) fn new(table: &T) -> Self {
        Self {
            raw: table.raw_iter(),
            borrow: PhantomData,
        }
    }
}

impl<K, V, T: RawTable<K, V>> IterMut<'_, K, V, T> {
    #[inline]
    pub(super) fn new(table: &mut T) -> Self {
        Self {
            raw: table.raw_iter(),
            borrow: PhantomData,
        }
    }

    /// What is still to come, shared.
    fn rest(&self) -> Iter<'_, K, V, T> {
        Iter {
            raw: self.raw.clone(),
            borrow: PhantomData,
        }
    }
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
    fn fold<B, F: FnMut(B, Self::Item) -> B>(self, initial: B, mut f: F) -> B {
        self.raw.fold(initial, |folded, slot| {
            // SAFETY: as in `next`.
            let Slot { key, value } = unsafe { slot.as_ref() };
            f(folded, (key, value))
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

    #[inline]
    fn fold<B, F: FnMut(B, Self::Item) -> B>(self, initial: B, mut f: F) -> B {
        self.raw.fold(initial, |folded, mut slot| {
            // SAFETY: as in `next`.
            let Slot { key, value } = unsafe { slot.as_mut() };
            f(folded, (key, value))
        })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.raw.size_hint()
    }
}

impl<K, V, T: RawTable<K, V>> IntoIter<K, V, T> {
    pub(super) fn new(table: T) -> Self {
        Self {
            raw: table.raw_iter(),
            _table: Unowned::new(table),
        }
    }

    fn rest(&self) -> Iter<'_, K, V, T> {
        Iter {
            raw: self.raw.clone(),
            borrow: PhantomData,
        }
    }
}

/// Iterates over the entries of a table that does not drop its slots any more.
macro_rules! owning_iterator {
    ($iterator:ty) => {
        impl<K, V, T: RawTable<K, V>> Iterator for $iterator {
            type Item = (K, V);

            #[inline]
            fn next(&mut self) -> Option<Self::Item> {
                let slot = self.raw.next()?;
                // SAFETY: each slot is yielded once, and the table is unowned: it drops none.
                let Slot { key, value } = unsafe { slot.read() };
                Some((key, value))
            }

            fn size_hint(&self) -> (usize, Option<usize>) {
                self.raw.size_hint()
            }
        }
    };
}

owning_iterator!(IntoIter<K, V, T>);

impl<K, V, T: RawTable<K, V>> Drop for IntoIter<K, V, T> {
    fn drop(&mut self) {
        if core::mem::needs_drop::<Slot<K, V>>() {
            // SAFETY: these slots were not yielded yet, and the table does not drop them.
            unsafe { drop_all(self.raw.by_ref()) };
        }
    }
}

impl<'a, K, V, T: RawTable<K, V>> Drain<'a, K, V, T> {
    pub(super) fn new(map: &'a mut T) -> Self {
        let table = replace(map, T::EMPTY);
        Self {
            raw: table.raw_iter(),
            table: Some(Unowned::new(table)),
            map,
        }
    }

    fn rest(&self) -> Iter<'_, K, V, T> {
        Iter {
            raw: self.raw.clone(),
            borrow: PhantomData,
        }
    }
}

owning_iterator!(Drain<'_, K, V, T>);

impl<K, V, T: RawTable<K, V>> Drop for Drain<'_, K, V, T> {
    fn drop(&mut self) {
        if core::mem::needs_drop::<Slot<K, V>>() {
            // SAFETY: these slots were not yielded yet, and the table is unowned: if a destructor panics, it is only freed.
            unsafe { drop_all(self.raw.by_ref()) };
        }
        if let Some(mut table) = self.table.take() {
            if table.table.bucket_count() != 0 {
                table.table.reset();
            }
            *self.map = table.into_inner();
        }
    }
}

impl<'a, K, V, T: RawTable<K, V>, F> ExtractIf<'a, K, V, T, F> {
    pub(crate) fn new(map: &'a mut Map<K, V, T>, take: F) -> Self {
        Self {
            start: map.raw.scan_start(),
            step: 0,
            map,
            take,
        }
    }
}

impl<K: DenseKey, V, T: RawTable<K, V>, F> ExtractIf<'_, K, V, T, F> {
    /// The next entry that is to be taken.
    pub(crate) fn next_where(
        &mut self,
        mut take: impl FnMut(&K, &mut V) -> bool,
    ) -> Option<(K, V)> {
        let buckets = self.map.raw.bucket_count();
        while self.step < buckets {
            let position = (self.start + self.step) & (buckets - 1);
            let Some(mut slot) = self.map.raw.at(position) else {
                self.step += 1;
                continue;
            };
            // SAFETY: the slot is an entry, and the map is borrowed exclusively.
            let Slot { key, value } = unsafe { slot.as_mut() };
            if !take(key, value) {
                self.step += 1;
                continue;
            }
            self.map.tally.erase(true, 1, || key.mix());
            // Another entry may move here, so the bucket is looked at once more.
            // SAFETY: the slot is an entry.
            let Slot { key, value } = unsafe { self.map.raw.erase(slot, |_, _| ()) };
            return Some((key, value));
        }
        None
    }

    pub(crate) fn bounds(&self) -> (usize, Option<usize>) {
        (0, Some(self.map.raw.len()))
    }
}

impl<K: DenseKey, V, T: RawTable<K, V>, F: FnMut(&K, &mut V) -> bool> Iterator
    for ExtractIf<'_, K, V, T, F>
{
    type Item = (K, V);

    fn next(&mut self) -> Option<(K, V)> {
        // The predicate is the iterator's own, so it is lent to the search.
        let Self {
            map,
            start,
            step,
            take,
        } = self;
        let mut search = ExtractIf {
            map,
            start: *start,
            step: *step,
            take: (),
        };
        let found = search.next_where(take);
        *step = search.step;
        found
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.bounds()
    }
}

impl<K, V, T, F> fmt::Debug for ExtractIf<'_, K, V, T, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ExtractIf").finish_non_exhaustive()
    }
}

/// Iterator of [`Map::keys`].
pub struct Keys<'a, K, V, T: RawTable<K, V>>(pub(super) Iter<'a, K, V, T>);

/// Iterator of [`Map::values`].
pub struct Values<'a, K, V, T: RawTable<K, V>>(pub(super) Iter<'a, K, V, T>);

/// Iterator of [`Map::values_mut`].
pub struct ValuesMut<'a, K, V, T: RawTable<K, V>>(pub(super) IterMut<'a, K, V, T>);

/// Iterator of [`Map::into_keys`].
pub struct IntoKeys<K, V, T: RawTable<K, V>>(pub(super) IntoIter<K, V, T>);

/// Iterator of [`Map::into_values`].
pub struct IntoValues<K, V, T: RawTable<K, V>>(pub(super) IntoIter<K, V, T>);

impl<K, V, T: RawTable<K, V>> Clone for Keys<'_, K, V, T> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<K, V, T: RawTable<K, V>> Clone for Values<'_, K, V, T> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

/// The key, once the value is dropped: nothing is on its way to the caller while a destructor runs.
fn into_key<K, V>((key, value): (K, V)) -> K {
    drop(value);
    key
}

/// The value, once the key is dropped.
fn into_value<K, V>((key, value): (K, V)) -> V {
    drop(key);
    value
}

macro_rules! parts {
    ($([$($lifetime:lifetime)?] $name:ident, $item:ty, $part:tt, $take:expr, |$rest:ident| $all:expr, $debug:ident;)*) => {$(
        impl<$($lifetime,)? K, V, T: RawTable<K, V>> Iterator for $name<$($lifetime,)? K, V, T> {
            type Item = $item;

            #[inline]
            fn next(&mut self) -> Option<$item> {
                self.0.next().map($take)
            }

            #[inline]
            fn fold<B, F: FnMut(B, $item) -> B>(self, initial: B, mut f: F) -> B {
                self.0.fold(initial, |folded, entry| f(folded, $take(entry)))
            }

            fn size_hint(&self) -> (usize, Option<usize>) {
                self.0.size_hint()
            }
        }

        impl<$($lifetime,)? K, V: , T: RawTable<K, V>> fmt::Debug for $name<$($lifetime,)? K, V, T>
        where
            $debug: fmt::Debug,
        {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                let $rest = self;
                f.debug_list().entries($all.map(|entry| entry.$part)).finish()
            }
        }
    )*};
}
parts! {
    ['a] Keys, &'a K, 0, |entry: (_, _)| entry.0, |this| this.0.clone(), K;
    ['a] Values, &'a V, 1, |entry: (_, _)| entry.1, |this| this.0.clone(), V;
    ['a] ValuesMut, &'a mut V, 1, |entry: (_, _)| entry.1, |this| this.0.rest(), V;
    [] IntoKeys, K, 0, into_key, |this| this.0.rest(), K;
    [] IntoValues, V, 1, into_value, |this| this.0.rest(), V;
}

macro_rules! exact {
    ($([$($lifetime:lifetime)?] $name:ident)*) => {$(
        impl<$($lifetime,)? K, V, T: RawTable<K, V>> ExactSizeIterator for $name<$($lifetime,)? K, V, T> {}
        impl<$($lifetime,)? K, V, T: RawTable<K, V>> FusedIterator for $name<$($lifetime,)? K, V, T> {}
    )*};
}
exact!(['a] Iter ['a] IterMut [] IntoIter ['a] Drain ['a] Keys ['a] Values ['a] ValuesMut [] IntoKeys [] IntoValues);

impl<K: DenseKey, V, T: RawTable<K, V>, F: FnMut(&K, &mut V) -> bool> FusedIterator
    for ExtractIf<'_, K, V, T, F>
{
}

macro_rules! debug_rest {
    ($([$($lifetime:lifetime)?] $name:ident, |$this:ident| $rest:expr;)*) => {$(
        impl<$($lifetime,)? K: fmt::Debug, V: fmt::Debug, T: RawTable<K, V>> fmt::Debug
            for $name<$($lifetime,)? K, V, T>
        {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                let $this = self;
                f.debug_list().entries($rest).finish()
            }
        }
    )*};
}
debug_rest! {
    ['a] Iter, |this| this.clone();
    ['a] IterMut, |this| this.rest();
    [] IntoIter, |this| this.rest();
    ['a] Drain, |this| this.rest();
}

impl<K, V, T: RawTable<K, V>> IntoIterator for Map<K, V, T> {
    type Item = (K, V);
    type IntoIter = IntoIter<K, V, T>;

    fn into_iter(self) -> Self::IntoIter {
        IntoIter::new(self.raw)
    }
}

impl<'a, K, V, T: RawTable<K, V>> IntoIterator for &'a Map<K, V, T> {
    type Item = (&'a K, &'a V);
    type IntoIter = Iter<'a, K, V, T>;

    #[inline]
    fn into_iter(self) -> Self::IntoIter {
        Iter::new(&self.raw)
    }
}

impl<'a, K, V, T: RawTable<K, V>> IntoIterator for &'a mut Map<K, V, T> {
    type Item = (&'a K, &'a mut V);
    type IntoIter = IterMut<'a, K, V, T>;

    #[inline]
    fn into_iter(self) -> Self::IntoIter {
        IterMut::new(&mut self.raw)
    }
}
