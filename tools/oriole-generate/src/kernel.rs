//! One kernel: pools of registers, statements drawn by weight, text.

use crate::forms::{Form, Slot, Width, added_forms, forms};
use crate::random::Random;
use crate::{BLOCK, CELLS, GRID, INPUT_BYTES, Options, THREAD_BYTES};
use oriole_isa::{Opcode, ptxas};
use std::collections::BTreeMap;
use std::fmt::Write;

mod memory;
mod shapes;

/// Bytes of local memory of a thread.
const LOCAL_BYTES: usize = 64;
/// Entries of the constant table, 4 bytes each.
const TABLE_ENTRIES: usize = 16;
/// Bytes of a thread's output that hold its registers at the end; the rest is scratch.
const RESULT_BYTES: usize = 128;
/// Branches and loops nest this deep.
const DEEPEST: usize = 3;

/// What was generated, by name.
pub type Statistics = BTreeMap<String, u64>;

/// A kernel and all it needs.
#[derive(Clone, Debug)]
pub struct Kernel {
    /// The entry's name.
    pub name: String,
    /// Functions, variables and the entry; no module header.
    pub text: String,
    /// Counts of statements and opcodes.
    pub statistics: Statistics,
}

impl Kernel {
    /// Bytes of output a launch needs.
    pub fn output_bytes() -> usize {
        (GRID * BLOCK) as usize * THREAD_BYTES + CELLS * 8
    }

    /// The kernel as a module of its own.
    pub fn module(&self) -> String {
        format!("{}{}", Kernel::HEADER, self.text)
    }

    /// The first lines of a module that holds generated kernels.
    pub const HEADER: &'static str = ".version 8.6\n.target sm_90\n.address_size 64\n\n";
}

/// The kernel of a seed.
pub fn generate(seed: u64, options: Options) -> Kernel {
    let mut generator = Generator {
        random: Random::new(seed),
        options,
        body: String::new(),
        pools: [const { Vec::new() }; 4],
        counts: [0; 4],
        labels: 0,
        depth: 0,
        branched_on: Vec::new(),
        together: true,
        statistics: Statistics::new(),
        uses_call: false,
        uses_writer: false,
        prefix: format!("g{seed}"),
    };
    generator.run();
    generator.finish()
}

struct Generator {
    random: Random,
    options: Options,
    body: String,
    /// Registers that hold a value here, by width.
    pools: [Vec<u32>; 4],
    /// Registers declared so far, by width.
    counts: [u32; 4],
    labels: u32,
    depth: usize,
    /// Predicates that branches around this place depend on; they keep their value here: ptxas takes what a branch
    /// says of a predicate for true in a loop behind it, even if the loop changes the predicate.
    branched_on: Vec<u32>,
    /// Whether all threads of the block are here.
    together: bool,
    statistics: Statistics,
    uses_call: bool,
    uses_writer: bool,
    prefix: String,
}

impl Generator {
    fn line(&mut self, text: impl AsRef<str>) {
        let _ = writeln!(self.body, "\t{}", text.as_ref());
    }

    fn count(&mut self, name: &str) {
        *self.statistics.entry(name.to_owned()).or_default() += 1;
    }

    fn label(&mut self) -> String {
        self.labels += 1;
        format!("$L_{}_{}", self.prefix, self.labels)
    }

    // ---- registers ----

    fn new_register(&mut self, width: Width) -> u32 {
        let count = &mut self.counts[width as usize];
        *count += 1;
        *count - 1
    }

    /// A register that holds a value.
    fn source(&mut self, width: Width) -> String {
        let pool = &self.pools[width as usize];
        let register = pool[self.random.below(pool.len())];
        format!("{}{register}", width.stem())
    }

    /// A register to write: a new one, or one that holds something already.
    fn destination(&mut self, width: Width, must_exist: bool) -> String {
        let pool: Vec<u32> = self.pools[width as usize]
            .iter()
            .copied()
            .filter(|register| width != Width::Predicate || !self.branched_on.contains(register))
            .collect();
        let register = if must_exist || (pool.len() > 24) || self.random.one_in(3) {
            pool[self.random.below(pool.len())]
        } else {
            self.new_register(width)
        };
        if !self.pools[width as usize].contains(&register) {
            self.pools[width as usize].push(register);
        }
        format!("{}{register}", width.stem())
    }

