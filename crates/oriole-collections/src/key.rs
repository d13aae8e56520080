//! Keys of the dense tables: equality plus a strong, fixed 64-bit mixer.
//!
//! The standard `Hash`/`Hasher` pair feeds a key to a hasher byte run by byte run and leaves the quality of the result
//! to whoever picked the hasher. The keys of a compiler are almost always one or two machine words, so a key states its
//! 64-bit hash directly. Tables take their slot from the low bits and their tag from the high ones, so a mixer must
//! leave entropy at both ends for every pattern of input: sequential, strided by any power of two, and high bits only.
//!
//! - Words of at most 32 bits use one multiplication and rotate the product by 26 bits: every input bit reaches the low end
//!   of the result because it lies below bit 38.
//! - Words of 64 bits use the folded 128-bit product (high half xor low half). A plain multiplication followed by a
//!   rotation sends a key that differs only above bit `k` to bits above `k` alone, which leaves the slot constant.
//! - Addresses use just that plain multiplication and rotation: no two objects are 2^38 bytes apart by habit.
//!
//! No seed, no address of a static, nothing from the environment takes part, so the same keys in the same order give the
//! same table in every run. That also means that anybody can write keys that collide. Tables of the default design and string
//! tables notice when they are crowded beyond all chance and then hash by a secret ([`DenseKey::mix_keyed`]); only then does their
//! iteration order differ from run to run.

use alloc::borrow::{Cow, ToOwned};
use alloc::boxed::Box;
use alloc::rc::Rc;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::borrow::Borrow;
use core::num::NonZero;

const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;
/// Multipliers of the mixers. Multiplying turns a strided sequence of keys into another arithmetic progression, so
/// what matters is how evenly the multiples of each 64-bit window of the constant fall. These came first in a search over
/// random odd numbers for the one whose *worst* stride and table size fills the most slots (0.90, 0.75 and 0.85 of what
/// chance would); the golden ratio's worst is 0.48 and the constants of well-known hashes are below 0.4.
const NARROW: u64 = 0xE8E6_DB88_37BF_14A7;
const FOLD: u64 = 0x496F_D038_40EF_1523;
const ADDRESS: u64 = 0x83BB_EAD1_58B2_E545;

/// How far products are rotated: their upper bits, which depend on all of the key, become the low ones that tables start from.
pub(crate) const ROTATION: u32 = 26;

/// Hashes one word of at most 32 bits.
#[inline(always)]
pub const fn mix32(word: u32) -> u64 {
    (word as u64).wrapping_mul(NARROW).rotate_left(ROTATION)
}

/// Hashes one 64-bit word.
#[inline(always)]
pub const fn mix64(word: u64) -> u64 {
    let product = (word as u128).wrapping_mul(FOLD as u128);
    (product as u64) ^ ((product >> 64) as u64)
}

/// Hashes an address: like [`mix64`] but cheaper, at the price of strides above 2^38, which addresses do not have.
#[inline(always)]
pub const fn mix_address(address: usize) -> u64 {
    (address as u64).wrapping_mul(ADDRESS).rotate_left(ROTATION)
}

/// The inverse of a multiplier modulo 2^64.
const fn inverse(odd: u64) -> u64 {
    // Newton's iteration doubles the correct low bits: 3, 6, 12, 24, 48, 96.
    let mut result = odd;
    let mut round = 0;
    while round < 5 {
        result = result.wrapping_mul(2u64.wrapping_sub(odd.wrapping_mul(result)));
        round += 1;
    }
    result
}

/// The word with this [`mix32`], when there is one. For replaying traces.
pub const fn unmix32(hash: u64) -> Option<u32> {
    let word = hash.rotate_right(ROTATION).wrapping_mul(inverse(NARROW));
    if word <= u32::MAX as u64 {
        Some(word as u32)
    } else {
        None
    }
}

/// The address with this [`mix_address`]. For replaying traces.
pub const fn unmix_address(hash: u64) -> u64 {
    hash.rotate_right(ROTATION).wrapping_mul(inverse(ADDRESS))
}

/// Adds a word to the hash of what came before it.
#[inline(always)]
pub const fn chain(state: u64, word: u64) -> u64 {
    mix64(state.rotate_left(23) ^ word)
}

