//! Removes branches that decide nothing: threads jumps through empty blocks, merges blocks, falls through where it can.
//!
//! ## Example
//! ```text
//!     @%p1 bra $L2;
//!     bra.uni $L1;
//! $L1:                                            →          @%p1 bra $L2;
//!     add.s32 %r1, %r1, 1;                                   add.s32 %r1, %r1, 1;
//!     bra.uni $L2;                                       $L2:
//! $L2:
//! ```
//!
//! ## Soundness
//! A block with nothing in it but its way out does nothing, so an edge to it may lead to where it leads, with the arguments
//! put in for its parameters. Two edges of one branch to one block with equal arguments are one. A block with one way in
//! from a block with one way out follows it directly. None of this changes which thread executes which instruction. Blocks
//! are merged only if they are neighbours in the text: instructions then keep their scope. Indirect branches keep their
//! tables as they are. A branch is turned round only if it is plain, and not to fall into what is hardly ever executed:
//! `ptxas` takes that for the usual way. A branch that would keep a negated guard is not inverted: `ptxas` unrolls no loop that such a
//! branch decides.
//!
//! ## Method
//! Walks over the blocks, in postorder, until one finds nothing; each block is simplified until nothing more can be done at
//! its end. Blocks left without a way in are dropped as soon as that happens. Chains of empty blocks are followed a bounded
//! number of steps. An empty block between a branch and a loop stays: what `ptxas` hoists out of the loop goes there
//! ([`ControlFlow::is_preheader`]).
//!
//! ## Not done
//! Blocks that are apart are not brought together.

use crate::algebra::operands::opposite_comparison;
use crate::manager::{Action, Context, Pass, Trigger};
use crate::remark::Rewrite;
use oriole_analysis::branch_prediction::is_hardly_taken;
use oriole_analysis::{Analyses, ControlFlow};
use oriole_collections::{BitSet, IndexVec};
use oriole_ir::{Block, Editor, Function, Instruction, Operand, Use, Value};
use oriole_isa::Terminator;
use oriole_syntax::tree::Guard;
use std::cell::OnceCell;

/// The pass.
pub(crate) const PASS: Pass = Pass {
    name: "branch-simplification",
    summary: "Thread jumps, merge blocks and drop branches that decide nothing",
    action: Action::Once(run, Trigger::Changes),
};

/// Empty blocks an edge is led past in one go.
const MOST_HOPS: usize = 16;

fn run(editor: &mut Editor<'_>, analyses: &mut Analyses, context: &mut Context<'_>) {
    let function = editor.function();
    if function.block_order().len() < 2 {
        return;
    }
    let flow = analyses.get::<ControlFlow>(function);
    let order = function.block_order().to_vec();
    let mut incoming: IndexVec<Block, u32> = IndexVec::from_elem(0, function.blocks().len());
    // Blocks that control cannot reach count too: what they lead to must stay until they are gone.
    for &block in &order {
        for edge in &function.blocks()[block].edges {
            incoming[edge.target] += 1;
        }
    }
    let mut positions: IndexVec<Block, usize> = IndexVec::from_elem(0, incoming.len());
    for (position, &block) in order.iter().enumerate() {
        positions[block] = position;
    }
    let mut simplifier = Simplifier {
        editor,
        context,
        is_gone: IndexVec::from_elem(false, incoming.len()),
        incoming,
        gone: Vec::new(),
        order: &order,
        following: (1..=order.len() as u32).collect(),
        flow: &flow,
        headers: OnceCell::new(),
        positions,
    };
    // What a block leads to before the block itself, so that only what leads back needs another walk.
    let mut is_changed = true;
    while is_changed {
        is_changed = false;
        for &block in flow.reverse_postorder().iter().rev() {
            if !simplifier.is_gone[block] {
                is_changed |= simplifier.block(block);
            }
        }
    }
    let gone = std::mem::take(&mut simplifier.gone);
    editor.remove_blocks(&gone);
}

struct Simplifier<'run, 'editor, 'function, 'context> {
    editor: &'run mut Editor<'function>,
    context: &'run mut Context<'context>,
    /// Edges to each block.
    incoming: IndexVec<Block, u32>,
    is_gone: IndexVec<Block, bool>,
    gone: Vec<Block>,
    order: &'editor [Block],
    /// For each position in the order, one behind it with only blocks that are gone between; shortened whenever it is walked.
    following: Vec<u32>,
    /// Control flow before the pass.
    flow: &'run ControlFlow,
    /// The headers of its loops, once they were asked for.
    headers: OnceCell<BitSet<Block>>,
    /// The position of each block in the order.
    positions: IndexVec<Block, usize>,
}

