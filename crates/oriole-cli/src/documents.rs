//! What `oriole analyze` writes, and which findings fail it.

use crate::Failure;
use crate::arguments::{AnalyzeArguments, AnalyzeFailOn, Format};
use crate::files;
use crate::output::{JsonList, Sink};
use crate::report::Reporter;
use crate::sources::{SourceFiles, has_unicode, locate, width};
use oriole::report::{Finding, Kernel, RunVerdict, Severity, words};
use oriole::{AccessOptions, Error, Module};
use oriole_diagnostics::printable_json;
use oriole_report::baseline::Baseline;
use oriole_report::html::{self, Page};
use oriole_report::json::Rest;
use oriole_report::{sarif, text};
use serde::Serialize;
use std::collections::BTreeSet;
use std::path::PathBuf;

/// What is made of each text, and how it is written.
pub struct Style<'a> {
    arguments: &'a AnalyzeArguments,
    /// What names of files are relative to.
    root: PathBuf,
    format: Format,
    has_color: bool,
}

/// What was made of a text.
#[derive(Default)]
pub struct Piece {
    /// What is written of it at once: elements of a JSON list.
    elements: Vec<String>,
    /// The rules of results of a SARIF log.
    rules: BTreeSet<String>,
    /// Its kernels, without what only elements and pages need.
    kernels: Vec<Kernel>,
    page: Option<Page>,
    is_example: bool,
}

impl<'a> Style<'a> {
    /// What the arguments ask for.
    pub fn of(arguments: &'a AnalyzeArguments, report: &Reporter) -> Style<'a> {
        Style {
            arguments,
            root: std::env::current_dir().unwrap_or_default(),
            format: match arguments.json {
                true => Format::Json,
                false => report.format(),
            },
            has_color: report.output_color() && arguments.output.is_none(),
        }
    }

    /// Whether all that is known of kernels is shown at a terminal.
    fn shows_all(&self) -> bool {
        let is_asked = self.arguments.all || self.arguments.kernel.is_some();
        self.format == Format::Text && is_asked && !self.arguments.quiet
    }

    /// Whether nothing is written except findings and a few lines of each kernel.
    pub fn shows_findings_only(&self) -> bool {
        matches!(self.format, Format::Text | Format::Short) && !self.shows_all()
    }

    /// What is to be written of a text with these kernels.
    pub fn piece(
        &self,
        module: &Module,
        options: &AccessOptions,
        kernels: Vec<Kernel>,
        is_example: bool,
    ) -> Result<Piece, Error> {
        let mut piece = Piece {
            kernels,
            is_example,
            ..Piece::default()
        };
        match self.format {
            Format::Html => piece.page = Some(Page::of(module, options, piece.kernels.clone())?),
            Format::Text | Format::Short => {}
            Format::Json => {
                piece.elements = piece.kernels.iter().map(JsonList::element).collect();
            }
            Format::Sarif => {
                let locate = |name: &str| locate(&self.arguments.source_root, name);
                let results = sarif::results(&piece.kernels, &self.root, &locate);
                piece.rules = results.iter().map(|own| own.rule_id.clone()).collect();
                piece.elements = results.iter().map(JsonList::result).collect();
            }
        }
        if !self.shows_all() {
            for kernel in &mut piece.kernels {
                kernel.accesses = Vec::new();
                kernel.dependences = Vec::new();
                kernel.loops = Vec::new();
            }
        }
        Ok(piece)
    }
}

/// What is written of all files: JSON as it comes, the others in the end.
pub struct Documents<'a> {
    arguments: &'a AnalyzeArguments,
    report: &'a Reporter,
    format: Format,
    has_color: bool,
    shows_all: bool,
    root: PathBuf,
    baseline: Option<Baseline>,
    sink: Sink<'a>,
    list: JsonList,
    rules: BTreeSet<String>,
    kernels: Vec<Kernel>,
    pages: Vec<Page>,
    has_example: bool,
}

