//! The `oriole` command as users see it: output, messages, exit status.

mod common;

use common::{err, oriole, out};
use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};

fn with_input(arguments: &[&str], input: &[u8]) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_oriole"))
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the command runs");
    // A command that refuses its arguments does not read its input.
    let written = child.stdin.take().unwrap().write_all(input);
    let is_gone = |error: std::io::Error| error.kind() == std::io::ErrorKind::BrokenPipe;
    assert!(written.map_or_else(is_gone, |()| true));
    child.wait_with_output().unwrap()
}

const HEADER: &str = ".version 8.0\n.target sm_80\n.address_size 64\n";

#[test]
fn opt_without_a_file_uses_the_example_and_says_so() {
    let output = oriole(&["opt"]);
    assert_eq!(output.status.code(), Some(0));
    assert!(err(&output).contains("no file given: using the embedded example kernel"));
    assert!(err(&output).contains("center: 70 instructions before, "));
    assert!(out(&output).contains(".visible .entry center("));
    // The second read of `%tid.x` is gone.
    assert!(!out(&output).contains("mov.u32 %r19, %tid.x"));
    let unchanged = oriole(&["opt", "-O0"]);
    assert!(out(&unchanged).contains("mov.u32 %r19, %tid.x"));
}

/// Arguments of the commands that have an example.
const WITH_EXAMPLE: [&[&str]; 5] = [
    &["opt"],
    &["analyze"],
    &["pressure"],
    &["scev"],
    &["dump", "--ssa"],
];

#[test]
fn the_standard_input_is_read_before_the_example_is_taken() {
    let kernel = format!("{HEADER}.visible .entry from_input()\n{{\nret;\n}}\n");
    for command in WITH_EXAMPLE {
        let piped = with_input(command, kernel.as_bytes());
        assert_eq!(piped.status.code(), Some(0), "{}", err(&piped));
        assert!(out(&piped).contains("from_input"), "{}", out(&piped));
        assert!(!err(&piped).contains("example"), "{}", err(&piped));
        let named = with_input(&[command, &["-"]].concat(), kernel.as_bytes());
        assert_eq!(out(&piped), out(&named));
        for empty in [with_input(command, b""), oriole(command)] {
            assert!(out(&empty).contains("center"), "{}", out(&empty));
            assert!(err(&empty).contains("using the embedded example kernel"));
        }
        // Nothing is read: the input does not end.
        let asked = [command, &["--example"]].concat();
        let mut child = Command::new(env!("CARGO_BIN_EXE_oriole"))
            .args(&asked)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the command runs");
        let input = child.stdin.take();
        let example = child.wait_with_output().unwrap();
        drop(input);
        assert_eq!(out(&example), out(&oriole(command)));
        assert!(!err(&example).contains("no file given"));
        let both = oriole(&[&asked[..], &["kernel.ptx"]].concat());
        assert_eq!(both.status.code(), Some(2));
        let nothing = with_input(&[command, &[""]].concat(), kernel.as_bytes());
        assert_eq!(nothing.status.code(), Some(2), "{}", out(&nothing));
    }
}

#[test]
#[cfg(target_os = "linux")]
fn a_closed_output_is_an_error() {
    let file = common::saxpy();
    let shell = |line: &str| {
        Command::new("sh")
            .args(["-c", line, env!("CARGO_BIN_EXE_oriole"), &file])
            .stdin(Stdio::null())
            .output()
            .expect("a shell")
    };
    for command in [
        "opt",
        "check",
        "analyze",
        "pressure",
        "scev",
        "dump --ssa",
        "extract",
        "opt --diff",
    ] {
        let output = shell(&format!("\"$0\" {command} \"$1\" >&-"));
        assert_eq!(output.status.code(), Some(2), "{command}");
        assert!(
            err(&output).contains("the standard output is closed"),
            "{}",
            err(&output)
        );
    }
    for command in [
        "passes",
        "knobs",
        "explain",
        "man",
        "--help",
        "opt --help",
        "--version",
    ] {
        let output = shell(&format!("\"$0\" {command} >&-"));
        assert_eq!(output.status.code(), Some(2), "{command}");
        let head = shell(&format!("\"$0\" {command} | head -c 1"));
        assert_eq!(err(&head), "", "{command}");
        let full = shell(&format!("\"$0\" {command} >/dev/full"));
        assert_eq!(full.status.code(), Some(2), "{command}");
    }
    // Nothing is lost: nothing is written there, or it is not asked for.
    let folder = tempfile::tempdir().unwrap();
    let to = folder.path().join("out.ptx");
    let written = shell(&format!("\"$0\" opt \"$1\" -o '{}' >&-", to.display()));
    assert_eq!(written.status.code(), Some(0), "{}", err(&written));
    assert!(to.exists());
    let discarded = shell("\"$0\" check \"$1\" 1<>/dev/null");
    assert_eq!(discarded.status.code(), Some(0), "{}", err(&discarded));
}

