//! Why nothing can be done with a file, as an error of Rust.

use crate::{ColorChoice, Diagnostic, Position, Source, printable_line, render};
use std::fmt;

/// What is wrong with a file: at least one diagnostic.
///
/// It displays as compilers print errors, one line for each: `kernel.ptx:4:9: error: …`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    name: String,
    diagnostics: Vec<Diagnostic>,
    /// Where the diagnostics are.
    positions: Vec<Position>,
}

impl Error {
    /// What is wrong with a text.
    pub fn new(source: &Source<'_>, diagnostics: Vec<Diagnostic>) -> Error {
        let positions = diagnostics.iter();
        Error {
            name: source.name().to_owned(),
            positions: positions
                .map(|diagnostic| source.position(diagnostic.span().start))
                .collect(),
            diagnostics,
        }
    }

    /// What the file is called.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Everything that is wrong, in the order of the file.
    pub fn diagnostics(&self) -> &[Diagnostic] {
        &self.diagnostics
    }

    /// The same, each with the line and column it is at.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (Position, &Diagnostic)> {
        self.positions.iter().copied().zip(&self.diagnostics)
    }

    /// The diagnostics with excerpts of the text that this is about, the first 20 of them.
    pub fn excerpts(&self, text: &str) -> String {
        let source = Source::new(self.name.as_str(), text);
        let shown = self.diagnostics.iter().take(MOST_SHOWN);
        let shown: Vec<String> = shown
            .map(|diagnostic| render(&source, diagnostic, ColorChoice::Never))
            .collect();
        shown.join("\n")
    }
}

/// Diagnostics that are shown of a file.
const MOST_SHOWN: usize = 20;

impl fmt::Display for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = printable_line(&self.name);
        for (index, (at, diagnostic)) in self.iter().take(MOST_SHOWN).enumerate() {
            if index > 0 {
                formatter.write_str("\n")?;
            }
            let severity = diagnostic.severity.text();
            let message = printable_line(&diagnostic.message);
            let Position { line, column } = at;
            write!(formatter, "{name}:{line}:{column}: {severity}: {message}")?;
        }
        match self.diagnostics.len().saturating_sub(MOST_SHOWN) {
            0 => Ok(()),
            more => write!(formatter, "\n{name}: {more} more"),
        }
    }
}

impl std::error::Error for Error {}

impl From<Error> for Vec<Diagnostic> {
    fn from(error: Error) -> Vec<Diagnostic> {
        error.diagnostics
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Span;

    #[test]
    fn errors_display_as_compilers_print_them() {
        let source = Source::new("k\x1b.ptx", "first\nsecond line\n");
        let at =
            |start, message: &str| Diagnostic::error("id", Span::new(start, start + 1), message);
        let error = Error::new(&source, vec![at(0, "one"), at(13, "two")]);
        assert_eq!(
            error.to_string(),
            "k\\u{1b}.ptx:1:1: error: one\nk\\u{1b}.ptx:2:8: error: two"
        );
        assert!(error.excerpts(source.text()).contains("second line"));
        let boxed: Box<dyn std::error::Error + Send + Sync> = error.into();
        assert!(boxed.downcast_ref::<Error>().is_some());
        let many = Error::new(&source, (0..23).map(|_| at(0, "one")).collect());
        assert!(many.to_string().ends_with(".ptx: 3 more"));
    }
}
