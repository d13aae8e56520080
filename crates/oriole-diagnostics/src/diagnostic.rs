//! One thing to say about one place in a file.

use crate::Span;
use std::borrow::Cow;

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// Worth knowing, nothing is wrong.
    Note,
    /// Probably wrong, processing goes on.
    Warning,
    /// Wrong: the command fails.
    Error,
}

impl Severity {
    /// The word users see.
    pub fn text(self) -> &'static str {
        match self {
            Severity::Note => "note",
            Severity::Warning => "warning",
            Severity::Error => "error",
        }
    }
}

/// A place and what to say there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Label {
    /// Where.
    pub span: Span,
    /// What stands beside the caret; may be empty.
    pub text: Cow<'static, str>,
}

/// A finding: stable id, severity, sentence, labelled places, notes.
///
/// The first label is the primary place: its line and column head the message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// Stable name in kebab case, for example `expected-operand`.
    pub id: &'static str,
    /// How bad it is.
    pub severity: Severity,
    /// One sentence without a full stop.
    pub message: String,
    /// Places, the primary one first.
    pub labels: Vec<Label>,
    /// Further sentences, printed below the excerpt.
    pub notes: Vec<String>,
}

impl Diagnostic {
    fn new(
        severity: Severity,
        id: &'static str,
        span: Span,
        message: impl Into<String>,
    ) -> Diagnostic {
        Diagnostic {
            id,
            severity,
            message: message.into(),
            labels: vec![Label {
                span,
                text: Cow::Borrowed(""),
            }],
            notes: Vec::new(),
        }
    }

    /// An error at `span`.
    pub fn error(id: &'static str, span: Span, message: impl Into<String>) -> Diagnostic {
        Diagnostic::new(Severity::Error, id, span, message)
    }

    /// A warning at `span`.
    pub fn warning(id: &'static str, span: Span, message: impl Into<String>) -> Diagnostic {
        Diagnostic::new(Severity::Warning, id, span, message)
    }

    /// A note at `span`.
    pub fn note(id: &'static str, span: Span, message: impl Into<String>) -> Diagnostic {
        Diagnostic::new(Severity::Note, id, span, message)
    }

    /// Sets the words beside the primary caret.
    pub fn label(mut self, text: impl Into<Cow<'static, str>>) -> Diagnostic {
        self.labels[0].text = text.into();
        self
    }

    /// Adds a second place.
    pub fn context(mut self, span: Span, text: impl Into<Cow<'static, str>>) -> Diagnostic {
        self.labels.push(Label {
            span,
            text: text.into(),
        });
        self
    }

    /// Adds a sentence below the excerpt.
    pub fn with_note(mut self, note: impl Into<String>) -> Diagnostic {
        self.notes.push(note.into());
        self
    }

    /// The primary place.
    pub fn span(&self) -> Span {
        self.labels[0].span
    }
}
