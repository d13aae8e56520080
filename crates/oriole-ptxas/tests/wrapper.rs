//! `oriole-ptxas` as compilers see it, with scripts in the place of the real `ptxas`.
#![cfg(unix)]

mod common;

use common::{Bench, COPY, PTX, WRAPPER, err};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

#[test]
fn the_real_one_gets_the_optimized_file_and_all_other_arguments() {
    let bench = Bench::new(COPY);
    for arguments in [
        &["-arch=sm_80", "k.ptx", "-o", "out"][..],
        &["--gpu-name", "sm_80", "-o", "out", "k.ptx"],
    ] {
        let output = bench.run(arguments, &[]);
        assert_eq!(output.status.code(), Some(0), "{}", err(&output));
        assert_eq!(output.stdout, b"said\n");
        assert_eq!(err(&output), "complained\n");
        let written = bench.output().unwrap();
        assert!(
            written.contains("st.global") && !written.contains("77"),
            "{written}"
        );
        assert_eq!(bench.others(), [""; 0]);
        std::fs::remove_file(bench.path("out")).unwrap();
    }
}

#[test]
fn variables_turn_it_off_and_set_the_level() {
    let bench = Bench::new(COPY);
    let arguments = ["k.ptx", "-o", "out"];
    for variables in [
        &[("ORIOLE_PTXAS_OFF", "1")][..],
        &[("ORIOLE_PTXAS_LEVEL", "0")],
        &[("ORIOLE_PTXAS_LEVEL", "nonsense")],
    ] {
        let output = bench.run(&arguments, variables);
        assert_eq!(output.status.code(), Some(0));
        assert_eq!(bench.output().unwrap(), PTX, "{variables:?}");
    }
    let said = err(&bench.run(&arguments, &[("ORIOLE_PTXAS_LEVEL", "nonsense")]));
    assert!(said.contains("ORIOLE_PTXAS_LEVEL is `nonsense`"), "{said}");
    for option in ["-g", "-O0"] {
        bench.run(&["k.ptx", "-o", "out", option], &[]);
        assert_eq!(bench.output().unwrap(), PTX, "{option}");
    }
}

#[test]
fn exit_status_and_words_are_those_of_the_real_one() {
    let bench = Bench::new("echo \"$@\"; echo wrong >&2; exit 7\n");
    let output = bench.run(&["--version", "-x y"], &[]);
    assert_eq!(output.status.code(), Some(7));
    assert_eq!(output.stdout, b"--version -x y\n");
    assert_eq!(err(&output), "wrong\n");
    let output = bench.run(&["k.ptx", "-o", "out"], &[]);
    assert_eq!(output.status.code(), Some(7));
    let said = String::from_utf8(output.stdout.clone()).unwrap();
    let is_staged = said.starts_with("k.ptx -o ") && said.contains(".oriole-ptxas-");
    assert!(is_staged, "the original is complained about: {said}");
    assert_eq!(err(&output), "wrong\n");
    let killed = Bench::new("kill -9 $$\n").run(&["k.ptx", "-o", "out"], &[]);
    use std::os::unix::process::ExitStatusExt;
    assert_eq!(killed.status.signal(), Some(9));
}

#[test]
fn what_the_real_one_refuses_is_assembled_as_it_was() {
    let script = format!("grep -q 77 \"$1\" || {{ echo no >&2; exit 255; }}\n{COPY}");
    let bench = Bench::new(&script);
    let report = bench.path("report.jsonl");
    let variables = [("ORIOLE_PTXAS_REPORT", report.to_str().unwrap())];
    let output = bench.run(&["k.ptx", "-o", "out"], &variables);
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    assert_eq!(bench.output().unwrap(), PTX);
    let reported = std::fs::read_to_string(&report).unwrap();
    let error = reported.lines().last().unwrap();
    assert!(
        error.starts_with("{\"error\":\"ptxas does not accept"),
        "{error}"
    );
    let said = err(&output);
    assert!(
        said.starts_with("oriole-ptxas: k.ptx: ptxas does not accept what Oriole made of it"),
        "{said}"
    );
    assert!(!said.contains("no\n"), "{said}");
}

