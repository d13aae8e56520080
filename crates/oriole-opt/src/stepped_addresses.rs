//! Steps a pointer through a loop where an address is computed from the counter in each iteration.
//!
//! ## Example
//! ```text
//!                                                     mul.wide.s32 %rd4, %r1, 4;
//! $loop:                                              $loop:
//! cvt.s64.s32 %rd2, %r2;
//! mad.lo.s64 %rd3, %rd2, %rd9, %rd1;          →
//! shl.b64 %rd5, %rd3, 2;
//! add.s64 %rd6, %rd8, %rd5;
//! ld.global.f32 %f1, [%rd6];                          ld.global.f32 %f1, [%rd7];
//! …                                                   add.s64 %rd7, %rd7, %rd4;
//! add.s32 %r2, %r2, 1;                                add.s32 %r2, %r2, 1;
//! …                                                   …
//! @%p1 bra $loop;                                     @%p1 bra $loop;
//! ```
//!
//! ## Soundness
//! ScalarEvolution says that the address is an affine recurrence of the loop, in all its bits: where it is extended from 32 bits, it has proved
//! that the counter does not wrap. What the pointer starts with is what the same instructions give for the first iteration,
//! computed before the loop.
//!
//! ## Profit
//! `ptxas` steps no addresses itself. A pointer takes one addition of 64 bits in each iteration, two machine instructions and mostly two moves,
//! and one addition for four iterations where `ptxas` unrolls the loop, since each access has an offset then. Measured on five targets:
//! `mul.wide` and `add.s64` are one machine instruction, so they pay in unrolled loops only (body 19 → 15); sums and products of 64 bits pay
//! in all of them (14 → 6). Addresses of 32 bits pay from two instructions on. A pointer is two registers: no more than a few, and none in functions
//! that need nearly all registers.
//!
//! ## Method
//! Of each loop with one entering and one back edge, the addresses of its own accesses that are computed in it. Those that differ by a number
//! share a pointer. Instructions that nothing else reads go away; they are weighed against the additions.
//!
//! ## Not done
//! Addresses whose 32-bit part may wrap, such as `row * n + i` for arguments of the kernel: nobody knows that it does not. Loops that `ptxas`
//! unrolls completely.

use crate::addresses::{OFFSETS, address_of, cost, is_only_address, rewrite_as_offset};
use crate::loop_region::{Recipe, Region};
use crate::manager::{Action, Context, Pass, Trigger};
use crate::pressure_guard::is_tight;
use crate::remark::Rewrite;
use oriole_analysis::scalar_evolution::{Expression, Kind, Query};
use oriole_analysis::{Analyses, ControlFlow, Loop, Loops, unrolling};
use oriole_collections::{DenseMap, DenseSet};
use oriole_ir::{Block, Definition, Editor, Function, Instruction, Operand, Use, Value};
use oriole_isa::cost::{CostModel, MACHINE_INSTRUCTION};
use oriole_isa::{Mnemonic, Opcode, ScalarType, build};
use std::cell::OnceCell;

/// The pass.
pub(crate) const PASS: Pass = Pass {
    name: "stepped-addresses",
    summary: "Step a pointer where loops compute addresses from a counter",
    action: Action::Once(run, Trigger::Changes),
};

/// Instructions that one address is computed from, in the loop.
const MOST_OPERANDS: usize = 16;
/// Pointers for one loop.
const MOST_POINTERS: usize = 4;
/// How often a back edge must be taken at least sometimes.
const FEWEST_ROUNDS: u64 = 4;

fn run(editor: &mut Editor<'_>, analyses: &mut Analyses, context: &mut Context<'_>) {
    let function = editor.function();
    let model = CostModel::of(context.environment.target());
    let plans = Region::plans(function, analyses, |region, query, plans| {
        plans.extend(plan(region, query, model));
    });
    if plans.is_empty() {
        return;
    }
    let is_copy = |it| function.format(it).mnemonic.opcode() == Opcode::Mov;
    let copies = unrolling::copies(function, is_copy, analyses);
    let (flow, loops) = (
        analyses.get::<ControlFlow>(function),
        analyses.get::<Loops>(function),
    );
    let blocks = OnceCell::new();
    let regions = |this| Region {
        function,
        flow: &flow,
        loops: &loops,
        blocks: &blocks,
        this,
    };
    let plans = plans.into_iter().filter(|plan| {
        let copies = u64::from(copies[plan.this.index()]);
        // What is unrolled completely has no counter.
        plan.trips.is_none_or(|trips| trips > copies)
            && plan.pays(&regions(plan.this), copies, model)
    });
    let plans: Vec<Plan> = plans.collect();
    if plans.is_empty() || is_tight(function, analyses, context.environment) {
        return;
    }
    for plan in plans {
        for pointer in &plan.pointers {
            let rewrite = Rewrite {
                counter: "stepped-addresses.pointers",
                instruction: pointer.roots[0].0,
                why: "it goes on by the same number in each iteration",
                equal: None,
            };
            if !context.allows(editor.function(), rewrite) {
                return;
            }
            plan.step(editor, pointer);
        }
    }
}

