//! `oriole opt`.

mod alignment;
mod bisect;
mod difference;
mod machine;

use crate::Failure;
use crate::arguments::OptArguments;
use crate::files;
use crate::report::Reporter;
use crate::verify;
use oriole::{Fuel, Keep, LaunchLimits, Level, Module, Options, Profile, Remark, Report, Source};
use oriole_diagnostics::{printable_json, printable_line, printable_text};
use oriole_isa::Target;
use serde::Serialize;
use std::io::Write;

fn options(arguments: &OptArguments) -> Result<Options, Failure> {
    let level = match arguments.level {
        0 => Level::None,
        1 => Level::Less,
        2 => Level::Default,
        _ => Level::Aggressive,
    };
    let mut options = Options::level(level);
    for knob in &arguments.knobs {
        options
            .knobs
            .set(knob)
            .map_err(|error| Failure::message(error.to_string()))?;
    }
    if let Some(fuel) = arguments.fuel {
        options.fuel = Fuel::limited(fuel);
    }
    options.remarks = arguments.remarks.is_some();
    options.timings = arguments.stats;
    if !arguments.passes.is_empty() {
        let names = arguments.passes.iter().map(String::as_str);
        options.phases =
            oriole_opt::select(names).map_err(|error| Failure::message(error.to_string()))?;
        options.keep = Keep::All;
    }
    let is_in = |phase: &oriole::Phase| phase.pass.includes("swizzle-shared");
    if arguments.swizzle_shared && !options.phases.iter().any(is_in) {
        let more = oriole_opt::select(["swizzle-shared"]);
        let more = more.map_err(|error| Failure::message(error.to_string()))?;
        options.phases.extend(more);
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
    Ok(options)
}

/// Leaves out the phases that the profile does not run for the module's target.
fn apply_profile(
    arguments: &OptArguments,
    module: &Module,
    options: &mut Options,
) -> Result<(), Failure> {
    let name = arguments.target.as_deref().or_else(|| module.target());
    let target = name.and_then(Target::from_text);
    if let (Some(name), None) = (&arguments.target, target) {
        return Err(Failure::message(format!(
            "`{name}` is no target; expected one such as `sm_90`"
        )));
    }
    options.launch = arguments.target.as_ref().map(|_| LaunchLimits::of(target));
    match (arguments.profile, target) {
        (Profile::Default, _) => {}
        (profile, Some(target)) => {
            options.phases =
                profile.choose(&options.phases, target.number(), &options.knobs, false);
        }
        (profile, None) => {
            return Err(Failure::message(format!(
                "the profile `{}` depends on the target, and the file names none; give one with --target",
                profile.text()
            )));
        }
    }
    Ok(())
}

pub fn run(arguments: &OptArguments, report: &Reporter) -> Result<(), Failure> {
    let mut options = options(arguments)?;
    let input = files::read_or_example(arguments.file.as_deref(), arguments.example, report)?;
    let is_example = input.is_example;
    let mut module = input.into_module(report)?;
    apply_profile(arguments, &module, &mut options)?;
    if let Some(named) = arguments.target.as_deref().and_then(Target::from_text)
        && oriole::unlisted_target(&module, None).is_none()
        && let Some(warning) = oriole::unlisted_target(&module, Some(named))
    {
        report.diagnostics(&Source::new(module.name(), module.source()), &[warning]);
    }
    if let Some(command) = &arguments.bisect {
        let text = bisect::run(&module, &options, command, report.output_color())?;
        return files::write(None, &text);
    }
    if options.fuel.is_limited() {
        options.keep = bisect::settled(&module, &options)?;
        report.message("note", &format!("--fuel: {}", bisect::JUDGED));
    }
    let assembler = match &arguments.ptxas {
        Some(named) => Some(machine::prepare(named.as_deref(), arguments, &module)?),
        None => None,
    };
    let needs_original = arguments.verify || arguments.diff || assembler.is_some();
    let original = needs_original.then(|| module.clone());
    let result = match arguments.print_after.is_empty() {
        true => oriole::optimize(&mut module, &options),
        false => oriole::optimize_with(&mut module, &options, &mut |module, phase, function| {
            let wanted = arguments
                .print_after
                .iter()
                .any(|name| name == "all" || name == phase.pass.name);
            if wanted {
                let dump = oriole_ir::text::print(module.whole_text(), function);
                let dump = printable_text(&dump);
                let _ = writeln!(std::io::stderr(), "// after {}\n{dump}", phase.pass.name);
            }
        }),
    };
    let source = Source::new(module.name(), module.source());
    let mut done = result.map_err(|error| report.failed(&source, error))?;
    if !done.notes.is_empty() {
        report.diagnostics(&source, &done.notes);
    }
    let fault = match original.as_ref().zip(assembler) {
        Some((original, assembler)) => assembler.judge(original, &mut module, &mut done, report)?,
        None => None,
    };
    match &arguments.remarks {
        Some(Some(file)) => files::write(Some(file), &remarks_as_json(&done.remarks))?,
        Some(None) => {
            let mut error = std::io::stderr().lock();
            for remark in &done.remarks {
                let _ = writeln!(error, "{}", printable_line(&remark.to_string()));
            }
        }
        None => {}
    }
    if arguments.stats {
        statistics(&done);
    }
    if is_example {
        for function in &done.functions {
            let (name, before, after) = (&function.name, function.before, function.after);
            let gain = format!(
                "{name}: {before} instructions before, {after} after; `oriole analyze` shows what its accesses waste"
            );
            report.message("note", &gain);
        }
    }
    let text = oriole::print(&module);
    if let Some(original) = original.as_ref().filter(|_| arguments.verify) {
        let options = oriole::VerifyOptions {
            time: std::time::Duration::from_secs(arguments.verify_time),
            memory: arguments.verify_memory,
            launch: options.launch,
            ..oriole::VerifyOptions::default()
        };
        verify::run(original, &text, &options, report)?;
    }
    if let Some(original) = original.as_ref().filter(|_| arguments.diff) {
        let difference = difference::of_file(original, &module, report.output_color());
        files::write(None, &difference)?;
    }
    if !arguments.diff || arguments.output.is_some() {
        files::write(arguments.output.as_deref(), &text)?;
    }
    fault.map_or(Ok(()), Err)
}

/// Phases, counters and functions, on the standard error.
fn statistics(done: &Report) {
    let mut error = std::io::stderr().lock();
    let _ = writeln!(
        error,
        "{:>10} {:>12} {:>12}  phase",
        "rewrites", "instructions", "milliseconds"
    );
    for phase in done.statistics.phases() {
        let number = phase
            .number
            .map_or(String::new(), |number| format!("{number} "));
        let _ = writeln!(
            error,
            "{:>10} {:>+12} {:>12.3}  {number}{}",
            phase.rewrites,
            phase.instructions,
            phase.time.as_secs_f64() * 1e3,
            phase.pass
        );
    }
    let _ = write!(error, "\n{}", done.statistics);
    let _ = writeln!(error, "{:>10}  rewrites", done.rewrites);
    let _ = writeln!(error, "{:>10}  copies", done.copies);
    let _ = writeln!(error, "\n{:>10} {:>12}  function", "before", "after");
    for function in &done.functions {
        let _ = writeln!(
            error,
            "{:>10} {:>12}  {}",
            function.before, function.after, function.name
        );
    }
}

/// A line of the source, as JSON.
#[derive(Serialize)]
struct JsonSource<'a> {
    file: &'a str,
    line: u32,
}

/// A remark, as JSON.
#[derive(Serialize)]
struct JsonRemark<'a> {
    function: &'a str,
    pass: &'a str,
    rewrite: &'a str,
    why: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    mnemonic: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    equal_line: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    source: Option<JsonSource<'a>>,
}

/// One JSON object a line.
fn remarks_as_json(remarks: &[Remark]) -> String {
    let line = |remark: &Remark| {
        let object = JsonRemark {
            function: &remark.function,
            pass: remark.pass(),
            rewrite: remark.counter,
            why: remark.why,
            mnemonic: &remark.mnemonic,
            line: remark.line,
            equal_line: remark.equal_line,
            source: remark.source.as_ref().map(|source| JsonSource {
                file: &source.file,
                line: source.line,
            }),
        };
        let text = serde_json::to_string(&object).unwrap_or_default();
        format!("{}\n", printable_json(&text))
    };
    remarks.iter().map(line).collect()
}
