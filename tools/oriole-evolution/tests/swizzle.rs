//! What `swizzle-shared` does to a kernel changes nothing that it computes, and saves wavefronts, as the emulator counts them.
//!
//! `ORIOLE_KERNELS=20000 cargo test --release -p oriole-evolution --test swizzle -- --nocapture` runs that many generated kernels.

#![allow(clippy::print_stdout)]

use oriole::{Keep, Level, Options};
use oriole_emulator::{Launch, Machine, Value};
use oriole_evolution::tiles::{self, TileKernel};
use rayon::prelude::*;

/// What a kernel writes, and the wavefronts of its accesses to shared memory.
fn run(text: &str, kernel: &TileKernel) -> (Vec<u8>, u64) {
    let block = kernel.block;
    let module = oriole::parse("tiles.ptx", text).expect("it is well formed");
    let mut machine = Machine::new(&module).expect("it can be run");
    let threads = block.iter().product::<u32>() as usize;
    let out = machine.buffer("out", &vec![0; 4 * threads]);
    let launch = Launch {
        kernel: "tiles",
        grid: [1; 3],
        block,
        dynamic_shared: kernel.dynamic.into(),
        arguments: vec![Value::Buffer(out)],
    };
    let options = oriole_emulator::Options {
        profile: true,
        parallel: false,
        ..oriole_emulator::Options::default()
    };
    let report = machine.launch(&launch, &options);
    let report = report.unwrap_or_else(|trap| panic!("{trap:?}\n{text}"));
    let counters = report.profile.iter().map(|entry| entry.counters);
    let wavefronts = counters.map(|counters| counters.wavefronts).sum();
    (machine.read(out), wavefronts)
}

/// What Oriole makes of a kernel, whether its shared memory was permuted or padded, and whether it was padded.
fn optimized(text: &str, options: &Options) -> (String, bool, bool) {
    let mut module = oriole::parse("tiles.ptx", text).expect("it is well formed");
    let report = oriole::optimize(&mut module, options).expect("it is sound");
    let is_swizzled = report.statistics.get(oriole_opt::SWIZZLED) > 0;
    let is_padded = report.statistics.get("swizzle-shared.padded") > 0;
    (oriole::print(&module), is_swizzled, is_padded)
}

/// How many kernels are generated.
fn count() -> u64 {
    std::env::var("ORIOLE_KERNELS").map_or(80, |it| it.parse().expect("a number"))
}

/// Nothing but the pass.
fn alone() -> Options {
    Options {
        phases: oriole_opt::select(["swizzle-shared"]).expect("there is such a pass"),
        keep: Keep::All,
        ..Options::default()
    }
}

#[test]
fn swizzled_kernels_compute_the_same_with_fewer_wavefronts() {
    let (count, alone) = (count(), alone());
    let results: Vec<(bool, bool, u64, u64, u64, bool)> = (0..count)
        .into_par_iter()
        .map(|seed| {
            let kernel = tiles::generate(seed);
            let (expected, before) = run(&kernel.text, &kernel);
            let (text, is_swizzled, is_padded) = optimized(&kernel.text, &alone);
            let (found, after) = run(&text, &kernel);
            assert!(found == expected, "seed {seed}\n{}\n{text}", kernel.text);
            let is_required = kernel.text.contains(".reqntid");
            assert!(
                !is_swizzled || !is_required || after < before,
                "seed {seed}: {before} wavefronts before, {after} after\n{text}"
            );
            // Whatever is permuted, nobody can tell.
            let mut padded = 0;
            for number in 1..=4 {
                let knob = format!("SwizzleSharedAlways={number}");
                let mut always = alone.clone();
                always.knobs.set(&knob).expect("there is such a knob");
                let (text, is_permuted, _) = optimized(&kernel.text, &always);
                // Rows are padded if there is one array, and room for it.
                match number {
                    1 | 2 => assert!(is_permuted, "seed {seed}: nothing is permuted\n{text}"),
                    _ => padded += u64::from(is_permuted),
                }
                let (found, _) = run(&text, &kernel);
                assert!(
                    found == expected,
                    "seed {seed}, {knob}\n{}\n{text}",
                    kernel.text
                );
            }
            // With all other passes, and again: nothing is left to do.
            let (text, also, _) = optimized(&kernel.text, &Options::level(Level::Aggressive));
            let (found, _) = run(&text, &kernel);
            assert!(
                found == expected,
                "seed {seed}, -O3\n{}\n{text}",
                kernel.text
            );
            let (again, _, _) = optimized(&text, &Options::level(Level::Aggressive));
            assert!(
                again == text,
                "seed {seed}: another run changes\n{text}\ninto\n{again}"
            );
            (is_swizzled, also, before, after, padded, is_padded)
        })
        .collect();
    let swizzled = results.iter().filter(|result| result.0);
    let (before, after) = swizzled
        .clone()
        .fold((0, 0), |sum, result| (sum.0 + result.2, sum.1 + result.3));
    let number = swizzled.count();
    let also = results.iter().filter(|result| result.1).count();
    println!(
        "{number} of {count} swizzled ({also} at -O3): {before} wavefronts before, {after} after"
    );
    let worth = results.iter().filter(|result| result.5).count();
    println!("{worth} of them padded");
    let padded: u64 = results.iter().map(|result| result.4).sum();
    println!("{padded} times rows were padded for nothing");
    assert!(worth > 0 || count < 1000, "no rows are padded");
    assert!(padded > count / 4, "{padded} of {count}");
    assert!(number as u64 * 20 > count, "{number} of {count}");
    assert!(after < before);
}

/// Memory that is given at launch, if that is whole lines.
#[test]
fn memory_that_is_given_at_launch_is_permuted_if_it_is_whole_lines() {
    let (count, alone) = (count(), alone());
    let results: Vec<bool> = (0..count)
        .into_par_iter()
        .map(|seed| {
            let kernel = tiles::generate_dynamic(seed);
            let (expected, before) = run(&kernel.text, &kernel);
            let (_, is_swizzled, _) = optimized(&kernel.text, &alone);
            // It is declared, and may not be named.
            let is_named = kernel.text.matches("tile0").count() > 1;
            assert!(
                !is_swizzled || !is_named,
                "seed {seed}: it may end inside a line"
            );
            let mut whole = alone.clone();
            let knob = "SwizzleSharedDynamic=1";
            whole.knobs.set(knob).expect("there is such a knob");
            let (text, is_swizzled, _) = optimized(&kernel.text, &whole);
            let (found, after) = run(&text, &kernel);
            assert!(found == expected, "seed {seed}\n{}\n{text}", kernel.text);
            let is_required = kernel.text.contains(".reqntid");
            assert!(
                !is_swizzled || !is_required || after < before,
                "seed {seed}: {before} wavefronts before, {after} after\n{text}"
            );
            is_swizzled
        })
        .collect();
    let number = results.iter().filter(|&&result| result).count();
    println!("{number} of {count} swizzled");
    assert!(number as u64 * 40 > count, "{number} of {count}");
}
