//! Loads that happen on one side of a condition only, into a register that is undefined on the other: `ptxas` may take them for
//! loads that always happen.
//!
//! ## Example
//! ```text
//! @%p1 ld.global.u32 %r3, [%rd1];        // nothing defines %r3 where %p1 is false
//! @%p1 add.s32 %r4, %r3, %r1;
//! ld.global.u32 %r5, [%rd1];             // ptxas drops this load and the sum,
//! add.s32 %r6, %r5, %r1;                 // and gives what is in %r3 + %r1, written or not
//! ```
//! A branch around the load does as well as a guard. This is the quirk `partial-load` of [`oriole_isa::ptxas::QUIRKS`].
//!
//! ## Definition
//! A value may be undefined if nothing defines it, if it is a parameter and one of its arguments may be, or if it is the result
//! of a guarded instruction and what it keeps may be. A load is *partial* if its result may be undefined, which takes a guard,
//! or if it reaches a parameter that may be, through copies, parameters and guarded instructions, in a block that the load does
//! not dominate.
//!
//! A partial load is a *hazard* if a load of the same address that it, or the parameter, dominates happens under another
//! condition, and an instruction computes from that one what another computes from the partial one.
//!
//! ## Method
//! Copies are looked through. Worklists over values; equal loads are found by a table of formats and operands, which is made
//! only if there are partial loads. Linear.
//!
//! ## Not done
//! Memory that changes between the two loads is not looked at: a store between makes it no hazard, and is rarely there.

use super::{Hazard, copied, original};
use crate::dominators::Dominators;
use crate::manager::Analyses;
use oriole_collections::{BitSet, DenseMap, IndexVec, SmallVec};
use oriole_ir::graph::Adjacency;
use oriole_ir::{Block, Definition, Function, Instruction, Operand, Use, Value};
use oriole_isa::{Opcode, Space};
use oriole_syntax::tree::Guard;

/// Equal loads that each partial load is compared with.
const MOST_EQUAL: usize = 64;

/// Loads into registers that are undefined where the load does not happen.
pub fn partial_loads(function: &Function, analyses: &mut Analyses) -> Vec<Instruction> {
    let partial = find_partial(function, analyses);
    partial.into_iter().map(|(load, ..)| load).collect()
}

/// Places that `ptxas` may get wrong.
pub fn hazards(function: &Function, analyses: &mut Analyses) -> Vec<Hazard> {
    let partial = find_partial(function, analyses);
    let mut found = Vec::new();
    if partial.is_empty() {
        return found;
    }
    let dominators = analyses.get::<Dominators>(function);
    let mut by_key: DenseMap<u64, SmallVec<[Instruction; 2]>> = DenseMap::new();
    let mut positions: DenseMap<Instruction, usize> = DenseMap::new();
    for &block in function.block_order() {
        for (position, instruction) in function.instructions_of(block).enumerate() {
            if is_load(function, instruction) {
                let key = key(function, instruction, None);
                by_key.get_or_default(key).push(instruction);
                positions.insert(instruction, position);
            }
        }
    }
    for (load, value, block) in partial {
        let equal = by_key.get(&key(function, load, None));
        for &other in equal.into_iter().flatten().take(MOST_EQUAL) {
            let Some(other_block) = function.block_of(other) else {
                continue;
            };
            let is_behind = if other_block == block {
                Some(block) != function.block_of(load)
                    || positions.get(&load) < positions.get(&other)
            } else {
                dominators.dominates(block, other_block)
            };
            if other == load || !is_behind || has_same_guard(function, load, other) {
                continue;
            }
            let partial_keys: SmallVec<[u64; 4]> = computations(function, value)
                .map(|reader| key(function, reader, Some(value)))
                .collect();
            let results = function.results(other);
            let replaced = results.into_iter().find_map(|result| {
                computations(function, result)
                    .find(|&reader| partial_keys.contains(&key(function, reader, Some(result))))
            });
            if let Some(replaced) = replaced {
                found.push(Hazard::PartialLoad {
                    partial: load,
                    dropped: other,
                    replaced,
                });
                break;
            }
        }
    }
    found
}

/// A partial load, the value that may be undefined instead, and the block from which on it may be taken for defined.
type Partial = (Instruction, Value, Block);

fn find_partial(function: &Function, analyses: &mut Analyses) -> Vec<Partial> {
    let mut partial = Vec::new();
    let is_read = |value: Value| function.use_count(value) > 0;
    let mut values = function.values().iter();
    if !values.any(|(value, data)| data.definition == Definition::Undefined && is_read(value)) {
        return partial;
    }
    let witnesses = Witnesses::of(function);
    let dominators = analyses.get::<Dominators>(function);
    for &block in function.block_order() {
        for instruction in function.instructions_of(block) {
            if !is_load(function, instruction) {
                continue;
            }
            let joins = function.results(instruction).find_map(|result| {
                let witness = witnesses.joined[result]?;
                let at = function.defining_block(witness)?;
                let is_guarded_load = witness == result;
                (is_guarded_load || !dominators.dominates(block, at)).then_some((witness, at))
            });
            if let Some((witness, at)) = joins {
                partial.push((instruction, witness, at));
            }
        }
    }
    partial
}

