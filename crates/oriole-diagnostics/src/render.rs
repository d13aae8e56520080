//! Diagnostics as text for people: `file:line:column`, the source line, a caret.

use crate::{Diagnostic, Severity, Source, Span, printable_line, printable_text};
use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};
use std::borrow::Cow;
use std::ops::Range;

/// Whether rendered text carries terminal colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColorChoice {
    /// Plain text.
    Never,
    /// ANSI escape sequences.
    Always,
}

/// Excerpts longer than this are not shown: generated PTX can be one line of megabytes.
const LONGEST_EXCERPT: usize = 512;

fn level(severity: Severity) -> Level<'static> {
    match severity {
        Severity::Note => Level::NOTE,
        Severity::Warning => Level::WARNING,
        Severity::Error => Level::ERROR,
    }
}

/// The bytes of `excerpt` to mark for `span`. An empty span marks the character it stands before.
fn mark(excerpt: &str, begin: usize, span: Span) -> Range<usize> {
    let inside = |offset: u32| (offset as usize).saturating_sub(begin).min(excerpt.len());
    let start = excerpt.floor_char_boundary(inside(span.start));
    let end = excerpt.ceil_char_boundary(inside(span.end));
    let next = excerpt[start..].chars().next();
    if end > start {
        start..end
    } else if let Some(next) = next.filter(|&c| c != '\n' && c != '\r') {
        start..start + next.len_utf8()
    } else {
        start..start
    }
}

/// An excerpt without characters that a terminal acts on. Each is replaced by a symbol of as many bytes, or by as many symbols,
/// so that places stay where they are.
fn visible(excerpt: &str) -> Cow<'_, str> {
    let is_unsafe = |character: char| {
        !matches!(character, '\n' | '\t')
            && !matches!(printable_line(&character.to_string()), Cow::Borrowed(_))
    };
    if !excerpt.contains(is_unsafe) {
        return Cow::Borrowed(excerpt);
    }
    let mut output = String::with_capacity(excerpt.len());
    for character in excerpt.chars() {
        if is_unsafe(character) {
            output.extend(std::iter::repeat_n('?', character.len_utf8()));
        } else {
            output.push(character);
        }
    }
    Cow::Owned(output)
}

/// Renders one diagnostic, ending in a line feed.
pub fn render(source: &Source<'_>, diagnostic: &Diagnostic, color: ColorChoice) -> String {
    let renderer = match color {
        ColorChoice::Never => Renderer::plain(),
        ColorChoice::Always => Renderer::styled(),
    };
    let name = printable_line(source.name());
    let message = printable_text(&diagnostic.message);
    let label_texts: Vec<Cow<'_, str>> = diagnostic
        .labels
        .iter()
        .map(|label| printable_text(&label.text))
        .collect();
    let mut group = Group::with_title(
        level(diagnostic.severity)
            .primary_title(message)
            .id(diagnostic.id),
    );
    // A place on another line than the primary one is an excerpt of its own: the lines between may be thousands.
    let mut excerpts: Vec<(usize, usize, &str, Vec<usize>)> = Vec::new();
    for (index, label) in diagnostic.labels.iter().enumerate() {
        let (line, begin, text) = source.lines(label.span);
        match excerpts.iter_mut().find(|excerpt| excerpt.0 == line) {
            Some(excerpt) => {
                if text.len() > excerpt.2.len() {
                    excerpt.2 = text;
                }
                excerpt.3.push(index);
            }
            None => excerpts.push((line, begin, text, vec![index])),
        }
    }
    for (line, begin, text, labels) in excerpts {
        let text = text.strip_suffix('\n').unwrap_or(text);
        let text = text.strip_suffix('\r').unwrap_or(text);
        if text.len() > LONGEST_EXCERPT {
            let position = source.position(diagnostic.labels[labels[0]].span.start);
            let place = format!("{name}:{}:{}", position.line, position.column);
            group = group.element(Level::NOTE.message(format!(
                "at {place}, on a line too long to show{}{}",
                if label_texts[labels[0]].is_empty() {
                    ""
                } else {
                    ": "
                },
                label_texts[labels[0]]
            )));
            continue;
        }
        let text = visible(text);
        let mut snippet = Snippet::source(text.clone())
            .line_start(line)
            .path(name.as_ref());
        for index in labels {
            let label = &diagnostic.labels[index];
            let kind = if index == 0 {
                AnnotationKind::Primary
            } else {
                AnnotationKind::Context
            };
            let annotation = kind.span(mark(&text, begin, label.span));
            snippet = snippet.annotation(if label.text.is_empty() {
                annotation
            } else {
                annotation.label(label_texts[index].as_ref())
            });
        }
        group = group.element(snippet);
    }
    for note in &diagnostic.notes {
        group = group.element(Level::NOTE.message(printable_text(note)));
    }
    let mut text = renderer.render(&[group]);
    text.push('\n');
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shows_place_line_caret_and_note() {
        let source = Source::new("k.ptx", "ret;\nadd.s32 %r1, ;\n");
        let diagnostic = Diagnostic::error(
            "expected-operand",
            Span::new(18, 19),
            "expected an operand, found `;`",
        )
        .label("here")
        .with_note("operands are separated by commas");
        let text = render(&source, &diagnostic, ColorChoice::Never);
        assert_eq!(
            text,
            "error[expected-operand]: expected an operand, found `;`\n \
             --> k.ptx:2:14\n  \
             |\n\
             2 | add.s32 %r1, ;\n  \
             |              ^ here\n  \
             |\n  \
             = note: operands are separated by commas\n"
        );
    }

    #[test]
    fn nothing_reaches_the_terminal_but_text() {
        let source = Source::new(
            "\u{1b}[2Jk\n.ptx",
            ".file 1 \"\u{1b}]0;x\u{7}\u{202e}\" \r x\n",
        );
        let diagnostic = Diagnostic::error("x", Span::new(0, 20), "bad `\u{1b}[31m`")
            .label("\u{9b}")
            .with_note("\u{1b}c");
        let text = render(&source, &diagnostic, ColorChoice::Never);
        assert!(
            !text.contains(|c: char| c.is_control() && c != '\n' || c == '\u{202e}'),
            "{text:?}"
        );
        assert!(text.contains(r"\u{1b}[2Jk\n.ptx:1:1"), "{text}");
    }

    #[test]
    fn end_of_file_and_long_lines_do_not_break_rendering() {
        let empty = Source::new("k.ptx", "");
        let diagnostic = Diagnostic::error("x", Span::at(0), "nothing here");
        assert!(render(&empty, &diagnostic, ColorChoice::Never).contains("k.ptx:1:1"));
        let long = "a".repeat(100_000);
        let source = Source::new("k.ptx", &long);
        let diagnostic = Diagnostic::error("x", Span::new(90_000, 90_001), "far away");
        let text = render(&source, &diagnostic, ColorChoice::Never);
        assert!(text.contains("k.ptx:1:90001"), "{text}");
        assert!(text.len() < 1000);
    }
}
