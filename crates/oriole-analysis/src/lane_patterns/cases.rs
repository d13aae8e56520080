//! Bit operations on numbers that lanes make of unknown bits that they share.
//!
//! `(tid ^ n) & 31` is, bit by bit, what `tid` has or its complement, as the bit of `n` says. Each such bit is an atom that is zero or
//! one. An operation is done without them and with each of them alone; the pattern is linear in them.
//!
//! ## Soundness
//! In each lane every atom must change bits of its own, none of which the uniform part has, so that no sum carries; then every bit of the
//! result, which depends on bits of one place or is a copy of one bit, depends on one atom at most, and the result is that without
//! any atom plus what each of them changes. Atoms that stand for what is uniform in the result must be the same in all cases.

use super::LanePatterns;
use super::evaluate::Input;
use super::lanes::LANES;
use super::pattern::{Atom, Pattern};
use crate::known_bits::Known;
use oriole_ir::Value;
use oriole_isa::{Mnemonic, Opcode, ScalarType};
use std::rc::Rc;

/// So many bits are tried both ways.
const MOST_BITS: usize = 5;

impl LanePatterns<'_> {
    /// The pattern of an operation on bits, some of which are atoms.
    pub(super) fn by_cases(
        &mut self,
        value: Value,
        mnemonic: &Mnemonic,
        given: ScalarType,
        inputs: &[Input],
    ) -> Option<Pattern> {
        let atoms = self.shared_bits(mnemonic, inputs)?;
        self.atoms.forget_conflict();
        // Without any atom, and with each of them alone.
        let mut results: Vec<Pattern> = Vec::with_capacity(1 + atoms.len());
        for case in std::iter::once(None).chain(atoms.iter().copied().map(Some)) {
            let chosen: Vec<Input> = inputs
                .iter()
                .map(|input| Input {
                    pattern: Rc::new(with_bits(&input.pattern, &atoms, case)),
                    value: None,
                    known: Known::unknown(input.pattern.bits),
                })
                .collect();
            results.push(self.operation(value, mnemonic, given, &chosen)?);
        }
        if self.atoms.has_conflict() {
            return None;
        }
        let first = results[0].clone();
        let mut sum = first.clone();
        for (&atom, result) in atoms.iter().zip(&results[1..]) {
            let more = result.subtract(&first)?;
            sum = sum.add(&more.multiply(&Pattern::atom(atom, first.bits))?)?;
        }
        Some(sum)
    }

    /// The bits that lanes make different things of, if an operation is one on bits and they are few.
    fn shared_bits(&self, mnemonic: &Mnemonic, inputs: &[Input]) -> Option<Vec<Atom>> {
        use Opcode::{And, Bfe, Bfi, Div, Lop3, Not, Or, Prmt, Rem, Shf, Shr, Xor};
        let is_known = matches!(
            mnemonic.opcode(),
            And | Or | Xor | Not | Lop3 | Shr | Bfe | Bfi | Prmt | Shf | Div | Rem
        );
        if !is_known {
            return None;
        }
        let mut atoms: Vec<Atom> = Vec::new();
        for term in inputs.iter().flat_map(|input| &input.pattern.terms) {
            if term.factor.as_same().is_some() {
                continue;
            }
            let [atom] = term.monomial[..] else {
                return None;
            };
            if self.known(atom).maximum() > 1 {
                return None;
            }
            if !atoms.contains(&atom) {
                atoms.push(atom);
            }
        }
        let is_few = (1..=MOST_BITS).contains(&atoms.len());
        (is_few && self.is_apart(&atoms, inputs)).then_some(atoms)
    }

    /// Whether in each lane every atom changes bits of its own, and none that the uniform part of an operand may have.
    fn is_apart(&self, atoms: &[Atom], inputs: &[Input]) -> bool {
        let mut changed = [[0u64; LANES]; MOST_BITS];
        for input in inputs {
            let base = with_bits(&input.pattern, atoms, None);
            let uniform = base.symbolic_known(0, &|atom| self.known(atom));
            if !base.has_one_group() {
                return false;
            }
            for (index, &atom) in atoms.iter().enumerate() {
                let own = with_bits(&input.pattern, atoms, Some(atom));
                for (lane, changed) in changed[index].iter_mut().enumerate() {
                    let bits = own.lanes.get(lane) ^ base.lanes.get(lane);
                    *changed |= bits;
                    if (bits | base.lanes.get(lane)) & !uniform.zeros != 0 {
                        return false;
                    }
                }
            }
        }
        (0..LANES).all(|lane| {
            let mut all = 0;
            changed.iter().all(|bits| {
                let is_own = all & bits[lane] == 0;
                all |= bits[lane];
                is_own
            })
        })
    }
}

/// With one in place of one of the atoms, and zero in place of the others.
fn with_bits(pattern: &Pattern, atoms: &[Atom], one: Option<Atom>) -> Pattern {
    let mut pattern = pattern.clone();
    for &atom in atoms {
        pattern = pattern.with_atom(atom, u64::from(one == Some(atom)));
    }
    pattern
}
