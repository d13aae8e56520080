//! The launches that `runs.toml` of the corpus describes.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// One `[[run]]` of runs.toml.
#[derive(Clone, Debug, Default)]
pub struct Run {
    /// The file, without what says how it was compiled.
    pub ptx: String,
    /// The kernel.
    pub kernel: String,
    /// Blocks.
    pub grid: [u32; 3],
    /// Threads of a block.
    pub block: [u32; 3],
    /// Bytes of dynamic shared memory.
    pub shared: u64,
    /// The arguments, as `oriole run` takes them.
    pub arguments: Vec<String>,
}

impl Run {
    /// The arguments that are integers, by number from 0.
    pub fn integers(&self) -> BTreeMap<u32, u64> {
        let arguments = self.arguments.iter().enumerate();
        let integers = arguments.filter_map(|(index, text)| {
            let (name, value) = text.split_once('=')?;
            let is_scalar = !name.contains(['[', '(', '{']);
            let value = value.parse::<i64>().ok().filter(|_| is_scalar)?;
            Some((index as u32, value as u64))
        });
        integers.collect()
    }
}

/// The launches, from the small part of TOML that the file uses.
///
/// # Panics
/// If the file is not there or not as it should be.
pub fn runs(corpus: &Path) -> Vec<Run> {
    let text = std::fs::read_to_string(corpus.join("runs.toml")).expect("runs.toml");
    let mut runs: Vec<Run> = Vec::new();
    let mut open_list = false;
    for line in text.lines().map(str::trim) {
        if line == "[[run]]" {
            runs.push(Run {
                grid: [1; 3],
                block: [1; 3],
                ..Run::default()
            });
            continue;
        }
        let Some(run) = runs.last_mut() else { continue };
        if open_list {
            open_list = !line.starts_with(']');
            run.arguments.extend(strings(line));
            continue;
        }
        let Some((key, value)) = line.split_once(" = ") else {
            continue;
        };
        match key {
            "ptx" => run.ptx = value.trim_matches('"').to_owned(),
            "kernel" => run.kernel = value.trim_matches('"').to_owned(),
            "grid" => run.grid = shape(value),
            "block" => run.block = shape(value),
            "shared" => run.shared = value.parse().expect("a number"),
            "arguments" => {
                run.arguments.extend(strings(value));
                open_list = value == "[";
            }
            _ => {}
        }
    }
    runs
}

fn shape(text: &str) -> [u32; 3] {
    let mut sizes = text
        .trim_matches('"')
        .split('x')
        .map(|size| size.parse().expect("a size"));
    std::array::from_fn(|_| sizes.next().unwrap_or(1))
}

/// What stands in quotes.
fn strings(text: &str) -> Vec<String> {
    let parts = text.split('"').skip(1).step_by(2);
    parts.map(str::to_owned).collect()
}

/// Every launch of a corpus with each file it is for: the run's own, and variants by how they were compiled.
///
/// # Panics
/// As [`runs`], and if a folder of the corpus cannot be read.
pub fn launches(corpus: &Path) -> Vec<(Run, PathBuf)> {
    let of_run = |run: Run| {
        let files = variants(corpus, &run);
        files.into_iter().map(move |file| (run.clone(), file))
    };
    runs(corpus).into_iter().flat_map(of_run).collect()
}

fn variants(corpus: &Path, run: &Run) -> Vec<PathBuf> {
    let stem = corpus.join("ptx").join(&run.ptx);
    let folder = stem.parent().expect("a folder");
    let name = stem.file_name().expect("a name").to_string_lossy();
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder)
        .expect("a folder")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| {
            let file = path.file_name().expect("a name").to_string_lossy();
            let rest = file.strip_prefix(&*name);
            rest.is_some_and(|rest| rest.starts_with('.') && rest.ends_with(".ptx"))
        })
        .collect();
    files.sort();
    files
}
