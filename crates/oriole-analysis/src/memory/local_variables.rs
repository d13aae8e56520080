//! Local variables that a function only loads and stores, and the accesses to them.
//!
//! A variable in local memory that is declared in the function is the thread's own, and only accesses that name it reach it as
//! long as its address is nowhere taken: if every mention of it is the address of a plain load or store of local memory, with
//! or without a constant offset, those are all.

use crate::manager::{Analyses, Analysis, Others, Reads, Update};
use oriole_collections::{BitSet, DenseMap, DenseSet};
use oriole_ir::{
    Access, AccessKind, Base, Change, Function, Instruction, Journal, Operand, Symbol, SymbolKind,
};
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
    match data.kind {
        SymbolKind::Variable(variable) => {
            data.space == Some(Space::Local) && !function.variables()[variable].is_removed()
        }
        _ => false,
    }
}

/// Whether a function has local variables.
pub fn has_local_variables(function: &Function) -> bool {
    function
        .symbols()
        .keys()
        .any(|symbol| is_local(function, symbol))
}

/// Bytes of a variable whose address is nowhere taken: those that accesses reach which overlap, directly or through others. No
/// other access reaches any of them.
#[derive(Debug, PartialEq, Eq)]
pub struct Cell {
    /// The variable.
    pub symbol: Symbol,
    /// The first byte.
    pub start: i64,
    /// The byte behind the last.
    pub end: i64,
    /// All accesses, in order of the layout.
    pub accesses: Vec<LocalAccess>,
}

/// The local variables of a function whose address is nowhere taken, in cells.
#[derive(Debug, PartialEq, Eq)]
pub struct LocalVariables {
    /// By variable and first byte.
    cells: Vec<Cell>,
    /// All instructions that name a local variable.
    mentions: BitSet<Instruction>,
}

impl Analysis for LocalVariables {
    const NAME: &'static str = "local variables";

    const READS: Reads = Reads {
        control_flow: true,
        values: true,
        order: true,
        effects: true,
        variables: true,
    };

    fn compute(function: &Function, _: &mut Analyses) -> LocalVariables {
        LocalVariables::of(function)
    }

    /// Nothing changes as long as instructions that name a local variable, or did, stay as they are and in their order. Values
    /// are not named in cells, so replacing one does no harm.
    fn update(&mut self, function: &Function, journal: &Journal, _: &mut Others<'_>) -> Update {
        if self.mentions.is_empty() && !has_local_variables(function) {
            return Update::Kept;
        }
        for &change in &journal.entries {
            let (Change::Inserted(instruction)
            | Change::Rewritten(instruction)
            | Change::Moved(instruction)
            | Change::Removed(instruction, _)) = change
            else {
                // Merged blocks need not have stood behind each other.
                if matches!(change, Change::BlocksMerged(..)) && !self.mentions.is_empty() {
                    return Update::Recompute;
                }
                continue;
            };
            if self.mentions.contains(instruction) || mentions_local(function, instruction) {
                return Update::Recompute;
            }
        }
        Update::Kept
    }
}

/// Whether an instruction names a local variable.
fn mentions_local(function: &Function, instruction: Instruction) -> bool {
    function
        .operands(instruction)
        .iter()
        .any(|operand| matches!(*operand, Operand::Symbol(symbol) if is_local(function, symbol)))
}

impl LocalVariables {
    /// Finds them.
    pub fn of(function: &Function) -> LocalVariables {
        let mut cells: Vec<Cell> = Vec::new();
        let mut mentions: BitSet<Instruction> = BitSet::new();
        if !has_local_variables(function) {
            return LocalVariables { cells, mentions };
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
                    mentions.insert(instruction);
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
                cells.extend(cells_of(symbol, &list));
            }
        }
        LocalVariables { cells, mentions }
    }

    /// All cells, by variable and first byte.
    pub fn cells(&self) -> &[Cell] {
        &self.cells
    }

    /// The cell that an access reaches, if it is in one.
    pub fn cell_of(&self, access: &Access) -> Option<usize> {
        let key = (access.variable()?, access.address?.offset);
        // The last cell that starts there or before.
        let after = self
            .cells
            .partition_point(|cell| (cell.symbol, cell.start) <= key);
        let cell = self.cells.get(after.checked_sub(1)?)?;
        (cell.symbol == key.0 && key.1 < cell.end).then(|| after - 1)
    }
}

/// The cells of a variable, given all accesses to it in order of the layout.
fn cells_of(symbol: Symbol, accesses: &[LocalAccess]) -> Vec<Cell> {
    let mut bytes: Vec<(i64, i64)> = accesses.iter().map(|it| (it.start, it.end)).collect();
    bytes.sort_unstable();
    let mut cells: Vec<Cell> = Vec::new();
    for (start, end) in bytes {
        match cells.last_mut() {
            Some(last) if start < last.end => last.end = last.end.max(end),
            _ => cells.push(Cell {
                symbol,
                start,
                end,
                accesses: Vec::new(),
            }),
        }
    }
    for access in accesses {
        let after = cells.partition_point(|cell| cell.start <= access.start);
        cells[after - 1].accesses.push(*access);
    }
    cells
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
        assert_eq!(variables.cells().len(), 0, "an index takes both addresses");
        let source = source.replace("[@indexed+@stored]", "[@indexed]");
        let function = &text::read(&source).unwrap()[0];
        let variables = LocalVariables::of(function);
        let found: Vec<_> = variables
            .cells()
            .iter()
            .map(|cell| {
                (
                    cell.symbol.index(),
                    cell.start,
                    cell.end,
                    cell.accesses.len(),
                )
            })
            .collect();
        assert_eq!(
            found,
            [(0, -8, 0, 1), (0, 0, 4, 1), (0, 4, 8, 1), (2, 0, 4, 1)]
        );
    }

    #[test]
    fn accesses_that_overlap_are_one_cell() {
        let source = "
            func f {
                variable @array: local
                variable @other: local
            block0():
                v0:b64 = mov.u64 #0, 64
                st.local.u64 [@array+8], v0
                st.local.u64 [@array+2], v0
                st.local.u32 [@array+12], v0
                st.local.u8 [@array+16], v0
                st.local.u8 [@array], v0
                st.local.u32 [v0], v0
                st.local.u32 [@other+4], v0
                ret
            }";
        let function = &text::read(source).unwrap()[0];
        let variables = LocalVariables::of(function);
        let cells = variables.cells().iter();
        let bytes: Vec<_> = cells.map(|cell| (cell.start, cell.end)).collect();
        assert_eq!(bytes, [(0, 1), (2, 16), (16, 17), (4, 8)]);
        let first = &variables.cells()[1].accesses;
        let starts: Vec<i64> = first.iter().map(|access| access.start).collect();
        assert_eq!(starts, [8, 2, 12], "in order of the layout");
        let instructions = function.instructions_of(function.entry());
        let accesses = instructions.filter_map(|instruction| function.access(instruction));
        let found: Vec<_> = accesses.map(|access| variables.cell_of(&access)).collect();
        let expected = [Some(1), Some(1), Some(1), Some(2), Some(0), None, Some(3)];
        assert_eq!(found, expected);
    }
}
