//! What is true of a function in SSA form: control flow, dominators, loops, uniformity, live ranges; how many registers `ptxas` is
//! going to use, and how many blocks a multiprocessor holds.
//!
//! Each analysis is a plain value computed from a function. [`Analyses`] computes them on demand and keeps them. Those that a
//! journal of changes touches update themselves or are dropped; in debug builds it recomputes what it kept and compares.

#![forbid(unsafe_code)]

mod branch_joins;
pub mod branch_prediction;
mod control_flow;
mod convergence;
pub mod delinearization;
mod dominators;
mod known_bits;
pub mod lane_patterns;
pub mod launch;
pub mod liveness;
mod loops;
pub mod machine_cost;
mod manager;
pub mod memory;
pub mod memory_requests;
pub mod ptxas_hazards;
pub mod register_model;
mod reshaping;
pub mod scalar_evolution;
pub mod source_lines;
mod uniformity;
pub mod unrolling;

pub use control_flow::ControlFlow;
pub use convergence::Convergence;
pub use dominators::{Dominators, PostDominators};
pub use known_bits::{Known, KnownBits, literal_bits, mask, sign_extend};
pub use loops::{Loop, LoopBlocks, Loops};
pub use manager::{Analyses, Analysis, Others, Reads, Update};
pub use uniformity::{Uniformity, differs_by_thread};
