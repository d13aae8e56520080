//! What ScalarEvolution says of small functions in SSA form.

use oriole_analysis::launch::LaunchShape;
use oriole_analysis::scalar_evolution::{
    CountKind, Depth, Knobs, Names, Query, Range, ScalarEvolution,
};
use oriole_analysis::{Analyses, Analysis};
use oriole_ir::{Block, Editor, Function, Operand, Value, text};
use oriole_isa::{LaunchLimits, Target};

fn read(source: &str) -> Function {
    let mut functions = text::read(source).unwrap_or_else(|errors| panic!("{errors:?}"));
    functions.remove(0)
}

/// A launch within the limits of sm_90.
fn launch() -> LaunchShape {
    LaunchShape::within(LaunchLimits::of(Target::from_text("sm_90")))
}

fn fresh(function: &Function) -> ScalarEvolution {
    ScalarEvolution::new(function, launch(), Knobs::default())
}

fn shown(query: &Query<'_>, expression: oriole_analysis::scalar_evolution::Expression) -> String {
    let names = Names {
        text: "",
        header: &|header| header.to_string(),
    };
    query.print(&names, expression)
}

fn expression(function: &Function, value: usize) -> String {
    let evolution = fresh(function);
    let mut query = evolution.on(function);
    let found = query.expression(Value::from_index(value));
    shown(&query, found)
}

fn range(function: &Function, value: usize) -> Range {
    let evolution = fresh(function);
    let mut query = evolution.on(function);
    query
        .value_range(Value::from_index(value))
        .expect("an integer")
}

/// The count of the loop with this header, its bound, and what it assumes.
fn count(function: &Function, header: usize) -> (String, Option<u64>, Vec<String>) {
    let evolution = fresh(function);
    let mut query = evolution.on(function);
    let header = Block::from_index(header);
    let taken = query.backedge_taken(header).expect("a loop");
    let predicated = query.predicated_backedge_taken(header).expect("a loop");
    let names = Names {
        text: "",
        header: &|header| header.to_string(),
    };
    let assumptions = predicated
        .assumptions
        .iter()
        .map(|assumption| query.print_assumption(&names, assumption))
        .collect();
    (shown(&query, predicated.count), taken.maximum, assumptions)
}

/// A function that computes something from a parameter `v0` of 32 bits and the special register `v1`.
fn straight(instructions: &str) -> Function {
    read(&format!(
        "entry f {{
            parameter @n: param
        block0():
            v0:b32 = ld.global.u32 #0, [64]
            v1:b32 = mov.u32 #0, %tid.x
            {instructions}
            ret
        }}"
    ))
}

