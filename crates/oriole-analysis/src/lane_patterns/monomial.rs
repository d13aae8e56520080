//! Products of a few atoms.

use super::pattern::Atom;
use std::cmp::Ordering;
use std::ops::Deref;

/// The most atoms of a product that are kept.
const MOST_ATOMS: usize = 4;

/// A product of atoms, in order.
#[derive(Clone, Copy)]
pub struct Monomial {
    count: u32,
    /// Those behind the count are zero.
    atoms: [Atom; MOST_ATOMS],
}

impl Monomial {
    /// One.
    pub fn one() -> Monomial {
        Monomial {
            count: 0,
            atoms: [Atom::from_index(0); MOST_ATOMS],
        }
    }

    /// One atom.
    pub fn atom(atom: Atom) -> Monomial {
        let mut monomial = Monomial::one();
        monomial.atoms[0] = atom;
        monomial.count = 1;
        monomial
    }

    /// The product with an atom; nothing if it is too long.
    pub fn with(mut self, atom: Atom) -> Option<Monomial> {
        let end = self.count as usize;
        *self.atoms.get_mut(end)? = atom;
        self.count += 1;
        self.atoms[..=end].sort_unstable();
        Some(self)
    }

    /// The product; nothing if it is too long.
    pub fn times(self, other: Monomial) -> Option<Monomial> {
        other.iter().try_fold(self, |all, &atom| all.with(atom))
    }
}

impl Deref for Monomial {
    type Target = [Atom];

    #[inline]
    fn deref(&self) -> &[Atom] {
        &self.atoms[..self.count as usize]
    }
}

impl<'a> IntoIterator for &'a Monomial {
    type Item = &'a Atom;
    type IntoIter = std::slice::Iter<'a, Atom>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl std::fmt::Debug for Monomial {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self[..].fmt(formatter)
    }
}

impl PartialEq for Monomial {
    fn eq(&self, other: &Monomial) -> bool {
        (self.count, self.atoms) == (other.count, other.atoms)
    }
}

impl Eq for Monomial {}

impl PartialOrd for Monomial {
    fn partial_cmp(&self, other: &Monomial) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Monomial {
    fn cmp(&self, other: &Monomial) -> Ordering {
        self[..].cmp(&other[..])
    }
}
