//! A finding: what, where, the line of the source, cost, reason and fixes.

use super::source::excerpt;
use super::{Options, Page, Style, relative};
use oriole::report::{Certainty, Finding, Fix, Kernel, Severity, Stride, words};

/// The surroundings of a finding.
pub(super) struct Context<'a> {
    pub kernel: &'a Kernel,
    /// The name of the kernel in the run.
    pub name: &'a str,
    /// Other kernels and files with the same finding.
    pub elsewhere: &'a [(&'a Kernel, &'a str)],
    pub shows_kernel: bool,
    pub shows_file: bool,
}

pub(super) fn style_of(severity: Severity) -> Style {
    match severity {
        Severity::High => Style::High,
        Severity::Medium => Style::Medium,
        Severity::Undecided => Style::Undecided,
        Severity::Low => Style::Dim,
    }
}

/// The line of a finding: `file:line` of the source, else of the PTX.
pub fn place(finding: &Finding, kernel: &Kernel) -> String {
    match &finding.source {
        Some(source) => source.to_string(),
        None => format!("{}:{}", kernel.file, finding.line),
    }
}

/// Lines of the PTX and source that are listed.
const MAX_LISTED: usize = 4;

fn numbers(lines: &[u32]) -> String {
    let shown: Vec<String> = lines.iter().take(MAX_LISTED).map(u32::to_string).collect();
    let more = if lines.len() > MAX_LISTED {
        ", …"
    } else {
        ""
    };
    format!("{}{more}", shown.join(", "))
}

/// The rows of a finding.
pub(super) fn page(finding: &Finding, context: &Context<'_>, options: &Options<'_>) -> Page {
    let mut page = Page::default();
    let width = options.width;
    let style = style_of(finding.severity);
    let prefix = format!("{}[{}]: ", finding.severity.text(), finding.kind.text());
    let start = prefix.chars().count();
    for (index, line) in super::wrapped(&finding.what, width, start, 2)
        .into_iter()
        .enumerate()
    {
        match index {
            0 => page.line([(style, prefix.clone()), (Style::Bold, line)]),
            _ => page.line([(Style::Plain, "  ".to_owned()), (Style::Bold, line)]),
        }
    }
    let mut at = match &finding.source {
        Some(source) => {
            let path = options.sources.path(&source.file);
            let file = relative(path.as_deref().unwrap_or(&source.file), options);
            format!("{file}:{}", source.line)
        }
        None => format!(
            "{}:{}",
            relative(&context.kernel.file, options),
            finding.line
        ),
    };
    if !finding.also.is_empty() {
        at += &format!(", also {}", numbers(&finding.also));
    }
    if finding.source.is_some() && !context.shows_kernel {
        at += &format!(" (PTX {})", finding.line);
    }
    page.line([(Style::Blue, "    --> ".to_owned()), (Style::Plain, at)]);
    for line in excerpt(finding, context.kernel, style, options) {
        page.line(line);
    }
    if !finding.inlined_at.is_empty() {
        let callers = finding.inlined_at.iter();
        let callers: Vec<String> = callers
            .map(|own| relative(&own.to_string(), options))
            .collect();
        page.row(
            5,
            "      ",
            Style::Plain,
            &format!("inlined at {}", callers.join(", ")),
            width,
        );
    }
    if context.shows_kernel {
        let mut text = match context.shows_file {
            true => {
                let file = relative(&context.kernel.file, options);
                format!("kernel {}, {file}:{}", context.name, finding.line)
            }
            false => format!("kernel {}, PTX {}", context.name, finding.line),
        };
        text += &elsewhere(context);
        page.row(5, "in    ", Style::Plain, &text, width);
    }
    if let Some(cost) = cost(finding, Some(context.kernel)) {
        page.row(5, "cost  ", Style::Plain, &cost, width);
    }
    if !finding.why.is_empty() {
        page.row(5, "why   ", Style::Plain, &finding.why, width);
    }
    if finding.severity == Severity::Undecided {
        page.row(5, "check ", Style::Plain, &check(finding), width);
        return page;
    }
    for (index, own) in finding.fixes.iter().take(2).enumerate() {
        let label = if index == 0 { "fix   " } else { "or    " };
        page.row(5, label, Style::Green, &fix(finding, own), width);
    }
    if finding.fixes.is_empty() {
        let text = format!(
            "no automatic fix; see oriole explain {}",
            finding.kind.text()
        );
        page.row(5, "fix   ", Style::Plain, &text, width);
    }
    page
}

