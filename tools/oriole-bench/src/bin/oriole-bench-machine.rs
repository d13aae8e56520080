//! Measures what `opt -O2` does to machine code, with the real `ptxas`, by class of input.
//!
//!     cargo run --release -p oriole-bench --bin oriole-bench-machine -- [OPTIONS] [FILE|FOLDER|@LIST ...]
//!
//!     --targets sm_80,sm_90   what to assemble for (default; --record takes all of docs/sizes.md)
//!     --worst N               also list the N kernels of each class that grow most
//!     --check                 fail if a class is over half a percent above tests/corpus/machine.tsv, or newly spills
//!     --record                write tests/corpus/machine.tsv and docs/sizes.md
//!
//! `ptxas` is that of `ORIOLE_PTXAS`, `PTXAS` or the `PATH`. Without files the corpus is measured; a list has a file on each line.

#![forbid(unsafe_code)]
#![allow(clippy::print_stdout, clippy::print_stderr)]

use oriole::machine::find_ptxas;
use oriole_bench::machine::{Class, Found, Kernel, Summary, measure, summaries};
use oriole_isa::Target;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// What is checked.
const CHECKED: &[&str] = &["sm_80", "sm_90"];
/// What is in the documentation.
const DOCUMENTED: &[&str] = &["sm_75", "sm_80", "sm_90", "sm_100", "sm_120"];
/// By how much a mean may be above the recorded one.
const MOST_ABOVE: f64 = 0.005;
/// How many kernels of each end the documentation lists.
const LISTED: usize = 15;

const INTRODUCTION: &str = "\
# How much smaller code gets

In machine instructions, as `ptxas -O3` makes them of what `opt -O2` leaves, over `tests/corpus`. Padding does not count; *by depth*
counts an instruction ten times for each loop around it. Means are geometric, of the instructions after divided by those before,
kernel by kernel: below 1 is better. *Registers up*: over four more without more resident warps. `ptxas` unrolls loops as it likes, so a
kernel may get much smaller or bigger without being better or worse: *others* are kernels that access memory over a quarter more or
less often, counted by depth, because a loop was unrolled otherwise or loads are gone; the mean without them follows.

    cargo run --release -p oriole-bench --bin oriole-bench-machine -- --record

writes this file and `tests/corpus/machine.tsv`, which CI checks sm_80 and sm_90 against. Any other files, by folder or list:

    cargo run --release -p oriole-bench --bin oriole-bench-machine -- --targets sm_75,sm_120 --worst 20 FOLDER

`oriole opt --ptxas` measures one file, and keeps the original of a kernel that got worse.
";

const PTX: &str = "
## In PTX instructions

    tests/llvm/compare                                            against LLVM's scalar optimizations, function by function
    cargo run --release -p oriole-bench --bin oriole-bench-size   what is left of unoptimized kernels

`crates/oriole/tests/against_llvm.rs` holds the first to 1.05 times LLVM's instructions; of unoptimized kernels without calls at most
60 % of the instructions that do not access local memory may be left.
";

struct Arguments {
    targets: Vec<Target>,
    worst: usize,
    check: bool,
    record: bool,
    files: Vec<PathBuf>,
    /// What is left out of the names of files.
    shown: PathBuf,
}

fn targets(names: &[&str]) -> Result<Vec<Target>, String> {
    let target =
        |name: &&str| Target::from_text(name).ok_or_else(|| format!("`{name}` is no target"));
    names.iter().map(target).collect()
}

