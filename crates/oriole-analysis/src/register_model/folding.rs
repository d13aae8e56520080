//! The function as `ptxas` is going to see it, for the pressures among the [features](super::features).
//!
//! Dead code is gone; parameters of a kernel, constants and sizes of the launch come from constant banks and take no register;
//! copies and address-space casts are other names of one value, and so are sums with constants that only addresses read.

use super::facts::{Fact, Facts};
use crate::liveness::{Access, Lists, Program, RegisterFile, Values};
use crate::{Analyses, Uniformity};
use oriole_ir::graph::Adjacency;
use oriole_ir::{Definition, Function, Instruction, Operand, SymbolKind, Use, Value};
use oriole_isa::{Opcode, ScalarType, Space, SpecialRegisterKind};
use oriole_syntax::tree::FunctionKind;
use std::ops::Range;

/// What a value is to the assembler.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Takes registers.
    Plain,
    /// Another name of a value.
    Alias(Value),
    /// Comes from a constant bank, or is a constant.
    Free,
}

/// What folding makes of each value.
pub(super) struct Folded {
    kinds: Vec<Kind>,
    needed: Vec<bool>,
    /// The value that each one is another name of, or itself.
    roots: Vec<Value>,
    /// Registers that each value takes.
    pub(super) units: Vec<u32>,
    /// Integers that are the same in all threads and come from no memory.
    pub(super) uniform: Vec<bool>,
}

/// A load of a parameter of a kernel or of a constant at an address that is written: an operand in a constant bank.
fn is_bank_load(function: &Function, instruction: Instruction) -> bool {
    let mnemonic = &function.format(instruction).mnemonic;
    let is_parameter = |leaf: &Operand| {
        matches!(leaf, Operand::Symbol(symbol)
            if matches!(function.symbols()[*symbol].kind, SymbolKind::Parameter(_)))
    };
    mnemonic.opcode() == Opcode::Ld
        && (mnemonic.space() == Some(Space::Const)
            || function.kind() == FunctionKind::Entry
                && function.leaves(instruction).iter().any(is_parameter))
        && function
            .leaves(instruction)
            .iter()
            .all(|leaf| leaf.value().is_none())
}

/// The result and the value of an integer sum, if the other summand is a constant.
fn sum_with_constant(function: &Function, sum: Instruction) -> Option<(Value, Value)> {
    match *function.leaves(sum) {
        [
            Operand::Result(_),
            Operand::Value(value),
            Operand::Constant(_),
        ] => Some((function.results(sum).next()?, value)),
        _ => None,
    }
}

impl Folded {
    pub(super) fn of(function: &Function, facts: &Facts, analyses: &mut Analyses) -> Folded {
        let count = function.values().len();
        let uniformity = analyses.get::<Uniformity>(function);
        let mut folded = Folded {
            kinds: vec![Kind::Plain; count],
            needed: vec![false; count],
            roots: Vec::new(),
            units: Vec::with_capacity(count),
            uniform: Vec::with_capacity(count),
        };
        for (value, data) in function.values().iter() {
            let mut is_uniform = match data.scalar_type {
                ScalarType::Pred => false,
                own => !own.is_float() && uniformity.is_uniform(value),
            };
            if let Definition::Instruction(instruction) = data.definition {
                if facts.is(instruction, Fact::FOLDS) {
                    folded.kinds[value.index()] = Folded::kind(function, instruction);
                }
                is_uniform &= !facts.is(instruction, Fact::LOAD);
            }
            folded.uniform.push(is_uniform);
            let is_free = folded.kinds[value.index()] == Kind::Free;
            folded.units.push(match data.scalar_type {
                _ if is_free || data.definition == Definition::Undefined => 0,
                ScalarType::Pred => 1,
                own => own.bits().div_ceil(32),
            });
        }
        folded.fold_offsets(function, facts);
        folded.find_roots(function);
        folded.mark(function, facts);
        folded
    }

