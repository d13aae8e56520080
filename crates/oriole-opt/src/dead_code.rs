//! Removes what nobody needs: blocks control cannot reach, instructions whose results nobody reads, dead block parameters.
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
//! that is none of these goes: reading memory cannot be observed. A convergent operation whose result nobody reads can go in
//! all threads alike.
//!
//! ## Method
//! Mark what is needed from the instructions that must stay, through operands, guards and block arguments, with a worklist;
//! remove the rest. Cycles of dead parameters are never marked, so they go too. Linear but for a heap of blocks.
//!
//! ## Not done
//! Stores nobody reads, and branches both ways of which do the same: they need more than liveness.

use crate::knobs::{Number, Switch};
use crate::manager::{Action, Context, Pass, Sees};
use crate::remark::Rewrite;
use oriole_analysis::{Analyses, ControlFlow};
use oriole_collections::BitSet;
use oriole_ir::{Block, Definition, Editor, Function, Instruction, Operand, SymbolKind, Value};
use oriole_isa::Opcode;
use std::collections::BinaryHeap;

/// The pass.
pub(crate) const PASS: Pass = Pass {
    name: "dead-code",
    summary: "Remove unreachable blocks, and instructions and block parameters whose values nobody reads",
    action: Action::Once(run, Sees::Changes),
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
    );
    remove_unneeded(editor, &flow, &needed, context);
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

/// The values and instructions that something needs.
struct Needed {
    values: BitSet<Value>,
    instructions: BitSet<Instruction>,
    /// Values whose definitions have not been looked at.
    worklist: Vec<Value>,
}

impl Needed {
    fn of(function: &Function, flow: &ControlFlow, keep_loads: bool) -> Needed {
        let mut needed = Needed {
            values: BitSet::with_domain(function.values().len()),
            instructions: BitSet::with_domain(function.instruction_bound()),
            worklist: Vec::new(),
        };
        for &block in flow.reverse_postorder() {
            for instruction in function.instructions_of(block) {
                if must_stay(function, instruction, keep_loads) {
                    needed.instructions.insert(instruction);
                    needed.operands_of(function, instruction);
                }
            }
        }
        // Parameters go by block, later blocks first: those of one block send to the same edges, and but for loops all of
        // them are known by then.
        let mut sent: BitSet<Value> = BitSet::with_domain(function.values().len());
        let mut waiting: BitSet<Block> = BitSet::with_domain(function.blocks().len());
        let mut blocks: BinaryHeap<usize> = BinaryHeap::new();
        let mut positions: Vec<usize> = Vec::new();
        loop {
            while let Some(value) = needed.worklist.pop() {
                match function.values()[value].definition {
                    Definition::Undefined => {}
                    Definition::Instruction(instruction) => {
                        if needed.instructions.insert(instruction) {
                            needed.operands_of(function, instruction);
                        }
                    }
                    Definition::Parameter(block) => {
                        if waiting.insert(block) {
                            blocks.push(flow.position(block));
                        }
                    }
                }
            }
            let Some(place) = blocks.pop() else {
                break;
            };
            let block = flow.reverse_postorder()[place];
            waiting.remove(block);
            positions.clear();
            for (position, &parameter) in function.blocks()[block].parameters.iter().enumerate() {
                if needed.values.contains(parameter) && sent.insert(parameter) {
                    positions.push(position);
                }
            }
            for from in flow.predecessors(block) {
                for edge in &function.blocks()[from].edges {
                    if edge.target == block {
                        for &position in &positions {
                            needed.value(edge.arguments[position]);
                        }
                    }
                }
            }
        }
        needed
    }

    fn operands_of(&mut self, function: &Function, instruction: Instruction) {
        for value in function.uses(instruction) {
            self.value(value);
        }
    }

    fn value(&mut self, value: Value) {
        if self.values.insert(value) {
            self.worklist.push(value);
        }
    }
}

/// Whether an instruction does something besides giving results.
fn must_stay(function: &Function, instruction: Instruction, keep_loads: bool) -> bool {
    let format = function.format(instruction);
    if format.opaque || !format.is_removable() {
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
    let mut budget = context.knobs.number(DEAD_CODE_BUDGET);
    // Users before what they use; uses that are left (in arguments of dead parameters) read an undefined value instead, so
    // that running out of fuel leaves a sound function.
    let mut dead: Vec<Instruction> = Vec::new();
    for &block in flow.reverse_postorder().iter().rev() {
        dead.clear();
        for instruction in editor.function().instructions_of(block) {
            if !needed.instructions.contains(instruction) {
                dead.push(instruction);
            }
        }
        for &instruction in dead.iter().rev() {
            let rewrite = Rewrite {
                counter: "dead-code.instructions",
                instruction,
                why: "nobody reads its result",
                equal: None,
            };
            if budget == 0 || !context.allows(editor.function(), rewrite) {
                return;
            }
            budget -= 1;
            for result in editor.function().results(instruction) {
                editor.replace_with_undefined(result);
            }
            editor.remove_instruction(instruction);
        }
    }
    for &block in flow.reverse_postorder() {
        let parameters = &editor.function().blocks()[block].parameters;
        let dead = parameters
            .iter()
            .filter(|&&parameter| !needed.values.contains(parameter))
            .count();
        if dead == 0 {
            continue;
        }
        let parameters = parameters.clone();
        if !context.allows_other(
            "dead-code.parameters",
            dead as u64,
            "nobody reads the values that paths into a block bring",
        ) {
            return;
        }
        let incoming: Vec<Block> = flow.predecessors(block).collect();
        for &parameter in &parameters {
            if !needed.values.contains(parameter) {
                editor.replace_with_undefined(parameter);
            }
        }
        editor.retain_parameters(block, &incoming, |position| {
            needed.values.contains(parameters[position])
        });
    }
}
