//! Arrays with several subscripts, recovered from flat addresses.
//!
//! ## Example
//! `4 * (n * (8 * ctaid.y + tid.y) + 32 * ctaid.x + tid.x)` added to a pointer is `A[8 * ctaid.y + tid.y][32 * ctaid.x + tid.x]` with
//! rows of `n` elements of four bytes. `132 * tid.y + 4 * tid.x` added to a shared variable, with fewer than 33 threads along x, is
//! `tile[tid.y][tid.x]` with rows of 33.
//!
//! ## Soundness
//! Nothing here decides what an access costs: [`crate::memory_requests`] does. What is given was multiplied out again and compared with the
//! address. Subscripts assume that sums of 32 bits do not wrap where they are widened, and say so ([`Subscripts::is_assumed`]). Claims about iterations
//! do not: they use the offset from the base ([`Subscripts::offset`]), in which an extension without a proof is a leaf. That subscripts are within their
//! sizes is not shown, but for sizes that are numbers.
//!
//! ## Method
//! The address as ScalarEvolution has it is a polynomial of indices (threads, blocks, counters of loops, values) and sizes (parameters).
//! The products of sizes in its terms are the strides; each must divide the next larger one, and the quotients are the sizes (Grosser,
//! Ramanujam, Pouchet, Sadayappan and Pop, 2015). Without parameters, the coefficients of indices are strides: one that is larger than all
//! that smaller ones can add up to begins a new dimension. Answers are kept by address.
//!
//! ## Not done
//! Sizes that are sums; subscripts with quotients or bit operations, which are indices as they are.

mod dependence;
mod interchange;
mod polynomial;

pub use dependence::{Dependence, dependence};
pub use interchange::{Interchange, NestAccess, interchange};
pub use polynomial::{Factor, Polynomial, Product};

use self::polynomial::Widening;
use crate::lane_patterns::Setting;
use crate::scalar_evolution::{Expression, Kind, Leaf, Query};
use oriole_ir::{Address, Base, Environment, Function, Linkage, Symbol, SymbolKind};
use oriole_isa::{Component, Space, SpecialRegisterKind};
use std::collections::BTreeMap;
use std::rc::Rc;

/// A dimension of an array.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dimension {
    /// How many elements it has, as a product; nothing for the outermost.
    pub size: Option<Polynomial>,
    /// Which of them is accessed.
    pub subscript: Polynomial,
}

/// An access to an array.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subscripts {
    /// A pointer, or a variable.
    pub base: Expression,
    /// Whether the base is `.extern .shared`: all such arrays start at one address.
    pub starts_at_launch: bool,
    /// Bytes of an element.
    pub element: u32,
    /// The dimensions, outermost first.
    pub dimensions: Vec<Dimension>,
    /// The offset from the base in bytes, which assumes nothing.
    pub offset: Option<Polynomial>,
    /// Whether the subscripts assume that sums do not wrap.
    pub is_assumed: bool,
}

impl Subscripts {
    /// The dimensions, by number from the outermost, whose subscripts contain the number of a thread along x.
    pub fn varying_with_thread(&self, query: &Query<'_>) -> Vec<usize> {
        let is_thread = |factor: &Factor| match *factor {
            Factor::Leaf(leaf) => is_special(query, leaf, SpecialRegisterKind::Tid, Component::X),
            Factor::Counter(_) => false,
        };
        let varies = |dimension: &Dimension| {
            let mut terms = dimension.subscript.terms();
            terms.any(|(product, _)| product.iter().any(is_thread))
        };
        let dimensions = self.dimensions.iter().enumerate();
        dimensions
            .filter(|(_, dimension)| varies(dimension))
            .map(|(index, _)| index)
            .collect()
    }
}

/// The leaf that an expression is or extends.
fn extended_leaf(query: &Query<'_>, expression: Expression) -> Option<Leaf> {
    let expressions = query.expressions();
    match expressions.kind(expression) {
        Kind::SignExtend | Kind::ZeroExtend => {
            let inner = expressions.operands(expression).first()?;
            expressions.as_leaf(*inner)
        }
        _ => expressions.as_leaf(expression),
    }
}

