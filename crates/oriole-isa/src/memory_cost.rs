//! What a warp's access to memory costs: sectors of global memory, wavefronts of shared memory.
//!
//! A request is one instruction of one warp. Sectors: distinct aligned 32 bytes that the active lanes touch; ideal, the bytes of
//! all lanes over 32, rounded up, or less where lanes touch the same.
//!
//! Wavefronts: lanes go in passes of 32, 16 or 8 for accesses of up to 4, 8 and 16 bytes; a pass takes as many wavefronts as the
//! largest number of distinct words of one bank. Ideal: the bytes of all lanes over 128, rounded up, or less where lanes touch the same.
//! What differs by [`Operation`] was measured on an H200 (`docs/validation.md`):
//!
//! - Loads of 8 and 16 bytes go in passes of twice as many lanes if each lane has the address of the lane beside it (`l ^ 1`), or each that
//!   of the lane two further (`l ^ 2`); lanes that take no part are no obstacle.
//! - Atomics take lanes that aim at one word one after the other, and comparing and swapping takes twice as long.
//! - Each matrix of `ldmatrix` and `stmatrix` is a pass of eight lanes with 16 bytes each.
//! - Copies ([`WarpCopy`]) depend on both addresses.

use crate::{CacheOperator, Mnemonic, Opcode, ReductionOperation};

/// What a warp does, as far as it makes a difference to shared memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Operation {
    /// `ld`.
    Load,
    /// `st`.
    Store,
    /// `atom` and `red`.
    Atomic,
    /// Those that `ptxas` may have one lane do for all, where all aim at one word: integer sums, extremes and bit operations.
    Reduction,
    /// `atom.cas`.
    CompareAndSwap,
    /// `ldmatrix` and `stmatrix`.
    Matrix,
    /// `cp.async` by way of the first-level cache.
    CachedCopy,
    /// `cp.async.cg`, past that cache.
    BypassingCopy,
}

impl Operation {
    /// What an instruction does, if it accesses memory by lanes.
    pub fn of(mnemonic: &Mnemonic) -> Option<Operation> {
        let modifiers = mnemonic.modifiers();
        Some(match mnemonic.opcode() {
            Opcode::Ld | Opcode::Ldu => Operation::Load,
            Opcode::St => Operation::Store,
            Opcode::Atom | Opcode::Red => match modifiers.operation {
                Some(ReductionOperation::CompareAndSwap) => Operation::CompareAndSwap,
                Some(operation) if is_folded(operation, mnemonic) => Operation::Reduction,
                _ => Operation::Atomic,
            },
            Opcode::Ldmatrix | Opcode::Stmatrix => Operation::Matrix,
            Opcode::CpAsync => match modifiers.cache_operator {
                Some(CacheOperator::Global) => Operation::BypassingCopy,
                _ => Operation::CachedCopy,
            },
            _ => return None,
        })
    }

    /// Whether it is one of the copies.
    pub fn is_copy(self) -> bool {
        matches!(self, Operation::CachedCopy | Operation::BypassingCopy)
    }
}

/// Whether `ptxas` may fold what all lanes do to one word.
fn is_folded(operation: ReductionOperation, mnemonic: &Mnemonic) -> bool {
    use ReductionOperation::{Add, And, Max, Min, Or, Xor};
    let is_integer = mnemonic.first_type().is_some_and(|it| !it.is_float());
    is_integer && matches!(operation, Add | And | Or | Xor | Min | Max)
}

/// Sectors that the lanes touch, and the least possible.
pub fn sectors(addresses: &[u64; 32], active: u32, width: u32) -> (u64, u64) {
    let mut sorted = [0; 32];
    let mut lanes = 0;
    for (lane, &address) in addresses.iter().enumerate() {
        if active >> lane & 1 != 0 {
            sorted[lanes] = address;
            lanes += 1;
        }
    }
    sorted[..lanes].sort_unstable();
    let count = distinct_sectors(&sorted[..lanes], width);
    (count, ideal_sectors(active, width).min(count))
}

