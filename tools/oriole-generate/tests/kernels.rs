//! Generated kernels are what they promise to be, as far as that can be told without running them.

use oriole::{Options as Optimization, check, optimize, parse, print};
use oriole_generate::differential::{compare, findings, optimizations};
use oriole_generate::{Options, Shapes, generate};
use std::collections::BTreeSet;

#[test]
fn kernels_are_well_formed_and_go_through_ssa_form_unchanged() {
    for seed in 0..60 {
        let text = generate(seed, Options::default()).module();
        let mut module = parse(format!("seed {seed}"), text.as_str()).unwrap();
        assert_eq!(check(&module), [], "seed {seed}");
        let before = print(&module);
        let report = optimize(&mut module, &Optimization::level(oriole::Level::None)).unwrap();
        assert_eq!(report.copies, 0, "seed {seed}");
        assert_eq!(print(&module), before, "seed {seed}");
    }
}

#[test]
fn the_same_seed_gives_the_same_kernel_and_another_another() {
    let kernel = |seed| generate(seed, Options::default()).text;
    assert_eq!(kernel(7), kernel(7));
    assert_ne!(kernel(7), kernel(8));
}

#[test]
fn optimizing_generated_kernels_is_idempotent() {
    for seed in 100..130 {
        let text = generate(seed, Options::default()).module();
        let mut module = parse("generated", text).unwrap();
        let first = optimize(&mut module, &Optimization::default()).unwrap();
        assert!(
            first.rewrites > 0,
            "seed {seed}: generated kernels have dead code"
        );
        let second = optimize(&mut module, &Optimization::default()).unwrap();
        assert_eq!(second.rewrites, 0, "seed {seed}");
    }
}

#[test]
fn every_kind_of_statement_occurs() {
    let mut seen = std::collections::BTreeSet::new();
    for seed in 0..200 {
        seen.extend(generate(seed, Options::default()).statistics.into_keys());
    }
    for kind in [
        "atomic",
        "barrier",
        "branch",
        "call",
        "carry chain",
        "constant memory",
        "fence",
        "guard",
        "indirect branch",
        "load of input",
        "local memory",
        "loop",
        "own global memory",
        "pack and unpack",
        "value instruction",
        "warp operation",
    ] {
        assert!(seen.contains(kind), "{kind}");
    }
}

/// The seeds of the smoke run; `ORIOLE_SEEDS=N` asks for more.
fn seeds() -> u64 {
    std::env::var("ORIOLE_SEEDS").map_or(40, |count| count.parse().expect("a number"))
}

#[test]
fn optimized_kernels_write_the_same_bytes() {
    for (name, options) in optimizations() {
        for seed in 0..seeds() {
            let kernel = generate(seed, Options::default());
            if let Err(message) = compare(&kernel, &options) {
                panic!("{name}: {message}");
            }
        }
    }
}

#[test]
fn kernels_read_only_what_was_written_and_do_not_race() {
    for seed in 0..seeds() {
        let kernel = generate(seed, Options::default());
        let module = parse(kernel.name.as_str(), kernel.module()).unwrap();
        let found = findings(&module, &kernel.name).unwrap();
        assert!(found.is_empty(), "seed {seed}: {:?}", found[0]);
    }
}

#[test]
fn passes_that_bring_code_into_a_form_leave_that_form_alone() {
    for pass in ["reassociate-and-common", "back-copy-propagation"] {
        let options = Optimization {
            phases: oriole_opt::select([pass]).unwrap(),
            ..Optimization::default()
        };
        let mut rewrites = 0;
        for seed in 200..300 {
            let text = generate(seed, Options::default()).module();
            let mut module = parse("generated", text).unwrap();
            rewrites += optimize(&mut module, &options).unwrap().rewrites;
            let mut again = parse("again", print(&module)).unwrap();
            let second = optimize(&mut again, &options).unwrap();
            assert_eq!(second.rewrites, 0, "{pass}, seed {seed}");
        }
        assert!(rewrites > 0, "{pass}");
    }
}

#[test]
fn loads_that_share_an_address_give_what_they_gave() {
    let options = Options {
        addresses: true,
        ..Options::default()
    };
    // In the last one a load is dead before the one that it shares its address with is looked at.
    for seed in (0..10).chain([1499]) {
        let kernel = generate(seed, options);
        assert!(kernel.statistics.contains_key("shared address"));
        for (name, optimization) in optimizations() {
            if let Err(message) = compare(&kernel, &optimization) {
                panic!("seed {seed}, {name}: {message}");
            }
        }
    }
}

#[test]
fn added_forms_give_what_they_gave() {
    let options = Options {
        added: true,
        ..Options::default()
    };
    let kernel = |seed| generate(seed, options);
    let uses = |seed| kernel(seed).text.contains("selp.s32");
    assert!((0..60).any(uses));
    for seed in 0..4 {
        for (name, optimization) in optimizations() {
            if let Err(message) = compare(&kernel(seed), &optimization) {
                panic!("seed {seed}, {name}: {message}");
            }
        }
    }
}

#[test]
fn shapes_of_other_programs_give_what_they_gave() {
    let options = Options {
        shapes: Shapes::ALL,
        ..Options::default()
    };
    let mut seen = BTreeSet::new();
    for seed in 0..10 {
        let kernel = generate(seed, options);
        seen.extend(kernel.statistics.keys().cloned());
        let module = parse(kernel.name.as_str(), kernel.module()).unwrap();
        let found = findings(&module, &kernel.name).unwrap();
        assert!(found.is_empty(), "seed {seed}: {:?}", found[0]);
        for (name, optimization) in optimizations() {
            if let Err(message) = compare(&kernel, &optimization) {
                panic!("seed {seed}, {name}: {message}");
            }
        }
    }
    for kind in ["loads in arms", "parted lanes", "call by reference"] {
        assert!(seen.contains(kind), "{kind}");
    }
}
