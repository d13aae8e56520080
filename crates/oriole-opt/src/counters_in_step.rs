//! Lets one counter do the work of two that go in step.
//!
//! ## Example
//! ```text
//! mov.u32 %r2, %r1;
//! mov.u32 %r3, 0;                         mov.u32 %r3, 0;
//! $loop:                                  $loop:
//! st.shared.u32 [%r3], %r4;               st.shared.u32 [%r3], %r4;
//! add.s32 %r3, %r3, 4;               →    add.s32 %r3, %r3, 4;
//! add.s32 %r2, %r2, -4;
//! setp.ne.s32 %p1, %r2, 0;                setp.ne.s32 %p1, %r3, %r1;
//! @%p1 bra $loop;                         @%p1 bra $loop;
//! ```
//!
//! ## Soundness
//! ScalarEvolution says what the other counter can be compared with so that the exit is taken in the same iteration
//! (`scalar_evolution::exit_values`): its distance to that is a multiple of the distance that was compared.
//!
//! ## Method
//! Of a loop with one back edge and one block that enters it, a counter is looked for that nothing reads but its increment and the test of an exit, and
//! another of the same width that something else in the loop reads. What that is compared with is computed at the end of the block that enters
//! the loop. The first counter is dead then, and `dead-code` removes it. `ptxas` unrolls the loop as before: the step is a number, and the exit is one.
//!
//! ## Not done
//! Large loops. Loops that go round three times at most, or a known number of times: what is computed before the loop costs as much as it saves, and
//! `ptxas` unrolls the others (`counters_in_step`). Counters of another width: pointers take two machine instructions to compare.

use crate::loop_region::{Recipe, Region};
use crate::manager::{Action, Context, Pass, Trigger};
use crate::remark::Rewrite;
use oriole_analysis::scalar_evolution::Query;
use oriole_analysis::{Analyses, Dominators};
use oriole_ir::{Block, Definition, Editor, Instruction, Operand, Use, Value};
use oriole_isa::{Comparison, Opcode, ScalarType, build};

/// The pass.
pub(crate) const PASS: Pass = Pass {
    name: "counters-in-step",
    summary: "Let one counter do the work of two that go in step",
    action: Action::Once(run, Trigger::Changes),
};

/// Instructions of a loop that is worth it. In a large one an addition is little, and what is compared may take a register that is short.
const LARGEST_LOOP: usize = 40;
/// The same where more than one instruction is needed to compute what is compared.
const LARGEST_LOOP_FOR_MULTIPLES: usize = 24;
/// How often a back edge must be taken at least sometimes.
const FEWEST_ROUNDS: u64 = 4;

fn run(editor: &mut Editor<'_>, analyses: &mut Analyses, context: &mut Context<'_>) {
    let function = editor.function();
    let dominators = analyses.get::<Dominators>(function);
    let plans = Region::plans(function, analyses, |region, query, plans| {
        plans.extend(plan(region, &dominators, query));
    });
    for plan in plans {
        let rewrite = Rewrite {
            counter: "counters-in-step.tests",
            instruction: plan.test,
            why: "another counter goes in step",
            equal: None,
        };
        if !context.allows(editor.function(), rewrite) {
            return;
        }
        let end = plan
            .recipe
            .make(editor, plan.value, plan.entering, plan.test);
        let bits = editor.function().values()[plan.value].scalar_type.bits();
        // `ptxas` computes how often to unroll in fewer instructions if the numbers are signed.
        let signed = ScalarType::integer(true, bits).expect("32 or 64 bits");
        let format = editor.plain_format(&build::setp(plan.comparison, signed), 3);
        let operands = [
            Operand::Result(0),
            Operand::Value(plan.value),
            Operand::Value(end),
        ];
        editor.rewrite(plan.test, format, &operands);
    }
}

/// A test of one counter that becomes a test of another.
struct Plan {
    test: Instruction,
    value: Value,
    comparison: Comparison,
    recipe: Recipe,
    entering: Block,
}

/// A parameter of a header that is incremented once in each iteration.
#[derive(Clone, Copy)]
struct Counter {
    parameter: Value,
    next: Value,
    increment: Instruction,
}

fn plan(region: &Region<'_>, dominators: &Dominators, query: &mut Query<'_>) -> Option<Plan> {
    let function = region.function;
    let header = region.loops.header(region.this);
    let &[latch] = region.loops.back_edges(region.this) else {
        return None;
    };
    let enter = region.entering_edge()?;
    let (_, back) = region.only_edge(header, |from| from == latch)?;
    // First, as a large loop may have many counters.
    let blocks = region.all_blocks().iter();
    let instructions = blocks.flat_map(|&block| function.instructions_of(block));
    let size = instructions.take(LARGEST_LOOP + 1).count();
    if size > LARGEST_LOOP {
        return None;
    }
    let parameters = &function.blocks()[header].parameters;
    let nexts = function.arguments(function.edges(latch)[back]);
    let counters = parameters.iter().zip(nexts);
    let counters = counters.filter_map(|(&parameter, &next)| counter(region, parameter, next));
    let counters: Vec<Counter> = counters.collect();
    if counters.len() < 2 {
        return None;
    }
    let (tested, test, exit) = counters.iter().find_map(|&counter| {
        let (test, exit) = only_test(region, counter, latch)?;
        Some((counter, test, exit))
    })?;
    let bits = |value: Value| function.values()[value].scalar_type.bits();
    let others = counters.iter().filter(|other| {
        other.parameter != tested.parameter
            && bits(other.parameter) == bits(tested.parameter)
            && is_needed(region, **other, latch)
    });
    let others: Vec<Counter> = others.copied().collect();
    if others.is_empty() {
        return None;
    }
    let taken = query.backedge_taken(header)?;
    let is_number = query.expressions().as_constant(taken.exact).is_some();
    if is_number || taken.maximum.is_some_and(|most| most < FEWEST_ROUNDS) {
        return None;
    }
    let comparison = comparison(region, exit, function.results(test).next()?)?;
    let sources = region.sources(enter, exit);
    for other in others {
        // Where the test stands, the next value may not be there yet.
        let value = match stands_before(region, dominators, other.increment, test) {
            true => other.next,
            false => other.parameter,
        };
        let Some((end, times)) = query.equal_exit(value, header, exit) else {
            continue;
        };
        let recipe = region.recipe(query, value, end, &sources).or_else(|| {
            if size > LARGEST_LOOP_FOR_MULTIPLES {
                return None;
            }
            let factor = times.wrapping_neg() as u64;
            region.multiple(query, value, end, &sources, factor)
        });
        if let Some(recipe) = recipe {
            return Some(Plan {
                test,
                value,
                comparison,
                recipe,
                entering: enter.0,
            });
        }
    }
    None
}

