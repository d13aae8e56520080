//! Sums of products of factors with integer coefficients.

use crate::scalar_evolution::{Expression, Kind, Leaf, Query};
use oriole_collections::SmallVec;
use oriole_ir::Block;
use std::collections::BTreeMap;

/// A factor of a product.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Factor {
    /// How often a loop, by its header, has gone round.
    Counter(Block),
    /// An expression that is not taken apart.
    Leaf(Expression),
}

/// A product of factors, in order.
pub type Product = SmallVec<[Factor; 4]>;

/// Products with their coefficients, none of which is zero.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Polynomial {
    /// By product.
    terms: SmallVec<[(Product, i128); 2]>,
}

/// The most terms that a polynomial may have.
const MOST_TERMS: usize = 24;

impl Polynomial {
    /// A number.
    pub fn constant(number: i128) -> Polynomial {
        Polynomial::term(Product::new(), number)
    }

    /// One factor.
    pub fn factor(factor: Factor) -> Polynomial {
        Polynomial::term(Product::from_slice(&[factor]), 1)
    }

    /// A product with a coefficient.
    pub fn term(product: Product, coefficient: i128) -> Polynomial {
        let mut polynomial = Polynomial::default();
        if coefficient != 0 {
            polynomial.terms.push((product, coefficient));
        }
        polynomial
    }

    /// The terms, in order.
    pub fn terms(&self) -> impl Iterator<Item = (&Product, i128)> {
        self.terms
            .iter()
            .map(|(product, coefficient)| (product, *coefficient))
    }

    /// Whether it is zero.
    pub fn is_zero(&self) -> bool {
        self.terms.is_empty()
    }

    /// The number, if it is one.
    pub fn as_constant(&self) -> Option<i128> {
        match &self.terms[..] {
            [] => Some(0),
            [(product, number)] if product.is_empty() => Some(*number),
            _ => None,
        }
    }

    /// Whether a factor is in it.
    pub fn contains(&self, factor: Factor) -> bool {
        self.terms.iter().any(|term| term.0.contains(&factor))
    }

    /// Adds a term; nothing if its coefficient gets too large.
    fn add_term(&mut self, product: &[Factor], coefficient: i128) -> Option<()> {
        let place = self.terms.binary_search_by(|own| own.0[..].cmp(product));
        match place {
            Ok(place) => {
                let own = &mut self.terms[place].1;
                *own = own.checked_add(coefficient)?;
                if *own == 0 {
                    self.terms.remove(place);
                }
            }
            Err(_) if coefficient == 0 => {}
            Err(place) => {
                let term = (Product::from_slice(product), coefficient);
                self.terms.insert(place, term);
            }
        }
        Some(())
    }

    /// The sum; nothing if it is too large.
    pub fn add(&self, other: &Polynomial) -> Option<Polynomial> {
        let mut sum = self.clone();
        for (product, coefficient) in &other.terms {
            sum.add_term(product, *coefficient)?;
        }
        (sum.terms.len() <= MOST_TERMS).then_some(sum)
    }

    /// The product with a number; nothing if it is too large.
    pub fn scale(&self, factor: i128) -> Option<Polynomial> {
        self.multiply(&Polynomial::constant(factor))
    }

    /// The difference; nothing if it is too large.
    pub fn subtract(&self, other: &Polynomial) -> Option<Polynomial> {
        self.add(&other.scale(-1)?)
    }

    /// The product; nothing if it is too large.
    pub fn multiply(&self, other: &Polynomial) -> Option<Polynomial> {
        let mut result = Polynomial::default();
        for (left, one) in &self.terms {
            for (right, two) in &other.terms {
                let mut product = left.clone();
                product.extend_from_slice(right);
                product.sort_unstable();
                let coefficient = one.checked_mul(*two)?;
                if product.len() > 6 || coefficient.unsigned_abs() > 1 << 80 {
                    return None;
                }
                result.add_term(&product, coefficient)?;
                if result.terms.len() > MOST_TERMS {
                    return None;
                }
            }
        }
        Some(result)
    }

