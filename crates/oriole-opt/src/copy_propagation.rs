//! Lets readers of a copy read the original.
//!
//! ## Example
//! ```text
//! mov.b32 %r2, %r1;                                          // gone: nobody reads %r2
//! add.s32 %r3, %r2, %r2;                          →          add.s32 %r3, %r1, %r1;
//! ```
//!
//! ## Soundness
//! In SSA form the original dominates the copy and never changes, so whoever could read the copy can read the original. A
//! guarded copy is no copy: it is a choice. The register of the original must be one the readers accept: of the copy's own
//! type, or untyped and as wide. Pinned registers are not values and take no part.
//!
//! ## Method
//! One look at each instruction to find copies, one at each operand to replace them. Copies of copies resolve to the first
//! original.
//!
//! ## Not done
//! Block arguments and values kept by guarded instructions still read the copy: there the copy puts a value into the register
//! where it is needed, and would come back when SSA form is left. Copies of constants and symbols stay too: which operands
//! accept them depends on the instruction.

use crate::manager::{Action, Context, Pass};
use oriole_analysis::{Analyses, ControlFlow};
use oriole_collections::DenseMap;
use oriole_ir::{Editor, Function, Instruction, Operand, ShapeNode, Value};
use oriole_isa::Opcode;

/// The pass.
pub(crate) const PASS: Pass = Pass {
    name: "copy-propagation",
    summary: "Let readers of a register copy read the original",
    action: Action::Once(run),
};

fn run(editor: &mut Editor<'_>, analyses: &mut Analyses, context: &mut Context<'_>) {
    let flow = analyses.get::<ControlFlow>(editor.function());
    let mut originals: DenseMap<Value, Value> = DenseMap::new();
    for &block in flow.reverse_postorder() {
        let instructions: Vec<Instruction> = editor.function().instructions_of(block).collect();
        for instruction in instructions {
            replace_operands(editor, &originals, instruction, context);
            let function = editor.function();
            if let Some((copy, original)) = copy_of(function, instruction)
                && is_acceptable(function, copy, original)
                && context.fuel.spend()
            {
                // Operands were replaced already: the source is an original.
                originals.insert(copy, original);
            }
        }
    }
}

fn replace_operands(
    editor: &mut Editor<'_>,
    originals: &DenseMap<Value, Value>,
    instruction: Instruction,
    context: &mut Context<'_>,
) {
    let tied = editor.function().otherwise(instruction).len();
    for index in 0..editor.function().operands(instruction).len() {
        if (1..=tied).contains(&index) {
            continue;
        }
        if let Operand::Value(value) = editor.function().operands(instruction)[index]
            && let Some(&original) = originals.get(&value)
        {
            editor.set_operand(instruction, index, Operand::Value(original));
            context.statistics.add("copy-propagation.operands", 1);
        }
    }
}

/// The result and source of a plain copy between registers.
fn copy_of(function: &Function, instruction: Instruction) -> Option<(Value, Value)> {
    let format = function.format(instruction);
    let plain = format.mnemonic.opcode() == Opcode::Mov
        && !format.is_guarded()
        && !format.opaque
        && *format.shape == [ShapeNode::LEAF; 2];
    match (plain, function.leaves(instruction)) {
        (true, &[Operand::Result(0), Operand::Value(original)]) => {
            let copy = function.results(instruction).next()?;
            Some((copy, original))
        }
        _ => None,
    }
}

/// Whether everyone who reads a register like `copy`'s may read one like `original`'s.
pub(crate) fn is_acceptable(function: &Function, copy: Value, original: Value) -> bool {
    let (copy, original) = (
        function.values()[copy].scalar_type,
        function.values()[original].scalar_type,
    );
    copy == original || (original.is_bits() && original.bits() == copy.bits())
}
