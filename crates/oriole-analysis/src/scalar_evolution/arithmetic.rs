//! Constructors of expressions: they fold, flatten, combine like terms and bring operands into order.
//!
//! ## Canonical form
//! - A sum has at least two terms, no term that is a sum, at most one constant (first, never 0), and no two terms that are multiples of the
//!   same expression. A product likewise; a constant factor of a sum or recurrence is multiplied in.
//! - A cast of a cast is at most one cast of each kind. A truncation of a recurrence is a recurrence.
//! - Minima and maxima are flat and without duplicates.
//!
//! An expression with more nodes than the limit is kept as it is built: a chain of fifty thousand sums stays a chain.
//!
//! ## Soundness
//! Only identities modulo two to the width are used. Recurrences are folded in [`super::recurrences`], where it is known what is
//! invariant.

use super::expression::{Expression, Expressions, Kind, Leaf};
use crate::known_bits::{mask, sign_extend};
use oriole_collections::{DenseMap, PackedOption, SmallVec};
use oriole_ir::Block;

/// A few expressions.
pub(super) type List = SmallVec<[Expression; 8]>;

/// A term of a sum: a multiple of an expression.
#[derive(Clone, Copy)]
struct Term {
    term: Expression,
    factor: u64,
    /// The multiple, if that is there.
    whole: PackedOption<Expression>,
}

type Terms = SmallVec<[Term; 8]>;

impl Expressions {
    /// Whether operands together are too large to be simplified. Counts it if so.
    fn is_huge(&mut self, operands: &[Expression]) -> bool {
        let sizes = operands.iter().map(|&each| self.size(each));
        let is_huge = sizes.fold(0u32, u32::saturating_add) > self.limits.max_expr_size;
        self.failures = self.failures.saturating_add(u32::from(is_huge));
        is_huge
    }

    /// The sum of expressions of one width.
    pub fn add(&mut self, operands: &[Expression]) -> Expression {
        let Some(&first) = operands.first() else {
            return Expressions::could_not_compute();
        };
        if operands.iter().any(|&each| self.is_unknown(each)) {
            return Expressions::could_not_compute();
        }
        let bits = self.bits(first);
        debug_assert!(operands.iter().all(|&each| self.bits(each) == bits));
        if operands.len() == 1 {
            return first;
        }
        if self.is_huge(operands) {
            return self.plain(Kind::Add, bits, operands);
        }
        if let [left, right] = *operands
            && self.is_plain_term(left)
            && self.is_plain_term(right)
            && left != right
        {
            return match (self.as_constant(left), self.as_constant(right)) {
                (None, None) => self.plain(Kind::Add, bits, operands),
                (Some(left), Some(right)) => self.constant(left.wrapping_add(right), bits),
                (Some(0), None) => right,
                (None, Some(0)) => left,
                (Some(_), None) => self.intern(Kind::Add, bits, 0, &[left, right]),
                (None, Some(_)) => self.intern(Kind::Add, bits, 0, &[right, left]),
            };
        }
        if let [sum, number] = *operands
            && self.kind(sum) == Kind::Add
            && let Some(number) = self.as_constant(number)
            && self.operands(sum).len() <= self.limits.addops_inline_threshold as usize
        {
            let moved = self.add_number(sum, number, bits);
            debug_assert_eq!(moved, self.add_terms(operands, bits));
            return moved;
        }
        self.add_terms(operands, bits)
    }

    /// The sum of a sum and a number: all terms but the number in it are what they were.
    fn add_number(&mut self, sum: Expression, number: u64, bits: u32) -> Expression {
        let terms = self.operands(sum);
        let (own, rest) = match self.as_constant(terms[0]) {
            Some(own) => (own, &terms[1..]),
            None => (0, terms),
        };
        let number = own.wrapping_add(number) & mask(bits);
        if number == own {
            return sum;
        }
        let mut moved: List = SmallVec::new();
        moved.push(sum);
        moved.extend_from_slice(rest);
        if number != 0 {
            moved[0] = self.constant(number, bits);
            return self.intern(Kind::Add, bits, 0, &moved);
        }
        match moved[1..] {
            [only] => only,
            _ => self.intern(Kind::Add, bits, 0, &moved[1..]),
        }
    }

