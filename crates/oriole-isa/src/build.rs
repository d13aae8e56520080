//! Mnemonics made of typed parts: the only way to one that was not read.
//!
//! ```
//! use oriole_isa::{Comparison, Flag, Mnemonic, MulMode, Opcode, ScalarType, build};
//!
//! assert_eq!(build::mul(MulMode::Wide, ScalarType::S32).as_str(), "mul.wide.s32");
//! let compare = Mnemonic::build(Opcode::Setp)
//!     .scalar_type(ScalarType::F32)
//!     .comparison(Comparison::Less)
//!     .flag(Flag::FlushToZero);
//! assert_eq!(compare.text().expect("in the table").as_str(), "setp.lt.ftz.f32");
//! assert!(Mnemonic::build(Opcode::Add).comparison(Comparison::Less).text().is_none());
//! ```
//!
//! A [`Builder`] writes its parts in the order of the manual (`part.rs`), whatever the order in which they were given. What
//! is written decodes to these parts again: opcodes that do not accept one of them have no such mnemonic. Words that the table
//! only lists, as `.row` of `mma`, are no parts, so nothing builds a mnemonic with them.
//!
//! [`Mnemonic::with_type`] and its like change one part of a mnemonic that was read. All others stay as they were written.

use crate::mnemonic::{Decoder, MAXIMUM_TYPES, Mnemonic};
use crate::modifier::{BooleanOperation, Comparison, Flag, Modifiers, MulMode, Rounding};
use crate::opcode::Opcode;
use crate::part::Part;
use crate::scalar_type::ScalarType;
use crate::space::Space;
use crate::table;
use oriole_collections::SmallVec;

/// The text of a mnemonic that was made, not read.
#[derive(Clone, PartialEq, Eq)]
pub struct MnemonicText {
    /// UTF-8. As a rule it fits here: building one takes no memory.
    bytes: SmallVec<[u8; 32]>,
}

impl MnemonicText {
    fn new(name: &str) -> MnemonicText {
        MnemonicText {
            bytes: SmallVec::from_slice(name.as_bytes()),
        }
    }

    /// Appends a word and the dot before it.
    fn push(&mut self, word: &str) {
        self.bytes.push(b'.');
        self.bytes.extend_from_slice(word.as_bytes());
    }

    /// The text.
    #[inline]
    pub fn as_str(&self) -> &str {
        std::str::from_utf8(&self.bytes).expect("words are text")
    }

    /// The mnemonic, decoded.
    pub fn decode(&self) -> Mnemonic {
        Mnemonic::parse(self.as_str())
    }
}

impl std::fmt::Debug for MnemonicText {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "MnemonicText({})", self.as_str())
    }
}

/// The parts of a mnemonic that is to be made; [`Mnemonic::build`] begins one.
#[derive(Clone, Copy, Debug)]
pub struct Builder {
    opcode: Opcode,
    modifiers: Modifiers,
    types: [ScalarType; MAXIMUM_TYPES],
    type_count: usize,
}

impl Builder {
    fn new(opcode: Opcode) -> Builder {
        Builder {
            opcode,
            modifiers: Modifiers::default(),
            types: [ScalarType::B32; MAXIMUM_TYPES],
            type_count: 0,
        }
    }

    /// Adds a type, behind those that were added before.
    ///
    /// # Panics
    /// If there are more than six.
    pub fn scalar_type(mut self, scalar_type: ScalarType) -> Builder {
        self.types[self.type_count] = scalar_type;
        self.type_count += 1;
        self
    }

    /// Takes all modifiers at once, in place of those there are.
    pub fn modifiers(mut self, modifiers: Modifiers) -> Builder {
        self.modifiers = modifiers;
        self
    }

    /// Adds a modifier without a value.
    pub fn flag(mut self, flag: Flag) -> Builder {
        self.modifiers.set(flag);
        self
    }

    /// Says how to round.
    pub fn rounding(mut self, rounding: Rounding) -> Builder {
        self.modifiers.rounding = Some(rounding);
        self
    }

    /// Says which part of a product is kept.
    pub fn mul_mode(mut self, mode: MulMode) -> Builder {
        self.modifiers.mul_mode = Some(mode);
        self
    }

    /// Says what is compared.
    pub fn comparison(mut self, comparison: Comparison) -> Builder {
        self.modifiers.comparison = Some(comparison);
        self
    }

    /// Combines the result with a predicate.
    pub fn boolean(mut self, operation: BooleanOperation) -> Builder {
        self.modifiers.boolean = Some(operation);
        self
    }

    /// Names the state space.
    pub fn space(mut self, space: Space) -> Builder {
        self.modifiers.first_space = Some(space);
        self
    }

    /// The text; nothing if the opcode does not accept one of the parts.
    pub fn text(&self) -> Option<MnemonicText> {
        let entry = table::row_of(self.opcode)?;
        let mut text = MnemonicText::new(entry.names[0]);
        // What is written is taken out: what is left in the end has no place.
        let mut types = &self.types[..self.type_count];
        let mut left = self.modifiers;
        for &part in entry.parts() {
            match part {
                Part::Type => {
                    for scalar_type in std::mem::take(&mut types) {
                        text.push(scalar_type.text());
                    }
                }
                Part::Shape => {
                    if let Some(shape) = left.shape.take() {
                        text.push(&shape.to_string());
                    }
                }
                part => {
                    if let Some(word) = left.take(part, self.opcode) {
                        text.push(word);
                    }
                }
            }
        }
        (types.is_empty() && left == Modifiers::default()).then_some(text)
    }

    /// The text of a mnemonic that is known to be in the table.
    fn made(&self) -> MnemonicText {
        self.text()
            .expect("the table has this opcode with these parts")
    }
}

