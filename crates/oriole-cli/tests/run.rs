//! `oriole run` and `oriole opt --verify`: exit codes, arguments, limits.

mod common;

use common::{err, oriole, out};
use std::time::Instant;

const HEAD: &str = ".version 8.0\n.target sm_80\n.address_size 64\n";

/// Stores the sum of two numbers and a thread's index.
const ADD: &str = ".visible .entry add(.param .u64 o, .param .u32 a, .param .f32 f)\n{\n\
    .reg .b64 %rd<3>; .reg .b32 %r<4>; .reg .f32 %f<3>;\n\
    ld.param.u64 %rd1, [o]; ld.param.u32 %r1, [a]; ld.param.f32 %f1, [f];\n\
    cvt.rzi.u32.f32 %r2, %f1; add.u32 %r1, %r1, %r2; mov.u32 %r3, %tid.x; add.u32 %r1, %r1, %r3;\n\
    mad.wide.u32 %rd2, %r3, 4, %rd1; st.global.u32 [%rd2], %r1;\nret;\n}\n";

/// All threads store their index to one place.
const RACE: &str = ".visible .entry race(.param .u64 o)\n{\n.reg .b64 %rd1; .reg .b32 %r<3>;\n\
    ld.param.u64 %rd1, [o]; mov.u32 %r1, %tid.x;\nst.global.u32 [%rd1], %r1;\nret;\n}\n";

struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Folder {
        Folder(tempfile::tempdir().unwrap())
    }

    /// The path of a file with this PTX.
    fn file(&self, name: &str, text: &str) -> String {
        let path = self.0.path().join(name);
        std::fs::write(&path, format!("{HEAD}{text}")).unwrap();
        path.to_str().unwrap().to_owned()
    }
}

/// Runs the command and gives its status, its output and its messages.
fn run(arguments: &[&str]) -> (i32, String, String) {
    let output = oriole(arguments);
    let code = output.status.code().expect("it was not killed");
    (code, out(&output), err(&output))
}

#[test]
fn several_kernels_are_listed() {
    let folder = Folder::new();
    let file = folder.file("two.ptx", &format!("{ADD}{RACE}"));
    let (code, _, said) = run(&["run", &file]);
    assert_eq!(code, 2, "{said}");
    assert!(said.contains("add(o: u64, a: u32, f: f32)"), "{said}");
    assert!(said.contains("race(o: u64)"), "{said}");
    let (code, _, said) = run(&["run", &file, "--kernel", "sub"]);
    assert_eq!(code, 2, "{said}");
    assert!(said.contains("there is no kernel `sub`"), "{said}");
    let empty = folder.file("none.ptx", "");
    assert_eq!(run(&["run", &empty]).0, 2);
}

#[test]
fn arguments_are_checked_against_parameters() {
    let folder = Folder::new();
    let file = folder.file("add.ptx", ADD);
    let with = |arguments: [&str; 3]| {
        let mut all = vec!["run", &file[..]];
        all.extend(arguments.iter().flat_map(|argument| ["--arg", argument]));
        run(&all)
    };
    assert_eq!(with(["o:u32[32]", "a:u32=1", "f:f32=2"]).0, 0);
    for (arguments, words) in [
        (
            ["o:u32[32]", "a:f32=1", "f:f32=2"],
            "`a` of `add` is .u32, the argument `a` f32",
        ),
        (
            ["o:u32[32]", "a:u32=1", "f:u32=2"],
            "`f` of `add` is .f32, the argument `f` u32",
        ),
        (
            ["o:u32[32]", "a:u64=1", "f:f32=2"],
            "has 4 bytes, the argument `a` 8",
        ),
        (
            ["o:f32=1", "a:u32=1", "f:f32=2"],
            "has 8 bytes, the argument `o` 4",
        ),
        (
            ["o:f64=1", "a:u32=1", "f:f32=2"],
            "is .u64, the argument `o` f64",
        ),
    ] {
        let (code, _, said) = with(arguments);
        assert_eq!(code, 2, "{said}");
        assert!(said.contains(words), "{said}");
    }
    let (code, _, said) = run(&["run", &file, "--arg", "o:u32[4]"]);
    assert_eq!(code, 2);
    assert!(
        said.contains("takes 3 arguments (o, a, f), 1 are given"),
        "{said}"
    );
}

