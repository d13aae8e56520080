//! `oriole-ptxas`: takes the place of `ptxas`. It takes the same arguments, optimizes the PTX, and runs the real one.
//!
//! Whatever goes wrong here, the real `ptxas` gets the original file: a compiler that calls this never sees a failure that is not the
//! real one's. What was not optimized, and why, is said on the standard error. `docs/ptxas.md` has the variables that set it up.

#![forbid(unsafe_code)]
// A command prints.
#![allow(clippy::print_stderr)]

mod arguments;
mod cache;
mod optimize;
mod real;
mod settings;

use optimize::Optimized;
use oriole_collections::recycling::Recycling;
use settings::Settings;
use std::ffi::OsString;
use std::process::ExitCode;

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

fn main() -> ExitCode {
    let given: Vec<OsString> = std::env::args_os().skip(1).collect();
    let own = std::env::current_exe().ok();
    let Some(ptxas) = oriole_toolchain::real_ptxas(own.as_deref()) else {
        say("there is no ptxas: set ORIOLE_REAL_PTXAS, put one on the PATH, or set CUDA_HOME");
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
    if settings.is_off || parsed.inputs.is_empty() {
        return real::pass_through(&ptxas, &given);
    }
    let optimized = match parsed.is_unoptimized {
        true => Optimized::default(),
        false => optimize::inputs(&given, &parsed, &settings, &ptxas),
    };
    real::run_optimized(&ptxas, &given, &parsed, &optimized, &settings)
}
