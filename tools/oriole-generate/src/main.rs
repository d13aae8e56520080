//! `oriole-generate`: kernels at random, as modules, with statistics.

#![forbid(unsafe_code)]
#![allow(clippy::print_stdout, clippy::print_stderr)]

use oriole_generate::reach::Seeds;
use oriole_generate::{Kernel, Options, Shapes, Statistics, generate};
use rayon::prelude::*;
use std::io::Write;
use std::process::ExitCode;

const HELP: &str = "\
oriole-generate [--seed N] [--count N] [--statements N] [--approximate] [--added] [--addresses] [--shapes LIST] [--stats]
                [--folder DIR [--per-module N]] [--differential | --reach [--random] | --outputs | --outputs-of FILE | --input FILE]

Prints kernels as one module, or writes modules of N kernels each into a folder. --stats prints what they are made of.
--approximate uses functions whose result is not fixed, --added forms that are not recorded on hardware, --addresses loads that share the address of narrow numbers,
--shapes any of `loads` (equal ones in several arms), `lanes` (that meet in different places) and `calls` (that write the caller's
stack), with commas between, or `all`.
--differential runs each kernel in the emulator before and after every optimization and compares all bytes.
--reach does so with mutants of the file tests and of small kernels of the corpus too, and prints how often each pass and counter fires;
with --random, without mutants.
--outputs prints, for each kernel, a checksum of what it writes in the emulator, to compare with run_on_gpu.py's.
--outputs-of FILE does so for the kernels of a file. --input FILE writes the bytes every kernel reads.
";

struct Arguments {
    seed: u64,
    count: u64,
    options: Options,
    stats: bool,
    differential: bool,
    reach: bool,
    random: bool,
    outputs: bool,
    folder: Option<String>,
    input: Option<String>,
    outputs_of: Option<String>,
    per_module: u64,
}

fn arguments() -> Result<Arguments, String> {
    let mut parsed = Arguments {
        seed: 0,
        count: 1,
        options: Options::default(),
        stats: false,
        differential: false,
        reach: false,
        random: false,
        outputs: false,
        folder: None,
        input: None,
        outputs_of: None,
        per_module: 100,
    };
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let mut value = || words.next().ok_or(format!("{word} needs a value"));
        let number = |text: String| {
            text.parse::<u64>()
                .map_err(|_| format!("`{text}` is not a number"))
        };
        match word.as_str() {
            "--seed" => parsed.seed = number(value()?)?,
            "--count" => parsed.count = number(value()?)?,
            "--per-module" => parsed.per_module = number(value()?)?.max(1),
            "--statements" => parsed.options.statements = number(value()?)? as usize,
            "--approximate" => parsed.options.approximate = true,
            "--added" => parsed.options.added = true,
            "--addresses" => parsed.options.addresses = true,
            "--shapes" => parsed.options.shapes = shapes(&value()?)?,
            "--stats" => parsed.stats = true,
            "--differential" => parsed.differential = true,
            "--reach" => parsed.reach = true,
            "--random" => parsed.random = true,
            "--outputs" => parsed.outputs = true,
            "--folder" => parsed.folder = Some(value()?),
            "--input" => parsed.input = Some(value()?),
            "--outputs-of" => parsed.outputs_of = Some(value()?),
            _ => return Err(format!("unknown argument `{word}`\n\n{HELP}")),
        }
    }
    Ok(parsed)
}

/// The shapes a list names.
fn shapes(list: &str) -> Result<Shapes, String> {
    let mut shapes = Shapes::default();
    for name in list.split(',') {
        match name {
            "all" => shapes = Shapes::ALL,
            "loads" => shapes.loads = true,
            "lanes" => shapes.lanes = true,
            "calls" => shapes.calls = true,
            _ => return Err(format!("there is no shape `{name}`\n\n{HELP}")),
        }
    }
    Ok(shapes)
}

