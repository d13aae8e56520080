//! What `oriole opt` says about its work: statistics, remarks, differences, verification, bisection, profiles.

mod common;

use common::{err, oriole, out};
use std::path::Path;

/// Two kernels; lines 12 and 13 of the first are dead.
const KERNELS: &str = r#".version 8.0
.target sm_80
.address_size 64
.file 1 "kernel.cu"
.visible .entry first(.param .u64 out)
{
    .reg .b32 %r<4>;
    .reg .b64 %rd<3>;
    .loc 1 20 5
    ld.param.u64 %rd1, [out];
    mov.u32 %r1, %tid.x;
    add.s32 %r2, %r1, 1;
    xor.b32 %r3, %r2, 5;
    mad.wide.u32 %rd2, %r1, 4, %rd1;
    .loc 1 21 5
    st.global.u32 [%rd2], %r1;
    ret;
}
.visible .entry second(.param .u64 out)
{
    ret;
}
"#;

fn kernels(folder: &Path) -> String {
    let file = folder.join("k.ptx");
    std::fs::write(&file, KERNELS).unwrap();
    file.display().to_string()
}

#[test]
fn statistics_show_phases_counters_and_functions() {
    let folder = tempfile::tempdir().unwrap();
    let file = kernels(folder.path());
    let output = oriole(&["opt", &file, "--passes", "84,copy-propagation", "--stats"]);
    assert_eq!(output.status.code(), Some(0));
    let text = err(&output);
    let words: Vec<Vec<&str>> = text
        .lines()
        .map(|line| line.split_whitespace().collect())
        .collect();
    let is_time = |word: &str| word.parse::<f64>().is_ok_and(|time| time >= 0.0);
    for expected in [
        &["2", "-2", "84", "dead-code"][..],
        &["0", "+0", "copy-propagation"],
        &["0", "+0", "into-ssa"],
        &["0", "+0", "out-of-ssa"],
    ] {
        let is_expected = |line: &Vec<&str>| {
            line.len() == expected.len() + 1
                && line[..2] == expected[..2]
                && is_time(line[2])
                && line[3..] == expected[2..]
        };
        assert!(words.iter().any(is_expected), "{expected:?} in\n{text}");
    }
    for expected in [
        &["rewrites", "instructions", "milliseconds", "phase"][..],
        &["2", "dead-code.instructions"],
        &["2", "rewrites"],
        &["before", "after", "function"],
        &["7", "5", "first"],
        &["1", "1", "second"],
    ] {
        assert!(
            words.iter().any(|line| line == expected),
            "{expected:?} in\n{text}"
        );
    }
}

#[test]
fn remarks_are_text_or_json_lines() {
    let folder = tempfile::tempdir().unwrap();
    let file = kernels(folder.path());
    let output = oriole(&["opt", &file, "--passes", "dead-code", "--remarks"]);
    assert_eq!(
        err(&output),
        "first: line 13: `xor.b32`: dead-code.instructions: nobody reads its result (kernel.cu:20)\n\
         first: line 12: `add.s32`: dead-code.instructions: nobody reads its result (kernel.cu:20)\n"
    );
    let json = folder.path().join("remarks.json");
    let flag = format!("--remarks={}", json.display());
    let output = oriole(&["opt", &file, "--passes", "dead-code", &flag]);
    assert_eq!(err(&output), "");
    let lines = std::fs::read_to_string(json).unwrap();
    let objects: Vec<serde_json::Value> = lines
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(
        objects[1],
        serde_json::json!({
            "function": "first",
            "line": 12,
            "mnemonic": "add.s32",
            "pass": "dead-code",
            "rewrite": "dead-code.instructions",
            "source": {"file": "kernel.cu", "line": 20},
            "why": "nobody reads its result",
        })
    );
}

#[test]
fn differences_have_the_lines_of_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let file = kernels(folder.path());
    let output = oriole(&["opt", &file, "--passes", "dead-code", "--diff"]);
    let text = out(&output);
    let expected = "\
@@ -9,8 +9,6 @@
     .loc 1 20 5
     ld.param.u64 %rd1, [out];
     mov.u32 %r1, %tid.x;