    /// `count` different registers to write.
    fn destinations(&mut self, width: Width, count: usize) -> Vec<String> {
        (0..count)
            .map(|_| {
                let register = self.new_register(width);
                self.pools[width as usize].push(register);
                format!("{}{register}", width.stem())
            })
            .collect()
    }

    /// A register or, now and then, a constant with an interesting value.
    fn source_or_constant(&mut self, width: Width) -> String {
        if width == Width::Predicate || !self.random.one_in(6) {
            return self.source(width);
        }
        let edge = [
            0u64,
            1,
            2,
            3,
            7,
            31,
            32,
            33,
            63,
            64,
            255,
            0x7FFF_FFFF,
            0x8000_0000,
            u64::MAX,
        ];
        let bits = *self.random.pick(&edge);
        match width {
            Width::Half => format!("{}", bits as i16),
            Width::Word => format!("{}", bits as i32),
            _ => format!("{}", bits as i64),
        }
    }

    /// `@%p3 `, `@!%p3 `, or nothing.
    fn guard(&mut self) -> String {
        if !self.random.one_in(8) {
            return String::new();
        }
        self.count("guard");
        let negation = if self.random.one_in(2) { "!" } else { "" };
        format!("@{negation}{} ", self.source(Width::Predicate))
    }

    // ---- the whole ----

    fn run(&mut self) {
        self.prologue();
        for _ in 0..self.options.statements {
            self.statement();
        }
        self.epilogue();
    }

    fn prologue(&mut self) {
        let _ = write!(
            self.body,
            "\tld.param.u64 %input, [{0}_input];\n\tcvta.to.global.u64 %input, %input;\n\
             \tld.param.u64 %output, [{0}_output];\n\tcvta.to.global.u64 %output, %output;\n\
             \tmov.u32 %thread, %tid.x;\n\tmov.u32 %index, %ctaid.x;\n\tmad.lo.u32 %index, %index, {BLOCK}, %thread;\n\
             \tadd.u64 %cells, %output, {1};\n\tmad.wide.u32 %own, %index, {THREAD_BYTES}, %output;\n\
             \tmul.wide.u32 %at, %index, 32;\n\tand.b64 %at, %at, {2};\n\tadd.u64 %at, %at, %input;\n\
             \tmov.u64 %local, {0}_local;\n\tmov.u64 %shared, {0}_shared;\n\tmad.wide.u32 %mine, %thread, 8, %shared;\n",
            self.prefix,
            (GRID * BLOCK) as usize * THREAD_BYTES,
            INPUT_BYTES - 64,
        );
        for offset in (0..LOCAL_BYTES).step_by(8) {
            let line = format!("st.local.u64 [%local+{offset}], {};", offset * 3);
            self.line(line);
        }
        for (width, loads) in [(Width::Word, 4), (Width::Double, 3), (Width::Half, 3)] {
            for index in 0..loads {
                let name = self.destinations(width, 1).remove(0);
                let (bits, offset) = match width {
                    Width::Half => (16, 52 + 2 * index),
                    Width::Word => (32, 4 * index),
                    _ => (64, 16 + 8 * index),
                };
                self.line(format!("ld.global.b{bits} {name}, [%at+{offset}];"));
            }
        }
        // Two more than branches nest, so that there always are some to write.
        for compare in ["lt.s32", "gt.u32", "ne.s32", "le.u32", "eq.s32"] {
            let name = self.destinations(Width::Predicate, 1).remove(0);
            let (a, b) = (self.source(Width::Word), self.source(Width::Word));
            self.line(format!("setp.{compare} {name}, {a}, {b};"));
        }
    }

