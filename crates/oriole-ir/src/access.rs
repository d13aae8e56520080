//! What loads, stores and atomics do to memory: decoded here once, for everyone who asks.
//!
//! `[a]`, `[a+4]`, `[a+-4]`, `[variable+4]` and `[64]` are all a [`Base`] and an offset. An address that is anything else (a
//! pinned register, a sum of two names) is unknown, and so is what instructions of other kinds do: ask their effects.

use crate::entities::{Constant, Instruction, Symbol, Value};
use crate::format::Offset;
use crate::function::Function;
use crate::operand::Operand;
use oriole_isa::{Mnemonic, Opcode, Ordering, ScalarType, Space};
use oriole_syntax::literal::Literal;

/// What an address is relative to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Base {
    /// A value.
    Value(Value),
    /// A variable.
    Symbol(Symbol),
    /// Nothing: the offset is the address.
    Absolute,
}

/// An address: a base and a constant number of bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Address {
    /// What it is relative to.
    pub base: Base,
    /// How far it is from there.
    pub offset: i64,
}

/// What an access does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccessKind {
    /// It reads: `ld`, `ldu`.
    Load,
    /// It writes: `st`.
    Store,
    /// It reads and writes at once: `atom`, `red`.
    Atomic,
}

/// An access to memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    /// What it does.
    pub kind: AccessKind,
    /// The state space its address is in.
    pub space: Space,
    /// Where; nothing if that is no base and constant.
    pub address: Option<Address>,
    /// The type of its elements.
    pub element: ScalarType,
    /// How many elements it has.
    pub vector: u32,
    /// How many bytes all of them have.
    pub bytes: u32,
    /// How it is ordered with other accesses.
    pub order: Ordering,
    /// Whether it happens just as often as it is written.
    pub volatile: bool,
}

impl Access {
    /// Whether it is neither volatile nor ordered with anything: only what is in memory counts.
    #[inline]
    pub fn is_weak(&self) -> bool {
        !self.volatile && self.order.is_none()
    }

    /// The variable it names.
    pub fn variable(&self) -> Option<Symbol> {
        match self.address?.base {
            Base::Symbol(symbol) => Some(symbol),
            Base::Value(_) | Base::Absolute => None,
        }
    }
}

/// What all accesses of one format have in common: everything but the address, and how they are ordered, which its effects say.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AccessShape {
    kind: AccessKind,
    space: Space,
    element: ScalarType,
    vector: u32,
    bytes: u32,
}

impl AccessShape {
    /// What loads, stores and atomics of a mnemonic have in common.
    pub fn of(mnemonic: &Mnemonic) -> Option<AccessShape> {
        let kind = match mnemonic.opcode() {
            Opcode::Ld | Opcode::Ldu => AccessKind::Load,
            Opcode::St => AccessKind::Store,
            Opcode::Atom | Opcode::Red => AccessKind::Atomic,
            _ => return None,
        };
        let element = mnemonic.first_type()?;
        let vector = mnemonic.vector_width().max(1);
        Some(AccessShape {
            kind,
            space: mnemonic.space()?,
            element,
            vector,
            // A predicate takes a byte.
            bytes: element.bits().max(8) / 8 * vector,
        })
    }
}

impl Function {
    /// What a load, store or atomic does; nothing for other instructions.
    #[inline]
    pub fn access(&self, instruction: Instruction) -> Option<Access> {
        let format = self.format(instruction);
        let AccessShape {
            kind,
            space,
            element,
            vector,
            bytes,
        } = format.access?;
        Some(Access {
            kind,
            space,
            address: self.address(instruction),
            element,
            vector,
            bytes,
            order: format.effects.ordering,
            volatile: format.effects.volatile,
        })
    }

    /// The only address among the operands of an instruction, whatever it does, if it is a base and a constant.
    pub fn address(&self, instruction: Instruction) -> Option<Address> {
        let shape = self.format(instruction).address?;
        let leaves = self.leaves(instruction);
        let offset = match shape.offset {
            Offset::None => 0,
            Offset::Added => self.offset(leaves[shape.leaf + 1])?,
            Offset::Subtracted => self.offset(leaves[shape.leaf + 1])?.checked_neg()?,
        };
        Some(match leaves[shape.leaf] {
            Operand::Value(value) => Address {
                base: Base::Value(value),
                offset,
            },
            Operand::Symbol(symbol) => Address {
                base: Base::Symbol(symbol),
                offset,
            },
            Operand::Constant(constant) => Address {
                base: Base::Absolute,
                offset: self.signed(constant)?.checked_add(offset)?,
            },
            _ => return None,
        })
    }

    /// The address that a top-level operand of an instruction is, if it is a base and a constant that is added.
    pub fn operand_address(&self, instruction: Instruction, operand: u16) -> Option<Address> {
        let format = self.format(instruction);
        if format.opaque {
            return None;
        }
        let of_operand = |place: &usize| {
            let leaf = &format.leaves[*place];
            leaf.operand == operand && leaf.in_address
        };
        let places: Vec<usize> = (0..format.leaves.len()).filter(of_operand).collect();
        let has_difference = || {
            let mut nodes = format.shape.iter();
            nodes.any(|node| node.kind == crate::format::ShapeKind::Difference)
        };
        let leaves = self.leaves(instruction);
        let (base, offset) = match places[..] {
            [base] => (leaves[base], 0),
            [base, offset] if !has_difference() => (leaves[base], self.offset(leaves[offset])?),
            _ => return None,
        };
        let base = match base {
            Operand::Value(value) => Base::Value(value),
            Operand::Symbol(symbol) => Base::Symbol(symbol),
            _ => return None,
        };
        Some(Address { base, offset })
    }

