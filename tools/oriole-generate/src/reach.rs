//! Counts of each pass and each of its counters, on kernels that run the same before and after.
//!
//! The kernels are mutants of the file tests of passes and of small kernels of the corpus, and those that [`crate::generate`]
//! makes. Random kernels alone reach few patterns; the tests of a pass declare its patterns, and those that it must leave alone.

use crate::mutation::mutate;
use crate::{Options, Random, Shapes, differential, generate};
use oriole::{Keep, Module, Verdict, VerifyOptions};
use oriole_ir::{Definition, Formats};
use oriole_opt::Statistics;
use oriole_syntax::scopes::Globals;
use oriole_translate::into_ssa;
use rayon::prelude::*;
use std::collections::BTreeMap;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Kernels of the corpus that are mutated have at most so many bytes, with their whole file.
const CORPUS_BYTES: u64 = 6 << 10;
/// Mutants of one seed until one runs.
const ATTEMPTS: u64 = 6;
/// Kernels for each one that [`generate`] makes.
const GENERATED: u64 = 16;
/// Mutants for each one that is compared under another optimization, too.
const OTHER_WAY: u64 = 3;
/// Kernels of a round.
const ROUND: u64 = 64;
/// Counters that a round looks for.
const SELDOM: usize = 16;

/// Files that are not mutated, and why.
const LEFT_OUT: &[(&str, &str)] = &[(
    "gvn_cse_variables_unchanged.ptx",
    "it writes past its variables, which lie elsewhere afterwards",
)];

/// Counters that never rise here, and why.
pub const EXCEPTIONS: &[(&str, &str)] = &[
    (
        "advanced-phase-back-prop-vreg",
        "a hook that the library's user fills",
    ),
    (
        "advanced-phase-back-prop-vreg.copies",
        "a hook that the library's user fills",
    ),
];

/// A kernel to mutate, and what its file asks for.
struct Seed {
    name: String,
    text: String,
    options: Option<oriole::Options>,
    /// Kernels that cannot be run as they are.
    not_run: usize,
    /// Reads of registers that may be unwritten.
    undefined: usize,
}

/// Everything there is to mutate.
pub struct Seeds {
    all: Vec<Seed>,
    /// The seeds for which a counter rises under what their files ask for.
    firing: BTreeMap<String, Vec<usize>>,
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

impl Seeds {
    /// None: all kernels are those that [`generate`] makes.
    pub fn none() -> Seeds {
        Seeds {
            all: Vec::new(),
            firing: BTreeMap::new(),
        }
    }

    /// Reads the file tests and the corpus.
    ///
    /// # Errors
    /// A file that cannot be read.
    pub fn read() -> Result<Seeds, String> {
        let tests = root().join("tests/files");
        let mut seeds = Vec::new();
        for folder in ["opt", "passes", "knobs"] {
            let files = oriole_filetests::collect(&tests.join(folder));
            for path in files.map_err(|error| error.to_string())? {
                if LEFT_OUT.iter().any(|(file, _)| path.ends_with(file)) {
                    continue;
                }
                let all = oriole_filetests::runnable(&path)
                    .map_err(|error| format!("{}: {error}", path.display()))?;
                seeds.extend(all.into_iter().map(|own| Seed {
                    name: own.name,
                    text: own.text,
                    options: Some(own.options),
                    not_run: own.not_run,
                    undefined: 0,
                }));
            }
        }
        let corpus = oriole_filetests::collect(&root().join("tests/corpus/ptx"));
        for path in corpus.map_err(|error| error.to_string())? {
            let is_small = path.metadata().is_ok_and(|it| it.len() <= CORPUS_BYTES);
            if is_small && let Ok(text) = std::fs::read_to_string(&path) {
                let name = path.file_name().unwrap_or_default().to_string_lossy();
                seeds.push(Seed {
                    name: name.into_owned(),
                    text,
                    options: None,
                    not_run: 0,
                    undefined: 0,
                });
            }
        }
        let read: Vec<(Seed, Statistics)> = seeds
            .into_par_iter()
            .filter_map(|seed| {
                let module = oriole::parse(seed.name.as_str(), seed.text.as_str()).ok()?;
                let mut after = module.clone();
                let options = seed.options.clone().unwrap_or_default();
                let report = oriole::optimize(&mut after, &options).ok()?;
                let seed = Seed {
                    text: oriole::print(&module),
                    undefined: undefined_reads(&module),
                    ..seed
                };
                Some((seed, report.statistics))
            })
            .collect();
        let mut found = Seeds::none();
        for (seed, statistics) in read {
            for name in fired(&statistics).into_keys() {
                let list = found.firing.entry(name).or_default();
                list.push(found.all.len());
            }
            found.all.push(seed);
        }
        Ok(found)
    }

