//! `oriole analyze`: which memory accesses waste sectors or wavefronts, worst first.

use crate::Failure;
use crate::arguments::{AnalyzeArguments, Assumed};
use crate::batch::Batch;
use crate::documents::{self, Documents, Piece, Style};
use crate::files::{Input, Text, triton_shared};
use crate::report::{Log, Reporter};
use crate::summary;
use oriole::pressure::FunctionKind;
use oriole::{AccessOptions, AccessReport, Finding, FindingSeverity, KernelAccesses, ShapeWaste};
use oriole_analysis::memory_requests::Status;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};

pub fn run(arguments: &AnalyzeArguments, report: &Reporter) -> Result<(), Failure> {
    let style = Style::of(arguments, report);
    let options = AccessOptions {
        findings_only: style.shows_findings_only(),
        block: arguments.block.map(|block| block.0),
        arguments: arguments.arguments.iter().copied().collect(),
        kernel: arguments.kernel.clone(),
        grid: arguments.grid,
        shared: arguments.shared,
        with_shapes: true,
        with_summary: true,
        multiples: arguments
            .assume
            .iter()
            .filter_map(|assumed| match *assumed {
                Assumed::Multiple(number, multiple) => Some((number, multiple)),
                Assumed::PointerAlignment(_) => None,
            })
            .collect(),
        pointer_alignment: arguments.assume.iter().find_map(|assumed| match *assumed {
            Assumed::PointerAlignment(alignment) => Some(alignment),
            Assumed::Multiple(..) => None,
        }),
    };
    let mut documents = Documents::new(arguments, &style, report)?;
    let (mut is_found, mut kernels) = (false, 0);
    let work =
        |text: &Text<'_>, log: &Log<'_>| analyze(&text.input, arguments, &options, &style, log);
    let batch = Batch::or_example(&arguments.files, arguments.example, report)?;
    let tally = batch.run(report, &work, |_, texts: Vec<Analyzed>| {
        for text in texts {
            is_found |= text.is_found;
            kernels += text.kernels;
            documents.add(text.piece)?;
        }
        Ok(())
    })?;
    if tally.is_empty() {
        return tally.finish(report);
    }
    if let Some(name) = arguments.kernel.as_ref().filter(|_| kernels == 0) {
        return Err(Failure::message(format!("there is no kernel `{name}`")));
    }
    let is_found = documents.write()?.unwrap_or(is_found);
    tally.finish(report)?;
    match is_found {
        true => Err(Failure::Found),
        false => Ok(()),
    }
}

/// What was made of a text.
struct Analyzed {
    piece: Piece,
    kernels: usize,
    /// Whether there is a finding to fail on.
    is_found: bool,
}

fn analyze(
    input: &Input,
    arguments: &AnalyzeArguments,
    options: &AccessOptions,
    style: &Style<'_>,
    log: &Log<'_>,
) -> Result<Analyzed, Failure> {
    let source = input.source();
    let failed = |error: oriole::Error| log.failed(&source, error);
    let module = input.parse().map_err(failed)?;
    let options = &AccessOptions {
        shared: options.shared.or_else(|| triton_shared(input)),
        ..options.clone()
    };
    let (kernels, notes) = oriole::accesses(&module, options).map_err(failed)?;
    if !notes.is_empty() {
        log.diagnostics(&source, &notes);
    }
    let mut sources = Sources::of(arguments, input);
    let (mut text, mut is_found) = (String::new(), false);
    for kernel in &kernels {
        let findings = kernel.ranked();
        let mut asked = arguments.fail_on.iter();
        is_found |= asked.any(|asked| findings.iter().any(|finding| asked.is_met_by(finding)));
        // Functions of which nothing much is wrong are many.
        let is_asked = arguments.all || arguments.kernel.is_some();
        let is_worth = |own: &Finding| own.severity > FindingSeverity::Low;
        let is_shown =
            kernel.kind == FunctionKind::Entry || is_asked || findings.iter().any(is_worth);
        if style.is_text() && is_shown {
            render(kernel, &findings, arguments.all, &mut sources, &mut text);
            summary::render(&module, kernel, &mut text);
        }
    }
    let piece = style.piece(&module, options, &kernels, &text);
    Ok(Analyzed {
        piece: piece.map_err(failed)?,
        kernels: kernels.len(),
        is_found,
    })
}

