//! Comparisons of 64-bit numbers that the low halves of these decide.
//!
//! ## Soundness
//! Numbers below `2^32` compare as their low halves do as unsigned numbers, and numbers with copies of bit 31 above it as their low halves
//! do the same way. Whether two numbers are equal is decided by the low halves if their difference, as a signed number, is not a multiple of
//! `2^32` other than 0: if it lies between `-2^32` and `2^32`.
//!
//! A loop that runs while a number which goes up by one is below another that stays ends where the two are equal, if the first is not above
//! the second when the loop is entered. Until then the second minus the first, which is less than `2^32` at first, only gets smaller.

use super::Query;
use super::conditions::{Comparing, Condition, Relation};
use super::expression::Expression;
use super::guards::Facts;
use super::ranges::Range;
use super::shape::ExitEdge;
use super::tables::Key;
use oriole_ir::{Block, Instruction, Operand};
use oriole_isa::{Opcode, ScalarType};

/// How the low halves of two numbers compare as the numbers do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LowHalves {
    /// As unsigned numbers, whatever the numbers are compared as.
    Unsigned,
    /// As what the numbers are compared as.
    Same,
    /// It holds where they differ.
    Differ,
    /// It holds where they are equal.
    Equal,
}

impl Query<'_> {
    /// How the low halves of what a `setp` of 64-bit integers in a block compares decide it, if they do. The answer is not kept.
    pub fn low_halves(&mut self, setp: Instruction, block: Block) -> Option<LowHalves> {
        let function = self.function;
        let format = function.format(setp);
        let compared = format.mnemonic.first_type()?;
        if format.mnemonic.opcode() != Opcode::Setp
            || !format.is_simple()
            || compared.is_float()
            || compared.bits() != 64
            || compared.lanes() > 1
        {
            return None;
        }
        let &[_, left, right, ..] = function.operands(setp) else {
            return None;
        };
        let sides = [
            self.compared_number(left, compared)?,
            self.compared_number(right, compared)?,
        ];
        let mut ranges = sides.map(|(_, range)| range);
        if let Some(found) = halves(&ranges) {
            return Some(found);
        }
        let facts = self.facts(Key::NOBODY, block);
        for (range, (side, _)) in ranges.iter_mut().zip(sides) {
            *range = range.meet(self.range_at(Key::NOBODY, &facts, side));
        }
        if let Some(found) = halves(&ranges) {
            return Some(found);
        }
        use oriole_isa::Comparison::{Equal, NotEqual};
        let comparison = format.mnemonic.modifiers().comparison?;
        if !matches!(comparison, Equal | NotEqual) {
            return self.low_halves_of_exit(setp, block);
        }
        let (low, high) = self.difference_bounds(&facts, sides[0].0, sides[1].0)?;
        (low > -(1 << 32) && high < 1 << 32).then_some(LowHalves::Same)
    }

    /// An exit of a loop that every iteration comes to, and that is taken once a number which goes up by one is no longer below another
    /// that stays: if it is not above it at first, it is taken once the two are equal.
    fn low_halves_of_exit(&mut self, setp: Instruction, block: Block) -> Option<LowHalves> {
        let mut results = self.function.results(setp);
        let (Some(predicate), None) = (results.next(), results.next()) else {
            return None;
        };
        if self
            .function
            .format(setp)
            .mnemonic
            .modifiers()
            .boolean
            .is_some()
        {
            return None;
        }
        let this = self.state.shape.loops.innermost(block)?;
        let header = self.state.shape.loops.header(this);
        let exits = self.state.shape.exits(header).to_vec();
        let exit = exits.into_iter().find(|exit| {
            let branch = self.branch(Key::NOBODY, exit.from);
            branch.is_some_and(|branch| branch.predicate == predicate)
        })?;
        let (stay, leaves_if_true) = self.stays_while(header, exit)?;
        let entry = self.entry_facts(Key::NOBODY, header);
        let first = self.comes_to(header, &entry, stay)?;
        let negated = self.state.expressions.negate(first);
        let distance = self.fold_sum(Key::NOBODY, &[stay.right, negated]);
        let range = self.range_at(Key::NOBODY, &entry, distance);
        (range.unsigned.high < 1 << 32).then_some(match leaves_if_true {
            true => LowHalves::Equal,
            false => LowHalves::Differ,
        })
    }

    /// The comparison that keeps control in a loop at an exit that every iteration comes to, and whether the loop is left if the predicate
    /// there is true.
    pub(super) fn stays_while(
        &mut self,
        header: Block,
        exit: ExitEdge,
    ) -> Option<(Comparing, bool)> {
        let branch = self.branch(Key::NOBODY, exit.from)?;
        let leaves_if_true = branch.if_true == exit.edge;
        if leaves_if_true == (branch.if_false == exit.edge)
            || !self.is_always_reached(Key::NOBODY, header, exit.from)
        {
            return None;
        }
        let condition = self.condition(Key::NOBODY, branch.predicate);
        match condition.when(!leaves_if_true) {
            Condition::Compare(stay) => Some((stay, leaves_if_true)),
            _ => None,
        }
    }

    /// Whether a loop that runs while one number is below another ends with both equal: the first goes up by one, the second stays, and the
    /// first is not above it when the loop is entered. Gives the first when the loop is entered.
    pub(super) fn comes_to(
        &mut self,
        header: Block,
        entry: &Facts,
        stay: Comparing,
    ) -> Option<Expression> {
        if !matches!(stay.relation, Relation::SignedLess | Relation::UnsignedLess)
            || !self.is_invariant(stay.right, header)
        {
            return None;
        }
        let (own, first, step) = self.state.expressions.as_affine(stay.left)?;
        if own != header || self.state.expressions.as_constant(step) != Some(1) {
            return None;
        }
        let is_not_above = Comparing {
            relation: Relation::less_equal(stay.relation.is_signed()),
            left: first,
            right: stay.right,
        };
        (self.decide(Key::NOBODY, entry, is_not_above) == Some(true)).then_some(first)
    }

    fn compared_number(
        &mut self,
        operand: Operand,
        compared: ScalarType,
    ) -> Option<(Expression, Range)> {
        let Operand::Value(value) = operand else {
            let (expression, _) = self.operand(operand, compared)?;
            return Some((expression, self.range(expression)));
        };
        let expression = self.expression(value);
        let range = self.value_range(value)?;
        (range.bits() == 64).then_some((expression, range))
    }

    /// Between which signed numbers a difference lies where facts hold: if it changes in a loop, by what it is when the loop is entered
    /// and the largest count.
    fn difference_bounds(
        &mut self,
        facts: &Facts,
        left: Expression,
        right: Expression,
    ) -> Option<(i128, i128)> {
        let negated = self.state.expressions.negate(right);
        let difference = self.fold_sum(Key::NOBODY, &[left, negated]);
        if self.state.expressions.as_affine(difference).is_some() {
            return self.affine_bounds(difference);
        }
        let signed = self.range_at(Key::NOBODY, facts, difference).signed;
        Some((signed.low.into(), signed.high.into()))
    }

    /// Between which signed numbers a recurrence lies by what it is when its loop is entered and the largest count.
    pub(super) fn affine_bounds(&mut self, recurrence: Expression) -> Option<(i128, i128)> {
        let (header, first, step) = self.state.expressions.as_affine(recurrence)?;
        let step = i128::from(self.state.expressions.as_signed(step)?);
        let most = i128::from(self.maximum_count(header)?);
        let entry = self.entry_facts(Key::NOBODY, header);
        let first = self.range_at(Key::NOBODY, &entry, first).signed;
        let way = step.checked_mul(most)?;
        let low = i128::from(first.low) + way.min(0);
        let high = i128::from(first.high) + way.max(0);
        Some((low, high))
    }
}

/// How low halves of numbers of these ranges compare as the numbers do.
fn halves(ranges: &[Range; 2]) -> Option<LowHalves> {
    let is_small = |range: &Range| range.unsigned.high <= u64::from(u32::MAX);
    let is_extended = |range: &Range| {
        range.signed.low >= i64::from(i32::MIN) && range.signed.high <= i64::from(i32::MAX)
    };
    if ranges.iter().all(is_small) {
        Some(LowHalves::Unsigned)
    } else if ranges.iter().all(is_extended) {
        Some(LowHalves::Same)
    } else {
        None
    }
}
