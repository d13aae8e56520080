//! Where values are defined and who reads them: what leaves are ranked by.
//!
//! Planning asks for the ranks of few leaves: it is given where values are defined, and the rest is found when it is asked for. Before anything
//! is changed all of it is found, and kept up from then on.

use super::tree::{Part, Rank};
use super::{Graph, Reassociation};
use crate::associative::node_of;
use oriole_collections::{BitSet, SmallVec};
use oriole_ir::arithmetic::{Family, Node, Operation};
use oriole_ir::{Definition, Function, Instruction, Value};

/// No place.
const NOT_FOUND: u32 = u32::MAX;

/// What is known of a value.
#[derive(Clone, Copy, Default)]
pub(super) struct Facts {
    /// Where it is defined.
    pub place: u32,
    /// Which of the results or parameters there it is.
    pub index: u32,
    /// The place of the first leaf, for what a node gives; [`NOT_FOUND`] before that is asked for.
    pub anchor: u32,
    /// How many operands and arguments read it.
    pub uses: u32,
    /// How many of those decide its register: arguments, and what guarded instructions keep.
    pub bound: u32,
    /// The node that gives it.
    pub node: Option<Node>,
    /// The part of a sum that it belongs to.
    pub part: Part,
}

impl Facts {
    fn rank(&self, family: Family, bits: u32) -> Rank {
        let composite = self
            .node
            .is_some_and(|node| node.operation.family() == family && node.bits == bits);
        Rank {
            part: self.part,
            anchor: if composite { self.anchor } else { self.place },
            is_simple: !composite,
            place: self.place,
            index: self.index,
        }
    }
}

impl Reassociation {
    /// Finds out where everything is defined.
    pub(super) fn find_places(&mut self, function: &Function, (flow, loops): Graph<'_>) {
        self.has_facts = false;
        self.has_parts = false;
        self.local_parts.clear();
        self.places.clear();
        self.places.resize(function.instruction_bound(), 0);
        self.facts.clear();
        let nothing = Facts {
            anchor: NOT_FOUND,
            ..Facts::default()
        };
        self.facts.resize(function.values().len(), nothing);
        self.taken = BitSet::with_domain(function.instruction_bound());
        for (value, data) in function.values().iter() {
            if data.definition == Definition::Undefined {
                self.facts[value.index()].index = value.as_u32();
            }
        }
        self.loop_starts.clear();
        self.loop_starts.resize(function.blocks().len(), None);
        let mut count = 0;
        for &block in flow.reverse_postorder() {
            // The header of a loop comes before the other blocks of the loop.
            self.loop_starts[block.index()] =
                loops
                    .innermost(block)
                    .and_then(|innermost| match loops.header(innermost) {
                        header if header == block => Some(count * 2),
                        header => self.loop_starts[header.index()],
                    });
            for (index, &parameter) in function.blocks()[block].parameters.iter().enumerate() {
                let facts = &mut self.facts[parameter.index()];
                (facts.place, facts.index) = (count * 2, index as u32);
            }
            for instruction in function.instructions_of(block) {
                let place = count * 2 + 1;
                count += 1;
                self.places[instruction.index()] = place;
                for (index, result) in function.results(instruction).enumerate() {
                    let facts = &mut self.facts[result.index()];
                    (facts.place, facts.index) = (place, index as u32);
                }
            }
        }
    }

