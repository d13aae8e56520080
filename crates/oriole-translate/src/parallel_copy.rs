//! Turns copies that happen at once into copies one after the other.
//!
//! ## Example
//! `(a, b) ← (b, a)` becomes `t ← a; a ← b; b ← t`.
//!
//! ## Method
//! A copy whose destination no other pending copy reads can go first; when only cycles are left, one destination is saved
//! in a fresh location (Boissinot et al., "Revisiting Out-of-SSA Translation", CGO 2009, algorithm 1). Linear.

use oriole_collections::DenseMap;

/// A copy from one location to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Copy<L> {
    /// Where the value is.
    pub from: L,
    /// Where it goes.
    pub to: L,
}

/// The copies in an order in which each reads its source before it is overwritten.
///
/// Destinations must differ from each other. `fresh` makes a location that nothing else uses, like the one given.
pub fn sequentialize<L>(copies: &[Copy<L>], mut fresh: impl FnMut(L) -> L) -> Vec<Copy<L>>
where
    L: std::marker::Copy + Eq + oriole_collections::DenseKey,
{
    let mut result = Vec::with_capacity(copies.len());
    // How many pending copies read a location.
    let mut readers: DenseMap<L, u32> = DenseMap::new();
    let mut source_of: DenseMap<L, L> = DenseMap::new();
    for copy in copies.iter().filter(|copy| copy.from != copy.to) {
        *readers.get_or_insert_with(copy.from, || 0) += 1;
        let earlier = source_of.insert(copy.to, copy.from);
        debug_assert!(earlier.is_none(), "two copies to one place");
    }
    let mut ready: Vec<L> = copies
        .iter()
        .filter(|copy| copy.from != copy.to && !readers.contains_key(&copy.to))
        .map(|copy| copy.to)
        .collect();
    ready.reverse();
    for copy in copies {
        // Drain what can go, then break one cycle, if this copy is still in one.
        drain(&mut ready, &mut readers, &mut source_of, &mut result);
        let Some(&from) = source_of.get(&copy.to) else {
            continue;
        };
        // Everything pending is now in cycles. Save the destination; its reader reads the saved copy.
        let saved = fresh(copy.to);
        result.push(Copy {
            from: copy.to,
            to: saved,
        });
        let reader = cycle_reader(&source_of, copy.to, from);
        source_of.insert(reader, saved);
        readers.insert(copy.to, 0);
        ready.push(copy.to);
    }
    drain(&mut ready, &mut readers, &mut source_of, &mut result);
    result
}

/// The destination in the cycle through `to` whose source is `to`.
fn cycle_reader<L>(source_of: &DenseMap<L, L>, to: L, from: L) -> L
where
    L: std::marker::Copy + Eq + oriole_collections::DenseKey,
{
    let mut at = from;
    loop {
        let source = *source_of
            .get(&at)
            .expect("all that is pending is in cycles");
        if source == to {
            return at;
        }
        at = source;
    }
}

fn drain<L>(
    ready: &mut Vec<L>,
    readers: &mut DenseMap<L, u32>,
    source_of: &mut DenseMap<L, L>,
    result: &mut Vec<Copy<L>>,
) where
    L: std::marker::Copy + Eq + oriole_collections::DenseKey,
{
    while let Some(to) = ready.pop() {
        let Some(from) = source_of.remove(&to) else {
            continue;
        };
        result.push(Copy { from, to });
        if let Some(count) = readers.get_mut(&from) {
            *count = count.saturating_sub(1);
            if *count == 0 && source_of.contains_key(&from) {
                ready.push(from);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs both forms on locations 0..8 and compares.
    fn same_effect(copies: &[Copy<u32>]) -> usize {
        let mut next = 100;
        let sequence = sequentialize(copies, |_| {
            next += 1;
            next
        });
        let mut state: std::collections::BTreeMap<u32, u32> =
            (0..8).map(|place| (place, place)).collect();
        for copy in &sequence {
            let value = state[&copy.from];
            state.insert(copy.to, value);
        }
        for copy in copies {
            assert_eq!(state[&copy.to], copy.from, "{copies:?} as {sequence:?}");
        }
        for place in 0..8 {
            if copies.iter().all(|copy| copy.to != place) {
                assert_eq!(state[&place], place, "{copies:?} as {sequence:?}");
            }
        }
        sequence.len()
    }

    #[test]
    fn all_mappings_of_four_places() {
        for code in 0..8u32.pow(4) {
            let copies: Vec<Copy<u32>> = (0..4)
                .map(|place| Copy {
                    from: code / 8u32.pow(place) % 8,
                    to: place,
                })
                .collect();
            same_effect(&copies);
        }
    }

    #[test]
    fn only_cycles_need_a_temporary() {
        let copy = |from, to| Copy { from, to };
        assert_eq!(same_effect(&[copy(1, 0), copy(2, 1), copy(3, 2)]), 3);
        assert_eq!(same_effect(&[copy(1, 0), copy(0, 1)]), 3);
        assert_eq!(same_effect(&[copy(1, 0), copy(0, 1), copy(0, 2)]), 3);
        assert_eq!(same_effect(&[copy(0, 0)]), 0);
    }
}
