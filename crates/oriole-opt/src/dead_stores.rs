//! Removes stores to local variables that nobody reads.
//!
//! ## Example
//! ```text
//! st.local.u32 [depot+4], %r1;                   →        (gone: no load reads bytes 4 to 7 of depot)
//! ```
//!
//! ## Soundness
//! A variable in local memory that is declared in the function is the thread's own, and only accesses that name it reach it as
//! long as its address is nowhere taken. So if every mention of it is the address of a plain load or store of local memory,
//! with or without a constant offset, those are all, and what is stored where no load of the function reads can go. A volatile
//! store stays.
//!
//! ## Method
//! One walk over the instructions that collects what is read of each variable, one that removes stores. Functions without local
//! variables are not walked. Once `gvn-cse` has let loads have what was stored and `address-spaces` has let accesses name the
//! variable, much of what compilers spill unoptimized is dead.
//!
//! ## Not done
//! Stores that are overwritten before they are read; variables indexed by registers.

use crate::manager::{Action, Context, Pass, Sees};
use crate::remark::Rewrite;
use oriole_analysis::Analyses;
use oriole_collections::{DenseMap, DenseSet};
use oriole_ir::{Editor, Function, Instruction, Operand, ShapeKind, ShapeNode, Symbol, SymbolKind};
use oriole_isa::{Opcode, Space};
use oriole_syntax::literal::Literal;
use oriole_syntax::tree::Prefix;

/// The pass.
pub(crate) const PASS: Pass = Pass {
    name: "dead-stores",
    summary: "Remove stores to local variables that nobody reads",
    action: Action::Once(run, Sees::Changes),
};

/// The most different places read of one variable.
const MOST_READS: usize = 256;

fn run(editor: &mut Editor<'_>, _: &mut Analyses, context: &mut Context<'_>) {
    let function = editor.function();
    let is_local = |symbol: Symbol| {
        let data = function.symbols()[symbol];
        matches!(data.kind, SymbolKind::Variable(_)) && data.space == Some(Space::Local)
    };
    if !function.symbols().keys().any(is_local) {
        context.is_done = true;
        return;
    }
    let mut taken: DenseSet<Symbol> = DenseSet::new();
    let mut reads: DenseMap<Symbol, Vec<(i64, i64)>> = DenseMap::new();
    let mut stores: Vec<(Instruction, Symbol, (i64, i64))> = Vec::new();
    for &block in function.block_order() {
        for instruction in function.instructions_of(block) {
            let mentions =
                function
                    .operands(instruction)
                    .iter()
                    .filter_map(|operand| match operand {
                        Operand::Symbol(symbol) => Some(*symbol).filter(|&symbol| is_local(symbol)),
                        _ => None,
                    });
            for symbol in mentions {
                let Some(bytes) = accessed(function, instruction, symbol) else {
                    taken.insert(symbol);
                    continue;
                };
                let format = function.format(instruction);
                if format.mnemonic.opcode() == Opcode::Ld {
                    let known = reads.get_or_default(symbol);
                    if known.len() >= MOST_READS {
                        taken.insert(symbol);
                    } else if !known.contains(&bytes) {
                        known.push(bytes);
                    }
                } else if !format.effects.volatile && format.effects.ordering.is_none() {
                    stores.push((instruction, symbol, bytes));
                }
            }
        }
    }
    for (instruction, symbol, (start, end)) in stores {
        let read = reads
            .get(&symbol)
            .is_some_and(|reads| reads.iter().any(|&(from, to)| start < to && from < end));
        if read || taken.contains(&symbol) {
            continue;
        }
        let rewrite = Rewrite {
            counter: "dead-stores.stores",
            instruction,
            why: "nobody reads what it stores",
            equal: None,
        };
        if !context.allows(editor.function(), rewrite) {
            return;
        }
        editor.remove_instruction(instruction);
    }
}

/// The bytes of a variable that a load or store reads or writes, if that is all the instruction does with it.
fn accessed(function: &Function, instruction: Instruction, symbol: Symbol) -> Option<(i64, i64)> {
    let format = function.format(instruction);
    let mnemonic = &format.mnemonic;
    if format.opaque
        || !matches!(mnemonic.opcode(), Opcode::Ld | Opcode::St)
        || mnemonic.space() != Some(Space::Local)
        || format.operand_count != 2
    {
        return None;
    }
    let (at, address) = format
        .shape
        .iter()
        .enumerate()
        .find(|(_, node)| node.kind == ShapeKind::Address)?;
    if address.prefix != Prefix::None {
        return None;
    }
    let leaves = function.leaves(instruction);
    let mut inside = leaves
        .iter()
        .zip(&format.leaves)
        .filter(|(_, leaf)| leaf.in_address)
        .map(|(operand, _)| *operand);
    let base = inside.next()?;
    let offset = match &format.shape[at + 1..at + address.size as usize] {
        [ShapeNode::LEAF] => 0,
        [sum, ShapeNode::LEAF, ShapeNode::LEAF]
            if matches!(sum.kind, ShapeKind::Sum | ShapeKind::Difference) =>
        {
            let Operand::Constant(constant) = inside.next()? else {
                return None;
            };
            let Literal::Integer { bits, .. } = function.constants()[constant].literal? else {
                return None;
            };
            match sum.kind {
                ShapeKind::Sum => bits as i64,
                _ => (bits as i64).checked_neg()?,
            }
        }
        _ => return None,
    };
    let mentions = function
        .operands(instruction)
        .iter()
        .filter(|operand| **operand == Operand::Symbol(symbol))
        .count();
    if base != Operand::Symbol(symbol) || mentions != 1 {
        return None;
    }
    let element = mnemonic.first_type()?;
    let bytes = i64::from(element.bits().max(8) / 8 * mnemonic.vector_width().max(1));
    Some((offset, offset.checked_add(bytes)?))
}
