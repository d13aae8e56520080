//! Instructions that move bits or combine them one by one.
//!
//! A bit of a result is known in each lane, or unknown and the same in all, or it is known in each lane once one unknown bit that all
//! lanes share is: then that bit is an atom, which is zero or one, and the result is linear in it.

use super::evaluate::Input;
use super::lanes::{LANES, Lanes};
use super::monomial::Monomial;
use super::pattern::{BitView, Pattern};
use super::{AtomData, AtomKey, Entry, LanePatterns};
use crate::known_bits::{Known, literal_bits, mask, sign_extend};
use oriole_collections::SmallVec;
use oriole_ir::{Definition, Instruction, Operand, Value};
use oriole_isa::{Bits, Mnemonic, Opcode, ScalarType, evaluate};

/// Slots of [`AtomKey::Part`].
pub(super) const BITS: u32 = 1000;
const SPLIT: u32 = 4000;

/// So many unknown bits of one instruction may become atoms.
const MOST_SPLIT: u32 = 6;

/// How many lanes have to be looked at: one, if all have the same bits.
fn different_lanes(views: &[BitView]) -> usize {
    match views.iter().all(|view| view.lanes.as_same().is_some()) {
        true => 1,
        false => LANES,
    }
}

/// What logic makes of the known bits of each lane; gives the bits that depend on what is unknown: those that differ with all-ones in its
/// place on either side or on both.
fn combined(
    logic: impl Fn(u64, u64) -> u64,
    [first, second]: [&BitView; 2],
    results: &mut [u64],
) -> u64 {
    let (left, right) = (first.lanes.to_array(), second.lanes.to_array());
    let mut unknown = 0;
    for ((result, left), right) in results.iter_mut().zip(left).zip(right) {
        let own = logic(left, right);
        let (one, other) = (left | first.unknown, right | second.unknown);
        unknown |=
            (logic(one, right) ^ own) | (logic(left, other) ^ own) | (logic(one, other) ^ own);
        *result = own;
    }
    unknown
}

/// `shr` of a type: bits beyond its width are filled by the sign of what has one.
pub(super) fn shifted_right(number: u64, amount: u64, own: ScalarType) -> u64 {
    let bits = own.bits();
    match own.is_signed() {
        true => (sign_extend(number, bits) >> amount.min(63)) as u64 & mask(bits),
        false => (number & mask(bits))
            .checked_shr(amount.min(64) as u32)
            .unwrap_or(0),
    }
}

