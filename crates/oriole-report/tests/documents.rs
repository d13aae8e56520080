//! The schema of documents, and documents of older versions.

use oriole::report::{Certainty, Report, Severity, schema};
use oriole_report::{difference, json};
use std::path::{Path, PathBuf};

fn path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .join(name)
}

fn kernels(name: &str, block: Option<[u32; 3]>) -> Vec<oriole::report::Kernel> {
    let text = std::fs::read_to_string(path(name)).expect("a file");
    let module = oriole::parse(name, &text).expect("PTX");
    let options = oriole::AccessOptions {
        block,
        ..oriole::AccessOptions::default()
    };
    oriole::report::kernels(&module, &options)
        .expect("a module")
        .0
}

/// `ORIOLE_BLESS=1` writes the schema anew.
#[test]
fn the_schema_is_that_of_the_types() {
    let path = path("docs/report.schema.json");
    let schema = schema::schema::<Report>();
    serde_json::from_str::<serde::de::IgnoredAny>(&schema).expect("JSON");
    if std::env::var_os("ORIOLE_BLESS").is_some() {
        std::fs::write(&path, &schema).expect("the schema can be written");
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        written == schema,
        "docs/report.schema.json is not that of the types"
    );
}

#[test]
fn a_document_is_read_as_it_was_written() {
    let report = Report::new(kernels("examples/transpose.ptx", None));
    assert!(!report.kernels[0].findings.is_empty());
    assert_eq!(json::read(&json::write(&report)), Ok(report));
}

#[test]
fn a_document_of_version_1_is_read() {
    let text = include_str!("documents/version-1.json");
    let report = json::read(text).expect("a report");
    assert_eq!(report.version, oriole::report::VERSION);
    let kernel = report.kernels.iter().find(|own| own.name == "transpose");
    let kernel = kernel.expect("a kernel");
    let finding = &kernel.findings[0];
    assert_eq!(
        (finding.kind.text(), finding.severity),
        ("bank-conflict", Severity::High)
    );
    assert_eq!(finding.waste, 124.0);
    assert_eq!(finding.fixes[0].kind, "pad");
    assert_eq!(
        kernel.accesses[finding.accesses[0]].wasteful,
        Certainty::Certainly
    );
    // Its findings have the fingerprints of today's.
    let block = Some([32, 8, 1]);
    let now = kernels("examples/transpose.ptx", block);
    assert_eq!(finding.fingerprint, now[0].findings[0].fingerprint);
    let before = std::slice::from_ref(kernel);
    assert!(
        difference::compare(before, &now)
            .kernels
            .iter()
            .all(|own| own.new.is_empty())
    );
    let padded = kernels("examples/transpose_padded.ptx", block);
    let change = difference::compare(before, &padded);
    assert_eq!(change.kernels[0].fixed.len(), 1, "{change:?}");
}

#[test]
fn other_documents_are_refused() {
    for text in [
        "",
        "{}",
        "[]",
        "{\"version\": 3, \"kernels\": []}",
        "{\"version\": 2, \"kernels\": 1}",
    ] {
        assert!(json::read(text).is_err(), "{text}");
    }
}