impl<'a> Documents<'a> {
    /// Reads the baseline, if one is given.
    pub fn new(
        arguments: &'a AnalyzeArguments,
        style: &Style<'_>,
        report: &'a Reporter,
    ) -> Result<Documents<'a>, Failure> {
        let baseline = match &arguments.baseline {
            Some(file) => {
                let (name, bytes) = files::read_bytes(file)?;
                let text = String::from_utf8_lossy(&bytes);
                let baseline = Baseline::read(&text).map_err(|error| {
                    Failure::message(format!("cannot use the baseline {name}: {error}"))
                })?;
                Some(baseline)
            }
            None => None,
        };
        Ok(Documents {
            format: style.format,
            has_color: style.has_color,
            shows_all: style.shows_all(),
            root: style.root.clone(),
            arguments,
            report,
            baseline,
            sink: Sink::new(arguments.output.as_deref())?,
            list: match style.format {
                Format::Sarif => JsonList::of_results(),
                _ => JsonList::new("kernels"),
            },
            rules: BTreeSet::new(),
            kernels: Vec::new(),
            pages: Vec::new(),
            has_example: false,
        })
    }

    /// Adds what was made of a text.
    pub fn add(&mut self, piece: Piece) -> Result<(), Failure> {
        self.kernels.extend(piece.kernels);
        self.pages.extend(piece.page);
        self.rules.extend(piece.rules);
        self.has_example |= piece.is_example;
        let mut output = String::new();
        self.list.add(&piece.elements, &mut output);
        self.sink.write(&output)
    }

    /// Writes the rest; whether a finding fails the run.
    pub fn write(mut self) -> Result<bool, Failure> {
        let arguments = self.arguments;
        let mut sources = SourceFiles::of(&arguments.source_root, &self.kernels);
        if self.has_example {
            sources = sources.with_example();
        }
        let verdict = RunVerdict::of(&self.kernels);
        let rest = match self.format {
            Format::Text => self.text(&verdict, &sources),
            Format::Short => short(&self.kernels, arguments.all),
            Format::Json => {
                let rest = Rest::new(verdict, sources.all(&self.kernels));
                std::mem::replace(&mut self.list, JsonList::new("")).finish(&rest)
            }
            Format::Sarif => {
                std::mem::replace(&mut self.list, JsonList::new("")).finish_results(&self.rules)
            }
            Format::Html => html::render(&self.pages, &|name| {
                let bytes = std::fs::read(locate(&arguments.source_root, name)?).ok()?;
                Some(String::from_utf8_lossy(&bytes).into_owned())
            }),
        };
        self.sink.write(&rest)?;
        self.sink.finish()?;
        if let Some(file) = &arguments.write_baseline {
            files::write(Some(file), &Baseline::of(&self.kernels).write())?;
        }
        let failing = failing(arguments, self.baseline.as_ref(), &self.kernels);
        if !failing.is_empty() {
            let text = failed(arguments, &failing);
            self.report.text(&text);
        }
        Ok(!failing.is_empty())
    }

    fn text(&self, verdict: &RunVerdict, sources: &SourceFiles) -> String {
        let options = text::Options {
            width: width(),
            color: self.has_color,
            unicode: self.arguments.output.is_some() || has_unicode(),
            all: self.shows_all,
            sources,
            folder: &self.root,
        };
        match self.arguments.quiet {
            true => text::quiet(verdict, &options),
            false => text::report(&self.kernels, verdict, &options),
        }
    }
}

/// A line for each finding; low ones only if all are asked for.
fn short(kernels: &[Kernel], all: bool) -> String {
    let mut lines = String::new();
    for kernel in kernels {
        let findings = kernel.findings.iter();
        for finding in findings.filter(|own| all || own.severity > Severity::Low) {
            let line = text::short(finding, kernel, &kernel.names.plain);
            lines += &oriole_diagnostics::printable_line(&line);
            lines.push('\n');
        }
    }
    lines
}

/// The findings that fail the run: those of --fail-on, or with a baseline the new ones of these or of all.
fn failing<'a>(
    arguments: &AnalyzeArguments,
    baseline: Option<&Baseline>,
    kernels: &'a [Kernel],
) -> Vec<(&'a Kernel, &'a Finding)> {
    let asked = &arguments.fail_on;
    let is_asked = |finding: &Finding| asked.iter().any(|own| own.is_met_by(finding));
    match baseline {
        Some(baseline) => {
            let mut found = baseline.new_findings(kernels);
            found.retain(|own| asked.is_empty() || is_asked(own.1));
            found
        }
        None => {
            let of = |kernel: &'a Kernel| kernel.findings.iter().map(move |own| (kernel, own));
            let all = kernels.iter().flat_map(of);
            all.filter(|own| is_asked(own.1)).collect()
        }
    }
}

/// The findings that fail a run, a line and a place each, and how to accept them.
fn failed(arguments: &AnalyzeArguments, failing: &[(&Kernel, &Finding)]) -> String {
    let asked: Vec<&str> = arguments.fail_on.iter().map(|own| own.text()).collect();
    let noun = match arguments.baseline {
        Some(_) => "new finding",
        None => "finding",
    };
    let count = words::count(failing.len() as u64, noun);
    let which = match arguments.fail_on[..] {
        [] => String::new(),
        [AnalyzeFailOn::Severity(_)] => format!(" at or above --fail-on {}", asked[0]),
        _ => format!(" of --fail-on {}", asked.join(",")),
    };
    let mut text = format!("failed: {count}{which}\n");
    for (kernel, finding) in failing {
        let (severity, kind) = (finding.severity.text(), finding.kind.text());
        let at = text::place(finding, kernel);
        text += &format!("  {at}: {severity}[{kind}]: {}\n", finding.what);
        let (name, file) = (&kernel.names.plain, &kernel.file);
        text += &format!("      in {name}, {file}:{}\n", finding.line);
    }
    let accept = match &arguments.baseline {
        Some(file) => {
            let file = file.display();
            format!("--write-baseline {file}, then --baseline {file}")
        }
        None => "--write-baseline known.json, then --baseline known.json".to_owned(),
    };
    text += &format!("Accept them: {accept}\n");
    text
}

/// JSON for people and programs.
pub fn pretty(value: &impl Serialize) -> Result<String, Failure> {
    let text =
        serde_json::to_string_pretty(value).map_err(|error| Failure::message(error.to_string()))?;
    Ok(format!("{}\n", printable_json(&text)))
}
