//! Layer 4: ranges of expressions, signed, unsigned and by known bits, which tell on each other.
//!
//! ## Soundness
//! A range holds for every execution of the function, wherever the expression is computed. That of a recurrence is what its start and
//! steps come to within the largest count of its loop; if that would leave the numbers of its width, nothing is known but bits.

use super::Query;
use super::arithmetic::{List, at_iteration};
use super::conditions::Relation;
use super::expression::{Expression, Kind, Leaf};
use super::tables::{Key, SignedRange, UnsignedRange};
use super::values::is_guarded_move;
use crate::known_bits::{Known, mask, sign_extend};
use oriole_collections::{DenseSet, SmallVec};
use oriole_ir::{Definition, Instruction, Operand, Value};
use oriole_isa::Opcode;

/// Where the value of an expression lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    bits: u32,
    /// As an unsigned number, with known bits.
    pub unsigned: UnsignedRange,
    /// As a signed number.
    pub signed: SignedRange,
}

impl Range {
    /// Any number of this width.
    pub fn full(bits: u32) -> Range {
        Range {
            bits,
            unsigned: UnsignedRange {
                low: 0,
                high: mask(bits),
                known: Known::unknown(bits),
            },
            signed: SignedRange {
                low: sign_extend(1 << (bits - 1), bits),
                high: (mask(bits) >> 1) as i64,
            },
        }
    }

    /// One number.
    pub fn constant(value: u64, bits: u32) -> Range {
        let value = value & mask(bits);
        let signed = sign_extend(value, bits);
        Range {
            bits,
            unsigned: UnsignedRange {
                low: value,
                high: value,
                known: Known::constant(value),
            },
            signed: SignedRange {
                low: signed,
                high: signed,
            },
        }
    }

    /// Numbers with these bits.
    fn known(known: Known, bits: u32) -> Range {
        let mut range = Range::full(bits);
        let known = known.truncate(bits);
        if known == range.unsigned.known {
            return range;
        }
        range.unsigned.known = known;
        range.reduced()
    }

    /// Its width.
    pub fn bits(&self) -> u32 {
        self.bits
    }

    /// The only number in it.
    pub fn as_constant(&self) -> Option<u64> {
        (self.unsigned.low == self.unsigned.high).then_some(self.unsigned.low)
    }

    /// Whether a number of the width is in it.
    pub fn contains(&self, value: u64) -> bool {
        let known = self.unsigned.known;
        (self.unsigned.low..=self.unsigned.high).contains(&value)
            && (self.signed.low..=self.signed.high).contains(&sign_extend(value, self.bits))
            && value & known.zeros == 0
            && !value & known.ones == 0
    }

    /// Of how many zeros at its end every number in it has at least: it is a multiple of that power of two.
    pub fn trailing_zeros(&self) -> u32 {
        self.unsigned.known.zeros.trailing_ones().min(self.bits)
    }

    /// Narrowed to unsigned bounds, if there are numbers of the width between them.
    pub(super) fn with_unsigned(mut self, low: i128, high: i128) -> Range {
        let is_number = low >= 0 && high <= i128::from(mask(self.bits));
        if !is_number || low <= self.unsigned.low.into() && high >= self.unsigned.high.into() {
            return self;
        }
        self.unsigned.low = self.unsigned.low.max(low as u64);
        self.unsigned.high = self.unsigned.high.min(high as u64);
        self.reduced()
    }

    /// Narrowed to signed bounds, if these are numbers of the width.
    pub(super) fn with_signed(mut self, low: i128, high: i128) -> Range {
        let (least, most) = (
            i128::from(sign_extend(1 << (self.bits - 1), self.bits)),
            i128::from(mask(self.bits) >> 1),
        );
        let is_number = low >= least && high <= most;
        if !is_number || low <= self.signed.low.into() && high >= self.signed.high.into() {
            return self;
        }
        self.signed.low = self.signed.low.max(low as i64);
        self.signed.high = self.signed.high.min(high as i64);
        self.reduced()
    }