    /// Stores what the pools hold into the thread's own bytes.
    fn epilogue(&mut self) {
        let mut offset = 0;
        for (width, bytes, most) in [
            (Width::Double, 8, 5),
            (Width::Word, 4, 14),
            (Width::Half, 2, 8),
        ] {
            let pool = self.pools[width as usize].clone();
            for &register in pool.iter().rev().take(most) {
                self.line(format!(
                    "st.global.b{} [%own+{offset}], {}{register};",
                    bytes * 8,
                    width.stem()
                ));
                offset += bytes;
            }
        }
        let predicates = self.pools[Width::Predicate as usize].clone();
        self.line("mov.u32 %scratch, 0;");
        for &register in predicates.iter().rev().take(8) {
            self.line("shl.b32 %scratch, %scratch, 1;");
            self.line(format!("@%p{register} or.b32 %scratch, %scratch, 1;"));
        }
        self.line(format!(
            "st.global.b32 [%own+{}], %scratch;",
            RESULT_BYTES - 4
        ));
        debug_assert!(offset <= RESULT_BYTES - 4);
        self.line("ret;");
    }

    fn finish(self) -> Kernel {
        let Generator {
            body,
            counts,
            statistics,
            uses_call,
            uses_writer,
            prefix,
            ..
        } = self;
        let mut text = String::new();
        let mut random = Random::new(counts.iter().map(|&count| u64::from(count)).sum());
        let table: Vec<String> = (0..TABLE_ENTRIES)
            .map(|_| (random.bits() as u32).to_string())
            .collect();
        let _ = writeln!(
            text,
            ".const .align 4 .b32 {prefix}_table[{TABLE_ENTRIES}] = {{{}}};",
            table.join(", ")
        );
        if uses_call {
            text.push_str(&helper(&prefix));
        }
        if uses_writer {
            text.push_str(&shapes::writer(&prefix));
        }
        let _ = writeln!(
            text,
            ".visible .entry {prefix}(\n\t.param .u64 {prefix}_input,\n\t.param .u64 {prefix}_output\n)\n{{"
        );
        for width in Width::ALL {
            let _ = writeln!(
                text,
                "\t.reg {} {}<{}>;",
                width.type_name(),
                width.stem(),
                counts[width as usize].max(1)
            );
        }
        let _ = write!(
            text,
            "\t.reg .b64 %input, %output, %cells, %own, %at, %local, %shared, %mine, %address;\n\
             \t.reg .b32 %thread, %index, %scratch;\n\t.reg .pred %is_nan;\n\
             \t.shared .align 8 .b8 {prefix}_shared[{}];\n\t.local .align 16 .b8 {prefix}_local[{LOCAL_BYTES}];\n",
            BLOCK * 8
        );
        text.push_str(&body);
        text.push_str("}\n\n");
        Kernel {
            name: prefix,
            text,
            statistics,
        }
    }

    // ---- statements ----

    fn statement(&mut self) {
        let nested = self.depth >= DEEPEST;
        // Asked only where wanted, so that kernels without them stay what they were.
        if self.options.addresses && self.random.one_in(6) {
            self.shared_address();
            return;
        }
        if self.options.shapes.any() && self.random.one_in(4) {
            self.shape();
            return;
        }
        match self.random.below(100) {
            0..=49 => self.value(),
            50..=54 => self.load_input(),
            55..=58 => self.local_memory(),
            59..=61 => self.own_memory(),
            62..=63 => self.constant_table(),
            64..=66 => self.pack_or_unpack(),
            67..=69 => self.carry_chain(),
            70..=71 => self.atomic(),
            72..=78 if !nested => self.branch(),
            79..=83 if !nested => self.repeat(),
            84..=85 if !nested => self.switch(),
            86..=87 => self.call(),
            88..=91 if self.together => self.exchange(),
            92..=97 if self.together => self.warp_operation(),
            98 => self.fence(),
            _ => self.value(),
        }
    }

