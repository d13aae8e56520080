//! The common operations as direct loops over the 32 lanes of a warp.
//!
//! What an instruction computes is defined by `oriole_isa::evaluate`; these are the same functions written so that the
//! compiler turns each into a short vector loop. [`direct`] says which mnemonics have one, and the test at the end compares
//! each with `evaluate` on edges and random inputs. Slots hold values truncated to their type, which every function here
//! may rely on and must keep.

use oriole_isa::{
    Comparison, Direction, Flag, Mnemonic, MulMode, Opcode, Rounding, ScalarType, ShiftMode,
};

use crate::program::Lanes;

/// An operation of one operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unary {
    Not(u32),
    Negate(u32),
    Absolute(u32),
    Convert {
        from: u32,
        from_signed: bool,
        to: u32,
        to_signed: bool,
        register: u32,
    },
    PopulationCount,
    LeadingZeros(u32),
    Reverse32,
    NegateF32 {
        flush: bool,
    },
    AbsoluteF32 {
        flush: bool,
    },
    NegateF64,
    AbsoluteF64,
    SquareRootF32 {
        flush: bool,
    },
    ReciprocalF32 {
        flush: bool,
    },
    Function {
        opcode: Function,
        flush: bool,
    },
    F32FromS32,
    F32FromU32,
    F64FromS32,
    F64FromU32,
    F64FromF32,
    F32FromF64,
    S32FromF32 {
        flush: bool,
    },
    U32FromF32 {
        flush: bool,
    },
    F32FromF16,
    F16FromF32,
    F32FromBf16,
    Bf16FromF32,
}

/// Approximated functions of single precision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Function {
    Reciprocal,
    SquareRoot,
    ReciprocalSquareRoot,
    Sine,
    Cosine,
    Logarithm,
    Exponential,
    HyperbolicTangent,
}

/// An operation of two operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Binary {
    Add16,
    Add32,
    Add64,
    Subtract16,
    Subtract32,
    Subtract64,
    MultiplyLow16,
    MultiplyLow32,
    MultiplyLow64,
    MultiplyHighU32,
    MultiplyHighS32,
    MultiplyHighU64,
    MultiplyHighS64,
    MultiplyWideU16,
    MultiplyWideS16,
    MultiplyWideU32,
    MultiplyWideS32,
    And,
    Or,
    Xor,
    ShiftLeft(u32),
    ShiftRightU(u32),
    ShiftRightS(u32),
    MinimumU,
    MaximumU,
    MinimumS(u32),
    MaximumS(u32),
    DivideU(u32),
    RemainderU(u32),
    DivideS(u32),
    RemainderS(u32),
    AddF32 { flush: bool },
    SubtractF32 { flush: bool },
    MultiplyF32 { flush: bool },
    DivideF32 { flush: bool },
    DivideApproximateF32 { flush: bool },
    MinimumF32 { flush: bool },
    MaximumF32 { flush: bool },
    AddF64,
    SubtractF64,
    MultiplyF64,
    DivideF64,
}

/// An operation of three operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ternary {
    MultiplyAddLow16,
    MultiplyAddLow32,
    MultiplyAddLow64,
    MultiplyAddWideU32,
    MultiplyAddWideS32,
    MultiplyAddWideU16,
    MultiplyAddWideS16,
    FusedF32 { flush: bool },
    FusedF64,
    FunnelLeft { wrap: bool },
    FunnelRight { wrap: bool },
    Permute,
    ExtractU32,
    ExtractS32,
}

/// A comparison of two operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Comparator {
    pub(crate) kind: ComparedAs,
    pub(crate) comparison: Comparison,
}

/// How the operands of a comparison are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ComparedAs {
    Unsigned,
    Signed(u32),
    F32 { flush: bool },
    F64,
}

/// A mnemonic that has a direct loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direct {
    Unary(Unary),
    Binary(Binary),
    Ternary(Ternary),
    Compare(Comparator),
}

