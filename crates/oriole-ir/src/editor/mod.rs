//! The only way to change a function: every change is journalled, so that analyses know what they can keep.
//!
//! Changes take effect at once: whoever reads an operand behind [`Editor::replace_value`] reads what stands there now.
//!
//! [`blocks`] holds what is done to blocks and edges, [`regions`] what is done to several blocks at once, [`variables`] what is
//! done to variables.

mod blocks;
mod regions;
mod variables;

pub use regions::{Clones, Imported};

use crate::entities::{Block, Format, Instruction, Value};
use crate::format::{FormatData, ShapeNode};
use crate::function::{ConstantData, Definition, Function, ValueData};
use crate::journal::{Change, Journal};
use crate::layout::Layout;
use crate::operand::Operand;
use crate::use_lists::{Slot, Use};
use oriole_collections::{IndexVec, PackedOption, SmallVec};
use oriole_isa::{MnemonicText, ScalarType};
use oriole_syntax::literal::Literal;
use oriole_syntax::tree::Guard;

/// How many changes a pass that makes any usually makes.
const USUAL_CHANGES: usize = 32;

/// Changes a function.
#[derive(Debug)]
pub struct Editor<'function> {
    function: &'function mut Function,
    /// What stands for each value that was replaced; empty until there is a first replacement.
    replacements: IndexVec<Value, PackedOption<Value>>,
    journal: Journal,
}

