//! Compiler collections: LLVM's table family in its classic and its new design, entities, bit sets and pools.
//!
//! - [`DenseMap`], [`DenseSet`], [`SmallDenseMap`], [`SmallPtrSet`]: open-addressed tables for small keys.
//! - [`StringMap`], [`StringSet`]: string tables whose entries stay put.
//! - [`OrderedMap`], [`OrderedSet`]: tables that iterate in insertion order.
//! - [`ScopedMap`]: a map that follows a walk of the dominator tree.
//! - [`entity!`], [`IndexVec`], [`PackedOption`]: 32-bit indices with a type.
//! - [`BitSet`], [`ChunkedBitSet`], [`ListPool`], [`Interner`], [`UnionFind`], [`SmallVec`].
//!
//! The tables come in three designs with one API: [`hybrid`] (the default), [`linear`] (LLVM's of 2026) and [`classic`]
//! (LLVM's until then). The names at the crate's root are the hybrid ones; the feature `linear` or `classic` makes them
//! those of that design, for a whole program at once. Under `hybrid` and `linear` every key value is legal.
//!
//! Nothing is seeded: the same operations give the same tables, and the same iteration order, in every run.

pub mod bit_set;
pub mod classic;
pub mod entity;
mod group;
pub mod hybrid;
pub mod index_vec;
pub mod instrument;
pub mod interner;
pub mod key;
pub mod linear;
pub mod list_pool;
pub mod map;
pub mod ordered;
pub mod raw;
pub mod scoped_map;
pub mod set;
pub mod small;
pub mod string_linear;
pub mod string_map;
pub mod union_find;
mod witness;

pub use bit_set::{BitSet, ChunkedBitSet};
pub use entity::{Entity, PackedOption};
pub use index_vec::IndexVec;
pub use interner::{Interner, Symbol};
pub use key::{DenseKey, Lookup};
pub use list_pool::{EntityList, ListPool};
pub use map::{Cursor, Entry};
pub use ordered::{OrderedMap, OrderedSet};
pub use scoped_map::ScopedMap;
pub use smallvec::{SmallVec, smallvec};
pub use union_find::UnionFind;

#[cfg(feature = "classic")]
pub use classic::{DenseMap, DenseSet, SmallDenseMap, SmallPtrSet, StringMap, StringSet};
#[cfg(not(any(feature = "classic", feature = "linear")))]
pub use hybrid::{DenseMap, DenseSet, SmallDenseMap, SmallPtrSet};
#[cfg(all(feature = "linear", not(feature = "classic")))]
pub use linear::{DenseMap, DenseSet, SmallDenseMap, SmallPtrSet};
#[cfg(not(feature = "classic"))]
pub use string_linear::{StringMap, StringSet};
