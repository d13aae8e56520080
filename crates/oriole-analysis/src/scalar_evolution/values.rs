//! Layer 1: expressions and known bits of values, with parameters of loop headers as leaves.
//!
//! ## Soundness
//! Each instruction becomes what PTX says it computes modulo two to its width; what an expression cannot say is a leaf. Shifts clamp at
//! the width, masks of adjacent bits are quotients and truncations, `or` and `xor` of bits that cannot both be set are sums.
//! Values in blocks that control cannot reach are leaves: there, values may be defined by each other.

use super::Query;
use super::expression::{Expression, Expressions, Kind};
use super::tables::{Key, ValueEntry};
use crate::known_bits::{Known, literal_bits, mask, result_of};
use oriole_collections::{PackedOption, SmallVec};
use oriole_ir::{
    AccessKind, Base, Block, Definition, FormatData, FunctionKind, Instruction, Operand,
    SymbolKind, Value,
};
use oriole_isa::{Comparison, Flag, MulMode, Opcode, ScalarType, Space};
use std::ops::ControlFlow;

/// Nothing known.
const NOTHING: Known = Known { zeros: 0, ones: 0 };

impl Query<'_> {
    /// The entry of a value, computed now or earlier.
    pub(super) fn value(&mut self, value: Value) -> ValueEntry {
        match self.current_entry(value) {
            Some(entry) => entry,
            None => self.new_value(value),
        }
    }

    /// The entry of a value that has none.
    #[inline(never)]
    fn new_value(&mut self, value: Value) -> ValueEntry {
        // Values, and whether what they are computed from comes before them: it is on the stack above.
        let mut stack: SmallVec<[(Value, bool); 16]> = SmallVec::new();
        stack.push((value, false));
        while let Some(top) = stack.last_mut() {
            let value = top.0;
            if top.1 {
                stack.pop();
                if self.current_entry(value).is_none() {
                    self.fill_value(value);
                }
                continue;
            }
            top.1 = true;
            let count = stack.len();
            self.push_operands(value, &mut stack);
            let mut kept = count;
            for at in count..stack.len() {
                let each = stack[at].0;
                if each != value && self.current_entry(each).is_none() {
                    stack[kept] = (each, false);
                    kept += 1;
                }
            }
            stack.truncate(kept);
        }
        self.state.tables.value(value).expect("filled")
    }

    /// The entry of a value, if it has one that belongs to its definition.
    fn current_entry(&mut self, value: Value) -> Option<ValueEntry> {
        let entry = self.state.tables.value(value)?;
        if entry.definition == self.function.values()[value].definition {
            return Some(entry);
        }
        // The instruction was given another result.
        let keys = [Key::definition(value), Key::value(value)];
        self.state.tables.forget(keys, super::Depth::All);
        None
    }

    /// Appends the values that the entry of a value is computed from.
    fn push_operands(&self, value: Value, list: &mut SmallVec<[(Value, bool); 16]>) {
        match self.function.values()[value].definition {
            Definition::Undefined => {}
            Definition::Parameter(block) => {
                let joined = self.joined(block, value);
                list.extend(joined.into_iter().map(|each| (each, false)));
            }
            Definition::Instruction(instruction) => {
                let is_reached = self.is_reached(instruction);
                let format = self.function.format(instruction);
                if is_reached && (is_arithmetic(format) || is_guarded_move(format)) {
                    let used = self.function.uses(instruction);
                    list.extend(used.map(|each| (each, false)));
                }
            }
        }
    }

    pub(super) fn is_reached(&self, instruction: Instruction) -> bool {
        let block = self.function.block_of(instruction);
        block.is_some_and(|block| self.state.shape.is_reachable(block))
    }

    /// What is joined in a parameter of a block that is not entered by edges that go back. Of other blocks, only what never changes.
    pub(super) fn joined(&self, block: Block, parameter: Value) -> SmallVec<[Value; 4]> {
        let shape = &self.state.shape;
        if !shape.is_reachable(block) || block == self.function.entry() {
            return SmallVec::new();
        }
        let is_loop = shape.has_retreating_edge(self.function, block);
        let mut joined: SmallVec<[Value; 4]> = SmallVec::new();
        let ended = self.visit_arguments(
            block,
            parameter,
            |_| true,
            |_, value| {
                // A value that goes round unchanged is what it was before. Two other values end the walk, which may be long.
                match joined.last() {
                    _ if is_loop && value == parameter => {}
                    Some(&other) if is_loop && other != value => return ControlFlow::Break(()),
                    Some(_) if is_loop => {}
                    _ => joined.push(value),
                }
                ControlFlow::Continue(())
            },
        );
        if ended.is_break() {
            joined.clear();
        }
        joined
    }

    /// Which of the parameters of a block a value is.
    pub(super) fn place(&self, block: Block, parameter: Value) -> Option<usize> {
        let parameters = &self.function.blocks()[block].parameters;
        self.state.places.of(parameters, parameter)
    }

    /// The arguments for a parameter of a block on edges from reachable blocks that are asked for.
    pub(super) fn arguments(
        &self,
        block: Block,
        parameter: Value,
        wanted: impl Fn(Block) -> bool,
    ) -> SmallVec<[(Block, Value); 4]> {
        let mut arguments = SmallVec::new();
        let _ = self.visit_arguments(block, parameter, wanted, |from, value| {
            arguments.push((from, value));
            ControlFlow::Continue(())
        });
        arguments
    }

    /// Shows each of the arguments for a parameter of a block on edges from reachable blocks that are asked for, until told to stop.
    fn visit_arguments(
        &self,
        block: Block,
        parameter: Value,
        wanted: impl Fn(Block) -> bool,
        mut visit: impl FnMut(Block, Value) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let Some(position) = self.place(block, parameter) else {
            return ControlFlow::Continue(());
        };
        let mut before = None;
        for from in self.state.shape.flow.predecessors(block) {
            // Predecessors are in order, once per edge.
            if before == Some(from) || !self.state.shape.is_reachable(from) || !wanted(from) {
                continue;
            }
            before = Some(from);
            for edge in self.function.edges(from) {
                if edge.target == block {
                    visit(from, self.function.arguments(*edge)[position])?;
                }
            }
        }
        ControlFlow::Continue(())
    }

    /// Says that an entry depends on which values some arguments are: one may be replaced by another.
    pub(super) fn read_identities(&mut self, key: Key, arguments: &[(Block, Value)]) {
        for &(_, argument) in arguments {
            self.state.tables.read(key, Key::definition(argument));
        }
    }

    /// Computes the entry of a value whose operands have theirs.
    fn fill_value(&mut self, value: Value) {
        let data = self.function.values()[value];
        let bits = data.scalar_type.bits();
        let key = Key::value(value);
        self.state.tables.read(key, Key::definition(value));
        let mut known = Known::unknown(bits);
        // What it is, if that is more than a leaf.
        let mut expression: Option<Expression> = None;
        let mut is_reached = true;
        match data.definition {
            Definition::Undefined => {}
            Definition::Parameter(block) => {
                self.state.tables.read(key, Key::incoming(block));
                if self.state.shape.is_reachable(block)
                    && self.state.shape.has_retreating_edge(self.function, block)
                {
                    let arguments = self.arguments(block, value, |_| true);
                    self.read_identities(key, &arguments);
                }
                let joined = self.joined(block, value);
                if let Some((same, bits)) = self.join(key, &joined) {
                    known = bits;
                    expression = same;
                }
            }
            Definition::Instruction(instruction) => {
                is_reached = self.is_reached(instruction);
                let results = &mut self.state.tables.results;
                *results.ensure(instruction, PackedOption::none()) = PackedOption::some(value);
                let format = self.function.format(instruction);
                if is_reached && bits <= 64 && is_arithmetic(format) {
                    for used in self.function.uses(instruction) {
                        self.state.tables.read(key, Key::value(used));
                    }
                    if self.function.results(instruction).len() == 1 {
                        known = self.known_result(instruction, data.scalar_type);
                        expression = self.build(key, instruction, data.scalar_type);
                    }
                } else if is_reached && bits <= 64 {
                    if is_guarded_move(format) {
                        for used in self.function.uses(instruction) {
                            self.state.tables.read(key, Key::value(used));
                        }
                        known = self.known_move(instruction, bits);
                    } else if is_load(format) && self.function.results(instruction).len() == 1 {
                        // Of what a load gives, its type is known; no operand is asked.
                        known = self.known_result(instruction, data.scalar_type);
                        expression = self.loaded_parameter(instruction, bits);
                    }
                }
            }
        }
        let expressions = &mut self.state.expressions;
        let expression = match (known.as_constant(), expression) {
            (Some(constant), _) if bits <= 64 => expressions.constant(constant, bits),
            (_, Some(expression)) => expression,
            _ if !(1..=64).contains(&bits) => Expressions::could_not_compute(),
            _ => match data.definition {
                Definition::Parameter(_) => expressions.unknown(value, bits),
                _ => expressions.result(value, bits),
            },
        };
        let entry = ValueEntry {
            expression,
            known,
            definition: data.definition,
            is_reached,
        };
        *self.state.tables.value_expressions.ensure(value, None) = Some(entry);
        self.state.tables.filled();
    }

    /// What an instruction loads all of its result from, if that is a parameter of the kernel, or a part of one that is extended.
    fn loaded_parameter(&mut self, instruction: Instruction, bits: u32) -> Option<Expression> {
        let function = self.function;
        if function.kind() != FunctionKind::Entry || function.format(instruction).is_guarded() {
            return None;
        }
        let access = function.access(instruction)?;
        let address = access.address?;
        let Base::Symbol(symbol) = address.base else {
            return None;
        };
        let is_parameter = matches!(function.symbols()[symbol].kind, SymbolKind::Parameter(_));
        let is_plain = access.kind == AccessKind::Load
            && access.space == Space::Param
            && access.vector == 1
            && access.is_weak()
            && access.bytes * 8 <= bits;
        if !is_parameter || !is_plain {
            return None;
        }
        let offset = u32::try_from(address.offset).ok()?;
        let given = function.format(instruction).mnemonic.first_type()?;
        let loaded = access.bytes * 8;
        let expressions = &mut self.state.expressions;
        let parameter = expressions.parameter(symbol, offset, loaded);
        if loaded == bits {
            return Some(parameter);
        }
        if !given.is_integer() || given.bits() != loaded {
            return None;
        }
        let kind = match given.is_signed() {
            true => Kind::SignExtend,
            false => Kind::ZeroExtend,
        };
        Some(expressions.extend(parameter, bits, kind))
    }

    /// What values that join have in common: one expression, if it is one, and known bits.
    fn join(&mut self, key: Key, joined: &[Value]) -> Option<(Option<Expression>, Known)> {
        let mut all: Option<(Option<Expression>, Known)> = None;
        for &each in joined {
            self.state.tables.read(key, Key::value(each));
            let entry = self.state.tables.value(each)?;
            all = Some(match all {
                None => (Some(entry.expression), entry.known),
                Some((same, known)) => (
                    same.filter(|&same| same == entry.expression),
                    known.join(entry.known),
                ),
            });
        }
        all
    }

    fn known_result(&self, instruction: Instruction, held: ScalarType) -> Known {
        let tables = &self.state.tables;
        let of = |value| tables.value(value).map_or(NOTHING, |entry| entry.known);
        result_of(self.function, instruction, held, &self.state.bounds, of)
            .unwrap_or(Known::unknown(held.bits()))
    }

    /// Known bits of a guarded `mov`: what it moves, or what there was.
    fn known_move(&self, instruction: Instruction, bits: u32) -> Known {
        let mut known: Option<Known> = None;
        let arms = self.function.otherwise(instruction).iter();
        let arms = arms.chain(&self.function.leaves(instruction)[1..]);
        for &arm in arms {
            let one = match arm {
                Operand::Value(value) => self
                    .state
                    .tables
                    .value(value)
                    .map_or(NOTHING, |entry| entry.known)
                    .truncate(bits),
                Operand::Constant(constant) => {
                    let literal = self.function.constants()[constant].literal;
                    let wanted = self.function.format(instruction).operand_type(1);
                    let bits = literal.zip(wanted);
                    match bits.and_then(|(literal, wanted)| literal_bits(literal, wanted)) {
                        Some(bits) => Known::constant(bits),
                        None => return Known::unknown(bits.map_or(64, |it| it.1.bits())),
                    }
                }
                _ => return Known::unknown(bits),
            };
            known = Some(known.map_or(one, |known| known.join(one)));
        }
        known.map_or(Known::unknown(bits), |known| known.truncate(bits))
    }

    /// An operand as an expression of this type's width, and what is known of its bits.
    pub(super) fn operand(
        &mut self,
        operand: Operand,
        wanted: ScalarType,
    ) -> Option<(Expression, Known)> {
        let bits = wanted.bits();
        match operand {
            Operand::Value(value) => {
                let entry = self.state.tables.value(value)?;
                let expressions = &mut self.state.expressions;
                if expressions.is_unknown(entry.expression)
                    || expressions.bits(entry.expression) < bits
                {
                    return None;
                }
                let expression = expressions.truncate(entry.expression, bits);
                Some((expression, entry.known.truncate(bits)))
            }
            Operand::Constant(constant) => {
                let literal = self.function.constants()[constant].literal?;
                let value = literal_bits(literal, wanted)?;
                let expression = self.state.expressions.constant(value, bits);
                Some((expression, Known::constant(value)))
            }
            Operand::Symbol(symbol) => match self.function.symbols()[symbol].kind {
                SymbolKind::Special(special) => {
                    let own = special.scalar_type();
                    if special.is_volatile()
                        || special.is_vector()
                        || own.bits() != bits
                        || bits == 1
                    {
                        return None;
                    }
                    let range = self.state.bounds.range(special);
                    let known = match range {
                        Some((low, high)) if low == high => Known::constant(low),
                        Some((_, high)) => Known::at_most(high),
                        None => Known::unknown(bits),
                    };
                    let expression = match known.as_constant() {
                        Some(value) => self.state.expressions.constant(value, bits),
                        None => self.state.expressions.special(special, bits),
                    };
                    Some((expression, known))
                }
                SymbolKind::Parameter(_) | SymbolKind::Variable(_) | SymbolKind::Global(_) => {
                    let expression = self.state.expressions.symbol(symbol, bits);
                    Some((expression, Known::unknown(bits)))
                }
                SymbolKind::WarpSize => {
                    let expression = self.state.expressions.constant(32, bits);
                    Some((expression, Known::constant(32)))
                }
                SymbolKind::Table(_) | SymbolKind::Other => None,
            },
            _ => None,
        }
    }

    /// The expression of what an instruction computes, in the width of the register that holds it.
    fn build(
        &mut self,
        key: Key,
        instruction: Instruction,
        held: ScalarType,
    ) -> Option<Expression> {
        let function = self.function;
        let format = function.format(instruction);
        let (_, sources) = function.operands(instruction).split_first()?;
        let types = format.source_types()?;
        let mut inputs: SmallVec<[(Expression, Known); 4]> = SmallVec::new();
        if format.mnemonic.opcode() == Opcode::Selp {
            return self.build_select(key, instruction, held);
        }
        for (&operand, &wanted) in sources.iter().zip(types) {
            inputs.push(self.operand(operand, wanted?)?);
        }
        let given = format.operand_type(0)?;
        let result = self.compute(format, given, &inputs)?;
        if self.state.expressions.is_unknown(result) {
            return None;
        }
        let bits = self.state.expressions.bits(result);
        debug_assert_eq!(bits, given.bits(), "{}", format.mnemonic);
        let held_bits = held.bits();
        if bits == held_bits {
            Some(result)
        } else if format.mnemonic.opcode() == Opcode::Cvt && bits < held_bits {
            let kind = match given.is_signed() {
                true => Kind::SignExtend,
                false => Kind::ZeroExtend,
            };
            Some(self.state.expressions.extend(result, held_bits, kind))
        } else {
            None
        }
    }

    /// What an instruction with a result of type `given` computes.
    fn compute(
        &mut self,
        format: &FormatData,
        given: ScalarType,
        inputs: &[(Expression, Known)],
    ) -> Option<Expression> {
        let mnemonic = &format.mnemonic;
        let first = mnemonic.first_type()?;
        let width = first.bits();
        let signed = first.is_signed();
        let (a, known_a) = *inputs.first()?;
        let second = inputs.get(1).copied();
        let is_plain_sum = mnemonic.types().len() == 1;
        let expressions = &mut self.state.expressions;
        Some(match mnemonic.opcode() {
            Opcode::Mov => a,
            Opcode::Add if is_plain_sum => expressions.add(&[a, second?.0]),
            Opcode::Sub if is_plain_sum => expressions.subtract(a, second?.0),
            Opcode::Neg => expressions.negate(a),
            Opcode::Not => complement(expressions, a),
            Opcode::Abs if known_a.is_non_negative(width) => a,
            Opcode::Mul | Opcode::Mad => {
                let (b, known_b) = second?;
                let product = match mnemonic.modifiers().mul_mode? {
                    MulMode::Low => expressions.multiply(&[a, b]),
                    MulMode::Wide => {
                        let a = widen(expressions, a, known_a, signed);
                        let b = widen(expressions, b, known_b, signed);
                        expressions.multiply(&[a, b])
                    }
                    MulMode::High => return None,
                };
                match mnemonic.opcode() {
                    Opcode::Mad => expressions.add(&[product, inputs.get(2)?.0]),
                    _ => product,
                }
            }
            Opcode::Shl => {
                let amount = expressions.as_constant(second?.0)?;
                match amount {
                    amount if amount >= u64::from(width) => expressions.constant(0, width),
                    amount => expressions.scale(a, 1 << amount),
                }
            }
            Opcode::Shr => {
                let amount = expressions.as_constant(second?.0)?;
                if signed && !known_a.is_non_negative(width) {
                    return None;
                }
                shift_right(expressions, a, amount)
            }
            Opcode::Div | Opcode::Rem => {
                let (b, known_b) = second?;
                let is_unsigned =
                    !signed || known_a.is_non_negative(width) && known_b.is_non_negative(width);
                if !is_unsigned || known_b.minimum() == 0 {
                    return None;
                }
                match (mnemonic.opcode(), expressions.as_constant(b)) {
                    (Opcode::Div, _) => expressions.unsigned_divide(a, b),
                    (_, Some(divisor)) if divisor.is_power_of_two() => {
                        low_bits(expressions, a, divisor.trailing_zeros())
                    }
                    _ => return None,
                }
            }
            Opcode::And => masked(expressions, a, known_a, second?)?,
            Opcode::Or => disjoint(expressions, (a, known_a), second?)?,
            Opcode::Xor => {
                let b = second?;
                let top = 1u64 << (width - 1);
                match (expressions.as_constant(a), expressions.as_constant(b.0)) {
                    (_, Some(all)) if all == mask(width) => complement(expressions, a),
                    (Some(all), _) if all == mask(width) => complement(expressions, b.0),
                    // A carry out of the top bit is lost.
                    (_, Some(bit)) if bit == top => expressions.add(&[a, b.0]),
                    _ => disjoint(expressions, (a, known_a), b)?,
                }
            }
            Opcode::Min | Opcode::Max => {
                let kind = match (mnemonic.opcode(), signed) {
                    (Opcode::Min, true) => Kind::SignedMin,
                    (Opcode::Min, false) => Kind::UnsignedMin,
                    (_, true) => Kind::SignedMax,
                    (_, false) => Kind::UnsignedMax,
                };
                expressions.extreme(kind, &[a, second?.0])
            }
            Opcode::Bfe => {
                // 32-bit fields look at eight bits of position and length, 64-bit ones at all.
                let counted = if width == 32 { 0xFF } else { u64::MAX };
                let position = expressions.as_constant(second?.0)? & counted;
                let length = expressions.as_constant(inputs.get(2)?.0)? & counted;
                if length == 0 || position + length > u64::from(width) {
                    return None;
                }
                let shifted = shift_right(expressions, a, position);
                let field = expressions.truncate(shifted, length as u32);
                let kind = match signed {
                    true => Kind::SignExtend,
                    false => Kind::ZeroExtend,
                };
                expressions.extend(field, width, kind)
            }
            Opcode::Cvt => {
                let &[to, from] = mnemonic.types() else {
                    return None;
                };
                if to.bits() <= from.bits() {
                    expressions.truncate(a, to.bits())
                } else {
                    let is_signed = from.is_signed() && !known_a.is_non_negative(from.bits());
                    let kind = match is_signed {
                        true => Kind::SignExtend,
                        false => Kind::ZeroExtend,
                    };
                    expressions.extend(a, to.bits(), kind)
                }
            }
            Opcode::Cvta => {
                let space = mnemonic.space()?;
                let cast = expressions.cast_address(a, space, mnemonic.has(Flag::ToSpace));
                (expressions.bits(cast) == given.bits()).then_some(cast)?
            }
            _ => return None,
        })
    }

    /// A `selp` of two numbers by their comparison is the smaller or the larger; one of equal arms is either.
    fn build_select(
        &mut self,
        key: Key,
        instruction: Instruction,
        held: ScalarType,
    ) -> Option<Expression> {
        let function = self.function;
        let &[_, first, second, condition] = function.operands(instruction) else {
            return None;
        };
        let wanted = function.format(instruction).operand_type(1)?;
        if wanted.bits() != held.bits() {
            return None;
        }
        let (a, _) = self.operand(first, wanted)?;
        let (b, _) = self.operand(second, wanted)?;
        if a == b {
            return Some(a);
        }
        let predicate = condition.value()?;
        match self.state.tables.value(predicate)?.known.as_constant() {
            Some(1) => return Some(a),
            Some(_) => return Some(b),
            None => {}
        }
        self.state.tables.read(key, Key::definition(predicate));
        let Definition::Instruction(test) = function.values()[predicate].definition else {
            return None;
        };
        let format = function.format(test);
        let mnemonic = &format.mnemonic;
        let compared = mnemonic.first_type()?;
        let &[_, left, right] = function.operands(test) else {
            return None;
        };
        if mnemonic.opcode() != Opcode::Setp
            || !format.is_simple()
            || mnemonic.modifiers().boolean.is_some()
            || compared.bits() != held.bits()
            || compared.is_float()
        {
            return None;
        }
        for used in function.uses(test) {
            self.state.tables.read(key, Key::value(used));
            self.value(used);
        }
        let (left, _) = self.operand(left, compared)?;
        let (right, _) = self.operand(right, compared)?;
        let takes_left = match (left == a && right == b, left == b && right == a) {
            (true, _) => true,
            (_, true) => false,
            _ => return None,
        };
        use Comparison::*;
        let (picks_less, signed) = match mnemonic.modifiers().comparison? {
            Less | LessEqual => (takes_left, compared.is_signed()),
            Greater | GreaterEqual => (!takes_left, compared.is_signed()),
            Lower | LowerSame => (takes_left, false),
            Higher | HigherSame => (!takes_left, false),
            _ => return None,
        };
        let kind = match (picks_less, signed) {
            (true, true) => Kind::SignedMin,
            (true, false) => Kind::UnsignedMin,
            (false, true) => Kind::SignedMax,
            (false, false) => Kind::UnsignedMax,
        };
        Some(self.state.expressions.extreme(kind, &[a, b]))
    }
}

