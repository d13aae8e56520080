//! Every map operation of every design, held against `std::collections::HashMap`.
//!
//! The same script of operations runs on a table and on the model, and after each step the answers must agree; every so
//! often the whole contents too. Keys come in kinds, among them one whose hash has four bits, so that runs wrap, windows
//! fill and erasures have to move entries. A short run is part of every `cargo test`. `ORIOLE_MODEL_STEPS=1000000 cargo
//! test --release --test model long_run` is the long one: a million steps per design and kind of key. Without the variable
//! the same test runs 4,000 steps of each.

#![allow(clippy::disallowed_methods)] // bucket order is tested here
#![allow(clippy::forget_non_drop)] // forgetting iterators is what is tested, whether they have a destructor or not

use oriole_collections::key::keyed_word;
use oriole_collections::map::{Entry, Map};
use oriole_collections::raw::RawTable;
use oriole_collections::{DenseKey, classic, linear, swiss};
use proptest::prelude::*;
use std::collections::HashMap;
use std::fmt::Debug;
use std::hash::Hash;
use std::rc::Rc;

trait TestKey: DenseKey + Clone + Eq + Hash + Ord + Debug {
    fn of(number: u32) -> Self;
}

impl TestKey for u32 {
    fn of(number: u32) -> Self {
        number
    }
}

/// Keys at both ends of the range: every value is legal.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
struct Extreme(u64);

impl DenseKey for Extreme {
    fn mix(&self) -> u64 {
        self.0.mix()
    }
    fn mix_keyed(&self, secret: u64) -> u64 {
        keyed_word(self.mix(), secret)
    }
}

impl TestKey for Extreme {
    fn of(number: u32) -> Self {
        Self(if number.is_multiple_of(2) {
            u64::MAX - u64::from(number)
        } else {
            u64::from(number)
        })
    }
}

/// Sixteen homes and one tag.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
struct Crowded(u32);

impl DenseKey for Crowded {
    fn mix(&self) -> u64 {
        u64::from(self.0 % 16) * 61
    }
    fn mix_keyed(&self, secret: u64) -> u64 {
        keyed_word(self.mix(), secret)
    }
}

impl TestKey for Crowded {
    fn of(number: u32) -> Self {
        Self(number)
    }
}

/// Twenty-four homes side by side and many tags: windows fill and entries go to later ones, and no table takes it for an attack.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
struct Clustered(u32);

impl DenseKey for Clustered {
    fn mix(&self) -> u64 {
        u64::from(self.0 % 24) | self.0.mix() << 32
    }
    fn mix_keyed(&self, secret: u64) -> u64 {
        keyed_word(self.mix(), secret)
    }
}

impl TestKey for Clustered {
    fn of(number: u32) -> Self {
        Self(number)
    }
}

/// Everything at the last bucket, so that every run wraps.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
struct Wrapping(u32);

impl DenseKey for Wrapping {
    fn mix(&self) -> u64 {
        !u64::from(self.0 % 3) ^ (u64::from(self.0) << 57)
    }
    fn mix_keyed(&self, secret: u64) -> u64 {
        keyed_word(self.mix(), secret)
    }
}

impl TestKey for Wrapping {
    fn of(number: u32) -> Self {
        Self(number)
    }
}

impl TestKey for String {
    fn of(number: u32) -> Self {
        format!("name{number}")
    }
}

#[derive(Clone, Debug)]
enum Step {
    Insert(u32),
    TryInsert(u32),
    Get(u32),
    GetMut(u32),
    GetOrInsert(u32),
    EntryModify(u32),
    EntryRemove(u32),
    Remove(u32),
    EraseWith(u32),
    Cursor(u32),
    Retain(u32),
    RemoveIf(u32),
    Clear,
    Reserve(u32),
    Shrink,
    Clone,
    Extend(u32),
    Rebuild,
    Drain(u32),
    ForgottenDrain,
    ExtractIf(u32),
    ForgottenExtractIf(u32),
    ForgottenIter,
    DisjointMut(u32),
    Reentrant(u32),
}

