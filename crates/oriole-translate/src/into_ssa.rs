//! Renames registers to values.
//!
//! ## Method
//! Block parameters go where definitions of one register meet and the register is live (pruned SSA): for each register
//! with uses its single definition does not dominate, the blocks where it is live are found by walking back from its
//! uses, and parameters are placed on the iterated dominance frontier within them (Sreedhar and Gao's walk over the
//! dominator tree, by descending depth). The 96 % of registers that are assigned once and dominate their uses need neither.
//! Then one walk down the dominator tree renames everything, with an undo log instead of recursion.
//!
//! Blocks that cannot be reached are renamed by themselves: what they read from outside is undefined there.

use crate::control_flow::{Entered, enter};
use oriole_analysis::{ControlFlow, Dominators};
use oriole_collections::{BitSet, IndexVec, PackedOption};
use oriole_diagnostics::Diagnostic;
use oriole_ir::{
    Block, Definition, Formats, Function, FunctionBuilder, Instruction, Operand, Register, Value,
    ValueData,
};
use oriole_isa::{Role, ScalarType};
use oriole_syntax::scopes::{Globals, Scopes, resolve};
use oriole_syntax::tree::Module;
use std::collections::BinaryHeap;

/// A function in SSA form, and the names of the function it came from.
#[derive(Debug)]
pub struct Translated {
    /// The function.
    pub function: Function,
    /// Its names, resolved.
    pub scopes: Scopes,
}

/// Translates the function with this index, which must have a body. On errors the formats are lost with it.
///
/// # Errors
/// What is wrong with the function; or, as notes only, why it must be left as it is although nothing is wrong.
///
/// # Panics
/// If the function is a prototype.
pub fn into_ssa(
    module: &Module,
    globals: &Globals,
    index: usize,
    formats: Formats,
) -> Result<Translated, Vec<Diagnostic>> {
    let function = &module.functions[index];
    let (scopes, errors) = resolve(module, globals, function);
    if !errors.is_empty() {
        return Err(errors);
    }
    let Entered { builder, errors } = enter(module, globals, function, &scopes, formats);
    if !errors.is_empty() {
        return Err(errors);
    }
    let flow = ControlFlow::of(builder.function());
    let dominators = Dominators::of(builder.function(), &flow);
    let mut renaming = Renaming::new(builder, &flow, &dominators);
    renaming.place_parameters();
    renaming.rename();
    Ok(Translated {
        function: renaming.builder.finish(),
        scopes,
    })
}

struct Renaming<'a> {
    builder: FunctionBuilder,
    flow: &'a ControlFlow,
    dominators: &'a Dominators,
    /// Registers of each block's parameters, in order.
    parameters: IndexVec<Block, Vec<Register>>,
    current: IndexVec<Register, PackedOption<Value>>,
    undefined: IndexVec<Register, PackedOption<Value>>,
    undo: Vec<(Register, PackedOption<Value>)>,
    scratch: Vec<Operand>,
}

/// What the block-local scan tells of each register.
#[derive(Clone, Copy, Default)]
struct Summary {
    definition: PackedOption<Block>,
    more_definitions: bool,
    exposed: bool,
}

