//! Whether two instructions give the same results: a hash to find candidates by, and the comparison that decides.
//!
//! Two instructions are the same if they have the same format (mnemonic, guard, operand shape: so the same opcode, types,
//! modifiers, state space, rounding and guard polarity) and the same operands: values by what they stand for, constants by
//! their bits, names by what they name. Integer operations that give the same for signed and unsigned types are the same in
//! both spellings, and the factors and summands of integer operations may be exchanged.
//!
//! What may take part at all is asked of [`kind_of`].

use crate::associative::mask;
use crate::fusion::is_contractible;
use oriole_ir::arithmetic::{Node, Operation};
use oriole_ir::{
    Definition, FormatData, Function, Instruction, Operand, SymbolKind, Traits, Use, Value,
};
use oriole_isa::{Opcode, SpaceSet};
use oriole_syntax::literal::Literal;

/// What the results of an instruction that may be reused depend on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Its operands only.
    Pure,
    /// Its operands and what is in memory of these kinds.
    Load(SpaceSet),
}

/// What the results of an instruction depend on, or nothing if it may not be replaced by an equal one: it has an effect, is
/// convergent, volatile, ordered or unknown, touches the carry flag or a pinned register, may be fused with another, or is a
/// mere copy.
pub(crate) fn kind_of(function: &Function, instruction: Instruction) -> Option<Kind> {
    let format = function.format(instruction);
    if function.results(instruction).len() == 0
        || format.opaque
        || format.mnemonic.opcode() == Opcode::Mov
        || is_contractible(function, instruction)
    {
        return None;
    }
    let kind = if format.is_pure() {
        Kind::Pure
    } else if format.mnemonic.opcode() != Opcode::Ld
        || !format.effects.is_removable()
        || format.effects.convergent
        || format.effects.reads_carry
    {
        return None;
    } else if function.is_invariant_load(instruction) {
        Kind::Pure
    } else {
        Kind::Load(format.effects.reads)
    };
    has_stable_operands(function, instruction).then_some(kind)
}

/// The most readers of a value that are looked through for one that may be equal to another.
const MOST_READERS: u32 = 4;

/// Whether an instruction is the only reader of a value that may be equal to it: none of the others is one that `may_equal` names, or hands the
/// value on under another name. Not if there are many.
#[inline]
pub(crate) fn is_only_reader(
    function: &Function,
    value: Value,
    instruction: Instruction,
    may_equal: impl Fn(Use) -> bool,
) -> bool {
    let is_other = |user: Use| match user {
        Use::Instruction(reader) => {
            reader != instruction
                && (function.format(reader).traits().have(Traits::COPIES) || may_equal(user))
        }
        Use::Edge(_) => may_equal(user),
    };
    match function.use_count(value) {
        1 => true,
        2..=MOST_READERS => !function.uses_of(value).any(is_other),
        _ => false,
    }
}

/// Whether an instruction may be [`Kind::Pure`], as far as its format tells at once.
#[inline]
pub(crate) fn may_be_pure(format: &FormatData) -> bool {
    let opcode = format.mnemonic.opcode();
    opcode != Opcode::Mov && (format.is_pure() || opcode == Opcode::Ld)
}

/// Whether an instruction is the only reader of a value: then no other gives the same, unless values are told to be equal. What is
/// kept under a false guard need not be the same, so guarded instructions are not looked at.
#[inline]
pub(crate) fn reads_alone(function: &Function, instruction: Instruction) -> bool {
    !function.format(instruction).is_guarded()
        && (function.uses(instruction)).any(|value| function.use_count(value) == 1)
}

/// Whether the operands are what they are wherever the instruction stands: no pinned registers, no clocks.
pub(crate) fn has_stable_operands(function: &Function, instruction: Instruction) -> bool {
    let operands = function.operands(instruction);
    operands.iter().all(|&operand| is_stable(function, operand))
}

/// Whether an operand is what it is wherever the instruction stands.
#[inline]
pub(crate) fn is_stable(function: &Function, operand: Operand) -> bool {
    match operand {
        Operand::Register(_) | Operand::Target(_) => false,
        Operand::Symbol(symbol) => match function.symbols()[symbol].kind {
            SymbolKind::Special(special) => !special.is_volatile(),
            _ => true,
        },
        _ => true,
    }
}

fn mix(hash: u64, word: u64) -> u64 {
    (hash.rotate_left(5) ^ word).wrapping_mul(0x9E37_79B9_7F4A_7C15)
}

/// An operand as a kind and a number.
type Word = (u64, u64);

fn mix_word(hash: u64, (kind, number): Word) -> u64 {
    mix(hash, number ^ kind << 60)
}

/// Where the two exchangeable sources stand among the operands, for formats that have some.
fn exchangeable(function: &Function, instruction: Instruction) -> usize {
    let format = function.format(instruction);
    if format.commutes() {
        function.operands(instruction).len() - format.leaves.len() + 1
    } else {
        usize::MAX
    }
}

