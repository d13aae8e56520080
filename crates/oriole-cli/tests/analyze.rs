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
    let first = text.find(
        "high[bank-conflict]: loads and stores of tile take 8 to 32 wavefronts instead of 1\n",
    );
    let second = text.find("undecided[bank-conflict]");
    assert!(first.is_some() && first < second, "{text}");
    assert!(
        !text.contains("bank +0") && !text.contains("conflict-free"),
        "{text}"
    );
    let all = out(&oriole(&["analyze", &file("shared.ptx"), "--all"]));
    let picture = format!("           bank +0 {}  32 words\n", "#".repeat(32));
    assert_eq!(all.matches(&picture).count(), 1, "{all}");
    assert!(
        all.contains("conflict-free, 4 wavefronts instead of 4, proved\n"),
        "{all}"
    );
}

#[test]
fn json_has_the_documented_fields() {
    let report = json(&["analyze", &file("global.ptx"), "--block", "64", "--json"]);
    assert_eq!(report["version"], 2);
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

/// A folder of this test alone.
struct Folder(tempfile::TempDir);

impl Folder {
    /// Writes a file and returns its path.
    fn write(&self, name: &str, text: &str) -> String {
        let path = self.0.path().join(name);
        std::fs::write(&path, text).expect("a file");
        path.display().to_string()
    }
}

const DYNAMIC: &str = ".version 8.6\n.target sm_100a\n.address_size 64\n\
    .extern .shared .align 16 .b8 memory[];\n\
    .visible .entry kernel()\n.reqntid 128\n{\n.reg .b32 %r<4>;\n\
    mov.u32 %r1, memory;\nst.shared.b32 [%r1], 0;\nret;\n}\n";

#[test]
fn dynamic_shared_memory_counts_or_is_said_to_be_left_out() {
    let folder = Folder(tempfile::tempdir().expect("a folder"));
    let file = folder.write("kernel.ptx", DYNAMIC);
    let occupancy = |more: &[&str]| {
        let mut arguments = vec!["analyze", &file, "--json"];
        arguments.extend_from_slice(more);
        let kernel = json(&arguments)["kernels"][0]["occupancy"].clone();
        let shared = kernel["shared"]["given"].as_u64();
        (kernel["blocks"].as_u64(), kernel["limiter"].clone(), shared)
    };
    let left_out = "without dynamic shared memory";
    for command in ["analyze", "pressure"] {
        let text = out(&oriole(&[command, &file]));
        assert!(text.contains(left_out), "{text}");
        let text = out(&oriole(&[command, &file, "--shared", "100000"]));
        assert!(!text.contains(left_out), "{text}");
        assert!(text.contains("limited by shared memory"), "{text}");
    }
    assert_eq!(occupancy(&[]).2, None);
    let given = occupancy(&["--shared", "100000"]);
    assert_eq!(given, (Some(2), "shared memory".into(), Some(100_000)));
    // Triton writes how much it is beside the PTX; other files of that name say nothing.
    folder.write("kernel.json", r#"{"shared": 70000}"#);
    assert_eq!(occupancy(&[]).2, None);
    folder.write("kernel.json", r#"{"num_warps": 4, "shared": 70000}"#);
    let read = occupancy(&[]);
    assert_eq!(read, (Some(3), "shared memory".into(), Some(70_000)));
    assert_eq!(occupancy(&["--shared", "100000"]), given);
}

#[test]
fn no_block_is_larger_than_the_kernel_allows() {
    let folder = Folder(tempfile::tempdir().expect("a folder"));
    let two = DYNAMIC.replace(".reqntid 128", ".maxntid 64, 1, 1")
        + ".visible .entry other()\n{\nret;\n}\n";
    let two = folder.write("two.ptx", &two);
    let one = folder.write(
        "one.ptx",
        &DYNAMIC.replace(".reqntid 128", ".maxntid 8, 8, 1"),
    );
    let required = folder.write("required.ptx", DYNAMIC);
    let block = |arguments: &[&str]| json(arguments)["kernels"][0]["block"].clone();
    assert_eq!(
        block(&["analyze", &one, "--json"]),
        serde_json::json!([64, 1, 1])
    );
    let small = ["analyze", &one, "--json", "--block", "32"];
    assert_eq!(block(&small), serde_json::json!([32, 1, 1]));
    for command in ["analyze", "scev", "pressure"] {
        let refused = oriole(&[command, &one, "--block", "1024"]);
        assert_eq!(refused.status.code(), Some(2));
        let text = err(&refused);
        assert!(
            text.contains("`kernel` allows 64 threads a block"),
            "{text}"
        );
        let refused = oriole(&[command, &required, "--block", "64"]);
        assert_eq!(refused.status.code(), Some(2));
        assert!(err(&refused).contains("`kernel` requires blocks of 128x1x1"));
        // Another kernel of the file can have such blocks.
        let warned = oriole(&[command, &two, "--block", "1024"]);
        assert_eq!(warned.status.code(), Some(0), "{}", err(&warned));
        assert!(err(&warned).contains("warning[wrong-block]"));
    }
    let warned = ["analyze", &two, "--json", "--block", "1024"];
    assert_eq!(block(&warned), serde_json::json!([64, 1, 1]));
}

#[test]
fn tensor_memory_limits_blocks() {
    let folder = Folder(tempfile::tempdir().expect("a folder"));
    let alloc = "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32";
    let limit = |allocations: &str| {
        let allocations = format!("mov.u32 %r1, memory;\n{allocations}");
        let file = folder.write(
            "kernel.ptx",
            &DYNAMIC.replace("mov.u32 %r1, memory;\n", &allocations),
        );
        let report = json(&["analyze", &file, "--json"]);
        let occupancy = &report["kernels"][0]["occupancy"];
        (
            occupancy["blocks"].as_u64(),
            occupancy["limiter"].as_str().map(str::to_owned),
        )
    };
    let by_tensors = |blocks| (Some(blocks), Some("tensor memory".to_owned()));
    assert_eq!(limit(""), (Some(16), Some("warps".to_owned())));
    assert_eq!(limit(&format!("{alloc} [%r1], 128;\n")), by_tensors(4));
    let both = format!("mov.b32 %r2, 256;\n{alloc} [%r1], %r2;\n{alloc} [%r1], 64;\n");
    assert_eq!(limit(&both), by_tensors(1));
    // Of a size that is not known at least the least is taken.
    let unknown = format!("mov.u32 %r2, %tid.x;\n{alloc} [%r1], %r2;\n{alloc} [%r1], 32;\n");
    assert_eq!(limit(&unknown), by_tensors(8));
}

#[test]
fn a_kernel_that_spills_has_no_register_left() {
    let values: Vec<u32> = (0..340).collect();
    let lines = |line: &dyn Fn(u32) -> String| values.iter().map(|&n| line(n)).collect::<String>();
    let kernel = format!(
        ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry kernel(.param .u64 out)\n.maxntid 128\n{{\n\
         .reg .f32 %v<340>;\n.reg .b64 %a;\nld.param.u64 %a, [out];\n{}bar.sync 0;\n{}ret;\n}}\n",
        lines(&|n| format!("ld.global.f32 %v{n}, [%a + {}];\n", 1024 * n)),
        lines(&|n| format!("st.global.f32 [%a + {}], %v{n};\n", 1024 * n)),
    );
    let folder = Folder(tempfile::tempdir().expect("a folder"));
    let report = json(&["analyze", &folder.write("kernel.ptx", &kernel), "--json"]);
    let kernel = &report["kernels"][0];
    let mut kinds = kernel["findings"].as_array().unwrap().iter();
    assert!(kinds.any(|own| own["kind"] == "predicted-spill"));
    assert_eq!(kernel["registers"]["best"], 255);
    assert_eq!(kernel["registers"]["high"], 255);
}

#[test]
fn accesses_are_quoted_as_they_are_written() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/files/findings");
    let path = root.join("local-mnemonic.ptx").display().to_string();
    let text = out(&oriole(&["analyze", &path, "--all"]));
    assert!(
        text.contains("PTX 22: st.f32 scattered, 32 sectors instead of 4, proved"),
        "{text}"
    );
    assert!(text.contains("PTX 24: ld.f32 "), "{text}");
}

#[test]
fn no_more_than_all_is_needed() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/corpus/ptx/nvcc");
    let path = root.join("globals.O0.sm_80.ptx").display().to_string();
    let report = json(&["analyze", &path, "--json"]);
    let mut shares = Vec::new();
    for kernel in report["kernels"].as_array().unwrap() {
        let efficiency = kernel["efficiency"].as_object().unwrap();
        shares.extend(efficiency.values().filter_map(Value::as_f64));
    }
    assert!(shares.len() > 2, "{shares:?}");
    assert!(shares.iter().all(|&share| share <= 1.0), "{shares:?}");
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

/// Both sides of copies take the alignment of pointers that is given, and do not name it as an assumption then.
#[test]
fn what_is_known_of_pointers_settles_copies() {
    let copies = |more: &[&str]| {
        let file = file("operations.ptx");
        let mut arguments = vec!["analyze", &file, "--block", "32", "--json"];
        arguments.extend_from_slice(more);
        let report = json(&arguments);
        let kernels = report["kernels"].as_array().unwrap();
        let accesses = kernels
            .iter()
            .flat_map(|kernel| kernel["accesses"].as_array().unwrap());
        let is_copy = |access: &&Value| access["instruction"] == "cp.async.cg.shared.global";
        let claim = |access: &Value| {
            let cost = &access["cost"];
            let assumes = access["assumptions"].as_array().unwrap().len();
            (
                access["status"].clone(),
                cost["min"].clone(),
                cost["max"].clone(),
                assumes,
            )
        };
        accesses
            .filter(is_copy)
            .map(claim)
            .take(2)
            .collect::<Vec<_>>()
    };
    let claim = |status: &str, least: u64, most: u64, assumes: usize| {
        (
            Value::from(status),
            Value::from(least),
            Value::from(most),
            assumes,
        )
    };
    // What is read, and what is written.
    let assuming = copies(&[]);
    assert_eq!(assuming[0], claim("proved-if", 16, 16, 1));
    assert_eq!(assuming[1], claim("proved-if", 4, 4, 1));
    let aligned = copies(&["--assume", "ptr-align=256"]);
    assert_eq!(aligned[0], claim("proved", 16, 16, 0));
    assert_eq!(aligned[1], claim("proved", 4, 4, 0));
    // A source in the middle of a sector is swapped with its neighbour.
    let loose = copies(&["--assume", "ptr-align=16"]);
    assert_eq!(loose[0], claim("bounded", 16, 32, 0));
    assert_eq!(loose[1].0, "bounded");
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
    assert_eq!(
        finding["fixes"][0]["row_bytes"],
        serde_json::json!([128, 132])
    );
    assert_eq!(finding["fixes"][0]["saved"], 31.0);
    let access = finding["accesses"][0].as_u64().unwrap() as usize;
    let chain = kernel["accesses"][access]["chain"].as_array().unwrap();
    let last = chain.last().unwrap()["instruction"].as_str().unwrap();
    assert_eq!(last, "mov.u32 %r1, %tid.x");
    // Four adjacent floats are one access.
    let members = ["analyze", &file("fixes.ptx"), "--kernel", "members"];
    let text = out(&oriole(&members));
    let fix = "join adjacent accesses of parameter 0 into one of 16 bytes: 16 → 4 sectors\n";
    assert!(text.contains(fix), "{text}");
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
    let example = oriole(&["analyze", "--fail-on", "contended-atomic"]);
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
        &["analyze", "--example", "--arg", "99=3"],
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
    assert!(all("1=32").contains("ld.shared.f32 conflict 32-way, 32 wavefronts"));
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

#[test]
fn kinds_are_listed_and_explained() {
    let all = oriole(&["explain"]);
    assert_eq!(all.status.code(), Some(0));
    let text = out(&all);
    for kind in oriole::FindingKind::ALL {
        assert!(text.contains(&format!("{}\n    {}\n", kind.text(), kind.summary())));
        assert!(!kind.summary().is_empty() && !kind.summary().contains('\n'));
        let page = oriole(&["explain", kind.text()]);
        assert_eq!(out(&page), kind.page());
    }
    assert_eq!(oriole(&["explain", "nonsense"]).status.code(), Some(2));
}

#[test]
fn every_kind_and_severity_can_fail() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/files/findings");
    for kind in oriole::FindingKind::ALL {
        let name = kind.text();
        let found = folder.join(format!("{name}.ptx")).display().to_string();
        let absent = folder.join(format!("{name}.false.ptx"));
        let absent = absent.display().to_string();
        let status = |path: &str| {
            let output = oriole(&["analyze", path, "--fail-on", name]);
            output.status.code()
        };
        assert_eq!(status(&found), Some(1), "{name}");
        assert_eq!(status(&absent), Some(0), "{name}");
        let report = json(&["analyze", &found, "--json"]);
        let findings = report["kernels"][0]["findings"].as_array().unwrap();
        assert!(
            findings
                .iter()
                .any(|finding| finding["kind"] == name && finding["line"].is_u64()),
            "{name}"
        );
    }
}

#[test]
fn the_example_shows_lines_carets_and_lanes() {
    let output = oriole(&["analyze"]);
    assert_eq!(output.status.code(), Some(0));
    let text = out(&output);
    for part in [
        "high[bank-conflict]: load from tile takes 32 wavefronts instead of 1\n    --> example.cu:18",
        "  18 | out[(y + row) * n + x] = tile[threadIdx.x][threadIdx.y + row];\n     |                          ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^\n",
        "high[uncoalesced-access]: load from parameter 2 takes 32 sectors instead of 4\n",
        "    --> example.cu:13",
    ] {
        assert!(text.contains(part), "{part}\n{text}");
    }
    let report = json(&["analyze", "--json"]);
    assert_eq!(report["kernels"][0]["findings"][0]["kind"], "bank-conflict");
    assert_eq!(report["kernels"][0]["findings"][0]["source"]["line"], 18);
}

#[test]
fn source_files_beside_the_ptx_are_shown() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("k.ptx");
    std::fs::write(&path, oriole::EXAMPLE).unwrap();
    let analyze = || out(&oriole(&["analyze", path.to_str().unwrap()]));
    assert!(!analyze().contains("18 | "));
    std::fs::write(folder.path().join("example.cu"), oriole::EXAMPLE_SOURCE.1).unwrap();
    assert!(analyze().contains("\n  18 | out["));
}