/// Other kernels or files with the finding.
fn elsewhere(context: &Context<'_>) -> String {
    let others = context.elsewhere;
    let is_other_file = |own: &&(&Kernel, &str)| own.0.file != context.kernel.file;
    let mut files: Vec<&str> = others
        .iter()
        .filter(is_other_file)
        .map(|own| own.0.file.as_str())
        .collect();
    files.sort_unstable();
    files.dedup();
    match (files.len(), others.len()) {
        (_, 0) => String::new(),
        (0, count) => format!("; also in {}", words::count(count as u64, "other kernel")),
        (count, _) => format!("; also in {}", words::count(count as u64, "other file")),
    }
}

/// The option that settles a finding, or that nothing does.
fn check(finding: &Finding) -> String {
    match (&finding.check, finding.certainty) {
        (Some(check), _) => check.clone(),
        (None, Certainty::Likely) => "no option decides this: the data does".to_owned(),
        (None, _) => {
            "no option decides this: the addresses depend on values that are not known".to_owned()
        }
    }
}

/// A fix with its gain and its price.
pub fn fix(finding: &Finding, fix: &Fix) -> String {
    let mut text = fix.text.clone();
    if let Some(unit) = finding.unit.filter(|_| fix.before > 0.0) {
        let before = words::number(fix.before);
        text += &format!(": {before} → {}", unit.count(fix.after));
    }
    if let Some(price) = &fix.price {
        text += &format!("; {price}");
    }
    text
}

/// The cost of a finding; nothing if it is not about the cost of accesses. With the kernel, as an amount; without, as a share.
pub fn cost(finding: &Finding, kernel: Option<&Kernel>) -> Option<String> {
    let unit = finding.unit?;
    let accesses = match finding.count {
        0 | 1 => String::new(),
        count => format!(" in {}", words::count(count.into(), "access")),
    };
    let units = format!("{}s", unit.singular());
    let at_worst = words::percent(finding.share_at_worst);
    let mut text = match finding.certainty {
        _ if !finding.stride_parameters.is_empty() => {
            let table = strides(&finding.strides, unit.singular());
            return Some(format!(
                "{table}at worst {at_worst} of the kernel's {units} are wasted"
            ));
        }
        Certainty::Certainly => {
            let share = words::percent(finding.share);
            match kernel {
                Some(kernel) => {
                    let total = unit.count(kernel.total(unit).0);
                    let waste = words::number(finding.waste);
                    format!("{waste} of the kernel's {total} per warp ({share}){accesses}")
                }
                None => format!("{share} of the kernel's {units} are wasted{accesses}"),
            }
        }
        _ => format!("up to {at_worst} of the kernel's {units}{accesses}"),
    };
    if let Some(iterations) = finding.assumed_iterations {
        text += &format!(", {} assumed", words::counted(iterations, "iteration"));
    }
    text += match (finding.certainty, finding.is_proved) {
        (Certainty::Likely, _) => ", likely",
        (_, false) => ", bounds only",
        (_, true) => ", proved",
    };
    if !finding.conditions.is_empty() {
        text += &format!(" if {}", words::list(&finding.conditions));
    }
    Some(text)
}

