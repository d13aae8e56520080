//! Sends mutated PTX through the parser and reports what broke.
//!
//!     cargo run --release -p oriole-fuzz -- [--from N] [--count N] [--ssa] [--show N]
//!
//! Input N is always the same text; `--show N` writes it. One process examines its inputs one after the other, so that memory
//! can be measured; run several with different `--from` to use several cores.

#![forbid(unsafe_code)]
#![allow(clippy::print_stdout, clippy::print_stderr)]

use oriole_fuzz::{MEMORY_FACTOR, MEMORY_FLOOR, Mutator, Verdict, examine, seeds};
use peak_alloc::PeakAlloc;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

#[global_allocator]
static ALLOCATOR: PeakAlloc = PeakAlloc;

/// An input that takes longer than this hangs: inputs have at most 64 KiB.
const LONGEST: Duration = Duration::from_secs(5);

fn main() -> ExitCode {
    let (mut from, mut count, mut through_ssa, mut show) = (0, 100_000, false, None);
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let mut number = || arguments.next().and_then(|text| text.parse::<u64>().ok());
        match argument.as_str() {
            "--from" => from = number().unwrap_or(from),
            "--count" => count = number().unwrap_or(count),
            "--show" => show = number(),
            "--ssa" => through_ssa = true,
            _ => {
                eprintln!("usage: oriole-fuzz [--from N] [--count N] [--ssa] [--show N]");
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
        print!("{}", mutator.input(number));
        return ExitCode::SUCCESS;
    }
    run(&mutator, from, count, through_ssa)
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
