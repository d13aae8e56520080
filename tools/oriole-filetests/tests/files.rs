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
    libtest_mimic::run(&arguments, trials).exit_code()
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
        "section diagnostics",
        "is missing",
    ] {
        if !announced.contains(part) {
            return Err(format!("no file under failing/ fails with `{part}`").into());
        }
    }
    Ok(())
}
