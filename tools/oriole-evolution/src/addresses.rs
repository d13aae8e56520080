//! Kernels at random whose addresses are made of threads, parameters and loops by all kinds of arithmetic.

use oriole_emulator::SplitMix64;
use std::fmt::Write;

/// Bytes of the buffer that global accesses go to, and of shared memory.
pub const GLOBAL_BYTES: usize = 1 << 20;
const SHARED_BYTES: u32 = 1 << 15;

/// A kernel `addresses(.u64 data, .u32 n, .u32 m)` and a launch of it.
#[derive(Clone, Debug)]
pub struct AddressKernel {
    /// The module.
    pub text: String,
    /// The shape of blocks.
    pub block: [u32; 3],
    /// The arguments `n` and `m`.
    pub numbers: [u32; 2],
}

struct Writer {
    random: SplitMix64,
    text: String,
    /// Registers of 32 bits that hold something here.
    values: Vec<u32>,
    /// Predicates.
    predicates: Vec<u32>,
    registers: u32,
    predicate_count: u32,
    wide: u32,
    labels: u32,
}

impl Writer {
    fn below(&mut self, bound: u64) -> u64 {
        self.random.next_number() % bound
    }

    fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len() as u64) as usize]
    }

    fn line(&mut self, line: &str) {
        let _ = writeln!(self.text, "    {line}");
    }

    /// A new register with what an instruction computes.
    fn define(&mut self, instruction: &str, operands: &str) -> u32 {
        let register = self.registers;
        self.registers += 1;
        self.line(&format!("{instruction} %r{register}, {operands};"));
        self.values.push(register);
        register
    }

    fn value(&mut self) -> String {
        // Recent values more often.
        let values = self.values.clone();
        let recent = values.len().saturating_sub(4);
        let register = match self.below(2) {
            0 => self.pick(&values),
            _ => self.pick(&values[recent..]),
        };
        format!("%r{register}")
    }

    fn number(&mut self) -> String {
        let small = self.below(40);
        let power = 1u64 << self.below(12);
        let number = match self.below(4) {
            0 => small,
            1 => power,
            2 => power - 1,
            _ => return format!("-{}", small + 1),
        };
        number.to_string()
    }

    fn either(&mut self) -> String {
        match self.below(3) {
            0 => self.number(),
            _ => self.value(),
        }
    }

    fn predicate(&mut self) -> u32 {
        let comparison = self.pick(&["lt", "le", "gt", "ge", "eq", "ne"]);
        let kind = self.pick(&["u32", "s32"]);
        let (left, right) = (self.value(), self.either());
        let predicate = self.predicate_count;
        self.predicate_count += 1;
        let line = format!("setp.{comparison}.{kind} %p{predicate}, {left}, {right};");
        self.line(&line);
        self.predicates.push(predicate);
        predicate
    }

    /// Computes something.
    fn compute(&mut self) {
        let (a, b, c) = (self.value(), self.either(), self.either());
        let small = self.below(32);
        let length = 1 + self.below(12);
        match self.below(26) {
            22 => {
                // By something that is the same for all lanes, and not known.
                let number = self.pick(&[0, 1]);
                let divisor = self.define("add.s32", &format!("%r{number}, 1"));
                let instruction = self.pick(&["rem.u32", "div.u32", "rem.s32", "div.s32"]);
                self.define(instruction, &format!("{a}, %r{divisor}"))
            }
            23 => {
                // A swizzle.
                let (width, from) = (1 + self.below(5), 1 + self.below(6));
                let moved = self.define("shr.u32", &format!("{a}, {from}"));
                let mask = (1 << width) - 1;
                let part = self.define("and.b32", &format!("%r{moved}, {mask}"));
                self.define("xor.b32", &format!("{a}, %r{part}"))
            }
            24 => {
                // With bits that are the same for all lanes, and not known.
                let number = self.pick(&[0, 1]);
                let instruction = self.pick(&["and.b32", "or.b32", "xor.b32"]);
                self.define(instruction, &format!("{a}, %r{number}"))
            }
            25 => {
                let (wide, first, second) = (self.wide, self.registers, self.registers + 1);
                self.wide += 1;
                self.registers += 2;
                self.line(&format!("mov.b64 %rd{wide}, {{{a}, {b}}};"));
                self.line(&format!("mov.b64 {{%r{first}, %r{second}}}, %rd{wide};"));
                self.values.extend([first, second]);
                first
            }
            0 | 1 => self.define("add.s32", &format!("{a}, {b}")),
            2 => self.define("sub.s32", &format!("{a}, {b}")),
            3 => self.define("mul.lo.s32", &format!("{a}, {b}")),
            4 => self.define("mad.lo.s32", &format!("{a}, {b}, {c}")),
            5 | 6 => self.define("shl.b32", &format!("{a}, {}", small % 8)),
            7 => self.define("shr.u32", &format!("{a}, {}", small % 8)),
            8 => self.define("shr.s32", &format!("{a}, {small}")),
            9 | 10 => self.define("and.b32", &format!("{a}, {b}")),
            11 => self.define("or.b32", &format!("{a}, {b}")),
            12 | 13 => self.define("xor.b32", &format!("{a}, {b}")),
            14 => self.define("not.b32", &a),
            15 => self.define("bfe.u32", &format!("{a}, {}, {length}", small % 20)),
            16 => self.define("bfi.b32", &format!("{a}, {b}, {}, {length}", small % 20)),
            17 => {
                let table = self.below(256);
                self.define("lop3.b32", &format!("{a}, {b}, {c}, {table}"))
            }
            18 => {
                let instruction = self.pick(&["rem.u32", "div.u32", "rem.s32"]);
                let divisor = self.pick(&[2, 3, 4, 7, 8, 12, 16, 32]);
                self.define(instruction, &format!("{a}, {divisor}"))
            }
            19 => {
                let selector = self.pick(&["0x3210", "0x5410", "0x7632", "0x0123", "0x4321"]);
                self.define("prmt.b32", &format!("{a}, {b}, {selector}"))
            }
            20 => {
                let predicate = self.predicate();
                self.define("selp.b32", &format!("{a}, {b}, %p{predicate}"))
            }
            _ => {
                let instruction = self.pick(&["min.s32", "max.u32", "min.u32"]);
                self.define(instruction, &format!("{a}, {b}"))
            }
        };
    }

    /// Something from other lanes, where all of them come by.
    fn shuffle(&mut self) {
        let (value, offset) = (self.value(), self.below(32));
        let mode = self.pick(&["idx", "bfly", "up", "down"]);
        let control = match (mode, self.below(3)) {
            ("up", _) => 0,
            (_, 0) => 0x1c1f,
            _ => 31,
        };
        let operands = format!("{value}, {offset}, {control}, -1");
        self.define(&format!("shfl.sync.{mode}.b32"), &operands);
    }

    /// A row for each thread, as long as a parameter says: of shared or of global memory.
    fn strided(&mut self, threads: u32) {
        match self.below(3) {
            0 => self.strided_shared(),
            1 => self.strided_words(threads),
            _ => self.strided_global(),
        }
    }

    /// A row of words of shared memory.
    fn strided_words(&mut self, threads: u32) {
        let (stride, lane) = (self.pick(&[0, 1]), self.pick(&[2, 6]));
        let row = match threads {
            ..=64 => lane,
            _ => 6,
        };
        let index = self.define("mul.lo.s32", &format!("%r{row}, %r{stride}"));
        let index = match self.below(3) {
            0 => {
                let more = self.define("and.b32", &format!("%r{row}, 7"));
                self.define("add.s32", &format!("%r{index}, %r{more}"))
            }
            _ => index,
        };
        let bytes = self.define("shl.b32", &format!("%r{index}, 2"));
        let address = self.define("add.s32", &format!("%tile, %r{bytes}"));
        self.line(&format!("ld.shared.u32 %t0, [%r{address}];"));
    }

    /// A row of global memory.
    fn strided_global(&mut self) {
        let (stride, row) = (self.pick(&[0, 1]), self.pick(&[2, 3, 4, 6]));
        let (width, kind, registers) = self.pick(&[
            (1, "u8", "%t0"),
            (2, "u16", "%t0"),
            (4, "u32", "%t0"),
            (4, "u32", "%t0"),
            (8, "v2.u32", "{%t0, %t1}"),
            (16, "v4.u32", "{%t0, %t1, %t2, %t3}"),
        ]);
        // Lanes may be something else apart besides, and blocks anything.
        let other = self.pick(&[2, 3, 4, 6, 7]);
        let more = self.define("and.b32", &format!("%r{other}, 3"));
        let index = match self.below(4) {
            0 => self.define("mul.lo.s32", &format!("%r{row}, %r{stride}")),
            1 => self.define("mad.lo.s32", &format!("%r{row}, %r{stride}, %r{other}")),
            2 => self.define("mad.lo.s32", &format!("%r{more}, %r{stride}, %r{row}")),
            _ => self.define("mad.lo.s32", &format!("%r{row}, %r{stride}, %r{more}")),
        };
        let wide = self.wide;
        self.wide += 2;
        let next = wide + 1;
        let widening = self.pick(&["mul.wide.u32", "mul.wide.s32"]);
        self.line(&format!("{widening} %rd{wide}, %r{index}, {width};"));
        self.line(&format!("add.s64 %rd{next}, %rd0, %rd{wide};"));
        let guard = match self.below(4) {
            0 => format!("@%p{} ", self.predicate()),
            _ => String::new(),
        };
        let offset = width * self.below(4);
        self.line(&format!(
            "{guard}ld.global.{kind} {registers}, [%rd{next}+{offset}];"
        ));
    }

    /// A row of shared memory, of bytes or vectors.
    fn strided_shared(&mut self) {
        let row = self.pick(&[2, 3, 6]);
        let (stride, shift) = match self.below(3) {
            0 => (0, 1),
            1 => (self.define("and.b32", "%r0, 31"), 2),
            _ => (self.define("and.b32", "%r1, 7"), 4),
        };
        let kind =
            ["u16", "u32", "v4.u32"][[1, 2, 4].iter().position(|&it| it == shift).unwrap_or(0)];
        let registers = match kind {
            "v4.u32" => "{%t0, %t1, %t2, %t3}",
            _ => "%t0",
        };
        let index = self.define("mul.lo.s32", &format!("%r{row}, %r{stride}"));
        let bytes = self.define("shl.b32", &format!("%r{index}, {shift}"));
        let address = self.define("add.s32", &format!("%tile, %r{bytes}"));
        self.line(&format!("ld.shared.{kind} {registers}, [%r{address}];"));
    }

    /// An access, guarded or not.
    fn access(&mut self) {
        let (width, kind) = self.pick(&[
            (1, "u8"),
            (2, "u16"),
            (4, "u32"),
            (8, "v2.u32"),
            (16, "v4.u32"),
        ]);
        let shift = u64::from(u32::trailing_zeros(width));
        let guard = match self.below(6) {
            0 => format!("@%p{} ", self.predicate()),
            1 => format!("@!%p{} ", self.predicate()),
            _ => String::new(),
        };
        let registers = match kind {
            "v2.u32" => "{%t0, %t1}",
            "v4.u32" => "{%t0, %t1, %t2, %t3}",
            _ => "%t0",
        };
        let value = self.value();
        if self.below(2) == 0 {
            let mask = (SHARED_BYTES - 1) & !(width - 1);
            let masked = match self.below(2) {
                0 => self.define("and.b32", &format!("{value}, {mask}")),
                _ => {
                    let scaled = self.define("shl.b32", &format!("{value}, {shift}"));
                    self.define("and.b32", &format!("%r{scaled}, {mask}"))
                }
            };
            let address = self.define("add.s32", &format!("%tile, %r{masked}"));
            match self.below(3) {
                0 => self.line(&format!(
                    "{guard}st.shared.{kind} [%r{address}], {registers};"
                )),
                _ => self.line(&format!(
                    "{guard}ld.shared.{kind} {registers}, [%r{address}];"
                )),
            }
            return;
        }
        let limit = (GLOBAL_BYTES as u64 >> shift) / 4 - 1;
        let masked = self.define("and.b32", &format!("{value}, {limit}"));
        let index = match self.below(4) {
            // A row of unknown length.
            0 => {
                let other = self.value();
                let row = self.define("and.b32", &format!("{other}, 31"));
                self.define("mad.lo.s32", &format!("%r{row}, %r0, %r{masked}"))
            }
            _ => masked,
        };
        let wide = self.wide;
        self.wide += 2;
        let widening = self.pick(&["mul.wide.u32", "mul.wide.s32"]);
        self.line(&format!("{widening} %rd{wide}, %r{index}, {width};"));
        let next = wide + 1;
        self.line(&format!("add.s64 %rd{next}, %rd0, %rd{wide};"));
        let offset = u64::from(width) * self.below(4);
        match self.below(3) {
            0 => self.line(&format!(
                "{guard}st.global.{kind} [%rd{next}+{offset}], {registers};"
            )),
            _ => self.line(&format!(
                "{guard}ld.global.{kind} {registers}, [%rd{next}+{offset}];"
            )),
        }
    }

    fn step(&mut self) {
        match self.below(3) {
            0 => self.access(),
            _ => self.compute(),
        }
    }

    /// A loop with something that is carried around it.
    fn rounds(&mut self) {
        let (label, start, step) = (self.labels, self.value(), self.either());
        self.labels += 3;
        let (next, end) = (label + 1, label + 2);
        let (counter, carried) = (self.registers, self.registers + 1);
        self.registers += 2;
        self.line(&format!("mov.u32 %r{counter}, 0;"));
        self.line(&format!("mov.u32 %r{carried}, {start};"));
        let outside = self.values.clone();
        self.values.extend([counter, carried]);
        self.line(&format!("$L{label}:"));
        for _ in 0..3 + self.below(4) {
            self.step();
        }
        // Lanes that leave early, or go on early.
        let way = self.below(6);
        if way < 2 {
            let predicate = self.predicate();
            let to = [next, end][way as usize];
            self.line(&format!("@%p{predicate} bra $L{to};"));
            let before = self.values.clone();
            for _ in 0..1 + self.below(3) {
                self.step();
            }
            self.values = before;
        }
        if self.below(6) == 0 {
            self.branch();
        }
        self.line(&format!("$L{next}:"));
        let instruction = self.pick(&["add.s32", "add.s32", "add.s32", "xor.b32", "mul.lo.s32"]);
        self.line(&format!("{instruction} %r{carried}, %r{carried}, {step};"));
        self.line(&format!("add.s32 %r{counter}, %r{counter}, 1;"));
        let bound = match self.below(3) {
            0 => self.pick(&outside),
            _ => 1,
        };
        let predicate = self.predicate_count;
        self.predicate_count += 2;
        let other = predicate + 1;
        self.line(&format!(
            "setp.lt.s32 %p{predicate}, %r{counter}, %r{bound};"
        ));
        self.line(&format!("setp.lt.s32 %p{other}, %r{counter}, 6;"));
        self.line(&format!(
            "and.pred %p{predicate}, %p{predicate}, %p{other};"
        ));
        self.line(&format!("@%p{predicate} bra $L{label};"));
        self.line(&format!("$L{end}:"));
        self.values = outside;
        self.values.extend([counter, carried]);
    }

    /// A branch around something, which may leave a register changed.
    fn branch(&mut self) {
        let label = self.labels;
        self.labels += 1;
        let joined = self.registers;
        self.registers += 1;
        let start = self.value();
        self.line(&format!("mov.u32 %r{joined}, {start};"));
        let predicate = self.predicate();
        self.line(&format!("@%p{predicate} bra $L{label};"));
        let outside = self.values.clone();
        for _ in 0..2 + self.below(3) {
            self.step();
        }
        if self.below(4) == 0 {
            self.either_branch();
        }
        let end = self.either();
        self.line(&format!("mov.u32 %r{joined}, {end};"));
        self.line(&format!("$L{label}:"));
        self.values = outside;
        self.values.push(joined);
    }

    /// Something behind one condition or another.
    fn either_branch(&mut self) {
        let label = self.labels;
        self.labels += 2;
        let end = label + 1;
        let first = match self.below(2) {
            0 => self.predicate(),
            _ => {
                // The same for all lanes.
                let (left, right) = (self.pick(&[0, 1]), self.number());
                let predicate = self.predicate_count;
                self.predicate_count += 1;
                self.line(&format!("setp.lt.s32 %p{predicate}, %r{left}, {right};"));
                predicate
            }
        };
        self.line(&format!("@%p{first} bra $L{label};"));
        let outside = self.values.clone();
        let second = self.predicate();
        self.line(&format!("@%p{second} bra $L{end};"));
        self.line(&format!("$L{label}:"));
        for _ in 0..1 + self.below(3) {
            self.step();
        }
        self.line(&format!("$L{end}:"));
        self.values = outside;
    }
}