fn steps(keys: u32, count: usize) -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        12 => (0..keys).prop_map(Step::Insert),
        3 => (0..keys).prop_map(Step::TryInsert),
        6 => (0..keys).prop_map(Step::Get),
        2 => (0..keys).prop_map(Step::GetMut),
        4 => (0..keys).prop_map(Step::GetOrInsert),
        2 => (0..keys).prop_map(Step::EntryModify),
        2 => (0..keys).prop_map(Step::EntryRemove),
        6 => (0..keys).prop_map(Step::Remove),
        4 => (0..keys).prop_map(Step::EraseWith),
        2 => (0..keys).prop_map(Step::Cursor),
        1 => (2..7u32).prop_map(Step::Retain),
        1 => (2..7u32).prop_map(Step::RemoveIf),
        1 => Just(Step::Clear),
        1 => (0..200u32).prop_map(Step::Reserve),
        1 => Just(Step::Shrink),
        1 => Just(Step::Clone),
        1 => (0..keys).prop_map(Step::Extend),
        1 => Just(Step::Rebuild),
        1 => (0..keys).prop_map(Step::Drain),
        1 => Just(Step::ForgottenDrain),
        1 => (2..7u32).prop_map(Step::ExtractIf),
        1 => (2..7u32).prop_map(Step::ForgottenExtractIf),
        1 => Just(Step::ForgottenIter),
        1 => (0..keys).prop_map(Step::DisjointMut),
        1 => (0..keys).prop_map(Step::Reentrant),
    ];
    prop::collection::vec(step, 1..count)
}

/// A splitmix64 source of the same steps, for long runs without a strategy's overhead.
fn random_step(state: &mut u64, keys: u32) -> Step {
    let mut next = || {
        *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = *state;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (z ^ (z >> 31)) as u32
    };
    let key = next() % keys;
    // Rare steps are those that empty or rebuild a table, so that large ones are met too.
    let mut kind = next() % 4096;
    if cfg!(miri) && next().is_multiple_of(6) {
        // So that the few steps meet them at all.
        kind %= 64;
    }
    match kind {
        0 => Step::Clear,
        1 => Step::Shrink,
        2 => Step::Clone,
        3 => Step::Rebuild,
        4..8 => Step::Retain(2 + key % 5),
        8..12 => Step::RemoveIf(2 + key % 5),
        12..16 => Step::Reserve(key % 200),
        16..20 => Step::Extend(key),
        20 => Step::Drain(key),
        21 => Step::ForgottenDrain,
        22..26 => Step::ExtractIf(2 + key % 5),
        26..30 => Step::ForgottenExtractIf(2 + key % 5),
        30..34 => Step::ForgottenIter,
        34..60 => Step::DisjointMut(key),
        60..90 => Step::Reentrant(key),
        90..900 => Step::Get(key),
        900..1000 => Step::GetMut(key),
        1000..1100 => Step::Cursor(key),
        1100..1300 => Step::GetOrInsert(key),
        1300..1400 => Step::EntryModify(key),
        1400..1500 => Step::EntryRemove(key),
        1500..2100 => Step::Remove(key),
        2100..2500 => Step::EraseWith(key),
        2500..2700 => Step::TryInsert(key),
        _ => Step::Insert(key),
    }
}

struct Pair<K, T: RawTable<K, Rc<u64>>> {
    table: Map<K, Rc<u64>, T>,
    model: HashMap<K, Rc<u64>>,
    stamp: u64,
}

impl<K: TestKey, T: RawTable<K, Rc<u64>>> Pair<K, T> {
    fn new() -> Self {
        Self {
            table: Map::new(),
            model: HashMap::new(),
            stamp: 0,
        }
    }

    /// A value that is new, shared by table and model so that leaks and double drops show in its count.
    fn fresh(&mut self) -> Rc<u64> {
        self.stamp += 1;
        Rc::new(self.stamp)
    }

