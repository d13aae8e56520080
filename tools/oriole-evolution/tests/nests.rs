//! What is said of iterations of loops, and of exchanging loops, is what the emulator sees.
//!
//! `ORIOLE_KERNELS=20000 cargo test --release -p oriole-evolution --test nests -- --nocapture` runs that many generated kernels. The numbers of
//! kernels are their seeds.

#![allow(clippy::print_stdout)]

use oriole::{AccessOptions, KernelAccesses};
use oriole_analysis::delinearization::Dependence;
use oriole_analysis::memory_requests::WINDOW;
use oriole_emulator::{Launch, Machine, Observer, Options, Request, SplitMix64, Step, Value};
use oriole_evolution::nests::{self, NestKernel};
use rayon::prelude::*;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

/// A request of a warp.
#[derive(Clone, Debug)]
struct Made {
    lanes: u32,
    addresses: [u64; 32],
    width: u64,
}

impl Made {
    fn bytes(&self, lane: usize) -> std::ops::Range<u64> {
        self.addresses[lane]..self.addresses[lane] + self.width
    }
}

/// Requests in order, by instruction and warp.
type AllMade = BTreeMap<(u32, u32), Vec<Made>>;

/// All requests of a launch, by the place of the instruction.
#[derive(Debug, Default)]
struct Recorder(Mutex<AllMade>);