/// The direct loop of a mnemonic, where there is one and all registers have the width of their operand.
pub(crate) fn direct(mnemonic: &Mnemonic, destination_bits: u32) -> Option<Direct> {
    if mnemonic.is_opaque() {
        return None;
    }
    let first = mnemonic.first_type()?;
    let bits = first.bits();
    let modifiers = mnemonic.modifiers();
    let plain = |flags: &[Flag]| {
        [
            Flag::Saturate,
            Flag::Relu,
            Flag::PropagateNan,
            Flag::XorSign,
            Flag::Absolute,
            Flag::CarryOut,
            Flag::OutOfBounds,
        ]
        .iter()
        .all(|flag| flags.contains(flag) || !mnemonic.has(*flag))
            && !mnemonic.effects().reads_carry
    };
    if !plain(&[]) || first.lanes() > 1 {
        return None;
    }
    let flush = mnemonic.has(Flag::FlushToZero);
    let nearest = matches!(modifiers.rounding, None | Some(Rounding::NearestEven));
    let approximate = mnemonic.has(Flag::Approximate) || mnemonic.has(Flag::FullRange);
    if mnemonic.opcode() == Opcode::Cvt {
        return conversion(mnemonic, destination_bits).map(Direct::Unary);
    }
    if mnemonic.opcode() == Opcode::Setp {
        let kind = match first {
            ScalarType::F32 => ComparedAs::F32 { flush },
            ScalarType::F64 => ComparedAs::F64,
            _ if first.is_signed() => ComparedAs::Signed(bits),
            _ if first.is_float() => return None,
            _ => ComparedAs::Unsigned,
        };
        let comparison = modifiers.comparison?;
        let (kind, comparison) = match (kind, comparison) {
            (ComparedAs::Signed(_), Comparison::Lower) => (ComparedAs::Unsigned, Comparison::Less),
            (ComparedAs::Signed(_), Comparison::LowerSame) => {
                (ComparedAs::Unsigned, Comparison::LessEqual)
            }
            (ComparedAs::Signed(_), Comparison::Higher) => {
                (ComparedAs::Unsigned, Comparison::Greater)
            }
            (ComparedAs::Signed(_), Comparison::HigherSame) => {
                (ComparedAs::Unsigned, Comparison::GreaterEqual)
            }
            other => other,
        };
        return Some(Direct::Compare(Comparator { kind, comparison }));
    }
    if mnemonic.types().len() > 1 {
        return None;
    }
    use Direct as D;
    let wide = destination_bits == 2 * bits;
    let same = destination_bits == bits;
    let mode = modifiers.mul_mode;
    Some(match (mnemonic.opcode(), first) {
        (Opcode::Mul, t) if mode == Some(MulMode::Wide) && wide => D::Binary(match t {
            ScalarType::U16 => Binary::MultiplyWideU16,
            ScalarType::S16 => Binary::MultiplyWideS16,
            ScalarType::U32 => Binary::MultiplyWideU32,
            ScalarType::S32 => Binary::MultiplyWideS32,
            _ => return None,
        }),
        (Opcode::Mad, t) if mode == Some(MulMode::Wide) && wide => D::Ternary(match t {
            ScalarType::U16 => Ternary::MultiplyAddWideU16,
            ScalarType::S16 => Ternary::MultiplyAddWideS16,
            ScalarType::U32 => Ternary::MultiplyAddWideU32,
            ScalarType::S32 => Ternary::MultiplyAddWideS32,
            _ => return None,
        }),
        (Opcode::Popc, _) if destination_bits == 32 => D::Unary(Unary::PopulationCount),
        (Opcode::Clz, _) if destination_bits == 32 => D::Unary(Unary::LeadingZeros(bits)),
        _ if !same => return None,
        (Opcode::Add, ScalarType::F32) if nearest => D::Binary(Binary::AddF32 { flush }),
        (Opcode::Sub, ScalarType::F32) if nearest => D::Binary(Binary::SubtractF32 { flush }),
        (Opcode::Mul, ScalarType::F32) if nearest => D::Binary(Binary::MultiplyF32 { flush }),
        (Opcode::Div, ScalarType::F32) if approximate => {
            D::Binary(Binary::DivideApproximateF32 { flush })
        }
        (Opcode::Div, ScalarType::F32) if nearest => D::Binary(Binary::DivideF32 { flush }),
        (Opcode::Min, ScalarType::F32) => D::Binary(Binary::MinimumF32 { flush }),
        (Opcode::Max, ScalarType::F32) => D::Binary(Binary::MaximumF32 { flush }),
        (Opcode::Fma, ScalarType::F32) if modifiers.rounding == Some(Rounding::NearestEven) => {
            D::Ternary(Ternary::FusedF32 { flush })
        }
        (Opcode::Fma, ScalarType::F64) if modifiers.rounding == Some(Rounding::NearestEven) => {
            D::Ternary(Ternary::FusedF64)
        }
        (Opcode::Add, ScalarType::F64) if nearest => D::Binary(Binary::AddF64),
        (Opcode::Sub, ScalarType::F64) if nearest => D::Binary(Binary::SubtractF64),
        (Opcode::Mul, ScalarType::F64) if nearest => D::Binary(Binary::MultiplyF64),
        (Opcode::Div, ScalarType::F64) if nearest => D::Binary(Binary::DivideF64),
        (Opcode::Neg, ScalarType::F32) => D::Unary(Unary::NegateF32 { flush }),
        (Opcode::Abs, ScalarType::F32) => D::Unary(Unary::AbsoluteF32 { flush }),
        (Opcode::Neg, ScalarType::F64) => D::Unary(Unary::NegateF64),
        (Opcode::Abs, ScalarType::F64) => D::Unary(Unary::AbsoluteF64),
        (Opcode::Sqrt, ScalarType::F32) if !approximate && nearest => {
            D::Unary(Unary::SquareRootF32 { flush })
        }
        (Opcode::Rcp, ScalarType::F32) if !approximate && nearest => {
            D::Unary(Unary::ReciprocalF32 { flush })
        }
        (opcode, ScalarType::F32) if approximate => {
            let opcode = match opcode {
                Opcode::Rcp => Function::Reciprocal,
                Opcode::Sqrt => Function::SquareRoot,
                Opcode::Rsqrt => Function::ReciprocalSquareRoot,
                Opcode::Sin => Function::Sine,
                Opcode::Cos => Function::Cosine,
                Opcode::Lg2 => Function::Logarithm,
                Opcode::Ex2 => Function::Exponential,
                Opcode::Tanh => Function::HyperbolicTangent,
                _ => return None,
            };
            D::Unary(Unary::Function {
                opcode,
                flush: flush || opcode == Function::HyperbolicTangent,
            })
        }
        (_, t) if t.is_float() => return None,
        (Opcode::And, _) => D::Binary(Binary::And),
        (Opcode::Or, _) => D::Binary(Binary::Or),
        (Opcode::Xor, _) => D::Binary(Binary::Xor),
        (Opcode::Not, _) => D::Unary(Unary::Not(bits)),
        (Opcode::Brev, _) if bits == 32 => D::Unary(Unary::Reverse32),
        (Opcode::Shl, _) => D::Binary(Binary::ShiftLeft(bits)),
        (Opcode::Shr, t) if t.is_signed() => D::Binary(Binary::ShiftRightS(bits)),
        (Opcode::Shr, _) => D::Binary(Binary::ShiftRightU(bits)),
        (Opcode::Shf, _) => {
            let wrap = modifiers.shift_mode? == ShiftMode::Wrap;
            D::Ternary(match modifiers.direction? {
                Direction::Left => Ternary::FunnelLeft { wrap },
                Direction::Right => Ternary::FunnelRight { wrap },
            })
        }
        (Opcode::Prmt, _) if modifiers.permute.is_none() => D::Ternary(Ternary::Permute),
        (_, t) if !t.is_integer() => return None,
        (Opcode::Bfe, ScalarType::U32) => D::Ternary(Ternary::ExtractU32),
        (Opcode::Bfe, ScalarType::S32) => D::Ternary(Ternary::ExtractS32),
        (Opcode::Add, _) => D::Binary(match bits {
            16 => Binary::Add16,
            32 => Binary::Add32,
            64 => Binary::Add64,
            _ => return None,
        }),
        (Opcode::Sub, _) => D::Binary(match bits {
            16 => Binary::Subtract16,
            32 => Binary::Subtract32,
            64 => Binary::Subtract64,
            _ => return None,
        }),
        (Opcode::Neg, t) if t.is_signed() => D::Unary(Unary::Negate(bits)),
        (Opcode::Abs, t) if t.is_signed() => D::Unary(Unary::Absolute(bits)),
        (Opcode::Mul, t) => D::Binary(match (mode?, bits, t.is_signed()) {
            (MulMode::Low, 16, _) => Binary::MultiplyLow16,
            (MulMode::Low, 32, _) => Binary::MultiplyLow32,
            (MulMode::Low, 64, _) => Binary::MultiplyLow64,
            (MulMode::High, 32, false) => Binary::MultiplyHighU32,
            (MulMode::High, 32, true) => Binary::MultiplyHighS32,
            (MulMode::High, 64, false) => Binary::MultiplyHighU64,
            (MulMode::High, 64, true) => Binary::MultiplyHighS64,
            _ => return None,
        }),
        (Opcode::Mad, _) => D::Ternary(match (mode?, bits) {
            (MulMode::Low, 16) => Ternary::MultiplyAddLow16,
            (MulMode::Low, 32) => Ternary::MultiplyAddLow32,
            (MulMode::Low, 64) => Ternary::MultiplyAddLow64,
            _ => return None,
        }),
        (Opcode::Min, t) => D::Binary(if t.is_signed() {
            Binary::MinimumS(bits)
        } else {
            Binary::MinimumU
        }),
        (Opcode::Max, t) => D::Binary(if t.is_signed() {
            Binary::MaximumS(bits)
        } else {
            Binary::MaximumU
        }),
        (Opcode::Div, t) => D::Binary(if t.is_signed() {
            Binary::DivideS(bits)
        } else {
            Binary::DivideU(bits)
        }),
        (Opcode::Rem, t) => D::Binary(if t.is_signed() {
            Binary::RemainderS(bits)
        } else {
            Binary::RemainderU(bits)
        }),
        _ => return None,
    })
}

