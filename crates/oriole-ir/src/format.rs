//! Instruction formats: what all instructions of one spelling have in common.
//!
//! What tells a format from others is its skeleton: guard, mnemonic, and the operands with every leaf replaced by a dot, for
//! example `@ld.global.v2.f32 {..},[.+.]`. A file has a few hundred of them however long it is, so decoding a mnemonic,
//! assigning roles to operands and finding effects is done once each, and an instruction is 16 bytes.
//! [`crate::Formats`] finds them.

use crate::access::AccessShape;
use crate::arithmetic::Node;
use crate::operand::Member;
use oriole_collections::SmallVec;
use oriole_isa::cost::CostClass;
use oriole_isa::{Effects, Flag, Mnemonic, MulMode, Opcode, Role, ScalarType, Space};
use oriole_syntax::tree::{Guard, Operand, OperandKind, Prefix};

/// What a node of an operand shape is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ShapeKind {
    /// A register, constant, name or sink.
    Leaf,
    /// `{ … }`
    Vector,
    /// `[ … ]`
    Address,
    /// `( … )`
    List,
    /// `a | b`
    Pair,
    /// `a + b`
    Sum,
    /// `a - b`
    Difference,
    /// `a[i]`
    Element,
}

impl ShapeKind {
    /// The shape of a tree operand.
    #[inline]
    pub fn of(kind: OperandKind) -> ShapeKind {
        match kind {
            OperandKind::Name
            | OperandKind::Number
            | OperandKind::Expression
            | OperandKind::Sink
            | OperandKind::String => ShapeKind::Leaf,
            OperandKind::Vector => ShapeKind::Vector,
            OperandKind::Address => ShapeKind::Address,
            OperandKind::List => ShapeKind::List,
            OperandKind::Pair => ShapeKind::Pair,
            OperandKind::Sum => ShapeKind::Sum,
            OperandKind::Difference => ShapeKind::Difference,
            OperandKind::Element => ShapeKind::Element,
        }
    }

    /// The tree operand of a group.
    ///
    /// # Panics
    /// For a leaf, whose kind depends on the operand.
    pub fn group(self) -> OperandKind {
        match self {
            ShapeKind::Leaf => panic!("a leaf is no group"),
            ShapeKind::Vector => OperandKind::Vector,
            ShapeKind::Address => OperandKind::Address,
            ShapeKind::List => OperandKind::List,
            ShapeKind::Pair => OperandKind::Pair,
            ShapeKind::Sum => OperandKind::Sum,
            ShapeKind::Difference => OperandKind::Difference,
            ShapeKind::Element => OperandKind::Element,
        }
    }
}

/// A node of an operand shape, prefix-coded like the tree's operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShapeNode {
    /// What it is.
    pub kind: ShapeKind,
    /// The sign before it.
    pub prefix: Prefix,
    /// Nodes below it and itself.
    pub size: u16,
    /// The selected part of a register, for a leaf.
    pub member: Member,
}

impl ShapeNode {
    /// A whole register, constant or name without a sign.
    pub const LEAF: ShapeNode = ShapeNode {
        kind: ShapeKind::Leaf,
        prefix: Prefix::None,
        size: 1,
        member: Member::WHOLE,
    };

    /// The shape of a node of the tree that is no part of a register.
    pub fn of(node: &Operand) -> ShapeNode {
        ShapeNode {
            kind: ShapeKind::of(node.kind),
            prefix: node.prefix,
            size: node.size,
            member: Member::WHOLE,
        }
    }
}

/// The shapes of all operands of an instruction, without its guard.
pub type Shape = Box<[ShapeNode]>;

/// What an instruction does with one leaf.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LeafRole {
    /// The role of the top-level operand the leaf belongs to; inside an address, [`Role::Use`].
    pub role: Role,
    /// Index of that operand.
    pub operand: u16,
    /// Whether it stands inside `[ ]`.
    pub in_address: bool,
    /// Whether registers here stay in flight behind the instruction, or nothing is known about them: never a value.
    pub pinned: bool,
}

