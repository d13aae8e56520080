//! What may have changed in memory between two instructions.
//!
//! Accesses are told apart
//!
//! - by *state space*: a store to shared memory changes nothing global ([`clobbers`]),
//! - by *address*: one base and offsets that do not overlap ([`Place`]),
//! - by *variable*: only accesses that name it reach a local variable whose address is nowhere taken, and its bytes fall into
//!   cells that no access crosses ([`LocalVariables`]); and an access that names a shared or global variable and stays within it
//!   reaches no other one (`SeparateVariables`).
//!
//! [`MemoryVersions`] puts these together: every load gets the number of the last event that may have changed what it reads.
//! Whoever reuses what was loaded or stored, removes stores or promotes variables asks here, so that all of them agree.

mod effects;
mod local_variables;
mod place;
mod separate_variables;
mod versions;

pub use effects::clobbers;
pub use local_variables::{Cell, LocalAccess, LocalVariables, has_local_variables};
pub use place::Place;
use separate_variables::SeparateVariables;
pub use versions::{Kinds, MemoryVersions, Parts, Versions};
