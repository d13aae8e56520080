//! Every pass on operands: code runs in the emulator before and after the pass, and must store the same bytes.
//!
//! [`straight`], [`branches`], [`loops`] and [`memory`] hold cases for each pass. A pass without one fails a test. [`pairs`]
//! gives every pass all pairs of instructions. [`constants`] gives constant folding every mnemonic, and [`small`] runs random kernels.
//! These three take in new opcodes and patterns without a list.

mod branches;
mod constants;
mod harness;
mod loops;
mod memory;
mod pairs;
mod small;
mod straight;

use harness::{Case, Trial};
use std::collections::{BTreeMap, BTreeSet};

fn cases() -> impl Iterator<Item = &'static Case> {
    [
        straight::CASES,
        branches::CASES,
        loops::CASES,
        memory::CASES,
    ]
    .into_iter()
    .flatten()
}

#[test]
fn every_pass_has_a_case_in_which_it_does_something() {
    for pass in oriole_opt::PASSES {
        assert!(
            cases().any(|case| case.pass == pass.name && case.counter.is_some()),
            "the pass `{}` has no case: add one to `crates/oriole-opt/tests/operands`",
            pass.name
        );
    }
    for case in cases() {
        assert!(
            oriole_opt::find_pass(case.pass).is_some(),
            "there is no pass `{}`, which has a case",
            case.pass
        );
    }
}

#[test]
fn passes_leave_what_is_stored() {
    let filter = std::env::var("ORIOLE_PASS").unwrap_or_default();
    let mut failures = Vec::new();
    for case in cases().filter(|case| case.pass.starts_with(&filter)) {
        let passes = [case.earlier, &[case.pass]].concat();
        let mut counters: BTreeMap<u32, BTreeSet<&str>> = BTreeMap::new();
        for (setup, text) in case.modules() {
            let trial = Trial::new(&text, setup);
            match trial.and_then(|trial| trial.check(&passes)) {
                Ok(own) => counters.entry(setup.width).or_default().extend(own),
                Err(error) => {
                    failures.push(format!("{}: {error}", case.pass));
                    break;
                }
            }
        }
        if let Some(counter) = case.counter {
            for (width, own) in &counters {
                if !own.contains(counter) {
                    let body = case.body;
                    failures.push(format!(
                        "`{counter}` stays 0 at {width} bits, {own:?} go up:\n{body}"
                    ));
                }
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
}
