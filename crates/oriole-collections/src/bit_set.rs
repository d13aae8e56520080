//! Bit sets over entities or numbers: dense, and chunked for large domains with long empty or full stretches.
//!
//! [`BitSet`] is a vector of words that grows on demand: the right one for a function's values and blocks.
//! [`ChunkedBitSet`] splits the domain into chunks of 2,048 bits and allocates only the chunks that are neither all
//! zeros nor all ones: the right one when each of thousands of blocks keeps a set over thousands of values.

use crate::Entity;
use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;
use core::fmt;
use core::marker::PhantomData;

/// What a bit set can be indexed by: any [`Entity`], `usize` or `u32`.
pub trait BitIndex: Copy {
    /// The bit of this index.
    fn to_bit(self) -> usize;
    /// The index of this bit.
    fn from_bit(bit: usize) -> Self;
}

impl<E: Entity> BitIndex for E {
    #[inline]
    fn to_bit(self) -> usize {
        self.index()
    }
    #[inline]
    fn from_bit(bit: usize) -> Self {
        E::from_index(bit)
    }
}

impl BitIndex for usize {
    #[inline]
    fn to_bit(self) -> usize {
        self
    }
    #[inline]
    fn from_bit(bit: usize) -> Self {
        bit
    }
}

impl BitIndex for u32 {
    #[inline]
    fn to_bit(self) -> usize {
        self as usize
    }
    #[inline]
    fn from_bit(bit: usize) -> Self {
        bit as u32
    }
}

/// A dense set of indices; grows on insertion.
pub struct BitSet<I = usize> {
    words: Vec<u64>,
    index: PhantomData<fn(I) -> I>,
}

impl<I: BitIndex> BitSet<I> {
    /// An empty set.
    pub const fn new() -> Self {
        Self {
            words: Vec::new(),
            index: PhantomData,
        }
    }

    /// An empty set with room for indices below `domain`.
    pub fn with_domain(domain: usize) -> Self {
        Self {
            words: vec![0; domain.div_ceil(64)],
            index: PhantomData,
        }
    }

    /// Every index below `domain`.
    pub fn full(domain: usize) -> Self {
        let mut words = vec![!0; domain.div_ceil(64)];
        if let Some(last) = words.last_mut()
            && !domain.is_multiple_of(64)
        {
            *last = (1 << (domain % 64)) - 1;
        }
        Self {
            words,
            index: PhantomData,
        }
    }

    /// Whether the index is in the set.
    #[inline]
    pub fn contains(&self, index: I) -> bool {
        let bit = index.to_bit();
        self.words
            .get(bit / 64)
            .is_some_and(|word| word >> (bit % 64) & 1 != 0)
    }

    /// Adds an index; whether it was missing.
    #[inline]
    pub fn insert(&mut self, index: I) -> bool {
        let bit = index.to_bit();
        if bit / 64 >= self.words.len() {
            self.words.resize(bit / 64 + 1, 0);
        }
        let word = &mut self.words[bit / 64];
        let before = *word;
        *word |= 1 << (bit % 64);
        *word != before
    }

    /// Removes an index; whether it was present.
    #[inline]
    pub fn remove(&mut self, index: I) -> bool {
        let bit = index.to_bit();
        let Some(word) = self.words.get_mut(bit / 64) else {
            return false;
        };
        let before = *word;
        *word &= !(1 << (bit % 64));
        *word != before
    }

    /// Adds every index of `other`; whether the set changed.
    pub fn union_with(&mut self, other: &Self) -> bool {
        if other.words.len() > self.words.len() {
            self.words.resize(other.words.len(), 0);
        }
        let mut changed = 0;
        for (word, &add) in self.words.iter_mut().zip(&other.words) {
            changed |= add & !*word;
            *word |= add;
        }
        changed != 0
    }

    /// Keeps only the indices also in `other`; whether the set changed.
    pub fn intersect_with(&mut self, other: &Self) -> bool {
        let mut changed = 0;
        for (position, word) in self.words.iter_mut().enumerate() {
            let keep = other.words.get(position).copied().unwrap_or(0);
            changed |= *word & !keep;
            *word &= keep;
        }
        changed != 0
    }

