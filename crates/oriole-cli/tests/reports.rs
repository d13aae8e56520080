//! What `oriole analyze` writes for browsers, code scanning and CI, and `oriole diff`.

// A test that does not run says so.
#![allow(clippy::print_stderr)]

mod common;

use common::{err, oriole, out};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A store whose lanes are `stride` bytes apart, compiled from line 3 of `k.cu`.
fn kernel(name: &str, stride: u32) -> String {
    format!(
        ".version 8.0\n.target sm_80\n.address_size 64\n.file 1 \"src/k.cu\"\n.visible .entry {name}(.param .u64 p)\n.reqntid 64, 1, 1\n{{\n\
         .reg .b32 %r<2>;\n.reg .b64 %rd<3>;\n.loc 1 3 1\nld.param.u64 %rd1, [p];\ncvta.to.global.u64 %rd1, %rd1;\n\
         mov.u32 %r1, %tid.x;\nmul.wide.u32 %rd2, %r1, {stride};\nadd.s64 %rd2, %rd1, %rd2;\n.loc 1 4 1\n\
         st.global.u32 [%rd2], %r1;\nret;\n}}\n"
    )
}

struct Bench(tempfile::TempDir);

impl Bench {
    fn new(files: &[(&str, String)]) -> Bench {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = folder.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        Bench(folder)
    }

    fn path(&self, name: &str) -> String {
        self.0.path().join(name).display().to_string()
    }
}

