//! The decoded program: functions as arrays of compact operations over numbered slots.
//!
//! A register slot is an index into the warp's register file, relative to the frame of the function; with [`CONSTANT`] set
//! it is an index into the function's constants instead. Every slot holds 32 lanes of 64 bits, so an operation is one
//! loop over lanes whatever its operands are. Predicates are numbered apart: one 32-bit mask each.

use std::sync::Arc;

use oriole_diagnostics::Span;
use oriole_isa::{
    BooleanOperation, Mnemonic, ReductionOperation, ScalarType, Scope, Space, SpecialRegister,
};

use crate::approximations::Recorded;
use crate::lanes::{Binary, Comparator, Ternary, Unary};

/// One value for each lane of a warp.
pub(crate) type Lanes = [u64; 32];

/// Marks a slot as a constant.
pub(crate) const CONSTANT: u32 = 1 << 31;

/// The most operands that an instruction reads one by one; the carry flag comes behind them.
pub(crate) const MOST_SOURCES: usize = 15;
/// No slot: a sink, or an absent operand.
pub(crate) const NONE: u32 = u32::MAX;

/// As the base of an address: the frame's local memory.
pub(crate) const FRAME: u32 = u32::MAX - 1;

/// A predicate operand: slot number times two, plus one when negated; or one of the two constants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PredicateSource(pub(crate) u32);

impl SpecialOperand {
    /// The slot of a value.
    pub(crate) fn value(&self) -> Option<u32> {
        match self {
            &SpecialOperand::Value(slot) => Some(slot),
            _ => None,
        }
    }
}

impl PredicateSource {
    pub(crate) const TRUE: PredicateSource = PredicateSource(u32::MAX);
    pub(crate) const FALSE: PredicateSource = PredicateSource(u32::MAX - 1);

    pub(crate) fn new(slot: u32, negated: bool) -> PredicateSource {
        PredicateSource(slot << 1 | u32::from(negated))
    }
}

/// A source operand of the general path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    Value(u32),
    /// Two slots, low half first.
    Wide(u32),
    Predicate(PredicateSource),
}

/// A destination of the general path: slot, and how a narrower result fills the register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Destination {
    Sink,
    Value {
        slot: u32,
        scalar_type: ScalarType,
        bits: u32,
    },
    Wide(u32),
    Predicate(u32),
}

/// An address: a base slot (or [`NONE`], or [`FRAME`]) and a displacement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Address {
    pub(crate) base: u32,
    pub(crate) offset: i64,
}

/// How an access of more than one thread is ordered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Order {
    pub(crate) scope: Scope,
    pub(crate) acquires: bool,
    pub(crate) releases: bool,
}

/// A load or a store.
#[derive(Clone, Debug)]
pub(crate) struct Access {
    pub(crate) space: Space,
    pub(crate) address: Address,
    /// The type of one element.
    pub(crate) scalar_type: ScalarType,
    /// Registers, one per element; two consecutive slots for 128-bit elements.
    pub(crate) registers: Vec<u32>,
    /// Width of the registers in bits.
    pub(crate) register_bits: u32,
    /// How it is ordered, if it is a relaxed, acquiring, releasing or volatile access: one that other threads may be about
    /// to make, too, on purpose.
    pub(crate) order: Option<Order>,
    pub(crate) width: u32,
}

/// An atomic operation.
#[derive(Clone, Debug)]
pub(crate) struct Atomic {
    pub(crate) space: Space,
    pub(crate) address: Address,
    pub(crate) operation: ReductionOperation,
    pub(crate) scalar_type: ScalarType,
    pub(crate) destinations: Vec<u32>,
    pub(crate) sources: Vec<u32>,
    pub(crate) compare: u32,
    pub(crate) order: Order,
    /// For the arithmetic.
    pub(crate) mnemonic: Option<Mnemonic>,
}

