//! No proved cost of a memory access is wrong in what the emulator executes.
//!
//! `ORIOLE_KERNELS=20000 cargo test --release -p oriole-evolution --test accesses -- --nocapture` runs that many generated kernels,
//! from the seed `ORIOLE_FIRST` on.

#![allow(clippy::print_stdout)]

use oriole::AccessOptions;
use oriole_corpus::{Run, launches};
use oriole_emulator::{Launch, Machine, Options, Value};
use oriole_evolution::accesses::{ComparedRequests, RequestWatcher};
use oriole_evolution::{addresses, generated, generated_arguments, parsed_arguments, tiles};
use oriole_generate::{BLOCK, GRID};
use oriole_syntax::tree::{FunctionKind, Module};
use rayon::prelude::*;
use std::path::Path;
use std::sync::Arc;

fn module(text: &str) -> Module {
    let (module, errors) = oriole_syntax::parse("kernel.ptx", text);
    assert!(errors.is_empty(), "{errors:?}\n{text}");
    module
}

/// Runs a kernel and gives what was compared; a launch that stops early was right until then.
fn watch(
    module: &Module,
    run: &Run,
    arguments: impl FnOnce(&mut Machine) -> Vec<Value>,
    steps: u64,
) -> (ComparedRequests, Vec<String>) {
    let options = AccessOptions {
        block: Some(run.block),
        kernel: Some(run.kernel.clone()),
        ..AccessOptions::default()
    };
    watch_claims(module, run, &options, arguments, steps)
}

/// Likewise, with claims that were made for something else.
fn watch_claims(
    module: &Module,
    run: &Run,
    claimed: &AccessOptions,
    arguments: impl FnOnce(&mut Machine) -> Vec<Value>,
    steps: u64,
) -> (ComparedRequests, Vec<String>) {
    let Ok((mut kernels, _)) = oriole::accesses(module, claimed) else {
        return Default::default();
    };
    let (Some(mut kernel), Ok(mut machine)) = (kernels.pop(), Machine::new(module)) else {
        return Default::default();
    };
    // What is said of functions holds in whatever kernel calls them.
    let functions = module.functions.iter();
    for function in functions.filter(|own| own.kind == FunctionKind::Function) {
        let options = AccessOptions {
            kernel: Some(module.text(function.name).to_owned()),
            ..claimed.clone()
        };
        let (called, _) = oriole::accesses(module, &options).unwrap_or_default();
        let accesses = called.into_iter().flat_map(|own| own.accesses);
        kernel.accesses.extend(accesses);
    }
    let watcher = Arc::new(RequestWatcher::new(kernel, run.integers(), module.source()));
    let arguments = arguments(&mut machine);
    let launch = Launch {
        kernel: &run.kernel,
        grid: run.grid,
        block: run.block,
        dynamic_shared: run.shared,
        arguments,
    };
    let options = Options {
        step_limit: steps,
        parallel: false,
        profile: true,
        observer: Some(watcher.clone()),
        ..Options::default()
    };
    let is_whole = machine.launch(&launch, &options).is_ok();
    watcher.result(is_whole)
}

fn report(what: &str, results: Vec<(ComparedRequests, Vec<String>)>) {
    let mut total = ComparedRequests::default();
    for (compared, _) in &results {
        total.add(*compared);
    }
    println!("{what}: {} launches, {total:?}", results.len());
    let wrong: Vec<_> = results
        .iter()
        .flat_map(|(_, violations)| violations)
        .take(30)
        .collect();
    assert!(wrong.is_empty(), "{what}: {wrong:#?}");
    assert!(total.proved > 0 && total.proved_if > 0);
}

/// Kernels that were reported once: whose lanes are in other groups in other rounds of a loop, whose lanes compare numbers of which all bits are
/// known by their signs, whose lanes left a loop in a round that they do not access memory in, and that waste nothing in the one round that they run.
const REPORTED: [u64; 9] = [
    21210, 5014801, 6046466, 6078660, 6080948, 6084655, 6004042, 5051321, 5025158,
];

fn kernels(smoke: u64) -> u64 {
    std::env::var("ORIOLE_KERNELS").map_or(smoke, |it| it.parse().expect("a number"))
}

/// Whoever compares must be able to find something: claims for another shape of blocks are wrong.
#[test]
fn wrong_claims_are_found() {
    let mut found = 0;
    for seed in 0..120 {
        let kernel = addresses::generate(seed);
        let module = module(&kernel.text);
        let run = Run {
            kernel: "addresses".to_owned(),
            grid: [1; 3],
            block: [8, 8, 1],
            ..Run::default()
        };
        let claimed = AccessOptions {
            block: Some([64, 1, 1]),
            ..AccessOptions::default()
        };
        let (_, violations) = watch_claims(&module, &run, &claimed, zeros, 200_000);
        found += usize::from(!violations.is_empty());
    }
    assert!(found > 20, "{found}");
}

