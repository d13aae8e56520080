//! Benchmarks of the tables of `oriole-collections` against others: all contenders in one binary, interleaved, the
//! minimum of many rounds.
//!
//! `collections-bench [mix] [miss] [hits] [latency] [iterate] [octave] [bytes] [cliffs] [cold] [sites] [flood]
//! [--rounds N]`; without a
//! section, all of them. `collections-bench replay FILE...` replays traces, `collections-bench module 10000 14` writes a PTX module
//! of names that collide. `ONLY=swiss,hashbrown+fx` in the environment leaves the other contenders out, and `ROWS=tiny` the other
//! rows of the mix and `ROWS="u32, to size"` the other rows of `sites`, for profiling. `nm -S collections-bench | grep code_` shows how many bytes of code operations take.

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
        Some((first, numbers)) if first == "module" => {
            let number = |at: usize| numbers.get(at).and_then(|text| text.parse().ok());
            flood::print_module(
                number(0).expect("module takes a number of names"),
                number(1).expect("module takes a number of equal bits") as u32,
            );
        }
        Some((first, files)) if first == "replay" => {
            for file in files {
                replay::run(file, rounds);
            }
        }
        _ => sections::run(&words, rounds),
    }
}
