//! The machine: a decoded module, its memory, and launches.

use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use oriole_diagnostics::{Error, Source};
use oriole_isa::{LaunchLimits, ReductionOperation, Space};
use oriole_syntax::tree::Module;

use crate::approximations::Approximations;
use crate::arguments::Argument;
use crate::decode::{Program, decode_module};
use crate::launch::LaunchContext;
use crate::limits;
use crate::memory::{GlobalMemory, Region, Words};
use crate::options::{Buffer, Launch, Options, Signature, Value};
use crate::program::{Function, Lanes, NONE, Special};
use crate::report::Report;
use crate::trap::Trap;

/// How a module is made ready to run.
#[derive(Clone, Debug)]
pub struct MachineOptions {
    /// Results that approximate instructions give. What is not recorded is approximated and noted in
    /// [`Approximations::missing`].
    pub approximations: Option<Arc<Approximations>>,
    /// The most bytes that the variables of the module may take.
    pub memory_limit: u64,
    /// Larger limits of launches than the module's target has.
    pub launch: Option<LaunchLimits>,
}

impl Default for MachineOptions {
    fn default() -> MachineOptions {
        MachineOptions {
            approximations: None,
            memory_limit: limits::MEMORY,
            launch: None,
        }
    }
}

/// A module ready to run, with its memory.
#[derive(Debug)]
pub struct Machine {
    program: Arc<Program>,
    memory: GlobalMemory,
    heap: Option<usize>,
    approximations: Option<Arc<Approximations>>,
}

impl Machine {
    /// Decodes a module.
    ///
    /// # Errors
    /// Names that cannot be resolved, initial values that cannot be computed and variables that are too large. Instructions
    /// that are not emulated are no error until they are executed.
    pub fn new(module: &Module) -> Result<Machine, Error> {
        Machine::with_options(module, &MachineOptions::default())
    }

    /// Decodes a module whose approximate instructions give recorded results.
    ///
    /// # Errors
    /// As [`Machine::new`].
    pub fn with_approximations(
        module: &Module,
        approximations: &Arc<Approximations>,
    ) -> Result<Machine, Error> {
        let options = MachineOptions {
            approximations: Some(approximations.clone()),
            ..MachineOptions::default()
        };
        Machine::with_options(module, &options)
    }

    /// Decodes a module as the options say.
    ///
    /// # Errors
    /// As [`Machine::new`].
    pub fn with_options(module: &Module, options: &MachineOptions) -> Result<Machine, Error> {
        let mut program = decode_module(
            module,
            options.approximations.as_deref(),
            options.memory_limit,
        )
        .map_err(|errors| Error::new(&Source::new(module.name(), module.source()), errors))?;
        if let (Some(limits), Some(launch)) = (&mut program.limits, options.launch) {
            limits.launch = limits.launch.or_more(launch);
        }
        let memory = program.memory.clone();
        Ok(Machine {
            program: Arc::new(program),
            memory,
            heap: None,
            approximations: options.approximations.clone(),
        })
    }

    /// A machine with the same module and nothing in its memory but the initial values. The module is not decoded again.
    #[must_use]
    pub fn fresh(&self) -> Machine {
        Machine {
            program: self.program.clone(),
            memory: self.program.memory.clone(),
            heap: None,
            approximations: self.approximations.clone(),
        }
    }