#[test]
fn arithmetic_becomes_canonical_expressions() {
    let cases = [
        (
            "v2:b32 = add.s32 #0, v0, v1\nv3:b32 = sub.s32 #0, v2, v0",
            "%tid.x",
        ),
        (
            "v2:b32 = mul.lo.s32 #0, v0, 3\nv3:b32 = mad.lo.s32 #0, v0, 5, v2",
            "(8 * v0)",
        ),
        (
            "v2:b32 = add.s32 #0, v0, 1\nv3:b32 = shl.b32 #0, v2, 4",
            "(16 + (16 * v0))",
        ),
        ("v2:b32 = not.b32 #0, v0\nv3:b32 = add.s32 #0, v2, v0", "-1"),
        (
            "v2:b32 = mov.b32 #0, v0\nv3:b32 = shr.u32 #0, v2, 5",
            "(v0 /u 32)",
        ),
        (
            "v2:b32 = mov.b32 #0, v1\nv3:b32 = shr.s32 #0, v2, 5",
            "(%tid.x /u 32)",
        ),
        ("v2:b32 = mov.b32 #0, v0\nv3:b32 = shr.s32 #0, v2, 5", "v3"),
        (
            "v2:b32 = and.b32 #0, v0, 3\nv3:b32 = mov.b32 #0, v2",
            "(zext (trunc v0 to i2) to i32)",
        ),
        (
            "v2:b32 = and.b32 #0, v0, -4\nv3:b32 = mov.b32 #0, v2",
            "(4 * (v0 /u 4))",
        ),
        (
            "v2:b32 = and.b32 #0, v1, 1023\nv3:b32 = mov.b32 #0, v2",
            "%tid.x",
        ),
        (
            "v2:b32 = shl.b32 #0, v0, 3\nv3:b32 = or.b32 #0, v2, 5",
            "(5 + (8 * v0))",
        ),
        (
            "v2:b32 = min.s32 #0, v0, v1\nv3:b32 = min.s32 #0, v2, v0",
            "(%tid.x smin v0)",
        ),
        (
            "v2:b32 = bfe.u32 #0, v0, 4, 8\nv3:b32 = mov.b32 #0, v2",
            "(zext (trunc (v0 /u 16) to i8) to i32)",
        ),
        (
            "v2:b32 = div.u32 #0, v0, 6\nv3:b32 = div.u32 #0, v2, 7",
            "(v0 /u 42)",
        ),
        (
            "v2:b32 = rem.u32 #0, v0, 8\nv3:b32 = mov.b32 #0, v2",
            "(zext (trunc v0 to i3) to i32)",
        ),
        (
            "v2:b32 = min.relu.s32 #0, v0, v1\nv3:b32 = mov.b32 #0, v2",
            "v2",
        ),
    ];
    for (instructions, expected) in cases {
        assert_eq!(
            expression(&straight(instructions), 3),
            expected,
            "{instructions}"
        );
    }
    let wide = straight("v2:b64 = mul.wide.u32 #0, v1, 4\nv3:b64 = mad.wide.s32 #0, v0, 4, v2");
    assert_eq!(
        expression(&wide, 3),
        "((4 * (zext %tid.x to i64)) + (4 * (sext v0 to i64)))"
    );
    let select = straight(
        "v2:pred = setp.lt.s32 #0, v0, v1\nv3:b32 = selp.b32 #0, v0, v1, v2\nv4:b32 = selp.b32 #0, v1, v0, v2",
    );
    assert_eq!(expression(&select, 3), "(%tid.x smin v0)");
    assert_eq!(expression(&select, 4), "(%tid.x smax v0)");
}

#[test]
fn ranges_come_from_hardware_masks_and_each_other() {
    let function = straight(
        "v2:b32 = and.b32 #0, v0, 60
         v3:b32 = add.s32 #0, v1, v2
         v4:b32 = rem.u32 #0, v0, 10
         v5:b32 = mul.lo.s32 #0, v1, 4
         v6:b32 = popc.b32 #0, v0
         v7:b32 = max.u32 #0, v1, 5",
    );
    assert_eq!(range(&function, 1).to_string(), "u[0, 1023]");
    assert_eq!(range(&function, 2).to_string(), "u[0, 60] multiple of 4");
    assert_eq!(range(&function, 3).to_string(), "u[0, 1083]");
    assert_eq!(range(&function, 4).to_string(), "u[0, 9]");
    assert_eq!(range(&function, 5).to_string(), "u[0, 4092] multiple of 4");
    assert_eq!(range(&function, 6).to_string(), "u[0, 63]");
    assert_eq!(range(&function, 7).to_string(), "u[5, 1023]");
    let bounds = LaunchShape {
        block: Some([128, 1, 1]),
        ..launch()
    };
    let evolution = ScalarEvolution::new(&function, bounds, Knobs::default());
    let mut query = evolution.on(&function);
    let range = query.value_range(Value::from_index(5)).unwrap();
    assert_eq!(range.to_string(), "u[0, 508] multiple of 4");
}

/// A loop `do { … v3 = v2 + step } while (v3 relation bound)` behind a guard `v2 relation bound` if there is one.
fn rotated(start: &str, step: &str, test: &str, guard: Option<&str>) -> Function {
    let guard = match guard {
        Some(guard) => format!(
            "v8:pred = {guard}
             bra ->0 if v8
             -> block1(), block3() next"
        ),
        None => "-> block1() next".to_owned(),
    };
    read(&format!(
        "entry f {{
            parameter @n: param
        block0():
            v0:b32 = ld.global.u32 #0, [64]
            v1:b32 = mov.u32 #0, {start}
            {guard}
        block1():
            -> block2(v1, v1, v1) next
        block2(v2:b32, v5:b32, v6:b32):
            v3:b32 = add.s32 #0, v2, {step}
            v7:b32 = add.s32 #0, v5, v2
            v9:b32 = mul.lo.s32 #0, v6, 2
            v4:pred = {test}
            bra ->0 if v4
            -> block2(v3, v7, v9), block3() next
        block3():
            ret
        }}"
    ))
}

