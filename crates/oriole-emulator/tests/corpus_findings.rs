//! The launches of the corpus with all checks on: programs that are known to work have no races and use barriers rightly, but for
//! those that race by the letter of the manual.
//!
//! One variant of each file is run. `ORIOLE_ONLY=text` runs the launches whose name contains the text.

#[allow(dead_code, reason = "the corpus test uses the rest")]
mod recorded;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use oriole_diagnostics::Severity;
use oriole_emulator::{Machine, Options};
use rayon::prelude::*;
use recorded::Recording;

/// Launches that race, and why.
const RACES: &[(&str, &str)] = &[
    ("hand/layout.ptx", "all threads store to one place"),
    (
        "memory_model",
        "all threads use one word, with every kind of access",
    ),
    ("bfs_level", "reads plainly what others update by atomics"),
    ("components_hook", "likewise"),
    (
        "last_block",
        "reads what other blocks wrote behind an atomic without a fence",
    ),
];

#[test]
fn programs_that_work_have_no_findings() {
    let corpus = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/corpus");
    let recording = Recording::read(&corpus);
    let runs = oriole_corpus::runs(&corpus);
    let only = std::env::var("ORIOLE_ONLY").unwrap_or_default();
    let mut seen = BTreeSet::new();
    let launches: Vec<_> = recording
        .launches
        .iter()
        .filter(|launch| launch.error.is_none() && launch.ptx.contains(&only))
        .filter(|launch| seen.insert((launch.run, launch.kernel.clone())))
        .collect();
    let found: BTreeMap<String, Vec<String>> = launches
        .par_iter()
        .map(|launch| {
            let run = &runs[launch.run];
            let (module, _) = oriole_syntax::parse(&launch.ptx, launch.text(&corpus));
            let mut machine = Machine::new(&module).expect("a valid module");
            let request = launch.on(&mut machine, run);
            let options = Options {
                step_limit: 200_000_000,
                check_races: true,
                check_uninitialized: true,
                ..Options::default()
            };
            let name = format!("{} {} (run {})", launch.ptx, launch.kernel, launch.run);
            let lines = match machine.launch(&request, &options) {
                Ok(report) => report
                    .findings
                    .iter()
                    .filter(|finding| finding.severity == Severity::Warning)
                    .map(|finding| {
                        format!(
                            "{}: line {}, {:?}: {}",
                            finding.kind.id(),
                            finding.ptx_line,
                            finding.other_ptx_line,
                            finding.message
                        )
                    })
                    .collect(),
                Err(trap) => vec![trap.to_string()],
            };
            (name, lines)
        })
        .collect();
    let unexpected: Vec<String> = found
        .iter()
        .filter(|(name, _)| !RACES.iter().any(|(known, _)| name.contains(known)))
        .flat_map(|(name, lines)| lines.iter().map(move |line| format!("{name}: {line}")))
        .collect();
    assert!(unexpected.is_empty(), "{}", unexpected.join("\n"));
    assert!(
        found.len() > 200 || !only.is_empty(),
        "only {} launches ran",
        found.len()
    );
    let silent: Vec<&str> = RACES
        .iter()
        .filter(|(known, _)| {
            !found
                .iter()
                .any(|(name, lines)| name.contains(known) && !lines.is_empty())
        })
        .map(|(known, _)| *known)
        .collect();
    assert!(
        silent.is_empty() || !only.is_empty(),
        "no races in {silent:?}"
    );
}
