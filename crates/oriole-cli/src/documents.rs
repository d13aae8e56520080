//! What `oriole analyze` writes for others than the terminal, and what of it is new.

use crate::Failure;
use crate::arguments::{AnalyzeArguments, Format};
use crate::files;
use crate::output::{JsonList, Sink};
use crate::report::Reporter;
use oriole::{AccessOptions, Error, KernelAccesses, Module};
use oriole_diagnostics::sarif::rule;
use oriole_diagnostics::{printable_json, printable_text};
use oriole_report::baseline::Baseline;
use oriole_report::html::{self, Page};
use oriole_report::{difference, json, sarif};
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// What is made of each text, and how it is written.
pub struct Style<'a> {
    arguments: &'a AnalyzeArguments,
    /// What names of files are relative to.
    root: PathBuf,
    format: Format,
    /// Whether findings are held against a baseline, or one is written.
    needs_findings: bool,
    has_color: bool,
}

/// What was made of a text.
#[derive(Default)]
pub struct Piece {
    /// What is written of it, for people or as elements of a JSON list.
    text: String,
    elements: Vec<String>,
    /// The rules of results of a SARIF log.
    rules: BTreeSet<String>,
    /// Its kernels with what baselines need.
    kernels: Vec<Value>,
    page: Option<Page>,
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
            needs_findings: arguments.baseline.is_some() || arguments.write_baseline.is_some(),
            has_color: report.output_color() && arguments.output.is_none(),
        }
    }

    /// Whether what is written is for people at a terminal.
    pub fn is_text(&self) -> bool {
        self.format == Format::Text
    }

    /// Whether nothing is written but what is found, and a few lines of each kernel.
    pub fn shows_findings_only(&self) -> bool {
        self.is_text() && !self.arguments.all && !self.needs_findings
    }

    /// What is to be written of a text, of which `text` is what people at a terminal see.
    pub fn piece(
        &self,
        module: &Module,
        options: &AccessOptions,
        kernels: &[KernelAccesses],
        text: &str,
    ) -> Result<Piece, Error> {
        let mut piece = Piece::default();
        match self.format {
            Format::Html => {
                let page = Page::of(module, options, kernels)?;
                piece.kernels.extend(page.values().cloned());
                piece.page = Some(page);
            }
            Format::Text if !self.needs_findings => {}
            _ => piece.kernels = json::analysis_of(module, kernels),
        }
        match self.format {
            Format::Text => {
                let text = printable_text(text);
                piece.text = match self.has_color {
                    true => painted(&text),
                    false => text.into_owned(),
                };
            }
            Format::Json => {
                piece.elements = piece.kernels.iter().map(JsonList::element).collect();
            }
            Format::Sarif => {
                let locate = |name: &str| locate(&self.arguments.source_root, name);
                let results = sarif::results(&piece.kernels, &self.root, &locate);
                let rules = results.iter().filter_map(rule);
                piece.rules = rules.map(str::to_owned).collect();
                piece.elements = results.iter().map(JsonList::result).collect();
            }
            Format::Html => {}
        }
        match self.needs_findings {
            true => piece.kernels.iter_mut().for_each(json::keep_summary),
            false => piece.kernels.clear(),
        }
        Ok(piece)
    }
}

/// What is written of all files: text and JSON as they come, the others in the end.
pub struct Documents<'a> {
    arguments: &'a AnalyzeArguments,
    report: &'a Reporter,
    format: Format,
    baseline: Option<Baseline>,
    sink: Sink<'a>,
    list: JsonList,
    rules: BTreeSet<String>,
    kernels: Vec<Value>,
    pages: Vec<Page>,
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
                    Failure::message(format!("cannot use the baseline `{name}`: {error}"))
                })?;
                Some(baseline)
            }
            None => None,
        };
        Ok(Documents {
            format: style.format,
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
        })
    }

    /// Adds what was made of a text.
    pub fn add(&mut self, piece: Piece) -> Result<(), Failure> {
        self.kernels.extend(piece.kernels);
        self.pages.extend(piece.page);
        self.rules.extend(piece.rules);
        let mut output = piece.text;
        self.list.add(&piece.elements, &mut output);
        self.sink.write(&output)
    }

    /// Writes the rest; with a baseline, whether a new finding is to fail.
    pub fn write(mut self) -> Result<Option<bool>, Failure> {
        let arguments = self.arguments;
        let locate = |name: &str| locate(&arguments.source_root, name);
        let rest = match self.format {
            Format::Text => String::new(),
            Format::Json => self.list.finish(&json::head()),
            Format::Sarif => self.list.finish_results(&self.rules),
            Format::Html => html::render(&self.pages, &|name| {
                let bytes = std::fs::read(locate(name)?).ok()?;
                Some(String::from_utf8_lossy(&bytes).into_owned())
            }),
        };
        self.sink.write(&rest)?;
        self.sink.finish()?;
        if let Some(file) = &arguments.write_baseline {
            files::write(Some(file), &Baseline::of(&self.kernels).write())?;
        }
        let Some(baseline) = self.baseline else {
            return Ok(None);
        };
        let asked: Vec<&str> = arguments.fail_on.iter().map(|own| own.text()).collect();
        let mut is_found = false;
        for (kernel, finding) in baseline.new_findings(&self.kernels) {
            if asked.is_empty() || asked.iter().any(|asked| json::is_met(asked, finding)) {
                let name = kernel["name"].as_str().unwrap_or_default();
                let words = difference::in_words(finding);
                self.report
                    .message("error", &format!("new: {name}: {words}"));
                is_found = true;
            }
        }
        Ok(Some(is_found))
    }
}

/// Text with the colours of a terminal: severities, kernels and fixes.
fn painted(text: &str) -> String {
    let mut painted = String::with_capacity(text.len() + text.len() / 16);
    for line in text.lines() {
        let code = match line.trim_start() {
            own if own.len() == line.len() => "1",
            own if own.starts_with("high ") => "1;31",
            own if own.starts_with("medium ") => "33",
            own if own.starts_with("low ") || own.starts_with("from ") => "2",
            own if own.starts_with("fix: ") => "32",
            _ => "",
        };
        match code {
            "" => painted += line,
            code => painted += &format!("\x1b[{code}m{line}\x1b[0m"),
        }
        painted.push('\n');
    }
    painted
}

/// JSON for people and programs.
pub fn pretty(value: &Value) -> Result<String, Failure> {
    let text =
        serde_json::to_string_pretty(value).map_err(|error| Failure::message(error.to_string()))?;
    Ok(format!("{}\n", printable_json(&text)))
}

/// The source file that PTX names: as it is named, or below one of the folders, under all of its path or the end of it.
pub fn locate(roots: &[PathBuf], name: &str) -> Option<PathBuf> {
    let named = Path::new(name);
    if named.is_file() {
        return Some(named.to_owned());
    }
    let parts: Vec<_> = named
        .components()
        .filter(|part| matches!(part, std::path::Component::Normal(_)))
        .collect();
    let here = PathBuf::from(".");
    let roots = roots.iter().chain([&here]);
    roots
        .flat_map(|root| (0..parts.len()).map(move |skipped| (root, skipped)))
        .map(|(root, skipped)| root.join(parts[skipped..].iter().collect::<PathBuf>()))
        .find(|candidate| candidate.is_file())
}
