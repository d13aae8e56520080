//! `oriole scev` as users see it.

mod common;

use common::{err, oriole, out};
use serde_json::Value;
use std::path::Path;

fn file(name: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/files/scev");
    root.join(name).display().to_string()
}

fn json(arguments: &[&str]) -> Value {
    let output = oriole(arguments);
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    serde_json::from_slice(&output.stdout).expect("JSON")
}

#[test]
fn loops_and_values_are_reported() {
    let output = oriole(&[
        "scev",
        &file("loops.ptx"),
        "--function",
        "rotated",
        "--values",
    ]);
    assert_eq!(output.status.code(), Some(0));
    let text = out(&output);
    for part in [
        "rotated\n  loop $loop at line ",
        ": back edge taken (-1 + [n]) times, at most 2147483646\n",
        ": %r2 = {0,+,1}<$loop> in u[0, 2147483646], (-1 + [n]) when the loop is left\n",
    ] {
        assert!(text.contains(part), "{part}\n{text}");
    }
    assert!(!text.contains("unrolled"));
}

#[test]
fn json_has_the_documented_fields() {
    let report = json(&[
        "scev",
        &file("loops.ptx"),
        &file("shared_reduction.ptx"),
        "--json",
    ]);
    assert_eq!(report["version"], 1);
    let functions = report["functions"].as_array().unwrap();
    assert_eq!(functions.len(), 6);
    let rotated = &functions[0]["loops"][0];
    assert_eq!(rotated["count"]["kind"], "symbolic");
    assert_eq!(rotated["count"]["expression"], "(-1 + [n])");
    assert_eq!(rotated["count"]["assumptions"], Value::Array(Vec::new()));
    assert_eq!(rotated["depth"], 1);
    assert_eq!(rotated["source"], Value::Null);
    assert_eq!(rotated["exits"].as_array().unwrap().len(), 1);
    assert!(functions[0]["values"][0]["expression"].is_string());
    let stride = &functions[2]["loops"][0]["count"];
    assert_eq!(stride["assumptions"].as_array().unwrap().len(), 2);
    let local = &functions[3]["loops"][0]["count"];
    assert_eq!(
        (&local["kind"], &local["value"]),
        (&"exact".into(), &49.into())
    );
    let memory = json(&[
        "scev",
        &file("loops.ptx"),
        "--keep-local-variables",
        "--json",
    ]);
    assert_eq!(
        memory["functions"][3]["loops"][0]["count"]["kind"],
        "unknown"
    );
}

#[test]
fn launch_bounds_and_knobs_count() {
    let halving = |more: &[&str]| {
        let name = file("shared_reduction.ptx");
        let mut arguments = vec!["scev", &name, "--json"];
        arguments.extend(more);
        let report = json(&arguments);
        let count = &report["functions"][0]["loops"][0]["count"];
        (count["kind"].clone(), count["value"].clone())
    };
    assert_eq!(halving(&[]), ("maximum".into(), 10.into()));
    assert_eq!(halving(&["--block", "64"]), ("exact".into(), 6.into()));
    let few = [
        "--block",
        "64",
        "--knob",
        "scalar-evolution-max-iterations=3",
    ];
    assert_eq!(halving(&few), ("maximum".into(), 6.into()));
    let output = oriole(&["scev", "--knob", "scalar-evolution-max=3"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(err(&output).contains("no such limit"), "{}", err(&output));
}
