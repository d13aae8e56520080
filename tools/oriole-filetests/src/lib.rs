//! File tests: a PTX file, or functions in SSA form, that say, in comments, what Oriole must say about them.
//!
//! ## Format
//! A file starts with a TOML header in `//!` lines ([`Header`]); `kind` says what is done with the file:
//!
//! | kind | what is done | what is expected |
//! |---|---|---|
//! | `syntax` | parse; print; parse again | diagnostics; the same tokens and comments |
//! | `check` | also resolve names, go into SSA form, verify, and out again | diagnostics; the same tokens |
//! | `ssa` | also show the SSA form | section `output` |
//! | `live` | also show where registers are live | section `output` |
//! | `opt` | run passes | sections `output`, `diff` or `unchanged`, `stats`, `remarks` |
//! | `scev` | also ask ScalarEvolution | `trips:` and `scev:` facts |
//! | `analyze` | also count what accesses cost | `coalescing:`, `banks:`, `array:`, `waste:`, `strides:`, `fix:` and `dependence:` facts |
//! | `findings` | also look for what is wrong | `high bank-conflict:` and such facts |
//! | `pass` | read functions in SSA form (`oriole_ir::text`) and run passes on them, without PTX | the same, in SSA form |
//!
//! **Facts** stand on their line: `//~ error[expected-operand] 14: expected an operand, found …` says that there is an
//! error in column 14 of the line. `//~^` means the line above, `//~^^` the one above that. Facts are complete: what is said
//! without a fact fails the test, as does a fact that is not said. `//~ trips: taken 9 times` is how often the back edge of the loop that
//! starts on the line is taken, `//~ scev: %r1 = {0,+,1}<$L> in u[0, 9]` what an integer that is computed there is.
//!
//! **Sections** stand at the end: a line `//= output` and the expected text in `//|` lines. `diff` is the change of the printed
//! text, `unchanged` says that there is none, `stats` are the counters of the passes, `remarks` says each rewrite and
//! why, `diagnostics` is what a user sees.
//!
//! **Execution.** Each function of an `opt` or `pass` test runs in the emulator before and after the passes. The inputs
//! are full of edge values; whole blocks run, and threads alone ([`oriole::VerifyOptions::thorough`]). Both versions must leave the
//! same bytes, also where expectations are rewritten. Kernels are made for functions that nothing calls, and PTX is made of functions in SSA form.
//! Functions that cannot run are in the header with the reason, `not_run.kernel = "…"`; one that can run must not be there.
//! `runs_as` replaces an unknown instruction by a known one, for the runs only.
//!
//! Header, facts and sections are blanked out before Oriole reads the file, so that they are no part of what is tested.
//!
//! `ORIOLE_BLESS=1` rewrites facts and sections to what Oriole says. Read the difference before you commit it.
//!
//! ## Failing twins
//! A file under `failing/` announces the failure it must have: `fails = "…"`. They prove that each kind of test can fail.
//! A file whose name starts with `known_` expects an output that Oriole does not give yet. Once it does, the file moves to `opt/`.

#![forbid(unsafe_code)]

mod execution;
mod kinds;
mod ssa_as_ptx;
mod test_file;

pub use execution::{Runnable, runnable};
pub use kinds::Kind;
pub use ssa_as_ptx::items;
pub use test_file::{Fact, Header, Section, SectionName, TestFile};

use std::path::{Path, PathBuf};

/// What a test did and said.
#[derive(Debug, Default)]
pub struct Outcome {
    /// Facts about lines.
    pub facts: Vec<Fact>,
    /// The text of every section this kind can check.
    pub sections: Vec<Section>,
    /// What is wrong whatever the file expects, such as tokens that were lost.
    pub failures: Vec<String>,
}

/// Whether expectations are checked or rewritten.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Differences are failures.
    Check,
    /// Differences are written to the file.
    Bless,
}

impl Mode {
    /// `Bless` if `ORIOLE_BLESS` is set to anything but `0`.
    pub fn from_environment() -> Mode {
        match std::env::var("ORIOLE_BLESS") {
            Ok(value) if !value.is_empty() && value != "0" => Mode::Bless,
            _ => Mode::Check,
        }
    }
}

