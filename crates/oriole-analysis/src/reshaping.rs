//! What a journal did to the graph of blocks, as far as it can be followed step by step.

use crate::control_flow::ControlFlow;
use crate::manager::Others;
use oriole_collections::SmallVec;
use oriole_ir::{Block, Change, Function, Journal};
use std::rc::Rc;

/// A change to the graph that leaves the paths through all other blocks as they were.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step<Node> {
    /// The second takes the edges of the first, which leads to the second alone.
    Split(Node, Node),
    /// The first, which led to the second alone, takes the edges of the second, which it alone led to.
    Merge(Node, Node),
    /// An edge of the first leads through the second.
    SplitEdge(Node, Node),
}

impl Step<Block> {
    /// The same with blocks as numbers.
    pub(crate) fn as_numbers(self) -> Step<u32> {
        match self {
            Step::Split(block, rest) => Step::Split(block.as_u32(), rest.as_u32()),
            Step::Merge(block, next) => Step::Merge(block.as_u32(), next.as_u32()),
            Step::SplitEdge(from, new) => Step::SplitEdge(from.as_u32(), new.as_u32()),
        }
    }
}

/// How many changes are followed: each may go through all blocks, and with more of them it is cheaper to start over.
const MOST_CHANGES: usize = 12;

/// What was done to the graph of the blocks that the entry reaches, in order, and that graph as it is now. Nothing if there was
/// more than such steps, or too many of them to follow.
///
/// Other changes to edges of blocks that the entry does not reach say nothing about the rest. A block that was cut off has a
/// block before it that the entry still reaches and that lost an edge, so it is enough to look at what is reached now.
pub(crate) fn steps(
    function: &Function,
    journal: &Journal,
    others: &mut Others<'_>,
) -> Option<(Vec<Step<Block>>, Rc<ControlFlow>)> {
    let mut steps: Vec<Step<Block>> = Vec::new();
    // Blocks whose edges were changed otherwise, and those they were merged into. Who reaches the rest of a split block reaches
    // the block itself.
    let mut changed: Vec<Block> = Vec::new();
    for &change in &journal.entries {
        match change {
            Change::EdgesChanged(block) => changed.push(block),
            Change::BlockSplit(block, rest) => steps.push(Step::Split(block, rest)),
            Change::BlocksMerged(block, next) => {
                if changed.contains(&next) {
                    changed.push(block);
                }
                steps.push(Step::Merge(block, next));
            }
            Change::EdgeSplit(from, new) => steps.push(Step::SplitEdge(from, new)),
            _ => continue,
        }
        if steps.len() + changed.len() > MOST_CHANGES {
            return None;
        }
    }
    if !is_legible(&steps) {
        return None;
    }
    let flow = others.get::<ControlFlow>(function)?;
    let is_complete = !changed.iter().any(|&block| flow.is_reachable(block));
    is_complete.then_some((steps, flow))
}

/// Whether what was put on an edge still stands there: not if blocks were split or merged too, or edges of a block that was put
/// on an edge.
fn is_legible(steps: &[Step<Block>]) -> bool {
    let on_edges: SmallVec<[Block; MOST_CHANGES]> = steps
        .iter()
        .filter_map(|step| match *step {
            Step::SplitEdge(_, new) => Some(new),
            _ => None,
        })
        .collect();
    on_edges.is_empty()
        || steps
            .iter()
            .all(|step| matches!(step, Step::SplitEdge(from, _) if !on_edges.contains(from)))
}
