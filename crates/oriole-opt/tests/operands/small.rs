//! Small kernels at random, of all instructions, in loops and divergent branches: passes keep the bytes that they write.
//!
//! The results of comparisons count too: every register is stored at the end.

use crate::harness::options;
use oriole::{Level, Options, optimize, parse, print};
use oriole_emulator::Options as Limits;
use oriole_generate::small;
use std::collections::BTreeMap;

/// Passes that stand on ranges. They see every kernel, the others some.
const RANGES: &[&str] = &["range-comparisons", "narrow-comparisons", "narrow-counters"];

fn limits() -> Limits {
    Limits {
        step_limit: 2_000_000,
        parallel: false,
        ..Limits::default()
    }
}

#[test]
fn small_kernels_write_what_they_wrote() {
    let count = std::env::var("ORIOLE_KERNELS").map_or(25, |it| it.parse().expect("a number"));
    let mut totals: BTreeMap<&'static str, u64> = BTreeMap::new();
    for seed in 0..count {
        let (text, block) = small::generate(seed, false);
        let module = parse("small.ptx", text.as_str()).expect("PTX");
        let before = print(&module);
        let expected = small::run(&module, block, &limits()).expect("it ends");
        let passes = oriole_opt::PASSES;
        let other = |round: u64| passes[((seed * 3 + round) % passes.len() as u64) as usize].name;
        let mut trials: Vec<(String, Options)> = vec![(
            "-O3".to_owned(),
            Options {
                keep: oriole::Keep::All,
                ..Options::level(Level::Aggressive)
            },
        )];
        let single = RANGES.iter().copied().chain((0..3).map(other));
        trials.extend(single.map(|pass| (pass.to_owned(), options(&[pass]))));
        for (name, options) in trials {
            let mut changed = module.clone();
            let report = optimize(&mut changed, &options).expect("a sound module");
            for (counter, count) in report.statistics.iter() {
                *totals.entry(counter).or_default() += count;
            }
            let after = print(&changed);
            if after == before {
                continue;
            }
            let again = parse("again.ptx", after.as_str()).expect("PTX");
            let found = small::run(&again, block, &limits());
            assert!(
                found.as_ref() == Ok(&expected),
                "seed {seed}, {name}: other bytes, or {:?}\n{before}\nbecame\n{after}",
                found.err()
            );
        }
    }
    for counter in [
        "range-comparisons.comparisons",
        "narrow-comparisons.comparisons",
        "gvn-cse.instructions",
    ] {
        assert!(totals.contains_key(counter), "{counter}: {totals:?}");
    }
}