impl<'a> Renaming<'a> {
    fn new(
        builder: FunctionBuilder,
        flow: &'a ControlFlow,
        dominators: &'a Dominators,
    ) -> Renaming<'a> {
        let registers = builder.function().registers().len();
        let blocks = builder.function().blocks().len();
        Renaming {
            builder,
            flow,
            dominators,
            parameters: IndexVec::from_elem(Vec::new(), blocks),
            current: IndexVec::from_elem(PackedOption::none(), registers),
            undefined: IndexVec::from_elem(PackedOption::none(), registers),
            undo: Vec::new(),
            scratch: Vec::new(),
        }
    }

    /// Calls `on_use` and `on_definition` for every register of an instruction that can be a value, uses first. A guarded
    /// definition also uses the register.
    fn visit(
        function: &Function,
        instruction: Instruction,
        mut on_use: impl FnMut(Register),
        mut on_definition: impl FnMut(Register),
    ) {
        let format = function.format(instruction);
        let operands = function.operands(instruction);
        let guard = usize::from(format.is_guarded());
        let registers = function.registers();
        if let Some(&Operand::Register(register)) = operands[..guard].first()
            && !registers[register].pinned
        {
            on_use(register);
        }
        for (leaf, operand) in format.leaves.iter().zip(&operands[guard..]) {
            if let Operand::Register(register) = *operand
                && !registers[register].pinned
                && (leaf.role != Role::Define || guard == 1)
            {
                on_use(register);
            }
        }
        for (leaf, operand) in format.leaves.iter().zip(&operands[guard..]) {
            if let Operand::Register(register) = *operand
                && !registers[register].pinned
                && leaf.role == Role::Define
            {
                on_definition(register);
            }
        }
    }

    fn place_parameters(&mut self) {
        let function = self.builder.function();
        let count = function.registers().len();
        let mut summaries: IndexVec<Register, Summary> =
            IndexVec::from_elem(Summary::default(), count);
        // Uses that a definition in their own block does not cover, and blocks that define, as pairs to group later.
        let mut exposed: Vec<(Register, Block)> = Vec::new();
        let mut definitions: Vec<(Register, Block)> = Vec::new();
        let mut seen_in: IndexVec<Register, [PackedOption<Block>; 2]> =
            IndexVec::from_elem([PackedOption::none(); 2], count);
        for &block in self.flow.reverse_postorder() {
            let here = PackedOption::some(block);
            for instruction in function.instructions_of(block) {
                // Two closures share the tables one after the other: collect uses, then definitions.
                let seen = std::cell::RefCell::new(&mut seen_in);
                let summaries = std::cell::RefCell::new(&mut summaries);
                Self::visit(
                    function,
                    instruction,
                    |register| {
                        let seen = &mut seen.borrow_mut()[register];
                        if seen[1] != here && seen[0] != here {
                            seen[0] = here;
                            summaries.borrow_mut()[register].exposed = true;
                            exposed.push((register, block));
                        }
                    },
                    |register| {
                        let seen = &mut seen.borrow_mut()[register];
                        if seen[1] != here {
                            seen[1] = here;
                            let summary = &mut summaries.borrow_mut()[register];
                            summary.more_definitions |= summary.definition.is_some();
                            summary.definition = here;
                            definitions.push((register, block));
                        }
                    },
                );
            }
        }
        // Registers that need a closer look: exposed, and not covered by one dominating definition.
        let mut needs: BitSet<Register> = BitSet::with_domain(count);
        for &(register, block) in &exposed {
            let summary = summaries[register];
            let covered = match summary.definition.expand() {
                Some(definition) if !summary.more_definitions => {
                    definition != block && self.dominators.dominates(definition, block)
                }
                // Never defined: undefined everywhere, nothing joins.
                None => true,
                Some(_) => false,
            };
            if !covered {
                needs.insert(register);
            }
        }
        exposed.retain(|&(register, _)| needs.contains(register));
        definitions.retain(|&(register, _)| needs.contains(register));
        exposed.sort_unstable();
        definitions.sort_unstable();
        let mut placer = Placer::new(self.flow, self.dominators, function.blocks().len());
        let (mut at_use, mut at_definition) = (0, 0);
        while at_use < exposed.len() {
            let register = exposed[at_use].0;
            let uses_end = at_use
                + exposed[at_use..]
                    .iter()
                    .take_while(|pair| pair.0 == register)
                    .count();
            while at_definition < definitions.len() && definitions[at_definition].0 < register {
                at_definition += 1;
            }
            let definitions_end = at_definition
                + definitions[at_definition..]
                    .iter()
                    .take_while(|pair| pair.0 == register)
                    .count();
            placer.place(
                &definitions[at_definition..definitions_end],
                &exposed[at_use..uses_end],
                |block| self.parameters[block].push(register),
            );
            at_use = uses_end;
            at_definition = definitions_end;
        }
    }

    fn type_of(&self, register: Register) -> ScalarType {
        self.builder.function().registers()[register]
            .scalar_type
            .expect("registers of unknown type are pinned")
    }

    fn new_value(&mut self, register: Register, definition: Definition) -> Value {
        let scalar_type = self.type_of(register);
        self.builder.add_value(ValueData {
            definition,
            home: PackedOption::some(register),
            scalar_type,
        })
    }

    /// The value a register holds here.
    fn read(&mut self, register: Register) -> Value {
        if let Some(value) = self.current[register].expand() {
            return value;
        }
        if let Some(value) = self.undefined[register].expand() {
            return value;
        }
        let value = self.new_value(register, Definition::Undefined);
        self.undefined[register] = PackedOption::some(value);
        value
    }

    fn write(&mut self, register: Register, value: Value) {
        let earlier = std::mem::replace(&mut self.current[register], PackedOption::some(value));
        self.undo.push((register, earlier));
    }

    fn roll_back(&mut self, mark: usize) {
        for (register, earlier) in self.undo.drain(mark..).rev() {
            self.current[register] = earlier;
        }
    }

    fn rename(&mut self) {
        enum Step {
            Enter(Block),
            Leave(usize),
        }
        let entry = self.builder.function().entry();
        let mut stack = vec![Step::Enter(entry)];
        while let Some(step) = stack.pop() {
            match step {
                Step::Leave(mark) => self.roll_back(mark),
                Step::Enter(block) => {
                    stack.push(Step::Leave(self.undo.len()));
                    self.rename_block(block, true);
                    stack.extend(self.dominators.children(block).rev().map(Step::Enter));
                }
            }
        }
        let unreachable: Vec<Block> = self
            .builder
            .function()
            .block_order()
            .iter()
            .copied()
            .filter(|&block| !self.flow.is_reachable(block))
            .collect();
        for block in unreachable {
            let mark = self.undo.len();
            self.rename_block(block, false);
            self.roll_back(mark);
        }
    }

    fn rename_block(&mut self, block: Block, reachable: bool) {
        if reachable {
            let registers = std::mem::take(&mut self.parameters[block]);
            for &register in &registers {
                let value = self.new_value(register, Definition::Parameter(block));
                self.builder.block_mut(block).parameters.push(value);
                self.write(register, value);
            }
            self.parameters[block] = registers;
        }
        let mut next = self.builder.function().instructions_of(block).next();
        while let Some(instruction) = next {
            next = self.builder.function().next_instruction(instruction);
            self.rename_instruction(instruction);
        }
        for index in 0..self.builder.function().blocks()[block].edges.len() {
            let target = self.builder.function().blocks()[block].edges[index].target;
            let registers = std::mem::take(&mut self.parameters[target]);
            let mut arguments = Vec::with_capacity(registers.len());
            for &register in &registers {
                arguments.push(if reachable {
                    self.read(register)
                } else {
                    self.read_undefined(register)
                });
            }
            self.parameters[target] = registers;
            self.builder.block_mut(block).edges[index].arguments = arguments;
        }
    }

    /// An argument from a block that never runs: nothing reaches the parameter from there.
    fn read_undefined(&mut self, register: Register) -> Value {
        let kept = std::mem::replace(&mut self.current[register], PackedOption::none());
        let value = self.read(register);
        self.current[register] = kept;
        value
    }

    fn rename_instruction(&mut self, instruction: Instruction) {
        let function = self.builder.function();
        let format_id = function.instruction(instruction).format;
        let format = function.format_data(format_id);
        let guarded = format.is_guarded();
        let leaf_count = format.leaves.len();
        let count = function.operands(instruction).len();
        debug_assert_eq!(count, leaf_count + usize::from(guarded));
        self.scratch.clear();
        self.scratch
            .extend_from_slice(function.operands(instruction));
        let mut operands = std::mem::take(&mut self.scratch);
        let mut definitions: oriole_collections::SmallVec<[Register; 4]> = Default::default();
        for (index, operand) in operands.iter_mut().enumerate() {
            let Operand::Register(register) = *operand else {
                continue;
            };
            let function = self.builder.function();
            if function.registers()[register].pinned {
                continue;
            }
            let is_definition = index >= usize::from(guarded)
                && function.format_data(format_id).leaves[index - usize::from(guarded)].role
                    == Role::Define;
            if is_definition {
                *operand = Operand::Result(definitions.len() as u16);
                definitions.push(register);
            } else {
                *operand = Operand::Value(self.read(register));
            }
        }
        if guarded && !definitions.is_empty() {
            // What the results keep if the guard is false.
            let tied: oriole_collections::SmallVec<[Operand; 4]> = definitions
                .iter()
                .map(|&register| Operand::Value(self.read(register)))
                .collect();
            operands.splice(1..1, tied);
            self.builder.set_operands(instruction, &operands);
        } else {
            self.builder
                .operands_mut(instruction)
                .copy_from_slice(&operands);
        }
        self.scratch = operands;
        let mut first = None;
        for &register in &definitions {
            let value = self.new_value(register, Definition::Instruction(instruction));
            first.get_or_insert(value);
            self.write(register, value);
        }
        if let Some(first) = first {
            self.builder
                .set_results(instruction, first, definitions.len() as u16);
        }
    }
}