/// A key of a dense table: equality and a fixed 64-bit hash.
///
/// Equal keys must return equal hashes, and a hash must depend on nothing but the key's value. A borrowed form (`K: Borrow<Q>`)
/// must hash as the key does. A key that breaks these rules makes tables forget it or hold it twice; it cannot make them unsound.
///
/// Implemented for numbers, `bool`, `char`, pointers, strings, byte strings, paths, slices, arrays, tuples of up to twelve,
/// `Option`, and through `&T`, `Box`, `Rc`, `Arc`, `Cow` and `Vec` for what they hold. [`dense_key!`](crate::dense_key) implements
/// it for structs and enums, [`Hashed`](crate::Hashed) for everything that is [`Hash`].
pub trait DenseKey: Eq {
    /// The key's hash; both its low and its high bits must be well mixed.
    fn mix(&self) -> u64;

    /// The key's hash by a secret. Keys chosen to have equal [`mix`](DenseKey::mix)es must have different ones of these, or tables of
    /// them can be flooded. Where different keys have different `mix`es, [`keyed_word`] of `mix` is enough; keys of several parts should
    /// [`chain`] those of their parts; a key that wraps another one delegates to it.
    ///
    /// There is no default: it would differ from the hash of a borrowed form, and a table that has drawn a secret would lose the key.
    fn mix_keyed(&self, secret: u64) -> u64;

    /// The hash the [classic](crate::classic) tables use: LLVM's `k * 37` for numbers, `(p >> 4) ^ (p >> 9)` for pointers.
    #[inline(always)]
    fn classic_hash(&self) -> u32 {
        self.mix() as u32
    }

    /// The two values the classic tables reserve to mark empty and erased buckets; `None` for a type without values to
    /// spare, which costs those tables a byte per bucket.
    #[inline(always)]
    fn classic_sentinels() -> Option<Sentinels<Self>>
    where
        Self: Sized,
    {
        None
    }
}

/// Two reserved values of a key type; see [`DenseKey::classic_sentinels`].
///
/// The classic tables take a bucket for used when its key equals neither, so their memory safety depends on the type's `==`. That
/// is why these can only be made by `unsafe` code.
#[derive(Clone, Copy, Debug)]
pub struct Sentinels<K> {
    pub(crate) empty: K,
    pub(crate) erased: K,
}

impl<K> Sentinels<K> {
    /// Two reserved values.
    ///
    /// # Safety
    ///
    /// The values must differ. `K` must have no destructor, and its `==` and its hashes must neither panic nor ever change their
    /// answers: a value that equals one of these once must always do so, and no other value may.
    #[inline(always)]
    pub const unsafe fn new(empty: K, erased: K) -> Self {
        Self { empty, erased }
    }

    /// The values that mean empty and erased.
    pub fn into_array(self) -> [K; 2] {
        [self.empty, self.erased]
    }
}

/// Something that can be looked up among keys of type `K`: the key itself, or a borrowed form of it.
///
/// Everything that a key can be [borrowed](Borrow) as is one: `"a"` finds a `String`, a `&str`, a `Box<str>` or a `Cow<str>`. A type
/// of your own can be one too, for example to hash and compare operands that lie in a pool. It states every hash that its keys have:
/// the crate cannot derive one from another.
///
/// ```compile_fail,E0046
/// use oriole_collections::{DenseKey, Lookup};
/// struct Operands<'a>(&'a [u32]);
/// impl Lookup<Vec<u32>> for Operands<'_> {
///     fn lookup_mix(&self) -> u64 { self.0.mix() }
///     fn matches(&self, key: &Vec<u32>) -> bool { key == self.0 }
/// }
/// ```
pub trait Lookup<K: ?Sized> {
    /// The hash the equal key would return from [`DenseKey::mix`].
    fn lookup_mix(&self) -> u64;
    /// The hash the equal key would return from [`DenseKey::mix_keyed`]. A table hashes by it once it has drawn a secret.
    fn lookup_keyed(&self, secret: u64) -> u64;
    /// The hash the equal key would return from [`DenseKey::classic_hash`].
    fn lookup_classic_hash(&self) -> u32;
    /// Whether `key` is the one looked for.
    fn matches(&self, key: &K) -> bool;
}

impl<K: Borrow<Q> + ?Sized, Q: DenseKey + ?Sized> Lookup<K> for Q {
    #[inline(always)]
    fn lookup_mix(&self) -> u64 {
        self.mix()
    }
    #[inline(always)]
    fn lookup_keyed(&self, secret: u64) -> u64 {
        self.mix_keyed(secret)
    }
    #[inline(always)]
    fn lookup_classic_hash(&self) -> u32 {
        self.classic_hash()
    }
    #[inline(always)]
    fn matches(&self, key: &K) -> bool {
        *self == *key.borrow()
    }
}

