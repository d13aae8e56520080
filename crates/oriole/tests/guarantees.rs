//! What holds of every file, at every level and for every pass alone: no function costs more on the machine, what is printed can be read and is
//! sound, and the same text comes out every time. At every level a second run changes nothing; a pass alone may leave
//! something to do, as the others are there to finish it.
//!
//! Files are those of the corpus and of the folders that `ORIOLE_CORPUS` names. With internal checks on (`cargo test`) each
//! level and pass takes its turn on a part of the files, so that all of it takes seconds; `ORIOLE_GUARANTEES=all`, or a build
//! without internal checks (`cargo test --release`), takes all files for each.

use oriole::{Level, Module, Options, Report, Severity, check, optimize, parse, print};
use oriole_analysis::machine_cost::function_cost;
use oriole_analysis::{Analyses, Loops};
use oriole_ir::Formats;
use oriole_isa::cost::CostModel;
use oriole_syntax::scopes::Globals;
use oriole_translate::into_ssa;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The levels, and all passes alone.
fn ways() -> Vec<(String, Options)> {
    let levels = [Level::None, Level::Less, Level::Default, Level::Aggressive];
    let mut ways: Vec<(String, Options)> = levels
        .into_iter()
        .map(|level| (format!("-O{}", level as u8), Options::level(level)))
        .collect();
    for pass in oriole_opt::PASSES {
        let phases = oriole_opt::select([pass.name]).expect("every pass can be named");
        let options = Options {
            phases,
            ..Options::default()
        };
        ways.push((pass.name.to_owned(), options));
    }
    ways
}

/// What each function with a body costs on the machine; nothing for those whose control flow cannot be told.
fn costs(module: &Module) -> BTreeMap<String, u64> {
    let (globals, _) = Globals::of(module);
    let model = CostModel::of(oriole_translate::module_of(module, &globals).target);
    let cost = |index: usize| {
        let translated = into_ssa(module, &globals, index, &mut Formats::new()).ok()?;
        let function = &translated.function;
        let loops = Analyses::new().get::<Loops>(function);
        Some(function_cost(function, &loops, model))
    };
    let functions = module.functions.iter().enumerate();
    functions
        .filter(|(_, function)| function.body.is_some())
        .filter_map(|(index, function)| Some((module.text(function.name).to_owned(), cost(index)?)))
        .collect()
}

fn optimized(text: &str, options: &Options) -> Result<(Module, Report), String> {
    let mut module = parse("file.ptx", text).map_err(|errors| format!("unreadable: {errors:?}"))?;
    let report = optimize(&mut module, options).map_err(|errors| format!("unsound: {errors:?}"))?;
    Ok((module, report))
}

/// The text that comes out.
fn text_of(text: &str, options: &Options) -> Result<String, String> {
    Ok(print(&optimized(text, options)?.0))
}

/// What the passes make of a file but for those that take more instructions for fewer wavefronts, which no cost of instructions shows.
fn without_permuted_memory(text: &str, options: &Options) -> Result<Module, String> {
    let mut options = options.clone();
    options
        .phases
        .retain(|phase| phase.pass.name != "swizzle-shared");
    Ok(optimized(text, &options)?.0)
}

/// The first line in which two texts differ.
fn difference(first: &str, second: &str) -> String {
    let (mut left, mut right) = (first.lines(), second.lines());
    for line in 1.. {
        match (left.next(), right.next()) {
            (None, None) => break,
            (a, b) if a != b => {
                return format!(
                    "line {line}: {:?} and then {:?}",
                    a.unwrap_or(""),
                    b.unwrap_or("")
                );
            }
            _ => {}
        }
    }
    "no line".to_owned()
}

/// What one way does wrong on one file; if nothing else, what a second run changes.
fn guarantee(text: &str, options: &Options) -> Result<Option<String>, String> {
    let before = parse("file.ptx", text).map_err(|errors| format!("unreadable: {errors:?}"))?;
    let (after, report) = optimized(text, options)?;
    let costs_before = costs(&before);
    let costs_after = match report.statistics.get("swizzle-shared.accesses") {
        0 => costs(&after),
        _ => costs(&without_permuted_memory(text, options)?),
    };
    for (name, after) in costs_after {
        let before = costs_before.get(&name).copied().unwrap_or(0);
        if after > before {
            return Err(format!("`{name}` cost {before} and now costs {after}"));
        }
    }
    let first = print(&after);
    if text_of(text, options)? != first {
        return Err("another text the second time".to_owned());
    }
    let read = parse("printed.ptx", first.as_str())
        .map_err(|errors| format!("cannot be read again: {errors:?}"))?;
    if let Some(error) = check(&read)
        .into_iter()
        .find(|diagnostic| diagnostic.severity == Severity::Error)
    {
        return Err(format!("not sound: {error:?}"));
    }
    let second = text_of(&first, options)?;
    Ok((second != first).then(|| difference(&first, &second)))
}