    /// A sum of terms that may have to be combined.
    fn add_terms(&mut self, operands: &[Expression], bits: u32) -> Expression {
        let mut constant = 0u64;
        let mut terms: Terms = SmallVec::new();
        let inline = self.limits.addops_inline_threshold as usize;
        for &operand in operands {
            let is_flattened =
                self.kind(operand) == Kind::Add && self.operands(operand).len() <= inline;
            let count = match is_flattened {
                true => self.operands(operand).len(),
                false => 1,
            };
            for at in 0..count {
                let part = match is_flattened {
                    true => self.operands(operand)[at],
                    false => operand,
                };
                match self.as_constant(part) {
                    Some(value) => constant = constant.wrapping_add(value),
                    None => {
                        let (term, factor) = self.coefficient(part);
                        terms.push(Term {
                            term,
                            factor,
                            whole: PackedOption::some(part),
                        });
                    }
                }
            }
        }
        // Equal terms come to stand behind each other.
        terms.sort_unstable_by_key(|own| own.term.as_u32());
        self.clear_low_bits(&mut terms, bits);
        let mut sum: List = SmallVec::new();
        let mut at = 0;
        while at < terms.len() {
            let Term {
                term,
                mut factor,
                mut whole,
            } = terms[at];
            at += 1;
            while at < terms.len() && terms[at].term == term {
                factor = factor.wrapping_add(terms[at].factor);
                whole = PackedOption::none();
                at += 1;
            }
            factor &= mask(bits);
            if let Some(whole) = whole.expand() {
                debug_assert_eq!(self.scale(term, factor), whole);
                sum.push(whole);
            } else if factor != 0 {
                let term = self.scale(term, factor);
                sum.push(term);
            }
        }
        constant &= mask(bits);
        if constant != 0 || sum.is_empty() {
            let constant = self.constant(constant, bits);
            sum.push(constant);
        }
        // A scaled term may be a sum itself, when a constant was multiplied in.
        let is_flat = |each: &Expression| {
            self.kind(*each) != Kind::Add || self.operands(*each).len() > inline
        };
        if sum.len() > 1 && !sum.iter().all(is_flat) {
            return self.add(&sum);
        }
        match sum[..] {
            [only] => only,
            _ => self.plain(Kind::Add, bits, &sum),
        }
    }

    /// Whether a sum has an expression as a term as it is: no other term combines with it but itself.
    fn is_plain_term(&self, expression: Expression) -> bool {
        !matches!(
            self.kind(expression),
            Kind::Add | Kind::Multiply | Kind::ZeroExtend
        )
    }

    /// Makes `x - (x mod 2^k)`, which compilers write for the part of a loop that is unrolled, `2^k (x / 2^k)`. Terms are sorted.
    fn clear_low_bits(&mut self, terms: &mut Terms, bits: u32) {
        for at in 0..terms.len() {
            let Term { term, factor, .. } = terms[at];
            if self.kind(term) != Kind::ZeroExtend {
                continue;
            }
            let low = self.operands(term)[0];
            if self.kind(low) != Kind::Truncate {
                continue;
            }
            let whole = self.operands(low)[0];
            let Ok(other) = terms.binary_search_by_key(&whole.as_u32(), |it| it.term.as_u32())
            else {
                continue;
            };
            if self.bits(whole) != bits
                || terms[other].factor.wrapping_add(factor) & mask(bits) != 0
            {
                continue;
            }
            let count = self.bits(low);
            let unit = self.constant(1 << count, bits);
            let quotient = self.unsigned_divide(whole, unit);
            if self.as_constant(quotient).is_some() {
                continue;
            }
            terms[at] = Term {
                term: quotient,
                factor: terms[other].factor << count,
                whole: PackedOption::none(),
            };
            terms.remove(other);
            terms.sort_unstable_by_key(|own| own.term.as_u32());
            return self.clear_low_bits(terms, bits);
        }
    }

