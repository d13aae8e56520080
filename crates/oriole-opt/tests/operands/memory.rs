//! Cases of passes that look at memory, calls and modules.

use crate::harness::{Case, border, fires};

const SPACES: &str = "address-spaces";
const STORES: &str = "dead-stores";
const PROMOTION: &str = "local-promotion";
const INLINING: &str = "leaf-inlining";
const SWIZZLE: &str = "swizzle-shared";

/// A shared word for each thread.
const CELLS: &str = ".shared .align 8 .b8 cells[1024];\n";

/// A function that returns early, and one with a loop.
const FUNCTIONS: &str = ".func (.param .b32 result) pick(.param .b32 x, .param .b32 y)\n{\n    .reg .pred %p<3>;\n    \
    .reg .b32 %r<9>;\n    ld.param.b32 %r1, [x];\n    ld.param.b32 %r2, [y];\n    setp.lt.s32 %p1, %r1, %r2;\n    \
    @%p1 st.param.b32 [result], %r2;\n    @%p1 ret;\n    sub.s32 %r3, %r1, %r2;\n    st.param.b32 [result], %r3;\n    ret;\n}\n\
    .func (.param .b32 result) rounds(.param .b32 x, .param .b32 n)\n{\n    .reg .pred %p<3>;\n    .reg .b32 %r<9>;\n    \
    ld.param.b32 %r1, [x];\n    ld.param.b32 %r2, [n];\n    and.b32 %r2, %r2, 7;\n$again:\n    mad.lo.s32 %r1, %r1, %r1, %r2;\n    \
    add.s32 %r2, %r2, -1;\n    setp.gt.s32 %p2, %r2, 0;\n    @%p2 bra $again;\n    st.param.b32 [result], %r1;\n    ret;\n}\n";

