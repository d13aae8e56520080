//! Iteration over the swiss design.

use super::header::Header;
use crate::group::{Group, WIDTH, less_one};
use crate::raw::Slot;
use core::marker::PhantomData;
use core::num::NonZeroU64;
use core::ptr::NonNull;

/// Iterator over the used buckets in the order of their addresses, 64 at a time.
pub struct RawIter<K, V> {
    /// The slot that the lowest bit of `pending` and `other` stands for; those of higher bits lie after it.
    slots: *mut u8,
    /// Buckets still to yield, about every second of them in `other`. Taking the lowest bit off a word twice in a row waits for
    /// the first to be done; taking turns between two words does not.
    pending: u64,
    other: u64,
    /// Those of the 64 buckets after, found early so that nothing waits for them.
    next: (u64, u64),
    /// The tags of `next`, and the table's first ones: slots lie in memory the other way round than their tags, so the last
    /// tags come first.
    tags: *const u8,
    end: *const u8,
    entries: PhantomData<Slot<K, V>>,
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

/// Every second bit, from the lowest on.
const EVEN: u64 = u64::MAX / 3;

/// One bit for each of 64 tags that is used, the last tag's lowest: slots lie in memory the other way round than their tags.
/// Every second one in another word.
///
/// # Safety
///
/// 64 bytes must be readable.
#[inline(always)]
unsafe fn used_64(tags: *const u8) -> (u64, u64) {
    // SAFETY: the caller vouches for the bytes.
    let pairs = unsafe {
        let free = |at: usize| u64::from(Group::load(tags.add(at)).pairs_reversed().free());
        !(free(48) | free(32) << 16 | free(16) << 32 | free(0) << 48)
    };
    (pairs >> 1 & EVEN, (pairs & EVEN) << 1)
}

/// As `used_64`, but dealt out in turn.
///
/// # Safety
///
/// 64 bytes must be readable.
#[inline(always)]
unsafe fn used_64_in_turn(tags: *const u8) -> (u64, u64) {
    // SAFETY: the caller vouches for the bytes.
    let (even, odd) = unsafe { used_64(tags) };
    deal(even | odd)
}

/// How many tags from one to another are used.
///
/// # Safety
///
/// The tags must be readable, and a multiple of sixteen.
#[cold]
#[inline(never)]
unsafe fn count_used(mut from: *const u8, to: *const u8) -> usize {
    let mut count = 0;
    while from != to {
        // SAFETY: the caller vouches for the tags.
        unsafe {
            count += Group::load(from).used().count_ones() as usize;
            from = from.add(WIDTH);
        }
    }
    count
}

impl<K, V> RawIter<K, V> {
    #[inline]
    pub(super) fn new(header: &Header) -> Self {
        let tags = header.tags.as_ptr();
        let mut iter = Self {
            slots: tags,
            pending: 0,
            other: 0,
            next: (0, 0),
            tags,
            end: tags,
            entries: PhantomData,
        };
        let mask = header.mask as usize;
        // SAFETY: a table has so many tags, and sixteen can be read even of none. It has slots for its entries, and a large one
        // 64.
        unsafe {
            if mask < WIDTH {
                let mut used = u64::from(Group::load(tags).used());
                let mut slots = header.len as usize;
                if used & (used + 1) != 0 {
                    // Something was erased; else the used buckets are the first ones.
                    crate::cold();
                    used = used.reverse_bits() >> (63 - mask);
                    slots = mask + 1;
                }
                iter.slots = tags.sub(slots * Slot::<K, V>::STRIDE);
                (iter.pending, iter.other) = (used & EVEN, used & !EVEN);
            } else {
                iter.slots = tags.sub((mask + 1) * Slot::<K, V>::STRIDE);
                iter.tags = tags.add(mask - 63);
                (iter.pending, iter.other) = used_64(iter.tags);
                if mask != 63 {
                    iter.tags = iter.tags.sub(64);
                    iter.next = used_64_in_turn(iter.tags);
                }
            }
        }
        iter
    }

    /// Goes on to buckets that have entries; whether there are any. One of the words is empty.
    #[inline(always)]
    fn refill(&mut self) -> bool {
        let rest = self.pending | self.other;
        if rest != 0 {
            (self.pending, self.other) = (rest, 0);
            return true;
        }
        loop {
            (self.pending, self.other) = self.next;
            // SAFETY: a multiple of 64 tags is left. Slots are only gone to where there are some.
            unsafe {
                if self.tags != self.end {
                    self.tags = self.tags.sub(64);
                    self.next = used_64_in_turn(self.tags);
                } else if self.pending != 0 {
                    self.next = (0, 0);
                } else {
                    return false;
                }
                self.slots = self.slots.add(64 * Slot::<K, V>::STRIDE);
            }
            if self.pending != 0 {
                return true;
            }
        }
    }

