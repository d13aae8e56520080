//! Numbers of all lanes of a warp: concrete lanes plus warp-uniform unknowns with a factor for each lane.

use super::lanes::{LANES, Lanes};
use super::monomial::Monomial;
use crate::known_bits::{Known, mask, sign_extend};
use oriole_collections::SmallVec;
use oriole_ir::{Block, Symbol, Value};
use std::collections::BTreeMap;

oriole_collections::entity! {
    /// Something that is the same in all lanes of a warp, and not known.
    pub struct Atom = "atom";
}

/// What an atom stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum AtomKey {
    /// A value that is uniform.
    Value(Value),
    /// A parameter of the kernel, or a part of it: its symbol, offset and width.
    Parameter(Symbol, u32, u32),
    /// A special register, or the address of a variable.
    Symbol(Symbol),
    /// The uniform part of a value, or of one of its operands.
    Part(Value, u32),
    /// A bit of a value that is the same in all lanes.
    Bit(Value, u32),
    /// How often a loop, by its header, has gone round.
    Rounds(Block),
    /// Which warp of a block it is, along an axis.
    Warp(u32),
}

/// An atom.
#[derive(Clone, Copy, Debug)]
pub struct AtomData {
    /// What it stands for.
    pub key: AtomKey,
    /// What is known of it. As a number it is not negative: bits above its width are zero.
    pub known: Known,
    /// The block that computes it; nothing for what never changes.
    pub home: Option<Block>,
    /// The parameter of the kernel, by number, that it is, if it is all of one.
    pub parameter: Option<u32>,
}

/// All atoms of a warp.
#[derive(Debug, Default)]
pub struct Atoms {
    data: Vec<AtomData>,
    numbers: BTreeMap<AtomKey, Atom>,
    /// Whether different things were said of one atom.
    conflict: bool,
}

impl Atoms {
    /// The atom with this key, made if there is none.
    pub fn intern(&mut self, data: AtomData) -> Atom {
        let Atoms {
            data: all,
            numbers,
            conflict,
        } = self;
        let atom = *numbers.entry(data.key).or_insert_with(|| {
            all.push(data);
            Atom::from_index(all.len() - 1)
        });
        *conflict |= all[atom.index()].known != data.known;
        atom
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.data.len()
    }

    /// Forgets that different things were said of one atom.
    pub fn forget_conflict(&mut self) {
        self.conflict = false;
    }

    /// Whether different things were said of one atom since then.
    pub fn has_conflict(&self) -> bool {
        self.conflict
    }

    /// What an atom is.
    pub fn get(&self, atom: Atom) -> &AtomData {
        &self.data[atom.index()]
    }

    /// Forgets all.
    pub fn clear(&mut self) {
        let Atoms {
            data,
            numbers,
            conflict,
        } = self;
        data.clear();
        numbers.clear();
        *conflict = false;
    }
}

/// A product of atoms times a number for each lane, which is not zero in all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Term {
    /// The atoms.
    pub monomial: Monomial,
    /// The factor of each lane.
    pub factor: Lanes,
}

/// Products of atoms that are added up, by monomial.
pub type Terms = SmallVec<[Term; 2]>;

/// The most terms that are kept.
const MOST_TERMS: usize = 12;

/// Something that a pattern takes for granted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Supposed {
    /// The computation of a value does not wrap where it is widened.
    NoWrap(Value),
    /// A parameter, by number, is a multiple of what the setting says.
    Multiple(u32),
    /// All lanes leave a block the same way, each time.
    Together(Block),
    /// The division that computes a value has the same quotient in all lanes.
    SameQuotient(Value),
}

/// The numbers of a value in all lanes: `lanes + sum of terms`, modulo two to the width.
#[derive(Debug, PartialEq, Eq)]
pub struct Pattern {
    /// The width.
    pub bits: u32,
    /// The part that is known.
    pub lanes: Lanes,
    /// The part that is not, by monomial.
    pub terms: Terms,
    /// What is taken for granted, in order.
    pub assumed: SmallVec<[Supposed; 2]>,
}

/// The bits of a pattern: those that are known, by lane, and a mask of those that are unknown and the same in all lanes.
#[derive(Clone, Debug)]
pub struct BitView {
    /// Known bits; unknown ones are zero.
    pub lanes: Lanes,
    /// Unknown bits.
    pub unknown: u64,
}

impl Clone for Pattern {
    fn clone(&self) -> Pattern {
        // Most patterns have few terms and take nothing for granted.
        let mut terms = Terms::with_capacity(self.terms.len());
        for term in &self.terms {
            terms.push(term.clone());
        }
        Pattern {
            bits: self.bits,
            lanes: self.lanes.clone(),
            terms,
            assumed: SmallVec::from_slice(&self.assumed),
        }
    }
}

