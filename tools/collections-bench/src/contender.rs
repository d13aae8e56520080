//! The contenders: every table behind the same batch operations.
//!
//! A batch, not one operation, is the unit of [`Contender`], so that each table's code inlines into its own loop and the
//! C++ one pays no call per operation. Rust tables say in [`Single`] what one operation is; the loops are shared.

use crate::keys::Key;
use oriole_collections::raw::RawTable;
use oriole_collections::{classic, linear, map::Map, swiss};
use std::hint::black_box;

/// Operation kinds of a [`Script`]: look up.
pub const FIND: u8 = 0;
/// Insert or overwrite.
pub const INSERT: u8 = 1;
/// Remove.
pub const ERASE: u8 = 2;

/// Operations over many short-lived tables, flattened.
pub struct Script<K> {
    /// What to do.
    pub kinds: Vec<u8>,
    /// With which key.
    pub keys: Vec<K>,
    /// How many operations each table sees.
    pub lengths: Vec<u32>,
}

/// Remove all.
pub const CLEAR: u8 = 3;
/// The table's end.
pub const DROP: u8 = 4;

/// Make room for so many more entries.
pub const RESERVE: u8 = 5;

/// Operations on many tables in the order in which a program did them.
pub struct Replay<K> {
    /// What to do.
    pub kinds: Vec<u8>,
    /// To which table.
    pub tables: Vec<u32>,
    /// With which key; anything for [`CLEAR`] and [`DROP`], a number as a key for [`RESERVE`].
    pub keys: Vec<K>,
    /// How many tables there are.
    pub table_count: usize,
}

/// A table under test.
pub trait Contender<K: Key>: Sized {
    /// Its name in the tables.
    fn name() -> &'static str;
    /// An empty table.
    fn new() -> Self;
    /// Sets the value of `keys[i]` to `values[i]`.
    fn insert(&mut self, keys: &[K], values: &[K]);
    /// Sum of the values found.
    fn find(&self, keys: &[K]) -> u64;
    /// Follows values as keys.
    fn chase(&self, start: K, count: usize) -> K;
    /// How many keys were erased.
    fn erase(&mut self, keys: &[K]) -> u64;
    /// Sum of all values by iteration.
    fn iterate(&self) -> u64;
    /// The same by internal iteration; `None` when this side has none.
    fn fold(&self) -> Option<u64>;
    /// Every key in iteration order; `None` when this side cannot tell.
    fn keys(&self) -> Option<Vec<K>>;
    /// Bytes of the allocation, when known.
    fn bytes(&self) -> Option<usize>;
    /// Runs a script; a checksum.
    fn script(script: &Script<K>) -> u64;
    /// Replays a program; a checksum.
    fn replay(replay: &Replay<K>) -> u64;
}

/// One operation on a Rust table.
pub trait Single<K: Key>: Sized {
    /// Its name in the tables.
    const NAME: &'static str;
    /// An empty table.
    fn make() -> Self;
    /// Stores.
    fn put(&mut self, key: K, value: K);
    /// Looks up.
    fn get(&self, key: K) -> Option<K>;
    /// Removes; whether the key was present.
    fn cut(&mut self, key: K) -> bool;
    /// Removes all.
    fn empty(&mut self);
    /// Makes room for so many more entries.
    fn room(&mut self, additional: usize);
    /// All values.
    fn sum(&self) -> u64;
    /// All values, by internal iteration.
    fn folded(&self) -> u64;
    /// All keys.
    fn all_keys(&self) -> Vec<K>;
    /// Bytes of the allocation, when known.
    fn size(&self) -> Option<usize>;
}

/// How many copies of its loops a Rust table is measured with, each at another distance from a line of the instruction cache.
pub const PLACES: usize = 4;

/// A Rust table under test, with the loops at one of [`PLACES`].
///
/// A short loop takes up to a third longer where it happens to cross from one line into the next, and where it lies changes with
/// every change anywhere in the program. So every table has its loops at every such place, and keeps the best.
pub struct Of<T, const PLACE: usize>(T);

/// Puts what follows in the function at a place.
#[inline(always)]
fn put<const PLACE: usize>() {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: this does nothing, a few times.
    unsafe {
        std::arch::asm!(
            ".p2align 6", ".rept {bytes}", "nop", ".endr",
            bytes = const PLACE * 64 / PLACES,
            options(nomem, nostack, preserves_flags)
        )
    }
}

