//! Diagnostics as JSON: one object a diagnostic, fields documented in `docs/diagnostics.md`.

use crate::{Diagnostic, Source};
use serde::Serialize;

/// The JSON shape of a label.
#[derive(Serialize, Debug)]
pub struct JsonLabel<'a> {
    line: u32,
    column: u32,
    end_line: u32,
    end_column: u32,
    text: &'a str,
}

/// The JSON shape of a diagnostic.
#[derive(Serialize, Debug)]
pub struct JsonDiagnostic<'a> {
    file: &'a str,
    id: &'a str,
    severity: &'a str,
    message: &'a str,
    labels: Vec<JsonLabel<'a>>,
    notes: &'a [String],
}

/// The serializable form of one diagnostic; lines and columns count from 1.
pub fn object<'a>(source: &'a Source<'_>, diagnostic: &'a Diagnostic) -> JsonDiagnostic<'a> {
    JsonDiagnostic {
        file: source.name(),
        id: diagnostic.id,
        severity: diagnostic.severity.text(),
        message: &diagnostic.message,
        labels: diagnostic
            .labels
            .iter()
            .map(|label| {
                let (start, end) = (
                    source.position(label.span.start),
                    source.position(label.span.end),
                );
                JsonLabel {
                    line: start.line,
                    column: start.column,
                    end_line: end.line,
                    end_column: end.column,
                    text: &label.text,
                }
            })
            .collect(),
        notes: &diagnostic.notes,
    }
}