    /// Removes every index of `other`; whether the set changed.
    pub fn subtract(&mut self, other: &Self) -> bool {
        let mut changed = 0;
        for (word, &remove) in self.words.iter_mut().zip(&other.words) {
            changed |= *word & remove;
            *word &= !remove;
        }
        changed != 0
    }

    /// Whether every index is also in `other`.
    pub fn is_subset(&self, other: &Self) -> bool {
        self.words
            .iter()
            .enumerate()
            .all(|(position, word)| word & !other.words.get(position).copied().unwrap_or(0) == 0)
    }

    /// Whether no index is in both sets.
    pub fn is_disjoint(&self, other: &Self) -> bool {
        self.words.iter().zip(&other.words).all(|(a, b)| a & b == 0)
    }

    /// Number of indices (counted, not stored).
    pub fn len(&self) -> usize {
        self.words
            .iter()
            .map(|word| word.count_ones() as usize)
            .sum()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.words.iter().all(|&word| word == 0)
    }

    /// Removes every index; keeps the allocation.
    pub fn clear(&mut self) {
        self.words.fill(0);
    }

    /// The least index.
    pub fn first(&self) -> Option<I> {
        self.iter().next()
    }

    /// Every index in ascending order.
    #[inline]
    pub fn iter(&self) -> Iter<'_, I> {
        Iter {
            words: &self.words,
            base: 0,
            pending: 0,
            index: PhantomData,
        }
    }
}

/// Iterator of [`BitSet::iter`].
#[derive(Clone, Debug)]
pub struct Iter<'a, I> {
    words: &'a [u64],
    /// Bit number of the word after the pending one.
    base: usize,
    pending: u64,
    index: PhantomData<fn() -> I>,
}

impl<I: BitIndex> Iterator for Iter<'_, I> {
    type Item = I;

    #[inline]
    fn next(&mut self) -> Option<I> {
        while self.pending == 0 {
            let (&first, rest) = self.words.split_first()?;
            self.pending = first;
            self.words = rest;
            self.base += 64;
        }
        let offset = self.pending.trailing_zeros() as usize;
        self.pending &= self.pending - 1;
        Some(I::from_bit(self.base - 64 + offset))
    }
}

impl<'a, I: BitIndex> IntoIterator for &'a BitSet<I> {
    type Item = I;
    type IntoIter = Iter<'a, I>;

    fn into_iter(self) -> Iter<'a, I> {
        self.iter()
    }
}

impl<I> Clone for BitSet<I> {
    fn clone(&self) -> Self {
        Self {
            words: self.words.clone(),
            index: PhantomData,
        }
    }

    fn clone_from(&mut self, source: &Self) {
        self.words.clone_from(&source.words);
    }
}

impl<I: BitIndex> Default for BitSet<I> {
    fn default() -> Self {
        Self::new()
    }
}

/// Equal when they hold the same indices; trailing zero words do not count.
impl<I: BitIndex> PartialEq for BitSet<I> {
    fn eq(&self, other: &Self) -> bool {
        let shared = self.words.len().min(other.words.len());
        self.words[..shared] == other.words[..shared]
            && self.words[shared..].iter().all(|&word| word == 0)
            && other.words[shared..].iter().all(|&word| word == 0)
    }
}

impl<I: BitIndex> Eq for BitSet<I> {}

impl<I: BitIndex + fmt::Debug> fmt::Debug for BitSet<I> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}

impl<I: BitIndex> Extend<I> for BitSet<I> {
    fn extend<T: IntoIterator<Item = I>>(&mut self, indices: T) {
        for index in indices {
            self.insert(index);
        }
    }
}

impl<I: BitIndex> FromIterator<I> for BitSet<I> {
    fn from_iter<T: IntoIterator<Item = I>>(indices: T) -> Self {
        let mut set = Self::new();
        set.extend(indices);
        set
    }
}

