//! Lines of the source with carets below what a finding is about.

use super::{Line, Options, Style, width_of};
use oriole::report::{Finding, Kernel};

/// Texts of the source files that PTX names.
pub trait Sources {
    /// A line of a file, from 1.
    fn line(&self, file: &str, line: u32) -> Option<String>;
    /// Whether a file was found.
    fn is_found(&self, file: &str) -> bool;
    /// The path of a file, if it was found.
    fn path(&self, file: &str) -> Option<String>;
}

/// The only expression `array[…][…]` of a line, as columns from 0.
fn subscripted(text: &[char], array: &str) -> Option<(usize, usize)> {
    let name: Vec<char> = array.chars().collect();
    let is_word = |own: &char| own.is_alphanumeric() || *own == '_';
    let mut found = None;
    for start in 0..text.len() {
        let is_here = text[start..].starts_with(&name)
            && (start == 0 || !is_word(&text[start - 1]))
            && text.get(start + name.len()) == Some(&'[');
        if !is_here {
            continue;
        }
        if found.is_some() {
            return None;
        }
        let (mut end, mut depth) = (start + name.len(), 0);
        while end < text.len() {
            match text[end] {
                '[' => depth += 1,
                ']' => depth -= 1,
                _ if depth == 0 => break,
                _ => {}
            }
            end += 1;
        }
        found = Some((start, end));
    }
    found
}

/// The line of a finding and the carets below it.
pub(super) fn excerpt(
    finding: &Finding,
    kernel: &Kernel,
    style: Style,
    options: &Options<'_>,
) -> Vec<Line> {
    // Without a source line the PTX is shown.
    let (file, number, column) = match &finding.source {
        Some(source) => (&source.file, source.line, source.column),
        None if kernel.file.ends_with(".ptx") => (&kernel.file, finding.line, None),
        None => return Vec::new(),
    };
    let Some(line) = options.sources.line(file, number) else {
        return Vec::new();
    };
    let line: Vec<char> = line.trim_end().replace('\t', " ").chars().collect();
    let blanks = line.iter().take_while(|own| **own == ' ').count();
    let text = &line[blanks..];
    let array = finding.array.as_deref().filter(|own| !own.contains(' '));
    let column = column.map(|own| (own as usize).saturating_sub(1 + blanks));
    let marked = array.and_then(|array| subscripted(text, array));
    let marked = marked.or_else(|| {
        column
            .filter(|&own| own < text.len())
            .map(|own| (own, own + 1))
    });
    let number = format!("{number:>4}");
    let margin = width_of(&number) + 3;
    let room = options.width.saturating_sub(margin).max(20);
    let (from, to) = window(text.len(), marked, room);
    let mut shown: String = text[from..to].iter().collect();
    if from > 0 {
        shown = format!("…{}", shown.chars().skip(1).collect::<String>());
    }
    if to < text.len() {
        shown.pop();
        shown.push('…');
    }
    let bar = |number: String| (Style::Blue, format!("{number} |"));
    let mut lines = vec![vec![
        bar(number.clone()),
        (Style::Plain, format!(" {shown}")),
    ]];
    if let Some((start, end)) = marked {
        let start = start.clamp(from, to.saturating_sub(1));
        let carets = "^".repeat(end.min(to).saturating_sub(start).max(1));
        let gap = " ".repeat(1 + start - from);
        lines.push(vec![
            bar(" ".repeat(width_of(&number))),
            (Style::Plain, gap),
            (style, carets),
        ]);
    }
    lines
}

/// The part of a line that fits, around what is marked.
fn window(length: usize, marked: Option<(usize, usize)>, room: usize) -> (usize, usize) {
    if length <= room {
        return (0, length);
    }
    let (start, end) = marked.unwrap_or((0, 0));
    let wanted = (start + end) / 2;
    let from = wanted.saturating_sub(room / 2).min(length - room);
    // The marked part begins in the window.
    let from = from.min(start.saturating_sub(1));
    (from, (from + room).min(length))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn carets_cover_the_only_access_to_an_array() {
        let of = |text: &str| subscripted(&text.chars().collect::<Vec<_>>(), "tile");
        assert_eq!(of("out[y] = tile[x][i[0]] + 1;"), Some((9, 22)));
        assert_eq!(of("tile[x] = tile[y];"), None);
        assert_eq!(of("subtile[x] = tiles[y] + tile;"), None);
        assert_eq!(of("tile[x"), Some((0, 6)));
    }

    #[test]
    fn long_lines_are_cut_around_carets() {
        assert_eq!(window(10, None, 20), (0, 10));
        assert_eq!(window(100, None, 20), (0, 20));
        assert_eq!(window(100, Some((50, 52)), 20), (41, 61));
        assert_eq!(window(100, Some((98, 99)), 20), (80, 100));
        assert_eq!(window(100, Some((10, 90)), 20), (9, 29));
    }
}
