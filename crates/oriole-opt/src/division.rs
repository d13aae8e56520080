//! Turns divisions by constants into products and shifts.
//!
//! ## Example
//! ```text
//! div.s32 %r2, %r1, 8;                         →         shr.s32 %t1, %r1, 31;
//!                                                        shr.u32 %t2, %t1, 29;
//!                                                        add.s32 %t3, %r1, %t2;
//!                                                        shr.s32 %r2, %t3, 3;
//! ```
//!
//! ## Why
//! `ptxas` divides by constants as it divides by anything: it converts to floating point, takes a reciprocal and corrects the
//! result, 12 to 18 machine instructions for 32 bits and 50 to 70 for 64.
//!
//! ## Soundness
//! Quotients are rounded towards zero. A signed number is shifted right by `k` after `2^k - 1` was added to it if it is
//! negative. Any other quotient is the high half of a product with `2^(N+p) / c` rounded up, shifted by `p`, where that is
//! near enough for every dividend of `N` bits (Granlund and Montgomery, "Division by Invariant Integers using
//! Multiplication", 1994): [`unsigned_magic`] checks the condition itself. A remainder is what the quotient's product leaves.
//! Division by zero is left alone, and so is division by the least number, which is its own negative.
//!
//! `div.rn.f32` by a power of two is `mul.rn.f32` by its reciprocal, if that is a normal number: both round the same number, whatever the
//! rounding, flush the same ones, and have one NaN. `ptxas` makes 115 machine instructions of the one and one of the other. So it is with
//! `div.rn.f64`: which NaN it gives is not documented, but on an H200 2.25 million quotients and products were the same, those of NaNs
//! of all kinds among them.
//!
//! ## Not done
//! Sixteen bits, guarded divisions, divisors in registers, and doubles that are rounded otherwise.

use crate::knobs::Switch;
use crate::manager::{Action, Context, Pass, Trigger};
use crate::remark::Rewrite;
use oriole_analysis::{Analyses, literal_bits, mask, sign_extend};
use oriole_ir::{Editor, Function, Instruction, Operand, Traits, Value};
use oriole_isa::{Mnemonic, MulMode, Opcode, Rounding, ScalarType, build};

/// The pass.
pub(crate) const PASS: Pass = Pass {
    name: "division-by-constants",
    summary: "Divide by constants with products and shifts",
    action: Action::Once(run, Trigger::Rewrites),
};

// Settings.
const EXPAND_CONSTANT_DIVISION: Switch = Switch::named("ExpandConstantDivision");

fn run(editor: &mut Editor<'_>, _: &mut Analyses, context: &mut Context<'_>) {
    if !context.knobs.switch(EXPAND_CONSTANT_DIVISION) {
        return;
    }
    let function = editor.function();
    if !function.traits().have(Traits::DIVIDES) {
        return;
    }
    let (mut divisions, mut scalings): (Vec<Division>, Vec<Scaling>) = (Vec::new(), Vec::new());
    for &block in function.block_order() {
        for instruction in function.instructions_of(block) {
            let opcode = function.format(instruction).mnemonic.opcode();
            if matches!(opcode, Opcode::Div | Opcode::Rem) {
                divisions.extend(Division::of(function, instruction));
                scalings.extend(Scaling::of(function, instruction));
            }
        }
    }
    for scaling in scalings {
        let rewrite = Rewrite {
            counter: "division-by-constants.scalings",
            instruction: scaling.instruction,
            why: "the divisor is a power of two",
            equal: None,
        };
        if !context.allows(editor.function(), rewrite) {
            return;
        }
        scaling.apply(editor);
    }
    for division in divisions {
        let rewrite = Rewrite {
            counter: "division-by-constants.instructions",
            instruction: division.instruction,
            why: "the divisor is a constant",
            equal: None,
        };
        if !context.allows(editor.function(), rewrite) {
            return;
        }
        Expansion { editor, division }.apply();
    }
}

/// A quotient or a remainder by a constant that can be computed otherwise.
#[derive(Clone, Copy)]
struct Division {
    instruction: Instruction,
    result: Value,
    dividend: Value,
    divisor: u64,
    bits: u32,
    is_signed: bool,
    is_remainder: bool,
}

