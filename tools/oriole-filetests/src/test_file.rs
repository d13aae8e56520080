//! Reads the header, facts and sections of a test file, and writes them anew.

use crate::{Kind, Outcome};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fmt;

/// The TOML in the `//!` lines.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Header {
    /// What is done with the file.
    pub kind: Kind,
    /// For `opt` and `pass`: the passes to run, in order.
    pub passes: Option<Vec<String>>,
    /// For `opt` and `pass`: the optimization level, 0 to 3, unless `passes` are given.
    pub level: Option<u8>,
    /// For `opt`: which of the phases run for the file's target, such as `"ptxas-13.0"`; all unless given.
    pub profile: Option<String>,
    /// For `opt` and `pass`: settings of passes, such as `"EnableGvnCseMode=2"`. The last one must change the output. It
    /// may set a knob that another one sets: then the two values are compared.
    #[serde(default)]
    pub knobs: Vec<String>,
    /// For `opt` and `pass`: how many rewrites may be made.
    pub fuel: Option<u64>,
    /// For `pass`: the target of the functions; without it no limits are known.
    pub target: Option<String>,
    /// For `opt` and `pass`: the most threads of a block, if that is more than the target allows.
    pub threads: Option<u32>,
    /// For `scev` and `analyze`: the shape of blocks, unless the kernel says.
    pub block: Option<[u32; 3]>,
    /// For `opt` and `pass`: functions that cannot be run before and after the passes, and why.
    #[serde(default)]
    pub not_run: BTreeMap<String, String>,
    /// For `opt` and `pass`: a text and its replacement where functions are run, as for unknown instructions.
    pub runs_as: Option<[String; 2]>,
    /// For files under `failing/`: the failure that the test must have, one finding a line.
    pub fails: Option<String>,
    /// For files under `failing/`: text to replace in everything Oriole prints, and what by.
    pub sabotage: Option<[String; 2]>,
}

/// Something said about a line.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Fact {
    /// Line number from 1.
    pub line: usize,
    /// What is said, as it stands behind `//~`.
    pub text: String,
}

/// The name of a section.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SectionName {
    /// The text that was printed.
    Output,
    /// How it differs from the input, printed.
    Diff,
    /// It does not differ.
    Unchanged,
    /// Counters.
    Stats,
    /// Each rewrite, where and why.
    Remarks,
    /// What the last of the knobs changes: how the output differs from that without it.
    Knobs,
    /// Diagnostics as users see them.
    Diagnostics,
}

impl SectionName {
    const ALL: [SectionName; 7] = [
        SectionName::Output,
        SectionName::Diff,
        SectionName::Unchanged,
        SectionName::Stats,
        SectionName::Remarks,
        SectionName::Knobs,
        SectionName::Diagnostics,
    ];
}

impl fmt::Display for SectionName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            SectionName::Output => "output",
            SectionName::Diff => "diff",
            SectionName::Unchanged => "unchanged",
            SectionName::Stats => "stats",
            SectionName::Remarks => "remarks",
            SectionName::Knobs => "knobs",
            SectionName::Diagnostics => "diagnostics",
        })
    }
}

/// A section and its text, each line ended by a line feed.
#[derive(Clone, Debug)]
pub struct Section {
    /// Which one.
    pub name: SectionName,
    /// Its text.
    pub text: String,
}

/// A test file, taken apart.
#[derive(Debug)]
pub struct TestFile {
    /// The settings.
    pub header: Header,
    /// The PTX or SSA form, on the lines it has in the file, with everything else blanked out.
    pub source: String,
    /// Facts expected.
    pub facts: Vec<Fact>,
    /// Sections expected, in order.
    pub sections: Vec<Section>,
    header_lines: Vec<String>,
    /// Lines that hold a fact about a line above and nothing else.
    fact_lines: Vec<usize>,
}

