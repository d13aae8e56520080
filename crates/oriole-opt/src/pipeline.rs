//! The phases of each optimization level, in one list.

use crate::manager::Pass;
use crate::{algebra, constant_folding, copy_propagation, dead_code, gvn_cse};
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
    &algebra::PASS,
    &constant_folding::PASS,
    &copy_propagation::PASS,
    &dead_code::PASS,
    &gvn_cse::PASS,
];

/// The whole pipeline, in order.
const PIPELINE: &[Phase] = &[Phase {
    number: Some(84),
    from: Level::Less,
    pass: &dead_code::PASS,
}];

/// The phases of a level.
pub fn pipeline(level: Level) -> Vec<Phase> {
    PIPELINE
        .iter()
        .copied()
        .filter(|phase| level >= phase.from)
        .collect()
}

/// A pass by its name.
pub fn find_pass(name: &str) -> Option<&'static Pass> {
    PASSES.iter().copied().find(|pass| pass.name == name)
}

/// There is no pass of this name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownPass(pub String);

impl fmt::Display for UnknownPass {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "there is no pass `{}`; `oriole passes` lists them",
            self.0
        )
    }
}

impl std::error::Error for UnknownPass {}

/// Phases for passes named in any order.
pub fn select<'name>(
    names: impl IntoIterator<Item = &'name str>,
) -> Result<Vec<Phase>, UnknownPass> {
    names
        .into_iter()
        .map(|name| {
            let pass = find_pass(name).ok_or_else(|| UnknownPass(name.to_owned()))?;
            Ok(Phase {
                number: None,
                from: Level::None,
                pass,
            })
        })
        .collect()
}