    /// A commutative node as it is, operands in order.
    pub(super) fn plain(&mut self, kind: Kind, bits: u32, operands: &[Expression]) -> Expression {
        let mut operands: List = SmallVec::from_slice(operands);
        self.sort(&mut operands);
        self.intern(kind, bits, 0, &operands)
    }

    /// Whether a sum is a multiple of a power of two because its low bits are subtracted from it: `x + y - (x + y) % 4`.
    pub(super) fn is_multiple(&mut self, sum: Expression, zeros: u32) -> bool {
        let bits = self.bits(sum);
        if self.kind(sum) != Kind::Add || zeros > bits || self.size(sum) > self.limits.max_expr_size
        {
            return false;
        }
        let terms: List = SmallVec::from_slice(self.operands(sum));
        let mut whole: List = SmallVec::new();
        for term in terms {
            let (base, factor) = self.coefficient(term);
            whole.push(match self.low_bits_of(base, zeros) {
                // As far as these bits go, it is what it is cut from.
                Some(cut) => self.scale(cut, factor),
                None => term,
            });
        }
        let congruent = self.add(&whole);
        let low = self.truncate(congruent, zeros.max(1));
        zeros == 0 || self.as_constant(low) == Some(0)
    }

    /// What an expression has at least so many low bits of, with anything above, if that is as wide.
    fn low_bits_of(&self, expression: Expression, count: u32) -> Option<Expression> {
        if !matches!(self.kind(expression), Kind::ZeroExtend | Kind::SignExtend) {
            return None;
        }
        let cut = self.operands(expression)[0];
        if self.kind(cut) != Kind::Truncate || self.bits(cut) < count {
            return None;
        }
        let whole = self.operands(cut)[0];
        (self.bits(whole) == self.bits(expression)).then_some(whole)
    }

    /// An expression as a multiple of another.
    fn coefficient(&mut self, expression: Expression) -> (Expression, u64) {
        if self.kind(expression) == Kind::Multiply
            && let [first, rest @ ..] = self.operands(expression)
            && let Some(factor) = self.as_constant(*first)
        {
            let rest = match *rest {
                [only] => only,
                _ => {
                    let rest: List = SmallVec::from_slice(rest);
                    self.intern(Kind::Multiply, self.bits(expression), 0, &rest)
                }
            };
            return (rest, factor);
        }
        (expression, 1)
    }

    /// A multiple of an expression.
    pub(super) fn scale(&mut self, expression: Expression, factor: u64) -> Expression {
        if factor == 1 {
            return expression;
        }
        let factor = self.constant(factor, self.bits(expression));
        self.multiply(&[factor, expression])
    }

    /// The difference of two expressions of one width.
    pub fn subtract(&mut self, left: Expression, right: Expression) -> Expression {
        let negated = self.negate(right);
        self.add(&[left, negated])
    }

    /// The difference from zero.
    pub fn negate(&mut self, expression: Expression) -> Expression {
        if self.is_unknown(expression) {
            return expression;
        }
        self.scale(expression, mask(self.bits(expression)))
    }

    /// An expression without the number that is added in it, or in what a recurrence starts with, and the number.
    pub fn split_constant(&mut self, expression: Expression) -> (Expression, i64) {
        // Recurrences around the sum, outermost first: their headers, and what they are made of behind what they start with.
        let mut around: Vec<(Block, List)> = Vec::new();
        let mut sum = expression;
        while let Some(header) = self.header(sum) {
            let operands = self.operands(sum);
            let (start, rest) = (operands[0], operands[1..].into());
            around.push((header, rest));
            sum = start;
        }
        let terms = self.operands(sum);
        let number = match self.kind(sum) {
            Kind::Add => terms.iter().find_map(|&term| self.as_signed(term)),
            _ => self.as_signed(sum),
        };
        let Some(number) = number else {
            return (expression, 0);
        };
        let mut rest = self.add_constant(sum, (number as u64).wrapping_neg());
        while let Some((header, steps)) = around.pop() {
            let mut operands: List = SmallVec::new();
            operands.push(rest);
            operands.extend(steps);
            rest = self.recurrence(&operands, header);
        }
        (rest, number)
    }

