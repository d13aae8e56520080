//! The `oriole` command.
//!
//! Reads arguments, hands the work to the libraries, prints what they say. Exit status: 0 done; 1 a kernel trapped, or
//! findings or differences were asked to fail; 2 the input, the arguments or a file is bad; 3 Oriole itself failed.

#![forbid(unsafe_code)]
// The command is what prints; libraries never do.
#![allow(clippy::print_stdout, clippy::print_stderr)]

mod analyze;
mod arguments;
mod assembler;
mod batch;
mod check;
mod deferred;
mod diff;
mod documents;
mod dump;
mod explain;
mod extract;
mod files;
mod graphviz;
mod lists;
mod optimize;
mod output;
mod pressure;
mod reduce;
mod report;
mod run;
mod scev;
mod shell;
mod sources;
mod summary;
mod tree_text;
mod verify;

use arguments::{Arguments, Command};
use clap::Parser;
use oriole_collections::recycling::Recycling;
use std::process::ExitCode;

/// A seventh of the time went into the system's allocator, and starting others takes too long for small files.
#[global_allocator]
static ALLOCATOR: Recycling = Recycling;

/// Why a command stopped early.
#[derive(Debug)]
pub(crate) enum Failure {
    /// Everything there is to say was said.
    Reported,
    /// Likewise, and what was said is what the command is there to find: a trap, a finding, a difference.
    Found,
    /// A sentence to print.
    Message(String),
    /// A sentence about something Oriole itself did wrong.
    Wrong(String),
    /// Whoever reads our output went away: not our business to complain.
    BrokenPipe,
}

impl Failure {
    fn message(text: impl Into<String>) -> Failure {
        Failure::Message(text.into())
    }
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Failure {
        if error.kind() == std::io::ErrorKind::BrokenPipe {
            Failure::BrokenPipe
        } else {
            Failure::Message(error.to_string())
        }
    }
}

/// Threads beyond this many for each core only wait for each other.
const THREADS_PER_CORE: usize = 4;

fn most_threads() -> usize {
    THREADS_PER_CORE * std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}

/// Prints help, or what is wrong with the arguments, whose words are shown as text whatever is in them.
fn explain_usage(error: &clap::Error) -> ExitCode {
    let is_hostile = std::env::args_os().any(|argument| {
        let argument = argument.to_string_lossy();
        oriole_diagnostics::printable_text(&argument) != argument
    });
    let is_output = !error.use_stderr();
    if is_output && oriole_collections::at_start::is_output_closed() {
        eprintln!("oriole: error: {}", output::CLOSED);
        return ExitCode::from(2);
    }
    if is_hostile {
        let text = error.render().to_string();
        eprint!("{}", oriole_diagnostics::printable_text(&text));
    } else if let Err(failed) = error.print()
        && failed.kind() != std::io::ErrorKind::BrokenPipe
    {
        eprintln!("oriole: error: {failed}");
        return ExitCode::from(2);
    }
    ExitCode::from(error.exit_code() as u8)
}

fn main() -> ExitCode {
    caught(command)
}

/// Runs something; a panic, which has printed what it has to say, is a fault of ours like any other.
fn caught(run: impl FnOnce() -> ExitCode + std::panic::UnwindSafe) -> ExitCode {
    std::panic::catch_unwind(run).unwrap_or_else(|_| {
        eprintln!("oriole: error: this is a bug in Oriole, not in the input; please report it");
        ExitCode::from(3)
    })
}

fn command() -> ExitCode {
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => return explain_usage(&error),
    };
    if let Some(jobs) = arguments.common.jobs {
        let pool = rayon::ThreadPoolBuilder::new();
        let pool = match jobs.get() {
            // A thread beside this one would start, wait for work and spin while it waits.
            1 => pool.num_threads(1).use_current_thread(),
            jobs => pool.num_threads(jobs.min(most_threads())),
        };
        // Only fails if a pool exists already.
        let _ = pool.build_global();
    }
    let report = report::Reporter::new(&arguments.common);
    let format = match arguments.common.format {
        arguments::Format::Html => Some("html"),
        arguments::Format::Short => Some("short"),
        _ => None,
    };
    let is_analysis = matches!(&arguments.command, Command::Analyze(_));
    if let Some(format) = format.filter(|_| !is_analysis) {
        report.message("error", &format!("--format {format} is for oriole analyze"));
        return ExitCode::from(2);
    }
    let result = match &arguments.command {
        Command::Opt(options) => optimize::run(options, &report),
        Command::Check(options) => check::run(options, &report),
        Command::Extract(options) => extract::run(options, &report),
        Command::Dump(options) => dump::run(options, &report),
        Command::Run(options) => run::run(options, &report),
        Command::Reduce(options) => reduce::run(options, &report),
        Command::Pressure(options) => pressure::run(options, &report),
        Command::Scev(options) => scev::run(options, &report),
        Command::Analyze(options) => analyze::run(options, &report),
        Command::Explain(options) => explain::run(options, &report),
        Command::Diff(options) => diff::run(options, &report),
        Command::Passes => lists::passes(),
        Command::Knobs => lists::knobs(),
        Command::Completions { shell } => lists::completions(*shell),
        Command::Man { directory } => lists::man(directory.as_deref()),
    };
    match result {
        Ok(()) | Err(Failure::BrokenPipe) => ExitCode::SUCCESS,
        Err(Failure::Reported) => ExitCode::from(2),
        Err(Failure::Found) => ExitCode::from(1),
        Err(Failure::Wrong(message)) => {
            report.message("error", &message);
            ExitCode::from(3)
        }
        Err(Failure::Message(message)) => {
            report.message("error", &message);
            ExitCode::from(2)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_a_fault_of_ours() {
        let status = |code: ExitCode| format!("{code:?}");
        assert_eq!(
            status(caught(|| panic!("on purpose"))),
            status(ExitCode::from(3))
        );
        assert_eq!(
            status(caught(|| ExitCode::from(2))),
            status(ExitCode::from(2))
        );
    }
}
