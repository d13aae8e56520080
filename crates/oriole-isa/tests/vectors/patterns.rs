//! What to record, as patterns of mnemonics, and which values are worth trying.

use super::Random;
use oriole_isa::ScalarType;

/// Mnemonic patterns with their operand counts. ptxas drops the combinations that do not exist.
pub const VALUES: &[(&str, usize)] = &[
    // Integer arithmetic.
    ("<add|sub>.<u16|s16|u32|s32|u64|s64|u16x2|s16x2|sat.s32>", 3),
    ("mul.<lo|hi|wide>.<u16|s16|u32|s32|u64|s64>", 3),
    ("mad.<lo|hi|wide>.<u16|s16|u32|s32|u64|s64>", 4),
    ("mad.hi.sat.s32", 4),
    ("mul24.<lo|hi>.<u32|s32>", 3),
    ("mad24.<lo|hi>.<u32|s32>", 4),
    ("mad24.hi.sat.s32", 4),
    ("sad.<u16|s16|u32|s32|u64|s64>", 4),
    ("<div|rem>.<u16|s16|u32|s32|u64|s64>", 3),
    ("<abs|neg>.<s16|s32|s64>", 2),
    ("<min|max>.<u16|s16|u32|s32|u64|s64|u16x2|s16x2>", 3),
    ("<min|max>.relu.<s32|s16x2>", 3),
    ("<popc|clz>.<b32|b64>", 2),
    ("bfind<|.shiftamt>.<u32|s32|u64|s64>", 2),
    ("fns.b32", 4),
    ("brev.<b32|b64>", 2),
    ("bfe.<u32|s32|u64|s64>", 4),
    ("bfi.<b32|b64>", 5),
    ("szext.<clamp|wrap>.<u32|s32>", 3),
    ("bmsk.<clamp|wrap>.b32", 3),
    ("dp4a.<u32|s32>.<u32|s32>", 4),
    ("dp2a.<lo|hi>.<u32|s32>.<u32|s32>", 4),
    ("<add|sub>.cc.<u32|s32|u64|s64>", 3),
    ("<addc|subc><|.cc>.<u32|s32|u64|s64>", 3),
    ("mad.<lo|hi>.cc.<u32|s32|u64|s64>", 4),
    ("madc.<lo|hi><|.cc>.<u32|s32|u64|s64>", 4),
    // Logic.
    ("<and|or|xor>.<pred|b16|b32|b64>", 3),
    ("not.<pred|b16|b32|b64>", 2),
    ("cnot.<b16|b32|b64>", 2),
    ("lop3.b32", 5),
    ("lop3.<or|and>.b32", 6),
    ("shf.<l|r>.<clamp|wrap>.b32", 4),
    ("shl.<b16|b32|b64>", 3),
    ("shr.<b16|b32|b64|u16|u32|u64|s16|s32|s64>", 3),
    ("prmt.b32<|.f4e|.b4e|.rc8|.ecl|.ecr|.rc16>", 4),
    ("mov.<b16|b32|b64|f32|f64|pred>", 2),
    // Floating point.
    ("<add|sub|mul><|.rn|.rz|.rm|.rp><|.ftz><|.sat>.f32", 3),
    ("<add|sub|mul><|.rn|.rz|.rm|.rp>.f64", 3),
    ("<fma|mad>.<rn|rz|rm|rp><|.ftz><|.sat>.f32", 4),
    ("<fma|mad>.<rn|rz|rm|rp>.f64", 4),
    ("<add|sub|mul><|.rn><|.ftz><|.sat>.<f16|f16x2>", 3),
    ("<add|sub|mul><|.rn>.<bf16|bf16x2>", 3),
    ("fma.rn<|.ftz><|.sat|.relu>.<f16|f16x2>", 4),
    ("fma.rn<|.relu>.<bf16|bf16x2>", 4),
    ("div.<rn|rz|rm|rp><|.ftz>.f32", 3),
    ("div.<rn|rz|rm|rp>.f64", 3),
    ("<rcp|sqrt>.<rn|rz|rm|rp><|.ftz>.f32", 2),
    ("<rcp|sqrt>.<rn|rz|rm|rp>.f64", 2),
    ("<abs|neg><|.ftz>.<f32|f16|f16x2>", 2),
    ("<abs|neg>.<f64|bf16|bf16x2>", 2),
    ("<min|max><|.ftz><|.NaN><|.xorsign.abs>.<f32|f16|f16x2>", 3),
    ("<min|max><|.NaN><|.xorsign.abs>.<bf16|bf16x2>", 3),
    ("<min|max>.f64", 3),
    ("copysign.<f32|f64>", 3),
    (
        "testp.<finite|infinite|number|notanumber|normal|subnormal>.<f32|f64>",
        2,
    ),
    // Approximations, checked within their error.
    ("div.<approx|full><|.ftz>.f32", 3),
    ("<rcp|sqrt|rsqrt|sin|cos|lg2|ex2>.approx<|.ftz>.f32", 2),
    ("tanh.approx.<f32|f16|f16x2|bf16|bf16x2>", 2),
    ("ex2.approx.<f16|f16x2|ftz.bf16|ftz.bf16x2>", 2),
    // Comparison and selection.
    ("setp.<eq|ne|lt|le|gt|ge>.<s16|u16|s32|u32|s64|u64>", 3),
    ("setp.<eq|ne>.<b16|b32|b64>", 3),
    ("setp.<lo|ls|hi|hs>.<u16|u32|u64>", 3),
    (
        "setp.<eq|ne|lt|le|gt|ge|equ|neu|ltu|leu|gtu|geu|num|nan><|.ftz>.<f32|f16|f16x2>",
        3,
    ),
    (
        "setp.<eq|ne|lt|le|gt|ge|equ|neu|ltu|leu|gtu|geu|num|nan>.<f64|bf16|bf16x2>",
        3,
    ),
    (
        "setp.<lt|ne>.<and|or|xor>.<s32|u64|f32|f64|f16|f16x2|bf16x2>",
        4,
    ),
    (
        "set.<eq|lt|ge>.<u32|s32|f32>.<u16|s16|u32|s32|u64|s64|f64>",
        3,
    ),
    ("set.<eq|lt|geu|nan><|.ftz>.<u32|s32|f32>.f32", 3),
    ("set.<eq|ltu><|.ftz>.<f16|u16|s16|u32|s32>.f16", 3),
    ("set.<eq|ltu>.<bf16|u16|s16|u32|s32>.bf16", 3),
    ("set.<lt|neu><|.ftz>.f16x2.f16x2", 3),
    ("set.<lt|neu>.bf16x2.bf16x2", 3),
    ("set.lt.<and|or|xor>.<u32|f32>.<s32|f32>", 4),
    ("selp.<b16|b32|b64|f32|f64>", 4),
    ("slct.<b16|u32|b64|f32|f64>.s32", 4),
    ("slct<|.ftz>.<b16|u32|b64|f32|f64>.f32", 4),
    // Conversion.
    (
        "cvt<|.sat>.<u8|s8|u16|s16|u32|s32|u64|s64>.<u8|s8|u16|s16|u32|s32|u64|s64>",
        2,
    ),
    (
        "cvt.<rni|rzi|rmi|rpi><|.ftz><|.sat>.<u8|s8|u16|s16|u32|s32|u64|s64>.f32",
        2,
    ),
    (
        "cvt.<rni|rzi|rmi|rpi>.<u8|s8|u16|s16|u32|s32|u64|s64>.<f16|bf16|f64>",
        2,
    ),
    (
        "cvt.<rn|rz|rm|rp><|.sat>.<f32|f64|f16>.<u8|s8|u16|s16|u32|s32|u64|s64>",
        2,
    ),
    ("cvt.<rn|rz|rm|rp>.bf16.<u8|s8|u16|s16|u32|s32|u64|s64>", 2),
    ("cvt.<rn|rz|rm|rp><|.ftz><|.sat>.f32.f64", 2),
    ("cvt.<rn|rz|rm|rp><|.ftz><|.sat>.f16.f32", 2),
    ("cvt.<rn|rz|rm|rp><|.sat>.f16.<f64|bf16>", 2),
    ("cvt.<rn|rz|rm|rp><|.sat>.bf16.<f64|f32|f16>", 2),
    ("cvt<|.ftz><|.sat>.<f64|f32>.f32", 2),
    ("cvt<|.sat>.f64.<f16|bf16|f64>", 2),
    ("cvt<|.ftz><|.sat>.f32.<f16|bf16>", 2),
    ("cvt<|.sat>.f16.f16", 2),
    ("cvt.<rni|rzi|rmi|rpi><|.ftz><|.sat>.f32.f32", 2),
    (
        "cvt.<rni|rzi|rmi|rpi><|.sat>.<f64.f64|f16.f16|bf16.bf16>",
        2,
    ),
    ("cvt.<rn|rz><|.relu><|.satfinite>.<f16|bf16>.f32", 2),
    ("cvt.<rn|rz><|.relu><|.satfinite>.<f16x2|bf16x2>.f32", 3),
    ("cvt.rna<|.satfinite>.tf32.f32", 2),
    ("cvt.<rn|rz><|.relu>.tf32.f32", 2),
    ("cvt.rn.satfinite<|.relu>.<e4m3x2|e5m2x2>.f32", 3),
    ("cvt.rn.satfinite<|.relu>.<e4m3x2|e5m2x2>.f16x2", 2),
    ("cvt.rn<|.relu>.f16x2.<e4m3x2|e5m2x2>", 2),
    ("cvt.pack.sat.<u16|s16>.s32", 3),
    ("cvt.pack.sat.<u8|s8|u4|s4|u2|s2>.s32.b32", 4),
];

