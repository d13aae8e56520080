//! Cases of passes that look at straight code.

use crate::harness::{Case, border, fires};

const ALGEBRA: &str = "algebraic-simplification";
const FOLDING: &str = "constant-folding";
const DIVISION: &str = "division-by-constants";
const REASSOCIATION: &str = "reassociate-and-common";
const COMMONING: &str = "late-commoning";
const NUMBERING: &str = "gvn-cse";
const COPIES: &str = "copy-propagation";
const BACK: &str = "back-copy-propagation";
const RANGES: &str = "range-comparisons";
const NARROW: &str = "narrow-comparisons";

/// Widths of integer registers.
const ALL: &[u32] = &[16, 32, 64];

/// The cases.
pub const CASES: &[Case] = &[
    fires(
        ALGEBRA,
        "algebraic-simplification.constant-chain",
        "and.b$w %x3, %x1, $1; and.b$w %x4, %x3, $2; st.global.b$w [%out], %x4;",
    )
    .widths(ALL),
    border(
        ALGEBRA,
        "and.b$w %x3, %x1, $1; sub.s$w %x4, %x1, %x3; sub.s$w %x5, %x3, %x1; st.global.b$w [%out], %x4;
         st.global.b$w [%out+8], %x5;",
    )
    .widths(ALL),
    border(
        ALGEBRA,
        "shl.b32 %r1, %x1, $1; shr.u32 %r2, %r1, $1; shr.s32 %r3, %r1, $1; shr.u32 %r4, %x1, $2; shl.b32 %r5, %r4, $2;
         st.global.v4.b32 [%out], {%r1, %r2, %r3, %r5};",
    )
    .constants(&[0, 1, 7, 31, 32, 33, 64, 255]),
    border(
        ALGEBRA,
        "div.u32 %r1, %x1, $1; mul.lo.s32 %r2, %r1, $1; sub.s32 %r3, %x1, %r2; rem.s32 %r4, %x1, $1; div.s32 %r5, %x1, $1;
         st.global.v4.b32 [%out], {%r2, %r3, %r4, %r5};",
    )
    .constants(&[1, 2, 3, 8, 0x7FFF_FFFF, 0x8000_0000, 0xFFFF_FFFF]),
    border(
        ALGEBRA,
        "mov.b32 %f1, %x1; mov.b32 %f2, %x2; add.rn.f32 %f3, %f1, 0f00000000; sub.rn.f32 %f4, %f1, %f1;
         mul.rn.f32 %f5, %f1, 0f3F800000; mul.rn.f32 %f6, %f1, 0f00000000; neg.f32 %f7, %f1; add.rn.f32 %f8, %f7, %f1;
         add.rn.f32 %f9, %f1, 0f80000000; st.global.v4.f32 [%out], {%f3, %f4, %f5, %f6};
         st.global.v2.f32 [%out+16], {%f8, %f9}; min.f32 %f10, %f1, %f1; max.f32 %f11, %f1, %f2;
         setp.eq.f32 %p1, %f1, %f1; selp.b32 %r1, 1, 2, %p1; st.global.v2.f32 [%out+24], {%f10, %f11};
         st.global.b32 [%out+32], %r1;",
    ),
    border(
        ALGEBRA,
        "setp.lt.s$w %p1, %x1, $1; setp.lt.u$w %p2, %x1, $2; and.pred %p3, %p1, %p2; setp.ge.s$w %p4, %x1, $2;
         or.pred %p5, %p4, %p1; selp.b32 %r1, 1, 0, %p3; selp.b32 %r2, 1, 0, %p5; add.s$w %x3, %x1, 1;
         setp.gt.s$w %p6, %x3, %x1; selp.b32 %r3, 1, 0, %p6; st.global.v2.b32 [%out], {%r1, %r2}; st.global.b32 [%out+8], %r3;",
    )
    .widths(ALL),
    border(
        ALGEBRA,
        "cvt.s64.s32 %rd1, %x1; add.s64 %rd2, %rd1, $1; cvt.u32.u64 %r1, %rd2; add.s32 %r2, %x1, $1; cvt.s64.s32 %rd3, %r2;
         cvt.u64.u32 %rd4, %r2; mul.wide.s32 %rd5, %r2, 4; st.global.b32 [%out], %r1; st.global.b64 [%out+8], %rd3;
         st.global.b64 [%out+16], %rd4; st.global.b64 [%out+24], %rd5;",
    ),
    fires(
        FOLDING,
        "constant-folding.instructions",
        "mov.b$w %x3, $1; add.s$w %x4, %x3, $2; min.s$w %x5, %x4, $2; max.u$w %x6, %x3, $2; st.global.b$w [%out], %x4;
         st.global.b$w [%out+8], %x5; st.global.b$w [%out+16], %x6; xor.b$w %x7, %x6, %x1; st.global.b$w [%out+24], %x7;",
    )
    .widths(ALL),
    border(
        FOLDING,
        "mov.b32 %r1, $1; mov.b32 %r2, $2; shl.b32 %r3, %r1, %r2; shr.s32 %r4, %r1, %r2; shr.u32 %r5, %r1, %r2;
         bfe.s32 %r6, %r1, %r2, 7; st.global.v4.b32 [%out], {%r3, %r4, %r5, %r6}; mul.hi.s32 %r7, %r1, %r2;
         mul.hi.u32 %r8, %r1, %r2; add.sat.s32 %r9, %r1, %r2; sub.sat.s32 %r10, %r1, %r2;
         st.global.v4.b32 [%out+16], {%r7, %r8, %r9, %r10};",
    ),
    border(
        FOLDING,
        "mov.f32 %f1, 0f80000000; add.rn.f32 %f2, %f1, 0f00000000; add.rn.f32 %f3, %f1, %f1; mov.f32 %f4, 0f7F800000;
         sub.rn.f32 %f5, %f4, %f4; mul.rn.f32 %f6, %f4, %f1; st.global.v4.f32 [%out], {%f2, %f3, %f5, %f6};
         setp.eq.f32 %p1, %f1, 0f00000000; setp.ltu.f32 %p2, %f5, %f5; selp.b32 %r1, 1, 0, %p1; selp.b32 %r2, 1, 0, %p2;
         st.global.v2.b32 [%out+16], {%r1, %r2}; max.f32 %f7, %f1, 0f00000000; min.f32 %f8, %f5, 0f3F800000;
         st.global.v2.f32 [%out+24], {%f7, %f8};",
    ),
    fires(
        FOLDING,
        "constant-folding.guards",
        "mov.b32 %r1, $1; setp.lt.s32 %p1, %r1, 0; setp.lt.u32 %p2, %r1, 8; mov.b32 %r2, %x1; @%p1 mov.b32 %r2, %x2;
         @!%p2 add.s32 %r2, %r2, %x2; st.global.b32 [%out], %r2;",
    ),
    fires(
        DIVISION,
        "division-by-constants.instructions",
        "div.u$w %x3, %x1, $1; rem.u$w %x4, %x1, $1; st.global.b$w [%out], %x3; st.global.b$w [%out+8], %x4;",
    )
    .widths(&[32, 64])
    .constants(&[1, 2, 3, 5, 7, 10, 255, 641, 0x7FFF, 0x8000, 0xFFFE, 0xFFFF]),
    fires(
        DIVISION,
        "division-by-constants.instructions",
        "div.s$w %x3, %x1, $1; rem.s$w %x4, %x1, $1; st.global.b$w [%out], %x3; st.global.b$w [%out+8], %x4;",
    )
    .widths(&[32, 64])
    .constants(&[1, 2, 3, 5, 7, 10, 255, 641, 0x7FFF]),
    border(
        DIVISION,
        "div.s$w %x3, %x1, -$1; rem.s$w %x4, %x1, -$1; st.global.b$w [%out], %x3; st.global.b$w [%out+8], %x4;",
    )
    .widths(ALL)
    .constants(&[1, 2, 3, 8, 10, 0x7FFF, 0x8000]),
    border(
        DIVISION,
        "div.u32 %r1, %x1, $1; rem.s32 %r2, %x1, $1; div.s32 %r3, %x1, $1; st.global.b32 [%out], %r1;
         st.global.v2.b32 [%out+8], {%r2, %r3};",
    )
    .constants(&[0x7FFF_FFFF, 0x8000_0000, 0x8000_0001, 0xFFFF_FFFE, 0xFFFF_FFFF, 0xAAAA_AAAB]),
    fires(
        DIVISION,
        "division-by-constants.scalings",
        "mov.b32 %f1, %x1; div.rn.f32 %f2, %f1, 0f40800000; div.rn.ftz.f32 %f3, %f1, 0f7E800000;
         div.rn.f32 %f4, %f1, 0f7F000000; div.rn.f32 %f5, %f1, 0f00800000; div.rz.f32 %f6, %f1, 0fBF000000;
         st.global.v4.f32 [%out], {%f2, %f3, %f4, %f5}; st.global.f32 [%out+16], %f6;",
    ),
    fires(
        REASSOCIATION,
        "reassociate-and-common.trees",
        "add.s$w %x3, %x1, $1; sub.s$w %x4, %x3, %x2; add.s$w %x5, %x4, $2; sub.s$w %x6, %x5, %x1; st.global.b$w [%out], %x5;
         st.global.b$w [%out+8], %x6;",
    )
    .widths(ALL),
    fires(
        REASSOCIATION,
        "reassociate-and-common.trees",
        "add.s32 %r1, %x1, %x2; add.s32 %r2, %r1, 7; add.s32 %r3, %x2, 7; add.s32 %r4, %r3, %x1; xor.b32 %r5, %x1, %x2;
         xor.b32 %r6, %r5, %x1; and.b32 %r7, %x1, $1; or.b32 %r8, %r7, $2; and.b32 %r9, %r8, %x2;
         st.global.v4.b32 [%out], {%r2, %r4, %r6, %r9};",
    ),
    border(
        REASSOCIATION,
        "add.sat.s32 %r1, %x1, $1; add.sat.s32 %r2, %r1, $2; min.s32 %r3, %x1, $1; min.u32 %r4, %r3, $2; max.s32 %r5, %r3, $2;
         st.global.v4.b32 [%out], {%r1, %r2, %r4, %r5}; shl.b32 %r6, %x1, 20; shl.b32 %r7, %r6, $1; mul.lo.s32 %r8, %r6, $2;
         st.global.v2.b32 [%out+16], {%r7, %r8};",
    ),
    border(
        REASSOCIATION,
        "shl.b$w %x3, %x1, $1; shl.b$w %x4, %x3, $2; mul.lo.u$w %x5, %x3, 3; shl.b$w %x6, %x5, $2; mul.lo.u$w %x7, %x4, %x2;
         st.global.b$w [%out], %x4; st.global.b$w [%out+8], %x6; st.global.b$w [%out+16], %x7;",
    )
    .widths(ALL)
    .constants(&[0, 1, 7, 15, 16, 31, 32, 40, 63, 64]),
    border(
        REASSOCIATION,
        "mov.b32 %f1, %x1; mov.b32 %f2, %x2; add.rn.f32 %f3, %f1, %f2; add.rn.f32 %f4, %f3, 0f3F800000; neg.f32 %f5, %f1;
         add.rn.f32 %f6, %f4, %f5; add.rn.f32 %f7, %f2, %f1; mul.rn.f32 %f8, %f1, %f2; mul.rn.f32 %f9, %f8, 0f7F000000;
         st.global.v4.f32 [%out], {%f4, %f6, %f7, %f9};",
    ),
    fires(
        REASSOCIATION,
        "reassociate-and-common.distributed",
        "mul.lo.s32 %r1, %x1, %x2; mul.lo.s32 %r2, %x1, 77; add.s32 %r3, %r1, %r2; st.global.b32 [%out], %r3;",
    ),
    fires(
        COMMONING,
        "late-commoning.instructions",
        "mul.hi.s32 %r1, %x1, %x2; mul.hi.s32 %r2, %x2, %x1; mul.hi.u32 %r3, %x1, %x2; sub.s32 %r4, %x1, %x2;
         sub.s32 %r5, %x2, %x1; st.global.v4.b32 [%out], {%r1, %r2, %r3, %r4}; st.global.b32 [%out+16], %r5;",
    ),
    border(
        COMMONING,
        "min.s32 %r1, %x1, %x2; min.u32 %r2, %x1, %x2; shr.s32 %r3, %x1, 3; shr.u32 %r4, %x1, 3; cvt.s64.s32 %rd1, %x1;
         cvt.u64.u32 %rd2, %x1; st.global.v4.b32 [%out], {%r1, %r2, %r3, %r4}; st.global.v2.b64 [%out+16], {%rd1, %rd2};
         add.sat.s32 %r5, %x1, %x2; add.s32 %r6, %x1, %x2; bfe.u32 %r7, %x1, 4, 8; bfe.s32 %r8, %x1, 4, 8;
         st.global.v4.b32 [%out+32], {%r5, %r6, %r7, %r8};",
    ),
    fires(
        COMMONING,
        "late-commoning.guards",
        "setp.lt.s32 %p1, %x1, %x2; mov.b32 %r1, 7; @%p1 mul.lo.s32 %r1, %x1, 3; @!%p1 mul.lo.s32 %r1, %x1, 3;
         setp.ge.s32 %p2, %x1, %x2; mov.b32 %r2, 7; @%p1 mul.lo.s32 %r2, %x2, 5; @%p2 mul.lo.s32 %r2, %x2, 5;
         setp.gt.s32 %p3, %x1, %x2; mov.b32 %r3, 9; @%p1 mul.lo.s32 %r3, %x2, 11; @%p3 mul.lo.s32 %r3, %x2, 11;
         st.global.v2.b32 [%out], {%r1, %r2}; st.global.b32 [%out+8], %r3;",
    ),
    border(
        COMMONING,
        "setp.lt.s32 %p1, %x1, %x2; setp.lt.u32 %p2, %x1, %x2; mov.b32 %r1, 7; @%p1 mul.lo.s32 %r1, %x1, 3;
         @%p1 mul.lo.s32 %r1, %x1, 3; mov.b32 %r2, 8; @%p1 mul.lo.s32 %r2, %x2, 3; @!%p2 mul.lo.s32 %r2, %x2, 3;
         mov.b32 %r3, 9; @!%p1 mul.lo.s32 %r3, %x2, 5; add.s32 %r4, %r3, 1; @%p1 mul.lo.s32 %r3, %x2, 5;
         st.global.v4.b32 [%out], {%r1, %r2, %r3, %r4};",
    ),
    border(
        COMMONING,
        "mov.b32 %f1, %x1; mov.b32 %f2, %x2; setp.lt.f32 %p1, %f1, %f2; setp.ge.f32 %p2, %f1, %f2; mov.b32 %r1, 7;
         @%p1 mov.b32 %r1, 9; @%p2 mov.b32 %r1, 9; setp.geu.f32 %p3, %f1, %f2; mov.b32 %r2, 7; @%p1 mov.b32 %r2, 9;
         @%p3 mov.b32 %r2, 9; st.global.v2.b32 [%out], {%r1, %r2};",
    ),
    fires(
        NUMBERING,
        "gvn-cse.instructions",
        "add.s$w %x3, %x1, %x2; add.u$w %x4, %x2, %x1; setp.lt.s$w %p1, %x1, %x2; setp.gt.s$w %p2, %x2, %x1;
         setp.gt.u$w %p3, %x2, %x1; selp.b$w %x5, %x3, 5, %p1; selp.b$w %x6, %x4, 5, %p2; selp.b$w %x7, %x4, 5, %p3;
         st.global.b$w [%out], %x5; st.global.b$w [%out+8], %x6; st.global.b$w [%out+16], %x7;",
    )
    .widths(ALL),
    fires(
        NUMBERING,
        "gvn-cse.complements",
        "setp.lt.s32 %p1, %x1, %x2; setp.ge.s32 %p2, %x1, %x2; setp.ge.u32 %p3, %x1, %x2; setp.gt.s32 %p4, %x1, %x2;
         selp.b32 %r1, 3, 4, %p1; selp.b32 %r2, 5, 6, %p2; selp.b32 %r3, 7, 8, %p3; selp.b32 %r4, 9, 10, %p4;
         st.global.v4.b32 [%out], {%r1, %r2, %r3, %r4};",
    ),
    border(
        NUMBERING,
        "mov.b32 %f1, %x1; mov.b32 %f2, %x2; setp.lt.f32 %p1, %f1, %f2; setp.ge.f32 %p2, %f1, %f2; setp.gt.f32 %p3, %f2, %f1;
         setp.geu.f32 %p4, %f1, %f2; selp.b32 %r1, 3, 4, %p1; selp.b32 %r2, 3, 4, %p2; selp.b32 %r3, 3, 4, %p3;
         selp.b32 %r4, 3, 4, %p4; st.global.v4.b32 [%out], {%r1, %r2, %r3, %r4}; min.f32 %f3, %f1, %f2;
         min.NaN.f32 %f4, %f1, %f2; max.f32 %f5, %f1, %f2; st.global.v2.f32 [%out+16], {%f3, %f4};
         st.global.f32 [%out+24], %f5;",
    ),
    fires(
        COPIES,
        "copy-propagation.operands",
        "mov.b$w %x3, %x1; mov.b$w %x4, %x3; add.s$w %x3, %x3, 1; sub.s$w %x5, %x4, %x2; st.global.b$w [%out], %x5;
         st.global.b$w [%out+8], %x3;",
    )
    .widths(ALL),
    border(
        COPIES,
        "mov.b32 %r1, %x1; setp.lt.s32 %p1, %x1, %x2; @%p1 mov.b32 %r1, %x2; mov.b32 %r2, %r1; add.s32 %r1, %r2, %r1;
         cvt.u16.u32 %h1, %x1; mov.b16 %h2, %h1; cvt.s32.s16 %r3, %h2; cvt.u32.u16 %r4, %h2;
         st.global.v4.b32 [%out], {%r1, %r2, %r3, %r4};",
    ),
    fires(
        BACK,
        "back-copy-propagation.copies",
        "add.s32 %r1, %x1, 1; mov.b32 %r2, %r1; mov.b32 %r3, %r2; st.global.b32 [%out], %r3; mov.b32 %r7, %x1;
         add.s32 %r8, %x1, %x2; st.global.b32 [%out+8], %r7; mov.b32 %r7, %r8; st.global.b32 [%out+12], %r7;",
    ),
    fires(
        "advanced-phase-back-prop-vreg",
        "advanced-phase-back-prop-vreg.copies",
        "add.s32 %r1, %x1, 1; mov.b32 %r2, %r1; sub.s32 %r3, %r2, %x2; mov.b32 %r2, %r3; st.global.b32 [%out], %r2;",
    ),
    fires(
        RANGES,
        "range-comparisons.comparisons",
        "and.b$w %x3, %x1, 15; setp.lt.u$w %p1, %x3, 16; setp.lt.u$w %p2, %x3, 15; setp.gt.s$w %p3, %x3, -1;
         setp.eq.s$w %p4, %x3, 15; selp.b32 %r1, 1, 2, %p1; selp.b32 %r2, 1, 2, %p2; selp.b32 %r3, 1, 2, %p3;
         selp.b32 %r4, 1, 2, %p4; st.global.v4.b32 [%out], {%r1, %r2, %r3, %r4};",
    )
    .widths(&[32, 64]),
    border(
        RANGES,
        "shr.u32 %r1, %x1, 4; add.s32 %r2, %r1, $1; setp.gt.s32 %p1, %r2, $2; setp.gt.u32 %p2, %r2, $2; sub.s32 %r3, %r1, $2;
         setp.lt.s32 %p3, %r3, %r1; min.s32 %r4, %x1, $1; setp.le.s32 %p4, %r4, $2; selp.b32 %r5, 1, 2, %p1;
         selp.b32 %r6, 1, 2, %p2; selp.b32 %r7, 1, 2, %p3; selp.b32 %r8, 1, 2, %p4;
         st.global.v4.b32 [%out], {%r5, %r6, %r7, %r8}; max.u32 %r9, %x2, $1; setp.ge.u32 %p5, %r9, $2;
         rem.u32 %r10, %x1, 10; setp.lt.u32 %p6, %r10, 10; shl.b32 %r11, %r1, 4; setp.ge.s32 %p7, %r11, 0;
         selp.b32 %r12, 1, 2, %p5; selp.b32 %r13, 1, 2, %p6; selp.b32 %r14, 1, 2, %p7; st.global.b32 [%out+16], %r12;
         st.global.v2.b32 [%out+24], {%r13, %r14};",
    ),
    fires(
        NARROW,
        "narrow-comparisons.comparisons",
        "cvt.u64.u32 %rd1, %x1; cvt.u64.u32 %rd2, %x2; cvt.s64.s32 %rd3, %x1; cvt.s64.s32 %rd4, %x2;
         setp.lt.u64 %p1, %rd1, %rd2; setp.lt.s64 %p2, %rd3, %rd4; setp.lt.s64 %p3, %rd1, %rd4; setp.eq.s64 %p4, %rd1, %rd3;
         selp.b32 %r1, 1, 2, %p1; selp.b32 %r2, 1, 2, %p2; selp.b32 %r3, 1, 2, %p3; selp.b32 %r4, 1, 2, %p4;
         st.global.v4.b32 [%out], {%r1, %r2, %r3, %r4}; setp.lt.s64 %p5, %rd1, $1; setp.gt.s64 %p6, %rd3, $2;
         setp.lt.u64 %p7, %rd3, $1; setp.gt.s64 %p8, %rd3, -1; selp.b32 %r5, 1, 2, %p5; selp.b32 %r6, 1, 2, %p6;
         selp.b32 %r7, 1, 2, %p7; selp.b32 %r8, 1, 2, %p8; st.global.v4.b32 [%out+16], {%r5, %r6, %r7, %r8};",
    )
    .constants(&[0, 1, 0x7FFF_FFFF, 0x8000_0000, 0xFFFF_FFFF, 0x1_0000_0000, 0x1_0000_0001]),
    fires(
        "selected-sums",
        "selected-sums.sums",
        "setp.lt.s32 %p1, %x1, %x2; selp.u32 %r1, 1, 0, %p1; add.s32 %r2, %x2, %r1; selp.b32 %r3, 0, %x1, %p1;
         add.s32 %r4, %r3, %r2; selp.s32 %r5, -7, 0, %p1; sub.s32 %r6, %r4, %r5; selp.s32 %r7, -7, 0, %p1;
         sub.s32 %r8, %r7, %r6; st.global.v4.b32 [%out], {%r2, %r4, %r6, %r8};",
    ),
    border(
        "selected-sums",
        "setp.lt.s32 %p1, %x1, %x2; not.b32 %r10, %x2; selp.u32 %r1, 2, 1, %p1; add.s32 %r2, %r10, %r1; selp.u64 %rd1, 1, 0, %p1;
         cvt.u64.u32 %rd2, %r10; add.s64 %rd3, %rd2, %rd1; selp.b32 %r3, %x1, 0, %p1; add.sat.s32 %r4, %r10, %r3;
         selp.b32 %r5, 0, 7, %p1; sub.s32 %r6, %r5, %r10; selp.b32 %r7, 5, 0, %p1; add.s32 %r8, %r7, %r7;
         selp.b32 %r11, 7, 0, %p1; sub.sat.s32 %r12, %r10, %r11; st.global.v4.b32 [%out], {%r2, %r4, %r6, %r8};
         st.global.b64 [%out+16], %rd3; st.global.b32 [%out+24], %r12;",
    ),
    fires(
        "dead-code",
        "dead-code.instructions",
        "add.s32 %r1, %x1, 1; mul.lo.s32 %r2, %r1, %r1; add.s32 %r3, %x1, %x2; setp.lt.s32 %p1, %x1, %x2;
         @%p1 add.s32 %r3, %r3, %r1; st.global.b32 [%out], %r3;",
    ),
    fires(
        "general-optimize",
        "algebraic-simplification.constant-chain",
        "mov.b32 %r1, %x1; and.b32 %r2, %r1, $1; mov.b32 %r3, %r2; and.b32 %r4, %r3, $2; sub.s32 %r5, %x1, %r4;
         st.global.b32 [%out], %r5;",
    ),
    fires(
        "general-optimize-late",
        "algebraic-simplification.neutral-operand",
        "mov.b32 %r1, %x1; and.b32 %r2, %r1, $1; mov.b32 %r3, %r2; and.b32 %r4, %r3, $2; sub.s32 %r5, %r2, %r4;
         st.global.b32 [%out], %r5;",
    ),
    fires(
        "remove-dead",
        "dead-code.instructions",
        "add.s32 %r1, %x1, 1; setp.lt.s32 %p1, %x1, %x2; mov.b32 %r2, %x1; @%p1 bra $L1; mul.lo.s32 %r2, %x1, %x2; $L1:
         mul.lo.s32 %r3, %r1, %r2; st.global.b32 [%out], %r2;",
    ),
];
