//! The launches that `runs.toml` of the corpus describes.

use std::path::Path;

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
