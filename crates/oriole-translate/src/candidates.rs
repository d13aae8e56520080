//! The values that may compete for a register, and as much of a function as tells where they are live.
//!
//! A value that no copy concerns and whose home register is nobody else's keeps it whatever happens. Of most functions few
//! values are left, the *candidates*, and few instructions that touch them: liveness of the others need not be known.

use crate::affinities::Affinity;
use oriole_analysis::ControlFlow;
use oriole_analysis::liveness::{Access, AccessKind, Lists, Program, RegisterFile};
use oriole_collections::IndexVec;
use oriole_ir::graph::Adjacency;
use oriole_ir::{Function, Instruction, Register, Value};
use std::ops::Range;

oriole_collections::entity! {
    /// A value that may compete for a register.
    pub struct Candidate = "candidate";
}

/// The candidates of a function, and the instructions that touch them.
pub(crate) struct Candidates<'flow> {
    /// The candidate of each value, [`NONE`] for most.
    numbers: IndexVec<Value, u32>,
    /// The value of each candidate, in order.
    pub values: IndexVec<Candidate, Value>,
    flow: &'flow ControlFlow,
    /// Where the instructions of each block begin, and the end.
    blocks: Vec<u32>,
    accesses: Lists<Access>,
    parameters: Lists<u32>,
    arguments: Lists<u32>,
}

const NONE: u32 = u32::MAX;

impl<'flow> Candidates<'flow> {
    /// The candidates are the values of affinities, and those of `defined` whose home is another one's home too.
    pub fn of(
        function: &Function,
        flow: &'flow ControlFlow,
        defined: &[Value],
        affinities: &[Affinity],
    ) -> Candidates<'flow> {
        assert_eq!(
            function.entry().index(),
            0,
            "no block is ever put before the entry"
        );
        let numbers = number(function, defined, affinities);
        let values: IndexVec<Candidate, Value> = numbers
            .iter()
            .filter(|&(_, &number)| number != NONE)
            .map(|(value, _)| value)
            .collect();
        let block_count = function.blocks().len();
        // Most values are used once or twice.
        let accesses = 3 * values.len();
        let mut candidates = Candidates {
            numbers,
            values,
            flow,
            blocks: Vec::with_capacity(block_count + 1),
            accesses: Lists::with_capacity(accesses, accesses),
            parameters: Lists::with_capacity(block_count, affinities.len()),
            arguments: Lists::with_capacity(block_count, affinities.len()),
        };
        for (block, data) in function.blocks().iter() {
            candidates
                .blocks
                .push(candidates.instruction_count() as u32);
            if flow.is_reachable(block) {
                let numbers = &candidates.numbers;
                let enter_all = |values: &[Value], list: &mut Lists<u32>| {
                    let numbers = values.iter().map(|&value| numbers[value]);
                    list.extend(numbers.filter(|&number| number != NONE));
                };
                enter_all(&data.parameters, &mut candidates.parameters);
                for edge in &data.edges {
                    enter_all(function.arguments(*edge), &mut candidates.arguments);
                }
                for instruction in function.instructions_of(block) {
                    candidates.enter(function, instruction);
                }
            }
            candidates.parameters.close();
            candidates.arguments.close();
        }
        candidates
            .blocks
            .push(candidates.instruction_count() as u32);
        candidates
    }

    /// Enters an instruction if it touches a candidate.
    fn enter(&mut self, function: &Function, instruction: Instruction) {
        for value in function.uses(instruction) {
            let number = self.numbers[value];
            if number != NONE {
                let access = Access::new(number, AccessKind::Use);
                self.accesses.push(access);
            }
        }
        for result in function.results(instruction) {
            let number = self.numbers[result];
            if number != NONE {
                let access = Access::new(number, AccessKind::Define);
                self.accesses.push(access);
            }
        }
        if !self.accesses.is_open_empty() {
            self.accesses.close();
        }
    }

    /// The candidate that a value is.
    #[inline]
    pub fn candidate(&self, value: Value) -> Option<Candidate> {
        match self.numbers[value] {
            NONE => None,
            number => Some(Candidate::from_u32(number)),
        }
    }

    /// The candidate that a value of a affinity is.
    ///
    /// # Panics
    /// If no affinity concerns the value.
    #[inline]
    pub fn member(&self, value: Value) -> Candidate {
        self.candidate(value)
            .expect("values of affinities are candidates")
    }
}

/// Numbers the candidates in order of values.
fn number(function: &Function, defined: &[Value], affinities: &[Affinity]) -> IndexVec<Value, u32> {
    // Numbers come at the end; until then 0 says that a value gets one.
    let mut numbers = IndexVec::from_elem(NONE, function.values().len());
    for affinity in affinities {
        numbers[affinity.one] = 0;
        numbers[affinity.other] = 0;
    }
    let mut only_owner: IndexVec<Register, Option<Value>> =
        IndexVec::from_elem(None, function.registers().len());
    for &value in defined {
        if let Some(home) = function.values()[value].name.expand() {
            match &mut only_owner[home] {
                Some(other) => {
                    numbers[*other] = 0;
                    numbers[value] = 0;
                }
                owner => *owner = Some(value),
            }
        }
    }
    let mut next = 0;
    for number in numbers.values_mut() {
        if *number != NONE {
            *number = next;
            next += 1;
        }
    }
    numbers
}

impl Program for Candidates<'_> {
    fn block_count(&self) -> usize {
        self.blocks.len() - 1
    }

    fn successors(&self) -> &Adjacency {
        self.flow.successor_graph()
    }

    fn predecessors(&self) -> &Adjacency {
        self.flow.predecessor_graph()
    }

    fn instructions(&self, block: u32) -> Range<u32> {
        self.blocks[block as usize]..self.blocks[block as usize + 1]
    }

    fn instruction_count(&self) -> usize {
        self.accesses.len()
    }

    fn entity_count(&self) -> usize {
        self.values.len()
    }

    /// Nobody asks how many there are of which kind.
    fn file(&self, _: u32) -> RegisterFile {
        RegisterFile::Data
    }

    fn units(&self, _: u32) -> u32 {
        1
    }

    fn accesses(&self, instruction: u32) -> &[Access] {
        self.accesses.of(instruction)
    }

    fn entry_definitions(&self, block: u32) -> &[u32] {
        self.parameters.of(block)
    }

    fn exit_uses(&self, block: u32) -> &[u32] {
        self.arguments.of(block)
    }
}
