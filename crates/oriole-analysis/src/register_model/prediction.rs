//! How many registers `ptxas` is going to use.
//!
//! ## Method
//! The pressure of the PTX is not the answer: `ptxas` schedules, unrolls, rematerialises, folds and inlines first. So the
//! count is the geometric mean of `(pressure + 20) · e^t` over 25 regression trees, of which each starts from one of five
//! pressures, calls included, and gives `t` from the [`features`](super::features). They are fitted to what `ptxas` 13.0.88
//! says of half of the corpus, and of kernels made for this (`tools/record-register-counts`, `tools/vary-kernels`,
//! `tools/fit-registers`). The test `prediction` holds the mean error on the other half to 4 registers and the rank
//! correlation to 0.9. `low` and `high` hold four fifths of the counts of kernels from sources that were not fitted.
//! `docs/pressure.md` has the figures.
//!
//! ## Not done
//! Options of `ptxas` other than the defaults, and what a later version does.

use super::features::{Features, NAMES};
use std::sync::OnceLock;

/// Registers of a kernel with no pressure at all, about.
const OFFSET: f32 = 20.0;

/// A predicted register count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Prediction {
    /// Four fifths of kernels like this one have at least so many …
    pub low: u32,
    /// The best guess.
    pub best: u32,
    /// … and at most so many.
    pub high: u32,
}

enum Node {
    /// Feature, threshold, and where the right branch starts; the left one is next.
    Split(u32, f32, u32),
    Leaf(f32),
}

struct Model {
    /// The pressure a tree starts from, and the tree.
    trees: Vec<(usize, Vec<Node>)>,
    low: f32,
    high: f32,
}

fn model() -> &'static Model {
    static MODEL: OnceLock<Model> = OnceLock::new();
    MODEL.get_or_init(|| {
        parse(include_str!("prediction_model.txt"))
            .expect("the model that is built in is well formed")
    })
}

fn parse(text: &str) -> Option<Model> {
    let mut model = Model {
        trees: Vec::new(),
        low: 1.0,
        high: 1.0,
    };
    for line in text.lines() {
        let (keyword, rest) = line.split_once(' ')?;
        match keyword {
            "#" => {}
            "features" => {
                if !rest.split(' ').eq(NAMES) {
                    return None;
                }
            }
            "interval" => {
                let (low, high) = rest.split_once(' ')?;
                model.low = low.parse().ok()?;
                model.high = high.parse().ok()?;
            }
            "tree" => {
                let (base, tree) = rest.split_once(' ')?;
                let base = base.parse().ok().filter(|&base| base < NAMES.len())?;
                model.trees.push((base, parse_tree(tree)?));
            }
            _ => return None,
        }
    }
    (!model.trees.is_empty()).then_some(model)
}

fn parse_tree(text: &str) -> Option<Vec<Node>> {
    let mut nodes = Vec::new();
    // Splits whose left branch is being read.
    let mut open: Vec<usize> = Vec::new();
    let mut finished = false;
    for token in text.split(' ') {
        if finished {
            return None;
        }
        if let Some(value) = token.strip_prefix('=') {
            nodes.push(Node::Leaf(value.parse().ok()?));
            let next = nodes.len() as u32;
            match open.pop() {
                Some(split) => {
                    if let Node::Split(_, _, right) = &mut nodes[split] {
                        *right = next;
                    }
                }
                None => finished = true,
            }
        } else {
            let (feature, threshold) = token.split_once('<')?;
            let feature: u32 = feature.parse().ok()?;
            if feature as usize >= NAMES.len() {
                return None;
            }
            open.push(nodes.len());
            nodes.push(Node::Split(feature, threshold.parse().ok()?, 0));
        }
    }
    finished.then_some(nodes)
}

fn evaluate(tree: &[Node], features: &[f32]) -> f32 {
    let mut at = 0;
    loop {
        match tree[at] {
            Node::Leaf(value) => return value,
            Node::Split(feature, threshold, right) => {
                at = if features[feature as usize] <= threshold {
                    at + 1
                } else {
                    right as usize
                };
            }
        }
    }
}

/// Predicts the register count of a function.
pub fn predict(features: &Features) -> Prediction {
    let model = model();
    let sum: f32 = model
        .trees
        .iter()
        .map(|(base, tree)| {
            evaluate(tree, features.values()) + (features.values()[*base] + OFFSET).ln()
        })
        .sum();
    let guess = (sum / model.trees.len() as f32).exp();
    let count = |guess: f32| (guess.round() as u32).clamp(4, features.limit.max(4));
    let best = count(guess);
    Prediction {
        low: count(guess * model.low).min(best),
        best,
        high: count(guess * model.high).max(best),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trees_are_read_in_preorder() {
        let tree = parse_tree("0<1.5 1<2 =1 =2 2<0 =3 =4").unwrap();
        let of = |a, b, c| evaluate(&tree, &[a, b, c]);
        assert_eq!(of(1.5, 2.0, 0.0), 1.0);
        assert_eq!(of(1.0, 2.5, 0.0), 2.0);
        assert_eq!(of(2.0, 0.0, 0.0), 3.0);
        assert_eq!(of(2.0, 0.0, 1.0), 4.0);
        for wrong in ["", "=1 =2", "0<1 =1", "900<1 =1 =2", "0<x =1 =2"] {
            assert!(parse_tree(wrong).is_none(), "{wrong}");
        }
        assert_eq!(model().trees.len(), 25);
    }
}
