//! Machine code is counted as `nvdisasm` prints it, and what `keep_better` leaves is nowhere worse.
//!
//! Without `ptxas` and `nvdisasm` these tests say loudly that they did not run; with `ORIOLE_REQUIRE_PTXAS=1` they fail.

#![allow(clippy::print_stderr)]

use oriole::machine::{Assembler, Measurement, Worse, keep_better};
use oriole::{Options, optimize, parse, print};
use oriole_isa::Target;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Loops, jump tables, calls, indirect calls, separate compilation, slow paths of divisions, one architecture only.
const FILES: &[&str] = &[
    "nvcc/switch_table.brx.sm_80.ptx",
    "nvcc/device_functions.O0.sm_80.ptx",
    "nvcc/indirect_calls.O3.sm_80.ptx",
    "nvcc/separate.O3.rdc.sm_80.ptx",
    "nvcc/reduce_shuffle.O3.sm_80.ptx",
    "nvcc/attention.O3.sm_80.ptx",
    "nvcc/hashing.G.sm_80.ptx",
    "triton/softmax.sm_80.ptx",
];

const TARGETS: &[&str] = &["sm_80", "sm_90", "sm_100", "sm_120"];

fn tools() -> Option<(PathBuf, PathBuf)> {
    let ptxas = oriole_toolchain::ptxas();
    let found =
        oriole_toolchain::nvdisasm(ptxas.as_deref()).and_then(|other| Some((ptxas?, other)));
    if found.is_none() {
        assert!(
            !oriole_toolchain::is_required(),
            "ptxas or nvdisasm is missing, and ORIOLE_REQUIRE_PTXAS asks for them"
        );
        eprintln!("\n!!! SKIPPED: no ptxas or no nvdisasm: machine code is not counted.\n");
    }
    found
}