/// The cases.
pub const CASES: &[Case] = &[
    fires(
        SPACES,
        "address-spaces.conversions",
        "mov.u32 %r1, %tid.x; mul.wide.u32 %rd1, %r1, 8; mov.u64 %rd2, cells; add.s64 %rd3, %rd2, %rd1; cvta.shared.u64 %rd4, %rd3;
         st.b32 [%rd4], %x1; st.b32 [%rd4+4], %x2; ld.b32 %r2, [%rd4]; ld.b32 %r3, [%rd4+4]; sub.s32 %r4, %r2, %r3;
         st.global.b32 [%out], %r4;",
    )
    .module(CELLS),
    border(
        SPACES,
        "mov.u32 %r1, %tid.x; mul.wide.u32 %rd1, %r1, 8; mov.u64 %rd2, cells; add.s64 %rd3, %rd2, %rd1; cvta.shared.u64 %rd4, %rd3;
         cvta.global.u64 %rd5, %out; st.shared.b32 [%rd3], 5; st.global.b32 [%out], 6; setp.lt.s32 %p1, %x1, %x2;
         selp.b64 %rd6, %rd4, %rd5, %p1; st.b32 [%rd6], %x1; ld.shared.b32 %r2, [%rd3]; ld.b32 %r3, [%rd6];
         st.global.v2.b32 [%out+8], {%r2, %r3}; mov.b64 %rd7, %rd4; @%p1 bra $L1; mov.b64 %rd7, %rd5; $L1: ld.b32 %r4, [%rd7];
         isspacep.shared %p2, %rd7; selp.b32 %r5, 1, 2, %p2; st.global.v2.b32 [%out+16], {%r4, %r5};",
    )
    .module(CELLS),
    fires(
        STORES,
        "dead-stores.overwritten",
        "st.global.b32 [%out], %x1; st.global.b32 [%out+4], %x1; st.global.b32 [%out], %x2; setp.lt.s32 %p1, %x1, %x2;
         st.global.v2.b32 [%out+8], {%x1, %x2}; @%p1 bra $L1; st.global.b32 [%out+4], %x2; $L1:
         st.global.v2.b32 [%out+8], {%x2, %x1};",
    ),
    border(
        STORES,
        "setp.lt.s32 %p1, %x1, %x2; st.global.b32 [%out], %x1; @%p1 bra $L1; bra $L2; $L1: st.global.b32 [%out], %x2;
         $L2: st.global.b32 [%out+4], %x2;",
    ),
    border(
        STORES,
        "setp.lt.s32 %p1, %x1, %x2; st.global.b32 [%out], %x1; @%p1 st.global.b32 [%out], %x2; st.global.b32 [%out+4], %x1;
         st.global.b16 [%out+6], %h1; st.global.b32 [%out+8], %x1; ld.global.b32 %r1, [%out+8]; st.global.b32 [%out+8], %x2;
         st.global.b32 [%out+12], %r1; and.b32 %r2, %x1, 12; cvt.u64.u32 %rd1, %r2; add.s64 %rd2, %out, %rd1;
         st.global.b32 [%out+16], %x2; ld.global.b32 %r3, [%rd2+16]; st.global.b32 [%out+16], %x1; st.global.b32 [%out+20], %r3;
         st.global.b32 [%out+24], %x1; @%p1 bra $L1; st.global.b32 [%out+24], %x2; bra $L2; $L1: ld.global.b32 %r4, [%out+24];
         st.global.b32 [%out+28], %r4; $L2:",
    ),
    fires(
        STORES,
        "dead-stores.stores",
        ".local .align 8 .b8 array[16]; st.local.b32 [array], %x1; st.local.b32 [array+4], %x2; st.local.b32 [array+8], %x1;
         ld.local.u16 %r1, [array+6]; st.global.b32 [%out], %r1;",
    ),
    border(
        STORES,
        ".local .align 8 .b8 array[32]; st.local.b32 [array], %x1; st.local.v4.b32 [array+16], {%x1, %x2, %x2, %x1};
         st.local.b32 [array+4], %x2; and.b32 %r1, %x1, 4; cvt.u64.u32 %rd1, %r1; mov.u64 %rd2, array; add.s64 %rd3, %rd2, %rd1;
         ld.local.b32 %r2, [%rd3]; ld.local.b16 %h1, [array+22]; ld.local.b32 %r3, [%rd3+20]; st.global.v2.b32 [%out], {%r2, %r3};
         st.global.b16 [%out+8], %h1;",
    ),
    fires(
        PROMOTION,
        "local-promotion.variables",
        ".local .align 8 .b8 depot[16]; and.b32 %r1, %x1, 15; st.local.b32 [depot], 0; st.local.b32 [depot+4], %x2; $L1:
         ld.local.b32 %r2, [depot]; setp.ge.u32 %p1, %r2, %r1; @%p1 bra $L2; ld.local.b32 %r3, [depot+4];
         mad.lo.s32 %r3, %r3, 5, %r2; st.local.b32 [depot+4], %r3; add.s32 %r2, %r2, 1; st.local.b32 [depot], %r2; bra $L1; $L2:
         ld.local.b32 %r4, [depot+4]; ld.local.b32 %r5, [depot]; st.global.v2.b32 [%out], {%r4, %r5};",
    ),
    fires(
        PROMOTION,
        "local-promotion.variables",
        ".local .align 4 .b32 cell; setp.gt.u32 %p1, %x1, %x2; st.local.b32 [cell], %x1; mul.lo.s32 %r5, %x1, %x2;
         @%p1 st.local.b32 [cell], %r5; mov.b32 %r2, 3; @%p1 ld.local.b32 %r2, [cell]; ld.local.b32 %r3, [cell];
         sub.s32 %r4, %r2, %r3; st.global.v2.b32 [%out], {%r3, %r4};",
    ),
    border(
        PROMOTION,
        ".local .align 8 .b8 depot[32]; st.local.b32 [depot], %x1; st.local.b32 [depot+4], %x2; ld.local.b64 %rd1, [depot];
         ld.local.u8 %r1, [depot+3]; ld.local.s8 %r2, [depot+5]; st.local.b64 [depot+8], %rd1; ld.local.s16 %r3, [depot+12];
         st.local.b8 [depot+9], %x2; ld.local.b32 %r4, [depot+8]; st.global.v4.b32 [%out], {%r1, %r2, %r3, %r4};
         st.local.b32 [depot+16], 1; st.local.b32 [depot+20], 2; and.b32 %r5, %x1, 4; cvt.u64.u32 %rd2, %r5; mov.u64 %rd3, depot;
         add.s64 %rd4, %rd3, %rd2; st.local.b32 [%rd4+16], %x2; ld.local.b32 %r6, [depot+16]; ld.local.b32 %r7, [depot+20];
         st.global.v2.b32 [%out+16], {%r6, %r7};",
    ),
    border(
        PROMOTION,
        ".local .align 8 .b8 depot[32]; st.local.b32 [depot], %x1; st.local.b16 [depot], 7; ld.local.b32 %r1, [depot];
         st.local.b32 [depot+4], %x2; ld.local.u16 %r2, [depot+4]; st.local.b64 [depot+8], 0; st.local.b32 [depot+8], %x1;
         ld.local.b64 %rd1, [depot+8]; st.local.b32 [depot+16], %x1; ld.local.s32 %rd2, [depot+16]; ld.local.u32 %rd3, [depot+16];
         st.global.v2.b32 [%out], {%r1, %r2}; st.global.b64 [%out+8], %rd1; st.global.v2.b64 [%out+16], {%rd2, %rd3};",
    ),
    fires(
        "gvn-cse",
        "gvn-cse.parts",
        "ld.global.v2.b32 {%r1, %r2}, [%in+16]; st.global.b32 [%out], %r1; ld.global.b32 %r3, [%in+20]; sub.s32 %r4, %r3, %x1;
         st.global.b32 [%out+8], %x1; ld.global.u8 %r5, [%out+8]; ld.global.s8 %r6, [%out+9]; ld.global.u16 %r7, [%out+10];
         ld.global.s16 %r8, [%out+10]; st.global.v4.b32 [%out+16], {%r5, %r6, %r7, %r8}; st.global.b32 [%out+4], %r4;",
    ),
    border(
        "gvn-cse",
        "ld.global.b32 %r1, [%out]; st.global.b32 [%out], %x1; ld.global.b32 %r2, [%out]; and.b32 %r3, %x1, 4;
         cvt.u64.u32 %rd1, %r3; add.s64 %rd2, %out, %rd1; st.global.b32 [%rd2], %x2; ld.global.b32 %r4, [%out];
         ld.global.b32 %r5, [%out+4]; st.global.b8 [%out+5], %x1; ld.global.b32 %r6, [%out+4];
         atom.global.add.u32 %r7, [%out], %x1; ld.global.b32 %r8, [%out]; st.global.v4.b32 [%out+16], {%r1, %r2, %r4, %r5};
         st.global.v2.b32 [%out+32], {%r6, %r8}; st.global.b32 [%out+40], %r7;",
    ),
    border(
        "late-commoning",
        "st.global.b32 [%out], %x1; ld.global.b32 %r1, [%out]; st.global.b16 [%out+2], %h2; ld.global.b32 %r2, [%out];
         setp.lt.s32 %p1, %x1, %x2; @%p1 st.global.b32 [%out], %x2; ld.global.b32 %r3, [%out]; atom.global.exch.b32 %r4, [%out], 5;
         ld.global.b32 %r5, [%out]; st.global.v4.b32 [%out+16], {%r1, %r2, %r3, %r5};",
    ),
    border(
        "algebraic-simplification",
        "ld.global.u8 %r1, [%in]; ld.global.s8 %r2, [%in]; ld.global.u16 %r3, [%in+2]; ld.global.s16 %r4, [%in+2];
         and.b32 %r5, %r1, 255; cvt.s32.s8 %r6, %r1; and.b32 %r7, %r2, 255; cvt.u32.u16 %r8, %h1; shl.b32 %r9, %r3, 16;
         shr.s32 %r10, %r9, 16; shl.b32 %r11, %r4, 24; shr.u32 %r12, %r11, 24; st.global.v4.b32 [%out], {%r5, %r6, %r7, %r10};
         st.global.v2.b32 [%out+16], {%r12, %r8}; add.s64 %rd1, %in, 8; ld.global.b32 %r13, [%rd1+4]; add.s64 %rd2, %rd1, -8;
         ld.global.b32 %r14, [%rd2]; st.global.v2.b32 [%out+24], {%r13, %r14};",
    ),
    fires(
        INLINING,
        "leaf-inlining.calls",
        "{ .param .b32 first; .param .b32 second; .param .b32 back; st.param.b32 [first], %x1; st.param.b32 [second], %x2;
         call (back), pick, (first, second); ld.param.b32 %r1, [back]; } { .param .b32 first; .param .b32 second; .param .b32 back;
         st.param.b32 [first], %r1; st.param.b32 [second], %x1; call (back), rounds, (first, second); ld.param.b32 %r2, [back]; }
         st.global.v2.b32 [%out], {%r1, %r2};",
    )
    .module(FUNCTIONS),
    border(
        INLINING,
        "setp.lt.s32 %p1, %x1, %x2; mov.b32 %r1, 77; @%p1 bra $L1; { .param .b32 first; .param .b32 second; .param .b32 back;
         st.param.b32 [first], %x2; st.param.b32 [second], %x1; call (back), rounds, (first, second); ld.param.b32 %r1, [back]; }
         $L1: and.b32 %r4, %x1, 3; mov.b32 %r3, %x2; $L2: { .param .b32 first; .param .b32 second; .param .b32 back;
         st.param.b32 [first], %r3; st.param.b32 [second], %r1; call (back), pick, (first, second); ld.param.b32 %r3, [back]; }
         add.s32 %r4, %r4, -1; setp.gt.s32 %p2, %r4, 0; @%p2 bra $L2; st.global.v2.b32 [%out], {%r1, %r3};",
    )
    .module(FUNCTIONS),
    fires(
        "remove-unused",
        "remove-unused.functions",
        "ld.global.b32 %r1, [used]; add.s32 %r1, %r1, %x1; { .param .b32 first; .param .b32 second; .param .b32 back;
         st.param.b32 [first], %r1; st.param.b32 [second], %x2; call (back), called, (first, second); ld.param.b32 %r2, [back]; }
         st.global.v2.b32 [%out], {%r1, %r2};",
    )
    .module(
        ".global .b32 unused = 5;\n.global .b32 pointed[2] = {7, 8};\n.global .b64 used = pointed;\n\
         .func (.param .b32 result) dead(.param .b32 x)\n{\n    .reg .b32 %r<3>;\n    ld.param.b32 %r1, [x];\n    \
         st.global.b32 [unused], %r1;\n    ret;\n}\n.func (.param .b32 result) called(.param .b32 x, .param .b32 y)\n{\n    \
         .reg .b32 %r<4>;\n    ld.param.b32 %r1, [x];\n    ld.param.b32 %r2, [y];\n    sub.s32 %r3, %r1, %r2;\n    \
         st.param.b32 [result], %r3;\n    ret;\n}\n",
    ),
    fires(
        SWIZZLE,
        "swizzle-shared.kernels",
        ".shared .align 4 .b8 tile[4096]; mov.u32 %r1, %tid.x; mov.u32 %r2, %tid.y; mov.u32 %r3, tile; shl.b32 %r4, %r2, 7;
         add.s32 %r5, %r3, %r4; shl.b32 %r6, %r1, 2; add.s32 %r7, %r5, %r6; st.shared.b32 [%r7], %x1; st.shared.b32 [%r7+1024], %x2;
         not.b32 %r13, %x1; st.shared.b32 [%r7+2048], %r13; st.shared.b32 [%r7+3072], %r1; bar.sync 0; shl.b32 %r8, %r1, 7;
         add.s32 %r9, %r3, %r8; shl.b32 %r10, %r2, 2; add.s32 %r11, %r9, %r10; ld.shared.b32 %r12, [%r11+32];
         st.global.b32 [%out], %r12;",
    )
    .block([32, 8, 1]),
    border(
        SWIZZLE,
        ".shared .align 4 .b8 tile[4096]; mov.u32 %r1, %tid.x; mov.u32 %r2, %tid.y; mov.u32 %r3, tile; shl.b32 %r4, %r2, 7;
         add.s32 %r5, %r3, %r4; shl.b32 %r6, %r1, 2; add.s32 %r7, %r5, %r6; st.shared.b32 [%r7], %x1; st.shared.b32 [%r7+1024], %x2;
         not.b32 %r13, %x1; st.shared.b32 [%r7+2048], %r13; st.shared.b32 [%r7+3072], %r1; bar.sync 0; shl.b32 %r8, %r1, 7;
         add.s32 %r9, %r3, %r8; shl.b32 %r10, %r2, 2; add.s32 %r11, %r9, %r10; ld.shared.b32 %r12, [%r11+32];
         and.b32 %r14, %x1, 4092; add.s32 %r15, %r3, %r14; ld.shared.b32 %r16, [%r15]; st.global.v2.b32 [%out], {%r12, %r16};",
    )
    .block([32, 8, 1]),
];