impl Observer for Recorder {
    fn step(&self, _: &Step<'_>) {}

    fn request(&self, request: &Request<'_>) {
        let warp = request.threads.first().map_or(0, |thread| thread[0] / 32);
        let mut made = self.0.lock().expect("no thread panicked");
        made.entry((request.span.start, warp))
            .or_default()
            .push(Made {
                lanes: request.lanes,
                addresses: *request.addresses,
                width: request.width.into(),
            });
    }
}

/// What a launch leaves in memory, and the requests it makes, by line and warp.
fn run(text: &str, kernel: &NestKernel) -> (Vec<u8>, AllMade) {
    let module = oriole::parse("nest.ptx", text).expect("it is well formed");
    let mut machine = Machine::new(&module).expect("it can be run");
    let mut random = SplitMix64::new(7);
    let mut contents = || -> Vec<u8> {
        let numbers = (0..nests::BYTES / 8).map(|_| random.next_number());
        numbers.flat_map(u64::to_le_bytes).collect()
    };
    let buffers = [
        machine.buffer("data", &contents()),
        machine.buffer("other", &contents()),
    ];
    let recorder = Arc::new(Recorder::default());
    let mut arguments = buffers.map(Value::Buffer).to_vec();
    arguments.push(Value::Bytes(kernel.rows.to_le_bytes().to_vec()));
    arguments.push(Value::Bytes(kernel.columns.to_le_bytes().to_vec()));
    let launch = Launch {
        kernel: "nest",
        grid: [1; 3],
        block: kernel.block,
        dynamic_shared: kernel.dynamic_shared,
        arguments,
    };
    let options = Options {
        parallel: false,
        profile: true,
        observer: Some(recorder.clone()),
        ..Options::default()
    };
    let report = machine.launch(&launch, &options);
    report.unwrap_or_else(|trap| panic!("{trap:?}\n{text}"));
    let made = std::mem::take(&mut *recorder.0.lock().expect("no thread panicked"));
    let line = |offset: u32| text[..offset as usize].matches('\n').count() as u32 + 1;
    let made = made.into_iter();
    let made = made.map(|((offset, warp), made)| ((line(offset), warp), made));
    let memory = buffers.iter().flat_map(|&buffer| machine.read(buffer));
    (memory.collect(), made.collect())
}

fn analyzed(text: &str, block: [u32; 3]) -> KernelAccesses {
    let module = oriole::parse("nest.ptx", text).expect("it is well formed");
    let options = AccessOptions {
        block: Some(block),
        ..AccessOptions::default()
    };
    let (mut kernels, _) = oriole::accesses(&module, &options).expect("it is sound");
    kernels.pop().expect("a kernel")
}

/// The sectors that requests of a line add to those of the ones before them, in windows of so many.
fn sectors(made: &AllMade, line: u32) -> f64 {
    let (mut sum, mut count) = (0, 0);
    for (_, requests) in made.iter().filter(|own| own.0.0 == line) {
        for window in requests.chunks(WINDOW as usize) {
            let lanes = |own: &Made| {
                let own = own.clone();
                let lanes = (0..32).filter(move |lane| own.lanes >> lane & 1 != 0);
                lanes.collect::<Vec<usize>>()
            };
            let mut all: Vec<u64> = window
                .iter()
                .flat_map(|own| lanes(own).into_iter().map(|lane| own.bytes(lane)))
                .flat_map(|bytes| [bytes.start / 32, (bytes.end - 1) / 32])
                .collect();
            all.sort_unstable();
            all.dedup();
            sum += all.len();
        }
        count += requests.len();
    }
    sum as f64 / count as f64
}

#[derive(Clone, Copy, Debug, Default)]
struct Outcome {
    /// Fixes that were tried, and kernels that had one.
    fixes: usize,
    exchanged: usize,
    /// Kernels that compute something else with their loops exchanged.
    illegal: usize,
    /// Claims about iterations.
    independent: usize,
    distances: usize,
    /// Distances that assume a step which is at least so wide.
    assumed: usize,
    unknown: usize,
}

/// A claim about two accesses: the only distance at which they may meet, and the least step that it assumes.
#[derive(Clone, Copy, Debug)]
struct Said {
    lines: [u32; 2],
    distance: Option<i64>,
    least_step: u32,
}

/// Whether what is said of two accesses of the inner loop holds for all of its iterations.
fn check_dependence(kernel: &NestKernel, made: &AllMade, said: Said, seed: u64) {
    for warp in 0..kernel.block[0].div_ceil(32) {
        let [first, second] = said.lines.map(|line| &made[&(line, warp)]);
        let rounds = kernel.trips[1] as usize;
        for (one, two) in first.chunks(rounds).zip(second.chunks(rounds)) {
            let lane = one[0].lanes.trailing_zeros() as usize;
            let step = one[1].addresses[lane].abs_diff(one[0].addresses[lane]);
            if step < said.least_step.into() {
                continue;
            }
            for lane in 0..32 {
                check_lane(kernel, one, two, lane, said, seed);
            }
        }
    }
}

/// Panics if two accesses of a lane meet at another distance than the claim has.
fn check_lane(kernel: &NestKernel, one: &[Made], two: &[Made], lane: usize, said: Said, seed: u64) {
    let halves = |own: &Made| {
        let bytes = own.bytes(lane);
        bytes.start / 2..bytes.end / 2
    };
    // The iterations that access each half of a word.
    let mut accessed: BTreeMap<u64, Vec<usize>> = BTreeMap::new();
    for (at, own) in one.iter().enumerate() {
        for half in halves(own) {
            accessed.entry(half).or_default().push(at);
        }
    }
    for (later, other) in two.iter().enumerate() {
        let met = halves(other).filter_map(|half| accessed.get(&half));
        for &at in met.flatten().filter(|&&at| at != later) {
            let distance = later as i64 - at as i64;
            assert!(
                said.distance == Some(distance),
                "seed {seed}: lines {:?}, distance {distance}, said {said:?}\n{}",
                said.lines,
                kernel.text
            );
        }
    }
}

fn check(seed: u64) -> Outcome {
    let kernel = nests::generate(seed);
    let report = analyzed(&kernel.text, kernel.block);
    let (memory, made) = run(&kernel.text, &kernel);
    let (other_memory, other_made) = run(&kernel.exchanged, &kernel);
    let mut outcome = Outcome {
        illegal: usize::from(memory != other_memory),
        ..Outcome::default()
    };
    for access in &report.accesses {
        for fix in access
            .fixes
            .iter()
            .filter(|fix| fix.kind == "exchange-loops")
        {
            outcome.fixes += 1;
            assert!(
                memory == other_memory,
                "seed {seed}: {fix}, and it computes something else\n{}",
                kernel.text
            );
            let counted = (
                sectors(&made, access.line),
                sectors(&other_made, access.line),
            );
            let is_right =
                (counted.0 - fix.before).abs() < 1e-6 && (counted.1 - fix.after).abs() < 1e-6;
            assert!(
                is_right,
                "seed {seed}, line {}: {fix}, and not {counted:?}\n{}",
                access.line, kernel.text
            );
        }
    }
    outcome.exchanged = usize::from(outcome.fixes > 0);
    for own in &report.dependences {
        let said = match own.dependence {
            Dependence::Independent => {
                outcome.independent += 1;
                Said {
                    lines: own.lines,
                    distance: None,
                    least_step: 0,
                }
            }
            Dependence::Distance {
                iterations,
                least_step,
            } => {
                outcome.distances += 1;
                outcome.assumed += usize::from(least_step.is_some());
                Said {
                    lines: own.lines,
                    distance: Some(iterations),
                    least_step: least_step.unwrap_or(0),
                }
            }
            Dependence::Unknown => {
                outcome.unknown += 1;
                continue;
            }
        };
        check_dependence(&kernel, &made, said, seed);
    }
    outcome
}

#[test]
fn nests_are_what_is_said() {
    let count = std::env::var("ORIOLE_KERNELS").map_or(500, |it| it.parse().expect("a number"));
    let outcomes: Vec<Outcome> = (0..count).into_par_iter().map(check).collect();
    let mut total = Outcome::default();
    for own in outcomes {
        total.fixes += own.fixes;
        total.exchanged += own.exchanged;
        total.illegal += own.illegal;
        total.independent += own.independent;
        total.distances += own.distances;
        total.assumed += own.assumed;
        total.unknown += own.unknown;
    }
    println!("{count} kernels: {total:?}");
    assert!(total.fixes > 0 && total.illegal > 0);
    assert!(total.independent > 0 && total.distances > 0 && total.assumed > 0);
}