#[test]
fn sarif_and_json_are_formats() {
    let bench = Bench::new(&[
        ("k.ptx", kernel("wide", 128)),
        ("src/k.cu", "a\nb\nc\nd\n".to_owned()),
    ]);
    let file = bench.path("k.ptx");
    let output = oriole(&[
        "analyze",
        &file,
        "--format",
        "sarif",
        "--source-root",
        &bench.path(""),
    ]);
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    let log: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(log["version"], "2.1.0");
    let result = &log["runs"][0]["results"][0];
    assert_eq!(result["ruleId"], "uncoalesced-access");
    let place = &result["locations"][0]["physicalLocation"];
    assert_eq!(place["region"]["startLine"], 4);
    let uri = place["artifactLocation"]["uri"].as_str().unwrap();
    assert!(uri.ends_with("src/k.cu"), "{uri}");
    let rules = log["runs"][0]["tool"]["driver"]["rules"]
        .as_array()
        .unwrap();
    assert!(rules.iter().any(|rule| rule["id"] == "uncoalesced-access"));
    let (one, other) = (
        oriole(&["analyze", &file, "--json"]),
        oriole(&["analyze", &file, "--format", "json"]),
    );
    assert_eq!(out(&one), out(&other));
    let output = oriole(&["check", &file, "--format", "html"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(err(&output).contains("--format html is for oriole analyze"));
}

#[test]
fn a_baseline_lets_only_new_findings_fail() {
    let bench = Bench::new(&[("k.ptx", kernel("wide", 128))]);
    let (file, known) = (bench.path("k.ptx"), bench.path("known.json"));
    let output = oriole(&[
        "analyze",
        &file,
        "--fail-on",
        "high",
        "--write-baseline",
        &known,
    ]);
    assert_eq!(
        output.status.code(),
        Some(1),
        "it is written although it fails"
    );
    let with = |extra: &[&str]| {
        let mut arguments = vec!["analyze", &file, "--baseline", &known];
        arguments.extend(extra);
        oriole(&arguments)
    };
    assert_eq!(with(&[]).status.code(), Some(0));
    assert_eq!(with(&["--fail-on", "low"]).status.code(), Some(0));
    std::fs::write(
        &file,
        kernel("wide", 128)
            + &kernel("other", 64).replace(
                ".version 8.0\n.target sm_80\n.address_size 64\n.file 1 \"src/k.cu\"\n",
                "",
            ),
    )
    .unwrap();
    let output = with(&[]);
    assert_eq!(output.status.code(), Some(1));
    assert!(
        err(&output).starts_with(
            "failed: 1 new finding\n  src/k.cu:4: high[uncoalesced-access]: store to parameter 0 takes"
        ),
        "{}",
        err(&output)
    );
    assert!(
        err(&output).contains("\n      in other, "),
        "{}",
        err(&output)
    );
    assert_eq!(with(&["--fail-on", "bank-conflict"]).status.code(), Some(0));
    std::fs::write(&known, "{}").unwrap();
    let output = with(&[]);
    assert_eq!(output.status.code(), Some(2));
    assert!(
        err(&output).contains("cannot use the baseline"),
        "{}",
        err(&output)
    );
}

#[test]
fn diff_says_what_got_better_and_worse() {
    let bench = Bench::new(&[
        ("before/k.ptx", kernel("wide", 128)),
        ("after/k.ptx", kernel("wide", 4)),
    ]);
    let (before, after) = (bench.path("before"), bench.path("after/k.ptx"));
    let output = oriole(&["diff", &before, &after, "--fail-on-worse"]);
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    assert!(
        out(&output).starts_with("1 kernel: 1 better\n\n  KERNEL  RESULT      WASTED"),
        "{}",
        out(&output)
    );
    let output = oriole(&["diff", &after, &before, "--fail-on-worse"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(
        out(&output).contains("\nnew    high[uncoalesced-access]: store to parameter 0 takes"),
        "{}",
        out(&output)
    );
    assert_eq!(oriole(&["diff", &after, &before]).status.code(), Some(0));
    let json = oriole(&["diff", &before, &after, "--json"]);
    let json: Value = serde_json::from_slice(&json.stdout).unwrap();
    assert_eq!(
        (&json["worse"], &json["kernels"][0]["name"]),
        (&Value::Bool(false), &Value::from("wide"))
    );
    let of_kernel =
        |name: &str| oriole(&["diff", &before, &after, "--kernel", name, "--arg", "0=0"]);
    assert!(out(&of_kernel("wi")).starts_with("1 kernel: 1 better\n"));
    assert_eq!(of_kernel("nothing").status.code(), Some(2));
    // Documents serve as well as files.
    let document = bench.path("before.json");
    assert_eq!(
        oriole(&["analyze", &before, "--json", "-o", &document])
            .status
            .code(),
        Some(0)
    );
    assert_eq!(
        out(&oriole(&["diff", &document, &after])),
        out(&oriole(&["diff", &before, &after]))
    );
    std::fs::write(&document, "{}").unwrap();
    let output = oriole(&["diff", &document, &after]);
    assert_eq!(output.status.code(), Some(2));
    assert!(
        err(&output).contains("is not a report of oriole analyze --json"),
        "{}",
        err(&output)
    );
}

fn chromium() -> Option<PathBuf> {
    let named = std::env::var_os("ORIOLE_CHROMIUM").map(PathBuf::from);
    let path = std::env::var_os("PATH").unwrap_or_default();
    let names = ["chromium", "chromium-browser", "google-chrome", "chrome"];
    let folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
    let found = names
        .iter()
        .flat_map(|name| folders.iter().map(move |folder| folder.join(name)));
    let found = named.or_else(|| found.into_iter().find(|program| program.is_file()));
    if found.is_none() {
        eprintln!("NOT RUN: there is no Chromium");
    }
    found
}

/// What a browser makes of a page, with a script at its end that says what it sees in `<output id="seen">`.
fn seen(browser: &Path, folder: &Path, html: &str, script: &str, width: u32) -> Value {
    let end = "</body>";
    let asked = format!(
        "<output id=\"seen\"></output><script>const seen = {{}}; const errors = [];\n\
         addEventListener(\"error\", (event) => errors.push(event.message));\n{script}\nseen.errors = errors;\n\
         document.getElementById(\"seen\").textContent = JSON.stringify(seen);</script>{end}"
    );
    let page = folder.join("page.html");
    std::fs::write(&page, html.replacen(end, &asked, 1)).unwrap();
    let output = Command::new(browser)
        .args([
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--virtual-time-budget=5000",
            "--dump-dom",
        ])
        .arg(format!(
            "--user-data-dir={}",
            folder.join("profile").display()
        ))
        .arg(format!("--window-size={width},900"))
        .arg(format!("file://{}", page.display()))
        .output()
        .unwrap();
    let dom = String::from_utf8_lossy(&output.stdout).into_owned();
    let text = dom
        .split("<output id=\"seen\">")
        .nth(1)
        .and_then(|rest| rest.split("</output>").next());
    let text = text.unwrap_or_else(|| panic!("{dom}{}", err(&output)));
    serde_json::from_str(
        &text
            .replace("&lt;", "<")
            .replace("&gt;", ">")
            .replace("&amp;", "&"),
    )
    .unwrap()
}

#[test]
fn the_html_report_works_in_a_browser() {
    let Some(browser) = chromium() else {
        return;
    };
    let bench = Bench::new(&[
        ("k/a.ptx", kernel("wide", 128)),
        ("k/b.ptx", kernel("narrow", 4)),
        ("src/k.cu", "one\ntwo\nthree\nfour\nfive\n".to_owned()),
    ]);
    let file = bench.path("report.html");
    let root = bench.path("");
    let output = oriole(&[
        "analyze",
        &bench.path("k"),
        "--format",
        "html",
        "-o",
        &file,
        "--source-root",
        &root,
    ]);
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    let html = std::fs::read_to_string(&file).unwrap();
    let script = r##"
        const shown = () => [...document.querySelectorAll("section.kernel")].filter((own) => !own.hidden).length;
        seen.kernels = shown();
        seen.width = document.documentElement.scrollWidth;
        const box = document.getElementById("search");
        const look = (text) => { box.value = text; box.dispatchEvent(new Event("input")); return shown(); };
        seen.narrow = look("narrow"); seen.kind = look("uncoalesced"); seen.none = look("nobody"); seen.all = look("");
        document.dispatchEvent(new KeyboardEvent("keydown", { key: "j", bubbles: true }));
        seen.current = document.querySelectorAll(".finding.current").length;
        document.querySelector('.source .row[data-s="1"]').click();
        seen.marked = [...document.querySelectorAll("#k0 .ptx .row.on code")].map((own) => own.textContent.trim()).join("|");
        seen.lanes = document.querySelectorAll("#k0 .finding svg .lane").length;
        const target = document.querySelector(".finding a").getAttribute("href");
        seen.linked = document.querySelector(target).textContent.includes("st.global.u32");
    "##;
    for width in [1400, 500] {
        let seen = seen(&browser, bench.0.path(), &html, script, width);
        assert_eq!(seen["errors"], serde_json::json!([]), "{seen}");
        let number = |name: &str| seen[name].as_u64().unwrap();
        assert_eq!((number("kernels"), number("all")), (2, 2), "{seen}");
        assert_eq!(
            (number("narrow"), number("kind"), number("none")),
            (1, 1, 0),
            "{seen}"
        );
        assert_eq!((number("current"), number("lanes")), (1, 32), "{seen}");
        assert_eq!(seen["marked"], "st.global.u32 [%rd2], %r1;|ret;", "{seen}");
        assert_eq!(seen["linked"], true, "{seen}");
        assert!(
            number("width") <= u64::from(width),
            "nothing is wider than the window: {seen}"
        );
    }
}

#[test]
fn a_long_kernel_opens_in_a_browser() {
    let Some(browser) = chromium() else {
        return;
    };
    let text = kernel("long", 128);
    let (start, end) = text.split_once("st.global").unwrap();
    let body: String = (0..10_000)
        .map(|number| format!("add.s64 %rd2, %rd2, {number};\n"))
        .collect();
    let bench = Bench::new(&[("k.ptx", format!("{start}{body}st.global{end}"))]);
    let output = oriole(&["analyze", &bench.path("k.ptx"), "--format", "html"]);
    let script = "seen.rows = document.querySelectorAll('.ptx .row').length;\n\
        document.querySelector('.ptx .row:last-child').scrollIntoView(); seen.height = document.querySelector('.ptx').scrollHeight;";
    let seen = seen(&browser, bench.0.path(), &out(&output), script, 1200);
    assert!(seen["rows"].as_u64().unwrap() > 10_000, "{seen}");
    assert!(seen["height"].as_u64().unwrap() > 10_000 * 10, "{seen}");
}