/// A value instruction evaluated by `oriole-isa`.
#[derive(Clone, Debug)]
pub(crate) struct General {
    pub(crate) mnemonic: Mnemonic,
    pub(crate) sources: Vec<Source>,
    pub(crate) destinations: Vec<Destination>,
    /// An unpacking `mov` of that many elements.
    pub(crate) unpack: bool,
    pub(crate) video: Option<Selectors>,
    /// Results to replay, where the instruction is approximate and they were asked for.
    pub(crate) recorded: Option<Arc<Recorded>>,
}

/// Selectors of a video instruction.
#[derive(Clone, Debug, Default)]
pub(crate) struct Selectors {
    pub(crate) destination: Option<String>,
    pub(crate) a: Option<String>,
    pub(crate) b: Option<String>,
    pub(crate) negate_product: bool,
    pub(crate) negate_c: bool,
}

/// What a call passes: a register or a `.param` variable at an offset of the frame's local memory.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Passed {
    Register(u32),
    Predicate(PredicateSource),
    Memory { offset: u32, bytes: u32 },
}

/// A call.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    pub(crate) target: CallTarget,
    pub(crate) arguments: Vec<Passed>,
    pub(crate) results: Vec<Passed>,
}

/// What is called.
#[derive(Clone, Debug)]
pub(crate) enum CallTarget {
    /// A function of the module with a body.
    Direct(u32),
    /// A slot that holds the address of a function.
    Indirect(u32),
    /// A function of the driver, or one that is missing.
    External(String),
}

/// An instruction in which the lanes of a warp, or the warps of a block, take part together, or that is rare.
#[derive(Clone, Debug)]
pub(crate) struct Special {
    pub(crate) mnemonic: Mnemonic,
    /// The operands in source order.
    pub(crate) operands: Vec<SpecialOperand>,
    /// Equal for instructions at which lanes of a warp can meet: those with the same qualifiers, or one `.aligned` one.
    pub(crate) kind: u32,
}

/// An operand of a [`Special`].
#[derive(Clone, Debug)]
pub(crate) enum SpecialOperand {
    /// A register or constant.
    Value(u32),
    /// A predicate.
    Predicate(PredicateSource),
    /// A vector of registers; [`NONE`] for `_`.
    Vector(Vec<u32>),
    /// An address.
    Address(Address),
    /// An address with coordinates.
    Tensor(Address, Vec<u32>),
    /// `d|p`: a register or nothing, and a predicate.
    Pair(u32, u32),
    /// `_`
    Sink,
}

/// What an operation does.
#[derive(Clone, Debug)]
pub(crate) enum Kind {
    Nothing,
    Move {
        d: u32,
        a: u32,
    },
    SpecialRegister {
        d: u32,
        register: SpecialRegister,
        bits: u32,
    },
    Unary {
        operation: Unary,
        d: u32,
        a: u32,
    },
    Binary {
        operation: Binary,
        d: u32,
        a: u32,
        b: u32,
    },
    Ternary {
        operation: Ternary,
        d: u32,
        a: u32,
        b: u32,
        c: u32,
    },
    Compare {
        comparator: Comparator,
        p: u32,
        q: u32,
        a: u32,
        b: u32,
    },
    /// A comparison combined with a predicate.
    CompareAnd {
        comparator: Comparator,
        p: u32,
        a: u32,
        b: u32,
        with: BooleanOperation,
        c: PredicateSource,
    },
    Select {
        d: u32,
        a: u32,
        b: u32,
        p: PredicateSource,
    },
    PredicateLogic {
        operation: BooleanOperation,
        p: u32,
        a: PredicateSource,
        b: PredicateSource,
    },
    Lop3 {
        d: u32,
        a: u32,
        b: u32,
        c: u32,
        table: u8,
    },
    /// A lane-local address space change: adds a constant, or subtracts it.
    AddressShift {
        d: u32,
        a: u32,
        add: u64,
    },
    /// The address of a variable of the frame: the start of the frame's local memory plus a constant.
    FrameAddress {
        d: u32,
        add: u64,
    },
    General(u32),
    Load(u32),
    Store(u32),
    Atomic(u32),
    Branch {
        target: u32,
    },
    BranchIndexed {
        index: u32,
        table: u32,
    },
    Call(u32),
    /// A memory fence.
    Fence(Scope),
    Return,
    Exit,
    Special(u32),
    /// An instruction that is not emulated; the message.
    Unsupported(u32),
}

