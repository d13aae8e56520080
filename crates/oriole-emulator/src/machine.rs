//! The machine: a decoded module, its memory, and launches.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

use oriole_diagnostics::{Diagnostic, Span};
use oriole_isa::{ReductionOperation, Space};
use oriole_syntax::tree::Module;
use rayon::prelude::*;

use crate::approximations::Approximations;
use crate::arguments::Argument;
use crate::barrier::describe_missing;
use crate::check::BlockChecks;
use crate::counters::{Counters, InstructionCounters};
use crate::decode::{Program, decode_module};
use crate::execute::{Executor, Stop};
use crate::launch::{Barrier, Block, Group, LaunchContext};
use crate::memory::{GlobalMemory, Region, Words};
use crate::program::{Kind, Lanes, NONE, Special};
use crate::progress::Progress;
use crate::trap::{Fault, SourceLine, Trap, TrapKind};
use crate::warp::{Fragment, State, Warp};

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
    /// Count executions, sectors and wavefronts of every instruction.
    pub profile: bool,
    /// Report reads of registers, the carry flag, shared and local memory that were never written.
    pub check_uninitialized: bool,
    /// Report data races.
    pub check_races: bool,
    /// Run blocks on several threads, where the order of blocks cannot matter.
    pub parallel: bool,
    /// Where to say how far the launch has come.
    pub progress: Option<Arc<Progress>>,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            step_limit: 100_000_000_000,
            local_bytes: 1 << 20,
            call_depth: 10_000,
            heap_bytes: 8 << 20,
            profile: false,
            check_uninitialized: false,
            check_races: false,
            parallel: true,
            progress: None,
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
pub struct Buffer(usize);

/// What a kernel asks of a launch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signature {
    /// Name and bytes of each parameter, in order.
    pub parameters: Vec<(String, usize)>,
    /// The only block shape it runs with.
    pub required_block: Option<[u32; 3]>,
    /// A block shape with the most threads it runs with.
    pub maximum_block: Option<[u32; 3]>,
    /// Blocks of a cluster; the grid must be a multiple.
    pub cluster: [u32; 3],
}

/// What was noticed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FindingKind {
    /// A register or a byte of shared or local memory was read before it was written.
    UninitializedRead,
    /// Two accesses to one place, one of them a write, with no order between them.
    Race,
}

/// Something noticed that does not end a launch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// What.
    pub kind: FindingKind,
    /// In words.
    pub message: String,
    /// The function.
    pub function: String,
    /// The instruction.
    pub span: Span,
    /// Its line in the PTX, counted from one.
    pub ptx_line: u32,
    /// Its line in the source.
    pub source: Option<SourceLine>,
    /// The other instruction of a race.
    pub other_ptx_line: Option<u32>,
    /// Its line in the source.
    pub other_source: Option<SourceLine>,
    /// The block, `%ctaid`.
    pub block: [u32; 3],
    /// The thread, `%tid`.
    pub thread: [u32; 3],
}

impl Finding {
    /// The finding as a diagnostic of the PTX text.
    pub fn to_diagnostic(&self) -> Diagnostic {
        let id = match self.kind {
            FindingKind::UninitializedRead => "uninitialized-read",
            FindingKind::Race => "data-race",
        };
        let diagnostic = Diagnostic::warning(id, self.span, self.message.clone());
        match self.other_ptx_line {
            Some(line) => diagnostic.with_note(format!("the other access is at PTX line {line}")),
            None => diagnostic,
        }
    }
}

/// Counts of one instruction, and where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InstructionProfile {
    /// The function.
    pub function: String,
    /// The instruction.
    pub span: Span,
    /// Its line in the PTX, counted from one.
    pub ptx_line: u32,
    /// Its line in the source.
    pub source: Option<SourceLine>,
    /// The counts.
    pub counters: InstructionCounters,
}

/// What a launch did.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// Instructions executed, counted once for each thread.
    pub thread_instructions: u64,
    /// What was noticed, at most once for each pair of instructions and block.
    pub findings: Vec<Finding>,
    /// Counts of every instruction that was executed, where they were asked for.
    pub profile: Vec<InstructionProfile>,
    /// What `printf` wrote, block by block.
    pub output: Vec<u8>,
    /// Whether blocks ran at the same time.
    pub parallel: bool,
    /// Remarks about what was emulated differently from a machine.
    pub notes: Vec<String>,
}

