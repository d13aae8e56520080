//! Kernels of a report: names, launch, totals, registers.

use super::{
    Access, Demangled, Dependence, Finding, Fix, Loop, Memory, Place, Status, Unit, causes,
    documented, named, rounded, verdict,
};
use crate::access_analysis::{KernelAccesses, KernelRegisters};
use crate::access_fixes::AccessFix;
use crate::instruction_mix::InstructionMix;
use crate::pressure::{DynamicShared, FunctionKind};
use crate::{AccessReport, Module};
use oriole_analysis::memory_requests;

named! {
    /// Kernel or function.
    pub enum KernelKind {
        /// It is launched.
        Kernel = "kernel",
        /// It is called.
        Function = "function",
    }
}

named! {
    /// The origin of the shape of blocks.
    pub enum BlockOrigin {
        /// It is neither given nor required.
        Assumed = "assumed",
        /// Assumed, within the most threads that the kernel allows.
        Bounded = "bounded",
        /// The kernel requires it.
        Required = "required",
        /// The user gave it.
        Given = "given",
    }
}

named! {
    /// The classes of verdicts.
    pub enum Class {
        /// Nothing to fix.
        Fine = "fine",
        /// A quarter of the accesses is unknown, or costs are known within bounds only.
        Undecided = "undecided",
        /// Costs depend on arguments.
        Arguments = "arguments",
        /// Less than half of the warps fit.
        Occupancy = "occupancy",
        /// Another problem than wasted memory bandwidth.
        Other = "other",
        /// Memory bandwidth is wasted.
        Waste = "waste",
    }
}

documented! {
    /// The names of a kernel.
    pub struct Names {
        /// The last part: `matmul`.
        pub plain: String,
        /// With what it is in, template arguments and types of parameters.
        pub demangled: String,
        /// Without types of parameters.
        pub qualified: String,
        /// As the PTX has it.
        pub mangled: String,
    }
}

documented! {
    /// A parameter of a kernel.
    pub struct Parameter {
        /// Its place, from 0.
        pub index: u32,
        /// Its name in the PTX.
        pub name: String,
        /// Its type, such as `.u64` or `.b8[16]`.
        pub r#type: String,
        /// Whether the PTX says that it is a pointer.
        pub is_pointer: bool,
    }
}

documented! {
    /// The launch that a kernel was analyzed for.
    pub struct Launch {
        /// The origin of the shape of blocks.
        pub block_origin: BlockOrigin,
        /// The shape that the kernel requires.
        pub required_block: Option<[u32; 3]>,
        /// The most threads of a block that it allows.
        pub maximum_threads: Option<u32>,
        /// Whether it reads threadIdx.y.
        pub reads_y: bool,
        /// Whether it reads threadIdx.z.
        pub reads_z: bool,
        /// Arguments that the user gave, as places and values.
        pub arguments: Vec<[i64; 2]>,
    }
}

documented! {
    /// The costs of all accesses to a memory in a run of the kernel, per warp.
    pub struct Totals {
        /// The memory.
        pub memory: Memory,
        /// The unit of costs.
        pub unit: Unit,
        /// The cost.
        pub cost: f64,
        /// The least cost of the same bytes.
        pub needed: f64,
        /// The certain waste.
        pub wasted: f64,
        /// The cost at worst.
        pub cost_at_worst: f64,
        /// The waste at worst.
        pub wasted_at_worst: f64,
    }
}

documented! {
    /// Accesses by how much is known of their cost.
    pub struct AccessCounts {
        /// All.
        pub total: u32,
        /// Accesses whose cost is proved, under assumptions or without.
        pub decided: u32,
        /// Accesses whose cost is known within bounds.
        pub bounded: u32,
        /// Accesses of unknown cost.
        pub unknown: u32,
    }
}

