//! Output that is written as it comes: to the standard output, or into a file that is replaced when all is there.

use crate::Failure;
use oriole_diagnostics::printable_json;
use oriole_files::Replacement;
use serde_json::Value;
use std::io::Write;
use std::path::Path;

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
            None => Ok(std::io::stdout().lock().write_all(text.as_bytes())?),
        }
    }

    /// Replaces the file. One that is not finished is as it was.
    pub fn finish(self) -> Result<(), Failure> {
        match self.file {
            Some((file, replacement)) => replacement
                .finish(file)
                .map_err(|error| cannot_write(file, &error)),
            None => Ok(std::io::stdout().lock().flush()?),
        }
    }
}

/// A JSON document, as [`serde_json::to_string_pretty`] writes it, whose first field is a list that comes piece by piece.
pub struct JsonList {
    field: &'static str,
    is_begun: bool,
}

impl JsonList {
    /// A document with a list of this name.
    pub fn new(field: &'static str) -> JsonList {
        JsonList {
            field,
            is_begun: false,
        }
    }

    /// What a value is as an element of the list.
    pub fn element(value: &Value) -> String {
        let text = format!("{value:#}").replace('\n', "\n    ");
        printable_json(&text).into_owned()
    }

    /// Adds elements to the output.
    pub fn add(&mut self, elements: &[String], output: &mut String) {
        for element in elements {
            match self.is_begun {
                true => output.push_str(",\n    "),
                false => *output += &format!("{{\n  \"{}\": [\n    ", self.field),
            }
            self.is_begun = true;
            output.push_str(element);
        }
    }

    /// Ends the list and adds the other fields, of which there is at least one.
    pub fn finish(self, others: &Value) -> String {
        let others = format!("{others:#}");
        let others = printable_json(others.trim_start_matches('{')).into_owned();
        match self.is_begun {
            true => format!("\n  ],{others}\n"),
            false => format!("{{\n  \"{}\": [],{others}\n", self.field),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_list_that_comes_in_pieces_is_written_as_at_once() {
        let elements = [
            json!({"name": "a\nb", "list": [1, [], {}]}),
            json!(null),
            json!([]),
        ];
        for count in 0..=elements.len() {
            let mut list = JsonList::new("all");
            let mut output = String::new();
            for element in &elements[..count] {
                list.add(&[JsonList::element(element)], &mut output);
            }
            output += &list.finish(&json!({"version": 1}));
            let whole = json!({"all": &elements[..count], "version": 1});
            assert_eq!(output, format!("{whole:#}\n"));
        }
    }
}
