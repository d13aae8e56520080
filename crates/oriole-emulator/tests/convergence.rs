//! Lanes of one member mask meet at instructions in different places of the program.

mod common;

use common::{STORE, run, run_module, run_with, trap_of};
use oriole_emulator::{Options, TrapKind};

/// `first` for lanes below 16, `second` for the others; then `%r1` is stored.
fn arms(first: &str, second: &str) -> String {
    format!(
        "mul.lo.u32 %r2, %t, 3; setp.lt.u32 %p1, %t, 16; mov.u32 %r1, 0; @!%p1 bra other;\n\
         {first}\nbra join;\nother:\n{second}\njoin:\n{STORE}"
    )
}

#[test]
fn a_shuffle_meets_one_whose_result_is_dead() {
    // Lanes from 16 on read from lane 0, which gives 100 more than its own number there.
    let body = arms(
        "add.u32 %r5, %r2, 100; shfl.sync.idx.b32 %r4, %r5, 0, 31, -1;",
        "shfl.sync.idx.b32 %r1, %r2, 0, 31, -1;",
    );
    let words = run(&body, 32);
    assert_eq!(
        (words[0], words[15], words[16], words[31]),
        (0, 0, 100, 100)
    );
}

#[test]
fn equal_shuffles_receive_from_different_places() {
    let second = "shfl.sync.idx.b32 %r3, %r2, 0, 31, -1; shfl.sync.idx.b32 %r4, %r2, 0, 31, -1;\n\
                  mad.lo.u32 %r1, %r4, 1000, %r3;";
    let first = "add.u32 %r2, %r2, 1; shfl.sync.idx.b32 %r5, %r2, 0, 31, -1; add.u32 %r6, %r2, 100;\n\
                 shfl.sync.idx.b32 %r7, %r6, 0, 31, -1; mad.lo.u32 %r1, %r7, 1000, %r5;";
    let words = run(&arms(first, second), 32);
    assert!(words[..32].iter().all(|&word| word == 101_001), "{words:?}");
}

#[test]
fn votes_matches_reductions_and_elections_meet() {
    let words = run(
        &arms(
            "setp.ne.u32 %p2, %t, 3; vote.sync.ballot.b32 %r1, %p2, -1;",
            "setp.ne.u32 %p3, %t, 20; vote.sync.ballot.b32 %r1, %p3, -1;",
        ),
        32,
    );
    let expected = !(1u32 << 3 | 1 << 20);
    assert!(words[..32].iter().all(|&word| word == expected));
    let words = run(
        &arms(
            "redux.sync.add.s32 %r1, %t, -1;",
            "redux.sync.add.s32 %r1, 1, -1;",
        ),
        32,
    );
    assert!(words[..32].iter().all(|&word| word == 120 + 16));
    let words = run(
        &arms(
            "and.b32 %r3, %t, 1; match.any.sync.b32 %r1, %r3, -1;",
            "mov.u32 %r3, 1; match.any.sync.b32 %r1, %r3, -1;",
        ),
        32,
    );
    assert_eq!(words[..3], [0x5555, 0xffff_aaaa, 0x5555]);
    assert_eq!(words[31], 0xffff_aaaa);
    let words = run(
        &arms(
            "elect.sync %r1|%p2, -1; @%p2 add.u32 %r1, %r1, 100;",
            "elect.sync %r1|%p3, -1; @%p3 add.u32 %r1, %r1, 200;",
        ),
        32,
    );
    assert_eq!((words[0], words[1], words[16]), (100, 0, 0));
}

#[test]
fn warp_barriers_in_two_arms_order_shared_memory() {
    let body = format!(
        ".shared .u32 s[32]; mov.u32 %r9, s; mad.lo.u32 %r9, %t, 4, %r9;\n{}",
        arms(
            "add.u32 %r3, %t, 500; st.shared.u32 [%r9], %r3; bar.warp.sync -1;",
            "bar.warp.sync -1; ld.shared.u32 %r1, [%r9+-64];",
        )
    );
    let words = run(&body, 32);
    assert_eq!((words[16], words[31]), (500, 515));
}

