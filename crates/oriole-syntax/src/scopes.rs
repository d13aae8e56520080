//! Resolves names: which register, variable, label or function each operand means.
//!
//! PTX scopes are C's: a `{ }` inside a function opens one, inner declarations shadow outer ones from where they stand,
//! and the same name may be declared again in a sibling scope. Labels of code differ: they are visible in their whole
//! scope, also before they appear, unless a register or variable of that name is visible there. Labels of tables
//! (`.branchtargets` and the like) are visible from where they stand. `%r<100>` declares `%r0` to `%r99`, and `%r007` is
//! `%r7`; a register of such a range exists here once it is mentioned, so that a declaration of four billion registers
//! costs nothing.
//!
//! ## Method
//! One walk over the body with three hash tables (ranges, single names, labels) and an undo log that each closing brace
//! rolls back. Every step is constant time whatever the nesting.

mod globals;

pub use globals::{Global, Globals};

use crate::tree::{
    Body, Declaration, Function, Guard, Instruction, Module, OperandKind, Statement, Storage, Text,
    Words,
};
use oriole_collections::DenseMap;
use oriole_diagnostics::Diagnostic;
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

/// Arrays from register numbers to registers may have this many times the operand count in all; beyond it a hash table
/// serves.
const DENSE_FACTOR: usize = 4;