/// Whether [`Query::build`] may have an expression for the result.
pub(super) fn is_arithmetic(format: &FormatData) -> bool {
    if !format.is_simple() {
        return false;
    }
    let mnemonic = &format.mnemonic;
    let is_integer = |each: &ScalarType| !each.is_float() && each.lanes() == 1 && each.bits() <= 64;
    let opcode = mnemonic.opcode();
    if matches!(opcode, Opcode::Mov | Opcode::Selp) {
        return mnemonic.modifiers().vector.is_none();
    }
    mnemonic.types().iter().all(is_integer)
        && !mnemonic.has(Flag::Saturate)
        && !mnemonic.has(Flag::SaturateFinite)
        && !mnemonic.has(Flag::Relu)
        && (opcode.computes_integers() || matches!(opcode, Opcode::Abs | Opcode::Cvta))
}

pub(super) fn is_load(format: &FormatData) -> bool {
    matches!(format.mnemonic.opcode(), Opcode::Ld | Opcode::Ldu)
}

/// Whether it is `mov` of one register under a guard.
pub(super) fn is_guarded_move(format: &FormatData) -> bool {
    format.is_guarded()
        && format.plain
        && !format.opaque
        && format.mnemonic.opcode() == Opcode::Mov
        && format.operand_count == 2
        && format.mnemonic.modifiers().vector.is_none()
        && format
            .mnemonic
            .first_type()
            .is_some_and(|it| it.bits() <= 64)
}

