//! Computes what counters are behind their loop without counting.
//!
//! ## Example
//! ```text
//! and.b32 %r1, %r9, -4;                   and.b32 %r1, %r9, -4;
//! mov.u32 %r2, %r1;                       mov.u32 %r2, %r1;
//! mov.u32 %r3, 0;
//! $loop:                                  $loop:
//! …                                  →    …
//! add.s32 %r3, %r3, 4;
//! add.s32 %r2, %r2, -4;                   add.s32 %r2, %r2, -4;
//! setp.ne.s32 %p1, %r2, 0;                setp.ne.s32 %p1, %r2, 0;
//! @%p1 bra $loop;                         @%p1 bra $loop;
//! st.global.u32 [%rd1], %r3;              st.global.u32 [%rd1], %r1;
//! ```
//!
//! ## Soundness
//! ScalarEvolution says what the counter is when the loop is left, by the condition of its only way out or by its count
//! (`scalar_evolution::exit_values`). The loop has one way out, so whoever reads the counter behind the loop came by it.
//!
//! ## Method
//! A counter that nothing in the loop reads but its own increment is replaced behind the loop by what other values that are there before the loop
//! make of it, in one instruction at most, at the end of the only block that enters the loop. The counter is dead then, and
//! `dead-code` removes it.
//!
//! ## Not done
//! Counters that the loop reads: they have to be counted anyway. What takes more than one instruction (`exit_values`).

use crate::loop_region::{Recipe, Region};
use crate::manager::{Action, Context, Pass, Trigger};
use crate::remark::Rewrite;
use oriole_analysis::Analyses;
use oriole_analysis::scalar_evolution::Query;
use oriole_ir::{Block, Definition, Editor, Instruction, Use, Value};
use oriole_isa::Opcode;

/// The pass.
pub(crate) const PASS: Pass = Pass {
    name: "exit-values",
    summary: "Compute what counters are behind their loop without counting",
    action: Action::Once(run, Trigger::Changes),
};

fn run(editor: &mut Editor<'_>, analyses: &mut Analyses, context: &mut Context<'_>) {
    let function = editor.function();
    let plans = Region::plans(function, analyses, |region, query, plans| {
        region.plan(query, plans);
    });
    for plan in plans {
        let rewrite = Rewrite {
            counter: "exit-values.counters",
            instruction: plan.increment,
            why: "what it is behind the loop is known before",
            equal: None,
        };
        if !context.allows(editor.function(), rewrite) {
            return;
        }
        apply(editor, &plan);
    }
}

/// A counter and what it is behind its loop.
struct Plan {
    increment: Instruction,
    value: Value,
    recipe: Recipe,
    /// The block that enters the loop.
    entering: Block,
    /// The way out.
    exit: (Block, usize),
    /// Who reads it outside.
    readers: Vec<Use>,
}

