//! What instructions cost on the machine, about.
//!
//! `ptxas` makes one machine instruction of most PTX instructions, none of some and dozens of a few. The figures are what
//! `ptxas -O3` was measured to make of each form for each generation of targets (`measured.rs`, made by `tools/record-machine-costs`).
//! They differ in one thing that matters: `sm_120` adds, compares and selects 64-bit integers by one instruction, all others by two.
//! What an instruction waits for counts as well: accesses to memory cost more than the one instruction that they are.
//!
//! These are to choose between two ways to write the same thing, not to predict a time.

use crate::mnemonic::Mnemonic;
use crate::modifier::MulMode;
use crate::opcode::Opcode;
use crate::scalar_type::ScalarType;
use crate::space::Space;
use crate::target::Target;

/// A machine instruction. A copy between registers costs less than any: ptxas gets rid of most of them.
pub const MACHINE_INSTRUCTION: u64 = 16;

/// A copy between registers.
pub const COPY: u64 = 1;

/// How many generations of targets are told apart.
const GENERATIONS: usize = 5;

/// Names the forms that were measured, and keeps an example of each and what it costs.
macro_rules! forms {
    ($($form:ident, $example:literal, $costs:expr;)*) => {
        /// Instructions that cost the same on a target, by what was measured.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        enum Form { $($form,)* }

        /// What each form costs, by generation, in sixteenths of a machine instruction.
        const COSTS: &[[u16; GENERATIONS]] = &[$($costs,)*];

        /// The instruction that was measured for each form.
        #[cfg(test)]
        const EXAMPLES: &[(Form, &str)] = &[$((Form::$form, $example),)*];
    };
}

include!("measured.rs");

/// What instructions cost on a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CostModel {
    generation: usize,
}

impl Default for CostModel {
    /// That of `sm_90`.
    fn default() -> CostModel {
        CostModel { generation: 2 }
    }
}

impl CostModel {
    /// That of a target, or the usual one.
    pub fn of(target: Option<Target>) -> CostModel {
        let Some(target) = target else {
            return CostModel::default();
        };
        let generation = match target.compute_capability().0 {
            0..=7 => 0,
            8 => 1,
            9 => 2,
            10 | 11 => 3,
            _ => 4,
        };
        CostModel { generation }
    }

    fn measured(self, form: Form) -> u64 {
        u64::from(COSTS[form as usize][self.generation])
    }

    /// What an instruction costs, in sixteenths of a machine instruction.
    pub fn cost(self, mnemonic: &Mnemonic) -> u64 {
        self.cost_of(CostClass::of(mnemonic))
    }

    /// What instructions of a class cost, in sixteenths of a machine instruction.
    #[inline]
    pub fn cost_of(self, class: CostClass) -> u64 {
        match class.0 {
            Class::Measured(form) => self.measured(form).max(COPY),
            // ptxas fuses the two itself, and better: there is nothing to be gained by writing them as one.
            Class::WideProductAndSum => {
                self.measured(Form::ProductWide) + self.measured(Form::Sum64)
            }
            Class::Fixed(cost) => u64::from(cost),
        }
    }

    /// Whether operations on 64-bit integers cost more than those on 32 bits.
    pub fn has_wide_pairs(self) -> bool {
        self.measured(Form::Compare64) > self.measured(Form::Compare32)
    }
}

/// Instructions that cost the same, whatever the target is: to be found once for many of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CostClass(Class);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Class {
    /// As much as was measured.
    Measured(Form),
    /// A product of double width and a sum.
    WideProductAndSum,
    /// The same on all targets.
    Fixed(u16),
}

impl CostClass {
    /// The class of an instruction.
    pub fn of(mnemonic: &Mnemonic) -> CostClass {
        if let Some(form) = Form::of(mnemonic) {
            return CostClass(Class::Measured(form));
        }
        let instructions = match mnemonic.opcode() {
            Opcode::Mov => return CostClass(Class::Fixed(COPY as u16)),
            Opcode::Cvt => match mnemonic.types() {
                [to, from] if is_cut(*to, *from) => return CostClass(Class::Fixed(COPY as u16)),
                _ => 1,
            },
            Opcode::Mad if mnemonic.modifiers().mul_mode == Some(MulMode::Wide) => {
                return CostClass(Class::WideProductAndSum);
            }
            Opcode::Ld | Opcode::Ldu => match mnemonic.space() {
                Some(Space::Param | Space::Const) => {
                    return CostClass(Class::Fixed(MACHINE_INSTRUCTION as u16 / 2));
                }
                Some(Space::Shared | Space::Local) => 4,
                _ => 8,
            },
            Opcode::St => match mnemonic.space() {
                Some(Space::Param) => 1,
                _ => 4,
            },
            Opcode::Atom
            | Opcode::Red
            | Opcode::Tex
            | Opcode::Tld4
            | Opcode::Suld
            | Opcode::Sust => 8,
            Opcode::Call => 12,
            _ => 1,
        };
        CostClass(Class::Fixed(instructions * MACHINE_INSTRUCTION as u16))
    }
}

