//! The instruction table, one file per group of chapters of the PTX manual.
//!
//! A row gives an opcode its names, the modifier categories and words it accepts, and its operand forms. A form is chosen
//! by the number of operands; where two forms have equally many, a requirement tells them apart. The cache policy that
//! follows `.L2::cache_hint` is not part of a form: [`crate::Mnemonic`] appends it to every opcode that carries the
//! modifier. Parts are written in the usual order ([`crate::part`]) but for those that a row puts first.

mod arithmetic;
mod asynchronous;
mod control;
mod index;
mod logic;
mod matrix;
mod memory;
mod synchronization;
mod tensor_core;
mod texture;
mod video;

use crate::modifier::{Accepts, Flag};
use crate::opcode::Opcode;
use crate::operand::{Operand, Role, TypeRule};
use crate::part::{self, Part};
use crate::scalar_type::ScalarType;
use crate::space::Space;

pub(crate) use index::{find, row_of};

/// What a form needs besides its number of operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Requirement {
    Nothing,
    Word(&'static str),
    NoWord(&'static str),
}

/// One operand list of an opcode.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Form {
    pub(crate) requires: Requirement,
    pub(crate) operands: &'static [Operand],
}

/// One row of the table.
#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) opcode: Opcode,
    /// Spellings of the fixed first words; the first is the opcode's text where they agree.
    pub(crate) names: &'static [&'static str],
    pub(crate) accepts: Accepts,
    /// Further words the opcode accepts.
    pub(crate) words: &'static [&'static str],
    pub(crate) forms: &'static [Form],
    /// The space of the access when none is named.
    pub(crate) default_space: Option<Space>,
    /// The parts it accepts, in the order in which they are written.
    order: [Part; MAXIMUM_PARTS],
    part_count: usize,
}

/// The most parts a row accepts.
const MAXIMUM_PARTS: usize = 16;

impl Entry {
    pub(crate) const fn accepts_types(&self) -> bool {
        self.accepts.categories & Accepts::TYPE.categories != 0
    }

    const fn new(
        opcode: Opcode,
        names: &'static [&'static str],
        accepts: Accepts,
        forms: &'static [Form],
    ) -> Entry {
        Entry {
            opcode,
            names,
            accepts,
            words: &[],
            forms,
            default_space: None,
            order: [Part::Type; MAXIMUM_PARTS],
            part_count: 0,
        }
        .led_by(&[])
    }

    /// Writes these parts first, where it accepts them, and the others in the usual order.
    const fn led_by(mut self, first: &[Part]) -> Entry {
        self.part_count = 0;
        let mut index = 0;
        while index < first.len() + part::USUAL.len() {
            let part = if index < first.len() {
                first[index]
            } else {
                part::USUAL[index - first.len()]
            };
            if self.accepts.takes(part) && !self.has_part(part) {
                self.order[self.part_count] = part;
                self.part_count += 1;
            }
            index += 1;
        }
        self
    }

    const fn has_part(&self, part: Part) -> bool {
        let mut index = 0;
        while index < self.part_count {
            if self.order[index].code() == part.code() {
                return true;
            }
            index += 1;
        }
        false
    }

    /// The parts it accepts, in the order in which they are written.
    #[inline]
    pub(crate) fn parts(&self) -> &[Part] {
        &self.order[..self.part_count]
    }

    const fn words(mut self, words: &'static [&'static str]) -> Entry {
        self.words = words;
        self
    }

    const fn in_space(mut self, space: Space) -> Entry {
        self.default_space = Some(space);
        self
    }
}

/// The names of all rows.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    let rows = GROUPS.into_iter().flatten();
    rows.flat_map(|entry| entry.names.iter().copied())
}

/// The words that rows list; some more than once.
pub(crate) fn listed_words() -> impl Iterator<Item = &'static str> {
    let rows = GROUPS.into_iter().flatten();
    rows.flat_map(|entry| entry.words.iter().copied())
}

/// Whether the name of an instruction in the table starts with this word: `cp` does, and `tcgen05`.
pub(crate) fn is_opcode_word(word: &str) -> bool {
    names().any(|name| name.split('.').next() == Some(word))
}

/// A form chosen by its length alone.
const fn form(operands: &'static [Operand]) -> Form {
    Form {
        requires: Requirement::Nothing,
        operands,
    }
}

const fn form_if(requires: Requirement, operands: &'static [Operand]) -> Form {
    Form { requires, operands }
}

const fn operand(role: Role, type_rule: TypeRule) -> Operand {
    Operand { role, type_rule }
}

const fn fixed_define(scalar_type: ScalarType) -> Operand {
    operand(Role::Define, TypeRule::Fixed(scalar_type))
}

const fn fixed_use(scalar_type: ScalarType) -> Operand {
    operand(Role::Use, TypeRule::Fixed(scalar_type))
}

