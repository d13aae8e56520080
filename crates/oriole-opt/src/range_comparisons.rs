//! Decides comparisons by ranges and by the conditions that dominate them.
//!
//! ## Example
//! ```text
//! mov.u32 %r1, %tid.x;                    mov.u32 %r1, %tid.x;
//! setp.gt.u32 %p1, %r1, 2000;        →    mov.pred %p1, 0;
//! setp.lt.s32 %p2, %r2, %r3;              setp.lt.s32 %p2, %r2, %r3;
//! @%p2 bra $then;                         @%p2 bra $then;
//! …                                       …
//! $then: setp.ge.s32 %p3, %r2, %r3;       $then: mov.pred %p3, 0;
//! ```
//!
//! ## Soundness
//! ScalarEvolution says of both operands where they lie, in every execution that comes to the comparison: by hardware, masks, counts
//! of loops, and conditions on the way there. What is the same in all of them is a constant.
//!
//! ## Method
//! Each `setp` of integers whose predicate is read becomes `mov.pred`; branches on it are decided by `constant-folding`. Answers are
//! asked for before anything is changed.
//!
//! ## Not done
//! `setp` with two results, `set`, and comparisons of floating-point numbers (`range_comparisons`).

use crate::manager::{Action, Context, Pass, Trigger};
use crate::remark::Rewrite;
use oriole_analysis::scalar_evolution::ScalarEvolution;
use oriole_analysis::{Analyses, ControlFlow};
use oriole_ir::{Block, Editor, Instruction, Operand, Traits, Value};
use oriole_isa::{Opcode, ScalarType, build};

/// The pass.
pub(crate) const PASS: Pass = Pass {
    name: "range-comparisons",
    summary: "Decide comparisons by the ranges of what they compare",
    action: Action::Once(run, Trigger::Rewrites),
};

fn run(editor: &mut Editor<'_>, analyses: &mut Analyses, context: &mut Context<'_>) {
    let function = editor.function();
    if !function.traits().have(Traits::COMPARES) {
        return;
    }
    let flow = analyses.get::<ControlFlow>(function);
    let mut candidates: Vec<(Instruction, Value, Block)> = Vec::new();
    for &block in flow.reverse_postorder() {
        for instruction in function.instructions_of(block) {
            let format = function.format(instruction);
            let mnemonic = &format.mnemonic;
            if mnemonic.opcode() != Opcode::Setp
                || !format.is_simple()
                || mnemonic.first_type().is_none_or(ScalarType::is_float)
            {
                continue;
            }
            let mut results = function.results(instruction);
            if let Some(result) = results.next().filter(|_| results.len() == 0)
                && function.use_count(result) > 0
            {
                candidates.push((instruction, result, block));
            }
        }
    }
    if candidates.is_empty() {
        return;
    }
    let mut decided: Vec<(Instruction, bool)> = Vec::new();
    {
        let evolution = analyses.get::<ScalarEvolution>(function);
        let mut query = evolution.on(function);
        for (instruction, result, block) in candidates {
            if let Some(truth) = query.decided_predicate(result, block) {
                decided.push((instruction, truth));
            }
        }
    }
    for (instruction, truth) in decided {
        let rewrite = Rewrite {
            counter: "range-comparisons.comparisons",
            instruction,
            why: "ranges decide it",
            equal: None,
        };
        if !context.allows(editor.function(), rewrite) {
            return;
        }
        let format = editor.plain_format(&build::mov(ScalarType::Pred), 2);
        let constant = editor.integer(truth.into(), false);
        editor.rewrite(instruction, format, &[Operand::Result(0), constant]);
    }
}