-    add.s32 %r2, %r1, 1;
-    xor.b32 %r3, %r2, 5;
     mad.wide.u32 %rd2, %r1, 4, %rd1;
     .loc 1 21 5
     st.global.u32 [%rd2], %r1;
";
    assert_eq!(text, format!("--- {file}\n+++ {file}\n{expected}"));
    let colored = oriole(&[
        "opt",
        &file,
        "--passes",
        "dead-code",
        "--diff",
        "--color=always",
    ]);
    assert!(out(&colored).contains("\x1b[31m-    add.s32 %r2, %r1, 1;\x1b[0m\n"));
    // With an output both are written.
    let result = folder.path().join("out.ptx");
    let result_text = result.display().to_string();
    let both = oriole(&[
        "opt",
        &file,
        "--passes",
        "dead-code",
        "--diff",
        "-o",
        &result_text,
    ]);
    assert_eq!(out(&both), text);
    assert!(!std::fs::read_to_string(result).unwrap().contains("xor.b32"));
    let nothing = oriole(&["opt", &file, "-O0", "--diff"]);
    assert_eq!(out(&nothing), "");
}

#[test]
fn verification_reports_each_kernel() {
    let folder = tempfile::tempdir().unwrap();
    let file = kernels(folder.path());
    let output = oriole(&["opt", &file, "--verify"]);
    assert_eq!(output.status.code(), Some(0));
    assert!(
        err(&output)
            .contains("verified: first: equal on 3 inputs, 100 % of its instructions executed"),
        "{}",
        err(&output)
    );
    assert!(err(&output).contains("verified: second: "));
    assert!(out(&output).contains(".entry first"));
    let skipping = folder.path().join("skipping.ptx");
    let skipped = "setp.eq.u32 %p1, %r1, 12345;\n@!%p1 bra END;\n".to_owned()
        + &"st.global.u32 [%rd1], %r1;\nadd.s32 %r1, %r1, 1;\n".repeat(9);
    let text = format!(
        ".version 8.0\n.target sm_80\n.address_size 64\n.global .u32 unused = 7;\n.global .u32 used = 9;\n\
         .visible .entry skipping(.param .u64 p)\n{{\n.reg .b32 %r<2>;\n.reg .b64 %rd<2>;\n.reg .pred %p<2>;\n\
         ld.param.u64 %rd1, [p];\nld.global.u32 %r1, [used];\n{skipped}END:\nst.global.u32 [%rd1], %r1;\nret;\n}}\n"
    );
    std::fs::write(&skipping, text).unwrap();
    let output = oriole(&[
        "opt",
        &skipping.display().to_string(),
        "--passes",
        "remove-unused",
        "--verify",
    ]);
    // The variable that is gone is compared with none.
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    assert!(!out(&output).contains("unused"), "{}", out(&output));
    let said = err(&output);
    assert!(
        said.contains("warning: verified: skipping: equal on 3 inputs, 25 % of its instructions executed, less than half"),
        "{said}"
    );
    let strange = folder.path().join("strange.ptx");
    std::fs::write(
        &strange,
        KERNELS.replace("xor.b32 %r3, %r2, 5", "frobnicate"),
    )
    .unwrap();
    let output = oriole(&["opt", &strange.display().to_string(), "--verify"]);
    assert_eq!(output.status.code(), Some(0));
    assert!(
        err(&output).contains("could not verify: first: not-emulated: "),
        "{}",
        err(&output)
    );
}