impl LanePatterns<'_> {
    /// Known bits by lane and unknown ones that are the same in all lanes.
    pub(super) fn of_bits(
        &mut self,
        value: Value,
        slot: u32,
        lanes: Lanes,
        unknown: u64,
        bits: u32,
    ) -> Option<Pattern> {
        let known = Pattern::concrete(lanes, bits);
        if unknown == 0 {
            return Some(known);
        }
        let rest = Known {
            zeros: !unknown,
            ones: 0,
        };
        let part = self.part(value, slot, rest, bits);
        known.add(&part)
    }

    /// Instructions that move bits, the same way in all lanes.
    pub(super) fn moved_bits(
        &mut self,
        value: Value,
        mnemonic: &Mnemonic,
        given: ScalarType,
        inputs: &[Input],
    ) -> Option<Pattern> {
        // How many of the operands are moved; the others say where to.
        let moved = match mnemonic.opcode() {
            Opcode::Shr | Opcode::Bfe => 1,
            _ => 2,
        };
        let mut views: SmallVec<[BitView; 4]> = SmallVec::new();
        for (index, input) in inputs.iter().enumerate() {
            let view = input
                .pattern
                .bit_view(input.known, &|atom| self.known(atom))?;
            if index >= moved && (view.unknown != 0 || view.lanes.as_same().is_none()) {
                return None;
            }
            views.push(view);
        }
        let own = mnemonic.first_type()?;
        let run = |bits: &dyn Fn(&BitView) -> u64| {
            if let (Opcode::Shr, [number, amount]) = (mnemonic.opcode(), &views[..]) {
                return Some(shifted_right(bits(number), amount.lanes.get(0), own));
            }
            let inputs: SmallVec<[Bits; 4]> = views
                .iter()
                .enumerate()
                .map(|(index, view)| match index < moved {
                    true => Bits::from(bits(view)),
                    false => Bits::from(view.lanes.get(0)),
                })
                .collect();
            let outputs = evaluate(mnemonic, &inputs)?;
            Some(*outputs.values().first()? as u64 & mask(given.bits()))
        };
        let unknown = run(&|view| view.unknown)?;
        let mut lanes = [0; LANES];
        let count = different_lanes(&views);
        for (lane, result) in lanes[..count].iter_mut().enumerate() {
            // Bits that are filled up with a sign that is not known are not known either.
            *result = run(&|view| view.lanes.get(lane))? & !unknown;
        }
        let lanes = match count {
            1 => Lanes::Same(lanes[0]),
            _ => Lanes::from_array(lanes),
        };
        self.of_bits(value, BITS, lanes, unknown, given.bits())
    }

    /// Logic, bit by bit.
    pub(super) fn bitwise(
        &mut self,
        value: Value,
        mnemonic: &Mnemonic,
        given: ScalarType,
        inputs: &[Input],
    ) -> Option<Pattern> {
        let operands = match mnemonic.opcode() {
            Opcode::Not => 1,
            Opcode::Lop3 => 3,
            _ => 2,
        };
        let mut views: SmallVec<[BitView; 4]> = SmallVec::new();
        for input in inputs.get(..operands)? {
            let view = input
                .pattern
                .bit_view(input.known, &|atom| self.known(atom))?;
            views.push(view);
        }
        let others: SmallVec<[u64; 2]> = inputs[operands..]
            .iter()
            .map(|input| input.pattern.lanes.as_same())
            .collect::<Option<_>>()?;
        let logic = super::evaluate::logic(mnemonic.opcode());
        // With every choice of all-zeros and all-ones for what is unknown.
        let run = |lane: usize, choice: u32| {
            let operand = |index: usize| match choice >> index & 1 {
                0 => views[index].lanes.get(lane),
                _ => views[index].lanes.get(lane) | views[index].unknown,
            };
            if let Some(logic) = logic {
                return Some(logic(operand(0), operand(1)) & mask(given.bits()));
            }
            let mut bits: SmallVec<[Bits; 4]> = SmallVec::new();
            bits.extend((0..views.len()).map(|index| Bits::from(operand(index))));
            bits.extend(others.iter().map(|&other| Bits::from(other)));
            let outputs = evaluate(mnemonic, &bits)?;
            Some(*outputs.values().first()? as u64 & mask(given.bits()))
        };
        // Choices for operands of which all is known are none.
        let is_needless = |choice: u32| {
            let mut operands = views.iter().enumerate();
            operands.any(|(index, view)| choice >> index & 1 != 0 && view.unknown == 0)
        };
        let mut choices: SmallVec<[u32; 8]> = SmallVec::new();
        choices.extend((1..1 << operands).filter(|&choice| !is_needless(choice)));
        let mut lanes = [0; LANES];
        let mut unknown = 0;
        let count = different_lanes(&views);
        if let (Some(_), [first, second]) = (logic, &views[..]) {
            let results = &mut lanes[..count];
            unknown = match mnemonic.opcode() {
                Opcode::And => combined(|one, other| one & other, [first, second], results),
                Opcode::Or => combined(|one, other| one | other, [first, second], results),
                _ => combined(|one, other| one ^ other, [first, second], results),
            };
            unknown &= mask(given.bits());
            for result in results {
                *result &= mask(given.bits());
            }
        } else {
            for (lane, result) in lanes[..count].iter_mut().enumerate() {
                *result = run(lane, 0)?;
                for &choice in &choices {
                    unknown |= run(lane, choice)? ^ *result;
                }
            }
        }
        // Bits that lanes make different things of.
        let mut split = 0;
        for view in &views {
            for lane in 1..count {
                split |= (view.lanes.get(lane) ^ view.lanes.get(0)) & unknown;
            }
        }
        unknown &= !split;
        let known = match count {
            1 => Lanes::Same(lanes[0] & !unknown),
            _ => Lanes::from_fn(|lane| lanes[lane] & !unknown),
        };
        let mut result = self.of_bits(value, BITS, known, unknown, given.bits())?;
        if split.count_ones() > MOST_SPLIT {
            return None;
        }
        while split != 0 {
            let bit = split.trailing_zeros();
            split &= split - 1;
            let mut among = views.iter().map(|view| view.unknown >> bit & 1 != 0);
            let source = among.position(|is_unknown| is_unknown)?;
            if among.any(|is_unknown| is_unknown) {
                return None;
            }
            let mut set = [0; LANES];
            for (lane, set) in set.iter_mut().enumerate() {
                *set = run(lane, 1 << source)? >> bit & 1;
            }
            let factor = Lanes::from_fn(|lane| {
                let difference = set[lane].wrapping_sub(lanes[lane] >> bit & 1);
                difference << bit & mask(given.bits())
            });
            let atom = self.bit_of(value, source as u32, &inputs[source], bit);
            result = result.add(&Pattern::term(Monomial::atom(atom), factor, given.bits()))?;
        }
        Some(result)
    }

    /// An unknown bit of an operand that is the same in all lanes.
    fn bit_of(&mut self, value: Value, operand: u32, input: &Input, bit: u32) -> super::Atom {
        let (key, home) = match input.value {
            Some(source) => (AtomKey::Bit(source, bit), source),
            None => (AtomKey::Part(value, SPLIT + 64 * operand + bit), value),
        };
        self.atoms.intern(AtomData {
            key,
            known: Known::unknown(1),
            home: self.function.defining_block(home),
            parameter: None,
        })
    }

    /// Logic with a number of which only low bits are changed, where these are known in each lane: what is above them stays, though
    /// lanes may carry into it.
    pub(super) fn low_logic(&self, mnemonic: &Mnemonic, inputs: &[Input]) -> Option<Pattern> {
        let logic = super::evaluate::logic(mnemonic.opcode())?;
        let [first, second] = inputs else {
            return None;
        };
        let (pattern, number) = match second.pattern.is_concrete() {
            true => (&first.pattern, &second.pattern),
            false => (&second.pattern, &first.pattern),
        };
        let bits = pattern.bits;
        if !number.is_concrete() || number.bits != bits {
            return None;
        }
        let (count, low) = pattern.low_bits(&|atom| self.known(atom))?;
        // What the operation leaves as it is above the low bits.
        let is_low = |lane: usize| {
            let above = number.lanes.get(lane) & !mask(count);
            let untouched = match mnemonic.opcode() {
                Opcode::And => mask(bits) & !mask(count),
                _ => 0,
            };
            above == untouched
        };
        if !(0..LANES).all(is_low) {
            return None;
        }
        let changed = low.zip(&number.lanes, |low, number| {
            (logic(low, number) & mask(count)).wrapping_sub(low)
        });
        pattern.add(&Pattern::concrete(changed, bits))
    }

    /// `x >> n & m`, where the bits of `x` that are left are known in each lane, whatever those above are.
    pub(super) fn masked_shift(&self, instruction: Instruction) -> Option<Pattern> {
        let function = self.function;
        let of = |instruction: Instruction, opcode: Opcode| {
            let format = function.format(instruction);
            let is_plain = format.mnemonic.opcode() == opcode && !format.is_guarded();
            let leaves = function.leaves(instruction);
            match leaves.get(1..) {
                Some(&[Operand::Value(value), Operand::Constant(constant)])
                    if is_plain && self.is_evaluated(instruction) =>
                {
                    let literal = function.constants()[constant].literal?;
                    let number = literal_bits(literal, format.operand_type(2)?)?;
                    Some((value, number, format.operand_type(0)?))
                }
                _ => None,
            }
        };
        let (shifted, mask_bits, given) = of(instruction, Opcode::And)?;
        let Definition::Instruction(shift) = function.values()[shifted].definition else {
            return None;
        };
        let (source, amount, of_type) = of(shift, Opcode::Shr)?;
        let loop_of = |instruction| self.loops.innermost(self.block(instruction));
        if of_type.bits() != given.bits() || loop_of(shift) != loop_of(instruction) {
            return None;
        }
        let Entry::Known(pattern) = self.seen_from(source, self.block(shift)) else {
            return None;
        };
        let (count, low) = pattern.low_bits(&|atom| self.known(atom))?;
        let needed = u64::from(64 - mask_bits.leading_zeros()).checked_add(amount)?;
        if pattern.bits != given.bits() || needed > u64::from(count) || amount >= 64 {
            return None;
        }
        let lanes = low.map(|low| low >> amount & mask_bits);
        Some(Pattern::concrete(lanes, given.bits()).assuming(&pattern.assumed))
    }
}