/// What an address adds to its base.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Offset {
    /// Nothing: `[x]`.
    None,
    /// The next leaf: `[x+c]`.
    Added,
    /// The next leaf, negated: `[x-c]`.
    Subtracted,
}

/// Where an address of the form `[x]`, `[x+c]` or `[x-c]` stands among the operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AddressShape {
    /// Its node in the shape.
    pub node: usize,
    /// The leaf of its base.
    pub leaf: usize,
    /// What is added to the base.
    pub offset: Offset,
}

impl AddressShape {
    /// The only address of a shape, if it has that form.
    fn of(shape: &[ShapeNode]) -> Option<AddressShape> {
        let is_address = |node: &ShapeNode| node.kind == ShapeKind::Address;
        let node = shape.iter().position(is_address)?;
        let (address, rest) = shape[node..].split_at(shape[node].size as usize);
        if address[0].prefix != Prefix::None || rest.iter().any(is_address) {
            return None;
        }
        let offset = match &address[1..] {
            [ShapeNode::LEAF] => Offset::None,
            [sum, ShapeNode::LEAF, ShapeNode::LEAF] => match sum.kind {
                ShapeKind::Sum => Offset::Added,
                ShapeKind::Difference => Offset::Subtracted,
                _ => return None,
            },
            _ => return None,
        };
        let is_leaf = |node: &&ShapeNode| node.kind == ShapeKind::Leaf;
        Some(AddressShape {
            node,
            leaf: shape[..node].iter().filter(is_leaf).count(),
            offset,
        })
    }
}

/// What passes look for, a bit each. A function knows which of them its instructions ever had, so that a pass need not look where there
/// is nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traits(u16);

impl Traits {
    /// Makes an address of a state space a generic one.
    pub const MAKES_GENERIC: Traits = Traits(1);

    /// May be a copy of something, or of its opposite.
    pub const COPIES: Traits = Traits(2);
    /// Is a store.
    pub const STORES: Traits = Traits(4);
    /// Selects one of two values by a predicate.
    pub const SELECTS: Traits = Traits(8);
    /// Is guarded, and no branch.
    pub const GUARDED: Traits = Traits(16);
    /// Is a quotient or a remainder.
    pub const DIVIDES: Traits = Traits(32);
    /// Is a sum or a difference that saturates.
    pub const SATURATES: Traits = Traits(64);
    /// Copies something that is not one register as a whole, or to such.
    pub const TAKES_APART: Traits = Traits(128);
    /// Is a wide product, or extends 32 bits to 64.
    pub const EXTENDS: Traits = Traits(256);
    /// Compares something else than floating-point numbers.
    pub const COMPARES: Traits = Traits(512);
    /// Compares integers of 64 bits.
    pub const COMPARES_WIDE: Traits = Traits(1024);
    /// Multiplies matrices.
    pub const MULTIPLIES_MATRICES: Traits = Traits(2048);
    /// Names the local state space.
    pub const LOCAL: Traits = Traits(4096);

    fn of(mnemonic: &Mnemonic, simple: bool, plain: bool, guard: Guard) -> Traits {
        let mut traits = match mnemonic.opcode() {
            Opcode::Cvta if simple && !mnemonic.has(Flag::ToSpace) => Traits::MAKES_GENERIC,
            Opcode::Mov | Opcode::Not => Traits::COPIES,
            Opcode::St => Traits::STORES,
            Opcode::Selp => Traits::SELECTS,
            Opcode::Div | Opcode::Rem => Traits::DIVIDES,
            Opcode::Add | Opcode::Sub if mnemonic.has(Flag::Saturate) => Traits::SATURATES,
            Opcode::Mul if mnemonic.modifiers().mul_mode == Some(MulMode::Wide) => Traits::EXTENDS,
            Opcode::Cvt => match mnemonic.types() {
                [to, from] if (to.bits(), from.bits()) == (64, 32) => Traits::EXTENDS,
                _ => Traits::default(),
            },
            Opcode::Setp => match mnemonic.first_type() {
                Some(compared) if compared.is_float() => Traits::default(),
                Some(compared) if compared.bits() == 64 => {
                    Traits(Traits::COMPARES.0 | Traits::COMPARES_WIDE.0)
                }
                _ => Traits::COMPARES,
            },
            Opcode::WmmaMma
            | Opcode::Mma
            | Opcode::MmaSp
            | Opcode::WgmmaMmaAsync
            | Opcode::WgmmaMmaAsyncSp
            | Opcode::Tcgen05Mma
            | Opcode::Tcgen05MmaSp
            | Opcode::Tcgen05MmaWs
            | Opcode::Tcgen05MmaWsSp => Traits::MULTIPLIES_MATRICES,
            _ => Traits::default(),
        };
        if mnemonic.opcode() == Opcode::Mov && !plain {
            traits.add(Traits::TAKES_APART);
        }
        if guard != Guard::None && mnemonic.opcode() != Opcode::Bra {
            traits.add(Traits::GUARDED);
        }
        if mnemonic.space() == Some(Space::Local) {
            traits.add(Traits::LOCAL);
        }
        traits
    }