    /// The sum of an expression and a number.
    pub fn add_constant(&mut self, expression: Expression, value: u64) -> Expression {
        let value = self.constant(value, self.bits(expression));
        self.add(&[expression, value])
    }

    /// The low half of the product of expressions of one width.
    pub fn multiply(&mut self, operands: &[Expression]) -> Expression {
        let Some(&first) = operands.first() else {
            return Expressions::could_not_compute();
        };
        if operands.iter().any(|&each| self.is_unknown(each)) {
            return Expressions::could_not_compute();
        }
        let bits = self.bits(first);
        debug_assert!(operands.iter().all(|&each| self.bits(each) == bits));
        if self.is_huge(operands) {
            return self.plain(Kind::Multiply, bits, operands);
        }
        if let [number, factor] = *operands
            && let Some(constant) = self.as_constant(number)
            && !matches!(
                self.kind(factor),
                Kind::Constant | Kind::Add | Kind::Multiply | Kind::Recurrence
            )
        {
            return match constant {
                0 => number,
                1 => factor,
                _ => self.intern(Kind::Multiply, bits, 0, &[number, factor]),
            };
        }
        let mut constant = 1u64;
        let mut factors: List = SmallVec::new();
        for &operand in operands {
            let inline = self.limits.mulops_inline_threshold as usize;
            let parts: List = match self.kind(operand) {
                Kind::Multiply if self.operands(operand).len() <= inline => {
                    SmallVec::from_slice(self.operands(operand))
                }
                _ => SmallVec::from_slice(&[operand]),
            };
            for part in parts {
                match self.as_constant(part) {
                    Some(value) => constant = constant.wrapping_mul(value),
                    None => factors.push(part),
                }
            }
        }
        constant &= mask(bits);
        if constant == 0 || factors.is_empty() {
            return self.constant(constant, bits);
        }
        if constant == 1 && factors.len() == 1 {
            return factors[0];
        }
        if let [only] = factors[..]
            && matches!(self.kind(only), Kind::Add | Kind::Recurrence)
        {
            let parts: List = SmallVec::from_slice(self.operands(only));
            let scaled: List = parts
                .iter()
                .map(|&part| self.scale(part, constant))
                .collect();
            return match self.header(only) {
                Some(header) => self.recurrence(&scaled, header),
                None => self.add(&scaled),
            };
        }
        if constant != 1 {
            let constant = self.constant(constant, bits);
            factors.push(constant);
        }
        self.plain(Kind::Multiply, bits, &factors)
    }

    /// A recurrence over the loop with this header, whose operands are invariant in it. Steps of zero at its end are dropped.
    pub fn recurrence(&mut self, operands: &[Expression], header: Block) -> Expression {
        let mut operands = operands;
        while let [rest @ .., last] = operands
            && !rest.is_empty()
            && self.as_constant(*last) == Some(0)
        {
            operands = rest;
        }
        if operands.iter().any(|&each| self.is_unknown(each)) {
            return Expressions::could_not_compute();
        }
        match *operands {
            [only] => only,
            _ => {
                let bits = self.bits(operands[0]);
                self.intern(Kind::Recurrence, bits, header.index() as u64, operands)
            }
        }
    }

    /// The quotient of two unsigned expressions of one width.
    pub fn unsigned_divide(&mut self, left: Expression, right: Expression) -> Expression {
        if self.is_unknown(left) || self.is_unknown(right) {
            return Expressions::could_not_compute();
        }
        let bits = self.bits(left);
        if let Some(divisor) = self.as_constant(right).filter(|&divisor| divisor != 0) {
            if divisor == 1 {
                return left;
            }
            if let Some(value) = self.as_constant(left) {
                return self.constant(value / divisor, bits);
            }
            if self.kind(left) == Kind::UnsignedDivide {
                let [inner, first] = *self.operands(left) else {
                    unreachable!("a quotient has two operands");
                };
                if let Some(first) = self.as_constant(first).filter(|&first| first != 0) {
                    return match first.checked_mul(divisor) {
                        Some(product) if product <= mask(bits) => {
                            let product = self.constant(product, bits);
                            self.unsigned_divide(inner, product)
                        }
                        _ => self.constant(0, bits),
                    };
                }
            }
        }
        self.intern(Kind::UnsignedDivide, bits, 0, &[left, right])
    }

