//! What NVIDIA's compute-sanitizer finds, found here: each case with its harmless twin.

mod common;

use common::{findings, kernel, run_module, run_with, trap_of};
use oriole_diagnostics::Severity;
use oriole_emulator::{Finding, FindingKind, Launch, Machine, Options, TrapKind, Value};

fn all_checks() -> Options {
    Options {
        check_uninitialized: true,
        check_races: true,
        step_limit: 10_000_000,
        ..Options::default()
    }
}

/// The findings of one kind that are warnings.
fn warnings(body: &str, threads: u32, blocks: u32, kind: FindingKind) -> Vec<Finding> {
    findings(body, threads, blocks)
        .into_iter()
        .filter(|finding| finding.kind == kind && finding.severity == Severity::Warning)
        .collect()
}

fn races(body: &str, threads: u32, blocks: u32) -> usize {
    warnings(body, threads, blocks, FindingKind::Race).len()
}

#[test]
fn barriers_in_divergent_code() {
    let found =
        |body: &str, threads: u32| warnings(body, threads, 1, FindingKind::DivergentBarrier);
    let divergent =
        "setp.lt.u32 %p1, %t, 16;\n@%p1 bra low;\nbar.sync 0;\nbra done;\nlow:\nbar.sync 0;\ndone:";
    let list = found(divergent, 32);
    assert!(!list.is_empty());
    assert!(
        list[0].message.contains("without lanes"),
        "{}",
        list[0].message
    );
    assert!(
        !found(
            "setp.lt.u32 %p1, %t, 16; @%p1 bar.sync 0; @!%p1 bar.sync 0;",
            32
        )
        .is_empty()
    );
    // Lanes that never come, and lanes that only come later.
    assert!(!found("setp.lt.u32 %p1, %t, 16; @%p1 bar.sync 0;", 32).is_empty());
    let later = "setp.eq.u32 %p1, %t, 0; @!%p1 bra met; st.relaxed.gpu.global.u32 [%out], 1;\n\
                 l: ld.relaxed.gpu.global.u32 %r1, [%out]; setp.eq.u32 %p2, %r1, 0; @%p2 bra l;\nmet: bar.sync 0;";
    assert!(found(later, 32).is_empty());
    // `barrier.sync` does not need the warp together, nor the block at one place.
    let apart = divergent.replace("bar.sync", "barrier.sync");
    assert!(findings(&apart, 64, 1).is_empty());
    assert!(found("bar.sync 0; barrier.sync 1;", 64).is_empty());
}

#[test]
fn barriers_with_unequal_trip_counts() {
    // Warp 0 goes around twice, warp 1 three times.
    let body = "shr.u32 %r1, %t, 5; add.u32 %r1, %r1, 2; mov.u32 %r2, 0;\n\
                l: bar.sync 0; add.u32 %r2, %r2, 1; setp.lt.u32 %p1, %r2, %r1; @%p1 bra l;";
    let found = warnings(body, 64, 1, FindingKind::DivergentBarrier);
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(
        found[0].message.contains("32 of 64 threads have exited"),
        "{}",
        found[0].message
    );
    // Those that have left the loop are at another barrier.
    let found = findings(&format!("{body}\nbar.sync 0;"), 64, 1);
    assert_eq!(found[0].severity, Severity::Note);
    assert!(
        found[0].message.contains("different places"),
        "{}",
        found[0].message
    );
    let equal = body.replace("shr.u32 %r1, %t, 5;", "mov.u32 %r1, 0;");
    assert!(findings(&equal, 64, 1).is_empty());
}

#[test]
fn races_inside_a_warp() {
    let exchange = |order: &str| {
        format!(
            ".shared .u32 s[32]; mov.u32 %r2, s; mad.lo.u32 %r3, %t, 4, %r2; st.shared.u32 [%r3], %t;\n{order}\n\
             xor.b32 %r4, %t, 1; mad.lo.u32 %r3, %r4, 4, %r2;\nld.shared.u32 %r1, [%r3];"
        )
    };
    let found = warnings(&exchange(""), 32, 1, FindingKind::Race);
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(
        found[0]
            .message
            .contains("is read by thread (0, 0, 0) and written by thread (1, 0, 0)"),
        "{}",
        found[0].message
    );
    assert_eq!(races(&exchange("bar.warp.sync -1;"), 32, 1), 0);
    assert_eq!(races(&exchange("bar.sync 0;"), 32, 1), 0);
    // A shuffle orders no memory.
    assert_eq!(
        races(&exchange("shfl.sync.idx.b32 %r9, %t, 0, 31, -1;"), 32, 1),
        1
    );
    // Half of the warp is not the warp.
    let half = "setp.lt.u32 %p1, %t, 16; and.b32 %r8, %t, 16; shl.b32 %r8, 1, %r8; mul.lo.u32 %r8, %r8, 65535; bar.warp.sync %r8;";
    assert_eq!(races(&exchange(half), 32, 1), 0);
    let other_half = exchange(half).replace("xor.b32 %r4, %t, 1;", "xor.b32 %r4, %t, 16;");
    assert_eq!(races(&other_half, 32, 1), 1);
}

