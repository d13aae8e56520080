//! Small kernels for analyses: values of few bits, divergent control flow and loops, of every instruction that can be evaluated.
//!
//! Mnemonics come from [`crate::mnemonics`] and special registers from the table of all, so new ones take part without a list.
//! A kernel takes two pointers and a number, `in`, `out` and `n`. Each of [`THREADS`] threads reads [`INPUT_BYTES`] of its own from
//! `in` and writes [`OUTPUT_BYTES`] to `out`.

use crate::forms::Width;
use crate::mnemonics::{ValueForm, value_forms};
use crate::random::Random;
use oriole_emulator::{Launch, Machine, Options, Value};
use oriole_isa::{Opcode, SpecialRegister, SpecialRegisterKind, evaluate};
use std::fmt::Write;
use std::sync::OnceLock;

/// Threads of a launch.
pub const THREADS: usize = 128;
/// Bytes of input of a thread.
pub const INPUT_BYTES: usize = 32;
/// Bytes of output of a thread.
pub const OUTPUT_BYTES: usize = 96;

/// Registers of each width that statements read and write.
const REGISTERS: [usize; 4] = [6, 4, 10, 5];
/// Loops nest this deep.
const DEEPEST: usize = 2;
/// A number for `n`.
const NUMBER: u32 = 11;

/// The kernel of a seed, as a module, and the threads of a block. With clocks, a changed kernel may write other bytes.
pub fn generate(seed: u64, clocks: bool) -> (String, [u32; 3]) {
    let mut generator = Generator {
        random: Random::new(seed ^ 0x5EED),
        body: String::new(),
        labels: 0,
        depth: 0,
        loops: 0,
        together: true,
        clocks,
    };
    generator.prologue();
    for _ in 0..14 + seed % 16 {
        generator.statement();
    }
    generator.epilogue();
    let block = *Random::new(seed).pick(&[[64, 1, 1], [8, 8, 1], [16, 2, 4]]);
    (generator.finish(), block)
}

/// Runs a kernel. Gives the bytes that it writes.
///
/// # Errors
/// Why the module cannot be run, or what stopped it.
pub fn run(module: &oriole::Module, block: [u32; 3], options: &Options) -> Result<Vec<u8>, String> {
    let mut machine = Machine::new(module).map_err(|error| error.to_string())?;
    let arguments = arguments(&mut machine);
    let Some(&Value::Buffer(output)) = arguments.get(1) else {
        unreachable!("the second one is a buffer");
    };
    let launch = Launch {
        kernel: "small",
        grid: [THREADS as u32 / block.iter().product::<u32>(), 1, 1],
        block,
        dynamic_shared: 0,
        arguments,
    };
    machine
        .launch(&launch, options)
        .map_err(|trap| trap.to_string())?;
    Ok(machine.read(output))
}

/// The arguments of a launch: two buffers and a number.
pub fn arguments(machine: &mut Machine) -> Vec<Value> {
    let input: Vec<u8> = crate::differential::input()
        .into_iter()
        .cycle()
        .take(THREADS * INPUT_BYTES)
        .collect();
    let input = machine.buffer("in", &input);
    let output = machine.buffer("out", &[0; THREADS * OUTPUT_BYTES]);
    vec![
        Value::Buffer(input),
        Value::Buffer(output),
        Value::Bytes(NUMBER.to_le_bytes().to_vec()),
    ]
}

