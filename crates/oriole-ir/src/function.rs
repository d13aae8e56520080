//! A function in SSA form: entities and their data.

use crate::entities::{
    Block, Constant, Format, Global, Instruction, Register, Symbol, Value, Variable,
};
use crate::format::{FormatData, Traits};
use crate::formats::Formats;
use crate::layout::Layout;
use crate::operand::Operand;
use crate::use_lists::{Slot, Use, UseLists};
use crate::variable::VariableData;
use oriole_collections::{BitSet, DenseMap, Entity, IndexVec, PackedOption, SmallVec};
use oriole_isa::{ScalarType, Space, SpecialRegister, Terminator};
use oriole_syntax::literal::Literal;
use oriole_syntax::tree::{FunctionKind, Text};
use std::ops::Range;

/// An instruction: a format, leaf operands, results.
///
/// Operands are, in this order: the guard's predicate if the format is guarded; one value per result for when the guard is
/// false; then one operand per leaf of the format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InstructionData {
    /// What it is.
    pub format: Format,
    pub(crate) first_operand: u32,
    pub(crate) first_result: PackedOption<Value>,
    pub(crate) operand_count: u16,
    pub(crate) result_count: u16,
}

/// What defines a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Definition {
    /// A result of an instruction.
    Instruction(Instruction),
    /// A parameter of a block.
    Parameter(Block),
    /// Nothing: a register read before it was written. Any value will do.
    Undefined,
}

/// A value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ValueData {
    /// What defines it.
    pub definition: Definition,
    /// The register it is named after, if it came from one. It is a name and says nothing of where the value lives: that is
    /// decided when SSA form is left.
    pub name: PackedOption<Register>,
    /// The type of the register that holds it.
    pub scalar_type: ScalarType,
}

/// A way out of a block, with values for the target's parameters: see [`Function::arguments`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Edge {
    /// Where it leads.
    pub target: Block,
    pub(crate) first_argument: u32,
    pub(crate) argument_count: u32,
}

impl Edge {
    /// An edge without arguments.
    pub fn to(target: Block) -> Edge {
        Edge {
            target,
            first_argument: 0,
            argument_count: 0,
        }
    }

    #[inline]
    pub(crate) fn argument_range(self) -> Range<usize> {
        let start = self.first_argument as usize;
        start..start + self.argument_count as usize
    }
}

/// A basic block.
#[derive(Clone, Debug, Default)]
pub struct BlockData {
    /// Values that join here.
    pub parameters: Vec<Value>,
    /// Ways out: branch targets in operand order, then the fall-through if there is one.
    pub edges: SmallVec<[Edge; 2]>,
    /// Whether the last edge is taken by falling through.
    pub falls_through: bool,
    /// The label statement that starts it, as an index into the function's resolved labels.
    pub label: Option<u32>,
    /// Whether `.pragma "nounroll"` stands in it: the loop that it heads is not unrolled by `ptxas`.
    pub nounroll: bool,
    /// Whether that pragma is new, and has to be written.
    pub adds_nounroll: bool,
}

impl BlockData {
    /// Index of the fall-through edge.
    pub fn fall_through(&self) -> Option<usize> {
        self.falls_through.then(|| self.edges.len() - 1)
    }
}

/// A register of the PTX function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RegisterData {
    /// Its name.
    pub name: Text,
    /// Its declared type; nothing if the declaration names a type unknown to the table.
    pub scalar_type: Option<ScalarType>,
    /// Whether it stays a register: see the crate's documentation.
    pub pinned: bool,
}

/// What a symbol stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SymbolKind {
    /// A parameter or result of the function.
    Parameter(Variable),
    /// A variable declared in the function.
    Variable(Variable),
    /// A variable or function of the module.
    Global(Global),
    /// A label that names a table of targets or a prototype.
    Table(u32),
    /// A special register.
    Special(SpecialRegister),
    /// The constant `WARP_SZ`: 32.
    WarpSize,
    /// A string, or something only ptxas knows.
    Other,
}

/// A symbol: a name and what it stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SymbolData {
    /// Its spelling.
    pub name: Text,
    /// What it stands for.
    pub kind: SymbolKind,
    /// For a variable that can be named from everywhere in the function as it is, the state space it lives in.
    pub space: Option<Space>,
}

