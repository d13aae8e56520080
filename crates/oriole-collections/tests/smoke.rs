//! First checks of the public API through the crate's own names.

use oriole_collections::{DenseMap, DenseSet};

#[test]
fn map_round_trip() {
    let mut map = DenseMap::new();
    for key in 0..1000u32 {
        assert_eq!(map.insert(key, key * 2), None);
    }
    assert_eq!(map.insert(5, 1), Some(10));
    assert_eq!(map.get(&999), Some(&1998));
    assert_eq!(map[&5], 1);
    assert!(!map.contains_key(&1000));
    for key in (0..1000).step_by(2) {
        assert!(map.erase(&key));
    }
    assert_eq!(map.len(), 500);
    assert_eq!(map.remove_if(|key, _| *key < 500), 250);
    assert_eq!(map.iter_sorted().next(), Some((&501, &1002)));
    let copy = map.clone();
    assert_eq!(copy, map);
    assert_eq!(map.into_iter().count(), 250);
    *map_default() += 1;
}

fn map_default() -> Box<u32> {
    let mut map: DenseMap<u64, u32> = DenseMap::new();
    *map.get_or_default(u64::MAX) += 4;
    *map.entry(u64::MAX - 1).or_insert(2) += 4;
    Box::new(*map.entry(u64::MAX).or_insert(9))
}

#[test]
fn set_round_trip() {
    let mut set: DenseSet<(u32, bool)> = [(1, true), (1, false), (1, true)].into();
    assert_eq!(set.len(), 2);
    assert!(set.remove(&(1, true)) && !set.contains(&(1, true)));
    assert_eq!(set.into_sorted_vec(), [(1, false)]);
}