/// Bits per chunk of a [`ChunkedBitSet`].
pub const CHUNK_BITS: usize = 2048;
const CHUNK_WORDS: usize = CHUNK_BITS / 64;

#[derive(Clone, PartialEq, Eq)]
enum Chunk {
    Zeros,
    Ones,
    /// Neither all zeros nor all ones.
    Mixed(Box<[u64; CHUNK_WORDS]>),
}

impl Chunk {
    fn words(&self) -> Option<&[u64; CHUNK_WORDS]> {
        match self {
            Chunk::Mixed(words) => Some(words),
            _ => None,
        }
    }

    /// Applies `change` word by word and returns whether anything changed; keeps the canonical form.
    fn update(&mut self, mut change: impl FnMut(usize, u64) -> u64) -> bool {
        let mut words = match core::mem::replace(self, Chunk::Zeros) {
            Chunk::Zeros => Box::new([0; CHUNK_WORDS]),
            Chunk::Ones => Box::new([!0; CHUNK_WORDS]),
            Chunk::Mixed(words) => words,
        };
        let (mut all, mut any, mut changed) = (!0, 0, 0);
        for (position, word) in words.iter_mut().enumerate() {
            let next = change(position, *word);
            changed |= next ^ *word;
            *word = next;
            all &= next;
            any |= next;
        }
        *self = if any == 0 {
            Chunk::Zeros
        } else if all == !0 {
            Chunk::Ones
        } else {
            Chunk::Mixed(words)
        };
        changed != 0
    }

    fn word(&self, position: usize) -> u64 {
        match self {
            Chunk::Zeros => 0,
            Chunk::Ones => !0,
            Chunk::Mixed(words) => words[position],
        }
    }
}

/// A set of indices that allocates only the chunks of 2,048 bits that are neither empty nor full.
#[derive(Clone)]
pub struct ChunkedBitSet<I = usize> {
    chunks: Vec<Chunk>,
    index: PhantomData<fn(I) -> I>,
}

impl<I: BitIndex> ChunkedBitSet<I> {
    /// An empty set.
    pub const fn new() -> Self {
        Self {
            chunks: Vec::new(),
            index: PhantomData,
        }
    }

    /// Whether the index is in the set.
    #[inline]
    pub fn contains(&self, index: I) -> bool {
        let bit = index.to_bit();
        self.chunks
            .get(bit / CHUNK_BITS)
            .is_some_and(|chunk| chunk.word(bit % CHUNK_BITS / 64) >> (bit % 64) & 1 != 0)
    }

    /// Adds an index; whether it was missing.
    pub fn insert(&mut self, index: I) -> bool {
        let bit = index.to_bit();
        let chunk = bit / CHUNK_BITS;
        if chunk >= self.chunks.len() {
            self.chunks.resize(chunk + 1, Chunk::Zeros);
        }
        self.change(bit, true)
    }

    /// Removes an index; whether it was present.
    pub fn remove(&mut self, index: I) -> bool {
        let bit = index.to_bit();
        bit / CHUNK_BITS < self.chunks.len() && self.change(bit, false)
    }

    fn change(&mut self, bit: usize, to: bool) -> bool {
        let chunk = &mut self.chunks[bit / CHUNK_BITS];
        let (position, single) = (bit % CHUNK_BITS / 64, 1u64 << (bit % 64));
        if (chunk.word(position) & single != 0) == to {
            return false;
        }
        if let Chunk::Mixed(words) = chunk {
            words[position] ^= single;
            let word = words[position];
            // Only a word that just became uniform can make the chunk so.
            if (word == 0 || word == !0) && words.iter().all(|&other| other == word) {
                *chunk = if word == 0 { Chunk::Zeros } else { Chunk::Ones };
            }
            return true;
        }
        chunk.update(|at, word| if at == position { word ^ single } else { word })
    }

