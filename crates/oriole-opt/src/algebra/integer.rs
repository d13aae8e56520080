//! Sums, logic and shifts.

use super::view::{Arg, Change, Site, View, is_integer};
use oriole_analysis::sign_extend;
use oriole_isa::{MnemonicText, MulMode, Opcode, ScalarType, build, ptxas};

/// An integer operation, or a logical one on predicates.
fn is_algebraic(site: &Site) -> bool {
    is_integer(site.scalar_type) || site.scalar_type == ScalarType::Pred
}

/// Whether the two factors or terms may be exchanged.
fn commutes(view: &View<'_, '_>, site: &Site) -> bool {
    match site.opcode {
        Opcode::Add | Opcode::And | Opcode::Or | Opcode::Xor | Opcode::Min | Opcode::Max => {
            site.count == 2
        }
        Opcode::Mul => true,
        Opcode::Mad => view.mul_mode(site).is_some(),
        _ => false,
    }
}

fn is_low_product(view: &View<'_, '_>, site: &Site) -> bool {
    site.opcode == Opcode::Mul && view.mul_mode(site) == Some(MulMode::Low)
}

/// The whole result is known.
pub(super) fn constant_result(view: &View<'_, '_>, site: &Site) -> Option<Change> {
    if site.opcode == Opcode::Mov || view.type_of(site.result).bits() > 64 {
        return None;
    }
    view.known
        .of(site.result)
        .as_constant()
        .map(Change::Constant)
}

/// `x + 0`, `x * 1`, `x & -1`, `x << 0`, …
pub(super) fn neutral_operand(view: &View<'_, '_>, site: &Site) -> Option<Change> {
    if !is_algebraic(site) {
        return None;
    }
    let (a, b) = site.pair();
    let right = match b {
        Arg::Constant(bits) => Some(bits),
        _ => None,
    };
    if matches!(
        site.opcode,
        Opcode::Sub | Opcode::Shl | Opcode::Shr | Opcode::Div
    ) {
        let neutral = u64::from(site.opcode == Opcode::Div);
        return (right == Some(neutral)).then_some(Change::Value(a.value()?));
    }
    let (value, constant) = site.value_and_constant()?;
    let top = 1 << (site.width - 1);
    let neutral = match site.opcode {
        Opcode::Add | Opcode::Or | Opcode::Xor => 0,
        Opcode::And => site.mask(),
        Opcode::Mul if is_low_product(view, site) => 1,
        Opcode::Min if site.signed() => site.mask() & !top,
        Opcode::Max if site.signed() => top,
        Opcode::Min => site.mask(),
        Opcode::Max => 0,
        _ => return None,
    };
    (constant == neutral).then_some(Change::Value(value))
}

/// `x - x`, `x ^ x`, `x & x`, `x | x`, `min(x, x)`, `max(x, x)`.
pub(super) fn equal_operands(_: &View<'_, '_>, site: &Site) -> Option<Change> {
    let (a, b) = site.pair();
    if !is_algebraic(site) || site.count != 2 || a != b {
        return None;
    }
    let value = a.value()?;
    match site.opcode {
        Opcode::Sub | Opcode::Xor => Some(Change::Constant(0)),
        Opcode::And | Opcode::Or | Opcode::Min | Opcode::Max => Some(Change::Value(value)),
        _ => None,
    }
}

/// `x & m` where `m` is set wherever `x` may be, `x | m` where `x` is set wherever `m` may be.
pub(super) fn useless_mask(view: &View<'_, '_>, site: &Site) -> Option<Change> {
    if !is_integer(site.scalar_type) {
        return None;
    }
    let (a, b) = site.pair();
    let (x, y) = (view.known(a, site.width), view.known(b, site.width));
    let (keeps_a, keeps_b) = match site.opcode {
        Opcode::And => (y.ones | x.zeros == u64::MAX, x.ones | y.zeros == u64::MAX),
        Opcode::Or => (x.ones | y.zeros == u64::MAX, y.ones | x.zeros == u64::MAX),
        _ => return None,
    };
    match (keeps_a, keeps_b, a, b) {
        (true, _, Arg::Value(value), _) | (_, true, _, Arg::Value(value)) => {
            Some(Change::Value(value))
        }
        _ => None,
    }
}

