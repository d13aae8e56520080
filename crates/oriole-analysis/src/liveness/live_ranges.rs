//! The live ranges of a function's values as passes ask about them: where the pressure is how high, and where a value dies.
//!
//! Small functions are answered by [`ValueLiveness`], others by [`LiveIntervals`](super::LiveIntervals) and [`Pressure`]. It is
//! kept until the function changes, as several passes in a row ask and most of them change nothing.

use super::{Liveness, Moment, Place, Pressure, Program, RegisterFile, ValueLiveness};
use crate::manager::{Analyses, Analysis, Reads};
use oriole_collections::IndexVec;
use oriole_ir::{Function, Instruction, Value};
use std::rc::Rc;

/// Where the values of a function are live, and how many registers they take.
#[derive(Clone, Debug, PartialEq)]
pub struct LiveRanges(Found);

#[derive(Clone, Debug, PartialEq)]
enum Found {
    Quickly(ValueLiveness),
    ByIntervals {
        liveness: Rc<Liveness>,
        pressure: Pressure,
        /// The number of each instruction in order, if it is in a block.
        numbers: IndexVec<Instruction, Option<u32>>,
    },
}

impl LiveRanges {
    /// The data registers that are live at each instruction, before or behind it, in order.
    pub fn along(&self) -> &[u32] {
        match &self.0 {
            Found::Quickly(liveness) => liveness.along(),
            Found::ByIntervals { pressure, .. } => pressure.along(RegisterFile::Data),
        }
    }

    /// The most of them.
    pub fn peak(&self) -> u32 {
        self.along().iter().copied().max().unwrap_or(0)
    }

    /// The number of an instruction in order, if it was there.
    pub fn number(&self, instruction: Instruction) -> Option<u32> {
        match &self.0 {
            Found::Quickly(liveness) => liveness.number(instruction),
            Found::ByIntervals { numbers, .. } => numbers.get(instruction).copied().flatten(),
        }
    }

    /// Whether a value, defined before an instruction, is needed there or behind.
    pub fn is_live_before(&self, value: Value, number: u32) -> bool {
        match &self.0 {
            Found::Quickly(liveness) => liveness.is_live_before(value, number),
            Found::ByIntervals { liveness, .. } => {
                let intervals = &liveness.intervals;
                let needed = intervals.slots().slot(number, Moment::EarlyClobber);
                intervals.is_live_at(value.as_u32(), needed)
            }
        }
    }

    /// The last instruction in order at which a value that `definer` gives is live, if it is not live at the end of the block of that.
    pub fn last_instruction(&self, value: Value, definer: u32) -> Option<u32> {
        match &self.0 {
            Found::Quickly(liveness) => liveness.last_instruction(value, definer),
            Found::ByIntervals { liveness, .. } => {
                let intervals = &liveness.intervals;
                let last = intervals.segments(value.as_u32()).last()?;
                match intervals.slots().place(last.end)? {
                    Place::Instruction(number) => Some(number),
                    _ => None,
                }
            }
        }
    }
}

impl Analysis for LiveRanges {
    const NAME: &'static str = "live ranges";
    const READS: Reads = Reads {
        control_flow: true,
        values: true,
        order: true,
        effects: false,
        variables: false,
    };

    fn compute(function: &Function, analyses: &mut Analyses) -> LiveRanges {
        if let Some(liveness) = ValueLiveness::of(function) {
            return LiveRanges(Found::Quickly(liveness));
        }
        let liveness = analyses.get::<Liveness>(function);
        let program = &liveness.program;
        let pressure = Pressure::of(program, &liveness.intervals);
        let mut numbers = IndexVec::from_elem(None, function.instruction_bound());
        for number in 0..program.instruction_count() as u32 {
            numbers[program.instruction(number)] = Some(number);
        }
        LiveRanges(Found::ByIntervals {
            liveness,
            pressure,
            numbers,
        })
    }
}