#[test]
fn shuffles_from_lanes_outside_the_mask() {
    let body = "setp.lt.u32 %p1, %t, 16;\n@!%p1 bra done;\nshfl.sync.idx.b32 %r1, %t, 20, 31, 0xffff;\nsetp.eq.u32 %p2, %r1, 3;\n@%p2 mov.u32 %r2, 1;\ndone:";
    let found = warnings(body, 32, 1, FindingKind::ShuffleSource);
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].ptx_line, 12);
    assert!(
        found[0].message.contains("from lane 20"),
        "{}",
        found[0].message
    );
    let inside = body.replace("%t, 20,", "%t, 12,");
    assert!(warnings(&inside, 32, 1, FindingKind::ShuffleSource).is_empty());
    // Sums over parts of a warp read such values and discard them.
    let unused = body.replace("setp.eq.u32 %p2, %r1, 3;", "setp.eq.u32 %p2, %t, 3;");
    assert!(findings(&unused, 32, 1).is_empty());
    // A lane that has exited has nothing to give.
    let exited = "setp.eq.u32 %p1, %t, 0; @%p1 ret; shfl.sync.idx.b32 %r1, %t, 0, 31, -1; st.global.u32 [%out], %r1;";
    assert_eq!(warnings(exited, 32, 1, FindingKind::ShuffleSource).len(), 1);
}

/// Copies the thread's word of `out` to shared memory, does something, and reads a word.
fn copy(between: &str, read: &str, threads: u32) -> Vec<Finding> {
    let body = format!(
        ".shared .align 16 .b8 s[512]; mov.u32 %r2, s; mad.lo.u32 %r3, %t, 4, %r2; mad.wide.u32 %a1, %t, 4, %out;\n\
         cp.async.ca.shared.global [%r3], [%a1], 4; cp.async.commit_group;\n{between}\n{read}"
    );
    let options = Options {
        check_races: true,
        ..Options::default()
    };
    let (result, _) = run_with(&body, threads, 1, &options);
    result.expect("runs").findings
}

#[test]
fn asynchronous_copies() {
    let own = "ld.shared.u32 %r1, [%r3];";
    let found = copy("", own, 32);
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(found[0].kind, FindingKind::AsynchronousCopy);
    assert!(
        found[0].message.contains("before the copy was waited for"),
        "{}",
        found[0].message
    );
    assert!(copy("cp.async.wait_group 0;", own, 32).is_empty());
    assert!(copy("cp.async.wait_all;", own, 32).is_empty());
    // The copy of another warp needs a barrier, too.
    let others = "xor.b32 %r4, %t, 32; mad.lo.u32 %r5, %r4, 4, %r2; ld.shared.u32 %r1, [%r5];";
    let found = copy("cp.async.wait_group 0;", others, 64);
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(found[0].kind, FindingKind::Race);
    assert!(copy("cp.async.wait_group 0; bar.sync 0;", others, 64).is_empty());
    // Matrix instructions read, too.
    let matrix = "and.b32 %r6, %t, 7; shl.b32 %r6, %r6, 4; add.u32 %r6, %r6, %r2; ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r1}, [%r6];";
    let found = copy("", matrix, 32);
    assert_eq!(found[0].kind, FindingKind::AsynchronousCopy, "{found:?}");
    assert_eq!(
        copy("cp.async.wait_all;", matrix, 32)[0].kind,
        FindingKind::Race
    );
    assert!(copy("cp.async.wait_all; bar.sync 0;", matrix, 32).is_empty());
    // The source must stay until the copy has arrived.
    let found = copy("st.global.u32 [%a1], 5;", "cp.async.wait_group 0;", 32);
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(
        found[0].message.contains("read by `cp.async`"),
        "{}",
        found[0].message
    );
    assert!(copy("cp.async.wait_group 0;", "st.global.u32 [%a1], 5;", 32).is_empty());
}

