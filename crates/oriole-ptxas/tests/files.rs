//! Inputs and outputs of all kinds: what `ptxas` can read and write, `oriole-ptxas` can.
#![cfg(unix)]
// A test that does not run says so.
#![allow(clippy::print_stderr)]

mod common;

use common::{Bench, COPY, PTX, WRAPPER, err};
use std::io::Write;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};

/// Like [`COPY`], with the input as the first argument, wherever that is. It refuses what was optimized.
const PICKY: &str = "in=$1; while [ $# -gt 0 ]; do case $1 in -o) out=$2; shift;; esac; shift; done\n\
    grep -q 77 \"$in\" || { echo \"$in: no\" >&2; exit 255; }\ncat \"$in\" > \"$out\"\necho \"$in: fine\"\n";
/// Writes an ELF file of 4096 bytes, or as much of it as there is space for, and ends with success as `ptxas` does.
const ELF: &str = "while [ $# -gt 0 ]; do case $1 in -o) out=$2; shift;; esac; shift; done\n\
    { printf '\\177ELF\\2\\1'; head -c 26 /dev/zero; head -c 8 /dev/zero; printf '\\300\\17\\0\\0\\0\\0\\0\\0'; head -c 10 /dev/zero\n\
    printf '\\100\\0\\1\\0'; head -c 4034 /dev/zero; } 2>/dev/null > \"$out\"\nexit 0\n";

fn run_with_input(bench: &Bench, arguments: &[&str], text: &str) -> Output {
    let mut command = bench.command();
    command
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(text.as_bytes())
        .unwrap();
    child.wait_with_output().unwrap()
}

#[test]
fn a_pipe_is_read_once_for_all_runs() {
    let bench = Bench::new(PICKY);
    for input in ["/dev/stdin", "-", "/dev/fd/0"] {
        let output = run_with_input(&bench, &[input, "-o", "out"], PTX);
        assert_eq!(output.status.code(), Some(0), "{input}: {}", err(&output));
        assert_eq!(bench.output().unwrap(), PTX, "{input}");
        assert!(err(&output).contains("ptxas does not accept"), "{input}");
        let said = String::from_utf8(output.stdout).unwrap();
        assert!(input == "-" || said == format!("{input}: fine\n"), "{said}");
        std::fs::remove_file(bench.path("out")).unwrap();
        // Other texts and `-O0` pass through.
        for (arguments, text) in [
            (&[input, "-o", "out"][..], "77 no PTX"),
            (&[input, "-o", "out", "-O0"], PTX),
        ] {
            let output = run_with_input(&bench, arguments, text);
            assert_eq!(output.status.code(), Some(0), "{}", err(&output));
            assert_eq!(bench.output().unwrap(), text);
            std::fs::remove_file(bench.path("out")).unwrap();
        }
    }
    let optimized = Bench::new(&PICKY.replace("grep -q 77 \"$in\"", "true"));
    let output = run_with_input(&optimized, &["/dev/stdin", "-o", "out"], PTX);
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    assert!(!optimized.output().unwrap().contains("77"));
}

#[test]
fn an_output_stays_what_it_is() {
    let bench = Bench::new(COPY);
    let run = |output: &str| {
        let done = bench.run(&["k.ptx", "-o", output], &[]);
        assert_eq!(done.status.code(), Some(0), "{output}: {}", err(&done));
    };
    let is_written = |name: &str| {
        let text = std::fs::read_to_string(bench.path(name)).unwrap();
        text.contains("st.global") && !text.contains("77")
    };
    std::fs::write(bench.path("private"), "old").unwrap();
    let mode = std::fs::Permissions::from_mode(0o600);
    std::fs::set_permissions(bench.path("private"), mode).unwrap();
    run("private");
    let data = bench.path("private").metadata().unwrap();
    assert_eq!(data.permissions().mode() & 0o777, 0o600);
    assert!(is_written("private"));
    symlink("target", bench.path("dangling")).unwrap();
    run("dangling");
    assert!(bench.path("dangling").is_symlink());
    assert!(is_written("target"));
    // Once more, now that it leads somewhere.
    run("dangling");
    assert!(bench.path("dangling").is_symlink());
    std::fs::write(bench.path("name"), "old".repeat(1000)).unwrap();
    std::fs::hard_link(bench.path("name"), bench.path("other")).unwrap();
    run("name");
    assert_eq!(bench.path("name").metadata().unwrap().nlink(), 2);
    assert!(is_written("other"));
    // A new file has the permissions that any has.
    std::fs::write(bench.path("plain"), "").unwrap();
    run("new");
    let mode = |name: &str| bench.path(name).metadata().unwrap().permissions().mode();
    assert_eq!(mode("new"), mode("plain"));
}

