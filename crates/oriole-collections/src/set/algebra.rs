//! What two sets have in common and what not.

use super::{Iter, Set};
use crate::DenseKey;
use crate::raw::RawTable;
use core::fmt;
use core::iter::{Chain, FusedIterator};
use core::ops::{BitAnd, BitAndAssign, BitOr, BitOrAssign, BitXor, BitXorAssign, Sub, SubAssign};

impl<K: DenseKey, T: RawTable<K, ()>> Set<K, T> {
    /// Every key of this set or the other, once, in bucket order.
    ///
    /// ```
    /// use oriole_collections::DenseSet;
    /// let (a, b) = (DenseSet::from([1, 2, 3]), DenseSet::from([2, 3, 4]));
    /// assert_eq!(a.union(&b).count(), 4);
    /// assert_eq!(&a | &b, DenseSet::from([1, 2, 3, 4]));
    /// assert_eq!(&a & &b, DenseSet::from([2, 3]));
    /// assert_eq!(&a - &b, DenseSet::from([1]));
    /// assert_eq!(&a ^ &b, DenseSet::from([1, 4]));
    /// ```
    pub fn union<'a>(&'a self, other: &'a Self) -> Union<'a, K, T> {
        let (larger, smaller) = if self.len() >= other.len() {
            (self, other)
        } else {
            (other, self)
        };
        Union(larger.iter_unordered().chain(smaller.difference(larger)))
    }

    /// Every key of both sets, in the bucket order of the smaller one.
    pub fn intersection<'a>(&'a self, other: &'a Self) -> Intersection<'a, K, T> {
        let (smaller, larger) = if self.len() <= other.len() {
            (self, other)
        } else {
            (other, self)
        };
        Intersection {
            keys: smaller.iter_unordered(),
            other: larger,
        }
    }

    /// Every key of this set that is not in the other, in bucket order.
    pub fn difference<'a>(&'a self, other: &'a Self) -> Difference<'a, K, T> {
        Difference {
            keys: self.iter_unordered(),
            other,
        }
    }

    /// Every key that is in one of the two sets only, in bucket order.
    pub fn symmetric_difference<'a>(&'a self, other: &'a Self) -> SymmetricDifference<'a, K, T> {
        SymmetricDifference(self.difference(other).chain(other.difference(self)))
    }

    /// Whether every key of this set is in the other.
    pub fn is_subset(&self, other: &Self) -> bool {
        self.len() <= other.len() && self.iter_unordered().all(|key| other.contains(key))
    }

    /// Whether every key of the other set is in this one.
    pub fn is_superset(&self, other: &Self) -> bool {
        other.is_subset(self)
    }

    /// Whether no key is in both sets.
    pub fn is_disjoint(&self, other: &Self) -> bool {
        self.intersection(other).next().is_none()
    }
}

/// Iterator of [`Set::intersection`].
pub struct Intersection<'a, K, T: RawTable<K, ()>> {
    keys: Iter<'a, K, T>,
    other: &'a Set<K, T>,
}

/// Iterator of [`Set::difference`].
pub struct Difference<'a, K, T: RawTable<K, ()>> {
    keys: Iter<'a, K, T>,
    other: &'a Set<K, T>,
}

/// Iterator of [`Set::union`].
pub struct Union<'a, K: DenseKey, T: RawTable<K, ()>>(Chain<Iter<'a, K, T>, Difference<'a, K, T>>);

/// Iterator of [`Set::symmetric_difference`].
pub struct SymmetricDifference<'a, K: DenseKey, T: RawTable<K, ()>>(
    Chain<Difference<'a, K, T>, Difference<'a, K, T>>,
);

impl<K, T: RawTable<K, ()>> Clone for Intersection<'_, K, T> {
    fn clone(&self) -> Self {
        Self {
            keys: self.keys.clone(),
            other: self.other,
        }
    }
}

impl<K, T: RawTable<K, ()>> Clone for Difference<'_, K, T> {
    fn clone(&self) -> Self {
        Self {
            keys: self.keys.clone(),
            other: self.other,
        }
    }
}

impl<K: DenseKey, T: RawTable<K, ()>> Clone for Union<'_, K, T> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<K: DenseKey, T: RawTable<K, ()>> Clone for SymmetricDifference<'_, K, T> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<'a, K: DenseKey, T: RawTable<K, ()>> Iterator for Intersection<'a, K, T> {
    type Item = &'a K;

    fn next(&mut self) -> Option<&'a K> {
        let Self { keys, other } = self;
        keys.find(|key| other.contains(*key))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (0, self.keys.size_hint().1)
    }
}

impl<'a, K: DenseKey, T: RawTable<K, ()>> Iterator for Difference<'a, K, T> {
    type Item = &'a K;

    fn next(&mut self) -> Option<&'a K> {
        let Self { keys, other } = self;
        keys.find(|key| !other.contains(*key))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (0, self.keys.size_hint().1)
    }
}

impl<'a, K: DenseKey, T: RawTable<K, ()>> Iterator for Union<'a, K, T> {
    type Item = &'a K;

    fn next(&mut self) -> Option<&'a K> {
        self.0.next()
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.0.size_hint()
    }
}

impl<'a, K: DenseKey, T: RawTable<K, ()>> Iterator for SymmetricDifference<'a, K, T> {
    type Item = &'a K;

    fn next(&mut self) -> Option<&'a K> {
        self.0.next()
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.0.size_hint()
    }
}

macro_rules! lazy {
    ($($name:ident)*) => {$(
        impl<K: DenseKey, T: RawTable<K, ()>> FusedIterator for $name<'_, K, T> {}

        impl<K: DenseKey + fmt::Debug, T: RawTable<K, ()>> fmt::Debug for $name<'_, K, T> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_list().entries(self.clone()).finish()
            }
        }
    )*};
}
lazy!(Intersection Difference Union SymmetricDifference);

macro_rules! operators {
    ($($trait:ident $method:ident $iterator:ident, $assign:ident $assign_method:ident |$this:ident, $other:ident| $change:expr;)*) => {$(
        impl<K: DenseKey + Clone, T: RawTable<K, ()>> $trait<&Set<K, T>> for &Set<K, T> {
            type Output = Set<K, T>;

            fn $method(self, other: &Set<K, T>) -> Set<K, T> {
                self.$iterator(other).cloned().collect()
            }
        }

        impl<K: DenseKey + Clone, T: RawTable<K, ()>> $assign<&Set<K, T>> for Set<K, T> {
            fn $assign_method(&mut self, $other: &Set<K, T>) {
                let $this = self;
                $change
            }
        }
    )*};
}
operators! {
    BitOr bitor union, BitOrAssign bitor_assign
        |this, other| this.extend(other.iter_unordered().cloned());
    BitAnd bitand intersection, BitAndAssign bitand_assign
        |this, other| this.retain(|key| other.contains(key));
    Sub sub difference, SubAssign sub_assign
        |this, other| this.retain(|key| !other.contains(key));
    BitXor bitxor symmetric_difference, BitXorAssign bitxor_assign
        |this, other| for key in other.iter_unordered() {
            if !this.remove(key) {
                this.insert(key.clone());
            }
        };
}
