//! Timing: contenders take turns, round after round, and each keeps its best round.
//!
//! The machine is shared, so a mean says more about its other guests than about the code. The minimum over many short
//! rounds, with the contenders interleaved so that none has the quiet moments to itself, is the time the code needs.

use std::time::Instant;

/// One measured contender: a name and the work of one round, which returns a checksum.
pub struct Runner<'a> {
    /// Its name.
    pub name: &'static str,
    /// Prepares and does one round; the returned seconds are what counts.
    pub round: Box<dyn FnMut() -> (f64, u64) + 'a>,
}

/// Times `work` and returns the seconds with its result.
#[inline(always)]
pub fn timed(work: impl FnOnce() -> u64) -> (f64, u64) {
    let start = Instant::now();
    let result = work();
    (start.elapsed().as_secs_f64(), result)
}

/// Runs all contenders interleaved; nanoseconds per operation of each one's best round, over all runners of its name.
///
/// Panics when two contenders disagree about the checksum: they did not do the same work.
pub fn race(
    runners: Vec<Runner<'_>>,
    operations: usize,
    rounds: usize,
) -> Vec<(&'static str, f64)> {
    run(runners, operations, rounds, true)
}

/// As [`race`], for work that goes on from round to round: checksums must agree within each round only.
pub fn race_in_step(
    runners: Vec<Runner<'_>>,
    operations: usize,
    rounds: usize,
) -> Vec<(&'static str, f64)> {
    run(runners, operations, rounds, false)
}

fn run(
    mut runners: Vec<Runner<'_>>,
    operations: usize,
    rounds: usize,
    same_every_round: bool,
) -> Vec<(&'static str, f64)> {
    if let Ok(only) = std::env::var("ONLY") {
        runners.retain(|runner| only.split(',').any(|name| name == runner.name));
    }
    let mut best = vec![f64::INFINITY; runners.len()];
    let mut expected = None;
    for round in 0..rounds + 1 {
        if !same_every_round {
            expected = None;
        }
        for (index, runner) in runners.iter_mut().enumerate() {
            let (seconds, checksum) = (runner.round)();
            let expected = *expected.get_or_insert(checksum);
            assert_eq!(checksum, expected, "{} did other work", runner.name);
            // The first round only warms caches and predictors up.
            if round != 0 {
                best[index] = best[index].min(seconds);
            }
        }
    }
    let mut results: Vec<(&'static str, f64)> = Vec::new();
    for (runner, seconds) in runners.iter().zip(best) {
        let nanoseconds = seconds * 1e9 / operations as f64;
        match results.iter_mut().find(|(name, _)| *name == runner.name) {
            Some((_, best)) => *best = best.min(nanoseconds),
            None => results.push((runner.name, nanoseconds)),
        }
    }
    results
}
