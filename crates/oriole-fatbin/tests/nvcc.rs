//! What `nvcc` writes, with `cuobjdump` as the judge of what is in it.

// A test that does not run says so.
#![allow(clippy::print_stderr)]

use oriole_fatbin::images;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

const SOURCE: &str = "__global__ void add(float *a, const float *b, int n) {\n\
    int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) a[i] += b[i];\n}\n\
    __global__ void twice(float *a) { a[threadIdx.x] *= 2.0f; }\n";

struct Tools {
    nvcc: PathBuf,
    cuobjdump: PathBuf,
}

fn tools() -> Option<Tools> {
    let ptxas = oriole_toolchain::ptxas();
    let nvcc = oriole_toolchain::working_nvcc(ptxas.as_deref());
    let cuobjdump = oriole_toolchain::beside("cuobjdump", ptxas.as_deref());
    // What CI installs of the toolkit has no compiler.
    let found = nvcc.zip(cuobjdump);
    if found.is_none() {
        eprintln!("NOT RUN: there is no nvcc that compiles or no cuobjdump");
    }
    found.map(|(nvcc, cuobjdump)| Tools { nvcc, cuobjdump })
}

impl Tools {
    fn compile(&self, folder: &Path, output: &str, arguments: &[&str]) -> PathBuf {
        let output = folder.join(output);
        let done = Command::new(&self.nvcc)
            .current_dir(folder)
            .args(arguments)
            .args(["k.cu", "-o"])
            .arg(&output)
            .output()
            .unwrap();
        assert!(
            done.status.success(),
            "{arguments:?}: {}",
            String::from_utf8_lossy(&done.stderr)
        );
        output
    }

    /// What `cuobjdump -xptx all` writes.
    fn judged(&self, folder: &Path, file: &Path) -> BTreeSet<String> {
        let into = folder.join(format!("{}.judged", file.file_name().unwrap().display()));
        std::fs::create_dir(&into).unwrap();
        let done = Command::new(&self.cuobjdump)
            .current_dir(&into)
            .args(["-xptx", "all"])
            .arg(file)
            .output()
            .unwrap();
        assert!(
            done.status.success(),
            "{}",
            String::from_utf8_lossy(&done.stdout)
        );
        let files = std::fs::read_dir(&into).unwrap();
        files
            .map(|entry| {
                std::fs::read_to_string(entry.unwrap().path())
                    .unwrap()
                    .trim_end()
                    .to_owned()
            })
            .collect()
    }
}

#[test]
fn all_that_cuobjdump_extracts_is_extracted() {
    let Some(tools) = tools() else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    std::fs::write(folder.join("k.cu"), SOURCE).unwrap();
    let both = [
        "-gencode",
        "arch=compute_80,code=[sm_80,compute_80]",
        "-gencode",
        "arch=compute_90a,code=compute_90a",
    ];
    let mut files = Vec::new();
    for mode in ["default", "size", "speed", "balance", "none"] {
        let option = format!("--compress-mode={mode}");
        let mut arguments = vec!["-fatbin", &option];
        arguments.extend(both);
        files.push(tools.compile(folder, &format!("{mode}.fatbin"), &arguments));
    }
    files.push(tools.compile(folder, "debug.fatbin", &["-fatbin", "-G", "-arch=sm_80"]));
    files.push(tools.compile(folder, "k.o", &[&["-c"], &both[..]].concat()));
    files.push(tools.compile(folder, "rdc.o", &[&["-dc"], &both[..]].concat()));
    files.push(tools.compile(folder, "k.a", &[&["-lib"], &both[..]].concat()));
    let shared = ["-shared", "-Xcompiler", "-fPIC", "-cudart", "none"];
    files.push(tools.compile(folder, "k.so", &[&shared[..], &both[..]].concat()));
    for file in &files {
        let bytes = std::fs::read(file).unwrap();
        let found = images(&bytes).unwrap();
        let texts: BTreeSet<String> = found
            .iter()
            .map(|image| image.text().unwrap().trim_end().to_owned())
            .collect();
        let judged = tools.judged(folder, file);
        assert!(!judged.is_empty(), "{}", file.display());
        assert!(texts == judged, "{}", file.display());
        assert!(
            found
                .iter()
                .all(|image| image.architecture().starts_with("sm_"))
        );
    }
    // Of a cubin it extracts nothing; there is the text for debuggers.
    let cubin = tools.compile(folder, "k.cubin", &["-cubin", "-lineinfo", "-arch=sm_80"]);
    let bytes = std::fs::read(cubin).unwrap();
    let text = images(&bytes).unwrap()[0].text().unwrap();
    assert!(
        text.contains(".visible .entry") && text.contains(".target sm_80"),
        "{text}"
    );
}
