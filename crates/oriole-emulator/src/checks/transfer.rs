//! The undefined bits of a result, given those of the operands.
//!
//! A result bit is undefined if undefined operand bits can change it. That is exact for bitwise operations, moves, selections, shifts by defined
//! amounts, and extensions. Sums and products are undefined from the lowest undefined bit of an operand on. All of any other result is undefined.

use oriole_isa::{
    Bits, Comparison, Mnemonic, MulMode, Opcode, ScalarType, VideoOperands, approximate, evaluate,
    evaluate_unpack, evaluate_video,
};

use crate::lanes::{self, Binary, Comparator, ComparedAs, Ternary, Unary};
use crate::program::{General, Lanes, Selectors};

/// An operand: its values and their undefined bits.
#[derive(Clone, Copy)]
pub(super) struct Operand<'a> {
    pub(super) slot: u32,
    pub(super) values: &'a Lanes,
    pub(super) undefined: &'a Lanes,
}

const NOTHING: Lanes = [0; 32];

fn per_lane(undefined: &[&Lanes], bits: impl Fn(u64) -> u64) -> Lanes {
    std::array::from_fn(|lane| bits(undefined.iter().fold(0, |all, own| all | own[lane])))
}

/// All bits, where there is one.
pub(super) fn all(undefined: &[&Lanes]) -> Lanes {
    per_lane(undefined, |bits| if bits == 0 { 0 } else { u64::MAX })
}

/// All bits from the lowest one on.
fn upward(undefined: &[&Lanes]) -> Lanes {
    per_lane(undefined, |bits| match bits {
        0 => 0,
        _ => u64::MAX << bits.trailing_zeros(),
    })
}

/// All bits where a control operand has an undefined one, else the bits that were moved.
fn controlled(controls: &[&Lanes], moved: Lanes) -> Lanes {
    let whole = all(controls);
    std::array::from_fn(|lane| whole[lane] | moved[lane])
}

pub(super) fn unary(operation: Unary, own: Operand<'_>) -> Lanes {
    let a = own.undefined;
    match operation {
        Unary::Not(_) | Unary::NegateF32 { flush: false } | Unary::NegateF64 => *a,
        Unary::Convert { .. } | Unary::Reverse32 => operation.apply(a),
        Unary::AbsoluteF32 { flush: false } => a.map(|bits| bits & 0x7fff_ffff),
        Unary::AbsoluteF64 => a.map(|bits| bits & (u64::MAX >> 1)),
        Unary::Negate(_) => upward(&[a]),
        Unary::PopulationCount | Unary::LeadingZeros(_) => {
            let [least, greatest] = bounds(own, 0);
            differing(&operation.apply(&least), &operation.apply(&greatest))
        }
        _ => all(&[a]),
    }
}

/// Whether an operation moves bits only. An extension makes a number of them.
pub(super) fn unary_moves(operation: Unary) -> bool {
    match operation {
        Unary::Not(_) | Unary::Reverse32 => true,
        Unary::Convert { from, to, .. } => to <= from,
        _ => false,
    }
}

pub(super) fn binary_moves(operation: Binary) -> bool {
    use Binary::{And, Or, ShiftLeft, ShiftRightU, Xor};
    matches!(operation, And | Or | Xor | ShiftLeft(_) | ShiftRightU(_))
}

pub(super) fn ternary_moves(operation: Ternary) -> bool {
    use Ternary::{FunnelLeft, FunnelRight, Permute};
    matches!(operation, FunnelLeft { .. } | FunnelRight { .. } | Permute)
}