impl Division {
    fn of(function: &Function, instruction: Instruction) -> Option<Division> {
        let format = function.format(instruction);
        let opcode = format.mnemonic.opcode();
        let scalar_type = format.mnemonic.first_type()?;
        let bits = scalar_type.bits();
        if !matches!(opcode, Opcode::Div | Opcode::Rem)
            || !scalar_type.is_integer()
            || !matches!(bits, 32 | 64)
            || !format.is_simple()
        {
            return None;
        }
        let &[
            Operand::Result(0),
            Operand::Value(dividend),
            Operand::Constant(constant),
        ] = function.operands(instruction)
        else {
            return None;
        };
        let divisor = literal_bits(function.constants()[constant].literal?, scalar_type)?;
        let is_signed = scalar_type.is_signed();
        let size = magnitude(divisor, bits, is_signed);
        let is_least = is_signed && divisor == 1 << (bits - 1);
        let result = function.results(instruction).next()?;
        let held = |value: Value| function.values()[value].scalar_type;
        let fits = held(dividend).bits() == bits
            && held(result).bits() == bits
            && !held(dividend).is_float()
            && !held(result).is_float();
        (size > 1 && !is_least && fits).then_some(Division {
            instruction,
            result,
            dividend,
            divisor,
            bits,
            is_signed,
            is_remainder: opcode == Opcode::Rem,
        })
    }
}

/// A quotient of floating-point numbers by a power of two.
struct Scaling {
    instruction: Instruction,
    dividend: Operand,
    scalar_type: ScalarType,
    /// The bits of the divisor's reciprocal.
    factor: u64,
}

impl Scaling {
    fn of(function: &Function, instruction: Instruction) -> Option<Scaling> {
        let format = function.format(instruction);
        let mnemonic = &format.mnemonic;
        let &[scalar_type] = mnemonic.types() else {
            return None;
        };
        // Quotients of single precision without a rounding are approximations.
        let is_exact = match scalar_type {
            ScalarType::F32 => mnemonic.modifiers().rounding.is_some(),
            ScalarType::F64 => mnemonic.modifiers().rounding == Some(Rounding::NearestEven),
            _ => false,
        };
        let is_exact = is_exact && mnemonic.opcode() == Opcode::Div && format.is_simple();
        let &[
            Operand::Result(0),
            dividend @ Operand::Value(_),
            Operand::Constant(constant),
        ] = function.operands(instruction)
        else {
            return None;
        };
        if !is_exact {
            return None;
        }
        let divisor = literal_bits(function.constants()[constant].literal?, scalar_type)?;
        let factor = reciprocal(divisor, scalar_type)?;
        Some(Scaling {
            instruction,
            dividend,
            scalar_type,
            factor,
        })
    }

    fn apply(self, editor: &mut Editor<'_>) {
        let mnemonic = &editor.function().format(self.instruction).mnemonic;
        let product = Mnemonic::build(Opcode::Mul)
            .modifiers(*mnemonic.modifiers())
            .scalar_type(self.scalar_type)
            .text()
            .expect("products round and flush as quotients do");
        let format = editor.plain_format(&product, 3);
        let factor = match self.scalar_type {
            ScalarType::F64 => editor.double(self.factor),
            _ => editor.single(self.factor as u32),
        };
        let operands = [Operand::Result(0), self.dividend, factor];
        editor.rewrite(self.instruction, format, &operands);
    }
}

/// The reciprocal of a power of two, if both are normal numbers.
fn reciprocal(divisor: u64, scalar_type: ScalarType) -> Option<u64> {
    let (fraction_bits, exponent_bits) = match scalar_type {
        ScalarType::F64 => (52, 11),
        _ => (23, 8),
    };
    let exponent = divisor >> fraction_bits & mask(exponent_bits);
    // The exponents of a number and of its reciprocal add up to twice that of one.
    let sum = mask(exponent_bits) - 1;
    let is_power = divisor & mask(fraction_bits) == 0 && (1..sum).contains(&exponent);
    let sign = divisor & 1 << (fraction_bits + exponent_bits);
    is_power.then(|| sign | (sum - exponent) << fraction_bits)
}

/// How large a divisor is, without its sign.
fn magnitude(divisor: u64, bits: u32, is_signed: bool) -> u64 {
    match is_signed {
        true => sign_extend(divisor, bits).unsigned_abs(),
        false => divisor,
    }
}

