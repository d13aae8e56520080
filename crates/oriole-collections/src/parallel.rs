//! Parallel iterators with rayon.
//!
//! The entries' addresses are gathered first, which takes a small part of the time of any work worth spreading over threads.

use crate::DenseKey;
use crate::map::Map;
use crate::raw::RawTable;
use crate::set::Set;
use alloc::vec::Vec;
use rayon::iter::{FromParallelIterator, IntoParallelIterator, ParallelExtend, ParallelIterator};
use rayon::vec::IntoIter;

impl<'a, K: Sync, V: Sync, T: RawTable<K, V>> IntoParallelIterator for &'a Map<K, V, T> {
    type Item = (&'a K, &'a V);
    type Iter = IntoIter<(&'a K, &'a V)>;

    fn into_par_iter(self) -> Self::Iter {
        self.iter_unordered().collect::<Vec<_>>().into_par_iter()
    }
}

impl<'a, K: Sync, V: Send, T: RawTable<K, V>> IntoParallelIterator for &'a mut Map<K, V, T> {
    type Item = (&'a K, &'a mut V);
    type Iter = IntoIter<(&'a K, &'a mut V)>;

    fn into_par_iter(self) -> Self::Iter {
        self.iter_mut_unordered()
            .collect::<Vec<_>>()
            .into_par_iter()
    }
}

impl<K: Send, V: Send, T: RawTable<K, V>> IntoParallelIterator for Map<K, V, T> {
    type Item = (K, V);
    type Iter = IntoIter<(K, V)>;

    fn into_par_iter(self) -> Self::Iter {
        self.into_iter().collect::<Vec<_>>().into_par_iter()
    }
}

impl<'a, K: Sync, T: RawTable<K, ()>> IntoParallelIterator for &'a Set<K, T> {
    type Item = &'a K;
    type Iter = IntoIter<&'a K>;

    fn into_par_iter(self) -> Self::Iter {
        self.iter_unordered().collect::<Vec<_>>().into_par_iter()
    }
}

impl<K: Send, T: RawTable<K, ()>> IntoParallelIterator for Set<K, T> {
    type Item = K;
    type Iter = IntoIter<K>;

    fn into_par_iter(self) -> Self::Iter {
        self.into_iter().collect::<Vec<_>>().into_par_iter()
    }
}

impl<K: DenseKey + Send, V: Send, T: RawTable<K, V> + Send> ParallelExtend<(K, V)>
    for Map<K, V, T>
{
    fn par_extend<I: IntoParallelIterator<Item = (K, V)>>(&mut self, entries: I) {
        self.extend(entries.into_par_iter().collect::<Vec<_>>());
    }
}

impl<K: DenseKey + Send, V: Send, T: RawTable<K, V> + Send> FromParallelIterator<(K, V)>
    for Map<K, V, T>
{
    fn from_par_iter<I: IntoParallelIterator<Item = (K, V)>>(entries: I) -> Self {
        let entries: Vec<_> = entries.into_par_iter().collect();
        entries.into_iter().collect()
    }
}

impl<K: DenseKey + Send, T: RawTable<K, ()> + Send> ParallelExtend<K> for Set<K, T> {
    fn par_extend<I: IntoParallelIterator<Item = K>>(&mut self, keys: I) {
        self.extend(keys.into_par_iter().collect::<Vec<_>>());
    }
}

impl<K: DenseKey + Send, T: RawTable<K, ()> + Send> FromParallelIterator<K> for Set<K, T> {
    fn from_par_iter<I: IntoParallelIterator<Item = K>>(keys: I) -> Self {
        let keys: Vec<_> = keys.into_par_iter().collect();
        keys.into_iter().collect()
    }
}
