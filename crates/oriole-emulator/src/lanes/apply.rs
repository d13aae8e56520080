//! The loops themselves.
#![allow(
    clippy::double_comparisons,
    clippy::neg_cmp_op_on_partial_ord,
    reason = "comparisons of floating-point numbers say what holds for NaN"
)]

use oriole_isa::Comparison;

use super::{Binary, Comparator, ComparedAs, Function, Ternary, Unary};
use crate::program::Lanes;

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
pub(super) const fn mask(bits: u32) -> u64 {
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

/// Rounds to single precision; what is still tiny after rounding to 24 bits becomes zero. Above the bound it is rounded up
/// to the smallest normal number.
#[inline(always)]
fn flushing32(value: f64) -> u64 {
    const BOUND: f64 = f32::MIN_POSITIVE as f64 * (1.0 - f32::EPSILON as f64 / 4.0);
    let tiny = value.abs() < BOUND;
    result32(
        if tiny {
            (value * 0.0) as f32
        } else {
            value as f32
        },
        true,
    )
}

/// `a · b + c`, to be rounded to single precision once. The product of two singles is exact in a double; the sum is rounded to odd, so that the
/// final rounding sees what was lost (Boldo and Melquiond).
#[inline(always)]
fn fused32(a: f32, b: f32, c: f32) -> f64 {
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
    f64::from_bits(if inexact { odd } else { bits })
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

pub(super) fn single_to_half(bits: u32) -> u16 {
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
            MultiplyHighU32 => map2(a, b, |a, b| ((a & 0xffff_ffff) * (b & 0xffff_ffff)) >> 32),
            MultiplyHighS32 => map2(a, b, |a, b| {
                ((i64::from(a as i32) * i64::from(b as i32)) >> 32) as u32 as u64
            }),
            MultiplyHighU64 => map2(a, b, |a, b| ((u128::from(a) * u128::from(b)) >> 64) as u64),
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
            // Addresses of variables may be wider than what reads them: what counts is in the low bits.
            DivideS(bits) => map2(a, b, |a, b| match signed(b, bits) {
                0 => mask(bits),
                b => signed(a, bits).wrapping_div(b) as u64 & mask(bits),
            }),
            RemainderS(bits) => map2(a, b, |a, b| match signed(b, bits) {
                0 => mask(bits),
                b => signed(a, bits).wrapping_rem(b) as u64 & mask(bits),
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
            MultiplyF32 { flush: true } => map2(a, b, |a, b| {
                // The product of two singles is exact in a double, so that it can be judged before it is rounded.
                flushing32(f64::from(float(a, true)) * f64::from(float(b, true)))
            }),
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

/// A field of a word, extended by its sign.
#[inline(always)]
fn extract_signed(a: u64, b: u64, c: u64) -> u64 {
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
                    fused32(float(a, false), float(b, false), float(c, false)) as f32,
                    false,
                )
            }),
            FusedF32 { flush: true } => map3(a, b, c, |a, b, c| {
                flushing32(fused32(float(a, true), float(b, true), float(c, true)))
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
            ContractedF32 {
                flush,
                negate_product,
                negate_addend,
            } => map3(a, b, c, |a, b, c| {
                let sign = |value: f32, negate: bool| if negate { -value } else { value };
                let product = sign(float(a, flush), negate_product);
                let addend = sign(float(c, flush), negate_addend);
                if flush {
                    flushing32(fused32(product, float(b, true), addend))
                } else {
                    result32(fused32(product, float(b, false), addend) as f32, false)
                }
            }),
            ContractedF64 {
                negate_product,
                negate_addend,
            } => map3(a, b, c, |a, b, c| {
                let flip = |value: u64, negate: bool| value ^ u64::from(negate) << 63;
                let (first, last) = (flip(a, negate_product), flip(c, negate_addend));
                let value = double(first).mul_add(double(b), double(last));
                if value.is_nan() {
                    result64(c, b, double(a) * 0.0 + value)
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
            ExtractS32 => map3(a, b, c, extract_signed),
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
