//! What changed since a pass last looked, for passes that can tell from it that they have nothing to do.
//!
//! A pass did what it could when it last ran. What it looks at and nobody touched is as it was then, so it only has work if
//! something that was touched has. Who judges that may say yes wherever it is not sure; debug builds run the pass nevertheless and
//! see whether a no was right.

use oriole_ir::{Block, Change, Function, Instruction, Use, Value};
use std::ops::Range;

/// Says whether changes may give a pass work.
pub type Judge = fn(&News<'_>) -> bool;

/// How many readers of values that stand for others are looked at for each change: where there are more, there may be work.
const READERS: usize = 8;

/// Changes to a function since a pass last began to run.
#[derive(Debug)]
pub struct News<'run> {
    /// The function as it is now.
    pub(crate) function: &'run Function,
    /// Those that the pass made itself, or may have.
    own: &'run [Change],
    /// Those that were made since.
    later: &'run [Change],
}

impl<'run> News<'run> {
    /// Of all changes so far those since a run, given where in them it began and ended.
    pub(crate) fn new(function: &'run Function, log: &'run [Change], run: Range<usize>) -> Self {
        News {
            function,
            own: &log[run.clone()],
            later: &log[run.end..],
        }
    }

    /// All changes since the pass began.
    pub(crate) fn all(&self) -> impl Iterator<Item = Change> {
        self.own.iter().chain(self.later).copied()
    }

    /// The changes since the pass ended: for one that goes on until it finds nothing.
    pub(crate) fn later(&self) -> impl Iterator<Item = Change> {
        self.later.iter().copied()
    }

    /// Whether there may be work at an instruction that is another, reads something else, stands somewhere else or ends a block that
    /// another one ended.
    pub(crate) fn any_touched(&self, mut has_work: impl FnMut(Instruction) -> bool) -> bool {
        let function = self.function;
        let mut left = READERS * (self.own.len() + self.later.len());
        let mut last = None;
        self.all().any(|change| match change {
            Change::Inserted(instruction)
            | Change::Rewritten(instruction)
            | Change::Moved(instruction) => {
                // Often one operand after the other is set.
                last.replace(instruction) != Some(instruction)
                    && function.block_of(instruction).is_some()
                    && has_work(instruction)
            }
            Change::Replaced(_, value) => function.uses_of(value).any(|reader| {
                if left == 0 {
                    return true;
                }
                left -= 1;
                match reader {
                    Use::Instruction(instruction) => has_work(instruction),
                    Use::Edge(_) => false,
                }
            }),
            Change::TerminatorChanged(block) => {
                function.last_instruction(block).is_some_and(&mut has_work)
            }
            _ => false,
        })
    }

    /// Whether a change is one to blocks, edges or what edges bring.
    pub(crate) fn is_structural(&self, change: Change) -> bool {
        match change {
            Change::Inserted(_)
            | Change::Rewritten(_)
            | Change::Moved(_)
            | Change::Removed(..)
            | Change::TerminatorChanged(_)
            | Change::VariableAdded(_)
            | Change::VariableChanged(_)
            | Change::VariableRemoved(_) => false,
            Change::Replaced(_, value) => self.is_argument(value),
            Change::BlockAdded(_)
            | Change::BlockRemoved(_)
            | Change::BlockSplit(..)
            | Change::BlocksMerged(..)
            | Change::EdgeSplit(..)
            | Change::EdgesChanged(_)
            | Change::ArgumentsChanged(_)
            | Change::ParametersChanged(_) => true,
        }
    }

    /// Whether an edge brings a value, or may: few of its readers are looked at.
    fn is_argument(&self, value: Value) -> bool {
        let mut readers = self.function.uses_of(value);
        let is_edge = |reader| matches!(reader, Use::Edge(_));
        self.function.use_count(value) as usize > READERS || readers.any(is_edge)
    }

    /// The blocks of the function.
    pub(crate) fn blocks(&self) -> impl Iterator<Item = Block> {
        self.function.block_order().iter().copied()
    }
}
