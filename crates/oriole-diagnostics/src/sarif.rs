//! Diagnostics as a SARIF 2.1.0 log, the format code-scanning services take.

use crate::{Diagnostic, Severity, Source};
use serde_json::{Value, json};
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

/// One SARIF result for one diagnostic.
pub fn result(source: &Source<'_>, diagnostic: &Diagnostic) -> Value {
    let location = |label: &crate::Label| {
        let (start, end) = (
            source.position(label.span.start),
            source.position(label.span.end),
        );
        json!({
            "physicalLocation": {
                "artifactLocation": { "uri": uri(source.name()) },
                "region": {
                    "startLine": start.line,
                    "startColumn": start.column,
                    "endLine": end.line,
                    "endColumn": end.column,
                },
            },
            "message": { "text": label.text },
        })
    };
    json!({
        "ruleId": diagnostic.id,
        "level": match diagnostic.severity {
            Severity::Note => "note",
            Severity::Warning => "warning",
            Severity::Error => "error",
        },
        "message": { "text": diagnostic.message },
        "locations": [location(&diagnostic.labels[0])],
        "relatedLocations": diagnostic.labels[1..].iter().map(location).collect::<Vec<_>>(),
    })
}

/// A whole log with one run that holds `results`.
pub fn log(results: Vec<Value>) -> Value {
    let rules = results.iter().filter_map(rule);
    let rules: BTreeSet<String> = rules.map(str::to_owned).collect();
    let mut log = log_without_results(&rules);
    log["runs"][0]["results"] = Value::Array(results);
    log
}

/// The rule that a result is of.
pub fn rule(result: &Value) -> Option<&str> {
    result["ruleId"].as_str()
}

/// A whole log with one run that has these rules, and an empty list of results.
pub fn log_without_results(rules: &BTreeSet<String>) -> Value {
    let rules = rules.iter().map(|id| json!({ "id": id }));
    json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": {
                "name": "oriole",
                "version": env!("CARGO_PKG_VERSION"),
                "rules": rules.collect::<Vec<_>>(),
            }},
            "results": [],
        }],
    })
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
            one["locations"][0]["physicalLocation"]["artifactLocation"]["uri"],
            "a%20b/%25%C3%A9%23%3F%3A%1B.ptx"
        );
    }

    #[test]
    fn a_log_names_each_rule_once() {
        let source = Source::new("k.ptx", "ret;\n");
        let diagnostic = Diagnostic::error("some-rule", Span::new(0, 3), "wrong");
        let one = result(&source, &diagnostic);
        let whole = log(vec![one.clone(), one]);
        assert_eq!(
            whole["runs"][0]["tool"]["driver"]["rules"]
                .as_array()
                .unwrap()
                .len(),
            1
        );
        assert_eq!(
            whole["runs"][0]["results"][1]["locations"][0]["physicalLocation"]["region"]["endColumn"],
            4
        );
    }
}
