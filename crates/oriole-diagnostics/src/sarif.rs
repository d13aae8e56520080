//! Diagnostics as a SARIF 2.1.0 log, the format code-scanning services take.

use crate::{Diagnostic, Severity, Source};
use serde::Serialize;
use std::collections::BTreeSet;

/// A path as a URI reference: what may not stand in one is percent-encoded (RFC 3986, section 2.1). A colon in the first
/// segment would end a scheme, so it is encoded too.
pub fn uri(path: &str) -> String {
    let mut output = String::with_capacity(path.len());
    for byte in path.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => {
                output.push(char::from(byte));
            }
            _ => {
                let digit = |value: u8| char::from(b"0123456789ABCDEF"[usize::from(value)]);
                output.extend(['%', digit(byte >> 4), digit(byte & 15)]);
            }
        }
    }
    output
}

/// A text.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Message {
    /// The text.
    pub text: String,
}

/// A file.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ArtifactLocation {
    /// Its path, as [`uri`] makes it.
    pub uri: String,
}

/// A part of a file; lines and columns count from 1.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Region {
    /// The first line.
    pub start_line: u32,
    /// The first column.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start_column: Option<u32>,
    /// The last line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub end_line: Option<u32>,
    /// The column after the last one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub end_column: Option<u32>,
}

/// A part of a file, and the file.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PhysicalLocation {
    /// The file.
    pub artifact_location: ArtifactLocation,
    /// The part.
    pub region: Region,
}

/// A place with a message.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Location {
    /// The place.
    pub physical_location: PhysicalLocation,
    /// The message.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<Message>,
}

/// The identity of a result in several logs.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Fingerprints {
    /// The kernel and the fingerprint of a cause.
    #[serde(rename = "kernelAndCause/v1")]
    pub kernel_and_cause: String,
}

/// Other facts about a finding.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Properties {
    /// The kernel.
    pub kernel: String,
    /// `high`, `medium`, `undecided` or `low`.
    pub severity: &'static str,
    /// The share of the kernel's cost that is wasted.
    pub share: f64,
    /// Sectors or wavefronts that are wasted.
    pub waste: f64,
}

/// One result.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Finding {
    /// `error`, `warning` or `note`.
    pub level: &'static str,
    /// The places.
    pub locations: Vec<Location>,
    /// The message.
    pub message: Message,
    /// The identity.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub partial_fingerprints: Option<Fingerprints>,
    /// Other facts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub properties: Option<Properties>,
    /// Other places.
    pub related_locations: Vec<Location>,
    /// The rule.
    pub rule_id: String,
}

/// A rule.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Rule {
    /// Its name.
    pub id: String,
}

/// The program.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Driver {
    /// Its name.
    pub name: &'static str,
    /// The rules of the results.
    pub rules: Vec<Rule>,
    /// Its version.
    pub version: &'static str,
}

/// The program, as a tool.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Tool {
    /// The program.
    pub driver: Driver,
}

/// A run. Results come first, so that a log can be written before all rules are known.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Run {
    /// The results.
    pub results: Vec<Finding>,
    /// The program.
    pub tool: Tool,
}

/// A whole log.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Log {
    /// The schema of logs.
    #[serde(rename = "$schema")]
    pub schema: &'static str,
    /// The runs.
    pub runs: Vec<Run>,
    /// The version of the format.
    pub version: &'static str,
}

/// One SARIF result for one diagnostic.
pub fn result(source: &Source<'_>, diagnostic: &Diagnostic) -> Finding {
    let location = |label: &crate::Label| {
        let (start, end) = (
            source.position(label.span.start),
            source.position(label.span.end),
        );
        Location {
            physical_location: PhysicalLocation {
                artifact_location: ArtifactLocation {
                    uri: uri(source.name()),
                },
                region: Region {
                    start_line: start.line,
                    start_column: Some(start.column),
                    end_line: Some(end.line),
                    end_column: Some(end.column),
                },
            },
            message: Some(Message {
                text: label.text.to_string(),
            }),
        }
    };
    Finding {
        level: match diagnostic.severity {
            Severity::Note => "note",
            Severity::Warning => "warning",
            Severity::Error => "error",
        },
        locations: vec![location(&diagnostic.labels[0])],
        message: Message {
            text: diagnostic.message.to_string(),
        },
        related_locations: diagnostic.labels[1..].iter().map(location).collect(),
        rule_id: diagnostic.id.to_owned(),
        ..Finding::default()
    }
}

/// A whole log with one run that holds `results`.
pub fn log(results: Vec<Finding>) -> Log {
    let rules = results.iter().map(|own| own.rule_id.clone());
    let mut log = log_without_results(&rules.collect());
    log.runs[0].results = results;
    log
}

/// A whole log with one run that has these rules, and an empty list of results.
pub fn log_without_results(rules: &BTreeSet<String>) -> Log {
    let rules = rules.iter().map(|id| Rule { id: id.clone() });
    Log {
        schema: "https://json.schemastore.org/sarif-2.1.0.json",
        runs: vec![Run {
            results: Vec::new(),
            tool: Tool {
                driver: Driver {
                    name: "oriole",
                    rules: rules.collect(),
                    version: env!("CARGO_PKG_VERSION"),
                },
            },
        }],
        version: "2.1.0",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Span;

    #[test]
    fn paths_are_encoded() {
        let source = Source::new("a b/%é#?:\u{1b}.ptx", "ret;\n");
        let one = result(&source, &Diagnostic::error("x", Span::at(0), "wrong"));
        assert_eq!(
            one.locations[0].physical_location.artifact_location.uri,
            "a%20b/%25%C3%A9%23%3F%3A%1B.ptx"
        );
    }

    #[test]
    fn a_log_names_each_rule_once() {
        let source = Source::new("k.ptx", "ret;\n");
        let diagnostic = Diagnostic::error("some-rule", Span::new(0, 3), "wrong");
        let one = result(&source, &diagnostic);
        let whole = log(vec![one.clone(), one]);
        assert_eq!(whole.runs[0].tool.driver.rules.len(), 1);
        let location = &whole.runs[0].results[1].locations[0];
        assert_eq!(location.physical_location.region.end_column, Some(4));
        let text = serde_json::to_string(&whole).unwrap();
        assert!(
            text.contains("\"artifactLocation\":{\"uri\":\"k.ptx\"}"),
            "{text}"
        );
    }
}
