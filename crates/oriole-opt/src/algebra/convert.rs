//! Conversions between integers, address spaces, bit fields, permutations.

use super::view::{Arg, Change, Site, View, is_integer};
use oriole_analysis::mask;
use oriole_ir::{Operand, Value};
use oriole_isa::{Flag, Opcode, ScalarType, ShiftMode};

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
    let value = view.editor.resolve(value);
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
            format!("and.b{end}"),
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
        format!("cvt.{}.{}", outer.to.text(), from.text()),
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
    Some(Change::Instruction(
        format!("cvt.u{}.u{}", to.bits(), from.bits()),
        vec![Arg::Value(value)],
    ))
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
            format!("and.b{width}"),
            vec![value, Arg::Constant(kept)],
        ));
    }
    (position < width && position + length >= width).then(|| {
        Change::Instruction(
            format!("shr.u{width}"),
            vec![value, Arg::Constant(position)],
        )
    })
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