#[test]
fn parameters_are_the_same_wherever_they_are_loaded() {
    let source = "entry f {
            parameter @n: param
        block0():
            v0:b32 = mov.u32 #0, 0
            -> block1(v0) next
        block1(v1:b32):
            v2:b32 = ld.param.u32 #0, [@n+4]
            v3:b32 = add.s32 #0, v1, 1
            v4:pred = setp.lt.s32 #0, v3, v2
            bra ->0 if v4
            -> block1(v3), block2() next
        block2():
            ret
        }";
    assert_eq!(count(&read(source), 1).0, "(-1 + (1 smax [?+4]))");
    // What a function is given may change: its parameters are in memory.
    let function = source.replace("entry f", "func f");
    assert_eq!(count(&read(&function), 1).0, "***could not compute***");
    let warp = straight("v2:b32 = mov.u32 #0, v1");
    assert_eq!(expression(&warp, 2), "%tid.x");
    let warp = read(
        "entry f {
            warp_size @WARP_SZ
        block0():
            v0:b32 = mov.u32 #0, @WARP_SZ
            v1:b32 = shr.u32 #0, v0, 1
            ret
        }",
    );
    assert_eq!(expression(&warp, 1), "16");
}

#[test]
fn recurrences_are_found() {
    let function = rotated("0", "4", "setp.ne.s32 #0, v3, 40", None);
    assert_eq!(expression(&function, 2), "{0,+,4}<block2>");
    assert_eq!(expression(&function, 3), "{4,+,4}<block2>");
    assert_eq!(expression(&function, 5), "{0,+,0,+,4}<block2>");
    assert_eq!(expression(&function, 6), "v6", "doubling is no sum");
    assert_eq!(range(&function, 2).to_string(), "u[0, 36] multiple of 4");
    assert_eq!(range(&function, 5).to_string(), "u[0, 144] multiple of 4");
}

#[test]
fn counts_of_rotated_loops() {
    let none: Vec<String> = Vec::new();
    let exact = |start, step, test, guard| count(&rotated(start, step, test, guard), 2);
    let number = |text: &str, most: u64| (text.to_owned(), Some(most), none.clone());
    assert_eq!(
        exact("0", "4", "setp.ne.s32 #0, v3, 40", None),
        number("9", 9)
    );
    assert_eq!(
        exact("0", "3", "setp.lt.s32 #0, v3, 40", None),
        number("13", 13)
    );
    assert_eq!(
        exact("40", "-3", "setp.gt.s32 #0, v3, 0", None),
        number("13", 13)
    );
    assert_eq!(
        exact("0", "1", "setp.le.u32 #0, v3, 10", None),
        number("10", 10)
    );
    // 3 k = 1 modulo 2^32.
    assert_eq!(
        exact("0", "3", "setp.ne.s32 #0, v3, 4", None),
        number("-1431655765", 2_863_311_531)
    );
    // Never equal, and never at the bound.
    assert_eq!(
        exact("0", "2", "setp.ne.s32 #0, v3, 5", None).0,
        "***could not compute***"
    );
    // The guard says that n is at least 1.
    let guard = Some("setp.gt.s32 #0, v0, 0");
    assert_eq!(
        exact("0", "1", "setp.lt.s32 #0, v3, v0", guard),
        ("(-1 + v0)".to_owned(), Some(0x7FFF_FFFE), none.clone())
    );
    assert_eq!(
        exact("0", "1", "setp.lt.s32 #0, v3, v0", None),
        (
            "(-1 + (1 smax v0))".to_owned(),
            Some(0x7FFF_FFFE),
            none.clone()
        )
    );
    assert_eq!(
        exact("%tid.x", "1", "setp.ne.s32 #0, v3, v0", None).0,
        "(-1 + (-1 * %tid.x) + v0)"
    );
    // A bound near the largest number would be stepped over.
    let (text, most, assumptions) = exact("0", "4", "setp.lt.s32 #0, v3, v0", guard);
    assert_eq!(text, "((-1 + (4 smax v0)) /u 4)");
    assert_eq!(
        (most, assumptions),
        (None, vec!["v0 <=s 2147483644".to_owned()])
    );
    let (_, most, assumptions) = exact("0", "1", "setp.le.s32 #0, v3, v0", guard);
    assert_eq!(
        (most, assumptions),
        (None, vec!["v0 != 2147483647".to_owned()])
    );
    let (_, most, assumptions) = exact("0", "2", "setp.ne.s32 #0, v3, v0", guard);
    assert_eq!(
        (most, assumptions),
        (None, vec!["(-2 + v0) is a multiple of 2".to_owned()])
    );
}

