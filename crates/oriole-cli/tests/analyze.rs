//! `oriole analyze` as users see it.

mod common;

use common::{err, oriole, out};
use serde_json::Value;
use std::path::Path;

fn file(name: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/files/analyze");
    root.join(name).display().to_string()
}

fn json(arguments: &[&str]) -> Value {
    let output = oriole(arguments);
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    serde_json::from_slice(&output.stdout).expect("JSON")
}

#[test]
fn findings_are_ranked_and_pictured() {
    let output = oriole(&["analyze", &file("shared.ptx")]);
    assert_eq!(output.status.code(), Some(0));
    let text = out(&output);
    let first = text.find("conflict 32-way, 32 wavefronts, ideal 1, proved\n");
    let second = text.find("conflict 4-way, 8 wavefronts, ideal 2, proved\n");
    assert!(first.is_some() && first < second, "{text}");
    let picture = format!("lanes {} (the same sign: the same bank)", "0".repeat(32));
    assert_eq!(text.matches(&picture).count(), 1, "{text}");
    assert!(!text.contains("conflict-free"), "{text}");
    let all = oriole(&["analyze", &file("shared.ptx"), "--all"]);
    assert!(out(&all).contains("conflict-free, 4 wavefronts, ideal 4, proved"));
}

#[test]
fn json_has_the_documented_fields() {
    let report = json(&["analyze", &file("global.ptx"), "--block", "64", "--json"]);
    assert_eq!(report["version"], 1);
    let kernels = report["kernels"].as_array().unwrap();
    assert_eq!(kernels.len(), 2);
    let access = &kernels[0]["accesses"][0];
    assert_eq!(access["space"], "global");
    assert_eq!(access["op"], "load");
    assert_eq!(access["bytes"], 4);
    assert_eq!(access["cost"]["min"], 4);
    assert_eq!(access["cost"]["mean"], 4.0);
    assert_eq!(access["cost"]["max"], 4);
    assert_eq!(access["ideal"], 4.0);
    assert_eq!(access["class"], "coalesced");
    assert_eq!(access["status"], "proved-if");
    assert_eq!(access["assumptions"][0], "arg 0 % 256 == 0");
    assert_eq!(access["weight"], 0.0);
    assert_eq!(access["source"], Value::Null);
    assert!(access["line"].is_u64());
    let finding = &kernels[0]["findings"][0];
    assert_eq!(finding["kind"], "uncoalesced-access");
    assert_eq!(finding["severity"], "high");
    assert_eq!(kernels[1]["loops"].as_array().unwrap().len(), 2);
    assert!(kernels[0]["registers"]["best"].is_u64());
    assert!(kernels[0]["occupancy"]["percent"].is_number());
}

#[test]
fn what_is_known_of_parameters_settles_costs() {
    let cost = |more: &[&str]| {
        let file = file("fixes.ptx");
        let mut arguments = vec!["analyze", &file, "--kernel", "scattered", "--json"];
        arguments.extend_from_slice(more);
        let report = json(&arguments);
        report["kernels"][0]["accesses"][0].clone()
    };
    let open = cost(&[]);
    assert_eq!(open["status"], "bounded");
    assert_eq!(open["strides"][0]["arg"], 1);
    assert_eq!(open["strides"][0]["multiple"], 32);
    assert_eq!(open["strides"][0]["cost"], 32);
    let settled = cost(&["--arg", "1=48", "--block", "64"]);
    assert_eq!(settled["status"], "proved");
    assert_eq!(settled["cost"]["max"], 16);
    let alignment = |more: &[&str]| {
        let file = file("global.ptx");
        let mut arguments = vec!["analyze", &file, "--block", "64", "--json"];
        arguments.extend_from_slice(more);
        let report = json(&arguments);
        let access = &report["kernels"][0]["accesses"][0];
        (access["status"].clone(), access["cost"]["max"].clone())
    };
    let text = |status: &str, cost: u64| (Value::from(status), Value::from(cost));
    assert_eq!(alignment(&[]), text("proved-if", 4));
    assert_eq!(alignment(&["--assume", "ptr-align=64"]), text("proved", 4));
    assert_eq!(alignment(&["--assume", "ptr-align=4"]), text("bounded", 5));
    assert_eq!(alignment(&["--grid", "7"]), text("proved-if", 4));
}

