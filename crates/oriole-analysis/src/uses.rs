//! Who reads each value.
//!
//! A list of readers per value in one array, made by counting and then filling. Readers in blocks that control cannot reach
//! count too: they are code until somebody removes them.

use crate::manager::{Analyses, Analysis, Reads};
use oriole_ir::{Block, Function, Instruction, Value};

/// Something that reads a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Use {
    /// An instruction; once per operand.
    Instruction(Instruction),
    /// An argument of an edge out of a block; once per argument.
    Edge(Block),
}

/// The readers of every value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Uses {
    /// Where the readers of each value begin; one entry more than there are values.
    starts: Vec<u32>,
    readers: Vec<Use>,
}

impl Uses {
    /// The readers of a value, in order of layout. A value made since has none.
    pub fn of(&self, value: Value) -> &[Use] {
        match self.starts.get(value.index()..value.index() + 2) {
            Some(&[start, end]) => &self.readers[start as usize..end as usize],
            _ => &[],
        }
    }

    /// How many operands and arguments read a value.
    pub fn count(&self, value: Value) -> usize {
        self.of(value).len()
    }

    /// [`Uses::count`] of each value, in order.
    pub fn counts(&self) -> impl Iterator<Item = u32> + '_ {
        self.starts.windows(2).map(|pair| pair[1] - pair[0])
    }

    /// The only reader of a value, if it is an instruction and reads it once.
    pub fn only_instruction(&self, value: Value) -> Option<Instruction> {
        match *self.of(value) {
            [Use::Instruction(instruction)] => Some(instruction),
            _ => None,
        }
    }
}

impl Analysis for Uses {
    const NAME: &'static str = "uses";
    const READS: Reads = Reads {
        control_flow: true,
        values: true,
        order: true,
        effects: false,
    };

    fn compute(function: &Function, _: &mut Analyses) -> Uses {
        let values = function.values().len();
        let mut found: Vec<(Value, Use)> = Vec::with_capacity(2 * values);
        // Where the readers of each value end, counted from the value behind it, so that filling backwards leaves the starts.
        let mut starts = vec![0; values + 1];
        for_each_use(function, |value, reader| {
            starts[value.index()] += 1;
            found.push((value, reader));
        });
        let mut total = 0;
        for start in &mut starts {
            total += *start;
            *start = total;
        }
        let mut readers = vec![Use::Edge(function.entry()); found.len()];
        for &(value, reader) in found.iter().rev() {
            let at = &mut starts[value.index()];
            *at -= 1;
            readers[*at as usize] = reader;
        }
        Uses { starts, readers }
    }
}

fn for_each_use(function: &Function, mut found: impl FnMut(Value, Use)) {
    for &block in function.block_order() {
        for instruction in function.instructions_of(block) {
            let uses = function.uses(instruction);
            uses.for_each(|value| found(value, Use::Instruction(instruction)));
        }
        for edge in &function.blocks()[block].edges {
            for &argument in &edge.arguments {
                found(argument, Use::Edge(block));
            }
        }
    }
}