#[test]
fn doubling_and_halving_are_counted_one_by_one() {
    let function = rotated("1", "1", "setp.lt.u32 #0, v9, 1000", None);
    assert_eq!(count(&function, 2), ("9".to_owned(), Some(9), Vec::new()));
    let source = "entry f {
        block0():
            v0:b32 = mov.u32 #0, %ntid.x
            v1:b32 = shr.u32 #0, v0, 1
            -> block1(v1) next
        block1(v2:b32):
            v3:pred = setp.eq.u32 #0, v2, 0
            bra ->0 if v3
            -> block3(), block2() next
        block2():
            v4:b32 = shr.u32 #0, v2, 1
            bra ->0
            -> block1(v4)
        block3():
            ret
        }";
    // A block has at most 1,024 threads: 512, 256, … 1.
    assert_eq!(count(&read(source), 1).1, Some(10));
    let copied = source.replace(
        "bra ->0\n            -> block1(v4)",
        "v5:b32 = mov.u32 #0, v4\nbra ->0\n -> block1(v5)",
    );
    assert_ne!(copied, source);
    assert_eq!(count(&read(&copied), 1).1, Some(10));
    let function = read(source);
    let bounds = LaunchShape {
        block: Some([256, 1, 1]),
        ..launch()
    };
    let evolution = ScalarEvolution::new(&function, bounds, Knobs::default());
    let mut query = evolution.on(&function);
    assert_eq!(query.count_kind(Block::from_index(1)), CountKind::Exact);
    let taken = query.backedge_taken(Block::from_index(1)).unwrap();
    assert_eq!(query.expressions().as_constant(taken.exact), Some(8));
}

/// Two loops, one behind the other, and one inside the second.
const NESTED: &str = "entry f {
        parameter @n: param
        parameter @p: param
    block0():
        v0:b32 = ld.global.u32 #0, [64]
        v1:b64 = ld.global.u64 #0, [64]
        v2:b32 = mov.u32 #0, 0
        -> block1(v2) next
    block1(v3:b32):
        v4:b32 = add.s32 #0, v3, 1
        v5:pred = setp.lt.s32 #0, v4, v0
        bra ->0 if v5
        -> block1(v4), block2(v2, v1) next
    block2(v6:b32, v7:b64):
        -> block3(v6, v7, v2) next
    block3(v8:b32, v9:b64, v10:b32):
        v11:b64 = add.s64 #0, v9, 4
        v12:b32 = add.s32 #0, v10, 1
        v13:pred = setp.ne.s32 #0, v12, 8
        bra ->0 if v13
        -> block3(v8, v11, v12), block4() next
    block4():
        v14:b32 = add.s32 #0, v8, 1
        v15:b64 = add.s64 #0, v7, 64
        v16:pred = setp.lt.u32 #0, v14, 16
        bra ->0 if v16
        -> block2(v14, v15), block5() next
    block5():
        ret
    }";

#[test]
fn nested_loops_and_pointers() {
    let function = read(NESTED);
    assert_eq!(expression(&function, 6), "{0,+,1}<block2>");
    assert_eq!(
        expression(&function, 8),
        "{0,+,1}<block2>",
        "it does not change inside"
    );
    assert_eq!(expression(&function, 9), "{{v1,+,64}<block2>,+,4}<block3>");
    assert_eq!(count(&function, 2).0, "15");
    assert_eq!(count(&function, 3).0, "7");
    assert_eq!(count(&function, 1).0, "(-1 + (1 smax v0))");
    assert_eq!(range(&function, 14).to_string(), "u[1, 16]");
}