/// What is to be done in a loop.
struct Plan {
    this: Loop,
    header: Block,
    /// Whether it is one that can be told of whether `ptxas` unrolls it.
    is_plain: bool,
    /// How often it is executed, if that is a number.
    trips: Option<u64>,
    /// The edge that enters it and the one that goes back.
    enter: (Block, usize),
    back: (Block, usize),
    pointers: Vec<Pointer>,
}

/// An address to step.
struct Pointer {
    /// The first address, what it is computed from in the loop, and where it starts and how it goes on.
    value: Value,
    slice: Vec<Instruction>,
    start: Expression,
    step: Expression,
    recipe: Recipe,
    /// The instructions whose results are this address, and one that is so many bytes farther.
    roots: Vec<(Instruction, i64)>,
}

fn plan(region: &Region<'_>, query: &mut Query<'_>, model: CostModel) -> Option<Plan> {
    let header = region.loops.header(region.this);
    let &[latch] = region.loops.back_edges(region.this) else {
        return None;
    };
    let addresses = addresses(region);
    if addresses.is_empty() {
        return None;
    }
    let enter = region.entering_edge()?;
    let back = region.only_edge(header, |from| from == latch)?;
    let is_plain = is_plain(region);
    let mut pointers: Vec<Pointer> = Vec::new();
    for (value, root) in addresses {
        let slice = region.slice(root, MOST_OPERANDS, |block| block == header);
        // No more than this can be saved: ask for nothing that cannot pay.
        let most = |slice: &[Instruction]| -> u64 {
            let costs = slice.iter().map(|&it| cost(region.function, it, model));
            costs.sum()
        };
        // What no counter is in does not go on.
        let is_counter = |value: Value| {
            let definition = region.function.values()[value].definition;
            definition == Definition::Parameter(header)
        };
        let is_counted = |slice: &[Instruction]| {
            let mut used = slice.iter().flat_map(|&it| region.function.uses(it));
            used.any(is_counter)
        };
        let is_worth_it = |slice: &Vec<Instruction>| {
            is_no_sum(region.function, slice)
                && is_counted(slice)
                && (is_plain || most(slice) >= 2 * MACHINE_INSTRUCTION)
        };
        let Some(slice) = slice.filter(is_worth_it) else {
            continue;
        };
        let address = query.expression(value);
        if !query.expressions().may_run_with(address, header) {
            continue;
        }
        let address = query.widened(address);
        let Some((_, start, step)) = query
            .expressions()
            .as_affine(address)
            .filter(|&(own, ..)| own == header)
        else {
            continue;
        };
        let mut is_known = false;
        for pointer in pointers.iter_mut().filter(|pointer| pointer.step == step) {
            let far = query.expressions_mut().subtract(start, pointer.start);
            let far = query.expressions().as_signed(far);
            // Behind the offset that the access has anyhow.
            let is_near = |&far: &i64| {
                far == 0
                    || (OFFSETS.contains(&far.saturating_mul(2))
                        && is_only_address(region.function, value))
            };
            if let Some(far) = far.filter(is_near) {
                pointer.roots.push((root, far));
                is_known = true;
                break;
            }
        }
        if is_known {
            continue;
        }
        if pointers.len() == MOST_POINTERS {
            return None;
        }
        let Some(recipe) = step_recipe(region, query, value, &slice, step) else {
            continue;
        };
        pointers.push(Pointer {
            value,
            slice,
            start,
            step,
            recipe,
            roots: vec![(root, 0)],
        });
    }
    if pointers.is_empty() {
        return None;
    }
    let taken = query.backedge_taken(header);
    let most = taken.as_ref().and_then(|taken| taken.maximum);
    if most.is_some_and(|most| most < FEWEST_ROUNDS) {
        return None;
    }
    let exact = taken.and_then(|taken| query.expressions().as_constant(taken.exact));
    Some(Plan {
        this: region.this,
        header,
        is_plain,
        trips: exact.map(|taken| taken.saturating_add(1)),
        enter,
        back,
        pointers,
    })
}

