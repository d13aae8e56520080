//! Programs and launches that are wrong on purpose: every one ends in words, none in a panic, a hang or all of the memory.

mod common;

use common::{kernel, run_module, run_with};
use oriole_emulator::{Launch, Machine, MachineOptions, Options, SplitMix64, TrapKind, Value};
use std::time::Duration;

fn small() -> Options {
    Options {
        step_limit: 200_000,
        memory_limit: 64 << 20,
        heap_bytes: 1 << 16,
        profile: true,
        check_uninitialized: true,
        check_races: true,
        time_limit: Some(Duration::from_secs(20)),
        ..Options::default()
    }
}

#[test]
fn a_list_of_targets_that_names_itself_ends() {
    let body = "mov.u32 %r1, 0;\nL: .branchtargets L;\nbrx.idx %r1, L;";
    let trap = run_with(body, 32, 1, &small()).0.expect_err("ends");
    assert_eq!(trap.kind, TrapKind::StepLimit, "{trap}");
}

#[test]
fn calls_that_call_and_call_end() {
    // No loop, but a tree of calls as deep as the module is long.
    let mut text =
        ".version 8.6\n.target sm_90\n.address_size 64\n.func f0()\n{\nret;\n}\n".to_string();
    for level in 1..60 {
        text += &format!(
            ".func f{level}()\n{{\ncall f{0};\ncall f{0};\nret;\n}}\n",
            level - 1
        );
    }
    text += ".visible .entry k(.param .u64 a, .param .u32 b)\n{\ncall f59;\nret;\n}\n";
    let trap = run_module(&text, 32, 1, &small()).0.expect_err("ends");
    assert_eq!(trap.kind, TrapKind::StepLimit, "{trap}");
    // And one that never comes back, with large frames.
    let endless = ".version 8.6\n.target sm_90\n.address_size 64\n.func f()\n{\n.reg .b64 %r<3000>; .local .b8 l[4096];\ncall f;\nret;\n}\n\
        .visible .entry k(.param .u64 a, .param .u32 b)\n{\ncall f;\nret;\n}\n";
    let trap = run_module(endless, 1024, 1, &small()).0.expect_err("ends");
    assert_eq!(trap.kind, TrapKind::MemoryLimit, "{trap}");
}

#[test]
fn steps_are_those_of_all_blocks() {
    for check_races in [false, true] {
        let options = Options {
            step_limit: 1000,
            check_races,
            ..Options::default()
        };
        let (result, _) = run_with("red.global.add.u32 [%out], 1;", 32, 100, &options);
        assert_eq!(result.expect_err("ends").kind, TrapKind::StepLimit);
    }
}

#[test]
fn time_is_limited() {
    let options = Options {
        time_limit: Some(Duration::from_millis(50)),
        step_limit: u64::MAX,
        ..Options::default()
    };
    let trap = run_with("l: bra l;", 32, 1, &options).0.expect_err("ends");
    assert_eq!(trap.kind, TrapKind::TimeLimit, "{trap}");
}

#[test]
fn huge_variables_are_refused() {
    for (declaration, is_local) in [
        (".global .b8 v[99999999999999];", false),
        (".global .b64 v[18446744073709551615];", false),
        (".global .b32 v[4294967296][4294967296];", false),
        (".const .align 4 .b8 v[8589934592];", false),
        (".local .b8 v[4294967295];", true),
        (".local .b64 v[18446744073709551615];", true),
        (".local .align 2147483648 .b8 v[3000000000];", true),
    ] {
        let text = if is_local {
            kernel(declaration)
        } else {
            format!("{}{declaration}\n", kernel(""))
        };
        let (module, errors) = oriole_syntax::parse("k.ptx", text);
        if errors.is_empty() {
            let errors = Machine::new(&module).expect_err(declaration);
            assert_eq!(
                errors.diagnostics()[0].id,
                "variable-too-large",
                "{errors:?}"
            );
        }
    }
    let text = kernel("").replace("k_n)", "k_n, .param .align 8 .b8 k_s[4294967290])");
    let (module, errors) = oriole_syntax::parse("k.ptx", text);
    assert!(errors.is_empty());
    assert!(Machine::new(&module).is_err());
    let text = kernel(
        ".shared .b8 v[99999999999]; .shared .b8 w[18446744073709551615];\nst.shared.u8 [v], 1; st.shared.u8 [w], 1;",
    );
    let trap = run_module(&text, 32, 1, &Options::default())
        .0
        .expect_err("refused");
    assert_eq!(trap.kind, TrapKind::BadLaunch, "{trap}");
}

