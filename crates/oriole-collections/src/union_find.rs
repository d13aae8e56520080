//! `UnionFind`: disjoint classes of entities, with a choice of representative.
//!
//! Parent links with path halving and union by size: practically constant time per operation, no recursion.

use crate::Entity;
use alloc::vec::Vec;
use core::marker::PhantomData;

/// Disjoint classes over entities; every entity starts alone.
#[derive(Clone, Debug)]
pub struct UnionFind<E> {
    parents: Vec<u32>,
    sizes: Vec<u32>,
    entity: PhantomData<fn(E) -> E>,
}

impl<E: Entity> UnionFind<E> {
    /// No entities yet; they come with their first use.
    pub const fn new() -> Self {
        Self {
            parents: Vec::new(),
            sizes: Vec::new(),
            entity: PhantomData,
        }
    }

    /// The entities below `count`, each alone.
    pub fn with_domain(count: usize) -> Self {
        let mut classes = Self::new();
        classes.grow(count);
        classes
    }

    fn grow(&mut self, count: usize) {
        let known = self.parents.len();
        if known < count {
            self.parents.extend(known as u32..count as u32);
            self.sizes.resize(count, 1);
        }
    }

    fn root(&mut self, index: usize) -> usize {
        self.grow(index + 1);
        let mut at = index;
        while self.parents[at] as usize != at {
            let grandparent = self.parents[self.parents[at] as usize];
            self.parents[at] = grandparent;
            at = grandparent as usize;
        }
        at
    }

    /// The representative of an entity's class.
    pub fn find(&mut self, entity: E) -> E {
        E::from_index(self.root(entity.index()))
    }

    /// The representative of an entity's class, without shortening paths.
    pub fn find_shared(&self, entity: E) -> E {
        let mut at = entity.index();
        while let Some(&parent) = self.parents.get(at)
            && parent as usize != at
        {
            at = parent as usize;
        }
        E::from_index(at)
    }

    /// Whether two entities are in one class.
    pub fn same(&mut self, a: E, b: E) -> bool {
        self.root(a.index()) == self.root(b.index())
    }

    /// Joins two classes and returns the representative: that of the larger one, of the first when they are equal.
    pub fn union(&mut self, a: E, b: E) -> E {
        let (a, b) = (self.root(a.index()), self.root(b.index()));
        if a == b {
            return E::from_index(a);
        }
        let (keep, join) = if self.sizes[a] >= self.sizes[b] {
            (a, b)
        } else {
            (b, a)
        };
        self.attach(join, keep)
    }

    /// Joins the class of `other` into that of `leader`, whose representative stays.
    pub fn union_into(&mut self, leader: E, other: E) -> E {
        let (keep, join) = (self.root(leader.index()), self.root(other.index()));
        if keep == join {
            return E::from_index(keep);
        }
        self.attach(join, keep)
    }

    fn attach(&mut self, join: usize, keep: usize) -> E {
        self.parents[join] = keep as u32;
        self.sizes[keep] += self.sizes[join];
        E::from_index(keep)
    }

    /// Number of entities in an entity's class.
    pub fn class_size(&mut self, entity: E) -> usize {
        let root = self.root(entity.index());
        self.sizes[root] as usize
    }
}

impl<E: Entity> Default for UnionFind<E> {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    crate::entity! {
        struct Value = "v";
    }

    #[test]
    fn the_leader_stays() {
        let mut classes = UnionFind::<Value>::new();
        let [a, b, c] = [1, 2, 3].map(Value::from_index);
        classes.union(b, c);
        assert_eq!(classes.union_into(a, b), a);
        assert_eq!(classes.find(c), a);
        assert_eq!(classes.class_size(b), 3);
        assert_eq!(classes.find_shared(Value::from_index(99)).index(), 99);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 1 } else { 64 }))]
        #[test]
        fn classes_agree_with_relabelling(pairs in prop::collection::vec((0usize..40, 0usize..40), 0..60)) {
            let mut classes = UnionFind::<Value>::with_domain(40);
            let mut labels: Vec<usize> = (0..40).collect();
            for (a, b) in pairs {
                classes.union(Value::from_index(a), Value::from_index(b));
                let (from, to) = (labels[b], labels[a]);
                labels.iter_mut().filter(|label| **label == from).for_each(|label| *label = to);
            }
            for a in 0..40 {
                for b in 0..40 {
                    let (x, y) = (Value::from_index(a), Value::from_index(b));
                    prop_assert_eq!(classes.same(x, y), labels[a] == labels[b]);
                    prop_assert_eq!(classes.find_shared(x) == classes.find_shared(y), labels[a] == labels[b]);
                }
                let size = labels.iter().filter(|&&label| label == labels[a]).count();
                prop_assert_eq!(classes.class_size(Value::from_index(a)), size);
            }
        }
    }
}
