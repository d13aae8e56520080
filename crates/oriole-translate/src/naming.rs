//! Names for new registers and labels that collide with nothing.

use oriole_collections::StringSet;
use oriole_isa::ScalarType;
use oriole_syntax::tree::{Body, Module, Statement, Text};

/// Makes names no declaration of the module or function has.
pub(crate) struct Naming {
    taken: StringSet,
    next: u32,
}

impl Naming {
    /// Knows the names declared in the module and in one body.
    pub fn new(module: &Module, body: &Body) -> Naming {
        let mut naming = Naming {
            taken: StringSet::new(),
            next: 0,
        };
        for owner in [&module.top, body] {
            for declarator in &owner.declarators {
                naming.taken.insert(module.text(declarator.name));
            }
            for statement in &owner.statements {
                if let Statement::Label(name) = *statement {
                    naming.taken.insert(module.text(name));
                }
            }
        }
        for function in &module.functions {
            naming.taken.insert(module.text(function.name));
        }
        naming
    }

    /// A new name that starts with `stem`, added to the module's text.
    fn make(&mut self, module: &mut Module, stem: &str) -> Text {
        loop {
            let name = format!("{stem}{}", self.next);
            self.next += 1;
            // A declared range `%oriole_b32_<9>` would also claim the name.
            let range = name.trim_end_matches(|c: char| c.is_ascii_digit());
            if !self.taken.contains(&name) && !self.taken.contains(range) {
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
