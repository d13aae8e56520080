//! Runs the real `ptxas`.

use crate::arguments::{self, Parsed, Place};
use crate::optimize::{Optimized, passed_through};
use crate::settings::Settings;
use crate::{ACTIVE, say};
use oriole_files::temporary::{self, Folder};
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

/// Runs it on optimized files. If it does not accept them, it gets the originals.
pub fn run_optimized(
    ptxas: &Path,
    given: &[OsString],
    parsed: &Parsed,
    optimized: &Optimized,
    settings: &Settings,
) -> ExitCode {
    let mut changed = given.to_vec();
    for (index, file) in &optimized.files {
        changed[*index] = file.into();
    }
    let first = match run_staged(ptxas, changed, parsed.output) {
        Ok(output) => output,
        Err(error) => return cannot_run(ptxas, &error),
    };
    // Whoever sent a signal wants it to end.
    let is_final = first.status.success() || first.status.code().is_none();
    if is_final || optimized.files.is_empty() {
        hand_on(&first);
        return ended(first.status);
    }
    // If the originals are accepted, that is a fault of ours.
    let second = match run_staged(ptxas, given.to_vec(), parsed.output) {
        Ok(output) => output,
        Err(error) => return cannot_run(ptxas, &error),
    };
    if second.status.success() {
        let names: Vec<String> = parsed
            .inputs
            .iter()
            .map(|&index| Path::new(&given[index]).display().to_string())
            .collect();
        let why = "ptxas does not accept what Oriole made of it, please report it with the file";
        passed_through(&names.join(", "), why, settings);
    }
    hand_on(&second);
    ended(second.status)
}

/// Runs it with an output that is put in its place at the end, if all went well.
fn run_staged(
    ptxas: &Path,
    mut given: Vec<OsString>,
    output: Option<Place>,
) -> std::io::Result<Output> {
    let staged = output.and_then(|place| Staged::new(place, &given));
    if let Some(staged) = &staged {
        staged.place.replace(&mut given, &staged.temporary());
    }
    let done = run(ptxas, &given)?;
    match staged.filter(|_| done.status.success()) {
        Some(staged) => staged.finish().map(|()| done).map_err(|error| {
            let text = format!("its output cannot be moved into place: {error}");
            std::io::Error::new(error.kind(), text)
        }),
        None => Ok(done),
    }
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

/// Says what it said.
fn hand_on(output: &Output) {
    let _ = std::io::stdout().write_all(&output.stdout);
    let _ = std::io::stdout().flush();
    let _ = std::io::stderr().write_all(&output.stderr);
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

/// An output file that is written beside its place, and renamed.
struct Staged {
    /// Where the arguments name it.
    place: Place,
    file: PathBuf,
    folder: Folder,
}

impl Staged {
    /// Nothing where the output cannot be renamed to: then it is written as the real one writes it.
    fn new(place: Place, given: &[OsString]) -> Option<Staged> {
        let named = place.of(given)?;
        if named.is_empty() || arguments::is_special(&named) {
            return None;
        }
        // A link stays one.
        let file = PathBuf::from(named);
        let file = file.canonicalize().unwrap_or(file);
        let mut builder = tempfile::Builder::new();
        builder.prefix(".oriole-ptxas-");
        let folder = temporary::folder_in(&builder, oriole_files::folder_of(&file)).ok()?;
        Some(Staged {
            place,
            file,
            folder,
        })
    }

    fn temporary(&self) -> PathBuf {
        let name = self.file.file_name().unwrap_or_default();
        self.folder.path().join(name)
    }

    /// Puts the file in its place; if none was written there is none.
    fn finish(self) -> std::io::Result<()> {
        match std::fs::rename(self.temporary(), &self.file) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
            result => result,
        }
    }
}