/// Places the parameters of one register after the other.
struct Placer<'a> {
    flow: &'a ControlFlow,
    dominators: &'a Dominators,
    round: u32,
    /// Round in which each block was last found to define, be live, be visited, or have a parameter.
    defines: Vec<u32>,
    live: Vec<u32>,
    visited: Vec<u32>,
    placed: Vec<u32>,
    queue: BinaryHeap<(u32, std::cmp::Reverse<u32>)>,
    stack: Vec<Block>,
    blocks: Vec<Block>,
}

impl<'a> Placer<'a> {
    fn new(flow: &'a ControlFlow, dominators: &'a Dominators, blocks: usize) -> Placer<'a> {
        Placer {
            flow,
            dominators,
            round: 0,
            defines: vec![0; blocks],
            live: vec![0; blocks],
            visited: vec![0; blocks],
            placed: vec![0; blocks],
            queue: BinaryHeap::new(),
            stack: Vec::new(),
            blocks: Vec::new(),
        }
    }

    fn place(
        &mut self,
        definitions: &[(Register, Block)],
        exposed: &[(Register, Block)],
        mut add: impl FnMut(Block),
    ) {
        self.round += 1;
        let round = self.round;
        for &(_, block) in definitions {
            self.defines[block.index()] = round;
        }
        // Blocks where the register is live at the start.
        self.stack.extend(exposed.iter().map(|pair| pair.1));
        while let Some(block) = self.stack.pop() {
            if std::mem::replace(&mut self.live[block.index()], round) == round {
                continue;
            }
            for from in self.flow.predecessors(block) {
                if self.flow.is_reachable(from) && self.defines[from.index()] != round {
                    self.stack.push(from);
                }
            }
        }
        // Definitions by descending depth in the dominator tree. The entry, where all registers are undefined, joins nothing.
        let order = |dominators: &Dominators, flow: &ControlFlow, block: Block| {
            (
                dominators.depth(block),
                std::cmp::Reverse(flow.position(block) as u32),
            )
        };
        let by_position = self.flow.reverse_postorder();
        for &(_, block) in definitions {
            self.queue.push(order(self.dominators, self.flow, block));
        }
        self.blocks.clear();
        while let Some((depth, std::cmp::Reverse(position))) = self.queue.pop() {
            let root = by_position[position as usize];
            self.stack.push(root);
            self.visited[root.index()] = round;
            while let Some(block) = self.stack.pop() {
                for target in self.flow.successors(block) {
                    // Edges down the tree join nothing above `depth`.
                    if self.dominators.immediate(target) == Some(block)
                        || self.dominators.depth(target) > depth
                        || self.live[target.index()] != round
                        || self.placed[target.index()] == round
                    {
                        continue;
                    }
                    self.placed[target.index()] = round;
                    self.blocks.push(target);
                    if self.defines[target.index()] != round {
                        self.queue.push(order(self.dominators, self.flow, target));
                    }
                }
                // Below a block where the register is not live, none of these definitions leaves by an edge that matters: a
                // join there has a parameter of its own, and that is a definition of its own.
                for child in self.dominators.children(block) {
                    if self.live[child.index()] == round
                        && std::mem::replace(&mut self.visited[child.index()], round) != round
                    {
                        self.stack.push(child);
                    }
                }
            }
        }
        // In order of position, so that nothing depends on the walk.
        self.blocks
            .sort_unstable_by_key(|&block| self.flow.position(block));
        for &block in &self.blocks {
            add(block);
        }
    }
}
