//! The decoded form of a complete dotted opcode such as `ld.global.nc.L1::no_allocate.v4.f32`.
//!
//! Decoding never fails. The longest prefix that the table knows gives the opcode; every further word must be a type, a
//! modifier of a category the opcode accepts, or a word the table lists for it. One word that is none of these makes the
//! mnemonic opaque: it has no operand roles and its effects are all effects, so that a future extension of a known opcode
//! cannot be misread.
//!
//! Producers differ in the order of modifiers (`.gpu.acq_rel` and `.acq_rel.gpu`); the decoded fields do not.

use crate::effects::{Effects, effects_of};
use crate::modifier::{Flag, Modifiers};
use crate::opcode::Opcode;
use crate::operand::{MAXIMUM_OPERANDS, Operand, Role, Roles};
use crate::part::Part;
use crate::scalar_type::ScalarType;
use crate::space::Space;
use crate::table::{self, Entry};

/// The most types a mnemonic names (`mma` with block scaling has five).
pub(crate) const MAXIMUM_TYPES: usize = 6;

/// A decoded mnemonic. About 100 bytes: intern one per distinct text.
#[derive(Clone)]
pub struct Mnemonic {
    text: Box<str>,
    entry: Option<&'static Entry>,
    /// That of the entry, which is asked for too often to look there.
    opcode: Opcode,
    modifiers: Modifiers,
    types: [ScalarType; MAXIMUM_TYPES],
    type_count: u8,
    listed_word: bool,
    unknown_modifier: bool,
    effects: Effects,
}

/// Decodes the words behind an opcode's own, in turn: what one means depends on those before it.
pub(crate) struct Decoder {
    entry: &'static Entry,
    modifiers: Modifiers,
    types: [ScalarType; MAXIMUM_TYPES],
    type_count: u8,
}

impl Decoder {
    pub(crate) fn new(entry: &'static Entry) -> Decoder {
        Decoder {
            entry,
            modifiers: Modifiers::default(),
            types: [ScalarType::B32; MAXIMUM_TYPES],
            type_count: 0,
        }
    }

    /// What the next word is; nothing if it is no part, be it listed in the table or unknown.
    pub(crate) fn decode(&mut self, word: &str) -> Option<Part> {
        if self.entry.accepts_types()
            && let Some(scalar_type) = ScalarType::from_text(word)
            && usize::from(self.type_count) < MAXIMUM_TYPES
        {
            self.types[usize::from(self.type_count)] = scalar_type;
            self.type_count += 1;
            return Some(Part::Type);
        }
        self.modifiers.decode(word, self.entry.accepts)
    }
}

impl Mnemonic {
    /// Decodes `text`. Never fails: what is not understood is [`Opcode::Unknown`] or opaque.
    pub fn parse(text: &str) -> Mnemonic {
        let mut mnemonic = Mnemonic {
            text: text.into(),
            entry: None,
            opcode: Opcode::Unknown,
            modifiers: Modifiers::default(),
            types: [ScalarType::B32; MAXIMUM_TYPES],
            type_count: 0,
            listed_word: false,
            unknown_modifier: false,
            effects: Effects::OPAQUE,
        };
        let Some((entry, rest)) = table::find(text) else {
            return mnemonic;
        };
        mnemonic.entry = Some(entry);
        mnemonic.opcode = entry.opcode;
        if !rest.is_empty() {
            let mut decoder = Decoder::new(entry);
            for word in rest.split('.') {
                if decoder.decode(word).is_none() {
                    let is_listed = entry.words.contains(&word);
                    mnemonic.listed_word |= is_listed;
                    mnemonic.unknown_modifier |= !is_listed;
                }
            }
            mnemonic.modifiers = decoder.modifiers;
            mnemonic.types = decoder.types;
            mnemonic.type_count = decoder.type_count;
        }
        mnemonic.effects = if mnemonic.is_opaque() {
            Effects::OPAQUE
        } else {
            effects_of(&mnemonic)
        };
        mnemonic
    }

    /// The text as given.
    #[inline]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// What the instruction does; [`Opcode::Unknown`] when the table has no such opcode.
    #[inline]
    pub fn opcode(&self) -> Opcode {
        self.opcode
    }

    /// The types named, in order of appearance.
    #[inline]
    pub fn types(&self) -> &[ScalarType] {
        &self.types[..usize::from(self.type_count)]
    }

    /// The first type named.
    #[inline]
    pub fn first_type(&self) -> Option<ScalarType> {
        self.types().first().copied()
    }

    /// The decoded modifiers.
    #[inline]
    pub fn modifiers(&self) -> &Modifiers {
        &self.modifiers
    }

    /// Whether a modifier without a value is present.
    #[inline]
    pub fn has(&self, flag: Flag) -> bool {
        self.modifiers.has(flag)
    }