    /// Whether no number is in it: code that control does not reach.
    fn is_empty(&self) -> bool {
        self.unsigned.low > self.unsigned.high
            || self.signed.low > self.signed.high
            || self.unsigned.known.zeros & self.unsigned.known.ones != 0
    }

    /// Lets bounds and bits tell on each other. A range without numbers becomes the full one: it says nothing about code that runs.
    fn reduced(mut self) -> Range {
        let bits = self.bits;
        for _ in 0..2 {
            if self.is_empty() {
                return Range::full(bits);
            }
            let before = self;
            let known = self.unsigned.known;
            self.unsigned.low = self.unsigned.low.max(known.minimum());
            self.unsigned.high = self.unsigned.high.min(known.maximum());
            let (low, high) = known.signed_range(bits);
            self.signed.low = self.signed.low.max(low);
            self.signed.high = self.signed.high.min(high);
            if self.is_empty() {
                return Range::full(bits);
            }
            // Numbers of one sign are in the same order either way.
            if self.signed.low >= 0 || self.signed.high < 0 {
                self.unsigned.low = self.unsigned.low.max(self.signed.low as u64 & mask(bits));
                self.unsigned.high = self.unsigned.high.min(self.signed.high as u64 & mask(bits));
            }
            let top = |value: u64| value >> (bits - 1) & 1;
            if top(self.unsigned.low) == top(self.unsigned.high) {
                let (low, high) = (
                    sign_extend(self.unsigned.low, bits),
                    sign_extend(self.unsigned.high, bits),
                );
                self.signed.low = self.signed.low.max(low);
                self.signed.high = self.signed.high.min(high);
            }
            if self.is_empty() {
                return Range::full(bits);
            }
            // Bits above the first in which the bounds differ are the same in all numbers between.
            let differ = self.unsigned.low ^ self.unsigned.high;
            let same = !mask(64 - differ.leading_zeros());
            self.unsigned.known.ones |= self.unsigned.low & same;
            self.unsigned.known.zeros |= !self.unsigned.low & same;
            if self == before {
                break;
            }
        }
        self
    }

    /// Numbers in both.
    pub fn meet(self, other: Range) -> Range {
        debug_assert_eq!(self.bits, other.bits);
        let both = Range {
            bits: self.bits,
            unsigned: UnsignedRange {
                low: self.unsigned.low.max(other.unsigned.low),
                high: self.unsigned.high.min(other.unsigned.high),
                known: Known {
                    zeros: self.unsigned.known.zeros | other.unsigned.known.zeros,
                    ones: self.unsigned.known.ones | other.unsigned.known.ones,
                },
            },
            signed: SignedRange {
                low: self.signed.low.max(other.signed.low),
                high: self.signed.high.min(other.signed.high),
            },
        };
        both.reduced()
    }

    /// Numbers in either.
    fn join(self, other: Range) -> Range {
        debug_assert_eq!(self.bits, other.bits);
        Range {
            bits: self.bits,
            unsigned: UnsignedRange {
                low: self.unsigned.low.min(other.unsigned.low),
                high: self.unsigned.high.max(other.unsigned.high),
                known: self.unsigned.known.join(other.unsigned.known),
            },
            signed: SignedRange {
                low: self.signed.low.min(other.signed.low),
                high: self.signed.high.max(other.signed.high),
            },
        }
    }

