//! Oriole leaves at most 1.05 times the instructions that LLVM's scalar optimizations leave of the same kernels.
//!
//! `tests/llvm/compare --generate` makes both sides with clang, opt and llc; here LLVM's counts are read from `llvm.tsv`, and
//! what Oriole starts from is checked in. Functions above the bar are listed when the test fails, and with `--nocapture`.

#![allow(clippy::print_stderr)]

use oriole::{Options, optimize, parse};
use std::collections::BTreeMap;
use std::path::Path;

const BAR: f64 = 1.05;

/// What may be above the bar while all functions together are below it: LLVM fuses products with sums, which ptxas does as well,
/// and better where the sum is an address.
const MOST_ABOVE: usize = 2;

#[test]
fn at_most_a_twentieth_more_instructions_than_llvm() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/llvm");
    let counts = std::fs::read_to_string(folder.join("llvm.tsv")).expect("the counts are there");
    let mut reports = BTreeMap::new();
    let (mut total, mut llvm_total, mut functions) = (0, 0, 0);
    let mut above = Vec::new();
    for line in counts.lines().filter(|line| !line.starts_with('#')) {
        let [name, before, llvm] = line.split('\t').collect::<Vec<_>>()[..] else {
            panic!("three columns: {line}");
        };
        let (file, function) = name.split_once('/').expect("source/function");
        let number = |text: &str| text.parse::<u64>().expect("a number");
        let (before, llvm) = (number(before), number(llvm));
        let report = reports.entry(file.to_owned()).or_insert_with(|| {
            let path = folder.join("ptx").join(format!("{file}.ptx"));
            let text = std::fs::read_to_string(&path).expect("what is counted is there");
            let mut module = parse(path.display().to_string(), text).expect("llc writes PTX");
            optimize(&mut module, &Options::default()).expect("llc writes sound PTX")
        });
        let found = report
            .functions
            .iter()
            .find(|report| report.name == function)
            .unwrap_or_else(|| panic!("{name} was not optimized"));
        assert_eq!(
            found.before, before,
            "{name}: made again without its counts?"
        );
        functions += 1;
        total += found.after;
        llvm_total += llvm;
        if found.after as f64 > BAR * llvm as f64 {
            above.push(format!(
                "{name}: {} of {before}, LLVM {llvm}: {:.3}",
                found.after,
                found.after as f64 / llvm as f64
            ));
        }
    }
    let ratio = total as f64 / llvm_total as f64;
    eprintln!(
        "{functions} functions: {total} instructions, LLVM {llvm_total}: {ratio:.3}; above {BAR}:\n{}",
        above.join("\n")
    );
    assert!(functions > 200, "only {functions} functions");
    assert!(ratio <= BAR, "all together {ratio:.3}");
    assert!(above.len() <= MOST_ABOVE, "{} are above {BAR}", above.len());
}
