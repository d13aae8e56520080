//! Output that is written as it comes: to the standard output, or into a file that is replaced when all is there.

use crate::Failure;
use oriole_diagnostics::{printable_json, sarif};
use oriole_files::Replacement;
use serde::Serialize;
use std::collections::BTreeSet;
use std::io::Write;
use std::path::Path;

/// Why nothing can be written.
pub const CLOSED: &str = "the standard output is closed";

/// The standard output, to be written.
///
/// # Errors
/// It was closed when the program started: whatever is written would be lost.
pub fn standard() -> Result<std::io::StdoutLock<'static>, Failure> {
    match oriole_collections::at_start::is_output_closed() {
        true => Err(Failure::message(CLOSED)),
        false => Ok(std::io::stdout().lock()),
    }
}

/// Where output goes.
pub struct Sink<'a> {
    file: Option<(&'a Path, Replacement)>,
}

fn cannot_write(file: &Path, error: &std::io::Error) -> Failure {
    Failure::message(format!("cannot write `{}`: {error}", file.display()))
}

impl<'a> Sink<'a> {
    /// The standard output for nothing or `-`.
    pub fn new(file: Option<&'a Path>) -> Result<Sink<'a>, Failure> {
        let file = match file.filter(|file| *file != Path::new("-")) {
            Some(file) => {
                let replacement =
                    Replacement::of(file).map_err(|error| cannot_write(file, &error))?;
                Some((file, replacement))
            }
            None => None,
        };
        Ok(Sink { file })
    }

    /// Writes more.
    pub fn write(&mut self, text: &str) -> Result<(), Failure> {
        match &mut self.file {
            Some((file, replacement)) => replacement
                .write_all(text.as_bytes())
                .map_err(|error| cannot_write(file, &error)),
            None => Ok(standard()?.write_all(text.as_bytes())?),
        }
    }

    /// Replaces the file. One that is not finished is as it was.
    pub fn finish(self) -> Result<(), Failure> {
        match self.file {
            Some((file, replacement)) => replacement
                .finish(file)
                .map_err(|error| cannot_write(file, &error)),
            None => Ok(standard()?.flush()?),
        }
    }
}

/// A JSON document, as [`serde_json::to_string_pretty`] writes it, with a list that comes piece by piece.
pub struct JsonList {
    /// The document up to the list.
    start: String,
    /// What elements are indented by.
    indent: &'static str,
    is_begun: bool,
}

/// An element of a list of a document.
const ELEMENT: &str = "    ";
/// A result of a SARIF log.
const RESULT: &str = "        ";
/// Where results go in a SARIF log.
const RESULTS: &str = "\"results\": [";

fn log_without_results(rules: &BTreeSet<String>) -> String {
    format!("{}\n", pretty(&sarif::log_without_results(rules)))
}

/// A value as JSON of several lines.
fn pretty(value: &impl Serialize) -> String {
    serde_json::to_string_pretty(value).unwrap_or_default()
}

impl JsonList {
    /// A document whose first field is the list.
    pub fn new(field: &str) -> JsonList {
        JsonList {
            start: format!("{{\n  \"{field}\": ["),
            indent: ELEMENT,
            is_begun: false,
        }
    }

    /// The results of a SARIF log.
    pub fn of_results() -> JsonList {
        let log = log_without_results(&BTreeSet::new());
        let start = log.split_inclusive(RESULTS).next().unwrap_or_default();
        JsonList {
            start: start.to_owned(),
            indent: RESULT,
            is_begun: false,
        }
    }

    /// What a value is as an element of a document's list.
    pub fn element(value: &impl Serialize) -> String {
        indented(value, ELEMENT)
    }

    /// What a value is as a result of a SARIF log.
    pub fn result(value: &impl Serialize) -> String {
        indented(value, RESULT)
    }

    /// Adds elements to the output.
    pub fn add(&mut self, elements: &[String], output: &mut String) {
        for element in elements {
            match self.is_begun {
                true => output.push(','),
                false => output.push_str(&self.start),
            }
            self.is_begun = true;
            *output += &format!("\n{}{element}", self.indent);
        }
    }

    /// Ends the list and adds the other fields, of which there is at least one.
    pub fn finish(self, others: &impl Serialize) -> String {
        let others = pretty(others);
        let others = printable_json(others.trim_start_matches('{'));
        format!("{},{others}\n", self.end())
    }

    /// Ends the results of a SARIF log, which are of these rules.
    pub fn finish_results(self, rules: &BTreeSet<String>) -> String {
        let log = log_without_results(rules);
        let rest = log.split_once(RESULTS).map_or("", |(_, rest)| rest);
        let rest = rest.trim_start_matches(']');
        format!("{}{}", self.end(), printable_json(rest))
    }

    /// The end of the list, and what is before it if nothing was added.
    fn end(&self) -> String {
        match self.is_begun {
            true => format!("\n{}]", &self.indent[2..]),
            false => format!("{}]", self.start),
        }
    }
}

fn indented(value: &impl Serialize, indent: &str) -> String {
    let text = pretty(value).replace('\n', &format!("\n{indent}"));
    printable_json(&text).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    #[derive(Serialize)]
    struct Element {
        name: Option<&'static str>,
        list: Vec<Vec<u32>>,
    }

    #[derive(Serialize)]
    struct Whole<'a> {
        all: &'a [Element],
        version: u32,
    }

    #[derive(Serialize)]
    struct Rest {
        version: u32,
    }

    #[test]
    fn a_list_that_comes_in_pieces_is_written_as_at_once() {
        let element = |name, list| Element { name, list };
        let elements = [
            element(Some("a\nb"), vec![vec![1, 2], Vec::new()]),
            element(None, Vec::new()),
        ];
        for count in 0..=elements.len() {
            let mut list = JsonList::new("all");
            let mut output = String::new();
            for element in &elements[..count] {
                list.add(&[JsonList::element(element)], &mut output);
            }
            output += &list.finish(&Rest { version: 1 });
            let all = &elements[..count];
            let whole = pretty(&Whole { all, version: 1 });
            assert_eq!(output, format!("{whole}\n"));
        }
    }

    #[test]
    fn so_is_a_log() {
        let finding = |rule: &str, text: &str| sarif::Finding {
            rule_id: rule.to_owned(),
            message: sarif::Message {
                text: text.to_owned(),
            },
            ..sarif::Finding::default()
        };
        let results = [finding("a", "\"results\": []"), finding("b", "")];
        for count in 0..=results.len() {
            let results = &results[..count];
            let mut list = JsonList::of_results();
            let mut output = String::new();
            for result in results {
                list.add(&[JsonList::result(result)], &mut output);
            }
            let rules = results.iter().map(|own| own.rule_id.clone());
            output += &list.finish_results(&rules.collect());
            let whole = sarif::log(results.to_vec());
            assert_eq!(output, format!("{}\n", pretty(&whole)));
        }
    }
}
