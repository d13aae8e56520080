//! The PTX instruction set (up to PTX ISA 9.0) as a table.
//!
//! A [`Mnemonic`] is the decoded form of a complete dotted opcode. It answers what a compiler asks of an instruction: which
//! operands are read and written ([`Mnemonic::operand_roles`]), of which type ([`Mnemonic::operand_type`]), and what else
//! happens ([`Mnemonic::effects`]). [`evaluate`] says what value instructions compute. What the table does not know is opaque, and opaque means every effect at once.
//!
//! ```
//! use oriole_isa::{Mnemonic, Opcode, Role, ScalarType};
//!
//! let mad = Mnemonic::parse("mad.wide.s32");
//! assert_eq!(mad.opcode(), Opcode::Mad);
//! assert_eq!(mad.operand_roles(4).as_deref(), Some(&[Role::Define, Role::Use, Role::Use, Role::Use][..]));
//! assert_eq!(mad.operand_type(0, 4), Some(ScalarType::S64));
//! assert_eq!(mad.operand_type(1, 4), Some(ScalarType::S32));
//! assert!(mad.effects().is_pure());
//!
//! let unknown = Mnemonic::parse("mad.sideways.s32");
//! assert!(unknown.is_opaque() && unknown.operand_roles(4).is_none());
//! ```
//!
//! Who wants a new instruction builds its mnemonic of typed parts ([`build`]) and never spells one.

#![forbid(unsafe_code)]

pub mod build;
pub mod cost;
mod effects;
mod evaluate;
pub mod memory_cost;
mod mnemonic;
mod modifier;
mod opcode;
mod operand;
mod part;
pub mod ptxas;
mod scalar_type;
mod shuffle;
mod space;
mod special_register;
mod table;
mod target;
mod text_enum;
mod vocabulary;

pub use build::{Builder, MnemonicText};
pub use effects::{Effects, Ordering, Terminator};
pub use evaluate::{
    Bits, Outputs, VideoOperands, approximate, evaluate, evaluate_unpack, evaluate_video, extend,
};
pub use mnemonic::Mnemonic;
pub use modifier::{
    BooleanOperation, CacheOperator, Comparison, Direction, Flag, Geometry, Level1Eviction,
    Level2Eviction, Level2Prefetch, MatrixShape, Modifiers, MulMode, PermuteMode,
    ReductionOperation, Rounding, Scope, Semantics, ShiftMode, ShuffleMode, SurfaceClamp,
    TestOperation, VoteMode,
};
pub use opcode::Opcode;
pub use operand::{Role, Roles};
pub use scalar_type::{ScalarType, TypeKind};
pub use shuffle::shuffle_source;
pub use space::{Space, SpaceSet};
pub use special_register::{Component, SpecialRegister, SpecialRegisterKind, Uniformity};
pub use target::{Feature, LaunchLimits, Limits, Target, WARP};
pub use vocabulary::{UnknownWord, is_modifier, own_modifiers, unknown_words};
