//! Temporary files and folders that are gone when the command ends, whichever way it ends.
//!
//! A signal ends a process without dropping anything. So what is temporary is also kept in a list, and a thread that waits for
//! signals removes what is in it and then lets the signal do what it does.
//!
//! What is temporary for a moment only, as a file is that is about to take the place of another, needs no thread: a signal that comes
//! meanwhile is acted on behind it ([`undisturbed`]).

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

/// Does something that takes a moment and leaves nothing temporary. Signals that come meanwhile are acted on behind it.
pub(crate) fn undisturbed<R>(act: impl FnOnce() -> R) -> R {
    #[cfg(unix)]
    let _moment = moments::Moment::begin();
    act()
}

#[cfg(unix)]
mod moments {
    //! Stretches in which signals wait.

    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
    use std::sync::{Mutex, MutexGuard, Once, PoisonError, RwLock, RwLockReadGuard};

    /// Signals that end a program.
    pub(super) const SIGNALS: [i32; 3] = [SIGHUP, SIGINT, SIGTERM];

    struct State {
        /// Moments that have begun and not ended.
        running: usize,
        /// Whether a thread waits for signals.
        is_watched: bool,
    }

    static STATE: Mutex<State> = Mutex::new(State {
        running: 0,
        is_watched: false,
    });
    /// Whether signals do at once what they always do: in no moment, and unless a thread waits for them.
    static IS_FREE: AtomicBool = AtomicBool::new(true);
    /// The last signal that came while they did not, or 0.
    static CAUGHT: AtomicUsize = AtomicUsize::new(0);
    /// Shared by moments; the thread that waits for signals takes it for itself before it ends the program.
    static RUNNING: RwLock<()> = RwLock::new(());

    fn state() -> MutexGuard<'static, State> {
        STATE.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Does what a signal does that came while signals did nothing, if one came.
    fn act() {
        let caught = CAUGHT.swap(0, Ordering::SeqCst);
        if let Ok(signal) = i32::try_from(caught)
            && signal != 0
        {
            let _ = signal_hook::low_level::emulate_default_handler(signal);
        }
    }

    /// A stretch in which signals wait.
    pub(super) struct Moment {
        _running: RwLockReadGuard<'static, ()>,
    }

    impl Moment {
        pub(super) fn begin() -> Moment {
            static START: Once = Once::new();
            START.call_once(|| {
                // Where that fails signals do what they always do.
                for signal in SIGNALS {
                    let is_known =
                        signal_hook::flag::register_conditional_default(signal, &IS_FREE).is_ok();
                    if is_known {
                        let number = usize::try_from(signal).unwrap_or(0);
                        let _ = signal_hook::flag::register_usize(signal, &CAUGHT, number);
                    }
                }
            });
            let running = RUNNING.read().unwrap_or_else(PoisonError::into_inner);
            let mut state = state();
            state.running += 1;
            IS_FREE.store(false, Ordering::SeqCst);
            Moment { _running: running }
        }
    }

    impl Drop for Moment {
        fn drop(&mut self) {
            let mut state = state();
            state.running -= 1;
            if state.running == 0 && !state.is_watched {
                IS_FREE.store(true, Ordering::SeqCst);
                act();
            }
        }
    }

    /// Leaves signals to a thread from now on; `start` says whether there is one.
    pub(super) fn watch(start: impl FnOnce() -> bool) {
        last(|| {
            IS_FREE.store(false, Ordering::SeqCst);
            let is_watched = start();
            state().is_watched = is_watched;
            IS_FREE.store(!is_watched, Ordering::SeqCst);
            // One that came before the thread was there: nothing temporary is, either.
            act();
        });
    }

    /// Waits for the moments that have begun, and lets none begin any more.
    pub(super) fn last<R>(act: impl FnOnce() -> R) -> R {
        let _all = RUNNING.write().unwrap_or_else(PoisonError::into_inner);
        act()
    }
}

/// Starts, once, the thread that waits for signals.
fn watch_signals() {
    static START: Once = Once::new();
    START.call_once(|| {
        #[cfg(unix)]
        moments::watch(|| {
            // Without the thread signals do what they always do.
            let Ok(mut signals) = signal_hook::iterator::Signals::new(moments::SIGNALS) else {
                return false;
            };
            std::thread::spawn(move || {
                for signal in &mut signals {
                    moments::last(|| {
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
                    });
                }
            });
            true
        });
    });
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::os::unix::process::ExitStatusExt;

    /// What the process that is to be ended writes to.
    const MARK: &str = "ORIOLE_FILES_TEST_MARK";

    /// In a process of its own: a signal comes in a moment, with and without a thread that waits for signals.
    #[test]
    fn a_signal_waits_for_the_end_of_a_moment() {
        let name = "temporary::tests::a_signal_waits_for_the_end_of_a_moment";
        if let Ok(mark) = std::env::var(MARK) {
            let kept = mark.ends_with("watched").then(|| folder().unwrap());
            undisturbed(|| {
                signal_hook::low_level::raise(signal_hook::consts::SIGTERM).unwrap();
                std::thread::sleep(std::time::Duration::from_millis(50));
                std::fs::write(&mark, "done").unwrap();
            });
            std::thread::sleep(std::time::Duration::from_secs(20));
            drop(kept);
            return;
        }
        let folder = tempfile::tempdir().unwrap();
        for case in ["alone", "watched"] {
            let mark = folder.path().join(case);
            let status = std::process::Command::new(std::env::current_exe().unwrap())
                .args(["--exact", name])
                .env(MARK, &mark)
                .status()
                .unwrap();
            assert_eq!(
                status.signal(),
                Some(signal_hook::consts::SIGTERM),
                "{case}"
            );
            assert_eq!(std::fs::read(&mark).unwrap(), b"done", "{case}");
        }
    }
}
