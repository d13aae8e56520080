//! Loads, stores, atomics and fences.

use super::{DEEPEST, Generator, LOCAL_BYTES, RESULT_BYTES, TABLE_ENTRIES};
use crate::forms::Width;
use crate::{INPUT_BYTES, THREAD_BYTES};

impl Generator {
    /// Puts `base + (a random register & mask)` into `%address`.
    pub(super) fn address(&mut self, base: &str, mask: usize) {
        let index = self.source(Width::Word);
        self.line(format!("and.b32 %scratch, {index}, {mask};"));
        self.line("cvt.u64.u32 %address, %scratch;");
        self.line(format!("add.u64 %address, {base}, %address;"));
    }

    /// A width in bits, its register width, and how many of them are accessed.
    pub(super) fn access(&mut self) -> (usize, Width, usize) {
        let (bits, width) =
            *self
                .random
                .pick(&[(16, Width::Half), (32, Width::Word), (64, Width::Double)]);
        let count = if self.random.one_in(3) { 2 } else { 1 };
        (bits, width, count)
    }

    pub(super) fn load_input(&mut self) {
        self.count("load of input");
        let (bits, width, count) = self.access();
        self.address("%input", (INPUT_BYTES - 1) & !(bits * count / 8 - 1));
        let kind = *self
            .random
            .pick(&["", ".nc", ".ca", ".cg", ".cs", ".relaxed.gpu"]);
        let kind = if count > 1 && kind == ".relaxed.gpu" {
            ""
        } else {
            kind
        };
        let (space, kind) = if kind == ".relaxed.gpu" {
            (".relaxed.gpu.global", "")
        } else {
            (".global", kind)
        };
        let names = self.destinations(width, count);
        if count == 1 {
            self.line(format!("ld{space}{kind}.b{bits} {}, [%address];", names[0]));
        } else {
            self.line(format!(
                "ld{space}{kind}.v2.b{bits} {{{}}}, [%address];",
                names.join(", ")
            ));
        }
    }

    /// Loads of bytes and halves of the input, extended, through one sum that other statements come between.
    pub(super) fn shared_address(&mut self) {
        self.count("shared address");
        // Addresses differ from machine to machine, so that they must not become values: their registers are in no pool.
        let registers = [(); 2].map(|()| self.new_register(Width::Double));
        let [sum, shared] = registers.map(|register| format!("{}{register}", Width::Double.stem()));
        let narrow = format!("{}{}", Width::Half.stem(), self.new_register(Width::Half));
        let constant = 2 * self.random.below(700);
        let index = self.source(Width::Word);
        self.line(format!("and.b32 %scratch, {index}, 1022;"));
        self.line(format!("add.u64 {sum}, %input, {constant};"));
        if self.random.one_in(2) {
            self.line("cvt.s64.s32 %address, %scratch;");
            self.line(format!("add.s64 {shared}, {sum}, %address;"));
        } else {
            self.line(format!("mad.wide.s32 {shared}, %scratch, 1, {sum};"));
        }
        for _ in 0..2 + self.random.below(2) {
            let element = *self.random.pick(&["u8", "s8", "u16", "s16"]);
            let offset = 2 * self.random.below(40);
            self.line(format!(
                "ld.global.{element} {narrow}, [{shared}+{offset}];"
            ));
            let sign = *self.random.pick(&["u", "s"]);
            if self.random.one_in(3) {
                let name = self.destination(Width::Double, false);
                self.line(format!("cvt.{sign}64.{sign}16 {name}, {narrow};"));
            } else {
                let name = self.destination(Width::Word, false);
                self.line(format!("cvt.{sign}32.{sign}16 {name}, {narrow};"));
            }
            if self.depth < DEEPEST {
                self.statement();
            }
        }
    }

