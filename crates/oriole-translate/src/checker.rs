//! Proves an assignment of registers right, by executing the function symbolically.
//!
//! ## Statement
//! Let the *content* of a register at a point be the set of values it surely holds there. On entry it is empty. A copy
//! gives its destination the content of its source; one that stands before a branch is made on all ways out. An instruction that defines `v` in register `r` first takes `v` out of
//! every content (an older `v`, from an earlier round of a loop, is not this `v`), then makes `{v}` the content of `r`. On an
//! edge with argument `a` for parameter `p`, after the copies, the content of `p`'s register must hold `a`; then `p` is taken
//! out of every content and put into that one. Where paths meet, contents intersect. The assignment is right if every use of
//! a value finds it in the content of its register. Undefined values may be found anywhere.
//!
//! ## Method
//! Forward iteration to the greatest fixed point, then one checking pass. It shares nothing with [`crate::assign`], which
//! walks backwards from uses.

use crate::assignment::Assignment;
use crate::copy_placement::Placement;
use crate::parallel_copy::Copy;
use oriole_analysis::ControlFlow;
use oriole_collections::DenseMap;
use oriole_ir::{Block, Definition, Function, Instruction, Register, Value};
use std::collections::BTreeMap;
use std::fmt;

/// A use that does not surely find its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mismatch {
    /// The block.
    pub block: Block,
    /// The instruction, or nothing for an edge.
    pub instruction: Option<Instruction>,
    /// The value expected.
    pub value: Value,
    /// The register that should hold it.
    pub register: Register,
}

impl fmt::Display for Mismatch {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: ", self.block)?;
        match self.instruction {
            Some(instruction) => write!(formatter, "{instruction} ")?,
            None => write!(formatter, "an edge ")?,
        }
        write!(
            formatter,
            "expects {} in {}, which may hold something else",
            self.value, self.register
        )
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct State {
    contents: BTreeMap<Register, Vec<Value>>,
}

impl State {
    fn holds(&self, register: Register, value: Value) -> bool {
        self.contents
            .get(&register)
            .is_some_and(|values| values.binary_search(&value).is_ok())
    }

    fn forget(&mut self, value: Value) {
        for values in self.contents.values_mut() {
            if let Ok(at) = values.binary_search(&value) {
                values.remove(at);
            }
        }
    }

    fn copy(&mut self, copy: Copy<Register>) {
        let content = self.contents.get(&copy.from).cloned().unwrap_or_default();
        self.contents.insert(copy.to, content);
    }

    fn meet(&mut self, other: &State) -> bool {
        let mut changed = false;
        self.contents.retain(|register, values| {
            let others = other.contents.get(register);
            let before = values.len();
            values.retain(|value| others.is_some_and(|others| others.binary_search(value).is_ok()));
            changed |= values.len() != before;
            !values.is_empty()
        });
        changed
    }
}

/// All uses that may not find their value; empty if the assignment is right.
pub fn check(function: &Function, flow: &ControlFlow, assignment: &Assignment) -> Vec<Mismatch> {
    let mut edge_copies: DenseMap<(u32, u32), &[Copy<Register>]> = DenseMap::new();
    let mut branch_copies: DenseMap<Block, &[Copy<Register>]> = DenseMap::new();
    for edge in &assignment.edges {
        if edge.placement == Placement::BeforeTerminator {
            branch_copies.insert(edge.block, &edge.copies);
        } else {
            edge_copies.insert((edge.block.as_u32(), edge.edge as u32), &edge.copies);
        }
    }
    let mut used: Vec<bool> = vec![false; function.values().len()];
    for &block in flow.reverse_postorder() {
        for instruction in function.instructions_of(block) {
            for value in function.uses(instruction) {
                used[value.index()] = true;
            }
        }
        for edge in &function.blocks()[block].edges {
            for value in function.arguments(*edge) {
                used[value.index()] = true;
            }
        }
    }
    let mut checker = Checker {
        function,
        assignment,
        edge_copies,
        branch_copies,
        used,
        mismatches: Vec::new(),
    };
    let mut entries: Vec<Option<State>> = vec![None; function.blocks().len()];
    entries[function.entry().index()] = Some(State::default());
    let mut changed = true;
    while changed {
        changed = false;
        for &block in flow.reverse_postorder() {
            let Some(mut state) = entries[block.index()].clone() else {
                continue;
            };
            checker.block(block, &mut state, false);
            for (index, edge) in function.blocks()[block].edges.iter().enumerate() {
                let mut out = state.clone();
                checker.edge(block, index, &mut out, false);
                match &mut entries[edge.target.index()] {
                    entry @ None => {
                        *entry = Some(out);
                        changed = true;
                    }
                    Some(entry) => changed |= entry.meet(&out),
                }
            }
        }
    }
    for &block in flow.reverse_postorder() {
        let Some(mut state) = entries[block.index()].take() else {
            continue;
        };
        checker.block(block, &mut state, true);
        for index in 0..function.blocks()[block].edges.len() {
            checker.edge(block, index, &mut state.clone(), true);
        }
    }
    checker.mismatches
}

struct Checker<'a> {
    function: &'a Function,
    assignment: &'a Assignment,
    edge_copies: DenseMap<(u32, u32), &'a [Copy<Register>]>,
    /// Copies before the branch that ends a block.
    branch_copies: DenseMap<Block, &'a [Copy<Register>]>,
    used: Vec<bool>,
    mismatches: Vec<Mismatch>,
}

