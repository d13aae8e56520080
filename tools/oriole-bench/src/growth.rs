//! Modules of one shape and any size, to see how the time of a command grows with the size.
//!
//! Each shape is the worst case of some algorithm: dominance frontiers and live sets are quadratic on nested loops, a round
//! per change is quadratic on chains of blocks, a walk of all callees per function is quadratic on chains of calls.

use oriole_collections::DenseKey;
use std::fmt::Write;

/// A shape of module.
#[derive(Clone, Copy, Debug)]
pub struct GrowthShape {
    /// What it is called.
    pub name: &'static str,
    /// Makes a module of about so many statements.
    pub make: fn(usize) -> String,
}

/// All shapes.
pub const GROWTH_SHAPES: &[GrowthShape] = &[
    shape("nested-loops", nested_loops),
    shape("nested-loops-counted", nested_loops_counted),
    shape("one-instruction-arms", one_instruction_arms),
    shape("two-sided-arms", two_sided_arms),
    shape("nested-arms", nested_arms),
    shape("branch-chain", branch_chain),
    shape("branch-chain-backwards", branch_chain_backwards),
    shape("call-chain", call_chain),
    shape("wide-sum", wide_sum),
    shape("tree-sum", tree_sum),
    shape("rotated-loops", rotated_loops),
    shape("sequential-loops", sequential_loops),
    shape("irreducible-loops", irreducible_loops),
    shape("random-forward", random_forward),
    shape("random-ladder", random_ladder),
    shape("ladder", ladder),
    shape("many-parameters", many_parameters),
    shape("colliding-names", colliding_names),
    shape("array-elements", array_elements),
    shape("wide-switch", wide_switch),
    shape("idle-branches", idle_branches),
    shape("loops-of-one-header", loops_of_one_header),
    shape("strided-stores", strided_stores),
    shape("dead-sums", dead_sums),
];

const fn shape(name: &'static str, make: fn(usize) -> String) -> GrowthShape {
    GrowthShape { name, make }
}

/// A kernel that loads a pointer `%rd1` and a number `%r0`; `registers` of each kind are declared.
fn kernel(registers: usize, body: &str) -> String {
    format!(
        ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 p, .param .u32 n)\n{{\n\
         .reg .pred %p<{0}>;\n.reg .b32 %r<{0}>;\n.reg .b64 %rd<8>;\nld.param.u64 %rd1, [p];\nld.param.u32 %r0, [n];\n{body}ret;\n}}\n",
        registers + 8
    )
}

/// Numbers below a bound, the same every time.
pub(crate) fn generator() -> impl FnMut(u64) -> u64 {
    let mut state = 1u64;
    move |bound| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % bound
    }
}

/// Loops in each other that all count with one register.
fn nested_loops(statements: usize) -> String {
    let depth = statements / 5;
    let mut body = String::from("mov.u32 %r1, 0;\n");
    for level in 0..depth {
        let _ = writeln!(body, "L{level}:\nadd.u32 %r1, %r1, {level};");
    }
    for level in (0..depth).rev() {
        let _ = writeln!(
            body,
            "add.u32 %r1, %r1, 1;\nsetp.lt.u32 %p1, %r1, %r0;\n@%p1 bra L{level};"
        );
    }
    body.push_str("st.global.u32 [%rd1], %r1;\n");
    kernel(4, &body)
}

/// Loops in each other, each with a counter of its own, which is live in all loops inside.
fn nested_loops_counted(statements: usize) -> String {
    let depth = statements / 5;
    let mut body = String::new();
    for level in 1..=depth {
        let _ = writeln!(body, "mov.u32 %r{level}, 0;\nL{level}:");
    }
    body.push_str("st.global.u32 [%rd1], %r1;\n");
    for level in (1..=depth).rev() {
        let _ = writeln!(
            body,
            "add.u32 %r{level}, %r{level}, 1;\nsetp.lt.u32 %p{level}, %r{level}, %r0;\n@%p{level} bra L{level};"
        );
    }
    kernel(depth, &body)
}