documented! {
    /// The answer to "is there something to do, and where?" for a kernel.
    pub struct Verdict {
        /// The class.
        pub class: Class,
        /// The problem, in a few words.
        pub problem: String,
        /// The verdict as a sentence goes on after the name of the kernel.
        pub text: String,
        /// The memory that wastes most.
        pub memory: Option<Memory>,
        /// The unit of costs.
        pub unit: Option<Unit>,
        /// The share of the cost that is wasted, from 0 to 1.
        pub share: Option<f64>,
        /// Whether the share is one at worst.
        pub at_worst: bool,
        /// The share that fixes save.
        pub saved: Option<f64>,
        /// The number of fixes that save it.
        pub fixes: u32,
        /// The limiter of the kernel; null, as there is no model of time.
        pub limiter: Option<String>,
        /// The time; null, as there is no model of time.
        pub microseconds: Option<f64>,
    }
}

documented! {
    /// The waste of a kernel with blocks of a shape.
    pub struct Shape {
        /// The shape.
        pub block: [u32; 3],
        /// The waste of all accesses.
        pub weight: f64,
        /// The number of accesses that waste something.
        pub wasteful: usize,
    }
}

documented! {
    /// The needed share of the cost.
    pub struct Efficiency {
        /// The share of global and local memory.
        pub global: Option<f64>,
        /// The share of shared memory.
        pub shared: Option<f64>,
    }
}

documented! {
    /// Instructions of a class.
    pub struct InstructionClass {
        /// The class.
        pub class: String,
        /// The number.
        pub count: usize,
    }
}

documented! {
    /// The predicted registers of `ptxas`.
    pub struct Registers {
        /// Nine tenths of kernels like this one have at least so many.
        pub low: u32,
        /// The best guess.
        pub best: u32,
        /// Nine tenths have at most so many.
        pub high: u32,
    }
}

documented! {
    /// Shared memory of a block.
    pub struct SharedMemory {
        /// Bytes that the kernel declares.
        pub r#static: u32,
        /// Whether the launch adds some.
        pub dynamic: bool,
        /// Bytes that the launch adds, if they are known.
        pub given: Option<u32>,
    }
}

documented! {
    /// Warps and blocks that a multiprocessor holds.
    pub struct Occupancy {
        /// The shape of blocks.
        pub block: [u32; 3],
        /// Blocks.
        pub blocks: u32,
        /// Warps.
        pub warps: u32,
        /// Warps that it could hold.
        pub warp_limit: u32,
        /// Warps held, in percent of those that could be.
        pub percent: f64,
        /// The resource that stops it from holding more.
        pub limiter: String,
        /// Shared memory of a block.
        pub shared: SharedMemory,
    }
}

documented! {
    /// A number of registers at which occupancy changes.
    pub struct Cliff {
        /// Registers of a thread.
        pub registers: u32,
        /// Blocks that fit then.
        pub blocks: u32,
        /// Warps that fit then.
        pub warps: u32,
    }
}

documented! {
    /// The place where most values are live.
    pub struct Peak {
        /// The line of the PTX.
        pub line: u32,
        /// The line of the source.
        pub source: Option<Place>,
        /// Registers of 32 bits that are live there.
        pub live: u32,
    }
}

documented! {
    /// Register pressure, and the next steps of occupancy.
    pub struct Pressure {
        /// The architecture.
        pub target: String,
        /// Most registers with which more warps fit.
        pub fewer: Option<Cliff>,
        /// Fewest registers with which fewer warps fit.
        pub more: Option<Cliff>,
        /// The peak, if less than half of the warps fit.
        pub peak: Option<Peak>,
    }
}

