//! Key types of the benchmark, how they are made, and their C++ entry points.

use oriole_collections::DenseKey;
use oriole_collections::key::keyed_word;
use std::fmt::Debug;
use std::hash::Hash;

/// A fixed pseudo-random sequence (splitmix64).
pub struct Random(pub u64);

impl Random {
    /// The next 64 bits.
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// A number below `bound`.
    pub fn below(&mut self, bound: usize) -> usize {
        ((self.next() as u128 * bound as u128) >> 64) as usize
    }

    /// Shuffles a slice.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last + 1));
        }
    }
}

/// A key, also used as the value.
pub trait Key: DenseKey + Copy + Hash + Eq + Ord + Debug + 'static {
    /// Name in the tables.
    const NAME: &'static str;
    /// As a number, for checksums.
    fn word(self) -> u64;
    /// The inverse of [`Key::word`].
    fn from_word(word: u64) -> Self;
    /// A key from a number; `present` and absent numbers never give the same key.
    fn from_number(number: u64) -> Self;
    /// The key of the `ordinal`-th thing a compiler made: in order of creation.
    fn in_order(ordinal: u64) -> Self;
    /// `count` distinct keys as random as this kind of key is.
    fn random(count: usize, random: &mut Random) -> Vec<Self> {
        let mut keys: Vec<Self> = Vec::new();
        while keys.len() < count {
            keys.extend((keys.len()..count).map(|_| Self::from_number(random.next())));
            keys.sort_unstable();
            keys.dedup();
        }
        random.shuffle(&mut keys);
        keys
    }
    #[cfg(have_llvm)]
    #[allow(missing_docs)]
    fn llvm_new() -> *mut std::ffi::c_void;
    #[cfg(have_llvm)]
    #[allow(missing_docs)]
    fn llvm_free(map: *mut std::ffi::c_void);
    #[cfg(have_llvm)]
    #[allow(missing_docs)]
    fn llvm_insert(map: *mut std::ffi::c_void, keys: &[Self], values: &[Self]);
    #[cfg(have_llvm)]
    #[allow(missing_docs)]
    fn llvm_find(map: *mut std::ffi::c_void, keys: &[Self]) -> u64;
    #[cfg(have_llvm)]
    #[allow(missing_docs)]
    fn llvm_chase(map: *mut std::ffi::c_void, start: Self, count: usize) -> Self;
    #[cfg(have_llvm)]
    #[allow(missing_docs)]
    fn llvm_erase(map: *mut std::ffi::c_void, keys: &[Self]) -> u64;
    #[cfg(have_llvm)]
    #[allow(missing_docs)]
    fn llvm_iterate(map: *mut std::ffi::c_void) -> u64;
    #[cfg(have_llvm)]
    #[allow(missing_docs)]
    fn llvm_bytes(map: *mut std::ffi::c_void) -> usize;
    #[cfg(have_llvm)]
    #[allow(missing_docs)]
    fn llvm_mix(script: &crate::contender::Script<Self>) -> u64;
    #[cfg(have_llvm)]
    #[allow(missing_docs)]
    fn llvm_replay(replay: &crate::contender::Replay<Self>) -> u64;
}

macro_rules! llvm_side {
    ($type:ty, $new:ident, $free:ident, $insert:ident, $find:ident, $chase:ident, $erase:ident, $iterate:ident,
     $bytes:ident, $mix:ident, $replay:ident) => {
        #[cfg(have_llvm)]
        fn llvm_new() -> *mut std::ffi::c_void {
            // SAFETY: makes a map.
            unsafe { ffi::$new() }
        }
        #[cfg(have_llvm)]
        fn llvm_free(map: *mut std::ffi::c_void) {
            // SAFETY: the map came from `llvm_new` and is freed once.
            unsafe { ffi::$free(map) }
        }
        #[cfg(have_llvm)]
        fn llvm_insert(map: *mut std::ffi::c_void, keys: &[Self], values: &[Self]) {
            assert_eq!(keys.len(), values.len());
            // SAFETY: the map is live and the slices have this length; a key is a transparent number.
            unsafe {
                ffi::$insert(
                    map,
                    keys.as_ptr().cast(),
                    values.as_ptr().cast(),
                    keys.len(),
                )
            }
        }
        #[cfg(have_llvm)]
        fn llvm_find(map: *mut std::ffi::c_void, keys: &[Self]) -> u64 {
            // SAFETY: as for `llvm_insert`.
            unsafe { ffi::$find(map, keys.as_ptr().cast(), keys.len()) }
        }
        #[cfg(have_llvm)]
        fn llvm_chase(map: *mut std::ffi::c_void, start: Self, count: usize) -> Self {
            // SAFETY: the map is live.
            let end = unsafe { ffi::$chase(map, start.word() as $type, count) };
            Self::from_word(end)
        }
        #[cfg(have_llvm)]
        fn llvm_erase(map: *mut std::ffi::c_void, keys: &[Self]) -> u64 {
            // SAFETY: as for `llvm_insert`.
            unsafe { ffi::$erase(map, keys.as_ptr().cast(), keys.len()) }
        }
        #[cfg(have_llvm)]
        fn llvm_iterate(map: *mut std::ffi::c_void) -> u64 {
            // SAFETY: the map is live.
            unsafe { ffi::$iterate(map) }
        }
        #[cfg(have_llvm)]
        fn llvm_bytes(map: *mut std::ffi::c_void) -> usize {
            // SAFETY: the map is live.
            unsafe { ffi::$bytes(map) }
        }
        #[cfg(have_llvm)]
        fn llvm_mix(script: &crate::contender::Script<Self>) -> u64 {
            // SAFETY: the lengths sum to that of the two other arrays.
            unsafe {
                ffi::$mix(
                    script.kinds.as_ptr(),
                    script.keys.as_ptr().cast(),
                    script.lengths.as_ptr(),
                    script.lengths.len(),
                )
            }
        }
        #[cfg(have_llvm)]
        fn llvm_replay(replay: &crate::contender::Replay<Self>) -> u64 {
            // SAFETY: the three arrays have one length, and every table number is below the count.
            unsafe {
                ffi::$replay(
                    replay.kinds.as_ptr(),
                    replay.tables.as_ptr(),
                    replay.keys.as_ptr().cast(),
                    replay.kinds.len(),
                    replay.table_count,
                )
            }
        }
    };
}

