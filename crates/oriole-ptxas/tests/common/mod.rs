//! Folders with a kernel and a script in the place of the real `ptxas`.
#![allow(dead_code, reason = "each test binary uses a part")]

use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

pub const WRAPPER: &str = env!("CARGO_BIN_EXE_oriole-ptxas");

/// PTX with a dead instruction.
pub const PTX: &str = ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry kernel(.param .u64 p)\n{\n\
    .reg .b32 %r<3>;\n.reg .b64 %rd<2>;\nld.param.u64 %rd1, [p];\nmov.u32 %r1, %tid.x;\nadd.s32 %r2, %r1, 77;\n\
    st.global.u32 [%rd1], %r1;\nret;\n}\n";

/// A folder with a kernel and a script that stands in for `ptxas`.
pub struct Bench {
    pub folder: tempfile::TempDir,
    pub real: PathBuf,
}

/// Copies its input to its output.
pub const COPY: &str = "for last; do :; done\nwhile [ $# -gt 1 ]; do\n  case $1 in -o) out=$2; shift;; *.ptx) in=$1;; esac\n  shift\n\
    done\ncase $last in *.ptx) in=$last;; esac\ncat \"$in\" > \"$out\"\necho said; echo complained >&2\n";

impl Bench {
    pub fn new(script: &str) -> Bench {
        let folder = tempfile::tempdir().unwrap();
        let real = folder.path().join("real");
        std::fs::create_dir(&real).unwrap();
        let real = real.join("ptxas");
        std::fs::write(&real, format!("#!/bin/sh\n{script}")).unwrap();
        std::fs::set_permissions(&real, std::fs::Permissions::from_mode(0o755)).unwrap();
        std::fs::write(folder.path().join("k.ptx"), PTX).unwrap();
        Bench { folder, real }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn command(&self) -> Command {
        let mut command = Command::new(WRAPPER);
        command
            .current_dir(self.folder.path())
            .env("ORIOLE_REAL_PTXAS", &self.real)
            .env("ORIOLE_PTXAS_CACHE", self.path("cache"))
            .stdin(Stdio::null());
        command
    }

    pub fn run(&self, arguments: &[&str], variables: &[(&str, &str)]) -> Output {
        let mut command = self.command();
        let variables = variables.iter().copied();
        command.args(arguments).envs(variables).output().unwrap()
    }

    pub fn output(&self) -> Option<String> {
        std::fs::read_to_string(self.path("out")).ok()
    }

    /// The entries that a run added to the directory.
    pub fn others(&self) -> Vec<String> {
        let known = ["k.ptx", "real", "cache", "out"];
        let names = std::fs::read_dir(self.folder.path()).unwrap();
        names
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .filter(|name| !known.contains(&name.as_str()))
            .collect()
    }
}

pub fn err(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}
