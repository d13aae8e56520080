//! The scalar types of PTX: every word that may stand in a type position of an instruction or a declaration.
//!
//! Packed types (`.f16x2`, `.e4m3x4`) are scalars here, as in the manual: one register holds all lanes. The opaque
//! types (`.texref` …) and the storage formats of matrix loads (`.b6x16_p32`) are included so that the types of a
//! mnemonic can be listed without a second enumeration.

use crate::text_enum::text_enum;

text_enum! {
    /// A PTX type.
    ScalarType {
        U8 = "u8", U16 = "u16", U32 = "u32", U64 = "u64",
        S8 = "s8", S16 = "s16", S32 = "s32", S64 = "s64",
        B8 = "b8", B16 = "b16", B32 = "b32", B64 = "b64", B128 = "b128",
        U16x2 = "u16x2", S16x2 = "s16x2", U8x4 = "u8x4", S8x4 = "s8x4",
        F16 = "f16", F16x2 = "f16x2", Bf16 = "bf16", Bf16x2 = "bf16x2",
        F32 = "f32", F32x2 = "f32x2", F64 = "f64", Tf32 = "tf32",
        E4m3 = "e4m3", E4m3x2 = "e4m3x2", E4m3x4 = "e4m3x4",
        E5m2 = "e5m2", E5m2x2 = "e5m2x2", E5m2x4 = "e5m2x4",
        E2m1 = "e2m1", E2m1x2 = "e2m1x2", E2m1x4 = "e2m1x4",
        E2m3 = "e2m3", E2m3x2 = "e2m3x2", E2m3x4 = "e2m3x4",
        E3m2 = "e3m2", E3m2x2 = "e3m2x2", E3m2x4 = "e3m2x4",
        Ue8m0 = "ue8m0", Ue8m0x2 = "ue8m0x2", Ue4m3 = "ue4m3",
        U4 = "u4", S4 = "s4", U2 = "u2", S2 = "s2", B1 = "b1",
        B8x16 = "b8x16", B6x16P32 = "b6x16_p32", B4x16P64 = "b4x16_p64", B1024 = "b1024",
        Pred = "pred",
        Texref = "texref", Samplerref = "samplerref", Surfref = "surfref",
    }
}

/// How a type's bits are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TypeKind {
    /// Untyped bits (`.b32`).
    Bits,
    /// Unsigned integer.
    Unsigned,
    /// Two's complement integer.
    Signed,
    /// Floating point, alternate and scale formats included.
    Float,
    /// `.pred`.
    Predicate,
    /// `.texref`, `.samplerref`, `.surfref`.
    Opaque,
}

impl ScalarType {
    /// How the bits are read.
    pub const fn kind(self) -> TypeKind {
        use ScalarType::*;
        match self {
            U8 | U16 | U32 | U64 | U16x2 | U8x4 | U4 | U2 => TypeKind::Unsigned,
            S8 | S16 | S32 | S64 | S16x2 | S8x4 | S4 | S2 => TypeKind::Signed,
            B8 | B16 | B32 | B64 | B128 | B1 | B8x16 | B6x16P32 | B4x16P64 | B1024 => {
                TypeKind::Bits
            }
            F16 | F16x2 | Bf16 | Bf16x2 | F32 | F32x2 | F64 | Tf32 | E4m3 | E4m3x2 | E4m3x4
            | E5m2 | E5m2x2 | E5m2x4 | E2m1 | E2m1x2 | E2m1x4 | E2m3 | E2m3x2 | E2m3x4 | E3m2
            | E3m2x2 | E3m2x4 | Ue8m0 | Ue8m0x2 | Ue4m3 => TypeKind::Float,
            Pred => TypeKind::Predicate,
            Texref | Samplerref | Surfref => TypeKind::Opaque,
        }
    }

    /// Bits of storage a value of this type takes in a register. Six-bit formats are padded to a byte per lane, as
    /// `cvt` produces them; a predicate is one bit; opaque types are the 64-bit handle.
    #[inline]
    pub const fn bits(self) -> u32 {
        use ScalarType::*;
        match self {
            Pred | B1 => 1,
            U2 | S2 => 2,
            U4 | S4 | E2m1 => 4,
            U8 | S8 | B8 | E4m3 | E5m2 | E2m3 | E3m2 | Ue8m0 | Ue4m3 | E2m1x2 => 8,
            U16 | S16 | B16 | F16 | Bf16 | E4m3x2 | E5m2x2 | E2m3x2 | E3m2x2 | Ue8m0x2 | E2m1x4 => {
                16
            }
            U32 | S32 | B32 | U16x2 | S16x2 | U8x4 | S8x4 | F16x2 | Bf16x2 | F32 | Tf32
            | E4m3x4 | E5m2x4 | E2m3x4 | E3m2x4 => 32,
            U64 | S64 | B64 | F64 | F32x2 | Texref | Samplerref | Surfref => 64,
            B128 | B8x16 | B6x16P32 | B4x16P64 => 128,
            B1024 => 1024,
        }
    }

    /// Bytes in memory, rounded up.
    pub const fn bytes(self) -> u32 {
        self.bits().div_ceil(8)
    }

    /// Whether the value is floating point.
    #[inline]
    pub const fn is_float(self) -> bool {
        matches!(self.kind(), TypeKind::Float)
    }

    /// Whether the value is a two's complement integer.
    #[inline]
    pub const fn is_signed(self) -> bool {
        matches!(self.kind(), TypeKind::Signed)
    }