#[test]
fn what_cannot_be_optimized_is_assembled_as_it_was() {
    let bench = Bench::new(COPY);
    let broken = PTX.replace("ret;", "ret");
    std::fs::write(bench.path("k.ptx"), &broken).unwrap();
    let output = bench.run(&["k.ptx", "-o", "out"], &[]);
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(bench.output().unwrap(), broken);
    assert!(
        err(&output).contains("k.ptx: line 12: "),
        "{}",
        err(&output)
    );
    if cfg!(debug_assertions) {
        std::fs::write(bench.path("k.ptx"), PTX).unwrap();
        let output = bench.run(&["k.ptx", "-o", "out"], &[("ORIOLE_PTXAS_PANIC", "1")]);
        assert_eq!(output.status.code(), Some(0));
        assert_eq!(bench.output().unwrap(), PTX);
        let said = err(&output);
        assert!(
            said.contains("Oriole failed, please report it with the file (on purpose)"),
            "{said}"
        );
        assert!(!said.contains("panicked at"), "{said}");
    }
}

#[test]
fn it_never_runs_itself() {
    let bench = Bench::new(COPY);
    let first = bench.path("first");
    std::fs::create_dir(&first).unwrap();
    let copied = bench.path("copied");
    std::fs::create_dir(&copied).unwrap();
    std::os::unix::fs::symlink(WRAPPER, first.join("ptxas")).unwrap();
    std::fs::copy(WRAPPER, copied.join("ptxas")).unwrap();
    let real = bench.real.parent().unwrap();
    let path = std::env::join_paths([
        &first,
        &copied,
        real,
        Path::new("/usr/bin"),
        Path::new("/bin"),
    ])
    .unwrap();
    let run = |program: &Path, path: &std::ffi::OsStr| {
        let mut command = Command::new(program);
        command
            .current_dir(bench.folder.path())
            .env_remove("ORIOLE_REAL_PTXAS")
            .env("ORIOLE_PTXAS_CACHE", "off")
            .env("PATH", path)
            .args(["k.ptx", "-o", "out"]);
        command.output().unwrap()
    };
    for program in [first.join("ptxas"), copied.join("ptxas"), WRAPPER.into()] {
        let output = run(&program, &path);
        assert_eq!(
            output.status.code(),
            Some(0),
            "{}: {}",
            program.display(),
            err(&output)
        );
        assert!(!bench.output().unwrap().contains("77"));
        std::fs::remove_file(bench.path("out")).unwrap();
    }
    let output = bench.run(&["--version"], &[("ORIOLE_REAL_PTXAS", WRAPPER)]);
    assert_eq!(output.status.code(), Some(2));
    assert!(
        err(&output).contains("was run by another oriole-ptxas"),
        "{}",
        err(&output)
    );
}

#[test]
fn xla_runs_it_from_its_data_folder() {
    // XLA runs `bin/ptxas` of the folder that --xla_gpu_cuda_data_dir names, first for its version.
    let script = format!("case $1 in --version) echo 'V13.0.88'; exit;; esac\n{COPY}");
    let bench = Bench::new(&script);
    let data = bench.path("data").join("bin");
    std::fs::create_dir_all(&data).unwrap();
    std::os::unix::fs::symlink(WRAPPER, data.join("ptxas")).unwrap();
    let toolkit = bench.path("toolkit").join("bin");
    std::fs::create_dir_all(&toolkit).unwrap();
    std::fs::copy(&bench.real, toolkit.join("ptxas")).unwrap();
    let system = "/usr/bin:/bin".to_owned();
    let with_data = format!("{}:{system}", data.display());
    // The real one is in a toolkit; the data folder may be on the PATH, or be the toolkit that is named.
    for (path, home) in [
        (&system, &toolkit),
        (&with_data, &toolkit),
        (&format!("{with_data}:{}", toolkit.display()), &data),
    ] {
        let run = |arguments: &[&str]| {
            Command::new(data.join("ptxas"))
                .current_dir(bench.folder.path())
                .env_remove("ORIOLE_REAL_PTXAS")
                .env_remove("CUDA_PATH")
                .env("CUDA_HOME", home.parent().unwrap())
                .env("PATH", path)
                .env("ORIOLE_PTXAS_CACHE", "off")
                .args(arguments)
                .output()
                .unwrap()
        };
        let version = run(&["--version"]);
        assert_eq!(version.stdout, b"V13.0.88\n", "{}", err(&version));
        let output = run(&["k.ptx", "-o", "out", "-arch=sm_90a", "--warn-on-spills"]);
        assert_eq!(output.status.code(), Some(0), "{}", err(&output));
        assert!(!bench.output().unwrap().contains("77"));
        std::fs::remove_file(bench.path("out")).unwrap();
    }
    // With nothing but itself it says so, and does not run itself.
    let alone = Command::new(data.join("ptxas"))
        .current_dir(bench.folder.path())
        .env_remove("ORIOLE_REAL_PTXAS")
        .env_remove("CUDA_PATH")
        .env("CUDA_HOME", data.parent().unwrap())
        .env("PATH", &data)
        .args(["k.ptx", "-o", "out"])
        .output()
        .unwrap();
    if !Path::new("/usr/local/cuda/bin/ptxas").exists() {
        assert_eq!(alone.status.code(), Some(2));
        assert!(err(&alone).contains("there is no ptxas"), "{}", err(&alone));
    }
}

