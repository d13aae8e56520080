//! What executing an instruction can do besides computing its results.
//!
//! Passes ask only this. The answer is safe for what is not known: an opaque instruction has [`Effects::OPAQUE`], every
//! effect at once. Effects describe the instruction, not its operands: `mov.u32 %r1, %clock` is a pure `mov` of a volatile
//! special register, and the reader of the operand has to ask [`crate::SpecialRegister`].

use crate::mnemonic::Mnemonic;
use crate::modifier::{Flag, Semantics};
use crate::opcode::Opcode;
use crate::space::{Space, SpaceSet};

/// How an instruction ends a basic block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Terminator {
    /// It does not.
    #[default]
    None,
    /// `bra`.
    Branch,
    /// `brx.idx`.
    IndirectBranch,
    /// `ret`.
    Return,
    /// `exit`.
    Exit,
}

/// How an instruction orders memory accesses, as a set.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub struct Ordering(u8);

impl Ordering {
    /// No order: weak accesses.
    pub const NONE: Ordering = Ordering(0);
    /// A strong access that orders nothing else. It must still neither be merged nor removed.
    pub const RELAXED: Ordering = Ordering(1);
    /// Later accesses stay later.
    pub const ACQUIRE: Ordering = Ordering(2);
    /// Earlier accesses stay earlier.
    pub const RELEASE: Ordering = Ordering(4);
    /// Waits for other threads.
    pub const BARRIER: Ordering = Ordering(8);
    /// Waits for, or publishes to, asynchronous operations or another proxy.
    pub const ASYNCHRONOUS: Ordering = Ordering(16);
    /// Nothing moves across in either direction.
    pub const FULL: Ordering = Ordering(1 | 2 | 4);
    /// All of the above.
    pub const ALL: Ordering = Ordering(31);

    /// Both sets.
    pub const fn union(self, other: Ordering) -> Ordering {
        Ordering(self.0 | other.0)
    }

    /// Whether all of `other` is in this set.
    pub const fn contains(self, other: Ordering) -> bool {
        self.0 & other.0 == other.0
    }

    /// Whether the set is empty.
    pub const fn is_none(self) -> bool {
        self.0 == 0
    }

    /// Whether memory accesses of this thread may not be moved or merged across the instruction.
    pub const fn orders_memory(self) -> bool {
        self.0 & !Ordering::RELAXED.0 != 0
    }
}

/// The effects of one instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Effects {
    /// Memory read.
    pub reads: SpaceSet,
    /// Memory written.
    pub writes: SpaceSet,
    /// Order imposed on other accesses.
    pub ordering: Ordering,
    /// Has to happen exactly as often as written, for a reason other than memory: time, hints, traps, device state.
    pub volatile: bool,
    /// The result depends on which threads execute it together; it may not move to other control flow.
    pub convergent: bool,
    /// May stop the thread or the grid.
    pub may_trap_or_exit: bool,
    /// Part of the work happens after the instruction, until a wait.
    pub asynchronous: bool,
    /// Reads the carry flag.
    pub reads_carry: bool,
    /// Writes the carry flag.
    pub writes_carry: bool,
    /// Calls a function.
    pub is_call: bool,
    /// How it ends a block.
    pub terminator: Terminator,
}

impl Effects {
    /// No effect: the results depend on the operands only.
    pub const PURE: Effects = Effects {
        reads: SpaceSet::NONE,
        writes: SpaceSet::NONE,
        ordering: Ordering::NONE,
        volatile: false,
        convergent: false,
        may_trap_or_exit: false,
        asynchronous: false,
        reads_carry: false,
        writes_carry: false,
        is_call: false,
        terminator: Terminator::None,
    };

    /// Every effect an instruction that does not transfer control can have.
    pub const OPAQUE: Effects = Effects {
        reads: SpaceSet::ALL,
        writes: SpaceSet::ALL,
        ordering: Ordering::ALL,
        volatile: true,
        convergent: true,
        may_trap_or_exit: true,
        asynchronous: true,
        reads_carry: true,
        writes_carry: true,
        is_call: false,
        terminator: Terminator::None,
    };

    /// Whether the results depend on the operands only and nothing else happens.
    #[inline]
    pub fn is_pure(self) -> bool {
        self == Effects::PURE
    }

    /// Whether the instruction may be deleted when nothing uses its results: it changes no memory, no order, no flag and
    /// no control flow, and no other thread waits for it.
    #[inline]
    pub fn is_removable(self) -> bool {
        !self.convergent && self.is_removable_if_converged()
    }