fn place(line: u32, source: Option<&oriole::SourceLine>) -> String {
    match source {
        Some(source) => format!("{source} (PTX line {line})"),
        None => format!("PTX line {line}"),
    }
}

/// Findings each with those behind it that say the same of the same line of the source.
fn grouped<'a>(
    findings: impl Iterator<Item = &'a Finding>,
) -> Vec<(&'a Finding, Vec<&'a Finding>)> {
    let mut groups: Vec<(&Finding, Vec<&Finding>)> = Vec::new();
    for finding in findings {
        let is_same = |own: &Finding| {
            own.kind == finding.kind
                && own.message == finding.message
                && own.source.is_some()
                && own.source == finding.source
        };
        match groups.iter_mut().find(|(first, _)| is_same(first)) {
            Some((_, others)) => others.push(finding),
            None => groups.push((finding, Vec::new())),
        }
    }
    groups
}

fn render(
    kernel: &KernelAccesses,
    findings: &[Finding],
    all: bool,
    sources: &mut Sources,
    text: &mut String,
) {
    let [x, y, z] = kernel.block;
    let kind = match kernel.kind {
        FunctionKind::Entry => "",
        FunctionKind::Function => " (function)",
    };
    let _ = writeln!(text, "{}{kind}, block {x}x{y}x{z}", kernel.name);
    let is_low = |finding: &&Finding| finding.severity == FindingSeverity::Low;
    let mut pictured = Vec::new();
    for (finding, others) in grouped(findings.iter().filter(|finding| !is_low(finding))) {
        let (kind, severity) = (finding.kind.text(), finding.severity.text());
        let (at, mnemonic) = (
            place(finding.line, finding.source.as_ref()),
            &finding.mnemonic,
        );
        let _ = writeln!(text, "  {severity} {kind} at {at}: `{mnemonic}`");
        if let Some(excerpt) = sources.excerpt(finding) {
            text.push_str(&excerpt);
        }
        let _ = writeln!(text, "      {}", finding.message);
        if let Some(access) = finding.access {
            of_access(&kernel.accesses[access], &mut pictured, text);
        }
        if !others.is_empty() {
            let lines = others
                .iter()
                .take(MOST_OTHERS)
                .map(|own| own.line.to_string());
            let lines = lines.collect::<Vec<_>>().join(", ");
            let more = if others.len() > MOST_OTHERS {
                ", …"
            } else {
                ""
            };
            let count = others.len();
            let _ = writeln!(
                text,
                "      and {count} more like it at this line (PTX {lines}{more})"
            );
        }
    }
    // What matters little takes a line, and not many of them.
    let shown = if all { usize::MAX } else { MOST_LOW };
    for finding in findings.iter().filter(is_low).take(shown) {
        let (kind, message) = (finding.kind.text(), &finding.message);
        let at = place(finding.line, finding.source.as_ref());
        let _ = writeln!(text, "  low {kind} at {at}: {message}");
    }
    let low = findings.iter().filter(is_low).count();
    if low > shown {
        let more = low - shown;
        let _ = writeln!(text, "  {more} more of low severity, which --all shows");
    }
    if all {
        for access in &kernel.accesses {
            let at = place(access.line, access.source.as_ref());
            let mnemonic = &access.mnemonic;
            let _ = writeln!(text, "  {at}: `{mnemonic}`: {access}");
            if let Some(boundary) = access.boundary() {
                let _ = writeln!(text, "      {boundary}");
            }
        }
    }
    for fix in &kernel.fixes {
        let _ = writeln!(text, "  fix: {fix} of weight");
    }
    let is_same = |shape: &ShapeWaste| (shape.weight - kernel.shapes[0].weight).abs() < 1e-9;
    if !kernel.shapes.iter().all(is_same) {
        let shapes = kernel.shapes.iter().map(|shape| {
            let [x, y, z] = shape.block;
            format!("{x}x{y}x{z} {}", rounded(shape.weight))
        });
        let shapes: Vec<String> = shapes.collect();
        let _ = writeln!(text, "  weight by block shape: {}", shapes.join(", "));
    }
    let count = |status: Status| {
        let accesses = kernel.accesses.iter();
        accesses
            .filter(|access| access.cost.status == status)
            .count()
    };
    let _ = writeln!(
        text,
        "  {} accesses: {} proved, {} proved under assumptions, {} bounded, {} unknown; {} finding{}",
        kernel.accesses.len(),
        count(Status::Proved),
        count(Status::ProvedIf),
        count(Status::Bounded),
        count(Status::Unknown),
        findings.len(),
        if findings.len() == 1 { "" } else { "s" }
    );
}

