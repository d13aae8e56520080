//! Kernels at random that write arrays in shared memory one way and read them another.
//!
//! What is stored at a word is computed from where the word lies, so that threads that store there at once agree. Stores, loads, copies and
//! atomics are in phases of their own, with barriers between them: what a kernel computes does not depend on the order of threads.

use oriole_emulator::SplitMix64;
use std::fmt::Write;

/// A kernel `tiles(.u64 out)`, which writes four bytes for each thread, and a launch of it.
#[derive(Clone, Debug)]
pub struct TileKernel {
    /// The module.
    pub text: String,
    /// The shape of blocks.
    pub block: [u32; 3],
    /// Bytes of shared memory to give at launch.
    pub dynamic: u32,
}

struct Writer {
    random: SplitMix64,
    text: String,
    registers: u32,
    wide: u32,
    labels: u32,
    /// Arrays: their bytes and alignment.
    arrays: Vec<(u32, u32)>,
    /// Whether something is copied from global memory.
    has_copies: bool,
    /// The bytes of rows, if all accesses are to rows and columns of one array.
    row: Option<u32>,
}

/// Bytes of rows.
const ROWS: [u32; 7] = [80, 96, 128, 160, 160, 192, 256];

/// Bytes of the variable that copies read.
const SOURCE_BYTES: u32 = 8448;

