//! Isolates header parameters and their arguments where the copies of a back edge would overwrite what the loop's exit needs. This is the
//! lost copy problem of leaving SSA form, solved as in Boissinot et al., *Revisiting Out-of-SSA Translation* (2009), only where it occurs.
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
//! If the exit needs another value that has the register of a parameter, the latch copies the argument of that parameter before the
//! branch. The copy and that value are live at once, so they get two registers (`copies_before_exit`).
//!
//! ## Soundness
//! The copy of a parameter is the first instruction of the header, so every use of the parameter may read the copy. The copy of an
//! argument is the last instruction before the branch, and only the back edge reads it.
//!
//! ## Why
//! Nothing that the branch or the loop's exit needs may be overwritten before the branch. `ptxas` takes a block of copies before the
//! header for an entry of the loop ([`crate::copy_placement`]). A copy in the header or the latch costs nothing once it has renamed registers.

use crate::copy_placement::Lost;
use crate::out_of_ssa::InsertedCopies;
use oriole_analysis::Analyses;
use oriole_collections::SmallVec;
use oriole_ir::{Block, Definition, Editor, Function, Instruction, Operand, Use, Value};
use oriole_isa::build;

/// Inserts the copies and lets their uses read them. Gives the copies.
pub(crate) fn isolate(
    function: &mut Function,
    analyses: &mut Analyses,
    lost: &[Lost],
) -> Vec<InsertedCopies> {
    let mut lost = lost.to_vec();
    lost.sort_unstable();
    lost.dedup();
    let mut inserted = Vec::new();
    let mut editor = Editor::new(function);
    for &own in lost.iter().rev() {
        let block = match own {
            Lost::Parameter(parameter) => isolate_parameter(&mut editor, parameter),
            Lost::Argument {
                block,
                edge,
                position,
            } => isolate_argument(&mut editor, block, edge, position),
        };
        inserted.extend(block.map(|block| InsertedCopies {
            block,
            target: None,
            count: 1,
        }));
    }
    let journal = editor.finish();
    analyses.update(function, &journal);
    inserted
}

/// Copies a parameter at the start of its block. Gives the block.
fn isolate_parameter(editor: &mut Editor<'_>, parameter: Value) -> Option<Block> {
    let Definition::Parameter(block) = editor.function().values()[parameter].definition else {
        return None;
    };
    let readers: SmallVec<[Use; 8]> = editor.function().uses_of(parameter).collect();
    let first = editor.function().instructions_of(block).next();
    let copy = copy(editor, parameter, block, first);
    for reader in readers {
        editor.replace_use(reader, parameter, copy);
    }
    Some(block)
}

/// Copies an argument before the branch that passes it. Gives the block.
fn isolate_argument(
    editor: &mut Editor<'_>,
    block: Block,
    edge: usize,
    position: usize,
) -> Option<Block> {
    let function = editor.function();
    let argument = function.arguments(function.edges(block)[edge])[position];
    let branch = function.last_instruction(block);
    let copy = copy(editor, argument, block, branch);
    editor.set_argument(block, edge, position, copy);
    Some(block)
}

/// Copies a value before an instruction of a block, or at its end.
fn copy(editor: &mut Editor<'_>, value: Value, block: Block, next: Option<Instruction>) -> Value {
    let scalar_type = editor.function().values()[value].scalar_type;
    let format = editor.plain_format(&build::copy(scalar_type), 2);
    let operands = [Operand::Result(0), Operand::Value(value)];
    let copy = match next {
        Some(next) => {
            let copy = editor.insert_before(next, format, &operands, &[scalar_type]);
            editor.copy_line(next, copy);
            copy
        }
        None => editor.append(block, format, &operands, &[scalar_type]),
    };
    let mut results = editor.function().results(copy);
    results.next().expect("a copy has a result")
}
