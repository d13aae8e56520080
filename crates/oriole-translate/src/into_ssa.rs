//! Renames registers to values.
//!
//! ## Method
//! Block parameters go where definitions of one register meet and the register is live (pruned SSA): for each register
//! with uses its single definition does not dominate, the blocks where it is live are found by walking back from its
//! uses. A loop that does not define the register is one node of that walk, however much is nested in it. In the graph of
//! these nodes, with a root before the definitions, two ways from different definitions meet where nothing but the root
//! dominates: there the parameters go (the iterated dominance frontier, found without iterating). The 96 % of registers that
//! are assigned once and dominate their uses need nothing of this. Then one walk down the dominator tree renames everything, with an undo log instead of recursion.
//!
//! Blocks that cannot be reached are renamed by themselves: what they read from outside is undefined there.

use crate::control_flow::{Entered, enter};
use crate::mentions::Mentions;
use oriole_analysis::{ControlFlow, Dominators, Loops};
use oriole_collections::{BitSet, IndexVec, PackedOption};
use oriole_diagnostics::Diagnostic;
use oriole_ir::graph::{Adjacency, immediate_dominators};
use oriole_ir::{
    Block, Definition, Formats, Function, FunctionBuilder, Instruction, InstructionParts, Operand,
    Register, RegisterData, Value, ValueData,
};
use oriole_isa::Role;
use oriole_syntax::scopes::{Globals, Scopes, resolve};
use oriole_syntax::tree::Module;

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
    let Entered {
        builder,
        mut mentions,
        errors,
    } = enter(module, globals, function, &scopes, formats);
    if !errors.is_empty() {
        return Err(errors);
    }
    let flow = ControlFlow::of(builder.function());
    let dominators = Dominators::of(builder.function(), &flow);
    if flow.reverse_postorder().len() < builder.function().blocks().len() {
        mentions = Mentions::where_control_gets(builder.function(), &flow);
    }
    let mut renaming = Renaming::new(builder, &flow, &dominators);
    renaming.place_parameters(mentions);
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
    contents: Contents,
    /// Registers the current instruction defines.
    definitions: Vec<Register>,
    scratch: Vec<Operand>,
}

/// What each register holds on the way down the dominator tree.
struct Contents {
    current: IndexVec<Register, PackedOption<Value>>,
    undefined: IndexVec<Register, PackedOption<Value>>,
    undo: Vec<(Register, PackedOption<Value>)>,
}

type Registers = IndexVec<Register, RegisterData>;
type Values = IndexVec<Value, ValueData>;

/// Makes a value of a register.
#[inline]
fn new_value(
    registers: &Registers,
    values: &mut Values,
    register: Register,
    definition: Definition,
) -> Value {
    values.push(ValueData {
        definition,
        home: PackedOption::some(register),
        scalar_type: registers[register]
            .scalar_type
            .expect("registers of unknown type are pinned"),
    })
}

impl Contents {
    /// The value a register holds here.
    #[inline]
    fn read(&mut self, registers: &Registers, values: &mut Values, register: Register) -> Value {
        match self.current[register].expand() {
            Some(value) => value,
            None => self.read_undefined(registers, values, register),
        }
    }

    /// The value of a register that nothing has defined.
    fn read_undefined(
        &mut self,
        registers: &Registers,
        values: &mut Values,
        register: Register,
    ) -> Value {
        if let Some(value) = self.undefined[register].expand() {
            return value;
        }
        let value = new_value(registers, values, register, Definition::Undefined);
        self.undefined[register] = PackedOption::some(value);
        value
    }

    #[inline]
    fn write(&mut self, register: Register, value: Value) {
        let earlier = std::mem::replace(&mut self.current[register], PackedOption::some(value));
        self.undo.push((register, earlier));
    }

