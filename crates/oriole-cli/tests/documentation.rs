//! Every `oriole` command of the README and of `docs` runs, and what they show as its output is its output.
//!
//! A command is an indented line, or one of a workflow (`run: oriole …`), that begins with `oriole`; what follows two spaces is a remark.
//! It runs in a folder that has what the pages speak of, and must end with status 0, or 1 if something was asked to fail. Behind
//! `<!-- run: oriole … -->` the block of code is its output; `ORIOLE_BLESS=1` writes it.

// A test that does not run says so.
#![allow(clippy::print_stderr)]

#[allow(
    dead_code,
    reason = "some fixtures are for tests of the containers alone"
)]
#[path = "../../oriole-fatbin/tests/common/mod.rs"]
mod containers;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The README and the pages of `docs`.
fn pages() -> Vec<PathBuf> {
    let mut pages = vec![root().join("README.md"), root().join("python/README.md")];
    let docs = std::fs::read_dir(root().join("docs")).unwrap();
    pages.extend(
        docs.map(|entry| entry.unwrap().path())
            .filter(|path| path.extension().is_some_and(|own| own == "md")),
    );
    pages.sort();
    pages
}

/// A command without the remark behind it. Spaces in quotes are no end.
fn without_remark(line: &str) -> &str {
    let mut quote = None;
    let mut spaces = 0;
    for (at, character) in line.char_indices() {
        match (quote, character) {
            (None, '\'' | '"') => quote = Some(character),
            (Some(own), _) if own == character => quote = None,
            _ => {}
        }
        spaces = if character == ' ' && quote.is_none() {
            spaces + 1
        } else {
            0
        };
        if spaces == 2 {
            return line[..at].trim_end();
        }
    }
    line.trim_end()
}

/// The commands of a page.
fn commands(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        let trimmed = line.trim_start();
        let is_indented = line.starts_with("    ");
        let in_workflow = trimmed
            .strip_prefix("- run: ")
            .or_else(|| trimmed.strip_prefix("run: "));
        let candidate = in_workflow.or(is_indented.then_some(trimmed));
        let Some(own) = candidate.filter(|own| own.starts_with("oriole ")) else {
            continue;
        };
        let mut command = own.to_owned();
        while let Some(start) = command.strip_suffix('\\') {
            command = format!("{start}{}", lines.next().unwrap_or_default().trim_start());
        }
        found.push(without_remark(&command).to_owned());
    }
    found
}

/// A folder with what the pages speak of.
fn sandbox() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let saxpy = include_str!("documentation/saxpy.ptx");
    let write = |name: &str, contents: &[u8]| {
        let path = folder.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, contents).unwrap();
    };
    for name in [
        "kernel.ptx",
        "k.ptx",
        "before.ptx",
        "after.ptx",
        "build/kernel.ptx",
        "main-build/kernel.ptx",
        ".triton/cache/A/kernel.ptx",
    ] {
        write(name, saxpy.as_bytes());
    }
    let app = containers::fat_binary(&[
        containers::entry(containers::PTX, containers::Stored::Lz4, 80, 0),
        containers::entry(containers::PTX, containers::Stored::Zstd, 90, 0),
    ]);
    write("app", &app);
    write("known.json", b"{\"oriole_baseline\": 1, \"findings\": []}");
    for name in ["runs-correctly", "test.sh"] {
        // Fails once the optimizer has removed a register that nobody reads.
        write(name, b"#!/bin/sh\nexec grep -q %r10 \"$1\"\n");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let path = folder.path().join(name);
            std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
        }
    }
    for entry in std::fs::read_dir(root().join("examples")).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        write(&format!("examples/{name}"), &std::fs::read(&path).unwrap());
    }
    folder
}

fn run(command: &str, folder: &Path, ptxas: Option<&Path>) -> Output {
    let own = Path::new(env!("CARGO_BIN_EXE_oriole"))
        .parent()
        .unwrap()
        .to_owned();
    let tools = ptxas.and_then(Path::parent).map(Path::to_owned);
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = [own]
        .into_iter()
        .chain(tools)
        .chain(std::env::split_paths(&path));
    Command::new("sh")
        .args(["-c", command])
        .current_dir(folder)
        .env("HOME", folder)
        .env("PATH", std::env::join_paths(folders).unwrap())
        .env_remove("NO_COLOR")
        .output()
        .unwrap()
}

