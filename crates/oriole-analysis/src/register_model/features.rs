//! What a prediction of register counts looks at.
//!
//! `ptxas` does not allocate the registers of the PTX: it deletes dead code, reads parameters and constants straight from
//! their bank, coalesces copies and address-space casts, moves uniform integer work to uniform registers, and moves loads up
//! as far as it can. Each of these is undone here in turn on the SSA form, and the pressure taken again; counts of what
//! costs registers for other reasons (calls, divisions, doubles, tensor cores) go beside them.

use super::call_closure::CallClosures;
use super::counts::Counts;
use super::facts::{Fact, Facts};
use super::folding::{Folded, View};
use super::reordered::{Code, Reordered};
use super::steps::{step, steps};
use crate::liveness::{BlockEnds, Profile, Program, RegisterFile, Registers, Values, live_at};
use crate::{Analyses, ControlFlow, Loops, unrolling};
use oriole_ir::graph::Adjacency;
use oriole_ir::{
    Definition, Function, FunctionId, Instruction, Module, Operand, SymbolKind, Value,
    VariableKind, VariableType,
};
use oriole_isa::{Role, Space};

/// Features that are pressures of one function: what it calls adds to them where it is called.
const PEAKS: usize = 13;
/// The place among them of the least of all orders without uniform ones.
const LEAST_DATA: usize = 12;
/// Features of which the highest of a function and what it calls counts.
const HIGHEST: usize = 37;
/// Features that add up over a function and what it calls; their logarithm is used.
const COUNTS: usize = 42;

/// Features of the module and of the function's directives.
const FLAGS: usize = 8;

/// Pressures whose occupancy steps are features, by their places among the peaks: folded, least, late, hoisted, scheduled,
/// the least without uniform ones, and as written.
const STEPPED: [usize; 7] = [1, 9, 8, 3, 10, 12, 0];

/// Names of the features, in order.
pub const NAMES: [&str; PEAKS * 2 + HIGHEST + COUNTS + FLAGS + STEPPED.len() * 4] = [
    // Pressures: registers as written, without what takes none, without uniform ones, the same with loads moved
    // up, in loops, the average, everything put where it is first needed, the least of all orders; after scheduling for
    // few live values, the same without uniform ones, and the least without uniform ones.
    "written",
    "folded",
    "data",
    "hoisted",
    "hoisted_data",
    "loop_peak",
    "loop_data",
    "average",
    "late",
    "least",
    "scheduled",
    "scheduled_data",
    "least_data",
    // The same with what is called.
    "written_deep",
    "folded_deep",
    "data_deep",
    "hoisted_deep",
    "hoisted_data_deep",
    "loop_peak_deep",
    "loop_data_deep",
    "average_deep",
    "late_deep",
    "least_deep",
    "scheduled_deep",
    "scheduled_data_deep",
    "least_data_deep",
    // Highest.
    "predicates",
    "in_loop_at_peak",
    "wide_at_peak",
    "live_across_loops",
    "depth",
    "widest_load",
    "widest_store",
    "fragments",
    "special",
    "run_of_loads",
    "loop_loads",
    "largest_block",
    "mentioned",
    "between_blocks",
    "unrolled",
    "symbols",
    "loop_values",
    "block_loads",
    "written_highest",
    "folded_highest",
    "hoisted_highest",
    "live_across_calls",
    "written_across_calls",
    "unrolled_values",
    "copies",
    "loaded_at_peak",
    "through_at_peak",
    "narrow_at_peak",
    "uniform_at_peak",
    "slow_path",
    "carried",
    "pressure_50",
    "pressure_75",
    "pressure_90",
    "near_peak",
    "into_loads",
    "into_batch",
    // Counts.
    "instructions",
    "blocks",
    "loops",
    "parameters",
    "loads_global",
    "loads_shared",
    "loads_local",
    "loads_generic",
    "stores",
    "divisions_32",
    "divisions_64",
    "divisions_f32",
    "divisions_f64",
    "roots",
    "transcendental",
    "doubles",
    "halves",
    "calls",
    "unknown_calls",
    "barriers",
    "atomics",
    "shuffles",
    "block_values",
    "conversions",
    "wide_values",
    "branches",
    "frame",
    "float_work",
    "integer_work",
    "selections",
    "textures",
    "guards",
    "matrix_products",
    "matrix_loads",
    "asynchronous_copies",
    "integers_64",
    "carries",
    "vector_loads",
    "vector_stores",
    "wide_products",
    "comparisons",
    "logic",
    // Flags.
    "debug",
    "hopper",
    "blackwell",
    "functions",
    "limit",
    "threads",
    "minimum_blocks",
    "maximum_registers",
    // The steps that hold pressures and some registers more, and what the second leaves free.
    "step_folded_2",
    "step_folded_8",
    "room_folded",
    "step_folded_14",
    "step_least_2",
    "step_least_8",
    "room_least",
    "step_least_14",
    "step_late_2",
    "step_late_8",
    "room_late",
    "step_late_14",
    "step_hoisted_2",
    "step_hoisted_8",
    "room_hoisted",
    "step_hoisted_14",
    "step_scheduled_2",
    "step_scheduled_8",
    "room_scheduled",
    "step_scheduled_14",
    "step_least_data_2",
    "step_least_data_8",
    "room_least_data",
    "step_least_data_14",
    "step_written_2",
    "step_written_8",
    "room_written",
    "step_written_14",
];