/// Branches round one instruction.
fn one_instruction_arms(statements: usize) -> String {
    let count = statements / 4;
    let mut body = String::from("mov.u32 %r1, 0;\n");
    for arm in 0..count {
        let _ = writeln!(
            body,
            "setp.lt.u32 %p{arm}, %r0, {arm};\n@%p{arm} bra L{arm};\nadd.u32 %r1, %r1, {};\nL{arm}:",
            arm % 7 + 1
        );
    }
    body.push_str("st.global.u32 [%rd1], %r1;\n");
    kernel(count, &body)
}

/// Branches with one instruction on either side.
fn two_sided_arms(statements: usize) -> String {
    let count = statements / 7;
    let mut body = String::from("mov.u32 %r1, 0;\n");
    for arm in 0..count {
        let _ = writeln!(
            body,
            "setp.lt.u32 %p{arm}, %r0, {arm};\n@%p{arm} bra A{arm};\nadd.u32 %r1, %r1, {};\nbra.uni E{arm};\nA{arm}:\n\
             xor.b32 %r1, %r1, {arm};\nE{arm}:",
            arm % 7 + 1
        );
    }
    body.push_str("st.global.u32 [%rd1], %r1;\n");
    kernel(count, &body)
}

/// Branches round one instruction, each inside the one before.
fn nested_arms(statements: usize) -> String {
    let count = statements / 4;
    let mut body = String::from("mov.u32 %r1, 0;\n");
    for arm in 0..count {
        let _ = writeln!(
            body,
            "setp.lt.u32 %p{arm}, %r0, {arm};\n@%p{arm} bra L{arm};\nadd.u32 %r1, %r1, {};",
            arm % 7 + 1
        );
    }
    for arm in (0..count).rev() {
        let _ = writeln!(body, "L{arm}:");
    }
    body.push_str("st.global.u32 [%rd1], %r1;\n");
    kernel(count, &body)
}

/// Branches to branches, in order of the text.
fn branch_chain(statements: usize) -> String {
    let count = statements / 2;
    let mut body = String::new();
    for link in 0..count {
        let _ = writeln!(body, "L{link}:\nbra L{};", link + 1);
    }
    let _ = writeln!(body, "L{count}:\nst.global.u32 [%rd1], %r0;");
    kernel(4, &body)
}

/// Branches to branches, against the order of the text, entered by conditional branches as well.
fn branch_chain_backwards(statements: usize) -> String {
    let count = statements / 3;
    let mut body = format!(
        "setp.lt.u32 %p1, %r0, 7;\nbra L{};\nEND:\nst.global.u32 [%rd1], %r0;\nret;\n",
        count - 1
    );
    body.push_str("L0:\nbra END;\n");
    for link in 1..count {
        let _ = writeln!(
            body,
            "L{link}:\n@%p1 bra L{};\nbra L{};",
            link / 2,
            link - 1
        );
    }
    kernel(4, &body)
}

/// Functions that each call the next.
fn call_chain(statements: usize) -> String {
    let count = statements / 8;
    let mut text = String::from(".version 8.0\n.target sm_80\n.address_size 64\n");
    let head = |index: usize| format!(".func (.param .b32 o) f{index}(.param .b32 a)\n");
    for index in (0..count).rev() {
        text.push_str(&head(index));
        let call = if index + 1 < count {
            format!(
                "{{\n.param .b32 pa;\n.param .b32 po;\nst.param.b32 [pa], %r1;\ncall.uni (po), f{}, (pa);\n\
                 ld.param.b32 %r1, [po];\n}}\n",
                index + 1
            )
        } else {
            String::new()
        };
        let _ = writeln!(
            text,
            "{{\n.reg .b32 %r<3>;\nld.param.b32 %r1, [a];\nadd.u32 %r1, %r1, {index};\n{call}st.param.b32 [o], %r1;\nret;\n}}"
        );
    }
    let body = "{\n.param .b32 pa;\n.param .b32 po;\nst.param.b32 [pa], %r0;\ncall.uni (po), f0, (pa);\nld.param.b32 %r1, [po];\n}\n\
                st.global.u32 [%rd1], %r1;\n";
    let entry = kernel(4, body);
    text.push_str(&entry[entry.find(".visible").unwrap_or(0)..]);
    text
}

