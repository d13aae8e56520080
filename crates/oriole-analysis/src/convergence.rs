//! Whether all threads of a warp execute each warp-synchronous instruction together.
//!
//! `shfl.sync`, `vote.sync`, `match.sync`, `redux.sync`, `mma.sync`, `ldmatrix.sync` and the like exchange messages between
//! the lanes their mask names, and wait for each of them, *wherever in the program that lane executes its own*. One whose
//! result nobody reads still sends; two that look equal may receive different things. So none of them may be deleted, merged
//! or moved unless every lane of the mask provably executes this very instruction, in the same order with the others.
//!
//! ## Example
//! ```text
//! @%p1 bra $A;                                  // %p1 differs from lane to lane
//! shfl.sync.idx.b32 %r3, %r2, 0, 31, -1;        // receives what lane 0 sends at $A
//! bra.uni $J;
//! $A: shfl.sync.idx.b32 %r4, %r5, 0, 31, -1;    // %r4 is dead, and the instruction is not
//! ```
//!
//! ## Soundness
//! The answer is for the whole function: it *converges* if all its warp-synchronous instructions do. One does if its guard is
//! uniform and no divergent branch decides whether or how often it is executed; one that does not could meet any other, so
//! it spoils all. Then all lanes that have not exited go through the same sequence of them, and each meets itself. Functions
//! that are called may be called by some lanes only, and what a callee exchanges is not known: only entries without calls,
//! unknown instructions and indirect branches converge.
//!
//! ## Method
//! A block is decided by a divergent branch if it is control dependent on it, directly or through other branches (Ferrante,
//! Ottenstein and Warren): for each edge out of the branch, the blocks on the way up the post-dominator tree to, but without,
//! the post-dominator of the branch. Marked blocks are skipped by a union-find forest, so the whole takes almost linear time.
//!
//! ## Not done
//! Lanes that have returned take no part, so a divergent early return would do no harm if nothing on its way exchanges
//! anything. It is taken for a divergent branch.

use crate::control_flow::ControlFlow;
use crate::dominators::PostDominators;
use crate::manager::{Analyses, Analysis, Reads};
use crate::uniformity::Uniformity;
use oriole_collections::BitSet;
use oriole_ir::{Block, Function, FunctionKind, Operand};
use oriole_isa::Terminator;

/// Whether lanes of a warp meet only at one and the same warp-synchronous instruction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Convergence {
    converges: bool,
}

impl Convergence {
    /// Whether every warp-synchronous instruction of the function is executed by all lanes of a warp together, so that one
    /// whose result nobody reads may be deleted, and two equal ones of a block may be merged.
    pub fn converges(&self) -> bool {
        self.converges
    }

    fn of(
        function: &Function,
        flow: &ControlFlow,
        post_dominators: &PostDominators,
        uniformity: &Uniformity,
    ) -> Convergence {
        let decided = decided_by_divergence(function, flow, post_dominators, uniformity);
        let converges = flow.reverse_postorder().iter().all(|&block| {
            function.instructions_of(block).all(|instruction| {
                let is_guard_uniform = match function.guard(instruction) {
                    None => true,
                    Some(Operand::Value(guard)) => uniformity.is_uniform(guard),
                    Some(_) => false,
                };
                !function.format(instruction).effects.convergent
                    || is_guard_uniform && !decided.contains(block)
            })
        });
        Convergence { converges }
    }
}

/// Whether all that happens in a function is known, and nobody else decides which lanes execute it.
fn is_closed(function: &Function, flow: &ControlFlow) -> bool {
    let mut blocks = flow.reverse_postorder().iter();
    function.kind() == FunctionKind::Entry
        && blocks.all(|&block| {
            function.instructions_of(block).all(|instruction| {
                let format = function.format(instruction);
                !format.opaque
                    && !format.effects.is_call
                    && format.effects.terminator != Terminator::IndirectBranch
            })
        })
}

/// Blocks of which a divergent branch decides whether, or how often, they are executed.
fn decided_by_divergence(
    function: &Function,
    flow: &ControlFlow,
    post_dominators: &PostDominators,
    uniformity: &Uniformity,
) -> BitSet<Block> {
    let mut decided: BitSet<Block> = BitSet::with_domain(function.blocks().len());
    // For each block, an ancestor in the post-dominator tree below which all are decided.
    let mut skip: Vec<Option<Block>> = (0..function.blocks().len())
        .map(|block| Some(Block::from_index(block)))
        .collect();
    let mut worklist: Vec<Block> = flow
        .reverse_postorder()
        .iter()
        .copied()
        .filter(|&block| uniformity.is_divergent_branch(block))
        .collect();
    let mut is_listed: BitSet<Block> = BitSet::with_domain(function.blocks().len());
    for &block in &worklist {
        is_listed.insert(block);
    }
    while let Some(branch) = worklist.pop() {
        let stop = post_dominators.immediate(branch);
        for edge in &function.blocks()[branch].edges {
            let mut at = find(&mut skip, edge.target);
            while let Some(block) = at {
                // The post-dominator of the branch and what is above it are executed either way.
                if stop.is_some_and(|stop| post_dominators.dominates(block, stop)) {
                    break;
                }
                decided.insert(block);
                if is_listed.insert(block) {
                    worklist.push(block);
                }
                skip[block.index()] = post_dominators.immediate(block);
                at = find(&mut skip, block);
            }
        }
    }
    decided
}

/// The closest post-dominator of a block, itself included, that is not known to be decided.
fn find(skip: &mut [Option<Block>], block: Block) -> Option<Block> {
    let mut root = Some(block);
    while let Some(at) = root
        && skip[at.index()] != Some(at)
    {
        root = skip[at.index()];
    }
    // Path compression.
    let mut at = block;
    while let Some(next) = skip[at.index()]
        && next != at
    {
        skip[at.index()] = root;
        at = next;
    }
    root
}

impl Analysis for Convergence {
    const NAME: &'static str = "convergence";
    const READS: Reads = Reads {
        control_flow: true,
        values: true,
        order: true,
        effects: true,
        variables: false,
    };

    fn compute(function: &Function, analyses: &mut Analyses) -> Convergence {
        let flow = analyses.get::<ControlFlow>(function);
        if !is_closed(function, &flow) {
            return Convergence { converges: false };
        }
        let post_dominators = analyses.get::<PostDominators>(function);
        let uniformity = analyses.get::<Uniformity>(function);
        Convergence::of(function, &flow, &post_dominators, &uniformity)
    }
}
