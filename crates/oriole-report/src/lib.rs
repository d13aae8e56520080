//! Views of what Oriole finds in PTX: text for terminals, JSON, SARIF, HTML, baselines and differences. The report itself is
//! [`oriole::report`].
//!
//! ```
//! let module = oriole::parse("kernel.ptx", oriole::EXAMPLE).unwrap();
//! let (kernels, notes) = oriole::report::kernels(&module, &Default::default()).unwrap();
//! assert!(notes.is_empty());
//! let document = oriole_report::json::write(&oriole::report::Report::new(kernels));
//! assert_eq!(oriole_report::json::read(&document).unwrap().version, 2);
//! ```

#![forbid(unsafe_code)]

pub mod baseline;
pub mod difference;
pub mod html;
pub mod json;
pub mod sarif;
pub mod text;

#[cfg(test)]
mod tests {
    use oriole::FindingKind;
    use oriole::report::{Finding, Kernel, Memory, Names, Place, Severity, Totals, Unit};

    /// A bank conflict with a fingerprint, on a line of the source, that wastes so many of 100 wavefronts.
    pub fn conflict(fingerprint: &str, line: u32, waste: f64) -> Finding {
        Finding {
            fingerprint: fingerprint.to_owned(),
            kind: FindingKind::BankConflict,
            severity: Severity::High,
            what: format!("load from {fingerprint} takes 32 wavefronts instead of 1"),
            line: line + 100,
            source: Some(Place {
                file: "/repo/src/k.cu".to_owned(),
                line,
                column: None,
            }),
            unit: Some(Unit::Wavefronts),
            waste,
            share: waste / 100.0,
            weight: waste,
            ..Finding::default()
        }
    }

    /// A kernel with findings.
    pub fn kernel(name: &str, findings: Vec<Finding>) -> Kernel {
        let wasted = findings.iter().map(|own| own.waste).sum();
        Kernel {
            file: "build/k.ptx".to_owned(),
            name: name.to_owned(),
            names: Names {
                plain: name.to_owned(),
                demangled: name.to_owned(),
                qualified: name.to_owned(),
                mangled: name.to_owned(),
            },
            totals: vec![Totals {
                memory: Memory::Shared,
                unit: Unit::Wavefronts,
                cost: 100.0,
                wasted,
                ..Totals::default()
            }],
            findings,
            ..Kernel::default()
        }
    }
}
