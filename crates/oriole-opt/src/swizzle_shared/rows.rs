//! Addresses whose row is known from what they are the sum of.
//!
//! `tile + 160 * r + 4 * c`, where `c` is less than 40, lies in row `r` of an array with rows of 160 bytes: if rows are padded, `r` times the padding
//! is added, and nothing has to be divided. Sums are taken apart modulo two to the 32; ranges show that they are numbers of the array: nothing
//! is negative, and all together is less than that.

use super::layout::Padding;
use oriole_analysis::Analyses;
use oriole_analysis::memory_requests::Request;
use oriole_analysis::scalar_evolution::{Query, ScalarEvolution};
use oriole_ir::arithmetic::Operation;
use oriole_ir::{Base, Definition, Function, Operand, Symbol, Value};
use oriole_isa::Opcode;
use oriole_syntax::literal::Literal;
use oriole_syntax::tree::Guard;
use std::collections::BTreeMap;

/// Values that are looked at to take a sum apart, and parts that it may have.
const MOST_VALUES: usize = 64;
const MOST_TERMS: usize = 8;
/// All parts of a sum together are less.
const MOST: i64 = 1 << 31;

/// A part of a sum: so many times a value that is no larger than this.
#[derive(Clone, Copy, Debug)]
struct Term {
    value: Value,
    times: i64,
    low: i64,
    high: i64,
}

/// An offset from the array as a sum.
#[derive(Clone, Debug)]
pub(super) struct Sum {
    terms: Vec<Term>,
    constant: i64,
}

/// The row of an offset: so many times each of some values, and a number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Row {
    /// Values, each with how many rows one more of it is.
    pub terms: Vec<(Value, u64)>,
    /// What is added to that.
    pub constant: i64,
}

impl Sum {
    /// The row that the sum plus an offset lies in, if that is a sum too.
    pub fn row(&self, offset: i64, padding: Padding) -> Option<Row> {
        let row = i64::from(padding.row);
        let constant = self.constant.checked_add(offset)?;
        if constant.abs() >= MOST {
            return None;
        }
        let rest = constant.rem_euclid(row);
        let (mut least, mut most, mut within) = (constant, constant, rest);
        let mut terms = Vec::new();
        for term in &self.terms {
            least += term.times * term.low;
            most += term.times * term.high;
            match term.times % row {
                0 => terms.push((term.value, (term.times / row) as u64)),
                _ => within += term.times * term.high,
            }
        }
        let is_sum = least >= 0 && most < MOST && within < row;
        is_sum.then_some(Row {
            terms,
            constant: (constant - rest) / row,
        })
    }
}

/// The sums that the bases of accesses are, as far as they are sums.
pub(super) fn sums(
    function: &Function,
    analyses: &mut Analyses,
    requests: &[Request],
    array: Symbol,
) -> BTreeMap<Value, Sum> {
    let evolution = analyses.get::<ScalarEvolution>(function);
    let mut query = evolution.on(function);
    let mut found = BTreeMap::new();
    for request in requests {
        if let Some(Base::Value(value)) = request.address.map(|address| address.base)
            && !found.contains_key(&value)
            && let Some(sum) = sum(function, &mut query, value, array)
        {
            found.insert(value, sum);
        }
    }
    found
}

/// An address as the array and a sum.
fn sum(function: &Function, query: &mut Query<'_>, address: Value, array: Symbol) -> Option<Sum> {
    let mut parts: BTreeMap<Value, i64> = BTreeMap::new();
    let mut constant = 0i64;
    let mut arrays = 0i64;
    let mut work = vec![(Operand::Value(address), 1i64)];
    let mut steps = 0;
    while let Some((operand, times)) = work.pop() {
        steps += 1;
        if steps > MOST_VALUES || times.abs() >= MOST {
            return None;
        }
        let value = match operand {
            Operand::Value(value) => value,
            Operand::Symbol(symbol) if symbol == array => {
                arrays = arrays.checked_add(times)?;
                continue;
            }
            Operand::Symbol(_) => return None,
            other => {
                let number = signed(function, other)?.checked_mul(times)?;
                constant = constant.checked_add(number)?;
                continue;
            }
        };
        if function.values()[value].scalar_type.bits() != 32 {
            return None;
        }
        if !take_apart(function, value, times, &mut work)? {
            let part = parts.entry(value).or_default();
            *part = part.checked_add(times)?;
        }
    }
    if arrays != 1 || parts.len() > MOST_TERMS {
        return None;
    }
    let mut terms = Vec::new();
    for (value, times) in parts {
        let range = query.value_range(value)?.unsigned;
        let (low, high) = (range.low as i64, range.high as i64);
        if times < 0 || !(0..MOST).contains(&high) || times.checked_mul(high)? >= MOST {
            return None;
        }
        if times != 0 {
            terms.push(Term {
                value,
                times,
                low,
                high,
            });
        }
    }
    Some(Sum { terms, constant })
}