impl SymbolData {
    /// The variable of the function that it stands for, if it is one.
    pub fn variable(&self) -> Option<Variable> {
        match self.kind {
            SymbolKind::Parameter(variable) | SymbolKind::Variable(variable) => Some(variable),
            _ => None,
        }
    }
}

/// A constant operand.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ConstantData {
    /// Its value, if it can be told.
    pub literal: Option<Literal>,
    /// Its spelling in the source, sign included; nothing for constants made by passes.
    pub text: Option<Text>,
}

/// The statement an instruction came from, and what it still has of it: its line always, its spelling until it is rewritten,
/// its place until it is moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Origin(pub(crate) u32);

impl Origin {
    /// No statement.
    const NONE: Origin = Origin(u32::MAX);
    pub(crate) const REWRITTEN: u32 = 1 << 31;
    pub(crate) const MOVED: u32 = 1 << 30;

    #[inline]
    fn statement_unless(self, flag: u32) -> Option<u32> {
        (self != Origin::NONE && self.0 & flag == 0)
            .then_some(self.0 & !(Origin::REWRITTEN | Origin::MOVED))
    }

    fn mark(&mut self, flag: u32) {
        if *self != Origin::NONE {
            self.0 |= flag;
        }
    }
}

/// What a `.loc` directive says: the place in the source of the instructions behind it.
#[derive(Clone, Copy, Debug)]
pub struct Line {
    /// The statement of the directive in the function that has it.
    pub statement: u32,
    /// The number of the file, as it is written.
    pub file: Text,
    /// The line in it.
    pub line: Text,
    /// The column.
    pub column: Text,
}

/// A function in SSA form.
#[derive(Debug)]
pub struct Function {
    pub(crate) name: Text,
    pub(crate) kind: FunctionKind,
    pub(crate) formats: Formats,
    pub(crate) registers: IndexVec<Register, RegisterData>,
    pub(crate) values: IndexVec<Value, ValueData>,
    pub(crate) instructions: IndexVec<Instruction, InstructionData>,
    pub(crate) origins: IndexVec<Instruction, Origin>,
    /// The `.loc` directives, in order.
    pub(crate) lines: Vec<Line>,
    /// Lines of instructions that come from other functions.
    pub(crate) imported_lines: DenseMap<Instruction, Line>,
    pub(crate) operands: Vec<Operand>,
    pub(crate) arguments: Vec<Value>,
    pub(crate) use_lists: UseLists,
    pub(crate) blocks: IndexVec<Block, BlockData>,
    pub(crate) layout: Layout,
    pub(crate) symbols: IndexVec<Symbol, SymbolData>,
    pub(crate) variables: IndexVec<Variable, VariableData>,
    pub(crate) constants: IndexVec<Constant, ConstantData>,
    pub(crate) edited: bool,
    /// Whether all values came of registers that were renamed.
    pub(crate) renamed: bool,
    /// Those that any instruction has or had.
    pub(crate) traits: Traits,
}

impl Function {
    /// Whether anything was changed since the function was made.
    pub fn is_edited(&self) -> bool {
        self.edited
    }

    /// Says that something was changed, so that the function is written as one that was.
    pub fn mark_edited(&mut self) {
        self.edited = true;
    }

    /// Whether the register that a value is named after holds it wherever it is read: all values came of registers that were renamed, and
    /// nothing was changed since.
    pub fn is_as_renamed(&self) -> bool {
        self.renamed && !self.edited
    }

    /// What passes look for that instructions have, or had before they were rewritten or removed.
    #[inline]
    pub fn traits(&self) -> Traits {
        self.traits
    }

    /// Its name.
    pub fn name(&self) -> Text {
        self.name
    }

    /// Kernel or function.
    pub fn kind(&self) -> FunctionKind {
        self.kind
    }

