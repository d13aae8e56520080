//! The function as `ptxas` is going to see it, for the pressures among the [features](super::features).
//!
//! Dead code is gone; parameters of a kernel, constants and sizes of the launch come from constant banks and take no register;
//! copies and address-space casts are other names of one value, and so are sums with constants that only addresses read. Orders of
//! instructions in which loads stand before everything that does not feed them, as far as memory order allows, or in which everything
//! stands just before what needs it.

use crate::liveness::{Access, AccessKind, Lists, Program, RegisterFile, Values};
use crate::{Analyses, Uniformity};
use oriole_ir::graph::Adjacency;
use oriole_ir::{Definition, Function, Instruction, Operand, SymbolKind, Value};
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
    /// Integers that are the same in all threads and come from no memory.
    pub(super) uniform: Vec<bool>,
}

pub(super) fn is_load(function: &Function, instruction: Instruction) -> bool {
    let format = function.format(instruction);
    matches!(
        format.mnemonic.opcode(),
        Opcode::Ld | Opcode::Ldu | Opcode::Ldmatrix | Opcode::Tex
    ) && !matches!(format.mnemonic.space(), Some(Space::Param))
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

/// Whether an instruction stays even if nobody reads its results: it has effects, or writes a register that is no value.
fn stays(function: &Function, instruction: Instruction) -> bool {
    let format = function.format(instruction);
    !format.effects.is_removable_if_converged()
        || format.is_terminator()
        || format.opaque
        || touches_register(function, instruction)
}

/// Whether an instruction reads or writes a register that is no value.
fn touches_register(function: &Function, instruction: Instruction) -> bool {
    let is_register = |operand: &Operand| matches!(operand, Operand::Register(_));
    function.operands(instruction).iter().any(is_register)
}

/// The result and the value of an integer sum with a constant.
fn sum_with_constant(function: &Function, instruction: Instruction) -> Option<(Value, Value)> {
    let format = function.format(instruction);
    if format.mnemonic.opcode() != Opcode::Add || format.is_guarded() {
        return None;
    }
    if format.mnemonic.first_type()?.is_float() || format.effects.writes_carry {
        return None;
    }
    match *function.leaves(instruction) {
        [
            Operand::Result(_),
            Operand::Value(value),
            Operand::Constant(_),
        ] => Some((function.results(instruction).next()?, value)),
        _ => None,
    }
}

impl Folded {
    pub(super) fn of(function: &Function, analyses: &mut Analyses) -> Folded {
        let count = function.values().len();
        let uniformity = analyses.get::<Uniformity>(function);
        let mut folded = Folded {
            kinds: vec![Kind::Plain; count],
            needed: vec![false; count],
            uniform: vec![false; count],
        };
        for (value, data) in function.values().iter() {
            let integer = !data.scalar_type.is_float() && data.scalar_type != ScalarType::Pred;
            folded.uniform[value.index()] = integer && uniformity.is_uniform(value);
            if let Definition::Instruction(instruction) = data.definition {
                folded.kinds[value.index()] = Folded::kind(function, instruction);
                if data.scalar_type.is_float() || is_load(function, instruction) {
                    folded.uniform[value.index()] = false;
                }
            }
        }
        folded.fold_offsets(function);
        folded.mark(function);
        folded
    }

    /// A sum of a value and a constant that only addresses read is an immediate offset there: another name of the value.
    ///
    /// Compilers move such sums out of loops, where they seem to be alive all the time.
    fn fold_offsets(&mut self, function: &Function) {
        let mut sums: Vec<(Value, Value)> = Vec::new();
        // Values that something other than an address, or a sum that may be folded, reads.
        let mut read = vec![false; self.kinds.len()];
        for &block in function.block_order() {
            for instruction in function.instructions_of(block) {
                let format = function.format(instruction);
                if let Some(sum) = sum_with_constant(function, instruction) {
                    sums.push(sum);
                    continue;
                }
                for (leaf, operand) in format.leaves.iter().zip(function.leaves(instruction)) {
                    if let Some(value) = operand.value()
                        && !leaf.in_address
                    {
                        read[value.index()] = true;
                    }
                }
            }
            for edge in &function.blocks()[block].edges {
                for argument in function.arguments(*edge) {
                    read[argument.index()] = true;
                }
            }
        }
        for &(result, source) in sums.iter().rev() {
            if read[result.index()] {
                read[source.index()] = true;
            } else {
                self.kinds[result.index()] = Kind::Alias(source);
            }
        }
    }

    fn kind(function: &Function, instruction: Instruction) -> Kind {
        let format = function.format(instruction);
        if format.is_guarded() {
            return Kind::Plain;
        }
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

    /// The value that another name stands for.
    pub(super) fn root(&self, mut value: Value) -> Value {
        while let Kind::Alias(other) = self.kinds[value.index()] {
            value = other;
        }
        value
    }

    fn mark(&mut self, function: &Function) {
        let mut work: Vec<Value> = Vec::new();
        let mut arguments: Vec<(Value, Value)> = Vec::new();
        for &block in function.block_order() {
            for instruction in function.instructions_of(block) {
                if stays(function, instruction) {
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
    pub(super) fn is_idle(&self, function: &Function, instruction: Instruction) -> bool {
        let used = function
            .results(instruction)
            .any(|result| self.needed[result.index()]);
        let alias = function
            .results(instruction)
            .next()
            .is_some_and(|result| matches!(self.kinds[result.index()], Kind::Alias(_)));
        (!stays(function, instruction) && !used) || alias
    }

    pub(super) fn units(&self, function: &Function, value: Value) -> u32 {
        let data = &function.values()[value];
        if data.definition == Definition::Undefined || self.kinds[value.index()] == Kind::Free {
            0
        } else if data.scalar_type == ScalarType::Pred {
            1
        } else {
            data.scalar_type.bits().div_ceil(32)
        }
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
    pub(super) fn new(function: &Function, values: &'a Values, folded: &Folded) -> View<'a> {
        let mut view = View {
            values,
            units: (0..values.entity_count() as u32)
                .map(|entity| {
                    if (entity as usize) < values.value_count() {
                        folded.units(function, Value::from_index(entity as usize))
                    } else {
                        values.units(entity)
                    }
                })
                .collect(),
            blocks: vec![0],
            instructions: Vec::new(),
            accesses: Lists::default(),
            parameters: Lists::default(),
            arguments: Lists::default(),
        };
        let count = values.value_count() as u32;
        let root = |entity: u32| {
            if entity < count {
                folded.root(Value::from_index(entity as usize)).as_u32()
            } else {
                entity
            }
        };
        let needed = |entity: u32| entity >= count || folded.needed[entity as usize];
        let mut defined: Vec<u32> = Vec::new();
        for block in 0..values.block_count() as u32 {
            for number in values.instructions(block) {
                let instruction = values.instruction(number);
                if folded.is_idle(function, instruction) {
                    continue;
                }
                defined.clear();
                for &access in values.accesses(number) {
                    let entity = root(access.entity());
                    if access.defines() && entity < count {
                        defined.push(entity);
                    } else {
                        view.accesses.push(Access::new(entity, access.kind()));
                    }
                }
                for &entity in &defined {
                    view.accesses.push(Access::new(entity, AccessKind::Define));
                }
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
            view.arguments.close();
        }
        view
    }
}

/// Whether nothing that touches memory, and nothing else of this kind, may pass an instruction.
pub(super) fn is_fence(function: &Function, instruction: Instruction) -> bool {
    let format = function.format(instruction);
    let effects = format.effects;
    !effects.writes.is_empty()
        || effects.ordering.orders_memory()
        || effects.is_call
        || format.opaque
        || format.is_terminator()
        || effects.reads_carry
        || effects.writes_carry
        || touches_register(function, instruction)
}

/// Puts every instruction just before the first that needs it; loads before the next instruction that orders memory, the
/// rest at the latest before the end of the block.
pub(super) fn on_demand(
    function: &Function,
    values: &Values,
    order: &[u32],
    definers: &mut [u32],
) -> Vec<u32> {
    let Some(&first) = order.first() else {
        return Vec::new();
    };
    // The longest chain of instructions of the block that ends in each.
    let mut heights: Vec<u32> = Vec::with_capacity(order.len());
    for &number in order {
        let instruction = values.instruction(number);
        let height = function
            .uses(instruction)
            .map(|value| definers[value.index()])
            .filter(|&definer| definer != u32::MAX)
            .map(|definer| heights[(definer - first) as usize])
            .max();
        heights.push(height.map_or(0, |height| height + 1));
        for result in function.results(instruction) {
            definers[result.index()] = number;
        }
    }
    let mut done = vec![false; order.len()];
    let mut result: Vec<u32> = Vec::with_capacity(order.len());
    // What is to be put, and whether what it needs was put already.
    let mut stack: Vec<(u32, bool)> = Vec::new();
    let mut loads: Vec<u32> = Vec::new();
    let last = order.len() - 1;
    for (index, &number) in order.iter().enumerate() {
        let instruction = values.instruction(number);
        let fence = is_fence(function, instruction);
        if !fence && index != last {
            if !function.format(instruction).effects.is_pure() {
                loads.push(number);
            }
            continue;
        }
        let ends = index == last;
        let pending = loads.drain(..).rev();
        // The stack is taken from its end: first what the fence needs, then loads that are left, then the fence.
        stack.push((number, true));
        if ends {
            stack.extend(order[..last].iter().rev().map(|&number| (number, false)));
        } else {
            stack.extend(pending.map(|number| (number, false)));
        }
        for value in function.uses(instruction) {
            let definer = definers[value.index()];
            if definer != u32::MAX {
                stack.push((definer, false));
            }
        }
        while let Some((number, ready)) = stack.pop() {
            if done[(number - first) as usize] {
                continue;
            }
            if ready {
                done[(number - first) as usize] = true;
                result.push(number);
                continue;
            }
            stack.push((number, true));
            // What takes the longest comes first: of a sum of products the sum so far, then the next product.
            let inputs = stack.len();
            for value in function.uses(values.instruction(number)) {
                let definer = definers[value.index()];
                if definer != u32::MAX && !done[(definer - first) as usize] {
                    stack.push((definer, false));
                }
            }
            stack[inputs..].sort_by_key(|input| heights[(input.0 - first) as usize]);
        }
    }
    for &number in order {
        for result in function.results(values.instruction(number)) {
            definers[result.index()] = u32::MAX;
        }
    }
    result
}

/// Puts loads and what they need before the rest, between one instruction that orders memory and the next.
pub(super) fn hoist_loads(
    function: &Function,
    values: &Values,
    order: &mut Vec<u32>,
    first: &mut [bool],
    wanted: &mut [bool],
) {
    let mut result: Vec<u32> = Vec::with_capacity(order.len());
    let mut at = 0;
    while at < order.len() {
        let is_fence = |number: u32| is_fence(function, values.instruction(number));
        let end = order[at..]
            .iter()
            .position(|&number| is_fence(number))
            .map_or(order.len(), |offset| at + offset);
        for &number in order[at..end].iter().rev() {
            let instruction = values.instruction(number);
            let feeds = function
                .results(instruction)
                .any(|result| wanted[result.index()]);
            if is_load(function, instruction) || feeds {
                first[number as usize] = true;
                // A value wanted by an earlier stretch is defined before it: marks need not be taken back.
                for value in function.uses(instruction) {
                    wanted[value.index()] = true;
                }
            }
        }
        result.extend(
            order[at..end]
                .iter()
                .filter(|&&number| first[number as usize]),
        );
        result.extend(
            order[at..end]
                .iter()
                .filter(|&&number| !first[number as usize]),
        );
        if end < order.len() {
            result.push(order[end]);
        }
        at = end + 1;
    }
    *order = result;
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