impl TestFile {
    /// Takes a file apart.
    ///
    /// # Errors
    /// What is wrong with the header or the sections.
    pub fn parse(text: &str) -> Result<TestFile, String> {
        let mut header_lines = Vec::new();
        let mut facts = Vec::new();
        let mut fact_lines = Vec::new();
        let mut sections: Vec<Section> = Vec::new();
        let mut source = String::new();
        for (index, line) in text.lines().enumerate() {
            let number = index + 1;
            if let Some(name) = line.strip_prefix("//= ") {
                let name = SectionName::ALL
                    .into_iter()
                    .find(|known| known.to_string() == name.trim())
                    .ok_or_else(|| format!("line {number}: no section is called `{name}`"))?;
                if sections.iter().any(|section| section.name == name) {
                    return Err(format!("line {number}: a second section `{name}`"));
                }
                let text = String::new();
                sections.push(Section { name, text });
            } else if let Some(section) = sections.last_mut() {
                let rest = line.strip_prefix("//|").ok_or_else(|| {
                    format!(
                        "line {number}: sections stand at the end, their lines start with `//|`"
                    )
                })?;
                section
                    .text
                    .push_str(rest.strip_prefix(' ').unwrap_or(rest));
                section.text.push('\n');
                continue;
            } else if line.starts_with("//!") && header_lines.len() == index {
                header_lines.push(line.to_owned());
                source.push('\n');
            } else {
                let (code, fact) = split_fact(line);
                if let Some((above, text)) = fact {
                    let line = number
                        .checked_sub(above)
                        .filter(|&line| line > 0)
                        .ok_or_else(|| format!("line {number}: no line stands that far above"))?;
                    facts.push(Fact { line, text });
                    if code.is_empty() && above > 0 {
                        fact_lines.push(number);
                    }
                }
                source.push_str(code);
                source.push('\n');
            }
        }
        // The end of the file is the end of its last line of code.
        source.truncate(source.trim_end().len());
        let toml: Vec<&str> = header_lines
            .iter()
            .map(|line| line.trim_start_matches("//!").trim_start())
            .collect();
        let header = toml::from_str(&toml.join("\n"))
            .map_err(|error| format!("the header in `//!` lines is wrong: {error}"))?;
        Ok(TestFile {
            header,
            source,
            facts,
            sections,
            header_lines,
            fact_lines,
        })
    }

    /// The file with facts and sections as `outcome` has them.
    pub fn bless(&self, outcome: &Outcome) -> String {
        let mut output = String::new();
        for line in &self.header_lines {
            output.push_str(line);
            output.push('\n');
        }
        let mut facts = outcome.facts.clone();
        facts.sort_by_key(|fact| fact.line);
        let mut facts = facts.into_iter().peekable();
        for (index, line) in self
            .source
            .lines()
            .enumerate()
            .skip(self.header_lines.len())
        {
            let number = index + 1;
            if self.fact_lines.contains(&number) {
                continue;
            }
            output.push_str(line);
            let mut first = true;
            let mut above = 0;
            while let Some(fact) = facts.next_if(|fact| fact.line == number) {
                if first {
                    output.push_str(if line.is_empty() { "//~ " } else { " //~ " });
                    first = false;
                } else {
                    above += 1;
                    output.push_str("\n//~");
                    output.push_str(&"^".repeat(above));
                    output.push(' ');
                }
                output.push_str(&fact.text);
            }
            output.push('\n');
        }
        for section in self.blessed_sections(outcome) {
            output.push_str(&format!("//= {}\n", section.name));
            for line in section.text.lines() {
                output.push_str(if line.is_empty() { "//|" } else { "//| " });
                output.push_str(line);
                output.push('\n');
            }
        }
        output
    }

    /// The sections the file has, with the outcome's text; or, where it has none, those its kind requires.
    fn blessed_sections<'outcome>(&self, outcome: &'outcome Outcome) -> Vec<&'outcome Section> {
        let given = |name: SectionName| {
            outcome
                .sections
                .iter()
                .find(move |section| section.name == name)
        };
        let mut names: Vec<SectionName> =
            self.sections.iter().map(|section| section.name).collect();
        if outcome.facts.is_empty() {
            for required in crate::kinds::required(self.header.kind) {
                if !names.iter().any(|name| required.contains(name)) {
                    names.push(required[0]);
                }
            }
        }
        names
            .into_iter()
            .filter_map(|name| match name {
                // The two take each other's place.
                SectionName::Diff | SectionName::Unchanged => {
                    given(SectionName::Diff).or_else(|| given(SectionName::Unchanged))
                }
                name => given(name),
            })
            .collect()
    }
}

/// Splits `code //~^ fact` into the code and, if there is one, how many lines above the fact applies and its text.
fn split_fact(line: &str) -> (&str, Option<(usize, String)>) {
    let Some(at) = line.find("//~") else {
        return (line, None);
    };
    let rest = &line[at + 3..];
    let text = rest.trim_start_matches('^');
    (
        line[..at].trim_end(),
        Some((rest.len() - text.len(), text.trim().to_owned())),
    )
}
