//! Runs code before and after a pass, in the emulator. Each thread has operands of its own.

use oriole::{Keep, Module, Options, optimize, parse, print};
use oriole_emulator::{Launch, Machine, Options as Limits, Value};
use oriole_generate::Random;
use oriole_opt::Hooks;
use std::cell::OnceCell;
use std::collections::BTreeSet;
use std::sync::{Arc, OnceLock};

/// Threads of the launch of a case, each with operands of its own.
const THREADS: usize = 768;
/// Bytes of input of a thread: two operands, and random numbers.
const INPUT_BYTES: usize = 32;
/// Bytes of output of a thread of a case.
const OUTPUT_BYTES: usize = 64;

/// The launch of a kernel.
#[derive(Clone, Copy)]
pub struct Setup {
    /// The width of the operands, which says what edges are.
    pub width: u32,
    /// Threads of a block.
    pub block: [u32; 3],
    /// Threads, each with operands of its own.
    pub threads: usize,
    /// Bytes of output of a thread.
    pub output_bytes: usize,
}

/// Code that a pass is tried on.
#[derive(Clone, Copy)]
pub struct Case {
    /// The pass.
    pub pass: &'static str,
    /// Passes that run before it.
    pub earlier: &'static [&'static str],
    /// The counter that has to go up; none where the case is near to what the pass does and it need not do it.
    pub counter: Option<&'static str>,
    /// Widths to try: `$w` stands for one, `$d` for its double and `$h` for its half.
    pub widths: &'static [u32],
    /// Constants to try, which `$1` and `$2` stand for; nothing for edges of the width.
    pub constants: &'static [u64],
    /// Functions and variables of the module.
    pub module: &'static str,
    /// Threads of a block, where the pass has to know.
    pub block: Option<[u32; 3]>,
    /// Instructions between loads of the operands `%x1` and `%x2` and the end. They store to `[%out]`.
    pub body: &'static str,
}

/// A case in which a counter goes up.
pub const fn fires(pass: &'static str, counter: &'static str, body: &'static str) -> Case {
    Case {
        pass,
        earlier: &[],
        counter: Some(counter),
        widths: &[32],
        constants: &[],
        module: "",
        block: None,
        body,
    }
}

/// A case near the limits of a pass. If the pass must leave it alone, only the stored values tell.
pub const fn border(pass: &'static str, body: &'static str) -> Case {
    let case = fires(pass, "", body);
    Case {
        counter: None,
        ..case
    }
}

impl Case {
    /// This case at other widths.
    pub const fn widths(self, widths: &'static [u32]) -> Case {
        Case { widths, ..self }
    }

    /// This case with other constants.
    pub const fn constants(self, constants: &'static [u64]) -> Case {
        Case { constants, ..self }
    }

    /// This case in a module with functions and variables.
    pub const fn module(self, module: &'static str) -> Case {
        Case { module, ..self }
    }

    /// This case for a launch with a given number of threads per block.
    pub const fn block(self, block: [u32; 3]) -> Case {
        Case {
            block: Some(block),
            ..self
        }
    }

    /// This case with passes that run before.
    pub const fn earlier(self, earlier: &'static [&'static str]) -> Case {
        Case { earlier, ..self }
    }

    /// All modules the case stands for.
    pub fn modules(&self) -> Vec<(Setup, String)> {
        let mut modules = Vec::new();
        for &width in self.widths {
            let edges = edges(width);
            let choices = match self.constants {
                [] => &edges,
                given => given,
            };
            let count = |mark| match self.body.contains(mark) {
                true => choices.len(),
                false => 1,
            };
            let (first, second) = (count("$1"), count("$2"));
            for pair in 0..first * second {
                // Only some of the pairs are tried.
                if first > 1 && second > 1 && (pair / second * 5 + pair % second) % 11 != 0 {
                    continue;
                }
                let constants = [choices[pair / second], choices[pair % second]];
                let setup = Setup {
                    width,
                    block: self.block.unwrap_or([128, 1, 1]),
                    threads: THREADS,
                    output_bytes: OUTPUT_BYTES,
                };
                modules.push((setup, self.text(width, constants)));
            }
        }
        modules
    }

    fn text(&self, width: u32, constants: [u64; 2]) -> String {
        let directive = self.block.map_or(String::new(), |[x, y, z]| {
            format!(".reqntid {x}, {y}, {z}\n")
        });
        let mut registers = format!(".reg .b{width} %x<32>;\n");
        if width <= 32 {
            registers += "    .reg .b$d %w<32>;\n";
        }
        if width >= 32 {
            registers += "    .reg .b$h %n<32>;\n";
        }
        let prologue = format!("{directive}{{\n    {registers}{}", prologue(OUTPUT_BYTES));
        let text = format!(
            "{HEADER}{}{ENTRY}\n{prologue}    ld.global.b$w %x1, [%in];\n    ld.global.b$w %x2, [%in+8];\n{}\n    ret;\n}}\n",
            self.module, self.body
        );
        text.replace("$w", &width.to_string())
            .replace("$d", &(2 * width).to_string())
            .replace("$h", &(width / 2).to_string())
            .replace("$1", &constants[0].to_string())
            .replace("$2", &constants[1].to_string())
    }
}

