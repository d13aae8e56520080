//! `oriole check`: many files in parallel, results in the order given.

use crate::Failure;
use crate::arguments::{CheckArguments, Format};
use crate::files::{self, Input};
use crate::report::Reporter;
use indicatif::{ProgressBar, ProgressStyle};
use oriole::{Diagnostic, Severity};
use oriole_diagnostics::{printable_json, printable_line, sarif};
use rayon::prelude::*;
use std::io::{IsTerminal, Write};
use std::path::Path;

/// What was found in a file.
#[derive(Default)]
struct Checked {
    output: String,
    results: Vec<serde_json::Value>,
    errors: usize,
    internal: bool,
}

/// Everything wrong with a text, and whether the fault is Oriole's.
fn diagnose(input: &Input, syntax_only: bool) -> Vec<Diagnostic> {
    let mut module = match input.parse() {
        Ok(module) => module,
        Err(errors) => return errors,
    };
    if syntax_only {
        return Vec::new();
    }
    let mut diagnostics = oriole::check_and_warn(&module);
    if diagnostics
        .iter()
        .any(|diagnostic| diagnostic.severity != Severity::Warning)
    {
        return diagnostics;
    }
    // Into SSA form and out again must say the same.
    match oriole::optimize(&mut module, &oriole::Options::level(oriole::Level::None)) {
        Ok(report) => {
            let printed = oriole::print(&module);
            let same = oriole_syntax::tokens(&input.text).eq(oriole_syntax::tokens(&printed));
            if !same || report.copies > 0 || !report.notes.is_empty() {
                diagnostics.push(Diagnostic::error(
                    "internal",
                    oriole::Span::at(0),
                    "Oriole does not print this module as it read it",
                ));
            }
        }
        Err(errors) => diagnostics.extend(errors),
    }
    diagnostics
}

/// Checks all texts of a file.
fn check_file(file: &Path, arguments: &CheckArguments, report: &Reporter) -> Checked {
    let mut checked = Checked::default();
    let read = files::inputs_of(file, &mut |input, _| {
        check_input(&input, arguments, report, &mut checked);
        Ok(())
    });
    if let Err(failure) = read {
        let message = match failure {
            Failure::Message(message) | Failure::Wrong(message) => message,
            Failure::Reported | Failure::Found | Failure::BrokenPipe => {
                format!("cannot read `{}`", file.display())
            }
        };
        let message = printable_line(&message);
        checked.output += &format!("oriole: error: {message}\n");
        checked.errors += 1;
    }
    checked
}

fn check_input(
    input: &Input,
    arguments: &CheckArguments,
    report: &Reporter,
    checked: &mut Checked,
) {
    let diagnostics = diagnose(input, arguments.syntax);
    let source = input.source();
    checked.errors += diagnostics
        .iter()
        .filter(|diagnostic| diagnostic.severity == Severity::Error)
        .count();
    if report.format() == Format::Sarif {
        let shown = report.shown(&diagnostics).iter();
        checked
            .results
            .extend(shown.map(|diagnostic| sarif::result(&source, diagnostic)));
    } else {
        checked.output += &report.format_all(&source, &diagnostics);
    }
    checked.internal |= diagnostics
        .iter()
        .any(|diagnostic| diagnostic.id == "internal");
}

pub fn run(arguments: &CheckArguments, report: &Reporter) -> Result<(), Failure> {
    let files = files::expand(&arguments.paths)?;
    let progress = if std::io::stderr().is_terminal() && files.len() > 1 && !arguments.quiet {
        let style =
            ProgressStyle::with_template("{bar:30} {pos}/{len} files, {eta} left {wide_msg}")
                .unwrap_or_else(|_| ProgressStyle::default_bar());
        ProgressBar::new(files.len() as u64).with_style(style)
    } else {
        ProgressBar::hidden()
    };
    let checked: Vec<Checked> = files
        .par_iter()
        .map(|file| {
            let checked = check_file(file, arguments, report);
            progress.inc(1);
            checked
        })
        .collect();
    progress.finish_and_clear();
    let bad = checked.iter().filter(|checked| checked.errors > 0).count();
    match report.format() {
        Format::Text | Format::Html => {
            let mut error = std::io::stderr().lock();
            for file in &checked {
                error.write_all(file.output.as_bytes())?;
            }
        }
        Format::Json => {
            let mut output = std::io::stdout().lock();
            for file in &checked {
                output.write_all(file.output.as_bytes())?;
            }
        }
        Format::Sarif => {
            let results = checked
                .iter()
                .flat_map(|file| file.results.clone())
                .collect();
            let mut output = std::io::stdout().lock();
            let text = format!("{:#}\n", sarif::log(results));
            output.write_all(printable_json(&text).as_bytes())?;
        }
    }
    let plural = |count: usize| if count == 1 { "" } else { "s" };
    if checked.iter().any(|file| file.internal) {
        return Err(Failure::Wrong(
            "this is a bug in Oriole; please report it with the file".to_owned(),
        ));
    }
    if bad > 0 {
        let errors: usize = checked.iter().map(|checked| checked.errors).sum();
        report.message(
            "error",
            &format!(
                "{errors} error{} in {bad} of {} file{}",
                plural(errors),
                files.len(),
                plural(files.len())
            ),
        );
        return Err(Failure::Reported);
    }
    if !arguments.quiet && report.format() == Format::Text {
        writeln!(
            std::io::stdout(),
            "{} file{} checked, no errors",
            files.len(),
            plural(files.len())
        )?;
    }
    Ok(())
}