/// Forms by opcode that give something certain of all operands, or do if the last operand is odd.
fn certain() -> &'static [Vec<&'static ValueForm>] {
    static CERTAIN: OnceLock<Vec<Vec<&ValueForm>>> = OnceLock::new();
    CERTAIN.get_or_init(|| {
        let mut random = Random::new(1);
        let mut is_certain = |form: &&ValueForm| {
            let draws = (0..60).all(|round| {
                let draw = |random: &mut Random| match round % 3 {
                    0 => random.bits() & 63,
                    1 => random.bits(),
                    _ => random.bits() << (random.bits() & 63),
                };
                let mut inputs: Vec<u128> = form
                    .sources
                    .iter()
                    .map(|_| draw(&mut random).into())
                    .collect();
                if divides(form) {
                    inputs[1] |= 1;
                }
                evaluate(&form.mnemonic, &inputs).is_some()
            });
            draws && !form.has_carry()
        };
        let by_opcode = value_forms().values();
        let chosen = by_opcode.map(|forms| forms.iter().filter(&mut is_certain).collect());
        chosen.filter(|forms: &Vec<_>| !forms.is_empty()).collect()
    })
}

fn divides(form: &ValueForm) -> bool {
    matches!(form.mnemonic.opcode(), Opcode::Div | Opcode::Rem) && !form.has_floats()
}

/// The special registers that the emulator knows.
fn specials() -> &'static [(String, Width)] {
    static SPECIALS: OnceLock<Vec<(String, Width)>> = OnceLock::new();
    SPECIALS.get_or_init(|| {
        let texts = SpecialRegisterKind::ALL.iter().flat_map(|kind| {
            let text = kind.text();
            ["", ".x", ".y", ".z"].map(|component| format!("{text}{component}"))
        });
        let is_one = |text: &String| {
            let found = SpecialRegister::from_text(text);
            found.is_some_and(|own| {
                own.component().is_some() || !text.contains("ctaid") && !text.contains("tid")
            })
        };
        let mut known = Vec::new();
        for text in texts.filter(is_one) {
            let own = SpecialRegister::from_text(&text).expect("it was filtered");
            let Some(width @ (Width::Word | Width::Double)) = Width::of(own.scalar_type()) else {
                continue;
            };
            let module = format!(
                "{HEADER}.reg .b64 %d; .reg .b32 %r; mov{} {}, {text}; ret; }}",
                width.type_name(),
                width.stem()
            );
            let is_run = oriole::parse("probe", module)
                .is_ok_and(|module| run(&module, [64, 1, 1], &Options::default()).is_ok());
            if is_run {
                known.push((text, width));
            }
        }
        known
    })
}

const HEADER: &str = ".version 8.6\n.target sm_90\n.address_size 64\n\
    .visible .entry small(.param .u64 in, .param .u64 out, .param .u32 n)\n{\n";

struct Generator {
    random: Random,
    body: String,
    labels: u32,
    /// Branches and loops around this place.
    depth: usize,
    loops: u32,
    /// True where all lanes of a warp are together.
    together: bool,
    /// Whether to read what differs from one moment to the next.
    clocks: bool,
}

impl Generator {
    fn line(&mut self, text: impl AsRef<str>) {
        let _ = writeln!(self.body, "\t{}", text.as_ref());
    }

    fn label(&mut self) -> String {
        self.labels += 1;
        format!("$L{}", self.labels)
    }

    fn register(&mut self, width: Width) -> String {
        let count = REGISTERS[width as usize];
        format!("{}{}", width.stem(), self.random.below(count))
    }

    /// A register or a number that is mostly small.
    fn operand(&mut self, width: Width) -> String {
        if width == Width::Predicate || !self.random.one_in(3) {
            return self.register(width);
        }
        self.constant(width)
    }

    fn constant(&mut self, width: Width) -> String {
        let bits = match self.random.below(8) {
            0 => 1 << self.random.below(64),
            1 => (1u64 << self.random.below(63)).wrapping_sub(1),
            2 => 0u64.wrapping_sub(self.random.below(9) as u64),
            3 => 0x7FFF_FFFF,
            _ => self.random.below(40) as u64,
        };
        match width {
            Width::Half => (bits as i16).to_string(),
            Width::Word => (bits as i32).to_string(),
            _ => (bits as i64).to_string(),
        }
    }