fn conversion(mnemonic: &Mnemonic, destination_bits: u32) -> Option<Unary> {
    let &[to, from] = mnemonic.types() else {
        return None;
    };
    let rounding = mnemonic.modifiers().rounding;
    let flush = mnemonic.has(Flag::FlushToZero);
    if mnemonic.has(Flag::SaturateFinite) {
        return None;
    }
    if to.is_integer()
        && from.is_integer()
        && to.bits() <= 64
        && from.bits() <= 64
        && to.lanes() == 1
        && from.lanes() == 1
    {
        return Some(Unary::Convert {
            from: from.bits(),
            from_signed: from.is_signed(),
            to: to.bits(),
            to_signed: to.is_signed(),
            register: destination_bits,
        });
    }
    if destination_bits != to.bits() {
        return None;
    }
    use Rounding::*;
    Some(match (to, from, rounding, flush) {
        (ScalarType::F32, ScalarType::S32, Some(NearestEven), false) => Unary::F32FromS32,
        (ScalarType::F32, ScalarType::U32, Some(NearestEven), false) => Unary::F32FromU32,
        (ScalarType::F64, ScalarType::S32, Some(NearestEven), false) => Unary::F64FromS32,
        (ScalarType::F64, ScalarType::U32, Some(NearestEven), false) => Unary::F64FromU32,
        (ScalarType::F64, ScalarType::F32, None, false) => Unary::F64FromF32,
        (ScalarType::F32, ScalarType::F64, Some(NearestEven), false) => Unary::F32FromF64,
        (ScalarType::S32, ScalarType::F32, Some(IntegerZero), flush) => Unary::S32FromF32 { flush },
        (ScalarType::U32, ScalarType::F32, Some(IntegerZero), flush) => Unary::U32FromF32 { flush },
        (ScalarType::F32, ScalarType::F16, None, false) => Unary::F32FromF16,
        (ScalarType::F16, ScalarType::F32, Some(NearestEven), false) => Unary::F16FromF32,
        (ScalarType::F32, ScalarType::Bf16, None, false) => Unary::F32FromBf16,
        (ScalarType::Bf16, ScalarType::F32, Some(NearestEven), false) => Unary::Bf16FromF32,
        _ => return None,
    })
}

