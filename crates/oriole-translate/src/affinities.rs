//! Affinities: which values should share a register, and what a copy between them would cost.

use crate::assignment::UseCounts;
use oriole_analysis::{ControlFlow, Loops};
use oriole_collections::{IndexVec, SmallVec};
use oriole_ir::{Block, Definition, Function, Instruction, Use, Value};

/// Two values that should share a register, and what a copy between them costs.
pub(crate) struct Affinity {
    pub cost: u32,
    /// How often the copy runs, about.
    pub frequency: u32,
    /// The edge that passes the one for the other; nothing if a guarded instruction keeps it.
    pub edge: Option<(Block, u32)>,
    /// The parameter or the result.
    pub one: Value,
    /// The argument, or what is kept.
    pub other: Value,
}

/// Affinities by what they cost, dearest first.
pub(crate) struct CostClasses {
    /// The class of each affinity.
    pub of: Vec<u32>,
    pub count: usize,
}

impl CostClasses {
    pub fn of(affinities: &[Affinity]) -> CostClasses {
        // There are no more costs than depths of loops that count, twice.
        let mut costs: SmallVec<[u32; 8]> = SmallVec::new();
        for affinity in affinities {
            if !costs.contains(&affinity.cost) {
                costs.push(affinity.cost);
            }
        }
        costs.sort_unstable_by(|one, other| other.cmp(one));
        let class = |affinity: &Affinity| {
            let class = costs.iter().position(|&cost| cost == affinity.cost);
            class.unwrap_or(0) as u32
        };
        CostClasses {
            of: affinities.iter().map(class).collect(),
            count: costs.len(),
        }
    }
}

/// Whether two affinities are of one edge.
pub(crate) fn is_same_edge(one: &Affinity, other: &Affinity) -> bool {
    one.edge.is_some() && one.edge == other.edge
}

/// Whether a value is anything in particular.
pub(crate) fn is_defined(function: &Function, value: Value) -> bool {
    function.values()[value].definition != Definition::Undefined
}

/// All affinities, in an order that does not depend on the registers values have: the same code in other registers, which is
/// what this leads to, has the same order.
pub(crate) fn affinities(
    function: &Function,
    (flow, loops): (&ControlFlow, &Loops),
    defined: &[Value],
    uses: &UseCounts<'_>,
    tied: &[(Block, Instruction)],
) -> Vec<Affinity> {
    let (mut definitions, mut ranks) = (None, None);
    let mut affinities = Vec::new();
    let mut tied = tied.iter().peekable();
    for &block in flow.reverse_postorder() {
        // A copy in a loop runs often; one on an edge that needs a block of its own also costs a branch.
        let often = 1 << (2 * loops.depth(block).min(10));
        while let Some(&(_, instruction)) = tied.next_if(|tied| tied.0 == block) {
            let kept = function.otherwise(instruction);
            for (result, kept) in function.results(instruction).zip(kept) {
                if let Some(kept) = kept.value().filter(|&kept| is_defined(function, kept)) {
                    affinities.push(Affinity {
                        cost: often * 2,
                        frequency: often,
                        edge: None,
                        one: result,
                        other: kept,
                    });
                }
            }
        }
        let edges = &function.blocks()[block].edges;
        for (index, edge) in edges.iter().enumerate() {
            let splits = edges.len() > 1 && flow.predecessors(edge.target).len() > 1;
            let parameters = &function.blocks()[edge.target].parameters;
            let first = affinities.len();
            for (&parameter, &argument) in parameters.iter().zip(function.arguments(*edge)) {
                if uses.count(parameter) > 0 && is_defined(function, argument) {
                    affinities.push(Affinity {
                        cost: often * if splits { 3 } else { 2 },
                        frequency: often,
                        edge: Some((block, index as u32)),
                        one: parameter,
                        other: argument,
                    });
                }
            }
            let own = &mut affinities[first..];
            if own.len() < 2 {
                continue;
            }
            let places = definitions.get_or_insert_with(|| definition_places(function, defined));
            own.sort_by_key(|affinity| places[affinity.other]);
            let is_told_apart =
                |one: &Affinity, other: &Affinity| places[one.other] < places[other.other];
            if own.is_sorted_by(is_told_apart) {
                continue;
            }
            let ranks = ranks.get_or_insert_with(|| parameter_ranks(function, flow));
            own.sort_by_key(|affinity| (places[affinity.other], ranks[affinity.one]));
        }
    }
    affinities
}