#[cfg(unix)]
#[test]
fn commands_run() {
    let ptxas = oriole_toolchain::ptxas();
    assert!(
        ptxas.is_some() || !oriole_toolchain::is_required(),
        "ptxas is required"
    );
    let mut count = 0;
    for page in pages() {
        let text = std::fs::read_to_string(&page).unwrap();
        for command in commands(&text) {
            if command.contains("ptxas") && ptxas.is_none() {
                eprintln!("NOT RUN: there is no ptxas for `{command}`");
                continue;
            }
            let folder = sandbox();
            let output = run(&command, folder.path(), ptxas.as_deref());
            let can_fail = command.contains("--fail") || command.contains("--baseline");
            let is_fine = match output.status.code() {
                Some(0) => true,
                Some(1) => can_fail,
                _ => false,
            };
            assert!(
                is_fine,
                "{}: `{command}`: {}\n{}",
                page.display(),
                output.status,
                String::from_utf8_lossy(&output.stderr)
            );
            count += 1;
        }
    }
    assert!(count > 40, "{count} commands were found");
}

#[cfg(unix)]
#[test]
fn what_is_shown_as_output_is_output() {
    let is_blessed = std::env::var_os("ORIOLE_BLESS").is_some_and(|value| value == "1");
    let mut count = 0;
    for page in pages() {
        let text = std::fs::read_to_string(&page).unwrap();
        let mut made = String::new();
        let mut rest = text.as_str();
        while let Some((before, behind)) = rest.split_once("<!-- run: ") {
            let (command, behind) = behind
                .split_once(" -->\n```text\n")
                .expect("a command and a block of text");
            let (_, behind) = behind.split_once("```\n").expect("the block ends");
            let folder = sandbox();
            let output = run(command, folder.path(), None);
            let said = String::from_utf8_lossy(&output.stdout);
            made += &format!("{before}<!-- run: {command} -->\n```text\n$ {command}\n{said}```\n");
            rest = behind;
            count += 1;
        }
        made += rest;
        if is_blessed {
            std::fs::write(&page, &made).unwrap();
        } else {
            assert!(
                made == text,
                "{}: what it shows is not what is printed: ORIOLE_BLESS=1 writes it\n{made}",
                page.display()
            );
        }
    }
    assert!(count >= 2);
}

/// The steps of the workflow of `docs/ci.md` that are commands, in order.
fn workflow_steps() -> Vec<String> {
    let page = std::fs::read_to_string(root().join("docs/ci.md")).unwrap();
    let workflow = page.split("```yaml\n").nth(1).expect("a workflow");
    let workflow = workflow.split("```").next().unwrap_or_default();
    let mut steps = Vec::new();
    for line in workflow.lines() {
        assert!(!line.contains('\t'), "YAML has no tabs: {line}");
        if let Some(step) = line.trim_start().strip_prefix("- run: ") {
            // A remark begins with a space.
            let command = step.split(" #").next().unwrap_or_default().trim();
            let is_plain = !command.contains(": ") && !command.starts_with(['|', '>', '"', '\'']);
            assert!(is_plain, "one plain line: {line}");
            steps.push(command.to_owned());
        }
    }
    steps
}

