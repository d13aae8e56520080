//! `oriole explain`: a kind of finding, or the findings of a line.

use crate::Failure;
use crate::arguments::ExplainArguments;
use crate::batch::Batch;
use crate::files::{self, Text, triton_shared};
use crate::report::{Log, Reporter};
use crate::sources::{SourceFiles, has_unicode, width};
use crate::{lists, output};
use oriole::report::Kernel;
use oriole::{AccessOptions, FindingKind};
use oriole_report::text;
use std::io::Write;
use std::path::{Path, PathBuf};

pub fn run(arguments: &ExplainArguments, report: &Reporter) -> Result<(), Failure> {
    let Some(what) = arguments.what.as_deref() else {
        return lists::kinds(None);
    };
    if FindingKind::from_text(what).is_some() {
        return lists::kinds(Some(what));
    }
    let place = what.rsplit_once(':');
    let place = place.and_then(|(file, line)| Some((file, line.parse::<u32>().ok()?)));
    let Some((file, line)) = place else {
        let names = FindingKind::ALL.map(FindingKind::text).join(", ");
        return Err(Failure::message(format!(
            "there is no kind of finding {what}: the kinds are {names}; a line is FILE:LINE"
        )));
    };
    let named = || -> Vec<PathBuf> {
        let own = Path::new(file);
        let is_source = own.extension().is_some_and(|own| own != "ptx");
        let parent = own.parent().filter(|own| !own.as_os_str().is_empty());
        match is_source {
            true => vec![parent.unwrap_or(Path::new(".")).to_owned()],
            false => vec![own.to_owned()],
        }
    };
    let files = match arguments.files.is_empty() {
        true => named(),
        false => arguments.files.clone(),
    };
    let kernels = kernels(&files, arguments, report)?;
    let sources = SourceFiles::of(&arguments.source_root, &kernels);
    let folder = std::env::current_dir().unwrap_or_default();
    let options = text::Options {
        width: width(),
        color: report.output_color(),
        unicode: has_unicode(),
        all: true,
        sources: &sources,
        folder: &folder,
    };
    match text::findings_at(&kernels, file, line, &options) {
        Some(found) => Ok(output::standard()?.write_all(found.as_bytes())?),
        None => Err(Failure::message(format!(
            "there is no finding at {file}:{line}: oriole analyze --format short lists all"
        ))),
    }
}

fn kernels(
    files: &[PathBuf],
    arguments: &ExplainArguments,
    report: &Reporter,
) -> Result<Vec<Kernel>, Failure> {
    let options = AccessOptions {
        block: arguments.block.map(|block| block.0),
        with_shapes: true,
        ..AccessOptions::default()
    };
    let work = |text: &Text<'_>, log: &Log<'_>| {
        let source = text.input.source();
        let failed = |error: oriole::Error| log.failed(&source, error);
        let module = text.input.parse().map_err(failed)?;
        let options = AccessOptions {
            shared: triton_shared(&text.input),
            ..options.clone()
        };
        let (kernels, _) = oriole::report::kernels(&module, &options).map_err(failed)?;
        Ok(kernels)
    };
    let mut found = Vec::new();
    let batch = Batch::of_files(files::expand(files)?);
    let tally = batch.run(report, &work, |_, texts| {
        found.extend(texts.into_iter().flatten());
        Ok(())
    })?;
    tally.finish(report)?;
    Ok(found)
}
