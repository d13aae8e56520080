//! Conditions of branches: comparisons of expressions, and what predicates make of them.

use super::Query;
use super::expression::Expression;
use super::tables::Key;
use crate::known_bits::literal_bits;
use oriole_ir::{Block, Definition, Instruction, Operand, Value};
use oriole_isa::{BooleanOperation, Comparison, Opcode, ScalarType, Terminator};
use oriole_syntax::tree::Guard;

/// How two numbers compare.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relation {
    /// They are equal.
    Equal,
    /// They are not.
    NotEqual,
    /// The first is smaller, as unsigned numbers.
    UnsignedLess,
    /// The first is not larger, as unsigned numbers.
    UnsignedLessEqual,
    /// The first is smaller, as signed numbers.
    SignedLess,
    /// The first is not larger, as signed numbers.
    SignedLessEqual,
}

impl Relation {
    /// Whether numbers are compared as signed ones.
    pub fn is_signed(self) -> bool {
        matches!(self, Relation::SignedLess | Relation::SignedLessEqual)
    }

    /// Whether the first is smaller.
    pub fn less(signed: bool) -> Relation {
        match signed {
            true => Relation::SignedLess,
            false => Relation::UnsignedLess,
        }
    }

    /// Whether the first is not larger.
    pub fn less_equal(signed: bool) -> Relation {
        match signed {
            true => Relation::SignedLessEqual,
            false => Relation::UnsignedLessEqual,
        }
    }

    /// Whether it holds between two numbers of this width.
    pub fn holds(self, left: u64, right: u64, bits: u32) -> bool {
        let signed = |value| crate::known_bits::sign_extend(value, bits);
        match self {
            Relation::Equal => left == right,
            Relation::NotEqual => left != right,
            Relation::UnsignedLess => left < right,
            Relation::UnsignedLessEqual => left <= right,
            Relation::SignedLess => signed(left) < signed(right),
            Relation::SignedLessEqual => signed(left) <= signed(right),
        }
    }
}

/// A relation between two expressions of one width.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Comparing {
    pub relation: Relation,
    pub left: Expression,
    pub right: Expression,
}

impl Comparing {
    /// What holds if this does not.
    pub fn negated(self) -> Comparing {
        use Relation::*;
        let (relation, is_swapped) = match self.relation {
            Equal => (NotEqual, false),
            NotEqual => (Equal, false),
            UnsignedLess => (UnsignedLessEqual, true),
            UnsignedLessEqual => (UnsignedLess, true),
            SignedLess => (SignedLessEqual, true),
            SignedLessEqual => (SignedLess, true),
        };
        match is_swapped {
            true => Comparing {
                relation,
                left: self.right,
                right: self.left,
            },
            false => Comparing { relation, ..self },
        }
    }
}

/// What a predicate says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Condition {
    /// Always the same.
    Constant(bool),
    /// A comparison.
    Compare(Comparing),
    /// Both.
    And(Box<Condition>, Box<Condition>),
    /// One or both.
    Or(Box<Condition>, Box<Condition>),
    /// Something else.
    Opaque,
}

impl Condition {
    fn negated(self) -> Condition {
        match self {
            Condition::Constant(value) => Condition::Constant(!value),
            Condition::Compare(comparing) => Condition::Compare(comparing.negated()),
            // Depth is bounded by that of the walk that made it.
            Condition::And(left, right) => {
                Condition::Or(Box::new(left.negated()), Box::new(right.negated()))
            }
            Condition::Or(left, right) => {
                Condition::And(Box::new(left.negated()), Box::new(right.negated()))
            }
            Condition::Opaque => Condition::Opaque,
        }
    }

    fn negated_if(self, is_negated: bool) -> Condition {
        match is_negated {
            true => self.negated(),
            false => self,
        }
    }
}

/// How a block with two ways out chooses.
#[derive(Clone, Copy, Debug)]
pub(super) struct Branch {
    pub predicate: Value,
    /// The edge that is taken if the predicate is true; nothing if the thread ends then.
    pub if_true: Option<u32>,
    /// The edge that is taken if it is false; nothing if the thread ends then.
    pub if_false: Option<u32>,
}