documented! {
    /// A kernel, or a function that kernels call.
    pub struct Kernel {
        /// The file.
        pub file: String,
        /// The name, as the PTX has it.
        pub name: String,
        /// The name in other lengths.
        pub names: Names,
        /// Kernel or function.
        pub kind: KernelKind,
        /// Its line of the PTX.
        pub line: u32,
        /// Its parameters.
        pub parameters: Vec<Parameter>,
        /// The shape of blocks that was analyzed.
        pub block: [u32; 3],
        /// The launch that was analyzed.
        pub launch: Launch,
        /// The verdict.
        pub verdict: Verdict,
        /// Costs, by memory; memories that are not accessed are left out.
        pub totals: Vec<Totals>,
        /// The findings, worst first.
        pub findings: Vec<Finding>,
        /// Accesses by how much is known.
        pub decided: AccessCounts,
        /// The accesses, in order.
        pub accesses: Vec<Access>,
        /// Relations of iterations of innermost loops by their accesses.
        pub dependences: Vec<Dependence>,
        /// The waste by the shape of blocks, if the shape is assumed and matters.
        pub shapes: Vec<Shape>,
        /// Changes of the whole kernel.
        pub fixes: Vec<Fix>,
        /// The loops, outer before inner.
        pub loops: Vec<Loop>,
        /// The depth of each loop.
        pub loop_depths: Vec<u32>,
        /// The needed share of the cost.
        pub efficiency: Efficiency,
        /// PTX instructions.
        pub instructions: Option<usize>,
        /// Instructions by class.
        pub mix: Vec<InstructionClass>,
        /// The predicted registers.
        pub registers: Option<Registers>,
        /// The occupancy.
        pub occupancy: Option<Occupancy>,
        /// Register pressure.
        pub pressure: Option<Pressure>,
    }
}

impl Kernel {
    pub(super) fn of(module: &Module, own: &KernelAccesses, mix: Option<InstructionMix>) -> Kernel {
        let accesses: Vec<Access> = own.accesses.iter().map(Access::of).collect();
        let demangled = Demangled::of(&own.name);
        let mix = mix.map_or_else(Vec::new, |mix| mix.classes());
        let registers = own.registers.as_ref();
        let mut kernel = Kernel {
            file: module.name().to_owned(),
            name: own.name.clone(),
            names: Names {
                plain: demangled.plain,
                demangled: demangled.full,
                qualified: demangled.qualified,
                mangled: own.name.clone(),
            },
            kind: match own.kind {
                FunctionKind::Entry => KernelKind::Kernel,
                FunctionKind::Function => KernelKind::Function,
            },
            line: own.line,
            parameters: own.parameters.clone(),
            block: own.block,
            launch: own.launch.clone(),
            verdict: Verdict::default(),
            totals: totals(&own.accesses, &accesses),
            findings: Vec::new(),
            decided: AccessCounts::of(&accesses),
            accesses,
            dependences: own.dependences.iter().map(Dependence::of).collect(),
            shapes: own
                .shapes
                .iter()
                .map(|shape| Shape {
                    block: shape.block,
                    weight: rounded(shape.weight),
                    wasteful: shape.wasteful,
                })
                .collect(),
            fixes: own.fixes.iter().map(AccessFix::report).collect(),
            loops: own.loops.iter().map(Loop::of).collect(),
            loop_depths: own.loop_depths.clone(),
            efficiency: Efficiency {
                global: own.efficiency(false).map(rounded),
                shared: own.efficiency(true).map(rounded),
            },
            instructions: registers.map(|own| own.instructions),
            mix: mix
                .into_iter()
                .map(|(class, count)| InstructionClass {
                    class: class.to_owned(),
                    count,
                })
                .collect(),
            registers: registers.map(|own| Registers {
                low: own.prediction.low,
                best: own.prediction.best,
                high: own.prediction.high,
            }),
            occupancy: registers.and_then(Occupancy::of),
            pressure: registers.map(Pressure::of),
        };
        kernel.findings = causes::of(own, &kernel);
        kernel.verdict = verdict::of(&kernel);
        kernel
    }

    /// The total cost of all accesses in a unit, and the cost at worst.
    pub fn total(&self, unit: Unit) -> (f64, f64) {
        let own = self.totals.iter().filter(|own| own.unit == unit);
        own.fold((0.0, 0.0), |(cost, worst), own| {
            (cost + own.cost, worst + own.cost_at_worst)
        })
    }

