//! Conversions between integers, address spaces, bit fields, permutations.

use super::integer::negation;
use super::view::{Arg, Change, Site, View, is_integer};
use oriole_analysis::mask;
use oriole_ir::{Definition, Operand, Value};
use oriole_isa::{Flag, MulMode, Opcode, ScalarType, ShiftMode, build, ptxas};

/// A conversion between integers: what it makes, what it reads, and the register it reads from, which may be wider.
struct Conversion {
    to: ScalarType,
    from: ScalarType,
    value: Value,
    held: u32,
}

fn conversion(view: &View<'_, '_>, site: &Site) -> Option<Conversion> {
    let &[to, from] = view.mnemonic(site).types() else {
        return None;
    };
    if site.opcode != Opcode::Cvt || site.count != 1 || !is_integer(to) || !is_integer(from) {
        return None;
    }
    let leaves = view.function().leaves(site.instruction);
    let Operand::Value(value) = leaves[1] else {
        return None;
    };
    let held = view.type_of(value);
    (held.bits() >= from.bits() && held.bits() <= 64 && !held.is_float()).then_some(Conversion {
        to,
        from,
        value,
        held: held.bits(),
    })
}

/// A conversion that changes no bit: between types of one width, or of a value that is small anyway.
pub(super) fn useless_conversion(view: &View<'_, '_>, site: &Site) -> Option<Change> {
    let Conversion {
        to,
        from,
        value,
        held,
    } = conversion(view, site)?;
    if held != to.bits() {
        return None;
    }
    let bits = match from.is_signed() && from.bits() < to.bits() {
        true => from.bits() - 1,
        false => from.bits(),
    };
    let small = view.known.of(value).maximum() <= mask(bits);
    (to.bits() == from.bits() || small).then_some(Change::Value(value))
}

/// A conversion of a conversion.
pub(super) fn conversion_chain(view: &View<'_, '_>, site: &Site) -> Option<Change> {
    let outer = conversion(view, site)?;
    let inner_site = view.producer(outer.value, Opcode::Cvt)?;
    let inner = conversion(view, &inner_site)?;
    // The middle is what the outer one reads: the low bits of what the inner one makes.
    let (start, middle, end) = (inner.from.bits(), outer.from.bits(), outer.to.bits());
    if middle > inner.to.bits() {
        return None;
    }
    if inner.held == start && start == end && middle >= start {
        // There and back.
        return Some(Change::Value(inner.value));
    }
    if !view.is_single(outer.value) {
        return None;
    }
    let positive = view
        .known
        .of(inner.value)
        .truncate(start)
        .is_non_negative(start);
    let from = if end <= start && end <= middle {
        // Low bits of low bits.
        inner.from
    } else if middle >= start {
        // What the inner one extended stays extended, or is extended further in the same way.
        let same = end <= middle
            || inner.from.is_signed() == outer.from.is_signed()
            || (!inner.from.is_signed() && middle > start)
            || positive;
        same.then_some(inner.from)?
    } else if inner.held == end && !outer.from.is_signed() {
        // Cut and filled with zeros: a mask.
        return Some(Change::Instruction(
            build::typed(Opcode::And, ScalarType::untyped(end)?),
            vec![Arg::Value(inner.value), Arg::Constant(mask(middle))],
        ));
    } else {
        // Cut and extended: a conversion reads the low bits of a wider register.
        outer.from
    };
    if inner.held != start && middle >= start {
        return None;
    }
    Some(Change::Instruction(
        build::cvt(outer.to, from),
        vec![Arg::Value(inner.value)],
    ))
}

/// Sign extension of what is not negative.
pub(super) fn zero_extension(view: &View<'_, '_>, site: &Site) -> Option<Change> {
    let Conversion {
        to,
        from,
        value,
        held,
    } = conversion(view, site)?;
    let extends = from.is_signed() && to.bits() > from.bits() && held == from.bits();
    if !extends || !view.known.of(value).is_non_negative(from.bits()) {
        return None;
    }
    let to = ScalarType::unsigned(to.bits())?;
    let from = ScalarType::unsigned(from.bits())?;
    Some(Change::Instruction(
        build::cvt(to, from),
        vec![Arg::Value(value)],
    ))
}

