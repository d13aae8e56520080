//! What goes wrong around the command: it is killed, the disk is full, a file cannot be read. What it writes is there whole or not at all, and
//! what went wrong is said.

#![cfg(unix)]
// A test that does not run says so.
#![allow(clippy::print_stderr)]

mod common;
#[allow(
    dead_code,
    reason = "some fixtures are for tests of the containers alone"
)]
#[path = "../../oriole-fatbin/tests/common/mod.rs"]
mod containers;

use common::{err, oriole, out, saxpy};
use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// A file with many kernels, which takes a while.
fn many_kernels(count: usize) -> String {
    let kernel = std::fs::read_to_string(saxpy()).unwrap();
    let head = kernel.find(".visible").unwrap();
    let mut text = kernel[..head].to_owned();
    for copy in 0..count {
        text += &kernel[head..].replace("saxpy", &format!("saxpy_{copy}"));
    }
    text
}

/// Name and contents of each file of a folder but for temporary ones.
fn contents(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = std::fs::read_dir(folder).into_iter().flatten();
    let files = entries.map(|entry| entry.unwrap().path());
    files
        .filter_map(|path| {
            let name = path.file_name().unwrap().to_str().unwrap().to_owned();
            (!name.starts_with(".oriole-")).then(|| (name, std::fs::read(&path).unwrap()))
        })
        .collect()
}

/// Runs a command that writes into a folder again and again, and kills it a little later each time. Each file that is there then is one that was
/// there before, or complete.
fn kill_again_and_again(arguments: &[&str], output: &Path, old: &BTreeMap<String, Vec<u8>>) {
    let start = || {
        let _ = std::fs::remove_dir_all(output);
        std::fs::create_dir(output).unwrap();
        for (name, bytes) in old {
            std::fs::write(output.join(name), bytes).unwrap();
        }
        Command::new(env!("CARGO_BIN_EXE_oriole"))
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap()
    };
    let begin = Instant::now();
    assert!(start().wait().unwrap().success(), "{arguments:?}");
    let whole = begin.elapsed();
    let complete = contents(output);
    assert!(complete.len() >= old.len() && complete != *old);
    const TIMES: u32 = 20;
    let mut unfinished = 0;
    for time in 0..TIMES {
        let mut child = start();
        std::thread::sleep(whole * time / (TIMES - 3));
        // SIGKILL, which nobody can handle.
        let _ = child.kill();
        child.wait().unwrap();
        let found = contents(output);
        unfinished += u32::from(found != complete);
        for (name, bytes) in &found {
            let is_old = old.get(name) == Some(bytes);
            let is_complete = complete.get(name) == Some(bytes);
            assert!(is_old || is_complete, "{arguments:?}: part of {name}");
        }
        for name in old.keys() {
            assert!(found.contains_key(name), "{arguments:?}: {name} is gone");
        }
    }
    assert!(unfinished > 0, "{arguments:?} was never killed in time");
}

#[test]
fn killed_at_any_time_it_leaves_no_part_of_an_output() {
    let folder = tempfile::tempdir().unwrap();
    let input = folder.path().join("in.ptx");
    std::fs::write(&input, many_kernels(4)).unwrap();
    let into = folder.path().join("out");
    let old = |name: &str| BTreeMap::from([(name.to_owned(), b"old".to_vec())]);
    let file = |name: &str| text(&into.join(name)).to_owned();
    kill_again_and_again(
        &["opt", text(&input), "-o", &file("k.ptx")],
        &into,
        &old("k.ptx"),
    );
    for (format, name) in [("json", "r.json"), ("html", "r.html"), ("text", "r.txt")] {
        let report = ["analyze", text(&input), "--format", format, "-o"];
        kill_again_and_again(&[&report[..], &[&file(name)]].concat(), &into, &old(name));
    }
    let baseline = ["analyze", text(&input), "--write-baseline"];
    kill_again_and_again(
        &[&baseline[..], &[&file("b.json")]].concat(),
        &into,
        &old("b.json"),
    );
    let app = folder.path().join("app");
    let entries: Vec<Vec<u8>> = (0..200)
        .map(|_| containers::entry(containers::PTX, containers::Stored::Zstd, 80, 0))
        .collect();
    std::fs::write(&app, containers::fat_binary(&entries)).unwrap();
    let extract = ["extract", text(&app), "-o", text(&into)];
    kill_again_and_again(&extract, &into, &old("app.1.sm_80.ptx"));
}

