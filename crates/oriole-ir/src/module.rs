//! A module as passes and analyses see it: its target, its variables, its functions and who calls whom.
//!
//! It says what stands outside of functions, and of functions what their headers say. It is made from the syntax tree once
//! (`oriole_translate::module_of`) and shared; [`Environment`](crate::Environment) is what one function is told of it.

use crate::entities::{FunctionId, Global, GlobalVariable};
use crate::graph::{Adjacency, components, postorder};
use crate::variable::{ParameterData, VariableType};
use oriole_collections::{IndexVec, PackedOption};
use oriole_isa::{Limits, Space, Target, WARP};
use oriole_syntax::tree::{FunctionKind, Linkage, Text};
use std::ops::Range;

/// What a name of the module stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GlobalKind {
    /// A variable. All names of a range are one.
    Variable(GlobalVariable),
    /// A function.
    Function(FunctionId),
    /// Another name: for a function of the module, or for one that only a prototype inside a function declares.
    Alias(PackedOption<FunctionId>),
}

/// A [`GlobalKind`] in 32 bits, of which the first two say which it is: a range may declare as many names as the text has bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct PackedGlobal(u32);

impl PackedGlobal {
    const NUMBER: u32 = (1 << 30) - 1;

    fn pack(kind: GlobalKind) -> PackedGlobal {
        let (tag, number) = match kind {
            GlobalKind::Variable(variable) => (0, variable.as_u32()),
            GlobalKind::Function(function) => (1, function.as_u32()),
            GlobalKind::Alias(function) => match function.expand() {
                Some(function) => (2, function.as_u32()),
                None => (3, 0),
            },
        };
        assert!(number <= Self::NUMBER, "more names than a module has");
        PackedGlobal(tag << 30 | number)
    }

    fn unpack(self) -> GlobalKind {
        let number = self.0 & Self::NUMBER;
        match self.0 >> 30 {
            0 => GlobalKind::Variable(GlobalVariable::from_u32(number)),
            1 => GlobalKind::Function(FunctionId::from_u32(number)),
            2 => GlobalKind::Alias(PackedOption::some(FunctionId::from_u32(number))),
            _ => GlobalKind::Alias(PackedOption::none()),
        }
    }
}

/// A variable of the module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GlobalVariableData {
    /// Its name; of a range, what all its names start with.
    pub name: Text,
    /// The state space it lives in; nothing if it is none that instructions name.
    pub space: Option<Space>,
    /// Its type.
    pub variable_type: VariableType,
    /// Whether the module says what it holds at first.
    pub is_initialized: bool,
    /// How far its name is visible.
    pub linkage: Linkage,
}

/// What a kernel says about its launches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LaunchBounds {
    /// Threads of a block in each dimension (`.reqntid`).
    pub required_block: Option<[u32; 3]>,
    /// Most threads of a block, all dimensions together (`.maxntid`).
    pub maximum_threads: Option<u32>,
    /// Blocks that a multiprocessor should hold at least (`.minnctapersm`).
    pub minimum_blocks: Option<u32>,
    /// Most registers of a thread (`.maxnreg`).
    pub maximum_registers: Option<u32>,
    /// Blocks of a cluster in each dimension (`.reqnctapercluster`).
    pub required_cluster: Option<[u32; 3]>,
    /// Most blocks of a cluster (`.maxclusterrank`).
    pub maximum_cluster: Option<u32>,
}

/// The product of dimensions.
fn product(sizes: [u32; 3]) -> u32 {
    sizes.into_iter().fold(1, u32::saturating_mul)
}

impl LaunchBounds {
    /// Nothing said.
    pub const NONE: LaunchBounds = LaunchBounds {
        required_block: None,
        maximum_threads: None,
        minimum_blocks: None,
        maximum_registers: None,
        required_cluster: None,
        maximum_cluster: None,
    };

    /// Threads of a block if `.reqntid` says so, else the most that `.maxntid` allows.
    pub fn threads(&self) -> Option<u32> {
        self.required_block.map(product).or(self.maximum_threads)
    }

    /// Whether a launch with such a block keeps to them.
    pub fn allow(&self, block: [u32; 3]) -> bool {
        let is_few = |most| product(block) <= most;
        self.required_block.is_none_or(|own| own == block)
            && self.maximum_threads.is_none_or(is_few)
    }

    /// The block that is required, else one of as many threads along x, or as many as are allowed if these are fewer.
    pub fn usual_block(&self, threads: u32) -> [u32; 3] {
        let most = self
            .maximum_threads
            .map_or(threads, |most| most.clamp(1, threads));
        self.required_block.unwrap_or([most, 1, 1])
    }