type Selector = Option<&'static str>;

/// Video mnemonics with the selectors of d, a and b.
pub const VIDEO: &[(&str, Selector, Selector, Selector)] = &[
    (
        "<vadd|vsub|vabsdiff|vmin|vmax>.<u32|s32>.<u32|s32>.<u32|s32><|.sat>",
        None,
        None,
        None,
    ),
    (
        "<vadd|vsub|vabsdiff|vmin|vmax>.<u32|s32>.s32.<u32|s32><|.sat>",
        None,
        Some("b1"),
        Some("h1"),
    ),
    (
        "<vadd|vsub|vabsdiff|vmin|vmax>.<u32|s32>.s32.u32<|.sat>",
        Some("h0"),
        Some("h0"),
        None,
    ),
    (
        "<vadd|vsub|vabsdiff|vmin|vmax>.<u32|s32>.u32.s32<|.sat>",
        Some("b3"),
        None,
        Some("b0"),
    ),
    (
        "<vadd|vsub|vabsdiff|vmin|vmax>.<u32|s32>.s32.s32<|.sat>.<add|min|max>",
        None,
        None,
        None,
    ),
    (
        "<vshl|vshr>.<u32|s32>.<u32|s32>.u32<|.sat>.<clamp|wrap>",
        None,
        None,
        None,
    ),
    (
        "<vshl|vshr>.<u32|s32>.s32.u32<|.sat>.<clamp|wrap>",
        Some("h1"),
        Some("h1"),
        Some("b0"),
    ),
    (
        "<vshl|vshr>.<u32|s32>.s32.u32.<clamp|wrap>.<add|max>",
        None,
        None,
        None,
    ),
    (
        "vset.<u32|s32>.<u32|s32>.<eq|ne|lt|le|gt|ge>",
        None,
        None,
        None,
    ),
    ("vset.<u32|s32>.s32.<lt|ge>", Some("b2"), Some("h1"), None),
    (
        "vset.<u32|s32>.s32.lt.<add|min|max>",
        None,
        Some("b0"),
        None,
    ),
    (
        "vmad.<u32|s32>.<u32|s32>.<u32|s32><|.po><|.sat><|.shr7|.shr15>",
        None,
        Some("h0"),
        Some("b1"),
    ),
    (
        "<vadd2|vsub2|vavrg2|vabsdiff2|vmin2|vmax2>.<u32|s32>.<u32|s32>.<u32|s32><|.sat|.add>",
        None,
        None,
        None,
    ),
    (
        "<vadd2|vsub2|vavrg2|vabsdiff2|vmin2|vmax2>.s32.s32.u32<|.sat|.add>",
        Some("h1"),
        Some("h20"),
        Some("h13"),
    ),
    (
        "vset2.<u32|s32>.<u32|s32>.<eq|lt|ge><|.add>",
        None,
        None,
        None,
    ),
    (
        "<vadd4|vsub4|vavrg4|vabsdiff4|vmin4|vmax4>.<u32|s32>.<u32|s32>.<u32|s32><|.sat|.add>",
        None,
        None,
        None,
    ),
    (
        "<vadd4|vsub4|vavrg4|vabsdiff4|vmin4|vmax4>.s32.u32.s32<|.sat|.add>",
        Some("b31"),
        Some("b7016"),
        Some("b2543"),
    ),
    (
        "vset4.<u32|s32>.<u32|s32>.<ne|gt|le><|.add>",
        None,
        None,
        None,
    ),
];

