//! What is said of memory accesses is what Nsight Compute counted on a GPU, instruction by instruction.
//!
//! `tests/validation/*.tsv` are the measurements (`tools/validate-on-gpu`), `docs/validation.md` is what came of them. `ORIOLE_BLESS=1
//! cargo test --release -p oriole-evolution --test measured` writes the tables of that file anew. Without optimization some launches of the corpus are
//! compared, and no table.

#![allow(clippy::print_stdout)]

use oriole::{AccessOptions, KernelAccesses};
use oriole_analysis::memory_requests::{Class, Repetition, Status, Wasteful};
use oriole_corpus::{Run, runs};
use oriole_evolution::measured::{self, Launch, Verdict, counted, is_ideal_equal, joined, judge};
use oriole_syntax::tree::Module;
use rayon::prelude::*;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};

fn tests() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests")
}

/// What came of an instruction.
#[derive(Clone, Debug)]
struct Outcome {
    is_micro: bool,
    /// Whether numbers among the arguments were given.
    with_arguments: bool,
    status: Status,
    is_data_dependent: bool,
    verdict: Verdict,
    /// How sure it is said to be that something is wasted, and whether it is, if that was counted.
    wasteful: Wasteful,
    is_wasteful: Option<bool>,
    /// Whether several blocks were launched where these must be for that.
    has_blocks: bool,
    /// Whether what would do is what was said, where it was counted.
    is_ideal_equal: Option<bool>,
    text: String,
}

fn module(path: &Path) -> Module {
    let text = std::fs::read_to_string(path).expect("a file");
    let (module, errors) = oriole_syntax::parse("kernel.ptx", &text);
    assert!(errors.is_empty(), "{errors:?}");
    module
}

fn accesses(module: &Module, launch: &Launch, arguments: BTreeMap<u32, u64>) -> KernelAccesses {
    let options = AccessOptions {
        block: Some(launch.block),
        kernel: Some(launch.kernel.clone()),
        arguments,
        ..AccessOptions::default()
    };
    let (mut kernels, _) = oriole::accesses(module, &options).expect("accesses");
    kernels.pop().expect("a kernel")
}

/// All microbenchmarks, which say themselves how they are launched, by name.
fn microbenchmarks(module: &Module) -> BTreeMap<String, KernelAccesses> {
    let (kernels, _) = oriole::accesses(module, &AccessOptions::default()).expect("accesses");
    let kernels = kernels.into_iter();
    kernels
        .map(|kernel| (kernel.name.clone(), kernel))
        .collect()
}

/// Everything that was measured, held against what is said with and without numbers.
fn outcomes(launches: &[Launch]) -> Vec<Outcome> {
    let all = runs(&tests().join("corpus"));
    let mut files: Vec<&str> = launches.iter().map(|launch| launch.ptx.as_str()).collect();
    files.sort_unstable();
    files.dedup();
    let modules: BTreeMap<&str, Module> = files
        .into_par_iter()
        .map(|file| (file, module(&tests().join(file))))
        .collect();
    let micro = launches.iter().find(|launch| launch.run.is_none());
    let micro = microbenchmarks(&modules[micro.expect("microbenchmarks").ptx.as_str()]);
    let of_launch = |launch: &Launch| {
        let run = launch.run.map(|number| &all[number]);
        // Microbenchmarks are given 0, and are not told.
        let numbers = run.map_or_else(|| BTreeMap::from([(2, 0)]), Run::integers);
        let mut outcomes = Vec::new();
        for with_arguments in [true, false] {
            let given = match with_arguments && run.is_some() {
                true => numbers.clone(),
                false => BTreeMap::new(),
            };
            if !with_arguments && (numbers.is_empty() || run.is_none()) {
                continue;
            }
            let kernel = match run {
                Some(_) => &accesses(&modules[launch.ptx.as_str()], launch, given),
                None => &micro[&launch.kernel],
            };
            assert_eq!(kernel.block, launch.block);
            of_kernel(launch, kernel, &numbers, with_arguments, &mut outcomes);
        }
        outcomes
    };
    launches.par_iter().flat_map_iter(of_launch).collect()
}

