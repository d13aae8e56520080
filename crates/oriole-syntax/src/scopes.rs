//! Resolves names: which register, variable, label or function each operand means.
//!
//! PTX scopes are C's: a `{ }` inside a function opens one, inner declarations shadow outer ones from where they stand,
//! and the same name may be declared again in a sibling scope. Labels differ: they are visible in their whole scope, also
//! before they appear. `%r<100>` declares `%r0` to `%r99`; a register of such a range exists here once it is mentioned,
//! so that a declaration of four billion registers costs nothing.
//!
//! ## Method
//! One walk over the body with three hash tables (ranges, single names, labels) and an undo log that each closing brace
//! rolls back. Every step is constant time whatever the nesting.

use crate::tree::{
    Body, Declaration, Function, Module, OperandKind, Statement, Storage, Text, Words,
};
use oriole_collections::{DenseMap, StringMap};
use oriole_diagnostics::{Diagnostic, Span};
use oriole_isa::SpecialRegister;

/// What a name stands for; the numbers index [`Scopes`]' arrays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reference {
    /// The node is not a name.
    None,
    /// A register.
    Register(u32),
    /// A variable or parameter of the function.
    Variable(u32),
    /// A label of the function.
    Label(u32),
    /// A variable or function of the module.
    Global(u32),
    /// A special register such as `%tid.x`, or the constant `WARP_SZ`.
    Special,
    /// Nothing that is declared.
    Unknown,
}

/// A register.
#[derive(Clone, Copy, Debug)]
pub struct Register {
    /// Its name as first written, without a member.
    pub name: Text,
    /// Its declared type with the dot, such as `.b32`.
    pub element: Text,
    /// Elements, 1 unless declared `.v2` or `.v4`.
    pub vector: u8,
    /// The scope that declares it.
    pub scope: u32,
    /// Whether it is a parameter or result of the function.
    pub in_header: bool,
}

/// A variable declared in a function, or one of its parameters.
#[derive(Clone, Copy, Debug)]
pub struct Variable {
    /// Its name.
    pub name: Text,
    /// Index of its declaration: in the body, or in the top level if `in_header`.
    pub declaration: u32,
    /// Index of its declarator there.
    pub declarator: u32,
    /// The scope that declares it.
    pub scope: u32,
    /// Whether it is a parameter or result of the function.
    pub in_header: bool,
    /// Where it lives.
    pub storage: Storage,
}

/// A label.
#[derive(Clone, Copy, Debug)]
pub struct Label {
    /// Its name.
    pub name: Text,
    /// Index of its statement.
    pub statement: u32,
    /// The scope it stands in.
    pub scope: u32,
    /// The words of the `.branchtargets`, `.calltargets` or `.callprototype` it names, if it names one and no code.
    pub table: Option<Words>,
}

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
    /// What each name stands for, in order of first appearance.
    pub entries: Vec<(Text, Global)>,
}

impl Globals {
    /// Collects the names of a module; a name defined twice is an error.
    pub fn of(module: &Module) -> (Globals, Vec<Diagnostic>) {
        let mut globals = Globals {
            names: StringMap::new(),
            entries: Vec::new(),
        };
        let mut errors = Vec::new();
        for statement in &module.top.statements {
            match *statement {
                Statement::Declaration(index) => {
                    let declaration = &module.top.declarations[index as usize];
                    for declarator in declaration.declarators.clone() {
                        let name = module.top.declarators[declarator].name;
                        let global = Global::Variable {
                            declaration: index,
                            declarator: declarator as u32,
                        };
                        globals.declare(module, name, global, &mut errors);
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
                _ => {}
            }
        }
        (globals, errors)
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
                !matches!(
                    declaration.linkage,
                    crate::tree::Linkage::Extern
                        | crate::tree::Linkage::Common
                        | crate::tree::Linkage::Weak
                )
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
                .context(earlier_name.span(), "first defined here"),
            );
        } else if is_definition(global) || matches!(earlier, Global::Alias) {
            *earlier = global;
            *earlier_name = name;
        }
    }

    /// What a name of the module stands for.
    pub fn get(&self, name: &str) -> Option<Global> {
        self.names
            .get(name)
            .map(|&index| self.entries[index as usize].1)
    }
}

