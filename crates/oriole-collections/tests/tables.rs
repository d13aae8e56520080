//! The rules of each design, one by one: when they grow, what they reserve, what moves, what a stale cursor says.

#![allow(clippy::disallowed_methods)] // bucket order is tested here

use oriole_collections::classic::Address48;
use oriole_collections::classic::{self, EightAligned};
use oriole_collections::extra::small::Pointer;
use oriole_collections::key::keyed_word;
use oriole_collections::map::Map;
use oriole_collections::raw::RawTable;
use oriole_collections::{DenseKey, linear, string_map, swiss};
use proptest::prelude::*;
use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;

/// A key whose home is given.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
struct Homed {
    home: u32,
    number: u32,
}

impl DenseKey for Homed {
    fn mix(&self) -> u64 {
        u64::from(self.home) | u64::from(self.number) << 56
    }
    fn mix_keyed(&self, secret: u64) -> u64 {
        keyed_word(self.mix(), secret)
    }
}

fn message(work: impl FnOnce()) -> String {
    let payload = catch_unwind(AssertUnwindSafe(work)).expect_err("it must panic");
    match payload.downcast::<String>() {
        Ok(text) => *text,
        Err(payload) => payload.downcast::<&str>().expect("a text").to_string(),
    }
}

#[test]
fn linear_grows_past_three_quarters_and_starts_with_64() {
    let mut map = linear::DenseMap::new();
    assert_eq!((map.bucket_count(), map.allocated_bytes()), (0, 0));
    for n in 0..48u64 {
        map.insert(n, n);
        assert_eq!(map.bucket_count(), 64);
    }
    // 64 buckets of 16 bytes and one word of used bits.
    assert_eq!(map.allocated_bytes(), 64 * 16 + 8);
    map.insert(48, 48);
    assert_eq!(map.bucket_count(), 128);
}

#[test]
fn swiss_doubles_from_four_buckets_and_fills_to_seven_eighths() {
    let mut map = swiss::DenseMap::new();
    let mut sizes = Vec::new();
    for n in 0..113u64 {
        map.insert(n, n);
        if sizes
            .last()
            .is_none_or(|&(buckets, _)| buckets != map.bucket_count())
        {
            sizes.push((map.bucket_count(), map.len()));
        }
    }
    assert_eq!(sizes, [(4, 1), (16, 5), (64, 16), (128, 57), (256, 113)]);
    let mut narrow = swiss::DenseMap::new();
    narrow.insert(1u32, 1u32);
    assert_eq!(
        narrow.allocated_bytes(),
        48,
        "four slots of eight bytes and sixteen tags"
    );
    assert_eq!(size_of::<swiss::Table<u64, u64>>(), 32);
}

#[test]
fn clear_frees_a_large_table_that_is_less_than_a_quarter_full() {
    fn check<T: RawTable<u32, u32>>(keeps: usize, shrinks_to: usize) {
        let mut map = Map::<u32, u32, T>::with_capacity(1000);
        let large = map.bucket_count();
        assert!(large >= 1024);
        map.extend((0..600).map(|n| (n, n)));
        map.clear();
        assert_eq!(map.bucket_count(), keeps, "{}: half full", T::NAME);
        map.extend((0..50).map(|n| (n, n)));
        map.clear();
        assert_eq!(map.bucket_count(), shrinks_to, "{}: nearly empty", T::NAME);
        map.clear();
        map.shrink_to_fit();
        assert_eq!(map.allocated_bytes(), 0);
    }
    check::<linear::Table<_, _>>(2048, 128);
    check::<classic::Table<_, _>>(2048, 128);
    check::<swiss::Table<_, _>>(2048, 64);
}

#[test]
fn every_key_value_is_legal_but_for_the_classic_tables() {
    let keys = [0, 1, u32::MAX - 1, u32::MAX];
    let mut set: swiss::DenseSet<u32> = keys.into();
    assert_eq!(set.len(), 4);
    assert!(keys.iter().all(|key| set.remove(key)));
    let set: linear::DenseSet<u32> = keys.into();
    assert!(keys.iter().all(|key| set.contains(key)));
    for reserved in [u32::MAX, u32::MAX - 1] {
        let text = message(|| {
            classic::DenseSet::new().insert(reserved);
        });
        assert!(text.contains("reserve this key"), "{text}");
    }
}