    /// A sum of a value and a constant that only addresses read is an immediate offset there: another name of the value.
    ///
    /// Compilers move such sums out of loops, where they seem to be alive all the time.
    fn fold_offsets(&mut self, function: &Function, facts: &Facts) {
        let mut sums: Vec<(Value, Value)> = Vec::new();
        for &block in function.block_order() {
            for instruction in function.instructions_of(block) {
                if facts.is(instruction, Fact::SUM) {
                    sums.extend(sum_with_constant(function, instruction));
                }
            }
        }
        // Sources of sums that something reads otherwise, by their values.
        let mut read = match sums.is_empty() {
            true => return,
            false => vec![false; self.kinds.len()],
        };
        // Whether something other than an address, or a sum that may be folded, reads a value.
        let reads = |reader: Use, value: Value| match reader {
            Use::Edge(_) => true,
            Use::Instruction(reader) => {
                let is_sum =
                    facts.is(reader, Fact::SUM) && sum_with_constant(function, reader).is_some();
                let roles = function.format(reader).leaves.iter();
                let mut leaves = roles.zip(function.leaves(reader));
                !is_sum
                    && leaves
                        .any(|(leaf, operand)| operand.value() == Some(value) && !leaf.in_address)
            }
        };
        for &(result, source) in sums.iter().rev() {
            let is_read = read[result.index()]
                || function.uses_of(result).any(|reader| reads(reader, result));
            if is_read {
                read[source.index()] = true;
            } else {
                self.kinds[result.index()] = Kind::Alias(source);
            }
        }
    }

    fn kind(function: &Function, instruction: Instruction) -> Kind {
        let format = function.format(instruction);
        if is_bank_load(function, instruction) {
            return Kind::Free;
        }
        if function.results(instruction).len() != 1 {
            return Kind::Plain;
        }
        let leaves = function.leaves(instruction).iter();
        let mut sources = leaves.filter(|leaf| !matches!(leaf, Operand::Result(_)));
        let (Some(source), None) = (sources.next(), sources.next()) else {
            return Kind::Plain;
        };
        let width = |value: Value| function.values()[value].scalar_type.bits();
        match (format.mnemonic.opcode(), source) {
            (Opcode::Mov | Opcode::Cvta | Opcode::Cvt, Operand::Value(value)) => {
                let result = function.results(instruction).next().expect("one result");
                let same = width(*value) == width(result);
                let converts = format.mnemonic.opcode() == Opcode::Cvt
                    && format.mnemonic.types().iter().any(|own| own.is_float());
                if same && !converts {
                    Kind::Alias(*value)
                } else {
                    Kind::Plain
                }
            }
            (Opcode::Mov, Operand::Constant(_)) => Kind::Free,
            (Opcode::Mov | Opcode::Cvta, Operand::Symbol(symbol)) => {
                match function.symbols()[*symbol].kind {
                    SymbolKind::Special(special) => match special.kind() {
                        SpecialRegisterKind::Ntid | SpecialRegisterKind::Nctaid => Kind::Free,
                        _ => Kind::Plain,
                    },
                    _ => Kind::Free,
                }
            }
            _ => Kind::Plain,
        }
    }

    /// Follows names to the values that they stand for; each step is taken once.
    fn find_roots(&mut self, function: &Function) {
        self.roots = function.values().keys().collect();
        let mut is_found = vec![false; self.kinds.len()];
        let mut path: Vec<Value> = Vec::new();
        for index in 0..self.kinds.len() {
            let mut root = Value::from_index(index);
            while !is_found[root.index()]
                && let Kind::Alias(other) = self.kinds[root.index()]
            {
                path.push(root);
                root = other;
            }
            let root = self.roots[root.index()];
            for name in path.drain(..) {
                self.roots[name.index()] = root;
                is_found[name.index()] = true;
            }
        }
    }

    fn mark(&mut self, function: &Function, facts: &Facts) {
        let mut work: Vec<Value> = Vec::new();
        let mut arguments: Vec<(Value, Value)> = Vec::new();
        for &block in function.block_order() {
            for instruction in function.instructions_of(block) {
                if facts.is(instruction, Fact::STAYS) {
                    work.extend(function.uses(instruction));
                }
            }
            for edge in &function.blocks()[block].edges {
                let parameters = &function.blocks()[edge.target].parameters;
                arguments.extend(
                    parameters
                        .iter()
                        .copied()
                        .zip(function.arguments(*edge).iter().copied()),
                );
            }
        }
        arguments.sort_unstable();
        while let Some(value) = work.pop() {
            if std::mem::replace(&mut self.needed[value.index()], true) {
                continue;
            }
            match function.values()[value].definition {
                Definition::Instruction(instruction) => work.extend(function.uses(instruction)),
                Definition::Parameter(_) => {
                    let first = arguments.partition_point(|pair| pair.0 < value);
                    let own = arguments[first..].iter().take_while(|pair| pair.0 == value);
                    work.extend(own.map(|pair| pair.1));
                }
                Definition::Undefined => {}
            }
        }
    }

