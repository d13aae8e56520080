//! Safe code at its worst: destructors, clones, comparisons, hashes, callbacks and iterators that panic at every possible
//! moment, keys that lie about equality and hashes, sizes that overflow.
//!
//! Whatever happens, a table must stay whole: it holds as many entries as it says, each can be read, nothing is dropped twice and
//! nothing leaks. `sanitize.sh` runs this under AddressSanitizer and valgrind, where a wrong read or a second drop shows
//! even when the counts are right by accident.

#![allow(clippy::disallowed_methods)] // bucket order is tested here
#![allow(clippy::forget_non_drop)] // forgetting iterators is what is tested, whether they have a destructor or not

use oriole_collections::extra::small::SmallMap;
use oriole_collections::extra::{Interner, OrderedMap};
use oriole_collections::key::keyed_word;
use oriole_collections::map::Map;
use oriole_collections::raw::RawTable;
use oriole_collections::string_map::{self, RawStrings, Strings};
use oriole_collections::{DenseKey, DenseMap, ScopedMap, TryReserveError, classic, linear, swiss};
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

/// What may panic.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Source {
    Drop,
    Clone,
    Eq,
    Hash,
    Callback,
}

const SOURCES: [Source; 5] = [
    Source::Drop,
    Source::Clone,
    Source::Eq,
    Source::Hash,
    Source::Callback,
];

thread_local! {
    static ARMED: Cell<Option<Source>> = const { Cell::new(None) };
    static LEFT: Cell<u32> = const { Cell::new(0) };
    static ALIVE: Cell<i64> = const { Cell::new(0) };
}

/// Panics when it is the turn of this source.
fn tick(source: Source) {
    if ARMED.get() == Some(source) {
        if LEFT.get() == 0 {
            ARMED.set(None);
            // No message and no hook: there are thousands of these.
            resume_unwind(Box::new("injected"));
        }
        LEFT.set(LEFT.get() - 1);
    }
}

/// Something with a destructor, on the heap so that sanitizers see every use.
struct Counted(Box<u32>);

impl Counted {
    fn new(number: u32) -> Self {
        ALIVE.set(ALIVE.get() + 1);
        Self(Box::new(number))
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        ALIVE.set(ALIVE.get() - 1);
        assert_ne!(*self.0, u32::MAX, "dropped twice");
        *self.0 = u32::MAX;
        tick(Source::Drop);
    }
}

impl Clone for Counted {
    fn clone(&self) -> Self {
        tick(Source::Clone);
        Self::new(*self.0)
    }
}

impl PartialEq for Counted {
    fn eq(&self, other: &Self) -> bool {
        tick(Source::Eq);
        self.0 == other.0
    }
}

impl Eq for Counted {}

impl DenseKey for Counted {
    fn mix(&self) -> u64 {
        tick(Source::Hash);
        // Few homes, so that there are long ways.
        (*self.0 % 7).mix()
    }
    fn mix_keyed(&self, secret: u64) -> u64 {
        keyed_word(self.mix(), secret)
    }
    fn classic_hash(&self) -> u32 {
        tick(Source::Hash);
        *self.0 % 7
    }
}