/// The sum of many loads, one after the other.
fn wide_sum(statements: usize) -> String {
    let count = statements / 2;
    let mut body = String::new();
    for term in 1..=count {
        let _ = writeln!(body, "ld.global.u32 %r{term}, [%rd1+{}];", 4 * term);
    }
    for term in 2..=count {
        let _ = writeln!(
            body,
            "add.u32 %r{}, %r{}, %r{term};",
            count + term,
            if term == 2 { 1 } else { count + term - 1 }
        );
    }
    let _ = writeln!(body, "st.global.u32 [%rd1], %r{};", 2 * count);
    kernel(2 * count, &body)
}

/// The sum of many loads as a balanced tree, with a constant in each.
fn tree_sum(statements: usize) -> String {
    let count = statements / 3;
    let mut body = String::new();
    for term in 1..=count {
        let _ = writeln!(
            body,
            "ld.global.u32 %r{term}, [%rd1+{}];\nadd.u32 %r{term}, %r{term}, {};",
            4 * term,
            term % 5
        );
    }
    let mut level: Vec<usize> = (1..=count).collect();
    let mut next = count;
    while level.len() > 1 {
        let mut sums = Vec::new();
        for pair in level.chunks(2) {
            match pair {
                [one, other] => {
                    next += 1;
                    let _ = writeln!(body, "add.u32 %r{next}, %r{one}, %r{other};");
                    sums.push(next);
                }
                rest => sums.extend_from_slice(rest),
            }
        }
        level = sums;
    }
    let _ = writeln!(body, "st.global.u32 [%rd1], %r{next};");
    kernel(2 * count, &body)
}

/// Loops with their test at the end and a guard before them, one after the other.
fn rotated_loops(statements: usize) -> String {
    let count = statements / 10;
    let mut body = String::from("mov.u32 %r1, 0;\n");
    for index in 0..count {
        let counter = index + 2;
        let _ = writeln!(
            body,
            "mov.u32 %r{counter}, 0;\nsetp.le.u32 %p{index}, %r0, {index};\n@%p{index} bra E{index};\nL{index}:\n\
             add.u32 %r{counter}, %r{counter}, 1;\nadd.u32 %r1, %r1, %r{counter};\nst.global.u32 [%rd1+{}], %r1;\n\
             setp.lt.u32 %p{index}, %r{counter}, %r0;\n@%p{index} bra L{index};\nE{index}:",
            4 * index
        );
    }
    body.push_str("st.global.u32 [%rd1], %r1;\n");
    kernel(count, &body)
}

/// Loops with their test at the start, one after the other.
fn sequential_loops(statements: usize) -> String {
    let count = statements / 8;
    let mut body = String::from("mov.u32 %r1, 0;\n");
    for index in 0..count {
        let counter = index + 2;
        let _ = writeln!(
            body,
            "mov.u32 %r{counter}, 0;\nL{index}:\nsetp.ge.u32 %p{index}, %r{counter}, %r0;\n@%p{index} bra E{index};\n\
             add.u32 %r{counter}, %r{counter}, 1;\nadd.u32 %r1, %r1, %r{counter};\nbra L{index};\nE{index}:"
        );
    }
    body.push_str("st.global.u32 [%rd1], %r1;\n");
    kernel(count, &body)
}

/// Loops that are entered at two places, one after the other.
fn irreducible_loops(statements: usize) -> String {
    let count = statements / 8;
    let mut body = String::from("mov.u32 %r1, 0;\n");
    for index in 0..count {
        let _ = writeln!(
            body,
            "setp.lt.u32 %p1, %r1, {index};\n@%p1 bra M{index};\nL{index}:\nadd.u32 %r1, %r1, 3;\nM{index}:\n\
             add.u32 %r1, %r1, %r0;\nsetp.lt.u32 %p2, %r1, {};\n@%p2 bra L{index};",
            100 + index
        );
    }
    body.push_str("st.global.u32 [%rd1], %r1;\n");
    kernel(4, &body)
}

