//! Tables as a program uses them: several places that look up, insert and erase in one type of table, operations in no order that a
//! branch predictor could learn, tables that are built, built to size, drained and churned; and what their code weighs.

#![allow(clippy::print_stdout)] // a benchmark's output is its purpose

use crate::contender::{BrownFxTable, Single};
use crate::keys::{Key, Pointer, Random};
use crate::measure::{Runner, race, timed};
use oriole_collections::{classic, linear, swiss};
use std::hint::black_box;

/// One of several places that use the same table. `SITE` only makes them different functions.
#[inline(never)]
fn site<K: Key, T: Single<K>, const SITE: usize>(table: &mut T, kind: u8, key: K) -> u64 {
    match kind {
        0 => table.get(key).map_or(SITE as u64, |value| value.word()),
        1 => u64::from(table.get(key).is_some()) << SITE,
        2 => {
            table.put(key, key);
            SITE as u64
        }
        _ => u64::from(table.cut(key)) + SITE as u64,
    }
}

type Site<K, T> = fn(&mut T, u8, K) -> u64;

fn all_sites<K: Key, T: Single<K>>() -> [Site<K, T>; 6] {
    [
        site::<K, T, 0>,
        site::<K, T, 1>,
        site::<K, T, 2>,
        site::<K, T, 3>,
        site::<K, T, 4>,
        site::<K, T, 5>,
    ]
}

/// What one table begins with, and operations on it: which site, what and with which key.
type Work<K> = (Vec<K>, Vec<(u8, u8, K)>);

/// Operations of one row, over all its tables.
const OPERATIONS: usize = 1 << 16;

/// How many tables a row of so many entries has. In one small table two keys happen to share a tag, or happen not to, and every
/// lookup of one of the two then pays for it; only the mean over several sets of keys says what a design costs.
fn tables_of(entries: usize) -> usize {
    (32_768 / entries).clamp(1, 32)
}

