//! `Hashed`: any `T: Hash + Eq` as a key; and `dense_key!`, which makes keys of structs and enums.

use crate::DenseKey;
use crate::key::{chain, keyed_word, mix_bytes, mix64};
use core::borrow::Borrow;
use core::hash::{Hash, Hasher};

/// A key that hashes through its [`Hash`] implementation.
///
/// For keys whose type is not yours, so that it can have no [`DenseKey`]. It is slower than a `DenseKey` of its own: the parts of a
/// key go through the hasher one by one.
///
/// ```
/// use oriole_collections::{DenseMap, Hashed};
/// use std::net::Ipv4Addr;
/// let mut names = DenseMap::new();
/// names.insert(Hashed(Ipv4Addr::LOCALHOST), "here");
/// assert_eq!(names.get(&Hashed(Ipv4Addr::LOCALHOST)), Some(&"here"));
/// assert_eq!(names.get(Hashed::of(&Ipv4Addr::LOCALHOST)), Some(&"here"));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct Hashed<T: ?Sized>(pub T);

impl<T: ?Sized> Hashed<T> {
    /// A reference as one to a key, to look up without moving or cloning.
    pub const fn of(value: &T) -> &Self {
        // SAFETY: the type has the layout of its only field.
        unsafe { &*(value as *const T as *const Self) }
    }
}

impl Borrow<Hashed<str>> for Hashed<alloc::string::String> {
    fn borrow(&self) -> &Hashed<str> {
        Hashed::of(&self.0)
    }
}

impl<T> Borrow<Hashed<[T]>> for Hashed<alloc::vec::Vec<T>> {
    fn borrow(&self) -> &Hashed<[T]> {
        Hashed::of(&self.0)
    }
}

impl<T: Hash + Eq + ?Sized> DenseKey for Hashed<T> {
    #[inline]
    fn mix(&self) -> u64 {
        mix_hash(&self.0)
    }
    fn mix_keyed(&self, secret: u64) -> u64 {
        keyed_hash(&self.0, secret)
    }
}

/// The hash of anything that is [`Hash`].
#[inline]
pub fn mix_hash<T: Hash + ?Sized>(value: &T) -> u64 {
    let mut mixer = Mixer(0);
    value.hash(&mut mixer);
    mix64(mixer.0)
}

/// The same by a secret: SipHash.
#[cold]
#[inline(never)]
pub fn keyed_hash<T: Hash + ?Sized>(value: &T, secret: u64) -> u64 {
    // Deprecated in favour of hashers of `std`, which cannot be given a key and are not in `core`.
    #[allow(deprecated)]
    let mut hasher = core::hash::SipHasher::new_with_keys(secret, !secret);
    value.hash(&mut hasher);
    keyed_word(hasher.finish(), secret)
}

/// Chains what it is given, word by word.
struct Mixer(u64);

impl Hasher for Mixer {
    fn write(&mut self, bytes: &[u8]) {
        self.0 = chain(self.0, mix_bytes(bytes));
    }
    #[inline]
    fn write_u8(&mut self, word: u8) {
        self.0 = chain(self.0, word.into());
    }
    #[inline]
    fn write_u16(&mut self, word: u16) {
        self.0 = chain(self.0, word.into());
    }
    #[inline]
    fn write_u32(&mut self, word: u32) {
        self.0 = chain(self.0, word.into());
    }
    #[inline]
    fn write_u64(&mut self, word: u64) {
        self.0 = chain(self.0, word);
    }
    #[inline]
    fn write_usize(&mut self, word: usize) {
        self.0 = chain(self.0, word as u64);
    }
    fn finish(&self) -> u64 {
        self.0
    }
}

/// The hash of a name, at compile time: what tells the variants of an enum apart.
#[doc(hidden)]
pub const fn name_hash(name: &str) -> u64 {
    let bytes = name.as_bytes();
    let (mut state, mut index) = (bytes.len() as u64, 0);
    while index < bytes.len() {
        state = chain(state, bytes[index] as u64);
        index += 1;
    }
    state
}

