//! Finds the PTX files that tests run on: the project's own corpus, and folders of the user's.

#![forbid(unsafe_code)]

mod runs;

pub use runs::{Run, launches, runs};
use std::path::{Path, PathBuf};

/// Files the project's own corpus has at least; fewer means that a test would test nothing.
const FEWEST: usize = 300;

/// The folder of the project's own PTX.
pub fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/corpus/ptx")
}

/// All `.ptx` files of the project's corpus, and of the folders that `ORIOLE_CORPUS` names, separated by `:`; in order.
///
/// # Panics
/// If a folder cannot be read, or the project's corpus is not there: tests must not pass by finding nothing.
pub fn files() -> Vec<PathBuf> {
    let mut files = below(&folder());
    assert!(
        files.len() >= FEWEST,
        "the corpus has only {} files",
        files.len()
    );
    let more = std::env::var("ORIOLE_CORPUS").unwrap_or_default();
    for folder in more.split(':').filter(|folder| !folder.is_empty()) {
        files.extend(below(Path::new(folder)));
    }
    files
}

/// All `.ptx` files below a folder, in order.
///
/// # Panics
/// If a folder cannot be read.
pub fn below(folder: &Path) -> Vec<PathBuf> {
    try_below(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()))
}

/// All `.ptx` files below a folder, in order.
///
/// # Errors
/// If a folder cannot be read.
pub fn try_below(folder: &Path) -> std::io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder)? {
            let path = entry?.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "ptx") {
                files.push(path);
            }
        }
    }
    files.sort();
    Ok(files)
}