/// Tables for `lop3`.
pub const LOOKUP_TABLES: &[Option<u32>] = &[
    Some(0x00),
    Some(0x1b),
    Some(0x2d),
    Some(0x3c),
    Some(0x57),
    Some(0x80),
    Some(0x96),
    Some(0xca),
    Some(0xe8),
    Some(0xf8),
    Some(0xfe),
    Some(0xff),
];

const INTEGERS: [u64; 40] = [
    0,
    1,
    2,
    3,
    5,
    7,
    8,
    10,
    15,
    16,
    17,
    23,
    24,
    31,
    32,
    33,
    40,
    47,
    48,
    63,
    64,
    65,
    100,
    127,
    128,
    129,
    200,
    255,
    256,
    257,
    0x7fff,
    0x8000,
    0xffff,
    0x1_0000,
    0x00ff_00ff_00ff_00ff,
    0x5555_5555_5555_5555,
    0xaaaa_aaaa_aaaa_aaaa,
    0x0123_4567_89ab_cdef,
    0x8000_0000_8000_0000,
    0x7fff_ffff,
];

/// Numbers near the limits of integer and small floating-point formats.
const NUMBERS: [f64; 48] = [
    1.0,
    1.5,
    2.0,
    2.5,
    3.0,
    3.5,
    0.5,
    0.25,
    0.75,
    0.1,
    1.0e-3,
    10.0,
    100.0,
    6.0,
    7.0,
    7.5,
    28.0,
    30.0,
    127.0,
    127.5,
    128.0,
    128.5,
    255.0,
    255.5,
    256.0,
    240.0,
    448.0,
    464.0,
    465.0,
    480.0,
    32767.0,
    32767.5,
    32768.0,
    65504.0,
    65519.0,
    65520.0,
    65535.5,
    65536.0,
    57344.0,
    61440.0,
    2147483647.0,
    2147483648.0,
    4294967295.0,
    4294967296.0,
    9223372036854775807.0,
    18446744073709551615.0,
    1.0e-7,
    5.9e-8,
];