#[test]
fn races_between_blocks() {
    let store = "setp.eq.u32 %p1, %t, 0; mov.u32 %r1, %ctaid.x; add.u32 %r1, %r1, 1; @%p1 st.global.u32 [%out], %r1;";
    assert_eq!(races(store, 32, 2), 1);
    // An atomic on something else orders nothing.
    let unrelated = format!("atom.global.add.u32 %r5, [%out+64], 1;\n{store}");
    assert_eq!(races(&unrelated, 32, 2), 1);
    // One block reads what another writes; both say so.
    let body = "mov.u32 %r1, %ctaid.x; setp.eq.u32 %p1, %r1, 0; setp.eq.u32 %p2, %t, 0;\n\
                @!%p2 bra done;\n@%p1 st.global.u32 [%out], 7;\n@!%p1 ld.global.u32 %r2, [%out];\ndone:";
    let found = warnings(body, 32, 2, FindingKind::Race);
    assert_eq!(found.len(), 1);
    assert!(
        found[0].message.contains("is read by thread (0, 0, 0) of block (1, 0, 0) and written by thread (0, 0, 0) of block (0, 0, 0)"),
        "{}",
        found[0].message
    );
    assert_eq!((found[0].ptx_line, found[0].other_ptx_line), (13, Some(12)));
    assert_eq!(races("red.global.add.u32 [%out], 1;", 64, 3), 0);
}

/// One thread of block 0 writes a word and raises a flag; one of block 1 waits for the flag and reads the word.
fn message(write: &str, wait: &str, after: &str) -> usize {
    let body = format!(
        "setp.ne.u32 %p1, %t, 0; @%p1 ret; mov.u32 %r1, %ctaid.x; setp.ne.u32 %p2, %r1, 0; @%p2 bra reader;\n\
         st.global.u32 [%out], 42; {write} bra done;\n\
         reader:\n{wait} setp.eq.u32 %p3, %r2, 0; @%p3 bra reader;\n{after} ld.global.u32 %r3, [%out];\ndone:"
    );
    races(&body, 32, 2)
}

#[test]
fn only_release_and_acquire_of_a_wide_scope_order_blocks() {
    let acquire = "ld.acquire.gpu.global.u32 %r2, [%out+64];";
    let release = "st.release.gpu.global.u32 [%out+64], 1;";
    assert_eq!(message(release, acquire, ""), 0);
    // Relaxed accesses order nothing, unless fences do.
    let relaxed = "st.relaxed.gpu.global.u32 [%out+64], 1;";
    let poll = "ld.relaxed.gpu.global.u32 %r2, [%out+64];";
    assert_eq!(message(relaxed, acquire, ""), 1);
    assert_eq!(message(release, poll, ""), 1);
    assert_eq!(message(relaxed, poll, ""), 1);
    let fenced = format!("fence.acq_rel.gpu; {relaxed}");
    assert_eq!(message(&fenced, poll, "fence.acq_rel.gpu;"), 0);
    assert_eq!(message(&fenced, poll, ""), 1);
    let membar = "membar.gl; st.volatile.global.u32 [%out+64], 1;";
    assert_eq!(
        message(
            membar,
            "ld.volatile.global.u32 %r2, [%out+64];",
            "membar.gl;"
        ),
        0
    );
    let atomics = "membar.gl; atom.global.exch.b32 %r9, [%out+64], 1;";
    assert_eq!(
        message(
            atomics,
            "atom.global.or.b32 %r2, [%out+64], 0;",
            "membar.gl;"
        ),
        0
    );
    // A block is not wide enough.
    let narrow = "st.release.cta.global.u32 [%out+64], 1;";
    assert!(message(narrow, acquire, "") > 0);
    assert!(message(release, "ld.acquire.cta.global.u32 %r2, [%out+64];", "") > 0);
    let narrow_fence = "fence.acq_rel.cta; st.relaxed.gpu.global.u32 [%out+64], 1;";
    assert_eq!(message(narrow_fence, acquire, ""), 1);
}

#[test]
fn a_barrier_and_one_thread_with_a_fence_publish_a_block() {
    // All threads write, thread 0 raises the flag behind a barrier; the other block reads behind a barrier, too.
    let body = |barrier: &str| {
        format!(
            "mov.u32 %r1, %ctaid.x; mad.wide.u32 %a1, %t, 4, %out; setp.ne.u32 %p2, %r1, 0; setp.ne.u32 %p1, %t, 0; @%p2 bra reader;\n\
             st.global.u32 [%a1], %t; {barrier} @%p1 bra done; fence.acq_rel.gpu; atom.relaxed.gpu.global.add.u32 %r9, [%out+512], 1; bra done;\n\
             reader: @%p1 bra wait;\nl: ld.acquire.gpu.global.u32 %r2, [%out+512]; setp.eq.u32 %p3, %r2, 0; @%p3 bra l;\n\
             wait: bar.sync 1; ld.global.u32 %r3, [%a1];\ndone:"
        )
    };
    assert_eq!(races(&body("bar.sync 0;"), 64, 2), 0);
    assert_eq!(races(&body(""), 64, 2), 1);
}