/// True if the inverted branch has a positive guard, or its comparison has an opposite that gives it one.
fn needs_no_negation(function: &Function, branch: Instruction) -> bool {
    function.format(branch).guard == Guard::IfNot || opposite_comparison(function, branch).is_some()
}

impl Simplifier<'_, '_, '_, '_> {
    /// Simplifies the end of a block as long as something can be done. Whether something was.
    fn block(&mut self, block: Block) -> bool {
        let mut is_changed = false;
        while self.step(block) {
            is_changed = true;
        }
        is_changed
    }

    /// Whether something was done.
    fn step(&mut self, block: Block) -> bool {
        for edge in 0..self.editor.function().blocks()[block].edges.len() {
            if self.thread(block, edge) {
                return true;
            }
        }
        let next = self.next_block(block);
        let terminator = self.terminator(block);
        let function = self.editor.function();
        let data = &function.blocks()[block];
        let last = function.last_instruction(block);
        match (&data.edges[..], terminator) {
            ([one, other], Terminator::Branch) => {
                let last = last.expect("it branches");
                let targets = (one.target, other.target);
                if targets.0 == targets.1 && function.arguments(*one) == function.arguments(*other)
                {
                    if !self.allows(last, "both ways lead to the same place") {
                        return false;
                    }
                    self.incoming[targets.0] -= 1;
                    self.editor.keep_edge(block, 1);
                    return true;
                }
                let is_next = next == Some(targets.0) && next != Some(targets.1);
                if data.falls_through
                    && is_next
                    && !is_hardly_taken(function, last)
                    && needs_no_negation(function, last)
                {
                    if !self.allows(last, "the other way can be fallen into") {
                        return false;
                    }
                    self.editor.invert_branch(block);
                    return true;
                }
                false
            }
            ([only], _)
                if Some(only.target) == next && terminator != Terminator::IndirectBranch =>
            {
                let target = only.target;
                if !self.goes_straight_on(block) {
                    return false;
                }
                let Some(at) = last.or_else(|| function.instructions_of(target).next()) else {
                    return false;
                };
                if self.incoming[target] == 1 && target != function.entry() {
                    if self.will_be_merged(block) {
                        return false;
                    }
                    if !self.allows(at, "nothing else leads to the block behind") {
                        return false;
                    }
                    self.editor.merge_blocks(block, target);
                    self.is_gone[target] = true;
                    self.gone.push(target);
                    return true;
                }
                if terminator == Terminator::Branch {
                    if !self.allows(at, "it leads to the next instruction") {
                        return false;
                    }
                    self.editor.fall_through(block);
                    return true;
                }
                false
            }
            _ => false,
        }
    }

    /// Whether a block ends without a branch or with one that is always taken.
    fn goes_straight_on(&self, block: Block) -> bool {
        let function = self.editor.function();
        function.last_instruction(block).is_none_or(|last| {
            let format = function.format(last);
            match format.effects.terminator {
                Terminator::None => true,
                Terminator::Branch => !format.is_guarded(),
                _ => false,
            }
        })
    }

    /// Whether the block before a block takes it in when its turn comes. Then it takes in the ones behind too: a long chain of blocks is
    /// put together from its start, so that no instruction is moved more than once.
    fn will_be_merged(&mut self, block: Block) -> bool {
        let function = self.editor.function();
        let first = function.instructions_of(block).next();
        let is_empty = first.is_none_or(|first| function.format(first).is_terminator());
        if is_empty || block == function.entry() {
            return false;
        }
        let flow = self.flow;
        let before = flow.predecessors(block).find(|&before| {
            !self.is_gone[before] && flow.is_reachable(before) && self.leads_only_to(before, block)
        });
        let Some(before) = before.filter(|&before| before != block) else {
            return false;
        };
        self.incoming[block] as usize == self.editor.function().edges(before).len()
            && flow.position(before) < flow.position(block)
            && self.next_block(before) == Some(block)
    }

    /// Whether a block goes straight on to another one, if only behind a branch that decides nothing.
    fn leads_only_to(&self, block: Block, target: Block) -> bool {
        let function = self.editor.function();
        match function.edges(block) {
            [only] => only.target == target && self.goes_straight_on(block),
            [one, other] => {
                (one.target, other.target) == (target, target)
                    && self.terminator(block) == Terminator::Branch
                    && function.arguments(*one) == function.arguments(*other)
            }
            _ => false,
        }
    }

