//! Turns bytes into tokens, one at a time and without copying.
//!
//! PTX words are joined by dots without spaces (`ld.global.nc.v4.f32`, `%tid.x`), so one token is the whole dotted word.
//! Words that start with a dot (`.reg`, `.shared::cta`) are tokens of their own kind. Comments are not tokens: they are
//! collected on the side, so that the parser can keep them without looking at them.
//!
//! ## Speed
//! A table gives each byte its classes, and one test of it each common token. Tried and slower: classifying eight bytes at
//! once in the arithmetic of a 64-bit word (17 % slower for blanks, 22 % for blanks and words), and skipping the first blanks
//! without branches (15 %): tokens are short, and processors learn the rhythm of PTX.

use crate::tree::Text;
use oriole_diagnostics::Span;
use std::ops::Range;

/// What a token is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenKind {
    /// A name or dotted word: `add.s32`, `%r1`, `$L__BB0_2`, `_`.
    Word,
    /// A word that starts with a dot: `.reg`, `.x`, `.L2::128B`.
    DotWord,
    /// A number of any spelling.
    Number,
    /// Something that starts like a number and is none.
    BadNumber,
    /// A quoted string with its quotes.
    String,
    /// A quoted string without its closing quote.
    UnclosedString,
    /// `,`
    Comma,
    /// `;`
    Semicolon,
    /// `:`
    Colon,
    /// `{`
    OpenBrace,
    /// `}`
    CloseBrace,
    /// `(`
    OpenParen,
    /// `)`
    CloseParen,
    /// `[`
    OpenBracket,
    /// `]`
    CloseBracket,
    /// `+`
    Plus,
    /// `-`
    Minus,
    /// `|`
    Pipe,
    /// `!`
    Bang,
    /// `~`
    Tilde,
    /// `<`
    Less,
    /// `>`
    Greater,
    /// `=`
    Equal,
    /// `@`
    At,
    /// An operator that occurs only in constant expressions: `*`, `/`, `%`, `&`, `^`, `?`, `<<`, `>>`, `==`, `&&`, …
    Operator,
    /// A character that no PTX token starts with.
    BadCharacter,
    /// The end of the text.
    End,
}

/// A token: a kind and a range of bytes.
#[derive(Clone, Copy, Debug)]
pub struct Token {
    /// What it is.
    pub kind: TokenKind,
    /// First byte.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
}

impl Token {
    /// The bytes of the token as a span.
    pub fn span(self) -> Span {
        Span::new(self.start, self.end)
    }

    /// The token as a slice of the module's text.
    pub fn text(self) -> Text {
        Text::new(self.start, self.end - self.start)
    }
}

/// A comment met between tokens.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Comment {
    pub text: Text,
    /// Whether it stands on the line where the token or comment before it ended.
    pub trailing: bool,
}

const WORD: u8 = 1;
const DIGIT: u8 = 2;
const SPACE: u8 = 4;
/// Starts a word by itself.
const START: u8 = 8;
/// Starts a word with a second character: `$` and `%`.
const SIGN: u8 = 16;
/// Is a token whatever follows.
const SINGLE: u8 = 32;

/// As long as nearly all words are between dots.
const NEAR: usize = 8;

/// The kinds of characters that are tokens whatever follows.
const PUNCTUATION: [TokenKind; 128] = {
    let mut kinds = [TokenKind::BadCharacter; 128];
    kinds[b',' as usize] = TokenKind::Comma;
    kinds[b';' as usize] = TokenKind::Semicolon;
    kinds[b'[' as usize] = TokenKind::OpenBracket;
    kinds[b']' as usize] = TokenKind::CloseBracket;
    kinds[b'{' as usize] = TokenKind::OpenBrace;
    kinds[b'}' as usize] = TokenKind::CloseBrace;
    kinds[b'(' as usize] = TokenKind::OpenParen;
    kinds[b')' as usize] = TokenKind::CloseParen;
    kinds[b':' as usize] = TokenKind::Colon;
    kinds[b'+' as usize] = TokenKind::Plus;
    kinds[b'-' as usize] = TokenKind::Minus;
    kinds[b'@' as usize] = TokenKind::At;
    kinds[b'~' as usize] = TokenKind::Tilde;
    kinds
};