/// Hashes a word by a secret: two folded products, each by a part of it.
#[inline]
pub const fn keyed_word(word: u64, secret: u64) -> u64 {
    const fn fold(word: u64, odd: u64) -> u64 {
        let product = (word as u128).wrapping_mul(odd as u128);
        (product as u64) ^ ((product >> 64) as u64)
    }
    let first = fold(word ^ secret, secret.rotate_left(29) | 1);
    fold(first ^ secret.rotate_left(47), FOLD)
}

/// SipHash-1-3 of a byte string by a secret.
#[cold]
#[inline(never)]
pub fn keyed_bytes(bytes: &[u8], secret: u64) -> u64 {
    sip_hash(bytes, [secret, !secret])
}

/// SipHash with one round for each word and three at the end (Aumasson and Bernstein, 2012).
fn sip_hash(bytes: &[u8], key: [u64; 2]) -> u64 {
    // "somepseudorandomlygeneratedbytes".
    let mut state = [
        key[0] ^ 0x736F_6D65_7073_6575,
        key[1] ^ 0x646F_7261_6E64_6F6D,
        key[0] ^ 0x6C79_6765_6E65_7261,
        key[1] ^ 0x7465_6462_7974_6573,
    ];
    fn round([a, b, c, d]: &mut [u64; 4]) {
        *a = a.wrapping_add(*b);
        *c = c.wrapping_add(*d);
        *b = b.rotate_left(13) ^ *a;
        *d = d.rotate_left(16) ^ *c;
        *a = a.rotate_left(32);
        *c = c.wrapping_add(*b);
        *a = a.wrapping_add(*d);
        *b = b.rotate_left(17) ^ *c;
        *d = d.rotate_left(21) ^ *a;
        *c = c.rotate_left(32);
    }
    let mut take = |word: u64| {
        state[3] ^= word;
        round(&mut state);
        state[0] ^= word;
    };
    let (words, rest) = bytes.as_chunks::<8>();
    for word in words {
        take(u64::from_le_bytes(*word));
    }
    // What is left of the last word. Copying so few bytes would be a call.
    let left = match (bytes.last_chunk::<8>(), rest.len()) {
        (_, 0) => 0,
        (Some(end), count) => u64::from_le_bytes(*end) >> (64 - 8 * count),
        (None, _) => rest
            .iter()
            .rev()
            .fold(0, |word, byte| word << 8 | u64::from(*byte)),
    };
    take(left | (bytes.len() as u64) << 56);
    state[2] ^= 0xFF;
    for _ in 0..3 {
        round(&mut state);
    }
    state[0] ^ state[1] ^ state[2] ^ state[3]
}

/// XXH3 of a byte string.
#[inline(never)] // there shall be one copy of it in a program
pub fn mix_bytes(bytes: &[u8]) -> u64 {
    xxhash_rust::xxh3::xxh3_64(bytes)
}

/// Hash of a slice of keys; the length takes part, so `[a]` and `[a, zero]` differ.
#[inline]
pub fn mix_slice<T: DenseKey>(slice: &[T]) -> u64 {
    let mut state = mix64(slice.len() as u64 ^ GOLDEN);
    for item in slice {
        state = chain(state, item.mix());
    }
    state
}

/// Makes a key of a type `$name<T>(*const T)`, with two values that the classic tables reserve.
macro_rules! pointer_key {
    ($name:ident, $empty:literal, $erased:literal) => {
        impl<T> Clone for $name<T> {
            fn clone(&self) -> Self {
                *self
            }
        }

        impl<T> Copy for $name<T> {}

        impl<T> PartialEq for $name<T> {
            #[inline(always)]
            fn eq(&self, other: &Self) -> bool {
                core::ptr::eq(self.0, other.0)
            }
        }

        impl<T> Eq for $name<T> {}

        impl<T> $crate::DenseKey for $name<T> {
            #[inline(always)]
            fn mix(&self) -> u64 {
                self.0.mix()
            }
            #[inline]
            fn mix_keyed(&self, secret: u64) -> u64 {
                self.0.mix_keyed(secret)
            }
            #[inline(always)]
            fn classic_hash(&self) -> u32 {
                self.0.classic_hash()
            }
            #[inline(always)]
            fn classic_sentinels() -> Option<$crate::key::Sentinels<Self>> {
                let of = |value: isize| Self(core::ptr::without_provenance(value as usize));
                // SAFETY: pointers are equal when they are the same.
                Some(unsafe { $crate::key::Sentinels::new(of($empty), of($erased)) })
            }
        }
    };
}
pub(crate) use pointer_key;

