//! Moves out of loops what does not change there and what `ptxas` would leave there.
//!
//! ## Example
//! ```text
//!     …                                                   div.rn.f32 %f3, %f1, %f2;
//! $L1:                                                $L1:
//!     div.rn.f32 %f3, %f1, %f2;               →
//!     add.f32 %f4, %f4, %f3;                              add.f32 %f4, %f4, %f3;
//!     …                                                   …
//!     @%p1 bra $L1;                                       @%p1 bra $L1;
//! ```
//!
//! ## Soundness
//! Pure instructions without a guard, whose operands are computed before the loop or by such instructions. Nothing in PTX traps that is
//! pure, quotients by zero included, so it does no harm that a loop may be left before it comes to them. No sums and products
//! that ptxas may fuse, see [`crate::fusion`].
//!
//! ## Profit
//! `ptxas` itself moves nearly everything out of loops. What it expands into a sequence with a branch, see [`is_expanded`], stays there,
//! and keeps the loop from being unrolled: 17 machine instructions in each iteration of the example, and 7 for four iterations without
//! it. So only these are moved, with what they are computed from, if every iteration executes them. A register that is live in the loop costs
//! less than any of them, up to a number.
//!
//! ## Method
//! Of each candidate the loops around it, from the innermost as far out as it does not change. It goes to the end of the block that
//! enters the last of them; if that block may go elsewhere, to a new one on the edge. `O(n)` but for the depth of loops, which is bounded.
//!
//! ## Not done
//! Loads: see `docs/scalar-evolution.md`. What only some iterations compute.

use crate::loop_region::Region;
use crate::manager::{Action, Context, Pass, Trigger};
use crate::remark::Rewrite;
use oriole_analysis::{Analyses, ControlFlow, Dominators, Loops};
use oriole_collections::{DenseMap, DenseSet};
use oriole_ir::{Block, Editor, Function, Instruction};
use oriole_isa::cost::is_expanded;
use std::cell::OnceCell;

/// The pass.
pub(crate) const PASS: Pass = Pass {
    name: "loop-invariants",
    summary: "Move quotients and roots that do not change out of loops",
    action: Action::Once(run, Trigger::Changes),
};

/// Loops around a candidate that are looked at.
const MOST_LOOPS: usize = 8;
/// Instructions that go with a candidate.
const MOST_OPERANDS: usize = 16;
/// Candidates moved to one place.
const MOST_MOVED: u32 = 16;

fn run(editor: &mut Editor<'_>, analyses: &mut Analyses, context: &mut Context<'_>) {
    let function = editor.function();
    let loops = analyses.get::<Loops>(function);
    if loops.iter().next().is_none() {
        return;
    }
    let flow = analyses.get::<ControlFlow>(function);
    let mut candidates: Vec<(Block, Instruction)> = Vec::new();
    for &block in flow.reverse_postorder() {
        if loops.innermost(block).is_some() {
            let own = function.instructions_of(block);
            let own = own.filter(|&it| is_expanded(&function.format(it).mnemonic));
            candidates.extend(own.map(|instruction| (block, instruction)));
        }
    }
    if candidates.is_empty() {
        return;
    }
    let dominators = analyses.get::<Dominators>(function);
    let mut plans: Vec<Plan> = Vec::new();
    for (block, instruction) in candidates {
        plans.extend(Plan::of(
            function,
            (&flow, &loops, &dominators),
            block,
            instruction,
        ));
    }
    // What several are computed from goes as far out as one of them.
    plans.sort_by_key(|plan| loops.depth(plan.enter.0));
    let mut places = Places::default();
    for plan in plans {
        if !plan.apply(editor, &mut places, context) {
            return;
        }
    }
}

/// Where things were moved.
#[derive(Default)]
struct Places {
    /// For each edge that enters a loop the block before the loop, and how many candidates went there.
    blocks: DenseMap<(Block, u32), (Block, u32)>,
    moved: DenseSet<Instruction>,
}

/// Something to move.
struct Plan {
    root: Instruction,
    /// The root and what it is computed from, in order.
    moved: Vec<Instruction>,
    /// The edge by which the loop is entered.
    enter: (Block, usize),
}

impl Plan {
    /// What is to be done with an instruction, for the outermost loop in which it does not change.
    fn of(
        function: &Function,
        (flow, loops, dominators): (&ControlFlow, &Loops, &Dominators),
        block: Block,
        root: Instruction,
    ) -> Option<Plan> {
        let blocks = OnceCell::new();
        let mut found = None;
        let mut around = loops.innermost(block);
        for _ in 0..MOST_LOOPS {
            let Some(this) = around else {
                break;
            };
            let region = Region {
                function,
                flow,
                loops,
                blocks: &blocks,
                this,
            };
            let Some(moved) = region.slice(root, MOST_OPERANDS, |_| false) else {
                break;
            };
            let mut latches = loops.back_edges(this).iter();
            if !latches.all(|&latch| dominators.dominates(block, latch)) {
                break;
            }
            // An outer loop may be entered by one edge if an inner one is not.
            if let Some(enter) = region.entering_edge() {
                found = Some(Plan { root, moved, enter });
            }
            around = loops.parent(this);
        }
        found
    }

    /// Moves it; whether there is fuel left.
    fn apply(
        self,
        editor: &mut Editor<'_>,
        places: &mut Places,
        context: &mut Context<'_>,
    ) -> bool {
        let (from, edge) = self.enter;
        let key = (from, edge as u32);
        let known = places.blocks.get(&key).copied();
        if known.is_some_and(|(_, count)| count == MOST_MOVED) {
            return true;
        }
        let rewrite = Rewrite {
            counter: "loop-invariants.instructions",
            instruction: self.root,
            why: "it is the same in all iterations",
            equal: None,
        };
        if !context.allows(editor.function(), rewrite) {
            return false;
        }
        let (place, count) = known.unwrap_or_else(|| {
            let block = match editor.function().edges(from).len() {
                1 => from,
                _ => editor.split_edge(from, edge),
            };
            (block, 0)
        });
        places.blocks.insert(key, (place, count + 1));
        for instruction in self.moved {
            if places.moved.insert(instruction) {
                editor.move_to_end(instruction, place);
            }
        }
        true
    }
}
