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

use crate::manager::{Action, Context, Pass, Trigger};
use crate::remark::Rewrite;
use oriole_analysis::scalar_evolution::{Expression, Query, ScalarEvolution};
use oriole_analysis::{Analyses, ControlFlow, Loop, Loops};
use oriole_ir::{Block, Definition, Editor, Function, Instruction, Operand, Use, Value};
use oriole_isa::{Opcode, ScalarType, build};

/// The pass.
pub(crate) const PASS: Pass = Pass {
    name: "exit-values",
    summary: "Compute what counters are behind their loop without counting",
    action: Action::Once(run, Trigger::Changes),
};

fn run(editor: &mut Editor<'_>, analyses: &mut Analyses, context: &mut Context<'_>) {
    let function = editor.function();
    let loops = analyses.get::<Loops>(function);
    if loops.iter().next().is_none() {
        return;
    }
    let flow = analyses.get::<ControlFlow>(function);
    let mut plans: Vec<Plan> = Vec::new();
    {
        let evolution = analyses.get::<ScalarEvolution>(function);
        let mut query = evolution.on(function);
        for this in loops.iter() {
            let region = Region {
                function,
                flow: &flow,
                loops: &loops,
                this,
            };
            region.plan(&mut query, &mut plans);
        }
    }
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

/// How to compute a value from values that are there before a loop.
#[derive(Clone, Copy)]
enum Recipe {
    Number(u64),
    Value(Value),
    /// A value and a number.
    Plus(Value, u64),
    Sum(Value, Value),
    Difference(Value, Value),
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

/// A loop.
struct Region<'run> {
    function: &'run Function,
    flow: &'run ControlFlow,
    loops: &'run Loops,
    this: Loop,
}

impl Region<'_> {
    fn contains(&self, block: Block) -> bool {
        self.flow.is_reachable(block) && self.loops.contains(self.this, block)
    }

    /// Whether an instruction is in the loop.
    fn holds(&self, instruction: Instruction) -> bool {
        let block = self.function.block_of(instruction);
        block.is_some_and(|block| self.contains(block))
    }

    fn plan(&self, query: &mut Query<'_>, plans: &mut Vec<Plan>) {
        let function = self.function;
        let header = self.loops.header(self.this);
        let &[latch] = self.loops.back_edges(self.this) else {
            return;
        };
        let Some((entering, enter)) = self.only_edge(header, |from| !self.contains(from)) else {
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
        let mut sources: Vec<Value> = function.arguments(function.edges(entering)[enter]).to_vec();
        sources.extend(self.compared(exit.0));
        sources.retain(|&source| function.values()[source].definition != Definition::Undefined);
        sources.sort_unstable();
        sources.dedup();
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

    /// The only edge to a block from those that `is_wanted` says, which must not be one of a table.
    fn only_edge(&self, to: Block, is_wanted: impl Fn(Block) -> bool) -> Option<(Block, usize)> {
        let mut found = None;
        for from in self.flow.predecessors(to).filter(|&from| is_wanted(from)) {
            for (index, edge) in self.function.edges(from).iter().enumerate() {
                if edge.target != to {
                    continue;
                }
                if found.is_some_and(|known| known != (from, index)) {
                    return None;
                }
                found = Some((from, index));
            }
        }
        found.filter(|&(from, _)| !self.function.ends_in_indirect_branch(from))
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
        let is_idle = function.uses_of(parameter).all(|user| match user {
            Use::Instruction(reader) => reader == increment || !self.holds(reader),
            Use::Edge(from) => !self.contains(from) || self.leaves_only(from, parameter),
        });
        let is_handed_on = function.uses_of(next).all(|user| match user {
            Use::Instruction(reader) => !self.holds(reader),
            Use::Edge(from) => {
                !self.contains(from) || from == latch || self.leaves_only(from, next)
            }
        });
        // The latch may hand the next value to no other parameter of the header.
        let header = self.loops.header(self.this);
        let edges = function.edges(latch).iter();
        let mut inside = edges.filter(|edge| self.contains(edge.target));
        let once = inside.all(|&edge| {
            let arguments = function.arguments(edge).iter();
            edge.target == header && arguments.filter(|&&own| own == next).count() <= 1
        });
        (is_idle && is_handed_on && once).then_some((parameter, next, increment))
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
        let header = self.loops.header(self.this);
        let order = &self.flow.reverse_postorder()[self.flow.position(header)..];
        let mut found = None;
        for &block in order.iter().filter(|&&block| self.contains(block)) {
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

    /// What a branch compares that is computed before the loop.
    fn compared(&self, block: Block) -> Vec<Value> {
        let function = self.function;
        let branch = function.last_instruction(block);
        let guard = branch.and_then(|branch| function.guard(branch));
        let Some(Operand::Value(predicate)) = guard else {
            return Vec::new();
        };
        let Definition::Instruction(test) = function.values()[predicate].definition else {
            return Vec::new();
        };
        let is_outside = |&value: &Value| {
            let block = function.defining_block(value);
            block.is_some_and(|block| !self.contains(block))
        };
        function.uses(test).filter(is_outside).collect()
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

    /// How to compute an expression from values.
    fn recipe(
        &self,
        query: &mut Query<'_>,
        value: Value,
        wanted: Expression,
        sources: &[Value],
    ) -> Option<Recipe> {
        let held = self.function.values()[value].scalar_type;
        if let Some(number) = query.expressions().as_constant(wanted) {
            return Some(Recipe::Number(number));
        }
        let mut known: Vec<(Value, Expression)> = Vec::new();
        for &source in sources {
            let own = self.function.values()[source].scalar_type;
            if own.bits() == held.bits() && !own.is_float() && own.lanes() == 1 {
                let expression = query.expression(source);
                if !query.expressions().is_unknown(expression) {
                    known.push((source, expression));
                }
            }
        }
        if let Some(&(source, _)) = known.iter().find(|&&(_, own)| own == wanted) {
            return Some(Recipe::Value(source));
        }
        let mut rests: Vec<(Value, Expression)> = Vec::new();
        for &(source, own) in &known {
            let rest = query.expressions_mut().subtract(wanted, own);
            if let Some(number) = query.expressions().as_constant(rest) {
                return Some(Recipe::Plus(source, number));
            }
            rests.push((source, rest));
        }
        for &(source, rest) in &rests {
            let found = known.iter().find(|&&(_, own)| own == rest);
            if let Some(&(other, _)) = found {
                return Some(Recipe::Sum(source, other));
            }
            let negated = query.expressions_mut().negate(rest);
            let found = known.iter().find(|&&(_, own)| own == negated);
            if let Some(&(other, _)) = found {
                return Some(Recipe::Difference(source, other));
            }
        }
        None
    }
}

fn apply(editor: &mut Editor<'_>, plan: &Plan) {
    let made = make(editor, plan);
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

/// Computes what a counter is behind its loop, at the end of the block that enters it.
fn make(editor: &mut Editor<'_>, plan: &Plan) -> Value {
    let function = editor.function();
    let bits = function.values()[plan.value].scalar_type.bits();
    let untyped = ScalarType::untyped(bits).expect("32 or 64 bits");
    let signed = ScalarType::integer(true, bits).expect("32 or 64 bits");
    let number = |editor: &mut Editor<'_>, number: u64| {
        let number = oriole_analysis::sign_extend(number, bits);
        editor.integer(number as u64, false)
    };
    let (mnemonic, sources) = match plan.recipe {
        Recipe::Value(value) => return value,
        Recipe::Number(own) => (build::mov(untyped), vec![number(editor, own)]),
        Recipe::Plus(value, own) => {
            let own = number(editor, own);
            (
                build::typed(Opcode::Add, signed),
                vec![Operand::Value(value), own],
            )
        }
        Recipe::Sum(left, right) => (
            build::typed(Opcode::Add, signed),
            vec![Operand::Value(left), Operand::Value(right)],
        ),
        Recipe::Difference(left, right) => (
            build::typed(Opcode::Sub, signed),
            vec![Operand::Value(left), Operand::Value(right)],
        ),
    };
    let mut operands = vec![Operand::Result(0)];
    operands.extend(sources);
    let format = editor.plain_format(&mnemonic, operands.len());
    let function = editor.function();
    let last = function.last_instruction(plan.entering);
    let branch = last.filter(|&last| function.format(last).is_terminator());
    let made = match branch {
        Some(branch) => editor.insert_before(branch, format, &operands, &[untyped]),
        None => editor.append(plan.entering, format, &operands, &[untyped]),
    };
    editor.copy_line(plan.increment, made);
    let mut results = editor.function().results(made);
    results.next().expect("it has one result")
}