    /// Registers a thread may have at most: 255, or what the bounds leave on a target of these limits.
    pub fn register_limit(&self, limits: Option<&Limits>) -> u32 {
        if let Some(limit) = self.maximum_registers {
            return limit.clamp(16, 255);
        }
        let (Some(threads), Some(limits)) = (self.threads(), limits) else {
            return 255;
        };
        let threads = threads.clamp(1, limits.launch.threads);
        // `ptxas` ignores a number of blocks that no multiprocessor holds, and takes no more warps than one holds.
        let blocks = self
            .minimum_blocks
            .filter(|&blocks| blocks <= limits.blocks)
            .unwrap_or(1)
            .max(1);
        let warps = (threads.div_ceil(WARP) * blocks).min(limits.warps);
        // Warps go to partitions of the register file, whatever block they are of.
        let warps = warps.next_multiple_of(limits.partitions);
        (limits.registers / WARP / warps / 8 * 8).clamp(24, 255)
    }
}

/// A function of the module: what its header says.
#[derive(Clone, Copy, Debug)]
pub struct FunctionData {
    /// Its name.
    pub name: Text,
    /// The name of the module that it is; a prototype and the function it announces have the same.
    pub global: PackedOption<Global>,
    /// Kernel or function.
    pub kind: FunctionKind,
    /// How far its name is visible.
    pub linkage: Linkage,
    /// Whether the module defines it; otherwise this is a prototype.
    pub has_body: bool,
    /// Whether it calls something that the module does not name, or through a register.
    pub calls_unknown: bool,
    first_parameter: u32,
    results: u32,
    parameters: u32,
    bounds: u32,
}

/// A source file that debug information names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DebugFile {
    /// The number that `.loc` has for it.
    pub number: u32,
    /// Its name, in quotation marks.
    pub name: Text,
}

/// Marks functions without launch bounds.
const NO_BOUNDS: u32 = u32::MAX;

/// A module.
#[derive(Clone, Debug)]
pub struct Module {
    /// The architecture, if `.target` names one that is known.
    pub target: Option<Target>,
    /// Its limits, if they are listed.
    pub limits: Option<Limits>,
    /// Whether `.target` asks for code to debug.
    pub is_debug: bool,
    /// Major and minor version of PTX.
    pub version: Option<(u32, u32)>,
    /// Bits of an address.
    pub address_size: u32,
    /// The source files of debug information, in order.
    pub files: Vec<DebugFile>,
    globals: IndexVec<Global, PackedGlobal>,
    variables: IndexVec<GlobalVariable, GlobalVariableData>,
    functions: IndexVec<FunctionId, FunctionData>,
    parameters: Vec<ParameterData>,
    bounds: Vec<LaunchBounds>,
    calls: Adjacency,
}

impl Default for Module {
    fn default() -> Module {
        Module {
            target: None,
            limits: None,
            is_debug: false,
            version: None,
            address_size: 64,
            files: Vec::new(),
            globals: IndexVec::new(),
            variables: IndexVec::new(),
            functions: IndexVec::new(),
            parameters: Vec::new(),
            bounds: Vec::new(),
            calls: Adjacency::new(0, std::iter::empty()),
        }
    }
}

impl Module {
    /// A module for a target that names nothing yet.
    pub fn new(target: Option<Target>, address_size: u32) -> Module {
        Module {
            target,
            limits: target.and_then(Target::limits),
            address_size,
            ..Module::default()
        }
    }

    /// What a name stands for.
    pub fn global(&self, global: Global) -> GlobalKind {
        self.globals[global].unpack()
    }

    /// How many names there are; the bound of their numbers.
    pub fn global_count(&self) -> usize {
        self.globals.len()
    }

    /// All variables.
    pub fn variables(&self) -> &IndexVec<GlobalVariable, GlobalVariableData> {
        &self.variables
    }

    /// The variable that a name stands for, if it is one.
    pub fn variable(&self, global: Global) -> Option<&GlobalVariableData> {
        match self.globals.get(global)?.unpack() {
            GlobalKind::Variable(variable) => self.variables.get(variable),
            GlobalKind::Function(_) | GlobalKind::Alias(_) => None,
        }
    }

    /// All functions, prototypes included.
    pub fn functions(&self) -> &IndexVec<FunctionId, FunctionData> {
        &self.functions
    }

    /// The function that a name stands for, directly or as an alias.
    pub fn function(&self, global: Global) -> Option<FunctionId> {
        match self.globals.get(global)?.unpack() {
            GlobalKind::Function(function) => Some(function),
            GlobalKind::Alias(function) => function.expand(),
            GlobalKind::Variable(_) => None,
        }
    }

    fn parameter_range(&self, function: FunctionId) -> (Range<usize>, Range<usize>) {
        let data = &self.functions[function];
        let first = data.first_parameter as usize;
        let parameters = first + data.results as usize;
        (
            first..parameters,
            parameters..parameters + data.parameters as usize,
        )
    }