#[test]
fn classic_sentinels_by_family() {
    fn addresses<K: DenseKey>(address: fn(&K) -> usize) -> [isize; 2] {
        let sentinels = K::classic_sentinels().expect("a family").into_array();
        sentinels.each_ref().map(|key| address(key) as isize)
    }
    fn values<K: DenseKey>() -> Option<[K; 2]> {
        K::classic_sentinels().map(|sentinels| sentinels.into_array())
    }
    assert_eq!(values::<u32>(), Some([0xFFFF_FFFF, 0xFFFF_FFFE]));
    assert_eq!(
        values::<Address48>().map(|pair| pair.map(Address48::get)),
        Some([0xFFFF_FFFF_F000, 0xFFFF_FFFF_E000])
    );
    assert_eq!(addresses::<*const u64>(|key| key.addr()), [-4096, -8192]);
    assert_eq!(
        addresses::<EightAligned<u64>>(|key| key.0.addr()),
        [-8, -16]
    );
    assert_eq!(values::<i32>(), Some([i32::MAX, i32::MIN]));
    assert_eq!(
        values::<(u32, u64)>(),
        Some([(u32::MAX, u64::MAX), (u32::MAX - 1, u64::MAX - 1)])
    );
    assert!(Pointer::<u8>::classic_sentinels().is_some());
    assert_eq!(values::<String>(), None);
    assert_eq!(values::<(u32, bool)>(), None);
}

#[test]
fn classic_hashes() {
    assert_eq!(7u32.classic_hash(), 7 * 37);
    let pointer: *const u8 = std::ptr::without_provenance(0x5555_1234_5670);
    assert_eq!(
        pointer.classic_hash(),
        (0x1234_5670u32 >> 4) ^ (0x1234_5670u32 >> 9)
    );
}

#[test]
fn classic_doubles_at_three_quarters() {
    let mut map = classic::DenseMap::new();
    for n in 0..47u32 {
        map.insert(n, ());
        assert_eq!(map.bucket_count(), 64);
    }
    // 4 * (47 + 1) >= 3 * 64.
    map.insert(47, ());
    assert_eq!(map.bucket_count(), 128);
}

#[test]
fn classic_rehashes_at_its_size_when_an_eighth_is_truly_empty() {
    let mut table = classic::DenseMap::new();
    for n in 0..40u32 {
        table.insert(n, ());
    }
    // Each round erases one key and inserts another, which uses up an empty bucket whenever it does not land on a
    // tombstone. Without the rule the table would run out of empty buckets and lookups would not end.
    let end = if cfg!(miri) { 400 } else { 4000u32 };
    for n in 40..end {
        assert!(table.erase(&(n - 40)));
        table.insert(n, ());
        assert_eq!(table.bucket_count(), 64);
        assert!(!table.contains_key(&(n - 40)));
    }
    assert_eq!(
        table.into_sorted_vec(),
        (end - 40..end).map(|n| (n, ())).collect::<Vec<_>>()
    );
}

#[test]
fn classic_string_table_grows_from_16() {
    let mut map = classic::StringMap::new();
    let mut sizes = BTreeMap::new();
    for n in 0..770u32 {
        map.insert(&format!("__nvvm_builtin_{n}"), n);
        *sizes.entry(map.bucket_count()).or_insert(0) += 1;
    }
    // The size after each insertion: doubled by the one that passes three quarters.
    let expected = [
        (16, 12),
        (32, 12),
        (64, 24),
        (128, 48),
        (256, 96),
        (512, 192),
        (1024, 384),
        (2048, 2),
    ];
    assert_eq!(sizes.into_iter().collect::<Vec<_>>(), expected);
    assert!((0..770).all(|n| map.get(&format!("__nvvm_builtin_{n}")) == Some(&n)));
    assert_eq!(map.get("__nvvm_builtin_770"), None);
}

#[test]
fn linear_erase_reports_each_shifted_entry_once() {
    // Homes 5, 5, 6, 5, 9 lie at 5, 6, 7, 8, 9. Without the first, the second and the fourth can move back.
    let keys =
        [(5, 0), (5, 1), (6, 2), (5, 3), (9, 4)].map(|(home, number)| Homed { home, number });
    let mut map: linear::DenseMap<Homed, u32> = keys.map(|key| (key, key.number)).into();
    let mut moved = Vec::new();
    assert!(map.erase_with(&keys[0], |key, value| {
        assert_eq!(key.number, *value);
        moved.push(*value);
    }));
    assert_eq!(moved, [1, 2, 3]);
    assert!(!map.erase_with(&keys[0], |_, _| unreachable!("nothing was erased")));
    assert!(keys[1..].iter().all(|key| map[key] == key.number));
}

