//! Runs the real `ptxas`.

use crate::arguments::Parsed;
use crate::optimize::{Optimized, passed_through};
use crate::settings::Settings;
use crate::work::Work;
use crate::{ACTIVE, say, staged};
use oriole_files::temporary;
use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, ExitStatus, Output, Stdio};

fn command(ptxas: &Path, given: &[OsString]) -> Command {
    let mut command = Command::new(ptxas);
    command.args(given).env(ACTIVE, "1");
    command
}

fn cannot_run(ptxas: &Path, error: &std::io::Error) -> ExitCode {
    say(&format!("`{}`: {error}", ptxas.display()));
    ExitCode::from(2)
}

/// Runs it with the arguments as they are, in the place of this program where that is possible.
pub fn pass_through(ptxas: &Path, given: &[OsString]) -> ExitCode {
    #[cfg(unix)]
    {
        use std::os::unix::process::CommandExt;
        cannot_run(ptxas, &command(ptxas, given).exec())
    }
    #[cfg(not(unix))]
    {
        match command(ptxas, given).status() {
            Ok(status) => ended(status),
            Err(error) => cannot_run(ptxas, &error),
        }
    }
}

/// The end of a run.
pub enum Ended {
    As(ExitStatus),
    /// The real one is to do it all, with the arguments as they were given.
    PassThrough(PathBuf, Vec<OsString>),
    Failed,
}

impl Ended {
    /// Ends as it ended.
    pub fn end(self) -> ExitCode {
        match self {
            Ended::As(status) => ended(status),
            Ended::PassThrough(ptxas, given) => pass_through(&ptxas, &given),
            Ended::Failed => ExitCode::from(2),
        }
    }
}

/// Why there is no output.
enum Failure {
    Run(std::io::Error),
    /// The disk is full.
    Space,
    /// The output cannot be put in its place.
    Place,
}

/// Runs it on optimized files. If it does not accept them, it gets the originals.
pub fn run_optimized(
    ptxas: &Path,
    given: &[OsString],
    parsed: &Parsed,
    optimized: &Optimized,
    settings: &Settings,
    work: &Work,
) -> Ended {
    let mut original = parsed.arguments.clone();
    for (index, file) in &optimized.read {
        original[*index] = file.into();
    }
    let mut changed = original.clone();
    for (index, file) in &optimized.files {
        changed[*index] = file.into();
    }
    let output = staged::Output::of(&parsed.outputs, &original);
    let attempt = |arguments: &[OsString]| run_staged(ptxas, arguments, output.as_ref(), work);
    let mut result = attempt(&changed);
    // Whoever sent a signal wants it to end.
    let is_refused = |done: &Output| done.status.code().is_some_and(|code| code != 0);
    if !optimized.files.is_empty() && result.as_ref().is_ok_and(is_refused) {
        // If the originals are accepted, that is a fault of ours.
        result = attempt(&original);
        if result.as_ref().is_ok_and(|done| done.status.success()) {
            let names = parsed.inputs.iter();
            let names =
                names.map(|&index| Path::new(&parsed.arguments[index]).display().to_string());
            let names: Vec<String> = names.collect();
            let why =
                "ptxas does not accept what Oriole made of it, please report it with the file";
            passed_through(&names.join(", "), why, settings);
        }
    }
    match result {
        Ok(done) => {
            hand_on(&done, parsed, optimized);
            Ended::As(done.status)
        }
        Err(Failure::Place) if optimized.read.is_empty() => {
            Ended::PassThrough(ptxas.to_owned(), given.to_vec())
        }
        Err(failure) => {
            match failure {
                Failure::Run(error) => say(&format!("`{}`: {error}", ptxas.display())),
                Failure::Space => say("there is no space for its output, which is as it was"),
                Failure::Place => say("its output cannot be put in its place"),
            }
            Ended::Failed
        }
    }
}

/// Runs it with an output that is put in its place at the end, if all went well.
fn run_staged(
    ptxas: &Path,
    given: &[OsString],
    output: Option<&staged::Output>,
    work: &Work,
) -> Result<Output, Failure> {
    let Some(output) = output else {
        return run(ptxas, given).map_err(Failure::Run);
    };
    // Where temporary files are is less space, sometimes.
    let mut beside = None;
    for is_beside in [false, true] {
        let folder = if is_beside {
            let made = Work::below(output.folder()).map_err(|_| Failure::Space)?;
            beside.insert(made).path()
        } else {
            work.path()
        };
        let (staged, given) = output.staged(given, folder);
        let made = std::fs::create_dir(oriole_files::folder_of(&staged));
        if made.is_err_and(|error| error.kind() != std::io::ErrorKind::AlreadyExists) {
            continue;
        }
        // The output of the first attempt.
        let _ = std::fs::remove_file(&staged);
        let done = run(ptxas, &given).map_err(Failure::Run)?;
        // There is no output where code generation is suppressed.
        if !done.status.success() || !staged.exists() {
            return Ok(done);
        }
        if staged::is_complete(&staged) {
            return match output.put(&staged) {
                Ok(()) => Ok(done),
                Err(error) if staged::is_space(&error) => Err(Failure::Space),
                Err(_) => Err(Failure::Place),
            };
        }
    }
    Err(Failure::Space)
}

/// Runs it to its end, and keeps what it says. A signal that ends this program ends it too.
fn run(ptxas: &Path, given: &[OsString]) -> std::io::Result<Output> {
    let mut command = command(ptxas, given);
    command
        .stdin(Stdio::inherit())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let (child, _guarded) = temporary::guarded(|| command.spawn())?;
    child.wait_with_output()
}

/// Says what it said. Copies of pipes have the names of the pipes.
fn hand_on(output: &Output, parsed: &Parsed, optimized: &Optimized) {
    let named = |said: &[u8]| {
        let mut said = said.to_vec();
        for (index, file) in &optimized.read {
            let name = &parsed.arguments[*index];
            if name != "-" {
                let file = file.as_os_str().as_encoded_bytes();
                said = replaced(&said, file, name.as_encoded_bytes());
            }
        }
        said
    };
    let _ = std::io::stdout().write_all(&named(&output.stdout));
    let _ = std::io::stdout().flush();
    let _ = std::io::stderr().write_all(&named(&output.stderr));
}

/// Bytes with some others in the place of a part, wherever it is.
fn replaced(bytes: &[u8], part: &[u8], with: &[u8]) -> Vec<u8> {
    let mut result = Vec::with_capacity(bytes.len());
    let mut rest = bytes;
    while let Some(&first) = rest.first() {
        if rest.starts_with(part) {
            result.extend_from_slice(with);
            rest = &rest[part.len()..];
        } else {
            result.push(first);
            rest = &rest[1..];
        }
    }
    result
}

/// Ends as it ended.
fn ended(status: ExitStatus) -> ExitCode {
    #[cfg(unix)]
    {
        use std::os::unix::process::ExitStatusExt;
        if let Some(signal) = status.signal() {
            let _ = signal_hook::low_level::emulate_default_handler(signal);
            return ExitCode::from(128u8.saturating_add(signal as u8));
        }
    }
    let code = status.code().unwrap_or(1);
    ExitCode::from(u8::try_from(code & 0xff).unwrap_or(1))
}