/// The kernel of a seed.
pub fn generate(seed: u64) -> AddressKernel {
    let mut writer = Writer {
        random: SplitMix64::new(seed),
        text: String::new(),
        values: Vec::new(),
        predicates: Vec::new(),
        registers: 2,
        predicate_count: 0,
        wide: 1,
        labels: 0,
    };
    let shapes: [[u32; 3]; 8] = [
        [32, 1, 1],
        [64, 1, 1],
        [128, 1, 1],
        [16, 16, 1],
        [32, 4, 1],
        [8, 4, 4],
        [33, 3, 1],
        [5, 7, 3],
    ];
    let block = writer.pick(&shapes);
    let numbers = [writer.below(70) as u32, writer.below(5) as u32 * 16];
    writer.values.extend([0, 1]);
    for special in [
        "%tid.x", "%tid.x", "%tid.y", "%tid.z", "%laneid", "%ctaid.x", "%ntid.x",
    ] {
        writer.define("mov.u32", special);
    }
    for _ in 0..10 + writer.below(12) {
        match writer.below(11) {
            9 => writer.strided(block.iter().product()),
            10 if (block[0] * block[1] * block[2]).is_multiple_of(32) => writer.shuffle(),
            0 => writer.rounds(),
            1 => writer.branch(),
            2 => writer.either_branch(),
            3 if writer.below(4) == 0 => {
                let predicate = writer.predicate();
                writer.line(&format!("@%p{predicate} exit;"));
            }
            _ => writer.step(),
        }
    }
    writer.access();
    let (registers, predicates, wide) = (writer.registers, writer.predicate_count + 1, writer.wide);
    let text = format!(
        ".version 8.0\n.target sm_80\n.address_size 64\n\n\
         .visible .entry addresses(.param .u64 data, .param .u32 n, .param .u32 m)\n{{\n    \
         .reg .b32 %r<{registers}>;\n    .reg .b32 %t<4>;\n    .reg .b32 %tile;\n    \
         .reg .pred %p<{predicates}>;\n    .reg .b64 %rd<{wide}>;\n    \
         .shared .align 16 .b8 memory[{SHARED_BYTES}];\n    \
         ld.param.u64 %rd0, [data];\n    ld.param.u32 %r0, [n];\n    ld.param.u32 %r1, [m];\n    \
         mov.u32 %tile, memory;\n    mov.u32 %t0, 0;\n    mov.u32 %t1, 0;\n    mov.u32 %t2, 0;\n    \
         mov.u32 %t3, 0;\n{}    ret;\n}}\n",
        writer.text
    );
    AddressKernel {
        text,
        block,
        numbers,
    }
}
