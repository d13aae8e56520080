//! Many files: several are worked on at once, what comes of them is taken in order.
//!
//! A file is read when a worker gets to it, and no worker gets far ahead of what was taken, so that memory does not grow with the
//! number of files. What is printed does not depend on the number of workers. A file that cannot be used is reported and left
//! out; the others are worked on.

use crate::Failure;
use crate::files::{self, Text};
use crate::report::{Log, Reporter};
use indicatif::{ProgressBar, ProgressStyle};
use std::collections::BTreeMap;
use std::io::{IsTerminal, Write};
use std::panic::AssertUnwindSafe;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;

/// Files that are started or done and not taken yet, for each thread.
const AHEAD_PER_THREAD: usize = 4;

/// The files that a command was given.
pub struct Batch {
    files: Vec<PathBuf>,
    is_example: bool,
    has_bar: bool,
    /// Whether each file may hold no PTX, and is passed over with a warning if it cannot be read; none if this is empty.
    may_fail: Vec<bool>,
}

/// What is done with a text. What it has to say goes to the log.
pub type Work<'a, T> = dyn Fn(&Text<'_>, &Log<'_>) -> Result<T, Failure> + Sync + 'a;

/// What came of a text, and what was said of it.
struct Done<T> {
    said: String,
    result: Result<T, Failure>,
}

/// How many files there were, and how many could not be used.
pub struct Tally {
    /// All.
    pub files: usize,
    /// Those of which a text could not be used.
    pub failed: usize,
    /// Whether some of that is Oriole's fault.
    is_wrong: bool,
}

impl Tally {
    /// Fails if a file could not be used.
    pub fn finish(&self, report: &Reporter) -> Result<(), Failure> {
        if self.is_wrong {
            return Err(Failure::Wrong(
                "this is a bug in Oriole; please report it with the file".to_owned(),
            ));
        }
        if self.failed == 0 {
            return Ok(());
        }
        if self.files > 1 {
            let (failed, files) = (self.failed, self.files);
            report.message("error", &format!("{failed} of {files} files failed"));
        }
        Err(Failure::Reported)
    }

    /// Whether every file failed, so that there is nothing to write.
    pub fn is_empty(&self) -> bool {
        self.failed > 0 && self.failed == self.files
    }
}

impl Batch {
    /// The files named and those of the folders named.
    pub fn of(paths: &[PathBuf]) -> Result<Batch, Failure> {
        Ok(Batch::of_files(files::expand(paths)?))
    }

    /// The files to read. Without names, the standard input or the embedded example.
    pub fn or_example(
        paths: &[PathBuf],
        is_example: bool,
        report: &Reporter,
    ) -> Result<Batch, Failure> {
        let paths = files::named_or_input(paths, is_example, report)?;
        Ok(Batch {
            is_example: paths.is_empty(),
            ..Batch::of(&paths)?
        })
    }

    /// These files.
    pub fn of_files(files: Vec<PathBuf>) -> Batch {
        Batch {
            files,
            is_example: false,
            has_bar: true,
            may_fail: Vec::new(),
        }
    }

    /// Passes over those of the files that cannot be used, with a warning.
    pub fn passing_over(self, may_fail: Vec<bool>) -> Batch {
        Batch { may_fail, ..self }
    }

    /// Without a progress bar, if that is asked for.
    pub fn quiet(self, is_quiet: bool) -> Batch {
        Batch {
            has_bar: self.has_bar && !is_quiet,
            ..self
        }
    }

    /// How many files there are.
    pub fn len(&self) -> usize {
        self.files.len().max(1)
    }