    /// Whether the word (without its dot) is one of the mnemonic's words, the opcode's own included.
    pub fn has_modifier(&self, word: &str) -> bool {
        self.words().any(|own| own == word)
    }

    /// The dotted words in order, the opcode's own included.
    pub fn words(&self) -> impl Iterator<Item = &str> {
        self.text.split('.')
    }

    /// Whether it carries a word that the table lists for the opcode, and that [`Mnemonic::modifiers`] say nothing of.
    pub fn has_listed_word(&self) -> bool {
        self.listed_word
    }

    /// Whether a known opcode carries a word the table does not know for it.
    pub fn has_unknown_modifier(&self) -> bool {
        self.unknown_modifier
    }

    /// Whether nothing may be assumed: the opcode is unknown or has an unknown modifier.
    #[inline]
    pub fn is_opaque(&self) -> bool {
        self.entry.is_none() || self.unknown_modifier
    }

    /// The state space of the access: the one named, else generic for opcodes that address memory. For copies, the
    /// destination's; see [`Mnemonic::source_space`].
    #[inline]
    pub fn space(&self) -> Option<Space> {
        self.modifiers
            .first_space
            .or_else(|| self.entry.and_then(|entry| entry.default_space))
    }

    /// The destination's state space, where source and destination differ (copies) or only a destination exists.
    pub fn destination_space(&self) -> Option<Space> {
        self.space()
    }

    /// The state space copied from, for opcodes that name two.
    pub fn source_space(&self) -> Option<Space> {
        self.modifiers.second_space
    }

    /// Elements of a vector access: 1, 2, 4 or 8.
    #[inline]
    pub fn vector_width(&self) -> u32 {
        self.modifiers.vector.map_or(1, u32::from)
    }

    /// The roles of the operands of an instruction with `operand_count` top-level operands (guard excluded). `None`:
    /// the opcode is unknown or no form has that many; every register mentioned must then be left alone. Also `None`
    /// for `call`, whose operand list is a grammar of its own.
    pub fn operand_roles(&self, operand_count: usize) -> Option<Roles> {
        let (form, has_policy) = self.form(operand_count)?;
        let mut roles = Roles::new();
        for operand in form {
            roles.push(operand.role);
        }
        if has_policy {
            roles.push(Role::Use);
        }
        Some(roles)
    }

    /// The type of an operand where the form determines it; for a vector, of its elements. A register may be wider than
    /// this (`ld.u8` into a 32-bit register). Addresses have none.
    pub fn operand_type(&self, index: usize, operand_count: usize) -> Option<ScalarType> {
        let (form, has_policy) = self.form(operand_count)?;
        self.type_in(form, has_policy, index, operand_count)
    }

    /// The types of all operands: see [`Mnemonic::operand_type`].
    pub fn operand_types(
        &self,
        operand_count: usize,
    ) -> impl ExactSizeIterator<Item = Option<ScalarType>> + '_ {
        let form = self.form(operand_count);
        (0..operand_count).map(move |index| {
            let (form, has_policy) = form?;
            self.type_in(form, has_policy, index, operand_count)
        })
    }

    /// The type of an operand of a form.
    fn type_in(
        &self,
        form: &[Operand],
        has_policy: bool,
        index: usize,
        operand_count: usize,
    ) -> Option<ScalarType> {
        let mut index = index;
        if has_policy {
            // The byte mask of a bulk copy is the one operand that follows the policy.
            let policy = form.len() - usize::from(self.has_modifier("cp_mask"));
            if index == policy {
                return Some(ScalarType::B64);
            }
            index -= usize::from(index > policy && index < operand_count);
        }
        form.get(index)?
            .type_rule
            .resolve(self.types(), self.modifiers.mul_mode)
    }

    /// The form with that many operands, and whether a cache policy follows it.
    fn form(&self, operand_count: usize) -> Option<(&'static [Operand], bool)> {
        if self.is_opaque() || operand_count > MAXIMUM_OPERANDS {
            return None;
        }
        let has_policy = self.has(Flag::CacheHint);
        let length = operand_count.checked_sub(usize::from(has_policy))?;
        let form = self
            .entry?
            .forms
            .iter()
            .find(|form| form.operands.len() == length && self.satisfies(form.requires))?;
        Some((form.operands, has_policy))
    }

    fn satisfies(&self, requirement: table::Requirement) -> bool {
        use table::Requirement;
        match requirement {
            Requirement::Nothing => true,
            Requirement::Word(word) => self.has_modifier(word),
            Requirement::NoWord(word) => !self.has_modifier(word),
        }
    }

    /// The effects of executing the instruction.
    #[inline]
    pub fn effects(&self) -> Effects {
        self.effects
    }

    /// Whether the loaded value cannot change while the kernel runs: `.const`, `.nc`, and `.param` where the caller says
    /// that the address is a parameter of an entry function. A `.param` variable declared in the body to pass arguments
    /// and results of a call is not one, in an entry function either: calls write it.
    pub fn is_invariant_load(&self, of_entry_parameter: bool) -> bool {
        if self.is_opaque() || self.effects.volatile {
            return false;
        }
        match self.opcode() {
            Opcode::Ld => {
                self.has(Flag::NonCoherent)
                    || match self.space() {
                        Some(Space::Const | Space::ParamEntry) => true,
                        Some(Space::Param) => of_entry_parameter,
                        _ => false,
                    }
            }
            Opcode::Ldu => true,
            _ => false,
        }
    }

    /// Whether registers of some operand stay in flight after the instruction, until a wait.
    pub fn pins_registers(&self) -> bool {
        matches!(
            self.opcode(),
            Opcode::WgmmaMmaAsync
                | Opcode::WgmmaMmaAsyncSp
                | Opcode::Tcgen05Ld
                | Opcode::Tcgen05LdRed
                | Opcode::Tcgen05St
        ) || self.is_opaque()
    }

    /// Whether the registers of this operand stay in flight after the instruction: accumulators and the A fragment of
    /// `wgmma.mma_async`, destinations of `tcgen05.ld`, the source of `tcgen05.st`.
    pub fn pins_operand(&self, index: usize, operand_count: usize) -> bool {
        match self.opcode() {
            _ if self.is_opaque() => true,
            Opcode::WgmmaMmaAsync | Opcode::WgmmaMmaAsyncSp => index < 2,
            Opcode::Tcgen05Ld => index == 0,
            Opcode::Tcgen05LdRed => index < 2,
            Opcode::Tcgen05St => index + 1 == operand_count,
            _ => false,
        }
    }
}