/// Runs the command in a shell where no file may have more than some blocks of 512 bytes.
fn with_small_files(blocks: u32, arguments: &[&str]) -> Output {
    let script = format!("trap '' XFSZ; ulimit -f {blocks}; exec \"$0\" \"$@\"");
    Command::new("sh")
        .args(["-c", &script, env!("CARGO_BIN_EXE_oriole")])
        .args(arguments)
        .stdin(Stdio::null())
        .output()
        .unwrap()
}

#[test]
fn what_does_not_fit_leaves_the_file_as_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let input = folder.path().join("in.ptx");
    std::fs::write(&input, many_kernels(20)).unwrap();
    let into = folder.path().join("out");
    std::fs::create_dir(&into).unwrap();
    let file = into.join("file");
    let remarks = format!("--remarks={}", text(&file));
    for (blocks, arguments) in [
        &["opt", text(&input), "-o", text(&file)][..],
        &["opt", text(&input), &remarks],
        &["analyze", text(&input), "--all", "-o", text(&file)],
        &["analyze", text(&input), "--json", "-o", text(&file)],
        &[
            "analyze",
            text(&input),
            "--format",
            "html",
            "-o",
            text(&file),
        ],
        &["analyze", text(&input), "--write-baseline", text(&file)],
        &["extract", text(&input), "-o", text(&into)],
    ]
    .into_iter()
    .flat_map(|arguments| [(0, arguments), (1, arguments)])
    {
        // A baseline may be short.
        if blocks > 0 && arguments.contains(&"--write-baseline") {
            continue;
        }
        std::fs::write(&file, "old").unwrap();
        let output = with_small_files(blocks, arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        let said = err(&output);
        assert!(said.contains("oriole: error: cannot write `"), "{said}");
        assert!(said.contains("File too large"), "{said}");
        assert_eq!(std::fs::read(&file).unwrap(), b"old", "{arguments:?}");
        let left = std::fs::read_dir(&into).unwrap().count();
        assert_eq!(left, 1, "{arguments:?} leaves something behind");
    }
}

#[test]
fn a_full_disk_behind_the_standard_output_is_an_error() {
    let full = Path::new("/dev/full");
    if !full.exists() {
        eprintln!("NOT RUN: there is no /dev/full");
        return;
    }
    for arguments in [
        &["opt"][..],
        &["analyze"],
        &["analyze", "--json"],
        &["pressure"],
        &["scev", "--json"],
        &["dump", "--ssa"],
        &["extract", &saxpy()],
        &["check", &saxpy()],
        &["passes"],
    ] {
        let output = Command::new(env!("CARGO_BIN_EXE_oriole"))
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(std::fs::OpenOptions::new().write(true).open(full).unwrap())
            .output()
            .unwrap();
        let said = err(&output);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {said}");
        assert!(said.contains("No space left on device"), "{said}");
    }
    let output = oriole(&["opt", "-o", "/dev/full"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(err(&output).contains("cannot write `/dev/full`: No space left on device"));
}

#[test]
fn a_file_that_cannot_be_read_is_named() {
    // Whoever is root reads everything; but not this.
    let unreadable = "/proc/self/mem";
    if !Path::new(unreadable).exists() {
        eprintln!("NOT RUN: there is no {unreadable}");
        return;
    }
    let good = saxpy();
    for command in ["opt", "check", "analyze", "pressure", "scev", "extract"] {
        let output = oriole(&[command, unreadable]);
        assert_eq!(output.status.code(), Some(2), "{command}");
        let said = err(&output);
        let expected = format!("oriole: error: cannot read `{unreadable}`: ");
        assert!(said.contains(&expected), "{command}: {said}");
        if command != "opt" {
            let output = oriole(&[command, unreadable, &good]);
            assert_eq!(output.status.code(), Some(2), "{command}");
            assert!(err(&output).contains(&expected), "{command}");
            let is_done = out(&output).contains("saxpy") || command == "check";
            assert!(is_done, "{command} leaves out the other file");
        }
    }
}

#[test]
fn a_file_of_any_size_is_read_or_refused() {
    // Holes take no space on the disk.
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("large.ptx");
    std::fs::File::create(&file)
        .and_then(|file| file.set_len((1 << 30) + 1))
        .unwrap();
    let output = oriole(&["check", text(&file)]);
    assert_eq!(output.status.code(), Some(2));
    let said = err(&output);
    assert!(said.contains("it has more than a gibibyte"), "{said}");
    // Many small functions and a long comment.
    let mut contents = many_kernels(500);
    contents += "// ";
    contents.extend(std::iter::repeat_n('x', 1 << 24));
    contents.push('\n');
    std::fs::write(&file, contents).unwrap();
    let begin = Instant::now();
    let output = oriole(&["check", text(&file)]);
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    assert!(begin.elapsed() < Duration::from_secs(120));
}
