//! The words of the textual form.

use oriole_syntax::tree::Text;

/// A place in the text from which words are taken. What a word is depends on where it stands, so whoever reads asks for what it
/// expects there.
#[derive(Clone, Copy)]
pub(super) struct Lexer<'a> {
    text: &'a str,
    at: usize,
}

/// Whether a byte can stand in a name.
fn is_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$' | b'%')
}

/// Whether a byte can stand in a mnemonic.
fn is_mnemonic(byte: u8) -> bool {
    is_name(byte) || matches!(byte, b'.' | b':')
}

/// How many bytes the number has that a text starts with, sign included; 0 if it starts with none.
pub(super) fn number_length(bytes: &[u8]) -> usize {
    let sign = usize::from(bytes.first() == Some(&b'-'));
    let digits = &bytes[sign..];
    match digits {
        [b'0'..=b'9', ..] | [b'.', b'0'..=b'9', ..] => {}
        _ => return 0,
    }
    // `1e-5` is one number, `0x1e-5` is not.
    let is_decimal = !matches!(digits, [b'0', b'a'..=b'z' | b'A'..=b'Z', ..])
        || matches!(digits, [b'0', b'e' | b'E', ..]);
    let mut length = 0;
    while let Some(&byte) = digits.get(length) {
        let is_exponent = matches!(byte, b'+' | b'-')
            && is_decimal
            && matches!(digits[length - 1], b'e' | b'E')
            && digits.get(length + 1).is_some_and(u8::is_ascii_digit);
        if !byte.is_ascii_alphanumeric() && byte != b'.' && !is_exponent {
            break;
        }
        length += 1;
    }
    sign + length
}

impl<'a> Lexer<'a> {
    pub fn new(text: &'a str) -> Lexer<'a> {
        Lexer { text, at: 0 }
    }

    fn rest(&self) -> &'a [u8] {
        &self.text.as_bytes()[self.at..]
    }

    /// Where the next word starts.
    pub fn position(&mut self) -> usize {
        self.skip_blanks();
        self.at
    }

    /// Skips blanks and comments, but not the end of the line.
    fn skip_blanks(&mut self) {
        loop {
            match self.rest() {
                [b' ' | b'\t' | b'\r', ..] => self.at += 1,
                [b'/', b'/', ..] => self.skip_line(),
                _ => return,
            }
        }
    }

    /// Goes to the end of the line.
    pub fn skip_line(&mut self) {
        let length = self.rest().iter().position(|&byte| byte == b'\n');
        self.at = length.map_or(self.text.len(), |length| self.at + length);
    }

    /// Goes to the next line that has words; whether there is one.
    pub fn next_line(&mut self) -> bool {
        self.skip_blanks();
        while self.rest().first() == Some(&b'\n') {
            self.at += 1;
            self.skip_blanks();
        }
        self.at < self.text.len()
    }

    /// Whether the line has no more words.
    pub fn at_line_end(&mut self) -> bool {
        self.skip_blanks();
        matches!(self.rest(), [] | [b'\n', ..])
    }

    /// The rest of the line and where it stands, to name it in an error.
    pub fn found(&mut self) -> Text {
        self.skip_blanks();
        let rest = self.rest();
        let length = match rest.iter().position(|&byte| !is_mnemonic(byte)) {
            _ if self.at_line_end() => 0,
            Some(0) => self.text[self.at..]
                .chars()
                .next()
                .map_or(0, char::len_utf8),
            Some(length) => length,
            None => rest.len(),
        };
        self.slice(self.at, self.at + length)
    }

    pub fn slice(&self, start: usize, end: usize) -> Text {
        Text::from(start as u32..end as u32)
    }

    /// What was taken since this position.
    pub fn taken(&self, start: usize) -> Text {
        self.slice(start, self.at)
    }

