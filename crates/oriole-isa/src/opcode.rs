//! The opcodes, in the order of the manual's chapters.
//!
//! Variants carry the manual's own names. A family is split where its members differ in what they do: `bar.sync` and
//! `bar.arrive` are two opcodes, `add.f32` and `add.s32` are one, told apart by their types. Variants with a video or
//! data-type suffix follow the mnemonic's base word.

use crate::text_enum::text_enum;

text_enum! {
    /// What an instruction does, before its types and modifiers.
    Opcode {
        // Integer arithmetic.
        Add = "add", Sub = "sub", Mul = "mul", Mad = "mad", Mul24 = "mul24", Mad24 = "mad24", Sad = "sad",
        Div = "div", Rem = "rem", Abs = "abs", Neg = "neg", Min = "min", Max = "max", Popc = "popc", Clz = "clz",
        Bfind = "bfind", Fns = "fns", Brev = "brev", Bfe = "bfe", Bfi = "bfi", Szext = "szext", Bmsk = "bmsk",
        Dp4a = "dp4a", Dp2a = "dp2a",
        // Extended precision.
        Addc = "addc", Subc = "subc", Madc = "madc",
        // Floating point.
        Testp = "testp", Copysign = "copysign", Fma = "fma", Rcp = "rcp", Sqrt = "sqrt", Rsqrt = "rsqrt",
        Sin = "sin", Cos = "cos", Lg2 = "lg2", Ex2 = "ex2", Tanh = "tanh",
        // Comparison and selection.
        Set = "set", Setp = "setp", Selp = "selp", Slct = "slct",
        // Logic and shift.
        And = "and", Or = "or", Xor = "xor", Not = "not", Cnot = "cnot", Lop3 = "lop3", Shf = "shf", Shl = "shl",
        Shr = "shr",
        // Data movement and conversion.
        Mov = "mov", Shfl = "shfl", Prmt = "prmt", Ld = "ld", Ldu = "ldu", St = "st", StAsync = "st.async",
        StBulk = "st.bulk", MultimemLdReduce = "multimem.ld_reduce", MultimemSt = "multimem.st",
        MultimemRed = "multimem.red", MultimemCpAsyncBulk = "multimem.cp.async.bulk",
        MultimemCpReduceAsyncBulk = "multimem.cp.reduce.async.bulk", Prefetch = "prefetch", Prefetchu = "prefetchu",
        Applypriority = "applypriority", Discard = "discard", Createpolicy = "createpolicy", Isspacep = "isspacep",
        Cvta = "cvta", Cvt = "cvt", CvtPack = "cvt.pack", Mapa = "mapa", Getctarank = "getctarank",
        CpAsync = "cp.async", CpAsyncCommitGroup = "cp.async.commit_group", CpAsyncWaitGroup = "cp.async.wait_group",
        CpAsyncWaitAll = "cp.async.wait_all", CpAsyncBulk = "cp.async.bulk",
        CpReduceAsyncBulk = "cp.reduce.async.bulk", CpAsyncBulkPrefetch = "cp.async.bulk.prefetch",
        CpAsyncBulkTensor = "cp.async.bulk.tensor", CpReduceAsyncBulkTensor = "cp.reduce.async.bulk.tensor",
        CpAsyncBulkPrefetchTensor = "cp.async.bulk.prefetch.tensor",
        CpAsyncBulkCommitGroup = "cp.async.bulk.commit_group", CpAsyncBulkWaitGroup = "cp.async.bulk.wait_group",
        TensormapReplace = "tensormap.replace", TensormapCpFenceproxy = "tensormap.cp_fenceproxy",
        // Textures and surfaces.
        Tex = "tex", Tld4 = "tld4", Txq = "txq", Istypep = "istypep", Suld = "suld", Sust = "sust", Sured = "sured",
        Suq = "suq",
        // Control flow.
        Bra = "bra", BrxIdx = "brx.idx", Call = "call", Ret = "ret", Exit = "exit",
        // Synchronization and communication.
        BarSync = "bar.sync", BarArrive = "bar.arrive", BarRed = "bar.red", BarWarpSync = "bar.warp.sync",
        BarrierSync = "barrier.sync", BarrierArrive = "barrier.arrive", BarrierRed = "barrier.red",
        BarrierClusterArrive = "barrier.cluster.arrive", BarrierClusterWait = "barrier.cluster.wait",
        Membar = "membar", MembarProxy = "membar.proxy", Fence = "fence", FenceProxy = "fence.proxy", Atom = "atom", Red = "red",
        RedAsync = "red.async", Vote = "vote", VoteSync = "vote.sync", MatchAny = "match.any",
        MatchAll = "match.all", Activemask = "activemask", Redux = "redux", Griddepcontrol = "griddepcontrol",
        Elect = "elect", MbarrierInit = "mbarrier.init", MbarrierInval = "mbarrier.inval",
        MbarrierExpectTx = "mbarrier.expect_tx", MbarrierCompleteTx = "mbarrier.complete_tx",
        MbarrierArrive = "mbarrier.arrive", MbarrierArriveDrop = "mbarrier.arrive_drop",
        CpAsyncMbarrierArrive = "cp.async.mbarrier.arrive", MbarrierTestWait = "mbarrier.test_wait",
        MbarrierTryWait = "mbarrier.try_wait", MbarrierPendingCount = "mbarrier.pending_count",
        ClusterlaunchcontrolTryCancel = "clusterlaunchcontrol.try_cancel",
        ClusterlaunchcontrolQueryCancel = "clusterlaunchcontrol.query_cancel",
        // Warp-level matrices.
        WmmaLoad = "wmma.load", WmmaStore = "wmma.store", WmmaMma = "wmma.mma", Mma = "mma", MmaSp = "mma.sp",
        Ldmatrix = "ldmatrix", Stmatrix = "stmatrix", Movmatrix = "movmatrix",
        // Warpgroup matrices.
        WgmmaMmaAsync = "wgmma.mma_async", WgmmaMmaAsyncSp = "wgmma.mma_async.sp", WgmmaFence = "wgmma.fence",
        WgmmaCommitGroup = "wgmma.commit_group", WgmmaWaitGroup = "wgmma.wait_group",
        // Fifth-generation tensor cores.
        Tcgen05Alloc = "tcgen05.alloc", Tcgen05Dealloc = "tcgen05.dealloc",
        Tcgen05RelinquishAllocPermit = "tcgen05.relinquish_alloc_permit", Tcgen05Ld = "tcgen05.ld",
        Tcgen05LdRed = "tcgen05.ld.red", Tcgen05St = "tcgen05.st", Tcgen05WaitLd = "tcgen05.wait::ld",
        Tcgen05WaitSt = "tcgen05.wait::st", Tcgen05Cp = "tcgen05.cp", Tcgen05Shift = "tcgen05.shift",
        Tcgen05Mma = "tcgen05.mma", Tcgen05MmaSp = "tcgen05.mma.sp", Tcgen05MmaWs = "tcgen05.mma.ws",
        Tcgen05MmaWsSp = "tcgen05.mma.ws.sp", Tcgen05Commit = "tcgen05.commit",
        Tcgen05FenceBeforeThreadSync = "tcgen05.fence::before_thread_sync",
        Tcgen05FenceAfterThreadSync = "tcgen05.fence::after_thread_sync",
        // Stack.
        Stacksave = "stacksave", Stackrestore = "stackrestore", Alloca = "alloca",
        // Video.
        Vadd = "vadd", Vsub = "vsub", Vabsdiff = "vabsdiff", Vmin = "vmin", Vmax = "vmax", Vshl = "vshl",
        Vshr = "vshr", Vmad = "vmad", Vset = "vset", Vadd2 = "vadd2", Vsub2 = "vsub2", Vavrg2 = "vavrg2",
        Vabsdiff2 = "vabsdiff2", Vmin2 = "vmin2", Vmax2 = "vmax2", Vset2 = "vset2", Vadd4 = "vadd4",
        Vsub4 = "vsub4", Vavrg4 = "vavrg4", Vabsdiff4 = "vabsdiff4", Vmin4 = "vmin4", Vmax4 = "vmax4",
        Vset4 = "vset4",
        // Miscellaneous.
        Brkpt = "brkpt", Nanosleep = "nanosleep", Pmevent = "pmevent", Trap = "trap", Setmaxnreg = "setmaxnreg",
        // Whatever the table does not know.
        Unknown = "?",
    }
}

impl Opcode {
    /// Whether it is arithmetic, logic, a shift, a count, a field, a conversion or a comparison that exists for integers.
    pub fn computes_integers(self) -> bool {
        matches!(
            self,
            Opcode::Add
                | Opcode::Sub
                | Opcode::Mul
                | Opcode::Mad
                | Opcode::Div
                | Opcode::Rem
                | Opcode::Neg
                | Opcode::Min
                | Opcode::Max
                | Opcode::And
                | Opcode::Or
                | Opcode::Xor
                | Opcode::Not
                | Opcode::Shl
                | Opcode::Shr
                | Opcode::Popc
                | Opcode::Clz
                | Opcode::Bfe
                | Opcode::Cvt
                | Opcode::Setp
        )
    }
}
