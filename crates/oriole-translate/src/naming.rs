//! Names for new registers and labels that collide with nothing.

use oriole_collections::StringSet;
use oriole_isa::ScalarType;
use oriole_syntax::tree::{Body, Module, Statement, Text};

/// Makes names no declaration of the module or function has. Most functions need none, so the names in use are collected
/// when the first new one is asked for.
pub(crate) struct Naming<'body> {
    body: &'body Body,
    taken: Option<StringSet>,
    next: u32,
}

/// The names declared in the module and in one body.
fn names_in_use(module: &Module, body: &Body) -> StringSet {
    let mut taken = StringSet::new();
    for owner in [&module.top, body] {
        for declarator in &owner.declarators {
            taken.insert(module.text(declarator.name));
        }
        for statement in &owner.statements {
            if let Statement::Label(name) = *statement {
                taken.insert(module.text(name));
            }
        }
    }
    for function in &module.functions {
        taken.insert(module.text(function.name));
    }
    taken
}

impl<'body> Naming<'body> {
    /// For a function with this body.
    pub fn new(body: &'body Body) -> Naming<'body> {
        Naming {
            body,
            taken: None,
            next: 0,
        }
    }

    /// A new name that starts with `stem`, added to the module's text.
    fn make(&mut self, module: &mut Module, stem: &str) -> Text {
        let taken = self
            .taken
            .get_or_insert_with(|| names_in_use(module, self.body));
        loop {
            let name = format!("{stem}{}", self.next);
            self.next += 1;
            // A declared range `%oriole_b32_<9>` would also claim the name.
            let range = name.trim_end_matches(|c: char| c.is_ascii_digit());
            if !taken.contains(&name) && !taken.contains(range) {
                return module.add_text(&name);
            }
        }
    }

    /// A name for a register.
    pub fn register(&mut self, module: &mut Module, scalar_type: ScalarType) -> Text {
        self.make(module, &format!("%oriole_{}_", scalar_type.text()))
    }

    /// A name for a label.
    pub fn label(&mut self, module: &mut Module) -> Text {
        self.make(module, "$L__oriole_")
    }
}
