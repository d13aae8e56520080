//! The report on several kernels: headline, where to start, table, findings, totals.

use super::finding::{self, Context};
use super::{MAX_FINDINGS, MAX_LINES, Options, Page, Style, detail, relative, width_of};
use oriole::report::{Class, Finding, Kernel, RunVerdict, Severity, Unit, words};
use std::collections::{BTreeMap, BTreeSet};

/// The most rows of the table.
const MAX_ROWS: usize = 8;

/// A finding in one kernel or several.
struct Shared<'a> {
    finding: &'a Finding,
    kernel: usize,
    others: Vec<usize>,
}

/// Findings of all kernels, worst first; those of one line, kind and array are one.
fn findings(kernels: &[Kernel]) -> Vec<Shared<'_>> {
    let mut found: Vec<Shared<'_>> = Vec::new();
    let mut places: BTreeMap<String, usize> = BTreeMap::new();
    for (index, kernel) in kernels.iter().enumerate() {
        let causes = oriole::report::common_causes(index, kernel).into_iter();
        for (finding, key) in kernel.findings.iter().zip(causes) {
            match places.get(&key) {
                Some(&place) => found[place].others.push(index),
                None => {
                    places.insert(key, found.len());
                    found.push(Shared {
                        finding,
                        kernel: index,
                        others: Vec::new(),
                    });
                }
            }
        }
    }
    found.sort_by(|left, right| {
        let waste = |own: &Finding| match own.severity {
            Severity::High | Severity::Medium => own.share,
            _ => own.share_at_worst,
        };
        let severity = right.finding.severity.cmp(&left.finding.severity);
        let share = waste(right.finding).total_cmp(&waste(left.finding));
        severity.then(share).then(left.kernel.cmp(&right.kernel))
    });
    found
}

/// Kernels with one name and problem.
struct Row {
    kernel: usize,
    count: usize,
}

/// The kernels with a problem or question, worst first; those of one name and problem are one row.
fn rows(kernels: &[Kernel], names: &[String]) -> Vec<Row> {
    let mut order: Vec<usize> = (0..kernels.len())
        .filter(|&own| kernels[own].counts() && kernels[own].verdict.class != Class::Fine)
        .collect();
    order.sort_by(|&left, &right| {
        let rank = |own: usize| {
            (
                kernels[own].verdict.class,
                kernels[own].verdict.share.unwrap_or(0.0),
            )
        };
        let (left_rank, right_rank) = (rank(left), rank(right));
        let class = right_rank.0.cmp(&left_rank.0);
        class
            .then(right_rank.1.total_cmp(&left_rank.1))
            .then(left.cmp(&right))
    });
    let mut rows: Vec<Row> = Vec::new();
    let mut places: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    for own in order {
        let key = (names[own].as_str(), kernels[own].verdict.problem.as_str());
        match places.get(&key) {
            Some(&place) => rows[place].count += 1,
            None => {
                places.insert(key, rows.len());
                rows.push(Row {
                    kernel: own,
                    count: 1,
                });
            }
        }
    }
    rows
}

/// The waste of a kernel, in a cell.
fn wasted(kernel: &Kernel) -> String {
    let verdict = &kernel.verdict;
    let (Some(share), Some(unit)) = (verdict.share, verdict.unit) else {
        return "-".to_owned();
    };
    let bound = if verdict.at_worst { "≤ " } else { "" };
    format!("{bound}{} {}s", words::percent(share), unit.singular())
}

/// The savings of fixes, in a cell.
fn saved(kernel: &Kernel) -> String {
    match (kernel.verdict.class, kernel.verdict.saved) {
        (Class::Waste, Some(saved)) if saved > 0.0 => words::percent(saved),
        (Class::Waste, _) => "no fix".to_owned(),
        _ => "-".to_owned(),
    }
}

/// A name cut in its middle.
fn shortened(name: &str, room: usize) -> String {
    let letters: Vec<char> = name.chars().collect();
    if letters.len() <= room {
        return name.to_owned();
    }
    let start = room.saturating_sub(1) / 2;
    let end = room.saturating_sub(1) - start;
    let from = letters.len() - end;
    letters[..start]
        .iter()
        .chain(&['…'])
        .chain(&letters[from..])
        .collect()
}