    /// Sums.
    pub(super) fn add(self, other: Range) -> Range {
        let known = self
            .unsigned
            .known
            .add(other.unsigned.known, false, self.bits);
        let unsigned = |a: u64, b: u64| i128::from(a) + i128::from(b);
        let signed = |a: i64, b: i64| i128::from(a) + i128::from(b);
        let (low, high) = (
            unsigned(self.unsigned.low, other.unsigned.low),
            unsigned(self.unsigned.high, other.unsigned.high),
        );
        let most = i128::from(mask(self.bits));
        // All sums wrap, or none does.
        let turn = if low > most { most + 1 } else { 0 };
        Range::known(known, self.bits)
            .with_unsigned(low - turn, high - turn)
            .with_signed(
                signed(self.signed.low, other.signed.low),
                signed(self.signed.high, other.signed.high),
            )
            // A number that is only subtracted.
            .with_unsigned(
                i128::from(self.unsigned.low) + i128::from(other.signed.low),
                i128::from(self.unsigned.high) + i128::from(other.signed.high),
            )
    }

    fn multiply(self, other: Range) -> Range {
        let known = self
            .unsigned
            .known
            .multiply(other.unsigned.known, self.bits);
        let product = |a: u64, b: u64| {
            let product = u128::from(a) * u128::from(b);
            product.min(i128::MAX as u128) as i128
        };
        let ends = [self.signed.low, self.signed.high];
        let others = [other.signed.low, other.signed.high];
        let corners = ends.iter().flat_map(|&a| {
            let corner = move |&b: &i64| i128::from(a) * i128::from(b);
            others.iter().map(corner)
        });
        let low = corners.clone().min().unwrap_or(i128::MIN);
        let high = corners.max().unwrap_or(i128::MAX);
        Range::known(known, self.bits)
            .with_unsigned(
                product(self.unsigned.low, other.unsigned.low),
                product(self.unsigned.high, other.unsigned.high),
            )
            .with_signed(low, high)
    }

    fn unsigned_divide(self, other: Range) -> Range {
        if other.unsigned.low == 0 {
            return Range::full(self.bits);
        }
        Range::full(self.bits).with_unsigned(
            i128::from(self.unsigned.low / other.unsigned.high),
            i128::from(self.unsigned.high / other.unsigned.low),
        )
    }

    fn truncate(self, bits: u32) -> Range {
        let range = Range::known(self.unsigned.known, bits);
        let above = |value: u64| value & !mask(bits);
        // If nothing but low bits differs, these are in order.
        let range = match above(self.unsigned.low) == above(self.unsigned.high) {
            true => range.with_unsigned(
                i128::from(self.unsigned.low & mask(bits)),
                i128::from(self.unsigned.high & mask(bits)),
            ),
            false => range,
        };
        range.with_signed(self.signed.low.into(), self.signed.high.into())
    }

    fn zero_extend(self, bits: u32) -> Range {
        let known = Known {
            zeros: self.unsigned.known.zeros | !mask(self.bits),
            ones: self.unsigned.known.ones,
        };
        Range::known(known, bits).with_unsigned(self.unsigned.low.into(), self.unsigned.high.into())
    }

    fn sign_extend(self, bits: u32) -> Range {
        let known = self.unsigned.known.sign_extend(self.bits, bits);
        Range::known(known, bits).with_signed(self.signed.low.into(), self.signed.high.into())
    }

    pub(super) fn extreme(self, kind: Kind, other: Range) -> Range {
        let (a, b) = (self.unsigned, other.unsigned);
        let (c, d) = (self.signed, other.signed);
        let range = self.join(other);
        match kind {
            Kind::UnsignedMax => {
                range.with_unsigned(a.low.max(b.low).into(), a.high.max(b.high).into())
            }
            Kind::UnsignedMin | Kind::SequentialUnsignedMin => {
                range.with_unsigned(a.low.min(b.low).into(), a.high.min(b.high).into())
            }
            Kind::SignedMax => {
                range.with_signed(c.low.max(d.low).into(), c.high.max(d.high).into())
            }
            _ => range.with_signed(c.low.min(d.low).into(), c.high.min(d.high).into()),
        }
    }

