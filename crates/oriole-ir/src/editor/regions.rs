//! Changes to several blocks at once: copies of a region of the function, and of another function's blocks.

use super::Editor;
use crate::entities::{Block, Global, Instruction, Symbol, Value};
use crate::function::{BlockData, Definition, Function, SymbolKind, ValueData};
use crate::journal::Change;
use crate::operand::Operand;
use oriole_collections::{DenseMap, IndexVec, PackedOption, SmallVec};
use oriole_isa::build;

/// What the blocks and values of a region became in a copy of it.
#[derive(Debug, Default)]
pub struct Clones {
    blocks: DenseMap<Block, Block>,
    values: DenseMap<Value, Value>,
}

impl Clones {
    /// The copy of a block, or the block itself if it is not of the region.
    pub fn block(&self, block: Block) -> Block {
        self.blocks.get(&block).copied().unwrap_or(block)
    }

    /// What stands for a value in the copy: the value itself if the region does not define it.
    pub fn value(&self, value: Value) -> Value {
        self.values.get(&value).copied().unwrap_or(value)
    }

    /// Says what stands for a value in the copy, before it is made: for example what a parameter is in this iteration.
    pub fn set(&mut self, value: Value, stands: Value) {
        self.values.insert(value, stands);
    }
}

/// What becomes of an instruction of another function that is copied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Imported {
    /// A copy of it.
    Copy,
    /// A copy of this value of the function, into its only result.
    Move(Value),
    /// Nothing.
    Nothing,
}

