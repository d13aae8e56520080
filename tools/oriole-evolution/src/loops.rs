//! Kernels of loops at random: of every direction, width, comparison and nesting, many of which wrap.

use oriole_generate::Random;
use std::fmt::Write;

/// A kernel with one pointer and one number as parameters, and the number to call it with. Each of 64 threads writes a word.
#[derive(Clone, Debug)]
pub struct LoopKernel {
    /// The module.
    pub text: String,
    /// The number.
    pub number: u32,
}

struct Writer<'random> {
    random: &'random mut Random,
    text: String,
    labels: usize,
    registers: [usize; 3],
    predicates: usize,
    /// Registers that hold something, by width: 16, 32, 64 bits.
    live: [Vec<String>; 3],
}

/// What the kernel writes for its thread.
const SUM: &str = "%sum";
const WIDTHS: [u32; 3] = [16, 32, 64];
const PREFIXES: [&str; 3] = ["%h", "%r", "%d"];

impl Writer<'_> {
    fn register(&mut self, width: usize) -> String {
        self.registers[width] += 1;
        format!("{}{}", PREFIXES[width], self.registers[width])
    }

    fn predicate(&mut self) -> String {
        self.predicates += 1;
        format!("%p{}", self.predicates)
    }

    fn number(&mut self, width: usize) -> i64 {
        let most = WIDTHS[width] - 1;
        match self.random.below(10) {
            0..=4 => self.random.below(40) as i64,
            5 => -(self.random.below(20) as i64),
            6 => (1i64 << (self.random.below(most as usize))) + self.random.below(3) as i64 - 1,
            7 => -(1i64 << (self.random.below(most as usize))),
            8 => i64::MAX >> (64 - WIDTHS[width]),
            _ => i64::from(self.random.bits() as i16),
        }
    }

    fn operand(&mut self, width: usize) -> String {
        if self.live[width].is_empty() || self.random.one_in(2) {
            return self.number(width).to_string();
        }
        let index = self.random.below(self.live[width].len());
        self.live[width][index].clone()
    }

    fn line(&mut self, line: &str) {
        let _ = writeln!(self.text, "    {line}");
    }

    /// Some arithmetic on what there is.
    fn compute(&mut self) {
        let width = self.random.below(3);
        let bits = WIDTHS[width];
        let (a, b) = (self.operand(width), self.operand(width));
        let result = self.register(width);
        let shift = self.random.below(bits as usize);
        let mask = (1u64 << self.random.below(12)) - 1;
        let line = match self.random.below(13) {
            0 => format!("add.s{bits} {result}, {a}, {b};"),
            1 => format!("sub.s{bits} {result}, {a}, {b};"),
            2 => format!("mul.lo.s{bits} {result}, {a}, {b};"),
            3 => format!("shl.b{bits} {result}, {a}, {shift};"),
            4 => format!("shr.u{bits} {result}, {a}, {shift};"),
            5 => format!("shr.s{bits} {result}, {a}, {shift};"),
            6 => format!("and.b{bits} {result}, {a}, {mask};"),
            7 => format!("and.b{bits} {result}, {a}, {};", !(mask as i64)),
            8 => format!("min.s{bits} {result}, {a}, {b};"),
            9 => format!("max.u{bits} {result}, {a}, {b};"),
            10 => format!("xor.b{bits} {result}, {a}, -1;"),
            11 => format!("rem.u{bits} {result}, {a}, {};", 1 + self.random.below(40)),
            _ => {
                let from = self.random.below(3);
                let source = self.operand(from);
                let (to_sign, from_sign) = (
                    *self.random.pick(&["s", "u"]),
                    *self.random.pick(&["s", "u"]),
                );
                let mut source = source;
                if !source.starts_with('%') {
                    let moved = self.register(from);
                    self.line(&format!("mov.b{} {moved}, {source};", WIDTHS[from]));
                    source = moved;
                }
                format!(
                    "cvt.{to_sign}{bits}.{from_sign}{} {result}, {source};",
                    WIDTHS[from]
                )
            }
        };
        self.line(&line);
        self.live[width].push(result);
    }

    /// A comparison whose result goes into what the kernel writes.
    fn compare(&mut self) {
        let width = self.random.below(3);
        let bits = WIDTHS[width];
        let (a, b) = (self.operand(width), self.operand(width));
        let a = self.in_register(width, &a);
        let comparison = *self.random.pick(&["lt", "le", "gt", "ge", "ne", "eq"]);
        let sign = *self.random.pick(&["s", "u"]);
        let predicate = self.predicate();
        let chosen = self.register(1);
        self.line(&format!(
            "setp.{comparison}.{sign}{bits} {predicate}, {a}, {b};"
        ));
        self.line(&format!("selp.b32 {chosen}, 1, 0, {predicate};"));
        self.line(&format!("mad.lo.s32 {SUM}, {SUM}, 31, {chosen};"));
    }

    /// A loop, with loops inside it to a depth.
    fn write_loop(&mut self, depth: usize) {
        let width = self.random.below(3);
        let bits = WIDTHS[width];
        self.labels += 1;
        let label = self.labels;
        let live = self.live.clone();
        let counter = self.register(width);
        let start = self.operand(width);
        let bound = self.operand(width);
        let step = match self.random.below(8) {
            0..=2 => "1".to_owned(),
            3 => "-1".to_owned(),
            4 => (1 << self.random.below(10)).to_string(),
            5 => (-(1i64 << self.random.below(10))).to_string(),
            6 => (1 + self.random.below(9)).to_string(),
            _ => self.operand(width),
        };
        let comparison = *self
            .random
            .pick(&["lt", "le", "gt", "ge", "ne", "eq", "lt", "ne"]);
        let sign = *self.random.pick(&["s", "u"]);
        let guard = self.random.below(6);
        let limit = self.register(1);
        let end = format!("$E{label}");
        // A guard as compilers write before a loop that tests at its end.
        if guard < 4 {
            let predicate = self.predicate();
            let opposite = opposite(comparison);
            let first = self.in_register(width, &start);
            self.line(&format!(
                "setp.{opposite}.{sign}{bits} {predicate}, {first}, {bound};"
            ));
            self.line(&format!("@{predicate} bra {end};"));
        }
        self.line(&format!("mov.b{bits} {counter}, {start};"));
        self.line(&format!("mov.b32 {limit}, 0;"));
        let sums: Vec<(usize, String)> = (0..self.random.below(3))
            .map(|_| {
                let width = self.random.below(3);
                let sum = self.register(width);
                (width, sum)
            })
            .collect();
        for (width, sum) in &sums {
            let first = self.operand(*width);
            self.line(&format!("mov.b{} {sum}, {first};", WIDTHS[*width]));
        }
        self.text.push_str(&format!("$L{label}:\n"));
        self.live[width].push(counter.clone());
        for (width, sum) in &sums {
            self.live[*width].push(sum.clone());
        }
        // Tests at its start too, or instead.
        let at_start = self.random.one_in(3);
        let predicate = self.predicate();
        if at_start {
            let opposite = opposite(comparison);
            self.line(&format!(
                "setp.{opposite}.{sign}{bits} {predicate}, {counter}, {bound};"
            ));
            self.line(&format!("@{predicate} bra {end};"));
        }
        for _ in 0..self.random.below(4) {
            self.compute();
        }
        if self.random.one_in(2) {
            self.compare();
        }
        if depth > 0 && self.random.one_in(2) {
            self.write_loop(depth - 1);
        }
        for (width, sum) in &sums {
            let bits = WIDTHS[*width];
            let other = self.operand(*width);
            let line = match self.random.below(5) {
                0 => format!("shl.b{bits} {sum}, {sum}, 1;"),
                1 => format!("shr.u{bits} {sum}, {sum}, 1;"),
                _ => format!("add.s{bits} {sum}, {sum}, {other};"),
            };
            self.line(&line);
        }
        // A second way out, after some iterations.
        let most = if self.random.one_in(2) {
            300
        } else {
            self.random.below(30)
        };
        let second = self.predicate();
        self.line(&format!("add.s32 {limit}, {limit}, 1;"));
        self.line(&format!("setp.gt.s32 {second}, {limit}, {most};"));
        self.line(&format!("@{second} bra {end};"));
        let before = self.random.one_in(4);
        let tested = if before {
            self.register(width)
        } else {
            counter.clone()
        };
        if before {
            self.line(&format!("mov.b{bits} {tested}, {counter};"));
        }
        self.line(&format!("add.s{bits} {counter}, {counter}, {step};"));
        if at_start {
            self.line(&format!("bra $L{label};"));
        } else {
            self.line(&format!(
                "setp.{comparison}.{sign}{bits} {predicate}, {tested}, {bound};"
            ));
            self.line(&format!("@{predicate} bra $L{label};"));
        }
        self.text.push_str(&format!("{end}:\n"));
        self.live = live;
    }

    fn in_register(&mut self, width: usize, operand: &str) -> String {
        if operand.starts_with('%') {
            return operand.to_owned();
        }
        let register = self.register(width);
        self.line(&format!("mov.b{} {register}, {operand};", WIDTHS[width]));
        register
    }
}

