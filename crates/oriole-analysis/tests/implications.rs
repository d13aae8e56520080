//! How far ScalarEvolution goes to derive one comparison from others, and what it makes of extensions.

use oriole_analysis::launch::LaunchShape;
use oriole_analysis::scalar_evolution::{Knobs, Names, ScalarEvolution};
use oriole_ir::{Block, Value, text};
use oriole_isa::{LaunchLimits, Target};

#[test]
fn minima_are_looked_into_as_deep_as_the_knob_says() {
    let function = text::read(
        "entry f {
            parameter @n: param
        block0():
            v0:b64 = ld.param.s32 #0, [@n]
            v1:b32 = mov.u32 #0, %ctaid.x
            v2:b64 = mul.wide.u32 #0, v1, 64
            v3:b64 = add.s64 #0, v2, 64
            v4:b64 = min.s64 #0, v3, v0
            v5:pred = setp.lt.s64 #0, v2, v0
            bra ->0 if v5
            -> block1(), block2() next
        block1():
            v6:pred = setp.lt.s64 #0, v2, v4
            ret
        block2():
            ret
        }",
    )
    .unwrap()
    .remove(0);
    let decided = |depth| {
        let knobs = Knobs {
            max_scev_operations_implication_depth: depth,
            ..Knobs::default()
        };
        let evolution = ScalarEvolution::new(&function, LaunchShape::default(), knobs);
        let mut query = evolution.on(&function);
        query.decided_predicate(Value::from_index(6), Block::from_index(1))
    };
    assert_eq!((decided(0), decided(1)), (None, Some(true)));
}

#[test]
fn extensions_are_pushed_down_where_nothing_wraps() {
    let function = text::read(
        "entry f {
        block0():
            v0:b32 = mov.u32 #0, 0
            v1:b32 = mov.u32 #0, -20
            v2:b32 = mov.u32 #0, %tid.x
            -> block1(v0, v1) next
        block1(v3:b32, v4:b32):
            v5:b64 = cvt.s64.s32 #0, v3
            v6:b64 = cvt.s64.s32 #0, v4
            v7:b64 = cvt.u64.u32 #0, v4
            v8:b32 = add.s32 #0, v2, v3
            v9:b32 = add.s32 #0, v8, -1
            v10:b64 = mul.wide.s32 #0, v9, 4
            v11:b64 = mul.wide.u32 #0, v9, 4
            v12:b32 = add.s32 #0, v3, 1
            v13:b32 = add.s32 #0, v4, 1
            v14:pred = setp.ne.s32 #0, v12, 10
            bra ->0 if v14
            -> block1(v12, v13), block2() next
        block2():
            ret
        }",
    )
    .unwrap()
    .remove(0);
    let evolution = ScalarEvolution::new(
        &function,
        LaunchShape::within(LaunchLimits::of(Target::from_text("sm_90"))),
        Knobs::default(),
    );
    let mut query = evolution.on(&function);
    let mut widened = |value: usize| {
        let plain = query.expression(Value::from_index(value));
        let wide = query.widened(plain);
        let names = Names {
            text: "",
            header: &|header| header.to_string(),
        };
        query.print(&names, wide)
    };
    assert_eq!(widened(5), "{0,+,1}<block1>");
    assert_eq!(widened(6), "{-20,+,1}<block1>");
    // As a number without a sign it starts near the largest.
    assert_eq!(widened(7), "{4294967276,+,1}<block1>");
    let start = "(-4 + (4 * (zext %tid.x to i64)))";
    assert_eq!(
        widened(10).replace("sext", "zext"),
        format!("{{{start},+,4}}<block1>")
    );
    // A thread may be the first: minus one wraps.
    assert!(widened(11).contains("zext {"), "{}", widened(11));
}
