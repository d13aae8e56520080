//! Passes over SSA form, and what runs them.
//!
//! A pass is a name, a sentence and a function over an [`oriole_ir::Editor`]. It says nothing about what it changed or kept:
//! the editor's journal does. [`pipeline`] is the list of phases for each optimization level; [`run`] runs a list of phases
//! over one function, with statistics, fuel, knobs, and, in debug builds, the verifier and a recomputation of every analysis
//! kept after each phase.

#![forbid(unsafe_code)]

mod algebra;
mod constant_folding;
mod copy_propagation;
mod dead_code;
mod fuel;
mod gvn_cse;
mod knobs;
mod manager;
mod pipeline;
mod remark;
mod statistics;

pub use fuel::Fuel;
pub use knobs::{KNOBS, Knob, KnobError, KnobValue, Knobs};
pub use manager::{Action, Context, Observer, Pass, run};
pub use pipeline::{Level, PASSES, Phase, UnknownPass, find_pass, pipeline, select};
pub use remark::{Remark, Rewrite};
pub use statistics::Statistics;
