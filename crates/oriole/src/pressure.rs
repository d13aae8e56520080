//! Register pressure, predicted registers and occupancy of functions.

use crate::blocks;
use crate::evolution::translated_or_noted;
use crate::machine::Properties;
use crate::targets::{target_of, unlisted_target};
use crate::{Diagnostic, Error, Module, Source, error_of};
use oriole_analysis::Analyses;
use oriole_analysis::launch::occupancy::Demand;
use oriole_analysis::launch::{DEFAULT_THREADS, Resources};
use oriole_analysis::liveness::{
    LiveIntervals, Moment, Place, Pressure, Program, RegisterFile, Registers,
};
use oriole_analysis::register_model::features::{Summary, features_of};
use oriole_analysis::register_model::prediction::predict;
use oriole_analysis::source_lines::{SourceFiles, SourceLines};
use oriole_ir::{Formats, FunctionId, LaunchBounds};
use oriole_syntax::scopes::{Globals, Scopes};
use oriole_syntax::tree::Statement;
use std::collections::BTreeMap;

pub use oriole_analysis::launch::occupancy::{Cliff, Cliffs, Limiter, Occupancy};
pub use oriole_analysis::launch::{DynamicShared, Resources as LaunchResources};
pub use oriole_analysis::register_model::prediction::Prediction;
pub use oriole_analysis::source_lines::SourceLine;
pub use oriole_isa::Target;
pub use oriole_syntax::tree::FunctionKind;

/// What to compute occupancy for.
#[derive(Clone, Debug, Default)]
pub struct PressureOptions {
    /// The shapes of blocks; without one that of each kernel's directives, else 256 threads.
    pub blocks: Vec<[u32; 3]>,
    /// Bytes of shared memory that the launch adds, if that is known.
    pub shared: Option<u32>,
    /// The architecture; without one that of the module, else sm_80.
    pub target: Option<Target>,
    /// What `ptxas` says of the functions, if it was asked.
    pub assembled: Vec<Properties>,
}

/// A place in the PTX and, where known, in the source.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PtxPlace {
    /// The line of the PTX, from 1.
    pub ptx: u32,
    /// The line of the source.
    pub source: Option<SourceLine>,
}

impl std::fmt::Display for PtxPlace {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.source {
            Some(source) => write!(formatter, "{source}"),
            None => write!(formatter, "PTX line {}", self.ptx),
        }
    }
}

/// The origin of the value of a register.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RegisterOrigin {
    /// An instruction.
    Instruction(PtxPlace),
    /// The caller: it is a parameter of the function.
    Parameter,
    /// Several instructions.
    Several,
    /// Nothing writes it.
    Never,
}

/// A register that is live where pressure is highest, or that is read though nothing writes it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct LiveRegister {
    /// Its name.
    pub name: String,
    /// Registers of 32 bits that it takes.
    pub units: u32,
    /// Its width.
    pub bits: u32,
    /// The origin of its value.
    pub origin: RegisterOrigin,
    /// Where it is read next; nothing if that is by the next iteration of a loop.
    pub next_use: Option<PtxPlace>,
    /// Instructions until the next use.
    pub distance: u32,
    /// Whether it can be computed again where it is needed, from nothing that has to be kept for it.
    pub rematerializable: bool,
}

/// A block shape and what it gives.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ShapeOccupancy {
    /// Threads of a block.
    pub threads: [u32; 3],
    /// The shared memory that the launch adds.
    pub dynamic_shared: DynamicShared,
    /// What a multiprocessor holds of such blocks, without shared memory of an unknown size.
    pub occupancy: Occupancy,
    /// The next steps up and down.
    pub cliffs: Cliffs,
    /// Values that, shortened or computed again, would make the next block fit.
    pub helpful: Vec<String>,
}

/// What stands on a line of the source.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LinePressure {
    /// The line.
    pub line: SourceLine,
    /// PTX instructions that come from it.
    pub instructions: u32,
    /// The most data registers that are live at one of them.
    pub peak: u32,
}