/// The features of one function.
#[derive(Clone, Debug, PartialEq)]
pub struct Features {
    values: [f32; NAMES.len()],
    /// Registers a thread may have at most, by the function's directives.
    pub limit: u32,
    /// Threads of a block, if a directive says so.
    pub threads: Option<u32>,
    /// Blocks that a multiprocessor should hold at least, if a directive says so.
    pub minimum_blocks: Option<u32>,
    /// Register counts at which a multiprocessor holds another block, the least first; the last is the limit.
    pub steps: Vec<u32>,
}

impl Features {
    /// All features, in order of [`NAMES`].
    pub fn values(&self) -> &[f32] {
        &self.values
    }

    /// One feature.
    ///
    /// # Panics
    /// If there is no such feature.
    pub fn get(&self, name: &str) -> f32 {
        let index = NAMES.iter().position(|own| *own == name);
        self.values[index.expect("there is such a feature")]
    }
}

/// What one function contributes to its own features and to those of its callers.
#[derive(Clone, Debug)]
pub struct Summary {
    peaks: [f32; PEAKS],
    highest: [f32; HIGHEST],
    counts: [f32; COUNTS],
    /// Functions called, by index in the module, with what is live across the call; nothing for one that is not here.
    calls: Vec<(Option<usize>, f32)>,
    /// Bytes of local memory that it declares.
    pub(crate) local: u32,
    /// Sizes and alignments of its shared variables; nothing for one whose size is not known.
    pub(crate) shared: Vec<Option<(u32, u32)>>,
}

impl Summary {
    /// The pressure in the best of all orders of instructions, without what is called and what lies in uniform registers.
    pub fn least_registers(&self) -> u32 {
        self.peaks[LEAST_DATA] as u32
    }

    /// Summarises a function of a module, given its registers and its SSA form.
    pub fn of(
        module: &Module,
        id: FunctionId,
        registers: &Registers,
        function: &Function,
    ) -> Summary {
        Summary::with(module, id, registers, function, &mut Analyses::new())
    }

