//! A window of sixteen tags examined at once.
//!
//! Tags have all eight bits of a byte but for two values, which free buckets have. On x86-64 a window is one SSE2
//! register, which every such processor has; elsewhere it is a 128-bit integer with the usual byte-parallel arithmetic. A test holds the two against each other.
//!
//! The integer holds the first tag in its least byte on every machine. `miri.sh` runs the test on big-endian s390x too, and a lint
//! forbids the machine's own byte order in this crate.

/// The tag of a bucket that was never used since the last rehash, or whose emptying no lookup can notice.
pub(crate) const UNUSED: u8 = 0;
/// The tag of an erased bucket that lookups must pass over.
pub(crate) const ERASED: u8 = 1;
/// The least tag of a used bucket.
pub(crate) const LEAST: u8 = 2;

/// The tag of a hash: eight bits from its top, which home does not use.
///
/// Seven and a bit for free buckets save an instruction, and double the false matches.
#[inline(always)]
pub(crate) fn tag_of(hash: u64) -> u8 {
    ((hash >> 56) as u8).max(LEAST)
}

/// Tags per window.
pub(crate) const WIDTH: usize = 16;

#[cfg(all(target_arch = "x86_64", target_feature = "sse2"))]
mod imp {
    use super::{ERASED, LEAST, UNUSED};
    use core::arch::x86_64::{
        __m128i, _MM_HINT_T0, _mm_and_si128, _mm_andnot_si128, _mm_cmpeq_epi8, _mm_cvtsi64_si128,
        _mm_loadu_si128, _mm_max_epu8, _mm_movemask_epi8, _mm_or_si128, _mm_prefetch,
        _mm_set1_epi8, _mm_setzero_si128, _mm_shuffle_epi32, _mm_shufflehi_epi16,
        _mm_shufflelo_epi16, _mm_storeu_si128, _mm_subs_epu8, _mm_unpacklo_epi8, _subborrow_u64,
    };

    /// Sixteen tags.
    #[derive(Clone, Copy)]
    pub(crate) struct Group(__m128i);

    /// All ones in the middle: the sixteen bytes from `16 - n` on have them in byte `n`.
    const LANE: [u8; 32] = {
        let mut lanes = [0; 32];
        lanes[16] = 0xFF;
        lanes
    };

    impl Group {
        /// The same with one tag another.
        #[inline(always)]
        pub(crate) fn with(self, lane: usize, tag: u8) -> Self {
            debug_assert!(lane < 16);
            // SAFETY: SSE2 is part of the target; the mask lies within the array whatever the lane.
            unsafe {
                let mask = _mm_loadu_si128(
                    (&raw const *(const { &LANE }))
                        .cast::<u8>()
                        .add(16 - (lane & 15))
                        .cast(),
                );
                let tag = _mm_and_si128(mask, _mm_set1_epi8(tag as i8));
                Self(_mm_or_si128(_mm_andnot_si128(mask, self.0), tag))
            }
        }

        /// Writes the tags.
        ///
        /// # Safety
        ///
        /// Sixteen bytes must be writable at `tags`.
        #[inline(always)]
        pub(crate) unsafe fn store(self, tags: *mut u8) {
            // SAFETY: the caller vouches for the bytes; the store needs no alignment.
            unsafe { _mm_storeu_si128(tags.cast(), self.0) };
        }

        /// # Safety
        ///
        /// Sixteen bytes must be readable at `tags`.
        #[inline(always)]
        pub(crate) unsafe fn load(tags: *const u8) -> Self {
            // SAFETY: the caller vouches for the bytes; the load needs no alignment.
            Self(unsafe { _mm_loadu_si128(tags.cast()) })
        }

        /// The eight pairs of tags the other way round, each pair as it is.
        #[inline(always)]
        pub(crate) fn pairs_reversed(self) -> Self {
            // SAFETY: SSE2 is part of the target.
            unsafe {
                let halves = _mm_shuffle_epi32::<0b01_00_11_10>(self.0);
                let words = _mm_shufflelo_epi16::<0b00_01_10_11>(halves);
                Self(_mm_shufflehi_epi16::<0b00_01_10_11>(words))
            }
        }

        /// One bit per tag that is the wanted one. Of sixteen bits and no more: a compiler would clear the others again.
        #[inline(always)]
        pub(crate) fn matching(self, wanted: Narrow) -> u16 {
            // SAFETY: SSE2 is part of the target.
            unsafe { _mm_movemask_epi8(_mm_cmpeq_epi8(self.0, wanted.0)) as u16 }
        }

