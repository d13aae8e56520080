//! What instructions cost on the machine, about.
//!
//! `ptxas` makes one machine instruction of most PTX instructions, none of some and dozens of a few. The figures are what
//! `ptxas -O3` was seen to make of each form for `sm_75` to `sm_120`; where targets differ by one, the usual one. What an
//! instruction waits for counts as well: accesses to memory cost more than the one instruction that they are.
//!
//! These are to choose between two ways to write the same thing, not to predict a time.

use crate::mnemonic::Mnemonic;
use crate::modifier::MulMode;
use crate::opcode::Opcode;
use crate::scalar_type::ScalarType;
use crate::space::Space;

/// A machine instruction. A copy between registers costs less than any: ptxas gets rid of most of them.
pub const MACHINE_INSTRUCTION: u64 = 16;

/// A copy between registers.
pub const COPY: u64 = 1;

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

/// What an instruction costs, in sixteenths of a machine instruction.
pub fn machine_cost(mnemonic: &Mnemonic) -> u64 {
    let first = mnemonic.first_type().unwrap_or(ScalarType::B32);
    let is_wide = first.bits() == 64 && !first.is_float();
    let twice = if is_wide { 2 } else { 1 };
    let instructions = match mnemonic.opcode() {
        Opcode::Mov => return COPY,
        Opcode::Cvta => 2,
        Opcode::Cvt => return conversion(mnemonic),
        Opcode::Mul | Opcode::Mad => product(mnemonic, first),
        Opcode::Div | Opcode::Rem | Opcode::Rcp | Opcode::Sqrt | Opcode::Rsqrt => {
            quotient(mnemonic, first)
        }
        Opcode::Add
        | Opcode::Sub
        | Opcode::Setp
        | Opcode::Set
        | Opcode::Selp
        | Opcode::Slct
        | Opcode::And
        | Opcode::Or
        | Opcode::Xor
        | Opcode::Not
        | Opcode::Neg => twice,
        Opcode::Shl | Opcode::Shr | Opcode::Popc | Opcode::Clz | Opcode::Abs => 2 * twice - 1,
        Opcode::Min | Opcode::Max => 4 * twice - 3,
        Opcode::Bfe | Opcode::Bfi | Opcode::Brev | Opcode::Bfind => 3 * twice - 2,
        Opcode::Sin | Opcode::Cos | Opcode::Ex2 | Opcode::Lg2 => 3,
        Opcode::Ld | Opcode::Ldu => match mnemonic.space() {
            Some(Space::Param | Space::Const) => return MACHINE_INSTRUCTION / 2,
            Some(Space::Shared | Space::Local) => 4,
            _ => 8,
        },
        Opcode::St => match mnemonic.space() {
            Some(Space::Param) => 1,
            _ => 4,
        },
        Opcode::Atom | Opcode::Red | Opcode::Tex | Opcode::Tld4 | Opcode::Suld | Opcode::Sust => 8,
        Opcode::Call => 12,
        _ => 1,
    };
    instructions * MACHINE_INSTRUCTION
}

/// Half of a 64-bit register, or a register extended by zeros, is there already.
fn conversion(mnemonic: &Mnemonic) -> u64 {
    match mnemonic.types() {
        [to, from] if to.is_integer() && from.is_integer() => match (to.bits(), from.bits()) {
            (32, 64) => COPY,
            (64, 32) if from.is_unsigned() => MACHINE_INSTRUCTION / 2,
            _ => MACHINE_INSTRUCTION,
        },
        [to, from] if to.bits().max(from.bits()) == 64 => 2 * MACHINE_INSTRUCTION,
        _ => MACHINE_INSTRUCTION,
    }
}

/// A product, or a product and a sum.
fn product(mnemonic: &Mnemonic, scalar_type: ScalarType) -> u64 {
    if scalar_type.is_float() {
        return 1;
    }
    let is_wide = scalar_type.bits() == 64;
    let product = match mnemonic.modifiers().mul_mode {
        Some(MulMode::High) if is_wide => 10,
        _ if is_wide => 4,
        _ => 1,
    };
    let has_wide_sum =
        is_wide || mnemonic.modifiers().mul_mode == Some(MulMode::Wide) && scalar_type.bits() == 32;
    match (mnemonic.opcode(), has_wide_sum) {
        (Opcode::Mad, true) => product + 2,
        _ => product,
    }
}

/// Quotients, remainders, reciprocals and roots: ptxas expands them all, integer ones by constants too.
fn quotient(mnemonic: &Mnemonic, scalar_type: ScalarType) -> u64 {
    match (scalar_type.is_float(), scalar_type.bits()) {
        (false, 64) => 80,
        (false, _) => 25,
        (true, 64) => 40,
        (true, _) if mnemonic.modifiers().rounding.is_some() => 25,
        (true, _) => 5,
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
        let cost = |text: &str| machine_cost(&Mnemonic::parse(text));
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
}
