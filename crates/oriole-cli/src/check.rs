//! `oriole check`: many files in parallel, results in the order given.

use crate::Failure;
use crate::arguments::{CheckArguments, Format};
use crate::batch::Batch;
use crate::files::{Input, Text};
use crate::output::{self, JsonList};
use crate::report::{Log, Reporter};
use oriole::{Diagnostic, Severity};
use oriole_diagnostics::sarif;
use std::collections::BTreeSet;
use std::io::Write;

/// What was found in a text.
#[derive(Default)]
struct Checked {
    output: String,
    rules: BTreeSet<String>,
    results: Vec<String>,
    errors: usize,
    internal: bool,
}

/// Everything wrong with a text, and whether the fault is Oriole's.
fn diagnose(input: &Input, syntax_only: bool) -> Vec<Diagnostic> {
    let mut module = match input.parse() {
        Ok(module) => module,
        Err(error) => return error.into(),
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
            let mut notes = report.notes.iter();
            let is_left_alone = notes.any(|note| note.severity != Severity::Warning);
            if !same || report.copies > 0 || is_left_alone {
                diagnostics.push(Diagnostic::error(
                    "internal",
                    oriole::Span::at(0),
                    "Oriole does not print this module as it read it",
                ));
            }
        }
        Err(error) => diagnostics.extend_from_slice(error.diagnostics()),
    }
    diagnostics
}

fn check_input(
    input: &Input,
    arguments: &CheckArguments,
    report: &Reporter,
) -> Result<Checked, Failure> {
    let diagnostics = diagnose(input, arguments.syntax);
    let source = input.source();
    let mut checked = Checked {
        errors: diagnostics
            .iter()
            .filter(|diagnostic| diagnostic.severity == Severity::Error)
            .count(),
        internal: diagnostics
            .iter()
            .any(|diagnostic| diagnostic.id == "internal"),
        ..Checked::default()
    };
    if report.format() == Format::Sarif {
        for diagnostic in report.shown(&diagnostics) {
            let result = sarif::result(&source, diagnostic);
            checked.results.push(JsonList::result(&result));
            checked.rules.insert(diagnostic.id.to_owned());
        }
    } else {
        checked.output = report.format_all(&source, &diagnostics);
    }
    Ok(checked)
}

pub fn run(arguments: &CheckArguments, report: &Reporter) -> Result<(), Failure> {
    let batch = Batch::of(&arguments.paths)?.quiet(arguments.quiet);
    let work = |text: &Text<'_>, _: &Log<'_>| check_input(&text.input, arguments, report);
    let mut results = JsonList::of_results();
    let mut rules = BTreeSet::new();
    let (mut errors, mut bad, mut is_internal) = (0, 0, false);
    let tally = batch.run(report, &work, |_, texts: Vec<Checked>| {
        let own: usize = texts.iter().map(|text| text.errors).sum();
        errors += own;
        bad += usize::from(own > 0);
        for text in texts {
            is_internal |= text.internal;
            rules.extend(text.rules);
            match report.format() {
                Format::Text | Format::Html | Format::Short => {
                    std::io::stderr().write_all(text.output.as_bytes())?;
                }
                Format::Json => output::standard()?.write_all(text.output.as_bytes())?,
                Format::Sarif => {
                    let mut output = String::new();
                    results.add(&text.results, &mut output);
                    output::standard()?.write_all(output.as_bytes())?;
                }
            }
        }
        Ok(())
    })?;
    if report.format() == Format::Sarif {
        let rest = results.finish_results(&rules);
        output::standard()?.write_all(rest.as_bytes())?;
    }
    let plural = |count: usize| if count == 1 { "" } else { "s" };
    if is_internal {
        return Err(Failure::Wrong(
            "this is a bug in Oriole; please report it with the file".to_owned(),
        ));
    }
    let (errors, bad, files) = (errors + tally.failed, bad + tally.failed, tally.files);
    if bad > 0 {
        let (of_errors, of_files) = (plural(errors), plural(files));
        let text = format!("{errors} error{of_errors} in {bad} of {files} file{of_files}");
        report.message("error", &text);
        return Err(Failure::Reported);
    }
    if !arguments.quiet && report.format() == Format::Text {
        let plural = plural(files);
        writeln!(
            output::standard()?,
            "{files} file{plural} checked, no errors"
        )?;
    }
    Ok(())
}