/// Implements [`DenseKey`] for a struct or an enum of which the listed fields are what `==` compares.
///
/// ```
/// use oriole_collections::{DenseKey, DenseMap, dense_key};
///
/// #[derive(Clone, Copy, PartialEq, Eq)]
/// struct Expression { opcode: u16, left: u32, right: u32 }
/// dense_key!(Expression { opcode, left, right });
///
/// #[derive(PartialEq, Eq)]
/// struct Pair<A, B>(A, B);
/// dense_key!([A: DenseKey, B: DenseKey] Pair<A, B> (0, 1));
///
/// #[derive(PartialEq, Eq)]
/// enum Operand { None, Register(u32), Address { base: u32, offset: i64 } }
/// dense_key!(enum Operand { None, Register(number), Address { base, offset } });
///
/// let mut table = DenseMap::new();
/// table.insert(Expression { opcode: 3, left: 1, right: 2 }, "add");
/// assert_eq!(table.get(&Expression { opcode: 3, left: 1, right: 2 }), Some(&"add"));
/// assert_ne!(Pair(1u32, 2u64).mix(), Pair(2u32, 1u64).mix());
/// assert_ne!(Operand::None.mix(), Operand::Register(0).mix());
/// let operands: oriole_collections::DenseSet<Operand> =
///     [Operand::Register(1), Operand::Address { base: 1, offset: 8 }].into();
/// assert!(operands.contains(&Operand::Address { base: 1, offset: 8 }));
/// ```
#[macro_export]
macro_rules! dense_key {
    ([$($generics:tt)*] enum $name:ty { $($variants:tt)* }) => {
        $crate::dense_key!(@enum [$($generics)*] $name { $($variants)* });
    };
    (enum $name:ident { $($variants:tt)* }) => {
        $crate::dense_key!(@enum [] $name { $($variants)* });
    };
    ([$($generics:tt)*] $name:ident < $($argument:tt),* > { $($field:ident),+ $(,)? }) => {
        $crate::dense_key!(@fields [$($generics)*] [$name<$($argument),*>] $($field)+);
    };
    ([$($generics:tt)*] $name:ident < $($argument:tt),* > ( $($field:tt),+ $(,)? )) => {
        $crate::dense_key!(@fields [$($generics)*] [$name<$($argument),*>] $($field)+);
    };
    ($name:ident { $($field:ident),+ $(,)? }) => {
        $crate::dense_key!(@fields [] [$name] $($field)+);
    };
    ($name:ident ( $($field:tt),+ $(,)? )) => {
        $crate::dense_key!(@fields [] [$name] $($field)+);
    };
    (@fields [$($generics:tt)*] [$name:ty] $($field:tt)+) => {
        impl<$($generics)*> $crate::DenseKey for $name {
            #[inline]
            fn mix(&self) -> u64 {
                let state = 0u64;
                $(let state = $crate::key::chain(state, $crate::DenseKey::mix(&self.$field));)+
                state
            }
            #[inline]
            fn mix_keyed(&self, secret: u64) -> u64 {
                let state = secret;
                $(let state =
                    $crate::key::chain(state, $crate::DenseKey::mix_keyed(&self.$field, secret));)+
                state
            }
        }
    };
    (@enum [$($generics:tt)*] $name:ty {
        $($variant:ident $(( $($part:ident),* $(,)? ))? $({ $($field:ident),* $(,)? })?),* $(,)?
    }) => {
        impl<$($generics)*> $crate::DenseKey for $name {
            #[inline]
            fn mix(&self) -> u64 {
                match self {
                    $(Self::$variant $(( $($part),* ))? $({ $($field),* })? => {
                        let state = const { $crate::hashed::name_hash(stringify!($variant)) };
                        $($(let state = $crate::key::chain(state, $crate::DenseKey::mix($part));)*)?
                        $($(let state = $crate::key::chain(state, $crate::DenseKey::mix($field));)*)?
                        $crate::key::mix64(state)
                    })*
                }
            }
            #[inline]
            fn mix_keyed(&self, secret: u64) -> u64 {
                match self {
                    $(Self::$variant $(( $($part),* ))? $({ $($field),* })? => {
                        let state = const { $crate::hashed::name_hash(stringify!($variant)) };
                        let state = $crate::key::keyed_word(state, secret);
                        $($(let state = $crate::key::chain(
                            state, $crate::DenseKey::mix_keyed($part, secret));)*)?
                        $($(let state = $crate::key::chain(
                            state, $crate::DenseKey::mix_keyed($field, secret));)*)?
                        state
                    })*
                }
            }
        }
    };
}
