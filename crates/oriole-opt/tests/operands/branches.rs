//! Cases of passes that look at branches.

use crate::harness::{Case, border, fires};

const BRANCHES: &str = "branch-simplification";
const HOISTING: &str = "speculative-hoist";
const MERGING: &str = "tail-merging";
const NUMBERING: &str = "gvn-cse";
const PREDICATION: &str = "predication";

/// The cases.
pub const CASES: &[Case] = &[
    fires(
        BRANCHES,
        "branch-simplification.branches",
        "setp.lt.s32 %p1, %x1, %x2; mov.b32 %r1, 1; @%p1 bra $L2; bra $L1; $L1: bra $L2; $L2: @!%p1 bra $L3; mov.b32 %r1, 2;
         bra $L4; $L3: mov.b32 %r1, 3; bra $L4; $L4: st.global.b32 [%out], %r1;",
    ),
    border(
        BRANCHES,
        "setp.lt.s32 %p1, %x1, %x2; setp.lt.u32 %p2, %x1, %x2; mov.b32 %r1, %x1; mov.b32 %r2, 0; @%p1 bra $L1; bra $L2;
         $L1: mov.b32 %r1, %x2; @%p2 bra $L3; $L2: add.s32 %r2, %r2, 1; $L3: @!%p2 bra $L4; @%p1 bra $L4;
         add.s32 %r2, %r2, 2; $L4: st.global.v2.b32 [%out], {%r1, %r2};",
    ),
    fires(
        "algebraic-simplification",
        "algebraic-simplification.inverted-comparison",
        "setp.lt.s32 %p1, %x1, %x2; mov.b32 %r1, 1; @!%p1 bra $L1; mov.b32 %r1, 2; $L1: setp.hi.u32 %p2, %x1, $1;
         @!%p2 bra $L2; add.s32 %r1, %r1, 4; $L2: mov.b32 %f1, %x1; mov.b32 %f2, %x2; setp.lt.f32 %p3, %f1, %f2;
         @!%p3 bra $L3; add.s32 %r1, %r1, 8; $L3: setp.num.f32 %p4, %f1, %f2; @!%p4 bra $L4; add.s32 %r1, %r1, 16;
         $L4: setp.equ.f32 %p5, %f1, %f2; @!%p5 bra $L5; add.s32 %r1, %r1, 32; $L5: st.global.b32 [%out], %r1;",
    ),
    border(
        "algebraic-simplification",
        "setp.lt.s32 %p1, %x1, %x2; selp.b32 %r1, 1, 2, %p1; @!%p1 bra $L1; add.s32 %r1, %r1, 4;
         $L1: setp.ge.u32 %p2, %x1, $1; setp.lt.and.s32 %p3, %x1, %x2, %p2; @!%p3 bra $L2; add.s32 %r1, %r1, 8;
         $L2: setp.lt.s32 %p4|%p5, %x1, $2; @!%p4 bra $L3; add.s32 %r1, %r1, 16; $L3: @!%p5 bra $L4; add.s32 %r1, %r1, 32;
         $L4: st.global.b32 [%out], %r1;",
    ),
    border(
        BRANCHES,
        "and.b32 %r9, %x1, 3; mov.b32 %r1, 5; $LIST: .branchtargets $A, $B, $B, $C; brx.idx %r9, $LIST; $A: mov.b32 %r1, 6;
         bra $D; $B: bra $D; $C: mov.b32 %r1, 7; $D: st.global.b32 [%out], %r1;",
    ),
    fires(
        "constant-folding",
        "constant-folding.branches",
        "mov.b32 %r1, $1; mov.b32 %r2, $2; setp.lt.s32 %p1, %r1, %r2; setp.lt.u32 %p2, %r1, %r2; mov.b32 %r3, %x1;
         @%p1 bra $L1; add.s32 %r3, %r3, 1; $L1: @!%p2 bra $L2; mul.lo.s32 %r3, %r3, 5; $L2: st.global.b32 [%out], %r3;",
    ),
    fires(
        "range-comparisons",
        "range-comparisons.comparisons",
        "setp.lt.s32 %p1, %x1, %x2; mov.b32 %r1, 0; @!%p1 bra $L1; setp.ge.s32 %p2, %x1, %x2; setp.ne.s32 %p3, %x2, %x1;
         setp.lt.u32 %p4, %x1, %x2; selp.b32 %r2, 1, 2, %p2; selp.b32 %r3, 4, 8, %p3; selp.b32 %r4, 16, 32, %p4;
         or.b32 %r1, %r2, %r3; or.b32 %r1, %r1, %r4; $L1: setp.gt.s32 %p5, %x2, %x1; selp.b32 %r5, 64, 128, %p5;
         st.global.v2.b32 [%out], {%r1, %r5};",
    ),
    border(
        "range-comparisons",
        "setp.gt.u32 %p1, %x1, $1; mov.b32 %r1, 0; mov.b32 %r8, %x1; @%p1 bra $L1; add.s32 %r2, %x1, 1;
         setp.le.u32 %p2, %r2, $1; setp.lt.s32 %p3, %x1, 0; setp.eq.u32 %p4, %x1, $1; selp.b32 %r3, 1, 2, %p2;
         selp.b32 %r4, 4, 8, %p3; selp.b32 %r5, 16, 32, %p4; or.b32 %r1, %r3, %r4; or.b32 %r1, %r1, %r5;
         and.b32 %r8, %x1, $2; $L1: setp.le.u32 %p5, %r8, $1; setp.lt.s32 %p6, %r8, 0; selp.b32 %r6, 1, 2, %p5;
         selp.b32 %r7, 1, 2, %p6; st.global.b32 [%out], %r1; st.global.v2.b32 [%out+8], {%r6, %r7};",
    ),
    fires(
        HOISTING,
        "speculative-hoist.instructions",
        "setp.lt.s32 %p1, %x1, %x2; @%p1 bra $L1; mul.lo.s32 %r1, %x1, %x2; sub.s32 %r2, %r1, %x1;
         st.global.b32 [%out], %r2; bra $L2; $L1: mul.lo.s32 %r3, %x1, %x2; sub.s32 %r4, %r3, %x2;
         st.global.b32 [%out+4], %r4; $L2:",
    ),
    border(
        HOISTING,
        "setp.lt.s32 %p1, %x1, %x2; setp.eq.s32 %p2, %x2, 0; mov.b32 %r1, %x1; @%p1 bra $L1; mul.hi.s32 %r1, %x1, %x2;
         add.s32 %r2, %r1, 1; bra $L2; $L1: mul.hi.u32 %r2, %x1, %x2; @%p2 bra $L2; div.s32 %r1, %x1, %x2;
         min.s32 %r2, %r1, 7; $L2: st.global.v2.b32 [%out], {%r1, %r2};",
    ),
    fires(
        MERGING,
        "tail-merging.instructions",
        "setp.lt.u32 %p1, %x1, %x2; @%p1 bra $L1; sub.s32 %r1, %x1, %x2; mul.lo.s32 %r2, %r1, %x1; popc.b32 %r3, %r2;
         st.global.b32 [%out], %r3; bra $L2; $L1: xor.b32 %r1, %x1, %x2; mul.lo.s32 %r2, %r1, %x1; popc.b32 %r3, %r2;
         st.global.b32 [%out], %r3; $L2: st.global.b32 [%out+8], %r1;",
    ),
    border(
        MERGING,
        "setp.lt.u32 %p1, %x1, %x2; @%p1 bra $L1; sub.s32 %r1, %x1, %x2; shr.s32 %r2, %r1, 3; st.global.b32 [%out], %r2;
         st.global.b32 [%out+4], %r1; bra $L2; $L1: sub.s32 %r1, %x2, %x1; shr.u32 %r2, %r1, 3; st.global.b32 [%out], %r2;
         st.global.b32 [%out+8], %r1; $L2: st.global.b32 [%out+12], %r2;",
    ),
    border(
        MERGING,
        "setp.lt.u32 %p1, %x1, %x2; @%p1 bra $L1; sub.s32 %r1, %x1, %x2; add.s32 %r2, %r1, 3; popc.b32 %r3, %r2;
         st.global.b32 [%out], %r3; bra $L2; $L1: xor.b32 %r1, %x1, %x2; add.s32 %r2, %r1, 4; popc.b32 %r3, %r2;
         st.global.b32 [%out], %r3; $L2: setp.lt.s32 %p2, %x1, %x2; @%p2 bra $L3; sub.s32 %r4, %x1, %x2;
         st.global.v2.b32 [%out+8], {%r4, %x1}; bra $L4; $L3: xor.b32 %r4, %x1, %x2; st.global.v2.b32 [%out+8], {%x1, %r4}; $L4:",
    ),
    fires(
        NUMBERING,
        "gvn-cse.partial",
        "setp.lt.u32 %p1, %x1, %x2; and.b32 %r1, %x1, 3; @%p1 bra $L1; mul.wide.u32 %rd1, %r1, 12; add.s64 %rd2, %out, %rd1;
         st.global.b32 [%rd2], %x1; bra.uni $L2; $L1: mul.wide.u32 %rd3, %r1, 12; add.s64 %rd4, %out, %rd3;
         st.global.b32 [%rd4+8], %x2; $L2: mul.wide.u32 %rd5, %r1, 12; add.s64 %rd6, %out, %rd5;
         st.global.b32 [%rd6+4], %x1;",
    ),
    fires(
        NUMBERING,
        "gvn-cse.hoisted",
        "setp.lt.s32 %p1, %x1, %x2; mov.b32 %r5, %x1; mov.b32 %f1, %x1; mov.b32 %f2, %x2; mov.b32 %f5, %x1; @%p1 bra $L1;
         fma.rn.f32 %f3, %f1, %f2, %f1; sqrt.rn.f32 %f4, %f3; st.global.f32 [%out], %f4; mov.b32 %f5, %f4; $L1:
         fma.rn.f32 %f6, %f2, %f1, %f1; sqrt.rn.f32 %f7, %f6; mul.rn.f32 %f8, %f5, %f1; st.global.v2.f32 [%out+8], {%f7, %f8};",
    ),
    border(
        NUMBERING,
        "setp.lt.s32 %p1, %x1, %x2; mov.b32 %r1, %x1; mul.lo.s32 %r2, %x1, 5; @%p1 bra $L1; add.s32 %r1, %x1, 1;
         mul.lo.s32 %r2, %r1, 5; $L1: mul.lo.s32 %r3, %r1, 5; mul.lo.s32 %r4, %x1, 5; @!%p1 bra $L2; ld.global.b32 %r5, [%in+16];
         bra $L3; $L2: st.global.b32 [%out], %x2; ld.global.b32 %r5, [%out]; $L3: ld.global.b32 %r6, [%out];
         st.global.v4.b32 [%out+16], {%r2, %r3, %r4, %r5}; st.global.b32 [%out+4], %r6;",
    ),
    fires(
        PREDICATION,
        "predication.branches",
        "setp.lt.s32 %p1, %x1, %x2; mov.b32 %r1, 7; @%p1 bra $L1; add.s32 %r2, %x1, 1; mul.lo.s32 %r1, %r2, 3; $L1:
         setp.gt.u32 %p2, %x1, 9; @%p2 bra $L2; sub.s32 %r3, %x1, %x2; bra.uni $L3; $L2: xor.b32 %r3, %x1, 5; $L3:
         st.global.v2.b32 [%out], {%r1, %r3};",
    ),
    fires(
        PREDICATION,
        "predication.branches",
        "setp.lt.s32 %p1, %x1, %x2; add.s32 %r1, %x1, 3; mul.lo.s32 %r2, %x2, 5; mov.b32 %r3, %r1; @!%p1 bra $L1;
         mov.b32 %r3, %r2; $L1: mov.b32 %r4, %r2; @%p1 bra $L2; mov.b32 %r4, %x1; bra $L3; $L2: mov.b32 %r4, %x2; $L3:
         st.global.v4.b32 [%out], {%r1, %r2, %r3, %r4};",
    )
    .earlier(&["copy-propagation", "dead-code"]),
    border(
        PREDICATION,
        "setp.lt.s32 %p1, %x1, %x2; mov.b32 %r1, %x1; mov.b32 %r2, %x2; @%p1 bra $L1; mov.b32 %r3, %r1; mov.b32 %r1, %r2;
         mov.b32 %r2, %r3; setp.gt.s32 %p1, %r1, 5; $L1: selp.b32 %r4, 1, 2, %p1; setp.eq.s32 %p2, %x2, 0; @%p2 bra $L2;
         div.u32 %r4, %x1, %x2; $L2: setp.lt.u32 %p3, %x1, 16; @%p3 bra $L3; st.global.b32 [%out+16], %r4; $L3:
         st.global.b32 [%out], %r1; st.global.v2.b32 [%out+8], {%r2, %r4};",
    ),
    fires(
        "copy-propagation",
        "copy-propagation.parameters",
        "setp.lt.s32 %p1, %x1, %x2; mov.b32 %r1, %x1; @%p1 bra $L1; mov.b32 %r1, %x1; st.global.b32 [%out+8], %x2; $L1:
         sub.s32 %r2, %r1, %x2; st.global.b32 [%out], %r2;",
    ),
    border(
        "copy-propagation",
        "mov.b32 %r1, %x1; mov.b32 %r2, %x2; and.b32 %r3, %x1, 7; $L1: mov.b32 %r4, %r1; mov.b32 %r1, %r2; mov.b32 %r2, %r4;
         add.s32 %r3, %r3, -1; setp.gt.s32 %p1, %r3, 0; @%p1 bra $L1; st.global.v2.b32 [%out], {%r1, %r4};
         st.global.b32 [%out+8], %r2;",
    ),
    border(
        "back-copy-propagation",
        "mov.b32 %r1, %x1; and.b32 %r3, %x1, 7; $L1: add.s32 %r4, %r1, %x2; st.global.b32 [%out], %r1; mov.b32 %r5, %r1;
         mov.b32 %r1, %r4; add.s32 %r3, %r3, -1; setp.gt.s32 %p1, %r3, 0; @%p1 bra $L1; st.global.v2.b32 [%out+8], {%r1, %r5};",
    ),
    fires(
        "late-commoning",
        "late-commoning.instructions",
        "setp.lt.s32 %p1, %x1, %x2; mul.hi.s32 %r1, %x1, %x2; mov.b32 %r2, 0; @%p1 bra $L1; mul.hi.s32 %r2, %x1, %x2;
         add.s32 %r2, %r2, 1; mul.hi.u32 %r3, %x1, %x2; st.global.b32 [%out+8], %r3; $L1: mul.hi.u32 %r4, %x1, %x2;
         st.global.v2.b32 [%out], {%r1, %r2}; st.global.b32 [%out+12], %r4;",
    ),
];
