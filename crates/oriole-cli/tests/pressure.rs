//! `oriole pressure` as users see it.

mod common;

use common::{err, oriole, out};
use serde_json::Value;
use std::path::{Path, PathBuf};

fn corpus(file: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/corpus/ptx");
    root.join(file).display().to_string()
}

fn json(arguments: &[&str]) -> Value {
    let output = oriole(arguments);
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    serde_json::from_slice(&output.stdout).expect("JSON")
}

#[test]
fn the_example_is_reported() {
    let output = oriole(&["pressure"]);
    assert_eq!(output.status.code(), Some(0));
    assert!(err(&output).contains("no file given: using the embedded example kernel"));
    assert!(out(&output).contains("kernel center, 70 instructions, sm_80\n"));
    let text = out(&oriole(&["pressure", &common::saxpy()]));
    for part in [
        "kernel saxpy, 29 instructions, sm_80\n",
        "pressure   13 data registers, 1 predicate at most, at PTX line 40\n",
        "▁",
        "█",
        "%rd3   64 bits, defined PTX line 24, next read further up, in the next round of a loop\n",
        "%f1    32 bits, defined PTX line 20, next read PTX line 44, free to compute again\n",
        "predicted, ",
        "256 threads: 8 blocks, 64 of 64 warps (100 %), limited by warps\n",
        "from 33 registers on: 6 blocks, 48 warps\n",
    ] {
        assert!(text.contains(part), "{part}\n{text}");
    }
    assert!(!text.contains("above"));
}

#[test]
fn json_has_what_is_promised() {
    let file = corpus("nvcc/sgemm_blocked.lineinfo.sm_80.ptx");
    let report = json(&[
        "pressure", &file, "--json", "--target", "sm_90", "--block", "16x16", "--block", "128",
    ]);
    assert_eq!(report["version"], 1);
    assert_eq!(report["target"], "sm_90");
    let kernel = &report["kernels"][0];
    assert_eq!(kernel["name"], "sgemm_blocked");
    assert_eq!(kernel["kind"], "kernel");
    assert_eq!(kernel["peak"]["data"], 65);
    // Where the code was called from, not the helper it was inlined from.
    assert_eq!(kernel["peak"]["at"]["file"], "sgemm_blocked.cu");
    assert_eq!(kernel["peak"]["line"], kernel["peak"]["at"]["line"]);
    let registers = &kernel["registers"];
    let number = |name: &str| registers[name].as_u64().unwrap();
    assert!(number("low") <= number("best") && number("best") <= number("high"));
    assert!(registers["ptxas"].is_null());
    assert_eq!(kernel["occupancy"]["block"], serde_json::json!([16, 16, 1]));
    assert_eq!(kernel["occupancy"]["limiter"], "registers");
    assert_eq!(kernel["shapes"].as_array().unwrap().len(), 2);
    assert_eq!(kernel["shared"]["static"], 4224);
    let pressure = kernel["pressure"].as_array().unwrap();
    assert_eq!(
        pressure.len() as u64,
        kernel["instructions"].as_u64().unwrap()
    );
    assert_eq!(pressure.iter().filter_map(Value::as_u64).max(), Some(65));
    let live: u64 = kernel["peak"]["live"]
        .as_array()
        .unwrap()
        .iter()
        .map(|live| live["bits"].as_u64().unwrap() / 32)
        .sum();
    assert_eq!(live, 65);
}

#[test]
fn functions_above_the_limit_are_listed() {
    let file = corpus("triton/flash_attention.sm_80.ptx");
    let output = oriole(&["pressure", &file]);
    assert!(
        out(&output).contains("\nabove 70 registers: flash_attention ("),
        "{}",
        out(&output)
    );
    let report = json(&["pressure", &file, "--json", "--maxreg", "255"]);
    assert_eq!(report["above_limit"], serde_json::json!([]));
    let report = json(&["pressure", &file, "--json", "--maxreg", "20"]);
    assert_eq!(
        report["above_limit"],
        serde_json::json!(["flash_attention"])
    );
}

