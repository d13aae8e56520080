//! What `opt -O2` does to machine code: `ptxas` before and after, kernel by kernel.

use oriole::machine::{Assembler, Measurement};
use oriole::{Options, optimize, parse, print};
use oriole_isa::{Feature, Target};
use rayon::prelude::*;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Where a file comes from, which says how much there is to gain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Class {
    /// What nvcc optimized.
    Nvcc,
    /// What Triton wrote.
    Triton,
    /// What a compiler wrote without optimizing, or for debugging.
    Unoptimized,
    /// All else: other compilers, lower levels, what was written by hand.
    Other,
}

impl Class {
    /// All of them.
    pub const ALL: [Class; 4] = [Class::Nvcc, Class::Triton, Class::Unoptimized, Class::Other];

    /// What tables call it.
    pub const fn text(self) -> &'static str {
        match self {
            Class::Nvcc => "nvcc -O3",
            Class::Triton => "Triton",
            Class::Unoptimized => "-O0 and -G",
            Class::Other => "other",
        }
    }

    /// The class of a file, by its name (`saxpy.O0.sm_80.ptx`, `kernels_G.ptx`), its folder and its first lines.
    pub fn of(path: &Path, text: &str) -> Class {
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        let has = |word: &str| name.split(['.', '_']).any(|part| part == word);
        let is_in = |word: &str| path.to_string_lossy().to_lowercase().contains(word);
        let head: String = text.lines().take(40).collect();
        if ["O0", "O0g", "G", "debug"].iter().any(|word| has(word)) {
            Class::Unoptimized
        } else if is_in("triton") {
            Class::Triton
        } else if head.contains("NVVM Compiler") && !is_in("numba") && !has("O1") {
            Class::Nvcc
        } else {
            Class::Other
        }
    }
}

/// A kernel, or a function with code of its own, before and after.
#[derive(Clone, Debug)]
pub struct Kernel {
    /// The class of its file.
    pub class: Class,
    /// The target that was asked for.
    pub target: Target,
    /// Its file and name.
    pub name: String,
    /// As it was.
    pub before: Measurement,
    /// As it is.
    pub after: Measurement,
}

impl Kernel {
    /// Instructions after, of those before.
    pub fn ratio(&self) -> f64 {
        self.after.code.instructions as f64 / self.before.code.instructions.max(1) as f64
    }

    /// Likewise, counted by depth of loops.
    pub fn ratio_by_depth(&self) -> f64 {
        self.after.code.weighted as f64 / self.before.code.weighted.max(1) as f64
    }

    /// Whether memory is accessed over a quarter more or less often, counted by depth of loops: a loop was unrolled otherwise, or loads
    /// are gone.
    pub fn accesses_otherwise(&self) -> bool {
        let (before, after) = (self.before.code.accesses, self.after.code.accesses);
        after * 4 > before * 5 || after * 4 < before * 3
    }

    /// Whether it spills and did not.
    pub fn newly_spills(&self) -> bool {
        self.before.code.spills() == 0 && self.after.code.spills() > 0
    }

    /// Whether it needs more than four registers more, and no more warps are resident.
    pub fn needs_registers(&self) -> bool {
        let warps = |own: &Measurement| own.occupancy.map_or(0, |occupancy| occupancy.warps);
        self.after.code.registers > self.before.code.registers + 4
            && warps(&self.after) <= warps(&self.before)
    }
}

/// What was found.
#[derive(Debug, Default)]
pub struct Found {
    /// In the order of files, and of `ptxas` within them.
    pub kernels: Vec<Kernel>,
    /// Files that `ptxas` refuses as they are.
    pub refused: usize,
    /// What went wrong that is a fault of Oriole.
    pub faults: Vec<String>,
}

/// The target to assemble a file for where another is asked for, if it can be: its own if that is for one architecture only.
fn target_for(own: Target, asked: Target) -> Option<Target> {
    match own.feature() {
        Feature::Portable => (own.number() <= asked.number()).then_some(asked),
        _ => (own.number() == asked.number()).then_some(own),
    }
}

/// Measures files for targets, several at once. `shown` is what the names of files start behind.
pub fn measure(files: &[PathBuf], shown: &Path, targets: &[Target], ptxas: &Path) -> Found {
    let found: Vec<Found> = files
        .par_iter()
        .map(|path| one_file(path, shown, targets, ptxas))
        .collect();
    let mut all = Found::default();
    for own in found {
        all.kernels.extend(own.kernels);
        all.refused += own.refused;
        all.faults.extend(own.faults);
    }
    all
}

fn one_file(path: &Path, shown: &Path, targets: &[Target], ptxas: &Path) -> Found {
    let mut found = Found::default();
    let name = path
        .strip_prefix(shown)
        .unwrap_or(path)
        .display()
        .to_string();
    let Ok(text) = std::fs::read_to_string(path) else {
        found.refused += 1;
        return found;
    };
    let class = Class::of(path, &text);
    let (Ok(original), Ok(folder)) = (parse(name.as_str(), text), tempfile::tempdir()) else {
        found.refused += 1;
        return found;
    };
    let mut module = original.clone();
    if optimize(&mut module, &Options::default()).is_err() {
        found.refused += 1;
        return found;
    }
    let Some(own) = original.target().and_then(Target::from_text) else {
        found.refused += 1;
        return found;
    };
    let optimized = print(&module);
    for &asked in targets {
        let Some(target) = target_for(own, asked) else {
            continue;
        };
        let mut assembler = Assembler::new(ptxas, folder.path(), target);
        let before = match assembler.assemble(original.source()) {
            Ok(before) => Measurement::all(&original, target, before),
            Err(_) => {
                found.refused += 1;
                continue;
            }
        };
        let after = match assembler.assemble(&optimized) {
            Ok(after) => Measurement::all(&module, target, after),
            Err(error) => {
                found.faults.push(format!("{name}: {error}"));
                continue;
            }
        };
        let mut after: BTreeMap<String, Measurement> = after
            .into_iter()
            .map(|own| (own.code.name.clone(), own))
            .collect();
        for before in before {
            if let Some(after) = after.remove(&before.code.name) {
                found.kernels.push(Kernel {
                    class,
                    target: asked,
                    name: format!("{name}: {}", before.code.name),
                    before,
                    after,
                });
            }
        }
    }
    found
}

