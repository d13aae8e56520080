//! A window of sixteen tags examined at once.
//!
//! Tags have all eight bits of a byte but for two values, which free buckets have. Lists have wide tags of 16 bits. On x86-64 a window is one SSE2 register,
//! which every such processor has; elsewhere it is a 128-bit integer with the usual byte-parallel arithmetic. A test
//! holds the two against each other.

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

/// Eight wide tags, as many as are compared at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C, align(16))]
pub(crate) struct WideTags(pub(crate) [u16; 8]);

impl WideTags {
    /// No tags.
    pub(crate) const NONE: Self = Self([0; 8]);
}

#[cfg(all(target_arch = "x86_64", target_feature = "sse2", not(miri)))]
mod imp {
    use super::{ERASED, LEAST, UNUSED, WideTags};
    use crate::key::ROTATION;
    use std::arch::x86_64::{
        __m128i, _MM_HINT_T0, _mm_and_si128, _mm_andnot_si128, _mm_cmpeq_epi8, _mm_cmpeq_epi16,
        _mm_cvtsi64_si128, _mm_load_si128, _mm_loadu_si128, _mm_max_epu8, _mm_min_epu8,
        _mm_movemask_epi8, _mm_or_si128, _mm_packs_epi16, _mm_prefetch, _mm_set1_epi8,
        _mm_set1_epi16, _mm_shuffle_epi32, _mm_shufflehi_epi16, _mm_shufflelo_epi16,
        _mm_store_si128, _mm_unpacklo_epi8, _mm_unpacklo_epi64, _subborrow_u64,
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

        /// One bit per tag that is the wanted one.
        #[inline(always)]
        pub(crate) fn matching(self, wanted: Narrow) -> u32 {
            // SAFETY: SSE2 is part of the target.
            unsafe { _mm_movemask_epi8(_mm_cmpeq_epi8(self.0, wanted.0)) as u32 }
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
                let least = _mm_min_epu8(self.0, _mm_set1_epi8(ERASED as i8));
                _mm_movemask_epi8(_mm_cmpeq_epi8(self.0, least)) as u32
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

    /// All ones in the middle lane: the eight lanes from `8 - n` on have them in lane `n`.
    const LANE: [u16; 16] = [0, 0, 0, 0, 0, 0, 0, 0, 0xFFFF, 0, 0, 0, 0, 0, 0, 0];

    /// A wide tag looked for, in every lane.
    #[derive(Clone, Copy)]
    pub(crate) struct Wide(__m128i);

    impl Wide {
        /// The tag of a hash: sixteen of its bits that in most mixers are the top ones of a product, so that they depend on all
        /// of the key and no shift is left to do.
        #[inline(always)]
        pub(crate) fn of(hash: u64) -> Self {
            let product = hash.rotate_right(ROTATION);
            // SAFETY: SSE2 is part of the target.
            unsafe {
                let half = _mm_shufflelo_epi16::<0xFF>(_mm_cvtsi64_si128(product as i64));
                Self(_mm_unpacklo_epi64(half, half))
            }
        }

        /// A tag itself.
        #[inline(always)]
        pub(crate) fn tag(tag: u16) -> Self {
            // SAFETY: SSE2 is part of the target.
            Self(unsafe { _mm_set1_epi16(tag as i16) })
        }

        /// With the lowest bit set.
        #[inline(always)]
        pub(crate) fn or_one(self) -> Self {
            // SAFETY: SSE2 is part of the target.
            Self(unsafe { _mm_or_si128(self.0, _mm_set1_epi16(1)) })
        }

        #[inline(always)]
        fn equal(self, tags: &WideTags) -> __m128i {
            // SAFETY: SSE2 is part of the target, and the tags are aligned.
            unsafe { _mm_cmpeq_epi16(_mm_load_si128(tags.0.as_ptr().cast()), self.0) }
        }

        /// Two bits for each of eight tags that is this one.
        #[inline(always)]
        pub(crate) fn pairs(self, tags: &WideTags) -> u32 {
            // SAFETY: SSE2 is part of the target.
            unsafe { _mm_movemask_epi8(self.equal(tags)) as u32 }
        }

        /// Which of sixteen tags are this one.
        #[inline(always)]
        pub(crate) fn among(self, tags: &[WideTags; 2]) -> Matches {
            // SAFETY: SSE2 is part of the target.
            Matches(unsafe { _mm_packs_epi16(self.equal(&tags[0]), self.equal(&tags[1])) })
        }

        /// Sets one tag, by writing all eight: a lookup that follows reads all eight, and a processor cannot forward part of
        /// what it reads from a narrower write still under way.
        #[inline(always)]
        pub(crate) fn store(self, tags: &mut WideTags, lane: usize) {
            debug_assert!(lane < 8);
            // SAFETY: SSE2 is part of the target; the mask lies within the array whatever the lane.
            unsafe {
                let mask = _mm_loadu_si128(
                    (&raw const *(const { &LANE }))
                        .cast::<u16>()
                        .add(8 - (lane & 7))
                        .cast(),
                );
                let all: *mut __m128i = tags.0.as_mut_ptr().cast();
                let others = _mm_andnot_si128(mask, _mm_load_si128(all));
                _mm_store_si128(all, _mm_or_si128(others, _mm_and_si128(mask, self.0)));
            }
        }
    }

    /// Which of sixteen tags match.
    #[derive(Clone, Copy)]
    pub(crate) struct Matches(__m128i);

    impl Matches {
        /// One bit for each tag that does.
        #[inline(always)]
        pub(crate) fn bits(self) -> u32 {
            // SAFETY: SSE2 is part of the target.
            unsafe { _mm_movemask_epi8(self.0) as u32 }
        }

        /// Which match here or there.
        #[inline(always)]
        pub(crate) fn or(self, other: Self) -> Self {
            // SAFETY: SSE2 is part of the target.
            Self(unsafe { _mm_or_si128(self.0, other.0) })
        }
    }

    /// Moves one of sixteen tags to where another is, and leaves zero. Both halves are written, each once; see
    /// [`Wide::store`].
    #[inline(always)]
    pub(crate) fn move_tag(tags: &mut [WideTags; 2], from: usize, to: usize) {
        /// All ones in the middle: the sixteen lanes from `16 - n` on have them in lane `n`.
        const LANES: [u16; 32] = {
            let mut lanes = [0; 32];
            lanes[16] = 0xFFFF;
            lanes
        };
        debug_assert!(from < 16 && to < 16);
        let (from, to) = (from % 16, to % 16);
        let tag = Wide::tag(tags[from / 8].0[from % 8]);
        for (half, tags) in tags.iter_mut().enumerate() {
            // SAFETY: SSE2 is part of the target; the masks lie within the array whatever the lanes.
            unsafe {
                let lanes = (const { &LANES }).as_ptr();
                let leave = _mm_loadu_si128(lanes.add(16 - from + 8 * half).cast());
                let enter = _mm_loadu_si128(lanes.add(16 - to + 8 * half).cast());
                let all: *mut __m128i = tags.0.as_mut_ptr().cast();
                let others = _mm_andnot_si128(enter, _mm_load_si128(all));
                let moved = _mm_or_si128(others, _mm_and_si128(enter, tag.0));
                _mm_store_si128(all, _mm_andnot_si128(leave, moved));
            }
        }
    }

    /// A word less one, and whether it was zero, by one subtraction: a compiler would make two instructions of it again if it
    /// knew that the borrow of the subtraction says just this.
    #[inline(always)]
    pub(crate) fn less_one(word: u64) -> (u64, bool) {
        let mut less = 0;
        let borrow = _subborrow_u64(0, word, 1, &mut less);
        (less, borrow != 0)
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
    use super::{ERASED, UNUSED, WideTags, tag_of};
    use crate::key::ROTATION;

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

        /// One bit per tag that is the wanted one.
        #[inline(always)]
        pub(crate) fn matching(self, wanted: Narrow) -> u32 {
            self.equal(wanted.0)
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

    /// A wide tag looked for.
    #[derive(Clone, Copy)]
    pub(crate) struct Wide(u16);

    #[allow(
        dead_code,
        reason = "the same interface as the vector version; each design uses part of it"
    )]
    impl Wide {
        /// The tag of a hash.
        #[inline(always)]
        pub(crate) fn of(hash: u64) -> Self {
            Self((hash.rotate_right(ROTATION) >> 48) as u16)
        }

        /// A tag itself.
        #[inline(always)]
        pub(crate) fn tag(tag: u16) -> Self {
            Self(tag)
        }

        /// With the lowest bit set.
        #[inline(always)]
        pub(crate) fn or_one(self) -> Self {
            Self(self.0 | 1)
        }

        /// Two bits for each of eight tags that is this one.
        #[inline(always)]
        pub(crate) fn pairs(self, tags: &WideTags) -> u32 {
            let mut mask = 0;
            for (lane, &other) in tags.0.iter().enumerate() {
                mask |= if other == self.0 { 3 << (2 * lane) } else { 0 };
            }
            mask
        }

        /// Which of sixteen tags are this one.
        #[inline(always)]
        pub(crate) fn among(self, tags: &[WideTags; 2]) -> Matches {
            let mut mask = 0;
            for (lane, &other) in tags[0].0.iter().chain(&tags[1].0).enumerate() {
                mask |= u32::from(other == self.0) << lane;
            }
            Matches(mask)
        }

        /// Sets one tag.
        #[inline(always)]
        pub(crate) fn store(self, tags: &mut WideTags, lane: usize) {
            tags.0[lane] = self.0;
        }
    }

    /// Which of sixteen tags match.
    #[derive(Clone, Copy)]
    pub(crate) struct Matches(u32);

    #[allow(
        dead_code,
        reason = "the same interface as the vector version; each design uses part of it"
    )]
    impl Matches {
        /// One bit for each tag that does.
        #[inline(always)]
        pub(crate) fn bits(self) -> u32 {
            self.0
        }

