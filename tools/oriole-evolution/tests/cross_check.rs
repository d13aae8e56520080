//! No prediction of ScalarEvolution is wrong in what the emulator executes.
//!
//! Launches of the corpus are run as `tests/corpus/runs.toml` says, for every variant of their file.
//! `ORIOLE_KERNELS=20000 cargo test --release -p oriole-evolution -- --nocapture` runs that many kernels of each kind.

#![allow(clippy::print_stdout)]

use oriole_analysis::launch::LaunchShape;
use oriole_corpus::launches;
use oriole_emulator::{Launch, Machine, Options, Value};
use oriole_evolution::{
    Compared, Watcher, generated, generated_arguments, loops, parsed_arguments, predict,
};
use oriole_generate::{BLOCK, GRID, small};
use oriole_syntax::tree::Module;
use rayon::prelude::*;
use std::path::Path;
use std::sync::Arc;

fn kernels(smoke: u64) -> u64 {
    std::env::var("ORIOLE_KERNELS").map_or(smoke, |it| it.parse().expect("a number"))
}

fn module(text: &str) -> Module {
    let (module, errors) = oriole_syntax::parse("kernel.ptx", text);
    assert!(errors.is_empty(), "{errors:?}\n{text}");
    module
}

/// Runs a kernel and gives what was compared; a launch that stops early was right until then.
fn watch(
    module: &Module,
    kernel: &str,
    shape: ([u32; 3], [u32; 3]),
    arguments: impl FnOnce(&mut Machine) -> Vec<Value>,
    steps: u64,
) -> (Compared, Vec<String>) {
    watch_shared(module, kernel, shape, 0, arguments, steps)
}

fn watch_shared(
    module: &Module,
    kernel: &str,
    shape: ([u32; 3], [u32; 3]),
    dynamic_shared: u64,
    arguments: impl FnOnce(&mut Machine) -> Vec<Value>,
    steps: u64,
) -> (Compared, Vec<String>) {
    let Some(predictions) = predict(module, LaunchShape::default()) else {
        return Default::default();
    };
    let watcher = Arc::new(Watcher::new(predictions, shape.0, shape.1));
    let Ok(mut machine) = Machine::new(module) else {
        return Default::default();
    };
    let arguments = arguments(&mut machine);
    let launch = Launch {
        kernel,
        grid: shape.0,
        block: shape.1,
        dynamic_shared,
        arguments,
    };
    let options = Options {
        step_limit: steps,
        parallel: false,
        observer: Some(watcher.clone()),
        ..Options::default()
    };
    let _ = machine.launch(&launch, &options);
    watcher.result()
}

fn report(what: &str, results: Vec<(u64, Compared, Vec<String>)>) {
    let mut total = Compared::default();
    for (_, compared, _) in &results {
        total.add(*compared);
    }
    println!("{what}: {} kernels, {total:?}", results.len());
    let wrong: Vec<_> = results
        .iter()
        .filter(|(_, _, violations)| !violations.is_empty())
        .take(5)
        .map(|(seed, _, violations)| (seed, violations))
        .collect();
    assert!(wrong.is_empty(), "{what}: {wrong:#?}");
    assert!(total.counts > 0 && total.expressions > 0 && total.maxima > 0);
}

#[test]
fn loops_run_as_often_as_predicted() {
    let results = (0..kernels(400))
        .into_par_iter()
        .map(|seed| {
            let kernel = loops::generate(seed);
            let module = module(&kernel.text);
            let arguments = |machine: &mut Machine| {
                let out = machine.buffer("out", &[0; 256]);
                vec![
                    Value::Buffer(out),
                    Value::Bytes(kernel.number.to_le_bytes().to_vec()),
                ]
            };
            let shape = ([1; 3], [64, 1, 1]);
            let (compared, violations) = watch(&module, "loops", shape, arguments, 600_000);
            (seed, compared, violations)
        })
        .collect();
    report("loops", results);
}

#[test]
fn small_kernels_do_as_predicted() {
    let results = (0..kernels(120))
        .into_par_iter()
        .map(|seed| {
            let (text, block) = small::generate(seed, true);
            let module = module(&text);
            let grid = [small::THREADS as u32 / block.iter().product::<u32>(), 1, 1];
            let (compared, violations) =
                watch(&module, "small", (grid, block), small::arguments, 2_000_000);
            (seed, compared, violations)
        })
        .collect();
    report("small", results);
}

#[test]
fn generated_kernels_do_as_predicted() {
    let results = (0..kernels(60))
        .into_par_iter()
        .map(|seed| {
            let kernel = generated(seed);
            let module = module(&kernel.module());
            let arguments = generated_arguments;
            let shape = ([GRID, 1, 1], [BLOCK, 1, 1]);
            let (compared, violations) = watch(&module, &kernel.name, shape, arguments, 50_000_000);
            (seed, compared, violations)
        })
        .collect();
    report("generated", results);
}

#[test]
fn the_corpus_does_as_predicted() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/corpus");
    let launches = launches(&corpus);
    // All of them take minutes without optimization.
    let one_in = if cfg!(debug_assertions) { 12 } else { 1 };
    let results = launches
        .par_iter()
        .enumerate()
        .filter(|(index, _)| index % one_in == 0)
        .map(|(index, (run, file))| {
            let text = std::fs::read_to_string(file).expect("a file");
            let module = module(&text);
            let arguments = |machine: &mut Machine| parsed_arguments(machine, &run.arguments);
            let shapes = (run.grid, run.block);
            let (compared, violations) = watch_shared(
                &module,
                &run.kernel,
                shapes,
                run.shared,
                arguments,
                20_000_000,
            );
            let name = file.file_name().expect("a name").to_string_lossy();
            let violations = violations.into_iter().map(|it| format!("{name}: {it}"));
            (index as u64, compared, violations.collect())
        })
        .collect();
    report("corpus", results);
}