#[test]
fn the_cache_is_used_and_its_damage_noticed() {
    let bench = Bench::new(COPY);
    let arguments = ["k.ptx", "-o", "out"];
    let report = [("ORIOLE_PTXAS_REPORT", "1")];
    let first = err(&bench.run(&arguments, &report));
    assert!(
        first.contains("kernel: 4 PTX instructions, 5 before"),
        "{first}"
    );
    let second = err(&bench.run(&arguments, &report));
    assert!(second.contains("k.ptx: from the cache"), "{second}");
    let optimized = bench.output().unwrap();
    let mut folders = vec![bench.path("cache")];
    while let Some(folder) = folders.pop() {
        for file in std::fs::read_dir(folder).unwrap() {
            let file = file.unwrap().path();
            if file.is_dir() {
                folders.push(file);
                continue;
            }
            let text = std::fs::read_to_string(&file).unwrap();
            std::fs::write(&file, text.replace("st.global", "st.shared")).unwrap();
        }
    }
    let third = err(&bench.run(&arguments, &report));
    assert!(third.contains("5 before"), "{third}");
    assert_eq!(bench.output().unwrap(), optimized);
    // Another level is another entry.
    let other = [("ORIOLE_PTXAS_REPORT", "1"), ("ORIOLE_PTXAS_LEVEL", "3")];
    assert!(err(&bench.run(&arguments, &other)).contains("5 before"));
}

#[test]
fn many_at_once_share_a_cache_and_a_report() {
    let bench = Bench::new(COPY);
    let report = bench.path("report.jsonl");
    let children: Vec<_> = (0..12)
        .map(|number| {
            let mut command = bench.command();
            command
                .args(["k.ptx", "-o", &format!("out{number}")])
                .env("ORIOLE_PTXAS_REPORT", &report)
                .stdout(Stdio::null())
                .stderr(Stdio::null());
            command.spawn().unwrap()
        })
        .collect();
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    for number in 0..12 {
        let text = std::fs::read_to_string(bench.path(&format!("out{number}"))).unwrap();
        assert!(!text.contains("77"));
    }
    let lines = std::fs::read_to_string(&report).unwrap();
    assert_eq!(lines.lines().count(), 12);
    for line in lines.lines() {
        let value: serde_json::Value = serde_json::from_str(line).unwrap();
        assert_eq!(value["file"], "k.ptx");
    }
}

/// Whether a process is there, and no zombie that nobody waits for.
fn is_running(process: u32) -> bool {
    let shown = Command::new("ps")
        .args(["-o", "stat=", "-p", &process.to_string()])
        .output();
    let state = shown.map(|shown| String::from_utf8_lossy(&shown.stdout).trim().to_owned());
    state.is_ok_and(|state| !state.is_empty() && !state.starts_with('Z'))
}