/// Sectors of accesses of so many bytes each at these addresses, the least first.
pub fn distinct_sectors(sorted: &[u64], width: u32) -> u64 {
    let mut count = 0;
    // The sector behind the last one that was counted.
    let mut next = 0;
    for &address in sorted {
        let first = address >> 5;
        let behind = (address.saturating_add(u64::from(width) - 1) >> 5) + 1;
        if behind > next {
            count += behind - first.max(next);
            next = behind;
        }
    }
    count
}

/// The least sectors of lanes that have nothing in common.
pub fn ideal_sectors(active: u32, width: u32) -> u64 {
    (u64::from(active.count_ones()) * u64::from(width)).div_ceil(32)
}

/// The least wavefronts of lanes that have nothing in common.
pub fn ideal_wavefronts(operation: Operation, active: u32, width: u32) -> u64 {
    let least = (u64::from(active.count_ones()) * u64::from(width)).div_ceil(128);
    match operation {
        Operation::CompareAndSwap => 2 * least,
        _ => least,
    }
}

/// Whether each lane has the address of the lane beside it, or each that of the lane two further.
fn is_paired(addresses: &[u64; 32], active: u32) -> bool {
    let agree = |by: usize| {
        (0..32usize).all(|lane| {
            let both = active >> lane & active >> (lane ^ by) & 1;
            both == 0 || addresses[lane] == addresses[lane ^ by]
        })
    };
    agree(1) || agree(2)
}

/// The lanes that go together into shared memory, as masks; `is_paired` tells whether pairs of lanes have one address.
pub fn passes(operation: Operation, width: u32, is_paired: bool) -> impl Iterator<Item = u32> {
    let lanes: u32 = match width {
        ..=4 => 32,
        8 => 16,
        _ => 8,
    };
    let lanes = match operation == Operation::Load && is_paired {
        true => (2 * lanes).min(32),
        false => lanes,
    };
    let mask = u32::MAX >> (32 - lanes);
    (0..32)
        .step_by(lanes as usize)
        .map(move |first| mask << first)
}

/// The wavefronts of the lanes of one pass.
pub fn pass_wavefronts(operation: Operation, addresses: &[u64; 32], lanes: u32, width: u32) -> u64 {
    let is_atomic = matches!(
        operation,
        Operation::Atomic | Operation::Reduction | Operation::CompareAndSwap
    );
    // 16 lanes of up to 32 bytes, and one word more where an address is no multiple of four; those of a bank are a list.
    const MOST: usize = 160;
    const NONE: u8 = u8::MAX;
    let (mut words, mut links) = ([0; MOST], [NONE; MOST]);
    let mut count = 0;
    let mut heads = [NONE; 32];
    let mut banks = [0u64; 32];
    let mut rest = lanes;
    while rest != 0 {
        let address = addresses[rest.trailing_zeros() as usize];
        rest &= rest - 1;
        for word in address >> 2..=address.wrapping_add(u64::from(width) - 1) >> 2 {
            let bank = (word & 31) as usize;
            let mut place = heads[bank];
            while place != NONE && words[usize::from(place)] != word {
                place = links[usize::from(place)];
            }
            if place == NONE && count < MOST {
                (words[count], links[count]) = (word, heads[bank]);
                heads[bank] = count as u8;
                count += 1;
                banks[bank] += 1;
            } else if is_atomic {
                banks[bank] += 1;
            }
        }
    }
    let most = banks.into_iter().max().unwrap_or(0);
    match operation {
        Operation::CompareAndSwap => 2 * most,
        _ => most,
    }
}

/// Wavefronts of an access to shared memory that is no copy, and the least possible.
pub fn wavefronts(
    operation: Operation,
    addresses: &[u64; 32],
    active: u32,
    width: u32,
) -> (u64, u64) {
    let is_paired = operation == Operation::Load && width > 4 && is_paired(addresses, active);
    let of_pass = |pass| pass_wavefronts(operation, addresses, active & pass, width);
    let total = passes(operation, width, is_paired).map(of_pass).sum();
    (total, ideal_wavefronts(operation, active, width).min(total))
}