#[test]
fn equal_values_are_only_noted() {
    let found = findings("st.global.u32 [%out], 5;", 32, 2);
    assert!(!found.is_empty());
    assert!(
        found
            .iter()
            .all(|finding| finding.severity == Severity::Note),
        "{found:?}"
    );
    let found = findings("st.global.u32 [%out], %t;", 32, 1);
    assert!(
        found
            .iter()
            .any(|finding| finding.severity == Severity::Warning)
    );
}

#[test]
fn one_report_for_a_pair_of_lines_with_the_source() {
    // Four copies of one source line race with each other.
    let line = ".loc 1 7 3\nst.shared.u32 [s], %t;\n".repeat(4);
    let text = kernel(&format!(".shared .u32 s[4];\n{line}")) + ".file 1 \"kernel.cu\"\n";
    let (result, _) = run_module(&text, 64, 3, &all_checks());
    let found = result.expect("runs").findings;
    let warned: Vec<_> = found
        .iter()
        .filter(|finding| finding.other_ptx_line.is_some())
        .collect();
    assert_eq!(warned.len(), 1, "{warned:?}");
    let source = warned[0].other_source.as_ref().expect("a line");
    assert_eq!((&source.file[..], source.line), ("kernel.cu", 7));
    assert!(
        warned[0].message.contains("is written by thread"),
        "{}",
        warned[0].message
    );
    let diagnostic = warned[0].to_diagnostic();
    assert!(
        diagnostic
            .notes
            .iter()
            .any(|note| note.contains("the other access") && note.contains("kernel.cu:7")),
        "{diagnostic:?}"
    );
}

#[test]
fn the_heap() {
    let heap = |body: &str| {
        let text = kernel(&format!(
            "{{ .param .b64 x; .param .b64 y; st.param.b64 [x], 32; call.uni (y), malloc, (x); ld.param.b64 %a1, [y]; }}\n{body}"
        ))
        .replace(
            ".visible",
            ".extern .func (.param .b64 r) malloc(.param .b64 a);\n.extern .func free(.param .b64 a);\n.visible",
        );
        run_module(&text, 1, 1, &Options::default()).0
    };
    let free = "{ .param .b64 x; st.param.b64 [x], %a1; call.uni free, (x); }\n";
    heap(&format!(
        "st.u64 [%a1+24], 5; ld.u64 %a2, [%a1+24]; st.global.u64 [%out], %a2; {free}"
    ))
    .expect("runs");
    let wrong = |body: &str, words: &str| {
        let trap = heap(body).expect_err("traps");
        assert_eq!(trap.kind, TrapKind::InvalidAccess, "{trap}");
        assert!(trap.message.contains(words), "{trap}");
    };
    wrong(
        "st.u32 [%a1+32], 5;",
        "0 bytes past the end of 32 allocated bytes",
    );
    wrong("ld.u32 %r1, [%a1+-4];", "never allocated");
    wrong(
        &format!("{free} ld.u32 %r1, [%a1+8];"),
        "8 bytes into 32 bytes that were freed",
    );
    wrong(&format!("{free}{free}"), "freed before");
    wrong(&format!("add.u64 %a1, %a1, 8; {free}"), "did not give");
    heap(&format!("mov.u64 %a1, 0; {free}")).expect("`free` of a null pointer does nothing");
}

#[test]
fn memory_barriers() {
    let start = ".shared .align 8 .b64 m; mov.u32 %r9, m;";
    trap_of(
        TrapKind::InvalidBarrier,
        &format!("{start} mbarrier.init.shared.b64 [%r9], 0;"),
        1,
    );
    let waits_forever = |body: &str, threads: u32, blocks: u32| {
        let trap = run_with(body, threads, blocks, &Options::default())
            .0
            .expect_err("traps");
        assert_eq!(trap.kind, TrapKind::Deadlock, "{trap}");
    };
    // Two arrivals are expected, one comes.
    let wait = "l: mbarrier.try_wait.shared.b64 %p1, [%r9], %a1; @!%p1 bra l;";
    let arrive = "mbarrier.arrive.shared.b64 %a1, [%r9];";
    let two = format!("{start} mbarrier.init.shared.b64 [%r9], 2; {arrive}\n{wait}");
    waits_forever(&two, 1, 1);
    common::run(&two.replace("[%r9], 2;", "[%r9], 1;"), 1);
    // A flag that nobody raises, in one block and in many.
    let spin = "l: ld.volatile.global.u32 %r1, [%out]; setp.eq.u32 %p1, %r1, 0; @%p1 bra l;";
    waits_forever(spin, 32, 1);
    waits_forever(spin, 32, 4);
    let lock = "l: atom.global.cas.b32 %r1, [%out], 1, 0; setp.eq.u32 %p1, %r1, 0; @%p1 bra l;";
    waits_forever(lock, 32, 1);
}