/// `-(-x)`, `~(~x)`.
pub(super) fn double_negation(view: &View<'_, '_>, site: &Site) -> Option<Change> {
    if !is_algebraic(site) {
        return None;
    }
    let inner = view.producer(site.arg(0).value()?, site.opcode)?;
    let same = is_algebraic(&inner) && inner.width == site.width;
    same.then_some(Change::Value(inner.arg(0).value()?))
}

/// `0 - x`.
pub(super) fn subtract_from_zero(_: &View<'_, '_>, site: &Site) -> Option<Change> {
    let (a, b) = site.pair();
    if site.opcode != Opcode::Sub || !is_integer(site.scalar_type) || a != Arg::Constant(0) {
        return None;
    }
    b.value()?;
    Some(Change::Instruction(negation(site.width)?, vec![b]))
}

/// What negates an integer of a width, if ptxas gets that right.
pub(super) fn negation(width: u32) -> Option<MnemonicText> {
    let scalar_type = ScalarType::signed(width).filter(|_| !ptxas::negates_wrongly(width))?;
    Some(build::typed(Opcode::Neg, scalar_type))
}

/// A constant on the left of an operation that commutes.
pub(super) fn constant_right(view: &View<'_, '_>, site: &Site) -> Option<Change> {
    if !is_algebraic(site) || !commutes(view, site) {
        return None;
    }
    match site.pair() {
        (Arg::Constant(_), Arg::Value(_)) => {}
        _ => return None,
    }
    if !site.args().iter().all(|arg| arg.is_plain()) {
        return None;
    }
    let mut arguments = site.args().to_vec();
    arguments.swap(0, 1);
    Some(Change::Operands(arguments))
}

/// `x - C`.
pub(super) fn subtract_constant(view: &View<'_, '_>, site: &Site) -> Option<Change> {
    if site.opcode != Opcode::Sub
        || !is_integer(site.scalar_type)
        || view.mnemonic(site).types().len() != 1
    {
        return None;
    }
    match site.pair() {
        (Arg::Value(value), Arg::Constant(bits)) => Some(Change::Instruction(
            build::typed(Opcode::Add, site.scalar_type),
            vec![
                Arg::Value(value),
                Arg::Constant(bits.wrapping_neg() & site.mask()),
            ],
        )),
        _ => None,
    }
}

/// `(x + C1) + C2` and its like for `&`, `|`, `^`, `*`, `min`, `max`, and with `C - x`.
pub(super) fn constant_chain(view: &View<'_, '_>, site: &Site) -> Option<Change> {
    if !is_integer(site.scalar_type) || site.count != 2 {
        return None;
    }
    let again = |opcode: Opcode, arguments: Vec<Arg>| {
        let mnemonic = build::typed(opcode, site.scalar_type);
        Some(Change::Instruction(mnemonic, arguments))
    };
    let mask = site.mask();
    if site.opcode == Opcode::Sub {
        // C1 - (x + C2)
        let (Arg::Constant(first), Arg::Value(value)) = site.pair() else {
            return None;
        };
        let (inner, base, second) = view.as_sum(value)?;
        let fits = inner.width == site.width
            && view.is_single(value)
            && view.readable(Arg::Value(base), site.scalar_type);
        let difference = first.wrapping_sub(second) & mask;
        return if fits {
            again(
                Opcode::Sub,
                vec![Arg::Constant(difference), Arg::Value(base)],
            )
        } else {
            None
        };
    }
    let (value, second) = site.value_and_constant()?;
    if !view.is_single(value) {
        return None;
    }
    if site.opcode == Opcode::Add {
        if let Some((inner, base, first)) = view.as_sum(value)
            && inner.width == site.width
            && view.readable(Arg::Value(base), site.scalar_type)
        {
            let sum = first.wrapping_add(second) & mask;
            return again(Opcode::Add, vec![Arg::Value(base), Arg::Constant(sum)]);
        }
        // (C1 - x) + C2
        let inner = view.integer_producer(Arg::Value(value), Opcode::Sub, site.width)?;
        let (Arg::Constant(first), base @ Arg::Value(_)) = inner.pair() else {
            return None;
        };
        let sum = first.wrapping_add(second) & mask;
        return again(Opcode::Sub, vec![Arg::Constant(sum), base]);
    }
    let inner = view.integer_producer(Arg::Value(value), site.opcode, site.width)?;
    let (base, first) = inner.value_and_constant()?;
    let combined = match site.opcode {
        Opcode::And => first & second,
        Opcode::Or => first | second,
        Opcode::Xor => first ^ second,
        Opcode::Mul if is_low_product(view, site) && is_low_product(view, &inner) => {
            first.wrapping_mul(second) & mask
        }
        Opcode::Min | Opcode::Max if inner.scalar_type == site.scalar_type && inner.count == 2 => {
            let signed = |bits| sign_extend(bits, site.width);
            let first_is_less = match site.signed() {
                true => signed(first) < signed(second),
                false => first < second,
            };
            if first_is_less == (site.opcode == Opcode::Min) {
                first
            } else {
                second
            }
        }
        _ => return None,
    };
    if !view.readable(Arg::Value(base), site.scalar_type) {
        return None;
    }
    Some(Change::Operands(vec![
        Arg::Value(base),
        Arg::Constant(combined),
    ]))
}