    /// Like [`Effects::is_removable`] for an instruction that all threads of a warp are known to execute together. Otherwise
    /// a `shfl.sync` whose result nobody reads may be what other lanes wait for and read from.
    #[inline]
    pub fn is_removable_if_converged(self) -> bool {
        self.writes.is_empty()
            && self.ordering.is_none()
            && !self.volatile
            && !self.may_trap_or_exit
            && !self.asynchronous
            && !self.writes_carry
            && !self.is_call
            && self.terminator == Terminator::None
    }

    const fn read(mut self, spaces: SpaceSet) -> Effects {
        self.reads = self.reads.union(spaces);
        self
    }

    const fn write(mut self, spaces: SpaceSet) -> Effects {
        self.writes = self.writes.union(spaces);
        self
    }

    const fn order(mut self, ordering: Ordering) -> Effects {
        self.ordering = self.ordering.union(ordering);
        self
    }

    const fn volatile(mut self) -> Effects {
        self.volatile = true;
        self
    }

    const fn convergent(mut self) -> Effects {
        self.convergent = true;
        self
    }

    const fn trap(mut self) -> Effects {
        self.may_trap_or_exit = true;
        self
    }

    const fn asynchronous(mut self) -> Effects {
        self.asynchronous = true;
        self
    }

    const fn end(mut self, terminator: Terminator) -> Effects {
        self.terminator = terminator;
        self
    }
}

const BARRIER: Effects = Effects::PURE
    .order(Ordering::FULL.union(Ordering::BARRIER))
    .convergent();

/// A point where asynchronous work becomes visible, or is handed over.
const HANDOVER: Effects = Effects::PURE
    .order(Ordering::FULL.union(Ordering::ASYNCHRONOUS))
    .volatile();

const SHARED_REACH: SpaceSet = Space::SharedCluster.reach();

/// The effects of a mnemonic that is not opaque.
pub(crate) fn effects_of(mnemonic: &Mnemonic) -> Effects {
    use Opcode::*;
    let pure = Effects::PURE;
    let reach = mnemonic.space().unwrap_or(Space::Generic).reach();
    let mut effects = match mnemonic.opcode() {
        Unknown => Effects::OPAQUE,

        Add | Sub | Mul | Mad | Mul24 | Mad24 | Sad | Div | Rem | Abs | Neg | Min | Max | Popc
        | Clz | Bfind | Fns | Brev | Bfe | Bfi | Szext | Bmsk | Dp4a | Dp2a | Testp | Copysign
        | Fma | Rcp | Sqrt | Rsqrt | Sin | Cos | Lg2 | Ex2 | Tanh | Set | Setp | Selp | Slct
        | And | Or | Xor | Not | Cnot | Lop3 | Shf | Shl | Shr | Mov | Prmt | Createpolicy
        | Isspacep | Cvta | Cvt | CvtPack | Mapa | Getctarank | Istypep | Vadd | Vsub
        | Vabsdiff | Vmin | Vmax | Vshl | Vshr | Vmad | Vset | Vadd2 | Vsub2 | Vavrg2
        | Vabsdiff2 | Vmin2 | Vmax2 | Vset2 | Vadd4 | Vsub4 | Vavrg4 | Vabsdiff4 | Vmin4
        | Vmax4 | Vset4 => pure,
        MbarrierPendingCount | ClusterlaunchcontrolQueryCancel => pure,
        Addc | Subc | Madc => Effects {
            reads_carry: true,
            ..pure
        },

        Ld | Ldu => pure.read(reach),
        St => pure.write(reach),
        StAsync => pure.write(reach.union(SHARED_REACH)).asynchronous(),
        StBulk => pure.write(reach),
        // Relaxed is the default of multicast accesses; weak ones lose nothing by it.
        MultimemLdReduce => pure.read(reach).order(Ordering::RELAXED),
        MultimemSt => pure.write(reach).order(Ordering::RELAXED),
        MultimemRed => pure.read(reach).write(reach).order(Ordering::RELAXED),
        Prefetch | Prefetchu | Applypriority => pure.volatile(),
        Discard => pure.write(reach).volatile(),

        CpAsync => pure
            .read(SpaceSet::GLOBAL)
            .write(SpaceSet::SHARED)
            .asynchronous(),
        CpAsyncBulk
        | CpReduceAsyncBulk
        | CpAsyncBulkTensor
        | CpReduceAsyncBulkTensor
        | MultimemCpAsyncBulk
        | MultimemCpReduceAsyncBulk => pure
            .read(SpaceSet::GENERIC)
            .write(SpaceSet::GLOBAL.union(SHARED_REACH))
            .asynchronous(),
        CpAsyncBulkPrefetch | CpAsyncBulkPrefetchTensor => {
            pure.read(SpaceSet::GENERIC).volatile().asynchronous()
        }
        CpAsyncCommitGroup
        | CpAsyncWaitGroup
        | CpAsyncWaitAll
        | CpAsyncBulkCommitGroup
        | CpAsyncBulkWaitGroup => HANDOVER,
        TensormapReplace => pure.read(reach).write(reach),
        TensormapCpFenceproxy => HANDOVER
            .read(SpaceSet::SHARED)
            .write(SpaceSet::GLOBAL)
            .convergent(),

        Tex | Tld4 | Txq | Suq => pure.read(SpaceSet::TEXTURE),
        Suld => pure.read(SpaceSet::TEXTURE.union(SpaceSet::GLOBAL)),
        Sust => pure.write(SpaceSet::TEXTURE.union(SpaceSet::GLOBAL)),
        Sured => {
            let spaces = SpaceSet::TEXTURE.union(SpaceSet::GLOBAL);
            pure.read(spaces).write(spaces).order(Ordering::RELAXED)
        }

        Bra => pure.end(Terminator::Branch),
        BrxIdx => pure.end(Terminator::IndirectBranch),
        Ret => pure.end(Terminator::Return),
        Exit => pure.trap().end(Terminator::Exit),
        Call => Effects {
            is_call: true,
            ..Effects::OPAQUE
        },

        _ => machine_effects(mnemonic),
    };

    add_modifiers(mnemonic, &mut effects);
    effects
}

