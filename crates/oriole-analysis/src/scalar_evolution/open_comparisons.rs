//! Comparisons of which it is seen at once that no range decides them.
//!
//! ## Soundness
//! An answer here is that nothing is known, and what would be found out otherwise must be the same. So only those are left out of
//! which that follows from how ranges are computed ([`super::ranges`], [`super::guards`]):
//!
//! - The range of what is loaded, given by a call, or handed to the function is full. So is that of a sum with such a term, of
//!   a recurrence that starts with such a number, and of the low bits of such a number.
//! - A full range decides no comparison with another one, nor with a number that is not the first or the last of its width as it is
//!   compared, and never whether two numbers are equal.
//! - Conditions narrow the range of an expression only if one of them compares a part of it.
//! - The definitions of the leaves of an expression dominate that of a value with this expression. A condition that is computed
//!   before a leaf says nothing about it.

use super::Query;
use super::conditions::{Comparing, Relation};
use super::expression::{Expression, Kind, Leaf};
use super::guards::{Facts, MOST_BLOCKS};
use super::tables::Key;
use super::values::{is_arithmetic, is_guarded_move, is_load};
use crate::known_bits::{Known, literal_bits, mask};
use oriole_collections::SmallVec;
use oriole_ir::{Block, Definition, FunctionKind, Operand, Value};
use oriole_isa::{Comparison, Opcode, Space};

/// The most parts of an expression, or instructions that a value is computed from, that are looked at.
const MOST_PARTS: usize = 16;

/// What the expression of a value is if that is seen from its definition alone.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Plain {
    /// The value.
    Value,
    /// The value, or what a parameter of the kernel holds.
    Parameter,
}

