//! What rules see of the code, and what they may ask for.

use super::operands::is_immediate_type;
use oriole_analysis::{Known, KnownBits, literal_bits, mask};
use oriole_collections::IndexVec;
use oriole_ir::{Definition, Editor, Function, Instruction, Operand, ShapeNode, Use, Value};
use oriole_isa::{Flag, Mnemonic, MnemonicText, MulMode, Opcode, Role, ScalarType};
use oriole_syntax::literal::Literal;
use oriole_syntax::tree::Guard;

/// The most operands read by an instruction that rules look at.
pub(super) const MAXIMUM_ARGUMENTS: usize = 5;

/// The most readers of a value that are asked whether they could do without it.
pub(super) const MAXIMUM_READERS: usize = 32;

/// A source operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Arg {
    /// A value in a register as wide as what is read.
    Value(Value),
    /// A constant, cut to the width of what is read.
    Constant(u64),
    /// Something else: a symbol, a pinned register, part of a wider register.
    Other,
}

impl Arg {
    pub(super) fn constant(self) -> Option<u64> {
        match self {
            Arg::Constant(bits) => Some(bits),
            _ => None,
        }
    }

    pub(super) fn value(self) -> Option<Value> {
        match self {
            Arg::Value(value) => Some(value),
            _ => None,
        }
    }

    /// Whether it can be written down again elsewhere.
    pub(super) fn is_plain(self) -> bool {
        self != Arg::Other
    }
}

/// An unguarded pure instruction with one result and plain operands.
#[derive(Clone, Copy, Debug)]
pub(super) struct Site {
    pub(super) instruction: Instruction,
    pub(super) opcode: Opcode,
    /// The first type of the mnemonic, and its width.
    pub(super) scalar_type: ScalarType,
    pub(super) width: u32,
    pub(super) result: Value,
    pub(super) count: usize,
    arguments: [Arg; MAXIMUM_ARGUMENTS],
}

impl Site {
    pub(super) fn arg(&self, index: usize) -> Arg {
        self.arguments[index]
    }

    pub(super) fn args(&self) -> &[Arg] {
        &self.arguments[..self.count]
    }

    /// Both arguments of a binary instruction.
    pub(super) fn pair(&self) -> (Arg, Arg) {
        (self.arguments[0], self.arguments[1])
    }

    /// The only argument that is a value, and the constant that is the other one, whichever comes first.
    pub(super) fn value_and_constant(&self) -> Option<(Value, u64)> {
        match self.pair() {
            (Arg::Value(value), Arg::Constant(bits)) | (Arg::Constant(bits), Arg::Value(value)) => {
                Some((value, bits))
            }
            _ => None,
        }
    }

    pub(super) fn signed(&self) -> bool {
        self.scalar_type.is_signed()
    }

    pub(super) fn mask(&self) -> u64 {
        mask(self.width)
    }
}

/// What can be told of an instruction at a glance, a bit each. Most instructions have none of what a rule looks for, and most
/// rules need not look at them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Facts(u32);

/// Opcodes that rules look for behind operands: each has a bit, behind those of [`Facts`] themselves.
const PRODUCERS: [Opcode; 20] = [
    Opcode::Mov,
    Opcode::Ld,
    Opcode::Add,
    Opcode::Sub,
    Opcode::Mul,
    Opcode::Mad,
    Opcode::Div,
    Opcode::Min,
    Opcode::Max,
    Opcode::Neg,
    Opcode::Not,
    Opcode::And,
    Opcode::Or,
    Opcode::Xor,
    Opcode::Shl,
    Opcode::Shr,
    Opcode::Setp,
    Opcode::Selp,
    Opcode::Cvt,
    Opcode::Cvta,
];

/// The bit of each opcode.
const PRODUCER_BITS: [u32; Opcode::ALL.len()] = {
    let mut bits = [0; Opcode::ALL.len()];
    let mut index = 0;
    while index < PRODUCERS.len() {
        bits[PRODUCERS[index] as usize] = 1 << (index + 9);
        index += 1;
    }
    bits
};