    #[expect(clippy::too_many_lines, reason = "one list")]
    fn step(&mut self, step: &Step) {
        let value = self.fresh();
        let (table, model) = (&mut self.table, &mut self.model);
        match *step {
            Step::Insert(n) => assert_eq!(
                table.insert(K::of(n), value.clone()),
                model.insert(K::of(n), value)
            ),
            Step::TryInsert(n) => {
                let absent = !model.contains_key(&K::of(n));
                assert_eq!(table.try_insert(K::of(n), value.clone()), absent);
                model.entry(K::of(n)).or_insert(value);
            }
            Step::Get(n) => {
                let key = K::of(n);
                assert_eq!(table.get(&key), model.get(&key));
                assert_eq!(table.get_key_value(&key), model.get_key_value(&key));
                assert_eq!(table.contains_key(&key), model.contains_key(&key));
            }
            Step::GetMut(n) => {
                let (a, b) = (table.get_mut(&K::of(n)), model.get_mut(&K::of(n)));
                assert_eq!(a.is_some(), b.is_some());
                if let (Some(a), Some(b)) = (a, b) {
                    *a = value.clone();
                    *b = value;
                }
            }
            Step::GetOrInsert(n) => assert_eq!(
                table.get_or_insert_with(K::of(n), || value.clone()),
                model.entry(K::of(n)).or_insert(value)
            ),
            Step::EntryModify(n) => {
                let a = table
                    .entry(K::of(n))
                    .and_modify(|v| *v = value.clone())
                    .or_insert_with(|| value.clone());
                assert_eq!(*a, value);
                model.insert(K::of(n), value);
            }
            Step::EntryRemove(n) => {
                let removed = match table.entry(K::of(n)) {
                    Entry::Occupied(entry) => {
                        assert_eq!(*entry.key(), K::of(n));
                        Some(entry.remove())
                    }
                    Entry::Vacant(entry) => {
                        assert_eq!(entry.into_key(), K::of(n));
                        None
                    }
                };
                assert_eq!(removed, model.remove(&K::of(n)));
            }
            Step::Remove(n) => {
                assert_eq!(table.remove_entry(&K::of(n)), model.remove_entry(&K::of(n)))
            }
            Step::EraseWith(n) => {
                let key = K::of(n);
                let place = |table: &Map<K, Rc<u64>, T>| -> HashMap<K, *const Rc<u64>> {
                    table
                        .iter_unordered()
                        .map(|(k, v)| (k.clone(), std::ptr::from_ref(v)))
                        .collect()
                };
                let before = place(table);
                let mut moved = Vec::new();
                let erased =
                    table.erase_with(&key, |k, v| moved.push((k.clone(), std::ptr::from_ref(v))));
                assert_eq!(erased, model.remove(&key).is_some());
                // The callback was told of exactly those entries that are somewhere else now. An entry that moved twice
                // in one erasure would be reported twice, and none does.
                let after = place(table);
                let mut expected: Vec<_> = after
                    .iter()
                    .filter(|(k, at)| before[*k] != **at)
                    .map(|(k, at)| (k.clone(), *at))
                    .collect();
                expected.sort_unstable_by(|a, b| a.0.cmp(&b.0));
                moved.sort_unstable_by(|a, b| a.0.cmp(&b.0));
                assert_eq!(moved, expected);
            }
            Step::Cursor(n) => {
                let cursor = table.cursor(&K::of(n));
                assert_eq!(cursor.is_some(), model.contains_key(&K::of(n)));
                if let Some(cursor) = cursor {
                    assert_eq!(table.at(cursor).1, &model[&K::of(n)]);
                    *table.at_mut(cursor) = value.clone();
                    assert_eq!(table.erase_at(cursor), (K::of(n), value));
                    model.remove(&K::of(n));
                }
            }
            Step::Retain(d) => {
                let mut seen = 0;
                let total = table.len();
                table.retain(|_, v| {
                    seen += 1;
                    !v.is_multiple_of(u64::from(d))
                });
                assert_eq!(seen, total, "the predicate runs once per entry");
                model.retain(|_, v| !v.is_multiple_of(u64::from(d)));
            }
            Step::RemoveIf(d) => {
                let before = model.len();
                model.retain(|_, v| !v.is_multiple_of(u64::from(d)));
                let removed = table.remove_if(|_, v| v.is_multiple_of(u64::from(d)));
                assert_eq!(removed, before - model.len());
            }
            Step::Clear => {
                table.clear();
                model.clear();
            }
            Step::Reserve(n) => {
                table.reserve(n as usize);
                assert!(table.capacity() >= table.len() + n as usize);
            }
            Step::Shrink => {
                table.shrink_to_fit();
                assert!(table.capacity() >= table.len());
            }
            Step::Clone => {
                let copy = table.clone();
                assert_eq!(copy, *table);
                assert!(copy.iter_unordered().eq(table.iter_unordered()));
                *table = copy;
            }
            Step::Extend(n) => {
                let entries: Vec<_> = (n..n + 9).map(|n| (K::of(n), value.clone())).collect();
                table.extend(entries.clone());
                model.extend(entries);
            }
            Step::Rebuild => {
                let old = std::mem::take(table);
                let expected = old.len();
                let mut owned = old.into_iter();
                assert_eq!(owned.len(), expected);
                // Half by hand and half by dropping the iterator.
                let half: Vec<_> = owned.by_ref().take(expected / 2).collect();
                drop(owned);
                *table = half.into_iter().collect();
                table.extend(model.iter().map(|(k, v)| (k.clone(), v.clone())));
            }
            Step::Drain(n) => {
                let total = table.len();
                let mut drained = table.drain();
                assert_eq!(drained.len(), total);
                for (key, value) in drained.by_ref().take(n as usize % (total + 1)) {
                    assert_eq!(model.remove(&key), Some(value));
                }
                drop(drained);
                model.clear();
                assert!(table.iter().next().is_none());
            }
            Step::ForgottenDrain => {
                // What a forgotten drain has not yielded leaks, so it is yielded first; the map is empty all the same.
                let mut drained = table.drain();
                assert_eq!(drained.by_ref().count(), model.len());
                model.clear();
                // Forgetting it leaks the allocation too, which a leak checker is not to see.
                if std::env::var_os("ORIOLE_NO_LEAKS").is_none() {
                    std::mem::forget(drained);
                    assert_eq!(table.allocated_bytes(), 0);
                }
            }
            Step::ExtractIf(d) => {
                let mut seen = 0;
                let total = table.len();
                let extracted: Vec<_> = table
                    .extract_if(|_, v| {
                        seen += 1;
                        v.is_multiple_of(u64::from(d))
                    })
                    .collect();
                assert_eq!(seen, total, "the predicate runs once per entry");
                for (key, value) in extracted {
                    assert!(value.is_multiple_of(u64::from(d)));
                    assert_eq!(model.remove(&key), Some(value));
                }
                assert!(model.values().all(|v| !v.is_multiple_of(u64::from(d))));
            }
            Step::ForgottenExtractIf(d) => {
                let mut extracting = table.extract_if(|_, v| v.is_multiple_of(u64::from(d)));
                for _ in 0..3 {
                    if let Some((key, value)) = extracting.next() {
                        assert_eq!(model.remove(&key), Some(value));
                    }
                }
                std::mem::forget(extracting);
            }
            Step::ForgottenIter => {
                let mut iter = table.iter_mut();
                iter.next();
                std::mem::forget(iter);
                let mut iter = table.iter();
                iter.next();
                std::mem::forget(iter);
            }
            Step::DisjointMut(n) => {
                let keys = [K::of(n), K::of(n + 1)];
                if keys[0] != keys[1] {
                    let [a, b] = table.get_disjoint_mut(keys.each_ref());
                    assert_eq!(a.as_deref(), model.get(&keys[0]));
                    assert_eq!(b.as_deref(), model.get(&keys[1]));
                }
            }
            Step::Reentrant(n) => {
                // A value that is made by looking at a copy of the same table, and a callback that looks at what it is given.
                let copy = table.clone();
                let made = table.get_or_insert_with(K::of(n), || {
                    copy.get(&K::of(n)).map_or(value.clone(), Rc::clone)
                });
                assert_eq!(made, model.entry(K::of(n)).or_insert(value));
                table.retain(|key, value| copy.get(key) == Some(value) || *key == K::of(n));
            }
        }
        assert_eq!(self.table.len(), self.model.len());
        assert!(self.table.capacity() >= self.table.len());
    }