/// The low half of an operation on extended values and constants that nobody else reads: the operation on the values.
pub(super) fn narrowed_operation(view: &View<'_, '_>, site: &Site) -> Option<Change> {
    let outer = conversion(view, site)?;
    let narrow = outer.to.bits();
    if narrow >= outer.from.bits()
        || outer.held != outer.from.bits()
        || !view.is_single(outer.value)
        || !matches!(narrow, 8 | 16 | 32)
    {
        return None;
    }
    let Definition::Instruction(instruction) = view.function().values()[outer.value].definition
    else {
        return None;
    };
    view.function().block_of(instruction)?;
    let inner = view.site(instruction)?;
    if !is_integer(inner.scalar_type) || view.mnemonic(&inner).types().len() != 1 {
        return None;
    }
    let whole = inner.width == outer.held;
    let low = |arg: Arg| match arg {
        Arg::Constant(bits) => Some(Arg::Constant(bits & mask(narrow))),
        Arg::Value(value) => {
            let extension = conversion(view, &view.producer(value, Opcode::Cvt)?)?;
            let extends = extension.from.bits() == narrow
                && extension.held == narrow
                && extension.to.bits() == outer.held;
            extends.then_some(Arg::Value(extension.value))
        }
        Arg::Other => None,
    };
    // Zero minus something is a negation to ptxas too: see `negation`.
    let is_signed = inner.signed() && !ptxas::negates_wrongly(narrow);
    let integer = ScalarType::integer(is_signed, narrow)?;
    let untyped = ScalarType::untyped(narrow)?;
    let (mnemonic, arguments) = match inner.opcode {
        Opcode::Add | Opcode::Sub if whole => (
            build::typed(inner.opcode, integer),
            vec![low(inner.arg(0))?, low(inner.arg(1))?],
        ),
        Opcode::And | Opcode::Or | Opcode::Xor if whole => (
            build::typed(inner.opcode, untyped),
            vec![low(inner.arg(0))?, low(inner.arg(1))?],
        ),
        Opcode::Not if whole => (build::typed(Opcode::Not, untyped), vec![low(inner.arg(0))?]),
        Opcode::Neg if whole => (negation(narrow)?, vec![low(inner.arg(0))?]),
        // Shifted by the width of the low half or more, nothing is left there either way.
        Opcode::Shl if whole && inner.arg(1).is_plain() => (
            build::typed(Opcode::Shl, untyped),
            vec![low(inner.arg(0))?, inner.arg(1)],
        ),
        Opcode::Selp if whole && inner.arg(2).value().is_some() => (
            build::selp(untyped),
            vec![low(inner.arg(0))?, low(inner.arg(1))?, inner.arg(2)],
        ),
        Opcode::Mul | Opcode::Mad => {
            let factors = match view.mul_mode(&inner)? {
                MulMode::Low if whole => vec![low(inner.arg(0))?, low(inner.arg(1))?],
                MulMode::Wide if inner.width == narrow => vec![inner.arg(0), inner.arg(1)],
                _ => return None,
            };
            let mut arguments = factors;
            if inner.opcode == Opcode::Mad {
                arguments.push(low(inner.arg(2))?);
            }
            let mnemonic = build::product(inner.opcode, MulMode::Low, integer);
            (mnemonic, arguments)
        }
        Opcode::Shr if whole && inner.arg(1) == Arg::Constant(u64::from(narrow)) => {
            let value = inner.arg(0).value()?;
            let product = view.producer(value, Opcode::Mul)?;
            let wide = view.mul_mode(&product) == Some(MulMode::Wide)
                && is_integer(product.scalar_type)
                && product.width == narrow
                && 2 * narrow == outer.held;
            if !wide || !view.is_single(value) {
                return None;
            }
            (
                build::mul(MulMode::High, product.scalar_type),
                vec![product.arg(0), product.arg(1)],
            )
        }
        _ => return None,
    };
    // There must be something to narrow: what is constant is the business of others.
    let fits = view.writable(site, integer)
        && arguments.iter().all(|arg| arg.is_plain())
        && arguments.iter().any(|arg| arg.value().is_some());
    fits.then_some(Change::Instruction(mnemonic, arguments))
}

/// An address converted to generic and back, or the other way round.
pub(super) fn address_round_trip(view: &View<'_, '_>, site: &Site) -> Option<Change> {
    let inner = view.producer(site.arg(0).value()?, Opcode::Cvta)?;
    let (outer, back) = (view.mnemonic(site), view.mnemonic(&inner));
    let opposite = outer.has(Flag::ToSpace) != back.has(Flag::ToSpace);
    let same = outer.space() == back.space() && inner.width == site.width;
    (opposite && same).then_some(Change::Value(inner.arg(0).value()?))
}

/// `bfe.u` of the low or the high bits.
pub(super) fn simple_field(_: &View<'_, '_>, site: &Site) -> Option<Change> {
    if site.signed() || !matches!(site.width, 32 | 64) {
        return None;
    }
    let value @ Arg::Value(_) = site.arg(0) else {
        return None;
    };
    // 32-bit fields look at eight bits of position and length.
    let counted = if site.width == 32 { 0xFF } else { u64::MAX };
    let position = site.arg(1).constant()? & counted;
    let length = site.arg(2).constant()? & counted;
    let width = u64::from(site.width);
    if position == 0 && length < width {
        let kept = mask(length as u32);
        return Some(Change::Instruction(
            build::typed(Opcode::And, ScalarType::untyped(site.width)?),
            vec![value, Arg::Constant(kept)],
        ));
    }
    if position >= width || position + length < width {
        return None;
    }
    Some(Change::Instruction(
        build::typed(Opcode::Shr, ScalarType::unsigned(site.width)?),
        vec![value, Arg::Constant(position)],
    ))
}

