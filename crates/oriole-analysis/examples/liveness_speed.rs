//! How fast live intervals are, on shapes that are quadratic when done wrong.
//!
//!     cargo run --profile dist -p oriole-analysis --example liveness_speed [FILE …]
//!
//! With files, the time of all their functions together.

#![allow(clippy::print_stdout)]

use oriole_analysis::liveness::{LiveIntervals, Pressure, Program, Registers, Values};
use oriole_ir::Formats;
use oriole_syntax::scopes::{Globals, resolve};
use oriole_translate::into_ssa;
use std::fmt::Write;
use std::time::Instant;

fn kernel(registers: usize, body: &str) -> String {
    format!(
        ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 p, .param .u32 n)\n{{\n\
         .reg .pred %p<{0}>; .reg .b32 %r<{0}>; .reg .b64 %rd<8>;\nld.param.u64 %rd1, [p]; ld.param.u32 %r0, [n];\n{body}\nret;\n}}\n",
        registers + 8
    )
}

/// A chain in one block.
fn straight(count: usize) -> String {
    let mut body = String::new();
    for index in 1..=count {
        let _ = writeln!(body, "add.u32 %r{index}, %r{}, {};", index - 1, index % 100);
    }
    let _ = writeln!(body, "st.global.u32 [%rd1], %r{count};");
    kernel(count, &body)
}

/// Loops one behind the other, each with a counter assigned three times.
fn loops(count: usize) -> String {
    let mut body = String::from("mov.u32 %r1, 0;\n");
    for index in 0..count / 2 {
        let counter = index + 2;
        let _ = writeln!(
            body,
            "mov.u32 %r{counter}, 0;\nL{index}: add.u32 %r{counter}, %r{counter}, 1;\nadd.u32 %r1, %r1, %r{counter};\n\
             setp.lt.u32 %p{index}, %r{counter}, %r0;\n@%p{index} bra L{index};"
        );
    }
    body.push_str("st.global.u32 [%rd1], %r1;");
    kernel(count + 2, &body)
}

/// As many registers live at once as there are, across one join.
fn wide(count: usize) -> String {
    let mut body = String::new();
    for index in 1..=count {
        let _ = writeln!(body, "ld.global.u32 %r{index}, [%rd1+{}];", index * 4);
    }
    body.push_str("setp.lt.u32 %p1, %r1, %r0;\n@%p1 bra A;\nadd.u32 %r2, %r2, 1;\nA:\n");
    for index in 1..=count {
        let _ = writeln!(body, "st.global.u32 [%rd1+{}], %r{index};", index * 4);
    }
    kernel(count, &body)
}

/// Registers assigned on both sides of many branches and read far below.
fn ladder(count: usize) -> String {
    let mut body = String::new();
    for index in 0..count / 3 {
        let _ = writeln!(
            body,
            "setp.lt.u32 %p1, %r0, {index};\nmov.u32 %r{0}, 1;\n@%p1 bra E{index};\nmov.u32 %r{0}, 2;\nE{index}:\n{1}",
            index + 1,
            if index > 30 {
                format!("add.u32 %r{0}, %r{0}, %r{1};", index + 1, index - 30)
            } else {
                String::new()
            }
        );
    }
    let _ = writeln!(body, "st.global.u32 [%rd1], %r{};", count / 3);
    kernel(count, &body)
}

/// Seconds of each step, and what was done in them.
#[derive(Default)]
struct Total {
    reading: f64,
    engine: f64,
    adding: f64,
    values: f64,
    bytes: usize,
    instructions: usize,
    blocks: usize,
}

/// The shortest of fifteen runs, and the last result.
fn best<T>(mut work: impl FnMut() -> T) -> (f64, T) {
    let start = Instant::now();
    let mut result = work();
    let mut shortest = start.elapsed().as_secs_f64();
    for _ in 1..15 {
        let start = Instant::now();
        result = work();
        shortest = shortest.min(start.elapsed().as_secs_f64());
    }
    (shortest, result)
}

fn measure(total: &mut Total, name: &str, text: &str) {
    let (module, errors) = oriole_syntax::parse(name, text);
    assert!(errors.is_empty(), "{name}");
    let (globals, _) = Globals::of(&module);
    let mut formats = Formats::new();
    for (index, function) in module.functions.iter().enumerate() {
        let Some(body) = &function.body else { continue };
        let (scopes, _) = resolve(&module, &globals, function);
        let (seconds, program) = best(|| Registers::of(&module, body, &scopes, &mut formats));
        total.reading += seconds;
        let (seconds, intervals) = best(|| LiveIntervals::of(&program));
        total.engine += seconds;
        total.adding += best(|| Pressure::of(&program, &intervals)).0;
        total.bytes += intervals.bytes();
        total.instructions += program.instruction_count();
        total.blocks += program.block_count();
        let translated = into_ssa(&module, &globals, index, &mut formats).expect("sound");
        total.values += best(|| LiveIntervals::of(&Values::of(&translated.function))).0;
        formats = translated.function.into_formats();
    }
}

fn report(name: &str, total: &Total) {
    let rate = |seconds: f64| total.instructions as f64 / seconds / 1e6;
    println!(
        "{name:10} {:8} instructions {:6} blocks: intervals {:5.1} M/s, with reading the tree {:5.1} M/s, \
         pressure {:5.1} M/s, SSA values {:5.1} M/s, {:4.1} bytes an instruction",
        total.instructions,
        total.blocks,
        rate(total.engine),
        rate(total.engine + total.reading),
        rate(total.adding),
        rate(total.values),
        total.bytes as f64 / total.instructions as f64
    );
}

fn main() {
    let files: Vec<String> = std::env::args().skip(1).collect();
    if !files.is_empty() {
        let mut total = Total::default();
        for file in &files {
            let text = std::fs::read_to_string(file).expect("the file can be read");
            measure(&mut total, file, &text);
        }
        return report("files", &total);
    }
    for scale in [1, 4] {
        for (name, text) in [
            ("straight", straight(100_000 * scale / 4)),
            ("loops", loops(20_000 * scale / 4)),
            ("wide", wide(100_000 * scale / 4)),
            ("ladder", ladder(60_000 * scale / 4)),
        ] {
            let mut total = Total::default();
            measure(&mut total, name, &text);
            report(name, &total);
        }
    }
}