/// Whether only one block of a loop does anything but branch, and there is no barrier in it. Of other loops nobody can tell well enough whether `ptxas`
/// unrolls them.
fn is_plain(region: &Region<'_>) -> bool {
    let function = region.function;
    let mut busy = 0;
    for &block in region.all_blocks() {
        let formats = function
            .instructions_of(block)
            .map(|it| function.format(it));
        let mut works = false;
        for format in formats {
            works |= !format.is_terminator();
            if format.effects.ordering.orders_memory() {
                return false;
            }
        }
        busy += u32::from(works);
        if busy > 1 {
            return false;
        }
    }
    busy == 1
}

/// Addresses of the accesses of a loop itself, not of loops in it, that are computed in it, each with the instruction that does.
fn addresses(region: &Region<'_>) -> Vec<(Value, Instruction)> {
    let function = region.function;
    let mut addresses: Vec<(Value, Instruction)> = Vec::new();
    let mut seen: DenseSet<Value> = DenseSet::new();
    for &block in region.own_blocks() {
        for instruction in function.instructions_of(block) {
            let Some(value) = address_of(function, instruction) else {
                continue;
            };
            if let Definition::Instruction(root) = function.values()[value].definition
                && region.holds(root)
                && function.results(root).len() == 1
                && seen.insert(value)
            {
                addresses.push((value, root));
            }
        }
    }
    addresses
}

/// Whether there is anything but sums in what an address is computed from: those are offsets, or `ptxas` adds them itself.
fn is_no_sum(function: &Function, slice: &[Instruction]) -> bool {
    slice.iter().any(|&instruction| {
        matches!(
            function.format(instruction).mnemonic.opcode(),
            Opcode::Mul | Opcode::Mad | Opcode::Shl | Opcode::Cvt
        )
    })
}

/// How to compute by how much an address goes on, from values before the loop.
fn step_recipe(
    region: &Region<'_>,
    query: &mut Query<'_>,
    value: Value,
    slice: &[Instruction],
    step: Expression,
) -> Option<Recipe> {
    let expressions = query.expressions();
    if let Some(number) = expressions.as_constant(step) {
        return (number != 0).then_some(Recipe::Number(number));
    }
    let factor = match (expressions.kind(step), expressions.operands(step)) {
        (Kind::Multiply, &[factor, _]) => expressions.as_constant(factor)?,
        _ => 1,
    };
    let function = region.function;
    let mut sources: Vec<Value> = slice.iter().flat_map(|&it| function.uses(it)).collect();
    sources.retain(|&source| {
        let block = function.defining_block(source);
        block.is_some_and(|block| !region.contains(block))
    });
    // What was extended before the loop: a wide product is cheaper to add than one of 64 bits.
    let extended: Vec<Value> = sources
        .iter()
        .filter_map(|&source| match function.values()[source].definition {
            Definition::Instruction(it) => Some(it),
            _ => None,
        })
        .filter(|&it| function.format(it).mnemonic.opcode() == Opcode::Cvt)
        .flat_map(|it| function.uses(it))
        .collect();
    sources.extend(extended);
    sources.sort_unstable();
    sources.dedup();
    let is_plain = |recipe: &Recipe| matches!(recipe, Recipe::Multiple(_, _, None, 0));
    region
        .wide_multiple(query, step, &sources, factor)
        .or_else(|| match factor {
            1 => region.recipe(query, value, step, &sources),
            _ => region
                .multiple(query, value, step, &sources, factor)
                .filter(is_plain),
        })
}

impl Plan {
    /// Whether the machine has less to do for it.
    fn pays(&self, region: &Region<'_>, copies: u64, model: CostModel) -> bool {
        let function = region.function;
        let is_wide = |pointer: &Pointer| function.values()[pointer.value].scalar_type.bits() == 64;
        let saved = self.saved(region, model);
        let is_unrolled = copies > 1 && self.is_plain;
        let mut added = 0;
        for pointer in &self.pointers {
            let bits = if is_wide(pointer) { 64 } else { 32 };
            let signed = ScalarType::integer(true, bits).expect("32 or 64 bits");
            let sum = build::typed(Opcode::Add, signed);
            let sum = model.cost(&Mnemonic::parse(sum.as_str()));
            added += match pointer.recipe {
                Recipe::Number(_) if is_unrolled => sum / copies,
                // The halves are added in other registers than the access reads, and copied there.
                Recipe::Number(_) if is_wide(pointer) && model.has_wide_pairs() => 2 * sum,
                Recipe::Number(_) => sum,
                // `ptxas` makes a product and a sum of both.
                _ => MACHINE_INSTRUCTION,
            };
        }
        let least = match is_unrolled && self.pointers.iter().all(is_wide) {
            true => 1,
            false => MACHINE_INSTRUCTION,
        };
        saved >= added + least
    }

