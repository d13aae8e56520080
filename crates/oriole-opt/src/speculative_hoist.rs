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
//! A bounded number of instructions at the start of each arm is compared by hash and then in full, see
//! [`crate::equality`]; what is hoisted makes its readers candidates in the same walk, and makes room for more.
//!
//! ## Not done
//! More than two arms, loads from memory that changes, instructions behind a terminator's operands.

use crate::copy_propagation::is_acceptable;
use crate::equality::{self, Kind, kind_of, may_be_pure, reads_alone};
use crate::knobs::Switch;
use crate::manager::{Action, Context, Pass, Trigger};
use crate::remark::Rewrite;
use oriole_analysis::{Analyses, ControlFlow};
use oriole_collections::{DenseMap, SmallVec};
use oriole_ir::{Block, Editor, Function, Instruction, Operand, SymbolKind, Value};

/// The pass.
pub(crate) const PASS: Pass = Pass {
    name: "speculative-hoist",
    summary: "Move instructions that both arms of a branch have to before the branch",
    action: Action::Once(run, Trigger::Changes),
};

// Settings.
const SPECULATIVE_HOIST_COMMON_INSTS: Switch = Switch::named("SpeculativeHoistCommonInsts");

/// Instructions of an arm that are looked at.
const WINDOW: usize = 64;

fn run(editor: &mut Editor<'_>, analyses: &mut Analyses, context: &mut Context<'_>) {
    if !context.knobs.switch(SPECULATIVE_HOIST_COMMON_INSTS) {
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
        if one == other || !single(one) || !single(other) || !may_share(function, one, other) {
            continue;
        }
        // What goes makes room for what stands behind it.
        loop {
            match hoist(editor, block, one, other, context) {
                Some(0) => break,
                Some(_) => {}
                None => return,
            }
        }
    }
}

/// Whether there may be an instruction at the start of both arms that is the same before anything is moved: each value that it reads has
/// another reader then.
fn may_share(function: &Function, one: Block, other: Block) -> bool {
    let hashes = |arm: Block| {
        let instructions = function.instructions_of(arm).take(WINDOW);
        let candidates = instructions
            .filter(|&it| may_be_pure(function.format(it)) && !reads_alone(function, it));
        candidates.map(|it| equality::hash(function, it, |value| value))
    };
    let known: SmallVec<[u64; 16]> = hashes(one).collect();
    !known.is_empty() && hashes(other).any(|hash| known.contains(&hash))
}

/// Moves what stands at the start of both arms. How many instructions, or nothing if there is to be no more.
fn hoist(
    editor: &mut Editor<'_>,
    block: Block,
    one: Block,
    other: Block,
    context: &mut Context<'_>,
) -> Option<usize> {
    let Some(branch) = editor.function().last_instruction(block) else {
        return Some(0);
    };
    let mut hoisted = 0;
    let mut known: DenseMap<u64, Instruction> = DenseMap::new();
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
        if is_movable(editor.function(), instruction) {
            let hash = equality::hash(editor.function(), instruction, |value| value);
            known.insert(hash, instruction);
        }
    }
    for late in others {
        let function = editor.function();
        if !is_movable(function, late) {
            continue;
        }
        let hash = equality::hash(function, late, |value| value);
        let Some(&early) = known.get(&hash) else {
            continue;
        };
        if !equality::same(function, early, late, |value| value) {
            continue;
        }
        // Readers of both must accept what is left, and its operands must be there before the branch.
        let fits = function
            .results(late)
            .zip(function.results(early))
            .all(|(late, early)| is_acceptable(function, late, early));
        let ready = function
            .uses(early)
            .chain(function.uses(late))
            .all(|value| {
                let defined = function.defining_block(value);
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
            return None;
        }
        hoisted += 1;
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
    Some(hoisted)
}

/// Whether an instruction gives the same before the branch.
fn is_movable(function: &Function, instruction: Instruction) -> bool {
    kind_of(function, instruction) == Some(Kind::Pure) && !names_variable(function, instruction)
}

/// Whether an instruction names a variable: it may be in the variable's own scope, and then cannot leave it.
pub(crate) fn names_variable(function: &Function, instruction: Instruction) -> bool {
    let mut leaves = function.leaves(instruction).iter();
    leaves.any(|leaf| match leaf {
        Operand::Symbol(symbol) => {
            matches!(function.symbols()[*symbol].kind, SymbolKind::Variable(_))
        }
        _ => false,
    })
}