impl<'function> Editor<'function> {
    /// Starts to change a function.
    pub fn new(function: &'function mut Function) -> Editor<'function> {
        // An editor that nobody finished may have left some.
        function.use_lists.released.clear();
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

    /// How many changes were noted so far.
    #[inline]
    pub fn change_count(&self) -> usize {
        self.journal.entries.len()
    }

    /// What stands for a value that was read before the replacements so far: a pass may keep values in tables of its own, and
    /// put one of them into an operand after it was replaced.
    #[inline]
    fn resolve(&self, mut value: Value) -> Value {
        while let Some(next) = self.replacements.get(value).and_then(|next| next.expand()) {
            value = next;
        }
        value
    }

    /// An operand that was read before the replacements so far, as it is now.
    #[inline]
    fn resolved(&self, operand: Operand) -> Operand {
        match operand {
            Operand::Value(value) => Operand::Value(self.resolve(value)),
            other => other,
        }
    }

    fn note(&mut self, change: Change) {
        if self.journal.entries.is_empty() {
            self.journal.entries.reserve(USUAL_CHANGES);
        }
        self.journal.entries.push(change);
        self.journal.values = true;
        self.journal.changes += 1;
    }

    /// Notes that the terminator of a block is another one, if an instruction in it is or was one.
    #[inline]
    fn note_terminator(&mut self, is_terminator: bool, instruction: Instruction) {
        if is_terminator && let Some(block) = self.function.block_of(instruction) {
            self.journal.control_flow = true;
            let change = Change::TerminatorChanged(block);
            self.journal.entries.push(change);
        }
    }

    /// Whoever reads `old` reads `new` from now on. A value without a name gets that of the one it stands for.
    ///
    /// # Panics
    /// In debug builds, if the types differ or `new` was replaced by `old`.
    pub fn replace_value(&mut self, old: Value, new: Value) {
        let new = self.resolve(new);
        debug_assert_ne!(old, new, "a value cannot stand for itself");
        debug_assert_eq!(
            self.function.values[old].scalar_type.bits(),
            self.function.values[new].scalar_type.bits()
        );
        for slot in self.function.use_lists.slots(old) {
            match slot.index() {
                Ok(operand) => self.function.operands[operand] = Operand::Value(new),
                Err(argument) => self.function.arguments[argument] = new,
            }
        }
        self.function.use_lists.splice(old, new);
        *self.replacements.ensure(old, PackedOption::none()) = PackedOption::some(new);
        let old_data = self.function.values[old];
        let data = &mut self.function.values[new];
        if data.name.is_none() && data.scalar_type == old_data.scalar_type {
            data.name = old_data.name;
        }
        self.note(Change::Replaced(old, new));
    }

    /// Like [`Editor::replace_value`], and `new` takes the name that `old` had in the text, where it can.
    ///
    /// # Panics
    /// As [`Editor::replace_value`].
    pub fn replace_value_and_name(&mut self, old: Value, new: Value) {
        let new = self.resolve(new);
        self.function.values[new].name = self.function.values[old].name;
        self.replace_value(old, new);
    }

    /// One reader of `old`, an instruction or the edges out of a block, reads `new` from now on.
    pub fn replace_use(&mut self, user: Use, old: Value, new: Value) {
        match user {
            Use::Instruction(instruction) => {
                for index in 0..self.function.operands(instruction).len() {
                    if self.function.operands(instruction)[index] == Operand::Value(old) {
                        self.set_operand(instruction, index, Operand::Value(new));
                    }
                }
            }
            Use::Edge(block) => {
                for edge in 0..self.function.edges(block).len() {
                    let edge_data = self.function.edges(block)[edge];
                    for position in 0..self.function.arguments(edge_data).len() {
                        if self.function.arguments(edge_data)[position] == old {
                            self.set_argument(block, edge, position, new);
                        }
                    }
                }
            }
        }
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
        let operand = self.resolved(operand);
        let at = self.function.operand_range(instruction).start + index;
        let slot = Slot::operand(at);
        let old = std::mem::replace(&mut self.function.operands[at], operand);
        if let Operand::Value(old) = old {
            self.function.use_lists.unlink(old, slot);
        }
        if let Operand::Value(new) = operand {
            self.function
                .use_lists
                .link(new, slot, instruction.as_u32());
        }
        self.note(Change::Rewritten(instruction));
    }

    /// The format with this mnemonic, guard and operand shape.
    pub fn format(
        &mut self,
        mnemonic: &MnemonicText,
        guard: Guard,
        shape: impl Iterator<Item = ShapeNode>,
    ) -> Format {
        let formats = &mut self.function.formats;
        formats.intern(mnemonic.as_str(), guard, shape)
    }

    /// The format with this mnemonic and so many plain operands, and no guard.
    pub fn plain_format(&mut self, mnemonic: &MnemonicText, operand_count: usize) -> Format {
        let shape = std::iter::repeat_n(ShapeNode::LEAF, operand_count);
        self.format(mnemonic, Guard::None, shape)
    }

    /// The format of an instruction with another guard.
    pub fn format_with_guard(&mut self, instruction: Instruction, guard: Guard) -> Format {
        let from = self.function.instructions[instruction].format;
        let shape = &self.function.formats[from].shape;
        let shape: SmallVec<[ShapeNode; 16]> = shape.iter().copied().collect();
        self.function.formats.derive(from, guard, &shape)
    }

    /// The format of an instruction with operands of another shape.
    pub fn format_with_shape(&mut self, instruction: Instruction, shape: &[ShapeNode]) -> Format {
        let from = self.function.instructions[instruction].format;
        let guard = self.function.formats[from].guard;
        self.function.formats.derive(from, guard, shape)
    }

    /// The format of an instruction with another mnemonic.
    pub fn format_with_mnemonic(
        &mut self,
        instruction: Instruction,
        mnemonic: &MnemonicText,
    ) -> Format {
        let FormatData { guard, shape, .. } = self.function.format(instruction);
        let (guard, shape): (_, SmallVec<[ShapeNode; 16]>) =
            (*guard, shape.iter().copied().collect());
        self.format(mnemonic, guard, shape.into_iter())
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
    /// types given, and no name.
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
        let is_terminator = self.function.formats[format].is_terminator();
        self.note_terminator(is_terminator, instruction);
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
        let is_terminator = self.function.formats[format].is_terminator();
        self.note_terminator(is_terminator, instruction);
        instruction
    }

    /// Inserts a new instruction at the end of a block, before the branch if there is one; otherwise like [`Editor::insert_before`].
    ///
    /// # Panics
    /// If the operands do not fit the format.
    pub fn insert_at_end(
        &mut self,
        block: Block,
        format: Format,
        operands: &[Operand],
        results: &[ScalarType],
    ) -> Instruction {
        match self.branch(block) {
            Some(branch) => self.insert_before(branch, format, operands, results),
            None => self.append(block, format, operands, results),
        }
    }

    /// The branch at the end of a block.
    fn branch(&self, block: Block) -> Option<Instruction> {
        let last = self.function.last_instruction(block);
        last.filter(|&last| self.function.format(last).is_terminator())
    }

    /// Makes an instruction another one with the same results. Operands are as [`Function::operands`] lists them. It keeps
    /// its place and its source line.
    ///
    /// # Panics
    /// If the operands do not fit the format.
    pub fn rewrite(&mut self, instruction: Instruction, format: Format, operands: &[Operand]) {
        let results = self.function.instructions[instruction].result_count as usize;
        self.check_operands(format, operands.len(), results);
        let was = self.function.format(instruction);
        let is = &self.function.formats[format];
        self.journal.effects |= !(was.effects.is_pure() && is.effects.is_pure());
        let is_terminator = was.is_terminator() || is.is_terminator();
        self.note_terminator(is_terminator, instruction);
        let operands = self.resolved_list(operands);
        self.function
            .set_instruction(instruction, format, &operands);
        self.journal.order = true;
        self.note(Change::Rewritten(instruction));
    }

    fn resolved_list<'list>(
        &self,
        operands: &'list [Operand],
    ) -> std::borrow::Cow<'list, [Operand]> {
        if self.replacements.is_empty() {
            operands.into()
        } else {
            let resolved = operands.iter().map(|&operand| self.resolved(operand));
            resolved.collect::<Vec<_>>().into()
        }
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
            name: PackedOption::none(),
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
        let operands = self.resolved_list(operands);
        let instruction = self.function.add_instruction(format, &operands);
        for &scalar_type in results {
            let value = self.function.values.push(ValueData {
                definition: Definition::Instruction(instruction),
                name: PackedOption::none(),
                scalar_type,
            });
            let data = &mut self.function.instructions[instruction];
            if data.result_count == 0 {
                data.first_result = PackedOption::some(value);
            }
            data.result_count += 1;
        }
        self.journal.order = true;
        self.journal.instructions += 1;
        self.note(Change::Inserted(instruction));
        instruction
    }

