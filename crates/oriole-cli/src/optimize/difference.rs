//! What changed, as a patch of the input file.
//!
//! The printer writes a module its own way, one statement a line, so a comparison of its output with the file would show every
//! blank. Instead the module as it was read and as it is now are both printed, and the *printed lines* are compared: they are
//! laid out alike, and differ where statements do. The module as it was read has the tokens of the file, one for one, which says
//! where each printed line stands in the file. So a printed line that went away is cut out of the file, and a new one is put
//! before the statement that follows it. All other bytes of the file stay: blanks, comments, several statements on a line.
//!
//! The patched file has the statements of the output, token by token, and every comment of the input but those inside of
//! statements that went away.

use super::alignment::differences;
use oriole::Module;
use oriole_collections::StringMap;
use oriole_diagnostics::{printable_line, printable_text};
use oriole_syntax::{print, token_ranges};
use std::fmt::Write;
use std::io::IsTerminal;
use std::ops::Range;

const RED: &str = "\x1b[31m";
const GREEN: &str = "\x1b[32m";
const CYAN: &str = "\x1b[36m";
const BOLD: &str = "\x1b[1m";
const RESET: &str = "\x1b[0m";

/// Lines shown before and behind a change.
const CONTEXT: usize = 3;

/// Lines of the file that give way to others. Either side may be empty, but not both.
struct Change {
    /// Numbers of lines, from zero.
    lines: Range<usize>,
    replacement: String,
}

impl Change {
    /// How many lines more there are.
    fn growth(&self) -> isize {
        self.replacement.split_inclusive('\n').count() as isize - self.lines.len() as isize
    }
}

/// A unified diff that turns the text `before` was parsed from into one that means `after`; empty if nothing changed.
pub fn of_file(before: &Module, after: &Module, color: bool) -> String {
    let names = [before.name(); 2];
    patch(names, before.source(), &print(before), &print(after), color)
}

/// A unified diff of two modules as they are printed, under these names.
pub fn of_output(names: [&str; 2], before: &Module, after: &Module, color: bool) -> String {
    let old = print(before);
    patch(names, &old, &old, &print(after), color)
}

/// A unified diff of a text with the tokens of `old` and one with those of `new`.
fn patch(names: [&str; 2], source: &str, old: &str, new: &str, color: bool) -> String {
    if old == new {
        return String::new();
    }
    let file = File::new(source);
    let changes = changes(&file, old, new).unwrap_or_else(|| {
        vec![Change {
            lines: 0..file.starts.len(),
            replacement: new.to_owned(),
        }]
    });
    unified(names, &file, &changes, color)
}

/// A text and where its lines start.
struct File<'text> {
    source: &'text str,
    starts: Vec<usize>,
}

impl<'text> File<'text> {
    fn new(source: &'text str) -> File<'text> {
        let starts = std::iter::once(0)
            .chain(source.match_indices('\n').map(|(at, _)| at + 1))
            .filter(|&start| start < source.len())
            .collect();
        File { source, starts }
    }

    /// Where a line starts, or the text ends.
    fn start(&self, line: usize) -> usize {
        self.starts.get(line).copied().unwrap_or(self.source.len())
    }

    /// The lines with these numbers, line ends included.
    fn lines(&self, lines: Range<usize>) -> impl Iterator<Item = &'text str> {
        self.source[self.start(lines.start)..self.start(lines.end)].split_inclusive('\n')
    }
}

/// A line of the printer's with tokens in it: the text from the first to the last of them, and where that is.
struct Printed<'text> {
    statement: &'text str,
    /// The blanks it starts with.
    indent: &'text str,
    tokens: Range<usize>,
}

