//! Asynchronous copies, bulk and tensor copies, and tensor maps.

use super::*;

const COPY: Accepts = SPACE.and(CACHE_HINT);
const REDUCE: Accepts = COPY.and(TYPE).and(Accepts::OPERATION).and(NO_FTZ);
const TENSOR: Accepts = COPY.and(Accepts::GEOMETRY);

const COMPLETION_WORDS: &[&str] = &[
    "mbarrier::complete_tx::bytes",
    "bulk_group",
    "multicast::cluster",
    "cp_mask",
];
const TENSOR_WORDS: &[&str] = &[
    "mbarrier::complete_tx::bytes",
    "bulk_group",
    "multicast::cluster",
    "cta_group::1",
    "cta_group::2",
    "tile",
    "tile::gather4",
    "tile::scatter4",
    "im2col",
    "im2col::w",
    "im2col::w::128",
    "im2col_no_offs",
    "L2",
];

const BULK_FORMS: &[Form] = &[
    // To global memory, completing in a bulk group; with `.cp_mask` a byte mask.
    form_if(Requirement::Word("bulk_group"), &[WRITE, READ, U_U32]),
    form_if(
        Requirement::Word("bulk_group"),
        &[WRITE, READ, U_U32, fixed_use(ScalarType::B16)],
    ),
    // To shared memory, completing on an mbarrier; with `.multicast::cluster` a block mask.
    form(&[WRITE, READ, U_U32, READ_WRITE]),
    form(&[WRITE, READ, U_U32, READ_WRITE, fixed_use(ScalarType::B16)]),
];
const BULK_REDUCE_FORMS: &[Form] = &[
    form_if(Requirement::Word("bulk_group"), &[READ_WRITE, READ, U_U32]),
    form(&[READ_WRITE, READ, U_U32, READ_WRITE]),
];

pub(super) static ENTRIES: &[Entry] = &[
    Entry::new(
        Opcode::StAsync,
        &["st.async"],
        TYPE.and(SPACE)
            .and(MEMORY_ORDER)
            .and(Accepts::VECTOR)
            .and(Accepts::flag(Flag::MemoryMapped)),
        &[form(&[WRITE, U, READ_WRITE]), form(&[WRITE, U])],
    )
    .words(COMPLETION_WORDS)
    .in_space(Space::Generic),
    Entry::new(
        Opcode::RedAsync,
        &["red.async"],
        TYPE.and(SPACE)
            .and(MEMORY_ORDER)
            .and(Accepts::OPERATION)
            .and(Accepts::flag(Flag::MemoryMapped)),
        &[form(&[READ_WRITE, U, READ_WRITE]), form(&[READ_WRITE, U])],
    )
    .words(COMPLETION_WORDS)
    .in_space(Space::Generic),
    // Copies per thread. The fourth operand is a byte count or, as a predicate, whether to ignore the source.
    Entry::new(
        Opcode::CpAsync,
        &["cp.async"],
        COPY.and(Accepts::CACHE_OPERATOR).and(Accepts::PREFETCH),
        &[
            form(&[WRITE, READ, IMMEDIATE]),
            form(&[WRITE, READ, IMMEDIATE, U_ANY]),
        ],
    )
    .led_by(&[Part::CacheOperator]),
    Entry::new(
        Opcode::CpAsyncCommitGroup,
        &["cp.async.commit_group"],
        Accepts::NOTHING,
        &[form(&[])],
    ),
    Entry::new(
        Opcode::CpAsyncWaitGroup,
        &["cp.async.wait_group"],
        Accepts::NOTHING,
        &[form(&[IMMEDIATE])],
    ),
    Entry::new(
        Opcode::CpAsyncWaitAll,
        &["cp.async.wait_all"],
        Accepts::NOTHING,
        &[form(&[])],
    ),
    // Bulk copies.
    Entry::new(Opcode::CpAsyncBulk, &["cp.async.bulk"], COPY, BULK_FORMS).words(COMPLETION_WORDS),
    Entry::new(
        Opcode::CpReduceAsyncBulk,
        &["cp.reduce.async.bulk"],
        REDUCE,
        BULK_REDUCE_FORMS,
    )
    .words(COMPLETION_WORDS),
    Entry::new(
        Opcode::MultimemCpAsyncBulk,
        &["multimem.cp.async.bulk"],
        COPY,
        BULK_FORMS,
    )
    .words(COMPLETION_WORDS),
    Entry::new(
        Opcode::MultimemCpReduceAsyncBulk,
        &["multimem.cp.reduce.async.bulk"],
        REDUCE,
        BULK_REDUCE_FORMS,
    )
    .words(COMPLETION_WORDS),
    Entry::new(
        Opcode::CpAsyncBulkPrefetch,
        &["cp.async.bulk.prefetch"],
        COPY,
        &[form(&[READ, U_U32])],
    )
    .words(&["L2"]),
    Entry::new(
        Opcode::CpAsyncBulkCommitGroup,
        &["cp.async.bulk.commit_group"],
        Accepts::NOTHING,
        &[form(&[])],
    ),
    Entry::new(
        Opcode::CpAsyncBulkWaitGroup,
        &["cp.async.bulk.wait_group"],
        Accepts::NOTHING,
        &[form(&[IMMEDIATE])],
    )
    .words(&["read"]),
    // Tensor copies.
    Entry::new(
        Opcode::CpAsyncBulkTensor,
        &["cp.async.bulk.tensor"],
        TENSOR,
        &[
            // Shared to global.
            form(&[WRITE, READ]),
            // Global to shared: barrier, then im2col offsets, then block mask.
            form(&[WRITE, READ, READ_WRITE]),
            form(&[WRITE, READ, READ_WRITE, U_ANY]),
            form(&[WRITE, READ, READ_WRITE, U_ANY, U_ANY]),
        ],
    )
    .words(TENSOR_WORDS),
    Entry::new(
        Opcode::CpReduceAsyncBulkTensor,
        &["cp.reduce.async.bulk.tensor"],
        TENSOR.and(Accepts::OPERATION),
        &[form(&[READ_WRITE, READ])],
    )
    .words(TENSOR_WORDS),
    Entry::new(
        Opcode::CpAsyncBulkPrefetchTensor,
        &["cp.async.bulk.prefetch.tensor"],
        TENSOR,
        &[form(&[READ]), form(&[READ, U_ANY])],
    )
    .words(TENSOR_WORDS),
    // Tensor maps. The ordinal and the enumerated fields are immediates.
    Entry::new(
        Opcode::TensormapReplace,
        &["tensormap.replace"],
        TYPE.and(SPACE),
        &[
            form(&[READ_WRITE, U_SECOND]),
            form(&[READ_WRITE, IMMEDIATE, U_SECOND]),
        ],
    )
    .words(&[
        "tile",
        "global_address",
        "rank",
        "box_dim",
        "global_dim",
        "global_stride",
        "element_stride",
        "elemtype",
        "interleave_layout",
        "swizzle_mode",
        "swizzle_atomicity",
        "fill_mode",
    ])
    .in_space(Space::Generic),
    Entry::new(
        Opcode::TensormapCpFenceproxy,
        &["tensormap.cp_fenceproxy"],
        SPACE.and(MEMORY_ORDER).and(SYNC_ALIGNED),
        &[form(&[WRITE, READ, IMMEDIATE])],
    )
    .words(&["tensormap::generic"]),
];