pub(super) fn binary(operation: Binary, a: Operand<'_>, b: Operand<'_>) -> Lanes {
    let zero = Operand {
        slot: crate::program::NONE,
        values: &NOTHING,
        undefined: &NOTHING,
    };
    match operation {
        Binary::And => lop3([a, b, zero], 0xc0),
        Binary::Or => lop3([a, b, zero], 0xfc),
        Binary::Xor => lop3([a, b, zero], 0x3c),
        Binary::Subtract16 | Binary::Subtract32 | Binary::Subtract64 if a.slot == b.slot => NOTHING,
        Binary::Add16
        | Binary::Add32
        | Binary::Add64
        | Binary::Subtract16
        | Binary::Subtract32
        | Binary::Subtract64 => upward(&[a.undefined, b.undefined]),
        Binary::MultiplyLow16
        | Binary::MultiplyLow32
        | Binary::MultiplyLow64
        | Binary::MultiplyWideU16
        | Binary::MultiplyWideU32
        | Binary::MultiplyWideS16
        | Binary::MultiplyWideS32 => {
            let bits = upward(&[a.undefined, b.undefined]);
            // A product with zero is zero.
            std::array::from_fn(|lane| {
                let is_zero = |own: Operand<'_>| own.values[lane] == 0 && own.undefined[lane] == 0;
                if is_zero(a) || is_zero(b) {
                    0
                } else {
                    bits[lane]
                }
            })
        }
        Binary::ShiftLeft(_) | Binary::ShiftRightU(_) | Binary::ShiftRightS(_) => {
            controlled(&[b.undefined], operation.apply(a.undefined, b.values))
        }
        Binary::MinimumU | Binary::MaximumU | Binary::MultiplyHighU32 => {
            between(operation, a, b, 0)
        }
        Binary::MinimumS(bits) | Binary::MaximumS(bits) => {
            between(operation, a, b, 1 << (bits - 1))
        }
        _ => all(&[a.undefined, b.undefined]),
    }
}

/// The least and the greatest number that an operand can be; `sign` is the bit that makes a number negative.
fn bounds(own: Operand<'_>, sign: u64) -> [Lanes; 2] {
    let with = |bits: u64| -> Lanes {
        std::array::from_fn(|lane| {
            let undefined = own.undefined[lane];
            own.values[lane] & !undefined | undefined & bits
        })
    };
    [with(sign), with(!sign)]
}

/// The bits of a number between two bounds that are not given: those from the first one on in which the bounds differ.
fn differing(least: &Lanes, greatest: &Lanes) -> Lanes {
    std::array::from_fn(|lane| match least[lane] ^ greatest[lane] {
        0 => 0,
        open => u64::MAX >> open.leading_zeros(),
    })
}

/// The undefined bits of a result that grows with both operands.
fn between(operation: Binary, a: Operand<'_>, b: Operand<'_>, sign: u64) -> Lanes {
    let ([a_least, a_greatest], [b_least, b_greatest]) = (bounds(a, sign), bounds(b, sign));
    differing(
        &operation.apply(&a_least, &b_least),
        &operation.apply(&a_greatest, &b_greatest),
    )
}

