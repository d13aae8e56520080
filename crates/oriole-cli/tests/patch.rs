//! What `oriole opt --diff` prints is a patch: the program `patch` makes of the input what the optimizer makes of it.

mod common;

use common::{err, oriole, out};
use oriole_syntax::{comments, parse, print, tokens};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Whether there is a `patch` that can be run; says so if not. `ORIOLE_REQUIRE_PATCH=1` makes a missing one a failure.
fn has_patch() -> bool {
    let found = Command::new("patch")
        .arg("--version")
        .stdout(Stdio::null())
        .status()
        .is_ok_and(|status| status.success());
    if !found {
        assert!(
            std::env::var_os("ORIOLE_REQUIRE_PATCH").is_none(),
            "ORIOLE_REQUIRE_PATCH is set, and there is no `patch`"
        );
        // Past the harness, which keeps what passing tests print.
        let _ = writeln!(
            std::io::stderr(),
            "SKIPPED: there is no `patch` on the PATH"
        );
    }
    found
}

/// A file, what the optimizer makes of it, and what `patch` makes of it with the difference.
struct Patched {
    difference: String,
    output: String,
    patched: String,
}

fn patched(folder: &Path, file: &Path, level: &str) -> Patched {
    let (result, new) = (folder.join("out.ptx"), folder.join("patched.ptx"));
    let run = oriole(&[
        "-j1",
        "opt",
        level,
        "--diff",
        "-o",
        result.to_str().unwrap(),
        file.to_str().unwrap(),
    ]);
    assert_eq!(run.status.code(), Some(0), "{}", err(&run));
    std::fs::copy(file, &new).unwrap();
    let difference = folder.join("difference");
    std::fs::write(&difference, &run.stdout).unwrap();
    if !run.stdout.is_empty() {
        // No fuzz: all lines around a change are those of the file. No offset either, or it would say so.
        let patch = Command::new("patch")
            .args([
                "--silent",
                "--fuzz=0",
                "--no-backup-if-mismatch",
                "--binary",
            ])
            .args([&new, &difference])
            .output()
            .unwrap();
        let said = out(&patch) + &err(&patch);
        assert!(
            patch.status.success() && said.is_empty(),
            "{}: {said}",
            file.display()
        );
    }
    Patched {
        difference: out(&run),
        output: std::fs::read_to_string(result).unwrap(),
        patched: std::fs::read_to_string(new).unwrap(),
    }
}

/// The tokens of a text as the printer writes it, so that what it never writes alike does not count.
fn printed_tokens(text: &str) -> Vec<String> {
    let (module, errors) = parse("patched.ptx", text);
    assert!(errors.is_empty(), "{errors:?}");
    tokens(&print(&module)).map(str::to_owned).collect()
}

/// Optimizes and patches a file, and compares.
fn check(folder: &Path, file: &Path, level: &str) -> Patched {
    let result = patched(folder, file, level);
    let (left, right) = (
        printed_tokens(&result.patched),
        printed_tokens(&result.output),
    );
    let differs = left
        .iter()
        .zip(&right)
        .position(|(one, other)| one != other);
    assert!(
        left == right,
        "{} is patched to something else, from token {differs:?} on",
        file.display()
    );
    result
}

/// A sample of the corpus; all of it with `ORIOLE_WHOLE_CORPUS=1`, or in a build without internal checks.
fn sample() -> Vec<PathBuf> {
    let all = cfg!(not(debug_assertions)) || std::env::var_os("ORIOLE_WHOLE_CORPUS").is_some();
    let step = if all { 1 } else { 12 };
    oriole_corpus::files().into_iter().step_by(step).collect()
}

#[test]
fn patches_of_the_corpus_apply() {
    if !has_patch() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let mut changed = 0;
    for file in sample() {
        let result = check(folder.path(), &file, "-O2");
        changed += usize::from(!result.difference.is_empty());
        let source = std::fs::read_to_string(&file).unwrap();
        // Lines that are in the patched file but not in the input are those the patch adds: nothing is laid out anew.
        let lines: std::collections::HashSet<&str> = source.lines().collect();
        let new = result.patched.lines().filter(|line| !lines.contains(line));
        let added = result.difference.lines().filter(|l| l.starts_with('+'));
        assert!(new.count() <= added.count(), "{}", file.display());
    }
    assert!(
        changed > 10,
        "only {changed} files changed: nothing was tested"
    );
}

/// Statements that share lines and spread over lines, with comments between and inside, and line ends of two kinds.
const UNTIDY: &str = "\
.version 8.0\n.target sm_80 .address_size 64 // header\r
.visible .entry k(.param .u64 out, .param .u32 n) { .reg .b32 %r<9>; .reg .b64 %rd<4>; .reg .pred %p<3>;
  ld.param.u64 %rd1, [out]; ld.param.u32 %r1, [n]; /* two
on

three lines */ add.s32 %r2, %r1,
      1; // dead, on two lines
  mul.lo.s32 %r3, /* inside */ %r1, 7; add.s32 %r4, %r3, %r2; // dead, both
  mul.lo.s32 %r5, %r1, %r1; /* kept */ add.s32 %r6, %r5, %r1; xor.b32 %r7, %r6, %r6;
  $L: setp.eq.u32 %p1, %r1, 0; @%p1 bra $M; st.global.u32 [%rd1], %r6; bra.uni $M; $M:\r
\tst.global.u32 [%rd1+4], %r7; ret; } // no line end";

#[test]
fn untidy_files_keep_what_did_not_change() {
    if !has_patch() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    for text in [UNTIDY.to_owned(), format!("{UNTIDY}\n")] {
        let file = folder.path().join("untidy file.ptx");
        std::fs::write(&file, &text).unwrap();
        for level in ["-O1", "-O2", "-O3"] {
            let result = check(folder.path(), &file, level);
            assert!(!result.patched.contains("mul.lo.s32 %r3"));
            // Comments stay, but those inside of what went away.
            let mut left = comments(&text);
            left.retain(|&comment| comment != "/* inside */");
            assert_eq!(comments(&result.patched), left, "{}", result.patched);
        }
    }
}

#[test]
fn copies_and_jumps_keep_their_spelling() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("loop.ptx");
    std::fs::write(
        &file,
        "\
.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 out, .param .u32 n)
{
\t.reg .pred %p<3>;
\t.reg .f32 %f<4>;
\t.reg .b32 %r<8>;
\t.reg .b64 %rd<4>;
\tld.param.u64 %rd1, [out];
\tld.param.u32 %r1, [n];
\tmov.f32 %f1, 0f00000000;
\tmov.f32 %f2, 0f3F800000;
\tmov.u32 %r2, 0;
\tadd.s32 %r7, %r1, 5;
\tbra.uni $test;
$body:
\tadd.f32 %f3, %f1, %f2;
\tmov.f32 %f1, %f2;
\tmov.f32 %f2, %f3;
\tadd.s32 %r3, %r2, 1;
\tmov.u32 %r2, %r3;
\tbra.uni $test;
$test:
\tsetp.lt.u32 %p1, %r2, %r1;
\t@%p1 bra $body;
\tst.global.f32 [%rd1], %f1;
\tret;
}
",
    )
    .unwrap();
    let difference = out(&oriole(&["opt", "-O2", "--diff", file.to_str().unwrap()]));
    assert!(
        difference.contains("-\tadd.s32 %r7, %r1, 5;\n"),
        "{difference}"
    );
    let added =
        |line: &str| line.starts_with('+') && (line.contains(".b32") || line.contains("bra $"));
    assert!(!difference.lines().any(added), "{difference}");
}
