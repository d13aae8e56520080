//! Prints the features of every kernel in a recorded table, with what `ptxas` said, for `tools/fit-registers`.
//!
//!     cargo run --release -p oriole-analysis --example register_features -- tests/corpus/registers.tsv tests/corpus/ptx

#![allow(clippy::print_stdout)]

#[path = "../tests/recorded/mod.rs"]
mod recorded;

use oriole_analysis::register_model::features::NAMES;
use std::path::Path;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let (Some(table), Some(folder)) = (arguments.next(), arguments.next()) else {
        panic!("usage: register_features TABLE FOLDER");
    };
    println!("file\ttarget\tname\tregisters\tsteps\t{}", NAMES.join("\t"));
    for row in recorded::recorded(Path::new(&table), Path::new(&folder), |_| true) {
        let numbers: Vec<String> = row.features.values().iter().map(f32::to_string).collect();
        let steps: Vec<String> = row.features.steps.iter().map(u32::to_string).collect();
        println!(
            "{}\t{}\t{}\t{}\t{}\t{}",
            row.file,
            row.target,
            row.name,
            row.registers,
            steps.join(","),
            numbers.join("\t")
        );
    }
}
