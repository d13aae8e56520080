//! Builds the command with what a run over the corpus showed of its branches (profile-guided optimization).
//!
//! It is built twice: once so that it counts, which then reads, optimizes and analyzes the corpus, and once more with what was counted. What it
//! writes is the same as ever; it takes less time.

use super::root;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// What the counting build is run with: as users run it, on one thread, so that counts do not depend on threads.
const RUNS: &[&[&str]] = &[&["opt", "-O2"], &["opt", "-O3"], &["analyze"], &["check"]];

pub fn profile_guided() -> Result<(), String> {
    let (profdata, host) = (profdata()?, host()?);
    let folder = root().join("target/profile-guided");
    let counts = folder.join("counts");
    // Counts of another program would be taken for this one's.
    let _ = std::fs::remove_dir_all(&counts);
    let counting = build(
        &folder,
        &host,
        &format!("-Cprofile-generate={}", counts.display()),
    )?;
    train(&counting)?;
    let merged = folder.join("oriole.profdata");
    run(Command::new(profdata)
        .arg("merge")
        .arg("-o")
        .arg(&merged)
        .arg(&counts))?;
    let built = build(
        &folder,
        &host,
        &format!("-Cprofile-use={}", merged.display()),
    )?;
    let result = root().join("target/profile-guided/oriole");
    std::fs::copy(&built, &result).map_err(|error| error.to_string())?;
    println!("target/profile-guided/oriole");
    Ok(())
}

/// The tool that merges counts: what `LLVM_PROFDATA` names, or the toolchain's own. One of another version may not read them, and then says so.
fn profdata() -> Result<PathBuf, String> {
    if let Some(tool) = std::env::var_os("LLVM_PROFDATA") {
        return Ok(PathBuf::from(tool));
    }
    let libraries = output(Command::new("rustc").args(["--print", "target-libdir"]))?;
    let tool = Path::new(libraries.trim())
        .with_file_name("bin")
        .join("llvm-profdata");
    match tool.is_file() {
        true => Ok(tool),
        false => Err(
            "there is no llvm-profdata: `rustup component add llvm-tools`, or name one by LLVM_PROFDATA"
                .to_owned(),
        ),
    }
}

fn host() -> Result<String, String> {
    let version = output(Command::new("rustc").arg("-vV"))?;
    let host = version.lines().find_map(|line| line.strip_prefix("host: "));
    host.map(str::to_owned)
        .ok_or_else(|| "rustc does not say what it runs on".to_owned())
}

/// Builds the command with these flags; gives its path. With a target named, they do not reach what runs while it is built.
fn build(folder: &Path, host: &str, flags: &str) -> Result<PathBuf, String> {
    run(Command::new("cargo")
        .args([
            "build",
            "--profile",
            "dist",
            "-p",
            "oriole-cli",
            "--target",
            host,
        ])
        .env("RUSTFLAGS", flags)
        .env("CARGO_TARGET_DIR", folder)
        .current_dir(root()))?;
    Ok(folder.join(host).join("dist/oriole"))
}

/// Runs the counting build over the corpus.
fn train(program: &Path) -> Result<(), String> {
    let mut files = Vec::new();
    super::files_of(&root().join("tests/corpus/ptx"), "ptx", &mut files)?;
    files.sort();
    for file in &files {
        for arguments in RUNS {
            let mut command = Command::new(program);
            command.args(["-j", "1"]).args(*arguments).arg(file);
            // Findings make it fail, which is no matter here.
            let status = command.stdout(Stdio::null()).stderr(Stdio::null()).status();
            status.map_err(|error| format!("{}: {error}", program.display()))?;
        }
    }
    Ok(())
}

fn run(command: &mut Command) -> Result<(), String> {
    let status = command.status().map_err(|error| error.to_string())?;
    match status.success() {
        true => Ok(()),
        false => Err(format!("{command:?} failed")),
    }
}

fn output(command: &mut Command) -> Result<String, String> {
    let output = command.output().map_err(|error| error.to_string())?;
    String::from_utf8(output.stdout).map_err(|error| error.to_string())
}