/// Writes a division anew.
struct Expansion<'run, 'function> {
    editor: &'run mut Editor<'function>,
    division: Division,
}

impl Expansion<'_, '_> {
    fn apply(&mut self) {
        let Division {
            instruction,
            result,
            dividend,
            divisor,
            bits,
            is_signed,
            is_remainder,
        } = self.division;
        let size = magnitude(divisor, bits, is_signed);
        let quotient = match (is_signed, size.is_power_of_two()) {
            (true, true) => self.signed_by_power(dividend, size.trailing_zeros()),
            (true, false) => self.signed(dividend, size),
            (false, true) => self.shift_right(dividend, size.trailing_zeros(), false),
            (false, false) => self.unsigned(dividend, size),
        };
        // A remainder has the sign of the dividend, whatever the divisor's.
        let value = if is_remainder {
            let product = self.low_product(quotient, size);
            self.binary(
                Opcode::Sub,
                Operand::Value(dividend),
                Operand::Value(product),
            )
        } else if size == divisor {
            quotient
        } else {
            let zero = self.editor.integer(0, false);
            self.binary(Opcode::Sub, zero, Operand::Value(quotient))
        };
        // The result keeps its name and type.
        let held = self.editor.function().values()[result].scalar_type;
        let format = self.editor.plain_format(&build::copy(held), 2);
        let operands = [Operand::Result(0), Operand::Value(value)];
        self.editor.rewrite(instruction, format, &operands);
    }

    /// Inserts an instruction before the division.
    fn insert(&mut self, mnemonic: &oriole_isa::MnemonicText, sources: &[Operand]) -> Value {
        let mut operands = vec![Operand::Result(0)];
        operands.extend_from_slice(sources);
        let format = self.editor.plain_format(mnemonic, operands.len());
        let held = ScalarType::untyped(self.division.bits).expect("32 or 64 bits");
        let before = self.division.instruction;
        let inserted = self
            .editor
            .insert_before(before, format, &operands, &[held]);
        let mut results = self.editor.function().results(inserted);
        results.next().expect("it has one result")
    }

    fn integer(&self, is_signed: bool) -> ScalarType {
        ScalarType::integer(is_signed, self.division.bits).expect("32 or 64 bits")
    }

    fn binary(&mut self, opcode: Opcode, first: Operand, second: Operand) -> Value {
        let mnemonic = build::typed(opcode, self.integer(true));
        self.insert(&mnemonic, &[first, second])
    }

    fn shift_right(&mut self, value: Value, amount: u32, is_signed: bool) -> Value {
        if amount == 0 {
            return value;
        }
        let mnemonic = build::typed(Opcode::Shr, self.integer(is_signed));
        let amount = self.editor.integer(u64::from(amount), true);
        self.insert(&mnemonic, &[Operand::Value(value), amount])
    }

    fn low_product(&mut self, value: Value, factor: u64) -> Value {
        let (mnemonic, operand) = if factor.is_power_of_two() {
            let held = ScalarType::untyped(self.division.bits).expect("32 or 64 bits");
            let amount = u64::from(factor.trailing_zeros());
            (build::typed(Opcode::Shl, held), amount)
        } else {
            (build::mul(MulMode::Low, self.integer(true)), factor)
        };
        let operand = self.editor.integer(operand, true);
        self.insert(&mnemonic, &[Operand::Value(value), operand])
    }

    fn high_product(&mut self, value: Value, factor: u64, is_signed: bool) -> Value {
        let mnemonic = build::mul(MulMode::High, self.integer(is_signed));
        let factor = self.editor.integer(factor, true);
        self.insert(&mnemonic, &[Operand::Value(value), factor])
    }

    /// One if the value is negative, else zero.
    fn sign(&mut self, value: Value) -> Value {
        self.shift_right(value, self.division.bits - 1, false)
    }

    fn signed_by_power(&mut self, dividend: Value, power: u32) -> Value {
        let bits = self.division.bits;
        let excess = if power == 1 {
            self.sign(dividend)
        } else {
            let spread = self.shift_right(dividend, bits - 1, true);
            self.shift_right(spread, bits - power, false)
        };
        let sum = self.binary(
            Opcode::Add,
            Operand::Value(dividend),
            Operand::Value(excess),
        );
        self.shift_right(sum, power, true)
    }

