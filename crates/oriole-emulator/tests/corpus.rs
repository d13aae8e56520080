//! Every launch of the corpus, as written and optimized, against what an H200 wrote.
//!
//! `tests/corpus/runs.toml` describes the launches and `tests/corpus/recorded/` holds the results. `ORIOLE_ONLY=text` runs the
//! launches whose name contains the text and prints what differs. Approximate instructions give what the same GPU gave;
//! `ORIOLE_MISSING=FILE` writes those that are not recorded, for `record_approximations.py` to fill in.

mod recorded;

use std::path::PathBuf;
use std::sync::Mutex;
use std::time::Instant;

use oriole_syntax::tree::Module;
use rayon::prelude::*;
use recorded::{Comparison, Recording, compare};

fn corpus() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/corpus")
}

#[test]
fn the_corpus_runs_as_on_the_gpu() {
    run_all(|_| {});
}

#[test]
fn the_optimized_corpus_runs_as_on_the_gpu() {
    run_all(|module| {
        oriole::optimize(module, &oriole::Options::default()).expect("a sound file");
    });
}

/// Runs every launch of every file, prepared in some way.
#[allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a test that leaves work out says so"
)]
fn run_all(prepare: fn(&mut Module)) {
    let recording = Recording::read(&corpus());
    let runs = oriole_corpus::runs(&corpus());
    let approximations = recorded::approximations(&corpus());
    let only = std::env::var("ORIOLE_ONLY").unwrap_or_default();
    let failures = Mutex::new(Vec::new());
    let counts = Mutex::new((0, 0, 0, 0));
    let slow = Mutex::new(Vec::new());
    let near_misses = Mutex::new(Vec::new());
    recording.launches.par_iter().for_each(|launch| {
        let run = &runs[launch.run];
        let name = format!("{} {} (run {})", launch.ptx, launch.kernel, launch.run);
        if !name.contains(&only) {
            return;
        }
        if launch.error.is_some() {
            counts.lock().expect("not poisoned").2 += 1;
            return;
        }
        let started = Instant::now();
        let outcome = std::panic::catch_unwind(|| {
            compare(&corpus(), launch, run, &recording, &approximations, prepare)
        })
        .unwrap_or_else(|_| Comparison::Failed("panicked".to_string()));
        let seconds = started.elapsed().as_secs_f64();
        if seconds > 1.0 {
            slow.lock()
                .expect("not poisoned")
                .push(format!("{seconds:.1} s {name}"));
        }
        match outcome {
            Comparison::Equal => counts.lock().expect("not poisoned").0 += 1,
            Comparison::Contracted => counts.lock().expect("not poisoned").3 += 1,
            Comparison::Near(how) => {
                counts.lock().expect("not poisoned").1 += 1;
                near_misses
                    .lock()
                    .expect("not poisoned")
                    .push(format!("{name}: {how}"));
            }
            Comparison::Failed(why) => failures
                .lock()
                .expect("not poisoned")
                .push(format!("{name}: {why}")),
        }
    });
    let (equal, near, not_recorded, contracted) = counts.into_inner().expect("not poisoned");
    let mut failures = failures.into_inner().expect("not poisoned");
    failures.sort();
    println!(
        "{}: {equal} launches equal, {contracted} equal when fused, {near} within the error of approximations, {not_recorded} failed on the GPU itself",
        recording.device
    );
    if let Some(file) = std::env::var_os("ORIOLE_MISSING") {
        std::fs::write(file, approximations.missing()).expect("a file to write");
    }
    let mut near_misses: Vec<String> = near_misses.into_inner().expect("not poisoned");
    near_misses.sort();
    for line in &near_misses {
        println!("near: {line}");
    }
    near_misses.retain(|line| !recorded::may_be_near(line));
    assert!(
        near_misses.is_empty(),
        "these were equal when recorded:\n{}",
        near_misses.join("\n")
    );
    for line in slow.into_inner().expect("not poisoned") {
        println!("slow: {line}");
    }
    let unexpected: Vec<&String> = failures
        .iter()
        .filter(|failure| !recorded::is_known(failure))
        .collect();
    for failure in failures
        .iter()
        .filter(|failure| recorded::is_known(failure))
    {
        println!("known: {failure}");
    }
    assert!(
        unexpected.is_empty(),
        "{} launches differ:\n{}",
        unexpected.len(),
        unexpected
            .iter()
            .map(|s| s.as_str())
            .collect::<Vec<_>>()
            .join("\n")
    );
    assert!(equal > 700 || !only.is_empty(), "only {equal} launches ran");
}
