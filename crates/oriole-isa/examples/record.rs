//! Writes everything needed to record, on a GPU, what value instructions compute.
//!
//! ```text
//! cargo run -p oriole-isa --example record -- OUT_DIRECTORY [PTXAS]
//! cd OUT_DIRECTORY && python3 run.py        # on the machine with the GPU; writes results.bin
//! ```
//!
//! The folder holds PTX with one kernel per form, the inputs, a manifest and the driver. Where a PTXAS is given, forms that
//! it refuses are left out; otherwise they are left out when the driver assembles them.

#![allow(
    clippy::print_stdout,
    reason = "a command reports on its standard output"
)]

#[path = "../tests/vectors/mod.rs"]
mod vectors;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

use oriole_isa::{Opcode, ScalarType};
use vectors::{Flag, Form, VECTORS, register_bits};

const MODULES: usize = 16;
const HEADER: &str = ".version 8.6\n.target sm_90\n.address_size 64\n";

fn main() {
    let mut arguments = std::env::args().skip(1);
    let directory = arguments
        .next()
        .expect("usage: record OUT_DIRECTORY [PTXAS]");
    let directory = Path::new(&directory);
    std::fs::create_dir_all(directory).expect("the output folder");
    let mut forms = vectors::candidates();
    let all = forms.len();
    if let Some(ptxas) = arguments.next() {
        forms = accepted(&ptxas, forms, directory);
    }
    println!("{} of {all} forms", forms.len());

    let mut signatures: BTreeMap<Vec<&str>, (usize, Vec<ScalarType>)> = BTreeMap::new();
    for form in &forms {
        signatures
            .entry(signature_key(form))
            .or_insert_with(|| (0, form.inputs.clone()));
    }
    let mut blob = Vec::new();
    for (offset, signature) in signatures.values_mut() {
        *offset = blob.len();
        for value in vectors::inputs(signature).into_iter().flatten() {
            blob.extend(value.to_le_bytes());
        }
    }
    std::fs::write(directory.join("inputs.bin"), &blob).expect("inputs.bin");

    let hash = vectors::inputs_hash(signatures.values().map(|(_, signature)| &signature[..]));
    let mut manifest = format!("{hash:016x} {VECTORS}\n");
    let mut modules = vec![HEADER.to_string(); MODULES];
    for (index, form) in forms.iter().enumerate() {
        let (offset, signature) = &signatures[&signature_key(form)];
        let widths: Vec<String> = form
            .outputs
            .iter()
            .map(|&output| vectors::recorded_bytes(output).to_string())
            .collect();
        let module = index % MODULES;
        writeln!(
            manifest,
            "{index}\t{module}\t{offset}\t{}\t{}\t{}",
            signature.len(),
            widths.join(","),
            form.key
        )
        .expect("writing to a string");
        modules[module].push_str(&kernel(index, form));
    }
    std::fs::write(directory.join("manifest.tsv"), manifest).expect("manifest.tsv");
    for (index, module) in modules.iter().enumerate() {
        std::fs::write(directory.join(format!("forms_{index}.ptx")), module).expect("a module");
    }
    std::fs::write(directory.join("run.py"), include_str!("record_driver.py")).expect("run.py");
}

fn signature_key(form: &Form) -> Vec<&'static str> {
    form.inputs
        .iter()
        .map(|scalar_type| scalar_type.text())
        .collect()
}

fn register_type(scalar_type: ScalarType) -> String {
    match register_bits(scalar_type) {
        1 => ".pred".to_string(),
        bits => format!(".b{bits}"),
    }
}