    fn roll_back(&mut self, mark: usize) {
        for (register, earlier) in self.undo.drain(mark..).rev() {
            self.current[register] = earlier;
        }
    }
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
            contents: Contents {
                current: IndexVec::from_elem(PackedOption::none(), registers),
                undefined: IndexVec::from_elem(PackedOption::none(), registers),
                undo: Vec::with_capacity(registers),
            },
            definitions: Vec::new(),
            scratch: Vec::new(),
        }
    }

    fn place_parameters(&mut self, mentions: Mentions) {
        let Mentions {
            summaries,
            mut exposed,
            mut definitions,
        } = mentions;
        let function = self.builder.function();
        let registers = function.registers();
        // Registers that need a closer look: exposed, and not covered by one dominating definition.
        let mut joins: BitSet<Register> = BitSet::with_domain(registers.len());
        for &(register, block) in &exposed {
            let summary = summaries[register];
            let covered = match summary.defined_in.expand() {
                Some(definition) if !summary.more_definitions => {
                    definition != block && self.dominators.dominates(definition, block)
                }
                // Never defined: undefined everywhere, nothing joins.
                None => true,
                Some(_) => false,
            };
            if !covered && !registers[register].pinned {
                joins.insert(register);
            }
        }
        exposed.retain(|&(register, _)| joins.contains(register));
        if exposed.is_empty() {
            return;
        }
        exposed.sort_unstable();
        definitions.sort_unstable();
        let loops = if self.flow.has_cycles() {
            Loops::of(self.flow, self.dominators)
        } else {
            Loops::none(self.flow)
        };
        let mut placer = Placer::new(self.flow, &loops, function);
        let mut at_definition = 0;
        for exposed in exposed.chunk_by(|one, other| one.0 == other.0) {
            let register = exposed[0].0;
            let single = [(
                register,
                summaries[register]
                    .defined_in
                    .expand()
                    .expect("only registers that are defined join"),
            )];
            let definitions = if summaries[register].more_definitions {
                while definitions[at_definition].0 < register {
                    at_definition += 1;
                }
                let count = definitions[at_definition..]
                    .iter()
                    .take_while(|pair| pair.0 == register)
                    .count();
                &definitions[at_definition..at_definition + count]
            } else {
                &single
            };
            placer.place(definitions, exposed, |block| {
                self.parameters[block].push(register);
            });
        }
    }

    fn rename(&mut self) {
        enum Step {
            Enter(Block),
            Leave(usize),
        }
        let entry = self.builder.function().entry();
        let mut stack = Vec::with_capacity(2 * self.parameters.len());
        stack.push(Step::Enter(entry));
        while let Some(step) = stack.pop() {
            match step {
                Step::Leave(mark) => self.contents.roll_back(mark),
                Step::Enter(block) => {
                    stack.push(Step::Leave(self.contents.undo.len()));
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
            let mark = self.contents.undo.len();
            self.rename_block(block, false);
            self.contents.roll_back(mark);
        }
    }

    fn rename_block(&mut self, block: Block, reachable: bool) {
        if reachable && !self.parameters[block].is_empty() {
            let (registers, values) = self.builder.registers_and_values();
            let mut parameters = Vec::with_capacity(self.parameters[block].len());
            for &register in &self.parameters[block] {
                let value = new_value(registers, values, register, Definition::Parameter(block));
                parameters.push(value);
                self.contents.write(register, value);
            }
            self.builder.block_mut(block).parameters = parameters;
        }
        let mut next = self.builder.function().instructions_of(block).next();
        while let Some(instruction) = next {
            next = self.builder.function().next_instruction(instruction);
            self.rename_instruction(instruction);
        }
        for index in 0..self.builder.function().blocks()[block].edges.len() {
            let target = self.builder.function().blocks()[block].edges[index].target;
            if self.parameters[target].is_empty() {
                continue;
            }
            let (registers, values) = self.builder.registers_and_values();
            let contents = &mut self.contents;
            let arguments = self.parameters[target]
                .iter()
                .map(|&register| {
                    if reachable {
                        contents.read(registers, values, register)
                    } else {
                        // Nothing reaches the parameter from a block that never runs.
                        contents.read_undefined(registers, values, register)
                    }
                })
                .collect();
            self.builder.block_mut(block).edges[index].arguments = arguments;
        }
    }

    fn rename_instruction(&mut self, instruction: Instruction) {
        let contents = &mut self.contents;
        let InstructionParts {
            format,
            operands,
            registers,
            values,
        } = self.builder.parts_mut(instruction);
        let guarded = format.is_guarded();
        let (guards, leaves) = operands.split_at_mut(usize::from(guarded));
        if let Some(Operand::Register(register)) = guards.first().copied()
            && !registers[register].pinned
        {
            guards[0] = Operand::Value(contents.read(registers, values, register));
        }
        let definitions = &mut self.definitions;
        definitions.clear();
        debug_assert_eq!(leaves.len(), format.leaves.len());
        for (leaf, operand) in format.leaves.iter().zip(leaves) {
            let Operand::Register(register) = *operand else {
                continue;
            };
            if registers[register].pinned {
                continue;
            }
            if leaf.role == Role::Define {
                *operand = Operand::Result(definitions.len() as u16);
                definitions.push(register);
            } else {
                *operand = Operand::Value(contents.read(registers, values, register));
            }
        }
        if definitions.is_empty() {
            return;
        }
        if guarded {
            // What the results keep if the guard is false stands behind the guard.
            self.scratch.clear();
            self.scratch.push(operands[0]);
            for &register in &*definitions {
                let kept = contents.read(registers, values, register);
                self.scratch.push(Operand::Value(kept));
            }
            self.scratch.extend_from_slice(&operands[1..]);
        }
        let first = values.next_key();
        for &register in &*definitions {
            let definition = Definition::Instruction(instruction);
            let value = new_value(registers, values, register, definition);
            contents.write(register, value);
        }
        if guarded {
            self.builder.set_operands(instruction, &self.scratch);
        }
        self.builder
            .set_results(instruction, first, self.definitions.len() as u16);
    }
}

/// Places the parameters of one register after the other.
struct Placer<'a> {
    flow: &'a ControlFlow,
    loops: &'a Loops,
    entry: Block,
    round: u32,
    /// Of each block: the round in which it last defined the register, and its node then.
    definitions: Vec<(u32, u32)>,
    /// Of each block: the round in which the register was last found live at its start, and its node then. The header stands
    /// for a loop that does not define the register.
    live: Vec<(u32, u32)>,
    /// Nodes where the register is live, after the root and the definitions: the block, and the loop it stands for.
    nodes: Vec<(Block, Option<oriole_analysis::Loop>)>,
    edges: Vec<(u32, u32)>,
    /// Where in the nest of loops the definitions are.
    positions: Vec<u32>,
    blocks: Vec<Block>,
}