    /// The number of seeds.
    pub fn count(&self) -> usize {
        self.all.len()
    }
}

/// Reads of registers that may be unwritten.
fn undefined_reads(module: &Module) -> usize {
    let (globals, _) = Globals::of(module);
    let bodies = module.functions.iter().enumerate();
    let bodies = bodies.filter(|(_, function)| function.body.is_some());
    let reads = bodies.map(|(index, _)| {
        let Ok(translated) = into_ssa(module, &globals, index, &mut Formats::new()) else {
            return 0;
        };
        let function = &translated.function;
        let undefined = function.values().iter();
        let undefined = undefined.filter(|(_, data)| data.definition == Definition::Undefined);
        undefined
            .map(|(value, _)| function.uses_of(value).count())
            .sum()
    });
    reads.sum()
}

/// The verdicts about the kernels of two modules.
fn verdicts(before: &Module, after: &Module) -> Option<Vec<Verdict>> {
    let options = VerifyOptions {
        time: Duration::from_secs(60),
        memory: 64 << 20,
        launch: None,
        thorough: true,
    };
    let verified = oriole::verify(before, after, &options).ok()?;
    Some(verified.into_iter().map(|own| own.verdict).collect())
}

/// Counts over many kernels.
#[derive(Default)]
pub struct Reached {
    /// Kernels that ran.
    pub kernels: u64,
    /// Mutants that could not be used.
    pub refused: u64,
    /// How often each counter rose, and each pass rewrote something.
    pub counts: BTreeMap<String, u64>,
    /// Kernels that something was made of that does something else: how, and the kernel.
    pub wrong: Vec<String>,
}

/// How often each counter rose, and each pass rewrote something, by itself or as a part of another.
fn fired(statistics: &Statistics) -> BTreeMap<String, u64> {
    let mut all: BTreeMap<String, u64> = BTreeMap::new();
    for (name, count) in statistics.iter() {
        all.insert(name.to_owned(), count);
        let pass = name.split('.').next().unwrap_or(name);
        *all.entry(pass.to_owned()).or_default() += count;
    }
    for phase in statistics.phases().iter().filter(|own| own.rewrites > 0) {
        let count = all.entry(phase.pass.to_owned()).or_default();
        *count = phase.rewrites.max(*count);
    }
    all
}

impl Reached {
    fn count(&mut self, statistics: &Statistics) {
        for (name, count) in fired(statistics) {
            *self.counts.entry(name).or_default() += count;
        }
    }

    fn join(mut self, other: Reached) -> Reached {
        self.kernels += other.kernels;
        self.refused += other.refused;
        for (name, count) in other.counts {
            *self.counts.entry(name).or_default() += count;
        }
        self.wrong.extend(other.wrong);
        self
    }

