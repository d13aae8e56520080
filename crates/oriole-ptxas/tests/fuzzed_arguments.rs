//! Command lines at random: `oriole-ptxas` ends as the real `ptxas` does, writes the same files, and complains in the same words.
//!
//! The options are those that `ptxas --help` lists. `ORIOLE_ARGUMENTS=N` tries so many command lines, `ORIOLE_SEED` others.
#![cfg(unix)]
// A test that does not run says so.
#![allow(clippy::print_stderr)]

mod common;

use common::{PTX, WRAPPER};
use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};

const VALUES: [&str; 34] = [
    "",
    "0",
    "00",
    "1",
    "3",
    "-1",
    "+0",
    "0x0",
    "08",
    "9",
    "4294967296",
    " 0",
    "1k",
    "64",
    "32",
    "255",
    "sm_80",
    "sm_90a",
    "sm_10",
    "compute_80",
    "true",
    "false",
    "memcheck",
    "threadsteer",
    "max",
    "min",
    "ca",
    "kernel",
    "1,2",
    "out",
    "a=b",
    "k.ptx",
    "-v",
    "archmax",
];
const FILES: [(&str, &str); 9] = [
    ("k.ptx", PTX),
    ("level.opt", "-O0"),
    ("several.opt", "-v\t-O=00\r\n-o made"),
    ("quoted.opt", "\"-o\" \"a b\" -m\"64\""),
    ("nested.opt", "-optf level.opt -w"),
    ("endless.opt", "-optf endless.opt"),
    ("open.opt", "-o"),
    ("input.opt", "k.ptx"),
    ("escaped.opt", "-o o\\ut"),
];
const WORDS: [&str; 14] = [
    "missing.ptx",
    "/dev/stdin",
    "-",
    "--",
    "-=",
    "---v",
    "-oout",
    "-vv",
    "--Version",
    "-arch=sm_80",
    "-O0",
    "-m64",
    "level.opt",
    " -v",
];

/// Options that `ptxas` accepts, each with values that it accepts.
const ACCEPTED: [(&str, &[&str]); 16] = [
    (
        "-O",
        &["", "0", "00", "1", "=", "=-1", "=0x0", "+3", "= 2", "=010"],
    ),
    ("--opt-level", &["=", "=00", "=3", " 0", " +1", " -0"]),
    ("-m", &["64", "=64", " 64"]),
    ("-arch", &["=sm_80", " sm_90a", "=compute_80"]),
    ("--gpu-name", &["=sm_75", " sm_86"]),
    ("-o", &["=out", " out", " a=b", "=a=b", " -v", " k.ptx"]),
    ("--output-file", &["=out", " other"]),
    ("-sanitize", &["=memcheck", " memcheck", " threadsteer"]),
    ("-Ofc", &["=max", " min", " 0"]),
    ("-fmad", &["=false", " true"]),
    ("-e", &["=kernel", " kernel"]),
    ("-maxrregcount", &["=32", " archmax", " 255"]),
    ("-dlcm", &["=ca", " cg"]),
    ("-regUsageLevel", &["=3", " 10"]),
    ("-v", &["", ""]),
    ("-w", &[""]),
];

struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) % bound as u64) as usize
    }

    fn one<'a>(&mut self, of: &[&'a str]) -> &'a str {
        of[self.below(of.len())]
    }
}

/// The spellings of options, as the help lists them: long and short.
fn options(help: &str) -> Vec<String> {
    let lines = help.lines().filter(|line| line.starts_with("--"));
    lines
        .flat_map(|line| {
            let long = line.split_whitespace().next();
            let short = line
                .rsplit('(')
                .next()
                .and_then(|rest| rest.split(')').next());
            [long, short].into_iter().flatten().map(str::to_owned)
        })
        .collect()
}