fn of_kernel(
    launch: &Launch,
    kernel: &KernelAccesses,
    numbers: &BTreeMap<u32, u64>,
    with_arguments: bool,
    outcomes: &mut Vec<Outcome>,
) {
    for row in &launch.rows {
        for access in joined(kernel, row) {
            let verdict = judge(access, row, numbers);
            let counted = counted(access, row);
            let (ptx, line) = (&launch.ptx, row.line);
            let cost = &access.cost;
            // Nsight Compute's wavefronts of `cp.async.cg` are no waste: the hardware has none.
            let of_hardware = counted.filter(|_| !cost.request.is_free());
            let wasted = of_hardware.and_then(|it| Some(it.cost > it.ideal?));
            let has_blocks = cost.wasteful_if.iter().all(|own| match *own {
                Repetition::Blocks(axis) => launch.grid[axis as usize] > 1,
                Repetition::Warps => true,
            });
            outcomes.push(Outcome {
                is_micro: launch.run.is_none(),
                with_arguments,
                status: cost.status,
                is_data_dependent: cost.class == Class::DataDependent,
                verdict,
                wasteful: cost.wasteful,
                is_wasteful: wasted,
                has_blocks,
                is_ideal_equal: is_ideal_equal(access, row),
                text: format!(
                    "{ptx}:{line} {} {:?} `{}` {}: counted {counted:?} in {} executions by {} lanes; said {access}",
                    launch.kernel, launch.block, access.mnemonic, row.instruction, row.times, row.threads
                ),
            });
        }
    }
}

/// Kernels of which Nsight Compute says something else than the hardware counter of the whole launch, which is what is said here.
const NSIGHT_DIFFERS: [&str; 3] = [
    "ld_shared_v4b32_halfpaired",
    "ld_shared_v4b32_nearpaired",
    "ld_shared_v4b32_stride0_fourth",
];

fn read() -> (String, Vec<Launch>) {
    let mut machine = String::new();
    let mut launches = Vec::new();
    for name in ["h200-microbenchmarks.tsv", "h200-corpus.tsv"] {
        let text = std::fs::read_to_string(tests().join("validation").join(name));
        let text = text.expect("the measurements");
        let (measured_by, own) = measured::read(&text);
        machine = measured_by.to_owned();
        launches.extend(own);
    }
    (machine, launches)
}

/// How many of something there are, by verdict.
fn count<'all>(outcomes: impl Iterator<Item = &'all Outcome>) -> BTreeMap<Verdict, usize> {
    let mut counts = BTreeMap::new();
    for outcome in outcomes {
        *counts.entry(outcome.verdict).or_insert(0) += 1;
    }
    counts
}

/// True and false positives and negatives of "wasteful".
#[derive(Default)]
struct Confusion {
    both: usize,
    said_only: usize,
    counted_only: usize,
    neither: usize,
}

impl Confusion {
    /// Of what is said to be wasteful at least so surely.
    fn of<'all>(outcomes: impl Iterator<Item = &'all Outcome>, least: Wasteful) -> Confusion {
        let mut confusion = Confusion::default();
        for outcome in outcomes {
            let Some(counted) = outcome.is_wasteful else {
                continue;
            };
            *match (outcome.wasteful >= least, counted) {
                (true, true) => &mut confusion.both,
                (true, false) => &mut confusion.said_only,
                (false, true) => &mut confusion.counted_only,
                (false, false) => &mut confusion.neither,
            } += 1;
        }
        confusion
    }

    fn precision(&self) -> f64 {
        self.both as f64 / (self.both + self.said_only).max(1) as f64
    }

    fn recall(&self) -> f64 {
        self.both as f64 / (self.both + self.counted_only).max(1) as f64
    }

    fn row(&self, what: &str) -> String {
        format!(
            "| {what} | {} | {} | {} | {} | {:.3} | {:.3} |\n",
            self.both,
            self.said_only,
            self.counted_only,
            self.neither,
            self.precision(),
            self.recall()
        )
    }
}