type Table<T> = Map<Counted, Counted, T>;
type Operation<T> = (&'static str, fn(&mut Table<T>));

fn filled<T: RawTable<Counted, Counted>>(entries: u32) -> Table<T> {
    let mut map = Table::<T>::new();
    for number in 0..entries {
        map.insert(Counted::new(number), Counted::new(number));
    }
    // Some erased, so that there are marks and holes.
    for number in (0..entries).step_by(5) {
        map.remove(&Counted::new(number));
    }
    map
}

#[expect(clippy::too_many_lines, reason = "one list")]
fn operations<T: RawTable<Counted, Counted>>() -> Vec<Operation<T>> {
    vec![
        ("insert", |map| {
            for number in 1000..1040 {
                map.insert(Counted::new(number), Counted::new(1));
            }
        }),
        ("insert over", |map| {
            map.insert(Counted::new(1), Counted::new(2));
            map.insert(Counted::new(3), Counted::new(2));
        }),
        ("get", |map| {
            for number in 0..9 {
                map.get(&Counted::new(number));
            }
        }),
        ("get_disjoint_mut", |map| {
            let keys = [1, 2].map(Counted::new);
            let [a, b] = map.get_disjoint_mut(keys.each_ref());
            if let (Some(a), Some(b)) = (a, b) {
                std::mem::swap(a, b);
            }
        }),
        ("entry", |map| {
            for number in 1000..1020 {
                map.entry(Counted::new(number)).or_insert_with_key(|key| {
                    tick(Source::Callback);
                    key.clone()
                });
            }
            let _ = map.entry(Counted::new(1)).and_modify(|value| {
                tick(Source::Callback);
                *value = Counted::new(9);
            });
        }),
        ("entry remove", |map| {
            if let oriole_collections::Entry::Occupied(entry) = map.entry(Counted::new(2)) {
                entry.remove_entry();
            }
        }),
        ("get_or_insert_with", |map| {
            for number in 1000..1020 {
                map.get_or_insert_with(Counted::new(number), || {
                    tick(Source::Callback);
                    Counted::new(1)
                });
            }
        }),
        ("remove", |map| {
            for number in 0..9 {
                map.remove(&Counted::new(number));
            }
        }),
        ("erase_with", |map| {
            for number in 0..9 {
                map.erase_with(&Counted::new(number), |_, _| tick(Source::Callback));
            }
        }),
        ("erase_at", |map| {
            if let Some(cursor) = map.cursor(&Counted::new(1)) {
                map.erase_at_with(cursor, |_, _| tick(Source::Callback));
            }
        }),
        ("reserve", |map| map.reserve(500)),
        ("shrink_to_fit", |map| map.shrink_to_fit()),
        ("shrink_to", |map| map.shrink_to(70)),
        ("clear", |map| map.clear()),
        ("retain", |map| {
            map.retain(|key, _| {
                tick(Source::Callback);
                !key.0.is_multiple_of(2)
            });
        }),
        ("remove_if", |map| {
            map.remove_if(|key, value| {
                tick(Source::Callback);
                *value = Counted::new(7);
                key.0.is_multiple_of(3)
            });
        }),
        ("extract_if", |map| {
            for (_, value) in map.extract_if(|key, _| {
                tick(Source::Callback);
                key.0.is_multiple_of(2)
            }) {
                tick(Source::Callback);
                drop(value);
            }
        }),
        ("drain", |map| {
            for entry in map.drain().take(5) {
                tick(Source::Callback);
                drop(entry);
            }
        }),
        ("into_iter", |map| {
            for entry in std::mem::take(map).into_iter().take(5) {
                tick(Source::Callback);
                drop(entry);
            }
        }),
        ("into_keys", |map| {
            for key in std::mem::take(map).into_keys() {
                tick(Source::Callback);
                drop(key);
            }
        }),
        ("into_values", |map| drop(std::mem::take(map).into_values())),
        ("drop", |map| drop(std::mem::take(map))),
        ("clone", |map| drop(map.clone())),
        ("clone_from", |map| {
            let other = map.clone();
            map.clone_from(&other);
        }),
        ("==", |map| {
            let other = map.clone();
            let _ = *map == other;
        }),
        ("extend", |map| {
            map.extend((500..530).map(|number| {
                tick(Source::Callback);
                (Counted::new(number), Counted::new(number))
            }));
        }),
        ("collect", |map| {
            *map = (500..530)
                .map(|number| {
                    tick(Source::Callback);
                    (Counted::new(number), Counted::new(number))
                })
                .collect();
        }),
        ("values_mut", |map| {
            for value in map.values_mut() {
                tick(Source::Callback);
                *value = Counted::new(3);
            }
        }),
        ("into_sorted_vec", |map| {
            let mut entries: Vec<_> = std::mem::take(map).into_iter().collect();
            entries.sort_by_key(|entry| *entry.0.0);
        }),
    ]
}

/// Runs an operation with a panic at the first, second, third, … moment, until it comes to its end without one. Miri, which takes a
/// thousand times as long, tries the first, the fourth, the sixteenth and so on.
fn at_every_moment(name: &str, source: Source, mut run: impl FnMut() -> bool) -> u32 {
    let mut moment = 0;
    loop {
        LEFT.set(moment);
        ARMED.set(Some(source));
        let came_to_its_end = run();
        ARMED.set(None);
        assert_eq!(ALIVE.get(), 0, "{name}: {source:?} at {moment}");
        if came_to_its_end {
            return moment;
        }
        assert!(moment < 100_000, "it never ends");
        moment = if cfg!(miri) {
            4 * moment + 3
        } else {
            moment + 1
        };
    }
}

fn check_whole<T: RawTable<Counted, Counted>>(map: &Table<T>, findable: bool, context: &str) {
    let seen: Vec<u32> = map
        .iter()
        .map(|(key, value)| {
            assert_ne!(*value.0, u32::MAX, "{context}: a dropped value");
            *key.0
        })
        .collect();
    assert_eq!(seen.len(), map.len(), "{context}");
    assert_eq!(map.iter().len(), map.len(), "{context}");
    for number in &seen {
        assert_ne!(*number, u32::MAX, "{context}: a dropped key");
        if findable {
            assert!(
                map.contains_key(&Counted::new(*number)),
                "{context}: {number} is lost"
            );
        }
    }
}

/// Under miri only one operation of `every`.
fn inject<T: RawTable<Counted, Counted>>(sizes: &[u32], every: usize) {
    let mut moments = 0;
    let every = if cfg!(miri) { every } else { 1 };
    for (name, operation) in operations::<T>().into_iter().step_by(every) {
        for &size in sizes {
            for source in SOURCES {
                moments += at_every_moment(name, source, || {
                    let armed = ARMED.replace(None);
                    let mut map = filled::<T>(size);
                    ARMED.set(armed);
                    let result = catch_unwind(AssertUnwindSafe(|| operation(&mut map)));
                    let ended = ARMED.replace(None).is_some();
                    assert_eq!(
                        ended,
                        result.is_ok(),
                        "{}: {name} swallowed a panic",
                        T::NAME
                    );
                    // A hash that panics while Algorithm R closes a gap leaves entries behind the gap; they are still there.
                    let findable = source != Source::Hash;
                    check_whole(&map, findable, &format!("{}: {name}, {source:?}", T::NAME));
                    map.insert(Counted::new(77_777), Counted::new(1));
                    assert!(map.contains_key(&Counted::new(77_777)));
                    drop(map);
                    ended
                });
            }
        }
    }
    assert!(
        moments as usize > 500 / every,
        "nothing was injected: {moments}"
    );
}

/// Miri and valgrind take long.
fn sizes() -> &'static [u32] {
    if cfg!(miri) {
        &[18]
    } else if std::env::var_os("ORIOLE_SLOW").is_some() {
        &[3, 20]
    } else {
        &[3, 15, 40]
    }
}