    /// Adds others.
    #[inline]
    pub(crate) fn add(&mut self, others: Traits) {
        self.0 |= others.0;
    }

    /// Whether all of these are among them.
    #[inline]
    pub fn have(self, wanted: Traits) -> bool {
        self.0 & wanted.0 == wanted.0
    }
}

/// How what is known of the bits of operands tells something of the bits of the result, as far as spelling says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BitTransfer {
    /// Nothing is known of the result, whatever is known of the operands.
    None,
    /// Nothing is, if nothing is of one of the operands.
    NeedsAll,
    /// Nothing is, if nothing is of any operand.
    NeedsAny,
    /// Something may be, whatever is known of the operands.
    Free,
}

impl BitTransfer {
    /// Of instructions with this mnemonic and operands of these types, which are plain functions that read nothing but values if
    /// `reads_values`, or loads.
    fn of(mnemonic: &Mnemonic, reads_values: bool, types: &[Option<ScalarType>]) -> BitTransfer {
        let opcode = mnemonic.opcode();
        let is_float = || mnemonic.first_type().is_none_or(|first| first.is_float());
        let is_tracked = match opcode {
            // What is loaded may be narrower than the register, with zeros above.
            Opcode::Ld | Opcode::Ldu => {
                let extends =
                    |read: ScalarType| (read.is_unsigned() || read.is_bits()) && read.bits() < 64;
                return match mnemonic.first_type().is_some_and(extends) {
                    true => BitTransfer::Free,
                    false => BitTransfer::None,
                };
            }
            Opcode::Mov | Opcode::Selp => true,
            opcode => opcode.computes_integers() && !is_float(),
        };
        let sources = types.get(1..).unwrap_or_default();
        if !is_tracked || !reads_values || sources.len() > 4 || sources.contains(&None) {
            return BitTransfer::None;
        }
        let is_low = mnemonic.modifiers().mul_mode == Some(MulMode::Low);
        match opcode {
            Opcode::Add | Opcode::Sub | Opcode::Neg | Opcode::Not | Opcode::Xor | Opcode::Mov => {
                BitTransfer::NeedsAll
            }
            Opcode::Mul | Opcode::Mad if is_low => BitTransfer::NeedsAny,
            Opcode::And | Opcode::Or | Opcode::Shl | Opcode::Selp | Opcode::Setp => {
                BitTransfer::NeedsAny
            }
            _ => BitTransfer::Free,
        }
    }
}

