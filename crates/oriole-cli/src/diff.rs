//! `oriole diff`: what got better and worse between two versions of kernels.

use crate::Failure;
use crate::arguments::DiffArguments;
use crate::documents::pretty;
use crate::files;
use crate::report::Reporter;
use oriole::AccessOptions;
use oriole_diagnostics::printable_text;
use oriole_report::{difference, json};
use serde_json::Value;
use std::path::Path;

pub fn run(arguments: &DiffArguments, report: &Reporter) -> Result<(), Failure> {
    let options = AccessOptions {
        block: arguments.block.map(|block| block.0),
        ..AccessOptions::default()
    };
    let before = kernels(&arguments.before, &options, report)?;
    let after = kernels(&arguments.after, &options, report)?;
    let difference = difference::compare(&before, &after);
    let output = match arguments.json {
        true => pretty(&difference.json())?,
        false => printable_text(&difference.text()).into_owned(),
    };
    files::write(None, &output)?;
    match arguments.fail_on_worse && difference.is_worse() {
        true => Err(Failure::Found),
        false => Ok(()),
    }
}

/// The kernels of a file, a folder or a document.
fn kernels(path: &Path, options: &AccessOptions, report: &Reporter) -> Result<Vec<Value>, Failure> {
    if path
        .extension()
        .is_some_and(|extension| extension == "json")
    {
        return document(path);
    }
    let mut found = Vec::new();
    files::for_each_input(&[path.to_owned()], report, |input| {
        let reported = |errors: Vec<oriole::Diagnostic>| {
            report.diagnostics(&input.source(), &errors);
            Failure::Reported
        };
        let module = input.parse().map_err(reported)?;
        let (kernels, notes) = json::analysis(&module, options).map_err(reported)?;
        if !notes.is_empty() {
            report.diagnostics(&input.source(), &notes);
        }
        found.extend(kernels);
        Ok(())
    })?;
    Ok(found)
}

fn document(path: &Path) -> Result<Vec<Value>, Failure> {
    let (name, bytes) = files::read_bytes(path)?;
    let wrong = |reason: String| {
        Failure::message(format!(
            "`{name}` is no document of `oriole analyze --json`: {reason}"
        ))
    };
    let value: Value = serde_json::from_slice(&bytes).map_err(|error| wrong(error.to_string()))?;
    if value["version"] != json::VERSION {
        return Err(wrong("its version is another one".to_owned()));
    }
    let kernels = value["kernels"].as_array().cloned();
    kernels.ok_or_else(|| wrong("it has no kernels".to_owned()))
}