/// The amount of a shift by a constant, clamped to the width.
fn amount(site: &Site) -> Option<u32> {
    let bits = site.arg(1).constant()?;
    Some(bits.min(u64::from(site.width)) as u32)
}

/// `(x << C1) << C2` and its like to the right.
pub(super) fn shift_chain(view: &View<'_, '_>, site: &Site) -> Option<Change> {
    if !is_integer(site.scalar_type) {
        return None;
    }
    let second = amount(site)?;
    let inner = view.integer_producer(site.arg(0), site.opcode, site.width)?;
    let first = amount(&inner)?;
    let value = inner.arg(0).value()?;
    let same = site.opcode == Opcode::Shl || inner.signed() == site.signed();
    if !same
        || !view.is_single(site.arg(0).value()?)
        || !view.readable(inner.arg(0), site.scalar_type)
    {
        return None;
    }
    let mut total = first + second;
    if total >= site.width {
        if site.opcode == Opcode::Shl || !site.signed() {
            return Some(Change::Constant(0));
        }
        total = site.width - 1;
    }
    Some(Change::Operands(vec![
        Arg::Value(value),
        Arg::Constant(u64::from(total)),
    ]))
}

/// `(x << k) >> k` unsigned, `(x >> k) << k`.
pub(super) fn shift_pair(view: &View<'_, '_>, site: &Site) -> Option<Change> {
    if !is_integer(site.scalar_type) {
        return None;
    }
    let back = amount(site)?;
    let (opcode, mask) = match site.opcode {
        Opcode::Shl => (Opcode::Shr, site.mask() << back & site.mask()),
        Opcode::Shr if !site.signed() => (Opcode::Shl, site.mask() >> back),
        _ => return None,
    };
    let inner = view.integer_producer(site.arg(0), opcode, site.width)?;
    let value = inner.arg(0).value()?;
    if amount(&inner)? != back || back >= site.width || !view.is_single(site.arg(0).value()?) {
        return None;
    }
    Some(Change::Instruction(
        build::typed(Opcode::And, ScalarType::untyped(site.width)?),
        vec![Arg::Value(value), Arg::Constant(mask)],
    ))
}

/// An arithmetic shift by the width or more; an arithmetic shift of what is not negative.
pub(super) fn signed_shift(view: &View<'_, '_>, site: &Site) -> Option<Change> {
    if site.opcode != Opcode::Shr || !is_integer(site.scalar_type) || !site.signed() {
        return None;
    }
    let shifted = site.arg(0);
    shifted.value()?;
    if view.known(shifted, site.width).is_non_negative(site.width) && site.arg(1).is_plain() {
        return Some(Change::Instruction(
            build::typed(Opcode::Shr, ScalarType::unsigned(site.width)?),
            vec![shifted, site.arg(1)],
        ));
    }
    let amount = site.arg(1).constant()?;
    (amount > u64::from(site.width) - 1)
        .then(|| Change::Operands(vec![shifted, Arg::Constant(u64::from(site.width) - 1)]))
}

