//! Measures how much smaller the corpus' unoptimized kernels get.
//!
//!     cargo run --release -p oriole-bench --bin oriole-bench-size -- [--markdown]
//!
//! The kernels are the entries of the files compiled at `-O0`. Those without calls are straight arithmetic: of them at most
//! 60 % of the instructions may be left, loads and stores of local memory aside.

#![forbid(unsafe_code)]
#![allow(clippy::print_stdout)]

use oriole_bench::size::{BAR, Kernel, Size, unoptimized};
use std::process::ExitCode;

fn percent(after: u64, before: u64) -> f64 {
    100.0 * after as f64 / before.max(1) as f64
}

fn row(name: &str, before: Size, after: Size, markdown: bool) {
    let (from, to) = (before.without_local(), after.without_local());
    let columns = [
        (before.all, after.all),
        (from, to),
        (before.arithmetic, after.arithmetic),
    ];
    if markdown {
        print!("| {name} |");
        for (before, after) in columns {
            print!(" {before} | {after} | {:.0} % |", percent(after, before));
        }
        println!();
    } else {
        for (before, after) in columns {
            print!("{before:7} {after:7} {:5.1}  ", percent(after, before));
        }
        println!("{name}");
    }
}

fn main() -> ExitCode {
    let markdown = std::env::args()
        .skip(1)
        .any(|argument| argument == "--markdown");
    if markdown {
        println!("| kernel | all | after | | not local | after | | arithmetic | after | |");
        println!("|---|---|---|---|---|---|---|---|---|---|");
    } else {
        println!("    all   after      %  not local   after      %  arith.   after      %  kernel");
    }
    let kernels: Vec<Kernel> = unoptimized();
    let (mut straight, mut calling) = <[(Size, Size); 2]>::default().into();
    for kernel in &kernels {
        let total = if kernel.before.calls == 0 {
            row(&kernel.name, kernel.before, kernel.after, markdown);
            &mut straight
        } else {
            &mut calling
        };
        total.0 += kernel.before;
        total.1 += kernel.after;
    }
    row("all without calls", straight.0, straight.1, markdown);
    row("all with calls", calling.0, calling.1, markdown);
    if straight.1.without_local() as f64 <= BAR * straight.0.without_local() as f64 {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}
