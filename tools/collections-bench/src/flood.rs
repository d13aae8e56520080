//! Keys chosen to collide: what a table of them costs, over one of random keys.

#![allow(clippy::print_stdout)] // a benchmark's output is its purpose

use crate::keys::Random;
use crate::measure::{Runner, race, timed};
use oriole_collections::key::keyed_word;
use oriole_collections::{DenseKey, DenseMap, StringMap};
use std::hint::black_box;

/// Builds a table and finds everything in it.
fn cost(rounds: usize, count: usize, mut work: impl FnMut()) -> f64 {
    let runner = Runner {
        name: "table",
        round: Box::new(|| {
            timed(|| {
                work();
                0
            })
        }),
    };
    race(vec![runner], count, rounds)[0].1
}

/// Names of equal low hash bits, or random ones.
fn names(count: usize, bits: u32, random: &mut Random) -> Vec<String> {
    let mut names = Vec::with_capacity(count);
    while names.len() < count {
        let name = format!("v{}", random.next());
        if name.as_str().mix().trailing_zeros() >= bits {
            names.push(name);
        }
    }
    names
}

/// Prints a PTX module with so many global variables whose names have equal low hash bits (none: any names), to try a whole program
/// with.
pub fn print_module(count: usize, bits: u32) {
    println!(".version 8.0\n.target sm_80\n.address_size 64");
    for name in names(count, bits, &mut Random(41)) {
        println!(".global .u32 {name};");
    }
}

/// Prints the section.
pub fn run(rounds: usize) {
    println!("\n## Keys chosen to collide: time over that of random keys (build and find all)\n");
    println!("| keys | entries | random, ns | chosen, ns | ratio |\n|---|---|---|---|---|");
    let rounds = rounds / 3 + 2;
    let mut random = Random(31);
    let report = |what: &str, count: usize, plain: f64, chosen: f64| {
        println!(
            "| {what} | {count} | {plain:.1} | {chosen:.1} | **{:.2}** |",
            chosen / plain
        );
    };
    for count in [30, 300, 3000, 20_000] {
        let find = |keys: &[u64]| {
            cost(rounds, count, || {
                let mut map = DenseMap::new();
                for &key in black_box(keys) {
                    map.insert(Chosen(key), key);
                }
                for &key in keys {
                    black_box(map.get(&Chosen(key)));
                }
            })
        };
        let plain: Vec<u64> = (0..count).map(|_| random.next()).collect();
        let chosen: Vec<u64> = plain
            .iter()
            .map(|word| word & 0x00FF_FFFF_FFFF_0000)
            .collect();
        report("words, home and tag", count, find(&plain), find(&chosen));
        let bits = (count as u64).ilog2() + 1;
        let (plain, chosen) = (
            names(count, 0, &mut random),
            names(count, bits, &mut random),
        );
        let strings = |names: &[String]| {
            cost(rounds, count, || {
                let mut map = StringMap::new();
                for name in black_box(names) {
                    map.insert(name, 1u32);
                }
                for name in names {
                    black_box(map.get(name));
                }
            })
        };
        report(
            "names, home, StringMap",
            count,
            strings(&plain),
            strings(&chosen),
        );
        let slices = |names: &[String]| {
            cost(rounds, count, || {
                let mut map = DenseMap::new();
                for name in black_box(names) {
                    map.insert(name.as_str(), 1u32);
                }
                for name in names {
                    black_box(map.get(name.as_str()));
                }
            })
        };
        report(
            "names, home, DenseMap<&str>",
            count,
            slices(&plain),
            slices(&chosen),
        );
    }
}

/// A key whose hash is given, as if a mixer had been inverted.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Chosen(u64);

impl DenseKey for Chosen {
    #[inline]
    fn mix(&self) -> u64 {
        self.0
    }
    fn mix_keyed(&self, secret: u64) -> u64 {
        keyed_word(self.mix(), secret)
    }
}
