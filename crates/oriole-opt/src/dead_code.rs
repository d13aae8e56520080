//! Removes what nobody needs: blocks control cannot reach, instructions whose results nobody reads, dead block parameters, local
//! variables that nothing names.
//!
//! ## Example
//! ```text
//! mov.u32 %r1, %tid.x;
//! add.s32 %r2, %r1, 1;          // nobody reads %r2          →   mov.u32 %r1, %tid.x;
//! st.global.u32 [%rd1], %r1;                                     st.global.u32 [%rd1], %r1;
//! ```
//!
//! ## Soundness
//! An instruction stays if it has an effect besides its results: it writes memory, orders it, traps, branches, writes the
//! carry flag, is asynchronous, volatile or unknown, reads a volatile special register, or defines a pinned register. A load
//! that is none of these goes: reading memory cannot be observed. A warp-synchronous operation whose result nobody reads may
//! be what other lanes wait for: it goes only where all lanes are known to execute it together ([`Convergence`]).
//!
//! A local variable that no instruction names holds nothing that can be read. `ptxas` reserves its bytes all the same.
//!
//! ## Method
//! One walk from the last instruction to the first meets users before what they use, and marks what those that must stay need,
//! through operands, guards and block arguments. Only what edges back to earlier blocks bring is not known by then: a worklist
//! marks that. The rest is removed. Cycles of dead parameters are never marked, so they go too. Linear but for a heap of blocks.
//!
//! ## Not done
//! Stores nobody reads, and branches both ways of which do the same: they need more than liveness.

use crate::knobs::{Number, Switch};
use crate::manager::{Action, Context, Pass, Trigger};
use crate::remark::Rewrite;
use oriole_analysis::{Analyses, ControlFlow, Convergence};
use oriole_collections::{BitSet, IndexVec, SmallVec};
use oriole_ir::{
    Block, Definition, Editor, Function, Instruction, Operand, SymbolKind, Value, Variable,
    VariableData, VariableKind,
};
use oriole_isa::{Opcode, Space};
use std::cell::LazyCell;
use std::collections::BinaryHeap;

/// The pass.
pub(crate) const PASS: Pass = Pass {
    name: "dead-code",
    summary: "Remove unreachable blocks, instructions and block parameters whose values nobody reads, and unnamed local variables",
    action: Action::Once(run, Trigger::Changes),
};

// Settings.
const ENABLE_DEAD_CODE: Switch = Switch::named("EnableDeadCode");
const DEAD_CODE_KEEP_LOADS: Switch = Switch::named("DeadCodeKeepLoads");
const DEAD_CODE_BUDGET: Number = Number::named("DeadCodeBudget");

fn run(editor: &mut Editor<'_>, analyses: &mut Analyses, context: &mut Context<'_>) {
    if !context.knobs.switch(ENABLE_DEAD_CODE) {
        return;
    }
    let flow = analyses.get::<ControlFlow>(editor.function());
    remove_unreachable(editor, &flow, context);
    let needed = Needed::of(
        editor.function(),
        &flow,
        context.knobs.switch(DEAD_CODE_KEEP_LOADS),
        || analyses.get::<Convergence>(editor.function()).converges(),
    );
    remove_unneeded(editor, &flow, &needed, context);
    remove_unnamed_variables(editor, context);
}

fn remove_unnamed_variables(editor: &mut Editor<'_>, context: &mut Context<'_>) {
    let function = editor.function();
    let is_local = |data: &VariableData| {
        data.kind == VariableKind::Declared
            && data.space == Some(Space::Local)
            && !data.is_removed()
    };
    if !function.variables().values().any(is_local) {
        return;
    }
    let mentioned = function.mentioned_variables();
    let variables = function.variables().iter();
    let unnamed: Vec<Variable> = variables
        .filter(|&(variable, data)| is_local(data) && !mentioned.contains(variable))
        .map(|(variable, _)| variable)
        .collect();
    for variable in unnamed {
        if !context.allows_other(
            "dead-code.variables",
            1,
            "no instruction names this local variable",
        ) {
            return;
        }
        editor.remove_variable(variable);
    }
}