/// Whether a conversion takes the low half of a 64-bit register, which is there.
fn is_cut(to: ScalarType, from: ScalarType) -> bool {
    to.is_integer() && from.is_integer() && (to.bits(), from.bits()) == (32, 64)
}

impl Form {
    /// The form of an instruction, if it is one that was measured.
    fn of(mnemonic: &Mnemonic) -> Option<Form> {
        let first = mnemonic.first_type().unwrap_or(ScalarType::B32);
        let is_float = first.is_float();
        let is_wide = first.bits() == 64;
        let by_width = |narrow: Form, wide: Form| match is_wide {
            true => Some(wide),
            false => Some(narrow),
        };
        match mnemonic.opcode() {
            Opcode::Add | Opcode::Sub | Opcode::Neg if !is_float => {
                by_width(Form::Sum32, Form::Sum64)
            }
            Opcode::And | Opcode::Or | Opcode::Xor | Opcode::Not => {
                by_width(Form::Bitwise32, Form::Bitwise64)
            }
            Opcode::Shl | Opcode::Shr => by_width(Form::Shift32, Form::Shift64),
            Opcode::Min | Opcode::Max if is_float => is_wide.then_some(Form::MinimumF64),
            Opcode::Min | Opcode::Max => by_width(Form::Minimum32, Form::Minimum64),
            Opcode::Abs if !is_float => by_width(Form::Absolute32, Form::Absolute64),
            Opcode::Popc | Opcode::Clz | Opcode::Brev | Opcode::Bfind => {
                by_width(Form::Count32, Form::Count64)
            }
            Opcode::Bfe => by_width(Form::Field32, Form::Field64),
            Opcode::Bfi => by_width(Form::Insert32, Form::Insert64),
            Opcode::Selp | Opcode::Slct => by_width(Form::Select32, Form::Select64),
            Opcode::Setp | Opcode::Set if is_float => is_wide.then_some(Form::CompareF64),
            Opcode::Setp | Opcode::Set => by_width(Form::Compare32, Form::Compare64),
            Opcode::Mul | Opcode::Mad if !is_float => Form::of_product(mnemonic, is_wide),
            Opcode::Div | Opcode::Rem | Opcode::Rcp | Opcode::Sqrt | Opcode::Rsqrt => {
                Some(Form::of_quotient(mnemonic, first))
            }
            Opcode::Sin | Opcode::Cos => Some(Form::Sine),
            Opcode::Ex2 => Some(Form::Exponential),
            Opcode::Lg2 => Some(Form::Logarithm),
            Opcode::Cvta => Some(Form::ToGeneric),
            Opcode::Cvt => match mnemonic.types() {
                [to, from] => Form::of_extension(*to, *from),
                _ => None,
            },
            _ => None,
        }
    }

    /// Of a product, or a product and a sum.
    fn of_product(mnemonic: &Mnemonic, is_wide: bool) -> Option<Form> {
        let is_sum = mnemonic.opcode() == Opcode::Mad;
        match (mnemonic.modifiers().mul_mode, is_wide, is_sum) {
            (Some(MulMode::Wide), _, true) => None,
            (Some(MulMode::Wide), _, false) => Some(Form::ProductWide),
            (Some(MulMode::High), true, _) => Some(Form::ProductHigh64),
            (Some(MulMode::High), false, _) => Some(Form::ProductHigh32),
            (_, true, false) => Some(Form::Product64),
            (_, false, false) => Some(Form::Product32),
            (_, true, true) => Some(Form::Multiply64),
            (_, false, true) => Some(Form::Multiply32),
        }
    }

    /// Of a quotient, remainder, reciprocal or root: ptxas expands them all, integer ones by constants too.
    fn of_quotient(mnemonic: &Mnemonic, first: ScalarType) -> Form {
        let is_exact = mnemonic.modifiers().rounding.is_some();
        match (mnemonic.opcode(), first.is_float(), first.bits()) {
            (_, false, 64) => Form::Quotient64,
            (_, false, _) if first.is_signed() => Form::QuotientSigned32,
            (_, false, _) => Form::Quotient32,
            (Opcode::Div, true, 64) => Form::QuotientF64,
            (Opcode::Sqrt, true, 64) => Form::RootF64,
            (_, true, 64) => Form::ReciprocalF64,
            (Opcode::Rsqrt, true, _) => Form::InverseRoot,
            (Opcode::Sqrt, true, _) if is_exact => Form::RootF32,
            (Opcode::Sqrt, true, _) => Form::RootFast,
            (Opcode::Rcp, true, _) if is_exact => Form::ReciprocalF32,
            (Opcode::Rcp, true, _) => Form::ReciprocalFast,
            _ if is_exact => Form::QuotientF32,
            _ => Form::QuotientFast,
        }
    }