    /// Whether the value is an unsigned integer.
    #[inline]
    pub const fn is_unsigned(self) -> bool {
        matches!(self.kind(), TypeKind::Unsigned)
    }

    /// Whether the value is a signed or unsigned integer (not untyped bits).
    pub const fn is_integer(self) -> bool {
        self.is_signed() || self.is_unsigned()
    }

    /// Whether the value is untyped bits.
    #[inline]
    pub const fn is_bits(self) -> bool {
        matches!(self.kind(), TypeKind::Bits)
    }

    /// Number of lanes packed in one value: 2 for `.f16x2`, 4 for `.e4m3x4`, else 1.
    pub const fn lanes(self) -> u32 {
        use ScalarType::*;
        match self {
            U16x2 | S16x2 | F16x2 | Bf16x2 | F32x2 | E4m3x2 | E5m2x2 | E2m1x2 | E2m3x2 | E3m2x2
            | Ue8m0x2 => 2,
            U8x4 | S8x4 | E4m3x4 | E5m2x4 | E2m1x4 | E2m3x4 | E3m2x4 => 4,
            B8x16 | B6x16P32 | B4x16P64 => 16,
            _ => 1,
        }
    }

    /// The type of one lane; the type itself when it is not packed.
    pub const fn lane(self) -> ScalarType {
        use ScalarType::*;
        match self {
            U16x2 => U16,
            S16x2 => S16,
            U8x4 => U8,
            S8x4 => S8,
            F16x2 => F16,
            Bf16x2 => Bf16,
            F32x2 => F32,
            E4m3x2 | E4m3x4 => E4m3,
            E5m2x2 | E5m2x4 => E5m2,
            E2m1x2 | E2m1x4 => E2m1,
            E2m3x2 | E2m3x4 => E2m3,
            E3m2x2 | E3m2x4 => E3m2,
            Ue8m0x2 => Ue8m0,
            B8x16 => B8,
            other => other,
        }
    }

    /// The integer type of twice the width, as `.wide` produces it.
    pub const fn widened(self) -> Option<ScalarType> {
        use ScalarType::*;
        match self {
            U8 => Some(U16),
            U16 => Some(U32),
            U32 => Some(U64),
            S8 => Some(S16),
            S16 => Some(S32),
            S32 => Some(S64),
            B8 => Some(B16),
            B16 => Some(B32),
            B32 => Some(B64),
            B64 => Some(B128),
            _ => None,
        }
    }

    /// The unsigned integer of so many bits, if there is one that is no vector.
    pub const fn unsigned(bits: u32) -> Option<ScalarType> {
        match bits {
            8 => Some(ScalarType::U8),
            16 => Some(ScalarType::U16),
            32 => Some(ScalarType::U32),
            64 => Some(ScalarType::U64),
            _ => None,
        }
    }

    /// The two's complement integer of so many bits, if there is one that is no vector.
    pub const fn signed(bits: u32) -> Option<ScalarType> {
        match bits {
            8 => Some(ScalarType::S8),
            16 => Some(ScalarType::S16),
            32 => Some(ScalarType::S32),
            64 => Some(ScalarType::S64),
            _ => None,
        }
    }

    /// The signed or unsigned integer of so many bits, if there is one that is no vector.
    pub const fn integer(is_signed: bool, bits: u32) -> Option<ScalarType> {
        match is_signed {
            true => ScalarType::signed(bits),
            false => ScalarType::unsigned(bits),
        }
    }

    /// So many bits without a type, if there is a type for them.
    pub const fn untyped(bits: u32) -> Option<ScalarType> {
        match bits {
            8 => Some(ScalarType::B8),
            16 => Some(ScalarType::B16),
            32 => Some(ScalarType::B32),
            64 => Some(ScalarType::B64),
            128 => Some(ScalarType::B128),
            _ => None,
        }
    }

    /// The untyped type of the same width, where one exists.
    pub const fn as_bits(self) -> Option<ScalarType> {
        match self.bits() {
            1 => Some(ScalarType::Pred),
            bits => ScalarType::untyped(bits),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_type_reads_back() {
        for &scalar_type in ScalarType::ALL {
            assert_eq!(ScalarType::from_text(scalar_type.text()), Some(scalar_type));
        }
    }

    #[test]
    fn lanes_fill_the_register() {
        for &scalar_type in ScalarType::ALL {
            if scalar_type.lanes() > 1 && scalar_type.bits() < 128 {
                assert_eq!(
                    scalar_type.lane().bits() * scalar_type.lanes(),
                    scalar_type.bits(),
                    "{scalar_type}"
                );
            }
        }
    }

    #[test]
    fn types_are_found_by_kind_and_width() {
        for bits in [8, 16, 32, 64] {
            let signed = ScalarType::integer(true, bits).expect("a type");
            let unsigned = ScalarType::integer(false, bits).expect("a type");
            let untyped = ScalarType::untyped(bits).expect("a type");
            assert!(signed.is_signed() && unsigned.is_unsigned() && untyped.is_bits());
            for each in [signed, unsigned, untyped] {
                assert_eq!((each.bits(), each.lanes()), (bits, 1));
            }
        }
        assert_eq!(ScalarType::integer(true, 128), None);
        assert_eq!(ScalarType::untyped(128), Some(ScalarType::B128));
        assert_eq!(ScalarType::untyped(1), None);
    }

    #[test]
    fn unknown_words_are_not_types() {
        for word in ["", "f31", "u128", "v4", "global", "S32"] {
            assert_eq!(ScalarType::from_text(word), None);
        }
    }
}
