//! Lets addresses that differ by a number share a register, where that takes a proof that an index does not wrap.
//!
//! ## Example
//! ```text
//! mov.u32 %r1, %tid.x;                    mov.u32 %r1, %tid.x;
//! mul.wide.u32 %rd2, %r1, 4;              mul.wide.u32 %rd2, %r1, 4;
//! add.s64 %rd3, %rd1, %rd2;               add.s64 %rd3, %rd1, %rd2;
//! ld.global.f32 %f1, [%rd3];              ld.global.f32 %f1, [%rd3];
//! add.s32 %r2, %r1, 1;               →
//! mul.wide.u32 %rd4, %r2, 4;
//! add.s64 %rd5, %rd1, %rd4;
//! ld.global.f32 %f2, [%rd5];              ld.global.f32 %f2, [%rd3+4];
//! ```
//!
//! ## Soundness
//! ScalarEvolution says that the difference of both addresses is a number, in all their bits: an index is extended only after it has proved
//! that the sum does not wrap.
//!
//! ## Profit
//! `ptxas` does not know that either: a sum and a product less for each address. The offset is part of the access. A register that lives
//! longer for it is weighed by [`crate::pressure_guard`].
//!
//! ## Method
//! Addresses in which something is added before an extension, in the order of the dominator tree, by their expression without its number. The
//! first of each kind stands for those that it dominates.
//!
//! ## Not done
//! Indexes that may wrap, such as `%ctaid.x * %ntid.x + %tid.x`. Addresses that anything but accesses reads. Sums without an extension: see
//! `algebra` and `reassociate`.

use crate::addresses::{OFFSETS, address_of, cost, is_only_address, rewrite_as_offset};
use crate::manager::{Action, Context, Pass, Trigger};
use crate::pressure_guard::PressureGuard;
use crate::remark::Rewrite;
use oriole_analysis::scalar_evolution::{Expression, Query, ScalarEvolution};
use oriole_analysis::{Analyses, ControlFlow, Dominators, Loops};
use oriole_collections::{DenseMap, DenseSet};
use oriole_ir::{Block, Definition, Editor, Function, Instruction, Operand, Traits, Use, Value};
use oriole_isa::cost::{CostModel, MACHINE_INSTRUCTION};
use oriole_isa::{MulMode, Opcode};

/// The pass.
pub(crate) const PASS: Pass = Pass {
    name: "near-addresses",
    summary: "Let addresses share a register where indexes do not wrap",
    action: Action::Once(run, Trigger::Changes),
};

/// Instructions that an address is computed from, one behind the other, that are looked at.
const MOST_OPERANDS: usize = 8;

fn run(editor: &mut Editor<'_>, analyses: &mut Analyses, context: &mut Context<'_>) {
    let function = editor.function();
    if !function.traits().have(Traits::EXTENDS) {
        return;
    }
    let flow = analyses.get::<ControlFlow>(function);
    let candidates = candidates(function, &flow);
    if candidates.len() < 2 {
        return;
    }
    let loops = analyses.get::<Loops>(function);
    let dominators = analyses.get::<Dominators>(function);
    let evolution = analyses.get::<ScalarEvolution>(function);
    let mut query = evolution.on(function);
    let mut firsts: DenseMap<Expression, Vec<(Candidate, i64)>> = DenseMap::new();
    let mut pairs: Vec<(Candidate, Candidate, i64)> = Vec::new();
    let model = CostModel::of(context.environment.target());
    for candidate in candidates {
        let Some((key, number)) = without_number(&mut query, candidate.value) else {
            continue;
        };
        let known = firsts.entry(key).or_default();
        let found = known.iter().find(|(first, own)| {
            // Candidates of one block come in order.
            let comes_before = dominators.dominates(first.block, candidate.block)
                && loops.innermost(first.block) == loops.innermost(candidate.block);
            let far = number.wrapping_sub(*own);
            comes_before && OFFSETS.contains(&far.saturating_mul(2))
        });
        match found {
            Some(&(first, own)) => pairs.push((first, candidate, number.wrapping_sub(own))),
            None => known.push((candidate, number)),
        }
    }
    drop(query);
    pairs.retain(|&(_, later, _)| {
        is_only_address(function, later.value)
            && saved(function, later.root, model) >= MACHINE_INSTRUCTION
    });
    if pairs.is_empty() {
        return;
    }
    let mut guard = PressureGuard::of(
        function,
        analyses,
        context.environment,
        pairs.iter().map(|(_, later, _)| later.root),
    );
    for (first, later, far) in pairs {
        let function = editor.function();
        let is_allowed = guard
            .as_mut()
            .is_none_or(|guard| guard.allows(function, first.root, later.root, context.statistics));
        if !is_allowed {
            continue;
        }
        let rewrite = Rewrite {
            counter: "near-addresses.addresses",
            instruction: later.root,
            why: "another address is a number of bytes away",
            equal: Some(first.root),
        };
        if !context.allows(function, rewrite) {
            return;
        }
        rewrite_as_offset(editor, later.root, first.value, far);
    }
}

/// An address and the instruction that computes it.
#[derive(Clone, Copy)]
struct Candidate {
    value: Value,
    root: Instruction,
    block: Block,
}

