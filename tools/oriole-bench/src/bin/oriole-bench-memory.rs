//! Measures the memory of Oriole's benchmarks: the most bytes allocated at once, for each byte of PTX.
//!
//!     cargo run --profile dist -p oriole-bench --bin oriole-bench-memory
//!
//! Growing a block counts the old and the new one, as if each growth moved it.

#![forbid(unsafe_code)]
#![allow(clippy::print_stdout, clippy::print_stderr)]

use oriole_bench::{BENCHMARKS, Mix, Prepared, large_file};
use peak_alloc::PeakAlloc;
use std::hint::black_box;
use std::path::Path;
use std::process::ExitCode;

#[global_allocator]
static ALLOCATOR: PeakAlloc = PeakAlloc;

/// Bytes of memory allowed for each byte of text.
const BAR: f64 = 30.0;

fn main() -> ExitCode {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut reached = true;
    for (title, mix) in [("code", Mix::Code), ("with debug sections", Mix::All)] {
        let text = match large_file(&root, 10_000_000, mix) {
            Ok(text) => text,
            Err(error) => {
                eprintln!("cannot read the corpus: {error}");
                return ExitCode::from(2);
            }
        };
        let length = text.len() as f64;
        let prepared = Prepared::new(text);
        println!("{:.1} MB, {title}", length / 1e6);
        for benchmark in BENCHMARKS {
            ALLOCATOR.reset_peak_usage();
            let before = ALLOCATOR.current_usage();
            black_box((benchmark.run)(black_box(&prepared)));
            let factor = ALLOCATOR.peak_usage().saturating_sub(before) as f64 / length;
            reached &= factor <= BAR;
            println!("{:14} {factor:6.2} bytes for a byte", benchmark.name);
        }
    }
    if reached {
        ExitCode::SUCCESS
    } else {
        println!("above the bar of {BAR} bytes for a byte");
        ExitCode::FAILURE
    }
}