#[test]
fn swiss_erase_moves_nothing_and_a_rehash_takes_the_marks_away() {
    // Sixty keys of one home fill four windows of a table of 128.
    let keys: Vec<Homed> = (0..60).map(|number| Homed { home: 10, number }).collect();
    let mut map: swiss::DenseMap<Homed, u32> = keys.iter().map(|key| (*key, key.number)).collect();
    assert_eq!(map.bucket_count(), 128);
    for key in &keys[..20] {
        assert!(map.erase_with(key, |_, _| unreachable!("nothing moves")));
    }
    assert!(
        keys.iter()
            .all(|key| map.contains_key(key) == (key.number >= 20))
    );
    // Keys come and go far longer than there are buckets to mark: the table neither fills up nor grows.
    for number in 60..if cfg!(miri) { 400 } else { 8000 } {
        map.insert(
            Homed {
                home: number % 125,
                number,
            },
            number,
        );
        assert!(map.erase(&Homed {
            home: number % 125,
            number
        }));
        assert_eq!(map.bucket_count(), 128);
    }
    let left: BTreeSet<u32> = map.values_unordered().copied().collect();
    assert_eq!(left, (20..60).collect());
}

#[test]
fn a_hash_of_zero_is_told_from_no_entry() {
    // The hash of zero is zero, as are the tags of unused buckets.
    let mut map = swiss::DenseMap::new();
    for len in 1..60u32 {
        map.insert(len, len);
        assert!(!map.contains_key(&0));
        map.insert(0, 0);
        assert_eq!((map.len(), map[&0], map[&len]), (len as usize + 1, 0, len));
        assert!(map.erase(&0) && !map.contains_key(&0));
        assert_eq!(map.iter_unordered().count(), len as usize);
    }
    map.retain(|key, _| key % 3 == 0);
    map.shrink_to_fit();
    assert_eq!(map.bucket_count(), 64);
    assert!((0..60).all(|key| map.contains_key(&key) == (key != 0 && key % 3 == 0)));
}

#[test]
fn doubling_a_table_keeps_every_entry() {
    // Homes at both ends, so that windows wrap and overflow.
    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    struct Ends(u64);
    impl DenseKey for Ends {
        fn mix(&self) -> u64 {
            (self.0 % 37).wrapping_sub(20) ^ (self.0 / 37) << 6 ^ self.0 << 50
        }
        fn mix_keyed(&self, secret: u64) -> u64 {
            keyed_word(self.mix(), secret)
        }
    }
    let mut map = swiss::DenseMap::new();
    for number in 0..if cfg!(miri) { 240 } else { 4000 } {
        map.insert(Ends(number), number);
        if map.len().is_power_of_two() || map.len() * 8 / 7 % 64 == 1 {
            assert!((0..=number).all(|n| map[&Ends(n)] == n));
            assert_eq!(map.values_unordered().sum::<u64>(), (0..=number).sum());
            assert!(!map.contains_key(&Ends(number + 1)));
        }
    }
}

#[test]
fn slots_without_a_size_are_counted() {
    fn check<T: RawTable<(), ()>>() {
        let mut map = Map::<(), (), T>::new();
        for room in [0, 3, 20, 40, 100, 1000] {
            map.reserve(room);
            assert_eq!(map.insert((), ()), None, "{}", T::NAME);
            assert_eq!(map.insert((), ()), Some(()));
            assert_eq!(map.iter_unordered().count(), 1);
            map.values_unordered().for_each(|()| ());
            map.shrink_to_fit();
            assert!(map.contains_key(&()) && map.len() == 1);
            assert!(map.erase(&()) && map.is_empty());
            assert_eq!(map.iter_unordered().count(), 0);
        }
    }
    check::<linear::Table<_, _>>();
    check::<swiss::Table<_, _>>();
}

