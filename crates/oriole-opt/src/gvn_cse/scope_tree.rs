//! A set of blocks: nodes of 256 bits each, in order of their first block.
//!
//! Long runs of blocks without anything to do cost nothing, and the blocks come out in order.

use std::collections::BTreeMap;

/// Blocks, by number.
#[derive(Debug, Default)]
pub(super) struct ScopeTree {
    nodes: BTreeMap<u32, [u64; 4]>,
}

impl ScopeTree {
    /// Adds a block.
    pub fn insert(&mut self, block: u32) {
        let node = self.nodes.entry(block >> 8).or_default();
        node[(block >> 6 & 3) as usize] |= 1 << (block & 63);
    }

    /// Takes out the blocks, in order.
    pub fn drain(self) -> impl Iterator<Item = u32> {
        self.nodes.into_iter().flat_map(|(group, words)| {
            (0..4u32).flat_map(move |word| {
                let mut bits = words[word as usize];
                std::iter::from_fn(move || {
                    let bit = (bits != 0).then(|| bits.trailing_zeros())?;
                    bits &= bits - 1;
                    Some(group << 8 | word << 6 | bit)
                })
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_come_out_once_and_in_order() {
        let mut tree = ScopeTree::default();
        for block in [70_000, 3, 255, 256, 64, 63, 3, 0, 511] {
            tree.insert(block);
        }
        let blocks: Vec<u32> = tree.drain().collect();
        assert_eq!(blocks, [0, 3, 63, 64, 255, 256, 511, 70_000]);
    }
}