#[test]
fn of_several_levels_the_last_counts() {
    let (none, all) = (oriole(&["opt", "-O0"]), oriole(&["opt", "-O3"]));
    assert_ne!(out(&none), out(&all));
    assert_eq!(out(&oriole(&["opt", "-O3", "-O0"])), out(&none));
    assert_eq!(out(&oriole(&["opt", "-O0", "-O2", "-O3"])), out(&all));
}

#[test]
fn a_second_run_changes_nothing() {
    let once = oriole(&["opt"]);
    let twice = with_input(&["opt", "-"], &once.stdout);
    assert_eq!(out(&once), out(&twice));
}

#[test]
fn statistics_passes_knobs_and_fuel() {
    let saxpy = common::saxpy();
    let output = oriole(&["opt", &saxpy, "--stats", "--passes", "dead-code"]);
    assert!(
        err(&output).contains("4  dead-code.instructions"),
        "{}",
        err(&output)
    );
    let output = oriole(&[
        "opt",
        &saxpy,
        "--stats",
        "--passes",
        "dead-code",
        "--knob",
        "DeadCodeBudget=1",
    ]);
    assert!(
        err(&output).contains("1  dead-code.instructions"),
        "{}",
        err(&output)
    );
    let output = oriole(&["opt", &saxpy, "--stats", "--fuel", "2"]);
    assert!(err(&output).contains("2  rewrites"), "{}", err(&output));
    let output = oriole(&["opt", &saxpy, "--print-after", "all"]);
    assert!(err(&output).contains("// after dead-code\nentry saxpy {"));
}

