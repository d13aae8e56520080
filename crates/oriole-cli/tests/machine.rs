//! `oriole opt --ptxas` asks the real assembler, and believes what it says.
//!
//! Without a `ptxas` these tests say loudly that they did not run; with `ORIOLE_REQUIRE_PTXAS=1` they fail.

#![cfg(unix)]
#![allow(clippy::print_stderr)]

mod common;

use common::{err, oriole, out};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// Two kernels that call one function, and one that does not. In `first` and `third` something is dead.
const KERNELS: &str = r#".version 8.0
.target sm_80
.address_size 64
.func (.param .b32 result) twice(.param .b32 value)
{
    .reg .b32 %r<4>;
    ld.param.u32 %r1, [value];
    add.s32 %r2, %r1, %r1;
    add.s32 %r3, %r1, 99;
    st.param.b32 [result], %r2;
    ret;
}
.visible .entry first(.param .u64 out)
.maxntid 128, 1, 1
{
    .reg .b32 %r<6>;
    .reg .b64 %rd<3>;
    ld.param.u64 %rd1, [out];
    mov.u32 %r1, %tid.x;
    xor.b32 %r2, %r1, 5;
    {
    .param .b32 argument;
    .param .b32 answer;
    st.param.b32 [argument], %r1;
    call (answer), twice, (argument);
    ld.param.b32 %r3, [answer];
    }
    st.global.u32 [%rd1], %r3;
    ret;
}
.visible .entry second(.param .u64 out)
{
    .reg .b32 %r<6>;
    .reg .b64 %rd<3>;
    ld.param.u64 %rd1, [out];
    mov.u32 %r1, %tid.y;
    {
    .param .b32 argument;
    .param .b32 answer;
    st.param.b32 [argument], %r1;
    call (answer), twice, (argument);
    ld.param.b32 %r3, [answer];
    }
    st.global.u32 [%rd1], %r3;
    ret;
}
.visible .entry third(.param .u64 out)
{
    .reg .b32 %r<6>;
    .reg .b64 %rd<3>;
    ld.param.u64 %rd1, [out];
    mov.u32 %r1, %tid.x;
    or.b32 %r2, %r1, 77;
    st.global.u32 [%rd1], %r1;
    ret;
}
"#;

fn ptxas() -> Option<PathBuf> {
    let found = oriole_toolchain::ptxas();
    if found.is_none() {
        assert!(
            !oriole_toolchain::is_required(),
            "there is no ptxas, and ORIOLE_REQUIRE_PTXAS asks for one"
        );
        eprintln!("\n!!! SKIPPED: no ptxas found: nothing is measured.\n");
    }
    found
}

/// The kernels in a file, and a program that runs `ptxas` but spoils what it does with some shell commands; these find the input
/// in `$input` and what was said in `$said`.
fn spoiled(folder: &Path, ptxas: &Path, commands: &str) -> [String; 2] {
    let file = folder.join("kernels.ptx");
    std::fs::write(&file, KERNELS).unwrap();
    let program = folder.join("spoiled");
    let script = format!(
        "#!/bin/sh\nfor word; do case $word in *.ptx) input=$word;; esac; done\n\
         said=$('{}' \"$@\" 2>&1) || exit 1\n{commands}\nprintf '%s\\n' \"$said\" >&2\n",
        ptxas.display()
    );
    std::fs::write(&program, script).unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    [
        file.display().to_string(),
        format!("--ptxas={}", program.display()),
    ]
}

#[test]
fn every_kernel_is_measured() {
    let Some(ptxas) = ptxas() else { return };
    let folder = tempfile::tempdir().unwrap();
    let [file, option] = spoiled(folder.path(), &ptxas, "");
    let output = oriole(&["opt", &file, &option]);
    let said = err(&output);
    assert_eq!(output.status.code(), Some(0), "{said}");
    let lines: Vec<&str> = said.lines().collect();
    assert_eq!(lines.len(), 4, "{said}");
    assert!(lines[0].ends_with("warps  on sm_80"), "{said}");
    for name in ["first", "second", "third"] {
        assert!(
            lines
                .iter()
                .any(|line| line.ends_with(&format!("64/64  {name}"))),
            "{said}"
        );
    }
    for dead in ["xor.b32", "or.b32", ", 99;"] {
        assert!(!out(&output).contains(dead));
    }
    let other = oriole(&["opt", &file, &option, "--target", "sm_90", "-j", "1"]);
    assert!(err(&other).contains("on sm_90"));
    assert_eq!(out(&other), out(&output));
}

#[test]
fn what_is_worse_comes_back_with_what_it_calls() {
    let Some(ptxas) = ptxas() else { return };
    let folder = tempfile::tempdir().unwrap();
    // The first kernel spills once its dead instruction is gone.
    let spill = "grep -q xor.b32 \"$input\" || said=$(printf '%s\\n' \"$said\" | \
                 sed \"/Function properties for first/{n;s/0 bytes spill stores/8 bytes spill stores/;}\")";
    let [file, option] = spoiled(folder.path(), &ptxas, spill);
    let output = oriole(&["opt", &file, &option, "--stats"]);
    let (text, said) = (out(&output), err(&output));
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert!(text.contains("xor.b32") && text.contains(", 99;"), "{text}");
    assert!(!text.contains("or.b32 %r2, %r1, 77"), "{text}");
    assert!(said.contains("0 → 8"), "{said}");
    assert!(
        said.contains("first: original kept: it spills more"),
        "{said}"
    );
    assert!(said.contains("the original is kept of 1 of 3"), "{said}");
    let functions: Vec<&str> = said.lines().rev().take(4).collect();
    assert!(functions[3].ends_with("twice") && functions[2].ends_with("first"));
    for line in &functions[2..] {
        let numbers: Vec<&str> = line.split_whitespace().collect();
        assert_eq!(numbers[0], numbers[1], "it is as long as it was: {line}");
    }
}

#[test]
fn what_only_the_output_is_refused_for_is_a_fault_of_ours() {
    let Some(ptxas) = ptxas() else { return };
    let folder = tempfile::tempdir().unwrap();
    let refuse = "grep -q xor.b32 \"$input\" || { echo 'ptxas error : on purpose' >&2; exit 1; }";
    let [file, option] = spoiled(folder.path(), &ptxas, refuse);
    let written = folder.path().join("out.ptx");
    let output = oriole(&["opt", &file, &option, "-o", written.to_str().unwrap()]);
    let said = err(&output);
    assert_eq!(output.status.code(), Some(3), "{said}");
    assert!(
        said.contains("NOT OPTIMIZED") && said.contains("on purpose"),
        "{said}"
    );
    let text = std::fs::read_to_string(written).unwrap();
    assert!(text.contains("xor.b32") && text.contains("or.b32 %r2, %r1, 77"));
}

#[test]
fn what_is_refused_from_the_start_is_the_users_affair() {
    let Some(ptxas) = ptxas() else { return };
    let folder = tempfile::tempdir().unwrap();
    let [file, option] = spoiled(folder.path(), &ptxas, "");
    let output = oriole(&["opt", &file, &option, "--target", "sm_30"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(err(&output).contains("does not accept the file for sm_30"));
    assert!(out(&output).is_empty());
    let output = oriole(&["opt", &file, "--ptxas=/nowhere/ptxas"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(err(&output).contains("cannot run `/nowhere/ptxas`"));
}