/// The names of one function, resolved.
#[derive(Debug, Default)]
pub struct Scopes {
    /// Registers in order of first mention (ranges) or declaration (single names).
    pub registers: Vec<Register>,
    /// Variables and parameters in order of declaration.
    pub variables: Vec<Variable>,
    /// Labels in order of appearance.
    pub labels: Vec<Label>,
    /// The enclosing scope of each scope; scope 0 is the function's own and encloses itself.
    pub parents: Vec<u32>,
    /// For every operand node of the body, what it refers to.
    pub references: Vec<Reference>,
    /// For each label that names a `.branchtargets` list, in order of `labels`: the labels it lists.
    pub branch_targets: DenseMap<u32, Vec<u32>>,
}

/// Registers beyond this many times the operand count go to a hash table instead of an array.
const DENSE_FACTOR: usize = 4;

#[derive(Clone, Copy)]
struct RangeBinding {
    declaration: u32,
    scope: u32,
    count: u32,
    in_header: bool,
    /// Index of this range's slots.
    slots: u32,
}

#[derive(Clone, Copy)]
enum Single {
    Register(u32),
    Variable(u32),
}

enum Undo<'module> {
    Range(&'module str, Option<RangeBinding>),
    Single(&'module str, Option<Single>),
    Label(&'module str, Option<u32>),
}

struct Resolver<'module> {
    module: &'module Module,
    body: &'module Body,
    globals: &'module Globals,
    scopes: Scopes,
    ranges: DenseMap<&'module str, RangeBinding>,
    singles: DenseMap<&'module str, Single>,
    labels: DenseMap<&'module str, u32>,
    /// Register of each number of a range, `u32::MAX` for none yet.
    dense_slots: Vec<Vec<u32>>,
    sparse_slots: DenseMap<(u32, u32), u32>,
    undo: Vec<Undo<'module>>,
    marks: Vec<usize>,
    scope: u32,
    /// The last range looked up: most operands in a row are of one range.
    recent: Option<(&'module str, RangeBinding)>,
    errors: Vec<Diagnostic>,
}

/// Splits `%r12` into `%r` and 12; nothing for names that no range can declare.
fn split_number(name: &str) -> Option<(&str, u32)> {
    let bytes = name.as_bytes();
    let mut start = bytes.len();
    while start > 0 && bytes[start - 1].is_ascii_digit() {
        start -= 1;
    }
    let digits = &bytes[start..];
    if start == 0
        || digits.is_empty()
        || digits.len() > 10
        || (digits[0] == b'0' && digits.len() > 1)
    {
        return None;
    }
    let number = digits
        .iter()
        .fold(0u64, |number, &digit| number * 10 + u64::from(digit - b'0'));
    Some((&name[..start], u32::try_from(number).ok()?))
}

/// Resolves the names of a function with a body.
///
/// # Panics
/// If the function has no body.
pub fn resolve<'module>(
    module: &'module Module,
    globals: &'module Globals,
    function: &'module Function,
) -> (Scopes, Vec<Diagnostic>) {
    let body = function.body.as_ref().expect("a prototype has no scopes");
    let mut resolver = Resolver {
        module,
        body,
        globals,
        scopes: Scopes {
            references: vec![Reference::None; body.operands.len()],
            ..Scopes::default()
        },
        ranges: DenseMap::new(),
        singles: DenseMap::new(),
        labels: DenseMap::new(),
        dense_slots: Vec::new(),
        sparse_slots: DenseMap::new(),
        undo: Vec::new(),
        marks: Vec::new(),
        scope: 0,
        recent: None,
        errors: Vec::new(),
    };
    let labels_of_scope = resolver.collect_labels();
    resolver.run(function, &labels_of_scope);
    (resolver.scopes, resolver.errors)
}

impl<'module> Resolver<'module> {
    /// First walk: scopes and labels, since labels may be used before they appear.
    fn collect_labels(&mut self) -> Vec<Vec<u32>> {
        let body = self.body;
        self.scopes.parents.push(0);
        let mut of_scope: Vec<Vec<u32>> = vec![Vec::new()];
        let mut scope = 0;
        for (index, statement) in body.statements.iter().enumerate() {
            match *statement {
                Statement::ScopeOpen(_) => {
                    let inner = self.scopes.parents.len() as u32;
                    self.scopes.parents.push(scope);
                    of_scope.push(Vec::new());
                    scope = inner;
                }
                Statement::ScopeClose(_) => scope = self.scopes.parents[scope as usize],
                Statement::Label(name) => {
                    of_scope[scope as usize].push(self.scopes.labels.len() as u32);
                    self.scopes.labels.push(Label {
                        name,
                        statement: index as u32,
                        scope,
                        table: self.table_behind(index),
                    });
                }
                _ => {}
            }
        }
        of_scope
    }

    /// The words of a table directive directly behind the label at `index`.
    fn table_behind(&self, index: usize) -> Option<Words> {
        let next = self.body.statements[index + 1..]
            .iter()
            .find(|statement| !matches!(statement, Statement::Comment { .. }))?;
        let Statement::Directive(directive) = next else {
            return None;
        };
        let keyword = *self.body.words(directive.words).first()?;
        matches!(
            self.module.text(keyword),
            ".branchtargets" | ".calltargets" | ".callprototype"
        )
        .then_some(directive.words)
    }

    fn run(&mut self, function: &'module Function, labels_of_scope: &[Vec<u32>]) {
        let (module, body) = (self.module, self.body);
        let top = &module.top;
        self.enter_labels(&labels_of_scope[0]);
        for list in [&function.returns, &function.parameters]
            .into_iter()
            .flatten()
        {
            for index in list.clone() {
                self.declare(top, &top.declarations[index], index as u32, true);
            }
        }
        let mut opened = 0;
        let mut label = 0;
        for statement in &body.statements {
            match *statement {
                Statement::Instruction(instruction) => {
                    for node in instruction.nodes() {
                        let operand = &body.operands[node];
                        if operand.kind == OperandKind::Name {
                            self.scopes.references[node] = self.resolve_name(operand.text);
                        }
                    }
                }
                Statement::Declaration(index) => {
                    self.declare(body, &body.declarations[index as usize], index, false);
                }
                Statement::ScopeOpen(_) => {
                    opened += 1;
                    self.marks.push(self.undo.len());
                    self.scope = opened;
                    self.enter_labels(&labels_of_scope[opened as usize]);
                }
                Statement::ScopeClose(_) => self.leave_scope(),
                Statement::Label(_) => {
                    if self.scopes.labels[label as usize].table.is_some() {
                        self.resolve_targets(label);
                    }
                    label += 1;
                }
                _ => {}
            }
        }
    }

    /// The labels in a `.branchtargets` list.
    fn resolve_targets(&mut self, label: u32) {
        let words = self.scopes.labels[label as usize]
            .table
            .expect("a table label");
        let words = &self.body.words[words.range()];
        if self.module.text(words[0]) != ".branchtargets" {
            return;
        }
        let mut targets = Vec::new();
        for &word in &words[1..] {
            let text = self.module.text(word);
            if text == "," {
                continue;
            }
            match self.labels.get(&text) {
                Some(&target) => targets.push(target),
                None => self.errors.push(Diagnostic::error(
                    "undeclared-label",
                    word.span(),
                    format!("the label `{text}` does not exist here"),
                )),
            }
        }
        self.scopes.branch_targets.insert(label, targets);
    }

    fn enter_labels(&mut self, labels: &[u32]) {
        for &label in labels {
            let name = self.scopes.labels[label as usize].name;
            let text = self.module.text(name);
            let earlier = self.labels.insert(text, label);
            if let Some(other) =
                earlier.filter(|&other| self.scopes.labels[other as usize].scope == self.scope)
            {
                self.errors.push(
                    Diagnostic::error(
                        "duplicate-label",
                        name.span(),
                        format!("the label `{text}` is defined twice"),
                    )
                    .context(
                        self.scopes.labels[other as usize].name.span(),
                        "first defined here",
                    ),
                );
            }
            self.undo.push(Undo::Label(text, earlier));
        }
    }

    fn leave_scope(&mut self) {
        let mark = self.marks.pop().expect("the parser balances scopes");
        for undo in self.undo.drain(mark..).rev() {
            match undo {
                Undo::Range(name, Some(old)) => {
                    self.ranges.insert(name, old);
                }
                Undo::Range(name, None) => {
                    self.ranges.remove(&name);
                }
                Undo::Single(name, Some(old)) => {
                    self.singles.insert(name, old);
                }
                Undo::Single(name, None) => {
                    self.singles.remove(&name);
                }
                Undo::Label(name, Some(old)) => {
                    self.labels.insert(name, old);
                }
                Undo::Label(name, None) => {
                    self.labels.remove(&name);
                }
            }
        }
        self.recent = None;
        self.scope = self.scopes.parents[self.scope as usize];
    }

    fn declare(
        &mut self,
        owner: &'module Body,
        declaration: &Declaration,
        index: u32,
        in_header: bool,
    ) {
        let is_register = declaration.storage == Storage::Register;
        for at in declaration.declarators.clone() {
            let declarator = &owner.declarators[at];
            let name = declarator.name;
            let text = self.module.text(name);
            if let (true, Some(count)) = (is_register, declarator.range) {
                let binding = RangeBinding {
                    declaration: index,
                    scope: self.scope,
                    count,
                    in_header,
                    slots: self.dense_slots.len() as u32,
                };
                self.dense_slots.push(Vec::new());
                self.recent = None;
                let earlier = self.ranges.insert(text, binding);
                if earlier.is_some_and(|earlier| earlier.scope == self.scope) {
                    self.duplicate(name, "registers", None);
                }
                self.undo.push(Undo::Range(text, earlier));
                continue;
            }
            let single = if is_register {
                self.scopes.registers.push(Register {
                    name,
                    element: declaration.element,
                    vector: declaration.vector,
                    scope: self.scope,
                    in_header,
                });
                Single::Register(self.scopes.registers.len() as u32 - 1)
            } else {
                self.scopes.variables.push(Variable {
                    name,
                    declaration: index,
                    declarator: at as u32,
                    scope: self.scope,
                    in_header,
                    storage: declaration.storage,
                });
                Single::Variable(self.scopes.variables.len() as u32 - 1)
            };
            let earlier = self.singles.insert(text, single);
            if let Some(earlier) = earlier {
                let (scope, first) = match earlier {
                    Single::Register(index) => {
                        let register = &self.scopes.registers[index as usize];
                        (register.scope, register.name)
                    }
                    Single::Variable(index) => {
                        let variable = &self.scopes.variables[index as usize];
                        (variable.scope, variable.name)
                    }
                };
                if scope == self.scope {
                    self.duplicate(name, "name", Some(first.span()));
                }
            }
            self.undo.push(Undo::Single(text, earlier));
        }
    }

    fn duplicate(&mut self, name: Text, what: &str, first: Option<Span>) {
        let text = self.module.text(name);
        let error = Diagnostic::error(
            "duplicate-name",
            name.span(),
            format!("{what} `{text}` declared twice in one scope"),
        );
        self.errors.push(match first {
            Some(first) => error.context(first, "first declared here"),
            None => error,
        });
    }

    fn resolve_name(&mut self, name: Text) -> Reference {
        let text = self.module.text(name);
        if let Some(register) = self.ranged(name, text) {
            return Reference::Register(register);
        }
        if let Some(&single) = self.singles.get(&text) {
            return match single {
                Single::Register(index) => Reference::Register(index),
                Single::Variable(index) => Reference::Variable(index),
            };
        }
        if let Some(&label) = self.labels.get(&text) {
            return Reference::Label(label);
        }
        if text == "WARP_SZ"
            || (text.starts_with('%') && SpecialRegister::from_text(text).is_some())
        {
            return Reference::Special;
        }
        if let Some(&global) = self.globals.names.get(text) {
            return Reference::Global(global);
        }
        // `v.x`, `%r1.b0`: a member of a register.
        if let Some(dot) = text.find('.') {
            let base = name.prefix(dot);
            if let Some(register) = self.ranged(base, &text[..dot]) {
                return Reference::Register(register);
            }
            if let Some(&Single::Register(index)) = self.singles.get(&&text[..dot]) {
                return Reference::Register(index);
            }
        }
        let (id, what) = if text.starts_with('%') {
            ("undeclared-register", "register")
        } else {
            ("undeclared-name", "name")
        };
        self.errors.push(
            Diagnostic::error(
                id,
                name.span(),
                format!("the {what} `{text}` is not declared"),
            )
            .label("not declared here"),
        );
        Reference::Unknown
    }

    /// The register `text` if a range declares it.
    #[inline]
    fn ranged(&mut self, name: Text, text: &'module str) -> Option<u32> {
        let (prefix, number) = split_number(text)?;
        let binding = match self.recent {
            Some((recent, binding)) if recent == prefix => binding,
            _ => {
                let binding = *self.ranges.get(&prefix)?;
                self.recent = Some((prefix, binding));
                binding
            }
        };
        if number >= binding.count {
            return None;
        }
        let next = self.scopes.registers.len() as u32;
        let dense = number as usize <= 1024 + DENSE_FACTOR * self.body.operands.len();
        let slot = if dense {
            let slots = &mut self.dense_slots[binding.slots as usize];
            if slots.len() <= number as usize {
                slots.resize(number as usize + 1, u32::MAX);
            }
            &mut slots[number as usize]
        } else {
            self.sparse_slots
                .get_or_insert_with((binding.slots, number), || u32::MAX)
        };
        if *slot == u32::MAX {
            *slot = next;
            let owner = if binding.in_header {
                &self.module.top
            } else {
                self.body
            };
            let declaration = &owner.declarations[binding.declaration as usize];
            self.scopes.registers.push(Register {
                name,
                element: declaration.element,
                vector: declaration.vector,
                scope: binding.scope,
                in_header: binding.in_header,
            });
        }
        Some(*slot)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resolve_text(body: &str) -> (Vec<String>, Vec<String>) {
        let text = format!(".global .u32 g;\n.func f(.param .u32 a)\n{{\n{body}\n}}\n");
        let (module, errors) = crate::parse("t.ptx", text);
        assert!(errors.is_empty(), "{errors:?}");
        let (globals, errors) = Globals::of(&module);
        assert!(errors.is_empty(), "{errors:?}");
        let (scopes, errors) = resolve(&module, &globals, &module.functions[0]);
        let references = scopes
            .references
            .iter()
            .filter(|&&reference| reference != Reference::None)
            .map(|reference| format!("{reference:?}"))
            .collect();
        (
            references,
            errors.into_iter().map(|error| error.message).collect(),
        )
    }

    #[test]
    fn inner_scopes_shadow_and_end() {
        let (references, errors) = resolve_text(
            ".reg .b32 %r<3>, x; mov.b32 %r1, x; { .reg .b32 %r<2>; mov.b32 %r1, x; } mov.b32 %r1, %r2;",
        );
        assert_eq!(errors, Vec::<String>::new());
        assert_eq!(
            references,
            [
                "Register(1)",
                "Register(0)",
                "Register(2)",
                "Register(0)",
                "Register(1)",
                "Register(3)"
            ]
        );
    }

    #[test]
    fn labels_are_visible_before_they_appear_and_only_in_their_scope() {
        let (references, errors) = resolve_text("bra L; { bra L; L: bra M; } L: M: ret;");
        assert_eq!(errors, Vec::<String>::new());
        assert_eq!(references, ["Label(1)", "Label(0)", "Label(2)"]);
        let (_, errors) = resolve_text("{ L: ret; } bra L;");
        assert_eq!(errors, ["the name `L` is not declared"]);
    }

    #[test]
    fn all_kinds_of_names() {
        let (references, errors) = resolve_text(
            ".reg .b32 %r<4294967295>; mov.u32 %r4294967294, %tid.x; ld.param.u32 %r0, [a]; ld.global.u32 %r01, [g];",
        );
        assert_eq!(errors, ["the register `%r01` is not declared"]);
        assert_eq!(
            references,
            [
                "Register(0)",
                "Special",
                "Register(1)",
                "Variable(0)",
                "Unknown",
                "Global(0)"
            ]
        );
    }

    #[test]
    fn members_belong_to_their_register() {
        let (references, errors) = resolve_text(
            ".reg .v4 .f32 v; .reg .u32 %r<2>; mov.f32 v.x, v.w; vadd.s32.u32.u32 %r0, %r1.b0, %r1.h1, %r0;",
        );
        assert_eq!(errors, Vec::<String>::new());
        assert_eq!(
            references,
            [
                "Register(0)",
                "Register(0)",
                "Register(1)",
                "Register(2)",
                "Register(2)",
                "Register(1)"
            ]
        );
    }
}
