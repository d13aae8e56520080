//! Rewrites of operands: guards, halves of registers, constants, addresses.

use super::address_chains::AddressChains;
use super::compare::inverted;
use super::view::{accepts, is_integer};
use super::{Outcome, Walk};
use crate::copy_propagation::is_acceptable;
use crate::gvn_cse::exchange::Test;
use crate::knobs::Switch;
use oriole_analysis::{Known, mask, sign_extend};
use oriole_collections::SmallVec;
use oriole_ir::{
    Address, AddressShape, Base, Definition, FormatData, Function, Instruction, Operand, ShapeKind,
    ShapeNode, Use, Value,
};
use oriole_isa::{BooleanOperation, MnemonicText, Opcode, Role, ScalarType, Space, build, ptxas};
use oriole_syntax::literal::Literal;
use oriole_syntax::tree::{Guard, Prefix};

// Settings.
const COPY_PROP_NON_REG_MULTI_DEF: Switch = Switch::named("CopyPropNonRegMultiDef");

/// The comparison that decides a branch, and the one that is true exactly when it is not, if nothing else reads it.
pub(crate) fn opposite_comparison(
    function: &Function,
    branch: Instruction,
) -> Option<(Instruction, MnemonicText)> {
    let guard = function.guard(branch)?.value()?;
    let Definition::Instruction(setp) = function.values()[guard].definition else {
        return None;
    };
    let format = function.format(setp);
    Test::of(format)?;
    if function.use_count(guard) != 1 {
        return None;
    }
    let mnemonic = &format.mnemonic;
    let is_float = mnemonic.first_type()?.is_float();
    let opposite = inverted(mnemonic.modifiers().comparison?, is_float)?;
    Some((setp, mnemonic.with_comparison(opposite)?))
}