    fn prologue(&mut self) {
        self.body.push_str(
            "\tld.param.u64 %in, [in];\n\tld.param.u64 %out, [out];\n\tmov.u32 %thread, %tid.z;\n\tmov.u32 %other, %ntid.y;\n\
             \tmov.u32 %index, %tid.y;\n\tmad.lo.u32 %thread, %thread, %other, %index;\n\tmov.u32 %other, %ntid.x;\n\
             \tmov.u32 %index, %tid.x;\n\tmad.lo.u32 %thread, %thread, %other, %index;\n\tmov.u32 %index, %ctaid.x;\n\
             \tmad.lo.u32 %index, %index, 64, %thread;\n\tmad.wide.u32 %own, %index, 32, %in;\n\
             \tmad.wide.u32 %out, %index, 96, %out;\n\tld.param.u32 %n, [n];\n\tmov.u64 %cell, cells;\n\
             \tmad.wide.u32 %mine, %thread, 8, %cell;\n\tst.shared.u64 [%mine], 77;\n\tst.local.v2.b32 [frame], {%thread, 5};\n\
             \tst.local.v2.b32 [frame+8], {%n, %index};\n\tbar.sync 0;\n",
        );
        for (index, &width) in [Width::Half, Width::Word, Width::Double].iter().enumerate() {
            let (name, bits) = (width.type_name(), width.stem());
            for register in 0..REGISTERS[width as usize] {
                let offset = 8 * (register % 3) + 2 * index * (register % 2);
                let offset = offset & !7 | offset & 4;
                match register % 4 {
                    0 => self.line(format!("mov{name} {bits}{register}, {};", 3 * register)),
                    1 => self.line(format!(
                        "ld.global{name} {bits}{register}, [%own+{}];",
                        offset & !7
                    )),
                    2 => self.line(format!(
                        "ld.global{name} {bits}{register}, [%in+{}];",
                        offset & !7
                    )),
                    _ => {
                        self.line(format!("ld.global{name} {bits}{register}, [%own];"));
                        self.line(format!(
                            "and.b{} {bits}{register}, {bits}{register}, 15;",
                            &name[2..]
                        ));
                    }
                }
            }
        }
        for register in 0..REGISTERS[0] {
            let (a, b) = (self.register(Width::Word), self.operand(Width::Word));
            self.line(format!("setp.lt.s32 %p{register}, {a}, {b};"));
        }
    }

    /// Stores all registers.
    fn epilogue(&mut self) {
        let mut at = 0;
        for (width, bytes) in [(Width::Double, 8), (Width::Word, 4), (Width::Half, 2)] {
            for register in 0..REGISTERS[width as usize] {
                let (kind, stem) = (width.type_name(), width.stem());
                self.line(format!("st.global{kind} [%out+{at}], {stem}{register};"));
                at += bytes;
            }
        }
        for register in 0..REGISTERS[0] {
            self.line(format!("selp.b16 %h0, 1, 2, %p{register};"));
            self.line(format!("st.global.b8 [%out+{}], %h0;", at + register));
        }
        self.line("ret;");
    }

    fn finish(self) -> String {
        let mut registers = String::new();
        for width in Width::ALL {
            let (kind, stem) = (width.type_name(), width.stem());
            let _ = writeln!(
                registers,
                "\t.reg {kind} {stem}<{}>;",
                REGISTERS[width as usize]
            );
        }
        format!(
            "{HEADER}{registers}\t.reg .b64 %in, %out, %own, %cell, %mine, %address;\n\
             \t.reg .b32 %index, %thread, %other, %n, %c<{0}>, %e<{0}>;\n\t.reg .b64 %w<{0}>;\n\t.reg .pred %q<{0}>, %s;\n\
             \t.shared .align 8 .b8 cells[1024];\n\t.local .align 8 .b8 frame[16];\n{1}}}\n",
            self.loops + 1,
            self.body
        )
    }

