//! Sends mutated PTX through the parser and reports what broke.
//!
//!     cargo run --release -p oriole-fuzz -- [--from N] [--count N] [--ssa] [--show N]
//!
//!     cargo build --release -p oriole-cli
//!     cargo run --release -p oriole-fuzz -- --commands [--oriole PATH] [--without COMMAND] [--from N] [--count N] [--jobs N]
//!
//! The second form sends inputs through every command, each call a process of its own; `--count` is the number of calls.
//! Inputs that parse go through all commands, the others through two, in turns; every eighth input is no text.
//!
//! Input N is always the same text; `--show N` writes it. One process examines its inputs one after the other, so that memory
//! can be measured; run several with different `--from` to use several cores.

#![forbid(unsafe_code)]
#![allow(clippy::print_stdout, clippy::print_stderr)]

use oriole_fuzz::commands::{self, Commands};
use oriole_fuzz::{MEMORY_FACTOR, MEMORY_FLOOR, Mutator, Verdict, examine, seeds};
use peak_alloc::PeakAlloc;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

#[global_allocator]
static ALLOCATOR: PeakAlloc = PeakAlloc;

/// An input that takes longer than this hangs: inputs have at most 64 KiB.
const LONGEST: Duration = Duration::from_secs(5);

fn main() -> ExitCode {
    let (mut from, mut count, mut through_ssa, mut show) = (0, 100_000, false, None);
    let (mut through_commands, mut jobs, mut oriole) = (false, 1, None);
    let mut without = None;
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let mut number = || arguments.next().and_then(|text| text.parse::<u64>().ok());
        match argument.as_str() {
            "--from" => from = number().unwrap_or(from),
            "--count" => count = number().unwrap_or(count),
            "--show" => show = number(),
            "--ssa" => through_ssa = true,
            "--commands" => through_commands = true,
            "--without" => without = arguments.next(),
            "--jobs" => jobs = number().unwrap_or(jobs),
            "--oriole" => oriole = arguments.next().map(PathBuf::from),
            _ => {
                eprintln!(
                    "usage: oriole-fuzz [--from N] [--count N] [--ssa] [--show N] [--commands] [--oriole PATH] [--without COMMAND] [--jobs N]"
                );
                return ExitCode::from(2);
            }
        }
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mutator = match seeds(&root) {
        Ok(seeds) => Mutator::new(seeds),
        Err(error) => {
            eprintln!("cannot read the corpus: {error}");
            return ExitCode::from(2);
        }
    };
    if let Some(number) = show {
        use std::io::Write;
        let written = std::io::stdout().write_all(&input_bytes(&mutator, number));
        return if written.is_ok() {
            ExitCode::SUCCESS
        } else {
            ExitCode::FAILURE
        };
    }
    if through_commands {
        let beside = || Some(std::env::current_exe().ok()?.with_file_name("oriole"));
        let Some(oriole) = oriole.or_else(beside).filter(|path| path.is_file()) else {
            eprintln!("there is no `oriole` beside this program: build it, or say --oriole");
            return ExitCode::from(2);
        };
        return run_commands(
            &mutator,
            &oriole,
            (from, count, jobs.max(1)),
            without.as_ref(),
        );
    }
    run(&mutator, from, count, through_ssa)
}

/// The bytes of an input: every eighth has some that are no text.
fn input_bytes(mutator: &Mutator, number: u64) -> Vec<u8> {
    let mut bytes = mutator.input(number).into_bytes();
    if number % 8 == 7 && !bytes.is_empty() {
        let mut state = number;
        for _ in 0..1 + number / 8 % 5 {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            let place = (state >> 33) as usize % bytes.len();
            bytes[place] = (state >> 25) as u8;
        }
    }
    bytes
}