impl<K: Key, T: Single<K>, const PLACE: usize> Contender<K> for Of<T, PLACE> {
    fn name() -> &'static str {
        T::NAME
    }
    fn new() -> Self {
        Self(T::make())
    }
    #[inline(never)]
    fn insert(&mut self, keys: &[K], values: &[K]) {
        put::<PLACE>();
        for (&key, &value) in keys.iter().zip(values) {
            self.0.put(key, value);
        }
    }
    #[inline(never)]
    fn find(&self, keys: &[K]) -> u64 {
        put::<PLACE>();
        let mut sum = 0u64;
        for &key in keys {
            if let Some(value) = self.0.get(key) {
                sum = sum.wrapping_add(value.word());
            }
        }
        sum
    }
    #[inline(never)]
    fn chase(&self, start: K, count: usize) -> K {
        put::<PLACE>();
        let mut key = start;
        for _ in 0..count {
            key = self.0.get(key).expect("the chain is closed");
        }
        key
    }
    #[inline(never)]
    fn erase(&mut self, keys: &[K]) -> u64 {
        put::<PLACE>();
        keys.iter().map(|&key| u64::from(self.0.cut(key))).sum()
    }
    #[inline(never)]
    fn iterate(&self) -> u64 {
        put::<PLACE>();
        self.0.sum()
    }
    #[inline(never)]
    fn fold(&self) -> Option<u64> {
        put::<PLACE>();
        Some(self.0.folded())
    }
    fn keys(&self) -> Option<Vec<K>> {
        Some(self.0.all_keys())
    }
    fn bytes(&self) -> Option<usize> {
        self.0.size()
    }
    #[inline(never)]
    fn script(script: &Script<K>) -> u64 {
        put::<PLACE>();
        let (mut at, mut sum) = (0, 0u64);
        for &length in &script.lengths {
            let mut table = T::make();
            let end = at + length as usize;
            for (&kind, &key) in script.kinds[at..end].iter().zip(&script.keys[at..end]) {
                match kind {
                    FIND => {
                        if let Some(value) = table.get(key) {
                            sum = sum.wrapping_add(value.word());
                        }
                    }
                    INSERT => table.put(key, key),
                    _ => sum += u64::from(table.cut(key)),
                }
            }
            at = end;
            black_box(&table);
        }
        sum
    }
    #[inline(never)]
    fn replay(replay: &Replay<K>) -> u64 {
        put::<PLACE>();
        let mut tables: Vec<T> = (0..replay.table_count).map(|_| T::make()).collect();
        let mut sum = 0u64;
        for ((&kind, &table), &key) in replay.kinds.iter().zip(&replay.tables).zip(&replay.keys) {
            let table = &mut tables[table as usize];
            match kind {
                FIND => {
                    if let Some(value) = table.get(key) {
                        sum = sum.wrapping_add(value.word());
                    }
                }
                INSERT => table.put(key, key),
                ERASE => sum += u64::from(table.cut(key)),
                CLEAR => table.empty(),
                RESERVE => table.room(key.word() as usize),
                _ => *table = T::make(),
            }
        }
        sum
    }
}

/// A table of this crate; the number is the capacity given at birth.
impl<K: Key, T: RawTable<K, K>> Single<K> for Map<K, K, T> {
    const NAME: &'static str = T::NAME;
    #[inline(always)]
    fn make() -> Self {
        Map::new()
    }
    #[inline(always)]
    fn put(&mut self, key: K, value: K) {
        self.insert(key, value);
    }
    #[inline(always)]
    fn get(&self, key: K) -> Option<K> {
        Map::get(self, &key).copied()
    }
    #[inline(always)]
    fn cut(&mut self, key: K) -> bool {
        Map::erase(self, &key)
    }
    fn empty(&mut self) {
        self.clear();
    }
    fn room(&mut self, additional: usize) {
        self.reserve(additional);
    }
    #[inline(always)]
    fn sum(&self) -> u64 {
        let mut sum = 0u64;
        for (_, value) in self.iter_unordered() {
            sum = sum.wrapping_add(value.word());
        }
        sum
    }
    #[inline(always)]
    fn folded(&self) -> u64 {
        self.values_unordered()
            .fold(0u64, |sum, value| sum.wrapping_add(value.word()))
    }
    fn all_keys(&self) -> Vec<K> {
        self.keys_unordered().copied().collect()
    }
    fn size(&self) -> Option<usize> {
        Some(self.allocated_bytes())
    }
}

/// The swiss design.
pub type Swiss<K, const PLACE: usize = 0> = Of<swiss::DenseMap<K, K>, PLACE>;
/// The new LLVM design.
pub type Linear<K, const PLACE: usize = 0> = Of<linear::DenseMap<K, K>, PLACE>;
/// The classic LLVM design.
pub type Classic<K, const PLACE: usize = 0> = Of<classic::DenseMap<K, K>, PLACE>;

