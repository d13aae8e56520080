//! Entities: 32-bit newtypes that stand for a value, a block, an instruction.
//!
//! An entity is an index that cannot be mixed up with another kind of index, half the size of a pointer, and stable
//! while the vector that holds its data grows. The largest value is reserved, so [`PackedOption`] needs no extra room.

use core::fmt;

/// A 32-bit index newtype; implemented by [`entity!`](macro@crate::entity).
pub trait Entity: Copy + Eq + Ord + core::hash::Hash + fmt::Debug {
    /// What [`fmt::Display`] writes before the number, such as `v` in `v7`.
    const PREFIX: &'static str;
    /// The entity with this index; panics when the index does not fit.
    fn from_index(index: usize) -> Self;
    /// The entity with this index, which somebody has seen to fit; another one if it does not.
    fn from_fitting_index(index: usize) -> Self;
    /// The index.
    fn index(self) -> usize;
    /// The one value that no entity has; stands for "none" in a [`PackedOption`].
    fn reserved() -> Self;
    /// Whether this is [`Entity::reserved`].
    fn is_reserved(self) -> bool;
}

/// Declares entity newtypes: `entity! { /// A value. pub struct Value = "v"; }`.
///
/// ```
/// oriole_collections::entity! {
///     /// A basic block.
///     pub struct Block = "block";
/// }
/// use oriole_collections::{Entity, PackedOption};
/// let block = Block::from_index(3);
/// assert_eq!(block.to_string(), "block3");
/// assert_eq!(block.index(), 3);
/// assert_eq!(size_of::<PackedOption<Block>>(), 4);
/// ```
#[macro_export]
macro_rules! entity {
    ($($(#[$attribute:meta])* $visibility:vis struct $name:ident = $prefix:literal;)+) => {$(
        $(#[$attribute])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(transparent)]
        $visibility struct $name(u32);

        #[allow(dead_code)]
        impl $name {
            /// The entity with this index; panics when the index does not fit.
            #[inline]
            #[track_caller]
            $visibility const fn from_index(index: usize) -> Self {
                assert!(index < u32::MAX as usize, "entity index out of range");
                Self(index as u32)
            }

            /// The entity with this number, which must not be the reserved one.
            #[inline]
            #[track_caller]
            $visibility const fn from_u32(number: u32) -> Self {
                assert!(number != u32::MAX, "entity index out of range");
                Self(number)
            }

            /// The index.
            #[inline]
            $visibility const fn index(self) -> usize {
                self.0 as usize
            }

            /// The number.
            #[inline]
            $visibility const fn as_u32(self) -> u32 {
                self.0
            }
        }

        impl $crate::Entity for $name {
            const PREFIX: &'static str = $prefix;
            #[inline]
            fn from_index(index: usize) -> Self {
                $name::from_index(index)
            }
            #[inline]
            fn from_fitting_index(index: usize) -> Self {
                debug_assert!(index < u32::MAX as usize, "entity index out of range");
                Self(index as u32)
            }
            #[inline]
            fn index(self) -> usize {
                self.0 as usize
            }
            #[inline]
            fn reserved() -> Self {
                Self(u32::MAX)
            }
            #[inline]
            fn is_reserved(self) -> bool {
                self.0 == u32::MAX
            }
        }

        impl $crate::DenseKey for $name {
            #[inline(always)]
            fn mix(&self) -> u64 {
                $crate::key::mix32(self.0)
            }
            #[inline]
            fn mix_keyed(&self, secret: u64) -> u64 {
                $crate::DenseKey::mix_keyed(&self.0, secret)
            }
            #[inline(always)]
            fn classic_hash(&self) -> u32 {
                self.0.wrapping_mul(37)
            }
            #[inline(always)]
            fn classic_sentinels() -> ::core::option::Option<$crate::key::Sentinels<Self>> {
                // SAFETY: this macro has derived `Eq`, so entities are equal when their numbers are.
                ::core::option::Option::Some(unsafe {
                    $crate::key::Sentinels::new(Self(u32::MAX), Self(u32::MAX - 1))
                })
            }
        }

        impl ::core::fmt::Display for $name {
            fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                ::core::write!(f, ::core::concat!($prefix, "{}"), self.0)
            }
        }

        impl ::core::fmt::Debug for $name {
            fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                ::core::fmt::Display::fmt(self, f)
            }
        }
    )+};
}

/// An entity or nothing, in four bytes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct PackedOption<E>(E);

impl<E: Entity> PackedOption<E> {
    /// Nothing.
    #[inline]
    pub fn none() -> Self {
        Self(E::reserved())
    }

    /// Something.
    #[inline]
    pub fn some(entity: E) -> Self {
        debug_assert!(!entity.is_reserved());
        Self(entity)
    }

    /// As the usual two-case type.
    #[inline]
    pub fn expand(self) -> Option<E> {
        if self.0.is_reserved() {
            None
        } else {
            Some(self.0)
        }
    }

    /// Whether there is nothing.
    #[inline]
    pub fn is_none(self) -> bool {
        self.0.is_reserved()
    }

    /// Whether there is something.
    #[inline]
    pub fn is_some(self) -> bool {
        !self.0.is_reserved()
    }

    /// The entity; panics when there is none.
    #[inline]
    #[track_caller]
    pub fn unwrap(self) -> E {
        self.expand().expect("PackedOption is none")
    }

    /// Leaves nothing and returns what was there.
    #[inline]
    pub fn take(&mut self) -> Option<E> {
        core::mem::take(self).expand()
    }
}

impl<E: Entity> Default for PackedOption<E> {
    fn default() -> Self {
        Self::none()
    }
}

impl<E: Entity> From<E> for PackedOption<E> {
    fn from(entity: E) -> Self {
        Self::some(entity)
    }
}

impl<E: Entity> From<Option<E>> for PackedOption<E> {
    fn from(option: Option<E>) -> Self {
        option.map_or_else(Self::none, Self::some)
    }
}

impl<E: Entity> From<PackedOption<E>> for Option<E> {
    fn from(packed: PackedOption<E>) -> Self {
        packed.expand()
    }
}

impl<E: Entity> fmt::Debug for PackedOption<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.expand() {
            None => f.write_str("none"),
            Some(entity) => entity.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    crate::entity! {
        /// A value.
        pub struct Value = "v";
        /// A block.
        struct Block = "block";
    }

    #[test]
    fn prints_with_its_prefix() {
        assert_eq!(Value::from_index(7).to_string(), "v7");
        assert_eq!(format!("{:?}", Block::from_index(3)), "block3");
        assert_eq!(Value::PREFIX, "v");
    }

    #[test]
    fn packed_option_is_four_bytes_and_round_trips() {
        assert_eq!(size_of::<PackedOption<Value>>(), 4);
        let mut slot = PackedOption::<Value>::default();
        assert!(slot.is_none() && slot.expand().is_none());
        slot = Value::from_index(9).into();
        assert!(slot.is_some());
        assert_eq!(slot.unwrap(), Value::from_index(9));
        assert_eq!(slot.take(), Some(Value::from_index(9)));
        assert_eq!(Option::<Value>::from(slot), None);
        assert_eq!(format!("{slot:?}"), "none");
    }

    #[test]
    #[should_panic(expected = "out of range")]
    fn the_reserved_index_is_rejected() {
        let _ = Value::from_index(u32::MAX as usize);
    }
}