macro_rules! word_keys {
    ($mix:ident as $word:ty: $($t:ty = $empty:expr, $tombstone:expr;)*) => {$(
        impl DenseKey for $t {
            #[inline(always)]
            fn mix(&self) -> u64 {
                $mix(*self as $word)
            }
            #[inline]
            fn mix_keyed(&self, secret: u64) -> u64 {
                keyed_word(self.mix(), secret)
            }
            #[inline(always)]
            fn classic_hash(&self) -> u32 {
                (*self as u32).wrapping_mul(37)
            }
            #[inline(always)]
            fn classic_sentinels() -> Option<Sentinels<Self>> {
                // SAFETY: numbers are equal when they are the same.
                Some(unsafe { Sentinels::new($empty, $tombstone) })
            }
        }
    )*};
}
// Sentinels as LLVM's traits have them: the two largest unsigned values; the largest and the least signed one.
word_keys!(mix32 as u32:
    u8 = u8::MAX, u8::MAX - 1;
    u16 = u16::MAX, u16::MAX - 1;
    u32 = u32::MAX, u32::MAX - 1;
    i8 = i8::MAX, i8::MIN;
    i16 = i16::MAX, i16::MIN;
    i32 = i32::MAX, i32::MIN;
);
word_keys!(mix64 as u64:
    u64 = u64::MAX, u64::MAX - 1;
    i64 = i64::MAX, i64::MIN;
    usize = usize::MAX, usize::MAX - 1;
    isize = isize::MAX, isize::MIN;
);

macro_rules! narrow_keys {
    ($($t:ty),*) => {$(
        impl DenseKey for $t {
            #[inline(always)]
            fn mix(&self) -> u64 {
                mix32(*self as u32)
            }
            #[inline]
            fn mix_keyed(&self, secret: u64) -> u64 {
                keyed_word(self.mix(), secret)
            }
        }
    )*};
}
narrow_keys!(bool, char);

impl DenseKey for u128 {
    #[inline(always)]
    fn mix(&self) -> u64 {
        chain(mix64(*self as u64), (*self >> 64) as u64)
    }
    #[inline]
    fn mix_keyed(&self, secret: u64) -> u64 {
        let low = keyed_word(*self as u64, secret);
        chain(low, keyed_word((*self >> 64) as u64, secret))
    }
}

impl DenseKey for i128 {
    #[inline(always)]
    fn mix(&self) -> u64 {
        (*self as u128).mix()
    }
    #[inline]
    fn mix_keyed(&self, secret: u64) -> u64 {
        (*self as u128).mix_keyed(secret)
    }
}

macro_rules! nonzero_keys {
    ($($t:ty)*) => {$(
        impl DenseKey for NonZero<$t> {
            #[inline(always)]
            fn mix(&self) -> u64 {
                self.get().mix()
            }
            #[inline]
            fn mix_keyed(&self, secret: u64) -> u64 {
                self.get().mix_keyed(secret)
            }
        }
    )*};
}
nonzero_keys!(u8 u16 u32 u64 u128 usize i8 i16 i32 i64 i128 isize);

impl DenseKey for () {
    #[inline(always)]
    fn mix(&self) -> u64 {
        0
    }
    #[inline]
    fn mix_keyed(&self, secret: u64) -> u64 {
        keyed_word(0, secret)
    }
}

/// LLVM's pointer hash of old: it drops the bits that alignment makes zero and never looks at the high ones.
#[inline(always)]
pub const fn classic_address_hash(address: usize) -> u32 {
    (address as u32 >> 4) ^ (address as u32 >> 9)
}

macro_rules! pointer_keys {
    ($($t:ty, $make:expr;)*) => {$(
        impl<T> DenseKey for $t {
            #[inline(always)]
            fn mix(&self) -> u64 {
                mix_address(self.addr())
            }
            #[inline]
            fn mix_keyed(&self, secret: u64) -> u64 {
                keyed_word(self.mix(), secret)
            }
            #[inline(always)]
            fn classic_hash(&self) -> u32 {
                classic_address_hash(self.addr())
            }
            #[inline(always)]
            fn classic_sentinels() -> Option<Sentinels<Self>> {
                // SAFETY: pointers are equal when they are the same.
                Some(unsafe {
                    Sentinels::new($make(-4096isize as usize), $make(-8192isize as usize))
                })
            }
        }
    )*};
}
pointer_keys! {
    *const T, core::ptr::without_provenance;
    *mut T, core::ptr::without_provenance_mut;
}

