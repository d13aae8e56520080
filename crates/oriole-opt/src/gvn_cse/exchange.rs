//! Operands that may change places: what is written in two ways and computes the same bits.
//!
//! Single and half precision know one NaN, whichever operand it comes from (docs/numerics.md), so sums, products and extrema
//! of them do not depend on the order of two operands. Double precision hands on the NaN of one operand by its place; there
//! the order is free only where one of the two is a constant and no NaN. A comparison is mirrored with its operands.

use crate::algebra::compare::{inverted, mirrored};
use oriole_ir::{FormatData, Function, Instruction, Operand, Use, Value};
use oriole_isa::{Comparison, Flag, Opcode, Role, ScalarType};
use oriole_syntax::literal::Literal;

/// Whether the first two sources of a floating-point operation may be exchanged.
pub(super) fn exchanges_numbers(function: &Function, instruction: Instruction) -> bool {
    let format = function.format(instruction);
    let &[scalar_type] = format.mnemonic.types() else {
        return false;
    };
    let is_fitting = matches!(
        format.mnemonic.opcode(),
        Opcode::Add | Opcode::Mul | Opcode::Fma | Opcode::Mad | Opcode::Min | Opcode::Max
    ) && format.plain
        && !format.opaque
        && format
            .leaves
            .get(1..3)
            .is_some_and(|pair| pair.iter().all(|leaf| leaf.role == Role::Use));
    is_fitting
        && match scalar_type {
            ScalarType::F32
            | ScalarType::F16
            | ScalarType::F16x2
            | ScalarType::Bf16
            | ScalarType::Bf16x2 => true,
            ScalarType::F64 => function.leaves(instruction)[1..3]
                .iter()
                .any(|&operand| is_number(function, operand)),
            _ => false,
        }
}

/// Whether an operand is a constant and no NaN.
fn is_number(function: &Function, operand: Operand) -> bool {
    match operand {
        Operand::Constant(constant) => match function.constants()[constant].literal {
            Some(Literal::Double(bits)) => !f64::from_bits(bits).is_nan(),
            _ => false,
        },
        _ => false,
    }
}

/// A comparison of two numbers, apart from what is compared.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Test {
    comparison: Comparison,
    scalar_type: ScalarType,
    flushes: bool,
}

impl Test {
    /// What an unguarded `setp` of two operands tests, with one predicate as its result.
    #[inline]
    pub fn of(format: &FormatData) -> Option<Test> {
        match format.mnemonic.opcode() {
            Opcode::Setp => Test::of_comparison(format),
            _ => None,
        }
    }

    fn of_comparison(format: &FormatData) -> Option<Test> {
        let modifiers = format.mnemonic.modifiers();
        let &[scalar_type] = format.mnemonic.types() else {
            return None;
        };
        let is_plain = format.plain
            && !format.opaque
            && !format.is_guarded()
            && format.shape.len() == 3
            && modifiers.boolean.is_none()
            && scalar_type.lanes() == 1
            && format.leaves[1..].iter().all(|leaf| leaf.role == Role::Use);
        let comparison = modifiers.comparison.filter(|_| is_plain)?;
        let (comparison, scalar_type) = settled(comparison, scalar_type);
        Some(Test {
            comparison,
            scalar_type,
            flushes: format.mnemonic.has(Flag::FlushToZero),
        })
    }

    /// What is true of `b, a` when this is of `a, b`.
    pub fn mirrored(self) -> Test {
        Test {
            comparison: mirrored(self.comparison),
            ..self
        }
    }

    /// What is true exactly when this is not.
    pub fn inverted(self) -> Option<Test> {
        Some(Test {
            comparison: inverted(self.comparison, self.scalar_type.is_float())?,
            ..self
        })
    }

    /// A number that tells tests apart.
    pub fn number(self) -> u64 {
        (self.comparison as u64) << 16 | (self.scalar_type as u64) << 1 | u64::from(self.flushes)
    }
}

/// One of several spellings of a comparison: `lo` of unsigned integers is `lt`, and whether two integers are equal does not
/// depend on their signs.
fn settled(comparison: Comparison, scalar_type: ScalarType) -> (Comparison, ScalarType) {
    use Comparison::*;
    let comparison = match comparison {
        Lower if scalar_type.is_unsigned() => Less,
        LowerSame if scalar_type.is_unsigned() => LessEqual,
        Higher if scalar_type.is_unsigned() => Greater,
        HigherSame if scalar_type.is_unsigned() => GreaterEqual,
        other => other,
    };
    let is_equality = matches!(comparison, Equal | NotEqual) && !scalar_type.is_float();
    let scalar_type = match ScalarType::integer(false, scalar_type.bits()) {
        Some(unsigned) if is_equality => unsigned,
        _ => scalar_type,
    };
    (comparison, scalar_type)
}