        /// One bit per tag of an unused bucket.
        #[inline(always)]
        pub(crate) fn unused(self) -> u32 {
            // SAFETY: SSE2 is part of the target.
            unsafe { _mm_movemask_epi8(_mm_cmpeq_epi8(self.0, _mm_set1_epi8(UNUSED as i8))) as u32 }
        }

        /// One bit per tag of a free bucket, unused or erased.
        #[inline(always)]
        pub(crate) fn free(self) -> u32 {
            // SAFETY: SSE2 is part of the target.
            unsafe {
                let above = _mm_subs_epu8(self.0, _mm_set1_epi8(ERASED as i8));
                _mm_movemask_epi8(_mm_cmpeq_epi8(above, _mm_setzero_si128())) as u32
            }
        }

        /// One bit per tag of a used bucket.
        #[inline(always)]
        pub(crate) fn used(self) -> u32 {
            // SAFETY: SSE2 is part of the target.
            unsafe {
                let most = _mm_max_epu8(self.0, _mm_set1_epi8(LEAST as i8));
                _mm_movemask_epi8(_mm_cmpeq_epi8(self.0, most)) as u32
            }
        }
    }

    /// A tag looked for, sixteen times.
    #[derive(Clone, Copy)]
    pub(crate) struct Narrow(__m128i);

    impl Narrow {
        /// The tag of a hash.
        #[inline(always)]
        pub(crate) fn of(hash: u64) -> Self {
            // SAFETY: SSE2 is part of the target.
            unsafe {
                // The top byte twice, four times, sixteen times.
                let bytes = _mm_cvtsi64_si128(hash as i64);
                let top = _mm_shufflehi_epi16::<0xFF>(_mm_unpacklo_epi8(bytes, bytes));
                let top = _mm_shuffle_epi32::<0xFF>(top);
                Self(_mm_max_epu8(top, _mm_set1_epi8(LEAST as i8)))
            }
        }
    }

    /// Begins to fetch the line of an address, which need not be one of memory, into the cache.
    #[inline(always)]
    pub(crate) fn fetch(address: *const u8) {
        // SAFETY: a fetch accesses nothing, and does nothing where there is no memory.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(address.cast()) };
    }

    /// A word less one, and whether it was zero, by one subtraction: a compiler would make two instructions of it again if it
    /// knew that the borrow of the subtraction says just this.
    #[inline(always)]
    pub(crate) fn less_one(word: u64) -> (u64, bool) {
        let mut less = 0;
        let borrow = _subborrow_u64(0, word, 1, &mut less);
        (less, borrow != 0)
    }
}

#[cfg(any(test, not(all(target_arch = "x86_64", target_feature = "sse2"))))]
mod generic {
    use super::{ERASED, UNUSED, tag_of};

    /// Sixteen tags.
    #[derive(Clone, Copy)]
    pub(crate) struct Group(u128);

    const LOW: u128 = u128::from_le_bytes([0x01; 16]);
    const HIGH: u128 = u128::from_le_bytes([0x80; 16]);

    /// Gathers the top bit of each byte.
    #[inline(always)]
    fn gather(tops: u128) -> u32 {
        let half = |word: u64| (word >> 7).wrapping_mul(0x0102_0408_1020_4080) >> 56;
        (half(tops as u64) | half((tops >> 64) as u64) << 8) as u32
    }

    impl Group {
        /// The same with one tag another.
        #[inline(always)]
        pub(crate) fn with(self, lane: usize, tag: u8) -> Self {
            let mut bytes = self.0.to_le_bytes();
            bytes[lane] = tag;
            Self(u128::from_le_bytes(bytes))
        }

        /// Writes the tags.
        ///
        /// # Safety
        ///
        /// Sixteen bytes must be writable at `tags`.
        #[inline(always)]
        pub(crate) unsafe fn store(self, tags: *mut u8) {
            // SAFETY: the caller vouches for the bytes.
            unsafe { tags.cast::<[u8; 16]>().write(self.0.to_le_bytes()) };
        }

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

        /// The eight pairs of tags the other way round, each pair as it is.
        #[inline(always)]
        pub(crate) fn pairs_reversed(self) -> Self {
            const FIRST: u128 = u128::from_le_bytes([
                0xFF, 0, 0xFF, 0, 0xFF, 0, 0xFF, 0, 0xFF, 0, 0xFF, 0, 0xFF, 0, 0xFF, 0,
            ]);
            let reversed = self.0.swap_bytes();
            Self((reversed & FIRST) << 8 | (reversed >> 8 & FIRST))
        }

