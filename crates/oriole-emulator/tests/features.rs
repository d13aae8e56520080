//! Traps, findings, counters and scheduling, each on a small kernel.

mod common;

use std::sync::Arc;

use common::{STORE, findings, kernel, run, run_with, trap};
use oriole_emulator::{FindingKind, Launch, Machine, Options, Progress, TrapKind, Value};

#[test]
fn traps_name_line_thread_and_address() {
    let body = "mad.wide.u32 %a1, %t, 64, %out;\nst.global.u32 [%a1], %t;";
    let found = trap(body, 32);
    assert_eq!(found.kind, TrapKind::OutOfBounds);
    assert_eq!((found.ptx_line, found.thread), (11, [16, 0, 0]));
    assert!(
        found.address.is_some() && found.message.contains("past the end of `out`"),
        "{found}"
    );
    let found = trap("add.u64 %a1, %out, 2; ld.global.u32 %r1, [%a1];", 1);
    assert_eq!(found.kind, TrapKind::Misaligned);
    let found = trap(
        "add.u64 %a1, %out, 8; ld.global.v4.u32 {%r1, %r2, %r3, %r4}, [%a1];",
        1,
    );
    assert_eq!(
        found.kind,
        TrapKind::Misaligned,
        "vectors are aligned as a whole"
    );
    let found = trap("sub.u64 %a1, %out, 4; ld.global.u32 %r1, [%a1];", 1);
    assert!(found.message.contains("4 bytes before `out`"), "{found}");
    assert_eq!(
        trap("mov.u64 %a1, 0; ld.u32 %r1, [%a1];", 1).kind,
        TrapKind::OutOfBounds
    );
    assert_eq!(trap("trap;", 1).kind, TrapKind::Trapped);
    assert_eq!(trap("l: bra l;", 1).kind, TrapKind::StepLimit);
    assert_eq!(
        trap("tcgen05.wait::ld.sync.aligned;", 1).kind,
        TrapKind::NotEmulated
    );
}

#[test]
fn source_lines_come_from_loc() {
    let text = kernel("").replace(
        "ret;",
        ".loc 1 42 7\nmov.u64 %a1, 0;\nst.global.u32 [%a1], %t;\nret;",
    ) + ".file 1 \"kernel.cu\"\n";
    let (module, errors) = oriole_syntax::parse("k.ptx", text);
    assert!(errors.is_empty(), "{errors:?}");
    let mut machine = Machine::new(&module).expect("valid");
    let launch = Launch {
        kernel: "k",
        grid: [1; 3],
        block: [1; 3],
        dynamic_shared: 0,
        arguments: vec![Value::Bytes(vec![0; 8]), Value::Bytes(vec![0; 4])],
    };
    let found = machine
        .launch(&launch, &Options::default())
        .expect_err("traps");
    let source = found.source.clone().expect("a source line");
    assert_eq!((source.file.as_str(), source.line), ("kernel.cu", 42));
    assert!(found.to_string().contains("kernel.cu:42"));
}

#[test]
fn wrong_launches_are_refused() {
    let (module, _) = oriole_syntax::parse("k.ptx", kernel(""));
    let mut machine = Machine::new(&module).expect("valid");
    let launch = |kernel, arguments, threads| Launch {
        kernel,
        grid: [1; 3],
        block: [threads, 1, 1],
        dynamic_shared: 0,
        arguments,
    };
    let good = vec![Value::Bytes(vec![0; 8]), Value::Bytes(vec![0; 4])];
    for (launch, words) in [
        (launch("k", good[..1].to_vec(), 1), "takes 2 arguments"),
        (
            launch("k", vec![good[1].clone(), good[1].clone()], 1),
            "has 8 bytes",
        ),
        (launch("missing", good.clone(), 1), "no kernel `missing`"),
        (launch("k", good.clone(), 2048), "at most 1024"),
    ] {
        let found = machine
            .launch(&launch, &Options::default())
            .expect_err("refused");
        assert_eq!(found.kind, TrapKind::BadLaunch);
        assert!(found.message.contains(words), "{found}");
    }
}

