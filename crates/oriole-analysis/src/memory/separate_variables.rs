//! Shared and global variables that lie apart: no access to one of them reaches another.
//!
//! Two variables that a module or a function defines itself have no byte in common. An access belongs to one of them if it names it
//! and stays within its bytes; what is beyond them may be another. Three kinds of variables do not count:
//!
//! - `.extern` arrays of shared memory all start at one address, and any other `.extern` variable belongs to another module;
//! - `.weak` and `.common` variables may be those of another module, which says how long they are;
//! - names of a range are one variable here, as in [`oriole_ir::Module`].
//!
//! An address that is computed may be that of any variable: its accesses belong to none.

use oriole_collections::DenseMap;
use oriole_ir::{Access, Environment, Function, GlobalKind, Symbol, SymbolKind};
use oriole_isa::{Space, SpaceSet};
use oriole_syntax::tree::Linkage;

/// A variable that lies apart from the others.
#[derive(Clone, Copy, Debug)]
struct Separate {
    number: usize,
    space: Space,
    bytes: u32,
}

/// The variables of which a function names two or more.
#[derive(Debug, Default)]
pub(super) struct SeparateVariables {
    by_symbol: DenseMap<Symbol, Separate>,
    /// The space of each.
    spaces: Vec<SpaceSet>,
}

impl SeparateVariables {
    /// Finds them.
    pub fn of(function: &Function, environment: &Environment) -> SeparateVariables {
        let mut found = SeparateVariables::default();
        // By kind of declaration and its number.
        let mut numbers: DenseMap<(u32, u32), usize> = DenseMap::new();
        for (symbol, data) in function.symbols().iter() {
            let (key, space, variable_type) = match data.kind {
                SymbolKind::Variable(variable) => {
                    let data = &function.variables()[variable];
                    ((0, variable.as_u32()), data.space, data.variable_type)
                }
                SymbolKind::Global(global) => {
                    let Some(module) = environment.module() else {
                        continue;
                    };
                    let GlobalKind::Variable(variable) = module.global(global) else {
                        continue;
                    };
                    let data = &module.variables()[variable];
                    if !matches!(data.linkage, Linkage::Internal | Linkage::Visible) {
                        continue;
                    }
                    ((1, variable.as_u32()), data.space, data.variable_type)
                }
                _ => continue,
            };
            let (Some(space), Some(bytes)) = (space, variable_type.bytes) else {
                continue;
            };
            let kind = match space {
                Space::Shared => SpaceSet::SHARED,
                Space::Global => SpaceSet::GLOBAL,
                _ => continue,
            };
            let number = *numbers.get_or_insert_with(key, || found.spaces.len());
            if number == found.spaces.len() {
                found.spaces.push(kind);
            }
            let variable = Separate {
                number,
                space,
                bytes,
            };
            found.by_symbol.insert(symbol, variable);
        }
        match found.spaces.len() {
            0 | 1 => SeparateVariables::default(),
            _ => found,
        }
    }

    /// The space of each, by number.
    pub fn spaces(&self) -> &[SpaceSet] {
        &self.spaces
    }

    /// The number of the variable that an access of these spaces belongs to, if that is all it touches.
    pub fn number_of(&self, access: &Access, spaces: SpaceSet) -> Option<usize> {
        let variable = self.by_symbol.get(&access.variable()?)?;
        let end = access
            .address?
            .offset
            .checked_add(i64::from(access.bytes))?;
        let is_inside = access.address?.offset >= 0 && end <= i64::from(variable.bytes);
        let is_all = access.is_weak()
            && access.space == variable.space
            && spaces == self.spaces[variable.number];
        (is_inside && is_all).then_some(variable.number)
    }
}
