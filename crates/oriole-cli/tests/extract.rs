//! `oriole extract`, and containers as input of the other commands.

// A test that does not run says so.
#![allow(clippy::print_stderr)]

mod common;
#[allow(
    dead_code,
    reason = "some fixtures are for tests of the containers alone"
)]
#[path = "../../oriole-fatbin/tests/common/mod.rs"]
mod containers;

use common::{err, oriole, out};
use containers::{PTX, Stored, entry, fat_binary, of_each_kind};
use std::path::Path;

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

#[test]
fn what_is_found_is_listed_and_written() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("app");
    std::fs::write(&file, of_each_kind()).unwrap();
    let output = oriole(&["extract", text(&file)]);
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    let listed = out(&output);
    for part in [
        "1  sm_80 ",
        "2  sm_90a",
        "3  sm_100f",
        "lz4",
        "zstd",
        "1 kernel",
        "k.cu",
    ] {
        assert!(listed.contains(part), "{part}\n{listed}");
    }
    let into = folder.path().join("kernels");
    let output = oriole(&["extract", text(&file), text(&file), "-o", text(&into)]);
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    let mut names: Vec<_> = std::fs::read_dir(&into)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert_eq!(
        names,
        [
            "app.1.sm_80-2.ptx",
            "app.1.sm_80.ptx",
            "app.2.sm_90a-2.ptx",
            "app.2.sm_90a.ptx",
            "app.3.sm_100f-2.ptx",
            "app.3.sm_100f.ptx"
        ]
    );
    for name in names {
        assert_eq!(std::fs::read_to_string(into.join(name)).unwrap(), PTX);
    }
    let only = oriole(&["extract", text(&file), "--arch", "sm_90a", "-o", "-"]);
    assert_eq!(out(&only), PTX);
    let json = oriole(&["extract", text(&file), "--json", "--index", "3"]);
    let json: serde_json::Value = serde_json::from_slice(&json.stdout).unwrap();
    let found = &json["files"][0]["texts"][0];
    assert_eq!(found["architecture"], "sm_100f");
    assert_eq!(found["kernels"], serde_json::json!(["kernel"]));
    assert_eq!(found["options"], "-g");
}

#[test]
fn folders_are_searched_for_everything_that_holds_ptx() {
    let folder = tempfile::tempdir().unwrap();
    // As Triton's cache: a folder for each kernel, with files that are no PTX beside it.
    for (hash, name) in [("A", "add_kernel"), ("B", "matmul_kernel")] {
        let own = folder.path().join(hash);
        std::fs::create_dir(&own).unwrap();
        std::fs::write(own.join(format!("{name}.ptx")), PTX).unwrap();
        std::fs::write(own.join(format!("{name}.json")), "{}").unwrap();
        std::fs::write(own.join(format!("{name}.cubin")), "\x7fELF broken").unwrap();
    }
    std::fs::write(folder.path().join("app"), of_each_kind()).unwrap();
    let output = oriole(&["extract", text(folder.path()), "--json"]);
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let counts: Vec<_> = json["files"]
        .as_array()
        .unwrap()
        .iter()
        .map(|file| file["texts"].as_array().unwrap().len())
        .collect();
    assert_eq!(counts, [1, 1, 3]);
    assert!(err(&output).contains("add_kernel.cubin`: malformed object file"));
    let output = oriole(&["analyze", text(folder.path())]);
    assert!(out(&output).starts_with("2 kernels"), "{}", out(&output));
}

#[test]
fn other_commands_take_containers() {
    let folder = tempfile::tempdir().unwrap();
    let several = folder.path().join("several.fatbin");
    let one = folder.path().join("one.fatbin");
    std::fs::write(&several, of_each_kind()).unwrap();
    std::fs::write(&one, fat_binary(&[entry(PTX, Stored::Zstd, 80, 0)])).unwrap();
    for command in ["check", "analyze", "pressure"] {
        for file in [&several, &one] {
            let output = oriole(&[command, text(file)]);
            assert_eq!(output.status.code(), Some(0), "{command}: {}", err(&output));
        }
    }
    assert!(out(&oriole(&["opt", text(&one)])).contains(".visible .entry kernel"));
    let output = oriole(&["opt", text(&several)]);
    assert_eq!(output.status.code(), Some(2));
    let said = err(&output);
    assert!(
        said.contains("holds 3 PTX texts (1: sm_80, 2: sm_90a, 3: sm_100f)"),
        "{said}"
    );
    // A fault is reported at the text it is in.
    let wrong = fat_binary(&[
        entry(PTX, Stored::Lz4, 80, 0),
        entry(&PTX.replace("ret", "ret ret"), Stored::Lz4, 90, 0),
    ]);
    std::fs::write(&several, wrong).unwrap();
    let output = oriole(&["check", text(folder.path())]);
    assert_eq!(output.status.code(), Some(2));
    assert!(
        err(&output).contains("several.fatbin(2:sm_90):6:"),
        "{}",
        err(&output)
    );
}

#[test]
fn what_cannot_be_extracted_is_explained() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    let said = |contents: &[u8], arguments: &[&str]| {
        std::fs::write(&file, contents).unwrap();
        let mut all = vec!["extract", text(&file)];
        all.extend(arguments);
        let output = oriole(&all);
        assert_eq!(output.status.code(), Some(2), "{}", err(&output));
        err(&output)
    };
    let whole = of_each_kind();
    let cut = said(&whole[..whole.len() - 9], &[]);
    assert!(cut.contains("malformed fat binary at byte 0"), "{cut}");
    let nothing = said(&fat_binary(&[]), &[]);
    assert!(nothing.contains("holds no PTX\n"), "{nothing}");
    let other = said(&whole, &["--arch", "sm_75"]);
    assert!(other.contains("holds no PTX that is asked for"), "{other}");
    let text = said(b"some notes", &[]);
    assert!(text.contains("is neither PTX nor a container"), "{text}");
    let many = said(&whole, &["-o", "-"]);
    assert!(
        many.contains("there are 3 PTX texts, and one file to write"),
        "{many}"
    );
}

#[test]
fn cuda_is_compiled_by_nvcc() {
    let ptxas = oriole_toolchain::ptxas();
    let Some(nvcc) = oriole_toolchain::working_nvcc(ptxas.as_deref()) else {
        eprintln!("NOT RUN: there is no nvcc that compiles");
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("k.cu");
    std::fs::write(
        &file,
        "__global__ void twice(float *a) { a[threadIdx.x] *= 2.0f; }\n",
    )
    .unwrap();
    let run = |arguments: &[&str]| {
        std::process::Command::new(env!("CARGO_BIN_EXE_oriole"))
            .args(arguments)
            .env("ORIOLE_NVCC", &nvcc)
            .env("NVCC_APPEND_FLAGS", "-arch=sm_90")
            .output()
            .unwrap()
    };
    let output = run(&["opt", text(&file)]);
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    assert!(out(&output).contains(".target sm_90") && out(&output).contains(".loc"));
    let output = run(&["analyze", text(&file), "--all"]);
    assert!(out(&output).contains("k.cu:1"), "{}", out(&output));
    std::fs::write(&file, "__global__ void twice(").unwrap();
    let output = run(&["check", text(&file)]);
    assert_eq!(output.status.code(), Some(2));
    assert!(
        err(&output).contains("nvcc does not compile"),
        "{}",
        err(&output)
    );
}