    fn check_all(&self) {
        let mut expected: Vec<_> = self.model.iter().collect();
        expected.sort_unstable_by(|a, b| a.0.cmp(b.0));
        assert!(self.table.iter_sorted().eq(expected));
        assert_eq!(self.table.iter_unordered().len(), self.model.len());
        // Internal iteration takes another way through the buckets; it must be the same way.
        let mut stepped = Vec::new();
        for (key, _) in self.table.iter_unordered() {
            stepped.push(key);
        }
        let folded = self
            .table
            .iter_unordered()
            .fold(Vec::new(), |mut keys, (key, _)| {
                keys.push(key);
                keys
            });
        assert_eq!(stepped, folded);
        for (key, value) in self.table.iter_unordered() {
            assert_eq!(self.table.get(key), Some(value), "iterated but not found");
            // One owner here and one in the model; a count of its own for values shared by `extend`.
            assert!(Rc::strong_count(value) >= 2);
        }
    }

    fn run(mut self, steps: impl IntoIterator<Item = Step>, check_every: usize) {
        for (number, step) in steps.into_iter().enumerate() {
            self.step(&step);
            if number.is_multiple_of(check_every) {
                self.check_all();
            }
        }
        self.check_all();
        let witness = self.fresh();
        self.table.insert(K::of(0), witness.clone());
        drop(self.table);
        assert_eq!(Rc::strong_count(&witness), 1, "dropped with its table");
        // `extend` shares one value among nine keys.
        let all_freed = self
            .model
            .values()
            .all(|value| Rc::strong_count(value) <= 9);
        assert!(all_freed, "leaked");
    }
}

