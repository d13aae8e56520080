//! What a kernel asks of a multiprocessor, and how many of its blocks one holds at once.

pub mod occupancy;
mod resources;

pub use resources::Resources;