#[test]
fn several_exits_have_the_smallest_count() {
    let source = "entry f {
            parameter @n: param
        block0():
            v0:b32 = ld.global.u32 #0, [64]
            v1:b32 = mov.u32 #0, 0
            -> block1(v1) next
        block1(v2:b32):
            v3:pred = setp.eq.s32 #0, v2, v0
            bra ->0 if v3
            -> block4(), block2() next
        block2():
            v4:b32 = add.s32 #0, v2, 1
            v5:pred = setp.lt.u32 #0, v4, 100
            bra ->0 if v5
            -> block1(v4), block4() next
        block4():
            ret
        }";
    let function = read(source);
    assert_eq!(
        count(&function, 1),
        ("(99 umin_seq v0)".to_owned(), Some(99), Vec::new())
    );
    // An exit that depends on memory: only a bound is left.
    let opaque = source.replace(
        "v3:pred = setp.eq.s32 #0, v2, v0",
        "v6:b32 = ld.global.u32 #0, [64]\nv3:pred = setp.eq.s32 #0, v6, v0",
    );
    let (text, most, _) = count(&read(&opaque), 1);
    assert_eq!((text.as_str(), most), ("***could not compute***", Some(99)));
    // `and` of both conditions in one branch.
    let together = source
        .replace("bra ->0 if v3\n            -> block4(), block2() next", "-> block2() next")
        .replace(
            "v5:pred = setp.lt.u32 #0, v4, 100",
            "v5:pred = setp.lt.u32 #0, v4, 100\nv6:pred = not.pred #0, v3\nv7:pred = and.pred #0, v5, v6",
        )
        .replace("bra ->0 if v5", "bra ->0 if v7");
    assert_eq!(count(&read(&together), 1).0, "(99 umin v0)");
}

#[test]
fn remainders_of_unrolled_loops() {
    // n & 3 iterations, counted down, behind a guard that there is one.
    let source = "entry f {
            parameter @n: param
        block0():
            v0:b32 = ld.global.u32 #0, [64]
            v1:b32 = and.b32 #0, v0, 3
            v2:b32 = sub.s32 #0, v0, v1
            v3:pred = setp.lt.u32 #0, v0, 4
            bra ->0 if v3
            -> block2(), block1(v2) next
        block1(v4:b32):
            v5:b32 = add.s32 #0, v4, -4
            v6:pred = setp.ne.s32 #0, v5, 0
            bra ->0 if v6
            -> block1(v5), block2() next
        block2():
            v7:pred = setp.eq.s32 #0, v1, 0
            bra ->0 if v7
            -> block4(), block3(v1) next
        block3(v8:b32):
            v9:b32 = add.s32 #0, v8, -1
            v10:pred = setp.ne.s32 #0, v9, 0
            bra ->0 if v10
            -> block3(v9), block4() next
        block4():
            ret
        }";
    let function = read(source);
    let (text, most, assumptions) = count(&function, 3);
    assert_eq!(text, "(-1 + (zext (trunc v0 to i2) to i32))");
    assert_eq!(
        (most, assumptions),
        (Some(2), Vec::new()),
        "the guard says it is not 0"
    );
    let (text, most, assumptions) = count(&function, 1);
    assert_eq!(assumptions, Vec::<String>::new(), "{text}");
    assert!(most.is_some_and(|most| most < 1 << 30), "{text}: {most:?}");
}

