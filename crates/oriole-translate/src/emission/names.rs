//! Which names are surely right where they are written.
//!
//! A name that is not where it was, as it was, means what it should if it is new, or
//! - the function's own scope or the module declares it, and no inner scope declares anything of that name, or
//! - the scope that it is written in has declared it.
//!
//! That is so where the function's own scope declares names before the first instruction, and inner scopes declare no ranges, no names that look
//! like those compilers give to registers and labels of the function's own scope (`%r1`, `$L__BB0_2`), and no labels of blocks. Nearly
//! all functions are like that, and their names need not be resolved again.
//!
//! A register of an inner scope that is mentioned where no register of its name can be seen surely has to be hoisted. Where such mentions are
//! all that is wrong, names need not be resolved again either.

use super::Emitter;
use crate::assignment::Assignment;
use oriole_collections::{DenseSet, StringMap, StringSet};
use oriole_ir::{Definition, Function, Instruction, Register, Use, Variable};
use oriole_syntax::scopes::Scopes;
use oriole_syntax::tree::{Body, Module, Statement, Text};

/// Of an inner scope so many names are remembered: what is declared in it is looked for one by one.
const MOST_DECLARED: usize = 32;

/// The registers that probably have to be hoisted: those of inner scopes that instructions mention which stand in other scopes. Cheap, and
/// mostly right; [`Emission::misplaced`](super::Emission::misplaced) says whether it was.
pub(crate) fn probably_misplaced(
    original: &Body,
    function: &Function,
    scopes: &Scopes,
    assignment: &Assignment,
) -> DenseSet<Register> {
    let mut misplaced = DenseSet::new();
    if scopes.parents.len() == 1 || scopes.registers.iter().all(|own| own.scope == 0) {
        return misplaced;
    }
    // Where each scope goes on or begins.
    let mut borders: Vec<(u32, u32)> = vec![(0, 0)];
    let (mut scope, mut opened) = (0, 0);
    for (index, statement) in (0..).zip(&original.statements) {
        match statement {
            Statement::ScopeOpen(_) => {
                opened += 1;
                scope = opened;
            }
            Statement::ScopeClose(_) => scope = scopes.parents[scope as usize],
            _ => continue,
        }
        borders.push((index, scope));
    }
    let scope_of = |instruction: Instruction| {
        let statement = function.anchor(instruction)?;
        let behind = borders.partition_point(|&(index, _)| index <= statement);
        Some(borders[behind - 1].1)
    };
    for (value, register) in assignment.registers.iter() {
        let Some(register) = register.expand() else {
            continue;
        };
        let own = match scopes.registers.get(register.index()) {
            Some(own) if own.scope != 0 => own.scope,
            _ => continue,
        };
        let maker = match function.values()[value].definition {
            Definition::Instruction(maker) => function.block_of(maker).map(|_| maker),
            _ => None,
        };
        let users = function.uses_of(value).filter_map(|user| match user {
            Use::Instruction(user) => Some(user),
            Use::Edge(_) => None,
        });
        let mut mentions = maker.into_iter().chain(users);
        if mentions.any(|instruction| scope_of(instruction).is_some_and(|scope| scope != own)) {
            misplaced.insert(register);
        }
    }
    misplaced
}

/// Where statements are written, as far as names depend on it.
#[derive(Default)]
pub(super) struct Position {
    /// The scope that is open here, 0 for the function's own.
    scope: u32,
    /// How many scopes were opened so far.
    opened: u32,
    /// What it has declared so far, if it is an inner one; nothing of one in which another one ended.
    declared: Vec<Text>,
}

/// Scopes within each other up to here are looked through for a name.
const MOST_NESTED: usize = 16;

/// Which scopes declare registers of which names. Without names that end in a digit: a range may declare these without their being listed.
pub(super) struct DeclaringScopes {
    names: StringMap<u32>,
    /// Numbers of names, and scopes.
    scopes: DenseSet<(u32, u32)>,
}

impl DeclaringScopes {
    fn of(module: &Module, scopes: &Scopes) -> DeclaringScopes {
        let mut declaring = DeclaringScopes {
            names: StringMap::new(),
            scopes: DenseSet::new(),
        };
        let text = module.whole_text().as_bytes();
        for register in &scopes.registers {
            let end = register.name.span().end as usize;
            if !text[end - 1].is_ascii_digit() {
                let name = module.text(register.name);
                let next = declaring.names.len() as u32;
                let number = *declaring.names.get_or_insert_with(name, || next);
                declaring.scopes.insert((number, register.scope));
            }
        }
        declaring
    }