    /// The machine as ptxas would have the module by default: multiplications and additions without a rounding are fused
    /// where one feeds the other. PTX allows it and GPUs therefore do it; [`Machine::new`] executes what is written.
    #[must_use]
    pub fn contracted(mut self) -> Machine {
        for function in &mut Arc::make_mut(&mut self.program).functions {
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

    /// The limits of launches.
    pub fn launch_limits(&self) -> LaunchLimits {
        limits::launch(self.program.limits.as_ref())
    }

    /// What a kernel asks of a launch.
    pub fn signature(&self, kernel: &str) -> Option<Signature> {
        let &index = self.program.kernels.get(kernel)?;
        let function = &self.program.functions[index as usize];
        Some(Signature {
            parameters: function
                .parameters
                .iter()
                .map(|parameter| (parameter.name.to_string(), parameter.bytes as usize))
                .collect(),
            types: function
                .parameters
                .iter()
                .map(|parameter| parameter.type_text.clone())
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
        let &index = self.program.variables.get(name)?;
        Some(self.memory.regions[index].read_bytes())
    }

    /// Replaces the contents of a variable of the module.
    ///
    /// # Errors
    /// A sentence, when there is no such variable or it has another size.
    pub fn write_variable(&mut self, name: &str, contents: &[u8]) -> Result<(), String> {
        let &index = self
            .program
            .variables
            .get(name)
            .ok_or_else(|| format!("no variable `{name}`"))?;
        let region = &self.memory.regions[index];
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
        self.arguments_and_buffers(arguments).0
    }

    /// As [`Machine::arguments`], with all buffers by name, those of structures as `structure.member`.
    pub fn arguments_and_buffers(
        &mut self,
        arguments: &[Argument],
    ) -> (Vec<Value>, Vec<(String, Buffer)>) {
        let mut buffers = Vec::new();
        let mut values = Vec::new();
        for argument in arguments {
            if argument.is_buffer() {
                let buffer = self.buffer(argument.name.clone(), &argument.data);
                buffers.push((argument.name.clone(), buffer));
                values.push(Value::Buffer(buffer));
                continue;
            }
            let mut data = argument.data.clone();
            for (offset, member) in &argument.members {
                let buffer = self.buffer(member.name.clone(), &member.data);
                data[*offset..*offset + 8].copy_from_slice(&self.address(buffer).to_le_bytes());
                buffers.push((member.name.clone(), buffer));
            }
            values.push(Value::Bytes(data));
        }
        (values, buffers)
    }

    /// Runs a kernel to its end.
    ///
    /// # Errors
    /// The trap that ended it. Buffers then hold what had been written.
    pub fn launch(&mut self, launch: &Launch<'_>, options: &Options) -> Result<Report, Box<Trap>> {
        let kernel = self.find_kernel(launch.kernel)?;
        if self.heap.is_none() && self.mentions_malloc() {
            self.memory.add(Region::new_heap(options.heap_bytes));
            self.heap = Some(self.memory.regions.len() - 1);
        }
        let context = self.context(kernel, launch, options)?;
        if let Some(progress) = &options.progress {
            progress.begin(launch.grid.iter().map(|&size| u64::from(size)).product());
        }
        context.run(options.parallel && !options.check_races && self.blocks_commute(kernel))
    }

    fn find_kernel(&self, name: &str) -> Result<u32, Box<Trap>> {
        let kernels = &self.program.kernels;
        let found = if name == "*" && kernels.len() == 1 {
            kernels.values_unordered().next()
        } else {
            kernels.get(name)
        };
        found.copied().ok_or_else(|| {
            const SHOWN: usize = 20;
            let mut names = self.kernels().take(SHOWN).collect::<Vec<_>>().join(", ");
            if kernels.len() > SHOWN {
                names += &format!(" and {} others", kernels.len() - SHOWN);
            }
            let what = match name {
                _ if kernels.is_empty() => "the module has no kernel".to_string(),
                "*" => format!("the module has several kernels: {names}"),
                _ => format!("no kernel `{name}`; the module has {names}"),
            };
            Box::new(Trap::launch(what))
        })
    }

    fn mentions_malloc(&self) -> bool {
        self.program
            .functions
            .iter()
            .any(|function| !function.has_body && matches!(&function.name[..], "malloc" | "free"))
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
                .all(|access| access.order.is_none() || access.space == Space::Shared);
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
        let most = self.launch_limits();
        check_shape(function, launch, &most)?;
        let parameters = parameter_bytes(function, launch)?;
        let cluster = function.cluster.unwrap_or([1; 3]);
        if limits::product(cluster, most.cluster.into()).is_none_or(|blocks| blocks == 0) {
            return wrong(format!(
                "clusters of {cluster:?} blocks; at most {} are possible",
                most.cluster
            ));
        }
        if (0..3).any(|axis| !launch.grid[axis].is_multiple_of(cluster[axis])) {
            return wrong(format!(
                "the grid is no multiple of the cluster {cluster:?}"
            ));
        }
        let reachable = self.reachable(kernel);
        let (constants, shared) = self.place_shared(&reachable);
        let most = limits::static_shared_memory(self.program.limits.as_ref());
        if shared > most {
            return wrong(format!(
                "`{}` has {shared} bytes of shared variables; at most {most} are possible",
                function.name
            ));
        }
        let most = limits::shared_memory(self.program.limits.as_ref());
        let shared_bytes = shared.saturating_add(launch.dynamic_shared);
        if shared_bytes > most {
            return wrong(format!(
                "{shared_bytes} bytes of shared memory; a block of `{}` has at most {most}",
                self.program.target
            ));
        }
        let used = self.memory.total_bytes();
        if used > options.memory_limit {
            return wrong(format!(
                "buffers and variables of {used} bytes; the limit is {}",
                options.memory_limit
            ));
        }
        let mut context = LaunchContext {
            program: &self.program,
            memory: &self.memory,
            approximations: self.approximations.as_deref(),
            kernel,
            constants,
            reachable,
            parameters,
            parameter_bytes: function.parameter_bytes.into(),
            grid: launch.grid,
            block: launch.block,
            cluster,
            shared_bytes,
            dynamic_shared: launch.dynamic_shared,
            options,
            deadline: options
                .time_limit
                .and_then(|limit| Instant::now().checked_add(limit)),
            groups_in_flight: 1,
            warp_bytes: 0,
            steps: AtomicU64::new(0),
            stop: AtomicBool::new(false),
            heap_region: self.heap,
            counters: Mutex::new(Vec::new()),
        };
        context.share_memory(options.memory_limit - used)?;
        Ok(context)
    }

    /// Lays out the shared variables of functions, and fills their addresses into the functions' constants.
    fn place_shared(&self, reachable: &[u32]) -> (Vec<Vec<Lanes>>, u64) {
        let mut offsets = vec![None; self.program.shared.len()];
        let mut end = 0u64;
        let mut dynamic_alignment = 16u64;
        for &index in reachable {
            for reference in &self.program.functions[index as usize].shared_references {
                let variable = &self.program.shared[reference.variable as usize];
                if variable.dynamic {
                    dynamic_alignment = dynamic_alignment.max(variable.alignment.into());
                } else if offsets[reference.variable as usize].is_none() {
                    let start = end
                        .checked_next_multiple_of(u64::from(variable.alignment.max(1)))
                        .unwrap_or(u64::MAX);
                    offsets[reference.variable as usize] = Some(start);
                    end = start.saturating_add(variable.bytes);
                }
            }
        }
        let end = end
            .checked_next_multiple_of(dynamic_alignment)
            .unwrap_or(u64::MAX);
        let mut constants = vec![Vec::new(); self.program.functions.len()];
        for &index in reachable {
            let function = &self.program.functions[index as usize];
            let mut own = function.constants.clone();
            for reference in &function.shared_references {
                let offset = offsets[reference.variable as usize].unwrap_or(end);
                own[reference.constant as usize] = [offset.wrapping_add(reference.addend); 32];
            }
            constants[index as usize] = own;
        }
        (constants, end)
    }
}

/// Whether a kernel can be launched with blocks and a grid like these, and so many arguments.
fn check_shape(
    function: &Function,
    launch: &Launch<'_>,
    most: &LaunchLimits,
) -> Result<(), Box<Trap>> {
    let wrong = |message: String| Err(Box::new(Trap::launch(message)));
    let Some(threads) = limits::product(launch.block, most.threads.into()) else {
        return wrong(format!(
            "a block of {:?} threads; at most {} are possible",
            launch.block, most.threads
        ));
    };
    if launch.grid.contains(&0) || threads == 0 {
        return wrong("a launch needs at least one thread".to_string());
    }
    for axis in 0..3 {
        if launch.block[axis] > most.block[axis] || launch.grid[axis] > most.grid[axis] {
            return wrong(format!(
                "blocks of {:?} threads and grids of {:?} blocks are possible, {:?} and {:?} were asked for",
                most.block, most.grid, launch.block, launch.grid
            ));
        }
    }
    if limits::product(launch.grid, u64::MAX).is_none() {
        return wrong(format!("a grid of {:?} blocks has too many", launch.grid));
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
        let allowed = limits::product(maximum, u64::MAX).unwrap_or(u64::MAX);
        if threads > allowed {
            return wrong(format!(
                "`{}` allows blocks of {allowed} threads, {threads} were asked for",
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
    if function.parameter_bytes > most.parameter_bytes {
        return wrong(format!(
            "`{}` has {} bytes of parameters; at most {} are possible",
            function.name, function.parameter_bytes, most.parameter_bytes
        ));
    }
    Ok(())
}

/// The arguments of a launch as the kernel's parameters.
fn parameter_bytes(function: &Function, launch: &Launch<'_>) -> Result<Words, Box<Trap>> {
    let wrong = |message: String| Err(Box::new(Trap::launch(message)));
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
    Ok(parameters)
}