fn run() -> Result<(), String> {
    let arguments = arguments()?;
    if let Some(file) = &arguments.input {
        let bytes = oriole_generate::differential::input();
        return std::fs::write(file, bytes).map_err(|error| format!("{file}: {error}"));
    }
    if let Some(file) = &arguments.outputs_of {
        return print_outputs_of(file);
    }
    if arguments.differential {
        return differential(&arguments);
    }
    if arguments.reach {
        return reach(&arguments);
    }
    if arguments.outputs {
        return print_outputs(&arguments);
    }
    let mut statistics = Statistics::new();
    let mut module = String::from(Kernel::HEADER);
    for index in 0..arguments.count {
        let kernel = generate(arguments.seed + index, arguments.options);
        for (name, count) in &kernel.statistics {
            *statistics.entry(name.clone()).or_default() += count;
        }
        module.push_str(&kernel.text);
        let last = index + 1 == arguments.count;
        if let Some(folder) = &arguments.folder
            && (last || (index + 1) % arguments.per_module == 0)
        {
            std::fs::create_dir_all(folder).map_err(|error| error.to_string())?;
            let file = format!("{folder}/generated_{:06}.ptx", index / arguments.per_module);
            std::fs::write(&file, &module).map_err(|error| format!("{file}: {error}"))?;
            module = String::from(Kernel::HEADER);
        }
    }
    if arguments.stats {
        for (name, count) in statistics {
            println!("{count:>10}  {name}");
        }
    } else if arguments.folder.is_none() {
        // A reader that goes away is no error.
        let _ = std::io::stdout().write_all(module.as_bytes());
    }
    Ok(())
}

/// Compares all kernels under all optimizations, in parallel; the first failures are listed.
fn differential(arguments: &Arguments) -> Result<(), String> {
    let optimizations = oriole_generate::differential::optimizations();
    let failures: Vec<String> = (arguments.seed..arguments.seed + arguments.count)
        .into_par_iter()
        .flat_map_iter(|seed| {
            let kernel = generate(seed, arguments.options);
            optimizations
                .iter()
                .filter_map(|(name, options)| {
                    let outcome = oriole_generate::differential::compare(&kernel, options);
                    outcome.err().map(|message| format!("{name}: {message}"))
                })
                .collect::<Vec<_>>()
        })
        .collect();
    for failure in failures.iter().take(20) {
        println!("{failure}");
    }
    if failures.is_empty() {
        println!(
            "{} kernels write the same bytes under each of {} optimizations",
            arguments.count,
            optimizations.len()
        );
        Ok(())
    } else {
        Err(format!("{} comparisons failed", failures.len()))
    }
}

/// Prints how often each pass and counter fires; those that do not fire first.
fn reach(arguments: &Arguments) -> Result<(), String> {
    let seeds = match arguments.random {
        true => Seeds::none(),
        false => Seeds::read()?,
    };
    let numbers = arguments.seed..arguments.seed + arguments.count;
    let reached = oriole_generate::reach::reach(&seeds, numbers, u64::MAX)?;
    let mut lines: Vec<(u64, String)> = oriole_generate::reach::names()?
        .into_iter()
        .map(|name| (reached.counts.get(&name).copied().unwrap_or(0), name))
        .collect();
    lines.sort();
    for (count, name) in lines {
        println!("| {count} | `{name}` |");
    }
    for wrong in reached.wrong.iter().take(20) {
        println!("{wrong}");
    }
    println!(
        "{} kernels ran, of {} seeds; {} mutants did not",
        reached.kernels,
        seeds.count(),
        reached.refused
    );
    match reached.wrong.len() {
        0 => Ok(()),
        count => Err(format!("{count} comparisons failed")),
    }
}

/// One line a kernel: its name and the CRC-32 of what it writes, as `run_on_gpu.py` prints it.
fn print_outputs(arguments: &Arguments) -> Result<(), String> {
    let lines: Vec<String> = (arguments.seed..arguments.seed + arguments.count)
        .into_par_iter()
        .map(|seed| {
            let kernel = generate(seed, arguments.options);
            let module = oriole::parse(kernel.name.as_str(), kernel.module())
                .map_err(|error| error.to_string())?;
            let bytes = oriole_generate::differential::outputs(&module, &kernel.name)
                .map_err(|message| format!("{}: {message}", kernel.name))?;
            Ok(format!("{} {:08x}", kernel.name, crc32fast::hash(&bytes)))
        })
        .collect::<Result<_, String>>()?;
    for line in lines {
        println!("{line}");
    }
    Ok(())
}

/// The same for every kernel of a file.
fn print_outputs_of(file: &str) -> Result<(), String> {
    let text = std::fs::read_to_string(file).map_err(|error| format!("{file}: {error}"))?;
    let module = oriole::parse(file, text).map_err(|error| error.to_string())?;
    for function in &module.functions {
        let name = module.text(function.name);
        if function.kind == oriole_syntax::tree::FunctionKind::Entry && function.body.is_some() {
            // What a kernel makes of what nothing wrote is nobody's business: such a file has no outputs to compare.
            if let Some(finding) = oriole_generate::differential::findings(&module, name)?.first() {
                return Err(format!("{name}: {}", finding.message));
            }
            let bytes = oriole_generate::differential::outputs(&module, name)?;
            println!("{name} {:08x}", crc32fast::hash(&bytes));
        }
    }
    Ok(())
}

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("oriole-generate: {message}");
            ExitCode::from(2)
        }
    }
}