#[cfg(unix)]
#[test]
fn the_workflow_fails_on_new_waste_alone_and_leaves_its_reports() {
    let folder = sandbox();
    let path = |name: &str| folder.path().join(name);
    let stand_in = |name: &str, script: &str| {
        use std::os::unix::fs::PermissionsExt;
        std::fs::write(path(name), format!("#!/bin/sh\n{script}\n")).unwrap();
        std::fs::set_permissions(path(name), std::fs::Permissions::from_mode(0o755)).unwrap();
    };
    std::fs::create_dir(path("bin")).unwrap();
    // What is installed is what is tested here, and what is built is the example.
    stand_in("bin/cargo", "test \"$1\" = install");
    let make = |file: &str| {
        stand_in(
            "bin/make",
            &format!("test \"$1\" = ptx && mkdir -p build && cp examples/{file} build/"),
        );
    };
    let step = |command: &str| {
        let command = format!("PATH=$PWD/bin:$PATH; set -e; {command}");
        run(&command, folder.path(), None)
    };
    std::fs::remove_dir_all(path("build")).unwrap();
    let steps = workflow_steps();
    assert!(steps.len() >= 4, "{steps:?}");
    make("transpose_padded.ptx");
    assert!(
        step("make ptx; oriole analyze build/ --write-baseline known.json")
            .status
            .success()
    );
    for (file, expected) in [("transpose_padded.ptx", 0), ("transpose.ptx", 1)] {
        make(file);
        for name in ["oriole.sarif", "report.html"] {
            let _ = std::fs::remove_file(path(name));
        }
        let mut status = 0;
        for command in &steps {
            let output = step(command);
            status = output.status.code().unwrap();
            if status != 0 {
                let is_last = Some(command) == steps.last();
                let said = String::from_utf8_lossy(&output.stderr);
                assert!(
                    is_last && said.contains("failed: 1 new finding"),
                    "{command}: {said}"
                );
            }
        }
        assert_eq!(status, expected, "{file}");
        let log = std::fs::read_to_string(path("oriole.sarif")).unwrap();
        assert_eq!(log.contains("bank-conflict"), expected == 1);
        assert!(path("report.html").is_file(), "the report is there even so");
    }
}

#[test]
fn packages_that_are_named_are_there() {
    for page in pages().into_iter().chain([root().join("CONTRIBUTING.md")]) {
        let text = std::fs::read_to_string(&page).unwrap();
        for line in text.lines().filter(|line| line.contains("cargo ")) {
            let words: Vec<&str> = line
                .split(|own: char| own.is_whitespace() || own == '`')
                .collect();
            for pair in words.windows(2).filter(|pair| pair[0] == "-p") {
                let name = pair[1].trim_end_matches([',', ';', ')', '.']);
                let is_there = ["crates", "tools"]
                    .iter()
                    .any(|own| root().join(own).join(name).is_dir());
                assert!(is_there, "{}: there is no package `{name}`", page.display());
            }
        }
    }
}

/// The ids of the warnings that file tests expect.
fn expected_warnings() -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for folder in ["check", "opt", "analyze"] {
        for entry in std::fs::read_dir(root().join("tests/files").join(folder)).unwrap() {
            let text = std::fs::read_to_string(entry.unwrap().path()).unwrap();
            let facts = text.split("warning[").skip(1);
            found.extend(facts.filter_map(|fact| Some(fact.split_once(']')?.0.to_owned())));
        }
    }
    found
}

#[test]
fn every_warning_that_file_tests_expect_is_explained() {
    let page = std::fs::read_to_string(root().join("docs/diagnostics.md")).unwrap();
    let ids = expected_warnings();
    assert!(ids.contains("unlisted-target") && ids.len() > 5, "{ids:?}");
    for id in ids {
        assert!(page.contains(&format!("`{id}`")), "{id}");
    }
}

#[test]
fn the_library_snippet_is_a_program_that_is_compiled() {
    let readme = std::fs::read_to_string(root().join("README.md")).unwrap();
    let snippet = readme
        .split("```rust\n")
        .nth(1)
        .and_then(|rest| rest.split("```").next())
        .unwrap();
    let example =
        std::fs::read_to_string(root().join("crates/oriole/examples/optimize.rs")).unwrap();
    assert!(
        example.contains(snippet),
        "the README's snippet is not in crates/oriole/examples/optimize.rs"
    );
}

#[test]
fn remarks_are_told_from_commands() {
    let page = "    oriole opt k.ptx -o x      writes x\n    oriole run k --arg 'a  b' \\\n        --c d\ntext oriole opt\n      - run: oriole check build/\n";
    assert_eq!(
        commands(page),
        [
            "oriole opt k.ptx -o x",
            "oriole run k --arg 'a  b' --c d",
            "oriole check build/"
        ]
    );
}