    /// Whether a relation holds between all numbers of two ranges, or between none.
    pub(super) fn decides(self, relation: Relation, other: Range) -> Option<bool> {
        let (a, b) = (self.unsigned, other.unsigned);
        let (c, d) = (self.signed, other.signed);
        let ordered = |always: bool, never: bool| match (always, never) {
            (true, _) => Some(true),
            (_, true) => Some(false),
            _ => None,
        };
        match relation {
            Relation::UnsignedLess => ordered(a.high < b.low, a.low >= b.high),
            Relation::UnsignedLessEqual => ordered(a.high <= b.low, a.low > b.high),
            Relation::SignedLess => ordered(c.high < d.low, c.low >= d.high),
            Relation::SignedLessEqual => ordered(c.high <= d.low, c.low > d.high),
            Relation::Equal | Relation::NotEqual => {
                let differ = a.high < b.low
                    || b.high < a.low
                    || c.high < d.low
                    || d.high < c.low
                    || a.known.ones & b.known.zeros | a.known.zeros & b.known.ones != 0;
                let same =
                    self.as_constant().is_some() && self.as_constant() == other.as_constant();
                ordered(same, differ).map(|equal| equal == (relation == Relation::Equal))
            }
        }
    }

    /// Both ranges narrowed by a relation that holds between their numbers.
    pub(super) fn compared(self, relation: Relation, other: Range) -> (Range, Range) {
        let (a, b) = (self.unsigned, other.unsigned);
        let (c, d) = (self.signed, other.signed);
        let highest = i128::from(mask(self.bits));
        let most = i128::from(mask(self.bits) >> 1);
        let least = -most - 1;
        let strict = i128::from(matches!(
            relation,
            Relation::UnsignedLess | Relation::SignedLess
        ));
        match relation {
            Relation::Equal => {
                let both = self.meet(other);
                (both, both)
            }
            Relation::NotEqual => {
                let except = |range: Range, other: Range| match other.as_constant() {
                    Some(value) => range.without(value),
                    None => range,
                };
                (except(self, other), except(other, self))
            }
            Relation::UnsignedLess | Relation::UnsignedLessEqual => (
                self.with_unsigned(0, i128::from(b.high) - strict),
                other.with_unsigned(i128::from(a.low) + strict, highest),
            ),
            Relation::SignedLess | Relation::SignedLessEqual => (
                self.with_signed(least, i128::from(d.high) - strict),
                other.with_signed(i128::from(c.low) + strict, most),
            ),
        }
    }

    /// Without a number, if that is one of its ends.
    fn without(self, value: u64) -> Range {
        let signed = sign_extend(value, self.bits);
        let mut range = self;
        if range.unsigned.low == value && value < range.unsigned.high {
            range.unsigned.low += 1;
        } else if range.unsigned.high == value && value > range.unsigned.low {
            range.unsigned.high -= 1;
        }
        if range.signed.low == signed && signed < range.signed.high {
            range.signed.low += 1;
        } else if range.signed.high == signed && signed > range.signed.low {
            range.signed.high -= 1;
        }
        range.reduced()
    }
}

/// Expressions that wait for others before cycles among them are looked for.
const SHALLOW: usize = 64;

