//! Loads that read again what is known already: repeated ones, and those of a loop whose address does not change.
//!
//! ## Method
//! A repeated load has the base, the offset and the type of one before it in its block. What stands between them is plain stores only,
//! through addresses that come from other parameters or variables: `__restrict__` would say that these are apart. If a barrier, an
//! atomic, a fence or a call stands there, other threads may have written, and nothing is said. The same of a load in a loop: all that may
//! change what it reads, anywhere in the loop, is such stores, or nothing.

use super::roots::Root;
use super::{Facts, FindingKind, Found, Impact, Subject};
use oriole_analysis::Loop;
use oriole_analysis::memory::clobbers;
use oriole_collections::SmallVec;
use oriole_ir::{Access, AccessKind, Base, Block, Instruction};
use oriole_isa::{Space, SpaceSet};
use std::collections::BTreeMap;

/// What may have changed global memory: plain stores, or something that nobody can promise anything about.
enum Change {
    /// A store through an address with this root.
    Store(Root),
    Other,
}

pub(super) fn find(subject: &Subject<'_>, found: &mut Vec<Found>) {
    for &block in subject.function.block_order() {
        if subject.flow.is_reachable(block) && has_repetition(subject, block) {
            repeated(subject, block, found);
        }
    }
    invariant(subject, found);
}

/// A load that is weak and in global memory, with where it reads.
fn global_load(subject: &Subject<'_>, instruction: Instruction) -> Option<(Access, Base, i64)> {
    let access = subject.function.access(instruction)?;
    let address = access.address?;
    let is_plain = access.kind == AccessKind::Load
        && matches!(access.space, Space::Global | Space::Generic)
        && access.is_weak()
        && subject.function.guard(instruction).is_none()
        && !subject.function.is_invariant_load(instruction);
    is_plain.then_some((access, address.base, address.offset))
}

/// How an instruction may change global memory.
fn change(subject: &Subject<'_>, instruction: Instruction) -> Option<Change> {
    let format = subject.function.format(instruction);
    if !clobbers(format).intersects(SpaceSet::GLOBAL) {
        return None;
    }
    let store = subject.function.access(instruction);
    let store = store.filter(|access| access.kind == AccessKind::Store && access.is_weak());
    let root = store.and_then(|store| subject.roots().of_base(store.address?.base));
    Some(root.map_or(Change::Other, Change::Store))
}

/// Where a load reads, and as what.
type Key = (u64, i64, u32, u32, u8);

fn key(access: &Access, base: Base, offset: i64) -> Option<Key> {
    let base = match base {
        Base::Value(value) => value.index() as u64,
        Base::Symbol(symbol) => symbol.index() as u64 | 1 << 32,
        Base::Absolute => return None,
    };
    let kind = u8::from(access.element.is_float());
    Some((base, offset, access.bytes, access.vector, kind))
}

/// Whether a block loads twice from one place: only then it matters what is changed in between.
fn has_repetition(subject: &Subject<'_>, block: Block) -> bool {
    let instructions = subject.function.instructions_of(block);
    let loads = instructions.filter_map(|instruction| global_load(subject, instruction));
    let mut keys: SmallVec<[Key; 8]> = loads
        .filter_map(|(access, base, offset)| key(&access, base, offset))
        .collect();
    keys.sort_unstable();
    keys.windows(2).any(|pair| pair[0] == pair[1])
}

fn repeated(subject: &Subject<'_>, block: Block, found: &mut Vec<Found>) {
    let function = subject.function;
    // Loads, each with the stores behind it, as positions in the list of stores.
    let mut loads: BTreeMap<Key, (Instruction, usize)> = BTreeMap::new();
    let mut stores: Vec<(Instruction, Root)> = Vec::new();
    for instruction in function.instructions_of(block) {
        match change(subject, instruction) {
            None => {}
            Some(Change::Store(root)) => stores.push((instruction, root)),
            Some(Change::Other) => loads.clear(),
        }
        let Some((access, base, offset)) = global_load(subject, instruction) else {
            continue;
        };
        let Some(key) = key(&access, base, offset) else {
            continue;
        };
        let before = loads.insert(key, (instruction, stores.len()));
        let Some((first, from)) = before.filter(|before| before.1 < stores.len()) else {
            continue;
        };
        let Some(own) = common_root(subject, base) else {
            continue;
        };
        let between = &stores[from..];
        if between.iter().any(|&(_, root)| root == own) {
            continue;
        }
        let &(store, other) = &between[between.len() - 1];
        found.push(Found {
            kind: FindingKind::RepeatedLoad,
            impact: Impact::Usual,
            instruction,
            what: format!(
                "load from {} repeats that of {}",
                described(subject, own),
                subject.at(first),
            ),
            why: format!(
                "the store to {} at {} may change the value",
                described(subject, other),
                subject.at(store),
            ),
            facts: Facts::default(),
            weight: sectors(&access) * subject.executions(block),
        });
    }
}

