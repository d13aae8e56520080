//! Runs every kernel of the modules in a folder and prints a checksum of what each wrote.
//!
//! ```text
//! cargo run --release -p oriole-emulator --example run_folder -- FOLDER OUTPUT_BYTES [CHECKSUMS]
//! ```
//!
//! For kernels of `oriole-generate`: two parameters, 4096 bytes of input (`random`) and OUTPUT_BYTES of zeroes, two blocks of 64
//! threads. `ORIOLE_CHECK=1` looks for uninitialised reads and races. With a file of checksums, such as `record_folder.py` writes on a GPU, it prints those that differ.

#![allow(
    clippy::print_stdout,
    reason = "a command reports on its standard output"
)]

use std::collections::BTreeMap;
use std::process::ExitCode;

use oriole_emulator::{Argument, Launch, Machine, Options, Value};
use rayon::prelude::*;

/// The checksum of zlib.
fn crc32(data: &[u8]) -> u32 {
    !data.iter().fold(u32::MAX, |mut crc, &byte| {
        crc ^= u32::from(byte);
        for _ in 0..8 {
            crc = crc >> 1 ^ if crc & 1 != 0 { 0xedb8_8320 } else { 0 };
        }
        crc
    })
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [folder, bytes, rest @ ..] = &arguments[..] else {
        println!("usage: run_folder FOLDER OUTPUT_BYTES [CHECKSUMS]");
        return ExitCode::from(2);
    };
    let bytes: usize = bytes.parse().expect("a number of bytes");
    let mut files: Vec<_> = std::fs::read_dir(folder)
        .expect("a folder")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "ptx"))
        .collect();
    files.sort();
    let dump = std::env::var("ORIOLE_DUMP").ok();
    let results: Vec<(String, String)> = files
        .par_iter()
        .flat_map(|path| {
            let text = std::fs::read_to_string(path).expect("a module");
            let (module, errors) = oriole_syntax::parse(path.to_string_lossy(), text);
            assert!(
                errors.is_empty(),
                "{}: {}",
                path.display(),
                errors[0].message
            );
            let mut machine = Machine::new(&module).expect("a valid module");
            let kernels: Vec<String> = machine.kernels().map(str::to_string).collect();
            let mut run = |kernel: String| {
                let input = Argument::parse("in:u8[4096]=random", 0, 0).expect("valid");
                let output = Argument::parse(&format!("out:u8[{bytes}]"), 1, 0).expect("valid");
                let values = machine.arguments(&[input, output]);
                let Value::Buffer(out) = values[1] else {
                    unreachable!()
                };
                let launch = Launch {
                    kernel: &kernel,
                    grid: [2, 1, 1],
                    block: [64, 1, 1],
                    dynamic_shared: 0,
                    arguments: values,
                };
                let check = std::env::var_os("ORIOLE_CHECK").is_some();
                let options = Options {
                    parallel: false,
                    check_uninitialized: check,
                    check_races: check,
                    ..Options::default()
                };
                let result = match machine.launch(&launch, &options) {
                    Ok(report) if !report.findings.is_empty() => {
                        let finding = &report.findings[0];
                        format!("line {}: {}", finding.ptx_line, finding.message)
                    }
                    Ok(_) => format!("{:08x}", crc32(&machine.read(out))),
                    Err(trap) => trap.to_string(),
                };
                if dump.as_ref() == Some(&kernel) {
                    std::fs::write(format!("{kernel}.bin"), machine.read(out)).expect("the dump");
                }
                (kernel, result)
            };
            kernels.into_iter().map(&mut run).collect::<Vec<_>>()
        })
        .collect();
    let Some(path) = rest.first() else {
        for (kernel, result) in results {
            println!("{kernel} {result}");
        }
        return ExitCode::SUCCESS;
    };
    let text = std::fs::read_to_string(path).expect("checksums");
    let expected: BTreeMap<&str, &str> = text
        .lines()
        .filter_map(|line| line.split_once(' '))
        .collect();
    let mut wrong = 0;
    for (kernel, result) in &results {
        let recorded = expected.get(&kernel[..]).copied().unwrap_or("nothing");
        if recorded != result {
            wrong += 1;
            println!("{kernel}: {result}, recorded {recorded}");
        }
    }
    println!("{} kernels, {wrong} differ", results.len());
    ExitCode::from(u8::from(wrong > 0))
}
