//! Extensions of sums, multiples and recurrences as sums, multiples and recurrences of extensions, where nothing wraps.
//!
//! Expressions of values are built without asking for ranges and counts, since these are computed from them. Whoever needs an address in all its
//! bits asks here, when all that is there.

use super::Query;
use super::arithmetic::List;
use super::expression::{Expression, Kind};
use super::ranges::Range;
use oriole_collections::SmallVec;

/// The most nodes of an expression that is looked at.
const MOST_NODES: u32 = 64;
/// How far down an extension is pushed.
const MOST_DEPTH: u32 = 8;

impl Query<'_> {
    /// An equal expression in which extensions are pushed down as far as ranges and counts prove that nothing wraps: the extension of
    /// `{0,+,1}` to 64 bits is `{0,+,1}` of 64 bits if the loop ends before that wraps.
    pub fn widened(&mut self, expression: Expression) -> Expression {
        if self.state.expressions.size(expression) > MOST_NODES
            || !self.state.expressions.has_extensions(expression)
        {
            return expression;
        }
        // What has no extension in it stays as it is.
        let order = self.state.expressions.extending_parts(expression);
        // What each of these became.
        let mut made: SmallVec<[Expression; 16]> = SmallVec::new();
        for &node in &order {
            let expressions = &self.state.expressions;
            let of = |operand: &Expression| {
                if !expressions.has_extensions(*operand) {
                    return *operand;
                }
                let place = order[..made.len()].iter().rposition(|own| own == operand);
                made[place.expect("operands come first")]
            };
            let operands: List = expressions.operands(node).iter().map(of).collect();
            let mut new = match operands[..] == *expressions.operands(node) {
                true => node,
                false => self.refolded(node, &operands),
            };
            let expressions = &self.state.expressions;
            if let kind @ (Kind::SignExtend | Kind::ZeroExtend) = expressions.kind(new) {
                let inner = expressions.operands(new)[0];
                let bits = expressions.bits(new);
                new = self.pushed_down(inner, bits, kind, MOST_DEPTH);
            }
            made.push(new);
        }
        *made.last().expect("the last one")
    }

    /// The extension of an expression, pushed down.
    fn pushed_down(&mut self, inner: Expression, bits: u32, kind: Kind, depth: u32) -> Expression {
        let signed = kind == Kind::SignExtend;
        let does_not_wrap = depth > 0
            && match self.state.expressions.kind(inner) {
                Kind::Add => self.sum_fits(inner, signed),
                Kind::Multiply => self.multiple_fits(inner, signed),
                Kind::Recurrence => self.recurrence_fits(inner, signed),
                _ => false,
            };
        if !does_not_wrap {
            return self.state.expressions.extend(inner, bits, kind);
        }
        let operands: List = SmallVec::from_slice(self.state.expressions.operands(inner));
        let is_recurrence = self.state.expressions.kind(inner) == Kind::Recurrence;
        let extended: List = operands
            .into_iter()
            .enumerate()
            .map(|(position, operand)| {
                let is_number = self.state.expressions.as_constant(operand).is_some();
                // Numbers in sums and products, and what a recurrence goes on by, are meant as signed ones in either case.
                let is_signed = match is_recurrence {
                    true => position > 0,
                    false => is_number,
                };
                let kind = if is_signed { Kind::SignExtend } else { kind };
                self.pushed_down(operand, bits, kind, depth - 1)
            })
            .collect();
        self.refolded(inner, &extended)
    }

    /// The lowest and highest number a term or factor may be, as [`Query::pushed_down`] means it.
    fn bounds(&mut self, operand: Expression, signed: bool) -> (i128, i128) {
        let is_number = self.state.expressions.as_constant(operand).is_some();
        bounds(self.range(operand), signed || is_number)
    }

    fn sum_fits(&mut self, sum: Expression, signed: bool) -> bool {
        let bits = self.state.expressions.bits(sum);
        let terms: List = SmallVec::from_slice(self.state.expressions.operands(sum));
        let (mut low, mut high) = (0_i128, 0_i128);
        for term in terms {
            let own = self.bounds(term, signed);
            (low, high) = (low + own.0, high + own.1);
        }
        fits(low, high, bits, signed)
    }

    /// Of a number and one factor.
    fn multiple_fits(&mut self, product: Expression, signed: bool) -> bool {
        let bits = self.state.expressions.bits(product);
        let &[number, factor] = self.state.expressions.operands(product) else {
            return false;
        };
        let Some(number) = self.state.expressions.as_signed(number) else {
            return false;
        };
        let (low, high) = self.bounds(factor, signed);
        // 64 bits by 64 bits are less than 128.
        let ends = [low * i128::from(number), high * i128::from(number)];
        fits(ends[0].min(ends[1]), ends[0].max(ends[1]), bits, signed)
    }

    fn recurrence_fits(&mut self, recurrence: Expression, signed: bool) -> bool {
        let Some((header, start, step)) = self.state.expressions.as_affine(recurrence) else {
            return false;
        };
        let Some(most) = self.maximum_count(header) else {
            return false;
        };
        let bits = self.state.expressions.bits(recurrence);
        let (low, high) = bounds(self.range(start), signed);
        let step = bounds(self.range(step), true);
        let way = |step: i128| step.checked_mul(i128::from(most));
        let (Some(down), Some(up)) = (way(step.0.min(0)), way(step.1.max(0))) else {
            return false;
        };
        fits(
            low.saturating_add(down),
            high.saturating_add(up),
            bits,
            signed,
        )
    }
}

fn bounds(range: Range, signed: bool) -> (i128, i128) {
    match signed {
        true => (range.signed.low.into(), range.signed.high.into()),
        false => (range.unsigned.low.into(), range.unsigned.high.into()),
    }
}

/// Whether all numbers from one to another are numbers of so many bits.
fn fits(low: i128, high: i128, bits: u32, signed: bool) -> bool {
    match signed {
        true => low >= -(1_i128 << (bits - 1)) && high < 1_i128 << (bits - 1),
        false => low >= 0 && high < 1_i128 << bits,
    }
}
