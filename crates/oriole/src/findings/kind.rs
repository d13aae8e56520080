//! The kinds of findings: their names, what they are in a sentence, and the page of each.

use crate::report::schema::{Definitions, Describe};

/// What is wrong with some instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum FindingKind {
    /// An access to global memory touches more sectors than its bytes need.
    UncoalescedAccess,
    /// Lanes ask a bank of shared memory for different words.
    BankConflict,
    /// Lanes access different offsets of local memory.
    UncoalescedLocal,
    /// A load reads again what was loaded before, because a store through another pointer stands in between.
    RepeatedLoad,
    /// A load of a loop has the same address in all iterations.
    LoopInvariantLoad,
    /// The index into an array in local memory is computed from data or from the lane.
    DivergentLocalIndex,
    /// Loads of a loop fetch one word for all lanes, one narrow load after the other.
    UniformLoad,
    /// Lanes of a warp go different ways inside a loop.
    DivergentBranch,
    /// A barrier that only some of the lanes come to.
    DivergentBarrier,
    /// Arithmetic of 64 bits whose inputs and outputs have 32.
    DoublePrecision,
    /// An array that lies in local memory.
    LocalArray,
    /// More values are live than there are registers.
    PredictedSpill,
    /// A generic access that could name its state space.
    GenericAccess,
    /// All lanes aim an atomic at one word.
    ContendedAtomic,
    /// A vector access whose address is not known to be aligned.
    OverwideAccess,
    /// How often a loop runs depends on the lane.
    LaneDependentLoop,
    /// Where an access goes depends on data, which is likely to scatter lanes.
    ScatteredAccess,
    /// Less than half of the warps that a multiprocessor could hold fit.
    LowOccupancy,
}

impl FindingKind {
    /// All kinds.
    pub const ALL: [FindingKind; 18] = [
        FindingKind::UncoalescedAccess,
        FindingKind::BankConflict,
        FindingKind::UncoalescedLocal,
        FindingKind::RepeatedLoad,
        FindingKind::LoopInvariantLoad,
        FindingKind::DivergentLocalIndex,
        FindingKind::UniformLoad,
        FindingKind::DivergentBranch,
        FindingKind::DivergentBarrier,
        FindingKind::DoublePrecision,
        FindingKind::LocalArray,
        FindingKind::PredictedSpill,
        FindingKind::GenericAccess,
        FindingKind::ContendedAtomic,
        FindingKind::OverwideAccess,
        FindingKind::LaneDependentLoop,
        FindingKind::ScatteredAccess,
        FindingKind::LowOccupancy,
    ];

    /// Its name and its page.
    fn entry(self) -> (&'static str, &'static str) {
        macro_rules! page {
            ($name:literal) => {
                (
                    $name,
                    include_str!(concat!("../../findings/", $name, ".md")),
                )
            };
        }
        match self {
            FindingKind::UncoalescedAccess => page!("uncoalesced-access"),
            FindingKind::BankConflict => page!("bank-conflict"),
            FindingKind::UncoalescedLocal => page!("uncoalesced-local"),
            FindingKind::RepeatedLoad => page!("repeated-load"),
            FindingKind::LoopInvariantLoad => page!("loop-invariant-load"),
            FindingKind::DivergentLocalIndex => page!("divergent-local-index"),
            FindingKind::UniformLoad => page!("uniform-load"),
            FindingKind::DivergentBranch => page!("divergent-branch"),
            FindingKind::DivergentBarrier => page!("divergent-barrier"),
            FindingKind::DoublePrecision => page!("double-precision"),
            FindingKind::LocalArray => page!("local-array"),
            FindingKind::PredictedSpill => page!("predicted-spill"),
            FindingKind::GenericAccess => page!("generic-access"),
            FindingKind::ContendedAtomic => page!("contended-atomic"),
            FindingKind::OverwideAccess => page!("overwide-access"),
            FindingKind::LaneDependentLoop => page!("lane-dependent-loop"),
            FindingKind::ScatteredAccess => page!("scattered-access"),
            FindingKind::LowOccupancy => page!("low-occupancy"),
        }
    }

    /// Its name, which stays.
    pub fn text(self) -> &'static str {
        self.entry().0
    }

    /// The kind of a name.
    pub fn from_text(text: &str) -> Option<FindingKind> {
        FindingKind::ALL
            .into_iter()
            .find(|kind| kind.text() == text)
    }

    /// What it is, why it costs, an example, and how to fix it, as Markdown.
    pub fn page(self) -> &'static str {
        self.entry().1
    }

    /// What it is, in a sentence: the first paragraph of its page.
    pub fn summary(self) -> &'static str {
        let behind_title = self.page().split("\n\n").nth(1);
        behind_title.unwrap_or_default().trim()
    }
}

impl Default for FindingKind {
    fn default() -> FindingKind {
        FindingKind::ALL[0]
    }
}

impl serde::Serialize for FindingKind {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.text())
    }
}

impl<'de> serde::Deserialize<'de> for FindingKind {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<FindingKind, D::Error> {
        let text = <std::borrow::Cow<'de, str>>::deserialize(deserializer)?;
        let message = || serde::de::Error::custom(format!("there is no kind of finding {text}"));
        FindingKind::from_text(&text).ok_or_else(message)
    }
}

impl Describe for FindingKind {
    fn describe(_: &mut Definitions) -> String {
        let names = FindingKind::ALL.map(|kind| format!("\"{}\"", kind.text()));
        format!("{{\"enum\": [{}]}}", names.join(", "))
    }
}
