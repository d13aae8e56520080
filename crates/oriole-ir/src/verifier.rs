//! Checks that a function is well formed. Run between all passes in debug builds and tests.
//!
//! The rules:
//!
//!  1. Block order: every block is in it at most once, and the entry block has no parameters.
//!  2. Only the last instruction of a block is a terminator.
//!  3. Edges fit the terminator: one per target operand, one more if the block can fall through, and no other.
//!  4. Every edge leads to a block in the order and carries one argument per parameter, of the parameter's width.
//!  5. An instruction has one operand for the guard, one per result if it is guarded, and one per leaf of its format.
//!  6. Results stand at defining leaves, each exactly once and in order, and name their instruction as definition.
//!  7. Block parameters name their block as definition.
//!  8. The guard is a predicate.
//!  9. A value for a false guard has the width of the result it is tied to.
//! 10. Pinned leaves hold no values; registers stand only where they are pinned, and no value lives in a pinned register.
//! 11. Every value that is used is defined, and its definition dominates the use. Blocks that cannot be reached are
//!     exempt from dominance.
//! 12. The use list of every value holds exactly the operands of instructions and the arguments of edges that read it.
//! 13. A variable has one symbol at most, whose kind is that of the variable; its alignment is a power of two and its size a
//!     multiple of its elements, and known if it was added or changed. What instructions name was not removed, and parameters
//!     and results are as they were.
//! 14. The traits of every instruction are among those of the function.
//!
//! One more rule is about what passes create, not about one function, so the runner of passes checks it (`oriole_opt`'s
//! `manager.rs`): no load is partial after a pass that was not before (`oriole_analysis::ptxas_hazards`).

use crate::entities::{Block, Instruction, Symbol, Value};
use crate::function::{Definition, Function, SymbolKind};
use crate::graph::{Adjacency, Tree, immediate_dominators};
use crate::operand::Operand;
use crate::use_lists::Use;
use crate::variable::{VariableKind, VariableState};
use oriole_collections::{BitSet, IndexVec};
use oriole_isa::{ScalarType, Terminator};
use std::fmt;

/// A broken rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The number of the rule.
    pub rule: u8,
    /// The block it is broken in.
    pub block: Block,
    /// The instruction it is broken at, if at one.
    pub instruction: Option<Instruction>,
    /// What is wrong.
    pub message: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "rule {} broken in {}", self.rule, self.block)?;
        if let Some(instruction) = self.instruction {
            write!(formatter, " at {instruction}")?;
        }
        write!(formatter, ": {}", self.message)
    }
}

/// All rules the function breaks; empty if it is well formed.
pub fn verify(function: &Function) -> Vec<Violation> {
    let mut verifier = Verifier {
        function,
        violations: Vec::new(),
    };
    if verifier.structure() {
        verifier.dominance();
    }
    verifier.use_lists();
    verifier.variables();
    verifier.traits();
    verifier.violations
}

struct Verifier<'function> {
    function: &'function Function,
    violations: Vec<Violation>,
}