        /// Which match here or there.
        #[inline(always)]
        pub(crate) fn or(self, other: Self) -> Self {
            Self(self.0 | other.0)
        }
    }

    /// Moves one of sixteen tags to where another is, and leaves zero.
    #[inline(always)]
    #[allow(
        dead_code,
        reason = "the same interface as the vector version; each design uses part of it"
    )]
    pub(crate) fn move_tag(tags: &mut [WideTags; 2], from: usize, to: usize) {
        tags[to / 8].0[to % 8] = tags[from / 8].0[from % 8];
        tags[from / 8].0[from % 8] = 0;
    }

    /// A word less one, and whether it was zero.
    #[inline(always)]
    #[allow(
        dead_code,
        reason = "the same interface as the vector version; each design uses part of it"
    )]
    pub(crate) fn less_one(word: u64) -> (u64, bool) {
        word.overflowing_sub(1)
    }

    /// Does nothing here.
    #[inline(always)]
    #[allow(
        dead_code,
        reason = "the same interface as the vector version; each design uses part of it"
    )]
    pub(crate) fn prefetch<T>(_: *const T) {}
}

#[cfg(not(all(target_arch = "x86_64", target_feature = "sse2", not(miri))))]
pub(crate) use generic::{Group, Narrow, Wide, less_one, move_tag, prefetch};
#[cfg(all(target_arch = "x86_64", target_feature = "sse2", not(miri)))]
pub(crate) use imp::{Group, Narrow, Wide, less_one, move_tag, prefetch};

