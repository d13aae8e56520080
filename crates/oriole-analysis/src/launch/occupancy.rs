//! How many blocks of a kernel a multiprocessor holds at once, and what stops it from holding more.
//!
//! ## Method
//! The rules are those of the CUDA toolkit's `cuda_occupancy.h`, and are checked against a table recorded from it for every
//! compute capability: registers go to warps in units of 256 and live in one sub-partition of the multiprocessor; shared
//! memory goes to blocks in units of 128 or 256 bytes after what the driver takes for itself; warps, blocks and, from
//! compute capability 9.0 on, named barriers have a fixed number.

use oriole_isa::{Limits, Target, WARP};

/// What a block of a kernel needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Demand {
    /// Registers of a thread.
    pub registers: u32,
    /// Threads of a block.
    pub threads: u32,
    /// Bytes of shared memory of a block, static and dynamic.
    pub shared: u32,
    /// Named barriers of a block.
    pub barriers: u32,
    /// Columns of tensor memory that a block allocates.
    pub tensor_columns: u32,
    /// Whether more than 48 KB of shared memory are asked for at launch where needed.
    pub opt_in: bool,
}

/// What can stop a multiprocessor from holding more blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Limiter {
    /// Registers.
    Registers,
    /// Shared memory.
    SharedMemory,
    /// Resident warps.
    Warps,
    /// Resident blocks.
    Blocks,
    /// Named barriers.
    Barriers,
    /// Columns of tensor memory. A block whose allocation finds none free waits until another block ends.
    TensorMemory,
}

impl Limiter {
    /// What people call it.
    pub const fn text(self) -> &'static str {
        match self {
            Limiter::Registers => "registers",
            Limiter::SharedMemory => "shared memory",
            Limiter::Warps => "warps",
            Limiter::Blocks => "blocks",
            Limiter::Barriers => "barriers",
            Limiter::TensorMemory => "tensor memory",
        }
    }
}

/// Columns of tensor memory of a multiprocessor that has any (PTX manual, "Tensor Memory").
const TENSOR_COLUMNS: u32 = 512;

/// A limit that does not apply.
pub const UNLIMITED: u32 = i32::MAX as u32;

/// How many blocks a multiprocessor holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Occupancy {
    /// Blocks held at once.
    pub blocks: u32,
    /// Their warps.
    pub warps: u32,
    /// Warps the multiprocessor could hold.
    pub warp_limit: u32,
    /// Blocks that each resource would allow, [`UNLIMITED`] if it is not asked for, in order of [`Limiter`].
    pub limits: [u32; 6],
}

const LIMITERS: [Limiter; 6] = [
    Limiter::Registers,
    Limiter::SharedMemory,
    Limiter::Warps,
    Limiter::Blocks,
    Limiter::Barriers,
    Limiter::TensorMemory,
];

impl Occupancy {
    /// The occupancy of a target by blocks that need so much, if the limits of the target are known.
    pub fn of(target: Target, demand: Demand) -> Option<Occupancy> {
        let limits = target.limits()?;
        let (major, minor) = target.compute_capability();
        let warps_per_block = demand.threads.div_ceil(WARP).max(1);
        let mut by_registers = blocks_by_registers(&limits, limits.partitions, major, demand);
        // What does not run on the other parts of the generation does not run on 6.0 either.
        if (major, minor) == (6, 0) && blocks_by_registers(&limits, 4, major, demand) == 0 {
            by_registers = 0;
        }
        let by_warps = if demand.threads > limits.launch.threads {
            0
        } else {
            limits.warps / warps_per_block
        };
        let by_barriers = if major >= 9 && demand.barriers > 0 {
            limits.barriers / demand.barriers
        } else {
            UNLIMITED
        };
        let all = [
            by_registers,
            blocks_by_shared_memory(&limits, major, demand),
            by_warps,
            limits.blocks,
            by_barriers,
            TENSOR_COLUMNS
                .checked_div(demand.tensor_columns)
                .unwrap_or(UNLIMITED),
        ];
        let blocks = all.into_iter().min().unwrap_or(0);
        Some(Occupancy {
            blocks,
            warps: blocks * warps_per_block,
            warp_limit: limits.warps,
            limits: all,
        })
    }

    /// Warps held, of those that could be, in percent.
    pub fn percent(&self) -> f64 {
        f64::from(self.warps) * 100.0 / f64::from(self.warp_limit)
    }