/// Twice as wide.
fn widen(expressions: &mut Expressions, a: Expression, known: Known, signed: bool) -> Expression {
    let bits = expressions.bits(a);
    let kind = match signed && !known.is_non_negative(bits) {
        true => Kind::SignExtend,
        false => Kind::ZeroExtend,
    };
    expressions.extend(a, 2 * bits, kind)
}

/// All bits flipped: `-1 - a`.
fn complement(expressions: &mut Expressions, a: Expression) -> Expression {
    let negated = expressions.negate(a);
    let bits = expressions.bits(a);
    expressions.add_constant(negated, mask(bits))
}

/// The quotient by a power of two.
fn shift_right(expressions: &mut Expressions, a: Expression, amount: u64) -> Expression {
    let bits = expressions.bits(a);
    if amount >= u64::from(bits) {
        return expressions.constant(0, bits);
    }
    let divisor = expressions.constant(1 << amount, bits);
    expressions.unsigned_divide(a, divisor)
}

/// The lowest bits, with zeros above.
fn low_bits(expressions: &mut Expressions, a: Expression, count: u32) -> Expression {
    let bits = expressions.bits(a);
    if count == 0 {
        return expressions.constant(0, bits);
    }
    let low = expressions.truncate(a, count);
    expressions.zero_extend(low, bits)
}