#[test]
fn memory_is_limited() {
    let body = kernel("") + ".global .b8 v[1048576];\n";
    let (module, _) = oriole_syntax::parse("k.ptx", body);
    let options = MachineOptions {
        memory_limit: 1 << 19,
        ..MachineOptions::default()
    };
    assert!(Machine::with_options(&module, &options).is_err());
    // Registers of one block.
    let many = kernel(".reg .b64 %many<100000>; mov.u64 %many99999, 1; mov.u64 %many5, 1;");
    let trap = run_module(&many, 1024, 1, &small()).0;
    assert!(
        trap.is_ok() || trap.is_err_and(|trap| trap.kind == TrapKind::MemoryLimit),
        "only registers that are named take memory"
    );
    // Many blocks take no more than few: each is forgotten when it has ended.
    let options = Options {
        memory_limit: 16 << 20,
        check_races: true,
        profile: true,
        ..Options::default()
    };
    let (result, words) = run_with("red.global.add.u32 [%out], 1;", 1, 20_000, &options);
    assert_eq!(result.expect("runs").thread_instructions, 5 * 20_000);
    assert_eq!(words[0], 20_000);
}

#[test]
fn output_is_limited() {
    let text = kernel(
        ".reg .b64 %f; mov.u64 %f, format; cvta.global.u64 %f, %f;\n\
         l: { .param .b64 x; .param .b64 y; .param .b32 z; st.param.b64 [x], %f; st.param.b64 [y], 0;\n\
         call.uni (z), vprintf, (x, y); }\nbra l;",
    )
    .replace(
        ".visible",
        ".extern .func (.param .b32 r) vprintf(.param .b64 a, .param .b64 b);\n\
         .global .b8 format[4096] = {37, 57, 57, 57, 57, 37, 0};\n.visible",
    )
    .replace("{37, 57", &format!("{{{}37, 57", "97, ".repeat(4000)));
    let options = Options {
        step_limit: u64::MAX,
        time_limit: Some(Duration::from_secs(120)),
        ..Options::default()
    };
    let trap = run_module(&text, 32, 1, &options).0.expect_err("ends");
    assert_eq!(trap.kind, TrapKind::MemoryLimit, "{trap}");
}

#[test]
fn wild_addresses_and_operands_trap() {
    for body in [
        "mov.u64 %a1, -1; ld.global.u8 %r1, [%a1];",
        "mov.u64 %a1, -1; ld.u64 %a2, [%a1+1];",
        "mov.u64 %a1, -16; ld.global.v4.u32 {%r1, %r2, %r3, %r4}, [%a1];",
        "mov.u32 %r1, -1; ld.shared.u32 %r2, [%r1];",
        "mov.u32 %r1, -4; st.local.u32 [%r1], 1;",
        "ld.param.u32 %r1, [k_out+4294967292];",
        "mov.u64 %a1, 0x3ffffffff; ld.u8 %r1, [%a1];",
        "mov.u64 %a1, 0x1ffffffff; atom.add.u32 %r1, [%a1], 1;",
        "mov.u32 %r1, 99; bar.sync %r1;",
        "bar.sync 0, 0;",
        "bar.sync 0, 4294967264;",
        "proto: .callprototype _ (); mov.u64 %a1, 5; call %a1, proto;",
        "mov.u32 %r1, 7; l: .branchtargets l; brx.idx %r1, l;",
        "alloca.u64 %a1, 18446744073709551615;",
        "alloca.u64 %a1, 16, 9223372036854775808;",
        "mov.u64 %a1, -1; stackrestore.u64 %a1;",
        "mapa.u64 %a1, %out, 4294967295; ld.u32 %r1, [%a1];",
        "mov.u32 %r1, 0; cp.async.ca.shared.global [%r1], [%out], 3;",
        "mov.u32 %r1, 0; cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%out], 4294967280, [%r1];",
        "mov.u32 %r1, 0; mbarrier.arrive.shared.b64 %a1, [%r1];",
        ".shared .align 8 .b64 m; mov.u32 %r1, m; mbarrier.init.shared.b64 [%r1], 1048576;",
    ] {
        let _ = run_with(body, 32, 2, &small());
    }
}

