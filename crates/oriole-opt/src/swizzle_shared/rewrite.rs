//! Has accesses look for their bytes elsewhere.

use super::layout::{Layout, Padding};
use super::width;
use oriole_analysis::memory_requests::Request;
use oriole_ir::{
    AddressShape, Base, Block, Editor, FormatData, Instruction, Offset, Operand, ShapeKind,
    ShapeNode, Symbol, Value,
};
use oriole_isa::{MulMode, Opcode, ScalarType, build};
use oriole_syntax::tree::Prefix;
use std::collections::BTreeMap;

/// Where the address in shared memory of an access stands among its operands. Of a copy it is the first of two.
pub(super) fn address_place(format: &FormatData) -> Option<AddressShape> {
    if format.mnemonic.opcode() != Opcode::CpAsync {
        return format.address;
    }
    let first = format.shape.first()?;
    let size = first.size as usize;
    if format.opaque || first.kind != ShapeKind::Address || first.prefix != Prefix::None {
        return None;
    }
    let offset = match &format.shape[1..size] {
        [ShapeNode::LEAF] => Offset::None,
        [sum, ShapeNode::LEAF, ShapeNode::LEAF] if sum.kind == ShapeKind::Sum => Offset::Added,
        _ => return None,
    };
    Some(AddressShape {
        node: 0,
        leaf: 0,
        offset,
    })
}

/// Addresses that were computed, by block, what they are based on and what was added to that.
type Computed = BTreeMap<(Block, Computable), Value>;

/// A base and what is added to it; the same in one block, wherever it stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Computable {
    Value(Value, i64),
    Symbol(Symbol, i64),
}

/// Has all accesses look for their bytes where a layout puts them; `origin` is the first array.
pub(super) fn rewrite(
    editor: &mut Editor<'_>,
    requests: &[Request],
    origin: Symbol,
    layout: Layout,
) {
    let mut computed = Computed::new();
    for request in requests {
        let access = request.instruction;
        // What arrays are called may have changed since.
        let address = editor.function().address(access).or_else(|| {
            let place = address_place(editor.function().format(access))?;
            debug_assert_eq!(place.leaf, 0, "copies write to their first operand");
            editor.function().operand_address(access, 0)
        });
        let (Some(address), Some(block)) = (address, editor.function().block_of(access)) else {
            continue;
        };
        let (low, high) = layout.split_offset(address.offset);
        let key = match address.base {
            Base::Symbol(symbol) if symbol == origin && layout.is_relative() => {
                let moved = layout.apply(address.offset as u64) as i64;
                set_address(editor, access, Operand::Symbol(symbol), moved);
                continue;
            }
            Base::Symbol(symbol) => Computable::Symbol(symbol, low),
            Base::Value(value) => Computable::Value(value, low),
            Base::Absolute => continue,
        };
        let moved = match computed.get(&(block, key)) {
            Some(&moved) => moved,
            None => {
                let moved = moved_address(editor, access, key, origin, layout);
                computed.insert((block, key), moved);
                moved
            }
        };
        set_address(editor, access, Operand::Value(moved), high);
    }
}

/// Computes where a layout puts an address, before an access.
fn moved_address(
    editor: &mut Editor<'_>,
    access: Instruction,
    of: Computable,
    origin: Symbol,
    layout: Layout,
) -> Value {
    let bits = match of {
        Computable::Value(value, _) => width(editor.function(), value).unwrap_or(32),
        Computable::Symbol(..) => 32,
    };
    let mut insertion = Insertion {
        editor,
        access,
        bits,
    };
    let (mut at, offset) = match of {
        Computable::Value(value, offset) => (value, offset),
        Computable::Symbol(symbol, offset) => (insertion.address_of(symbol), offset),
    };
    if offset != 0 {
        let offset = insertion.editor.integer(offset as u64, false);
        at = insertion.binary(Opcode::Add, true, Operand::Value(at), offset);
    }
    let mut within = at;
    if layout.is_relative() {
        let origin = Operand::Value(insertion.address_of(origin));
        within = insertion.binary(Opcode::Sub, true, Operand::Value(at), origin);
    }
    match layout {
        Layout::Swizzled(swizzle) => {
            let shift = insertion.editor.integer(u64::from(swizzle.shift), true);
            let shifted = insertion.binary(Opcode::Shr, false, Operand::Value(within), shift);
            let mask = insertion.editor.integer(u64::from(swizzle.mask), false);
            let word = insertion.logic(Opcode::And, shifted, mask);
            insertion.logic(Opcode::Xor, at, Operand::Value(word))
        }
        Layout::Padded(padding) => {
            let row = insertion.row(within, padding);
            let pad = insertion.editor.integer(u64::from(padding.pad), false);
            let held = ScalarType::integer(true, bits).expect("32 or 64 bits");
            let sources = [Operand::Value(row), pad, Operand::Value(at)];
            insertion.insert(&build::mad(MulMode::Low, held), &sources)
        }
    }
}

