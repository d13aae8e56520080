//! Writes out the iterations of loops that run a small constant number of times.
//!
//! ## Example
//! ```text
//! mov.u32 %r1, 0;                         mov.u32 %r1, 0;
//! $loop:                                  st.global.u32 [%rd1], %r1;
//! st.global.u32 [%rd1], %r1;         →    add.s32 %r2, %r1, 1;
//! add.s32 %r1, %r1, 1;                    st.global.u32 [%rd1], %r2;
//! setp.lt.u32 %p1, %r1, 2;                add.s32 %r3, %r2, 1;
//! @%p1 bra $loop;
//! ```
//!
//! ## Soundness
//! The only way out of the loop is decided in every iteration, and evaluating the code that decides it, iteration after
//! iteration, shows in which one it is taken, whatever else the loop does. So every copy but the last goes on, and the last one
//! leaves. Warp-synchronous operations are not copied: lanes that meet at one instruction would wait at two.
//!
//! ## Method
//! The loop's blocks are copied with a value map, once for every iteration but the first; the branch back of each copy leads to
//! the next. What was read behind the loop is read from the last copy. Constants are found by `constant-folding`'s rules.
//!
//! ## Not done
//! Loops with several exits, with calls or warp-synchronous operations, of more than 8 iterations, or with counts that depend on
//! anything but constants (`full_unrolling_unchanged`). Loops around others are left until the inner ones are gone.

use crate::constant_folding::fold;
use crate::manager::{Action, Context, Pass, Trigger};
use crate::remark::Rewrite;
use oriole_analysis::{Analyses, ControlFlow, Dominators, Loop, Loops};
use oriole_collections::{DenseMap, DenseSet};
use oriole_ir::{Block, Clones, Definition, Editor, Function, Operand, Use, Value};
use oriole_isa::Terminator;
use oriole_syntax::tree::Guard;

/// The pass.
pub(crate) const PASS: Pass = Pass {
    name: "full-unrolling",
    summary: "Write out the iterations of loops that run at most 8 times",
    action: Action::Once(run, Trigger::Changes),
};

/// Iterations of a loop that is unrolled.
const MOST_TRIPS: usize = 8;
/// Instructions of all copies together.
const MOST_INSTRUCTIONS: usize = 512;

fn run(editor: &mut Editor<'_>, analyses: &mut Analyses, context: &mut Context<'_>) {
    let function = editor.function();
    let loops = analyses.get::<Loops>(function);
    let flow = analyses.get::<ControlFlow>(function);
    let dominators = analyses.get::<Dominators>(function);
    // Plans are made of the function as it is; innermost loops do not overlap.
    let plans: Vec<Plan> = loops
        .iter()
        .filter_map(|this| plan(function, &flow, &dominators, &loops, this))
        .collect();
    for plan in plans {
        let branch = editor.function().last_instruction(plan.exit.0);
        let rewrite = Rewrite {
            counter: "full-unrolling.loops",
            instruction: branch.expect("the exit is a branch"),
            why: "it runs a small constant number of times",
            equal: None,
        };
        if !context.allows(editor.function(), rewrite) {
            return;
        }
        unroll(editor, &plan);
    }
}

/// A loop to unroll.
struct Plan {
    /// Its blocks, in reverse postorder: the header first.
    blocks: Vec<Block>,
    /// The block that branches back, and its edge to the header.
    latch: (Block, usize),
    /// The block with the only way out, the edge out of the loop, and the one that stays.
    exit: (Block, usize, usize),
    /// How often the exit is asked for.
    trips: usize,
}

fn plan(
    function: &Function,
    flow: &ControlFlow,
    dominators: &Dominators,
    loops: &Loops,
    this: Loop,
) -> Option<Plan> {
    let header = loops.header(this);
    let &[latch] = loops.back_edges(this) else {
        return None;
    };
    let order = flow.reverse_postorder();
    let blocks: Vec<Block> = order[flow.position(header)..]
        .iter()
        .copied()
        .filter(|&block| loops.contains(this, block))
        .collect();
    // Innermost loops only.
    if blocks
        .iter()
        .any(|&block| loops.innermost(block) != Some(this))
    {
        return None;
    }
    let mut size = 0;
    let mut exits = Vec::new();
    for &block in &blocks {
        if flow.may_leave(block) {
            return None;
        }
        for instruction in function.instructions_of(block) {
            let format = function.format(instruction);
            let effects = &format.effects;
            if format.opaque
                || effects.is_call
                || effects.convergent
                || effects.terminator == Terminator::IndirectBranch
                || format.leaves.iter().any(|leaf| leaf.pinned)
            {
                return None;
            }
            size += 1;
        }
        for (index, edge) in function.edges(block).iter().enumerate() {
            if !loops.contains(this, edge.target) {
                exits.push((block, index));
            }
        }
    }
    let &[(exit, out)] = &exits[..] else {
        return None;
    };
    if function.edges(exit).len() != 2 || !dominators.dominates(exit, latch) {
        return None;
    }
    let mut to_header = function.edges(latch).iter().enumerate();
    let (back, _) = to_header.find(|(_, edge)| edge.target == header)?;
    if to_header.any(|(_, edge)| edge.target == header) {
        return None;
    }
    let plan = Plan {
        blocks,
        latch: (latch, back),
        exit: (exit, out, 1 - out),
        trips: 0,
    };
    let trips = trips(function, flow, header, &plan)?;
    (trips * size <= MOST_INSTRUCTIONS).then_some(Plan { trips, ..plan })
}