#[test]
fn large_inputs_take_time_near_linear() {
    let time = |function: &Function| {
        let start = std::time::Instant::now();
        let evolution = fresh(function);
        let mut query = evolution.on(function);
        for value in function.values().keys() {
            query.value_range(value);
        }
        for header in query.headers() {
            query.predicated_backedge_taken(header);
        }
        start.elapsed()
    };
    let sum = |terms: usize| {
        let mut source = String::from("entry f {\nblock0():\nv0:b32 = mov.u32 #0, %tid.x\n");
        for term in 0..terms {
            let (load, total) = (2 * term + 1, 2 * term + 2);
            let before = if term == 0 { 0 } else { total - 2 };
            source += &format!(
                "v{load}:b32 = ld.global.u32 #0, [64]\nv{total}:b32 = add.s32 #0, v{before}, v{load}\n"
            );
        }
        read(&(source + "ret\n}"))
    };
    let selects = |length: usize| {
        let mut source = String::from("entry f {\nblock0():\nv0:b32 = mov.u32 #0, %tid.x\n");
        for link in 0..length {
            let (test, add, select) = (3 * link + 1, 3 * link + 2, 3 * link + 3);
            let before = 3 * link;
            source += &format!(
                "v{test}:pred = setp.lt.s32 #0, v{before}, 100\nv{add}:b32 = add.s32 #0, v{before}, 1\nv{select}:b32 = selp.b32 #0, v{add}, v{before}, v{test}\n"
            );
        }
        read(&(source + "ret\n}"))
    };
    // Each loop inside the one before; counters behind each other.
    let nest = |depth: usize| {
        let mut source = String::from(
            "entry f {\nblock0():\nv0:b32 = mov.u32 #0, %ntid.x\nv1:b32 = mov.u32 #0, 0\n-> block1(v1) next\n",
        );
        let first = |level: usize| 2 + 3 * level;
        for level in 0..depth {
            let next = if level + 1 < depth {
                level + 2
            } else {
                depth + 1
            };
            let argument = if level + 1 < depth { "v1" } else { "" };
            source += &format!(
                "block{}(v{}:b32):\n-> block{next}({argument}) next\n",
                level + 1,
                first(level)
            );
        }
        for level in (0..depth).rev() {
            let (counter, block) = (first(level), 2 * depth - level);
            source += &format!(
                "block{block}():\nv{}:b32 = add.s32 #0, v{counter}, 1\nv{}:pred = setp.lt.s32 #0, v{}, v0\nbra ->0 if v{}\n-> block{}(v{}), block{}() next\n",
                counter + 1,
                counter + 2,
                counter + 1,
                counter + 2,
                level + 1,
                counter + 1,
                block + 1
            );
        }
        source += &format!("block{}():\nret\n}}", 2 * depth + 1);
        read(&source)
    };
    let scale = if cfg!(debug_assertions) { 10 } else { 1 };
    for (what, small, large) in [
        (
            "a sum",
            time(&sum(10_000 / scale)),
            time(&sum(50_000 / scale)),
        ),
        (
            "selects",
            time(&selects(2_000 / scale)),
            time(&selects(10_000 / scale)),
        ),
        ("a nest", time(&nest(40)), time(&nest(200))),
    ] {
        // Five times as much; machines are noisy.
        let most = small * 25 + std::time::Duration::from_millis(200);
        assert!(large < most, "{what}: {small:?}, then {large:?}");
    }
    let deepest = nest(200);
    let evolution = fresh(&deepest);
    let mut query = evolution.on(&deepest);
    assert_eq!(query.headers().len(), 200);
    for header in query.headers() {
        assert_eq!(query.count_kind(header), CountKind::Symbolic);
    }
}