/// `(x + y) - x`, `(x - y) + y`, `x - (x - y)`, `(x ^ y) ^ y`.
pub(super) fn cancelled(view: &View<'_, '_>, site: &Site) -> Option<Change> {
    if !is_integer(site.scalar_type) {
        return None;
    }
    let (a, b) = site.pair();
    let other = |pair: (Arg, Arg), gone: Arg| match pair {
        (left, right) if right == gone => left.value(),
        (left, right) if left == gone => right.value(),
        _ => None,
    };
    let found = match site.opcode {
        Opcode::Sub => view
            .integer_producer(a, Opcode::Add, site.width)
            .and_then(|sum| other(sum.pair(), b))
            .or_else(|| {
                let difference = view.integer_producer(b, Opcode::Sub, site.width)?;
                (difference.arg(0) == a).then_some(difference.arg(1).value()?)
            }),
        Opcode::Add => [(a, b), (b, a)].into_iter().find_map(|(one, gone)| {
            let difference = view.integer_producer(one, Opcode::Sub, site.width)?;
            (difference.arg(1) == gone).then_some(difference.arg(0).value()?)
        }),
        Opcode::Xor => [(a, b), (b, a)].into_iter().find_map(|(one, gone)| {
            let inner = view.integer_producer(one, Opcode::Xor, site.width)?;
            other(inner.pair(), gone)
        }),
        _ => None,
    };
    // Constants are the business of chains.
    found
        .filter(|_| a.value().is_some() && b.value().is_some())
        .map(Change::Value)
}

/// `x + (-y)`, `x - (-y)`.
pub(super) fn negated_term(view: &View<'_, '_>, site: &Site) -> Option<Change> {
    if !is_integer(site.scalar_type) || view.mnemonic(site).types().len() != 1 {
        return None;
    }
    let (a, b) = site.pair();
    let negated = |arg: Arg| {
        let inner = view.integer_producer(arg, Opcode::Neg, site.width)?;
        view.is_single(arg.value()?).then_some(inner.arg(0))
    };
    let (opcode, left, right) = match site.opcode {
        Opcode::Add => match (negated(b), negated(a)) {
            (Some(right), _) => (Opcode::Sub, a, right),
            (None, Some(left)) => (Opcode::Sub, b, left),
            _ => return None,
        },
        Opcode::Sub => (Opcode::Add, a, negated(b)?),
        _ => return None,
    };
    (left.is_plain() && right.value().is_some())
        .then(|| Change::Instruction(build::typed(opcode, site.scalar_type), vec![left, right]))
}

/// `(x | y) & x`, `(x & y) | x`.
pub(super) fn absorbed(view: &View<'_, '_>, site: &Site) -> Option<Change> {
    let inner_opcode = match site.opcode {
        Opcode::And => Opcode::Or,
        Opcode::Or => Opcode::And,
        _ => return None,
    };
    if !is_algebraic(site) {
        return None;
    }
    let (a, b) = site.pair();
    [(a, b), (b, a)].into_iter().find_map(|(one, other)| {
        let inner = view.producer(one.value()?, inner_opcode)?;
        let value = other.value()?;
        (inner.width == site.width && inner.args().contains(&other)).then_some(Change::Value(value))
    })
}

/// `min` and `max` of values one of which is known not to be above the other; `abs` of what is not negative.
pub(super) fn ordered_operands(view: &View<'_, '_>, site: &Site) -> Option<Change> {
    if !is_integer(site.scalar_type) {
        return None;
    }
    let (a, b) = site.pair();
    if site.opcode == Opcode::Abs {
        let positive = view.known(a, site.width).is_non_negative(site.width);
        return positive.then_some(Change::Value(a.value()?));
    }
    if site.count != 2 || !matches!(site.opcode, Opcode::Min | Opcode::Max) {
        return None;
    }
    let range = |arg: Arg| {
        let known = view.known(arg, site.width);
        match site.signed() {
            true => {
                let (low, high) = known.signed_range(site.width);
                (i128::from(low), i128::from(high))
            }
            false => (i128::from(known.minimum()), i128::from(known.maximum())),
        }
    };
    let ((a_low, a_high), (b_low, b_high)) = (range(a), range(b));
    let (lower, higher) = if a_high <= b_low {
        (a, b)
    } else if b_high <= a_low {
        (b, a)
    } else {
        return None;
    };
    match if site.opcode == Opcode::Min {
        lower
    } else {
        higher
    } {
        Arg::Value(value) => Some(Change::Value(value)),
        Arg::Constant(bits) => Some(Change::Constant(bits)),
        Arg::Other => None,
    }
}
