//! Runs every file under `tests/files` as a test of its own; see the documentation of `oriole_filetests`.

use libtest_mimic::{Arguments, Failed, Trial};
use oriole_filetests::{Kind, Mode, TestFile, collect, run};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/files");
    let files = match collect(&root) {
        Ok(files) => files,
        Err(error) => panic!("{}: {error}", root.display()),
    };
    let mode = Mode::from_environment();
    let mut trials: Vec<Trial> = files
        .iter()
        .map(|path| {
            let name = path
                .strip_prefix(&root)
                .unwrap_or(path)
                .with_extension("")
                .display()
                .to_string();
            let path = path.clone();
            Trial::test(name, move || run(&path, mode).map_err(Failed::from))
        })
        .collect();
    let count = files.len();
    let failing: Vec<PathBuf> = files
        .into_iter()
        .filter(|path| path.starts_with(root.join("failing")))
        .collect();
    trials.push(Trial::test("failing twins exist", move || {
        every_kind_can_fail(&failing, count)
    }));
    let findings = root.join("findings");
    trials.push(Trial::test("every knob has a test", move || {
        every_knob_has_a_test(&root.join("knobs"))
    }));
    trials.push(Trial::test("every finding has its tests", move || {
        every_finding_has_tests(&findings)
    }));
    libtest_mimic::run(&arguments, trials).exit_code()
}

/// Each knob has a file in which it changes the result.
fn every_knob_has_a_test(folder: &Path) -> Result<(), Failed> {
    for knob in oriole_opt::KNOBS {
        let path = folder.join(knob.name).with_extension("ptx");
        let text = std::fs::read_to_string(&path)
            .map_err(|error| format!("{}: {error}", path.display()))?;
        let file = TestFile::parse(&text)?;
        let last = file.header.knobs.last().map_or("", String::as_str);
        if last.split('=').next() != Some(knob.name) {
            return Err(format!("{}: its last knob is another one", path.display()).into());
        }
    }
    Ok(())
}

/// Each kind of finding has a page with all its parts, a file in which it is found, and one in which it is not.
fn every_finding_has_tests(folder: &Path) -> Result<(), Failed> {
    for kind in oriole::FindingKind::ALL {
        let name = kind.text();
        let page = kind.page();
        let has_parts = ["**Why it ", "**Example.**", "**How to fix it.**"]
            .iter()
            .all(|part| page.contains(part));
        if !page.starts_with(&format!("# {name}\n\n")) || !has_parts {
            return Err(format!("the page of {name} lacks a part").into());
        }
        for (suffix, is_found) in [("", true), (".false", false)] {
            let path = folder.join(format!("{name}{suffix}.ptx"));
            let text = std::fs::read_to_string(&path)
                .map_err(|error| format!("{}: {error}", path.display()))?;
            let file = TestFile::parse(&text)?;
            let says = file.facts.iter().any(|fact| {
                let mut words = fact.text.split([' ', ':']);
                words.nth(1) == Some(name)
            });
            if file.header.kind != Kind::Findings || says != is_found {
                return Err(format!("{}: says otherwise", path.display()).into());
            }
        }
    }
    Ok(())
}

/// Each kind has a file that must fail, and so has each kind of expectation.
fn every_kind_can_fail(failing: &[PathBuf], count: usize) -> Result<(), Failed> {
    if count < 100 {
        return Err(format!("only {count} files were found").into());
    }
    let mut kinds = Vec::new();
    let mut announced = String::new();
    for path in failing {
        let text = std::fs::read_to_string(path)?;
        let file = TestFile::parse(&text)?;
        let fails = file
            .header
            .fails
            .ok_or_else(|| format!("{}: announces no failure", path.display()))?;
        announced.push_str(&fails);
        announced.push('\n');
        kinds.push(file.header.kind);
    }
    for kind in Kind::ALL {
        if !kinds.contains(&kind) {
            return Err(format!("no file under failing/ is of kind {kind:?}").into());
        }
    }
    for part in [
        "not expected: ",
        "expected but not said: ",
        "printing changes tokens",
        "printing changes comments",
        "into SSA form and out",
        "section output",
        "section diff",
        "section unchanged",
        "section stats",
        "section remarks",
        "section knobs",
        "the last of the knobs changes nothing",
        "section diagnostics",
        "is missing",
        "runs otherwise: ",
        "cannot be run, and `not_run` does not say why",
        "is in `not_run`, but it runs",
        "is in `not_run`, but there is no such function",
    ] {
        if !announced.contains(part) {
            return Err(format!("no file under failing/ fails with `{part}`").into());
        }
    }
    Ok(())
}