#[test]
fn every_file_keeps_the_guarantees() {
    let files = oriole_corpus::files();
    let ways = ways();
    // How many ways take turns on a file: all, or a few.
    let thorough = !cfg!(debug_assertions)
        || std::env::var("ORIOLE_GUARANTEES").is_ok_and(|value| value == "all");
    let turns = if thorough { 1 } else { ways.len() };
    let work: Vec<(&PathBuf, usize)> = files
        .iter()
        .enumerate()
        .flat_map(|(file, path)| {
            (0..ways.len())
                .filter(move |way| (file + way).is_multiple_of(turns))
                .map(move |way| (path, way))
        })
        .collect();
    let (next, failures) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let worker = || {
        while let Some((path, way)) = work.get(next.fetch_add(1, Ordering::Relaxed)) {
            let (name, options) = &ways[*way];
            let text = std::fs::read_to_string(path)
                .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
            let failure = match guarantee(&text, options) {
                Ok(None) => continue,
                Ok(Some(_)) if !name.starts_with("-O") => continue,
                Ok(Some(difference)) => format!("a second run changes {difference}"),
                Err(failure) => failure,
            };
            failures
                .lock()
                .expect("no worker panics with it")
                .push(format!("{}: {name}: {failure}", path.display()));
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(worker);
        }
    });
    let mut failures = failures.into_inner().expect("no worker panicked");
    failures.sort();
    assert!(
        failures.is_empty(),
        "{} of {}:\n{}",
        failures.len(),
        work.len(),
        failures.join("\n")
    );
}

/// Bodies that a second run once changed.
const ONCE_CHANGED: &[&str] = &[
    // A chain of sums, each of which the next one and an address read.
    "add.s64 %rd2, %rd1, 8; st.u64 [%rd2], 1; add.s64 %rd3, %rd2, 8; st.u64 [%rd3], 1; add.s64 %rd4, %rd3, 8;
     st.u64 [%rd4], 1; add.s64 %rd5, %rd4, 8; st.u64 [%rd5], 1; add.s64 %rd6, %rd5, 8; st.u64 [%rd6], 1;
     add.s64 %rd7, %rd6, 8; st.u64 [%rd7], 1; ret;",
    // Branches that do nothing, to two labels of one place.
    "@%p1 bra A; @%p2 bra B; @%p3 bra B; B: A: ret;",
    "setp.eq.u32 %p1, %r1, 1; setp.eq.u32 %p2, %r1, 2; setp.eq.u32 %p3, %r1, 3;
     @%p1 bra A; @%p2 bra B; @%p3 bra B; B: A: ret;",
    // A branch in an arm: straightened, the arm is short enough for the branch around.
    "setp.eq.u32 %p1, %r1, 1; setp.eq.u32 %p2, %r1, 2; mov.u32 %r2, 7; @%p1 bra A; mov.u32 %r2, 8; @%p2 bra A;
     add.s32 %r2, %r1, 9; A: st.global.u32 [%rd1], %r2; ret;",
    // Equal sums in other orders, which only regrouping makes equal, behind a branch that goes.
    "setp.eq.u32 %p1, %r1, %r1; add.s32 %r3, %r1, %r2; add.s32 %r4, %r3, %r5; @%p1 bra A; add.s32 %r6, %r1, 3; A:
     add.s32 %r7, %r5, %r2; add.s32 %r8, %r7, %r1; st.global.v2.u32 [%rd1], {%r4, %r8}; ret;",
];

#[test]
fn a_second_run_changes_nothing_of_what_it_once_did() {
    for body in ONCE_CHANGED {
        let text = format!(
            ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 out, .param .u32 n)\n{{\n\
             .reg .pred %p<4>;\n.reg .b32 %r<10>;\n.reg .b64 %rd<8>;\nld.param.u64 %rd1, [out];\n\
             ld.param.u32 %r1, [n];\nmov.u32 %r2, %tid.x;\nmov.u32 %r5, %ctaid.x;\n{body}\n}}\n"
        );
        for level in [Level::Less, Level::Default, Level::Aggressive] {
            let options = Options::level(level);
            let once = text_of(&text, &options).unwrap();
            let twice = text_of(&once, &options).unwrap();
            assert_eq!(once, twice, "{level:?}: {body}");
        }
    }
}
