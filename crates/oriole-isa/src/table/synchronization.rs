//! Barriers, fences, votes, mbarriers and launch control.

use super::*;

const OPERATION: Accepts = Accepts::OPERATION;
const BARRIER_RED: &[Form] = &[form(&[D, U_U32, U_PRED]), form(&[D, U_U32, U_U32, U_PRED])];
const BARRIER_SYNC: &[Form] = &[form(&[U_U32]), form(&[U_U32, U_U32])];
const BARRIER_ARRIVE: &[Form] = &[form(&[U_U32, U_U32])];
const NO_OPERANDS: &[Form] = &[form(&[])];
const MBARRIER: Accepts = TYPE.and(SPACE).and(MEMORY_ORDER);
const MBARRIER_ARRIVE: &[Form] = &[form(&[D_64, READ_WRITE]), form(&[D_64, READ_WRITE, U_U32])];
const MBARRIER_WAIT: &[Form] = &[
    form_if(Requirement::Word("parity"), &[D_PRED, READ, U_U32]),
    form(&[D_PRED, READ, U_64]),
    form_if(Requirement::Word("parity"), &[D_PRED, READ, U_U32, U_U32]),
    form(&[D_PRED, READ, U_64, U_U32]),
];
const FENCE_WORDS: &[&str] = &[
    "mbarrier_init",
    "sync_restrict::shared::cluster",
    "sync_restrict::shared::cta",
    "alias",
    "async",
    "async::generic",
    "tensormap::generic",
];

