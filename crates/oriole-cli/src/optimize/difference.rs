//! What changed, as a unified diff of each function.

use oriole::Module;
use oriole_diagnostics::printable_text;
use oriole_syntax::print_function;
use similar::{ChangeTag, TextDiff};
use std::fmt::Write;

const RED: &str = "\x1b[31m";
const GREEN: &str = "\x1b[32m";
const CYAN: &str = "\x1b[36m";
const BOLD: &str = "\x1b[1m";
const RESET: &str = "\x1b[0m";

/// The functions that differ between two versions of a module; empty if none does.
pub fn functions(before: &Module, after: &Module, color: bool) -> String {
    let mut text = String::new();
    for (old, new) in before.functions.iter().zip(&after.functions) {
        if old.body.is_none() {
            continue;
        }
        let (left, right) = (print_function(before, old), print_function(after, new));
        if left != right {
            let name = before.text(old.name);
            unified(&mut text, name, &left, &right, color);
        }
    }
    text
}

fn unified(text: &mut String, name: &str, before: &str, after: &str, color: bool) {
    let paint = |code: &'static str| if color { code } else { "" };
    let reset = paint(RESET);
    let bold = paint(BOLD);
    let _ = writeln!(text, "{bold}--- {name} before{reset}");
    let _ = writeln!(text, "{bold}+++ {name} after{reset}");
    let diff = TextDiff::from_lines(before, after);
    for hunk in diff.unified_diff().context_radius(3).iter_hunks() {
        let _ = writeln!(text, "{}{}{reset}", paint(CYAN), hunk.header());
        for change in hunk.iter_changes() {
            let (sign, code) = match change.tag() {
                ChangeTag::Equal => (' ', ""),
                ChangeTag::Delete => ('-', RED),
                ChangeTag::Insert => ('+', GREEN),
            };
            let line = printable_text(change.value().trim_end_matches('\n'));
            let (start, end) = if code.is_empty() {
                ("", "")
            } else {
                (paint(code), reset)
            };
            let _ = writeln!(text, "{start}{sign}{line}{end}");
        }
    }
}
