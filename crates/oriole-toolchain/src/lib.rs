//! Where the programs of the CUDA toolkit are: the one place that looks for them, for the libraries, the commands and the tests.
//!
//! | program | where, in this order |
//! |---|---|
//! | `ptxas` | `ORIOLE_PTXAS`, `PTXAS`, the `PATH` |
//! | `nvcc` | `ORIOLE_NVCC`, `NVCC`, the `PATH`, `CUDA_HOME`, `CUDA_PATH`, `/usr/local/cuda` |
//! | others (`nvdisasm`, `cuobjdump`) | `ORIOLE_` and the name, beside `ptxas`, the `PATH` |
//! | `ptxas` behind `oriole-ptxas` | `ORIOLE_REAL_PTXAS`, the `PATH` behind and before the wrapper, `CUDA_HOME`, `CUDA_PATH`, `/usr/local/cuda` |
//!
//! A file that a variable names is taken whether it is there or not, so that a wrong variable is noticed. `oriole-ptxas`, which
//! takes the place of `ptxas` on a `PATH`, is never found as `ptxas`.
//!
//! Tests that need one of these fail without it if [`is_required`]; otherwise they say loudly that they did not run.

#![forbid(unsafe_code)]

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// The name of the program that takes the place of `ptxas`.
pub const WRAPPER: &str = "oriole-ptxas";

/// The assembler.
pub fn ptxas() -> Option<PathBuf> {
    named(&["ORIOLE_PTXAS", "PTXAS"]).or_else(|| {
        on_path()
            .find(|folder| is_program(folder, "ptxas", None))
            .map(|folder| program(&folder, "ptxas"))
    })
}

/// The compiler.
pub fn nvcc() -> Option<PathBuf> {
    named(&["ORIOLE_NVCC", "NVCC"]).or_else(|| {
        on_path()
            .chain(toolkits())
            .find(|folder| is_program(folder, "nvcc", None))
            .map(|folder| program(&folder, "nvcc"))
    })
}

/// Another program, such as `nvdisasm`, that goes with an assembler.
pub fn beside(name: &str, ptxas: Option<&Path>) -> Option<PathBuf> {
    let variable = format!("ORIOLE_{}", name.to_uppercase());
    named(&[&variable]).or_else(|| {
        ptxas
            .and_then(Path::parent)
            .map(Path::to_owned)
            .into_iter()
            .chain(on_path())
            .find(|folder| is_program(folder, name, None))
            .map(|folder| program(&folder, name))
    })
}

/// The compiler that goes with an assembler, if it compiles: it may be there without its headers, or without a host compiler.
pub fn working_nvcc(ptxas: Option<&Path>) -> Option<PathBuf> {
    let nvcc = beside("nvcc", ptxas)?;
    let name = format!("oriole-probe-{}", std::process::id());
    let source = std::env::temp_dir().join(name).with_extension("cu");
    std::fs::write(&source, "__global__ void probe() {}\n").ok()?;
    let output = source.with_extension("ptx");
    let mut command = std::process::Command::new(&nvcc);
    command.args(["-ptx", "-arch=sm_90", "-o"]).arg(&output);
    let done = command.arg(&source).output();
    for file in [&source, &output] {
        // What is not there need not go.
        let _ = std::fs::remove_file(file);
    }
    done.is_ok_and(|done| done.status.success()).then_some(nvcc)
}

/// The disassembler that goes with an assembler.
pub fn nvdisasm(ptxas: Option<&Path>) -> Option<PathBuf> {
    beside("nvdisasm", ptxas)
}

/// The assembler that a wrapper, which is the program `own`, is to run: never the wrapper itself, nor a copy of it or a link to it.
pub fn real_ptxas(own: Option<&Path>) -> Option<PathBuf> {
    named(&["ORIOLE_REAL_PTXAS"]).or_else(|| {
        let folders: Vec<PathBuf> = on_path().collect();
        // Who puts a wrapper on the PATH means what comes behind it; but one may also be called by its own path.
        let own_place = folders
            .iter()
            .position(|folder| own.is_some_and(|own| is_same(&program(folder, "ptxas"), own)));
        let (before, behind) = folders.split_at(own_place.map_or(0, |place| place + 1));
        behind
            .iter()
            .chain(before)
            .cloned()
            .chain(toolkits())
            .find(|folder| is_program(folder, "ptxas", own))
            .map(|folder| program(&folder, "ptxas"))
    })
}

