//! Reports as text for terminals: the verdict first, then causes, then evidence.
//!
//! ## Method
//! Rows are made with styles and wrapped to the width of the terminal; colours are added afterwards, so that they never change the layout.

mod detail;
mod finding;
mod kernel;
mod run;
mod source;

pub use finding::{cost, fix, place, short};
pub use source::Sources;

use oriole::report::{Kernel, RunVerdict};

/// The look of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// As it is.
    Plain,
    /// A headline, or what is wrong.
    Bold,
    /// High severity.
    High,
    /// Medium severity.
    Medium,
    /// Undecided findings and assumptions.
    Undecided,
    /// A severity, and headers of tables.
    Dim,
    /// Arrows, line numbers and bars.
    Blue,
    /// A fix.
    Green,
}

impl Style {
    fn code(self) -> &'static str {
        match self {
            Style::Plain => "",
            Style::Bold => "1",
            Style::High => "1;31",
            Style::Medium => "1;33",
            Style::Undecided => "1;35",
            Style::Dim => "2",
            Style::Blue => "1;34",
            Style::Green => "32",
        }
    }
}

/// The form of a report.
pub struct Options<'a> {
    /// Columns of the terminal.
    pub width: usize,
    /// True if there are colours.
    pub color: bool,
    /// Whether the terminal shows characters beyond ASCII.
    pub unicode: bool,
    /// Whether every cause, access and loop is shown.
    pub all: bool,
    /// Texts of source files.
    pub sources: &'a dyn Sources,
    /// The folder that paths are relative to.
    pub folder: &'a std::path::Path,
}

/// The most lines that a report takes by default.
pub const MAX_LINES: usize = 60;
/// The most findings that are shown by default.
const MAX_FINDINGS: usize = 5;

/// A line in parts.
type Line = Vec<(Style, String)>;

/// Lines of a report.
#[derive(Default)]
struct Page {
    lines: Vec<Line>,
}

fn width_of(text: &str) -> usize {
    text.chars().count()
}

/// Text in lines of at most `width` columns, of which the first begins after `first` columns and the others after `rest`. Words that are
/// longer stay whole.
fn wrapped(text: &str, width: usize, first: usize, rest: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    let mut column = first;
    let mut is_empty = true;
    for word in text.split(' ') {
        let own = width_of(word);
        if !is_empty && column + 1 + own > width {
            lines.push(String::new());
            column = rest;
            is_empty = true;
        }
        if let Some(line) = lines.last_mut() {
            if !is_empty {
                line.push(' ');
                column += 1;
            }
            line.push_str(word);
            column += own;
            is_empty = false;
        }
    }
    lines
}

impl Page {
    fn line(&mut self, parts: impl IntoIterator<Item = (Style, String)>) {
        self.lines.push(parts.into_iter().collect());
    }

    fn blank(&mut self) {
        self.lines.push(Vec::new());
    }

    /// A paragraph: continuation lines are indented by `indent`.
    fn paragraph(&mut self, style: Style, text: &str, width: usize, indent: usize) {
        for (index, line) in wrapped(text, width, 0, indent).into_iter().enumerate() {
            let margin = if index == 0 { 0 } else { indent };
            self.line([(Style::Plain, " ".repeat(margin)), (style, line)]);
        }
    }

    /// A row with a label at a margin; continuation lines go below the text.
    fn row(&mut self, margin: usize, label: &str, style: Style, text: &str, width: usize) {
        let start = margin + label.len();
        for (index, line) in wrapped(text, width, start, start).into_iter().enumerate() {
            let head = match index {
                0 => format!("{}{label}", " ".repeat(margin)),
                _ => " ".repeat(start),
            };
            self.line([(Style::Plain, head), (style, line)]);
        }
    }

    fn extend(&mut self, other: Page) {
        self.lines.extend(other.lines);
    }

