//! Byte ranges of a source file.

use std::ops::Range;

/// A half-open range of bytes in a source text.
///
/// Source files are limited to 4 GiB by the parser, so 32-bit offsets suffice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span {
    /// Offset of the first byte.
    pub start: u32,
    /// Offset one past the last byte.
    pub end: u32,
}

impl Span {
    /// The span from `start` up to and excluding `end`.
    pub fn new(start: u32, end: u32) -> Span {
        debug_assert!(start <= end);
        Span { start, end }
    }

    /// The empty span at `offset`.
    pub fn at(offset: u32) -> Span {
        Span::new(offset, offset)
    }

    /// The smallest span that covers both.
    pub fn to(self, other: Span) -> Span {
        Span::new(self.start.min(other.start), self.end.max(other.end))
    }

    /// The span as a range of indices.
    pub fn range(self) -> Range<usize> {
        self.start as usize..self.end as usize
    }
}