/// A module ready to run, with its memory.
#[derive(Debug)]
pub struct Machine {
    program: Program,
    memory: GlobalMemory,
    heap: Option<usize>,
    approximations: Option<Arc<Approximations>>,
}

impl Machine {
    /// Decodes a module.
    ///
    /// # Errors
    /// Names that cannot be resolved and initial values that cannot be computed. Instructions that are not emulated are
    /// no error until they are executed.
    pub fn new(module: &Module) -> Result<Machine, Vec<Diagnostic>> {
        Machine::decode(module, None)
    }

    /// Decodes a module whose approximate instructions give recorded results. What is not recorded is approximated as by
    /// [`Machine::new`] and noted in [`Approximations::missing`].
    ///
    /// # Errors
    /// As [`Machine::new`].
    pub fn with_approximations(
        module: &Module,
        approximations: &Arc<Approximations>,
    ) -> Result<Machine, Vec<Diagnostic>> {
        Machine::decode(module, Some(approximations.clone()))
    }

    fn decode(
        module: &Module,
        approximations: Option<Arc<Approximations>>,
    ) -> Result<Machine, Vec<Diagnostic>> {
        let mut program = decode_module(module, approximations.as_deref())?;
        let memory = std::mem::take(&mut program.memory);
        Ok(Machine {
            program,
            memory,
            heap: None,
            approximations,
        })
    }

    /// The machine as ptxas would have the module by default: multiplications and additions without a rounding are fused
    /// where one feeds the other. PTX allows it and GPUs therefore do it; [`Machine::new`] executes what is written.
    #[must_use]
    pub fn contracted(mut self) -> Machine {
        for function in &mut self.program.functions {
            crate::contraction::contract(function);
        }
        self
    }

    /// The kernels of the module.
    pub fn kernels(&self) -> impl Iterator<Item = &str> {
        self.program
            .functions
            .iter()
            .filter(|function| function.is_entry && function.has_body)
            .map(|function| &function.name[..])
    }

    /// What a kernel asks of a launch.
    pub fn signature(&self, kernel: &str) -> Option<Signature> {
        let function =
            self.program.functions.iter().find(|function| {
                function.is_entry && function.has_body && function.name == kernel
            })?;
        Some(Signature {
            parameters: function
                .parameters
                .iter()
                .map(|parameter| (parameter.name.to_string(), parameter.bytes as usize))
                .collect(),
            required_block: function.required_block,
            maximum_block: function.maximum_block,
            cluster: function.cluster.unwrap_or([1; 3]),
        })
    }

    /// The name under which the module was parsed.
    pub fn name(&self) -> &str {
        &self.program.name
    }

    /// Makes a buffer with these contents.
    pub fn buffer(&mut self, name: impl Into<String>, contents: &[u8]) -> Buffer {
        let region = Region::new(name, contents.len() as u64, true);
        region.write_bytes(0, contents);
        self.memory.add(region);
        Buffer(self.memory.regions.len() - 1)
    }

    /// The address of a buffer, for arguments with pointers inside.
    pub fn address(&self, buffer: Buffer) -> u64 {
        GlobalMemory::base(buffer.0)
    }

    /// The contents of a buffer.
    pub fn read(&self, buffer: Buffer) -> Vec<u8> {
        self.memory.regions[buffer.0].read_bytes()
    }

    /// The contents of a variable of the module.
    pub fn read_variable(&self, name: &str) -> Option<Vec<u8>> {
        self.memory
            .regions
            .iter()
            .find(|region| region.name == name)
            .map(Region::read_bytes)
    }

    /// Replaces the contents of a variable of the module.
    ///
    /// # Errors
    /// A sentence, when there is no such variable or it has another size.
    pub fn write_variable(&mut self, name: &str, contents: &[u8]) -> Result<(), String> {
        let region = self
            .memory
            .regions
            .iter()
            .find(|region| region.name == name)
            .ok_or_else(|| format!("no variable `{name}`"))?;
        if region.bytes != contents.len() as u64 {
            return Err(format!(
                "`{name}` has {} bytes, not {}",
                region.bytes,
                contents.len()
            ));
        }
        region.write_bytes(0, contents);
        Ok(())
    }

