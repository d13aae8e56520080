//! Benchmarks of the tables of `oriole-collections` against others: all contenders in one binary, interleaved, the
//! minimum of many rounds.
//!
//! `collections-bench [mix] [miss] [hits] [latency] [iterate] [octave] [bytes] [cliffs] [cold] [sites] [flood]
//! [--rounds N]`; without a
//! section, all of them. `collections-bench replay FILE...` replays traces. `ONLY=swiss,hashbrown+fx` in the environment
//! leaves the other contenders out, and `ROWS=tiny` the other rows of the mix, for profiling.

#![allow(clippy::disallowed_methods)] // bucket order is measured here

mod cliffs;
mod contender;
mod flood;
mod keys;
mod measure;
mod replay;
mod sections;
mod sites;

fn main() {
    let mut words = Vec::new();
    let mut rounds = 30;
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        if argument == "--rounds" {
            rounds = arguments
                .next()
                .and_then(|text| text.parse().ok())
                .expect("--rounds takes a number");
        } else {
            words.push(argument);
        }
    }
    match words.split_first() {
        Some((first, files)) if first == "replay" => {
            for file in files {
                replay::run(file, rounds);
            }
        }
        _ => sections::run(&words, rounds),
    }
}