impl Facts {
    /// Nothing.
    pub(super) const NONE: Facts = Facts(0);
    /// An operand is constant.
    pub(super) const CONSTANT: Facts = Facts(1);
    /// An operand is a register that holds a constant.
    pub(super) const HELD_CONSTANT: Facts = Facts(2);
    /// Two operands are the same value.
    pub(super) const EQUAL: Facts = Facts(4);
    /// All of the result is known.
    pub(super) const KNOWN_RESULT: Facts = Facts(8);
    /// The first source of an unguarded instruction is constant.
    pub(super) const FIRST_CONSTANT: Facts = Facts(16);
    /// An operand is a constant that may be 0, or the lowest number of a signed type.
    pub(super) const ZERO: Facts = Facts(32);
    /// An operand is a constant that may be 1.
    pub(super) const ONE: Facts = Facts(64);
    /// An operand is a constant that may be -1, or the highest number of a type.
    pub(super) const LIMIT: Facts = Facts(128);
    /// An operand is a value of which some bits are known.
    pub(super) const PARTLY_KNOWN: Facts = Facts(256);
    /// [`Facts::ZERO`], [`Facts::ONE`] and [`Facts::LIMIT`].
    pub(super) const TRIVIAL: Facts = Facts::ZERO.or(Facts::ONE).or(Facts::LIMIT);

    /// What an operand tells that is this constant, in whatever width: the lowest byte is the same in all.
    const fn of_constant(bits: u64) -> Facts {
        Facts::CONSTANT.or(match bits as u8 {
            0 => Facts::ZERO,
            1 => Facts::ONE,
            0x7F | 0x80 | 0xFF => Facts::LIMIT,
            _ => Facts::NONE,
        })
    }

    /// What an operand tells that is a value of this type of which these bits are known.
    pub(super) fn of_known(known: Known, scalar_type: ScalarType) -> Facts {
        if known == Known::unknown(scalar_type.bits()) {
            return Facts::NONE;
        }
        Facts::PARTLY_KNOWN.or(match known.as_constant() {
            Some(bits) => Facts::of_constant(bits).or(Facts::HELD_CONSTANT),
            None => Facts::NONE,
        })
    }

    /// An operand is the result of such an instruction.
    pub(super) const fn made_by(opcode: Opcode) -> Facts {
        Facts(PRODUCER_BITS[opcode as usize])
    }

    /// An operand is the result of one of these.
    pub(super) const fn made_by_any(opcodes: &[Opcode]) -> Facts {
        let mut facts = Facts::NONE;
        let mut index = 0;
        while index < opcodes.len() {
            let one = Facts::made_by(opcodes[index]);
            assert!(one.0 != 0, "an opcode without a bit");
            facts = facts.or(one);
            index += 1;
        }
        facts
    }

    pub(super) const fn or(self, other: Facts) -> Facts {
        Facts(self.0 | other.0)
    }

    /// All there are.
    pub(super) const EVERYTHING: Facts = Facts(u32::MAX);

    pub(super) const fn is_none(self) -> bool {
        self.0 == 0
    }

    /// Whether one of these is among them.
    pub(super) const fn share(self, others: Facts) -> bool {
        self.0 & others.0 != 0
    }

    /// Whether all of these are among them.
    pub(super) const fn have_all(self, wanted: Facts) -> bool {
        self.0 & wanted.0 == wanted.0
    }

    /// Whether one of these is among them, or nothing is wanted.
    pub(super) const fn have_any(self, wanted: Facts) -> bool {
        wanted.is_none() || self.share(wanted)
    }
}

/// Operands that are compared with each other.
const COMPARED: usize = 6;

