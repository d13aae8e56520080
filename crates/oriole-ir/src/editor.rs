//! The only way to change a function: every change is journalled, so that analyses know what they can keep.

use crate::entities::{Block, Format, Instruction, Value};
use crate::format::ShapeNode;
use crate::function::{ConstantData, Definition, Edge, Function, ValueData};
use crate::operand::Operand;
use oriole_collections::{DenseSet, IndexVec, PackedOption};
use oriole_isa::ScalarType;
use oriole_syntax::literal::Literal;
use oriole_syntax::tree::Guard;

/// What changed since an editor was made.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Journal {
    /// Blocks or edges.
    pub control_flow: bool,
    /// Definitions, operands or arguments.
    pub values: bool,
    /// Which instructions there are, or their order.
    pub order: bool,
    /// Instructions with effects on memory or control.
    pub effects: bool,
    /// How many changes were made.
    pub changes: u64,
    /// How many of them only took something away that nobody needed: an instruction, a block, a parameter.
    pub removals: u64,
    /// Instructions added, less those removed.
    pub instructions: i64,
}

impl Journal {
    /// Whether nothing changed.
    pub fn is_empty(&self) -> bool {
        self.changes == 0
    }
}

/// Changes a function. Replacements of values take effect in one sweep when the editor is finished; until then, read
/// operands through [`Editor::resolve`].
#[derive(Debug)]
pub struct Editor<'function> {
    function: &'function mut Function,
    /// What stands for each value; empty until there is a first replacement.
    replacements: IndexVec<Value, PackedOption<Value>>,
    journal: Journal,
}

/// What stands for a value, if something does.
#[inline]
fn replacement(replacements: &IndexVec<Value, PackedOption<Value>>, value: Value) -> Option<Value> {
    replacements.get(value)?.expand()
}

