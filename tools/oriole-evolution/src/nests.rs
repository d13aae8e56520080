//! Kernels at random of two loops around each other that read and write arrays, in both orders of the loops.
//!
//! Indices have masks and narrow parts, steps are numbers or parameters, which may be zero, and arrays of shared memory are sized at launch.
//! No thread accesses what another one does, so only the order of a thread's own iterations can make a difference.

use oriole_emulator::SplitMix64;
use std::fmt::Write;

/// A kernel `nest(.u64 data, .u64 other, .u32 rows, .u64 columns)`, and the same with its loops exchanged: lines of accesses are the same.
#[derive(Clone, Debug)]
pub struct NestKernel {
    /// The module.
    pub text: String,
    /// The module with the loops exchanged.
    pub exchanged: String,
    /// The shape of blocks.
    pub block: [u32; 3],
    /// How often the loops run: the outer one first.
    pub trips: [u64; 2],
    /// The argument `rows`.
    pub rows: u32,
    /// The argument `columns`.
    pub columns: i64,
    /// Bytes of shared memory that the launch gives.
    pub dynamic_shared: u64,
}

/// Bytes of each of the two buffers.
pub const BYTES: usize = 1 << 20;

/// Bytes between the tiles of threads in a buffer.
const TILE: usize = 1 << 14;

/// Bytes between the tiles of threads in shared memory.
const SHARED_TILE: usize = 6 << 10;

/// The distance of an access from one iteration to the next.
#[derive(Clone, Copy)]
enum Step {
    Number(i64),
    /// A register that holds a parameter.
    Parameter(&'static str),
}

impl std::fmt::Display for Step {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Step::Number(bytes) => write!(formatter, "{bytes}"),
            Step::Parameter(name) => formatter.write_str(name),
        }
    }
}

/// Random choices of a kernel.
struct Choices {
    random: SplitMix64,
    /// Bytes between neighbouring elements of a thread.
    unit: i64,
    has_masks: bool,
    has_symbols: bool,
    is_shared: bool,
}

impl Choices {
    fn below(&mut self, bound: u64) -> u64 {
        self.random.next_number() % bound
    }

