//! Expressions: interned, immutable, canonical.
//!
//! An expression is a number; two expressions of one arena are equal if and only if their numbers are. All arithmetic is modulo two
//! to the width of the expression, as in PTX. Constructors ([`super::arithmetic`]) fold and bring operands into order; here is how
//! nodes are kept and looked at.

use oriole_collections::key::mix64;
use oriole_collections::{DenseMap, IndexVec, PackedOption, SmallVec};
use oriole_ir::{Block, Symbol, Value};
use oriole_isa::{Space, SpecialRegister};
use std::cmp::Ordering;

oriole_collections::entity! {
    /// An expression.
    pub struct Expression = "e";
}

/// What an expression is. The order is that of operands in sums and products.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// A number.
    Constant,
    /// The low bits of its operand.
    Truncate,
    /// Its operand with zeros above.
    ZeroExtend,
    /// Its operand with copies of its top bit above.
    SignExtend,
    /// An address of its operand's space as a generic one, or the other way round (`cvta`).
    AddressCast,
    /// A sum.
    Add,
    /// A product.
    Multiply,
    /// A quotient of unsigned numbers. What division by zero gives is nobody's business.
    UnsignedDivide,
    /// A value that changes from iteration to iteration of a loop: its first value, what is added in each iteration, what is
    /// added to that, and so on.
    Recurrence,
    /// The largest of signed numbers.
    SignedMax,
    /// The largest of unsigned numbers.
    UnsignedMax,
    /// The smallest of signed numbers.
    SignedMin,
    /// The smallest of unsigned numbers.
    UnsignedMin,
    /// The smallest of unsigned numbers, which are looked at in order until one is zero: those behind it need not mean anything.
    SequentialUnsignedMin,
    /// What a loop is entered with in a parameter of its header, if it is entered from several places.
    Start,
    /// A special register that does not change while a thread runs.
    Special,
    /// The address of a variable.
    Symbol,
    /// Bytes of a parameter of the kernel.
    Parameter,
    /// A value of which nothing is known that an expression could say.
    Unknown,
    /// No expression.
    CouldNotCompute,
}

impl Kind {
    /// Whether the order of operands means nothing.
    pub fn commutes(self) -> bool {
        use Kind::*;
        matches!(
            self,
            Add | Multiply | SignedMax | UnsignedMax | SignedMin | UnsignedMin
        )
    }
}

/// A leaf of an expression.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leaf {
    /// A value.
    Value(Value),
    /// What a loop is entered with in this parameter of its header.
    Start(Value),
    /// A special register.
    Special(SpecialRegister),
    /// The address of a variable.
    Symbol(Symbol),
    /// What a parameter of the kernel holds from this byte on.
    Parameter(Symbol, u32),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Node {
    kind: Kind,
    bits: u8,
    /// Whether a parameter of a block may be among its leaves.
    has_parameters: bool,
    /// Whether there is an extension in it.
    has_extensions: bool,
    count: u32,
    first: u32,
    /// Nodes of the expression as a tree, at most `u32::MAX`.
    size: u32,
    /// What tells it from others of its kind besides operands.
    payload: u64,
    /// A hash of what it is made of, which does not depend on when it was made.
    rank: u64,
}

/// An arena of expressions.
#[derive(Clone, Debug)]
pub struct Expressions {
    nodes: IndexVec<Expression, Node>,
    operands: Vec<Expression>,
    /// Expressions by their rank, each in the first free place from where it belongs; a power of two of places, half of them free.
    index: Vec<PackedOption<Expression>>,
    /// The special registers that there are, by their payload.
    specials: Vec<(u64, SpecialRegister)>,
    /// How many expressions were too large to simplify.
    pub(super) failures: u32,
    pub(super) limits: super::Knobs,
}

impl Expressions {
    /// An empty arena with these limits.
    pub fn new(limits: super::Knobs) -> Expressions {
        let mut expressions = Expressions {
            nodes: IndexVec::with_capacity(USUAL),
            operands: Vec::with_capacity(USUAL),
            index: vec![PackedOption::none(); 2 * USUAL],
            specials: Vec::new(),
            failures: 0,
            limits,
        };
        expressions.intern(Kind::CouldNotCompute, 1, 0, &[]);
        expressions
    }

