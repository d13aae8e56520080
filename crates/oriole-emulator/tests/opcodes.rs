//! Every opcode of the table is emulated, or is in the list of those that are not.
//!
//! Each is run in the forms of the manual, on registers that hold zeros. Most accesses to memory trap there, but not as unknown.

use oriole_emulator::{Launch, Machine, Options, TrapKind};
use oriole_isa::{Mnemonic, Opcode};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

/// Opcodes that trap as not emulated. `docs/emulator.md` names each, or its first word.
const NOT_EMULATED: &[Opcode] = &[
    Opcode::StBulk,
    Opcode::MultimemLdReduce,
    Opcode::MultimemSt,
    Opcode::MultimemRed,
    Opcode::CpReduceAsyncBulkTensor,
    Opcode::ClusterlaunchcontrolTryCancel,
    Opcode::ClusterlaunchcontrolQueryCancel,
    Opcode::WgmmaMmaAsyncSp,
    Opcode::Tcgen05Alloc,
    Opcode::Tcgen05Dealloc,
    Opcode::Tcgen05RelinquishAllocPermit,
    Opcode::Tcgen05Ld,
    Opcode::Tcgen05LdRed,
    Opcode::Tcgen05St,
    Opcode::Tcgen05WaitLd,
    Opcode::Tcgen05WaitSt,
    Opcode::Tcgen05Cp,
    Opcode::Tcgen05Shift,
    Opcode::Tcgen05Mma,
    Opcode::Tcgen05MmaSp,
    Opcode::Tcgen05MmaWs,
    Opcode::Tcgen05MmaWsSp,
    Opcode::Tcgen05Commit,
    Opcode::Tcgen05FenceBeforeThreadSync,
    Opcode::Tcgen05FenceAfterThreadSync,
    // The page says textures and surfaces.
    Opcode::Istypep,
];

/// Opcodes of which no form is an instruction that can stand alone.
const NOT_ALONE: &[Opcode] = &[
    Opcode::Unknown,
    Opcode::Call,
    Opcode::MultimemCpAsyncBulk,
    Opcode::MultimemCpReduceAsyncBulk,
    Opcode::Tex,
    Opcode::Tld4,
    Opcode::Txq,
    Opcode::Suld,
    Opcode::Sust,
    Opcode::Sured,
    Opcode::Suq,
];

/// Forms of an opcode to try, at most.
const MOST_FORMS: usize = 12;

/// One instruction in a kernel of its own.
fn module(instruction: &str) -> String {
    let mut registers = BTreeSet::new();
    for (at, _) in instruction.match_indices('%') {
        let rest = &instruction[at + 1..];
        let end = rest.find(|own: char| !own.is_ascii_alphanumeric());
        registers.insert(&rest[..end.unwrap_or(rest.len())]);
    }
    let mut text = String::from(
        ".version 8.8\n.target sm_100a\n.address_size 64\n.global .align 16 .b8 g[1024];\n\
         .visible .entry kernel()\n{\n.shared .align 16 .b8 s[1024];\n",
    );
    for register in registers {
        let width = match register.as_bytes()[0] {
            b'p' => "pred",
            b'b' => "b8",
            b'h' => "b16",
            b'r' => "b32",
            b'f' => "f32",
            b'l' => "b64",
            b'd' => "f64",
            b'q' => "b128",
            _ => continue,
        };
        let _ = writeln!(text, ".reg .{width} %{register};");
    }
    let _ = writeln!(text, "ts: .branchtargets L1;\n{instruction};\nL1: ret;\n}}");
    text
}

/// True for an instruction that is emulated; nothing if it cannot be run by itself.
fn is_emulated(instruction: &str) -> Option<bool> {
    let (module, errors) = oriole_syntax::parse("form.ptx", module(instruction));
    if !errors.is_empty() {
        return None;
    }
    let mut machine = Machine::new(&module).ok()?;
    let launch = Launch {
        kernel: "kernel",
        grid: [1; 3],
        block: [32, 1, 1],
        dynamic_shared: 0,
        arguments: Vec::new(),
    };
    let options = Options {
        step_limit: 10_000,
        parallel: false,
        ..Options::default()
    };
    let trap = machine.launch(&launch, &options).err();
    Some(trap.is_none_or(|trap| trap.kind != TrapKind::NotEmulated))
}

#[test]
fn every_opcode_is_emulated_or_said_not_to_be() {
    let forms = include_str!("../../oriole-isa/tests/data/manual_forms.txt");
    let mut tried: BTreeMap<Opcode, (usize, bool)> = BTreeMap::new();
    for line in forms.lines() {
        let (_, instruction) = line.split_once('\t').expect("target and instruction");
        let plain = match instruction.strip_prefix('@') {
            Some(guarded) => guarded.split_once(' ').expect("a guard").1,
            None => instruction,
        };
        let mnemonic = plain.split(' ').next().expect("a mnemonic");
        let opcode = Mnemonic::parse(mnemonic).opcode();
        let (count, emulated) = tried.entry(opcode).or_default();
        if *emulated || *count >= MOST_FORMS {
            continue;
        }
        if let Some(is) = is_emulated(plain) {
            *count += 1;
            *emulated = is;
        }
    }
    let mut wrong = Vec::new();
    for &opcode in Opcode::ALL {
        match tried.get(&opcode) {
            Some((1.., emulated)) if *emulated == NOT_EMULATED.contains(&opcode) => {
                wrong.push(format!("`{opcode}`: emulated is {emulated}"));
            }
            Some((1.., _)) => {}
            _ if NOT_ALONE.contains(&opcode) => {}
            _ => wrong.push(format!("`{opcode}`: no form can be tried")),
        }
    }
    let page = include_str!("../../../docs/emulator.md");
    for opcode in NOT_EMULATED.iter().filter(|own| **own != Opcode::Istypep) {
        let text = opcode.text();
        let first = text.split('.').next().expect("a word");
        if ![text, first]
            .iter()
            .any(|own| page.contains(&format!("`{own}`")))
        {
            wrong.push(format!(
                "`{text}` is not emulated, and `docs/emulator.md` does not say so"
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
