//! Each quirk of `oriole_isa::ptxas::QUIRKS` still shows in what the installed `ptxas` makes of its example.
//!
//! A failure here means that a newer `ptxas` no longer does what the entry says: then the entry, and the rule that keeps
//! Oriole clear of it, can go. `ptxas` is taken from `ORIOLE_PTXAS` or the `PATH`, `nvdisasm` from `ORIOLE_NVDISASM`, beside `ptxas` or the
//! `PATH`. Without them the tests are reported as ignored, loudly; with `ORIOLE_REQUIRE_PTXAS=1`, as CI sets it, they fail.

// The one thing worth saying is said before the tests run.
#![allow(clippy::print_stderr)]

use libtest_mimic::{Arguments, Failed, Trial};
use oriole_isa::ptxas::{QUIRKS, Quirk, Shows};
use std::path::PathBuf;
use std::process::{Command, ExitCode, Output};

#[derive(Clone)]
struct Tools {
    ptxas: PathBuf,
    nvdisasm: PathBuf,
}

fn kernel(quirk: &Quirk) -> String {
    format!(
        ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry kernel(.param .u64 in, .param .u64 out)\n{{\n\
         .reg .pred %p<8>;\n.reg .b16 %h<8>;\n.reg .b32 %r<16>;\n.reg .b64 %rd<16>;\n.reg .f32 %f<8>;\n\
         ld.param.u64 %rd1, [in];\nld.param.u64 %rd2, [out];\n{}\nret;\n}}\n",
        quirk.ptx
    )
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

/// Whether a quirk shows; if not, what was found instead.
fn shows(tools: &Tools, quirk: &Quirk) -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let [text, binary] = ["kernel.ptx", "kernel.cubin"].map(|name| folder.path().join(name));
    std::fs::write(&text, kernel(quirk))?;
    let assembled = Command::new(&tools.ptxas)
        .args(["-arch=sm_90", "-o"])
        .args([&binary, &text])
        .output()?;
    if let Shows::Refused(message) = quirk.shows {
        return if !assembled.status.success() && said(&assembled).contains(message) {
            Ok(())
        } else {
            Err("ptxas accepts it now".into())
        };
    }
    if !assembled.status.success() {
        return Err(said(&assembled).into());
    }
    let disassembled = Command::new(&tools.nvdisasm)
        .arg("-c")
        .arg(&binary)
        .output()?;
    let code = said(&disassembled);
    if !disassembled.status.success() || !code.contains("EXIT") {
        return Err(code.into());
    }
    let lines = |words: &[&str]| {
        let has_all = |line: &&str| words.iter().all(|word| line.contains(word));
        code.lines().filter(has_all).count()
    };
    let is_there = match quirk.shows {
        Shows::Line(words) => lines(words) > 0,
        Shows::NoLine(words) => lines(words) == 0,
        Shows::Lines(count, words) => lines(words) == count,
        Shows::InLargerCode => return Err("there is no example that shows it".into()),
        Shows::Refused(_) => unreachable!("answered above"),
    };
    if is_there {
        Ok(())
    } else {
        let message = format!(
            "`{}` no longer shows as {:?}: its rule may not be needed any more ({})\n{code}",
            quirk.name, quirk.shows, quirk.rule
        );
        Err(message.into())
    }
}

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let ptxas = oriole_toolchain::ptxas();
    let nvdisasm = oriole_toolchain::nvdisasm(ptxas.as_deref());
    let tools = ptxas
        .zip(nvdisasm)
        .map(|(ptxas, nvdisasm)| Tools { ptxas, nvdisasm });
    let required = oriole_toolchain::is_required();
    if tools.is_none() {
        eprintln!(
            "\n!!! SKIPPED: ptxas and nvdisasm not found: nobody checks what ptxas gets wrong."
        );
        eprintln!(
            "!!! Run `ORIOLE_PTXAS=$(.ci/install-ptxas) cargo test -p oriole-isa --test ptxas_quirks`.\n"
        );
    }
    let mut trials = Vec::new();
    for quirk in QUIRKS {
        if quirk.shows == Shows::InLargerCode {
            eprintln!(
                "!!! NOT CHECKED: `{}` has no example small enough to show it.",
                quirk.name
            );
        }
        let tools = tools.clone();
        let has_example = quirk.shows != Shows::InLargerCode;
        let is_ignored = tools.is_none() && !required || !has_example;
        let trial = Trial::test(quirk.name, move || match tools {
            Some(tools) => shows(&tools, quirk),
            None => Err(
                "there is no ptxas or no nvdisasm, and ORIOLE_REQUIRE_PTXAS asks for them".into(),
            ),
        });
        trials.push(trial.with_ignored_flag(is_ignored));
    }
    // The judge itself: a quirk that does not exist does not show.
    if let Some(tools) = tools {
        trials.push(Trial::test(
            "what ptxas gets right does not show",
            move || {
                let right = Quirk {
                    name: "right",
                    summary: "",
                    seen_in: "",
                    ptx: "ld.global.u32 %r1, [%rd1]; st.global.u32 [%rd2], %r1;",
                    shows: Shows::NoLine(&["LDG"]),
                    rule: "",
                };
                match shows(&tools, &right) {
                    Ok(()) => Err("a load that is there was not found".into()),
                    Err(_) => Ok(()),
                }
            },
        ));
    }
    libtest_mimic::run(&arguments, trials).exit_code()
}