#[test]
fn an_output_that_cannot_be_opened_is_for_the_real_one_to_complain_about() {
    let bench = Bench::new(COPY);
    symlink("nowhere/target", bench.path("dangling")).unwrap();
    symlink("loop", bench.path("loop")).unwrap();
    for output in ["nowhere/out", "dangling", "loop", "real", ""] {
        let own = bench.run(&["k.ptx", "-o", output], &[]);
        let other = Command::new(&bench.real)
            .current_dir(bench.folder.path())
            .args(["k.ptx", "-o", output])
            .output()
            .unwrap();
        assert_eq!(own.status, other.status, "{output}");
        assert_eq!(err(&own), err(&other), "{output}");
    }
}

/// Runs a script with mounts of its own. Nothing where that is not allowed.
fn with_mounts(bench: &Bench, script: &str) -> Option<Output> {
    let run = |script: &str| {
        Command::new("unshare")
            .args(["-rm", "sh", "-c", script, "sh", WRAPPER])
            .current_dir(bench.folder.path())
            .env("ORIOLE_REAL_PTXAS", &bench.real)
            .env("ORIOLE_PTXAS_CACHE", "off")
            .output()
    };
    let is_allowed = run("mkdir -p mount && mount -t tmpfs -o size=1m none mount");
    if !is_allowed.is_ok_and(|done| done.status.success()) {
        eprintln!("NOT RUN: file systems cannot be mounted here");
        return None;
    }
    let output = run(&format!("set -e\n{script}")).unwrap();
    assert!(output.status.success(), "{}", err(&output));
    Some(output)
}

#[test]
fn a_file_that_is_mounted_is_written_in_place() {
    let bench = Bench::new(COPY);
    with_mounts(
        &bench,
        "echo old > source; echo old > out; mount --bind source out\n\
         \"$1\" k.ptx -o out; umount out; grep -q st.global source; ! grep -q 77 source; grep -q old out",
    );
}

#[test]
fn on_a_full_disk_the_output_is_complete_or_as_it_was() {
    let bench = Bench::new(ELF);
    // There is space, as a check of the script.
    let done = bench.run(&["k.ptx", "-o", "out"], &[]);
    assert_eq!(done.status.code(), Some(0), "{}", err(&done));
    assert_eq!(bench.path("out").metadata().unwrap().len(), 4096);
    let fill = "mount -t tmpfs -o size=64k none mount; echo old > mount/old; head -c 5000 /dev/zero > mount/large\n\
        cat /dev/zero > mount/full 2>/dev/null || true\n";
    // Outputs on the full disk, temporary files elsewhere.
    with_mounts(
        &bench,
        &format!(
            "{fill}status=0; \"$1\" k.ptx -o mount/new || status=$?; test $status = 2; ! test -e mount/new\n\
             status=0; \"$1\" k.ptx -o mount/large; test $(stat -c %s mount/large) = 4096\n"
        ),
    );
    // A file that is there and too small stays as it was.
    with_mounts(
        &bench,
        "mount -t tmpfs -o size=64k none mount; : > mount/old; cat /dev/zero > mount/full 2>/dev/null || true\n\
         status=0; \"$1\" k.ptx -o mount/old || status=$?; test $status = 2; test $(stat -c %s mount/old) = 0\n\
         test $(ls -A mount | wc -l) = 2",
    );
    // Temporary files on a full disk, outputs elsewhere.
    with_mounts(
        &bench,
        &format!(
            "{fill}TMPDIR=$PWD/mount \"$1\" k.ptx -o made; test $(stat -c %s made) = 4096; test $(ls -A mount | wc -l) = 3"
        ),
    );
}