    /// A function of nothing.
    pub(crate) fn empty(name: Text, kind: FunctionKind) -> Function {
        Function {
            name,
            kind,
            formats: Formats::new(),
            registers: IndexVec::new(),
            values: IndexVec::new(),
            instructions: IndexVec::new(),
            origins: IndexVec::new(),
            lines: Vec::new(),
            imported_lines: DenseMap::new(),
            operands: Vec::new(),
            arguments: Vec::new(),
            use_lists: UseLists::default(),
            blocks: IndexVec::new(),
            layout: Layout::default(),
            symbols: IndexVec::new(),
            variables: IndexVec::new(),
            constants: IndexVec::new(),
            edited: false,
            renamed: false,
            traits: Traits::default(),
        }
    }

    /// Gives the formats back, for the next function, and with them what this one was made of: the next one fills its arrays again.
    pub fn into_formats(mut self: Box<Function>) -> Formats {
        let mut formats = std::mem::take(&mut self.formats);
        self.registers.clear();
        self.values.clear();
        self.instructions.clear();
        self.origins.clear();
        self.lines.clear();
        self.imported_lines = DenseMap::new();
        self.operands.clear();
        self.arguments.clear();
        self.use_lists.clear();
        self.blocks.clear();
        self.layout.clear();
        self.symbols.clear();
        self.variables.clear();
        self.constants.clear();
        self.edited = false;
        self.renamed = false;
        self.traits = Traits::default();
        formats.storage.push(self);
        formats
    }

    /// Exchanges the formats for others. Functions that were made one after the other with the same formats can share these: each
    /// holds them while something is asked of it, the others have none meanwhile.
    pub fn exchange_formats(&mut self, formats: &mut Formats) {
        std::mem::swap(&mut self.formats, formats);
    }

    /// All registers.
    #[inline]
    pub fn registers(&self) -> &IndexVec<Register, RegisterData> {
        &self.registers
    }

    /// All values, dead ones included.
    #[inline]
    pub fn values(&self) -> &IndexVec<Value, ValueData> {
        &self.values
    }

    /// All blocks, removed ones included.
    #[inline]
    pub fn blocks(&self) -> &IndexVec<Block, BlockData> {
        &self.blocks
    }

    /// All symbols.
    #[inline]
    pub fn symbols(&self) -> &IndexVec<Symbol, SymbolData> {
        &self.symbols
    }

    /// All variables: parameters, results and those declared in the body, removed ones included.
    #[inline]
    pub fn variables(&self) -> &IndexVec<Variable, VariableData> {
        &self.variables
    }

    /// The variables that instructions name.
    pub fn mentioned_variables(&self) -> BitSet<Variable> {
        let mut mentioned = BitSet::with_domain(self.variables.len());
        for &block in self.block_order() {
            for instruction in self.instructions_of(block) {
                for operand in self.operands(instruction) {
                    if let Operand::Symbol(symbol) = *operand
                        && let Some(variable) = self.symbols[symbol].variable()
                    {
                        mentioned.insert(variable);
                    }
                }
            }
        }
        mentioned
    }

    /// All constants.
    #[inline]
    pub fn constants(&self) -> &IndexVec<Constant, ConstantData> {
        &self.constants
    }

    /// How many instructions were ever made; the bound of their indices.
    pub fn instruction_bound(&self) -> usize {
        self.instructions.len()
    }

    /// Blocks in order of layout.
    #[inline]
    pub fn block_order(&self) -> &[Block] {
        self.layout.order()
    }

    /// The block where execution starts.
    pub fn entry(&self) -> Block {
        self.layout.order()[0]
    }