    /// How many expressions there are.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Whether there are none but the one that stands for none.
    pub fn is_empty(&self) -> bool {
        self.nodes.len() <= 1
    }

    /// The expression that stands for none.
    pub fn could_not_compute() -> Expression {
        Expression::from_index(0)
    }

    /// What an expression is.
    #[inline]
    pub fn kind(&self, expression: Expression) -> Kind {
        self.nodes[expression].kind
    }

    /// Its width.
    #[inline]
    pub fn bits(&self, expression: Expression) -> u32 {
        u32::from(self.nodes[expression].bits)
    }

    /// How many nodes it has as a tree.
    #[inline]
    pub fn size(&self, expression: Expression) -> u32 {
        self.nodes[expression].size
    }

    /// Its operands.
    #[inline]
    pub fn operands(&self, expression: Expression) -> &[Expression] {
        let node = &self.nodes[expression];
        &self.operands[node.first as usize..][..node.count as usize]
    }

    /// The number, if it is one.
    #[inline]
    pub fn as_constant(&self, expression: Expression) -> Option<u64> {
        let node = &self.nodes[expression];
        (node.kind == Kind::Constant).then_some(node.payload)
    }

    /// The number as a signed one, if it is one.
    pub fn as_signed(&self, expression: Expression) -> Option<i64> {
        let bits = self.as_constant(expression)?;
        Some(crate::known_bits::sign_extend(bits, self.bits(expression)))
    }

    /// The leaf, if it is one.
    pub fn as_leaf(&self, expression: Expression) -> Option<Leaf> {
        let node = &self.nodes[expression];
        let number = node.payload as usize;
        match node.kind {
            Kind::Unknown => Some(Leaf::Value(Value::from_index(number))),
            Kind::Start => Some(Leaf::Start(Value::from_index(number))),
            Kind::Special => {
                let mut specials = self.specials.iter();
                let found = specials.find(|&&(own, _)| own == node.payload);
                found.map(|&(_, special)| Leaf::Special(special))
            }
            Kind::Symbol => Some(Leaf::Symbol(Symbol::from_index(number))),
            Kind::Parameter => {
                let symbol = Symbol::from_index(number >> 32);
                Some(Leaf::Parameter(symbol, node.payload as u32))
            }
            _ => None,
        }
    }

    /// The header of the loop that a recurrence belongs to.
    pub fn header(&self, expression: Expression) -> Option<Block> {
        let node = &self.nodes[expression];
        (node.kind == Kind::Recurrence).then(|| Block::from_index(node.payload as usize))
    }

    /// A recurrence with a first value and one step: its header, start and step.
    pub fn as_affine(&self, expression: Expression) -> Option<(Block, Expression, Expression)> {
        let header = self.header(expression)?;
        match *self.operands(expression) {
            [start, step] => Some((header, start, step)),
            _ => None,
        }
    }

    /// Whether there is a recurrence of the loop with this header in an expression, or the expression is too large to say.
    pub fn may_run_with(&self, root: Expression, header: Block) -> bool {
        let mut parts: SmallVec<[Expression; FEW]> = SmallVec::new();
        parts.push(root);
        let mut left = 4 * FEW;
        while let Some(part) = parts.pop() {
            left -= 1;
            if self.header(part) == Some(header) || left == 0 {
                return true;
            }
            parts.extend_from_slice(self.operands(part));
        }
        false
    }

    /// The space of an address, and whether it is cast to it rather than from it.
    pub fn address_cast(&self, expression: Expression) -> Option<(Space, bool)> {
        let node = &self.nodes[expression];
        (node.kind == Kind::AddressCast).then(|| {
            let space = CAST_SPACES[(node.payload >> 1) as usize];
            (space, node.payload & 1 != 0)
        })
    }

    /// Whether nothing is known.
    pub fn is_unknown(&self, expression: Expression) -> bool {
        self.kind(expression) == Kind::CouldNotCompute
    }