/// What all instructions of one spelling have in common.
///
/// What is asked of nearly every instruction stands first, in one line of the cache: the formats of a file take more room than the cache
/// nearest to the processor has.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub struct FormatData {
    /// The role of each leaf, in order.
    pub leaves: SmallVec<[LeafRole; 4]>,
    /// What it does besides computing results.
    pub effects: Effects,
    /// What passes look for that few functions have.
    traits: Traits,
    /// Whether and how it is guarded.
    pub guard: Guard,
    /// Whether nothing is known about the operands: all registers are pinned.
    pub opaque: bool,
    /// Whether all operands are plain leaves: no vectors, addresses, negations or parts of registers.
    pub plain: bool,
    /// Whether it does nothing besides computing results.
    pure: bool,
    /// Whether it can go if nobody reads its results.
    removable: bool,
    /// Whether it is a plain function of its operands.
    simple: bool,
    /// Whether it is simple and all its operands but the first are values that are read.
    reads_values: bool,
    /// Whether the first two sources of an integer operation may be exchanged.
    commutes: bool,
    /// How bits of operands tell bits of the result.
    bit_transfer: BitTransfer,
    /// What decides what it costs.
    pub cost_class: CostClass,
    /// The decoded mnemonic.
    pub mnemonic: Mnemonic,
    /// How many top-level operands there are.
    pub operand_count: usize,
    /// The only address among the operands, if it is a base and perhaps an offset, and the instruction is not opaque.
    pub address: Option<AddressShape>,
    /// What instructions of this format do to memory, if they are loads, stores or atomics and not opaque.
    pub(crate) access: Option<AccessShape>,
    /// The integer arithmetic that instructions of this format are, as far as spelling tells.
    pub arithmetic: Option<Node>,
    /// The operand shapes.
    pub shape: Shape,
    /// The type of each top-level operand, where the mnemonic says.
    types: Box<[Option<ScalarType>]>,
}

impl FormatData {
    pub(crate) fn new(mnemonic: Mnemonic, guard: Guard, shape: Shape) -> FormatData {
        let tops = top_level(&shape);
        let roles = if mnemonic.effects().is_call && !mnemonic.is_opaque() {
            call_roles(&shape, &tops)
        } else {
            mnemonic
                .operand_roles(tops.len())
                .map(|roles| roles.iter().copied().collect())
        };
        let opaque = roles.is_none();
        let is_leaf = |node: &&ShapeNode| node.kind == ShapeKind::Leaf;
        let mut leaves: SmallVec<[LeafRole; 4]> =
            SmallVec::with_capacity(shape.iter().filter(is_leaf).count());
        for (operand, &start) in tops.iter().enumerate() {
            let role = roles
                .as_ref()
                .map_or(Role::UseDefine, |roles| roles[operand]);
            let pinned =
                opaque || role == Role::UseDefine || mnemonic.pins_operand(operand, tops.len());
            let end = start + shape[start].size as usize;
            // Leaves up to this node are inside brackets.
            let mut address_end = start;
            for (node, part) in shape[start..end].iter().enumerate() {
                let node = node + start;
                match part.kind {
                    ShapeKind::Address => address_end = address_end.max(node + part.size as usize),
                    ShapeKind::Leaf => {
                        let in_address = node < address_end;
                        leaves.push(LeafRole {
                            role: if in_address && !opaque {
                                Role::Use
                            } else {
                                role
                            },
                            operand: operand as u16,
                            in_address,
                            pinned,
                        });
                    }
                    _ => {}
                }
            }
        }
        let effects = if opaque && !mnemonic.effects().is_call {
            // An arity the table does not know: whatever the mnemonic says, the instruction may do anything. It still
            // ends its block if the opcode does.
            Effects {
                terminator: mnemonic.effects().terminator,
                ..Effects::OPAQUE
            }
        } else {
            mnemonic.effects()
        };
        let types: Box<[Option<ScalarType>]> = mnemonic.operand_types(tops.len()).collect();
        let plain = shape.iter().all(|node| *node == ShapeNode::LEAF);
        let simple = plain
            && !opaque
            && guard == Guard::None
            && effects.is_pure()
            && leaves.first().is_some_and(|leaf| leaf.role == Role::Define);
        let reads_values = simple && leaves[1..].iter().all(|leaf| leaf.role == Role::Use);
        FormatData {
            operand_count: tops.len(),
            simple,
            reads_values,
            bit_transfer: BitTransfer::of(&mnemonic, reads_values, &types),
            cost_class: CostClass::of(&mnemonic),
            arithmetic: match simple {
                true => Node::of(&mnemonic, tops.len()),
                false => None,
            },
            commutes: plain && !opaque && sources_commute(&mnemonic, &leaves),
            address: match opaque {
                true => None,
                false => AddressShape::of(&shape),
            },
            access: match opaque {
                true => None,
                false => AccessShape::of(&mnemonic),
            },
            traits: Traits::of(&mnemonic, simple, plain, guard),
            plain,
            pure: effects.is_pure(),
            removable: effects.is_removable(),
            types,
            mnemonic,
            guard,
            leaves,
            shape,
            opaque,
            effects,
        }
    }