impl Query<'_> {
    /// The range of a value.
    pub fn value_range(&mut self, value: Value) -> Option<Range> {
        let expression = self.expression(value);
        if self.state.expressions.is_unknown(expression) {
            return None;
        }
        let entry = self.value(value);
        let range = self.range(expression);
        Some(range.meet(Range::known(entry.known, range.bits)))
    }

    /// The range of an expression, for an entry that is computed from it.
    pub(super) fn read_range(&mut self, reader: Key, expression: Expression) -> Range {
        let range = self.range(expression);
        if self.state.expressions.as_constant(expression).is_none() {
            self.state.tables.read(reader, Key::range(expression));
        }
        range
    }

    fn known_range(&self, expression: Expression) -> Option<Range> {
        let bits = self.state.expressions.bits(expression);
        if let Some(value) = self.state.expressions.as_constant(expression) {
            return Some(Range::constant(value, bits));
        }
        let (unsigned, signed) = self.state.tables.range_of(expression)?;
        Some(Range {
            bits,
            unsigned,
            signed,
        })
    }

    /// The range of an expression of layer 2.
    pub fn range(&mut self, expression: Expression) -> Range {
        match self.known_range(expression) {
            Some(found) => found,
            None => self.new_range(expression),
        }
    }

    /// The range of an expression that is not there yet. It is asked for far less often.
    #[inline(never)]
    fn new_range(&mut self, expression: Expression) -> Range {
        let mut stack: SmallVec<[Expression; 16]> = SmallVec::new();
        stack.push(expression);
        // Those that wait for their operands, once there are many.
        let mut waiting: DenseSet<Expression> = DenseSet::new();
        while let Some(&top) = stack.last() {
            if self.known_range(top).is_some() {
                waiting.remove(&top);
                stack.pop();
                continue;
            }
            if stack.len() > SHALLOW {
                waiting.insert(top);
            }
            let mut below = self.range_operands(top);
            let mut unknown = self.without_ranges(&below);
            // What a sum is distributed to takes longer to find: once.
            if unknown.is_empty() && self.state.expressions.kind(top) == Kind::Add {
                let made = self.distributed(top);
                unknown = self.without_ranges(&made);
                below.extend(made);
            }
            if let Some(&each) = unknown.iter().find(|&each| waiting.contains(each)) {
                let start = stack.iter().rposition(|&it| it == each).unwrap_or(0);
                let members = stack[start..].iter().copied();
                let cycle: List = members.filter(|it| waiting.contains(it)).collect();
                self.give_up_ranges(&cycle);
            } else if unknown.is_empty() {
                let range = self.compute_range(top, &below);
                self.set_range(top, range);
                waiting.remove(&top);
                stack.pop();
            } else {
                stack.extend(unknown);
            }
        }
        self.known_range(expression).expect("computed above")
    }

    /// Those of some expressions whose ranges are not there.
    fn without_ranges(&self, expressions: &[Expression]) -> List {
        let each = expressions.iter().copied();
        each.filter(|&it| self.known_range(it).is_none()).collect()
    }

    fn set_range(&mut self, expression: Expression, range: Range) {
        let tables = &mut self.state.tables;
        let entry = tables.ranges.ensure(expression, None);
        let before = entry.replace((range.unsigned, range.signed));
        // One that waited for itself was found on the way.
        if before.is_none() {
            tables.filled();
        }
    }

    /// Nothing is known of expressions that are computed from each other: values that loops which share no header hand on.
    fn give_up_ranges(&mut self, cycle: &[Expression]) {
        for &each in cycle {
            let key = Key::range(each);
            let mut operands = self.range_operands(each);
            operands.extend(self.distributed(each));
            for below in operands {
                if self.state.expressions.as_constant(below).is_none() {
                    self.state.tables.read(key, Key::range(below));
                }
            }
            let bits = self.state.expressions.bits(each);
            self.set_range(each, Range::full(bits));
        }
    }

    /// The expressions whose ranges that of an expression is computed from: its operands, or what a leaf chooses from. What a sum is distributed to
    /// ([`Query::distributed`]) comes besides.
    fn range_operands(&mut self, expression: Expression) -> List {
        match self.state.expressions.as_leaf(expression) {
            Some(Leaf::Value(value)) => {
                let arms = self.arms(value);
                self.expressions_of(Key::range(expression), &arms)
            }
            Some(Leaf::Start(parameter)) => {
                let Some(header) = self.function.defining_block(parameter) else {
                    return SmallVec::new();
                };
                let key = Key::range(expression);
                self.state.tables.read(key, Key::incoming(header));
                self.state.tables.read(key, Key::in_loop(header));
                let is_outside = |block| !self.state.shape.contains(header, block);
                let starts = self.arguments(header, parameter, is_outside);
                let starts: SmallVec<[Value; 4]> = starts.iter().map(|&(_, it)| it).collect();
                self.expressions_of(key, &starts)
            }
            _ => SmallVec::from_slice(self.state.expressions.operands(expression)),
        }
    }

    fn expressions_of(&mut self, key: Key, values: &[Value]) -> List {
        values
            .iter()
            .map(|&value| self.read_expression(key, value))
            .collect()
    }

    /// The values that a value is one of.
    pub(super) fn arms(&self, value: Value) -> SmallVec<[Value; 4]> {
        let function = self.function;
        match function.values()[value].definition {
            Definition::Undefined => SmallVec::new(),
            Definition::Parameter(block) => self.joined(block, value),
            Definition::Instruction(instruction) => {
                let format = function.format(instruction);
                let is_select = format.is_simple() && format.mnemonic.opcode() == Opcode::Selp;
                if !self.is_reached(instruction) || !(is_select || is_guarded_move(format)) {
                    return SmallVec::new();
                }
                let operands = function.operands(instruction);
                let arms: &[Operand] = match is_select {
                    true => &operands[1..3],
                    // Guard, what there was, result, what is moved.
                    false => &[operands[1], operands[3]],
                };
                let values: SmallVec<[Value; 4]> =
                    arms.iter().filter_map(|arm| arm.value()).collect();
                // Numbers among the arms are in the known bits only.
                match values.len() == arms.len() {
                    true => values,
                    false => SmallVec::new(),
                }
            }
        }
    }

    fn compute_range(&mut self, expression: Expression, below: &[Expression]) -> Range {
        let key = Key::range(expression);
        let bits = self.state.expressions.bits(expression);
        let mut operands: SmallVec<[Range; 8]> = SmallVec::new();
        for &each in below {
            operands.push(self.read_range(key, each));
        }
        match self.state.expressions.as_leaf(expression) {
            Some(Leaf::Value(value)) => self.leaf_range(key, value, bits, &operands),
            Some(Leaf::Start(_)) => {
                let same = operands.iter().all(|range| range.bits == bits);
                let all = operands.into_iter().reduce(Range::join);
                all.filter(|_| same).unwrap_or(Range::full(bits))
            }
            Some(Leaf::Special(special)) => match self.state.bounds.range(special) {
                Some((low, high)) => Range::full(bits).with_unsigned(low.into(), high.into()),
                None => Range::full(bits),
            },
            Some(Leaf::Symbol(_) | Leaf::Parameter(..)) => Range::full(bits),
            None if self.state.expressions.kind(expression) == Kind::Recurrence => {
                self.recurrence_range(key, expression, &operands)
            }
            None => {
                let count = self.state.expressions.operands(expression).len();
                let (terms, made) = operands.split_at(count);
                let range = self.combined(expression, terms);
                if made.is_empty() {
                    return range;
                }
                match self.distributed_range(expression, terms, made) {
                    Some(other) => range.meet(other),
                    None => range,
                }
            }
        }
    }

    /// The range of a node from those of its operands.
    pub(super) fn combined(&self, expression: Expression, operands: &[Range]) -> Range {
        let expressions = &self.state.expressions;
        let bits = expressions.bits(expression);
        let kind = expressions.kind(expression);
        let fold = |with: fn(Range, Range) -> Range| operands.iter().copied().reduce(with);
        let range = match kind {
            Kind::Add => fold(Range::add),
            Kind::Multiply => fold(Range::multiply),
            Kind::UnsignedDivide => fold(Range::unsigned_divide),
            Kind::Truncate => operands.first().map(|it| it.truncate(bits)),
            Kind::ZeroExtend => operands.first().map(|it| it.zero_extend(bits)),
            Kind::SignExtend => operands.first().map(|it| it.sign_extend(bits)),
            Kind::SignedMax
            | Kind::UnsignedMax
            | Kind::SignedMin
            | Kind::UnsignedMin
            | Kind::SequentialUnsignedMin => {
                operands.iter().copied().reduce(|a, b| a.extreme(kind, b))
            }
            _ => None,
        };
        range.unwrap_or(Range::full(bits))
    }

    /// The range of a value that is a leaf.
    fn leaf_range(&mut self, key: Key, value: Value, bits: u32, arms: &[Range]) -> Range {
        let entry = self.value(value);
        self.state.tables.read(key, Key::value(value));
        let mut range = Range::known(entry.known, bits);
        if arms.iter().all(|arm| arm.bits == bits)
            && let Some(all) = arms.iter().copied().reduce(Range::join)
        {
            range = range.meet(all);
        }
        if let Definition::Instruction(instruction) = self.function.values()[value].definition
            && entry.is_reached
            && let Some(high) = self.remainder_bound(instruction)
        {
            range = range.with_unsigned(0, high.into());
        }
        range
    }

    /// The largest remainder of a division by a number that is not 0.
    fn remainder_bound(&self, instruction: Instruction) -> Option<u64> {
        let format = self.function.format(instruction);
        if !format.is_simple() || format.mnemonic.opcode() != Opcode::Rem {
            return None;
        }
        let wanted = format.mnemonic.first_type()?;
        let &[_, dividend, Operand::Constant(divisor)] = self.function.operands(instruction) else {
            return None;
        };
        let literal = self.function.constants()[divisor].literal?;
        let divisor = crate::known_bits::literal_bits(literal, wanted)?;
        let is_non_negative = !wanted.is_signed()
            || divisor >> (wanted.bits() - 1) == 0
                && self
                    .state
                    .tables
                    .value(dividend.value()?)?
                    .known
                    .is_non_negative(wanted.bits());
        (divisor != 0 && is_non_negative).then(|| divisor - 1)
    }

    /// The range of a recurrence from those of its operands and the largest count of its loop.
    fn recurrence_range(&mut self, key: Key, expression: Expression, operands: &[Range]) -> Range {
        let header = self
            .state
            .expressions
            .header(expression)
            .expect("a recurrence");
        let bits = self.state.expressions.bits(expression);
        let maximum = self.maximum_count(header);
        self.state.tables.read(key, Key::count(header));
        // Every sum of multiples is one.
        let zeros = operands
            .iter()
            .map(Range::trailing_zeros)
            .min()
            .unwrap_or(0);
        let multiple = Known {
            zeros: !mask(bits) | mask(zeros),
            ones: 0,
        };
        let range = Range::known(multiple, bits);
        let Some(maximum) = maximum else {
            return range;
        };
        let [start, step] = operands else {
            return self.listed(operands, maximum, bits).meet(range);
        };
        let most = i128::from(maximum);
        // A step may be meant as a signed or an unsigned number: whatever stays within bounds does not wrap.
        let span = |low: i128, high: i128| {
            let (low, high) = (low.min(0).checked_mul(most), high.max(0).checked_mul(most));
            low.zip(high)
        };
        let mut range = range;
        let signed_step = (i128::from(step.signed.low), i128::from(step.signed.high));
        let unsigned_step = (
            i128::from(step.unsigned.low),
            i128::from(step.unsigned.high),
        );
        for (low, high) in [signed_step, unsigned_step] {
            let Some((low, high)) = span(low, high) else {
                continue;
            };
            // What saturates is no number of any width.
            let end = |first: i128, way: i128| first.saturating_add(way);
            range = range.with_signed(
                end(start.signed.low.into(), low),
                end(start.signed.high.into(), high),
            );
            range = range.with_unsigned(
                end(start.unsigned.low.into(), low),
                end(start.unsigned.high.into(), high),
            );
        }
        range
    }

    /// The range of a recurrence of numbers that is not long, value by value.
    fn listed(&self, operands: &[Range], maximum: u64, bits: u32) -> Range {
        let constants: Option<SmallVec<[u64; 8]>> =
            operands.iter().map(Range::as_constant).collect();
        let Some(constants) = constants else {
            return Range::full(bits);
        };
        if maximum > u64::from(self.state.knobs.max_iterations) {
            return Range::full(bits);
        }
        let mut all: Option<Range> = None;
        for iteration in 0..=maximum {
            let Some(value) = at_iteration(&constants, iteration) else {
                return Range::full(bits);
            };
            let one = Range::constant(value, bits);
            all = Some(all.map_or(one, |all| all.join(one)));
        }
        all.unwrap_or(Range::full(bits))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BITS: u32 = 4;

    /// Ranges of four bits: all pairs of unsigned and signed bounds, some known bits.
    fn all() -> Vec<Range> {
        let mut ranges = vec![Range::full(BITS)];
        for low in 0..16i128 {
            for high in low..16 {
                ranges.push(Range::full(BITS).with_unsigned(low, high));
                if (low + high) % 3 == 0 {
                    ranges.push(Range::full(BITS).with_signed(low - 8, high - 8));
                }
            }
        }
        for zeros in 0..16u64 {
            let known = Known {
                zeros: zeros | !15,
                ones: !zeros & 5,
            };
            ranges.push(Range::known(known, BITS));
        }
        ranges.dedup();
        ranges
    }

    fn members(range: Range) -> impl Iterator<Item = u64> {
        (0..16u64).filter(move |&value| range.contains(value))
    }

    #[test]
    fn operations_hold_for_every_member() {
        for a in all() {
            for x in members(a) {
                assert!(a.truncate(3).contains(x & 7), "{a:?}");
                assert!(a.zero_extend(6).contains(x), "{a:?}");
                let wide = sign_extend(x, BITS) as u64 & 63;
                assert!(a.sign_extend(6).contains(wide), "{a:?}");
                for value in 0..16 {
                    assert!(value == x || a.without(value).contains(x));
                }
            }
            for b in all() {
                let sum = a.add(b);
                let product = a.multiply(b);
                let quotient = a.unsigned_divide(b);
                let join = a.join(b);
                let extremes = [
                    Kind::UnsignedMax,
                    Kind::UnsignedMin,
                    Kind::SignedMax,
                    Kind::SignedMin,
                ]
                .map(|kind| a.extreme(kind, b));
                for x in members(a) {
                    assert!(join.contains(x));
                    for y in members(b) {
                        assert!(sum.contains((x + y) & 15), "{a:?} + {b:?} = {sum:?}");
                        assert!(product.contains((x * y) & 15), "{a:?} {b:?} {product:?}");
                        if let Some(result) = x.checked_div(y) {
                            assert!(quotient.contains(result));
                        }
                        let signed = |it: &u64| sign_extend(*it, BITS);
                        let pair = [x, y];
                        let picked = [
                            pair.into_iter().max(),
                            pair.into_iter().min(),
                            pair.into_iter().max_by_key(signed),
                            pair.into_iter().min_by_key(signed),
                        ];
                        for (range, value) in extremes.iter().zip(picked) {
                            assert!(range.contains(value.unwrap()), "{a:?} {b:?} {range:?}");
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn relations_are_decided_and_used_soundly() {
        use Relation::*;
        let relations = [
            Equal,
            NotEqual,
            UnsignedLess,
            UnsignedLessEqual,
            SignedLess,
            SignedLessEqual,
        ];
        for a in all() {
            for b in all() {
                for relation in relations {
                    let decided = a.decides(relation, b);
                    let (left, right) = a.compared(relation, b);
                    for x in members(a) {
                        for y in members(b) {
                            let holds = relation.holds(x, y, BITS);
                            assert!(decided.is_none_or(|decided| decided == holds));
                            if holds {
                                assert!(left.contains(x) && right.contains(y));
                            }
                        }
                    }
                }
            }
        }
    }
}