fn remove_unreachable(editor: &mut Editor<'_>, flow: &ControlFlow, context: &mut Context<'_>) {
    let unreachable: Vec<Block> = editor
        .function()
        .block_order()
        .iter()
        .copied()
        .filter(|&block| !flow.is_reachable(block))
        .collect();
    // One rewrite: unreachable blocks lead to each other.
    if !unreachable.is_empty()
        && context.allows_other(
            "dead-code.blocks",
            unreachable.len() as u64,
            "nothing leads to these blocks",
        )
    {
        editor.remove_blocks(&unreachable);
    }
}

/// What something needs.
struct Needed {
    values: IndexVec<Value, bool>,
    /// Instructions that no one before in the walk needed: users before what they use.
    unneeded: SmallVec<[Instruction; 32]>,
    /// Values whose definitions have not been looked at.
    worklist: Vec<Value>,
}

impl Needed {
    fn of(
        function: &Function,
        flow: &ControlFlow,
        keep_loads: bool,
        converges: impl FnOnce() -> bool,
    ) -> Needed {
        let mut needed = Needed {
            values: IndexVec::from_elem(false, function.values().len()),
            unneeded: SmallVec::new(),
            worklist: Vec::new(),
        };
        let converges = LazyCell::new(converges);
        let headers = needed.walk(function, flow, keep_loads, &converges);
        if !headers.is_empty() {
            needed.go_round(function, flow, headers);
            let values = &needed.values;
            needed
                .unneeded
                .retain(|instruction| !has_needed_result(function, values, *instruction));
        }
        needed
    }

    /// Walks from the last instruction to the first. Gives the places in reverse postorder of the blocks with parameters
    /// that edges from later blocks lead to: these edges have not brought what they need.
    fn walk(
        &mut self,
        function: &Function,
        flow: &ControlFlow,
        keep_loads: bool,
        converges: &LazyCell<bool, impl FnOnce() -> bool>,
    ) -> BinaryHeap<usize> {
        let mut headers = BinaryHeap::new();
        for (place, &block) in flow.reverse_postorder().iter().enumerate().rev() {
            for edge in &function.blocks()[block].edges {
                if function.arguments(*edge).is_empty() {
                    continue;
                }
                let target = flow.position(edge.target);
                if target <= place {
                    headers.push(target);
                    continue;
                }
                let parameters = &function.blocks()[edge.target].parameters;
                for (&parameter, &argument) in parameters.iter().zip(function.arguments(*edge)) {
                    if self.values[parameter] {
                        self.values[argument] = true;
                    }
                }
            }
            for instruction in function.instructions_backwards(block) {
                if has_needed_result(function, &self.values, instruction)
                    || must_stay(function, instruction, keep_loads, converges)
                {
                    let uses = function.uses(instruction);
                    uses.for_each(|value| self.values[value] = true);
                } else {
                    self.unneeded.push(instruction);
                }
            }
        }
        headers
    }

    /// Brings what the edges to the blocks at these places need, until nothing more is needed. Parameters go by block, later
    /// blocks first: those of one block send to the same edges, and but for loops all of them are known by then.
    fn go_round(&mut self, function: &Function, flow: &ControlFlow, mut blocks: BinaryHeap<usize>) {
        let mut sent: BitSet<Value> = BitSet::with_domain(function.values().len());
        let mut waiting: BitSet<usize> = BitSet::with_domain(flow.reverse_postorder().len());
        for &place in &blocks {
            waiting.insert(place);
        }
        let mut positions: Vec<usize> = Vec::new();
        while let Some(place) = blocks.pop() {
            let block = flow.reverse_postorder()[place];
            waiting.remove(place);
            positions.clear();
            for (position, &parameter) in function.blocks()[block].parameters.iter().enumerate() {
                if self.values[parameter] && sent.insert(parameter) {
                    positions.push(position);
                }
            }
            if positions.is_empty() {
                continue;
            }
            for from in flow.predecessors(block) {
                for edge in &function.blocks()[from].edges {
                    if edge.target == block {
                        for &position in &positions {
                            self.value(function.arguments(*edge)[position]);
                        }
                    }
                }
            }
            while let Some(value) = self.worklist.pop() {
                match function.values()[value].definition {
                    Definition::Undefined => {}
                    Definition::Instruction(instruction) => {
                        for value in function.uses(instruction) {
                            self.value(value);
                        }
                    }
                    Definition::Parameter(block) => {
                        let place = flow.position(block);
                        if waiting.insert(place) {
                            blocks.push(place);
                        }
                    }
                }
            }
        }
    }

