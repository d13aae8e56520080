//! `oriole analyze`: what kernels waste, which change pays, and how sure that is.

use crate::Failure;
use crate::arguments::{AnalyzeArguments, Assumed};
use crate::batch::Batch;
use crate::documents::{Documents, Piece, Style};
use crate::files::{Input, Text, triton_shared};
use crate::report::{Log, Reporter};
use oriole::report::Demangled;
use oriole::{AccessOptions, Module};
use oriole_report::text::listed;

pub fn run(arguments: &AnalyzeArguments, report: &Reporter) -> Result<(), Failure> {
    let style = Style::of(arguments, report);
    let options = AccessOptions {
        findings_only: style.shows_findings_only(),
        block: arguments.block.map(|block| block.0),
        arguments: arguments.arguments.iter().copied().collect(),
        kernel: arguments.kernel.clone(),
        grid: arguments.grid,
        shared: arguments.shared,
        with_shapes: true,
        with_summary: true,
        multiples: arguments
            .assume
            .iter()
            .filter_map(|assumed| match *assumed {
                Assumed::Multiple(number, multiple) => Some((number, multiple)),
                Assumed::PointerAlignment(_) => None,
            })
            .collect(),
        pointer_alignment: arguments.assume.iter().find_map(|assumed| match *assumed {
            Assumed::PointerAlignment(alignment) => Some(alignment),
            Assumed::Multiple(..) => None,
        }),
    };
    let mut documents = Documents::new(arguments, &style, report)?;
    let (mut kernels, mut names, mut parameters) = (0, Vec::new(), 0);
    let work = |text: &Text<'_>, log: &Log<'_>| analyze(&text.input, &options, &style, log);
    let batch = Batch::or_example(&arguments.files, arguments.example, report)?;
    let tally = batch.run(report, &work, |_, texts: Vec<Analyzed>| {
        for text in texts {
            kernels += text.kernels;
            names.extend(text.names);
            parameters = parameters.max(text.parameters);
            documents.add(text.piece)?;
        }
        Ok(())
    })?;
    if tally.is_empty() {
        return tally.finish(report);
    }
    if let Some(name) = arguments.kernel.as_ref().filter(|_| kernels == 0) {
        let others = listed(&names);
        return Err(Failure::message(format!(
            "no kernel is named {name}: {others}"
        )));
    }
    let mut given = arguments.arguments.iter().map(|own| own.0);
    if let Some(number) = given.find(|&number| number >= parameters) {
        let most = oriole::report::words::count(parameters.into(), "parameter");
        let message = format!("--arg {number}: no kernel has a parameter {number}, at most {most}");
        return Err(Failure::message(message));
    }
    let is_found = documents.write()?;
    tally.finish(report)?;
    match is_found {
        true => Err(Failure::Found),
        false => Ok(()),
    }
}

/// What was made of a text.
struct Analyzed {
    piece: Piece,
    kernels: usize,
    /// The most parameters of a kernel.
    parameters: u32,
    /// The names of its kernels, if one was asked for.
    names: Vec<String>,
}

fn analyze(
    input: &Input,
    options: &AccessOptions,
    style: &Style<'_>,
    log: &Log<'_>,
) -> Result<Analyzed, Failure> {
    let source = input.source();
    let failed = |error: oriole::Error| log.failed(&source, error);
    let module = input.parse().map_err(failed)?;
    let options = &AccessOptions {
        shared: options.shared.or_else(|| triton_shared(input)),
        ..options.clone()
    };
    let (kernels, notes) = oriole::accesses(&module, options).map_err(failed)?;
    if !notes.is_empty() {
        log.diagnostics(&source, &notes);
    }
    let kernels = oriole::report::of(&module, &kernels);
    let count = kernels.len();
    let parameters = kernels.iter().map(|own| own.parameters.len() as u32).max();
    let piece = style.piece(&module, options, kernels, input.is_example);
    Ok(Analyzed {
        piece: piece.map_err(failed)?,
        kernels: count,
        parameters: parameters.unwrap_or(0),
        names: match &options.kernel {
            Some(_) => names(&module),
            None => Vec::new(),
        },
    })
}

/// The plain names of the kernels of a module.
fn names(module: &Module) -> Vec<String> {
    let defined = module.functions.iter().filter(|own| own.body.is_some());
    let names = defined.map(|own| Demangled::of(module.text(own.name)).plain);
    names.collect()
}