    /// What passes look for that few functions have.
    #[inline]
    pub fn traits(&self) -> Traits {
        self.traits
    }

    /// How what is known of the bits of operands tells something of the bits of the result.
    #[inline]
    pub fn bit_transfer(&self) -> BitTransfer {
        self.bit_transfer
    }

    /// Whether the results depend on the operands only and nothing else happens.
    #[inline]
    pub fn is_pure(&self) -> bool {
        self.pure
    }

    /// Whether it can go if nobody reads its results: see [`Effects::is_removable`].
    #[inline]
    pub fn is_removable(&self) -> bool {
        self.removable
    }

    /// Whether instructions of this format are plain functions: understood, unguarded and pure, with one leaf per operand,
    /// the first of which is what they define.
    #[inline]
    pub fn is_simple(&self) -> bool {
        self.simple
    }

    /// The types of the sources of a plain function, see [`FormatData::is_simple`], as far as the mnemonic says: nothing if a
    /// source is something else than a value that is read.
    #[inline]
    pub fn source_types(&self) -> Option<&[Option<ScalarType>]> {
        self.reads_values.then(|| &self.types[1..])
    }

    /// Whether the first two sources of an integer operation, its second and third operand, may be exchanged.
    #[inline]
    pub fn commutes(&self) -> bool {
        self.commutes
    }

    /// The type of each top-level operand, where the mnemonic says.
    #[inline]
    pub fn operand_types(&self) -> &[Option<ScalarType>] {
        &self.types
    }

    /// The type of a top-level operand, if the mnemonic says.
    #[inline]
    pub fn operand_type(&self, operand: usize) -> Option<ScalarType> {
        *self.types.get(operand)?
    }

    /// Whether instructions of this format are guarded.
    #[inline]
    pub fn is_guarded(&self) -> bool {
        self.guard != Guard::None
    }

    /// Whether the instruction ends its block.
    #[inline]
    pub fn is_terminator(&self) -> bool {
        self.effects.terminator != oriole_isa::Terminator::None
    }
}

/// Whether the first two sources of an instruction with plain operands may be exchanged.
fn sources_commute(mnemonic: &Mnemonic, leaves: &[LeafRole]) -> bool {
    let is_source = |leaf: &LeafRole| leaf.role == Role::Use;
    matches!(
        mnemonic.opcode(),
        Opcode::Add
            | Opcode::Mul
            | Opcode::Mad
            | Opcode::Mul24
            | Opcode::Mad24
            | Opcode::And
            | Opcode::Or
            | Opcode::Xor
            | Opcode::Min
            | Opcode::Max
    ) && leaves
        .get(1..3)
        .is_some_and(|pair| pair.iter().all(is_source))
        && !mnemonic.types().iter().any(|each| each.is_float())
}

/// Indices of the top-level nodes.
fn top_level(shape: &[ShapeNode]) -> SmallVec<[usize; 16]> {
    let mut tops = SmallVec::new();
    let mut node = 0;
    while node < shape.len() {
        tops.push(node);
        node += shape[node].size as usize;
    }
    tops
}