    /// The slot of the lowest bit.
    ///
    /// # Safety
    ///
    /// The bits must be `pending` or `other`, and not zero.
    #[inline(always)]
    unsafe fn slot(&self, bits: u64) -> NonNull<Slot<K, V>> {
        // SAFETY: there is a bit, and it stands for a used bucket of the table.
        unsafe {
            let place = NonZeroU64::new_unchecked(bits).trailing_zeros() as usize;
            NonNull::new_unchecked(self.slots.add(place * Slot::<K, V>::STRIDE).cast())
        }
    }
}

impl<K, V> Iterator for RawIter<K, V> {
    type Item = NonNull<Slot<K, V>>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let (mut less, none) = less_one(self.pending);
        if none {
            crate::cold();
            if !self.refill() {
                return None;
            }
            less = self.pending - 1;
        }
        let bits = self.pending;
        self.pending = self.other;
        self.other = bits & less;
        // SAFETY: there are bits.
        Some(unsafe { self.slot(bits) })
    }

    /// As by `next`, but with both words in turn, so that neither has to be exchanged for the other.
    #[inline]
    fn fold<B, F: FnMut(B, Self::Item) -> B>(mut self, initial: B, mut f: F) -> B {
        let mut folded = initial;
        let last = self.pending | self.other;
        if last & (last.wrapping_add(1)) == 0 && self.tags == self.end && self.next == (0, 0) {
            // The slots of a small table of which nothing was erased lie side by side.
            let count = last.trailing_ones() as usize;
            let mut slot = self.slots;
            for _ in 0..count {
                // SAFETY: these are the slots that `next` would yield.
                unsafe {
                    folded = f(folded, NonNull::new_unchecked(slot.cast()));
                    slot = slot.add(Slot::<K, V>::STRIDE);
                }
            }
            return folded;
        }
        loop {
            loop {
                let (less, none) = less_one(self.pending);
                if none {
                    break;
                }
                // SAFETY: there are bits.
                folded = f(folded, unsafe { self.slot(self.pending) });
                self.pending &= less;
                let (less, none) = less_one(self.other);
                if none {
                    break;
                }
                // SAFETY: there are bits.
                folded = f(folded, unsafe { self.slot(self.other) });
                self.other &= less;
            }
            crate::cold();
            if !self.refill() {
                return folded;
            }
        }
    }

    /// Counted from the tags, so that stepping need not count.
    fn size_hint(&self) -> (usize, Option<usize>) {
        let mut left = (self.pending | self.other).count_ones() as usize;
        left += (self.next.0 | self.next.1).count_ones() as usize;
        if self.tags != self.end {
            // SAFETY: a multiple of 64 tags is left.
            left += unsafe { count_used(self.end, self.tags) };
        }
        (left, Some(left))
    }
}

/// The same by little code and more slowly, sixteen buckets at a time: for what is done once in a table's life, such as dropping it.
pub(super) struct Compact<K, V> {
    tags: NonNull<u8>,
    /// Used buckets of the sixteen from `first` on.
    used: u32,
    first: usize,
    buckets: usize,
    entries: PhantomData<Slot<K, V>>,
}

impl<K, V> Compact<K, V> {
    #[inline]
    pub(super) fn new(header: &Header) -> Self {
        Self {
            tags: header.tags,
            // SAFETY: sixteen tags can be read even of no table.
            used: unsafe { Group::load(header.tags.as_ptr()) }.used(),
            first: 0,
            buckets: header.buckets(),
            entries: PhantomData,
        }
    }
}

impl<K, V> Iterator for Compact<K, V> {
    type Item = NonNull<Slot<K, V>>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        // SAFETY: the tags of a table of more than sixteen buckets are a multiple of sixteen, and bits stand for used buckets.
        unsafe {
            while self.used == 0 {
                self.first += WIDTH;
                if self.first >= self.buckets {
                    return None;
                }
                self.used = Group::load(self.tags.as_ptr().add(self.first)).used();
            }
            let index = self.first + self.used.trailing_zeros() as usize;
            self.used &= self.used - 1;
            Some(self.tags.sub((index + 1) * Slot::<K, V>::STRIDE).cast())
        }
    }
}
