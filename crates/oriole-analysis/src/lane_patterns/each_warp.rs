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
use super::{ANY_WARP, Entry, LanePatterns, any_warp};
use oriole_collections::BitSet;
use oriole_ir::Value;
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
        let is_of_all: Vec<bool> = (0..self.atoms.len())
            .map(|index| self.is_exact_atom(Atom::from_index(index)))
            .collect();
        let mut exact = BitSet::with_domain(self.entries.len());
        for (index, entry) in self.entries.iter().enumerate() {
            let Some(Entry::Known(pattern)) = entry else {
                continue;
            };
            let mut atoms = pattern.terms.iter().flat_map(|term| &term.monomial);
            if pattern.assumed.is_empty() && atoms.all(|atom| is_of_all[atom.index()]) {
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

    /// Whether an atom is the number of a warp, or no such number is in it.
    fn is_exact_atom(&self, atom: Atom) -> bool {
        match self.atom_key(atom) {
            // What rounds of a loop add is the same in all warps.
            AtomKey::Warp(_) | AtomKey::Part(_, ROUNDS) => true,
            _ => self.is_atom_of_all_warps(atom, any_warp::DEEPEST),
        }
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