#[test]
fn bisection_finds_the_rewrite() {
    let folder = tempfile::tempdir().unwrap();
    let file = kernels(folder.path());
    let opt = ["opt", &file, "--passes", "dead-code", "--bisect"];
    let bisect = |command: &str| oriole(&[&opt[..], &[command]].concat());
    let output = bisect("grep -q add.s32 {}");
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    let text = out(&output);
    assert!(
        text.starts_with(
            "the command fails from rewrite 2 of 2 on (3 runs); of the functions that are kept with all rewrites, \
             what the passes make of them is taken, better or not\n\
             first: line 12: `add.s32`: dead-code.instructions: nobody reads its result (kernel.cu:20)\n\
             --- output after rewrite 1\t\n+++ output after rewrite 2\t\n@@ -11,7 +11,6 @@\n"
        ),
        "{text}"
    );
    assert!(text.contains("\n-\tadd.s32 %r2, %r1, 1;\n") && !text.contains("xor.b32"));
    // Without a placeholder the file comes last.
    assert!(out(&bisect("grep -q xor.b32")).contains("from rewrite 1 of 2"));
    for (command, message) in [
        ("true", "the command succeeds on the optimized file"),
        ("false", "the command fails on the file before any rewrite"),
    ] {
        let output = bisect(command);
        assert_eq!(output.status.code(), Some(2));
        assert!(err(&output).contains(message), "{}", err(&output));
    }
}

/// A kernel with a branch to the next block and a dead instruction.
const STRAIGHT: &str = "\
.version 8.0
.target sm_80
.address_size 64
.visible .entry straight(.param .u64 out)
{
    .reg .b32 %r<3>;
    .reg .b64 %rd<2>;
    ld.param.u64 %rd1, [out];
    mov.u32 %r1, 7;
    bra $NEXT;
$NEXT:
    add.u32 %r2, %r1, 1;
    st.global.u32 [%rd1], %r1;
    ret;
}
";

#[test]
fn fuel_and_bisection_judge_what_passes_do() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../tests/corpus/ptx/nvcc/switch_table.O1.sm_80.ptx");
    let file = file.display().to_string();
    // No rewrite takes a function in or out, or has it written in another way.
    for fuel in ["0", "20", "30", "50", "60", "70", "80"] {
        let output = oriole(&["opt", &file, "--stats", "--fuel", fuel]);
        assert_eq!(output.status.code(), Some(0), "{}", err(&output));
        let (text, said) = (out(&output), err(&output));
        assert!(said.contains("better or not"), "{said}");
        assert!(
            said.contains(" 1  functions.not-worth-it"),
            "{fuel}: {said}"
        );
        assert!(text.contains(" $L__BB1_4;"), "{fuel}: {text}");
        let is_all = text == out(&oriole(&["opt", &file]));
        assert_eq!(is_all, fuel == "80");
    }
    // A branch to the next block is not written, whatever passes did.
    let folder = tempfile::tempdir().unwrap();
    let straight = folder.path().join("straight.ptx");
    std::fs::write(&straight, STRAIGHT).unwrap();
    let straight = straight.display().to_string();
    let output = oriole(&["opt", &straight, "--bisect", "grep -q 'bra .NEXT' {}"]);
    assert_eq!(output.status.code(), Some(2));
    let text = err(&output);
    assert!(text.contains("written anew without any rewrite"), "{text}");
}

