//! What somebody who watches a launch sees: every instruction before it is executed, and the registers at that moment.

use std::fmt::Debug;

use oriole_diagnostics::Span;
use oriole_isa::Space;
use oriole_isa::memory_cost::Operation;

use crate::program::Lanes;

/// Lanes of a warp that come to an instruction.
#[derive(Debug)]
pub struct Step<'step> {
    /// The function it is in.
    pub function: &'step str,
    /// Where its mnemonic stands in the text.
    pub span: Span,
    /// The block of the grid.
    pub block: [u32; 3],
    /// The threads of the warp, by lane.
    pub threads: &'step [[u32; 3]],
    /// The lanes that come to it.
    pub lanes: u32,
    /// Those that execute it: its guard holds.
    pub active: u32,
    /// Whether this is the first of the operations that the instruction is executed as.
    pub is_first: bool,
    /// How many calls they are in.
    pub depth: usize,
    pub(crate) names: &'step [String],
    pub(crate) registers: &'step [Lanes],
}

impl Step<'_> {
    /// The names of the registers of the function that are no predicates, in the order of [`Step::register`]. Registers of different scopes may
    /// have one name.
    pub fn register_names(&self) -> &[String] {
        self.names
    }

    /// What a register holds in a lane.
    pub fn register(&self, index: usize, lane: usize) -> Option<u64> {
        Some(self.registers.get(index)?[lane])
    }
}

/// A warp's access to memory, as it is counted. An instruction that copies makes two: where it reads, then where it writes.
#[derive(Debug)]
pub struct Request<'request> {
    /// The function it is in.
    pub function: &'request str,
    /// Where the mnemonic of the instruction stands in the text.
    pub span: Span,
    /// The block of the grid.
    pub block: [u32; 3],
    /// The threads of the warp, by lane.
    pub threads: &'request [[u32; 3]],
    /// The state space that the instruction names.
    pub space: Space,
    /// What it does, as far as that makes a difference to the cost.
    pub operation: Operation,
    /// The lanes that access something.
    pub lanes: u32,
    /// The address of each of them.
    pub addresses: &'request [u64; 32],
    /// Of a copy, where each of them writes or reads; else the same.
    pub other: &'request [u64; 32],
    /// How many bytes each of them accesses.
    pub width: u32,
}

/// Somebody who watches a launch. Blocks may run on several threads at once.
pub trait Observer: Debug + Send + Sync {
    /// Lanes come to an instruction.
    fn step(&self, step: &Step<'_>);

    /// A warp asks for memory; only if the launch is profiled.
    fn request(&self, _request: &Request<'_>) {}
}