    /// What goes away in each iteration.
    fn saved(&self, region: &Region<'_>, model: CostModel) -> u64 {
        let function = region.function;
        let roots = self.pointers.iter().flat_map(|pointer| &pointer.roots);
        let mut list: Vec<Instruction> = roots.map(|&(root, _)| root).collect();
        let mut gone: DenseSet<Instruction> = list.iter().copied().collect();
        let mut next = 0;
        while let Some(&instruction) = list.get(next) {
            next += 1;
            for value in function.uses(instruction) {
                let Definition::Instruction(source) = function.values()[value].definition else {
                    continue;
                };
                let mut results = function.results(source);
                let is_unread = results.all(|result| {
                    function.uses_of(result).all(|user| match user {
                        Use::Instruction(reader) => gone.contains(&reader),
                        Use::Edge(_) => false,
                    })
                });
                if is_unread && region.holds(source) && gone.insert(source) {
                    list.push(source);
                }
            }
        }
        let (latch, back) = self.back;
        let parameters = function.blocks()[self.header].parameters.iter();
        let nexts = function.arguments(function.edges(latch)[back]);
        for (&parameter, &next) in parameters.zip(nexts) {
            list.extend(self.idle_increment(function, &gone, parameter, next));
        }
        let costs = list.iter().map(|&it| cost(function, it, model));
        costs.sum()
    }

    /// The increment of a counter that nothing reads but instructions that are gone.
    fn idle_increment(
        &self,
        function: &Function,
        gone: &DenseSet<Instruction>,
        parameter: Value,
        next: Value,
    ) -> Option<Instruction> {
        let Definition::Instruction(increment) = function.values()[next].definition else {
            return None;
        };
        let mut readers = function.uses_of(parameter);
        let is_idle = readers.all(|user| match user {
            Use::Instruction(reader) => reader == increment || gone.contains(&reader),
            Use::Edge(_) => false,
        });
        let mut readers = function.uses_of(next);
        let is_idle = is_idle && readers.all(|user| user == Use::Edge(self.back.0));
        let is_read = function.use_count(parameter) > 1;
        (is_idle && is_read && function.use_count(next) == 1).then_some(increment)
    }

    /// Makes a pointer and lets it stand for its addresses.
    fn step(&self, editor: &mut Editor<'_>, pointer: &Pointer) {
        let root = pointer.roots[0].0;
        let (entering, enter) = self.enter;
        let (latch, back) = self.back;
        let start = self.start(editor, pointer);
        let step = match pointer.recipe {
            Recipe::Number(_) => None,
            recipe => Some(recipe.make(editor, pointer.value, entering, root)),
        };
        let bits = editor.function().values()[pointer.value].scalar_type.bits();
        let untyped = ScalarType::untyped(bits).expect("32 or 64 bits");
        let parameter = editor.add_parameter(self.header, untyped);
        let next = match (pointer.recipe, step) {
            (Recipe::Number(number), _) => Recipe::Plus(parameter, number),
            (_, Some(step)) => Recipe::Sum(parameter, step),
            (_, None) => unreachable!("a step that is no number was made"),
        };
        let next = next.make(editor, parameter, latch, root);
        editor.push_argument(entering, enter, start);
        editor.push_argument(latch, back, next);
        for &(root, far) in &pointer.roots {
            rewrite_as_offset(editor, root, parameter, far);
        }
    }

    /// The address in the first iteration, computed at the end of the block that enters the loop.
    fn start(&self, editor: &mut Editor<'_>, pointer: &Pointer) -> Value {
        let (entering, enter) = self.enter;
        let function = editor.function();
        let parameters = function.blocks()[self.header].parameters.iter();
        let arguments = function.arguments(function.edges(entering)[enter]);
        let mut values: DenseMap<Value, Value> = DenseMap::new();
        for (&parameter, &argument) in parameters.zip(arguments) {
            values.insert(parameter, argument);
        }
        for &instruction in &pointer.slice {
            let function = editor.function();
            let operands = function.operands(instruction).iter();
            let operands: Vec<Operand> = operands
                .map(|&operand| match operand {
                    Operand::Value(value) => {
                        Operand::Value(values.get(&value).copied().unwrap_or(value))
                    }
                    other => other,
                })
                .collect();
            let results = function.results(instruction);
            let types: Vec<ScalarType> = results
                .map(|result| function.values()[result].scalar_type)
                .collect();
            let format = function.instruction(instruction).format;
            let copy = editor.insert_at_end(entering, format, &operands, &types);
            editor.copy_line(instruction, copy);
            let function = editor.function();
            for (own, new) in function.results(instruction).zip(function.results(copy)) {
                values.insert(own, new);
            }
        }
        values[&pointer.value]
    }
}