    fn value(&mut self, value: Value) {
        if !std::mem::replace(&mut self.values[value], true) {
            self.worklist.push(value);
        }
    }
}

/// Whether one of the results of an instruction is needed.
fn has_needed_result(
    function: &Function,
    values: &IndexVec<Value, bool>,
    instruction: Instruction,
) -> bool {
    function.results(instruction).any(|result| values[result])
}

/// Whether an instruction does something besides giving results.
fn must_stay(
    function: &Function,
    instruction: Instruction,
    keep_loads: bool,
    converges: &LazyCell<bool, impl FnOnce() -> bool>,
) -> bool {
    let format = function.format(instruction);
    if format.opaque
        || !(format.is_removable() || format.effects.is_removable_if_converged() && **converges)
    {
        return true;
    }
    if keep_loads && matches!(format.mnemonic.opcode(), Opcode::Ld | Opcode::Ldu) {
        return true;
    }
    for (index, operand) in function.leaves(instruction).iter().enumerate() {
        match *operand {
            Operand::Register(_) if format.leaves[index].role.defines() => return true,
            Operand::Symbol(symbol) => {
                if let SymbolKind::Special(special) = function.symbols()[symbol].kind
                    && special.is_volatile()
                {
                    return true;
                }
            }
            _ => {}
        }
    }
    // Something that neither has an effect nor a result is not understood: leave it.
    function.results(instruction).len() == 0
}

fn remove_unneeded(
    editor: &mut Editor<'_>,
    flow: &ControlFlow,
    needed: &Needed,
    context: &mut Context<'_>,
) {
    let budget = usize::try_from(context.knobs.number(DEAD_CODE_BUDGET)).unwrap_or(usize::MAX);
    for (removed, &instruction) in needed.unneeded.iter().enumerate() {
        let rewrite = Rewrite {
            counter: "dead-code.instructions",
            instruction,
            why: "nobody reads its result",
            equal: None,
        };
        if removed == budget || !context.allows(editor.function(), rewrite) {
            return leave_readers(editor, &needed.unneeded[..removed], &[]);
        }
        editor.remove_instruction(instruction);
    }
    let mut removed: Vec<Value> = Vec::new();
    for &block in flow.reverse_postorder() {
        let is_dead = |parameter: &&Value| !needed.values[**parameter];
        let parameters = &editor.function().blocks()[block].parameters;
        let dead = parameters.iter().filter(is_dead).count();
        if dead == 0 {
            continue;
        }
        let parameters = parameters.clone();
        if !context.allows_other(
            "dead-code.parameters",
            dead as u64,
            "nobody reads the values that paths into a block bring",
        ) {
            return leave_readers(editor, &needed.unneeded, &removed);
        }
        let incoming: Vec<Block> = flow.predecessors(block).collect();
        removed.extend(parameters.iter().filter(is_dead));
        editor.retain_parameters(block, &incoming, |position| {
            needed.values[parameters[position]]
        });
    }
}

/// What is removed is read by nothing that stays. If not all of it could be removed, arguments of dead parameters may still
/// read the results of these instructions and these parameters: they read an undefined value instead.
fn leave_readers(editor: &mut Editor<'_>, instructions: &[Instruction], parameters: &[Value]) {
    for &instruction in instructions {
        for result in editor.function().results(instruction) {
            editor.replace_with_undefined(result);
        }
    }
    for &parameter in parameters {
        editor.replace_with_undefined(parameter);
    }
}