#[cfg(have_llvm)]
mod ffi {
    use std::ffi::c_void;
    unsafe extern "C" {
        pub fn llvm_new_u32() -> *mut c_void;
        pub fn llvm_free_u32(map: *mut c_void);
        pub fn llvm_insert_u32(
            map: *mut c_void,
            keys: *const u32,
            values: *const u32,
            count: usize,
        );
        pub fn llvm_find_u32(map: *mut c_void, keys: *const u32, count: usize) -> u64;
        pub fn llvm_chase_u32(map: *mut c_void, start: u32, count: usize) -> u64;
        pub fn llvm_erase_u32(map: *mut c_void, keys: *const u32, count: usize) -> u64;
        pub fn llvm_iterate_u32(map: *mut c_void) -> u64;
        pub fn llvm_bytes_u32(map: *mut c_void) -> usize;
        pub fn llvm_mix_u32(
            kinds: *const u8,
            keys: *const u32,
            lengths: *const u32,
            tables: usize,
        ) -> u64;
        pub fn llvm_replay_u32(
            kinds: *const u8,
            tables: *const u32,
            keys: *const u32,
            count: usize,
            table_count: usize,
        ) -> u64;
        pub fn llvm_new_u64() -> *mut c_void;
        pub fn llvm_free_u64(map: *mut c_void);
        pub fn llvm_insert_u64(
            map: *mut c_void,
            keys: *const u64,
            values: *const u64,
            count: usize,
        );
        pub fn llvm_find_u64(map: *mut c_void, keys: *const u64, count: usize) -> u64;
        pub fn llvm_chase_u64(map: *mut c_void, start: u64, count: usize) -> u64;
        pub fn llvm_erase_u64(map: *mut c_void, keys: *const u64, count: usize) -> u64;
        pub fn llvm_iterate_u64(map: *mut c_void) -> u64;
        pub fn llvm_bytes_u64(map: *mut c_void) -> usize;
        pub fn llvm_mix_u64(
            kinds: *const u8,
            keys: *const u64,
            lengths: *const u32,
            tables: usize,
        ) -> u64;
        pub fn llvm_replay_u64(
            kinds: *const u8,
            tables: *const u32,
            keys: *const u64,
            count: usize,
            table_count: usize,
        ) -> u64;
    }
}

impl Key for u32 {
    const NAME: &'static str = "u32";
    fn word(self) -> u64 {
        u64::from(self)
    }
    fn from_word(word: u64) -> Self {
        word as u32
    }
    fn from_number(number: u64) -> Self {
        // The two largest values are the classic tables' sentinels.
        (number as u32).min(u32::MAX - 2)
    }
    fn in_order(ordinal: u64) -> Self {
        ordinal as u32
    }
    llvm_side!(
        u32,
        llvm_new_u32,
        llvm_free_u32,
        llvm_insert_u32,
        llvm_find_u32,
        llvm_chase_u32,
        llvm_erase_u32,
        llvm_iterate_u32,
        llvm_bytes_u32,
        llvm_mix_u32,
        llvm_replay_u32
    );
}

/// A pointer as an allocator gives them: 16-byte aligned, from a few gigabytes of heap.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct Pointer(pub u64);

impl DenseKey for Pointer {
    #[inline(always)]
    fn mix(&self) -> u64 {
        oriole_collections::key::mix_address(self.0 as usize)
    }
    fn mix_keyed(&self, secret: u64) -> u64 {
        keyed_word(self.mix(), secret)
    }
}

impl Key for Pointer {
    const NAME: &'static str = "pointer";
    fn word(self) -> u64 {
        self.0
    }
    fn from_word(word: u64) -> Self {
        Self(word)
    }
    fn from_number(number: u64) -> Self {
        Self(0x5555_0000_0000 + (number >> 36) * 16)
    }
    fn in_order(ordinal: u64) -> Self {
        // Objects of 48 to 112 bytes from one arena.
        Self(0x5555_0000_0000 + ordinal * 80 / 16 * 16)
    }
    llvm_side!(
        u64,
        llvm_new_u64,
        llvm_free_u64,
        llvm_insert_u64,
        llvm_find_u64,
        llvm_chase_u64,
        llvm_erase_u64,
        llvm_iterate_u64,
        llvm_bytes_u64,
        llvm_mix_u64,
        llvm_replay_u64
    );
}

/// A number of 64 bits, with the mixer for those.
impl Key for u64 {
    const NAME: &'static str = "u64";
    fn word(self) -> u64 {
        self
    }
    fn from_word(word: u64) -> Self {
        word
    }
    fn from_number(number: u64) -> Self {
        // The classic tables reserve a few of the largest.
        number.min(u64::MAX - (1 << 14))
    }
    fn in_order(ordinal: u64) -> Self {
        ordinal
    }
    llvm_side!(
        u64,
        llvm_new_u64,
        llvm_free_u64,
        llvm_insert_u64,
        llvm_find_u64,
        llvm_chase_u64,
        llvm_erase_u64,
        llvm_iterate_u64,
        llvm_bytes_u64,
        llvm_mix_u64,
        llvm_replay_u64
    );
}