    /// Makes the arguments of a launch from parsed ones: buffers for the buffers, bytes for the rest.
    pub fn arguments(&mut self, arguments: &[Argument]) -> Vec<Value> {
        arguments
            .iter()
            .map(|argument| {
                if argument.is_buffer() {
                    Value::Buffer(self.buffer(argument.name.clone(), &argument.data))
                } else {
                    Value::Bytes(argument.data.clone())
                }
            })
            .collect()
    }

    /// Runs a kernel to its end.
    ///
    /// # Errors
    /// The trap that ended it. Buffers then hold what had been written.
    pub fn launch(&mut self, launch: &Launch<'_>, options: &Options) -> Result<Report, Box<Trap>> {
        let kernel = self.find_kernel(launch.kernel)?;
        if self.heap.is_none() && self.mentions_malloc() {
            self.memory
                .add(Region::new("(heap)", options.heap_bytes, true));
            self.heap = Some(self.memory.regions.len() - 1);
        }
        let context = self.context(kernel, launch, options)?;
        let groups = context.groups();
        if let Some(progress) = &options.progress {
            progress.begin(launch.grid.iter().map(|&size| u64::from(size)).product());
        }
        let parallel =
            options.parallel && !options.check_races && groups > 1 && self.blocks_commute(kernel);
        let mut report = Report {
            parallel,
            ..Report::default()
        };
        let mut counters = Counters::default();
        if parallel {
            let results: Vec<_> = (0..groups)
                .into_par_iter()
                .map(|number| {
                    if context.stop.load(Relaxed) {
                        return Ok(None);
                    }
                    let result = context.run_one(number);
                    if result.is_err() {
                        context.stop.store(true, Relaxed);
                    }
                    result.map(Some)
                })
                .collect();
            // The first trap, in the order of blocks, that is not the echo of another.
            let mut traps: Vec<Box<Trap>> = Vec::new();
            for result in results {
                match result {
                    Ok(Some(group)) => collect(group, &mut report, &mut counters),
                    Ok(None) => {}
                    Err(trap) => traps.push(trap),
                }
            }
            if !traps.is_empty() {
                let at = traps
                    .iter()
                    .position(|trap| trap.message != "another block has trapped")
                    .unwrap_or(0);
                return Err(traps.swap_remove(at));
            }
        } else {
            context.run_in_order(groups, &mut report, &mut counters)?;
        }
        report.profile = context.profile(&counters);
        if context.cluster != [1; 3] {
            report.notes.push(
                "the blocks of a cluster ran together; clusters ran on one machine in turn"
                    .to_string(),
            );
        }
        Ok(report)
    }

    fn find_kernel(&self, name: &str) -> Result<u32, Box<Trap>> {
        let is_kernel = |index: &usize| {
            self.program.functions[*index].is_entry && self.program.functions[*index].has_body
        };
        let mut found = (0..self.program.functions.len())
            .filter(is_kernel)
            .filter(|&index| name == "*" || self.program.functions[index].name == name);
        match found.next() {
            Some(index) => Ok(index as u32),
            None => {
                let names: Vec<&str> = self.kernels().collect();
                Err(Box::new(Trap::launch(format!(
                    "no kernel `{name}`; the module has {}",
                    names.join(", ")
                ))))
            }
        }
    }

    fn mentions_malloc(&self) -> bool {
        self.program
            .functions
            .iter()
            .any(|function| !function.has_body && function.name == "malloc")
    }

    /// Functions that a kernel can reach.
    fn reachable(&self, kernel: u32) -> Vec<u32> {
        let functions = &self.program.functions;
        let mut seen = vec![false; functions.len()];
        let mut work = vec![kernel];
        seen[kernel as usize] = true;
        let mut order = Vec::new();
        while let Some(index) = work.pop() {
            order.push(index);
            let function = &functions[index as usize];
            let mut visit = |target: u32| {
                if !seen[target as usize] {
                    seen[target as usize] = true;
                    work.push(target);
                }
            };
            function.mentions.iter().copied().for_each(&mut visit);
            if function.calls_indirectly {
                // The address may come from anywhere.
                (0..functions.len() as u32)
                    .filter(|&target| {
                        functions[target as usize].has_body && !functions[target as usize].is_entry
                    })
                    .for_each(visit);
            }
        }
        order.sort_unstable();
        order
    }