    fn signed(&mut self, dividend: Value, divisor: u64) -> Value {
        let (factor, shift) = signed_magic(divisor, self.division.bits);
        let mut quotient = self.high_product(dividend, factor, true);
        if factor >> (self.division.bits - 1) == 1 {
            // As a signed number the factor is smaller by two to the power of its width.
            quotient = self.binary(
                Opcode::Add,
                Operand::Value(quotient),
                Operand::Value(dividend),
            );
        }
        let quotient = self.shift_right(quotient, shift, true);
        let sign = self.sign(dividend);
        self.binary(Opcode::Add, Operand::Value(quotient), Operand::Value(sign))
    }

    fn unsigned(&mut self, dividend: Value, divisor: u64) -> Value {
        match unsigned_magic(divisor, self.division.bits) {
            Magic::Product {
                before,
                factor,
                behind,
            } => {
                let shifted = self.shift_right(dividend, before, false);
                let product = self.high_product(shifted, factor, false);
                self.shift_right(product, behind, false)
            }
            Magic::Average { factor, behind } => {
                let product = self.high_product(dividend, factor, false);
                let rest = self.binary(
                    Opcode::Sub,
                    Operand::Value(dividend),
                    Operand::Value(product),
                );
                let half = self.shift_right(rest, 1, false);
                let sum = self.binary(Opcode::Add, Operand::Value(half), Operand::Value(product));
                self.shift_right(sum, behind, false)
            }
        }
    }
}

/// How an unsigned number is divided by a constant that is no power of two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Magic {
    /// Shifted right, multiplied, and the high half shifted right.
    Product {
        before: u32,
        factor: u64,
        behind: u32,
    },
    /// With a factor that is two to the power of the width larger: the high half and the dividend are averaged, and shifted.
    Average { factor: u64, behind: u32 },
}

/// How to divide numbers of a width by a constant that is no power of two.
fn unsigned_magic(divisor: u64, bits: u32) -> Magic {
    let limit = 1u128 << bits;
    let find = |divisor: u64, bits_of_dividend: u32| {
        (0..bits).find_map(|power| {
            let scaled = limit << power;
            let factor = scaled.div_ceil(u128::from(divisor));
            // The product is too large by less than a dividend can turn into another quotient.
            let error = factor * u128::from(divisor) - scaled;
            let most = 1u128 << (power + bits - bits_of_dividend);
            (factor < limit && error <= most).then_some((factor as u64, power))
        })
    };
    if let Some((factor, behind)) = find(divisor, bits) {
        return Magic::Product {
            before: 0,
            factor,
            behind,
        };
    }
    let before = divisor.trailing_zeros();
    if before > 0
        && let Some((factor, behind)) = find(divisor >> before, bits - before)
    {
        return Magic::Product {
            before,
            factor,
            behind,
        };
    }
    // One bit more than the width always suffices.
    let power = 64 - divisor.leading_zeros();
    let scaled = limit * ((1u128 << power) - u128::from(divisor)) / u128::from(divisor) + 1;
    Magic::Average {
        factor: scaled as u64,
        behind: power - 1,
    }
}

