//! `oriole-generate`: kernels at random, as modules, with statistics.

#![forbid(unsafe_code)]
#![allow(clippy::print_stdout, clippy::print_stderr)]

use oriole_generate::{Kernel, Options, Statistics, generate};
use std::io::Write;
use std::process::ExitCode;

const HELP: &str = "\
oriole-generate [--seed N] [--count N] [--statements N] [--approximate] [--stats] [--folder DIR [--per-module N]]

Prints kernels as one module, or writes modules of N kernels each into a folder. --stats prints what they are made of.
";

struct Arguments {
    seed: u64,
    count: u64,
    options: Options,
    stats: bool,
    folder: Option<String>,
    per_module: u64,
}

fn arguments() -> Result<Arguments, String> {
    let mut parsed = Arguments {
        seed: 0,
        count: 1,
        options: Options::default(),
        stats: false,
        folder: None,
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
            "--stats" => parsed.stats = true,
            "--folder" => parsed.folder = Some(value()?),
            _ => return Err(format!("unknown argument `{word}`\n\n{HELP}")),
        }
    }
    Ok(parsed)
}

fn run() -> Result<(), String> {
    let arguments = arguments()?;
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

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("oriole-generate: {message}");
            ExitCode::from(2)
        }
    }
}