/// Addresses that are a sum of a value and an extension, in reverse postorder of the blocks that compute them: those of which there are
/// several with one value, and a number is added to what is extended in one.
fn candidates(function: &Function, flow: &ControlFlow) -> Vec<Candidate> {
    let mut seen: DenseSet<Value> = DenseSet::new();
    // For each value how many addresses there are, and whether a number is added.
    let mut bases: DenseMap<Value, (u32, bool)> = DenseMap::new();
    let mut roots: DenseMap<Instruction, Value> = DenseMap::new();
    let mut is_any = false;
    for &block in flow.reverse_postorder() {
        for instruction in function.instructions_of(block) {
            if let Some(value) = address_of(function, instruction)
                && let Definition::Instruction(root) = function.values()[value].definition
                && function.results(root).len() == 1
                && let Some((base, has_number)) = extended_sum(function, root)
                && seen.insert(value)
            {
                roots.insert(root, base);
                let known = bases.entry(base).or_default();
                known.0 += 1;
                known.1 |= has_number;
                is_any |= known.0 > 1 && known.1;
            }
        }
    }
    if !is_any {
        return Vec::new();
    }
    let is_wanted = |root: &Instruction| {
        if function.format(*root).mnemonic.opcode() != Opcode::Add {
            return false;
        }
        let base = roots.get(root).and_then(|base| bases.get(base));
        base.is_some_and(|&(count, has_number)| count > 1 && has_number)
    };
    let mut candidates = Vec::new();
    for &block in flow.reverse_postorder() {
        let own = function.instructions_of(block);
        candidates.extend(own.filter(is_wanted).filter_map(|root| {
            let value = function.results(root).next()?;
            Some(Candidate { value, root, block })
        }));
    }
    candidates
}

/// Of the sum of a value and an extension, which may be shifted: the value, and whether a number is added to what is extended.
fn extended_sum(function: &Function, root: Instruction) -> Option<(Value, bool)> {
    let format = function.format(root);
    if format.mnemonic.opcode() != Opcode::Add {
        return None;
    }
    let &[_, Operand::Value(left), Operand::Value(right)] = function.operands(root) else {
        return None;
    };
    let extended = |value| extended(function, value);
    let (base, narrow) = match (extended(right), extended(left)) {
        (Some(narrow), _) => (left, narrow),
        (None, Some(narrow)) => (right, narrow),
        (None, None) => return None,
    };
    Some((base, has_number(function, narrow)))
}

/// What a value is the extension of, as it is, shifted or multiplied.
fn extended(function: &Function, value: Value) -> Option<Value> {
    let mut value = value;
    for _ in 0..MOST_OPERANDS {
        let Definition::Instruction(it) = function.values()[value].definition else {
            return None;
        };
        let format = function.format(it);
        let Some(&Operand::Value(first)) = function.operands(it).get(1) else {
            return None;
        };
        match format.mnemonic.opcode() {
            Opcode::Mul if format.mnemonic.modifiers().mul_mode == Some(MulMode::Wide) => {
                return Some(first);
            }
            Opcode::Cvt => {
                let types = format.mnemonic.types();
                let is_extension =
                    matches!(types, [to, from] if (to.bits(), from.bits()) == (64, 32));
                return is_extension.then_some(first);
            }
            Opcode::Mul | Opcode::Shl => value = first,
            _ => return None,
        }
    }
    None
}

/// Whether a number is added in what a value is computed from.
fn has_number(function: &Function, value: Value) -> bool {
    let mut value = value;
    for _ in 0..MOST_OPERANDS {
        let Definition::Instruction(it) = function.values()[value].definition else {
            return false;
        };
        let operands = function.operands(it);
        let is_number = |at: usize| matches!(operands.get(at), Some(Operand::Constant(_)));
        match (function.format(it).mnemonic.opcode(), operands.get(1)) {
            (Opcode::Add | Opcode::Sub | Opcode::Or, _) => return is_number(1) || is_number(2),
            (Opcode::Mad, _) => return is_number(3),
            (Opcode::Mul | Opcode::Shl, Some(&Operand::Value(first))) if is_number(2) => {
                value = first;
            }
            _ => return false,
        }
    }
    false
}

/// The expression of an address without the number in it, and the number.
fn without_number(query: &mut Query<'_>, value: Value) -> Option<(Expression, i64)> {
    let address = query.expression(value);
    if query.expressions().is_unknown(address) {
        return None;
    }
    let address = query.widened(address);
    let (key, number) = query.expressions_mut().split_constant(address);
    (query.expressions().bits(key) == 64).then_some((key, number))
}

/// What nobody computes any more if nobody computes an address.
fn saved(function: &Function, root: Instruction, model: CostModel) -> u64 {
    let mut saved = 0;
    let mut work = vec![root];
    while let Some(instruction) = work.pop() {
        saved += cost(function, instruction, model);
        for value in function.uses(instruction) {
            let is_only_reader = function.uses_of(value).all(|user| match user {
                Use::Instruction(reader) => reader == instruction,
                Use::Edge(_) => false,
            });
            if let Definition::Instruction(definer) = function.values()[value].definition
                && is_only_reader
                && function.results(definer).len() == 1
                && function.format(definer).effects.is_pure()
            {
                work.push(definer);
            }
        }
    }
    saved
}
