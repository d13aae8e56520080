//! `oriole diff`: what got better and worse between two versions of kernels.

use crate::Failure;
use crate::arguments::DiffArguments;
use crate::batch::Batch;
use crate::documents::pretty;
use crate::files::{self, Text};
use crate::report::{Log, Reporter};
use oriole::AccessOptions;
use oriole::report::Kernel;
use oriole_diagnostics::printable_text;
use oriole_report::{difference, json};
use std::path::Path;

pub fn run(arguments: &DiffArguments, report: &Reporter) -> Result<(), Failure> {
    let options = AccessOptions {
        block: arguments.block.map(|block| block.0),
        arguments: arguments.arguments.iter().copied().collect(),
        kernel: arguments.kernel.clone(),
        ..AccessOptions::default()
    };
    let before = kernels(&arguments.before, &options, report)?;
    let after = kernels(&arguments.after, &options, report)?;
    if let Some(name) = &arguments.kernel
        && before.is_empty()
        && after.is_empty()
    {
        return Err(Failure::message(format!("no kernel is named {name}")));
    }
    let difference = difference::compare(&before, &after);
    let output = match arguments.json {
        true => pretty(&difference)?,
        false => printable_text(&difference.text()).into_owned(),
    };
    files::write(None, &output)?;
    match arguments.fail_on_worse && difference.worse {
        true => Err(Failure::Found),
        false => Ok(()),
    }
}

/// The kernels of a file, a folder or a document.
fn kernels(
    path: &Path,
    options: &AccessOptions,
    report: &Reporter,
) -> Result<Vec<Kernel>, Failure> {
    if path
        .extension()
        .is_some_and(|extension| extension == "json")
    {
        let mut found = document(path)?;
        found.retain(|own| {
            options
                .kernel
                .as_ref()
                .is_none_or(|name| own.is_named(name))
        });
        return Ok(found);
    }
    let work = |text: &Text<'_>, log: &Log<'_>| {
        let source = text.input.source();
        let failed = |error: oriole::Error| log.failed(&source, error);
        let module = text.input.parse().map_err(failed)?;
        let options = AccessOptions {
            shared: files::triton_shared(&text.input),
            ..options.clone()
        };
        let (kernels, notes) = oriole::report::kernels(&module, &options).map_err(failed)?;
        if !notes.is_empty() {
            log.diagnostics(&source, &notes);
        }
        Ok(kernels)
    };
    let mut found = Vec::new();
    let batch = Batch::of(&[path.to_owned()])?;
    let tally = batch.run(report, &work, |_, texts| {
        found.extend(texts.into_iter().flatten());
        Ok(())
    })?;
    tally.finish(report)?;
    Ok(found)
}

fn document(path: &Path) -> Result<Vec<Kernel>, Failure> {
    let (name, bytes) = files::read_bytes(path)?;
    let read = json::read(&String::from_utf8_lossy(&bytes));
    let wrong = |reason| {
        Failure::message(format!(
            "{name} is not a report of oriole analyze --json: {reason}"
        ))
    };
    Ok(read.map_err(wrong)?.kernels)
}