// The operands of the forms, named for reading the rows beside the manual: `D…` is written, `U…` is read.
const D: Operand = operand(Role::Define, TypeRule::Nth(0));
const U: Operand = operand(Role::Use, TypeRule::Nth(0));
const U_SECOND: Operand = operand(Role::Use, TypeRule::Nth(1));
const U_THIRD: Operand = operand(Role::Use, TypeRule::Nth(2));
const U_MIXED: Operand = operand(Role::Use, TypeRule::NthOrFirst(1));
const D_WIDE: Operand = operand(Role::Define, TypeRule::Wide);
const U_WIDE: Operand = operand(Role::Use, TypeRule::Wide);
const U_ANY: Operand = operand(Role::Use, TypeRule::Undetermined);
const D_PRED: Operand = fixed_define(ScalarType::Pred);
const U_PRED: Operand = fixed_use(ScalarType::Pred);
const D_32: Operand = fixed_define(ScalarType::B32);
const U_32: Operand = fixed_use(ScalarType::B32);
const D_U32: Operand = fixed_define(ScalarType::U32);
const U_U32: Operand = fixed_use(ScalarType::U32);
const D_64: Operand = fixed_define(ScalarType::B64);
const U_64: Operand = fixed_use(ScalarType::B64);
const IMMEDIATE: Operand = operand(Role::Constant, TypeRule::Undetermined);

const fn address(read: bool, write: bool) -> Operand {
    operand(Role::Address { read, write }, TypeRule::Undetermined)
}

const READ: Operand = address(true, false);
const WRITE: Operand = address(false, true);
const READ_WRITE: Operand = address(true, true);
const ADDRESS: Operand = address(false, false);

// Modifier sets that several rows share.
const TYPE: Accepts = Accepts::TYPE;
const SPACE: Accepts = Accepts::SPACE;
const FTZ: Accepts = Accepts::flag(Flag::FlushToZero);
const SATURATE: Accepts = Accepts::flag(Flag::Saturate);
const RELU: Accepts = Accepts::flag(Flag::Relu);
const CARRY: Accepts = Accepts::flag(Flag::CarryOut);
const CACHE_HINT: Accepts = Accepts::flag(Flag::CacheHint);
const NO_FTZ: Accepts = Accepts::flag(Flag::NoFlushToZero);
const SYNC: Accepts = Accepts::flag(Flag::Synchronized);
const ALIGNED: Accepts = Accepts::flag(Flag::Aligned);
const SYNC_ALIGNED: Accepts = SYNC.and(ALIGNED);
const MEMORY_ORDER: Accepts = Accepts::SEMANTICS.and(Accepts::SCOPE);

static GROUPS: [&[Entry]; 10] = [
    arithmetic::ENTRIES,
    logic::ENTRIES,
    memory::ENTRIES,
    asynchronous::ENTRIES,
    texture::ENTRIES,
    control::ENTRIES,
    synchronization::ENTRIES,
    matrix::ENTRIES,
    tensor_core::ENTRIES,
    video::ENTRIES,
];

#[cfg(test)]
mod tests {
    use super::index::MAXIMUM_NAME_WORDS;
    use super::*;

    #[test]
    fn names_are_unique_and_short() {
        let mut seen = std::collections::BTreeSet::new();
        for entry in GROUPS.into_iter().flatten() {
            for name in entry.names {
                assert!(seen.insert(*name), "{name} appears twice");
                assert!(name.split('.').count() <= MAXIMUM_NAME_WORDS, "{name}");
            }
        }
    }

    #[test]
    fn every_opcode_has_a_row() {
        for &opcode in Opcode::ALL {
            let rows = GROUPS.into_iter().flatten();
            let found = rows.filter(|entry| entry.opcode == opcode).count() > 0;
            assert_eq!(found, opcode != Opcode::Unknown, "{opcode}");
        }
    }

    #[test]
    fn every_known_opcode_reads_back_from_its_text() {
        for &opcode in Opcode::ALL {
            if opcode != Opcode::Unknown {
                let (entry, _) = find(opcode.text()).expect("in the table");
                assert_eq!(entry.opcode, opcode);
            }
        }
    }

    #[test]
    fn the_longest_name_wins() {
        let opcode = |text| find(text).map(|(entry, rest)| (entry.opcode, rest));
        assert_eq!(
            opcode("cp.async.bulk.tensor.2d"),
            Some((Opcode::CpAsyncBulkTensor, "2d"))
        );
        assert_eq!(
            opcode("cp.async.ca.shared"),
            Some((Opcode::CpAsync, "ca.shared"))
        );
        assert_eq!(opcode("st.async"), Some((Opcode::StAsync, "")));
        assert_eq!(opcode("star.async"), None);
    }
}