impl PartialEq for Mnemonic {
    fn eq(&self, other: &Mnemonic) -> bool {
        self.text == other.text
    }
}

impl Eq for Mnemonic {}

impl std::hash::Hash for Mnemonic {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.text.hash(state);
    }
}

impl std::fmt::Debug for Mnemonic {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "Mnemonic({})", self.text)
    }
}

impl std::fmt::Display for Mnemonic {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::modifier::{Scope, Semantics};

    #[test]
    fn order_of_modifiers_does_not_matter() {
        let one = Mnemonic::parse("atom.global.gpu.acq_rel.add.f32");
        let other = Mnemonic::parse("atom.acq_rel.gpu.global.add.f32");
        assert_eq!(one.modifiers(), other.modifiers());
        assert_eq!(one.modifiers().scope, Some(Scope::Device));
        assert_eq!(one.modifiers().semantics, Some(Semantics::AcquireRelease));
        assert!(!one.is_opaque());
    }

    #[test]
    fn unknown_words_make_a_known_opcode_opaque() {
        let future = Mnemonic::parse("add.sideways.s32");
        assert_eq!(future.opcode(), Opcode::Add);
        assert!(future.has_unknown_modifier());
        assert!(future.operand_roles(3).is_none());
        assert!(!future.effects().is_pure());
        let unknown = Mnemonic::parse("frobnicate.sync.b32");
        assert_eq!(unknown.opcode(), Opcode::Unknown);
        assert!(unknown.is_opaque() && unknown.pins_registers());
        assert!(Mnemonic::parse("ld.global.unified.f32").has_listed_word());
        assert!(!Mnemonic::parse("ld.global.f32").has_listed_word());
    }

    #[test]
    fn odd_texts_are_survived() {
        for text in [
            "",
            ".",
            "..",
            "add",
            "add.",
            "add..s32",
            "ld.",
            "é.ü",
            "mma.sync.m",
        ] {
            let mnemonic = Mnemonic::parse(text);
            assert_eq!(mnemonic.text(), text);
            let _ = mnemonic.operand_roles(usize::MAX);
            let _ = mnemonic.operand_type(usize::MAX, usize::MAX);
        }
    }

    #[test]
    fn cache_policy_is_the_last_operand() {
        let load = Mnemonic::parse("ld.global.L2::cache_hint.v4.f32");
        assert!(load.operand_roles(2).is_none());
        let roles = load.operand_roles(3).expect("three operands");
        assert_eq!(roles[2], Role::Use);
        assert_eq!(load.operand_type(2, 3), Some(ScalarType::B64));
        assert_eq!(load.operand_type(0, 3), Some(ScalarType::F32));
        assert_eq!(load.operand_type(3, 3), None);
    }

    #[test]
    fn a_mnemonic_stays_small() {
        assert!(std::mem::size_of::<Mnemonic>() <= 112);
    }
}