/// The first lines of a module.
pub const HEADER: &str = ".version 8.6\n.target sm_90\n.address_size 64\n";

/// The kernel.
pub const ENTRY: &str = ".visible .entry kernel(.param .u64 in, .param .u64 out)";

/// Registers, and where a thread reads and writes.
pub fn prologue(output_bytes: usize) -> String {
    format!(
        "    .reg .b16 %h<32>;\n    .reg .b32 %r<64>;\n    .reg .b64 %rd<64>;\n    .reg .f32 %f<32>;\n    \
         .reg .f64 %fd<32>;\n    .reg .pred %p<32>;\n    .reg .b64 %in, %out, %d<32>;\n    .reg .b32 %index, %size;\n    \
         ld.param.u64 %in, [in];\n    ld.param.u64 %out, [out];\n    {INDEX}    \
         mad.wide.u32 %in, %index, {INPUT_BYTES}, %in;\n    mad.wide.u32 %out, %index, {output_bytes}, %out;\n"
    )
}

/// The number of the thread in the launch.
const INDEX: &str = "mov.u32 %index, %ctaid.x;\n    mov.u32 %size, %ntid.y;\n    mov.u32 %r63, %tid.y;\n    \
    mad.lo.u32 %index, %index, %size, %r63;\n    mov.u32 %size, %ntid.x;\n    mov.u32 %r63, %tid.x;\n    \
    mad.lo.u32 %index, %index, %size, %r63;\n    ";

/// Numbers of a width where things change.
pub fn edges(width: u32) -> Vec<u64> {
    let all = u64::MAX >> (64 - width);
    let top = 1u64 << (width - 1);
    let width = u64::from(width);
    vec![
        0,
        1,
        2,
        3,
        5,
        8,
        width - 1,
        width,
        all,
        all - 1,
        all & !7,
        top,
        top - 1,
        top + 1,
        all >> (width / 2),
        (all >> (width / 2)) + 1,
    ]
}

/// Numbers that floating-point arithmetic stumbles over: infinities, NaNs, zeros, denormal numbers, and plain ones.
pub fn floats(width: u32) -> Vec<u64> {
    match width {
        16 => vec![
            0x7C00, 0xFC00, 0x7E01, 0x8000, 0x0001, 0x3C00, 0xBC00, 0x7BFF,
        ],
        64 => [
            f64::INFINITY,
            f64::NEG_INFINITY,
            f64::NAN,
            -0.0,
            f64::MIN_POSITIVE / 3.0,
            1.0,
            -1.5,
            f64::MAX,
        ]
        .map(f64::to_bits)
        .to_vec(),
        _ => [
            f32::INFINITY,
            f32::NEG_INFINITY,
            f32::NAN,
            -0.0,
            f32::MIN_POSITIVE / 3.0,
            1.0,
            -1.5,
            f32::MAX,
        ]
        .map(|number| number.to_bits().into())
        .to_vec(),
    }
}

/// No divisor of the number of pairs of edges.
const STRIDE: usize = 337;

/// The operands of all threads: all pairs of edges, then random pairs.
fn input(width: u32) -> &'static [u8] {
    static INPUTS: [OnceLock<Vec<u8>>; 3] = [const { OnceLock::new() }; 3];
    INPUTS[width as usize / 32].get_or_init(|| new_input(width))
}