    /// How a block ends.
    fn terminator(&self, block: Block) -> Terminator {
        let function = self.editor.function();
        let last = function.last_instruction(block);
        last.map_or(Terminator::None, |last| {
            function.format(last).effects.terminator
        })
    }

    /// The block behind another one in the order that is not gone.
    fn next_block(&mut self, block: Block) -> Option<Block> {
        let position = self.positions[block];
        let mut at = self.following[position] as usize;
        while let Some(&block) = self.order.get(at) {
            if !self.is_gone[block] {
                break;
            }
            at = self.following[at] as usize;
        }
        // A block that is gone stays gone, so none of those between is looked at again.
        self.following[position] = at as u32;
        self.order.get(at).copied()
    }

    fn allows(&mut self, instruction: Instruction, why: &'static str) -> bool {
        let rewrite = Rewrite {
            counter: "branch-simplification.branches",
            instruction,
            why,
            equal: None,
        };
        self.context.allows(self.editor.function(), rewrite)
    }

    /// Leads an edge past empty blocks. Whether it did.
    fn thread(&mut self, block: Block, edge: usize) -> bool {
        let function = self.editor.function();
        if function.ends_in_indirect_branch(block) {
            return false;
        }
        let start = function.edges(block)[edge];
        let is_branch = function.edges(block).len() > 1;
        let mut target = start.target;
        let mut arguments: Option<Vec<Value>> = None;
        let mut hops = 0;
        while hops < MOST_HOPS && target != block {
            let given = match &arguments {
                Some(arguments) => arguments,
                None => function.arguments(start),
            };
            let Some((further, values)) = self.forward(target, given) else {
                break;
            };
            if is_branch {
                let headers = self.headers.get_or_init(|| self.flow.loop_headers());
                if self.flow.is_preheader(target, headers) {
                    break;
                }
            }
            (target, arguments) = (further, Some(values));
            hops += 1;
        }
        // Running in a circle of empty blocks: leave it.
        let Some(arguments) = arguments.filter(|_| hops < MOST_HOPS && target != block) else {
            return false;
        };
        let function = self.editor.function();
        let passed = function.blocks()[block].edges[edge].target;
        let Some(at) = function
            .last_instruction(block)
            .or_else(|| function.last_instruction(passed))
            .or_else(|| function.instructions_of(target).next())
        else {
            return false;
        };
        if !self.allows(at, "the block between does nothing") {
            return false;
        }
        self.incoming[target] += 1;
        self.editor.redirect(block, edge, target, arguments);
        self.lose_way_in(passed);
        true
    }

    /// Where a block leads that does nothing else, and with what.
    fn forward(&self, block: Block, arguments: &[Value]) -> Option<(Block, Vec<Value>)> {
        let function = self.editor.function();
        let data = &function.blocks()[block];
        let [edge] = &data.edges[..] else {
            return None;
        };
        let mut instructions = function.instructions_of(block);
        match (instructions.next(), instructions.next()) {
            (None, None) => {}
            (Some(only), None) => {
                let format = function.format(only);
                if format.effects.terminator != Terminator::Branch || format.is_guarded() {
                    return None;
                }
                // A branch through a register or with anything but its target.
                if !matches!(function.operands(only), [Operand::Target(0)]) {
                    return None;
                }
            }
            _ => return None,
        }
        // Parameters may be read by the way out only.
        let own = data.parameters.iter().all(|&parameter| {
            function
                .uses_of(parameter)
                .all(|user| user == Use::Edge(block))
        });
        if !own || edge.target == block {
            return None;
        }
        let values = function
            .arguments(*edge)
            .iter()
            .map(|argument| {
                let own = data.parameters.iter().position(|own| own == argument);
                own.map_or(*argument, |position| arguments[position])
            })
            .collect();
        Some((edge.target, values))
    }

    /// One edge to a block is gone; with the last one goes the block.
    fn lose_way_in(&mut self, block: Block) {
        let mut worklist = vec![block];
        while let Some(block) = worklist.pop() {
            self.incoming[block] -= 1;
            if self.incoming[block] > 0
                || self.is_gone[block]
                || block == self.editor.function().entry()
            {
                continue;
            }
            self.is_gone[block] = true;
            self.gone.push(block);
            worklist.extend(
                self.editor.function().blocks()[block]
                    .edges
                    .iter()
                    .map(|edge| edge.target),
            );
        }
    }
}
