//! `oriole scev`: what ScalarEvolution says of the loops and integers of every function.

use crate::Failure;
use crate::arguments::ScevArguments;
use crate::files;
use crate::report::Reporter;
use oriole::{EvolutionOptions, EvolutionReport, SourceLine};
use oriole_analysis::scalar_evolution::Knobs;
use oriole_diagnostics::{printable_json, printable_text};
use oriole_report::json::{loop_json, source_json};
use serde_json::{Value, json};
use std::fmt::Write;
use std::path::Path;

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
    let paths: Vec<Option<&Path>> = match arguments.files.is_empty() {
        true => vec![None],
        false => arguments
            .files
            .iter()
            .map(|it| Some(it.as_path()))
            .collect(),
    };
    let mut functions: Vec<EvolutionReport> = Vec::new();
    let mut text = String::new();
    for path in paths {
        let input = files::read_or_example(path, report)?;
        let source = input.source();
        let found = input
            .parse()
            .and_then(|module| oriole::evolution(&module, &options));
        let (reports, notes) = found.map_err(|errors| {
            report.diagnostics(&source, &errors);
            Failure::Reported
        })?;
        if !notes.is_empty() {
            report.diagnostics(&source, &notes);
        }
        render(&reports, arguments.values, &mut text);
        functions.extend(reports);
    }
    let output = if arguments.json {
        let text = serde_json::to_string_pretty(&as_json(&functions))
            .map_err(|error| Failure::message(error.to_string()))?;
        format!("{}\n", printable_json(&text))
    } else {
        printable_text(&text).into_owned()
    };
    files::write(None, &output)
}

fn place(line: u32, source: Option<&SourceLine>) -> String {
    match source {
        Some(source) => format!("line {line} ({source})"),
        None => format!("line {line}"),
    }
}

fn render(reports: &[EvolutionReport], values: bool, text: &mut String) {
    for report in reports {
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
}

fn as_json(reports: &[EvolutionReport]) -> Value {
    let functions: Vec<Value> = reports
        .iter()
        .map(|report| {
            let loops: Vec<Value> = report.loops.iter().map(loop_json).collect();
            let values: Vec<Value> = report
                .values
                .iter()
                .map(|value| {
                    json!({
                        "name": value.name,
                        "line": value.line,
                        "source": source_json(value.source.as_ref()),
                        "expression": value.expression,
                        "range": value.range,
                        "behind": value.behind,
                    })
                })
                .collect();
            json!({"name": report.name, "loops": loops, "values": values})
        })
        .collect();
    json!({"version": 1, "functions": functions})
}