    /// Whether blocks may run in any order: no block sees what another wrote but by integer reductions whose results are
    /// not read.
    fn blocks_commute(&self, kernel: u32) -> bool {
        self.reachable(kernel).into_iter().all(|index| {
            let function = &self.program.functions[index as usize];
            let accesses = function
                .accesses
                .iter()
                .all(|access| !access.synchronizing || access.space == Space::Shared);
            let atomics = function.atomics.iter().all(|atomic| {
                use ReductionOperation::*;
                let commutes = matches!(atomic.operation, Add | Min | Max | And | Or | Xor)
                    && !atomic.scalar_type.is_float();
                let private = matches!(atomic.space, Space::Shared | Space::SharedCluster);
                let unread = atomic.destinations.iter().all(|&slot| slot == NONE);
                private || (commutes && unread && atomic.scalar_type.bytes() == 4)
            });
            let calls = function
                .calls
                .iter()
                .all(|call| !matches!(call.target, crate::program::CallTarget::External(_)));
            let specials = function.specials.iter().all(|Special { mnemonic, .. }| {
                !matches!(
                    mnemonic.opcode(),
                    oriole_isa::Opcode::CpReduceAsyncBulk | oriole_isa::Opcode::RedAsync
                )
            });
            accesses && atomics && calls && specials
        })
    }

    fn context<'a>(
        &'a self,
        kernel: u32,
        launch: &Launch<'_>,
        options: &'a Options,
    ) -> Result<LaunchContext<'a>, Box<Trap>> {
        let function = &self.program.functions[kernel as usize];
        let wrong = |message: String| Err(Box::new(Trap::launch(message)));
        let threads: u64 = launch.block.iter().map(|&size| u64::from(size)).product();
        if launch.grid.contains(&0) || threads == 0 {
            return wrong("a launch needs at least one thread".to_string());
        }
        if threads > 1024 {
            return wrong(format!(
                "a block of {threads} threads; at most 1024 are possible"
            ));
        }
        if let Some(required) = function
            .required_block
            .filter(|required| *required != launch.block)
        {
            return wrong(format!(
                "`{}` requires blocks of {required:?} threads",
                function.name
            ));
        }
        if let Some(maximum) = function.maximum_block {
            let most: u64 = maximum.iter().map(|&size| u64::from(size)).product();
            if threads > most {
                return wrong(format!(
                    "`{}` allows blocks of {most} threads, {threads} were asked for",
                    function.name
                ));
            }
        }
        if launch.arguments.len() != function.parameters.len() {
            return wrong(format!(
                "`{}` takes {} arguments, {} were given",
                function.name,
                function.parameters.len(),
                launch.arguments.len()
            ));
        }
        let mut parameters = Words::new(u64::from(function.parameter_bytes) + 16);
        for (parameter, argument) in function.parameters.iter().zip(&launch.arguments) {
            let bytes = match argument {
                Value::Bytes(bytes) => bytes.clone(),
                Value::Buffer(buffer) => GlobalMemory::base(buffer.0).to_le_bytes().to_vec(),
            };
            if bytes.len() != parameter.bytes as usize {
                return wrong(format!(
                    "parameter `{}` of `{}` has {} bytes, the argument {}",
                    parameter.name,
                    function.name,
                    parameter.bytes,
                    bytes.len()
                ));
            }
            for (index, byte) in bytes.into_iter().enumerate() {
                parameters.store(u64::from(parameter.offset) + index as u64, 1, byte.into());
            }
        }
        let cluster = function.cluster.unwrap_or([1; 3]);
        if (0..3).any(|axis| !launch.grid[axis].is_multiple_of(cluster[axis].max(1))) {
            return wrong(format!(
                "the grid is no multiple of the cluster {cluster:?}"
            ));
        }
        let (constants, shared) = self.place_shared(kernel);
        let shared_bytes = shared + launch.dynamic_shared;
        if shared_bytes > 1 << 24 {
            return wrong(format!("{shared_bytes} bytes of shared memory"));
        }
        Ok(LaunchContext {
            program: &self.program,
            memory: &self.memory,
            approximations: self.approximations.as_deref(),
            kernel,
            constants,
            parameters,
            parameter_bytes: function.parameter_bytes.into(),
            grid: launch.grid,
            block: launch.block,
            cluster,
            shared_bytes,
            dynamic_shared: launch.dynamic_shared,
            options,
            steps: AtomicU64::new(0),
            stop: AtomicBool::new(false),
            heap: AtomicU64::new(0),
            heap_region: self.heap,
        })
    }

    /// Lays out the shared variables that a kernel can reach, and fills their addresses into the constants.
    fn place_shared(&self, kernel: u32) -> (Vec<Vec<Lanes>>, u64) {
        let reachable = self.reachable(kernel);
        let mut offsets = vec![None; self.program.shared.len()];
        let mut end = 0u64;
        let mut dynamic_alignment = 16u64;
        for &index in &reachable {
            for reference in &self.program.functions[index as usize].shared_references {
                let variable = &self.program.shared[reference.variable as usize];
                if variable.dynamic {
                    dynamic_alignment = dynamic_alignment.max(variable.alignment.into());
                } else if offsets[reference.variable as usize].is_none() {
                    let start = end.next_multiple_of(u64::from(variable.alignment.max(1)));
                    offsets[reference.variable as usize] = Some(start);
                    end = start + u64::from(variable.bytes);
                }
            }
        }
        let end = end.next_multiple_of(dynamic_alignment);
        let constants = self
            .program
            .functions
            .iter()
            .map(|function| {
                let mut constants = function.constants.clone();
                for reference in &function.shared_references {
                    let offset = offsets[reference.variable as usize].unwrap_or(end);
                    constants[reference.constant as usize] =
                        [offset.wrapping_add(reference.addend); 32];
                }
                constants
            })
            .collect();
        (constants, end)
    }
}