/// The effects of instructions about other threads, matrices and the machine.
fn machine_effects(mnemonic: &Mnemonic) -> Effects {
    use Opcode::*;
    let pure = Effects::PURE;
    let reach = mnemonic.space().unwrap_or(Space::Generic).reach();
    match mnemonic.opcode() {
        BarSync | BarArrive | BarRed | BarWarpSync | BarrierSync | BarrierArrive | BarrierRed
        | BarrierClusterArrive | BarrierClusterWait => BARRIER.volatile(),
        Membar | Fence => pure.order(Ordering::FULL).volatile(),
        FenceProxy | MembarProxy => HANDOVER,
        Atom | Red => pure.read(reach).write(reach).order(Ordering::RELAXED),
        RedAsync => pure
            .read(reach.union(SHARED_REACH))
            .write(reach.union(SHARED_REACH))
            .order(Ordering::RELAXED)
            .asynchronous(),
        Shfl | Vote | VoteSync | MatchAny | MatchAll | Redux | Elect => pure.convergent(),
        Activemask => pure.convergent().volatile(),
        Griddepcontrol => HANDOVER,
        MbarrierInit | MbarrierInval | MbarrierExpectTx | MbarrierCompleteTx => pure
            .read(SHARED_REACH)
            .write(SHARED_REACH)
            .order(Ordering::RELAXED),
        MbarrierArrive | MbarrierArriveDrop => pure
            .read(SHARED_REACH)
            .write(SHARED_REACH)
            .order(Ordering::RELAXED)
            .order(release_unless_relaxed(mnemonic))
            .volatile(),
        CpAsyncMbarrierArrive => HANDOVER.read(SHARED_REACH).write(SHARED_REACH),
        MbarrierTestWait | MbarrierTryWait => pure
            .read(SHARED_REACH)
            .order(Ordering::RELAXED.union(Ordering::BARRIER))
            .order(acquire_unless_relaxed(mnemonic))
            .volatile(),
        ClusterlaunchcontrolTryCancel => pure.write(SHARED_REACH).volatile().asynchronous(),

        WmmaLoad => pure.read(reach).convergent(),
        WmmaStore => pure.write(reach).convergent(),
        WmmaMma | Mma | MmaSp | Movmatrix => pure.convergent(),
        Ldmatrix => pure.read(SpaceSet::SHARED).convergent(),
        Stmatrix => pure.write(SpaceSet::SHARED).convergent(),

        WgmmaMmaAsync | WgmmaMmaAsyncSp => pure
            .read(SpaceSet::SHARED)
            .convergent()
            .asynchronous()
            .volatile(),
        WgmmaFence | WgmmaCommitGroup | WgmmaWaitGroup => HANDOVER.convergent(),

        Tcgen05Alloc => pure
            .write(SpaceSet::TENSOR_MEMORY.union(SHARED_REACH))
            .convergent()
            .volatile()
            .order(Ordering::BARRIER),
        Tcgen05Dealloc | Tcgen05RelinquishAllocPermit => pure
            .write(SpaceSet::TENSOR_MEMORY)
            .convergent()
            .volatile()
            .order(Ordering::BARRIER),
        Tcgen05Ld | Tcgen05LdRed => pure
            .read(SpaceSet::TENSOR_MEMORY)
            .convergent()
            .asynchronous(),
        Tcgen05St => pure
            .write(SpaceSet::TENSOR_MEMORY)
            .convergent()
            .asynchronous(),
        Tcgen05WaitLd | Tcgen05WaitSt => HANDOVER.convergent(),
        Tcgen05Cp => pure
            .read(SHARED_REACH)
            .write(SpaceSet::TENSOR_MEMORY)
            .asynchronous(),
        Tcgen05Shift => pure
            .read(SpaceSet::TENSOR_MEMORY)
            .write(SpaceSet::TENSOR_MEMORY)
            .asynchronous(),
        Tcgen05Mma | Tcgen05MmaSp | Tcgen05MmaWs | Tcgen05MmaWsSp => pure
            .read(SHARED_REACH.union(SpaceSet::TENSOR_MEMORY))
            .write(SpaceSet::TENSOR_MEMORY)
            .asynchronous(),
        Tcgen05Commit => HANDOVER.read(SHARED_REACH).write(SHARED_REACH),
        Tcgen05FenceBeforeThreadSync | Tcgen05FenceAfterThreadSync => HANDOVER,

        Stacksave => pure.read(SpaceSet::LOCAL).volatile(),
        Stackrestore | Alloca => pure.read(SpaceSet::LOCAL).write(SpaceSet::LOCAL).volatile(),

        Brkpt | Trap => pure.trap().volatile().order(Ordering::FULL),
        Nanosleep | Pmevent => pure.volatile(),
        Setmaxnreg => pure.volatile().convergent(),
        // All others have an entry above; `every_opcode_has_an_entry` says so.
        _ => Effects::OPAQUE,
    }
}

