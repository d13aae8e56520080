//! Resolves names: which register, variable, label or function each operand means.
//!
//! PTX scopes are C's: a `{ }` inside a function opens one, inner declarations shadow outer ones from where they stand,
//! and the same name may be declared again in a sibling scope. Labels of code differ: they are visible in their whole
//! scope, also before they appear, unless a register or variable of that name is visible there. Labels of tables
//! (`.branchtargets` and the like) are visible from where they stand. `%r<100>` declares `%r0` to `%r99`, and `%r007` is
//! `%r7`; a register of such a range exists here once it is mentioned, so that a declaration of four billion registers
//! costs nothing. An inner `%r<10>` hides ten registers of an outer `%r<100>`; `%r50` is still the outer one.
//!
//! ## Method
//! One walk over the body with a hash table of names and an undo log that each closing brace rolls back. Every step is constant time whatever the nesting. Nearly all operands are registers of a handful of ranges
//! with short names: these are found by the bytes of the name as one number, without hashing. Most were met a few instructions
//! before: what short names mean is remembered until a declaration may have changed it (`scopes::known`).

mod globals;
mod known;
mod lookup;
mod numbered;
#[cfg(test)]
mod tests;

pub use globals::{Global, Globals};

use crate::tree::{
    Body, Declaration, Function, Guard, Instruction, Module, OperandKind, Statement, Storage, Text,
    Words,
};
use known::KnownNames;
use numbered::{Numbered, NumberedName, split_number};
use oriole_collections::{BitSet, DenseMap};
use oriole_diagnostics::Diagnostic;
use oriole_isa::ScalarType;

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
    /// The same, decoded; nothing if the table does not know it.
    pub scalar_type: Option<ScalarType>,
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
    /// Whether an operand means it.
    pub is_mentioned: bool,
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
    /// Whether some name that means a register has a dot in it: a member, as a rule. False for most functions, which saves
    /// looking for one in every name.
    pub has_dotted_registers: bool,
}

impl Scopes {
    /// Labels that some branch names, directly or through a table.
    pub fn branch_target_labels(&self) -> BitSet<usize> {
        let mut targets: BitSet<usize> = BitSet::with_domain(self.labels.len());
        for (label, data) in self.labels.iter().enumerate() {
            if !data.is_mentioned {
                continue;
            }
            match self.branch_targets.get(&(label as u32)) {
                Some(listed) => {
                    for &target in listed {
                        targets.insert(target as usize);
                    }
                }
                None if data.table.is_none() => {
                    targets.insert(label);
                }
                None => {}
            }
        }
        targets
    }
}

/// The array from register numbers to registers may have this many times the operand count; beyond it a hash table serves.
const DENSE_FACTOR: usize = 4;

/// Larger and larger ranges of one name in enclosing scopes, as a list with short cuts: whatever the nesting, finding the
/// first that is large enough takes a number of steps that grows with the logarithm of its length.
#[derive(Clone, Copy)]
struct Hidden {
    /// The innermost of them.
    next: u32,
    /// One further out, or the same.
    far: u32,
    /// How many there are.
    length: u32,
}

struct RangeBinding {
    /// The larger ranges of the same name that it hides in part: of `%r<100>` an inner `%r<10>` hides only the first ten.
    hidden: Option<Hidden>,
    declaration: u32,
    declarator: u32,
    scope: u32,
    count: u32,
    storage: Storage,
    in_header: bool,
    vector: u8,
    element: Text,
    scalar_type: Option<ScalarType>,
    /// Where its slots start in [`Resolver::slots`], or [`NO_SLOTS`].
    first_slot: u32,
}

impl RangeBinding {
    /// A register of the range.
    #[inline]
    fn register(&self, name: Text) -> Register {
        Register {
            name,
            element: self.element,
            scalar_type: self.scalar_type,
            vector: self.vector,
            scope: self.scope,
            in_header: self.in_header,
        }
    }
}

/// Stands for no slots: the range was not mentioned yet, or has too many numbers. Above all indices of slots.
const NO_SLOTS: u32 = u32::MAX;

#[derive(Clone, Copy)]
enum Single {
    Register(u32),
    Variable(u32),
}

impl Single {
    fn reference(self) -> Reference {
        match self {
            Single::Register(index) => Reference::Register(index),
            Single::Variable(index) => Reference::Variable(index),
        }
    }
}