    /// Puts operands into the order of [`Expressions::order`].
    pub(super) fn sort(&self, operands: &mut [Expression]) {
        if let [left, right] = operands {
            if self.order(*left, *right) == Ordering::Greater {
                std::mem::swap(left, right);
            }
            return;
        }
        operands.sort_unstable_by(|&left, &right| self.order(left, right));
    }

    /// Which of two operands comes first: by kind, leaves by what they are, others by their size and then by the first operand in
    /// which they differ. It does not depend on what was asked before.
    fn order(&self, left: Expression, right: Expression) -> Ordering {
        let (mut left, mut right) = (left, right);
        for _ in 0..MOST_ORDERED {
            if left == right {
                return Ordering::Equal;
            }
            let (first, second) = (&self.nodes[left], &self.nodes[right]);
            let own = |node: &Node| match node.count {
                0 => node.payload,
                _ => node.size.into(),
            };
            let order = first.kind.cmp(&second.kind);
            let order = order.then(own(first).cmp(&own(second)));
            if order != Ordering::Equal {
                return order;
            }
            let pairs = self.operands(left).iter().zip(self.operands(right));
            let Some((one, other)) = pairs.into_iter().find(|(one, other)| one != other) else {
                break;
            };
            (left, right) = (*one, *other);
        }
        // Those that look the same so far stand in any order that is always the same.
        let rank = |it: Expression| (self.nodes[it].rank, it.as_u32());
        rank(left).cmp(&rank(right))
    }

    /// The expression with these parts, as it is: nothing is folded.
    pub(super) fn intern(
        &mut self,
        kind: Kind,
        bits: u32,
        payload: u64,
        operands: &[Expression],
    ) -> Expression {
        let mut rank = first_rank(kind, bits, payload);
        for &operand in operands {
            rank = mix64(rank.rotate_left(23) ^ self.nodes[operand].rank);
        }
        let mask = self.index.len() - 1;
        let mut place = rank as usize & mask;
        while let Some(expression) = self.index[place].expand() {
            let node = &self.nodes[expression];
            if node.rank == rank
                && node.kind == kind
                && u32::from(node.bits) == bits
                && node.payload == payload
                && self.operands(expression) == operands
            {
                return expression;
            }
            place = (place + 1) & mask;
        }
        self.enter(kind, bits, payload, operands, rank, place)
    }

    /// The same for a kind that has no operands: most of what is asked for is a number that is there.
    #[inline]
    fn intern_leaf(&mut self, kind: Kind, bits: u32, payload: u64) -> Expression {
        let rank = first_rank(kind, bits, payload);
        let mask = self.index.len() - 1;
        let mut place = rank as usize & mask;
        while let Some(expression) = self.index[place].expand() {
            let node = &self.nodes[expression];
            if node.rank == rank
                && node.payload == payload
                && node.kind == kind
                && u32::from(node.bits) == bits
            {
                return expression;
            }
            place = (place + 1) & mask;
        }
        self.enter(kind, bits, payload, &[], rank, place)
    }

    /// An expression that is not there yet, which the index has this free place for.
    fn enter(
        &mut self,
        kind: Kind,
        bits: u32,
        payload: u64,
        operands: &[Expression],
        rank: u64,
        place: usize,
    ) -> Expression {
        let first = self.operands.len() as u32;
        self.operands.extend_from_slice(operands);
        let mut size = 1u32;
        let mut has_parameters = matches!(kind, Kind::Unknown | Kind::Recurrence);
        let mut has_extensions = matches!(kind, Kind::ZeroExtend | Kind::SignExtend);
        for &operand in operands {
            let node = &self.nodes[operand];
            size = size.saturating_add(node.size);
            has_parameters |= node.has_parameters;
            has_extensions |= node.has_extensions;
        }
        let expression = self.nodes.push(Node {
            kind,
            bits: bits as u8,
            has_parameters,
            has_extensions,
            count: operands.len() as u32,
            first,
            size,
            payload,
            rank,
        });
        self.index[place] = PackedOption::some(expression);
        if 2 * self.nodes.len() > self.index.len() {
            self.grow_index();
        }
        expression
    }