pub(super) fn ternary(operation: Ternary, [a, b, c]: [Operand<'_>; 3]) -> Lanes {
    match operation {
        Ternary::MultiplyAddLow16
        | Ternary::MultiplyAddLow32
        | Ternary::MultiplyAddLow64
        | Ternary::MultiplyAddWideU16
        | Ternary::MultiplyAddWideS16
        | Ternary::MultiplyAddWideU32
        | Ternary::MultiplyAddWideS32 => {
            let product = binary(Binary::MultiplyWideU32, a, b);
            upward(&[&product, c.undefined])
        }
        Ternary::FunnelLeft { .. } | Ternary::FunnelRight { .. } | Ternary::Permute => {
            let moved = operation.apply(a.undefined, b.undefined, c.values);
            controlled(&[c.undefined], moved)
        }
        Ternary::ExtractU32 | Ternary::ExtractS32 => {
            let moved = operation.apply(a.undefined, b.values, c.values);
            controlled(&[b.undefined, c.undefined], moved)
        }
        _ => all(&[a.undefined, b.undefined, c.undefined]),
    }
}

/// Bits that differ between two choices of the undefined bits of the operands. Equal operands change together.
pub(super) fn lop3(operands: [Operand<'_>; 3], table: u8) -> Lanes {
    let (mut ones, mut zeros) = (NOTHING, NOTHING);
    for choice in 0..8u32 {
        let chosen = |index: usize| -> Lanes {
            let own = operands[index];
            let same = |other: &Operand<'_>| other.slot == own.slot;
            let first = operands.iter().position(same).unwrap_or(index);
            let set = u64::from(choice >> first & 1).wrapping_neg();
            std::array::from_fn(|lane| {
                let undefined = own.undefined[lane];
                own.values[lane] & !undefined | undefined & set
            })
        };
        let result = lanes::lop3(&chosen(0), &chosen(1), &chosen(2), table);
        for lane in 0..32 {
            ones[lane] |= result[lane];
            zeros[lane] |= !result[lane];
        }
    }
    std::array::from_fn(|lane| ones[lane] & zeros[lane])
}

pub(super) fn select(chosen: u32, undefined: u32, a: Operand<'_>, b: Operand<'_>) -> Lanes {
    std::array::from_fn(|lane| {
        let both = a.undefined[lane] | b.undefined[lane];
        match (undefined >> lane & 1 != 0, chosen >> lane & 1 != 0) {
            (true, _) => both | a.values[lane] ^ b.values[lane],
            (_, true) => a.undefined[lane],
            (_, false) => b.undefined[lane],
        }
    })
}

/// The lanes in which a comparison is undefined.
pub(super) fn compare(comparator: Comparator, a: Operand<'_>, b: Operand<'_>) -> u32 {
    let any = |own: &Lanes| (0..32).fold(0, |all, lane| all | u32::from(own[lane] != 0) << lane);
    let undefined = any(&all(&[a.undefined, b.undefined]));
    let sign = match comparator.kind {
        ComparedAs::Unsigned => 0,
        ComparedAs::Signed(bits) => 1u64 << (bits - 1),
        _ => return undefined,
    };
    if matches!(
        comparator.comparison,
        Comparison::Equal | Comparison::NotEqual
    ) {
        let mut open = undefined;
        for lane in 0..32 {
            let common = !(a.undefined[lane] | b.undefined[lane]);
            if (a.values[lane] ^ b.values[lane]) & common != 0 {
                open &= !(1 << lane);
            }
        }
        return open;
    }
    let ([a_least, a_greatest], [b_least, b_greatest]) = (bounds(a, sign), bounds(b, sign));
    let low = comparator.apply(&a_least, &b_greatest);
    let high = comparator.apply(&a_greatest, &b_least);
    undefined & (low ^ high)
}

/// The undefined bits of the results of an instruction without a loop of its own, for one lane. Without a rule, nothing is known of them.
pub(super) fn general(general: &General, undefined: &[Bits], values: &[Bits]) -> Option<Vec<Bits>> {
    let mnemonic = &general.mnemonic;
    let opcode = mnemonic.opcode();
    // The number of operands that are moved. Further ones give a place.
    let moved = match opcode {
        Opcode::Mov => usize::MAX,
        Opcode::Shl | Opcode::Shr | Opcode::Bfe | Opcode::Brev => 1,
        Opcode::Shf | Opcode::Bfi | Opcode::Prmt | Opcode::Slct => 2,
        _ => 0,
    };
    if moved > 0 {
        let mut inputs = undefined.to_vec();
        if moved < inputs.len() {
            if inputs.drain(moved..).any(|bits| bits != 0) {
                return None;
            }
            inputs.extend(&values[moved..]);
        }
        let outputs = match general.unpack {
            true => evaluate_unpack(mnemonic, inputs[0], general.destinations.len()),
            false => approximate(mnemonic, &inputs),
        };
        return Some(outputs?.values().to_vec());
    }
    let all = undefined.iter().fold(0, |all, own| all | own);
    if let Some(selectors) = &general.video {
        return video(mnemonic, selectors, undefined);
    }
    match (opcode, undefined, values) {
        (Opcode::Mul24, ..) if mnemonic.modifiers().mul_mode == Some(MulMode::Low) => {
            Some(vec![match all & 0x00ff_ffff {
                0 => 0,
                bits => Bits::MAX << bits.trailing_zeros(),
            }])
        }
        // Two numbers are packed beside each other, the first one above. The low bits of a third one are above both.
        (Opcode::Cvt | Opcode::CvtPack, &[high, low, ref rest @ ..], _) => {
            let to = mnemonic.first_type()?;
            let is_pair = to.lanes() == 2 && mnemonic.types().get(1)?.lanes() == 1;
            if opcode == Opcode::Cvt && !(is_pair && rest.is_empty()) {
                return None;
            }
            let width = to.bits() / to.lanes();
            let part = |own: Bits| if own == 0 { 0 } else { (1 << width) - 1 };
            let above = rest.first().map_or(0, |own| own << (2 * width));
            Some(vec![above | part(high) << width | part(low)])
        }
        (Opcode::Bfind, &[own], &[value]) if value & !own != 0 => {
            let least = approximate(mnemonic, &[value & !own])?.values()[0];
            let greatest = approximate(mnemonic, &[value | own])?.values()[0];
            (least == greatest).then(|| vec![0])
        }
        // Undefined factors count where the other factor is not zero.
        (Opcode::Dp4a | Opcode::Dp2a, &[ua, ub, uc], &[a, b, _]) => {
            let name = match mnemonic.modifiers().mul_mode {
                Some(MulMode::Low) => "dp2a.lo.u32.u32",
                Some(MulMode::High) => "dp2a.hi.u32.u32",
                _ => "dp4a.u32.u32",
            };
            let product = Mnemonic::parse(name);
            let of_a = evaluate(&product, &[ua, b | ub, 0])?.values()[0];
            let of_b = evaluate(&product, &[a | ua, ub, 0])?.values()[0];
            (of_a | of_b | uc == 0).then(|| vec![0])
        }
        _ => {
            let has_halves = |own: &ScalarType| own.lanes() == 2 && own.bits() == 32;
            if !mnemonic.types().iter().all(has_halves) {
                return None;
            }
            let halves = [0xffff, 0xffff_0000].map(|half| if all & half == 0 { 0 } else { half });
            Some(match opcode {
                Opcode::Setp => halves.to_vec(),
                _ => vec![halves[0] | halves[1]],
            })
        }
    }
}

/// The undefined bits of the result of a video instruction.
///
/// They are those of a maximum, which takes the same parts of its operands to the same place.
fn video(mnemonic: &Mnemonic, selectors: &Selectors, undefined: &[Bits]) -> Option<Vec<Bits>> {
    let (&[a, b], rest) = undefined.split_first_chunk::<2>()?;
    let c = rest.first().copied().unwrap_or(0);
    let opcode = mnemonic.text().split('.').next().unwrap_or_default();
    let (name, width) = match opcode.chars().last() {
        Some('2') => ("vmax2.u32.u32.u32", 16),
        Some('4') => ("vmax4.u32.u32.u32", 8),
        _ => ("vmax.u32.u32.u32", 32),
    };
    let is_whole = width == 32 || mnemonic.modifiers().operation.is_some();
    let mut operands = VideoOperands {
        a: selectors.a.as_deref(),
        b: selectors.b.as_deref(),
        destination: selectors.destination.as_deref(),
        ..VideoOperands::default()
    };
    if width == 32 {
        operands.destination = None;
    }
    let part = Bits::MAX >> (128 - width);
    let whole_parts = |own: Bits| -> Bits {
        let parts = (0..32).step_by(width).map(|at| part << at);
        parts.filter(|part| own & part != 0).sum()
    };
    let inputs = match (width, is_whole) {
        (32, _) => vec![a, b],
        (_, true) => vec![whole_parts(a), whole_parts(b), 0],
        _ => vec![whole_parts(a), whole_parts(b), c],
    };
    let bits = evaluate_video(&Mnemonic::parse(name), &inputs, &operands)?.values()[0];
    match is_whole {
        true => (bits | c == 0).then(|| vec![0]),
        false => Some(vec![bits]),
    }
}
