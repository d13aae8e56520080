//! A table for what few values have: whether one has anything is a bit, asked before the table.

use oriole_collections::{BitSet, DenseMap};
use oriole_ir::{Function, Value};

/// Something for a few values of a function.
pub(crate) struct Few<T> {
    values: BitSet<Value>,
    of: DenseMap<Value, T>,
}

impl<T: Copy> Few<T> {
    /// Nothing for any value of a function.
    pub fn none(function: &Function) -> Few<T> {
        Few {
            values: BitSet::with_domain(function.values().len()),
            of: DenseMap::new(),
        }
    }

    pub fn insert(&mut self, value: Value, something: T) {
        self.values.insert(value);
        self.of.insert(value, something);
    }

    #[inline]
    pub fn is_empty(&self) -> bool {
        self.of.is_empty()
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