/// A rank for each parameter of a block, which does not depend on the order parameters stand in, that of the registers they were made of: by
/// first use, and of those that a block passes on together by what they become there.
fn parameter_ranks(function: &Function, flow: &ControlFlow) -> IndexVec<Value, u32> {
    let uses = FirstUses::of(function, flow);
    let mut ranks = IndexVec::from_elem(0, function.values().len());
    let mut keyed = Vec::new();
    // Twice: on the first walk nothing is known yet of what edges back lead to.
    for _ in 0..2 {
        for &block in flow.reverse_postorder().iter().rev() {
            let parameters = function.blocks()[block].parameters.iter();
            keyed.clear();
            keyed.extend(parameters.map(|&parameter| {
                let becomes = uses.edges[parameter].map(|(edge, to)| (edge, ranks[to]));
                ((uses.parameters[parameter], becomes), parameter)
            }));
            keyed.sort_by_key(|&(key, _)| key);
            for (rank, alike) in keyed.chunk_by(|one, next| one.0 == next.0).enumerate() {
                for &(_, parameter) in alike {
                    ranks[parameter] = rank as u32;
                }
            }
        }
    }
    ranks
}

/// Where values are first used, in reverse postorder of blocks.
struct FirstUses {
    /// The place where each parameter is used first, by an instruction or at the end of a block; `u32::MAX` if it is not.
    parameters: IndexVec<Value, u32>,
    /// The first edge that passes each value on, and for which parameter.
    edges: IndexVec<Value, Option<(u32, Value)>>,
}

impl FirstUses {
    fn of(function: &Function, flow: &ControlFlow) -> FirstUses {
        let mut instructions = IndexVec::from_elem(u32::MAX, function.instruction_bound());
        let mut ends = IndexVec::from_elem(u32::MAX, function.blocks().len());
        let mut edges = IndexVec::from_elem(None, function.values().len());
        let (mut place, mut number) = (0, 0);
        for &block in flow.reverse_postorder() {
            for instruction in function.instructions_of(block) {
                place += 1;
                instructions[instruction] = place;
            }
            place += 1;
            ends[block] = place;
            for edge in &function.blocks()[block].edges {
                let parameters = &function.blocks()[edge.target].parameters;
                for (&parameter, &argument) in parameters.iter().zip(function.arguments(*edge)) {
                    edges[argument].get_or_insert((number, parameter));
                }
                number += 1;
            }
        }
        let mut parameters = IndexVec::from_elem(u32::MAX, function.values().len());
        for &block in flow.reverse_postorder() {
            for &parameter in &function.blocks()[block].parameters {
                let places = function.uses_of(parameter).map(|user| match user {
                    Use::Instruction(instruction) => instructions[instruction],
                    Use::Edge(block) => ends[block],
                });
                parameters[parameter] = places.min().unwrap_or(u32::MAX);
            }
        }
        FirstUses { parameters, edges }
    }
}

/// Where each value is defined, in order; the parameters of a block have one place.
fn definition_places(function: &Function, defined: &[Value]) -> IndexVec<Value, u32> {
    let mut places = IndexVec::from_elem(u32::MAX, function.values().len());
    let mut last = None;
    let mut place = 0;
    for &value in defined {
        let definition = function.values()[value].definition;
        if !(matches!(definition, Definition::Parameter(_)) && last == Some(definition)) {
            place += 1;
        }
        places[value] = place;
        last = Some(definition);
    }
    places
}