fn is_special(
    query: &Query<'_>,
    leaf: Expression,
    kind: SpecialRegisterKind,
    component: Component,
) -> bool {
    match extended_leaf(query, leaf) {
        Some(Leaf::Special(special)) => {
            special.kind() == kind && special.component() == Some(component)
        }
        _ => false,
    }
}

/// Recovers subscripts, and keeps them.
#[derive(Debug)]
pub struct Delinearizer {
    block: [u32; 3],
    arguments: BTreeMap<Symbol, i128>,
    /// Arrays of shared memory that start behind all others, at one address.
    at_launch: Vec<Symbol>,
    known: BTreeMap<(Expression, i64, u32), Option<Rc<Subscripts>>>,
}

impl Delinearizer {
    /// For kernels that are launched so, with what parameters are, by symbol.
    pub fn new(
        function: &Function,
        environment: &Environment,
        setting: &Setting,
        arguments: BTreeMap<Symbol, i128>,
    ) -> Delinearizer {
        let symbols = function.symbols().iter();
        let is_at_launch = |kind: SymbolKind| match kind {
            SymbolKind::Global(global) => {
                let module = environment.module();
                let variable = module.and_then(|module| module.variable(global));
                variable.is_some_and(|own| {
                    own.space == Some(Space::Shared) && own.linkage == Linkage::Extern
                })
            }
            _ => false,
        };
        let at_launch = symbols.filter(|(_, data)| is_at_launch(data.kind));
        Delinearizer {
            block: setting.block,
            arguments,
            at_launch: at_launch.map(|(symbol, _)| symbol).collect(),
            known: BTreeMap::new(),
        }
    }

    /// The subscripts of an address of elements of so many bytes.
    pub fn subscripts(
        &mut self,
        query: &mut Query<'_>,
        address: Address,
        element: u32,
    ) -> Option<Rc<Subscripts>> {
        let root = match address.base {
            Base::Value(value) => query.expression(value),
            Base::Symbol(symbol) => {
                // The address of a variable itself.
                query.expressions_mut().symbol(symbol, 64)
            }
            _ => return None,
        };
        let key = (root, address.offset, element);
        if let Some(found) = self.known.get(&key) {
            return found.clone();
        }
        let found = self.recovered(query, root, address.offset, element);
        let found = found.map(Rc::new);
        self.known.insert(key, found.clone());
        found
    }

    fn recovered(
        &self,
        query: &mut Query<'_>,
        root: Expression,
        more: i64,
        element: u32,
    ) -> Option<Subscripts> {
        let fixed = |query: &Query<'_>, leaf: Expression| self.fixed(query, leaf);
        let root = query.widened(root);
        let (whole, is_assumed) =
            polynomial::of_expression(query, root, Widening::Assumed, &fixed)?;
        let base = base(query, &whole)?;
        let from_base = |whole: &Polynomial| {
            let offset = whole.subtract(&Polynomial::factor(Factor::Leaf(base)))?;
            offset.add(&Polynomial::constant(more.into()))
        };
        let offset = from_base(&whole)?;
        let size = i128::from(element.max(1));
        // In elements.
        let mut flat = Polynomial::default();
        for (product, coefficient) in offset.terms() {
            if coefficient % size != 0 {
                return None;
            }
            flat = flat.add(&Polynomial::term(product.clone(), coefficient / size))?;
        }
        let dimensions = match parametric(query, &flat)? {
            dimensions if dimensions.len() > 1 => dimensions,
            _ => self.constant(query, &flat)?,
        };
        let proved = match is_assumed {
            false => Some(offset),
            true => polynomial::of_expression(query, root, Widening::Proved, &fixed)
                .filter(|(whole, _)| self::base(query, whole) == Some(base))
                .and_then(|(whole, _)| from_base(&whole)),
        };
        let found = Subscripts {
            base,
            starts_at_launch: self.starts_at_launch(query, base),
            element,
            dimensions,
            offset: proved,
            is_assumed,
        };
        (linear(&found.dimensions)? == flat).then_some(found)
    }