#[test]
fn lanes_diverge_and_meet_again() {
    // Both sides of a branch, a loop with a different count in each lane, then a vote of all.
    let body = format!(
        "and.b32 %r2, %t, 1; setp.eq.u32 %p1, %r2, 0; @%p1 bra even;\n\
         mul.lo.u32 %r1, %t, 3; bra join;\neven: add.u32 %r1, %t, 100;\njoin:\n\
         mov.u32 %r3, 0;\nloop: add.u32 %r3, %r3, 1; setp.lt.u32 %p2, %r3, %t; @%p2 bra loop;\n\
         activemask.b32 %r4; popc.b32 %r4, %r4; mad.lo.u32 %r1, %r4, 1000, %r1; add.u32 %r1, %r1, %r3;\n{STORE}"
    );
    let words = run(&body, 32);
    for t in 0..32u32 {
        let side = if t % 2 == 0 { t + 100 } else { t * 3 };
        assert_eq!(words[t as usize], 32_000 + side + t.max(1), "lane {t}");
    }
}

#[test]
fn a_lock_between_lanes_of_one_warp_makes_progress() {
    // Each lane takes a lock, adds to a counter without an atomic, and releases it.
    let body = "retry: atom.global.cas.b32 %r1, [%out+512], 0, 1; setp.ne.u32 %p1, %r1, 0; @%p1 bra retry;\n\
                ld.volatile.global.u32 %r2, [%out]; add.u32 %r2, %r2, 1; st.volatile.global.u32 [%out], %r2;\n\
                atom.global.exch.b32 %r3, [%out+512], 0;";
    assert_eq!(run(body, 64)[0], 64);
}

#[test]
fn blocks_wait_for_later_blocks() {
    // Block 0 spins until the last block has written.
    let body = "mov.u32 %r1, %ctaid.x; setp.ne.u32 %p1, %r1, 0; @%p1 bra other;\n\
                wait: ld.acquire.gpu.global.u32 %r2, [%out+4]; setp.eq.u32 %p2, %r2, 0; @%p2 bra wait;\n\
                st.global.u32 [%out], %r2; bra done;\n\
                other: st.release.gpu.global.u32 [%out+4], 9;\ndone:";
    let (result, words) = run_with(body, 1, 3, &Options::default());
    result.expect("runs");
    assert_eq!(words[0], 9);
}

#[test]
fn one_thread_runs_alone() {
    let body = "mov.u32 %r1, %ctaid.x;\nmad.lo.u32 %r2, %r1, 64, %t;\nmul.wide.u32 %a1, %r2, 4;\n\
        add.u64 %a1, %a1, %out;\nbar.sync 0;\nadd.u32 %r2, %r2, 1;\nst.global.u32 [%a1], %r2;";
    let written = |alone| {
        let options = Options {
            alone,
            ..Options::default()
        };
        let (result, words) = run_with(body, 64, 2, &options);
        result.unwrap_or_else(|trap| panic!("{trap}"));
        words
            .into_iter()
            .filter(|&word| word != 0)
            .collect::<Vec<u32>>()
    };
    assert_eq!(written(None).len(), 128);
    assert_eq!(written(Some((0, 0))), [1]);
    assert_eq!(written(Some((1, 33))), [98]);
    assert!(written(Some((2, 0))).is_empty());
}

#[test]
fn barriers_that_are_missed_are_named() {
    let found = trap(
        "setp.lt.u32 %p1, %t, 32; @%p1 bra skip; bar.sync 0; bra done; skip: l: bra l; done:",
        64,
    );
    assert_eq!(found.kind, TrapKind::StepLimit, "the first warp spins");
    let found = trap(
        "setp.lt.u32 %p1, %t, 32; @%p1 bra skip; bar.sync 0; bra done; skip: bar.sync 1; done:",
        64,
    );
    assert_eq!(found.kind, TrapKind::DivergentBarrier);
    assert!(found.message.contains("barrier"), "{found}");
    let found = trap(
        "setp.lt.u32 %p1, %t, 16; @%p1 bra skip; shfl.sync.idx.b32 %r1, %t, 0, 31, -1; bra done; skip: bar.warp.sync 65535; bar.sync 0; done:",
        32,
    );
    assert_eq!(found.kind, TrapKind::DivergentBarrier);
    // Threads that have exited are not waited for.
    run("setp.lt.u32 %p1, %t, 40; @%p1 ret; bar.sync 0;", 96);
}