/// The pressure in a function.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct FunctionPressure {
    /// Its name.
    pub name: String,
    /// Kernel or function.
    pub kind: FunctionKind,
    /// The architecture it is for.
    pub target: Target,
    /// PTX instructions.
    pub instructions: usize,
    /// The most data registers of 32 bits that are live at once.
    pub data_peak: u32,
    /// The most predicates that are live at once.
    pub predicate_peak: u32,
    /// Where the most data registers are live.
    pub peak: Option<PtxPlace>,
    /// What is live there, needed last first.
    pub live: Vec<LiveRegister>,
    /// Registers that are read though nothing writes them. They take no room.
    pub undefined: Vec<LiveRegister>,
    /// Data registers that are live at each instruction.
    pub along: Vec<u32>,
    /// The line of the PTX of each instruction.
    pub ptx_lines: Vec<u32>,
    /// Totals of the lines of the source, in order of file and line.
    pub lines: Vec<LinePressure>,
    /// Which of these each instruction comes from.
    pub source_lines: Vec<Option<u32>>,
    /// How many registers `ptxas` is expected to use.
    pub prediction: Prediction,
    /// What it says, if it was asked.
    pub assembled: Option<Properties>,
    /// Shared and local memory, barriers and launch bounds.
    pub resources: Resources,
    /// The occupancy of each shape that was asked for; none if the limits of the target are not known.
    pub shapes: Vec<ShapeOccupancy>,
}

impl FunctionPressure {
    /// Registers of a thread: what `ptxas` says, else what is predicted.
    pub fn registers(&self) -> u32 {
        let said = self.assembled.as_ref().and_then(|own| own.registers);
        said.unwrap_or(self.prediction.best)
    }

    /// Bytes that are spilled, stores and loads; 0 if `ptxas` was not asked.
    pub fn spills(&self) -> u32 {
        self.assembled
            .as_ref()
            .map_or(0, |own| own.spill_stores.saturating_add(own.spill_loads))
    }
}

/// Measures all functions of a module; with notes about those whose control flow cannot be told, which are left out.
///
/// ```
/// use oriole::pressure::{PressureOptions, pressure};
///
/// let module = oriole::parse("example.ptx", oriole::EXAMPLE)?;
/// for function in pressure(&module, &PressureOptions::default())?.0 {
///     let occupancy = &function.shapes[0].occupancy;
///     println!("{}: {} registers, {} %", function.name, function.registers(), occupancy.percent());
/// }
/// # Ok::<(), oriole::Error>(())
/// ```
///
/// # Errors
/// What is wrong with the module's names.
pub fn pressure(
    module: &Module,
    options: &PressureOptions,
) -> Result<(Vec<FunctionPressure>, Vec<Diagnostic>), Error> {
    pressure_of(module, options).map_err(|errors| error_of(module, errors))
}

fn pressure_of(
    module: &Module,
    options: &PressureOptions,
) -> Result<(Vec<FunctionPressure>, Vec<Diagnostic>), Vec<Diagnostic>> {
    let (globals, errors) = Globals::of(module);
    if !errors.is_empty() {
        return Err(errors);
    }
    let target = options.target.unwrap_or_else(|| target_of(module));
    measure_all(module, &globals, options, target)
}

fn measure_all(
    module: &Module,
    globals: &Globals,
    options: &PressureOptions,
    target: Target,
) -> Result<(Vec<FunctionPressure>, Vec<Diagnostic>), Vec<Diagnostic>> {
    let source = &Source::new(module.name(), module.source());
    let mut assembled = options.assembled.clone();
    let mut outside = oriole_translate::module_of(module, globals);
    outside.limits = target.limits();
    let mut notes = Vec::from_iter(unlisted_target(module, options.target));
    for &block in &options.blocks {
        notes.extend(blocks::check(module, &outside, Some(block), |_| true)?);
    }
    let mut formats = Formats::new();
    let mut measuring = Measuring::default();
    for (index, function) in module.functions.iter().enumerate() {
        if function.body.is_none() {
            continue;
        }
        // Where it cannot be told where control goes, nothing can be said of a function.
        let Some(translated) =
            translated_or_noted(module, globals, index, &mut formats, &mut notes)?
        else {
            continue;
        };
        let ssa = translated.function;
        let analyses = &mut Analyses::new();
        measuring.add(module, &outside, index, translated.scopes, &ssa, analyses);
        formats = ssa.into_formats();
    }
    let mut reports = Vec::new();
    let files = SourceFiles::of(&outside, module);
    let mut measured = measuring.predictions(module, &outside, target, |_| true);
    for (index, function) in module.functions.iter().enumerate() {
        let Some((prediction, resources)) = measured[index].take() else {
            continue;
        };
        let Some((scopes, registers)) = measuring.part(index) else {
            continue;
        };
        let mut one = measure(
            module, function, scopes, registers, source, &files, prediction,
        );
        one.resources = resources;
        let own = assembled
            .iter()
            .position(|assembled| assembled.registers.is_some() && assembled.name == one.name);
        one.assembled = own.map(|place| assembled.swap_remove(place));
        one.target = target;
        let bounds = outside.bounds(FunctionId::from_index(index));
        one.shapes = shapes(options, bounds, target, &one);
        reports.push(one);
    }
    Ok((reports, notes))
}

