//! Patterns in more bits.

use super::evaluate::Input;
use super::lanes::{LANES, Lanes};
use super::pattern::{Atom, Pattern, Supposed};
use super::{LanePatterns, Term};
use crate::known_bits::{Known, mask, sign_extend};
use oriole_ir::Value;
use std::rc::Rc;

/// So many times in a row what is unknown since it was widened is replaced.
const MOST_WIDENED: usize = 16;

impl LanePatterns<'_> {
    /// A pattern in more bits.
    pub(super) fn widen(
        &mut self,
        value: Value,
        slot: u32,
        input: &Input,
        to: u32,
        signed: bool,
    ) -> Option<Pattern> {
        let Input {
            pattern,
            value: source,
            known,
        } = input;
        let from = pattern.bits;
        if from >= to || to > 64 {
            return None;
        }
        let extended = |number: u64| match signed {
            true => sign_extend(number, from) as u64 & mask(to),
            false => number,
        };
        let result = if let Some(view) = pattern.bit_view(*known, &|atom| self.known(atom)) {
            let unknown = extended(view.unknown);
            let lanes = match signed {
                true => view.lanes.sign_extended(from, to),
                false => view.lanes,
            };
            let lanes = match unknown {
                0 => lanes,
                _ => lanes.map(|lane| lane & !unknown),
            };
            self.of_bits(value, slot, lanes, unknown, to)?
        } else if let Some(exact) = self.widen_bounded(pattern, to, signed) {
            exact
        } else {
            self.widen_terms(value, slot, pattern, *source, to, signed)?
        };
        if let [term] = &result.terms[..]
            && let [atom] = term.monomial[..]
            && term.factor.as_same() == Some(1)
            && pattern.has_one_group()
        {
            let rest = pattern.lanes.get(0).wrapping_sub(result.lanes.get(0)) & mask(from);
            let narrow = Pattern {
                lanes: Lanes::Same(rest),
                ..pattern.as_ref().clone()
            };
            self.narrow.insert(atom, Rc::new(narrow));
        }
        Some(result.assuming(&pattern.assumed))
    }

    /// The low bits of a pattern, with what numbers were before they were widened in place of what is unknown of them since.
    pub fn low_bits(&self, pattern: &Pattern, bits: u32) -> Option<Pattern> {
        let mut low = pattern.truncate(bits);
        // Each step replaces atoms by those of values they were computed from.
        for _ in 0..MOST_WIDENED {
            let is_widened = |atom: &Atom| self.narrow.get(atom).is_some_and(|it| it.bits >= bits);
            if !low
                .terms
                .iter()
                .any(|term| term.monomial.iter().any(is_widened))
            {
                return Some(low);
            }
            let mut next = Pattern::concrete(low.lanes.clone(), bits).assuming(&low.assumed);
            for term in &low.terms {
                let mut product = Pattern::concrete(term.factor.clone(), bits);
                for atom in &term.monomial {
                    product = match self.narrow.get(atom).filter(|_| is_widened(atom)) {
                        Some(narrow) => product.multiply(&narrow.truncate(bits))?,
                        None => product.multiply(&Pattern::atom(*atom, bits))?,
                    };
                }
                next = next.add(&product)?;
            }
            low = next;
        }
        None
    }

    /// A pattern in more bits, term by term, if no lane's number wraps.
    fn widen_terms(
        &mut self,
        value: Value,
        slot: u32,
        pattern: &Pattern,
        source: Option<Value>,
        to: u32,
        signed: bool,
    ) -> Option<Pattern> {
        let from = pattern.bits;
        let widened = |known: Known| match signed {
            true => known.sign_extend(from, to),
            false => known.truncate(from),
        };
        // What is the same in all lanes is one number, the rest of the first lane included.
        let uniform = Pattern {
            lanes: Lanes::Same(pattern.lanes.get(0)),
            terms: pattern.terms.clone(),
            ..pattern.clone()
        };
        let mut uniform = uniform;
        uniform.terms.retain(|term| term.factor.as_same().is_some());
        let symbolic = uniform.symbolic_known(0, &|atom| self.known(atom));
        let number = uniform.lanes.get(0);
        let base = symbolic.add(Known::constant(number), false, from);
        let spread = pattern.spread();
        let lanes = Lanes::from_fn(|lane| spread(lane) as u64 & mask(to));
        let mut result = Pattern::concrete(lanes, to);
        let base = self.part(value, slot, widened(base), to);
        result = result.add(&base)?;
        for (index, term) in pattern.terms.iter().enumerate() {
            if term.factor.as_same().is_some() {
                continue;
            }
            let mut one = Pattern::concrete(Lanes::Same(0), from);
            one.terms.push(Term {
                monomial: term.monomial,
                factor: Lanes::Same(1),
            });
            let known = one.symbolic_known(0, &|atom| self.known(atom));
            let parameter = match term.monomial[..] {
                [atom] => self.parameter_of(atom),
                _ => None,
            };
            let slot = slot + 1 + index as u32;
            let part = self.part_of(value, slot, widened(known), to, parameter);
            let factor = term.factor.sign_extended(from, to);
            result = result.add(&part.scale(&factor))?;
        }
        let proved = pattern.has_one_group() && self.is_within(pattern, source, signed);
        Some(match proved {
            true => result,
            false => result.assuming(&[Supposed::NoWrap(value)]),
        })
    }

    /// Whether the range of a value shows that its lanes differ, as integers, by what they differ by modulo two to the width.
    fn is_within(&mut self, pattern: &Pattern, source: Option<Value>, signed: bool) -> bool {
        let Some(range) = source.and_then(|source| self.query.value_range(source)) else {
            return false;
        };
        let width = match signed {
            true => i128::from(range.signed.high) - i128::from(range.signed.low),
            false => i128::from(range.unsigned.high) - i128::from(range.unsigned.low),
        };
        let spread = pattern.spread();
        let largest = (0..LANES).map(|lane| i128::from(spread(lane)).abs()).max();
        range.bits() == pattern.bits && width + largest.unwrap_or(0) < 1 << pattern.bits
    }

    /// A pattern in more bits, if the largest numbers that its atoms may be show that it does not wrap.
    fn widen_bounded(&self, pattern: &Pattern, to: u32, signed: bool) -> Option<Pattern> {
        let from = pattern.bits;
        let constant = |number: u64| match signed {
            true => i128::from(sign_extend(number, from)),
            false => i128::from(number),
        };
        let most: Vec<i128> = pattern
            .terms
            .iter()
            .map(|term| {
                let product = |product: i128, atom| {
                    product.checked_mul(i128::from(self.known(atom).truncate(from).maximum()))
                };
                term.monomial.iter().copied().try_fold(1, product)
            })
            .collect::<Option<_>>()?;
        let range = match signed {
            true => -(1i128 << (from - 1))..1i128 << (from - 1),
            false => 0..1i128 << from,
        };
        for lane in 0..LANES {
            let start = constant(pattern.lanes.get(lane));
            let (mut low, mut high) = (start, start);
            for (term, &most) in pattern.terms.iter().zip(&most) {
                let factor = i128::from(sign_extend(term.factor.get(lane), from));
                let end = factor.checked_mul(most)?;
                low = low.checked_add(end.min(0))?;
                high = high.checked_add(end.max(0))?;
            }
            if !range.contains(&low) || !range.contains(&high) {
                return None;
            }
        }
        let lanes = match signed {
            true => pattern.lanes.sign_extended(from, to),
            false => pattern.lanes.clone(),
        };
        let mut result = Pattern::concrete(lanes, to);
        for term in &pattern.terms {
            let factor = term.factor.sign_extended(from, to);
            result = result.add(&Pattern::term(term.monomial, factor, to))?;
        }
        Some(result)
    }
}