#[test]
fn loops_with_different_trip_counts_meet_round_by_round() {
    // Odd lanes shuffle in a loop of four rounds, even lanes in four places.
    let body = format!(
        "and.b32 %r3, %t, 1; setp.eq.u32 %p1, %r3, 0; mov.u32 %r2, %t; mov.u32 %r1, 0; @%p1 bra even;\n\
         mov.u32 %r5, 0;\nl: shfl.sync.bfly.b32 %r4, %r2, 1, 31, -1; add.u32 %r1, %r1, %r4; add.u32 %r2, %r2, 32;\n\
         add.u32 %r5, %r5, 1; setp.lt.u32 %p2, %r5, 4; @%p2 bra l; bra join;\n\
         even:\nshfl.sync.bfly.b32 %r4, %r2, 1, 31, -1; add.u32 %r1, %r1, %r4;\n\
         shfl.sync.bfly.b32 %r4, %r2, 1, 31, -1; add.u32 %r1, %r1, %r4;\n\
         shfl.sync.bfly.b32 %r4, %r2, 1, 31, -1; add.u32 %r1, %r1, %r4;\n\
         shfl.sync.bfly.b32 %r4, %r2, 1, 31, -1; add.u32 %r1, %r1, %r4;\njoin:\n{STORE}"
    );
    let words = run(&body, 32);
    for t in 0..32u32 {
        let partner = t ^ 1;
        let expected = if t % 2 == 0 {
            4 * partner + 32 * 6
        } else {
            4 * partner
        };
        assert_eq!(words[t as usize], expected, "lane {t}");
    }
}

#[test]
fn guarded_instructions_meet_those_behind_them() {
    // The lanes that the guard turns off execute the second one.
    let body = format!(
        "setp.lt.u32 %p1, %t, 16; mov.u32 %r1, 0;\n\
         @%p1 shfl.sync.bfly.b32 %r1, %t, 31, 31, -1;\n\
         add.u32 %r2, %t, 100;\n@!%p1 shfl.sync.bfly.b32 %r1, %r2, 31, 31, -1;\n{STORE}"
    );
    let words = run(&body, 32);
    assert_eq!((words[0], words[15]), (131, 116));
    assert_eq!((words[16], words[31]), (15, 0));
}

#[test]
fn functions_meet_kernels() {
    let text = ".version 8.6\n.target sm_90\n.address_size 64\n\
        .func (.reg .b32 %d) give(.reg .b32 %v)\n{\n.reg .b32 %w;\nadd.u32 %w, %v, 1000;\n\
        shfl.sync.bfly.b32 %d, %w, 16, 31, -1;\nret;\n}\n\
        .visible .entry k(.param .u64 k_out, .param .u32 k_n)\n{\n\
        .reg .b64 %out, %a1; .reg .b32 %t, %r<9>; .reg .pred %p1;\n\
        ld.param.u64 %out, [k_out]; mov.u32 %t, %tid.x; setp.lt.u32 %p1, %t, 16;\n\
        @%p1 bra call;\nshfl.sync.bfly.b32 %r1, %t, 16, 31, -1;\nbra join;\n\
        call: call (%r1), give, (%t);\njoin:\n\
        mad.wide.u32 %a1, %t, 4, %out; st.global.u32 [%a1], %r1;\nret;\n}\n";
    let (result, words) = run_module(text, 32, 1, &Options::default());
    result.expect("runs");
    assert_eq!(
        (words[0], words[15], words[16], words[31]),
        (16, 31, 1000, 1015)
    );
}

#[test]
fn groups_with_masks_of_their_own_meet_separately() {
    // Each half has its mask; in each, even and odd lanes are in different arms.
    let body = format!(
        "shr.u32 %r3, %t, 4; shl.b32 %r4, %r3, 4; shl.b32 %r5, 65535, %r4; and.b32 %r6, %t, 1;\n\
         setp.eq.u32 %p1, %r6, 0; @%p1 bra even;\nredux.sync.max.u32 %r1, %t, %r5; bra join;\n\
         even: redux.sync.max.u32 %r1, 2, %r5;\njoin:\n{STORE}"
    );
    let words = run(&body, 32);
    assert_eq!(
        (words[0], words[15], words[16], words[31]),
        (15, 15, 31, 31)
    );
}

