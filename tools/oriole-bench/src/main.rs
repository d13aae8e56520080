//! Times Oriole on large PTX.
//!
//!     cargo run --profile dist -p oriole-bench -- [--megabytes N] [--rounds N] [--all] [--only NAME] [--write FILE]
//!
//! Benchmarks take turns, so that a slow moment of the machine hits all of them; the fastest round counts. Every benchmark
//! also runs on a tenth of the file: time must grow with the size, not faster. With `ORIOLE_PTXAS` set, files of the corpus are
//! also given to `ptxas -O3`: it must be at least 20 times slower, and 30 times on files above 50 KB. Times are processor times where there
//! are such; of `ptxas` and Oriole the time that passes too, as Oriole uses all cores.

#![forbid(unsafe_code)]
#![allow(clippy::print_stdout, clippy::print_stderr)]

use oriole_bench::{BENCHMARKS, Benchmark, Mix, Prepared, SHAPES, Shape, clock, large_file, ptxas};
use oriole_collections::recycling::Recycling;
use std::hint::black_box;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

/// The command's.
#[global_allocator]
static ALLOCATOR: Recycling = Recycling;

fn time(benchmark: &Benchmark, prepared: &Prepared) -> Duration {
    let start = clock::now();
    black_box((benchmark.run)(black_box(prepared)));
    clock::now() - start
}

/// What hard functions are measured with.
const ON_HARD_FUNCTIONS: [&str; 2] = ["round trip", "opt -O2"];

/// A benchmark on a shape, timed once: the child's side of [`in_a_new_process`].
fn once(name: &str, shape: &Shape, size: usize) -> Option<Duration> {
    let benchmark = BENCHMARKS.iter().find(|benchmark| benchmark.name == name)?;
    Some(time(benchmark, &Prepared::new((shape.make)(size))))
}

/// A benchmark on a shape in a process of its own, the best of some: memory a process has used before is cheaper than new
/// memory, and a small function would find it where a large one does not.
fn in_a_new_process(name: &str, index: usize, size: usize, rounds: usize) -> Option<Duration> {
    let program = std::env::current_exe().ok()?;
    (0..rounds)
        .map(|_| {
            let output = std::process::Command::new(&program)
                .args(["--shape", name, &index.to_string(), &size.to_string()])
                .output()
                .ok()?;
            let nanoseconds = String::from_utf8(output.stdout).ok()?.trim().parse().ok()?;
            Some(Duration::from_nanos(nanoseconds))
        })
        .min()
        .flatten()
}

/// Single hard functions and ones a tenth as large: ten times the size, at most eleven times the time.
fn hard_functions(name: &str, rounds: usize) -> bool {
    println!("\n{name} of one function, each time in a new process");
    let mut reached = true;
    for (index, shape) in SHAPES.iter().enumerate() {
        let rounds = rounds.clamp(1, 7);
        let (Some(large), Some(small)) = (
            in_a_new_process(name, index, shape.size, rounds),
            in_a_new_process(name, index, shape.size / 10, rounds),
        ) else {
            println!("{:40} FAILED", shape.name);
            reached = false;
            continue;
        };
        let made = Prepared::new((shape.make)(shape.size));
        let (bytes, small_bytes) = (made.text.len(), (shape.make)(shape.size / 10).len());
        let growth = large.as_secs_f64() / small.as_secs_f64() * small_bytes as f64 / bytes as f64;
        let linear = growth <= 1.1;
        reached &= linear;
        println!(
            "{:40} {:7.1} MB/s  {:6.0} thousand instructions/s  {:8.2} ms  growth {growth:4.2}{}",
            shape.name,
            bytes as f64 / 1e6 / large.as_secs_f64(),
            made.instructions() as f64 / 1e3 / large.as_secs_f64(),
            large.as_secs_f64() * 1e3,
            if linear {
                ""
            } else {
                "  ABOVE its bar of 1.10"
            }
        );
    }
    reached
}

