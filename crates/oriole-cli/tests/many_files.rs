//! Commands that take many files: the same output whatever the number of threads, and a bad file costs no other one.

mod common;

use common::{err, oriole, out, saxpy};
use std::path::Path;

/// Kernels of different sizes, so that they are not done in the order they are begun in, and something that is no PTX.
fn fill(folder: &Path, has_bad: bool) {
    let kernel = std::fs::read_to_string(saxpy()).unwrap();
    let head = kernel.find(".visible").unwrap();
    for index in 0..20 {
        let mut text = kernel[..head].to_owned();
        for copy in 0..(20 - index) / 5 + 1 {
            let own = kernel[head..].replace("saxpy", &format!("saxpy_{index}_{copy}"));
            text += &own;
        }
        std::fs::write(folder.join(format!("{index:02}.ptx")), text).unwrap();
    }
    if has_bad {
        std::fs::write(folder.join("07.ptx"), "no PTX").unwrap();
        std::fs::write(folder.join("09.fatbin"), b"\x50\xed\x55\xba\x01\x00").unwrap();
    }
}

const COMMANDS: [&[&str]; 9] = [
    &["analyze"],
    &["analyze", "--json"],
    &["analyze", "--all"],
    &["analyze", "--format", "sarif"],
    &["pressure"],
    &["pressure", "--json"],
    &["scev", "--values"],
    &["scev", "--json"],
    &["extract", "--json"],
];

#[test]
fn the_number_of_threads_does_not_show() {
    let folder = tempfile::tempdir().unwrap();
    fill(folder.path(), true);
    for command in COMMANDS {
        let run = |jobs: &str| {
            let path = folder.path().to_str().unwrap();
            let output = oriole(&[command, &[path, "-j", jobs]].concat());
            let code = output.status.code();
            (code, out(&output), err(&output))
        };
        let one = run("1");
        // The report of a clean run names no kernel.
        let is_short = command.contains(&"sarif") || *command == ["analyze"];
        assert!(one.1.contains("saxpy_19_0") || command[0] == "extract" || is_short);
        assert!(one.1.len() > 1000 || is_short, "{}", one.1);
        for jobs in ["2", "7"] {
            assert!(run(jobs) == one, "{command:?}");
        }
    }
}

#[test]
fn a_bad_file_is_named_and_the_others_are_done() {
    let [good, bad] = [(); 2].map(|()| tempfile::tempdir().unwrap());
    fill(good.path(), false);
    std::fs::remove_file(good.path().join("07.ptx")).unwrap();
    fill(bad.path(), true);
    for command in COMMANDS {
        let run = |folder: &Path| {
            let path = folder.to_str().unwrap();
            let output = oriole(&[command, &[path]].concat());
            let said = err(&output);
            (output.status.code(), out(&output).replace(path, ""), said)
        };
        let (code, expected, _) = run(good.path());
        assert_eq!(code, Some(0), "{command:?}");
        let (code, found, said) = run(bad.path());
        assert!(found == expected, "{command:?}\n{found}\n{expected}");
        assert!(said.contains("09.fatbin"), "{command:?}: {said}");
        match command[0] {
            // What lies around in a folder is no error there.
            "extract" => assert_eq!(code, Some(0)),
            _ => {
                assert_eq!(code, Some(2), "{command:?}");
                assert!(
                    said.ends_with("oriole: error: 2 of 21 files failed\n"),
                    "{said}"
                );
            }
        }
    }
}

#[test]
fn with_nothing_but_bad_files_nothing_is_written() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("a.ptx"), "no PTX").unwrap();
    std::fs::write(folder.path().join("b.ptx"), "no PTX").unwrap();
    let report = folder.path().join("report.html");
    for command in [
        &["analyze", "--json"][..],
        &[
            "analyze",
            "--format",
            "html",
            "-o",
            report.to_str().unwrap(),
        ],
        &["pressure", "--json"],
        &["scev", "--json"],
    ] {
        let output = oriole(&[command, &[folder.path().to_str().unwrap()]].concat());
        assert_eq!(output.status.code(), Some(2));
        assert_eq!(out(&output), "", "{command:?}");
    }
    let left = std::fs::read_dir(folder.path()).unwrap().count();
    assert_eq!(left, 2);
}

#[test]
fn a_kernel_has_to_be_in_one_of_the_files() {
    let folder = tempfile::tempdir().unwrap();
    fill(folder.path(), false);
    let path = folder.path().to_str().unwrap();
    let output = oriole(&[
        "analyze",
        path,
        "--kernel",
        "saxpy_10_1",
        "--format",
        "short",
        "--all",
    ]);
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    let output = oriole(&["analyze", path, "--kernel", "saxpy_10_1"]);
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    assert!(out(&output).starts_with("saxpy_10_1: "), "{}", out(&output));
    // A part of a name is enough.
    let output = oriole(&["analyze", path, "--kernel", "_10_"]);
    assert!(out(&output).starts_with("3 kernels"), "{}", out(&output));
    let output = oriole(&["analyze", path, "--kernel", "nowhere"]);
    assert_eq!(output.status.code(), Some(2));
    let message = "oriole: error: no kernel is named nowhere: there are 54 kernels: saxpy_0_0, ";
    assert!(err(&output).starts_with(message), "{}", err(&output));
    assert!(err(&output).ends_with(" and 34 more\n"), "{}", err(&output));
}