    /// The low bits of an expression.
    pub fn truncate(&mut self, expression: Expression, bits: u32) -> Expression {
        self.truncate_at(expression, bits, 0)
    }

    fn truncate_at(&mut self, expression: Expression, bits: u32, depth: u32) -> Expression {
        if self.is_unknown(expression) || self.bits(expression) == bits {
            return expression;
        }
        debug_assert!(bits < self.bits(expression));
        if let Some(value) = self.as_constant(expression) {
            return self.constant(value, bits);
        }
        let kind = self.kind(expression);
        if depth > self.limits.max_cast_depth {
            return self.intern(Kind::Truncate, bits, 0, &[expression]);
        }
        match kind {
            Kind::Truncate | Kind::ZeroExtend | Kind::SignExtend => {
                let inner = self.operands(expression)[0];
                let own = self.bits(inner);
                match own.cmp(&bits) {
                    std::cmp::Ordering::Equal => return inner,
                    std::cmp::Ordering::Greater => {
                        return self.truncate_at(inner, bits, depth + 1);
                    }
                    std::cmp::Ordering::Less => return self.extend(inner, bits, kind),
                }
            }
            Kind::Recurrence => {
                let header = self.header(expression).expect("a recurrence");
                let parts: List = SmallVec::from_slice(self.operands(expression));
                let parts: List = parts
                    .iter()
                    .map(|&part| self.truncate_at(part, bits, depth + 1))
                    .collect();
                return self.recurrence(&parts, header);
            }
            Kind::Add | Kind::Multiply if self.size(expression) <= self.limits.max_expr_size => {
                let parts: List = SmallVec::from_slice(self.operands(expression));
                let parts: List = parts
                    .iter()
                    .map(|&part| self.truncate_at(part, bits, depth + 1))
                    .collect();
                let is_cut = |each: &&Expression| self.kind(**each) == Kind::Truncate;
                if parts.iter().filter(is_cut).count() <= 1 {
                    return match kind {
                        Kind::Add => self.add(&parts),
                        _ => self.multiply(&parts),
                    };
                }
            }
            _ => {}
        }
        self.intern(Kind::Truncate, bits, 0, &[expression])
    }

    /// An expression with more bits: zeros or copies of its top bit.
    pub(super) fn extend(&mut self, expression: Expression, bits: u32, kind: Kind) -> Expression {
        if self.is_unknown(expression) || self.bits(expression) == bits {
            return expression;
        }
        let own = self.bits(expression);
        debug_assert!(bits > own);
        if let Some(value) = self.as_constant(expression) {
            let value = match kind {
                Kind::SignExtend => sign_extend(value, own) as u64,
                _ => value,
            };
            return self.constant(value, bits);
        }
        let inner = self.kind(expression);
        // What has zeros above has a top bit of zero.
        if inner == Kind::ZeroExtend || inner == kind {
            let innermost = self.operands(expression)[0];
            return self.intern(inner, bits, 0, &[innermost]);
        }
        self.intern(kind, bits, 0, &[expression])
    }

    /// An expression with zeros above.
    pub fn zero_extend(&mut self, expression: Expression, bits: u32) -> Expression {
        self.extend(expression, bits, Kind::ZeroExtend)
    }

    /// An expression with copies of its top bit above.
    pub fn sign_extend(&mut self, expression: Expression, bits: u32) -> Expression {
        self.extend(expression, bits, Kind::SignExtend)
    }

