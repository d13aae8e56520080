//! What an editor changed, by entity: what analyses read to keep themselves up to date.

use crate::entities::{Block, Instruction, Value};

/// One change to a function. Entities keep their numbers when they are removed, so they can still be asked about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// An instruction was made, with its results, and put into a block.
    Inserted(Instruction),
    /// An instruction got another format, other operands, or another result.
    Rewritten(Instruction),
    /// An instruction stands somewhere else.
    Moved(Instruction),
    /// An instruction was taken out of this block.
    Removed(Instruction, Block),
    /// Whoever read the first value reads the second.
    Replaced(Value, Value),
    /// A block was made.
    BlockAdded(Block),
    /// A block is gone, with all it held.
    BlockRemoved(Block),
    /// Edges out of a block, or their arguments, are others.
    EdgesChanged(Block),
    /// A block has other parameters.
    ParametersChanged(Block),
}

/// What changed since an editor was made.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Journal {
    /// Every change, in order.
    pub entries: Vec<Change>,
    /// Whether there were changes to blocks or edges.
    pub control_flow: bool,
    /// Whether there were changes to definitions, operands or arguments.
    pub values: bool,
    /// Whether there are other instructions, or in another order.
    pub order: bool,
    /// Whether there were changes to instructions with effects on memory or control.
    pub effects: bool,
    /// How many changes were made.
    pub changes: u64,
    /// How many of them only took something away that nobody needed: an instruction, a block, a parameter.
    pub removals: u64,
    /// Instructions added, less those removed.
    pub instructions: i64,
}

impl Journal {
    /// Whether nothing changed.
    pub fn is_empty(&self) -> bool {
        self.changes == 0
    }
}