/// Prints the times of benchmarks on a large and a small file; whether all reached their bars.
fn report(
    chosen: &[&Benchmark],
    best: &[(Duration, Duration)],
    large: &Prepared,
    small: &Prepared,
    rounds: usize,
) -> bool {
    println!(
        "{:.1} MB against {:.1} MB, the best of {rounds} rounds",
        large.text.len() as f64 / 1e6,
        small.text.len() as f64 / 1e6
    );
    let mut reached = true;
    for (benchmark, (time, small_time)) in chosen.iter().zip(best.iter().copied()) {
        let rate = large.text.len() as f64 / 1e6 / time.as_secs_f64();
        // 1 where time grows as the size does.
        let growth = time.as_secs_f64() / small_time.as_secs_f64() * small.text.len() as f64
            / large.text.len() as f64;
        let bar = match benchmark.bar {
            Some(bar) if rate < bar => {
                reached = false;
                format!("BELOW its bar of {bar} MB/s")
            }
            Some(bar) => format!("above its bar of {bar} MB/s"),
            None => String::new(),
        };
        println!(
            "{:14} {rate:7.1} MB/s  {:8.2} ms  growth {growth:4.2}  {bar}",
            benchmark.name,
            time.as_secs_f64() * 1e3
        );
        if let Some(bar) = benchmark.instructions {
            let rate = large.instructions() as f64 / time.as_secs_f64();
            reached &= rate >= bar;
            println!(
                "{:14} {:7.0} thousand instructions/s, {} its bar of {}",
                "",
                rate / 1e3,
                if rate < bar { "BELOW" } else { "above" },
                bar / 1e3
            );
        }
    }
    reached
}

fn main() -> ExitCode {
    let (mut megabytes, mut rounds, mut mix) = (10usize, 15usize, Mix::Code);
    let (mut only, mut write) = (None, None);
    let mut arguments = std::env::args().skip(1);
    let all: Vec<String> = std::env::args().skip(1).collect();
    if let [flag, name, index, size] = &all[..]
        && flag == "--shape"
    {
        let shape = index
            .parse()
            .ok()
            .and_then(|index: usize| SHAPES.get(index));
        let measured = shape
            .zip(size.parse().ok())
            .and_then(|(shape, size)| once(name, shape, size));
        return match measured {
            Some(duration) => {
                println!("{}", duration.as_nanos());
                ExitCode::SUCCESS
            }
            None => ExitCode::from(2),
        };
    }
    if let [flag, path] = &all[..]
        && flag == "--file"
    {
        return ptxas::optimize_file(path);
    }
    while let Some(argument) = arguments.next() {
        let mut number = |otherwise| {
            arguments
                .next()
                .and_then(|text| text.parse().ok())
                .unwrap_or(otherwise)
        };
        match argument.as_str() {
            "--megabytes" => megabytes = number(megabytes),
            "--rounds" => rounds = number(rounds),
            "--all" => mix = Mix::All,
            "--only" => only = arguments.next(),
            "--write" => write = arguments.next(),
            _ => {
                eprintln!(
                    "usage: oriole-bench [--megabytes N] [--rounds N] [--all] [--only NAME] [--write FILE]"
                );
                return ExitCode::from(2);
            }
        }
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let make = |size| large_file(&root, size, mix);
    let (large, small) = match (make(megabytes * 1_000_000), make(megabytes * 100_000)) {
        (Ok(large), Ok(small)) => (large, small),
        (Err(error), _) | (_, Err(error)) => {
            eprintln!("cannot read the corpus: {error}");
            return ExitCode::from(2);
        }
    };
    if let Some(path) = write {
        return match std::fs::write(&path, large) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                eprintln!("cannot write `{path}`: {error}");
                ExitCode::from(2)
            }
        };
    }
    let (large, small) = (Prepared::new(large), Prepared::new(small));
    let chosen: Vec<&Benchmark> = BENCHMARKS
        .iter()
        .filter(|benchmark| only.as_deref().is_none_or(|only| benchmark.name == only))
        .collect();
    let mut best = vec![(Duration::MAX, Duration::MAX); chosen.len()];
    for _ in 0..rounds.max(1) {
        for (benchmark, best) in chosen.iter().zip(&mut best) {
            best.0 = best.0.min(time(benchmark, &large));
            best.1 = best.1.min(time(benchmark, &small));
        }
    }
    let mut reached = report(&chosen, &best, &large, &small, rounds);
    for name in ON_HARD_FUNCTIONS {
        if only.as_deref().is_none_or(|only| only == name) {
            reached &= hard_functions(name, rounds);
        }
    }
    if only.as_deref().is_none_or(|only| only == "ptxas") {
        reached &= ptxas::compare(rounds);
    }
    if reached {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}
