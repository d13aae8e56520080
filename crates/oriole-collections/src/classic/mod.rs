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
//! | [`Address48`]es | `0xFFFFFFFFF000` | `0xFFFFFFFFE000` (−4096 and −8192 in 48 bits) |
//! | pointers of a [`SmallPtrSet`] | −1 | −2 |
//! | entries of a [`StringMap`] | 0 | −8, and 2 at the end of the table |
//!
//! [`DenseKey::classic_sentinels`]: crate::DenseKey::classic_sentinels

mod string;
mod table;

pub use string::{StringMap, StringSet, Strings};
pub use table::{MIN_BUCKETS, Table};

use crate::DenseKey;
use crate::key::Sentinels;

crate::raw::aliases!("the classic design");

/// A pointer to something aligned to at least eight bytes, with the sentinels −8 and −16 of older tables.
pub struct EightAligned<T>(pub *const T);

crate::key::pointer_key!(EightAligned, -8, -16);

/// An address of 48 bits, with the sentinels −4096 and −8192 cut to that width.
///
/// Tables that keep something of their own in the upper sixteen bits of a pointer compare only the lower 48.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Address48(u64);

impl Address48 {
    /// The lower 48 bits of an address.
    pub const fn new(address: u64) -> Self {
        Self(address & ((1 << 48) - 1))
    }

    /// The address.
    pub const fn get(self) -> u64 {
        self.0
    }
}

impl DenseKey for Address48 {
    #[inline(always)]
    fn mix(&self) -> u64 {
        crate::key::mix64(self.0)
    }
    #[inline]
    fn mix_keyed(&self, secret: u64) -> u64 {
        self.0.mix_keyed(secret)
    }
    #[inline(always)]
    fn classic_hash(&self) -> u32 {
        crate::key::classic_address_hash(self.0 as usize)
    }
    #[inline(always)]
    fn classic_sentinels() -> Option<Sentinels<Self>> {
        // SAFETY: numbers are equal when they are the same.
        Some(unsafe { Sentinels::new(Self::new(-4096i64 as u64), Self::new(-8192i64 as u64)) })
    }
}