    fn value(&mut self) {
        // Asked only where wanted, as above.
        let all = match self.options.added && self.random.one_in(8) {
            true => added_forms(),
            false => forms(),
        };
        let form = loop {
            let (_, list) = self.random.pick(all);
            let form: &Form = self.random.pick(list);
            if self.options.approximate || !form.approximate {
                break form;
            }
        };
        self.count("value instruction");
        self.count(form.mnemonic.split('.').next().unwrap_or_default());
        // A division by zero is the one thing integers leave open.
        let divides = matches!(form.opcode, Opcode::Div | Opcode::Rem);
        let guard = if loses_its_guard(form) {
            String::new()
        } else {
            self.guard()
        };
        let mut operands = Vec::new();
        let mut results = Vec::new();
        let mut is_disguised = false;
        for (index, slot) in form.slots.iter().enumerate() {
            match *slot {
                Slot::Source(width, selector) => {
                    let mut name = if selector.is_empty() && takes_constants(form) {
                        self.source_or_constant(width)
                    } else {
                        self.source(width)
                    };
                    if shifts_half(form) && name == "-2147483648" {
                        // ptxas looks at 16 bits of a constant amount.
                        name = self.source(width);
                    }
                    while form.opcode == Opcode::Lop3 && operands.contains(&name) {
                        // ptxas combines an operand that stands twice wrongly.
                        name = self.source(width);
                    }
                    if form.opcode == Opcode::Bfe && index == 2 {
                        // Of a constant position beyond the value, ptxas extracts ones.
                        name = self.combined("and", width, &name, form.types[0].bits() - 1);
                    }
                    if form.opcode == Opcode::Fns && index >= 2 {
                        // A bit position, and a number of bits.
                        name = self.combined("and", width, &name, 31);
                    }
                    if saturates_sum(form) && name.starts_with('%') && !is_disguised {
                        // ptxas takes the saturating sum for one of the terms of its operands.
                        name = self.disguised(&name);
                        is_disguised = true;
                    }
                    if divides && index + 1 == form.slots.len() && !takes_floats(form) {
                        name = self.combined("or", width, &name, 1);
                    }
                    operands.push(format!("{name}{selector}"));
                }
                Slot::Immediate => operands.push(format!("{:#x}", self.random.below(256))),
                Slot::Result(width) => results.push(width),
            }
        }
        if form.opcode == Opcode::Setp && form.allows_pair && self.random.one_in(3) {
            results.push(Width::Predicate);
        }
        let mut names = Vec::new();
        for width in results {
            let mut name = self.destination(width, !guard.is_empty());
            while names.contains(&name) {
                name = self.destination(width, !guard.is_empty());
            }
            names.push(name);
        }
        let results = names.join("|");
        self.line(format!(
            "{guard}{} {results}{}, {};",
            form.mnemonic,
            form.result_selector,
            operands.join(", ")
        ));
        if let Some((name, canonical)) = form.float_result {
            self.canonicalize(&names[0], name, canonical);
        }
        if let Slot::Result(width) = form.slots[0]
            && confuses_its_reader(form)
        {
            self.hide(&names[0], width);
        }
    }

    /// Sends a value through memory, so that ptxas does not know where it comes from.
    fn hide(&mut self, register: &str, width: Width) {
        let bits = match width {
            Width::Half => 16,
            Width::Word => 32,
            _ => 64,
        };
        let place = format!("[%own+{}]", RESULT_BYTES + 72);
        self.line(format!("st.volatile.global.b{bits} {place}, {register};"));
        self.line(format!("ld.volatile.global.b{bits} {register}, {place};"));
    }

    /// Replaces any NaN by one: which NaN an operation gives is up to ptxas, which exchanges factors and folds `min(x, x)`.
    fn canonicalize(&mut self, register: &str, scalar_type: &str, canonical: &str) {
        let width = canonical.len();
        let bits = match width {
            6 => 16,
            10 => 32,
            _ => 64,
        };
        self.line(format!(
            "setp.nan.{scalar_type} %is_nan, {register}, {register};"
        ));
        self.line(format!("@%is_nan mov.b{bits} {register}, {canonical};"));
    }

    /// A new register that holds `name` combined with a constant by a bitwise operation.
    fn combined(&mut self, operation: &str, width: Width, name: &str, constant: u32) -> String {
        let bits = match width {
            Width::Half => 16,
            Width::Word => 32,
            _ => 64,
        };
        let register = self.destinations(width, 1).remove(0);
        self.line(format!(
            "{operation}.b{bits} {register}, {name}, {constant};"
        ));
        register
    }