/// A copy by a warp from global to shared memory, in pieces of 4, 8 or 16 bytes.
#[derive(Clone, Copy, Debug)]
pub struct WarpCopy<'addresses> {
    /// Where lanes read.
    pub from: &'addresses [u64; 32],
    /// Where they write.
    pub to: &'addresses [u64; 32],
    /// The lanes that take part.
    pub active: u32,
    /// Bytes of a lane.
    pub width: u32,
    /// Whether it goes past the first-level cache: by pieces of 16 bytes, straight from sectors to sectors.
    pub bypasses: bool,
}

impl WarpCopy<'_> {
    /// Which of the copies it is.
    pub fn operation(&self) -> Operation {
        match self.bypasses {
            true => Operation::BypassingCopy,
            false => Operation::CachedCopy,
        }
    }

    fn lanes(&self) -> impl Iterator<Item = usize> {
        let active = self.active;
        (0..32).filter(move |lane| active >> lane & 1 != 0)
    }

    /// Whether several lanes write what they read elsewhere to one place: only one of them counts. That all addresses are moved by one
    /// number makes no difference.
    pub fn overlaps(&self) -> bool {
        self.lanes().any(|lane| {
            let before = self.active & !(u32::MAX << lane);
            let mut others = (0..lane).filter(|other| before >> other & 1 != 0);
            others
                .any(|other| self.to[other] == self.to[lane] && self.from[other] != self.from[lane])
        })
    }

    /// The different keys of lanes.
    fn distinct(&self, key: impl Fn(u64, u64) -> (u64, u64)) -> u64 {
        let mut keys = [(0, 0); 32];
        let mut count = 0;
        for lane in self.lanes() {
            keys[count] = key(self.from[lane], self.to[lane]);
            count += 1;
        }
        let keys = &mut keys[..count];
        // They mostly rise from lane to lane.
        if !keys.is_sorted() {
            keys.sort_unstable();
        }
        let changes = keys.windows(2).filter(|pair| pair[0] != pair[1]).count();
        (changes + usize::from(count > 0)) as u64
    }

    /// Sectors at least and at most. Past the cache, a sector is read once for each sector that it is written to, and for each way that its
    /// halves are.
    pub fn sectors(&self) -> (u64, u64) {
        if !self.bypasses {
            let (count, _) = sectors(self.from, self.active, self.width);
            return (count, count);
        }
        match self.overlaps() {
            true => (1, u64::from(self.active.count_ones())),
            false => self.sectors_apart(),
        }
    }

    /// Likewise, past the cache, of a copy that does not [overlap](WarpCopy::overlaps). Only addresses modulo a sector count, and how far
    /// lanes are from each other.
    pub fn sectors_apart(&self) -> (u64, u64) {
        let count = self.distinct(|from, to| (from >> 5, to >> 5 << 1 | (from ^ to) >> 4 & 1));
        (count, count)
    }

    /// Wavefronts at least and at most. By way of the cache, a pass takes one more than the largest number of lanes that are in the way of
    /// one, reading or writing the same bank. Past it, each line is copied to each line by itself; pieces within them may be
    /// permuted by an exclusive or with one number.
    pub fn wavefronts(&self) -> (u64, u64) {
        if !self.bypasses {
            let of_pass = |pass| {
                WarpCopy {
                    active: self.active & pass,
                    ..*self
                }
                .conflicts()
            };
            let count = passes(Operation::CachedCopy, self.width, false)
                .map(of_pass)
                .sum();
            return (count, count);
        }
        match self.overlaps() {
            true => (1, u64::from(self.active.count_ones())),
            false => self.wavefronts_apart(),
        }
    }

    /// Likewise, past the cache, of a copy that does not [overlap](WarpCopy::overlaps).
    pub fn wavefronts_apart(&self) -> (u64, u64) {
        // Pairs of lines, each with a set of the numbers that pieces are permuted by.
        let mut pairs = [(0, 0, 0u8); 32];
        let mut lines = 0;
        let mut rest = self.active;
        while rest != 0 {
            let lane = rest.trailing_zeros() as usize;
            rest &= rest - 1;
            let (from, to) = (self.from[lane], self.to[lane]);
            let number = 1 << ((from ^ to) >> 4 & 7);
            let (from, to) = (from >> 7, to >> 7);
            // The last ones are the most likely.
            let mut found = pairs[..lines].iter_mut().rev();
            match found.find(|pair| (pair.0, pair.1) == (from, to)) {
                Some(pair) => pair.2 |= number,
                None => {
                    pairs[lines] = (from, to, number);
                    lines += 1;
                }
            }
        }
        let permuted = pairs[..lines].iter().map(|pair| pair.2.count_ones());
        (lines as u64, permuted.sum::<u32>().into())
    }

    fn conflicts(&self) -> u64 {
        let width = u64::from(self.width);
        let bank = |address: u64| address % 128 / width;
        let in_the_way = |lane: usize| {
            let others = self.lanes().filter(|&other| {
                bank(self.from[other]) == bank(self.from[lane])
                    || bank(self.to[other]) == bank(self.to[lane])
            });
            others.count() as u64
        };
        self.lanes().map(in_the_way).max().unwrap_or(0)
    }
}

