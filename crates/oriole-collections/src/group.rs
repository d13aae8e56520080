//! A window of sixteen tags examined at once.
//!
//! The tag of a free bucket has its top bit set, that of a used one has not, so that finding free buckets takes no
//! comparison. Lists have wide tags of 16 bits, zero where unused. On x86-64 a window is one SSE2 register,
//! which every such processor has; elsewhere it is a 128-bit integer with the usual byte-parallel arithmetic. A test
//! holds the two against each other.

/// The tag of a bucket that was never used since the last rehash, or whose emptying no lookup can notice.
pub(crate) const UNUSED: u8 = 0xFF;
/// The tag of an erased bucket that lookups must pass over.
pub(crate) const ERASED: u8 = 0x80;

/// Tags per window.
pub(crate) const WIDTH: usize = 16;

#[cfg(all(target_arch = "x86_64", target_feature = "sse2", not(miri)))]
mod imp {
    use std::arch::x86_64::{
        __m128i, _MM_HINT_T0, _mm_and_si128, _mm_cmpeq_epi8, _mm_cmpeq_epi16, _mm_loadu_si128,
        _mm_movemask_epi8, _mm_or_si128, _mm_packs_epi16, _mm_prefetch, _mm_set1_epi8,
        _mm_set1_epi16, _mm_setr_epi16, _mm_storeu_si128,
    };

    /// Sixteen tags.
    #[derive(Clone, Copy)]
    pub(crate) struct Group(__m128i);

    impl Group {
        /// # Safety
        ///
        /// Sixteen bytes must be readable at `tags`.
        #[inline(always)]
        pub(crate) unsafe fn load(tags: *const u8) -> Self {
            // SAFETY: the caller vouches for the bytes; the load needs no alignment.
            Self(unsafe { _mm_loadu_si128(tags.cast()) })
        }

        /// One bit per tag equal to `tag`.
        #[inline(always)]
        pub(crate) fn matching(self, tag: u8) -> u32 {
            // SAFETY: SSE2 is part of the target.
            unsafe { _mm_movemask_epi8(_mm_cmpeq_epi8(self.0, _mm_set1_epi8(tag as i8))) as u32 }
        }

        /// One bit per tag of a free bucket, unused or erased.
        #[inline(always)]
        pub(crate) fn free(self) -> u32 {
            // SAFETY: SSE2 is part of the target.
            unsafe { _mm_movemask_epi8(self.0) as u32 }
        }
    }

    /// One bit per wide tag equal to `tag`.
    #[inline(always)]
    pub(crate) fn matching_wide(tags: &[u16; 16], tag: u16) -> u32 {
        // SAFETY: SSE2 is part of the target, and the two loads cover the array.
        unsafe {
            let wanted = _mm_set1_epi16(tag as i16);
            let low = _mm_cmpeq_epi16(_mm_loadu_si128(tags.as_ptr().cast()), wanted);
            let high = _mm_cmpeq_epi16(_mm_loadu_si128(tags.as_ptr().add(8).cast()), wanted);
            _mm_movemask_epi8(_mm_packs_epi16(low, high)) as u32
        }
    }

    /// Sets a wide tag that is zero, by writing the whole half of the array it lies in: a lookup that follows reads whole
    /// halves, and a processor cannot forward part of what it reads from a narrower write still under way.
    #[inline(always)]
    pub(crate) fn set_wide(tags: &mut [u16; 16], position: usize, tag: u16) {
        debug_assert!(tags[position] == 0);
        // SAFETY: SSE2 is part of the target; the half lies within the array whatever the position.
        unsafe {
            let half: *mut __m128i = tags.as_mut_ptr().add(position & 8).cast();
            let lanes = _mm_setr_epi16(0, 1, 2, 3, 4, 5, 6, 7);
            let lane = _mm_cmpeq_epi16(lanes, _mm_set1_epi16((position & 7) as i16));
            let set = _mm_and_si128(lane, _mm_set1_epi16(tag as i16));
            _mm_storeu_si128(half, _mm_or_si128(_mm_loadu_si128(half), set));
        }
    }

    /// Starts fetching the cache line at an address, which need not be valid.
    #[inline(always)]
    pub(crate) fn prefetch<T>(address: *const T) {
        // SAFETY: a prefetch accesses nothing architecturally, whatever the address.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(address.cast()) }
    }
}