#[test]
fn operands_that_are_missing_or_of_another_kind_are_not_emulated() {
    for body in [
        "mov.u32 %r1;",
        "add.u32 %r1, %r2;",
        "ld.global.u32 %r1;",
        "st.global.u32 [%out];",
        "setp.eq.u32 %p1;",
        "selp.u32 %r1;",
        "bra;",
        "atom.global.add.u32 %r1, [%out];",
        "shfl.sync.idx.b32 %r1;",
        "bar.sync;",
        "cvta.global.u64 %a1;",
        "lop3.b32 %r1, %r2, %r3;",
        "mov.u32 %p1, 5;",
        "mov.b64 {%r1, %r2}, %p1;",
        "add.u32 %out, [%out], 1;",
        "mov.u32 5, %r1;",
        "ld.global.v4.u32 %r1, [%out];",
        "vote.sync.ballot.b32 %r1, 5, %p1;",
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f1}, {%r1}, {%r2}, {%f2};",
        "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r1}, [%r2];",
        "call (%r1), k, (%r1);",
        "call nothing;",
        "dp4a.u32.u32 %r1, %p1, %p1, %p1;",
        // There is nothing to read in `_`.
        "add.u32 %r1, %r2, _;",
        "mov.b64 %a1, {%r1, _};",
        "st.global.u32 [%out], _;",
        "setp.eq.u32 %p1, %r1, _;",
        "bfi.b32 %r1, %r2, _, 1, 2;",
        "dp4a.s32.s32 %r1, %r2, _, %r3;",
        "vadd.s32.s32.s32 %r1, _, %r2;",
        "mov.u32 (), %r1;",
        "mov.f64 _, 0d3FF8000000000000;",
        "lop3.b32 _, %r1, %r1, %r1, 0xB2;",
        "bar.red.popc.u32 5, 0, %p1;",
        "bar.red.and.pred 1, 0, %p1;",
        "red.add.u32 %p1, 1;",
        "ld.global.u32 %r1, [%p1];",
        "tcgen05.st.sync.aligned.16x32bx2.x16.b32 !%p1, 16, {%r1, %r1, %r1, %r1, %r1, %r1, %r1, %r1, %r1, %r1, %r1, %r1, %r1, %r1, %r1, %r1};",
        "div.s32 %r1, %r1, k;",
        "add.u32 (), %r1, %r2;",
        "selp.b32 (), %r1, %r2, %p1;",
        "ld.global.u32 (), [%out];",
        "atom.global.add.u32 (), [%out], 1;",
        "shfl.sync.idx.b32 (), %r1, 0, 31, -1;",
    ] {
        let (module, errors) = oriole_syntax::parse("k.ptx", kernel(body));
        if !errors.is_empty() {
            continue;
        }
        if let Ok(mut machine) = Machine::new(&module) {
            let out = machine.buffer("out", &[0; 1024]);
            let launch = Launch {
                kernel: "k",
                grid: [1; 3],
                block: [32, 1, 1],
                dynamic_shared: 0,
                arguments: vec![Value::Buffer(out), Value::Bytes(vec![0; 4])],
            };
            let _ = machine.launch(&launch, &small());
        }
    }
}

