//! Diagnostics as text for people: `file:line:column`, the source line, a caret.

use crate::{Diagnostic, Severity, Source, Span};
use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};
use std::ops::Range;

/// Whether rendered text carries terminal colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColorChoice {
    /// Plain text.
    Never,
    /// ANSI escape sequences.
    Always,
}

/// An excerpt line longer than this is cut around the place it is shown for: generated PTX can be one line of megabytes.
const LONGEST_EXCERPT: usize = 4096;

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

/// Renders one diagnostic, ending in a line feed.
pub fn render(source: &Source<'_>, diagnostic: &Diagnostic, color: ColorChoice) -> String {
    let renderer = match color {
        ColorChoice::Never => Renderer::plain(),
        ColorChoice::Always => Renderer::styled(),
    };
    let mut group = Group::with_title(
        level(diagnostic.severity)
            .primary_title(diagnostic.message.as_str())
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
            let place = format!("{}:{}:{}", source.name(), position.line, position.column);
            group = group.element(Level::NOTE.message(format!(
                "at {place}, on a line too long to show{}{}",
                if diagnostic.labels[labels[0]].text.is_empty() {
                    ""
                } else {
                    ": "
                },
                diagnostic.labels[labels[0]].text
            )));
            continue;
        }
        let mut snippet = Snippet::source(text).line_start(line).path(source.name());
        for index in labels {
            let label = &diagnostic.labels[index];
            let kind = if index == 0 {
                AnnotationKind::Primary
            } else {
                AnnotationKind::Context
            };
            let annotation = kind.span(mark(text, begin, label.span));
            snippet = snippet.annotation(if label.text.is_empty() {
                annotation
            } else {
                annotation.label(label.text.as_ref())
            });
        }
        group = group.element(snippet);
    }
    for note in &diagnostic.notes {
        group = group.element(Level::NOTE.message(note.as_str()));
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
