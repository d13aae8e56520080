//! `a*b + a*c → a*(b + c)`, where that takes fewer instructions.
//!
//! Products are those that `mad` adds and those of multiplications, shifts included, that only the sum reads. The summands
//! that share the factor become one product of it and of the sum of what it was multiplied by; constants among those are
//! added at once, and the factor itself counts once.

use super::tree::{Leaf, Source, Term, Terms};
use super::{Node, Reassociation};
use crate::associative::{integer, mask, power};
use oriole_ir::arithmetic::{Family, Operation};
use oriole_ir::{Block, Editor, Function, Instruction, Operand, Value};

/// Summands that share a factor.
pub(super) struct Distribution {
    factor: Value,
    /// What the factor is multiplied by.
    sum: Terms,
    /// The summands, by their positions in order.
    members: Vec<usize>,
    /// Multiplications nobody needs then.
    unneeded: Vec<Instruction>,
}

/// A product with a value as factor.
#[derive(Clone, Copy)]
struct Product {
    factor: Value,
    other: Result<Value, u64>,
    term: usize,
    multiplication: Option<Instruction>,
}

impl Reassociation {
    /// The products among the leaves, once for each of their factors.
    fn products(&self, function: &Function, block: Block, node: Node) -> Vec<Product> {
        let mut products = Vec::new();
        for index in 0..self.terms.terms.len() {
            let (factors, multiplication) = match self.terms.terms[index].leaf {
                Leaf::Product(one, other) => ([Ok(one), Ok(other)], None),
                Leaf::Scaled(value, factor) => ([Ok(value), Err(factor)], None),
                Leaf::Value(value) => {
                    let found = self.inner(function, block, value, Family::Mul, node.bits);
                    let Some((definer, inner)) = found else {
                        continue;
                    };
                    let leaves = function.leaves(definer);
                    let mut factors = [leaves[1], leaves[2]].map(|leaf| match leaf {
                        Operand::Value(value) => Ok(value),
                        _ => Err(integer(function, leaf).expect("nodes read values and integers")),
                    });
                    if let (Operation::Shl, Err(amount)) = (inner.operation, factors[1]) {
                        factors[1] = Err(power(amount, node.bits));
                    }
                    (factors, Some(definer))
                }
            };
            let mut enter = |factor: Result<Value, u64>, other| {
                if let Ok(factor) = factor {
                    products.push(Product {
                        factor,
                        other,
                        term: index,
                        multiplication,
                    });
                }
            };
            enter(factors[0], factors[1]);
            if factors[0] != factors[1] {
                enter(factors[1], factors[0]);
            }
        }
        products
    }

    /// The best distribution for the leaves, if one pays.
    pub(super) fn find_distribution(
        &self,
        function: &Function,
        block: Block,
        node: Node,
    ) -> Option<Distribution> {
        let mut products = self.products(function, block, node);
        if products.is_empty() {
            return None;
        }
        products.sort_by_key(|product| {
            let facts = &self.facts[product.factor.index()];
            (facts.place, facts.index, product.term)
        });
        // A factor with most products, the one defined first if there are several.
        let mut best = 0..0;
        let mut start = 0;
        while start < products.len() {
            let factor = products[start].factor;
            let count = products[start..]
                .iter()
                .take_while(|product| product.factor == factor)
                .count();
            if count > best.len() {
                best = start..start + count;
            }
            start += count;
        }
        // One product needs the factor itself as another summand.
        if best.len() == 1 {
            let lonely = products.iter().position(|product| {
                self.terms
                    .terms
                    .iter()
                    .any(|term| term.leaf == Leaf::Value(product.factor))
            })?;
            best = lonely..lonely + 1;
        }
        let distribution = self.gather(&products[best], node.bits);
        let before = self.terms.cost() + distribution.unneeded.len();
        (self.cost_of(&distribution, node.bits) < before).then_some(distribution)
    }

