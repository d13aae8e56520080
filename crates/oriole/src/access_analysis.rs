//! What every memory access of a kernel costs, where it stands, and what of that is waste.

use crate::acceptance::Acceptance;
use crate::access_arrays::{ArrayAccess, Arrays, arrays};
use crate::access_fixes::{AccessFix, Fixing, shape_fix};
use crate::access_launch::{Selection, launch_of, parameters, reads_thread};
use crate::access_reporter::Reporter;
use crate::blocks;
use crate::error_of;
use crate::evolution::{self, LoopReport, name_spaces, translated_or_noted};
use crate::findings::{self, Finding, FindingKind};
use crate::pressure::{Cliffs, DynamicShared, Measuring, Occupancy, Prediction, block_of, demand};
use crate::remarks::SourceLine;
use crate::report::{Launch, Memory, Parameter, Peak, Place};
use crate::targets::{target_of, unlisted_target};
use oriole_analysis::delinearization::Dependence;
use oriole_analysis::lane_patterns::{CauseKind, Setting};
use oriole_analysis::launch::{DEFAULT_THREADS, LaunchShape};
use oriole_analysis::liveness::{LiveIntervals, Pressure, Program, RegisterFile, Registers};
use oriole_analysis::memory_requests::{
    Assumption, RequestCost, Status, Waste, Wasteful, chains, costs_and_first_waste, waste_at_first,
};
use oriole_analysis::scalar_evolution::{Knobs, ScalarEvolution};
use oriole_analysis::source_lines::{SourceFiles, SourceLines};
use oriole_analysis::{Analyses, Loops};
use oriole_diagnostics::{Diagnostic, Error, Source};
use oriole_ir::{Environment, Formats, Function, FunctionId, FunctionKind, Instruction};
use oriole_isa::{Component, LaunchLimits, Space, Target};
use oriole_syntax::scopes::{Globals, Scopes};
use oriole_syntax::tree::{Body, Module, Statement};
use std::collections::BTreeMap;
use std::sync::Arc;

/// What to ask.
#[derive(Clone, Debug, Default)]
pub struct AccessOptions {
    /// The shape of blocks; else what the kernel requires, else a row of 256 threads.
    pub block: Option<[u32; 3]>,
    /// What parameters are, by number from 0.
    pub arguments: BTreeMap<u32, u64>,
    /// Only kernels and functions of this name: the plain, demangled or mangled one, or if none has it, a part of one.
    pub kernel: Option<String>,
    /// The shape of the grid, if it is known.
    pub grid: Option<[u32; 3]>,
    /// What parameters are multiples of, by number: powers of two.
    pub multiples: BTreeMap<u32, u64>,
    /// Whether other shapes of blocks are tried where nobody says what they look like.
    pub with_shapes: bool,
    /// What pointers are multiples of, if that is known: a power of two. Else 256 is assumed where it settles a cost.
    pub pointer_alignment: Option<u64>,
    /// Bytes of shared memory that the launch adds, if that is known.
    pub shared: Option<u32>,
    /// Whether loops, registers and occupancy are wanted, too.
    pub with_summary: bool,
    /// Whether only findings are wanted. Chains, dependences, counts of loops, costs of warps at a boundary, and all except the cost of
    /// accesses that waste nothing are left out.
    pub findings_only: bool,
}

