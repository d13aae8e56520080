//! Compiler collections: LLVM's table family in its classic and its new design, entities, bit sets and pools.
//!
//! - [`DenseMap`], [`DenseSet`]: open-addressed tables for small keys. Every key value is legal.
//! - [`StringMap`], [`StringSet`]: string tables whose entries stay put.
//! - [`ScopedMap`]: a map that follows a walk of the dominator tree.
//! - [`entity!`], [`IndexVec`], [`PackedOption`]: 32-bit indices with a type.
//! - [`BitSet`], [`ListPool`], [`Interner`], [`UnionFind`], [`SmallVec`].
//!
//! Nothing is seeded: the same operations give the same tables, and the same iteration order, in every run.

pub mod bit_set;
pub mod entity;
mod group;
pub mod hybrid;
pub mod index_vec;
pub mod interner;
pub mod key;
pub mod linear;
pub mod list_pool;
pub mod map;
pub mod ordered;
pub mod raw;
pub mod scoped_map;
pub mod set;
pub mod string_map;
pub mod union_find;
mod witness;

pub use bit_set::{BitSet, ChunkedBitSet};
pub use entity::{Entity, PackedOption};
pub use hybrid::{DenseMap, DenseSet};
pub use index_vec::IndexVec;
pub use interner::{Interner, Symbol};
pub use key::{DenseKey, Lookup};
pub use list_pool::{EntityList, ListPool};
pub use map::{Cursor, Entry};
pub use ordered::{OrderedMap, OrderedSet};
pub use scoped_map::ScopedMap;
pub use smallvec::{SmallVec, smallvec};
pub use string_map::{StringMap, StringSet};
pub use union_find::UnionFind;