#[test]
fn fixes_and_causes_are_shown() {
    let report = json(&[
        "analyze",
        &file("fixes.ptx"),
        "--kernel",
        "transpose",
        "--json",
    ]);
    let kernel = &report["kernels"][0];
    let finding = &kernel["findings"][0];
    assert_eq!(finding["fixes"][0]["kind"], "pad");
    assert_eq!(finding["fixes"][0]["before"], 32.0);
    assert_eq!(finding["fixes"][0]["after"], 1.0);
    assert_eq!(finding["fixes"][1]["kind"], "swizzle");
    let chain = finding["chain"].as_array().unwrap();
    let last = chain.last().unwrap()["instruction"].as_str().unwrap();
    assert_eq!(last, "mov.u32 %r1, %tid.x");
    // Nobody says what blocks look like.
    assert_eq!(kernel["shapes"].as_array().unwrap().len(), 4);
    assert_eq!(kernel["fixes"][0]["kind"], "block-shape");
    let given = ["analyze", &file("fixes.ptx"), "--block", "32x8", "--json"];
    assert_eq!(
        json(&given)["kernels"][0]["shapes"],
        Value::Array(Vec::new())
    );
}

#[test]
fn arrays_iterations_and_lines_are_recovered() {
    let report = json(&[
        "analyze",
        &file("iterations.ptx"),
        "--block",
        "64",
        "--json",
    ]);
    let kernel = &report["kernels"][0];
    let accesses = kernel["accesses"].as_array().unwrap();
    assert_eq!(accesses[0]["array"]["name"], "arg 0");
    assert_eq!(accesses[0]["array"]["sizes"][1], "1024");
    assert_eq!(accesses[0]["array"]["thread_x"][0], 0);
    let lines = accesses
        .iter()
        .map(|access| access["source"]["line"].clone());
    assert_eq!(lines.collect::<Vec<_>>(), [8, 8, 10]);
    let kinds: Vec<&str> = kernel["dependences"]
        .as_array()
        .unwrap()
        .iter()
        .map(|own| own["kind"].as_str().unwrap())
        .collect();
    // The load with both stores, the first store with itself and the other one, and that with itself.
    assert_eq!(kinds.len(), 5, "{kinds:?}");
    assert_eq!(kernel["dependences"][0]["distance"], -2);
    assert!(kinds.contains(&"independent"), "{kinds:?}");
}

#[test]
fn findings_fail_if_that_was_asked_for() {
    let status = |what: &str| {
        let output = oriole(&["analyze", &file("shared.ptx"), "--fail-on", what]);
        output.status.code()
    };
    assert_eq!(status("high"), Some(1));
    assert_eq!(status("bank-conflict"), Some(1));
    assert_eq!(status("uncoalesced-local"), Some(0));
    assert_eq!(status("nonsense"), Some(2));
    let example = oriole(&["analyze", "--fail-on", "low"]);
    assert_eq!(example.status.code(), Some(0));
}

#[test]
fn wrong_input_is_refused() {
    for arguments in [
        &["analyze", "missing.ptx"][..],
        &["analyze", "--kernel", "missing"],
        &["analyze", "--block", "2048"],
        &["analyze", "--arg", "1"],
        &["analyze", "--arg", "1=x"],
        &["analyze", "--assume", "ptr-align=3"],
        &["analyze", "--assume", "n%8"],
        &["analyze", "--grid", "0"],
    ] {
        let output = oriole(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
    }
}

#[test]
fn arguments_settle_strides() {
    let all = |argument: &str| {
        let path = file("shared.ptx");
        out(&oriole(&["analyze", &path, "--all", "--arg", argument]))
    };
    assert!(all("1=32").contains("`ld.shared.f32`: conflict 32-way, 32 wavefronts"));
    assert!(!all("1=33").contains("transposed"));
    assert!(all("0=64").contains("transposed, 1 to 32 wavefronts"));
}

#[test]
fn the_block_is_an_assumption_unless_it_is_given() {
    let path = file("global.ptx");
    let text = out(&oriole(&["analyze", &path, "--all"]));
    assert!(text.contains("block 256x1x1, arg 0 % 256 == 0"), "{text}");
    let text = out(&oriole(&["analyze", &path, "--all", "--block", "256"]));
    assert!(!text.contains("proved-if: block"), "{text}");
}
