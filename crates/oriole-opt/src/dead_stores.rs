//! Removes stores to local variables that nobody reads.
//!
//! ## Example
//! ```text
//! st.local.u32 [depot+4], %r1;                   →        (gone: no load reads bytes 4 to 7 of depot)
//! ```
//!
//! ## Soundness
//! All accesses to a local variable whose address is nowhere taken are known (`local_accesses.rs`), so what is stored where no
//! load of the function reads can go. A volatile store stays.
//!
//! ## Method
//! One walk over the instructions that collects what is read of each variable, one that removes stores. Functions without local
//! variables are not walked. Once `gvn-cse` has let loads have what was stored and `address-spaces` has let accesses name the
//! variable, much of what compilers spill unoptimized is dead.
//!
//! ## Not done
//! Stores that are overwritten before they are read; variables indexed by registers.

use crate::local_accesses::{LocalAccess, has_local_variables, untaken_variables};
use crate::manager::{Action, Context, Pass, Sees};
use crate::remark::Rewrite;
use oriole_analysis::Analyses;
use oriole_ir::Editor;
use oriole_isa::Opcode;

/// The pass.
pub(crate) const PASS: Pass = Pass {
    name: "dead-stores",
    summary: "Remove stores to local variables that nobody reads",
    action: Action::Once(run, Sees::Changes),
};

/// The most different places read of one variable.
const MOST_READS: usize = 256;

fn run(editor: &mut Editor<'_>, _: &mut Analyses, context: &mut Context<'_>) {
    if !has_local_variables(editor.function()) {
        context.is_done = true;
        return;
    }
    for (_, accesses) in untaken_variables(editor.function()) {
        let function = editor.function();
        let mut reads: Vec<(i64, i64)> = Vec::new();
        let mut stores: Vec<LocalAccess> = Vec::new();
        for access in accesses {
            let format = function.format(access.instruction);
            if format.mnemonic.opcode() == Opcode::Ld {
                let bytes = (access.start, access.end);
                if !reads.contains(&bytes) {
                    reads.push(bytes);
                }
                if reads.len() > MOST_READS {
                    break;
                }
            } else if !format.effects.volatile && format.effects.ordering.is_none() {
                stores.push(access);
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
