//! Compiler collections: hash tables of three designs behind one API, entities, bit sets and pools.
//!
//! - [`DenseMap`], [`DenseSet`]: open-addressed tables.
//! - [`StringMap`], [`StringSet`]: string tables whose entries stay put.
//! - [`ScopedMap`]: a map that follows a walk of the dominator tree.
//! - [`entity!`], [`IndexVec`], [`PackedOption`]: 32-bit indices with a type.
//! - [`BitSet`], [`UnionFind`], [`SmallVec`].
//! - [`recycling`]: a memory allocator for programs with many small blocks.
//! - [`extra`]: maps in insertion order, maps with room inside themselves, interners, pools of lists.
//!
//! ```
//! use oriole_collections::DenseMap;
//! let mut map = DenseMap::from([("a", 1), ("b", 2)]);
//! *map.entry("a").or_insert(0) += 10;
//! assert_eq!(map.get("a"), Some(&11));
//! assert_eq!(map.iter_sorted().collect::<Vec<_>>(), [(&"a", &11), (&"b", &2)]);
//! ```
//!
//! The tables come in three designs with one API: [`swiss`] (the default), [`linear`] (LLVM's of 2026) and [`classic`]
//! (LLVM's until then). A program that wants a particular one names it by its module. The names at the crate's root are the swiss ones;
//! to measure a whole program with another design, build it with `RUSTFLAGS='--cfg oriole_tables="classic"'` (or `"linear"`, or `"hashbrown"`).
//!
//! Nothing is seeded: the same operations give the same tables, and the same iteration order, in every run. The one exception is a
//! table that finds its keys to have been chosen to collide: it hashes with a random secret from then on; see [`key`].
//!
//! ## Features
//!
//! All are additive. `std` (on by default): paths and C strings of the operating system as keys, randomness from it; without it the crate
//! needs `alloc` only. `serde`: maps, sets and index vectors can be serialized. `rayon`: parallel iterators over maps and sets.
//! `instrument`: count what every table does (see [`instrument`]).

#![cfg_attr(not(feature = "std"), no_std)]
#![warn(clippy::host_endian_bytes)] // tables must not depend on the byte order of the machine
#![allow(clippy::disallowed_methods)] // this crate is where bucket order is at home; clippy.toml is for its users

extern crate alloc;

#[cfg(feature = "std")]
pub mod at_start;
pub mod bit_set;
#[cfg(oriole_tables = "hashbrown")]
pub mod brown;
pub mod classic;
pub mod entity;
mod entry_methods;
pub mod extra;
mod group;
pub mod hashed;
#[doc = include_str!("idioms.md")]
pub mod idioms {}
pub mod index_vec;
pub mod instrument;
pub mod key;
pub mod linear;
pub mod map;
#[cfg(feature = "rayon")]
mod parallel;
pub mod raw;
#[cfg(feature = "std")]
pub mod recycling;
pub mod scoped_map;
mod secret;
#[cfg(feature = "serde")]
mod serialize;
pub mod set;
pub mod string_map;
pub mod swiss;
pub mod union_find;
mod witness;

pub use bit_set::BitSet;
pub use entity::{Entity, PackedOption};
pub use hashed::Hashed;
pub use index_vec::IndexVec;
pub use key::{DenseKey, Lookup};
pub use map::{Cursor, Entry};
pub use raw::TryReserveError;
pub use scoped_map::ScopedMap;
pub use smallvec::{SmallVec, smallvec};
pub use union_find::UnionFind;

#[cfg(oriole_tables = "hashbrown")]
pub use brown::{DenseMap, DenseSet};
#[cfg(oriole_tables = "classic")]
pub use classic::{DenseMap, DenseSet, StringMap, StringSet};
#[cfg(oriole_tables = "linear")]
pub use linear::{DenseMap, DenseSet};
#[cfg(oriole_tables = "linear")]
pub use string_map::linear::{StringMap, StringSet};
#[cfg(not(any(oriole_tables = "classic", oriole_tables = "linear")))]
pub use string_map::swiss::{StringMap, StringSet};
#[cfg(not(any(
    oriole_tables = "classic",
    oriole_tables = "linear",
    oriole_tables = "hashbrown"
)))]
pub use swiss::{DenseMap, DenseSet};

/// Called where a compiler shall think that it hardly ever comes.
#[cold]
#[inline(always)]
pub(crate) fn cold() {}

/// The examples of the README are tests too.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
