//! Counts by computing iterations one by one, and bounds of counts of loops that shift to the right.
//!
//! ## Soundness
//! What an instruction gives is asked of `oriole_isa::evaluate`, as constant folding does. Only integers and predicates are computed, and only
//! if the loop is entered with numbers.

use super::Query;
use super::conditions::{Comparing, Condition};
use super::expression::{Expression, Kind, Leaf};
use super::tables::Key;
use crate::known_bits::{literal_bits, mask};
use oriole_collections::{DenseMap, SmallVec};
use oriole_ir::{Block, Definition, Instruction, Operand, SymbolKind, Value};
use oriole_isa::{Opcode, ScalarType, evaluate};

/// The most instructions that are computed in each iteration.
const MOST_INSTRUCTIONS: usize = 48;

/// What decides whether a loop goes on: parameters with their next values, and instructions in order.
#[derive(Default)]
struct Slice {
    parameters: Vec<(Value, Value)>,
    instructions: Vec<(Instruction, Value)>,
    values: DenseMap<Value, u64>,
}

impl Query<'_> {
    /// How often the back edge of a loop is taken before a predicate is as said, by computing it.
    pub(super) fn exhausted(
        &mut self,
        key: Key,
        header: Block,
        predicate: Value,
        leaves_if: bool,
    ) -> Option<u64> {
        let mut slice = Slice::default();
        let mut pending = vec![predicate];
        while let Some(root) = pending.pop() {
            self.add_to_slice(key, header, root, &mut slice, &mut pending)?;
        }
        if slice.parameters.is_empty() {
            return None;
        }
        let Slice {
            parameters,
            instructions,
            mut values,
        } = slice;
        let most = self.state.knobs.max_iterations;
        for iteration in 0..=most {
            for &(instruction, result) in &instructions {
                let bits = self.evaluated(instruction, result, &values)?;
                values.insert(result, bits);
            }
            if (values.get(&predicate)? & 1 != 0) == leaves_if {
                return Some(iteration.into());
            }
            let next: Option<SmallVec<[u64; 8]>> = parameters
                .iter()
                .map(|(_, next)| values.get(next).copied())
                .collect();
            for (&(parameter, _), bits) in parameters.iter().zip(next?) {
                values.insert(parameter, bits);
            }
        }
        None
    }

    /// Adds a value to a slice behind what it is computed from. Next values of parameters are left to be added.
    fn add_to_slice(
        &mut self,
        key: Key,
        header: Block,
        root: Value,
        slice: &mut Slice,
        pending: &mut Vec<Value>,
    ) -> Option<()> {
        let function = self.function;
        let mut stack = vec![(root, false)];
        while let Some((value, is_ready)) = stack.pop() {
            if slice.values.contains_key(&value) {
                continue;
            }
            self.state.tables.read(key, Key::definition(value));
            let is_inside = function
                .defining_block(value)
                .is_some_and(|block| self.state.shape.contains(header, block));
            if !is_inside {
                let expression = self.read_expression(key, value);
                let number = self.state.expressions.as_constant(expression)?;
                slice.values.insert(value, number);
                continue;
            }
            match function.values()[value].definition {
                Definition::Parameter(block) if block == header => {
                    let next = self.parameter_in_slice(key, header, value, slice)?;
                    pending.push(next);
                }
                Definition::Instruction(instruction) if is_ready => {
                    // Until it is computed.
                    slice.values.insert(value, 0);
                    slice.instructions.push((instruction, value));
                    if slice.instructions.len() > MOST_INSTRUCTIONS {
                        return None;
                    }
                }
                Definition::Instruction(instruction) => {
                    self.is_computable(instruction).then_some(())?;
                    stack.push((value, true));
                    if stack.len() > 4 * MOST_INSTRUCTIONS {
                        return None;
                    }
                    stack.extend(function.uses(instruction).map(|used| (used, false)));
                }
                _ => return None,
            }
        }
        Some(())
    }

    /// Enters a parameter with the number it starts with; gives its next value.
    fn parameter_in_slice(
        &mut self,
        key: Key,
        header: Block,
        parameter: Value,
        slice: &mut Slice,
    ) -> Option<Value> {
        self.state.tables.read(key, Key::incoming(header));
        let is_inside = |block| self.state.shape.contains(header, block);
        let starts = self.arguments(header, parameter, |from| !is_inside(from));
        let nexts = self.arguments(header, parameter, is_inside);
        self.read_identities(key, &starts);
        self.read_identities(key, &nexts);
        let next = nexts.first()?.1;
        if starts.is_empty() || nexts.iter().any(|&(_, other)| other != next) {
            return None;
        }
        self.state.tables.read(key, Key::definition(next));
        let mut number = None;
        for (_, start) in starts {
            let expression = self.read_expression(key, start);
            let start = self.state.expressions.as_constant(expression)?;
            if *number.get_or_insert(start) != start {
                return None;
            }
        }
        slice.values.insert(parameter, number?);
        slice.parameters.push((parameter, next));
        Some(next)
    }

    /// Whether an instruction is one whose result can be computed: a plain function of integers.
    fn is_computable(&self, instruction: Instruction) -> bool {
        let format = self.function.format(instruction);
        let is_integer =
            |each: &ScalarType| !each.is_float() && each.lanes() == 1 && each.bits() <= 64;
        format.is_simple()
            && format.source_types().is_some()
            && format.mnemonic.types().iter().all(is_integer)
            && self.function.results(instruction).len() == 1
    }

    fn evaluated(
        &self,
        instruction: Instruction,
        result: Value,
        values: &DenseMap<Value, u64>,
    ) -> Option<u64> {
        let function = self.function;
        let format = function.format(instruction);
        let (_, sources) = function.operands(instruction).split_first()?;
        let mut inputs: SmallVec<[u128; 4]> = SmallVec::new();
        for (&operand, &wanted) in sources.iter().zip(format.source_types()?) {
            let wanted = wanted?;
            inputs.push(match operand {
                Operand::Value(value) => {
                    let held = function.values()[value].scalar_type;
                    if held.bits() < wanted.bits() {
                        return None;
                    }
                    u128::from(values.get(&value)? & mask(wanted.bits()))
                }
                Operand::Constant(constant) => {
                    let literal = function.constants()[constant].literal?;
                    u128::from(literal_bits(literal, wanted)?)
                }
                Operand::Symbol(symbol)
                    if function.symbols()[symbol].kind == SymbolKind::WarpSize =>
                {
                    32
                }
                _ => return None,
            });
        }
        let outputs = evaluate(&format.mnemonic, &inputs)?;
        let held = function.values()[result].scalar_type;
        let given = format.operand_type(0)?;
        let bits = match (format.mnemonic.opcode(), outputs.values()) {
            (Opcode::Setp, [bits, ..]) | (_, [bits]) => *bits as u64,
            _ => return None,
        };
        let is_whole = held == ScalarType::Pred || held.bits() == given.bits();
        (is_whole && outputs.carry.is_none()).then_some(bits)
    }

    /// A bound of the count of a loop that shifts something to the right until it is zero, or divides it.
    pub(super) fn shifted_out(
        &mut self,
        key: Key,
        header: Block,
        predicate: Value,
        leaves_if: bool,
    ) -> Option<u64> {
        let stay = self.condition(key, predicate).when(!leaves_if);
        let mut stack = vec![stay];
        let mut bound: Option<u64> = None;
        while let Some(top) = stack.pop() {
            match top {
                // The loop ends when one of them fails.
                Condition::And(left, right) => stack.extend([*left, *right]),
                Condition::Compare(comparing) => {
                    if let Some(found) = self.shift_bound(key, header, comparing) {
                        bound = Some(bound.map_or(found, |bound| bound.min(found)));
                    }
                }
                _ => {}
            }
        }
        bound
    }

    fn shift_bound(&mut self, key: Key, header: Block, stay: Comparing) -> Option<u64> {
        let bits = self.state.expressions.bits(stay.left);
        let (shifted, other, is_left) = match (
            self.shifted(stay.left, header),
            self.shifted(stay.right, header),
        ) {
            (Some(shifted), None) => (shifted, stay.right, true),
            (None, Some(shifted)) => (shifted, stay.left, false),
            _ => return None,
        };
        if !self.is_invariant(other, header) {
            return None;
        }
        let (start, amount) = self.shift_step(key, header, shifted)?;
        let start = self.read_range(key, start);
        let other = self.read_range(key, other);
        if start.bits() != bits {
            return None;
        }
        // Once it is zero it stays zero, so that the condition must fail for zero whatever the other side is.
        let zero = super::Range::constant(0, bits);
        let at_zero = match is_left {
            true => zero.decides(stay.relation, other),
            false => other.decides(stay.relation, zero),
        };
        let width = u64::from(64 - start.unsigned.high.leading_zeros());
        (at_zero == Some(false)).then(|| width.div_ceil(amount))
    }

    /// The parameter of the header that an expression is, or is a quotient of.
    fn shifted(&self, expression: Expression, header: Block) -> Option<Value> {
        match self.state.expressions.as_leaf(expression)? {
            Leaf::Value(value)
                if self.function.values()[value].definition == Definition::Parameter(header) =>
            {
                Some(value)
            }
            _ => None,
        }
    }

    /// What a parameter that is shifted to the right in each iteration starts with, and by how many bits.
    fn shift_step(
        &mut self,
        key: Key,
        header: Block,
        parameter: Value,
    ) -> Option<(Expression, u64)> {
        let function = self.function;
        self.state.tables.read(key, Key::incoming(header));
        let is_inside = |block| self.state.shape.contains(header, block);
        let starts = self.arguments(header, parameter, |from| !is_inside(from));
        let nexts = self.arguments(header, parameter, is_inside);
        self.read_identities(key, &starts);
        self.read_identities(key, &nexts);
        let &(_, next) = nexts.first()?;
        if starts.is_empty() || nexts.iter().any(|&(_, other)| other != next) {
            return None;
        }
        self.state.tables.read(key, Key::value(next));
        let quotient = self.value(next).expression;
        let bits = function.values()[parameter].scalar_type.bits();
        if let Some(amount) = self.quotient_of(quotient, parameter) {
            let start = self.shifted_start(key, parameter, &starts, bits)?;
            return Some((start, amount));
        }
        self.state.tables.read(key, Key::definition(next));
        let Definition::Instruction(instruction) = function.values()[next].definition else {
            return None;
        };
        let format = function.format(instruction);
        let first = format.mnemonic.first_type()?;
        let &[_, Operand::Value(shifted), Operand::Constant(amount)] =
            function.operands(instruction)
        else {
            return None;
        };
        if !format.is_simple() || shifted != parameter || first.bits() != bits || bits > 64 {
            return None;
        }
        let literal = function.constants()[amount].literal?;
        let start = self.shifted_start(key, parameter, &starts, bits)?;
        let range = self.read_range(key, start);
        let is_unsigned = !first.is_signed() || range.signed.low >= 0;
        let amount = match format.mnemonic.opcode() {
            Opcode::Shr if is_unsigned => literal_bits(literal, ScalarType::U32)?,
            Opcode::Div if is_unsigned => {
                let divisor = literal_bits(literal, first)?;
                // The largest power of two that is not larger: dividing by more takes no longer.
                u64::from(63 - divisor.max(1).leading_zeros())
            }
            _ => return None,
        };
        let is_negative_divisor = first.is_signed()
            && format.mnemonic.opcode() == Opcode::Div
            && literal_bits(literal, first)? >> (bits - 1) != 0;
        (amount > 0 && !is_negative_divisor).then_some((start, amount))
    }

    /// By how many bits a parameter is shifted to the right at least, if an expression is an unsigned quotient of it.
    fn quotient_of(&self, quotient: Expression, parameter: Value) -> Option<u64> {
        let expressions = &self.state.expressions;
        if expressions.kind(quotient) != Kind::UnsignedDivide {
            return None;
        }
        let [dividend, divisor] = *expressions.operands(quotient) else {
            return None;
        };
        let divisor = expressions.as_constant(divisor).filter(|&it| it > 1)?;
        let is_own = expressions.as_leaf(dividend) == Some(Leaf::Value(parameter));
        is_own.then(|| u64::from(63 - divisor.leading_zeros()))
    }

    /// What a parameter starts with; on one of several ways in, a leaf of its own.
    fn shifted_start(
        &mut self,
        key: Key,
        parameter: Value,
        starts: &[(Block, Value)],
        bits: u32,
    ) -> Option<Expression> {
        let start = match *starts {
            [(_, start)] => self.read_expression(key, start),
            _ if bits > 64 => return None,
            _ => self.state.expressions.start(parameter, bits),
        };
        (!self.state.expressions.is_unknown(start)).then_some(start)
    }
}