fn opposite(comparison: &str) -> &'static str {
    match comparison {
        "lt" => "ge",
        "le" => "gt",
        "gt" => "le",
        "ge" => "lt",
        "ne" => "eq",
        _ => "ne",
    }
}

/// A kernel of loops with one way out each and several counters that go in step, some of which only the test reads, some only code behind
/// the loop. All end.
pub fn generate_counters(seed: u64) -> LoopKernel {
    let mut random = Random::new(seed ^ 0xC0C0);
    let number = random.bits() as u32;
    let mut body = String::new();
    let mut registers = [3usize; 2];
    let mut predicates = 0;
    for label in 0..1 + random.below(3) {
        // All counters, with their steps: the first is tested.
        let unit = *random.pick(&[1i64, -1, 4, -4, 3, -8, 16, 1 << 20]);
        let rounds = 1 + random.below(40) as i64;
        let wide = random.one_in(2);
        let counters: Vec<(usize, String, i64)> = (0..2 + random.below(4))
            .map(|index| {
                let width = match index == 0 || random.below(4) != 0 {
                    true => usize::from(wide),
                    false => usize::from(!wide),
                };
                registers[width] += 1;
                let name = format!("{}{}", ["%r", "%d"][width], registers[width] - 1);
                let times = *random.pick(&[1i64, -1, 2, 3, 4, -5, 8, 1 << 30]);
                let step = if index == 0 {
                    unit
                } else {
                    unit.wrapping_mul(times)
                };
                (width, name, step)
            })
            .collect();
        for (width, name, _) in &counters {
            let start = match random.below(3) {
                0 => ["%r1", "%d1"][*width].to_owned(),
                1 => ["%r2", "%d2"][*width].to_owned(),
                _ => random.below(100).to_string(),
            };
            let _ = writeln!(body, "    mov.b{} {name}, {start};", [32, 64][*width]);
        }
        let (width, tested, _) = &counters[0];
        let bits = [32, 64][*width];
        let bound = format!("{}{}", ["%r", "%d"][*width], registers[*width]);
        registers[*width] += 1;
        let way = unit * rounds;
        let _ = writeln!(
            body,
            "    add.s{bits} {bound}, {tested}, {way};\n$L{label}:"
        );
        let reads = |body: &mut String, (width, name, _): &(usize, String, i64)| {
            let low = match width {
                0 => name.clone(),
                _ => {
                    let _ = writeln!(body, "    cvt.u32.u64 %low, {name};");
                    "%low".to_owned()
                }
            };
            let _ = writeln!(body, "    mad.lo.s32 %sum, %sum, 31, {low};");
        };
        for counter in &counters[1..] {
            if random.one_in(2) {
                reads(&mut body, counter);
            }
        }
        for (width, name, step) in &counters {
            let bits = [32, 64][*width];
            let _ = writeln!(body, "    add.s{bits} {name}, {name}, {step};");
        }
        predicates += 1;
        let (test, guard) = *random.pick(&[("ne", "@"), ("eq", "@!")]);
        let _ = writeln!(
            body,
            "    setp.{test}.s{bits} %p{predicates}, {tested}, {bound};"
        );
        let _ = writeln!(body, "    {guard}%p{predicates} bra $L{label};");
        for counter in &counters {
            if random.one_in(3) {
                reads(&mut body, counter);
            }
        }
    }
    let text = format!(
        ".version 8.6\n.target sm_90\n.address_size 64\n\
         .visible .entry loops(.param .u64 out, .param .u32 number)\n{{\n\
         .reg .b32 %r<{}>;\n.reg .b64 %d<{}>;\n.reg .pred %p<{}>;\n.reg .b32 %sum, %low;\n.reg .b64 %out, %at;\n\
         mov.b32 %sum, 0;\nld.param.u32 %r1, [number];\nmov.u32 %r2, %tid.x;\n\
         cvt.s64.s32 %d1, %r1;\ncvt.u64.u32 %d2, %r2;\n{body}\
         ld.param.u64 %out, [out];\nmad.wide.u32 %at, %r2, 4, %out;\nst.global.u32 [%at], %sum;\nret;\n}}\n",
        registers[0] + 1,
        registers[1] + 1,
        predicates + 1,
    );
    LoopKernel { text, number }
}

