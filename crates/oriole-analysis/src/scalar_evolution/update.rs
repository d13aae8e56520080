//! Forgets what a journal touches: no pass has to say what it invalidates.
//!
//! ## Method
//! A change of an instruction touches the definitions of its results. `a` replaced by `b` touches `a`: whoever read it had asked what it is.
//! Changes to blocks and edges are found by comparing the graph with the one that was read: loops whose blocks and edges are the same, blocks
//! whose edges in are the same, and blocks whose dominators are the same, keep what was computed from them.

use super::State;
use super::shape::Shape;
use super::tables::{Depth, Key};
use crate::control_flow::ControlFlow;
use crate::dominators::Dominators;
use crate::loops::Loops;
use crate::manager::Others;
use oriole_collections::BitSet;
use oriole_ir::{Block, Change, Function, Instruction, Journal};

pub(super) fn update(
    state: &mut State,
    function: &Function,
    journal: &Journal,
    others: &mut Others<'_>,
) {
    let mut touched: Vec<Key> = Vec::new();
    for &change in &journal.entries {
        match change {
            Change::Inserted(instruction)
            | Change::Rewritten(instruction)
            | Change::Moved(instruction)
            | Change::Removed(instruction, _) => {
                touch_results(function, instruction, &mut touched);
                // The result it had, if it was given another one.
                let before = state.tables.results.get(instruction);
                touched.extend(before.and_then(|it| it.expand()).map(Key::definition));
            }
            Change::Replaced(old, _) => touched.push(Key::definition(old)),
            Change::ArgumentsChanged(from) => touch_targets(function, from, &mut touched),
            Change::ParametersChanged(block) => touched.push(Key::incoming(block)),
            Change::TerminatorChanged(block) => touched.push(Key::terminator(block)),
            Change::EdgesChanged(block) => {
                touched.push(Key::terminator(block));
                touch_targets(function, block, &mut touched);
            }
            Change::BlockSplit(block, other)
            | Change::BlocksMerged(block, other)
            | Change::EdgeSplit(block, other) => {
                touched.extend([Key::terminator(block), Key::terminator(other)]);
                touch_targets(function, block, &mut touched);
                touch_targets(function, other, &mut touched);
            }
            Change::BlockAdded(_)
            | Change::BlockRemoved(_)
            | Change::UnrollingForbidden(_)
            | Change::VariableAdded(_)
            | Change::VariableChanged(_)
            | Change::VariableRemoved(_) => {}
        }
    }
    if journal.control_flow {
        let shape = shape_now(function, others);
        touched.extend(shape.touched_since(function, &state.shape));
        // What is in these was in another block before, which control may have reached or not.
        let mut regrouped: BitSet<Block> = BitSet::new();
        for &change in &journal.entries {
            if let Change::BlocksMerged(block, other) | Change::BlockSplit(block, other) = change {
                regrouped.insert(block);
                regrouped.insert(other);
            }
        }
        touch_reached(state, function, &shape, &regrouped, &mut touched);
        state.shape = shape;
        state.tables.counted = 0;
    }
    state.tables.forget(touched, Depth::All);
    state.tables.prune();
}

/// The graph as it is now. Others ask for it too.
fn shape_now(function: &Function, others: &mut Others<'_>) -> Shape {
    let flow = others.compute::<ControlFlow>(function);
    let dominators = others.compute::<Dominators>(function);
    let loops = others.compute::<Loops>(function);
    Shape::of(
        function,
        ControlFlow::clone(&flow),
        Dominators::clone(&dominators),
        Loops::clone(&loops),
    )
}

fn touch_results(function: &Function, instruction: Instruction, touched: &mut Vec<Key>) {
    touched.extend(function.results(instruction).map(Key::definition));
    // An operand of a branch may be set without anything else.
    if function.format(instruction).is_terminator() {
        touched.extend(function.block_of(instruction).map(Key::terminator));
    }
}

fn touch_targets(function: &Function, from: Block, touched: &mut Vec<Key>) {
    let targets = function.edges(from).iter();
    touched.extend(targets.map(|edge| Key::incoming(edge.target)));
}

/// Touches what is defined in blocks that control reaches since, or does not any more, and in those of `regrouped` that hold something of which
/// that is so.
fn touch_reached(
    state: &State,
    function: &Function,
    shape: &Shape,
    regrouped: &BitSet<Block>,
    touched: &mut Vec<Key>,
) {
    for &block in function.block_order() {
        let is_reached = shape.is_reachable(block);
        let is_same = state.shape.is_reachable(block) == is_reached && state.shape.has(block);
        if is_same && !regrouped.contains(block) {
            continue;
        }
        for instruction in function.instructions_of(block) {
            for result in function.results(instruction) {
                let entry = state.tables.value(result);
                if entry.is_some_and(|entry| entry.is_reached != is_reached) {
                    touched.push(Key::definition(result));
                }
            }
        }
    }
}