    fn statement(&mut self) {
        match self.random.below(100) {
            0..=33 => self.value(),
            34..=45 => self.narrow(),
            46..=55 => self.compare(),
            56..=61 => self.select(),
            62..=70 if self.depth <= DEEPEST => self.branch(),
            71..=79 if self.depth <= DEEPEST => self.repeat(),
            80..=87 => self.load(),
            88..=92 => self.special(),
            93..=96 if self.together => self.exchange(),
            97..=98 => self.atomic(),
            _ => self.value(),
        }
    }

    /// Any instruction.
    fn value(&mut self) {
        let forms = certain();
        let of_opcode = self.random.pick(forms);
        let mut form = *self.random.pick(of_opcode);
        // Most analyses know more of integers.
        for _ in 0..4 {
            if !form.has_floats() {
                break;
            }
            let of_opcode = self.random.pick(forms);
            form = *self.random.pick(of_opcode);
        }
        let mut names = Vec::new();
        for index in 0..form.sources.len() {
            let Some(width) = form.source_width(index) else {
                names.push(self.random.below(256).to_string());
                continue;
            };
            let mut name = match form.has_floats() {
                true => self.register(width),
                false => self.operand(width),
            };
            if divides(form) && index == 1 {
                let stem = width.stem();
                self.line(format!("or{} {stem}0, {name}, 1;", width.type_name()));
                name = format!("{stem}0");
            }
            names.push(name);
        }
        let guard = match self.random.one_in(8) {
            true => format!("@{} ", self.register(Width::Predicate)),
            false => String::new(),
        };
        let result = self.register(form.result_width());
        let text = &form.text;
        self.line(format!("{guard}{text} {result}, {};", names.join(", ")));
    }

    /// Something that leaves few numbers.
    fn narrow(&mut self) {
        let (a, r) = (self.register(Width::Word), self.register(Width::Word));
        let small = 1 + self.random.below(60);
        let line = match self.random.below(9) {
            0 => format!("and.b32 {r}, {a}, {small};"),
            1 => format!("shr.u32 {r}, {a}, {};", small % 32),
            2 => format!("shr.s32 {r}, {a}, {};", small % 32),
            3 => format!("rem.u32 {r}, {a}, {small};"),
            4 => format!("rem.s32 {r}, {a}, {small};"),
            5 => format!("min.u32 {r}, {a}, {small};"),
            6 => format!("max.s32 {r}, {a}, -{small};"),
            7 => format!("cvt.s64.s32 {}, {a};", self.register(Width::Double)),
            _ => format!("cvt.u64.u32 {}, {a};", self.register(Width::Double)),
        };
        self.line(line);
    }

    fn compare(&mut self) {
        let relation = *self.random.pick(&["lt", "le", "gt", "ge", "eq", "ne"]);
        let sign = *self.random.pick(&["s", "u"]);
        let (width, bits) =
            *self
                .random
                .pick(&[(Width::Word, 32), (Width::Word, 32), (Width::Double, 64)]);
        let (p, a, b) = (
            self.register(Width::Predicate),
            self.register(width),
            self.operand(width),
        );
        self.line(format!("setp.{relation}.{sign}{bits} {p}, {a}, {b};"));
    }

    fn select(&mut self) {
        let (r, a, b, p) = (
            self.register(Width::Word),
            self.operand(Width::Word),
            self.operand(Width::Word),
            self.register(Width::Predicate),
        );
        self.line(format!("selp.b32 {r}, {a}, {b}, {p};"));
    }

    fn statements(&mut self, most: usize) {
        self.depth += 1;
        for _ in 0..1 + self.random.below(most) {
            self.statement();
        }
        self.depth -= 1;
    }

    fn branch(&mut self) {
        let before = std::mem::replace(&mut self.together, false);
        let (predicate, other, end) = (self.register(Width::Predicate), self.label(), self.label());
        let negation = *self.random.pick(&["", "!"]);
        self.line(format!("@{negation}{predicate} bra {other};"));
        self.statements(4);
        if self.random.one_in(2) {
            self.line(format!("bra {end};"));
            let _ = writeln!(self.body, "{other}:");
            self.statements(4);
            let _ = writeln!(self.body, "{end}:");
        } else {
            let _ = writeln!(self.body, "{other}:");
        }
        self.together = before;
    }

