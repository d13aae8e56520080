//! What the optional features add.

#![allow(clippy::disallowed_methods)] // bucket order is tested here

#[cfg(feature = "serde")]
mod serialized {
    use oriole_collections::extra::{
        ByteStringSet, Interner, OrderedMap, OrderedSet, SmallDenseMap,
    };
    use oriole_collections::{DenseMap, DenseSet, IndexVec, StringMap, StringSet};
    use serde_json::{from_str, to_string};

    oriole_collections::entity! {
        /// An index.
        struct Item = "item";
    }

    #[test]
    fn everything_comes_back() {
        let map = DenseMap::from([(String::from("a"), 1), (String::from("b"), 2)]);
        let again: DenseMap<String, u32> = from_str(&to_string(&map).expect("text")).expect("map");
        assert_eq!(again, map);
        let set = DenseSet::from([1u32, 5, 9]);
        let again: DenseSet<u32> = from_str(&to_string(&set).expect("text")).expect("set");
        assert_eq!(again, set);
        let ordered: OrderedMap<String, u8> = [("z", 1), ("a", 2)]
            .map(|(key, value)| (String::from(key), value))
            .into();
        assert_eq!(to_string(&ordered).expect("text"), r#"{"z":1,"a":2}"#);
        let again: OrderedMap<String, u8> = from_str(r#"{"z":1,"a":2}"#).expect("map");
        assert!(again.iter().eq(ordered.iter()));
        let ordered: OrderedSet<u32> = from_str("[3,1,3,2]").expect("set");
        assert_eq!(to_string(&ordered).expect("text"), "[3,1,2]");
        let names = StringMap::from([("b", 2), ("a", 1)]);
        assert_eq!(to_string(&names).expect("text"), r#"{"a":1,"b":2}"#);
        let again: StringMap<i32> = from_str(r#"{"b":2,"a":1}"#).expect("map");
        assert_eq!(again, names);
        let set: StringSet = from_str(r#"["x","y"]"#).expect("set");
        assert!(set.contains("x") && set.len() == 2);
        let bytes: ByteStringSet = from_str("[[1,2],[3]]").expect("set");
        assert!(bytes.contains(&[3]));
        let small: SmallDenseMap<String, u8, 2> = from_str(r#"{"k":7}"#).expect("map");
        assert_eq!(to_string(&small).expect("text"), r#"{"k":7}"#);
        let vector: IndexVec<Item, u8> = from_str("[4,5]").expect("vector");
        assert_eq!(to_string(&vector).expect("text"), "[4,5]");
        let mut interner = Interner::new();
        let symbol = interner.intern("name");
        let again: Interner = from_str(&to_string(&interner).expect("text")).expect("interner");
        assert_eq!(again.resolve(symbol), "name");
        assert!(from_str::<Interner>(r#"["a","a"]"#).is_err());
    }
}

#[cfg(feature = "rayon")]
#[test]
fn parallel_iterators_see_every_entry_once() {
    use oriole_collections::{DenseMap, DenseSet};
    use rayon::prelude::*;
    let mut map: DenseMap<u32, u64> = (0..10_000u32).into_par_iter().map(|n| (n, 1)).collect();
    map.par_iter_mut()
        .for_each(|(key, value)| *value += u64::from(*key));
    assert_eq!(
        map.par_iter().map(|(_, value)| *value).sum::<u64>(),
        (1..=10_000u64).sum::<u64>()
    );
    let set: DenseSet<u32> = map.into_par_iter().map(|(key, _)| key).collect();
    assert_eq!(set.par_iter().count(), 10_000);
}
