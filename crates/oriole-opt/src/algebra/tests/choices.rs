//! Instructions for the rules about choices, low halves and loads.

use super::cases::{ALL_WIDTHS, Case, MIDDLE_WIDTHS};

pub(super) const CASES: &[Case] = &[
    (
        "minimum-or-maximum",
        ALL_WIDTHS,
        "setp.lt.s$w %p8, %x1, %x2; selp.b$w %x9, %x1, %x2, %p8;",
    ),
    (
        "minimum-or-maximum",
        ALL_WIDTHS,
        "setp.lt.s$w %p8, %x1, %x2; @%p8 mov.b$w %x1, %x2; mov.b$w %x9, %x1;",
    ),
    (
        "minimum-or-maximum",
        ALL_WIDTHS,
        "setp.lt.s$w %p8, %x1, $1; selp.b$w %x9, %x1, $1, %p8;",
    ),
    (
        "minimum-or-maximum",
        ALL_WIDTHS,
        "setp.lt.s$w %p8, %x1, $1; selp.b$w %x9, $2, %x1, %p8;",
    ),
    (
        "minimum-or-maximum",
        ALL_WIDTHS,
        "setp.lt.s$w %p8, %x1, $2; selp.b$w %x9, %x1, $1, %p8;",
    ),
    (
        "minimum-or-maximum",
        ALL_WIDTHS,
        "setp.lt.u$w %p8, %x1, %x2; selp.b$w %x9, %x1, %x2, %p8;",
    ),
    (
        "minimum-or-maximum",
        ALL_WIDTHS,
        "setp.lt.u$w %p8, %x1, %x2; @%p8 mov.b$w %x1, %x2; mov.b$w %x9, %x1;",
    ),
    (
        "minimum-or-maximum",
        ALL_WIDTHS,
        "setp.lt.u$w %p8, %x1, $1; selp.b$w %x9, %x1, $1, %p8;",
    ),
    (
        "minimum-or-maximum",
        ALL_WIDTHS,
        "setp.lt.u$w %p8, %x1, $1; selp.b$w %x9, $2, %x1, %p8;",
    ),
    (
        "minimum-or-maximum",
        ALL_WIDTHS,
        "setp.lt.u$w %p8, %x1, $2; selp.b$w %x9, %x1, $1, %p8;",
    ),
    (
        "minimum-or-maximum",
        ALL_WIDTHS,
        "setp.le.s$w %p8, %x1, %x2; selp.b$w %x9, %x1, %x2, %p8;",
    ),
    (
        "minimum-or-maximum",
        ALL_WIDTHS,
        "setp.le.s$w %p8, %x1, %x2; @%p8 mov.b$w %x1, %x2; mov.b$w %x9, %x1;",
    ),
    (
        "minimum-or-maximum",
        ALL_WIDTHS,
        "setp.le.s$w %p8, %x1, $1; selp.b$w %x9, %x1, $1, %p8;",
    ),
    (
        "minimum-or-maximum",
        ALL_WIDTHS,
        "setp.le.s$w %p8, %x1, $1; selp.b$w %x9, $2, %x1, %p8;",
    ),
    (
        "minimum-or-maximum",
        ALL_WIDTHS,
        "setp.le.s$w %p8, %x1, $2; selp.b$w %x9, %x1, $1, %p8;",
    ),
    (
        "minimum-or-maximum",
        ALL_WIDTHS,
        "setp.le.u$w %p8, %x1, %x2; selp.b$w %x9, %x1, %x2, %p8;",
    ),
    (
        "minimum-or-maximum",
        ALL_WIDTHS,
        "setp.le.u$w %p8, %x1, %x2; @%p8 mov.b$w %x1, %x2; mov.b$w %x9, %x1;",
    ),
    (
        "minimum-or-maximum",
        ALL_WIDTHS,
        "setp.le.u$w %p8, %x1, $1; selp.b$w %x9, %x1, $1, %p8;",
    ),
    (
        "minimum-or-maximum",
        ALL_WIDTHS,
        "setp.le.u$w %p8, %x1, $1; selp.b$w %x9, $2, %x1, %p8;",
    ),
    (
        "minimum-or-maximum",
        ALL_WIDTHS,
        "setp.le.u$w %p8, %x1, $2; selp.b$w %x9, %x1, $1, %p8;",
    ),
    (
        "minimum-or-maximum",
        ALL_WIDTHS,
        "setp.gt.s$w %p8, %x1, %x2; selp.b$w %x9, %x1, %x2, %p8;",
    ),
    (
        "minimum-or-maximum",
        ALL_WIDTHS,
        "setp.gt.s$w %p8, %x1, %x2; @%p8 mov.b$w %x1, %x2; mov.b$w %x9, %x1;",
    ),
    (
        "minimum-or-maximum",
        ALL_WIDTHS,
        "setp.gt.s$w %p8, %x1, $1; selp.b$w %x9, %x1, $1, %p8;",
    ),
    (
        "minimum-or-maximum",
        ALL_WIDTHS,
        "setp.gt.s$w %p8, %x1, $1; selp.b$w %x9, $2, %x1, %p8;",
    ),
    (
        "minimum-or-maximum",
        ALL_WIDTHS,
        "setp.gt.s$w %p8, %x1, $2; selp.b$w %x9, %x1, $1, %p8;",
    ),
    (
        "minimum-or-maximum",
        ALL_WIDTHS,
        "setp.gt.u$w %p8, %x1, %x2; selp.b$w %x9, %x1, %x2, %p8;",
    ),
    (
        "minimum-or-maximum",
        ALL_WIDTHS,
        "setp.gt.u$w %p8, %x1, %x2; @%p8 mov.b$w %x1, %x2; mov.b$w %x9, %x1;",
    ),
    (
        "minimum-or-maximum",
        ALL_WIDTHS,
        "setp.gt.u$w %p8, %x1, $1; selp.b$w %x9, %x1, $1, %p8;",
    ),
    (
        "minimum-or-maximum",
        ALL_WIDTHS,
        "setp.gt.u$w %p8, %x1, $1; selp.b$w %x9, $2, %x1, %p8;",
    ),
    (
        "minimum-or-maximum",
        ALL_WIDTHS,
        "setp.gt.u$w %p8, %x1, $2; selp.b$w %x9, %x1, $1, %p8;",
    ),
    (
        "minimum-or-maximum",
        ALL_WIDTHS,
        "setp.ge.s$w %p8, %x1, %x2; selp.b$w %x9, %x1, %x2, %p8;",
    ),
    (
        "minimum-or-maximum",
        ALL_WIDTHS,
        "setp.ge.s$w %p8, %x1, %x2; @%p8 mov.b$w %x1, %x2; mov.b$w %x9, %x1;",
    ),
    (
        "minimum-or-maximum",
        ALL_WIDTHS,
        "setp.ge.s$w %p8, %x1, $1; selp.b$w %x9, %x1, $1, %p8;",
    ),
    (
        "minimum-or-maximum",
        ALL_WIDTHS,
        "setp.ge.s$w %p8, %x1, $1; selp.b$w %x9, $2, %x1, %p8;",
    ),
    (
        "minimum-or-maximum",
        ALL_WIDTHS,
        "setp.ge.s$w %p8, %x1, $2; selp.b$w %x9, %x1, $1, %p8;",
    ),
    (
        "minimum-or-maximum",
        ALL_WIDTHS,
        "setp.ge.u$w %p8, %x1, %x2; selp.b$w %x9, %x1, %x2, %p8;",
    ),
    (
        "minimum-or-maximum",
        ALL_WIDTHS,
        "setp.ge.u$w %p8, %x1, %x2; @%p8 mov.b$w %x1, %x2; mov.b$w %x9, %x1;",
    ),
    (
        "minimum-or-maximum",
        ALL_WIDTHS,
        "setp.ge.u$w %p8, %x1, $1; selp.b$w %x9, %x1, $1, %p8;",
    ),
    (
        "minimum-or-maximum",
        ALL_WIDTHS,
        "setp.ge.u$w %p8, %x1, $1; selp.b$w %x9, $2, %x1, %p8;",
    ),
    (
        "minimum-or-maximum",
        ALL_WIDTHS,
        "setp.ge.u$w %p8, %x1, $2; selp.b$w %x9, %x1, $1, %p8;",
    ),
    (
        "equal-choice",
        ALL_WIDTHS,
        "setp.eq.s$w %p8, %x1, $1; selp.b$w %x9, $1, %x1, %p8;",
    ),
    (
        "equal-choice",
        ALL_WIDTHS,
        "setp.ne.u$w %p8, %x1, %x2; selp.b$w %x9, %x1, %x2, %p8;",
    ),
    (
        "equal-choice",
        ALL_WIDTHS,
        "setp.eq.u$w %p8, %x1, %x2; selp.b$w %x9, %x1, %x2, %p8;",
    ),
    (
        "equal-choice",
        ALL_WIDTHS,
        "setp.ne.s$w %p8, %x1, $1; @!%p8 mov.b$w %x1, $1; mov.b$w %x9, %x1;",
    ),
    (
        "special-case",
        &[32],
        "setp.ne.s32 %p8, %x1, 0; clz.b32 %x8, %x1; selp.b32 %x9, %x8, $1, %p8;",
    ),
    (
        "special-case",
        &[32],
        "setp.eq.s32 %p8, %x1, $1; popc.b32 %x8, %x1; selp.b32 %x9, 0, %x8, %p8;",
    ),
    (
        "special-case",
        ALL_WIDTHS,
        "setp.eq.u$w %p8, %x1, $1; add.s$w %x8, %x1, 2; selp.b$w %x9, 2, %x8, %p8;",
    ),
    (
        "special-case",
        ALL_WIDTHS,
        "setp.ne.u$w %p8, %x1, $1; and.b$w %x8, %x1, 7; @!%p8 mov.b$w %x8, $2; mov.b$w %x9, %x8;",
    ),
    (
        "narrowed-operation",
        MIDDLE_WIDTHS,
        "cvt.u$d.u$w %w7, %x1; cvt.s$d.s$w %w8, %x2; add.s$d %w6, %w7, %w8; cvt.u$w.u$d %x9, %w6;",
    ),
    (
        "narrowed-operation",
        MIDDLE_WIDTHS,
        "cvt.s$d.s$w %w7, %x1; sub.u$d %w6, $1, %w7; cvt.u$w.u$d %x9, %w6;",
    ),
    (
        "narrowed-operation",
        MIDDLE_WIDTHS,
        "cvt.s$d.s$w %w7, %x1; cvt.u$d.u$w %w8, %x2; xor.b$d %w6, %w8, %w7; cvt.s$w.s$d %x9, %w6;",
    ),
    (
        "narrowed-operation",
        &[32],
        "cvt.s$d.s$w %w7, %x1; neg.s$d %w6, %w7; cvt.u$w.u$d %x9, %w6;",
    ),
    (
        "narrowed-operation",
        MIDDLE_WIDTHS,
        "cvt.u$d.u$w %w7, %x1; shl.b$d %w6, %w7, %c1; cvt.u$w.u$d %x9, %w6;",
    ),
    (
        "narrowed-operation",
        MIDDLE_WIDTHS,
        "cvt.u$d.u$w %w7, %x1; selp.b$d %w6, %w7, $1, %p1; cvt.u$w.u$d %x9, %w6;",
    ),
    (
        "narrowed-operation",
        MIDDLE_WIDTHS,
        "mul.wide.s$w %w6, %x1, %x2; cvt.u$w.u$d %x9, %w6;",
    ),
    (
        "narrowed-operation",
        MIDDLE_WIDTHS,
        "mad.wide.u$w %w6, %x1, %x2, $1; cvt.u$w.u$d %x9, %w6;",
    ),
    (
        "narrowed-operation",
        MIDDLE_WIDTHS,
        "cvt.s$d.s$w %w7, %x1; cvt.u$d.u$w %w8, %x2; mul.lo.s$d %w6, %w8, %w7; cvt.u$w.u$d %x9, %w6;",
    ),
    (
        "narrowed-operation",
        MIDDLE_WIDTHS,
        "mul.wide.s$w %w8, %x1, %x2; shr.u$d %w6, %w8, $w; cvt.u$w.u$d %x9, %w6;",
    ),
    (
        "narrowed-operation",
        MIDDLE_WIDTHS,
        "mul.wide.u$w %w8, %x1, %x2; shr.s$d %w6, %w8, $w; cvt.u$w.u$d %x9, %w6;",
    ),
    // Loads and addresses.
    (
        "extended-load",
        &[32],
        "ld.u8 %n1, 0; cvt.u32.u16 %x9, %n1;",
    ),
    ("extended-load", &[32], "ld.b8 %n1, 0; cvt.u32.u8 %x9, %n1;"),
    (
        "extended-load",
        &[32],
        "ld.s8 %n1, 0; cvt.s32.s16 %x9, %n1;",
    ),
    ("extended-load", &[32], "ld.u8 %n1, 0; cvt.s32.s8 %x9, %n1;"),
    ("extended-load", &[32], "ld.s8 %n1, 0; cvt.u32.u8 %x9, %n1;"),
    (
        "extended-load",
        &[32],
        "ld.u8 %n1, 0; cvt.s32.s16 %x9, %n1;",
    ),
    (
        "extended-load",
        &[32],
        "ld.s16 %n1, 0; cvt.u32.u16 %x9, %n1;",
    ),
    (
        "extended-load",
        &[32],
        "ld.b16 %n1, 0; cvt.s32.s16 %x9, %n1;",
    ),
    (
        "extended-load",
        &[32],
        "ld.u16 %n1, 0; cvt.s64.s16 %w9, %n1;",
    ),
    ("extended-load", &[32], "ld.s8 %n1, 0; cvt.u64.u8 %w9, %n1;"),
    // Choices under guards.
    (
        "guarded-choice",
        &[16, 32, 64],
        "mov.b$w %x8, 3; @%p1 mov.b$w %x8, %x2; mov.b$w %x9, %x8;",
    ),
    (
        "guarded-choice",
        &[16, 32, 64],
        "mov.b$w %x8, $1; @!%p1 mov.b$w %x8, $2; mov.b$w %x9, %x8;",
    ),
    (
        "guarded-choice",
        &[16, 32, 64],
        "not.b$w %x8, %x1; mov.b$w %x7, 0; sub.s$w %x7, %x8, %x2; @!%p1 mov.b$w %x8, %x2; xor.b$w %x9, %x8, %x7;",
    ),
    (
        "guarded-comparison",
        ALL_WIDTHS,
        "mov.pred %p9, 0; @%p1 setp.lt.s$w %p9, %x1, %x2;",
    ),
    (
        "guarded-predicate",
        &[32],
        "mov.pred %p9, 0; @%p1 mov.pred %p9, 1;",
    ),
    (
        "guarded-comparison",
        ALL_WIDTHS,
        "mov.pred %p9, 1; @%p1 setp.lt.s$w %p9, %x1, %x2;",
    ),
    (
        "guarded-predicate",
        &[32],
        "mov.pred %p9, 1; @%p1 mov.pred %p9, 0;",
    ),
    (
        "guarded-comparison",
        ALL_WIDTHS,
        "@%p1 setp.ge.u$w %p1, %x1, %x2; mov.pred %p9, %p1;",
    ),
    (
        "guarded-comparison",
        ALL_WIDTHS,
        "mov.pred %p9, 0; @!%p1 setp.lt.s$w %p9, %x1, %x2;",
    ),
    (
        "guarded-predicate",
        &[32],
        "mov.pred %p9, 0; @!%p1 mov.pred %p9, 1;",
    ),
    (
        "guarded-comparison",
        ALL_WIDTHS,
        "mov.pred %p9, 1; @!%p1 setp.lt.s$w %p9, %x1, %x2;",
    ),
    (
        "guarded-predicate",
        &[32],
        "mov.pred %p9, 1; @!%p1 mov.pred %p9, 0;",
    ),
    (
        "guarded-comparison",
        ALL_WIDTHS,
        "@!%p1 setp.ge.u$w %p1, %x1, %x2; mov.pred %p9, %p1;",
    ),
    (
        "guarded-comparison",
        &[32],
        "mov.pred %p9, 1; @%p1 setp.ltu.f32 %p9, %x1, %x2;",
    ),
    (
        "guarded-predicate",
        ALL_WIDTHS,
        "setp.lt.s$w %p8, %x1, %x2; mov.pred %p9, 0; @%p1 mov.pred %p9, %p8;",
    ),
    (
        "guarded-predicate",
        ALL_WIDTHS,
        "setp.lt.s$w %p8, %x1, %x2; mov.pred %p9, 1; @!%p1 mov.pred %p9, %p8;",
    ),
    (
        "guarded-predicate",
        ALL_WIDTHS,
        "setp.lt.s$w %p9, %x1, %x2; @%p1 mov.pred %p9, 1;",
    ),
    (
        "guarded-predicate",
        ALL_WIDTHS,
        "setp.lt.s$w %p9, %x1, %x2; @!%p1 mov.pred %p9, 0;",
    ),
];