    /// A new register that holds what a word and constants give, which ptxas neither takes apart nor looks behind for a load.
    fn disguised(&mut self, name: &str) -> String {
        // Something in both halves, and not all of it.
        let constant = self.random.bits() as u32 & 0x7FFF_7FFF | 0x0001_0001;
        if self.random.one_in(2) {
            return self.combined("xor", Width::Word, name, constant);
        }
        let register = self.destinations(Width::Word, 1).remove(0);
        self.line(format!("mad.lo.s32 {register}, {name}, {constant}, 77;"));
        register
    }

    fn pack_or_unpack(&mut self) {
        self.count("pack and unpack");
        let (whole, part, bits) = *self.random.pick(&[
            (Width::Double, Width::Word, 64),
            (Width::Word, Width::Half, 32),
        ]);
        if self.random.one_in(2) {
            let (a, b) = (self.source(part), self.source(part));
            let name = self.destination(whole, false);
            self.line(format!("mov.b{bits} {name}, {{{a}, {b}}};"));
        } else {
            let mut source = self.source(whole);
            if whole == Width::Word {
                // If a narrow load were behind the word, ptxas would take the low half for the high one.
                source = self.disguised(&source);
            }
            let names = self.destinations(part, 2);
            let first = if self.random.one_in(4) {
                "_"
            } else {
                names[0].as_str()
            };
            if first == "_" {
                self.pools[part as usize]
                    .retain(|register| names[0] != format!("{}{register}", part.stem()));
            }
            self.line(format!("mov.b{bits} {{{first}, {}}}, {source};", names[1]));
        }
    }

    fn carry_chain(&mut self) {
        self.count("carry chain");
        let (start, next) =
            *self
                .random
                .pick(&[("add", "addc"), ("sub", "subc"), ("mad.lo", "madc.hi")]);
        let operands = |this: &mut Generator| {
            let count = if start == "mad.lo" { 3 } else { 2 };
            let list: Vec<String> = (0..count).map(|_| this.source(Width::Word)).collect();
            list.join(", ")
        };
        let links = 1 + self.random.below(3);
        // Sources before results, which hold nothing yet; and nothing may stand between the links.
        let sources: Vec<String> = (0..=links).map(|_| operands(self)).collect();
        let names = self.destinations(Width::Word, links + 1);
        self.line(format!("{start}.cc.u32 {}, {};", names[0], sources[0]));
        for link in 1..=links {
            let flag = if link < links { ".cc" } else { "" };
            self.line(format!(
                "{next}{flag}.u32 {}, {};",
                names[link], sources[link]
            ));
        }
    }

    /// Statements whose new registers are forgotten afterwards: the path may not be taken.
    fn arm(&mut self, most: usize) {
        let pools = self.pools.clone();
        for _ in 0..1 + self.random.below(most) {
            self.statement();
        }
        self.pools = pools;
    }

    fn branch(&mut self) {
        self.count("branch");
        self.depth += 1;
        let together = std::mem::replace(&mut self.together, false);
        let predicate = self.source(Width::Predicate);
        let negation = if self.random.one_in(2) { "!" } else { "" };
        let (otherwise, end) = (self.label(), self.label());
        let two_arms = self.random.one_in(2);
        self.line(format!("@{negation}{predicate} bra {otherwise};"));
        let known = predicate.trim_start_matches("%p").parse();
        self.branched_on.push(known.expect("a predicate's number"));
        self.arm(5);
        if two_arms {
            self.line(format!("bra {end};"));
        }
        let _ = writeln!(self.body, "{otherwise}:");
        if two_arms {
            self.arm(5);
            let _ = writeln!(self.body, "{end}:");
        }
        self.branched_on.pop();
        self.together = together;
        self.depth -= 1;
    }

    fn repeat(&mut self) {
        self.count("loop");
        self.depth += 1;
        let counter = self.new_register(Width::Word);
        let bound = self.new_register(Width::Word);
        let done = self.new_register(Width::Predicate);
        let same_for_all = self.random.one_in(2);
        let together = self.together;
        self.together &= same_for_all;
        if same_for_all {
            let rounds = 1 + self.random.below(5);
            self.line(format!("mov.u32 %r{bound}, {rounds};"));
        } else {
            // Threads leave the loop at different times.
            self.line(format!("and.b32 %r{bound}, %thread, 3;"));
            self.line(format!("add.u32 %r{bound}, %r{bound}, 1;"));
        }
        let head = self.label();
        self.line(format!("mov.u32 %r{counter}, 0;"));
        let _ = writeln!(self.body, "{head}:");
        self.arm(6);
        self.line(format!("add.u32 %r{counter}, %r{counter}, 1;"));
        self.line(format!("setp.lt.u32 %p{done}, %r{counter}, %r{bound};"));
        self.line(format!("@%p{done} bra {head};"));
        self.together = together;
        self.depth -= 1;
    }

