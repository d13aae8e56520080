//! How the time of `oriole check`, `opt -O3`, `opt -O3 --diff`, `opt -O3 --verify`, `pressure`, `scev` and `analyze` grows with the size of their input, on shapes
//! that punish anything worse than linear.
//!
//!     cargo build --profile dist -p oriole-cli
//!     cargo run --profile dist -p oriole-bench --bin oriole-bench-growth -- [--oriole PATH] [--from N] [--to N] [--rounds N]
//!         [--instructions] [--shape NAME] [--command NAME] [--write FOLDER]
//!
//! The command runs in a process of its own on files of 10,000 and 160,000 statements, and the processor time of the fastest
//! round counts. The exponent is that of the power of the size which leads from one time to the other, the time of an empty
//! kernel taken off both; it must not be above 1.1. With `--instructions` machine instructions under callgrind are counted
//! instead: other work on the machine and its caches do not change these.

#![forbid(unsafe_code)]
#![allow(clippy::print_stdout, clippy::print_stderr)]

use oriole_bench::{GROWTH_SHAPES, clock};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

/// The exponent that must not be exceeded.
const BAR: f64 = 1.1;

/// What is measured: the arguments before the file.
const COMMANDS: &[(&str, &[&str])] = &[
    ("check", &["check", "--quiet"]),
    ("opt -O3", &["opt", "-O3", "-o", "/dev/null"]),
    ("--diff", &["opt", "-O3", "--diff"]),
    ("--verify", &["opt", "-O3", "--verify", "-o", "/dev/null"]),
    ("pressure", &["pressure", "--json"]),
    ("scev", &["scev", "--json"]),
    ("analyze", &["analyze", "--json"]),
];

struct Options {
    oriole: PathBuf,
    from: usize,
    to: usize,
    rounds: usize,
    instructions: bool,
    shape: Option<String>,
    command: Option<String>,
    write: Option<PathBuf>,
}

fn options() -> Option<Options> {
    let own = std::env::current_exe().ok()?;
    let mut options = Options {
        oriole: own.with_file_name("oriole"),
        from: 10_000,
        to: 160_000,
        rounds: 3,
        instructions: false,
        shape: None,
        command: None,
        write: None,
    };
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        if argument == "--instructions" {
            options.instructions = true;
            continue;
        }
        let value = arguments.next()?;
        match argument.as_str() {
            "--oriole" => options.oriole = value.into(),
            "--from" => options.from = value.parse().ok()?,
            "--to" => options.to = value.parse().ok()?,
            "--rounds" => options.rounds = value.parse().ok()?,
            "--shape" => options.shape = Some(value),
            "--command" => options.command = Some(value),
            "--write" => options.write = Some(value.into()),
            _ => return None,
        }
    }
    Some(options)
}

/// What a command on a file costs: milliseconds of processor time, the best of some rounds, or a million machine instructions.
/// Nothing if it fails.
fn cost(options: &Options, arguments: &[&str], file: &Path) -> Option<f64> {
    let mut best = f64::INFINITY;
    let rounds = if options.instructions {
        1
    } else {
        options.rounds
    };
    for _ in 0..rounds.max(1) {
        let start = clock::of_children();
        let mut command = if options.instructions {
            let mut command = Command::new("valgrind");
            command
                .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
                .arg(&options.oriole);
            command
        } else {
            Command::new(&options.oriole)
        };
        let output = command
            .args(arguments)
            .arg(file)
            .args(["--jobs", "1"])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .output()
            .ok()?;
        if !output.status.success() {
            return None;
        }
        let cost = if options.instructions {
            let said = String::from_utf8_lossy(&output.stderr);
            let (_, count) = said.split_once("Collected : ")?;
            count.split_whitespace().next()?.parse::<f64>().ok()? / 1e6
        } else {
            (clock::of_children() - start).as_secs_f64() * 1e3
        };
        best = best.min(cost);
    }
    Some(best)
}

fn main() -> ExitCode {
    let Some(options) = options() else {
        eprintln!(
            "usage: oriole-bench-growth [--oriole PATH] [--from N] [--to N] [--rounds N] [--instructions] [--shape NAME] [--command NAME] \
             [--write FOLDER]"
        );
        return ExitCode::from(2);
    };
    let folder = match tempfile::tempdir() {
        Ok(folder) => folder,
        Err(error) => {
            eprintln!("cannot make a folder: {error}");
            return ExitCode::from(2);
        }
    };
    let write = |name: &str, text: &str| {
        let file = options.write.as_deref().unwrap_or(folder.path()).join(name);
        std::fs::write(&file, text).map(|()| file)
    };
    let empty = match write(
        "empty.ptx",
        ".version 8.0\n.target sm_80\n.address_size 64\n.entry k()\n{\nret;\n}\n",
    ) {
        Ok(empty) => empty,
        Err(error) => {
            eprintln!("cannot write a file: {error}");
            return ExitCode::from(2);
        }
    };
    println!(
        "{} against {} statements, {}\n{:24} {:>10} {:>10} {:>10}  exponent",
        options.to,
        options.from,
        if options.instructions {
            "million machine instructions".to_owned()
        } else {
            format!("milliseconds, the best of {} rounds", options.rounds)
        },
        "shape",
        "command",
        "small",
        "large"
    );
    let mut reached = true;
    for shape in GROWTH_SHAPES {
        if options
            .shape
            .as_deref()
            .is_some_and(|own| own != shape.name)
        {
            continue;
        }
        let files = [options.from, options.to].map(|statements| {
            write(
                &format!("{}-{statements}.ptx", shape.name),
                &(shape.make)(statements),
            )
        });
        let [Ok(small), Ok(large)] = files else {
            eprintln!("cannot write a file");
            return ExitCode::from(2);
        };
        for (name, arguments) in COMMANDS {
            if options.command.as_deref().is_some_and(|own| own != *name) {
                continue;
            }
            let measure = |file: &Path| cost(&options, arguments, file);
            let (Some(start), Some(one), Some(other)) =
                (measure(&empty), measure(&small), measure(&large))
            else {
                println!("{:24} {name:>10} FAILED", shape.name);
                reached = false;
                continue;
            };
            let work = |cost: f64| (cost - start).max(1e-3);
            let exponent =
                (work(other) / work(one)).ln() / (options.to as f64 / options.from as f64).ln();
            reached &= exponent <= BAR;
            println!(
                "{:24} {name:>10} {one:10.1} {other:10.1}  {exponent:5.2}{}",
                shape.name,
                if exponent > BAR { "  ABOVE 1.1" } else { "" }
            );
        }
    }
    if reached {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}
