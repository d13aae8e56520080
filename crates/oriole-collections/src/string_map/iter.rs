//! The iterators of string tables.

use super::node::{Head, NodeBox};
use super::{RawStrings, StringKey, Strings};
use alloc::boxed::Box;
use core::fmt;
use core::iter::FusedIterator;
use core::marker::PhantomData;
use core::ptr::NonNull;

/// The nodes of a table from a bucket on.
struct Nodes<'a, T> {
    table: &'a T,
    index: usize,
    left: usize,
}

impl<T> Clone for Nodes<'_, T> {
    fn clone(&self) -> Self {
        Self { ..*self }
    }
}

impl<'a, T: RawStrings> Nodes<'a, T> {
    fn new(table: &'a T) -> Self {
        Self {
            table,
            index: 0,
            left: table.len(),
        }
    }

    #[inline]
    fn next(&mut self) -> Option<NonNull<Head>> {
        while self.left != 0 {
            self.index += 1;
            if let Some(node) = self.table.node_at(self.index - 1) {
                self.left -= 1;
                return Some(node);
            }
        }
        None
    }
}

/// Iterator of [`Strings::iter`].
pub struct Iter<'a, V, S: ?Sized, T> {
    nodes: Nodes<'a, T>,
    entries: PhantomData<(&'a V, &'a S)>,
}

/// Iterator of [`Strings::iter_mut`].
pub struct IterMut<'a, V, S: ?Sized, T> {
    nodes: Nodes<'a, T>,
    entries: PhantomData<(&'a mut V, &'a S)>,
}

/// Iterator of [`Strings::keys`].
pub struct Keys<'a, V, S: ?Sized, T>(Iter<'a, V, S, T>);

/// Iterator of [`Strings::values`].
pub struct Values<'a, V, S: ?Sized, T>(Iter<'a, V, S, T>);

/// Iterator of [`Strings::values_mut`].
pub struct ValuesMut<'a, V, S: ?Sized, T>(IterMut<'a, V, S, T>);

/// Iterator of [`Strings::drain`].
pub struct Drain<'a, V, S: ?Sized, T: RawStrings> {
    rest: IntoIter<V, S, T>,
    /// Empty as long as the iterator lives, and when it is forgotten.
    map: &'a mut T,
}

/// Owning iterator, in bucket order.
pub struct IntoIter<V, S: ?Sized, T: RawStrings> {
    /// Its nodes from `index` on are the iterator's.
    table: T,
    index: usize,
    left: usize,
    entries: PhantomData<(V, Box<S>)>,
}

// SAFETY: the iterator borrows the map.
unsafe impl<V: Sync, S: ?Sized, T> Send for Iter<'_, V, S, T> {}
// SAFETY: as above.
unsafe impl<V: Sync, S: ?Sized, T> Sync for Iter<'_, V, S, T> {}
// SAFETY: the iterator borrows the map exclusively.
unsafe impl<V: Send, S: ?Sized, T> Send for IterMut<'_, V, S, T> {}
// SAFETY: as above; a shared iterator yields nothing.
unsafe impl<V: Sync, S: ?Sized, T> Sync for IterMut<'_, V, S, T> {}
// SAFETY: the iterator owns its nodes.
unsafe impl<V: Send, S: ?Sized, T: RawStrings> Send for IntoIter<V, S, T> {}
// SAFETY: as above.
unsafe impl<V: Sync, S: ?Sized, T: RawStrings> Sync for IntoIter<V, S, T> {}

impl<V, S: ?Sized, T> Clone for Iter<'_, V, S, T> {
    fn clone(&self) -> Self {
        Self {
            nodes: self.nodes.clone(),
            entries: PhantomData,
        }
    }
}

impl<V, S: ?Sized, T> Clone for Keys<'_, V, S, T> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<V, S: ?Sized, T> Clone for Values<'_, V, S, T> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<'a, V, S: StringKey + ?Sized, T: RawStrings> Iterator for Iter<'a, V, S, T> {
    type Item = (&'a S, &'a V);

    fn next(&mut self) -> Option<Self::Item> {
        let node = self.nodes.next()?;
        // SAFETY: the node is live while the map is borrowed, and its bytes are those of a key.
        Some(unsafe {
            (
                S::from_bytes(Head::key(node)),
                NodeBox::value(node).as_ref(),
            )
        })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.nodes.left, Some(self.nodes.left))
    }
}

