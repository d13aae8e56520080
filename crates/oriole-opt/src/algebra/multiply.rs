//! Products, quotients, and sums with products.

use super::integer::negation;
use super::view::{Arg, Change, Site, View, is_integer};
use oriole_analysis::{mask, sign_extend};
use oriole_isa::{MulMode, Opcode, ScalarType, build};

/// The most readers of a shifted offset for it to become a wide product. `ptxas` computes a wide product again in each sum that reads it
/// (`IMAD.WIDE`), which is shorter, but with many sums around takes more registers: a stencil of three dimensions takes 38 for 32, and
/// 1.27 of the time for the lost occupancy. With the shift it adds one offset everywhere.
const MOST_READERS_OF_PRODUCT: u32 = 6;

fn power(bits: u64) -> Option<u64> {
    bits.is_power_of_two()
        .then(|| u64::from(bits.trailing_zeros()))
}

/// The low half of a product by a power of two or by −1.
pub(super) fn multiply_by_power(view: &View<'_, '_>, site: &Site) -> Option<Change> {
    if !is_integer(site.scalar_type) || view.mul_mode(site) != Some(MulMode::Low) {
        return None;
    }
    let (value, constant) = site.value_and_constant()?;
    if constant == site.mask() && site.width > 1 {
        return Some(Change::Instruction(
            negation(site.width)?,
            vec![Arg::Value(value)],
        ));
    }
    let amount = power(constant)?;
    Some(Change::Instruction(
        build::typed(Opcode::Shl, ScalarType::untyped(site.width)?),
        vec![Arg::Value(value), Arg::Constant(amount)],
    ))
}

/// A value extended to twice its width: the type it had, and it.
fn extended(view: &View<'_, '_>, arg: Arg, width: u32) -> Option<(ScalarType, Arg)> {
    let inner = view.integer_producer(arg, Opcode::Cvt, width)?;
    let &[to, from] = view.mnemonic(&inner).types() else {
        return None;
    };
    let doubles = is_integer(from) && from.is_integer() && to.bits() == 2 * from.bits();
    (doubles && inner.arg(0).value().is_some()).then_some((from, inner.arg(0)))
}

/// Whether `constant`, a number of `width` bits, is a number of this type.
fn fits(constant: u64, width: u32, scalar_type: ScalarType) -> bool {
    let narrow = scalar_type.bits();
    if scalar_type.is_signed() {
        sign_extend(constant, width) == sign_extend(constant, narrow)
    } else {
        constant <= mask(narrow)
    }
}

/// The constant an operation multiplies its first operand by.
fn factor(view: &View<'_, '_>, site: &Site) -> Option<(Arg, u64)> {
    match site.opcode {
        Opcode::Shl => {
            let amount = site.arg(1).constant()?;
            (amount < u64::from(site.width)).then(|| (site.arg(0), 1 << amount))
        }
        Opcode::Mul if view.mul_mode(site) == Some(MulMode::Low) => {
            let (value, constant) = site.value_and_constant()?;
            Some((Arg::Value(value), constant))
        }
        _ => None,
    }
}

/// A product of an extended value: `cvt.s64.s32` and then `shl.b64` or `mul.lo.s64`.
pub(super) fn wide_product(view: &View<'_, '_>, site: &Site) -> Option<Change> {
    if !is_integer(site.scalar_type) || !matches!(site.width, 16 | 32 | 64) {
        return None;
    }
    let wide = |from: ScalarType, arguments: Vec<Arg>| {
        let result = from.widened().filter(|&wide| view.writable(site, wide));
        result.map(|_| Change::Instruction(build::mul(MulMode::Wide, from), arguments))
    };
    if let Some((arg, constant)) = factor(view, site) {
        let value = arg.value()?;
        let dies = || {
            view.is_single(value)
                || view.all_readers(value, |reader| {
                    view.site(reader)
                        .is_some_and(|reader| factor(view, &reader).is_some())
                })
        };
        if let Some((from, base)) = extended(view, arg, site.width) {
            let small = mask(from.bits());
            let is_shared_offset = site.opcode == Opcode::Shl
                && view.function().use_count(site.result) > MOST_READERS_OF_PRODUCT;
            return (fits(constant, site.width, from) && dies() && !is_shared_offset)
                .then(|| wide(from, vec![base, Arg::Constant(constant & small)]))?;
        }
        // A product that is wide already takes another factor.
        let inner = view.producer(value, Opcode::Mul)?;
        if view.mul_mode(&inner) != Some(MulMode::Wide) || 2 * inner.width != site.width {
            return None;
        }
        let (base, first) = inner.value_and_constant()?;
        let from = inner.scalar_type;
        let first = match from.is_signed() {
            true => i128::from(sign_extend(first, inner.width)),
            false => i128::from(first),
        };
        let second = match from.is_signed() {
            true => i128::from(sign_extend(constant, site.width)),
            false => i128::from(constant),
        };
        let product = first.checked_mul(second)?;
        let limits = match from.is_signed() {
            true => -(1i128 << (inner.width - 1))..1i128 << (inner.width - 1),
            false => 0..1i128 << inner.width,
        };
        if !limits.contains(&product) || !view.is_single(value) {
            return None;
        }
        let bits = product as u64 & mask(inner.width);
        return wide(from, vec![Arg::Value(base), Arg::Constant(bits)]);
    }
    if site.opcode != Opcode::Mul || view.mul_mode(site) != Some(MulMode::Low) {
        return None;
    }
    let (a, b) = site.pair();
    let (from, left) = extended(view, a, site.width)?;
    let (other, right) = extended(view, b, site.width)?;
    let dies = view.is_single(a.value()?) && view.is_single(b.value()?);
    if from == other && dies {
        wide(from, vec![left, right])
    } else {
        None
    }
}

