//! The SSA form of a PTX function.
//!
//! ## Meaning
//! A function is a list of blocks; a block has parameters (values that join there), a list of instructions, and edges to
//! its successors that carry the arguments for their parameters. Every [`Value`] is defined once: by an instruction, as a
//! block parameter, or as *undefined* (a register read before anything wrote it). Uses are dominated by definitions.
//!
//! - An instruction is a [`Format`] (everything that does not change from one instruction to the next of the same
//!   spelling: mnemonic, guard, operand shape, roles, effects) and its leaf operands. It prints as the PTX it came from.
//! - A guarded instruction with results is a select: `@p add d, a, b` is `v7 = add v1, v2 if v0 else v5`. The values behind
//!   `else` are tied to the results: whoever leaves SSA form gives both the same register.
//! - Registers that cannot be values are *pinned* ([`Operand::Register`]): fragments of asynchronous instructions in
//!   flight, whatever an unknown instruction mentions, members of vector registers. They are never renamed, moved or
//!   copied, and instructions that touch them keep their order.
//! - Blocks stay in source order, with new ones between them. A value is named after a register, an instruction knows the statement it
//!   came from, so that untouched code prints as it was.
//! - Every value has a use list: [`Function::uses_of`].
//!
//! The IR is read through [`Function`] and changed only through [`Editor`], which journals every change.

#![forbid(unsafe_code)]

mod access;
pub mod arithmetic;
mod block_boundaries;
mod builder;
mod editor;
mod entities;
mod environment;
mod format;
mod formats;
mod function;
pub mod graph;
mod journal;
mod layout;
mod module;
mod operand;
pub mod text;
mod use_lists;
mod variable;
mod verifier;

pub use access::{Access, AccessKind, Address, Base};
pub use block_boundaries::{BlockBoundaries, LabelOperand};
pub use builder::{FunctionBuilder, InstructionParts};
pub use editor::{Clones, Editor, Imported};
pub use entities::{
    Block, Constant, Format, FunctionId, Global, GlobalVariable, Instruction, Register, Symbol,
    Value, Variable,
};
pub use environment::Environment;
pub use format::{
    AddressShape, BitTransfer, FormatData, LeafRole, Offset, Shape, ShapeKind, ShapeNode, Traits,
};
pub use formats::Formats;
pub use function::{
    BlockData, ConstantData, Definition, Edge, Function, InstructionData, Line, RegisterData,
    SymbolData, SymbolKind, ValueData,
};
pub use journal::{Change, Journal};
pub use module::{
    DebugFile, FunctionData, GlobalKind, GlobalVariableData, Header, LaunchBounds, Module,
    ModuleBuilder, OtherMentions,
};
pub use operand::{Member, Operand};
pub use oriole_syntax::tree::{FunctionKind, Linkage};
pub use use_lists::Use;
pub use variable::{
    ParameterData, Pointer, VariableData, VariableKind, VariableState, VariableType,
};
pub use verifier::{Violation, verify};