impl<'a, V, S: StringKey + ?Sized, T: RawStrings> Iterator for IterMut<'a, V, S, T> {
    type Item = (&'a S, &'a mut V);

    fn next(&mut self) -> Option<Self::Item> {
        let node = self.nodes.next()?;
        // SAFETY: the node is live while the map is borrowed, exclusively, and is met once.
        Some(unsafe {
            (
                S::from_bytes(Head::key(node)),
                NodeBox::value(node).as_mut(),
            )
        })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.nodes.left, Some(self.nodes.left))
    }
}

impl<'a, V, S: StringKey + ?Sized, T: RawStrings> Iterator for Keys<'a, V, S, T> {
    type Item = &'a S;

    fn next(&mut self) -> Option<&'a S> {
        self.0.next().map(|(key, _)| key)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.0.size_hint()
    }
}

impl<'a, V, S: StringKey + ?Sized, T: RawStrings> Iterator for Values<'a, V, S, T> {
    type Item = &'a V;

    fn next(&mut self) -> Option<&'a V> {
        self.0.next().map(|(_, value)| value)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.0.size_hint()
    }
}

impl<'a, V, S: StringKey + ?Sized, T: RawStrings> Iterator for ValuesMut<'a, V, S, T> {
    type Item = &'a mut V;

    fn next(&mut self) -> Option<&'a mut V> {
        self.0.next().map(|(_, value)| value)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.0.size_hint()
    }
}

impl<V, S: StringKey + ?Sized, T: RawStrings> Iterator for IntoIter<V, S, T> {
    type Item = (Box<S>, V);

    fn next(&mut self) -> Option<Self::Item> {
        while self.left != 0 {
            self.index += 1;
            if let Some(node) = self.table.node_at(self.index - 1) {
                self.left -= 1;
                // SAFETY: the node is the iterator's and met once.
                let node = unsafe { NodeBox::<V>::from_raw(node) };
                // SAFETY: the bytes are those of a key.
                let key = unsafe { S::from_bytes(node.key()) }.boxed();
                return Some((key, node.into_value()));
            }
        }
        None
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

impl<V, S: ?Sized, T: RawStrings> IntoIter<V, S, T> {
    /// Drops the nodes that were not yielded.
    fn drop_rest(&mut self) {
        struct Rest<'a, V, S: ?Sized, T: RawStrings>(&'a mut IntoIter<V, S, T>);

        impl<V, S: ?Sized, T: RawStrings> Rest<'_, V, S, T> {
            fn run(&mut self) {
                while self.0.left != 0 {
                    self.0.index += 1;
                    if let Some(node) = self.0.table.node_at(self.0.index - 1) {
                        self.0.left -= 1;
                        // SAFETY: the node is the iterator's and met once.
                        drop(unsafe { NodeBox::<V>::from_raw(node) });
                    }
                }
            }
        }

        impl<V, S: ?Sized, T: RawStrings> Drop for Rest<'_, V, S, T> {
            fn drop(&mut self) {
                self.run();
            }
        }

        Rest(self).run();
    }
}

impl<V, S: ?Sized, T: RawStrings> Drop for IntoIter<V, S, T> {
    fn drop(&mut self) {
        self.drop_rest();
    }
}

impl<V, S: StringKey + ?Sized, T: RawStrings> Iterator for Drain<'_, V, S, T> {
    type Item = (Box<S>, V);

    fn next(&mut self) -> Option<Self::Item> {
        self.rest.next()
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.rest.size_hint()
    }
}

impl<V, S: ?Sized, T: RawStrings> Drop for Drain<'_, V, S, T> {
    fn drop(&mut self) {
        self.rest.drop_rest();
        let mut table = core::mem::replace(&mut self.rest.table, T::EMPTY);
        table.forget_all();
        *self.map = table;
    }
}

macro_rules! exact {
    ($($name:ident)*) => {$(
        impl<V, S: StringKey + ?Sized, T: RawStrings> ExactSizeIterator for $name<'_, V, S, T> {}
        impl<V, S: StringKey + ?Sized, T: RawStrings> FusedIterator for $name<'_, V, S, T> {}
    )*};
}
exact!(Iter IterMut Keys Values ValuesMut Drain);
impl<V, S: StringKey + ?Sized, T: RawStrings> ExactSizeIterator for IntoIter<V, S, T> {}
impl<V, S: StringKey + ?Sized, T: RawStrings> FusedIterator for IntoIter<V, S, T> {}

