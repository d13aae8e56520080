//! Runs kernels before and after a change, in the emulator, and compares every byte.

use crate::{BLOCK, GRID, INPUT_BYTES, Kernel, Random};
use oriole::{Module, Options, optimize, parse, print};
use oriole_emulator::{Finding, Launch, Machine, Options as Limits, Value};

/// The bytes every kernel reads: random, with numbers among them that programs trip over.
pub fn input() -> Vec<u8> {
    let mut random = Random::new(0x0121_01E5);
    let edges: [u32; 12] = [
        0,
        1,
        u32::MAX,
        0x7FFF_FFFF,
        0x8000_0000,
        0x3F80_0000,
        0x7F80_0000,
        0xFF80_0000,
        0x7FC0_0000,
        0x0000_0001,
        0x8000_0001,
        0x7C00_FC00,
    ];
    (0..INPUT_BYTES / 4)
        .flat_map(|_| {
            let word = if random.one_in(4) {
                *random.pick(&edges)
            } else {
                random.bits() as u32
            };
            word.to_le_bytes()
        })
        .collect()
}

/// Generated kernels are short; what a reduction makes of one may not end at all.
fn limits() -> Limits {
    Limits {
        step_limit: 50_000_000,
        ..Limits::default()
    }
}

/// What a kernel of a module writes.
///
/// # Errors
/// What is wrong with the module, or why the kernel stopped.
pub fn outputs(module: &Module, kernel: &str) -> Result<Vec<u8>, String> {
    run(module, kernel, &limits()).map(|(bytes, _)| bytes)
}

/// Reads of what nothing wrote, and races, that the emulator notices in a kernel; there should be none.
///
/// # Errors
/// As [`outputs`].
pub fn findings(module: &Module, kernel: &str) -> Result<Vec<Finding>, String> {
    let limits = Limits {
        check_uninitialized: true,
        check_races: true,
        ..limits()
    };
    run(module, kernel, &limits).map(|(_, findings)| findings)
}

fn run(module: &Module, kernel: &str, limits: &Limits) -> Result<(Vec<u8>, Vec<Finding>), String> {
    let mut machine = Machine::new(module).map_err(|error| error.to_string())?;
    let input = machine.buffer("input", &input());
    let output = machine.buffer("output", &vec![0; Kernel::output_bytes()]);
    let launch = Launch {
        kernel,
        grid: [GRID, 1, 1],
        block: [BLOCK, 1, 1],
        dynamic_shared: 0,
        arguments: vec![Value::Buffer(input), Value::Buffer(output)],
    };
    let report = machine
        .launch(&launch, limits)
        .map_err(|trap| trap.to_string())?;
    Ok((machine.read(output), report.findings))
}

/// Whether a kernel writes the same bytes before and after optimization, and, where that is promised, a second
/// optimization changes nothing: levels promise it, rows of passes do not.
///
/// # Errors
/// What went wrong, with the byte that differs.
pub fn compare(kernel: &Kernel, options: &Options) -> Result<(), String> {
    let before = parse(kernel.name.as_str(), kernel.module()).map_err(|error| error.to_string())?;
    let expected = outputs(&before, &kernel.name)?;
    let mut after = before.clone();
    optimize(&mut after, options).map_err(|error| error.to_string())?;
    // What is run is what was printed and read again: the printer is on trial too.
    let text = print(&after);
    let mut after =
        parse(kernel.name.as_str(), text.as_str()).map_err(|error| error.to_string())?;
    let found = outputs(&after, &kernel.name)?;
    let is_level = options
        .phases
        .last()
        .is_none_or(|last| last.pass.name == "start-over");
    if is_level {
        optimize(&mut after, options).map_err(|error| error.to_string())?;
    }
    if is_level && print(&after) != text {
        return Err(format!("{}: a second run changes the code", kernel.name));
    }
    match expected
        .iter()
        .zip(&found)
        .position(|(left, right)| left != right)
    {
        None => Ok(()),
        Some(byte) => Err(format!(
            "{}: byte {byte} is {:#04x} before and {:#04x} after",
            kernel.name, expected[byte], found[byte]
        )),
    }
}

/// Every level, every pass by itself, and all passes in a row.
pub fn optimizations() -> Vec<(String, Options)> {
    let levels = [
        ("-O0", oriole::Level::None),
        ("-O1", oriole::Level::Less),
        ("-O2", oriole::Level::Default),
        ("-O3", oriole::Level::Aggressive),
    ];
    let mut list: Vec<(String, Options)> = levels
        .into_iter()
        .map(|(name, level)| (name.to_owned(), Options::level(level)))
        .collect();
    let mut named = |name: &str, passes: &[&str]| {
        let phases = oriole_opt::select(passes.iter().copied()).expect("passes of the table");
        let options = Options {
            phases,
            ..Options::default()
        };
        list.push((name.to_owned(), options));
    };
    for pass in oriole_opt::PASSES {
        named(pass.name, &[pass.name]);
    }
    named(
        "all passes",
        &[
            "copy-propagation",
            "constant-folding",
            "algebraic-simplification",
            "gvn-cse",
            "copy-propagation",
            "dead-code",
        ],
    );
    named(
        "regrouping and commoning",
        &[
            "reassociate-and-common",
            "late-commoning",
            "copy-propagation",
            "reassociate-and-common",
            "back-copy-propagation",
            "dead-code",
        ],
    );
    list
}