impl<T> DenseKey for core::ptr::NonNull<T> {
    #[inline(always)]
    fn mix(&self) -> u64 {
        mix_address(self.addr().get())
    }
    #[inline]
    fn mix_keyed(&self, secret: u64) -> u64 {
        keyed_word(self.mix(), secret)
    }
    #[inline(always)]
    fn classic_hash(&self) -> u32 {
        classic_address_hash(self.addr().get())
    }
}

impl<K: DenseKey> DenseKey for Option<K> {
    #[inline(always)]
    fn mix(&self) -> u64 {
        match self {
            None => GOLDEN,
            Some(key) => key.mix(),
        }
    }
    #[inline]
    fn mix_keyed(&self, secret: u64) -> u64 {
        match self {
            None => keyed_word(GOLDEN, secret),
            Some(key) => key.mix_keyed(secret),
        }
    }
}

macro_rules! byte_string_keys {
    ($($(#[$attribute:meta])* $t:ty, $bytes:expr;)*) => {$(
        $(#[$attribute])*
        impl DenseKey for $t {
            #[inline]
            fn mix(&self) -> u64 {
                let bytes: fn(&$t) -> &[u8] = $bytes;
                mix_bytes(bytes(self))
            }
            #[inline]
            fn mix_keyed(&self, secret: u64) -> u64 {
                let bytes: fn(&$t) -> &[u8] = $bytes;
                keyed_bytes(bytes(self), secret)
            }
        }
    )*};
}
byte_string_keys! {
    str, str::as_bytes;
    String, String::as_bytes;
    core::ffi::CStr, core::ffi::CStr::to_bytes;
    alloc::ffi::CString, alloc::ffi::CString::as_bytes;
    #[cfg(feature = "std")]
    std::ffi::OsStr, std::ffi::OsStr::as_encoded_bytes;
    #[cfg(feature = "std")]
    std::ffi::OsString, |string| string.as_encoded_bytes();
}

macro_rules! hashed_keys {
    ($($t:ty),*) => {$(
        /// Through [`Hash`], because paths that are spelled differently can be equal.
        #[cfg(feature = "std")]
        impl DenseKey for $t {
            fn mix(&self) -> u64 {
                crate::hashed::mix_hash(self)
            }
            fn mix_keyed(&self, secret: u64) -> u64 {
                crate::hashed::keyed_hash(self, secret)
            }
        }
    )*};
}
hashed_keys!(std::path::Path, std::path::PathBuf);

macro_rules! delegated_keys {
    ($([$($generics:tt)*] $t:ty;)*) => {$(
        impl<$($generics)*> DenseKey for $t {
            #[inline(always)]
            fn mix(&self) -> u64 {
                (**self).mix()
            }
            #[inline]
            fn mix_keyed(&self, secret: u64) -> u64 {
                (**self).mix_keyed(secret)
            }
            #[inline(always)]
            fn classic_hash(&self) -> u32 {
                (**self).classic_hash()
            }
        }
    )*};
}
delegated_keys! {
    [T: DenseKey + ?Sized] &T;
    [T: DenseKey + ?Sized] &mut T;
    [T: DenseKey + ?Sized] Box<T>;
    [T: DenseKey + ?Sized] Rc<T>;
    [T: DenseKey + ?Sized] Arc<T>;
    [T: DenseKey + ToOwned + ?Sized] Cow<'_, T>;
    [T: DenseKey] Vec<T>;
}

impl<T: DenseKey> DenseKey for [T] {
    #[inline]
    fn mix(&self) -> u64 {
        mix_slice(self)
    }
    fn mix_keyed(&self, secret: u64) -> u64 {
        let mut state = keyed_word(self.len() as u64, secret);
        for item in self {
            state = chain(state, item.mix_keyed(secret));
        }
        state
    }
}

impl<T: DenseKey, const N: usize> DenseKey for [T; N] {
    #[inline]
    fn mix(&self) -> u64 {
        mix_slice(self)
    }
    #[inline]
    fn mix_keyed(&self, secret: u64) -> u64 {
        self.as_slice().mix_keyed(secret)
    }
}

macro_rules! tuple_keys {
    ($(($first:ident $(, $rest:ident)*);)*) => {$(
        impl<$first: DenseKey $(, $rest: DenseKey)*> DenseKey for ($first, $($rest,)*) {
            #[inline(always)]
            #[allow(non_snake_case)]
            fn mix(&self) -> u64 {
                let ($first, $($rest,)*) = self;
                let state = $first.mix();
                $(let state = chain(state, $rest.mix());)*
                state
            }
            #[inline]
            #[allow(non_snake_case)]
            fn mix_keyed(&self, secret: u64) -> u64 {
                let ($first, $($rest,)*) = self;
                let state = $first.mix_keyed(secret);
                $(let state = chain(state, $rest.mix_keyed(secret));)*
                state
            }
            #[inline(always)]
            #[allow(non_snake_case)]
            fn classic_sentinels() -> Option<Sentinels<Self>> {
                // Empty where all parts are, as LLVM has it for pairs.
                let $first = $first::classic_sentinels()?;
                $(let $rest = $rest::classic_sentinels()?;)*
                // SAFETY: tuples are equal when their parts are, of which each keeps the rules.
                Some(unsafe {
                    Sentinels::new(
                        ($first.empty, $($rest.empty,)*),
                        ($first.erased, $($rest.erased,)*),
                    )
                })
            }
        }
    )*};
}
tuple_keys! {
    (A);
    (A, B);
    (A, B, C);
    (A, B, C, D);
    (A, B, C, D, E);
    (A, B, C, D, E, F);
    (A, B, C, D, E, F, G);
    (A, B, C, D, E, F, G, H);
    (A, B, C, D, E, F, G, H, I);
    (A, B, C, D, E, F, G, H, I, J);
    (A, B, C, D, E, F, G, H, I, J, L);
    (A, B, C, D, E, F, G, H, I, J, L, M);
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    /// Strides from one tried to the next; miri, which is some thousand times slower, tries few.
    const STEP: usize = if cfg!(miri) { 54 } else { 1 };

    fn distinct_slots(hashes: impl Iterator<Item = u64>, mask: u64) -> usize {
        hashes.map(|h| h & mask).collect::<HashSet<_>>().len()
    }

    #[test]
    fn every_stride_spreads_over_the_low_bits() {
        // 512 keys into 1024 slots: random throws fill about 403 of them.
        for shift in (0..55).step_by(STEP) {
            let n = distinct_slots((0..512u64).map(|i| mix64(i << shift)), 1023);
            assert!(n > 280, "64-bit stride 2^{shift}: {n} slots");
        }
        for shift in (0..37).step_by(STEP) {
            let n = distinct_slots((0..512usize).map(|i| mix_address(i << shift)), 1023);
            assert!(n > 280, "address stride 2^{shift}: {n} slots");
        }
        for shift in (0..23).step_by(STEP) {
            let n = distinct_slots((0..512u32).map(|i| mix32(i << shift)), 1023);
            assert!(n > 280, "32-bit stride 2^{shift}: {n} slots");
        }
    }

    #[test]
    fn mixers_that_can_be_undone_are() {
        for word in [0, 1, 77, u32::MAX] {
            assert_eq!(unmix32(mix32(word)), Some(word));
            assert_eq!(
                unmix_address(mix_address(word as usize * 16)),
                u64::from(word) * 16
            );
        }
        assert_eq!(unmix32(mix64(5)), None);
    }

    #[test]
    fn sip_hash_is_the_standard_library_s() {
        use std::hash::Hasher;
        let bytes: Vec<u8> = (0..100).collect();
        for length in 0..100 {
            // Without a key of its own it has that of zero.
            let mut hasher = std::hash::DefaultHasher::new();
            hasher.write(&bytes[..length]);
            assert_eq!(sip_hash(&bytes[..length], [0, 0]), hasher.finish());
        }
    }

    #[test]
    fn tags_spread_too() {
        for shift in (0..55).step_by(STEP) {
            let tags = (0..512u64).map(|i| mix64(i << shift) >> 57);
            assert!(distinct_slots(tags, 127) > 60, "stride 2^{shift}");
        }
    }

    #[test]
    fn composite_keys_tell_order_and_length_apart() {
        assert_ne!((1u32, 2u32).mix(), (2u32, 1u32).mix());
        assert_ne!(vec![0u32].mix(), vec![0u32, 0].mix());
        assert_ne!(None::<u32>.mix(), Some(0u32).mix());
        assert_eq!(Lookup::<String>::lookup_mix("ab"), String::from("ab").mix());
        assert_eq!(
            Lookup::<Vec<u32>>::lookup_mix(&[1u32, 2][..]),
            vec![1u32, 2].mix()
        );
    }
}