#[test]
fn buffers_are_filled_and_printed() {
    let folder = Folder::new();
    let copy = ".visible .entry copy(.param .u64 o, .param .align 8 .b8 s[24])\n{\n\
        .reg .b64 %rd<6>; .reg .b32 %r<5>; .reg .f32 %f1;\n\
        ld.param.u64 %rd1, [o]; ld.param.u32 %r1, [s]; ld.param.u64 %rd2, [s+8]; ld.param.f32 %f1, [s+16];\n\
        mov.u32 %r2, %tid.x; mad.wide.u32 %rd3, %r2, 4, %rd1; mad.wide.u32 %rd4, %r2, 4, %rd2;\n\
        ld.global.u32 %r3, [%rd4]; add.u32 %r3, %r3, %r1; cvt.rzi.u32.f32 %r4, %f1; add.u32 %r3, %r3, %r4;\n\
        st.global.u32 [%rd3], %r3;\nret;\n}\n";
    let file = folder.file("copy.ptx", copy);
    let (code, said, errors) = run(&[
        "run",
        &file,
        "--block",
        "5",
        "--arg",
        "o:u32[5]",
        "--arg",
        "s:{n:u32=100;x:u32[5]=1,2;f:f32=1000.5}",
        "--print",
        "o",
        "--print",
        "s.x",
    ]);
    assert_eq!(code, 0, "{errors}");
    assert!(
        said.contains("o: u32[5]\n       0: 1101 1102 1101 1102 1101\n"),
        "{said}"
    );
    assert!(
        said.contains("s.x: u32[5]\n       0: 1 2 1 2 1\n"),
        "{said}"
    );
    let (code, _, errors) = run(&["run", &file, "--print", "z"]);
    assert_eq!(code, 2);
    assert!(errors.contains("no buffer `z` to print"), "{errors}");
    let add = folder.file("add.ptx", ADD);
    let (_, said, _) = run(&[
        "run",
        &add,
        "--block",
        "2",
        "--arg",
        "o:s32[3]=-7",
        "--arg",
        "a:u32=1",
        "--arg",
        "f:f32=2.9",
        "--print",
        "o",
    ]);
    assert!(said.contains("0: 3 4 -7\n"), "{said}");
}

#[test]
fn exit_codes() {
    let folder = Folder::new();
    let race = folder.file("race.ptx", RACE);
    let with = |file: &str, more: &[&str]| {
        let mut all = vec!["run", file, "--arg", "o:u32[1]"];
        all.extend(more);
        run(&all)
    };
    // A finding does not fail unless it is asked to.
    let (code, _, said) = with(&race, &["--check"]);
    assert_eq!(code, 0, "{said}");
    assert!(said.contains("data-race"), "{said}");
    assert_eq!(with(&race, &["--fail-on", "race"]).0, 1);
    assert_eq!(with(&race, &["--fail-on", "all"]).0, 1);
    assert_eq!(with(&race, &["--fail-on", "uninit,sync"]).0, 0);
    assert_eq!(with(&race, &["--fail-on", "nothing"]).0, 2);
    // Equal values are noted and do not fail.
    let same = folder.file("same.ptx", &RACE.replace("%tid.x", "5"));
    let (code, _, said) = with(&same, &["--fail-on", "race"]);
    assert_eq!(code, 0, "{said}");
    assert!(said.contains("note[data-race]"), "{said}");
    assert_eq!(with(&same, &["--fail-on", "note"]).0, 1);
    assert_eq!(with(&race, &["--fail-on", "warning"]).0, 1);
    // Uninitialised reads, barriers.
    let unset = folder.file("unset.ptx", &RACE.replace("mov.u32 %r1, %tid.x;", ""));
    assert_eq!(with(&unset, &["--fail-on", "uninit"]).0, 1);
    let exits = RACE
        .replace(
            "st.global",
            "setp.eq.u32 %p, %r1, 0; @%p ret; bar.sync 0; st.global",
        )
        .replacen(".reg", ".reg .pred %p; .reg", 1);
    assert_eq!(
        with(&folder.file("exits.ptx", &exits), &["--fail-on", "sync"]).0,
        1
    );
    // Traps and limits.
    let (code, _, said) = with(
        &folder.file("trap.ptx", &RACE.replace("[%rd1],", "[%rd1+4],")),
        &[],
    );
    assert_eq!(code, 1, "{said}");
    let endless = folder.file("endless.ptx", &RACE.replace("ret;", "l: bra l;"));
    let (code, _, said) = with(&endless, &["--steps", "100000"]);
    assert_eq!(code, 1, "{said}");
    assert!(said.contains("step-limit"), "{said}");
    let (code, _, said) = with(&endless, &["--time", "1"]);
    assert_eq!(code, 1, "{said}");
    assert!(said.contains("time-limit"), "{said}");
    // Launches that no GPU takes are bad arguments.
    assert_eq!(with(&race, &["--block", "2048"]).0, 2);
    assert_eq!(with(&race, &["--shared", "18446744073709551615"]).0, 2);
}

