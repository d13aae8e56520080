//! `oriole pressure`: register pressure, predicted registers and occupancy of every function.

mod json;
mod text;

use crate::Failure;
use crate::arguments::PressureArguments;
use crate::assembler::Ptxas;
use crate::batch::Batch;
use crate::files::{Input, Text, triton_shared};
use crate::output::{JsonList, Sink};
use crate::report::{Log, Reporter};
use oriole::Module;
use oriole::pressure::{FunctionKind, FunctionPressure, PressureOptions, Target};

/// What is said of a text.
struct Measured {
    name: String,
    /// Of each function, for people or as an element of a JSON list.
    functions: Vec<String>,
    /// The target, if there is a function.
    target: Option<String>,
    /// Functions with more registers than are listed, and how many they have.
    above: Vec<(String, u32)>,
    /// What is beyond what was allowed.
    failures: Vec<String>,
}

pub fn run(arguments: &PressureArguments, report: &Reporter) -> Result<(), Failure> {
    let style = text::Style {
        lines: arguments.lines,
        has_color: report.output_color(),
    };
    let work = |text: &Text<'_>, log: &Log<'_>| measure(arguments, &text.input, &style, log);
    let batch = Batch::or_example(&arguments.files, arguments.example, report)?;
    let mut sink = Sink::new(None)?;
    let mut list = JsonList::new("kernels");
    let (mut above, mut failures, mut target) = (Vec::new(), Vec::new(), None);
    let mut is_first = true;
    let tally = batch.run(report, &work, |_, texts: Vec<Measured>| {
        let mut output = String::new();
        let has_names = batch.len() > 1 || texts.len() > 1;
        for text in texts {
            if arguments.json {
                list.add(&text.functions, &mut output);
            }
            for (index, function) in text.functions.iter().enumerate() {
                if arguments.json {
                    break;
                }
                if !std::mem::take(&mut is_first) {
                    output.push('\n');
                }
                if has_names && index == 0 {
                    output += &style.file(&text.name);
                }
                output.push_str(function);
            }
            target = target.take().or(text.target);
            above.extend(text.above);
            failures.extend(text.failures);
        }
        sink.write(&output)
    })?;
    if !tally.is_empty() {
        let rest = match arguments.json {
            true => list.finish(&json::Rest {
                above_limit: above.iter().map(|own| own.0.as_str()).collect(),
                limit: arguments.maxreg,
                target,
                version: 1,
            }),
            false => style.above(arguments.maxreg, &above),
        };
        sink.write(&rest)?;
    }
    sink.finish()?;
    for failure in &failures {
        report.message("error", failure);
    }
    tally.finish(report)?;
    match failures.is_empty() {
        true => Ok(()),
        false => Err(Failure::Found),
    }
}

fn measure(
    arguments: &PressureArguments,
    input: &Input,
    style: &text::Style,
    log: &Log<'_>,
) -> Result<Measured, Failure> {
    let failed = |error: oriole::Error| log.failed(&input.source(), error);
    let module = input.parse().map_err(failed)?;
    let target = target(arguments.target.as_deref(), &module)?;
    let assembled = match &arguments.ptxas {
        Some(named) => {
            let mut ptxas = Ptxas::new(named.as_deref(), target)?;
            let properties = ptxas.assembler.properties(&input.text);
            properties.map_err(|error| Failure::message(error.to_string()))?
        }
        None => Vec::new(),
    };
    let options = PressureOptions {
        blocks: arguments.block.iter().map(|block| block.0).collect(),
        shared: arguments.shared.or_else(|| triton_shared(input)),
        target: Some(target),
        assembled,
    };
    let (reports, notes) = oriole::pressure(&module, &options).map_err(failed)?;
    if !notes.is_empty() {
        log.diagnostics(&input.source(), &notes);
    }
    let function = |one: &FunctionPressure| match arguments.json {
        true => JsonList::element(&json::Function::of(&input.name, one)),
        false => style.function(one),
    };
    let is_above = |one: &&FunctionPressure| one.registers() > arguments.maxreg;
    let above = reports.iter().filter(is_above);
    let file = &input.name;
    let failures = reports.iter().flat_map(|one| gates(arguments, one));
    Ok(Measured {
        name: input.name.clone(),
        functions: reports.iter().map(function).collect(),
        target: reports.first().map(|one| one.target.to_string()),
        above: above
            .map(|one| (one.name.clone(), one.registers()))
            .collect(),
        failures: failures.map(|why| format!("{file}: {why}")).collect(),
    })
}

/// Where a function is beyond what was allowed, and by how much.
fn gates(arguments: &PressureArguments, one: &FunctionPressure) -> Vec<String> {
    let mut failures = Vec::new();
    let mut fail = |why: String| failures.push(format!("{}: {why}", one.name));
    let registers = one.registers();
    if let Some(most) = arguments.fail_above.filter(|&most| registers > most) {
        let how = match one.assembled {
            Some(_) => "",
            None => " are predicted",
        };
        fail(format!("{registers} registers{how}, {most} are allowed"));
    }
    let spills = one.spills();
    if let Some(most) = arguments.fail_spills.filter(|&most| spills > most) {
        fail(format!("{spills} bytes of spills, {most} are allowed"));
    }
    let is_kernel = one.kind == FunctionKind::Entry;
    if is_kernel && one.shapes.is_empty() && arguments.fail_occupancy.is_some() {
        fail(format!("the occupancy of {} is not known", one.target));
    }
    for shape in one.shapes.iter().filter(|_| is_kernel) {
        let percent = shape.occupancy.percent();
        let least = arguments.fail_occupancy.map(f64::from);
        if let Some(least) = least.filter(|&least| percent < least) {
            let limiter = shape.occupancy.limiter().text();
            let [x, y, z] = shape.threads;
            fail(format!(
                "occupancy {percent:.0} % for blocks of {x}x{y}x{z}, limited by {limiter}; at least {least} % are asked for"
            ));
        }
    }
    failures
}

fn target(named: Option<&str>, module: &Module) -> Result<Target, Failure> {
    let name = named.or_else(|| module.target()).unwrap_or("sm_80");
    Target::from_text(name).ok_or_else(|| {
        Failure::message(format!(
            "`{name}` is no target; expected one such as `sm_90`"
        ))
    })
}
