//! Deletes loops that do nothing: they end, have no effect, and nobody reads what they compute.
//!
//! ## Example
//! ```text
//! mov.u32 %r1, 0;
//! $loop:                                  →
//! add.s32 %r1, %r1, 1;
//! setp.lt.u32 %p1, %r1, 100;
//! @%p1 bra $loop;
//! st.global.u32 [%rd1], %r2;              st.global.u32 [%rd1], %r2;
//! ```
//!
//! ## Soundness
//! ScalarEvolution has a bound for how often the loop, and every loop inside it, goes round, so that control leaves it. It leaves to
//! one block with the same arguments, which are computed before the loop. What the loop executes may be left out if nobody reads
//! it (`FormatData::is_removable`); no thread ends in it.
//!
//! ## Method
//! Edges into the loop lead to where it leaves. Loops are looked at from the outside in; one inside another that goes is not looked at, nor is one
//! right before or behind another that goes.
//!
//! ## Not done
//! Loops without a bound, even if they do nothing: they may be meant to wait (`loop_deletion`). Loops whose last values are
//! read, even if these are known.

use crate::manager::{Action, Context, Pass, Trigger};
use crate::remark::Rewrite;
use oriole_analysis::scalar_evolution::ScalarEvolution;
use oriole_analysis::{Analyses, ControlFlow, Loop, LoopBlocks, Loops};
use oriole_collections::BitSet;
use oriole_ir::{Block, Editor, Function, Operand, Use, Value};
use oriole_isa::Terminator;

/// The pass.
pub(crate) const PASS: Pass = Pass {
    name: "loop-deletion",
    summary: "Delete loops that end and do nothing",
    action: Action::Once(run, Trigger::Changes),
};

/// A loop that does nothing.
struct Idle {
    blocks: Vec<Block>,
    /// Where it leaves to, and with which arguments.
    target: Block,
    arguments: Vec<Value>,
    /// Edges into it.
    entering: Vec<(Block, usize)>,
}

fn run(editor: &mut Editor<'_>, analyses: &mut Analyses, context: &mut Context<'_>) {
    let function = editor.function();
    let loops = analyses.get::<Loops>(function);
    if loops.iter().next().is_none() {
        return;
    }
    let flow = analyses.get::<ControlFlow>(function);
    let plain = plain_loops(function, &flow, &loops);
    if plain.is_empty() {
        return;
    }
    let mut idle = Vec::new();
    let mut taken: BitSet<Block> = BitSet::new();
    {
        let evolution = analyses.get::<ScalarEvolution>(function);
        let mut query = evolution.on(function);
        let mut ends = |this: Loop| {
            let taken = query.backedge_taken(loops.header(this));
            taken.is_some_and(|taken| taken.maximum.is_some())
        };
        let all: Vec<Loop> = loops.iter().collect();
        let blocks = LoopBlocks::of(&flow, &loops);
        // Inner loops come before those around them.
        for &this in all.iter().rev() {
            if !plain.contains(this) || taken.contains(loops.header(this)) {
                continue;
            }
            if let Some(found) = plan(function, &flow, (&loops, &blocks), this, &mut ends) {
                // Edges from and to a loop that goes are not there any more when this one does: it is left for the next time.
                let mut entering = found.entering.iter();
                if taken.contains(found.target) || entering.any(|&(from, _)| taken.contains(from)) {
                    continue;
                }
                for &block in &found.blocks {
                    taken.insert(block);
                }
                idle.push(found);
            }
        }
    }
    for own in idle {
        let header = own.blocks[0];
        let branch = own
            .blocks
            .iter()
            .find_map(|&block| editor.function().last_instruction(block));
        let Some(instruction) = branch else {
            continue;
        };
        let rewrite = Rewrite {
            counter: "loop-deletion.loops",
            instruction,
            why: "the loop ends and does nothing",
            equal: None,
        };
        if !context.allows(editor.function(), rewrite) {
            return;
        }
        for &(from, edge) in &own.entering {
            debug_assert_eq!(editor.function().edges(from)[edge].target, header);
            editor.redirect(from, edge, own.target, own.arguments.clone());
        }
        editor.remove_blocks(&own.blocks);
    }
}