/// The values of a type most likely to be special.
pub fn edges(scalar_type: ScalarType) -> Vec<u64> {
    if scalar_type == ScalarType::Pred {
        return vec![0, 1];
    }
    let lane = scalar_type.lane();
    let single = match float_format(lane) {
        Some((exponent, mantissa)) => float_edges(exponent, mantissa),
        None => integer_edges(lane.bits()),
    };
    match (scalar_type.lanes(), lane.bits()) {
        (1, _) => single,
        // Different edges in the two lanes.
        (_, width) => {
            let count = single.len();
            (0..count)
                .map(|index| single[(index * 7 + 3) % count] << width | single[index])
                .collect()
        }
    }
}

fn integer_edges(width: u32) -> Vec<u64> {
    let mask = if width == 64 {
        u64::MAX
    } else {
        (1 << width) - 1
    };
    let top = 1u64 << (width - 1);
    let mut values: Vec<u64> = INTEGERS.iter().map(|value| value & mask).collect();
    values.extend(
        [
            top,
            top - 1,
            top + 1,
            mask,
            mask - 1,
            mask - 6,
            mask - 31,
            mask - 255,
        ]
        .map(|value| value & mask),
    );
    values
}

/// Exponent and mantissa widths of floating-point lanes. Bytes of `.e4m3` and `.e5m2` are tried as integers.
fn float_format(scalar_type: ScalarType) -> Option<(u32, u32)> {
    Some(match scalar_type {
        ScalarType::F16 => (5, 10),
        ScalarType::Bf16 => (8, 7),
        ScalarType::F32 => (8, 23),
        ScalarType::F64 => (11, 52),
        _ => return None,
    })
}