    /// Likewise, with analyses of the function in no environment, as the model was made.
    #[expect(
        clippy::too_many_lines,
        reason = "one feature after the other, in the order of the model"
    )]
    pub fn with(
        module: &Module,
        id: FunctionId,
        registers: &Registers,
        function: &Function,
        analyses: &mut Analyses,
    ) -> Summary {
        let local = frame_bytes(function);
        let flow = analyses.get::<ControlFlow>(function);
        let loops = analyses.get::<Loops>(function);
        let facts = Facts::of(function);
        let folded = Folded::of(function, &facts, analyses);
        let values = Values::as_allocated(function);
        let written = Profile::of(&mut BlockEnds::new(registers), &data_units(registers));
        let [written_peak] = written.peaks;
        let view = View::new(function, &facts, &values, &folded);
        let units = units_of(&view, &folded);
        let mut ends = BlockEnds::new(&view);
        let profile = Profile::of(&mut ends, &units);
        #[cfg(debug_assertions)]
        profile.check(&view, &units);
        let [plain, data, predicates] = profile.peaks;
        let code = Code::new(&values, &facts, &view);
        let Reordered {
            loads_first: [hoisted, hoisted_data],
            on_demand: [late, late_data],
            few_alive: [scheduled, scheduled_data],
        } = code.reordered(&mut ends, &profile, &units);
        let instruction_at = |number: u32| values.instruction(view.instructions[number as usize]);
        let (mut loop_peak, mut loop_data, mut slow_path) = (0, 0, 0);
        let mut sum = 0u64;
        let mut calls = Vec::new();
        for block in 0..view.block_count() as u32 {
            let is_in_loop = loops.depth(values.block(block)) > 0;
            for number in view.instructions(block) {
                let [here, here_data, _] = profile.along[number as usize];
                sum += u64::from(here);
                if is_in_loop {
                    loop_peak = loop_peak.max(here);
                    loop_data = loop_data.max(here_data);
                }
                let instruction = instruction_at(number);
                if facts.is(instruction, Fact::SLOW_PATH) {
                    slow_path = slow_path.max(here);
                }
                if facts.is(instruction, Fact::CALL) {
                    calls.push((callee(module, function, instruction), here as f32));
                }
            }
        }
        let top = profile.top.map(|(number, _)| view.block_of(number));
        let in_loop = top.map_or(0, |block| loops.depth(values.block(block)));
        let at_peak = AtPeak::of(function, &facts, &ends, &folded, &profile);
        let mut positions = vec![0u32; function.blocks().len()];
        for block in 0..values.block_count() as u32 {
            positions[values.block(block).index()] = block;
        }
        let mut across = 0;
        let mut loop_loads = vec![0u32; loops.iter().count()];
        let mut loop_values = loop_loads.clone();
        let mut carried = 0;
        for this in loops.iter() {
            let header = positions[loops.header(this).index()];
            across = across.max(profile.into[header as usize][0]);
            let parameters = view.entry_definitions(header).iter();
            carried = carried.max(
                parameters
                    .filter(|&&entity| view.file(entity) == RegisterFile::Data)
                    .map(|&entity| view.units(entity))
                    .sum(),
            );
        }
        let (mut into_loads, mut into_batch) = (0, 0);
        let mut counts = Counts::default();
        for &block in flow.reverse_postorder() {
            let loads = counts.block(function, &facts, block);
            let [into, ..] = profile.into[positions[block.index()] as usize];
            into_loads = into_loads.max(into + loads);
            into_batch = into_batch.max(into + loads.min(BATCH));
            if let Some(this) = loops.innermost(block) {
                loop_loads[this.index()] += loads;
                for instruction in function.instructions_of(block) {
                    loop_values[this.index()] += function
                        .results(instruction)
                        .map(|value| folded.units[value.index()])
                        .sum::<u32>();
                }
            }
        }
        let copies = unrolling::copies(
            function,
            |instruction| folded.is_idle(function, &facts, instruction),
            analyses,
        );
        let unrolled = |units: &[u32]| {
            let all = copies.iter().zip(units);
            all.map(|(&copies, &units)| units.saturating_mul(copies.min(MOST_COPIES)))
                .max()
                .unwrap_or(0)
        };
        let along = quantiles(profile.along.iter().map(|here| here[0]).collect());
        let mentioned = mentioned_units(registers);
        let between = ends
            .sets()
            .globals()
            .filter(|&entity| view.file(entity) == RegisterFile::Data)
            .map(|entity| view.units(entity))
            .sum::<u32>();
        let mut symbols: Vec<u32> = Vec::new();
        for &block in flow.reverse_postorder() {
            let named = |own: &Instruction| facts.is(*own, Fact::SYMBOL);
            for instruction in function.instructions_of(block).filter(named) {
                symbols.extend(
                    function
                        .leaves(instruction)
                        .iter()
                        .filter_map(|leaf| match leaf {
                            Operand::Symbol(symbol) => match function.symbols()[*symbol].kind {
                                SymbolKind::Global(_) | SymbolKind::Variable(_) => {
                                    Some(symbol.as_u32())
                                }
                                _ => None,
                            },
                            _ => None,
                        }),
                );
            }
        }
        symbols.sort_unstable();
        symbols.dedup();
        let depth = function
            .block_order()
            .iter()
            .map(|&block| loops.depth(block))
            .max()
            .unwrap_or(0);
        Summary {
            peaks: [
                written_peak as f32,
                plain as f32,
                data as f32,
                hoisted as f32,
                hoisted_data as f32,
                loop_peak as f32,
                loop_data as f32,
                sum as f32 / view.instruction_count().max(1) as f32,
                late as f32,
                late.min(plain).min(scheduled) as f32,
                scheduled as f32,
                scheduled_data as f32,
                scheduled_data.min(late_data).min(data) as f32,
            ],
            highest: [
                predicates,
                in_loop,
                at_peak.wide,
                across,
                depth,
                counts.widest_load,
                counts.widest_store,
                counts.fragments,
                counts.special,
                counts.run_of_loads,
                loop_loads.iter().copied().max().unwrap_or(0),
                counts.largest_block,
                mentioned,
                between,
                unrolled(&loop_loads),
                symbols.len() as u32,
                loop_values.iter().copied().max().unwrap_or(0),
                counts.block_loads,
                written_peak,
                plain,
                hoisted,
                calls.iter().map(|call| call.1 as u32).max().unwrap_or(0),
                registers
                    .calls()
                    .iter()
                    .map(|&call| written.along[call as usize][0])
                    .max()
                    .unwrap_or(0),
                unrolled(&loop_values),
                copies.iter().copied().max().unwrap_or(0).min(MOST_COPIES),
                at_peak.loaded,
                at_peak.through,
                at_peak.narrow,
                at_peak.uniform,
                slow_path,
                carried,
                along[0],
                along[1],
                along[2],
                along[3],
                into_loads,
                into_batch,
            ]
            .map(|count| count as f32),
            counts: [
                view.instruction_count() as u32,
                flow.reverse_postorder().len() as u32,
                loops.iter().count() as u32,
                module.parameters(id).len() as u32,
                counts.loads_global,
                counts.loads_shared,
                counts.loads_local,
                counts.loads_generic,
                counts.stores,
                counts.divisions_32,
                counts.divisions_64,
                counts.divisions_f32,
                counts.divisions_f64,
                counts.roots,
                counts.transcendental,
                counts.doubles,
                counts.halves,
                calls.len() as u32,
                calls.iter().filter(|call| call.0.is_none()).count() as u32,
                counts.barriers,
                counts.atomics,
                counts.shuffles,
                counts.block_values,
                counts.conversions,
                counts.wide_values,
                counts.branches,
                local / 4,
                counts.float_work,
                counts.integer_work,
                counts.selections,
                counts.textures,
                counts.guards,
                counts.matrix_products,
                counts.matrix_loads,
                counts.asynchronous_copies,
                counts.integers_64,
                counts.carries,
                counts.vector_loads,
                counts.vector_stores,
                counts.wide_products,
                counts.comparisons,
                counts.logic,
            ]
            .map(|count| count as f32),
            calls,
            local,
            shared: variables_in(function, Space::Shared)
                .map(|own| Some((own.bytes?, own.alignment)))
                .collect(),
        }
    }
}