const CLASS: [u8; 256] = {
    let mut class = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let b = byte as u8;
        if b.is_ascii_alphanumeric() || b == b'_' || b == b'$' {
            class[byte] |= WORD;
        }
        if b.is_ascii_alphabetic() || b == b'_' {
            class[byte] |= START;
        }
        if b == b'$' || b == b'%' {
            class[byte] |= SIGN;
        }
        if byte < 128 && !matches!(PUNCTUATION[byte], TokenKind::BadCharacter) {
            class[byte] |= SINGLE;
        }
        if b.is_ascii_digit() {
            class[byte] |= DIGIT;
        }
        if matches!(b, b' ' | b'\t' | b'\r' | b'\n') {
            class[byte] |= SPACE;
        }
        byte += 1;
    }
    class
};

/// The lexer: a position in a text, and the comments met on the way.
pub(crate) struct Lexer<'text> {
    text: &'text str,
    bytes: &'text [u8],
    position: usize,
    /// Comments since the parser last took them, in order.
    pub comments: Vec<Comment>,
    /// A block comment that never closes.
    pub unclosed_comment: Option<Span>,
}

impl<'text> Lexer<'text> {
    pub fn new(text: &'text str) -> Lexer<'text> {
        Lexer {
            text,
            bytes: text.as_bytes(),
            // A byte order mark is no token.
            position: if text.starts_with('\u{feff}') { 3 } else { 0 },
            comments: Vec::new(),
            unclosed_comment: None,
        }
    }

    /// The byte at a position.
    #[inline(always)]
    pub fn byte(&self, position: usize) -> u8 {
        // A zero stands for "past the end": it is in no class, and a zero byte in the text is a bad character anyway.
        self.bytes.get(position).copied().unwrap_or(0)
    }

    #[inline(always)]
    fn is(&self, position: usize, class: u8) -> bool {
        CLASS[self.byte(position) as usize] & class != 0
    }

    /// The end of the word characters from `position` on. Most are few and not at the end of the text: for these nobody has to see
    /// for each whether the text goes on.
    #[inline(always)]
    fn words_end(&self, mut position: usize) -> usize {
        let rest = self.bytes.get(position..);
        if let Some(near) = rest.and_then(<[u8]>::first_chunk::<NEAR>) {
            let mut bytes = near.iter();
            if let Some(length) = bytes.position(|&byte| CLASS[byte as usize] & WORD == 0) {
                return position + length;
            }
            position += NEAR;
        }
        while self.is(position, WORD) {
            position += 1;
        }
        position
    }

    /// The end of `.word`, `.word::word`, … from a dot, or the dot's own position where no word follows.
    #[inline(always)]
    fn dot_word_end(&self, dot: usize) -> usize {
        let mut end = self.words_end(dot + 1);
        if end == dot + 1 {
            return dot;
        }
        while self.byte(end) == b':' && self.byte(end + 1) == b':' && self.is(end + 2, WORD) {
            end = self.words_end(end + 2);
        }
        end
    }

    /// Skips the rest of the line, for directives that end there.
    pub fn line_end(&self, from: u32) -> u32 {
        let from = from as usize;
        self.bytes[from..]
            .iter()
            .position(|&byte| byte == b'\n')
            .map_or(self.bytes.len(), |length| from + length) as u32
    }

    /// The bytes of a token.
    #[inline(always)]
    pub fn bytes(&self, token: Token) -> &'text [u8] {
        &self.bytes[token.start as usize..token.end as usize]
    }

