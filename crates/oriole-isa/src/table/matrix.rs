//! Warp-level and warpgroup-level matrix instructions.

use super::*;

const fn fragment(role: Role, index: u8) -> Operand {
    operand(role, TypeRule::Fragment(index))
}

const D_FRAGMENT: Operand = fragment(Role::Define, 0);
const ACCUMULATOR: Operand = fragment(Role::UseDefine, 0);
const U_FRAGMENT: Operand = fragment(Role::Use, 0);
const A: Operand = fragment(Role::Use, 1);
const B: Operand = fragment(Role::Use, 2);
const C: Operand = fragment(Role::Use, 3);

/// The first so many operands.
const fn first(count: usize, operands: &'static [Operand]) -> &'static [Operand] {
    operands.split_at(count).0
}

/// What `wgmma.mma_async` takes at most: immediates may be missing at the end.
const WARPGROUP_MULTIPLY: &[Operand] = &[
    ACCUMULATOR,
    U_ANY,
    U_64,
    U_PRED,
    IMMEDIATE,
    IMMEDIATE,
    IMMEDIATE,
    IMMEDIATE,
];
/// Likewise with metadata of a sparse matrix.
const WARPGROUP_SPARSE_MULTIPLY: &[Operand] = &[
    ACCUMULATOR,
    U_ANY,
    U_64,
    U_32,
    IMMEDIATE,
    U_PRED,
    IMMEDIATE,
    IMMEDIATE,
    IMMEDIATE,
    IMMEDIATE,
];

const SHAPED: Accepts = TYPE.and(Accepts::SHAPE).and(SYNC_ALIGNED);
/// What follows the types of a multiplication by a group of warps precedes those of others.
const WARPGROUP_ORDER: &[Part] = &[
    Part::Flag(Flag::Synchronized),
    Part::Flag(Flag::Aligned),
    Part::Shape,
    Part::Type,
];
const MATRIX_LOAD: Accepts = SHAPED
    .and(SPACE)
    .and(Accepts::REPEAT)
    .and(Accepts::flag(Flag::Transpose));
const MULTIPLY: Accepts = SHAPED
    .and(Accepts::OPERATION)
    .and(Accepts::ROUNDING)
    .and(Accepts::flag(Flag::SaturateFinite));
const MULTIPLY_WORDS: &[&str] = &[
    "row",
    "col",
    "popc",
    "kind::f8f6f4",
    "kind::mxf8f6f4",
    "kind::mxf4",
    "kind::mxf4nvf4",
    "block_scale",
    "scale_vec::1X",
    "scale_vec::2X",
    "scale_vec::4X",
];
const LAYOUT: &[&str] = &["row", "col"];

pub(super) static ENTRIES: &[Entry] = &[
    // `wmma`: fragments in registers, layout unspecified.
    Entry::new(
        Opcode::WmmaLoad,
        &["wmma.load.a", "wmma.load.b", "wmma.load.c", "wmma.load"],
        SHAPED.and(SPACE),
        &[form(&[D_FRAGMENT, READ]), form(&[D_FRAGMENT, READ, U_32])],
    )
    .words(LAYOUT)
    .in_space(Space::Generic),
    Entry::new(
        Opcode::WmmaStore,
        &["wmma.store.d", "wmma.store"],
        SHAPED.and(SPACE),
        &[form(&[WRITE, U_FRAGMENT]), form(&[WRITE, U_FRAGMENT, U_32])],
    )
    .words(LAYOUT)
    .in_space(Space::Generic),
    // Types are d, c for `.f16`; d, a, b, c otherwise.
    Entry::new(
        Opcode::WmmaMma,
        &["wmma.mma"],
        MULTIPLY.and(SATURATE),
        &[form(&[D_FRAGMENT, U_ANY, U_ANY, U_ANY])],
    )
    .words(MULTIPLY_WORDS),
    Entry::new(
        Opcode::Mma,
        &["mma"],
        MULTIPLY,
        &[
            form(&[D_FRAGMENT, A, B, C]),
            // Block scaling: scale data and {byte, thread} selectors for a and b.
            form(&[D_FRAGMENT, A, B, C, U_32, U_ANY, U_32, U_ANY]),
        ],
    )
    .words(MULTIPLY_WORDS),
    Entry::new(
        Opcode::MmaSp,
        &["mma.sp", "mma.sp::ordered_metadata"],
        MULTIPLY,
        &[
            form(&[D_FRAGMENT, A, B, C, U_32, IMMEDIATE]),
            form(&[
                D_FRAGMENT, A, B, C, U_32, IMMEDIATE, U_32, U_ANY, U_32, U_ANY,
            ]),
        ],
    )
    .words(MULTIPLY_WORDS),
    // Matrices between shared memory and registers.
    Entry::new(
        Opcode::Ldmatrix,
        &["ldmatrix"],
        MATRIX_LOAD,
        &[form(&[D_32, READ])],
    )
    .in_space(Space::Generic),
    Entry::new(
        Opcode::Stmatrix,
        &["stmatrix"],
        MATRIX_LOAD,
        &[form(&[WRITE, U_32])],
    )
    .in_space(Space::Generic),
    Entry::new(
        Opcode::Movmatrix,
        &["movmatrix"],
        MATRIX_LOAD,
        &[form(&[D_32, U_32])],
    ),
    // `wgmma`: the accumulator and a register A fragment stay in flight until a wait. The A operand is a fragment or a
    // descriptor, so its type is not determined.
    Entry::new(
        Opcode::WgmmaMmaAsync,
        &["wgmma.mma_async"],
        MULTIPLY,
        &[
            form(first(4, WARPGROUP_MULTIPLY)),
            form(first(6, WARPGROUP_MULTIPLY)),
            form(first(7, WARPGROUP_MULTIPLY)),
            form(WARPGROUP_MULTIPLY),
        ],
    )
    .words(MULTIPLY_WORDS)
    .led_by(WARPGROUP_ORDER),
    Entry::new(
        Opcode::WgmmaMmaAsyncSp,
        &["wgmma.mma_async.sp"],
        MULTIPLY,
        &[
            form(first(6, WARPGROUP_SPARSE_MULTIPLY)),
            form(first(8, WARPGROUP_SPARSE_MULTIPLY)),
            form(first(9, WARPGROUP_SPARSE_MULTIPLY)),
            form(WARPGROUP_SPARSE_MULTIPLY),
        ],
    )
    .words(MULTIPLY_WORDS)
    .led_by(WARPGROUP_ORDER),
    Entry::new(
        Opcode::WgmmaFence,
        &["wgmma.fence"],
        SYNC_ALIGNED,
        &[form(&[])],
    ),
    Entry::new(
        Opcode::WgmmaCommitGroup,
        &["wgmma.commit_group"],
        SYNC_ALIGNED,
        &[form(&[])],
    ),
    Entry::new(
        Opcode::WgmmaWaitGroup,
        &["wgmma.wait_group"],
        SYNC_ALIGNED,
        &[form(&[IMMEDIATE])],
    ),
];
