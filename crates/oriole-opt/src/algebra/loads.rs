//! Rewrites around loads and stores that concern another instruction too.

use super::operands::{address_of, base_and_offset};
use super::view::{Facts, is_integer};
use super::{Outcome, Walk};
use crate::addresses::format_with_address;
use oriole_analysis::ptxas_hazards::high_halves::takes_only_high_half;
use oriole_ir::{AddressShape, Definition, Instruction, Operand, Symbol, Value};
use oriole_isa::{MnemonicText, MulMode, Opcode, ScalarType, Space, build};

/// A constant behind one term of an address.
struct Hidden {
    /// What computes the address, and which of its operands is the sum.
    producer: Instruction,
    operand: usize,
    /// What the sum adds the constant to.
    inner: Value,
    offset: i64,
}

impl Walk<'_, '_, '_> {
    /// `ld.u8 %rs1, [a]; cvt.u32.u16 %r1, %rs1` → `ld.u8 %r1, [a]`: loads extend.
    pub(super) fn extend_load(&mut self, instruction: Instruction) -> Outcome {
        let Some((load, mnemonic)) = self.extended_load(instruction) else {
            return Outcome::Unchanged;
        };
        if !self.allows(
            instruction,
            "algebraic-simplification.extended-load",
            "a load can extend what it reads",
            Some(load),
        ) {
            return Outcome::OutOfFuel;
        }
        let function = self.editor.function();
        let operands = function.operands(load).to_vec();
        let result = function.results(instruction).next();
        let Some(result) = result else {
            return Outcome::Unchanged;
        };
        let held = function.values()[result].scalar_type;
        let format = self.editor.format_with_mnemonic(load, &mnemonic);
        // Without the conversion nobody reads the load, so its operands are released with the conversion's.
        for operand in &operands {
            if let Operand::Value(read) = operand {
                *self.reads.ensure(*read, 0) += 1;
            }
        }
        self.release_operands(instruction);
        self.editor.remove_instruction(instruction);
        let value = self.editor.rewrite_result(load, format, &operands, held);
        *self.reads.ensure(value, 0) += self.reads[result];
        self.reads[result] = 0;
        self.editor.replace_value(result, value);
        self.add_readers(load);
        self.step(load);
        Outcome::Removed
    }

    /// `mov.u32 %r1, tile; cvt.u64.u32 %rd1, %r1` → `mov.u64 %rd1, tile`: addresses of shared memory have 32 bits.
    pub(super) fn extend_address(&mut self, instruction: Instruction) -> Outcome {
        let Some(symbol) = self.extended_address(instruction) else {
            return Outcome::Unchanged;
        };
        if !self.allows(
            instruction,
            "algebraic-simplification.extended-address",
            "an address of shared memory has zeros above",
            None,
        ) {
            return Outcome::OutOfFuel;
        }
        let format = self.editor.plain_format(&build::mov(ScalarType::U64), 2);
        let operands = [Operand::Result(0), Operand::Symbol(symbol)];
        self.rewrite(instruction, format, &operands);
        Outcome::Changed
    }

    /// The shared variable whose address a conversion extends, if nobody else reads the narrow one.
    fn extended_address(&self, instruction: Instruction) -> Option<Symbol> {
        let function = self.editor.function();
        let view = self.view();
        let extension = view.site(instruction)?;
        let types = view.mnemonic(&extension).types();
        if extension.opcode != Opcode::Cvt || types != [ScalarType::U64, ScalarType::U32] {
            return None;
        }
        let narrow = extension.arg(0).value()?;
        let Definition::Instruction(producer) = function.values()[narrow].definition else {
            return None;
        };
        function.block_of(producer)?;
        let source = function.format(producer);
        let moved = source.mnemonic.first_type();
        let plain = source.mnemonic.opcode() == Opcode::Mov
            && source.is_simple()
            && moved.is_some_and(|moved| is_integer(moved) && moved.bits() == 32);
        let &[Operand::Result(0), Operand::Symbol(symbol)] = function.leaves(producer) else {
            return None;
        };
        let shared = function.symbols()[symbol].space == Some(Space::Shared);
        (plain && shared && view.is_single(narrow)).then_some(symbol)
    }

    /// The load behind a conversion, which nobody else reads, and its mnemonic with the type that extends as the conversion does.
    fn extended_load(&self, instruction: Instruction) -> Option<(Instruction, MnemonicText)> {
        let function = self.editor.function();
        let format = function.format(instruction);
        let mnemonic = &format.mnemonic;
        if mnemonic.opcode() != Opcode::Cvt || format.is_guarded() {
            return None;
        }
        let view = self.view();
        view.site(instruction)?;
        let &[to, from] = mnemonic.types() else {
            return None;
        };
        let &[Operand::Result(0), Operand::Value(read)] = function.leaves(instruction) else {
            return None;
        };
        let Definition::Instruction(load) = function.values()[read].definition else {
            return None;
        };
        function.block_of(load)?;
        let source = function.format(load);
        let element = source.mnemonic.first_type()?;
        let plain = source.mnemonic.opcode() == Opcode::Ld
            && !source.opaque
            && !source.is_guarded()
            && source.effects.is_removable()
            && source.mnemonic.types().len() == 1
            && source.mnemonic.modifiers().vector.is_none()
            && function.results(load).len() == 1
            && function.leaves(load).first() == Some(&Operand::Result(0))
            && view.is_single(read);
        let integers = is_integer(to) && is_integer(from) && is_integer(element);
        let held = function.values()[read].scalar_type;
        if !plain
            || !integers
            || held.is_float()
            // Extended to 64 bits, products and sums do better.
            || element.bits() > 16
            || from.bits() < element.bits()
            || held.bits() < from.bits()
            || to.bits() < element.bits()
        {
            return None;
        }
        let signed = if from.bits() == element.bits() {
            from.is_signed()
        } else if !element.is_signed() {
            false
        } else if from.is_signed() || to.bits() <= from.bits() {
            true
        } else {
            return None;
        };
        if self.is_only_taken_apart(function.results(instruction).next()?) {
            return None;
        }
        // What is not extended is read as it was.
        let loaded = ScalarType::integer(signed, element.bits())?;
        Some((load, source.mnemonic.with_type(0, loaded)?))
    }

    /// Whether all readers of a value only take its second 16 bits, which ptxas gets wrong of what a narrow load extended:
    /// quirk `high-half-of-narrow-load` of [`oriole_isa::ptxas::QUIRKS`].
    fn is_only_taken_apart(&self, value: Value) -> bool {
        let function = self.editor.function();
        let is_read = |part: Value| self.reads.get(part).is_some_and(|&reads| reads > 0);
        function.use_count(value) > 0
            && self.view().all_readers(value, |reader| {
                takes_only_high_half(function, reader, is_read)
            })
    }

    /// `add.s64 y, x, 16; mad.wide.s32 z, i, 4, y; ld.global.u32 d, [z]` → `mad.wide.s32 z, i, 4, x; ld.global.u32 d, [z+16]`.
    pub(super) fn reveal_address(&mut self, instruction: Instruction) -> Outcome {
        if !self.fold_addresses {
            return Outcome::Unchanged;
        }
        let Some(hidden) = self.hidden_constant(instruction) else {
            return Outcome::Unchanged;
        };
        if !self.allows(
            instruction,
            "algebraic-simplification.revealed-constant",
            "an address can add a constant of its terms itself",
            Some(hidden.producer),
        ) {
            return Outcome::OutOfFuel;
        }
        let function = self.editor.function();
        let format = function.instruction(hidden.producer).format;
        let mut operands = self.resolved_operands(hidden.producer);
        operands[hidden.operand] = Operand::Value(hidden.inner);
        self.add_readers(hidden.producer);
        self.rewrite(hidden.producer, format, &operands);
        self.step(hidden.producer);
        let address = address_of(self.editor.function().format(instruction));
        let base = address
            .as_ref()
            .and_then(|address| self.editor.function().leaves(instruction)[address.leaf].value());
        if let (Some(address), Some(base)) = (address, base) {
            self.set_address(instruction, &address, base, hidden.offset);
        }
        Outcome::Changed
    }

    fn hidden_constant(&self, instruction: Instruction) -> Option<Hidden> {
        let function = self.editor.function();
        address_of(function.format(instruction))?;
        let (base, offset) = base_and_offset(function, instruction)?;
        let view = self.view();
        if !view.is_single(base) {
            return None;
        }
        let Definition::Instruction(producer) = function.values()[base].definition else {
            return None;
        };
        function.block_of(producer)?;
        // Most addresses are no sums of sums, and one look at the terms tells.
        let sums = Facts::made_by_any(&[Opcode::Add, Opcode::Or]);
        let mut terms = function.uses(producer);
        if !terms.any(|term| view.of_value(term).have_any(sums)) {
            return None;
        }
        let site = view.site(producer)?;
        if !is_integer(site.scalar_type)
            || view.mnemonic(&site).types().len() != 1
            || view.type_of(base).bits() != 64
        {
            return None;
        }
        let terms: &[usize] = match site.opcode {
            Opcode::Add => &[0, 1],
            Opcode::Sub => &[0],
            Opcode::Mad if view.mul_mode(&site)? != MulMode::High => &[2],
            _ => return None,
        };
        terms.iter().find_map(|&term| {
            let sum = site.arg(term).value()?;
            let (inner_site, inner, constant) = view.as_sum(sum)?;
            let wide = inner_site.width == 64
                && view.is_single(sum)
                && view.readable(super::view::Arg::Value(inner), ScalarType::S64)
                && view.readable(super::view::Arg::Value(inner), view.type_of(sum));
            let total = offset.checked_add(constant as i64)?;
            i32::try_from(total).ok()?;
            wide.then_some(Hidden {
                producer,
                operand: term + 1,
                inner,
                offset: total,
            })
        })
    }

    /// Writes another base and offset into the address of an access.
    pub(super) fn set_address(
        &mut self,
        instruction: Instruction,
        address: &AddressShape,
        base: Value,
        offset: i64,
    ) {
        let mut operands = self.resolved_operands(instruction);
        let base = Operand::Value(base);
        let editor = &mut self.editor;
        let format =
            format_with_address(editor, instruction, &mut operands, *address, base, offset);
        self.rewrite(instruction, format, &operands);
    }
}
