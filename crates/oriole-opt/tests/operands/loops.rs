//! Cases of passes that look at loops.

use crate::harness::{Case, border, fires};

const EXITS: &str = "exit-values";
const DELETION: &str = "loop-deletion";
const INVARIANTS: &str = "loop-invariants";
const UNROLLING: &str = "full-unrolling";
const STEPS: &str = "counters-in-step";
const COUNTERS: &str = "narrow-counters";
const STEPPED: &str = "stepped-addresses";
const NEAR: &str = "near-addresses";
const RANGES: &str = "range-comparisons";
const NARROW: &str = "narrow-comparisons";

/// The cases.
pub const CASES: &[Case] = &[
    fires(
        EXITS,
        "exit-values.counters",
        "and.b32 %r1, %x1, 28; or.b32 %r1, %r1, 4; mov.b32 %r2, 0; mov.b32 %r3, %x2; mov.b32 %r4, 0; $L1: st.global.b32 [%out], %r4;
         add.s32 %r2, %r2, 4; add.s32 %r3, %r3, -8; add.s32 %r4, %r4, 12; add.s32 %r1, %r1, -4; setp.ne.s32 %p1, %r1, 0;
         @%p1 bra $L1; st.global.v2.b32 [%out+8], {%r2, %r3};",
    ),
    border(
        EXITS,
        "and.b32 %r1, %x1, 15; mov.b32 %r2, %x2; mov.b32 %r3, 0; mov.b32 %r4, %x2; $L1: st.global.b32 [%out], %r3;
         add.s32 %r5, %r2, 3; mov.b32 %r4, %r2; mov.b32 %r2, %r5; add.s32 %r3, %r3, 1; setp.lt.s32 %p1, %r3, %r1; @%p1 bra $L1;
         st.global.v2.b32 [%out+8], {%r2, %r4}; mov.b32 %r6, $1; mov.b32 %r7, %x2; $L2: st.global.b32 [%out+4], %r6;
         add.s32 %r6, %r6, 3; add.s32 %r7, %r7, 5; and.b32 %r8, %r6, 31; setp.lt.u32 %p2, %r8, 20; @%p2 bra $L2;
         st.global.b32 [%out+16], %r7;",
    ),
    fires(
        DELETION,
        "loop-deletion.loops",
        "and.b32 %r1, %x1, 63; mov.b32 %r2, 0; $L1: mul.lo.s32 %r3, %r2, %x2; add.s32 %r2, %r2, 1; setp.lt.s32 %p1, %r2, %r1;
         @%p1 bra $L1; st.global.b32 [%out], %x2;",
    ),
    border(
        DELETION,
        "and.b32 %r1, %x1, 63; mov.b32 %r2, 0; $L1: mad.lo.s32 %r3, %r2, %x2, %x1; add.s32 %r2, %r2, 1;
         setp.lt.s32 %p1, %r2, %r1; @%p1 bra $L1; st.global.b32 [%out], %r3; mov.b32 %r4, 0; $L2: add.s32 %r4, %r4, 1;
         setp.eq.s32 %p2, %r4, %r1; @%p2 bra $L3; setp.lt.s32 %p3, %r4, 20; @%p3 bra $L2; mov.b32 %r4, 77; $L3:
         st.global.b32 [%out+4], %r4;",
    ),
    fires(
        INVARIANTS,
        "loop-invariants.instructions",
        "and.b32 %r1, %x1, 7; add.s32 %r1, %r1, 1; or.b32 %r8, %x2, 1; mov.b32 %r2, 0; mov.b32 %r3, 0; $L1: div.s32 %r4, %x1, %r8;
         xor.b32 %r5, %r4, %r2; add.s32 %r3, %r3, %r5; add.s32 %r2, %r2, 1; setp.lt.s32 %p1, %r2, %r1; @%p1 bra $L1;
         st.global.b32 [%out], %r3;",
    ),
    border(
        INVARIANTS,
        "and.b32 %r1, %x1, 7; mov.b32 %r2, 0; mov.b32 %r3, 0; mov.b32 %r7, %x2; or.b32 %r8, %x1, 1; setp.eq.s32 %p2, %r1, 0;
         @%p2 bra $L2; $L1: or.b32 %r6, %r7, 1; div.u32 %r4, %x1, %r6; rem.s32 %r5, %x2, %r8; xor.b32 %r5, %r4, %r5;
         add.s32 %r3, %r3, %r5; add.s32 %r7, %r7, 2; add.s32 %r2, %r2, 1; setp.lt.s32 %p1, %r2, %r1; @%p1 bra $L1; $L2:
         st.global.v2.b32 [%out], {%r3, %r7};",
    ),
    fires(
        UNROLLING,
        "full-unrolling.loops",
        "mov.b32 %r1, 0; mov.b32 %r2, %x1; $L1: mad.lo.s32 %r2, %r2, %x2, %r1; add.s32 %r1, %r1, 1; setp.lt.u32 %p1, %r1, 3;
         @%p1 bra $L1; st.global.v2.b32 [%out], {%r1, %r2};",
    ),
    fires(
        UNROLLING,
        "full-unrolling.loops",
        "mov.b32 %r1, 16; mov.b32 %r2, %x1; $L1: setp.eq.u32 %p1, %r1, 2; @%p1 bra $L3; setp.gt.s32 %p2, %r2, %r1; @%p2 bra $L2;
         sub.s32 %r2, %x2, %r2; $L2: shr.u32 %r1, %r1, 1; add.s32 %r2, %r2, %r1; bra $L1; $L3:
         st.global.v2.b32 [%out], {%r1, %r2};",
    ),
    border(
        UNROLLING,
        "mov.b32 %r1, $1; mov.b32 %r2, %x1; mov.b32 %r3, 0; $L1: add.s32 %r3, %r3, 1; mad.lo.s32 %r2, %r2, %x2, %r1;
         setp.ge.u32 %p2, %r3, 9; @%p2 bra $L2; add.s32 %r1, %r1, 5; setp.lt.s32 %p1, %r1, 8; @%p1 bra $L1; $L2:
         st.global.v4.b32 [%out], {%r1, %r2, %r3, %x1};",
    ),
    fires(
        "short-loops",
        "short-loops.loops",
        "setp.eq.u32 %p1, %x1, 7; selp.b32 %r2, 1, 3, %p1; mov.b32 %r3, 0; mov.b32 %r4, %x2; $L1: mul.lo.s32 %r4, %r4, %x1;
         st.global.b32 [%out], %r4; add.s32 %r3, %r3, 1; setp.lt.u32 %p2, %r3, %r2; @%p2 bra $L1; st.global.b32 [%out+4], %r3;",
    ),
    fires(
        STEPS,
        "counters-in-step.tests",
        "and.b32 %r1, %x1, 31; or.b32 %r1, %r1, 1; mov.b32 %r2, %x2; $L1: st.global.b32 [%out], %r2; add.s32 %r3, %r3, %r2;
         add.s32 %r1, %r1, -1; add.s32 %r2, %r2, 8; setp.ne.s32 %p1, %r1, 0; @%p1 bra $L1; st.global.b32 [%out+4], %r2;",
    ),
    border(
        STEPS,
        "and.b32 %r1, %x1, 31; add.s32 %r1, %r1, 1; mov.b32 %r2, %x2; mov.b32 %r4, 0; $L1: add.s32 %r4, %r4, %r2;
         add.s32 %r1, %r1, -1; add.s32 %r2, %r2, $1; setp.ne.s32 %p1, %r1, 0; @%p1 bra $L1; st.global.b32 [%out+4], %r4;
         and.b32 %r5, %x1, 15; mov.b32 %r6, %x2; mov.b32 %r7, 0; $L2: add.s32 %r7, %r7, %r6; add.s32 %r5, %r5, -1;
         add.s32 %r6, %r6, $1; setp.gt.s32 %p2, %r5, 0; @%p2 bra $L2; st.global.b32 [%out+8], %r7;",
    ),
    fires(
        COUNTERS,
        "narrow-counters.counters",
        "mov.b64 %rd1, 0; cvt.u64.u32 %rd2, %x2; mov.b64 %rd8, %rd2; and.b32 %r7, %x1, 15; $L1: add.s64 %rd1, %rd1, -4294967295;
         mul.lo.s64 %rd3, %rd8, %rd1; shl.b64 %rd8, %rd3, 1; cvt.u32.u64 %r1, %rd1; cvt.u32.u64 %r2, %rd3;
         st.global.v2.b32 [%out], {%r1, %r2}; setp.lt.u32 %p1, %r1, %r7; @%p1 bra $L1;",
    ),
    border(
        COUNTERS,
        "cvt.u64.u32 %rd1, %x1; mov.b64 %rd2, $1; and.b32 %r7, %x2, 15; mov.b32 %r8, 0; mov.b64 %rd5, 0;
         $L1: add.s64 %rd1, %rd1, %rd2; shr.u64 %rd3, %rd1, 1; cvt.u32.u64 %r1, %rd3; xor.b64 %rd5, %rd5, %rd1;
         cvt.u32.u64 %r2, %rd5; st.global.v2.b32 [%out], {%r1, %r2}; add.s32 %r8, %r8, 1; setp.lt.u32 %p1, %r8, %r7; @%p1 bra $L1;
         st.global.b64 [%out+8], %rd5;",
    )
    .constants(&[1, 0xFFFF_FFFF, 0x1_0000_0000, 0xFFFF_FFFF_0000_0001]),
    border(
        COUNTERS,
        "cvt.u64.u32 %rd1, %x1; mov.b64 %rd2, $1; and.b32 %r7, %x2, 15; mov.b32 %r8, 0; $L1: add.s64 %rd1, %rd1, %rd2;
         shr.u64 %rd1, %rd1, 1; cvt.u32.u64 %r1, %rd1; st.global.b32 [%out], %r1; add.s32 %r8, %r8, 1;
         setp.lt.u32 %p1, %r8, %r7; @%p1 bra $L1; cvt.s64.s32 %rd3, %x2; mov.b32 %r9, 0; $L2: mul.hi.s64 %rd4, %rd3, %rd2;
         add.s64 %rd3, %rd4, %rd2; cvt.u32.u64 %r2, %rd3; st.global.b32 [%out+4], %r2; add.s32 %r9, %r9, 1;
         setp.lt.u32 %p2, %r9, %r7; @%p2 bra $L2;",
    )
    .constants(&[1, 0xFFFF_FFFF, 0x1_0000_0000, 0xFFFF_FFFF_0000_0001]),
    fires(
        STEPPED,
        "stepped-addresses.pointers",
        "and.b32 %r1, %x1, 63; add.s32 %r1, %r1, 1; and.b32 %r5, %x2, 3; cvt.s64.s32 %rd9, %r5; mov.b32 %r2, 0; mov.b32 %r3, 0;
         ld.param.u64 %rd8, [in]; $L1: cvt.s64.s32 %rd1, %r2; mul.lo.s64 %rd2, %rd1, %rd9; shl.b64 %rd3, %rd2, 2;
         add.s64 %rd4, %rd8, %rd3; ld.global.b32 %r4, [%rd4]; mad.lo.s32 %r3, %r3, 5, %r4; add.s32 %r2, %r2, 1;
         setp.lt.s32 %p1, %r2, %r1; @%p1 bra $L1; st.global.v2.b32 [%out], {%r2, %r3};",
    ),
    border(
        STEPPED,
        "and.b32 %r1, %x1, 3; add.s32 %r1, %r1, 1; mov.b32 %r2, -2; mov.b32 %r3, 0; mov.b32 %r7, 0; $L1: and.b32 %r5, %r2, 3;
         mul.wide.u32 %rd1, %r5, 4; add.s64 %rd2, %in, %rd1; ld.global.b32 %r4, [%rd2]; mad.lo.s32 %r3, %r3, 5, %r4;
         add.s32 %r2, %r2, 1; add.s32 %r7, %r7, 1; setp.lt.s32 %p1, %r7, %r1; @%p1 bra $L1; mov.b32 %r8, -4; mov.b32 %r9, 0;
         $L2: shl.b32 %r10, %r8, 2; cvt.u64.u32 %rd3, %r10; add.s64 %rd4, %in, %rd3; add.s64 %rd4, %rd4, -4294967280;
         ld.global.b32 %r11, [%rd4]; mad.lo.s32 %r9, %r9, 7, %r11; add.s32 %r8, %r8, 1; setp.ne.s32 %p2, %r8, 0; @%p2 bra $L2;
         st.global.v2.b32 [%out], {%r3, %r9};",
    ),
    fires(
        NEAR,
        "near-addresses.addresses",
        "and.b32 %r1, %x1, 3; mul.wide.u32 %rd1, %r1, 4; add.s64 %rd2, %in, %rd1; ld.global.b32 %r2, [%rd2]; add.s32 %r3, %r1, 1;
         mul.wide.u32 %rd3, %r3, 4; add.s64 %rd4, %in, %rd3; ld.global.b32 %r4, [%rd4]; st.global.v2.b32 [%out], {%r2, %r4};",
    ),
    border(
        NEAR,
        "mul.wide.u32 %rd1, %x1, 4; add.s64 %rd2, %in, %rd1; add.s32 %r3, %x1, 1; mul.wide.u32 %rd3, %r3, 4;
         add.s64 %rd4, %in, %rd3; sub.s64 %rd5, %rd4, %rd2; mul.wide.s32 %rd6, %x1, 4; add.s64 %rd7, %in, %rd6;
         mul.wide.s32 %rd8, %r3, 4; add.s64 %rd9, %in, %rd8; sub.s64 %rd10, %rd9, %rd7; st.global.v2.b64 [%out], {%rd5, %rd10};
         or.b32 %r5, %x1, 3; mul.wide.u32 %rd11, %r5, 4; add.s64 %rd12, %in, %rd11; sub.s64 %rd13, %rd12, %rd2;
         st.global.b64 [%out+16], %rd13; and.b32 %r6, %x2, 7; mul.wide.u32 %rd14, %r6, 4; add.s64 %rd15, %in, %rd14;
         ld.global.b32 %r7, [%rd15]; add.s32 %r8, %r6, -1; and.b32 %r9, %r8, 7; mul.wide.u32 %rd16, %r9, 4;
         add.s64 %rd17, %in, %rd16; ld.global.b32 %r10, [%rd17]; st.global.v2.b32 [%out+24], {%r7, %r10};",
    ),
    fires(
        RANGES,
        "range-comparisons.comparisons",
        "mov.b32 %r1, 0; mov.b32 %r2, 0; $L1: setp.lt.u32 %p1, %r1, 13; setp.lt.u32 %p2, %r1, 12; setp.eq.s32 %p3, %r1, %x1;
         selp.b32 %r3, 1, 2, %p1; selp.b32 %r4, 4, 8, %p2; selp.b32 %r5, 16, 32, %p3; add.s32 %r2, %r2, %r3;
         mad.lo.s32 %r2, %r2, 3, %r4; add.s32 %r2, %r2, %r5; add.s32 %r1, %r1, 1; setp.ne.s32 %p4, %r1, 13; @%p4 bra $L1;
         setp.eq.s32 %p5, %r1, 13; selp.b32 %r6, 1, 2, %p5; st.global.v2.b32 [%out], {%r2, %r6};",
    ),
    border(
        RANGES,
        "mov.b32 %r1, $1; mov.b32 %r2, 0; mov.b32 %r7, 0; and.b32 %r8, %x1, 15; $L1: setp.ge.s32 %p1, %r1, $1;
         setp.ge.u32 %p2, %r1, $1; setp.lt.s32 %p3, %r7, %r8; selp.b32 %r3, 1, 2, %p1; selp.b32 %r4, 4, 8, %p2;
         selp.b32 %r5, 16, 32, %p3; add.s32 %r2, %r2, %r3; mad.lo.s32 %r2, %r2, 3, %r4; add.s32 %r2, %r2, %r5;
         add.s32 %r1, %r1, 3; add.s32 %r7, %r7, 1; setp.le.s32 %p4, %r7, %r8; @%p4 bra $L1; setp.gt.s32 %p5, %r7, %r8;
         selp.b32 %r6, 1, 2, %p5; st.global.v2.b32 [%out], {%r2, %r6};",
    ),
    fires(
        NARROW,
        "narrow-comparisons.comparisons",
        "and.b32 %r1, %x1, 15; cvt.u64.u32 %rd1, %r1; mov.b64 %rd2, 0; mov.b32 %r2, %x2; $L1: mul.lo.s32 %r2, %r2, 5;
         add.s64 %rd2, %rd2, 1; setp.lt.s64 %p1, %rd2, %rd1; @%p1 bra $L1; st.global.b32 [%out], %r2;
         st.global.b64 [%out+8], %rd2;",
    ),
    border(
        NARROW,
        "setp.lt.s32 %p1, %x1, %x2; selp.b64 %rd1, 0, 0x40000000, %p1; mov.b64 %rd2, 0; mov.b32 %r1, 0; mov.b32 %r2, 0; $L1:
         setp.eq.s64 %p2, %rd2, %rd1; selp.b32 %r3, 1, 2, %p2; mad.lo.s32 %r2, %r2, 3, %r3; add.s64 %rd2, %rd2, 0x40000000;
         add.s32 %r1, %r1, 1; setp.lt.u32 %p3, %r1, $1; @%p3 bra $L1; st.global.b32 [%out], %r2;",
    )
    .constants(&[2, 3, 4, 5, 9]),
    border(
        NARROW,
        "mov.b64 %rd1, $1; cvt.s64.s32 %rd2, %x1; add.s64 %rd3, %rd2, %rd1; mov.b32 %r2, 0; mov.b64 %rd4, %rd2; mov.b32 %r5, 0;
         $L1: add.s32 %r2, %r2, 1; add.s64 %rd4, %rd4, %rd1; setp.lt.s64 %p1, %rd4, %rd3; setp.lt.u64 %p2, %rd4, %rd1;
         selp.b32 %r3, 1, 2, %p1; selp.b32 %r4, 4, 8, %p2; mad.lo.s32 %r5, %r5, 3, %r3; add.s32 %r5, %r5, %r4;
         setp.lt.u32 %p3, %r2, 5; @%p3 bra $L1; st.global.v2.b32 [%out], {%r2, %r5};",
    )
    .constants(&[1, 0x7FFF_FFFF, 0x8000_0000, 0xFFFF_FFFF, 0x1_0000_0000, 0xFFFF_FFFF_FFFF_FFFF]),
];
