//! Removes stores to local variables that nobody reads.
//!
//! ## Example
//! ```text
//! st.local.u32 [depot+4], %r1;                   →        (gone: no load reads bytes 4 to 7 of depot)
//! ```
//!
//! ## Soundness
//! All accesses to a local variable whose address is nowhere taken are known (`oriole_analysis::memory`), so what is stored where no
//! load of the function reads can go. A volatile store stays.
//!
//! ## Method
//! One walk over the instructions that collects what is read of each variable, one that removes stores. Functions without local
//! variables are not walked. Once `gvn-cse` has let loads have what was stored and `address-spaces` has let accesses name the
//! variable, much of what compilers spill unoptimized is dead.
//!
//! ## Not done
//! Stores that are overwritten before they are read; variables indexed by registers.

use crate::manager::{Action, Context, Pass, Trigger};
use crate::remark::Rewrite;
use oriole_analysis::Analyses;
use oriole_analysis::memory::{LocalAccess, LocalVariables, has_local_variables};
use oriole_ir::{AccessKind, Editor};

/// The pass.
pub(crate) const PASS: Pass = Pass {
    name: "dead-stores",
    summary: "Remove stores to local variables that nobody reads",
    action: Action::Once(run, Trigger::Changes),
};

/// The most different places read of one cell of a variable.
const MOST_READS: usize = 256;

fn run(editor: &mut Editor<'_>, analyses: &mut Analyses, context: &mut Context<'_>) {
    if !has_local_variables(editor.function()) {
        return;
    }
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
                return;
            }
            editor.remove_instruction(store.instruction);
        }
    }
}
