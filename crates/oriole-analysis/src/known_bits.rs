//! Which bits of a value are the same in every execution.
//!
//! A forward walk: each instruction's result from its operands, each block parameter from the arguments of the edges already
//! walked; a parameter that a later block also feeds (a loop) is unknown. What is known of a special register comes from the
//! limits of the target.
//!
//! Only what PTX guarantees is used: shifts clamp at the width, division by zero gives something unknown, a register wider
//! than what is read of it gives its low bits. Floating point is opaque: a constant moved is known, nothing else.
//!
//! A pass that rewrites as it walks can keep the walk up to date: see [`KnownBits::enter`] and [`KnownBits::step`].

use crate::control_flow::ControlFlow;
use crate::launch::LaunchShape;
use crate::manager::{Analyses, Analysis, Reads};
use oriole_collections::IndexVec;
use oriole_ir::{Block, Function, Instruction, Operand, SymbolKind, Value};
use oriole_isa::{
    Comparison, Flag, LaunchLimits, Mnemonic, MulMode, Opcode, ScalarType, SpecialRegister,
};
use oriole_syntax::literal::Literal;

/// Bits known to be clear and known to be set. Bits above the value's width are known to be clear.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Known {
    /// Known to be 0.
    pub zeros: u64,
    /// Known to be 1.
    pub ones: u64,
}

/// The bits of a value of this width.
pub const fn mask(width: u32) -> u64 {
    if width >= 64 {
        u64::MAX
    } else {
        (1 << width) - 1
    }
}

/// The low bits of a number as a signed number.
pub const fn sign_extend(bits: u64, width: u32) -> i64 {
    if width == 0 || width >= 64 {
        bits as i64
    } else {
        ((bits << (64 - width)) as i64) >> (64 - width)
    }
}

impl Known {
    /// Nothing is known of a value of this width.
    pub const fn unknown(width: u32) -> Known {
        Known {
            zeros: !mask(width),
            ones: 0,
        }
    }

    /// Everything is known.
    pub const fn constant(bits: u64) -> Known {
        Known {
            zeros: !bits,
            ones: bits,
        }
    }

    /// The value is below or equal to this bound.
    pub const fn at_most(bound: u64) -> Known {
        let width = 64 - bound.leading_zeros();
        Known::unknown(width)
    }

    /// The value, if all of it is known.
    pub const fn as_constant(self) -> Option<u64> {
        if self.zeros == !self.ones {
            Some(self.ones)
        } else {
            None
        }
    }

    /// The smallest value it may have, read as unsigned.
    pub const fn minimum(self) -> u64 {
        self.ones
    }

    /// The largest value it may have, read as unsigned.
    pub const fn maximum(self) -> u64 {
        !self.zeros
    }

    /// The smallest and the largest value it may have, read as signed in this width.
    pub const fn signed_range(self, width: u32) -> (i64, i64) {
        let sign = 1 << (width - 1);
        let low = self.ones | (sign & !self.zeros);
        let high = !self.zeros & !(sign & !self.ones);
        (sign_extend(low, width), sign_extend(high, width))
    }

    /// Whether the top bit of a value of this width is clear.
    pub const fn is_non_negative(self, width: u32) -> bool {
        self.zeros >> (width - 1) & 1 != 0
    }

    /// What is known of a value that is one or the other.
    pub const fn join(self, other: Known) -> Known {
        Known {
            zeros: self.zeros & other.zeros,
            ones: self.ones & other.ones,
        }
    }

    /// The low bits.
    pub const fn truncate(self, width: u32) -> Known {
        Known {
            zeros: self.zeros | !mask(width),
            ones: self.ones & mask(width),
        }
    }

    /// A value of `from` bits, read as signed, in `to` bits.
    pub(crate) const fn sign_extend(self, from: u32, to: u32) -> Known {
        let zeros = sign_extend(self.zeros, from) as u64;
        let ones = sign_extend(self.ones & mask(from), from) as u64;
        Known { zeros, ones }.truncate(to)
    }

    pub(crate) const fn and(self, other: Known) -> Known {
        Known {
            zeros: self.zeros | other.zeros,
            ones: self.ones & other.ones,
        }
    }

    pub(crate) const fn or(self, other: Known) -> Known {
        Known {
            zeros: self.zeros & other.zeros,
            ones: self.ones | other.ones,
        }
    }

