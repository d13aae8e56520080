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
//! [`crate::overwritten`].
//!
//! ## Not done
//! Variables indexed by registers; stores overwritten by several others, or in another iteration of a loop.

use crate::manager::{Action, Context, Pass, Trigger};
use crate::overwritten::overwritten_stores;
use crate::remark::Rewrite;
use oriole_analysis::memory::{LocalAccess, LocalVariables, has_local_variables};
use oriole_analysis::{Analyses, ControlFlow};
use oriole_ir::{AccessKind, Editor};

/// The pass.
pub(crate) const PASS: Pass = Pass {
    name: "dead-stores",
    summary: "Remove stores that nobody reads or that are overwritten first",
    action: Action::Once(run, Trigger::Changes),
};

/// The most different places read of one cell of a variable.
const MOST_READS: usize = 256;

fn run(editor: &mut Editor<'_>, analyses: &mut Analyses, context: &mut Context<'_>) {
    if has_local_variables(editor.function()) && !unread(editor, analyses, context) {
        return;
    }
    let flow = analyses.get::<ControlFlow>(editor.function());
    for store in overwritten_stores(editor.function(), &flow) {
        let rewrite = Rewrite {
            counter: "dead-stores.overwritten",
            instruction: store,
            why: "what it stores is overwritten before anyone reads it",
            equal: None,
        };
        if !context.allows(editor.function(), rewrite) {
            return;
        }
        editor.remove_instruction(store);
    }
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
