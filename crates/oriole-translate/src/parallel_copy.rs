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
    if let [copy] = copies
        && copy.from != copy.to
    {
        return vec![*copy];
    }
    let mut result = Vec::with_capacity(copies.len());
    // Where the value that was in a location at the start is now; only for locations that some copy reads.
    let mut now_in: DenseMap<L, L> = DenseMap::new();
    let mut source_of: DenseMap<L, L> = DenseMap::new();
    for copy in copies.iter().filter(|copy| copy.from != copy.to) {
        now_in.insert(copy.from, copy.from);
        let earlier = source_of.insert(copy.to, copy.from);
        debug_assert!(earlier.is_none(), "two copies to one place");
    }
    // Destinations that hold nothing anyone still needs there.
    let mut ready: Vec<L> = copies
        .iter()
        .rev()
        .map(|copy| copy.to)
        .filter(|to| source_of.contains_key(to) && !now_in.contains_key(to))
        .collect();
    for copy in copies {
        drain(&mut ready, &mut now_in, &mut source_of, &mut result);
        // What is left is in cycles: save one destination.
        if source_of.contains_key(&copy.to) {
            let saved = fresh(copy.to);
            result.push(Copy {
                from: copy.to,
                to: saved,
            });
            now_in.insert(copy.to, saved);
            ready.push(copy.to);
        }
    }
    drain(&mut ready, &mut now_in, &mut source_of, &mut result);
    result
}

/// Makes the copies whose destination is free, and those that this frees.
fn drain<L>(
    ready: &mut Vec<L>,
    now_in: &mut DenseMap<L, L>,
    source_of: &mut DenseMap<L, L>,
    result: &mut Vec<Copy<L>>,
) where
    L: std::marker::Copy + Eq + oriole_collections::DenseKey,
{
    while let Some(to) = ready.pop() {
        let Some(from) = source_of.remove(&to) else {
            continue;
        };
        let place = *now_in.get(&from).expect("every source was entered");
        result.push(Copy { from: place, to });
        // From here on the value can be had from the destination, so its first place is free.
        now_in.insert(from, to);
        if place == from && source_of.contains_key(&from) {
            ready.push(from);
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