/// An access. An instruction that copies is two.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct AccessReport {
    /// Its line in the PTX.
    pub line: u32,
    /// Its line in the source.
    pub source: Option<SourceLine>,
    /// Its column there, from 1.
    pub column: Option<u32>,
    /// Where its mnemonic starts in the text.
    pub offset: u32,
    /// The instruction, without operands.
    pub mnemonic: String,
    /// The state space.
    pub space: Space,
    /// `load`, `store` or `atomic`.
    pub operation: &'static str,
    /// What is taken for granted, in words.
    pub assumptions: Vec<String>,
    /// Of assumptions about instructions: where these stand in the text.
    pub places: Vec<(Assumption, u32)>,
    /// What would make it cheaper, the best first; each was counted.
    pub fixes: Vec<AccessFix>,
    /// The array it goes to, with subscripts, if these were recovered.
    pub array: Option<ArrayAccess>,
    /// How often it is made, where that is no number.
    pub trips: Option<String>,
    /// The first line of the innermost loop around it.
    pub loop_line: Option<u32>,
    /// The callers, if it was inlined, innermost first.
    pub inlined_at: Vec<SourceLine>,
    /// How lanes come to access different addresses, if that is wasteful: from the address back.
    pub chain: Vec<ChainLink>,
    /// Where what is known of the address ends, if nothing is known of it.
    pub lost: Option<LostPattern>,
    /// What it costs.
    pub cost: RequestCost,
}

/// An instruction that addresses come from.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ChainLink {
    /// Its line in the PTX.
    pub line: u32,
    /// Its line in the source.
    pub source: Option<SourceLine>,
    /// Its text.
    pub text: String,
}

/// Where nothing is known any more of the lanes' numbers.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct LostPattern {
    /// How that happens.
    pub kind: CauseKind,
    /// Its line in the PTX.
    pub line: Option<u32>,
    /// Its line in the source.
    pub source: Option<SourceLine>,
    /// The instruction, without operands, if it is one.
    pub mnemonic: Option<String>,
}

impl AccessReport {
    /// What costs are counted in.
    pub fn unit(&self) -> &'static str {
        match self.is_shared() {
            true => "wavefronts",
            false => "sectors",
        }
    }

    /// Whether it goes to shared memory.
    pub fn is_shared(&self) -> bool {
        self.memory() == Memory::Shared
    }

    /// The memory that its cost is part of.
    pub fn memory(&self) -> Memory {
        Memory::of(self.space)
    }

    /// What it costs by what a parameter is, in words.
    pub fn strides(&self) -> String {
        let rows: Vec<String> = self.cost.strides.iter().map(ToString::to_string).collect();
        format!("{}: {}", self.unit(), rows.join("; "))
    }

    /// What it costs a warp of which a condition like `i < n` leaves only the first lanes, in words, if that is known.
    pub fn boundary(&self) -> Option<String> {
        let costs = &self.cost.boundary;
        let (least, most) = (costs.iter().min()?, costs.iter().max()?);
        let costs = match least == most {
            true => least.to_string(),
            false => format!("{least} to {most}"),
        };
        let unit = match most {
            1 => self.unit().trim_end_matches('s'),
            _ => self.unit(),
        };
        Some(format!(
            "boundary warp, the first lanes only: {costs} {unit}"
        ))
    }

    /// How sure it is that it is wasteful, in words, if its cost does not say so.
    pub fn wasteful(&self) -> Option<String> {
        let cost = &self.cost;
        match (cost.wasteful, cost.status) {
            (Wasteful::Certainly, Status::Bounded) if !cost.wasteful_if.is_empty() => {
                let others: Vec<String> =
                    cost.wasteful_if.iter().map(ToString::to_string).collect();
                Some(format!(
                    "certainly wasteful if {} make it",
                    others.join(" and ")
                ))
            }
            (Wasteful::Certainly, Status::Bounded) => Some("certainly wasteful".to_owned()),
            (Wasteful::Likely, _) => Some("likely wasteful".to_owned()),
            (Wasteful::Possibly, _) => Some("perhaps not wasteful".to_owned()),
            (Wasteful::Certainly | Wasteful::No, _) => None,
        }
    }

    /// The class, in words.
    pub fn class(&self) -> String {
        self.cost.class.text(self.cost.request.bytes)
    }
}

/// Whether an access wastes something or may: arrays, fixes and chains are found for these.
pub(crate) fn is_told(cost: &RequestCost) -> bool {
    let may_waste = cost.wasteful != Wasteful::No && cost.waste_at(cost.most as f64) > 1e-9;
    cost.status != Status::Unknown && (cost.waste() > 1e-9 || may_waste)
}

