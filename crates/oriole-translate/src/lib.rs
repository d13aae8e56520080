//! Between the tree and SSA form.
//!
//! [`into_ssa`] finds the blocks of a function, decides which registers must stay registers, and renames the others to
//! values. [`out_of_ssa`] gives every value a register again, inserts copies only where it must, and writes the function
//! back into the tree. In between nothing is lost: with no passes the function comes out as it went in.

#![forbid(unsafe_code)]

mod affinities;
mod assignment;
mod candidates;
mod checker;
mod coalescing;
mod control_flow;
mod copy_placement;
mod declarations;
mod emission;
mod endings;
mod into_ssa;
mod mentions;
mod module;
mod naming;
mod out_of_ssa;
mod parallel_copy;
mod parameter_isolation;

pub use assignment::{Assignment, EdgeCopies, assign};
pub use checker::{Mismatch, check};
pub use copy_placement::Placement;
pub use into_ssa::{Translated, into_ssa};
pub use module::{module_of, other_mentions, remove_from_module};
pub use out_of_ssa::{InsertedCopies, OutOfSsaError, Written, out_of_ssa};
pub use parallel_copy::{Copy, sequentialize};