    pub(crate) const fn xor(self, other: Known) -> Known {
        Known {
            zeros: self.zeros & other.zeros | self.ones & other.ones,
            ones: self.zeros & other.ones | self.ones & other.zeros,
        }
    }

    const fn not(self, width: u32) -> Known {
        Known {
            zeros: self.ones,
            ones: self.zeros,
        }
        .truncate(width)
    }

    /// The sum with a carry in that is known.
    pub const fn add(self, other: Known, carry: bool, width: u32) -> Known {
        // The largest and the smallest sum agree with every sum in the bits where both operands and the carry are known.
        let carry = carry as u64;
        let largest = self
            .maximum()
            .wrapping_add(other.maximum())
            .wrapping_add(carry);
        let smallest = self
            .minimum()
            .wrapping_add(other.minimum())
            .wrapping_add(carry);
        let carry_zero = !(largest ^ self.zeros ^ other.zeros);
        let carry_one = smallest ^ self.ones ^ other.ones;
        let known =
            (self.zeros | self.ones) & (other.zeros | other.ones) & (carry_zero | carry_one);
        Known {
            zeros: !largest & known,
            ones: smallest & known,
        }
        .truncate(width)
    }

    pub(crate) const fn subtract(self, other: Known, width: u32) -> Known {
        let flipped = Known {
            zeros: other.ones,
            ones: other.zeros,
        };
        self.add(flipped, true, width)
    }

    /// The low bits of a product of values of `width` bits that is `width` bits wide.
    pub(crate) fn multiply(self, other: Known, width: u32) -> Known {
        if let (Some(a), Some(b)) = (self.as_constant(), other.as_constant()) {
            return Known::constant(a.wrapping_mul(b) & mask(width));
        }
        let trailing = (self.zeros.trailing_ones() + other.zeros.trailing_ones()).min(width);
        let bound = match self.maximum().checked_mul(other.maximum()) {
            Some(bound) if bound <= mask(width) => Known::at_most(bound),
            _ => Known::unknown(width),
        };
        Known {
            zeros: bound.zeros | mask(trailing),
            ones: 0,
        }
    }

    pub(crate) fn shift_left(self, amount: Known, width: u32) -> Known {
        match amount.as_constant() {
            Some(amount) if amount >= u64::from(width) => Known::constant(0),
            Some(amount) => Known {
                zeros: self.zeros << amount | mask(amount as u32),
                ones: self.ones << amount,
            }
            .truncate(width),
            None => Known {
                zeros: !mask(width) | mask(self.zeros.trailing_ones().min(width)),
                ones: 0,
            },
        }
    }

    pub(crate) fn shift_right(self, amount: Known, width: u32, signed: bool) -> Known {
        if signed && !self.is_non_negative(width) {
            return match amount.as_constant() {
                Some(amount) => {
                    let amount = amount.min(u64::from(width) - 1) as u32;
                    let shifted = Known {
                        zeros: self.zeros >> amount,
                        ones: self.ones >> amount,
                    };
                    shifted.sign_extend(width - amount, width)
                }
                None => Known::unknown(width),
            };
        }
        match amount.as_constant() {
            Some(amount) if amount >= u64::from(width) => Known::constant(0),
            Some(amount) => Known {
                zeros: self.zeros >> amount | !(u64::MAX >> amount),
                ones: self.ones >> amount,
            },
            None => Known::at_most(self.maximum()),
        }
    }
}

/// The bits of a constant as an operand of this type.
pub fn literal_bits(literal: Literal, wanted: ScalarType) -> Option<u64> {
    match literal {
        Literal::Integer { bits, .. } if wanted == ScalarType::Pred => Some(u64::from(bits != 0)),
        Literal::Integer { bits, .. } if !wanted.is_float() && wanted.bits() <= 64 => {
            Some(bits & mask(wanted.bits()))
        }
        Literal::Single(bits) if matches!(wanted, ScalarType::F32 | ScalarType::B32) => {
            Some(u64::from(bits))
        }
        Literal::Double(bits) if matches!(wanted, ScalarType::F64 | ScalarType::B64) => Some(bits),
        _ => None,
    }
}

/// Stands for the number of edges of a block that was walked itself.
const ENTERED: u32 = u32::MAX;

