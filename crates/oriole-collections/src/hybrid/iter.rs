//! Iteration over the hybrid design.

use crate::group::{Group, less_one};
use crate::raw::Slot;
use std::mem::MaybeUninit;
use std::num::NonZeroU64;
use std::ptr::NonNull;

/// Iterator over the entries of a list, or over the used buckets of a large table, 64 at a time.
///
/// Which of the two it is never changes, so that a compiler makes two loops of a loop over it.
pub struct RawIter<K, V> {
    /// The next entry of a list; the slot that the lowest bit of `pending` and `other` stands for.
    slots: NonNull<Slot<K, V>>,
    /// How many entries of a list are left. Of a large table: buckets still to yield, every second of them in `other`. Taking
    /// the lowest bit off a word twice in a row waits for the first to be done; taking turns between two words does not.
    pending: u64,
    other: u64,
    /// Those of the 64 buckets after, found early so that nothing waits for them.
    next: (u64, u64),
    /// The tags after those of `pending` and `other`, up to `end`, which is null for a list.
    tags: *const u8,
    end: *const u8,
}

impl<K, V> Clone for RawIter<K, V> {
    fn clone(&self) -> Self {
        Self { ..*self }
    }
}

/// Deals out the bits that are set, from the lowest on: the first, third, fifth and so on, and the others.
#[inline(always)]
fn deal(bits: u64) -> (u64, u64) {
    // Whether an odd number of bits is set up to each one.
    let mut odd = bits;
    for shift in [1, 2, 4, 8, 16, 32] {
        odd ^= odd << shift;
    }
    (bits & odd, bits & !odd)
}

/// For each value of eight bits: which of them are set, from the lowest on, and how many.
const PLACES: [([u8; 8], u8); 256] = {
    let mut table = [([0; 8], 0); 256];
    let mut bits = 0;
    while bits < 256 {
        let mut place = 0;
        while place < 8 {
            if bits >> place & 1 != 0 {
                let (places, count) = &mut table[bits];
                places[*count as usize] = place;
                *count += 1;
            }
            place += 1;
        }
        bits += 1;
    }
    table
};

/// Writes which bits are set, from the lowest on and counted from `base`, and returns how many.
///
/// # Safety
///
/// There must be room for eight more places than bits are set.
#[inline(always)]
unsafe fn expand(word: u64, base: u8, places: *mut u8) -> usize {
    let mut count = 0;
    for (index, bits) in word.to_le_bytes().into_iter().enumerate() {
        let (eight, ones) = &PLACES[bits as usize];
        let eight = u64::from_le_bytes(*eight)
            .wrapping_add(0x0101_0101_0101_0101 * (u64::from(base) + 8 * index as u64));
        // SAFETY: `count` places are written so far; the caller vouches for eight more.
        unsafe {
            places
                .add(count)
                .cast::<[u8; 8]>()
                .write(eight.to_le_bytes())
        };
        count += *ones as usize;
    }
    count
}

/// One bit for each of 64 tags that is used.
#[inline(always)]
pub(super) unsafe fn used_64(tags: *const u8) -> u64 {
    // SAFETY: the caller vouches for 64 readable bytes.
    unsafe {
        let part = |at: usize| (Group::load(tags.add(at)).used() as u64) << at;
        part(0) | part(16) | part(32) | part(48)
    }
}

impl<K, V> RawIter<K, V> {
    /// Over the first `len` slots.
    #[inline(always)]
    pub(super) fn list(slots: NonNull<Slot<K, V>>, len: usize) -> Self {
        Self {
            slots,
            pending: len as u64,
            other: 0,
            next: (0, 0),
            tags: std::ptr::null(),
            end: std::ptr::null(),
        }
    }

    /// Over those of at most 64 slots that have a bit.
    #[inline(always)]
    pub(super) fn medium(slots: NonNull<Slot<K, V>>, used: u64) -> Self {
        let (pending, other) = deal(used);
        let none = slots.as_ptr().cast_const().cast();
        Self {
            slots,
            pending,
            other,
            next: (0, 0),
            tags: none,
            end: none,
        }
    }