    /// A loop that ends: up or down to a number, from one near to where numbers wrap, or left on the way.
    fn repeat(&mut self) {
        let before = self.together;
        let (head, end) = (self.label(), self.label());
        let number = self.loops;
        self.loops += 1;
        let (counter, bound, test) = (
            format!("%c{number}"),
            format!("%e{number}"),
            format!("%q{number}"),
        );
        // The bound is a constant, uniform, or different in each lane.
        let uniform = match self.random.below(3) {
            0 => {
                let most = 1 + self.random.below(9);
                self.line(format!("mov.b32 {bound}, {most};"));
                true
            }
            1 => {
                let mask = 1 + self.random.below(14);
                self.line(format!("and.b32 {bound}, %n, {mask};"));
                true
            }
            _ => {
                let a = self.register(Width::Word);
                let mask = 1 + self.random.below(14);
                self.line(format!("and.b32 {bound}, {a}, {mask};"));
                false
            }
        };
        let leaves = self.random.one_in(4);
        self.together &= uniform && !leaves;
        let kind = self.random.below(4);
        let step = 1 + self.random.below(3);
        let wild = self.constant(Width::Word);
        match kind {
            0 => {
                let first = self.random.below(4);
                self.line(format!("mov.b32 {counter}, {first};"));
            }
            1 => self.line(format!("add.s32 {counter}, {bound}, 1;")),
            _ => {
                self.line(format!("mov.b32 {counter}, {wild};"));
                self.line(format!("add.s32 {bound}, {counter}, {bound};"));
            }
        }
        let wide = format!("%w{number}");
        self.line(format!("mov.b64 {wide}, {wild};"));
        let _ = writeln!(self.body, "{head}:");
        self.statements(4);
        for _ in 0..1 + self.random.below(2) {
            let (r, d) = (self.register(Width::Word), self.register(Width::Double));
            let line = match self.random.below(5) {
                0 => format!("add.s32 {r}, {counter}, {};", self.random.below(9)),
                1 => format!("mul.lo.s32 {r}, {counter}, {};", self.random.below(9)),
                2 => format!("cvt.u64.u32 {d}, {counter};"),
                3 => format!("add.s64 {d}, {wide}, {};", self.random.below(9)),
                _ => format!("sub.s32 {r}, {bound}, {counter};"),
            };
            self.line(line);
        }
        self.line(format!("add.s64 {wide}, {wide}, {step};"));
        if leaves {
            let p = self.register(Width::Predicate);
            self.line(format!("@{p} bra {end};"));
        }
        match kind {
            0 => {
                let sign = *self.random.pick(&["s32", "u32"]);
                self.line(format!("add.s32 {counter}, {counter}, {step};"));
                self.line(format!("setp.lt.{sign} {test}, {counter}, {bound};"));
            }
            1 => {
                self.line(format!("add.s32 {counter}, {counter}, -1;"));
                self.line(format!("setp.gt.s32 {test}, {counter}, 0;"));
            }
            // The counter may wrap here, and the first iteration may meet the bound.
            _ => {
                self.line(format!("setp.ne.s32 {test}, {counter}, {bound};"));
                self.line(format!("add.s32 {counter}, {counter}, 1;"));
            }
        }
        self.line(format!("@{test} bra {head};"));
        let _ = writeln!(self.body, "{end}:");
        let r = self.register(Width::Word);
        self.line(format!("mov.b32 {r}, {counter};"));
        self.together = before;
    }