macro_rules! standard_api {
    ($(#[$attribute:meta])* $type:ident, $map:ty, $name:literal, $new:expr, $remove:ident, $size:expr) => {
        $(#[$attribute])*
        pub struct $type<K>($map);
        impl<K: Key> Single<K> for $type<K> {
            const NAME: &'static str = $name;
            #[inline(always)]
            fn make() -> Self {
                Self($new)
            }
            #[inline(always)]
            fn put(&mut self, key: K, value: K) {
                self.0.insert(key, value);
            }
            #[inline(always)]
            fn get(&self, key: K) -> Option<K> {
                self.0.get(&key).copied()
            }
            #[inline(always)]
            fn cut(&mut self, key: K) -> bool {
                self.0.$remove(&key).is_some()
            }
            fn empty(&mut self) {
                self.0.clear();
            }
            fn room(&mut self, additional: usize) {
                self.0.reserve(additional);
            }
            #[inline(always)]
            #[allow(clippy::iter_over_hash_type)]
            fn sum(&self) -> u64 {
                let mut sum = 0u64;
                for (_, value) in &self.0 {
                    sum = sum.wrapping_add(value.word());
                }
                sum
            }
            #[inline(always)]
            fn folded(&self) -> u64 {
                self.0
                    .values()
                    .fold(0u64, |sum, value| sum.wrapping_add(value.word()))
            }
            fn all_keys(&self) -> Vec<K> {
                self.0.keys().copied().collect()
            }
            fn size(&self) -> Option<usize> {
                let size: fn(&$map) -> Option<usize> = $size;
                size(&self.0)
            }
        }
    };
}

type Fx = rustc_hash::FxBuildHasher;
type Fold = foldhash::fast::FixedState;

standard_api!(
    /// hashbrown with Fx: the baseline.
    BrownFxTable, hashbrown::HashMap<K, K, Fx>, "hashbrown+fx",
    hashbrown::HashMap::with_hasher(Fx::default()), remove, |map| Some(map.allocation_size()));
standard_api!(
    /// The baseline with sixteen buckets from birth.
    BrownFx14Table, hashbrown::HashMap<K, K, Fx>, "hashbrown+fx cap 14",
    hashbrown::HashMap::with_capacity_and_hasher(14, Fx::default()), remove, |map| Some(map.allocation_size()));
standard_api!(
    /// The baseline with 64 buckets from birth, as LLVM's tables have.
    BrownFx56Table, hashbrown::HashMap<K, K, Fx>, "hashbrown+fx cap 56",
    hashbrown::HashMap::with_capacity_and_hasher(56, Fx::default()), remove, |map| Some(map.allocation_size()));
standard_api!(
    /// hashbrown with foldhash and a fixed seed.
    BrownFoldTable, hashbrown::HashMap<K, K, Fold>, "hashbrown+foldhash",
    hashbrown::HashMap::with_hasher(Fold::with_seed(7)), remove, |map| Some(map.allocation_size()));
standard_api!(
    /// The standard map with its default hasher.
    StdTable, std::collections::HashMap<K, K>, "std", std::collections::HashMap::new(), remove, |_| None);
standard_api!(
    /// indexmap with Fx.
    IndexTable, indexmap::IndexMap<K, K, Fx>, "indexmap+fx",
    indexmap::IndexMap::with_hasher(Fx::default()), swap_remove, |_| None);

/// hashbrown with Fx: the baseline.
pub type BrownFx<K, const PLACE: usize = 0> = Of<BrownFxTable<K>, PLACE>;
/// The baseline with sixteen buckets from birth.
pub type BrownFx14<K, const PLACE: usize = 0> = Of<BrownFx14Table<K>, PLACE>;
/// The baseline with 64 buckets from birth, as LLVM's tables have.
pub type BrownFx56<K, const PLACE: usize = 0> = Of<BrownFx56Table<K>, PLACE>;
/// hashbrown with foldhash and a fixed seed.
pub type BrownFold<K, const PLACE: usize = 0> = Of<BrownFoldTable<K>, PLACE>;
/// The standard map with its default hasher.
pub type Std<K, const PLACE: usize = 0> = Of<StdTable<K>, PLACE>;
/// indexmap with Fx.
pub type Index<K, const PLACE: usize = 0> = Of<IndexTable<K>, PLACE>;
/// LLVM's C++ `DenseMap`.
#[cfg(have_llvm)]
pub struct Llvm<K: Key> {
    map: *mut std::ffi::c_void,
    key: std::marker::PhantomData<K>,
}

#[cfg(have_llvm)]
impl<K: Key> Drop for Llvm<K> {
    fn drop(&mut self) {
        K::llvm_free(self.map);
    }
}

#[cfg(have_llvm)]
impl<K: Key> Contender<K> for Llvm<K> {
    fn name() -> &'static str {
        "C++ LLVM"
    }
    fn new() -> Self {
        Self {
            map: K::llvm_new(),
            key: std::marker::PhantomData,
        }
    }
    fn insert(&mut self, keys: &[K], values: &[K]) {
        K::llvm_insert(self.map, keys, values);
    }
    fn find(&self, keys: &[K]) -> u64 {
        K::llvm_find(self.map, keys)
    }
    fn chase(&self, start: K, count: usize) -> K {
        K::llvm_chase(self.map, start, count)
    }
    fn erase(&mut self, keys: &[K]) -> u64 {
        K::llvm_erase(self.map, keys)
    }
    fn iterate(&self) -> u64 {
        K::llvm_iterate(self.map)
    }
    fn fold(&self) -> Option<u64> {
        None
    }
    fn keys(&self) -> Option<Vec<K>> {
        None
    }
    fn bytes(&self) -> Option<usize> {
        Some(K::llvm_bytes(self.map))
    }
    fn script(script: &Script<K>) -> u64 {
        K::llvm_mix(script)
    }
    fn replay(replay: &Replay<K>) -> u64 {
        K::llvm_replay(replay)
    }
}
