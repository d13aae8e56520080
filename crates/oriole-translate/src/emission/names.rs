//! Which names are surely right where they are written.
//!
//! No name means anything else than it should if these hold: inner scopes declare no ranges, no names that look like those compilers give to registers and labels of the
//! function's own scope (`%r1`, `$L__BB0_2`), and no labels of blocks; what the function's own scope declares comes before
//! all instructions; and every name that is not where it was, as it was, belongs to the function's own scope and looks so.
//! Most functions are like that, and their names need not be resolved again.

use super::Emitter;
use oriole_ir::Register;
use oriole_syntax::tree::Text;

impl Emitter<'_> {
    /// Looks at a declaration, which has just been copied.
    pub(super) fn note_declaration(&mut self, declaration: u32) {
        if self.depth == 0 {
            self.is_doubtful |= !self.body.operands.is_empty();
            return;
        }
        let declaration = &self.original.declarations[declaration as usize];
        self.is_doubtful |= self
            .original
            .declarators(declaration)
            .iter()
            .any(|declarator| declarator.range.is_some() || self.is_distinct(declarator.name));
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
            let own = self.scopes.registers.get(register.index());
            self.is_doubtful = own.is_some_and(|own| own.scope != 0 || !self.is_distinct(own.name));
        }
    }

    /// Looks at a label that is about to be written here.
    pub(super) fn note_label(&mut self) {
        self.is_doubtful |= self.depth > 0;
    }

    /// Looks at a branch to a label from here.
    pub(super) fn note_branch(&mut self, label: Text) {
        if self.depth > 0 && !self.is_doubtful {
            self.is_doubtful = !self.is_distinct(label);
        }
    }
}