    /// Makes room for twice as many expressions.
    #[cold]
    fn grow_index(&mut self) {
        let mask = 2 * self.index.len() - 1;
        self.index.clear();
        self.index.resize(mask + 1, PackedOption::none());
        for (expression, node) in self.nodes.iter() {
            let mut place = node.rank as usize & mask;
            while self.index[place].is_some() {
                place = (place + 1) & mask;
            }
            self.index[place] = PackedOption::some(expression);
        }
    }

    /// Whether a parameter of a block may be among the leaves of an expression.
    #[inline]
    pub(super) fn has_parameters(&self, expression: Expression) -> bool {
        self.nodes[expression].has_parameters
    }

    /// Whether there is an extension in an expression.
    #[inline]
    pub(super) fn has_extensions(&self, expression: Expression) -> bool {
        self.nodes[expression].has_extensions
    }

    /// What tells an expression from others of its kind besides operands.
    pub(super) fn payload(&self, expression: Expression) -> u64 {
        self.nodes[expression].payload
    }

    /// A number.
    pub fn constant(&mut self, value: u64, bits: u32) -> Expression {
        let value = value & crate::known_bits::mask(bits);
        self.intern_leaf(Kind::Constant, bits, value)
    }

    /// A value as a leaf.
    pub fn unknown(&mut self, value: Value, bits: u32) -> Expression {
        self.intern_leaf(Kind::Unknown, bits, value.index() as u64)
    }

    /// A value as a leaf that is no parameter of a block. No value becomes one later.
    pub(super) fn result(&mut self, value: Value, bits: u32) -> Expression {
        let count = self.nodes.len();
        let leaf = self.unknown(value, bits);
        if self.nodes.len() > count {
            self.nodes[leaf].has_parameters = false;
        }
        leaf
    }

    /// What a loop is entered with in a parameter of its header.
    pub fn start(&mut self, parameter: Value, bits: u32) -> Expression {
        self.intern_leaf(Kind::Start, bits, parameter.index() as u64)
    }

    /// The address of a variable.
    pub fn symbol(&mut self, symbol: Symbol, bits: u32) -> Expression {
        self.intern_leaf(Kind::Symbol, bits, symbol.index() as u64)
    }

    /// What a parameter of the kernel holds from a byte on.
    pub fn parameter(&mut self, symbol: Symbol, offset: u32, bits: u32) -> Expression {
        let payload = (symbol.index() as u64) << 32 | u64::from(offset);
        self.intern_leaf(Kind::Parameter, bits, payload)
    }

    /// A special register.
    pub fn special(&mut self, special: SpecialRegister, bits: u32) -> Expression {
        let component = special.component().map_or(0, |it| it as u64 + 1);
        let number = special.number();
        let payload = (special.kind() as u64) << 16 | component << 8 | u64::from(number);
        if !self.specials.iter().any(|&(own, _)| own == payload) {
            self.specials.push((payload, special));
        }
        self.intern_leaf(Kind::Special, bits, payload)
    }

    /// An address cast to a space, or from it to a generic one.
    pub fn cast_address(&mut self, operand: Expression, space: Space, to: bool) -> Expression {
        let Some(number) = CAST_SPACES.iter().position(|&own| own == space) else {
            return Expressions::could_not_compute();
        };
        // There and back again.
        if self.address_cast(operand) == Some((space, !to)) {
            return self.operands(operand)[0];
        }
        let bits = self.bits(operand);
        let payload = (number as u64) << 1 | u64::from(to);
        self.intern(Kind::AddressCast, bits, payload, &[operand])
    }

    /// Everything an expression is made of, each after its operands, itself last.
    pub fn postorder(&self, root: Expression) -> Vec<Expression> {
        self.postorder_with(root, |_| true)
    }

    /// Those parts of an expression that have extensions in them, in the order of [`Expressions::postorder`].
    pub(super) fn extending_parts(&self, root: Expression) -> Vec<Expression> {
        self.postorder_with(root, |node| node.has_extensions)
    }

    /// Those parts of an expression that may have parameters of blocks among their leaves, in the order of [`Expressions::postorder`].
    pub(super) fn parts_with_parameters(&self, root: Expression) -> Vec<Expression> {
        self.postorder_with(root, |node| node.has_parameters)
    }

