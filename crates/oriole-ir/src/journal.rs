//! What an editor changed, by entity: what analyses read to keep themselves up to date.

use crate::entities::{Block, Instruction, Value, Variable};

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
    /// A block was made, without instructions and edges so far.
    BlockAdded(Block),
    /// A block is gone, with all it held. Nothing led to it any more.
    BlockRemoved(Block),
    /// The end of the first block, with its edges, became the second, which was added; the first falls through to it.
    BlockSplit(Block, Block),
    /// The first block, whose only way out led to the second, which had no other way in, holds what both held and has the edges
    /// of the second. The second is empty.
    BlocksMerged(Block, Block),
    /// An edge out of the first block leads to the second, which was added, and that one leads to where the edge led.
    EdgeSplit(Block, Block),
    /// A block has more or fewer edges, or in another order, or one that leads to another block.
    EdgesChanged(Block),
    /// Edges out of a block have other arguments.
    ArgumentsChanged(Block),
    /// A terminator was put into a block, rewritten, or taken out of it.
    TerminatorChanged(Block),
    /// A block has other parameters.
    ParametersChanged(Block),
    /// The loop that a block heads is not unrolled by `ptxas` any more.
    UnrollingForbidden(Block),
    /// A variable was made.
    VariableAdded(Variable),
    /// A variable has another type.
    VariableChanged(Variable),
    /// A variable is gone. Nothing names it.
    VariableRemoved(Variable),
}

/// What changed since an editor was made.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Journal {
    /// Every change, in order.
    pub entries: Vec<Change>,
    /// Values that lost a reader, in order and perhaps several times.
    pub released: Vec<Value>,
    /// Whether there were changes to blocks, edges or terminators.
    pub control_flow: bool,
    /// Whether there were changes to definitions, operands or arguments.
    pub values: bool,
    /// Whether there are other instructions, or in another order.
    pub order: bool,
    /// Whether there were changes to instructions with effects on memory or control.
    pub effects: bool,
    /// Whether there are other variables, or of other types.
    pub variables: bool,
    /// How many changes were made.
    pub changes: u64,
    /// How many of them only took something away that nobody needed: an instruction, a block, a parameter, a variable.
    pub removals: u64,
    /// Instructions added, less those removed.
    pub instructions: i64,
}

impl Journal {
    /// Adds what was changed later.
    pub fn append(&mut self, later: &Journal) {
        let Journal {
            entries,
            released,
            control_flow,
            values,
            order,
            effects,
            variables,
            changes,
            removals,
            instructions,
        } = self;
        entries.extend_from_slice(&later.entries);
        released.extend_from_slice(&later.released);
        *control_flow |= later.control_flow;
        *values |= later.values;
        *order |= later.order;
        *effects |= later.effects;
        *variables |= later.variables;
        *changes += later.changes;
        *removals += later.removals;
        *instructions += later.instructions;
    }

    /// Whether nothing changed.
    pub fn is_empty(&self) -> bool {
        self.changes == 0
    }
}