#[derive(Clone, Copy)]
struct RangeBinding {
    declaration: u32,
    declarator: u32,
    scope: u32,
    count: u32,
    storage: Storage,
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
    /// How far all dense slots together may still grow.
    dense_budget: usize,
    sparse_slots: DenseMap<(u32, u32), u32>,
    undo: Vec<Undo<'module>>,
    marks: Vec<usize>,
    scope: u32,
    /// The last range looked up: most operands in a row are of one range.
    recent: Option<(&'module str, RangeBinding)>,
    /// Single names that end in a number: by prefix and scope, the smallest number and its name.
    numbered: DenseMap<(&'module str, u32), (u32, Text)>,
    /// Prefixes of numbered names and labels.
    numbered_prefixes: DenseMap<&'module str, ()>,
    /// Whether a name may be both in a range and declared alone; false for all but odd code.
    contested: bool,
    /// The statement being resolved.
    statement: u32,
    errors: Vec<Diagnostic>,
}

/// Splits `%r12` into `%r` and 12; nothing for names that no range can declare. Leading zeros do not count.
fn split_number(name: &str) -> Option<(&str, u32)> {
    let bytes = name.as_bytes();
    let mut start = bytes.len();
    while start > 0 && bytes[start - 1].is_ascii_digit() {
        start -= 1;
    }
    if start == 0 || start == bytes.len() {
        return None;
    }
    let number = bytes[start..].iter().fold(0u64, |number, &digit| {
        (number * 10 + u64::from(digit - b'0')).min(u64::from(u32::MAX) + 1)
    });
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
        dense_budget: 1024 + DENSE_FACTOR * body.operands.len(),
        sparse_slots: DenseMap::new(),
        undo: Vec::new(),
        marks: Vec::new(),
        scope: 0,
        recent: None,
        numbered: DenseMap::new(),
        numbered_prefixes: DenseMap::new(),
        contested: false,
        statement: 0,
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
                self.declare(top, &top.declarations[index as usize], index, true);
            }
        }
        let mut opened = 0;
        let mut label = 0;
        for (index, statement) in body.statements.iter().enumerate() {
            self.statement = index as u32;
            match *statement {
                Statement::Instruction(instruction) => {
                    for node in instruction.nodes() {
                        let operand = &body.operands[node];
                        if operand.kind == OperandKind::Name {
                            self.scopes.references[node] =
                                self.resolve_name(operand.text, &instruction);
                        }
                    }
                    if instruction.guard != Guard::None {
                        self.check_guard(instruction.nodes().start);
                    }
                    if module.text(instruction.mnemonic).starts_with("br") {
                        self.check_branch(&instruction);
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
                        self.enter_label(label);
                        self.resolve_targets(label);
                    }
                    label += 1;
                }
                _ => {}
            }
        }
    }

    /// A guard must be a predicate register.
    fn check_guard(&mut self, node: usize) {
        let reference = self.scopes.references[node];
        let name = self.body.operands[node].text;
        let is_predicate = match reference {
            Reference::Register(index) => {
                let register = &self.scopes.registers[index as usize];
                self.module.text(register.element) == ".pred"
            }
            // Reported already.
            Reference::Unknown => true,
            _ => false,
        };
        if !is_predicate {
            self.errors.push(
                Diagnostic::error(
                    "guard-not-predicate",
                    name.span(),
                    format!("the guard `{}` is not a predicate", self.module.text(name)),
                )
                .label("expected a register declared `.reg .pred`"),
            );
        }
    }

    /// `bra` goes to a label of code, `brx.idx` to a label of a list.
    fn check_branch(&mut self, instruction: &Instruction) {
        let opcode = self.module.text(instruction.mnemonic);
        let wants_list = match opcode.split('.').next() {
            Some("bra") => false,
            Some("brx") => true,
            _ => return,
        };
        let operands = self.body.operands(instruction);
        let first = instruction.nodes().end - operands.len();
        let Some(target) = operands.get(usize::from(wants_list)) else {
            return;
        };
        let reference = self.scopes.references[first + usize::from(wants_list)];
        let is_list = match reference {
            Reference::Unknown => return,
            Reference::Label(label) => {
                self.scopes.labels[label as usize]
                    .table
                    .is_some_and(|words| {
                        self.module.text(self.body.words(words)[0]) == ".branchtargets"
                    })
            }
            _ => !wants_list,
        };
        let is_code = matches!(reference, Reference::Label(label)
            if self.scopes.labels[label as usize].table.is_none());
        let is_right = if wants_list { is_list } else { is_code };
        // A group or an expression is the business of whoever knows the instruction.
        if is_right || target.kind != OperandKind::Name {
            return;
        }
        let text = self.module.text(target.text);
        self.errors.push(if wants_list {
            Diagnostic::error(
                "branch-without-targets",
                target.text.span(),
                format!("`{text}` is not a list of branch targets"),
            )
            .label("expected a label before `.branchtargets`")
        } else {
            Diagnostic::error(
                "branch-to-no-label",
                target.text.span(),
                format!("`{text}` is not a label to branch to"),
            )
            .label(if matches!(reference, Reference::Label(_)) {
                "this label names a table, not code"
            } else {
                "expected a label"
            })
        });
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
                None => self.undeclared_label(word),
            }
        }
        self.scopes.branch_targets.insert(label, targets);
    }

    fn undeclared_label(&mut self, name: Text) {
        let text = self.module.text(name);
        let error = Diagnostic::error(
            "undeclared-label",
            name.span(),
            format!("the label `{text}` is not declared"),
        )
        .label("no such label is visible here");
        // Only on the way to an error, so that a walk over all labels is no matter; but not for thousands of errors.
        let elsewhere = (self.errors.len() < 20)
            .then(|| {
                self.scopes
                    .labels
                    .iter()
                    .find(|label| self.module.text(label.name) == text)
            })
            .flatten();
        self.errors.push(match elsewhere {
            Some(label) if label.table.is_some() => {
                error.context(label.name.span(), "a table is visible only below its label")
            }
            Some(label) => error.context(
                label.name.span(),
                "a label is visible only in its own scope and those inside it",
            ),
            None => error,
        });
    }

    fn enter_labels(&mut self, labels: &[u32]) {
        for &label in labels {
            if self.scopes.labels[label as usize].table.is_none() {
                self.enter_label(label);
            }
        }
    }

    fn enter_label(&mut self, label: u32) {
        let name = self.scopes.labels[label as usize].name;
        let text = self.module.text(name);
        self.note_numbered(text);
        let earlier = self.labels.insert(text, label);
        if let Some(other) =
            earlier.filter(|&other| self.scopes.labels[other as usize].scope == self.scope)
        {
            let first = self.scopes.labels[other as usize].name.span();
            self.errors.push(
                Diagnostic::error(
                    "duplicate-label",
                    name.span(),
                    format!("the label `{text}` is declared twice in one scope"),
                )
                .label("declared again here")
                .context(first, "first declared here"),
            );
        }
        self.undo.push(Undo::Label(text, earlier));
    }

    /// Remembers a name that a range could declare too.
    fn note_numbered(&mut self, text: &'module str) {
        if let Some((prefix, _)) = split_number(text) {
            self.numbered_prefixes.insert(prefix, ());
            self.contested |= self.ranges.contains_key(&prefix);
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
            let declarator = &owner.declarators[at as usize];
            let name = declarator.name;
            let text = self.module.text(name);
            if let Some(count) = declarator.range {
                let binding = RangeBinding {
                    declaration: index,
                    declarator: at,
                    scope: self.scope,
                    count,
                    storage: declaration.storage,
                    in_header,
                    slots: self.dense_slots.len() as u32,
                };
                self.dense_slots.push(Vec::new());
                self.declare_range(name, text, binding);
                continue;
            }
            self.check_duplicate_single(name, text);
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
                    declarator: at,
                    scope: self.scope,
                    in_header,
                    storage: declaration.storage,
                });
                Single::Variable(self.scopes.variables.len() as u32 - 1)
            };
            let earlier = self.singles.insert(text, single);
            self.undo.push(Undo::Single(text, earlier));
        }
    }

    fn declare_range(&mut self, name: Text, text: &'module str, binding: RangeBinding) {
        self.recent = None;
        let earlier = self.ranges.insert(text, binding);
        if let Some(earlier) = earlier.filter(|earlier| earlier.scope == self.scope) {
            let owner = if earlier.in_header {
                &self.module.top
            } else {
                self.body
            };
            let first = owner.declarators[earlier.declarator as usize].name;
            self.duplicate(name, first);
        } else if let Some(&(number, single)) = self.numbered.get(&(text, self.scope))
            && number < binding.count
        {
            let again = self.module.text(single);
            self.duplicate_at(again, name, single);
        }
        self.contested |= self.numbered_prefixes.contains_key(&text);
        self.undo.push(Undo::Range(text, earlier));
    }

    /// A name must be new to its scope: to single names, ranges and labels.
    fn check_duplicate_single(&mut self, name: Text, text: &'module str) {
        if let Some(&earlier) = self.singles.get(&text)
            && let (scope, first) = self.place(earlier)
            && scope == self.scope
        {
            self.duplicate(name, first);
        }
        if let Some(&label) = self.labels.get(&text)
            && let label = self.scopes.labels[label as usize]
            && label.scope == self.scope
        {
            // Labels are known in advance: the one that comes second in the text is wrong.
            if label.statement > self.statement {
                self.duplicate(label.name, name);
            } else {
                self.duplicate(name, label.name);
            }
        }
        if let Some((prefix, number)) = split_number(text) {
            self.note_numbered(text);
            if let Some(range) = self.ranges.get(&prefix)
                && range.scope == self.scope
                && number < range.count
            {
                let owner = if range.in_header {
                    &self.module.top
                } else {
                    self.body
                };
                let first = owner.declarators[range.declarator as usize].name;
                self.duplicate(name, first);
            }
            let smallest = self
                .numbered
                .get_or_insert((prefix, self.scope), (number, name));
            if number < smallest.0 {
                *smallest = (number, name);
            }
        }
    }

    /// The scope and the name of a single declaration.
    fn place(&self, single: Single) -> (u32, Text) {
        match single {
            Single::Register(index) => {
                let register = &self.scopes.registers[index as usize];
                (register.scope, register.name)
            }
            Single::Variable(index) => {
                let variable = &self.scopes.variables[index as usize];
                (variable.scope, variable.name)
            }
        }
    }

    fn duplicate(&mut self, name: Text, first: Text) {
        self.duplicate_at(self.module.text(name), name, first);
    }

    /// Reports that `text`, declared at `first`, is declared again at `place`.
    fn duplicate_at(&mut self, text: &str, place: Text, first: Text) {
        self.errors.push(
            Diagnostic::error(
                "duplicate-name",
                place.span(),
                format!("`{text}` is declared twice in one scope"),
            )
            .label("declared again here")
            .context(first.span(), "first declared here"),
        );
    }

    #[inline]
    fn resolve_name(&mut self, name: Text, instruction: &Instruction) -> Reference {
        let text = self.module.text(name);
        if !self.contested
            && let Some(reference) = self.ranged(name, text)
        {
            return reference;
        }
        self.resolve_rare(name, text, instruction)
    }

    fn resolve_rare(
        &mut self,
        name: Text,
        text: &'module str,
        instruction: &Instruction,
    ) -> Reference {
        if let Some(reference) = self.declared(name, text) {
            return reference;
        }
        if text == "WARP_SZ"
            || (text.starts_with('%') && SpecialRegister::from_text(text).is_some())
        {
            return Reference::Special;
        }
        if let Some(global) = self.globals.index(text) {
            return Reference::Global(global);
        }
        // `v.x`, `%r1.b0`: a member of a register.
        if let Some(dot) = text.find('.')
            && let Some(reference @ Reference::Register(_)) =
                self.declared(name.prefix(dot), &text[..dot])
        {
            return reference;
        }
        if self.module.text(instruction.mnemonic).starts_with("br") && !text.starts_with('%') {
            self.undeclared_label(name);
            return Reference::Unknown;
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

    /// What the function itself declares under a name: the innermost of range, single name and label.
    fn declared(&mut self, name: Text, text: &'module str) -> Option<Reference> {
        let single = self
            .singles
            .get(&text)
            .map(|&single| (self.place(single).0, single));
        let range = split_number(text).and_then(|(prefix, number)| {
            let binding = self.ranges.get(&prefix)?;
            (number < binding.count).then_some(binding.scope)
        });
        let value_scope = single.map(|(scope, _)| scope).max(range);
        if let Some(&label) = self.labels.get(&text) {
            let Label {
                scope, statement, ..
            } = self.scopes.labels[label as usize];
            // A label further down does not hide what is declared already.
            if value_scope.is_none_or(|value| scope > value && statement < self.statement) {
                return Some(Reference::Label(label));
            }
        }
        match single {
            Some((scope, single)) if range.is_none_or(|range| scope >= range) => {
                Some(match single {
                    Single::Register(index) => Reference::Register(index),
                    Single::Variable(index) => Reference::Variable(index),
                })
            }
            _ => self.ranged(name, text),
        }
    }

    /// The register or variable `text` if a range declares it.
    #[inline]
    fn ranged(&mut self, name: Text, text: &'module str) -> Option<Reference> {
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
        let slots = &mut self.dense_slots[binding.slots as usize];
        let growth = (number as usize + 1).saturating_sub(slots.len());
        let slot = if growth <= self.dense_budget {
            if growth > 0 {
                self.dense_budget -= growth;
                slots.resize(number as usize + 1, u32::MAX);
            }
            &mut slots[number as usize]
        } else {
            self.sparse_slots
                .get_or_insert_with((binding.slots, number), || u32::MAX)
        };
        let is_register = binding.storage == Storage::Register;
        if *slot == u32::MAX {
            *slot = if is_register {
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
                self.scopes.registers.len() as u32 - 1
            } else {
                self.scopes.variables.push(Variable {
                    name,
                    declaration: binding.declaration,
                    declarator: binding.declarator,
                    scope: binding.scope,
                    in_header: binding.in_header,
                    storage: binding.storage,
                });
                self.scopes.variables.len() as u32 - 1
            };
        }
        Some(if is_register {
            Reference::Register(*slot)
        } else {
            Reference::Variable(*slot)
        })
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
        assert_eq!(errors, ["the label `L` is not declared"]);
    }

    #[test]
    fn all_kinds_of_names() {
        let (references, errors) = resolve_text(
            ".reg .b32 %r<4294967295>; mov.u32 %r4294967294, %tid.x; ld.param.u32 %r0, [a]; ld.global.u32 %r00, [g]; mov.u32 %r1, %q1;",
        );
        assert_eq!(errors, ["the register `%q1` is not declared"]);
        assert_eq!(
            references,
            [
                "Register(0)",
                "Special",
                "Register(1)",
                "Variable(0)",
                "Register(1)",
                "Global(0)",
                "Register(2)",
                "Unknown"
            ]
        );
    }

    #[test]
    fn the_innermost_of_range_single_name_and_label_is_meant() {
        for (body, expected) in [
            // A single name inside a range's scope, and the reverse.
            (
                ".reg .u32 a<4>; { .reg .u64 a1; mov.u64 a1, 1; mov.u32 a01, 1; } mov.u32 a1, 1;",
                &["Register(0)", "Register(1)", "Register(1)"][..],
            ),
            (
                ".reg .u32 a1; { .reg .u64 a<4>; mov.u64 a1, 1; } mov.u32 a1, 1;",
                &["Register(1)", "Register(0)"],
            ),
            // A label hides what is outside from where it stands.
            (
                ".reg .u32 x; { mov.u32 x, 1; x: bra x; }",
                &["Register(0)", "Label(0)"],
            ),
            (
                "x: { .reg .u32 x; mov.u32 x, 1; } bra x;",
                &["Register(0)", "Label(0)"],
            ),
            ("x: { bra x; x: }", &["Label(1)"]),
            // A table is visible from where it stands.
            (
                ".reg .u32 r; b: t: .branchtargets b; { brx.idx r, t; t: .branchtargets b; brx.idx r, t; }",
                &["Register(0)", "Label(1)", "Register(0)", "Label(2)"],
            ),
            // Variables come in ranges too.
            (
                ".reg .u64 d; .shared .u32 s<4>; mov.u64 d, s2; mov.u64 d, s1; mov.u64 d, s2;",
                &[
                    "Register(0)",
                    "Variable(1)",
                    "Register(0)",
                    "Variable(2)",
                    "Register(0)",
                    "Variable(1)",
                ],
            ),
        ] {
            let (references, errors) = resolve_text(body);
            assert_eq!(errors, Vec::<String>::new(), "{body}");
            assert_eq!(references, expected, "{body}");
        }
    }

    #[test]
    fn sparse_and_dense_registers_are_the_same_whatever_the_order() {
        let mut body = ".reg .b32 %r<4000000000>; ".to_owned();
        for round in 0..3 {
            for number in [3_999_999_999u64, 7, 1_000_000, 500, 1100, 7] {
                body.push_str(&format!("mov.b32 %r{number}, {round}; "));
            }
        }
        let (references, errors) = resolve_text(&body);
        assert_eq!(errors, Vec::<String>::new());
        assert_eq!(references[..6], references[6..12]);
        assert_eq!(references[..6], references[12..]);
        assert_eq!(references[1], references[5]);
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