    /// Whether a line feed stands between two offsets.
    pub fn line_breaks_between(&self, start: u32, end: u32) -> bool {
        self.bytes[start as usize..end as usize].contains(&b'\n')
    }

    /// Continues at `position`, which must be a character boundary.
    pub fn seek(&mut self, position: u32) {
        self.position = position as usize;
    }

    /// Skips blanks and keeps comments, from behind the token that ended at `from`.
    fn skip_space_and_comments(&mut self, mut from: usize) {
        loop {
            self.position = self.blanks_end(self.position);
            let start = self.position;
            match (self.byte(start), self.byte(start + 1)) {
                (b'/', b'/') => self.line_comment(from, start, start),
                (b'#', _) => match self.line_marker(start) {
                    Some(end) => self.line_comment(from, start, end),
                    None => return,
                },
                (b'/', b'*') => {
                    let close = self.text[start + 2..].find("*/");
                    let end = close.map_or(self.bytes.len(), |length| start + 2 + length + 2);
                    if close.is_none() {
                        self.unclosed_comment = Some(Span::new(start as u32, start as u32 + 2));
                    }
                    self.position = end;
                    self.keep_comment(from, start, end);
                }
                _ => return,
            }
            from = self.position;
        }
    }

    /// A comment that ends with its line, from `end` on at the earliest.
    fn line_comment(&mut self, from: usize, start: usize, end: usize) {
        let mut end = self.line_end(end as u32) as usize;
        self.position = end;
        while self.bytes[end - 1] == b'\r' {
            end -= 1;
        }
        self.keep_comment(from, start, end);
    }

    /// The end of `#line 3 "file"` or `# 3 "file" 1 2`: a preprocessor's line marker, kept like a comment.
    fn line_marker(&self, start: usize) -> Option<usize> {
        let blanks = |mut position: usize| {
            while matches!(self.byte(position), b' ' | b'\t') {
                position += 1;
            }
            position
        };
        let mut position = blanks(start + 1);
        if self.bytes[position..].starts_with(b"line") {
            position = blanks(position + 4);
        }
        let digits = position;
        while self.is(position, DIGIT) {
            position += 1;
        }
        let quote = blanks(position);
        if digits == position || quote == position || self.byte(quote) != b'"' {
            return None;
        }
        let close = quote + 1 + self.text[quote + 1..].find('"')?;
        self.bytes[close + 1..]
            .iter()
            .take_while(|&&byte| byte != b'\n')
            .all(|byte| matches!(byte, b' ' | b'\t' | b'\r' | b'0'..=b'9'))
            .then_some(close)
    }

    fn keep_comment(&mut self, from: usize, start: usize, end: usize) {
        let trailing = from > 0 && !self.bytes[from..start].contains(&b'\n');
        self.comments.push(Comment {
            text: Text::new(start as u32, (end - start) as u32),
            trailing,
        });
    }

    /// The next token; `End` again and again at the end.
    pub fn next(&mut self) -> Token {
        match self.next_common() {
            Ok(token) => token,
            Err(start) => self.next_uncommon(start),
        }
    }

    /// The next token if it is a word or a character that is a token whatever follows; otherwise where it, or a comment before
    /// it, starts: [`Lexer::next_uncommon`] goes on from there.
    #[inline(always)]
    pub fn next_common(&mut self) -> Result<Token, usize> {
        let start = self.blanks_end(self.position);
        let byte = self.byte(start);
        let (kind, end) = if let Some(end) = self.word_end(start) {
            (TokenKind::Word, end)
        } else if CLASS[byte as usize] & SINGLE != 0 {
            (PUNCTUATION[(byte & 0x7f) as usize], start + 1)
        } else {
            return Err(start);
        };
        Ok(self.take(kind, start, end))
    }

    /// Goes on behind a token.
    #[inline(always)]
    fn take(&mut self, kind: TokenKind, start: usize, end: usize) -> Token {
        self.position = end;
        Token {
            kind,
            start: start as u32,
            end: end as u32,
        }
    }