/// `and` with a mask of adjacent bits.
fn masked(
    expressions: &mut Expressions,
    a: Expression,
    known_a: Known,
    (b, known_b): (Expression, Known),
) -> Option<Expression> {
    let (value, known, number) = match (expressions.as_constant(a), expressions.as_constant(b)) {
        (_, Some(number)) => (a, known_a, number),
        (Some(number), None) => (b, known_b, number),
        (None, None) if a == b => return Some(a),
        (None, None) => return None,
    };
    let bits = expressions.bits(value);
    // Bits that are zero anyway need no mask.
    if !number & !known.zeros & mask(bits) == 0 {
        return Some(value);
    }
    if number == 0 {
        return Some(expressions.constant(0, bits));
    }
    let low = number.trailing_zeros();
    let length = (number >> low).trailing_ones();
    if number != mask(length) << low {
        return None;
    }
    let shifted = shift_right(expressions, value, u64::from(low));
    let field = match low + length == bits {
        true => shifted,
        false => low_bits(expressions, shifted, length),
    };
    Some(expressions.scale(field, 1 << low))
}

/// `or` or `xor` of bits that cannot both be set.
fn disjoint(
    expressions: &mut Expressions,
    (a, known_a): (Expression, Known),
    (b, known_b): (Expression, Known),
) -> Option<Expression> {
    ((known_a.zeros | known_b.zeros) == u64::MAX).then(|| expressions.add(&[a, b]))
}
