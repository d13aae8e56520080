//! Products and sums that ptxas may fuse: what passes make of the quirk `products-fuse` of [`ptxas::QUIRKS`].
//!
//! PTX lets a compiler turn `mul.f32` and `add.f32` without a rounding into one `fma`, which rounds once instead of twice,
//! and ptxas does unless it is told not to. Whether it does depends on who else reads the product and on where the two
//! stand. A rewrite that is exact in PTX can therefore change what a GPU computes: kernels of Black and Scholes gave other
//! last bits on an H200 once equal products were computed only once. So what may be fused is neither commoned nor moved.

use oriole_ir::{Definition, Function, Instruction, Use, Value};
use oriole_isa::{Opcode, ptxas};

/// Whether an instruction is a floating-point product, sum or difference without a rounding.
pub(crate) fn is_contractible(function: &Function, instruction: Instruction) -> bool {
    ptxas::is_contractible(&function.format(instruction).mnemonic)
}

/// Whether ptxas may fuse an instruction with another: a product that a sum reads, or a sum that reads a product.
pub(crate) fn may_fuse(function: &Function, instruction: Instruction) -> bool {
    if !is_contractible(function, instruction) {
        return false;
    }
    if function.format(instruction).mnemonic.opcode() == Opcode::Mul {
        function.results(instruction).any(|product| {
            function
                .uses_of(product)
                .any(|reader| adds(function, reader))
        })
    } else {
        function
            .uses(instruction)
            .any(|term| may_be_product(function, term))
    }
}

/// Whether a reader adds what it reads, or may hand it to someone who does.
fn adds(function: &Function, reader: Use) -> bool {
    match reader {
        Use::Edge(_) => true,
        Use::Instruction(reader) => match function.format(reader).mnemonic.opcode() {
            Opcode::Add | Opcode::Sub => is_contractible(function, reader),
            Opcode::Mov | Opcode::Neg | Opcode::Abs => true,
            _ => function.format(reader).is_guarded(),
        },
    }
}

/// Whether a value is a product, or may be handed one.
fn may_be_product(function: &Function, term: Value) -> bool {
    match function.values()[term].definition {
        Definition::Undefined => false,
        Definition::Parameter(_) => true,
        Definition::Instruction(definer) => match function.format(definer).mnemonic.opcode() {
            Opcode::Mul => is_contractible(function, definer),
            Opcode::Mov | Opcode::Neg | Opcode::Abs => true,
            _ => function.format(definer).is_guarded(),
        },
    }
}