/// Programs with words changed, swapped and removed: whatever they are, they end.
#[test]
fn mutated_programs_end() {
    let bodies = [
        "and.b32 %r2, %t, 1; setp.eq.u32 %p1, %r2, 0; @%p1 bra even;\nmul.lo.u32 %r1, %t, 3; bra join;\neven: add.u32 %r1, %t, 100;\njoin:\nst.global.u32 [%out], %r1;",
        ".shared .u32 s[64]; mov.u32 %r2, s; mad.lo.u32 %r3, %t, 4, %r2; st.shared.u32 [%r3], %t; bar.sync 0; ld.shared.u32 %r1, [%r3]; atom.global.add.u32 %r4, [%out], %r1;",
        "shfl.sync.bfly.b32 %r1|%p1, %t, 4, 31, -1; vote.sync.ballot.b32 %r2, %p1, -1; redux.sync.add.s32 %r3, %t, -1; match.any.sync.b32 %r4, %t, -1; bar.warp.sync -1;",
        ".shared .align 16 .b8 s[512]; .local .align 8 .b8 l[16]; mov.u32 %r2, s; cp.async.ca.shared.global [%r2], [%out], 16; cp.async.commit_group; cp.async.wait_group 0; ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r3, %r4, %r5, %r6}, [%r2]; st.local.u32 [l+4], %r3;",
        ".reg .v2 .b32 %v; mov.b64 %v, %out; mov.b64 {%r1, %r2}, %out; sub.cc.u32 %r3, %r1, %r2; addc.u32 %r4, %v.x, %v.y; prmt.b32 %r5, %r4, %r3, 0x5410; bfe.u32 %r6, %r5, 3, 40; shf.l.wrap.b32 %r7, %r6, %r5, %r4;",
    ];
    let rounds = std::env::var("ORIOLE_MUTATIONS")
        .ok()
        .and_then(|count| count.parse().ok())
        .unwrap_or(1500);
    let mut random = SplitMix64::new(12);
    let mut ran = 0;
    for round in 0..rounds {
        let mut pick = |count: usize| (random.next_number() % count.max(1) as u64) as usize;
        let text = kernel(bodies[pick(bodies.len())]);
        let mut words: Vec<&str> = text
            .split_inclusive([' ', ',', ';', '\n', '[', ']', '.'])
            .collect();
        let extra = [
            "-1",
            "0",
            "4294967295",
            "18446744073709551615",
            "%r1",
            "%p1",
            "%out",
            "[",
            "]",
            "{",
            "}",
            ".u64",
            ".v2",
            ".pred",
            "s",
            "@%p1 ",
            ".f16x2",
            "%tid",
            "0x7fffffff",
            ",",
            "+",
            ".wide",
            ".sync",
        ];
        for _ in 0..=pick(3) {
            let (a, b) = (pick(words.len()), pick(words.len()));
            match pick(4) {
                0 => words.swap(a, b),
                1 => words[a] = extra[pick(extra.len())],
                2 => words[a] = words[b],
                _ => words[a] = "",
            }
        }
        let changed = words.concat();
        let (module, errors) = oriole_syntax::parse("k.ptx", &changed);
        if !errors.is_empty() {
            continue;
        }
        let Ok(mut machine) = Machine::new(&module) else {
            continue;
        };
        let Some(signature) = machine.signature("k") else {
            continue;
        };
        let out = machine.buffer("out", &[7; 1024]);
        let arguments = signature
            .parameters
            .iter()
            .map(|(_, bytes)| match bytes {
                8 => Value::Buffer(out),
                bytes => Value::Bytes(vec![3; (*bytes).min(1 << 20)]),
            })
            .collect();
        let launch = Launch {
            kernel: "k",
            grid: [2, 1, 1],
            block: [40, 1, 1],
            dynamic_shared: 64,
            arguments,
        };
        let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            let _ = machine.launch(&launch, &small());
        }));
        assert!(result.is_ok(), "round {round}:\n{changed}");
        ran += 1;
    }
    assert!(
        ran > rounds / 20,
        "only {ran} of {rounds} programs are still programs"
    );
}