    fn gather(&self, products: &[Product], bits: u32) -> Distribution {
        let factor = products[0].factor;
        let mut distribution = Distribution {
            factor,
            sum: Terms::default(),
            members: Vec::new(),
            unneeded: Vec::new(),
        };
        let sign = |constant: u64, negative: bool| {
            let signed = if negative {
                constant.wrapping_neg()
            } else {
                constant
            };
            signed & mask(bits)
        };
        for product in products {
            let negative = self.terms.terms[product.term].negative;
            match product.other {
                Ok(value) => distribution.sum.terms.push(Term {
                    rank: self.rank(value, Family::Add, bits),
                    leaf: Leaf::Value(value),
                    negative,
                }),
                Err(constant) => distribution.sum.constants.push(sign(constant, negative)),
            }
            distribution.members.push(product.term);
            distribution.unneeded.extend(product.multiplication);
        }
        for (index, term) in self.terms.terms.iter().enumerate() {
            if term.leaf == Leaf::Value(factor) {
                distribution.sum.constants.push(sign(1, term.negative));
                distribution.members.push(index);
            }
        }
        distribution.members.sort_unstable();
        distribution.members.dedup();
        distribution.sum.canonicalize(Family::Add, bits, true);
        distribution
    }

    /// The product of the factor and the sum as a leaf, if the sum takes no instruction.
    fn simple_leaf(&self, distribution: &Distribution) -> Option<Option<Leaf>> {
        let factor = distribution.factor;
        match (
            distribution.sum.terms.as_slice(),
            distribution.sum.constants.as_slice(),
        ) {
            ([], []) => Some(None),
            ([], [1]) => Some(Some(Leaf::Value(factor))),
            ([], &[constant]) => Some(Some(Leaf::Scaled(factor, constant))),
            (
                &[
                    Term {
                        leaf: Leaf::Value(other),
                        negative: false,
                        ..
                    },
                ],
                [],
            ) => Some(Some(Leaf::Product(factor, other))),
            _ => None,
        }
    }

    /// How many instructions the tree takes after a distribution.
    fn cost_of(&self, distribution: &Distribution, bits: u32) -> usize {
        let mut after = self.without(distribution);
        let sum = match self.simple_leaf(distribution) {
            Some(None) => 0,
            Some(Some(leaf)) => {
                after.terms.push(self.term(leaf, bits));
                0
            }
            None => {
                // Which value it is going to be does not matter.
                let leaf = Leaf::Product(distribution.factor, distribution.factor);
                after.terms.push(self.term(leaf, bits));
                distribution.sum.cost()
            }
        };
        after.cost() + sum
    }

    fn term(&self, leaf: Leaf, bits: u32) -> Term {
        let rank = match leaf {
            Leaf::Value(value) | Leaf::Product(value, _) | Leaf::Scaled(value, _) => {
                self.rank(value, Family::Add, bits)
            }
        };
        Term {
            rank,
            leaf,
            negative: false,
        }
    }

    /// The leaves without those that share the factor.
    fn without(&self, distribution: &Distribution) -> Terms {
        let mut members = distribution.members.iter().copied().peekable();
        let rest = self.terms.terms.iter().enumerate();
        Terms {
            terms: rest
                .filter(|(index, _)| members.next_if_eq(index).is_none())
                .map(|(_, &term)| term)
                .collect(),
            constants: self.terms.constants.clone(),
        }
    }

    /// Computes the sum before the root, and puts the product in place of the summands.
    pub(super) fn distribute(
        &mut self,
        editor: &mut Editor<'_>,
        root: Instruction,
        node: Node,
        distribution: Distribution,
    ) {
        let mut after = self.without(&distribution);
        let product = match self.simple_leaf(&distribution) {
            Some(leaf) => leaf,
            None => {
                let mut steps = Vec::new();
                distribution.sum.steps(Family::Add, node.bits, &mut steps);
                let result = editor
                    .function()
                    .results(root)
                    .next()
                    .expect("nodes have a result");
                let scalar_type = editor.function().values()[result].scalar_type;
                let mut previous = None;
                for step in steps {
                    let (format, operands, count) =
                        self.operands(editor, step, node.bits, previous);
                    let made =
                        editor.insert_before(root, format, &operands[..count], &[scalar_type]);
                    let value = editor
                        .function()
                        .results(made)
                        .next()
                        .expect("one result was asked for");
                    self.enter(made, value, self.places[root.index()]);
                    for source in step.sources() {
                        if let Source::Value(value) = source {
                            self.facts[value.index()].uses += 1;
                        }
                    }
                    previous = Some(value);
                }
                let sum = previous.expect("a sum that takes no instruction is a leaf");
                Some(Leaf::Product(distribution.factor, sum))
            }
        };
        if let Some(leaf) = product {
            after.terms.push(self.term(leaf, node.bits));
        }
        self.terms = after;
        // Multiplications stay until the tree is rebuilt without them; they are its nodes from now on.
        for multiplication in distribution.unneeded {
            self.taken.insert(multiplication);
            self.nodes.push(multiplication);
        }
    }
}
