//! Computes at once what depends on constants only, and decides guards and branches on constants.
//!
//! ## Example
//! ```text
//! mov.u32 %r1, 6;
//! mul.lo.s32 %r2, %r1, 7;               →        mov.b32 %r2, 42;
//! setp.gt.s32 %p1, %r2, 40;                      mov.pred %p1, 1;
//! @%p1 bra $L1;                                  bra $L1;
//! ```
//!
//! ## Soundness
//! What an instruction gives is asked of `oriole_isa::evaluate`, which replays results recorded on hardware and answers only
//! where rounding, `.ftz` and `.sat` make the result certain; never for `.approx`, nor for division by zero.
//! An operand counts as constant if its register was set from a constant by an unguarded `mov` of its own width.
//!
//! A floating-point result that is NaN is never folded: which NaN comes out is up to ptxas. A sum, difference or product that
//! names no rounding may be fused by ptxas into an `fma` with what reads it, and then is not rounded at all; it is folded only
//! where rounding makes no difference, that is, where rounding towards zero and towards infinity agree and nothing was
//! flushed.
//!
//! An instruction whose guard is known to be true loses the guard; one whose guard is known to be false goes, and its results
//! are what they were before.
//!
//! ## Method
//! One walk in reverse postorder with a table of known values, so chains fold in one run. An instruction becomes one `mov`:
//! code never grows. A later run first looks whether something that was changed reads constants only; mostly nothing does.
//!
//! ## Not done
//! Constants as operands of instructions that have other operands too, and constants that join where control flow does:
//! `algebraic-simplification` does these. Guarded `ret` and `exit`, `brx.idx`.

use crate::change_log::{Changes, Rerun};
use crate::copy_propagation::{has_plain_move, is_acceptable};
use crate::manager::{Action, Context, Pass, Trigger};
use crate::remark::Rewrite;
use crate::sparse_map::SparseMap;
use oriole_analysis::{Analyses, ControlFlow};
use oriole_collections::BitSet;
use oriole_ir::{
    Block, Change, Definition, Editor, FormatData, Function, Instruction, Operand, ShapeKind,
    ShapeNode, Use, Value,
};
use oriole_isa::{
    Flag, Mnemonic, MnemonicText, Opcode, Role, Rounding, ScalarType, Terminator, build, evaluate,
    ptxas,
};
use oriole_syntax::literal::Literal;
use oriole_syntax::tree::{Guard, Prefix};

/// The pass.
pub(crate) const PASS: Pass = Pass {
    name: "constant-folding",
    summary: "Replace instructions that compute a constant by a move of that constant, and decide branches",
    action: Action::Incremental(run, Trigger::Rewrites),
};

/// The most operands of an instruction that is folded.
const MAXIMUM_INPUTS: usize = 8;

/// The bits of the values that are constant.
type Constants = SparseMap<u64>;

/// Copies between a value and a constant that are followed to tell that it is one.
const MOST_COPIES: usize = 8;

fn run(
    editor: &mut Editor<'_>,
    analyses: &mut Analyses,
    context: &mut Context<'_>,
    rerun: Rerun<'_>,
) {
    rerun.unless_idle(editor, Foldable::of, |editor| {
        run_everywhere(editor, analyses, context);
    });
}

fn run_everywhere(editor: &mut Editor<'_>, analyses: &mut Analyses, context: &mut Context<'_>) {
    let flow = analyses.get::<ControlFlow>(editor.function());
    let mut known = Constants::new(editor.function());
    for &block in flow.reverse_postorder() {
        let mut next = editor.function().instructions_of(block).next();
        while let Some(instruction) = next {
            // Folding takes out at most the instruction itself.
            let function = editor.function();
            next = function.next_instruction(instruction);
            if may_fold(function, &known, instruction)
                && !visit(editor, &mut known, block, instruction, context)
            {
                return;
            }
        }
    }
}

/// What of changes to a function may be folded.
struct Foldable<'function> {
    function: &'function Function,
}