    /// The text of all lines.
    fn render(&self, options: &Options<'_>) -> String {
        let mut text = String::new();
        for line in &self.lines {
            let mut own = String::new();
            for (style, part) in line {
                let part = match options.unicode {
                    true => part.clone(),
                    false => ascii(part),
                };
                let part = oriole_diagnostics::printable_line(&part);
                match style.code() {
                    code if options.color && !code.is_empty() && !part.is_empty() => {
                        own += &format!("\x1b[{code}m{part}\x1b[0m");
                    }
                    _ => own += &part,
                }
            }
            text += own.trim_end();
            text.push('\n');
        }
        text
    }
}

/// Text for terminals without UTF-8. Names and source lines stay as they are.
fn ascii(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    for own in text.chars() {
        match own {
            '→' => plain.push_str("->"),
            '×' => plain.push('x'),
            '…' => plain.push_str("..."),
            '≤' => plain.push_str("<="),
            '−' => plain.push('-'),
            own => plain.push(own),
        }
    }
    plain
}

/// A path below the folder relative to it, with `/`.
fn relative(path: &str, options: &Options<'_>) -> String {
    let own = std::path::Path::new(path);
    let below = own.strip_prefix(options.folder).unwrap_or(own);
    let below = below.strip_prefix(".").unwrap_or(below);
    below.display().to_string().replace('\\', "/")
}

/// The report on the kernels of a run. `verdict` may count kernels that are not in the list.
pub fn report(kernels: &[Kernel], verdict: &RunVerdict, options: &Options<'_>) -> String {
    let names = kernel::names(kernels);
    let page = match kernels {
        [] => {
            let mut page = Page::default();
            page.line([(Style::Plain, "no kernels".to_owned())]);
            page
        }
        [only] => kernel::page(only, &names[0], verdict, options),
        _ => run::page(kernels, &names, verdict, options),
    };
    page.render(options)
}

/// The findings of a line of a source file or of PTX, in full.
pub fn findings_at(
    kernels: &[Kernel],
    file: &str,
    line: u32,
    options: &Options<'_>,
) -> Option<String> {
    let names = kernel::names(kernels);
    let mut page = Page::default();
    for (own, name) in kernels.iter().zip(&names) {
        for finding in &own.findings {
            let is_end = |long: &str, end: &str| long == end || long.ends_with(&format!("/{end}"));
            let is_in = |named: &str| is_end(named, file) || is_end(file, named);
            let source = finding.source.as_ref().filter(|own| is_in(&own.file));
            let is_source =
                source.is_some_and(|own| own.line == line || finding.also.contains(&line));
            let lines = || std::iter::once(&finding.line).chain(&finding.lines);
            let is_ptx = is_in(&own.file) && lines().any(|&own| own == line);
            if is_source || is_ptx {
                if !page.lines.is_empty() {
                    page.blank();
                }
                let context = finding::Context {
                    kernel: own,
                    name,
                    elsewhere: &[],
                    shows_kernel: true,
                    shows_file: true,
                };
                page.extend(finding::page(finding, &context, options));
                page.extend(detail::finding(finding, own, options));
            }
        }
    }
    (!page.lines.is_empty()).then(|| page.render(options))
}

/// The totals alone.
pub fn quiet(verdict: &RunVerdict, options: &Options<'_>) -> String {
    let mut page = Page::default();
    page.line([(Style::Plain, verdict.findings.to_string())]);
    page.render(options)
}

/// The kernels that there are, for a name that none has.
pub fn listed(names: &[String]) -> String {
    const MAX_NAMES: usize = 20;
    let shown = names.iter().take(MAX_NAMES).cloned().collect::<Vec<_>>();
    let more = match names.len() - shown.len() {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let count = oriole::report::words::count(names.len() as u64, "kernel");
    format!(
        "there {} {count}: {}{more}",
        if names.len() == 1 { "is" } else { "are" },
        shown.join(", ")
    )
}

/// The line of an access: of the source, and of the PTX.
fn words_of(access: &oriole::report::Access) -> String {
    match &access.source {
        Some(source) => format!("{source} (PTX {})", access.line),
        None => format!("PTX {}", access.line),
    }
}