/// The cost by a stride, from one element on, without gaps.
fn strides(rows: &[Stride], unit: &str) -> String {
    let exact = |own: &&Stride| own.is.is_some_and(|is| is > 0);
    let mut known: Vec<(u32, u64)> = rows
        .iter()
        .filter(exact)
        .filter_map(|own| Some((own.is?, own.cost)))
        .collect();
    known.sort_unstable();
    known.dedup_by_key(|own| own.0);
    let far: Vec<&Stride> = rows.iter().filter(|own| own.multiple.is_some()).collect();
    let Some(&(first, cost)) = known.first() else {
        return multiples(&far, unit);
    };
    let mut text = format!("{} if it is {first}", words::count(cost, unit));
    let mut last = first;
    let mut largest = cost;
    if let Some(&(second, cost)) = known.get(1).filter(|own| own.0 == first * 2) {
        text += &format!(", {cost} if {second}");
        (last, largest) = (second, cost);
    }
    let from = far.iter().filter_map(|own| own.at_least).max();
    let (least, most) = (
        far.iter().map(|own| own.cost).min(),
        far.iter().map(|own| own.cost).max(),
    );
    if let (Some(from), Some(least), Some(most)) = (from, least, most) {
        if from > u64::from(last) + 1 {
            text += &format!(", {largest} to {most} below {from}");
        }
        text += &match least == most {
            true => format!(", {most} from {from} on"),
            false => format!(", {least} to {most} from {from} on"),
        };
    }
    text + "; "
}

/// The cost by the largest power of two that a stride is a multiple of.
fn multiples(rows: &[&Stride], unit: &str) -> String {
    let largest = rows.iter().max_by_key(|own| own.multiple);
    let odd = rows.iter().find(|own| own.multiple == Some(1));
    let (Some(largest), Some(odd)) = (largest, odd) else {
        return String::new();
    };
    let others = rows
        .iter()
        .filter(|own| own.multiple != odd.multiple && own.multiple != largest.multiple);
    let costs = others.map(|own| own.cost);
    let otherwise = match (costs.clone().min(), costs.max()) {
        (Some(least), Some(most)) if least < most => format!(", {least} to {most} otherwise"),
        (Some(cost), _) => format!(", {cost} otherwise"),
        _ => String::new(),
    };
    let (multiple, most) = (largest.multiple.unwrap_or(1), largest.cost);
    let odd = words::count(odd.cost, unit);
    format!("{odd} if it is odd, {most} if it is a multiple of {multiple}{otherwise}; ")
}

/// A finding in a line, for logs and editors.
pub fn short(finding: &Finding, kernel: &Kernel, name: &str) -> String {
    let share = match (finding.unit, finding.certainty) {
        (None, _) => String::new(),
        (Some(_), Certainty::Certainly) if finding.stride_parameters.is_empty() => {
            format!("{}, ", words::percent(finding.share))
        }
        (Some(_), _) => format!("up to {}, ", words::percent(finding.share_at_worst)),
    };
    let (severity, kind) = (finding.severity.text(), finding.kind.text());
    let at = place(finding, kernel);
    format!("{at}: {severity}[{kind}]: {} ({share}{name})", finding.what)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(is: Option<u32>, at_least: Option<u64>, cost: u64) -> Stride {
        Stride {
            arg: 1,
            is,
            multiple: at_least.map(|_| 1),
            at_least,
            cost,
        }
    }

    #[test]
    fn cases_of_strides_have_no_gaps() {
        let text = |rows: &[Stride]| strides(rows, "sector");
        let all: Vec<Stride> = (0..9)
            .map(|is| row(Some(is), None, (4 * u64::from(is)).max(1)))
            .collect();
        let all = [all, vec![row(None, Some(9), 32)]].concat();
        assert_eq!(
            text(&all),
            "4 sectors if it is 1, 8 if 2, 8 to 32 below 9, 32 from 9 on; "
        );
        let bytes = [
            row(Some(0), None, 1),
            row(Some(4), None, 4),
            row(None, Some(35), 32),
        ];
        assert_eq!(
            text(&bytes),
            "4 sectors if it is 4, 4 to 32 below 35, 32 from 35 on; "
        );
        let of = |multiple: u64, cost: u64| Stride {
            multiple: Some(multiple),
            ..row(None, Some(1), cost)
        };
        let banks = [of(32, 32), of(16, 16), of(2, 2), of(1, 1)];
        let text = strides(&banks, "wavefront");
        let expected =
            "1 wavefront if it is odd, 32 if it is a multiple of 32, 2 to 16 otherwise; ";
        assert_eq!(text, expected);
        assert_eq!(strides(&[], "sector"), "");
    }
}