    fn of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len() as u64) as usize]
    }

    /// The steps of both loops in bytes.
    fn steps(&mut self) -> [Step; 2] {
        let near = Step::Number(self.unit * self.of(&[0, 1, 1, 1, 2, -1]));
        let far = Step::Number(self.unit * self.of(&[8, 16, 16, 16, 32, 3, 17, -16]));
        let steps = match self.below(3) {
            0 => [far, near],
            _ => [near, far],
        };
        steps.map(|step| match self.has_symbols && self.below(3) != 0 {
            true => Step::Parameter(self.of(&["%rows", "%rows", "%columns"])),
            false => step,
        })
    }

    /// Bytes that an access is ahead of others, some whole steps: those of parameters are added to `%t`.
    fn whole_steps(&mut self, body: &mut String, steps: [Step; 2]) -> i64 {
        let mut more = 0;
        if self.below(3) != 0 {
            let near = self.of(&[0, 1, 1, 2, -1, -2]);
            let far = self.of(&[0, 0, 1, -1]);
            for (step, count) in steps.into_iter().zip([near, far]) {
                match step {
                    Step::Number(bytes) => more += bytes * count,
                    Step::Parameter(name) => {
                        let _ = writeln!(body, "    mad.lo.s64 %t, {name}, {count}, %t;");
                    }
                }
            }
        }
        more
    }

    /// Puts an index of a few bits of both counters into `%u`.
    fn mask(&mut self, body: &mut String) {
        let (i, j) = self.of(&[(1, 0), (0, 1), (1, 1), (1, 2), (2, 1), (1, -1)]);
        let start = self.below(3);
        let _ = writeln!(body, "    mul.lo.s64 %u, %i, {i};");
        let _ = writeln!(body, "    mad.lo.s64 %u, %j, {j}, %u;");
        let _ = writeln!(body, "    add.s64 %u, %u, {start};");
        let mask = self.of(&[1, 3, 3, 7]);
        match self.below(4) {
            0 | 1 => {
                let _ = writeln!(body, "    and.b64 %u, %u, {mask};");
            }
            2 => {
                let _ = writeln!(body, "    cvt.u32.u64 %y, %u;");
                let _ = writeln!(body, "    and.b32 %y, %y, {mask};");
                let _ = writeln!(body, "    cvt.u64.u32 %u, %y;");
            }
            // Three bits, by way of eight, with or without a sign.
            _ => {
                let kind = self.of(&["u", "s"]);
                let _ = writeln!(body, "    cvt.u32.u64 %y, %u;");
                let _ = writeln!(body, "    shl.b32 %y, %y, 5;");
                let _ = writeln!(body, "    cvt.{kind}32.{kind}8 %y, %y;");
                let _ = writeln!(body, "    shr.{kind}32 %y, %y, 5;");
                let _ = writeln!(body, "    cvt.{kind}64.{kind}32 %u, %y;");
            }
        }
    }

    /// Puts the sum of an index and a base into `%t`. `steps` are those of both loops.
    fn address(&mut self, body: &mut String, base: &str, steps: [Step; 2]) {
        let _ = writeln!(body, "    mov.u64 %t, {base};");
        let mut counters = vec![("%i", steps[0]), ("%j", steps[1])];
        if self.has_masks && self.below(2) == 0 {
            self.mask(body);
            let masked = self.below(2) as usize;
            // A mask of both counters may be all of the index.
            let is_alone = self.below(4) == 0;
            let step = counters.remove(masked).1;
            counters.insert(masked, ("%u", step));
            if is_alone {
                counters.remove(1 - masked);
            }
        }
        for (register, step) in counters {
            let _ = writeln!(body, "    mad.lo.s64 %t, {register}, {step}, %t;");
        }
    }

    /// The accesses of the inner loop.
    fn body(&mut self) -> String {
        let mut body = String::from(
            "    cvt.u32.u64 %v, %i;\n    cvt.u32.u64 %x, %j;\n    mad.lo.u32 %v, %v, 37, %x;\n",
        );
        let usual = self.steps();
        let count = 2 + self.below(2);
        for access in 0..count {
            // Most accesses go through the array the same way.
            let steps = match self.below(6) {
                0 => self.steps(),
                _ => usual,
            };
            let in_shared = self.is_shared && self.below(4) != 0;
            let (space, base) = match in_shared {
                true => ("shared", self.of(&["%c", "%c", "%d"])),
                false => ("global", self.of(&["%a", "%a", "%a", "%b"])),
            };
            let (width, kind) = self.of(&[(4, "u32"), (4, "u32"), (2, "u16")]);
            let half = match width {
                2 => 2 * self.below(2) as i64,
                _ => 0,
            };
            self.address(&mut body, base, steps);
            let more = half + self.whole_steps(&mut body, usual);
            if access + 1 == count || self.below(4) == 0 {
                let _ = writeln!(body, "    st.{space}.{kind} [%t+{more}], %v;");
            } else {
                let _ = writeln!(body, "    ld.{space}.{kind} %x, [%t+{more}];");
                let _ = writeln!(body, "    mad.lo.u32 %v, %v, 3, %x;");
            }
        }
        body
    }
}

/// Stores a number that all of a thread's shared memory decides.
fn digest() -> String {
    format!(
        "    add.s64 %t, %c, -{};\n    mov.u64 %u, 0;\n    mov.u32 %v, 0;\n$digest:\n    \
         ld.shared.v2.u32 {{%x, %y}}, [%t];\n    mad.lo.u32 %v, %v, 31, %x;\n    mad.lo.u32 %v, %v, 31, %y;\n    \
         add.s64 %t, %t, 8;\n    add.s64 %u, %u, 8;\n    setp.lt.s64 %p, %u, {SHARED_TILE};\n    @%p bra $digest;\n    \
         st.global.u32 [%a], %v;\n",
        SHARED_TILE / 2
    )
}