    pub(super) fn local_memory(&mut self) {
        self.count("local memory");
        let (bits, width, count) = self.access();
        self.address("%local", (LOCAL_BYTES - 1) & !(bits * count / 8 - 1));
        let sources: Vec<String> = (0..count).map(|_| self.source(width)).collect();
        let guard = self.guard();
        if count == 1 {
            self.line(format!(
                "{guard}st.local.b{bits} [%address], {};",
                sources[0]
            ));
        } else {
            self.line(format!(
                "{guard}st.local.v2.b{bits} [%address], {{{}}};",
                sources.join(", ")
            ));
        }
        let generic = self.random.one_in(3);
        let (bits, width, _) = self.access();
        self.address("%local", (LOCAL_BYTES - 1) & !(bits / 8 - 1));
        let name = self.destination(width, false);
        if generic {
            self.line("cvta.local.u64 %address, %address;");
            self.line(format!("ld.b{bits} {name}, [%address];"));
        } else {
            self.line(format!("ld.local.b{bits} {name}, [%address];"));
        }
    }

    /// Stores to the scratch half of the thread's own output, and loads from it.
    pub(super) fn own_memory(&mut self) {
        self.count("own global memory");
        let (bits, width, _) = self.access();
        let mask = (THREAD_BYTES - RESULT_BYTES - 1) & !(bits / 8 - 1);
        self.address("%own", mask);
        let source = self.source(width);
        let guard = self.guard();
        self.line(format!(
            "{guard}st.global.b{bits} [%address+{RESULT_BYTES}], {source};"
        ));
        let (bits, width, _) = self.access();
        self.address("%own", (THREAD_BYTES - RESULT_BYTES - 1) & !(bits / 8 - 1));
        let name = self.destination(width, false);
        self.line(format!(
            "ld.global.b{bits} {name}, [%address+{RESULT_BYTES}];"
        ));
    }

    pub(super) fn constant_table(&mut self) {
        self.count("constant memory");
        let base = format!("{}_table", self.prefix);
        self.line(format!("mov.u64 %address, {base};"));
        let index = self.source(Width::Word);
        self.line(format!("and.b32 %scratch, {index}, {};", TABLE_ENTRIES - 1));
        self.line("mad.wide.u32 %address, %scratch, 4, %address;");
        let name = self.destination(Width::Word, false);
        self.line(format!("ld.const.b32 {name}, [%address];"));
    }

    pub(super) fn atomic(&mut self) {
        self.count("atomic");
        let (operation, cell) = *self.random.pick(&[
            ("add.u32", 0),
            ("and.b32", 1),
            ("or.b32", 2),
            ("xor.b32", 3),
            ("min.s32", 4),
            ("max.u32", 5),
            ("add.u64", 6),
        ]);
        let width = if operation.ends_with("64") {
            Width::Double
        } else {
            Width::Word
        };
        let value = self.source(width);
        let guard = self.guard();
        match self.random.below(3) {
            // A cell all threads share: only the final sum is the same in every run.
            0 => self.line(format!(
                "{guard}red.global.{operation} [%cells+{}], {value};",
                cell * 8
            )),
            // A cell of the thread's own: what it held is known.
            1 => {
                let name = self.destination(width, !guard.is_empty());
                self.line(format!(
                    "{guard}atom.global.{operation} {name}, [%own+{}], {value};",
                    RESULT_BYTES + 8 * cell
                ));
            }
            _ => {
                let (compare, value) = (self.source(Width::Word), self.source(Width::Word));
                let name = self.destination(Width::Word, !guard.is_empty());
                self.line(format!(
                    "{guard}atom.global.cas.b32 {name}, [%own+{}], {compare}, {value};",
                    RESULT_BYTES + 64
                ));
            }
        }
    }

    pub(super) fn fence(&mut self) {
        self.count("fence");
        let fence = *self.random.pick(&[
            "membar.gl;",
            "membar.cta;",
            "fence.acq_rel.gpu;",
            "fence.sc.cta;",
        ]);
        self.line(fence);
    }
}
