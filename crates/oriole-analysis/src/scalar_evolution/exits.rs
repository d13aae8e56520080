//! Layer 3: how often the back edge of a loop is taken before an exit is.
//!
//! ## Soundness
//! The count of an exit is the smallest number of iterations after which its condition holds, given what the recurrence in it is modulo two
//! to its width. It means something only for an exit that every iteration comes to.
//!
//! - `{s,+,t} != e` stays true until `k t = e - s`, modulo two to the width. With `t = u 2^z`, `u` odd, there is a solution if `e - s` is a
//!   multiple of `2^z`, and the smallest is `(e - s) / 2^z` times the inverse of `u`, modulo `2^(w - z)`.
//! - `{s,+,t} < e` with `t > 0` stays true for `ceil((max(e, s) - s) / t)` iterations if the step that leaves does not wrap: `e + t - 1` is at
//!   most the largest number, or `e - s` is a multiple of `t`. If neither is known, it is an assumption.
//! - `<=` is `<` of the next number, unless the bound may be the largest: then that it is not is an assumption.

use super::Query;
use super::conditions::{Comparing, Condition, Relation};
use super::expression::{Expression, Expressions, Kind};
use super::guards::Facts;
use super::ranges::Range;
use super::shape::ExitEdge;
use super::tables::Key;
use crate::known_bits::mask;
use oriole_ir::Block;

/// Something a count takes for granted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Assumption {
    /// A relation between two expressions.
    Compare(Relation, Expression, Expression),
    /// An expression is a multiple of a number.
    Multiple(Expression, u64),
    /// A recurrence does not leave the signed (or unsigned) numbers of its width while the loop runs.
    NoWrap(Expression, bool),
}

/// How often a back edge is taken before an exit is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExitCount {
    /// The block that the exit leaves.
    pub from: Block,
    /// The count, or no expression.
    pub exact: Expression,
    /// The largest it may be.
    pub maximum: Option<u64>,
    /// The count under assumptions, if it is not known without.
    pub predicated: Option<(Expression, Vec<Assumption>)>,
    /// Whether every iteration comes to the exit.
    pub is_always_reached: bool,
}

/// What is known of how often a condition stays true.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Limit {
    pub exact: Option<Expression>,
    pub maximum: Option<u64>,
    pub predicated: Option<(Expression, Vec<Assumption>)>,
    /// It never becomes false.
    pub is_endless: bool,
}

impl Limit {
    fn exact(expression: Expression, maximum: Option<u64>) -> Limit {
        Limit {
            exact: Some(expression),
            maximum,
            ..Limit::default()
        }
    }

    fn endless() -> Limit {
        Limit {
            is_endless: true,
            ..Limit::default()
        }
    }
}

/// A loop, what is known when it is entered, and who asks.
struct Context<'facts> {
    header: Block,
    key: Key,
    facts: &'facts Facts,
}