/// Arguments of kernels with random addresses.
fn zeros(machine: &mut Machine) -> Vec<Value> {
    let data = machine.buffer("data", &vec![0; 2 * addresses::GLOBAL_BYTES]);
    vec![
        Value::Buffer(data),
        Value::Bytes(vec![3, 0, 0, 0]),
        Value::Bytes(vec![16, 0, 0, 0]),
    ]
}

#[test]
fn generated_kernels_cost_what_is_said() {
    let results = (0..kernels(60))
        .into_par_iter()
        .map(|seed| {
            let kernel = generated(seed);
            let module = module(&kernel.module());
            let arguments = generated_arguments;
            let run = Run {
                kernel: kernel.name.clone(),
                grid: [GRID, 1, 1],
                block: [BLOCK, 1, 1],
                ..Run::default()
            };
            watch(&module, &run, arguments, 50_000_000)
        })
        .collect();
    report("generated", results);
}

#[test]
fn random_addresses_cost_what_is_said() {
    let first = std::env::var("ORIOLE_FIRST").map_or(0, |it| it.parse().expect("a number"));
    let seeds = (first..first + kernels(400)).chain(REPORTED);
    let results: Vec<(ComparedRequests, Vec<String>)> = seeds
        .collect::<Vec<u64>>()
        .into_par_iter()
        .map(|seed| {
            let kernel = addresses::generate(seed);
            let module = module(&kernel.text);
            let [n, m] = kernel.numbers;
            let arguments = |machine: &mut Machine| {
                let data = machine.buffer("data", &vec![0; 2 * addresses::GLOBAL_BYTES]);
                vec![
                    Value::Buffer(data),
                    Value::Bytes(n.to_le_bytes().to_vec()),
                    Value::Bytes(m.to_le_bytes().to_vec()),
                ]
            };
            let run = Run {
                kernel: "addresses".to_owned(),
                grid: [2, 1, 1],
                block: kernel.block,
                arguments: vec![
                    "data:u8[1]".into(),
                    format!("n:u32={n}"),
                    format!("m:u32={m}"),
                ],
                ..Run::default()
            };
            let (compared, violations) = watch(&module, &run, arguments, 2_000_000);
            let violations = violations
                .into_iter()
                .map(|it| format!("seed {seed}: {it}"));
            (compared, violations.collect())
        })
        .collect();
    let strides: u64 = results.iter().map(|own| own.0.strides).sum();
    assert!(strides > 0, "no table applied");
    report("addresses", results);
}

/// What `swizzle-shared` makes of kernels is as exact as what they were, where they have one array.
#[test]
fn permuted_tiles_cost_what_is_said() {
    let options = oriole::Options {
        phases: oriole_opt::select(["swizzle-shared"]).expect("there is such a pass"),
        keep: oriole::Keep::All,
        ..oriole::Options::default()
    };
    let results: Vec<(ComparedRequests, Vec<String>)> = (0..kernels(60))
        .into_par_iter()
        .map(|seed| {
            let kernel = tiles::generate(seed);
            let mut options = options.clone();
            let knob = format!("SwizzleSharedAlways={}", 1 + seed % 2);
            options.knobs.set(&knob).expect("there is such a knob");
            let mut module = module(&kernel.text);
            oriole::optimize(&mut module, &options).expect("it is sound");
            let module = self::module(&oriole::print(&module));
            let run = Run {
                kernel: "tiles".to_owned(),
                grid: [1; 3],
                block: kernel.block,
                ..Run::default()
            };
            let arguments = |machine: &mut Machine| {
                let threads = kernel.block.iter().product::<u32>() as usize;
                vec![Value::Buffer(machine.buffer("out", &vec![0; 4 * threads]))]
            };
            let (compared, violations) = watch(&module, &run, arguments, 2_000_000);
            let violations = violations
                .into_iter()
                .map(|it| format!("seed {seed}: {it}"));
            (compared, violations.collect())
        })
        .collect();
    report("tiles", results);
}

#[test]
fn the_corpus_costs_what_is_said() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/corpus");
    let launches = launches(&corpus);
    // All of them take minutes without optimization.
    let one_in = if cfg!(debug_assertions) { 8 } else { 1 };
    let results = launches
        .par_iter()
        .enumerate()
        .filter(|(index, _)| index % one_in == 0)
        .map(|(_, (run, file))| {
            let text = std::fs::read_to_string(file).expect("a file");
            let module = module(&text);
            let arguments = |machine: &mut Machine| parsed_arguments(machine, &run.arguments);
            let (compared, violations) = watch(&module, run, arguments, 5_000_000);
            let name = file.file_name().expect("a name").to_string_lossy();
            let violations = violations
                .into_iter()
                .map(|it| format!("{name} {}: {it}", run.kernel));
            (compared, violations.collect())
        })
        .collect();
    report("corpus", results);
}