fn corpus(name: &str) -> String {
    let path = oriole_corpus::folder().join(name);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// The instructions of each section but for padding, as the disassembler prints them.
fn disassembled(nvdisasm: &Path, cubin: &Path) -> BTreeMap<String, u64> {
    let output = Command::new(nvdisasm)
        .arg("-c")
        .arg(cubin)
        .output()
        .unwrap();
    assert!(output.status.success(), "nvdisasm fails");
    let text = String::from_utf8_lossy(&output.stdout);
    let mut counts: BTreeMap<String, u64> = BTreeMap::new();
    let (mut section, mut count) = (String::new(), 0);
    for line in text.lines() {
        if let Some(rest) = line
            .trim()
            .strip_prefix(".section\t.text.")
            .or_else(|| line.trim().strip_prefix(".section .text."))
        {
            section = rest.split(',').next().unwrap_or(rest).to_owned();
            count = 0;
        }
        let Some((_, instruction)) = line
            .trim()
            .strip_prefix("/*")
            .and_then(|rest| rest.split_once("*/"))
            .filter(|(address, _)| u64::from_str_radix(address, 16).is_ok())
        else {
            continue;
        };
        count += 1;
        // Padding is never followed by anything else.
        if instruction.trim() != "NOP;" && instruction.trim() != "NOP ;" {
            counts.insert(section.clone(), count);
        }
    }
    counts
}

#[test]
fn counts_are_those_of_the_disassembler() {
    let Some((ptxas, nvdisasm)) = tools() else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let mut compared = 0;
    for name in FILES {
        let text = corpus(name);
        for target in TARGETS {
            let target = Target::from_text(target).unwrap();
            let mut assembler = Assembler::new(&ptxas, folder.path(), target);
            let codes = assembler
                .assemble(&text)
                .unwrap_or_else(|error| panic!("{name}: {error}"));
            assert!(!codes.is_empty(), "{name}");
            let printed = disassembled(&nvdisasm, &folder.path().join("output.cubin"));
            for code in codes {
                assert_eq!(
                    Some(&code.instructions),
                    printed.get(&code.name),
                    "{name}: {} on {target}",
                    code.name
                );
                assert!(code.weighted >= code.instructions && code.registers > 0);
                compared += 1;
            }
        }
    }
    assert!(compared > 100, "only {compared} kernels");
}

#[test]
fn nothing_is_left_that_is_worse() {
    let Some((ptxas, _)) = tools() else { return };
    let folder = tempfile::tempdir().unwrap();
    for name in FILES {
        let original = parse(*name, corpus(name)).unwrap();
        for target in ["sm_80", "sm_90"] {
            let target = Target::from_text(target).unwrap();
            let mut module = original.clone();
            optimize(&mut module, &Options::default()).unwrap();
            let mut assembler = Assembler::new(&ptxas, folder.path(), target);
            let selection = keep_better(&original, &mut module, &mut assembler).unwrap();
            let mut measured = |module: &oriole::Module, text: &str| {
                let codes = assembler.assemble(text).unwrap();
                Measurement::all(module, target, codes)
            };
            let before = measured(&original, original.source());
            let after = measured(&module, &print(&module));
            assert_eq!(selection.comparisons.len(), before.len(), "{name}");
            for (before, after) in before.iter().zip(&after) {
                assert_eq!(before.code.name, after.code.name);
                assert_eq!(after.compare(before), None, "{name}: {}", before.code.name);
            }
        }
    }
}

#[test]
fn registers_are_limited_where_only_they_got_worse() {
    let Some((ptxas, _)) = tools() else { return };
    let folder = tempfile::tempdir().unwrap();
    let target = Target::from_text("sm_90").unwrap();
    let name = "nvcc/attention.O3.sm_80.ptx";
    let original = parse(name, corpus(name)).unwrap();
    let mut module = original.clone();
    optimize(&mut module, &Options::default()).unwrap();
    let mut assembler = Assembler::new(&ptxas, folder.path(), target);
    let selection = keep_better(&original, &mut module, &mut assembler).unwrap();
    let limited: Vec<_> = selection
        .comparisons
        .iter()
        .filter_map(|own| Some((own, own.register_limit?)))
        .collect();
    let [(kernel, limit)] = limited[..] else {
        panic!("one kernel takes more registers, and none once it may not: {selection:#?}");
    };
    assert_eq!(kernel.name, "attention_16");
    assert_eq!(limit, kernel.before.code.registers);
    assert_eq!(kernel.after.compare(&kernel.before), None);
    assert!(kernel.after.code.instructions < kernel.before.code.instructions);
    assert!(!kernel.is_put_back && kernel.after.code.registers <= limit);
    let text = print(&module);
    assert_eq!(text.matches(&format!(".maxnreg {limit}")).count(), 1);
    assert_eq!(text.matches(".maxnreg").count(), 1);
}

#[test]
fn a_limit_that_does_not_help_is_taken_back() {
    let Some((ptxas, _)) = tools() else { return };
    let folder = tempfile::tempdir().unwrap();
    let target = Target::from_text("sm_90").unwrap();
    let kernel = |name: &str, live: usize| {
        let lines = |line: &dyn Fn(usize) -> String| (0..live).map(line).collect::<String>();
        let loads = lines(&|at| format!("ld.volatile.global.u32 %r{at}, [%rd1+{}];\n", 4 * at));
        let stores = lines(&|at| format!("st.volatile.global.u32 [%rd1+{}], %r{at};\n", 4 * at));
        format!(
            ".visible .entry {name}(.param .u64 p)\n{{\n.reg .b64 %rd<2>;\n.reg .b32 %r<{live}>;\n\
             ld.param.u64 %rd1, [p];\n{loads}{stores}ret;\n}}\n"
        )
    };
    let header = ".version 8.0\n.target sm_80\n.address_size 64\n";
    let text = format!("{header}{}{}", kernel("few", 24), kernel("many", 100));
    let original = parse("k.ptx", text).unwrap();
    let mut module = original.clone();
    // It needs many registers at once now, which a limit only turns into spills.
    module.functions[0].body = module.functions[1].body.clone();
    let mut assembler = Assembler::new(&ptxas, folder.path(), target);
    let selection = keep_better(&original, &mut module, &mut assembler).unwrap();
    assert_eq!(selection.put_back, ["few"]);
    let comparison = selection
        .comparisons
        .iter()
        .find(|own| own.name == "few")
        .unwrap();
    assert!(comparison.is_put_back && comparison.register_limit.is_none());
    assert_eq!(comparison.worse, Some(Worse::Occupancy));
    assert!(comparison.after.code.registers > 100, "without the limit");
    assert_eq!(print(&module), print(&original));
}