#[test]
fn wrong_arguments_are_explained() {
    for (arguments, message) in [
        (
            vec!["pressure", "--block", "32y8"],
            "expected up to three positive sizes",
        ),
        (
            vec!["pressure", "--block", "0"],
            "expected up to three positive sizes",
        ),
        (
            vec!["pressure", "--block", "1x2x3x4"],
            "expected up to three positive sizes",
        ),
        (vec!["pressure", "--block", "2048"], "at most 1,024 threads"),
        (vec!["pressure", "--target", "sm_x"], "`sm_x` is no target"),
        (
            vec!["pressure", "--ptxas=/nowhere/ptxas"],
            "cannot run `/nowhere/ptxas`",
        ),
        (
            vec!["pressure", "/nowhere/k.ptx"],
            "cannot read `/nowhere/k.ptx`",
        ),
    ] {
        let output = oriole(&arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(
            err(&output).contains(message),
            "{arguments:?}: {}",
            err(&output)
        );
    }
}

#[cfg(unix)]
fn stand_in(folder: &Path, script: &str) -> PathBuf {
    use std::os::unix::fs::PermissionsExt;
    let path = folder.join("ptxas");
    std::fs::write(&path, format!("#!/bin/sh\n{script}")).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    path
}

#[cfg(unix)]
#[test]
fn what_ptxas_says_counts() {
    let folder = tempfile::tempdir().unwrap();
    let path = stand_in(
        folder.path(),
        "echo \"ptxas info    : Compiling entry function 'saxpy' for 'sm_80'\" >&2\n\
         echo \"ptxas info    : Function properties for saxpy\" >&2\n\
         echo '    16 bytes stack frame, 8 bytes spill stores, 12 bytes spill loads' >&2\n\
         echo 'ptxas info    : Used 128 registers, used 1 barriers, 2048 bytes smem, 380 bytes cmem[0]' >&2\n",
    );
    let option = format!("--ptxas={}", path.display());
    let output = oriole(&["pressure", &common::saxpy(), &option]);
    let text = out(&output);
    assert!(
        text.contains("; 128 says ptxas\n"),
        "{text}{}",
        err(&output)
    );
    assert!(
        text.contains("spills     8 bytes stored, 12 loaded, 16 of stack\n"),
        "{text}"
    );
    assert!(
        text.contains("256 threads: 2 blocks, 16 of 64 warps (25 %), limited by registers\n"),
        "{text}"
    );
    assert!(text.contains("above 70 registers: saxpy (128)\n"), "{text}");
    let report = json(&["pressure", &common::saxpy(), &option, "--json"]);
    assert_eq!(report["kernels"][0]["registers"]["ptxas"], 128);
    assert_eq!(report["kernels"][0]["spills"]["loads"], 12);
    assert_eq!(report["kernels"][0]["shared"]["static"], 2048);
}

#[cfg(unix)]
#[test]
fn what_ptxas_refuses_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let path = stand_in(
        folder.path(),
        "echo 'ptxas input.ptx, line 3; error : no such thing' >&2; exit 255\n",
    );
    let output = oriole(&["pressure", &format!("--ptxas={}", path.display())]);
    assert_eq!(output.status.code(), Some(2));
    assert!(err(&output).contains(
        "does not accept the file for sm_80: ptxas input.ptx, line 3; error : no such thing"
    ));
}

#[test]
fn a_function_whose_control_flow_is_unknown_is_left_out_and_named() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("k.ptx");
    std::fs::write(
        &file,
        ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry known() { ret; }\n\
         .visible .entry unknown() {\n L: frobnicate.b32 L;\n ret; }\n",
    )
    .unwrap();
    let output = oriole(&["pressure", file.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    assert!(out(&output).contains("kernel known,"));
    assert!(!out(&output).contains("kernel unknown,"));
    assert!(err(&output).contains("frobnicate"), "{}", err(&output));
}
