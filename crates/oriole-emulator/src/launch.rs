//! What all blocks of a launch share, and what one cluster of blocks owns.

use std::sync::atomic::{AtomicBool, AtomicU64};

use oriole_isa::{Bits, Mnemonic, Outputs, approximate};

use crate::approximations::{Approximations, Recorded, key};
use crate::check::BlockChecks;
use crate::counters::Counters;
use crate::decode::Program;
use crate::machine::Options;
use crate::memory::{GlobalMemory, Words};
use crate::program::Lanes;
use crate::warp::Warp;

/// Read by every block of a launch.
pub(crate) struct LaunchContext<'a> {
    pub(crate) program: &'a Program,
    pub(crate) memory: &'a GlobalMemory,
    pub(crate) approximations: Option<&'a Approximations>,
    pub(crate) kernel: u32,
    /// Constants of every function, with the places of shared variables filled in.
    pub(crate) constants: Vec<Vec<Lanes>>,
    pub(crate) parameters: Words,
    pub(crate) parameter_bytes: u64,
    pub(crate) grid: [u32; 3],
    pub(crate) block: [u32; 3],
    pub(crate) cluster: [u32; 3],
    pub(crate) shared_bytes: u64,
    pub(crate) dynamic_shared: u64,
    pub(crate) options: &'a Options,
    /// Thread-instructions executed by all blocks, updated now and then.
    pub(crate) steps: AtomicU64,
    /// Another block has trapped.
    pub(crate) stop: AtomicBool,
    /// Bytes handed out by `malloc`, and the region they come from.
    pub(crate) heap: AtomicU64,
    pub(crate) heap_region: Option<usize>,
}

impl LaunchContext<'_> {
    /// The recorded result of an approximate instruction; if there is none, that is noted and it is approximated.
    pub(crate) fn replay(
        &self,
        recorded: &Recorded,
        mnemonic: &Mnemonic,
        inputs: &[Bits],
    ) -> Option<Outputs> {
        if let Some(&result) = key(inputs).and_then(|key| recorded.get(&key)) {
            return Some(Outputs::one(result.into()));
        }
        if let Some(approximations) = self.approximations {
            approximations.miss(mnemonic, inputs);
        }
        approximate(mnemonic, inputs)
    }
}

/// A barrier of a block.
#[derive(Clone, Debug, Default)]
pub(crate) struct Barrier {
    pub(crate) generation: u64,
    /// Lanes that have arrived, by warp.
    pub(crate) arrived: Vec<u32>,
    pub(crate) threads: u32,
    pub(crate) expected: Option<u32>,
    pub(crate) and: bool,
    pub(crate) or: bool,
    pub(crate) population: u32,
    /// The three results of the generation completed last.
    pub(crate) results: (bool, bool, u32),
}

/// A block.
#[derive(Debug, Default)]
pub(crate) struct Block {
    pub(crate) index: [u32; 3],
    pub(crate) shared: Words,
    pub(crate) shared_bytes: u64,
    pub(crate) warps: Vec<Warp>,
    /// Lanes that have not exited, by warp.
    pub(crate) live: Vec<u32>,
    pub(crate) barriers: Vec<Barrier>,
    pub(crate) checks: BlockChecks,
}

/// The blocks of a cluster, which run together; usually one.
#[derive(Debug, Default)]
pub(crate) struct Group {
    pub(crate) blocks: Vec<Block>,
    pub(crate) number: u64,
    pub(crate) cluster_generation: u64,
    /// Lanes that have arrived at the cluster barrier, by block and warp.
    pub(crate) cluster_arrived: Vec<Vec<u32>>,
    pub(crate) counters: Counters,
    pub(crate) steps: u64,
    pub(crate) flushed_steps: u64,
    pub(crate) output: Vec<u8>,
}