/// `call (results), callee, (arguments), prototype` with every part but the callee optional.
fn call_roles(shape: &[ShapeNode], tops: &[usize]) -> Option<SmallVec<[Role; 16]>> {
    let mut roles = SmallVec::new();
    let mut parts = tops.iter().map(|&top| shape[top].kind).peekable();
    if parts.next_if_eq(&ShapeKind::List).is_some() {
        roles.push(Role::Define);
    }
    parts.next_if_eq(&ShapeKind::Leaf)?;
    roles.push(Role::Callee);
    if parts.next_if_eq(&ShapeKind::List).is_some() {
        roles.push(Role::Use);
    }
    // The prototype or list of possible callees of an indirect call.
    if parts.next_if_eq(&ShapeKind::Leaf).is_some() {
        roles.push(Role::Label);
    }
    parts.next().is_none().then_some(roles)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Formats;

    const LEAF: ShapeNode = ShapeNode::LEAF;

    #[test]
    fn what_is_asked_of_nearly_every_instruction_is_in_one_line_of_the_cache() {
        assert!(std::mem::offset_of!(FormatData, mnemonic) <= 64);
        assert_eq!(align_of::<FormatData>(), 64);
    }

    fn group(kind: ShapeKind, size: u16) -> ShapeNode {
        ShapeNode {
            kind,
            size,
            ..ShapeNode::LEAF
        }
    }

    #[test]
    fn roles_follow_the_table_and_the_brackets() {
        let mut formats = Formats::new();
        let shape = [
            group(ShapeKind::Vector, 3),
            LEAF,
            LEAF,
            group(ShapeKind::Address, 4),
            group(ShapeKind::Sum, 3),
            LEAF,
            LEAF,
        ];
        let format = formats.intern("ld.global.v2.f32", Guard::If, shape.iter().copied());
        let again = formats.intern("ld.global.v2.f32", Guard::If, shape.iter().copied());
        assert_eq!(format, again);
        let data = &formats[format];
        let roles: Vec<(Role, bool)> = data
            .leaves
            .iter()
            .map(|leaf| (leaf.role, leaf.in_address))
            .collect();
        assert_eq!(
            roles,
            [
                (Role::Define, false),
                (Role::Define, false),
                (Role::Use, true),
                (Role::Use, true)
            ]
        );
        let other = formats.intern("ld.global.v2.f32", Guard::None, shape.iter().copied());
        assert_ne!(format, other);
    }

    #[test]
    fn bits_of_results_come_from_operands() {
        use BitTransfer::*;
        let cases = [
            ("add.s32", 3, NeedsAll),
            ("xor.b64", 3, NeedsAll),
            ("mov.u32", 2, NeedsAll),
            ("and.b32", 3, NeedsAny),
            ("mad.lo.s32", 4, NeedsAny),
            ("mul.wide.u32", 3, Free),
            ("cvt.u64.u32", 2, Free),
            ("ld.u8", 2, Free),
            ("ld.f32", 2, None),
            ("add.f32", 3, None),
            ("st.u32", 2, None),
            ("frobnicate.b32", 2, None),
        ];
        let mut formats = Formats::new();
        for (mnemonic, operands, expected) in cases {
            let shape = std::iter::repeat_n(LEAF, operands);
            let format = formats.intern(mnemonic, Guard::None, shape);
            assert_eq!(formats[format].bit_transfer(), expected, "{mnemonic}");
        }
    }

    #[test]
    fn unknown_instructions_pin_everything() {
        let mut formats = Formats::new();
        let format = formats.intern("frobnicate.b32", Guard::None, [LEAF, LEAF].into_iter());
        assert!(formats[format].opaque);
        assert!(formats[format].leaves.iter().all(|leaf| leaf.pinned));
        let wrong_arity = formats.intern("add.s32", Guard::None, [LEAF; 7].into_iter());
        assert!(formats[wrong_arity].opaque);
        assert!(!formats[wrong_arity].effects.is_pure());
    }

    #[test]
    fn calls_define_their_result_list() {
        let mut formats = Formats::new();
        let shape = [
            group(ShapeKind::List, 2),
            LEAF,
            LEAF,
            group(ShapeKind::List, 3),
            LEAF,
            LEAF,
        ];
        let format = formats.intern("call.uni", Guard::None, shape.into_iter());
        let roles: Vec<Role> = formats[format]
            .leaves
            .iter()
            .map(|leaf| leaf.role)
            .collect();
        assert_eq!(roles, [Role::Define, Role::Callee, Role::Use, Role::Use]);
        let bad = formats.intern("call", Guard::None, [group(ShapeKind::List, 1)].into_iter());
        assert!(formats[bad].opaque);
    }
}
