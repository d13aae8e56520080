//! Iteration over the swiss design.

use super::header::Header;
use crate::group::{Group, WIDTH, less_one};
use crate::raw::Slot;
use core::marker::PhantomData;
use core::num::NonZeroU64;
use core::ptr::NonNull;

/// Iterator over the used buckets, 64 at a time.
pub struct RawIter<K, V> {
    /// The end of the slot that the lowest bit of `pending` and `other` stands for; those of higher bits lie before it.
    slots: NonNull<u8>,
    /// Buckets still to yield, every second of them in `other`. Taking the lowest bit off a word twice in a row waits for the
    /// first to be done; taking turns between two words does not.
    pending: u64,
    other: u64,
    /// Those of the 64 buckets after, found early so that nothing waits for them.
    next: (u64, u64),
    /// The tags after those of `next`, and their end.
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

/// One bit for each of 64 tags that is used.
///
/// # Safety
///
/// 64 bytes must be readable.
#[inline(always)]
unsafe fn used_64(tags: *const u8) -> u64 {
    // SAFETY: the caller vouches for the bytes.
    unsafe {
        let part = |at: usize| (Group::load(tags.add(at)).used() as u64) << at;
        part(0) | part(16) | part(32) | part(48)
    }
}

impl<K, V> RawIter<K, V> {
    #[inline]
    pub(super) fn new(header: &Header) -> Self {
        let tags = header.tags.as_ptr().cast_const();
        let buckets = header.buckets();
        // SAFETY: so many tags are there; the first sixteen always.
        let (used, next, seen) = unsafe {
            match buckets {
                ..=WIDTH => (u64::from(Group::load(tags).used()), 0, buckets),
                64 => (used_64(tags), 0, 64),
                _ => (used_64(tags), used_64(tags.add(64)), 128),
            }
        };
        let (pending, other) = deal(used);
        Self {
            slots: header.tags,
            pending,
            other,
            next: deal(next),
            // SAFETY: so many tags are there, or sixteen of no table.
            tags: unsafe { tags.add(seen) },
            // SAFETY: as above.
            end: unsafe { tags.add(buckets) },
            entries: PhantomData,
        }
    }

    /// Goes on to the next 64 buckets that have entries; whether there are any.
    #[inline(always)]
    fn refill(&mut self) -> bool {
        loop {
            (self.pending, self.other) = self.next;
            // SAFETY: a multiple of 64 tags is left. Slots are only gone to where there are some.
            unsafe {
                if self.tags != self.end {
                    self.next = deal(used_64(self.tags));
                    self.tags = self.tags.add(64);
                } else if self.pending != 0 {
                    self.next = (0, 0);
                } else {
                    return false;
                }
                self.slots = self.slots.sub(64 * Slot::<K, V>::STRIDE);
            }
            if self.pending != 0 {
                return true;
            }
        }
    }
}

impl<K, V> Iterator for RawIter<K, V> {
    type Item = NonNull<Slot<K, V>>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let (less, none) = less_one(self.pending);
            if !none {
                // SAFETY: there are bits.
                let bits = unsafe { NonZeroU64::new_unchecked(self.pending) };
                self.pending = self.other;
                self.other = bits.get() & less;
                let place = bits.trailing_zeros() as usize;
                // SAFETY: the bit stands for a used bucket of the table.
                return Some(unsafe { self.slots.sub((place + 1) * Slot::<K, V>::STRIDE).cast() });
            }
            crate::cold();
            if !self.refill() {
                return None;
            }
        }
    }

    /// Counted from the tags, so that stepping need not count.
    fn size_hint(&self) -> (usize, Option<usize>) {
        let mut left = (self.pending | self.other).count_ones() as usize;
        left += (self.next.0 | self.next.1).count_ones() as usize;
        let mut tags = self.tags;
        while tags != self.end {
            // SAFETY: a multiple of 64 tags is left.
            unsafe {
                left += used_64(tags).count_ones() as usize;
                tags = tags.add(64);
            }
        }
        (left, Some(left))
    }
}
