//! Patterns of one warp, had from those of any warp.
//!
//! ## Example
//! Of `threadIdx.y * 128 + threadIdx.x * 4`, in blocks of 32x8 threads, it is known for any warp that it is `[warp] * 128 + (0, 4, 8, …)`: in
//! warp 3 it is `384 + (0, 4, 8, …)`. Nothing that it is computed from has to be looked at again.
//!
//! ## Soundness
//! What was found for any warp holds for each of them, with its number in place of that of any. It is taken only where nothing more can be known
//! of one: where a pattern is exact, and no other unknown in it depends on which warp it is. The questions about any warp must
//! have been answered without taking anything for granted of loops, and under the same conditions.

use super::joins::ROUNDS;
use super::lanes::{LANES, Lanes};
use super::monomial::Monomial;
use super::pattern::{Atom, AtomKey, Atoms, Pattern};
use super::{ANY_WARP, Entry, LanePatterns};
use oriole_collections::BitSet;
use oriole_ir::{Definition, Value};
use oriole_isa::Component;
use std::rc::Rc;

/// What was found for any warp.
pub(super) struct OfAnyWarp {
    entries: Vec<Option<Entry>>,
    atoms: Atoms,
    /// Values whose patterns are those of each warp, but for its number.
    exact: BitSet<Value>,
    /// By atom: the one that stands for it in the warp that is asked about, once that was needed.
    translated: Vec<Option<Atom>>,
}

impl LanePatterns<'_> {
    /// Whether answers hold in all rounds of loops and wherever variables lie, and take nothing for granted of loops.
    pub(super) fn is_answered_plainly(&self) -> bool {
        self.given.is_empty() && self.placed.is_none() && self.shown_by.is_empty()
    }

    /// Before another warp is asked about: keeps what was found for any.
    pub(super) fn keep_any_warp(&mut self) {
        if self.warp != ANY_WARP || !self.is_plain {
            return;
        }
        // What an atom is made of comes before it, but for what loops go round with, which is left alone.
        let mut is_of_all = Vec::with_capacity(self.atoms.len());
        for index in 0..self.atoms.len() {
            let own = self.is_of_each_warp(Atom::from_index(index), &is_of_all);
            is_of_all.push(own);
        }
        let is_exact = |atom: Atom| match self.atom_key(atom) {
            // What rounds of a loop add is the same in all warps.
            AtomKey::Warp(_) | AtomKey::Part(_, ROUNDS) => true,
            _ => is_of_all[atom.index()],
        };
        let mut exact = BitSet::with_domain(self.entries.len());
        for (index, entry) in self.entries.iter().enumerate() {
            let Some(Entry::Known(pattern)) = entry else {
                continue;
            };
            let mut atoms = pattern.terms.iter().flat_map(|term| &term.monomial);
            if pattern.assumed.is_empty() && atoms.all(|&atom| is_exact(atom)) {
                exact.insert(Value::from_index(index));
            }
        }
        self.of_any = Some(Box::new(OfAnyWarp {
            entries: std::mem::take(&mut self.entries),
            translated: vec![None; self.atoms.len()],
            atoms: std::mem::take(&mut self.atoms),
            exact,
        }));
    }

    /// Whether no warp's number is in an atom, given of which of those before it that is so.
    fn is_of_each_warp(&self, atom: Atom, before: &[bool]) -> bool {
        let (AtomKey::Value(value) | AtomKey::Part(value, _) | AtomKey::Bit(value, _)) =
            self.atom_key(atom)
        else {
            return !matches!(self.atom_key(atom), AtomKey::Warp(_));
        };
        if self.uniformity.is_uniform(value) {
            return true;
        }
        let Definition::Instruction(instruction) = self.function.values()[value].definition else {
            return false;
        };
        let is_of_all = |atom: &Atom| before.get(atom.index()) == Some(&true);
        self.is_evaluated(instruction)
            && self.function.uses(instruction).all(|used| {
                let entry = self.entries[used.index()].as_ref();
                let pattern = entry.and_then(Entry::pattern);
                pattern.is_some_and(|pattern| {
                    let mut atoms = pattern.terms.iter().flat_map(|term| &term.monomial);
                    atoms.all(is_of_all)
                })
            })
            && self.has_uniform_symbols(instruction)
    }

    /// Forgets what stands for atoms of any warp.
    pub(super) fn forget_translated(&mut self) {
        if let Some(any) = &mut self.of_any {
            any.translated.fill(None);
        }
    }

    /// What a value is in the warp that is asked about, if what it is in any warp says so.
    pub(super) fn by_any_warp(&mut self, value: Value) -> Option<Entry> {
        let any = self.of_any.as_deref_mut()?;
        if !any.exact.contains(value) || self.warp == ANY_WARP || !self.given.is_empty() {
            return None;
        }
        let Entry::Known(pattern) = any.entries[value.index()].as_ref()? else {
            return None;
        };
        if pattern.is_concrete() {
            return Some(Entry::Known(Rc::clone(pattern)));
        }
        let mut result = Pattern::concrete(pattern.lanes.clone(), pattern.bits);
        for term in &pattern.terms {
            let mut factor = term.factor.clone();
            let mut monomial = Monomial::one();
            for &atom in &term.monomial {
                let data = any.atoms.get(atom);
                if let AtomKey::Warp(axis) = data.key {
                    let number = number_of(self.setting.block, self.warp, axis);
                    factor = factor.times(&Lanes::Same(number));
                    continue;
                }
                let place = &mut any.translated[atom.index()];
                let own = *place.get_or_insert_with(|| self.atoms.intern(*data));
                monomial = monomial.with(own)?;
            }
            match monomial.is_empty() {
                true => result.lanes = result.lanes.plus(&factor).masked(result.bits),
                false => result.merge(monomial, &factor),
            }
        }
        result.sort();
        Some(Entry::Known(Rc::new(result)))
    }
}

/// The number of a warp along an axis: what [`AtomKey::Warp`] is in it.
fn number_of(block: [u32; 3], warp: u32, axis: u32) -> u64 {
    let [x, y, _] = block.map(|size| size.max(1));
    let lanes = LANES as u32;
    let thread = warp * lanes;
    let rows = (lanes / x).max(1);
    let layers = (rows / y).max(1);
    let number = match axis {
        axis if axis == Component::X as u32 => thread % x / lanes,
        axis if axis == Component::Y as u32 => thread / x % y / rows,
        _ => thread / (x * y) / layers,
    };
    number.into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lane_patterns::Setting;
    use oriole_isa::LaunchLimits;

    #[test]
    fn numbers_of_warps_are_those_of_their_first_threads() {
        let blocks = [
            [256, 1, 1],
            [64, 4, 1],
            [32, 8, 1],
            [16, 16, 1],
            [8, 8, 4],
            [4, 2, 32],
            [128, 2, 2],
        ];
        for block in blocks {
            let setting = Setting::of_block(block, LaunchLimits::UNKNOWN);
            assert!(setting.has_like_warps(), "{block:?}");
            let [x, y, _] = block;
            let rows = (32 / x).max(1);
            let steps = [32, rows, (rows / y).max(1)];
            for warp in 0..setting.warps() {
                let thread = 32 * warp;
                let places = [thread % x, thread / x % y, thread / (x * y)];
                let axes = [Component::X, Component::Y, Component::Z];
                for ((axis, step), place) in axes.into_iter().zip(steps).zip(places) {
                    let number = number_of(block, warp, axis as u32);
                    assert_eq!(
                        number * u64::from(step),
                        u64::from(place),
                        "{block:?} {warp}"
                    );
                }
            }
        }
    }
}
