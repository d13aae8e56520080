//! Says what is wrong with the kernels of a file, or of the embedded example, worst first: a linter in a page of code.

// A program prints.
#![allow(clippy::print_stdout)]

use oriole::AccessOptions;
use oriole::report::Severity;
use std::fmt::Write;

/// One line for each finding that matters, in the way compilers print warnings, with what to do about it.
pub fn findings(name: &str, text: &str) -> Result<String, oriole::Error> {
    let module = oriole::parse(name, text)?;
    let options = AccessOptions {
        block: Some([32, 8, 1]),
        ..AccessOptions::default()
    };
    let (kernels, _) = oriole::report::kernels(&module, &options)?;
    let mut lines = String::new();
    for kernel in &kernels {
        for finding in &kernel.findings {
            if finding.severity == Severity::Low {
                continue;
            }
            let place = match &finding.source {
                Some(source) => source.to_string(),
                None => format!("{name}:{}", finding.line),
            };
            let (severity, kind) = (finding.severity.text(), finding.kind.text());
            let _ = writeln!(lines, "{place}: {severity} {kind}: {}", finding.message);
            for fix in &finding.fixes {
                let _ = writeln!(lines, "    fix: {}", fix.text);
            }
        }
    }
    Ok(lines)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let lines = match std::env::args().nth(1) {
        Some(file) => findings(&file, &std::fs::read_to_string(&file)?)?,
        None => findings("example.ptx", oriole::EXAMPLE)?,
    };
    print!("{lines}");
    Ok(())
}