impl Checker<'_> {
    fn expect(
        &mut self,
        state: &State,
        block: Block,
        instruction: Option<Instruction>,
        value: Value,
        register: Register,
    ) {
        let undefined = self.function.values()[value].definition == Definition::Undefined;
        if !undefined && !state.holds(register, value) {
            self.mismatches.push(Mismatch {
                block,
                instruction,
                value,
                register,
            });
        }
    }

    fn block(&mut self, block: Block, state: &mut State, report: bool) {
        let function = self.function;
        for instruction in function.instructions_of(block) {
            let before = self
                .branch_copies
                .get(&block)
                .filter(|_| function.format(instruction).is_terminator());
            let tied = self.assignment.ties.get(&instruction);
            let copies = before.into_iter().flat_map(|copies| copies.iter());
            for &copy in copies.chain(tied.into_iter().flatten()) {
                state.copy(copy);
            }
            if report {
                // Values for a false guard are expected where the result goes; all others where they live.
                let guards = usize::from(function.guard(instruction).is_some());
                let tied = function.otherwise(instruction).len();
                for (index, operand) in function.operands(instruction).iter().enumerate() {
                    let Some(value) = operand.value() else {
                        continue;
                    };
                    let register = if guards > 0 && (1..=tied).contains(&index) {
                        let result = function.results(instruction).nth(index - 1);
                        self.assignment
                            .register(result.expect("a result for each tied value"))
                    } else {
                        self.assignment.register(value)
                    };
                    self.expect(state, block, Some(instruction), value, register);
                }
            }
            for result in function.results(instruction) {
                state.forget(result);
            }
            for result in function.results(instruction) {
                state
                    .contents
                    .insert(self.assignment.register(result), vec![result]);
            }
        }
    }

    fn edge(&mut self, block: Block, index: usize, state: &mut State, report: bool) {
        let function = self.function;
        if let Some(copies) = self.edge_copies.get(&(block.as_u32(), index as u32)) {
            for &copy in *copies {
                state.copy(copy);
            }
        }
        let edge = &function.blocks()[block].edges[index];
        let parameters = &function.blocks()[edge.target].parameters;
        // All arguments are read before any parameter is defined.
        let mut arrived = Vec::new();
        for (&argument, &parameter) in function.arguments(*edge).iter().zip(parameters) {
            let register = self.assignment.register(parameter);
            if report && self.used[parameter.index()] {
                self.expect(state, block, None, argument, register);
            }
            let undefined = function.values()[argument].definition == Definition::Undefined;
            if undefined || state.holds(register, argument) {
                arrived.push((register, parameter));
            }
        }
        for &parameter in parameters {
            state.forget(parameter);
        }
        for (register, parameter) in arrived {
            let values = state.contents.entry(register).or_default();
            if let Err(at) = values.binary_search(&parameter) {
                values.insert(at, parameter);
            }
        }
    }
}
