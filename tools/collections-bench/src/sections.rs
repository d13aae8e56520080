//! The measurements, one section per bar.

#![allow(clippy::print_stdout)] // a benchmark's output is its purpose

use crate::contender::*;
use crate::keys::{Key, Pointer, Random};
use crate::measure::{Runner, race, race_in_step, timed};
use std::hint::black_box;

type Row = Vec<(&'static str, f64)>;

/// Expands `$body` for a contender type at every place with `$c` bound to it, collecting the results.
macro_rules! at_each_place {
    ($all:ident, $type:ident<$k:ty>, $c:ident => $body:expr) => {
        at_each_place!($all, $type<$k>, [0 1 2 3], $c => $body)
    };
    ($all:ident, $type:ident<$k:ty>, [$($place:literal)*], $c:ident => $body:expr) => {{
        const { assert!([$($place),*].len() == PLACES) };
        $({
            type $c = $type<$k, $place>;
            $all.push($body);
        })*
    }};
}

/// Expands `$body` for every contender type with `$c` bound to it, at every place, collecting the results.
macro_rules! for_each_contender {
    ($k:ty, $c:ident => $body:expr) => {{
        let mut all = Vec::new();
        at_each_place!(all, Swiss<$k>, $c => $body);
        at_each_place!(all, Linear<$k>, $c => $body);
        at_each_place!(all, Classic<$k>, $c => $body);
        at_each_place!(all, BrownFx<$k>, $c => $body);
        at_each_place!(all, BrownFold<$k>, $c => $body);
        at_each_place!(all, Std<$k>, $c => $body);
        at_each_place!(all, Index<$k>, $c => $body);
        #[cfg(have_llvm)]
        {
            type $c = Llvm<$k>;
            all.push($body);
        }
        all
    }};
}

/// The same at one place only, for work that waits for memory and takes much of it.
macro_rules! for_each_contender_once {
    ($k:ty, $c:ident => $body:expr) => {{
        let mut all = Vec::new();
        {
            type $c = Swiss<$k>;
            all.push($body);
        }
        {
            type $c = Linear<$k>;
            all.push($body);
        }
        {
            type $c = Classic<$k>;
            all.push($body);
        }
        {
            type $c = BrownFx<$k>;
            all.push($body);
        }
        {
            type $c = BrownFold<$k>;
            all.push($body);
        }
        {
            type $c = Std<$k>;
            all.push($body);
        }
        {
            type $c = Index<$k>;
            all.push($body);
        }
        #[cfg(have_llvm)]
        {
            type $c = Llvm<$k>;
            all.push($body);
        }
        all
    }};
}

fn of(row: &Row, name: &str) -> f64 {
    row.iter()
        .find(|(n, _)| *n == name)
        .map_or(f64::NAN, |r| r.1)
}

fn header(title: &str, names: &[&'static str]) {
    println!("\n### {title}\n");
    println!("| | {} | swiss/hashbrown+fx |", names.join(" | "));
    println!("|---|{}", "---|".repeat(names.len() + 1));
}

fn line(label: &str, row: &Row) {
    let cells: Vec<String> = row.iter().map(|(_, ns)| format!("{ns:.2}")).collect();
    let ratio = of(row, "swiss") / of(row, "hashbrown+fx");
    println!("| {label} | {} | **{ratio:.2}** |", cells.join(" | "));
}

fn names<K: Key>() -> Vec<&'static str>
where
    u32: Key,
{
    let mut names = vec![
        <Swiss<K>>::name(),
        <Linear<K>>::name(),
        <Classic<K>>::name(),
        <BrownFx<K>>::name(),
        <BrownFold<K>>::name(),
        <Std<K>>::name(),
        <Index<K>>::name(),
    ];
    if cfg!(have_llvm) {
        names.push("C++ LLVM");
    }
    names
}

fn built<C: Contender<K>, K: Key>(keys: &[K]) -> C {
    let mut table = C::new();
    table.insert(keys, keys);
    table
}

/// So many lookups that no branch predictor can learn their order by heart.
const PROBES: usize = 1 << 17;

/// How many tables of so many entries there are, each with its own keys: lucky or unlucky collisions must not decide.
fn tables_of(entries: usize) -> usize {
    (4_096 / entries).clamp(32, 256)
}

struct Sample<K> {
    present: Vec<K>,
    asked: Vec<K>,
}

/// Tables of `n` random keys with lookups that all hit or all miss.
fn samples<K: Key>(n: usize, hit: bool, random: &mut Random) -> Vec<Sample<K>> {
    let tables = tables_of(n);
    (0..tables)
        .map(|_| {
            let mut present = K::random(n + 2048, random);
            let absent = present.split_off(n);
            let from = if hit { &present } else { &absent };
            let asked = (0..PROBES / tables)
                .map(|_| from[random.below(from.len())])
                .collect();
            Sample { present, asked }
        })
        .collect()
}

macro_rules! find_section {
    ($name:ident, $k:ty) => {
        fn $name(label: &str, samples: &[Sample<$k>], rounds: usize) -> Row {
            macro_rules! runner {
                ($c:ident) => {{
                    let tables: Vec<$c> = samples.iter().map(|sample| built(&sample.present)).collect();
                    Runner {
                        name: <$c as Contender<$k>>::name(),
                        round: Box::new(move || timed(|| {
                            let mut sum = 0u64;
                            for (table, sample) in tables.iter().zip(samples) {
                                sum = sum.wrapping_add(black_box(table).find(black_box(&sample.asked)));
                            }
                            sum
                        })),
                    }
                }};
            }
            // More copies of larger tables would push each other out of the cache.
            let runners = if samples[0].present.len() < 64 {
                let mut runners = for_each_contender!($k, C => runner!(C));
                at_each_place!(runners, BrownFx56<$k>, C => runner!(C));
                runners
            } else {
                let mut runners = for_each_contender_once!($k, C => runner!(C));
                type C = BrownFx56<$k>;
                runners.push(runner!(C));
                runners
            };
            let row = race(runners, PROBES, rounds);
            line(label, &row);
            row
        }
    };
}
find_section!(find_pointer, Pointer);
find_section!(find_u32, u32);

/// The columns of lookups: the baseline comes a second time, with LLVM's first size.
fn with_first_size(mut names: Vec<&'static str>) -> Vec<&'static str> {
    names.push("hashbrown+fx cap 56");
    names
}

fn miss(rounds: usize) {
    println!(
        "\n## Misses on a 1 KiB table (64 buckets of 16 bytes in LLVM's design), ns per lookup"
    );
    let mut random = Random(1);
    header("random pointers", &with_first_size(names::<Pointer>()));
    for n in [1, 2, 3, 4, 6, 8, 12, 16, 20, 24, 28, 32, 40, 48] {
        find_pointer(
            &format!("{n} entries"),
            &samples(n, false, &mut random),
            rounds,
        );
    }
}

const HIT_SIZES: [usize; 14] = [4, 8, 16, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1000];

fn hits(rounds: usize) {
    println!("\n## Random hits, ns per lookup");
    let mut random = Random(2);
    header("pointers", &with_first_size(names::<Pointer>()));
    for n in HIT_SIZES {
        find_pointer(&format!("{n}"), &samples(n, true, &mut random), rounds);
    }
    header("u32", &with_first_size(names::<u32>()));
    for n in HIT_SIZES {
        find_u32(&format!("{n}"), &samples(n, true, &mut random), rounds);
    }
}

fn iterate(rounds: usize) {
    for by_fold in [false, true] {
        println!(
            "\n## Iteration, ns per entry, {}",
            if by_fold {
                "internal (`fold`, `sum`, `for_each`; the C++ one by loop)"
            } else {
                "by `for` loop"
            }
        );
        header("pointers", &names::<Pointer>());
        let mut random = Random(3);
        for n in [4, 16, 48, 100, 200, 400, 800, 1000, 3000, 10_000, 100_000] {
            let keys = Pointer::random(n, &mut random);
            let repeat = (20_000 / n).max(1);
            macro_rules! runner {
                ($c:ident) => {{
                    let table: $c = built(&keys);
                    Runner {
                        name: <$c as Contender<Pointer>>::name(),
                        round: Box::new(move || {
                            timed(|| {
                                let mut sum = 0u64;
                                for _ in 0..repeat {
                                    let table = black_box(&table);
                                    let total = if by_fold { table.fold() } else { None };
                                    sum =
                                        sum.wrapping_add(total.unwrap_or_else(|| table.iterate()));
                                }
                                sum
                            })
                        }),
                    }
                }};
            }
            // More copies of large tables would push each other out of the cache.
            let runners = if n < 10_000 {
                for_each_contender!(Pointer, C => runner!(C))
            } else {
                for_each_contender_once!(Pointer, C => runner!(C))
            };
            line(&format!("{n}"), &race(runners, n * repeat, rounds));
        }
    }
}

fn cold(rounds: usize) {
    println!("\n## Cold dependent hits (each key is the value just found), ns per lookup");
    header("pointers", &names::<Pointer>());
    let mut random = Random(4);
    for n in [1_000_000, 10_000_000, 12_000_000, 14_000_000] {
        let keys = Pointer::random(n, &mut random);
        // One cycle through all keys: each one's value is the next.
        let mut values = keys[1..].to_vec();
        values.push(keys[0]);
        const STEPS: usize = 100_000;
        let runners = for_each_contender_once!(Pointer, C => {
            let mut table = <C as Contender<Pointer>>::new();
            table.insert(&keys, &values);
            let mut at = keys[0];
            Runner {
                name: <C as Contender<Pointer>>::name(),
                round: Box::new(move || timed(|| {
                    // Every contender walks the same cycle, so all are at the same key after the same round.
                    at = table.chase(at, STEPS);
                    at.word()
                })),
            }
        });
        line(
            &format!("{n}"),
            &race_in_step(runners, STEPS, (rounds / 2).max(5)),
        );
    }
}

fn bytes(_: usize) {
    println!("\n## Bytes of the allocation per entry");
    println!(
        "\n| entries | key | swiss | linear | hashbrown | C++ LLVM | swiss/hashbrown |\n|---|---|---|---|---|---|---|"
    );
    let mut random = Random(5);
    fn row<K: Key>(n: usize, random: &mut Random, sums: &mut (f64, f64)) {
        let keys = K::random(n, random);
        let per = |bytes: Option<usize>| bytes.map_or(f64::NAN, |b| b as f64 / n as f64);
        let swiss = per(built::<Swiss<K>, K>(&keys).bytes());
        let linear = per(built::<Linear<K>, K>(&keys).bytes());
        let brown = per(built::<BrownFx<K>, K>(&keys).bytes());
        #[cfg(have_llvm)]
        let llvm = per(built::<Llvm<K>, K>(&keys).bytes());
        #[cfg(not(have_llvm))]
        let llvm = f64::NAN;
        sums.0 += swiss;
        sums.1 += brown;
        println!(
            "| {n} | {} | {swiss:.1} | {linear:.1} | {brown:.1} | {llvm:.1} | **{:.3}** |",
            K::NAME,
            swiss / brown
        );
    }
    let mut sums = (0.0, 0.0);
    for n in [
        1, 2, 3, 4, 5, 7, 8, 10, 14, 15, 16, 17, 20, 28, 29, 40, 56, 57, 80, 112, 113, 1000, 1_792,
        1_793, 10_000, 100_000, 1_000_000,
    ] {
        row::<Pointer>(n, &mut random, &mut sums);
    }
    for n in [3, 7, 14, 16, 28, 56, 1000, 100_000] {
        row::<u32>(n, &mut random, &mut sums);
    }
}

/// How many entries the tables of one class reach, drawn evenly over the octaves of a range.
fn log_uniform(low: f64, high: f64, random: &mut Random) -> usize {
    let unit = random.next() as f64 / u64::MAX as f64;
    (low * (high / low).powf(unit)).round() as usize
}

/// A script with the mix of source 001 over tables whose insert counts come from `sizes`.
fn mix_script<K: Key>(
    operations: usize,
    sizes: &[(f64, f64, f64)],
    ordered: bool,
    random: &mut Random,
) -> Script<K> {
    let mut script = Script {
        kinds: Vec::new(),
        keys: Vec::new(),
        lengths: Vec::new(),
    };
    // A call site does one thing: the order of kinds is a fixed cycle that predictors learn, as they learn call sites.
    // Which key, how large the table is and what collides stay random.
    let mut cycle = [[0u8; 35].as_slice(), &[1; 35], &[2; 26], &[3; 4]].concat();
    Random(99).shuffle(&mut cycle);
    let mut turn = 0;
    let mut done = vec![0.0; sizes.len()];
    let mut ordinal = 0u64;
    while script.kinds.len() < operations {
        // The class furthest behind its share of the operations.
        let class = (0..sizes.len())
            .min_by(|&a, &b| f64::total_cmp(&(done[a] / sizes[a].0), &(done[b] / sizes[b].0)))
            .expect("there are classes");
        let inserts = log_uniform(sizes[class].1, sizes[class].2, random).max(1);
        let mut present: Vec<K> = Vec::new();
        let before = script.kinds.len();
        let mut inserted = 0;
        while inserted < inserts {
            ordinal += 1;
            let fresh = if ordered {
                K::in_order(ordinal)
            } else {
                K::from_number(random.next())
            };
            turn = (turn + 1) % cycle.len();
            let (kind, key) = match cycle[turn] {
                0 if !present.is_empty() => (FIND, present[random.below(present.len())]),
                0 | 1 => (FIND, fresh),
                3 if !present.is_empty() => {
                    let gone = random.below(present.len());
                    (ERASE, present.swap_remove(gone))
                }
                _ => {
                    inserted += 1;
                    present.push(fresh);
                    (INSERT, fresh)
                }
            };
            script.kinds.push(kind);
            script.keys.push(key);
        }
        let length = script.kinds.len() - before;
        script.lengths.push(length as u32);
        done[class] += length as f64;
    }
    script
}

macro_rules! mix_race {
    ($k:ty, $label:expr, $script:expr, $rounds:expr) => {{
        let script = $script;
        if wanted($label) {
            let mut runners = for_each_contender!($k, C => {
                let script = &script;
                Runner {
                    name: <C as Contender<$k>>::name(),
                    round: Box::new(move || timed(|| <C as Contender<$k>>::script(black_box(script)))),
                }
            });
            let extra = &script;
            at_each_place!(runners, BrownFx14<$k>, C => Runner {
                name: <C as Contender<$k>>::name(),
                round: Box::new(move || timed(|| <C as Contender<$k>>::script(black_box(extra)))),
            });
            at_each_place!(runners, BrownFx56<$k>, C => Runner {
                name: <C as Contender<$k>>::name(),
                round: Box::new(move || timed(|| <C as Contender<$k>>::script(black_box(extra)))),
            });
            let row = race(runners, script.kinds.len(), $rounds);
            line($label, &row);
        }
    }};
}

/// Whether a row of the mix is measured: all, or those that `ROWS` in the environment names a part of.
fn wanted(label: &str) -> bool {
    std::env::var("ROWS").map_or(true, |rows| label.contains(&rows))
}

/// Share of the operations, least and greatest number of inserts.
const MOSTLY_TINY: [(f64, f64, f64); 3] = [
    (0.65, 1.0, 48.0),
    (0.2, 64.0, 4096.0),
    (0.15, 4096.0, 32768.0),
];
const TINY: [(f64, f64, f64); 1] = [(1.0, 1.0, 48.0)];

fn mix(rounds: usize) {
    println!(
        "\n## Compiler mix (35 % hit, 35 % miss, 26 % insert, 4 % erase), tables made and dropped, ns per operation"
    );
    let mut columns = names::<Pointer>();
    columns.extend(["hashbrown+fx cap 14", "hashbrown+fx cap 56"]);
    header("mix", &columns);
    let mut random = Random(6);
    let operations = 1 << 19;
    mix_race!(
        Pointer,
        "pointers, random",
        mix_script::<Pointer>(operations, &MOSTLY_TINY, false, &mut random),
        rounds / 2
    );
    mix_race!(
        Pointer,
        "pointers, in order",
        mix_script::<Pointer>(operations, &MOSTLY_TINY, true, &mut random),
        rounds / 2
    );
    mix_race!(
        Pointer,
        "tiny pointers, random",
        mix_script::<Pointer>(operations, &TINY, false, &mut random),
        rounds / 2
    );
    mix_race!(
        Pointer,
        "tiny pointers, in order",
        mix_script::<Pointer>(operations, &TINY, true, &mut random),
        rounds / 2
    );
    mix_race!(
        u32,
        "tiny u32, random",
        mix_script::<u32>(operations, &TINY, false, &mut random),
        rounds / 2
    );
    mix_race!(
        u32,
        "u32, random",
        mix_script::<u32>(operations, &MOSTLY_TINY, false, &mut random),
        rounds / 2
    );
    mix_race!(
        u32,
        "u32, in order",
        mix_script::<u32>(operations, &MOSTLY_TINY, true, &mut random),
        rounds / 2
    );
    // The two other classes by themselves: they show where the mix above spends its time.
    for (label, sizes) in [
        ("mid u32, random", [(1.0, 64.0, 4096.0)]),
        ("large u32, random", [(1.0, 4096.0, 32768.0)]),
    ] {
        mix_race!(
            u32,
            label,
            mix_script::<u32>(operations, &sizes, false, &mut random),
            rounds / 2
        );
    }
}

macro_rules! replay_race {
    ($name:ident, $k:ty) => {
        /// Replays on every contender and prints a line.
        pub fn $name(label: &str, replay: &Replay<$k>, rounds: usize) {
            if replay.kinds.is_empty() {
                return;
            }
            header(&format!("{label}: {} operations", replay.kinds.len()), &names::<$k>());
            let runners = for_each_contender!($k, C => Runner {
                name: <C as Contender<$k>>::name(),
                round: Box::new(move || timed(|| <C as Contender<$k>>::replay(black_box(replay)))),
            });
            line(label, &race(runners, replay.kinds.len(), rounds));
        }
    };
}
replay_race!(race_replay_narrow, u32);
replay_race!(race_replay_wide, Pointer);

/// Lookups each of which waits for the one before: latency instead of throughput.
fn latency(rounds: usize) {
    println!("\n## Dependent hits in cache (latency), ns per lookup");
    let mut random = Random(7);
    header("pointers", &names::<Pointer>());
    for n in [8, 16, 32, 64, 128, 256, 512, 1024, 4096] {
        let mut keys = Pointer::random(n, &mut random);
        let mut values = keys[1..].to_vec();
        values.push(keys[0]);
        const STEPS: usize = 20_000;
        let runners = for_each_contender_once!(Pointer, C => {
            let mut table = <C as Contender<Pointer>>::new();
            table.insert(&keys, &values);
            let start = keys[0];
            Runner {
                name: <C as Contender<Pointer>>::name(),
                round: Box::new(move || timed(|| black_box(&table).chase(start, STEPS).word())),
            }
        });
        line(&format!("{n}"), &race(runners, STEPS, rounds));
        keys.clear();
    }
}

/// Building, hitting in order, missing and erasing over an octave of sizes, random and in-order keys.
fn octave(rounds: usize) {
    println!("\n## An octave of sizes, 700 to 1,400 entries, ns per operation");
    let mut random = Random(8);
    for ordered in [false, true] {
        let kind = if ordered { "in order" } else { "random" };
        header(&format!("pointers, {kind}"), &names::<Pointer>());
        for n in [700, 800, 896, 1000, 1150, 1300, 1400] {
            let make = |random: &mut Random, from: u64| -> Vec<Pointer> {
                if ordered {
                    (from..from + n as u64).map(Pointer::in_order).collect()
                } else {
                    Pointer::random(n, random)
                }
            };
            let keys = make(&mut random, 0);
            let absent = make(&mut random, 1 << 20);
            let mut gone = keys.clone();
            if !ordered {
                random.shuffle(&mut gone);
            }
            let phases: [(&str, usize); 4] = [("build", 0), ("hit", 1), ("miss", 2), ("erase", 3)];
            for (name, phase) in phases {
                let runners = for_each_contender_once!(Pointer, C => {
                    let (keys, absent, gone) = (&keys, &absent, &gone);
                    let table: C = built(keys);
                    Runner {
                        name: <C as Contender<Pointer>>::name(),
                        round: Box::new(move || match phase {
                            0 => timed(|| {
                                let table: C = built(black_box(keys));
                                black_box(&table);
                                0
                            }),
                            1 => timed(|| black_box(&table).find(black_box(keys))),
                            2 => timed(|| black_box(&table).find(black_box(absent))),
                            _ => {
                                let mut table: C = built(keys);
                                timed(|| table.erase(black_box(gone)))
                            }
                        }),
                    }
                });
                line(&format!("{n} {name}"), &race(runners, n, rounds * 3));
            }
        }
    }
}

/// Runs the named sections, all when none is named.
pub fn run(sections: &[String], rounds: usize) {
    match option_env!("LLVM_INCLUDE_USED") {
        Some(path) => println!("C++ contender built against {path}"),
        None => println!(
            "NO LLVM HEADERS WERE FOUND: THE C++ CONTENDER IS ABSENT FROM EVERY TABLE BELOW"
        ),
    }
    type Section = fn(usize);
    const ALL: [(&str, Section); 11] = [
        ("mix", mix),
        ("miss", miss),
        ("hits", hits),
        ("latency", latency),
        ("iterate", iterate),
        ("octave", octave),
        ("bytes", bytes),
        ("cliffs", crate::cliffs::run),
        ("cold", cold),
        ("sites", crate::sites::run),
        ("flood", crate::flood::run),
    ];
    for section in sections {
        let known = ALL.iter().any(|(name, _)| name == section);
        assert!(known, "no section is called {section}");
    }
    for (name, section) in ALL {
        if sections.is_empty() || sections.iter().any(|wanted| wanted == name) {
            section(rounds);
        }
    }
}
