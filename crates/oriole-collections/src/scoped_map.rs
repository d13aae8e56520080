//! `ScopedMap`: a map that follows a depth-first walk of the dominator tree.
//!
//! Entering a block opens a scope. Leaving it closes the scope, and everything inserted in it disappears; an entry of an
//! enclosing scope stays visible. A value found to be available further up (because it was hoisted, say) can be inserted at
//! that outer depth.
//!
//! Each open scope has a number that is never used again. An entry whose scope's number is no longer the open one at its
//! depth is dead and counts as missing. Closing a scope only counts its dead entries; once they take a quarter of the
//! buckets, one pass removes and drops them all. So closing takes constant time for each entry inserted, and memory stays
//! in proportion to the largest number of entries visible at once.

use crate::{DenseKey, DenseMap, Lookup};
use alloc::vec;
use alloc::vec::Vec;

#[derive(Clone, Debug)]
struct Scoped<V> {
    value: V,
    depth: u32,
    scope: u32,
}

#[derive(Clone, Copy, Debug)]
struct Scope {
    number: u32,
    /// How many entries are the scope's.
    entries: u32,
}

/// A map with nested scopes; the outermost (depth 0) is always open.
#[derive(Clone, Debug)]
pub struct ScopedMap<K: DenseKey, V> {
    table: DenseMap<K, Scoped<V>>,
    /// The open scope at each depth.
    open: Vec<Scope>,
    next_scope: u32,
    /// How many entries of closed scopes the table still holds.
    dead: u32,
}

const OUTERMOST: Scope = Scope {
    number: 0,
    entries: 0,
};

impl<K: DenseKey, V> ScopedMap<K, V> {
    /// An empty map with its outermost scope open.
    #[track_caller]
    pub fn new() -> Self {
        Self {
            table: DenseMap::new(),
            open: vec![OUTERMOST],
            next_scope: 1,
            dead: 0,
        }
    }

    /// An empty map with its outermost scope open, and room for so many entries.
    #[track_caller]
    pub fn with_capacity(entries: usize) -> Self {
        Self {
            table: DenseMap::with_capacity(entries),
            ..Self::new()
        }
    }

    /// Depth of the innermost open scope.
    #[inline]
    pub fn depth(&self) -> usize {
        self.open.len() - 1
    }

    /// Opens a scope.
    pub fn push_scope(&mut self) {
        self.open.push(Scope {
            number: self.next_scope,
            entries: 0,
        });
        self.next_scope += 1;
    }

    /// Closes the innermost scope with everything inserted at its depth; panics at the outermost.
    #[track_caller]
    pub fn pop_scope(&mut self) {
        assert!(self.open.len() > 1, "the outermost scope cannot be closed");
        self.pop_to_depth(self.depth() - 1);
    }

    /// Closes scopes until `depth` is the innermost one.
    #[track_caller]
    pub fn pop_to_depth(&mut self, depth: usize) {
        assert!(depth < self.open.len(), "depth {depth} is not open");
        let closed = self.open.drain(depth + 1..);
        self.dead += closed.map(|scope| scope.entries).sum::<u32>();
        if self.dead as usize > self.table.bucket_count() / 4 {
            let Self { table, open, .. } = self;
            table.retain(|_, entry| Self::visible(open, entry));
            self.dead = 0;
        }
    }

    #[inline]
    fn visible(open: &[Scope], entry: &Scoped<V>) -> bool {
        open.get(entry.depth as usize)
            .is_some_and(|scope| scope.number == entry.scope)
    }

    /// Counts an entry that is about to be overwritten as no longer its scope's.
    fn release(open: &mut [Scope], dead: &mut u32, entry: &Scoped<V>) {
        if Self::visible(open, entry) {
            open[entry.depth as usize].entries -= 1;
        } else {
            *dead -= 1;
        }
    }

    /// The value of a key visible from the innermost scope.
    #[inline]
    pub fn get<Q: Lookup<K> + ?Sized>(&self, key: &Q) -> Option<&V> {
        let entry = self.table.get(key)?;
        Self::visible(&self.open, entry).then_some(&entry.value)
    }

    /// The value of a visible key with the depth it was inserted at.
    #[inline]
    pub fn get_with_depth<Q: Lookup<K> + ?Sized>(&self, key: &Q) -> Option<(&V, usize)> {
        let entry = self.table.get(key)?;
        Self::visible(&self.open, entry).then_some((&entry.value, entry.depth as usize))
    }

    /// Inserts into the innermost scope unless the key is already visible; the value now visible, and whether it is new.
    #[cfg_attr(debug_assertions, track_caller)]
    pub fn insert_if_absent(&mut self, key: K, value: V) -> (&mut V, bool) {
        let depth = self.depth();
        self.insert_if_absent_at(key, value, depth)
    }

