//! What passes over addresses share.

use oriole_ir::{
    AddressShape, Base, Definition, Editor, Format, Function, Instruction, Offset, Operand,
    ShapeKind, ShapeNode, Use, Value,
};
use oriole_isa::cost::{CostModel, MACHINE_INSTRUCTION};
use oriole_isa::{MulMode, Opcode, ScalarType, build};

/// Offsets of accesses on the machine have 24 bits.
pub(crate) const OFFSETS: std::ops::Range<i64> = -(1 << 23)..1 << 23;

/// The value that an access adds its offset to.
pub(crate) fn address_of(function: &Function, instruction: Instruction) -> Option<Value> {
    match function.access(instruction)?.address?.base {
        Base::Value(value) => Some(value),
        Base::Symbol(_) | Base::Absolute => None,
    }
}

/// Whether a value is read by accesses alone, as their address.
pub(crate) fn is_only_address(function: &Function, value: Value) -> bool {
    function.uses_of(value).all(|user| match user {
        Use::Instruction(reader) => {
            address_of(function, reader) == Some(value)
                && function.uses(reader).filter(|&own| own == value).count() == 1
        }
        Use::Edge(_) => false,
    })
}

/// What an instruction costs beside those that read it: a shifted value, or a product that is no wider than the machine's, is one instruction with
/// each sum that it is in.
pub(crate) fn cost(function: &Function, instruction: Instruction, model: CostModel) -> u64 {
    let is_sum = |it: Instruction| function.format(it).mnemonic.opcode() == Opcode::Add;
    let is_in_sums = |it: Instruction| {
        let mnemonic = &function.format(it).mnemonic;
        let is_wide = mnemonic.modifiers().mul_mode == Some(MulMode::Wide);
        let is_narrow = mnemonic.first_type().is_some_and(|own| own.bits() == 32);
        let fits = match mnemonic.opcode() {
            Opcode::Mul => is_wide || is_narrow,
            opcode => opcode == Opcode::Shl,
        };
        fits && function.results(it).all(|result| {
            let mut users = function.uses_of(result);
            users.all(|user| matches!(user, Use::Instruction(reader) if is_sum(reader)))
        })
    };
    if is_in_sums(instruction) {
        return 0;
    }
    let is_product = |value: Value| {
        let Definition::Instruction(it) = function.values()[value].definition else {
            return false;
        };
        function.format(it).mnemonic.opcode() == Opcode::Mul && is_in_sums(it)
    };
    match is_sum(instruction) && function.uses(instruction).any(is_product) {
        true => MACHINE_INSTRUCTION,
        false => model.cost(&function.format(instruction).mnemonic),
    }
}

/// Makes an instruction give a value and a number, or that value.
pub(crate) fn rewrite_as_offset(
    editor: &mut Editor<'_>,
    instruction: Instruction,
    base: Value,
    far: i64,
) {
    let bits = editor.function().values()[base].scalar_type.bits();
    if far == 0 {
        let untyped = ScalarType::untyped(bits).expect("32 or 64 bits");
        let format = editor.plain_format(&build::copy(untyped), 2);
        let operands = [Operand::Result(0), Operand::Value(base)];
        editor.rewrite(instruction, format, &operands);
    } else {
        let signed = ScalarType::integer(true, bits).expect("32 or 64 bits");
        let format = editor.plain_format(&build::typed(Opcode::Add, signed), 3);
        let far = editor.integer(far as u64, false);
        let operands = [Operand::Result(0), Operand::Value(base), far];
        editor.rewrite(instruction, format, &operands);
    }
}

/// The format of an access whose address is a base and a constant; its operands become those of that format.
pub(crate) fn format_with_address(
    editor: &mut Editor<'_>,
    access: Instruction,
    operands: &mut Vec<Operand>,
    address: AddressShape,
    base: Operand,
    offset: i64,
) -> Format {
    let format = editor.function().format(access);
    let mut shape = format.shape.to_vec();
    let leaf = operands.len() - format.leaves.len() + address.leaf;
    let node = address.node;
    shape.drain(node..node + shape[node].size as usize);
    let group = |kind, size| ShapeNode {
        kind,
        size,
        ..ShapeNode::LEAF
    };
    operands[leaf] = base;
    if address.offset != Offset::None {
        operands.remove(leaf + 1);
    }
    if offset == 0 {
        shape.splice(node..node, [group(ShapeKind::Address, 2), ShapeNode::LEAF]);
    } else {
        let nodes = [
            group(ShapeKind::Address, 4),
            group(ShapeKind::Sum, 3),
            ShapeNode::LEAF,
            ShapeNode::LEAF,
        ];
        shape.splice(node..node, nodes);
        operands.insert(leaf + 1, editor.integer(offset as u64, false));
    }
    editor.format_with_shape(access, &shape)
}