/// One operation.
#[derive(Clone, Debug)]
pub(crate) struct Operation {
    pub(crate) kind: Kind,
    /// The guard.
    pub(crate) guard: PredicateSource,
    /// A product or sum without a rounding, which a compiler may fuse with another.
    pub(crate) contracts: bool,
    /// Where lanes that a branch here separates meet again; [`NONE`] when only at the function's end.
    pub(crate) reconverge: u32,
}

/// Where an operation stands.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Origin {
    pub(crate) span: Span,
    /// `.loc`: file number, line and column, zero for none.
    pub(crate) file: u32,
    pub(crate) line: u32,
    pub(crate) column: u32,
}

/// A parameter or result of a function.
#[derive(Clone, Debug)]
pub(crate) struct Parameter {
    pub(crate) name: String,
    pub(crate) place: Passed,
    pub(crate) bytes: u32,
    /// The declared type of an element.
    pub(crate) type_text: String,
    /// Offset in a kernel's parameter buffer.
    pub(crate) offset: u32,
}

/// A constant that depends on the launch: where a shared variable lies.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SharedReference {
    pub(crate) constant: u32,
    pub(crate) variable: u32,
    pub(crate) addend: u64,
}

/// A decoded function.
#[derive(Clone, Debug, Default)]
pub(crate) struct Function {
    pub(crate) name: String,
    pub(crate) is_entry: bool,
    pub(crate) has_body: bool,
    pub(crate) code: Vec<Operation>,
    pub(crate) origins: Vec<Origin>,
    pub(crate) constants: Vec<Lanes>,
    pub(crate) shared_references: Vec<SharedReference>,
    pub(crate) registers: u32,
    pub(crate) predicates: u32,
    /// Bytes of local memory of the frame: local variables, parameters and argument space.
    pub(crate) frame_bytes: u32,
    pub(crate) parameters: Vec<Parameter>,
    pub(crate) returns: Vec<Parameter>,
    pub(crate) parameter_bytes: u32,
    pub(crate) accesses: Vec<Access>,
    pub(crate) atomics: Vec<Atomic>,
    pub(crate) generals: Vec<General>,
    pub(crate) calls: Vec<Call>,
    pub(crate) tables: Vec<Vec<u32>>,
    pub(crate) specials: Vec<Special>,
    pub(crate) messages: Vec<String>,
    /// Functions it names.
    pub(crate) mentions: Vec<u32>,
    /// Has an indirect call.
    pub(crate) calls_indirectly: bool,
    /// `.reqnctapercluster` or the like.
    pub(crate) cluster: Option<[u32; 3]>,
    pub(crate) required_block: Option<[u32; 3]>,
    pub(crate) maximum_block: Option<[u32; 3]>,
    /// The bits of registers, by slot.
    pub(crate) register_masks: Vec<u64>,
    pub(crate) local_variables: Vec<LocalVariable>,
    /// Names of registers, by slot, for messages.
    pub(crate) register_names: Vec<String>,
    pub(crate) predicate_names: Vec<String>,
}

/// A variable in local memory.
#[derive(Clone, Debug)]
pub(crate) struct LocalVariable {
    pub(crate) name: String,
    /// Its place in the frame.
    pub(crate) offset: u32,
    pub(crate) bytes: u32,
}

/// A shared variable.
#[derive(Clone, Debug)]
pub(crate) struct SharedVariable {
    pub(crate) bytes: u64,
    pub(crate) alignment: u32,
    /// `.extern … []`: behind the others, as large as the launch says.
    pub(crate) dynamic: bool,
}