/// What a phase does.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    Store,
    Load,
    Add,
    Copy,
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

    fn define(&mut self, instruction: &str, operands: &str) -> String {
        let register = format!("%r{}", self.registers);
        self.registers += 1;
        self.line(&format!("{instruction} {register}, {operands};"));
        register
    }

    /// The number of an element, by thread and iteration.
    fn index(&mut self, counter: Option<&str>) -> String {
        let strides = [0, 1, 1, 2, 4, 8, 16, 24, 31, 32, 32, 33, 40, 48, 64];
        let (x, y) = (self.pick(&strides), self.pick(&strides));
        let product = self.define("mul.lo.s32", &format!("%r1, {x}"));
        let mut index = self.define("mad.lo.s32", &format!("%r2, {y}, {product}"));
        if self.below(4) == 0 {
            index = self.define("xor.b32", &format!("{index}, %r2"));
        }
        if let Some(counter) = counter {
            let stride = self.pick(&[0, 256, 1024, 32, 8]);
            index = self.define("mad.lo.s32", &format!("{counter}, {stride}, {index}"));
        }
        index
    }

    /// The value of the word that an offset from an array lies in, plus so many words.
    fn content(&mut self, offset: &str, plus: u32, salt: u64) -> String {
        let word = self.define("shr.u32", &format!("{offset}, 2"));
        let word = self.define("add.s32", &format!("{word}, {plus}"));
        let mixed = self.define("mad.lo.s32", &format!("{word}, 40503, {salt}"));
        let byte = self.define("bfe.u32", &format!("{mixed}, 9, 8"));
        self.define("mul.lo.s32", &format!("{byte}, 16843009"))
    }

    /// A copy to a place in an array, of which an offset is known. What is copied depends on nothing else, so that threads agree.
    fn copy(&mut self, guard: &str, place: &str, offset: &str, width: u32, salt: u64) {
        self.has_copies = true;
        let from = self.define("xor.b32", &format!("{offset}, {}", (salt % 8) * 16));
        let (base, sum) = (self.wide, self.wide + 2);
        self.wide += 3;
        self.line(&format!("mov.u64 %rd{base}, given;"));
        self.line(&format!("cvt.u64.u32 %rd{}, {from};", base + 1));
        self.line(&format!("add.s64 %rd{sum}, %rd{base}, %rd{};", base + 1));
        let cache = match width {
            16 => self.pick(&["ca", "cg"]),
            _ => "ca",
        };
        let plus = salt % 5 * 16;
        // All of it, or less: the rest is zeros.
        let size = match salt % 3 {
            0 => format!(", {}", width / 2),
            _ => String::new(),
        };
        self.line(&format!(
            "{guard}cp.async.{cache}.shared.global {place}, [%rd{sum}+{plus}], {width}{size};"
        ));
    }

    /// A load of matrices.
    fn matrices(&mut self, place: &str) {
        let count: u32 = self.pick(&[1, 2, 4]);
        let transposed = self.pick(&["", ".trans"]);
        let names: Vec<String> = (0..count)
            .map(|more| format!("%r{}", self.registers + more))
            .collect();
        self.registers += count;
        self.line(&format!(
            "ldmatrix.sync.aligned.m8n8.x{count}{transposed}.shared.b16 {{{}}}, {place};",
            names.join(", ")
        ));
        for name in names {
            self.line(&format!("mad.lo.s32 %r3, %r3, 31, {name};"));
        }
    }

    /// The offset of an element in an array, and a constant to add to it.
    fn element(&mut self, bytes: u32, width: u32, counter: Option<&str>) -> (String, u32) {
        let index = self.index(counter);
        let constant = self.pick(&[0, 0, 1, 3, 8]) * width;
        let count = (bytes - constant) / width;
        let element = match self.below(16) {
            0 => self.define("rem.u32", &format!("{index}, {count}")),
            _ => {
                let mask = (1 << count.ilog2()) - 1;
                self.define("and.b32", &format!("{index}, {mask}"))
            }
        };
        let offset = self.define("mul.lo.s32", &format!("{element}, {width}"));
        (offset, constant)
    }

    /// Likewise, of an element in a row of which both numbers are seen.
    fn row_and_column(&mut self, bytes: u32, width: u32, counter: Option<&str>) -> (String, u32) {
        let row = match self.row {
            Some(row) => row,
            None => self.pick(&ROWS),
        };
        let rows = 1 << (bytes / row).ilog2();
        let columns = 1 << (row / width).ilog2();
        let (first, second) = self.pick(&[("%r1", "%r2"), ("%r2", "%r1"), ("%r1", "%r1")]);
        let second = match counter {
            Some(counter) => self.define("add.s32", &format!("{counter}, {second}")),
            None => second.to_owned(),
        };
        // A constant is in the first row, or in the middle.
        let (rows, constant) = match self.below(3) {
            0 if rows > 1 => (rows / 2, rows / 2 * row),
            _ => (rows, 0),
        };
        let (columns, constant) = match self.below(3) {
            0 => (columns / 2, constant + columns / 2 * width),
            _ => (columns, constant),
        };
        let number = self.define("and.b32", &format!("{first}, {}", rows - 1));
        let column = self.define("and.b32", &format!("{second}, {}", columns - 1));
        let column = self.define("mul.lo.s32", &format!("{column}, {width}"));
        let offset = self.define("mad.lo.s32", &format!("{number}, {row}, {column}"));
        (offset, constant)
    }

    fn access(&mut self, phase: Phase, counter: Option<&str>, salt: u64) {
        let number = self.below(self.arrays.len() as u64) as usize;
        let (bytes, alignment) = self.arrays[number];
        let width = match phase {
            Phase::Add => 4,
            // With zeros instead of a part, all have to be of one width.
            Phase::Copy if salt.is_multiple_of(3) => 4,
            Phase::Copy => self.pick(&[4, 4, 8, 16]).min(alignment),
            _ => self.pick(&[1, 2, 4, 4, 4, 8, 16]).min(alignment),
        };
        let (offset, constant) = match self.below(3) {
            _ if self.row.is_some() => self.row_and_column(bytes, width, counter),
            0 => self.row_and_column(bytes, width, counter),
            _ => self.element(bytes, width, counter),
        };
        let whole = self.define("add.s32", &format!("{offset}, {constant}"));
        let address = if self.below(4) == 0 {
            let (base, sum) = (self.wide, self.wide + 2);
            self.wide += 3;
            self.line(&format!("mov.u64 %rd{base}, tile{number};"));
            self.line(&format!("cvt.u64.u32 %rd{}, {offset};", base + 1));
            self.line(&format!("add.s64 %rd{sum}, %rd{base}, %rd{};", base + 1));
            format!("%rd{sum}")
        } else {
            let base = self.define("mov.u32", &format!("tile{number}"));
            self.define("add.s32", &format!("{base}, {offset}"))
        };
        let place = match constant {
            0 => format!("[{address}]"),
            constant => format!("[{address}+{constant}]"),
        };
        let guard = match self.below(6) {
            0 => "@%p1 ",
            _ => "",
        };
        match phase {
            Phase::Copy => self.copy(guard, &place, &whole, width, salt),
            Phase::Load if width == 16 && self.below(3) == 0 => self.matrices(&place),
            Phase::Add => self.line(&format!("{guard}red.shared.add.u32 {place}, %r1;")),
            Phase::Store => {
                let words: Vec<String> = (0..width.div_ceil(4))
                    .map(|plus| self.content(&whole, plus, salt))
                    .collect();
                let words = words.join(", ");
                self.line(&match width {
                    1 => format!("{guard}st.shared.u8 {place}, {words};"),
                    2 => {
                        format!("cvt.u16.u32 %h1, {words};\n    {guard}st.shared.u16 {place}, %h1;")
                    }
                    4 => format!("{guard}st.shared.u32 {place}, {words};"),
                    8 => format!("{guard}st.shared.v2.u32 {place}, {{{words}}};"),
                    _ => format!("{guard}st.shared.v4.u32 {place}, {{{words}}};"),
                });
            }
            Phase::Load => {
                let first = self.registers;
                self.registers += 4;
                let names: Vec<String> = (0..4).map(|more| format!("%r{}", first + more)).collect();
                for name in &names {
                    self.line(&format!("mov.u32 {name}, 7;"));
                }
                self.line(&match width {
                    1 => format!("{guard}ld.shared.u8 {}, {place};", names[0]),
                    2 => format!(
                        "ld.shared.u16 %h1, {place};\n    cvt.u32.u16 {}, %h1;",
                        names[0]
                    ),
                    4 => format!("{guard}ld.shared.u32 {}, {place};", names[0]),
                    8 => format!(
                        "{guard}ld.shared.v2.u32 {{{}, {}}}, {place};",
                        names[0], names[1]
                    ),
                    _ => format!("{guard}ld.shared.v4.u32 {{{}}}, {place};", names.join(", ")),
                });
                for name in names {
                    self.line(&format!("mad.lo.s32 %r3, %r3, 31, {name};"));
                }
            }
        }
    }

    fn phase(&mut self, phase: Phase) {
        let salt = self.below(1000);
        let counter = (self.below(3) == 0).then(|| {
            let counter = self.define("mov.u32", "0");
            let label = self.labels;
            self.labels += 1;
            let _ = writeln!(self.text, "$L{label}:");
            (counter, label)
        });
        let accesses = match self.row {
            Some(_) => 1,
            None => 1 + self.below(3),
        };
        for _ in 0..accesses {
            self.access(phase, counter.as_ref().map(|own| own.0.as_str()), salt);
        }
        if let Some((counter, label)) = counter {
            let step = self.pick(&[1, 1, 2, 8]);
            let bound = step * (2 + self.below(4));
            self.line(&format!("add.s32 {counter}, {counter}, {step};"));
            self.line(&format!("setp.lt.s32 %p2, {counter}, {bound};"));
            self.line(&format!("@%p2 bra $L{label};"));
        }
        if phase == Phase::Copy {
            let wait = self.pick(&[
                "cp.async.wait_all;",
                "cp.async.commit_group;\n    cp.async.wait_group 0;",
            ]);
            self.line(wait);
        }
        self.line("bar.sync 0;");
    }
}