/// Numbers of the table that kernels of indexes read.
const TABLE: usize = 72;

/// A kernel of loops that read a table at indexes computed from the counter, in 32 and 64 bits. Many indexes wrap or lie outside: the table is read
/// where the index, as a number without a sign, is inside.
pub fn generate_indexed(seed: u64) -> LoopKernel {
    let mut random = Random::new(seed ^ 0x1DEC);
    let number = match random.below(3) {
        0 => random.bits() as u32,
        _ => random.below(70) as u32,
    };
    let mut body = String::new();
    for label in 0..1 + random.below(3) {
        let wide = random.one_in(3);
        let (bits, counter, bound) = match wide {
            true => (64, "%kw", "%nw"),
            false => (32, "%k", "%n"),
        };
        let start = match random.below(6) {
            0 => ["%r2", "%d2"][usize::from(wide)].to_owned(),
            1 => (i64::from(i32::MAX) - random.below(40) as i64).to_string(),
            2 => (-(random.below(40) as i64)).to_string(),
            _ => random.below(8).to_string(),
        };
        let step = *random.pick(&[1i64, 1, 1, 2, 3, 4, -1, -2, 1 << 28, -(1 << 29)]);
        let comparison = *random.pick(&["lt", "lt", "le", "ne", "gt"]);
        let sign = *random.pick(&["s", "s", "u"]);
        let _ = writeln!(
            body,
            "    mov.b{bits} {counter}, {start};\n    mov.b32 %limit, 0;"
        );
        match random.below(3) {
            0 => {
                let rounds = step * (1 + random.below(30) as i64);
                let _ = writeln!(body, "    add.s{bits} {bound}, {counter}, {rounds};");
            }
            1 => {
                let given = ["%r1", "%d1"][usize::from(wide)];
                let _ = writeln!(body, "    mov.b{bits} {bound}, {given};");
            }
            _ => {
                let far = random.below(60);
                let _ = writeln!(body, "    mov.b{bits} {bound}, {far};");
            }
        }
        if random.below(4) != 0 {
            let opposite = opposite(comparison);
            let _ = writeln!(
                body,
                "    setp.{opposite}.{sign}{bits} %p1, {counter}, {bound};\n    @%p1 bra $E{label};"
            );
        }
        let _ = writeln!(body, "$L{label}:");
        if random.one_in(4) {
            body.push_str("    .pragma \"nounroll\";\n");
        }
        for access in 0..1 + random.below(3) {
            write_indexed_read(&mut random, &mut body, wide, label * 4 + access);
        }
        let _ = writeln!(body, "    add.s{bits} {counter}, {counter}, {step};");
        // Loops that never end by themselves.
        if random.below(3) != 0 || comparison == "ne" {
            let _ = writeln!(
                body,
                "    add.s32 %limit, %limit, 1;\n    setp.gt.s32 %p2, %limit, 80;\n    @%p2 bra $E{label};"
            );
        }
        let _ = writeln!(
            body,
            "    setp.{comparison}.{sign}{bits} %p1, {counter}, {bound};\n    @%p1 bra $L{label};\n$E{label}:"
        );
    }
    let numbers: Vec<String> = (0..TABLE as u64)
        .map(|index| (index * index * 2_654_435_761 % 1_000_003).to_string())
        .collect();
    let text = format!(
        ".version 8.6\n.target sm_90\n.address_size 64\n.global .align 4 .b32 table[{TABLE}] = {{{}}};\n\
         .visible .entry loops(.param .u64 out, .param .u32 number)\n{{\n\
         .reg .b32 %r<4>, %k, %n, %i<16>, %limit, %sum, %x;\n\
         .reg .b64 %d<4>, %kw, %nw, %w<16>, %a<16>, %table, %out, %at;\n.reg .pred %p<4>, %q<16>;\n\
         mov.b32 %sum, 0;\nmov.u64 %table, table;\nld.param.u32 %r1, [number];\nmov.u32 %r2, %tid.x;\n\
         cvt.s64.s32 %d1, %r1;\ncvt.u64.u32 %d2, %r2;\n{body}\
         ld.param.u64 %out, [out];\nmad.wide.u32 %at, %r2, 4, %out;\nst.global.u32 [%at], %sum;\nret;\n}}\n",
        numbers.join(", "),
    );
    LoopKernel { text, number }
}