    /// Works on the texts of all files; what comes of those of one file is taken at once, in the order of the files.
    ///
    /// # Errors
    /// What `take` fails with; nothing more is started then.
    pub fn run<T: Send>(
        &self,
        report: &Reporter,
        work: &Work<'_, T>,
        mut take: impl FnMut(usize, Vec<T>) -> Result<(), Failure>,
    ) -> Result<Tally, Failure> {
        let bar = self.bar();
        let mut tally = Tally {
            files: self.len(),
            failed: 0,
            is_wrong: false,
        };
        let mut accept = |index: usize, done: Vec<Done<T>>| {
            let may_fail = self.may_fail.get(index).copied().unwrap_or(false);
            let accepted = bar.suspend(|| {
                let mut taken = Vec::new();
                let mut has_failed = false;
                if done.is_empty() && !may_fail {
                    has_failed = true;
                    said_of(files::no_ptx(&self.files[index]), "error", report);
                }
                for Done { said, result } in done {
                    std::io::stderr().write_all(said.as_bytes())?;
                    match result {
                        Ok(result) => taken.push(result),
                        Err(failure) if may_fail => {
                            tally.is_wrong |= said_of(failure, "warning", report);
                        }
                        Err(failure) => {
                            has_failed = true;
                            tally.is_wrong |= said_of(failure, "error", report);
                        }
                    }
                }
                tally.failed += usize::from(has_failed);
                take(index, taken)
            });
            bar.inc(1);
            accepted
        };
        if self.is_example {
            accept(0, vec![done(&Text::of(files::example()), report, work)])?;
        } else if self.files.len() == 1 || rayon::current_num_threads() == 1 {
            // The one thread there is may be this one, which cannot wait for what it is to do itself.
            for (index, file) in self.files.iter().enumerate() {
                accept(index, work_on(file, report, work))?;
            }
        } else {
            self.in_parallel(report, work, &mut accept)?;
        }
        bar.finish_and_clear();
        Ok(tally)
    }

    fn in_parallel<T: Send>(
        &self,
        report: &Reporter,
        work: &Work<'_, T>,
        accept: &mut dyn FnMut(usize, Vec<Done<T>>) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let ahead = AHEAD_PER_THREAD * rayon::current_num_threads();
        let is_over = &AtomicBool::new(false);
        let (sender, receiver) = mpsc::channel();
        rayon::in_place_scope_fifo(|scope| {
            let mut waiting = self.files.iter().enumerate();
            let mut start = || {
                if let Some((index, file)) = waiting.next() {
                    let sender = sender.clone();
                    scope.spawn_fifo(move |_| {
                        if !is_over.load(Ordering::Relaxed) {
                            let _ = sender.send((index, work_on(file, report, work)));
                        }
                    });
                }
            };
            (0..ahead).for_each(|_| start());
            let mut ready = BTreeMap::new();
            for next in 0..self.files.len() {
                let done = loop {
                    if let Some(done) = ready.remove(&next) {
                        break done;
                    }
                    // Every file that is started sends something.
                    let Ok((index, done)) = receiver.recv() else {
                        return Err(Failure::Wrong("a worker is gone".to_owned()));
                    };
                    ready.insert(index, done);
                };
                if let Err(failure) = accept(next, done) {
                    is_over.store(true, Ordering::Relaxed);
                    return Err(failure);
                }
                start();
            }
            Ok(())
        })
    }

    /// How far it got, on a terminal.
    fn bar(&self) -> ProgressBar {
        if !self.has_bar || self.files.len() < 2 || !std::io::stderr().is_terminal() {
            return ProgressBar::hidden();
        }
        let style =
            ProgressStyle::with_template("{bar:30} {pos}/{len} files, {eta} left {wide_msg}")
                .unwrap_or_else(|_| ProgressStyle::default_bar());
        ProgressBar::new(self.files.len() as u64).with_style(style)
    }
}

/// Says why something failed, unless that was said; whether it is a fault of Oriole.
fn said_of(failure: Failure, level: &str, report: &Reporter) -> bool {
    match failure {
        Failure::Message(message) => {
            report.message(level, &message);
            false
        }
        Failure::Wrong(message) => {
            report.message("error", &message);
            true
        }
        Failure::Reported | Failure::Found | Failure::BrokenPipe => false,
    }
}

