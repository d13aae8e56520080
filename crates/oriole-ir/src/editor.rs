//! The only way to change a function: every change is journalled, so that analyses know what they can keep.

use crate::entities::{Block, Format, Instruction, Value};
use crate::format::ShapeNode;
use crate::function::{ConstantData, Definition, Function, ValueData};
use crate::operand::Operand;
use oriole_collections::{DenseMap, DenseSet, PackedOption};
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
    replacements: DenseMap<Value, Value>,
    journal: Journal,
}

impl<'function> Editor<'function> {
    /// Starts to change a function.
    pub fn new(function: &'function mut Function) -> Editor<'function> {
        Editor {
            function,
            replacements: DenseMap::new(),
            journal: Journal::default(),
        }
    }

    /// The function, to read.
    pub fn function(&self) -> &Function {
        self.function
    }

    /// What stands for `value` after the replacements so far.
    pub fn resolve(&self, mut value: Value) -> Value {
        while let Some(&next) = self.replacements.get(&value) {
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
        self.replacements.insert(old, new);
        self.journal.values = true;
        self.journal.changes += 1;
    }

    /// From now on, whoever reads `old` reads a value nobody defined. Only for values whose readers are dead.
    pub fn replace_with_undefined(&mut self, old: Value) {
        let undefined = self.function.values.push(ValueData {
            definition: Definition::Undefined,
            ..self.function.values[old]
        });
        self.replace_value(old, undefined);
    }

    /// Sets one operand, counted as in [`Function::operands`].
    pub fn set_operand(&mut self, instruction: Instruction, index: usize, operand: Operand) {
        self.function.operands_mut(instruction)[index] = operand;
        self.journal.values = true;
        self.journal.changes += 1;
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
        Operand::Constant(self.function.constants.push(ConstantData {
            literal: Some(Literal::Integer { bits, unsigned }),
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
        let data = &self.function.formats[format];
        let guarded = if data.is_guarded() {
            1 + results.len()
        } else {
            0
        };
        assert_eq!(
            operands.len(),
            data.leaves.len() + guarded,
            "operands for `{}`",
            data.mnemonic
        );
        self.journal.effects |= !data.effects.is_pure();
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
        self.function.layout.insert_before(instruction, before);
        self.journal.order = true;
        self.journal.values = true;
        self.journal.changes += 1;
        instruction
    }

    /// Takes an instruction out of its block. Its results must have no uses left.
    pub fn remove_instruction(&mut self, instruction: Instruction) {
        let effects = self.function.format(instruction).effects;
        self.journal.effects |= !effects.is_pure();
        self.journal.order = true;
        self.journal.values = true;
        self.journal.changes += 1;
        self.function.layout.remove(instruction);
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
    }

    /// Applies the replacements and gives the journal.
    pub fn finish(self) -> Journal {
        let Editor {
            function,
            mut replacements,
            journal,
        } = self;
        if replacements.is_empty() {
            return journal;
        }
        // Chains are shortened as they are walked, so that the sweep is linear.
        let mut resolve = |value: Value| {
            let mut last = value;
            let mut length = 0;
            while let Some(&next) = replacements.get(&last) {
                last = next;
                length += 1;
            }
            if length > 1 {
                let mut at = value;
                while at != last {
                    at = replacements.insert(at, last).unwrap_or(last);
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
