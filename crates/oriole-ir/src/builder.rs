//! Makes functions.

use crate::entities::{Block, Constant, Format, Instruction, Register, Symbol, Value, Variable};
use crate::format::FormatData;
use crate::formats::Formats;
use crate::function::{
    BlockData, ConstantData, Function, InstructionData, Line, Origin, RegisterData, SymbolData,
    SymbolKind, ValueData,
};
use crate::operand::Operand;
use crate::variable::VariableData;
use oriole_collections::{DenseMap, IndexVec, PackedOption};
use oriole_syntax::tree::{FunctionKind, Text};

/// What tells the symbol of a table or of a name of the module from others; nothing for other symbols.
fn symbol_key(kind: SymbolKind) -> Option<(u32, u32)> {
    match kind {
        SymbolKind::Table(table) => Some((0, table)),
        SymbolKind::Global(global) => Some((1, global.as_u32())),
        _ => None,
    }
}

/// What renaming an instruction needs of a function that is being made, all at once.
#[derive(Debug)]
pub struct InstructionParts<'function> {
    /// What it is.
    pub format: &'function FormatData,
    /// Its operands.
    pub operands: &'function mut [Operand],
    /// All registers.
    pub registers: &'function IndexVec<Register, RegisterData>,
    /// All values so far.
    pub values: &'function mut IndexVec<Value, ValueData>,
}

/// Makes functions: used by the translation into SSA form, which first enters registers and then renames them.
#[derive(Debug)]
pub struct FunctionBuilder {
    function: Box<Function>,
    symbol_index: DenseMap<(u32, u32), Symbol>,
    /// Where the operands of the last instruction appended end.
    operands_end: u32,
}

impl FunctionBuilder {
    /// Starts a function.
    pub fn new(name: Text, kind: FunctionKind, mut formats: Formats) -> FunctionBuilder {
        let mut function = match formats.storage.pop() {
            Some(mut function) => {
                function.name = name;
                function.kind = kind;
                function
            }
            None => Box::new(Function::empty(name, kind)),
        };
        function.formats = formats;
        FunctionBuilder {
            function,
            symbol_index: DenseMap::new(),
            operands_end: 0,
        }
    }

    /// The function so far.
    #[inline]
    pub fn function(&self) -> &Function {
        &self.function
    }

    /// The finished function.
    pub fn finish(mut self) -> Function {
        self.function.find_uses();
        *self.function
    }

    /// The finished function, whose values were all made by renaming its registers: each use of a register reads the value that the
    /// register held there.
    pub fn finish_renamed(mut self) -> Box<Function> {
        self.function.renamed = true;
        self.function.find_uses();
        self.function
    }

    /// Gives the formats back without a function.
    pub fn into_formats(self) -> Formats {
        self.function.into_formats()
    }

    /// The formats, to intern more.
    pub fn formats_mut(&mut self) -> &mut Formats {
        &mut self.function.formats
    }

    /// Makes room for about this much.
    pub fn reserve(
        &mut self,
        registers: usize,
        blocks: usize,
        instructions: usize,
        operands: usize,
    ) {
        self.function.registers.reserve(registers);
        self.function.blocks.reserve(blocks);
        self.function.layout.reserve(instructions, blocks);
        self.function.instructions.reserve(instructions);
        self.function.origins.reserve(instructions);
        self.function.operands.reserve(operands);
        // Symbols of a parameter or two, and of special registers.
        self.function.symbols.reserve(8);
        // About one operand in eight is a constant.
        self.function.constants.reserve(operands / 8);
        self.function.values.reserve(instructions);
    }

    /// Adds a register.
    #[inline]
    pub fn add_register(&mut self, data: RegisterData) -> Register {
        self.function.registers.push(data)
    }

    /// Excludes a register from SSA form.
    #[inline]
    pub fn pin(&mut self, register: Register) {
        self.function.registers[register].pinned = true;
    }

    /// The symbol of this meaning that was added before.
    #[inline]
    pub fn symbol(&self, kind: SymbolKind) -> Option<Symbol> {
        match kind {
            SymbolKind::Parameter(variable) | SymbolKind::Variable(variable) => {
                self.function.variables[variable].symbol.expand()
            }
            _ => self.symbol_index.get(&symbol_key(kind)?).copied(),
        }
    }

    /// Adds a symbol that is equal to no other.
    pub fn add_symbol(&mut self, data: SymbolData) -> Symbol {
        let symbol = self.function.add_symbol(data);
        if let Some(key) = symbol_key(data.kind) {
            self.symbol_index.insert(key, symbol);
        }
        symbol
    }

    /// Adds a variable.
    #[inline]
    pub fn add_variable(&mut self, data: VariableData) -> Variable {
        self.function.variables.push(data)
    }