    /// The token from `start` on, before which only blanks stand, if it is no common one.
    #[inline(always)]
    pub fn next_uncommon(&mut self, start: usize) -> Token {
        if let Some(end) = self.plain_number_end(start) {
            return self.take(TokenKind::Number, start, end);
        }
        if self.byte(start) == b'.' && self.is(start + 1, START) {
            return self.take(TokenKind::DotWord, start, self.dot_word_end(start));
        }
        self.next_rare(start)
    }

    /// The end of the word that starts here, if one does.
    #[inline(always)]
    pub fn word_end(&self, start: usize) -> Option<usize> {
        let class = CLASS[self.byte(start) as usize];
        let is_word = class & START != 0 || (class & SIGN != 0 && self.is(start + 1, WORD));
        is_word.then(|| self.dotted_end(start + 1))
    }

    /// The end of the number that starts here, if one does and is a few decimal digits, as most are.
    #[inline(always)]
    pub fn plain_number_end(&self, start: usize) -> Option<usize> {
        let mut end = start;
        while self.is(end, DIGIT) {
            end += 1;
        }
        let is_plain = end > start
            && !self.is(end, WORD)
            && self.byte(end) != b'.'
            && end - start < 19
            && (self.byte(start) != b'0' || end == start + 1);
        is_plain.then_some(end)
    }

    /// The end of the blanks and line breaks that start here.
    #[inline(always)]
    pub fn blanks_end(&self, mut position: usize) -> usize {
        while self.is(position, SPACE) {
            position += 1;
        }
        position
    }

    /// The end of a dotted word, from behind its first character.
    #[inline(always)]
    fn dotted_end(&self, from: usize) -> usize {
        let mut end = self.words_end(from);
        while self.byte(end) == b'.' {
            let next = self.dot_word_end(end);
            if next == end {
                break;
            }
            end = next;
        }
        end
    }

    /// Comments, numbers, strings, operators and all that is wrong, from `start` on; only blanks stand before it.
    #[inline(never)]
    fn next_rare(&mut self, start: usize) -> Token {
        let from = std::mem::replace(&mut self.position, start);
        if matches!(self.byte(start), b'/' | b'#') {
            self.skip_space_and_comments(from);
            if self.position != start {
                return self.next();
            }
        }
        let byte = self.byte(start);
        let (kind, end) = if CLASS[byte as usize] & DIGIT != 0 {
            self.rare_number(start)
        } else {
            self.punctuation(start, byte)
        };
        self.take(kind, start, end)
    }

    fn rare_number(&self, start: usize) -> (TokenKind, usize) {
        let digits_end = |mut position: usize| {
            while self.is(position, DIGIT) {
                position += 1;
            }
            position
        };
        let word_end = self.words_end(start);
        if self.byte(start) == b'0'
            && matches!(self.byte(start + 1) | 0x20, b'x' | b'b' | b'f' | b'd')
        {
            let good = crate::literal::parse(&self.text[start..word_end]).is_some();
            return (
                if good {
                    TokenKind::Number
                } else {
                    TokenKind::BadNumber
                },
                word_end,
            );
        }
        let mut end = digits_end(start);
        let mut float = false;
        if self.byte(end) == b'.'
            && !matches!(self.byte(end + 1) | 0x20, b'a'..=b'd' | b'f'..=b'z' | b'_')
        {
            float = true;
            end = digits_end(end + 1);
        }
        if self.byte(end) | 0x20 == b'e' {
            let sign = usize::from(matches!(self.byte(end + 1), b'+' | b'-'));
            if self.is(end + 1 + sign, DIGIT) {
                float = true;
                end = digits_end(end + 1 + sign);
            }
        }
        if !float && self.byte(end) == b'U' {
            end += 1;
        }
        let rest = self.words_end(end);
        let good = rest == end && crate::literal::parse(&self.text[start..end]).is_some();
        (
            if good {
                TokenKind::Number
            } else {
                TokenKind::BadNumber
            },
            rest,
        )
    }