    /// Finds out where everything is defined and how often it is read.
    pub(super) fn find_facts(&mut self, function: &Function, graph: Graph<'_>) {
        self.find_places(function, graph);
        self.has_facts = true;
        for &block in graph.0.reverse_postorder() {
            for instruction in function.instructions_of(block) {
                let format = function.format(instruction);
                let node = match format.arithmetic {
                    Some(_) => node_of(function, instruction),
                    None => None,
                };
                let anchor = node
                    .and_then(|node| self.anchor(function, instruction, node))
                    .unwrap_or(self.places[instruction.index()]);
                for result in function.results(instruction) {
                    let facts = &mut self.facts[result.index()];
                    (facts.anchor, facts.node) = (anchor, node);
                }
                let uses = function.uses(instruction);
                uses.for_each(|value| self.facts[value.index()].uses += 1);
                if !format.is_guarded() {
                    continue;
                }
                for value in function.otherwise(instruction) {
                    if let Some(value) = value.value() {
                        self.facts[value.index()].bound += 1;
                    }
                }
            }
            for edge in &function.blocks()[block].edges {
                for &argument in function.arguments(*edge) {
                    let facts = &mut self.facts[argument.index()];
                    facts.uses += 1;
                    facts.bound += 1;
                }
            }
        }
    }

    /// Whether a value has one reader.
    pub(super) fn is_alone(&self, function: &Function, value: Value) -> bool {
        match self.has_facts {
            true => self.facts[value.index()].uses == 1,
            false => function.use_count(value) == 1,
        }
    }

    /// The rank of a leaf. Without all facts, one that tells leaves apart.
    pub(super) fn rank(&self, value: Value, family: Family, bits: u32) -> Rank {
        self.facts[value.index()].rank(family, bits)
    }

    /// The rank of a leaf, whether there are all facts or not.
    pub(super) fn find_rank(
        &mut self,
        function: &Function,
        value: Value,
        family: Family,
        bits: u32,
    ) -> Rank {
        if !self.has_facts
            && let Some((_, node)) = composite(function, value, family, bits)
        {
            self.find_anchor(function, value, node);
            self.facts[value.index()].node = Some(node);
        }
        self.rank(value, family, bits)
    }

    /// Finds the place of the first leaf of what a node gives, and of all that are gathered in it.
    fn find_anchor(&mut self, function: &Function, value: Value, node: Node) {
        let (family, bits) = (node.operation.family(), node.bits);
        let mut stack: SmallVec<[Value; 8]> = SmallVec::new();
        stack.push(value);
        while let Some(&top) = stack.last() {
            let facts = self.facts[top.index()];
            let Some((instruction, node)) =
                composite(function, top, family, bits).filter(|_| facts.anchor == NOT_FOUND)
            else {
                stack.pop();
                continue;
            };
            let count = stack.len();
            let mut first = NOT_FOUND;
            for leaf in gathered(function, instruction, node) {
                let own = &self.facts[leaf.index()];
                match composite(function, leaf, family, bits).is_some() {
                    true if own.anchor == NOT_FOUND => stack.push(leaf),
                    true => first = first.min(own.anchor),
                    false => first = first.min(own.place),
                }
            }
            if stack.len() == count {
                stack.pop();
                self.facts[top.index()].anchor = match first {
                    NOT_FOUND => facts.place,
                    first => first,
                };
            }
        }
    }

    /// The place of the first leaf of a node, if those of its leaves are known.
    fn anchor(&self, function: &Function, instruction: Instruction, node: Node) -> Option<u32> {
        let anchors = gathered(function, instruction, node).map(|value| {
            let rank = self.rank(value, node.operation.family(), node.bits);
            rank.anchor
        });
        anchors.min()
    }
}

/// The node that gives a value, if it is of this family and width.
pub(super) fn composite(
    function: &Function,
    value: Value,
    family: Family,
    bits: u32,
) -> Option<(Instruction, Node)> {
    let Definition::Instruction(definer) = function.values()[value].definition else {
        return None;
    };
    let node = function.format(definer).arithmetic?;
    let is_same = node.operation.family() == family && node.bits == bits;
    (is_same && node_of(function, definer).is_some()).then_some((definer, node))
}

/// The values among the leaves of a node that are gathered in its tree.
fn gathered(
    function: &Function,
    instruction: Instruction,
    node: Node,
) -> impl Iterator<Item = Value> + '_ {
    let leaves = function.leaves(instruction);
    let gathered = match node.operation {
        Operation::Mad => &leaves[3..],
        _ => &leaves[1..],
    };
    gathered.iter().filter_map(|leaf| leaf.value())
}
