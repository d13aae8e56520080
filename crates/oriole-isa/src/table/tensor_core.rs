//! Fifth-generation tensor cores: `tcgen05`.

use super::*;

const CTA_GROUP: [&str; 2] = ["cta_group::1", "cta_group::2"];
const ALLOCATION_WORDS: &[&str] = &CTA_GROUP;
const SHAPE_WORDS: &[&str] = &[
    "16x64b",
    "16x128b",
    "16x256b",
    "32x32b",
    "16x32bx2",
    "pack::16b",
    "unpack::16b",
];
const COPY_WORDS: &[&str] = &[
    "cta_group::1",
    "cta_group::2",
    "128x256b",
    "4x256b",
    "128x128b",
    "64x128b",
    "32x128b",
    "warpx2::02_13",
    "warpx2::01_23",
    "warpx4",
];
const MULTIPLY_WORDS: &[&str] = &[
    "cta_group::1",
    "cta_group::2",
    "kind::f16",
    "kind::tf32",
    "kind::f8f6f4",
    "kind::i8",
    "kind::mxf8f6f4",
    "kind::mxf4",
    "kind::mxf4nvf4",
    "block_scale",
    "scale_vec::1X",
    "scale_vec::2X",
    "scale_vec::4X",
    "block16",
    "block32",
    "ashift",
    "collector::a::fill",
    "collector::a::use",
    "collector::a::lastuse",
    "collector::a::discard",
    "collector::a",
    "collector::b0::fill",
    "collector::b0::use",
    "collector::b0::lastuse",
    "collector::b0::discard",
    "collector::b1::fill",
    "collector::b1::use",
    "collector::b1::lastuse",
    "collector::b1::discard",
    "collector::b2::fill",
    "collector::b2::use",
    "collector::b2::lastuse",
    "collector::b2::discard",
    "collector::b3::fill",
    "collector::b3::use",
    "collector::b3::lastuse",
    "collector::b3::discard",
];
const BLOCK_SCALE: Requirement = Requirement::Word("block_scale");
const LOAD: Accepts = TYPE.and(SYNC_ALIGNED).and(Accepts::REPEAT);