impl Walk<'_, '_, '_> {
    /// `not.pred q, p; @q bra L` → `@!p bra L`.
    pub(super) fn flip_guard(&mut self, instruction: Instruction) -> Outcome {
        let function = self.editor.function();
        let Some(Operand::Value(guard)) = function.guard(instruction) else {
            return Outcome::Unchanged;
        };
        let original = self
            .view()
            .producer(guard, Opcode::Not)
            .and_then(|negation| negation.arg(0).value());
        let Some(original) = original else {
            return Outcome::Unchanged;
        };
        if !self.allows(
            instruction,
            "algebraic-simplification.flipped-guard",
            "a guard can be negated",
            None,
        ) {
            return Outcome::OutOfFuel;
        }
        let flipped = self.editor.function().format(instruction).guard.opposite();
        let mut operands = self.resolved_operands(instruction);
        operands[0] = Operand::Value(original);
        let format = self.editor.format_with_guard(instruction, flipped);
        self.rewrite(instruction, format, &operands);
        Outcome::Changed
    }

    /// `setp.lt.s32 p, x, y; @!p bra L` → `setp.ge.s32 p, x, y; @p bra L`. `ptxas` does not unroll a loop that a negated guard leaves.
    pub(super) fn invert_comparison(&mut self, instruction: Instruction) -> Outcome {
        let Some((setp, inverted)) = opposite_comparison(self.editor.function(), instruction)
        else {
            return Outcome::Unchanged;
        };
        if !self.allows(
            instruction,
            "algebraic-simplification.inverted-comparison",
            "the opposite comparison needs no negated guard",
            None,
        ) {
            return Outcome::OutOfFuel;
        }
        let format = self.editor.format_with_mnemonic(setp, &inverted);
        let operands = self.resolved_operands(setp);
        self.rewrite(setp, format, &operands);
        let format = self.editor.format_with_guard(instruction, Guard::If);
        let operands = self.resolved_operands(instruction);
        self.rewrite(instruction, format, &operands);
        Outcome::Changed
    }

    /// `mov.pred p, 0; @q setp.lt.s32 p, x, y` → `setp.lt.and.s32 p, x, y, q`; with 1, `setp.lt.or.s32 p, x, y, !q`.
    pub(super) fn guarded_comparison(&mut self, instruction: Instruction) -> Outcome {
        let function = self.editor.function();
        let format = function.format(instruction);
        let mnemonic = &format.mnemonic;
        let modifiers = mnemonic.modifiers();
        if modifiers.comparison.is_none() || modifiers.boolean.is_some() {
            return Outcome::Unchanged;
        }
        let (Some(Operand::Value(guard)), &[Operand::Value(before)]) =
            (function.guard(instruction), function.otherwise(instruction))
        else {
            return Outcome::Unchanged;
        };
        let lanes = mnemonic.first_type().map_or(0, ScalarType::lanes);
        if *format.shape != [ShapeNode::LEAF; 3] || lanes != 1 {
            return Outcome::Unchanged;
        }
        let if_true = format.guard == Guard::If;
        // What it is where the comparison is not made: where the guard's predicate is known.
        let kept = match before == guard {
            true => !if_true,
            false => match self.known.of(before).as_constant() {
                Some(bits) => bits != 0,
                None => return Outcome::Unchanged,
            },
        };
        let (operation, negated) = match kept {
            true => (BooleanOperation::Or, if_true),
            false => (BooleanOperation::And, !if_true),
        };
        let Some(combined) = mnemonic.with_boolean(operation) else {
            return Outcome::Unchanged;
        };
        if !self.allows(
            instruction,
            "algebraic-simplification.guarded-comparison",
            "a comparison can combine its result with the guard",
            None,
        ) {
            return Outcome::OutOfFuel;
        }
        let leaves = self.editor.function().leaves(instruction).len();
        let all = self.resolved_operands(instruction);
        let mut operands = all[all.len() - leaves..].to_vec();
        operands.push(Operand::Value(guard));
        let mut shape = [ShapeNode::LEAF; 4];
        if negated {
            shape[3].prefix = Prefix::Not;
        }
        let format = self
            .editor
            .format(&combined, Guard::None, shape.into_iter());
        debug_assert!(!self.editor.function().format_data(format).opaque);
        self.rewrite(instruction, format, &operands);
        Outcome::Changed
    }

    /// `mov.pred p, 0; @q mov.pred p, r` → `and.pred p, q, r`, and its like with `or`.
    pub(super) fn guarded_predicate(&mut self, instruction: Instruction) -> Outcome {
        let function = self.editor.function();
        let format = function.format(instruction);
        if format.mnemonic.first_type() != Some(ScalarType::Pred)
            || *format.shape != [ShapeNode::LEAF; 2]
        {
            return Outcome::Unchanged;
        }
        let (Some(Operand::Value(guard)), &[Operand::Value(before)], &[_, source]) = (
            function.guard(instruction),
            function.otherwise(instruction),
            function.leaves(instruction),
        ) else {
            return Outcome::Unchanged;
        };
        let constant = |value: Value| self.known.of(value).as_constant().map(|bits| bits != 0);
        let (moved, moved_constant) = match source {
            Operand::Value(value) => (Some(value), constant(value)),
            Operand::Constant(literal) => match function.constants()[literal].literal {
                Some(Literal::Integer { bits, .. }) => (None, Some(bits != 0)),
                _ => return Outcome::Unchanged,
            },
            _ => return Outcome::Unchanged,
        };
        // What the predicate of the guard chooses if true, and if false.
        let (moved, before) = ((moved, moved_constant), (Some(before), constant(before)));
        let (yes, no) = match format.guard {
            Guard::IfNot => (before, moved),
            _ => (moved, before),
        };
        let (opcode, other) = match (yes, no) {
            ((_, Some(true)), (Some(value), None)) => (Opcode::Or, Some(value)),
            ((Some(value), None), (_, Some(false))) => (Opcode::And, Some(value)),
            ((_, Some(true)), (_, Some(false))) => (Opcode::Mov, None),
            ((_, Some(false)), (_, Some(true))) => (Opcode::Not, None),
            _ => return Outcome::Unchanged,
        };
        if !self.allows(
            instruction,
            "algebraic-simplification.guarded-predicate",
            "a choice between a predicate and a constant is a logical operation",
            None,
        ) {
            return Outcome::OutOfFuel;
        }
        let mut operands = vec![Operand::Result(0), Operand::Value(guard)];
        operands.extend(other.map(Operand::Value));
        let mnemonic = build::typed(opcode, ScalarType::Pred);
        let format = self.editor.plain_format(&mnemonic, operands.len());
        self.rewrite(instruction, format, &operands);
        Outcome::Changed
    }

    /// `mov.b32 d, 0; @p mov.b32 d, x` → `selp.b32 d, x, 0, p`, also where what was there before is read elsewhere too: the
    /// register would have to be copied.
    pub(super) fn guarded_choice(&mut self, instruction: Instruction) -> Outcome {
        let view = self.view();
        let function = view.function();
        let (Some(site), &[Operand::Value(before)]) = (
            view.guarded_move(instruction),
            function.otherwise(instruction),
        ) else {
            return Outcome::Unchanged;
        };
        let constant = view.known.of(before).as_constant().is_some();
        let (yes, no) = site.pair();
        let plain = yes.is_plain() && no.is_plain() && matches!(site.width, 16 | 32 | 64);
        let undefined = function.values()[before].definition == Definition::Undefined;
        if !plain || undefined || !constant && view.is_single(before) {
            return Outcome::Unchanged;
        }
        let held = view.type_of(site.result);
        let mnemonic = match held {
            ScalarType::F32 | ScalarType::F64 if yes.value().is_none() && no.value().is_none() => {
                build::selp(held)
            }
            _ => build::choice(held),
        };
        if !self.allows(
            instruction,
            "algebraic-simplification.guarded-choice",
            "a guarded move chooses between two values",
            None,
        ) {
            return Outcome::OutOfFuel;
        }
        let arguments = [yes, no, site.arg(2)];
        self.become_instruction(instruction, &mnemonic, &arguments);
        Outcome::Changed
    }

    pub(super) fn resolved_operands(&self, instruction: Instruction) -> Vec<Operand> {
        let operands = self.editor.function().operands(instruction);
        operands
            .iter()
            .map(|&operand| match operand {
                Operand::Value(value) => Operand::Value(value),
                operand => operand,
            })
            .collect()
    }

    /// Halves of what was just put together, and the whole of what was just taken apart.
    pub(super) fn unpack(&mut self, instruction: Instruction) -> Outcome {
        let function = self.editor.function();
        let format = function.format(instruction);
        if format.mnemonic.opcode() != Opcode::Mov
            || format.shape.len() <= 2
            || format.is_guarded()
            || !self.context.knobs.switch(COPY_PROP_NON_REG_MULTI_DEF)
        {
            return Outcome::Unchanged;
        }
        let replacements = match pack_shape(format) {
            Some(Pack::Into(count)) => self.whole(instruction, count),
            Some(Pack::Apart(count)) => self.parts(instruction, count),
            None => None,
        };
        let Some(replacements) = replacements else {
            return Outcome::Unchanged;
        };
        if !self.allows(
            instruction,
            "algebraic-simplification.packed-halves",
            "the halves were just put together or taken apart",
            None,
        ) {
            return Outcome::OutOfFuel;
        }
        for &(old, new) in &replacements {
            *self.reads.ensure(new, 0) += self.reads[old];
            self.reads[old] = 0;
        }
        self.release_operands(instruction);
        for (old, new) in replacements {
            self.add_guarded(new);
            self.editor.replace_value(old, new);
        }
        self.editor.remove_instruction(instruction);
        Outcome::Removed
    }

    /// `cvt.u32.u16 x, a; mov.b32 {_, b}, x` → `mov.b16 b, 0`: the only part that is read is known. ptxas gets it wrong if a
    /// narrow load is behind it: quirk `high-half-of-narrow-load` of [`ptxas::QUIRKS`].
    ///
    /// `mov.b32 {c, b}, x`, with both read, gives `a` for `c`.
    pub(super) fn known_part(&mut self, instruction: Instruction) -> Outcome {
        let Some((part, bits, low)) = self.known_part_of(instruction) else {
            return Outcome::Unchanged;
        };
        if !self.allows(
            instruction,
            "algebraic-simplification.known-part",
            "what is taken apart has known bits",
            None,
        ) {
            return Outcome::OutOfFuel;
        }
        let held = self.editor.function().values()[part].scalar_type;
        let format = self.editor.plain_format(&build::copy(held), 2);
        let operands = [Operand::Result(0), self.immediate(format, 1, bits)];
        let constant = self
            .editor
            .insert_before(instruction, format, &operands, &[held]);
        let value = self.editor.function().results(constant).next();
        let Some(value) = value else {
            return Outcome::Unchanged;
        };
        self.step(constant);
        for (old, new) in std::iter::once((part, value)).chain(low) {
            *self.reads.ensure(new, 0) += self.reads[old];
            self.reads[old] = 0;
        }
        self.release_operands(instruction);
        for (old, new) in std::iter::once((part, value)).chain(low) {
            self.add_guarded(new);
            self.editor.replace_value(old, new);
        }
        self.editor.remove_instruction(instruction);
        Outcome::Removed
    }

    /// The part of a register that a `mov` takes out and that is known, its bits, and what the low part is if that is read too;
    /// no other part is.
    fn known_part_of(&self, instruction: Instruction) -> Option<KnownPart> {
        let function = self.editor.function();
        let format = function.format(instruction);
        if format.mnemonic.opcode() != Opcode::Mov || format.is_guarded() {
            return None;
        }
        let Some(Pack::Apart(count)) = pack_shape(format) else {
            return None;
        };
        let leaves = function.leaves(instruction);
        let &Operand::Value(whole) = leaves.last()? else {
            return None;
        };
        let width = format.mnemonic.first_type()?.bits() / count as u32;
        let mut read: SmallVec<[(u32, Value); 4]> = SmallVec::new();
        let mut results = function.results(instruction);
        for (index, leaf) in leaves[..count].iter().enumerate() {
            if let Operand::Result(_) = leaf {
                let part = results.next()?;
                if self.reads.get(part).is_some_and(|&reads| reads > 0) {
                    read.push((index as u32, part));
                }
            }
        }
        let &(index, part) = read.last()?;
        let held = function.values()[part].scalar_type;
        if !is_integer(held) || held.bits() != width || !matches!(width, 16 | 32) {
            return None;
        }
        let known = self.view().known.of(whole);
        let shift = index * width;
        let bits = Known {
            zeros: known.zeros >> shift | !mask(width),
            ones: known.ones >> shift & mask(width),
        }
        .as_constant()?;
        let low = match *read {
            [_] => None,
            [(0, low), _] => Some((low, self.extended(whole, width)?)),
            _ => return None,
        };
        let is_copy = low.is_none_or(|(low, new)| is_acceptable(function, low, new));
        is_copy.then_some((part, bits, low))
    }

    /// The register of this width that a value is with zeros above.
    fn extended(&self, value: Value, width: u32) -> Option<Value> {
        let site = self.view().producer(value, Opcode::Cvt)?;
        let function = self.editor.function();
        let &[to, from] = function.format(site.instruction).mnemonic.types() else {
            return None;
        };
        let narrow = site.arg(0).value()?;
        let is_extension = is_integer(to)
            && is_integer(from)
            && !from.is_signed()
            && from.bits() == width
            && to.bits() > width
            && function.values()[narrow].scalar_type.bits() == width;
        is_extension.then_some(narrow)
    }

    /// `mov.b64 x, {a, b}` where a and b are the parts of a value.
    fn whole(&self, instruction: Instruction, count: usize) -> Option<Vec<(Value, Value)>> {
        let function = self.editor.function();
        let leaves = function.leaves(instruction);
        let result = function.results(instruction).next()?;
        let mut source = None;
        for (index, &leaf) in leaves[1..].iter().enumerate() {
            let Operand::Value(part) = leaf else {
                return None;
            };
            let Definition::Instruction(producer) = function.values()[part].definition else {
                return None;
            };
            if source.is_some_and(|source| source != producer)
                || function.results(producer).nth(index) != Some(part)
            {
                return None;
            }
            source = Some(producer);
        }
        let producer = source?;
        let format = function.format(producer);
        let apart = format.mnemonic.opcode() == Opcode::Mov
            && !format.is_guarded()
            && function.block_of(producer).is_some()
            && matches!(pack_shape(format), Some(Pack::Apart(parts)) if parts == count)
            && function.leaves(producer)[..count]
                .iter()
                .enumerate()
                .all(|(index, leaf)| *leaf == Operand::Result(index as u16));
        let &Operand::Value(whole) = function.leaves(producer).last()? else {
            return None;
        };
        (apart && is_acceptable(function, result, whole)).then(|| vec![(result, whole)])
    }

    /// `mov.b64 {a, b}, x` where x was put together.
    fn parts(&self, instruction: Instruction, count: usize) -> Option<Vec<(Value, Value)>> {
        let function = self.editor.function();
        let leaves = function.leaves(instruction);
        let &Operand::Value(whole) = leaves.last()? else {
            return None;
        };
        let Definition::Instruction(producer) = function.values()[whole].definition else {
            return None;
        };
        let format = function.format(producer);
        if format.mnemonic.opcode() != Opcode::Mov
            || format.is_guarded()
            || function.block_of(producer).is_none()
            || !matches!(pack_shape(format), Some(Pack::Into(parts)) if parts == count)
        {
            return None;
        }
        let mut replacements = Vec::new();
        let mut results = function.results(instruction);
        for (leaf, part) in leaves[..count].iter().zip(&function.leaves(producer)[1..]) {
            match (leaf, part) {
                (Operand::Sink, _) => {}
                (Operand::Result(_), &Operand::Value(part)) => {
                    let (old, new) = (results.next()?, part);
                    if !is_acceptable(function, old, new) {
                        return None;
                    }
                    replacements.push((old, new));
                }
                _ => return None,
            }
        }
        (results.len() == 0 && !replacements.is_empty()).then_some(replacements)
    }

    /// Constants in registers become operands: `mov.u32 y, 5; add.s32 d, x, y` → `add.s32 d, x, 5`.
    pub(super) fn immediates(&mut self, instruction: Instruction) -> Outcome {
        let function = self.editor.function();
        let format = function.format(instruction);
        if !takes_immediates(format) {
            return Outcome::Unchanged;
        }
        let offset = function.operands(instruction).len() - function.leaves(instruction).len();
        let mut found: Vec<(usize, usize, u64)> = Vec::new();
        let mut node = 0;
        for (index, &operand) in function.leaves(instruction).iter().enumerate() {
            while format.shape[node].kind != ShapeKind::Leaf {
                node += 1;
            }
            let plain = format.shape[node] == ShapeNode::LEAF;
            node += 1;
            let leaf = &format.leaves[index];
            let Operand::Value(value) = operand else {
                continue;
            };
            if leaf.role != Role::Use || leaf.in_address || leaf.pinned || !plain {
                continue;
            }
            let Some(bits) = self.known.of(value).as_constant() else {
                continue;
            };
            let top = usize::from(leaf.operand);
            let Some(wanted) = format.operand_type(top) else {
                continue;
            };
            let held = function.values()[value].scalar_type.bits();
            if bits > ptxas::largest_immediate(&format.mnemonic, top) {
                continue;
            }
            let stores = format.mnemonic.opcode() == Opcode::St && held > wanted.bits();
            if (held == wanted.bits() || stores) && held <= 64 && is_immediate_type(wanted) {
                found.push((index, top, bits & mask(wanted.bits())));
            }
        }
        if found.is_empty() {
            return Outcome::Unchanged;
        }
        let data = function.instruction(instruction).format;
        for (index, top, bits) in found {
            if !self.allows(
                instruction,
                "algebraic-simplification.immediate",
                "the register holds a constant",
                None,
            ) {
                return Outcome::OutOfFuel;
            }
            let constant = self.immediate(data, top, bits);
            let function = self.editor.function();
            if let Operand::Value(value) = function.leaves(instruction)[index] {
                let reads = self.reads.ensure(value, 0);
                *reads = reads.saturating_sub(1);
            }
            self.editor
                .set_operand(instruction, offset + index, constant);
        }
        Outcome::Changed
    }

    /// `add.s64 y, x, 16; ld.global.u32 d, [y+4]` → `ld.global.u32 d, [x+20]`.
    pub(super) fn fold_address(&mut self, instruction: Instruction) -> Outcome {
        let mut outcome = Outcome::Unchanged;
        if !self.fold_addresses {
            return outcome;
        }
        loop {
            let function = self.editor.function();
            let format = function.format(instruction);
            let Some(address) = address_of(format) else {
                return outcome;
            };
            let Some((base, offset)) = self.folded(instruction) else {
                return outcome;
            };
            if !self.allows(
                instruction,
                "algebraic-simplification.folded-address",
                "an address can add a constant itself",
                None,
            ) {
                return Outcome::OutOfFuel;
            }
            self.set_address(instruction, &address, base, offset);
            outcome = Outcome::Changed;
        }
    }

    /// What an address is the sum of, if its base is a sum that dies with it.
    fn folded(&mut self, instruction: Instruction) -> Option<(Value, i64)> {
        let function = self.editor.function();
        let (base, offset) = base_and_offset(function, instruction)?;
        let view = self.view();
        let (sum, inner, constant) = view.as_sum(base)?;
        if is_array_element_of_other_block(function, instruction, sum.instruction)
            && self.is_indexed(inner)
        {
            return None;
        }
        let (function, view) = (self.editor.function(), self.view());
        let narrow = match sum.width {
            64 => false,
            32 => true,
            _ => return None,
        };
        let bits = ScalarType::as_bits(view.type_of(inner))?;
        if view.type_of(inner).is_float() || !accepts(bits, view.type_of(inner)) {
            return None;
        }
        let constant = sign_extend(constant, sum.width);
        if narrow {
            let known = view.known.of(inner);
            let highest = i64::try_from(known.maximum()).ok()?.checked_add(constant)?;
            let lowest = i64::try_from(known.minimum()).ok()?.checked_add(constant)?;
            if highest > i64::from(u32::MAX) || lowest < 0 {
                return None;
            }
        }
        let total = offset.checked_add(constant)?;
        i32::try_from(total).ok()?;
        let dies = view.is_single(base)
            || view.all_readers(base, |reader| {
                let format = function.format(reader);
                let readers = function.leaves(reader).iter().zip(&format.leaves);
                address_of(format).is_some()
                    && readers
                        .filter(|(leaf, _)| leaf.value() == Some(base))
                        .all(|(_, role)| role.in_address)
            });
        if dies {
            return Some((inner, total));
        }
        let flow = &self.flow;
        let chains = self
            .address_chains
            .get_or_insert_with(|| AddressChains::of(function, flow));
        let (root, distance) = chains.extend(base, inner, constant)?;
        let total = offset.checked_add(distance)?;
        i32::try_from(total).ok()?;
        Some((root, total))
    }

    /// Whether an array is indexed by something else than numbers. That is remembered, with one user that does: many accesses may ask about
    /// an array that many read.
    fn is_indexed(&mut self, array: Value) -> bool {
        let function = self.editor.function();
        match self.indexed.get(&array) {
            Some(None) => return false,
            Some(&Some(user)) if indexes(function, user, array) => return true,
            _ => {}
        }
        let mut users = function.uses_of(array);
        let found = users.find(|&user| indexes(function, user, array));
        self.indexed.insert(array, found);
        found.is_some()
    }
}