    /// The instructions of a block, in order.
    #[inline]
    pub fn instructions_of(&self, block: Block) -> impl Iterator<Item = Instruction> + '_ {
        std::iter::successors(self.layout.first(block), |&at| self.layout.next(at))
    }

    /// The instructions of a block, from the last to the first.
    #[inline]
    pub fn instructions_backwards(&self, block: Block) -> impl Iterator<Item = Instruction> + '_ {
        std::iter::successors(self.layout.last(block), |&at| self.layout.previous(at))
    }

    /// The instruction behind another in its block.
    #[inline]
    pub fn next_instruction(&self, instruction: Instruction) -> Option<Instruction> {
        self.layout.next(instruction)
    }

    /// The last instruction of a block.
    #[inline]
    pub fn last_instruction(&self, block: Block) -> Option<Instruction> {
        self.layout.last(block)
    }

    /// The block an instruction is in, or nothing if it was removed.
    #[inline]
    pub fn block_of(&self, instruction: Instruction) -> Option<Block> {
        self.layout.block_of(instruction)
    }

    /// The block that defines a value, or nothing if nobody does any more.
    #[inline]
    pub fn defining_block(&self, value: Value) -> Option<Block> {
        match self.values[value].definition {
            Definition::Instruction(instruction) => self.block_of(instruction),
            Definition::Parameter(block) => Some(block),
            Definition::Undefined => None,
        }
    }

    /// An instruction's data.
    #[inline]
    pub fn instruction(&self, instruction: Instruction) -> &InstructionData {
        &self.instructions[instruction]
    }

    /// An instruction's format.
    #[inline]
    pub fn format(&self, instruction: Instruction) -> &FormatData {
        &self.formats[self.instructions[instruction].format]
    }

    /// What instructions of a format have in common.
    #[inline]
    pub fn format_data(&self, format: Format) -> &FormatData {
        &self.formats[format]
    }

    /// The statement whose source line an instruction has: it keeps it wherever it goes and whatever it becomes, and its copies
    /// have it too.
    #[inline]
    pub fn location(&self, instruction: Instruction) -> Option<u32> {
        self.origins[instruction].statement_unless(0)
    }

    /// The `.loc` directives of the function, in order.
    pub fn lines(&self) -> &[Line] {
        &self.lines
    }

    /// The line that an instruction has from another function, from which it was copied.
    pub fn imported_line(&self, instruction: Instruction) -> Option<Line> {
        self.imported_lines.get(&instruction).copied()
    }

    /// The `.loc` directive that a statement stands behind.
    pub fn line_of(&self, statement: u32) -> Option<Line> {
        let behind = self
            .lines
            .partition_point(|line| line.statement <= statement);
        Some(self.lines[behind.checked_sub(1)?])
    }

    /// The statement an instruction is spelled as, if it still has the same format.
    #[inline]
    pub fn spelling(&self, instruction: Instruction) -> Option<u32> {
        self.origins[instruction].statement_unless(Origin::REWRITTEN)
    }

    /// The statement in whose place an instruction stands, if it was not moved.
    #[inline]
    pub fn anchor(&self, instruction: Instruction) -> Option<u32> {
        self.origins[instruction].statement_unless(Origin::MOVED)
    }

    #[inline]
    pub(crate) fn operand_range(&self, instruction: Instruction) -> Range<usize> {
        let data = &self.instructions[instruction];
        let start = data.first_operand as usize;
        start..start + data.operand_count as usize
    }

    /// All operands: guard, values for a false guard, leaves.
    #[inline]
    pub fn operands(&self, instruction: Instruction) -> &[Operand] {
        &self.operands[self.operand_range(instruction)]
    }

    /// How many operands stand before the leaves.
    #[inline]
    fn leaf_offset(&self, instruction: Instruction) -> usize {
        if self.format(instruction).is_guarded() {
            1 + self.instructions[instruction].result_count as usize
        } else {
            0
        }
    }

    /// The predicate of the guard.
    #[inline]
    pub fn guard(&self, instruction: Instruction) -> Option<Operand> {
        self.format(instruction)
            .is_guarded()
            .then(|| self.operands(instruction)[0])
    }

    /// What the results are if the guard is false; empty for unguarded instructions.
    #[inline]
    pub fn otherwise(&self, instruction: Instruction) -> &[Operand] {
        let offset = self.leaf_offset(instruction);
        &self.operands(instruction)[offset.min(1)..offset]
    }

    /// The leaves, in order of the format's.
    #[inline]
    pub fn leaves(&self, instruction: Instruction) -> &[Operand] {
        &self.operands(instruction)[self.leaf_offset(instruction)..]
    }

    /// The results.
    #[inline]
    pub fn results(
        &self,
        instruction: Instruction,
    ) -> impl ExactSizeIterator<Item = Value> + use<> {
        let data = &self.instructions[instruction];
        let first = data.first_result.expand().map_or(0, Value::index);
        (first..first + data.result_count as usize).map(Value::from_fitting_index)
    }

    /// Whether an instruction is a load of something that does not change while the kernel runs: a constant, read-only
    /// global memory, a parameter of an entry. A parameter space variable declared for a call is none of these.
    pub fn is_invariant_load(&self, instruction: Instruction) -> bool {
        let format = self.format(instruction);
        let own_parameter = self.kind == FunctionKind::Entry
            && self.leaves(instruction).iter().any(|leaf| match leaf {
                Operand::Symbol(symbol) => {
                    matches!(self.symbols[*symbol].kind, SymbolKind::Parameter(_))
                }
                _ => false,
            });
        format.mnemonic.is_invariant_load(own_parameter)
    }

    /// Whether a block ends in a branch through a table, whose targets are what the table lists.
    pub fn ends_in_indirect_branch(&self, block: Block) -> bool {
        self.last_instruction(block)
            .is_some_and(|last| self.format(last).effects.terminator == Terminator::IndirectBranch)
    }

    /// The values that an edge gives to the parameters of its target.
    #[inline]
    pub fn arguments(&self, edge: Edge) -> &[Value] {
        &self.arguments[edge.argument_range()]
    }

    /// The edges out of a block.
    #[inline]
    pub fn edges(&self, block: Block) -> &[Edge] {
        &self.blocks[block].edges
    }

    /// Who reads a value, in the order in which they came to read it: for a function that nobody has edited, that of the layout.
    /// Readers in blocks that control cannot reach count too: they are code until somebody removes them.
    #[inline]
    pub fn uses_of(&self, value: Value) -> impl Iterator<Item = Use> + '_ {
        self.use_lists.uses(value)
    }

    /// How many operands and arguments read a value.
    #[inline]
    pub fn use_count(&self, value: Value) -> u32 {
        self.use_lists.count(value)
    }

    /// Values that lost a reader under the editor that is at work, in order and perhaps several times.
    #[inline]
    pub fn released(&self) -> &[Value] {
        &self.use_lists.released
    }

    /// The only reader of a value, if it is an instruction and reads it once.
    #[inline]
    pub fn only_user(&self, value: Value) -> Option<Instruction> {
        match self.use_count(value) {
            1 => match self.uses_of(value).next() {
                Some(Use::Instruction(instruction)) => Some(instruction),
                _ => None,
            },
            _ => None,
        }
    }

    /// The values an instruction reads. Where every machine instruction counts, `for_each` is faster than a loop.
    #[inline]
    pub fn uses(&self, instruction: Instruction) -> impl Iterator<Item = Value> + '_ {
        self.operands(instruction)
            .iter()
            .filter_map(|operand| operand.value())
    }
}

