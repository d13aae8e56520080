use super::*;

/// Reads a text and prints what was read.
fn again(text: &str) -> String {
    let functions = read(text).unwrap_or_else(|errors| panic!("{errors:#?}\n{text}"));
    let same = |line| Some(line);
    let print = |function| Printer::new(text, function).with_lines(&same).function();
    functions.iter().map(print).collect()
}

/// What is wrong with a text: lines, columns and sentences.
fn errors(text: &str) -> Vec<String> {
    let errors = read(text).expect_err("an error");
    let place = |at: u32| {
        let before = &text[..at as usize];
        let line = before.matches('\n').count() + 1;
        format!(
            "{line}:{}",
            before.len() - before.rfind('\n').map_or(0, |at| at + 1) + 1
        )
    };
    let said = errors
        .iter()
        .map(|error| format!("{} {}", place(error.span().start), error.message));
    said.collect()
}

const EVERYTHING: &str = "\
func everything {
    parameter @n: param u64
    result @r: param b32
    variable @buffer: local b8[40] align 16
    variable @buffer#2
    variable @buffer#3: local v4.f32[2] inner
    variable @sized: shared ?[12] align 8
    variable @open: shared b8[]
    variable @unknown: local
    variable @unmentioned: param b64 inner
    global @data: shared::cluster
    global @helper
    table @targets
    other @WARP_SZ
    pinned %r7: b32
    pinned %v
    undefined v0:b32(%r3)