    fn switch(&mut self) {
        self.count("indirect branch");
        self.depth += 1;
        let together = std::mem::replace(&mut self.together, false);
        let (table, end) = (self.label(), self.label());
        let cases: Vec<String> = (0..4).map(|_| self.label()).collect();
        let index = self.source(Width::Word);
        self.line(format!("and.b32 %scratch, {index}, 3;"));
        let _ = writeln!(self.body, "{table}: .branchtargets {};", cases.join(", "));
        self.line(format!("brx.idx %scratch, {table};"));
        for case in &cases {
            let _ = writeln!(self.body, "{case}:");
            self.arm(3);
            self.line(format!("bra {end};"));
        }
        let _ = writeln!(self.body, "{end}:");
        self.together = together;
        self.depth -= 1;
    }

    fn call(&mut self) {
        self.count("call");
        self.uses_call = true;
        let (a, b) = (self.source(Width::Word), self.source(Width::Double));
        let name = self.destination(Width::Word, false);
        let function = format!("{}_helper", self.prefix);
        for line in [
            "{".to_owned(),
            ".param .b32 first;".to_owned(),
            ".param .b64 second;".to_owned(),
            ".param .b32 result;".to_owned(),
            format!("st.param.b32 [first], {a};"),
            format!("st.param.b64 [second], {b};"),
            format!("call (result), {function}, (first, second);"),
            format!("ld.param.b32 {name}, [result];"),
            "}".to_owned(),
        ] {
            self.line(line);
        }
    }

    /// All threads of the block write, wait, and read what another wrote.
    fn exchange(&mut self) {
        self.count("barrier");
        self.line("bar.warp.sync 0xffffffff;");
        let value = self.source(Width::Double);
        self.line("bar.sync 0;");
        self.line(format!("st.shared.b64 [%mine], {value};"));
        self.line("bar.sync 0;");
        self.address("%shared", (BLOCK as usize * 8 - 1) & !7);
        let name = self.destination(Width::Double, false);
        self.line(format!("ld.shared.b64 {name}, [%address];"));
    }

    /// Operations of a whole warp; all lanes are here.
    fn warp_operation(&mut self) {
        self.count("warp operation");
        // Threads that came different ways are together again behind this, as `.aligned` operations need them.
        self.line("bar.warp.sync 0xffffffff;");
        let word = self.source(Width::Word);
        match self.random.below(8) {
            0 | 1 => {
                let mode = *self.random.pick(&["up", "down", "bfly", "idx"]);
                let clamp = if mode == "up" { 0 } else { 31 };
                let lane = self.random.below(32);
                let name = self.destination(Width::Word, false);
                if self.random.one_in(2) {
                    let predicate = self.destination(Width::Predicate, false);
                    self.line(format!(
                        "shfl.sync.{mode}.b32 {name}|{predicate}, {word}, {lane}, {clamp}, 0xffffffff;"
                    ));
                } else {
                    self.line(format!(
                        "shfl.sync.{mode}.b32 {name}, {word}, {lane}, {clamp}, 0xffffffff;"
                    ));
                }
            }
            2 => {
                let predicate = self.source(Width::Predicate);
                let name = self.destination(Width::Word, false);
                self.line(format!(
                    "vote.sync.ballot.b32 {name}, {predicate}, 0xffffffff;"
                ));
            }
            3 => {
                let mode = *self.random.pick(&["all", "any", "uni"]);
                let predicate = self.source(Width::Predicate);
                let name = self.destination(Width::Predicate, false);
                self.line(format!(
                    "vote.sync.{mode}.pred {name}, {predicate}, 0xffffffff;"
                ));
            }
            4 => {
                let name = self.destination(Width::Word, false);
                self.line(format!("match.any.sync.b32 {name}, {word}, 0xffffffff;"));
            }
            5 => {
                let operation = *self.random.pick(&[
                    "add.s32", "min.u32", "max.s32", "and.b32", "or.b32", "xor.b32",
                ]);
                let name = self.destination(Width::Word, false);
                self.line(format!(
                    "redux.sync.{operation} {name}, {word}, 0xffffffff;"
                ));
            }
            6 => {
                let name = self.destination(Width::Word, false);
                let predicate = self.source(Width::Predicate);
                self.line(format!("barrier.sync 1, {BLOCK};"));
                self.line(format!("bar.red.popc.u32 {name}, 0, {predicate};"));
            }
            _ => {
                let sources: Vec<String> = (0..10).map(|_| self.source(Width::Word)).collect();
                let names = self.destinations(Width::Word, 4);
                self.line(format!(
                    "mma.sync.aligned.m16n8k32.row.col.s32.s8.u8.s32 {{{}}}, {{{}}}, {{{}}}, {{{}}};",
                    names.join(", "),
                    sources[..4].join(", "),
                    sources[4..6].join(", "),
                    sources[6..].join(", ")
                ));
            }
        }
    }
}