    /// Inserts into the open scope at `depth` unless the key is already visible; the value now visible, and whether it is
    /// new.
    #[cfg_attr(debug_assertions, track_caller)]
    pub fn insert_if_absent_at(&mut self, key: K, value: V, depth: usize) -> (&mut V, bool) {
        let Self {
            table, open, dead, ..
        } = self;
        let mut fresh = Some(Scoped {
            value,
            depth: depth as u32,
            scope: open[depth].number,
        });
        let entry = table.get_or_insert_with(key, || fresh.take().expect("made once"));
        let is_new = match fresh {
            Some(_) if Self::visible(open, entry) => false,
            Some(fresh) => {
                *dead -= 1;
                open[depth].entries += 1;
                *entry = fresh;
                true
            }
            None => {
                open[depth].entries += 1;
                true
            }
        };
        (&mut entry.value, is_new)
    }

    /// Puts a value into the innermost scope in place of whatever was visible, which does not come back when the scope
    /// closes.
    #[cfg_attr(debug_assertions, track_caller)]
    pub fn replace(&mut self, key: K, value: V) {
        let depth = self.depth();
        let Self {
            table, open, dead, ..
        } = self;
        let fresh = Scoped {
            value,
            depth: depth as u32,
            scope: open[depth].number,
        };
        let replaced = table.insert(key, fresh);
        if let Some(replaced) = &replaced {
            Self::release(open, dead, replaced);
        }
        open[depth].entries += 1;
    }

    /// Removes every entry and closes every scope but the outermost.
    #[cfg_attr(debug_assertions, track_caller)]
    pub fn clear(&mut self) {
        let Self {
            table,
            open,
            next_scope,
            dead,
        } = self;
        open.clear();
        open.push(OUTERMOST);
        *next_scope = 1;
        *dead = 0;
        table.clear();
    }
}

impl<K: DenseKey, V> Default for ScopedMap<K, V> {
    #[track_caller]
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_closed_scope_takes_its_entries_along() {
        let mut map = ScopedMap::new();
        map.insert_if_absent(1u32, "outer");
        map.push_scope();
        assert_eq!(map.insert_if_absent(1, "inner"), (&mut "outer", false));
        assert_eq!(map.insert_if_absent(2, "inner"), (&mut "inner", true));
        map.pop_scope();
        assert_eq!((map.get(&1), map.get(&2)), (Some(&"outer"), None));
        map.push_scope();
        assert_eq!(map.get(&2), None, "a sibling scope does not see it");
        assert!(map.insert_if_absent(2, "sibling").1);
    }

    #[test]
    fn an_entry_can_be_put_further_out() {
        let mut map = ScopedMap::new();
        map.push_scope();
        map.push_scope();
        map.insert_if_absent_at(5u32, 'x', 1);
        map.pop_scope();
        assert_eq!(map.get_with_depth(&5), Some((&'x', 1)));
        map.pop_to_depth(0);
        assert_eq!(map.get(&5), None);
    }

    #[test]
    fn values_of_closed_scopes_are_dropped() {
        let value = alloc::rc::Rc::new(());
        let mut map = ScopedMap::new();
        let mut most_alive = 0;
        for scope in 0..10_000u32 {
            map.push_scope();
            for key in 0..10 {
                map.insert_if_absent(10 * scope + key, value.clone());
            }
            map.replace(10 * scope, value.clone());
            most_alive = most_alive.max(alloc::rc::Rc::strong_count(&value));
            map.pop_scope();
        }
        assert!(most_alive < 100, "{most_alive} values at once");
        assert!(map.table.bucket_count() < 256);
    }

    #[test]
    #[should_panic(expected = "outermost")]
    fn the_outermost_scope_stays() {
        ScopedMap::<u32, u32>::new().pop_scope();
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 1 } else { 64 }))]
        #[test]
        fn agrees_with_a_stack_of_maps(steps in prop::collection::vec((0u8..5, 0u32..12, 0usize..6), 1..150)) {
            let mut map = ScopedMap::<u32, usize>::new();
            let mut model = vec![std::collections::HashMap::new()];
            for (step, (operation, key, at)) in steps.into_iter().enumerate() {
                match operation {
                    0 => { map.push_scope(); model.push(Default::default()); }
                    1 if model.len() > 1 => { map.pop_scope(); model.pop(); }
                    2 | 3 => {
                        let depth = if operation == 2 { model.len() - 1 } else { at % model.len() };
                        let absent = !model.iter().any(|scope| scope.contains_key(&key));
                        prop_assert_eq!(map.insert_if_absent_at(key, step, depth).1, absent);
                        if absent { model[depth].insert(key, step); }
                    }
                    _ => {
                        map.replace(key, step);
                        for scope in &mut model { scope.remove(&key); }
                        model.last_mut().expect("one is open").insert(key, step);
                    }
                }
                let sizes: Vec<usize> = map.open.iter().map(|scope| scope.entries as usize).collect();
                prop_assert_eq!(sizes, model.iter().map(std::collections::HashMap::len).collect::<Vec<_>>());
                let visible = map.open.iter().map(|scope| scope.entries).sum::<u32>();
                prop_assert_eq!(map.table.len() as u32, visible + map.dead);
                prop_assert_eq!(map.depth(), model.len() - 1);
                for key in 0..12 {
                    prop_assert_eq!(map.get(&key), model.iter().find_map(|scope| scope.get(&key)));
                }
            }
        }
    }
}