/// Registers that loads of a block fill before the first is waited for, about.
const BATCH: u32 = 4;
/// Copies of a loop beyond this make no difference.
const MOST_COPIES: u32 = 64;

/// What each register of a function takes of the data file.
fn data_units(registers: &Registers) -> Vec<[u32; 1]> {
    let entities = 0..registers.entity_count() as u32;
    let units = entities.map(|entity| match registers.file(entity) {
        RegisterFile::Data => [registers.units(entity)],
        RegisterFile::Predicate => [0],
    });
    units.collect()
}

/// What everything in the folded function takes: of the data file, of it unless it is uniform, and of the predicates.
fn units_of(view: &View<'_>, folded: &Folded) -> Vec<[u32; 3]> {
    let entities = 0..view.entity_count() as u32;
    let units = entities.map(|entity| {
        let units = view.units(entity);
        match view.file(entity) {
            RegisterFile::Data => {
                let uniform = folded.uniform.get(entity as usize);
                let is_uniform = uniform.copied().unwrap_or(false);
                [units, if is_uniform { 0 } else { units }, 0]
            }
            RegisterFile::Predicate => [0, 0, units],
        }
    });
    units.collect()
}

/// What is live where the folded function needs the most registers.
#[derive(Default)]
struct AtPeak {
    /// Values of at least two registers.
    wide: u32,
    /// Registers filled by loads.
    loaded: u32,
    /// Registers of values that the block at the peak neither defines nor reads.
    through: u32,
    /// Registers of values of at most 16 bits.
    narrow: u32,
    /// Registers of uniform values.
    uniform: u32,
}

