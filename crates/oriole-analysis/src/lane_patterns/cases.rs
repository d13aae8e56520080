//! Bit operations on numbers that lanes make of unknown bits that they share.
//!
//! `(tid ^ n) & 31` is, bit by bit, what `tid` has or its complement, as the bit of `n` says. Each such bit is an atom that is zero or
//! one. An operation is done for every choice of them; if the results are linear in the atoms, that is the pattern.
//!
//! ## Soundness
//! The linear combination is made of the case of no bit and those of one bit, and compared with all others. Atoms that stand for
//! what is uniform in the result must be the same in all cases.

use super::LanePatterns;
use super::evaluate::Input;
use super::pattern::{Atom, Pattern};
use oriole_ir::Value;
use oriole_isa::{Mnemonic, Opcode, ScalarType};

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
        let mut results: Vec<Pattern> = Vec::with_capacity(1 << atoms.len());
        for case in 0..1u64 << atoms.len() {
            let chosen: Vec<Input> = inputs
                .iter()
                .map(|input| Input {
                    pattern: with_bits(&input.pattern, &atoms, case),
                    value: None,
                    known: input.known,
                })
                .collect();
            results.push(self.operation(value, mnemonic, given, &chosen)?);
        }
        if self.atoms.has_conflict() {
            return None;
        }
        let first = results[0].clone();
        let mut sum = first.clone();
        for (index, &atom) in atoms.iter().enumerate() {
            let more = results[1 << index].subtract(&first)?;
            sum = sum.add(&more.multiply(&Pattern::atom(atom, first.bits))?)?;
        }
        let is_linear = results.iter().enumerate().all(|(case, result)| {
            let own = with_bits(&sum, &atoms, case as u64);
            (&own.lanes, &own.terms) == (&result.lanes, &result.terms)
        });
        is_linear.then_some(sum)
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
            for &atom in &term.monomial {
                if self.known(atom).maximum() > 1 {
                    return None;
                }
                if !atoms.contains(&atom) {
                    atoms.push(atom);
                }
            }
        }
        (1..=MOST_BITS).contains(&atoms.len()).then_some(atoms)
    }
}

/// With zeros and ones in place of atoms.
fn with_bits(pattern: &Pattern, atoms: &[Atom], case: u64) -> Pattern {
    let mut pattern = pattern.clone();
    for (index, &atom) in atoms.iter().enumerate() {
        pattern = pattern.with_atom(atom, case >> index & 1);
    }
    pattern
}