/// Whether a claim was made that what was counted can decide.
fn is_decided(outcome: &Outcome) -> bool {
    let is_claim = matches!(outcome.status, Status::Proved | Status::ProvedIf);
    let is_comparable = matches!(outcome.verdict, Verdict::Equal | Verdict::Different);
    is_claim && is_comparable
}

fn tables(machine: &str, launches: &[Launch], outcomes: &[Outcome]) -> String {
    let micro = launches
        .iter()
        .filter(|launch| launch.run.is_none())
        .count();
    let mut text = format!(
        "Measured on: {machine}. {micro} microbenchmarks, {} launches of the corpus.\n\n",
        launches.len() - micro
    );
    let header = "| what | status | equal | within bounds | not said | uneven | other lanes | unmet | changed | different |\n|---|---|---|---|---|---|---|---|---|---|\n";
    text.push_str(header);
    let sets = [
        ("microbenchmarks", true, true),
        ("corpus, with numbers", false, true),
        ("corpus, without", false, false),
    ];
    for (what, is_micro, with_arguments) in sets {
        for status in [
            Status::Proved,
            Status::ProvedIf,
            Status::Bounded,
            Status::Unknown,
        ] {
            let own = outcomes.iter().filter(|it| {
                (it.is_micro, it.with_arguments, it.status) == (is_micro, with_arguments, status)
            });
            let counts = count(own);
            let _ = write!(text, "| {what} | {} |", status.text());
            for verdict in Verdict::ALL {
                let _ = write!(text, " {} |", counts.get(&verdict).unwrap_or(&0));
            }
            text.push('\n');
        }
    }
    text.push_str("\n| wasteful | both | said only | counted only | neither | precision | recall |\n|---|---|---|---|---|---|---|\n");
    for (what, is_micro, with_arguments) in sets {
        let set = |it: &&Outcome| (it.is_micro, it.with_arguments) == (is_micro, with_arguments);
        let claims = outcomes.iter().filter(set).filter(|it| is_decided(it));
        let certain = Wasteful::Certainly;
        text.push_str(&Confusion::of(claims, certain).row(&format!("{what}: claims")));
        let all = || {
            outcomes
                .iter()
                .filter(set)
                .filter(|it| it.verdict != Verdict::Changed)
        };
        text.push_str(&Confusion::of(all(), certain).row(&format!("{what}: all")));
        let likely = Confusion::of(all(), Wasteful::Likely);
        text.push_str(&likely.row(&format!("{what}: all, likely ones too")));
    }
    text.push_str("\n| wasteful, and not said to be | data-dependent | unknown else | bounded | other lanes, or an assumption that does not hold |\n|---|---|---|---|---|\n");
    for (what, is_micro, with_arguments) in sets {
        let own = outcomes.iter().filter(|it| {
            (it.is_micro, it.with_arguments) == (is_micro, with_arguments)
                && it.verdict != Verdict::Changed
                && it.is_wasteful == Some(true)
                && it.wasteful < Wasteful::Certainly
        });
        let mut reasons = [0; 4];
        for outcome in own {
            let reason = match outcome.status {
                Status::Unknown if outcome.is_data_dependent => 0,
                Status::Unknown => 1,
                Status::Bounded => 2,
                Status::Proved | Status::ProvedIf => 3,
            };
            reasons[reason] += 1;
        }
        let [data, unknown, bounded, other] = reasons;
        let _ = writeln!(
            text,
            "| {what} | {data} | {unknown} | {bounded} | {other} |"
        );
    }
    let ideals = outcomes.iter().filter(|it| is_decided(it));
    let ideals: Vec<bool> = ideals.filter_map(|it| it.is_ideal_equal).collect();
    let equal = ideals.iter().filter(|&&is_equal| is_equal).count();
    let _ = writeln!(
        text,
        "\nOf {} claims with a counted ideal, {equal} have it.",
        ideals.len()
    );
    text
}

