//! The counts and the trace of an instrumented build. Compiled only with `--features instrument`; the tests of the trace
//! reader run in every build.
#![allow(clippy::disallowed_methods)] // bucket order is tested here
#![cfg(feature = "instrument")]

use oriole_collections::extra::{Interner, SmallDenseMap};
use oriole_collections::instrument::{self, Event};
use oriole_collections::{DenseMap, DenseSet, StringMap, StringSet};

#[test]
fn counts_by_type_and_place() {
    let path = std::env::temp_dir().join(format!("oriole-trace-{}", std::process::id()));
    instrument::trace_to(&path).expect("a writable temporary folder");
    let line = line!() + 1;
    let mut map = DenseMap::<u16, [u8; 3]>::new();
    for n in 0..100 {
        map.insert(n, [0; 3]);
    }
    map.insert(5, [1; 3]);
    assert!(map.contains_key(&7) && !map.contains_key(&1000));
    assert!(map.erase(&3) && !map.erase(&3));
    assert_eq!(map.remove_if(|key, _| *key >= 90), 10);
    drop(map);
    let mut set = DenseSet::<i16>::new();
    set.insert(1);
    drop(set);
    let mut names = StringMap::<u8>::new();
    names.insert("a", 1);
    assert_eq!(names.remove("b"), None);
    drop(names);
    let mut set = StringSet::new();
    assert!(set.insert("a") && !set.insert("a") && set.remove("a"));
    assert_eq!(set.remove_if(|_| true), 0);
    drop(set);
    let mut interner = Interner::new();
    interner.intern("x");
    interner.intern("x");
    drop(interner);
    let mut small = SmallDenseMap::<u64, u64, 2>::new();
    for n in 0..2 {
        small.get_or_insert_with(n, || n);
    }
    assert!(small.get(&1).is_some() && small.get(&7).is_none());
    assert_eq!(small.remove_if(|key, _| *key == 0), 1);
    drop(small);
    let mut other = StringMap::<u16>::new();
    *other.get_or_insert_with("a", || 1) += 1;
    *other.get_or_insert_with("a", || 1) += 1;
    drop(other);

    let all = instrument::totals();
    let (_, site, t) = all
        .iter()
        .find(|(name, ..)| name.starts_with("DenseMap<u16, [u8; 3]>"))
        .expect("counted");
    assert!(site.contains(&format!("instrument.rs:{line}:")), "{site}");
    assert_eq!(
        (t.tables, t.inserts, t.hits, t.misses, t.erases),
        (1, 100, 2, 2, 11)
    );
    assert!(t.grows >= 2 && t.peak_bytes >= 500);
    assert!(t.hit_probes >= t.hits && t.miss_probes >= t.misses && t.insert_probes >= 90);
    assert!(
        all.iter()
            .any(|(name, ..)| name.starts_with("DenseSet<i16>"))
    );
    assert!(
        all.iter()
            .any(|(name, _, t)| name.starts_with("StringMap<u8>") && t.misses == 1)
    );

    let counts = |start: &str| {
        let (_, _, t) = all
            .iter()
            .find(|(name, ..)| name.starts_with(start))
            .unwrap_or_else(|| panic!("{start} is not counted: {all:?}"));
        (t.inserts, t.hits, t.misses, t.erases)
    };
    assert_eq!(counts("StringMap<()>"), (1, 1, 0, 1), "a StringSet");
    assert_eq!(counts("StringMap<Symbol>"), (1, 1, 0, 0), "an Interner");
    assert_eq!(counts("StringMap<u16>"), (1, 1, 0, 0), "get_or_insert_with");
    assert_eq!(
        counts("SmallDenseMap<u64, u64>"),
        (2, 1, 1, 1),
        "inside the object"
    );

    let report = instrument::report();
    assert!(report.contains("| find-miss | "), "{report}");
    assert!(report.contains("| type and place | tables |"), "{report}");

    // Enough more events that the buffer reaches the file.
    let mut filler = DenseMap::<u32, ()>::new();
    for n in 0..10_000 {
        filler.insert(n, ());
    }
    let bytes = std::fs::read(&path).expect("written");
    std::fs::remove_file(&path).expect("removed");
    let events = instrument::read_trace(&bytes).expect("well formed");
    let Some(Event::Table {
        table,
        key_bytes: 2,
        value_bytes: 3,
        ..
    }) = events.first()
    else {
        panic!(
            "the first event declares the first table: {:?}",
            events.first()
        );
    };
    let inserts = events
        .iter()
        .filter(|event| matches!(event, Event::Insert(t, _) if t == table));
    assert_eq!(inserts.count(), 100);
    assert!(events.contains(&Event::Drop(*table)));
}
