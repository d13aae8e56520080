//! What the prediction of register counts sees of small kernels.

use oriole_analysis::liveness::Registers;
use oriole_analysis::register_model::features::{Features, Summary, features};
use oriole_analysis::register_model::prediction::predict;
use oriole_ir::{Formats, FunctionId};
use oriole_isa::Target;
use oriole_syntax::scopes::{Globals, resolve};
use oriole_translate::{into_ssa, module_of};

/// The features of a kernel with these directives and this body.
fn of(directives: &str, body: &str) -> Features {
    let text = format!(
        ".version 9.0\n.target sm_90\n.address_size 64\n.const .align 4 .b8 bank[64];\n\
         .visible .entry k(.param .u64 out, .param .u32 count)\n{directives}\n{{\n\
         .reg .pred %p<4>; .reg .b32 %r<40>; .reg .b64 %rd<20>;\n{body}\nret;\n}}\n"
    );
    let (module, errors) = oriole_syntax::parse("k.ptx", text);
    assert!(errors.is_empty(), "{errors:?}");
    let (globals, _) = Globals::of(&module);
    let function = &module.functions[0];
    let (scopes, _) = resolve(&module, &globals, function);
    let mut formats = Formats::new();
    let registers = Registers::of(
        &module,
        function.body.as_ref().unwrap(),
        &scopes,
        &mut formats,
    );
    let translated = into_ssa(&module, &globals, 0, &mut formats).unwrap();
    let outside = module_of(&module, &globals);
    let summary = Summary::of(
        &outside,
        FunctionId::from_index(0),
        &registers,
        &translated.function,
    );
    let target = Target::from_text("sm_90").unwrap();
    features(&outside, &[Some(summary)], target)[0]
        .clone()
        .unwrap()
}

/// A loop over `count` that adds up what it loads; `pragma` stands at its header.
fn summing_loop(pragma: &str, step: &str) -> String {
    format!(
        "ld.param.u64 %rd1, [out]; ld.param.u32 %r1, [count]; mov.u32 %r2, 0; mov.u32 %r3, 0; mov.u32 %r5, %ntid.x;\n\
         L:\n{pragma}\n ld.global.u32 %r4, [%rd1]; add.u32 %r3, %r3, %r4; add.s64 %rd1, %rd1, 4;\n\
         add.s32 %r2, %r2, {step}; setp.lt.s32 %p1, %r2, %r1; @%p1 bra L;\n\
         st.global.u32 [%rd1], %r3;"
    )
}

#[test]
fn counted_loops_are_unrolled_by_four_unless_a_pragma_forbids_it() {
    assert_eq!(of("", &summing_loop("", "1")).get("copies"), 4.0);
    let kept = of("", &summing_loop(".pragma \"nounroll\";", "1"));
    assert_eq!(kept.get("copies"), 1.0);
}

#[test]
fn scheduling_keeps_few_values_alive() {
    // Sixteen loads at first, then their sum.
    let mut body = String::from("ld.param.u64 %rd1, [out]; mov.u32 %r30, 0;\n");
    for at in 0..16 {
        body += &format!("ld.global.u32 %r{at}, [%rd1+{}];\n", at * 4);
    }
    for at in 0..16 {
        body += &format!("add.u32 %r30, %r30, %r{at};\n");
    }
    body += "st.global.u32 [%rd1], %r30;";
    let found = of("", &body);
    assert!(found.get("folded") >= 16.0);
    assert!(
        found.get("least") <= 5.0 && found.get("least") <= found.get("scheduled"),
        "{} {}",
        found.get("least"),
        found.get("scheduled")
    );
}

#[test]
fn registers_that_are_no_values_are_live_from_their_definition() {
    // A guarded definition makes `%r3` no value of the SSA form.
    let body = "ld.param.u64 %rd1, [out]; mov.u32 %r1, %tid.x; bar.sync 0;\n\
        setp.ne.u32 %p1, %r1, 0; and.b32 %r3, %r1, 4; @%p1 not.b32 %r3, %r3;\n\
        and.b32 %r4, %r3, 7; st.global.u32 [%rd1], %r4;";
    let found = of("", body);
    assert!(found.get("folded") <= found.get("written"));
    assert!(found.get("average") < found.get("folded"));
}

#[test]
fn constants_at_written_addresses_take_no_register() {
    let body = "ld.param.u64 %rd1, [out]; ld.const.v2.u32 {%r1, %r2}, [bank]; ld.const.u32 %r3, [bank+8];\n\
        mov.u32 %r5, %tid.x; bar.sync 0;\n\
        mad.lo.u32 %r4, %r5, %r1, %r2; add.u32 %r4, %r4, %r3; st.global.u32 [%rd1], %r4;";
    assert_eq!(of("", body).get("folded"), 1.0);
}

/// Eight sums of an address and a constant in front of a barrier, `use_of` each behind it.
fn sums_before_a_barrier(use_of: impl Fn(usize) -> String) -> Features {
    let mut body = String::from(
        "ld.param.u64 %rd1, [out]; mov.u32 %r30, %tid.x; mad.wide.u32 %rd2, %r30, 4, %rd1;\n",
    );
    for at in 0..8 {
        body += &format!("add.s64 %rd{}, %rd2, {};\n", at + 10, 64 * (at + 1));
    }
    body += "bar.sync 0;\n";
    for at in 0..8 {
        body += &use_of(at);
    }
    of("", &body)
}

#[test]
fn sums_that_only_addresses_read_are_offsets() {
    let stored = sums_before_a_barrier(|at| format!("st.global.u32 [%rd{}], %r30;\n", at + 10));
    assert_eq!(stored.get("folded"), 3.0);
    assert!(stored.get("written") >= 16.0);
    // What is stored itself is needed in a register.
    let kept = sums_before_a_barrier(|at| format!("st.global.u64 [%rd2], %rd{};\n", at + 10));
    assert!(kept.get("folded") >= 16.0, "{}", kept.get("folded"));
}

#[test]
fn long_chains_are_computed_before_their_last_operands() {
    // A sum of products that were all computed first: each product can be computed when the sum has come so far.
    let mut body = String::from(
        "ld.param.u64 %rd1, [out]; mov.u32 %r30, %tid.x; ld.global.u32 %r20, [%rd1];\n",
    );
    for at in 0..16 {
        body += &format!("mad.lo.u32 %r{at}, %r20, %r30, {at};\n");
    }
    body += "mov.u32 %r31, %r30;\n";
    for at in 0..16 {
        body += &format!("xor.b32 %r31, %r31, %r{at};\n");
    }
    body += "st.global.u32 [%rd1], %r31;";
    let found = of("", &body);
    assert!(found.get("folded") >= 16.0);
    assert!(found.get("late") <= 5.0, "{}", found.get("late"));
}

#[test]
fn directives_bound_the_prediction() {
    let body = "ld.param.u64 %rd1, [out]; st.global.u32 [%rd1], 1;";
    let plain = of("", body);
    assert_eq!(plain.steps, [32, 40, 48, 56, 64, 72, 80, 96, 128, 168, 255]);
    let bounded = of(".maxntid 512, 1, 1\n.minnctapersm 2", body);
    assert_eq!(bounded.steps.last(), Some(&64));
    assert_eq!(
        (bounded.get("threads"), bounded.get("minimum_blocks")),
        (512.0, 2.0)
    );
    let few = of(".maxnreg 24", body);
    assert_eq!(few.limit, 24);
    for found in [plain, bounded, few] {
        let prediction = predict(&found);
        assert!(prediction.low <= prediction.best && prediction.best <= prediction.high);
        assert!(prediction.high <= found.limit);
    }
}