#[test]
fn phases_go_by_number_and_by_documented_name() {
    let folder = tempfile::tempdir().unwrap();
    let file = kernels(folder.path());
    for phases in ["84", "OriPerformLiveDeadFourth", "gvn-cse,84", "dead-code"] {
        let output = oriole(&["opt", &file, "--named-phases", phases]);
        assert_eq!(output.status.code(), Some(0), "{}", err(&output));
        assert!(!out(&output).contains("xor.b32"), "{phases}");
    }
    // In any order, each with its number in the statistics where one was given.
    let output = oriole(&["opt", &file, "--named-phases", "49,gvn-cse,13", "--stats"]);
    let text = err(&output);
    let place = |phase: &str| text.find(&format!("  {phase}\n")).expect(phase);
    assert!(place("49 gvn-cse") < place("gvn-cse"), "{text}");
    assert!(place("gvn-cse") < place("13 general-optimize"), "{text}");
    let output = oriole(&["opt", &file, "--named-phases", "7"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(err(&output).contains("there is no pass or phase `7`"));
}

#[test]
fn profiles_go_by_the_target() {
    let folder = tempfile::tempdir().unwrap();
    let file = kernels(folder.path());
    let profile = ["opt", &file, "--stats", "--profile", "ptxas-13.0"];
    for (target, gvn_cse) in [
        (&[][..], false),
        (&["--target", "sm_50"], false),
        (&["--target", "sm_61"], true),
        (&["--target", "sm_89"], false),
        (&["--target", "sm_90a"], true),
    ] {
        let output = oriole(&[&profile[..], target].concat());
        assert_eq!(output.status.code(), Some(0), "{}", err(&output));
        assert!(!out(&output).contains("xor.b32"));
        assert_eq!(err(&output).contains("49 gvn-cse"), gvn_cse, "{target:?}");
    }
    for (arguments, message) in [
        (&["--profile", "ptxas"][..], "invalid value 'ptxas'"),
        (&["--target", "hopper"], "`hopper` is no target"),
        (
            &["--profile", "ptxas-13.0", "--passes", "dead-code"],
            "cannot be used with",
        ),
        (
            &["--knob", "EnableGvnCseMode=9"],
            "the knob `EnableGvnCseMode` takes a number from 0 to 6, not `9`",
        ),
    ] {
        let output = oriole(&[&["opt", &file], arguments].concat());
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(err(&output).contains(message), "{}", err(&output));
    }
    let no_target = folder.path().join("none.ptx");
    std::fs::write(
        &no_target,
        KERNELS.replace(".target sm_80", ".target debug"),
    )
    .unwrap();
    let output = oriole(&[
        "opt",
        &no_target.display().to_string(),
        "--profile",
        "ptxas-13.0",
    ]);
    assert_eq!(output.status.code(), Some(2));
    assert!(
        err(&output).contains("the profile `ptxas-13.0` depends on the target"),
        "{}",
        err(&output)
    );
}

#[test]
fn manual_pages_and_completions_know_the_flags() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().display().to_string();
    assert_eq!(oriole(&["man", &path]).status.code(), Some(0));
    let page = std::fs::read_to_string(folder.path().join("oriole-opt.1")).unwrap();
    let script = out(&oriole(&["completions", "bash"]));
    for flag in [
        "named-phases",
        "profile",
        "target",
        "remarks",
        "diff",
        "verify",
        "bisect",
    ] {
        assert!(
            page.contains(&flag.replace('-', "\\-")),
            "{flag} in the page"
        );
        assert!(
            script.contains(&format!("--{flag}")),
            "{flag} in the script"
        );
    }
}

#[test]
fn bank_conflicts_are_permuted_away() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let (before, after) = (path("before.ptx"), path("after.ptx"));
    std::fs::write(&before, oriole::EXAMPLE).unwrap();
    for arguments in [
        &["--swizzle-shared"][..],
        &["-O3"],
        &["-O1", "--swizzle-shared"],
    ] {
        let output = oriole(&[&["opt", &before, "--stats", "-o", &after], arguments].concat());
        assert_eq!(output.status.code(), Some(0), "{}", err(&output));
        let said = err(&output);
        assert!(said.contains("2  swizzle-shared.accesses"), "{said}");
        let launch = [
            "--kernel",
            "center",
            "--grid",
            "2x2",
            "--block",
            "32x8",
            "--arg",
            "out:f32[4096]",
            "--arg",
            "in:f32[4096]=iota",
            "--arg",
            "columns:f32[512]=iota",
            "--arg",
            "n:u32=64",
        ];
        let run =
            |file: &str, more: &[&str]| out(&oriole(&[&["run", file], &launch[..], more].concat()));
        assert!(run(&before, &["--compare", &after]).contains("both write the same bytes"));
        let wasteful = "ld.shared.f32  (example.cu:18)";
        assert!(run(&before, &["--profile"]).contains("4096        128    96  ld.shared.f32"));
        let profile = run(&after, &["--profile"]);
        let wasted = profile.split("Most wasteful:").nth(1).unwrap();
        assert!(!wasted.contains(wasteful), "{profile}");
    }
    let plain = oriole(&["opt", &before, "--stats", "-o", &after]);
    assert!(!err(&plain).contains("swizzle-shared"));
    let both = oriole(&["opt", &before, "--swizzle-shared", "--ptxas"]);
    assert_eq!(both.status.code(), Some(2));
}