impl Foldable<'_> {
    /// Whether changes may give work.
    fn of(function: &Function, changes: Changes<'_>) -> bool {
        let foldable = Foldable { function };
        let mut replaced: BitSet<Value> = BitSet::new();
        changes.entries.iter().any(|change| match *change {
            Change::Inserted(instruction) | Change::Rewritten(instruction) => {
                foldable.is_at(instruction)
            }
            Change::Replaced(_, new) => {
                foldable.is_constant(new) && replaced.insert(new) && foldable.is_behind(new)
            }
            _ => false,
        })
    }

    /// Whether an instruction may be folded, or one that reads it.
    fn is_at(&self, instruction: Instruction) -> bool {
        let function = self.function;
        if function.block_of(instruction).is_none() || !self.may_fold(instruction) {
            return false;
        }
        if !is_move(function, instruction) {
            return true;
        }
        let mut results = function.results(instruction);
        results.any(|result| self.is_behind(result))
    }

    /// Whether an instruction that reads a constant may be folded.
    fn is_behind(&self, constant: Value) -> bool {
        self.function.uses_of(constant).any(|user| match user {
            Use::Instruction(user) => self.may_fold(user),
            Use::Edge(_) => false,
        })
    }

    /// Whether the guard of an instruction may be constant, or all that an instruction without a guard reads.
    fn may_fold(&self, instruction: Instruction) -> bool {
        let function = self.function;
        let format = function.format(instruction);
        if format.is_guarded() {
            let guard = function.operands(instruction)[0].value();
            return guard.is_some_and(|guard| self.is_constant(guard));
        }
        format.is_pure()
            && function
                .operands(instruction)
                .iter()
                .all(|operand| match *operand {
                    Operand::Value(value) => self.is_constant(value),
                    Operand::Constant(_) | Operand::Result(_) => true,
                    _ => false,
                })
    }

    /// Whether a value may be a constant for the walk: it is moved from one, or is of a type that nothing is moved to.
    fn is_constant(&self, mut value: Value) -> bool {
        let function = self.function;
        for _ in 0..MOST_COPIES {
            let data = &function.values()[value];
            let held = data.scalar_type;
            if held != ScalarType::Pred && !has_plain_move(held) {
                return true;
            }
            let Definition::Instruction(definer) = data.definition else {
                return false;
            };
            if !is_move(function, definer) {
                return false;
            }
            match function.operands(definer) {
                [Operand::Result(0), Operand::Constant(_)] => return true,
                &[Operand::Result(0), Operand::Value(source)] => value = source,
                _ => return false,
            }
        }
        true
    }
}

/// Whether an instruction is a `mov` of one operand without a guard.
fn is_move(function: &Function, instruction: Instruction) -> bool {
    let format = function.format(instruction);
    format.mnemonic.opcode() == Opcode::Mov && format.is_simple()
}

/// Whether the guard of an instruction is constant, or all that an instruction without a guard reads: of most the first value is not.
#[inline]
fn may_fold(function: &Function, known: &Constants, instruction: Instruction) -> bool {
    let mut reads = function.uses(instruction);
    match reads.next() {
        Some(first) if !known.contains(first) => false,
        Some(_) if !function.format(instruction).is_guarded() => {
            reads.all(|value| known.contains(value))
        }
        _ => true,
    }
}

/// Folds one instruction. Whether to go on.
fn visit(
    editor: &mut Editor<'_>,
    known: &mut Constants,
    block: Block,
    instruction: Instruction,
    context: &mut Context<'_>,
) -> bool {
    let format = editor.function().format(instruction);
    if !format.is_guarded() {
        // What is not pure is never folded.
        return !format.is_pure() || fold_one(editor, known, instruction, context);
    }
    if let Some(executed) = decided_guard(editor, known, instruction) {
        let terminator = editor.function().format(instruction).effects.terminator;
        match terminator {
            Terminator::Branch => {
                return decide_branch(editor, block, instruction, executed, context);
            }
            Terminator::None if executed || can_skip(editor, instruction) => {}
            _ => return true,
        }
        if !allows(
            context,
            editor.function(),
            "constant-folding.guards",
            instruction,
        ) {
            return false;
        }
        if !executed {
            skip(editor, instruction);
            return true;
        }
        unguard(editor, instruction);
        return fold_one(editor, known, instruction, context);
    }
    true
}

/// Folds an unguarded instruction. Whether to go on.
fn fold_one(
    editor: &mut Editor<'_>,
    known: &mut Constants,
    instruction: Instruction,
    context: &mut Context<'_>,
) -> bool {
    let function = editor.function();
    if let Some((result, bits)) = moved_integer(function, instruction) {
        known.insert(result, bits);
        return true;
    }
    let Some((result, bits)) = fold(function, |value| known.get(value), instruction) else {
        return true;
    };
    known.insert(result, bits);
    if function.format(instruction).mnemonic.opcode() == Opcode::Mov
        && function.leaves(instruction).len() == 2
    {
        // A constant already, or a copy of one.
        return true;
    }
    let held = function.values()[result].scalar_type;
    if held != ScalarType::Pred && !has_plain_move(held) {
        return true;
    }
    if !allows(
        context,
        function,
        "constant-folding.instructions",
        instruction,
    ) {
        return false;
    }
    let format = editor.plain_format(&constant_move(held), 2);
    let constant = match held {
        ScalarType::F32 => editor.single(bits as u32),
        ScalarType::F64 => editor.double(bits),
        _ => editor.integer(bits, true),
    };
    editor.rewrite(instruction, format, &[Operand::Result(0), constant]);
    true
}