    /// Whether an instruction is no instruction of the machine: dead, or another name of a value.
    pub(super) fn is_idle(
        &self,
        function: &Function,
        facts: &Facts,
        instruction: Instruction,
    ) -> bool {
        let mut results = function.results(instruction);
        let Some(first) = results.next() else {
            return !facts.is(instruction, Fact::STAYS);
        };
        matches!(self.kinds[first.index()], Kind::Alias(_))
            || !facts.is(instruction, Fact::STAYS)
                && !self.needed[first.index()]
                && !results.any(|result| self.needed[result.index()])
    }
}

/// The function as the assembler would see it: dead code gone, names of one value made one.
pub(super) struct View<'a> {
    values: &'a Values,
    units: Vec<u32>,
    blocks: Vec<u32>,
    /// Numbers of the instructions in the values' program.
    pub(super) instructions: Vec<u32>,
    accesses: Lists<Access>,
    parameters: Lists<u32>,
    arguments: Lists<u32>,
}

impl<'a> View<'a> {
    pub(super) fn new(
        function: &Function,
        facts: &Facts,
        values: &'a Values,
        folded: &Folded,
    ) -> View<'a> {
        let count = values.value_count() as u32;
        let registers = count..values.entity_count() as u32;
        let mut units = Vec::with_capacity(values.entity_count());
        units.extend_from_slice(&folded.units);
        units.extend(registers.map(|entity| values.units(entity)));
        let blocks = values.block_count();
        let instructions = values.instruction_count();
        let mut view = View {
            values,
            units,
            blocks: Vec::with_capacity(blocks + 1),
            instructions: Vec::with_capacity(instructions),
            accesses: Lists::with_capacity(instructions, values.access_count()),
            parameters: Lists::with_capacity(blocks, 0),
            arguments: Lists::with_capacity(blocks, 0),
        };
        view.blocks.push(0);
        let root = |entity: u32| match entity < count {
            true => folded.roots[entity as usize].as_u32(),
            false => entity,
        };
        let needed = |entity: u32| entity >= count || folded.needed[entity as usize];
        for block in 0..blocks as u32 {
            for number in values.instructions(block) {
                if folded.is_idle(function, facts, values.instruction(number)) {
                    continue;
                }
                let accesses = values.accesses(number).iter();
                view.accesses.extend(accesses.map(|access| {
                    let entity = root(access.entity());
                    Access::new(entity, access.kind())
                }));
                view.accesses.close();
                view.instructions.push(number);
            }
            view.blocks.push(view.instructions.len() as u32);
            for &parameter in values.entry_definitions(block) {
                if needed(parameter) {
                    view.parameters.push(parameter);
                }
            }
            view.parameters.close();
            let data = &function.blocks()[values.block(block)];
            for edge in &data.edges {
                let parameters = &function.blocks()[edge.target].parameters;
                for (parameter, argument) in parameters.iter().zip(function.arguments(*edge)) {
                    if folded.needed[parameter.index()] {
                        view.arguments.push(root(argument.as_u32()));
                    }
                }
            }
            let reads = values.exit_uses(block).iter().copied();
            view.arguments
                .extend(reads.filter(|&entity| entity >= count));
            view.arguments.close();
        }
        view
    }

    /// The block that an instruction stands in.
    pub(super) fn block_of(&self, instruction: u32) -> u32 {
        self.blocks.partition_point(|&first| first <= instruction) as u32 - 1
    }
}

impl Program for View<'_> {
    fn block_count(&self) -> usize {
        self.values.block_count()
    }
    fn successors(&self) -> &Adjacency {
        self.values.successors()
    }
    fn predecessors(&self) -> &Adjacency {
        self.values.predecessors()
    }
    fn instructions(&self, block: u32) -> Range<u32> {
        self.blocks[block as usize]..self.blocks[block as usize + 1]
    }
    fn instruction_count(&self) -> usize {
        self.instructions.len()
    }
    fn entity_count(&self) -> usize {
        self.values.entity_count()
    }
    fn file(&self, entity: u32) -> RegisterFile {
        self.values.file(entity)
    }
    fn units(&self, entity: u32) -> u32 {
        self.units[entity as usize]
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