/// What is known of every value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownBits {
    values: IndexVec<Value, Known>,
    /// Of parameters of blocks that were not entered yet, what the edges walked so far say. Nothing is known of them until all were.
    arriving: IndexVec<Value, Known>,
    /// How many edges to each block were walked before it.
    walked: IndexVec<Block, u32>,
    /// What every launch keeps to.
    launch: LaunchShape,
}

impl KnownBits {
    /// Nothing walked yet. Launches keep to these limits.
    pub fn new(function: &Function, limits: LaunchLimits) -> KnownBits {
        KnownBits {
            values: function
                .values()
                .iter()
                .map(|(_, data)| Known::unknown(data.scalar_type.bits()))
                .collect(),
            arriving: IndexVec::new(),
            walked: IndexVec::from_elem(0, function.blocks().len()),
            launch: LaunchShape::within(limits),
        }
    }

    /// What is known of a value. Of a value made since, nothing.
    pub fn of(&self, value: Value) -> Known {
        self.values
            .get(value)
            .copied()
            .unwrap_or(Known { zeros: 0, ones: 0 })
    }

    /// Makes room for values made since: nothing is known of them.
    pub fn extend(&mut self, function: &Function) {
        for index in self.values.len()..function.values().len() {
            let data = &function.values()[Value::from_index(index)];
            self.values.push(Known::unknown(data.scalar_type.bits()));
        }
    }

    /// Says what is known of a value. Whether that is something else than before.
    #[inline]
    pub fn set(&mut self, value: Value, known: Known) -> bool {
        let entry = self.values.ensure(value, Known { zeros: 0, ones: 0 });
        std::mem::replace(entry, known) != known
    }

    /// What a walk finds of a parameter of a block, by its position, given what is known of the arguments now.
    pub fn of_parameter(
        &self,
        function: &Function,
        flow: &ControlFlow,
        block: Block,
        position: usize,
    ) -> Known {
        let is_walked =
            |from: Block| flow.is_reachable(from) && flow.position(from) < flow.position(block);
        let mut joined: Option<Known> = None;
        if block != function.entry() && flow.predecessors(block).all(is_walked) {
            let mut last = None;
            for from in flow.predecessors(block) {
                // They are in order, once per edge.
                if last.replace(from) == Some(from) {
                    continue;
                }
                for edge in function.edges(from).iter() {
                    if edge.target == block {
                        let known = self.of(function.arguments(*edge)[position]);
                        joined = Some(joined.map_or(known, |joined| joined.join(known)));
                    }
                }
            }
        }
        joined.unwrap_or_else(|| {
            let parameter = function.blocks()[block].parameters[position];
            Known::unknown(function.values()[parameter].scalar_type.bits())
        })
    }

    /// Starts a block: what the edges walked so far say of its parameters holds only if there are no others.
    pub fn enter(&mut self, function: &Function, flow: &ControlFlow, block: Block) {
        let are_all_walked = self.walked[block] as usize == flow.predecessors(block).len()
            && block != function.entry();
        for &parameter in &function.blocks()[block].parameters {
            self.values[parameter] = match are_all_walked {
                true => self.arriving[parameter],
                false => Known::unknown(function.values()[parameter].scalar_type.bits()),
            };
        }
        self.walked[block] = ENTERED;
    }

    /// Walks an instruction. Gives its first result and what is known of it; of further ones, nothing is.
    pub fn step(
        &mut self,
        function: &Function,
        instruction: Instruction,
    ) -> Option<(Value, Known)> {
        let mut results = function.results(instruction);
        let result = results.next()?;
        let scalar_type = function.values()[result].scalar_type;
        let known = if results.len() == 0 {
            self.of_result(function, instruction, scalar_type)
        } else {
            Known::unknown(scalar_type.bits())
        };
        self.set(result, known);
        Some((result, known))
    }

    /// What is known of the only result of an instruction, which is of this type, given what is known of its operands now.
    pub fn of_result(
        &self,
        function: &Function,
        instruction: Instruction,
        scalar_type: ScalarType,
    ) -> Known {
        let known = result_of(function, instruction, scalar_type, &self.launch, |value| {
            self.of(value)
        });
        known.unwrap_or(Known::unknown(scalar_type.bits()))
    }