    /// Moves an instruction to before another one.
    pub fn move_before(&mut self, instruction: Instruction, before: Instruction) {
        self.move_by(instruction, |layout| {
            layout.insert_before(instruction, before)
        });
    }

    /// Moves an instruction to the end of a block, before the branch if there is one.
    pub fn move_to_end(&mut self, instruction: Instruction, block: Block) {
        match self.branch(block) {
            Some(branch) => self.move_before(instruction, branch),
            None => self.move_by(instruction, |layout| layout.append(block, instruction)),
        }
    }

    fn move_by(&mut self, instruction: Instruction, insert: impl FnOnce(&mut Layout)) {
        let format = self.function.format(instruction);
        self.journal.effects |= !format.effects.is_pure();
        let is_terminator = format.is_terminator();
        self.note_terminator(is_terminator, instruction);
        self.function.layout.remove(instruction);
        insert(&mut self.function.layout);
        self.note_terminator(is_terminator, instruction);
        self.function.mark_moved(instruction);
        self.journal.order = true;
        self.note(Change::Moved(instruction));
    }

    /// Says that an instruction was made to do what another one does, and comes from the same line of the source.
    pub fn copy_line(&mut self, instruction: Instruction, made: Instruction) {
        self.function.copy_line(instruction, made);
    }

    /// A value of this type that nobody defines: any will do.
    pub fn undefined(&mut self, scalar_type: ScalarType) -> Value {
        self.function.values.push(ValueData {
            definition: Definition::Undefined,
            name: PackedOption::none(),
            scalar_type,
        })
    }

    /// A value that nobody defines, of the type and name of another: any will do.
    pub fn undefined_like(&mut self, value: Value) -> Value {
        self.function.values.push(ValueData {
            definition: Definition::Undefined,
            ..self.function.values[value]
        })
    }

    /// Takes an instruction out of its block. Its results must have no uses left.
    pub fn remove_instruction(&mut self, instruction: Instruction) {
        let format = self.function.format(instruction);
        let is_terminator = format.is_terminator();
        self.journal.effects |= !format.effects.is_pure();
        self.journal.order = true;
        self.journal.removals += 1;
        self.journal.instructions -= 1;
        let block = self
            .function
            .block_of(instruction)
            .expect("only instructions in a block are removed");
        self.note_terminator(is_terminator, instruction);
        self.function.unlink_operands(instruction);
        self.function.layout.remove(instruction);
        self.note(Change::Removed(instruction, block));
    }

    /// Names a value after a register, or after none.
    pub fn set_name(&mut self, value: Value, name: Option<crate::Register>) {
        self.function.values[value].name = name.into();
        self.journal.values = true;
        self.journal.changes += 1;
    }

    /// Gives the journal.
    pub fn finish(mut self) -> Journal {
        self.function.edited |= !self.journal.is_empty();
        self.journal.released = std::mem::take(&mut self.function.use_lists.released);
        self.journal
    }
}
