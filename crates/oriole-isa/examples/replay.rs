//! Compares a recording made on a GPU with `evaluate`, and lists every form that differs.
//!
//! ```text
//! cargo run --release -p oriole-isa --example replay -- results.bin [SHOWN]
//! ```

#![allow(
    clippy::print_stdout,
    reason = "a command reports on its standard output"
)]

#[path = "../tests/vectors/mod.rs"]
mod vectors;

use std::process::ExitCode;

fn main() -> ExitCode {
    let path = std::env::args().nth(1).expect("usage: replay results.bin");
    let shown = std::env::args()
        .nth(2)
        .map_or(3, |text| text.parse().expect("how many mismatches to show"));
    let report = vectors::replay::replay(&std::fs::read(path).expect("the recording"), shown);
    for failure in &report.failures {
        println!("{failure}");
    }
    println!(
        "{}: {} forms, {} of them differ; {} vectors exact, {} approximate, {} open",
        report.device,
        report.forms,
        report.failures.len(),
        report.exact,
        report.approximate,
        report.open
    );
    if report.failures.is_empty() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}