#[test]
fn bytes_are_those_of_a_table_of_seven_eighths_but_where_sizes_are_skipped() {
    fn check<K: DenseKey, V>(make: impl Fn(u64) -> (K, V)) {
        let mut map = swiss::DenseMap::new();
        for n in 1..if cfg!(miri) { 150 } else { 3000u64 } {
            let (key, value) = make(n);
            map.insert(key, value);
            let buckets = match n {
                1..4 => 4,
                4..8 => 8,
                _ => (n as usize * 8).div_ceil(7).next_power_of_two(),
            };
            // Tables of 8 and of 32 are skipped.
            let skipped = matches!(n, 5..8 | 16..29);
            let buckets = if skipped { 2 * buckets } else { buckets };
            // Slots, aligned for tags to be read at once, and a tag for each and sixteen more.
            let slots = (buckets * size_of::<(K, V)>()).next_multiple_of(16);
            assert!(map.allocated_bytes() <= slots + buckets + 16, "{n} entries");
        }
    }
    check(|n| (n, n));
    check(|n| (n as u32, n as u32));
    check(|n| (n as u32, ()));
    check(|n| (n, [n; 4]));
}

#[test]
fn erasing_at_a_cursor_reports_what_moves() {
    let keys = [(5, 0), (5, 1), (6, 2)].map(|(home, number)| Homed { home, number });
    let mut map: linear::DenseMap<Homed, u32> = keys.map(|key| (key, key.number)).into();
    let cursor = map.cursor(&keys[0]).expect("present");
    let mut moved = Vec::new();
    let erased = map.erase_at_with(cursor, |_, value| moved.push(*value));
    assert_eq!((erased, moved), ((keys[0], 0), vec![1, 2]));
}

#[test]
fn one_struct_compiles_with_every_design() {
    #[derive(Clone, Debug, Default, PartialEq)]
    struct Generic<K: DenseKey, V> {
        swiss: swiss::DenseMap<K, V>,
        linear: linear::DenseMap<K, V>,
        classic: classic::DenseMap<K, V>,
    }
    struct Unbounded<K, V> {
        swiss: swiss::DenseMap<K, V>,
        linear: linear::DenseMap<K, V>,
        classic: classic::DenseMap<K, V>,
    }
    impl<K, V> Unbounded<K, V> {
        fn sizes(&self) -> [usize; 3] {
            [
                self.swiss.iter().count(),
                self.linear.iter().count(),
                self.classic.iter().count(),
            ]
        }
    }
    // Keys that live long can be looked up by ones that live shorter.
    fn look(maps: &Unbounded<&'static str, u32>, name: &str) -> [Option<u32>; 3] {
        [
            maps.swiss.get(&name).copied(),
            maps.linear.get(&name).copied(),
            maps.classic.get(name).copied(),
        ]
    }
    let maps = Unbounded {
        swiss: [("a", 1)].into(),
        linear: [("a", 2)].into(),
        classic: [("a", 3)].into(),
    };
    assert_eq!(look(&maps, &String::from("a")), [Some(1), Some(2), Some(3)]);
    let mut generic = Generic::<u32, String>::default();
    generic.classic.insert(1, "one".into());
    let Generic {
        swiss,
        linear,
        classic,
    } = generic.clone();
    assert_eq!(
        Unbounded {
            swiss,
            linear,
            classic
        }
        .sizes(),
        [0, 0, 1]
    );
}

#[test]
#[cfg(debug_assertions)]
fn a_stale_cursor_says_where_it_was_made_and_where_the_table_changed() {
    fn check<T: RawTable<u32, u32>>() {
        let mut map = Map::<u32, u32, T>::new();
        map.insert(1, 10);
        let made = line!() + 1;
        let cursor = map.cursor(&1).expect("present");
        assert_eq!(map.at(cursor), (&1, &10));
        *map.at_mut(cursor) = 11;
        map.insert(1, 12);
        assert_eq!(map.at(cursor).1, &12, "overwriting a value moves nothing");
        let changed = line!() + 1;
        map.insert(2, 20);
        let text = message(|| {
            map.at(cursor);
        });
        for line in [made, changed] {
            assert!(
                text.contains(&format!("tables.rs:{line}:")),
                "{line} is not in: {text}"
            );
        }
        for (mutation, name) in [
            (
                (|map| assert_eq!(map.remove(&2), Some(20))) as fn(&mut Map<u32, u32, T>),
                "remove",
            ),
            (|map| map.retain(|_, _| true), "retain"),
            (|map| map.reserve(9), "reserve"),
            (|map| map.shrink_to_fit(), "shrink_to_fit"),
            (|map| *map.entry(7).or_insert(7) += 1, "entry"),
            (|map| map.clear(), "clear"),
        ] {
            let cursor = map.cursor(&1).expect("present");
            mutation(&mut map);
            assert!(
                message(|| assert_eq!(map.at(cursor).0, &1)).contains("stale cursor"),
                "{name}"
            );
        }
    }
    check::<swiss::Table<_, _>>();
    check::<linear::Table<_, _>>();
    check::<classic::Table<_, _>>();
}

