//! `oriole-ptxas` with the real `ptxas`, and under `nvcc`.
#![cfg(unix)]
// A test that does not run says so.
#![allow(clippy::print_stderr)]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const WRAPPER: &str = env!("CARGO_BIN_EXE_oriole-ptxas");

fn ptxas() -> Option<PathBuf> {
    let found = oriole_toolchain::ptxas();
    assert!(
        found.is_some() || !oriole_toolchain::is_required(),
        "ptxas is required"
    );
    if found.is_none() {
        eprintln!("NOT RUN: there is no ptxas");
    }
    found
}

fn wrapped(real: &Path, folder: &Path, arguments: &[&str]) -> Output {
    Command::new(WRAPPER)
        .current_dir(folder)
        .env("ORIOLE_REAL_PTXAS", real)
        .env("ORIOLE_PTXAS_CACHE", folder.join("cache"))
        .args(arguments)
        .output()
        .unwrap()
}

fn corpus(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../tests/corpus/ptx")
        .join(name)
}

#[test]
fn versions_and_help_are_those_of_the_real_one() {
    let Some(real) = ptxas() else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    for arguments in [
        &["--version"][..],
        &["--help"],
        &[],
        &["--no-such-option"],
        &["missing.ptx"],
    ] {
        let own = wrapped(&real, folder.path(), arguments);
        let other = Command::new(&real)
            .current_dir(folder.path())
            .args(arguments)
            .output()
            .unwrap();
        assert_eq!(own.status, other.status, "{arguments:?}");
        assert_eq!(own.stdout, other.stdout, "{arguments:?}");
        assert_eq!(own.stderr, other.stderr, "{arguments:?}");
    }
}

#[test]
fn what_cannot_be_read_again_ends_as_with_the_real_one() {
    let Some(real) = ptxas() else {
        return;
    };
    let text = std::fs::read_to_string(corpus("nvcc/saxpy.O3.sm_80.ptx")).unwrap();
    let broken = text.replace("ret;", "no such instruction;");
    for (text, is_fine) in [(&text, true), (&broken, false), (&String::new(), false)] {
        for script in [
            "cat | \"$1\" -arch=sm_80 /dev/stdin -o out",
            "cat | \"$1\" -arch=sm_80 -O0 /dev/stdin -o out",
            "\"$1\" -arch=sm_80 <(cat) -o out",
        ] {
            let run = |program: &Path| {
                let folder = tempfile::tempdir().unwrap();
                std::fs::write(folder.path().join("given"), text).unwrap();
                let script = format!("exec < given; {script}");
                let output = Command::new("bash")
                    .args(["-c", &script, "bash"])
                    .arg(program)
                    .current_dir(folder.path())
                    .env("ORIOLE_REAL_PTXAS", &real)
                    .env("ORIOLE_PTXAS_CACHE", "off")
                    .output()
                    .unwrap();
                (output, folder.path().join("out").exists())
            };
            let (mut own, other) = (run(Path::new(WRAPPER)), run(&real));
            // It says on a line of its own what it cannot optimize.
            let said = String::from_utf8(own.0.stderr).unwrap();
            let lines = said.split_inclusive('\n');
            let lines = lines.filter(|line| !line.starts_with("oriole-ptxas: "));
            own.0.stderr = lines.collect::<String>().into_bytes();
            assert_eq!(other.0.status.success(), is_fine, "{script}");
            assert_eq!(own, other, "{script}");
        }
    }
}

#[test]
fn the_cubin_is_that_of_the_optimized_file() {
    let Some(real) = ptxas() else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    for name in [
        "nvcc/sgemm_blocked.lineinfo.sm_80.ptx",
        "triton/flash_attention.sm_80.ptx",
    ] {
        let text = std::fs::read_to_string(corpus(name)).unwrap();
        let mut module = oriole::parse(name, text.as_str()).unwrap();
        oriole::optimize(&mut module, &oriole::Options::default()).unwrap();
        // In folders of their own: the name of the file is in the cubin.
        let (given, made) = (folder.join("given"), folder.join("made"));
        for (own, text) in [(&given, &text), (&made, &oriole::print(&module))] {
            std::fs::create_dir_all(own).unwrap();
            std::fs::write(own.join("k.ptx"), text).unwrap();
        }
        let arguments = ["-v", "--gpu-name=sm_80", "k.ptx", "-o", "k.cubin"];
        let output = wrapped(&real, &given, &arguments);
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        assert!(String::from_utf8_lossy(&output.stderr).contains("ptxas info    : Used "));
        let direct = Command::new(&real)
            .current_dir(&made)
            .args(arguments)
            .output()
            .unwrap();
        assert!(direct.status.success());
        let code = |folder: &Path| without_paths(&std::fs::read(folder.join("k.cubin")).unwrap());
        assert!(code(&given) == code(&made), "{name}");
    }
}

#[test]
fn compared_no_kernel_takes_more_registers() {
    let Some(real) = ptxas() else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let file = corpus("nvcc/attention.O3.sm_80.ptx");
    let registers = |compare: &str, off: &str| {
        let output = Command::new(WRAPPER)
            .current_dir(folder.path())
            .env("ORIOLE_REAL_PTXAS", &real)
            .env("ORIOLE_PTXAS_CACHE", folder.path().join("cache"))
            .env("ORIOLE_PTXAS_COMPARE", compare)
            .env("ORIOLE_PTXAS_OFF", off)
            .args(["-v", "-arch", "sm_90"])
            .arg(&file)
            .args(["-o", "k.cubin"])
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{said}");
        let used = said.split("Used ").skip(1);
        let used: Vec<u32> = used
            .map(|rest| rest.split(' ').next().unwrap().parse().unwrap())
            .collect();
        assert_eq!(used.len(), 2, "{said}");
        used
    };
    let (original, optimized) = (registers("0", "1"), registers("0", "0"));
    assert!(
        original.iter().zip(&optimized).any(|(a, b)| b > &(a + 4)),
        "{original:?} and {optimized:?}: choose another kernel"
    );
    // The second time the cache has it.
    for _ in 0..2 {
        let compared = registers("1", "0");
        assert!(
            original.iter().zip(&compared).all(|(a, b)| b <= &(a + 4)),
            "{original:?} and {compared:?}"
        );
        assert_ne!(original, compared, "what is better stays");
    }
}