/// The lines of a printed text that have tokens, and the tokens.
fn printed(text: &str) -> (Vec<Printed<'_>>, Vec<Range<usize>>) {
    let tokens: Vec<Range<usize>> = token_ranges(text).collect();
    let mut lines = Vec::new();
    let mut at = 0;
    let mut line_start = 0;
    for line in text.split_inclusive('\n') {
        let line_end = line_start + line.len();
        let first = at;
        while at < tokens.len() && tokens[at].start < line_end {
            at += 1;
        }
        if first < at {
            let (start, end) = (tokens[first].start, tokens[at - 1].end);
            lines.push(Printed {
                statement: &text[start..end],
                indent: &line[..line.len() - line.trim_start().len()],
                tokens: first..at,
            });
        }
        line_start = line_end;
    }
    (lines, tokens)
}

/// Where to cut printed lines into pieces that are compared one by one: at the braces around bodies.
fn bodies(lines: &[Printed<'_>]) -> Vec<usize> {
    let mut borders = vec![0];
    let mut depth = 0_usize;
    for (index, line) in lines.iter().enumerate() {
        match line.statement {
            "{" => {
                depth += 1;
                if depth == 1 {
                    borders.push(index);
                }
            }
            "}" => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    borders.push(index);
                }
            }
            _ => {}
        }
    }
    borders.push(lines.len());
    borders
}

/// What was done to the printed lines, in order: which ones were replaced, and by which.
fn operations(before: &[Printed<'_>], after: &[Printed<'_>]) -> Vec<(Range<usize>, Range<usize>)> {
    let mut numbers: StringMap<u32> = StringMap::default();
    let mut number = |lines: &[Printed<'_>]| -> Vec<u32> {
        lines
            .iter()
            .map(|line| {
                let next = numbers.len() as u32;
                *numbers.get_or_insert_with(line.statement, || next)
            })
            .collect()
    };
    let (old, new) = (number(before), number(after));
    let (mut old_borders, mut new_borders) = (bodies(before), bodies(after));
    if old_borders.len() != new_borders.len() {
        (old_borders, new_borders) = (vec![0, old.len()], vec![0, new.len()]);
    }
    let mut operations = Vec::new();
    for (old_piece, new_piece) in old_borders.windows(2).zip(new_borders.windows(2)) {
        let (first_old, first_new) = (old_piece[0], new_piece[0]);
        let (old, new) = (&old[first_old..old_piece[1]], &new[first_new..new_piece[1]]);
        let shifted = |range: Range<usize>, by: usize| range.start + by..range.end + by;
        let changed = differences(old, new).into_iter();
        operations.extend(
            changed.map(|(gone, made)| (shifted(gone, first_old), shifted(made, first_new))),
        );
    }
    operations
}

/// A range of bytes of the file, and what stands there from now on.
struct Splice {
    bytes: Range<usize>,
    text: String,
}

/// The changes to the lines of a file whose printed form was `old` and is `new` now; nothing if the file and its printed form
/// do not have the same tokens.
fn changes(file: &File<'_>, old: &str, new: &str) -> Option<Vec<Change>> {
    let source = file.source;
    let tokens: Vec<Range<usize>> = token_ranges(source).collect();
    let (before, old_tokens) = printed(old);
    let (after, _) = printed(new);
    let is_same = |(written, printed): (&Range<usize>, &Range<usize>)| {
        source[written.clone()] == old[printed.clone()]
    };
    if tokens.len() != old_tokens.len() || !tokens.iter().zip(&old_tokens).all(is_same) {
        return None;
    }
    // Where each printed line stands in the file.
    let places: Vec<Range<usize>> = before
        .iter()
        .map(|line| tokens[line.tokens.start].start..tokens[line.tokens.end - 1].end)
        .collect();
    let mut splices = Vec::new();
    for (gone, made) in operations(&before, &after) {
        let at = places
            .get(gone.start)
            .map_or(source.len(), |place| place.start);
        if !made.is_empty() {
            let lines = after[made].iter().map(|line| {
                let indent = indent(source, &before, &places, gone.start, line.indent);
                (indent, line.statement)
            });
            splices.push(insertion(file, at, lines));
        }
        let mut rest = places[gone].iter().cloned().peekable();
        while let Some(mut place) = rest.next() {
            // Blanks between two that go away go with them; a comment stays.
            while let Some(next) =
                rest.next_if(|next| source[place.end..next.start].trim().is_empty())
            {
                place.end = next.end;
            }
            splices.push(removal(source, place));
        }
    }
    Some(by_line(file, splices))
}

