//! Shapes that other people's programs showed to matter: one load in several arms, lanes that meet at warp operations in
//! different places, and functions that write their caller's stack.
//!
//! What comes in is right by the manual and by `ptxas`; what a careless pass makes of it is not.

use super::{DEEPEST, Generator, LOCAL_BYTES};
use crate::forms::Width;
use std::fmt::Write;

/// Operations on a loaded word and another.
const OPERATIONS: &[&str] = &[
    "add.s32",
    "xor.b32",
    "sub.s32",
    "mul.lo.s32",
    "min.s32",
    "and.b32",
    "mul.hi.u32",
];

// Kinds of messages; lower ones are shuffles from one lane.
const BUTTERFLY: usize = 2;
const BALLOT: usize = 3;
const MATCH: usize = 4;

/// Times the number of the thread, added to a word: odd, so that it differs in all lanes.
const LANE_FACTOR: u32 = 0x9E37_79B1;

impl Generator {
    /// One of the shapes.
    pub(super) fn shape(&mut self) {
        let shapes = self.options.shapes;
        match self.random.below(3) {
            0 if self.together && shapes.lanes => self.parted_lanes(),
            1 if shapes.calls => self.call_by_reference(),
            _ if shapes.loads => self.loads_in_arms(),
            _ => self.value(),
        }
    }

    /// A register that no other statement reads.
    fn private(&mut self, width: Width) -> String {
        format!("{}{}", width.stem(), self.new_register(width))
    }

    /// The same word is loaded, and the same computed from it, in several arms under different conditions. If a load got a
    /// guard, and its register were undefined otherwise, ptxas would take it for all of them.
    fn loads_in_arms(&mut self) {
        self.count("loads in arms");
        let address = self.private(Width::Double);
        let (space, base) = *self.random.pick(&[
            (".global", "%input"),
            (".global.nc", "%input"),
            ("", "%input"),
        ]);
        let index = self.source(Width::Word);
        self.line(format!("and.b32 %scratch, {index}, 4092;"));
        self.line(format!("cvt.u64.u32 {address}, %scratch;"));
        self.line(format!("add.u64 {address}, {base}, {address};"));
        if space.is_empty() {
            self.line(format!("cvta.global.u64 {address}, {address};"));
        }
        let operation = *self.random.pick(OPERATIONS);
        let other = self.source(Width::Word);
        for _ in 0..2 + self.random.below(3) {
            let predicate = self.source(Width::Predicate);
            let negation = if self.random.one_in(2) { "!" } else { "" };
            let loaded = self.private(Width::Word);
            let result = self.private(Width::Word);
            let load = format!("ld{space}.b32 {loaded}, [{address}];");
            let compute = if self.random.one_in(5) {
                let operation = *self.random.pick(OPERATIONS);
                format!("{operation} {result}, {loaded}, {other};")
            } else {
                format!("{operation} {result}, {loaded}, {other};")
            };
            match self.random.below(4) {
                0 => {
                    self.line(load);
                    self.line(compute);
                }
                1 => {
                    self.line(format!("mov.b32 {loaded}, {};", self.labels));
                    self.line(format!("@{negation}{predicate} {load}"));
                    self.line(compute);
                }
                2 => {
                    let end = self.label();
                    self.line(format!("mov.b32 {result}, {};", self.labels));
                    self.line(format!("@{negation}{predicate} bra {end};"));
                    self.line(load);
                    self.line(compute);
                    let _ = writeln!(self.body, "{end}:");
                }
                _ => {
                    let (otherwise, end) = (self.label(), self.label());
                    self.line(format!("@{negation}{predicate} bra {otherwise};"));
                    self.line(load);
                    self.line(compute);
                    self.line(format!("bra {end};"));
                    let _ = writeln!(self.body, "{otherwise}:");
                    self.line(format!("xor.b32 {result}, {other}, {};", self.labels));
                    let _ = writeln!(self.body, "{end}:");
                }
            }
            let kept = self.destination(Width::Word, false);
            self.line(format!("mov.b32 {kept}, {result};"));
            if self.depth < DEEPEST && self.random.one_in(3) {
                self.value();
            }
        }
    }

    /// Lanes part and meet at warp operations in different places. Some results are dead, some operations look like others;
    /// each is a message to the lanes in the other arm.
    fn parted_lanes(&mut self) {
        self.count("parted lanes");
        let predicate = self.private(Width::Predicate);
        let lanes = 1 + self.random.below(31);
        self.line("and.b32 %scratch, %thread, 31;");
        self.line(format!("setp.lt.u32 {predicate}, %scratch, {lanes};"));
        self.line("bar.warp.sync 0xffffffff;");
        let (other, end) = (self.label(), self.label());
        let kinds: Vec<usize> = (0..1 + self.random.below(3))
            .map(|_| self.random.below(MATCH + 1))
            .collect();
        if self.random.one_in(3) {
            // One part is a round ahead of the other. The parts then get different results from one instruction, which ptxas
            // takes for the same in all lanes if it is a vote, a reduction or a shuffle from one lane (quirk
            // `warp-result-uniform`): only operations whose results it knows to differ by lane.
            let kind = *self.random.pick(&[BUTTERFLY, MATCH]);
            self.line(format!("@!{predicate} bra {other};"));
            self.message(kind, None);
            let _ = writeln!(self.body, "{other}:");
            let source = self.lane_word();
            self.message(kind, Some(&source));
            self.message(kind, Some(&source));
            self.line(format!("@{predicate} bra {end};"));
            self.message(kind, None);
        } else {
            self.line(format!("@{predicate} bra {other};"));
            let source = self.lane_word();
            for &kind in &kinds {
                self.message(kind, Some(&source));
            }
            self.line(format!("bra {end};"));
            let _ = writeln!(self.body, "{other}:");
            for &kind in &kinds {
                self.message(kind, None);
            }
        }
        let _ = writeln!(self.body, "{end}:");
        self.line("bar.warp.sync 0xffffffff;");
    }