/// What the registers of functions are predicted from, function by function.
#[derive(Default)]
pub(crate) struct Measuring {
    /// By function.
    parts: Vec<Option<(Scopes, Registers)>>,
    summaries: Vec<Option<Summary>>,
    formats: Formats,
}

impl Measuring {
    /// Adds the function of this number, in SSA form as it was translated, with its names and with analyses in no environment.
    pub(crate) fn add(
        &mut self,
        module: &Module,
        outside: &oriole_ir::Module,
        index: usize,
        scopes: Scopes,
        function: &oriole_ir::Function,
        analyses: &mut Analyses,
    ) {
        let Some(body) = &module.functions[index].body else {
            return;
        };
        let registers =
            Registers::of_translated(module, body, &scopes, &mut self.formats, function);
        let id = FunctionId::from_index(index);
        let summary = Summary::with(outside, id, &registers, function, analyses);
        if self.parts.len() <= index {
            self.parts.resize_with(index + 1, || None);
            self.summaries.resize_with(index + 1, || None);
        }
        self.parts[index] = Some((scopes, registers));
        self.summaries[index] = Some(summary);
    }

    /// The names and registers of a function that was added.
    pub(crate) fn part(&self, index: usize) -> Option<&(Scopes, Registers)> {
        self.parts.get(index)?.as_ref()
    }

    /// The registers that a function that was added needs in the best of all orders of its instructions, without what it calls and what lies in
    /// uniform registers.
    pub(crate) fn least_registers(&self, index: usize) -> Option<u32> {
        let summary = self.summaries.get(index)?.as_ref()?;
        Some(summary.least_registers())
    }

    /// Of each function of the module that was added and is wanted, by number, the registers `ptxas` is expected to use, and what else it
    /// needs.
    pub(crate) fn predictions(
        &mut self,
        module: &Module,
        outside: &oriole_ir::Module,
        target: Target,
        is_wanted: impl Fn(usize) -> bool,
    ) -> Vec<Option<(Prediction, Resources)>> {
        self.parts.resize_with(module.functions.len(), || None);
        self.summaries.resize_with(module.functions.len(), || None);
        let features = features_of(outside, &self.summaries, target, &is_wanted);
        let parts = self.parts.iter();
        let scopes: Vec<Option<&Scopes>> = parts
            .map(|part| part.as_ref().map(|part| &part.0))
            .collect();
        let resources = Resources::of(outside, module, &self.summaries, &scopes);
        let of_function = |(features, resources): (Option<_>, Option<Resources>)| {
            let features = features?;
            Some((predict(&features), resources.unwrap_or_default()))
        };
        let functions = features.into_iter().zip(resources);
        functions.map(of_function).collect()
    }
}

