//! Links the command at a fixed address where that is common: a position-independent program relocates some five thousand
//! addresses of tables whenever it starts, which for a small file takes a tenth of the time. `oriole-bench`, which measures what
//! the command does, is linked by the same script.

fn main() {
    // A script that changed is run anyway. The path is relative to the package that is built, which has no `build.rs` if it is not
    // this one, and a missing file would be news at every build.
    println!("cargo::rerun-if-changed=Cargo.toml");
    let target = |key: &str| std::env::var(format!("CARGO_CFG_TARGET_{key}")).unwrap_or_default();
    if target("OS") == "linux" && target("ENV") == "gnu" {
        println!("cargo::rustc-link-arg-bins=-no-pie");
    }
}