fn counter(region: &Region<'_>, parameter: Value, next: Value) -> Option<Counter> {
    let function = region.function;
    let held = function.values()[parameter].scalar_type;
    if !matches!(held.bits(), 32 | 64) || held.is_float() || held.lanes() > 1 {
        return None;
    }
    let Definition::Instruction(increment) = function.values()[next].definition else {
        return None;
    };
    let format = function.format(increment);
    let is_sum = matches!(format.mnemonic.opcode(), Opcode::Add | Opcode::Sub);
    let reads_it = function.uses(increment).any(|own| own == parameter);
    (is_sum && reads_it && format.is_simple() && region.holds(increment)).then_some(Counter {
        parameter,
        next,
        increment,
    })
}

/// The comparison that is all that reads a counter, besides its increment, and the block that leaves the loop by it.
fn only_test(region: &Region<'_>, counter: Counter, latch: Block) -> Option<(Instruction, Block)> {
    let function = region.function;
    let mut tests: Vec<Instruction> = Vec::new();
    for value in [counter.parameter, counter.next] {
        for user in function.uses_of(value) {
            match user {
                Use::Instruction(reader) if reader == counter.increment => {}
                Use::Instruction(reader) => tests.push(reader),
                Use::Edge(from) if from == latch && value == counter.next => {
                    let edges = function.edges(from).iter();
                    let arguments = edges.flat_map(|&edge| function.arguments(edge));
                    if arguments.filter(|&&own| own == value).count() != 1 {
                        return None;
                    }
                }
                Use::Edge(_) => return None,
            }
        }
    }
    let &[test] = tests.as_slice() else {
        return None;
    };
    let format = function.format(test);
    let is_plain = format.mnemonic.opcode() == Opcode::Setp
        && format.is_simple()
        && format.mnemonic.modifiers().boolean.is_none()
        && function.results(test).len() == 1
        && region.holds(test);
    if !is_plain {
        return None;
    }
    let predicate = function.results(test).next()?;
    let mut exit = None;
    for user in function.uses_of(predicate) {
        let Use::Instruction(branch) = user else {
            return None;
        };
        let block = function.block_of(branch)?;
        if exit.is_some() || function.last_instruction(block) != Some(branch) {
            return None;
        }
        exit = Some(block);
    }
    Some((test, exit?))
}

/// How to compare for equality so that the branch at the end of a block goes on as long as numbers differ.
fn comparison(region: &Region<'_>, exit: Block, predicate: Value) -> Option<Comparison> {
    let function = region.function;
    let branch = function.last_instruction(exit)?;
    let format = function.format(branch);
    let data = &function.blocks()[exit];
    let is_choice = format.effects.terminator == oriole_isa::Terminator::Branch
        && data.edges.len() == 2
        && data.fall_through() == Some(1)
        && function.guard(branch) == Some(Operand::Value(predicate));
    if !is_choice {
        return None;
    }
    let stays = [0, 1].map(|edge: usize| region.contains(data.edges[edge].target));
    let is_taken_if_true = format.guard == oriole_syntax::tree::Guard::If;
    match (stays, is_taken_if_true) {
        ([true, false], true) | ([false, true], false) => Some(Comparison::NotEqual),
        ([false, true], true) | ([true, false], false) => Some(Comparison::Equal),
        _ => None,
    }
}

/// Whether something in the loop but its increment reads a counter.
fn is_needed(region: &Region<'_>, counter: Counter, latch: Block) -> bool {
    let function = region.function;
    [counter.parameter, counter.next].into_iter().any(|value| {
        function.uses_of(value).any(|user| match user {
            Use::Instruction(reader) => reader != counter.increment && region.holds(reader),
            Use::Edge(from) => from != latch && region.contains(from),
        })
    })
}

/// Whether an instruction was always executed when another is.
fn stands_before(
    region: &Region<'_>,
    dominators: &Dominators,
    first: Instruction,
    second: Instruction,
) -> bool {
    let function = region.function;
    let (Some(above), Some(below)) = (function.block_of(first), function.block_of(second)) else {
        return false;
    };
    if above != below {
        return dominators.dominates(above, below);
    }
    let mut instructions = function.instructions_of(above);
    instructions.find(|&own| own == first || own == second) == Some(first)
}
