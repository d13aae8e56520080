//! A map from few of many values: whether one is in it is a bit, asked before the table.

use oriole_collections::{BitSet, DenseMap};
use oriole_ir::{Function, Value};

/// A map from a few values of a function.
pub(crate) struct SparseMap<T> {
    values: BitSet<Value>,
    of: DenseMap<Value, T>,
}

impl<T: Copy> SparseMap<T> {
    /// An empty map for the values of a function.
    pub fn new(function: &Function) -> SparseMap<T> {
        SparseMap {
            values: BitSet::with_domain(function.values().len()),
            of: DenseMap::new(),
        }
    }

    pub fn insert(&mut self, value: Value, data: T) {
        self.values.insert(value);
        self.of.insert(value, data);
    }

    #[inline]
    pub fn contains(&self, value: Value) -> bool {
        self.values.contains(value)
    }

    #[inline]
    pub fn get(&self, value: Value) -> Option<T> {
        if !self.contains(value) {
            return None;
        }
        self.of.get(&value).copied()
    }
}
