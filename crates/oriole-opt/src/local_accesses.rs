//! Local variables that a function only loads and stores, and the accesses to them.
//!
//! A variable in local memory that is declared in the function is the thread's own, and only accesses that name it reach it as
//! long as its address is nowhere taken: if every mention of it is the address of a plain load or store of local memory, with
//! or without a constant offset, those are all.

use oriole_collections::{DenseMap, DenseSet};
use oriole_ir::{Function, Instruction, Operand, ShapeKind, ShapeNode, Symbol, SymbolKind};
use oriole_isa::{Opcode, Space};
use oriole_syntax::literal::Literal;
use oriole_syntax::tree::Prefix;

/// A load or store of bytes of a variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LocalAccess {
    /// The instruction.
    pub instruction: Instruction,
    /// The first byte.
    pub start: i64,
    /// The byte behind the last.
    pub end: i64,
}

/// Whether a symbol is a local variable of the function.
fn is_local(function: &Function, symbol: Symbol) -> bool {
    let data = function.symbols()[symbol];
    matches!(data.kind, SymbolKind::Variable(_)) && data.space == Some(Space::Local)
}

/// Whether a function has local variables.
pub(crate) fn has_local_variables(function: &Function) -> bool {
    function
        .symbols()
        .keys()
        .any(|symbol| is_local(function, symbol))
}

/// The variables whose address is nowhere taken, with all accesses in order of the layout.
pub(crate) fn untaken_variables(function: &Function) -> Vec<(Symbol, Vec<LocalAccess>)> {
    let mut taken: DenseSet<Symbol> = DenseSet::new();
    let mut accesses: DenseMap<Symbol, Vec<LocalAccess>> = DenseMap::new();
    for &block in function.block_order() {
        for instruction in function.instructions_of(block) {
            for operand in function.operands(instruction) {
                let Operand::Symbol(symbol) = *operand else {
                    continue;
                };
                if !is_local(function, symbol) {
                    continue;
                }
                match accessed(function, instruction, symbol) {
                    Some((start, end)) => {
                        let access = LocalAccess {
                            instruction,
                            start,
                            end,
                        };
                        accesses.get_or_default(symbol).push(access);
                    }
                    None => {
                        taken.insert(symbol);
                    }
                }
            }
        }
    }
    let mut variables: Vec<(Symbol, Vec<LocalAccess>)> = Vec::new();
    for symbol in function.symbols().keys() {
        if !taken.contains(&symbol)
            && let Some(list) = accesses.remove(&symbol)
        {
            variables.push((symbol, list));
        }
    }
    variables
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