#[test]
fn shared_memory_of_a_block_that_has_exited() {
    let text = |wait: &str| {
        kernel(&format!(
            ".shared .u32 s[4]; mov.u32 %r1, %cluster_ctarank; setp.eq.u32 %p1, %r1, 0; st.shared.u32 [s], 9;\n\
             barrier.cluster.arrive; barrier.cluster.wait;\n@!%p1 bra done;\n\
             mov.u32 %r5, 0;\nl: add.u32 %r5, %r5, 1; setp.lt.u32 %p2, %r5, 100000; @%p2 bra l;\n\
             mov.u32 %r2, s; mapa.shared::cluster.u32 %r3, %r2, 1; ld.shared::cluster.u32 %r4, [%r3]; st.global.u32 [%out], %r4;\ndone: {wait}"
        ))
        .replace("k_n)\n{", "k_n) .reqnctapercluster 2, 1, 1\n{")
    };
    let trap = run_module(&text(""), 32, 2, &Options::default())
        .0
        .expect_err("traps");
    assert_eq!(trap.kind, TrapKind::InvalidAccess, "{trap}");
    assert!(trap.message.contains("which has exited"), "{trap}");
    let waits = text("barrier.cluster.arrive; barrier.cluster.wait;");
    let (result, words) = run_module(&waits, 32, 2, &Options::default());
    result.expect("runs");
    assert_eq!(words[0], 9);
}

#[test]
fn atomics_on_local_memory() {
    let body =
        ".local .u32 l; mov.u64 %a1, l; cvta.local.u64 %a1, %a1; atom.add.u32 %r1, [%a1], 1;";
    let message = trap_of(TrapKind::InvalidAccess, body, 1);
    assert!(message.contains("local memory"), "{message}");
}

#[test]
fn launches_beyond_a_gpu_are_refused() {
    let refused = |text: &str, grid: [u32; 3], block: [u32; 3], shared: u64, words: &str| {
        let (module, errors) = oriole_syntax::parse("k.ptx", text);
        assert!(errors.is_empty(), "{errors:?}");
        let mut machine = Machine::new(&module).expect("valid");
        let launch = Launch {
            kernel: "k",
            grid,
            block,
            dynamic_shared: shared,
            arguments: vec![Value::Bytes(vec![0; 8]), Value::Bytes(vec![0; 4])],
        };
        let trap = machine
            .launch(&launch, &Options::default())
            .expect_err("refused");
        assert_eq!(trap.kind, TrapKind::BadLaunch, "{trap}");
        assert!(trap.message.contains(words), "{trap}");
    };
    let plain = kernel("");
    refused(&plain, [1; 3], [1, 1, 65], 0, "blocks of");
    refused(&plain, [1, 65_536, 1], [1; 3], 0, "grids of");
    refused(&plain, [u32::MAX; 3], [1; 3], 0, "grids of");
    refused(&plain, [1; 3], [u32::MAX; 3], 0, "at most 1024");
    refused(&plain, [1; 3], [32, 1, 1], 228 << 10, "at most 232448");
    refused(&plain, [1; 3], [32, 1, 1], u64::MAX, "at most 232448");
    let older = plain.replace("sm_90", "sm_86");
    refused(&older, [1; 3], [32, 1, 1], 100 << 10, "at most 101376");
    let large = kernel(".shared .b8 s[49153]; st.shared.u8 [s], 1;");
    refused(&large, [1; 3], [32, 1, 1], 0, "at most 49152");
    let cluster = plain.replace("k_n)\n{", "k_n) .reqnctapercluster 4000000000, 2, 2\n{");
    refused(&cluster, [1; 3], [32, 1, 1], 0, "clusters of");
    let zero = plain.replace("k_n)\n{", "k_n) .reqnctapercluster 0, 1, 1\n{");
    refused(&zero, [1; 3], [32, 1, 1], 0, "clusters of");
}