/// Lines of the PTX that are named of findings that are shown as one.
const MOST_OTHERS: usize = 8;

/// Findings of low severity that are shown of a kernel.
const MOST_LOW: usize = 5;

/// What an access wastes, and a picture of its lanes if there was none yet of this memory.
fn of_access(access: &AccessReport, pictured: &mut Vec<bool>, text: &mut String) {
    if !access.cost.strides.is_empty() {
        let _ = writeln!(text, "      {}", access.strides());
    }
    if let Some(array) = &access.array {
        let _ = writeln!(text, "      {array}");
        if let Some(advice) = array.advice() {
            let _ = writeln!(text, "      {advice}");
        }
    }
    for fix in &access.fixes {
        let _ = writeln!(text, "      fix: {fix} {}", access.unit());
    }
    if let Some(wasteful) = access.wasteful() {
        let _ = writeln!(text, "      {wasteful}");
    }
    let weight = rounded(access.cost.weight());
    let unit = access.unit();
    let (waste, trips) = (rounded(access.cost.waste()), rounded(access.cost.trips));
    let symbolic = match &access.trips {
        Some(count) => format!(" (assumed for {count})"),
        None => String::new(),
    };
    let often = match trips {
        1.0 => "once".to_owned(),
        trips => format!("{trips} times{symbolic}"),
    };
    let _ = writeln!(
        text,
        "      weight {weight}: {waste} {unit} wasted, {often}"
    );
    for link in &access.chain {
        let at = match &link.source {
            Some(source) => source.to_string(),
            None => format!("line {}", link.line),
        };
        let _ = writeln!(text, "      from {at}: {}", link.text);
    }
    if pictured.contains(&access.is_shared()) {
        return;
    }
    if let Some(picture) = oriole::picture(access) {
        pictured.push(access.is_shared());
        for line in picture.lines() {
            let _ = writeln!(text, "      {line}");
        }
    }
}

/// The texts that kernels were compiled from, as far as they are there.
struct Sources {
    /// Where to look for them.
    roots: Vec<PathBuf>,
    texts: BTreeMap<String, Option<String>>,
}

/// Longer texts are not read.
const MOST_SOURCE: u64 = 1 << 24;

impl Sources {
    /// Those of a file: below the folders that were named, and beside it.
    fn of(arguments: &AnalyzeArguments, input: &Input) -> Sources {
        let mut roots = arguments.source_root.clone();
        roots.extend(Path::new(&input.name).parent().map(Path::to_path_buf));
        let mut texts = BTreeMap::new();
        if input.is_example {
            let (name, text) = oriole::EXAMPLE_SOURCE;
            texts.insert(name.to_owned(), Some(text.to_owned()));
        }
        Sources { roots, texts }
    }

    /// The line of a finding, with a caret below.
    fn excerpt(&mut self, finding: &Finding) -> Option<String> {
        let source = finding.source.as_ref()?;
        let roots = &self.roots;
        let text = self
            .texts
            .entry(source.file.clone())
            .or_insert_with(|| read_source(roots, &source.file));
        let line = text.as_ref()?.lines().nth(source.line as usize - 1)?;
        let number = source.line.to_string();
        let line = line.replace('\t', " ");
        let mut excerpt = format!("      {number} | {line}\n");
        if let Some(column) = finding.column {
            let before = column as usize - 1;
            if before <= line.chars().count() {
                let margin = " ".repeat(number.len());
                let _ = writeln!(excerpt, "      {margin} | {:before$}^", "");
            }
        }
        Some(excerpt)
    }
}

/// The text of a source file, if it is found and no longer than that.
fn read_source(roots: &[PathBuf], name: &str) -> Option<String> {
    let path = documents::locate(roots, name)?;
    let is_readable = std::fs::metadata(&path).ok()?.len() <= MOST_SOURCE;
    is_readable
        .then(|| std::fs::read_to_string(path).ok())
        .flatten()
}

/// With three digits behind the point at most.
fn rounded(number: f64) -> f64 {
    (number * 1000.0).round() / 1000.0
}