/// Whether an access to local memory takes its address from a sum in another block. `ptxas` sees through sums of one block only: where
/// the array is indexed too ([`Walk::is_indexed`]) and the number stands in the access, it takes every element for a register and chooses
/// among them by index, which is more code and more registers than the array (reductions of large angles in `sinf` and `cosf` are such).
fn is_array_element_of_other_block(
    function: &Function,
    access: Instruction,
    sum: Instruction,
) -> bool {
    function.format(access).mnemonic.space() == Some(Space::Local)
        && function.block_of(sum) != function.block_of(access)
}

/// Whether something adds more than numbers to the address of an array, or leaves open what is done with it.
fn indexes(function: &Function, user: Use, array: Value) -> bool {
    match user {
        Use::Edge(_) => true,
        Use::Instruction(reader) => {
            let is_sum = function.format(reader).mnemonic.opcode() == Opcode::Add;
            is_sum
                && function.block_of(reader).is_some()
                && function.uses(reader).any(|value| value == array)
                && function.uses(reader).any(|value| value != array)
        }
    }
}

/// A part that a `mov` takes out, its bits, and the low part with what it is, if that is read too.
type KnownPart = (Value, u64, Option<(Value, Value)>);

enum Pack {
    /// One register from so many.
    Into(usize),
    /// So many registers from one.
    Apart(usize),
}

