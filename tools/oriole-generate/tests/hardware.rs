//! What generated kernels write on a GPU, recorded, against the emulator.
//!
//! To record again, once the generator has changed, on a machine with a GPU:
//!
//! ```text
//! oriole-generate --count 15000 --folder generated && oriole-generate --input input.bin
//! tools/oriole-generate/run_on_gpu.py generated input.bin > gpu.txt
//! ```
//!
//! `data/h200.txt` is `gpu.txt` behind a line that names the machine and one with the checksum of all kernels, which this test prints.
//! Lines that end in `-O0` were recorded with `ptxas -O0`: of these few kernels optimization by ptxas makes something else, before
//! and after Oriole, which shows in that `-O0` gives what the emulator does (`reduce_on_gpu.py` prints every level).

use oriole_generate::differential::outputs;
use oriole_generate::{Options, generate};
use rayon::prelude::*;

const RECORDED: &str = include_str!("data/h200.txt");

#[test]
fn generated_kernels_write_what_they_wrote_on_the_gpu() {
    let mut lines = RECORDED.lines();
    let machine = lines.next().expect("a machine");
    let checksum = lines.next().expect("a checksum");
    let mut unoptimized = 0;
    let recorded: Vec<&str> = lines
        .map(|line| match line.strip_suffix(" -O0") {
            Some(line) => {
                unoptimized += 1;
                line
            }
            None => line,
        })
        .collect();
    assert!(recorded.len() >= 10_000, "{} kernels", recorded.len());
    assert!(
        unoptimized * 1000 < recorded.len(),
        "{unoptimized} kernels that ptxas gets wrong"
    );

    // Unoptimized, emulation takes its time; kernels are drawn from all over the recording.
    let step = if cfg!(debug_assertions) { 25 } else { 1 };
    let texts: Vec<_> = (0..recorded.len() as u64)
        .into_par_iter()
        .map(|seed| generate(seed, Options::default()))
        .collect();
    let mut hasher = crc32fast::Hasher::new();
    for kernel in &texts {
        hasher.update(kernel.text.as_bytes());
    }
    let found = format!("# kernels {:08x}", hasher.finalize());
    assert_eq!(
        checksum, found,
        "the generator has changed; record its kernels again"
    );
    let wrong: Vec<String> = texts
        .par_iter()
        .zip(&recorded)
        .step_by(step)
        .filter_map(|(kernel, recorded)| {
            let module = oriole::parse(kernel.name.as_str(), kernel.module()).expect("valid");
            let bytes = outputs(&module, &kernel.name).expect("runs");
            let line = format!("{} {:08x}", kernel.name, crc32fast::hash(&bytes));
            (line != *recorded).then(|| format!("{line} here, {recorded} there"))
        })
        .collect();
    assert!(wrong.is_empty(), "{machine}\n{}", wrong.join("\n"));
}
