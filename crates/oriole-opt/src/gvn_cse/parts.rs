//! Part of a word in a register, in place of a load of it from memory.
//!
//! ```text
//! st.global.u32 [%rd1], %r1;                         st.global.u32 [%rd1], %r1;
//! ld.global.u8 %r2, [%rd1+1];              →         bfe.u32 %r2, %r1, 8, 8;
//! ```
//! Memory is little-endian: the byte at the lowest address is the low end of the word.

use oriole_collections::SmallVec;
use oriole_ir::{Editor, Function, Instruction, Operand, Value};
use oriole_isa::{Opcode, ScalarType, build};

/// How to take a part out of a word.
pub(super) struct Extraction {
    word: Value,
    /// Where the part starts, and how long it is, in bits.
    shift: u32,
    bits: u32,
    /// Whether its sign is extended.
    signed: bool,
    /// The width of the word, and of the register that gets the part.
    word_bits: u32,
    result_bits: u32,
}

/// How to get what a plain load reads out of a word that holds it.
pub(super) fn plan(
    function: &Function,
    load: Instruction,
    word: Value,
    shift: u32,
) -> Option<Extraction> {
    let access = function.access(load)?;
    let result = function.results(load).next()?;
    let [word_type, result_type] = [word, result].map(|it| function.values()[it].scalar_type);
    let plan = Extraction {
        word,
        shift,
        bits: access.element.bits(),
        signed: access.element.is_signed(),
        word_bits: word_type.bits(),
        result_bits: result_type.bits(),
    };
    let is_known = matches!(
        (plan.word_bits, plan.bits, plan.result_bits),
        (32, 8 | 16, 16 | 32) | (64, 32, 32)
    );
    let is_integer = |scalar_type: ScalarType| scalar_type.is_bits() || scalar_type.is_integer();
    (is_known && is_integer(word_type) && is_integer(result_type)).then_some(plan)
}

impl Extraction {
    /// Makes the load that. It keeps its result.
    pub fn apply(&self, editor: &mut Editor<'_>, load: Instruction) {
        let word = Operand::Value(self.word);
        if self.word_bits == 64 {
            let part = match self.shift {
                0 => word,
                _ => {
                    let amount = editor.integer(u64::from(self.shift), true);
                    let shr = build::typed(Opcode::Shr, ScalarType::U64);
                    insert(editor, load, &shr, &[word, amount], ScalarType::B64)
                }
            };
            let cvt = build::cvt(ScalarType::U32, ScalarType::U64);
            return rewrite(editor, load, &cvt, &[part]);
        }
        let (mnemonic, sources) = self.field(editor);
        let mut operands: SmallVec<[Operand; 3]> = SmallVec::from_slice(&[word]);
        operands.extend(sources);
        if self.result_bits == 32 {
            return rewrite(editor, load, &mnemonic, &operands);
        }
        let cvt = build::cvt(ScalarType::U16, ScalarType::U32);
        let part = match (self.shift, self.bits) {
            (0, 16) => word,
            _ => insert(editor, load, &mnemonic, &operands, ScalarType::B32),
        };
        rewrite(editor, load, &cvt, &[part]);
    }

    /// What takes the part out of a word of 32 bits, and its operands but for the word.
    fn field(&self, editor: &mut Editor<'_>) -> (build::MnemonicText, SmallVec<[Operand; 2]>) {
        let scalar_type = match self.signed {
            true => ScalarType::S32,
            false => ScalarType::U32,
        };
        let mut constant = |bits: u32| editor.integer(u64::from(bits), true);
        if self.shift + self.bits == 32 {
            let shr = build::typed(Opcode::Shr, scalar_type);
            (shr, SmallVec::from_slice(&[constant(self.shift)]))
        } else if self.shift == 0 && !self.signed {
            let and = build::typed(Opcode::And, ScalarType::B32);
            (and, SmallVec::from_slice(&[constant((1 << self.bits) - 1)]))
        } else {
            let bfe = build::typed(Opcode::Bfe, scalar_type);
            let operands = [constant(self.shift), constant(self.bits)];
            (bfe, SmallVec::from_slice(&operands))
        }
    }
}

fn with_result(sources: &[Operand]) -> SmallVec<[Operand; 4]> {
    let mut operands = SmallVec::from_slice(&[Operand::Result(0)]);
    operands.extend(sources.iter().copied());
    operands
}

fn insert(
    editor: &mut Editor<'_>,
    before: Instruction,
    mnemonic: &build::MnemonicText,
    sources: &[Operand],
    scalar_type: ScalarType,
) -> Operand {
    let operands = with_result(sources);
    let format = editor.plain_format(mnemonic, operands.len());
    let made = editor.insert_before(before, format, &operands, &[scalar_type]);
    editor.copy_line(before, made);
    let result = editor.function().results(made).next();
    Operand::Value(result.expect("it was given one result"))
}

fn rewrite(
    editor: &mut Editor<'_>,
    load: Instruction,
    mnemonic: &build::MnemonicText,
    sources: &[Operand],
) {
    let operands = with_result(sources);
    let format = editor.plain_format(mnemonic, operands.len());
    editor.rewrite(load, format, &operands);
}