fn pack_shape(format: &FormatData) -> Option<Pack> {
    if format.mnemonic.modifiers().vector.is_some() || format.operand_count != 2 {
        return None;
    }
    let count = format.leaves.len() - 1;
    let group = |node: &ShapeNode| node.kind == ShapeKind::Vector && node.prefix == Prefix::None;
    let leaves = |nodes: &[ShapeNode]| nodes.iter().all(|node| *node == ShapeNode::LEAF);
    match &*format.shape {
        [ShapeNode::LEAF, vector, parts @ ..] if group(vector) && leaves(parts) => {
            (parts.len() == count).then_some(Pack::Into(count))
        }
        [vector, parts @ .., ShapeNode::LEAF] if group(vector) && leaves(parts) => {
            (parts.len() == count).then_some(Pack::Apart(count))
        }
        _ => None,
    }
}

/// Types whose constants ptxas takes as operands.
pub(super) fn is_immediate_type(scalar_type: ScalarType) -> bool {
    use ScalarType::*;
    matches!(
        scalar_type,
        U8 | S8 | B8 | U16 | S16 | B16 | U32 | S32 | B32 | U64 | S64 | B64 | F32 | F64 | Pred
    )
}

/// Whether ptxas takes constants for operands of instructions with this opcode, as far as that tells.
pub(super) fn may_take_immediates(opcode: Opcode) -> bool {
    matches!(
        opcode,
        Opcode::Add
            | Opcode::Sub
            | Opcode::Mul
            | Opcode::Mad
            | Opcode::Div
            | Opcode::Rem
            | Opcode::Min
            | Opcode::Max
            | Opcode::And
            | Opcode::Or
            | Opcode::Xor
            | Opcode::Shl
            | Opcode::Shr
            | Opcode::Shf
            | Opcode::Setp
            | Opcode::Set
            | Opcode::Selp
            | Opcode::Slct
            | Opcode::Mov
            | Opcode::Bfe
            | Opcode::Bfi
            | Opcode::Prmt
            | Opcode::Fma
            | Opcode::Shfl
            | Opcode::Sad
            | Opcode::Dp4a
            | Opcode::Cvt
            | Opcode::St
            | Opcode::Atom
            | Opcode::Red
    )
}

