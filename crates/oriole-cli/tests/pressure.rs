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
        "%rd3   64 bits, defined PTX line 24, next read in the next iteration (loop-carried)\n",
        "%f1    32 bits, defined PTX line 20, next read PTX line 44, rematerializable\n",
        "predicted, ",
        "256 threads: 8 blocks, 64 of 64 warps (100 %), limited by warps\n",
        "from 33 registers on: 6 blocks, 48 warps\n",
    ] {
        assert!(text.contains(part), "{part}\n{text}");
    }
    assert!(!text.contains("above"));
}

#[test]
fn registers_that_nothing_writes_and_parameters_are_told_apart() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("f.ptx");
    let text = ".version 8.0\n.target sm_90\n.address_size 64\n\
                .func (.reg .b32 %o) foo(.reg .b32 %a, .reg .b32 %b)\n{\n.reg .pred %p<2>;\n.reg .b32 %r<4>;\n\
                mov.u32 %r1, %a;\n@%p1 add.s32 %r1, %r1, 1;\nadd.s32 %r1, %r1, %r2;\nmul.lo.s32 %o, %r1, %b;\nret;\n}\n";
    std::fs::write(&file, text).expect("it can be written");
    let file = file.display().to_string();
    let said = out(&oriole(&["pressure", &file]));
    for part in [
        "pressure   2 data registers",
        "%b   32 bits, parameter of foo, next read PTX line 11\n",
        "  read, but never defined:\n",
        "%p1    1 bits, never defined, next read PTX line 9\n",
        "%r2   32 bits, never defined, next read PTX line 10\n",
    ] {
        assert!(said.contains(part), "{part}\n{said}");
    }
    let report = json(&["pressure", &file, "--json"]);
    let function = &report["kernels"][0];
    let live = function["peak"]["live"].as_array().unwrap();
    assert!(live.iter().any(|own| own["origin"] == "parameter"));
    assert!(
        live.iter()
            .all(|own| own["defined"].is_null() == (own["origin"] != "instruction"))
    );
    let undefined = function["undefined"].as_array().unwrap();
    let names: Vec<&Value> = undefined.iter().map(|own| &own["name"]).collect();
    assert_eq!(names, ["%p1", "%r2"]);
    assert_eq!(undefined[1]["origin"], "never");
    assert_eq!(undefined[1]["next_use"]["ptx"], 10);
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
        (
            vec!["pressure", "--block", "2048"],
            "a block has 1 to 1,024 threads, not 2048",
        ),
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
        "echo \"ptxas info    : Compiling entry function 'center' for 'sm_80'\" >&2\n\
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

#[test]
fn several_files_are_reported_and_lines_have_totals() {
    let (one, other) = (
        corpus("nvcc/sgemm_blocked.lineinfo.sm_80.ptx"),
        corpus("triton/flash_attention.sm_80.ptx"),
    );
    let output = oriole(&["pressure", &one, &other, "--lines"]);
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    let text = out(&output);
    assert!(
        text.starts_with(&format!("{one}\nkernel sgemm_blocked,")),
        "{text}"
    );
    assert!(
        text.contains(&format!("\n{other}\nkernel flash_attention,")),
        "{text}"
    );
    assert!(text.contains("  lines      peak  instructions\n"), "{text}");
    let report = json(&["pressure", &one, &other, "--json"]);
    let kernel = &report["kernels"][0];
    assert_eq!(kernel["file"], one);
    let lines = kernel["lines"].as_array().unwrap();
    let number = |line: &Value, name: &str| line[name].as_u64().unwrap();
    assert_eq!(
        lines.iter().map(|line| number(line, "peak")).max(),
        Some(65)
    );
    let total: u64 = lines.iter().map(|line| number(line, "instructions")).sum();
    assert!(total <= kernel["instructions"].as_u64().unwrap() && total > 500);
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/corpus/ptx/triton");
    let report = json(&["pressure", folder.to_str().unwrap(), "--json"]);
    assert!(report["kernels"].as_array().unwrap().len() > 5);
    let colored = oriole(&["pressure", &one, "--color", "always"]);
    assert!(
        out(&colored).starts_with("\x1b[1mkernel sgemm_blocked"),
        "{}",
        out(&colored)
    );
}

#[test]
fn gates_fail_with_status_one_and_say_why() {
    let file = corpus("triton/flash_attention.sm_80.ptx");
    for (option, status, message) in [
        ("--fail-above=255", 0, ""),
        (
            "--fail-above=20",
            1,
            "registers are predicted, 20 are allowed",
        ),
        ("--fail-occupancy=1", 0, ""),
        ("--fail-occupancy=100", 1, "at least 100 % are asked for"),
        ("--fail-occupancy=101", 2, "101 is not in 0..=100"),
        ("--fail-spills", 2, "--ptxas"),
    ] {
        let output = oriole(&["pressure", &file, option]);
        assert_eq!(
            output.status.code(),
            Some(status),
            "{option}: {}",
            err(&output)
        );
        assert!(err(&output).contains(message), "{option}: {}", err(&output));
    }
}

#[cfg(unix)]
#[test]
fn spills_can_fail() {
    let folder = tempfile::tempdir().unwrap();
    let path = stand_in(
        folder.path(),
        "echo \"ptxas info    : Compiling entry function 'center' for 'sm_80'\" >&2\n\
         echo '    16 bytes stack frame, 8 bytes spill stores, 12 bytes spill loads' >&2\n\
         echo 'ptxas info    : Used 128 registers' >&2\n",
    );
    let option = format!("--ptxas={}", path.display());
    let failed = oriole(&["pressure", &option, "--fail-spills"]);
    assert_eq!(failed.status.code(), Some(1));
    assert!(
        err(&failed).contains("center: 20 bytes of spills, 0 are allowed"),
        "{}",
        err(&failed)
    );
    let allowed = oriole(&["pressure", &option, "--fail-spills=20", "--fail-above=128"]);
    assert_eq!(allowed.status.code(), Some(0), "{}", err(&allowed));
}
