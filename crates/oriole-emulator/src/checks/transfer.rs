//! The undefined bits of a result, given those of the operands.
//!
//! A result bit is undefined if undefined operand bits can change it. That is exact for bitwise operations, moves, selections, shifts by defined
//! amounts, and extensions. Sums and products are undefined from the lowest undefined bit of an operand on. All of any other result is undefined.

use oriole_isa::{Comparison, Opcode};

use crate::lanes::{self, Binary, Comparator, ComparedAs, Ternary, Unary};
use crate::program::Lanes;

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

pub(super) fn unary(operation: Unary, a: &Lanes) -> Lanes {
    match operation {
        Unary::Not(_) | Unary::NegateF32 { flush: false } | Unary::NegateF64 => *a,
        Unary::Convert { .. } | Unary::Reverse32 => operation.apply(a),
        Unary::AbsoluteF32 { flush: false } => a.map(|bits| bits & 0x7fff_ffff),
        Unary::AbsoluteF64 => a.map(|bits| bits & (u64::MAX >> 1)),
        Unary::Negate(_) => upward(&[a]),
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
        _ => all(&[a.undefined, b.undefined]),
    }
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
    // The least and the greatest number that an operand can be.
    let least = |own: Operand<'_>| -> Lanes {
        std::array::from_fn(|lane| {
            let bits = own.undefined[lane];
            own.values[lane] & !bits | bits & sign
        })
    };
    let greatest = |own: Operand<'_>| -> Lanes {
        std::array::from_fn(|lane| {
            let bits = own.undefined[lane];
            own.values[lane] & !bits | bits & !sign
        })
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
    let low = comparator.apply(&least(a), &greatest(b));
    let high = comparator.apply(&greatest(a), &least(b));
    undefined & (low ^ high)
}

/// Undefined bits as an instruction without a loop of its own moves them.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Moves {
    /// As its operands: so many are moved, the others say where to.
    Operands(usize),
    /// Halves of a word apart.
    Halves,
    /// Any undefined bit makes all undefined.
    Nothing,
}

pub(super) fn moves(opcode: Opcode, has_halves: bool) -> Moves {
    match opcode {
        Opcode::Mov => Moves::Operands(usize::MAX),
        Opcode::Shl | Opcode::Shr | Opcode::Bfe | Opcode::Brev => Moves::Operands(1),
        Opcode::Shf | Opcode::Bfi | Opcode::Prmt => Moves::Operands(2),
        _ if has_halves => Moves::Halves,
        _ => Moves::Nothing,
    }
}