/// All `.ptx` and `.ssa` files under a folder, in order.
///
/// # Errors
/// If the folder cannot be read.
pub fn collect(folder: &Path) -> std::io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder)? {
            let path = entry?.path();
            if path.is_dir() {
                folders.push(path);
            } else if path
                .extension()
                .is_some_and(|extension| extension == "ptx" || extension == "ssa")
            {
                files.push(path);
            }
        }
    }
    files.sort();
    Ok(files)
}

/// Runs one file. `Err` says what is wrong, one finding a line.
///
/// # Errors
/// What is wrong with the file's header, and how expectations and outcome differ.
pub fn run(path: &Path, mode: Mode) -> Result<(), String> {
    let text = std::fs::read_to_string(path).map_err(|error| error.to_string())?;
    let file = TestFile::parse(&text)?;
    let outcome = kinds::run(&file);
    let failures = differences(&file, &outcome);
    if let Some(announced) = &file.header.fails {
        let found = failures.join("\n");
        return match found == announced.trim_end() {
            true => Ok(()),
            false => Err(format!(
                "announced to fail with\n{announced}\nbut {}",
                if found.is_empty() {
                    "passed".to_owned()
                } else {
                    format!("failed with\n{found}")
                }
            )),
        };
    }
    if file.header.sabotage.is_some() {
        return Err("`sabotage` is for files that announce a failure".to_owned());
    }
    if failures.is_empty() {
        return Ok(());
    }
    if mode == Mode::Bless && outcome.failures.is_empty() {
        let blessed = file.bless(&outcome);
        return write_atomically(path, &blessed).map_err(|error| error.to_string());
    }
    Err(failures.join("\n"))
}

/// How an outcome differs from what a file expects, one finding a string.
fn differences(file: &TestFile, outcome: &Outcome) -> Vec<String> {
    let mut failures = outcome.failures.clone();
    let mut missing = file.facts.clone();
    for fact in &outcome.facts {
        match missing.iter().position(|expected| expected == fact) {
            Some(found) => {
                missing.swap_remove(found);
            }
            None => failures.push(format!("line {}: not expected: {}", fact.line, fact.text)),
        }
    }
    missing.sort();
    for fact in missing {
        failures.push(format!(
            "line {}: expected but not said: {}",
            fact.line, fact.text
        ));
    }
    for expected in &file.sections {
        match outcome
            .sections
            .iter()
            .find(|section| section.name == expected.name)
        {
            None => failures.push(format!(
                "section {}: {}",
                expected.name,
                match expected.name {
                    SectionName::Unchanged => "the output differs from the input",
                    SectionName::Diff => "the output is the input: expected `unchanged`",
                    _ => "not given by this kind of test",
                }
            )),
            Some(found) if found.text != expected.text => {
                failures.push(first_difference(expected.name, &expected.text, &found.text))
            }
            Some(_) => {}
        }
    }
    if outcome.facts.is_empty() {
        for name in kinds::required(file.header.kind) {
            if !file
                .sections
                .iter()
                .any(|section| name.contains(&section.name))
            {
                let names: Vec<String> = name.iter().map(|name| name.to_string()).collect();
                failures.push(format!("section {} is missing", names.join(" or ")));
            }
        }
    }
    failures
}

fn first_difference(name: SectionName, expected: &str, found: &str) -> String {
    let (mut left, mut right) = (expected.lines(), found.lines());
    let mut line = 1;
    loop {
        match (left.next(), right.next()) {
            (Some(left), Some(right)) if left == right => line += 1,
            (left, right) => {
                let show = |line: Option<&str>| {
                    line.map_or("nothing".to_owned(), |line| format!("`{}`", line.trim()))
                };
                return format!(
                    "section {name}: line {line} differs: expected {}, found {}",
                    show(left),
                    show(right)
                );
            }
        }
    }
}

/// Writes a file so that it has either its old or its new contents, whatever happens.
fn write_atomically(path: &Path, text: &str) -> std::io::Result<()> {
    let mut temporary = path.as_os_str().to_owned();
    temporary.push(format!(".{}.new", std::process::id()));
    std::fs::write(&temporary, text)?;
    std::fs::rename(&temporary, path)
}
