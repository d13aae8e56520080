//! How fast whole functions are analysed: every value, its range, every loop.
//!
//! `cargo test --release -p oriole-evolution --test speed -- --nocapture` prints it. `ORIOLE_PTX` names a file or a folder to take instead of the corpus.

#![allow(clippy::print_stdout)]

use oriole_analysis::launch::LaunchShape;
use oriole_analysis::scalar_evolution::{Knobs, ScalarEvolution};
use oriole_ir::Formats;
use oriole_syntax::scopes::Globals;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

fn files(path: &Path, found: &mut Vec<PathBuf>) {
    if path.is_dir() {
        let entries = std::fs::read_dir(path).expect("a folder");
        let mut below: Vec<PathBuf> = entries.map(|it| it.expect("an entry").path()).collect();
        below.sort();
        for each in below {
            files(&each, found);
        }
    } else if path.extension().is_some_and(|it| it == "ptx") {
        found.push(path.to_path_buf());
    }
}

#[test]
fn whole_functions_are_analysed_at_speed() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/corpus/ptx");
    let path = std::env::var("ORIOLE_PTX").map_or(corpus, PathBuf::from);
    let mut found = Vec::new();
    files(&path, &mut found);
    if cfg!(debug_assertions) {
        found.truncate(20);
    }
    let (mut instructions, mut time, mut slowest) = (0, Duration::ZERO, (0.0, String::new()));
    for file in found {
        let Ok(text) = std::fs::read_to_string(&file) else {
            continue;
        };
        let (module, errors) = oriole_syntax::parse("file.ptx", text);
        let (globals, more) = Globals::of(&module);
        if !errors.is_empty() || !more.is_empty() {
            continue;
        }
        for (index, function) in module.functions.iter().enumerate() {
            if function.body.is_none() {
                continue;
            }
            let translated =
                oriole_translate::into_ssa(&module, &globals, index, &mut Formats::new());
            let Ok(translated) = translated else {
                continue;
            };
            let function = &translated.function;
            let order = function.block_order().iter();
            let count: usize = order
                .map(|&block| function.instructions_of(block).count())
                .sum();
            let start = Instant::now();
            let bounds = LaunchShape::default();
            let evolution = ScalarEvolution::new(function, bounds, Knobs::default());
            let mut query = evolution.on(function);
            for value in function.values().keys() {
                query.value_range(value);
            }
            for header in query.headers() {
                query.predicated_backedge_taken(header);
            }
            let own = start.elapsed();
            instructions += count;
            time += own;
            let each = own.as_secs_f64() / count as f64;
            if count > 1000 && each > slowest.0 {
                let name = module.text(module.functions[index].name);
                slowest = (each, format!("{} {name}, {count}", file.display()));
            }
        }
    }
    let speed = instructions as f64 / time.as_secs_f64();
    println!("{instructions} instructions in {time:?}: {speed:.0} a second");
    println!(
        "slowest: {:.2} µs an instruction: {}",
        slowest.0 * 1e6,
        slowest.1
    );
    assert!(instructions > 0);
}
