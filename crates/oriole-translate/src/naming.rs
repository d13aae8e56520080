//! Names for new registers, variables and labels that collide with nothing.

use oriole_collections::StringSet;
use oriole_isa::ScalarType;
use oriole_syntax::scopes::Globals;
use oriole_syntax::tree::{Body, Module, Statement, Text};

/// What all names made here contain.
const MARK: &str = "oriole_";

/// Makes names no declaration of the module or function has. Most functions need none, so the names in use are collected
/// when the first new one is asked for.
pub(crate) struct Naming<'body> {
    body: &'body Body,
    globals: &'body Globals,
    taken: Option<StringSet>,
    next: u32,
}

/// The names declared in a body that could be made here.
fn names_in_use(module: &Module, body: &Body) -> StringSet {
    let mut taken = StringSet::new();
    let labels = body
        .statements
        .iter()
        .filter_map(|statement| match *statement {
            Statement::Label(name) => Some(name),
            _ => None,
        });
    let declared = body.declarators.iter().map(|declarator| declarator.name);
    for name in declared.chain(labels) {
        let name = module.text(name);
        if name.contains(MARK) {
            taken.insert(name);
        }
    }
    taken
}

impl<'body> Naming<'body> {
    /// For a function with this body.
    pub fn new(body: &'body Body, globals: &'body Globals) -> Naming<'body> {
        Naming {
            body,
            globals,
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
            let is_free = |name: &str| !taken.contains(name) && !self.globals.declares(name);
            if is_free(&name) && is_free(range) {
                return module.add_text(&name);
            }
        }
    }

    /// A name for a register.
    pub fn register(&mut self, module: &mut Module, scalar_type: ScalarType) -> Text {
        self.make(module, &format!("%{MARK}{}_", scalar_type.text()))
    }

    /// A name for a variable, made of another name.
    pub fn variable(&mut self, module: &mut Module, name: &str) -> Text {
        self.make(module, &format!("{name}_{MARK}"))
    }

    /// A name for a label.
    pub fn label(&mut self, module: &mut Module) -> Text {
        self.make(module, &format!("$L__{MARK}"))
    }
}
