//! Makes tables that need no reading of the model that predicts registers.
//!
//! A node takes eight bytes: its feature, how far the right branch is, and the threshold; a leaf has no feature, the number of its needs and
//! where they begin. A need takes two.

#[path = "src/register_model/model_text.rs"]
mod model_text;

use model_text::{Model, Node};
use std::fmt::Write;
use std::path::Path;

/// In place of a feature: the node is a leaf.
const LEAF: u16 = u16::MAX;

fn main() {
    let path = "src/register_model/prediction_model.txt";
    println!("cargo::rerun-if-changed={path}");
    println!("cargo::rerun-if-changed=src/register_model/model_text.rs");
    println!("cargo::rerun-if-changed=build.rs");
    let text = std::fs::read_to_string(path).expect("the model is part of the crate");
    let model = Model::parse(&text).expect("the model is well formed");
    let mut nodes: Vec<u8> = Vec::new();
    let mut trees = String::new();
    let small = |number: u32| u16::try_from(number).expect("trees are small");
    for (base, tree) in &model.trees {
        let start = nodes.len() / 8;
        let _ = write!(trees, "({base}, {start}), ");
        for (index, node) in tree.iter().enumerate() {
            let (first, second, third) = match *node {
                Node::Split(feature, threshold, right) => {
                    let far = small(right - index as u32);
                    (small(feature), far, threshold.to_bits())
                }
                Node::Leaf(start, end) => (LEAF, small(end - start), start),
            };
            nodes.extend(first.to_le_bytes());
            nodes.extend(second.to_le_bytes());
            nodes.extend(third.to_le_bytes());
        }
    }
    let needs: Vec<u8> = model
        .needs
        .iter()
        .flat_map(|need| need.to_le_bytes())
        .collect();
    let tables = format!(
        "/// The pressure a tree starts from, and its first node.\n\
         const TREES: [(usize, usize); {}] = [{}];\n\
         /// Quantiles that bound the interval.\n\
         const INTERVAL: [f32; 2] = [{:?}, {:?}];\n",
        model.trees.len(),
        trees.trim_end_matches(", "),
        model.low,
        model.high,
    );
    let folder = std::env::var("OUT_DIR").expect("cargo says where");
    let write = |name: &str, bytes: &[u8]| {
        std::fs::write(Path::new(&folder).join(name), bytes).expect("the folder can be written");
    };
    write("prediction_nodes.bin", &nodes);
    write("prediction_needs.bin", &needs);
    write("prediction_model.rs", tables.as_bytes());
}
