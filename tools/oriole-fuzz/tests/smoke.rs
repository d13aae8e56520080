//! A second of mutated inputs, and texts made to be slow or large to read: what is quadratic never ends here.

use oriole_fuzz::{MEMORY_FACTOR, MEMORY_FLOOR, Mutator, examine, seeds};
use peak_alloc::PeakAlloc;
use std::path::Path;
use std::sync::Mutex;

#[global_allocator]
static ALLOCATOR: PeakAlloc = PeakAlloc;

/// Tests measure memory one at a time.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// Parses and gives the number of errors; panics if that took more memory than allowed.
fn parse(title: &str, text: &str) -> usize {
    ALLOCATOR.reset_peak_usage();
    let before = ALLOCATOR.current_usage();
    let (_, errors) = oriole_syntax::parse("hostile.ptx", text);
    let memory = ALLOCATOR.peak_usage() - before;
    assert!(
        memory <= MEMORY_FACTOR * text.len() + MEMORY_FLOOR,
        "{title}: {memory} bytes of memory for {} bytes of text",
        text.len()
    );
    errors.len()
}

#[test]
fn mutated_files_break_nothing() {
    let _guard = ONE_AT_A_TIME
        .lock()
        .unwrap_or_else(|poison| poison.into_inner());
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mutator = Mutator::new(seeds(&root).unwrap());
    let mut parsed = 0;
    for number in 0..1500 {
        let text = mutator.input(number);
        parse(&format!("input {number}"), &text);
        match examine(&text, true) {
            Ok(verdict) => parsed += usize::from(verdict == oriole_fuzz::Verdict::Parsed),
            Err(failure) => panic!("input {number}: {failure}"),
        }
    }
    assert!(
        parsed > 100,
        "only {parsed} inputs parse: the mutations are too wild to test printing"
    );
}

#[test]
fn repetition_takes_linear_time_and_memory() {
    let _guard = ONE_AT_A_TIME
        .lock()
        .unwrap_or_else(|poison| poison.into_inner());
    // `ORIOLE_HOSTILE_BYTES=4000000 cargo test --release -p oriole-fuzz` looks harder.
    let size = std::env::var("ORIOLE_HOSTILE_BYTES")
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(if cfg!(debug_assertions) {
            16 << 10
        } else {
            1 << 20
        });
    for unit in [
        ";",
        "{",
        "}",
        "{}",
        "(",
        "[",
        "a:",
        "a:a:",
        "a;",
        "a a,",
        "@",
        "@@",
        "@a ",
        "!",
        "-",
        ".",
        ".x",
        ".x ",
        ".x;",
        ".x\n",
        "\"",
        "\"\"",
        "/**/",
        "//\n",
        "/*",
        "#",
        "#1 \"\"\n",
        "#1 \"\" x",
        "\n",
        ",",
        "0",
        "0x",
        "0x ",
        "a.",
        "a .b ",
        ".func a;",
        ".func a{}",
        ".func(.reg .b8 a)a;",
        ".func a(.reg .b8 a,",
        ".entry a{",
        ".entry a{}",
        ".extern ",
        ".visible .func ",
        ".reg .b8;",
        ".reg .b8 a;",
        ".reg .b8 a<9>;",
        ".global .b8;",
        ".global .b8 a={",
        ".global .b8 a={}",
        ".align 4 ",
        ".loc 1 2 3 ",
        ".file 1 \"\" ",
        ".section .a{}",
        ".section .a{",
        ".pragma \"\";",
        ".alias a,a;",
        ".version 1 ",
        ".target a,",
        "\u{e9}",
        "\0",
        "é\n",
        "1+",
        "(.s64)",
        "a|",
        "a+",
        "a[",
        "{a,",
        "=",
        "<",
        "?",
    ] {
        let text = unit.repeat(size / unit.len());
        parse(unit, &text);
        // The same inside a function, an operand, an initialiser and a list of parameters.
        for (before, after) in [
            (".entry k{", "}"),
            (".entry k{a ", ";}"),
            (".entry k{mov.u32 a, (1+", ");}"),
            (".entry k{a: .branchtargets ", ";}"),
            (".global .b8 a[4] = {", "};"),
            (".global .b8 a[4] = ", ";"),
            (".func f(", ") { ret; }"),
            (".func f() ", " { ret; }"),
            (".section .debug_str {", "}"),
        ] {
            parse(
                &format!("{before}{unit}"),
                &format!("{before}{text}{after}"),
            );
        }
    }
}

