//! What an instruction does with each of its operands.

use crate::modifier::MulMode;
use crate::scalar_type::ScalarType;

/// The part one top-level operand plays. Operands are counted in source order without the guard; `d|p`, `{a, b}`,
/// `[a, {x, y}]` and `(a, b)` are one operand each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    /// Registers written: a register, both of `d|p`, every element of a vector. `_` is a sink.
    Define,
    /// Registers read, however the operand is written (register, vector, immediate, symbol, address).
    Use,
    /// Registers read and written.
    UseDefine,
    /// A bracketed address. Registers in it are read; the memory behind it is read or written as said. Neither: the
    /// address alone matters (a prefetch, a policy).
    Address {
        /// The memory is read.
        read: bool,
        /// The memory is written.
        write: bool,
    },
    /// A branch target.
    Label,
    /// The name of a `.branchtargets` list.
    BranchTargets,
    /// The function a call names, or the register that holds its address.
    Callee,
    /// Must be an immediate.
    Constant,
}

impl Role {
    /// Whether registers of the operand are written.
    pub const fn defines(self) -> bool {
        matches!(self, Role::Define | Role::UseDefine)
    }

    /// Whether registers of the operand are read.
    pub const fn uses(self) -> bool {
        matches!(
            self,
            Role::Use | Role::UseDefine | Role::Address { .. } | Role::Callee
        )
    }
}

/// How the type of an operand follows from the mnemonic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TypeRule {
    /// The form does not determine it.
    Undetermined,
    /// The n-th type of the mnemonic.
    Nth(u8),
    /// The n-th type, or the first when there are fewer.
    NthOrFirst(u8),
    /// The first type, doubled under `.wide`.
    Wide,
    /// Always this type.
    Fixed(ScalarType),
    /// A register of a matrix fragment of the n-th type.
    Fragment(u8),
    /// The accumulator of `dp4a` and `dp2a`: signed when either factor is.
    DotProduct,
}

impl TypeRule {
    pub(crate) fn resolve(
        self,
        types: &[ScalarType],
        mul_mode: Option<MulMode>,
    ) -> Option<ScalarType> {
        match self {
            TypeRule::Undetermined => None,
            TypeRule::Nth(index) => types.get(usize::from(index)).copied(),
            TypeRule::NthOrFirst(index) => types.get(usize::from(index)).or(types.first()).copied(),
            TypeRule::Wide => {
                let first = *types.first()?;
                if mul_mode == Some(MulMode::Wide) {
                    first.widened()
                } else {
                    Some(first)
                }
            }
            TypeRule::Fixed(scalar_type) => Some(scalar_type),
            TypeRule::Fragment(index) => match *types.get(usize::from(index))? {
                exact @ (ScalarType::F64 | ScalarType::F32 | ScalarType::S32) => Some(exact),
                _ => Some(ScalarType::B32),
            },
            TypeRule::DotProduct => {
                let signed = types.iter().any(|scalar_type| scalar_type.is_signed());
                Some(if signed {
                    ScalarType::S32
                } else {
                    ScalarType::U32
                })
            }
        }
    }
}

/// One operand of a form in the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Operand {
    pub(crate) role: Role,
    pub(crate) type_rule: TypeRule,
}

/// The most operands a form has, a cache policy included.
pub(crate) const MAXIMUM_OPERANDS: usize = 12;

/// The roles of an instruction's operands; dereferences to a slice.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Roles {
    items: [Role; MAXIMUM_OPERANDS],
    length: u8,
}

impl Roles {
    pub(crate) const fn new() -> Roles {
        Roles {
            items: [Role::Use; MAXIMUM_OPERANDS],
            length: 0,
        }
    }

    pub(crate) fn push(&mut self, role: Role) {
        self.items[usize::from(self.length)] = role;
        self.length += 1;
    }
}

impl std::ops::Deref for Roles {
    type Target = [Role];

    fn deref(&self) -> &[Role] {
        &self.items[..usize::from(self.length)]
    }
}

impl std::fmt::Debug for Roles {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        (**self).fmt(formatter)
    }
}