/// The node before all definitions.
const ROOT: u32 = 0;

impl<'a> Placer<'a> {
    fn new(flow: &'a ControlFlow, loops: &'a Loops, function: &Function) -> Placer<'a> {
        let blocks = function.blocks().len();
        Placer {
            flow,
            loops,
            entry: function.entry(),
            round: 0,
            definitions: vec![(0, 0); blocks],
            live: vec![(0, 0); blocks],
            nodes: Vec::new(),
            edges: Vec::new(),
            positions: Vec::new(),
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
        self.nodes.clear();
        self.edges.clear();
        self.positions.clear();
        self.blocks.clear();
        for (index, &(_, block)) in definitions.iter().enumerate() {
            self.definitions[block.index()] = (self.round, index as u32 + 1);
            self.edges.push((ROOT, index as u32 + 1));
            self.positions.extend(self.loops.nest_position(block));
        }
        self.positions.sort_unstable();
        let first_live = definitions.len() as u32 + 1;
        for &(_, block) in exposed {
            self.live_node(block, first_live);
        }
        let mut at = 0;
        while let Some(&(block, around)) = self.nodes.get(at) {
            let node = first_live + at as u32;
            at += 1;
            if block == self.entry {
                // Nothing leads to the entry, where all registers are undefined.
                self.edges.push((ROOT, node));
            }
            for from in self.flow.predecessors(block) {
                if !self.flow.is_reachable(from)
                    || around.is_some_and(|around| self.loops.contains(around, from))
                {
                    continue;
                }
                let (round, definition) = self.definitions[from.index()];
                let source = if round == self.round {
                    definition
                } else {
                    self.live_node(from, first_live)
                };
                self.edges.push((source, node));
            }
        }
        let count = first_live as usize + self.nodes.len();
        let successors = Adjacency::new(count, self.edges.iter().copied());
        let dominators = immediate_dominators(&successors, &successors.reversed(), ROOT);
        for (index, &(block, _)) in self.nodes.iter().enumerate() {
            if dominators[first_live as usize + index] == ROOT && block != self.entry {
                self.blocks.push(block);
            }
        }
        // In order of position, so that nothing depends on the walk.
        self.blocks
            .sort_unstable_by_key(|&block| self.flow.position(block));
        for &block in &self.blocks {
            add(block);
        }
    }

    /// The node of a block at whose start the register is live.
    fn live_node(&mut self, block: Block, first_live: u32) -> u32 {
        let around = self.loops.outermost_without(block, &self.positions);
        let block = around.map_or(block, |around| self.loops.header(around));
        let live = &mut self.live[block.index()];
        if live.0 != self.round {
            *live = (self.round, first_live + self.nodes.len() as u32);
            self.nodes.push((block, around));
        }
        live.1
    }
}
