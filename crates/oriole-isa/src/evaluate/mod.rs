//! What value instructions compute, bit for bit.
//!
//! [`evaluate`] covers every opcode whose results depend on its operands only: no memory, no other threads. It answers
//! `None` for whatever is not certain, so that nothing uncertain is ever folded: `.approx` and `.full` forms, stochastic
//! rounding, division by zero (the manual leaves it to the machine), opcodes it does not know, operands that do not fit.
//! [`approximate`] answers for some of those, within the manual's error, for execution rather than folding.
//!
//! **Inputs** are the read operands in source order, each as the low bits of a `u128`; bits above the operand's type are
//! ignored. A vector operand is given element by element, a predicate as 0 or 1 (a `!` is applied by the caller), the
//! immediate of `lop3` as an input like any other. Instructions that read the carry flag take it as one more input, last.
//!
//! **Outputs** are the written registers in source order: `d` and then `p` of `d|p`. A value narrower than its register is
//! extended by [`extend`]. The carry flag, where the instruction writes it, is [`Outputs::carry`].
//!
//! Rounding is done on exact integers and never depends on the host. Rules about NaN patterns live in `nan`, apart,
//! because the manual leaves most of them open and only hardware can settle them.

mod approximate;
mod bits;
mod compare;
mod convert;
mod float;
mod float_format;
mod integer;
mod nan;
mod video;

use crate::mnemonic::Mnemonic;
use crate::modifier::Flag;
use crate::opcode::Opcode;
use crate::scalar_type::ScalarType;

pub use approximate::approximate;
pub use video::{VideoOperands, evaluate_video};

/// The bits of one operand, in the low end.
pub type Bits = u128;

/// The most registers a value instruction writes.
const MAXIMUM_OUTPUTS: usize = 8;

/// The results of an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outputs {
    values: [Bits; MAXIMUM_OUTPUTS],
    count: u8,
    /// The carry flag, where the instruction writes it. After a subtraction it is set when nothing was borrowed.
    pub carry: Option<bool>,
}

impl Outputs {
    /// The written registers in source order.
    pub fn values(&self) -> &[Bits] {
        &self.values[..usize::from(self.count)]
    }

    /// One written register.
    pub fn one(value: Bits) -> Outputs {
        let mut values = [0; MAXIMUM_OUTPUTS];
        values[0] = value;
        Outputs {
            values,
            count: 1,
            carry: None,
        }
    }

    fn two(first: Bits, second: Bits) -> Outputs {
        let mut outputs = Outputs::one(first);
        outputs.values[1] = second;
        outputs.count = 2;
        outputs
    }

    fn with_carry(value: Bits, carry: Option<bool>) -> Outputs {
        Outputs {
            carry,
            ..Outputs::one(value)
        }
    }
}

/// The results of a value instruction, or `None` where they are not certain. See the module documentation for the order
/// of inputs and outputs; video instructions need their selectors, see [`evaluate_video`].
///
/// ```
/// use oriole_isa::{Mnemonic, evaluate};
///
/// let mad = Mnemonic::parse("mad.wide.s32");
/// let outputs = evaluate(&mad, &[0xffff_ffff, 3, 1]).expect("certain");
/// assert_eq!(outputs.values(), [0xffff_ffff_ffff_fffe]);
///
/// let divide = Mnemonic::parse("div.approx.f32");
/// assert!(evaluate(&divide, &[0x3f80_0000, 0x4000_0000]).is_none());
/// ```
pub fn evaluate(mnemonic: &Mnemonic, inputs: &[Bits]) -> Option<Outputs> {
    if mnemonic.is_opaque() || mnemonic.has(Flag::Approximate) || mnemonic.has(Flag::FullRange) {
        return None;
    }
    // No arithmetic is wider than a double word; only `mov` knows `.b128`.
    let limit = if mnemonic.opcode() == Opcode::Mov {
        128
    } else {
        64
    };
    if mnemonic
        .types()
        .iter()
        .any(|scalar_type| scalar_type.bits() > limit)
    {
        return None;
    }
    if mnemonic.opcode() == Opcode::Cvt {
        return convert::evaluate(mnemonic, inputs).map(Outputs::one);
    }
    if mnemonic.opcode() == Opcode::CvtPack {
        return convert::pack(mnemonic, inputs).map(Outputs::one);
    }
    let first = mnemonic.first_type()?;
    match mnemonic.opcode() {
        Opcode::Mov => move_value(mnemonic, first, inputs),
        Opcode::Set | Opcode::Setp => compare::evaluate(mnemonic, inputs),
        Opcode::Selp | Opcode::Slct | Opcode::Testp => {
            compare::select(mnemonic, inputs).map(Outputs::one)
        }
        Opcode::Lop3 => bits::lop3(mnemonic, inputs),
        Opcode::Add
        | Opcode::Sub
        | Opcode::Mul
        | Opcode::Mad
        | Opcode::Fma
        | Opcode::Div
        | Opcode::Rcp
        | Opcode::Sqrt
        | Opcode::Abs
        | Opcode::Neg
        | Opcode::Min
        | Opcode::Max
        | Opcode::Copysign
            if first.is_float() =>
        {
            float::evaluate(mnemonic, inputs).map(Outputs::one)
        }
        Opcode::Add
        | Opcode::Sub
        | Opcode::Mul
        | Opcode::Mad
        | Opcode::Mul24
        | Opcode::Mad24
        | Opcode::Sad
        | Opcode::Div
        | Opcode::Rem
        | Opcode::Abs
        | Opcode::Neg
        | Opcode::Min
        | Opcode::Max
        | Opcode::Dp4a
        | Opcode::Dp2a
        | Opcode::Addc
        | Opcode::Subc
        | Opcode::Madc => integer::evaluate(mnemonic, inputs),
        Opcode::Popc
        | Opcode::Clz
        | Opcode::Bfind
        | Opcode::Fns
        | Opcode::Brev
        | Opcode::Bfe
        | Opcode::Bfi
        | Opcode::Szext
        | Opcode::Bmsk
        | Opcode::And
        | Opcode::Or
        | Opcode::Xor
        | Opcode::Not
        | Opcode::Cnot
        | Opcode::Shf
        | Opcode::Shl
        | Opcode::Shr
        | Opcode::Prmt => bits::evaluate(mnemonic, inputs).map(Outputs::one),
        _ => None,
    }
}