block0():
    v1:b64(%rd1) = ld.param.u64 #0, [@n] at 3
    v2:pred(%p1), v3:pred(%p1#2) = setp.lt.u32 #0|#1, %tid.x, -7
    v4:b32(%r3) = mov.u32 #0, 0x1F if v2 else v0
    v5:f32(%f1:b32), v6:f32(%f2:?) = ld.global.v2.f32 {#0, #1}, [v1+-4] if not v3 else v0, v0
    frobnicate pinned %r7, pinned %v.x, {1.5e-3, .25, 0f3F800000, 18446744073709551615}, - 4, ?
    st.local.u32 [@buffer+4], v4
    st.local.u32 [@buffer#2], v4
    atom.global.add.u32 _, [v1], 3U
    add.s64 _, v1, -9223372036854775808S
    call (), @helper, (v4, \"a string\")
    brx.idx v4, @targets
    -> block7(v4), block3(v4, v1)
block7(v9:b32):
    ret
block3(v10:b32, v11:b64):
    bra ->0 if v2
    -> block3(v4, v11), block4() next
block4():
    ret
}
";

#[test]
fn everything_is_read_as_it_is_printed() {
    assert_eq!(again(EVERYTHING), EVERYTHING);
    let function = &read(EVERYTHING).unwrap()[0];
    assert_eq!(function.values().len(), 12);
    assert_eq!(function.blocks().len(), 8);
    assert_eq!(function.block_order().len(), 4);
    let locations = function.instructions_of(function.entry());
    let locations: Vec<_> = locations.map(|each| function.location(each)).collect();
    assert_eq!(locations[..2], [Some(3), None]);
    let first = function.instructions_of(function.entry()).next().unwrap();
    assert_eq!(
        (function.spelling(first), function.anchor(first)),
        (None, None)
    );
}

#[test]
fn blanks_and_comments_do_not_matter() {
    let text = "// first\n\nentry k{ // here\n block0 ( ) : \r\n\tv0 : b32=mov.b32 #0 ,1//x\n ret\n}\n\n//";
    assert!(
        read(text).is_err(),
        "a block and its parenthesis are one word"
    );
    let text = text.replace("block0 (", "block0(").replace("v0 :", "v0:");
    let expected = "entry k {\nblock0():\n    v0:b32 = mov.b32 #0, 1\n    ret\n}\n";
    assert_eq!(again(&text), expected);
}

#[test]
fn several_functions_stand_in_one_text() {
    let one = "entry k {\nblock0():\n    ret\n}\n";
    let other = "func f {\nblock0():\n    ret\n}\n";
    assert_eq!(again(&format!("{one}{other}")), format!("{one}{other}"));
    assert!(read("").unwrap().is_empty());
}

#[test]
fn every_line_that_is_wrong_is_named() {
    let text = "\
entry k {
    parameter out
    pinned %r1: b33
block0():
    v0:b32 = mov.b32 #0, 1 2
    v1:b32 = mov.b32 #0, @nobody
    v2:b32 = mov.b32 #0, 12z
    st.global.u32 [[[[[[[[[[[[[[[[[[[[[[[[[1
    v3:b32, v5:b32 = frobnicate #0, #1
    add.s32 v1.q
    -> block0() next, block0()
    ret
}
";
    assert_eq!(
        errors(text),
        [
            "2:15 expected `@`, found `out`",
            "3:17 expected a type, found `b33`",
            "5:28 expected the end of the line, found `2`",
            "6:27 `@nobody` is not declared",
            "7:26 `12z` is not a number",
            "8:40 expected operands that nest at most 20 deep, found `[`",
            "9:5 the results of an instruction have numbers that follow each other",
            "10:15 no register has a part `.q`",
            "11:8 only the last edge can be `next`",
            "12:5 expected a block, after edges, found `ret`",
        ]
    );
}

#[test]
fn what_is_missing_is_named() {
    let cases = [
        ("k", "1:1 expected `entry` or `func`, found `k`"),
        ("entry k {\n}", "1:7 a function has at least one block"),
        (
            "entry k {\nblock0():\n",
            "3:1 expected `}`, found the end of the line",
        ),
        (
            "entry k {\nblock0():\n st.u32 [v7], 1\n ret\n}",
            "3:10 `v7` is not defined",
        ),
        (
            "entry k {\nblock0():\n bra ->0\n -> block2()\n}",
            "4:5 there is no `block2`",
        ),
        (
            "entry k {\nblock0():\n st.u32 [v4000000000], 1\n ret\n}",
            "3:10 `v4000000000` is far beyond the values there can be",
        ),
        (
            "entry k {\nblock0():\n v1:b32 = mov.b32 #0, 1\n v1:b32 = mov.b32 #0, 2\n ret\n}",
            "4:2 `v1` is defined twice",
        ),
        (
            "entry k {\nblock0():\n ret\nblock0():\n ret\n}",
            "4:1 a second `block0`",
        ),
        (
            "entry k {\nblock0():\n v1:b32(%r1#3) = mov.b32 #0, 1\n ret\n}",
            "3:9 registers of one name are numbered in the order they are mentioned in",
        ),
        (
            "entry k {\nblock0():\n v1:b32(%r1) = mov.b32 #0, 1\n v2:b64(%r1) = mov.b64 #0, 1\n ret\n}",
            "4:9 `%r1` was mentioned as another register",
        ),
        (
            "entry k {\nblock0():\n v1:b32 = mov.b32 #0, 1 if v1\n ret\n}",
            "3:2 0 values for a false guard, and 1 results",
        ),
    ];
    for (text, expected) in cases {
        assert_eq!(errors(text)[..1], [expected], "{text}");
    }
}

#[test]
fn broken_rules_are_errors_where_they_are_broken() {
    let text = "entry k {\nblock0():\n    st.global.u32 [v1], 1\n    v1:b64 = mov.b64 #0, 1\n    bra ->3\n    -> block0()\n}";
    assert_eq!(
        errors(text),
        [
            "5:5 rule 3: there is no edge 3",
            "3:5 rule 11: v1 is used where its definition does not reach",
        ]
    );
}

#[test]
fn repetition_is_refused_in_linear_time() {
    let words = [
        "entry k {\n",
        "block0():\n",
        "v1:b32, ",
        "[",
        "(",
        "{",
        "-",
        "!",
        "#",
        "@",
        "a[",
        "\"",
        "// x\n",
        "}\n",
        "\n",
        "\0",
        "é",
        "->",
        "v1:b32 = ",
        "if ",
        "x+",
        "1|",
        ", ",
        ":",
    ];
    for prefix in [
        "",
        "entry k {\n",
        "entry k {\nblock0():\n",
        "entry k {\nblock0():\n add.s32 ",
    ] {
        for word in words {
            let text = format!("{prefix}{}", word.repeat(20_000));
            let is_empty = prefix.is_empty() && word.trim().is_empty() || word == "// x\n";
            assert!(read(&text).is_err() || is_empty, "{prefix}{word}");
        }
    }
}
