//! Findings as a SARIF 2.1.0 log: on their line of the source, where the PTX says it, else on that of the PTX.

use oriole_diagnostics::sarif;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// The findings of kernels, as results of a log. `locate` finds the source files that the PTX names; those below `root` are named relative
/// to it, as code-scanning services want it.
pub fn results(
    kernels: &[Value],
    root: &Path,
    locate: &dyn Fn(&str) -> Option<PathBuf>,
) -> Vec<Value> {
    let results = kernels.iter().flat_map(|kernel| {
        let findings = kernel["findings"].as_array().into_iter().flatten();
        findings.map(|finding| result(kernel, finding, root, locate))
    });
    results.collect()
}

/// The findings of kernels, as a whole log. See [`results`].
pub fn log(kernels: &[Value], root: &Path, locate: &dyn Fn(&str) -> Option<PathBuf>) -> Value {
    sarif::log(results(kernels, root, locate))
}

fn result(
    kernel: &Value,
    finding: &Value,
    root: &Path,
    locate: &dyn Fn(&str) -> Option<PathBuf>,
) -> Value {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let (file, name) = (text(&kernel["file"]), text(&kernel["name"]));
    let (kind, message) = (text(&finding["kind"]), text(&finding["message"]));
    let ptx = place(&file, &finding["line"]);
    let source = &finding["source"];
    let in_source = source["file"].as_str().map(|named| {
        let found = locate(named).unwrap_or_else(|| PathBuf::from(named));
        let below = found.strip_prefix(root).unwrap_or(&found);
        place(&below.display().to_string(), &source["line"])
    });
    // What stays when lines above it come and go: the kernel, what it is and where in the source it is.
    let fingerprint = format!("{name}:{kind}:{}", text(&source["file"]));
    let mut result = json!({
        "ruleId": kind,
        "level": match finding["severity"].as_str() {
            Some("high") => "error",
            Some("medium") => "warning",
            _ => "note",
        },
        "message": {"text": format!("{name}: {message}")},
        "partialFingerprints": {"kernelAndKind/v1": fingerprint},
        "properties": {"kernel": name, "weight": finding["weight"]},
    });
    match in_source {
        Some(place) => {
            result["locations"] = json!([place]);
            let mut related = ptx;
            related["message"] = json!({"text": "the PTX"});
            result["relatedLocations"] = json!([related]);
        }
        None => result["locations"] = json!([ptx]),
    }
    result
}

fn place(file: &str, line: &Value) -> Value {
    json!({
        "physicalLocation": {
            "artifactLocation": {"uri": sarif::uri(file)},
            "region": {"startLine": line.as_u64().unwrap_or(1).max(1)},
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn findings_are_on_their_line_of_the_source() {
        let kernel = json!({
            "file": "build/k.ptx",
            "name": "k",
            "findings": [
                {"kind": "bank-conflict", "severity": "high", "line": 30, "message": "m", "weight": 2.0,
                 "source": {"file": "/repo/src/k.cu", "line": 7}},
                {"kind": "uncoalesced-access", "severity": "low", "line": 31, "message": "n", "weight": 1.0, "source": null},
            ],
        });
        let whole = log(&[kernel], Path::new("/repo"), &|_| None);
        let results = whole["runs"][0]["results"].as_array().unwrap();
        let at = |index: usize, list: &str| {
            let place = &results[index][list][0]["physicalLocation"];
            let line = place["region"]["startLine"].as_u64();
            (
                place["artifactLocation"]["uri"].as_str().map(str::to_owned),
                line,
            )
        };
        assert_eq!(at(0, "locations"), (Some("src/k.cu".to_owned()), Some(7)));
        assert_eq!(
            at(0, "relatedLocations"),
            (Some("build/k.ptx".to_owned()), Some(30))
        );
        assert_eq!(
            at(1, "locations"),
            (Some("build/k.ptx".to_owned()), Some(31))
        );
        assert_eq!(
            (&results[0]["level"], &results[1]["level"]),
            (&json!("error"), &json!("note"))
        );
    }
}