impl std::fmt::Display for AccessReport {
    /// Cost, class and status, as a sentence goes on behind the access.
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let cost = &self.cost;
        write!(formatter, "{}, ", self.class())?;
        match cost.least == cost.most {
            true => write!(formatter, "{}", cost.least)?,
            false => write!(formatter, "{} to {}", cost.least, cost.most)?,
        }
        let ideal = (cost.ideal * 10.0).round() / 10.0;
        let unit = match cost.most {
            1 => self.unit().trim_end_matches('s'),
            _ => self.unit(),
        };
        match cost.request.is_free() {
            true => write!(formatter, " {unit} by Nsight Compute, none in hardware, ")?,
            false => write!(formatter, " {unit}, ideal {ideal}, ")?,
        }
        formatter.write_str(cost.status.text())?;
        for (index, assumption) in self.assumptions.iter().enumerate() {
            let word = if index == 0 { ": " } else { ", " };
            write!(formatter, "{word}{assumption}")?;
        }
        Ok(())
    }
}

/// A kernel, or a function that kernels call. Functions are looked at by themselves: of what they are given nothing is known, and that
/// all lanes of a warp call them is an assumption.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct KernelAccesses {
    /// Its name.
    pub name: String,
    /// Its line in the PTX.
    pub line: u32,
    /// Its parameters.
    pub parameters: Vec<Parameter>,
    /// The launch that it was analyzed for.
    pub launch: Launch,
    /// Which of them it is.
    pub kind: FunctionKind,
    /// The shape of blocks that was taken.
    pub block: [u32; 3],
    /// Its accesses, in order.
    pub accesses: Vec<AccessReport>,
    /// What all accesses together waste by the shape of blocks, if nobody says what that is and it matters.
    pub shapes: Vec<ShapeWaste>,
    /// What would make it waste less as a whole; each was counted.
    pub fixes: Vec<AccessFix>,
    /// How iterations of innermost loops are related by their accesses, in one thread.
    pub dependences: Vec<LoopDependence>,
    /// What is wrong besides what accesses cost, in order.
    pub found: Vec<Finding>,
    /// How many loops are around and including each of its loops.
    pub loop_depths: Vec<u32>,
    /// Its loops, outer before inner, if they were [asked for](AccessOptions::with_summary).
    pub loops: Vec<LoopReport>,
    /// What it needs besides, if that was asked for.
    pub registers: Option<KernelRegisters>,
}

/// What a kernel needs, and what that leaves.
#[derive(Clone, Debug)]
pub struct KernelRegisters {
    /// PTX instructions.
    pub instructions: usize,
    /// How many registers `ptxas` is expected to use.
    pub prediction: Prediction,
    /// The shape of blocks that occupancy is for: the one that was asked for, else that of the kernel's directives.
    pub block: [u32; 3],
    /// Bytes of shared memory that the kernel declares.
    pub static_shared: u32,
    /// What the launch adds to them.
    pub dynamic_shared: DynamicShared,
    /// What a multiprocessor holds of them, without shared memory of an unknown size.
    pub occupancy: Option<Occupancy>,
    /// The next steps of occupancy, of a listed target.
    pub cliffs: Option<Cliffs>,
    /// The architecture.
    pub target: Target,
    /// Where most values are live, if less than half of the warps fit.
    pub peak: Option<Peak>,
}

impl KernelAccesses {
    /// How much of what accesses cost is needed, for accesses to shared memory or for all others, each as often as it is executed; nothing
    /// if there are none, or none of which it is known.
    pub fn efficiency(&self, of_shared: bool) -> Option<f64> {
        let accesses = self.accesses.iter();
        let own = accesses.filter(|access| access.is_shared() == of_shared);
        let known = own.filter(|access| {
            access.cost.status != Status::Unknown && !access.cost.request.is_free()
        });
        let (mut needed, mut all) = (0.0, 0.0);
        for access in known {
            // The mean of a bounded access can be below its ideal.
            needed += access.cost.ideal.min(access.cost.mean) * access.cost.trips;
            all += access.cost.mean * access.cost.trips;
        }
        (all > 0.0).then_some(needed / all)
    }
}

