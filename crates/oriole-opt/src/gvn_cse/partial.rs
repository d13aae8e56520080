//! Address arithmetic that is known on one of two ways into a block: it is computed on the other way too, and joins.
//!
//! ```text
//! b1:  v3 = mul.wide v1, 4            b1:  v3 = mul.wide v1, 4
//!      bra b3                              bra b3(v3)
//! b2:  bra b3                    →    b2:  v9 = mul.wide v1, 4
//!                                          bra b3(v9)
//! b3:  v5 = mul.wide v1, 4            b3(v5):
//! ```
//! The code gets no longer, and the way that had the value computes it once. The block on the other way must lead nowhere
//! else, so nothing is computed that was not computed before; with the knob `SplitCriticalEdges`, a block of its own is put on
//! an edge from one that does.
//!
//! Where a branch goes round one block, what that block computes and what is computed again behind it goes to before the branch,
//! whatever it is: everyone who comes to the branch computes it anyway. `ptxas` does neither; a block on the edge costs it three
//! instructions more, moving the computation saves one.
//!
//! ```text
//! b1:  bra b3, b2                     b1:  v3 = fma v1, v2, v0
//! b2:  v3 = fma v1, v2, v0       →         bra b3, b2
//!      bra b3                         b2:  bra b3
//! b3:  v5 = fma v1, v2, v0            b3:  (v3)
//! ```

use super::numbering::Member;
use crate::equality::{Kind, kind_of};
use oriole_analysis::{ControlFlow, Dominators};
use oriole_collections::SmallVec;
use oriole_ir::{Block, Editor, Function, Instruction, Operand, SymbolKind, Use, Value};
use oriole_isa::{Opcode, ScalarType};

/// A way to make a partially redundant instruction go.
pub(super) struct Plan {
    /// The block that has the value, and the value.
    known: (Block, Value),
    /// The block that is going to compute it, unless it has the value too.
    other: Block,
    other_known: Option<Value>,
    /// Whether it is computed on the edge, as the block leads elsewhere too.
    pub(super) splits: bool,
}

/// Whether an instruction without a dominating equal can be made one of `leaders` on one way and its own twin on the other.
pub(super) fn plan(
    editor: &Editor<'_>,
    flow: &ControlFlow,
    dominators: &Dominators,
    late: Member,
    leaders: &[Member],
    may_split: bool,
) -> Option<Plan> {
    let function = editor.function();
    if !is_address_arithmetic(function, late.instruction) {
        return None;
    }
    let ways: SmallVec<[Block; 2]> = flow.predecessors(late.block).collect();
    let &[one, other] = &ways[..] else {
        return None;
    };
    if one == other || !flow.is_reachable(one) || !flow.is_reachable(other) {
        return None;
    }
    // Operands that come from this block, parameters included, are different on each way.
    let is_ready = function.uses(late.instruction).all(|value| {
        function
            .defining_block(value)
            .is_some_and(|block| block != late.block && dominators.dominates(block, late.block))
    });
    if !is_ready {
        return None;
    }
    let result = function.results(late.instruction).next()?;
    for (has, lacks) in [(one, other), (other, one)] {
        // A way back would bring the value of the last round.
        if dominators.dominates(late.block, has) || dominators.dominates(late.block, lacks) {
            continue;
        }
        let type_of = |value: Value| function.values()[value].scalar_type;
        let known_in = |block: Block| {
            leaders
                .iter()
                .filter(|leader| dominators.dominates(leader.block, block))
                .filter_map(|leader| function.results(leader.instruction).next())
                .find(|&value| type_of(value) == type_of(result))
        };
        if let Some(value) = known_in(has) {
            let leads_elsewhere = |way: Block| function.edges(way).len() != 1;
            let other_known = known_in(lacks);
            let splits = other_known.is_none() && leads_elsewhere(lacks);
            // On a way that leads elsewhere too it would be computed for nothing.
            if !may_split && (leads_elsewhere(has) || leads_elsewhere(lacks)) {
                continue;
            }
            if splits && function.ends_in_indirect_branch(lacks) {
                continue;
            }
            return Some(Plan {
                known: (has, value),
                other: lacks,
                other_known,
                splits,
            });
        }
    }
    None
}