    fn starts_at_launch(&self, query: &Query<'_>, base: Expression) -> bool {
        match query.expressions().as_leaf(base) {
            Some(Leaf::Symbol(symbol)) => self.at_launch.contains(&symbol),
            _ => false,
        }
    }

    /// What a leaf is, if it is a number in this launch.
    fn fixed(&self, query: &Query<'_>, leaf: Expression) -> Option<i128> {
        match query.expressions().as_leaf(leaf)? {
            Leaf::Special(special) if special.kind() == SpecialRegisterKind::Ntid => {
                let index = match special.component()? {
                    Component::X => 0,
                    Component::Y => 1,
                    Component::Z => 2,
                    Component::W => return None,
                };
                Some(self.block[index].into())
            }
            Leaf::Parameter(symbol, 0) => self.arguments.get(&symbol).copied(),
            _ => None,
        }
    }

    /// The dimensions of an array whose sizes are numbers.
    fn constant(&self, query: &mut Query<'_>, flat: &Polynomial) -> Option<Vec<Dimension>> {
        // Indices with the largest number that each can be, by stride.
        let mut strides: BTreeMap<i128, (Polynomial, Option<i128>)> = BTreeMap::new();
        for (product, coefficient) in flat.terms() {
            if product.is_empty() {
                continue;
            }
            let most = match (&product[..], coefficient > 0) {
                ([factor], true) => self.most(query, *factor),
                _ => None,
            };
            let sign = coefficient.signum();
            let entry = strides.entry(coefficient.abs());
            let entry = entry.or_insert((Polynomial::default(), Some(0)));
            entry.0 = entry.0.add(&Polynomial::term(product.clone(), sign))?;
            entry.1 = entry.1.zip(most).map(|(sum, most)| sum + most);
        }
        // Begins of dimensions, innermost first, with what is in them.
        let mut found: Vec<(i128, Polynomial)> = Vec::new();
        let mut reached = Some(0i128);
        for (&stride, (subscript, most)) in &strides {
            let begins = match found.last() {
                None => true,
                Some((inner, own)) => {
                    let is_global_index = continues(query, own, subscript);
                    stride % inner == 0
                        && reached.is_some_and(|reached| reached < stride)
                        && !is_global_index
                }
            };
            match (begins, found.last_mut()) {
                (false, Some((inner, own))) => {
                    if stride % *inner != 0 {
                        return None;
                    }
                    *own = own.add(&subscript.scale(stride / *inner)?)?;
                }
                _ => found.push((stride, subscript.clone())),
            }
            reached = reached.zip(*most).map(|(sum, most)| sum + most * stride);
        }
        // The innermost stride is one, or there is a dimension of nothing but a constant inside.
        let constant = flat.terms().find(|(product, _)| product.is_empty());
        let mut constant = constant.map_or(0, |term| term.1);
        if found.first().is_none_or(|&(stride, _)| stride != 1) {
            found.insert(0, (1, Polynomial::default()));
        }
        let mut dimensions = Vec::new();
        for index in (0..found.len()).rev() {
            let (stride, subscript) = &found[index];
            let whole = constant.div_euclid(*stride);
            constant -= whole * stride;
            let above = found.get(index + 1).map(|above| above.0 / stride);
            dimensions.push(Dimension {
                size: above.map(Polynomial::constant),
                subscript: subscript.add(&Polynomial::constant(whole))?,
            });
        }
        Some(dimensions)
    }

    /// The largest number that an index can be, if it cannot be negative.
    fn most(&self, query: &mut Query<'_>, factor: Factor) -> Option<i128> {
        match factor {
            Factor::Leaf(leaf) => {
                if let Some(Leaf::Special(special)) = query.expressions().as_leaf(leaf)
                    && special.kind() == SpecialRegisterKind::Tid
                {
                    let index = match special.component()? {
                        Component::X => 0,
                        Component::Y => 1,
                        Component::Z => 2,
                        Component::W => return Some(0),
                    };
                    return Some(i128::from(self.block[index].max(1)) - 1);
                }
                let range = query.range(leaf);
                (range.signed.low >= 0).then_some(range.signed.high.into())
            }
            Factor::Counter(header) => {
                let most = query.backedge_taken(header)?.maximum?;
                Some(most.into())
            }
        }
    }
}

