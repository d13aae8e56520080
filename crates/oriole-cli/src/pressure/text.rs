//! The report for people.

use crate::summary::without_dynamic;
use oriole::pressure::{
    Cliff, FunctionKind, FunctionPressure, LiveRegister, RegisterOrigin, ShapeOccupancy,
};
use oriole_diagnostics::printable_text;
use std::borrow::Cow;
use std::fmt::Write;

/// Columns of the plot.
const COLUMNS: usize = 64;
/// Values listed at the peak.
const LISTED: usize = 12;

/// Lines of the source listed.
const SOURCE_LINES: usize = 40;

/// What the report shows.
pub struct Style {
    /// Whether totals of the lines of the source are shown.
    pub lines: bool,
    /// Whether there are colours.
    pub has_color: bool,
}

impl Style {
    fn paint(&self, code: &str, text: &str) -> String {
        match self.has_color {
            true => format!("\x1b[{code}m{text}\x1b[0m"),
            false => text.to_owned(),
        }
    }

    /// The line above the functions of a file.
    pub fn file(&self, name: &str) -> String {
        format!("{}\n", self.paint("4", &printable_text(name)))
    }

    /// What is said of a function. What comes from the input is made printable here, so that colours stay.
    pub fn function(&self, report: &FunctionPressure) -> String {
        let mut text = String::new();
        one(&mut text, report);
        if self.lines {
            lines(&mut text, report);
        }
        let text = printable_text(&text).into_owned();
        match text.split_once('\n') {
            Some((first, rest)) => {
                format!("{}\n{}", self.paint("1", first), colored(rest, self))
            }
            None => text,
        }
    }

    /// The line at the end: functions with more registers than the limit, if there are any.
    pub fn above(&self, limit: u32, functions: &[(String, u32)]) -> String {
        if functions.is_empty() {
            return String::new();
        }
        let listed = functions
            .iter()
            .map(|(name, registers)| format!("{name} ({registers})"));
        let listed: Vec<String> = listed.collect();
        let text = format!("above {limit} registers: {}", listed.join(", "));
        format!("\n{}\n", self.paint("33", &printable_text(&text)))
    }
}

/// Colours of lines: the plot, spills, and the words that lines begin with.
fn colored(text: &str, style: &Style) -> String {
    if !style.has_color {
        return text.to_owned();
    }
    let mut output = String::new();
    for line in text.split_inclusive('\n') {
        let plain = line.trim_end_matches('\n');
        let painted = match plain.trim_start().chars().next() {
            Some('▁'..='█') => style.paint("36", plain),
            _ if plain.starts_with("  spills ") => style.paint("31", plain),
            _ if plain.starts_with("  ") && plain.as_bytes().get(2) != Some(&b' ') => {
                match plain[2..].split_once(' ') {
                    Some((word, rest)) => format!("  {} {rest}", style.paint("2", word)),
                    None => plain.to_owned(),
                }
            }
            _ => plain.to_owned(),
        };
        output.push_str(&painted);
        if line.ends_with('\n') {
            output.push('\n');
        }
    }
    output
}

/// Totals of the lines of the source, those with the highest pressure first.
fn lines(output: &mut String, report: &FunctionPressure) {
    if report.lines.is_empty() {
        let _ = writeln!(
            output,
            "  lines      none: the PTX has no .loc (nvcc -lineinfo)"
        );
        return;
    }
    let mut order: Vec<_> = report.lines.iter().collect();
    order.sort_by_key(|line| std::cmp::Reverse((line.peak, line.instructions)));
    let _ = writeln!(output, "  lines      peak  instructions");
    for own in order.iter().take(SOURCE_LINES) {
        let _ = writeln!(
            output,
            "    {:>13} {:>13}  {}",
            own.peak, own.instructions, own.line
        );
    }
    if order.len() > SOURCE_LINES {
        let _ = writeln!(output, "    and {} more", order.len() - SOURCE_LINES);
    }
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

fn one(output: &mut String, report: &FunctionPressure) {
    let target = report.target;
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

fn live(output: &mut String, report: &FunctionPressure) {
    list(
        output,
        report,
        "live there, needed last first",
        &report.live,
    );
    list(output, report, "read, but never defined", &report.undefined);
}

fn list(output: &mut String, report: &FunctionPressure, title: &str, registers: &[LiveRegister]) {
    if registers.is_empty() {
        return;
    }
    let _ = writeln!(output, "  {title}:");
    let names: Vec<Cow<'_, str>> = registers
        .iter()
        .take(LISTED)
        .map(|live| short(&live.name))
        .collect();
    let width = names
        .iter()
        .map(|name| name.chars().count())
        .max()
        .unwrap_or(0);
    for (live, name) in registers.iter().zip(&names) {
        let origin = match &live.origin {
            RegisterOrigin::Instruction(place) => format!("defined {place}"),
            RegisterOrigin::Parameter => format!("parameter of {}", short(&report.name)),
            RegisterOrigin::Never => "never defined".to_owned(),
            _ => "defined in several places (phi)".to_owned(),
        };
        let next = match &live.next_use {
            Some(place) => place.to_string(),
            None => "in the next iteration (loop-carried)".to_owned(),
        };
        let more = match live.rematerializable {
            true => ", rematerializable",
            false => "",
        };
        let _ = writeln!(
            output,
            "    {name:width$}  {:3} bits, {origin}, next read {next}{more}",
            live.bits
        );
    }
    if registers.len() > LISTED {
        let _ = writeln!(output, "    and {} more", registers.len() - LISTED);
    }
}

fn occupancy(output: &mut String, report: &FunctionPressure, shape: &ShapeOccupancy) {
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
        "  occupancy  {size} threads: {} block{plural}, {} of {} warps ({:.0} %), limited by {}{}",
        held.blocks,
        held.warps,
        held.warp_limit,
        held.percent(),
        limiters.join(" and "),
        without_dynamic(shape.dynamic_shared)
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
            "      that is {missing} register{plural} less: shorten or rematerialize {}{}",
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