impl Pattern {
    /// Numbers that are known.
    pub fn concrete(lanes: Lanes, bits: u32) -> Pattern {
        Pattern {
            bits,
            lanes: lanes.masked(bits),
            terms: Terms::new(),
            assumed: SmallVec::new(),
        }
    }

    /// An atom.
    pub fn atom(atom: Atom, bits: u32) -> Pattern {
        let term = Term {
            monomial: Monomial::atom(atom),
            factor: Lanes::Same(1),
        };
        let mut terms = Terms::new();
        terms.push(term);
        Pattern {
            bits,
            lanes: Lanes::Same(0),
            terms,
            assumed: SmallVec::new(),
        }
    }

    /// A product of atoms times a number for each lane.
    pub fn term(monomial: Monomial, factor: Lanes, bits: u32) -> Pattern {
        let mut pattern = Pattern::concrete(Lanes::Same(0), bits);
        pattern.push(monomial, &factor);
        pattern
    }

    /// With a number in place of an atom.
    pub fn with_atom(&self, atom: Atom, number: u64) -> Pattern {
        let mut result = Pattern::concrete(self.lanes.clone(), self.bits);
        for term in &self.terms {
            let mut factor = term.factor.clone();
            if !term.monomial.contains(&atom) {
                result.merge(term.monomial, &factor);
                continue;
            }
            let mut monomial = Monomial::one();
            for &own in &term.monomial {
                match own == atom {
                    true => factor = factor.times(&Lanes::Same(number)),
                    // There are no more than there were.
                    false => monomial = monomial.with(own).unwrap_or(monomial),
                }
            }
            if monomial.is_empty() {
                result.lanes = result.lanes.plus(&factor).masked(self.bits);
                continue;
            }
            // Products that differ by this atom only become one.
            result.merge(monomial, &factor);
        }
        result.sort();
        result.assuming(&self.assumed)
    }

    /// The numbers of other lanes.
    pub fn permuted(&self, source: &[usize; LANES]) -> Pattern {
        let moved = |lanes: &Lanes| Lanes::from_fn(|lane| lanes.get(source[lane]));
        let mut result = Pattern::concrete(moved(&self.lanes), self.bits);
        for term in &self.terms {
            result.push(term.monomial, &moved(&term.factor));
        }
        result.assuming(&self.assumed)
    }

    /// Whether everything is known.
    pub fn is_concrete(&self) -> bool {
        self.terms.is_empty()
    }

    /// Whether all lanes have the same number.
    pub fn is_uniform(&self) -> bool {
        self.lanes.as_same().is_some() && self.has_one_group()
    }

    /// Whether lanes differ by known numbers only.
    pub fn has_one_group(&self) -> bool {
        self.terms
            .iter()
            .all(|term| term.factor.as_same().is_some())
    }

    /// With what others take for granted, too.
    #[inline]
    pub fn assuming(mut self, others: &[Supposed]) -> Pattern {
        self.assume(others);
        self
    }

    /// Takes for granted what others do, too.
    #[inline]
    pub(super) fn assume(&mut self, others: &[Supposed]) {
        for &other in others {
            if let Err(place) = self.assumed.binary_search(&other) {
                self.assumed.insert(place, other);
            }
        }
    }

    /// The low bits.
    pub fn truncate(&self, bits: u32) -> Pattern {
        let mut result = Pattern::concrete(self.lanes.clone(), bits);
        for term in &self.terms {
            result.push(term.monomial, &term.factor);
        }
        result.assume(&self.assumed);
        result
    }

    /// Adds a term, which comes behind those there are.
    fn push(&mut self, monomial: Monomial, factor: &Lanes) {
        let factor = factor.masked(self.bits);
        if factor != Lanes::Same(0) {
            self.terms.push(Term { monomial, factor });
        }
    }

    /// Puts terms in order, without those that are zero.
    pub(super) fn sort(&mut self) {
        self.terms.retain(|term| term.factor != Lanes::Same(0));
        if !self.terms.is_sorted_by_key(|term| term.monomial) {
            self.terms.sort_by_key(|term| term.monomial);
        }
    }

    /// Adds a term to the one with this product, or behind those there are.
    pub(super) fn merge(&mut self, monomial: Monomial, factor: &Lanes) {
        let bits = self.bits;
        match self.terms.iter_mut().find(|own| own.monomial == monomial) {
            Some(own) => own.factor = own.factor.plus(factor).masked(bits),
            None => self.push(monomial, factor),
        }
    }