impl Function {
    /// Makes the use lists, in order of the layout, and finds the traits on the way.
    pub(crate) fn find_uses(&mut self) {
        let mut lists = std::mem::take(&mut self.use_lists);
        lists.reset(self.values.len(), self.operands.len(), self.arguments.len());
        let mut traits = Traits::default();
        for &block in self.layout.order() {
            let mut next = self.layout.first(block);
            while let Some(instruction) = next {
                next = self.layout.next(instruction);
                traits.add(self.format(instruction).traits());
                let range = self.operand_range(instruction);
                let first = range.start;
                for (index, operand) in self.operands[range].iter().enumerate() {
                    if let Operand::Value(value) = *operand {
                        let slot = Slot::operand(first + index);
                        lists.link_in_room(value, slot, instruction.as_u32());
                    }
                }
            }
            for edge in &self.blocks[block].edges {
                for index in edge.argument_range() {
                    let slot = Slot::argument(index);
                    lists.link_in_room(self.arguments[index], slot, block.as_u32());
                }
            }
        }
        self.use_lists = lists;
        self.traits = traits;
    }

    /// Adds the operands of an instruction to the use lists.
    pub(crate) fn link_operands(&mut self, instruction: Instruction) {
        for index in self.operand_range(instruction) {
            if let Operand::Value(value) = self.operands[index] {
                let slot = Slot::operand(index);
                self.use_lists.link(value, slot, instruction.as_u32());
            }
        }
    }