/// Branches to anywhere further down.
fn random_forward(statements: usize) -> String {
    let count = statements / 5;
    let mut random = generator();
    let mut body = String::from("mov.u32 %r1, 1;\nmov.u32 %r2, 2;\nmov.u32 %r3, 3;\n");
    for block in 0..count {
        let target = block + 1 + random((count - block) as u64) as usize;
        let (a, b, c) = (random(4), random(4), random(4));
        let _ = writeln!(
            body,
            "L{block}:\nadd.u32 %r{a}, %r{b}, %r{c};\nxor.b32 %r{c}, %r{a}, {block};\n\
             setp.lt.u32 %p{block}, %r{c}, {block};\n@%p{block} bra L{target};"
        );
    }
    let _ = writeln!(body, "L{count}:\nst.global.u32 [%rd1], %r0;");
    for register in 1..4 {
        let _ = writeln!(body, "st.global.u32 [%rd1+{}], %r{register};", 4 * register);
    }
    kernel(count, &body)
}

/// Branches near forwards and now and then backwards, over four registers that every block changes.
fn random_ladder(statements: usize) -> String {
    crate::hard_functions::blocks(statements / 6)
}

/// Registers assigned on both sides of many branches and read 31 branches below.
fn ladder(statements: usize) -> String {
    let count = statements / 6;
    let mut body = String::new();
    for rung in 0..count {
        let _ = writeln!(
            body,
            "setp.lt.u32 %p1, %r0, {rung};\nmov.u32 %r{0}, 1;\n@%p1 bra E{rung};\nmov.u32 %r{0}, 2;\nE{rung}:\nadd.u32 %r{0}, %r{0}, %r{1};",
            rung + 1,
            rung.saturating_sub(30)
        );
    }
    let _ = writeln!(body, "st.global.u32 [%rd1], %r{count};");
    kernel(count, &body)
}

/// Kernels with as many parameters as fit, all of them read.
fn many_parameters(statements: usize) -> String {
    const PARAMETERS: usize = 500;
    let mut text = String::from(".version 8.0\n.target sm_80\n.address_size 64\n");
    for kernel in 0..statements.div_ceil(2 * PARAMETERS) {
        let _ = write!(text, ".visible .entry k{kernel}(.param .u64 p");
        for parameter in 0..PARAMETERS {
            let _ = write!(text, ", .param .u64 p{parameter}");
        }
        text.push_str(")\n{\n.reg .b64 %rd<4>;\nld.param.u64 %rd1, [p];\nmov.u64 %rd2, 0;\n");
        for parameter in 0..PARAMETERS {
            let _ = writeln!(
                text,
                "ld.param.u64 %rd3, [p{parameter}];\nadd.u64 %rd2, %rd2, %rd3;"
            );
        }
        text.push_str("st.global.u64 [%rd1], %rd2;\nret;\n}\n");
    }
    text
}

/// Elements of one local array, whose addresses are all computed first and each of which has a block of its own.
fn array_elements(statements: usize) -> String {
    let count = statements / 6;
    let mut body = format!(
        ".local .align 4 .b8 array[{}];\n.reg .b64 %base, %element<{}>;\nmov.u64 %base, array;\n",
        4 * (count + 1),
        count + 1
    );
    for index in 1..=count {
        let _ = writeln!(body, "add.u64 %element{index}, %base, {};", 4 * index);
    }
    for index in 1..=count {
        let _ = writeln!(
            body,
            "ld.local.u32 %r2, [%element{index}];\nadd.u32 %r2, %r2, %r0;\nst.local.u32 [%element{}], %r2;\n\
             setp.lt.u32 %p1, %r2, {index};\n@%p1 bra L{index};\nst.global.u32 [%rd1], %r2;\nL{index}:",
            index * 7 % count + 1
        );
    }
    kernel(2, &body)
}