    /// Ends a block: tells its successors' parameters what their arguments are.
    pub fn leave(&mut self, function: &Function, block: Block) {
        for edge in &function.blocks()[block].edges {
            if self.walked[edge.target] == ENTERED {
                continue;
            }
            let first = self.walked[edge.target] == 0;
            self.walked[edge.target] += 1;
            let parameters = &function.blocks()[edge.target].parameters;
            for (&parameter, &argument) in parameters.iter().zip(function.arguments(*edge)) {
                let known = self.of(argument);
                let joined = self.arriving.ensure(parameter, known);
                *joined = if first { known } else { joined.join(known) };
            }
        }
    }
}

/// What is known of the only result of an instruction, which is held in a register of type `held`, given what is known of the values
/// that it reads and how the kernel is launched.
pub(crate) fn result_of(
    function: &Function,
    instruction: Instruction,
    held: ScalarType,
    bounds: &LaunchShape,
    of: impl Fn(Value) -> Known,
) -> Option<Known> {
    let format = function.format(instruction);
    let mnemonic = &format.mnemonic;
    if matches!(mnemonic.opcode(), Opcode::Ld | Opcode::Ldu) {
        let is_plain = !format.is_guarded() && !format.opaque && held.bits() <= 64;
        return is_plain.then(|| loaded(mnemonic, held)).flatten();
    }
    if !format.is_simple() || !is_tracked(mnemonic) || held.bits() > 64 {
        return None;
    }
    let (_, sources) = function.operands(instruction).split_first()?;
    let mut inputs = [Known { zeros: 0, ones: 0 }; 4];
    if sources.len() > inputs.len() {
        return None;
    }
    let types = format.source_types()?;
    for (index, (&operand, &wanted)) in sources.iter().zip(types).enumerate() {
        let wanted = wanted?;
        inputs[index] = match operand {
            Operand::Value(value) => of(value).truncate(wanted.bits()),
            Operand::Constant(constant) => match function.constants()[constant].literal {
                Some(literal) => Known::constant(literal_bits(literal, wanted)?),
                None => Known::unknown(wanted.bits()),
            },
            Operand::Symbol(symbol) => match function.symbols()[symbol].kind {
                SymbolKind::Special(special) => {
                    special_register(special, bounds).truncate(wanted.bits())
                }
                SymbolKind::WarpSize => Known::constant(32),
                _ => Known::unknown(wanted.bits()),
            },
            _ => Known::unknown(wanted.bits()),
        };
    }
    let given = format.operand_type(0)?;
    let known = transfer(mnemonic, given, &inputs)?;
    if given.bits() == held.bits() {
        Some(known)
    } else if mnemonic.opcode() == Opcode::Cvt && given.bits() < held.bits() {
        Some(match given.is_signed() {
            true => known.sign_extend(given.bits(), held.bits()),
            false => known,
        })
    } else {
        None
    }
}

/// Whether [`transfer`] may know something of the result.
fn is_tracked(mnemonic: &Mnemonic) -> bool {
    let opcode = mnemonic.opcode();
    matches!(opcode, Opcode::Mov | Opcode::Selp)
        || opcode.computes_integers()
            && mnemonic.first_type().is_some_and(|first| !first.is_float())
}

fn loaded(mnemonic: &Mnemonic, held: ScalarType) -> Option<Known> {
    let read = mnemonic.first_type()?;
    (read.is_unsigned() || read.is_bits()).then(|| Known::unknown(read.bits().min(held.bits())))
}

/// What every launch keeps to that a kernel is bounded to.
fn special_register(special: SpecialRegister, bounds: &LaunchShape) -> Known {
    match bounds.range(special) {
        Some((low, high)) if low == high => Known::constant(low),
        Some((_, high)) => Known::at_most(high),
        None => Known { zeros: 0, ones: 0 },
    }
}