#[test]
fn collectives() {
    let body = format!(
        "shfl.sync.down.b32 %r1|%p1, %t, 4, 31, -1; selp.u32 %r2, 1000, 0, %p1; add.u32 %r1, %r1, %r2;\n{STORE}"
    );
    let words = run(&body, 32);
    assert_eq!((words[0], words[27], words[28]), (1004, 1031, 28));
    let body = format!("and.b32 %r2, %t, 3; match.any.sync.b32 %r1, %r2, -1;\n{STORE}");
    assert_eq!(run(&body, 32)[1], 0x2222_2222);
    let body = format!("redux.sync.add.s32 %r1, %t, -1;\n{STORE}");
    assert_eq!(run(&body, 32)[5], 496);
    let body = format!("elect.sync _|%p1, -1; selp.u32 %r1, 1, 0, %p1;\n{STORE}");
    assert_eq!(run(&body, 32)[..3], [1, 0, 0]);
}

#[test]
fn uninitialized_reads_are_found() {
    let found = findings(
        &format!("setp.lt.u32 %p1, %t, 8; @%p1 mov.u32 %r1, 5;\n{STORE}"),
        32,
        1,
    );
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].kind, FindingKind::UninitializedRead);
    assert_eq!(found[0].thread, [8, 0, 0]);
    assert!(found[0].message.contains("%r1"), "{}", found[0].message);
    assert!(findings(&format!("mov.u32 %r1, 5;\n{STORE}"), 32, 1).is_empty());
    let shared = ".shared .u32 s[64]; mov.u32 %r2, s; mad.lo.u32 %r2, %t, 4, %r2; st.shared.u32 [%r2], %t; ld.shared.u32 %r1, [s+128];";
    // Nothing depends on this read.
    assert!(findings(shared, 32, 1).is_empty());
    let found = findings(&format!("{shared}\n{STORE}"), 32, 1);
    let says = "shared memory at offset 0x80 is read before it is written; it reaches global memory at PTX line 11";
    assert_eq!(found[0].message, says);
}

#[test]
fn uninitialized_reads_of_local_memory_are_found() {
    let local = |guard: &str| {
        format!(
            ".local .align 8 .b8 l[16]; setp.lt.u32 %p1, %t, 8; mov.u32 %r1, 5;\n\
             {guard} st.local.u16 [l+4], %r1; st.local.u32 [l+8], %r1;\n\
             ld.local.u16 %r1, [l+4]; ld.local.u32 %r2, [l+8];\n{STORE}"
        )
    };
    assert!(findings(&local(""), 32, 1).is_empty());
    let found = findings(&local("@!%p1"), 32, 1);
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(found[0].thread, [0, 0, 0]);
    let says = "local memory at offset 0x4 of `l` is read before it is written; it reaches global memory at PTX line 13";
    assert_eq!(found[0].message, says);
    // Half of the word was written. The other half may be padding, but it must not decide anything.
    let half = ".local .u32 l; mov.u32 %r2, 1; st.local.u16 [l], %r2; ld.local.u32 %r1, [l];";
    let after = |decide: &str| findings(&format!("{half}\n{decide}\n{STORE}"), 32, 1).len();
    assert_eq!(after(""), 0);
    assert_eq!(
        after("and.b32 %r1, %r1, 0xffff; setp.eq.u32 %p1, %r1, 1; @%p1 mov.u32 %r1, 2;"),
        0
    );
    assert_eq!(after("setp.lt.u32 %p1, %r1, 3; @%p1 mov.u32 %r1, 2;"), 1);
}

#[test]
fn an_uninitialized_carry_is_found() {
    let found = findings(&format!("addc.u32 %r1, %t, 1;\n{STORE}"), 32, 1);
    assert_eq!(found.len(), 1, "{found:?}");
    let says = "the carry flag is read before it is written";
    assert!(found[0].message.starts_with(says), "{}", found[0].message);
    let chain = "add.cc.u32 %r2, %t, 1; addc.u32 %r1, %t, 1;";
    assert!(findings(&format!("{chain}\n{STORE}"), 32, 1).is_empty());
}

#[test]
fn progress_counts_blocks() {
    for check_races in [false, true] {
        let progress = Arc::new(Progress::default());
        let options = Options {
            check_races,
            progress: Some(progress.clone()),
            ..Options::default()
        };
        assert_eq!(progress.total(), 0);
        let body = format!("mov.u32 %r1, 7;\n{STORE}");
        run_with(&body, 32, 5, &options).0.expect("runs");
        assert_eq!((progress.done(), progress.total()), (5, 5));
    }
}

