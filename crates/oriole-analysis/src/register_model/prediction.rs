//! How many registers `ptxas` is going to use.
//!
//! ## Method
//! The pressure of the PTX is not the answer: `ptxas` schedules, unrolls, rematerialises, folds and inlines first, and then fills
//! what is left of an occupancy step (`steps.rs`). So a forest of regression trees over the [`features`](super::features)
//! predicts a distribution. Each tree starts from one of five pressures, calls included. Its leaves keep what kernels that came to
//! them needed: their need over `pressure + 20`, and whether they filled a step. Here the need is multiplied out again, and one that
//! filled a step goes to the next step of this kernel. The best guess is the median of all that; `low` and `high` are quantiles
//! that hold nine tenths of the counts of kernels from projects that were not fitted. The forest is fitted to what `ptxas`
//! 13.0.88 says (`tools/fit-registers`), for sm_80 and sm_90. `docs/pressure.md` has the figures; the test `prediction`
//! holds them on half of the corpus.
//!
//! ## Not done
//! Options of `ptxas` other than the defaults, and what a later version does.

use super::features::Features;
use super::steps::step;

include!(concat!(env!("OUT_DIR"), "/prediction_model.rs"));

/// The nodes of all trees, eight bytes each, as the build script writes them.
static NODES: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/prediction_nodes.bin"));

/// The needs of all leaves, two bytes each.
static NEEDS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/prediction_needs.bin"));

/// In place of a feature: the node is a leaf.
const LEAF: u16 = u16::MAX;

/// Registers of a kernel with no pressure at all, about.
const OFFSET: f32 = 20.0;
/// Logarithms of needs are kept as multiples of one over this.
const SCALE: f32 = 32.0;

/// A predicted register count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Prediction {
    /// Nine tenths of kernels like this one have at least so many …
    pub low: u32,
    /// The best guess.
    pub best: u32,
    /// … and at most so many.
    pub high: u32,
}

/// What a kernel of a leaf needed: twice the logarithm of that over what the pressure alone suggests, in units of one over
/// [`SCALE`], and one more if its count was a step.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Need(i16);

impl Need {
    /// Over what the pressure alone suggests.
    fn factor(self) -> f32 {
        (f32::from(self.0 >> 1) / SCALE).exp()
    }

    /// Whether its count was a step.
    fn fills(self) -> bool {
        self.0 & 1 == 1
    }
}

/// The eight bytes of a node: feature, distance of the right branch, and threshold; of a leaf the number of its needs and the first of them.
fn node(index: usize) -> (u16, u16, u32) {
    let bytes = &NODES[8 * index..][..8];
    let half = |place: usize| u16::from_le_bytes([bytes[place], bytes[place + 1]]);
    let last = u32::from(half(4)) | u32::from(half(6)) << 16;
    (half(0), half(2), last)
}

/// What kernels needed that came to the same leaf of a tree.
fn leaf(tree: usize, features: &[f32]) -> impl ExactSizeIterator<Item = Need> {
    let mut at = tree;
    loop {
        let (feature, far, last) = node(at);
        if feature == LEAF {
            let needs = &NEEDS[2 * last as usize..][..2 * usize::from(far)];
            let need = |bytes: &[u8]| Need(i16::from_le_bytes([bytes[0], bytes[1]]));
            return needs.chunks_exact(2).map(need);
        }
        let is_left = features[usize::from(feature)] <= f32::from_bits(last);
        at += if is_left { 1 } else { usize::from(far) };
    }
}

/// Counts and their weights, the least first.
fn distribution(features: &Features) -> Vec<(f32, f32)> {
    let mut counts: Vec<(f32, f32)> = Vec::new();
    for (base, tree) in TREES {
        let needs = leaf(tree, features.values());
        let weight = 1.0 / needs.len() as f32;
        for need in needs {
            let count = need.factor() * (features.values()[base] + OFFSET);
            let count = if need.fills() {
                step(&features.steps, count) as f32
            } else {
                count.min(features.limit as f32)
            };
            counts.push((count, weight));
        }
    }
    counts.sort_by(|a, b| a.0.total_cmp(&b.0));
    counts
}

