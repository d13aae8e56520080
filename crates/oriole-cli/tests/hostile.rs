//! Files, names and arguments made to break the command: it says what is wrong, in bounded time and space, and a terminal
//! shows it as text.

mod common;

use common::{err, oriole, out};
use std::path::Path;
use std::process::{Command, Output, Stdio};

const HEADER: &str = ".version 8.0\n.target sm_80\n.address_size 64\n";

/// Every command that reads a file and needs nothing else, at every level.
const COMMANDS: &[&[&str]] = &[
    &["check"],
    &["check", "--format", "json"],
    &["check", "--format", "sarif"],
    &["opt", "-O0"],
    &["opt", "-O1"],
    &["opt", "-O2", "--stats", "--remarks"],
    &["opt", "-O3", "--diff"],
    &["pressure"],
    &["pressure", "--json"],
    &["scev", "--values"],
    &["scev", "--json"],
    &["analyze", "--all"],
    &["analyze", "--json"],
    &["analyze", "--format", "html"],
    &["analyze", "--format", "sarif"],
    &["pressure", "--lines"],
    &["extract"],
    &["dump", "--tree"],
    &["dump", "--ssa"],
    &["dump", "--cfg"],
    &["dump", "--live"],
];

/// A folder of its own for a test, removed at the end.
fn folder() -> tempfile::TempDir {
    tempfile::tempdir().expect("a temporary folder can be made")
}

fn text(path: &Path) -> &str {
    path.to_str().expect("a path of plain characters")
}

/// Runs every command on a text: it ends with 0 or 2 and prints nothing a terminal acts on.
fn survives(contents: &str) -> Vec<Output> {
    let folder = folder();
    let file = folder.path().join("hostile.ptx");
    std::fs::write(&file, contents).unwrap();
    let run = |arguments: &&[&str]| {
        let mut all = arguments.to_vec();
        all.push(text(&file));
        let output = oriole(&all);
        assert!(
            matches!(output.status.code(), Some(0 | 2)),
            "{arguments:?}: {:?}\n{}",
            output.status,
            err(&output)
        );
        // What `opt` prints is PTX: it has what the file has.
        let shown = if arguments[0] == "opt" {
            String::new()
        } else {
            out(&output)
        };
        assert_is_text(&(err(&output) + &shown));
        output
    };
    COMMANDS.iter().map(run).collect()
}

fn assert_is_text(output: &str) {
    assert!(
        !output.contains(|c: char| c.is_control() && c != '\n' && c != '\t'),
        "{output:?}"
    );
}

#[test]
fn names_of_any_length_are_printed() {
    let name = "r".repeat(66_000);
    survives(&format!(
        "{HEADER}.visible .entry k(.param .u64 p)\n{{\n.reg .b32 {name};\n.reg .b64 a;\nld.param.u64 a, [p];\n\
         ld.global.u32 {name}, [a];\nst.global.u32 [a], {name};\nret;\n}}\n"
    ));
}

#[test]
fn sizes_that_overflow_are_bounded() {
    let outputs = survives(&format!(
        "{HEADER}.shared .align 8 .b8 s1[4294967295];\n.shared .align 8 .b8 s2[4294967295][4294967295];\n\
         .global .u64 g[18446744073709551615];\n.visible .entry k(.param .align 8 .b8 p[99999999999999])\n\
         .maxntid 4294967295, 4294967295, 4294967295\n.minnctapersm 4294967295\n{{\n\
         .local .align 8 .b8 l1[4294967295];\n.local .align 8 .v4 .f32 l2[4294967295][4294967295];\n\
         .shared .align 1073741824 .b8 s3[4294967295];\n.reg .b32 %r<9>;\n.reg .b64 %rd<9>;\n\
         mov.u32 %r1, s1;\nmov.u32 %r2, s2;\nmov.u64 %rd1, g;\nst.global.u32 [%rd1+18446744073709551615], %r1;\n\
         st.global.u32 [%rd1+-9223372036854775808], %r2;\nret;\n}}\n"
    ));
    assert!(outputs.iter().all(|output| output.status.success()));
}

