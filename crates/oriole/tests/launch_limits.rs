//! Limits of a launch come from the target or from the options.

use oriole::analysis::lane_patterns::Setting;
use oriole::emulator::{Launch, Machine, MachineOptions, Options as Execution, Value};
use oriole::isa::Target;
use oriole::pressure::PressureOptions;
use oriole::{
    AccessOptions, EvolutionOptions, LaunchLimits, Module, Options, Severity, Verdict,
    VerifyOptions, accesses, evolution, optimize, parse, pressure, print, unlisted_target, verify,
};

/// A kernel that says in each thread whether its number is beyond 1,500, between the two barriers of a block.
fn kernel(target: &str, directives: &str) -> Module {
    let text = format!(
        ".version 8.6\n.target {target}\n.address_size 64\n.visible .entry k(.param .u64 out)\n{directives}{{\n\
         .reg .pred %p<2>;\n.reg .b32 %r<4>;\n.reg .b64 %rd<4>;\n\
         ld.param.u64 %rd1, [out];\nmov.u32 %r1, %tid.x;\nbar.sync 0;\nsetp.gt.u32 %p1, %r1, 1500;\n\
         selp.b32 %r2, 1, 2, %p1;\nmul.wide.u32 %rd2, %r1, 4;\nadd.s64 %rd3, %rd1, %rd2;\n\
         st.global.u32 [%rd3], %r2;\nbar.sync 0;\nret;\n}}\n"
    );
    parse("k.ptx", text).unwrap()
}

/// A machine with 2,560 threads a block.
fn large() -> LaunchLimits {
    LaunchLimits {
        threads: 2560,
        block: [2560, 2560, 64],
        ..LaunchLimits::of(Target::from_text("sm_90"))
    }
}

fn optimized(module: &Module, launch: Option<LaunchLimits>) -> Module {
    let mut module = module.clone();
    let options = Options {
        launch,
        ..Options::default()
    };
    optimize(&mut module, &options).unwrap();
    module
}

fn is_decided(module: &Module) -> bool {
    !print(module).contains("setp")
}

#[test]
fn larger_blocks_leave_comparisons_of_thread_numbers_undecided() {
    let module = kernel("sm_90", "");
    assert!(is_decided(&optimized(&module, None)));
    assert!(!is_decided(&optimized(&module, Some(large()))));
    assert!(!is_decided(&optimized(&kernel("sm_999", ""), None)));
    assert!(is_decided(&optimized(
        &kernel("sm_999", ".maxntid 1024, 1, 1\n"),
        Some(large())
    )));
}

#[test]
fn the_emulator_runs_blocks_as_large_as_the_target_allows() {
    let run = |module: &Module, launch, threads: u32, check_races| {
        let options = MachineOptions {
            launch,
            ..MachineOptions::default()
        };
        let mut machine = Machine::with_options(module, &options).unwrap();
        let out = machine.buffer("out", &vec![0; 4 * threads as usize]);
        let launch = Launch {
            kernel: "k",
            grid: [1; 3],
            block: [threads, 1, 1],
            dynamic_shared: 0,
            arguments: vec![Value::Buffer(out)],
        };
        let execution = Execution {
            check_races,
            check_uninitialized: check_races,
            profile: true,
            ..Execution::default()
        };
        let result = machine.launch(&launch, &execution);
        let written = machine.read(out).chunks(4).map(|word| word[0]).collect();
        let written: Vec<u8> = written;
        result.map(|_| written).map_err(|trap| trap.to_string())
    };
    let expected = |threads: u32| -> Vec<u8> {
        let of = |thread: u32| if thread > 1500 { 1 } else { 2 };
        (0..threads).map(of).collect()
    };
    let module = kernel("sm_90", "");
    for check_races in [false, true] {
        let all = run(&module, Some(large()), 2560, check_races);
        assert_eq!(all, Ok(expected(2560)), "{check_races}");
        // The emulator has limits of its own for an unlisted target.
        let unlisted = run(&kernel("sm_999", ""), None, 4096, check_races);
        assert_eq!(unlisted, Ok(expected(4096)), "{check_races}");
    }
    let beyond = run(&module, None, 2560, false).unwrap_err();
    assert!(beyond.contains("at most 1024 are possible"), "{beyond}");
    let beyond = run(&module, Some(large()), 2561, false).unwrap_err();
    assert!(beyond.contains("at most 2560 are possible"), "{beyond}");
    let beyond = run(&kernel("sm_999", ""), None, 1 << 17, false).unwrap_err();
    assert!(beyond.contains("at most 65536 are possible"), "{beyond}");
}