/// Of `leaders`, one in a block that a branch goes round, where `late` stands behind it, and the block with the branch, to which it
/// can go.
pub(super) fn hoistable(
    function: &Function,
    flow: &ControlFlow,
    late: Member,
    leaders: &[Member],
) -> Option<(Member, Block)> {
    let ways: SmallVec<[Block; 2]> = flow.predecessors(late.block).collect();
    let &[one, other] = &ways[..] else {
        return None;
    };
    if !is_movable(function, late.instruction) {
        return None;
    }
    leaders.iter().find_map(|&leader| {
        let arm = leader.block;
        let branch = match arm {
            _ if arm == one => other,
            _ if arm == other => one,
            _ => return None,
        };
        let mut before = flow.predecessors(arm);
        let goes_round = (before.next(), before.next()) == (Some(branch), None)
            && arm != branch
            && function.edges(arm).len() == 1
            && function.edges(branch).len() == 2
            && flow.is_reachable(branch)
            && flow.position(branch) < flow.position(arm)
            && flow.position(arm) < flow.position(late.block);
        let is_ready = goes_round
            && is_movable(function, leader.instruction)
            && !(folds_into_sums(function, leader.instruction)
                && folds_into_sums(function, late.instruction))
            && function
                .uses(leader.instruction)
                .all(|value| function.defining_block(value) != Some(arm));
        is_ready.then_some((leader, branch))
    })
}

/// Whether an instruction gives the same before the branch. One that names a variable may be in the variable's own scope.
fn is_movable(function: &Function, instruction: Instruction) -> bool {
    kind_of(function, instruction) == Some(Kind::Pure)
        && !function.format(instruction).is_guarded()
        && function.leaves(instruction).iter().all(|leaf| match leaf {
            Operand::Symbol(symbol) => {
                !matches!(function.symbols()[*symbol].kind, SymbolKind::Variable(_))
            }
            _ => true,
        })
}

/// A 64-bit product or shift that only sums use costs no instruction: `ptxas` turns the two into one `IMAD.WIDE` or
/// `LEA`. Moved away from the sums, it needs one.
fn folds_into_sums(function: &Function, instruction: Instruction) -> bool {
    let mnemonic = &function.format(instruction).mnemonic;
    let adds = |own: Use| match own {
        Use::Instruction(user) => function.format(user).mnemonic.opcode() == Opcode::Add,
        Use::Edge(_) => false,
    };
    matches!(mnemonic.opcode(), Opcode::Shl | Opcode::Mul)
        && function.results(instruction).all(|result| {
            function.values()[result].scalar_type.bits() == 64 && function.uses_of(result).all(adds)
        })
}

/// Carries a plan out. Gives the parameter that stands for the instruction now.
pub(super) fn apply(editor: &mut Editor<'_>, plan: &Plan, late: Member) -> Value {
    let function = editor.function();
    let result = function
        .results(late.instruction)
        .next()
        .expect("address arithmetic has a result");
    let data = function.values()[result];
    let mut other = plan.other;
    if plan.splits {
        let edge = edge_to(editor.function(), other, late.block);
        other = editor.split_edge(other, edge);
    }
    let computed = match plan.other_known {
        Some(known) => known,
        None => compute(editor, other, late.instruction, data.scalar_type),
    };
    let (has, known) = plan.known;
    let parameter = editor.add_parameter(late.block, data.scalar_type);
    for (way, value) in [(has, known), (other, computed)] {
        let edge = edge_to(editor.function(), way, late.block);
        editor.push_argument(way, edge, value);
    }
    editor.replace_value(result, parameter);
    editor.remove_instruction(late.instruction);
    parameter
}

/// The edge from one block to another, of which there is one.
fn edge_to(function: &Function, block: Block, target: Block) -> usize {
    let edges = function.edges(block);
    let found = edges.iter().position(|edge| edge.target == target);
    found.expect("a predecessor has an edge")
}

/// Computes what an instruction does at the end of a block, before its branch.
fn compute(
    editor: &mut Editor<'_>,
    block: Block,
    late: Instruction,
    scalar_type: ScalarType,
) -> Value {
    let function = editor.function();
    let format = function.instruction(late).format;
    let operands: SmallVec<[Operand; 6]> = function.operands(late).iter().copied().collect();
    let last = function
        .last_instruction(block)
        .filter(|&last| function.format(last).is_terminator());
    let twin = match last {
        Some(last) => editor.insert_before(last, format, &operands, &[scalar_type]),
        None => editor.append(block, format, &operands, &[scalar_type]),
    };
    editor.copy_line(late, twin);
    editor
        .function()
        .results(twin)
        .next()
        .expect("the twin has a result")
}

/// Integer arithmetic as addresses are made of, with one result.
fn is_address_arithmetic(function: &Function, instruction: Instruction) -> bool {
    let format = function.format(instruction);
    let integral = format
        .mnemonic
        .types()
        .iter()
        .all(|scalar_type| !scalar_type.is_float());
    integral
        && !format.is_guarded()
        && format.is_pure()
        && function.results(instruction).len() == 1
        && matches!(
            format.mnemonic.opcode(),
            Opcode::Add
                | Opcode::Sub
                | Opcode::Mul
                | Opcode::Mad
                | Opcode::Shl
                | Opcode::Cvt
                | Opcode::Cvta
        )
}
