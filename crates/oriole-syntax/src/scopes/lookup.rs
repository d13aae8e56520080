//! What a name means where it stands: single names, and those of ranges, which are declared many at a time.

use super::numbered::{split_number, split_word};
use super::{
    Hidden, Label, NO_RANGE, NO_SLOTS, Reference, Resolver, Variable, recent_slot, short_word,
};
use crate::tree::{Instruction, Storage, Text};
use oriole_diagnostics::Diagnostic;
use oriole_isa::SpecialRegister;

impl<'module> Resolver<'module> {
    #[inline(always)]
    pub(super) fn resolve_name(&mut self, name: Text, instruction: &Instruction) -> Reference {
        if self.contested {
            return self.resolve_rare(name, None, instruction);
        }
        let word = short_word(self.text, name.start(), name.len());
        if let Some(known) = word.and_then(|word| self.known.get(word)) {
            return known;
        }
        self.resolve_new(name, word, instruction)
    }

    /// What a name means that is not known, given the number it has if it is short.
    #[inline(never)]
    fn resolve_new(
        &mut self,
        name: Text,
        word: Option<u64>,
        instruction: &Instruction,
    ) -> Reference {
        let Some(reference) = self.ranged(name, word) else {
            return self.resolve_rare(name, word, instruction);
        };
        if let Some(word) = word {
            self.known.insert(word, reference);
        }
        reference
    }