impl Query<'_> {
    /// How a block ends, if it ends in a choice by a predicate.
    pub(super) fn branch(&mut self, reader: Key, block: Block) -> Option<Branch> {
        self.state.tables.read(reader, Key::terminator(block));
        let last = self.function.last_instruction(block)?;
        let format = self.function.format(last);
        let data = &self.function.blocks()[block];
        let Some(Operand::Value(predicate)) = self.function.guard(last) else {
            return None;
        };
        let falls = data.fall_through().map(|edge| edge as u32);
        let taken = match format.effects.terminator {
            Terminator::Branch if data.edges.len() == 2 && falls == Some(1) => Some(0),
            Terminator::Return | Terminator::Exit if data.edges.len() == 1 && falls == Some(0) => {
                None
            }
            _ => return None,
        };
        Some(match format.guard {
            Guard::If => Branch {
                predicate,
                if_true: taken,
                if_false: falls,
            },
            Guard::IfNot => Branch {
                predicate,
                if_true: falls,
                if_false: taken,
            },
            Guard::None => return None,
        })
    }

    /// What a predicate says. It is asked for where the predicate is decided, where its branch says something, and for counts.
    pub(super) fn condition(&mut self, reader: Key, predicate: Value) -> Condition {
        let key = Key::condition(predicate);
        self.state.tables.read(reader, key);
        if let Some(found) = self.state.tables.conditions.get(&predicate) {
            return found.clone();
        }
        let condition = self.condition_at(key, predicate, 0);
        let tables = &mut self.state.tables;
        tables.conditions.insert(predicate, condition.clone());
        tables.filled();
        condition
    }

    /// What a predicate says that another one is computed from, so many predicates before.
    fn condition_at(&mut self, reader: Key, predicate: Value, depth: u32) -> Condition {
        self.state.tables.read(reader, Key::value(predicate));
        let entry = self.value(predicate);
        if let Some(value) = entry.known.as_constant() {
            return Condition::Constant(value & 1 != 0);
        }
        if depth > self.state.knobs.max_constant_evolving_depth {
            return Condition::Opaque;
        }
        self.state.tables.read(reader, Key::definition(predicate));
        let Definition::Instruction(instruction) = self.function.values()[predicate].definition
        else {
            return Condition::Opaque;
        };
        if !self.is_reached(instruction) {
            return Condition::Opaque;
        }
        self.predicate_condition(reader, instruction, depth)
            .unwrap_or(Condition::Opaque)
    }

    fn predicate_condition(
        &mut self,
        reader: Key,
        instruction: Instruction,
        depth: u32,
    ) -> Option<Condition> {
        let function = self.function;
        let format = function.format(instruction);
        if !format.is_simple() {
            return None;
        }
        let mnemonic = &format.mnemonic;
        let (_, sources) = function.operands(instruction).split_first()?;
        let first = mnemonic.first_type()?;
        if mnemonic.opcode() == Opcode::Setp {
            let compared = self.setp(reader, instruction, depth)?;
            let (Some(boolean), [_, _, third]) = (mnemonic.modifiers().boolean, sources) else {
                return Some(compared);
            };
            let third = self.condition_at(reader, third.value()?, depth + 1);
            return match boolean {
                BooleanOperation::And => Some(and(compared, third)),
                BooleanOperation::Or => Some(or(compared, third)),
                BooleanOperation::Xor => None,
            };
        }
        if first != ScalarType::Pred {
            return None;
        }
        let mut sides = Vec::with_capacity(2);
        for &source in sources {
            sides.push(match source {
                Operand::Value(value) => self.condition_at(reader, value, depth + 1),
                Operand::Constant(constant) => {
                    let literal = function.constants()[constant].literal?;
                    Condition::Constant(literal_bits(literal, ScalarType::Pred)? != 0)
                }
                _ => return None,
            });
        }
        let mut sides = sides.into_iter();
        let left = sides.next()?;
        match (mnemonic.opcode(), sides.next()) {
            (Opcode::Mov, None) => Some(left),
            (Opcode::Not, None) => Some(left.negated()),
            (Opcode::And, Some(right)) => Some(and(left, right)),
            (Opcode::Or, Some(right)) => Some(or(left, right)),
            (Opcode::Xor, Some(Condition::Constant(flip))) => Some(left.negated_if(flip)),
            (Opcode::Xor, Some(right)) => match left {
                Condition::Constant(flip) => Some(right.negated_if(flip)),
                _ => None,
            },
            _ => None,
        }
    }

    /// The comparison of a `setp`, without its boolean operation.
    fn setp(&mut self, reader: Key, instruction: Instruction, depth: u32) -> Option<Condition> {
        use Comparison::*;
        let function = self.function;
        let format = function.format(instruction);
        let compared = format.mnemonic.first_type()?;
        let &[_, left, right, ..] = function.operands(instruction) else {
            return None;
        };
        if compared.is_float() || compared.bits() > 64 || compared.lanes() > 1 {
            return None;
        }
        let signed = compared.is_signed();
        let comparison = format.mnemonic.modifiers().comparison?;
        if matches!(comparison, Equal | NotEqual)
            && let Some(condition) =
                self.compared_choice(reader, left, right, comparison == Equal, compared, depth)
        {
            return Some(condition);
        }
        let a = self.compared_operand(reader, left, compared)?;
        let b = self.compared_operand(reader, right, compared)?;
        let (relation, left, right) = match comparison {
            Equal => (Relation::Equal, a, b),
            NotEqual => (Relation::NotEqual, a, b),
            Less => (Relation::less(signed), a, b),
            LessEqual => (Relation::less_equal(signed), a, b),
            Greater => (Relation::less(signed), b, a),
            GreaterEqual => (Relation::less_equal(signed), b, a),
            Lower => (Relation::UnsignedLess, a, b),
            LowerSame => (Relation::UnsignedLessEqual, a, b),
            Higher => (Relation::UnsignedLess, b, a),
            HigherSame => (Relation::UnsignedLessEqual, b, a),
            _ => return None,
        };
        Some(Condition::Compare(Comparing {
            relation,
            left,
            right,
        }))
    }

    fn compared_operand(
        &mut self,
        reader: Key,
        operand: Operand,
        wanted: ScalarType,
    ) -> Option<Expression> {
        match operand {
            Operand::Value(value) => {
                let expression = self.read_expression(reader, value);
                let expressions = &mut self.state.expressions;
                let is_wide = !expressions.is_unknown(expression)
                    && expressions.bits(expression) >= wanted.bits();
                is_wide.then(|| expressions.truncate(expression, wanted.bits()))
            }
            other => Some(self.operand(other, wanted)?.0),
        }
    }

    /// `setp.ne p, (q ? 1 : 0), 0`, which compilers write that keep predicates in memory, is `q`.
    fn compared_choice(
        &mut self,
        reader: Key,
        left: Operand,
        right: Operand,
        is_equal: bool,
        wanted: ScalarType,
        depth: u32,
    ) -> Option<Condition> {
        let function = self.function;
        let number = |operand: Operand| match operand {
            Operand::Constant(constant) => {
                literal_bits(function.constants()[constant].literal?, wanted)
            }
            _ => None,
        };
        let chosen = left.value()?;
        let against = number(right)?;
        self.state.tables.read(reader, Key::definition(chosen));
        let Definition::Instruction(select) = function.values()[chosen].definition else {
            return None;
        };
        let format = function.format(select);
        let &[_, first, second, condition] = function.operands(select) else {
            return None;
        };
        if format.mnemonic.opcode() != Opcode::Selp
            || !format.is_simple()
            || format.operand_type(1)?.bits() != wanted.bits()
            || !self.is_reached(select)
        {
            return None;
        }
        let says = |arm: u64| (arm == against) == is_equal;
        match (says(number(first)?), says(number(second)?)) {
            (true, true) => Some(Condition::Constant(true)),
            (false, false) => Some(Condition::Constant(false)),
            (if_true, _) => {
                let inner = self.condition_at(reader, condition.value()?, depth + 1);
                Some(inner.negated_if(!if_true))
            }
        }
    }
}

fn and(left: Condition, right: Condition) -> Condition {
    match (left, right) {
        (Condition::Constant(false), _) | (_, Condition::Constant(false)) => {
            Condition::Constant(false)
        }
        (Condition::Constant(true), other) | (other, Condition::Constant(true)) => other,
        (left, right) => Condition::And(Box::new(left), Box::new(right)),
    }
}

fn or(left: Condition, right: Condition) -> Condition {
    match (left, right) {
        (Condition::Constant(true), _) | (_, Condition::Constant(true)) => {
            Condition::Constant(true)
        }
        (Condition::Constant(false), other) | (other, Condition::Constant(false)) => other,
        (left, right) => Condition::Or(Box::new(left), Box::new(right)),
    }
}

impl Condition {
    /// What holds if the predicate is as said.
    pub fn when(self, truth: bool) -> Condition {
        self.negated_if(!truth)
    }
}