const NAN32: u32 = 0x7fff_ffff;
const NAN64: u64 = 0xfff8_0000_0000_0000;
const QUIET64: u64 = 0x0008_0000_0000_0000;

#[inline(always)]
fn flush32(bits: u32, flush: bool) -> u32 {
    if flush && bits & 0x7f80_0000 == 0 {
        bits & 0x8000_0000
    } else {
        bits
    }
}

#[inline(always)]
fn float(value: u64, flush: bool) -> f32 {
    f32::from_bits(flush32(value as u32, flush))
}

#[inline(always)]
fn result32(value: f32, flush: bool) -> u64 {
    let bits = if value.is_nan() {
        NAN32
    } else {
        value.to_bits()
    };
    flush32(bits, flush).into()
}

#[inline(always)]
fn double(value: u64) -> f64 {
    f64::from_bits(value)
}

#[inline(always)]
fn result64(a: u64, b: u64, value: f64) -> u64 {
    if double(a).is_nan() {
        a | QUIET64
    } else if double(b).is_nan() {
        b | QUIET64
    } else if value.is_nan() {
        NAN64
    } else {
        value.to_bits()
    }
}

#[inline(always)]
const fn mask(bits: u32) -> u64 {
    if bits >= 64 {
        u64::MAX
    } else {
        (1 << bits) - 1
    }
}

#[inline(always)]
const fn signed(value: u64, bits: u32) -> i64 {
    ((value << (64 - bits)) as i64) >> (64 - bits)
}

/// `a · b + c` rounded once. The product of two singles is exact in a double; the sum is rounded to odd, so that the
/// final rounding sees what was lost (Boldo and Melquiond).
#[inline(always)]
fn fused32(a: f32, b: f32, c: f32) -> f32 {
    let product = f64::from(a) * f64::from(b);
    let addend = f64::from(c);
    let sum = product + addend;
    let virtual_addend = sum - product;
    let error = (product - (sum - virtual_addend)) + (addend - virtual_addend);
    let bits = sum.to_bits();
    let inexact = error != 0.0 && sum.is_finite() && bits & 1 == 0;
    let up = (error > 0.0) == (sum > 0.0);
    let odd = if up {
        bits.wrapping_add(1)
    } else {
        bits.wrapping_sub(1)
    };
    f64::from_bits(if inexact { odd } else { bits }) as f32
}

#[inline(always)]
fn extremum32(a: u64, b: u64, flush: bool, maximum: bool) -> u64 {
    let (a, b) = (flush32(a as u32, flush), flush32(b as u32, flush));
    let key = |bits: u32| {
        if bits >> 31 != 0 {
            !(bits as i32) ^ i32::MIN
        } else {
            bits as i32
        }
    };
    let nan = |bits: u32| bits & 0x7fff_ffff > 0x7f80_0000;
    let chosen = if nan(a) && nan(b) {
        NAN32
    } else if nan(a) {
        b
    } else if nan(b) {
        a
    } else if (maximum && key(b) > key(a)) || (!maximum && key(b) < key(a)) {
        b
    } else {
        a
    };
    chosen.into()
}

