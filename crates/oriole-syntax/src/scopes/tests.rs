use super::*;

fn resolve_text(body: &str) -> (Vec<String>, Vec<String>) {
    let text = format!(".global .u32 g;\n.func f(.param .u32 a)\n{{\n{body}\n}}\n");
    let (module, errors) = crate::parse("t.ptx", text);
    assert!(errors.is_empty(), "{errors:?}");
    let (globals, errors) = Globals::of(&module);
    assert!(errors.is_empty(), "{errors:?}");
    let (scopes, errors) = resolve(&module, &globals, &module.functions[0]);
    let references = scopes
        .references
        .iter()
        .filter(|&&reference| reference != Reference::None)
        .map(|reference| format!("{reference:?}"))
        .collect();
    (
        references,
        errors.into_iter().map(|error| error.message).collect(),
    )
}

#[test]
fn inner_scopes_shadow_and_end() {
    let (references, errors) = resolve_text(
        ".reg .b32 %r<3>, x; mov.b32 %r1, x; { .reg .b32 %r<2>; mov.b32 %r1, x; } mov.b32 %r1, %r2;",
    );
    assert_eq!(errors, Vec::<String>::new());
    assert_eq!(
        references,
        [
            "Register(1)",
            "Register(0)",
            "Register(2)",
            "Register(0)",
            "Register(1)",
            "Register(3)"
        ]
    );
}

#[test]
fn what_is_remembered_of_a_name_ends_with_its_declaration() {
    let (references, errors) = resolve_text(
        ".reg .b32 x, y, %r<3>; mov.b32 x, %r1; mov.b32 x, %r1; { .reg .b32 x; mov.b32 x, y; { .reg .b32 x; mov.b32 x, %r1; } \
         mov.b32 x, y; { .reg .b32 %r<2>; mov.b32 x, %r1; mov.b32 x, %r2; } mov.b32 x, %r1; } mov.b32 x, %r1; \
         { .reg .b32 %r1; mov.b32 x, %r1; } mov.b32 x, %r1; { mov.b32 y, x; y: mov.b32 x, %tid.x; bra y; } mov.b32 y, %tid.x;",
    );
    assert_eq!(errors, Vec::<String>::new());
    let register = |number: u32| format!("Register({number})");
    let label = "Label(0)".to_owned();
    let special = "Special".to_owned();
    // Outside are x, y and %r1; then x of the first scope inside, x of the second, %r1 of the third and %r2, and %r1 declared alone.
    let (x, y, one) = (register(0), register(1), register(2));
    let expected = [
        [&x, &one],
        [&x, &one],
        [&register(3), &y],
        [&register(4), &one],
        [&register(3), &y],
        [&register(3), &register(5)],
        [&register(3), &register(6)],
        [&register(3), &one],
        [&x, &one],
        [&x, &register(7)],
        [&x, &one],
        [&y, &x],
        [&x, &special],
        [&label, &y],
    ];
    let mut expected: Vec<&String> = expected.iter().flatten().copied().collect();
    expected.push(&special);
    assert_eq!(references.iter().collect::<Vec<_>>(), expected);
}

#[test]
fn an_inner_range_hides_only_its_own_numbers() {
    let (references, errors) = resolve_text(
        ".reg .b32 %r<100>; { .reg .b32 %r<10>; mov.b32 %r50, %r9; { .reg .b32 %r<2>; mov.b32 %r50, %r9; mov.b32 %r1, %r99; } }",
    );
    assert_eq!(errors, Vec::<String>::new());
    let expected = [0, 1, 0, 1, 2, 3].map(|register| format!("Register({register})"));
    assert_eq!(references, expected);
    // The same among many: every scope declares fewer, or more, or as many as the one around it.
    for counts in [
        (1..=300).rev().collect::<Vec<u32>>(),
        (1..=300).collect(),
        (1..=300).map(|scope| scope * 7919 % 301 + 1).collect(),
    ] {
        let mut body = String::new();
        let mut expected = Vec::new();
        for (scope, count) in counts.iter().enumerate() {
            body += &format!("{{ .reg .b32 %r<{count}>; ");
            for number in [0, 1, 17, 150, 299] {
                let declared = counts[..=scope].iter().rposition(|&count| number < count);
                if let Some(declared) = declared {
                    body += &format!("mov.b32 %r{number}, 0; ");
                    expected.push((declared, number));
                }
            }
        }
        body += &"}".repeat(counts.len());
        let (references, errors) = resolve_text(&body);
        assert_eq!(errors, Vec::<String>::new());
        // The same register wherever the same scope declares it.
        let mut known = std::collections::BTreeMap::new();
        for (reference, register) in references.iter().zip(&expected) {
            assert_eq!(known.entry(register).or_insert(reference), &reference);
        }
        let different: std::collections::BTreeSet<_> = known.values().collect();
        assert_eq!(
            (references.len(), different.len()),
            (expected.len(), known.len())
        );
    }
}