/// Whether ptxas takes a constant for every operand that an instruction reads. Each was tried with ptxas 13.0, alone and with
/// the others. `lop3` is left out, see the quirk `lop3-operand-twice` of [`ptxas::QUIRKS`].
fn takes_immediates(format: &FormatData) -> bool {
    use ScalarType::*;
    let mnemonic = &format.mnemonic;
    let known = match mnemonic.opcode() {
        Opcode::Cvt => {
            format.operand_count == 2 && !mnemonic.types().last().is_some_and(|t| t.is_float())
        }
        Opcode::St => mnemonic.modifiers().vector.is_none(),
        Opcode::Atom | Opcode::Red => {
            mnemonic.modifiers().vector.is_none() && mnemonic.modifiers().operation.is_some()
        }
        opcode => may_take_immediates(opcode) && format.operand_count <= 6,
    };
    let vector = || {
        format
            .shape
            .iter()
            .any(|node| node.kind == ShapeKind::Vector)
    };
    let typed = |scalar_type: &ScalarType| {
        matches!(
            scalar_type,
            U16 | S16 | B16 | U32 | S32 | B32 | U64 | S64 | B64 | F32 | F64 | Pred
        ) || mnemonic.opcode() == Opcode::St && matches!(scalar_type, U8 | S8 | B8)
    };
    known && !vector() && !mnemonic.types().is_empty() && mnemonic.types().iter().all(typed)
}

/// Where the address of an access stands whose address can be rewritten.
pub(super) fn address_of(format: &FormatData) -> Option<AddressShape> {
    match format.mnemonic.opcode() {
        Opcode::Ld | Opcode::Ldu | Opcode::St | Opcode::Atom | Opcode::Red | Opcode::Prefetch => {
            format.address
        }
        _ => None,
    }
}

/// The value of an address and the constant added to it.
pub(super) fn base_and_offset(
    function: &Function,
    instruction: Instruction,
) -> Option<(Value, i64)> {
    match function.address(instruction)? {
        Address {
            base: Base::Value(value),
            offset,
        } => Some((value, offset)),
        _ => None,
    }
}