/// One indirect branch to all other blocks.
fn wide_switch(statements: usize) -> String {
    let count = statements / 3;
    let labels: Vec<String> = (0..count).map(|index| format!("L{index}")).collect();
    let mut body = format!("targets: .branchtargets {};\n", labels.join(", "));
    body += "brx.idx %r0, targets;\n";
    for label in labels {
        let _ = writeln!(
            body,
            "{label}:\nadd.u32 %r1, %r0, 1;\nst.global.u32 [%rd1], %r1;\nbra END;"
        );
    }
    body += "END:\n";
    kernel(2, &body)
}

/// Branches to the instruction behind them.
fn idle_branches(statements: usize) -> String {
    let mut body = String::from("setp.eq.u32 %p1, %r0, 7;\n");
    for index in 0..statements / 2 {
        let _ = writeln!(
            body,
            "@%p1 bra L{index};\nL{index}:\nst.global.u32 [%rd1+{}], %r0;",
            4 * index
        );
    }
    kernel(2, &body)
}

/// Loops in each other that have one header and one counter.
fn loops_of_one_header(statements: usize) -> String {
    let depth = statements / 4;
    let mut body = String::from("mov.u32 %r1, 0;\n");
    for level in 0..depth {
        let _ = writeln!(body, "A{level}:");
    }
    for level in (0..depth).rev() {
        let _ = writeln!(
            body,
            "add.s32 %r1, %r1, {level};\nsetp.lt.s32 %p1, %r1, {};\n@%p1 bra A{level};",
            3 * level + 7
        );
    }
    body.push_str("st.global.u32 [%rd1], %r1;\n");
    kernel(4, &body)
}

/// Adjacent stores of each thread, far from those of the next one.
fn strided_stores(statements: usize) -> String {
    let mut body = String::from(
        "mov.u32 %r1, %tid.x;\nmul.wide.u32 %rd2, %r1, 128;\nadd.s64 %rd1, %rd1, %rd2;\n",
    );
    for index in 0..statements {
        let _ = writeln!(body, "st.global.u32 [%rd1+{}], %r1;", 4 * index);
    }
    kernel(4, &body)
}

/// Sums of which every other one is not needed.
fn dead_sums(statements: usize) -> String {
    let mut body = String::new();
    for index in 0..statements / 3 {
        let _ = writeln!(
            body,
            "add.u32 %r2, %r0, {index};\nadd.u32 %r3, %r2, 1;\nst.global.u32 [%rd1], %r2;"
        );
    }
    kernel(4, &body)
}

/// Registers whose names have hashes of equal low bits, as somebody who knows the hash function can choose them.
fn colliding_names(statements: usize) -> String {
    // All of them in a handful of the buckets that a table of this size has; more bits take long to find.
    const BITS: u32 = 12;
    let mut names = (0u64..)
        .map(|number| format!("v{number}"))
        .filter(|name| name.as_str().mix().trailing_zeros() >= BITS);
    let mut body = String::from("mov.u32 %r1, 0;\n");
    for _ in 0..statements / 3 {
        let name = names.next().expect("there is no last number");
        let _ = writeln!(
            body,
            ".reg .b32 {name};\nadd.u32 {name}, %r0, 1;\nxor.b32 %r1, %r1, {name};"
        );
    }
    body.push_str("st.global.u32 [%rd1], %r1;\n");
    kernel(4, &body)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_are_sound_and_about_as_large_as_asked() {
        for shape in GROWTH_SHAPES {
            let module = oriole::parse(shape.name, (shape.make)(2_000)).expect(shape.name);
            assert_eq!(oriole::check(&module), [], "{}", shape.name);
            let statements: usize = module
                .functions
                .iter()
                .filter_map(|function| function.body.as_ref())
                .map(|body| body.statements.len())
                .sum();
            assert!(
                (1_300..=3_200).contains(&statements),
                "{}: {statements}",
                shape.name
            );
        }
    }
}
