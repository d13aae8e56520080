//! Passes over SSA form, and what runs them.
//!
//! A pass is a name, a sentence and a function over an [`oriole_ir::Editor`]. It says nothing about what it changed or kept:
//! the editor's journal does. [`pipeline`] is the list of phases for each optimization level; [`run`] runs a list of phases
//! over one function, with statistics, fuel, knobs, and, in debug builds, the verifier and a recomputation of every analysis
//! kept after each phase.

#![forbid(unsafe_code)]

mod address_spaces;
mod addresses;
mod algebra;
mod associative;
mod back_copy_propagation;
mod branch_simplification;
mod change_log;
mod constant_folding;
mod copy_propagation;
mod counters_in_step;
mod dead_code;
mod dead_stores;
mod division;
mod equality;
mod exit_values;
mod fuel;
mod full_unrolling;
mod fusion;
mod general_optimize;
mod gvn_cse;
mod hooks;
mod knobs;
mod late_commoning;
mod leaf_inlining;
mod local_promotion;
mod loop_deletion;
mod loop_invariants;
mod loop_region;
mod manager;
mod narrow_comparisons;
mod narrow_counters;
mod near_addresses;
mod overwritten;
mod pipeline;
mod predication;
mod pressure_guard;
mod profile;
mod program;
mod range_comparisons;
mod reassociate;
mod remark;
mod remove_unused;
mod selected_sums;
mod short_loops;
mod sparse_map;
mod speculative_hoist;
mod statistics;
mod stepped_addresses;
mod swizzle_shared;
mod tail_merging;

pub use fuel::Fuel;
pub use hooks::{BackPropagation, Hooks};
pub use knobs::{KNOBS, Knob, KnobError, KnobValue, Knobs, Number, Origin, Switch};
pub use leaf_inlining::Callees;
pub use manager::{
    Action, Context, Job, Limit, Observer, Pass, Trigger, run, run_batch, run_on_module,
};
pub use pipeline::{
    Level, PASSES, Phase, UnknownPass, documented_name, documented_part, find_pass, pipeline,
    removals, select,
};
pub use profile::{Generation, Profile, UnknownProfile};
pub use program::{ModuleAction, Program, ReadFunction};
pub use remark::{Remark, Rewrite};
pub use statistics::{PhaseStatistics, Statistics};
pub use swizzle_shared::SWIZZLED;