/// An instruction that has neither types nor modifiers: `bra`, `exit`.
///
/// # Panics
/// If the opcode is unknown.
pub fn bare(opcode: Opcode) -> MnemonicText {
    Builder::new(opcode).made()
}

/// An instruction that has one type and no modifiers: `add.s32`, `shl.b64`, `neg.s32`.
///
/// # Panics
/// If the opcode has no type.
pub fn typed(opcode: Opcode, scalar_type: ScalarType) -> MnemonicText {
    Builder::new(opcode).scalar_type(scalar_type).made()
}

/// A copy between registers.
pub fn mov(scalar_type: ScalarType) -> MnemonicText {
    typed(Opcode::Mov, scalar_type)
}

/// A copy of a register of a type, whose bits stay as they are: untyped, where there is such a type.
pub fn copy(scalar_type: ScalarType) -> MnemonicText {
    mov(scalar_type.as_bits().unwrap_or(scalar_type))
}

/// A choice between registers of a type, whose bits stay as they are: untyped, where there is such a type.
pub fn choice(scalar_type: ScalarType) -> MnemonicText {
    selp(scalar_type.as_bits().unwrap_or(scalar_type))
}

/// A choice by a predicate.
pub fn selp(scalar_type: ScalarType) -> MnemonicText {
    typed(Opcode::Selp, scalar_type)
}

/// A product of integers.
pub fn mul(mode: MulMode, scalar_type: ScalarType) -> MnemonicText {
    product(Opcode::Mul, mode, scalar_type)
}

/// A product of integers, and a sum.
pub fn mad(mode: MulMode, scalar_type: ScalarType) -> MnemonicText {
    product(Opcode::Mad, mode, scalar_type)
}

/// `mul` or `mad`.
///
/// # Panics
/// If the opcode has no such mode.
pub fn product(opcode: Opcode, mode: MulMode, scalar_type: ScalarType) -> MnemonicText {
    let builder = Builder::new(opcode).mul_mode(mode);
    builder.scalar_type(scalar_type).made()
}

/// A comparison into a predicate.
pub fn setp(comparison: Comparison, scalar_type: ScalarType) -> MnemonicText {
    let builder = Builder::new(Opcode::Setp).comparison(comparison);
    builder.scalar_type(scalar_type).made()
}

/// A conversion that neither rounds nor saturates.
pub fn cvt(to: ScalarType, from: ScalarType) -> MnemonicText {
    let builder = Builder::new(Opcode::Cvt).scalar_type(to);
    builder.scalar_type(from).made()
}

impl Mnemonic {
    /// Begins to make a mnemonic.
    pub fn build(opcode: Opcode) -> Builder {
        Builder::new(opcode)
    }

    /// This mnemonic with another type in place of one that it names; nothing if it names fewer or is opaque.
    pub fn with_type(&self, index: usize, scalar_type: ScalarType) -> Option<MnemonicText> {
        (index < self.types().len()).then_some(())?;
        self.with(Part::Type, index, Some(scalar_type.text()))
    }

    /// This mnemonic with this comparison; nothing if its opcode has none or it is opaque.
    pub fn with_comparison(&self, comparison: Comparison) -> Option<MnemonicText> {
        self.with(Part::Comparison, 0, Some(comparison.text()))
    }

    /// This mnemonic with this boolean operation; nothing if its opcode has none or it is opaque.
    pub fn with_boolean(&self, operation: BooleanOperation) -> Option<MnemonicText> {
        self.with(Part::Boolean, 0, Some(operation.text()))
    }

    /// This mnemonic with this state space, the first where it names two; nothing if its opcode has none, the space has no word,
    /// or the mnemonic is opaque.
    pub fn with_space(&self, space: Space) -> Option<MnemonicText> {
        let word = space.qualifier(self.opcode())?;
        self.with(Part::FirstSpace, 0, Some(word))
    }

    /// This mnemonic without a modifier, which it need not have; nothing if it has it twice or is opaque.
    pub fn without(&self, flag: Flag) -> Option<MnemonicText> {
        self.with(Part::Flag(flag), 0, None)
    }

    /// This mnemonic with another word, or none, for a part; of several words, for the one that is `index`th. If there is none, the
    /// word goes behind the last part that comes before it in the order of the manual.
    fn with(&self, part: Part, index: usize, word: Option<&str>) -> Option<MnemonicText> {
        if self.is_opaque() || self.text().ends_with('.') {
            return None;
        }
        let (entry, rest) = table::find(self.text())?;
        let rank = |part: Part| entry.parts().iter().position(|&other| other == part);
        let own_rank = rank(part);
        if own_rank.is_none() && word.is_some() {
            return None;
        }
        let text = self.text();
        let mut decoder = Decoder::new(entry);
        // Where the word of the part is, with the dot before it, and where it would go.
        let mut found = None;
        let mut place = text.len() - rest.len() - usize::from(!rest.is_empty());
        let mut start = place;
        let mut nth = 0;
        while start < text.len() {
            let word = text[start + 1..].split('.').next().unwrap_or_default();
            let end = start + 1 + word.len();
            match decoder.decode(word) {
                Some(own) if own == part => {
                    if nth == index {
                        found = Some(start..end);
                    }
                    nth += 1;
                }
                Some(other) if rank(other) < own_rank => place = end,
                _ => {}
            }
            start = end;
        }
        if word.is_none() && nth > 1 {
            return None;
        }
        let hole = found.unwrap_or(place..place);
        let mut made = MnemonicText::new(&text[..hole.start]);
        if let Some(word) = word {
            made.push(word);
        }
        made.bytes.extend_from_slice(&text.as_bytes()[hole.end..]);
        Some(made)
    }
}
