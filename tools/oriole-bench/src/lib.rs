//! Benchmarks of Oriole on large PTX, and the large PTX.
//!
//! `oriole-bench` measures time, `oriole-bench-memory` memory: counting allocations would slow the first down;
//! `oriole-bench-growth` measures how the time of the commands grows with the size of their input, `oriole-bench-machine` what
//! becomes of machine code.

#![forbid(unsafe_code)]
#![allow(clippy::print_stdout)]

pub mod clock;
mod growth;
mod hard_functions;
mod large_file;
pub mod machine;
pub mod ptxas;
pub mod size;

pub use growth::{GROWTH_SHAPES, GrowthShape};
pub use hard_functions::{SHAPES, Shape};
pub use large_file::{Mix, large_file};

use oriole_syntax::tree::Module;

/// What a benchmark works on, made before the clock starts.
#[derive(Debug)]
pub struct Prepared {
    /// The PTX.
    pub text: String,
    /// The same, parsed.
    pub module: Module,
}

impl Prepared {
    /// Parses a text for use in benchmarks.
    ///
    /// # Panics
    /// If it is not PTX.
    pub fn new(text: String) -> Prepared {
        let (module, errors) = oriole_syntax::parse("large.ptx", text.as_str());
        assert!(errors.is_empty(), "the large file is wrong: {errors:?}");
        Prepared { text, module }
    }
}

impl Prepared {
    /// How many instructions it has.
    pub fn instructions(&self) -> u64 {
        size::sizes(&self.module)
            .iter()
            .map(|(_, _, size)| size.all)
            .sum()
    }
}

/// A benchmark: a name and what is timed. The result is some number that depends on the work, so that it is done.
#[derive(Clone, Copy, Debug)]
pub struct Benchmark {
    /// What users call it.
    pub name: &'static str,
    /// Megabytes a second that it must reach, if it must.
    pub bar: Option<f64>,
    /// Instructions a second that it must reach, if it must.
    pub instructions: Option<f64>,
    /// The work.
    pub run: fn(&Prepared) -> usize,
}

/// All benchmarks.
pub const BENCHMARKS: &[Benchmark] = &[
    Benchmark {
        name: "parse",
        bar: None,
        instructions: None,
        run: |prepared| parse(&prepared.text).functions.len(),
    },
    Benchmark {
        name: "print",
        bar: None,
        instructions: None,
        run: |prepared| oriole_syntax::print(&prepared.module).len(),
    },
    Benchmark {
        name: "parse+print",
        bar: Some(150.0),
        instructions: None,
        run: |prepared| oriole_syntax::print(&parse(&prepared.text)).len(),
    },
    Benchmark {
        name: "round trip",
        bar: Some(30.0),
        instructions: None,
        run: |prepared| optimized(prepared, oriole::Level::None),
    },
    Benchmark {
        name: "opt -O2",
        bar: None,
        instructions: Some(500_000.0),
        run: |prepared| optimized(prepared, oriole::Level::Default),
    },
];

/// Parse, into SSA form, the passes of a level, out of SSA form, print.
fn optimized(prepared: &Prepared, level: oriole::Level) -> usize {
    let mut module = parse(&prepared.text);
    let report = oriole::optimize(&mut module, &oriole::Options::level(level));
    assert!(report.is_ok(), "the large file is sound");
    oriole_syntax::print(&module).len()
}

fn parse(text: &str) -> Module {
    oriole_syntax::parse("large.ptx", text).0
}