#[test]
#[expect(clippy::too_many_lines, reason = "one list")]
fn deep_and_long_texts_are_read() {
    let _guard = ONE_AT_A_TIME
        .lock()
        .unwrap_or_else(|poison| poison.into_inner());
    // Without optimization a tenth is enough to notice what is quadratic.
    const MANY: usize = if cfg!(debug_assertions) {
        10_000
    } else {
        100_000
    };
    let function = |body: String| format!(".entry k{{.reg .b32 r<9>;\n{body}\nret;}}\n");
    let numbered = |text: &str| -> String {
        (0..MANY)
            .map(|n| text.replace('#', &n.to_string()))
            .collect()
    };
    for (title, text, errors) in [
        (
            "nested scopes",
            function("{".repeat(MANY) + &"}".repeat(MANY)),
            0,
        ),
        (
            "nested scopes with registers",
            function("{.reg .b32 r<9>;mov.b32 r1,r2;".repeat(MANY) + &"}".repeat(MANY)),
            0,
        ),
        (
            "nested scopes with one label",
            function("{a:bra a;".repeat(MANY) + &"}".repeat(MANY)),
            0,
        ),
        (
            "scopes side by side",
            function("{.reg .b32 r<9>,x;a:mov.b32 r1,x;}".repeat(MANY)),
            0,
        ),
        ("labels", function(numbered("a#:bra a#;")), 0),
        ("the same label", function("a:".repeat(MANY)), 0),
        (
            "registers",
            function(numbered(".reg .b32 x#;mov.b32 x#,1;")),
            0,
        ),
        (
            "the same register",
            function(".reg .b32 x;".repeat(MANY)),
            0,
        ),
        (
            "ranges",
            function(numbered(".reg .b32 x#_<999999>;mov.b32 x#_99999,1;")),
            0,
        ),
        (
            "a long vector",
            function(format!("a {{{}r1}};", "r1,".repeat(100_000))),
            1,
        ),
        (
            "a long sum",
            function(format!("a [r1{}];", "+r1".repeat(MANY))),
            1,
        ),
        (
            "many pairs",
            function(format!("a r1{};", "|r1".repeat(MANY))),
            1,
        ),
        (
            "many elements",
            function(format!("a r1{};", "[1]".repeat(MANY))),
            1,
        ),
        (
            "many operands",
            function(format!("a r1{};", ",r1".repeat(100_000))),
            1,
        ),
        (
            "a long expression",
            function(format!("mov.b32 r1, 1{};", "+1".repeat(10 * MANY))),
            0,
        ),
        (
            "a long offset",
            function(format!("ld.b32 r1, [r2+1{}];", "+1".repeat(10 * MANY))),
            0,
        ),
        (
            "deep parentheses",
            function(format!(
                "mov.b32 r1, {}1{};",
                "(".repeat(MANY),
                ")".repeat(MANY)
            )),
            0,
        ),
        (
            "many signs",
            function(format!("mov.b32 r1, {}1;", "-".repeat(MANY))),
            0,
        ),
        (
            "many conditions",
            function(format!("mov.b32 r1, {}3;", "1?2:".repeat(MANY))),
            0,
        ),
        (
            "comments in expressions",
            function(format!("a r1, {}1;", "(1/**/+/**/2)/**/,".repeat(MANY / 2))),
            0,
        ),
        (
            "a long initialiser",
            format!(".global .b8 a[] = {{{}1}};", "1,".repeat(10 * MANY)),
            0,
        ),
        (
            "a deep initialiser",
            format!(
                ".global .b8 a[] = {}1{};",
                "{".repeat(MANY),
                "}".repeat(MANY)
            ),
            0,
        ),
        (
            "targets",
            function(format!(
                "a: t: .branchtargets a{}; brx.idx r1, t;",
                ",a".repeat(MANY)
            )),
            0,
        ),
        ("globals", numbered(".global .b8 a#;"), 0),
        ("the same global", ".global .b8 a;".repeat(MANY), 0),
        ("functions", numbered(".func f#{ret;}"), 0),
        (
            "parameters",
            format!(".func f({}.reg .b32 z){{ret;}}", numbered(".reg .b32 p#,")),
            0,
        ),
        (
            "prototypes in a body",
            function(numbered(".extern .func f#;")),
            0,
        ),
        ("one line", function("mov.b32 r1, r2; ".repeat(6 * MANY)), 0),
        ("unknown directives on one line", ".x;".repeat(MANY), 0),
        (
            "a long name",
            function(format!(
                ".reg .b32 {0}; mov.b32 {0}, 1;",
                "x".repeat(10 * MANY)
            )),
            0,
        ),
        (
            "a long number",
            function(format!("mov.b32 r1, {}1;", "0".repeat(10 * MANY))),
            0,
        ),
        (
            "a long register number",
            function(format!("mov.b32 r{}1, 1;", "0".repeat(10 * MANY))),
            0,
        ),
    ] {
        let found = parse(title, &text);
        assert_eq!(found, errors, "{title}: errors");
        if errors == 0 {
            // Without SSA form: that duplicates are reported is enough here.
            let verdict = examine(&text, false);
            assert!(verdict.is_ok(), "{title}: {verdict:?}");
        }
    }
}

#[test]
fn errors_are_bounded() {
    let _guard = ONE_AT_A_TIME
        .lock()
        .unwrap_or_else(|poison| poison.into_inner());
    let text = format!(".entry k{{{}}}", "add.s32 a b;\n".repeat(100_000));
    assert!(parse("many errors", &text) <= 101);
}