/// The bytes of a cubin without the arguments and paths that are noted in it.
fn without_paths(cubin: &[u8]) -> Vec<u8> {
    let start = cubin.windows(6).position(|window| window == b".text.");
    assert!(start.is_some(), "it has code");
    let mut cubin = cubin.to_vec();
    // Paths of temporary files are of no matter.
    for part in [&b"-o "[..], b"/tmp/"] {
        while let Some(at) = cubin.windows(part.len()).position(|window| window == part) {
            let end = cubin[at..]
                .iter()
                .position(|&byte| byte == 0)
                .map_or(cubin.len(), |end| at + end);
            cubin[at..end].fill(0);
        }
    }
    cubin
}

#[test]
fn nvcc_compiles_through_it() {
    let Some(real) = ptxas() else {
        return;
    };
    let Some(nvcc) = oriole_toolchain::working_nvcc(Some(&real)) else {
        eprintln!("NOT RUN: there is no nvcc that compiles");
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    // nvcc runs the ptxas beside it: a toolkit of links, in which that one is ours.
    let toolkit = nvcc
        .canonicalize()
        .unwrap()
        .parent()
        .unwrap()
        .parent()
        .unwrap()
        .to_owned();
    let shadow = folder.join("toolkit");
    let link = |from: &Path, to: &Path| std::os::unix::fs::symlink(from, to).unwrap();
    std::fs::create_dir_all(shadow.join("bin")).unwrap();
    for entry in std::fs::read_dir(&toolkit).unwrap() {
        let entry = entry.unwrap();
        if entry.file_name() != "bin" {
            link(&entry.path(), &shadow.join(entry.file_name()));
        }
    }
    for entry in std::fs::read_dir(toolkit.join("bin")).unwrap() {
        let entry = entry.unwrap();
        let to = shadow.join("bin").join(entry.file_name());
        match entry.file_name() == "ptxas" {
            true => link(Path::new(WRAPPER), &to),
            false => link(&entry.path(), &to),
        }
    }
    std::fs::write(
        folder.join("k.cu"),
        "__global__ void k(float *a, int n) { int i = threadIdx.x; for (int j = 0; j < n; j++) a[i * n + j] *= 2.0f; }\n",
    )
    .unwrap();
    let report = folder.join("report.jsonl");
    let output = Command::new(shadow.join("bin/nvcc"))
        .current_dir(folder)
        .env("ORIOLE_REAL_PTXAS", &real)
        .env("ORIOLE_PTXAS_CACHE", "off")
        .env("ORIOLE_PTXAS_REPORT", &report)
        .args(["-arch=sm_80", "-cubin", "k.cu", "-o", "k.cubin"])
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let cubin = std::fs::read(folder.join("k.cubin")).unwrap();
    assert!(cubin.starts_with(b"\x7fELF"));
    let said = std::fs::read_to_string(&report).unwrap();
    assert_eq!(said.lines().count(), 1, "{said}");
    assert!(said.contains("_Z1kPfi"), "{said}");
}

/// A clang on the `PATH` that compiles for NVIDIA's GPUs.
fn clang() -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let versions = (14..=24).rev().map(|version| format!("clang-{version}"));
    let names: Vec<String> = ["clang".to_owned()].into_iter().chain(versions).collect();
    let candidates = std::env::split_paths(&path)
        .flat_map(|folder| names.iter().map(move |name| folder.join(name)));
    let mut found = candidates.filter(|candidate| candidate.is_file());
    found.find(|clang| {
        let targets = Command::new(clang).arg("--print-targets").output();
        targets.is_ok_and(|own| String::from_utf8_lossy(&own.stdout).contains("nvptx64"))
    })
}

#[test]
fn clang_compiles_through_it() {
    let Some(real) = ptxas() else {
        return;
    };
    let Some(clang) = clang() else {
        eprintln!("NOT RUN: there is no clang that compiles for GPUs");
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    // Without the headers of a toolkit.
    std::fs::write(
        folder.join("k.cu"),
        "extern \"C\" __attribute__((global)) void k(float *a, int n) {\n\
         int i = __nvvm_read_ptx_sreg_tid_x(); for (int j = 0; j < n; j++) a[i * n + j] *= 2.0f; }\n",
    )
    .unwrap();
    let report = folder.join("report.jsonl");
    let output = Command::new(clang)
        .current_dir(folder)
        .env("ORIOLE_REAL_PTXAS", &real)
        .env("ORIOLE_PTXAS_CACHE", "off")
        .env("ORIOLE_PTXAS_REPORT", &report)
        .args(["-x", "cuda", "--cuda-device-only", "--cuda-gpu-arch=sm_80"])
        .args(["-nocudainc", "-nocudalib", "-O2", "-c", "k.cu", "-o"])
        .arg("k.cubin")
        .arg(format!("--ptxas-path={WRAPPER}"))
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    let cubin = std::fs::read(folder.join("k.cubin")).unwrap();
    assert!(cubin.starts_with(b"\x7fELF"));
    let said = std::fs::read_to_string(&report).unwrap();
    assert!(said.contains("\"name\":\"k\""), "{said}");
}
