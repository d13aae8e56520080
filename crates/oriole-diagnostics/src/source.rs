//! A named text with line lookup.

use crate::Span;
use std::cell::OnceCell;

/// A source text under a name, able to turn offsets into lines and columns.
///
/// The line table is built on first use: a file without findings never pays for it.
#[derive(Debug)]
pub struct Source<'text> {
    name: String,
    text: &'text str,
    line_starts: OnceCell<Vec<u32>>,
}

/// A place in a source as people count: both numbers start at 1, columns count characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    /// Line number, from 1.
    pub line: u32,
    /// Column in characters, from 1.
    pub column: u32,
}

/// Where lines start. Eight bytes are looked at at once, as most hold no end of a line.
fn line_starts(text: &str) -> Vec<u32> {
    const LOW: u64 = 0x0101_0101_0101_0101;
    const HIGH: u64 = 0x8080_8080_8080_8080;
    let mut starts = vec![0];
    let (words, rest) = text.as_bytes().as_chunks::<8>();
    let mut at = 0;
    for word in words {
        let ends = u64::from_le_bytes(*word) ^ (LOW * u64::from(b'\n'));
        // Not zero if a byte is zero; bytes above it may be marked in vain.
        if ends.wrapping_sub(LOW) & !ends & HIGH != 0 {
            let own = word.iter().zip(at + 1..);
            starts.extend(own.filter(|own| *own.0 == b'\n').map(|own| own.1));
        }
        at += 8;
    }
    let own = rest.iter().zip(at + 1..);
    starts.extend(own.filter(|own| *own.0 == b'\n').map(|own| own.1));
    starts
}

impl<'text> Source<'text> {
    /// Names `text` for use in diagnostics.
    pub fn new(name: impl Into<String>, text: &'text str) -> Source<'text> {
        Source {
            name: name.into(),
            text,
            line_starts: OnceCell::new(),
        }
    }

    /// The name shown to users, usually a path.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The whole text.
    pub fn text(&self) -> &'text str {
        self.text
    }

    fn line_starts(&self) -> &[u32] {
        self.line_starts.get_or_init(|| line_starts(self.text))
    }

    /// Index, from 0, of the line that holds `offset`.
    fn line_index(&self, offset: u32) -> usize {
        self.line_starts().partition_point(|&start| start <= offset) - 1
    }

    /// Line and column of a byte offset. Offsets past the end give the end.
    pub fn position(&self, offset: u32) -> Position {
        let offset = self
            .text
            .floor_char_boundary((offset as usize).min(self.text.len()));
        let line = self.line_index(offset as u32);
        let start = self.line_starts()[line] as usize;
        Position {
            line: line as u32 + 1,
            column: self.text[start..offset].chars().count() as u32 + 1,
        }
    }

    /// The whole lines that `span` touches: first line number (from 1), offset of its first byte, and the text.
    pub(crate) fn lines(&self, span: Span) -> (usize, usize, &'text str) {
        let length = self.text.len();
        let first = self.line_index(span.start.min(length as u32));
        let last = self.line_index(span.end.min(length as u32));
        let starts = self.line_starts();
        let begin = starts[first] as usize;
        let end = starts.get(last + 1).map_or(length, |&next| next as usize);
        (first + 1, begin, &self.text[begin..end])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_count_lines_and_characters_from_one() {
        let source = Source::new("a.ptx", "ab\ncé d\n");
        let at = |offset| {
            let position = source.position(offset);
            (position.line, position.column)
        };
        assert_eq!(at(0), (1, 1));
        assert_eq!(at(2), (1, 3));
        assert_eq!(at(3), (2, 1));
        assert_eq!(at(6), (2, 3));
        assert_eq!(at(99), (3, 1));
    }

    #[test]
    fn lines_cover_the_whole_span() {
        let source = Source::new("a.ptx", "one\ntwo\nthree\n");
        assert_eq!(source.lines(Span::new(5, 9)), (2, 4, "two\nthree\n"));
    }
}
