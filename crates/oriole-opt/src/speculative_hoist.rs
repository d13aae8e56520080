//! Moves what both arms of a branch compute to before the branch.
//!
//! ## Example
//! ```text
//!     @%p1 bra $L2;                                          add.s64 %rd3, %rd1, %rd2;
//!     add.s64 %rd3, %rd1, %rd2;                              @%p1 bra $L2;
//!     …                                           →          …
//! $L2:                                                   $L2:
//!     add.s64 %rd4, %rd1, %rd2;                              …
//! ```
//!
//! ## Soundness
//! Both blocks have no other way in, so whoever executes one of the two instructions has come through the branch, and
//! whoever comes through the branch executes one of them. They are equal: same format, same operands, all of them known
//! before the branch. Pure instructions only, and loads of what does not change; no sums and products that ptxas may fuse,
//! see [`crate::fusion`].
//!
//! ## Method
//! A bounded number of instructions at the start of each arm is compared by a table; what is hoisted makes its readers
//! candidates in the same walk.
//!
//! ## Not done
//! More than two arms, loads from memory that changes, instructions behind a terminator's operands.

use crate::copy_propagation::is_acceptable;
use crate::fusion::is_contractible;
use crate::manager::{Action, Context, Pass};
use crate::remark::Rewrite;
use oriole_analysis::{Analyses, ControlFlow};
use oriole_collections::{DenseMap, SmallVec};
use oriole_ir::{Block, Editor, Function, Instruction, Operand, SymbolKind, Value};
use oriole_isa::Opcode;
use oriole_syntax::literal::Literal;

/// The pass.
pub(crate) const PASS: Pass = Pass {
    name: "speculative-hoist",
    summary: "Move instructions that both arms of a branch have to before the branch",
    action: Action::Once(run),
};

/// Instructions of an arm that are looked at.
const WINDOW: usize = 64;

fn run(editor: &mut Editor<'_>, analyses: &mut Analyses, context: &mut Context<'_>) {
    if !context.knobs.switch("SpeculativeHoistCommonInsts") {
        return;
    }
    let flow = analyses.get::<ControlFlow>(editor.function());
    // Inner branches first: what they give may be common to outer arms.
    for &block in flow.reverse_postorder().iter().rev() {
        let function = editor.function();
        let [one, other] = &function.blocks()[block].edges[..] else {
            continue;
        };
        let (one, other) = (one.target, other.target);
        let single = |arm: Block| arm != block && flow.predecessors(arm).len() == 1;
        if one == other || !single(one) || !single(other) {
            continue;
        }
        if !hoist(editor, block, one, other, context) {
            return;
        }
    }
}

/// An instruction as a list of words, equal for equal instructions.
type Key = Vec<u64>;

/// Whether to go on.
fn hoist(
    editor: &mut Editor<'_>,
    block: Block,
    one: Block,
    other: Block,
    context: &mut Context<'_>,
) -> bool {
    let Some(branch) = editor.function().last_instruction(block) else {
        return true;
    };
    let mut known: DenseMap<Key, Instruction> = DenseMap::new();
    let candidates: Vec<Instruction> = editor
        .function()
        .instructions_of(one)
        .take(WINDOW)
        .collect();
    let others: Vec<Instruction> = editor
        .function()
        .instructions_of(other)
        .take(WINDOW)
        .collect();
    for &instruction in &candidates {
        if let Some(key) = key(editor, instruction) {
            known.insert(key, instruction);
        }
    }
    for late in others {
        let Some(late_key) = key(editor, late) else {
            continue;
        };
        let Some(&early) = known.get(&late_key) else {
            continue;
        };
        let function = editor.function();
        // Readers of both must accept what is left, and its operands must be there before the branch.
        let fits = function
            .results(late)
            .zip(function.results(early))
            .all(|(late, early)| is_acceptable(function, late, early));
        let ready = function
            .uses(early)
            .chain(function.uses(late))
            .all(|value| {
                let defined = match function.values()[editor.resolve(value)].definition {
                    oriole_ir::Definition::Instruction(definer) => function.block_of(definer),
                    oriole_ir::Definition::Parameter(block) => Some(block),
                    oriole_ir::Definition::Undefined => None,
                };
                defined != Some(one) && defined != Some(other)
            });
        if !fits || !ready || function.block_of(early) != Some(one) {
            continue;
        }
        let rewrite = Rewrite {
            counter: "speculative-hoist.instructions",
            instruction: late,
            why: "the other arm of the branch computes the same",
            equal: Some(early),
        };
        if !context.allows(function, rewrite) {
            return false;
        }
        let pairs: SmallVec<[(Value, Value); 2]> = function
            .results(late)
            .zip(function.results(early))
            .collect();
        editor.move_before(early, branch);
        for (late, early) in pairs {
            editor.replace_value(late, early);
        }
        editor.remove_instruction(late);
    }
    true
}

/// The words of an instruction that may be hoisted.
fn key(editor: &Editor<'_>, instruction: Instruction) -> Option<Key> {
    let function = editor.function();
    let format = function.format(instruction);
    let movable = function.results(instruction).len() > 0
        && !format.opaque
        && (format.is_pure() || function.is_invariant_load(instruction))
        && !is_contractible(function, instruction)
        && !is_free(function, instruction);
    if !movable {
        return None;
    }
    let mut key = Key::new();
    key.push(u64::from(function.instruction(instruction).format.as_u32()));
    for &operand in function.operands(instruction) {
        let word = match operand {
            Operand::Value(value) => u64::from(editor.resolve(value).as_u32()),
            Operand::Result(index) => 1 << 60 | u64::from(index),
            Operand::Constant(constant) => match function.constants()[constant].literal {
                Some(Literal::Integer { bits, .. }) => {
                    key.push(2 << 60);
                    bits
                }
                Some(Literal::Single(bits)) => 3 << 60 | u64::from(bits),
                Some(Literal::Double(bits)) => {
                    key.push(4 << 60);
                    bits
                }
                None => return None,
            },
            Operand::Symbol(symbol) => match function.symbols()[symbol].kind {
                SymbolKind::Special(special) if special.is_volatile() => return None,
                // A variable may be declared in the arm's own scope.
                SymbolKind::Variable(_) => return None,
                _ => 5 << 60 | u64::from(symbol.as_u32()),
            },
            Operand::Sink => 6 << 60,
            Operand::Register(_) | Operand::Target(_) => return None,
        };
        key.push(word);
    }
    Some(key)
}

/// Moves of constants put a value where it is needed; elsewhere they would only have to be copied.
fn is_free(function: &Function, instruction: Instruction) -> bool {
    function.format(instruction).mnemonic.opcode() == Opcode::Mov
        && function
            .leaves(instruction)
            .iter()
            .all(|leaf| matches!(leaf, Operand::Result(_) | Operand::Constant(_)))
}