/// The kernel of a seed.
pub fn generate(seed: u64) -> NestKernel {
    let mut choices = Choices {
        random: SplitMix64::new(seed ^ 0x4E57),
        unit: 4,
        has_masks: false,
        has_symbols: false,
        is_shared: false,
    };
    choices.has_masks = choices.below(3) == 0;
    choices.has_symbols = choices.below(2) == 0;
    choices.is_shared = choices.below(3) == 0;
    let threads = match choices.is_shared {
        true => 32,
        false => choices.of(&[32, 64]),
    };
    // Tiles of threads, or words of threads side by side.
    let is_tiled = choices.is_shared || choices.below(4) != 0;
    if !is_tiled {
        choices.unit = 4 * threads;
    }
    let trips = [choices.of(&[8, 16, 16]), choices.of(&[8, 8, 16])];
    let rows = choices.of(&[0, 1, 2, 3, 8]);
    let columns = choices.of(&[0, 1, 2, -1, 8, -8]);
    // These steps are provably not zero.
    let positive = match choices.below(3) {
        0 => "    rem.u32 %r2, %r2, 1000;\n    add.u32 %r2, %r2, 1;\n",
        _ => "",
    };
    let body = choices.body();
    // Far from the ends of what a thread may access.
    let (between, center) = match is_tiled {
        true => (TILE, TILE / 2),
        false => (4, BYTES / 2),
    };
    let (declarations, bases, end) = match choices.is_shared {
        true => (
            ".extern .shared .align 16 .b8 first[];\n.extern .shared .align 16 .b8 second[];\n",
            format!(
                "    mul.wide.u32 %w, %r1, {SHARED_TILE};\n    add.s64 %w, %w, {};\n    mov.u64 %c, first;\n    \
                 add.s64 %c, %c, %w;\n    mov.u64 %d, second;\n    add.s64 %d, %d, %w;\n",
                SHARED_TILE / 2
            ),
            digest(),
        ),
        false => ("", String::new(), String::new()),
    };
    let unit = choices.unit;
    let text = |outer: &str, inner: &str, [out, within]: [u64; 2]| {
        format!(
            ".version 8.0\n.target sm_90\n.address_size 64\n\n{declarations}\
             .visible .entry nest(.param .u64 data, .param .u64 other, .param .u32 rows, .param .u64 columns)\n{{\n    \
             .reg .b32 %v, %x, %y, %r<3>;\n    .reg .b64 %a, %b, %c, %d, %i, %j, %t, %u, %w, %rows, %columns;\n    \
             .reg .pred %p, %q;\n    \
             ld.param.u64 %a, [data];\n    ld.param.u64 %b, [other];\n    ld.param.u32 %r2, [rows];\n\
             {positive}    mul.wide.u32 %rows, %r2, {unit};\n    ld.param.u64 %columns, [columns];\n    \
             mul.lo.s64 %columns, %columns, {unit};\n    mov.u32 %r1, %tid.x;\n    \
             mul.wide.u32 %w, %r1, {between};\n    add.s64 %w, %w, {center};\n    add.s64 %a, %a, %w;\n    \
             add.s64 %b, %b, %w;\n{bases}    mov.u64 %{outer}, 0;\n$outer:\n    mov.u64 %{inner}, 0;\n$inner:\n\
             {body}    add.s64 %{inner}, %{inner}, 1;\n    setp.lt.s64 %p, %{inner}, {within};\n    \
             @%p bra $inner;\n    add.s64 %{outer}, %{outer}, 1;\n    setp.lt.s64 %q, %{outer}, {out};\n    \
             @%q bra $outer;\n{end}    ret;\n}}\n"
        )
    };
    NestKernel {
        text: text("i", "j", trips),
        exchanged: text("j", "i", [trips[1], trips[0]]),
        block: [threads as u32, 1, 1],
        trips,
        rows,
        columns,
        dynamic_shared: match choices.is_shared {
            true => 32 * SHARED_TILE as u64,
            false => 0,
        },
    }
}
