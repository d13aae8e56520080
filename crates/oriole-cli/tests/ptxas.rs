//! The real `ptxas` accepts what Oriole prints, for every file of the corpus, at -O0 and -O2, and for generated kernels, at -O2 and
//! -O3: 300 of them, or as many as `ORIOLE_GENERATED` says.
//!
//! `ptxas` is taken from `ORIOLE_PTXAS` or the `PATH`. Without one the tests are reported as ignored, loudly; with
//! `ORIOLE_REQUIRE_PTXAS=1`, as CI sets it, they fail instead. `ORIOLE_CORPUS` may name further folders.

// The one thing worth saying is said before the tests run.
#![allow(clippy::print_stderr)]

use libtest_mimic::{Arguments, Failed, Trial};
use oriole_generate::Kernel;
use std::path::Path;
use std::process::{Command, ExitCode};

fn accepts(ptxas: &Path, file: &Path, level: &str) -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let output = folder.path().join("out.ptx");
    let oriole = Command::new(env!("CARGO_BIN_EXE_oriole"))
        .arg("opt")
        .arg(level)
        .arg(file)
        .arg("-o")
        .arg(&output)
        .output()?;
    if !oriole.status.success() {
        return Err(String::from_utf8_lossy(&oriole.stderr).into_owned().into());
    }
    let text = std::fs::read_to_string(&output)?;
    let target = text
        .lines()
        .find_map(|line| line.trim().strip_prefix(".target"))
        .and_then(|rest| rest.trim().split([',', ' ', '\t']).next())
        .ok_or("no .target")?;
    let mut command = Command::new(ptxas);
    // Only acceptance matters here. Files for separate compilation call into modules that are not there.
    command.args(["-O0", &format!("-arch={target}"), "-o", "/dev/null"]);
    if file.to_string_lossy().contains(".rdc.") {
        command.arg("-c");
    }
    let judged = command.arg(&output).output()?;
    if judged.status.success() {
        Ok(())
    } else {
        let said = String::from_utf8_lossy(&judged.stderr).into_owned()
            + &String::from_utf8_lossy(&judged.stdout);
        Err(said.into())
    }
}

/// Has something judged by a `ptxas`.
type Judge = Box<dyn FnOnce(&Path) -> Result<(), Failed> + Send>;

/// Generated kernels in one module.
const KERNELS_EACH: u64 = 25;

/// Writes a module of generated kernels and has what becomes of it judged.
fn accepts_generated(ptxas: &Path, first: u64, level: &str) -> Result<(), Failed> {
    let mut text = String::from(Kernel::HEADER);
    for seed in first..first + KERNELS_EACH {
        text.push_str(&oriole_generate::generate(seed, oriole_generate::Options::default()).text);
    }
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("generated.ptx");
    std::fs::write(&file, text)?;
    accepts(ptxas, &file, level)
}

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let ptxas = oriole_toolchain::ptxas();
    let required = oriole_toolchain::is_required();
    if ptxas.is_none() {
        eprintln!(
            "\n!!! SKIPPED: no ptxas found: nothing Oriole prints is judged by the real assembler."
        );
        eprintln!(
            "!!! Run `ORIOLE_PTXAS=$(.ci/install-ptxas) cargo test -p oriole-cli --test ptxas`.\n"
        );
    }
    let mut trials = Vec::new();
    let mut add = |name: String, judge: Judge| {
        let found = ptxas.clone();
        let is_ignored = found.is_none() && !required;
        let trial = Trial::test(name, move || match found {
            Some(ptxas) => judge(&ptxas),
            None => Err("there is no ptxas, and ORIOLE_REQUIRE_PTXAS asks for one".into()),
        });
        trials.push(trial.with_ignored_flag(is_ignored));
    };
    for file in oriole_corpus::files() {
        for level in ["-O0", "-O2"] {
            let name = file.file_name().unwrap_or_default().to_string_lossy();
            let (name, file) = (format!("{level} {name}"), file.clone());
            add(name, Box::new(move |ptxas| accepts(ptxas, &file, level)));
        }
    }
    let generated = std::env::var("ORIOLE_GENERATED").ok();
    let generated = generated
        .and_then(|count| count.parse().ok())
        .unwrap_or(300);
    for first in (0..generated).step_by(KERNELS_EACH as usize) {
        for level in ["-O2", "-O3"] {
            add(
                format!("{level} generated from {first}"),
                Box::new(move |ptxas| accepts_generated(ptxas, first, level)),
            );
        }
    }
    libtest_mimic::run(&arguments, trials).exit_code()
}