impl<'function> Editor<'function> {
    /// Starts to change a function.
    pub fn new(function: &'function mut Function) -> Editor<'function> {
        Editor {
            function,
            replacements: IndexVec::new(),
            journal: Journal::default(),
        }
    }

    /// The function, to read.
    #[inline]
    pub fn function(&self) -> &Function {
        self.function
    }

    /// Whether any value has been replaced.
    #[inline]
    pub fn has_replacements(&self) -> bool {
        !self.replacements.is_empty()
    }

    /// What stands for `value` after the replacements so far.
    #[inline]
    pub fn resolve(&self, mut value: Value) -> Value {
        while let Some(next) = replacement(&self.replacements, value) {
            value = next;
        }
        value
    }

    /// From now on, `new` stands wherever `old` stood.
    ///
    /// # Panics
    /// In debug builds, if the types differ or `new` already resolves to `old`.
    pub fn replace_value(&mut self, old: Value, new: Value) {
        let new = self.resolve(new);
        debug_assert_ne!(old, new, "a value cannot stand for itself");
        debug_assert_eq!(
            self.function.values[old].scalar_type.bits(),
            self.function.values[new].scalar_type.bits()
        );
        if self.replacements.is_empty() {
            self.replacements =
                IndexVec::from_elem(PackedOption::none(), self.function.values.len());
        }
        *self.replacements.ensure(old, PackedOption::none()) = PackedOption::some(new);
        self.journal.values = true;
        self.journal.changes += 1;
    }

    /// From now on, whoever reads `old` reads a value nobody defined. Only for values whose readers are dead.
    pub fn replace_with_undefined(&mut self, old: Value) {
        let undefined = self.undefined_like(old);
        self.replace_value(old, undefined);
        self.journal.removals += 1;
    }

    /// Sets one operand, counted as in [`Function::operands`].
    #[inline]
    pub fn set_operand(&mut self, instruction: Instruction, index: usize, operand: Operand) {
        self.function.operands_mut(instruction)[index] = operand;
        self.journal.values = true;
        self.journal.changes += 1;
    }

    /// Lets an instruction read what stands for its operands now, rather than when the editor is finished.
    #[inline]
    pub fn resolve_operands(&mut self, instruction: Instruction) {
        if self.replacements.is_empty() {
            return;
        }
        let mut changes = 0;
        for operand in self.function.operands_mut(instruction) {
            if let Operand::Value(value) = operand {
                let old = *value;
                while let Some(next) = replacement(&self.replacements, *value) {
                    *value = next;
                }
                changes += u64::from(*value != old);
            }
        }
        self.journal.values |= changes > 0;
        self.journal.changes += changes;
    }

    /// The format with this mnemonic, guard and operand shape.
    pub fn format(
        &mut self,
        mnemonic: &str,
        guard: Guard,
        shape: impl Iterator<Item = ShapeNode> + Clone,
    ) -> Format {
        self.function.formats.intern(mnemonic, guard, shape)
    }

    /// An integer constant.
    pub fn integer(&mut self, bits: u64, unsigned: bool) -> Operand {
        self.literal(Literal::Integer { bits, unsigned })
    }

    /// A constant of single precision.
    pub fn single(&mut self, bits: u32) -> Operand {
        self.literal(Literal::Single(bits))
    }

    /// A constant of double precision.
    pub fn double(&mut self, bits: u64) -> Operand {
        self.literal(Literal::Double(bits))
    }

    fn literal(&mut self, literal: Literal) -> Operand {
        Operand::Constant(self.function.constants.push(ConstantData {
            literal: Some(literal),
            text: None,
        }))
    }

    /// Inserts a new instruction before another one. Operands are as [`Function::operands`] lists them; results get the
    /// types given, and no home.
    ///
    /// # Panics
    /// If the operands do not fit the format.
    pub fn insert_before(
        &mut self,
        before: Instruction,
        format: Format,
        operands: &[Operand],
        results: &[ScalarType],
    ) -> Instruction {
        let instruction = self.make(format, operands, results);
        self.function.layout.insert_before(instruction, before);
        instruction
    }

    /// Appends a new instruction to a block, behind everything in it; otherwise like [`Editor::insert_before`].
    ///
    /// # Panics
    /// If the operands do not fit the format.
    pub fn append(
        &mut self,
        block: Block,
        format: Format,
        operands: &[Operand],
        results: &[ScalarType],
    ) -> Instruction {
        let instruction = self.make(format, operands, results);
        self.function.layout.append(block, instruction);
        instruction
    }

    /// Makes an instruction another one with the same results. Operands are as [`Function::operands`] lists them. It keeps
    /// its place and its source line.
    ///
    /// # Panics
    /// If the operands do not fit the format.
    pub fn rewrite(&mut self, instruction: Instruction, format: Format, operands: &[Operand]) {
        let results = self.function.instructions[instruction].result_count as usize;
        self.check_operands(format, operands.len(), results);
        let was_pure = self.function.format(instruction).effects.is_pure();
        let is_pure = self.function.formats[format].effects.is_pure();
        self.journal.effects |= !(was_pure && is_pure);
        self.function.set_instruction(instruction, format, operands);
        self.journal.order = true;
        self.journal.values = true;
        self.journal.changes += 1;
    }

    /// Like [`Editor::rewrite`], for an instruction whose only result nobody reads any more: it gets another one, of this
    /// type.
    ///
    /// # Panics
    /// If the operands do not fit the format, or there is not one result.
    pub fn rewrite_result(
        &mut self,
        instruction: Instruction,
        format: Format,
        operands: &[Operand],
        scalar_type: ScalarType,
    ) -> Value {
        self.rewrite(instruction, format, operands);
        let data = &mut self.function.instructions[instruction];
        assert_eq!(data.result_count, 1, "one result is exchanged");
        let value = self.function.values.push(ValueData {
            definition: Definition::Instruction(instruction),
            home: PackedOption::none(),
            scalar_type,
        });
        if let Some(old) = data.first_result.expand() {
            self.function.values[old].definition = Definition::Undefined;
        }
        data.first_result = PackedOption::some(value);
        value
    }

    fn check_operands(&self, format: Format, operands: usize, results: usize) {
        let data = &self.function.formats[format];
        let guarded = if data.is_guarded() { 1 + results } else { 0 };
        assert_eq!(
            operands,
            data.leaves.len() + guarded,
            "operands for `{}`",
            data.mnemonic
        );
    }

    /// Makes an instruction that is in no block yet.
    fn make(
        &mut self,
        format: Format,
        operands: &[Operand],
        results: &[ScalarType],
    ) -> Instruction {
        self.check_operands(format, operands.len(), results.len());
        self.journal.effects |= !self.function.formats[format].effects.is_pure();
        let instruction = self.function.add_instruction(format, operands);
        for &scalar_type in results {
            let value = self.function.values.push(ValueData {
                definition: Definition::Instruction(instruction),
                home: PackedOption::none(),
                scalar_type,
            });
            let data = &mut self.function.instructions[instruction];
            if data.result_count == 0 {
                data.first_result = PackedOption::some(value);
            }
            data.result_count += 1;
        }
        self.journal.order = true;
        self.journal.values = true;
        self.journal.changes += 1;
        self.journal.instructions += 1;
        instruction
    }

    /// Moves an instruction to before another one. It no longer belongs to a statement of the source.
    pub fn move_before(&mut self, instruction: Instruction, before: Instruction) {
        self.function.layout.remove(instruction);
        self.function.layout.insert_before(instruction, before);
        self.function.forget_source(instruction);
        self.journal.order = true;
        self.journal.values = true;
        self.journal.effects |= !self.function.format(instruction).effects.is_pure();
        self.journal.changes += 1;
    }

    /// A value that nobody defines, of the type and home of another: any will do.
    pub fn undefined_like(&mut self, value: Value) -> Value {
        self.function.values.push(ValueData {
            definition: Definition::Undefined,
            ..self.function.values[value]
        })
    }

    /// Takes an instruction out of its block. Its results must have no uses left.
    pub fn remove_instruction(&mut self, instruction: Instruction) {
        let effects = self.function.format(instruction).effects;
        self.journal.effects |= !effects.is_pure();
        self.journal.order = true;
        self.journal.values = true;
        self.journal.changes += 1;
        self.journal.removals += 1;
        self.journal.instructions -= 1;
        self.function.layout.remove(instruction);
    }

    /// Lets the terminator of a block go one way only: along this edge. The other edges are dropped with their arguments.
    pub fn keep_edge(&mut self, block: Block, edge: usize) {
        let data = &mut self.function.blocks[block];
        let falls_through = data.fall_through() == Some(edge);
        let kept = data.edges.swap_remove(edge);
        data.edges.clear();
        data.edges.push(kept);
        data.falls_through = falls_through;
        let last = self
            .function
            .last_instruction(block)
            .filter(|&last| self.function.format(last).is_terminator())
            .expect("a block with several ways out has a branch");
        if falls_through {
            self.remove_instruction(last);
        } else {
            let format =
                self.function
                    .formats
                    .intern("bra", Guard::None, [ShapeNode::LEAF].into_iter());
            self.rewrite(last, format, &[Operand::Target(0)]);
        }
        self.journal.control_flow = true;
        self.journal.effects = true;
    }

    /// Leads an edge to another block.
    pub fn redirect(&mut self, block: Block, edge: usize, target: Block, arguments: Vec<Value>) {
        self.function.blocks[block].edges[edge] = Edge { target, arguments };
        self.journal.control_flow = true;
        self.journal.values = true;
        self.journal.changes += 1;
    }

    /// Sets one argument of an edge.
    pub fn set_argument(&mut self, block: Block, edge: usize, position: usize, value: Value) {
        self.function.blocks[block].edges[edge].arguments[position] = value;
        self.journal.values = true;
        self.journal.changes += 1;
    }

    /// Adds a parameter to a block; whoever adds it also gives every edge to the block an argument, with
    /// [`Editor::push_argument`].
    pub fn add_parameter(&mut self, block: Block, scalar_type: ScalarType) -> Value {
        let value = self.function.values.push(ValueData {
            definition: Definition::Parameter(block),
            home: PackedOption::none(),
            scalar_type,
        });
        self.function.blocks[block].parameters.push(value);
        self.journal.values = true;
        self.journal.changes += 1;
        value
    }

    /// Adds an argument to an edge.
    pub fn push_argument(&mut self, block: Block, edge: usize, value: Value) {
        self.function.blocks[block].edges[edge]
            .arguments
            .push(value);
        self.journal.values = true;
        self.journal.changes += 1;
    }

    /// Lets a block whose only way out is a branch fall through to where the branch leads.
    pub fn fall_through(&mut self, block: Block) {
        debug_assert_eq!(self.function.blocks[block].edges.len(), 1);
        let last = self
            .function
            .last_instruction(block)
            .expect("a block that does not fall through ends in a branch");
        self.remove_instruction(last);
        self.function.blocks[block].falls_through = true;
        self.journal.control_flow = true;
    }

    /// Turns the condition of a two-way branch round: where it led it falls through, and the other way round.
    pub fn invert_branch(&mut self, block: Block) {
        let last = self
            .function
            .last_instruction(block)
            .expect("a block with two ways out has a branch");
        let data = &self.function.formats[self.function.instructions[last].format];
        let guard = data.guard.opposite();
        let (mnemonic, shape) = (data.mnemonic.text().to_owned(), data.shape.to_vec());
        let operands = self.function.operands(last).to_vec();
        let format = self.format(&mnemonic, guard, shape.into_iter());
        self.rewrite(last, format, &operands);
        let data = &mut self.function.blocks[block];
        debug_assert!(data.edges.len() == 2 && data.falls_through);
        data.edges.swap(0, 1);
        self.journal.control_flow = true;
    }

    /// Puts what is in `next` behind what is in `block`, whose only way out leads to `next` and is `next`'s only way in.
    /// `next` is left empty and must be removed, see [`Editor::remove_blocks`].
    pub fn merge_blocks(&mut self, block: Block, next: Block) {
        debug_assert_eq!(self.function.blocks[block].edges.len(), 1);
        debug_assert_eq!(self.function.blocks[block].edges[0].target, next);
        if let Some(last) = self.function.last_instruction(block)
            && self.function.format(last).is_terminator()
        {
            self.remove_instruction(last);
        }
        let edge = self.function.blocks[block].edges.remove(0);
        let parameters = std::mem::take(&mut self.function.blocks[next].parameters);
        for (parameter, argument) in parameters.into_iter().zip(edge.arguments) {
            self.replace_value(parameter, argument);
        }
        let mut at = self.function.layout.first(next);
        while let Some(instruction) = at {
            at = self.function.layout.next(instruction);
            self.function.layout.remove(instruction);
            self.function.layout.append(block, instruction);
        }
        self.function.blocks[block].edges = std::mem::take(&mut self.function.blocks[next].edges);
        self.function.blocks[block].falls_through =
            std::mem::take(&mut self.function.blocks[next].falls_through);
        self.journal.control_flow = true;
        self.journal.order = true;
        self.journal.effects = true;
        self.journal.changes += 1;
    }

    /// Gives a value another home register, or none.
    pub fn set_home(&mut self, value: Value, home: Option<crate::Register>) {
        self.function.values[value].home = home.into();
        self.journal.values = true;
        self.journal.changes += 1;
    }

    /// Removes blocks with all they hold. No edge from a block that stays may lead to one of them.
    pub fn remove_blocks(&mut self, blocks: &[Block]) {
        if blocks.is_empty() {
            return;
        }
        let mut gone: DenseSet<Block> = DenseSet::new();
        for &block in blocks {
            gone.insert(block);
            let instructions: Vec<Instruction> = self.function.instructions_of(block).collect();
            for instruction in instructions {
                self.remove_instruction(instruction);
            }
            self.function.blocks[block].edges.clear();
            self.function.blocks[block].parameters.clear();
            self.function.blocks[block].falls_through = false;
        }
        self.function
            .layout
            .retain_blocks(|block| !gone.contains(block));
        self.journal.control_flow = true;
        self.journal.changes += 1;
        self.journal.removals += 1;
    }

    /// Removes the parameters of a block that `keep` rejects, by position, with the arguments for them.
    /// `incoming` are the blocks with an edge to `block`.
    pub fn retain_parameters(
        &mut self,
        block: Block,
        incoming: &[Block],
        keep: impl Fn(usize) -> bool,
    ) {
        let filter = |list: &mut Vec<Value>| {
            let mut position = 0;
            list.retain(|_| {
                position += 1;
                keep(position - 1)
            });
        };
        filter(&mut self.function.blocks[block].parameters);
        let mut seen: Vec<Block> = Vec::new();
        for &from in incoming {
            if seen.contains(&from) {
                continue;
            }
            seen.push(from);
            for edge in &mut self.function.blocks[from].edges {
                if edge.target == block {
                    filter(&mut edge.arguments);
                }
            }
        }
        self.journal.values = true;
        self.journal.changes += 1;
        self.journal.removals += 1;
    }

    /// Applies the replacements and gives the journal.
    pub fn finish(self) -> Journal {
        let Editor {
            function,
            mut replacements,
            journal,
        } = self;
        function.edited |= !journal.is_empty();
        if replacements.is_empty() {
            return journal;
        }
        // Chains are shortened as they are walked, so that the sweep is linear.
        let mut resolve = |value: Value| {
            let mut last = value;
            let mut length = 0;
            while let Some(next) = replacement(&replacements, last) {
                last = next;
                length += 1;
            }
            if length > 1 {
                let mut at = value;
                while at != last {
                    let next = std::mem::replace(&mut replacements[at], PackedOption::some(last));
                    at = next.unwrap();
                }
            }
            last
        };
        let order: Vec<Block> = function.layout.order().to_vec();
        for block in order {
            let mut next = function.layout.first(block);
            while let Some(instruction) = next {
                for operand in function.operands_mut(instruction) {
                    if let Operand::Value(value) = operand {
                        *value = resolve(*value);
                    }
                }
                next = function.layout.next(instruction);
            }
            for edge in &mut function.blocks[block].edges {
                for argument in &mut edge.arguments {
                    *argument = resolve(*argument);
                }
            }
        }
        journal
    }
}