#[cfg(any(
    test,
    not(all(target_arch = "x86_64", target_feature = "sse2", not(miri)))
))]
mod generic {
    /// Sixteen tags.
    #[derive(Clone, Copy)]
    pub(crate) struct Group(u128);

    const LOW: u128 = u128::from_ne_bytes([0x01; 16]);
    const HIGH: u128 = u128::from_ne_bytes([0x80; 16]);

    /// Gathers the top bit of each byte.
    #[inline(always)]
    fn gather(tops: u128) -> u32 {
        let half = |word: u64| (word >> 7).wrapping_mul(0x0102_0408_1020_4080) >> 56;
        (half(tops as u64) | half((tops >> 64) as u64) << 8) as u32
    }

    impl Group {
        /// # Safety
        ///
        /// Sixteen bytes must be readable at `tags`.
        #[inline(always)]
        pub(crate) unsafe fn load(tags: *const u8) -> Self {
            // SAFETY: the caller vouches for the bytes.
            Self(u128::from_le_bytes(unsafe {
                tags.cast::<[u8; 16]>().read()
            }))
        }

        /// One bit per tag equal to `tag`.
        #[inline(always)]
        pub(crate) fn matching(self, tag: u8) -> u32 {
            let different = self.0 ^ (LOW * tag as u128);
            // Exact zero-byte test: no carry crosses a byte.
            let nonzero = ((different & !HIGH) + !HIGH) | different;
            gather(!nonzero & HIGH)
        }

        /// One bit per tag of a free bucket, unused or erased.
        #[inline(always)]
        pub(crate) fn free(self) -> u32 {
            gather(self.0 & HIGH)
        }
    }

    /// One bit per wide tag equal to `tag`.
    #[inline(always)]
    pub(crate) fn matching_wide(tags: &[u16; 16], tag: u16) -> u32 {
        let mut mask = 0;
        for (position, &other) in tags.iter().enumerate() {
            mask |= u32::from(other == tag) << position;
        }
        mask
    }

    /// Sets a wide tag that is zero.
    #[inline(always)]
    #[allow(dead_code)]
    pub(crate) fn set_wide(tags: &mut [u16; 16], position: usize, tag: u16) {
        debug_assert!(tags[position] == 0);
        tags[position] = tag;
    }

    /// Does nothing here.
    #[inline(always)]
    #[allow(dead_code)]
    pub(crate) fn prefetch<T>(_: *const T) {}
}

#[cfg(not(all(target_arch = "x86_64", target_feature = "sse2", not(miri))))]
pub(crate) use generic::{Group, matching_wide, prefetch, set_wide};
#[cfg(all(target_arch = "x86_64", target_feature = "sse2", not(miri)))]
pub(crate) use imp::{Group, matching_wide, prefetch, set_wide};

#[cfg(test)]
mod tests {
    use super::{Group, generic};
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn both_implementations_agree_with_a_byte_loop(
            bytes in prop::array::uniform16(prop_oneof![Just(0xFFu8), 0u8..4, any::<u8>()]),
            tag in 0u8..4,
        ) {
            let mask = |test: &dyn Fn(u8) -> bool| {
                bytes.iter().enumerate().map(|(i, &b)| (test(b) as u32) << i).sum::<u32>()
            };
            // SAFETY: sixteen bytes are readable.
            let (fast, slow) = unsafe { (Group::load(bytes.as_ptr()), generic::Group::load(bytes.as_ptr())) };
            prop_assert_eq!(fast.matching(tag), mask(&|b| b == tag));
            prop_assert_eq!(slow.matching(tag), mask(&|b| b == tag));
            prop_assert_eq!(fast.free(), mask(&|b| b >= 0x80));
            prop_assert_eq!(slow.free(), mask(&|b| b >= 0x80));
        }

        #[test]
        fn wide_tags_too(words in prop::array::uniform16(0u16..4), tag in 0u16..4) {
            let expected: u32 = words.iter().enumerate().map(|(i, &w)| u32::from(w == tag) << i).sum();
            prop_assert_eq!(super::matching_wide(&words, tag), expected);
            prop_assert_eq!(generic::matching_wide(&words, tag), expected);
            for position in (0..16).filter(|&position| words[position] == 0) {
                let mut changed = words;
                super::set_wide(&mut changed, position, 9);
                let mut model = words;
                model[position] = 9;
                prop_assert_eq!(changed, model);
            }
        }
    }
}
