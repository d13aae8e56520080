//! Times Oriole on large PTX.
//!
//!     cargo run --release -p oriole-bench -- [--megabytes N] [--rounds N] [--all] [--only NAME] [--write FILE]
//!
//! Benchmarks take turns, so that a slow moment of the machine hits all of them; the fastest round counts. Every benchmark
//! also runs on a tenth of the file: time must grow with the size, not faster.

#![forbid(unsafe_code)]
#![allow(clippy::print_stdout, clippy::print_stderr)]

use oriole_bench::{BENCHMARKS, Benchmark, Mix, Prepared, SHAPES, large_file};
use std::hint::black_box;
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

fn time(benchmark: &Benchmark, prepared: &Prepared) -> Duration {
    let start = Instant::now();
    black_box((benchmark.run)(black_box(prepared)));
    start.elapsed()
}

/// The round trip of single hard functions and of ones a tenth as large: ten times the size, at most eleven times the time.
fn hard_functions(rounds: usize) -> bool {
    let Some(round_trip) = BENCHMARKS
        .iter()
        .find(|benchmark| benchmark.name == "round trip")
    else {
        return false;
    };
    println!("\nround trip of one function");
    let mut reached = true;
    for shape in SHAPES {
        let (large, small) = (
            Prepared::new((shape.make)(shape.size)),
            Prepared::new((shape.make)(shape.size / 10)),
        );
        let mut best = (Duration::MAX, Duration::MAX);
        for _ in 0..rounds.clamp(1, 5) {
            best.0 = best.0.min(time(round_trip, &large));
            best.1 = best.1.min(time(round_trip, &small));
        }
        let bytes = large.text.len() as f64;
        let growth = best.0.as_secs_f64() / best.1.as_secs_f64() * small.text.len() as f64 / bytes;
        let linear = growth <= 1.1;
        reached &= linear;
        println!(
            "{:40} {:7.1} MB/s  {:8.2} ms  growth {growth:4.2}{}",
            shape.name,
            bytes / 1e6 / best.0.as_secs_f64(),
            best.0.as_secs_f64() * 1e3,
            if linear {
                ""
            } else {
                "  ABOVE its bar of 1.10"
            }
        );
    }
    reached
}

fn main() -> ExitCode {
    let (mut megabytes, mut rounds, mut mix) = (10usize, 15usize, Mix::Code);
    let (mut only, mut write) = (None, None);
    let mut arguments = std::env::args().skip(1);
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
    println!(
        "{:.1} MB against {:.1} MB, the best of {rounds} rounds",
        large.text.len() as f64 / 1e6,
        small.text.len() as f64 / 1e6
    );
    let mut reached = true;
    for (benchmark, (time, small_time)) in chosen.iter().zip(best) {
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
    }
    if only.is_none() {
        reached &= hard_functions(rounds);
    }
    if reached {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}
