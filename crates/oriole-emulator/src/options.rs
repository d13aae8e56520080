//! What a launch is given: its shape, its arguments, and how it is executed and watched.

use std::sync::Arc;
use std::time::Duration;

use crate::observer::Observer;
use crate::progress::Progress;

/// How a launch is executed and watched.
#[derive(Clone, Debug)]
pub struct Options {
    /// The most thread-instructions a launch executes.
    pub step_limit: u64,
    /// The most bytes of local memory of a thread.
    pub local_bytes: u64,
    /// The most nested calls.
    pub call_depth: u32,
    /// Bytes that `malloc` can hand out.
    pub heap_bytes: u64,
    /// The most bytes that buffers, variables and the blocks that run at a time may take together, about.
    pub memory_limit: u64,
    /// The most time a launch may take; where it ends depends on the machine the emulator runs on.
    pub time_limit: Option<Duration>,
    /// Count executions, sectors and wavefronts of every instruction.
    pub profile: bool,
    /// Report reads of registers, the carry flag, shared and local memory that were never written.
    pub check_uninitialized: bool,
    /// With `check_uninitialized`, report undefined elements that are stored beside defined ones, too: they may be padding.
    pub check_padding: bool,
    /// Report data races.
    pub check_races: bool,
    /// Run blocks on several threads, where the order of blocks cannot matter.
    pub parallel: bool,
    /// The block and its thread that run, by their numbers in order, if one runs alone: the others have exited from the start.
    pub alone: Option<(u64, u32)>,
    /// Where to say how far the launch has come.
    pub progress: Option<Arc<Progress>>,
    /// Who sees every instruction before it is executed.
    pub observer: Option<Arc<dyn Observer>>,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            step_limit: 100_000_000_000,
            local_bytes: 1 << 20,
            call_depth: 10_000,
            heap_bytes: 8 << 20,
            memory_limit: crate::limits::MEMORY,
            time_limit: None,
            profile: false,
            check_uninitialized: false,
            check_padding: false,
            check_races: false,
            parallel: true,
            alone: None,
            progress: None,
            observer: None,
        }
    }
}

/// A launch: which kernel, how many threads, and what they get.
#[derive(Clone, Debug)]
pub struct Launch<'a> {
    /// The kernel's name; `*` is the only kernel of the module.
    pub kernel: &'a str,
    /// Blocks.
    pub grid: [u32; 3],
    /// Threads of a block.
    pub block: [u32; 3],
    /// Bytes of dynamic shared memory.
    pub dynamic_shared: u64,
    /// The kernel's arguments in order.
    pub arguments: Vec<Value>,
}

/// An argument of a launch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// Passed by value, little endian.
    Bytes(Vec<u8>),
    /// The address of a buffer.
    Buffer(Buffer),
}

/// A buffer of a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Buffer(pub(crate) usize);

/// What a kernel asks of a launch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signature {
    /// Name and bytes of each parameter, in order.
    pub parameters: Vec<(String, usize)>,
    /// The type of each parameter as it is declared, such as `f32`; of an array that of its elements.
    pub types: Vec<String>,
    /// The only block shape it runs with.
    pub required_block: Option<[u32; 3]>,
    /// A block shape with the most threads it runs with.
    pub maximum_block: Option<[u32; 3]>,
    /// Blocks of a cluster; the grid must be a multiple.
    pub cluster: [u32; 3],
}
