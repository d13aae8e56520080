//! Adversarial keys: does any pattern cost more than four times what random keys do?
//!
//! For every pattern the time to build a table and to look every key up is held against the same for random keys of the
//! same number. Patterns: sequential, strided by every power of two the type has, high bits only, and one table copied into
//! another in iteration order (into an empty one, which grows, and into one of the right size).

#![allow(clippy::print_stdout)] // a benchmark's output is its purpose

use crate::contender::{BrownFx, Contender, Linear, Swiss};
use crate::keys::{Key, Pointer, Random};
use crate::measure::{Runner, race, timed};
use std::hint::black_box;

/// Nanoseconds per key to build from `keys` and find them all, for swiss, linear and hashbrown.
fn cost<K: Key>(keys: &[K], rounds: usize) -> [f64; 3] {
    fn runner<'a, C: Contender<K> + 'a, K: Key>(keys: &'a [K], repeat: usize) -> Runner<'a> {
        Runner {
            name: C::name(),
            round: Box::new(move || {
                timed(|| {
                    let mut sum = 0u64;
                    for _ in 0..repeat {
                        let mut table = C::new();
                        table.insert(black_box(keys), keys);
                        sum = sum.wrapping_add(table.find(black_box(keys)));
                    }
                    sum
                })
            }),
        }
    }
    let repeat = (2000 / keys.len()).max(1);
    let runners = vec![
        runner::<Swiss<K>, K>(keys, repeat),
        runner::<Linear<K>, K>(keys, repeat),
        runner::<BrownFx<K>, K>(keys, repeat),
    ];
    let row = race(runners, keys.len() * repeat, rounds);
    [row[0].1, row[1].1, row[2].1]
}

struct Worst {
    ratios: [f64; 3],
    labels: [String; 3],
}

impl Worst {
    fn note(&mut self, label: &str, cost: [f64; 3], random: [f64; 3]) {
        for table in 0..3 {
            let ratio = cost[table] / random[table];
            if ratio > self.ratios[table] {
                self.ratios[table] = ratio;
                self.labels[table] = label.to_string();
            }
        }
    }
}

fn kind<K: Key>(bits: u32, make: fn(u64) -> K, rounds: usize) {
    const MOST: usize = 20_000;
    let mut worst = Worst {
        ratios: [0.0; 3],
        labels: Default::default(),
    };
    let mut source = Random(11);
    let mut random_cost = |n: usize| cost(&K::random(n, &mut source), rounds);
    let full = random_cost(MOST);
    let sequential: Vec<K> = (1..=MOST as u64).map(make).collect();
    worst.note("sequential", cost(&sequential, rounds), full);
    for shift in 1..bits - 4 {
        let n = if bits - shift >= 15 {
            MOST
        } else {
            (1 << (bits - shift)) - 8
        };
        let keys: Vec<K> = (0..n as u64).map(|i| make(i << shift)).collect();
        let random = if n == MOST { full } else { random_cost(n) };
        worst.note(
            &format!("stride 2^{shift}, {n} keys"),
            cost(&keys, rounds),
            random,
        );
    }
    let high: Vec<K> = (0..MOST as u64).map(|i| make(i << (bits - 15))).collect();
    worst.note("high bits only", cost(&high, rounds), full);
    println!(
        "| {} | {:.2} ({}) | {:.2} ({}) | {:.2} ({}) |",
        K::NAME,
        worst.ratios[0],
        worst.labels[0],
        worst.ratios[1],
        worst.labels[1],
        worst.ratios[2],
        worst.labels[2]
    );
}

/// Copies a table into another in iteration order; the ratio to copying the same keys in random order.
fn copies<C: Contender<u64>>(rounds: usize) -> (f64, f64) {
    let mut random = Random(12);
    let (mut growing, mut sized) = (0.0f64, 0.0f64);
    for n in [1000, 20_000, 100_000] {
        let keys = u64::random(n, &mut random);
        let mut table = C::new();
        table.insert(&keys, &keys);
        let ordered = table.keys().expect("a Rust table");
        let mut shuffled = ordered.clone();
        random.shuffle(&mut shuffled);
        let build = |keys: &[u64], presize: bool| {
            let mut best = f64::INFINITY;
            for _ in 0..rounds.max(5) {
                let mut copy = C::new();
                if presize {
                    // Filled and emptied again: the buckets stay.
                    copy.insert(keys, keys);
                    copy.erase(keys);
                }
                let (seconds, _) = timed(|| {
                    copy.insert(black_box(keys), keys);
                    copy.iterate()
                });
                best = best.min(seconds);
            }
            best
        };
        growing = growing.max(build(&ordered, false) / build(&shuffled, false));
        sized = sized.max(build(&ordered, true) / build(&shuffled, true));
    }
    (growing, sized)
}

/// Prints the section.
pub fn run(rounds: usize) {
    println!("\n## Adversarial keys: worst time over that of random keys (build and find all)\n");
    println!("| keys | swiss | linear | hashbrown+fx |\n|---|---|---|---|");
    kind::<u64>(64, |word| word, rounds / 4);
    kind::<u32>(32, |word| word as u32, rounds / 4);
    kind::<Pointer>(47, Pointer, rounds / 4);
    let (swiss, linear, brown) = (
        copies::<Swiss<u64>>(rounds / 3),
        copies::<Linear<u64>>(rounds / 3),
        copies::<BrownFx<u64>>(rounds / 3),
    );
    println!(
        "| copy in iteration order, growing | {:.2} | {:.2} | {:.2} |",
        swiss.0, linear.0, brown.0
    );
    println!(
        "| copy in iteration order, same size | {:.2} | {:.2} | {:.2} |",
        swiss.1, linear.1, brown.1
    );
}
