//! The PTX of a kernel beside its source, with what each line costs.

use super::{KernelPage, escape};
use oriole::report::{Kernel, Place};
use std::collections::BTreeMap;
use std::fmt::Write;

/// Lines of a chunk that a browser lays out at once.
const CHUNK: usize = 200;
/// Lines of the source that are shown around those that code comes from.
const AROUND: u32 = 3;

/// The lines that waste something, and what: those of accesses, and of findings about something else.
fn wasteful(kernel: &Kernel) -> impl Iterator<Item = (u32, Option<&Place>, f64)> {
    let others = kernel.findings.iter().filter(|own| own.accesses.is_empty());
    let others = others.map(|own| (own.line, own.source.as_ref(), own.weight));
    let costly = kernel.findings.iter().flat_map(|own| &own.accesses);
    let costly = costly.filter_map(|&own| kernel.accesses.get(own));
    costly
        .map(|own| (own.line, own.source.as_ref(), own.weight))
        .chain(others)
}

/// What a line costs.
#[derive(Clone, Copy, Default)]
struct Cost {
    instructions: u32,
    peak: u32,
    waste: f64,
}

/// The source and the PTX.
pub(super) fn panes(
    output: &mut String,
    index: usize,
    ptx: &[&str],
    kernel: &KernelPage,
    source: &dyn Fn(&str) -> Option<String>,
) {
    let sources = source_rows(kernel, source);
    let class = if sources.is_empty() { " one" } else { "" };
    let _ = writeln!(output, "<h3>Code</h3>\n<div class=\"panes{class}\">");
    if !sources.is_empty() {
        output.push_str(
            "<div class=\"pane source\" tabindex=\"0\"><div class=\"row head\"><span>line</span><span>live</span><span>waste</span>\
             <code>source</code></div>\n",
        );
        chunks(output, &sources);
        output.push_str("</div>\n");
    }
    output.push_str(
        "<div class=\"pane ptx\" tabindex=\"0\"><div class=\"row head\"><span>line</span><span>live</span><span>waste</span>\
         <code>PTX</code></div>\n",
    );
    chunks(output, &ptx_rows(index, ptx, kernel));
    output.push_str("</div>\n</div>\n");
}

fn chunks(output: &mut String, rows: &[String]) {
    for chunk in rows.chunks(CHUNK) {
        let height = chunk.len() * 18;
        let _ = writeln!(
            output,
            "<div class=\"chunk\" style=\"contain-intrinsic-size: auto {height}px\">{}</div>",
            chunk.concat()
        );
    }
}

fn row(attributes: &str, number: u32, cost: Cost, highest: u32, text: &str) -> String {
    let pressure = match cost.instructions {
        0 => "<span></span>".to_owned(),
        _ => {
            let percent = 100 * cost.peak / highest.max(1);
            format!(
                "<span class=\"p\" style=\"--v:{percent}\">{}</span>",
                cost.peak
            )
        }
    };
    let waste = match cost.waste > 0.0 {
        true => format!(
            "<span class=\"w\">{}</span>",
            (cost.waste * 10.0).round() / 10.0
        ),
        false => "<span></span>".to_owned(),
    };
    // A newline, so that what is copied has lines.
    format!(
        "<div class=\"row\"{attributes}><span>{number}</span>{pressure}{waste}<code>{}\n</code></div>",
        escape(text)
    )
}

fn ptx_rows(index: usize, ptx: &[&str], kernel: &KernelPage) -> Vec<String> {
    let (first, last) = kernel.lines;
    let mut costs: BTreeMap<u32, Cost> = BTreeMap::new();
    let mut sources: BTreeMap<u32, u32> = BTreeMap::new();
    let pressure = &kernel.pressure;
    for (place, &line) in pressure.ptx_lines.iter().enumerate() {
        let own = costs.entry(line).or_default();
        own.instructions += 1;
        own.peak = own
            .peak
            .max(pressure.along.get(place).copied().unwrap_or(0));
        if let Some(Some(source)) = pressure.source_lines.get(place) {
            sources.insert(line, *source);
        }
    }
    for (line, _, weight) in wasteful(&kernel.value) {
        costs.entry(line).or_default().waste += weight;
    }
    let start = (first.max(1) as usize - 1).min(ptx.len());
    let end = (last as usize).clamp(start, ptx.len());
    (first.max(1)..)
        .zip(&ptx[start..end])
        .map(|(number, text)| {
            let cost = costs.get(&number).copied().unwrap_or_default();
            let source = sources.get(&number);
            let source = source.map_or(String::new(), |own| format!(" data-s=\"{own}\""));
            let attributes = format!(" id=\"k{index}-L{number}\"{source}");
            row(&attributes, number, cost, pressure.data_peak, text)
        })
        .collect()
}

/// The lines of the source that code comes from, and some around them; nothing where no file is found.
fn source_rows(kernel: &KernelPage, source: &dyn Fn(&str) -> Option<String>) -> Vec<String> {
    let pressure = &kernel.pressure;
    let mut waste: BTreeMap<(String, u32), f64> = BTreeMap::new();
    for (_, source, weight) in wasteful(&kernel.value) {
        if let Some(source) = source {
            *waste.entry((source.file.clone(), source.line)).or_default() += weight;
        }
    }
    let mut files: BTreeMap<&str, BTreeMap<u32, u32>> = BTreeMap::new();
    for (index, own) in (0..).zip(&pressure.lines) {
        let lines = files.entry(own.line.file.as_str()).or_default();
        lines.insert(own.line.line, index);
    }
    let mut rows = Vec::new();
    for (file, lines) in files {
        let Some(text) = source(file) else {
            continue;
        };
        rows.push(format!("<div class=\"row\"><span></span><span></span><span></span><code><b>{}</b>\n</code></div>", escape(file)));
        let mut shown = 0;
        for (number, text) in (1..).zip(text.lines()) {
            let near = lines.range(number.max(AROUND + 1) - AROUND..=number.saturating_add(AROUND));
            if near.count() == 0 {
                continue;
            }
            if shown != 0 && number != shown + 1 {
                rows.push("<div class=\"row\"><span>⋮</span></div>".to_owned());
            }
            shown = number;
            let index = lines.get(&number);
            let own = index.map(|&index| &pressure.lines[index as usize]);
            let cost = Cost {
                instructions: own.map_or(0, |own| own.instructions),
                peak: own.map_or(0, |own| own.peak),
                waste: waste
                    .get(&(file.to_owned(), number))
                    .copied()
                    .unwrap_or(0.0),
            };
            let attributes = index.map_or(String::new(), |index| format!(" data-s=\"{index}\""));
            rows.push(row(&attributes, number, cost, pressure.data_peak, text));
        }
    }
    rows
}