/// What a rule makes of an instruction.
#[derive(Clone, Debug)]
pub(super) enum Change {
    /// Its result is this value.
    Value(Value),
    /// Its result is this constant.
    Constant(u64),
    /// It has these operands instead.
    Operands(Vec<Arg>),
    /// It becomes this instruction.
    Instruction(MnemonicText, Vec<Arg>),
}

/// The code, with what was found out so far.
pub(super) struct View<'a, 'f> {
    pub(super) editor: &'a Editor<'f>,
    pub(super) known: &'a KnownBits,
    pub(super) of_values: &'a IndexVec<Value, Facts>,
    pub(super) reads: &'a IndexVec<Value, u32>,
    /// Whether the code is to be debugged: then `ptxas` optimizes nothing.
    pub(super) is_debug: bool,
}

impl View<'_, '_> {
    pub(super) fn function(&self) -> &Function {
        self.editor.function()
    }

    pub(super) fn known(&self, arg: Arg, width: u32) -> Known {
        match arg {
            Arg::Value(value) => self.known.of(value).truncate(width),
            Arg::Constant(bits) => Known::constant(bits),
            Arg::Other => Known::unknown(width),
        }
    }

    pub(super) fn type_of(&self, value: Value) -> ScalarType {
        self.function().values()[value].scalar_type
    }

    /// What can be told of an instruction at a glance; whether operands are equal only if that is wanted.
    pub(super) fn facts(&self, instruction: Instruction, wanted: Facts) -> Facts {
        let function = self.function();
        let mut facts = Facts::NONE;
        let mut seen = [Value::from_index(0); COMPARED];
        let mut count = 0;
        let compares = wanted.share(Facts::EQUAL);
        for (index, operand) in function.operands(instruction).iter().enumerate() {
            let told = match *operand {
                Operand::Value(value) => {
                    if compares && seen[..count].contains(&value) {
                        facts = facts.or(Facts::EQUAL);
                    } else if compares && count < COMPARED {
                        seen[count] = value;
                        count += 1;
                    }
                    self.of_value(value)
                }
                Operand::Constant(constant) => {
                    match function.constants()[constant].literal {
                        // As a predicate, whatever is not zero is one.
                        Some(Literal::Integer { bits, .. })
                            if function.format(instruction).operand_type(0)
                                != Some(ScalarType::Pred) =>
                        {
                            Facts::of_constant(bits)
                        }
                        _ => Facts::CONSTANT.or(Facts::TRIVIAL),
                    }
                }
                _ => continue,
            };
            facts = facts.or(told);
            if index == 1 && told.have_all(Facts::CONSTANT) {
                facts = facts.or(Facts::FIRST_CONSTANT);
            }
        }
        if let Some(result) = function.results(instruction).next()
            && self.of_value(result).have_all(Facts::CONSTANT)
        {
            facts = facts.or(Facts::KNOWN_RESULT);
        }
        facts
    }

    /// What an operand tells that is this value: what made it, and whether it is constant.
    pub(super) fn of_value(&self, value: Value) -> Facts {
        self.of_values.get(value).copied().unwrap_or(Facts::NONE)
    }