/// Changes a function and lets the analyses follow.
fn edit(function: &mut Function, analyses: &mut Analyses, change: impl FnOnce(&mut Editor<'_>)) {
    let mut editor = Editor::new(function);
    change(&mut editor);
    let journal = editor.finish();
    analyses.update(function, &journal);
}

fn ask_all(function: &Function, analyses: &mut Analyses) -> u64 {
    let evolution = analyses.get::<ScalarEvolution>(function);
    let mut query = evolution.on(function);
    for value in function.values().keys() {
        query.value_range(value);
    }
    for header in query.headers() {
        query.predicated_backedge_taken(header);
    }
    drop(query);
    evolution.statistics().computed
}

#[test]
fn an_edit_leaves_unrelated_entries_alone() {
    let mut function = read(NESTED);
    let mut analyses = Analyses::new();
    let all = ask_all(&function, &mut analyses);
    let kept = |analyses: &mut Analyses, function: &Function| {
        analyses.get::<ScalarEvolution>(function).statistics()
    };
    // The bound of the innermost loop: setp.ne v12, 8.
    let test = match function.values()[Value::from_index(13)].definition {
        oriole_ir::Definition::Instruction(test) => test,
        _ => unreachable!(),
    };
    edit(&mut function, &mut analyses, |editor| {
        let bound = editor.integer(12, false);
        editor.set_operand(test, 2, bound);
    });
    let forgotten = kept(&mut analyses, &function).forgotten;
    let again = ask_all(&function, &mut analyses) - all;
    assert!(analyses.stale(&function).is_empty());
    // The loop, its exit, its assumptions, the test and what depends on how long the loop runs; not the loops beside and around.
    assert_eq!(again, forgotten);
    assert!(again * 3 < all, "{again} of {all} were computed again");
    let evolution = analyses.get::<ScalarEvolution>(&function);
    let mut query = evolution.on(&function);
    let taken = query.backedge_taken(Block::from_index(3)).unwrap();
    assert_eq!(query.expressions().as_constant(taken.exact), Some(11));
}

/// Loops beside each other, each behind a condition of its own: counters from 0 to 100, each of which is also read as 64 bits.
fn loops_beside_each_other(count: usize) -> Function {
    let mut source = String::from("entry f {\nblock0():\nv0:b32 = mov.u32 #0, 0\n");
    source += "v1:b32 = mov.u32 #0, %tid.x\n-> block1() next\n";
    let end = 2 * count + 1;
    for index in 0..count {
        let (block, first) = (2 * index + 1, 5 * index + 2);
        source += &format!(
            "block{block}():\nv{first}:pred = setp.eq.u32 #0, v1, {index}\nbra ->0 if v{first}\n\
             -> block{}(), block{}(v0) next\n",
            block + 2,
            block + 1,
        );
        source += &format!(
            "block{}(v{}:b32):\nv{}:b32 = add.s32 #0, v{}, 1\nv{}:b64 = cvt.u64.u32 #0, v{}\n\
             v{}:pred = setp.lt.u32 #0, v{}, 100\nbra ->0 if v{}\n-> block{}(v{}), block{end}() next\n",
            block + 1,
            first + 1,
            first + 2,
            first + 1,
            first + 3,
            first + 1,
            first + 4,
            first + 2,
            first + 4,
            block + 1,
            first + 2,
        );
    }
    source += &format!("block{end}():\nret\n}}");
    read(&source)
}

/// Everything that can be asked, as text.
fn answers(function: &Function) -> Vec<String> {
    let evolution = fresh(function);
    let mut query = evolution.on(function);
    let mut answers = Vec::new();
    for value in function.values().keys() {
        let expression = query.expression(value);
        answers.push(shown(&query, expression));
        answers.push(format!("{:?}", query.value_range(value)));
    }
    for header in query.headers() {
        let taken = query.backedge_taken(header).unwrap();
        for &from in &taken.exits {
            let exit = query.exit_count_of(header, from).unwrap();
            answers.push(format!("{} {:?}", shown(&query, exit.exact), exit.maximum));
        }
        answers.push(format!(
            "{} {:?}",
            shown(&query, taken.exact),
            taken.maximum
        ));
        let predicated = query.predicated_backedge_taken(header).unwrap();
        answers.push(shown(&query, predicated.count));
    }
    answers
}

#[test]
fn an_edit_recomputes_at_most_twice_what_it_changes() {
    let mut function = loops_beside_each_other(40);
    let mut analyses = Analyses::new();
    let mut computed = ask_all(&function, &mut analyses);
    for index in 0..40 {
        let before = answers(&function);
        let predicate = Value::from_index(5 * index + 6);
        let oriole_ir::Definition::Instruction(test) = function.values()[predicate].definition
        else {
            unreachable!();
        };
        edit(&mut function, &mut analyses, |editor| {
            let bound = editor.integer(50 + index as u64, false);
            editor.set_operand(test, 2, bound);
        });
        let now = ask_all(&function, &mut analyses);
        let again = now - computed;
        computed = now;
        let after = answers(&function);
        let changed = before.iter().zip(&after).filter(|(a, b)| a != b).count() as u64;
        assert!(changed > 0);
        assert!(
            again <= 2 * changed,
            "{again} computed again, {changed} changed"
        );
        assert!(analyses.stale(&function).is_empty());
    }
}

/// The shape of LLVM issue #207744: what is known of a value was read behind an opaque leaf (`popc`), which itself depends on a
/// parameter of a header that is replaced.
#[test]
fn facts_behind_an_opaque_leaf_are_forgotten() {
    let source = "entry f {
            parameter @n: param
        block0():
            v0:b32 = ld.global.u32 #0, [64]
            v1:b32 = mov.u32 #0, 0
            v2:b32 = mov.u32 #0, 6
            -> block1(v1) next
        block1(v3:b32):
            v4:b16 = cvt.u16.u32 #0, v3
            v5:b32 = cvt.u32.u16 #0, v4
            v6:b32 = popc.b32 #0, v5
            v7:b32 = and.b32 #0, v6, 1
            v8:b32 = add.s32 #0, v3, 1
            v9:pred = setp.lt.s32 #0, v8, 2
            bra ->0 if v9
            -> block1(v8), block2(v7, v6) next
        block2(v10:b32, v11:b32):
            v12:b32 = add.s32 #0, v10, v11
            -> block3(v12) next
        block3(v13:b32):
            v14:b32 = add.s32 #0, v13, -1
            v15:pred = setp.gt.s32 #0, v14, 0
            bra ->0 if v15
            -> block3(v14), block4() next
        block4():
            ret
        }";
    let mut function = read(source);
    let mut analyses = Analyses::new();
    ask_all(&function, &mut analyses);
    edit(&mut function, &mut analyses, |editor| {
        editor.replace_value(Value::from_index(3), Value::from_index(2));
    });
    let evolution = analyses.get::<ScalarEvolution>(&function);
    assert_eq!(evolution.verify(&function, true), Vec::<String>::new());
    ask_all(&function, &mut analyses);
    assert!(analyses.stale(&function).is_empty());
}