#[test]
fn a_panic_in_a_callback_neither_leaks_nor_drops_twice() {
    struct Counted<'a>(&'a Cell<i32>);
    impl Drop for Counted<'_> {
        fn drop(&mut self) {
            self.0.set(self.0.get() - 1);
        }
    }
    fn check<'a, T: RawTable<Homed, Counted<'a>>>(alive: &'a Cell<i32>) {
        for panic_at in 0..12 {
            let mut map = Map::<Homed, Counted<'_>, T>::new();
            for number in 0..50 {
                alive.set(alive.get() + 1);
                map.insert(Homed { home: 3, number }, Counted(alive));
            }
            let mut calls = 0;
            let mut trip = || {
                calls += 1;
                assert!(calls <= panic_at, "tripped");
            };
            let _ = catch_unwind(AssertUnwindSafe(|| {
                for number in 0..5 {
                    map.erase_with(&Homed { home: 3, number }, |_, _| trip());
                }
                map.retain(|key, _| {
                    trip();
                    !key.number.is_multiple_of(2)
                });
            }));
            let iterated = map.iter_unordered().count();
            assert_eq!(iterated, map.len());
            assert_eq!(alive.get(), iterated as i32, "{}", T::NAME);
            drop(map);
            assert_eq!(alive.get(), 0, "{}", T::NAME);
        }
    }
    let alive = Cell::new(0);
    check::<swiss::Table<_, _>>(&alive);
    check::<linear::Table<_, _>>(&alive);
    check::<classic::Table<_, _>>(&alive);
}

#[test]
fn borrowed_forms_find_owned_keys() {
    let mut map: swiss::DenseMap<String, u32> = swiss::DenseMap::new();
    map.insert("one".into(), 1);
    assert_eq!(map.get("one"), Some(&1));
    assert_eq!(map.remove("two"), None);
    assert_eq!(map["one"], 1);
    let mut lists: classic::DenseMap<Vec<u32>, u32> = classic::DenseMap::new();
    lists.insert(vec![1, 2], 3);
    assert_eq!(lists.get(&[1u32, 2][..]), Some(&3));
}

#[test]
fn tables_are_send_and_sync_when_their_entries_are() {
    fn both<T: Send + Sync>() {}
    both::<swiss::DenseMap<u32, String>>();
    both::<linear::DenseMap<u32, String>>();
    both::<classic::DenseMap<u32, String>>();
    both::<string_map::linear::StringMap<String>>();
    both::<string_map::swiss::StringMap<String>>();

    both::<classic::StringMap<String>>();
}

#[test]
fn small_map_moves_out_at_the_entry_after_its_last_place() {
    let mut map = swiss::SmallDenseMap::<u32, Rc<u32>, 4>::new();
    for n in 0..4 {
        assert_eq!(map.insert(n, Rc::new(n)), None);
        assert!(map.is_small());
    }
    *map.get_or_insert_with(3, || unreachable!("present")) = Rc::new(33);
    assert!(map.is_small());
    assert_eq!(**map.get_or_insert_with(4, || Rc::new(4)), 4);
    assert!(!map.is_small());
    assert_eq!(
        map.iter_sorted()
            .map(|(k, v)| (*k, **v))
            .collect::<Vec<_>>(),
        [(0, 0), (1, 1), (2, 2), (3, 33), (4, 4)]
    );
    map.clear();
    assert!(map.is_small() && map.is_empty());
}

#[derive(Clone, Debug)]
enum Step {
    Insert(usize),
    Remove(usize),
    RemoveIf(usize),
    Contains(usize),
    Clear,
}

