//! Roles, types and effects of at least one member of every family, written out by hand.
//!
//! Roles: `d` defined, `u` used, `x` both, `r` `w` `m` address read, written, both, `a` address alone, `l` label, `t` branch
//! targets, `c` constant. Types stand after the colon, `-` where the form does not determine one.

use oriole_isa::{Effects, Mnemonic, Ordering, Role, SpaceSet};

fn describe(text: &str, count: usize) -> String {
    let mnemonic = Mnemonic::parse(text);
    let Some(roles) = mnemonic.operand_roles(count) else {
        return "no form".to_string();
    };
    let operands: Vec<String> = roles
        .iter()
        .enumerate()
        .map(|(index, role)| {
            let letter = match role {
                Role::Define => 'd',
                Role::Use => 'u',
                Role::UseDefine => 'x',
                Role::Address {
                    read: true,
                    write: false,
                } => 'r',
                Role::Address {
                    read: false,
                    write: true,
                } => 'w',
                Role::Address {
                    read: true,
                    write: true,
                } => 'm',
                Role::Address { .. } => 'a',
                Role::Label => 'l',
                Role::BranchTargets => 't',
                Role::Callee => 'f',
                Role::Constant => 'c',
            };
            let scalar_type = mnemonic.operand_type(index, count);
            format!(
                "{letter}:{}",
                scalar_type.map_or("-", |scalar_type| scalar_type.text())
            )
        })
        .collect();
    operands.join(" ")
}