    /// `self * left + other * right`, by lane; nothing if that has too many terms.
    fn combine(&self, left: &Lanes, other: &Pattern, right: &Lanes) -> Option<Pattern> {
        let sum = self.lanes.times(left).plus(&other.lanes.times(right));
        let mut result = Pattern::concrete(sum, self.bits);
        let (mut mine, mut theirs) = (self.terms.iter().peekable(), other.terms.iter().peekable());
        loop {
            let order = match (mine.peek(), theirs.peek()) {
                (None, None) => break,
                (Some(_), None) => std::cmp::Ordering::Less,
                (None, Some(_)) => std::cmp::Ordering::Greater,
                (Some(one), Some(two)) => one.monomial.cmp(&two.monomial),
            };
            let one = order.is_le().then(|| mine.next()).flatten();
            let two = order.is_ge().then(|| theirs.next()).flatten();
            let factor = match (one, two) {
                (Some(one), Some(two)) => one.factor.times(left).plus(&two.factor.times(right)),
                (Some(one), None) => one.factor.times(left),
                (None, Some(two)) => two.factor.times(right),
                (None, None) => break,
            };
            let monomial = one.or(two).map(|term| term.monomial)?;
            result.push(monomial, &factor);
        }
        if result.terms.len() > MOST_TERMS {
            return None;
        }
        result.assume(&self.assumed);
        result.assume(&other.assumed);
        Some(result)
    }

    /// The sum.
    pub fn add(&self, other: &Pattern) -> Option<Pattern> {
        self.combine(&Lanes::Same(1), other, &Lanes::Same(1))
    }

    /// The difference.
    pub fn subtract(&self, other: &Pattern) -> Option<Pattern> {
        self.combine(&Lanes::Same(1), other, &Lanes::Same(u64::MAX))
    }

    /// The sum with a number.
    pub fn plus(&self, number: u64) -> Pattern {
        let lanes = self.lanes.plus(&Lanes::Same(number));
        Pattern {
            lanes: lanes.masked(self.bits),
            ..self.clone()
        }
    }

    /// The product with a number for each lane.
    pub fn scale(&self, factor: &Lanes) -> Pattern {
        let mut result = Pattern::concrete(self.lanes.times(factor), self.bits);
        for term in &self.terms {
            let product = term.factor.times(factor);
            result.push(term.monomial, &product);
        }
        result.assume(&self.assumed);
        result
    }

    /// The product; nothing if that has too many terms.
    pub fn multiply(&self, other: &Pattern) -> Option<Pattern> {
        let mut result = self.scale(&other.lanes).assuming(&other.assumed);
        if self.is_concrete() {
            for term in &other.terms {
                let factor = self.lanes.times(&term.factor);
                let one = Pattern::term(term.monomial, factor, self.bits);
                result = result.add(&one)?;
            }
            return Some(result);
        }
        for term in &other.terms {
            let mut partial = Pattern::concrete(Lanes::Same(0), self.bits);
            let mut products: Vec<(Monomial, Lanes)> =
                vec![(term.monomial, self.lanes.times(&term.factor))];
            for own in &self.terms {
                let monomial = own.monomial.times(term.monomial)?;
                products.push((monomial, own.factor.times(&term.factor)));
            }
            products.sort_by_key(|own| own.0);
            for (monomial, factor) in products {
                let mut one = Pattern::concrete(Lanes::Same(0), self.bits);
                one.push(monomial, &factor);
                partial = partial.add(&one)?;
            }
            result = result.add(&partial)?;
        }
        Some(result)
    }

    /// In each lane one of two patterns: the first where a bit of the mask is set.
    pub fn select(first: u32, left: &Pattern, right: &Pattern) -> Option<Pattern> {
        let takes = |wanted: u32| Lanes::from_fn(|lane| u64::from(first >> lane & 1 == wanted));
        left.combine(&takes(1), right, &takes(0))
    }

    /// What is known of the product of each term's atoms.
    pub fn monomials_known(&self, atoms: &dyn Fn(Atom) -> Known) -> SmallVec<[Known; 8]> {
        let mut known = SmallVec::new();
        for term in &self.terms {
            known.push(self.monomial_known(term, atoms));
        }
        known
    }

    /// What is known of the product of a term's atoms.
    fn monomial_known(&self, term: &Term, atoms: &dyn Fn(Atom) -> Known) -> Known {
        let mut factors = term.monomial.iter();
        let mut factors = factors
            .by_ref()
            .map(|&atom| atoms(atom).truncate(self.bits));
        let first = factors.next().unwrap_or(Known::constant(1));
        factors.fold(first, |product, own| times(product, own, self.bits))
    }