pub(crate) fn half_to_single(bits: u16) -> u32 {
    let sign = u32::from(bits >> 15) << 31;
    let exponent = u32::from(bits >> 10) & 31;
    let mantissa = u32::from(bits) & 0x3ff;
    match exponent {
        31 if mantissa != 0 => NAN32,
        31 => sign | 0x7f80_0000,
        0 => sign | (mantissa as f32 * f32::from_bits(0x3380_0000)).to_bits(),
        _ => sign | (exponent + 112) << 23 | mantissa << 13,
    }
}

fn single_to_half(bits: u32) -> u16 {
    let sign = (bits >> 16 & 0x8000) as u16;
    let magnitude = bits & 0x7fff_ffff;
    if magnitude > 0x7f80_0000 {
        return 0x7fff;
    }
    if magnitude >= 0x4780_0000 {
        return sign | 0x7c00;
    }
    if magnitude < 0x3880_0000 {
        // Subnormal: adding a constant lets the host round at the right place.
        let rounded = f32::from_bits(magnitude) + 0.5;
        return sign | (rounded.to_bits() - 0x3f00_0000) as u16;
    }
    let rounded = magnitude + 0xfff + (magnitude >> 13 & 1);
    sign | ((rounded >> 13) - (112 << 10)) as u16
}

fn function(opcode: Function, a: f64) -> f64 {
    match opcode {
        Function::Reciprocal => 1.0 / a,
        Function::SquareRoot => a.sqrt(),
        Function::ReciprocalSquareRoot => 1.0 / a.sqrt(),
        Function::Sine => a.sin(),
        Function::Cosine => a.cos(),
        Function::Logarithm => a.log2(),
        Function::Exponential => a.exp2(),
        Function::HyperbolicTangent => a.tanh(),
    }
}

#[inline(always)]
fn map1(a: &Lanes, f: impl Fn(u64) -> u64) -> Lanes {
    let mut out = [0; 32];
    for lane in 0..32 {
        out[lane] = f(a[lane]);
    }
    out
}

#[inline(always)]
fn map2(a: &Lanes, b: &Lanes, f: impl Fn(u64, u64) -> u64) -> Lanes {
    let mut out = [0; 32];
    for lane in 0..32 {
        out[lane] = f(a[lane], b[lane]);
    }
    out
}

#[inline(always)]
fn map3(a: &Lanes, b: &Lanes, c: &Lanes, f: impl Fn(u64, u64, u64) -> u64) -> Lanes {
    let mut out = [0; 32];
    for lane in 0..32 {
        out[lane] = f(a[lane], b[lane], c[lane]);
    }
    out
}

impl Unary {
    #[inline]
    pub(crate) fn apply(self, a: &Lanes) -> Lanes {
        match self {
            Unary::Not(bits) => map1(a, |a| !a & mask(bits)),
            Unary::Negate(bits) => map1(a, |a| a.wrapping_neg() & mask(bits)),
            Unary::Absolute(bits) => {
                map1(a, |a| signed(a, bits).wrapping_abs() as u64 & mask(bits))
            }
            Unary::Convert {
                from,
                from_signed,
                to,
                to_signed,
                register,
            } => map1(a, |a| {
                let value = if from_signed {
                    signed(a, from) as u64
                } else {
                    a & mask(from)
                };
                let value = if to_signed {
                    signed(value & mask(to), to) as u64
                } else {
                    value & mask(to)
                };
                value & mask(register)
            }),
            Unary::PopulationCount => map1(a, |a| a.count_ones().into()),
            Unary::LeadingZeros(bits) => map1(a, |a| (a.leading_zeros() - (64 - bits)).into()),
            Unary::Reverse32 => map1(a, |a| (a as u32).reverse_bits().into()),
            Unary::NegateF32 { flush } => map1(a, |a| result32(-float(a, flush), flush)),
            Unary::AbsoluteF32 { flush } => map1(a, |a| result32(float(a, flush).abs(), flush)),
            Unary::NegateF64 => map1(a, |a| {
                if double(a).is_nan() {
                    a | QUIET64
                } else {
                    a ^ 1 << 63
                }
            }),
            Unary::AbsoluteF64 => map1(a, |a| {
                if double(a).is_nan() {
                    a | QUIET64
                } else {
                    a & !(1 << 63)
                }
            }),
            Unary::SquareRootF32 { flush } => map1(a, |a| result32(float(a, flush).sqrt(), flush)),
            Unary::ReciprocalF32 { flush } => map1(a, |a| result32(1.0 / float(a, flush), flush)),
            Unary::Function { opcode, flush } => map1(a, |a| {
                result32(function(opcode, float(a, flush).into()) as f32, flush)
            }),
            Unary::F32FromS32 => map1(a, |a| (a as i32 as f32).to_bits().into()),
            Unary::F32FromU32 => map1(a, |a| (a as u32 as f32).to_bits().into()),
            Unary::F64FromS32 => map1(a, |a| f64::from(a as i32).to_bits()),
            Unary::F64FromU32 => map1(a, |a| f64::from(a as u32).to_bits()),
            Unary::F64FromF32 => map1(a, |a| {
                let bits = a as u32;
                if f32::from_bits(bits).is_nan() {
                    u64::from(bits >> 31) << 63 | 0x7ff8 << 48 | u64::from(bits & 0x7f_ffff) << 29
                } else {
                    f64::from(f32::from_bits(bits)).to_bits()
                }
            }),
            Unary::F32FromF64 => map1(a, |a| {
                if double(a).is_nan() {
                    (a >> 63) << 31 | 0x7fc0_0000 | (a >> 29 & 0x7f_ffff)
                } else {
                    (double(a) as f32).to_bits().into()
                }
            }),
            Unary::S32FromF32 { flush } => map1(a, |a| (float(a, flush) as i32 as u32).into()),
            Unary::U32FromF32 { flush } => map1(a, |a| (float(a, flush) as u32).into()),
            Unary::F32FromF16 => map1(a, |a| half_to_single(a as u16).into()),
            Unary::F16FromF32 => map1(a, |a| single_to_half(a as u32).into()),
            Unary::F32FromBf16 => map1(a, |a| (a & 0xffff) << 16),
            Unary::Bf16FromF32 => map1(a, |a| {
                let bits = a as u32;
                if bits & 0x7fff_ffff > 0x7f80_0000 {
                    0x7fff
                } else {
                    (u64::from(bits) + 0x7fff + u64::from(bits >> 16 & 1)) >> 16
                }
            }),
        }
    }
}