    /// The smallest or largest of expressions of one width.
    pub fn extreme(&mut self, kind: Kind, operands: &[Expression]) -> Expression {
        let Some(&first) = operands.first() else {
            return Expressions::could_not_compute();
        };
        if operands.iter().any(|&each| self.is_unknown(each)) {
            return Expressions::could_not_compute();
        }
        let bits = self.bits(first);
        debug_assert!(operands.iter().all(|&each| self.bits(each) == bits));
        if operands.len() > 1 && self.is_huge(operands) {
            return match kind {
                Kind::SequentialUnsignedMin => self.intern(kind, bits, 0, operands),
                _ => self.plain(kind, bits, operands),
            };
        }
        let mut parts: List = SmallVec::new();
        for &operand in operands {
            match self.kind(operand) == kind {
                true => parts.extend_from_slice(self.operands(operand)),
                false => parts.push(operand),
            }
        }
        if kind == Kind::SequentialUnsignedMin {
            return self.sequential(&parts, bits);
        }
        let mut constant: Option<u64> = None;
        parts.retain(|part| match self.as_constant(*part) {
            Some(value) => {
                constant = Some(constant.map_or(value, |own| pick(kind, own, value, bits)));
                false
            }
            None => true,
        });
        self.sort(&mut parts);
        parts.dedup();
        if let Some(value) = constant {
            let (absorbing, neutral) = bounds(kind, bits);
            if value == absorbing || parts.is_empty() {
                return self.constant(value, bits);
            }
            if value != neutral {
                let constant = self.constant(value, bits);
                parts.insert(0, constant);
            }
        }
        match parts[..] {
            [only] => only,
            _ => self.intern(kind, bits, 0, &parts),
        }
    }

    fn sequential(&mut self, parts: &[Expression], bits: u32) -> Expression {
        let mut kept: List = SmallVec::new();
        let mut constant: Option<u64> = None;
        for &part in parts {
            match self.as_constant(part) {
                Some(0) if kept.is_empty() => return part,
                // Numbers mean something wherever they stand.
                Some(value) => constant = Some(constant.map_or(value, |own| own.min(value))),
                None if kept.contains(&part) => {}
                None => kept.push(part),
            }
        }
        if let Some(value) = constant
            && (value != mask(bits) || kept.is_empty())
        {
            let constant = self.constant(value, bits);
            kept.insert(0, constant);
        }
        match kept[..] {
            [only] => only,
            _ => self.intern(Kind::SequentialUnsignedMin, bits, 0, &kept),
        }
    }

    /// A node with other operands, folded. Recurrences stay recurrences of their loop.
    pub fn rebuild(&mut self, expression: Expression, operands: &[Expression]) -> Expression {
        let bits = self.bits(expression);
        let kind = self.kind(expression);
        match kind {
            Kind::Add => self.add(operands),
            Kind::Multiply => self.multiply(operands),
            Kind::Truncate => self.truncate(operands[0], bits),
            Kind::ZeroExtend | Kind::SignExtend => self.extend(operands[0], bits, kind),
            Kind::UnsignedDivide => self.unsigned_divide(operands[0], operands[1]),
            Kind::AddressCast => {
                let (space, to) = self.address_cast(expression).expect("a cast");
                self.cast_address(operands[0], space, to)
            }
            Kind::Recurrence => {
                let header = self.header(expression).expect("a recurrence");
                self.recurrence(operands, header)
            }
            Kind::SignedMax
            | Kind::UnsignedMax
            | Kind::SignedMin
            | Kind::UnsignedMin
            | Kind::SequentialUnsignedMin => self.extreme(kind, operands),
            Kind::Constant
            | Kind::Start
            | Kind::Special
            | Kind::Symbol
            | Kind::Parameter
            | Kind::Unknown
            | Kind::CouldNotCompute => expression,
        }
    }

    /// The same expression in this arena, made by its constructors.
    pub fn import(&mut self, root: Expression, from: &Expressions) -> Expression {
        let mut made: DenseMap<Expression, Expression> = DenseMap::new();
        for expression in from.postorder(root) {
            let operands: List = from
                .operands(expression)
                .iter()
                .map(|each| *made.get(each).expect("operands come first"))
                .collect();
            let bits = from.bits(expression);
            let new = match from.as_leaf(expression) {
                Some(Leaf::Special(special)) => self.special(special, bits),
                _ => {
                    let kind = from.kind(expression);
                    let payload = from.payload(expression);
                    match kind.commutes() {
                        true => self.plain(kind, bits, &operands),
                        false => self.intern(kind, bits, payload, &operands),
                    }
                }
            };
            made.insert(expression, new);
        }
        *made.get(&root).expect("the last one")
    }

