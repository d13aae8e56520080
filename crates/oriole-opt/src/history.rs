//! What changed in a function while its phases run, so that a pass that looked everywhere once looks again only where that may have
//! given it work.

use crate::algebra;
use oriole_ir::{Change, Function, Journal, Value};

/// All changes to a function since its phases began, in order.
#[derive(Default)]
pub(crate) struct History {
    entries: Vec<Change>,
    released: Vec<Value>,
}

impl History {
    /// Where the changes end that were made so far.
    pub fn end(&self) -> (usize, usize) {
        (self.entries.len(), self.released.len())
    }

    /// Adds what a pass did to the function.
    pub fn add(&mut self, journal: &Journal, function: &mut Function) {
        self.entries.extend_from_slice(&journal.entries);
        self.released.extend_from_slice(function.released());
        function.forget_released();
    }

    /// The changes since what was the end.
    pub fn since(&self, (entries, released): (usize, usize)) -> Changes<'_> {
        Changes {
            entries: &self.entries[entries..],
            released: &self.released[released..],
        }
    }
}

/// Changes to a function.
#[derive(Clone, Copy)]
pub(crate) struct Changes<'run> {
    /// Each of them, in order.
    pub entries: &'run [Change],
    /// Values that lost a reader, in order and perhaps several times.
    pub released: &'run [Value],
}

impl Changes<'_> {
    /// Whether there are other blocks or edges.
    pub fn are_to_control_flow(&self) -> bool {
        self.entries.iter().any(|change| match change {
            Change::BlockAdded(_)
            | Change::BlockRemoved(_)
            | Change::BlockSplit(..)
            | Change::BlocksMerged(..)
            | Change::EdgeSplit(..)
            | Change::EdgesChanged(_) => true,
            Change::Inserted(_)
            | Change::Rewritten(_)
            | Change::Moved(_)
            | Change::Removed(..)
            | Change::Replaced(..)
            | Change::ArgumentsChanged(_)
            | Change::TerminatorChanged(_)
            | Change::ParametersChanged(_)
            | Change::VariableAdded(_)
            | Change::VariableChanged(_)
            | Change::VariableRemoved(_) => false,
        })
    }
}

/// What passes keep of what they found in a function, for their next run over it.
#[derive(Default)]
pub(crate) struct Kept {
    pub algebra: Option<algebra::Kept>,
}

/// What a pass is given that may have run before.
pub struct Again<'run> {
    /// The changes since it last began to look, its own included; nothing if it has to look everywhere.
    pub(crate) changes: Option<Changes<'run>>,
    pub(crate) kept: &'run mut Kept,
}
