//! Findings as a SARIF 2.1.0 log: on their line of the source, where the PTX has it, else on that of the PTX.

use oriole::report::{Finding, Kernel, Severity};
use oriole_diagnostics::sarif;
use std::path::{Path, PathBuf};

/// The findings of kernels, as results of a log. `locate` finds the source files that the PTX names; those below `root` are named relative
/// to it, as code-scanning services want it.
pub fn results(
    kernels: &[Kernel],
    root: &Path,
    locate: &dyn Fn(&str) -> Option<PathBuf>,
) -> Vec<sarif::Finding> {
    let results = kernels.iter().flat_map(|kernel| {
        let findings = kernel.findings.iter();
        findings.map(|finding| result(kernel, finding, root, locate))
    });
    results.collect()
}

/// The findings of kernels, as a whole log. See [`results`].
pub fn log(
    kernels: &[Kernel],
    root: &Path,
    locate: &dyn Fn(&str) -> Option<PathBuf>,
) -> sarif::Log {
    sarif::log(results(kernels, root, locate))
}

fn result(
    kernel: &Kernel,
    finding: &Finding,
    root: &Path,
    locate: &dyn Fn(&str) -> Option<PathBuf>,
) -> sarif::Finding {
    let ptx = place(&kernel.file, finding.line, None);
    let in_source = finding.source.as_ref().map(|source| {
        let found = locate(&source.file).unwrap_or_else(|| PathBuf::from(&source.file));
        let below = found.strip_prefix(root).unwrap_or(&found);
        place(&below.display().to_string(), source.line, source.column)
    });
    let is_in_source = in_source.is_some();
    let related = sarif::Location {
        message: Some(sarif::Message {
            text: "the PTX".to_owned(),
        }),
        ..ptx.clone()
    };
    sarif::Finding {
        level: match finding.severity {
            Severity::High => "error",
            Severity::Medium => "warning",
            Severity::Undecided | Severity::Low => "note",
        },
        locations: vec![in_source.unwrap_or(ptx)],
        message: sarif::Message {
            text: format!("{}: {}", kernel.names.plain, finding.message),
        },
        partial_fingerprints: Some(sarif::Fingerprints {
            kernel_and_cause: format!("{}:{}", kernel.name, finding.fingerprint),
        }),
        properties: Some(sarif::Properties {
            kernel: kernel.name.clone(),
            severity: finding.severity.text(),
            share: finding.share,
            waste: finding.waste,
        }),
        related_locations: match is_in_source {
            true => vec![related],
            false => Vec::new(),
        },
        rule_id: finding.kind.text().to_owned(),
    }
}

fn place(file: &str, line: u32, column: Option<u32>) -> sarif::Location {
    sarif::Location {
        physical_location: sarif::PhysicalLocation {
            artifact_location: sarif::ArtifactLocation {
                uri: sarif::uri(file),
            },
            region: sarif::Region {
                start_line: line.max(1),
                start_column: column,
                ..sarif::Region::default()
            },
        },
        message: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{conflict, kernel};

    #[test]
    fn findings_are_on_their_line_of_the_source() {
        let mut low = conflict("b", 31, 1.0);
        (low.source, low.severity, low.line) = (None, Severity::Low, 31);
        let kernel = kernel("k", vec![conflict("a", 7, 40.0), low]);
        let whole = log(&[kernel], Path::new("/repo"), &|_| None);
        let results = &whole.runs[0].results;
        let at = |list: &[sarif::Location]| {
            let place = &list[0].physical_location;
            (place.artifact_location.uri.clone(), place.region.start_line)
        };
        assert_eq!(at(&results[0].locations), ("src/k.cu".to_owned(), 7));
        assert_eq!(
            at(&results[0].related_locations),
            ("build/k.ptx".to_owned(), 107)
        );
        assert_eq!(at(&results[1].locations), ("build/k.ptx".to_owned(), 31));
        assert_eq!([results[0].level, results[1].level], ["error", "note"]);
        let fingerprint = results[0].partial_fingerprints.as_ref().unwrap();
        assert_eq!(fingerprint.kernel_and_cause, "k:a");
    }
}
