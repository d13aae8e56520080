//! Passes that stand on ScalarEvolution leave what kernels of loops write as it is.

#![allow(clippy::print_stdout)]

use oriole_emulator::{Launch, Machine, Options, Value};
use oriole_evolution::loops::{self, LoopKernel};
use oriole_syntax::tree::Module;
use rayon::prelude::*;
use std::sync::atomic::{AtomicU64, Ordering};

/// What a kernel writes; nothing if it does not end.
fn written(kernel: &LoopKernel, module: &Module) -> Option<Vec<u8>> {
    let mut machine = Machine::new(module).expect("a sound module");
    let out = machine.buffer("out", &[0; 256]);
    let number = Value::Bytes(kernel.number.to_le_bytes().to_vec());
    let launch = Launch {
        kernel: "loops",
        grid: [1; 3],
        block: [64, 1, 1],
        dynamic_shared: 0,
        arguments: vec![Value::Buffer(out), number],
    };
    let options = Options {
        step_limit: 2_000_000,
        ..Options::default()
    };
    machine.launch(&launch, &options).ok()?;
    Some(machine.read(out))
}

#[test]
fn kernels_write_the_same_behind_the_passes() {
    let count = std::env::var("ORIOLE_KERNELS").map_or(900, |it| it.parse().expect("a number"));
    let passes = [
        "range-comparisons",
        "constant-folding",
        "general-optimize",
        "exit-values",
        "dead-code",
        "loop-deletion",
        "narrow-comparisons",
        "narrow-counters",
        "stepped-addresses",
        "near-addresses",
        "counters-in-step",
        "general-optimize",
    ];
    let counters = [
        "range-comparisons.comparisons",
        "loop-deletion.loops",
        "exit-values.counters",
        "narrow-comparisons.comparisons",
        "narrow-counters.counters",
        "counters-in-step.tests",
        "stepped-addresses.pointers",
        "near-addresses.addresses",
    ];
    let rewrites = [const { AtomicU64::new(0) }; 8];
    let compared = AtomicU64::new(0);
    (0..count).into_par_iter().for_each(|seed: u64| {
        let kernel = match seed % 3 {
            0 => loops::generate(seed),
            1 => loops::generate_indexed(seed),
            _ => loops::generate_counters(seed),
        };
        let module = oriole::parse("kernel.ptx", kernel.text.as_str()).expect("PTX");
        let Some(before) = written(&kernel, &module) else {
            return;
        };
        let options = oriole::Options {
            phases: oriole_opt::select(passes).expect("passes"),
            keep: oriole::Keep::All,
            ..oriole::Options::default()
        };
        let mut changed = module.clone();
        let report = oriole::optimize(&mut changed, &options).expect("a sound module");
        for (counter, total) in counters.iter().zip(&rewrites) {
            total.fetch_add(report.statistics.get(counter), Ordering::Relaxed);
        }
        let text = oriole::print(&changed);
        let again = oriole::parse("again.ptx", text.as_str()).expect("PTX");
        let after = written(&kernel, &again);
        assert!(
            after == Some(before),
            "seed {seed} writes something else\n{text}"
        );
        compared.fetch_add(1, Ordering::Relaxed);
    });
    println!("{} kernels compared", compared.into_inner());
    for (counter, total) in counters.iter().zip(rewrites) {
        let total = total.into_inner();
        println!("{counter}: {total}");
        assert!(total > 0, "{counter}");
    }
}