    /// What limits the blocks.
    pub fn limiters(&self) -> impl Iterator<Item = Limiter> + '_ {
        LIMITERS
            .into_iter()
            .zip(self.limits)
            .filter(|&(_, limit)| limit == self.blocks)
            .map(|(limiter, _)| limiter)
    }

    /// What limits the blocks, the first that a program can do something about.
    pub fn limiter(&self) -> Limiter {
        self.limiters().next().unwrap_or(Limiter::Warps)
    }
}

fn blocks_by_registers(limits: &Limits, partitions: u32, major: u16, demand: Demand) -> u32 {
    let warps = demand.threads.div_ceil(WARP).max(1);
    let per_warp = (demand.registers * WARP).next_multiple_of(limits.register_granularity);
    // The hardware checks as if all partitions were given to in step.
    let assumed = per_warp * warps.next_multiple_of(partitions);
    // The toolkit allows 256 registers from 7.0 on, one more than an instruction can name.
    let most = limits.registers_per_thread + u32::from(major >= 7);
    if assumed > limits.registers_per_block || demand.registers > most {
        return 0;
    }
    if per_warp == 0 {
        return UNLIMITED;
    }
    (limits.registers / partitions / per_warp) * partitions / warps
}

fn blocks_by_shared_memory(limits: &Limits, major: u16, demand: Demand) -> u32 {
    let wanted = demand.shared + limits.shared_memory_reserved;
    let allocated = wanted.next_multiple_of(limits.shared_memory_granularity);
    let mut limit = limits.shared_memory_per_block_default;
    if major >= 7 && demand.opt_in && wanted > limit {
        limit = limits.shared_memory_per_block;
    }
    if allocated > limit + limits.shared_memory_reserved {
        0
    } else {
        limits
            .shared_memory
            .checked_div(allocated)
            .unwrap_or(UNLIMITED)
    }
}

/// A change of one resource that changes how many blocks fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cliff {
    /// Registers of a thread, or bytes of shared memory, at which it happens.
    pub at: u32,
    /// Blocks that fit then.
    pub blocks: u32,
    /// Warps that fit then.
    pub warps: u32,
}

/// The next changes of occupancy in each direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cliffs {
    /// Most registers with which more warps fit.
    pub fewer_registers: Option<Cliff>,
    /// Fewest registers with which fewer warps fit.
    pub more_registers: Option<Cliff>,
    /// Most bytes of shared memory with which more warps fit.
    pub less_shared: Option<Cliff>,
    /// Fewest bytes of shared memory with which fewer warps fit.
    pub more_shared: Option<Cliff>,
}

impl Cliffs {
    /// The cliffs around a demand, if the limits of the target are known.
    pub fn of(target: Target, demand: Demand) -> Option<Cliffs> {
        let limits = target.limits()?;
        let now = Occupancy::of(target, demand)?.blocks;
        let find = |values: &mut dyn Iterator<Item = u32>,
                    change: &dyn Fn(u32) -> Demand,
                    differs: &dyn Fn(u32) -> bool| {
            for at in values {
                let then = Occupancy::of(target, change(at))?;
                if differs(then.blocks) {
                    return Some(Cliff {
                        at,
                        blocks: then.blocks,
                        warps: then.warps,
                    });
                }
            }
            None
        };
        let registers = |registers| Demand {
            registers,
            ..demand
        };
        let shared = |shared| Demand { shared, ..demand };
        let unit = limits.shared_memory_granularity;
        let most = limits.shared_memory_per_block;
        // Shared memory is full up to a multiple of the unit; what the driver takes is one too.
        let below = (0..demand.shared.div_ceil(unit)).rev().map(|n| n * unit);
        let above = (demand.shared / unit..=most / unit).map(|n| n * unit + 1);
        Some(Cliffs {
            fewer_registers: find(&mut (1..demand.registers).rev(), &registers, &|blocks| {
                blocks > now
            }),
            more_registers: find(
                &mut (demand.registers + 1..=limits.registers_per_thread + 1),
                &registers,
                &|blocks| blocks < now,
            ),
            less_shared: find(&mut below.into_iter(), &shared, &|blocks| blocks > now),
            more_shared: find(
                &mut above.filter(|&bytes| bytes > demand.shared),
                &shared,
                &|blocks| blocks < now,
            ),
        })
    }
}