impl Binary {
    #[inline]
    pub(crate) fn apply(self, a: &Lanes, b: &Lanes) -> Lanes {
        use Binary::*;
        match self {
            Add16 => map2(a, b, |a, b| a.wrapping_add(b) & 0xffff),
            Add32 => map2(a, b, |a, b| (a as u32).wrapping_add(b as u32).into()),
            Add64 => map2(a, b, u64::wrapping_add),
            Subtract16 => map2(a, b, |a, b| a.wrapping_sub(b) & 0xffff),
            Subtract32 => map2(a, b, |a, b| (a as u32).wrapping_sub(b as u32).into()),
            Subtract64 => map2(a, b, u64::wrapping_sub),
            MultiplyLow16 => map2(a, b, |a, b| a.wrapping_mul(b) & 0xffff),
            MultiplyLow32 => map2(a, b, |a, b| (a as u32).wrapping_mul(b as u32).into()),
            MultiplyLow64 => map2(a, b, u64::wrapping_mul),
            MultiplyHighU32 => map2(a, b, |a, b| (a & 0xffff_ffff) * (b & 0xffff_ffff) >> 32),
            MultiplyHighS32 => map2(a, b, |a, b| {
                ((i64::from(a as i32) * i64::from(b as i32)) >> 32) as u32 as u64
            }),
            MultiplyHighU64 => map2(a, b, |a, b| (u128::from(a) * u128::from(b) >> 64) as u64),
            MultiplyHighS64 => map2(a, b, |a, b| {
                ((i128::from(a as i64) * i128::from(b as i64)) >> 64) as u64
            }),
            MultiplyWideU16 => map2(a, b, |a, b| u64::from(a as u16) * u64::from(b as u16)),
            MultiplyWideS16 => map2(a, b, |a, b| {
                (i32::from(a as i16) * i32::from(b as i16)) as u32 as u64
            }),
            MultiplyWideU32 => map2(a, b, |a, b| u64::from(a as u32) * u64::from(b as u32)),
            MultiplyWideS32 => map2(a, b, |a, b| {
                (i64::from(a as i32) * i64::from(b as i32)) as u64
            }),
            And => map2(a, b, |a, b| a & b),
            Or => map2(a, b, |a, b| a | b),
            Xor => map2(a, b, |a, b| a ^ b),
            ShiftLeft(bits) => map2(a, b, |a, b| {
                let count = b as u32;
                if count < bits {
                    a << (count & 63) & mask(bits)
                } else {
                    0
                }
            }),
            ShiftRightU(bits) => map2(a, b, |a, b| {
                let count = b as u32;
                if count < bits { a >> (count & 63) } else { 0 }
            }),
            ShiftRightS(bits) => map2(a, b, |a, b| {
                let count = (b as u32).min(bits - 1);
                (signed(a, bits) >> count) as u64 & mask(bits)
            }),
            MinimumU => map2(a, b, u64::min),
            MaximumU => map2(a, b, u64::max),
            MinimumS(bits) => map2(a, b, |a, b| {
                if signed(b, bits) < signed(a, bits) {
                    b
                } else {
                    a
                }
            }),
            MaximumS(bits) => map2(a, b, |a, b| {
                if signed(b, bits) > signed(a, bits) {
                    b
                } else {
                    a
                }
            }),
            DivideU(bits) => map2(a, b, |a, b| a.checked_div(b).unwrap_or(mask(bits))),
            RemainderU(bits) => map2(a, b, |a, b| a.checked_rem(b).unwrap_or(mask(bits))),
            DivideS(bits) => map2(a, b, |a, b| {
                if b == 0 {
                    mask(bits)
                } else {
                    signed(a, bits).wrapping_div(signed(b, bits)) as u64 & mask(bits)
                }
            }),
            RemainderS(bits) => map2(a, b, |a, b| {
                if b == 0 {
                    mask(bits)
                } else {
                    signed(a, bits).wrapping_rem(signed(b, bits)) as u64 & mask(bits)
                }
            }),
            AddF32 { flush: false } => map2(a, b, |a, b| {
                result32(float(a, false) + float(b, false), false)
            }),
            AddF32 { flush: true } => {
                map2(a, b, |a, b| result32(float(a, true) + float(b, true), true))
            }
            SubtractF32 { flush: false } => map2(a, b, |a, b| {
                result32(float(a, false) - float(b, false), false)
            }),
            SubtractF32 { flush: true } => {
                map2(a, b, |a, b| result32(float(a, true) - float(b, true), true))
            }
            MultiplyF32 { flush: false } => map2(a, b, |a, b| {
                result32(float(a, false) * float(b, false), false)
            }),
            MultiplyF32 { flush: true } => {
                map2(a, b, |a, b| result32(float(a, true) * float(b, true), true))
            }
            DivideF32 { flush } => map2(a, b, |a, b| {
                result32(float(a, flush) / float(b, flush), flush)
            }),
            DivideApproximateF32 { flush } => map2(a, b, |a, b| {
                result32(
                    (f64::from(float(a, flush)) / f64::from(float(b, flush))) as f32,
                    flush,
                )
            }),
            MinimumF32 { flush } => map2(a, b, |a, b| extremum32(a, b, flush, false)),
            MaximumF32 { flush } => map2(a, b, |a, b| extremum32(a, b, flush, true)),
            AddF64 => map2(a, b, |a, b| result64(a, b, double(a) + double(b))),
            SubtractF64 => map2(a, b, |a, b| result64(a, b, double(a) - double(b))),
            MultiplyF64 => map2(a, b, |a, b| result64(a, b, double(a) * double(b))),
            DivideF64 => map2(a, b, |a, b| result64(a, b, double(a) / double(b))),
        }
    }
}

