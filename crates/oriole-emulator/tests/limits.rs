//! The limits of a launch hold on every path through the scheduler.
//!
//! Steps are counted from outside, and no test takes the time.

mod common;
#[allow(dead_code, reason = "the corpus test uses the rest")]
mod recorded;

use common::run_with;
use oriole_emulator::{Launch, Machine, Observer, Options, Step, TrapKind};
use rayon::prelude::*;
use recorded::Recording;
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

const STEPS: u64 = 1000;

/// Counts thread-instructions.
#[derive(Debug, Default)]
struct Counter(AtomicU64);

impl Observer for Counter {
    fn step(&self, step: &Step<'_>) {
        self.0
            .fetch_add(u64::from(step.active.count_ones()), Relaxed);
    }
}

/// Lanes part and meet in a loop without an end.
const DIVERGENT: &str = "L: and.b32 %r2, %t, 1; setp.eq.u32 %p1, %r2, 0; @%p1 bra A; add.u32 %r3, %t, 1; bra M;\n\
    A: add.u32 %r3, %t, 2;\nM: setp.ne.u32 %p2, %t, 9999; @%p2 bra L;";
/// Each lane takes another arm.
const INDEXED: &str = "and.b32 %r1, %t, 3; T: .branchtargets A, B, C, D;\nL: brx.idx %r1, T;\nA: bra M;\nB: bra M;\nC: bra M;\nD: bra M;\n\
    M: setp.ne.u32 %p2, %t, 9999; @%p2 bra L;";
/// Lanes that went different ways wait for each other, again and again.
const MEETING: &str = "L: and.b32 %r2, %t, 1; setp.eq.u32 %p1, %r2, 0; @%p1 bra A; bar.warp.sync -1; bra M;\nA: bar.warp.sync -1;\n\
    M: setp.ne.u32 %p2, %t, 9999; @%p2 bra L;";
/// Warps wait for each other, again and again.
const BARRIERS: &str = "L: bar.sync 0; setp.ne.u32 %p2, %t, 9999; @%p2 bra L;";
/// Half of the lanes wait at the end of the loop.
const HALF: &str =
    "and.b32 %r2, %t, 1; setp.eq.u32 %p1, %r2, 1; @%p1 bra E;\nL: bra L;\nE: add.u32 %r3, %t, 2;";
/// Polls memory that does not change.
const POLLING: &str =
    "L: ld.volatile.global.u32 %r1, [%out]; setp.ne.u32 %p1, %r1, 77; @%p1 bra L;";

#[test]
fn endless_loops_stop_at_the_number_of_steps() {
    for body in [
        DIVERGENT,
        INDEXED,
        MEETING,
        BARRIERS,
        HALF,
        POLLING,
        "L: bra L;",
    ] {
        for (threads, blocks, check) in [
            (32, 1, false),
            (32, 1, true),
            (1, 1, false),
            (96, 5, false),
            (96, 5, true),
        ] {
            let counter = Arc::new(Counter::default());
            let options = Options {
                step_limit: STEPS,
                parallel: false,
                check_races: check,
                check_uninitialized: check,
                profile: check,
                observer: Some(counter.clone()),
                time_limit: Some(Duration::from_secs(600)),
                ..Options::default()
            };
            let trap = run_with(body, threads, blocks, &options)
                .0
                .expect_err("ends");
            assert_eq!(trap.kind, TrapKind::StepLimit, "{body}: {trap}");
            let counted = counter.0.load(Relaxed);
            assert!(
                (STEPS..=STEPS + 32).contains(&counted),
                "{body}: {counted} for {threads} threads"
            );
        }
    }
}

#[test]
fn endless_loops_stop_in_time() {
    for body in [DIVERGENT, INDEXED, MEETING, BARRIERS, HALF, "L: bra L;"] {
        let options = Options {
            step_limit: u64::MAX,
            time_limit: Some(Duration::from_millis(20)),
            ..Options::default()
        };
        let trap = run_with(body, 64, 2, &options).0.expect_err("ends");
        assert_eq!(trap.kind, TrapKind::TimeLimit, "{body}: {trap}");
    }
}

#[test]
fn other_warps_get_their_turn_beside_lanes_that_part_and_meet() {
    // The first warp looks, by plain loads, whether the second has written.
    let body = ".reg .b32 %w; shr.u32 %w, %t, 5; setp.eq.u32 %p3, %w, 1; @%p3 bra W;\n\
        L: and.b32 %r2, %t, 1; setp.eq.u32 %p1, %r2, 0; @%p1 bra A; add.u32 %r3, %t, 1; bra M;\nA: add.u32 %r3, %t, 2;\n\
        M: ld.global.u32 %r1, [%out]; setp.ne.u32 %p2, %r1, 77; @%p2 bra L;\nbra E;\nW: st.global.u32 [%out], 77;\nE:";
    let options = Options {
        step_limit: 10_000_000,
        ..Options::default()
    };
    let (result, words) = run_with(body, 64, 1, &options);
    result.unwrap_or_else(|trap| panic!("{trap}"));
    assert_eq!(words[0], 77);
}

#[test]
fn the_largest_grid_stops_at_its_limits() {
    // With a store the order of blocks matters: they run in turn. Else they run in parallel.
    for body in ["", "st.global.u32 [%out], 1;", DIVERGENT] {
        for check in [false, true] {
            for steps in [STEPS, u64::MAX] {
                let options = Options {
                    step_limit: steps,
                    time_limit: Some(Duration::from_millis(if steps == STEPS {
                        600_000
                    } else {
                        20
                    })),
                    check_races: check,
                    check_uninitialized: check,
                    profile: check,
                    ..Options::default()
                };
                let trap = run_with(body, 32, i32::MAX as u32, &options)
                    .0
                    .expect_err("ends");
                let kind = if steps == STEPS {
                    TrapKind::StepLimit
                } else {
                    TrapKind::TimeLimit
                };
                assert_eq!(trap.kind, kind, "{body}: {trap}");
            }
        }
    }
}

#[test]
fn every_kernel_of_the_corpus_stops_at_the_number_of_steps() {
    let corpus = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/corpus");
    let recording = Recording::read(&corpus);
    let runs = oriole_corpus::runs(&corpus);
    let mut seen = BTreeSet::new();
    let launches: Vec<_> = recording
        .launches
        .iter()
        .filter(|launch| seen.insert((launch.ptx.clone(), launch.kernel.clone())))
        .collect();
    let stopped: usize = launches
        .par_iter()
        .map(|launch| {
            let (module, _) = oriole_syntax::parse(&launch.ptx, launch.text(&corpus));
            let mut machine = Machine::new(&module).expect("a valid module");
            let request: Launch<'_> = launch.on(&mut machine, &runs[launch.run]);
            let counter = Arc::new(Counter::default());
            let options = Options {
                step_limit: STEPS,
                parallel: false,
                observer: Some(counter.clone()),
                ..Options::default()
            };
            let result = machine.launch(&request, &options);
            let counted = counter.0.load(Relaxed);
            let name = format!("{} {}", launch.ptx, launch.kernel);
            assert!(counted <= STEPS + 32, "{name}: {counted}");
            match result {
                Err(trap) if trap.kind == TrapKind::StepLimit => 1,
                Err(trap) => {
                    assert!(launch.error.is_some(), "{name}: {trap}");
                    0
                }
                Ok(report) => {
                    assert!(report.thread_instructions <= STEPS, "{name}");
                    0
                }
            }
        })
        .sum();
    assert!(
        stopped > launches.len() / 2,
        "{stopped} of {} launches take more steps",
        launches.len()
    );
}