/// One kernel: load the operands of this thread, execute, store the results.
fn kernel(index: usize, form: &Form) -> String {
    let mut text = String::new();
    let line = &mut text;
    let (input_count, output_count) = (form.inputs.len(), form.outputs.len());
    macro_rules! emit {
        ($($argument:tt)*) => { writeln!(line, $($argument)*).expect("writing to a string") };
    }
    emit!(".visible .entry k{index}(.param .u64 i, .param .u64 o)\n{{");
    emit!(".reg .b64 x, y; .reg .b32 t;");
    for (number, &scalar_type) in form.inputs.iter().enumerate() {
        emit!(".reg {} a{number};", register_type(scalar_type));
    }
    for (number, &scalar_type) in form.outputs.iter().enumerate() {
        emit!(".reg {} d{number};", register_type(scalar_type));
    }
    emit!("ld.param.u64 x, [i];\nld.param.u64 y, [o];\nmov.u32 t, %tid.x;");
    emit!(
        "mad.wide.u32 x, t, {}, x;\nmad.wide.u32 y, t, {}, y;",
        8 * input_count,
        8 * output_count
    );
    for (number, &scalar_type) in form.inputs.iter().enumerate() {
        match register_bits(scalar_type) {
            1 => emit!(
                "ld.global.b32 t, [x+{}];\nsetp.ne.b32 a{number}, t, 0;",
                8 * number
            ),
            bits => emit!("ld.global.b{bits} a{number}, [x+{}];", 8 * number),
        }
    }
    emit!("{}", instruction(form));
    for (number, &scalar_type) in form.outputs.iter().enumerate() {
        match register_bits(scalar_type) {
            1 => emit!(
                "selp.b32 t, 1, 0, d{number};\nst.global.b32 [y+{}], t;",
                8 * number
            ),
            bits => emit!("st.global.b{bits} [y+{}], d{number};", 8 * number),
        }
    }
    emit!("ret;\n}}");
    text
}

fn instruction(form: &Form) -> String {
    let effects = form.mnemonic.effects();
    let text = form.mnemonic.text();
    let mut sources: Vec<String> = (0..form.inputs.len())
        .map(|number| format!("a{number}"))
        .collect();
    let mut before = String::new();
    let mut after = String::new();
    if effects.reads_carry {
        let carry = sources.pop().expect("the carry");
        before = format!("selp.b32 t, 1, 0, {carry};\n");
        before += match form.flag {
            Flag::Subtraction => "sub.cc.u32 t, 0, t;\n",
            _ => "add.cc.u32 t, t, 0xffffffff;\n",
        };
    }
    let mut results: Vec<String> = (0..form.outputs.len())
        .map(|number| format!("d{number}"))
        .collect();
    if effects.writes_carry {
        let carry = results.pop().expect("the carry");
        let read = match form.flag {
            Flag::Subtraction => "subc.u32 t, 0, 0;",
            _ => "addc.u32 t, 0, 0;",
        };
        after = format!("\n{read}\nsetp.ne.u32 {carry}, t, 0;");
    }
    if let Some(video) = form.video {
        for (operand, selector) in [(0, video.a), (1, video.b)] {
            if let Some(selector) = selector {
                sources[operand] += &format!(".{selector}");
            }
        }
        if let Some(selector) = video.destination {
            results[0] += &format!(".{selector}");
        }
    }
    if let Some(immediate) = form.immediate {
        let position = if form.mnemonic.opcode() == Opcode::Lop3 {
            3
        } else {
            sources.len()
        };
        sources.insert(position, format!("{immediate:#x}"));
    }
    format!(
        "{before}{text} {}, {};{after}",
        results.join("|"),
        sources.join(", ")
    )
}

/// The forms that ptxas accepts; it names the line of each error.
fn accepted(ptxas: &str, mut forms: Vec<Form>, directory: &Path) -> Vec<Form> {
    let path = directory.join("check.ptx");
    loop {
        let mut module = HEADER.to_string();
        let mut first_lines = Vec::new();
        for (index, form) in forms.iter().enumerate() {
            first_lines.push(module.lines().count() + 1);
            module += &kernel(index, form);
        }
        std::fs::write(&path, &module).expect("check.ptx");
        let output = Command::new(ptxas)
            .args(["-arch=sm_90", "-O0", "-o", "/dev/null"])
            .arg(&path)
            .output()
            .expect("running ptxas");
        if output.status.success() {
            std::fs::remove_file(&path).expect("removing check.ptx");
            return forms;
        }
        let errors = String::from_utf8_lossy(&output.stderr);
        let mut refused: Vec<usize> = errors
            .lines()
            .filter_map(|line| {
                line.split_once("line ")?
                    .1
                    .split_once(';')?
                    .0
                    .parse::<usize>()
                    .ok()
            })
            .map(|line| first_lines.partition_point(|&first| first <= line) - 1)
            .collect();
        refused.dedup();
        assert!(!refused.is_empty(), "ptxas: {errors}");
        for index in &refused {
            println!("refused: {}", forms[*index].key);
        }
        let mut index = 0;
        forms.retain(|_| {
            index += 1;
            !refused.contains(&(index - 1))
        });
    }
}
