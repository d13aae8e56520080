//! How far ScalarEvolution goes to derive one comparison from others.

use oriole_analysis::launch::LaunchShape;
use oriole_analysis::scalar_evolution::{Knobs, ScalarEvolution};
use oriole_ir::{Block, Value, text};

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