/// What one name means in the innermost scope that gives it a meaning of each kind.
#[derive(Clone, Copy, Default)]
struct Meanings {
    /// Index in `bindings` of the range of this name.
    range: Option<u32>,
    single: Option<Single>,
    label: Option<u32>,
}

enum Undo {
    Range(Option<u32>),
    Single(Option<Single>),
    Label(Option<u32>),
}

struct Resolver<'module> {
    module: &'module Module,
    /// All text of the module.
    text: &'module [u8],
    body: &'module Body,
    globals: &'module Globals,
    scopes: Scopes,
    names: DenseMap<&'module str, Meanings>,
    /// All ranges declared so far.
    bindings: Vec<RangeBinding>,
    /// The register or variable of each number of one range after the other, `u32::MAX` for none yet.
    slots: Vec<u32>,
    /// How many slots there may be.
    most_slots: usize,
    /// The same for ranges with too many numbers, by range and number.
    sparse_slots: DenseMap<(u32, u32), u32>,
    /// What closing braces bring back; nothing is kept for the function's own scope.
    undo: Vec<(&'module str, Undo)>,
    marks: Vec<usize>,
    scope: u32,
    /// What short names mean that were resolved lately; asked only while nothing is contested.
    known: KnownNames,
    /// Ranges with short names looked up lately: the name as a number ([`short_word`]), and the index of the range, or
    /// [`NO_RANGE`].
    recent: [(u64, u32); RECENT],
    /// The length of the longest name of a range.
    longest_range: usize,
    numbered: Numbered<'module>,
    /// Whether a name may be both in a range and declared alone; false for all but odd code.
    contested: bool,
    /// The statement being resolved.
    statement: u32,
    errors: Vec<Diagnostic>,
}

/// Slots for ranges looked up lately.
const RECENT: usize = 16;
/// Stands for no range.
const NO_RANGE: u32 = u32::MAX;

/// The first `length` bytes of `text` from `start` on as a number, which is never zero; nothing if these are more than eight.
#[inline]
fn short_word(text: &[u8], start: usize, length: usize) -> Option<u64> {
    if length.wrapping_sub(1) >= 8 {
        return None;
    }
    // Eight bytes are read whatever the length; only at the very end of the text there may be fewer.
    let word = match text.get(start..start + 8).and_then(<[u8]>::first_chunk) {
        Some(&chunk) => u64::from_le_bytes(chunk),
        None => {
            let mut chunk = [0; 8];
            chunk[..length].copy_from_slice(&text[start..start + length]);
            u64::from_le_bytes(chunk)
        }
    };
    Some(word & u64::MAX >> (64 - 8 * length))
}

/// The slot of [`Resolver::recent`] for a short name.
#[inline]
fn recent_slot(word: u64) -> usize {
    // Fibonacci hashing: the top bits of the product depend on all bits of the word.
    (word.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 60) as usize % RECENT
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
        text: module.whole_text().as_bytes(),
        body,
        globals,
        scopes: Scopes {
            references: vec![Reference::None; body.operands.len()],
            // Most registers are mentioned at least three times.
            registers: Vec::with_capacity(body.operands.len() / 4),
            ..Scopes::default()
        },
        // Those of the body, and a few parameters.
        names: DenseMap::with_capacity(body.declarators.len() + 8),
        bindings: Vec::with_capacity(8),
        slots: Vec::with_capacity(body.operands.len()),
        most_slots: 1024 + DENSE_FACTOR * body.operands.len(),
        sparse_slots: DenseMap::new(),
        undo: Vec::new(),
        marks: Vec::new(),
        scope: 0,
        known: KnownNames::with_room(body.operands.len()),
        recent: [(0, NO_RANGE); RECENT],
        longest_range: 0,
        numbered: Numbered::new(),
        contested: false,
        statement: 0,
        errors: Vec::new(),
    };
    let labels = resolver.collect_labels();
    resolver.run(function, &labels);
    (resolver.scopes, resolver.errors)
}

/// The labels of each scope, as lists through all labels.
struct LabelLists {
    /// First label of each scope, `u32::MAX` for none.
    first: Vec<u32>,
    /// The next label of the same scope.
    next: Vec<u32>,
}

