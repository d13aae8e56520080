//! The source files that PTX names, and what a terminal can show.

use oriole::report::{Kernel, SourceFile};
use oriole_report::text::Sources;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::io::IsTerminal;
use std::path::{Path, PathBuf};

/// A file that was found, and its lines.
struct Found {
    path: PathBuf,
    lines: Vec<String>,
}

/// Source files below some folders, each read once.
pub struct SourceFiles {
    roots: Vec<PathBuf>,
    files: RefCell<BTreeMap<String, Option<Found>>>,
}

/// Longer texts are not read.
const MAX_SOURCE: u64 = 1 << 24;

impl SourceFiles {
    /// Files below the folders that were named, and beside the PTX of kernels.
    pub fn of(roots: &[PathBuf], kernels: &[Kernel]) -> SourceFiles {
        let mut all = roots.to_vec();
        let beside = kernels
            .iter()
            .filter_map(|own| Path::new(&own.file).parent());
        let beside: BTreeSet<PathBuf> = beside.map(Path::to_path_buf).collect();
        all.extend(beside);
        SourceFiles {
            roots: all,
            files: RefCell::default(),
        }
    }

    /// The embedded example's source as well.
    pub fn with_example(self) -> SourceFiles {
        let (name, text) = oriole::EXAMPLE_SOURCE;
        let found = Found {
            path: PathBuf::from(name),
            lines: text.lines().map(str::to_owned).collect(),
        };
        self.files.borrow_mut().insert(name.to_owned(), Some(found));
        self
    }

    fn with<T>(&self, file: &str, of: impl FnOnce(&Found) -> Option<T>) -> Option<T> {
        let mut files = self.files.borrow_mut();
        let own = files.entry(file.to_owned()).or_insert_with(|| {
            let path = locate(&self.roots, file)?;
            let is_readable = std::fs::metadata(&path).ok()?.len() <= MAX_SOURCE;
            let text = is_readable.then(|| std::fs::read(&path).ok()).flatten()?;
            let text = String::from_utf8_lossy(&text);
            Some(Found {
                lines: text.lines().map(str::to_owned).collect(),
                path,
            })
        });
        own.as_ref().and_then(of)
    }

    /// The files that kernels name, and where they were found.
    pub fn all(&self, kernels: &[Kernel]) -> Vec<SourceFile> {
        let findings = kernels.iter().flat_map(|own| &own.findings);
        let files = findings.filter_map(|own| own.source.as_ref());
        let files: BTreeSet<&str> = files.map(|own| own.file.as_str()).collect();
        let of = |file: &str| SourceFile {
            file: file.to_owned(),
            found: self.is_found(file),
            path: self.path(file),
        };
        files.into_iter().map(of).collect()
    }
}

impl Sources for SourceFiles {
    fn line(&self, file: &str, line: u32) -> Option<String> {
        self.with(file, |own| {
            own.lines.get((line as usize).checked_sub(1)?).cloned()
        })
    }

    fn is_found(&self, file: &str) -> bool {
        self.with(file, |_| Some(())).is_some()
    }

    fn path(&self, file: &str) -> Option<String> {
        self.with(file, |own| Some(own.path.display().to_string()))
    }
}

/// The source file that PTX names: under that name, or below one of the folders under the end of its path.
pub fn locate(roots: &[PathBuf], name: &str) -> Option<PathBuf> {
    let named = Path::new(name);
    if named.is_file() {
        return Some(named.to_owned());
    }
    let parts: Vec<_> = named
        .components()
        .filter(|part| matches!(part, std::path::Component::Normal(_)))
        .collect();
    let here = PathBuf::from(".");
    let roots = roots.iter().chain([&here]);
    roots
        .flat_map(|root| (0..parts.len()).map(move |skipped| (root, skipped)))
        .map(|(root, skipped)| root.join(parts[skipped..].iter().collect::<PathBuf>()))
        .find(|candidate| candidate.is_file())
}

/// Columns of reports: those of the terminal, within bounds that lines stay readable in; 100 elsewhere.
pub fn width() -> usize {
    let given = std::env::var("COLUMNS")
        .ok()
        .and_then(|own| own.parse().ok());
    let terminal = || terminal_size::terminal_size().map(|(width, _)| usize::from(width.0));
    given.or_else(terminal).unwrap_or(100).clamp(60, 120)
}

/// True if the standard output shows characters beyond ASCII.
pub fn has_unicode() -> bool {
    let mut variables = ["LC_ALL", "LC_CTYPE", "LANG"]
        .into_iter()
        .filter_map(std::env::var_os);
    let locale = variables.find(|own| !own.is_empty());
    match locale.map(|own| own.to_string_lossy().to_lowercase()) {
        Some(own) => own.contains("utf-8") || own.contains("utf8"),
        None => cfg!(windows) || !std::io::stdout().is_terminal(),
    }
}