/// How two accesses of a loop are related from iteration to iteration.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct LoopDependence {
    /// The first line of the loop's header in the PTX.
    pub header: u32,
    /// The lines of the accesses.
    pub lines: [u32; 2],
    /// How.
    pub dependence: Dependence,
}

/// What a kernel wastes with blocks of a shape.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct ShapeWaste {
    /// The shape.
    pub block: [u32; 3],
    /// The weight of all accesses.
    pub weight: f64,
    /// How many accesses waste something.
    pub wasteful: usize,
}

/// What the memory accesses of the kernels and functions of a module cost, notes about those it can say nothing of, and warnings about
/// instructions that no PTX version knows: their accesses are left out. [`crate::report`] makes findings of them.
///
/// ```
/// use oriole::AccessOptions;
///
/// let module = oriole::parse("example.ptx", oriole::EXAMPLE)?;
/// let (kernels, _) = oriole::accesses(&module, &AccessOptions::default())?;
/// assert_eq!(kernels[0].accesses.len(), 5);
/// for access in &kernels[0].accesses {
///     println!("line {}: {access}", access.line);
/// }
/// # Ok::<(), oriole::Error>(())
/// ```
///
/// # Errors
/// What is wrong with the module.
pub fn accesses(
    module: &Module,
    options: &AccessOptions,
) -> Result<(Vec<KernelAccesses>, Vec<Diagnostic>), Error> {
    accesses_of(module, options).map_err(|errors| error_of(module, errors))
}

fn accesses_of(
    module: &Module,
    options: &AccessOptions,
) -> Result<(Vec<KernelAccesses>, Vec<Diagnostic>), Vec<Diagnostic>> {
    let (globals, errors) = Globals::of(module);
    if !errors.is_empty() {
        return Err(errors);
    }
    let mut declared = oriole_translate::module_of(module, &globals);
    declared.limits = target_of(module).limits();
    let declared = Arc::new(declared);
    let analyzer = Analyzer {
        files: SourceFiles::of(&declared, module),
        source: Source::new(module.name(), module.source()),
        module,
        globals: &globals,
        declared: &declared,
        options,
    };
    let selection = Selection::of(module, options.kernel.as_deref());
    let is_asked = |name: &str| selection.has(name);
    let mut notes = blocks::check(module, &declared, options.block, is_asked)?;
    notes.extend(unlisted_target(module, None));
    let mut kernels = Vec::new();
    let mut acceptance = Acceptance::default();
    let mut formats = Formats::new();
    let mut measuring = Measuring::default();
    for (index, function) in module.functions.iter().enumerate() {
        let Some(body) = &function.body else {
            continue;
        };
        let is_wanted = selection.has(module.text(function.name));
        // What a kernel calls counts for its registers.
        let is_kernel = function.kind == FunctionKind::Entry;
        let is_measured = options.with_summary && (is_wanted || !is_kernel);
        if !is_wanted && !is_measured {
            continue;
        }
        let Some(translated) =
            translated_or_noted(module, &globals, index, &mut formats, &mut notes)?
        else {
            // The formats are lost with the function.
            acceptance = Acceptance::default();
            continue;
        };
        let mut ssa = translated.function;
        if is_wanted {
            let mut warnings = acceptance.of_function(module, body, &ssa);
            warnings.retain(|own| own.id.starts_with("unknown-"));
            notes.extend(warnings);
        }
        let mut analyses = Analyses::new();
        if is_measured {
            let scopes = translated.scopes;
            measuring.add(module, &declared, index, scopes, &ssa, &mut analyses);
        }
        if is_wanted {
            let analyses = analyses.in_environment(analyzer.environment(index));
            let least = measuring.least_registers(index);
            let mut kernel = analyzer.kernel(index, body, &mut ssa, analyses, least);
            kernel.name = module.text(function.name).to_owned();
            kernel.line = analyzer.source.position(function.name.span().start).line;
            kernel.parameters = parameters(module, function);
            if let Some((scopes, _)) = measuring.part(index)
                && !options.findings_only
            {
                kernel.loops = analyzer.loops(index, body, scopes, &ssa);
            }
            kernels.push((index, kernel));
        }
        formats = ssa.into_formats();
    }
    if options.with_summary {
        let target = target_of(module);
        let is_entry = |index: usize| module.functions[index].kind == FunctionKind::Entry;
        let mut measured = measuring.predictions(module, &declared, target, is_entry);
        let is_kernel = |own: &&mut (usize, KernelAccesses)| own.1.kind == FunctionKind::Entry;
        for (index, kernel) in kernels.iter_mut().filter(is_kernel) {
            kernel.registers = measured[*index].take().map(|(mut prediction, resources)| {
                let bounds = declared.bounds(FunctionId::from_index(*index));
                let asked = blocks::allowed(options.block, bounds);
                let block = asked.unwrap_or_else(|| block_of(&resources));
                let dynamic = resources.dynamic_shared(options.shared);
                // A kernel that spills has no register left.
                let spills = |own: &Finding| own.kind == FindingKind::PredictedSpill;
                if kernel.found.iter().any(spills) {
                    prediction.best = resources.register_limit;
                    prediction.high = resources.register_limit;
                }
                let demand = demand(prediction.best, block, &resources, dynamic);
                let registers = measuring.part(*index).map(|part| &part.1);
                let occupancy = Occupancy::of(target, demand);
                let is_low = occupancy.is_some_and(|own| own.percent() < 50.0);
                KernelRegisters {
                    peak: registers
                        .filter(|_| is_low)
                        .and_then(|registers| analyzer.peak(*index, registers)),
                    cliffs: Cliffs::of(target, demand),
                    target,
                    instructions: registers.map_or(0, |own| own.instruction_count()),
                    prediction,
                    block,
                    static_shared: resources.shared,
                    dynamic_shared: dynamic,
                    occupancy,
                }
            });
        }
    }
    Ok((kernels.into_iter().map(|own| own.1).collect(), notes))
}

