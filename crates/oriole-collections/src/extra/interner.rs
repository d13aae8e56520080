//! `Interner`: names once, symbols everywhere.
//!
//! A [`Symbol`] is a 32-bit entity, numbered in order of first appearance, so symbols are the same in every run for the
//! same input. The bytes live in the string table's nodes, which never move.

use crate::string_map::Entry;
use crate::{IndexVec, StringMap};
use core::ptr::NonNull;

crate::entity! {
    /// An interned string.
    pub struct Symbol = "sym";
}

/// Strings with their symbols.
pub struct Interner {
    numbers: StringMap<Symbol>,
    /// Points into the nodes of `numbers`, from which nothing is ever removed.
    names: IndexVec<Symbol, NonNull<str>>,
}

// SAFETY: the pointers refer to nodes that the interner owns and never changes.
unsafe impl Send for Interner {}
// SAFETY: as above; shared access only reads.
unsafe impl Sync for Interner {}

impl Interner {
    /// No strings yet.
    #[track_caller]
    pub const fn new() -> Self {
        Self {
            numbers: StringMap::new(),
            names: IndexVec::new(),
        }
    }

    /// The symbol of a string; a new one at its first appearance.
    pub fn intern(&mut self, name: &str) -> Symbol {
        let Self { numbers, names } = self;
        match numbers.entry(name) {
            Entry::Occupied(entry) => *entry.get(),
            Entry::Vacant(entry) => {
                // Room first, so that the two cannot come to disagree.
                names.reserve(1);
                let symbol = names.next_key();
                let stored = entry.insert_entry(symbol).into_key();
                names.push(NonNull::from(stored));
                symbol
            }
        }
    }

    /// The symbol of a string that was interned before.
    pub fn get(&self, name: &str) -> Option<Symbol> {
        self.numbers.get(name).copied()
    }

    /// The string of a symbol.
    #[inline]
    #[track_caller]
    pub fn resolve(&self, symbol: Symbol) -> &str {
        // SAFETY: the node lives as long as the interner, which is borrowed, and its bytes never change.
        unsafe { self.names[symbol].as_ref() }
    }

    /// Number of strings.
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// Every symbol with its string, in order of first appearance.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (Symbol, &str)> {
        // SAFETY: as in `resolve`.
        self.names
            .iter()
            .map(|(symbol, name)| (symbol, unsafe { name.as_ref() }))
    }
}

impl Default for Interner {
    fn default() -> Self {
        Self::new()
    }
}

impl Clone for Interner {
    fn clone(&self) -> Self {
        let mut copy = Self::new();
        for (_, name) in self.iter() {
            copy.intern(name);
        }
        copy
    }
}

impl core::fmt::Debug for Interner {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_follow_first_appearance() {
        let mut interner = Interner::new();
        let names: Vec<String> = (0..500).map(|n| format!("%r{}", n % 250)).collect();
        let symbols: Vec<Symbol> = names.iter().map(|name| interner.intern(name)).collect();
        assert_eq!(interner.len(), 250);
        for (name, symbol) in names.iter().zip(&symbols) {
            assert_eq!(interner.resolve(*symbol), name);
            assert_eq!(interner.get(name), Some(*symbol));
        }
        assert_eq!(symbols[0].to_string(), "sym0");
        assert_eq!(symbols[250], symbols[0]);
        let copy = interner.clone();
        drop(interner);
        assert_eq!(copy.resolve(symbols[249]), "%r249");
    }
}
