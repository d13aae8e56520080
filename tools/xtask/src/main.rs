//! Development chores that need no shell: `cargo xtask NAME`.

#![forbid(unsafe_code)]
#![allow(clippy::print_stdout, clippy::print_stderr)]

mod profile_guided;

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

const HELP: &str = "\
cargo xtask NAME

    deny        check licences, sources and advisories of dependencies with cargo-deny, if it is installed
    long-files  list source files over 900 lines
    profile-guided
                build target/profile-guided/oriole with what a run over the corpus showed of its branches; takes two builds
    packages    pack and build every crate as it would be published, with `cargo publish --dry-run`; needs the crates.io index
    outputs     check that the same input gives the same bytes twice, on one thread and on many
";

fn main() -> ExitCode {
    let name = std::env::args().nth(1).unwrap_or_default();
    let result = match name.as_str() {
        "deny" => deny(),
        "long-files" => long_files(),
        "packages" => packages(),
        "profile-guided" => profile_guided::profile_guided(),
        "outputs" => outputs(),
        _ => {
            print!("{HELP}");
            return ExitCode::from(if name.is_empty() || name == "help" {
                0
            } else {
                2
            });
        }
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("xtask: {message}");
            ExitCode::FAILURE
        }
    }
}

fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

fn deny() -> Result<(), String> {
    let installed = Command::new("cargo")
        .args(["deny", "--version"])
        .output()
        .is_ok_and(|output| output.status.success());
    if !installed {
        eprintln!("xtask: SKIPPED: cargo-deny is not installed (`cargo install cargo-deny`)");
        return Ok(());
    }
    let status = Command::new("cargo")
        .args(["deny", "check", "bans", "licenses", "sources"])
        .current_dir(root())
        .status()
        .map_err(|error| error.to_string())?;
    if status.success() {
        Ok(())
    } else {
        Err("cargo deny found something".to_owned())
    }
}

/// Packs every crate and builds it from what was packed: files outside of a crate are not there.
fn packages() -> Result<(), String> {
    let status = Command::new("cargo")
        .args([
            "publish",
            "--workspace",
            "--dry-run",
            "--allow-dirty",
            "--quiet",
        ])
        .current_dir(root())
        .status()
        .map_err(|error| error.to_string())?;
    if status.success() {
        Ok(())
    } else {
        Err("a crate cannot be published".to_owned())
    }
}

/// Adds the files below a folder whose names end so.
fn files_of(folder: &Path, extension: &str, files: &mut Vec<PathBuf>) -> Result<(), String> {
    let entries =
        std::fs::read_dir(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    for entry in entries {
        let path = entry.map_err(|error| error.to_string())?.path();
        if path.is_dir() {
            files_of(&path, extension, files)?;
        } else if path.extension().is_some_and(|own| own == extension) {
            files.push(path);
        }
    }
    Ok(())
}

fn long_files() -> Result<(), String> {
    let mut files = Vec::new();
    for folder in ["crates", "tools"] {
        files_of(&root().join(folder), "rs", &mut files)?;
    }
    files.sort();
    let mut long = 0;
    for file in files {
        let text = std::fs::read_to_string(&file).map_err(|error| error.to_string())?;
        let lines = text.lines().count();
        if lines > 900 {
            println!(
                "{lines:>6} {}",
                file.strip_prefix(root()).unwrap_or(&file).display()
            );
            long += 1;
        }
    }
    if long == 0 {
        Ok(())
    } else {
        Err(format!("{long} files are over 900 lines"))
    }
}

fn outputs() -> Result<(), String> {
    let run = |arguments: &[&str]| {
        let output = Command::new("cargo")
            .args(["run", "--quiet", "--release", "-p", "oriole-cli", "--"])
            .args(arguments)
            .current_dir(root())
            .output()
            .map_err(|error| error.to_string())?;
        Ok::<_, String>((output.stdout, output.stderr, output.status.code()))
    };
    let file = "tests/corpus/ptx/nvcc/sgemm.O0.sm_80.ptx";
    let bad = "tests/corpus/rejected";
    for arguments in [
        &["opt", file][..],
        &["dump", "--ssa", file],
        &["check", bad],
    ] {
        let one = run(&[&["-j", "1"], arguments].concat())?;
        let many = run(&[&["-j", "8"], arguments].concat())?;
        let again = run(&[&["-j", "8"], arguments].concat())?;
        if one.0.is_empty() && one.1.is_empty() {
            return Err(format!(
                "{arguments:?} printed nothing: there is nothing to compare"
            ));
        }
        if one != many || many != again {
            return Err(format!(
                "{arguments:?} gives different bytes in different runs"
            ));
        }
    }
    println!("same bytes in every run");
    Ok(())
}
