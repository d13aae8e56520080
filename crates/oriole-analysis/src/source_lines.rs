//! Which line of the source an instruction comes from.
//!
//! `.loc 3 166 3, function_name X, inlined_at 2 81 13` says that the code was inlined: [`SourceLines::innermost`] is its
//! own line, [`SourceLines::callers`] are the lines of the calls, and [`SourceLines::at`] is the outermost one. `.file` statements name the files. Code without `.loc` has
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
    /// The statement and the innermost place of each `.loc`.
    places: Vec<(u32, Place)>,
    /// By place of inlined code, the place of the call.
    callers: BTreeMap<Place, Place>,
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
        SourceLines {
            files,
            places: found,
            callers: inlined,
        }
    }

    /// The place of a statement, innermost, then that of each call that was inlined.
    fn chain(&self, statement: u32) -> impl Iterator<Item = Place> + '_ {
        let behind = self.places.partition_point(|place| place.0 <= statement);
        let own = behind.checked_sub(1).map(|own| self.places[own].1);
        std::iter::successors(own, |place| self.callers.get(place).copied()).take(DEPTH + 1)
    }

    /// The column of the innermost source line of a statement, from 1, if one is given.
    pub fn column(&self, statement: u32) -> Option<u32> {
        let (_, _, column) = self.chain(statement).find(|place| place.1 > 0)?;
        (column > 0).then_some(column)
    }

    /// The line of the kernel that a statement comes from: the outermost one.
    pub fn at(&self, statement: u32) -> Option<SourceLine> {
        self.named(self.chain(statement).last()?)
    }

    /// The innermost line that a statement comes from.
    pub fn innermost(&self, statement: u32) -> Option<SourceLine> {
        let place = self.chain(statement).find(|place| place.1 > 0)?;
        self.named(place)
    }

    /// The lines of the calls that were inlined around the innermost line, the innermost call first.
    pub fn callers(&self, statement: u32) -> Vec<SourceLine> {
        let known = self.chain(statement).filter(|place| place.1 > 0);
        known
            .skip(1)
            .filter_map(|place| self.named(place))
            .collect()
    }

    fn named(&self, (file, line, _): Place) -> Option<SourceLine> {
        if line == 0 {
            return None;
        }
        let file = self
            .files
            .names
            .get(&file)
            .cloned()
            .unwrap_or_else(|| format!("file {file}"));
        Some(SourceLine { file, line })
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