    fn punctuation(&self, start: usize, byte: u8) -> (TokenKind, usize) {
        use TokenKind::*;
        let one = |kind| (kind, start + 1);
        let next = self.byte(start + 1);
        match byte {
            // `.5` and `.5e3` are numbers, `.2d` is a word.
            b'.' if self.is(start + 1, DIGIT) => match self.rare_number(start) {
                (Number, end) => (Number, end),
                _ => (DotWord, self.dot_word_end(start)),
            },
            b'.' => match self.dot_word_end(start) {
                end if end > start => (DotWord, end),
                _ => one(BadCharacter),
            },
            b'|' if next == b'|' => (Operator, start + 2),
            b'|' => one(Pipe),
            b'!' if next == b'=' => (Operator, start + 2),
            b'!' => one(Bang),
            b'<' | b'>' if next == byte || next == b'=' => (Operator, start + 2),
            b'<' => one(Less),
            b'>' => one(Greater),
            b'=' if next == b'=' => (Operator, start + 2),
            b'=' => one(Equal),
            b'&' if next == b'&' => (Operator, start + 2),
            b'*' | b'/' | b'%' | b'&' | b'^' | b'?' => one(Operator),
            b'"' => self.string(start),
            0 if start >= self.bytes.len() => (End, start),
            _ => {
                let character = self.text[start..].chars().next().unwrap_or(' ');
                (BadCharacter, start + character.len_utf8())
            }
        }
    }

    /// A string: up to the next quote, wherever it is. PTX knows no escapes.
    fn string(&self, start: usize) -> (TokenKind, usize) {
        match self.text[start + 1..].find('"') {
            Some(length) => (TokenKind::String, start + 1 + length + 1),
            None => (
                TokenKind::UnclosedString,
                self.line_end(start as u32) as usize,
            ),
        }
    }
}

/// All tokens of a text, comments left out: what two texts are compared by.
///
/// A dotted word counts as several tokens, split before its dots: `mov.u32` and `mov .u32` are the same to PTX.
pub fn tokens(text: &str) -> impl Iterator<Item = &str> {
    token_ranges(text).map(|range| &text[range])
}

/// Where the [`tokens`] of a text stand in it.
pub fn token_ranges(text: &str) -> impl Iterator<Item = Range<usize>> {
    let mut lexer = Lexer::new(text);
    let mut rest = 0..0;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            let token = lexer.next();
            lexer.comments.clear();
            if token.kind == TokenKind::End {
                return None;
            }
            rest = token.span().range();
            if token.kind != TokenKind::Word {
                return Some(std::mem::take(&mut rest));
            }
        }
        let end = match text[rest.start + 1..rest.end].find('.') {
            Some(dot) => rest.start + 1 + dot,
            None => rest.end,
        };
        let part = rest.start..end;
        rest.start = end;
        Some(part)
    })
}