/// A wide product by one.
pub(super) fn wide_by_one(view: &View<'_, '_>, site: &Site) -> Option<Change> {
    if !is_integer(site.scalar_type) || view.mul_mode(site) != Some(MulMode::Wide) {
        return None;
    }
    let (value, constant) = site.value_and_constant()?;
    let wide = site.scalar_type.widened()?;
    (constant == 1)
        .then(|| Change::Instruction(build::cvt(wide, site.scalar_type), vec![Arg::Value(value)]))
}

/// Unsigned division and remainder by a power of two; signed ones of what is not negative.
pub(super) fn divide_by_power(view: &View<'_, '_>, site: &Site) -> Option<Change> {
    if !is_integer(site.scalar_type) {
        return None;
    }
    let (Arg::Value(value), Arg::Constant(constant)) = site.pair() else {
        return None;
    };
    if site.opcode == Opcode::Rem && constant == 1 {
        return Some(Change::Constant(0));
    }
    let amount = power(constant)?;
    if site.signed() {
        // A power of two that is a negative number is none.
        let positive = amount + 1 < u64::from(site.width);
        let known = view.known(Arg::Value(value), site.width);
        if !positive || !known.is_non_negative(site.width) {
            return None;
        }
    }
    let (opcode, scalar_type, operand) = match site.opcode {
        Opcode::Div => (Opcode::Shr, ScalarType::unsigned(site.width)?, amount),
        Opcode::Rem => (Opcode::And, ScalarType::untyped(site.width)?, constant - 1),
        _ => return None,
    };
    Some(Change::Instruction(
        build::typed(opcode, scalar_type),
        vec![Arg::Value(value), Arg::Constant(operand)],
    ))
}

/// `(x / C1) / C2`, unsigned.
pub(super) fn division_chain(view: &View<'_, '_>, site: &Site) -> Option<Change> {
    if site.opcode != Opcode::Div || !is_integer(site.scalar_type) || site.signed() {
        return None;
    }
    let (Arg::Value(value), Arg::Constant(second)) = site.pair() else {
        return None;
    };
    let inner = view.producer(value, Opcode::Div)?;
    let (base @ Arg::Value(_), Arg::Constant(first)) = inner.pair() else {
        return None;
    };
    if inner.scalar_type != site.scalar_type || first == 0 || second == 0 {
        return None;
    }
    match first
        .checked_mul(second)
        .filter(|&both| both <= site.mask())
    {
        Some(both) if view.is_single(value) => {
            Some(Change::Operands(vec![base, Arg::Constant(both)]))
        }
        Some(_) => None,
        None => Some(Change::Constant(0)),
    }
}

/// `a * b + 0`, `a * 1 + c`, `a * 0 + c`, `C1 * C2 + c`.
pub(super) fn simple_mad(view: &View<'_, '_>, site: &Site) -> Option<Change> {
    if site.opcode != Opcode::Mad || !is_integer(site.scalar_type) {
        return None;
    }
    let mode = view.mul_mode(site)?;
    let (a, b, c) = (site.arg(0), site.arg(1), site.arg(2));
    if c == Arg::Constant(0) && a.is_plain() && b.is_plain() {
        return Some(Change::Instruction(
            build::mul(mode, site.scalar_type),
            vec![a, b],
        ));
    }
    if !c.is_plain() || mode == MulMode::High {
        return None;
    }
    let result = match mode {
        MulMode::Wide => site.scalar_type.widened()?,
        _ => site.scalar_type,
    };
    let sum = |arguments: Vec<Arg>| {
        Some(Change::Instruction(
            build::typed(Opcode::Add, result),
            arguments,
        ))
    };
    match (a, b) {
        (Arg::Constant(0), _) | (_, Arg::Constant(0)) => Some(match c {
            Arg::Constant(bits) => Change::Constant(bits),
            _ => Change::Value(c.value()?),
        }),
        (Arg::Constant(first), Arg::Constant(second)) => {
            let product = match (mode, site.signed()) {
                (MulMode::Wide, true) => sign_extend(first, site.width)
                    .wrapping_mul(sign_extend(second, site.width))
                    as u64,
                _ => first.wrapping_mul(second),
            };
            sum(vec![c, Arg::Constant(product & mask(result.bits()))])
        }
        (value @ Arg::Value(_), Arg::Constant(1)) | (Arg::Constant(1), value @ Arg::Value(_))
            if mode == MulMode::Low =>
        {
            sum(vec![value, c])
        }
        _ => None,
    }
}
