//! What `oriole analyze` writes for others than the terminal, and what of it is new.

use crate::Failure;
use crate::arguments::{AnalyzeArguments, Format};
use crate::files;
use crate::report::Reporter;
use oriole::{AccessOptions, Diagnostic, KernelAccesses, Module};
use oriole_diagnostics::{printable_json, printable_text};
use oriole_report::baseline::Baseline;
use oriole_report::html::{self, Page};
use oriole_report::{difference, json, sarif};
use serde_json::Value;
use std::path::{Path, PathBuf};

/// What is collected of all files.
pub struct Documents<'a> {
    arguments: &'a AnalyzeArguments,
    report: &'a Reporter,
    format: Format,
    baseline: Option<Baseline>,
    kernels: Vec<Value>,
    pages: Vec<Page>,
}

impl<'a> Documents<'a> {
    /// Reads the baseline, if one is given.
    pub fn new(
        arguments: &'a AnalyzeArguments,
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
            format: match arguments.json {
                true => Format::Json,
                false => report.format(),
            },
            arguments,
            report,
            baseline,
            kernels: Vec::new(),
            pages: Vec::new(),
        })
    }

    /// Whether what is written is for people at a terminal.
    pub fn is_text(&self) -> bool {
        self.format == Format::Text
    }

    /// Adds a file, if anything is to be made of it.
    pub fn add(
        &mut self,
        module: &Module,
        options: &AccessOptions,
        kernels: &[KernelAccesses],
    ) -> Result<(), Vec<Diagnostic>> {
        if self.format == Format::Html {
            let page = Page::of(module, options, kernels)?;
            self.kernels.extend(page.values().cloned());
            self.pages.push(page);
        } else if self.format != Format::Text
            || self.baseline.is_some()
            || self.arguments.write_baseline.is_some()
        {
            let values = json::analysis_of(module, kernels);
            self.kernels.extend(values);
        }
        Ok(())
    }

    /// Writes what was asked for, of which `text` is the one for people; with a baseline, whether a new finding is to fail.
    pub fn write(self, text: &str) -> Result<Option<bool>, Failure> {
        let arguments = self.arguments;
        let locate = |name: &str| locate(&arguments.source_root, name);
        let output = match self.format {
            Format::Text => {
                let text = printable_text(text);
                match self.report.output_color() && arguments.output.is_none() {
                    true => painted(&text),
                    false => text.into_owned(),
                }
            }
            Format::Json => pretty(&json::document(self.kernels.clone()))?,
            Format::Sarif => {
                let root = std::env::current_dir().unwrap_or_default();
                pretty(&sarif::log(&self.kernels, &root, &locate))?
            }
            Format::Html => html::render(&self.pages, &|name| {
                let bytes = std::fs::read(locate(name)?).ok()?;
                Some(String::from_utf8_lossy(&bytes).into_owned())
            }),
        };
        files::write(arguments.output.as_deref(), &output)?;
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
