//! What recurrences are when their loop is left.
//!
//! ## Soundness
//! If the only way out of a loop is taken where two expressions are equal whose difference is `{f,+,u}`, then `u k = -f` modulo two to the
//! width when it is left, whatever `k` is. So `{s,+,q u}` is `s - q f` then: no number of iterations has to be known, nothing has to be
//! divided, and it does not matter what wraps. If the number is known it is `s + t k`.

use super::Query;
use super::conditions::Relation;
use super::expression::Expression;
use super::shape::ExitEdge;
use super::tables::Key;
use oriole_ir::{Block, Value};

impl Query<'_> {
    /// What a value of a loop with one way out is behind the loop, as an expression that does not change in it. The value must be computed in
    /// every iteration before control comes to the way out. The answer is not kept.
    pub fn exit_value(&mut self, value: Value, header: Block) -> Option<Expression> {
        let expression = self.expression(value);
        if self.state.expressions.is_unknown(expression) {
            return None;
        }
        let (own, start, step) = self.state.expressions.as_affine(expression)?;
        let &[exit] = self.state.shape.exits(header) else {
            return None;
        };
        exit.edge?;
        let step = self.state.expressions.as_signed(step)?;
        if own != header {
            return None;
        }
        let bits = self.state.expressions.bits(expression);
        let count = self.backedge_taken(header)?.exact;
        if let Some(count) = self.state.expressions.as_constant(count) {
            let way = (step as u64).wrapping_mul(count);
            return Some(self.state.expressions.add_constant(start, way));
        }
        let difference = self.exit_difference(header, exit)?;
        let (own, first, unit) = self.state.expressions.as_affine(difference)?;
        let unit = self.state.expressions.as_signed(unit)?;
        if own != header
            || self.state.expressions.bits(difference) < bits
            || step.checked_rem(unit)? != 0
        {
            return None;
        }
        let times = step.checked_div(unit)?.wrapping_neg() as u64;
        let expressions = &mut self.state.expressions;
        let way = expressions.scale(first, times);
        let way = expressions.truncate(way, bits);
        let value = self.fold_sum(Key::NOBODY, &[start, way]);
        (!self.state.expressions.is_unknown(value) && self.is_invariant(value, header))
            .then_some(value)
    }

    /// What a loop runs while it is not zero, as far as an exit says that every iteration comes to.
    fn exit_difference(&mut self, header: Block, exit: ExitEdge) -> Option<Expression> {
        let (stay, _) = self.stays_while(header, exit)?;
        if stay.relation != Relation::NotEqual {
            let entry = self.entry_facts(Key::NOBODY, header);
            self.comes_to(header, &entry, stay)?;
        }
        let negated = self.state.expressions.negate(stay.right);
        Some(self.fold_sum(Key::NOBODY, &[stay.left, negated]))
    }

    /// What a value can be compared with, for equality, in place of what is compared at the end of a block that leaves a loop: the exit is
    /// taken where both are equal, and nowhere else. Also by how much faster the value goes than what is compared there.
    ///
    /// If the difference of what is compared is `{f,+,u}` and the value is `{s,+,q u}`, then the value minus `s - q f` is `q` times the
    /// difference. That is zero where the difference is, and nowhere else if `q` is odd, or if the difference is too small for its product
    /// to wrap.
    pub fn equal_exit(
        &mut self,
        value: Value,
        header: Block,
        from: Block,
    ) -> Option<(Expression, i64)> {
        let expression = self.expression(value);
        if self.state.expressions.is_unknown(expression) {
            return None;
        }
        let (own, start, step) = self.state.expressions.as_affine(expression)?;
        let step = self.state.expressions.as_signed(step)?;
        let mut exits = self.state.shape.exits(header).iter();
        let exit = *exits.find(|exit| exit.from == from)?;
        exit.edge?;
        let difference = self.exit_difference(header, exit)?;
        let (other, first, unit) = self.state.expressions.as_affine(difference)?;
        let unit = self.state.expressions.as_signed(unit)?;
        let bits = self.state.expressions.bits(difference);
        if [own, other] != [header; 2]
            || self.state.expressions.bits(expression) != bits
            || step == 0
            || step.checked_rem(unit)? != 0
        {
            return None;
        }
        let times = step.checked_div(unit)?;
        let zeros = times.trailing_zeros();
        if zeros > 0 {
            let (low, high) = self.affine_bounds(difference)?;
            let limit = 1i128 << bits.checked_sub(zeros)?;
            if low <= -limit || high >= limit {
                return None;
            }
        }
        let way = self
            .state
            .expressions
            .scale(first, times.wrapping_neg() as u64);
        let end = self.fold_sum(Key::NOBODY, &[start, way]);
        (!self.state.expressions.is_unknown(end) && self.is_invariant(end, header))
            .then_some((end, times))
    }
}