fn set_steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        8 => (0usize..60).prop_map(Step::Insert),
        4 => (0usize..60).prop_map(Step::Remove),
        4 => (0usize..60).prop_map(Step::Contains),
        1 => (2usize..6).prop_map(Step::RemoveIf),
        1 => Just(Step::Clear),
    ];
    prop::collection::vec(step, 1..if cfg!(miri) { 40 } else { 200 })
}

macro_rules! pointer_set_model {
    ($name:ident, $design:ident) => {
        proptest! {
            #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 1 } else { 48 }))]
            #[test]
            fn $name(steps in set_steps()) {
                let objects = [0u64; 60];
                let mut set = $design::SmallPtrSet::<u64, 8>::new();
                let mut model = BTreeSet::new();
                for step in steps {
                    match step {
                        Step::Insert(n) => {
                            prop_assert_eq!(set.insert(&raw const objects[n]), model.insert(&raw const objects[n]));
                        }
                        Step::Remove(n) => {
                            prop_assert_eq!(set.remove(&raw const objects[n]), model.remove(&(&raw const objects[n])));
                        }
                        Step::Contains(n) => {
                            prop_assert_eq!(set.contains(&raw const objects[n]), model.contains(&(&raw const objects[n])));
                        }
                        Step::RemoveIf(d) => {
                            let chosen = |p: *const u64| (p.addr() / 8).is_multiple_of(d);
                            let before = model.len();
                            model.retain(|p| !chosen(*p));
                            prop_assert_eq!(set.remove_if(chosen), before - model.len());
                        }
                        Step::Clear => {
                            set.clear();
                            model.clear();
                        }
                    }
                    prop_assert_eq!(set.len(), model.len());
                    prop_assert!(set.len() <= 8 || !set.is_small());
                    prop_assert_eq!(set.iter_unordered().collect::<BTreeSet<_>>(), model.clone());
                    prop_assert_eq!(&set, &set.clone());
                }
            }
        }
    };
}
pointer_set_model!(pointer_set_of_swiss, swiss);
pointer_set_model!(pointer_set_of_linear, linear);
pointer_set_model!(pointer_set_of_classic, classic);

macro_rules! string_map_model {
    ($name:ident, $($design:ident)::+) => {
        proptest! {
            #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 1 } else { 48 }))]
            #[test]
            fn $name(steps in set_steps()) {
                let mut map = $($design)::+::StringMap::<Rc<usize>>::new();
                let mut model = BTreeMap::new();
                let name = |n: usize| "x".repeat(n % 7) + &n.to_string();
                for (number, step) in steps.into_iter().enumerate() {
                    match step {
                        Step::Insert(n) if number.is_multiple_of(2) => {
                            let value = Rc::new(number);
                            prop_assert_eq!(map.insert(&name(n), value.clone()), model.insert(name(n), value));
                        }
                        Step::Insert(n) => {
                            let value = Rc::new(number);
                            prop_assert_eq!(
                                map.get_or_insert_with(&name(n), || value.clone()),
                                model.entry(name(n)).or_insert(value)
                            );
                        }
                        Step::Remove(n) => prop_assert_eq!(map.remove(&name(n)), model.remove(&name(n))),
                        Step::Contains(n) => {
                            prop_assert_eq!(map.get(&name(n)), model.get(&name(n)));
                            prop_assert_eq!(map.contains_key(&name(n)), model.contains_key(&name(n)));
                        }
                        Step::RemoveIf(d) => {
                            let before = model.len();
                            model.retain(|_, v| !v.is_multiple_of(d));
                            prop_assert_eq!(map.remove_if(|_, v| v.is_multiple_of(d)), before - model.len());
                        }
                        Step::Clear => {
                            map.clear();
                            model.clear();
                        }
                    }
                    prop_assert_eq!(map.len(), model.len());
                    let expected: Vec<_> = model.iter().map(|(k, v)| (k.as_str(), v)).collect();
                    prop_assert_eq!(map.iter_sorted().collect::<Vec<_>>(), expected);
                    prop_assert_eq!(&map, &map.clone());
                }
                drop(map);
                prop_assert!(model.values().all(|value| Rc::strong_count(value) == 1));
            }
        }
    };
}
string_map_model!(string_map_of_swiss, string_map::swiss);
string_map_model!(string_map_of_linear, string_map::linear);
string_map_model!(string_map_of_classic, classic);