/// Whether blocks go on where threads end, along the same axis: together they are one index.
fn continues(query: &Query<'_>, inner: &Polynomial, outer: &Polynomial) -> bool {
    let has = |polynomial: &Polynomial, kind, component| {
        let mut terms = polynomial.terms();
        terms.any(|(product, _)| match product[..] {
            [Factor::Leaf(leaf)] => is_special(query, leaf, kind, component),
            _ => false,
        })
    };
    let axes = [Component::X, Component::Y, Component::Z];
    axes.into_iter().any(|axis| {
        has(inner, SpecialRegisterKind::Tid, axis) && has(outer, SpecialRegisterKind::Ctaid, axis)
    })
}

/// The pointer or variable that an address starts from.
fn base(query: &Query<'_>, whole: &Polynomial) -> Option<Expression> {
    let expressions = query.expressions();
    let mut found = None;
    for (product, coefficient) in whole.terms() {
        let [Factor::Leaf(leaf)] = product[..] else {
            continue;
        };
        let is_base = match expressions.kind(leaf) {
            Kind::Symbol => true,
            Kind::Parameter => expressions.bits(leaf) == 64,
            _ => false,
        };
        if is_base {
            if coefficient != 1 || found.is_some() {
                return None;
            }
            found = Some(leaf);
        }
    }
    found
}

/// Whether a factor is a size rather than an index.
fn is_size(query: &Query<'_>, factor: Factor) -> bool {
    match factor {
        Factor::Counter(_) => false,
        Factor::Leaf(leaf) => match extended_leaf(query, leaf) {
            Some(Leaf::Parameter(..)) => true,
            Some(Leaf::Special(special)) => {
                matches!(
                    special.kind(),
                    SpecialRegisterKind::Ntid | SpecialRegisterKind::Nctaid
                )
            }
            _ => false,
        },
    }
}

/// The dimensions of an array whose sizes are parameters; one if there are none.
fn parametric(query: &Query<'_>, flat: &Polynomial) -> Option<Vec<Dimension>> {
    let mut strides: Vec<Product> = Vec::new();
    let stride_of = |product: &Product| {
        let sizes = product.iter().copied();
        sizes
            .filter(|&own| is_size(query, own))
            .collect::<Product>()
    };
    for (product, _) in flat.terms() {
        // A size alone is an index of the innermost dimension as well as a stride: only with an index it is a stride for sure.
        if product.iter().any(|&own| !is_size(query, own)) {
            strides.push(stride_of(product));
        }
    }
    strides.push(Product::new());
    strides.sort_by_key(|stride| std::cmp::Reverse(stride.len()));
    strides.dedup();
    let mut dimensions = Vec::new();
    let mut above: Option<&Product> = None;
    for stride in &strides {
        let size = match above {
            None => None,
            Some(above) => Some(Polynomial::term(quotient(above, stride)?, 1)),
        };
        let mut subscript = Polynomial::default();
        for (product, coefficient) in flat.terms() {
            let own = stride_of(product);
            let is_here = own == *stride || stride.is_empty() && !strides.contains(&own);
            if is_here {
                let rest = quotient(product, stride)?;
                subscript = subscript.add(&Polynomial::term(rest, coefficient))?;
            }
        }
        dimensions.push(Dimension { size, subscript });
        above = Some(stride);
    }
    Some(dimensions)
}

/// A product without the factors of another one, all of which it has.
fn quotient(product: &Product, by: &Product) -> Option<Product> {
    let mut rest = product.clone();
    for factor in by {
        let place = rest.iter().position(|own| own == factor)?;
        rest.remove(place);
    }
    Some(rest)
}

/// What subscripts add up to.
fn linear(dimensions: &[Dimension]) -> Option<Polynomial> {
    let mut sum = Polynomial::default();
    for dimension in dimensions {
        if let Some(size) = &dimension.size {
            sum = sum.multiply(size)?;
        }
        sum = sum.add(&dimension.subscript)?;
    }
    Some(sum)
}