impl Region<'_> {
    fn plan(&self, query: &mut Query<'_>, plans: &mut Vec<Plan>) {
        let function = self.function;
        let header = self.loops.header(self.this);
        let &[latch] = self.loops.back_edges(self.this) else {
            return;
        };
        let Some((entering, enter)) = self.entering_edge() else {
            return;
        };
        let Some((_, back)) = self.only_edge(header, |from| from == latch) else {
            return;
        };
        let parameters = &function.blocks()[header].parameters;
        let mut candidates: Vec<(Value, Value, Instruction)> = Vec::new();
        for (position, &parameter) in parameters.iter().enumerate() {
            let next = function.arguments(function.edges(latch)[back])[position];
            candidates.extend(self.idle_counter(parameter, next, latch));
        }
        if candidates.is_empty() {
            return;
        }
        let Some(exit) = self.only_exit() else {
            return;
        };
        let sources = self.sources((entering, enter), exit.0);
        for (parameter, next, increment) in candidates {
            let mut own: Vec<Plan> = Vec::new();
            let is_complete = [parameter, next].into_iter().all(|value| {
                let readers = self.readers(value, exit);
                if readers.is_empty() {
                    return true;
                }
                let found = query.exit_value(value, header);
                let recipe = found.and_then(|found| self.recipe(query, value, found, &sources));
                own.extend(recipe.map(|recipe| Plan {
                    increment,
                    value,
                    recipe,
                    entering,
                    exit,
                    readers,
                }));
                recipe.is_some()
            });
            // One that is read all the same has to be counted.
            if is_complete {
                plans.extend(own);
            }
        }
    }

    /// A parameter of the header that nothing in the loop reads but what it is in the next iteration.
    fn idle_counter(
        &self,
        parameter: Value,
        next: Value,
        latch: Block,
    ) -> Option<(Value, Value, Instruction)> {
        let function = self.function;
        let held = function.values()[parameter].scalar_type;
        if !matches!(held.bits(), 32 | 64) || held.is_float() || held.lanes() > 1 {
            return None;
        }
        let Definition::Instruction(increment) = function.values()[next].definition else {
            return None;
        };
        let format = function.format(increment);
        let is_sum = matches!(format.mnemonic.opcode(), Opcode::Add | Opcode::Sub);
        if !is_sum || !format.is_simple() || !self.holds(increment) {
            return None;
        }
        let is_idle = || {
            function.uses_of(parameter).all(|user| match user {
                Use::Instruction(reader) => reader == increment || !self.holds(reader),
                Use::Edge(from) => !self.contains(from) || self.leaves_only(from, parameter),
            })
        };
        let is_handed_on = || {
            function.uses_of(next).all(|user| match user {
                Use::Instruction(reader) => !self.holds(reader),
                Use::Edge(from) => {
                    !self.contains(from) || from == latch || self.leaves_only(from, next)
                }
            })
        };
        // The latch may hand the next value to no other parameter of the header. Its arguments may be many: this is asked last.
        let header = self.loops.header(self.this);
        let is_once = || {
            let edges = function.edges(latch).iter();
            let mut inside = edges.filter(|edge| self.contains(edge.target));
            inside.all(|&edge| {
                let arguments = function.arguments(edge).iter();
                edge.target == header && arguments.filter(|&&own| own == next).count() <= 1
            })
        };
        (is_idle() && is_handed_on() && is_once()).then_some((parameter, next, increment))
    }

    /// Whether the edges of a block hand a value to blocks outside of the loop only.
    fn leaves_only(&self, from: Block, value: Value) -> bool {
        let mut edges = self.function.edges(from).iter();
        edges.all(|&edge| {
            !self.contains(edge.target) || !self.function.arguments(edge).contains(&value)
        })
    }

    /// The only way out of the loop.
    fn only_exit(&self) -> Option<(Block, usize)> {
        let mut found = None;
        for &block in self.all_blocks() {
            if self.flow.may_leave(block) {
                return None;
            }
            for (index, edge) in self.function.edges(block).iter().enumerate() {
                if self.contains(edge.target) {
                    continue;
                }
                if found.is_some() {
                    return None;
                }
                found = Some((block, index));
            }
        }
        found.filter(|&(from, _)| !self.function.ends_in_indirect_branch(from))
    }

    /// Who reads a value outside, by edges out of the loop too.
    fn readers(&self, value: Value, exit: (Block, usize)) -> Vec<Use> {
        let function = self.function;
        let is_reader = |user: &Use| match *user {
            Use::Instruction(reader) => !self.holds(reader),
            Use::Edge(from) if from == exit.0 => {
                let edge = function.edges(from)[exit.1];
                function.arguments(edge).contains(&value)
            }
            Use::Edge(from) => !self.contains(from),
        };
        let mut readers: Vec<Use> = function.uses_of(value).filter(is_reader).collect();
        readers.dedup();
        readers
    }
}

fn apply(editor: &mut Editor<'_>, plan: &Plan) {
    let made = plan
        .recipe
        .make(editor, plan.value, plan.entering, plan.increment);
    for &reader in &plan.readers {
        match reader {
            Use::Edge(from) if from == plan.exit.0 => {
                let edge = editor.function().edges(from)[plan.exit.1];
                let arguments = editor.function().arguments(edge).to_vec();
                for (position, argument) in arguments.into_iter().enumerate() {
                    if argument == plan.value {
                        editor.set_argument(from, plan.exit.1, position, made);
                    }
                }
            }
            _ => editor.replace_use(reader, plan.value, made),
        }
    }
}