    /// Adds a constant.
    #[inline]
    pub fn constant(&mut self, data: ConstantData) -> Constant {
        self.function.constants.push(data)
    }

    /// Adds a block at the end.
    #[inline]
    pub fn add_block(&mut self, label: Option<u32>) -> Block {
        let block = self.function.blocks.push(BlockData {
            label,
            ..BlockData::default()
        });
        self.function.layout.append_block(block);
        block
    }

    /// Makes sure that there is a block of this number. It is in no order yet.
    pub(crate) fn ensure_block(&mut self, block: Block) {
        self.function.blocks.ensure(block, BlockData::default());
    }

    /// Puts a block at the end of the order.
    pub(crate) fn append_block(&mut self, block: Block) {
        self.function.layout.append_block(block);
    }

    /// Gives an instruction a location, and no statement that it is spelled as or stands at.
    pub(crate) fn set_location(&mut self, instruction: Instruction, location: u32) {
        self.function.origins[instruction] = Origin(location | Origin::REWRITTEN | Origin::MOVED);
    }

    /// Adds a `.loc` directive, behind those there are.
    pub fn add_line(&mut self, line: Line) {
        self.function.lines.push(line);
    }

    /// A block, to set its edges.
    #[inline]
    pub fn block_mut(&mut self, block: Block) -> &mut BlockData {
        &mut self.function.blocks[block]
    }

    /// Gives an edge its arguments.
    pub fn set_arguments(&mut self, block: Block, edge: usize, arguments: &[Value]) {
        let function = &mut *self.function;
        let edge = &mut function.blocks[block].edges[edge];
        edge.first_argument = function.arguments.len() as u32;
        edge.argument_count = arguments.len() as u32;
        function.arguments.extend_from_slice(arguments);
    }

    /// Appends an instruction without results yet.
    pub fn append(
        &mut self,
        block: Block,
        format: Format,
        operands: &[Operand],
        statement: u32,
    ) -> Instruction {
        self.function.operands.extend_from_slice(operands);
        let instruction = self.push_instruction(format, statement);
        self.function.layout.append(block, instruction);
        instruction
    }

    /// Adds an operand of the instruction that comes next.
    #[inline]
    pub fn push_operand(&mut self, operand: Operand) {
        self.function.operands.push(operand);
    }

    /// Adds an instruction over the operands pushed since the last one, without results yet. It is in no block until
    /// [`FunctionBuilder::close_block`] says so.
    #[inline]
    pub fn push_instruction(&mut self, format: Format, statement: u32) -> Instruction {
        let function = &mut *self.function;
        let end = function.operands.len() as u32;
        let first_operand = std::mem::replace(&mut self.operands_end, end);
        function.origins.push(Origin(statement));
        function.instructions.push(InstructionData {
            format,
            first_operand,
            first_result: PackedOption::none(),
            operand_count: (end - first_operand) as u16,
            result_count: 0,
        })
    }

    /// Puts the instructions that were pushed since this was last called into the last block, which has no others.
    pub fn close_block(&mut self) {
        let function = &mut *self.function;
        if let Some(&block) = function.layout.order().last() {
            let end = function.instructions.next_key();
            function.layout.append_up_to(block, end);
        }
    }

    /// An instruction and what it refers to, to rename it.
    #[inline]
    pub fn parts_mut(&mut self, instruction: Instruction) -> InstructionParts<'_> {
        let function = &mut *self.function;
        let range = function.operand_range(instruction);
        InstructionParts {
            format: &function.formats[function.instructions[instruction].format],
            operands: &mut function.operands[range],
            registers: &function.registers,
            values: &mut function.values,
        }
    }

    /// Registers and values, to make more of these.
    #[inline]
    pub fn registers_and_values(
        &mut self,
    ) -> (
        &IndexVec<Register, RegisterData>,
        &mut IndexVec<Value, ValueData>,
    ) {
        (&self.function.registers, &mut self.function.values)
    }

    /// Makes the next value.
    pub fn add_value(&mut self, data: ValueData) -> Value {
        self.function.values.push(data)
    }

    /// Says that the instruction's results are the `count` values from `first` on.
    #[inline]
    pub fn set_results(&mut self, instruction: Instruction, first: Value, count: u16) {
        let data = &mut self.function.instructions[instruction];
        data.first_result = PackedOption::some(first);
        data.result_count = count;
    }

    /// Gives an instruction other operands.
    pub fn set_operands(&mut self, instruction: Instruction, operands: &[Operand]) {
        let data = &mut self.function.instructions[instruction];
        data.first_operand = self.function.operands.len() as u32;
        data.operand_count = operands.len() as u16;
        self.function.operands.extend_from_slice(operands);
        self.operands_end = self.function.operands.len() as u32;
    }
}
