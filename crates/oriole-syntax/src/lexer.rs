//! Turns bytes into tokens, one at a time and without copying.
//!
//! PTX words are joined by dots without spaces (`ld.global.nc.v4.f32`, `%tid.x`), so one token is the whole dotted word.
//! Words that start with a dot (`.reg`, `.shared::cta`) are tokens of their own kind. Comments are not tokens: they are
//! collected on the side, so that the parser can keep them without looking at them.

use crate::tree::Text;
use oriole_diagnostics::Span;

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
    /// Whether it stands on the line where the token before it ended.
    pub trailing: bool,
}

const WORD: u8 = 1;
const DIGIT: u8 = 2;
const SPACE: u8 = 4;

const CLASS: [u8; 256] = {
    let mut class = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let b = byte as u8;
        if b.is_ascii_alphanumeric() || b == b'_' || b == b'$' {
            class[byte] |= WORD;
        }
        if b.is_ascii_digit() {
            class[byte] |= DIGIT;
        }
        if matches!(b, b' ' | b'\t' | b'\r' | b'\n' | 0x0b | 0x0c) {
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

    #[inline(always)]
    fn byte(&self, position: usize) -> u8 {
        // A zero stands for "past the end": it is in no class, and a zero byte in the text is a bad character anyway.
        self.bytes.get(position).copied().unwrap_or(0)
    }

    #[inline(always)]
    fn is(&self, position: usize, class: u8) -> bool {
        CLASS[self.byte(position) as usize] & class != 0
    }

    #[inline(always)]
    fn words_end(&self, mut position: usize) -> usize {
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

    /// Whether a line feed stands between two offsets.
    pub fn line_breaks_between(&self, start: u32, end: u32) -> bool {
        self.bytes[start as usize..end as usize].contains(&b'\n')
    }

    /// Continues at `position`, which must be a character boundary.
    pub fn seek(&mut self, position: u32) {
        self.position = position as usize;
    }

    fn skip_space_and_comments(&mut self) {
        let from = self.position;
        loop {
            while self.is(self.position, SPACE) {
                self.position += 1;
            }
            let start = self.position;
            match (self.byte(start), self.byte(start + 1)) {
                (b'/', b'/') | (b'#', _) => {
                    let mut end = self.line_end(start as u32) as usize;
                    self.position = end;
                    if end > start && self.bytes[end - 1] == b'\r' {
                        end -= 1;
                    }
                    self.keep_comment(from, start, end);
                }
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
        }
    }

    fn keep_comment(&mut self, from: usize, start: usize, end: usize) {
        let trailing = from > 0 && !self.bytes[from..start].contains(&b'\n');
        self.comments.push(Comment {
            text: Text::new(start as u32, (end - start) as u32),
            trailing,
        });
    }

    /// The next token; `End` again and again at the end.
    #[inline]
    pub fn next(&mut self) -> Token {
        while self.is(self.position, SPACE) {
            self.position += 1;
        }
        if matches!(self.byte(self.position), b'/' | b'#') {
            self.skip_space_and_comments();
        }
        let start = self.position;
        let byte = self.byte(start);
        let (kind, end) = if CLASS[byte as usize] & DIGIT != 0 {
            self.number(start)
        } else if CLASS[byte as usize] & WORD != 0 || (byte == b'%' && self.is(start + 1, WORD)) {
            let mut end = self.words_end(start + 1);
            while self.byte(end) == b'.' {
                let next = self.dot_word_end(end);
                if next == end {
                    break;
                }
                end = next;
            }
            (TokenKind::Word, end)
        } else {
            self.punctuation(start, byte)
        };
        self.position = end;
        Token {
            kind,
            start: start as u32,
            end: end as u32,
        }
    }

    fn number(&self, start: usize) -> (TokenKind, usize) {
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
        if self.byte(end) == b'.' && !matches!(self.byte(end + 1) | 0x20, b'a'..=b'd' | b'f'..=b'z')
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
        let good =
            rest == end && (float || crate::literal::parse(&self.text[start..end]).is_some());
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
            b',' => one(Comma),
            b';' => one(Semicolon),
            b'[' => one(OpenBracket),
            b']' => one(CloseBracket),
            b'{' => one(OpenBrace),
            b'}' => one(CloseBrace),
            b'(' => one(OpenParen),
            b')' => one(CloseParen),
            b'.' => match self.dot_word_end(start) {
                end if end > start => (DotWord, end),
                _ => one(BadCharacter),
            },
            b':' => one(Colon),
            b'+' => one(Plus),
            b'-' => one(Minus),
            b'@' => one(At),
            b'~' => one(Tilde),
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

    fn string(&self, start: usize) -> (TokenKind, usize) {
        let mut position = start + 1;
        loop {
            match self.byte(position) {
                b'"' => return (TokenKind::String, position + 1),
                b'\\' if position + 1 < self.bytes.len() && self.byte(position + 1).is_ascii() => {
                    position += 2
                }
                b'\n' => return (TokenKind::UnclosedString, position),
                0 if position >= self.bytes.len() => return (TokenKind::UnclosedString, position),
                _ => position += 1,
            }
        }
    }
}

/// All tokens of a text, comments left out: what two texts are compared by.
///
/// Words joined by dots count as one token however they are written, so this is the PTX grammar's own notion of "the
/// same tokens".
pub fn tokens(text: &str) -> impl Iterator<Item = &str> {
    let mut lexer = Lexer::new(text);
    std::iter::from_fn(move || {
        let token = lexer.next();
        lexer.comments.clear();
        (token.kind != TokenKind::End).then(|| &text[token.span().range()])
    })
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
    fn words_keep_their_dots() {
        let text = "@%p1 ld.global.L1::no_allocate.v4.f32 {%f1,_}, [%rd1+-4];";
        let words: Vec<&str> = tokens(text).collect();
        assert_eq!(
            words,
            [
                "@",
                "%p1",
                "ld.global.L1::no_allocate.v4.f32",
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
            "18446744073709551615",
            "0U",
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
            "18446744073709551616",
            "0d12",
        ] {
            assert_eq!(kinds(bad), [TokenKind::BadNumber], "{bad}");
        }
    }

    #[test]
    fn comments_are_kept_aside() {
        let mut lexer = Lexer::new("a // one\n/* two */ b");
        lexer.next();
        lexer.next();
        let trailing: Vec<bool> = lexer
            .comments
            .iter()
            .map(|comment| comment.trailing)
            .collect();
        assert_eq!(trailing, [true, false]);
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
            kinds(". ."),
            [TokenKind::BadCharacter, TokenKind::BadCharacter]
        );
    }
}