impl AtPeak {
    fn of(
        function: &Function,
        facts: &Facts,
        ends: &BlockEnds<'_, View<'_>>,
        folded: &Folded,
        profile: &Profile<3>,
    ) -> AtPeak {
        let mut found = AtPeak::default();
        // Without pressure nothing that counts is live.
        let Some((number, moment)) = profile.top.filter(|_| profile.peaks[0] > 0) else {
            return found;
        };
        let view = ends.program();
        let block = view.block_of(number);
        let mut is_read = vec![false; view.entity_count()];
        for number in view.instructions(block) {
            for access in view.accesses(number) {
                is_read[access.entity() as usize] = true;
            }
        }
        for entity in live_at(ends, block, number, moment) {
            if view.file(entity) != RegisterFile::Data {
                continue;
            }
            let units = view.units(entity);
            found.wide += u32::from(units >= 2);
            if !is_read[entity as usize] {
                found.through += units;
            }
            if entity as usize >= folded.uniform.len() {
                continue;
            }
            let value = Value::from_index(entity as usize);
            let data = &function.values()[value];
            if data.scalar_type.bits() <= 16 {
                found.narrow += units;
            }
            if folded.uniform[entity as usize] {
                found.uniform += units;
            }
            if let Definition::Instruction(instruction) = data.definition
                && facts.is(instruction, Fact::LOAD)
            {
                found.loaded += units;
            }
        }
        found
    }
}

/// The median, the upper quartile and the last decile of numbers, and how many of a hundred are within a tenth of the highest.
fn quantiles(mut numbers: Vec<u32>) -> [u32; 4] {
    numbers.sort_unstable();
    let Some(&highest) = numbers.last() else {
        return [0; 4];
    };
    let at = |hundredths: usize| numbers[(numbers.len() - 1) * hundredths / 100];
    let below = numbers.partition_point(|&number| number * 10 < highest * 9);
    let near = (numbers.len() - below) * 100 / numbers.len();
    [at(50), at(75), at(90), near as u32]
}

/// Units of all registers a function mentions.
fn mentioned_units(registers: &Registers) -> u32 {
    let mut seen = vec![false; registers.entity_count()];
    for instruction in 0..registers.instruction_count() as u32 {
        for access in registers.accesses(instruction) {
            seen[access.entity() as usize] = true;
        }
    }
    (0..registers.entity_count() as u32)
        .filter(|&entity| seen[entity as usize] && registers.file(entity) == RegisterFile::Data)
        .map(|entity| registers.units(entity))
        .sum()
}

/// The function a call names, if it is in the module with a body.
fn callee(module: &Module, function: &Function, instruction: Instruction) -> Option<usize> {
    let format = function.format(instruction);
    let leaves = format.leaves.iter().zip(function.leaves(instruction));
    let kind = leaves
        .filter(|(leaf, _)| leaf.role == Role::Callee)
        .find_map(|(_, operand)| match operand {
            Operand::Symbol(symbol) => Some(function.symbols()[*symbol].kind),
            _ => None,
        })?;
    let SymbolKind::Global(global) = kind else {
        return None;
    };
    let callee = module.function(global)?;
    module.functions()[callee]
        .has_body
        .then_some(callee.index())
}

/// The types of the variables that a function declares in a state space.
fn variables_in(function: &Function, space: Space) -> impl Iterator<Item = &VariableType> {
    function
        .variables()
        .values()
        .filter(move |own| own.kind == VariableKind::Declared && own.space == Some(space))
        .map(|own| &own.variable_type)
}

/// Bytes of local memory that a function declares.
fn frame_bytes(function: &Function) -> u32 {
    variables_in(function, Space::Local)
        .map(|own| own.bytes.unwrap_or(0))
        .fold(0, u32::saturating_add)
}

/// The calls between functions, given their summaries.
pub(crate) fn call_closures(summaries: &[Option<Summary>]) -> CallClosures {
    let calls = summaries.iter().enumerate().flat_map(|(index, summary)| {
        summary
            .iter()
            .flat_map(|summary| &summary.calls)
            .filter_map(move |&(callee, _)| Some((index as u32, callee? as u32)))
            .filter(|&(_, callee)| summaries[callee as usize].is_some())
    });
    CallClosures::new(Adjacency::new(summaries.len(), calls))
}

/// What a function and everything it calls come to.
#[derive(Clone)]
struct Total {
    /// Pressures, with what is live across calls on the way down.
    deep: [f32; PEAKS],
    highest: [f32; HIGHEST],
    counts: [f32; COUNTS],
    functions: u32,
}