#[test]
fn a_file_that_grows_too_large_ends_it_as_the_real_one() {
    let bench = Bench::new(
        "while [ $# -gt 0 ]; do case $1 in -o) out=$2; shift;; esac; shift; done\nexec head -c 4096 /dev/zero > \"$out\"\n",
    );
    let temporary = bench.path("temporary");
    std::fs::create_dir(&temporary).unwrap();
    let run = |program: &Path, before: &str| {
        let script = format!("ulimit -c 0; {before} ulimit -f 1; exec \"$1\" k.ptx -o out");
        Command::new("bash")
            .args(["-c", &script, "bash"])
            .arg(program)
            .current_dir(bench.folder.path())
            .env("ORIOLE_REAL_PTXAS", &bench.real)
            .env("ORIOLE_PTXAS_CACHE", bench.path("cache"))
            .env("TMPDIR", &temporary)
            .output()
            .unwrap()
    };
    // The signal, or the failure where it is ignored.
    for before in ["", "trap '' XFSZ;"] {
        let own = run(Path::new(WRAPPER), before);
        let other = run(&bench.real, before);
        assert_eq!(own.status, other.status, "{before} {}", err(&own));
        assert_eq!(own.status.signal().is_some(), before.is_empty());
        std::fs::remove_file(bench.path("out")).unwrap();
        assert_eq!(std::fs::read_dir(&temporary).unwrap().count(), 0);
    }
    // If only the optimized text is too large, the original is assembled.
    let small = Bench::new(
        "while [ $# -gt 0 ]; do case $1 in -o) out=$2; shift;; *.ptx) in=$1;; esac; shift; done\necho small > \"$out\"\n",
    );
    let many: String = (0..200).map(|number| format!("// {number}\n")).collect();
    std::fs::write(
        small.path("k.ptx"),
        PTX.replace("ret;", &format!("{many}ret;")),
    )
    .unwrap();
    let output = Command::new("bash")
        .args([
            "-c",
            "ulimit -f 1; exec \"$1\" k.ptx -o out",
            "bash",
            WRAPPER,
        ])
        .current_dir(small.folder.path())
        .env("ORIOLE_REAL_PTXAS", &small.real)
        .env("ORIOLE_PTXAS_CACHE", "off")
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    assert_eq!(small.output().as_deref(), Some("small\n"));
}

#[test]
fn a_run_removes_what_killed_ones_left() {
    let slow = Bench::new("echo $$ > started; sleep 30\n");
    let temporary = slow.path("temporary");
    std::fs::create_dir(&temporary).unwrap();
    let names = || {
        let entries = std::fs::read_dir(&temporary).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        names.collect::<Vec<_>>()
    };
    let mut command = slow.command();
    let mut child = command
        .args(["k.ptx", "-o", "out"])
        .env("TMPDIR", &temporary)
        .spawn()
        .unwrap();
    let started = || std::fs::read_to_string(slow.path("started")).unwrap_or_default();
    while started().trim().is_empty() {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    let other = |name: &str| std::fs::create_dir(temporary.join(name)).unwrap();
    other("others");
    // It was just made: its owner is about to lock it.
    other(".oriole-ptxas-new");
    symlink(slow.path("real"), temporary.join(".oriole-ptxas-link")).unwrap();
    let bench = Bench::new(COPY);
    let run = || {
        let variables = [("TMPDIR", temporary.to_str().unwrap())];
        let done = bench.run(&["k.ptx", "-o", "out"], &variables);
        assert_eq!(done.status.code(), Some(0), "{}", err(&done));
    };
    run();
    assert_eq!(
        names().len(),
        4,
        "the one that runs keeps its own: {:?}",
        names()
    );
    child.kill().unwrap();
    child.wait().unwrap();
    let _ = Command::new("kill").args(["-9", started().trim()]).status();
    assert_eq!(names().len(), 4);
    run();
    let mut left = names();
    left.sort();
    assert_eq!(left, [".oriole-ptxas-link", ".oriole-ptxas-new", "others"]);
    assert!(slow.path("real").join("ptxas").exists());
}

#[test]
fn an_options_file_is_read_as_the_real_one_reads_it() {
    let bench = Bench::new(COPY);
    std::fs::write(bench.path("debug"), "-v -O0").unwrap();
    std::fs::write(bench.path("files"), "\"k.ptx\"\n-o out").unwrap();
    for (arguments, is_optimized) in [
        (&["-optf", "debug", "k.ptx", "-o", "out"][..], false),
        (&["--options-file=debug", "-O3", "k.ptx", "-o", "out"], true),
        (&["--opt-level=00", "k.ptx", "-o", "out"], false),
        (&["-sanitize", "memcheck", "-o", "out", "k.ptx"], true),
    ] {
        let done = bench.run(arguments, &[]);
        assert_eq!(done.status.code(), Some(0), "{}", err(&done));
        let text = bench.output().unwrap();
        assert_eq!(!text.contains("77"), is_optimized, "{arguments:?}");
    }
    std::fs::remove_file(bench.path("out")).unwrap();
    let done = bench.run(&["-optf", "files"], &[]);
    assert_eq!(done.status.code(), Some(0), "{}", err(&done));
    assert!(!bench.output().unwrap().contains("77"));
}
