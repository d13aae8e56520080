//! Stores that are overwritten before anyone may read what they stored.
//!
//! A walk backwards over each block keeps the places that are going to be written, whatever happens, before the thread or
//! anyone it lets look at them reads them. What a block starts with, the blocks that lead to it may count on, if all their
//! ways out agree; a way back in a loop is not known yet and agrees with nothing.

use oriole_analysis::ControlFlow;
use oriole_analysis::memory::Place;
use oriole_collections::{IndexVec, SmallVec};
use oriole_ir::{AccessKind, Base, Block, FormatData, Function, Instruction, Traits};
use oriole_isa::{Opcode, Space, SpaceSet, Terminator};

/// Places remembered at once.
const MOST_PLACES: usize = 16;

/// Stores that are compared with each other.
const FEW_STORES: usize = 16;

/// A place that is going to be written.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Overwrite {
    place: Place,
    /// The memory the store says it writes.
    spaces: SpaceSet,
}

type Overwrites = Vec<Overwrite>;

/// Stores that can go: plain ones whose every byte the same thread writes again first.
pub(crate) fn overwritten_stores(function: &Function, flow: &ControlFlow) -> Vec<Instruction> {
    let mut dead = Vec::new();
    if !may_overwrite(function, flow) {
        return dead;
    }
    let mut at_start: IndexVec<Block, Option<Overwrites>> =
        IndexVec::from_elem(None, function.blocks().len());
    for &block in flow.reverse_postorder().iter().rev() {
        let mut pending = at_end(function, block, &at_start);
        for instruction in function.instructions_backwards(block) {
            if visit(function, instruction, &mut pending) {
                dead.push(instruction);
            }
        }
        at_start[block] = Some(pending);
    }
    dead
}

/// Whether there are two stores of which one, wherever they are, writes all that the other does. Said of functions with many stores
/// without looking.
fn may_overwrite(function: &Function, flow: &ControlFlow) -> bool {
    let mut places: SmallVec<[Place; FEW_STORES]> = SmallVec::new();
    if !function.traits().have(Traits::STORES) {
        return false;
    }
    for &block in flow.reverse_postorder() {
        for instruction in function.instructions_of(block) {
            if !function.format(instruction).traits().have(Traits::STORES) {
                continue;
            }
            let access = function.access(instruction);
            let Some(place) = access.and_then(|access| Place::of(&access, number)) else {
                continue;
            };
            let is_together = |other: &Place| place.covers(*other) || other.covers(place);
            if places.len() == FEW_STORES || places.iter().any(is_together) {
                return true;
            }
            places.push(place);
        }
    }
    false
}

/// What all ways out of a block are going to write.
fn at_end(
    function: &Function,
    block: Block,
    at_start: &IndexVec<Block, Option<Overwrites>>,
) -> Overwrites {
    let mut edges = function.blocks()[block].edges.iter();
    let Some(first) = edges.next() else {
        return Overwrites::new();
    };
    let mut pending = at_start[first.target].clone().unwrap_or_default();
    for edge in edges {
        match &at_start[edge.target] {
            Some(other) => pending.retain(|it| other.contains(it)),
            None => pending.clear(),
        }
    }
    pending
}

/// Whether an instruction goes to another block and does nothing else.
fn only_branches(format: &FormatData) -> bool {
    let terminator = format.effects.terminator;
    matches!(terminator, Terminator::Branch | Terminator::IndirectBranch) && !format.opaque
}

/// Goes backwards over an instruction. Whether it is a store that can go.
fn visit(function: &Function, instruction: Instruction, pending: &mut Overwrites) -> bool {
    let format = function.format(instruction);
    let effects = &format.effects;
    if !format.opaque && (format.is_pure() || only_branches(format)) {
        return false;
    }
    if pending.is_empty() && !format.traits().have(Traits::STORES) {
        return false;
    }
    let access = function.access(instruction).filter(|access| {
        access.is_weak()
            && matches!(format.mnemonic.opcode(), Opcode::Ld | Opcode::St)
            && matches!(access.kind, AccessKind::Load | AccessKind::Store)
            && !effects.convergent
            && !effects.asynchronous
            && !format.opaque
    });
    let Some(access) = access else {
        // Calls, barriers, fences, atomics, exits and whatever else may let others look.
        pending.clear();
        return false;
    };
    let place = Place::of(&access, number);
    if access.kind == AccessKind::Load {
        pending.retain(|it| {
            !it.spaces.intersects(effects.reads)
                || place.is_some_and(|place| place.misses(it.place))
        });
        return false;
    }
    let is_known_space = matches!(
        access.space,
        Space::Global | Space::Shared | Space::Local | Space::Generic
    );
    let (Some(place), 2, true) = (place, format.operand_count, is_known_space) else {
        return false;
    };
    if pending.iter().any(|it| it.place.covers(place)) {
        return true;
    }
    if !format.is_guarded() {
        if pending.len() == MOST_PLACES {
            pending.remove(0);
        }
        pending.push(Overwrite {
            place,
            spaces: effects.writes,
        });
    }
    false
}

/// A number for a base: values are as they are wherever they are.
fn number(base: Base) -> u64 {
    match base {
        Base::Value(value) => u64::from(value.as_u32()),
        Base::Symbol(symbol) => 1 << 32 | u64::from(symbol.as_u32()),
        Base::Absolute => 2 << 32,
    }
}
