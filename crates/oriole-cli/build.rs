//! Has the linker make a command that starts quickly, on the systems where that can be told from a build script.
//!
//! At a fixed address: a position-independent program relocates some five thousand addresses of tables whenever it starts. And
//! without shared libraries: to find, map and bind three of them takes 0.2 ms, a quarter of what starting takes otherwise and
//! a tenth of what a small file takes. `oriole-bench`, which measures what the command does, is linked by the same script.
//!
//! `-C target-feature=+crt-static` would say the latter properly, but a package cannot ask for it, and it forbids procedural macros
//! where host and target are not told apart. So the linker gets `-static`, and for each library that the standard library
//! asks for as a shared one, a script of that name which means the archive. Where a small program cannot be linked and run that
//! way, as there is no static C library, the command is linked as usual.

use std::env;
use std::fs;
use std::path::Path;
use std::process::Command;

/// The libraries that Rust's standard library asks for, and what takes their place.
const ARCHIVES: [(&str, &str); 7] = [
    ("gcc_s", "INPUT(-l:libgcc_eh.a)"),
    ("util", "INPUT(-l:libutil.a)"),
    ("rt", "INPUT(-l:librt.a)"),
    ("pthread", "INPUT(-l:libpthread.a)"),
    ("m", "INPUT(-l:libm.a)"),
    ("dl", "INPUT(-l:libdl.a)"),
    // The C library and the unwinder need each other.
    ("c", "GROUP(-l:libc.a -l:libgcc_eh.a -l:libgcc.a)"),
];

fn main() {
    // A script that changed is run anyway. The path is relative to the package that is built, which has no `build.rs` if it is not
    // this one, and a missing file would be news at every build.
    println!("cargo::rerun-if-changed=Cargo.toml");
    let target = |key: &str| env::var(format!("CARGO_CFG_TARGET_{key}")).unwrap_or_default();
    if target("OS") != "linux" || target("ENV") != "gnu" {
        return;
    }
    println!("cargo::rustc-link-arg-bins=-no-pie");
    let is_static_anyway = target("FEATURE").split(',').any(|one| one == "crt-static");
    let flags = env::var("CARGO_ENCODED_RUSTFLAGS").unwrap_or_default();
    let is_native = env::var_os("HOST") == env::var_os("TARGET");
    let folder = env::var("OUT_DIR").unwrap_or_default();
    // A sanitizer brings shared libraries of its own.
    if is_native
        && !is_static_anyway
        && !flags.contains("sanitizer")
        && links_statically(Path::new(&folder)).unwrap_or(false)
    {
        println!("cargo::rustc-link-arg-bins=-static");
        println!("cargo::rustc-link-arg-bins=-L{folder}");
    }
}

/// Writes the scripts into a folder, and says whether a program that is linked with them runs.
fn links_statically(folder: &Path) -> std::io::Result<bool> {
    for (library, script) in ARCHIVES {
        fs::write(folder.join(format!("lib{library}.so")), script)?;
    }
    let source = folder.join("trial.c");
    let program = folder.join("trial");
    fs::write(
        &source,
        "#include <math.h>\nint main(int count, char **words) { return cos(count - 1) != 1; }\n",
    )?;
    let linker = env::var_os("RUSTC_LINKER").unwrap_or_else(|| "cc".into());
    let linked = Command::new(linker)
        .args(["-no-pie", "-static", "-nodefaultlibs"])
        .arg(&source)
        .arg("-o")
        .arg(&program)
        .arg("-L")
        .arg(folder)
        .arg("-Wl,-Bdynamic")
        .args(ARCHIVES.map(|(library, _)| format!("-l{library}")))
        .output()?;
    Ok(linked.status.success() && Command::new(&program).status()?.success())
}