/// `bfi` of nothing or of everything, `prmt` and `lop3` that give one of their operands, funnel shifts by nothing.
pub(super) fn projection(view: &View<'_, '_>, site: &Site) -> Option<Change> {
    let chosen = match site.opcode {
        Opcode::Bfi if matches!(site.width, 32 | 64) => {
            let counted = if site.width == 32 { 0xFF } else { u64::MAX };
            let position = site.arg(2).constant()? & counted;
            let length = site.arg(3).constant()? & counted;
            let width = u64::from(site.width);
            if length == 0 || position >= width {
                site.arg(1)
            } else if position == 0 && length >= width {
                site.arg(0)
            } else {
                return None;
            }
        }
        Opcode::Prmt if view.mnemonic(site).modifiers().permute.is_none() => {
            match site.arg(2).constant()? & 0xFFFF {
                0x3210 => site.arg(0),
                0x7654 => site.arg(1),
                _ => return None,
            }
        }
        Opcode::Lop3 if site.count == 4 => match site.arg(3).constant()? {
            0xF0 => site.arg(0),
            0xCC => site.arg(1),
            0xAA => site.arg(2),
            0x00 => Arg::Constant(0),
            0xFF => Arg::Constant(site.mask()),
            _ => return None,
        },
        Opcode::Shf => {
            let modifiers = view.mnemonic(site).modifiers();
            let amount = match modifiers.shift_mode? {
                ShiftMode::Wrap => site.arg(2).constant()? & 31,
                ShiftMode::Clamp => site.arg(2).constant()?.min(32),
            };
            // To the left the high word comes out, to the right the low one; after a whole word, the other.
            let left = modifiers.direction? == oriole_isa::Direction::Left;
            match amount {
                0 => site.arg(usize::from(left)),
                32 => site.arg(usize::from(!left)),
                _ => return None,
            }
        }
        _ => return None,
    };
    match chosen {
        Arg::Value(value) => Some(Change::Value(value)),
        Arg::Constant(bits) => Some(Change::Constant(bits)),
        Arg::Other => None,
    }
}

/// `lop3` with one operand twice is an operation on two: `and`, `or`, `xor`, or a `lop3` with nothing for the third. This
/// keeps clear of the quirk `lop3-operand-twice` of [`ptxas::QUIRKS`]; other passes may have made the form.
pub(super) fn repeated_operand(_: &View<'_, '_>, site: &Site) -> Option<Change> {
    if site.opcode != Opcode::Lop3 || site.count != 4 {
        return None;
    }
    let [a, b, c] = [site.arg(0), site.arg(1), site.arg(2)];
    let table = site.arg(3).constant()? & 0xFF;
    let is_same = |one: Arg, other: Arg| one == other && matches!(one, Arg::Value(_));
    let (x, y, second_of) = if is_same(b, c) {
        (a, b, [false, true, true])
    } else if is_same(a, c) {
        (a, b, [false, true, false])
    } else if is_same(a, b) {
        (a, c, [false, false, true])
    } else {
        return None;
    };
    if x == Arg::Other || y == Arg::Other {
        return None;
    }
    // The bit of the result for each bit of x and y; both are the same if all three operands are.
    let all_same = x == y;
    let mut pair = 0u64;
    for index in 0..4 {
        let (bit_x, bit_y) = (
            index >> 1 & 1,
            if all_same { index >> 1 & 1 } else { index & 1 },
        );
        let of = |position: usize| if second_of[position] { bit_y } else { bit_x };
        let entry = of(0) << 2 | of(1) << 1 | of(2);
        pair |= (table >> entry & 1) << index;
    }
    let becomes = |opcode: Opcode, operands: Vec<Arg>| {
        let mnemonic = build::typed(opcode, ScalarType::B32);
        Some(Change::Instruction(mnemonic, operands))
    };
    match pair {
        0b0000 => Some(Change::Constant(0)),
        0b1111 => Some(Change::Constant(site.mask())),
        0b1000 => becomes(Opcode::And, vec![x, y]),
        0b1110 => becomes(Opcode::Or, vec![x, y]),
        0b0110 => becomes(Opcode::Xor, vec![x, y]),
        0b1100 => x.value().map(Change::Value),
        0b1010 => y.value().map(Change::Value),
        0b0011 => becomes(Opcode::Not, vec![x]),
        0b0101 => becomes(Opcode::Not, vec![y]),
        _ => {
            let mut wide = 0;
            for entry in 0..8 {
                wide |= (pair >> (entry >> 1) & 1) << entry;
            }
            let operands = vec![x, y, Arg::Constant(0), Arg::Constant(wide)];
            becomes(Opcode::Lop3, operands)
        }
    }
}