#[test]
#[expect(clippy::too_many_lines, reason = "one list")]
fn roles_and_types() {
    let rows = [
        ("add.s32", 3, "d:s32 u:s32 u:s32"),
        ("add.f32.bf16", 3, "d:f32 u:bf16 u:f32"),
        ("fma.rn.f32.f16", 4, "d:f32 u:f16 u:f16 u:f32"),
        ("mul.wide.u16", 3, "d:u32 u:u16 u:u16"),
        ("mad.wide.s32", 4, "d:s64 u:s32 u:s32 u:s64"),
        ("mad.lo.cc.u64", 4, "d:u64 u:u64 u:u64 u:u64"),
        ("popc.b64", 2, "d:u32 u:b64"),
        ("bfe.s64", 4, "d:s64 u:s64 u:u32 u:u32"),
        ("bfi.b64", 5, "d:b64 u:b64 u:b64 u:u32 u:u32"),
        ("dp4a.u32.s32", 4, "d:s32 u:u32 u:s32 u:s32"),
        ("dp4a.u32.u32", 4, "d:u32 u:u32 u:u32 u:u32"),
        ("fns.b32", 4, "d:b32 u:b32 u:b32 u:s32"),
        ("testp.finite.f64", 2, "d:pred u:f64"),
        ("min.f32", 4, "d:f32 u:f32 u:f32 u:f32"),
        ("setp.lt.s32", 3, "d:pred u:s32 u:s32"),
        ("setp.lt.and.f32", 4, "d:pred u:f32 u:f32 u:pred"),
        ("set.eq.u32.f64", 3, "d:u32 u:f64 u:f64"),
        ("selp.b32", 4, "d:b32 u:b32 u:b32 u:pred"),
        ("slct.f32.s32", 4, "d:f32 u:f32 u:f32 u:s32"),
        ("shl.b64", 3, "d:b64 u:b64 u:u32"),
        ("shf.l.wrap.b32", 4, "d:b32 u:b32 u:b32 u:u32"),
        ("lop3.b32", 5, "d:b32 u:b32 u:b32 u:b32 c:-"),
        ("lop3.or.b32", 6, "d:b32 u:b32 u:b32 u:b32 c:- u:pred"),
        ("cvt.rn.f32.s64", 2, "d:f32 u:s64"),
        ("cvt.rn.f16x2.f32", 3, "d:f16x2 u:f32 u:f32"),
        ("cvt.rs.satfinite.e4m3x4.f32", 3, "d:e4m3x4 u:f32 u:b32"),
        ("cvt.pack.sat.u8.s32.b32", 4, "d:b32 u:s32 u:s32 u:b32"),
        ("shfl.sync.idx.b32", 5, "d:b32 u:b32 u:b32 u:b32 u:b32"),
        ("ld.global.nc.v4.f32", 2, "d:f32 r:-"),
        ("ld.global.L2::cache_hint.b32", 3, "d:b32 r:- u:b64"),
        ("st.shared.v2.u64", 2, "w:- u:u64"),
        (
            "st.async.shared::cluster.mbarrier::complete_tx::bytes.u32",
            3,
            "w:- u:u32 m:-",
        ),
        ("atom.global.cas.b32", 4, "d:b32 m:- u:b32 u:b32"),
        ("red.global.add.f32", 2, "m:- u:f32"),
        ("prefetch.global.L2", 1, "a:-"),
        (
            "createpolicy.range.L2::evict_last.b64",
            4,
            "d:b64 a:- u:b32 u:b32",
        ),
        ("cvta.to.global.u64", 2, "d:u64 u:u64"),
        ("isspacep.shared", 2, "d:pred u:-"),
        ("mapa.shared::cluster.u32", 3, "d:u32 u:u32 u:u32"),
        ("cp.async.cg.shared.global", 3, "w:- r:- c:-"),
        (
            "cp.async.cg.shared.global.L2::cache_hint",
            5,
            "w:- r:- c:- u:- u:b64",
        ),
        (
            "cp.async.bulk.global.shared::cta.bulk_group.L2::cache_hint.cp_mask",
            5,
            "w:- r:- u:u32 u:b64 u:b16",
        ),
        (
            "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes",
            4,
            "w:- r:- u:u32 m:-",
        ),
        (
            "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes",
            3,
            "w:- r:- m:-",
        ),
        (
            "cp.async.bulk.tensor.2d.global.shared::cta.bulk_group",
            2,
            "w:- r:-",
        ),
        (
            "cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.bulk_group",
            2,
            "m:- r:-",
        ),
        (
            "tensormap.replace.tile.global_stride.global.b1024.b64",
            3,
            "m:- c:- u:b64",
        ),
        ("tex.2d.v4.f32.f32", 2, "d:f32 r:-"),
        ("sust.b.2d.b32.trap", 2, "w:- u:b32"),
        ("bra.uni", 1, "l:-"),
        ("brx.idx", 2, "u:u32 t:-"),
        ("bar.sync", 1, "u:u32"),
        ("bar.red.and.pred", 3, "d:pred u:u32 u:pred"),
        ("barrier.red.popc.u32", 4, "d:u32 u:u32 u:u32 u:pred"),
        ("vote.sync.ballot.b32", 3, "d:b32 u:pred u:b32"),
        ("match.all.sync.b64", 3, "d:b32 u:b64 u:b32"),
        ("redux.sync.add.s32", 3, "d:s32 u:s32 u:b32"),
        ("elect.sync", 2, "d:b32 u:b32"),
        ("mbarrier.arrive.shared.b64", 2, "d:b64 m:-"),
        (
            "mbarrier.try_wait.parity.shared.b64",
            4,
            "d:pred r:- u:u32 u:u32",
        ),
        ("mbarrier.test_wait.shared.b64", 3, "d:pred r:- u:b64"),
        (
            "wmma.load.a.sync.aligned.row.m16n16k16.f16",
            3,
            "d:b32 r:- u:b32",
        ),
        (
            "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32",
            4,
            "d:f32 u:b32 u:b32 u:f32",
        ),
        (
            "mma.sp.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32",
            6,
            "d:f32 u:b32 u:b32 u:f32 u:b32 c:-",
        ),
        ("ldmatrix.sync.aligned.m8n8.x4.shared.b16", 2, "d:b32 r:-"),
        (
            "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16",
            8,
            "x:f32 u:- u:b64 u:pred c:- c:- c:- c:-",
        ),
        ("wgmma.wait_group.sync.aligned", 1, "c:-"),
        ("tcgen05.ld.sync.aligned.32x32b.x4.b32", 2, "d:b32 r:-"),
        (
            "tcgen05.st.sync.aligned.16x32bx2.x4.b32",
            3,
            "w:- c:- u:b32",
        ),
        (
            "tcgen05.mma.cta_group::1.kind::f16",
            5,
            "m:- u:- u:b64 u:b32 u:pred",
        ),
        (
            "tcgen05.commit.cta_group::1.mbarrier::arrive::one.b64",
            1,
            "m:-",
        ),
        ("vadd.s32.u32.s32.add", 4, "d:s32 u:u32 u:s32 u:s32"),
        ("vset2.s32.u32.lt", 4, "d:u32 u:s32 u:u32 u:u32"),
        ("setmaxnreg.inc.sync.aligned.u32", 1, "c:-"),
        ("add.s32", 4, "no form"),
        ("call.uni", 3, "no form"),
        ("mbarrier.arrive.shared.b64", 1, "no form"),
    ];
    for (text, count, expected) in rows {
        assert_eq!(describe(text, count), expected, "{text}");
    }
}

