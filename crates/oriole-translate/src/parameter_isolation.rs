//! Lets a loop's header copy a parameter that is needed behind the copies of the edge back: the lost copy problem of leaving SSA form,
//! solved as Boissinot et al. isolate φ-functions (*Revisiting Out-of-SSA Translation*, 2009), but only where it occurs.
//!
//! ## Example
//! The branch back reads a predicate that the loop carries:
//! ```text
//! COPIES: mov.pred %p1, %p2;                     LOOP:   mov.pred %p3, %p1;
//! LOOP:   …                                              …
//!         setp.lt.s32 %p2, %r1, %r2;       →             setp.lt.s32 %p1, %r1, %r2;
//!         @%p1 bra COPIES;                               @%p3 bra LOOP;
//! ```
//!
//! ## Soundness
//! The copy is the first thing in the header, so it is made whenever the parameter gets a value, before anyone reads that.
//!
//! ## Why
//! What the branch or the way out of the loop still needs cannot be overwritten before the branch. A block of copies before the header
//! is what `ptxas` takes for a way into the loop ([`crate::copy_placement`]); a copy in the header costs nothing once it has renamed
//! registers.

use crate::out_of_ssa::InsertedCopies;
use oriole_analysis::Analyses;
use oriole_collections::SmallVec;
use oriole_ir::{Definition, Editor, Function, Operand, Use, Value};
use oriole_isa::build;

/// Lets everyone read copies of these parameters that their blocks make at the start. Gives the copies.
pub(crate) fn isolate(
    function: &mut Function,
    analyses: &mut Analyses,
    parameters: &[Value],
) -> Vec<InsertedCopies> {
    let mut parameters = parameters.to_vec();
    parameters.sort_unstable();
    parameters.dedup();
    let mut inserted = Vec::new();
    let mut editor = Editor::new(function);
    for &parameter in parameters.iter().rev() {
        let data = editor.function().values()[parameter];
        let Definition::Parameter(block) = data.definition else {
            continue;
        };
        let readers: SmallVec<[Use; 8]> = editor.function().uses_of(parameter).collect();
        let format = editor.plain_format(&build::copy(data.scalar_type), 2);
        let operands = [Operand::Result(0), Operand::Value(parameter)];
        let first = editor.function().instructions_of(block).next();
        let copy = match first {
            Some(first) => {
                let copy = editor.insert_before(first, format, &operands, &[data.scalar_type]);
                editor.copy_line(first, copy);
                copy
            }
            None => editor.append(block, format, &operands, &[data.scalar_type]),
        };
        let own = editor.function().results(copy).next();
        let own = own.expect("a copy has a result");
        for reader in readers {
            editor.replace_use(reader, parameter, own);
        }
        inserted.push(InsertedCopies {
            block,
            target: None,
            count: 1,
        });
    }
    let journal = editor.finish();
    analyses.update(function, &journal);
    inserted
}