macro_rules! designs {
    ($($module:ident: $table:ident;)*) => {$(
        mod $module {
            use super::*;
            use oriole_collections::$table::Table;

            proptest! {
                #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(if cfg!(miri) { 1 } else { 24 }) })]
                #[test]
                #[cfg_attr(miri, ignore = "most of the time would go into making scripts; `long_run` does the same")]
                fn numbers(script in steps(300, 400)) {
                    Pair::<u32, Table<_, _>>::new().run(script, 40);
                }
                #[test]
                #[cfg_attr(miri, ignore = "most of the time would go into making scripts; `long_run` does the same")]
                fn extremes(script in steps(60, 300)) {
                    Pair::<Extreme, Table<_, _>>::new().run(script, 40);
                }
                #[test]
                #[cfg_attr(miri, ignore = "most of the time would go into making scripts; `long_run` does the same")]
                fn crowded(script in steps(220, 500)) {
                    Pair::<Crowded, Table<_, _>>::new().run(script, 40);
                }
                #[test]
                #[cfg_attr(miri, ignore = "most of the time would go into making scripts; `long_run` does the same")]
                fn clustered(script in steps(120, 500)) {
                    Pair::<Clustered, Table<_, _>>::new().run(script, 40);
                }
                #[test]
                #[cfg_attr(miri, ignore = "most of the time would go into making scripts; `long_run` does the same")]
                fn wrapping(script in steps(120, 400)) {
                    Pair::<Wrapping, Table<_, _>>::new().run(script, 40);
                }
                #[test]
                #[cfg_attr(miri, ignore = "most of the time would go into making scripts; `long_run` does the same")]
                fn strings(script in steps(40, 200)) {
                    Pair::<String, Table<_, _>>::new().run(script, 40);
                }
            }

            #[test]
            fn long_run() {
                long::<u32, Table<_, _>>(5000);
                long::<Crowded, Table<_, _>>(150);
                long::<Clustered, Table<_, _>>(100);
                long::<Wrapping, Table<_, _>>(90);
                long::<Extreme, Table<_, _>>(900);
                long::<String, Table<_, _>>(40);
            }
        }
    )*};
}