/// The root of an address, unless it is a variable of the thread.
fn common_root(subject: &Subject<'_>, base: Base) -> Option<Root> {
    let root = subject.roots().of_base(base)?;
    let symbol = match root {
        Root::Parameter(symbol, _) | Root::Variable(symbol) => symbol,
    };
    let variable = subject.function.symbols()[symbol].variable();
    let space = variable.and_then(|own| subject.function.variables()[own].space);
    (space != Some(Space::Local)).then_some(root)
}

/// Sectors that a warp fetches if its lanes lie next to each other.
fn sectors(access: &Access) -> f64 {
    f64::from(access.bytes)
}

fn described(subject: &Subject<'_>, root: Root) -> String {
    match root {
        Root::Parameter(symbol, 0) => subject.name(symbol).to_owned(),
        Root::Parameter(symbol, offset) => format!("{}+{offset}", subject.name(symbol)),
        Root::Variable(symbol) => subject.name(symbol).to_owned(),
    }
}

/// What changes global memory in a loop.
#[derive(Default)]
struct LoopChanges {
    stores: Vec<(Instruction, Root)>,
    /// Whether something else may.
    others: bool,
}

/// More stores than this in a loop are not looked at.
const MOST_STORES: usize = 64;

fn invariant(subject: &Subject<'_>, found: &mut Vec<Found>) {
    if !has_load_in_each_round(subject) {
        return;
    }
    let mut changes: Vec<LoopChanges> = Vec::new();
    changes.resize_with(subject.loops.iter().count(), LoopChanges::default);
    for (block, instruction) in subject.instructions() {
        let Some(this) = subject.loops.innermost(block) else {
            continue;
        };
        match change(subject, instruction) {
            None => {}
            Some(Change::Store(root)) if changes[this.index()].stores.len() < MOST_STORES => {
                changes[this.index()].stores.push((instruction, root));
            }
            Some(_) => changes[this.index()].others = true,
        }
    }
    let mut inner = vec![true; changes.len()];
    for this in subject.loops.iter() {
        if let Some(parent) = subject.loops.parent(this) {
            inner[parent.index()] = false;
        }
    }
    for (block, instruction) in subject.instructions() {
        // Of an outer loop the loops inside would have to be looked at too.
        let Some(this) = subject
            .loops
            .innermost(block)
            .filter(|this| inner[this.index()])
        else {
            continue;
        };
        let changes = &changes[this.index()];
        let Some((access, base, _)) = global_load(subject, instruction) else {
            continue;
        };
        if changes.others || !is_same(subject, base, this) || !is_always(subject, this, block) {
            continue;
        }
        let Some(own) = common_root(subject, base) else {
            continue;
        };
        if changes.stores.iter().any(|&(_, root)| root == own) {
            continue;
        }
        let why = match changes.stores.first() {
            Some(&(store, root)) => format!(
                "the store to {} at {} may change it",
                described(subject, root),
                subject.at(store)
            ),
            None => "nothing in the loop changes it".to_owned(),
        };
        let trips = subject.executions(block);
        let parent = subject.loops.parent(this);
        let parent = parent.map(|parent| subject.executions(subject.loops.header(parent)));
        let around = parent.unwrap_or(1.0);
        found.push(Found {
            kind: FindingKind::LoopInvariantLoad,
            impact: Impact::Usual,
            instruction,
            what: format!(
                "every iteration loads the same word of {}",
                described(subject, own)
            ),
            why,
            facts: Facts::default(),
            weight: sectors(&access) * (trips - around).max(0.0),
        });
    }
}

/// Whether there is a loop that loads something in each iteration.
fn has_load_in_each_round(subject: &Subject<'_>) -> bool {
    let mut blocks = subject.function.block_order().iter();
    blocks.any(|&block| {
        let this = subject.loops.innermost(block);
        let this = this.filter(|&this| is_always(subject, this, block));
        let mut instructions = subject.function.instructions_of(block);
        this.is_some() && instructions.any(|own| global_load(subject, own).is_some())
    })
}

/// Whether an address is the same in all iterations of a loop.
fn is_same(subject: &Subject<'_>, base: Base, this: Loop) -> bool {
    match base {
        Base::Value(value) => {
            let home = subject.function.defining_block(value);
            let mut query = subject.evolution.on(subject.function);
            let expression = query.expression(value);
            home.is_some_and(|home| !subject.loops.contains(this, home))
                || query.expressions().bits(expression) >= 32
                    && query.is_invariant(expression, subject.loops.header(this))
        }
        Base::Symbol(_) => true,
        Base::Absolute => false,
    }
}

/// Whether every iteration comes to a block.
fn is_always(subject: &Subject<'_>, this: Loop, block: Block) -> bool {
    let mut latches = subject.loops.back_edges(this).iter();
    latches.all(|&latch| subject.dominators.dominates(block, latch))
}