/// The least count that has at least this share of the weight up to it.
fn quantile(distribution: &[(f32, f32)], share: f32) -> f32 {
    let total: f32 = distribution.iter().map(|count| count.1).sum();
    let mut sum = 0.0;
    for &(count, weight) in distribution {
        sum += weight;
        if sum >= share * total {
            return count;
        }
    }
    distribution.last().map_or(0.0, |count| count.0)
}

/// Predicts the register count of a function.
pub fn predict(features: &Features) -> Prediction {
    let distribution = distribution(features);
    let count = |share: f32| {
        let count = quantile(&distribution, share).round() as u32;
        count.clamp(4, features.limit.max(4))
    };
    let best = count(0.5);
    Prediction {
        low: count(INTERVAL[0]).min(best),
        best,
        high: count(INTERVAL[1]).max(best),
    }
}

#[cfg(test)]
mod tests {
    use super::super::features::NAMES;
    use super::super::model_text::{Model, Node};
    use super::*;

    #[test]
    fn trees_are_read_in_preorder() {
        let mut model = Model {
            features: vec![String::new(); 3],
            ..Model::default()
        };
        let tree = model.parse_tree("0<1.5 1<2 =0 =64 2<0 =-63 =65,2").unwrap();
        let expected = [
            Node::Split(0, 1.5, 4),
            Node::Split(1, 2.0, 3),
            Node::Leaf(0, 1),
            Node::Leaf(1, 2),
            Node::Split(2, 0.0, 6),
            Node::Leaf(2, 3),
            Node::Leaf(3, 5),
        ];
        assert_eq!(tree, expected);
        assert_eq!(model.needs, [0, 64, -63, 65, 2]);
        assert_eq!((Need(64).factor(), Need(64).fills()), (1f32.exp(), false));
        assert_eq!(
            (Need(-63).factor(), Need(-63).fills()),
            ((-1f32).exp(), true)
        );
        let wrong = ["", "=1 =2", "0<1 =1", "900<1 =1 =2", "0<x =1 =2", "=1,"];
        for wrong in wrong
            .into_iter()
            .chain(["=", "=40000", "0<1 =1 =2 ", "=1  =2"])
        {
            assert!(model.parse_tree(wrong).is_none(), "{wrong}");
        }
    }

    /// The tables that are built in are what the text says.
    #[test]
    fn tables_are_what_the_text_says() {
        let model = Model::parse(include_str!("prediction_model.txt")).expect("it is well formed");
        assert!(model.features.iter().eq(NAMES));
        assert_eq!(INTERVAL, [model.low, model.high]);
        assert_eq!(TREES.len(), model.trees.len());
        let mut start = 0;
        for ((base, tree), (own, nodes)) in TREES.iter().zip(&model.trees) {
            assert_eq!((base, *tree), (own, start));
            for (index, expected) in nodes.iter().enumerate() {
                let (feature, far, last) = node(start + index);
                match *expected {
                    Node::Split(own, threshold, right) => {
                        let (own, far) = (own as u16, usize::from(far));
                        assert_eq!((feature, index + far), (own, right as usize));
                        assert_eq!(last, threshold.to_bits());
                    }
                    Node::Leaf(first, end) => {
                        assert_eq!((feature, last), (LEAF, first));
                        assert_eq!(u32::from(far), end - first);
                    }
                }
            }
            start += nodes.len();
        }
        assert_eq!(NODES.len(), 8 * start);
        let needs = NEEDS.chunks_exact(2);
        let needs = needs.map(|bytes| i16::from_le_bytes([bytes[0], bytes[1]]));
        assert!(needs.eq(model.needs.iter().copied()));
    }

    #[test]
    fn quantiles_are_weighted() {
        let counts = [(16.0, 1.0), (32.0, 2.0), (64.0, 1.0)];
        assert_eq!(quantile(&counts, 0.1), 16.0);
        assert_eq!(quantile(&counts, 0.5), 32.0);
        assert_eq!(quantile(&counts, 0.9), 64.0);
    }
}