    /// Whether a register of this name surely cannot be seen in a scope.
    fn none_visible(&self, name: &str, scope: u32, scopes: &Scopes) -> bool {
        let Some(&number) = self.names.get(name) else {
            return false;
        };
        let mut scope = scope;
        for _ in 0..MOST_NESTED {
            if self.scopes.contains(&(number, scope)) {
                return false;
            }
            if scope == 0 {
                return true;
            }
            scope = scopes.parents[scope as usize];
        }
        false
    }
}

impl Emitter<'_> {
    /// Looks at a statement, which has just been copied.
    pub(super) fn note_scope(&mut self, statement: &Statement) {
        match statement {
            Statement::ScopeOpen(_) => {
                self.position.opened += 1;
                self.position.scope = self.position.opened;
                self.position.declared.clear();
            }
            Statement::ScopeClose(_) => {
                self.position.scope = self.scopes.parents[self.position.scope as usize];
                self.position.declared.clear();
            }
            _ => {}
        }
    }

    /// Looks at a declaration, which has just been copied.
    pub(super) fn note_declaration(&mut self, declaration: u32) {
        if self.position.scope == 0 {
            self.is_doubtful |= !self.body.operands.is_empty();
            return;
        }
        let declaration = &self.original.declarations[declaration as usize];
        let declarators = self.original.declarators(declaration);
        self.is_doubtful |= declarators
            .iter()
            .any(|declarator| declarator.range.is_some() || self.is_distinct(declarator.name));
        let names = declarators.iter().map(|declarator| declarator.name);
        let room = MOST_DECLARED.saturating_sub(self.position.declared.len());
        self.position.declared.extend(names.take(room));
    }

    /// Whether a name looks as names in inner scopes do not.
    fn is_distinct(&self, name: Text) -> bool {
        matches!(
            self.module.text(name).as_bytes(),
            [b'%' | b'$', .., b'0'..=b'9']
        )
    }

    /// Looks at a register that is mentioned where it was not.
    pub(super) fn note_register(&mut self, register: Register) {
        if self.many_scopes && !self.is_doubtful {
            // New registers are declared at the start, under names of their own.
            if let Some(own) = self.scopes.registers.get(register.index()) {
                if own.scope != 0 && own.scope != self.position.scope {
                    self.note_outside(register, own.name);
                } else {
                    self.note_name(own.name, own.scope);
                }
            }
        }
    }

    /// Looks at a register of an inner scope that is mentioned outside of it.
    #[cold]
    fn note_outside(&mut self, register: Register, name: Text) {
        let (module, scopes) = (&*self.module, self.scopes);
        let declaring = self
            .declaring_scopes
            .get_or_insert_with(|| DeclaringScopes::of(module, scopes));
        match declaring.none_visible(module.text(name), self.position.scope, scopes) {
            true => {
                self.misplaced.insert(register);
            }
            false => self.is_doubtful = true,
        }
    }

    /// Looks at a variable that is mentioned where it was not.
    pub(super) fn note_variable(&mut self, variable: Variable) {
        if self.variable_names[variable].is_none()
            && let Some(own) = self.scopes.variables.get(variable.index())
        {
            self.note_name(own.name, own.scope);
        }
    }

    /// Looks at a name that a scope declares, 0 for the function's own and the module's, and that is mentioned where it was not.
    pub(super) fn note_name(&mut self, name: Text, scope: u32) {
        self.is_doubtful |= match scope {
            0 => !self.is_distinct(name) && self.is_declared_inside(name),
            inner => inner != self.position.scope || !self.is_declared_here(name),
        };
    }

    /// Whether the inner scope that is open here has declared this name.
    fn is_declared_here(&self, name: Text) -> bool {
        let name = self.module.text(name);
        let mut declared = self.position.declared.iter();
        declared.any(|&declared| self.module.text(declared) == name)
    }

    /// Whether an inner scope declares something of this name.
    fn is_declared_inside(&mut self, name: Text) -> bool {
        let (module, scopes) = (&*self.module, self.scopes);
        let names = self.inner_names.get_or_insert_with(|| {
            let registers = scopes.registers.iter().map(|own| (own.scope, own.name));
            let variables = scopes.variables.iter().map(|own| (own.scope, own.name));
            let labels = scopes.labels.iter().map(|own| (own.scope, own.name));
            let all = registers.chain(variables).chain(labels);
            let mut inner = StringSet::new();
            for (_, name) in all.filter(|&(scope, _)| scope != 0) {
                inner.insert(module.text(name));
            }
            inner
        });
        names.contains(module.text(name))
    }

    /// Looks at a label that is about to be written here.
    pub(super) fn note_label(&mut self) {
        self.is_doubtful |= self.position.scope != 0;
    }

    /// Looks at a branch to a label from here.
    pub(super) fn note_branch(&mut self, label: Text) {
        if self.position.scope != 0 && !self.is_doubtful {
            self.note_name(label, 0);
        }
    }
}