    /// Of a conversion between integers.
    fn of_extension(to: ScalarType, from: ScalarType) -> Option<Form> {
        if !to.is_integer() || !from.is_integer() || is_cut(to, from) {
            return None;
        }
        match (to.bits(), from.bits()) {
            (64, 32) if from.is_unsigned() => Some(Form::ExtendUnsigned),
            (64, 32) => Some(Form::ExtendSigned),
            (_, 8 | 16) if from.is_signed() && to.bits() > from.bits() => Some(Form::ExtendByte),
            _ => None,
        }
    }
}

/// Whether `ptxas` makes a sequence of an instruction, with a branch to a subroutine in it or most of one: IEEE quotients, roots and
/// reciprocals, and quotients of integers. `ptxas` moves other instructions that do not change out of loops, but leaves all or a part of
/// these there, and does not unroll a loop that has one.
pub fn is_expanded(mnemonic: &Mnemonic) -> bool {
    let first = mnemonic.first_type().unwrap_or(ScalarType::B32);
    match mnemonic.opcode() {
        Opcode::Rem => true,
        Opcode::Div | Opcode::Rcp | Opcode::Sqrt | Opcode::Rsqrt => {
            !first.is_float() || (mnemonic.modifiers().rounding.is_some())
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotients_are_expanded_unless_they_are_approximate() {
        let is_expanded = |text: &str| is_expanded(&Mnemonic::parse(text));
        for text in [
            "div.rn.f32",
            "sqrt.rn.f32",
            "rcp.rn.f64",
            "div.u64",
            "rem.s32",
        ] {
            assert!(is_expanded(text), "{text}");
        }
        for text in [
            "div.full.f32",
            "div.approx.f32",
            "sqrt.approx.f32",
            "rcp.approx.ftz.f64",
            "rsqrt.approx.f32",
            "mul.lo.s64",
        ] {
            assert!(!is_expanded(text), "{text}");
        }
    }

    #[test]
    fn what_ptxas_expands_costs_what_it_becomes() {
        let cost = |text: &str| CostModel::default().cost(&Mnemonic::parse(text));
        for (cheap, dear) in [
            ("mov.b64", "cvt.s64.s32"),
            ("cvt.u32.u64", "cvt.s64.s32"),
            ("add.s32", "add.s64"),
            ("mul.wide.s32", "mul.lo.s64"),
            ("mul.lo.s64", "mul.hi.u64"),
            ("mul.hi.u32", "div.u32"),
            ("div.u32", "div.u64"),
            ("div.approx.f32", "div.rn.f32"),
            ("ld.param.u64", "ld.shared.u32"),
            ("ld.shared.u32", "ld.global.u32"),
        ] {
            assert!(cost(cheap) < cost(dear), "{cheap} and {dear}");
        }
        assert_eq!(
            cost("mad.wide.s32"),
            cost("mul.wide.s32") + cost("add.s64"),
            "there is nothing to be gained by fusing"
        );
        assert_eq!(cost("add.f64"), MACHINE_INSTRUCTION);
    }

    #[test]
    fn examples_are_of_the_form_they_were_measured_for() {
        for &(form, example) in EXAMPLES {
            assert_eq!(Form::of(&Mnemonic::parse(example)), Some(form), "{example}");
        }
    }

    #[test]
    fn only_sm_120_has_integers_of_64_bits() {
        let cost = |target: &str, text: &str| {
            let target = Target::from_text(target).expect("a target");
            CostModel::of(Some(target)).cost(&Mnemonic::parse(text))
        };
        for target in ["sm_75", "sm_80", "sm_89", "sm_90", "sm_100a", "sm_103"] {
            assert_eq!(
                cost(target, "add.s64"),
                2 * cost(target, "add.s32"),
                "{target}"
            );
        }
        for target in ["sm_120", "sm_121a"] {
            assert_eq!(cost(target, "add.s64"), cost(target, "add.s32"), "{target}");
            assert!(
                cost(target, "and.b64") > cost(target, "and.b32"),
                "{target}"
            );
        }
    }
}