fn collect(group: Group, report: &mut Report, counters: &mut Counters) {
    report.thread_instructions += group.steps;
    report.output.extend(&group.output);
    for block in group.blocks {
        report.findings.extend(block.checks.findings);
    }
    counters.add(&group.counters);
}

impl LaunchContext<'_> {
    fn groups(&self) -> u64 {
        (0..3)
            .map(|axis| u64::from(self.grid[axis] / self.cluster[axis]))
            .product()
    }

    /// The blocks of a cluster, before their first instruction.
    fn group(&self, number: u64) -> Result<Group, Box<Trap>> {
        let clusters: [u64; 3] =
            std::array::from_fn(|axis| u64::from(self.grid[axis] / self.cluster[axis]));
        let cluster = [
            number % clusters[0],
            number / clusters[0] % clusters[1],
            number / (clusters[0] * clusters[1]),
        ];
        let size: u32 = self.cluster.iter().product();
        let threads: u32 = self.block.iter().product();
        let warps = threads.div_ceil(32);
        let mut group = Group {
            number,
            ..Group::default()
        };
        if self.options.profile {
            group.counters = Counters(
                self.program
                    .functions
                    .iter()
                    .map(|function| vec![InstructionCounters::default(); function.code.len()])
                    .collect(),
            );
        }
        let kernel = &self.program.functions[self.kernel as usize];
        for rank in 0..size {
            let inner = [
                rank % self.cluster[0],
                rank / self.cluster[0] % self.cluster[1],
                rank / (self.cluster[0] * self.cluster[1]),
            ];
            let mut block = Block {
                index: std::array::from_fn(|axis| {
                    cluster[axis] as u32 * self.cluster[axis] + inner[axis]
                }),
                shared: Words::new(self.shared_bytes),
                shared_bytes: self.shared_bytes,
                barriers: vec![Barrier::default(); 16],
                checks: BlockChecks::new(
                    number * u64::from(size) + u64::from(rank),
                    warps as usize,
                    self.shared_bytes,
                    self.options.check_races,
                    self.options.check_uninitialized,
                ),
                ..Block::default()
            };
            for index in 0..warps {
                let count = (threads - index * 32).min(32);
                let live = if count == 32 {
                    u32::MAX
                } else {
                    (1 << count) - 1
                };
                let threads = (0..count)
                    .map(|lane| {
                        let thread = index * 32 + lane;
                        [
                            thread % self.block[0],
                            thread / self.block[0] % self.block[1],
                            thread / (self.block[0] * self.block[1]),
                        ]
                    })
                    .collect();
                let mut warp = Warp {
                    index,
                    live,
                    threads,
                    ..Warp::default()
                };
                let fragment = Fragment {
                    function: self.kernel,
                    pc: 0,
                    mask: live,
                    base: 0,
                    predicate_base: 0,
                    local_base: 0,
                    local_top: kernel.frame_bytes,
                    join: NONE,
                    join_pc: NONE,
                    frames: Vec::new(),
                    state: State::Running,
                };
                let executor = Executor { launch: self };
                if let Err(fault) = executor.enter(&mut warp, &fragment) {
                    return Err(Box::new(Trap::launch(fault.message)));
                }
                warp.fragments.push_back(fragment);
                block.live.push(live);
                block.warps.push(warp);
            }
            group.cluster_arrived.push(vec![0; warps as usize]);
            group.blocks.push(block);
        }
        Ok(group)
    }

    /// Runs one cluster to its end.
    fn run_one(&self, number: u64) -> Result<Group, Box<Trap>> {
        let mut group = self.group(number)?;
        while !self.run_some(&mut group)? {
            // Nothing outside the cluster can change what it waits for, but another launch of the loop costs only steps.
        }
        self.finish(&mut group);
        Ok(group)
    }

    /// Counts a cluster that has ended and frees its registers and shared memory, which nobody needs any more.
    fn finish(&self, group: &mut Group) {
        self.steps
            .fetch_add(group.steps - group.flushed_steps, Relaxed);
        for block in &mut group.blocks {
            block.warps = Vec::new();
            block.shared = Words::default();
        }
        if let Some(progress) = &self.options.progress {
            progress.end(group.blocks.len() as u64);
        }
    }

    /// Runs clusters one after the other. One that only looks at synchronisation variables gives way to the next.
    fn run_in_order(
        &self,
        groups: u64,
        report: &mut Report,
        counters: &mut Counters,
    ) -> Result<(), Box<Trap>> {
        let mut waiting: VecDeque<Group> = VecDeque::new();
        let mut finished: Vec<Group> = Vec::new();
        let mut next = 0;
        while next < groups || !waiting.is_empty() {
            let mut group = if next < groups && waiting.len() < 256 {
                next += 1;
                self.group(next - 1)?
            } else {
                match waiting.pop_front() {
                    Some(group) => group,
                    None => break,
                }
            };
            if self.run_some(&mut group)? {
                self.finish(&mut group);
                finished.push(group);
            } else {
                waiting.push_back(group);
            }
        }
        finished.sort_by_key(|group| group.number);
        if self.options.check_races {
            self.compare_blocks(&mut finished);
        }
        for group in finished {
            collect(group, report, counters);
        }
        Ok(())
    }

    /// Looks for races between blocks.
    fn compare_blocks(&self, groups: &mut [Group]) {
        let executor = Executor { launch: self };
        let mut checks: Vec<&mut BlockChecks> = groups
            .iter_mut()
            .flat_map(|group| group.blocks.iter_mut().map(|block| &mut block.checks))
            .collect();
        BlockChecks::compare_blocks(&mut checks, |word, here, other| {
            let place = |(function, pc): (u32, u32)| {
                let function = &self.program.functions[function as usize];
                let origin = function.origins[pc as usize];
                let starts = &self.program.line_starts;
                let line = starts.partition_point(|&start| start <= origin.span.start) as u32;
                (&function.name, origin, line)
            };
            let ((name, origin, ptx_line), (_, other, other_line)) = (place(here), place(other));
            let region = &self.memory.regions[(word >> 34) as usize].name;
            let offset = (word & ((1 << 34) - 1)) * 4;
            Finding {
                kind: FindingKind::Race,
                message: format!(
                    "`{region}` at offset {offset} is accessed by two blocks, one of which writes it"
                ),
                function: name.clone(),
                span: origin.span,
                ptx_line,
                source: executor.source_line(origin.file, origin.line, origin.column),
                other_ptx_line: Some(other_line),
                other_source: executor.source_line(other.file, other.line, other.column),
                block: [0; 3],
                thread: [0; 3],
            }
        });
    }

    /// Runs a cluster until it is done, which is true, or until all its warps do nothing but poll.
    fn run_some(&self, group: &mut Group) -> Result<bool, Box<Trap>> {
        const ROUNDS: u32 = 64;
        let executor = Executor { launch: self };
        let mut idle_rounds = 0;
        loop {
            let mut all_done = true;
            let mut progress = false;
            let mut polled = false;
            for block in 0..group.blocks.len() {
                for index in 0..group.blocks[block].warps.len() {
                    if group.blocks[block].warps[index].live == 0 {
                        continue;
                    }
                    let before = group.steps;
                    let mut warp = std::mem::take(&mut group.blocks[block].warps[index]);
                    let result = executor.run_warp(&mut warp, group, block);
                    group.blocks[block].warps[index] = warp;
                    match result? {
                        Stop::Done => progress = true,
                        Stop::Yielded { polling: true } => {
                            polled = true;
                            all_done = false;
                        }
                        Stop::Yielded { polling: false } => {
                            progress = true;
                            all_done = false;
                        }
                        Stop::Blocked => {
                            progress |= group.steps != before;
                            all_done = false;
                        }
                    }
                }
            }
            if all_done {
                return Ok(true);
            }
            if progress {
                idle_rounds = 0;
                continue;
            }
            if polled {
                idle_rounds += 1;
                if idle_rounds > ROUNDS {
                    return Ok(false);
                }
                continue;
            }
            self.unblock(group, &executor)?;
        }
    }

    /// Every warp waits. Lanes that wait for their warp may have to run on first; else the launch hangs, and says where.
    fn unblock(&self, group: &mut Group, executor: &Executor<'_>) -> Result<(), Box<Trap>> {
        let mut released = false;
        for block in &mut group.blocks {
            for warp in &mut block.warps {
                if warp.live != 0 {
                    released |= warp.release_oldest_join();
                }
            }
        }
        if released {
            return Ok(());
        }
        for block in 0..group.blocks.len() {
            for warp in &group.blocks[block].warps {
                if let Some(fragment) = warp.fragments.front() {
                    let message = match fragment.state {
                        State::Barrier { number, .. } => {
                            describe_missing(&group.blocks[block], number as usize)
                        }
                        State::Meeting(here) => {
                            executor.describe_waiting(fragment, here, warp, group, block)
                        }
                        State::Cluster { .. } => {
                            "the cluster barrier waits for threads that never arrive".to_string()
                        }
                        State::Running | State::Released => continue,
                    };
                    let fault = Fault::new(TrapKind::DivergentBarrier, message);
                    return Err(executor.place(*fault, warp, fragment, group, block));
                }
            }
        }
        Err(Box::new(Trap::launch("no thread can run")))
    }

    /// Counts by instruction, in the order of the module.
    fn profile(&self, counters: &Counters) -> Vec<InstructionProfile> {
        let executor = Executor { launch: self };
        let mut profile = Vec::new();
        for (function, counts) in self.program.functions.iter().zip(&counters.0) {
            for ((origin, operation), &counters) in
                function.origins.iter().zip(&function.code).zip(counts)
            {
                // Operations that only materialise an address or a special register belong to the next instruction.
                let is_helper = matches!(operation.kind, Kind::FrameAddress { .. });
                if counters.executions == 0 || is_helper {
                    continue;
                }
                profile.push(InstructionProfile {
                    function: function.name.clone(),
                    span: origin.span,
                    ptx_line: self
                        .program
                        .line_starts
                        .partition_point(|&start| start <= origin.span.start)
                        as u32,
                    source: executor.source_line(origin.file, origin.line, origin.column),
                    counters,
                });
            }
        }
        profile
    }
}
