//! Makes valid PTX kernels at random, to be run before and after whatever is under test.
//!
//! ## What is promised
//! Every kernel is accepted by `ptxas`, ends, stays inside its buffers, and gives the same bytes in every run: no thread reads
//! what another may write without a barrier between, atomics on shared cells are of one commutative operation each, and warp
//! operations and barriers stand only where all threads of the block are together. No register is read before it is written.
//!
//! A kernel takes two pointers: [`INPUT_BYTES`] of anything, and [`Kernel::output_bytes`] of zeroes, of which each thread owns
//! [`THREAD_BYTES`] and the rest are cells for atomics. It is launched with [`GRID`] blocks of [`BLOCK`] threads.
//!
//! ## Method
//! Statements are drawn by weight. Values live in pools of registers by width; a statement reads from the pools and writes a
//! new register or one of a pool, so registers are assigned again and again, in loops, on both sides of branches, under guards.
//! Value instructions are drawn from the list of all forms that were recorded on hardware (`value_forms.txt`), opcode first,
//! so that rare opcodes occur as often as those with many modifiers.

#![forbid(unsafe_code)]

pub mod differential;
mod forms;
mod kernel;
pub mod mnemonics;
mod mutation;
mod random;
pub mod reach;
pub mod small;

pub use forms::Width;
pub use kernel::{Kernel, Statistics, generate};
pub use random::Random;

/// Bytes of input every kernel may read.
pub const INPUT_BYTES: usize = 4096;
/// Bytes of output that belong to one thread.
pub const THREAD_BYTES: usize = 256;
/// Blocks to launch.
pub const GRID: u32 = 2;
/// Threads in a block: two warps, so that barriers mean something.
pub const BLOCK: u32 = 64;
/// Cells for atomics behind the threads' own bytes, 8 bytes each.
pub const CELLS: usize = 16;

/// What to generate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Statements at the top level of a kernel, about.
    pub statements: usize,
    /// Whether to use functions whose result the manual bounds but does not fix.
    pub approximate: bool,
    /// Uses the forms in `added_forms.txt`, added since kernels were recorded on hardware. A new form goes there,
    /// so that recorded kernels stay what they were.
    pub added: bool,
    /// Whether to load narrow numbers through addresses that several loads share.
    pub addresses: bool,
    /// Shapes that other people's programs showed to matter.
    pub shapes: Shapes,
}

/// Shapes that are made only where they are asked for, so that kernels without them stay what they were.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Shapes {
    /// Equal loads in several arms of branches.
    pub loads: bool,
    /// Lanes that meet at warp operations in different places.
    pub lanes: bool,
    /// Calls that write the caller's stack.
    pub calls: bool,
}

impl Shapes {
    /// All of them.
    pub const ALL: Shapes = Shapes {
        loads: true,
        lanes: true,
        calls: true,
    };

    /// Whether any is wanted.
    pub fn any(self) -> bool {
        self.loads || self.lanes || self.calls
    }
}

impl Default for Options {
    fn default() -> Options {
        Options {
            statements: 24,
            approximate: false,
            added: false,
            addresses: false,
            shapes: Shapes::default(),
        }
    }
}
