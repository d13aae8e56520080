//! How diagnostics and messages reach the user.

use crate::Failure;
use crate::arguments::{Color, Common, Format};
use oriole_diagnostics::{
    ColorChoice, Diagnostic, Source, json, printable_json, printable_line, render, sarif,
};
use std::cell::RefCell;
use std::io::{IsTerminal, Write};

/// Prints diagnostics in the format asked for.
pub struct Reporter {
    color: ColorChoice,
    output_color: bool,
    format: Format,
    /// How many diagnostics of a file are printed.
    limit: usize,
}

impl Reporter {
    pub fn new(common: &Common) -> Reporter {
        let wanted = |terminal: bool| match common.color {
            Color::Always => true,
            Color::Never => false,
            Color::Auto => {
                let is_set = |name: &str| std::env::var_os(name).is_some_and(|own| !own.is_empty());
                let is_dumb = std::env::var_os("TERM").is_some_and(|own| own == "dumb");
                let is_forced = is_set("CLICOLOR_FORCE");
                !is_set("NO_COLOR") && (is_forced || terminal && !is_dumb)
            }
        };
        Reporter {
            color: if wanted(std::io::stderr().is_terminal()) {
                ColorChoice::Always
            } else {
                ColorChoice::Never
            },
            output_color: wanted(std::io::stdout().is_terminal()),
            format: common.format,
            limit: match (common.error_limit, common.format) {
                (Some(0), _) => usize::MAX,
                (Some(limit), _) => limit,
                (None, Format::Text | Format::Html | Format::Short) => 20,
                (None, _) => 100,
            },
        }
    }

    /// Text without colours.
    #[cfg(test)]
    pub fn for_tests() -> Reporter {
        Reporter {
            color: ColorChoice::Never,
            output_color: false,
            format: Format::Text,
            limit: 20,
        }
    }

    /// Whether to use colours on the standard output.
    pub fn output_color(&self) -> bool {
        self.output_color
    }

    pub fn format(&self) -> Format {
        self.format
    }

    /// A sentence on the standard error.
    pub fn message(&self, level: &str, text: &str) {
        let _ = std::io::stderr().write_all(message(level, text).as_bytes());
    }

    /// Lines on the standard error.
    pub fn text(&self, text: &str) {
        let text = oriole_diagnostics::printable_text(text);
        let _ = std::io::stderr().write_all(text.as_bytes());
    }

    /// Diagnostics of one file as text in the format asked for.
    pub fn format_all(&self, source: &Source<'_>, diagnostics: &[Diagnostic]) -> String {
        let mut output = String::new();
        for diagnostic in self.shown(diagnostics) {
            match self.format {
                Format::Text | Format::Html | Format::Short => {
                    output.push_str(&render(source, diagnostic, self.color));
                    output.push('\n');
                }
                Format::Json => {
                    let object = json::object(source, diagnostic);
                    let text = serde_json::to_string(&object).unwrap_or_default();
                    output.push_str(&printable_json(&text));
                    output.push('\n');
                }
                Format::Sarif => {
                    let result = sarif::result(source, diagnostic);
                    output.push_str(&printable_json(
                        &serde_json::to_string(&result).unwrap_or_default(),
                    ));
                    output.push('\n');
                }
            }
        }
        let left = diagnostics.len() - self.shown(diagnostics).len();
        if left > 0 && matches!(self.format, Format::Text | Format::Html | Format::Short) {
            let name = printable_line(source.name());
            output.push_str(&format!(
                "oriole: note: {left} more for {name} not shown; --error-limit 0 shows all\n\n"
            ));
        }
        output
    }

    /// The diagnostics of a file that are printed.
    pub fn shown<'a>(&self, diagnostics: &'a [Diagnostic]) -> &'a [Diagnostic] {
        &diagnostics[..diagnostics.len().min(self.limit)]
    }

    /// Prints diagnostics of one file on the standard error.
    pub fn diagnostics(&self, source: &Source<'_>, diagnostics: &[Diagnostic]) {
        let text = self.with_count(source, diagnostics);
        let _ = std::io::stderr().write_all(text.as_bytes());
    }

    /// Prints what is wrong with a file, by which the command fails.
    pub fn failed(&self, source: &Source<'_>, errors: impl Into<Vec<Diagnostic>>) -> Failure {
        self.diagnostics(source, &errors.into());
        Failure::Reported
    }

    /// Diagnostics of one file in the format asked for, and how many errors they are.
    fn with_count(&self, source: &Source<'_>, diagnostics: &[Diagnostic]) -> String {
        let mut text = match self.format {
            Format::Sarif => {
                let results = self
                    .shown(diagnostics)
                    .iter()
                    .map(|diagnostic| sarif::result(source, diagnostic))
                    .collect();
                {
                    let log = serde_json::to_string_pretty(&sarif::log(results));
                    printable_json(&format!("{}\n", log.unwrap_or_default())).into_owned()
                }
            }
            _ => self.format_all(source, diagnostics),
        };
        if matches!(self.format, Format::Text | Format::Html | Format::Short) {
            let errors = diagnostics
                .iter()
                .filter(|diagnostic| diagnostic.severity == oriole::Severity::Error)
                .count();
            if errors > 0 {
                let plural = if errors == 1 { "" } else { "s" };
                let name = source.name();
                text += &message("error", &format!("{errors} error{plural} in {name}"));
            }
        }
        text
    }
}

/// A sentence as it is printed.
fn message(level: &str, text: &str) -> String {
    format!("oriole: {level}: {}\n", printable_line(text))
}

/// What is to be printed on the standard error when it is a file's turn.
pub struct Log<'a> {
    report: &'a Reporter,
    text: RefCell<String>,
}

impl<'a> Log<'a> {
    /// Nothing yet.
    pub fn new(report: &'a Reporter) -> Log<'a> {
        Log {
            report,
            text: RefCell::default(),
        }
    }

    /// Adds diagnostics of a file.
    pub fn diagnostics(&self, source: &Source<'_>, diagnostics: &[Diagnostic]) {
        *self.text.borrow_mut() += &self.report.with_count(source, diagnostics);
    }

    /// Adds what is wrong with a file, which fails by that.
    pub fn failed(&self, source: &Source<'_>, errors: impl Into<Vec<Diagnostic>>) -> Failure {
        self.diagnostics(source, &errors.into());
        Failure::Reported
    }

    /// What was said.
    pub fn into_text(self) -> String {
        self.text.into_inner()
    }
}