    /// What a name means that no range declares, or whatever name it is where names are contested. It will be known by `word`, if
    /// it can.
    #[inline(never)]
    fn resolve_rare(
        &mut self,
        name: Text,
        word: Option<u64>,
        instruction: &Instruction,
    ) -> Reference {
        let text = self.module.text(name);
        if let Some(reference) = self.declared(name, text) {
            if let Reference::Label(label) = reference {
                self.scopes.labels[label as usize].is_mentioned = true;
            } else if let Some(word) = word
                // A label hides what it means from where it stands.
                && self.meanings(text).label.is_none()
            {
                self.known.insert(word, reference);
            }
            return reference;
        }
        if text == "WARP_SZ"
            || (text.starts_with('%') && SpecialRegister::from_text(text).is_some())
        {
            if let Some(word) = word {
                self.known.insert(word, Reference::Special);
            }
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
            self.scopes.has_dotted_registers = true;
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
    pub(super) fn declared(&mut self, name: Text, text: &'module str) -> Option<Reference> {
        let meanings = self.meanings(text);
        let single = meanings.single.map(|single| (self.place(single).0, single));
        // With one scope there is nothing that could be hidden.
        if let Some((_, single)) = single
            && self.scopes.parents.len() == 1
            && !self.contested
        {
            return Some(single.reference());
        }
        // Unless names are contested, no range declares what is declared alone.
        let range = if self.contested {
            let (innermost, number) = self.range_and_number(name, None);
            let range = self.range_with(innermost, number);
            range.map(|range| self.bindings[range as usize].scope)
        } else {
            None
        };
        let value_scope = single.map(|(scope, _)| scope).max(range);
        if let Some(label) = meanings.label {
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
                Some(single.reference())
            }
            _ => self.ranged(name, None),
        }
    }

    /// The register or variable of this name if a range declares it. Everything but the most common way is kept out of line.
    #[inline(always)]
    fn ranged(&mut self, name: Text, word: Option<u64>) -> Option<Reference> {
        let (mut index, number) = self.range_and_number(name, word);
        let mut binding = self.bindings.get(index as usize)?;
        if number >= binding.count {
            index = self.range_with(index, number)?;
            binding = &self.bindings[index as usize];
        }
        let is_register = binding.storage == Storage::Register;
        let place = binding.first_slot as usize + number as usize;
        let slot = match self.slots.get_mut(place) {
            Some(slot) if *slot != u32::MAX => *slot,
            Some(slot) if is_register => {
                *slot = self.scopes.registers.len() as u32;
                self.scopes.registers.push(binding.register(name));
                *slot
            }
            _ => self.enter_ranged(name, index, number),
        };
        Some(if is_register {
            Reference::Register(slot)
        } else {
            Reference::Variable(slot)
        })
    }

    /// The visible range whose name a name begins with, [`NO_RANGE`] for none, and the number behind that. `word` is the name as a
    /// number, if it is short.
    #[inline(always)]
    fn range_and_number(&mut self, name: Text, word: Option<u64>) -> (u32, u32) {
        let split = match word {
            Some(word) => split_word(word, name.len()),
            None => split_number(&self.text[name.span().range()]),
        };
        let Some((length, number)) = split else {
            return (NO_RANGE, 0);
        };
        let prefix = match word {
            Some(word) => Some(word & u64::MAX >> (64 - 8 * length)),
            None => short_word(self.text, name.start(), length),
        };
        let Some(word) = prefix else {
            return (self.range_named(name, length), number);
        };
        let slot = recent_slot(word);
        let (recent, index) = self.recent[slot];
        if recent == word {
            return (index, number);
        }
        let index = self.range_named(name, length);
        self.recent[slot] = (word, index);
        (index, number)
    }

    /// The visible range with the name of the first `length` bytes, or [`NO_RANGE`].
    #[inline(never)]
    pub(super) fn range_named(&self, name: Text, length: usize) -> u32 {
        if length > self.longest_range {
            return NO_RANGE;
        }
        let range = self.meanings(&self.module.text(name)[..length]).range;
        range.unwrap_or(NO_RANGE)
    }

    /// The list of ranges larger than `count`, beginning with `innermost` or one that it hides.
    pub(super) fn hidden(&self, innermost: u32, count: u32) -> Option<Hidden> {
        let next = self.range_with(innermost, count)?;
        let hidden = |index: u32| self.bindings[index as usize].hidden;
        let length = |index: u32| hidden(index).map_or(0, |hidden| hidden.length);
        let jump = |index: u32| hidden(index).map_or(index, |hidden| hidden.far);
        // As in skew-binary numbers: two short cuts of the same length that follow each other make one.
        let (near, far) = (jump(next), jump(jump(next)));
        let joins = length(next) - length(near) == length(near) - length(far);
        Some(Hidden {
            next,
            far: if joins { far } else { next },
            length: length(next) + 1,
        })
    }

    /// The innermost range with this number, of one and those it hides; none for [`NO_RANGE`].
    #[inline(never)]
    pub(super) fn range_with(&self, innermost: u32, number: u32) -> Option<u32> {
        let has = |index: u32| number < self.bindings[index as usize].count;
        let mut index = innermost;
        self.bindings.get(index as usize)?;
        while !has(index) {
            let hidden = self.bindings[index as usize].hidden?;
            // Ranges further out are larger: if the far one is too small, so are all before it.
            index = if has(hidden.far) {
                hidden.next
            } else {
                hidden.far
            };
        }
        Some(index)
    }

    /// The register or variable of a range's number, which may be mentioned for the first time.
    #[inline(never)]
    pub(super) fn enter_ranged(&mut self, name: Text, index: u32, number: u32) -> u32 {
        let binding = &mut self.bindings[index as usize];
        let count = binding.count as usize;
        if binding.first_slot == NO_SLOTS && self.slots.len() + count <= self.most_slots {
            binding.first_slot = self.slots.len() as u32;
            self.slots.resize(self.slots.len() + count, u32::MAX);
        }
        let slot = if binding.first_slot == NO_SLOTS {
            self.sparse_slots
                .get_or_insert_with((index, number), || u32::MAX)
        } else {
            &mut self.slots[binding.first_slot as usize + number as usize]
        };
        if *slot != u32::MAX {
            return *slot;
        }
        if binding.storage == Storage::Register {
            *slot = self.scopes.registers.len() as u32;
            self.scopes.registers.push(binding.register(name));
        } else {
            *slot = self.scopes.variables.len() as u32;
            self.scopes.variables.push(Variable {
                name,
                declaration: binding.declaration,
                declarator: binding.declarator,
                scope: binding.scope,
                in_header: binding.in_header,
                storage: binding.storage,
            });
        }
        *slot
    }
}
