//! Small kernels, run and looked at.

#![allow(dead_code, reason = "each test binary uses a part")]

use oriole_emulator::{Argument, Finding, Launch, Machine, Options, Report, Trap, TrapKind, Value};

/// A kernel with the given body; `out` and `n` are loaded into `%out` and `%n`, the thread's index into `%t`.
pub fn kernel(body: &str) -> String {
    format!(
        ".version 8.6\n.target sm_90\n.address_size 64\n\
         .visible .entry k(.param .u64 k_out, .param .u32 k_n)\n{{\n\
         .reg .b64 %out, %a<8>; .reg .b32 %n, %t, %r<16>; .reg .f32 %f<8>; .reg .pred %p<8>;\n\
         ld.param.u64 %out, [k_out];\nld.param.u32 %n, [k_n];\nmov.u32 %t, %tid.x;\n{body}\nret;\n}}\n"
    )
}

/// Runs the kernel `k` of a module with a buffer of 256 words and the number 7.
pub fn run_module(
    text: &str,
    threads: u32,
    blocks: u32,
    options: &Options,
) -> (Result<Report, Box<Trap>>, Vec<u32>) {
    let (module, errors) = oriole_syntax::parse("k.ptx", text);
    assert!(errors.is_empty(), "{errors:?}");
    let mut machine = Machine::new(&module).expect("a valid module");
    let arguments = ["out:u32[256]", "n:u32=7"];
    let arguments: Vec<Argument> = arguments
        .iter()
        .enumerate()
        .map(|(index, text)| Argument::parse(text, index, 0).expect("valid"))
        .collect();
    let values = machine.arguments(&arguments);
    let Value::Buffer(out) = values[0] else {
        unreachable!()
    };
    let launch = Launch {
        kernel: "k",
        grid: [blocks, 1, 1],
        block: [threads, 1, 1],
        dynamic_shared: 0,
        arguments: values,
    };
    let result = machine.launch(&launch, options);
    let words = machine
        .read(out)
        .chunks(4)
        .map(|bytes| u32::from_le_bytes(bytes.try_into().expect("four bytes")))
        .collect();
    (result, words)
}

pub fn run_with(
    body: &str,
    threads: u32,
    blocks: u32,
    options: &Options,
) -> (Result<Report, Box<Trap>>, Vec<u32>) {
    run_module(&kernel(body), threads, blocks, options)
}

pub fn run(body: &str, threads: u32) -> Vec<u32> {
    let (result, words) = run_with(body, threads, 1, &Options::default());
    result.unwrap_or_else(|trap| panic!("{trap}"));
    words
}

pub fn trap(body: &str, threads: u32) -> Trap {
    let options = Options {
        step_limit: 1_000_000,
        ..Options::default()
    };
    *run_with(body, threads, 1, &options)
        .0
        .expect_err("the kernel traps")
}

/// The trap of a kernel, whose kind is known.
pub fn trap_of(kind: TrapKind, body: &str, threads: u32) -> String {
    let found = trap(body, threads);
    assert_eq!(found.kind, kind, "{found}");
    found.message
}

/// What is noticed with all checks on.
pub fn findings(body: &str, threads: u32, blocks: u32) -> Vec<Finding> {
    let options = Options {
        check_uninitialized: true,
        check_races: true,
        ..Options::default()
    };
    run_with(body, threads, blocks, &options)
        .0
        .unwrap_or_else(|trap| panic!("{trap}"))
        .findings
}

/// Stores `%r1` of each thread.
pub const STORE: &str = "mad.wide.u32 %a1, %t, 4, %out; st.global.u32 [%a1], %r1;";
