//! Keeps `ptxas` from unrolling loops that never run four times.
//!
//! ## Example
//! ```text
//! selp.b32 %r1, 1, 2, %p1;                selp.b32 %r1, 1, 2, %p1;
//! mov.u32 %r2, 0;                         mov.u32 %r2, 0;
//! $loop:                             →    $loop:
//! …                                       .pragma "nounroll";
//! add.s32 %r2, %r2, 1;                    …
//! setp.lt.u32 %p2, %r2, %r1;              add.s32 %r2, %r2, 1;
//! @%p2 bra $loop;                         setp.lt.u32 %p2, %r2, %r1;
//!                                         @%p2 bra $loop;
//! ```
//!
//! ## Soundness
//! A pragma changes nothing that a kernel computes.
//!
//! ## Method
//! `ptxas` makes four copies of an innermost loop whose trip count it does not know, and a loop for what is left over. ScalarEvolution
//! bounds the count: where the back edge is taken twice at most, the four copies are never executed, and only the tests for them are.
//! Loops of a known number of iterations are left to `ptxas`, which makes straight code of them.
//!
//! ## Not done
//! Straight code for such loops, with a way out behind each copy (`short_loops`).

use crate::manager::{Action, Context, Pass, Trigger};
use crate::remark::Rewrite;
use oriole_analysis::scalar_evolution::ScalarEvolution;
use oriole_analysis::{Analyses, Loops};
use oriole_collections::BitSet;
use oriole_ir::{Block, Editor};

/// The pass.
pub(crate) const PASS: Pass = Pass {
    name: "short-loops",
    summary: "Keep ptxas from unrolling loops that run three times at most",
    action: Action::Once(run, Trigger::Changes),
};

/// How often the back edge of a loop is taken that none of the four copies `ptxas` makes is executed for.
const FEWEST_TAKEN: u64 = 2;

fn run(editor: &mut Editor<'_>, analyses: &mut Analyses, context: &mut Context<'_>) {
    let function = editor.function();
    let loops = analyses.get::<Loops>(function);
    let outer: BitSet<Block> = loops
        .iter()
        .filter_map(|this| loops.parent(this))
        .map(|parent| loops.header(parent))
        .collect();
    let mut headers: Vec<Block> = loops.iter().map(|this| loops.header(this)).collect();
    headers.retain(|&header| !outer.contains(header) && !function.blocks()[header].nounroll);
    if headers.is_empty() {
        return;
    }
    {
        let evolution = analyses.get::<ScalarEvolution>(function);
        let mut query = evolution.on(function);
        headers.retain(|&header| {
            query.backedge_taken(header).is_some_and(|taken| {
                let is_short = taken.maximum.is_some_and(|most| most <= FEWEST_TAKEN);
                is_short && query.expressions().as_constant(taken.exact).is_none()
            })
        });
    }
    for header in headers {
        let Some(first) = editor.function().instructions_of(header).next() else {
            continue;
        };
        let rewrite = Rewrite {
            counter: "short-loops.loops",
            instruction: first,
            why: "the loop runs three times at most",
            equal: None,
        };
        if !context.allows(editor.function(), rewrite) {
            return;
        }
        editor.forbid_unrolling(header);
    }
}