/// What modifiers add to the effects of an opcode.
fn add_modifiers(mnemonic: &Mnemonic, effects: &mut Effects) {
    match mnemonic.modifiers().semantics {
        None | Some(Semantics::Weak) => {}
        Some(Semantics::Relaxed) => effects.ordering = effects.ordering.union(Ordering::RELAXED),
        Some(Semantics::Volatile) => {
            effects.volatile = true;
            effects.ordering = effects.ordering.union(Ordering::RELAXED);
        }
        Some(Semantics::Acquire) => {
            effects.ordering = effects
                .ordering
                .union(Ordering::RELAXED)
                .union(Ordering::ACQUIRE);
        }
        Some(Semantics::Release) => {
            effects.ordering = effects
                .ordering
                .union(Ordering::RELAXED)
                .union(Ordering::RELEASE);
        }
        Some(Semantics::AcquireRelease | Semantics::SequentiallyConsistent) => {
            effects.ordering = effects.ordering.union(Ordering::FULL);
        }
    }
    if mnemonic.has(Flag::MemoryMapped) {
        effects.volatile = true;
    }
    if mnemonic.has(Flag::CarryOut) {
        effects.writes_carry = true;
    }
    if mnemonic.has(Flag::Aligned) || mnemonic.has(Flag::Synchronized) {
        effects.convergent = true;
    }
    if mnemonic.modifiers().surface_clamp == Some(crate::modifier::SurfaceClamp::Trap) {
        effects.may_trap_or_exit = true;
    }
}

fn release_unless_relaxed(mnemonic: &Mnemonic) -> Ordering {
    match mnemonic.modifiers().semantics {
        Some(Semantics::Relaxed) => Ordering::NONE,
        _ => Ordering::RELEASE,
    }
}

