//! Text that a terminal only shows, whatever was in it.
//!
//! File names, the names of passes given by mistake and the strings in a module may hold escape sequences that recolour a
//! terminal, move its cursor or answer it, and marks that turn the direction of writing and so hide what is written. All of
//! them are shown as Rust writes them: `\u{1b}`.

use std::borrow::Cow;

/// Characters that do something to a terminal instead of standing in a place.
fn is_control(character: char) -> bool {
    character.is_control()
        || matches!(character,
            '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}' | '\u{2029}'
            | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Whether there are such characters in a text; nearly all of it is looked at byte by byte.
fn contains(text: &str, is_unsafe: &impl Fn(char) -> bool) -> bool {
    let is_plain = |byte: &u8| matches!(byte, b' '..=b'~');
    let mut rest = text;
    while let Some(place) = rest.as_bytes().iter().position(|byte| !is_plain(byte)) {
        // What is not plain starts a character, since all before it are of one byte.
        let mut characters = rest[place..].chars();
        if characters.next().is_some_and(is_unsafe) {
            return true;
        }
        rest = characters.as_str();
    }
    false
}

fn escaped(text: &str, is_unsafe: impl Fn(char) -> bool) -> Cow<'_, str> {
    if !contains(text, &is_unsafe) {
        return Cow::Borrowed(text);
    }
    let mut output = String::with_capacity(text.len() + 16);
    for character in text.chars() {
        if is_unsafe(character) {
            output.extend(character.escape_debug());
        } else {
            output.push(character);
        }
    }
    Cow::Owned(output)
}

/// A name or a sentence, which is one line: control characters are shown, line feeds too.
pub fn printable_line(text: &str) -> Cow<'_, str> {
    escaped(text, is_control)
}

/// Text of several lines: control characters but line feeds and tabs are shown.
pub fn printable_text(text: &str) -> Cow<'_, str> {
    escaped(text, |character| {
        is_control(character) && !matches!(character, '\n' | '\t')
    })
}

/// JSON, in which control characters can only stand in strings: those that JSON lets stand are escaped as it does.
pub fn printable_json(text: &str) -> Cow<'_, str> {
    let is_unsafe = |character: char| is_control(character) && !matches!(character, '\n' | '\t');
    if !contains(text, &is_unsafe) {
        return Cow::Borrowed(text);
    }
    let mut output = String::with_capacity(text.len() + 16);
    for character in text.chars() {
        if is_unsafe(character) {
            // All of them are in the basic plane.
            output.push_str(&format!("\\u{:04x}", u32::from(character)));
        } else {
            output.push(character);
        }
    }
    Cow::Owned(output)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_acts_on_is_shown() {
        assert_eq!(
            printable_line("a\u{1b}[31mb\n\u{9b}c"),
            "a\\u{1b}[31mb\\n\\u{9b}c"
        );
        assert_eq!(printable_text("a\n\tb\r\u{202e}"), "a\n\tb\\r\\u{202e}");
        assert_eq!(printable_line("μ `.file`"), "μ `.file`");
        assert!(matches!(printable_text("a\n"), Cow::Borrowed(_)));
        assert_eq!(
            printable_json("{\"a\": \"\u{9b}\u{202e}\"}\n"),
            "{\"a\": \"\\u009b\\u202e\"}\n"
        );
    }
}
