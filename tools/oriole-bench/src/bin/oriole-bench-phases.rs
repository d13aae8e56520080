//! Counts what each phase of `opt -O3` does to the corpus.
//!
//!     cargo run --release -p oriole-bench --bin oriole-bench-phases
//!
//! For each phase: how many rewrites it makes, in how many files it makes any, and how many instructions it adds, less those it removes.

#![forbid(unsafe_code)]
#![allow(clippy::print_stdout, clippy::print_stderr)]

use oriole::{Level, Options};
use oriole_opt::documented_name;
use std::process::ExitCode;

/// The work of a phase. The same pass at two places without a number is one.
struct Work {
    number: Option<u16>,
    pass: &'static str,
    rewrites: u64,
    files: u64,
    instructions: i64,
}

fn main() -> ExitCode {
    let mut works: Vec<Work> = Vec::new();
    for phase in oriole_opt::pipeline(Level::Aggressive) {
        let (number, pass) = (phase.number, phase.pass.name);
        if !works
            .iter()
            .any(|work| (work.number, work.pass) == (number, pass))
        {
            works.push(Work {
                number,
                pass,
                rewrites: 0,
                files: 0,
                instructions: 0,
            });
        }
    }
    let files = oriole_corpus::files();
    for path in &files {
        let optimized = std::fs::read_to_string(path)
            .map_err(|error| error.to_string())
            .and_then(|text| {
                let name = path.display().to_string();
                let mut module = oriole::parse(&name, text).map_err(|_| "cannot be read")?;
                oriole::optimize(&mut module, &Options::level(Level::Aggressive))
                    .map_err(|error| error.to_string())
            });
        let report = match optimized {
            Ok(report) => report,
            Err(error) => {
                eprintln!("{}: {error}", path.display());
                return ExitCode::FAILURE;
            }
        };
        for found in report.statistics.phases() {
            // Other work, such as translation, is left out.
            let key = (found.number, found.pass);
            let Some(work) = works
                .iter_mut()
                .find(|work| (work.number, work.pass) == key)
            else {
                continue;
            };
            work.rewrites += found.rewrites;
            work.files += u64::from(found.rewrites > 0);
            work.instructions += found.instructions;
        }
    }
    println!("| of `ptxas` | pass | rewrites | files | instructions |");
    println!("|---|---|---|---|---|");
    for work in works {
        let theirs = work.number.map_or(String::new(), |number| {
            format!("{number} {}", documented_name(number).unwrap_or("unnamed"))
        });
        println!(
            "| {theirs} | `{}` | {} | {} | {:+} |",
            work.pass, work.rewrites, work.files, work.instructions
        );
    }
    println!("\n{} files", files.len());
    ExitCode::SUCCESS
}
