//! Runs the command, for the tests.

use std::process::{Command, Output, Stdio};

/// What `oriole` does with these arguments and no input.
pub fn oriole(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_oriole"))
        .args(arguments)
        .env_remove("NO_COLOR")
        .stdin(Stdio::null())
        .output()
        .expect("the command runs")
}

/// What it wrote.
#[allow(dead_code, reason = "not all tests use it")]
pub fn out(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

/// What it said.
pub fn err(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// The path of a small kernel: a loop with leftovers that a careless front end produces.
#[allow(dead_code, reason = "not all tests use it")]
pub fn saxpy() -> String {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/common/saxpy.ptx");
    path.display().to_string()
}
