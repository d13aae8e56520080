//! Oriole's time against that of `ptxas -O3` on the same files, process against process.

use crate::clock;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

/// How many times slower `ptxas` is to be: on all files, and on those with more bytes than this.
const BARS: [(&str, u64, f64); 2] = [("files", 0, 20.0), ("files above 50 KB", 50_000, 30.0)];

/// What the child does: the work of `oriole opt FILE -o /dev/null`.
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
    ExitCode::SUCCESS
}

/// How long a program took.
#[derive(Clone, Copy)]
struct Times {
    processor: Duration,
    elapsed: Duration,
}

impl Times {
    const NONE: Times = Times {
        processor: Duration::ZERO,
        elapsed: Duration::ZERO,
    };

    fn plus(self, other: Times) -> Times {
        Times {
            processor: self.processor + other.processor,
            elapsed: self.elapsed + other.elapsed,
        }
    }

    fn best(self, other: Times) -> Times {
        Times {
            processor: self.processor.min(other.processor),
            elapsed: self.elapsed.min(other.elapsed),
        }
    }
}

/// A file that both can read, its size, and how long each took.
struct Measured {
    path: PathBuf,
    bytes: u64,
    theirs: Times,
    ours: Times,
}

/// Prints the comparison; whether the bars are reached, which they are without a `ptxas` to compare with.
pub fn compare(rounds: usize) -> bool {
    let (Some(ptxas), Ok(program)) = (std::env::var_os("ORIOLE_PTXAS"), std::env::current_exe())
    else {
        println!("\nptxas -O3: not measured: ORIOLE_PTXAS is not set");
        return true;
    };
    let files = oriole_corpus::files();
    let measured: Vec<Measured> = files
        .iter()
        .filter_map(|path| one_file(path, &ptxas, &program, rounds.clamp(1, 9)))
        .collect();
    let mut reached = true;
    for (name, least, bar) in BARS {
        let files: Vec<&Measured> = measured.iter().filter(|it| it.bytes > least).collect();
        reached &= report(name, bar, &files);
    }
    reached
}

/// Prints the comparison on some files; whether the bar is reached in the time that a user waits.
fn report(name: &str, bar: f64, files: &[&Measured]) -> bool {
    let sum = |of: fn(&Measured) -> Times| {
        let times = files.iter().map(|measured| of(measured));
        times.fold(Times::NONE, Times::plus)
    };
    let (theirs, ours) = (sum(|it| it.theirs), sum(|it| it.ours));
    let ratio = |theirs: Duration, ours: Duration| theirs.as_secs_f64() / ours.as_secs_f64();
    let elapsed = |it: &Measured| ratio(it.theirs.elapsed, it.ours.elapsed);
    let Some(worst) = files
        .iter()
        .min_by(|a, b| elapsed(a).total_cmp(&elapsed(b)))
    else {
        println!("\nptxas -O3: no {name}");
        return false;
    };
    let reached = ratio(theirs.elapsed, ours.elapsed) >= bar;
    let milliseconds = |time: Duration| time.as_secs_f64() * 1e3;
    println!(
        "\nptxas -O3 on {} {name}: {:.0} ms, opt -O2: {:.0} ms, {:.1} times less, {} the bar of {bar}; \
         processor time: {:.0} ms, {:.0} ms, {:.1} times less; at worst {:.1} times less ({})",
        files.len(),
        milliseconds(theirs.elapsed),
        milliseconds(ours.elapsed),
        ratio(theirs.elapsed, ours.elapsed),
        if reached { "above" } else { "BELOW" },
        milliseconds(theirs.processor),
        milliseconds(ours.processor),
        ratio(theirs.processor, ours.processor),
        elapsed(worst),
        worst.path.file_name().unwrap_or_default().to_string_lossy(),
    );
    reached
}

/// The times of both on one file, the best of some rounds, in turn.
fn one_file(path: &Path, ptxas: &OsStr, program: &Path, rounds: usize) -> Option<Measured> {
    let text = std::fs::read_to_string(path).ok()?;
    let bytes = text.len() as u64;
    let module = oriole::parse("file.ptx", text).ok()?;
    let target = format!("-arch={}", module.target()?);
    let separate = path.to_string_lossy().contains(".rdc.");
    let mut assemble = Command::new(ptxas);
    assemble
        .args(["-O3", &target, "-o", "/dev/null"])
        .args(separate.then_some("-c"))
        .arg(path);
    let mut optimize = Command::new(program);
    optimize.arg("--file").arg(path);
    let (mut theirs, mut ours) = (timed(&mut assemble)?, timed(&mut optimize)?);
    for _ in 1..rounds {
        theirs = theirs.best(timed(&mut assemble)?);
        ours = ours.best(timed(&mut optimize)?);
    }
    Some(Measured {
        path: path.to_owned(),
        bytes,
        theirs,
        ours,
    })
}

/// How long a program takes, unless it fails.
fn timed(command: &mut Command) -> Option<Times> {
    let (start, before) = (Instant::now(), clock::of_children());
    let status = command
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .ok()?;
    let times = Times {
        processor: clock::of_children() - before,
        elapsed: start.elapsed(),
    };
    status.success().then_some(times)
}