impl Editor<'_> {
    /// Copies all blocks of another function of the module to behind `after` in the layout. Nothing leads into the copies yet,
    /// and copies of blocks that leave the other function have no edges. The copies have the source lines they have there. Variables of its body
    /// that they name become variables of this function, new ones for each time it is copied.
    ///
    /// # Panics
    /// If an instruction that is copied mentions a pinned register, a parameter or a table.
    pub fn import(
        &mut self,
        other: &Function,
        after: Block,
        mut becomes: impl FnMut(Instruction) -> Imported,
    ) -> Clones {
        let mut clones = Clones::default();
        let mut symbols = self.imported_symbols(other);
        let mut last = after;
        for (value, data) in other.values().iter() {
            let copy = self.function.values.push(ValueData {
                definition: Definition::Undefined,
                name: PackedOption::none(),
                scalar_type: data.scalar_type,
            });
            clones.values.insert(value, copy);
        }
        for &block in other.block_order() {
            let new = self.function.blocks.push(BlockData::default());
            self.function.layout.insert_block_after(new, last);
            last = new;
            clones.blocks.insert(block, new);
            self.note(Change::BlockAdded(new));
            for &parameter in &other.blocks()[block].parameters {
                let copy = clones.value(parameter);
                self.function.values[copy].definition = Definition::Parameter(new);
                self.function.blocks[new].parameters.push(copy);
            }
        }
        for &block in other.block_order() {
            let new = clones.block(block);
            for instruction in other.instructions_of(block) {
                let becomes = becomes(instruction);
                self.import_instruction(other, instruction, new, &clones, &mut symbols, becomes);
            }
            for &edge in other.edges(block) {
                let arguments = other.arguments(edge).iter();
                let arguments: SmallVec<[Value; 8]> =
                    arguments.map(|&value| clones.value(value)).collect();
                let target = clones.block(edge.target);
                let edge = self.function.link_edge(new, target, &arguments);
                self.function.blocks[new].edges.push(edge);
            }
            self.function.blocks[new].falls_through = other.blocks()[block].falls_through;
            self.note(Change::EdgesChanged(new));
        }
        self.journal.control_flow = true;
        self.journal.order = true;
        clones
    }

    /// What the symbols of another function are here, as far as there are symbols of the same meaning.
    fn imported_symbols(&self, other: &Function) -> IndexVec<Symbol, PackedOption<Symbol>> {
        let mut globals: DenseMap<Global, Symbol> = DenseMap::new();
        for (symbol, data) in self.function.symbols.iter() {
            if let SymbolKind::Global(global) = data.kind {
                globals.insert(global, symbol);
            }
        }
        let found = other.symbols().values().map(|data| match data.kind {
            SymbolKind::Global(global) => globals.get(&global).copied().into(),
            _ => PackedOption::none(),
        });
        found.collect()
    }

    /// The symbol that a symbol of another function becomes.
    fn import_symbol(
        &mut self,
        other: &Function,
        symbol: Symbol,
        symbols: &mut IndexVec<Symbol, PackedOption<Symbol>>,
    ) -> Symbol {
        if let Some(symbol) = symbols[symbol].expand() {
            return symbol;
        }
        let data = other.symbols()[symbol];
        let imported = match data.kind {
            SymbolKind::Variable(variable) => {
                let own = other.variables()[variable];
                let space = own.space.expect("variables in memory are copied");
                let variable = self.add_variable(own.name, space, own.variable_type);
                self.symbol_of(variable)
            }
            SymbolKind::Parameter(_) | SymbolKind::Table(_) => {
                panic!("parameters and tables are not copied")
            }
            SymbolKind::Global(_)
            | SymbolKind::Special(_)
            | SymbolKind::WarpSize
            | SymbolKind::Other => self.function.add_symbol(data),
        };
        symbols[symbol] = PackedOption::some(imported);
        imported
    }

    fn import_instruction(
        &mut self,
        other: &Function,
        instruction: Instruction,
        block: Block,
        clones: &Clones,
        symbols: &mut IndexVec<Symbol, PackedOption<Symbol>>,
        becomes: Imported,
    ) {
        let data = other.format(instruction);
        let (format, operands) = match becomes {
            Imported::Nothing => return,
            Imported::Copy => {
                let shape = data.shape.iter().copied();
                let formats = &mut self.function.formats;
                let format = formats.intern(data.mnemonic.text(), data.guard, shape);
                let operands = other.operands(instruction).iter();
                let operands: Vec<Operand> = operands
                    .map(|&operand| match operand {
                        Operand::Value(value) => Operand::Value(clones.value(value)),
                        Operand::Constant(constant) => {
                            let constant = other.constants()[constant];
                            Operand::Constant(self.function.constants.push(constant))
                        }
                        Operand::Symbol(symbol) => {
                            Operand::Symbol(self.import_symbol(other, symbol, symbols))
                        }
                        Operand::Register(_) => panic!("pinned registers are not copied"),
                        operand => operand,
                    })
                    .collect();
                (format, operands)
            }
            Imported::Move(value) => {
                let scalar_type = self.function.values[value].scalar_type;
                let format = self.plain_format(&build::copy(scalar_type), 2);
                (format, vec![Operand::Result(0), Operand::Value(value)])
            }
        };
        let new = self.function.add_instruction(format, &operands);
        let line = other
            .location(instruction)
            .and_then(|statement| other.line_of(statement))
            .or(other.imported_line(instruction));
        self.function.set_imported_line(new, line);
        let results = other.results(instruction);
        self.place_copy(new, results.map(|result| clones.value(result)), block);
    }

    /// Gives a copy of an instruction its results, which follow each other as those of the original do, and a place.
    fn place_copy(
        &mut self,
        copy: Instruction,
        results: impl Iterator<Item = Value>,
        block: Block,
    ) {
        for result in results {
            self.function.values[result].definition = Definition::Instruction(copy);
            let data = &mut self.function.instructions[copy];
            if data.result_count == 0 {
                data.first_result = PackedOption::some(result);
            }
            data.result_count += 1;
        }
        self.function.layout.append(block, copy);
        self.journal.instructions += 1;
        let format = self.function.format(copy);
        self.journal.effects |= !format.effects.is_pure();
        self.note_terminator(format.is_terminator(), copy);
        self.note(Change::Inserted(copy));
    }

    /// Copies blocks, in this order, to behind `after` in the layout. Edges between them lead to the copies, other edges where
    /// they led; nothing leads into the copies yet. Values that `clones` has an answer for are not copied.
    pub fn clone_region(&mut self, blocks: &[Block], after: Block, clones: &mut Clones) {
        let mut last = after;
        for &block in blocks {
            let new = self.function.blocks.push(BlockData::default());
            self.function.layout.insert_block_after(new, last);
            last = new;
            clones.blocks.insert(block, new);
            self.note(Change::BlockAdded(new));
            for parameter in self.function.blocks[block].parameters.clone() {
                if clones.values.contains_key(&parameter) {
                    continue;
                }
                let value = self.function.values.push(ValueData {
                    definition: Definition::Parameter(new),
                    name: PackedOption::none(),
                    ..self.function.values[parameter]
                });
                self.function.blocks[new].parameters.push(value);
                clones.values.insert(parameter, value);
            }
        }
        // Results first: a loop reads some before they are defined.
        let mut copies: Vec<(Instruction, Block)> = Vec::new();
        for &block in blocks {
            let new = clones.block(block);
            let list: Vec<Instruction> = self.function.instructions_of(block).collect();
            for instruction in list {
                copies.push((instruction, new));
                for result in self.function.results(instruction) {
                    let value = self.function.values.push(ValueData {
                        name: PackedOption::none(),
                        ..self.function.values[result]
                    });
                    clones.values.insert(result, value);
                }
            }
        }
        for (instruction, block) in copies {
            let operands: SmallVec<[Operand; 8]> = self
                .function
                .operands(instruction)
                .iter()
                .map(|&operand| match operand {
                    Operand::Value(value) => Operand::Value(clones.value(value)),
                    other => other,
                })
                .collect();
            let data = *self.function.instruction(instruction);
            let new = self.function.add_instruction(data.format, &operands);
            self.function.copy_location(instruction, new);
            let results = self.function.results(instruction);
            self.place_copy(new, results.map(|result| clones.value(result)), block);
        }
        for &block in blocks {
            let new = clones.block(block);
            for edge in self.function.blocks[block].edges.clone() {
                let target = clones.block(edge.target);
                let copied = target != edge.target;
                let parameters = &self.function.blocks[edge.target].parameters;
                // Parameters with an answer of their own have no copy to give an argument to.
                let arguments: SmallVec<[Value; 8]> = self
                    .function
                    .arguments(edge)
                    .iter()
                    .zip(parameters)
                    .filter(|&(_, parameter)| {
                        !copied
                            || self.function.values[clones.value(*parameter)].definition
                                == Definition::Parameter(target)
                    })
                    .map(|(&argument, _)| clones.value(argument))
                    .collect();
                let edge = self.function.link_edge(new, target, &arguments);
                self.function.blocks[new].edges.push(edge);
            }
            self.function.blocks[new].falls_through = self.function.blocks[block].falls_through;
            self.note(Change::EdgesChanged(new));
        }
        self.journal.control_flow = true;
        self.journal.order = true;
    }
}