    /// A word that differs by lane, and that ptxas knows to: it takes what a butterfly gives for its source, and what a match
    /// gives for the same in all lanes, if the source is the same in all lanes of one part.
    fn lane_word(&mut self) -> String {
        let word = self.source(Width::Word);
        let register = self.private(Width::Word);
        self.line(format!(
            "mad.lo.u32 {register}, %thread, {LANE_FACTOR}, {word};"
        ));
        register
    }

    /// A warp operation of the whole warp, of a given source or any.
    fn message(&mut self, kind: usize, source: Option<&str>) {
        let word = match source {
            Some(source) => source.to_owned(),
            None => self.lane_word(),
        };
        // Dead, or kept in a register that holds a value on all ways.
        let result = if self.random.one_in(2) {
            self.private(Width::Word)
        } else {
            self.destination(Width::Word, true)
        };
        let lane = self.random.below(32);
        let line = match kind {
            0 | 1 => format!("shfl.sync.idx.b32 {result}, {word}, {lane}, 31, 0xffffffff;"),
            BUTTERFLY => format!("shfl.sync.bfly.b32 {result}, {word}, {lane}, 31, 0xffffffff;"),
            BALLOT => {
                let predicate = self.source(Width::Predicate);
                format!("vote.sync.ballot.b32 {result}, {predicate}, 0xffffffff;")
            }
            _ => format!("match.any.sync.b32 {result}, {word}, 0xffffffff;"),
        };
        self.line(line);
    }

    /// Calls a function that gets a pair by value, writes to the caller's local memory, and reads the pair again.
    fn call_by_reference(&mut self) {
        self.count("call by reference");
        self.uses_writer = true;
        let (a, b) = (self.source(Width::Word), self.source(Width::Word));
        let offset = 8 * self.random.below(LOCAL_BYTES / 8);
        let pointer = self.private(Width::Double);
        let name = self.destination(Width::Word, false);
        let loaded = self.destination(Width::Word, false);
        let function = format!("{}_writer", self.prefix);
        self.line(format!("add.u64 {pointer}, %local, {offset};"));
        self.line(format!("cvta.local.u64 {pointer}, {pointer};"));
        for line in [
            "{".to_owned(),
            ".param .align 4 .b8 pair[8];".to_owned(),
            ".param .b64 pointer;".to_owned(),
            ".param .b32 result;".to_owned(),
            format!("st.param.b32 [pair], {a};"),
            format!("st.param.b32 [pair+4], {b};"),
            format!("st.param.b64 [pointer], {pointer};"),
            format!("call (result), {function}, (pair, pointer);"),
            format!("ld.param.b32 {name}, [result];"),
            "}".to_owned(),
            format!("ld.local.b32 {loaded}, [%local+{offset}];"),
        ] {
            self.line(line);
        }
    }
}

/// The function that [`Generator::call_by_reference`] calls: it has an array of its own, and reads its parameters before and
/// after it writes through the pointer.
pub(super) fn writer(prefix: &str) -> String {
    format!(
        ".func (.param .b32 result) {prefix}_writer(\n\t.param .align 4 .b8 pair[8],\n\t.param .b64 pointer\n)\n{{\n\
         \t.reg .b32 %r<8>;\n\t.reg .b64 %d<3>;\n\t.reg .pred %p<2>;\n\t.local .align 4 .b8 {prefix}_own[8];\n\
         \tld.param.b64 %d1, [pointer];\n\tld.param.b32 %r1, [pair];\n\tld.param.b32 %r2, [pair+4];\n\
         \tmov.u64 %d2, {prefix}_own;\n\tst.local.b32 [%d2], %r2;\n\tst.b32 [%d1], %r1;\n\
         \tld.param.b32 %r3, [pair];\n\tsetp.gt.s32 %p1, %r3, %r2;\n\t@%p1 st.local.b32 [%d2], %r3;\n\
         \tld.param.b32 %r4, [pair+4];\n\tst.b32 [%d1+4], %r4;\n\tld.local.b32 %r5, [%d2];\n\tld.b32 %r6, [%d1];\n\
         \tmad.lo.u32 %r7, %r5, 31, %r6;\n\tst.param.b32 [result], %r7;\n\tret;\n}}\n"
    )
}