// What ptxas gets wrong is listed in `oriole_isa::ptxas`.

/// Instructions whose guard ptxas drops, in whole or in part; of the packed ones those that add.
fn loses_its_guard(form: &Form) -> bool {
    let is_packed = !matches!(form.opcode, Opcode::Set | Opcode::Testp);
    ptxas::ignores_guard(form.opcode) && (!is_packed || form.mnemonic.ends_with("add"))
}

/// Instructions whose result ptxas passes on wrongly to what narrows it.
fn confuses_its_reader(form: &Form) -> bool {
    form.opcode == Opcode::Cnot || form.opcode == Opcode::Abs && !takes_floats(form)
}

/// Sums and differences of words that saturate.
fn saturates_sum(form: &Form) -> bool {
    matches!(form.mnemonic, "add.sat.s32" | "sub.sat.s32")
}

/// Shifts of 16 bits.
fn shifts_half(form: &Form) -> bool {
    matches!(form.opcode, Opcode::Shl | Opcode::Shr) && form.types[0].bits() == 16
}

/// Whether any integer constant may stand for a source.
fn takes_constants(form: &Form) -> bool {
    matches!(
        form.opcode,
        Opcode::Add
            | Opcode::Sub
            | Opcode::Mul
            | Opcode::Mad
            | Opcode::And
            | Opcode::Or
            | Opcode::Xor
            | Opcode::Min
            | Opcode::Max
            | Opcode::Setp
            | Opcode::Selp
            | Opcode::Shl
            | Opcode::Shr
            | Opcode::Mov
    ) && !takes_floats(form)
}

/// Whether sources are floating-point numbers or packed.
fn takes_floats(form: &Form) -> bool {
    form.types
        .iter()
        .any(|scalar_type| scalar_type.is_float() || scalar_type.lanes() > 1)
}

/// The function kernels call: arithmetic, a loop and an early return.
fn helper(prefix: &str) -> String {
    format!(
        ".func (.param .b32 result) {prefix}_helper(\n\t.param .b32 first,\n\t.param .b64 second\n)\n{{\n\
         \t.reg .b32 %r<6>;\n\t.reg .b64 %d<3>;\n\t.reg .pred %p<3>;\n\
         \tld.param.b32 %r1, [first];\n\tld.param.b64 %d1, [second];\n\tcvt.u32.u64 %r2, %d1;\n\
         \tand.b32 %r3, %r2, 3;\n\tsetp.eq.u32 %p1, %r3, 2;\n\t@%p1 st.param.b32 [result], %r1;\n\t@%p1 ret;\n\
         $helper_loop:\n\tmad.lo.u32 %r1, %r1, 1664525, %r2;\n\tshf.l.wrap.b32 %r2, %r2, %r1, 7;\n\
         \tsetp.ne.u32 %p2, %r3, 0;\n\tadd.s32 %r3, %r3, -1;\n\t@%p2 bra $helper_loop;\n\
         \tst.param.b32 [result], %r1;\n\tret;\n}}\n"
    )
}