pub(super) static ENTRIES: &[Entry] = &[
    // Barriers of a block.
    Entry::new(
        Opcode::BarSync,
        &["bar.sync", "bar.cta.sync"],
        ALIGNED,
        BARRIER_SYNC,
    ),
    Entry::new(
        Opcode::BarArrive,
        &["bar.arrive", "bar.cta.arrive"],
        ALIGNED,
        BARRIER_ARRIVE,
    ),
    Entry::new(
        Opcode::BarRed,
        &["bar.red", "bar.cta.red"],
        TYPE.and(OPERATION).and(ALIGNED),
        BARRIER_RED,
    ),
    Entry::new(
        Opcode::BarWarpSync,
        &["bar.warp.sync"],
        Accepts::NOTHING,
        &[form(&[U_32])],
    ),
    Entry::new(
        Opcode::BarrierSync,
        &["barrier.sync", "barrier.cta.sync"],
        ALIGNED,
        BARRIER_SYNC,
    ),
    Entry::new(
        Opcode::BarrierArrive,
        &["barrier.arrive", "barrier.cta.arrive"],
        ALIGNED,
        BARRIER_ARRIVE,
    ),
    Entry::new(
        Opcode::BarrierRed,
        &["barrier.red", "barrier.cta.red"],
        TYPE.and(OPERATION).and(ALIGNED),
        BARRIER_RED,
    )
    .led_by(&[Part::Operation]),
    // Barriers of a cluster.
    Entry::new(
        Opcode::BarrierClusterArrive,
        &["barrier.cluster.arrive"],
        Accepts::SEMANTICS.and(ALIGNED),
        NO_OPERANDS,
    ),
    Entry::new(
        Opcode::BarrierClusterWait,
        &["barrier.cluster.wait"],
        Accepts::SEMANTICS.and(ALIGNED),
        NO_OPERANDS,
    ),
    // Fences.
    Entry::new(Opcode::Membar, &["membar"], Accepts::SCOPE, NO_OPERANDS),
    Entry::new(Opcode::MembarProxy, &["membar.proxy"], SPACE, NO_OPERANDS).words(FENCE_WORDS),
    Entry::new(Opcode::Fence, &["fence"], MEMORY_ORDER, NO_OPERANDS).words(FENCE_WORDS),
    Entry::new(
        Opcode::FenceProxy,
        &["fence.proxy"],
        MEMORY_ORDER.and(SPACE),
        &[form(&[]), form(&[ADDRESS, IMMEDIATE])],
    )
    .words(FENCE_WORDS),
    // Warp-wide votes and reductions.
    Entry::new(
        Opcode::Vote,
        &["vote"],
        TYPE.and(Accepts::VOTE),
        &[form(&[D, U_PRED])],
    ),
    Entry::new(
        Opcode::VoteSync,
        &["vote.sync"],
        TYPE.and(Accepts::VOTE),
        &[form(&[D, U_PRED, U_32])],
    ),
    Entry::new(
        Opcode::MatchAny,
        &["match.any"],
        TYPE.and(SYNC),
        &[form(&[D_32, U, U_32])],
    ),
    Entry::new(
        Opcode::MatchAll,
        &["match.all"],
        TYPE.and(SYNC),
        &[form(&[D_32, U, U_32])],
    ),
    Entry::new(Opcode::Activemask, &["activemask"], TYPE, &[form(&[D_32])]),
    Entry::new(
        Opcode::Redux,
        &["redux"],
        TYPE.and(OPERATION)
            .and(SYNC)
            .and(Accepts::flag(Flag::Absolute))
            .and(Accepts::flag(Flag::PropagateNan)),
        &[form(&[D, U, U_32])],
    )
    .led_by(&[
        Part::Flag(Flag::Synchronized),
        Part::Operation,
        Part::Flag(Flag::Absolute),
    ]),
    Entry::new(Opcode::Elect, &["elect"], SYNC, &[form(&[D_32, U_32])]),
    Entry::new(
        Opcode::Griddepcontrol,
        &["griddepcontrol"],
        Accepts::NOTHING,
        NO_OPERANDS,
    )
    .words(&["launch_dependents", "wait"]),
    // Mbarriers. Every space is shared memory; without one the address is generic.
    Entry::new(
        Opcode::MbarrierInit,
        &["mbarrier.init"],
        MBARRIER,
        &[form(&[WRITE, U_U32])],
    )
    .in_space(Space::Generic),
    Entry::new(
        Opcode::MbarrierInval,
        &["mbarrier.inval"],
        MBARRIER,
        &[form(&[WRITE])],
    )
    .in_space(Space::Generic),
    Entry::new(
        Opcode::MbarrierExpectTx,
        &["mbarrier.expect_tx"],
        MBARRIER,
        &[form(&[READ_WRITE, U_U32])],
    )
    .in_space(Space::Generic),
    Entry::new(
        Opcode::MbarrierCompleteTx,
        &["mbarrier.complete_tx"],
        MBARRIER,
        &[form(&[READ_WRITE, U_U32])],
    )
    .in_space(Space::Generic),
    Entry::new(
        Opcode::MbarrierArrive,
        &["mbarrier.arrive"],
        MBARRIER,
        MBARRIER_ARRIVE,
    )
    .words(&["expect_tx", "noComplete"])
    .in_space(Space::Generic),
    Entry::new(
        Opcode::MbarrierArriveDrop,
        &["mbarrier.arrive_drop"],
        MBARRIER,
        MBARRIER_ARRIVE,
    )
    .words(&["expect_tx", "noComplete"])
    .in_space(Space::Generic),
    Entry::new(
        Opcode::CpAsyncMbarrierArrive,
        &["cp.async.mbarrier.arrive"],
        TYPE.and(SPACE),
        &[form(&[READ_WRITE])],
    )
    .words(&["noinc"])
    .in_space(Space::Generic),
    Entry::new(
        Opcode::MbarrierTestWait,
        &["mbarrier.test_wait"],
        MBARRIER,
        MBARRIER_WAIT,
    )
    .words(&["parity"])
    .in_space(Space::Generic),
    Entry::new(
        Opcode::MbarrierTryWait,
        &["mbarrier.try_wait"],
        MBARRIER,
        MBARRIER_WAIT,
    )
    .words(&["parity"])
    .in_space(Space::Generic),
    Entry::new(
        Opcode::MbarrierPendingCount,
        &["mbarrier.pending_count"],
        TYPE,
        &[form(&[D_U32, U_64])],
    ),
    // Cluster launch control.
    Entry::new(
        Opcode::ClusterlaunchcontrolTryCancel,
        &["clusterlaunchcontrol.try_cancel"],
        TYPE.and(SPACE),
        &[form(&[WRITE, READ_WRITE])],
    )
    .words(&[
        "async",
        "mbarrier::complete_tx::bytes",
        "multicast::cluster::all",
    ])
    .in_space(Space::Generic),
    Entry::new(
        Opcode::ClusterlaunchcontrolQueryCancel,
        &["clusterlaunchcontrol.query_cancel"],
        TYPE.and(Accepts::VECTOR),
        &[form(&[D, U_SECOND])],
    )
    .words(&[
        "is_canceled",
        "get_first_ctaid",
        "get_first_ctaid::x",
        "get_first_ctaid::y",
        "get_first_ctaid::z",
    ]),
];