    /// Takes the operands of an instruction out of the use lists.
    pub(crate) fn unlink_operands(&mut self, instruction: Instruction) {
        for index in self.operand_range(instruction) {
            if let Operand::Value(value) = self.operands[index] {
                self.use_lists.unlink(value, Slot::operand(index));
            }
        }
    }

    /// Adds an edge to the lists, out of a block, with these arguments.
    pub(crate) fn link_edge(&mut self, block: Block, target: Block, arguments: &[Value]) -> Edge {
        let first_argument = self.arguments.len();
        self.arguments.extend_from_slice(arguments);
        for (index, &argument) in (first_argument..).zip(arguments) {
            let slot = Slot::argument(index);
            self.use_lists.link(argument, slot, block.as_u32());
        }
        Edge {
            target,
            first_argument: first_argument as u32,
            argument_count: arguments.len() as u32,
        }
    }

    /// Takes the arguments of an edge out of the use lists.
    pub(crate) fn unlink_edge(&mut self, edge: Edge) {
        for index in edge.argument_range() {
            let slot = Slot::argument(index);
            self.use_lists.unlink(self.arguments[index], slot);
        }
    }

    /// Makes an instruction without results, in no block and from no statement.
    pub(crate) fn add_instruction(&mut self, format: Format, operands: &[Operand]) -> Instruction {
        let first_operand = self.operands.len() as u32;
        self.traits.add(self.formats[format].traits());
        self.operands.extend_from_slice(operands);
        self.origins.push(Origin::NONE);
        let instruction = self.instructions.push(InstructionData {
            format,
            first_operand,
            first_result: PackedOption::none(),
            operand_count: operands.len() as u16,
            result_count: 0,
        });
        self.link_operands(instruction);
        instruction
    }

    /// Adds a symbol. One for a variable is the symbol of that variable from now on.
    pub(crate) fn add_symbol(&mut self, data: SymbolData) -> Symbol {
        let symbol = self.symbols.push(data);
        if let Some(variable) = data.variable() {
            self.variables[variable].symbol = PackedOption::some(symbol);
        }
        symbol
    }

    /// Says that an instruction no longer stands where its statement did.
    pub(crate) fn mark_moved(&mut self, instruction: Instruction) {
        self.origins[instruction].mark(Origin::MOVED);
    }

    /// Gives a copy of an instruction its line and spelling.
    pub(crate) fn copy_location(&mut self, instruction: Instruction, copy: Instruction) {
        self.origins[copy] = self.origins[instruction];
        self.mark_moved(copy);
        self.set_imported_line(copy, self.imported_line(instruction));
    }

    /// Gives an instruction that was made for another one its line, and no statement that it is spelled as.
    pub(crate) fn copy_line(&mut self, instruction: Instruction, made: Instruction) {
        self.copy_location(instruction, made);
        self.origins[made].mark(Origin::REWRITTEN);
    }

    /// Gives an instruction the line it had in another function.
    pub(crate) fn set_imported_line(&mut self, instruction: Instruction, line: Option<Line>) {
        if let Some(line) = line {
            self.imported_lines.insert(instruction, line);
        }
    }

    /// Gives an instruction another format and other operands.
    pub(crate) fn set_instruction(
        &mut self,
        instruction: Instruction,
        format: Format,
        operands: &[Operand],
    ) {
        let released = self.use_lists.released.len();
        self.unlink_operands(instruction);
        let still_read = operands.iter().filter_map(|operand| operand.value());
        self.use_lists.retain(released, still_read);
        let range = self.operand_range(instruction);
        let same_format = self.instructions[instruction].format == format;
        self.traits.add(self.formats[format].traits());
        let data = &mut self.instructions[instruction];
        data.format = format;
        if operands.len() <= range.len() {
            data.operand_count = operands.len() as u16;
            self.operands[range.start..range.start + operands.len()].copy_from_slice(operands);
        } else {
            data.first_operand = self.operands.len() as u32;
            data.operand_count = operands.len() as u16;
            self.operands.extend_from_slice(operands);
        }
        self.link_operands(instruction);
        if !same_format {
            self.origins[instruction].mark(Origin::REWRITTEN);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instructions_are_sixteen_bytes() {
        assert_eq!(size_of::<InstructionData>(), 16);
        assert!(size_of::<ValueData>() <= 16);
    }
}