#[test]
fn verification_runs_the_largest_block_of_the_target() {
    let verdict = |original: &Module, changed: &Module, launch| {
        let options = VerifyOptions {
            launch,
            ..VerifyOptions::default()
        };
        let mut verdicts = verify(original, changed, &options).unwrap();
        verdicts.remove(0).verdict
    };
    let module = kernel("sm_90", "");
    // Right where blocks have 1,024 threads, and wrong where they have more.
    let decided = optimized(&module, None);
    assert!(is_decided(&decided));
    let verdict_of = |launch| verdict(&module, &decided, launch);
    assert!(matches!(verdict_of(None), Verdict::Equal { .. }));
    assert!(matches!(verdict_of(Some(large())), Verdict::Different(_)));
    // The bounds of the kernel hold, too, where nothing is known of the target.
    for (directives, is_seen) in [("", false), (".maxntid 2560, 1, 1\n", true)] {
        let original = kernel("sm_999", directives);
        let text = print(&original).replace("selp.b32 %r2, 1, 2, %p1", "mov.b32 %r2, 2");
        let verdict = verdict(&original, &parse("k.ptx", text).unwrap(), None);
        assert_eq!(
            matches!(verdict, Verdict::Different(_)),
            is_seen,
            "{verdict:?}"
        );
    }
}

#[test]
fn blocks_that_were_asked_for_are_held_against_the_target() {
    let asked = |target: &str, block| {
        let module = kernel(target, "");
        let of_accesses = AccessOptions {
            block: Some(block),
            with_summary: true,
            ..AccessOptions::default()
        };
        let of_evolution = EvolutionOptions {
            block: Some(block),
            ..EvolutionOptions::default()
        };
        let of_pressure = PressureOptions {
            blocks: vec![block],
            ..PressureOptions::default()
        };
        let results = [
            accesses(&module, &of_accesses).map(|own| own.1),
            evolution(&module, &of_evolution).map(|own| own.1),
            pressure(&module, &of_pressure).map(|own| own.1),
        ];
        results.map(|result| match result {
            Ok(notes) => notes.into_iter().map(|own| own.id.to_owned()).collect(),
            Err(error) => {
                let (at, first) = error.iter().next().unwrap();
                assert_eq!((at.line, at.column, first.id), (2, 9, "wrong-block"));
                first.message.clone()
            }
        })
    };
    assert_eq!(asked("sm_90", [512, 2, 1]), ["", "", ""]);
    let why = "a block has 1 to 1,024 threads, not 2560";
    assert_eq!(asked("sm_90", [2560, 1, 1]), [why, why, why]);
    let why = "a block has 1 to 64 threads along z, not 65";
    assert_eq!(asked("sm_90", [1, 1, 65]), [why, why, why]);
    let id = "unlisted-target";
    assert_eq!(asked("sm_999", [2560, 1, 1]), [id, id, id]);
}

#[test]
fn nothing_is_said_of_the_occupancy_of_a_target_that_is_not_listed() {
    let options = AccessOptions {
        with_summary: true,
        ..AccessOptions::default()
    };
    for (target, is_listed) in [("sm_90", true), ("sm_999", false), ("sm_12", false)] {
        let module = kernel(target, "");
        let (kernels, _) = accesses(&module, &options).unwrap();
        let registers = kernels[0].registers.as_ref().unwrap();
        assert_eq!(registers.occupancy.is_some(), is_listed, "{target}");
        assert!(registers.prediction.best > 0);
        let (functions, _) = pressure(&module, &PressureOptions::default()).unwrap();
        assert_eq!(!functions[0].shapes.is_empty(), is_listed, "{target}");
        let warning = unlisted_target(&module, None);
        assert_eq!(warning.is_none(), is_listed, "{target}");
        if let Some(warning) = warning {
            assert_eq!(warning.severity, Severity::Warning);
            assert_eq!(
                &module.source()[warning.span().start as usize..][..5],
                &target[..5]
            );
        }
    }
}

#[test]
fn patterns_of_lanes_take_all_threads_of_a_block() {
    let warps = |block, limits| Setting::of_block(block, limits).warps();
    assert_eq!(warps([2560, 1, 1], large()), 80);
    assert_eq!(
        warps([2560, 1, 1], LaunchLimits::of(Target::from_text("sm_90"))),
        32
    );
    assert_eq!(warps([2560, 1, 1], LaunchLimits::UNKNOWN), 80);
    let huge = Setting::of_block([1 << 16, 1 << 16, 1 << 16], LaunchLimits::UNKNOWN);
    assert!(!huge.has_like_warps() && huge.warps() == 2048);
}