/// The elements of an unpacking `mov` (`mov.b64 {a, b}, c`), lowest first.
pub fn evaluate_unpack(mnemonic: &Mnemonic, input: Bits, elements: usize) -> Option<Outputs> {
    let width = mnemonic.first_type()?.bits();
    if mnemonic.is_opaque()
        || mnemonic.opcode() != Opcode::Mov
        || mnemonic.modifiers().vector.is_some()
        || width > 128
        || !(2..=MAXIMUM_OUTPUTS).contains(&elements)
        || !(width as usize).is_multiple_of(elements)
    {
        return None;
    }
    let element_width = width / elements as u32;
    let mut outputs = Outputs::one(0);
    outputs.count = elements as u8;
    for (index, value) in outputs.values[..elements].iter_mut().enumerate() {
        *value = truncate(input >> (index as u32 * element_width), element_width);
    }
    Some(outputs)
}

/// A plain copy, a packing move of several elements, or a vector move.
fn move_value(mnemonic: &Mnemonic, first: ScalarType, inputs: &[Bits]) -> Option<Outputs> {
    let width = first.bits();
    if let Some(vector) = mnemonic.modifiers().vector {
        if inputs.len() != usize::from(vector) {
            return None;
        }
        let mut outputs = Outputs::one(0);
        outputs.count = vector;
        for (value, &input) in outputs.values.iter_mut().zip(inputs) {
            *value = truncate(input, width);
        }
        return Some(outputs);
    }
    if inputs.is_empty() || !(width as usize).is_multiple_of(inputs.len()) {
        return None;
    }
    let element_width = width / inputs.len() as u32;
    let packed = inputs
        .iter()
        .enumerate()
        .fold(0, |packed, (index, &input)| {
            packed | truncate(input, element_width) << (index as u32 * element_width)
        });
    Some(Outputs::one(packed))
}

/// The low `width` bits.
pub(crate) const fn truncate(value: Bits, width: u32) -> Bits {
    if width >= 128 {
        value
    } else {
        value & ((1 << width) - 1)
    }
}

/// The low `width` bits as a two's complement number.
pub(crate) const fn sign_extend(value: Bits, width: u32) -> i128 {
    if width >= 128 {
        value as i128
    } else {
        ((value << (128 - width)) as i128) >> (128 - width)
    }
}

/// The low bits as a number of the type: signed types are sign-extended.
pub(crate) const fn as_number(value: Bits, scalar_type: ScalarType) -> i128 {
    if scalar_type.is_signed() {
        sign_extend(value, scalar_type.bits())
    } else {
        truncate(value, scalar_type.bits()) as i128
    }
}

/// Widens a result to a register of `register_bits`: signed types are sign-extended, others zero-extended. This is how
/// `ld.s8` and `cvt.s8.s32` fill a 32-bit register.
pub const fn extend(value: Bits, scalar_type: ScalarType, register_bits: u32) -> Bits {
    truncate(as_number(value, scalar_type) as Bits, register_bits)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(text: &str, inputs: &[Bits]) -> Vec<Bits> {
        let mnemonic = Mnemonic::parse(text);
        let outputs = evaluate(&mnemonic, inputs).unwrap_or_else(|| panic!("{text}"));
        outputs.values().to_vec()
    }

    #[test]
    fn moves_pack_and_unpack() {
        assert_eq!(run("mov.b64", &[1, 2]), [0x2_0000_0001]);
        assert_eq!(run("mov.b32", &[0x1234, 0xf_5678]), [0x5678_1234]);
        assert_eq!(run("mov.u16", &[0xf_1234]), [0x1234]);
        let unpacked = evaluate_unpack(&Mnemonic::parse("mov.b64"), 0x4_0003_0002_0001, 4);
        assert_eq!(unpacked.expect("valid").values(), [1, 2, 3, 4]);
    }

    #[test]
    fn uncertain_results_are_none() {
        for (text, inputs) in [
            ("div.approx.f32", [1, 1]),
            ("div.full.f32", [1, 1]),
            ("div.u32", [5, 0]),
            ("rem.s64", [5, 0]),
            ("ld.global.u32", [0, 0]),
            ("add.sideways.u32", [1, 2]),
            ("shfl.sync.idx.b32", [0, 0]),
        ] {
            assert_eq!(evaluate(&Mnemonic::parse(text), &inputs), None, "{text}");
        }
        assert_eq!(evaluate(&Mnemonic::parse("add.u32"), &[1]), None);
        assert_eq!(evaluate(&Mnemonic::parse("add.u32"), &[1, 2, 3]), None);
        assert_eq!(evaluate(&Mnemonic::parse("add"), &[1, 2]), None);
    }

    #[test]
    fn extension_follows_the_type() {
        assert_eq!(extend(0x80, ScalarType::S8, 32), 0xffff_ff80);
        assert_eq!(extend(0x80, ScalarType::U8, 32), 0x80);
    }
}