fn arguments() -> Result<Arguments, String> {
    let mut own = Arguments {
        targets: targets(CHECKED)?,
        worst: 0,
        check: false,
        record: false,
        files: Vec::new(),
        shown: PathBuf::new(),
    };
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let mut value = || words.next().ok_or_else(|| format!("{word} needs a value"));
        match word.as_str() {
            "--targets" => {
                let value = value()?;
                own.targets = targets(&value.split(',').collect::<Vec<_>>())?;
            }
            "--worst" => own.worst = value()?.parse().map_err(|_| "--worst needs a number")?,
            "--check" => own.check = true,
            "--record" => {
                own.record = true;
                own.targets = targets(DOCUMENTED)?;
            }
            option if option.starts_with("--") => return Err(format!("no option `{option}`")),
            path => match path.strip_prefix('@') {
                Some(list) => {
                    let list = std::fs::read_to_string(list).map_err(|error| error.to_string())?;
                    own.files.extend(list.lines().map(PathBuf::from));
                }
                None if Path::new(path).is_dir() => {
                    own.files.extend(oriole_corpus::below(Path::new(path)));
                }
                None => own.files.push(path.into()),
            },
        }
    }
    if own.files.is_empty() {
        own.shown = oriole_corpus::folder();
        own.files = oriole_corpus::below(&own.shown);
    } else if own.check || own.record {
        return Err("--check and --record are about the corpus".to_owned());
    }
    Ok(own)
}

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("oriole-bench-machine: {message}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), String> {
    let arguments = arguments()?;
    let ptxas = find_ptxas(None).ok_or("there is no ptxas: set ORIOLE_PTXAS")?;
    let found = measure(
        &arguments.files,
        &arguments.shown,
        &arguments.targets,
        &ptxas,
    );
    let summaries = summaries(&found.kernels, &arguments.targets);
    print!("{}", table(&summaries));
    println!(
        "\n{} files, {} assemblies refused",
        arguments.files.len(),
        found.refused
    );
    for class in Class::ALL.into_iter().filter(|_| arguments.worst > 0) {
        println!("\n{}", class.text());
        for kernel in by_ratio(&found, |own| own.class == class, true)
            .into_iter()
            .take(arguments.worst)
        {
            println!("{}", line(kernel, "  ", ""));
        }
    }
    if !found.faults.is_empty() {
        return Err(format!(
            "ptxas refuses what Oriole made:\n{}",
            found.faults.join("\n")
        ));
    }
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let recorded = folder.join("tests/corpus/machine.tsv");
    if arguments.record {
        let write = |path: PathBuf, text: String| {
            std::fs::write(&path, text).map_err(|error| format!("{}: {error}", path.display()))
        };
        write(recorded, as_lines(&summaries))?;
        return write(folder.join("docs/sizes.md"), document(&found, &summaries));
    }
    if arguments.check {
        let text = std::fs::read_to_string(&recorded)
            .map_err(|error| format!("{}: {error}", recorded.display()))?;
        check(&summaries, &text)?;
        println!("no class is worse than recorded");
    }
    Ok(())
}

/// A table in Markdown, which people can read too.
fn table(summaries: &[(Class, Target, Summary)]) -> String {
    let mut text = String::from(
        "| input | target | kernels | mean | by depth | others | mean without | smaller | bigger | above 1.03 | newly spilling | registers up |\n\
         |---|---|---|---|---|---|---|---|---|---|---|---|\n",
    );
    for (class, target, own) in summaries {
        let _ = writeln!(
            text,
            "| {} | {target} | {} | {:.4} | {:.4} | {} | {:.4} | {} | {} | {} ({:.1} %) | {} | {} |",
            class.text(),
            own.kernels,
            own.mean,
            own.mean_by_depth,
            own.other_accesses,
            own.mean_of_others,
            own.smaller,
            own.bigger,
            own.above,
            100.0 * own.above as f64 / own.kernels as f64,
            own.newly_spilling,
            own.registers_up
        );
    }
    text
}

/// What is checked in: a line for each class and target that CI measures.
fn as_lines(summaries: &[(Class, Target, Summary)]) -> String {
    let mut text = String::from(
        "# made by oriole-bench-machine --record\n#class\ttarget\tkernels\tmean\tnewly_spilling\n",
    );
    for (class, target, own) in summaries {
        if CHECKED.contains(&target.to_string().as_str()) {
            let _ = writeln!(
                text,
                "{}\t{target}\t{}\t{:.4}\t{}",
                class.text(),
                own.kernels,
                own.mean,
                own.newly_spilling
            );
        }
    }
    text
}

