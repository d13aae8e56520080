//! The report for people.

use super::{Report, Shape};
use oriole_analysis::launch::occupancy::Cliff;
use oriole_isa::Target;
use oriole_syntax::tree::FunctionKind;
use std::borrow::Cow;
use std::fmt::Write;

/// Columns of the plot.
const COLUMNS: usize = 64;
/// Values listed at the peak.
const LISTED: usize = 12;

/// The whole report.
pub fn render(reports: &[Report], target: Target, limit: u32) -> String {
    let mut output = String::new();
    for (index, report) in reports.iter().enumerate() {
        if index > 0 {
            output.push('\n');
        }
        one(&mut output, report, target);
    }
    let above: Vec<String> = reports
        .iter()
        .filter(|report| report.registers() > limit)
        .map(|report| format!("{} ({})", report.name, report.registers()))
        .collect();
    if !above.is_empty() {
        let _ = writeln!(output, "\nabove {limit} registers: {}", above.join(", "));
    }
    output
}

/// Bars for the highest of each stretch.
pub fn sparkline(values: &[u32]) -> String {
    const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let highest = values.iter().copied().max().unwrap_or(0).max(1);
    let columns = values.len().min(COLUMNS);
    (0..columns)
        .map(|column| {
            let range = column * values.len() / columns..(column + 1) * values.len() / columns;
            let top = values[range].iter().copied().max().unwrap_or(0);
            BARS[(top * 7).div_ceil(highest) as usize]
        })
        .collect()
}

fn one(output: &mut String, report: &Report, target: Target) {
    let kind = match report.kind {
        FunctionKind::Entry => "kernel",
        FunctionKind::Function => "function",
    };
    let _ = writeln!(
        output,
        "{kind} {}, {} instructions, {target}",
        report.name, report.instructions
    );
    let _ = write!(
        output,
        "  pressure   {} data registers, {} predicate{} at most",
        report.data_peak,
        report.predicate_peak,
        if report.predicate_peak == 1 { "" } else { "s" }
    );
    match &report.peak {
        Some(place) => {
            let _ = writeln!(output, ", at {place}");
        }
        None => output.push('\n'),
    }
    let _ = writeln!(output, "             {}", sparkline(&report.along));
    live(output, report);
    let prediction = report.prediction;
    let _ = write!(
        output,
        "  registers  {} predicted, {} to {} in nine of ten cases",
        prediction.best, prediction.low, prediction.high
    );
    match &report.assembled {
        Some(assembled) => {
            let _ = writeln!(output, "; {} says ptxas", report.registers());
            if assembled.spill_stores + assembled.spill_loads > 0 {
                let _ = writeln!(
                    output,
                    "  spills     {} bytes stored, {} loaded, {} of stack",
                    assembled.spill_stores, assembled.spill_loads, assembled.stack
                );
            }
        }
        None => output.push('\n'),
    }
    let resources = &report.resources;
    let shared = report
        .assembled
        .as_ref()
        .map_or(resources.shared, |assembled| assembled.shared);
    let dynamic = if resources.dynamic_shared {
        " and what the launch gives"
    } else {
        ""
    };
    let _ = writeln!(
        output,
        "  memory     {shared} bytes shared{dynamic}, {} local, {} barriers",
        resources.local, resources.barriers
    );
    if report.kind == FunctionKind::Entry {
        for shape in &report.shapes {
            occupancy(output, report, shape);
        }
    }
}

/// A name, cut in the middle if it is longer than a line has room for.
fn short(name: &str) -> Cow<'_, str> {
    const MOST: usize = 64;
    let count = name.chars().count();
    if count <= MOST {
        return Cow::Borrowed(name);
    }
    let start = name.chars().take(MOST / 2);
    let end = name.chars().skip(count - (MOST / 2 - 1));
    Cow::Owned(start.chain(['…']).chain(end).collect())
}

fn live(output: &mut String, report: &Report) {
    if report.live.is_empty() {
        return;
    }
    let _ = writeln!(output, "  live there, needed last first:");
    let names: Vec<Cow<'_, str>> = report
        .live
        .iter()
        .take(LISTED)
        .map(|live| short(&live.name))
        .collect();
    let width = names
        .iter()
        .map(|name| name.chars().count())
        .max()
        .unwrap_or(0);
    for (live, name) in report.live.iter().zip(&names) {
        let place = |place: &Option<super::Where>, none: &str| {
            place
                .as_ref()
                .map_or_else(|| none.to_owned(), ToString::to_string)
        };
        let _ = writeln!(
            output,
            "    {name:width$}  {:3} bits, defined {}, next read {}{}",
            live.bits,
            place(&live.defined, "on several ways"),
            place(&live.next_use, "further up, in the next round of a loop"),
            if live.rematerializable {
                ", free to compute again"
            } else {
                ""
            }
        );
    }
    if report.live.len() > LISTED {
        let _ = writeln!(output, "    and {} more", report.live.len() - LISTED);
    }
}

fn occupancy(output: &mut String, report: &Report, shape: &Shape) {
    let [x, y, z] = shape.threads;
    let size = if z > 1 {
        format!("{x}x{y}x{z}")
    } else if y > 1 {
        format!("{x}x{y}")
    } else {
        x.to_string()
    };
    let held = &shape.occupancy;
    let limiters: Vec<&str> = held.limiters().map(|limiter| limiter.text()).collect();
    let plural = if held.blocks == 1 { "" } else { "s" };
    let _ = writeln!(
        output,
        "  occupancy  {size} threads: {} block{plural}, {} of {} warps ({:.0} %), limited by {}",
        held.blocks,
        held.warps,
        held.warp_limit,
        held.percent(),
        limiters.join(" and ")
    );
    let cliff = |output: &mut String, cliff: Option<Cliff>, what: &str, unit: &str| {
        if let Some(cliff) = cliff {
            let plural = if cliff.blocks == 1 { "" } else { "s" };
            let _ = writeln!(
                output,
                "    {what} {} {unit}: {} block{plural}, {} warps",
                cliff.at, cliff.blocks, cliff.warps
            );
        }
    };
    cliff(
        output,
        shape.cliffs.fewer_registers,
        "with at most",
        "registers",
    );
    if !shape.helpful.is_empty()
        && let Some(cliff) = shape.cliffs.fewer_registers
    {
        let missing = report.registers() - cliff.at;
        let plural = if missing == 1 { "" } else { "s" };
        let _ = writeln!(
            output,
            "      that is {missing} register{plural} less: shorten or compute again {}{}",
            shape.helpful[..shape.helpful.len().min(LISTED)].join(", "),
            match shape.helpful.len().saturating_sub(LISTED) {
                0 => String::new(),
                more => format!(" and {more} more"),
            }
        );
    }
    cliff(output, shape.cliffs.more_registers, "from", "registers on");
    cliff(
        output,
        shape.cliffs.less_shared,
        "with at most",
        "bytes shared",
    );
    cliff(output, shape.cliffs.more_shared, "from", "bytes shared on");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plots_keep_their_peaks() {
        assert_eq!(sparkline(&[0, 1, 2, 3, 4, 5, 6, 7]), "▁▂▃▄▅▆▇█");
        assert_eq!(sparkline(&[]), "");
        let mut long = vec![1; 10_000];
        long[5_000] = 70;
        let plot = sparkline(&long);
        assert_eq!(plot.chars().count(), COLUMNS);
        assert_eq!(plot.chars().filter(|&bar| bar == '█').count(), 1);
    }
}