/// What the registers of the tree say.
fn measure(
    module: &Module,
    function: &oriole_syntax::tree::Function,
    scopes: &Scopes,
    registers: &Registers,
    source: &Source<'_>,
    files: &SourceFiles,
    prediction: Prediction,
) -> FunctionPressure {
    let body = function.body.as_ref().expect("only bodies are measured");
    let intervals = LiveIntervals::of(registers);
    let pressure = Pressure::of(registers, &intervals);
    let lines = SourceLines::of(module, files, body);
    let ptx_line = |instruction: u32| {
        let statement = registers.statement(instruction);
        let offset = match &body.statements[statement as usize] {
            Statement::Instruction(own) => own.mnemonic.span().start,
            _ => 0,
        };
        source.position(offset).line
    };
    let place = |instruction: u32| PtxPlace {
        ptx: ptx_line(instruction),
        source: lines.at(registers.statement(instruction)),
    };
    let (totals, source_lines) = totals(registers, &lines, pressure.along(RegisterFile::Data));
    let peak = pressure.peak(RegisterFile::Data);
    let slots = intervals.slots();
    let mut live = Vec::new();
    if let Some(at) = peak.instruction {
        let uses = next_uses(registers, at, peak.slot.moment() == Moment::Register);
        for entity in Pressure::live_at(registers, &intervals, RegisterFile::Data, peak.slot) {
            let segment = intervals
                .segment_at(entity, peak.slot)
                .expect("live where pressure is highest");
            let value = intervals.values(entity)[segment.value as usize];
            let defining = match slots.place(value.definition.at(Moment::Block)) {
                Some(Place::Instruction(instruction)) => Some(instruction),
                _ => None,
            };
            let next = uses[entity as usize];
            let register = &scopes.registers[entity as usize];
            live.push(LiveRegister {
                name: module.text(register.name).to_owned(),
                units: registers.units(entity),
                bits: registers.units(entity) * 32,
                origin: match defining {
                    Some(instruction) => RegisterOrigin::Instruction(place(instruction)),
                    // Parameters are defined where the entry begins.
                    None if register.in_header && value.definition == slots.start(0) => {
                        RegisterOrigin::Parameter
                    }
                    None => RegisterOrigin::Several,
                },
                next_use: next.map(place),
                distance: next.map_or(u32::MAX, |next| next - at),
                rematerializable: defining.is_some_and(|instruction| {
                    is_rematerializable(module, body, registers, instruction)
                }),
            });
        }
        live.sort_by(|a, b| {
            b.distance
                .cmp(&a.distance)
                .then_with(|| a.name.cmp(&b.name))
        });
    }
    FunctionPressure {
        name: module.text(function.name).to_owned(),
        kind: function.kind,
        instructions: registers.instruction_count(),
        data_peak: peak.units,
        predicate_peak: pressure.peak(RegisterFile::Predicate).units,
        peak: peak.instruction.map(place),
        live,
        undefined: never_defined(module, scopes, registers, peak.instruction, place),
        ptx_lines: (0..registers.instruction_count() as u32)
            .map(ptx_line)
            .collect(),
        lines: totals,
        source_lines,
        along: pressure.along(RegisterFile::Data).to_vec(),
        target: Target::new(8, 0),
        prediction,
        assembled: None,
        resources: Resources::default(),
        shapes: Vec::new(),
    }
}

/// The registers that are read though nothing writes them. Those that are read after the peak come first.
fn never_defined(
    module: &Module,
    scopes: &Scopes,
    registers: &Registers,
    peak: Option<u32>,
    place: impl Fn(u32) -> PtxPlace,
) -> Vec<LiveRegister> {
    let mut is_defined = vec![false; registers.entity_count()];
    for instruction in 0..registers.instruction_count() as u32 {
        let accesses = registers.accesses(instruction).iter();
        for access in accesses.filter(|access| access.defines()) {
            is_defined[access.entity() as usize] = true;
        }
    }
    let peak = peak.unwrap_or(0);
    let (before, behind): (Vec<_>, Vec<_>) = registers
        .undefined_reads()
        .iter()
        .partition(|read| read.0 < peak);
    let mut found = Vec::new();
    for (instruction, entity) in behind.into_iter().chain(before) {
        if std::mem::replace(&mut is_defined[entity as usize], true) {
            continue;
        }
        found.push(LiveRegister {
            name: module
                .text(scopes.registers[entity as usize].name)
                .to_owned(),
            units: 0,
            bits: match registers.file(entity) {
                RegisterFile::Data => registers.units(entity) * 32,
                RegisterFile::Predicate => 1,
            },
            origin: RegisterOrigin::Never,
            next_use: Some(place(instruction)),
            distance: instruction.abs_diff(peak),
            rematerializable: false,
        });
    }
    found
}

/// For each register the next instruction in order of the text that reads it, from an instruction on or behind it.
fn next_uses(registers: &Registers, from: u32, behind: bool) -> Vec<Option<u32>> {
    let mut uses = vec![None; registers.entity_count()];
    for instruction in from + u32::from(behind)..registers.instruction_count() as u32 {
        for access in registers.accesses(instruction) {
            if access.uses() {
                uses[access.entity() as usize].get_or_insert(instruction);
            }
        }
    }
    uses
}

