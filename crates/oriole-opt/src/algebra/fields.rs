//! Parts of words: fields taken out, put together and tested. Each is written as `ptxas` makes fewest instructions of it; forms
//! of which it makes as many, such as fields that are no whole bytes, are left as they are.

use super::compare::{comparison, inverted};
use super::view::{Arg, Change, Site, View, is_integer};
use oriole_isa::{Comparison, Opcode, ScalarType, build};

/// Bits of the words that fields are taken from.
const WORD: u32 = 32;

/// The result of `x` and a constant by an operation on words that nobody else reads.
fn inner(view: &View<'_, '_>, arg: Arg, opcode: Opcode) -> Option<(Site, Arg, u64)> {
    let site = view.integer_producer(arg, opcode, WORD)?;
    let (value, constant) = match opcode {
        Opcode::And => site.value_and_constant()?,
        _ => (site.arg(0).value()?, site.arg(1).constant()?),
    };
    view.is_single(arg.value()?)
        .then_some((site, Arg::Value(value), constant))
}

/// Whether rules that make fields look at an instruction. Where `ptxas` does not optimize, it makes five instructions more of a
/// field than of shifts and masks.
fn is_word(view: &View<'_, '_>, site: &Site) -> bool {
    is_integer(site.scalar_type) && site.width == WORD && !view.is_debug
}

/// `(x >> 8k) & 255`, `(x >> 8) & 65535`.
pub(super) fn byte_field(view: &View<'_, '_>, site: &Site) -> Option<Change> {
    if !is_word(view, site) {
        return None;
    }
    let (shifted, mask) = site.value_and_constant()?;
    let (_, word, position) = inner(view, Arg::Value(shifted), Opcode::Shr)?;
    let length = match (mask, position) {
        (0xFF, 8 | 16) => 8,
        (0xFFFF, 8) => 16,
        _ => return None,
    };
    view.readable(word, ScalarType::U32).then(|| {
        Change::Instruction(
            build::typed(Opcode::Bfe, ScalarType::U32),
            vec![word, Arg::Constant(position), Arg::Constant(length)],
        )
    })
}

/// `(x << k) >> k`, signed.
pub(super) fn signed_field(view: &View<'_, '_>, site: &Site) -> Option<Change> {
    if !is_word(view, site) || site.opcode != Opcode::Shr || !site.signed() {
        return None;
    }
    let back = site.arg(1).constant()?;
    let (_, word, there) = inner(view, site.arg(0), Opcode::Shl)?;
    let fits = there == back
        && (1..u64::from(WORD)).contains(&back)
        && view.readable(word, ScalarType::S32);
    fits.then(|| {
        let length = u64::from(WORD) - back;
        Change::Instruction(
            build::typed(Opcode::Bfe, ScalarType::S32),
            vec![word, Arg::Constant(0), Arg::Constant(length)],
        )
    })
}

/// `(x & ~m) | (y & m)` where `m` has the low bits.
pub(super) fn merged_fields(view: &View<'_, '_>, site: &Site) -> Option<Change> {
    if !is_word(view, site) || site.opcode != Opcode::Or {
        return None;
    }
    let (a, b) = site.pair();
    let (_, one, first) = inner(view, a, Opcode::And)?;
    let (_, other, second) = inner(view, b, Opcode::And)?;
    let (low, high, mask) = match first < second {
        true => (one, other, first),
        false => (other, one, second),
    };
    let fits = first ^ second == site.mask()
        && (mask + 1).is_power_of_two()
        && mask > 0
        && view.readable(low, ScalarType::B32)
        && view.readable(high, ScalarType::B32);
    fits.then(|| {
        let length = u64::from(mask.count_ones());
        Change::Instruction(
            build::typed(Opcode::Bfi, ScalarType::B32),
            vec![low, high, Arg::Constant(0), Arg::Constant(length)],
        )
    })
}

/// `(x & 65535) | (y << 16)`.
pub(super) fn inserted_field(view: &View<'_, '_>, site: &Site) -> Option<Change> {
    if !is_word(view, site) || site.opcode != Opcode::Or {
        return None;
    }
    let (a, b) = site.pair();
    [(a, b), (b, a)].into_iter().find_map(|(low, high)| {
        let (_, low, mask) = inner(view, low, Opcode::And)?;
        let (_, high, amount) = inner(view, high, Opcode::Shl)?;
        let fits = (mask, amount) == (0xFFFF, 16)
            && view.readable(low, ScalarType::B32)
            && view.readable(high, ScalarType::B32);
        fits.then(|| {
            Change::Instruction(
                build::typed(Opcode::Bfi, ScalarType::B32),
                vec![high, low, Arg::Constant(16), Arg::Constant(16)],
            )
        })
    })
}

/// `x == m` where only the bit `m` of `x` may be set: `x != 0`.
pub(super) fn tested_bit(view: &View<'_, '_>, site: &Site) -> Option<Change> {
    let old = comparison(view, site)?;
    if !matches!(old, Comparison::Equal | Comparison::NotEqual) || !is_integer(site.scalar_type) {
        return None;
    }
    let (value @ Arg::Value(_), Arg::Constant(bit)) = site.pair() else {
        return None;
    };
    let known = view.known(value, site.width);
    let possible = !known.zeros & site.mask();
    if !bit.is_power_of_two() || possible != bit || known.ones & site.mask() != 0 {
        return None;
    }
    let new = inverted(old, false)?;
    let mnemonic = view.mnemonic(site).with_comparison(new)?;
    let operands = vec![value, Arg::Constant(0)];
    Some(Change::Instruction(mnemonic, operands))
}
