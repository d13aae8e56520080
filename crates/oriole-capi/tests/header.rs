//! The header is that of the code, and a C program that uses it runs.

// A test that does not run says so.
#![allow(clippy::print_stderr)]

use std::path::{Path, PathBuf};
use std::process::Command;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

#[test]
fn the_header_is_current() {
    let settings = cbindgen::Config::from_file(root().join("cbindgen.toml")).unwrap();
    let made = cbindgen::Builder::new()
        .with_config(settings)
        .with_src(root().join("src/lib.rs"))
        .generate()
        .unwrap();
    let mut text = Vec::new();
    made.write(&mut text);
    let text = String::from_utf8(text).unwrap();
    let file = root().join("include/oriole.h");
    if std::env::var_os("ORIOLE_BLESS").is_some_and(|value| value == "1") {
        std::fs::write(&file, &text).unwrap();
    }
    let kept = std::fs::read_to_string(&file).unwrap_or_default();
    assert!(
        kept == text,
        "include/oriole.h is not what cbindgen makes: ORIOLE_BLESS=1 writes it"
    );
}

/// The library that was built with this test.
fn library() -> PathBuf {
    let own = std::env::current_exe().unwrap();
    let folder = own.parent().unwrap();
    let mut found: Vec<PathBuf> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            name == "liboriole_c.a" || name.starts_with("liboriole_c-") && name.ends_with(".a")
        })
        .collect();
    // Of several builds, the newest.
    found.sort_by_key(|path| path.metadata().unwrap().modified().unwrap());
    found.pop().expect("the library is built before its tests")
}

#[cfg(target_os = "linux")]
#[test]
fn a_c_program_runs() {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("example");
    let compiled = Command::new("cc")
        .args(["-std=c11", "-Wall", "-Wextra", "-Werror", "-I"])
        .arg(root().join("include"))
        .arg(root().join("tests/example.c"))
        .arg(library())
        .args(["-lpthread", "-ldl", "-lm", "-o"])
        .arg(&program)
        .output();
    let Ok(compiled) = compiled else {
        eprintln!("NOT RUN: there is no cc");
        return;
    };
    assert!(
        compiled.status.success(),
        "{}",
        String::from_utf8_lossy(&compiled.stderr)
    );
    let file = folder.path().join("k.ptx");
    std::fs::write(&file, oriole::EXAMPLE).unwrap();
    let output = Command::new(&program).arg(&file).output().unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{said}");
    let mut module = oriole::parse("k.ptx", oriole::EXAMPLE).unwrap();
    oriole::optimize(&mut module, &oriole::Options::default()).unwrap();
    assert!(said.contains(&oriole::print(&module)), "{said}");
    assert!(said.contains("\"block\":[32,8,1]"), "{said}");
    for wanted in [
        "oriole 0.",
        "status 2: error[",
        "wrong.ptx:1:",
        "status 2: the level is 9, not 0 to 3",
        "error[wrong-block]: a block has 1 to 1,024 threads, not 2048",
    ] {
        assert!(said.contains(wanted), "{wanted}\n{said}");
    }
}