    /// Adds every index of `other`; whether the set changed.
    pub fn union_with(&mut self, other: &Self) -> bool {
        if other.chunks.len() > self.chunks.len() {
            self.chunks.resize(other.chunks.len(), Chunk::Zeros);
        }
        let mut changed = false;
        for (chunk, add) in self.chunks.iter_mut().zip(&other.chunks) {
            changed |= match (&*chunk, add) {
                (Chunk::Ones, _) | (_, Chunk::Zeros) => false,
                (Chunk::Zeros, _) | (_, Chunk::Ones) => {
                    *chunk = add.clone();
                    true
                }
                (Chunk::Mixed(_), Chunk::Mixed(add)) => chunk.update(|at, word| word | add[at]),
            };
        }
        changed
    }

    /// Keeps only the indices also in `other`; whether the set changed.
    pub fn intersect_with(&mut self, other: &Self) -> bool {
        let mut changed = false;
        for (position, chunk) in self.chunks.iter_mut().enumerate() {
            let keep = other.chunks.get(position).unwrap_or(&Chunk::Zeros);
            changed |= match (&*chunk, keep) {
                (Chunk::Zeros, _) | (_, Chunk::Ones) => false,
                (Chunk::Ones, _) | (_, Chunk::Zeros) => {
                    *chunk = keep.clone();
                    true
                }
                (Chunk::Mixed(_), Chunk::Mixed(keep)) => chunk.update(|at, word| word & keep[at]),
            };
        }
        changed
    }

    /// Removes every index of `other`; whether the set changed.
    pub fn subtract(&mut self, other: &Self) -> bool {
        let mut changed = false;
        for (chunk, remove) in self.chunks.iter_mut().zip(&other.chunks) {
            changed |= match (&*chunk, remove) {
                (Chunk::Zeros, _) | (_, Chunk::Zeros) => false,
                (_, Chunk::Ones) => {
                    *chunk = Chunk::Zeros;
                    true
                }
                (_, Chunk::Mixed(remove)) => chunk.update(|at, word| word & !remove[at]),
            };
        }
        changed
    }

    /// Number of indices.
    pub fn len(&self) -> usize {
        self.chunks
            .iter()
            .map(|chunk| match chunk {
                Chunk::Zeros => 0,
                Chunk::Ones => CHUNK_BITS,
                Chunk::Mixed(words) => words.iter().map(|word| word.count_ones() as usize).sum(),
            })
            .sum()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.chunks
            .iter()
            .all(|chunk| matches!(chunk, Chunk::Zeros))
    }

    /// Removes every index.
    pub fn clear(&mut self) {
        self.chunks.clear();
    }

    /// How many chunks have an allocation.
    pub fn allocated_chunks(&self) -> usize {
        self.chunks.iter().filter_map(Chunk::words).count()
    }

    /// Every index in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = I> + use<'_, I> {
        self.chunks
            .iter()
            .enumerate()
            .filter(|(_, chunk)| !matches!(chunk, Chunk::Zeros))
            .flat_map(|(number, chunk)| {
                (0..CHUNK_WORDS).flat_map(move |position| {
                    let mut pending = chunk.word(position);
                    core::iter::from_fn(move || {
                        (pending != 0).then(|| {
                            let offset = pending.trailing_zeros() as usize;
                            pending &= pending - 1;
                            I::from_bit(number * CHUNK_BITS + position * 64 + offset)
                        })
                    })
                })
            })
    }
}

impl<I: BitIndex> Default for ChunkedBitSet<I> {
    fn default() -> Self {
        Self::new()
    }
}

/// Equal when they hold the same indices.
impl<I: BitIndex> PartialEq for ChunkedBitSet<I> {
    fn eq(&self, other: &Self) -> bool {
        let shared = self.chunks.len().min(other.chunks.len());
        let zeros = |chunks: &[Chunk]| chunks.iter().all(|chunk| matches!(chunk, Chunk::Zeros));
        self.chunks[..shared] == other.chunks[..shared]
            && zeros(&self.chunks[shared..])
            && zeros(&other.chunks[shared..])
    }
}