fn table(kernels: &[Kernel], names: &[String], page: &mut Page, options: &Options<'_>) {
    let rows = rows(kernels, names);
    if rows.is_empty() {
        return;
    }
    let shown = if options.all { rows.len() } else { MAX_ROWS };
    let is_wide = options.width >= 100;
    let mut header = vec!["KERNEL", "PROBLEM", "WASTED", "FIXES SAVE"];
    if is_wide {
        header.extend(["REGISTERS", "OCC."]);
    }
    let cells = |row: &Row| {
        let kernel = &kernels[row.kernel];
        let mut cells = vec![
            names[row.kernel].clone(),
            kernel.verdict.problem.clone(),
            wasted(kernel),
            saved(kernel),
        ];
        if is_wide {
            let registers = kernel.registers.as_ref();
            let occupancy = kernel.occupancy.as_ref();
            cells.push(registers.map_or("-".to_owned(), |own| own.best.to_string()));
            cells.push(occupancy.map_or("-".to_owned(), |own| words::occupancy(own.percent)));
        }
        cells
    };
    let mut all: Vec<Vec<String>> = rows.iter().take(shown).map(cells).collect();
    let width = |column: usize, all: &[Vec<String>]| {
        let cells = all.iter().map(|own| width_of(&own[column]));
        cells.chain([width_of(header[column])]).max().unwrap_or(0)
    };
    let others: usize = (1..header.len())
        .map(|column| width(column, &all) + 2)
        .sum();
    let room = options.width.saturating_sub(others + 2).max(8);
    for (cells, row) in all.iter_mut().zip(&rows) {
        let count = match row.count {
            1 => String::new(),
            count => format!(" ×{count}"),
        };
        cells[0] = shortened(&cells[0], room.saturating_sub(width_of(&count))) + &count;
    }
    let widths: Vec<usize> = (0..header.len())
        .map(|column| width(column, &all))
        .collect();
    let aligned = |cells: &[String]| {
        let mut text = "  ".to_owned();
        for (column, (cell, &width)) in cells.iter().zip(&widths).enumerate() {
            let gap = " ".repeat(width - width_of(cell));
            let margin = if column == 0 { "" } else { "  " };
            text += margin;
            text += &match column {
                0 | 1 => format!("{cell}{gap}"),
                _ => format!("{gap}{cell}"),
            };
        }
        text
    };
    let header: Vec<String> = header.iter().map(|&own| own.to_owned()).collect();
    page.blank();
    page.line([(Style::Dim, aligned(&header))]);
    for (cells, row) in all.iter().zip(&rows) {
        let verdict = &kernels[row.kernel].verdict;
        let style = match verdict.share {
            Some(_) if verdict.at_worst => Style::Undecided,
            Some(share) if share >= 0.25 => Style::High,
            Some(share) if share >= 0.05 => Style::Medium,
            _ => Style::Plain,
        };
        let text = aligned(cells);
        let cell = &cells[2];
        match text
            .split_once(cell.as_str())
            .filter(|_| style != Style::Plain)
        {
            Some((before, after)) => page.line([
                (Style::Plain, before.to_owned()),
                (style, cell.clone()),
                (Style::Plain, after.to_owned()),
            ]),
            None => page.line([(Style::Plain, text)]),
        }
    }
    let left: usize = rows.iter().skip(shown).map(|own| own.count).sum();
    let fine = kernels
        .iter()
        .filter(|own| own.verdict.class == Class::Fine);
    let fine = fine
        .filter(|own| own.kind == oriole::report::KernelKind::Kernel)
        .count();
    let mut rest = Vec::new();
    if left > 0 {
        let left = words::number(left as f64);
        rest.push(format!("{left} more with a problem or question"));
    }
    if fine > 0 {
        let fine = words::number(fine as f64);
        rest.push(format!("{fine} with nothing to fix"));
    }
    if !rest.is_empty() {
        page.row(2, "", Style::Dim, &rest.join(", "), options.width);
    }
}

/// The plural of a unit.
fn units(unit: Unit) -> String {
    format!("{}s", unit.singular())
}

