//! Removes stores that nobody reads: to local variables that are not read there, and to any memory that is written again first.
//!
//! ## Example
//! ```text
//! st.local.u32 [depot+4], %r1;                   →        (gone: no load reads bytes 4 to 7 of depot)
//! st.global.u32 [%rd1], %r1;                     →        (gone: written again before anyone looks)
//! st.global.v2.u32 [%rd1], {%r2, %r3};
//! ```
//!
//! ## Soundness
//! All accesses to a local variable whose address is nowhere taken are known (`oriole_analysis::memory`), so what is stored where no
//! load of the function reads can go. A volatile store stays.
//!
//! A plain store can go if the same thread writes all its bytes again, by a plain store without a guard from the same base, on
//! every way from there, and nothing before that may read them or let another thread look: no load that may meet them, no
//! barrier, fence, atomic, volatile or relaxed access, warp-synchronous operation, call, exit or unknown instruction.
//!
//! ## Method
//! One walk over the instructions that collects what is read of each variable, one that removes stores. Functions without local
//! variables are not walked. Once `gvn-cse` has let loads have what was stored and `address-spaces` has let accesses name the
//! variable, much of what compilers spill unoptimized is dead. Then a walk backwards over all blocks, see
//! [`crate::overwritten`]. Where no two stores may write the same, another run waits until a store was changed, and otherwise until
//! something was that has effects.
//!
//! ## Not done
//! Variables indexed by registers; stores overwritten by several others, or in another iteration of a loop.

use crate::history::{Again, Changes};
use crate::manager::{Action, Context, Pass, Trigger};
use crate::overwritten::{may_overwrite, overwritten_stores};
use crate::remark::Rewrite;
use oriole_analysis::memory::{LocalAccess, LocalVariables, has_local_variables};
use oriole_analysis::{Analyses, ControlFlow};
use oriole_collections::BitSet;
use oriole_ir::{AccessKind, Change, Editor, Function, Instruction, Traits, Use, Value};

/// The pass.
pub(crate) const PASS: Pass = Pass {
    name: "dead-stores",
    summary: "Remove stores that nobody reads or that are overwritten first",
    action: Action::Again(run, Trigger::Changes),
};

/// The most different places read of one cell of a variable.
const MOST_READS: usize = 256;

fn run(
    editor: &mut Editor<'_>,
    analyses: &mut Analyses,
    context: &mut Context<'_>,
    again: Again<'_>,
) {
    let could_overwrite = again.kept.may_overwrite;
    let mut can_overwrite = could_overwrite;
    let has_work = |function: &Function, changes: Changes<'_>| {
        let is_relevant = |instruction: Instruction| {
            let format = function.format(instruction);
            match could_overwrite {
                true => !format.is_pure(),
                false => format.traits().have(Traits::STORES),
            }
        };
        has_local_variables(function)
            || could_overwrite && (changes.has_effects || changes.are_to_control_flow())
            || changes_any(function, changes, is_relevant)
    };
    again.unless_idle(editor, has_work, |editor| {
        can_overwrite = run_everywhere(editor, analyses, context);
    });
    again.kept.may_overwrite = can_overwrite;
}

/// Whether changes made an instruction that is relevant, or let one read something else.
fn changes_any(
    function: &Function,
    changes: Changes<'_>,
    is_relevant: impl Fn(Instruction) -> bool,
) -> bool {
    let mut replaced: BitSet<Value> = BitSet::new();
    function.traits().have(Traits::STORES)
        && changes.entries.iter().any(|change| match *change {
            Change::Inserted(instruction) | Change::Rewritten(instruction) => {
                is_relevant(instruction) && function.block_of(instruction).is_some()
            }
            Change::Replaced(_, new) => {
                replaced.insert(new)
                    && function.uses_of(new).any(|user| match user {
                        Use::Instruction(user) => is_relevant(user),
                        Use::Edge(_) => false,
                    })
            }
            _ => false,
        })
}

/// Whether stores may overwrite others.
fn run_everywhere(
    editor: &mut Editor<'_>,
    analyses: &mut Analyses,
    context: &mut Context<'_>,
) -> bool {
    if has_local_variables(editor.function()) && !unread(editor, analyses, context) {
        return true;
    }
    let flow = analyses.get::<ControlFlow>(editor.function());
    if !may_overwrite(editor.function(), &flow) {
        return false;
    }
    for store in overwritten_stores(editor.function(), &flow) {
        let rewrite = Rewrite {
            counter: "dead-stores.overwritten",
            instruction: store,
            why: "what it stores is overwritten before anyone reads it",
            equal: None,
        };
        if !context.allows(editor.function(), rewrite) {
            return true;
        }
        editor.remove_instruction(store);
    }
    true
}

/// Removes stores to parts of local variables that nobody reads. Whether to go on.
fn unread(editor: &mut Editor<'_>, analyses: &mut Analyses, context: &mut Context<'_>) -> bool {
    let variables = analyses.get::<LocalVariables>(editor.function());
    for cell in variables.cells() {
        let mut reads: Vec<(i64, i64)> = Vec::new();
        let mut stores: Vec<LocalAccess> = Vec::new();
        for access in &cell.accesses {
            if access.access.kind == AccessKind::Load {
                let bytes = (access.start, access.end);
                if !reads.contains(&bytes) {
                    reads.push(bytes);
                }
                if reads.len() > MOST_READS {
                    break;
                }
            } else if access.access.is_weak() {
                stores.push(*access);
            }
        }
        if reads.len() > MOST_READS {
            continue;
        }
        for store in stores {
            let is_read = |&(from, to): &(i64, i64)| store.start < to && from < store.end;
            if reads.iter().any(is_read) {
                continue;
            }
            let rewrite = Rewrite {
                counter: "dead-stores.stores",
                instruction: store.instruction,
                why: "nobody reads what it stores",
                equal: None,
            };
            if !context.allows(editor.function(), rewrite) {
                return false;
            }
            editor.remove_instruction(store.instruction);
        }
    }
    true
}
