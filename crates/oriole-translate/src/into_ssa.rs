//! Renames registers to values.
//!
//! ## Method
//! Block parameters go where definitions of one register meet and the register is live (pruned SSA): for each register
//! with uses its single definition does not dominate, the blocks where it is live are found by walking back from its
//! uses, and parameters are placed on the iterated dominance frontier within them ([`LiveGraph`]). The 96 % of registers that
//! are assigned once and dominate their uses need neither. Then one walk down the dominator tree renames everything, with an undo log instead of recursion.
//!
//! Blocks that cannot be reached are renamed by themselves: what they read from outside is undefined there.

use crate::control_flow::{Entered, enter};
use crate::mentions::Mentions;
use oriole_analysis::{Analyses, ControlFlow, Dominators, Loops};
use oriole_collections::{BitSet, IndexVec, PackedOption};
use oriole_diagnostics::Diagnostic;
use oriole_ir::graph::LiveGraph;
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
    pub function: Box<Function>,
    /// Its names, resolved.
    pub scopes: Scopes,
    /// What was found on the way and is true of the function as it came.
    found: Option<(ControlFlow, Dominators, Option<Loops>)>,
}

impl Translated {
    /// Gives away what was found on the way, to analyses that have nothing yet of the function, which must not have been changed.
    pub fn hand_over(&mut self, analyses: &mut Analyses) {
        if let Some((flow, dominators, loops)) = self.found.take() {
            analyses.adopt(flow);
            analyses.adopt(dominators);
            if let Some(loops) = loops {
                analyses.adopt(loops);
            }
        }
    }
}

/// Translates the function with this index, which must have a body. The function takes the formats along; on errors they stay.
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
    formats: &mut Formats,
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
    } = enter(module, globals, function, &scopes, std::mem::take(formats));
    if !errors.is_empty() {
        *formats = builder.into_formats();
        return Err(errors);
    }
    let flow = ControlFlow::of(builder.function());
    let dominators = Dominators::of(builder.function(), &flow);
    if flow.reverse_postorder().len() < builder.function().blocks().len() {
        mentions = Mentions::where_control_gets(builder.function(), &flow);
    }
    let mut renaming = Renaming::new(builder, &flow, &dominators);
    let loops = renaming.place_parameters(mentions);
    renaming.rename();
    Ok(Translated {
        function: renaming.builder.finish_renamed(),
        scopes,
        found: Some((flow, dominators, loops)),
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
        name: PackedOption::some(register),
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

    /// Gives the loops, if they had to be found.
    fn place_parameters(&mut self, mentions: Mentions) -> Option<Loops> {
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
            return None;
        }
        exposed.sort_unstable();
        definitions.sort_unstable();
        let loops = if self.flow.has_cycles() {
            Loops::of(self.flow, self.dominators)
        } else {
            Loops::none(self.flow)
        };
        let (flow, entry) = (self.flow, function.entry().as_u32());
        let is_reachable = |block: u32| flow.is_reachable(Block::from_u32(block));
        let mut live = LiveGraph::new(flow.predecessor_graph(), loops.nest(), &is_reachable, entry);
        let mut blocks: Vec<Block> = Vec::new();
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
            live.walk(
                definitions.iter().map(|pair| pair.1.as_u32()),
                exposed.iter().map(|pair| pair.1.as_u32()),
            );
            blocks.clear();
            blocks.extend(live.joins().iter().map(|&block| Block::from_u32(block)));
            // In order of position, so that nothing depends on the walk.
            blocks.sort_unstable_by_key(|&block| flow.position(block));
            for &block in &blocks {
                self.parameters[block].push(register);
            }
        }
        Some(loops)
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
            let arguments: Vec<Value> = self.parameters[target]
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
            self.builder.set_arguments(block, index, &arguments);
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