/// A number that equal instructions share and most others do not.
pub(crate) fn class(function: &Function, instruction: Instruction) -> u64 {
    let format = function.instruction(instruction).format;
    match function.format_data(format).arithmetic {
        Some(node) => node.operation as u64 * 3 + u64::from(node.bits.trailing_zeros()),
        None => u64::from(format.as_u32()),
    }
}

/// A hash that equal instructions share; what they keep under a false guard is not in it. `find` says what a value
/// stands for.
pub(crate) fn hash(
    function: &Function,
    instruction: Instruction,
    find: impl Fn(Value) -> Value,
) -> u64 {
    let format = function.instruction(instruction).format;
    let node = function.format_data(format).arithmetic;
    let kept = 1 + function.otherwise(instruction).len();
    let pair = exchangeable(function, instruction);
    let mut hash = match node {
        Some(Node { operation, bits }) => mix(operation as u64, u64::from(bits)),
        None => mix(1 << 32, u64::from(format.as_u32())),
    };
    let word = |operand: Operand| word_of(function, node, operand, &find);
    let operands = function.operands(instruction);
    let mut index = 0;
    while index < operands.len() {
        if index == pair {
            let (one, other) = (word(operands[index]), word(operands[index + 1]));
            hash = mix_word(mix_word(hash, one.min(other)), one.max(other));
            index += 2;
            continue;
        }
        if !(1..kept).contains(&index) {
            hash = mix_word(hash, word(operands[index]));
        }
        index += 1;
    }
    hash
}

/// Whether `late` gives what `early` gave, memory apart.
pub(crate) fn same(
    function: &Function,
    early: Instruction,
    late: Instruction,
    find: impl Fn(Value) -> Value,
) -> bool {
    let formats = [early, late].map(|which| function.instruction(which).format);
    let nodes = formats.map(|format| function.format_data(format).arithmetic);
    if formats[0] != formats[1] && (nodes[0].is_none() || nodes[0] != nodes[1]) {
        return false;
    }
    let (olds, news) = (function.operands(early), function.operands(late));
    if olds.len() != news.len() {
        return false;
    }
    let pair = exchangeable(function, late);
    let kept = 1 + function.otherwise(late).len();
    let word = |operand: Operand| word_of(function, nodes[0], operand, &find);
    let mut index = 0;
    while index < news.len() {
        if index == pair {
            let old = (word(olds[index]), word(olds[index + 1]));
            let new = (word(news[index]), word(news[index + 1]));
            if old != new && old != (new.1, new.0) {
                return false;
            }
            index += 2;
            continue;
        }
        // A value nobody defined can be any, the other one too.
        let free = (1..kept).contains(&index)
            && news[index]
                .value()
                .is_some_and(|value| function.values()[value].definition == Definition::Undefined);
        if !free && word(olds[index]) != word(news[index]) {
            return false;
        }
        index += 1;
    }
    true
}

/// Whether the sources of two instructions of one mnemonic and shape are the same, guards apart.
pub(crate) fn same_sources(
    function: &Function,
    one: Instruction,
    other: Instruction,
    find: impl Fn(Value) -> Value,
) -> bool {
    let (left, right) = (function.format(one), function.format(other));
    if left.mnemonic != right.mnemonic || left.shape != right.shape {
        return false;
    }
    let word = |operand: Operand| word_of(function, None, operand, &find);
    function
        .leaves(one)
        .iter()
        .zip(function.leaves(other))
        .all(|(&one, &other)| word(one) == word(other))
}

/// An operand as a number: equal for operands that are the same, different for others.
fn word_of(
    function: &Function,
    node: Option<Node>,
    operand: Operand,
    find: impl Fn(Value) -> Value,
) -> Word {
    match operand {
        Operand::Value(value) => (0, u64::from(find(value).as_u32())),
        Operand::Result(index) => (1, u64::from(index)),
        Operand::Constant(constant) => match function.constants()[constant].literal {
            Some(Literal::Integer { bits, .. }) => {
                // The amount of a shift is as wide as it is written; all else is read in the width of the operation.
                let read = match node {
                    Some(node) if node.operation != Operation::Shl => mask(node.bits),
                    _ => u64::MAX,
                };
                (2, bits & read)
            }
            Some(Literal::Single(bits)) => (3, u64::from(bits)),
            Some(Literal::Double(bits)) => (4, bits),
            None => (5, u64::from(constant.as_u32())),
        },
        Operand::Symbol(symbol) => (6, u64::from(symbol.as_u32())),
        Operand::Sink => (7, 0),
        Operand::Register(register) => (8, u64::from(register.as_u32())),
        Operand::Target(target) => (9, u64::from(target)),
    }
}