/// Compares with what is checked in.
fn check(summaries: &[(Class, Target, Summary)], recorded: &str) -> Result<(), String> {
    let mut worse = Vec::new();
    let mut checked = 0;
    for line in recorded.lines().filter(|line| !line.starts_with('#')) {
        let [class, target, kernels, mean, spilling] = line.split('\t').collect::<Vec<_>>()[..]
        else {
            return Err(format!("five columns are expected: {line}"));
        };
        let (Ok(kernels), Ok(mean), Ok(spilling)) = (
            kernels.parse::<usize>(),
            mean.parse::<f64>(),
            spilling.parse::<usize>(),
        ) else {
            return Err(format!("numbers are expected: {line}"));
        };
        let own = summaries
            .iter()
            .find(|(own, on, _)| own.text() == class && on.to_string() == target);
        let Some((_, _, own)) = own else {
            worse.push(format!("{class} on {target}: nothing was measured"));
            continue;
        };
        checked += 1;
        if own.kernels != kernels {
            worse.push(format!(
                "{class} on {target}: {} kernels, {kernels} are recorded",
                own.kernels
            ));
        }
        if own.mean > mean + MOST_ABOVE {
            worse.push(format!(
                "{class} on {target}: {:.4} times the instructions, {mean} is recorded",
                own.mean
            ));
        }
        if own.newly_spilling > spilling {
            worse.push(format!(
                "{class} on {target}: {} kernels newly spill, {spilling} are recorded",
                own.newly_spilling
            ));
        }
    }
    match worse.is_empty() && checked > 0 {
        true => Ok(()),
        false => Err(format!(
            "worse than tests/corpus/machine.tsv, which --record writes:\n{}",
            worse.join("\n")
        )),
    }
}

/// Kernels of one kind, the worst or the best first, without those that did not change.
fn by_ratio(found: &Found, is_wanted: impl Fn(&Kernel) -> bool, worst: bool) -> Vec<&Kernel> {
    let mut kernels: Vec<&Kernel> = found
        .kernels
        .iter()
        .filter(|own| is_wanted(own) && (own.ratio() > 1.0) == worst && own.ratio() != 1.0)
        .collect();
    kernels.sort_by(|one, other| {
        let order = one.ratio().total_cmp(&other.ratio());
        let order = if worst { order.reverse() } else { order };
        order.then_with(|| one.name.cmp(&other.name))
    });
    kernels
}

/// One kernel, in columns.
fn line(kernel: &Kernel, between: &str, quote: &str) -> String {
    let (before, after) = (&kernel.before.code, &kernel.after.code);
    [
        format!("{quote}{}{quote}", kernel.name),
        kernel.target.to_string(),
        before.instructions.to_string(),
        after.instructions.to_string(),
        format!("{:.3}", kernel.ratio()),
        format!("{:.3}", kernel.ratio_by_depth()),
        before.registers.to_string(),
        after.registers.to_string(),
    ]
    .join(between)
}

/// All of docs/sizes.md.
fn document(found: &Found, summaries: &[(Class, Target, Summary)]) -> String {
    let mut text = format!("{INTRODUCTION}\n{}", table(summaries));
    for (title, worst) in [
        ("What gets smallest, on sm_90", false),
        ("What gets biggest, on sm_90", true),
    ] {
        let _ = write!(
            text,
            "\n## {title}\n\n| kernel | target | before | after | ratio | by depth | registers | after |\n\
             |---|---|---|---|---|---|---|---|\n"
        );
        for class in [Class::Nvcc, Class::Triton, Class::Unoptimized] {
            let own = |own: &Kernel| own.class == class && own.target.to_string() == "sm_90";
            for kernel in by_ratio(found, own, worst).into_iter().take(LISTED) {
                let _ = writeln!(text, "| {} |", line(kernel, " | ", "`"));
            }
        }
    }
    text + PTX
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_recorded_is_what_is_checked() {
        let summary = |mean, newly_spilling| Summary {
            kernels: 7,
            mean,
            newly_spilling,
            ..Summary::default()
        };
        let with = |own| [(Class::Nvcc, Target::new(9, 0), own)];
        let recorded = as_lines(&with(summary(0.99, 1)));
        assert_eq!(check(&with(summary(0.9949, 1)), &recorded), Ok(()));
        assert!(check(&with(summary(0.9951, 1)), &recorded).is_err());
        assert!(check(&with(summary(0.9, 2)), &recorded).is_err());
        assert!(check(&[], &recorded).is_err());
        assert!(check(&with(summary(0.9, 0)), "# nothing\n").is_err());
    }
}