#[test]
fn wrong_arguments_are_explained() {
    for (arguments, message) in [
        (
            &["opt", "--passes", "magic"][..],
            "there is no pass or phase `magic`; `oriole passes` lists them",
        ),
        (
            &["opt", "--knob", "Magic=1"],
            "there is no knob `Magic`; `oriole knobs` lists them",
        ),
        (
            &["opt", "--stop-after", "magic"],
            "there is no pass or phase `magic`",
        ),
        (&["opt", "-O7"], "7 is not in 0..=3"),
        (
            &["dump", "--ssa", "--function", "nobody"],
            "there is no function `nobody`",
        ),
        (
            &["opt", "/nonexistent/k.ptx"],
            "cannot read `/nonexistent/k.ptx`",
        ),
        (
            &["check", "/nonexistent/k.ptx"],
            "cannot read `/nonexistent/k.ptx`",
        ),
        (&["check"], "required"),
    ] {
        let output = oriole(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(
            err(&output).contains(message),
            "{arguments:?}: {}",
            err(&output)
        );
    }
}

#[test]
fn bad_input_shows_every_error_with_its_place() {
    let text = format!(
        "{HEADER}.entry k()\n{{\n    .reg .b32 %r<2>;\n    mov.u32 %r1, ;\n    add.s32 %r1 %r0, 1;\n    ret;\n}}\n"
    );
    for command in [&["opt", "-"][..], &["check", "-"], &["dump", "--ssa", "-"]] {
        let output = with_input(command, text.as_bytes());
        assert_eq!(output.status.code(), Some(2));
        let message = err(&output);
        assert!(message.contains("<stdin>:7:18"), "{message}");
        assert!(message.contains("<stdin>:8:17"), "{message}");
        assert!(message.contains("2 errors"), "{message}");
    }
    let names = format!("{HEADER}.entry k()\n{{\n    mov.u32 %r1, 0;\n    bra NOWHERE;\n}}\n");
    let output = with_input(&["opt", "-"], names.as_bytes());
    assert_eq!(output.status.code(), Some(2));
    assert!(err(&output).contains("the register `%r1` is not declared"));
    assert!(err(&output).contains("the label `NOWHERE` is not declared"));
    assert!(err(&output).contains("2 errors"), "{}", err(&output));
    let output = with_input(&["check", "--syntax", "-"], names.as_bytes());
    assert_eq!(output.status.code(), Some(0));
    let output = with_input(&["opt", "-"], b".version 8.0\n// \xff\n");
    assert_eq!(output.status.code(), Some(2));
    assert!(err(&output).contains("<stdin>:2:4"), "{}", err(&output));
    assert!(
        err(&output).contains("byte 0xFF is not valid UTF-8"),
        "{}",
        err(&output)
    );
}

#[test]
fn check_walks_folders_in_parallel_and_in_order() {
    let folder = tempfile::tempdir().unwrap();
    let inner = folder.path().join("inner");
    std::fs::create_dir(&inner).unwrap();
    for (index, name) in ["a.ptx", "b.ptx", "inner/c.ptx"].iter().enumerate() {
        let bad = if index == 1 { "" } else { "bad" };
        std::fs::write(folder.path().join(name), format!("{HEADER}{bad}\n")).unwrap();
    }
    let path = folder.path().to_str().unwrap();
    let output = oriole(&["check", path]);
    assert_eq!(output.status.code(), Some(2));
    let message = err(&output);
    let (a, c) = (
        message.find("a.ptx:4:1").unwrap(),
        message.find("c.ptx:4:1").unwrap(),
    );
    assert!(a < c);
    assert!(message.contains("2 errors in 2 of 3 files"), "{message}");
    let one = oriole(&["check", "-j", "1", path]);
    assert_eq!(err(&one), message);
    let json = oriole(&["check", "--format", "json", path]);
    let lines: Vec<serde_json::Value> = out(&json)
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(lines.len(), 2);
    assert_eq!(lines[0]["labels"][0]["line"], 4);
    let sarif = oriole(&["check", "--format", "sarif", path]);
    let log: serde_json::Value = serde_json::from_str(&out(&sarif)).unwrap();
    assert_eq!(log["runs"][0]["results"].as_array().unwrap().len(), 2);
    let fine = oriole(&["check", &format!("{path}/b.ptx")]);
    assert_eq!(fine.status.code(), Some(0));
    assert_eq!(out(&fine), "1 file checked, no errors\n");
}

#[test]
fn output_files_are_replaced_whole_or_not_at_all() {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("out.ptx");
    std::fs::write(&target, "precious").unwrap();
    let target_text = target.to_str().unwrap();
    let output = with_input(&["opt", "-", "-o", target_text], b"not ptx");
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(std::fs::read_to_string(&target).unwrap(), "precious");
    let output = oriole(&["opt", "-o", target_text]);
    assert_eq!(output.status.code(), Some(0));
    assert!(std::fs::read_to_string(&target).unwrap().contains("center"));
    let left: Vec<_> = std::fs::read_dir(folder.path()).unwrap().collect();
    assert_eq!(left.len(), 1, "no temporary files are left");
    let output = oriole(&["opt", "-o", "/nonexistent/out.ptx"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(err(&output).contains("cannot write `/nonexistent/out.ptx`"));
}

#[test]
fn dumps_show_tree_ssa_graph_and_intervals() {
    let saxpy = common::saxpy();
    let tree = out(&oriole(&["dump", "--tree", &saxpy]));
    assert!(
        tree.contains("instruction ld.global.f32 Name(%f2) Address[Name(%rd6)]"),
        "{tree}"
    );
    let ssa = out(&oriole(&["dump", "--ssa", &saxpy]));
    assert!(ssa.contains("= fma.rn.f32 #0, "), "{ssa}");
    assert!(ssa.contains("block1("), "{ssa}");
    let graph = out(&oriole(&["dump", "--cfg", &saxpy]));
    assert!(graph.starts_with("digraph \"saxpy\" {"), "{graph}");
    assert!(graph.contains("block1 -> block1"), "{graph}");
    let live = out(&oriole(&["dump", "--live", &saxpy]));
    assert!(
        live.starts_with("function saxpy\n    0  block 0 -> "),
        "{live}"
    );
    let output = oriole(&["dump", "--live", "--ssa", &saxpy]);
    assert_eq!(output.status.code(), Some(2));
}

#[test]
fn lists_completions_and_manual() {
    let passes = out(&oriole(&["passes"]));
    for line in [
        "    49  gvn-cse (GvnCse)",
        "    84  dead-code (OriPerformLiveDeadFourth)",
        "        near-addresses",
    ] {
        assert!(passes.lines().any(|own| own == line), "{line}");
    }
    assert!(passes.contains("read the original (OriCopyProp)"));
    let knobs = out(&oriole(&["knobs"]));
    for part in [
        "DeadCodeBudget=unlimited\n    Instructions dead-code may remove from one function (dead-code; a number or `unlimited`; of Oriole)",
        "(gvn-cse; a number from 0 to 6; of ptxas, knob 402)",
        "(copy-propagation; true or false; of ptxas)",
    ] {
        assert!(knobs.contains(part), "{part}");
    }
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let output = oriole(&["completions", shell]);
        assert_eq!(output.status.code(), Some(0));
        assert!(out(&output).contains("oriole"), "{shell}");
    }
    assert!(out(&oriole(&["man"])).contains(".TH oriole 1"));
    let folder = tempfile::tempdir().unwrap();
    let output = oriole(&["man", folder.path().to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(0));
    assert!(Path::new(&folder.path().join("oriole-opt.1")).exists());
    let help = out(&oriole(&["opt", "--help"]));
    assert!(help.contains("Examples:") && help.contains("oriole opt kernel.ptx -o out.ptx"));
}

#[test]
fn run_executes_saves_profiles_and_compares() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (before, after, saved) = (path("before.ptx"), path("after.ptx"), path("y.npy"));
    std::fs::write(&before, &oriole(&["opt", &common::saxpy(), "-O0"]).stdout).unwrap();
    std::fs::write(&after, &oriole(&["opt", &common::saxpy(), "-O2"]).stdout).unwrap();
    let save = format!("saxpy_y={saved}");
    let launch = [
        "--kernel",
        "saxpy",
        "--grid",
        "2",
        "--block",
        "64",
        "--arg",
        "a:f32=2",
        "--arg",
        "x:f32[200]=iota",
        "--arg",
        "saxpy_y:f32[200]",
        "--arg",
        "n:u32=200",
    ];
    let with = |file: &str, more: &[&str]| {
        let mut arguments = vec!["run", file];
        arguments.extend(launch);
        arguments.extend(more);
        oriole(&arguments)
    };
    let output = with(
        &before,
        &["--save", &save, "--profile", "--check", "--compare", &after],
    );
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    assert!(
        out(&output).contains("both write the same bytes"),
        "{}",
        out(&output)
    );
    assert!(out(&output).contains("Most executed:"), "{}", out(&output));
    let bytes = std::fs::read(&saved).unwrap();
    assert!(bytes.starts_with(b"\x93NUMPY\x01\x00"));
    let data = &bytes[bytes.len() - 800..];
    assert_eq!(
        f32::from_le_bytes(data[4 * 7..4 * 8].try_into().unwrap()),
        14.0
    );

    let wrong = path("wrong.ptx");
    let text = std::fs::read_to_string(&before).unwrap().replace(
        "fma.rn.f32 %f4, %f1, %f2, %f3",
        "fma.rn.f32 %f4, %f1, %f2, %f1",
    );
    std::fs::write(&wrong, text).unwrap();
    let output = with(&before, &["--compare", &wrong]);
    assert_eq!(output.status.code(), Some(1));
    assert!(
        err(&output).contains("`saxpy_y[0]` is 0x00000000 after"),
        "{}",
        err(&output)
    );

    let output = oriole(&[
        "run",
        &before,
        "--arg",
        "a:f32=2",
        "--arg",
        "x:f32[4]",
        "--arg",
        "y:f32[4]",
        "--arg",
        "n:u32=200",
    ]);
    assert_eq!(output.status.code(), Some(1));
    let message = err(&output);
    assert!(
        message.contains("before.ptx:") && message.contains("thread (4, 0, 0)"),
        "{message}"
    );
    for (arguments, message) in [
        (
            &["run", &before, "--block", "0"][..],
            "`0` is not a positive number",
        ),
        (&["run", &before, "--arg", "x:q7"], "unknown type `q7`"),
        (
            &["run", &before, "--save", "z=f"],
            "there is no buffer `z` to save",
        ),
    ] {
        let output = oriole(arguments);
        assert_eq!(output.status.code(), Some(2));
        assert!(err(&output).contains(message), "{}", err(&output));
    }
}

/// Results an H200 gave, one line unlike what the emulator gives by itself.
const RECORDED: &str = "# NVIDIA H200, compute capability 9.0\n\
    ex2.approx.ftz.f32 3b83884b = 3f805b4d\n";
const RESULT: u32 = 0x3f805b4d;

#[test]
fn approximate_results_are_replayed() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (kernel, recorded, missing, saved) = (
        path("k.ptx"),
        path("recorded.txt"),
        path("missing.txt"),
        path("out.bin"),
    );
    let text = ".version 8.6\n.target sm_90\n.address_size 64\n\
        .visible .entry k(.param .u64 out)\n{\n.reg .b64 %a, %o; .reg .b32 %t; .reg .f32 %x;\n\
        ld.param.u64 %o, [out]; mov.u32 %t, %tid.x; mad.wide.u32 %a, %t, 4, %o;\n\
        ld.global.f32 %x, [%a]; ex2.approx.ftz.f32 %x, %x; st.global.f32 [%a], %x; ret;\n}\n";
    std::fs::write(&kernel, text).unwrap();
    std::fs::write(&recorded, RECORDED).unwrap();
    let save = format!("out={saved}");
    let run = |more: &[&str]| {
        let mut arguments = vec!["run", &kernel, "--block", "2", "--save", &save];
        arguments.extend(["--arg", "out:f32[2]=[0.004014050122350454,2.0]"]);
        arguments.extend(more);
        let output = oriole(&arguments);
        assert_eq!(output.status.code(), Some(0), "{}", err(&output));
        let bytes = std::fs::read(&saved).unwrap();
        let word = |index: usize| u32::from_le_bytes(bytes[index..index + 4].try_into().unwrap());
        ([word(0), word(4)], err(&output))
    };
    let (own, said) = run(&[]);
    assert_ne!(
        own[0], RESULT,
        "the emulator gives the machine's bits itself"
    );
    assert_eq!((own[1], said.as_str()), (0x4080_0000, ""));

    let (replayed, said) = run(&["--approx", &recorded]);
    assert_eq!(replayed, [RESULT, 0x4080_0000]);
    assert!(
        said.contains("1 approximate results are not recorded"),
        "{said}"
    );

    let (_, said) = run(&["--approx", &recorded, "--approx-missing", &missing]);
    assert_eq!(said, "");
    let wanted = std::fs::read_to_string(&missing).unwrap();
    assert_eq!(wanted, "ex2.approx.ftz.f32 40000000\n");
    run(&["--approx-missing", &missing]);
    assert_eq!(
        std::fs::read_to_string(&missing).unwrap().lines().count(),
        2
    );

    std::fs::write(&recorded, "ex2.approx.ftz.f32 = 1\n").unwrap();
    let output = oriole(&["run", &kernel, "--approx", &recorded]);
    assert_eq!(output.status.code(), Some(2));
    let message = "line 1 is no recorded result: `ex2.approx.ftz.f32 = 1`";
    assert!(err(&output).contains(message), "{}", err(&output));
}

#[cfg(unix)]
#[test]
fn reduce_keeps_what_the_test_asks_for() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("it's.ptx");
    std::fs::write(&file, &oriole(&["opt", &common::saxpy(), "-O0"]).stdout).unwrap();
    let file = file.to_str().unwrap();
    let output = oriole(&["reduce", file, "--test", "grep -q fma.rn.f32 {}"]);
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    assert!(out(&output).contains("fma.rn.f32"));
    assert!(out(&output).lines().count() < 12, "{}", out(&output));
    let output = oriole(&["reduce", file, "--test", "grep -q nothing-like-this"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(err(&output).contains("there is nothing to keep"));
}

#[test]
fn colours_are_on_request() {
    let plain = with_input(&["opt", "-"], b"bad");
    assert!(!err(&plain).contains('\u{1b}'));
    let colored = with_input(&["--color", "always", "opt", "-"], b"bad");
    assert!(err(&colored).contains('\u{1b}'));
}

#[cfg(unix)]
#[test]
fn a_closed_pipe_is_no_error() {
    // More text than a pipe holds, and a reader that leaves after the first bytes.
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("large.ptx");
    let mut text = String::from(HEADER);
    for index in 0..20_000 {
        text.push_str(&format!(".global .u32 variable_{index};\n"));
    }
    std::fs::write(&file, text).unwrap();
    let command = format!(
        "{} opt {} | head -c 10",
        env!("CARGO_BIN_EXE_oriole"),
        file.display()
    );
    let output = Command::new("sh").args(["-c", &command]).output().unwrap();
    assert_eq!(err(&output), "");
    assert_eq!(out(&output), ".version 8");
}