#[test]
fn races_are_found_with_both_sides() {
    let exchange = |barrier: &str| {
        format!(
            ".shared .u32 s[64];\nmov.u32 %r2, s; mad.lo.u32 %r3, %t, 4, %r2;\nst.shared.u32 [%r3], %t;\n{barrier}\n\
             xor.b32 %r4, %t, 32; mad.lo.u32 %r3, %r4, 4, %r2;\nld.shared.u32 %r1, [%r3];\n{STORE}"
        )
    };
    assert!(findings(&exchange("bar.sync 0;"), 64, 1).is_empty());
    let found: Vec<_> = findings(&exchange(""), 64, 1)
        .into_iter()
        .filter(|finding| finding.kind == FindingKind::Race)
        .collect();
    assert!(!found.is_empty());
    assert_eq!((found[0].ptx_line, found[0].other_ptx_line), (12, Some(15)));
    let found = findings("st.global.u32 [%out], %t;", 32, 1);
    assert!(
        found[0].message.contains("in one instruction"),
        "{}",
        found[0].message
    );
    assert!(findings("atom.global.add.u32 %r1, [%out], 1;", 64, 1).is_empty());
    // Two blocks that store to one place.
    let found = findings(
        "setp.eq.u32 %p1, %t, 0; mov.u32 %r1, %ctaid.x; @%p1 st.global.u32 [%out], %r1;",
        32,
        2,
    );
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(found[0].kind, FindingKind::Race);
}

#[test]
fn counters_count_sectors_and_wavefronts() {
    let body = ".shared .u32 s[1024];\nmov.u32 %r1, s; mad.lo.u32 %r2, %t, 8, %r1;\nst.shared.u32 [%r2], %t;\n\
                mad.wide.u32 %a1, %t, 8, %out;\nst.global.u32 [%a1], %t;";
    let options = Options {
        profile: true,
        ..Options::default()
    };
    let report = run_with(body, 64, 1, &options).0.expect("runs");
    let at = |line: u32| {
        report
            .profile
            .iter()
            .find(|entry| entry.ptx_line == line)
            .expect("counted")
            .counters
    };
    let shared = at(12);
    assert_eq!((shared.executions, shared.lanes), (2, 64));
    assert_eq!((shared.wavefronts, shared.ideal_wavefronts), (4, 2));
    let global = at(14);
    assert_eq!((global.sectors, global.ideal_sectors), (16, 8));
}

#[test]
fn parallel_runs_are_deterministic() {
    let body = "mov.u32 %r1, %ctaid.x; mad.lo.u32 %r2, %r1, 32, %t; and.b32 %r2, %r2, 255;\n\
                mad.wide.u32 %a1, %r2, 4, %out; red.global.add.u32 [%a1], %r1;";
    let once = run_with(body, 32, 64, &Options::default());
    let sequential = Options {
        parallel: false,
        ..Options::default()
    };
    assert!(once.0.expect("runs").parallel);
    assert_eq!(once.1, run_with(body, 32, 64, &sequential).1);
    // An atomic whose result is read depends on the order of blocks: they run in turn.
    let body = "mov.u32 %r1, %ctaid.x; atom.global.add.u32 %r2, [%out], 1; mad.wide.u32 %a1, %r1, 4, %out; st.global.u32 [%a1+4], %r2;";
    let (report, words) = run_with(body, 1, 32, &Options::default());
    assert!(!report.expect("runs").parallel);
    assert_eq!(words[1..33], (0..32).collect::<Vec<_>>()[..]);
}

#[test]
fn copies_arrive_when_they_are_waited_for() {
    let body = |wait: &str| {
        format!(
            ".shared .align 16 .b8 s[512]; mov.u32 %r2, s; mad.lo.u32 %r2, %t, 4, %r2; st.shared.u32 [%r2], 5;\n\
             mad.wide.u32 %a1, %t, 4, %out; st.global.u32 [%a1], 77; cp.async.ca.shared.global [%r2], [%a1], 4; cp.async.commit_group; {wait}\n\
             ld.shared.u32 %r1, [%r2];\n{STORE}"
        )
    };
    assert_eq!(run(&body("cp.async.wait_group 0;"), 32)[3], 77);
    assert_eq!(
        run(&body(""), 32)[3],
        5,
        "a copy that is not waited for has not arrived"
    );
}
