//! Forms of instructions whose meaning is easy to get wrong, each as a GPU executes it.

mod common;

use common::{STORE, run, run_module};
use oriole_emulator::Options;

fn first_words(text: &str) -> Vec<u32> {
    let (result, words) = run_module(text, 1, 1, &Options::default());
    result.unwrap_or_else(|trap| panic!("{trap}"));
    words
}

#[test]
fn vector_registers_are_moved_whole() {
    let words = run(
        ".reg .v2 .b32 %v, %w; .reg .v4 .b16 %h; mov.b64 %a1, 0x900000004; mov.b64 %v, %a1;\n\
         st.global.u32 [%out], %v.x; st.global.u32 [%out+4], %v.y;\n\
         mov.b64 %w, %v; add.u32 %w.y, %w.y, 1; mov.b64 %a2, %w; st.global.u64 [%out+8], %a2;\n\
         mov.b64 %h, 0x0004000300020001; mov.b32 %r1, {%h.w, %h.y}; st.global.u32 [%out+16], %r1;\n\
         mov.v2.b32 %w, %v; st.global.v2.u32 [%out+24], %w;",
        1,
    );
    assert_eq!(words[..8], [4, 9, 4, 10, 0x2_0004, 0, 4, 9]);
}

#[test]
fn vector_registers_are_passed_whole() {
    let words = first_words(
        ".version 8.6\n.target sm_90\n.address_size 64\n\
         .func (.reg .v2 .b32 %d) swap(.reg .v2 .b32 %p, .reg .b32 %q)\n{\n\
         add.u32 %d.x, %p.y, %q; add.u32 %d.y, %p.x, %q; ret;\n}\n\
         .visible .entry k(.param .u64 k_out, .param .u32 k_n)\n{\n\
         .reg .b64 %out; .reg .v2 .b32 %v, %w; .reg .b32 %r1;\n\
         ld.param.u64 %out, [k_out]; mov.b64 %v, 0x500000003; mov.u32 %r1, 100;\n\
         call (%w), swap, (%v, %r1);\nst.global.v2.u32 [%out], %w;\nret;\n}\n",
    );
    assert_eq!(words[..2], [105, 103]);
}

#[test]
fn the_carry_of_a_subtraction_is_that_nothing_was_borrowed() {
    let words = run(
        "sub.cc.u32 %r1, 7, 3; addc.u32 %r2, 0, 0; st.global.u32 [%out], %r2;\n\
         sub.cc.u32 %r1, 3, 7; addc.u32 %r2, 0, 0; st.global.u32 [%out+4], %r2;\n\
         add.cc.u32 %r1, -1, 1; subc.u32 %r2, 10, 1; st.global.u32 [%out+8], %r2;\n\
         add.cc.u32 %r1, 1, 1; subc.u32 %r2, 10, 1; st.global.u32 [%out+12], %r2;\n\
         sub.cc.u32 %r1, 3, 7; subc.u32 %r2, 10, 1; st.global.u32 [%out+16], %r2;\n\
         sub.cc.u32 %r1, 7, 3; madc.lo.u32 %r2, 2, 3, 0; st.global.u32 [%out+20], %r2;",
        1,
    );
    assert_eq!(words[..6], [1, 0, 9, 8, 8, 7]);
}

#[test]
fn addresses_of_variables_are_values() {
    let text = common::kernel(
        "st.global.u64 [%out], t+4; ld.global.u64 %a1, [%out]; ld.global.u32 %r1, [%a1]; st.global.u32 [%out], %r1;\n\
         st.u64 [u], t+8; ld.u64 %a2, [u]; ld.global.u32 %r1, [%a2]; st.global.u32 [%out+4], %r1;\n\
         st.global.v2.u64 [%out+16], {t+4, t}; ld.global.u64 %a1, [%out+16]; ld.global.u32 %r1, [%a1]; st.global.u32 [%out+8], %r1;",
    )
    .replace(".visible", ".global .u32 t[4] = {5, 6, 7, 8};\n.global .u64 u;\n.visible");
    assert_eq!(first_words(&text)[..3], [6, 7, 6]);
}

#[test]
fn registers_may_have_a_constant_added() {
    let words = run(
        "st.global.u32 [%out], %n+1; st.u32 [%out+4], %n+-8; mov.u32 %r1, %n+2; st.global.u32 [%out+8], %r1;\n\
         mov.u64 %a1, 5; st.global.u64 [%out+16], %a1+1; add.u32 %r1, %n+3, 5; st.global.u32 [%out+12], %r1;",
        1,
    );
    assert_eq!(words[..6], [8, u32::MAX, 9, 15, 6, 0]);
}

#[test]
fn generic_accesses_may_name_shared_variables() {
    let words = run(
        ".shared .align 8 .u32 s[4]; .shared .align 8 .b64 m; st.u32 [s+4], 17; ld.shared.u32 %r1, [s+4]; st.global.u32 [%out], %r1;\n\
         ld.u32 %r2, [s+4]; st.global.u32 [%out+4], %r2; atom.add.u32 %r3, [s+4], 3; ld.u32 %r2, [s+4]; st.global.u32 [%out+8], %r2;\n\
         ld.u32 %r4, s[1]; st.global.u32 [%out+12], %r4; mbarrier.init.b64 [m], 1; mbarrier.arrive.b64 %a1, [m];",
        1,
    );
    assert_eq!(words[..4], [17, 17, 20, 20]);
}

#[test]
fn vprintf_returns_the_number_of_arguments() {
    let text = common::kernel(&format!(
        ".local .align 8 .b8 l[16]; .reg .b64 %l, %f; .reg .b32 %d; mov.u64 %l, l; cvta.local.u64 %a1, %l; st.local.u32 [l], 5; st.local.u32 [l+4], 6;\n\
         mov.u64 %f, format; cvta.global.u64 %f, %f;\n\
         {{ .param .b64 x; .param .b64 y; .param .b32 z; st.param.b64 [x], %f; st.param.b64 [y], %a1;\n\
         call.uni (z), vprintf, (x, y); ld.param.b32 %r1, [z]; }}\n{STORE}"
    ))
    .replace(
        ".visible",
        ".extern .func (.param .b32 r) vprintf(.param .b64 a, .param .b64 b);\n\
         .global .align 1 .b8 format[7] = {37, 100, 32, 37, 100, 10, 0};\n.visible",
    );
    let (result, words) = run_module(&text, 1, 1, &Options::default());
    assert_eq!(result.expect("runs").output, b"5 6\n");
    assert_eq!(words[0], 2);
}