/// Sectors of local memory that the lanes touch, and the least possible. A lane's words of four bytes lie 128 bytes apart, next to
/// the same words of the other lanes.
pub fn local_sectors(addresses: &[u64; 32], active: u32, width: u32) -> (u64, u64) {
    let mut sectors = Vec::new();
    for (lane, &address) in addresses.iter().enumerate() {
        if active >> lane & 1 != 0 {
            let last = address.wrapping_add(u64::from(width) - 1) >> 2;
            sectors.extend((address >> 2..=last).map(|word| (word, lane / 8)));
        }
    }
    sectors.sort_unstable();
    sectors.dedup();
    let words = u64::from(active.count_ones()) * u64::from(width.div_ceil(4));
    let count = sectors.len() as u64;
    (count, words.div_ceil(8).min(count))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn strided(stride: u64, base: u64) -> [u64; 32] {
        std::array::from_fn(|lane| base + lane as u64 * stride)
    }

    #[test]
    fn sectors_follow_the_measured_table() {
        for (stride, expected) in [
            (0, 1),
            (4, 4),
            (8, 8),
            (12, 12),
            (16, 16),
            (28, 28),
            (32, 32),
            (128, 32),
        ] {
            assert_eq!(
                sectors(&strided(stride, 0), u32::MAX, 4).0,
                expected,
                "{stride}"
            );
        }
        assert_eq!(sectors(&strided(4, 16), u32::MAX, 4), (5, 4));
        assert_eq!(sectors(&strided(0, 8), u32::MAX, 4), (1, 1));
        assert_eq!(sectors(&strided(2, 0), u32::MAX, 4), (3, 3));
        // Every other word, read by two lanes: no byte of the sectors is left out by some order of lanes.
        let even = std::array::from_fn(|lane| (lane as u64 & !1) * 4);
        assert_eq!(sectors(&even, u32::MAX, 4), (4, 4));
        assert_eq!(sectors(&strided(16, 0), u32::MAX, 16), (16, 16));
        assert_eq!(sectors(&strided(16, 16), u32::MAX, 16).0, 17);
        assert_eq!(sectors(&strided(4, 0), 0xff, 4), (1, 1));
        // A wild address, past which there is nothing.
        assert_eq!(sectors(&[u64::MAX - 1; 32], 1, 8), (1, 1));
    }

    #[test]
    fn the_same_offset_in_local_memory_is_coalesced() {
        assert_eq!(local_sectors(&strided(0, 8), u32::MAX, 4), (4, 4));
        assert_eq!(local_sectors(&strided(0, 8), u32::MAX, 16), (16, 16));
        assert_eq!(local_sectors(&strided(4, 0), u32::MAX, 4), (32, 4));
        assert_eq!(local_sectors(&strided(1, 0), u32::MAX, 1), (8, 4));
    }

    fn load(addresses: &[u64; 32], active: u32, width: u32) -> (u64, u64) {
        wavefronts(Operation::Load, addresses, active, width)
    }

    #[test]
    fn wavefronts_follow_the_measured_table() {
        for (stride, expected) in [(4, 1), (8, 2), (16, 4), (128, 32), (132, 1)] {
            assert_eq!(
                load(&strided(stride, 0), u32::MAX, 4).0,
                expected,
                "{stride}"
            );
        }
        assert_eq!(load(&strided(8, 0), u32::MAX, 8), (2, 2));
        assert_eq!(load(&strided(16, 0), u32::MAX, 8), (4, 2));
        assert_eq!(load(&strided(16, 0), u32::MAX, 16), (4, 4));
        assert_eq!(load(&strided(32, 0), u32::MAX, 16), (8, 4));
        assert_eq!(load(&strided(0, 0), u32::MAX, 4), (1, 1));
        // Half of the lanes would go together.
        assert_eq!(load(&strided(8, 0), 0x5555_5555, 8), (2, 1));
    }

    #[test]
    fn wide_loads_of_equal_pairs_take_half_as_many_passes() {
        let pairs = |width: u64| std::array::from_fn(|lane| lane as u64 / 2 * width);
        let alternating = |width: u64| std::array::from_fn(|lane| lane as u64 % 2 * width);
        let eight = |width: u64| std::array::from_fn(|lane| lane as u64 % 8 * width);
        for (width, expected) in [(8, 1), (16, 2)] {
            assert_eq!(load(&pairs(width.into()), u32::MAX, width).0, expected);
            assert_eq!(
                load(&alternating(width.into()), u32::MAX, width).0,
                expected
            );
            assert_eq!(load(&pairs(width.into()), 0x5555_5555, width).0, expected);
            assert_eq!(load(&eight(width.into()), u32::MAX, width).0, 2 * expected);
            let store = wavefronts(Operation::Store, &pairs(width.into()), u32::MAX, width);
            assert_eq!(store.0, 2 * expected);
        }
    }

    #[test]
    fn atomics_take_equal_words_one_by_one() {
        let of = |operation, addresses: &[u64; 32], width| {
            wavefronts(operation, addresses, u32::MAX, width)
        };
        assert_eq!(of(Operation::Atomic, &strided(0, 0), 4), (32, 1));
        assert_eq!(of(Operation::Atomic, &strided(8, 0), 8), (2, 2));
        assert_eq!(of(Operation::Atomic, &strided(0, 0), 8), (32, 2));
        assert_eq!(of(Operation::CompareAndSwap, &strided(4, 0), 4), (2, 2));
        assert_eq!(of(Operation::CompareAndSwap, &strided(8, 0), 8), (4, 4));
        assert_eq!(of(Operation::CompareAndSwap, &strided(0, 0), 8), (64, 4));
    }

    #[test]
    fn copies_follow_the_measured_table() {
        let of = |from: &[u64; 32], to: &[u64; 32], width, bypasses| {
            let copy = WarpCopy {
                from,
                to,
                active: u32::MAX,
                width,
                bypasses,
            };
            (copy.sectors().0, copy.wavefronts())
        };
        let (next, apart) = (strided(16, 0), strided(32, 0));
        assert_eq!(of(&next, &next, 16, true), (16, (4, 4)));
        assert_eq!(of(&next, &apart, 16, true), (32, (8, 32)));
        assert_eq!(of(&apart, &apart, 16, true), (32, (8, 8)));
        assert_eq!(of(&strided(16, 16), &next, 16, true).0, 32);
        assert_eq!(of(&apart, &next, 16, false), (32, (8, 8)));
        let (words, every_other) = (strided(4, 0), strided(8, 0));
        assert_eq!(of(&words, &words, 4, false), (4, (1, 1)));
        assert_eq!(of(&every_other, &words, 4, false), (8, (2, 2)));
        assert_eq!(of(&every_other, &every_other, 4, false), (8, (2, 2)));
        assert_eq!(of(&strided(0, 0), &strided(32, 0), 4, false), (1, (32, 32)));
        let eight: [u64; 32] = std::array::from_fn(|lane| lane as u64 % 8 * 4);
        let swizzled = std::array::from_fn(|lane| {
            (lane as u64 >> 3) * 128 + ((lane as u64 & 7) ^ (lane as u64 >> 3)) * 4
        });
        assert_eq!(of(&eight, &swizzled, 4, false), (1, (7, 7)));
    }
}