/// All comments of a text with their marks, line markers included.
pub fn comments(text: &str) -> Vec<&str> {
    let mut lexer = Lexer::new(text);
    while lexer.next().kind != TokenKind::End {}
    lexer
        .comments
        .iter()
        .map(|comment| &text[comment.text.span().range()])
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(text: &str) -> Vec<TokenKind> {
        let mut lexer = Lexer::new(text);
        std::iter::from_fn(|| Some(lexer.next().kind).filter(|&kind| kind != TokenKind::End))
            .collect()
    }

    #[test]
    fn dotted_words_are_compared_part_by_part() {
        let text = "@%p1 ld.global.L1::no_allocate.v4.f32 {%f1,_}, [%rd1+-4];";
        let words: Vec<&str> = tokens(text).collect();
        assert_eq!(
            words,
            [
                "@",
                "%p1",
                "ld",
                ".global",
                ".L1::no_allocate",
                ".v4",
                ".f32",
                "{",
                "%f1",
                ",",
                "_",
                "}",
                ",",
                "[",
                "%rd1",
                "+",
                "-",
                "4",
                "]",
                ";"
            ]
        );
    }

    #[test]
    fn numbers_of_every_spelling() {
        for good in [
            "0",
            "42",
            "42U",
            "017",
            "0x1F",
            "0XABCU",
            "0b101",
            "0b101U",
            "0f3F800000",
            "0F3f800000",
            "0d3FF0000000000000",
            "1.5",
            "1.",
            "2e10",
            "2.5e-3",
            "18446744073709551616",
            "0U",
            ".5",
            ".5e-3",
            "08.5",
            "00",
        ] {
            assert_eq!(kinds(good), [TokenKind::Number], "{good}");
        }
        for bad in [
            "12abc",
            "0x",
            "0xG",
            "0f3F80",
            "0b2",
            "089",
            "99999999999999999999999",
            "0d12",
            "3u",
            "1e400",
            "1.5f",
        ] {
            assert_eq!(kinds(bad), [TokenKind::BadNumber], "{bad}");
        }
    }

    #[test]
    fn comments_are_kept_aside() {
        let mut lexer = Lexer::new("a // one\n/* two */ /* three */ b\n// four\nc");
        while lexer.next().kind != TokenKind::End {}
        let trailing: Vec<bool> = lexer
            .comments
            .iter()
            .map(|comment| comment.trailing)
            .collect();
        assert_eq!(trailing, [true, false, true, false]);
        let mut open = Lexer::new("a /* never");
        open.next();
        assert_eq!(open.next().kind, TokenKind::End);
        assert!(open.unclosed_comment.is_some());
    }

    #[test]
    fn odd_bytes_are_bad_characters_not_panics() {
        assert_eq!(
            kinds("é\0"),
            [TokenKind::BadCharacter, TokenKind::BadCharacter]
        );
        assert_eq!(kinds("\"abc"), [TokenKind::UnclosedString]);
        assert_eq!(kinds("\"a\\"), [TokenKind::UnclosedString]);
        assert_eq!(
            kinds("\x0c#\x0b"),
            [
                TokenKind::BadCharacter,
                TokenKind::BadCharacter,
                TokenKind::BadCharacter
            ]
        );
    }

    #[test]
    fn strings_have_no_escapes_and_may_span_lines() {
        assert_eq!(kinds("\"a\\\"b"), [TokenKind::String, TokenKind::Word]);
        assert_eq!(kinds("\"a\nb\""), [TokenKind::String]);
        assert_eq!(
            kinds("\"a\nb"),
            [TokenKind::UnclosedString, TokenKind::Word]
        );
    }

    #[test]
    fn line_markers_are_kept_like_comments() {
        for text in ["#line 3 \"x\"", "# 3 \"x\" 1 2\r", "#\tline3 \"x\""] {
            assert_eq!(kinds(text), [], "{text}");
            assert_eq!(comments(text), [text.trim_end()]);
        }
        for text in ["#", "#line", "#line 3", "# 3\"x\"", "#line 3 \"x\" .foo"] {
            assert_eq!(kinds(text)[0], TokenKind::BadCharacter, "{text}");
        }
    }

    #[test]
    fn names_need_a_second_character_after_a_sign() {
        assert_eq!(kinds("$"), [TokenKind::BadCharacter]);
        assert_eq!(
            kinds("% $1 %_ _a $$ %1"),
            [
                TokenKind::Operator,
                TokenKind::Word,
                TokenKind::Word,
                TokenKind::Word,
                TokenKind::Word,
                TokenKind::Word
            ]
        );
        assert_eq!(
            kinds(". ."),
            [TokenKind::BadCharacter, TokenKind::BadCharacter]
        );
    }
}