impl Query<'_> {
    /// The count of an exit.
    pub(super) fn exit_count(&mut self, header: Block, exit: ExitEdge, facts: &Facts) -> ExitCount {
        let key = Key::exit(header, exit.from);
        self.state.tables.read(key, Key::in_loop(header));
        self.state.tables.read(key, Key::terminator(exit.from));
        // Whether it dominates the back edges: dominators of blocks in the loop.
        let is_always_reached = self.is_always_reached(key, header, exit.from);
        let mut count = ExitCount {
            from: exit.from,
            exact: Expressions::could_not_compute(),
            maximum: None,
            predicated: None,
            is_always_reached,
        };
        if !is_always_reached {
            return count;
        }
        let Some(branch) = self.branch(key, exit.from) else {
            return count;
        };
        let leaves_if_true = branch.if_true == exit.edge;
        if leaves_if_true == (branch.if_false == exit.edge) {
            return count;
        }
        let stay = self.condition(key, branch.predicate).when(!leaves_if_true);
        let context = Context { header, key, facts };
        let mut limit = self.limit(&context, stay);
        if limit.exact.is_none()
            && let Some(listed) = self.exhausted(key, header, branch.predicate, leaves_if_true)
        {
            let exact = self.state.expressions.constant(listed, 32);
            limit = Limit::exact(exact, Some(listed));
        }
        if limit.maximum.is_none() && limit.exact.is_none() {
            limit.maximum = self.shifted_out(key, header, branch.predicate, leaves_if_true);
        }
        if let Some(exact) = limit.exact {
            count.exact = exact;
            let range = self.range_at(key, facts, exact);
            let bound = range.unsigned.high;
            limit.maximum = Some(limit.maximum.map_or(bound, |own| own.min(bound)));
        }
        count.maximum = limit.maximum;
        count.predicated = limit.predicated.filter(|_| limit.exact.is_none());
        count
    }

    pub(super) fn is_always_reached(&mut self, key: Key, header: Block, from: Block) -> bool {
        let shape = &self.state.shape;
        let Some(this) = shape.headed(header) else {
            return false;
        };
        let latches = shape.loops.back_edges(this).to_vec();
        let is_own = shape.loops.innermost(from) == Some(this);
        let dominates = latches
            .iter()
            .all(|&latch| shape.dominators.dominates(from, latch));
        for latch in latches {
            self.state.tables.read(key, Key::dominance(latch));
        }
        is_own && dominates
    }

    /// How often a condition stays true.
    fn limit(&mut self, context: &Context<'_>, stay: Condition) -> Limit {
        match stay {
            Condition::Constant(true) => Limit::endless(),
            Condition::Constant(false) => {
                let zero = self.state.expressions.constant(0, 32);
                Limit::exact(zero, Some(0))
            }
            Condition::Compare(comparing) => self.compare_limit(context, comparing),
            // The depth of conditions is bounded.
            Condition::And(left, right) => {
                let left = self.limit(context, *left);
                let right = self.limit(context, *right);
                self.both(left, right)
            }
            Condition::Or(left, right) => {
                let left = self.limit(context, *left);
                let right = self.limit(context, *right);
                match left.is_endless || right.is_endless {
                    true => Limit::endless(),
                    false if left == right => left,
                    false => Limit::default(),
                }
            }
            Condition::Opaque => Limit::default(),
        }
    }

    /// How often two conditions stay true together.
    fn both(&mut self, left: Limit, right: Limit) -> Limit {
        if left.is_endless {
            return right;
        }
        if right.is_endless {
            return left;
        }
        let maximum = match (left.maximum, right.maximum) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        };
        let exact = match (left.exact, right.exact) {
            (Some(a), Some(b)) => Some(self.smaller(a, b)),
            _ => None,
        };
        let assuming = |limit: &Limit| match limit.exact {
            Some(exact) => Some((exact, Vec::new())),
            None => limit.predicated.clone(),
        };
        let predicated = match (exact, assuming(&left), assuming(&right)) {
            (None, Some((a, mut first)), Some((b, second))) => {
                first.extend(second);
                Some((self.smaller(a, b), first))
            }
            _ => None,
        };
        Limit {
            exact,
            maximum,
            predicated,
            is_endless: false,
        }
    }

    /// The smaller of two counts, in the width of the wider.
    fn smaller(&mut self, a: Expression, b: Expression) -> Expression {
        let expressions = &mut self.state.expressions;
        let bits = expressions.bits(a).max(expressions.bits(b));
        let a = expressions.zero_extend(a, bits);
        let b = expressions.zero_extend(b, bits);
        expressions.extreme(Kind::UnsignedMin, &[a, b])
    }

    /// How often a comparison stays true.
    fn compare_limit(&mut self, context: &Context<'_>, stay: Comparing) -> Limit {
        let header = context.header;
        let stay = self.narrowed(context, stay);
        let left_is_fixed = self.is_invariant(stay.left, header);
        let right_is_fixed = self.is_invariant(stay.right, header);
        if left_is_fixed && right_is_fixed {
            return match self.decide(context.key, context.facts, stay) {
                Some(true) => Limit::endless(),
                Some(false) => {
                    let zero = self.state.expressions.constant(0, 32);
                    Limit::exact(zero, Some(0))
                }
                None => Limit::default(),
            };
        }
        match stay.relation {
            Relation::Equal | Relation::NotEqual => self.equality_limit(context, stay),
            _ => {
                let limit = self.order_limit(context, stay, (left_is_fixed, right_is_fixed));
                match limit {
                    Some(limit) => limit,
                    None => self
                        .widened_limit(context, stay, (left_is_fixed, right_is_fixed))
                        .unwrap_or_default(),
                }
            }
        }
    }

    /// The same comparison of narrower numbers, where extensions on both sides are undone.
    fn narrowed(&mut self, context: &Context<'_>, stay: Comparing) -> Comparing {
        let mut stay = stay;
        for _ in 0..self.state.knobs.max_ext_depth {
            let expressions = &self.state.expressions;
            let kinds = [stay.left, stay.right].map(|side| expressions.kind(side));
            let is_extension = |kind: Kind| matches!(kind, Kind::ZeroExtend | Kind::SignExtend);
            let Some(wide) = (0..2).find(|&side| {
                is_extension(kinds[side]) && !(is_extension(kinds[1 - side]) && side == 1)
            }) else {
                return stay;
            };
            let sides = [stay.left, stay.right];
            let inner = expressions.operands(sides[wide])[0];
            let bits = expressions.bits(inner);
            let kind = kinds[wide];
            let Some(other) = self.fitting(context, sides[1 - wide], kind, bits) else {
                return stay;
            };
            let relation = match (stay.relation, kind) {
                (Relation::Equal | Relation::NotEqual, _) => stay.relation,
                // Numbers with zeros above compare the same way signed and unsigned.
                (Relation::SignedLess, Kind::ZeroExtend) => Relation::UnsignedLess,
                (Relation::SignedLessEqual, Kind::ZeroExtend) => Relation::UnsignedLessEqual,
                // So do numbers with their sign above.
                _ => stay.relation,
            };
            let (left, right) = match wide {
                0 => (inner, other),
                _ => (other, inner),
            };
            stay = Comparing {
                relation,
                left,
                right,
            };
        }
        stay
    }

    /// A narrower expression of which another is the extension.
    fn fitting(
        &mut self,
        context: &Context<'_>,
        expression: Expression,
        kind: Kind,
        bits: u32,
    ) -> Option<Expression> {
        let expressions = &self.state.expressions;
        if expressions.kind(expression) == kind {
            let inner = expressions.operands(expression)[0];
            if expressions.bits(inner) == bits {
                return Some(inner);
            }
        }
        if !self.is_invariant(expression, context.header) {
            return None;
        }
        let range = self.range_at(context.key, context.facts, expression);
        let fits = match kind {
            Kind::ZeroExtend => range.unsigned.high <= mask(bits),
            _ => {
                let most = (mask(bits) >> 1) as i64;
                range.signed.low >= -most - 1 && range.signed.high <= most
            }
        };
        fits.then(|| self.state.expressions.truncate(expression, bits))
    }

    /// How often two expressions stay different, or equal.
    fn equality_limit(&mut self, context: &Context<'_>, stay: Comparing) -> Limit {
        let negated = self.state.expressions.negate(stay.right);
        let difference = self.fold_sum(context.key, &[stay.left, negated]);
        let Some((header, first, step)) = self.state.expressions.as_affine(difference) else {
            return Limit::default();
        };
        if header != context.header {
            return Limit::default();
        }
        let bits = self.state.expressions.bits(difference);
        let Some(step) = self.state.expressions.as_constant(step) else {
            return Limit::default();
        };
        if stay.relation == Relation::Equal {
            return self.unequal_at_once(context, first);
        }
        // k * 2^zeros * odd = -first
        let zeros = step.trailing_zeros();
        let odd = step >> zeros;
        let negative = step.wrapping_neg() & mask(bits);
        let (distance, factor) = if negative.is_power_of_two() && !step.is_power_of_two() {
            // Downwards: k * 2^zeros = first.
            (first, 1)
        } else {
            let distance = self.state.expressions.negate(first);
            (distance, inverse(odd))
        };
        let range = self.range_at(context.key, context.facts, distance);
        let expressions = &mut self.state.expressions;
        let mut count = distance;
        if zeros > 0 {
            let unit = expressions.constant(1 << zeros, bits);
            count = expressions.unsigned_divide(count, unit);
        }
        if factor != 1 {
            count = expressions.scale(count, factor & mask(bits));
            if zeros > 0 {
                count = expressions.truncate(count, bits - zeros);
                count = expressions.zero_extend(count, bits);
            }
        }
        let maximum = match factor {
            1 => range.unsigned.high >> zeros,
            _ => mask(bits - zeros),
        };
        if range.trailing_zeros() >= zeros || self.state.expressions.is_multiple(distance, zeros) {
            return Limit::exact(count, Some(maximum));
        }
        if let Some(distance) = self.state.expressions.as_constant(distance)
            && distance.trailing_zeros() < zeros
        {
            // It steps over the bound for ever.
            return Limit::endless();
        }
        Limit {
            predicated: Some((count, vec![Assumption::Multiple(distance, 1 << zeros)])),
            ..Limit::default()
        }
    }

    /// How often something that changes by the same number in each iteration stays zero: once, if ever.
    fn unequal_at_once(&mut self, context: &Context<'_>, first: Expression) -> Limit {
        let bits = self.state.expressions.bits(first);
        let zero = self.state.expressions.constant(0, bits);
        let is_zero = Comparing {
            relation: Relation::Equal,
            left: first,
            right: zero,
        };
        let exact = self
            .decide(context.key, context.facts, is_zero)
            .map(|is_zero| self.state.expressions.constant(is_zero.into(), 32));
        Limit {
            exact,
            maximum: Some(1),
            ..Limit::default()
        }
    }

    /// How often a recurrence stays on one side of a bound.
    fn order_limit(
        &mut self,
        context: &Context<'_>,
        stay: Comparing,
        (left_is_fixed, right_is_fixed): (bool, bool),
    ) -> Option<Limit> {
        let signed = stay.relation.is_signed();
        let is_strict = matches!(stay.relation, Relation::UnsignedLess | Relation::SignedLess);
        let (recurrence, bound, is_up) = match (left_is_fixed, right_is_fixed) {
            (false, true) => (stay.left, stay.right, true),
            (true, false) => (stay.right, stay.left, false),
            _ => return None,
        };
        let (header, start, step) = self.state.expressions.as_affine(recurrence)?;
        if header != context.header {
            return None;
        }
        let step = match is_up {
            true => step,
            false => self.state.expressions.negate(step),
        };
        let mut assumptions = Vec::new();
        let bits = self.state.expressions.bits(start);
        let bound = match is_strict {
            true => bound,
            false => self.beyond(context, bound, is_up, signed, &mut assumptions),
        };
        let run = Run {
            start,
            step,
            bound,
            bits,
            is_up,
            signed,
        };
        self.run_limit(context, run, assumptions)
    }

    /// The first number that does not satisfy `<=` (or `>=`) a bound.
    fn beyond(
        &mut self,
        context: &Context<'_>,
        bound: Expression,
        is_up: bool,
        signed: bool,
        assumptions: &mut Vec<Assumption>,
    ) -> Expression {
        let bits = self.state.expressions.bits(bound);
        let last = last_number(bits, is_up, signed);
        let range = self.range_at(context.key, context.facts, bound);
        if range.contains(last) {
            let last = self.state.expressions.constant(last, bits);
            let differs = Comparing {
                relation: Relation::NotEqual,
                left: bound,
                right: last,
            };
            if self.decide(context.key, context.facts, differs) != Some(true) {
                assumptions.push(Assumption::Compare(Relation::NotEqual, bound, last));
            }
        }
        let one = if is_up { 1 } else { u64::MAX };
        self.state.expressions.add_constant(bound, one)
    }

    /// How many steps it takes from a start to a bound or beyond.
    fn run_limit(
        &mut self,
        context: &Context<'_>,
        run: Run,
        mut assumptions: Vec<Assumption>,
    ) -> Option<Limit> {
        let Run {
            start,
            step,
            bound,
            bits,
            is_up,
            signed,
        } = run;
        let steps = self.range_at(context.key, context.facts, step);
        let bounds = self.range_at(context.key, context.facts, bound);
        let starts = self.range_at(context.key, context.facts, start);
        // A step of a number that is negative as a signed one goes the other way.
        if self
            .state
            .expressions
            .as_signed(step)
            .is_some_and(|step| step <= 0)
        {
            return None;
        }
        let is_positive = match signed {
            true => steps.signed.low > 0,
            false => steps.unsigned.low > 0,
        };
        if !is_positive {
            let zero = self.state.expressions.constant(0, bits);
            assumptions.push(Assumption::Compare(Relation::less(signed), zero, step));
        }
        let largest_step = match is_positive || !signed {
            true => steps.unsigned.high,
            false => mask(bits) >> 1,
        };
        if !self.leaves_in_order(context, &run, bounds, largest_step) {
            assumptions.push(self.in_order_assumption(&run));
        }
        let distance = self.distance(context, &run);
        let count = self.ceiling(context, &run, steps, distance);
        let longest = match (signed, is_up) {
            (true, true) => i128::from(bounds.signed.high) - i128::from(starts.signed.low),
            (true, false) => i128::from(starts.signed.high) - i128::from(bounds.signed.low),
            (false, true) => i128::from(bounds.unsigned.high) - i128::from(starts.unsigned.low),
            (false, false) => i128::from(starts.unsigned.high) - i128::from(bounds.unsigned.low),
        };
        let smallest_step = i128::from(steps.unsigned.low.max(1));
        let maximum = (longest.max(0) + smallest_step - 1) / smallest_step;
        if assumptions.is_empty() {
            return Some(Limit::exact(count, u64::try_from(maximum).ok()));
        }
        Some(Limit {
            predicated: Some((count, assumptions)),
            ..Limit::default()
        })
    }

    /// Whether the step that leaves does not wrap.
    fn leaves_in_order(
        &mut self,
        context: &Context<'_>,
        run: &Run,
        bounds: Range,
        largest_step: u64,
    ) -> bool {
        let slack = i128::from(largest_step) - 1;
        let (low, high) = match run.signed {
            true => (
                i128::from(bounds.signed.low),
                i128::from(bounds.signed.high),
            ),
            false => (
                i128::from(bounds.unsigned.low),
                i128::from(bounds.unsigned.high),
            ),
        };
        let last = |is_up| {
            let last = last_number(run.bits, is_up, run.signed);
            match run.signed {
                true => i128::from(crate::known_bits::sign_extend(last, run.bits)),
                false => i128::from(last),
            }
        };
        let has_room = match run.is_up {
            true => high + slack <= last(true),
            false => low - slack >= last(false),
        };
        if has_room {
            return true;
        }
        // If it comes to the bound exactly, it does not go beyond.
        let Some(step) = self.state.expressions.as_constant(run.step) else {
            return false;
        };
        let negated = self.state.expressions.negate(run.start);
        let distance = self.fold_sum(context.key, &[run.bound, negated]);
        if !step.is_power_of_two() {
            return false;
        }
        let range = self.range_at(context.key, context.facts, distance);
        let zeros = step.trailing_zeros();
        range.trailing_zeros() >= zeros || self.state.expressions.is_multiple(distance, zeros)
    }

    /// That the step that leaves does not wrap.
    fn in_order_assumption(&mut self, run: &Run) -> Assumption {
        let last = last_number(run.bits, run.is_up, run.signed);
        let expressions = &mut self.state.expressions;
        let relation = Relation::less_equal(run.signed);
        // bound + step - 1 <= last, with what cannot wrap on the right.
        let edge = expressions.constant(last, run.bits);
        let one = expressions.constant(1, run.bits);
        let slack = expressions.subtract(run.step, one);
        match run.is_up {
            true => {
                let limit = expressions.subtract(edge, slack);
                Assumption::Compare(relation, run.bound, limit)
            }
            false => {
                let limit = expressions.add(&[edge, slack]);
                Assumption::Compare(relation, limit, run.bound)
            }
        }
    }

    /// How far it is from the start to the bound; 0 if it starts beyond.
    fn distance(&mut self, context: &Context<'_>, run: &Run) -> Expression {
        let (left, right) = match run.is_up {
            true => (run.start, run.bound),
            false => (run.bound, run.start),
        };
        let in_order = Comparing {
            relation: Relation::less_equal(run.signed),
            left,
            right,
        };
        let is_before = self.decide(context.key, context.facts, in_order) == Some(true);
        let kind = match (run.is_up, run.signed) {
            (true, true) => Kind::SignedMax,
            (true, false) => Kind::UnsignedMax,
            (false, true) => Kind::SignedMin,
            (false, false) => Kind::UnsignedMin,
        };
        let end = match is_before {
            true => run.bound,
            false => self
                .state
                .expressions
                .extreme(kind, &[run.bound, run.start]),
        };
        let (from, to) = match run.is_up {
            true => (run.start, end),
            false => (end, run.start),
        };
        let negated = self.state.expressions.negate(from);
        self.fold_sum(context.key, &[to, negated])
    }

    /// A distance divided by the step, rounded up, without wrapping.
    fn ceiling(
        &mut self,
        context: &Context<'_>,
        run: &Run,
        steps: Range,
        distance: Expression,
    ) -> Expression {
        let step = run.step;
        if self.state.expressions.as_constant(step) == Some(1) {
            return distance;
        }
        let range = self.range_at(context.key, context.facts, distance);
        let room = mask(run.bits) - range.unsigned.high;
        let expressions = &mut self.state.expressions;
        let one = expressions.constant(1, run.bits);
        if steps.unsigned.high > 0 && steps.unsigned.high - 1 <= room {
            let slack = expressions.subtract(step, one);
            let sum = expressions.add(&[distance, slack]);
            return expressions.unsigned_divide(sum, step);
        }
        // One step for what is not zero, and the steps in the rest.
        let first = match range.unsigned.low > 0 {
            true => one,
            false => expressions.extreme(Kind::UnsignedMin, &[distance, one]),
        };
        let rest = expressions.subtract(distance, first);
        let quotient = expressions.unsigned_divide(rest, step);
        expressions.add(&[first, quotient])
    }

    /// How often the extension of a recurrence stays on one side of a bound, if the recurrence does not wrap.
    fn widened_limit(
        &mut self,
        context: &Context<'_>,
        stay: Comparing,
        fixed: (bool, bool),
    ) -> Option<Limit> {
        let expressions = &mut self.state.expressions;
        let side = match fixed {
            (false, true) => stay.left,
            (true, false) => stay.right,
            _ => return None,
        };
        let kind = expressions.kind(side);
        if !matches!(kind, Kind::ZeroExtend | Kind::SignExtend) {
            return None;
        }
        let inner = expressions.operands(side)[0];
        let (header, start, step) = expressions.as_affine(inner)?;
        if header != context.header {
            return None;
        }
        let bits = expressions.bits(side);
        let start = expressions.extend(start, bits, kind);
        // A step is meant as a signed number in either case.
        let step = expressions.sign_extend(step, bits);
        let wide = expressions.recurrence(&[start, step], header);
        let stay = match fixed.1 {
            true => Comparing { left: wide, ..stay },
            false => Comparing {
                right: wide,
                ..stay
            },
        };
        let limit = self.order_limit(context, stay, fixed)?;
        let (count, mut assumptions) = match (limit.exact, limit.predicated) {
            (Some(exact), _) => (exact, Vec::new()),
            (None, Some(predicated)) => predicated,
            _ => return None,
        };
        assumptions.push(Assumption::NoWrap(inner, kind == Kind::SignExtend));
        Some(Limit {
            predicated: Some((count, assumptions)),
            ..Limit::default()
        })
    }
}

/// A recurrence that runs towards a bound.
#[derive(Clone, Copy)]
struct Run {
    start: Expression,
    /// What it comes closer by in each iteration.
    step: Expression,
    /// The first number at which, or beyond which, it is over.
    bound: Expression,
    bits: u32,
    is_up: bool,
    signed: bool,
}

/// The largest number, or the smallest.
fn last_number(bits: u32, is_largest: bool, signed: bool) -> u64 {
    match (is_largest, signed) {
        (true, false) => mask(bits),
        (false, false) => 0,
        (true, true) => mask(bits) >> 1,
        (false, true) => 1 << (bits - 1),
    }
}

/// The inverse of an odd number modulo two to the 64th.
fn inverse(odd: u64) -> u64 {
    let mut inverse = odd;
    for _ in 0..6 {
        inverse = inverse.wrapping_mul(2u64.wrapping_sub(odd.wrapping_mul(inverse)));
    }
    inverse
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn odd_numbers_have_inverses() {
        for odd in (1..1000u64).step_by(2).chain([u64::MAX, u64::MAX - 2]) {
            assert_eq!(odd.wrapping_mul(inverse(odd)), 1);
        }
    }
}