/// The tables stand between these lines of the file.
const MARKS: [&str; 2] = [
    "<!-- written by tools/oriole-evolution/tests/measured.rs -->\n",
    "<!-- end -->\n",
];

fn check_document(tables: &str) {
    let path = tests().join("../docs/validation.md");
    let text = std::fs::read_to_string(&path).expect("docs/validation.md");
    let begin = text.find(MARKS[0]).expect("a mark") + MARKS[0].len();
    let end = text.find(MARKS[1]).expect("a mark");
    if std::env::var("ORIOLE_BLESS").is_ok_and(|value| value == "1") {
        let new = format!("{}{tables}{}", &text[..begin], &text[end..]);
        std::fs::write(&path, new).expect("written");
    } else {
        assert_eq!(
            &text[begin..end],
            tables,
            "docs/validation.md has other tables; ORIOLE_BLESS=1 writes them anew"
        );
    }
}

#[test]
fn claims_are_what_a_gpu_counted() {
    let (machine, launches) = read();
    // All of them take minutes without optimization.
    let one_in = if cfg!(debug_assertions) { 8 } else { 1 };
    let some = launches.iter().enumerate();
    let some = some.filter(|(index, launch)| launch.run.is_none() || index % one_in == 0);
    let launches: Vec<Launch> = some.map(|(_, launch)| launch.clone()).collect();
    let outcomes = outcomes(&launches);
    let tables = tables(&machine, &launches, &outcomes);
    println!("{tables}");
    let is_known = |it: &&Outcome| NSIGHT_DIFFERS.iter().any(|own| it.text.contains(own));
    let wrong: Vec<&str> = outcomes
        .iter()
        .filter(|it| it.verdict == Verdict::Different && !is_known(it))
        .map(|it| it.text.as_str())
        .collect();
    assert!(wrong.is_empty(), "{} different: {wrong:#?}", wrong.len());
    // What is certain is so if the cost is within what was said, and blocks are those that it needs.
    let is_comparable =
        |it: &&Outcome| matches!(it.verdict, Verdict::Equal | Verdict::Within) && it.has_blocks;
    let unfounded: Vec<&str> = outcomes
        .iter()
        .filter(|it| it.wasteful == Wasteful::Certainly && it.is_wasteful == Some(false))
        .filter(is_comparable)
        .map(|it| it.text.as_str())
        .collect();
    assert!(unfounded.is_empty(), "not wasteful: {unfounded:#?}");
    let decided: Vec<&Outcome> = outcomes.iter().filter(|it| is_decided(it)).collect();
    assert!(decided.len() > 3000 / one_in, "{}", decided.len());
    let confusion = Confusion::of(decided.into_iter(), Wasteful::Certainly);
    assert!(confusion.precision() >= 0.98 && confusion.recall() >= 0.98);
    if one_in == 1 {
        check_document(&tables);
    }
}

/// Where Nsight Compute and the hardware differ, what is said is what the hardware counted. Reading the number of the thread is a wavefront too.
#[test]
fn the_hardware_is_followed_where_its_profiler_differs() {
    let (_, launches) = read();
    for name in NSIGHT_DIFFERS {
        let launch = launches.iter().find(|launch| launch.kernel == name);
        let launch = launch.expect("a kernel");
        let kernel = accesses(&module(&tests().join(&launch.ptx)), launch, BTreeMap::new());
        let [row] = &launch.rows[..] else {
            panic!("one instruction")
        };
        let access = joined(&kernel, row).next().expect("an access");
        assert_eq!(access.cost.least + 1, launch.counted["shared"], "{name}");
        assert_eq!(access.cost.status, Status::Proved);
    }
}
