//! Reports as JSON.

use oriole::report::{Report, RunVerdict, SourceFile, VERSION};
use serde::Serialize;

/// The fields of a document after its kernels.
#[derive(Debug, Serialize)]
pub struct Rest {
    /// Source files that the PTX names.
    pub sources: Vec<SourceFile>,
    /// The verdict on all kernels.
    pub verdict: RunVerdict,
    /// The version of the document.
    pub version: u32,
}

impl Rest {
    /// The rest of a document with this verdict.
    pub fn new(verdict: RunVerdict, sources: Vec<SourceFile>) -> Rest {
        Rest {
            sources,
            verdict,
            version: VERSION,
        }
    }
}

/// A report as one line of JSON.
pub fn write(report: &Report) -> String {
    serde_json::to_string(report).unwrap_or_default()
}

/// Reads a document of this version or an older one.
///
/// # Errors
/// If it is something else.
pub fn read(text: &str) -> Result<Report, String> {
    let report: Report = serde_json::from_str(text).map_err(|error| error.to_string())?;
    match report.version {
        1..=VERSION => Ok(report.upgraded()),
        0 => Err("it has no version".to_owned()),
        other => Err(format!(
            "its version is {other}, and this program reads 1 to {VERSION}"
        )),
    }
}