    pub fn text(&self, text: Text) -> &'a str {
        &self.text[text.span().range()]
    }

    /// Whether this comes next, blanks aside.
    pub fn is_next(&mut self, word: &str) -> bool {
        self.skip_blanks();
        self.rest().starts_with(word.as_bytes())
    }

    /// Takes these signs if they come next.
    pub fn take(&mut self, signs: &str) -> bool {
        let is_next = self.is_next(signs);
        if is_next {
            self.at += signs.len();
        }
        is_next
    }

    /// Takes this word if it comes next and ends there.
    pub fn take_word(&mut self, word: &str) -> bool {
        let is_next = self.is_next(word)
            && !self
                .rest()
                .get(word.len())
                .is_some_and(|&byte| is_name(byte));
        if is_next {
            self.at += word.len();
        }
        is_next
    }

    fn take_while(&mut self, is_part: impl Fn(u8) -> bool) -> Option<Text> {
        self.skip_blanks();
        let length = self
            .rest()
            .iter()
            .take_while(|&&byte| is_part(byte))
            .count();
        let start = self.at;
        self.at += length;
        (length > 0).then(|| self.taken(start))
    }

    pub fn name(&mut self) -> Option<Text> {
        self.take_while(is_name)
    }

    pub fn mnemonic(&mut self) -> Option<Text> {
        self.take_while(is_mnemonic)
    }

    /// A name with dots in it, such as `%tid.x`.
    pub fn special_register(&mut self) -> Option<Text> {
        self.take_while(|byte| is_name(byte) || byte == b'.')
    }

    /// The type or space behind a colon.
    pub fn type_name(&mut self) -> Option<Text> {
        self.take_while(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b':' | b'?'))
    }

    /// The type of the elements of a variable, such as `v4.f32`.
    pub fn element_type(&mut self) -> Option<Text> {
        self.take_while(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'?'))
    }

    /// A part of a register, right behind it: `.x`. Empty if there is none.
    pub fn member(&mut self) -> Text {
        let start = self.at;
        if let [b'.', ..] = self.rest() {
            self.at += 1;
            let length = self.rest().iter().take_while(|&&byte| is_name(byte));
            self.at += length.count();
        }
        self.taken(start)
    }

    pub fn is_number(&mut self) -> bool {
        self.skip_blanks();
        number_length(self.rest()) > 0
    }

    pub fn number(&mut self) -> Option<Text> {
        self.skip_blanks();
        let start = self.at;
        self.at += number_length(self.rest());
        (self.at > start).then(|| self.taken(start))
    }

    /// A text in quotation marks, on one line.
    pub fn string(&mut self) -> Option<Text> {
        self.skip_blanks();
        let rest = self.rest();
        let mut length = 1;
        while rest.first() == Some(&b'"') {
            match *rest.get(length)? {
                b'\n' => return None,
                b'"' => {
                    let start = self.at;
                    self.at += length + 1;
                    return Some(self.taken(start));
                }
                b'\\' => length += 2,
                _ => length += 1,
            }
        }
        None
    }

    /// Digits, right here: nothing if there are none or their number is too large.
    pub fn index(&mut self) -> Option<u32> {
        let digits = self.take_while(|byte| byte.is_ascii_digit())?;
        self.text(digits).parse().ok()
    }

    /// An entity such as `v12` or `block3`: its number.
    pub fn entity(&mut self, kind: &str) -> Option<u32> {
        let before = *self;
        if self.take(kind)
            && self.rest().first().is_some_and(u8::is_ascii_digit)
            && let Some(number) = self.index()
            && !self.rest().first().is_some_and(|&byte| is_name(byte))
        {
            return Some(number);
        }
        *self = before;
        None
    }

    /// Whether an entity and then these signs come next, without blanks between: what tells `v3:b32` and `block3(` from mnemonics.
    pub fn is_entity(mut self, kind: &str, then: &[u8]) -> bool {
        self.entity(kind).is_some() && self.rest().starts_with(then)
    }
}