    /// What is known of the sum of all terms in a lane, given what is of their [products](Pattern::monomials_known).
    pub fn sum_known(&self, lane: usize, monomials: &[Known]) -> Known {
        let mut known = Known::constant(0);
        for (term, &own) in self.terms.iter().zip(monomials) {
            let factor = Known::constant(term.factor.get(lane));
            known = known.add(times(factor, own, self.bits), false, self.bits);
        }
        known
    }

    /// What is known of the sum of all terms in a lane.
    pub fn symbolic_known(&self, lane: usize, atoms: &dyn Fn(Atom) -> Known) -> Known {
        let mut known = Known::constant(0);
        for term in &self.terms {
            let factor = Known::constant(term.factor.get(lane));
            let own = times(factor, self.monomial_known(term, atoms), self.bits);
            known = known.add(own, false, self.bits);
        }
        known
    }

    /// The bits, if lanes differ by known numbers only and these do not carry into what is unknown; `whole` is known of all lanes.
    pub fn bit_view(&self, whole: Known, atoms: &dyn Fn(Atom) -> Known) -> Option<BitView> {
        let view = self.own_bit_view(atoms)?;
        let known = (whole.zeros | whole.ones) & view.unknown;
        if known == 0 {
            return Some(view);
        }
        Some(BitView {
            lanes: view.lanes.map(|lane| lane | whole.ones & known),
            unknown: view.unknown & !known,
        })
    }

    fn own_bit_view(&self, atoms: &dyn Fn(Atom) -> Known) -> Option<BitView> {
        let bits = self.bits;
        if self.is_concrete() {
            return Some(BitView {
                lanes: self.lanes.clone(),
                unknown: 0,
            });
        }
        if !self.has_one_group() {
            return None;
        }
        let sum = self.symbolic_known(0, atoms);
        let unknown = |known: Known| !(known.zeros | known.ones) & mask(bits);
        if let Some(number) = self.lanes.as_same() {
            let known = sum.add(Known::constant(number), false, bits);
            return Some(BitView {
                lanes: Lanes::Same(known.ones),
                unknown: unknown(known),
            });
        }
        // The low bits that are known, and what the known number carries out of them, which must be the same in all lanes.
        let low = unknown(sum).trailing_zeros().min(bits);
        let rest = sum.ones & mask(low);
        let total = self.lanes.map(|lane| lane.wrapping_add(rest) & mask(bits));
        let high = total.map(|lane| lane & !mask(low));
        if let Some(high) = high.as_same() {
            let above = Known {
                zeros: sum.zeros | mask(low),
                ones: sum.ones & !mask(low),
            };
            let above = above.add(Known::constant(high), false, bits);
            return Some(BitView {
                lanes: total.map(|lane| lane & mask(low) | above.ones),
                unknown: unknown(above) & !mask(low),
            });
        }
        // Or the known number only fills bits that are zero.
        let fits = (0..LANES).all(|lane| self.lanes.get(lane) & !sum.zeros == 0);
        fits.then(|| BitView {
            lanes: self.lanes.map(|lane| lane | sum.ones),
            unknown: unknown(sum),
        })
    }

    /// How many of the low bits are known in each lane, and what they are, if lanes differ by known numbers only; what is above may be
    /// carried into.
    pub fn low_bits(&self, atoms: &dyn Fn(Atom) -> Known) -> Option<(u32, Lanes)> {
        if !self.has_one_group() {
            return None;
        }
        let sum = self.symbolic_known(0, atoms);
        let count = (!(sum.zeros | sum.ones)).trailing_zeros().min(self.bits);
        let low = |lane: u64| lane.wrapping_add(sum.ones & mask(count)) & mask(count);
        Some((count, self.lanes.map(low)))
    }

    /// Each lane's known part less that of the first lane, as a signed number.
    pub fn spread(&self) -> impl Fn(usize) -> i64 + '_ {
        let first = self.lanes.get(0);
        move |lane| sign_extend(self.lanes.get(lane).wrapping_sub(first), self.bits)
    }
}

/// The product, with all bits of a product with a power of two.
fn times(left: Known, right: Known, bits: u32) -> Known {
    for (one, other) in [(left, right), (right, left)] {
        if let Some(number) = one.as_constant()
            && number.is_power_of_two()
        {
            let amount = Known::constant(number.trailing_zeros().into());
            return other.shift_left(amount, bits);
        }
    }
    left.multiply(right, bits)
}