    /// True if its verdict counts for a run. The verdict of a function does if something is wrong for certain.
    pub fn counts(&self) -> bool {
        self.kind == KernelKind::Kernel || self.verdict.class >= Class::Other
    }

    /// Whether a text is part of one of its names.
    pub fn is_named(&self, part: &str) -> bool {
        let names = &self.names;
        [&names.plain, &names.demangled, &names.mangled, &self.name]
            .into_iter()
            .any(|name| name.contains(part))
    }
}

impl AccessCounts {
    fn of(accesses: &[Access]) -> AccessCounts {
        let count =
            |status: Status| accesses.iter().filter(|own| own.status == status).count() as u32;
        AccessCounts {
            total: accesses.len() as u32,
            decided: count(Status::Proved) + count(Status::ProvedIf),
            bounded: count(Status::Bounded),
            unknown: count(Status::Unknown),
        }
    }
}

/// True if an access certainly wastes something. No caller can pass a stride of one element.
pub(super) fn is_certain(access: &Access) -> bool {
    access.wasteful == super::Certainty::Certainly && !access.open_stride
}

/// The costs of accesses, by memory.
fn totals(reports: &[AccessReport], accesses: &[Access]) -> Vec<Totals> {
    let of = |memory: Memory| {
        let mut total = Totals {
            memory,
            unit: memory.unit(),
            ..Totals::default()
        };
        let mut is_used = false;
        for (report, access) in reports.iter().zip(accesses) {
            let cost = &report.cost;
            let is_known = cost.status != memory_requests::Status::Unknown;
            if report.memory() != memory || cost.request.is_free() || !is_known {
                continue;
            }
            is_used = true;
            let trips = cost.trips;
            total.cost += cost.mean * trips;
            total.needed += cost.ideal.min(cost.mean) * trips;
            total.cost_at_worst += cost.most as f64 * trips;
            if is_certain(access) {
                total.wasted += cost.waste() * trips;
            }
            if is_certain(access) || access.wasteful != super::Certainty::No {
                total.wasted_at_worst += cost.waste_at(cost.most as f64) * trips;
            }
        }
        is_used.then(|| Totals {
            cost: rounded(total.cost),
            needed: rounded(total.needed),
            wasted: rounded(total.wasted),
            cost_at_worst: rounded(total.cost_at_worst),
            wasted_at_worst: rounded(total.wasted_at_worst),
            ..total
        })
    };
    [Memory::Shared, Memory::Global, Memory::Local]
        .into_iter()
        .filter_map(of)
        .collect()
}

impl Occupancy {
    fn of(registers: &KernelRegisters) -> Option<Occupancy> {
        let occupancy = registers.occupancy?;
        Some(Occupancy {
            block: registers.block,
            blocks: occupancy.blocks,
            warps: occupancy.warps,
            warp_limit: occupancy.warp_limit,
            percent: occupancy.percent(),
            limiter: occupancy.limiter().text().to_owned(),
            shared: SharedMemory {
                r#static: registers.static_shared,
                dynamic: registers.dynamic_shared != DynamicShared::Unused,
                given: registers.dynamic_shared.bytes(),
            },
        })
    }

    /// Whether shared memory of an unknown size is left out.
    pub fn lacks_dynamic(&self) -> bool {
        self.shared.dynamic && self.shared.given.is_none()
    }
}

impl Pressure {
    fn of(registers: &KernelRegisters) -> Pressure {
        let cliff = |own: crate::pressure::Cliff| Cliff {
            registers: own.at,
            blocks: own.blocks,
            warps: own.warps,
        };
        Pressure {
            target: registers.target.to_string(),
            fewer: registers
                .cliffs
                .and_then(|own| own.fewer_registers)
                .map(cliff),
            more: registers
                .cliffs
                .and_then(|own| own.more_registers)
                .map(cliff),
            peak: registers.peak.clone(),
        }
    }
}