/// What kernels of one class come to on one target.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Summary {
    /// How many there are.
    pub kernels: usize,
    /// The geometric mean of instructions after, of those before.
    pub mean: f64,
    /// Likewise, counted by depth of loops.
    pub mean_by_depth: f64,
    /// How many access memory otherwise: [`Kernel::accesses_otherwise`].
    pub other_accesses: usize,
    /// The mean without these.
    pub mean_of_others: f64,
    /// How many have fewer instructions.
    pub smaller: usize,
    /// How many have more.
    pub bigger: usize,
    /// How many have over 3 % more.
    pub above: usize,
    /// How many spill and did not.
    pub newly_spilling: usize,
    /// How many need over four registers more without more warps.
    pub registers_up: usize,
}

impl Summary {
    /// The summary of kernels.
    pub fn of<'kernels>(kernels: impl Iterator<Item = &'kernels Kernel>) -> Summary {
        let mut own = Summary::default();
        let (mut sum, mut sum_by_depth, mut sum_of_others) = (0.0, 0.0, 0.0);
        for kernel in kernels {
            own.kernels += 1;
            sum += kernel.ratio().ln();
            sum_by_depth += kernel.ratio_by_depth().ln();
            match kernel.accesses_otherwise() {
                true => own.other_accesses += 1,
                false => sum_of_others += kernel.ratio().ln(),
            }
            own.smaller += usize::from(kernel.ratio() < 1.0);
            own.bigger += usize::from(kernel.ratio() > 1.0);
            own.above += usize::from(kernel.ratio() > 1.03);
            own.newly_spilling += usize::from(kernel.newly_spills());
            own.registers_up += usize::from(kernel.needs_registers());
        }
        let count = own.kernels.max(1) as f64;
        own.mean = (sum / count).exp();
        own.mean_by_depth = (sum_by_depth / count).exp();
        let others = (own.kernels - own.other_accesses).max(1) as f64;
        own.mean_of_others = (sum_of_others / others).exp();
        own
    }
}

/// The summaries of all classes and targets that have kernels.
pub fn summaries(kernels: &[Kernel], targets: &[Target]) -> Vec<(Class, Target, Summary)> {
    let mut found = Vec::new();
    for class in Class::ALL {
        for &target in targets {
            let own = |kernel: &&Kernel| (kernel.class, kernel.target) == (class, target);
            let summary = Summary::of(kernels.iter().filter(own));
            if summary.kernels > 0 {
                found.push((class, target, summary));
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_go_by_name_folder_and_head() {
        let nvcc = "//\n// Generated by NVIDIA NVVM Compiler\n//\n";
        for (path, text, class) in [
            ("nvcc/saxpy.O3.sm_80.ptx", nvcc, Class::Nvcc),
            ("nvcc/saxpy.O0.sm_80.ptx", nvcc, Class::Unoptimized),
            ("nvcc/saxpy.G.sm_80.ptx", nvcc, Class::Unoptimized),
            ("kernels_G.ptx", nvcc, Class::Unoptimized),
            ("nvcc/scan.O1.sm_80.ptx", nvcc, Class::Other),
            ("numba/saxpy.O3.sm_80.ptx", nvcc, Class::Other),
            ("triton/softmax.sm_90.ptx", "", Class::Triton),
            ("hand/guards.ptx", "", Class::Other),
        ] {
            assert_eq!(Class::of(Path::new(path), text), class, "{path}");
        }
    }

    #[test]
    fn files_for_one_architecture_stay_on_it() {
        let target = |text| Target::from_text(text).unwrap();
        let choose = |own, asked| target_for(target(own), target(asked)).map(|own| own.to_string());
        assert_eq!(choose("sm_80", "sm_90").as_deref(), Some("sm_90"));
        assert_eq!(choose("sm_90a", "sm_90").as_deref(), Some("sm_90a"));
        assert_eq!(choose("sm_90a", "sm_100"), None);
        assert_eq!(choose("sm_90", "sm_80"), None);
    }

    #[test]
    fn means_are_geometric() {
        let kernel = |before, after| {
            let measured = |instructions| Measurement {
                code: oriole::machine::MachineCode {
                    instructions,
                    weighted: instructions,
                    ..Default::default()
                },
                occupancy: None,
            };
            Kernel {
                class: Class::Nvcc,
                target: Target::new(8, 0),
                name: String::new(),
                before: measured(before),
                after: measured(after),
            }
        };
        let kernels = [kernel(100, 50), kernel(100, 200), kernel(100, 100)];
        let summary = Summary::of(kernels.iter());
        assert!((summary.mean - 1.0).abs() < 1e-9);
        assert_eq!((summary.smaller, summary.bigger, summary.above), (1, 1, 1));
    }
}