#[test]
fn strings_of_the_file_reach_the_terminal_as_text() {
    survives(&format!(
        "{HEADER}.file 1 \"\u{1b}]0;title\u{7}\u{1b}[31m\u{9b}2J\"\n.visible .entry k(.param .u64 p)\n{{\n\
         .reg .b32 %r<9>;\n.reg .b64 %rd<9>;\nld.param.u64 %rd1, [p];\n.loc 1 7 0\nld.global.u32 %r1, [%rd1];\n\
         ld.global.u32 %r3, [%rd1];\n.loc 1 8 0\nadd.u32 %r2, %r1, %r3;\nst.global.u32 [%rd1], %r2;\nret;\n}}\n"
    ));
    let outputs = survives("\u{1b}[31m @ \u{1b}]0;x\u{7};\n");
    assert_eq!(outputs[0].status.code(), Some(2));
}

#[test]
fn names_of_files_passes_and_knobs_reach_the_terminal_as_text() {
    let folder = folder();
    let file = folder.path().join("\u{1b}[31m\n.ptx");
    std::fs::write(&file, "add\n").unwrap();
    for arguments in [
        &["check", text(&file)][..],
        &["check", "--format", "json", text(&file)],
        &["check", "--format", "sarif", text(&file)],
        &["opt", text(&file)],
        &["pressure", text(&file)],
        &["extract", text(&file)],
        &["analyze", "--format", "html", text(&file)],
        &["opt", "no/\u{1b}[31m.ptx"],
        &["check", "no/\u{1b}[31m.ptx"],
        &["opt", "--passes", "\u{1b}[31m\u{7}"],
        &["opt", "--stop-after", "\u{1b}[31m\u{7}"],
        &["opt", "--knob", "\u{1b}[31m\u{7}=1"],
        &["opt", "--target", "\u{1b}[31m\u{7}"],
        &["dump", "--ssa", "--function", "\u{1b}[31m\u{7}"],
        &["check", "--jobs", "\u{1b}[31m\u{7}\u{9b}"],
        &["\u{1b}[31m\u{7}\u{9b}"],
    ] {
        let output = oriole(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert_is_text(&(err(&output) + &out(&output)));
    }
    let output = oriole(&["check", "--format", "sarif", text(&file)]);
    assert!(
        out(&output).contains("/%1B%5B31m%0A.ptx"),
        "{}",
        out(&output)
    );
}

#[test]
fn many_errors_print_a_bounded_amount() {
    let labels = "a:".repeat(1500);
    let text = format!("{HEADER}.entry k()\n{{\n{labels}\nret;\n}}\n");
    for output in survives(&text) {
        let printed = output.stdout.len() + output.stderr.len();
        assert!(printed < 200_000, "{printed} bytes");
    }
    let output = &survives(&text)[0];
    assert!(
        output.stderr.len() < 10_000,
        "{} bytes",
        output.stderr.len()
    );
    assert!(err(output).contains("more for"), "{}", err(output));
    assert!(err(output).contains("errors in 1 of 1 file"));
}

#[test]
fn more_threads_than_are_useful_are_not_started() {
    let folder = folder();
    let file = folder.path().join("k.ptx");
    std::fs::write(&file, format!("{HEADER}.entry k()\n{{\nret;\n}}\n")).unwrap();
    let output = oriole(&["check", "--jobs", "1000000000", text(&file)]);
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
}

#[cfg(unix)]
#[test]
fn only_files_are_read_from_folders() {
    let folder = folder();
    let file = |name: &str| folder.path().join(name);
    std::fs::write(
        file("good.ptx"),
        format!("{HEADER}.entry k()\n{{\nret;\n}}\n"),
    )
    .unwrap();
    std::fs::write(file("secret"), "password\n").unwrap();
    std::os::unix::fs::symlink(file("secret"), file("link.ptx")).unwrap();
    std::os::unix::fs::symlink("/", file("root")).unwrap();
    std::os::unix::fs::symlink("/dev/zero", file("zero.ptx")).unwrap();
    let made = Command::new("mkfifo").arg(file("pipe.ptx")).status();
    assert!(made.is_ok_and(|status| status.success()), "mkfifo is there");
    let output = oriole(&["check", text(folder.path())]);
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    assert!(out(&output).contains("1 file checked"), "{}", out(&output));
}

#[cfg(unix)]
#[test]
fn devices_without_end_are_not_read() {
    for arguments in [
        &["check", "/dev/zero"][..],
        &["opt", "/dev/zero"],
        &["pressure", "/dev/zero"],
        &["dump", "--tree", "/dev/urandom"],
        &["reduce", "/dev/zero", "--test", "true"],
        &["run", "/dev/zero"],
    ] {
        let output = oriole(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(err(&output).contains("it is a device"), "{}", err(&output));
    }
    assert_eq!(oriole(&["check", "/dev/null"]).status.code(), Some(0));
}

#[cfg(unix)]
#[test]
fn a_signal_leaves_nothing_temporary_behind() {
    let folder = folder();
    let file = folder.path().join("k.ptx");
    let temporaries = folder.path().join("temporaries");
    std::fs::create_dir(&temporaries).unwrap();
    std::fs::write(&file, format!("{HEADER}.entry k()\n{{\nret;\n}}\n")).unwrap();
    let count = || std::fs::read_dir(&temporaries).unwrap().count();
    for signal in ["TERM", "INT", "HUP"] {
        let mut child = Command::new(env!("CARGO_BIN_EXE_oriole"))
            .args(["reduce", text(&file), "--test", "sleep 1 && true"])
            .env("TMPDIR", &temporaries)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        while count() == 0 {
            assert!(child.try_wait().unwrap().is_none(), "it ended too soon");
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        let killed = Command::new("kill")
            .args(["-s", signal, &child.id().to_string()])
            .status();
        assert!(killed.is_ok_and(|status| status.success()));
        let status = child.wait().unwrap();
        assert_eq!(status.code(), None, "it was ended by SIG{signal}");
        assert_eq!(count(), 0, "SIG{signal} leaves something behind");
    }
}

#[test]
fn prototypes_without_semicolons_are_read_and_written_so() {
    let text = format!(
        "{HEADER}.extern .func (.param .b32 r) f(.param .b32 a)\n.file 1 \"a.cu\"\n.extern .func g\n\
         .global .u32 x;\n.func h()\n.func h()\n{{\nret;\n}}\n.visible .entry k()\n{{\ncall h, ();\nret;\n}}\n"
    );
    for output in survives(&text) {
        assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    }
    let printed = out(&survives(&text)[4]);
    assert!(printed.contains(".extern .func g\n.global"), "{printed}");
}

#[test]
fn what_ptxas_refuses_is_warned_of_and_does_not_fail_the_check() {
    let text = format!(
        "\u{feff}{}.visible .entry k()\n{{\n.reg .b32 %r<3>;\n.reg .b64 %rd<3>;\nad.s32 %r1, 1;\nadd.s32 %r1, %rd1, 1;\nret;\n}}\n",
        HEADER.replace("sm_80", "sm_81")
    );
    let output = &survives(&text)[0];
    assert_eq!(output.status.code(), Some(0), "{}", err(output));
    for id in [
        "warning[non-ascii]",
        "warning[unknown-target]",
        "warning[unknown-opcode]",
        "warning[type-mismatch]",
    ] {
        assert!(err(output).contains(id), "{id}: {}", err(output));
    }
    assert!(out(output).contains("1 file checked, no errors"));
}

/// A few of the calls that `oriole-fuzz --commands` makes by the million.
#[test]
fn mutated_files_break_no_command() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mutator = oriole_fuzz::Mutator::new(oriole_fuzz::seeds(&root).unwrap());
    let folder = folder();
    let program = Path::new(env!("CARGO_BIN_EXE_oriole"));
    // The emulator has a fuzzer's findings of its own to mend.
    let without = Some("run".to_owned());
    let commands =
        oriole_fuzz::commands::Commands::new(program, folder.path(), "input.ptx", without);
    for number in (0..25).chain([201_268]) {
        for command in 0..oriole_fuzz::commands::COUNT {
            if !commands.skips(command) {
                let result = commands.run(command, mutator.input(number).as_bytes());
                assert_eq!(result, Ok(()), "input {number}");
            }
        }
    }
}