impl Ternary {
    #[inline]
    pub(crate) fn apply(self, a: &Lanes, b: &Lanes, c: &Lanes) -> Lanes {
        use Ternary::*;
        match self {
            MultiplyAddLow16 => map3(a, b, c, |a, b, c| {
                a.wrapping_mul(b).wrapping_add(c) & 0xffff
            }),
            MultiplyAddLow32 => map3(a, b, c, |a, b, c| {
                (a as u32)
                    .wrapping_mul(b as u32)
                    .wrapping_add(c as u32)
                    .into()
            }),
            MultiplyAddLow64 => map3(a, b, c, |a, b, c| a.wrapping_mul(b).wrapping_add(c)),
            MultiplyAddWideU32 => map3(a, b, c, |a, b, c| {
                (u64::from(a as u32) * u64::from(b as u32)).wrapping_add(c)
            }),
            MultiplyAddWideS32 => map3(a, b, c, |a, b, c| {
                ((i64::from(a as i32) * i64::from(b as i32)) as u64).wrapping_add(c)
            }),
            MultiplyAddWideU16 => map3(a, b, c, |a, b, c| {
                (u32::from(a as u16) * u32::from(b as u16))
                    .wrapping_add(c as u32)
                    .into()
            }),
            MultiplyAddWideS16 => map3(a, b, c, |a, b, c| {
                ((i32::from(a as i16) * i32::from(b as i16)) as u32)
                    .wrapping_add(c as u32)
                    .into()
            }),
            FusedF32 { flush: false } => map3(a, b, c, |a, b, c| {
                result32(
                    fused32(float(a, false), float(b, false), float(c, false)),
                    false,
                )
            }),
            FusedF32 { flush: true } => map3(a, b, c, |a, b, c| {
                result32(
                    fused32(float(a, true), float(b, true), float(c, true)),
                    true,
                )
            }),
            FusedF64 => map3(a, b, c, |a, b, c| {
                let value = double(a).mul_add(double(b), double(c));
                if double(c).is_nan() {
                    c | QUIET64
                } else if double(b).is_nan() {
                    b | QUIET64
                } else if double(a).is_nan() {
                    a | QUIET64
                } else if value.is_nan() {
                    NAN64
                } else {
                    value.to_bits()
                }
            }),
            FunnelLeft { wrap } => map3(a, b, c, |a, b, c| {
                let count = if wrap { c & 31 } else { c.min(32) };
                ((b << 32 | a) << count >> 32) & 0xffff_ffff
            }),
            FunnelRight { wrap } => map3(a, b, c, |a, b, c| {
                let count = if wrap { c & 31 } else { c.min(32) };
                (b << 32 | a) >> count & 0xffff_ffff
            }),
            Permute => map3(a, b, c, |a, b, c| {
                let source = b << 32 | a;
                let mut result = 0;
                for index in 0..4 {
                    let selector = c >> (4 * index);
                    let byte = source >> (8 * (selector & 7)) & 0xff;
                    let replicated = if byte & 0x80 != 0 { 0xff } else { 0 };
                    result |= if selector & 8 != 0 { replicated } else { byte } << (8 * index);
                }
                result
            }),
            ExtractU32 => map3(a, b, c, |a, b, c| {
                let (position, length) = (b & 0xff, c & 0xff);
                if position >= 32 {
                    0
                } else {
                    (a >> position) & mask((length as u32).min(32))
                }
            }),
            ExtractS32 => map3(a, b, c, |a, b, c| {
                let (position, length) = ((b & 0xff) as u32, (c & 0xff) as u32);
                if length == 0 {
                    return 0;
                }
                let value = i64::from(a as u32 as i32);
                let top = (position + length - 1).min(31);
                let field = (value as u64) << (63 - top);
                let kept = top + 1 - position.min(top + 1);
                if kept == 0 {
                    ((field as i64) >> 63) as u32 as u64
                } else {
                    ((field as i64) >> (64 - kept)) as u32 as u64
                }
            }),
        }
    }
}