fn from_sites<'a, K: Key, T: Single<K> + 'a>(work: &'a [Work<K>]) -> Runner<'a> {
    Runner {
        name: T::NAME,
        round: Box::new(move || {
            let sites = black_box(all_sites::<K, T>());
            let mut tables: Vec<T> = work.iter().map(|_| T::make()).collect();
            for (table, (start, _)) in tables.iter_mut().zip(work) {
                for &key in start {
                    table.put(key, key);
                }
            }
            timed(|| {
                let mut sum = 0u64;
                for (table, (_, operations)) in tables.iter_mut().zip(work) {
                    for &(site, kind, key) in operations {
                        sum = sum.wrapping_add(sites[site as usize](table, kind, key));
                    }
                }
                sum
            })
        }),
    }
}

/// Builds a table of each set of keys.
fn building<'a, K: Key, T: Single<K> + 'a>(sets: &'a [Vec<K>], room: usize) -> Runner<'a> {
    Runner {
        name: T::NAME,
        round: Box::new(move || {
            timed(|| {
                for keys in sets {
                    let mut table = T::make();
                    if room != 0 {
                        table.room(room);
                    }
                    for &key in black_box(keys) {
                        table.put(key, key);
                    }
                    black_box(&table);
                }
                0
            })
        }),
    }
}

/// First in, first out, at a constant number of entries.
fn churning<'a, K: Key, T: Single<K> + 'a>(keys: &'a [K], entries: usize) -> Runner<'a> {
    Runner {
        name: T::NAME,
        round: Box::new(move || {
            timed(|| {
                let mut table = T::make();
                let mut sum = 0;
                for (at, &key) in keys.iter().enumerate() {
                    table.put(key, key);
                    if at >= entries {
                        sum += u64::from(table.cut(keys[at - entries]));
                    }
                }
                sum
            })
        }),
    }
}

/// Erases every key of many tables, each with keys of its own: which erased buckets need a mark must not be learned by heart.
fn erasing<'a, K: Key, T: Single<K> + 'a>(tables: &'a [(Vec<K>, Vec<K>)]) -> Runner<'a> {
    Runner {
        name: T::NAME,
        round: Box::new(move || {
            let mut full: Vec<T> = tables.iter().map(|_| T::make()).collect();
            for (table, (keys, _)) in full.iter_mut().zip(tables) {
                for &key in keys {
                    table.put(key, key);
                }
            }
            timed(|| {
                let mut sum = 0;
                for (table, (_, order)) in full.iter_mut().zip(tables) {
                    for &key in order {
                        sum += u64::from(table.cut(key));
                    }
                }
                sum
            })
        }),
    }
}

macro_rules! contenders {
    ($make:ident, $k:ty, $($argument:expr),*) => {
        vec![
            $make::<$k, swiss::DenseMap<$k, $k>>($($argument),*),
            $make::<$k, linear::DenseMap<$k, $k>>($($argument),*),
            $make::<$k, classic::DenseMap<$k, $k>>($($argument),*),
            $make::<$k, BrownFxTable<$k>>($($argument),*),
        ]
    };
}

/// Measures and prints a row, unless `ROWS` in the environment leaves it out.
fn row<'a, K: Key>(
    label: &str,
    operations: usize,
    rounds: usize,
    runners: impl FnOnce() -> Vec<Runner<'a>>,
) {
    let name = format!("{}, {label}", K::NAME);
    if std::env::var("ROWS").is_ok_and(|rows| !name.contains(&rows)) {
        return;
    }
    let row = race(runners(), operations, rounds);
    let cells: Vec<String> = row.iter().map(|(_, ns)| format!("{ns:.2}")).collect();
    let ratio = row[0].1 / row[row.len() - 1].1;
    println!("| {label} | {} | **{ratio:.2}** |", cells.join(" | "));
}

fn header(title: &str) {
    println!("\n### {title}\n");
    println!(
        "| | swiss | linear | classic | hashbrown+fx | swiss/hashbrown+fx |\n|---|---|---|---|---|---|"
    );
}

macro_rules! sections {
    ($name:ident, $k:ty) => {
        fn $name(rounds: usize) {
            let mut random = Random(21);
            header(&format!("{}, six call sites, ns per operation", <$k>::NAME));
            for (label, kinds) in [
                ("hits", &[0u8, 1][..]),
                ("misses", &[4, 4]),
                ("mix", &[0, 0, 0, 1, 4, 4, 4, 2, 2, 2, 3]),
            ] {
                for n in [2, 8, 15, 24, 50, 200, 1000, 10_000, 100_000] {
                    let work: Vec<Work<$k>> = (0..tables_of(n))
                        .map(|_| {
                            let mut keys = <$k>::random(2 * n + 64, &mut random);
                            let absent = keys.split_off(n);
                            let operations = (0..OPERATIONS / tables_of(n))
                                .map(|_| {
                                    let kind = kinds[random.below(kinds.len())];
                                    let new = kind == 4 || kind >= 2 && random.below(2) == 0;
                                    let from = if new { &absent } else { &keys };
                                    let key = from[random.below(from.len())];
                                    (random.below(6) as u8, if kind == 4 { 1 } else { kind }, key)
                                })
                                .collect();
                            (keys, operations)
                        })
                        .collect();
                    let operations = work.iter().map(|(_, operations)| operations.len()).sum();
                    row::<$k>(&format!("{label}, {n}"), operations, rounds, || {
                        contenders!(from_sites, $k, &work)
                    });
                }
            }
            header(&format!("{}, building, ns per key", <$k>::NAME));
            for n in [3, 10, 30, 100, 1000, 10_000, 100_000, 1_000_000] {
                let sets: Vec<Vec<$k>> = (0..(20_000 / n).max(1))
                    .map(|_| <$k>::random(n, &mut random))
                    .collect();
                let count = n * sets.len();
                let few = if n > 10_000 { rounds / 3 + 2 } else { rounds };
                row::<$k>(&format!("growing to {n}"), count, few, || {
                    contenders!(building, $k, &sets, 0)
                });
                row::<$k>(&format!("to size, {n}"), count, few, || {
                    contenders!(building, $k, &sets, n)
                });
            }
            header(&format!(
                "{}, churn and erasing, ns per operation",
                <$k>::NAME
            ));
            for n in [4, 12, 28, 40, 100, 1000, 12_000] {
                // Every table is gone through eight times and more: what one rehash costs must not hang on when a run ends.
                let keys = <$k>::random((8 * n).max(20_000), &mut random);
                let count = 2 * keys.len();
                row::<$k>(&format!("first in, first out, {n}"), count, rounds, || {
                    contenders!(churning, $k, &keys, n)
                });
                let tables: Vec<(Vec<$k>, Vec<$k>)> = (0..30_000 / n)
                    .map(|_| {
                        let keys = <$k>::random(n, &mut random);
                        let mut order = keys.clone();
                        random.shuffle(&mut order);
                        (keys, order)
                    })
                    .collect();
                let count = n * tables.len();
                row::<$k>(&format!("erase all of {n}"), count, rounds, || {
                    contenders!(erasing, $k, &tables)
                });
            }
        }
    };
}
sections!(pointers, Pointer);
sections!(narrow, u32);

/// Prints the section.
pub fn run(rounds: usize) {
    println!("\n## Several call sites, random operations, building, churn");
    pointers(rounds);
    narrow(rounds);
    // Kept for `nm`.
    black_box([
        code_get_swiss as *const u8,
        code_get_linear as *const u8,
        code_get_classic as *const u8,
        code_get_hashbrown as *const u8,
        code_insert_swiss as *const u8,
        code_insert_linear as *const u8,
        code_insert_classic as *const u8,
        code_insert_hashbrown as *const u8,
        code_erase_swiss as *const u8,
        code_erase_linear as *const u8,
        code_erase_classic as *const u8,
        code_erase_hashbrown as *const u8,
    ]);
}

macro_rules! code {
    ($($get:ident $insert:ident $erase:ident $table:ty;)*) => {$(
        /// One lookup, inlined.
        #[unsafe(no_mangle)]
        #[inline(never)]
        pub fn $get(table: &$table, key: u32) -> Option<u32> {
            Single::get(table, key)
        }
        /// One insertion.
        #[unsafe(no_mangle)]
        #[inline(never)]
        pub fn $insert(table: &mut $table, key: u32) {
            Single::put(table, key, key);
        }
        /// One erasure.
        #[unsafe(no_mangle)]
        #[inline(never)]
        pub fn $erase(table: &mut $table, key: u32) -> bool {
            Single::cut(table, key)
        }
    )*};
}
code! {
    code_get_swiss code_insert_swiss code_erase_swiss swiss::DenseMap<u32, u32>;
    code_get_linear code_insert_linear code_erase_linear linear::DenseMap<u32, u32>;
    code_get_classic code_insert_classic code_erase_classic classic::DenseMap<u32, u32>;
    code_get_hashbrown code_insert_hashbrown code_erase_hashbrown BrownFxTable<u32>;
}