impl<'module> Resolver<'module> {
    /// First walk: scopes and labels, since labels may be used before they appear.
    fn collect_labels(&mut self) -> LabelLists {
        let body = self.body;
        self.scopes.parents.push(0);
        let mut scope = 0;
        for (index, statement) in body.statements.iter().enumerate() {
            match *statement {
                Statement::ScopeOpen(_) => {
                    let inner = self.scopes.parents.len() as u32;
                    self.scopes.parents.push(scope);
                    scope = inner;
                }
                Statement::ScopeClose(_) => scope = self.scopes.parents[scope as usize],
                Statement::Label(name) => {
                    self.scopes.labels.push(Label {
                        name,
                        statement: index as u32,
                        scope,
                        table: self.table_behind(index),
                        is_mentioned: false,
                    });
                }
                _ => {}
            }
        }
        let mut lists = LabelLists {
            first: vec![u32::MAX; self.scopes.parents.len()],
            next: vec![u32::MAX; self.scopes.labels.len()],
        };
        for (index, label) in self.scopes.labels.iter().enumerate().rev() {
            let first = &mut lists.first[label.scope as usize];
            lists.next[index] = std::mem::replace(first, index as u32);
        }
        lists
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

    fn run(&mut self, function: &'module Function, labels: &LabelLists) {
        let (module, body) = (self.module, self.body);
        let top = &module.top;
        self.enter_labels(labels);
        for list in [&function.returns, &function.parameters]
            .into_iter()
            .flatten()
        {
            for index in list.clone() {
                self.declare(top, &top.declarations[index as usize], index, true);
            }
        }
        let mut references = std::mem::take(&mut self.scopes.references);
        let mut opened = 0;
        let mut label = 0;
        for (index, statement) in body.statements.iter().enumerate() {
            self.statement = index as u32;
            match *statement {
                Statement::Instruction(instruction) => {
                    let nodes = instruction.nodes();
                    let operands = &body.operands[nodes.clone()];
                    for (operand, place) in operands.iter().zip(&mut references[nodes.clone()]) {
                        if operand.kind == OperandKind::Name {
                            *place = self.resolve_name(operand.text, &instruction);
                        }
                    }
                    if instruction.guard != Guard::None {
                        self.check_guard(operands[0].text, references[nodes.start]);
                    }
                    // Of what is no branch the first letter says so, as a rule.
                    if self.text.get(instruction.mnemonic.start()) == Some(&b'b') {
                        self.check_branch(&instruction, &references[nodes]);
                    }
                }
                Statement::Declaration(index) => {
                    self.declare(body, &body.declarations[index as usize], index, false);
                }
                Statement::ScopeOpen(_) => {
                    opened += 1;
                    self.marks.push(self.undo.len());
                    self.scope = opened;
                    self.enter_labels(labels);
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
        self.scopes.references = references;
    }

    /// A guard must be a predicate register.
    fn check_guard(&mut self, name: Text, reference: Reference) {
        let is_predicate = match reference {
            Reference::Register(index) => {
                let register = &self.scopes.registers[index as usize];
                register.scalar_type == Some(ScalarType::Pred)
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
    fn check_branch(&mut self, instruction: &Instruction, references: &[Reference]) {
        let wants_list = match self.text[instruction.mnemonic.span().range()] {
            [b'b', b'r', b'a'] | [b'b', b'r', b'a', b'.', ..] => false,
            [b'b', b'r', b'x'] | [b'b', b'r', b'x', b'.', ..] => true,
            _ => return,
        };
        let operands = self.body.operands(instruction);
        let Some(target) = operands.get(usize::from(wants_list)) else {
            return;
        };
        let guards = references.len() - operands.len();
        let reference = references[guards + usize::from(wants_list)];
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
            match self.meanings(text).label {
                Some(target) => targets.push(target),
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

    /// Enters the labels of code of the scope that has just been opened.
    fn enter_labels(&mut self, labels: &LabelLists) {
        let mut label = labels.first[self.scope as usize];
        while label != u32::MAX {
            if self.scopes.labels[label as usize].table.is_none() {
                self.enter_label(label);
            }
            label = labels.next[label as usize];
        }
    }

    /// What a name means, as far as it does.
    fn meanings(&self, name: &str) -> Meanings {
        self.names.get(&name).copied().unwrap_or_default()
    }

    /// Keeps what a closing brace must bring back.
    fn keep(&mut self, name: &'module str, undo: Undo) {
        if !self.marks.is_empty() {
            self.undo.push((name, undo));
        }
    }

    fn enter_label(&mut self, label: u32) {
        let name = self.scopes.labels[label as usize].name;
        let text = self.module.text(name);
        if let Some((length, _)) = split_number(text.as_bytes()) {
            let prefix = &text[..length];
            self.contested |=
                self.numbered.insert(prefix, None) && self.meanings(prefix).range.is_some();
        }
        self.known.forget(text);
        let earlier = self.names.get_or_default(text).label.replace(label);
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
        self.keep(text, Undo::Label(earlier));
    }

    /// Binds the name of a range, or unbinds it.
    fn bind_range(&mut self, name: &'module str, binding: Option<u32>) -> Option<u32> {
        self.recent = [(0, NO_RANGE); RECENT];
        self.known.forget_all();
        self.longest_range = self.longest_range.max(name.len());
        std::mem::replace(&mut self.names.get_or_default(name).range, binding)
    }

    fn leave_scope(&mut self) {
        let mark = self.marks.pop().expect("the parser balances scopes");
        while self.undo.len() > mark
            && let Some((name, undo)) = self.undo.pop()
        {
            self.known.forget(name);
            match undo {
                Undo::Range(old) => {
                    self.bind_range(name, old);
                }
                Undo::Single(old) => self.names.get_or_default(name).single = old,
                Undo::Label(old) => self.names.get_or_default(name).label = old,
            }
        }
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
        let scalar_type = if is_register {
            let element = self.module.text(declaration.element);
            element.strip_prefix('.').and_then(ScalarType::from_text)
        } else {
            None
        };
        for at in declaration.declarators.clone() {
            let declarator = &owner.declarators[at as usize];
            let name = declarator.name;
            let text = self.module.text(name);
            self.scopes.has_dotted_registers |= is_register && text.as_bytes().contains(&b'.');
            if let Some(count) = declarator.range {
                let binding = RangeBinding {
                    hidden: None,
                    declaration: index,
                    declarator: at,
                    scope: self.scope,
                    count,
                    storage: declaration.storage,
                    in_header,
                    vector: declaration.vector,
                    element: declaration.element,
                    scalar_type,
                    first_slot: NO_SLOTS,
                };
                self.declare_range(name, text, binding);
                continue;
            }
            let single = if is_register {
                self.scopes.registers.push(Register {
                    name,
                    element: declaration.element,
                    scalar_type,
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
            self.known.forget(text);
            let meanings = self.names.get_or_default(text);
            let earlier = *meanings;
            meanings.single = Some(single);
            self.check_duplicate_single(name, text, earlier);
            self.keep(text, Undo::Single(earlier.single));
        }
    }

    fn declare_range(&mut self, name: Text, text: &'module str, binding: RangeBinding) {
        let count = binding.count;
        self.bindings.push(binding);
        let index = self.bindings.len() as u32 - 1;
        let earlier = self.bind_range(text, Some(index));
        self.bindings[index as usize].hidden =
            earlier.and_then(|earlier| self.hidden(earlier, count));
        let in_this_scope = |&earlier: &u32| self.bindings[earlier as usize].scope == self.scope;
        let is_numbered = self.numbered.insert_range(text);
        if let Some(earlier) = earlier.filter(in_this_scope) {
            self.duplicate(name, self.range_name(earlier));
        } else if is_numbered
            && let Some(&(number, single)) = self.numbered.smallest.get(&(text, self.scope))
            && number < count
        {
            let again = self.module.text(single);
            self.duplicate_at(again, name, single);
        }
        self.contested |= is_numbered && self.numbered.prefixes.contains_key(&text);
        self.keep(text, Undo::Range(earlier));
    }

    /// The name a range was declared under.
    fn range_name(&self, binding: u32) -> Text {
        let binding = &self.bindings[binding as usize];
        let owner = if binding.in_header {
            &self.module.top
        } else {
            self.body
        };
        owner.declarators[binding.declarator as usize].name
    }

    /// A name must be new to its scope: to single names and labels, where `earlier` was under that name, and to ranges.
    fn check_duplicate_single(&mut self, name: Text, text: &'module str, earlier: Meanings) {
        if let Some(single) = earlier.single
            && let (scope, first) = self.place(single)
            && scope == self.scope
        {
            self.duplicate(name, first);
        }
        if let Some(label) = earlier.label
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
        if let Some((length, number)) = split_number(text.as_bytes()) {
            let prefix = &text[..length];
            let declared = NumberedName {
                scope: self.scope,
                number,
                name,
            };
            if self.numbered.insert(prefix, Some(declared))
                && let Some(index) = self.meanings(prefix).range
            {
                self.contested = true;
                let range = &self.bindings[index as usize];
                if range.scope == self.scope && number < range.count {
                    self.duplicate(name, self.range_name(index));
                }
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
}