/// The shape of LLVM issue #212027: the count of one loop was bounded by a range that was read behind a leaf that another loop computes, and that
/// other loop changes.
#[test]
fn counts_that_come_from_ranges_of_another_loop_are_forgotten() {
    let mut function = read(
        "entry f {
        block0():
            v0:b32 = mov.u32 #0, 0
            -> block1(v0) next
        block1(v1:b32):
            v2:b32 = clz.b32 #0, v1
            v3:b32 = add.s32 #0, v1, 1
            v4:pred = setp.lt.u32 #0, v3, 10
            bra ->0 if v4
            -> block1(v3), block2(v0) next
        block2(v5:b32):
            v6:b32 = add.s32 #0, v5, 1
            v7:pred = setp.lt.u32 #0, v6, v3
            bra ->0 if v7
            -> block2(v6), block3() next
        block3():
            ret
        }",
    );
    let mut analyses = Analyses::new();
    ask_all(&function, &mut analyses);
    let second = Block::from_index(2);
    let maximum = |analyses: &mut Analyses, function: &Function| {
        let evolution = analyses.get::<ScalarEvolution>(function);
        let mut query = evolution.on(function);
        query.backedge_taken(second).unwrap().maximum
    };
    assert_eq!(maximum(&mut analyses, &function), Some(9));
    let test = match function.values()[Value::from_index(4)].definition {
        oriole_ir::Definition::Instruction(test) => test,
        _ => unreachable!(),
    };
    edit(&mut function, &mut analyses, |editor| {
        let bound = editor.integer(1000, false);
        editor.set_operand(test, 2, bound);
    });
    assert_eq!(maximum(&mut analyses, &function), Some(999));
    assert!(analyses.stale(&function).is_empty());
}

#[test]
fn what_is_forgotten_by_hand_is_computed_again() {
    let function = read(NESTED);
    let mut analyses = Analyses::new();
    let evolution = ScalarEvolution::compute(&function, &mut analyses);
    let ask = || {
        let mut query = evolution.on(&function);
        for header in query.headers() {
            query.predicated_backedge_taken(header);
        }
        drop(query);
        evolution.statistics()
    };
    let all = ask();
    let header = Block::from_index(3);
    evolution.forget_loop(&function, header, Depth::Shallow);
    let shallow = evolution.statistics().forgotten;
    assert!(shallow > 0 && shallow < all.kept);
    ask();
    evolution.forget_loop(&function, header, Depth::All);
    let deep = evolution.statistics().forgotten - shallow;
    assert!(deep > 0);
    ask();
    evolution.forget_loop(&function, header, Depth::Bounded(1));
    ask();
    evolution.forget_value(Value::from_index(12));
    ask();
    evolution.forget_all_loops(&function);
    ask();
    evolution.forget_all();
    assert_eq!(evolution.statistics().kept, 0);
    ask();
    assert_eq!(evolution.verify(&function, true), Vec::<String>::new());
    assert!(matches!(
        function.operands(function.last_instruction(Block::from_index(3)).unwrap()),
        [Operand::Value(_), ..]
    ));
}

#[test]
fn what_is_kept_is_verified_if_knobs_say_so() {
    let mut function = read(NESTED);
    let knobs = Knobs {
        verify_scev: true,
        verify_scev_strict: true,
        ..Knobs::default()
    };
    let evolution = ScalarEvolution::new(&function, launch(), knobs);
    let mut query = evolution.on(&function);
    for header in query.headers() {
        query.backedge_taken(header);
    }
    drop(query);
    assert!(evolution.verify_by_knobs(&function).is_empty());
    // An edit that the analysis does not hear of.
    let oriole_ir::Definition::Instruction(test) =
        function.values()[Value::from_index(13)].definition
    else {
        unreachable!();
    };
    let mut editor = Editor::new(&mut function);
    let bound = editor.integer(12, false);
    editor.set_operand(test, 2, bound);
    editor.finish();
    assert!(!evolution.verify_by_knobs(&function).is_empty());
}
