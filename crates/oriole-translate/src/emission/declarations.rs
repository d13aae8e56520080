//! Writes the declarations of variables: as they stood where nothing was changed.
//!
//! A variable that was removed loses its declaration. One with another type is declared anew in the same place. One that was
//! added, and one that must be *hoisted* because it is named where its own scope does not reach, gets a name of its own and is
//! declared at the start of the function.

use super::Emitter;
use crate::out_of_ssa::Hoisted;
use oriole_collections::DenseMap;
use oriole_ir::{Variable, VariableData, VariableKind, VariableState, VariableType};
use oriole_isa::Space;
use oriole_syntax::scopes::Scopes;
use oriole_syntax::tree::{Declaration, Declarator, Linkage, Statement, Storage, Text};

/// Whether a variable of this space and type can be declared anew.
pub(crate) fn can_be_declared(space: Option<Space>, variable_type: &VariableType) -> bool {
    matches!(space, Some(Space::Local | Space::Shared | Space::Param))
        && variable_type.can_be_declared()
}

/// Where variables are declared in the body that was written, as far as that is not where they were.
#[derive(Debug, Default)]
pub(crate) struct Places {
    /// The declarations that were made for variables.
    variables: DenseMap<Variable, u32>,
    /// Declarations of the original body, and those that stand for them.
    rewritten: DenseMap<u32, u32>,
}

impl Places {
    /// Whether a declaration was made for a variable, which declares nothing else.
    pub(crate) fn is_new(&self, variable: Variable) -> bool {
        self.variables.contains_key(&variable)
    }

    /// The declaration of a variable: of the module's top level if the variable is in the header, else of the body.
    pub(crate) fn of(&self, scopes: &Scopes, variable: Variable) -> Option<u32> {
        if let Some(&declaration) = self.variables.get(&variable) {
            return Some(declaration);
        }
        let written = scopes.variables.get(variable.index())?;
        match self.rewritten.get(&written.declaration) {
            Some(&declaration) if !written.in_header => Some(declaration),
            _ => Some(written.declaration),
        }
    }
}

