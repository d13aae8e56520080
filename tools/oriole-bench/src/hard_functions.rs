//! Single functions that punish anything worse than linear: many blocks, many exits to one place, many registers live at once.

use crate::growth::generator;
use std::fmt::Write;

/// A shape of function, and how large to make it.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// What it is called.
    pub name: &'static str,
    /// How many blocks, exits or registers the large one has; the small one has a tenth.
    pub size: usize,
    /// Makes the module.
    pub make: fn(usize) -> String,
}

/// All shapes.
pub const SHAPES: &[Shape] = &[
    Shape {
        name: "100,000 instructions in one block",
        size: 100_000,
        make: one_block,
    },
    Shape {
        name: "20,000 blocks, 100,000 instructions",
        size: 20_000,
        make: blocks,
    },
    Shape {
        name: "30,000 exits to one label",
        size: 30_000,
        make: exits,
    },
    Shape {
        name: "100,000 registers live at once",
        size: 100_000,
        make: live,
    },
    Shape {
        name: "100,000 registers carried by a loop",
        size: 100_000,
        make: carried,
    },
    Shape {
        name: "20,000 nested scopes",
        size: 20_000,
        make: scopes,
    },
];

fn module(declarations: &str, body: &str) -> String {
    format!(
        ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 p)\n{{\n{declarations}\
         .reg .b64 %rd<2>;\nld.param.u64 %rd1, [p];\nmov.u32 %r0, %tid.x;\n{body}ret;\n}}\n"
    )
}

/// Arithmetic on the last few results, some of it twice, some of it dead.
fn one_block(count: usize) -> String {
    let mut body =
        String::from("add.s32 %r1, %r0, 1;\nadd.s32 %r2, %r0, 2;\nadd.s32 %r3, %r0, 3;\n");
    let mut random = generator();
    for result in 4..count {
        let (a, b) = (
            result - 1 - random(3) as usize,
            result - 1 - random(3) as usize,
        );
        let _ = match random(8) {
            0 => writeln!(body, "mov.u32 %r{result}, %r{a};"),
            1 => writeln!(body, "shl.b32 %r{result}, %r{a}, {};", random(4)),
            2 => writeln!(body, "mul.lo.s32 %r{result}, %r{a}, {};", random(9)),
            3 => writeln!(body, "xor.b32 %r{result}, %r{a}, %r{b};"),
            4 => writeln!(body, "and.b32 %r{result}, %r{a}, %r{b};"),
            5 => writeln!(body, "ld.global.u32 %r{result}, [%rd1+{}];", 4 * random(64)),
            6 => writeln!(body, "add.s32 %r{result}, %r{a}, {};", random(9)),
            _ => writeln!(body, "add.s32 %r{result}, %r{a}, %r{b};"),
        };
    }
    let _ = writeln!(body, "st.global.u32 [%rd1], %r{};", count.max(4) - 1);
    module(
        &format!(".reg .b32 %r<{}>;\n.reg .pred %p<2>;\n", count.max(4)),
        &body,
    )
}

/// Branches forwards and now and then backwards, over four registers that every block changes.
pub(crate) fn blocks(count: usize) -> String {
    let mut body = String::from("mov.u32 %r1, 1;\nmov.u32 %r2, 2;\nmov.u32 %r3, 3;\n");
    let mut random = generator();
    for block in 0..count {
        let (a, b, c) = (random(4), random(4), random(4));
        let target = if random(5) > 0 {
            (block + 1 + random(50) as usize).min(count - 1)
        } else {
            block.saturating_sub(random(30) as usize)
        };
        let _ = write!(
            body,
            "L{block}:\nadd.s32 %r{a}, %r{b}, %r{c};\nxor.b32 %r{x}, %r{a}, 5;\nmul.lo.s32 %r{y}, %r{x}, %r{b};\n\
             setp.lt.s32 %p{block}, %r{y}, {block};\n@%p{block} bra L{target};\n",
            x = 10 + 2 * block,
            y = 11 + 2 * block,
        );
    }
    body.push_str("st.global.u32 [%rd1], %r0;\n");
    module(
        &format!(
            ".reg .b32 %r<{}>;\n.reg .pred %p<{}>;\n",
            2 * count + 12,
            count + 1
        ),
        &body,
    )
}

fn exits(count: usize) -> String {
    let mut body = String::new();
    for exit in 0..count {
        let _ = write!(
            body,
            "add.s32 %r0, %r0, {exit};\nsetp.lt.s32 %p{exit}, %r0, {exit};\n@%p{exit} bra OUT;\n"
        );
    }
    body.push_str("OUT:\nst.global.u32 [%rd1], %r0;\n");
    module(
        &format!(".reg .b32 %r<2>;\n.reg .pred %p<{}>;\n", count + 1),
        &body,
    )
}

fn definitions(count: usize) -> String {
    let mut body = String::new();
    for register in 1..=count {
        let _ = writeln!(body, "add.s32 %r{register}, %r0, {register};");
    }
    body
}

fn uses(count: usize) -> String {
    let mut body = String::new();
    for register in 1..=count {
        let _ = writeln!(body, "st.global.u32 [%rd1+{}], %r{register};", 4 * register);
    }
    body
}

fn live(count: usize) -> String {
    let body = definitions(count) + &uses(count);
    module(
        &format!(".reg .b32 %r<{}>;\n.reg .pred %p<2>;\n", count + 1),
        &body,
    )
}

fn carried(count: usize) -> String {
    let mut body = definitions(count);
    body.push_str("LOOP:\n");
    for register in 1..=count {
        let _ = writeln!(
            body,
            "add.s32 %r{register}, %r{register}, %r{};",
            register * 7 % count + 1
        );
    }
    body.push_str("setp.lt.s32 %p1, %r1, 100;\n@%p1 bra LOOP;\n");
    body.push_str(&uses(count));
    module(
        &format!(".reg .b32 %r<{}>;\n.reg .pred %p<2>;\n", count + 1),
        &body,
    )
}

fn scopes(count: usize) -> String {
    let mut body = String::new();
    for _ in 0..count {
        body.push_str("{\n.reg .b32 %x<2>;\nadd.s32 %x1, %r0, 1;\nst.global.u32 [%rd1], %x1;\n");
    }
    body.push_str(&"}\n".repeat(count));
    module(".reg .b32 %r<2>;\n.reg .pred %p<2>;\n", &body)
}
