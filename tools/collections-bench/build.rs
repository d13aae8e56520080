//! Builds the C++ contender when LLVM's headers are installed, and says so loudly when they are not.

use std::path::Path;

fn main() {
    println!("cargo::rustc-check-cfg=cfg(have_llvm)");
    println!("cargo::rerun-if-changed=src/llvm.cpp");
    println!("cargo::rerun-if-env-changed=LLVM_INCLUDE");
    let mut candidates: Vec<String> = std::env::var("LLVM_INCLUDE").into_iter().collect();
    candidates.extend((11..=30).map(|version| format!("/usr/lib/llvm-{version}/include")));
    candidates.extend((11..=30).map(|version| format!("/usr/include/llvm-{version}")));
    candidates.push("/usr/include".into());
    let Some(include) = candidates
        .iter()
        .find(|path| Path::new(path).join("llvm/ADT/DenseMap.h").exists())
    else {
        println!(
            "cargo::warning=no LLVM headers found: the C++ DenseMap contender is ABSENT (install llvm-14-dev or set LLVM_INCLUDE)"
        );
        return;
    };
    println!("cargo::rustc-env=LLVM_INCLUDE_USED={include}");
    println!("cargo::rustc-cfg=have_llvm");
    cc::Build::new()
        .cpp(true)
        .std("c++17")
        .opt_level(3)
        .define("NDEBUG", None)
        .define("LLVM_DISABLE_ABI_BREAKING_CHECKS_ENFORCING", "1")
        .flag(format!("-isystem{include}"))
        .file("src/llvm.cpp")
        .compile("llvm_contender");
}