fn line(random: &mut Random, options: &[String]) -> Vec<String> {
    let mut line = Vec::new();
    for _ in 0..1 + random.below(4) {
        let kind = random.below(12);
        if kind == 0 {
            line.push(random.one(&WORDS).to_owned());
            continue;
        }
        if kind == 1 {
            line.push(random.one(&["-optf", "--options-file"]).to_owned());
            let (one, other) = (random.below(FILES.len()), random.below(FILES.len()));
            line.push(match random.below(4) {
                0 => format!("{},{}", FILES[one].0, FILES[other].0),
                _ => FILES[one].0.to_owned(),
            });
            continue;
        }
        if random.below(5) > 0 {
            let (option, values) = ACCEPTED[random.below(ACCEPTED.len())];
            let value = random.one(values);
            match value.strip_prefix(' ') {
                Some(value) => line.extend([option.to_owned(), value.to_owned()]),
                None => line.push(format!("{option}{value}")),
            }
            continue;
        }
        let mut option = options[random.below(options.len())].clone();
        let is_information = [
            "-h",
            "--help",
            "-V",
            "--version",
            "-version-ls",
            "--list-version",
        ];
        if is_information.contains(&option.as_str()) && random.below(8) > 0 {
            option = random
                .one(&["-O", "--opt-level", "-m", "-o", "-arch"])
                .to_owned();
        }
        let value = random.one(&VALUES);
        match random.below(8) {
            0 => line.push(option),
            1 => line.push(option + value),
            2..5 => line.push(format!("{option}={value}")),
            _ => line.extend([option, value.to_owned()]),
        }
    }
    if random.below(10) > 0 {
        line.insert(random.below(line.len() + 1), "k.ptx".to_owned());
    }
    line
}

/// The end of a run, its messages, and the files that it leaves.
fn run(program: &Path, real: &Path, line: &[String]) -> (Output, BTreeMap<String, bool>) {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in FILES {
        std::fs::write(folder.path().join(name), text.replace("sm_80", "sm_75")).unwrap();
    }
    let mut child = Command::new(program)
        .current_dir(folder.path())
        .env("ORIOLE_REAL_PTXAS", real)
        .env("ORIOLE_PTXAS_CACHE", "off")
        .args(line)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // A program that does not read it closes it.
    let _ = child
        .stdin
        .take()
        .unwrap()
        .write_all(PTX.replace("sm_80", "sm_75").as_bytes());
    let output = child.wait_with_output().unwrap();
    let entries = std::fs::read_dir(folder.path()).unwrap();
    let files = entries.map(|entry| {
        let entry = entry.unwrap();
        let name = entry.file_name().into_string().unwrap();
        let is_elf = std::fs::read(entry.path()).is_ok_and(|bytes| bytes.starts_with(b"\x7fELF"));
        (name, is_elf)
    });
    (output, files.collect())
}

#[test]
fn command_lines_at_random_end_as_with_the_real_one() {
    let Some(real) = oriole_toolchain::ptxas() else {
        assert!(!oriole_toolchain::is_required(), "ptxas is required");
        eprintln!("NOT RUN: there is no ptxas");
        return;
    };
    let number = |name: &str, otherwise: u64| {
        let given = std::env::var(name).ok();
        given.map_or(otherwise, |text| text.parse().expect("a number"))
    };
    let count = number("ORIOLE_ARGUMENTS", 120);
    let mut random = Random(number("ORIOLE_SEED", 1));
    let help = Command::new(&real).arg("--help").output().unwrap();
    let options = options(&String::from_utf8_lossy(&help.stdout));
    assert!(options.len() > 80, "{options:?}");
    let mut accepted = 0;
    for _ in 0..count {
        let line = line(&mut random, &options);
        let (other, other_files) = run(&real, &real, &line);
        let (own, own_files) = run(Path::new(WRAPPER), &real, &line);
        let said = |output: &Output| String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(
            own.status,
            other.status,
            "{line:?}\n{}\n{}",
            said(&own),
            said(&other)
        );
        assert_eq!(own_files, other_files, "{line:?}\n{}", said(&own));
        accepted += u64::from(other.status.success());
        // Temporary files have names by chance.
        if line.iter().any(|word| word == "-") {
            continue;
        }
        if other.status.success() {
            let warnings = |said: String| {
                let lines = said.lines().filter(|line| line.contains("warning"));
                lines.map(str::to_owned).collect::<Vec<_>>()
            };
            assert_eq!(warnings(said(&own)), warnings(said(&other)), "{line:?}");
        } else {
            assert_eq!(said(&own), said(&other), "{line:?}");
        }
    }
    assert!(accepted > count / 10 && accepted < count, "{accepted}");
}