/// Whether tests that need these programs fail without them.
pub fn is_required() -> bool {
    std::env::var_os("ORIOLE_REQUIRE_PTXAS").is_some_and(|value| value == "1")
}

/// The first variable that is set to something.
fn named(variables: &[&str]) -> Option<PathBuf> {
    let set = variables.iter().filter_map(std::env::var_os);
    set.map(PathBuf::from)
        .find(|value| !value.as_os_str().is_empty())
}

/// The folders of the `PATH`.
fn on_path() -> impl Iterator<Item = PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
    folders
        .into_iter()
        .filter(|folder| !folder.as_os_str().is_empty())
}

/// The folders with programs of toolkits that are installed elsewhere.
fn toolkits() -> impl Iterator<Item = PathBuf> {
    let homes = ["CUDA_HOME", "CUDA_PATH"]
        .into_iter()
        .filter_map(std::env::var_os);
    homes
        .map(PathBuf::from)
        .chain([PathBuf::from("/usr/local/cuda")])
        .filter(|home| !home.as_os_str().is_empty())
        .map(|home| home.join("bin"))
}

fn program(folder: &Path, name: &str) -> PathBuf {
    folder.join(format!("{name}{}", std::env::consts::EXE_SUFFIX))
}

/// Whether a folder has a program that is neither `own` nor a wrapper under another name.
fn is_program(folder: &Path, name: &str, own: Option<&Path>) -> bool {
    let candidate = program(folder, name);
    let Ok(resolved) = candidate.canonicalize() else {
        return false;
    };
    resolved.is_file()
        && resolved.file_stem() != Some(OsStr::new(WRAPPER))
        && !own.is_some_and(|own| is_same(&candidate, own))
}

/// Whether two paths lead to one file, or to copies of it.
fn is_same(one: &Path, other: &Path) -> bool {
    let (Ok(one), Ok(other)) = (one.canonicalize(), other.canonicalize()) else {
        return false;
    };
    if one == other {
        return true;
    }
    let length = |path: &Path| {
        path.metadata()
            .ok()
            .filter(|data| data.is_file())
            .map(|data| data.len())
    };
    match (length(&one), length(&other)) {
        (Some(first), Some(second)) if first == second => {
            let contents = |path: &Path| std::fs::read(path).ok();
            contents(&one)
                .is_some_and(|first| contents(&other).is_some_and(|second| first == second))
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scratch(name: &str) -> PathBuf {
        let folder =
            std::env::temp_dir().join(format!("oriole-toolchain-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        folder
    }

    #[test]
    fn a_program_beside_another_comes_before_the_path() {
        let folder = scratch("beside");
        let wanted = program(&folder, "some-tool");
        std::fs::write(&wanted, "x").unwrap();
        assert_eq!(
            beside("some-tool", Some(&folder.join("ptxas"))),
            Some(wanted)
        );
        assert_eq!(beside("a program that nobody has", None), None);
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn a_wrapper_is_not_the_program_it_wraps() {
        let folder = scratch("wrapper");
        let (own, copy) = (folder.join(WRAPPER), program(&folder, "ptxas"));
        std::fs::write(&own, "wrapper").unwrap();
        std::fs::write(&copy, "wrapper").unwrap();
        assert!(!is_program(&folder, "ptxas", Some(&own)), "a copy");
        assert!(is_program(&folder, "ptxas", None));
        std::fs::write(&copy, "another").unwrap();
        assert!(is_program(&folder, "ptxas", Some(&own)));
        #[cfg(unix)]
        {
            std::fs::remove_file(&copy).unwrap();
            std::os::unix::fs::symlink(&own, &copy).unwrap();
            assert!(!is_program(&folder, "ptxas", None), "a link");
        }
        assert!(!is_program(&folder, "nvcc", None));
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
