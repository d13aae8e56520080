//! The names of a module: variables, functions and aliases.

use super::split_number;
use crate::tree::{Declarator, Linkage, Module, Statement, Text};
use oriole_collections::StringMap;
use oriole_diagnostics::Diagnostic;

/// Variables declared in ranges beyond the length of the text; nobody writes such ranges, and each variable has an entry.
const MOST_RANGED: usize = 4096;

/// A name of the module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Global {
    /// A variable: indices of its declaration and declarator at the top level.
    Variable {
        /// Index in the top level's declarations.
        declaration: u32,
        /// Index in the top level's declarators.
        declarator: u32,
    },
    /// A function: index in the module's functions, the definition if there is one.
    Function(u32),
    /// Another name for a function (`.alias`).
    Alias,
}

/// The names a module declares.
#[derive(Debug)]
pub struct Globals {
    names: StringMap<u32>,
    /// For `name<N>`: the first of N entries.
    ranges: StringMap<(u32, u32)>,
    /// What each name stands for, in order of first appearance.
    pub entries: Vec<(Text, Global)>,
    /// Whether the module has a `.section`, which may mention labels.
    pub has_sections: bool,
}

impl Globals {
    /// Whether a name, or the stem of a range of names, is declared.
    pub fn declares(&self, name: &str) -> bool {
        self.names.contains_key(name) || self.ranges.contains_key(name)
    }

    /// Collects the names of a module; a name defined twice is an error.
    pub fn of(module: &Module) -> (Globals, Vec<Diagnostic>) {
        let mut globals = Globals {
            names: StringMap::new(),
            ranges: StringMap::new(),
            entries: Vec::new(),
            has_sections: false,
        };
        let mut errors = Vec::new();
        for statement in &module.top.statements {
            match *statement {
                Statement::Declaration(index) => {
                    let declaration = &module.top.declarations[index as usize];
                    for declarator in declaration.declarators.clone() {
                        let Declarator { name, range, .. } =
                            module.top.declarators[declarator as usize];
                        let global = Global::Variable {
                            declaration: index,
                            declarator,
                        };
                        match range {
                            Some(count) => {
                                globals.declare_range(module, name, count, global, &mut errors);
                            }
                            None => globals.declare(module, name, global, &mut errors),
                        }
                    }
                }
                Statement::Function(index) => {
                    let name = module.functions[index as usize].name;
                    globals.declare(module, name, Global::Function(index), &mut errors);
                }
                Statement::Directive(directive) => {
                    if let [keyword, name, ..] = *module.top.words(directive.words)
                        && module.text(keyword) == ".alias"
                    {
                        globals.declare(module, name, Global::Alias, &mut errors);
                    }
                }
                Statement::Section(_) => globals.has_sections = true,
                _ => {}
            }
        }
        for &name in &module.inner_prototypes {
            globals.declare(module, name, Global::Alias, &mut errors);
        }
        (globals, errors)
    }

    fn declare_range(
        &mut self,
        module: &Module,
        name: Text,
        count: u32,
        global: Global,
        errors: &mut Vec<Diagnostic>,
    ) {
        if self.entries.len() + count as usize > MOST_RANGED + module.source().len() {
            errors.push(
                Diagnostic::error(
                    "too-many-variables",
                    name.span(),
                    format!("{count} variables are more than the module has room for"),
                )
                .label("declared here"),
            );
            return;
        }
        let first = self.entries.len() as u32;
        self.entries
            .extend(std::iter::repeat_n((name, global), count as usize));
        if self
            .ranges
            .insert(module.text(name), (first, count))
            .is_some()
        {
            errors.push(Diagnostic::error(
                "duplicate-name",
                name.span(),
                format!("`{}` is defined twice", module.text(name)),
            ));
        }
    }

    fn declare(
        &mut self,
        module: &Module,
        name: Text,
        global: Global,
        errors: &mut Vec<Diagnostic>,
    ) {
        let next = self.entries.len() as u32;
        let index = *self.names.get_or_insert_with(module.text(name), || next);
        if index == next {
            self.entries.push((name, global));
            return;
        }
        let (earlier_name, earlier) = &mut self.entries[index as usize];
        let is_definition = |global: Global| match global {
            Global::Function(index) => module.functions[index as usize].body.is_some(),
            Global::Variable { declaration, .. } => {
                let declaration = &module.top.declarations[declaration as usize];
                declaration.linkage != Linkage::Extern
            }
            Global::Alias => false,
        };
        let same_kind = std::mem::discriminant(earlier) == std::mem::discriminant(&global)
            || matches!(earlier, Global::Alias)
            || matches!(global, Global::Alias);
        if !same_kind || (is_definition(*earlier) && is_definition(global)) {
            errors.push(
                Diagnostic::error(
                    "duplicate-name",
                    name.span(),
                    format!("`{}` is defined twice", module.text(name)),
                )
                .label("defined again here")
                .context(earlier_name.span(), "first defined here"),
            );
        } else if is_definition(global) || matches!(earlier, Global::Alias) {
            *earlier = global;
            *earlier_name = name;
        }
    }

    /// The entry that a name of the module stands for.
    pub fn index(&self, name: &str) -> Option<u32> {
        if let Some(&index) = self.names.get(name) {
            return Some(index);
        }
        if self.ranges.is_empty() {
            return None;
        }
        let (length, number) = split_number(name.as_bytes())?;
        let &(first, count) = self.ranges.get(&name[..length])?;
        (number < count).then_some(first + number)
    }

    /// What a name of the module stands for.
    pub fn get(&self, name: &str) -> Option<Global> {
        self.index(name).map(|index| self.entries[index as usize].1)
    }
}