    /// The results of a function.
    pub fn results(&self, function: FunctionId) -> &[ParameterData] {
        &self.parameters[self.parameter_range(function).0]
    }

    /// The parameters of a function.
    pub fn parameters(&self, function: FunctionId) -> &[ParameterData] {
        &self.parameters[self.parameter_range(function).1]
    }

    /// What a kernel says about its launches.
    pub fn bounds(&self, function: FunctionId) -> &LaunchBounds {
        let index = self.functions[function].bounds as usize;
        self.bounds.get(index).unwrap_or(&LaunchBounds::NONE)
    }

    /// The functions that a function calls by name, each once, in order of their numbers.
    pub fn callees(&self, function: FunctionId) -> impl Iterator<Item = FunctionId> + '_ {
        let callees = self.calls.of(function.as_u32()).iter();
        callees.map(|&callee| FunctionId::from_u32(callee))
    }

    /// Which functions call each other, directly or not: functions with the same number are in one cycle of calls.
    pub fn call_cycles(&self) -> Vec<u32> {
        components(&self.calls)
    }

    /// All functions, callees before callers; cycles are cut somewhere.
    pub fn bottom_up(&self) -> Vec<FunctionId> {
        let count = self.functions.len() as u32;
        // A root that calls all makes one walk of it.
        let edges = (0..count)
            .flat_map(|from| self.calls.of(from).iter().map(move |&to| (from, to)))
            .chain((0..count).map(|function| (count, function)));
        let whole = Adjacency::new(count as usize + 1, edges);
        let mut order = postorder(&whole, count);
        order.pop();
        order.into_iter().map(FunctionId::from_u32).collect()
    }
}

/// Mentions of a module's names that are no operands of instructions.
#[derive(Clone, Debug, Default)]
pub struct OtherMentions {
    /// In declarations and directives of function bodies.
    pub by_functions: Vec<(FunctionId, Global)>,
    /// In what variables hold at first.
    pub by_variables: Vec<(GlobalVariable, Global)>,
    /// In aliases, debug sections and anything else of the module.
    pub elsewhere: Vec<Global>,
}

/// What the header of a function says, to be entered into a module.
#[derive(Clone, Copy, Debug)]
pub struct Header<'header> {
    /// Its name.
    pub name: Text,
    /// The name of the module that it is.
    pub global: PackedOption<Global>,
    /// Kernel or function.
    pub kind: FunctionKind,
    /// How far its name is visible.
    pub linkage: Linkage,
    /// Whether a body follows.
    pub has_body: bool,
    /// Its results.
    pub results: &'header [ParameterData],
    /// Its parameters.
    pub parameters: &'header [ParameterData],
    /// What it says about launches.
    pub bounds: LaunchBounds,
}

/// Makes modules: names first, then functions in order, then calls.
#[derive(Debug, Default)]
pub struct ModuleBuilder {
    module: Module,
    calls: Vec<(u32, u32)>,
}

impl ModuleBuilder {
    /// Starts with a module that names nothing.
    pub fn new(module: Module) -> ModuleBuilder {
        ModuleBuilder {
            module,
            calls: Vec::new(),
        }
    }

    /// The module so far.
    pub fn module(&self) -> &Module {
        &self.module
    }

    /// Makes room for so many names and functions, and no more.
    pub fn reserve(&mut self, globals: usize, functions: usize) {
        self.module.globals.reserve_exact(globals);
        self.module.functions.reserve_exact(functions);
    }

    /// Adds a variable.
    pub fn add_variable(&mut self, data: GlobalVariableData) -> GlobalVariable {
        self.module.variables.push(data)
    }

    /// Adds a name.
    pub fn add_global(&mut self, kind: GlobalKind) -> Global {
        self.module.globals.push(PackedGlobal::pack(kind))
    }

    /// Adds a function.
    pub fn add_function(&mut self, header: &Header<'_>) -> FunctionId {
        let module = &mut self.module;
        let first_parameter = module.parameters.len() as u32;
        module.parameters.extend_from_slice(header.results);
        module.parameters.extend_from_slice(header.parameters);
        let mut bounds = NO_BOUNDS;
        if header.bounds != LaunchBounds::NONE {
            bounds = module.bounds.len() as u32;
            module.bounds.push(header.bounds);
        }
        module.functions.push(FunctionData {
            name: header.name,
            global: header.global,
            kind: header.kind,
            linkage: header.linkage,
            has_body: header.has_body,
            calls_unknown: false,
            first_parameter,
            results: header.results.len() as u32,
            parameters: header.parameters.len() as u32,
            bounds,
        })
    }