#[inline(always)]
fn collect(a: &Lanes, b: &Lanes, f: impl Fn(u64, u64) -> bool) -> u32 {
    let mut mask = 0;
    for lane in 0..32 {
        mask |= u32::from(f(a[lane], b[lane])) << lane;
    }
    mask
}

impl Comparator {
    /// The lanes in which the comparison holds.
    #[inline]
    pub(crate) fn apply(self, a: &Lanes, b: &Lanes) -> u32 {
        use Comparison::*;
        macro_rules! compare {
            ($read:expr) => {{
                let read = $read;
                match self.comparison {
                    Equal => collect(a, b, |a, b| read(a) == read(b)),
                    NotEqual => collect(a, b, |a, b| read(a) != read(b)),
                    Less | Lower => collect(a, b, |a, b| read(a) < read(b)),
                    LessEqual | LowerSame => collect(a, b, |a, b| read(a) <= read(b)),
                    Greater | Higher => collect(a, b, |a, b| read(a) > read(b)),
                    GreaterEqual | HigherSame => collect(a, b, |a, b| read(a) >= read(b)),
                    _ => 0,
                }
            }};
        }
        macro_rules! compare_floats {
            ($read:expr) => {{
                let read = $read;
                match self.comparison {
                    NotEqual => collect(a, b, |a, b| {
                        let (a, b) = (read(a), read(b));
                        a < b || a > b
                    }),
                    EqualUnordered => collect(a, b, |a, b| {
                        let (a, b) = (read(a), read(b));
                        !(a < b || a > b)
                    }),
                    NotEqualUnordered => collect(a, b, |a, b| read(a) != read(b)),
                    LessUnordered => collect(a, b, |a, b| !(read(a) >= read(b))),
                    LessEqualUnordered => collect(a, b, |a, b| !(read(a) > read(b))),
                    GreaterUnordered => collect(a, b, |a, b| !(read(a) <= read(b))),
                    GreaterEqualUnordered => collect(a, b, |a, b| !(read(a) < read(b))),
                    Number => collect(a, b, |a, b| !read(a).is_nan() && !read(b).is_nan()),
                    NotANumber => collect(a, b, |a, b| read(a).is_nan() || read(b).is_nan()),
                    _ => compare!(read),
                }
            }};
        }
        match self.kind {
            ComparedAs::Unsigned => compare!(|value: u64| value),
            ComparedAs::Signed(32) => compare!(|value: u64| value as i32),
            ComparedAs::Signed(64) => compare!(|value: u64| value as i64),
            ComparedAs::Signed(bits) => compare!(|value: u64| signed(value, bits)),
            ComparedAs::F32 { flush } => compare_floats!(|value: u64| float(value, flush)),
            ComparedAs::F64 => compare_floats!(double),
        }
    }
}

/// `lop3`: a truth table over three inputs.
pub(crate) fn lop3(a: &Lanes, b: &Lanes, c: &Lanes, table: u8) -> Lanes {
    map3(a, b, c, |a, b, c| {
        let mut result = 0;
        for row in 0..8 {
            let pick = |value: u64, bit: u8| if row & bit != 0 { value } else { !value };
            if table >> row & 1 != 0 {
                result |= pick(a, 4) & pick(b, 2) & pick(c, 1);
            }
        }
        result & 0xffff_ffff
    })
}
