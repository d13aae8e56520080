//! `oriole-ptxas`: takes the place of `ptxas`. It takes the same arguments, optimizes the PTX, and runs the real one.
//!
//! Whatever goes wrong here, the real `ptxas` gets the original file: a compiler that calls this never sees a failure that is not the
//! real one's. What was not optimized, and why, is said on the standard error. `docs/ptxas.md` has the variables that set it up.

#![forbid(unsafe_code)]
// A command prints.
#![allow(clippy::print_stdout, clippy::print_stderr)]

mod arguments;
mod cache;
mod optimize;
mod real;
mod settings;
mod staged;
mod work;

use oriole_collections::recycling::Recycling;
use settings::Settings;
use std::ffi::OsString;
use std::process::ExitCode;
use work::Work;

/// Faster than the system's; see there.
#[global_allocator]
static ALLOCATOR: Recycling = Recycling;

/// Says something on the standard error.
fn say(message: &str) {
    let message = oriole_diagnostics::printable_line(message);
    eprintln!("oriole-ptxas: {message}");
}

/// Set for the programs this one runs, so that two of these never call each other.
const ACTIVE: &str = "ORIOLE_PTXAS_ACTIVE";

/// The ways to name the real `ptxas`.
const HOW_TO_NAME: &str = "set ORIOLE_REAL_PTXAS, put one on the PATH, or set CUDA_HOME";

/// Whether two files are of one owner.
#[cfg(unix)]
fn is_of_one_owner(one: &std::fs::Metadata, other: &std::fs::Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    one.uid() == other.uid()
}

#[cfg(not(unix))]
fn is_of_one_owner(_: &std::fs::Metadata, _: &std::fs::Metadata) -> bool {
    true
}

/// Lets a write beyond the largest size of a file fail instead of ending the program. The programs it runs are ended, unless the
/// signal is ignored for them too.
fn survive_file_sizes() {
    #[cfg(unix)]
    {
        use signal_hook::consts::SIGXFSZ;
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
        let ignored = ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
        if ignored.unwrap_or(0) >> (SIGXFSZ - 1) & 1 == 0 {
            // Without it the program ends as the real one would.
            let _ = signal_hook::flag::register(SIGXFSZ, std::sync::Arc::default());
        }
    }
}

fn main() -> ExitCode {
    let given: Vec<OsString> = std::env::args_os().skip(1).collect();
    let own = std::env::current_exe().ok();
    let Some(ptxas) = oriole_toolchain::real_ptxas(own.as_deref()) else {
        // No word `release`: Triton takes what follows it for the version of ptxas.
        if given.iter().any(|own| own == "--version" || own == "-V") {
            println!("oriole-ptxas {}", env!("CARGO_PKG_VERSION"));
            println!("There is no ptxas: {HOW_TO_NAME}.");
            return ExitCode::SUCCESS;
        }
        say(&format!("there is no ptxas: {HOW_TO_NAME}"));
        return ExitCode::from(2);
    };
    if std::env::var_os(ACTIVE).is_some() {
        say(&format!(
            "`{}` was run by another oriole-ptxas: set ORIOLE_REAL_PTXAS to the real ptxas",
            own.unwrap_or_default().display()
        ));
        return ExitCode::from(2);
    }
    let settings = match Settings::from_environment() {
        Ok(settings) => settings,
        Err(message) => {
            say(&format!("{message}; nothing is optimized"));
            return real::pass_through(&ptxas, &given);
        }
    };
    let parsed = arguments::parse(&given);
    let parsed = parsed.filter(|parsed| !parsed.inputs.is_empty() && !settings.is_off);
    let Some(parsed) = parsed else {
        return real::pass_through(&ptxas, &given);
    };
    survive_file_sizes();
    let ended = match Work::below(&std::env::temp_dir()) {
        Ok(work) => {
            let optimized = optimize::inputs(&parsed, &settings, &ptxas, work.path());
            optimized
                .map(|own| real::run_optimized(&ptxas, &given, &parsed, &own, &settings, &work))
        }
        Err(error) => {
            say(&format!(
                "cannot write temporary files: {error}; the original is assembled"
            ));
            return real::pass_through(&ptxas, &given);
        }
    };
    // Temporary files are removed before the program ends.
    match ended {
        Ok(ended) => ended.end(),
        Err(error) => {
            say(&format!("cannot write what was read from a pipe: {error}"));
            ExitCode::from(2)
        }
    }
}