/// What functions of a module are analyzed with.
struct Analyzer<'a> {
    module: &'a Module,
    globals: &'a Globals,
    declared: &'a Arc<oriole_ir::Module>,
    files: SourceFiles,
    source: Source<'a>,
    options: &'a AccessOptions,
}

impl Analyzer<'_> {
    fn environment(&self, index: usize) -> Environment {
        Environment::new(Arc::clone(self.declared), FunctionId::from_index(index))
    }

    /// The offset and text of the mnemonic of an instruction statement.
    fn mnemonic(&self, body: &Body, statement: u32) -> Option<(u32, &str)> {
        match body.statements.get(statement as usize)? {
            Statement::Instruction(own) => {
                Some((own.mnemonic.span().start, self.module.text(own.mnemonic)))
            }
            _ => None,
        }
    }

    /// What is known of the kernel of this number, which is put into the form in which accesses name what they reach; `least` is how many
    /// registers it needs as it is given, if that is known.
    fn kernel(
        &self,
        index: usize,
        body: &Body,
        ssa: &mut Function,
        mut analyses: Analyses,
        least: Option<u32>,
    ) -> KernelAccesses {
        let options = self.options;
        let generic = findings::generic_accesses(ssa);
        let may_have_changed = name_spaces(ssa, &mut analyses);
        let ssa = &*ssa;
        let bounds = *analyses.environment().bounds();
        let given = blocks::allowed(options.block, &bounds).or(bounds.required_block);
        let block = given.unwrap_or(bounds.usual_block(DEFAULT_THREADS));
        let mut setting = options.setting(block, analyses.environment().launch_limits());
        let launch = launch_of(ssa, &bounds, given, &setting);
        let kind = ssa.kind();
        if kind != FunctionKind::Entry {
            // What is known is known of parameters of kernels.
            setting.arguments.clear();
            setting.multiples.clear();
        }
        let evolution = ScalarEvolution::new(ssa, setting.shape(), Knobs::default());
        let (costs, at_first) = costs_and_first_waste(ssa, &mut analyses, &setting, &evolution);
        let text = self.module.whole_text();
        let Arrays {
            arrays,
            trips,
            dependences: pairs,
            nests,
        } = arrays(
            ssa,
            &mut analyses,
            &setting,
            &evolution,
            &costs,
            text,
            options.findings_only,
        );
        let is_kernel = kind == FunctionKind::Entry;
        let shapes = match options.with_shapes && given.is_none() && is_kernel {
            true => shapes(ssa, &mut analyses, &setting, &costs, at_first),
            false => Vec::new(),
        };
        let lines = SourceLines::of(self.module, &self.files, body);
        let mnemonic_of = |statement| self.mnemonic(body, statement);
        let reporter = Reporter {
            function: ssa,
            mnemonic_of: &mnemonic_of,
            source: &self.source,
            lines: &lines,
            default_block: given.is_none().then_some(setting.block),
            findings_only: options.findings_only,
        };
        let fixing = Fixing {
            function: ssa,
            setting: &setting,
            evolution: &evolution,
            costs: &costs,
            arrays: &arrays,
            nests: &nests,
            line_of: &|block| {
                let first = ssa.instructions_of(block).next();
                let line = first.and_then(|first| reporter.line_of(first));
                line.unwrap_or(0)
            },
            target: self.module.target().and_then(oriole_isa::Target::from_text),
            text,
        };
        let (of_requests, mut fixes) = match is_kernel {
            true => fixing.found(&mut analyses),
            // Callers would have to change, too.
            false => (vec![Vec::new(); costs.len()], Vec::new()),
        };
        let is_told = |cost: &RequestCost| is_told(cost) && !options.findings_only;
        let chains = chains_of(ssa, &mut analyses, &setting, &evolution, &costs, &is_told);
        fixes.extend(shape_fix(&shapes, setting.block));
        let least_registers =
            || findings::least_registers(self.module, self.globals, index, self.declared, ssa);
        let input = findings::Input {
            function: ssa,
            text,
            setting: &setting,
            evolution: &evolution,
            costs: &costs,
            generic: &generic,
            place: &|instruction| reporter.place(instruction),
            known_least: least.filter(|_| !may_have_changed),
            least_registers: &least_registers,
        };
        let found = match is_kernel {
            true => findings::find(&input, &mut analyses),
            false => Vec::new(),
        };
        let dependences = pairs.into_iter().filter_map(|own| reporter.dependence(own));
        let loops = analyses.get::<Loops>(ssa);
        let mut accesses = Vec::with_capacity(costs.len());
        let more = arrays.into_iter().zip(trips).zip(of_requests).zip(chains);
        for (cost, (((array, trips), fixes), chain)) in costs.into_iter().zip(more) {
            let loop_line = reporter.loop_line(&loops, &cost);
            let Some(report) = reporter.report(cost) else {
                continue;
            };
            accesses.push(AccessReport {
                array,
                trips,
                loop_line,
                fixes,
                chain: reporter.chain(chain),
                ..report
            });
        }
        let depths = loops.iter().map(|own| loops.depth(loops.header(own)));
        KernelAccesses {
            name: String::new(),
            line: 0,
            parameters: Vec::new(),
            launch,
            kind,
            block: setting.block,
            accesses,
            shapes,
            fixes,
            dependences: dependences.collect(),
            found,
            loop_depths: depths.collect(),
            loops: Vec::new(),
            registers: None,
        }
    }

    /// Where most values of a function are live.
    fn peak(&self, index: usize, registers: &Registers) -> Option<Peak> {
        let intervals = LiveIntervals::of(registers);
        let pressure = Pressure::of(registers, &intervals);
        let peak = pressure.peak(RegisterFile::Data);
        let body = self.module.functions[index].body.as_ref()?;
        let statement = registers.statement(peak.instruction?);
        let (offset, _) = self.mnemonic(body, statement)?;
        let lines = SourceLines::of(self.module, &self.files, body);
        let source = lines.innermost(statement);
        Some(Peak {
            line: self.source.position(offset).line,
            source: source.map(|own| Place::of(&own, lines.column(statement))),
            live: peak.units,
        })
    }

    /// The loops of a kernel, in blocks of the shape that was asked for or that it requires.
    fn loops(&self, index: usize, body: &Body, scopes: &Scopes, ssa: &Function) -> Vec<LoopReport> {
        let environment = self.environment(index);
        let mut shape = LaunchShape::of(&environment, ssa.kind());
        let asked = blocks::allowed(self.options.block, environment.bounds());
        shape.block = asked.or(shape.block);
        let evolution = ScalarEvolution::new(ssa, shape, Knobs::default());
        let lines = SourceLines::of(self.module, &self.files, body);
        evolution::loops(
            self.module,
            body,
            scopes,
            &lines,
            &self.source,
            ssa,
            &evolution,
        )
    }
}

