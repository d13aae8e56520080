//! The phases of each optimization level, in one list.

use crate::manager::Pass;
use crate::{
    address_spaces, algebra, back_copy_propagation, branch_simplification, constant_folding,
    copy_propagation, counters_in_step, dead_code, dead_stores, division, exit_values,
    full_unrolling, general_optimize, gvn_cse, late_commoning, leaf_inlining, local_promotion,
    loop_deletion, loop_invariants, narrow_comparisons, narrow_counters, near_addresses,
    predication, range_comparisons, reassociate, remove_unused, selected_sums, short_loops,
    speculative_hoist, stepped_addresses, swizzle_shared, tail_merging,
};
use std::fmt;

/// An optimization level.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// No pass: into SSA form and out again.
    None,
    /// Passes that never take long.
    Less,
    /// The usual.
    #[default]
    Default,
    /// Everything.
    Aggressive,
}

/// A pass at a place in the pipeline.
#[derive(Clone, Copy, Debug)]
pub struct Phase {
    /// The documented phase number, if it has one.
    pub number: Option<u16>,
    /// The lowest level that runs it.
    pub from: Level,
    /// The pass.
    pub pass: &'static Pass,
}

/// All passes, by name.
pub const PASSES: &[&Pass] = &[
    &address_spaces::PASS,
    &algebra::PASS,
    &back_copy_propagation::HOOKED_PASS,
    &back_copy_propagation::PASS,
    &branch_simplification::PASS,
    &constant_folding::PASS,
    &copy_propagation::PASS,
    &counters_in_step::PASS,
    &dead_code::PASS,
    &dead_stores::PASS,
    &division::PASS,
    &exit_values::PASS,
    &full_unrolling::PASS,
    &general_optimize::DEAD_ONLY,
    &general_optimize::PASS,
    &general_optimize::LATE,
    &gvn_cse::PASS,
    &late_commoning::PASS,
    &leaf_inlining::PASS,
    &local_promotion::PASS,
    &loop_deletion::PASS,
    &loop_invariants::PASS,
    &narrow_comparisons::PASS,
    &narrow_counters::PASS,
    &near_addresses::PASS,
    &range_comparisons::PASS,
    &reassociate::PASS,
    &predication::PASS,
    &remove_unused::PASS,
    &selected_sums::PASS,
    &short_loops::PASS,
    &speculative_hoist::PASS,
    &stepped_addresses::PASS,
    &swizzle_shared::PASS,
    &tail_merging::PASS,
];

/// A phase of the documented pipeline.
const fn phase(number: u16, from: Level, pass: &'static Pass) -> Phase {
    Phase {
        number: Some(number),
        from,
        pass,
    }
}

/// A phase of our own.
const fn unnumbered(from: Level, pass: &'static Pass) -> Phase {
    Phase {
        number: None,
        from,
        pass,
    }
}

/// The name that `ptxas` gives the phase of this number, if it is one of those that exist here.
pub fn documented_name(number: u16) -> Option<&'static str> {
    let mut names = DOCUMENTED_NAMES.iter();
    names
        .find(|(_, own)| own.parse() == Ok(number))
        .map(|&(name, _)| name)
}

/// The name that `ptxas` gives what a pass does inside its phases, if it names that.
pub fn documented_part(pass: &Pass) -> Option<&'static str> {
    let mut names = DOCUMENTED_NAMES.iter();
    names
        .find(|&&(_, own)| own == pass.name)
        .map(|&(name, _)| name)
}

/// The whole pipeline, in order.
const PIPELINE: &[Phase] = &[
    phase(13, Level::Less, &general_optimize::PASS),
    unnumbered(Level::Default, &division::PASS),
    unnumbered(Level::Default, &range_comparisons::PASS),
    unnumbered(Level::Default, &exit_values::PASS),
    unnumbered(Level::Default, &loop_deletion::PASS),
    unnumbered(Level::Default, &short_loops::PASS),
    unnumbered(Level::Default, &narrow_comparisons::PASS),
    unnumbered(Level::Default, &narrow_counters::PASS),
    unnumbered(Level::Default, &counters_in_step::PASS),
    unnumbered(Level::Default, &loop_invariants::PASS),
    phase(29, Level::Aggressive, &general_optimize::PASS),
    phase(37, Level::Aggressive, &general_optimize::LATE),
    phase(46, Level::Aggressive, &general_optimize::LATE),
    phase(49, Level::Less, &gvn_cse::PASS),
    unnumbered(Level::Default, &stepped_addresses::PASS),
    unnumbered(Level::Default, &near_addresses::PASS),
    phase(50, Level::Default, &reassociate::PASS),
    phase(56, Level::Default, &speculative_hoist::PASS),
    unnumbered(Level::Default, &tail_merging::PASS),
    unnumbered(Level::Default, &selected_sums::PASS),
    phase(58, Level::Less, &general_optimize::LATE),
    phase(63, Level::Default, &predication::PASS),
    phase(64, Level::Default, &late_commoning::PASS),
    phase(65, Level::Default, &general_optimize::LATE),
    phase(82, Level::Less, &back_copy_propagation::HOOKED_PASS),
    phase(83, Level::Default, &back_copy_propagation::PASS),
    phase(84, Level::Less, &dead_code::PASS),
    unnumbered(Level::Less, &dead_stores::PASS),
    unnumbered(Level::Less, &dead_code::PASS),
    unnumbered(Level::Aggressive, &swizzle_shared::PASS),
];