    /// The count of a pass or counter.
    pub fn of(&self, name: &str) -> u64 {
        self.counts.get(name).copied().unwrap_or_default()
    }
}

/// Runs the kernels of these numbers in rounds. Mutants are made of seeds whose counters rose seldom so far. Ends early once
/// each counter rose as often as is `enough`.
///
/// # Errors
/// A file that cannot be read.
pub fn reach(seeds: &Seeds, numbers: Range<u64>, enough: u64) -> Result<Reached, String> {
    let ways = differential::optimizations();
    let names = names()?;
    let mut reached = Reached::default();
    let mut start = numbers.start;
    while start < numbers.end {
        let mut seldom: Vec<&String> = names.iter().collect();
        seldom.sort_by_key(|&name| (reached.of(name), name));
        seldom.retain(|&name| !EXCEPTIONS.iter().any(|(exception, _)| name == exception));
        if seldom
            .first()
            .is_none_or(|&first| reached.of(first) >= enough)
        {
            break;
        }
        seldom.truncate(SELDOM);
        let end = (start + ROUND).min(numbers.end);
        let round = (start..end).into_par_iter().map(|number| {
            if seeds.all.is_empty() || number.is_multiple_of(GENERATED) {
                return generated(number, &ways);
            }
            // Two of three are chosen, the others are taken in turn.
            let chosen = seldom[(number / 3) as usize % seldom.len()];
            let seed = match seeds.firing.get(chosen) {
                Some(list) if number % 3 != 0 => {
                    list[(number / ROUND + number) as usize % list.len()]
                }
                _ => (number / 3) as usize % seeds.all.len(),
            };
            mutant(seeds, seed, number, &ways)
        });
        reached = reached.join(round.reduce(Reached::default, Reached::join));
        start = end;
    }
    Ok(reached)
}

/// A kernel that [`generate`] makes.
fn generated(number: u64, ways: &[(String, oriole::Options)]) -> Reached {
    let options = Options {
        added: true,
        addresses: true,
        shapes: Shapes::ALL,
        ..Options::default()
    };
    let kernel = generate(number, options);
    let seed = Seed {
        name: kernel.name.clone(),
        text: kernel.module(),
        options: None,
        not_run: 0,
        undefined: usize::MAX,
    };
    let mut reached = Reached::default();
    if let Ok(module) = oriole::parse(kernel.name.as_str(), kernel.module()) {
        try_ways(&seed, &module, number, ways, &mut reached);
    }
    reached
}

/// A mutant that runs of a seed.
fn mutant(seeds: &Seeds, seed: usize, number: u64, ways: &[(String, oriole::Options)]) -> Reached {
    let mut reached = Reached::default();
    let seed = &seeds.all[seed];
    for attempt in 0..ATTEMPTS {
        let mut random = Random::new(number * ATTEMPTS + attempt);
        let other = random.pick(&seeds.all);
        let text = mutate(&seed.text, &other.text, &mut random);
        let module = oriole::parse(seed.name.as_str(), text);
        if let Ok(module) = module
            && oriole::check(&module).is_empty()
            && undefined_reads(&module) <= seed.undefined
            && try_ways(seed, &module, number, ways, &mut reached)
        {
            break;
        }
        reached.refused += 1;
    }
    reached
}

/// Compares a module under what its seed asks for, and now and then under another optimization. Whether it ran.
fn try_ways(
    seed: &Seed,
    module: &Module,
    number: u64,
    ways: &[(String, oriole::Options)],
    reached: &mut Reached,
) -> bool {
    let mut tried: Vec<(&str, oriole::Options)> = Vec::new();
    if let Some(options) = &seed.options {
        tried.push(("its own", options.clone()));
    }
    if tried.is_empty() || number.is_multiple_of(OTHER_WAY) {
        let (name, options) = &ways[(number / OTHER_WAY) as usize % ways.len()];
        tried.push((name, options.clone()));
    }
    let mut ran = false;
    for (name, mut options) in tried {
        options.keep = Keep::All;
        options.remarks = false;
        let mut after = module.clone();
        let wrong = |how: &str| {
            let text = oriole::print(module);
            format!("{} under {name}, number {number}: {how}\n{text}", seed.name)
        };
        let optimize = || oriole::optimize(&mut after, &options);
        let report = match catch_unwind(AssertUnwindSafe(optimize)) {
            Ok(Ok(report)) => report,
            Ok(Err(_)) => continue,
            Err(_) => {
                reached.wrong.push(wrong("it panics"));
                continue;
            }
        };
        let printed = match oriole::parse("after", oriole::print(&after)) {
            Ok(printed) => printed,
            Err(error) => {
                reached.wrong.push(wrong(&error.to_string()));
                continue;
            }
        };
        let Some(verdicts) = verdicts(module, &printed) else {
            return false;
        };
        let unknown = |verdict: &&Verdict| matches!(verdict, Verdict::Unknown(_));
        if verdicts.iter().filter(unknown).count() > seed.not_run {
            return false;
        }
        let mut different = verdicts.iter().filter_map(|verdict| match verdict {
            Verdict::Different(how) => Some(how),
            _ => None,
        });
        if let Some(how) = different.next() {
            if depends_on_addresses(module) {
                return false;
            }
            reached.wrong.push(wrong(how));
        }
        if !ran {
            reached.kernels += 1;
            ran = true;
        }
        reached.count(&report.statistics);
    }
    ran
}

/// Whether a module gives something else once its variables lie elsewhere: passes may remove those in front of them.
fn depends_on_addresses(module: &Module) -> bool {
    let mut text = String::new();
    for line in oriole::print(module).lines() {
        text.push_str(line);
        text.push('\n');
        if line.starts_with(".address_size") {
            text.push_str(
                ".global .align 16 .b8 pad_global[48];\n.shared .align 16 .b8 pad_shared[48];\n",
            );
        } else if line == "{" {
            text.push_str(".local .align 16 .b8 pad_local[48];\n");
        }
    }
    let moved = oriole::parse("moved", text);
    let verdicts = moved.ok().and_then(|moved| verdicts(module, &moved));
    let is_different = |verdict: &Verdict| matches!(verdict, Verdict::Different(_));
    verdicts.is_some_and(|verdicts| verdicts.iter().any(is_different))
}

/// Passes, and counters as the sources of the passes name them.
///
/// # Errors
/// A file that cannot be read.
pub fn names() -> Result<Vec<String>, String> {
    let mut names: Vec<String> = oriole_opt::PASSES
        .iter()
        .map(|pass| pass.name.to_owned())
        .collect();
    let mut folders = vec![root().join("crates/oriole-opt/src")];
    while let Some(folder) = folders.pop() {
        let entries = std::fs::read_dir(&folder).map_err(|error| error.to_string())?;
        for entry in entries {
            let path = entry.map_err(|error| error.to_string())?.path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let text = std::fs::read_to_string(&path).map_err(|error| error.to_string())?;
                // Tests have counters of their own.
                let text = text
                    .split("#[cfg(test)]\nmod tests")
                    .next()
                    .unwrap_or_default();
                names.extend(counters_in(text));
            }
        }
    }
    names.sort();
    names.dedup();
    Ok(names)
}

/// Counters that a source names: `"pass.counter"`, and those of the rules of `algebraic-simplification`.
fn counters_in(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for line in text.lines() {
        let strings: Vec<&str> = line.split('"').skip(1).step_by(2).collect();
        for string in &strings {
            let is_counter = string.split_once('.').is_some_and(|(pass, counter)| {
                let plain = |byte: u8| byte.is_ascii_lowercase() || byte == b'-';
                !counter.is_empty()
                    && counter.bytes().all(plain)
                    && (pass == "pressure-guard"
                        || oriole_opt::PASSES.iter().any(|known| known.name == pass))
            });
            if is_counter {
                found.push((*string).to_owned());
            }
        }
        let is_rule = line.trim().split_once(" = \"").is_some_and(|(name, _)| {
            name.bytes()
                .all(|byte| byte.is_ascii_uppercase() || byte == b'_')
        });
        if is_rule && line.ends_with(',') && strings.len() == 2 {
            found.push(format!("algebraic-simplification.{}", strings[0]));
        }
    }
    found
}