/// Whether an instruction gives the same anywhere for nothing: a constant, an address, a parameter of the kernel, a special
/// register that does not change.
fn is_rematerializable(
    module: &Module,
    body: &oriole_syntax::tree::Body,
    registers: &Registers,
    instruction: u32,
) -> bool {
    let Statement::Instruction(own) = &body.statements[registers.statement(instruction) as usize]
    else {
        return false;
    };
    let mnemonic = module.text(own.mnemonic);
    let reads = registers
        .accesses(instruction)
        .iter()
        .any(|access| access.uses());
    let is_volatile = body.operands(own).iter().any(|node| {
        module.text(node.text).contains("clock") || module.text(node.text).contains("timer")
    });
    !reads
        && !is_volatile
        && (mnemonic.starts_with("mov.")
            || mnemonic.starts_with("ld.param")
            || mnemonic.starts_with("cvta"))
}

/// The shape of blocks that a kernel requires, else the most threads that it allows, else some.
pub(crate) fn block_of(resources: &Resources) -> [u32; 3] {
    let threads = resources.maximum_threads.unwrap_or(DEFAULT_THREADS);
    resources.required_block.unwrap_or([threads, 1, 1])
}

/// What blocks of a shape take of a multiprocessor, without shared memory of an unknown size.
pub(crate) fn demand(
    registers: u32,
    threads: [u32; 3],
    resources: &Resources,
    dynamic: DynamicShared,
) -> Demand {
    let product = |product: u32, &own: &u32| product.saturating_mul(own);
    let shared = resources
        .shared
        .saturating_add(dynamic.bytes().unwrap_or(0));
    Demand {
        registers,
        threads: threads.iter().fold(1, product).min(1 << 16),
        shared: shared.min(1 << 24),
        barriers: resources.barriers,
        tensor_columns: resources.tensor_columns,
        opt_in: true,
    }
}

fn shapes(
    options: &PressureOptions,
    bounds: &LaunchBounds,
    target: Target,
    report: &FunctionPressure,
) -> Vec<ShapeOccupancy> {
    let resources = &report.resources;
    let asked = options.blocks.iter().copied();
    let mut wanted: Vec<[u32; 3]> = asked.filter(|&block| bounds.allow(block)).collect();
    if wanted.is_empty() {
        wanted.push(block_of(resources));
    }
    wanted
        .into_iter()
        .filter_map(|threads| {
            let mut used = resources.clone();
            if let Some(assembled) = &report.assembled {
                (used.shared, used.barriers) = (assembled.shared, assembled.barriers);
            }
            let dynamic = resources.dynamic_shared(options.shared);
            let demand = demand(report.registers(), threads, &used, dynamic);
            let cliffs = Cliffs::of(target, demand)?;
            let mut helpful = Vec::new();
            if let Some(cliff) = cliffs.fewer_registers {
                let mut missing = demand.registers - cliff.at;
                // What is not needed for longest first, and of that what costs nothing to have again.
                let mut order: Vec<&LiveRegister> = report.live.iter().collect();
                order
                    .sort_by_key(|live| (!live.rematerializable, std::cmp::Reverse(live.distance)));
                for live in order {
                    if missing == 0 {
                        break;
                    }
                    if live.distance > 1 {
                        missing = missing.saturating_sub(live.units);
                        helpful.push(live.name.clone());
                    }
                }
                if missing > 0 {
                    helpful.clear();
                }
            }
            Some(ShapeOccupancy {
                threads,
                dynamic_shared: dynamic,
                occupancy: Occupancy::of(target, demand)?,
                cliffs,
                helpful,
            })
        })
        .collect()
}

/// Totals of the lines of the source, and which of them each instruction comes from.
fn totals(
    registers: &Registers,
    lines: &SourceLines<'_>,
    along: &[u32],
) -> (Vec<LinePressure>, Vec<Option<u32>>) {
    let mut found: BTreeMap<SourceLine, (u32, u32)> = BTreeMap::new();
    let mut places = Vec::with_capacity(along.len());
    for (instruction, &live) in (0..).zip(along) {
        let line = lines.at(registers.statement(instruction));
        if let Some(line) = &line {
            let (instructions, peak) = found.entry(line.clone()).or_default();
            *instructions += 1;
            *peak = live.max(*peak);
        }
        places.push(line);
    }
    let line = |(line, (instructions, peak))| LinePressure {
        line,
        instructions,
        peak,
    };
    let lines: Vec<LinePressure> = found.into_iter().map(line).collect();
    let index = |place: Option<SourceLine>| {
        let place = place?;
        let at = lines.binary_search_by(|own| own.line.cmp(&place));
        at.ok().map(|at| at as u32)
    };
    let places = places.into_iter().map(index).collect();
    (lines, places)
}
