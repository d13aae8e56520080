//! Has accesses look for their bytes elsewhere.

use super::layout::{Layout, Padding};
use super::rows::{Row, Sum};
use super::width;
use crate::addresses::format_with_address;
use oriole_analysis::memory_requests::Request;
use oriole_ir::{
    Address, AddressShape, Base, Block, Editor, FormatData, Instruction, Offset, Operand,
    ShapeKind, ShapeNode, Symbol, Value,
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

/// What is computed for an access, from a base: the same in one block, wherever it stands.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Computable {
    /// Where a layout puts a value plus a constant.
    Value(Value, i64),
    /// Where it puts an array plus a constant.
    Symbol(Symbol, i64),
    /// A value plus the padding of so many rows for each of some values.
    Row(Value, Vec<(Value, u64)>),
}

/// Where a layout puts an address.
#[derive(Clone, Debug)]
pub(super) enum Place {
    /// At an array plus a constant.
    Constant(Symbol, i64),
    /// At something that is computed plus a constant.
    Computed(Computable, i64),
}

/// How addresses are moved.
#[derive(Clone, Copy)]
pub(super) struct Plan<'run> {
    pub layout: Layout,
    /// The first array.
    pub first: Symbol,
    /// What values are the sum of.
    pub sums: &'run BTreeMap<Value, Sum>,
}

impl Plan<'_> {
    /// Where an address is put, if it has a base.
    pub fn place(&self, address: Address) -> Option<Place> {
        let Address { base, offset } = address;
        let (low, high) = self.layout.split_offset(offset);
        Some(match base {
            Base::Symbol(symbol) if symbol == self.first && self.layout.is_relative() => {
                Place::Constant(symbol, self.layout.apply(offset as u64) as i64)
            }
            Base::Symbol(symbol) => Place::Computed(Computable::Symbol(symbol, low), high),
            Base::Value(value) => match self.row(value, offset) {
                Some((row, pad)) => {
                    let moved = offset + row.constant * i64::from(pad);
                    Place::Computed(Computable::Row(value, row.terms), moved)
                }
                None => Place::Computed(Computable::Value(value, low), high),
            },
            Base::Absolute => return None,
        })
    }

    /// The row that a value plus an offset lies in, and how many bytes lie behind each.
    fn row(&self, value: Value, offset: i64) -> Option<(Row, u32)> {
        let Layout::Padded(padding) = self.layout else {
            return None;
        };
        let row = self.sums.get(&value)?.row(offset, padding)?;
        Some((row, padding.pad))
    }
}

/// Has all accesses look for their bytes where a layout puts them.
pub(super) fn rewrite(editor: &mut Editor<'_>, requests: &[Request], plan: Plan<'_>) {
    let mut computed: BTreeMap<(Block, Computable), Value> = BTreeMap::new();
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
        let (base, offset) = match plan.place(address) {
            Some(Place::Constant(symbol, offset)) => (Operand::Symbol(symbol), offset),
            Some(Place::Computed(computable, offset)) => {
                let key = (block, computable);
                let moved = match computed.get(&key) {
                    Some(&moved) => moved,
                    None => {
                        let moved = moved_address(editor, access, &key.1, plan);
                        computed.insert(key, moved);
                        moved
                    }
                };
                (Operand::Value(moved), offset)
            }
            None => continue,
        };
        set_address(editor, access, base, offset);
    }
}

/// Computes where a layout puts an address, before an access.
fn moved_address(
    editor: &mut Editor<'_>,
    access: Instruction,
    of: &Computable,
    plan: Plan<'_>,
) -> Value {
    let bits = match *of {
        Computable::Value(value, _) | Computable::Row(value, _) => {
            width(editor.function(), value).unwrap_or(32)
        }
        Computable::Symbol(..) => 32,
    };
    let mut insertion = Insertion {
        editor,
        access,
        bits,
    };
    let layout = plan.layout;
    let (mut at, offset) = match of {
        &Computable::Value(value, offset) => (value, offset),
        &Computable::Symbol(symbol, offset) => (insertion.address_of(symbol), offset),
        Computable::Row(value, terms) => return insertion.padded(*value, terms, layout),
    };
    if offset != 0 {
        let offset = insertion.editor.integer(offset as u64, false);
        at = insertion.binary(Opcode::Add, true, Operand::Value(at), offset);
    }
    let mut within = at;
    if layout.is_relative() {
        let origin = Operand::Value(insertion.address_of(plan.first));
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
            insertion.plus_product(at, row, u64::from(padding.pad))
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

    /// A value plus the padding of so many rows for each of some values.
    fn padded(&mut self, value: Value, terms: &[(Value, u64)], layout: Layout) -> Value {
        let Layout::Padded(padding) = layout else {
            return value;
        };
        terms.iter().fold(value, |sum, &(value, rows)| {
            self.plus_product(sum, value, rows * u64::from(padding.pad))
        })
    }

    /// A value plus so many times another.
    fn plus_product(&mut self, value: Value, other: Value, times: u64) -> Value {
        let times = self.editor.integer(times, false);
        let held = ScalarType::integer(true, self.bits).expect("32 or 64 bits");
        let sources = [Operand::Value(other), times, Operand::Value(value)];
        self.insert(&build::mad(MulMode::Low, held), &sources)
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
    let Some(place) = address_place(function.format(access)) else {
        return;
    };
    let mut operands = function.operands(access).to_vec();
    let format = format_with_address(editor, access, &mut operands, place, base, offset);
    editor.rewrite(access, format, &operands);
}