#[test]
fn exited_lanes_are_not_waited_for() {
    let body = format!(
        "setp.lt.u32 %p1, %t, 8; setp.lt.u32 %p2, %t, 16; @%p1 ret; @%p2 bra other;\n\
         redux.sync.add.u32 %r1, 1, -1; bra join;\nother: redux.sync.add.u32 %r1, 100, -1;\njoin:\n{STORE}"
    );
    let words = run(&body, 32);
    assert_eq!((words[7], words[8], words[31]), (0, 816, 816));
    // They may exit while others wait for them.
    let body = format!(
        "setp.lt.u32 %p1, %t, 8; @!%p1 bra stay; @%p1 ret;\nstay: redux.sync.add.u32 %r1, 1, -1;\n{STORE}"
    );
    assert_eq!(run(&body, 32)[8], 24);
}

#[test]
fn instructions_that_do_not_match_trap() {
    let kind = TrapKind::DivergentBarrier;
    let message = trap_of(
        kind,
        &arms(
            "shfl.sync.idx.b32 %r1, %t, 0, 31, -1;",
            "vote.sync.ballot.b32 %r1, %p1, -1;",
        ),
        32,
    );
    assert!(
        message.contains("shfl.sync.idx.b32") && message.contains("vote.sync.ballot.b32"),
        "{message}"
    );
    assert!(message.contains("PTX line 14"), "{message}");
    let message = trap_of(
        kind,
        &arms(
            "shfl.sync.idx.b32 %r1, %t, 0, 31, -1;",
            "shfl.sync.down.b32 %r1, %t, 0, 31, -1;",
        ),
        32,
    );
    assert!(message.contains("wait for each other forever"), "{message}");
    // Different masks.
    let message = trap_of(
        kind,
        &arms("bar.warp.sync -1;", "bar.warp.sync 0xffff0001;"),
        32,
    );
    assert!(message.contains("0xffff0001"), "{message}");
    // A lane outside its own mask.
    trap_of(kind, "bar.warp.sync 1;", 32);
}

#[test]
fn lanes_that_never_come_trap_even_beside_a_spinning_warp() {
    let message = trap_of(
        TrapKind::DivergentBarrier,
        &arms("bar.warp.sync -1;", "bar.sync 0;"),
        32,
    );
    assert!(message.contains("bar"), "{message}");
    let body = format!(
        "setp.ge.u32 %p2, %t, 32; l: @%p2 ld.volatile.global.u32 %r3, [%out]; @%p2 bra l;\n{}",
        arms("bar.warp.sync -1;", "bar.warp.sync 0xffff0001;")
    );
    let message = trap_of(TrapKind::DivergentBarrier, &body, 64);
    assert!(message.contains("bar.warp.sync"), "{message}");
}

#[test]
fn matrix_instructions_meet_only_themselves() {
    let load = "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r1}, [%r9];";
    let head = ".shared .align 16 .b8 s[512]; mov.u32 %r9, s; shl.b32 %r8, %t, 4; add.u32 %r9, %r9, %r8;\n";
    let message = trap_of(
        TrapKind::DivergentBarrier,
        &format!("{head}{}", arms(load, load)),
        32,
    );
    assert!(message.contains("`.aligned`"), "{message}");
    // Lanes that come to it at different times meet.
    let body = format!(
        "{head}setp.lt.u32 %p1, %t, 16; st.shared.u32 [%r9], %t;\n@%p1 bra first;\nbar.warp.sync 0xffff0000;\n\
         first: {load}\n{STORE}"
    );
    run(&body, 32);
}

#[test]
fn an_instruction_at_which_lanes_wait_is_counted_once() {
    let options = Options {
        profile: true,
        ..Options::default()
    };
    let body = "bar.sync 0;\nand.b32 %r1, %t, 31; setp.lt.u32 %p1, %r1, 16;\n@%p1 bra first;\nbar.warp.sync -1;\nbra join;\nfirst:\nbar.warp.sync -1;\njoin:";
    let report = run_with(body, 64, 1, &options).0.expect("runs");
    let lanes = |line: u32| {
        let entry = report
            .profile
            .iter()
            .find(|entry| entry.ptx_line == line)
            .expect("counted");
        (entry.counters.executions, entry.counters.lanes)
    };
    assert_eq!(lanes(10), (2, 64), "bar.sync");
    assert_eq!((lanes(13), lanes(16)), ((2, 32), (2, 32)));
}