/// What is known of the result of a pure instruction with one result of type `given`.
fn transfer(mnemonic: &Mnemonic, given: ScalarType, inputs: &[Known; 4]) -> Option<Known> {
    let &[a, b, c, _] = inputs;
    let first = mnemonic.first_type()?;
    if mnemonic.opcode() == Opcode::Mov {
        return (mnemonic.modifiers().vector.is_none()).then_some(a);
    }
    if mnemonic.opcode() == Opcode::Selp {
        return Some(match c.as_constant() {
            Some(1) => a,
            Some(_) => b,
            None => a.join(b),
        });
    }
    if first.is_float() || first.lanes() > 1 || first.bits() > 64 || mnemonic.has(Flag::Saturate) {
        return None;
    }
    let width = first.bits();
    let signed = first.is_signed();
    Some(match mnemonic.opcode() {
        Opcode::And => a.and(b),
        Opcode::Or => a.or(b),
        Opcode::Xor => a.xor(b),
        Opcode::Not => a.not(width),
        Opcode::Add if mnemonic.types().len() == 1 => a.add(b, false, width),
        Opcode::Sub if mnemonic.types().len() == 1 => a.subtract(b, width),
        Opcode::Neg => Known::constant(0).subtract(a, width),
        Opcode::Mul | Opcode::Mad => {
            let product = match mnemonic.modifiers().mul_mode? {
                MulMode::Low => a.multiply(b, width),
                MulMode::Wide if signed => a
                    .sign_extend(width, 2 * width)
                    .multiply(b.sign_extend(width, 2 * width), 2 * width),
                MulMode::Wide => a.multiply(b, 2 * width),
                MulMode::High => Known::unknown(width),
            };
            if mnemonic.opcode() == Opcode::Mad {
                product.add(c, false, given.bits())
            } else {
                product
            }
        }
        Opcode::Shl => a.shift_left(b, width),
        Opcode::Shr => a.shift_right(b, width, signed),
        Opcode::Div if b.minimum() > 0 && (!signed || both_non_negative(a, b, width)) => {
            Known::at_most(a.maximum() / b.minimum())
        }
        Opcode::Rem if b.minimum() > 0 && (!signed || both_non_negative(a, b, width)) => {
            Known::at_most(a.maximum().min(b.maximum() - 1))
        }
        Opcode::Min if !signed => Known::at_most(a.maximum().min(b.maximum())),
        Opcode::Max if !signed => Known::at_most(a.maximum().max(b.maximum())),
        Opcode::Min | Opcode::Max if both_non_negative(a, b, width) => {
            Known::at_most(a.maximum().max(b.maximum()))
        }
        Opcode::Popc | Opcode::Clz => Known::at_most(u64::from(width)),
        Opcode::Bfe if !signed => {
            // 32-bit fields look at eight bits of position and length, 64-bit ones at all.
            let counted = if width == 64 { u64::MAX } else { 0xFF };
            let (position, length) = (b.as_constant()? & counted, c.as_constant()? & counted);
            let shifted = a.shift_right(Known::constant(position), width, false);
            shifted.truncate(length.min(64) as u32)
        }
        Opcode::Cvt => {
            let &[to, from] = mnemonic.types() else {
                return None;
            };
            if to.is_float() || from.is_float() || mnemonic.has(Flag::SaturateFinite) {
                return None;
            }
            match from.is_signed() && to.bits() > from.bits() {
                true => a.sign_extend(from.bits(), to.bits()),
                false => a.truncate(to.bits()),
            }
        }
        Opcode::Setp => match decide(mnemonic, a, b)? {
            true => Known::constant(1),
            false => Known::constant(0),
        },
        _ => return None,
    })
}

fn both_non_negative(a: Known, b: Known, width: u32) -> bool {
    a.is_non_negative(width) && b.is_non_negative(width)
}

/// What an integer comparison without a boolean operation gives, if the known bits of its operands say.
fn decide(mnemonic: &Mnemonic, a: Known, b: Known) -> Option<bool> {
    use Comparison::*;
    let scalar_type = mnemonic.first_type()?;
    if mnemonic.modifiers().boolean.is_some() {
        return None;
    }
    let comparison = mnemonic.modifiers().comparison?;
    let is_signed =
        scalar_type.is_signed() && !matches!(comparison, Lower | LowerSame | Higher | HigherSame);
    let less = |strict: bool, a: Known, b: Known| {
        let ((a_low, a_high), (b_low, b_high)) = if is_signed {
            let range = |known: Known| {
                let (low, high) = known.signed_range(scalar_type.bits());
                (i128::from(low), i128::from(high))
            };
            (range(a), range(b))
        } else {
            let range = |known: Known| (i128::from(known.minimum()), i128::from(known.maximum()));
            (range(a), range(b))
        };
        let strict = i128::from(strict);
        if a_high + strict <= b_low {
            Some(true)
        } else if a_low + strict > b_high {
            Some(false)
        } else {
            None
        }
    };
    let equal = || {
        if (a.ones & b.zeros) | (a.zeros & b.ones) != 0 {
            Some(false)
        } else {
            (a.as_constant()? == b.as_constant()?).then_some(true)
        }
    };
    match comparison {
        Equal => equal(),
        NotEqual => equal().map(|equal| !equal),
        Less | Lower => less(true, a, b),
        LessEqual | LowerSame => less(false, a, b),
        Greater | Higher => less(true, b, a),
        GreaterEqual | HigherSame => less(false, b, a),
        _ => None,
    }
}

