//! Arrays of which `local-array` says nothing, `ptxas` keeps in registers.
//!
//! `ptxas` is taken from `ORIOLE_PTXAS` or the `PATH`. Without one the comparison says loudly that it did not run; with
//! `ORIOLE_REQUIRE_PTXAS=1`, as CI sets it, it fails instead.

#![allow(clippy::print_stderr)]

use oriole::{AccessOptions, FindingKind, accesses, parse};
use std::fmt::Write;
use std::path::Path;
use std::process::Command;

/// An access at an index that is loaded.
#[derive(Clone, Copy)]
enum Indexed {
    Load,
    Store,
    /// A load, and a store to the same place.
    Update,
}

use Indexed::{Load, Store, Update};

/// A kernel that fills an array, and accesses it before a loop and in one.
fn kernel(element: u32, count: u32, once: &[Indexed], repeated: &[Indexed], trips: &str) -> String {
    let bits = element * 8;
    let mut text = format!(
        ".version 8.8\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 p, .param .u64 q)\n{{\n\
         .local .align 16 .b8 array[{}];\n.reg .b{bits} %v<4>;\n.reg .b32 %r<4>;\n.reg .b64 %rd<8>;\n.reg .pred %p<2>;\n\
         ld.param.u64 %rd1, [p];\nld.param.u64 %rd2, [q];\nmov.u64 %rd3, array;\n",
        element * count
    );
    for at in (0..count).map(|index| index * element) {
        let _ = writeln!(
            text,
            "ld.global.u{bits} %v1, [%rd1+{at}];\nst.local.u{bits} [array+{at}], %v1;"
        );
    }
    let access = |text: &mut String, indexed: &Indexed, place: usize| {
        let at = place * 8;
        let _ = writeln!(
            text,
            "ld.global.u32 %r1, [%rd2+{at}];\nand.b32 %r1, %r1, 63;\nmul.wide.u32 %rd4, %r1, {element};\nadd.s64 %rd5, %rd3, %rd4;"
        );
        let _ = match indexed {
            Load => writeln!(
                text,
                "ld.local.u{bits} %v2, [%rd5];\nst.global.u{bits} [%rd2+{}], %v2;",
                at + 4000
            ),
            Store => writeln!(
                text,
                "ld.global.u{bits} %v2, [%rd1+{}];\nst.local.u{bits} [%rd5], %v2;",
                at + 2000
            ),
            Update => writeln!(
                text,
                "ld.local.u{bits} %v2, [%rd5];\nadd.u{bits} %v2, %v2, 1;\nst.local.u{bits} [%rd5], %v2;"
            ),
        };
    };
    for (place, indexed) in once.iter().enumerate() {
        access(&mut text, indexed, place);
    }
    if !repeated.is_empty() {
        text.push_str("mov.u32 %r2, 0;\nld.global.u32 %r3, [%rd1];\nLOOP:\n");
        for (place, indexed) in repeated.iter().enumerate() {
            access(&mut text, indexed, once.len() + place);
        }
        let _ = writeln!(
            text,
            "add.s64 %rd2, %rd2, 4;\nadd.u32 %r2, %r2, 1;\nsetp.lt.u32 %p1, %r2, {trips};\n@%p1 bra LOOP;"
        );
    }
    for at in (0..count).map(|index| index * element) {
        let to = at + 8000;
        let _ = writeln!(
            text,
            "ld.local.u{bits} %v2, [array+{at}];\nst.global.u{bits} [%rd1+{to}], %v2;"
        );
    }
    text.push_str("ret;\n}\n");
    text
}

/// Whether the kernel has the finding.
fn is_found(text: &str) -> bool {
    let module = parse("test.ptx", text).expect("PTX");
    let (kernels, _) = accesses(&module, &AccessOptions::default()).expect("accesses");
    let mut findings = kernels.iter().flat_map(|kernel| &kernel.found);
    findings.any(|finding| finding.kind == FindingKind::LocalArray)
}

/// Whether `ptxas` gives the kernel a stack frame.
fn has_frame(ptxas: &Path, folder: &Path, target: &str, text: &str) -> bool {
    let file = folder.join("test.ptx");
    std::fs::write(&file, text.replace("sm_90", target)).expect("the file can be written");
    let output = Command::new(ptxas)
        .args(["-v", &format!("-arch={target}")])
        .arg(&file)
        .args(["-o", "/dev/null"])
        .output()
        .expect("ptxas runs");
    let said = String::from_utf8_lossy(&output.stderr);
    let (before, _) = said.split_once(" bytes stack frame").expect("a frame");
    let bytes = before.rsplit(char::is_whitespace).next();
    bytes.is_some_and(|bytes| bytes != "0")
}

#[test]
fn few_elements_are_no_array_in_local_memory() {
    assert!(!is_found(&kernel(4, 4, &[], &[Load], "%r3")));
    assert!(!is_found(&kernel(
        2,
        8,
        &[Load, Store, Load, Load],
        &[],
        ""
    )));
    assert!(is_found(&kernel(4, 64, &[], &[Load], "%r3")));
    assert!(is_found(&kernel(8, 2, &[], &[Load], "%r3")));
    assert!(is_found(&kernel(4, 4, &[], &[Update], "%r3")));
}

#[test]
fn arrays_without_the_finding_lie_in_registers() {
    let Some(ptxas) = oriole_toolchain::ptxas() else {
        assert!(
            !oriole_toolchain::is_required(),
            "there is no ptxas, and ORIOLE_REQUIRE_PTXAS asks for one"
        );
        eprintln!("!!! NOT RUN: there is no ptxas; set ORIOLE_PTXAS.");
        return;
    };
    let folder = tempfile::tempdir().expect("a folder");
    let many = |indexed: Indexed, count: usize| vec![indexed; count];
    let bodies = [
        (many(Load, 4), Vec::new()),
        (many(Store, 8), Vec::new()),
        (many(Load, 32), Vec::new()),
        (many(Load, 1), many(Load, 1)),
        (Vec::new(), many(Load, 1)),
        (Vec::new(), many(Store, 4)),
        (Vec::new(), many(Load, 16)),
        (Vec::new(), many(Update, 1)),
        (Vec::new(), many(Update, 2)),
        (Vec::new(), many(Update, 8)),
    ];
    let (mut silent, mut told, mut missed) = (0, 0, 0);
    for (once, repeated) in &bodies {
        for (element, count) in [1, 2, 3, 4, 5, 10, 80, 128]
            .into_iter()
            .flat_map(|count| [(2, count), (4, count), (8, count)])
        {
            for trips in ["%r3", "1000"] {
                let text = kernel(element, count, once, repeated, trips);
                let is_in_memory = has_frame(&ptxas, folder.path(), "sm_90", &text);
                if is_found(&text) {
                    told += usize::from(is_in_memory);
                    missed += usize::from(!is_in_memory);
                } else {
                    assert!(!is_in_memory, "{text}");
                    silent += 1;
                }
            }
        }
    }
    // The rule is careful, and not much more so than it has to be.
    assert!(
        silent > 100 && told > 100 && missed < 100,
        "{silent} {told} {missed}"
    );
}