/// How a new line is indented: as the statement it stands before, or one shortly before that, which the printer indents alike.
fn indent<'text>(
    source: &'text str,
    before: &[Printed<'_>],
    places: &[Range<usize>],
    at: usize,
    printed: &'text str,
) -> &'text str {
    (at.saturating_sub(8)..before.len().min(at + 1))
        .rev()
        .filter(|&index| before[index].indent == printed)
        .find_map(|index| blanks_before(source, places[index].start))
        .unwrap_or(printed)
}

/// The blanks between the start of a line and `at`, if there is nothing else.
fn blanks_before(source: &str, at: usize) -> Option<&str> {
    // Not from the start of the line, which may be all of the file.
    let rest =
        source[..at].trim_end_matches(|letter: char| letter != '\n' && letter.is_whitespace());
    let is_start = rest.is_empty() || rest.ends_with('\n');
    is_start.then(|| &source[rest.len()..at])
}

/// Lines put before what stands at `at`.
fn insertion<'text>(
    file: &File<'_>,
    at: usize,
    lines: impl Iterator<Item = (&'text str, &'text str)>,
) -> Splice {
    let source = file.source;
    let lines_before = file.starts.partition_point(|&start| start <= at);
    let line_start = file.starts.get(lines_before.wrapping_sub(1)).copied();
    let line_end = match source[..line_start.unwrap_or(0)].ends_with("\r\n") {
        true => "\r\n",
        false => "\n",
    };
    let mut text = String::new();
    let at = match blanks_before(source, at) {
        Some(blanks) => at - blanks.len(),
        None => {
            text.push_str(line_end);
            at
        }
    };
    for (indent, statement) in lines {
        text.extend([indent, statement, line_end]);
    }
    Splice {
        bytes: at..at,
        text,
    }
}

/// What stands here left out, and the whole line if nothing else is in it.
fn removal(source: &str, place: Range<usize>) -> Splice {
    let behind = &source[place.end..];
    let rest = behind.trim_start_matches(|letter: char| letter != '\n' && letter.is_whitespace());
    let is_end = rest.is_empty() || rest.starts_with('\n');
    let line_end = behind.len() - rest.len() + usize::from(!rest.is_empty());
    let bytes = match blanks_before(source, place.start) {
        Some(blanks) if is_end => place.start - blanks.len()..place.end + line_end,
        _ => place,
    };
    Splice {
        bytes,
        text: String::new(),
    }
}

/// Changes of lines that do what changes of bytes do; these are in order.
fn by_line(file: &File<'_>, splices: Vec<Splice>) -> Vec<Change> {
    let starts = &file.starts;
    let is_border = |at: usize| at == file.source.len() || starts.binary_search(&at).is_ok();
    // How many lines start before a byte.
    let lines_before = |at: usize| starts.partition_point(|&start| start < at);
    let mut changes: Vec<Change> = Vec::new();
    // Up to where the replacement of the last change says what the file says now.
    let mut done = 0;
    for Splice { bytes, text } in splices {
        let lines = if is_border(bytes.start) && is_border(bytes.end) {
            lines_before(bytes.start)..lines_before(bytes.end)
        } else {
            let first = lines_before(bytes.start + 1) - 1;
            first..lines_before(bytes.end).max(first + 1)
        };
        match changes.last_mut() {
            Some(last) if lines.start <= last.lines.end => {
                last.replacement.push_str(&file.source[done..bytes.start]);
                last.lines.end = last.lines.end.max(lines.end);
            }
            last => {
                if let Some(last) = last {
                    last.replacement
                        .push_str(&file.source[done..file.start(last.lines.end)]);
                }
                changes.push(Change {
                    replacement: file.source[file.start(lines.start)..bytes.start].to_owned(),
                    lines,
                });
            }
        }
        if let Some(last) = changes.last_mut() {
            last.replacement.push_str(&text);
        }
        done = bytes.end;
    }
    if let Some(last) = changes.last_mut() {
        last.replacement
            .push_str(&file.source[done..file.start(last.lines.end)]);
    }
    changes
}