    /// Over the buckets of a large table.
    ///
    /// # Safety
    ///
    /// There must be so many slots and tags, a multiple of 128.
    #[inline(always)]
    pub(super) unsafe fn large(
        slots: NonNull<Slot<K, V>>,
        tags: *const u8,
        buckets: usize,
    ) -> Self {
        // SAFETY: the caller vouches for the tags.
        unsafe {
            let (pending, other) = deal(used_64(tags));
            Self {
                slots,
                pending,
                other,
                next: deal(used_64(tags.add(64))),
                tags: tags.add(128),
                end: tags.add(buckets),
            }
        }
    }
}

impl<K, V> RawIter<K, V> {
    /// As `fold` for what is not a list, and in the same order as `next`, with the places of 128 tags found first: a loop over them
    /// has no bits to take off one by one, and ends less often. Apart, so that lists do without its stack.
    #[inline(never)]
    fn fold_bits<B, F: FnMut(B, NonNull<Slot<K, V>>) -> B>(
        mut slots: NonNull<Slot<K, V>>,
        (mut used, mut next): (u64, u64),
        mut tags: *const u8,
        end: *const u8,
        init: B,
        mut f: F,
    ) -> B {
        let mut result = init;
        // SAFETY: each bit stands for a used bucket, and a multiple of 128 tags is left when it is not none.
        unsafe {
            while used | next != 0 || tags != end {
                // Of these 64 tags, and of the next if there are any.
                let mut places = MaybeUninit::<[u8; 128 + 8]>::uninit();
                let places = places.as_mut_ptr().cast::<u8>();
                let mut count = expand(used, 0, places);
                if next != 0 {
                    count += expand(next, 64, places.add(count));
                }
                let here = slots;
                (used, next) = (0, 0);
                if tags != end {
                    (used, next) = (used_64(tags), used_64(tags.add(64)));
                    tags = tags.add(128);
                    slots = slots.add(128);
                }
                for index in 0..count {
                    result = f(result, here.add(*places.add(index) as usize));
                }
            }
        }
        result
    }
}

impl<K, V> Iterator for RawIter<K, V> {
    type Item = NonNull<Slot<K, V>>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        if self.end.is_null() {
            if self.pending == 0 {
                return None;
            }
            self.pending -= 1;
            let slot = self.slots;
            // SAFETY: there was an entry left, and the slot after it is at most one past the last.
            self.slots = unsafe { slot.add(1) };
            return Some(slot);
        }
        loop {
            let (less, none) = less_one(self.pending);
            if !none {
                // SAFETY: there are bits.
                let bits = unsafe { NonZeroU64::new_unchecked(self.pending) };
                self.pending = self.other;
                self.other = bits.get() & less;
                // SAFETY: the bit stands for a used bucket of the table.
                return Some(unsafe { self.slots.add(bits.trailing_zeros() as usize) });
            }
            super::cold();
            (self.pending, self.other) = self.next;
            // SAFETY: a large table has a multiple of 64 tags, and slots for those in `next` too.
            unsafe {
                if self.tags != self.end {
                    self.next = deal(used_64(self.tags));
                    self.tags = self.tags.add(64);
                } else if self.pending != 0 {
                    self.next = (0, 0);
                } else {
                    return None;
                }
                self.slots = self.slots.add(64);
            }
        }
    }

    #[inline]
    fn fold<B, F: FnMut(B, Self::Item) -> B>(self, init: B, mut f: F) -> B {
        let mut result = init;
        if self.end.is_null() {
            for index in 0..self.pending as usize {
                // SAFETY: so many entries are left.
                result = f(result, unsafe { self.slots.add(index) });
            }
            return result;
        }
        let used = (self.pending | self.other, self.next.0 | self.next.1);
        Self::fold_bits(self.slots, used, self.tags, self.end, result, f)
    }

    /// Counted from the tags, so that stepping need not count.
    fn size_hint(&self) -> (usize, Option<usize>) {
        if self.end.is_null() {
            let left = self.pending as usize;
            return (left, Some(left));
        }
        let mut left = (self.pending | self.other).count_ones() as usize;
        left += (self.next.0 | self.next.1).count_ones() as usize;
        let mut tags = self.tags;
        while tags != self.end {
            // SAFETY: as in `next`.
            unsafe {
                left += used_64(tags).count_ones() as usize;
                tags = tags.add(64);
            }
        }
        (left, Some(left))
    }
}
