//! `oriole scev`: what ScalarEvolution says of the loops and integers of every function.

use crate::Failure;
use crate::arguments::ScevArguments;
use crate::batch::Batch;
use crate::files::Text;
use crate::output::{JsonList, Sink};
use crate::report::{Log, Reporter};
use oriole::report::{Loop, Place};
use oriole::{EvolutionOptions, EvolutionReport, SourceLine};
use oriole_analysis::scalar_evolution::Knobs;
use oriole_diagnostics::printable_text;
use serde::Serialize;
use std::fmt::Write;

pub fn run(arguments: &ScevArguments, report: &Reporter) -> Result<(), Failure> {
    let mut knobs = Knobs::default();
    for knob in &arguments.knobs {
        knobs
            .set(knob)
            .map_err(|error| Failure::message(error.to_string()))?;
    }
    let options = EvolutionOptions {
        block: arguments.block,
        grid: arguments.grid,
        keep_local_variables: arguments.keep_local_variables,
        function: arguments.function.clone(),
        without_values: false,
        knobs,
    };
    let work = |text: &Text<'_>, log: &Log<'_>| evolution(text, arguments, &options, log);
    let mut sink = Sink::new(None)?;
    let mut list = JsonList::new("functions");
    let batch = Batch::or_example(&arguments.files, arguments.example, report)?;
    let tally = batch.run(report, &work, |_, texts| {
        let mut output = String::new();
        for elements in texts {
            match arguments.json {
                true => list.add(&elements, &mut output),
                false => output.extend(elements),
            }
        }
        sink.write(&output)
    })?;
    if arguments.json && !tally.is_empty() {
        sink.write(&list.finish(&Rest { version: 1 }))?;
    }
    sink.finish()?;
    tally.finish(report)
}

/// What is written of each function of a text.
fn evolution(
    text: &Text<'_>,
    arguments: &ScevArguments,
    options: &EvolutionOptions,
    log: &Log<'_>,
) -> Result<Vec<String>, Failure> {
    let source = text.input.source();
    let found = text
        .input
        .parse()
        .and_then(|module| oriole::evolution(&module, options));
    let (reports, notes) = found.map_err(|error| log.failed(&source, error))?;
    if !notes.is_empty() {
        log.diagnostics(&source, &notes);
    }
    let element = |own: &EvolutionReport| match arguments.json {
        true => JsonList::element(&as_json(own)),
        false => printable_text(&render(own, arguments.values)).into_owned(),
    };
    Ok(reports.iter().map(element).collect())
}

fn place(line: u32, source: Option<&SourceLine>) -> String {
    match source {
        Some(source) => format!("line {line} ({source})"),
        None => format!("line {line}"),
    }
}

fn render(report: &EvolutionReport, values: bool) -> String {
    let mut output = String::new();
    let text = &mut output;
    {
        let _ = writeln!(text, "{}", report.name);
        for own in &report.loops {
            let indent = "  ".repeat(own.depth as usize);
            let at = place(own.line, own.source.as_ref());
            let (name, count) = (&own.name, &own.count);
            let _ = writeln!(text, "{indent}loop {name} at {at}: back edge {count}");
            if own.exits.len() > 1 {
                for exit in &own.exits {
                    let at = place(exit.line, exit.source.as_ref());
                    let count = &exit.count;
                    let _ = writeln!(text, "{indent}  exit at {at}: {count}");
                }
            }
        }
        if values {
            for value in &report.values {
                let at = place(value.line, value.source.as_ref());
                let _ = write!(text, "  {at}: {} = {}", value.name, value.expression);
                let _ = match value.range.as_str() {
                    "any" => Ok(()),
                    range if range == value.expression => Ok(()),
                    range => write!(text, " in {range}"),
                };
                let _ = match &value.behind {
                    Some(behind) => writeln!(text, ", {behind} when the loop is left"),
                    None => writeln!(text),
                };
            }
        }
    }
    output
}

/// An integer, as JSON.
#[derive(Serialize)]
struct JsonValue<'a> {
    name: &'a str,
    line: u32,
    source: Option<Place>,
    expression: &'a str,
    range: &'a str,
    behind: Option<&'a str>,
}

/// A function, as JSON.
#[derive(Serialize)]
struct JsonFunction<'a> {
    name: &'a str,
    loops: Vec<Loop>,
    values: Vec<JsonValue<'a>>,
}

/// The document without its functions.
#[derive(Serialize)]
struct Rest {
    version: u32,
}

fn as_json(report: &EvolutionReport) -> JsonFunction<'_> {
    let values = report.values.iter().map(|value| JsonValue {
        name: &value.name,
        line: value.line,
        source: Place::of_line(value.source.as_ref()),
        expression: &value.expression,
        range: &value.range,
        behind: value.behind.as_deref(),
    });
    JsonFunction {
        name: &report.name,
        loops: report.loops.iter().map(Loop::of).collect(),
        values: values.collect(),
    }
}
