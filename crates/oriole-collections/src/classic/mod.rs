//! The classic LLVM tables: quadratic probing, in-band sentinel keys, tombstones.
//!
//! The same API as the tables of today, so that the feature `classic` can switch a whole compiler to them and both designs
//! can be counted on the same work. Two values of the key type are reserved ([`DenseKey::classic_sentinels`]); to insert
//! one panics. The families of sentinels, by key:
//!
//! | keys | empty | erased |
//! |---|---|---|
//! | `u32` and narrower, entities | `0xFFFFFFFF` | `0xFFFFFFFE` (the two largest values) |
//! | pointers | −4096 | −8192 |
//! | [`EightAligned`] pointers (an older vintage of the same trait) | −8 | −16 |
//! | pointers of a [`SmallPtrSet`] | −1 | −2 |
//! | entries of a [`StringMap`] | 0 | −8, and 2 at the end of the table |
//!
//! [`DenseKey::classic_sentinels`]: crate::DenseKey::classic_sentinels

mod string;
mod table;

pub use string::{StringMap, StringSet, Strings};
pub use table::{MIN_BUCKETS, Table};

use crate::DenseKey;

/// A map of the classic design.
pub type DenseMap<K, V> = crate::map::Map<K, V, Table<K, V>>;
/// A set of the classic design.
pub type DenseSet<K> = crate::set::Set<K, Table<K, ()>>;
/// A map with room for `N` entries inside itself, then of the classic design.
pub type SmallDenseMap<K, V, const N: usize> = crate::small::SmallMap<K, V, N, Table<K, V>>;
/// A set of pointers with room for `N` inside itself, then of the classic design.
pub type SmallPtrSet<T, const N: usize> =
    crate::small::PtrSet<T, N, Table<crate::small::Pointer<T>, ()>>;

/// A pointer to something aligned to at least eight bytes, with the sentinels −8 and −16 of older tables.
pub struct EightAligned<T>(pub *const T);

impl<T> Clone for EightAligned<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for EightAligned<T> {}

impl<T> PartialEq for EightAligned<T> {
    #[inline(always)]
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self.0, other.0)
    }
}

impl<T> Eq for EightAligned<T> {}

impl<T> DenseKey for EightAligned<T> {
    #[inline(always)]
    fn mix(&self) -> u64 {
        self.0.mix()
    }
    #[inline(always)]
    fn classic_hash(&self) -> u32 {
        self.0.classic_hash()
    }
    #[inline(always)]
    fn classic_sentinels() -> Option<[Self; 2]> {
        Some([-8isize, -16].map(|value| Self(std::ptr::without_provenance(value as usize))))
    }
}
