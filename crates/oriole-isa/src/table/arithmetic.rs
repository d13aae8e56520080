//! Integer, extended-precision and floating-point arithmetic.

use super::*;

const ROUNDING: Accepts = Accepts::ROUNDING;
const MUL_MODE: Accepts = Accepts::MUL_MODE;
const APPROXIMATE: Accepts = Accepts::flag(Flag::Approximate);
const PROPAGATE_NAN: Accepts = Accepts::flag(Flag::PropagateNan);
const XOR_SIGN: Accepts = Accepts::flag(Flag::XorSign).and(Accepts::flag(Flag::Absolute));
const MIN_MAX: Accepts = TYPE.and(FTZ).and(RELU).and(PROPAGATE_NAN).and(XOR_SIGN);
const SUM: Accepts = TYPE.and(ROUNDING).and(FTZ).and(SATURATE).and(CARRY);

const D_DOT: Operand = operand(Role::Define, TypeRule::DotProduct);
const U_DOT: Operand = operand(Role::Use, TypeRule::DotProduct);

const UNARY: &[Form] = &[form(&[D, U])];
const BINARY: &[Form] = &[form(&[D, U, U])];
const TERNARY: &[Form] = &[form(&[D, U, U, U])];
const COUNT: &[Form] = &[form(&[D_U32, U])];
/// `d, a, c` where `a` may be of a second, narrower type.
const MIXED_SUM: &[Form] = &[form(&[D, U_MIXED, U])];

pub(super) static ENTRIES: &[Entry] = &[
    // Integer and floating-point arithmetic that shares a mnemonic.
    Entry::new(Opcode::Add, &["add"], SUM, MIXED_SUM),
    Entry::new(Opcode::Sub, &["sub"], SUM, MIXED_SUM),
    Entry::new(
        Opcode::Mul,
        &["mul"],
        TYPE.and(MUL_MODE).and(ROUNDING).and(FTZ).and(SATURATE),
        &[form(&[D_WIDE, U, U])],
    ),
    Entry::new(
        Opcode::Mad,
        &["mad"],
        SUM.and(MUL_MODE),
        &[form(&[D_WIDE, U, U, U_WIDE])],
    ),
    Entry::new(
        Opcode::Div,
        &["div"],
        SUM.and(APPROXIMATE).and(Accepts::flag(Flag::FullRange)),
        BINARY,
    ),
    Entry::new(Opcode::Abs, &["abs"], TYPE.and(FTZ), UNARY),
    Entry::new(Opcode::Neg, &["neg"], TYPE.and(FTZ), UNARY),
    Entry::new(
        Opcode::Min,
        &["min"],
        MIN_MAX,
        &[form(&[D, U, U]), form(&[D, U, U, U])],
    ),
    Entry::new(
        Opcode::Max,
        &["max"],
        MIN_MAX,
        &[form(&[D, U, U]), form(&[D, U, U, U])],
    ),
    // Integer arithmetic.
    Entry::new(Opcode::Mul24, &["mul24"], TYPE.and(MUL_MODE), BINARY),
    Entry::new(
        Opcode::Mad24,
        &["mad24"],
        TYPE.and(MUL_MODE).and(SATURATE),
        TERNARY,
    ),
    Entry::new(Opcode::Sad, &["sad"], TYPE, TERNARY),
    Entry::new(Opcode::Rem, &["rem"], TYPE, BINARY),
    Entry::new(Opcode::Popc, &["popc"], TYPE, COUNT),
    Entry::new(Opcode::Clz, &["clz"], TYPE, COUNT),
    Entry::new(
        Opcode::Bfind,
        &["bfind"],
        TYPE.and(Accepts::flag(Flag::ShiftAmount)),
        COUNT,
    ),
    Entry::new(
        Opcode::Fns,
        &["fns"],
        TYPE,
        &[form(&[D_32, U_32, U_32, fixed_use(ScalarType::S32)])],
    ),
    Entry::new(Opcode::Brev, &["brev"], TYPE, UNARY),
    Entry::new(Opcode::Bfe, &["bfe"], TYPE, &[form(&[D, U, U_U32, U_U32])]),
    Entry::new(
        Opcode::Bfi,
        &["bfi"],
        TYPE,
        &[form(&[D, U, U, U_U32, U_U32])],
    ),
    Entry::new(
        Opcode::Szext,
        &["szext"],
        TYPE.and(Accepts::SHIFT_MODE),
        &[form(&[D, U, U_U32])],
    ),
    Entry::new(
        Opcode::Bmsk,
        &["bmsk"],
        TYPE.and(Accepts::SHIFT_MODE),
        &[form(&[D, U_U32, U_U32])],
    ),
    Entry::new(
        Opcode::Dp4a,
        &["dp4a"],
        TYPE,
        &[form(&[D_DOT, U, U_SECOND, U_DOT])],
    ),
    Entry::new(
        Opcode::Dp2a,
        &["dp2a"],
        TYPE.and(MUL_MODE),
        &[form(&[D_DOT, U, U_SECOND, U_DOT])],
    ),
    // Extended precision.
    Entry::new(Opcode::Addc, &["addc"], TYPE.and(CARRY), BINARY),
    Entry::new(Opcode::Subc, &["subc"], TYPE.and(CARRY), BINARY),
    Entry::new(
        Opcode::Madc,
        &["madc"],
        TYPE.and(CARRY).and(MUL_MODE),
        TERNARY,
    ),
    // Floating point.
    Entry::new(
        Opcode::Testp,
        &["testp"],
        TYPE.and(Accepts::TEST),
        &[form(&[D_PRED, U])],
    ),
    Entry::new(Opcode::Copysign, &["copysign"], TYPE, BINARY),
    Entry::new(
        Opcode::Fma,
        &["fma"],
        SUM.and(RELU).and(Accepts::flag(Flag::OutOfBounds)),
        &[form(&[D, U_MIXED, U_MIXED, U])],
    ),
    Entry::new(
        Opcode::Rcp,
        &["rcp"],
        TYPE.and(ROUNDING).and(FTZ).and(APPROXIMATE),
        UNARY,
    ),
    Entry::new(
        Opcode::Sqrt,
        &["sqrt"],
        TYPE.and(ROUNDING).and(FTZ).and(APPROXIMATE),
        UNARY,
    ),
    Entry::new(
        Opcode::Rsqrt,
        &["rsqrt"],
        TYPE.and(FTZ).and(APPROXIMATE),
        UNARY,
    ),
    Entry::new(Opcode::Sin, &["sin"], TYPE.and(FTZ).and(APPROXIMATE), UNARY),
    Entry::new(Opcode::Cos, &["cos"], TYPE.and(FTZ).and(APPROXIMATE), UNARY),
    Entry::new(Opcode::Lg2, &["lg2"], TYPE.and(FTZ).and(APPROXIMATE), UNARY),
    Entry::new(Opcode::Ex2, &["ex2"], TYPE.and(FTZ).and(APPROXIMATE), UNARY),
    Entry::new(Opcode::Tanh, &["tanh"], TYPE.and(APPROXIMATE), UNARY),
];