/// How often the exit of a loop is asked for until it is taken.
fn trips(function: &Function, flow: &ControlFlow, header: Block, plan: &Plan) -> Option<usize> {
    let (latch, back) = plan.latch;
    let mut outside = flow.predecessors(header).filter(|&from| from != latch);
    let entering = outside.next()?;
    let mut edges = function.edges(entering).iter();
    let edge = *edges.find(|edge| edge.target == header)?;
    if outside.next().is_some() || edges.any(|edge| edge.target == header) {
        return None;
    }
    let (exit, out, _) = plan.exit;
    let branch = function.last_instruction(exit)?;
    let Some(Operand::Value(condition)) = function.guard(branch) else {
        return None;
    };
    let leaves_if = match (function.format(branch).guard, out) {
        (Guard::If, 0) | (Guard::IfNot, 1) => true,
        (Guard::If, 1) | (Guard::IfNot, 0) => false,
        _ => return None,
    };
    let parameters = &function.blocks()[header].parameters;
    let constant = |value: Value| match function.values()[value].definition {
        Definition::Instruction(definer) => {
            let (_, bits) = fold(function, |_| None, definer)?;
            Some(bits)
        }
        _ => None,
    };
    let mut now: Vec<Option<u64>> = function
        .arguments(edge)
        .iter()
        .map(|&value| constant(value))
        .collect();
    for trip in 1..=MOST_TRIPS {
        let mut known: DenseMap<Value, u64> = DenseMap::new();
        for (&parameter, bits) in parameters.iter().zip(&now) {
            if let Some(bits) = *bits {
                known.insert(parameter, bits);
            }
        }
        for &block in &plan.blocks {
            for instruction in function.instructions_of(block) {
                if let Some((result, bits)) =
                    fold(function, |value| known.get(&value).copied(), instruction)
                {
                    known.insert(result, bits);
                }
            }
        }
        if (*known.get(&condition)? != 0) == leaves_if {
            return Some(trip);
        }
        let arguments = function.arguments(function.edges(latch)[back]);
        now = arguments
            .iter()
            .map(|&value| known.get(&value).copied().or_else(|| constant(value)))
            .collect();
    }
    None
}

fn unroll(editor: &mut Editor<'_>, plan: &Plan) {
    let (latch, back) = plan.latch;
    let (exit, out, stay) = plan.exit;
    let header = plan.blocks[0];
    let in_loop: DenseSet<Block> = plan.blocks.iter().copied().collect();
    let read_behind = read_behind(editor.function(), plan, &in_loop);
    let arguments = editor
        .function()
        .arguments(editor.function().edges(latch)[back])
        .to_vec();
    let order = editor.function().block_order();
    let last_in_layout = order.iter().rev().find(|block| in_loop.contains(*block));
    let mut after = *last_in_layout.expect("the loop has blocks");
    let mut copies = vec![Clones::default()];
    for _ in 1..plan.trips {
        let mut clones = Clones::default();
        editor.clone_region(&plan.blocks, after, &mut clones);
        let last = plan.blocks.last().expect("the loop has blocks");
        after = clones.block(*last);
        copies.push(clones);
    }
    for pair in copies.windows(2) {
        let (this, next) = (&pair[0], &pair[1]);
        let arguments = arguments.iter().map(|&value| this.value(value)).collect();
        editor.redirect(this.block(latch), back, next.block(header), arguments);
        editor.keep_edge(this.block(exit), stay);
    }
    let last = copies.last().expect("there is a first copy");
    for (value, user) in read_behind {
        let stands = last.value(value);
        if stands == value {
            continue;
        }
        editor.replace_use(user, value, stands);
    }
    editor.keep_edge(last.block(exit), out);
    // What follows the exit in the last iteration never runs.
    let mut runs: DenseSet<Block> = DenseSet::new();
    let own: DenseSet<Block> = plan.blocks.iter().map(|&block| last.block(block)).collect();
    let mut worklist = vec![last.block(header)];
    while let Some(block) = worklist.pop() {
        if own.contains(&block) && runs.insert(block) {
            worklist.extend(
                editor
                    .function()
                    .edges(block)
                    .iter()
                    .map(|edge| edge.target),
            );
        }
    }
    let dead: Vec<Block> = plan
        .blocks
        .iter()
        .map(|&block| last.block(block))
        .filter(|block| !runs.contains(block))
        .collect();
    editor.remove_blocks(&dead);
}

/// Uses outside the loop of what it defines.
fn read_behind(function: &Function, plan: &Plan, in_loop: &DenseSet<Block>) -> Vec<(Value, Use)> {
    let mut found = Vec::new();
    for &block in &plan.blocks {
        let parameters = function.blocks()[block].parameters.iter().copied();
        let results = function
            .instructions_of(block)
            .flat_map(|instruction| function.results(instruction));
        for value in parameters.chain(results) {
            let outside = function.uses_of(value).filter(|&user| match user {
                Use::Instruction(instruction) => function
                    .block_of(instruction)
                    .is_some_and(|block| !in_loop.contains(&block)),
                Use::Edge(block) => !in_loop.contains(&block),
            });
            found.extend(outside.map(|user| (value, user)));
        }
    }
    found
}
