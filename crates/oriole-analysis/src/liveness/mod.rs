//! Live ranges and register pressure.
//!
//! - [`Program`] is what the engine needs to know of a function; [`Registers`] and [`Values`] tell it of the registers of
//!   the tree and of the values of the SSA form.
//! - [`SlotIndexes`] number the places of a program, [`LiveSets`] say what is live between blocks, [`LiveIntervals`] where
//!   everything is live and with which value.
//! - [`ValueLiveness`] says a part of that of small functions in SSA form, quickly; [`LiveRanges`] says it of all of them.
//! - [`text`] shows slots, segments and value numbers.
//! - [`slow`] computes the same in the plainest way, to compare with.
//! - [`Pressure`] adds it up by register file. What `ptxas` makes of it is for [`crate::register_model`] to say, and what that means
//!   for a multiprocessor for [`crate::launch`].

mod accumulators;
mod block_ends;
mod deep_nests;
mod in_flight;
mod joins;
mod lists;
mod live_intervals;
mod live_ranges;
mod live_sets;
mod pressure;
mod profile;
mod program;
mod slot_indexes;
pub mod slow;
pub mod text;
mod undefined;
mod value_liveness;
mod verifier;

pub(crate) use block_ends::BlockEnds;
pub use lists::Lists;
pub use live_intervals::{LiveIntervals, Segment, ValueKind, ValueNumber, overlap};
pub use live_ranges::LiveRanges;
pub use live_sets::{LiveSets, Method, SMALL};
pub use pressure::{Peak, Pressure};
pub(crate) use profile::{Counts, Profile, live_at, step_back};
pub use program::{Access, AccessKind, Program, RegisterFile, Registers, Values};
pub use slot_indexes::{Moment, Place, STEP, Slot, SlotIndexes};
pub use value_liveness::ValueLiveness;
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
        variables: false,
    };

    fn compute(function: &Function, _: &mut Analyses) -> Liveness {
        let program = Values::of(function);
        let intervals = LiveIntervals::of(&program);
        debug_assert_eq!(verify(&program, &intervals), Vec::<String>::new());
        Liveness { program, intervals }
    }
}
