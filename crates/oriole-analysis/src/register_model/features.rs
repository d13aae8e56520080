//! What a prediction of register counts looks at.
//!
//! `ptxas` does not allocate the registers of the PTX: it deletes dead code, reads parameters and constants straight from
//! their bank, coalesces copies and address-space casts, moves uniform integer work to uniform registers, and moves loads up
//! as far as it can. Each of these is undone here in turn on the SSA form, and the pressure taken again; counts of what
//! costs registers for other reasons (calls, divisions, doubles, tensor cores) go beside them.

use super::call_closure::CallClosures;
use super::folding::{Folded, Order, View, is_load};
use crate::liveness::{LiveIntervals, Pressure, Program, RegisterFile, Registers, Values};
use crate::{Analyses, ControlFlow, Loops};
use oriole_ir::graph::Adjacency;
use oriole_ir::{
    Function, FunctionId, Instruction, Module, Operand, SymbolKind, VariableKind, VariableType,
};
use oriole_isa::{Flag, Opcode, Role, ScalarType, Space};

/// Features that are pressures of one function: what it calls adds to them where it is called.
const PEAKS: usize = 11;
/// Features of which the highest of a function and what it calls counts.
const HIGHEST: usize = 23;
/// Features that add up over a function and what it calls; their logarithm is used.
const COUNTS: usize = 32;

/// Names of the features, in order.
pub const NAMES: [&str; PEAKS * 2 + HIGHEST + COUNTS + 5] = [
    // Pressures: registers as written, values, without what takes none, without uniform ones, the same with loads moved
    // up, in loops, the average, everything put where it is first needed, and the lesser of that and what is written.
    "written",
    "values",
    "folded",
    "data",
    "hoisted",
    "hoisted_data",
    "loop_peak",
    "loop_data",
    "average",
    "late",
    "least",
    // The same with what is called.
    "written_deep",
    "values_deep",
    "folded_deep",
    "data_deep",
    "hoisted_deep",
    "hoisted_data_deep",
    "loop_peak_deep",
    "loop_data_deep",
    "average_deep",
    "late_deep",
    "least_deep",
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
    // Flags.
    "debug",
    "hopper",
    "blackwell",
    "functions",
    "limit",
];