impl AccessOptions {
    /// How kernels are launched, in blocks of a shape.
    fn setting(&self, block: [u32; 3], limits: LaunchLimits) -> Setting {
        Setting {
            arguments: self.arguments.clone(),
            grid: self.grid,
            multiples: self.multiples.clone(),
            pointer_alignment: self.pointer_alignment,
            without_boundary: self.findings_only,
            ..Setting::of_block(block, limits)
        }
    }
}

/// Of each access that it is told of, the instructions that lanes differ by.
fn chains_of(
    function: &Function,
    analyses: &mut Analyses,
    setting: &Setting,
    evolution: &ScalarEvolution,
    costs: &[RequestCost],
    is_told: &dyn Fn(&RequestCost) -> bool,
) -> Vec<Vec<Instruction>> {
    let told: Vec<&RequestCost> = costs.iter().filter(|cost| is_told(cost)).collect();
    let mut found = chains(function, analyses, setting, evolution, &told).into_iter();
    let own = costs.iter().map(|cost| match is_told(cost) {
        true => found.next().unwrap_or_default(),
        false => Vec::new(),
    });
    own.collect()
}

/// Shapes of blocks that are tried.
const SHAPES: [[u32; 3]; 5] = [[256, 1, 1], [64, 4, 1], [32, 8, 1], [16, 16, 1], [8, 8, 4]];