/// What a `mov` of an integer gives, which need not be evaluated.
fn moved_integer(function: &Function, instruction: Instruction) -> Option<(Value, u64)> {
    if !is_move(function, instruction) {
        return None;
    }
    let &[Operand::Result(0), Operand::Constant(constant)] = function.operands(instruction) else {
        return None;
    };
    let Some(Literal::Integer { bits, .. }) = function.constants()[constant].literal else {
        return None;
    };
    let mnemonic = &function.format(instruction).mnemonic;
    let moved = mnemonic.first_type().filter(|moved| {
        !moved.is_float()
            && matches!(moved.bits(), 16 | 32 | 64)
            && moved.lanes() == 1
            && mnemonic.modifiers().vector.is_none()
    })?;
    let result = function.results(instruction).next()?;
    let held = function.values()[result].scalar_type;
    let is_whole = held != ScalarType::Pred && held.bits() == moved.bits();
    let mask = u64::MAX >> (64 - moved.bits());
    is_whole.then_some((result, bits & mask))
}

/// The mnemonic that puts a constant into a register of a type.
pub(crate) fn constant_move(scalar_type: ScalarType) -> MnemonicText {
    match scalar_type {
        ScalarType::F32 | ScalarType::F64 => build::mov(scalar_type),
        _ => build::copy(scalar_type),
    }
}

fn allows(
    context: &mut Context<'_>,
    function: &Function,
    counter: &'static str,
    instruction: Instruction,
) -> bool {
    let rewrite = Rewrite {
        counter,
        instruction,
        why: match counter {
            "constant-folding.instructions" => "all operands are constants",
            _ => "the guard is a constant",
        },
        equal: None,
    };
    context.allows(function, rewrite)
}

/// Whether a guarded instruction is executed, if its guard is a constant.
fn decided_guard(editor: &Editor<'_>, known: &Constants, instruction: Instruction) -> Option<bool> {
    let function = editor.function();
    let format = function.format(instruction);
    let Operand::Value(guard) = function.guard(instruction)? else {
        return None;
    };
    let truth = known.get(guard)? != 0;
    Some(truth == (format.guard == Guard::If))
}

/// Lets a branch go the way its guard says. Whether to go on.
fn decide_branch(
    editor: &mut Editor<'_>,
    block: Block,
    instruction: Instruction,
    taken: bool,
    context: &mut Context<'_>,
) -> bool {
    let function = editor.function();
    let edge = match (taken, function.leaves(instruction)) {
        (true, &[Operand::Target(edge)]) => Some(usize::from(edge)),
        (true, _) => None,
        (false, _) => function.blocks()[block].fall_through(),
    };
    let Some(edge) = edge else {
        return true;
    };
    if !allows(context, function, "constant-folding.branches", instruction) {
        return false;
    }
    editor.keep_edge(block, edge);
    true
}

/// Whether the results of an instruction can be taken from before it: of several, all must be of acceptable types.
fn can_skip(editor: &Editor<'_>, instruction: Instruction) -> bool {
    let function = editor.function();
    let results = function.results(instruction);
    results.len() < 2
        || results
            .zip(function.otherwise(instruction))
            .all(|(result, other)| {
                other
                    .value()
                    .is_some_and(|other| is_acceptable(function, result, other))
            })
}

/// Takes out an instruction whose guard is false.
fn skip(editor: &mut Editor<'_>, instruction: Instruction) {
    let function = editor.function();
    let results = function.results(instruction);
    let otherwise: Vec<(Value, Value)> = results
        .zip(function.otherwise(instruction))
        .filter_map(|(result, other)| Some((result, other.value()?)))
        .collect();
    debug_assert_eq!(otherwise.len(), function.results(instruction).len());
    if let [(result, other)] = *otherwise
        && !is_acceptable(function, result, other)
    {
        let scalar_type = function.values()[result].scalar_type;
        let format = editor.plain_format(&build::copy(scalar_type), 2);
        editor.rewrite(
            instruction,
            format,
            &[Operand::Result(0), Operand::Value(other)],
        );
        return;
    }
    for (result, other) in otherwise {
        editor.replace_value(result, other);
    }
    editor.remove_instruction(instruction);
}