    fn load(&mut self) {
        let (r, a) = (self.register(Width::Word), self.register(Width::Word));
        let line = match self.random.below(8) {
            0 => format!("ld.param.u32 {r}, [n];"),
            1 => format!("ld.global.u8 {r}, [%in+{}];", self.random.below(32)),
            2 => format!("ld.global.s8 {r}, [%own+{}];", self.random.below(32)),
            3 => format!("ld.local.u32 {r}, [frame+{}];", 4 * self.random.below(4)),
            4 => format!("ld.shared.u16 {r}, [cells+{}];", 8 * self.random.below(64)),
            5 => format!("st.local.u32 [frame+{}], {a};", 4 * self.random.below(4)),
            6 => format!("ld.volatile.global.u32 {r}, [%in];"),
            _ => {
                self.line(format!("and.b32 %other, {a}, 60;"));
                self.line("cvt.u64.u32 %address, %other;");
                self.line("add.s64 %address, %in, %address;");
                format!("ld.global.u32 {r}, [%address];")
            }
        };
        self.line(line);
    }

    fn special(&mut self) {
        let (text, width) = self.random.pick(specials()).clone();
        let is_volatile =
            SpecialRegister::from_text(&text).is_some_and(SpecialRegister::is_volatile);
        if is_volatile && !self.clocks {
            return;
        }
        let register = self.register(width);
        self.line(format!("mov{} {register}, {text};", width.type_name()));
    }

    /// An operation of the whole warp. Lanes may part and meet at it in different places.
    fn exchange(&mut self) {
        let (r, p) = (self.register(Width::Word), self.register(Width::Predicate));
        let kind = self.random.below(8);
        let lane = self.random.below(32);
        let operation = |a: &str| match kind {
            0 => format!("shfl.sync.idx.b32 {r}, {a}, {lane}, 31, -1;"),
            1 | 2 => format!("shfl.sync.bfly.b32 {r}, {a}, {lane}, 31, -1;"),
            3 => format!("shfl.sync.up.b32 {r}, {a}, {lane}, 0, -1;"),
            4 => format!("vote.sync.ballot.b32 {r}, {p}, -1;"),
            5 => format!("vote.sync.any.pred {p}, {p}, -1;"),
            6 => format!("match.any.sync.b32 {r}, {a}, -1;"),
            _ => format!("redux.sync.add.s32 {r}, {a}, -1;"),
        };
        if !self.random.one_in(3) {
            let a = self.register(Width::Word);
            self.line(operation(&a));
            return;
        }
        let (a, b) = (self.constant(Width::Word), self.constant(Width::Word));
        let (test, other, end) = (self.register(Width::Predicate), self.label(), self.label());
        self.line(format!("@{test} bra {other};"));
        self.line(format!("mov.b32 %other, {a};"));
        self.line(operation("%other"));
        self.line(format!("bra {end};"));
        let _ = writeln!(self.body, "{other}:");
        self.line(format!("mov.b32 %other, {b};"));
        self.line(operation("%other"));
        self.line("add.s32 %other, %other, 1;");
        let _ = writeln!(self.body, "{end}:");
    }

    fn atomic(&mut self) {
        let (r, a) = (self.register(Width::Word), self.register(Width::Word));
        let line = match self.random.below(3) {
            0 => format!(
                "atom.shared.add.u32 {r}, [cells+{}], {a};",
                512 + 8 * self.random.below(4)
            ),
            1 => format!("atom.shared.exch.b32 {r}, [%mine+4], {a};"),
            _ => {
                let guard = match self.random.one_in(2) {
                    true => format!("@{} ", self.register(Width::Predicate)),
                    false => String::new(),
                };
                format!("{guard}activemask.b32 {r};")
            }
        };
        self.line(line);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernels_run() {
        assert!(specials().len() >= 20, "{:?}", specials());
        assert!(certain().len() >= 40, "{} opcodes", certain().len());
        for seed in 0..60 {
            let (text, block) = generate(seed, true);
            let module = oriole::parse("small", text.as_str()).unwrap();
            let options = Options {
                step_limit: 2_000_000,
                ..Options::default()
            };
            let ran = run(&module, block, &options);
            assert!(ran.is_ok(), "seed {seed}: {ran:?}\n{text}");
        }
    }
}