pub(super) static ENTRIES: &[Entry] = &[
    Entry::new(
        Opcode::Tcgen05Alloc,
        &["tcgen05.alloc"],
        TYPE.and(SPACE).and(SYNC_ALIGNED),
        &[form(&[WRITE, U_U32])],
    )
    .words(ALLOCATION_WORDS)
    .in_space(Space::Generic),
    Entry::new(
        Opcode::Tcgen05Dealloc,
        &["tcgen05.dealloc"],
        TYPE.and(SYNC_ALIGNED),
        &[form(&[U_U32, U_U32])],
    )
    .words(ALLOCATION_WORDS),
    Entry::new(
        Opcode::Tcgen05RelinquishAllocPermit,
        &["tcgen05.relinquish_alloc_permit"],
        SYNC_ALIGNED,
        &[form(&[])],
    )
    .words(ALLOCATION_WORDS),
    // Registers to and from tensor memory; the `.16x32bx2` shape carries an immediate offset.
    Entry::new(
        Opcode::Tcgen05Ld,
        &["tcgen05.ld"],
        LOAD,
        &[form(&[D_32, READ]), form(&[D_32, READ, IMMEDIATE])],
    )
    .words(SHAPE_WORDS)
    .in_space(Space::TensorMemory),
    Entry::new(
        Opcode::Tcgen05LdRed,
        &["tcgen05.ld.red"],
        LOAD.and(Accepts::OPERATION)
            .and(Accepts::flag(Flag::Absolute))
            .and(Accepts::flag(Flag::PropagateNan)),
        &[
            form(&[D_32, D_32, READ]),
            form(&[D_32, D_32, READ, IMMEDIATE]),
        ],
    )
    .words(SHAPE_WORDS)
    .in_space(Space::TensorMemory),
    Entry::new(
        Opcode::Tcgen05St,
        &["tcgen05.st"],
        LOAD,
        &[form(&[WRITE, U_32]), form(&[WRITE, IMMEDIATE, U_32])],
    )
    .words(SHAPE_WORDS)
    .in_space(Space::TensorMemory),
    Entry::new(
        Opcode::Tcgen05WaitLd,
        &["tcgen05.wait::ld"],
        SYNC_ALIGNED,
        &[form(&[])],
    ),
    Entry::new(
        Opcode::Tcgen05WaitSt,
        &["tcgen05.wait::st"],
        SYNC_ALIGNED,
        &[form(&[])],
    ),
    Entry::new(
        Opcode::Tcgen05Cp,
        &["tcgen05.cp"],
        TYPE,
        &[form(&[WRITE, U_64])],
    )
    .words(COPY_WORDS)
    .in_space(Space::TensorMemory),
    Entry::new(
        Opcode::Tcgen05Shift,
        &["tcgen05.shift"],
        Accepts::NOTHING,
        &[form(&[READ_WRITE])],
    )
    .words(&["cta_group::1", "cta_group::2", "down"])
    .in_space(Space::TensorMemory),
    // Multiplication: `[d], a, b, idesc, …, enable-input-d, …`. `a` is a descriptor or a bracketed tensor-memory
    // address; a disable-output-lane vector and a scale may stand around the enabling predicate.
    Entry::new(
        Opcode::Tcgen05Mma,
        &["tcgen05.mma"],
        Accepts::NOTHING,
        &[
            form(&[READ_WRITE, U_ANY, U_64, U_32, U_PRED]),
            form(&[READ_WRITE, U_ANY, U_64, U_32, U_ANY, U_ANY]),
            form_if(
                BLOCK_SCALE,
                &[READ_WRITE, U_ANY, U_64, U_32, READ, READ, U_PRED],
            ),
            form(&[READ_WRITE, U_ANY, U_64, U_32, U_ANY, U_PRED, IMMEDIATE]),
        ],
    )
    .words(MULTIPLY_WORDS)
    .in_space(Space::TensorMemory),
    Entry::new(
        Opcode::Tcgen05MmaSp,
        &["tcgen05.mma.sp"],
        Accepts::NOTHING,
        &[
            form(&[READ_WRITE, U_ANY, U_64, READ, U_32, U_PRED]),
            form(&[READ_WRITE, U_ANY, U_64, READ, U_32, U_ANY, U_ANY]),
            form_if(
                BLOCK_SCALE,
                &[READ_WRITE, U_ANY, U_64, READ, U_32, READ, READ, U_PRED],
            ),
            form(&[
                READ_WRITE, U_ANY, U_64, READ, U_32, U_ANY, U_PRED, IMMEDIATE,
            ]),
        ],
    )
    .words(MULTIPLY_WORDS)
    .in_space(Space::TensorMemory),
    Entry::new(
        Opcode::Tcgen05MmaWs,
        &["tcgen05.mma.ws"],
        Accepts::NOTHING,
        &[
            form(&[READ_WRITE, U_ANY, U_64, U_32, U_PRED]),
            form(&[READ_WRITE, U_ANY, U_64, U_32, U_PRED, U_64]),
        ],
    )
    .words(MULTIPLY_WORDS)
    .in_space(Space::TensorMemory),
    Entry::new(
        Opcode::Tcgen05MmaWsSp,
        &["tcgen05.mma.ws.sp"],
        Accepts::NOTHING,
        &[
            form(&[READ_WRITE, U_ANY, U_64, READ, U_32, U_PRED]),
            form(&[READ_WRITE, U_ANY, U_64, READ, U_32, U_PRED, U_64]),
        ],
    )
    .words(MULTIPLY_WORDS)
    .in_space(Space::TensorMemory),
    Entry::new(
        Opcode::Tcgen05Commit,
        &["tcgen05.commit"],
        TYPE.and(SPACE),
        &[
            form(&[READ_WRITE]),
            form(&[READ_WRITE, fixed_use(ScalarType::B16)]),
        ],
    )
    .words(&[
        "cta_group::1",
        "cta_group::2",
        "mbarrier::arrive::one",
        "multicast::cluster",
    ])
    .in_space(Space::Generic),
    Entry::new(
        Opcode::Tcgen05FenceBeforeThreadSync,
        &["tcgen05.fence::before_thread_sync"],
        Accepts::NOTHING,
        &[form(&[])],
    ),
    Entry::new(
        Opcode::Tcgen05FenceAfterThreadSync,
        &["tcgen05.fence::after_thread_sync"],
        Accepts::NOTHING,
        &[form(&[])],
    ),
];