/// Writes changes with their neighbourhood.
struct Unified<'a> {
    file: &'a File<'a>,
    color: bool,
    /// Whether control characters are shown, for a terminal. A patch has the bytes of the file.
    is_shown: bool,
    text: String,
}

impl Unified<'_> {
    fn paint(&self, code: &'static str) -> &'static str {
        if self.color { code } else { "" }
    }

    fn head(&mut self, sign: &str, name: &str) {
        // A name with blanks ends at a tab.
        let end = if name.contains(' ') { "\t" } else { "" };
        let name = printable_line(name);
        let (bold, reset) = (self.paint(BOLD), self.paint(RESET));
        let _ = writeln!(self.text, "{bold}{sign} {name}{end}{reset}");
    }

    fn line(&mut self, sign: char, line: &str) {
        let (code, reset) = match sign {
            '-' => (self.paint(RED), self.paint(RESET)),
            '+' => (self.paint(GREEN), self.paint(RESET)),
            _ => ("", ""),
        };
        let contents = line.strip_suffix('\n').unwrap_or(line);
        let contents = match self.is_shown {
            true => printable_text(contents),
            false => contents.into(),
        };
        let _ = writeln!(self.text, "{code}{sign}{contents}{reset}");
        if !line.ends_with('\n') {
            self.text.push_str("\\ No newline at end of file\n");
        }
    }

    /// Changes whose neighbourhoods meet; `shift` lines more than before stand before them now. Gives the lines more behind them.
    fn hunk(&mut self, changes: &[Change], shift: isize) -> isize {
        let count = self.file.starts.len();
        let first = changes[0].lines.start.saturating_sub(CONTEXT);
        let end = (changes[changes.len() - 1].lines.end + CONTEXT).min(count);
        let growth: isize = changes.iter().map(Change::growth).sum();
        let old = end - first;
        let new = old.strict_add_signed(growth);
        // An empty side is named by the line before it.
        let numbers = |first: usize, length: usize| match length {
            0 => format!("{first},0"),
            1 => format!("{}", first + 1),
            _ => format!("{},{length}", first + 1),
        };
        let header = format!(
            "@@ -{} +{} @@",
            numbers(first, old),
            numbers(first.strict_add_signed(shift), new)
        );
        let (cyan, reset) = (self.paint(CYAN), self.paint(RESET));
        let _ = writeln!(self.text, "{cyan}{header}{reset}");
        let file = self.file;
        let mut at = first;
        for change in changes {
            for line in file.lines(at..change.lines.start) {
                self.line(' ', line);
            }
            for line in file.lines(change.lines.clone()) {
                self.line('-', line);
            }
            for line in change.replacement.split_inclusive('\n') {
                self.line('+', line);
            }
            at = change.lines.end;
        }
        for line in file.lines(at..end) {
            self.line(' ', line);
        }
        growth
    }
}

fn unified(names: [&str; 2], file: &File<'_>, changes: &[Change], color: bool) -> String {
    let mut unified = Unified {
        file,
        color,
        is_shown: color || std::io::stdout().is_terminal(),
        text: String::new(),
    };
    unified.head("---", names[0]);
    unified.head("+++", names[1]);
    let mut shift = 0;
    for hunk in changes.chunk_by(|one, next| next.lines.start - one.lines.end <= 2 * CONTEXT) {
        shift += unified.hunk(hunk, shift);
    }
    unified.text
}