/// A variable of the module with numbers that differ.
fn given() -> String {
    let numbers: Vec<String> = (0..SOURCE_BYTES / 4)
        .map(|word| word.wrapping_mul(0x9e37_79b1).to_string())
        .collect();
    format!(
        ".global .align 16 .b32 given[{}] = {{{}}};\n",
        numbers.len(),
        numbers.join(", ")
    )
}

/// The kernel of this number.
pub fn generate(seed: u64) -> TileKernel {
    make(seed, false)
}

/// The kernel of this number, with its first array in memory that is given at launch, in whole lines.
pub fn generate_dynamic(seed: u64) -> TileKernel {
    make(seed, true)
}

fn make(seed: u64, is_dynamic: bool) -> TileKernel {
    let mut writer = Writer {
        random: SplitMix64::new(seed ^ 0x7469_6c65),
        text: String::new(),
        registers: 4,
        wide: 4,
        labels: 0,
        arrays: Vec::new(),
        has_copies: false,
        row: None,
    };
    let block = writer.pick(&[
        [32, 8, 1],
        [64, 1, 1],
        [128, 1, 1],
        [16, 16, 1],
        [8, 8, 1],
        [32, 1, 1],
    ]);
    if writer.below(2) == 0 {
        writer.row = Some(writer.pick(&ROWS));
    }
    let arrays = match writer.row {
        Some(_) => 1,
        None => writer.pick(&[1, 1, 1, 2, 3]),
    };
    for _ in 0..arrays {
        let bytes = writer.pick(&[512, 1000, 1024, 2048, 4096, 4096, 4112, 4224, 8192]);
        let alignment = writer.pick(&[4, 4, 8, 16]);
        writer.arrays.push((bytes, alignment));
    }
    let first = writer.pick(&[Phase::Store, Phase::Store, Phase::Copy]);
    writer.phase(first);
    for _ in 0..writer.below(4) {
        let phase = writer.pick(&[
            Phase::Load,
            Phase::Load,
            Phase::Store,
            Phase::Add,
            Phase::Copy,
        ]);
        writer.phase(phase);
    }
    writer.phase(Phase::Load);
    // Arrays of the module, or of the kernel.
    let linkage = writer.pick(&[None, None, Some(""), Some(".visible "), Some(".weak ")]);
    let mut declarations = String::new();
    let skipped = usize::from(is_dynamic);
    for (number, (bytes, alignment)) in writer.arrays.iter().enumerate().skip(skipped) {
        let _ = writeln!(
            declarations,
            "{}.shared .align {alignment} .b8 tile{number}[{bytes}];",
            linkage.unwrap_or("    ")
        );
    }
    let mut text = ".version 8.0\n.target sm_80\n.address_size 64\n\n".to_owned();
    if writer.has_copies {
        text += &given();
    }
    if linkage.is_some() {
        text += &declarations;
    }
    let mut dynamic = 0;
    if is_dynamic {
        let (bytes, alignment) = writer.arrays[0];
        dynamic = bytes.next_multiple_of(128);
        let _ = writeln!(text, ".extern .shared .align {alignment} .b8 tile0[];");
    }
    text += ".visible .entry tiles(.param .u64 out)\n";
    if writer.below(3) > 0 {
        let _ = writeln!(text, ".reqntid {}, {}, {}", block[0], block[1], block[2]);
    }
    let _ = writeln!(
        text,
        "{{\n    .reg .pred %p<4>;\n    .reg .b16 %h<2>;\n    .reg .b32 %r<{}>;\n    .reg .b64 %rd<{}>;",
        writer.registers, writer.wide
    );
    if linkage.is_none() {
        text += &declarations;
    }
    text += "    ld.param.u64 %rd1, [out];\n    mov.u32 %r1, %tid.x;\n    mov.u32 %r2, %tid.y;\n    mov.u32 %r3, 1;\n";
    text += "    setp.lt.u32 %p1, %r1, 17;\n";
    text += &writer.text;
    text += "    mov.u32 %r0, %ntid.x;\n    mad.lo.s32 %r0, %r2, %r0, %r1;\n    mul.wide.u32 %rd2, %r0, 4;\n";
    text += "    add.s64 %rd3, %rd1, %rd2;\n    st.global.u32 [%rd3], %r3;\n    ret;\n}\n";
    TileKernel {
        text,
        block,
        dynamic,
    }
}