    /// What an expression comes to, given what leaves are and how often the back edge of a loop was taken. Nothing if one of these is
    /// missing, or for division by zero.
    pub fn evaluate(
        &self,
        root: Expression,
        mut leaf: impl FnMut(Leaf, u32) -> Option<u64>,
        mut iteration: impl FnMut(Block) -> Option<u64>,
    ) -> Option<u64> {
        let mut known: DenseMap<Expression, u64> = DenseMap::new();
        for expression in self.postorder(root) {
            let bits = self.bits(expression);
            let kind = self.kind(expression);
            let operands: SmallVec<[u64; 8]> = self
                .operands(expression)
                .iter()
                .map(|each| *known.get(each).expect("operands come first"))
                .collect();
            let signed = |value: u64| sign_extend(value, bits);
            let value = match kind {
                Kind::Constant => self.payload(expression),
                Kind::Start | Kind::Special | Kind::Symbol | Kind::Parameter | Kind::Unknown => {
                    leaf(self.as_leaf(expression)?, bits)?
                }
                // Where spaces lie in the generic one is up to the machine.
                Kind::CouldNotCompute | Kind::AddressCast => return None,
                Kind::Truncate | Kind::ZeroExtend => operands[0],
                Kind::SignExtend => {
                    let own = self.bits(self.operands(expression)[0]);
                    sign_extend(operands[0], own) as u64
                }
                Kind::Add => operands
                    .iter()
                    .fold(0, |sum: u64, &each| sum.wrapping_add(each)),
                Kind::Multiply => operands
                    .iter()
                    .fold(1, |product: u64, &each| product.wrapping_mul(each)),
                Kind::UnsignedDivide => operands[0].checked_div(operands[1])?,
                Kind::Recurrence => at_iteration(&operands, iteration(self.header(expression)?)?)?,
                Kind::SignedMax => operands.iter().copied().max_by_key(|&it| signed(it))?,
                Kind::SignedMin => operands.iter().copied().min_by_key(|&it| signed(it))?,
                Kind::UnsignedMax => operands.iter().copied().max()?,
                Kind::UnsignedMin | Kind::SequentialUnsignedMin => {
                    operands.iter().copied().min()?
                }
            };
            known.insert(expression, value & mask(bits));
        }
        known.get(&root).copied()
    }
}

/// What a recurrence with these operands is when the back edge was taken so many times: `a + b k + c k (k - 1) / 2 + …`, modulo two to
/// the 64th.
pub(super) fn at_iteration(operands: &[u64], iteration: u64) -> Option<u64> {
    let mut sum = 0u64;
    let mut binomial = 1u128;
    for (index, &operand) in operands.iter().enumerate() {
        if index > 0 {
            let index = index as u128;
            let Some(factor) = (u128::from(iteration) + 1).checked_sub(index) else {
                break;
            };
            binomial = binomial.checked_mul(factor)? / index;
        }
        sum = sum.wrapping_add(operand.wrapping_mul(binomial as u64));
    }
    Some(sum)
}

/// The smaller or larger of two numbers.
fn pick(kind: Kind, left: u64, right: u64, bits: u32) -> u64 {
    let less = match kind {
        Kind::SignedMax | Kind::SignedMin => sign_extend(left, bits) < sign_extend(right, bits),
        _ => left < right,
    };
    match (kind, less) {
        (Kind::SignedMax | Kind::UnsignedMax, true) => right,
        (Kind::SignedMax | Kind::UnsignedMax, false) => left,
        (_, true) => left,
        (_, false) => right,
    }
}

/// The number that an extreme is whatever the others are, and the one that changes nothing.
fn bounds(kind: Kind, bits: u32) -> (u64, u64) {
    let (lowest, highest) = (1u64 << (bits - 1), mask(bits) >> 1);
    match kind {
        Kind::SignedMax => (highest, lowest),
        Kind::SignedMin => (lowest, highest),
        Kind::UnsignedMax => (mask(bits), 0),
        _ => (0, mask(bits)),
    }
}