impl Analysis for KnownBits {
    const NAME: &'static str = "known-bits";
    const READS: Reads = Reads {
        control_flow: true,
        values: true,
        order: true,
        effects: false,
        variables: false,
    };

    fn compute(function: &Function, analyses: &mut Analyses) -> KnownBits {
        let flow = analyses.get::<ControlFlow>(function);
        let mut known = KnownBits::new(function, analyses.environment().launch_limits());
        for &block in flow.reverse_postorder() {
            known.enter(function, &flow, block);
            for instruction in function.instructions_of(block) {
                known.step(function, instruction);
            }
            known.leave(function, block);
        }
        known
    }
}

#[cfg(test)]
mod transfer_tests;

#[cfg(test)]
mod tests {
    use super::*;

    /// All that may be known of values of four bits.
    fn all() -> impl Iterator<Item = Known> {
        (0..16u64).flat_map(|zeros| {
            (0..16u64)
                .filter(move |ones| zeros & ones == 0)
                .map(move |ones| Known {
                    zeros: zeros | !15,
                    ones,
                })
        })
    }

    fn members(known: Known) -> impl Iterator<Item = u64> {
        (0..16u64).filter(move |bits| bits & known.zeros == 0 && !bits & known.ones == 0)
    }

    #[track_caller]
    fn holds(known: Known, bits: u64) {
        assert!(
            bits & known.zeros == 0 && !bits & known.ones == 0,
            "{bits:x} is not {known:x?}"
        );
    }

    #[test]
    fn operations_hold_for_every_member() {
        for a in all() {
            for x in members(a) {
                holds(a.not(4), !x & 15);
                holds(a.sign_extend(4, 7), sign_extend(x, 4) as u64 & 127);
                let (low, high) = a.signed_range(4);
                assert!((low..=high).contains(&sign_extend(x, 4)));
                assert!((a.minimum()..=a.maximum()).contains(&x));
            }
            for b in all() {
                let sum = a.add(b, false, 4);
                let carried = a.add(b, true, 4);
                let difference = a.subtract(b, 4);
                let product = a.multiply(b, 4);
                let (left, right) = (a.shift_left(b, 4), a.shift_right(b, 4, false));
                let signed = a.shift_right(b, 4, true);
                let (and, or, xor, join) = (a.and(b), a.or(b), a.xor(b), a.join(b));
                for x in members(a) {
                    holds(join, x);
                    for y in members(b) {
                        holds(sum, (x + y) & 15);
                        holds(carried, (x + y + 1) & 15);
                        holds(difference, x.wrapping_sub(y) & 15);
                        holds(product, (x * y) & 15);
                        holds(left, (x << y) & 15);
                        holds(right, x >> y);
                        holds(signed, (sign_extend(x, 4) >> y.min(3)) as u64 & 15);
                        holds(and, x & y);
                        holds(or, x | y);
                        holds(xor, x ^ y);
                    }
                }
            }
        }
    }

    #[test]
    fn comparisons_are_decided_only_when_all_members_agree() {
        let words = ["eq", "ne", "lt", "le", "gt", "ge"];
        for kind in ["u4", "s4"] {
            for word in words {
                let mnemonic = Mnemonic::parse(&format!("setp.{word}.{kind}"));
                for a in all() {
                    for b in all() {
                        let Some(decided) = decide(&mnemonic, a, b) else {
                            continue;
                        };
                        for x in members(a) {
                            for y in members(b) {
                                let read = |bits: u64| match kind {
                                    "s4" => sign_extend(bits, 4),
                                    _ => bits as i64,
                                };
                                let (x, y) = (read(x), read(y));
                                let truth = match word {
                                    "eq" => x == y,
                                    "ne" => x != y,
                                    "lt" => x < y,
                                    "le" => x <= y,
                                    "gt" => x > y,
                                    _ => x >= y,
                                };
                                assert_eq!(truth, decided);
                            }
                        }
                    }
                }
            }
        }
    }
}