fn acquire_unless_relaxed(mnemonic: &Mnemonic) -> Ordering {
    match mnemonic.modifiers().semantics {
        Some(Semantics::Relaxed) => Ordering::NONE,
        _ => Ordering::ACQUIRE,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn effects(text: &str) -> Effects {
        let mnemonic = Mnemonic::parse(text);
        assert!(!mnemonic.is_opaque(), "{text} is opaque");
        mnemonic.effects()
    }

    #[test]
    fn every_opcode_has_an_entry() {
        for &opcode in Opcode::ALL {
            if matches!(opcode, Opcode::Unknown | Opcode::Call) {
                continue;
            }
            let mnemonic = Mnemonic::parse(opcode.text());
            assert_ne!(effects_of(&mnemonic), Effects::OPAQUE, "{opcode:?}");
        }
    }

    #[test]
    fn values_are_pure() {
        for text in [
            "add.s32",
            "div.u32",
            "fma.rn.f32",
            "mov.u32",
            "cvta.to.global.u64",
            "selp.b32",
        ] {
            assert!(effects(text).is_pure(), "{text}");
        }
    }

    #[test]
    fn carry_is_tracked() {
        let add = effects("add.cc.u32");
        assert!(add.writes_carry && !add.reads_carry && !add.is_pure() && !add.is_removable());
        let addc = effects("addc.u32");
        assert!(!addc.writes_carry && addc.reads_carry && addc.is_removable());
        let madc = effects("madc.lo.cc.u32");
        assert!(madc.writes_carry && madc.reads_carry);
    }

    #[test]
    fn loads_and_stores_name_their_memory() {
        assert_eq!(effects("ld.global.f32").reads, SpaceSet::GLOBAL);
        assert_eq!(effects("ld.f32").reads, SpaceSet::GENERIC);
        assert!(effects("ld.shared.f32").is_removable());
        assert!(!effects("ld.volatile.shared.f32").is_removable());
        assert!(!effects("ld.acquire.gpu.global.u32").is_removable());
        assert!(
            effects("ld.acquire.gpu.global.u32")
                .ordering
                .contains(Ordering::ACQUIRE)
        );
        assert_eq!(effects("st.shared.v4.f32").writes, SpaceSet::SHARED);
        assert!(!effects("atom.global.add.u32").is_removable());
    }

    #[test]
    fn invariant_loads() {
        let invariant = |text: &str, entry| Mnemonic::parse(text).is_invariant_load(entry);
        assert!(invariant("ld.global.nc.f32", false));
        assert!(invariant("ld.const.f32", false));
        assert!(invariant("ld.param.u64", true));
        assert!(!invariant("ld.param.u64", false));
        assert!(!invariant("ld.global.f32", true));
        assert!(!invariant("ld.volatile.global.f32", true));
        assert!(!invariant("add.s32", true));
    }

    #[test]
    fn warp_operations_are_convergent() {
        for text in [
            "shfl.sync.bfly.b32",
            "vote.sync.ballot.b32",
            "bar.sync",
            "barrier.sync",
            "match.any.sync.b32",
            "redux.sync.add.s32",
            "elect.sync",
            "activemask.b32",
            "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32",
            "ldmatrix.sync.aligned.m8n8.x4.shared.b16",
            "tcgen05.ld.sync.aligned.32x32b.x32.b32",
        ] {
            assert!(effects(text).convergent, "{text}");
        }
        assert!(effects("shfl.sync.bfly.b32").is_removable_if_converged());
        assert!(!effects("shfl.sync.bfly.b32").is_removable());
        assert!(!effects("ldmatrix.sync.aligned.m8n8.x4.shared.b16").is_removable());
        assert!(!effects("bar.warp.sync").is_removable_if_converged());
        assert!(effects("activemask.b32").volatile);
        assert!(effects("bar.sync").ordering.orders_memory());
        assert!(!effects("bar.sync").is_removable());
    }

    #[test]
    fn terminators() {
        assert_eq!(effects("bra.uni").terminator, Terminator::Branch);
        assert_eq!(effects("brx.idx").terminator, Terminator::IndirectBranch);
        assert_eq!(effects("ret").terminator, Terminator::Return);
        assert_eq!(effects("exit").terminator, Terminator::Exit);
        assert!(effects("call.uni").is_call);
        assert!(effects("trap").may_trap_or_exit);
    }

    #[test]
    fn asynchronous_registers_are_pinned() {
        let wgmma = Mnemonic::parse("wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16");
        assert!(wgmma.pins_registers() && wgmma.effects().asynchronous);
        assert!(wgmma.pins_operand(0, 8) && wgmma.pins_operand(1, 8) && !wgmma.pins_operand(2, 8));
        let load = Mnemonic::parse("tcgen05.ld.sync.aligned.32x32b.x32.b32");
        assert!(load.pins_operand(0, 2) && !load.pins_operand(1, 2));
        let store = Mnemonic::parse("tcgen05.st.sync.aligned.32x32b.x32.b32");
        assert!(store.pins_operand(1, 2) && !store.pins_operand(0, 2));
        assert!(!Mnemonic::parse("cp.async.ca.shared.global").pins_registers());
    }
}