/// Reads the table at an index that is computed from the counter.
fn write_indexed_read(random: &mut Random, body: &mut String, wide: bool, name: usize) {
    let times = *random.pick(&[1, 1, 2, 3, 5, 1 << 27]);
    let plus = *random.pick(&["0", "1", "-1", "7", "INVARIANT"]);
    if wide {
        let plus = plus.replace("INVARIANT", "%d2");
        let _ = writeln!(body, "    mul.lo.s64 %w{name}, %kw, {times};");
        let _ = writeln!(body, "    add.s64 %w{name}, %w{name}, {plus};");
        let _ = writeln!(body, "    setp.lt.u64 %q{name}, %w{name}, 64;");
        let _ = writeln!(body, "    shl.b64 %a{name}, %w{name}, 2;");
        let _ = writeln!(body, "    add.s64 %a{name}, %table, %a{name};");
    } else {
        let plus = plus.replace("INVARIANT", "%r2");
        let sign = *random.pick(&["s", "u"]);
        let _ = writeln!(body, "    mul.lo.s32 %i{name}, %k, {times};");
        let _ = writeln!(body, "    add.s32 %i{name}, %i{name}, {plus};");
        let _ = writeln!(body, "    setp.lt.u32 %q{name}, %i{name}, 64;");
        match random.below(3) {
            0 => {
                let _ = writeln!(body, "    cvt.{sign}64.{sign}32 %w{name}, %i{name};");
                let _ = writeln!(body, "    shl.b64 %a{name}, %w{name}, 2;");
            }
            _ => {
                let _ = writeln!(body, "    mul.wide.{sign}32 %a{name}, %i{name}, 4;");
            }
        }
        let _ = writeln!(body, "    add.s64 %a{name}, %table, %a{name};");
    }
    let offset = 4 * random.below(TABLE - 63);
    let _ = writeln!(body, "    mov.b32 %x, 0;");
    let _ = writeln!(body, "    @%q{name} ld.global.u32 %x, [%a{name}+{offset}];");
    let _ = writeln!(body, "    mad.lo.s32 %sum, %sum, 31, %x;");
}