    /// The terms without a factor, and the factor's coefficient, if it comes in no other power than the first.
    pub fn split(&self, factor: Factor) -> Option<(Polynomial, Polynomial)> {
        let (mut rest, mut coefficient) = (Polynomial::default(), Polynomial::default());
        for (product, number) in &self.terms {
            match product.iter().filter(|&&own| own == factor).count() {
                0 => rest.terms.push((product.clone(), *number)),
                1 => {
                    let others = product.iter().copied().filter(|&own| own != factor);
                    coefficient.add_term(&others.collect::<Product>(), *number)?;
                }
                _ => return None,
            }
        }
        Some((rest, coefficient))
    }
}

/// How an extension of a sum, product or recurrence is read where no proof shows that what it extends does not wrap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Widening {
    /// As a leaf, with its own range.
    Proved,
    /// As if nothing wrapped, from 32 bits on. Narrower extensions are masks: `k & 3` extends two bits of `k`, and is not `k`.
    Assumed,
}

/// The polynomial of an expression, whose numbers are signed, and whether it assumes that sums do not wrap where they are widened.
/// [`Query::widened`] gives the expression.
pub(super) fn of_expression(
    query: &mut Query<'_>,
    root: Expression,
    widening: Widening,
    fixed: &dyn Fn(&Query<'_>, Expression) -> Option<i128>,
) -> Option<(Polynomial, bool)> {
    let expressions = query.expressions();
    if expressions.is_unknown(root) || expressions.size(root) > MOST_NODES {
        return None;
    }
    let mut done: BTreeMap<Expression, (Polynomial, bool)> = BTreeMap::new();
    for each in query.expressions().postorder(root) {
        let expressions = query.expressions();
        let operands = expressions.operands(each);
        let leaf = || (Polynomial::factor(Factor::Leaf(each)), false);
        let of = |operand: &Expression| done.get(operand).cloned();
        let found = match expressions.kind(each) {
            Kind::Constant => {
                let number = expressions.as_signed(each)?;
                (Polynomial::constant(number.into()), false)
            }
            Kind::Add => {
                let mut sum = (Polynomial::default(), false);
                for operand in operands {
                    let (own, assumed) = of(operand)?;
                    sum = (sum.0.add(&own)?, sum.1 | assumed);
                }
                sum
            }
            Kind::Multiply => {
                let mut product = (Polynomial::constant(1), false);
                for operand in operands {
                    let (own, assumed) = of(operand)?;
                    product = (product.0.multiply(&own)?, product.1 | assumed);
                }
                product
            }
            Kind::SignExtend | Kind::ZeroExtend => {
                let inner = *operands.first()?;
                let (own, assumed) = of(&inner)?;
                match kept(query, each, inner, &own) {
                    true => (own, assumed),
                    false => {
                        let expressions = query.expressions();
                        let is_whole = expressions.as_leaf(inner).is_some();
                        let is_index = expressions.bits(inner) >= 32 && !is_whole;
                        match is_index && widening == Widening::Assumed {
                            true => (own, true),
                            false => (Polynomial::factor(Factor::Leaf(each)), false),
                        }
                    }
                }
            }
            Kind::AddressCast => of(operands.first()?)?,
            Kind::Recurrence => match expressions.as_affine(each) {
                Some((header, start, step)) => {
                    let ((start, one), (step, two)) = (of(&start)?, of(&step)?);
                    let counter = Polynomial::factor(Factor::Counter(header));
                    (start.add(&step.multiply(&counter)?)?, one | two)
                }
                None => leaf(),
            },
            _ => match fixed(query, each) {
                Some(number) => (Polynomial::constant(number), false),
                None => leaf(),
            },
        };
        done.insert(each, found);
    }
    done.remove(&root)
}

/// Whether an extension is the signed number that it extends: a constant that it keeps, an address of a variable, or a leaf without a sign.
fn kept(
    query: &mut Query<'_>,
    extension: Expression,
    inner: Expression,
    polynomial: &Polynomial,
) -> bool {
    let expressions = query.expressions();
    let is_signed = expressions.kind(extension) == Kind::SignExtend;
    let bits = expressions.bits(inner);
    if let Some(number) = polynomial.as_constant() {
        return match is_signed {
            true => number >= -(1 << (bits - 1)) && number < 1 << (bits - 1),
            false => number >= 0 && number < 1 << bits,
        };
    }
    match expressions.as_leaf(inner) {
        None => false,
        Some(Leaf::Symbol(_)) => true,
        Some(_) => is_signed || query.range(inner).signed.low >= 0,
    }
}

/// Expressions with more nodes are not looked at.
const MOST_NODES: u32 = 400;
