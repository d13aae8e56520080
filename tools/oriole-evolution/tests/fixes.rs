//! What a fix is said to save is what the changed kernel saves.

#![allow(clippy::print_stdout)]

use oriole::{AccessOptions, KernelAccesses};
use oriole_corpus::launches;
use std::collections::BTreeMap;
use std::path::Path;

fn analyzed(text: &str, kernel: &str, block: [u32; 3]) -> Option<KernelAccesses> {
    let module = oriole::parse("kernel.ptx", text).expect("it is well formed");
    let options = AccessOptions {
        block: Some(block),
        kernel: Some(kernel.to_owned()),
        ..AccessOptions::default()
    };
    let (mut kernels, _) = oriole::accesses(&module, &options).expect("it is sound");
    // Of some it cannot be told where control goes.
    kernels.pop()
}

/// The text with threads along x and y exchanged, and the sizes of blocks.
fn exchanged(text: &str) -> String {
    let mut text = text.to_owned();
    for name in ["%tid", "%ntid"] {
        let (x, y) = (format!("{name}.x"), format!("{name}.y"));
        text = text.replace(&x, "%exchanged").replace(&y, &x);
        text = text.replace("%exchanged", &y);
    }
    text
}

/// Kernels of which it is said that exchanging threads along x and y saves something do save that if it is done.
#[test]
fn exchanged_threads_save_what_is_said() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/corpus");
    // Each kernel once, by file.
    let kernels: BTreeMap<_, _> = launches(&corpus)
        .into_iter()
        .map(|(run, file)| ((file, run.kernel.clone()), run.block))
        .filter(|(_, block)| block[1] > 1)
        .collect();
    let mut count = 0;
    for ((file, kernel), [x, y, z]) in kernels {
        let text = std::fs::read_to_string(&file).expect("a file");
        let Some(before) = analyzed(&text, &kernel, [x, y, z]) else {
            continue;
        };
        let mut fixes = before.fixes.iter();
        let Some(fix) = fixes.find(|fix| fix.kind == "exchange-threads") else {
            continue;
        };
        let after = analyzed(&exchanged(&text), &kernel, [y, x, z]).expect("the same kernel");
        let weight = |kernel: &KernelAccesses| {
            let weights = kernel.accesses.iter().map(|own| own.cost.weight());
            weights.sum::<f64>()
        };
        let name = file.display();
        let (said, found) = ((fix.before, fix.after), (weight(&before), weight(&after)));
        assert!(
            (said.0 - found.0).abs() < 1e-6 && (said.1 - found.1).abs() < 1e-6,
            "{name}, {kernel}: {said:?}, not {found:?}"
        );
        count += 1;
    }
    println!("{count} kernels");
    assert!(count > 0);
}
