//! Live ranges, register pressure and occupancy.
//!
//! - [`Program`] is what the engine needs to know of a function; [`Registers`] and [`Values`] tell it of the registers of
//!   the tree and of the values of the SSA form.
//! - [`SlotIndexes`] number the places of a program, [`LiveSets`] say what is live between blocks, [`LiveIntervals`] where
//!   everything is live and with which value.
//! - [`slow`] computes the same in the plainest way, to compare with.
//! - [`Pressure`] adds it up by register file, [`prediction`] says how many registers `ptxas` is going to use, and
//!   [`occupancy`] what that means for a multiprocessor.

mod call_closure;
mod deep_nests;
pub mod features;
mod folding;
mod in_flight;
mod joins;
mod live_intervals;
mod live_sets;
pub mod occupancy;
pub mod prediction;
mod pressure;
mod program;
mod resources;
mod slot_indexes;
pub mod slow;
mod source_lines;
mod verifier;

pub use live_intervals::{LiveIntervals, Segment, ValueKind, ValueNumber};
pub use live_sets::{LiveSets, Method, SMALL};
pub use pressure::{Peak, Pressure};
pub use program::{Access, AccessKind, Program, RegisterFile, Registers, Values};
pub use resources::Resources;
pub use slot_indexes::{Moment, Place, Renumbering, STEP, Slot, SlotIndexes};
pub use source_lines::{SourceFiles, SourceLine, SourceLines};
pub use verifier::verify;

use crate::manager::{Analyses, Analysis, Reads};
use oriole_ir::Function;

/// The live intervals of a function's values, as an analysis the manager keeps.
#[derive(Clone, Debug)]
pub struct Liveness {
    /// The function as the engine sees it.
    pub program: Values,
    /// Where its values are live.
    pub intervals: LiveIntervals,
}

impl PartialEq for Liveness {
    fn eq(&self, other: &Liveness) -> bool {
        self.intervals == other.intervals
    }
}

impl Analysis for Liveness {
    const NAME: &'static str = "liveness";
    const READS: Reads = Reads {
        control_flow: true,
        values: true,
        order: true,
        effects: false,
    };

    fn compute(function: &Function, _: &mut Analyses) -> Liveness {
        let program = Values::of(function);
        let intervals = LiveIntervals::of(&program);
        debug_assert_eq!(verify(&program, &intervals), Vec::<String>::new());
        Liveness { program, intervals }
    }
}