#[test]
fn swiss_survives_a_panic_at_every_moment() {
    inject::<swiss::Table<_, _>>(sizes(), 4);
}

#[test]
fn linear_survives_a_panic_at_every_moment() {
    inject::<linear::Table<_, _>>(sizes(), 12);
}

#[test]
fn classic_survives_a_panic_at_every_moment() {
    inject::<classic::Table<_, _>>(sizes(), 12);
}

type StringOperation<T> = (&'static str, fn(&mut Strings<Counted, str, T>));

fn string_operations<T: RawStrings>() -> Vec<StringOperation<T>> {
    vec![
        ("insert", |map| {
            for number in 0..40 {
                map.insert(&format!("new{number}"), Counted::new(1));
            }
            map.insert("name1", Counted::new(1));
        }),
        ("entry", |map| {
            for number in 0..9 {
                map.entry(&format!("new{number}")).or_insert_with(|| {
                    tick(Source::Callback);
                    Counted::new(1)
                });
            }
        }),
        ("remove", |map| {
            for number in 0..9 {
                map.remove(&format!("name{number}"));
            }
        }),
        ("retain", |map| {
            map.retain(|_, value| {
                tick(Source::Callback);
                value.0.is_multiple_of(2)
            });
        }),
        ("clear", |map| map.clear()),
        ("drain", |map| {
            for entry in map.drain().take(3) {
                tick(Source::Callback);
                drop(entry);
            }
        }),
        ("into_iter", |map| {
            for entry in std::mem::take(map).into_iter().take(3) {
                tick(Source::Callback);
                drop(entry);
            }
        }),
        ("drop", |map| drop(std::mem::take(map))),
        ("clone", |map| drop(map.clone())),
        ("extend", |map| {
            map.extend((0..20).map(|number| {
                tick(Source::Callback);
                (format!("more{number}"), Counted::new(number))
            }));
        }),
    ]
}

fn inject_strings<T: RawStrings>() {
    let every = if cfg!(miri) { 4 } else { 1 };
    for (name, operation) in string_operations::<T>().into_iter().step_by(every) {
        for &size in if cfg!(miri) { &[18][..] } else { &[0, 3, 40] } {
            for source in [Source::Drop, Source::Clone, Source::Callback] {
                at_every_moment(name, source, || {
                    let armed = ARMED.replace(None);
                    let mut map = Strings::<Counted, str, T>::new();
                    for number in 0..size {
                        map.insert(&format!("name{number}"), Counted::new(number));
                    }
                    ARMED.set(armed);
                    let result = catch_unwind(AssertUnwindSafe(|| operation(&mut map)));
                    let ended = ARMED.replace(None).is_some();
                    assert_eq!(ended, result.is_ok());
                    assert_eq!(map.iter().count(), map.len(), "{}: {name}", T::NAME);
                    for (key, value) in &map {
                        assert_ne!(*value.0, u32::MAX);
                        assert!(map.contains_key(key), "{}: {name} lost {key}", T::NAME);
                    }
                    drop(map);
                    ended
                });
            }
        }
    }
}

#[test]
fn string_tables_survive_a_panic_at_every_moment() {
    inject_strings::<string_map::swiss::Table>();
    inject_strings::<string_map::linear::Table>();
    inject_strings::<classic::Strings>();
}

type Ordered = OrderedMap<Counted, Counted>;

type OrderedOperation = (&'static str, fn(&mut Ordered));

fn ordered_operations() -> Vec<OrderedOperation> {
    vec![
        ("insert", |map| {
            for number in 100..130 {
                map.insert(Counted::new(number), Counted::new(number));
            }
            map.insert(Counted::new(101), Counted::new(102));
        }),
        ("entry", |map| {
            for number in 0..40 {
                map.entry(Counted::new(number)).or_insert_with(|| {
                    tick(Source::Callback);
                    Counted::new(number)
                });
            }
        }),
        ("remove", |map| {
            for number in [3, 0, 99, 7] {
                map.remove(&Counted::new(number));
            }
        }),
        ("swap_remove", |map| {
            for number in [3, 0, 99, 7] {
                map.swap_remove(&Counted::new(number));
            }
        }),
        ("pop", |map| while map.pop().is_some() {}),
        ("retain", |map| {
            map.retain(|key, _| {
                tick(Source::Callback);
                !key.0.is_multiple_of(3)
            });
        }),
        ("clear", OrderedMap::clear),
        ("drain", |map| {
            for entry in map.drain().take(3) {
                tick(Source::Callback);
                drop(entry);
            }
        }),
        ("clone", |map| drop(map.clone())),
    ]
}

#[test]
fn ordered_maps_survive_a_panic_at_every_moment() {
    let mut moments = 0;
    for (name, operation) in ordered_operations() {
        for source in SOURCES {
            moments += at_every_moment(name, source, || {
                let armed = ARMED.replace(None);
                let mut map = (0..20)
                    .map(|number| (Counted::new(number), Counted::new(number)))
                    .collect::<Ordered>();
                ARMED.set(armed);
                let result = catch_unwind(AssertUnwindSafe(|| operation(&mut map)));
                let ended = ARMED.replace(None).is_some();
                assert_eq!(ended, result.is_ok());
                for (position, (key, value)) in map.iter().enumerate() {
                    assert!(*key.0 != u32::MAX && *value.0 != u32::MAX);
                    assert_eq!(map.position(key), Some(position), "{name}, {source:?}");
                }
                let next = map.len();
                map.insert(Counted::new(77_777), Counted::new(1));
                assert_eq!(map.position(&Counted::new(77_777)), Some(next), "{name}");
                ended
            });
        }
    }
    assert!(moments > 500, "nothing was injected: {moments}");
}

fn inject_small<T: RawTable<Counted, Counted>>() {
    let mut spills = 0;
    for source in SOURCES {
        for size in [3, 4, 9] {
            at_every_moment("small", source, || {
                let armed = ARMED.replace(None);
                let mut map = SmallMap::<Counted, Counted, 4, T>::new();
                for number in 0..size {
                    map.insert(Counted::new(number), Counted::new(number));
                }
                ARMED.set(armed);
                let result = catch_unwind(AssertUnwindSafe(|| {
                    map.insert(Counted::new(50), Counted::new(50));
                    map.get_or_insert_with(Counted::new(51), || {
                        tick(Source::Callback);
                        Counted::new(51)
                    });
                }));
                let ended = ARMED.replace(None).is_some();
                assert_eq!(ended, result.is_ok());
                spills += u32::from(map.is_small() && source == Source::Hash);
                // What was there before is there now.
                for number in 0..size {
                    let value = map.get(&Counted::new(number)).map(|value| *value.0);
                    assert_eq!(value, Some(number), "{}: {source:?}, {size}", T::NAME);
                }
                assert_eq!(map.iter().count(), map.len());
                ended
            });
        }
    }
    assert!(spills > 5, "no spill was cut short: {spills}");
}

#[test]
fn small_maps_survive_a_panic_at_every_moment() {
    inject_small::<swiss::Table<_, _>>();
    inject_small::<linear::Table<_, _>>();
    inject_small::<classic::Table<_, _>>();
}

#[test]
fn scoped_maps_survive_a_panic_at_every_moment() {
    for source in SOURCES {
        at_every_moment("scoped", source, || {
            let armed = ARMED.replace(None);
            let mut scoped = ScopedMap::new();
            for number in 0..20 {
                scoped.insert_if_absent(Counted::new(number), Counted::new(number));
            }
            ARMED.set(armed);
            let result = catch_unwind(AssertUnwindSafe(|| {
                scoped.push_scope();
                scoped.replace(Counted::new(4), Counted::new(5));
                for number in 10..60 {
                    scoped.insert_if_absent(Counted::new(number), Counted::new(number));
                }
                scoped.pop_scope();
            }));
            let ended = ARMED.replace(None).is_some();
            assert_eq!(ended, result.is_ok());
            for number in (0..20).filter(|&number| number != 4) {
                let value = scoped.get(&Counted::new(number)).map(|value| *value.0);
                assert_eq!(value, Some(number), "{source:?}");
            }
            scoped.clear();
            assert!(scoped.get(&Counted::new(1)).is_none());
            ended
        });
    }
}

/// Says something else about hash and equality every time it is asked.
#[derive(Clone)]
struct Liar(Box<u32>);

thread_local! {
    static STATE: Cell<u64> = const { Cell::new(1) };
}

fn random() -> u64 {
    STATE.set(
        STATE
            .get()
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1),
    );
    STATE.get() >> 33
}

impl PartialEq for Liar {
    fn eq(&self, other: &Self) -> bool {
        random().is_multiple_of(4) || self.0 == other.0
    }
}

impl Eq for Liar {}

impl DenseKey for Liar {
    fn mix(&self) -> u64 {
        random().mix() & 0xFF00_0000_0000_00FF
    }
    fn mix_keyed(&self, secret: u64) -> u64 {
        keyed_word(self.mix(), secret)
    }
}

/// Has no size and is equal to nothing.
#[derive(Clone)]
struct Void;

impl PartialEq for Void {
    fn eq(&self, _: &Self) -> bool {
        false
    }
}

impl Eq for Void {}

impl DenseKey for Void {
    fn mix(&self) -> u64 {
        7
    }
    fn mix_keyed(&self, secret: u64) -> u64 {
        keyed_word(self.mix(), secret)
    }
}

#[repr(align(64))]
#[derive(Clone, PartialEq, Eq)]
struct AlignedVoid;

impl DenseKey for AlignedVoid {
    fn mix(&self) -> u64 {
        random()
    }
    fn mix_keyed(&self, secret: u64) -> u64 {
        keyed_word(self.mix(), secret)
    }
}

fn abuse<K: DenseKey + Clone, V: Clone, T: RawTable<K, V>>(
    key: impl Fn(u32) -> K,
    value: impl Fn() -> V,
    read: impl Fn(&K, &V),
) {
    let steps = if cfg!(miri) {
        60
    } else if std::env::var_os("ORIOLE_SLOW").is_some() {
        600
    } else {
        20_000
    };
    let mut map = Map::<K, V, T>::new();
    for _ in 0..steps {
        let number = random() as u32 % 200;
        match random() % 24 {
            0..10 => drop(map.insert(key(number), value())),
            10..13 => drop(map.remove_entry(&key(number))),
            13 => drop(map.get_or_insert_with(key(number), &value).clone()),
            14 => map.retain(|_, _| !random().is_multiple_of(8)),
            15 => map.reserve(random() as usize % 300),
            16 => map.shrink_to_fit(),
            17 => map = map.clone(),
            18 if random().is_multiple_of(8) => map.clear(),
            19 => drop(
                map.extract_if(|_, _| random().is_multiple_of(8))
                    .collect::<Vec<_>>(),
            ),
            20 => drop(map.get(&key(number)).cloned()),
            21 if random().is_multiple_of(8) => drop(map.drain().take(3).collect::<Vec<_>>()),
            22 => {
                if let Some(cursor) = map.cursor(&key(number)) {
                    drop(map.erase_at(cursor));
                }
            }
            _ => {
                if let oriole_collections::Entry::Occupied(entry) = map.entry(key(number)) {
                    entry.remove_entry();
                }
            }
        }
        assert_eq!(map.iter().count(), map.len(), "{}", T::NAME);
        map.iter().for_each(|(key, value)| read(key, value));
    }
}

#[test]
fn keys_that_lie_cannot_make_a_table_unsound() {
    fn check<L: RawTable<Liar, Box<u32>>, Z: RawTable<Void, ()>, A: RawTable<AlignedVoid, ()>>() {
        abuse::<_, _, L>(
            |n| Liar(Box::new(n)),
            || Box::new(5),
            |key, value| {
                assert!(*key.0 < 200 && **value == 5);
            },
        );
        abuse::<_, _, Z>(|_| Void, || (), |_, ()| ());
        abuse::<_, _, A>(
            |_| AlignedVoid,
            || (),
            |key, ()| assert!(std::ptr::from_ref(key).addr().is_multiple_of(64)),
        );
    }
    check::<swiss::Table<_, _>, swiss::Table<_, _>, swiss::Table<_, _>>();
    check::<linear::Table<_, _>, linear::Table<_, _>, linear::Table<_, _>>();
    check::<classic::Table<_, _>, classic::Table<_, _>, classic::Table<_, _>>();
}

#[test]
fn a_key_without_a_size_that_equals_nothing_is_counted() {
    fn check<T: RawTable<Void, Box<u32>>, S: RawTable<Void, ()>>() {
        let mut map = Map::<Void, Box<u32>, T>::new();
        let mut set = Map::<Void, (), S>::new();
        for number in 0..100 {
            map.insert(Void, Box::new(number));
            set.insert(Void, ());
        }
        map.shrink_to_fit();
        set.shrink_to_fit();
        set.insert(Void, ());
        assert_eq!((map.len(), map.iter().count()), (100, 100));
        assert_eq!((set.len(), set.iter().count()), (101, 101));
        assert_eq!(set.into_iter().count(), 101);
    }
    check::<swiss::Table<_, _>, swiss::Table<_, _>>();
    check::<linear::Table<_, _>, linear::Table<_, _>>();
    check::<classic::Table<_, _>, classic::Table<_, _>>();
}

#[test]
#[cfg_attr(miri, ignore = "miri ends where an allocator would refuse")]
fn impossible_sizes_are_refused() {
    fn check<T: RawTable<u64, u64>>() {
        for room in [
            1 << 60,
            1 << 61,
            usize::MAX,
            usize::MAX / 8,
            usize::MAX / 4 + 2,
        ] {
            let mut map = Map::<u64, u64, T>::new();
            map.insert(1, 1);
            assert_eq!(
                map.try_reserve(room),
                Err(TryReserveError::CapacityOverflow)
            );
            assert!(catch_unwind(AssertUnwindSafe(|| map.reserve(room))).is_err());
            assert_eq!((map.len(), map[&1]), (1, 1));
            map.insert(2, 2);
        }
    }
    check::<swiss::Table<_, _>>();
    check::<linear::Table<_, _>>();
    check::<classic::Table<_, _>>();
    let mut names = oriole_collections::StringMap::<u8>::new();
    assert!(names.try_reserve(1 << 61).is_err());
    // More than an address space of slots that have a size.
    let mut wide = DenseMap::<u32, [u8; 1 << 30]>::new();
    assert!(wide.try_reserve(1 << 30).is_err());
}

#[test]
fn forgotten_iterators_leave_a_table_whole() {
    fn check<T: RawTable<u32, u32>>() {
        let mut map: Map<u32, u32, T> = (0..100).map(|n| (n, n)).collect();
        std::mem::forget(map.drain());
        assert!(map.is_empty() && map.iter().next().is_none());
        map.extend((0..100).map(|n| (n, n)));
        let mut some = map.extract_if(|key, _| key % 2 == 0);
        some.next();
        std::mem::forget(some);
        assert_eq!((map.len(), map.iter().count()), (99, 99));
        std::mem::forget(map.iter_mut());
        std::mem::forget(map.clone().into_iter());
        map.retain(|key, _| key % 2 == 1);
        assert_eq!(map.len(), 50);
    }
    // The tables and what was in them leak, which is allowed, but not to a leak checker.
    if std::env::var_os("ORIOLE_NO_LEAKS").is_none() {
        check::<swiss::Table<_, _>>();
        check::<linear::Table<_, _>>();
        check::<classic::Table<_, _>>();
    }
}

#[test]
fn interned_names_outlive_growth_and_moves() {
    let mut interner = Interner::new();
    let first = interner.intern("first");
    let address = interner.resolve(first).as_ptr();
    for number in 0..if cfg!(miri) { 100 } else { 1000 } {
        interner.intern(&number.to_string());
    }
    let moved = Box::new(interner);
    assert_eq!(moved.resolve(first).as_ptr(), address);
    assert_eq!(moved.resolve(first), "first");
}