#[test]
fn memory_and_order() {
    let effects = |text: &str| Mnemonic::parse(text).effects();
    let shared = SpaceSet::SHARED | SpaceSet::REMOTE_SHARED;
    let rows: [(&str, SpaceSet, SpaceSet); 12] = [
        ("ld.local.u32", SpaceSet::LOCAL, SpaceSet::NONE),
        ("ld.const.u32", SpaceSet::CONST, SpaceSet::NONE),
        ("ld.param.u32", SpaceSet::PARAM, SpaceSet::NONE),
        ("ld.shared::cluster.u32", shared, SpaceSet::NONE),
        ("st.u32", SpaceSet::NONE, SpaceSet::GENERIC),
        ("atom.shared.add.u32", SpaceSet::SHARED, SpaceSet::SHARED),
        ("red.global.add.u32", SpaceSet::GLOBAL, SpaceSet::GLOBAL),
        (
            "cp.async.ca.shared.global",
            SpaceSet::GLOBAL,
            SpaceSet::SHARED,
        ),
        (
            "ldmatrix.sync.aligned.m8n8.x1.shared.b16",
            SpaceSet::SHARED,
            SpaceSet::NONE,
        ),
        (
            "tcgen05.st.sync.aligned.32x32b.x1.b32",
            SpaceSet::NONE,
            SpaceSet::TENSOR_MEMORY,
        ),
        ("tex.1d.v4.f32.s32", SpaceSet::TEXTURE, SpaceSet::NONE),
        (
            "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16",
            SpaceSet::SHARED,
            SpaceSet::NONE,
        ),
    ];
    for (text, reads, writes) in rows {
        assert_eq!(
            (effects(text).reads, effects(text).writes),
            (reads, writes),
            "{text}"
        );
    }
    for text in [
        "membar.gl",
        "fence.acq_rel.gpu",
        "bar.sync",
        "barrier.cluster.wait",
        "griddepcontrol.wait",
        "cp.async.wait_all",
    ] {
        assert!(effects(text).ordering.contains(Ordering::ACQUIRE), "{text}");
        assert!(!effects(text).is_removable(), "{text}");
    }
    assert!(
        !effects("atom.relaxed.gpu.global.add.u32")
            .ordering
            .orders_memory()
    );
    assert!(
        effects("atom.acq_rel.gpu.global.add.u32")
            .ordering
            .orders_memory()
    );
    assert!(
        effects("mbarrier.try_wait.shared.b64")
            .ordering
            .contains(Ordering::ACQUIRE)
    );
    assert!(
        effects("mbarrier.arrive.shared.b64")
            .ordering
            .contains(Ordering::RELEASE)
    );
    assert!(!effects("multimem.ld_reduce.global.add.u32").is_removable());
    assert_eq!(effects("no.such.instruction"), Effects::OPAQUE);
}
