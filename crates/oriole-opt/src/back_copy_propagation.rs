//! Lets instructions write at once the register their result is copied to.
//!
//! ## Example
//! ```text
//! add.s32 %r4, %r1, 1;
//! mov.u32 %r3, %r4;                    →         add.s32 %r2, %r1, 1;
//! mov.u32 %r2, %r3;
//! ```
//!
//! ## Soundness
//! A copy goes if the copied value is the result of an unguarded instruction, nobody else reads it, and both have one type.
//! Readers of the copy then read the copied value itself, which dominates them as it dominated the copy; it takes the copy's
//! name with it. Where the register of that name is in use meanwhile, leaving SSA form finds another. Pinned registers are
//! not values and take no part.
//!
//! ## Method
//! Blocks in reverse postorder, instructions last to first: so a chain of copies collapses in one walk, from its end.
//!
//! `back-copy-propagation` does this wherever the rules allow, up to `BackCopyPropBudget` times. Its twin
//! `advanced-phase-back-prop-vreg` is the place for those who know the machine: it does nothing unless a user of the library
//! supplies a [`crate::BackPropagation`], and then what that allows.
//!
//! ## Not done
//! Block parameters and results of guarded instructions: their registers are tied to others.

use crate::copy_propagation::copy_of;
use crate::knobs::Number;
use crate::manager::{Action, Context, Pass, Trigger};
use crate::remark::Rewrite;
use oriole_analysis::{Analyses, ControlFlow};
use oriole_ir::{Definition, Editor, Function, Instruction, Value};

/// The pass.
pub(crate) const PASS: Pass = Pass {
    name: "back-copy-propagation",
    summary: "Let instructions write the register their result is copied to",
    action: Action::Once(
        |editor, analyses, context| {
            run(editor, analyses, context, "back-copy-propagation.copies");
        },
        Trigger::Changes,
    ),
};

/// The pass that does nothing unless somebody who knows the machine supplies a hook.
pub(crate) const HOOKED_PASS: Pass = Pass {
    name: "advanced-phase-back-prop-vreg",
    summary: "Let instructions write the register their result is copied to, where a hook of the machine allows it",
    action: Action::Once(
        |editor, analyses, context| {
            if context.hooks.back_propagation.is_some() {
                run(
                    editor,
                    analyses,
                    context,
                    "advanced-phase-back-prop-vreg.copies",
                );
            }
        },
        Trigger::Changes,
    ),
};

// Settings.
const BACK_COPY_PROP_BUDGET: Number = Number::named("BackCopyPropBudget");

fn run(
    editor: &mut Editor<'_>,
    analyses: &mut Analyses,
    context: &mut Context<'_>,
    counter: &'static str,
) {
    let mut budget = context.knobs.number(BACK_COPY_PROP_BUDGET);
    let function = editor.function();
    let flow = analyses.get::<ControlFlow>(function);
    if budget == 0 || !has_candidates(function, &flow) {
        return;
    }
    let hooks = context.hooks;
    let mut instructions: Vec<Instruction> = Vec::new();
    for &block in flow.reverse_postorder() {
        instructions.clear();
        instructions.extend(editor.function().instructions_of(block));
        for &copy in instructions.iter().rev() {
            let function = editor.function();
            let Some((destination, source)) = copy_of(function, copy) else {
                continue;
            };
            if function.only_user(source) != Some(copy) {
                continue;
            }
            let Some(definer) = renamable(function, destination, source) else {
                continue;
            };
            if let Some(hook) = &hooks.back_propagation
                && !hook.may_rename(function, definer, copy)
            {
                continue;
            }
            let rewrite = Rewrite {
                counter,
                instruction: copy,
                why: "what it copies can be computed in place",
                equal: Some(definer),
            };
            if budget == 0 || !context.allows(function, rewrite) {
                return;
            }
            budget -= 1;
            editor.replace_value_and_name(destination, source);
            editor.remove_instruction(copy);
        }
    }
}

/// Whether there is a copy of something that could be computed in its place, for all that can be told without analyses.
fn has_candidates(function: &Function, flow: &ControlFlow) -> bool {
    flow.reverse_postorder().iter().any(|&block| {
        function.instructions_of(block).any(|instruction| {
            copy_of(function, instruction).is_some_and(|(destination, source)| {
                renamable(function, destination, source).is_some()
            })
        })
    })
}

/// The instruction that gives `source`, if it could write the register of `destination`.
fn renamable(function: &Function, destination: Value, source: Value) -> Option<Instruction> {
    let (to, from) = (&function.values()[destination], &function.values()[source]);
    let Definition::Instruction(definer) = from.definition else {
        return None;
    };
    let format = function.format(definer);
    let free = to.scalar_type == from.scalar_type
        && !format.is_guarded()
        && !format.opaque
        && function.block_of(definer).is_some();
    free.then_some(definer)
}