    /// The parts of an expression that are no numbers, in the order of [`Expressions::postorder`].
    pub(super) fn variable_parts(&self, root: Expression) -> Vec<Expression> {
        self.postorder_with(root, |node| node.kind != Kind::Constant)
    }

    /// What an expression is made of, without what is not wanted: that is not wanted of anything it is made of either.
    fn postorder_with(&self, root: Expression, is_wanted: fn(&Node) -> bool) -> Vec<Expression> {
        if self.operands(root).is_empty() {
            return vec![root];
        }
        let mut seen = Seen::default();
        let mut order = Vec::with_capacity(self.size(root).min(FEW as u32) as usize);
        let mut stack: SmallVec<[(Expression, bool); FEW]> = SmallVec::new();
        stack.push((root, false));
        while let Some((expression, is_done)) = stack.pop() {
            if is_done {
                order.push(expression);
                continue;
            }
            if !seen.insert(expression) {
                continue;
            }
            stack.push((expression, true));
            for &operand in self.operands(expression) {
                if is_wanted(&self.nodes[operand]) {
                    stack.push((operand, false));
                }
            }
        }
        order
    }
}

/// What the rank of an expression starts with, and what it is without operands.
#[inline]
fn first_rank(kind: Kind, bits: u32, payload: u64) -> u64 {
    mix64(payload ^ (kind as u64) << 56 ^ u64::from(bits) << 48)
}

/// How many expressions there usually are.
const USUAL: usize = 64;

/// How deep expressions are compared to bring them into order.
const MOST_ORDERED: usize = 16;

/// So many expressions are looked through one by one.
const FEW: usize = 16;

/// A set of expressions, of which there are a few most often.
#[derive(Default)]
struct Seen {
    few: SmallVec<[Expression; FEW]>,
    others: DenseMap<Expression, ()>,
}

impl Seen {
    /// Whether it was not there.
    fn insert(&mut self, expression: Expression) -> bool {
        if self.few.contains(&expression) {
            return false;
        }
        if self.few.len() < FEW {
            self.few.push(expression);
            return true;
        }
        self.others.try_insert(expression, ())
    }
}

/// The spaces `cvta` knows.
const CAST_SPACES: [Space; 6] = [
    Space::Global,
    Space::Shared,
    Space::Local,
    Space::Const,
    Space::Param,
    Space::SharedCluster,
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scalar_evolution::Knobs;

    /// What an expression is made of, in order.
    fn shown(expressions: &Expressions, root: Expression) -> Vec<(Kind, u64)> {
        let order = expressions.postorder(root).into_iter();
        let order = order.map(|it| (expressions.kind(it), expressions.payload(it)));
        order.collect()
    }

    #[test]
    fn operands_stand_in_one_order_whenever_they_are_made() {
        let value = |number: usize| Value::from_index(number);
        let terms = |own: &mut Expressions, order: [u64; 4]| -> Expression {
            let mut made: Vec<Expression> = Vec::new();
            for number in order {
                let leaf = own.unknown(value(number as usize), 32);
                let wide = own.sign_extend(leaf, 64);
                let factor = own.constant(number % 2 + 3, 64);
                made.push(own.multiply(&[factor, wide]));
            }
            own.add(&made)
        };
        let mut first = Expressions::new(Knobs::default());
        let mut second = Expressions::new(Knobs::default());
        let one = terms(&mut first, [1, 2, 3, 4]);
        let other = terms(&mut second, [4, 2, 1, 3]);
        assert_eq!(shown(&first, one), shown(&second, other));
    }

    #[test]
    fn expressions_are_found_again_when_there_are_many() {
        let mut expressions = Expressions::new(Knobs::default());
        let leaf = expressions.unknown(Value::from_index(7), 32);
        let make = |own: &mut Expressions, number: u64| own.add_constant(leaf, number);
        let made: Vec<Expression> = (1..1000).map(|it| make(&mut expressions, it)).collect();
        let count = expressions.len();
        for (number, &sum) in (1..1000).zip(&made) {
            assert_eq!(make(&mut expressions, number), sum);
        }
        assert_eq!(expressions.len(), count);
    }
}
