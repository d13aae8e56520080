//! Benchmarks of the tables of `oriole-collections` against others: all contenders in one binary, interleaved, the
//! minimum of many rounds.
//!
//! `collections-bench [mix] [miss] [hits] [iterate] [cold] [bytes] [cliffs] [octave] [--rounds N]`; without a section,
//! all of them. `ONLY=hybrid,hashbrown+fx` in the environment leaves the other contenders out, for profiling.

mod contender;
mod keys;
mod measure;
mod sections;

fn main() {
    let mut sections = Vec::new();
    let mut rounds = 30;
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        if argument == "--rounds" {
            rounds = arguments
                .next()
                .and_then(|text| text.parse().ok())
                .expect("--rounds takes a number");
        } else if argument != "--bench" {
            sections.push(argument);
        }
    }
    sections::run(&sections, rounds);
}
