//! Oriole's time against that of `ptxas -O3` on the same files, process against process.

use crate::clock;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::time::Duration;

/// The part of the time of `ptxas` that Oriole may take.
const BAR: f64 = 1.0 / 20.0;

/// What the child does: the work of `oriole opt FILE -o /dev/null`. Prints how long the process took, its start included.
pub fn optimize_file(path: &str) -> ExitCode {
    let Ok(text) = std::fs::read_to_string(path) else {
        return ExitCode::from(2);
    };
    let Ok(mut module) = oriole::parse(path, text) else {
        return ExitCode::from(2);
    };
    if oriole::optimize(&mut module, &oriole::Options::default()).is_err() {
        return ExitCode::from(2);
    }
    std::hint::black_box(oriole::print(&module));
    println!("{}", clock::now().as_nanos());
    ExitCode::SUCCESS
}

/// Prints the comparison; whether the bar is reached, which it is without a `ptxas` to compare with.
pub fn compare(rounds: usize) -> bool {
    let (Some(ptxas), Ok(program)) = (std::env::var_os("ORIOLE_PTXAS"), std::env::current_exe())
    else {
        println!("\nptxas -O3: not measured: ORIOLE_PTXAS is not set");
        return true;
    };
    let (mut files, mut theirs, mut ours) = (0, Duration::ZERO, Duration::ZERO);
    let mut worst: (f64, String) = (0.0, String::new());
    for path in &oriole_corpus::files() {
        let Some((one, other)) = one_file(path, &ptxas, &program, rounds.clamp(1, 3)) else {
            continue;
        };
        files += 1;
        theirs += one;
        ours += other;
        let ratio = other.as_secs_f64() / one.as_secs_f64();
        if ratio > worst.0 {
            let name = path.file_name().unwrap_or_default();
            worst = (ratio, name.to_string_lossy().into_owned());
        }
    }
    let ratio = ours.as_secs_f64() / theirs.as_secs_f64();
    println!(
        "\nptxas -O3 on {files} files: {:.0} ms, opt -O2: {:.0} ms: 1/{:.0}, {} its bar of 1/{:.0}; at worst 1/{:.0} ({})",
        theirs.as_secs_f64() * 1e3,
        ours.as_secs_f64() * 1e3,
        1.0 / ratio,
        if ratio <= BAR { "below" } else { "ABOVE" },
        1.0 / BAR,
        1.0 / worst.0,
        worst.1
    );
    ratio <= BAR
}

/// The times of both on one file.
fn one_file(
    path: &Path,
    ptxas: &std::ffi::OsStr,
    program: &Path,
    rounds: usize,
) -> Option<(Duration, Duration)> {
    let text = std::fs::read_to_string(path).ok()?;
    let module = oriole::parse("file.ptx", text).ok()?;
    let target = format!("-arch={}", module.target()?);
    let separate = path.to_string_lossy().contains(".rdc.");
    let start = clock::of_children();
    for _ in 0..rounds {
        let status = Command::new(ptxas)
            .args(["-O3", &target, "-o", "/dev/null"])
            .args(separate.then_some("-c"))
            .arg(path)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .ok()?;
        if !status.success() {
            return None;
        }
    }
    let theirs = (clock::of_children() - start) / rounds as u32;
    let mut ours = Duration::MAX;
    for _ in 0..rounds {
        let output = Command::new(program)
            .arg("--file")
            .arg(path)
            .output()
            .ok()?;
        let nanoseconds = String::from_utf8(output.stdout).ok()?.trim().parse().ok()?;
        ours = ours.min(Duration::from_nanos(nanoseconds));
    }
    Some((theirs, ours))
}