/// Whether all readers of a predicate can just as well read its complement: they are guarded by it or choose by it.
pub(super) fn takes_complement(function: &Function, predicate: Value) -> bool {
    let read = Operand::Value(predicate);
    function.uses_of(predicate).all(|reader| {
        let Use::Instruction(reader) = reader else {
            return false;
        };
        let format = function.format(reader);
        let leaves = function.leaves(reader);
        let opcode = format.mnemonic.opcode();
        if format.is_guarded() {
            // ptxas mistreats guards on these two; nobody changes them.
            function.guard(reader) == Some(read)
                && !matches!(opcode, Opcode::Set | Opcode::Testp)
                && !format.opaque
                && !leaves.contains(&read)
                && !function.otherwise(reader).contains(&read)
        } else {
            opcode == Opcode::Selp
                && format.plain
                && leaves.len() == 4
                && leaves[3] == read
                && leaves[1..3].iter().all(|leaf| {
                    matches!(leaf, Operand::Value(_) | Operand::Constant(_)) && *leaf != read
                })
        }
    })
}

#[cfg(test)]
mod tests {
    use oriole_isa::{Mnemonic, evaluate};

    /// Zeros, ones, the smallest and largest numbers, infinities and NaNs of every payload that matters, in 32 bits or twice
    /// in 16.
    const SINGLES: [u32; 16] = [
        0,
        0x8000_0000,
        0x3f80_0000,
        0xbf80_0000,
        1,
        0x8000_0001,
        0x7f7f_ffff,
        0xff7f_ffff,
        0x7f80_0000,
        0xff80_0000,
        0x7fc0_0000,
        0xffc0_0000,
        0x7f80_0001,
        0xffff_ffff,
        0x7fc1_2345,
        0x3400_0000,
    ];
    const HALVES: [u32; 14] = [
        0, 0x8000, 0x3c00, 0xbc00, 1, 0x8001, 0x7bff, 0x7c00, 0xfc00, 0x7e00, 0xfe00, 0x7c01,
        0xffff, 0x7f81,
    ];

    fn agrees(mnemonic: &str, inputs: &[u32], shift: u32) {
        let decoded = Mnemonic::parse(mnemonic);
        let wide = |bits: u32| u128::from(bits) | u128::from(bits.rotate_left(3)) << shift;
        let mut known = 0;
        for &a in inputs {
            for &b in inputs {
                for c in [0, 0x3f80_0000, 0x7fc0_1234] {
                    let count = 2 + usize::from(mnemonic.starts_with("fma"));
                    let one = evaluate(&decoded, &[wide(a), wide(b), c][..count]);
                    let other = evaluate(&decoded, &[wide(b), wide(a), c][..count]);
                    known += usize::from(one.is_some());
                    assert_eq!(
                        one.map(|it| it.values().to_vec()),
                        other.map(|it| it.values().to_vec()),
                        "{mnemonic} {a:x} {b:x} {c:x}"
                    );
                }
            }
        }
        assert!(known > 0, "{mnemonic} is not evaluated");
    }

    #[test]
    fn operands_of_single_and_half_precision_commute_bit_by_bit() {
        for mnemonic in [
            "add.f32",
            "add.rn.f32",
            "add.rz.ftz.f32",
            "add.rn.ftz.sat.f32",
            "mul.f32",
            "mul.rn.f32",
            "mul.rp.f32",
            "mul.rn.ftz.f32",
            "fma.rn.f32",
            "fma.rm.ftz.f32",
            "fma.rn.sat.f32",
            "min.f32",
            "max.f32",
            "min.ftz.f32",
            "max.NaN.f32",
            "min.xorsign.abs.f32",
        ] {
            agrees(mnemonic, &SINGLES, 32);
        }
        for mnemonic in [
            "add.f16",
            "add.rn.ftz.f16",
            "mul.rn.f16",
            "fma.rn.f16",
            "fma.rn.relu.f16",
            "min.f16",
            "max.NaN.f16",
            "add.rn.bf16",
            "mul.rn.bf16",
            "fma.rn.bf16",
            "min.bf16",
            "max.bf16",
        ] {
            agrees(mnemonic, &HALVES, 32);
        }
        for mnemonic in [
            "add.rn.f16x2",
            "mul.f16x2",
            "fma.rn.f16x2",
            "max.f16x2",
            "add.rn.bf16x2",
            "fma.rn.bf16x2",
            "min.bf16x2",
        ] {
            agrees(mnemonic, &HALVES, 16);
        }
    }
}