impl<I: BitIndex> Eq for ChunkedBitSet<I> {}

impl<I: BitIndex + fmt::Debug> fmt::Debug for ChunkedBitSet<I> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}

impl<I: BitIndex> FromIterator<I> for ChunkedBitSet<I> {
    fn from_iter<T: IntoIterator<Item = I>>(indices: T) -> Self {
        let mut set = Self::new();
        for index in indices {
            set.insert(index);
        }
        set
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    #[test]
    fn full_set_ends_at_its_domain() {
        for domain in [0, 1, 63, 64, 65, 130] {
            let set = BitSet::<usize>::full(domain);
            assert_eq!(set.len(), domain);
            assert_eq!(
                set.iter().collect::<Vec<_>>(),
                (0..domain).collect::<Vec<_>>()
            );
        }
    }

    #[test]
    fn trailing_zero_words_do_not_matter() {
        let mut long = BitSet::<usize>::new();
        long.insert(1000);
        long.remove(1000);
        assert_eq!(long, BitSet::new());
        assert!(long.is_empty());
    }

    #[test]
    fn uniform_chunks_hold_no_memory() {
        let mut set: ChunkedBitSet = (0..3 * CHUNK_BITS).collect();
        assert_eq!(set.allocated_chunks(), 0);
        assert!(set.remove(5000) && !set.remove(5000));
        assert_eq!(set.allocated_chunks(), 1);
        assert!(set.insert(5000));
        assert_eq!(set.allocated_chunks(), 0);
        let single: ChunkedBitSet = [1_000_000].into_iter().collect();
        assert_eq!(single.allocated_chunks(), 1);
        assert_eq!(single.iter().collect::<Vec<_>>(), [1_000_000]);
    }

    fn indices() -> impl Strategy<Value = Vec<usize>> {
        prop_oneof![
            prop::collection::vec(0usize..6000, 0..60),
            // A whole chunk and its surroundings, so that full chunks are met.
            (0usize..CHUNK_BITS).prop_map(|from| (from..from + CHUNK_BITS + 900).collect()),
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 1 } else { 48 }))]
        #[test]
        fn both_kinds_agree_with_a_tree_set(a in indices(), b in indices(), gone in indices()) {
            let mut model: BTreeSet<usize> = a.iter().copied().collect();
            let mut dense: BitSet = a.iter().copied().collect();
            let mut chunked: ChunkedBitSet = a.iter().copied().collect();
            for &index in &gone {
                let was = model.remove(&index);
                prop_assert_eq!(dense.remove(index), was);
                prop_assert_eq!(chunked.remove(index), was);
            }
            let other: BTreeSet<usize> = b.iter().copied().collect();
            let dense_other: BitSet = b.iter().copied().collect();
            let chunked_other: ChunkedBitSet = b.iter().copied().collect();
            for operation in 0..3 {
                let (mut d, mut c) = (dense.clone(), chunked.clone());
                let (expected, changed_d, changed_c): (BTreeSet<usize>, bool, bool) = match operation {
                    0 => (&model | &other, d.union_with(&dense_other), c.union_with(&chunked_other)),
                    1 => (&model & &other, d.intersect_with(&dense_other), c.intersect_with(&chunked_other)),
                    _ => (&model - &other, d.subtract(&dense_other), c.subtract(&chunked_other)),
                };
                prop_assert_eq!(changed_d, expected != model);
                prop_assert_eq!(changed_c, expected != model);
                prop_assert_eq!(d.len(), expected.len());
                prop_assert_eq!(c.len(), expected.len());
                prop_assert!(d.iter().eq(expected.iter().copied()));
                prop_assert!(c.iter().eq(expected.iter().copied()));
                prop_assert_eq!(c, expected.iter().copied().collect::<ChunkedBitSet>());
            }
            prop_assert_eq!(dense.is_subset(&dense_other), model.is_subset(&other));
            prop_assert_eq!(dense.is_disjoint(&dense_other), model.is_disjoint(&other));
        }
    }
}