/// Inserts instructions before an access.
struct Insertion<'run, 'function> {
    editor: &'run mut Editor<'function>,
    access: Instruction,
    bits: u32,
}

impl Insertion<'_, '_> {
    fn insert(&mut self, mnemonic: &oriole_isa::MnemonicText, sources: &[Operand]) -> Value {
        let mut operands = vec![Operand::Result(0)];
        operands.extend_from_slice(sources);
        let format = self.editor.plain_format(mnemonic, operands.len());
        let held = ScalarType::untyped(self.bits).expect("32 or 64 bits");
        let inserted = self
            .editor
            .insert_before(self.access, format, &operands, &[held]);
        self.editor.copy_line(self.access, inserted);
        let mut results = self.editor.function().results(inserted);
        results.next().expect("it has one result")
    }

    /// The number of the row that an offset lies in.
    fn row(&mut self, offset: Value, padding: Padding) -> Value {
        let offset = Operand::Value(offset);
        if padding.row.is_power_of_two() {
            let shift = u64::from(padding.row.trailing_zeros());
            let shift = self.editor.integer(shift, true);
            return self.binary(Opcode::Shr, true, offset, shift);
        }
        let held = ScalarType::integer(false, self.bits).expect("32 or 64 bits");
        let multiplier = self.editor.integer(padding.multiplier(), false);
        if self.bits == 32 {
            return self.insert(&build::mul(MulMode::High, held), &[offset, multiplier]);
        }
        let product = self.insert(&build::mul(MulMode::Low, held), &[offset, multiplier]);
        let half = self.editor.integer(32, true);
        self.binary(Opcode::Shr, false, Operand::Value(product), half)
    }

    fn address_of(&mut self, symbol: Symbol) -> Value {
        let held = ScalarType::integer(false, self.bits).expect("32 or 64 bits");
        self.insert(&build::mov(held), &[Operand::Symbol(symbol)])
    }

    fn binary(&mut self, opcode: Opcode, is_signed: bool, left: Operand, right: Operand) -> Value {
        let held = ScalarType::integer(is_signed, self.bits).expect("32 or 64 bits");
        self.insert(&build::typed(opcode, held), &[left, right])
    }

    fn logic(&mut self, opcode: Opcode, left: Value, right: Operand) -> Value {
        let held = ScalarType::untyped(self.bits).expect("32 or 64 bits");
        self.insert(&build::typed(opcode, held), &[Operand::Value(left), right])
    }
}

/// Gives an access the address of a base and a constant.
fn set_address(editor: &mut Editor<'_>, access: Instruction, base: Operand, offset: i64) {
    let function = editor.function();
    let format = function.format(access);
    let Some(place) = address_place(format) else {
        return;
    };
    let mut shape = format.shape.to_vec();
    let mut operands = function.operands(access).to_vec();
    let leaf = operands.len() - format.leaves.len() + place.leaf;
    let node = place.node;
    shape.drain(node..node + shape[node].size as usize);
    let group = |kind, size| ShapeNode {
        kind,
        size,
        ..ShapeNode::LEAF
    };
    operands[leaf] = base;
    if place.offset != Offset::None {
        operands.remove(leaf + 1);
    }
    if offset == 0 {
        shape.splice(node..node, [group(ShapeKind::Address, 2), ShapeNode::LEAF]);
    } else {
        let address = [
            group(ShapeKind::Address, 4),
            group(ShapeKind::Sum, 3),
            ShapeNode::LEAF,
            ShapeNode::LEAF,
        ];
        shape.splice(node..node, address);
        operands.insert(leaf + 1, editor.integer(offset as u64, false));
    }
    let format = editor.format_with_shape(access, &shape);
    editor.rewrite(access, format, &operands);
}
