//! How many thread-instructions the emulator executes in a second, on one core and on two.
//!
//! ```text
//! cargo bench -p oriole-emulator [-- 1|2|large]
//! ```
//!
//! Three kernels: a loop of integer and floating-point arithmetic, a tiled matrix product through shared memory (the
//! corpus' `sgemm_tiled`), and the same product as `-O0` code, which keeps its variables in local memory. Each runs a few
//! times; the fastest counts.

#![allow(
    clippy::print_stdout,
    reason = "a benchmark reports on its standard output"
)]

use std::path::PathBuf;
use std::time::Instant;

use oriole_emulator::{Argument, Launch, Machine, Options};

const LOOP: &str = "
.version 8.0
.target sm_80
.address_size 64
.visible .entry arithmetic(.param .u64 out, .param .u32 count)
{
    .reg .b64 %rd<4>; .reg .b32 %r<12>; .reg .f32 %f<8>; .reg .pred %p<3>;
    ld.param.u64 %rd1, [out];
    ld.param.u32 %r1, [count];
    mov.u32 %r2, %tid.x;
    mov.u32 %r3, %ctaid.x;
    mov.u32 %r4, %ntid.x;
    mad.lo.u32 %r5, %r3, %r4, %r2;
    cvt.rn.f32.u32 %f1, %r5;
    mov.f32 %f2, 0f3F000000;
    mov.u32 %r6, 0;
    mov.u32 %r7, %r5;
again:
    mad.lo.u32 %r7, %r7, 1664525, 1013904223;
    xor.b32 %r8, %r7, %r6;
    shr.u32 %r9, %r8, 16;
    add.u32 %r7, %r7, %r9;
    fma.rn.f32 %f1, %f1, %f2, %f2;
    mul.f32 %f3, %f1, %f2;
    add.f32 %f1, %f1, %f3;
    add.u32 %r6, %r6, 1;
    setp.lt.u32 %p1, %r6, %r1;
    @%p1 bra again;
    cvt.rzi.u32.f32 %r10, %f1;
    add.u32 %r7, %r7, %r10;
    mad.wide.u32 %rd2, %r5, 4, %rd1;
    st.global.u32 [%rd2], %r7;
    ret;
}
";

fn corpus(name: &str) -> String {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("../../tests/corpus/ptx")
        .join(name);
    std::fs::read_to_string(path).expect("a file of the corpus")
}

/// Thread-instructions per second of the fastest of three runs, and how many there were.
fn measure(
    text: &str,
    kernel: &str,
    grid: [u32; 3],
    block: [u32; 3],
    arguments: &[&str],
    cores: usize,
) -> (f64, u64) {
    let (module, errors) = oriole_syntax::parse("bench.ptx", text);
    assert!(errors.is_empty(), "{errors:?}");
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(cores)
        .build()
        .expect("threads");
    let mut best = 0.0f64;
    let mut count = 0;
    for _ in 0..3 {
        let mut machine = Machine::new(&module).expect("a valid module");
        let parsed: Vec<Argument> = arguments
            .iter()
            .enumerate()
            .map(|(index, text)| Argument::parse(text, index, 0).expect("valid"))
            .collect();
        let values = machine.arguments(&parsed);
        let launch = Launch {
            kernel,
            grid,
            block,
            dynamic_shared: 0,
            arguments: values,
        };
        let started = Instant::now();
        let report = pool
            .install(|| machine.launch(&launch, &Options::default()))
            .expect("runs");
        best = best.max(report.thread_instructions as f64 / started.elapsed().as_secs_f64());
        count = report.thread_instructions;
    }
    (best, count)
}

fn main() {
    let only: Option<usize> = std::env::args()
        .filter_map(|argument| argument.parse().ok())
        .next();
    let product = vec![
        "m:s32=256",
        "n:s32=256",
        "k:s32=256",
        "a:f32[65536]=random",
        "b:f32[65536]=random",
        "c:f32[65536]",
    ];
    let optimized = corpus("nvcc/sgemm.O3.sm_80.ptx");
    let unoptimized = corpus("nvcc/sgemm.O0.sm_80.ptx");
    let cases = [
        (
            "arithmetic loop",
            LOOP,
            "arithmetic",
            [64, 1, 1],
            [256, 1, 1],
            vec!["out:u32[16384]", "count:u32=4000"],
        ),
        (
            "sgemm_tiled -O3",
            &optimized[..],
            "sgemm_tiled",
            [16, 16, 1],
            [16, 16, 1],
            product.clone(),
        ),
        (
            "sgemm_tiled -O0",
            &unoptimized[..],
            "sgemm_tiled",
            [16, 16, 1],
            [16, 16, 1],
            product,
        ),
    ];
    if std::env::args().any(|argument| argument == "large") {
        let arguments = [
            "m:s32=1024",
            "n:s32=1024",
            "k:s32=1024",
            "a:f32[1048576]=random",
            "b:f32[1048576]=random",
            "c:f32[1048576]",
        ];
        let started = Instant::now();
        let (speed, count) = measure(
            &optimized,
            "sgemm_tiled",
            [64, 64, 1],
            [16, 16, 1],
            &arguments,
            2,
        );
        println!(
            "1024 x 1024 x 1024: {count} thread-instructions, {:.0} M/s on 2 cores, {:.1} s for three",
            speed / 1e6,
            started.elapsed().as_secs_f64()
        );
        return;
    }
    println!(
        "{:<20} {:>16} {:>14} {:>14} {:>8}",
        "kernel", "thread-instr.", "1 core M/s", "2 cores M/s", "ratio"
    );
    for (name, text, kernel, grid, block, arguments) in cases {
        let (one, count) = if only == Some(2) {
            (0.0, 0)
        } else {
            measure(text, kernel, grid, block, &arguments, 1)
        };
        let (two, count) = if only == Some(1) {
            (0.0, count)
        } else {
            measure(text, kernel, grid, block, &arguments, 2)
        };
        println!(
            "{name:<20} {count:>16} {:>14.0} {:>14.0} {:>8.2}",
            one / 1e6,
            two / 1e6,
            two / one
        );
    }
}
