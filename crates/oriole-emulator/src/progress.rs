//! How far a launch has come, to be looked at from another thread.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Blocks of a launch, all and those that have ended.
#[derive(Debug, Default)]
pub struct Progress {
    total: AtomicU64,
    done: AtomicU64,
}

impl Progress {
    /// Blocks of the grid; 0 before the launch has begun.
    pub fn total(&self) -> u64 {
        self.total.load(Relaxed)
    }

    /// Blocks that have ended.
    pub fn done(&self) -> u64 {
        self.done.load(Relaxed)
    }

    pub(crate) fn begin(&self, blocks: u64) {
        self.done.store(0, Relaxed);
        self.total.store(blocks, Relaxed);
    }

    pub(crate) fn end(&self, blocks: u64) {
        self.done.fetch_add(blocks, Relaxed);
    }
}