/// The phases of a level.
pub fn pipeline(level: Level) -> Vec<Phase> {
    PIPELINE
        .iter()
        .copied()
        .filter(|phase| level >= phase.from)
        .collect()
}

/// Of phases that did not make a function better, what is done to it all the same.
pub fn removals(phases: &[Phase]) -> Vec<Phase> {
    let includes = |name| phases.iter().any(|phase| phase.pass.includes(name));
    let pass = match (
        includes(dead_code::PASS.name),
        includes(branch_simplification::PASS.name),
    ) {
        (true, true) => &general_optimize::DEAD_ONLY,
        (true, false) => &dead_code::PASS,
        (false, _) => return Vec::new(),
    };
    // Where that is all there is, it was done.
    match phases.iter().all(|phase| phase.pass.name == pass.name) {
        true => Vec::new(),
        false => vec![unnumbered(Level::None, pass)],
    }
}

/// A pass by its name.
pub fn find_pass(name: &str) -> Option<&'static Pass> {
    PASSES.iter().copied().find(|pass| pass.name == name)
}

/// There is no pass or phase of this name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownPass(pub String);

impl fmt::Display for UnknownPass {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "there is no pass or phase `{}`; `oriole passes` lists them",
            self.0
        )
    }
}

impl std::error::Error for UnknownPass {}

/// Names that `ptxas` gives phases, and what they are here: a phase number, or a pass that is part of another.
const DOCUMENTED_NAMES: &[(&str, &str)] = &[
    ("AdvancedPhaseBackPropVReg", "82"),
    ("GeneralOptimizeEarly", "13"),
    ("GeneralOptimize", "29"),
    ("GeneralOptimizeMid", "37"),
    ("GeneralOptimizeMid2", "46"),
    ("GeneralOptimizeLate", "58"),
    ("GeneralOptimizeLate2", "65"),
    ("GvnCse", "49"),
    ("LateOriCommoning", "64"),
    ("OriBackCopyPropagate", "83"),
    ("OriCopyProp", "copy-propagation"),
    ("OriDoPredication", "63"),
    ("OriPerformLiveDeadFourth", "84"),
    ("OriReassociateAndCommon", "50"),
    ("SpeculativeHoistComInsts", "56"),
];

/// Phases in any order, each given by the name of its pass, by its number, or by the name `ptxas` gives it, in whose spelling
/// case does not matter.
pub fn select<'name>(
    names: impl IntoIterator<Item = &'name str>,
) -> Result<Vec<Phase>, UnknownPass> {
    names
        .into_iter()
        .map(|given| {
            let name = DOCUMENTED_NAMES
                .iter()
                .find(|(documented, _)| documented.eq_ignore_ascii_case(given))
                .map_or(given, |(_, name)| name);
            let numbered = || {
                let number = name.parse().ok()?;
                PIPELINE
                    .iter()
                    .copied()
                    .find(|phase| phase.number == Some(number))
            };
            let named = || {
                Some(Phase {
                    number: None,
                    from: Level::None,
                    pass: find_pass(name)?,
                })
            };
            numbered()
                .or_else(named)
                .ok_or_else(|| UnknownPass(given.to_owned()))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_phase_and_every_pass_of_a_file_is_in_the_list() {
        for phase in PIPELINE {
            let name = phase.pass.name;
            assert!(
                find_pass(name).is_some(),
                "`{name}` is in PIPELINE and not in PASSES"
            );
        }
        let mut names: Vec<&str> = PASSES.iter().map(|pass| pass.name).collect();
        names.sort_unstable();
        let all = names.len();
        names.dedup();
        assert_eq!(names.len(), all, "two passes have one name");
        // A pass is declared as a constant of type `Pass`; the tests of profiles have their own.
        let mut declared = 0;
        let mut folders = vec![std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src")];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path);
                    continue;
                }
                let text = std::fs::read_to_string(&path).unwrap();
                let declarations = text.lines().filter(|line| {
                    line.starts_with("pub(crate) const ") && line.ends_with(": Pass = Pass {")
                });
                declared += declarations.count();
            }
        }
        assert_eq!(declared, all, "constants of type `Pass`, and PASSES");
    }

    #[test]
    fn every_numbered_phase_has_the_name_that_ptxas_gives_it() {
        for phase in PIPELINE {
            let number = phase.number.map(|number| {
                let name = documented_name(number).expect("a name");
                select([name]).unwrap()[0].number
            });
            assert_eq!(number, phase.number.map(Some));
        }
        assert_eq!(documented_name(49), Some("GvnCse"));
        assert_eq!(documented_name(48), None);
        assert_eq!(
            documented_part(&copy_propagation::PASS),
            Some("OriCopyProp")
        );
        assert_eq!(documented_part(&gvn_cse::PASS), None);
    }

    #[test]
    fn phases_go_by_name_number_and_documented_name() {
        let phases = select(["gvn-cse", "84", "oricopyprop", "OriPerformLiveDeadFourth"]).unwrap();
        let found: Vec<_> = phases
            .iter()
            .map(|phase| (phase.number, phase.pass.name))
            .collect();
        assert_eq!(
            found,
            [
                (None, "gvn-cse"),
                (Some(84), "dead-code"),
                (None, "copy-propagation"),
                (Some(84), "dead-code"),
            ]
        );
        for unknown in ["magic", "1", ""] {
            assert_eq!(
                select([unknown]).unwrap_err(),
                UnknownPass(unknown.to_owned())
            );
        }
    }
}
