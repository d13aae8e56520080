//! What all blocks of a launch share, and what one cluster of blocks owns.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::time::Instant;

use oriole_isa::{Bits, Mnemonic, Outputs, approximate};

use crate::approximations::{Approximations, Recorded, key};
use crate::checks::{BlockChecks, Findings, GlobalShadow};
use crate::counters::Counters;
use crate::decode::Program;
use crate::memory::{GlobalMemory, Words};
use crate::options::Options;
use crate::program::Lanes;
use crate::warp::Warp;

/// Read by every block of a launch.
pub(crate) struct LaunchContext<'a> {
    pub(crate) program: &'a Program,
    pub(crate) memory: &'a GlobalMemory,
    pub(crate) approximations: Option<&'a Approximations>,
    pub(crate) kernel: u32,
    /// Constants of every function that the kernel can reach, with the places of shared variables filled in.
    pub(crate) constants: Vec<Vec<Lanes>>,
    /// The functions that the kernel can reach, in order.
    pub(crate) reachable: Vec<u32>,
    pub(crate) parameters: Words,
    pub(crate) parameter_bytes: u64,
    pub(crate) grid: [u32; 3],
    pub(crate) block: [u32; 3],
    pub(crate) cluster: [u32; 3],
    pub(crate) shared_bytes: u64,
    pub(crate) dynamic_shared: u64,
    pub(crate) options: &'a Options,
    /// When the launch has to be over.
    pub(crate) deadline: Option<Instant>,
    /// Clusters that may be under way at a time.
    pub(crate) groups_in_flight: usize,
    /// Bytes that the registers and the local memory of a warp may take.
    pub(crate) warp_bytes: u64,
    /// Thread-instructions executed by all blocks, updated now and then.
    pub(crate) steps: AtomicU64,
    /// Another block has trapped.
    pub(crate) stop: AtomicBool,
    /// The region that `malloc` gives memory from.
    pub(crate) heap_region: Option<usize>,
    /// Counters that clusters that have ended left for the next ones, to be added up in the end.
    pub(crate) counters: Mutex<Vec<Counters>>,
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
    /// Those of them that wait.
    pub(crate) waiting: Vec<u32>,
    /// The instruction of the first that arrived: function and operation.
    pub(crate) first: (u32, u32),
    /// The first instruction of each warp.
    pub(crate) places: Vec<(u32, u32)>,
    /// Lanes that arrived without the rest of their warp at an instruction that needs it, by warp.
    pub(crate) partial: Vec<u32>,
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
    /// The steps at which the limits are checked next.
    pub(crate) next_check: u64,
    pub(crate) output: Vec<u8>,
    /// Changes of memory, to notice when all threads wait for one.
    pub(crate) writes: u64,
    pub(crate) findings: Findings,
    /// What is remembered of global memory, lent by the launch while the cluster runs.
    pub(crate) global: Option<Box<GlobalShadow>>,
}
