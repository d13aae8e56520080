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

use super::features::{Features, NAMES};
use super::steps::step;
use std::sync::OnceLock;

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

enum Node {
    /// Feature, threshold, and where the right branch starts; the left one is next.
    Split(u32, f32, u32),
    /// A range of the model's needs.
    Leaf(u32, u32),
}

#[derive(Default)]
struct Model {
    /// The pressure a tree starts from, and the tree.
    trees: Vec<(usize, Vec<Node>)>,
    needs: Vec<Need>,
    /// Quantiles that bound the interval.
    low: f32,
    high: f32,
}

fn model() -> &'static Model {
    static MODEL: OnceLock<Model> = OnceLock::new();
    MODEL.get_or_init(|| {
        Model::parse(include_str!("prediction_model.txt"))
            .expect("the model that is built in is well formed")
    })
}

impl Model {
    fn parse(text: &str) -> Option<Model> {
        let mut model = Model::default();
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
                    let tree = model.parse_tree(tree)?;
                    model.trees.push((base, tree));
                }
                _ => return None,
            }
        }
        (!model.trees.is_empty()).then_some(model)
    }

    fn parse_tree(&mut self, text: &str) -> Option<Vec<Node>> {
        let mut nodes = Vec::new();
        // Splits whose left branch is being read.
        let mut open: Vec<usize> = Vec::new();
        let mut reader = Reader(text.as_bytes());
        loop {
            if reader.takes(b'=') {
                let start = self.needs.len() as u32;
                loop {
                    self.needs.push(Need(reader.integer()?));
                    if !reader.takes(b',') {
                        break;
                    }
                }
                nodes.push(Node::Leaf(start, self.needs.len() as u32));
                let next = nodes.len() as u32;
                let Some(split) = open.pop() else {
                    return reader.0.is_empty().then_some(nodes);
                };
                if let Node::Split(_, _, right) = &mut nodes[split] {
                    *right = next;
                }
            } else {
                let feature = u32::try_from(reader.integer()?).ok()?;
                if feature as usize >= NAMES.len() || !reader.takes(b'<') {
                    return None;
                }
                open.push(nodes.len());
                nodes.push(Node::Split(feature, reader.threshold()?, 0));
            }
            if !reader.takes(b' ') {
                return None;
            }
        }
    }

    fn leaf(&self, tree: &[Node], features: &[f32]) -> &[Need] {
        let mut at = 0;
        loop {
            match tree[at] {
                Node::Leaf(start, end) => return &self.needs[start as usize..end as usize],
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

    /// Counts and their weights, the least first.
    fn distribution(&self, features: &Features) -> Vec<(f32, f32)> {
        let mut counts: Vec<(f32, f32)> = Vec::new();
        for (base, tree) in &self.trees {
            let leaf = self.leaf(tree, features.values());
            for need in leaf {
                let count = need.factor() * (features.values()[*base] + OFFSET);
                let count = if need.fills() {
                    step(&features.steps, count) as f32
                } else {
                    count.min(features.limit as f32)
                };
                counts.push((count, 1.0 / leaf.len() as f32));
            }
        }
        counts.sort_by(|a, b| a.0.total_cmp(&b.0));
        counts
    }
}

/// What is left of the text of a tree. It is read on every start, so by bytes.
struct Reader<'text>(&'text [u8]);

impl Reader<'_> {
    fn takes(&mut self, byte: u8) -> bool {
        let is_next = self.0.first() == Some(&byte);
        self.0 = &self.0[usize::from(is_next)..];
        is_next
    }

    /// Digits, as a number, and how many they are; no more than nine.
    fn digits(&mut self) -> Option<(u32, usize)> {
        let mut number = 0u32;
        let before = self.0.len();
        while let [digit @ b'0'..=b'9', rest @ ..] = self.0 {
            number = number
                .wrapping_mul(10)
                .wrapping_add(u32::from(digit - b'0'));
            self.0 = rest;
        }
        let count = before - self.0.len();
        (count <= 9).then_some((number, count))
    }

    fn integer(&mut self) -> Option<i16> {
        let is_negative = self.takes(b'-');
        let (number, count) = self.digits()?;
        let number = i16::try_from(number).ok().filter(|_| count > 0)?;
        Some(if is_negative { -number } else { number })
    }

    /// A number up to a space or the end. Where all digits and the power of ten behind the point are exact as they are, so is their
    /// quotient.
    fn threshold(&mut self) -> Option<f32> {
        const EXACT: u32 = 1 << 24;
        const POWERS: [u32; 6] = [1, 10, 100, 1000, 10_000, 100_000];
        let mut own = Reader(self.0);
        if let Some((whole, 1..4)) = own.digits()
            && own.takes(b'.')
            && let Some((part, places)) = own.digits()
            && matches!(own.0.first(), None | Some(b' '))
            && let Some(&power) = POWERS.get(places)
            && let mantissa = whole * power + part
            && mantissa < EXACT
        {
            self.0 = own.0;
            return Some(mantissa as f32 / power as f32);
        }
        let end = self.0.iter().position(|&byte| byte == b' ');
        let (text, rest) = self.0.split_at(end.unwrap_or(self.0.len()));
        self.0 = rest;
        std::str::from_utf8(text).ok()?.parse().ok()
    }
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
    let model = model();
    let distribution = model.distribution(features);
    let count = |share: f32| {
        let count = quantile(&distribution, share).round() as u32;
        count.clamp(4, features.limit.max(4))
    };
    let best = count(0.5);
    Prediction {
        low: count(model.low).min(best),
        best,
        high: count(model.high).max(best),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trees_are_read_in_preorder() {
        let mut model = Model::default();
        let tree = model.parse_tree("0<1.5 1<2 =0 =64 2<0 =-63 =65,2").unwrap();
        let of = |a, b, c| model.leaf(&tree, &[a, b, c]);
        assert_eq!(of(1.5, 2.0, 0.0), [Need(0)]);
        assert_eq!(of(1.0, 2.5, 0.0), [Need(64)]);
        assert_eq!(of(2.0, 0.0, 0.0), [Need(-63)]);
        assert_eq!(of(2.0, 0.0, 1.0), [Need(65), Need(2)]);
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

    #[test]
    fn thresholds_are_read_as_the_library_reads_them() {
        let text = include_str!("prediction_model.txt");
        let tokens = text.split_whitespace();
        let written = tokens.filter_map(|token| Some(token.split_once('<')?.1));
        for threshold in written.chain(["0.1", "999.99999", "1", "16777217.5", "1e3", "0.000001"]) {
            let read = Reader(threshold.as_bytes()).threshold();
            assert_eq!(read, threshold.parse().ok(), "{threshold}");
        }
    }

    #[test]
    fn quantiles_are_weighted() {
        let counts = [(16.0, 1.0), (32.0, 2.0), (64.0, 1.0)];
        assert_eq!(quantile(&counts, 0.1), 16.0);
        assert_eq!(quantile(&counts, 0.5), 32.0);
        assert_eq!(quantile(&counts, 0.9), 64.0);
    }
}
