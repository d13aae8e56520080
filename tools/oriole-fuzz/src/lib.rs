//! Wrong PTX without end: mutations of real files, and what must hold for every text whatever it says.
//!
//! [`Mutator`] makes the n-th input from a seed, always the same one. [`examine`] reads it and tells what broke. Memory is
//! for the program to measure, since only a program has an allocator: see `main.rs` and `tests/smoke.rs`.

#![forbid(unsafe_code)]

pub mod commands;
mod mutator;

pub use mutator::Mutator;

use oriole_diagnostics::{ColorChoice, Source, render};
use oriole_syntax::scopes::{Globals, resolve};
use std::path::Path;

/// Bytes of memory that parsing may take for each byte of text.
pub const MEMORY_FACTOR: usize = 64;

/// Bytes that it may take besides: the errors of a short text are longer than the text.
pub const MEMORY_FLOOR: usize = 128 << 10;

/// The real files that inputs are made from: the corpus and the file tests, in order.
///
/// # Errors
/// If a folder or file cannot be read.
pub fn seeds(root: &Path) -> std::io::Result<Vec<String>> {
    let mut paths = oriole_corpus::try_below(&root.join("tests/corpus/ptx"))?;
    paths.extend(oriole_corpus::try_below(&root.join("tests/files"))?);
    let mut texts = Vec::new();
    for path in paths {
        texts.push(String::from_utf8_lossy(&std::fs::read(path)?).into_owned());
    }
    Ok(texts)
}

/// What a text was found to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It is PTX to the parser.
    Parsed,
    /// It is not, and the parser said why.
    Refused,
}

/// Reads a text and checks what holds for all of them. `through_ssa` also sends what parses into SSA form.
///
/// # Errors
/// What broke. Panics are for the caller to catch.
pub fn examine(text: &str, through_ssa: bool) -> Result<Verdict, String> {
    let (module, errors) = oriole_syntax::parse("input.ptx", text);
    if !errors.is_empty() {
        let source = Source::new("input.ptx", text);
        for error in errors.iter().take(3) {
            if render(&source, error, ColorChoice::Never).is_empty() {
                return Err("a diagnostic without words".to_owned());
            }
        }
        return Ok(Verdict::Refused);
    }
    let printed = oriole_syntax::print(&module);
    let (mut left, mut right) = (oriole_syntax::tokens(text), oriole_syntax::tokens(&printed));
    loop {
        match (left.next(), right.next()) {
            (None, None) => break,
            (left, right) if left == right => {}
            (left, right) => return Err(format!("printing changes {left:?} to {right:?}")),
        }
    }
    if oriole_syntax::comments(text) != oriole_syntax::comments(&printed) {
        return Err("printing changes comments".to_owned());
    }
    let (again, errors) = oriole_syntax::parse("printed.ptx", printed.as_str());
    if let Some(error) = errors.first() {
        return Err(format!("the printed text is refused: {}", error.message));
    }
    if oriole_syntax::print(&again) != printed {
        return Err("printing again gives another text".to_owned());
    }
    let (globals, _) = Globals::of(&module);
    for function in &module.functions {
        if function.body.is_some() {
            resolve(&module, &globals, function);
        }
    }
    if through_ssa {
        oriole::check(&module);
    }
    Ok(Verdict::Parsed)
}
