//! What short names mean that were resolved lately.
//!
//! Code mentions a register several times, mostly close together. A table of names as numbers finds it again without taking the name
//! apart. An entry holds until something is declared or goes out of scope that its name could mean: a name or label of the same
//! spelling, or a range.

use super::{Reference, short_word};

/// The most entries: enough for the registers that a part of a long function works with.
const MOST: usize = 1024;

/// A table with one place for each name; a later one takes the place of an earlier one.
pub(super) struct KnownNames {
    /// As many as a power of two; the number of no name is zero.
    entries: Vec<(u64, Reference)>,
    /// The bits of a hash above those that say the place.
    shift: u32,
    is_empty: bool,
}

impl KnownNames {
    /// A table for a function with so many operands.
    pub fn with_room(operands: usize) -> KnownNames {
        let count = (operands / 2).next_power_of_two().clamp(16, MOST);
        KnownNames {
            entries: vec![(0, Reference::None); count],
            shift: 64 - count.trailing_zeros(),
            is_empty: true,
        }
    }

    #[inline]
    fn place(&self, word: u64) -> usize {
        // Fibonacci hashing: the top bits of the product depend on all bits of the word.
        (word.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> self.shift) as usize
    }

    /// What the name with this number means, if that is known.
    #[inline]
    pub fn get(&self, word: u64) -> Option<Reference> {
        match self.entries.get(self.place(word)) {
            Some(&(known, reference)) if known == word => Some(reference),
            _ => None,
        }
    }

    /// Remembers what the name with this number means.
    #[inline]
    pub fn insert(&mut self, word: u64, reference: Reference) {
        let place = self.place(word);
        self.entries[place] = (word, reference);
        self.is_empty = false;
    }

    /// Forgets what a name means.
    pub fn forget(&mut self, name: &str) {
        if !self.is_empty
            && let Some(word) = short_word(name.as_bytes(), 0, name.len())
        {
            let place = self.place(word);
            if self.entries[place].0 == word {
                self.entries[place].0 = 0;
            }
        }
    }

    /// Forgets everything.
    pub fn forget_all(&mut self) {
        if !std::mem::replace(&mut self.is_empty, true) {
            self.entries.fill((0, Reference::None));
        }
    }
}
