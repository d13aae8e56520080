//! Kernels without a mistake, of which `oriole run --check` may say nothing, and mistakes in them that it must name.
//!
//! A kernel of `tests/legal` starts with `//! run:` and the options of its launch. Each `//! mistake: KIND: TEXT => OTHER` replaces some
//! text of it, after which a finding of that kind is due. The real `ptxas` assembles all kernels, where there is one.

#![allow(clippy::print_stderr)]

mod common;

use common::{err, oriole};
use std::path::{Path, PathBuf};
use std::process::Command;

struct Kernel {
    path: PathBuf,
    name: String,
    text: String,
}

impl Kernel {
    fn header(&self, key: &str) -> impl Iterator<Item = &str> {
        let start = format!("//! {key}: ");
        self.text
            .lines()
            .filter_map(move |line| line.strip_prefix(&start))
    }

    /// The exit status and the messages of a run of another file with these options and all checks.
    fn check(&self, path: &Path) -> (Option<i32>, String) {
        let options = self.header("run").next().expect("a `//! run:` line");
        let mut arguments = vec!["run", "--fail-on", "all", path.to_str().expect("UTF-8")];
        arguments.extend(options.split(' '));
        let output = oriole(&arguments);
        (output.status.code(), err(&output))
    }
}

fn kernels() -> Vec<Kernel> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/legal");
    let entries = std::fs::read_dir(folder).expect("the folder is there");
    let mut paths: Vec<PathBuf> = entries
        .map(|entry| entry.expect("it can be read").path())
        .collect();
    paths.sort();
    assert!(paths.len() >= 100, "{} kernels", paths.len());
    paths
        .into_iter()
        .map(|path| Kernel {
            name: path.file_stem().expect("a name").display().to_string(),
            text: std::fs::read_to_string(&path).expect("it can be read"),
            path,
        })
        .collect()
}

#[test]
fn nothing_is_said_of_legal_kernels() {
    let mut wrong = String::new();
    for kernel in kernels() {
        let (status, said) = kernel.check(&kernel.path);
        if status != Some(0) || said.contains("note[") {
            wrong += &format!("{}: status {status:?}\n{said}\n", kernel.name);
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
fn mistakes_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let (mut wrong, mut count) = (String::new(), 0);
    for kernel in kernels() {
        for mistake in kernel.header("mistake") {
            let (kind, change) = mistake.split_once(": ").expect("a kind");
            let (from, to) = change.split_once(" =>").expect("a replacement");
            let code = kernel.text.find(".version").expect("a `.version` line");
            let (header, code) = kernel.text.split_at(code);
            assert!(code.contains(from), "{}: {mistake}", kernel.name);
            let path = folder.path().join(format!("{}.ptx", kernel.name));
            std::fs::write(&path, format!("{header}{}", code.replace(from, to.trim()))).unwrap();
            let (status, said) = kernel.check(&path);
            if status != Some(1) || !said.contains(&format!("warning[{kind}]")) {
                wrong += &format!("{}: {mistake}: status {status:?}\n{said}\n", kernel.name);
            }
            count += 1;
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
    assert!(count >= 60, "{count} mistakes");
}

#[test]
fn ptxas_takes_legal_kernels() {
    let Some(ptxas) = oriole_toolchain::ptxas() else {
        assert!(
            !oriole_toolchain::is_required(),
            "there is no ptxas, and ORIOLE_REQUIRE_PTXAS asks for one"
        );
        eprintln!("\n!!! SKIPPED: no ptxas found: legal kernels are not assembled.\n");
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    for kernel in kernels() {
        let target = kernel
            .text
            .lines()
            .find_map(|line| line.strip_prefix(".target "))
            .expect("a `.target` line");
        let output = Command::new(&ptxas)
            .args(["-arch", target, "-O0", "-o"])
            .arg(folder.path().join("out"))
            .arg(&kernel.path)
            .output()
            .expect("ptxas runs");
        assert!(output.status.success(), "{}: {}", kernel.name, err(&output));
    }
}
