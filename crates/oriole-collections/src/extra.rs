//! Containers that Oriole itself does not use, for other compilers and programs.
//!
//! Each is one that LLVM or Cranelift lives on, so somebody who moves code from there finds it here; they are tested like the others and
//! use the same tables. Why Oriole needs none of them:
//!
//! - [`OrderedMap`], [`OrderedSet`]: its passes number what they find, and an [`IndexVec`](crate::IndexVec) beside a
//!   [`DenseMap`](crate::DenseMap) keeps that order.
//! - [`SmallDenseMap`], [`SmallPtrSet`]: a [`DenseMap`](crate::DenseMap) of up to four entries is one small allocation, and more than half of
//!   all lookups ask a table without entries, which neither allocates nor hashes. It has no sets of pointers: what it knows by
//!   address elsewhere, it knows by number.
//! - [`Interner`]: names are numbered by their place in the text they came from.
//! - [`ListPool`]: operands lie in runs whose length the instruction's format knows.
//! - [`ChunkedBitSet`]: its sets of numbers are either dense or short.
//! - [`ByteStringMap`], [`ByteStringSet`]: PTX is text.

pub mod interner;
pub mod list_pool;
pub mod ordered;
pub mod small;

pub use crate::bit_set::ChunkedBitSet;
pub use crate::string_map::swiss::{ByteStringMap, ByteStringSet};
pub use interner::{Interner, Symbol};
pub use list_pool::{EntityList, ListPool};
pub use ordered::{OrderedMap, OrderedSet};

#[cfg(oriole_tables = "hashbrown")]
pub use crate::brown::{SmallDenseMap, SmallPtrSet};
#[cfg(oriole_tables = "classic")]
pub use crate::classic::{SmallDenseMap, SmallPtrSet};
#[cfg(oriole_tables = "linear")]
pub use crate::linear::{SmallDenseMap, SmallPtrSet};
#[cfg(not(any(
    oriole_tables = "classic",
    oriole_tables = "linear",
    oriole_tables = "hashbrown"
)))]
pub use crate::swiss::{SmallDenseMap, SmallPtrSet};
