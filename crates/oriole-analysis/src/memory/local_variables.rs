//! Local variables that a function only loads and stores, and the accesses to them.
//!
//! A variable in local memory that is declared in the function is the thread's own, and only accesses that name it reach it as
//! long as its address is nowhere taken: if every mention of it is the address of a plain load or store of local memory, with
//! or without a constant offset, those are all.

use crate::manager::{Analyses, Analysis, Reads};
use oriole_collections::{DenseMap, DenseSet};
use oriole_ir::{Access, AccessKind, Base, Function, Instruction, Operand, Symbol, SymbolKind};
use oriole_isa::Space;

/// A load or store of bytes of a variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LocalAccess {
    /// The instruction.
    pub instruction: Instruction,
    /// What it does.
    pub access: Access,
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
pub fn has_local_variables(function: &Function) -> bool {
    function
        .symbols()
        .keys()
        .any(|symbol| is_local(function, symbol))
}

/// The local variables of a function whose address is nowhere taken, with all accesses to them.
#[derive(Debug, PartialEq, Eq)]
pub struct LocalVariables {
    variables: Vec<(Symbol, Vec<LocalAccess>)>,
}

impl Analysis for LocalVariables {
    const NAME: &'static str = "local variables";

    const READS: Reads = Reads {
        control_flow: true,
        values: true,
        order: true,
        effects: true,
    };

    fn compute(function: &Function, _: &mut Analyses) -> LocalVariables {
        LocalVariables::of(function)
    }
}

impl LocalVariables {
    /// Finds them.
    pub fn of(function: &Function) -> LocalVariables {
        let mut variables: Vec<(Symbol, Vec<LocalAccess>)> = Vec::new();
        if !has_local_variables(function) {
            return LocalVariables { variables };
        }
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
                        Some(access) => accesses.get_or_default(symbol).push(access),
                        None => {
                            taken.insert(symbol);
                        }
                    }
                }
            }
        }
        for symbol in function.symbols().keys() {
            if !taken.contains(&symbol)
                && let Some(list) = accesses.remove(&symbol)
            {
                variables.push((symbol, list));
            }
        }
        LocalVariables { variables }
    }

    /// Each variable, with all accesses in order of the layout.
    pub fn iter(&self) -> impl Iterator<Item = (Symbol, &[LocalAccess])> {
        self.variables
            .iter()
            .map(|(symbol, accesses)| (*symbol, &accesses[..]))
    }

    /// Whether only accesses that name a variable reach it.
    pub fn is_private(&self, symbol: Symbol) -> bool {
        self.variables
            .binary_search_by_key(&symbol, |&(symbol, _)| symbol)
            .is_ok()
    }
}

/// The bytes of a variable that a load or store reads or writes, if that is all the instruction does with it.
fn accessed(function: &Function, instruction: Instruction, symbol: Symbol) -> Option<LocalAccess> {
    let access = function.access(instruction)?;
    let address = access.address?;
    let mentions = function
        .operands(instruction)
        .iter()
        .filter(|operand| **operand == Operand::Symbol(symbol))
        .count();
    if access.kind == AccessKind::Atomic
        || access.space != Space::Local
        || address.base != Base::Symbol(symbol)
        || mentions != 1
        || function.format(instruction).operand_count != 2
    {
        return None;
    }
    Some(LocalAccess {
        instruction,
        access,
        start: address.offset,
        end: address.offset.checked_add(i64::from(access.bytes))?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use oriole_ir::text;

    #[test]
    fn a_variable_is_private_unless_its_address_is_taken() {
        let source = "
            func f {
                variable @stored: local
                variable @taken: local
                variable @indexed: local
                variable @atomic: local
                variable @elsewhere
                global @global: local
            block0():
                v0:b32 = ld.local.u32 #0, [@stored+4]
                v1:b64 = mov.u64 #0, @taken
                st.local.u32 [@taken], v0
                st.local.u32 [@indexed+@stored], v0
                st.local.v2.u32 [@stored+-8], {v0, v0}
                st.volatile.local.u32 [@stored], v0
                red.local.add.u32 [@atomic], v0
                st.local.u32 [@elsewhere], v0
                st.local.u32 [@global], v0
                ret
            }";
        let function = &text::read(source).unwrap()[0];
        let variables = LocalVariables::of(function);
        assert_eq!(
            variables.iter().count(),
            0,
            "an index takes the address of both"
        );
        let source = source.replace("[@indexed+@stored]", "[@indexed]");
        let function = &text::read(&source).unwrap()[0];
        let variables = LocalVariables::of(function);
        let found: Vec<(usize, Vec<(i64, i64)>)> = variables
            .iter()
            .map(|(symbol, accesses)| {
                let bytes = accesses.iter().map(|access| (access.start, access.end));
                (symbol.index(), bytes.collect())
            })
            .collect();
        assert_eq!(
            found,
            [(0, vec![(4, 8), (-8, 0), (0, 4)]), (2, vec![(0, 4)])]
        );
        let private = |index| variables.is_private(Symbol::from_index(index));
        assert_eq!(
            [0, 1, 2, 3, 4, 5].map(private),
            [true, false, true, false, false, false]
        );
    }
}