impl Query<'_> {
    /// Whether a comparison cannot be decided by ranges because one side may be any number.
    pub(super) fn is_open(&mut self, reader: Key, facts: &Facts, wanted: Comparing) -> bool {
        let Comparing {
            relation,
            left,
            right,
        } = wanted;
        let is_equality = matches!(relation, Relation::Equal | Relation::NotEqual);
        for (side, other) in [(left, right), (right, left)] {
            let is_candidate = match self.state.expressions.as_constant(other) {
                _ if is_equality => true,
                Some(number) => {
                    let bits = self.state.expressions.bits(other);
                    !is_extreme(number, bits, relation.is_signed())
                }
                None => self.is_full(reader, other) && !self.is_told_of(facts, other),
            };
            if is_candidate && self.is_full(reader, side) && !self.is_told_of(facts, side) {
                return true;
            }
        }
        false
    }

    /// Whether the range of an expression is full wherever it is computed.
    fn is_full(&mut self, reader: Key, root: Expression) -> bool {
        // A part of each of these that is full makes it full.
        let mut parts: SmallVec<[Expression; MOST_PARTS]> = SmallVec::new();
        parts.push(root);
        let mut next = 0;
        while let Some(&part) = parts.get(next) {
            next += 1;
            let expressions = &self.state.expressions;
            let operands = expressions.operands(part);
            match expressions.kind(part) {
                Kind::Parameter | Kind::Symbol => return true,
                Kind::Unknown => {
                    if let Some(Leaf::Value(value)) = expressions.as_leaf(part)
                        && self.is_anything(reader, value, part)
                    {
                        return true;
                    }
                }
                Kind::Add
                    if parts.len() + operands.len() <= MOST_PARTS
                        && !self.has_extreme_term(part) =>
                {
                    parts.extend_from_slice(operands);
                }
                Kind::Recurrence | Kind::Truncate if parts.len() < MOST_PARTS => {
                    parts.push(operands[0]);
                }
                _ => {}
            }
        }
        false
    }

    /// Whether a sum may be distributed over an extreme among its terms.
    fn has_extreme_term(&self, sum: Expression) -> bool {
        let expressions = &self.state.expressions;
        let mut terms = expressions.operands(sum).iter();
        terms.any(|&term| matches!(expressions.kind(term), Kind::SignedMax | Kind::SignedMin))
    }

    /// Whether the range of a leaf is full.
    fn is_anything(&mut self, reader: Key, value: Value, leaf: Expression) -> bool {
        let bits = self.state.expressions.bits(leaf);
        let known = self.value(value).known;
        if known.truncate(bits) != Known::unknown(bits) {
            return false;
        }
        let is_plain = match self.function.values()[value].definition {
            Definition::Undefined => true,
            Definition::Parameter(block) => {
                self.state.tables.read(reader, Key::incoming(block));
                self.arms(value).is_empty()
            }
            Definition::Instruction(instruction) => {
                let format = self.function.format(instruction);
                let opcode = format.mnemonic.opcode();
                !matches!(opcode, Opcode::Selp | Opcode::Rem) && !is_guarded_move(format)
            }
        };
        if is_plain {
            self.state.tables.read(reader, Key::value(value));
        }
        is_plain
    }

    /// Whether facts may narrow the range of an expression.
    pub(super) fn is_told_of(&self, facts: &Facts, root: Expression) -> bool {
        if facts.bounds.is_empty() {
            return false;
        }
        let expressions = &self.state.expressions;
        if expressions.kind(root) == Kind::Add
            && (!facts.differences.is_empty() || self.has_extreme_term(root))
        {
            return true;
        }
        self.has_bounded_part(facts, root)
    }

    /// Whether facts bound an expression or what it is made of, or it is made of too much to say.
    pub(super) fn has_bounded_part(&self, facts: &Facts, root: Expression) -> bool {
        let expressions = &self.state.expressions;
        let mut parts: SmallVec<[Expression; MOST_PARTS]> = SmallVec::new();
        parts.push(root);
        let mut next = 0;
        while let Some(&part) = parts.get(next) {
            next += 1;
            if facts.bounds.iter().any(|&(bounded, _)| bounded == part) {
                return true;
            }
            let operands = expressions.operands(part);
            if parts.len() + operands.len() > MOST_PARTS {
                return true;
            }
            parts.extend_from_slice(operands);
        }
        false
    }

    /// Whether a predicate compares a number of which nothing is known with a number that says nothing of it, or with another
    /// such one. Asks for no expression.
    pub(super) fn compares_anything(&self, predicate: Value, block: Block) -> bool {
        self.compared_leaves(predicate).is_some_and(|leaves| {
            leaves
                .iter()
                .all(|&leaf| !self.is_compared_before(leaf, block))
        })
    }

    /// The values that a predicate compares, if these are leaves whose range is full and nothing else decides it.
    fn compared_leaves(&self, predicate: Value) -> Option<SmallVec<[(Value, Plain); 2]>> {
        let function = self.function;
        let Definition::Instruction(setp) = function.values()[predicate].definition else {
            return None;
        };
        let format = function.format(setp);
        let compared = format.mnemonic.first_type()?;
        let &[_, left, right] = function.operands(setp) else {
            return None;
        };
        if format.mnemonic.opcode() != Opcode::Setp
            || !format.is_simple()
            || format.mnemonic.modifiers().boolean.is_some()
            || compared.is_float()
            || compared.bits() > 64
            || compared.lanes() > 1
        {
            return None;
        }
        let comparison = format.mnemonic.modifiers().comparison?;
        let is_equality = matches!(comparison, Comparison::Equal | Comparison::NotEqual);
        let is_unsigned = matches!(
            comparison,
            Comparison::Lower | Comparison::LowerSame | Comparison::Higher | Comparison::HigherSame
        );
        let signed = compared.is_signed() && !is_unsigned;
        let mut leaves: SmallVec<[(Value, Plain); 2]> = SmallVec::new();
        for operand in [left, right] {
            match operand {
                Operand::Value(value) => leaves.push((value, self.plain(value, compared.bits())?)),
                Operand::Constant(constant) => {
                    let number = literal_bits(function.constants()[constant].literal?, compared)?;
                    if !is_equality && is_extreme(number, compared.bits(), signed) {
                        return None;
                    }
                }
                _ => return None,
            }
        }
        // Two loads of one parameter give the same.
        match leaves[..] {
            [_] => Some(leaves),
            [(a, first), (b, second)] => {
                (a != b && (first == Plain::Value || second == Plain::Value)).then_some(leaves)
            }
            _ => None,
        }
    }

    /// What the expression of a value of this width is, if its range is full and that is seen from its definition alone.
    fn plain(&self, value: Value, bits: u32) -> Option<Plain> {
        let function = self.function;
        let data = function.values()[value];
        let Definition::Instruction(instruction) = data.definition else {
            return None;
        };
        let format = function.format(instruction);
        if data.scalar_type.bits() != bits
            || is_arithmetic(format)
            || is_guarded_move(format)
            || !self.is_reached(instruction)
        {
            return None;
        }
        if !is_load(format) {
            return Some(Plain::Value);
        }
        if format.mnemonic.first_type()?.bits() != bits {
            return None;
        }
        let may_be_parameter = function.kind() == FunctionKind::Entry
            && format
                .mnemonic
                .space()
                .is_none_or(|own| own == Space::Param);
        Some(match may_be_parameter {
            true => Plain::Parameter,
            false => Plain::Value,
        })
    }

    /// Whether one of the conditions that dominate a block may compare a leaf.
    fn is_compared_before(&self, leaf: (Value, Plain), block: Block) -> bool {
        let shape = &self.state.shape;
        let home = match leaf.1 {
            Plain::Value => self.function.defining_block(leaf.0),
            Plain::Parameter => None,
        };
        let mut at = block;
        for _ in 0..MOST_BLOCKS {
            if home == Some(at) {
                return false;
            }
            let Some(above) = shape.dominators.immediate(at) else {
                return false;
            };
            if shape.dominating_edge(at).is_some() && self.may_compare(above, leaf, home) {
                return true;
            }
            at = above;
        }
        false
    }

    /// Whether what a block branches by may compare a leaf, or something that is computed from it.
    fn may_compare(&self, block: Block, leaf: (Value, Plain), home: Option<Block>) -> bool {
        let function = self.function;
        let last = function.last_instruction(block);
        let Some(Operand::Value(predicate)) = last.and_then(|last| function.guard(last)) else {
            return false;
        };
        let Definition::Instruction(setp) = function.values()[predicate].definition else {
            return false;
        };
        let format = function.format(setp);
        if format.mnemonic.opcode() == Opcode::Setp
            && format
                .mnemonic
                .first_type()
                .is_some_and(|compared| compared.is_float())
        {
            return false;
        }
        // Other predicates too: what is computed from the leaf is.
        let mut values: SmallVec<[Value; MOST_PARTS]> = SmallVec::new();
        values.push(predicate);
        let mut next = 0;
        while let Some(&value) = values.get(next) {
            next += 1;
            if value == leaf.0 {
                return true;
            }
            let own = function.defining_block(value);
            let comes_before = |home: Block| {
                own.is_some_and(|own| !self.state.shape.dominators.dominates(home, own))
            };
            // What is computed before the leaf is not computed from it.
            if home.is_some_and(comes_before) {
                continue;
            }
            match function.values()[value].definition {
                Definition::Undefined => {}
                Definition::Parameter(_) => return true,
                Definition::Instruction(instruction) => {
                    let format = function.format(instruction);
                    if is_arithmetic(format) || is_guarded_move(format) {
                        let used = function.uses(instruction);
                        values.extend(used.take(MOST_PARTS));
                        if values.len() > MOST_PARTS {
                            return true;
                        }
                    } else if leaf.1 == Plain::Parameter && is_load(format) {
                        return true;
                    }
                }
            }
        }
        false
    }
}

/// Whether a number is the first or the last of its width, as a signed or an unsigned one.
fn is_extreme(number: u64, bits: u32, signed: bool) -> bool {
    let most = match signed {
        true => mask(bits) >> 1,
        false => mask(bits),
    };
    number == most || number == most.wrapping_add(1) & mask(bits)
}