fn plan(
    function: &Function,
    flow: &ControlFlow,
    (loops, blocks): (&Loops, &LoopBlocks),
    this: Loop,
    ends: &mut dyn FnMut(Loop) -> bool,
) -> Option<Idle> {
    let header = loops.header(this);
    let blocks = blocks.all(loops, this);
    let is_inside = |block: Block| flow.is_reachable(block) && loops.contains(this, block);
    let mut leaving: Option<(Block, &[Value])> = None;
    for &block in blocks {
        if !is_read_inside(function, block, &is_inside) {
            return None;
        }
        for &edge in function.edges(block) {
            if is_inside(edge.target) {
                continue;
            }
            let way = (edge.target, function.arguments(edge));
            if *leaving.get_or_insert(way) != way {
                return None;
            }
        }
    }
    let (target, arguments) = leaving?;
    let is_from_outside = |&value: &Value| !function.defining_block(value).is_some_and(&is_inside);
    if !arguments.iter().all(is_from_outside) {
        return None;
    }
    // A cycle that is no loop may go round for ever.
    let mut others = loops.irreducible_edges().iter();
    if others.any(|&(from, _)| is_inside(from)) || !ends(this) {
        return None;
    }
    for &block in blocks {
        let inner = loops.innermost(block).filter(|&inner| inner != this);
        if inner.is_some_and(|inner| loops.header(inner) == block && !ends(inner)) {
            return None;
        }
    }
    let mut entering = Vec::new();
    for from in flow.predecessors(header) {
        if is_inside(from) || entering.iter().any(|&(known, _)| known == from) {
            continue;
        }
        // The targets of such a branch are what its table lists.
        if function.ends_in_indirect_branch(from) {
            return None;
        }
        let edges = function.edges(from).iter().enumerate();
        let to_header = edges.filter(|(_, edge)| edge.target == header);
        entering.extend(to_header.map(|(index, _)| (from, index)));
    }
    let mut blocks = blocks.to_vec();
    blocks.sort_unstable_by_key(|&block| flow.position(block));
    Some(Idle {
        blocks,
        target,
        arguments: arguments.to_vec(),
        entering,
    })
}

/// The loops all of whose blocks only compute and branch, and in which no thread ends. Most loops are not among them.
fn plain_loops(function: &Function, flow: &ControlFlow, loops: &Loops) -> BitSet<Loop> {
    let mut plain: BitSet<Loop> = loops.iter().collect();
    for &block in flow.reverse_postorder() {
        let mut around = loops.innermost(block).filter(|&this| plain.contains(this));
        if around.is_some() && (flow.may_leave(block) || !is_plain(function, block)) {
            // A loop around one that is not plain is not plain either.
            while let Some(this) = around.filter(|&this| plain.remove(this)) {
                around = loops.parent(this);
            }
        }
    }
    plain
}

/// Whether a block does nothing but compute and branch.
fn is_plain(function: &Function, block: Block) -> bool {
    function.instructions_of(block).all(|instruction| {
        let format = function.format(instruction);
        let is_plain = format.is_removable() || format.effects.terminator == Terminator::Branch;
        let has_register = |operand: &Operand| matches!(operand, Operand::Register(_));
        is_plain
            && !format.opaque
            && !format.effects.is_call
            && !function.operands(instruction).iter().any(has_register)
    })
}

/// Whether what a block computes is read inside only.
fn is_read_inside(function: &Function, block: Block, is_inside: &dyn Fn(Block) -> bool) -> bool {
    let is_read_inside = |value: Value| {
        function.uses_of(value).all(|user| match user {
            Use::Instruction(instruction) => function.block_of(instruction).is_some_and(is_inside),
            Use::Edge(from) => is_inside(from),
        })
    };
    let mut parameters = function.blocks()[block].parameters.iter();
    parameters.all(|&parameter| is_read_inside(parameter))
        && function
            .instructions_of(block)
            .all(|instruction| function.results(instruction).all(is_read_inside))
}