impl Verifier<'_> {
    fn broken(
        &mut self,
        rule: u8,
        block: Block,
        instruction: Option<Instruction>,
        message: impl Into<String>,
    ) {
        self.violations.push(Violation {
            rule,
            block,
            instruction,
            message: message.into(),
        });
    }

    /// Rule 14.
    fn traits(&mut self) {
        let function = self.function;
        for &block in function.block_order() {
            for instruction in function.instructions_of(block) {
                if !function
                    .traits()
                    .have(function.format(instruction).traits())
                {
                    self.broken(14, block, Some(instruction), "its traits are not known");
                }
            }
        }
    }

    /// Rules 1 to 10; whether edges are sound enough to compute dominators.
    fn structure(&mut self) -> bool {
        let function = self.function;
        let mut ordered: BitSet<Block> = BitSet::with_domain(function.blocks.len());
        for &block in function.block_order() {
            if !ordered.insert(block) {
                self.broken(1, block, None, "the block is in the order twice");
            }
        }
        if !function.blocks[function.entry()].parameters.is_empty() {
            self.broken(1, function.entry(), None, "the entry block has parameters");
        }
        let mut edges_are_sound = true;
        for &block in function.block_order() {
            let data = &function.blocks[block];
            for &parameter in &data.parameters {
                if function.values[parameter].definition != Definition::Parameter(block) {
                    self.broken(
                        7,
                        block,
                        None,
                        format!("the parameter {parameter} is defined elsewhere"),
                    );
                }
            }
            for edge in &data.edges {
                if !ordered.contains(edge.target) {
                    self.broken(
                        4,
                        block,
                        None,
                        format!("an edge leads to {}, which is gone", edge.target),
                    );
                    edges_are_sound = false;
                    continue;
                }
                let parameters = &function.blocks[edge.target].parameters;
                if parameters.len() != function.arguments(*edge).len() {
                    self.broken(
                        4,
                        block,
                        None,
                        format!(
                            "{} arguments for the {} parameters of {}",
                            function.arguments(*edge).len(),
                            parameters.len(),
                            edge.target
                        ),
                    );
                }
                for (&argument, &parameter) in function.arguments(*edge).iter().zip(parameters) {
                    if self.width(argument) != self.width(parameter) {
                        self.broken(
                            4,
                            block,
                            None,
                            format!("{argument} does not fit the parameter {parameter}"),
                        );
                    }
                }
            }
            self.terminator(block);
            for instruction in function.instructions_of(block) {
                self.instruction(block, instruction);
            }
        }
        edges_are_sound
    }

    /// Rule 12.
    fn use_lists(&mut self) {
        let function = self.function;
        let mut expected: Vec<(Value, Use)> = Vec::new();
        for &block in function.block_order() {
            for instruction in function.instructions_of(block) {
                let uses = function.uses(instruction);
                expected.extend(uses.map(|value| (value, Use::Instruction(instruction))));
            }
            for &edge in function.edges(block) {
                let arguments = function.arguments(edge).iter();
                expected.extend(arguments.map(|&value| (value, Use::Edge(block))));
            }
        }
        let mut listed: Vec<(Value, Use)> = Vec::with_capacity(expected.len());
        for value in function.values().keys() {
            let before = listed.len();
            listed.extend(function.uses_of(value).map(|user| (value, user)));
            if listed.len() - before != function.use_count(value) as usize {
                let message = format!("the uses of {value} are miscounted");
                self.broken(12, function.entry(), None, message);
            }
        }
        expected.sort_unstable();
        listed.sort_unstable();
        let differs = expected
            .iter()
            .zip(&listed)
            .find(|(one, other)| one != other)
            .map(|(one, _)| *one)
            .or_else(|| expected.get(listed.len()).copied())
            .or_else(|| listed.get(expected.len()).copied());
        if let Some((value, user)) = differs {
            let message = format!("{user:?} and the use list of {value} do not agree");
            self.broken(12, function.entry(), None, message);
        }
    }

    /// Rule 13.
    fn variables(&mut self) {
        let function = self.function;
        for (variable, data) in function.variables.iter() {
            let own = &data.variable_type;
            let is_sound = own.alignment.is_power_of_two()
                && matches!(own.vector, 1 | 2 | 4 | 8)
                && (own.bytes.is_none() || own.count().is_some())
                && match data.state {
                    VariableState::Original | VariableState::Removed => true,
                    VariableState::Changed | VariableState::Added => {
                        data.space.is_some() && own.can_be_declared()
                    }
                };
            if !is_sound {
                let message = format!("{variable} has a type that no variable has");
                self.broken(13, function.entry(), None, message);
            }
            if data.kind != VariableKind::Declared && data.state != VariableState::Original {
                let message = format!("{variable} stands in the header and was changed");
                self.broken(13, function.entry(), None, message);
            }
        }
        let is_right = |symbol: Symbol| {
            let data = &function.symbols[symbol];
            let Some(variable) = data.variable() else {
                return true;
            };
            let own = &function.variables[variable];
            let is_declared = matches!(data.kind, SymbolKind::Variable(_));
            own.symbol.expand() == Some(symbol)
                && !own.is_removed()
                && is_declared == (own.kind == VariableKind::Declared)
        };
        for &block in function.block_order() {
            for instruction in function.instructions_of(block) {
                for operand in function.operands(instruction) {
                    if let Operand::Symbol(symbol) = *operand
                        && !is_right(symbol)
                    {
                        let message = format!("{symbol} names no variable of the function");
                        self.broken(13, block, Some(instruction), message);
                    }
                }
            }
        }
    }

    fn width(&self, value: Value) -> u32 {
        self.function.values[value].scalar_type.bits()
    }

    /// Rules 2 and 3.
    fn terminator(&mut self, block: Block) {
        let function = self.function;
        let data = &function.blocks[block];
        let mut targets = 0;
        let mut may_fall_through = true;
        for instruction in function.instructions_of(block) {
            let format = function.format(instruction);
            if !format.is_terminator() {
                continue;
            }
            if function.last_instruction(block) != Some(instruction) {
                self.broken(
                    2,
                    block,
                    Some(instruction),
                    "a terminator stands inside the block",
                );
            }
            targets = match format.effects.terminator {
                Terminator::Branch => 1,
                Terminator::IndirectBranch => data.edges.len() - usize::from(data.falls_through),
                _ => 0,
            };
            may_fall_through = format.is_guarded();
        }
        let expected = targets + usize::from(data.falls_through);
        if data.edges.len() != expected || (data.falls_through && !may_fall_through) {
            self.broken(
                3,
                block,
                function.last_instruction(block),
                format!(
                    "{} edges where the terminator allows {expected}",
                    data.edges.len()
                ),
            );
        }
        // A block that does not fall through although it could is the end of the function: an implicit return.
        if may_fall_through
            && !data.falls_through
            && targets > 0
            && function.block_order().last() != Some(&block)
        {
            self.broken(3, block, None, "the fall-through edge is missing");
        }
    }

    /// Rules 5, 6, 8, 9, 10.
    fn instruction(&mut self, block: Block, instruction: Instruction) {
        let function = self.function;
        let format = function.format(instruction);
        let at = Some(instruction);
        let results = function.results(instruction).len();
        let expected = format.leaves.len() + if format.is_guarded() { 1 + results } else { 0 };
        if function.operands(instruction).len() != expected {
            self.broken(
                5,
                block,
                at,
                format!(
                    "{} operands instead of {expected}",
                    function.operands(instruction).len()
                ),
            );
            return;
        }
        for (index, result) in function.results(instruction).enumerate() {
            if function.values[result].definition != Definition::Instruction(instruction) {
                self.broken(
                    6,
                    block,
                    at,
                    format!("result {index} ({result}) is defined elsewhere"),
                );
            }
        }
        let mut next_result = 0;
        for (leaf, &operand) in format.leaves.iter().zip(function.leaves(instruction)) {
            match operand {
                Operand::Result(index) => {
                    if index != next_result || !leaf.role.defines() {
                        self.broken(
                            6,
                            block,
                            at,
                            format!("result {index} stands in the wrong place"),
                        );
                    }
                    if leaf.pinned {
                        self.broken(10, block, at, "a result stands at a pinned leaf");
                    }
                    next_result += 1;
                }
                Operand::Value(value) => {
                    if leaf.pinned {
                        self.broken(10, block, at, format!("{value} stands at a pinned leaf"));
                    }
                    if leaf.role.defines() {
                        self.broken(6, block, at, format!("{value} stands where a result must"));
                    }
                }
                Operand::Register(register) => {
                    if !function.registers[register].pinned {
                        self.broken(
                            10,
                            block,
                            at,
                            format!("{register} is used as pinned and is not"),
                        );
                    }
                }
                Operand::Target(edge) => {
                    if edge as usize >= function.blocks[block].edges.len() {
                        self.broken(3, block, at, format!("there is no edge {edge}"));
                    }
                }
                Operand::Constant(_) | Operand::Symbol(_) | Operand::Sink => {}
            }
        }
        if next_result as usize != results {
            self.broken(
                6,
                block,
                at,
                format!("{next_result} of {results} results stand among the operands"),
            );
        }
        for result in function.results(instruction) {
            if let Some(name) = function.values[result].name.expand()
                && function.registers[name].pinned
            {
                self.broken(
                    10,
                    block,
                    at,
                    format!("{result} is named after the pinned {name}"),
                );
            }
        }
        let predicate = match function.guard(instruction) {
            None => true,
            Some(Operand::Value(value)) => function.values[value].scalar_type == ScalarType::Pred,
            Some(Operand::Register(register)) => {
                function.registers[register].scalar_type == Some(ScalarType::Pred)
            }
            Some(_) => false,
        };
        if !predicate {
            self.broken(8, block, at, "the guard is not a predicate");
        }
        for (result, operand) in function
            .results(instruction)
            .zip(function.otherwise(instruction))
        {
            match operand.value() {
                Some(value) if self.width(value) == self.width(result) => {}
                _ => self.broken(
                    9,
                    block,
                    at,
                    format!("{result} is tied to something of another width"),
                ),
            }
        }
    }

    /// Rule 11.
    fn dominance(&mut self) {
        let function = self.function;
        let edges = function.block_order().iter().flat_map(|&block| {
            function.blocks[block]
                .edges
                .iter()
                .map(move |edge| (block.as_u32(), edge.target.as_u32()))
        });
        let graph = Adjacency::new(function.blocks.len(), edges);
        let root = function.entry().as_u32();
        let tree = Tree::new(immediate_dominators(&graph, &graph.reversed(), root), root);
        let mut positions: IndexVec<Instruction, u32> =
            IndexVec::from_elem(0, function.instructions.len());
        let mut position = 0;
        for &block in function.block_order() {
            for instruction in function.instructions_of(block) {
                positions[instruction] = position;
                position += 1;
            }
        }
        let mut defined: BitSet<Value> = BitSet::with_domain(function.values.len());
        for &block in function.block_order() {
            for &parameter in &function.blocks[block].parameters {
                defined.insert(parameter);
            }
            for instruction in function.instructions_of(block) {
                for result in function.results(instruction) {
                    defined.insert(result);
                }
            }
        }
        let is_defined = |value: Value| {
            function.values[value].definition == Definition::Undefined || defined.contains(value)
        };
        let dominates = |value: Value, block: Block, at: Option<Instruction>| match function.values
            [value]
            .definition
        {
            Definition::Undefined => true,
            Definition::Parameter(home) => tree.is_ancestor(home.as_u32(), block.as_u32()),
            Definition::Instruction(definition) => match function.block_of(definition) {
                None => false,
                Some(home) if home == block => {
                    at.is_none_or(|at| positions[definition] < positions[at])
                }
                Some(home) => tree.is_ancestor(home.as_u32(), block.as_u32()),
            },
        };
        for &block in function.block_order() {
            let reachable = tree.contains(block.as_u32());
            let mut check = |value: Value, at: Option<Instruction>| {
                if !is_defined(value) {
                    self.broken(11, block, at, format!("{value} is used and not defined"));
                } else if reachable && !dominates(value, block, at) {
                    self.broken(
                        11,
                        block,
                        at,
                        format!("{value} is used where its definition does not reach"),
                    );
                }
            };
            for instruction in function.instructions_of(block) {
                for value in function.uses(instruction) {
                    check(value, Some(instruction));
                }
            }
            for edge in &function.blocks[block].edges {
                for &argument in function.arguments(*edge) {
                    check(argument, None);
                }
            }
        }
    }
}