impl<V: fmt::Debug, S: StringKey + ?Sized, T: RawStrings> fmt::Debug for Iter<'_, V, S, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.clone()).finish()
    }
}

impl<V, S: StringKey + ?Sized, T: RawStrings> fmt::Debug for Keys<'_, V, S, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.clone()).finish()
    }
}

impl<V: fmt::Debug, S: StringKey + ?Sized, T: RawStrings> fmt::Debug for Values<'_, V, S, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.clone()).finish()
    }
}

macro_rules! debug_count {
    ($($name:ty)*) => {$(
        impl<V, S: StringKey + ?Sized, T: RawStrings> fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{} left", self.size_hint().0)
            }
        }
    )*};
}
debug_count!(IterMut<'_, V, S, T> ValuesMut<'_, V, S, T> Drain<'_, V, S, T> IntoIter<V, S, T>);

impl<V, S: StringKey + ?Sized, T: RawStrings> Strings<V, S, T> {
    /// Every entry, in bucket order.
    pub fn iter(&self) -> Iter<'_, V, S, T> {
        Iter {
            nodes: Nodes::new(&self.raw),
            entries: PhantomData,
        }
    }

    /// Every entry, in bucket order; the same as [`Strings::iter`].
    pub fn iter_unordered(&self) -> Iter<'_, V, S, T> {
        Iter {
            nodes: Nodes::new(&self.raw),
            entries: PhantomData,
        }
    }

    /// Every entry with its value mutable, in bucket order.
    pub fn iter_mut(&mut self) -> IterMut<'_, V, S, T> {
        self.iter_mut_unordered()
    }

    /// Every entry with its value mutable, in bucket order; the same as [`Strings::iter_mut`].
    pub fn iter_mut_unordered(&mut self) -> IterMut<'_, V, S, T> {
        IterMut {
            nodes: Nodes::new(&self.raw),
            entries: PhantomData,
        }
    }

    /// Every key, in bucket order.
    pub fn keys(&self) -> Keys<'_, V, S, T> {
        Keys(self.iter_unordered())
    }

    /// Every value, in bucket order.
    pub fn values(&self) -> Values<'_, V, S, T> {
        Values(self.iter_unordered())
    }

    /// Every value, mutable, in bucket order.
    pub fn values_mut(&mut self) -> ValuesMut<'_, V, S, T> {
        ValuesMut(self.iter_mut_unordered())
    }

    /// Removes every entry and yields them with a copy of their keys, in bucket order. Entries that are not asked for are dropped
    /// with the iterator. When the iterator is forgotten, they leak, and the map is empty.
    pub fn drain(&mut self) -> Drain<'_, V, S, T> {
        self.tally.clear();
        let table = core::mem::replace(&mut self.raw, T::EMPTY);
        Drain {
            rest: IntoIter {
                left: table.len(),
                table,
                index: 0,
                entries: PhantomData,
            },
            map: &mut self.raw,
        }
    }
}

impl<V, S: StringKey + ?Sized, T: RawStrings> IntoIterator for Strings<V, S, T> {
    type Item = (Box<S>, V);
    type IntoIter = IntoIter<V, S, T>;

    fn into_iter(mut self) -> IntoIter<V, S, T> {
        let table = core::mem::replace(&mut self.raw, T::EMPTY);
        IntoIter {
            left: table.len(),
            table,
            index: 0,
            entries: PhantomData,
        }
    }
}

impl<'a, V, S: StringKey + ?Sized, T: RawStrings> IntoIterator for &'a Strings<V, S, T> {
    type Item = (&'a S, &'a V);
    type IntoIter = Iter<'a, V, S, T>;

    fn into_iter(self) -> Iter<'a, V, S, T> {
        self.iter_unordered()
    }
}

impl<'a, V, S: StringKey + ?Sized, T: RawStrings> IntoIterator for &'a mut Strings<V, S, T> {
    type Item = (&'a S, &'a mut V);
    type IntoIter = IterMut<'a, V, S, T>;

    fn into_iter(self) -> IterMut<'a, V, S, T> {
        self.iter_mut_unordered()
    }
}