/// Works on all texts of a file.
fn work_on<T: Send>(file: &Path, report: &Reporter, work: &Work<'_, T>) -> Vec<Done<T>> {
    let failed = |failure| Done {
        said: String::new(),
        result: Err(failure),
    };
    match files::texts_of(file, &|text| done(&text, report, work)) {
        Ok(done) => done
            .into_iter()
            .map(|done| done.unwrap_or_else(failed))
            .collect(),
        Err(failure) => vec![failed(failure)],
    }
}

/// Works on a text. A panic is the failure of this text alone.
fn done<T: Send>(text: &Text<'_>, report: &Reporter, work: &Work<'_, T>) -> Done<T> {
    let log = Log::new(report);
    let result = std::panic::catch_unwind(AssertUnwindSafe(|| work(text, &log)));
    Done {
        said: log.into_text(),
        result: result.unwrap_or_else(|_| {
            let name = &text.input.name;
            Err(Failure::Wrong(format!("Oriole failed on `{name}`")))
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reporter() -> Reporter {
        Reporter::for_tests()
    }

    #[test]
    fn results_come_in_order_and_workers_stay_near() {
        let folder = tempfile::tempdir().unwrap();
        let files: Vec<PathBuf> = (0..300)
            .map(|index| folder.path().join(format!("{index:03}.ptx")))
            .collect();
        for (index, file) in files.iter().enumerate() {
            std::fs::write(file, index.to_string()).unwrap();
        }
        let started = std::sync::atomic::AtomicUsize::new(0);
        let ahead = AHEAD_PER_THREAD * rayon::current_num_threads();
        let mut taken = Vec::new();
        let work = |text: &Text<'_>, _: &Log<'_>| {
            started.fetch_add(1, Ordering::SeqCst);
            Ok(text.input.text.parse::<usize>().unwrap())
        };
        let batch = Batch::of(&[folder.path().to_owned()]).unwrap();
        let tally = batch
            .run(&reporter(), &work, |index, texts| {
                assert_eq!(texts, [index]);
                assert!(started.load(Ordering::SeqCst) <= taken.len() + ahead);
                taken.push(index);
                Ok(())
            })
            .ok()
            .unwrap();
        assert_eq!(taken, (0..300).collect::<Vec<_>>());
        assert_eq!((tally.files, tally.failed), (300, 0));
    }

    #[test]
    fn a_file_that_fails_is_left_out_and_the_others_are_taken() {
        let folder = tempfile::tempdir().unwrap();
        let names = ["a.ptx", "missing.ptx", "panics.ptx", "z.ptx"];
        let files: Vec<PathBuf> = names.map(|name| folder.path().join(name)).to_vec();
        for file in [&files[0], &files[2], &files[3]] {
            std::fs::write(file, "").unwrap();
        }
        let work = |text: &Text<'_>, _: &Log<'_>| {
            assert!(!text.input.name.contains("panics"), "on purpose");
            Ok(text.input.name.clone())
        };
        let mut taken = 0;
        let batch = Batch::of_files(files);
        let tally = batch.run(&reporter(), &work, |_, texts: Vec<String>| {
            taken += texts.len();
            Ok(())
        });
        let tally = tally.ok().unwrap();
        assert_eq!((taken, tally.failed), (2, 2));
        assert!(matches!(tally.finish(&reporter()), Err(Failure::Wrong(_))));
    }

    #[test]
    fn nothing_more_is_started_when_nobody_takes_it() {
        let folder = tempfile::tempdir().unwrap();
        for index in 0..100 {
            std::fs::write(folder.path().join(format!("{index}.ptx")), "").unwrap();
        }
        let started = std::sync::atomic::AtomicUsize::new(0);
        let work = |_: &Text<'_>, _: &Log<'_>| {
            started.fetch_add(1, Ordering::SeqCst);
            Ok(())
        };
        let batch = Batch::of(&[folder.path().to_owned()]).unwrap();
        let tally = batch.run(&reporter(), &work, |_, _| Err(Failure::BrokenPipe));
        assert!(matches!(tally, Err(Failure::BrokenPipe)));
        let ahead = AHEAD_PER_THREAD * rayon::current_num_threads();
        assert!(started.load(Ordering::SeqCst) <= ahead);
    }
}