#[test]
fn hostile_arguments_are_refused() {
    let folder = Folder::new();
    let file = folder.file("race.ptx", RACE);
    for arguments in [
        &["--grid", "4294967295x4294967295x4294967295"][..],
        &["--grid", "2147483647x65535x65536"],
        &["--block", "4294967295x4294967295x2"],
        &["--arg", "o:u8[18446744073709551615]"],
        &["--arg", "o:u64[2305843009213693952]"],
        &["--arg", "o:u8[99999999999999]=iota"],
        &["--arg", "o:u8[1]=@/dev/zero"],
        &["--arg", "o:{"],
        &["--arg", "o:{a:u8[99999999999999]}"],
        &["--arg", ""],
        &["--arg", ":"],
        &[
            "--arg",
            "o:u64=-0x-80000000000000000000000000000000",
            "--arg",
            "x:u8=é",
        ],
        &["--memory", "99999999999999999999G"],
        &["--memory", "1K"],
        &["--memory", "x"],
    ] {
        let mut all = vec!["run", &file[..]];
        if arguments[0] != "--arg" {
            all.extend(["--arg", "o:u32[1024]"]);
        }
        all.extend(arguments);
        let (code, _, said) = run(&all);
        assert_eq!(code, 2, "{arguments:?}: {said}");
    }
}

#[test]
fn hostile_files_end() {
    let folder = Folder::new();
    let head = ".visible .entry k(.param .u64 o)\n{\n.reg .b32 %r<9>; .reg .b64 %rd<9>;\n";
    for (name, text) in [
        (
            "targets",
            format!("{head}mov.u32 %r1, 0;\nL: .branchtargets L;\nbrx.idx %r1, L;\n}}\n"),
        ),
        (
            "array",
            format!(".global .b8 v[99999999999999];\n{head}ret;\n}}\n"),
        ),
        (
            "product",
            format!(".global .b32 v[4294967296][4294967296];\n{head}ret;\n}}\n"),
        ),
        (
            "local",
            format!("{head}.local .b8 v[4294967295];\nret;\n}}\n"),
        ),
        (
            "aligned",
            format!("{head}.local .align 2147483648 .b8 v[3];\nret;\n}}\n"),
        ),
        (
            "shared",
            format!("{head}.shared .b8 v[18446744073709551615];\nst.shared.u8 [v], 1;\nret;\n}}\n"),
        ),
        (
            "parameter",
            head.replace(".u64 o", ".align 8 .b8 o[4294967295]") + "ret;\n}\n",
        ),
        (
            "cluster",
            head.replace("o)", "o) .reqnctapercluster 4294967295, 4294967295, 2") + "ret;\n}\n",
        ),
        (
            "block",
            head.replace("o)", "o) .reqntid 4294967295, 4294967295, 4294967295") + "ret;\n}\n",
        ),
        (
            "most",
            head.replace("o)", "o) .maxntid 4294967295, 4294967295, 4294967295") + "ret;\n}\n",
        ),
    ] {
        let file = folder.file(&format!("{name}.ptx"), &text);
        let start = Instant::now();
        let (code, _, said) = run(&["run", &file, "--arg", "o:u32[4]", "--steps", "1000000"]);
        assert!(code <= 2, "{name}: {said}");
        let (code, _, said) = run(&["opt", "--verify", "--verify-time", "3", &file]);
        assert!(code <= 2, "{name}: {said}");
        assert!(start.elapsed().as_secs() < 120, "{name} took too long");
    }
}

#[test]
fn verification_ends_in_time() {
    let folder = Folder::new();
    let kernels: String = (0..20)
        .map(|index| {
            RACE.replace("race", &format!("k{index}"))
                .replace("ret;", "l: bra l;")
        })
        .collect();
    let file = folder.file("endless.ptx", &kernels);
    let (code, _, said) = run(&["opt", "--verify", "--verify-time", "1", &file]);
    assert_eq!(code, 0, "{said}");
    assert!(said.contains("could not verify"), "{said}");
}
