//! Temporary files and folders that are gone when the command ends, whichever way it ends.
//!
//! A signal ends a process without dropping anything. So what is temporary is also kept in a list, and a thread that waits for
//! signals removes what is in it and then lets the signal do what it does.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, Once, PoisonError};

/// What is there now.
static PATHS: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

fn paths() -> MutexGuard<'static, Vec<PathBuf>> {
    PATHS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Something temporary, in the list as long as this lives.
pub struct Listed<T> {
    path: PathBuf,
    inner: Option<T>,
}

impl<T> Listed<T> {
    /// Makes something temporary. No signal gets between making it and listing it.
    fn new(
        make: impl FnOnce() -> std::io::Result<T>,
        path: impl FnOnce(&T) -> &Path,
    ) -> std::io::Result<Listed<T>> {
        watch_signals();
        let mut paths = paths();
        let inner = make()?;
        let path = path(&inner).to_owned();
        paths.push(path.clone());
        Ok(Listed {
            path,
            inner: Some(inner),
        })
    }

    /// Hands it over, to be removed or kept while no signal is acted on.
    pub fn finish<R>(mut self, act: impl FnOnce(T) -> R) -> Option<R> {
        let mut paths = paths();
        let result = self.inner.take().map(act);
        paths.retain(|path| *path != self.path);
        result
    }
}

impl<T> Drop for Listed<T> {
    fn drop(&mut self) {
        if let Some(inner) = self.inner.take() {
            let mut paths = paths();
            drop(inner);
            paths.retain(|path| *path != self.path);
        }
    }
}

/// A temporary folder.
pub type Folder = Listed<tempfile::TempDir>;

/// Makes a folder for temporary files.
///
/// # Errors
/// If it cannot be made.
pub fn folder() -> std::io::Result<Folder> {
    Listed::new(tempfile::tempdir, |folder| folder.path())
}

impl Folder {
    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// Makes a temporary folder in another folder, as a builder says.
///
/// # Errors
/// If it cannot be made.
pub fn folder_in(builder: &tempfile::Builder<'_, '_>, folder: &Path) -> std::io::Result<Folder> {
    Listed::new(|| builder.tempdir_in(folder), |folder| folder.path())
}

/// Makes a file in a folder, as a builder says.
///
/// # Errors
/// If it cannot be made.
pub fn file_in(
    builder: &tempfile::Builder<'_, '_>,
    folder: &Path,
) -> std::io::Result<Listed<tempfile::NamedTempFile>> {
    Listed::new(|| builder.tempfile_in(folder), |file| file.path())
}

impl Listed<tempfile::NamedTempFile> {
    /// Its path.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl std::io::Write for Listed<tempfile::NamedTempFile> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.inner.as_mut().map_or(Ok(0), |file| file.write(bytes))
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.inner.as_mut().map_or(Ok(()), std::io::Write::flush)
    }
}

/// The process that a signal is handed on to.
static CHILD: Mutex<Option<u32>> = Mutex::new(None);

/// A process that ends when a signal ends this one, as long as this lives.
pub struct Guarded(());

/// Starts a process that signals that end this one end too. There may be one at a time. No signal gets between starting it and
/// knowing of it.
///
/// # Errors
/// If it cannot be started.
pub fn guarded(
    start: impl FnOnce() -> std::io::Result<std::process::Child>,
) -> std::io::Result<(std::process::Child, Guarded)> {
    watch_signals();
    let mut slot = CHILD.lock().unwrap_or_else(PoisonError::into_inner);
    let child = start()?;
    *slot = Some(child.id());
    Ok((child, Guarded(())))
}

impl Drop for Guarded {
    fn drop(&mut self) {
        *CHILD.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

/// Ends the guarded process.
#[cfg(unix)]
fn end_child() {
    let child = CHILD.lock().unwrap_or_else(PoisonError::into_inner);
    let identifier = child.and_then(|identifier| i32::try_from(identifier).ok());
    if let Some(process) = identifier.and_then(rustix::process::Pid::from_raw) {
        let _ = rustix::process::kill_process(process, rustix::process::Signal::TERM);
    }
}

/// Starts, once, the thread that waits for signals.
fn watch_signals() {
    static START: Once = Once::new();
    START.call_once(|| {
        #[cfg(unix)]
        {
            use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
            // Without the thread signals do what they always do.
            let Ok(mut signals) = signal_hook::iterator::Signals::new([SIGHUP, SIGINT, SIGTERM])
            else {
                return;
            };
            std::thread::spawn(move || {
                for signal in &mut signals {
                    // Held until the end: nothing temporary is made any more.
                    let paths = paths();
                    end_child();
                    for path in paths.iter() {
                        let _ = if path.is_dir() {
                            std::fs::remove_dir_all(path)
                        } else {
                            std::fs::remove_file(path)
                        };
                    }
                    let _ = signal_hook::low_level::emulate_default_handler(signal);
                }
            });
        }
    });
}
