//! Computes at once what depends on constants only.
//!
//! ## Example
//! ```text
//! mov.u32 %r1, 6;
//! mul.lo.s32 %r2, %r1, 7;               →        mov.b32 %r2, 42;
//! ```
//!
//! ## Soundness
//! What an instruction gives is asked of `oriole_isa::evaluate`, which replays results recorded on hardware and answers only
//! where rounding, `.ftz` and `.sat` make the result certain; never for `.approx`. Guarded instructions are choices and stay.
//! An operand counts as constant if its register was set from a constant by an unguarded `mov` of its own width.
//!
//! ## Method
//! One walk in reverse postorder with a table of known values, so chains fold in one run. An instruction becomes one `mov`:
//! code never grows.
//!
//! ## Not done
//! Constants as operands of instructions that have other operands too; branches on constants.

use crate::manager::{Action, Context, Pass};
use crate::remark::Rewrite;
use oriole_analysis::{Analyses, ControlFlow};
use oriole_collections::DenseMap;
use oriole_ir::{Editor, Function, Instruction, Operand, ShapeNode, Value};
use oriole_isa::{Opcode, Role, ScalarType, evaluate};
use oriole_syntax::literal::Literal;
use oriole_syntax::tree::Guard;

/// The pass.
pub(crate) const PASS: Pass = Pass {
    name: "constant-folding",
    summary: "Replace instructions that compute a constant by a move of that constant",
    action: Action::Once(run),
};

fn run(editor: &mut Editor<'_>, analyses: &mut Analyses, context: &mut Context<'_>) {
    let flow = analyses.get::<ControlFlow>(editor.function());
    let mut known: DenseMap<Value, u128> = DenseMap::new();
    for &block in flow.reverse_postorder() {
        let instructions: Vec<Instruction> = editor.function().instructions_of(block).collect();
        for instruction in instructions {
            let function = editor.function();
            let Some((result, bits)) = fold(function, &known, instruction) else {
                continue;
            };
            known.insert(result, bits);
            if function.format(instruction).mnemonic.opcode() == Opcode::Mov {
                continue;
            }
            let data = function.values()[result];
            let (mnemonic, literal) = match data.scalar_type {
                ScalarType::Pred => ("mov.pred", bits as u64),
                scalar_type => match scalar_type.bits() {
                    16 => ("mov.b16", bits as u64),
                    32 => ("mov.b32", bits as u64),
                    64 => ("mov.b64", bits as u64),
                    _ => continue,
                },
            };
            let rewrite = Rewrite {
                counter: "constant-folding.instructions",
                instruction,
                why: "its operands are constants",
                equal: None,
            };
            if !context.allows(function, rewrite) {
                return;
            }
            let format = editor.format(mnemonic, Guard::None, [ShapeNode::LEAF; 2].into_iter());
            let constant = editor.integer(literal, true);
            let folded = editor.insert_before(
                instruction,
                format,
                &[Operand::Result(0), constant],
                &[data.scalar_type],
            );
            let value = editor
                .function()
                .results(folded)
                .next()
                .expect("one result");
            editor.set_home(value, data.home.expand());
            editor.replace_value(result, value);
            editor.remove_instruction(instruction);
            known.insert(value, bits);
        }
    }
}

/// The result of an instruction all of whose operands are known, and its bits.
fn fold(
    function: &Function,
    known: &DenseMap<Value, u128>,
    instruction: Instruction,
) -> Option<(Value, u128)> {
    let format = function.format(instruction);
    let results = function.results(instruction).len();
    if format.opaque || format.is_guarded() || !format.effects.is_pure() || results != 1 {
        return None;
    }
    if !format.shape.iter().all(|node| *node == ShapeNode::LEAF) {
        return None;
    }
    let mut inputs = Vec::new();
    for (index, (leaf, &operand)) in format
        .leaves
        .iter()
        .zip(function.leaves(instruction))
        .enumerate()
    {
        match leaf.role {
            Role::Define => continue,
            Role::Use | Role::Constant => {}
            _ => return None,
        }
        let wanted = format.mnemonic.operand_type(index, format.operand_count);
        inputs.push(match operand {
            Operand::Value(value) => {
                // A register wider than what is read of it has bits that do not count; leave those to those who know.
                let held = function.values()[value].scalar_type;
                if held != ScalarType::Pred && held.bits() != wanted?.bits() {
                    return None;
                }
                *known.get(&value)?
            }
            Operand::Constant(constant) => {
                literal_bits(function.constants()[constant].literal?, wanted, leaf.role)?
            }
            _ => return None,
        });
    }
    let outputs = evaluate(&format.mnemonic, &inputs)?;
    let result = function.results(instruction).next()?;
    let held = function.values()[result].scalar_type;
    let given = format.mnemonic.operand_type(0, format.operand_count)?;
    let same_width = held == ScalarType::Pred || held.bits() == given.bits();
    match *outputs.values() {
        // Which NaN comes out is up to ptxas (docs/numerics.md).
        [bits] if is_nan(bits, given) => None,
        [bits] if same_width && outputs.carry.is_none() => Some((result, bits)),
        _ => None,
    }
}

/// Whether these bits of this type hold a NaN, in any lane.
fn is_nan(bits: u128, scalar_type: ScalarType) -> bool {
    let bits = bits as u64;
    let half = |bits: u64| bits & 0x7FFF > 0x7C00;
    let brain = |bits: u64| bits & 0x7FFF > 0x7F80;
    match scalar_type {
        ScalarType::F16 => half(bits),
        ScalarType::F16x2 => half(bits) || half(bits >> 16),
        ScalarType::Bf16 => brain(bits),
        ScalarType::Bf16x2 => brain(bits) || brain(bits >> 16),
        ScalarType::F32 | ScalarType::Tf32 => f32::from_bits(bits as u32).is_nan(),
        ScalarType::F64 => f64::from_bits(bits).is_nan(),
        // Other formats are rare: none of their results is folded.
        scalar_type => scalar_type.is_float(),
    }
}

/// The bits of a constant as an operand of this type.
fn literal_bits(literal: Literal, wanted: Option<ScalarType>, role: Role) -> Option<u128> {
    match (literal, wanted) {
        (Literal::Integer { bits, .. }, None) if role == Role::Constant => Some(u128::from(bits)),
        (Literal::Integer { bits, .. }, Some(ScalarType::Pred)) => Some(u128::from(bits != 0)),
        (Literal::Integer { bits, .. }, Some(scalar_type)) if !scalar_type.is_float() => {
            match scalar_type.bits() {
                64 => Some(u128::from(bits)),
                width @ (16 | 32) => Some(u128::from(bits & ((1 << width) - 1))),
                _ => None,
            }
        }
        (Literal::Single(bits), Some(ScalarType::F32 | ScalarType::B32)) => Some(u128::from(bits)),
        (Literal::Double(bits), Some(ScalarType::F64 | ScalarType::B64)) => Some(u128::from(bits)),
        _ => None,
    }
}