fn wait_for(what: &dyn Fn() -> bool) {
    let start = Instant::now();
    while !what() {
        assert!(
            start.elapsed() < Duration::from_secs(20),
            "it never happens"
        );
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn killed_it_leaves_no_part_of_an_output() {
    // Writes half of the output, says so, and takes its time.
    let script = "while [ $# -gt 1 ]; do case $1 in -o) out=$2;; esac; shift; done\n\
        echo half > \"$out\"; echo $$ > started; sleep 30 & wait\necho whole > \"$out\"\n";
    // Whether there is something to optimize or not.
    let other = PTX.replace("add.s32 %r2, %r1, 77;\n", "");
    for (signal, text) in [("TERM", PTX), ("KILL", PTX), ("TERM", &other)] {
        let bench = Bench::new(script);
        std::fs::write(bench.path("out"), "before").unwrap();
        std::fs::write(bench.path("k.ptx"), text).unwrap();
        let mut command = bench.command();
        command
            .args(["k.ptx", "-o", "out", "-v"])
            .stderr(Stdio::null())
            .stdout(Stdio::null());
        let mut child = command.spawn().unwrap();
        let started = || {
            std::fs::read_to_string(bench.path("started"))
                .ok()
                .and_then(|text| text.trim().parse::<u32>().ok())
        };
        wait_for(&|| started().is_some());
        let kill = |signal: &str, process: u32| {
            let option = format!("-{signal}");
            Command::new("kill")
                .args([&option, &process.to_string()])
                .stderr(Stdio::null())
                .status()
                .unwrap()
        };
        assert!(kill(signal, child.id()).success());
        assert!(!child.wait().unwrap().success());
        assert_eq!(bench.output().as_deref(), Some("before"), "{signal}");
        let script = started().unwrap();
        if signal == "TERM" {
            // What it ran has ended with it, and nothing temporary is left.
            wait_for(&|| !is_running(script));
            let left: Vec<String> = bench
                .others()
                .into_iter()
                .filter(|name| name != "started")
                .collect();
            assert_eq!(left, [""; 0]);
        } else {
            kill("KILL", script);
        }
    }
}

#[test]
fn what_fails_leaves_no_part_of_an_output() {
    let script = "while [ $# -gt 1 ]; do case $1 in -o) out=$2;; esac; shift; done\necho half > \"$out\"; exit 255\n";
    let bench = Bench::new(script);
    let output = bench.run(&["k.ptx", "-o", "out", "-v"], &[]);
    assert_eq!(output.status.code(), Some(255));
    assert_eq!(bench.output(), None);
    assert_eq!(bench.others(), [""; 0]);
}

#[test]
fn without_a_real_one_it_says_so() {
    let bench = Bench::new(COPY);
    let run = |arguments: &[&str]| {
        Command::new(WRAPPER)
            .current_dir(bench.folder.path())
            .env_clear()
            .env("CUDA_HOME", "/nowhere")
            .args(arguments)
            .output()
            .unwrap()
    };
    if !Path::new("/usr/local/cuda/bin/ptxas").exists() {
        let output = run(&["k.ptx", "-o", "out"]);
        assert_eq!(output.status.code(), Some(2));
        assert!(err(&output).contains("there is no ptxas: set ORIOLE_REAL_PTXAS"));
        for arguments in [&["--version"][..], &["-V"], &["k.ptx", "-V"]] {
            let output = run(arguments);
            assert_eq!(output.status.code(), Some(0), "{arguments:?}");
            let said = String::from_utf8(output.stdout).unwrap();
            let version = format!("oriole-ptxas {}\n", env!("CARGO_PKG_VERSION"));
            assert!(said.starts_with(&version), "{said}");
            assert!(said.contains("set ORIOLE_REAL_PTXAS"), "{said}");
            // Triton takes what follows the word for the version of ptxas.
            assert!(!said.contains("release"), "{said}");
        }
    }
    let output = bench.run(&["--version"], &[("ORIOLE_REAL_PTXAS", "/nowhere/ptxas")]);
    assert_eq!(output.status.code(), Some(2));
    assert!(
        err(&output).contains("`/nowhere/ptxas`: No such file"),
        "{}",
        err(&output)
    );
}
