//! The parts of a mnemonic, and in which order they are written.
//!
//! The manual gives every instruction an order of its own, but two orders seldom disagree about the parts they share: [`USUAL`]
//! serves nearly all of them, and a row of the table names another where one does. `ptxas` takes some parts in any order, and
//! producers make use of that, so nothing here says how a mnemonic must be read.

use crate::modifier::Flag;

/// What a word of a mnemonic is, its opcode's own words aside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    Type,
    Rounding,
    MulMode,
    Comparison,
    Boolean,
    ShiftMode,
    Direction,
    Shuffle,
    Vote,
    Operation,
    Semantics,
    Scope,
    CacheOperator,
    Level1Eviction,
    Level2Eviction,
    Level2Prefetch,
    Geometry,
    SurfaceClamp,
    Permute,
    Test,
    Shape,
    Repeat,
    Vector,
    FirstSpace,
    SecondSpace,
    Flag(Flag),
}

impl Part {
    /// How many there are.
    pub(crate) const COUNT: usize = 25 + Flag::COUNT;

    /// A number that no other part has.
    pub(crate) const fn code(self) -> usize {
        use Part::*;
        match self {
            Type => 0,
            Rounding => 1,
            MulMode => 2,
            Comparison => 3,
            Boolean => 4,
            ShiftMode => 5,
            Direction => 6,
            Shuffle => 7,
            Vote => 8,
            Operation => 9,
            Semantics => 10,
            Scope => 11,
            CacheOperator => 12,
            Level1Eviction => 13,
            Level2Eviction => 14,
            Level2Prefetch => 15,
            Geometry => 16,
            SurfaceClamp => 17,
            Permute => 18,
            Test => 19,
            Shape => 20,
            Repeat => 21,
            Vector => 22,
            FirstSpace => 23,
            SecondSpace => 24,
            Flag(flag) => Part::COUNT - 1 - flag as usize,
        }
    }
}

/// The order of nearly all instructions.
pub(crate) const USUAL: [Part; Part::COUNT] = [
    Part::Flag(Flag::Uniform),
    Part::Flag(Flag::ToSpace),
    Part::Flag(Flag::MemoryMapped),
    Part::Semantics,
    Part::Scope,
    Part::Flag(Flag::Synchronized),
    Part::Flag(Flag::Aligned),
    Part::Shape,
    Part::Repeat,
    Part::Flag(Flag::Transpose),
    Part::Geometry,
    Part::FirstSpace,
    Part::SecondSpace,
    Part::CacheOperator,
    Part::Flag(Flag::NonCoherent),
    Part::Operation,
    Part::Flag(Flag::NoFlushToZero),
    Part::Level1Eviction,
    Part::Level2Eviction,
    Part::Flag(Flag::CacheHint),
    Part::Level2Prefetch,
    Part::Shuffle,
    Part::Vote,
    Part::Test,
    Part::MulMode,
    Part::Comparison,
    Part::Boolean,
    Part::Direction,
    Part::ShiftMode,
    Part::Rounding,
    Part::Flag(Flag::Approximate),
    Part::Flag(Flag::FullRange),
    Part::Flag(Flag::ShiftAmount),
    Part::Flag(Flag::OutOfBounds),
    Part::Flag(Flag::FlushToZero),
    Part::Flag(Flag::PropagateNan),
    Part::Flag(Flag::XorSign),
    Part::Flag(Flag::Absolute),
    Part::Flag(Flag::SaturateFinite),
    Part::Flag(Flag::Relu),
    Part::Flag(Flag::Saturate),
    Part::Flag(Flag::CarryOut),
    Part::Vector,
    Part::Type,
    Part::Permute,
    Part::SurfaceClamp,
    Part::Flag(Flag::PlusOne),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_has_every_part_once() {
        let mut seen = [false; Part::COUNT];
        for part in USUAL {
            assert!(!std::mem::replace(&mut seen[part.code()], true), "{part:?}");
        }
    }
}