/// Sends inputs through every command until so many calls were made.
fn run_commands(
    mutator: &Mutator,
    oriole: &Path,
    (from, count, jobs): (u64, u64, u64),
    without: Option<&String>,
) -> ExitCode {
    let folder = match tempfile::tempdir() {
        Ok(folder) => folder,
        Err(error) => {
            eprintln!("cannot make a folder: {error}");
            return ExitCode::from(2);
        }
    };
    let (next, calls, failures) = (AtomicU64::new(from), AtomicU64::new(0), AtomicU64::new(0));
    let start = Instant::now();
    std::thread::scope(|scope| {
        for job in 0..jobs {
            let commands = Commands::new(
                oriole,
                folder.path(),
                &format!("input{job}.ptx"),
                without.cloned(),
            );
            let (next, calls, failures) = (&next, &calls, &failures);
            scope.spawn(move || {
                while calls.load(Ordering::Relaxed) < count && failures.load(Ordering::Relaxed) < 50
                {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    let input = input_bytes(mutator, number);
                    let parses = std::str::from_utf8(&input)
                        .is_ok_and(|text| oriole::parse("input.ptx", text).is_ok());
                    let chosen = if parses { commands::COUNT } else { 2 };
                    for command in 0..chosen {
                        let command = (2 * number as usize + command) % commands::COUNT;
                        if commands.skips(command) {
                            continue;
                        }
                        calls.fetch_add(1, Ordering::Relaxed);
                        if let Err(failure) = commands.run(command, &input) {
                            failures.fetch_add(1, Ordering::Relaxed);
                            println!("input {number}: {failure}");
                        }
                    }
                }
            });
        }
    });
    let failures = failures.into_inner();
    println!(
        "{} calls on the inputs from {from} to {}, in {:.0?}: {failures} failures",
        calls.into_inner(),
        next.into_inner(),
        start.elapsed()
    );
    if failures == 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

fn run(mutator: &Mutator, from: u64, count: u64, through_ssa: bool) -> ExitCode {
    static CURRENT: AtomicU64 = AtomicU64::new(u64::MAX);
    static SINCE: AtomicU64 = AtomicU64::new(0);
    let start = Instant::now();
    // A hang cannot be caught, only seen from outside.
    std::thread::spawn(move || {
        loop {
            std::thread::sleep(Duration::from_secs(1));
            let since = Duration::from_millis(SINCE.load(Ordering::Relaxed));
            if CURRENT.load(Ordering::Relaxed) != u64::MAX
                && start.elapsed().saturating_sub(since) > 4 * LONGEST
            {
                eprintln!("input {}: hangs", CURRENT.load(Ordering::Relaxed));
                std::process::exit(1);
            }
        }
    });
    std::panic::set_hook(Box::new(|_| {}));
    let (mut parsed, mut failures, mut bytes) = (0u64, 0u64, 0u64);
    let (mut worst_memory, mut worst_time) = ((0.0, 0), (Duration::ZERO, 0));
    for number in from..from + count {
        let text = mutator.input(number);
        bytes += text.len() as u64;
        SINCE.store(start.elapsed().as_millis() as u64, Ordering::Relaxed);
        CURRENT.store(number, Ordering::Relaxed);
        ALLOCATOR.reset_peak_usage();
        let before = ALLOCATOR.current_usage();
        let parse = catch_unwind(|| drop(oriole_syntax::parse("input.ptx", text.as_str())));
        let memory = ALLOCATOR.peak_usage().saturating_sub(before);
        let begin = Instant::now();
        let verdict = catch_unwind(AssertUnwindSafe(|| examine(&text, through_ssa)));
        let time = begin.elapsed();
        if time > worst_time.0 {
            worst_time = (time, number);
        }
        let factor = memory.saturating_sub(MEMORY_FLOOR) as f64 / text.len().max(1) as f64;
        if factor > worst_memory.0 {
            worst_memory = (factor, number);
        }
        let failure = match (parse, verdict) {
            (Err(_), _) | (_, Err(_)) => Some("panics".to_owned()),
            (_, Ok(Err(failure))) => Some(failure),
            _ if memory > MEMORY_FACTOR * text.len() + MEMORY_FLOOR => Some(format!(
                "{memory} bytes of memory for {} bytes of text",
                text.len()
            )),
            _ if time > LONGEST => Some(format!("takes {time:?}")),
            (_, Ok(Ok(verdict))) => {
                parsed += u64::from(verdict == Verdict::Parsed);
                None
            }
        };
        if let Some(failure) = failure {
            failures += 1;
            println!("input {number}: {failure}");
            if failures >= 50 {
                break;
            }
        }
    }
    CURRENT.store(u64::MAX, Ordering::Relaxed);
    println!(
        "{count} inputs from {from}, {:.1} MB, {parsed} of them PTX, in {:.0?}: {failures} failures",
        bytes as f64 / 1e6,
        start.elapsed(),
    );
    println!(
        "most memory {:.1} bytes for a byte beyond the first {} KiB (input {}); longest {:.1?} (input {})",
        worst_memory.0,
        MEMORY_FLOOR >> 10,
        worst_memory.1,
        worst_time.0,
        worst_time.1,
    );
    if failures == 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}