    fn offset(&self, operand: Operand) -> Option<i64> {
        match operand {
            Operand::Constant(constant) => self.signed(constant),
            _ => None,
        }
    }

    fn signed(&self, constant: Constant) -> Option<i64> {
        match self.constants[constant].literal? {
            Literal::Integer { bits, .. } => Some(bits as i64),
            Literal::Single(_) | Literal::Double(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text;

    /// A function with one instruction between the definition of values and the end.
    fn with(instruction: &str) -> Function {
        let source = format!(
            "func f {{
                variable @local: local
                variable @other: local
                pinned %r7: b64
            block0():
                v0:b64 = mov.u64 #0, 64
                v1:b32 = mov.u32 #0, 1
                v2:pred = setp.eq.u32 #0, v1, 1
                {instruction}
                ret
            }}"
        );
        let mut functions = text::read(&source).unwrap_or_else(|errors| panic!("{errors:?}"));
        functions.pop().expect("one function")
    }

    fn access(instruction: &str) -> Option<Access> {
        let function = with(instruction);
        let mut instructions = function.instructions_of(function.entry()).skip(3);
        function.access(instructions.next().expect("an instruction"))
    }

    fn address(operand: &str) -> Option<(Base, i64)> {
        let access = access(&format!("st.local.u32 {operand}, v1")).expect("a store");
        access.address.map(|address| (address.base, address.offset))
    }

    #[test]
    fn an_address_is_a_base_and_an_offset() {
        let base = Base::Value(Value::from_index(0));
        let variable = Base::Symbol(Symbol::from_index(0));
        assert_eq!(address("[v0]"), Some((base, 0)));
        assert_eq!(address("[v0+4]"), Some((base, 4)));
        assert_eq!(address("[v0-4]"), Some((base, -4)));
        assert_eq!(address("[v0+-4]"), Some((base, -4)));
        assert_eq!(address("[v0--4]"), Some((base, 4)));
        assert_eq!(address("[v0+0xFFFFFFFFFFFFFFFC]"), Some((base, -4)));
        assert_eq!(address("[@local]"), Some((variable, 0)));
        assert_eq!(address("[@local+4]"), Some((variable, 4)));
        assert_eq!(address("[64]"), Some((Base::Absolute, 64)));
        assert_eq!(address("[64+8]"), Some((Base::Absolute, 72)));
    }

    #[test]
    fn other_addresses_are_unknown() {
        for operand in [
            "[pinned %r7]",
            "[@local+@other]",
            "[v0+v0]",
            "[-v0]",
            "[v0+- 4]",
            "[v0+0f3F800000]",
            "[?]",
            "[v0--9223372036854775808S]",
            "[9223372036854775807+1]",
        ] {
            assert_eq!(address(operand), None, "{operand}");
        }
    }

    #[test]
    fn an_access_has_space_size_and_order() {
        let cases = [
            (
                "v3:b32 = ld.u32 #0, [v0]",
                (AccessKind::Load, Space::Generic, 1, 4),
                (Ordering::NONE, false),
            ),
            (
                "v3:b32, v4:b32 = ld.global.nc.v2.f32 {#0, #1}, [v0+8]",
                (AccessKind::Load, Space::Global, 2, 8),
                (Ordering::NONE, false),
            ),
            (
                "st.shared::cta.v4.b8 [v0], {v1, v1, v1, v1} if v2",
                (AccessKind::Store, Space::Shared, 4, 4),
                (Ordering::NONE, false),
            ),
            (
                "st.volatile.shared.u64 [v0], v0",
                (AccessKind::Store, Space::Shared, 1, 8),
                (Ordering::RELAXED, true),
            ),
            (
                "v3:b32 = ld.relaxed.gpu.global.u32 #0, [v0]",
                (AccessKind::Load, Space::Global, 1, 4),
                (Ordering::RELAXED, false),
            ),
            (
                "v3:b32 = ld.acquire.gpu.global.u16 #0, [v0]",
                (AccessKind::Load, Space::Global, 1, 2),
                (Ordering::RELAXED.union(Ordering::ACQUIRE), false),
            ),
            (
                "v3:b32 = ld.shared::cluster.u32 #0, [v0]",
                (AccessKind::Load, Space::SharedCluster, 1, 4),
                (Ordering::NONE, false),
            ),
            (
                "v3:b32 = ld.param.u8 #0, [@local]",
                (AccessKind::Load, Space::Param, 1, 1),
                (Ordering::NONE, false),
            ),
            (
                "red.global.add.u32 [v0], v1",
                (AccessKind::Atomic, Space::Global, 1, 4),
                (Ordering::RELAXED, false),
            ),
        ];
        for (instruction, (kind, space, vector, bytes), (order, volatile)) in cases {
            let access = access(instruction).expect(instruction);
            let found = (access.kind, access.space, access.vector, access.bytes);
            assert_eq!(found, (kind, space, vector, bytes), "{instruction}");
            let found = (access.order, access.volatile);
            assert_eq!(found, (order, volatile), "{instruction}");
            let is_weak = order.is_none() && !volatile;
            assert_eq!(access.is_weak(), is_weak, "{instruction}");
        }
    }

    #[test]
    fn other_instructions_are_no_accesses() {
        assert_eq!(access("v3:b32 = add.u32 #0, v1, 1"), None);
        assert_eq!(access("prefetch.global.L1 [v0]"), None);
        assert_eq!(access("st.global.u32 [pinned %r7], 1, 1, 1, 1"), None);
        assert_eq!(access("cp.async.ca.shared.global [v0], [v0], 4"), None);
    }
}
