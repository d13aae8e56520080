//! Which line of the source an instruction comes from.
//!
//! `.loc 3 166 3, function_name X, inlined_at 2 81 13` says that the code was inlined: the line to show is where it was
//! called, and if that call was itself inlined, where that was. `.file` statements name the files. Code without `.loc` has
//! only its line in the PTX. Inside of inline assembly, which `// begin inline asm` and `// end inline asm` enclose, lines are counted
//! on from the first `.loc` as if the assembly stood in the source: only that first one counts.

use oriole_syntax::tree::{Body, Module, Statement};
use std::collections::BTreeMap;

/// A place in a source file.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SourceLine {
    /// The file, as `.file` names it.
    pub file: String,
    /// The line, from 1.
    pub line: u32,
}

impl std::fmt::Display for SourceLine {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{}:{}", self.file, self.line)
    }
}

type Place = (u32, u32, u32);

/// The source files of a module, by the numbers that `.file` gives them.
#[derive(Clone, Debug, Default)]
pub struct SourceFiles {
    names: BTreeMap<u32, String>,
    /// Where inline assembly begins and ends in the text.
    assembly: Vec<(u32, u32)>,
}

impl SourceFiles {
    /// The source files of a module, whose text is that of the tree.
    pub fn of(module: &oriole_ir::Module, tree: &Module) -> SourceFiles {
        let files = module.files.iter();
        let named = files.map(|file| {
            let name = tree.text(file.name).trim_matches('"');
            (file.number, name.to_owned())
        });
        SourceFiles {
            names: named.collect(),
            assembly: assembly(tree.source()),
        }
    }

    /// The inline assembly that a place is in, by number.
    fn assembly_at(&self, offset: u32) -> Option<usize> {
        let behind = self.assembly.partition_point(|&(start, _)| start <= offset);
        let place = behind.checked_sub(1)?;
        (offset < self.assembly[place].1).then_some(place)
    }
}

/// The source lines of a function's statements.
#[derive(Clone, Debug)]
pub struct SourceLines<'files> {
    files: &'files SourceFiles,
    /// Statement of each `.loc`, and the outermost place it stands for.
    places: Vec<(u32, Place)>,
}

/// Inlining deeper than this is cut.
const DEPTH: usize = 64;

impl<'files> SourceLines<'files> {
    /// Reads the debug information of a function, given the files of its module.
    pub fn of(module: &Module, files: &'files SourceFiles, body: &Body) -> SourceLines<'files> {
        let mut inlined: BTreeMap<Place, Place> = BTreeMap::new();
        let mut found: Vec<(u32, Place)> = Vec::new();
        let mut last_assembly = None;
        for (index, statement) in body.statements.iter().enumerate() {
            let Statement::Directive(directive) = statement else {
                continue;
            };
            let words: Vec<&str> = body
                .words(directive.words)
                .iter()
                .map(|&word| module.text(word))
                .collect();
            if words.first() != Some(&".loc") {
                continue;
            }
            let Some(place) = place(&words[1..]) else {
                continue;
            };
            if let Some(at) = words.iter().position(|&word| word == "inlined_at")
                && let Some(outer) = self::place(&words[at + 1..])
                && outer != place
            {
                inlined.insert(place, outer);
            }
            let offset = body.words(directive.words)[0].span().start;
            let assembly = files.assembly_at(offset);
            let is_drifting = assembly.is_some() && assembly == last_assembly;
            last_assembly = assembly;
            if !is_drifting {
                found.push((index as u32, place));
            }
        }
        let places = found
            .into_iter()
            .map(|(statement, mut place)| {
                for _ in 0..DEPTH {
                    match inlined.get(&place) {
                        Some(&outer) => place = outer,
                        None => break,
                    }
                }
                (statement, place)
            })
            .collect();
        SourceLines { files, places }
    }

    /// The column of the source line that a statement comes from, from 1, if one is given.
    pub fn column(&self, statement: u32) -> Option<u32> {
        let behind = self.places.partition_point(|place| place.0 <= statement);
        let (_, (_, _, column)) = self.places.get(behind.checked_sub(1)?)?;
        (*column > 0).then_some(*column)
    }

    /// Where a statement comes from.
    pub fn at(&self, statement: u32) -> Option<SourceLine> {
        let behind = self.places.partition_point(|place| place.0 <= statement);
        let (_, (file, line, _)) = self.places.get(behind.checked_sub(1)?)?;
        if *line == 0 {
            return None;
        }
        let file = self
            .files
            .names
            .get(file)
            .cloned()
            .unwrap_or_else(|| format!("file {file}"));
        Some(SourceLine { file, line: *line })
    }
}

/// Where inline assembly begins and ends.
fn assembly(text: &str) -> Vec<(u32, u32)> {
    let mut found = Vec::new();
    let mut from = 0;
    let ends = text.match_indices("// end inline asm");
    let mut ends = ends.map(|(end, _)| end).peekable();
    for (start, _) in text.match_indices("// begin inline asm") {
        if start < from {
            continue;
        }
        while ends.next_if(|&end| end < start).is_some() {}
        let end = ends.peek().copied().unwrap_or(text.len());
        found.push((start as u32, end as u32));
        from = end;
    }
    found
}

/// File, line and column at the start of these words.
fn place(words: &[&str]) -> Option<Place> {
    match words {
        [file, line, column, ..] => {
            Some((file.parse().ok()?, line.parse().ok()?, column.parse().ok()?))
        }
        _ => None,
    }
}