fn new_input(width: u32) -> Vec<u8> {
    let mut random = Random::new(0x9E37_79B9);
    let all = u64::MAX >> (64 - width);
    let choices = [edges(width), floats(width)].concat();
    let mut bytes = Vec::new();
    for thread in 0..THREADS {
        let draw = |random: &mut Random| match random.below(3) {
            0 => *random.pick(&choices),
            1 => random.bits() & 63,
            _ => random.bits() & all,
        };
        let edges = choices.len();
        let [one, other] = match thread < edges * edges {
            true => {
                // So that the first threads have some of all.
                let pair = thread * STRIDE % (edges * edges);
                [choices[pair / edges], choices[pair % edges]]
            }
            false => {
                let one = draw(&mut random);
                match random.below(4) {
                    0 => [
                        one,
                        one.wrapping_add(random.bits() & 3).wrapping_sub(1) & all,
                    ],
                    _ => [one, draw(&mut random)],
                }
            }
        };
        bytes.extend(one.to_le_bytes());
        bytes.extend(other.to_le_bytes());
        for _ in 2..INPUT_BYTES / 8 {
            bytes.extend((random.bits()).to_le_bytes());
        }
    }
    bytes
}

/// The bytes that a kernel stores.
fn outputs(text: &str, setup: &Setup) -> Result<Vec<u8>, String> {
    let module = parse("case.ptx", text).map_err(|error| error.to_string())?;
    let mut machine = Machine::new(&module).map_err(|error| error.to_string())?;
    let input = machine.buffer("in", &input(setup.width)[..setup.threads * INPUT_BYTES]);
    let output = machine.buffer("out", &vec![0xA5; setup.threads * setup.output_bytes]);
    let launch = Launch {
        kernel: "kernel",
        grid: [
            setup.threads as u32 / setup.block.iter().product::<u32>(),
            1,
            1,
        ],
        block: setup.block,
        dynamic_shared: 0,
        arguments: vec![Value::Buffer(input), Value::Buffer(output)],
    };
    let limits = Limits {
        step_limit: 20_000_000,
        parallel: false,
        ..Limits::default()
    };
    machine
        .launch(&launch, &limits)
        .map_err(|trap| trap.to_string())?;
    Ok(machine.read(output))
}

/// Phases of these names, all of whose work is kept.
pub fn options(passes: &[&str]) -> Options {
    Options {
        phases: oriole_opt::select(passes.iter().copied()).expect("passes"),
        keep: Keep::All,
        hooks: Hooks {
            back_propagation: Some(Arc::new(|_: &_, _, _| true)),
        },
        ..Options::default()
    }
}

/// Code that passes are tried on.
pub struct Trial {
    module: Module,
    text: String,
    setup: Setup,
    /// The bytes that it stores, once they are needed.
    expected: OnceCell<Vec<u8>>,
}

impl Trial {
    /// Reads code.
    pub fn new(text: &str, setup: Setup) -> Result<Trial, String> {
        let module = parse("case.ptx", text).map_err(|error| error.to_string())?;
        Ok(Trial {
            text: print(&module),
            module,
            setup,
            expected: OnceCell::new(),
        })
    }

    /// Runs passes, and the code before and after them. Gives the counters that went up.
    pub fn check(&self, passes: &[&str]) -> Result<BTreeSet<&'static str>, String> {
        let mut module = self.module.clone();
        let report = optimize(&mut module, &options(passes)).map_err(|error| error.to_string())?;
        let counters: BTreeSet<_> = report.statistics.iter().map(|(name, _)| name).collect();
        let after = print(&module);
        if after == self.text {
            return Ok(counters);
        }
        if self.expected.get().is_none() {
            let bytes = outputs(&self.text, &self.setup)?;
            self.expected.get_or_init(|| bytes);
        }
        let expected = self.expected.get().expect("computed above");
        let what = format!("{}\nbecame\n{after}", self.text);
        let found = outputs(&after, &self.setup)
            .map_err(|error| format!("behind {passes:?}: {error}\n{what}"))?;
        if *expected == found {
            return Ok(counters);
        }
        let differs = |&byte: &usize| expected[byte] != found[byte];
        let byte = (0..expected.len()).find(differs).expect("some byte");
        let thread = byte / self.setup.output_bytes;
        let operands = &input(self.setup.width)[thread * INPUT_BYTES..][..16];
        let number =
            |from: usize| u64::from_le_bytes(operands[from..from + 8].try_into().expect("8 bytes"));
        let at = byte / 8 * 8;
        Err(format!(
            "behind {passes:?}, byte {} of what is stored for {:#x} and {:#x} differs: {:x?} was {:x?}\n{what}",
            byte % self.setup.output_bytes,
            number(0),
            number(8),
            &found[at..at + 8],
            &expected[at..at + 8],
        ))
    }
}