/// Adds what a value is a sum or a multiple of, and tells whether it is one; nothing if that is too large.
fn take_apart(
    function: &Function,
    value: Value,
    times: i64,
    work: &mut Vec<(Operand, i64)>,
) -> Option<bool> {
    let Definition::Instruction(instruction) = function.values()[value].definition else {
        return Some(false);
    };
    let format = function.format(instruction);
    let sources = match function.operands(instruction).split_first() {
        Some((Operand::Result(0), sources)) if format.guard == Guard::None && format.plain => {
            sources
        }
        _ => return Some(false),
    };
    if format.mnemonic.opcode() == Opcode::Mov {
        // Of a part of a register or a special one nothing is taken apart.
        let is_known = match sources {
            [Operand::Value(_)] => true,
            [Operand::Symbol(symbol)] => function.symbols()[*symbol].space.is_some(),
            [other] => signed(function, *other).is_some(),
            _ => false,
        };
        if is_known {
            work.push((sources[0], times));
        }
        return Some(is_known);
    }
    let Some(node) = format.arithmetic.filter(|node| node.bits == 32) else {
        return Some(false);
    };
    let product = |left: Operand, right: Operand| {
        let (factor, other) = match (signed(function, left), signed(function, right)) {
            (_, Some(factor)) => (factor, left),
            (Some(factor), None) => (factor, right),
            (None, None) => return None,
        };
        Some((other, factor.checked_mul(times)?))
    };
    match (node.operation, sources) {
        (Operation::Add, &[left, right]) => work.extend([(left, times), (right, times)]),
        (Operation::Sub, &[left, right]) => work.extend([(left, times), (right, -times)]),
        (Operation::Mul, &[left, right]) => match product(left, right) {
            Some(product) => work.push(product),
            None => return Some(false),
        },
        (Operation::Mad, &[left, right, sum]) => match product(left, right) {
            Some(product) => work.extend([product, (sum, times)]),
            None => return Some(false),
        },
        (Operation::Shl, &[left, right]) => match signed(function, right) {
            Some(shift @ 0..=30) => work.push((left, times.checked_mul(1 << shift)?)),
            _ => return Some(false),
        },
        _ => return Some(false),
    }
    Some(true)
}

/// A constant, as a signed number of 32 bits.
fn signed(function: &Function, operand: Operand) -> Option<i64> {
    let Operand::Constant(constant) = operand else {
        return None;
    };
    match function.constants()[constant].literal? {
        Literal::Integer { bits, .. } => Some(i64::from(bits as u32 as i32)),
        Literal::Single(_) | Literal::Double(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_told_from_sums() {
        let term = |number, times, high| Term {
            value: Value::from_u32(number),
            times,
            low: 0,
            high,
        };
        let sum = Sum {
            terms: vec![term(1, 160, 31), term(2, 4, 39)],
            constant: 0,
        };
        let padding = Padding { row: 160, pad: 4 };
        let row = |constant| Row {
            terms: vec![(Value::from_u32(1), 1)],
            constant,
        };
        assert_eq!(sum.row(0, padding), Some(row(0)));
        assert_eq!(sum.row(320, padding), Some(row(2)));
        // The last column is beyond the end of the row.
        assert_eq!(sum.row(4, padding), None);
        // The first row is before the array.
        assert_eq!(sum.row(-160, padding), None);
        assert_eq!(sum.row(0, Padding { row: 128, pad: 4 }), None);
        let twice = Padding { row: 80, pad: 4 };
        assert_eq!(sum.row(0, twice), None, "columns go on in the next row");
    }
}