fn long<K: TestKey, T: RawTable<K, Rc<u64>>>(keys: u32) {
    let steps = match std::env::var("ORIOLE_MODEL_STEPS") {
        Ok(text) => text.parse().expect("ORIOLE_MODEL_STEPS is a number"),
        // Miri is some thousand times slower.
        Err(_) if cfg!(miri) => 120,
        Err(_) => 4_000,
    };
    let mut state = 1;
    Pair::<K, T>::new().run(
        (0..steps).map(|_| random_step(&mut state, keys)),
        500.max(steps / 200),
    );
}

designs! {
    on_swiss: swiss;
    on_linear: linear;
    on_classic: classic;
}

#[test]
fn zero_sized_keys_have_one_entry() {
    fn check<T: RawTable<(), ()>>() {
        let mut map = Map::<(), (), T>::new();
        assert_eq!(map.insert((), ()), None);
        assert_eq!(map.insert((), ()), Some(()));
        assert_eq!(map.len(), 1);
        assert_eq!(map.iter_unordered().count(), 1);
        assert!(map.erase(&()) && !map.contains_key(&()));
    }
    check::<swiss::Table<(), ()>>();
    check::<linear::Table<(), ()>>();
    check::<classic::Table<(), ()>>();
}

#[test]
fn iteration_order_is_a_function_of_the_operations() {
    fn order<T: RawTable<u32, u32>>() -> Vec<u32> {
        let mut map = Map::<u32, u32, T>::new();
        for n in 0..300 {
            map.insert(n * 7919, n);
        }
        map.retain(|_, v| !v.is_multiple_of(3));
        map.keys_unordered().copied().collect()
    }
    assert_eq!(order::<swiss::Table<_, _>>(), order::<swiss::Table<_, _>>());
    assert_eq!(
        order::<linear::Table<_, _>>(),
        order::<linear::Table<_, _>>()
    );
    // Seeds are fixed, so the order is also the same in every process: this is the one of the first build.
    let mut map = swiss::DenseMap::new();
    for n in [5u32, 3, 9, 1] {
        map.insert(n, ());
    }
    assert_eq!(
        map.keys_unordered().copied().collect::<Vec<_>>(),
        [1, 9, 3, 5]
    );
}

#[test]
fn internal_iteration_goes_on_where_stepping_stopped() {
    fn check<T: RawTable<u32, u32>>() {
        let counts = [0, 1, 2, 3, 4, 5, 9, 15, 16, 17, 40, 56, 57, 130, 500];
        for &count in if cfg!(miri) { &counts[..10] } else { &counts } {
            let mut map = Map::<u32, u32, T>::new();
            for n in 0..count {
                map.insert(n * 7919, n);
            }
            for erased in [0, 2, 3] {
                if erased != 0 {
                    map.retain(|_, v| !v.is_multiple_of(erased));
                }
                let stepped: Vec<(u32, u32)> = map.iter().map(|(k, v)| (*k, *v)).collect();
                assert_eq!(stepped.len(), map.len());
                for start in 0..stepped.len().min(70) {
                    let mut iter = map.iter();
                    let mut all: Vec<_> =
                        iter.by_ref().take(start).map(|(k, v)| (*k, *v)).collect();
                    assert_eq!(iter.len(), map.len() - start);
                    iter.for_each(|(k, v)| all.push((*k, *v)));
                    all.sort_unstable();
                    let mut expected = stepped.clone();
                    expected.sort_unstable();
                    assert_eq!(all, expected);
                }
                let sum: u32 = map.values().sum();
                assert_eq!(map.keys().sum::<u32>(), sum * 7919);
                map.values_mut().for_each(|v| *v += 0);
                assert_eq!(map.iter_mut().fold(0, |s, (_, v)| s + *v), sum);
            }
        }
    }
    check::<swiss::Table<_, _>>();
    check::<linear::Table<_, _>>();
    check::<classic::Table<_, _>>();
}