    /// An instruction as rules see it.
    pub(super) fn site(&self, instruction: Instruction) -> Option<Site> {
        let function = self.function();
        let format = function.format(instruction);
        let mnemonic = &format.mnemonic;
        if !format.is_simple() || mnemonic.has(Flag::Saturate) || mnemonic.has(Flag::Relu) {
            return None;
        }
        // Unguarded: all operands are leaves.
        let (first, sources) = function.operands(instruction).split_first()?;
        if *first != Operand::Result(0) || sources.len() > MAXIMUM_ARGUMENTS {
            return None;
        }
        let mut results = function.results(instruction);
        let result = results.next().filter(|_| results.len() == 0)?;
        let given = format.operand_type(0)?;
        if function.values()[result].scalar_type.bits() != given.bits() {
            return None;
        }
        let mut arguments = [Arg::Other; MAXIMUM_ARGUMENTS];
        let leaves = format.leaves[1..].iter().zip(&format.operand_types()[1..]);
        for ((argument, &operand), (leaf, &wanted)) in arguments.iter_mut().zip(sources).zip(leaves)
        {
            *argument = match (operand, wanted) {
                (Operand::Value(value), Some(wanted)) => self.value_arg(value, wanted),
                (Operand::Constant(constant), wanted) => {
                    let wanted = match leaf.role {
                        Role::Constant => Some(ScalarType::B64),
                        _ => wanted,
                    };
                    function.constants()[constant]
                        .literal
                        .zip(wanted)
                        .and_then(|(literal, wanted)| literal_bits(literal, wanted))
                        .map_or(Arg::Other, Arg::Constant)
                }
                _ => Arg::Other,
            };
        }
        let scalar_type = mnemonic.first_type()?;
        Some(Site {
            instruction,
            opcode: mnemonic.opcode(),
            scalar_type,
            width: scalar_type.bits(),
            result,
            count: sources.len(),
            arguments,
        })
    }

    /// A guarded `mov` as a `selp`: the operand and what was there before, in the order in which the guard's predicate
    /// chooses.
    pub(super) fn guarded_move(&self, instruction: Instruction) -> Option<Site> {
        let function = self.function();
        let format = function.format(instruction);
        let mnemonic = &format.mnemonic;
        let scalar_type = mnemonic.first_type()?;
        if format.opaque
            || mnemonic.opcode() != Opcode::Mov
            || !format.effects.is_pure()
            || *format.shape != [ShapeNode::LEAF; 2]
            || scalar_type == ScalarType::Pred
            || scalar_type.bits() > 64
        {
            return None;
        }
        let result = function.results(instruction).next()?;
        let (Operand::Value(guard), &[Operand::Value(before)], &[Operand::Result(0), source]) = (
            function.guard(instruction)?,
            function.otherwise(instruction),
            function.leaves(instruction),
        ) else {
            return None;
        };
        if self.type_of(result).bits() != scalar_type.bits() {
            return None;
        }
        let moved = match source {
            Operand::Value(value) => self.value_arg(value, scalar_type),
            Operand::Constant(constant) => {
                let literal = function.constants()[constant].literal?;
                Arg::Constant(literal_bits(literal, scalar_type)?)
            }
            _ => return None,
        };
        let before = self.value_arg(before, scalar_type);
        let mut arguments = [Arg::Other; MAXIMUM_ARGUMENTS];
        (arguments[0], arguments[1]) = match format.guard {
            Guard::IfNot => (before, moved),
            _ => (moved, before),
        };
        arguments[2] = Arg::Value(guard);
        Some(Site {
            instruction,
            opcode: Opcode::Selp,
            scalar_type,
            width: scalar_type.bits(),
            result,
            count: 3,
            arguments,
        })
    }

    /// A value as an operand of a type: as a constant if it is one and can be written as such.
    fn value_arg(&self, value: Value, wanted: ScalarType) -> Arg {
        if self.type_of(value).bits() != wanted.bits() {
            return Arg::Other;
        }
        match self.known.of(value).as_constant() {
            Some(bits) if is_immediate_type(wanted) => Arg::Constant(bits),
            _ => Arg::Value(value),
        }
    }

    pub(super) fn mnemonic(&self, site: &Site) -> &Mnemonic {
        &self.function().format(site.instruction).mnemonic
    }

    pub(super) fn mul_mode(&self, site: &Site) -> Option<MulMode> {
        self.mnemonic(site).modifiers().mul_mode
    }

    /// The instruction that defines a value, if its opcode is this one and rules may look at it.
    pub(super) fn producer(&self, value: Value, opcode: Opcode) -> Option<Site> {
        let Definition::Instruction(instruction) = self.function().values()[value].definition
        else {
            return None;
        };
        if self.function().format(instruction).mnemonic.opcode() != opcode
            || self.function().block_of(instruction).is_none()
        {
            return None;
        }
        self.site(instruction)
    }