impl Emitter<'_> {
    /// Names and declares added and hoisted variables at the start of the function, and notes which declarations of the body are
    /// to be written in another way.
    pub(super) fn declare_variables(&mut self, hoisted: &Hoisted) {
        let function = self.function;
        let is_untouched = |data: &VariableData| data.state == VariableState::Original;
        if hoisted.variables.is_empty() && function.variables().values().all(is_untouched) {
            return;
        }
        let variables = function.variables().iter();
        let mut touched: DenseMap<u32, Vec<Variable>> = DenseMap::new();
        for (variable, data) in variables {
            let written = self.scopes.variables.get(variable.index());
            let is_hoisted = hoisted.variables.contains(&variable);
            // One variable of a range has no declaration of its own.
            let is_ranged = written.is_some_and(|written| {
                let declarators = match written.in_header {
                    true => &self.module.top.declarators,
                    false => &self.original.declarators,
                };
                declarators[written.declarator as usize].range.is_some()
            });
            let is_changed = data.state == VariableState::Changed;
            let is_new =
                data.state == VariableState::Added || is_hoisted || is_changed && is_ranged;
            if is_new {
                let hint = self.module.text(data.name).to_owned();
                let name = self.naming.variable(self.module, &hint);
                self.variable_names[variable] = Some(name);
                let space = data.space.expect("variables in memory are declared");
                self.declare_variable(variable, name, space, &data.variable_type);
            }
            let Some(written) = written else {
                continue;
            };
            let is_gone = is_new || is_changed || data.is_removed();
            // What is declared anew in its place has its name as before, for debug sections too: `ptxas` gives room to both of two.
            let is_in_place = is_changed && !is_new;
            if is_gone
                && data.kind == VariableKind::Declared
                && !is_ranged
                && (is_in_place || !self.keep_declarations)
            {
                touched.get_or_default(written.declaration).push(variable);
            }
        }
        self.touched_declarations = touched;
    }

    /// Writes `.local .align 16 .b8 name[40];`
    fn declare_variable(
        &mut self,
        variable: Variable,
        name: Text,
        space: Space,
        variable_type: &VariableType,
    ) {
        let module = &mut *self.module;
        let (keyword, storage) = match space {
            Space::Local => (".local", Storage::Local),
            Space::Shared | Space::SharedCluster => (".shared", Storage::Shared),
            Space::Const => (".const", Storage::Constant),
            Space::Global => (".global", Storage::Global),
            _ => (".param", Storage::Parameter),
        };
        let mut words = vec![module.add_text(keyword)];
        let natural = variable_type.element_bytes().max(1);
        let alignment = match variable_type.alignment {
            own if own == natural => 0,
            own => {
                words.push(module.add_text(".align"));
                words.push(module.add_formatted(format_args!("{own}")));
                own
            }
        };
        if variable_type.vector > 1 {
            words.push(module.add_formatted(format_args!(".v{}", variable_type.vector)));
        }
        let element = variable_type
            .element
            .expect("only variables of known type are declared");
        let element = module.add_formatted(format_args!(".{}", element.text()));
        words.extend([element, name]);
        let first_dimension = words.len();
        match variable_type.count() {
            Some(1) => {}
            count => {
                words.push(module.add_text("["));
                words.extend(count.map(|count| module.add_formatted(format_args!("{count}"))));
                words.push(module.add_text("]"));
            }
        }
        let words = self.body.add_words(words);
        let declarator = Declarator {
            name,
            range: None,
            dimensions: words.skip(first_dimension),
            initializer: None,
        };
        let declaration = Declaration {
            words,
            linkage: Linkage::Internal,
            storage,
            element,
            vector: variable_type.vector,
            alignment,
            declarators: 0..0,
        };
        let index = self.push_declaration(declaration, [declarator]);
        self.meanings.places.variables.insert(variable, index);
    }

    /// Adds a declaration of these names, and writes it here.
    fn push_declaration(
        &mut self,
        declaration: Declaration,
        declarators: impl IntoIterator<Item = Declarator>,
    ) -> u32 {
        let index = self.body.add_declaration(declaration, declarators);
        self.body.statements.push(Statement::Declaration(index));
        index
    }

    /// Writes a declaration of the body as far as it is left; false if nothing of it is.
    pub(super) fn declaration(&mut self, index: u32) -> bool {
        let Some(touched) = self.touched_declarations.remove(&index) else {
            self.body.statements.push(Statement::Declaration(index));
            return true;
        };
        let declaration = &self.original.declarations[index as usize];
        let declarators = self.original.declarators(declaration);
        let first = declaration.declarators.start;
        let is_touched = |position: usize| {
            let declarator = first + position as u32;
            touched
                .iter()
                .any(|own| self.scopes.variables[own.index()].declarator == declarator)
        };
        let mut is_written = false;
        let kept: Vec<usize> = (0..declarators.len())
            .filter(|&position| !is_touched(position))
            .collect();
        if !kept.is_empty() {
            let split = self.module.declarator_words(self.original, declaration);
            let Some((before, parts)) = split else {
                self.body.statements.push(Statement::Declaration(index));
                return true;
            };
            let comma = self.module.add_text(",");
            let mut words = before.to_vec();
            for (count, &position) in kept.iter().enumerate() {
                words.extend((count > 0).then_some(comma));
                words.extend_from_slice(parts[position]);
            }
            let words = self.body.add_words(words);
            let left = kept.iter().map(|&position| declarators[position].clone());
            let declaration = Declaration {
                words,
                ..declaration.clone()
            };
            let new = self.push_declaration(declaration, left);
            self.meanings.places.rewritten.insert(index, new);
            is_written = true;
        }
        for variable in touched {
            let data = &self.function.variables()[variable];
            if data.state == VariableState::Changed
                && self.variable_names[variable].is_none()
                && let Some(space) = data.space
            {
                self.declare_variable(variable, data.name, space, &data.variable_type);
                is_written = true;
            }
        }
        is_written
    }
}