#[test]
fn labels_are_visible_before_they_appear_and_only_in_their_scope() {
    let (references, errors) = resolve_text("bra L; { bra L; L: bra M; } L: M: ret;");
    assert_eq!(errors, Vec::<String>::new());
    assert_eq!(references, ["Label(1)", "Label(0)", "Label(2)"]);
    let (_, errors) = resolve_text("{ L: ret; } bra L;");
    assert_eq!(errors, ["the label `L` is not declared"]);
}

#[test]
fn all_kinds_of_names() {
    let (references, errors) = resolve_text(
        ".reg .b32 %r<4294967295>; mov.u32 %r4294967294, %tid.x; ld.param.u32 %r0, [a]; ld.global.u32 %r00, [g]; mov.u32 %r1, %q1;",
    );
    assert_eq!(errors, ["the register `%q1` is not declared"]);
    assert_eq!(
        references,
        [
            "Register(0)",
            "Special",
            "Register(1)",
            "Variable(0)",
            "Register(1)",
            "Global(0)",
            "Register(2)",
            "Unknown"
        ]
    );
}

#[test]
fn the_innermost_of_range_single_name_and_label_is_meant() {
    for (body, expected) in [
        // A single name inside a range's scope, and the reverse.
        (
            ".reg .u32 a<4>; { .reg .u64 a1; mov.u64 a1, 1; mov.u32 a01, 1; } mov.u32 a1, 1;",
            &["Register(0)", "Register(1)", "Register(1)"][..],
        ),
        (
            ".reg .u32 a1; { .reg .u64 a<4>; mov.u64 a1, 1; } mov.u32 a1, 1;",
            &["Register(1)", "Register(0)"],
        ),
        // A label hides what is outside from where it stands.
        (
            ".reg .u32 x; { mov.u32 x, 1; x: bra x; }",
            &["Register(0)", "Label(0)"],
        ),
        (
            "x: { .reg .u32 x; mov.u32 x, 1; } bra x;",
            &["Register(0)", "Label(0)"],
        ),
        ("x: { bra x; x: }", &["Label(1)"]),
        // A table is visible from where it stands.
        (
            ".reg .u32 r; b: t: .branchtargets b; { brx.idx r, t; t: .branchtargets b; brx.idx r, t; }",
            &["Register(0)", "Label(1)", "Register(0)", "Label(2)"],
        ),
        // Variables come in ranges too.
        (
            ".reg .u64 d; .shared .u32 s<4>; mov.u64 d, s2; mov.u64 d, s1; mov.u64 d, s2;",
            &[
                "Register(0)",
                "Variable(1)",
                "Register(0)",
                "Variable(2)",
                "Register(0)",
                "Variable(1)",
            ],
        ),
    ] {
        let (references, errors) = resolve_text(body);
        assert_eq!(errors, Vec::<String>::new(), "{body}");
        assert_eq!(references, expected, "{body}");
    }
}

#[test]
fn sparse_and_dense_registers_are_the_same_whatever_the_order() {
    let mut body = ".reg .b32 %r<4000000000>; ".to_owned();
    for round in 0..3 {
        for number in [3_999_999_999u64, 7, 1_000_000, 500, 1100, 7] {
            body.push_str(&format!("mov.b32 %r{number}, {round}; "));
        }
    }
    let (references, errors) = resolve_text(&body);
    assert_eq!(errors, Vec::<String>::new());
    assert_eq!(references[..6], references[6..12]);
    assert_eq!(references[..6], references[12..]);
    assert_eq!(references[1], references[5]);
}

#[test]
fn members_belong_to_their_register() {
    let (references, errors) = resolve_text(
        ".reg .v4 .f32 v; .reg .u32 %r<2>; mov.f32 v.x, v.w; vadd.s32.u32.u32 %r0, %r1.b0, %r1.h1, %r0;",
    );
    assert_eq!(errors, Vec::<String>::new());
    assert_eq!(
        references,
        [
            "Register(0)",
            "Register(0)",
            "Register(1)",
            "Register(2)",
            "Register(2)",
            "Register(1)"
        ]
    );
}
