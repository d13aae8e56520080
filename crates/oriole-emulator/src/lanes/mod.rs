//! The common operations as direct loops over the 32 lanes of a warp.
//!
//! What an instruction computes is defined by `oriole_isa::evaluate`; these are the same functions written so that the
//! compiler turns each into a short vector loop. [`direct`] says which mnemonics have one, and the test at the end compares
//! each with `evaluate` on edges and random inputs. Slots hold values truncated to their type, which every function here
//! may rely on and must keep.

use oriole_isa::{
    Comparison, Direction, Flag, Mnemonic, MulMode, Opcode, Rounding, ScalarType, ShiftMode,
};

mod apply;
#[cfg(test)]
mod tests;

pub(crate) use apply::{half_to_single, lop3};

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
    FusedF32 {
        flush: bool,
    },
    FusedF64,
    /// A product and a sum that were fused, either negated.
    ContractedF32 {
        flush: bool,
        negate_product: bool,
        negate_addend: bool,
    },
    ContractedF64 {
        negate_product: bool,
        negate_addend: bool,
    },
    FunnelLeft {
        wrap: bool,
    },
    FunnelRight {
        wrap: bool,
    },
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
    if mnemonic.opcode() == Opcode::Cvt {
        return conversion(mnemonic, destination_bits).map(Direct::Unary);
    }
    if mnemonic.opcode() == Opcode::Setp {
        return comparator(mnemonic, first).map(Direct::Compare);
    }
    if mnemonic.types().len() > 1 {
        return None;
    }
    use Direct as D;
    let wide = destination_bits == 2 * bits;
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
        _ if destination_bits != bits => return None,
        _ if first.is_float() => return float(mnemonic, first),
        _ => return integer(mnemonic, first),
    })
}

/// The comparison of `setp`.
fn comparator(mnemonic: &Mnemonic, first: ScalarType) -> Option<Comparator> {
    let flush = mnemonic.has(Flag::FlushToZero);
    let bits = first.bits();
    let kind = match first {
        ScalarType::F32 => ComparedAs::F32 { flush },
        ScalarType::F64 => ComparedAs::F64,
        _ if first.is_signed() => ComparedAs::Signed(bits),
        _ if first.is_float() => return None,
        _ => ComparedAs::Unsigned,
    };
    let comparison = mnemonic.modifiers().comparison?;
    let (kind, comparison) = match (kind, comparison) {
        (ComparedAs::Signed(_), Comparison::Lower) => (ComparedAs::Unsigned, Comparison::Less),
        (ComparedAs::Signed(_), Comparison::LowerSame) => {
            (ComparedAs::Unsigned, Comparison::LessEqual)
        }
        (ComparedAs::Signed(_), Comparison::Higher) => (ComparedAs::Unsigned, Comparison::Greater),
        (ComparedAs::Signed(_), Comparison::HigherSame) => {
            (ComparedAs::Unsigned, Comparison::GreaterEqual)
        }
        other => other,
    };
    Some(Comparator { kind, comparison })
}

/// The direct loop of an operation on floating-point numbers.
fn float(mnemonic: &Mnemonic, first: ScalarType) -> Option<Direct> {
    use Direct as D;
    let modifiers = mnemonic.modifiers();
    let flush = mnemonic.has(Flag::FlushToZero);
    let nearest = matches!(modifiers.rounding, None | Some(Rounding::NearestEven));
    let approximate = mnemonic.has(Flag::Approximate) || mnemonic.has(Flag::FullRange);
    Some(match (mnemonic.opcode(), first) {
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
        _ => return None,
    })
}

/// The direct loop of an operation on integers or bits.
fn integer(mnemonic: &Mnemonic, first: ScalarType) -> Option<Direct> {
    use Direct as D;
    let modifiers = mnemonic.modifiers();
    let bits = first.bits();
    let mode = modifiers.mul_mode;
    Some(match (mnemonic.opcode(), first) {
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