    /// Says that a function calls another; nothing for one that nobody can tell.
    pub fn add_call(&mut self, caller: FunctionId, callee: Option<FunctionId>) {
        match callee {
            Some(callee) => self.calls.push((caller.as_u32(), callee.as_u32())),
            None => self.module.functions[caller].calls_unknown = true,
        }
    }

    /// The module.
    pub fn finish(mut self) -> Module {
        self.calls.sort_unstable();
        self.calls.dedup();
        let count = self.module.functions.len();
        self.module.calls = Adjacency::new(count, self.calls.iter().copied());
        self.module
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn module_with(functions: usize, calls: &[(u32, u32)]) -> Module {
        let mut builder = ModuleBuilder::default();
        for _ in 0..functions {
            builder.add_function(&Header {
                name: Text::default(),
                global: PackedOption::none(),
                kind: FunctionKind::Function,
                linkage: Linkage::Internal,
                has_body: true,
                results: &[],
                parameters: &[],
                bounds: LaunchBounds::NONE,
            });
        }
        for &(caller, callee) in calls {
            let callee = Some(FunctionId::from_u32(callee));
            builder.add_call(FunctionId::from_u32(caller), callee);
        }
        builder.finish()
    }

    #[test]
    fn callees_come_before_callers() {
        let module = module_with(5, &[(0, 3), (3, 1), (0, 3), (4, 0), (2, 2)]);
        let order = module.bottom_up();
        assert_eq!(order.len(), 5);
        let place = |number: u32| {
            let function = FunctionId::from_u32(number);
            order.iter().position(|&own| own == function).unwrap()
        };
        assert!(place(1) < place(3) && place(3) < place(0) && place(0) < place(4));
        let callees: Vec<u32> = module
            .callees(FunctionId::from_u32(0))
            .map(FunctionId::as_u32)
            .collect();
        assert_eq!(callees, [3], "each once");
        let cycles = module_with(3, &[(0, 1), (1, 0), (1, 2)]).call_cycles();
        assert!(cycles[0] == cycles[1] && cycles[1] != cycles[2]);
    }

    #[test]
    fn what_a_name_stands_for_is_packed() {
        let function = FunctionId::from_u32(7);
        for kind in [
            GlobalKind::Variable(GlobalVariable::from_u32(PackedGlobal::NUMBER)),
            GlobalKind::Function(function),
            GlobalKind::Alias(PackedOption::some(function)),
            GlobalKind::Alias(PackedOption::none()),
        ] {
            assert_eq!(PackedGlobal::pack(kind).unpack(), kind);
        }
    }

    #[test]
    fn bounds_leave_registers() {
        let bounds = |threads, blocks| LaunchBounds {
            maximum_threads: threads,
            minimum_blocks: blocks,
            ..LaunchBounds::NONE
        };
        let on = |target, bounds: LaunchBounds| {
            let limits = Target::from_text(target).and_then(Target::limits);
            bounds.register_limit(limits.as_ref())
        };
        assert_eq!(on("sm_80", LaunchBounds::NONE), 255);
        assert_eq!(on("sm_80", bounds(None, Some(2))), 255);
        assert_eq!(on("sm_80", bounds(Some(256), None)), 255);
        assert_eq!(on("sm_80", bounds(Some(1024), None)), 64);
        assert_eq!(on("sm_80", bounds(Some(256), Some(4))), 64);
        // What `ptxas` gives a kernel that needs more: by warps of all blocks together.
        assert_eq!(on("sm_80", bounds(Some(96), Some(11))), 56);
        assert_eq!(on("sm_80", bounds(Some(160), Some(6))), 64);
        assert_eq!(on("sm_80", bounds(Some(16), Some(32))), 64);
        assert_eq!(on("sm_80", bounds(Some(288), None)), 168);
        // More blocks than a multiprocessor holds are ignored, more warps are taken for as many as it holds.
        assert_eq!(on("sm_80", bounds(Some(16), Some(33))), 255);
        assert_eq!(on("sm_89", bounds(Some(16), Some(24))), 80);
        assert_eq!(on("sm_89", bounds(Some(16), Some(25))), 255);
        for (target, blocks, registers) in [("sm_80", 5, 32), ("sm_89", 4, 40), ("sm_75", 3, 64)] {
            assert_eq!(
                on(target, bounds(Some(512), Some(blocks))),
                registers,
                "{target}"
            );
        }
        // Nothing is known of other targets but what instructions can name.
        assert_eq!(on("sm_999", bounds(Some(1024), None)), 255);
        let fixed = LaunchBounds {
            maximum_registers: Some(40),
            required_block: Some([32, 32, 1]),
            ..LaunchBounds::NONE
        };
        assert_eq!((on("sm_999", fixed), fixed.threads()), (40, Some(1024)));
    }
}