/// What a kernel wastes by the shape of blocks, if threads ask for more than their number along x; `at_first` is that of the setting.
fn shapes(
    function: &Function,
    analyses: &mut Analyses,
    setting: &Setting,
    costs: &[RequestCost],
    at_first: Waste,
) -> Vec<ShapeWaste> {
    let asks = |component| reads_thread(function, component);
    // What wastes nothing needs no other shape.
    let is_wasteful = |cost: &RequestCost| cost.status != Status::Unknown && cost.waste() > 1e-9;
    if !costs.iter().any(is_wasteful) {
        return Vec::new();
    }
    let (is_planar, is_deep) = (asks(Component::Y), asks(Component::Z));
    if !(is_planar || is_deep) || costs.is_empty() {
        return Vec::new();
    }
    let most = analyses.environment().bounds().maximum_threads;
    let fits = |block: &[u32; 3]| {
        let is_needed = (is_planar || block[1] == 1) && (is_deep || block[2] == 1);
        is_needed && most.is_none_or(|most| block.iter().product::<u32>() <= most)
    };
    let mut found = Vec::new();
    for block in SHAPES.into_iter().filter(fits) {
        let waste = match block == setting.block {
            true => at_first,
            false => {
                let setting = Setting {
                    block,
                    ..setting.clone()
                };
                waste_at_first(function, analyses, &setting)
            }
        };
        found.push(ShapeWaste {
            block,
            weight: waste.weight,
            wasteful: waste.wasteful,
        });
    }
    found
}