fn float_edges(exponent: u32, mantissa: u32) -> Vec<u64> {
    let sign = 1u64 << (exponent + mantissa);
    let infinity = ((1u64 << exponent) - 1) << mantissa;
    let normal = 1u64 << mantissa;
    let quiet = 1u64 << (mantissa - 1);
    let one = ((1u64 << (exponent - 1)) - 1) << mantissa;
    let mut values = vec![
        0,
        1,
        2,
        quiet,
        normal - 1,
        normal,
        normal + 1,
        one - 1,
        one + 1,
        infinity - 1,
        infinity - 2,
        infinity,
        infinity | quiet,
        infinity | 1,
        infinity | quiet | 0x55,
        infinity | (normal - 1),
        infinity | 0x2a,
    ];
    values.extend(
        NUMBERS
            .iter()
            .map(|&number| truncate_number(number, exponent, mantissa)),
    );
    let negative: Vec<u64> = values.iter().map(|value| value | sign).collect();
    // Interleaved, so that both signs are among the first.
    values
        .into_iter()
        .zip(negative)
        .flat_map(|(positive, negative)| [positive, negative])
        .collect()
}

/// The number in the format, its mantissa cut off; tiny numbers become zero and large ones infinite.
fn truncate_number(number: f64, exponent: u32, mantissa: u32) -> u64 {
    let bits = number.to_bits();
    let bias = (1i64 << (exponent - 1)) - 1;
    let unbiased = (bits >> 52) as i64 - 1023;
    if unbiased > bias {
        ((1 << exponent) - 1) << mantissa
    } else if unbiased < 1 - bias {
        0
    } else {
        ((unbiased + bias) as u64) << mantissa | (bits & ((1 << 52) - 1)) >> (52 - mantissa)
    }
}

/// A random value of a type: any pattern, or one of ordinary size.
pub fn random(random: &mut Random, scalar_type: ScalarType) -> u64 {
    let bits = random.next();
    let choice = random.below(4);
    let Some((exponent, mantissa)) = float_format(scalar_type.lane()) else {
        // Integers of every magnitude.
        return if choice < 2 {
            bits
        } else {
            bits >> random.below(scalar_type.bits() as usize)
        };
    };
    if choice == 0 {
        return bits;
    }
    // Exponents around one, lane by lane.
    let width = 1 + exponent + mantissa;
    let bias = (1u64 << (exponent - 1)) - 1;
    let spread = if choice == 1 { 2 } else { bias.min(14) };
    let mut value = bits;
    for lane in 0..scalar_type.lanes() {
        let field = bias - spread + random.next() % (2 * spread + 1);
        let shift = lane * width + mantissa;
        value = value & !(((1 << exponent) - 1) << shift) | field << shift;
    }
    value
}