        /// One bit per tag that is the wanted one.
        #[inline(always)]
        pub(crate) fn matching(self, wanted: Narrow) -> u16 {
            self.equal(wanted.0) as u16
        }

        /// One bit per tag of an unused bucket.
        #[inline(always)]
        pub(crate) fn unused(self) -> u32 {
            self.equal(UNUSED)
        }

        #[inline(always)]
        fn equal(self, tag: u8) -> u32 {
            let different = self.0 ^ (LOW * tag as u128);
            // Exact zero-byte test: no carry crosses a byte.
            let nonzero = ((different & !HIGH) + !HIGH) | different;
            gather(!nonzero & HIGH)
        }

        /// One bit per tag of a free bucket, unused or erased.
        #[inline(always)]
        pub(crate) fn free(self) -> u32 {
            Self(self.0 & !(LOW * ERASED as u128)).equal(UNUSED)
        }

        /// One bit per tag of a used bucket.
        #[inline(always)]
        pub(crate) fn used(self) -> u32 {
            self.free() ^ 0xFFFF
        }
    }

    /// A tag looked for.
    #[derive(Clone, Copy)]
    pub(crate) struct Narrow(u8);

    impl Narrow {
        /// The tag of a hash.
        #[inline(always)]
        pub(crate) fn of(hash: u64) -> Self {
            Self(tag_of(hash))
        }
    }

    /// Does nothing.
    #[inline(always)]
    #[allow(
        dead_code,
        reason = "the same interface as the vector version; each design uses part of it"
    )]
    pub(crate) fn fetch(_: *const u8) {}

    /// A word less one, and whether it was zero.
    #[inline(always)]
    #[allow(
        dead_code,
        reason = "the same interface as the vector version; each design uses part of it"
    )]
    pub(crate) fn less_one(word: u64) -> (u64, bool) {
        word.overflowing_sub(1)
    }
}

#[cfg(not(all(target_arch = "x86_64", target_feature = "sse2")))]
pub(crate) use generic::{Group, Narrow, fetch, less_one};
#[cfg(all(target_arch = "x86_64", target_feature = "sse2"))]
pub(crate) use imp::{Group, Narrow, fetch, less_one};

#[cfg(test)]
mod tests {
    use super::{Group, generic};
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 8 } else { 256 }))]
        #[test]
        fn both_implementations_agree_with_a_byte_loop(
            bytes in prop::array::uniform16(prop_oneof![0u8..4, any::<u8>()]),
            tag in 2u8..4,
            lane in 0usize..16,
        ) {
            let mask = |test: &dyn Fn(u8) -> bool| {
                bytes.iter().enumerate().map(|(i, &b)| (test(b) as u32) << i).sum::<u32>()
            };
            // SAFETY: sixteen bytes are readable.
            let (fast, slow) = unsafe { (Group::load(bytes.as_ptr()), generic::Group::load(bytes.as_ptr())) };
            let hash = u64::from(tag) << 56 | 0xABCD_1234;
            prop_assert_eq!(u32::from(fast.matching(super::Narrow::of(hash))), mask(&|b| b == tag));
            prop_assert_eq!(u32::from(slow.matching(generic::Narrow::of(hash))), mask(&|b| b == tag));
            prop_assert_eq!(fast.unused(), mask(&|b| b == 0));
            prop_assert_eq!(slow.unused(), mask(&|b| b == 0));
            prop_assert_eq!(fast.free(), mask(&|b| b < 2));
            prop_assert_eq!(slow.free(), mask(&|b| b < 2));
            prop_assert_eq!(fast.used(), mask(&|b| b >= 2));
            prop_assert_eq!(slow.used(), mask(&|b| b >= 2));
            let reversed = mask(&|b| b >= 2).reverse_bits() >> 16;
            let pairs = reversed >> 1 & 0x5555 | (reversed & 0x5555) << 1;
            prop_assert_eq!(fast.pairs_reversed().used(), pairs);
            prop_assert_eq!(slow.pairs_reversed().used(), pairs);
            let (mut one, mut two, mut changed) = ([0u8; 16], [0u8; 16], bytes);
            changed[lane] = tag;
            // SAFETY: sixteen bytes are writable.
            unsafe {
                fast.with(lane, tag).store(one.as_mut_ptr());
                slow.with(lane, tag).store(two.as_mut_ptr());
            }
            prop_assert_eq!((one, two), (changed, changed));
        }
    }
}
