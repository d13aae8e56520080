//! The iterators of a set.

use super::Set;
use crate::DenseKey;
use crate::map;
use crate::raw::RawTable;
use core::fmt;
use core::iter::FusedIterator;

/// Iterator of [`Set::iter`].
pub struct Iter<'a, K, T: RawTable<K, ()>>(pub(super) map::Keys<'a, K, (), T>);

/// Owning iterator over a set's keys, in bucket order.
pub struct IntoIter<K, T: RawTable<K, ()>>(map::IntoKeys<K, (), T>);

/// Iterator of [`Set::drain`].
pub struct Drain<'a, K, T: RawTable<K, ()>>(pub(super) map::Drain<'a, K, (), T>);

/// Iterator of [`Set::extract_if`].
pub struct ExtractIf<'a, K, T, F> {
    set: map::ExtractIf<'a, K, (), T, ()>,
    take: F,
}

impl<K, T: RawTable<K, ()>> Clone for Iter<'_, K, T> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<'a, K, T: RawTable<K, ()>> Iterator for Iter<'a, K, T> {
    type Item = &'a K;

    #[inline]
    fn next(&mut self) -> Option<&'a K> {
        self.0.next()
    }

    #[inline]
    fn fold<B, F: FnMut(B, Self::Item) -> B>(self, initial: B, f: F) -> B {
        self.0.fold(initial, f)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.0.size_hint()
    }
}

impl<K, T: RawTable<K, ()>> Iterator for IntoIter<K, T> {
    type Item = K;

    #[inline]
    fn next(&mut self) -> Option<K> {
        self.0.next()
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.0.size_hint()
    }
}

impl<K, T: RawTable<K, ()>> Iterator for Drain<'_, K, T> {
    type Item = K;

    #[inline]
    fn next(&mut self) -> Option<K> {
        self.0.next().map(|(key, ())| key)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.0.size_hint()
    }
}

impl<'a, K, T: RawTable<K, ()>, F> ExtractIf<'a, K, T, F> {
    pub(super) fn new(set: &'a mut Set<K, T>, take: F) -> Self {
        Self {
            set: map::ExtractIf::new(&mut set.map, ()),
            take,
        }
    }
}

impl<K: DenseKey, T: RawTable<K, ()>, F: FnMut(&K) -> bool> Iterator for ExtractIf<'_, K, T, F> {
    type Item = K;

    fn next(&mut self) -> Option<K> {
        let take = &mut self.take;
        self.set
            .next_where(|key, ()| take(key))
            .map(|(key, ())| key)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.set.bounds()
    }
}

impl<K: DenseKey, T: RawTable<K, ()>, F: FnMut(&K) -> bool> FusedIterator
    for ExtractIf<'_, K, T, F>
{
}

impl<K, T, F> fmt::Debug for ExtractIf<'_, K, T, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ExtractIf").finish_non_exhaustive()
    }
}

impl<K, T: RawTable<K, ()>> ExactSizeIterator for Iter<'_, K, T> {}
impl<K, T: RawTable<K, ()>> ExactSizeIterator for IntoIter<K, T> {}
impl<K, T: RawTable<K, ()>> ExactSizeIterator for Drain<'_, K, T> {}
impl<K, T: RawTable<K, ()>> FusedIterator for Iter<'_, K, T> {}
impl<K, T: RawTable<K, ()>> FusedIterator for IntoIter<K, T> {}
impl<K, T: RawTable<K, ()>> FusedIterator for Drain<'_, K, T> {}

impl<K: fmt::Debug, T: RawTable<K, ()>> fmt::Debug for Iter<'_, K, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl<K: fmt::Debug, T: RawTable<K, ()>> fmt::Debug for IntoIter<K, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl<K: fmt::Debug, T: RawTable<K, ()>> fmt::Debug for Drain<'_, K, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl<K, T: RawTable<K, ()>> IntoIterator for Set<K, T> {
    type Item = K;
    type IntoIter = IntoIter<K, T>;

    fn into_iter(self) -> Self::IntoIter {
        IntoIter(self.map.into_keys())
    }
}

impl<'a, K, T: RawTable<K, ()>> IntoIterator for &'a Set<K, T> {
    type Item = &'a K;
    type IntoIter = Iter<'a, K, T>;

    #[inline]
    fn into_iter(self) -> Self::IntoIter {
        self.iter_unordered()
    }
}