/// The features of one function.
#[derive(Clone, Debug, PartialEq)]
pub struct Features {
    values: [f32; NAMES.len()],
    /// Registers a thread may have at most, by the function's directives.
    pub limit: u32,
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
        let index = NAMES
            .iter()
            .position(|own| *own == name)
            .unwrap_or_else(|| panic!("there is no feature `{name}`"));
        self.values[index]
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
    /// Summarises a function of a module, given its registers and its SSA form.
    #[expect(
        clippy::too_many_lines,
        reason = "one feature after the other, in the order of the model"
    )]
    pub fn of(
        module: &Module,
        id: FunctionId,
        registers: &Registers,
        function: &Function,
    ) -> Summary {
        let local = frame_bytes(function);
        let mut analyses = Analyses::new();
        let flow = analyses.get::<ControlFlow>(function);
        let loops = analyses.get::<Loops>(function);
        let folded = Folded::of(function, &mut analyses);
        let values = Values::of(function);
        let peak = |pressure: &Pressure| pressure.peak(RegisterFile::Data).units as f32;
        let written = Pressure::of(registers, &LiveIntervals::of(registers));
        let whole = Pressure::of(&values, &LiveIntervals::of(&values));
        let view = View::new(function, &values, &folded, Order::Written);
        let intervals = LiveIntervals::of(&view);
        let plain = Pressure::of(&view, &intervals);
        let count = values.value_count();
        let divergent_units = |entity: u32| {
            let uniform = (entity as usize) < count && folded.uniform[entity as usize];
            if uniform { 0 } else { view.units(entity) }
        };
        let data = Pressure::weighted(&view, &intervals, divergent_units);
        let hoisted_view = View::new(function, &values, &folded, Order::LoadsFirst);
        let hoisted_intervals = LiveIntervals::of(&hoisted_view);
        let hoisted = Pressure::of(&hoisted_view, &hoisted_intervals);
        let hoisted_data = Pressure::weighted(&hoisted_view, &hoisted_intervals, divergent_units);
        let late_view = View::new(function, &values, &folded, Order::OnDemand);
        let late = Pressure::of(&late_view, &LiveIntervals::of(&late_view));
        let instruction_at = |number: u32| values.instruction(view.instructions[number as usize]);
        let block_of = |number: u32| {
            function
                .block_of(instruction_at(number))
                .expect("in a block")
        };
        let mut loop_peak = 0;
        let mut loop_data = 0;
        let mut sum = 0u64;
        let mut calls = Vec::new();
        for number in 0..view.instruction_count() as u32 {
            let here = plain.at(RegisterFile::Data, number);
            sum += u64::from(here);
            if loops.depth(block_of(number)) > 0 {
                loop_peak = loop_peak.max(here);
                loop_data = loop_data.max(data.at(RegisterFile::Data, number));
            }
            if function.format(instruction_at(number)).effects.is_call {
                calls.push((
                    callee(module, function, instruction_at(number)),
                    here as f32,
                ));
            }
        }
        let top = plain.peak(RegisterFile::Data);
        let in_loop = top
            .instruction
            .map_or(0, |number| loops.depth(block_of(number)));
        let wide = Pressure::live_at(&view, &intervals, RegisterFile::Data, top.slot)
            .into_iter()
            .filter(|&entity| view.units(entity) >= 2)
            .count();
        let mut positions = vec![0u32; function.blocks().len()];
        for block in 0..values.block_count() as u32 {
            positions[values.block(block).index()] = block;
        }
        let mut across = 0;
        let mut loop_loads = vec![0u32; loops.iter().count()];
        let mut loop_values = loop_loads.clone();
        let mut sizes = vec![(0u32, false); loop_loads.len()];
        let into_blocks = Pressure::into_blocks(&view, &intervals, RegisterFile::Data);
        for this in loops.iter() {
            let header = positions[loops.header(this).index()];
            across = across.max(into_blocks[header as usize]);
        }
        let mut counts = Counts::default();
        for &block in flow.reverse_postorder() {
            let loads = counts.block(function, block);
            if let Some(this) = loops.innermost(block) {
                loop_loads[this.index()] += loads;
                for instruction in function.instructions_of(block) {
                    let format = function.format(instruction);
                    sizes[this.index()].0 += 1;
                    sizes[this.index()].1 |=
                        format.effects.is_call || format.effects.ordering.orders_memory();
                    loop_values[this.index()] += function
                        .results(instruction)
                        .map(|value| folded.units(function, value))
                        .sum::<u32>();
                }
            }
        }
        // A loop that only repeats a few instructions is repeated in the code, and its loads are issued together.
        let mut unrolled = 0;
        let mut has_inner = vec![false; loop_loads.len()];
        for parent in loops.iter().filter_map(|this| loops.parent(this)) {
            has_inner[parent.index()] = true;
        }
        for this in loops.iter() {
            let size = &sizes[this.index()];
            if size.0 <= 48 && !size.1 && !has_inner[this.index()] {
                unrolled = unrolled.max(loop_loads[this.index()] * 4);
            }
        }
        let mentioned = mentioned_units(registers);
        let between = intervals
            .sets()
            .globals()
            .filter(|&entity| view.file(entity) == RegisterFile::Data)
            .map(|entity| view.units(entity))
            .sum::<u32>();
        let mut symbols: Vec<u32> = Vec::new();
        for &block in flow.reverse_postorder() {
            for instruction in function.instructions_of(block) {
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
                peak(&written),
                peak(&whole),
                peak(&plain),
                peak(&data),
                peak(&hoisted),
                peak(&hoisted_data),
                loop_peak as f32,
                loop_data as f32,
                sum as f32 / view.instruction_count().max(1) as f32,
                peak(&late),
                peak(&late).min(peak(&plain)),
            ],
            highest: [
                plain.peak(RegisterFile::Predicate).units,
                in_loop,
                wide as u32,
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
                unrolled,
                symbols.len() as u32,
                loop_values.into_iter().max().unwrap_or(0),
                counts.block_loads,
                written.peak(RegisterFile::Data).units,
                plain.peak(RegisterFile::Data).units,
                hoisted.peak(RegisterFile::Data).units,
                calls.iter().map(|call| call.1 as u32).max().unwrap_or(0),
                registers
                    .calls()
                    .iter()
                    .map(|&call| written.at(RegisterFile::Data, call))
                    .max()
                    .unwrap_or(0),
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
        features[index] = Some(Features::of(module, index, own, &total, target));
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
        let limit = bounds.register_limit();
        let flag = |flag: bool| f32::from(u8::from(flag));
        let flags = [
            flag(module.is_debug),
            flag(target.is_at_least(9, 0)),
            flag(target.is_at_least(10, 0)),
            total.functions as f32,
            limit as f32,
        ];
        let mut values = [0f32; NAMES.len()];
        let all = own
            .peaks
            .into_iter()
            .chain(total.deep)
            .chain(total.highest)
            .chain(total.counts.map(|count| (count + 1.0).log2()))
            .chain(flags);
        for (place, value) in values.iter_mut().zip(all) {
            *place = value;
        }
        Features { values, limit }
    }
}

#[derive(Default)]
struct Counts {
    loads_global: u32,
    loads_shared: u32,
    loads_local: u32,
    stores: u32,
    widest_load: u32,
    divisions_32: u32,
    divisions_64: u32,
    divisions_f32: u32,
    divisions_f64: u32,
    roots: u32,
    transcendental: u32,
    doubles: u32,
    halves: u32,
    calls: u32,
    fragments: u32,
    barriers: u32,
    atomics: u32,
    shuffles: u32,
    special: u32,
    block_values: u32,
    largest_block: u32,
    run_of_loads: u32,
    conversions: u32,
    wide_values: u32,
    branches: u32,
    loads_generic: u32,
    widest_store: u32,
    float_work: u32,
    integer_work: u32,
    selections: u32,
    textures: u32,
    guards: u32,
    block_loads: u32,
}

impl Counts {
    /// Counts a block; registers its loads fill.
    fn block(&mut self, function: &Function, block: oriole_ir::Block) -> u32 {
        let mut size = 0;
        let mut loads = 0;
        let mut run = 0;
        self.block_values += function.blocks()[block].parameters.len() as u32;
        self.branches += u32::from(function.blocks()[block].edges.len() > 1);
        for instruction in function.instructions_of(block) {
            size += 1;
            let results: u32 = function
                .results(instruction)
                .map(|value| function.values()[value].scalar_type.bits().div_ceil(32))
                .sum();
            if is_load(function, instruction) {
                run += results;
                loads += results;
                self.run_of_loads = self.run_of_loads.max(run);
            } else if !function.format(instruction).effects.writes.is_empty() {
                run = 0;
            }
            self.instruction(function, instruction, results);
        }
        self.largest_block = self.largest_block.max(size);
        self.block_loads = self.block_loads.max(loads);
        loads
    }

    fn instruction(&mut self, function: &Function, instruction: Instruction, results: u32) {
        let format = function.format(instruction);
        let mnemonic = &format.mnemonic;
        let first = mnemonic.first_type();
        let float = first.is_some_and(|own| own.is_float());
        let bits = first.map_or(32, |own| own.bits());
        self.calls += u32::from(format.effects.is_call);
        self.doubles += u32::from(first == Some(ScalarType::F64));
        self.halves += u32::from(
            float && bits == 16 || bits == 32 && first.is_some_and(|own| own.lanes() == 2),
        );
        self.wide_values += u32::from(results == 2);
        self.guards += u32::from(format.is_guarded() && !format.is_terminator());
        let removable = format.effects.is_removable_if_converged();
        self.float_work += u32::from(removable && float);
        self.integer_work += u32::from(removable && !float);
        match mnemonic.opcode() {
            Opcode::Tex | Opcode::Tld4 | Opcode::Suld => self.textures += 1,
            Opcode::Selp | Opcode::Slct | Opcode::Min | Opcode::Max => self.selections += 1,
            Opcode::Ld | Opcode::Ldu => {
                self.widest_load = self.widest_load.max(results);
                match mnemonic.space() {
                    Some(Space::Param) => {}
                    Some(Space::Local) => self.loads_local += 1,
                    Some(Space::Shared | Space::SharedCluster) => self.loads_shared += 1,
                    Some(Space::Generic) | None => self.loads_generic += 1,
                    _ => self.loads_global += 1,
                }
            }
            Opcode::St => match mnemonic.space() {
                Some(Space::Local) => self.loads_local += 1,
                Some(Space::Param) => {}
                _ => {
                    self.stores += 1;
                    let width = mnemonic.vector_width() * bits.div_ceil(32);
                    self.widest_store = self.widest_store.max(width);
                }
            },
            Opcode::Div | Opcode::Rem => match (float, bits) {
                (false, 64) => self.divisions_64 += 1,
                (false, _) => self.divisions_32 += 1,
                (true, 64) => self.divisions_f64 += 1,
                (true, _) => {
                    self.divisions_f32 += u32::from(!mnemonic.has(Flag::Approximate));
                }
            },
            Opcode::Sqrt | Opcode::Rcp | Opcode::Rsqrt => {
                self.roots += u32::from(!mnemonic.has(Flag::Approximate) || bits == 64);
            }
            Opcode::Sin | Opcode::Cos | Opcode::Lg2 | Opcode::Ex2 | Opcode::Tanh => {
                self.transcendental += 1;
            }
            Opcode::Mma
            | Opcode::MmaSp
            | Opcode::WmmaMma
            | Opcode::WmmaLoad
            | Opcode::Ldmatrix
            | Opcode::WgmmaMmaAsync
            | Opcode::WgmmaMmaAsyncSp
            | Opcode::Tcgen05Ld => {
                let width = function.leaves(instruction).len() as u32;
                self.fragments = self.fragments.max(width);
            }
            Opcode::BarSync | Opcode::BarrierSync | Opcode::BarRed | Opcode::BarrierRed => {
                self.barriers += 1;
            }
            Opcode::Atom | Opcode::Red => self.atomics += 1,
            Opcode::Shfl | Opcode::VoteSync | Opcode::Vote | Opcode::Redux => self.shuffles += 1,
            Opcode::Cvt => self.conversions += 1,
            Opcode::Mov => {
                let special = function.leaves(instruction).iter().any(|leaf| {
                    matches!(leaf, Operand::Symbol(symbol)
                        if matches!(function.symbols()[*symbol].kind, SymbolKind::Special(_)))
                });
                self.special += u32::from(special);
            }
            _ => {}
        }
    }
}