/// The kernel of a seed.
pub fn generate(seed: u64) -> LoopKernel {
    let mut random = Random::new(seed ^ 0x100F);
    let number = match random.below(4) {
        0 => random.bits() as u32,
        _ => random.below(100) as u32,
    };
    let mut writer = Writer {
        random: &mut random,
        text: String::new(),
        labels: 0,
        registers: [0; 3],
        predicates: 0,
        live: [const { Vec::new() }; 3],
    };
    let given = writer.register(1);
    let thread = writer.register(1);
    let halved = writer.register(0);
    let wide = writer.register(2);
    writer.line(&format!("ld.param.u32 {given}, [number];"));
    writer.line(&format!("mov.u32 {thread}, %tid.x;"));
    writer.line(&format!("cvt.u16.u32 {halved}, {given};"));
    writer.line(&format!("cvt.s64.s32 {wide}, {given};"));
    writer.live[1].extend([given, thread]);
    writer.live[0].push(halved);
    writer.live[2].push(wide);
    for _ in 0..1 + writer.random.below(3) {
        for _ in 0..writer.random.below(3) {
            writer.compute();
        }
        writer.write_loop(2);
    }
    let Writer {
        text: body,
        registers,
        predicates,
        ..
    } = writer;
    let mut text = String::from(".version 8.6\n.target sm_90\n.address_size 64\n");
    let bounded = random.one_in(3);
    let _ = writeln!(
        text,
        ".visible .entry loops(.param .u64 out, .param .u32 number)"
    );
    if bounded {
        text.push_str(".reqntid 64\n");
    }
    let _ = writeln!(text, "{{");
    for (index, name) in ["b16", "b32", "b64"].iter().enumerate() {
        let _ = writeln!(
            text,
            "    .reg .{name} {}<{}>;",
            PREFIXES[index],
            registers[index] + 1
        );
    }
    let _ = writeln!(text, "    .reg .pred %p<{}>;", predicates + 1);
    text.push_str(
        "    .reg .b32 %sum;\n    .reg .b64 %out;\n    .reg .b64 %at;\n    mov.b32 %sum, 0;\n",
    );
    text.push_str(&body);
    text.push_str("    ld.param.u64 %out, [out];\n    mad.wide.u32 %at, %r2, 4, %out;\n");
    text.push_str("    st.global.u32 [%at], %sum;\n    ret;\n}\n");
    LoopKernel { text, number }
}