/// The factor, as the bits of a number of the width, and the shift to divide signed numbers by a positive constant that is no
/// power of two.
fn signed_magic(divisor: u64, bits: u32) -> (u64, u32) {
    let half = 1u128 << (bits - 1);
    let divisor = u128::from(divisor);
    (0..bits)
        .find_map(|power| {
            let scaled = (2 * half) << power;
            let factor = scaled / divisor + 1;
            let error = factor * divisor - scaled;
            (error <= 2 << power).then_some((factor as u64 & mask(bits), power))
        })
        .expect("a power of the width suffices")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reciprocals_of_powers_of_two_scale_as_quotients_do() {
        let single = |own: f32| reciprocal(own.to_bits().into(), ScalarType::F32);
        let double = |own: f64| reciprocal(own.to_bits(), ScalarType::F64);
        assert_eq!(single(4.0), Some(0.25f32.to_bits().into()));
        assert_eq!(single(-0.5), Some((-2.0f32).to_bits().into()));
        assert_eq!(double(-0.5), Some((-2.0f64).to_bits()));
        let none = [0.0, 3.0, f32::INFINITY, f32::NAN, f32::MIN_POSITIVE / 2.0];
        assert!(none.iter().all(|&own| single(own).is_none()));
        let none = [0.0, 3.0, f64::INFINITY, f64::NAN, f64::MIN_POSITIVE / 2.0];
        assert!(none.iter().all(|&own| double(own).is_none()));
        // Their reciprocals are subnormal.
        assert_eq!(single(f32::from_bits(254 << 23)), None);
        assert_eq!(double(f64::from_bits(2046 << 52)), None);
        for exponent in 1..=253 {
            let divisor = f32::from_bits(exponent << 23);
            let factor = f32::from_bits(single(divisor).expect("a power") as u32);
            for seed in 0..2000u32 {
                let dividend = f32::from_bits(seed.wrapping_mul(2_654_435_769) ^ seed >> 3);
                let (quotient, product) = (dividend / divisor, dividend * factor);
                assert!(quotient.to_bits() == product.to_bits() || quotient.is_nan());
            }
        }
        for exponent in 1..=2045 {
            let divisor = f64::from_bits(exponent << 52);
            let factor = f64::from_bits(double(divisor).expect("a power"));
            for seed in 0..300u64 {
                let dividend = f64::from_bits(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ seed >> 3);
                let (quotient, product) = (dividend / divisor, dividend * factor);
                assert!(quotient.to_bits() == product.to_bits() || quotient.is_nan());
            }
        }
    }

    fn divide(dividend: u64, divisor: u64, bits: u32) -> u64 {
        let high = |a: u64, b: u64| ((u128::from(a) * u128::from(b)) >> bits) as u64;
        match unsigned_magic(divisor, bits) {
            Magic::Product {
                before,
                factor,
                behind,
            } => high(dividend >> before, factor) >> behind,
            Magic::Average { factor, behind } => {
                let product = high(dividend, factor);
                (((dividend - product) >> 1) + product) >> behind
            }
        }
    }

    fn divide_signed(dividend: i64, divisor: u64, bits: u32) -> i64 {
        let (factor, shift) = signed_magic(divisor, bits);
        let wrap = |value: i128| sign_extend(value as u64 & mask(bits), bits);
        let signed_factor = sign_extend(factor, bits);
        let mut quotient = wrap((i128::from(dividend) * i128::from(signed_factor)) >> bits);
        if signed_factor < 0 {
            quotient = wrap(i128::from(quotient) + i128::from(dividend));
        }
        wrap(i128::from(quotient >> shift) + i128::from(dividend < 0))
    }

    #[test]
    fn every_dividend_of_eight_bits() {
        for divisor in (3..256u64).filter(|divisor| !divisor.is_power_of_two()) {
            for dividend in 0..256 {
                assert_eq!(divide(dividend, divisor, 8), dividend / divisor);
            }
        }
        for divisor in (3..128u64).filter(|divisor| !divisor.is_power_of_two()) {
            for dividend in -128..128 {
                let expected = dividend / divisor as i64;
                assert_eq!(
                    divide_signed(dividend, divisor, 8),
                    expected,
                    "{dividend} / {divisor}"
                );
            }
        }
    }

    #[test]
    fn dividends_around_multiples() {
        for bits in [32u32, 64] {
            let most = mask(bits);
            let mut divisors: Vec<u64> = (3..2000).collect();
            divisors.extend((2..bits).flat_map(|power| [(1 << power) - 1, (1 << power) + 1]));
            divisors.extend([most, most - 1, most / 3, most / 7 * 2, 1_000_000_007]);
            for divisor in divisors {
                if divisor < 3 || divisor.is_power_of_two() {
                    continue;
                }
                let multiples = [0, 1, 2, 1000, most / divisor / 2, most / divisor];
                for multiple in multiples {
                    for offset in [0, 1, divisor - 1] {
                        let dividend = multiple.wrapping_mul(divisor).wrapping_add(offset) & most;
                        assert_eq!(divide(dividend, divisor, bits), dividend / divisor);
                        if divisor <= most / 2 {
                            let signed = sign_extend(dividend, bits);
                            let expected = signed / divisor as i64;
                            assert_eq!(divide_signed(signed, divisor, bits), expected);
                        }
                    }
                }
            }
        }
    }
}