    /// Like [`View::producer`], of an integer operation of this width.
    pub(super) fn integer_producer(&self, arg: Arg, opcode: Opcode, width: u32) -> Option<Site> {
        let site = self.producer(arg.value()?, opcode)?;
        (is_integer(site.scalar_type) && site.width == width).then_some(site)
    }

    /// Whether a value is read once.
    pub(super) fn is_single(&self, value: Value) -> bool {
        self.reads.get(value).is_none_or(|&reads| reads <= 1)
    }

    /// Whether all readers of a value are instructions of which this is true, so that it dies if all change likewise.
    pub(super) fn all_readers(
        &self,
        value: Value,
        mut accepts: impl FnMut(Instruction) -> bool,
    ) -> bool {
        if self.function().use_count(value) as usize > MAXIMUM_READERS {
            return false;
        }
        self.function().uses_of(value).all(|user| match user {
            Use::Instruction(reader) => self.is_dead(reader) || accepts(reader),
            Use::Edge(_) => false,
        })
    }

    /// Whether nobody reads the results of an instruction, which is there for nothing else.
    pub(super) fn is_dead(&self, instruction: Instruction) -> bool {
        let function = self.function();
        function.format(instruction).is_removable()
            && function
                .results(instruction)
                .all(|result| self.reads.get(result) == Some(&0))
    }

    /// Whether an instruction of this type may read the register of this value.
    pub(super) fn readable(&self, arg: Arg, wanted: ScalarType) -> bool {
        match arg {
            Arg::Value(value) => accepts(wanted, self.type_of(value)),
            Arg::Constant(_) => true,
            Arg::Other => false,
        }
    }

    /// Whether an instruction with a result of this type may write the register of the site's.
    pub(super) fn writable(&self, site: &Site, given: ScalarType) -> bool {
        accepts(given, self.type_of(site.result))
    }

    /// `x + constant` behind a value: a sum, or an `or` of bits that are clear.
    pub(super) fn as_sum(&self, value: Value) -> Option<(Site, Value, u64)> {
        let Definition::Instruction(instruction) = self.function().values()[value].definition
        else {
            return None;
        };
        let opcode = self.function().format(instruction).mnemonic.opcode();
        if !matches!(opcode, Opcode::Add | Opcode::Or) {
            return None;
        }
        // Most sums are of two values, and one look at these tells.
        let is_constant = |operand: &Operand| match *operand {
            Operand::Constant(_) => true,
            Operand::Value(value) => self.of_value(value).share(Facts::CONSTANT),
            _ => false,
        };
        if !self
            .function()
            .operands(instruction)
            .iter()
            .any(is_constant)
        {
            return None;
        }
        let site = self.producer(value, opcode)?;
        if !is_integer(site.scalar_type) || self.mnemonic(&site).types().len() != 1 {
            return None;
        }
        let (base, constant) = site.value_and_constant()?;
        let disjoint = || constant & !self.known.of(base).zeros == 0;
        (opcode == Opcode::Add || disjoint()).then_some((site, base, constant))
    }
}

/// Whether an operand of type `wanted` may be a register of type `held`.
pub(super) fn accepts(wanted: ScalarType, held: ScalarType) -> bool {
    if wanted == ScalarType::Pred || held == ScalarType::Pred {
        return wanted == held;
    }
    held.bits() == wanted.bits()
        && (held == wanted
            || held.is_bits()
            || wanted.is_bits()
            || held.is_integer() && wanted.is_integer())
}

/// An integer or untyped bits of a width that rules know.
pub(super) fn is_integer(scalar_type: ScalarType) -> bool {
    use ScalarType::*;
    matches!(
        scalar_type,
        U8 | U16 | U32 | U64 | S8 | S16 | S32 | S64 | B8 | B16 | B32 | B64
    )
}
