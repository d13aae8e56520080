//! Which `ptxas` and `nvdisasm` tests use, and whether they may do without: the same for all that ask the real assembler.
//!
//! `ptxas` is taken from `ORIOLE_PTXAS` or the `PATH`, `nvdisasm` from `ORIOLE_NVDISASM`, beside `ptxas` or the `PATH`. With
//! `ORIOLE_REQUIRE_PTXAS=1`, as CI sets it, a test that does not find them fails; otherwise it says loudly that it did not run.

#![forbid(unsafe_code)]

use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// The assembler.
pub fn ptxas() -> Option<PathBuf> {
    find(std::env::var_os("ORIOLE_PTXAS"), "ptxas", None)
}

/// The disassembler that goes with an assembler.
pub fn nvdisasm(ptxas: Option<&Path>) -> Option<PathBuf> {
    find(std::env::var_os("ORIOLE_NVDISASM"), "nvdisasm", ptxas)
}

/// Whether tests that need them fail without them.
pub fn is_required() -> bool {
    std::env::var_os("ORIOLE_REQUIRE_PTXAS").is_some_and(|value| value == "1")
}

/// The program that was named, one beside another, or one of the `PATH`.
fn find(named: Option<OsString>, name: &str, beside: Option<&Path>) -> Option<PathBuf> {
    let beside = beside.and_then(|other| Some(other.parent()?.join(name)));
    let path = std::env::var_os("PATH").unwrap_or_default();
    let on_path = std::env::split_paths(&path).map(|folder| folder.join(name));
    named
        .map(PathBuf::from)
        .into_iter()
        .chain(beside)
        .chain(on_path)
        .find(|candidate| candidate.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_named_comes_first_if_it_is_there() {
        let own = std::env::current_exe().unwrap();
        let name = own.file_name().unwrap().to_str().unwrap();
        assert_eq!(
            find(Some(own.clone().into()), "none", None),
            Some(own.clone())
        );
        let beside = own.with_file_name("other");
        assert_eq!(find(Some("/none".into()), name, Some(&beside)), Some(own));
        assert_eq!(find(None, "a program that nobody has", None), None);
    }
}
