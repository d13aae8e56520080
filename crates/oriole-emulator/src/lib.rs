//! A strict emulator of PTX: it runs kernels without a GPU and says where they go wrong.
//!
//! The tree is decoded once into arrays of compact operations over numbered registers; each operation is then executed for
//! all lanes of a warp in one loop. What value instructions compute is `oriole_isa::evaluate`, checked against hardware; the
//! common ones have direct loops that are tested against it. The emulator judges the optimizer and shares no other code with it.
//!
//! ```
//! use oriole_emulator::{Argument, Launch, Machine, Options, Value};
//!
//! let text = "
//! .version 8.0
//! .target sm_80
//! .address_size 64
//! .visible .entry double(.param .u64 data) {
//!     .reg .b64 %rd<3>; .reg .b32 %r<3>;
//!     ld.param.u64 %rd1, [data];
//!     mov.u32 %r1, %tid.x;
//!     mad.wide.u32 %rd2, %r1, 4, %rd1;
//!     ld.global.u32 %r2, [%rd2];
//!     add.u32 %r2, %r2, %r2;
//!     st.global.u32 [%rd2], %r2;
//!     ret;
//! }";
//! let (module, errors) = oriole_syntax::parse("double.ptx", text);
//! assert!(errors.is_empty());
//! let mut machine = Machine::new(&module).expect("valid");
//! let argument = Argument::parse("data:u32[4]=iota", 0, 0).expect("valid");
//! let values = machine.arguments(&[argument]);
//! let Value::Buffer(data) = values[0] else { unreachable!() };
//! let launch = Launch { kernel: "double", grid: [1; 3], block: [4, 1, 1], dynamic_shared: 0, arguments: values };
//! machine.launch(&launch, &Options::default()).expect("runs");
//! assert_eq!(machine.read(data)[4..8], [2, 0, 0, 0]);
//! ```

#![forbid(unsafe_code)]

mod access;
mod approximations;
mod arguments;
mod asynchronous;
mod barrier;
mod call;
mod checks;
mod collective;
mod contraction;
mod control_flow;
mod counters;
mod decode;
mod execute;
mod execution;
mod external;
mod heap;
mod lanes;
mod launch;
mod limits;
mod machine;
mod matrix;
mod memory;
mod observer;
mod options;
mod printf;
mod program;
mod progress;
mod rendezvous;
mod report;
mod schedule;
mod special;
mod tensor_core;
mod trap;
mod uses;
mod warp;

pub use approximations::Approximations;
pub use arguments::{Argument, ArgumentKind, ElementType, SplitMix64};
pub use counters::InstructionCounters;
pub use machine::{Machine, MachineOptions};
pub use observer::{Observer, Request, Step};
pub use options::{Buffer, Launch, Options, Signature, Value};
pub use progress::Progress;
pub use report::{Finding, FindingKind, InstructionProfile, Report};
pub use trap::{SourceLine, Trap, TrapKind};
