//! What a kernel asks of a multiprocessor, and how many of its blocks one holds at once.

pub mod occupancy;
mod resources;
mod shape;

pub use resources::{DynamicShared, Resources};
pub use shape::LaunchShape;

/// Threads of a block where neither the kernel nor anyone else says how many there are.
pub const DEFAULT_THREADS: u32 = 256;
