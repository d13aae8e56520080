//! Changes to the variables of the function.

use super::Editor;
use crate::entities::{Symbol, Variable};
use crate::function::{SymbolData, SymbolKind};
use crate::journal::Change;
use crate::operand::Operand;
use crate::variable::{VariableData, VariableKind, VariableState, VariableType};
use oriole_isa::Space;
use oriole_syntax::tree::Text;

impl Editor<'_> {
    fn note_variable(&mut self, change: Change) {
        self.journal.entries.push(change);
        self.journal.variables = true;
        self.journal.changes += 1;
    }

    /// Makes a variable that everything in the function can name. It is written under a name of its own that starts with `name`.
    pub fn add_variable(
        &mut self,
        name: Text,
        space: Space,
        variable_type: VariableType,
    ) -> Variable {
        let variable = self.function.variables.push(VariableData {
            state: VariableState::Added,
            ..VariableData::declared(name, Some(space), variable_type)
        });
        self.function.add_symbol(SymbolData {
            name,
            kind: SymbolKind::Variable(variable),
            space: Some(space),
        });
        self.note_variable(Change::VariableAdded(variable));
        variable
    }

    /// The operand that names a variable.
    ///
    /// # Panics
    /// If the variable was removed.
    pub fn variable(&mut self, variable: Variable) -> Operand {
        Operand::Symbol(self.symbol_of(variable))
    }

    pub(super) fn symbol_of(&mut self, variable: Variable) -> Symbol {
        let data = self.function.variables[variable];
        assert!(!data.is_removed(), "{variable} was removed");
        data.symbol.expand().unwrap_or_else(|| {
            let kind = match data.kind {
                VariableKind::Declared => SymbolKind::Variable(variable),
                VariableKind::Parameter | VariableKind::Result => SymbolKind::Parameter(variable),
            };
            // Whether something in an inner scope has the same name is not known here.
            self.function.add_symbol(SymbolData {
                name: data.name,
                kind,
                space: None,
            })
        })
    }

    /// Gives a variable of the body another type: another size, alignment or element.
    ///
    /// # Panics
    /// If it is a parameter or result, or was removed.
    pub fn set_variable_type(&mut self, variable: Variable, variable_type: VariableType) {
        let data = &mut self.function.variables[variable];
        assert_eq!(data.kind, VariableKind::Declared, "headers are not changed");
        assert!(!data.is_removed(), "{variable} was removed");
        if data.variable_type == variable_type {
            return;
        }
        data.variable_type = variable_type;
        if data.state == VariableState::Original {
            data.state = VariableState::Changed;
        }
        self.note_variable(Change::VariableChanged(variable));
    }

    /// Removes those of some variables of the body that nothing names any more. One walk over the function.
    ///
    /// # Panics
    /// If one is a parameter or result.
    pub fn remove_unmentioned(&mut self, variables: &[Variable]) {
        if variables.is_empty() {
            return;
        }
        let mentioned = self.function.mentioned_variables();
        for &variable in variables {
            if !mentioned.contains(variable) && !self.function.variables[variable].is_removed() {
                self.remove_variable(variable);
            }
        }
    }

    /// Removes a variable of the body that nothing names any more.
    ///
    /// # Panics
    /// If it is a parameter or result.
    pub fn remove_variable(&mut self, variable: Variable) {
        let data = &mut self.function.variables[variable];
        assert_eq!(data.kind, VariableKind::Declared, "headers are not changed");
        data.state = VariableState::Removed;
        self.journal.removals += 1;
        self.note_variable(Change::VariableRemoved(variable));
    }
}
