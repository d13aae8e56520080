//! What a kernel asks of a multiprocessor, and how many of its blocks one holds at once.

mod bounds;
pub mod occupancy;
mod resources;

pub use bounds::LaunchBounds;
pub use resources::Resources;