#[cfg(test)]
mod tests {
    use super::{Group, WideTags, generic};
    use crate::key::ROTATION;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 8 } else { 256 }))]
        #[test]
        fn both_implementations_agree_with_a_byte_loop(
            bytes in prop::array::uniform16(prop_oneof![0u8..4, any::<u8>()]),
            tag in 2u8..4,
        ) {
            let mask = |test: &dyn Fn(u8) -> bool| {
                bytes.iter().enumerate().map(|(i, &b)| (test(b) as u32) << i).sum::<u32>()
            };
            // SAFETY: sixteen bytes are readable.
            let (fast, slow) = unsafe { (Group::load(bytes.as_ptr()), generic::Group::load(bytes.as_ptr())) };
            let hash = u64::from(tag) << 56 | 0xABCD_1234;
            prop_assert_eq!(fast.matching(super::Narrow::of(hash)), mask(&|b| b == tag));
            prop_assert_eq!(slow.matching(generic::Narrow::of(hash)), mask(&|b| b == tag));
            prop_assert_eq!(fast.unused(), mask(&|b| b == 0));
            prop_assert_eq!(slow.unused(), mask(&|b| b == 0));
            prop_assert_eq!(fast.free(), mask(&|b| b < 2));
            prop_assert_eq!(slow.free(), mask(&|b| b < 2));
            prop_assert_eq!(fast.used(), mask(&|b| b >= 2));
            prop_assert_eq!(slow.used(), mask(&|b| b >= 2));
        }

        #[test]
        fn wide_tags_too(words in prop::array::uniform16(0u16..4), tag in 0u16..4, lane in 0usize..8, other in 0usize..16) {
            let expected: u32 = words.iter().enumerate().map(|(i, &w)| u32::from(w == tag) << i).sum();
            let tags = [0, 8].map(|at| WideTags(words[at..at + 8].try_into().expect("eight")));
            let hash = (u64::from(tag) << 48 | 0xABCD_1234).rotate_left(ROTATION);
            let pairs: u32 = (0..8).map(|i| ((expected >> i & 1) * 3) << (2 * i)).sum();
            prop_assert_eq!(super::Wide::of(hash).among(&tags).bits(), expected);
            prop_assert_eq!(super::Wide::tag(tag).among(&tags).bits(), expected);
            prop_assert_eq!(generic::Wide::of(hash).among(&tags).bits(), expected);
            prop_assert_eq!(super::Wide::of(hash).pairs(&tags[0]), pairs);
            prop_assert_eq!(generic::Wide::of(hash).pairs(&tags[0]), pairs);
            let (mut fast, mut slow) = (tags[0], tags[0]);
            super::Wide::tag(9).store(&mut fast, lane);
            generic::Wide::tag(9).store(&mut slow, lane);
            prop_assert_eq!(fast, slow);
            prop_assert_eq!(fast.0[lane], 9);
            let (mut fast, mut slow) = (tags, tags);
            super::move_tag(&mut fast, lane * 2, other);
            generic::move_tag(&mut slow, lane * 2, other);
            prop_assert_eq!(fast, slow);
        }
    }
}