/// Takes the guard off an instruction.
pub(crate) fn unguard(editor: &mut Editor<'_>, instruction: Instruction) {
    let function = editor.function();
    let leaves = function.leaves(instruction).to_vec();
    let format = editor.format_with_guard(instruction, Guard::None);
    editor.rewrite(instruction, format, &leaves);
}

/// The result of an instruction all of whose operands are constants, and its bits; `known` gives those of values.
pub(crate) fn fold(
    function: &Function,
    known: impl Fn(Value) -> Option<u64>,
    instruction: Instruction,
) -> Option<(Value, u64)> {
    let is_known = |operand: &Operand| match *operand {
        Operand::Value(value) => known(value).is_some(),
        Operand::Constant(_) | Operand::Result(_) => true,
        _ => false,
    };
    if !function.operands(instruction).iter().all(is_known) {
        return None;
    }
    let format = function.format(instruction);
    let mut results = function.results(instruction);
    let result = results.next().filter(|_| results.len() == 0)?;
    if format.opaque
        || format.is_guarded()
        || !format.is_pure()
        || format.leaves.len() > MAXIMUM_INPUTS
    {
        return None;
    }
    let elements = packed_elements(format)?;
    let mut inputs = [0u128; MAXIMUM_INPUTS];
    let mut count = 0;
    for (leaf, &operand) in format.leaves.iter().zip(function.leaves(instruction)) {
        match leaf.role {
            Role::Define => continue,
            Role::Use | Role::Constant => {}
            _ => return None,
        }
        let top = usize::from(leaf.operand);
        let wanted = match format.operand_type(top) {
            Some(whole) if elements > 1 => match whole.bits() / elements as u32 {
                16 => Some(ScalarType::B16),
                32 => Some(ScalarType::B32),
                _ => return None,
            },
            wanted => wanted,
        };
        inputs[count] = match operand {
            Operand::Value(value) => {
                // A register wider than what is read of it has bits that do not count; leave those to those who know.
                let bits = known(value)?;
                let held = function.values()[value].scalar_type;
                if held != ScalarType::Pred && held.bits() != wanted?.bits() {
                    return None;
                }
                u128::from(bits)
            }
            Operand::Constant(constant) => {
                literal_bits(function.constants()[constant].literal?, wanted, leaf.role)?
            }
            _ => return None,
        };
        count += 1;
    }
    let inputs = &inputs[..count];
    let outputs = evaluate(&format.mnemonic, inputs)?;
    let held = function.values()[result].scalar_type;
    let given = format.operand_type(0)?;
    let same_width = held == ScalarType::Pred || (held.bits() == given.bits() && held.bits() <= 64);
    // Of a comparison, the second output is for `p|q`.
    let bits = match (format.mnemonic.opcode(), outputs.values()) {
        (Opcode::Setp, [bits, ..]) | (_, [bits]) => *bits,
        _ => return None,
    };
    // Which NaN comes out is up to ptxas (docs/numerics.md).
    let certain = same_width
        && outputs.carry.is_none()
        && !is_nan(bits, given)
        && is_exact(&format.mnemonic, inputs, bits);
    certain.then_some((result, bits as u64))
}

/// How many registers one operand is put together from: one, unless the instruction is a packing `mov`. Nothing for shapes that
/// are not folded.
fn packed_elements(format: &FormatData) -> Option<usize> {
    if format.plain {
        return Some(1);
    }
    match &*format.shape {
        [ShapeNode::LEAF, vector, parts @ ..]
            if format.mnemonic.opcode() == Opcode::Mov
                && format.mnemonic.modifiers().vector.is_none()
                && vector.kind == ShapeKind::Vector
                && vector.prefix == Prefix::None
                && parts.iter().all(|node| *node == ShapeNode::LEAF) =>
        {
            Some(parts.len())
        }
        _ => None,
    }
}

/// Whether a result is what it is however ptxas rounds: see the module's documentation.
fn is_exact(mnemonic: &Mnemonic, inputs: &[u128], bits: u128) -> bool {
    let Some(scalar_type) = mnemonic
        .first_type()
        .filter(|_| ptxas::is_contractible(mnemonic))
    else {
        return true;
    };
    let plain = matches!(scalar_type, ScalarType::F32 | ScalarType::F64)
        && mnemonic.types().len() == 1
        && !mnemonic.has(Flag::Saturate);
    plain
        && [Rounding::Zero, Rounding::PositiveInfinity]
            .into_iter()
            .all(|rounding| {
                let builder = Mnemonic::build(mnemonic.opcode()).rounding(rounding);
                let rounded = builder.scalar_type(scalar_type).text();
                rounded
                    .and_then(|rounded| evaluate(&rounded.decode(), inputs))
                    .is_some_and(|outputs| outputs.values() == [bits])
            })
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
