//! `oriole opt`.

use crate::Failure;
use crate::arguments::OptArguments;
use crate::files;
use crate::report::Reporter;
use oriole::{Fuel, Level, Options};
use std::io::Write;

fn options(arguments: &OptArguments) -> Result<Options, Failure> {
    let level = match arguments.level {
        0 => Level::None,
        1 => Level::Less,
        2 => Level::Default,
        _ => Level::Aggressive,
    };
    let mut options = Options::level(level);
    if !arguments.passes.is_empty() {
        let names = arguments.passes.iter().map(String::as_str);
        options.phases =
            oriole_opt::select(names).map_err(|error| Failure::message(error.to_string()))?;
    }
    for name in arguments
        .print_after
        .iter()
        .filter(|name| *name != "all")
        .chain(&arguments.stop_after)
    {
        if oriole_opt::find_pass(name).is_none() {
            return Err(Failure::message(
                oriole_opt::UnknownPass(name.clone()).to_string(),
            ));
        }
    }
    if let Some(name) = &arguments.stop_after
        && let Some(last) = options
            .phases
            .iter()
            .position(|phase| phase.pass.name == name)
    {
        options.phases.truncate(last + 1);
    }
    for knob in &arguments.knobs {
        options
            .knobs
            .set(knob)
            .map_err(|error| Failure::message(error.to_string()))?;
    }
    if let Some(fuel) = arguments.fuel {
        options.fuel = Fuel::limited(fuel);
    }
    Ok(options)
}

pub fn run(arguments: &OptArguments, report: &Reporter) -> Result<(), Failure> {
    let options = options(arguments)?;
    let input = files::read_or_example(arguments.file.as_deref(), report)?;
    let source = input.source();
    let mut module = input.parse().map_err(|errors| {
        report.diagnostics(&source, &errors);
        Failure::Reported
    })?;
    let result = oriole::optimize_with(&mut module, &options, &mut |module, phase, function| {
        let wanted = arguments
            .print_after
            .iter()
            .any(|name| name == "all" || name == phase.pass.name);
        if wanted {
            let dump = oriole_ir::display(module, function);
            let _ = writeln!(std::io::stderr(), "// after {}\n{dump}", phase.pass.name);
        }
    });
    let done = result.map_err(|errors| {
        report.diagnostics(&source, &errors);
        Failure::Reported
    })?;
    if !done.notes.is_empty() {
        report.diagnostics(&source, &done.notes);
    }
    if arguments.stats {
        let mut error = std::io::stderr().lock();
        let _ = write!(error, "{}", done.statistics);
        let _ = writeln!(error, "{:>10}  rewrites", done.rewrites);
        let _ = writeln!(error, "{:>10}  copies", done.copies);
    }
    files::write(arguments.output.as_deref(), &oriole::print(&module))
}