/// For each value, the value that may be undefined and that is this one on some way, if there is one.
struct Witnesses {
    joined: IndexVec<Value, Option<Value>>,
}

impl Witnesses {
    fn of(function: &Function) -> Witnesses {
        // Who keeps or joins each value, and from whom.
        let mut edges: Vec<(u32, u32)> = Vec::new();
        for &block in function.block_order() {
            for instruction in function.instructions_of(block) {
                let results = function.results(instruction);
                for (result, kept) in results.zip(function.otherwise(instruction)) {
                    if let Some(kept) = kept.value() {
                        edges.push((kept.as_u32(), result.as_u32()));
                    }
                }
                let results = function.results(instruction);
                if let Some(source) = copied(function, instruction) {
                    edges.extend(results.map(|copy| (source.as_u32(), copy.as_u32())));
                }
            }
            for edge in &function.blocks()[block].edges {
                let parameters = &function.blocks()[edge.target].parameters;
                for (&argument, &parameter) in function.arguments(*edge).iter().zip(parameters) {
                    edges.push((argument.as_u32(), parameter.as_u32()));
                }
            }
        }
        let heirs = Adjacency::new(function.values().len(), edges.iter().copied());
        let mut undefined: BitSet<Value> = BitSet::with_domain(function.values().len());
        let mut order: Vec<Value> = Vec::new();
        for (value, data) in function.values().iter() {
            if data.definition == Definition::Undefined {
                undefined.insert(value);
                order.push(value);
            }
        }
        let mut next = 0;
        while let Some(&value) = order.get(next) {
            next += 1;
            for &heir in heirs.of(value.as_u32()) {
                let heir = Value::from_index(heir as usize);
                if undefined.insert(heir) {
                    order.push(heir);
                }
            }
        }
        let givers = heirs.reversed();
        let mut joined: IndexVec<Value, Option<Value>> =
            IndexVec::from_elem(None, function.values().len());
        let mut worklist: Vec<Value> = Vec::new();
        for &value in &order {
            if function.values()[value].definition != Definition::Undefined {
                joined[value] = Some(value);
                worklist.push(value);
            }
        }
        while let Some(value) = worklist.pop() {
            for &giver in givers.of(value.as_u32()) {
                let giver = Value::from_index(giver as usize);
                if joined[giver].is_none() {
                    joined[giver] = joined[value];
                    worklist.push(giver);
                }
            }
        }
        Witnesses { joined }
    }
}

/// Loads that `ptxas` may common: not volatile or ordered, and not of parameters.
fn is_load(function: &Function, instruction: Instruction) -> bool {
    let format = function.format(instruction);
    format.mnemonic.opcode() == Opcode::Ld
        && format.is_removable()
        && !matches!(
            format.mnemonic.space(),
            Some(Space::Param | Space::ParamEntry | Space::ParamFunc)
        )
}

/// Instructions that compute something from a value, directly or from copies of it.
fn computations(function: &Function, value: Value) -> impl Iterator<Item = Instruction> {
    let mut found: SmallVec<[Instruction; 4]> = SmallVec::new();
    let mut worklist: SmallVec<[Value; 4]> = SmallVec::from_slice(&[value]);
    while let Some(value) = worklist.pop() {
        for reader in function.uses_of(value) {
            let Use::Instruction(reader) = reader else {
                continue;
            };
            if copied(function, reader).is_some() {
                worklist.extend(function.results(reader));
            } else if function.format(reader).is_pure() {
                found.push(reader);
            }
        }
    }
    found.into_iter()
}

/// A number that instructions share that compute the same, guards apart; `input` is the same to all.
fn key(function: &Function, instruction: Instruction, input: Option<Value>) -> u64 {
    let format = function.format(instruction);
    let mut hash = format
        .mnemonic
        .text()
        .bytes()
        .fold(0, |hash, byte| mix(hash, u64::from(byte)));
    for &leaf in function.leaves(instruction) {
        let word = match leaf {
            Operand::Value(value) => {
                let value = original(function, value);
                if input.is_some_and(|input| original(function, input) == value) {
                    1
                } else {
                    2 << 32 | u64::from(value.as_u32())
                }
            }
            Operand::Result(index) => 3 << 32 | u64::from(index),
            Operand::Constant(constant) => 4 << 32 | u64::from(constant.as_u32()),
            Operand::Symbol(symbol) => 5 << 32 | u64::from(symbol.as_u32()),
            Operand::Register(register) => 6 << 32 | u64::from(register.as_u32()),
            Operand::Target(target) => 7 << 32 | u64::from(target),
            Operand::Sink => 8 << 32,
        };
        hash = mix(hash, word);
    }
    hash
}

fn mix(hash: u64, word: u64) -> u64 {
    (hash.rotate_left(5) ^ word).wrapping_mul(0x9E37_79B9_7F4A_7C15)
}

/// Whether both are guarded, by the same predicate and alike: then what the one does not load the other does not either.
fn has_same_guard(function: &Function, one: Instruction, other: Instruction) -> bool {
    let guards = [one, other].map(|which| function.format(which).guard);
    guards[0] != Guard::None
        && guards[0] == guards[1]
        && function.guard(one) == function.guard(other)
}