fn headline(
    kernels: &[Kernel],
    names: &[String],
    verdict: &RunVerdict,
    options: &Options<'_>,
) -> Page {
    let mut page = Page::default();
    let mut head = words::count(verdict.kernels.into(), "kernel");
    if verdict.functions > 0 {
        head += &format!(
            " and {}",
            words::count(verdict.functions.into(), "function")
        );
    }
    if verdict.files > 1 {
        head += &format!(" in {}", words::count(verdict.files.into(), "file"));
    }
    let problems = verdict
        .problems
        .iter()
        .map(oriole::report::ProblemCount::words);
    let problems: Vec<String> = problems.collect();
    if !problems.is_empty() {
        head += &format!(": {}", problems.join(", "));
    }
    page.paragraph(Style::Bold, &head, options.width, 2);
    if let Some(best) = &verdict.best {
        let own = kernels
            .iter()
            .position(|own| own.name == best.kernel && own.file == best.file);
        let name = own.map_or(best.kernel.as_str(), |own| &names[own]);
        let at = match &best.source {
            Some(source) => {
                let path = options.sources.path(&source.file);
                format!(
                    "{}:{}",
                    relative(path.as_deref().unwrap_or(&source.file), options),
                    source.line
                )
            }
            None => format!("{}:{}", relative(&best.file, options), best.line),
        };
        let saved = words::percent(best.saved);
        let text = format!(
            "Start with {name}, {at}: {} saves {saved} of its {}",
            best.text,
            units(best.unit)
        );
        page.paragraph(Style::Green, &text, options.width, 2);
    }
    page
}

pub(super) fn page(
    kernels: &[Kernel],
    names: &[String],
    verdict: &RunVerdict,
    options: &Options<'_>,
) -> Page {
    let mut page = headline(kernels, names, verdict, options);
    table(kernels, names, &mut page, options);
    let found = findings(kernels);
    let mut shown: Vec<&Finding> = Vec::new();
    for own in &found {
        let is_enough = shown.len() == MAX_FINDINGS || own.finding.severity == Severity::Low;
        if is_enough && !options.all {
            break;
        }
        let others = own.others.iter();
        let elsewhere: Vec<(&Kernel, &str)> = others
            .map(|&own| (&kernels[own], names[own].as_str()))
            .collect();
        let kernel = &kernels[own.kernel];
        let context = Context {
            kernel,
            name: &names[own.kernel],
            elsewhere: &elsewhere,
            shows_kernel: true,
            shows_file: verdict.files > 1,
        };
        let mut text = finding::page(own.finding, &context, options);
        if options.all {
            text.extend(detail::finding(own.finding, kernel, options));
        }
        let end = end_lines(&shown, own.finding, options);
        if !options.all && page.lines.len() + text.lines.len() + end + 1 > MAX_LINES {
            continue;
        }
        shown.push(own.finding);
        page.blank();
        page.extend(text);
    }
    if options.all {
        for (kernel, name) in kernels.iter().zip(names) {
            page.blank();
            page.line([(Style::Bold, format!("{name}: {}", kernel.verdict.text))]);
            page.extend(detail::kernel(kernel, options));
        }
    }
    page.extend(totals(verdict, shown.len(), &shown, options));
    page
}

/// The most lines that the end of a report takes if another finding is shown.
pub(super) fn end_lines(shown: &[&Finding], more: &Finding, options: &Options<'_>) -> usize {
    let all: Vec<&Finding> = shown.iter().copied().chain([more]).collect();
    let lost = lost(&all, options);
    3 + lost.map_or(0, |text| super::wrapped(&text, options.width, 0, 0).len())
}

/// The source files of findings that were not found, in a sentence.
fn lost(shown: &[&Finding], options: &Options<'_>) -> Option<String> {
    let files = shown.iter().filter_map(|own| own.source.as_ref());
    let files = files.map(|own| own.file.as_str());
    let lost: BTreeSet<&str> = files.filter(|own| !options.sources.is_found(own)).collect();
    let first = lost.first()?;
    let more = match lost.len() {
        1 => String::new(),
        count => format!(" and {} more", count - 1),
    };
    Some(format!(
        "{first}{more}: not found; --source-root DIR shows source lines"
    ))
}

/// The last lines: source files that were not found, and how many findings there are.
pub(super) fn totals(
    verdict: &RunVerdict,
    count: usize,
    shown: &[&Finding],
    options: &Options<'_>,
) -> Page {
    let mut page = Page::default();
    let total = verdict.findings.total();
    if total == 0 && verdict.kernels + verdict.functions > 0 {
        return page;
    }
    page.blank();
    if let Some(text) = lost(shown, options) {
        page.paragraph(Style::Dim, &text, options.width, 0);
    }
    let hidden = (total as usize).saturating_sub(count);
    let more = match hidden {
        0 => String::new(),
        _ => format!("; {} not shown: --all", words::number(hidden as f64)),
    };
    let text = format!("{}{more}", verdict.findings);
    page.paragraph(Style::Plain, &text, options.width, 2);
    page
}