impl Total {
    const NOTHING: Total = Total {
        deep: [0.0; PEAKS],
        highest: [0.0; HIGHEST],
        counts: [0.0; COUNTS],
        functions: 0,
    };

    /// Adds a function, given how deep its callees go.
    fn add(&mut self, summary: &Summary, deep: impl Fn(usize) -> [f32; PEAKS]) {
        self.deep = summary.peaks;
        for &(callee, live) in &summary.calls {
            if let Some(callee) = callee {
                for (peak, inner) in self.deep.iter_mut().zip(deep(callee)) {
                    *peak = peak.max(live + inner);
                }
            }
        }
        for (all, own) in self.highest.iter_mut().zip(summary.highest) {
            *all = all.max(own);
        }
        for (all, own) in self.counts.iter_mut().zip(summary.counts) {
            *all += own;
        }
        self.functions += 1;
    }
}

/// The features of all functions with a summary, from the summaries of all functions of a module (nothing for prototypes).
pub fn features(
    module: &Module,
    summaries: &[Option<Summary>],
    target: oriole_isa::Target,
) -> Vec<Option<Features>> {
    features_of(module, summaries, target, &|_| true)
}

/// Likewise, of functions that are wanted, by number.
pub fn features_of(
    module: &Module,
    summaries: &[Option<Summary>],
    target: oriole_isa::Target,
    is_wanted: &dyn Fn(usize) -> bool,
) -> Vec<Option<Features>> {
    let closures = call_closures(summaries);
    let mut totals: Vec<Option<Total>> = vec![None; summaries.len()];
    let mut deep = vec![[0f32; PEAKS]; summaries.len()];
    let mut features: Vec<Option<Features>> = vec![None; summaries.len()];
    for index in closures.order() {
        let Some(own) = &summaries[index] else {
            continue;
        };
        let extended = closures
            .extends(index)
            .and_then(|other| totals[other].clone());
        let total = match extended {
            Some(mut total) => {
                // What it calls is in the closure that it extends, whose functions are in no cycle with it.
                total.add(own, |callee| {
                    totals[callee]
                        .as_ref()
                        .map_or([0.0; PEAKS], |total| total.deep)
                });
                total
            }
            None => {
                let mut total = Total::NOTHING;
                let order = closures.walk(index);
                for &function in &order {
                    if let Some(summary) = &summaries[function] {
                        total.add(summary, |callee| deep[callee]);
                        deep[function] = total.deep;
                    }
                }
                for function in order {
                    deep[function] = [0.0; PEAKS];
                }
                total
            }
        };
        if is_wanted(index) {
            features[index] = Some(Features::of(module, index, own, &total, target));
        }
        totals[index] = Some(total);
    }
    features
}

impl Features {
    fn of(
        module: &Module,
        index: usize,
        own: &Summary,
        total: &Total,
        target: oriole_isa::Target,
    ) -> Features {
        let bounds = module.bounds(FunctionId::from_index(index));
        let limit = bounds.register_limit(module.limits.as_ref());
        let flag = |flag: bool| f32::from(u8::from(flag));
        let flags = [
            flag(module.is_debug),
            flag(target.is_at_least(9, 0)),
            flag(target.is_at_least(10, 0)),
            total.functions as f32,
            limit as f32,
            bounds.threads().unwrap_or(0) as f32,
            bounds.minimum_blocks.unwrap_or(0) as f32,
            bounds.maximum_registers.unwrap_or(0) as f32,
        ];
        let mut values = [0f32; NAMES.len()];
        let all = own
            .peaks
            .into_iter()
            .chain(total.deep)
            .chain(total.highest)
            .chain(total.counts.map(|count| (count + 1.0).log2()))
            .chain(flags);
        let mut count = 0;
        for (place, value) in values.iter_mut().zip(all) {
            *place = value;
            count += 1;
        }
        let steps = steps(target, bounds.threads(), limit);
        for peak in STEPPED {
            let pressure = total.deep[peak];
            let step = |more: f32| step(&steps, pressure + more) as f32;
            let own = [step(2.0), step(8.0), step(8.0) - pressure - 8.0, step(14.0)];
            values[count..count + own.len()].copy_from_slice(&own);
            count += own.len();
        }
        debug_assert_eq!(count, values.len());
        Features {
            values,
            limit,
            threads: bounds.threads(),
            minimum_blocks: bounds.minimum_blocks,
            steps,
        }
    }
}
