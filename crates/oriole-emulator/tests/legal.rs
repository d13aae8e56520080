//! Kernels that the rules of the PTX manual allow, none of which may be reported, and mistakes that must be.

mod common;

use common::{findings, kernel, run_module};
use oriole_diagnostics::Severity;
use oriole_emulator::{FindingKind, Options, TrapKind};

/// A name, the shape of the launch, and the body of a kernel that stores `%r1` of each thread at its end.
struct Legal {
    name: &'static str,
    threads: u32,
    blocks: u32,
    body: &'static str,
}

const fn legal(name: &'static str, threads: u32, blocks: u32, body: &'static str) -> Legal {
    Legal {
        name,
        threads,
        blocks,
        body,
    }
}

const KERNELS: &[Legal] = &[
    legal(
        "a structure of a double, a word and padding is copied by words",
        32,
        1,
        ".local .align 8 .b8 l[16]; .reg .b64 %d; mov.u64 %d, 5; st.local.u64 [l], %d; st.local.u32 [l+8], %t;\n\
         ld.local.u32 %r2, [l]; ld.local.u32 %r3, [l+4]; ld.local.u32 %r4, [l+8]; ld.local.u32 %r5, [l+12];\n\
         shl.b32 %r6, %t, 4; cvt.u64.u32 %a1, %r6; rem.u64 %a1, %a1, 256; add.u64 %a1, %a1, %out;\n\
         setp.lt.u32 %p1, %t, 16; @!%p1 bra skip;\n\
         st.global.u32 [%a1], %r2; st.global.u32 [%a1+4], %r3; st.global.u32 [%a1+8], %r4; st.global.u32 [%a1+12], %r5;\n\
         skip: add.u64 %out, %out, 512; mov.u32 %r1, 0;",
    ),
    legal(
        "a structure of a byte and a word is copied byte by byte",
        1,
        1,
        ".local .align 4 .b8 l[8]; .local .align 4 .b8 m[8]; .reg .b16 %h; mov.u16 %h, 7; st.local.u8 [l], %h; st.local.u32 [l+4], %t;\n\
         mov.u32 %r2, 0; mov.u32 %r3, l; mov.u32 %r4, m;\n\
         copy: add.u32 %r5, %r3, %r2; ld.local.u8 %h, [%r5]; add.u32 %r5, %r4, %r2; st.local.u8 [%r5], %h;\n\
         cvt.u64.u32 %a1, %r2; add.u64 %a1, %a1, %out; st.global.u8 [%a1+64], %h;\n\
         add.u32 %r2, %r2, 1; setp.lt.u32 %p1, %r2, 8; @%p1 bra copy;\n\
         ld.local.u32 %r1, [m+4];",
    ),
    legal(
        "a register is made zero with itself",
        32,
        1,
        "xor.b32 %r2, %r2, %r2; sub.u32 %r3, %r3, %r3; and.b32 %r4, %r4, 0; lop3.b32 %r5, %r5, %r5, %r5, 0x00;\n\
         add.u32 %r1, %r2, %r3; add.u32 %r1, %r1, %r4; add.u32 %r1, %r1, %r5; setp.eq.u32 %p1, %r1, 0; @%p1 mov.u32 %r1, 1;",
    ),
    legal(
        "a guarded load is selected by its guard",
        32,
        1,
        "setp.lt.u32 %p1, %t, 16; mad.wide.u32 %a1, %t, 4, %out; @%p1 ld.global.u32 %r2, [%a1+256];\n\
         selp.u32 %r1, %r2, 0, %p1;",
    ),
    legal(
        "a predicate that nobody set is masked by one that was",
        32,
        1,
        "setp.lt.u32 %p1, %t, 16; @%p1 setp.eq.u32 %p2, %t, 3; and.pred %p3, %p1, %p2; mov.u32 %r1, 0; @%p3 mov.u32 %r1, 1;",
    ),
    legal(
        "half a warp adds its values with shuffles of a half mask",
        32,
        1,
        "mov.u32 %r1, 0; setp.lt.u32 %p1, %t, 16; @!%p1 bra done; add.u32 %r2, %t, 1;\n\
         shfl.sync.down.b32 %r3, %r2, 8, 31, 0xffff; add.u32 %r2, %r2, %r3;\n\
         shfl.sync.down.b32 %r3, %r2, 4, 31, 0xffff; add.u32 %r2, %r2, %r3;\n\
         shfl.sync.down.b32 %r3, %r2, 2, 31, 0xffff; add.u32 %r2, %r2, %r3;\n\
         shfl.sync.down.b32 %r3, %r2, 1, 31, 0xffff; add.u32 %r2, %r2, %r3;\n\
         setp.eq.u32 %p2, %t, 0; @%p2 mov.u32 %r1, %r2;\ndone:",
    ),
    legal(
        "lanes that have left are not missed by a mask without them",
        32,
        1,
        "mov.u32 %r1, 0; setp.ge.u32 %p1, %t, 24; @%p1 ret; vote.sync.ballot.b32 %r2, %p1, 0xffffff; shfl.sync.bfly.b32 %r3, %t, 1, 31, 0xffffff;\n\
         add.u32 %r1, %r2, %r3;",
    ),
    legal(
        "copies of two stages are waited for one group behind",
        32,
        1,
        ".shared .align 16 .b8 s[256]; mov.u32 %r2, s; mad.lo.u32 %r3, %t, 4, %r2; mad.wide.u32 %a1, %t, 4, %out;\n\
         cp.async.ca.shared.global [%r3], [%a1+256], 4; cp.async.commit_group;\n\
         cp.async.ca.shared.global [%r3+128], [%a1+512], 4; cp.async.commit_group;\n\
         cp.async.wait_group 1; ld.shared.u32 %r4, [%r3]; cp.async.wait_group 0; bar.sync 0;\n\
         xor.b32 %r5, %t, 5; mad.lo.u32 %r5, %r5, 4, %r2; ld.shared.u32 %r1, [%r5+128]; add.u32 %r1, %r1, %r4;",
    ),
    legal(
        "copies arrive at an mbarrier",
        32,
        1,
        ".shared .align 16 .b8 s[128]; .shared .align 8 .b64 m; setp.eq.u32 %p1, %t, 0; @%p1 mbarrier.init.shared.b64 [m], 32; bar.sync 0;\n\
         mov.u32 %r2, s; mad.lo.u32 %r3, %t, 4, %r2; mad.wide.u32 %a1, %t, 4, %out;\n\
         cp.async.ca.shared.global [%r3], [%a1+256], 4; cp.async.mbarrier.arrive.noinc.shared.b64 [m];\n\
         wait: mbarrier.try_wait.parity.shared.b64 %p2, [m], 0; @!%p2 bra wait;\n\
         xor.b32 %r5, %t, 1; mad.lo.u32 %r5, %r5, 4, %r2; ld.shared.u32 %r1, [%r5];",
    ),
    legal(
        "an mbarrier hands words from thread to thread",
        64,
        1,
        ".shared .align 16 .b8 s[256]; .shared .align 8 .b64 m; setp.eq.u32 %p1, %t, 0; @%p1 mbarrier.init.shared.b64 [m], 64; bar.sync 0;\n\
         mov.u32 %r2, s; mad.lo.u32 %r3, %t, 4, %r2; st.shared.u32 [%r3], %t; mbarrier.arrive.shared.b64 %a2, [m];\n\
         wait: mbarrier.try_wait.shared.b64 %p2, [m], %a2; @!%p2 bra wait;\n\
         xor.b32 %r5, %t, 33; mad.lo.u32 %r5, %r5, 4, %r2; ld.shared.u32 %r1, [%r5];",
    ),
    legal(
        "one warp produces for another by bar.arrive and bar.sync",
        64,
        1,
        ".shared .align 16 .b8 s[128]; mov.u32 %r2, s; and.b32 %r4, %t, 31; mad.lo.u32 %r3, %r4, 4, %r2; setp.lt.u32 %p1, %t, 32;\n\
         mov.u32 %r1, 0; @!%p1 bra consumer; st.shared.u32 [%r3], %t; bar.arrive 1, 64; bra done;\n\
         consumer: bar.sync 1, 64; ld.shared.u32 %r1, [%r3];\ndone:",
    ),
    legal(
        "a ring of one slot goes back and forth by two named barriers",
        64,
        1,
        ".shared .align 16 .b8 s[128]; mov.u32 %r2, s; and.b32 %r4, %t, 31; mad.lo.u32 %r3, %r4, 4, %r2; setp.lt.u32 %p1, %t, 32;\n\
         mov.u32 %r1, 0; mov.u32 %r6, 0; @!%p1 bra consumer;\n\
         produce: bar.sync 2, 64; st.shared.u32 [%r3], %r6; bar.arrive 1, 64; add.u32 %r6, %r6, 1; setp.lt.u32 %p2, %r6, 4; @%p2 bra produce; bra done;\n\
         consumer: bar.arrive 2, 64;\n\
         consume: bar.sync 1, 64; ld.shared.u32 %r7, [%r3]; add.u32 %r1, %r1, %r7; add.u32 %r6, %r6, 1; setp.lt.u32 %p2, %r6, 4; @!%p2 bra done; bar.arrive 2, 64; bra consume;\ndone:",
    ),
    legal(
        "two halves of a block have named barriers of their own",
        128,
        1,
        ".shared .align 16 .b8 s[512]; mov.u32 %r2, s; mad.lo.u32 %r3, %t, 4, %r2; st.shared.u32 [%r3], %t; shr.u32 %r4, %t, 6; add.u32 %r4, %r4, 1;\n\
         bar.sync %r4, 64; xor.b32 %r5, %t, 63; mad.lo.u32 %r5, %r5, 4, %r2; ld.shared.u32 %r1, [%r5];",
    ),
    legal(
        "barrier.sync is reached in two arms",
        64,
        1,
        ".shared .align 16 .b8 s[256]; mov.u32 %r2, s; mad.lo.u32 %r3, %t, 4, %r2; st.shared.u32 [%r3], %t;\n\
         and.b32 %r4, %t, 1; setp.eq.u32 %p1, %r4, 0; @%p1 bra even; barrier.sync 0; bra met; even: barrier.sync 0;\n\
         met: xor.b32 %r5, %t, 1; mad.lo.u32 %r5, %r5, 4, %r2; ld.shared.u32 %r1, [%r5];",
    ),
    legal(
        "blocks of a cluster read each other's memory",
        32,
        2,
        ".shared .align 16 .b8 s[128]; mov.u32 %r2, s; mad.lo.u32 %r3, %t, 4, %r2; st.shared.u32 [%r3], %t;\n\
         barrier.cluster.arrive.release; barrier.cluster.wait.acquire; mov.u32 %r4, %cluster_ctarank; xor.b32 %r4, %r4, 1;\n\
         mapa.shared::cluster.u32 %r5, %r3, %r4; ld.shared::cluster.u32 %r1, [%r5]; barrier.cluster.arrive; barrier.cluster.wait;",
    ),
    legal(
        "st.async fills the memory of a peer",
        32,
        2,
        ".shared .align 16 .b8 s[128]; .shared .align 8 .b64 m; mov.u32 %r2, s; mov.u32 %r6, m; mad.lo.u32 %r3, %t, 4, %r2; setp.eq.u32 %p1, %t, 0;\n\
         @%p1 mbarrier.init.shared.b64 [m], 1; @%p1 mbarrier.arrive.expect_tx.shared.b64 %a2, [m], 128; fence.mbarrier_init.release.cluster;\n\
         barrier.cluster.arrive; barrier.cluster.wait; mov.u32 %r4, %cluster_ctarank; xor.b32 %r5, %r4, 1; mapa.shared::cluster.u32 %r7, %r6, %r5;\n\
         mapa.shared::cluster.u32 %r8, %r3, %r5; add.u32 %r9, %t, %r4; st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [%r8], %r9, [%r7];\n\
         wait: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p2, [m], 0; @!%p2 bra wait;\n\
         ld.shared.u32 %r1, [%r3]; barrier.cluster.arrive; barrier.cluster.wait;",
    ),
    legal(
        "a local array is read only where it was written",
        32,
        1,
        ".local .align 4 .b8 l[64]; mov.u32 %r2, l; and.b32 %r3, %t, 7; mov.u32 %r4, 0;\n\
         fill: mad.lo.u32 %r5, %r4, 4, %r2; st.local.u32 [%r5], %r4; add.u32 %r4, %r4, 1; setp.le.u32 %p1, %r4, %r3; @%p1 bra fill;\n\
         mad.lo.u32 %r5, %r3, 4, %r2; ld.local.u32 %r1, [%r5];",
    ),
    legal(
        "a vector is loaded whole and used in part",
        32,
        1,
        ".local .align 16 .b8 l[16]; st.local.v2.u32 [l], {%t, %t}; ld.local.v4.u32 {%r2, %r3, %r4, %r5}, [l];\n\
         ld.local.v4.u32 {%r6, _, _, %r7}, [l]; add.u32 %r1, %r2, %r3; add.u32 %r1, %r1, %r6;",
    ),
    legal(
        "half a vector is stored and the other was never set",
        32,
        1,
        "mad.wide.u32 %a1, %t, 8, %out; mov.b64 %a2, {%t, %r9}; and.b64 %a3, %a2, 0xffffffff; cvt.u32.u64 %r1, %a3;\n\
         mov.b64 {%r2, %r3}, %a2; add.u32 %r1, %r1, %r2; st.global.v2.u32 [%a1+512], {%t, %r3}; bar.sync 0;",
    ),
    legal(
        "bits of a word are set one field after the other",
        32,
        1,
        ".local .align 4 .b8 l[4]; ld.local.u32 %r2, [l]; and.b32 %r2, %r2, 0xffff0000; and.b32 %r3, %t, 0xffff; or.b32 %r2, %r2, %r3; st.local.u32 [l], %r2;\n\
         ld.local.u32 %r4, [l]; bfi.b32 %r4, %t, %r4, 16, 8; bfe.u32 %r5, %r4, 0, 24; setp.gt.u32 %p1, %r5, 100; mov.u32 %r1, %r5; @%p1 mov.u32 %r1, 5;",
    ),
    legal(
        "blocks count with atomics that no barrier orders",
        64,
        3,
        "atom.global.add.u32 %r2, [%out+1000], 1; red.global.max.u32 [%out+1004], %t; atom.global.cas.b32 %r3, [%out+1008], 0, 1; mov.u32 %r1, 0; setp.ne.u32 %p1, %r2, 0;\n\
         mov.u32 %r4, %ctaid.x; mad.wide.u32 %a3, %r4, 256, %out; mov.u64 %out, %a3;",
    ),
    legal(
        "a shared counter is initialised by an exchange",
        64,
        1,
        ".shared .u32 c; setp.eq.u32 %p1, %t, 0; @%p1 atom.shared.exch.b32 %r2, [c], 0; bar.sync 0; atom.shared.add.u32 %r3, [c], 1;\n\
         mov.u32 %r1, 0; setp.lt.u32 %p2, %r3, 64; @%p2 mov.u32 %r1, 1;",
    ),
    legal(
        "a volatile flag behind a fence hands a word to another block",
        32,
        2,
        "mov.u32 %r1, 0; setp.ne.u32 %p1, %t, 0; @%p1 ret; mov.u32 %r2, %ctaid.x; setp.ne.u32 %p2, %r2, 0; @%p2 bra reader;\n\
         st.global.u32 [%out+512], 42; membar.gl; st.volatile.global.u32 [%out+516], 1; ret;\n\
         reader: ld.volatile.global.u32 %r3, [%out+516]; setp.eq.u32 %p3, %r3, 0; @%p3 bra reader; membar.gl; ld.global.u32 %r1, [%out+512];",
    ),
    legal(
        "packed halves are added although one half was never set",
        32,
        1,
        ".reg .b16 %h<4>; cvt.rn.f16.u32 %h0, %t; mov.b32 %r2, {%h0, %h1}; add.f16x2 %r3, %r2, %r2; mov.b32 {%h2, %h3}, %r3; cvt.u32.u16 %r1, %h2;",
    ),
    legal(
        "lanes with a guard take part in a warp barrier of their mask",
        32,
        1,
        ".shared .align 16 .b8 s[128]; mov.u32 %r2, s; mad.lo.u32 %r3, %t, 4, %r2; setp.lt.u32 %p1, %t, 8; mov.u32 %r1, 0; @!%p1 bra done;\n\
         st.shared.u32 [%r3], %t; bar.warp.sync 0xff; xor.b32 %r5, %t, 7; mad.lo.u32 %r5, %r5, 4, %r2; ld.shared.u32 %r1, [%r5];\ndone:",
    ),
    legal(
        "an mma has rows that nobody uses",
        32,
        1,
        "mov.u32 %r2, 0x3c003c00; mov.f32 %f0, 0f00000000; mov.f32 %f1, %f0; mov.f32 %f2, %f0; mov.f32 %f3, %f0;\n\
         mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%f4, %f5, %f6, %f7}, {%r2, %r3}, {%r2}, {%f0, %f1, %f2, %f3}; cvt.rzi.u32.f32 %r1, %f4;",
    ),
    legal(
        "a tile is loaded by ldmatrix and half of it was written",
        32,
        1,
        ".shared .align 16 .b8 s[256]; mov.u32 %r2, s; setp.lt.u32 %p1, %t, 8; mad.lo.u32 %r3, %t, 16, %r2;\n\
         @%p1 st.shared.v4.u32 [%r3], {%t, %t, %t, %t}; bar.sync 0; and.b32 %r4, %t, 15; mad.lo.u32 %r3, %r4, 16, %r2;\n\
         ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%r5, %r6}, [%r3]; mov.u32 %r1, %r5;",
    ),
    legal(
        "dynamic stack space is used after a block of it was given back",
        32,
        1,
        "stacksave.u64 %a3; mov.u64 %a1, 64; alloca.u64 %a1, %a1, 16; st.local.u32 [%a1], %t; ld.local.u32 %r2, [%a1]; stackrestore.u64 %a3;\n\
         mov.u64 %a1, 32; alloca.u64 %a1, %a1, 16; st.local.u32 [%a1+4], %r2; ld.local.u32 %r1, [%a1+4];",
    ),
    legal(
        "shared memory is read beyond what was written and selected",
        32,
        1,
        ".shared .align 16 .b8 s[256]; mov.u32 %r2, s; mad.lo.u32 %r3, %t, 4, %r2; st.shared.u32 [%r3], %t; bar.sync 0;\n\
         ld.shared.u32 %r4, [%r3+4]; setp.lt.u32 %p1, %t, 31; selp.b32 %r1, %r4, 0, %p1;",
    ),
    legal(
        "a value of one arm is used in the same arm of a later branch",
        32,
        1,
        "setp.lt.u32 %p1, %t, 16; @!%p1 bra one; add.u32 %r2, %t, 1;\none: mov.u32 %r1, 0; @!%p1 bra two; mov.u32 %r1, %r2;\ntwo:",
    ),
    legal(
        "a loop begins with a value that its first iteration discards",
        32,
        1,
        "mov.u32 %r3, 0; loop: setp.eq.u32 %p1, %r3, 0; selp.u32 %r4, 0, %r2, %p1; add.u32 %r2, %r4, %t; add.u32 %r3, %r3, 1; setp.lt.u32 %p2, %r3, 3; @%p2 bra loop; mov.u32 %r1, %r2;",
    ),
    legal(
        "a reduction of a barrier counts lanes",
        64,
        1,
        "setp.lt.u32 %p1, %t, 40; bar.red.popc.u32 %r1, 0, %p1; bar.red.and.pred %p2, 1, %p1; @%p2 mov.u32 %r1, 0;",
    ),
    legal(
        "bytes are put together by prmt and unset ones are left",
        32,
        1,
        "and.b32 %r3, %t, 0xff; prmt.b32 %r4, %r2, %r3, 0x7654; prmt.b32 %r5, %r2, %r3, 0x3214; bfe.u32 %r5, %r5, 0, 8; shl.b32 %r6, %r2, 16; or.b32 %r6, %r6, %r3; cvt.u32.u16 %r6, %r6;\n\
         add.u32 %r1, %r4, %r5; add.u32 %r1, %r1, %r6; setp.gt.u32 %p1, %r1, 600; @%p1 mov.u32 %r1, 0;",
    ),
    legal(
        "an mbarrier has several phases",
        32,
        1,
        ".shared .align 16 .b8 s[128]; .shared .align 8 .b64 m; setp.eq.u32 %p1, %t, 0; @%p1 mbarrier.init.shared.b64 [m], 32; bar.sync 0;\n\
         mov.u32 %r2, s; mad.lo.u32 %r3, %t, 4, %r2; xor.b32 %r4, %t, 3; mad.lo.u32 %r4, %r4, 4, %r2; mov.u32 %r5, 0; mov.u32 %r1, 0;\n\
         loop: st.shared.u32 [%r3], %r5; mbarrier.arrive.shared.b64 _, [m]; and.b32 %r6, %r5, 1;\n\
         wait: mbarrier.test_wait.parity.shared.b64 %p2, [m], %r6; @!%p2 bra wait; ld.shared.u32 %r7, [%r4]; add.u32 %r1, %r1, %r7; bar.sync 0;\n\
         add.u32 %r5, %r5, 1; setp.lt.u32 %p3, %r5, 3; @%p3 bra loop;",
    ),
    legal(
        "a lock of a block guards a word",
        32,
        2,
        "mov.u32 %r1, 0; setp.ne.u32 %p1, %t, 0; @%p1 ret; lock: atom.acquire.gpu.global.cas.b32 %r2, [%out+512], 0, 1; setp.ne.u32 %p2, %r2, 0; @%p2 bra lock;\n\
         ld.global.u32 %r3, [%out+516]; add.u32 %r3, %r3, 1; st.global.u32 [%out+516], %r3; atom.release.gpu.global.exch.b32 %r4, [%out+512], 0;",
    ),
    legal(
        "all blocks wait for each other by a counter",
        32,
        2,
        "setp.ne.u32 %p1, %t, 0; mov.u32 %r5, %ctaid.x; mad.wide.u32 %a1, %r5, 128, %out; mad.wide.u32 %a1, %t, 4, %a1; st.global.u32 [%a1], %t; bar.sync 0; @%p1 bra met;\n\
         fence.acq_rel.gpu; atom.relaxed.gpu.global.add.u32 %r2, [%out+1000], 1; wait: ld.relaxed.gpu.global.u32 %r3, [%out+1000]; setp.lt.u32 %p2, %r3, 2; @%p2 bra wait; fence.acq_rel.gpu;\n\
         met: bar.sync 0; xor.b32 %r5, %r5, 1; mad.wide.u32 %a1, %r5, 128, %out; mad.wide.u32 %a1, %t, 4, %a1; ld.global.u32 %r6, [%a1]; mov.u32 %r1, %r6; bar.sync 0; add.u64 %out, %out, 256;",
    ),
    legal(
        "a block uses another's atomics in shared memory of the cluster",
        32,
        2,
        ".shared .u32 c; setp.eq.u32 %p1, %t, 0; @%p1 st.shared.u32 [c], 0; barrier.cluster.arrive; barrier.cluster.wait; mov.u32 %r2, c; mov.u32 %r3, 0;\n\
         mapa.shared::cluster.u32 %r4, %r2, %r3; red.shared::cluster.add.u32 [%r4], 1; barrier.cluster.arrive; barrier.cluster.wait; ld.shared::cluster.u32 %r1, [%r4]; barrier.cluster.arrive; barrier.cluster.wait;",
    ),
    legal(
        "a bulk copy fills shared memory",
        32,
        1,
        ".shared .align 128 .b8 s[128]; .shared .align 8 .b64 m; setp.ne.u32 %p1, %t, 0; mov.u32 %r2, s; mov.u32 %r3, m; @%p1 bra go;\n\
         mbarrier.init.shared.b64 [m], 1; fence.proxy.async; mbarrier.arrive.expect_tx.shared.b64 _, [m], 128; add.u64 %a1, %out, 256;\n\
         cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r2], [%a1], 128, [%r3];\n\
         go: bar.sync 0; wait: mbarrier.try_wait.parity.shared.b64 %p2, [m], 0; @!%p2 bra wait; mad.lo.u32 %r4, %t, 4, %r2; ld.shared.u32 %r1, [%r4];",
    ),
    legal(
        "a copy fills the rest of its target with zeros",
        32,
        1,
        ".shared .align 16 .b8 s[512]; mov.u32 %r2, s; mad.lo.u32 %r3, %t, 16, %r2; mov.u32 %r4, 4; cp.async.cg.shared.global [%r3], [%out], 16, %r4; cp.async.wait_all;\n\
         ld.shared.v4.u32 {%r5, %r6, %r7, %r8}, [%r3]; add.u32 %r1, %r6, %r8; setp.ne.u32 %p1, %r1, 0; @%p1 mov.u32 %r1, 5; bar.sync 0;",
    ),
    legal(
        "a comparison of an unset value is masked by its guard",
        32,
        1,
        "setp.lt.u32 %p1, %t, 16; @%p1 mov.u32 %r2, 3; setp.eq.and.u32 %p2, %r2, 3, %p1; setp.ne.or.u32 %p3, %r2, 3, !%p1; mov.u32 %r1, 0; @%p2 mov.u32 %r1, 1; @%p3 mov.u32 %r1, 2;",
    ),
    legal(
        "a sum of a carry chain has unset parts that are multiplied by zero",
        32,
        1,
        "mul.lo.u32 %r3, %r2, 0; mad.lo.u32 %r4, %r2, 0, %t; add.cc.u32 %r5, %r3, %r4; addc.u32 %r1, %r5, 0;",
    ),
    legal(
        "a part of a warp that is not full uses a barrier with a count",
        48,
        1,
        ".shared .align 16 .b8 s[256]; mov.u32 %r2, s; mad.lo.u32 %r3, %t, 4, %r2; st.shared.u32 [%r3], %t; bar.sync 3, 64; mov.u32 %r5, 47; sub.u32 %r5, %r5, %t;\n\
         mad.lo.u32 %r5, %r5, 4, %r2; ld.shared.u32 %r1, [%r5];",
    ),
    legal(
        "threads arrive at a barrier.arrive in divergent code",
        64,
        1,
        ".shared .align 16 .b8 s[256]; mov.u32 %r2, s; mad.lo.u32 %r3, %t, 4, %r2; and.b32 %r4, %t, 31; setp.lt.u32 %p1, %t, 32; mov.u32 %r1, 0; @!%p1 bra consumer;\n\
         setp.lt.u32 %p2, %r4, 16; @%p2 bra low; st.shared.u32 [%r3], 5; barrier.arrive 1, 64; bra done; low: st.shared.u32 [%r3], 6; barrier.arrive 1, 64; bra done;\n\
         consumer: barrier.sync 1, 64; ld.shared.u32 %r1, [%r3+-128];\ndone:",
    ),
    legal(
        "an elected lane initialises a barrier that all use",
        32,
        1,
        ".shared .align 8 .b64 m; elect.sync _|%p1, -1; @%p1 mbarrier.init.shared.b64 [m], 32; bar.warp.sync -1; mbarrier.arrive.shared.b64 %a2, [m];\n\
         wait: mbarrier.test_wait.shared.b64 %p2, [m], %a2; @!%p2 bra wait; mov.u32 %r1, 1;",
    ),
    legal(
        "lanes of a branch shuffle with the mask of those that are active",
        32,
        1,
        "mov.u32 %r1, 0; setp.lt.u32 %p1, %t, 20; @!%p1 bra done; activemask.b32 %r2; shfl.sync.bfly.b32 %r3|%p2, %t, 16, 31, %r2; redux.sync.add.u32 %r4, %t, %r2;\n\
         setp.lt.u32 %p3, %t, 4; selp.u32 %r1, %r3, %r4, %p3;\ndone:",
    ),
    legal(
        "wide values are put together and taken apart",
        32,
        1,
        ".reg .b128 %w; mov.u64 %a1, 5; mov.b128 %w, {%a1, %a2}; mov.b128 {%a3, %a4}, %w; cvt.u32.u64 %r1, %a3; setp.eq.u32 %p1, %r1, 5; @%p1 add.u32 %r1, %r1, %t;",
    ),
    legal(
        "one warp raises a flag in shared memory for another",
        64,
        1,
        ".shared .u32 f; .shared .u32 s; setp.eq.u32 %p1, %t, 0; @%p1 st.shared.u32 [f], 0; bar.sync 0; mov.u32 %r1, 0; setp.eq.u32 %p2, %t, 32; @%p1 bra write; @%p2 bra read; bra done;\n\
         write: st.shared.u32 [s], 9; fence.acq_rel.cta; st.relaxed.cta.shared.u32 [f], 1; bra done;\n\
         read: ld.acquire.cta.shared.u32 %r2, [f]; setp.eq.u32 %p3, %r2, 0; @%p3 bra read; ld.shared.u32 %r1, [s];\ndone:",
    ),
    legal(
        "a generic pointer to a local variable is written by other code",
        32,
        1,
        ".local .align 8 .b8 l[32]; mov.u64 %a1, l; cvta.local.u64 %a1, %a1; st.u32 [%a1+28], %t; st.v2.u32 [%a1+8], {%t, %t}; ld.local.v2.u32 {%r2, %r3}, [l+24]; ld.u64 %a2, [%a1+8]; shr.u64 %a2, %a2, 32;\n\
         cvt.u32.u64 %r4, %a2; add.u32 %r1, %r3, %r4;",
    ),
    legal(
        "a sign is extended from defined bits only",
        32,
        1,
        ".local .align 4 .b8 l[4]; .reg .b16 %h; cvt.u16.u32 %h, %t; st.local.u8 [l+1], %h; ld.local.s8 %r2, [l+1]; ld.local.u32 %r3, [l]; shl.b32 %r3, %r3, 16; shr.s32 %r3, %r3, 24; add.s32 %r1, %r2, %r3; setp.lt.s32 %p1, %r1, 0; @%p1 neg.s32 %r1, %r1;",
    ),
    legal(
        "signs decide although the rest of a word was never set",
        32,
        1,
        "and.b32 %r3, %r2, 0x7fffffff; or.b32 %r4, %r3, 0x80000000; setp.lt.s32 %p1, %r4, 0; setp.gt.u32 %p2, %r4, %r3; setp.ne.u32 %p3, %r4, 0; mov.u32 %r1, 0; @%p1 add.u32 %r1, %r1, 1; @%p2 add.u32 %r1, %r1, 1; @%p3 add.u32 %r1, %r1, 1;",
    ),
];

/// The module of a kernel: blocks are a cluster where their memory is accessed.
fn module(own: &Legal) -> String {
    let store = "mad.wide.u32 %a1, %t, 4, %out; st.global.u32 [%a1], %r1;";
    let rank = "mov.u32 %r15, %ctaid.x; mad.wide.u32 %a7, %r15, 128, %out; mov.u64 %out, %a7;";
    let is_cluster = own.blocks > 1 && own.body.contains("cluster");
    let rank = if own.blocks > 1 && own.threads == 32 {
        rank
    } else {
        ""
    };
    let text = kernel(&format!("{}\n{rank}\n{store}", own.body));
    match is_cluster {
        true => text.replace("k_n)\n{", "k_n) .reqnctapercluster 2, 1, 1\n{"),
        false => text,
    }
}

#[test]
fn legal_kernels_are_not_reported() {
    let options = Options {
        check_uninitialized: true,
        check_races: true,
        step_limit: 10_000_000,
        ..Options::default()
    };
    let mut wrong = String::new();
    for own in KERNELS {
        let (result, _) = run_module(&module(own), own.threads, own.blocks, &options);
        match result {
            Err(trap) => wrong += &format!("{}: {trap}\n", own.name),
            Ok(report) => {
                for found in report.findings {
                    wrong += &format!("{}: line {}, {}\n", own.name, found.ptx_line, found.message);
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

/// A call with an argument and a result that are undefined in lanes that do not use them.
#[test]
fn undefined_arguments_may_be_passed_on() {
    let call = |uses: &str| {
        kernel(&format!(
            "setp.lt.u32 %p1, %t, 16; @%p1 mov.u32 %r2, 3;\n\
             {{ .param .b32 x; .param .align 8 .b8 y[16]; .param .b32 z; st.param.b32 [x], %r2; st.param.b32 [y], %t; st.param.b64 [y+8], %out;\n\
             call.uni (z), f, (x, y); ld.param.b32 %r3, [z]; }}\n{uses}\nmad.wide.u32 %a1, %t, 4, %out; st.global.u32 [%a1], %r1;"
        ))
        .replace(
            ".visible",
            ".func (.param .b32 r) f(.param .b32 a, .param .align 8 .b8 b[16])\n{\n.reg .b32 %q<4>; .reg .b64 %w;\n\
             ld.param.u32 %q1, [a]; ld.param.u32 %q2, [b]; ld.param.u64 %w, [b+8]; add.u32 %q3, %q1, %q2; st.param.b32 [r], %q3; ret;\n}\n.visible",
        )
    };
    let options = Options {
        check_uninitialized: true,
        check_races: true,
        ..Options::default()
    };
    let count = |uses: &str| {
        let (result, _) = run_module(&call(uses), 32, 1, &options);
        result
            .unwrap_or_else(|trap| panic!("{trap}"))
            .findings
            .len()
    };
    assert_eq!(count("selp.u32 %r1, %r3, 0, %p1;"), 0);
    assert_eq!(count("mov.u32 %r1, %r3;"), 1);
}

/// The uninitialised reads of a body.
fn reads(body: &str) -> usize {
    let found = findings(body, 32, 1);
    found
        .iter()
        .filter(|own| {
            own.kind == FindingKind::UninitializedRead && own.severity == Severity::Warning
        })
        .count()
}

#[test]
fn what_is_undefined_is_reported_where_it_decides() {
    let guarded = "setp.lt.u32 %p1, %t, 16; @%p1 mov.u32 %r2, 5;";
    let address = "mad.wide.u32 %a2, %r2, 4, %out; ld.global.u32 %r3, [%a2];";
    for decides in [
        "st.global.u32 [%out], %r2;",
        "add.u32 %r3, %r2, 1; st.global.u32 [%out], %r3;",
        "setp.eq.u32 %p2, %r2, 5; @%p2 mov.u32 %r4, 1;",
        "setp.eq.u32 %p2, %r2, 5; @%p2 bra on; mov.u32 %r4, 1; on:",
        "selp.u32 %r3, 0, %r2, %p1; st.global.u32 [%out], %r3;",
        "atom.global.add.u32 %r3, [%out], %r2;",
        "shfl.sync.idx.b32 %r3, %r2, 20, 31, -1; st.global.u32 [%out], %r3;",
    ] {
        assert_eq!(reads(&format!("{guarded}\n{decides}")), 1, "{decides}");
    }
    let defined = "setp.lt.u32 %p1, %t, 16; mov.u32 %r2, 1; @%p1 mov.u32 %r2, 5;";
    assert_eq!(reads(&format!("{defined}\n{address}")), 0);
    assert_eq!(reads(address), 1);
    // Through memory, and through a call.
    let memory =
        ".local .u32 l; st.local.u32 [l], %r2; ld.local.u32 %r3, [l]; st.global.u32 [%out], %r3;";
    assert_eq!(reads(&format!("{guarded}\n{memory}")), 1);
    assert_eq!(reads(&format!("{defined}\n{memory}")), 0);
    // Through a product of matrices: row 8 of 16 is undefined, and lane 0 has parts of the rows 0 and 8.
    let product = |result: &str| {
        let one = "mov.u32 %r4, 0x3c003c00; mov.f32 %f0, 0f00000000; mov.f32 %f1, %f0; mov.f32 %f2, %f0; mov.f32 %f3, %f0;";
        reads(&format!(
            "{one}\nmma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {{%f0, %f1, %f2, %f3}}, {{%r4, %r3}}, {{%r4}}, {{%f0, %f1, %f2, %f3}};\n\
             st.global.f32 [%out], {result};"
        ))
    };
    assert_eq!((product("%f1"), product("%f2")), (0, 1));
    let padding = ".local .align 8 .b8 l[16]; st.local.u64 [l], %out; st.local.u32 [l+12], %t;\n\
                   ld.local.u32 %r3, [l+8]; st.global.u32 [%out], %r3;";
    assert_eq!(reads(padding), 1);
}

#[test]
fn accesses_beside_local_variables_trap() {
    let options = Options {
        check_uninitialized: true,
        ..Options::default()
    };
    for (body, says) in [
        (
            "st.local.u32 [l+16], %t;",
            "0 bytes past the end of `l`, which has 16",
        ),
        (
            "mov.u32 %r2, l; st.local.u32 [%r2+24], %t;",
            "8 bytes past the end of `l`, which has 16",
        ),
        (
            "mov.u64 %a1, l; cvta.local.u64 %a1, %a1; ld.u32 %r2, [%a1+-4];",
            "beside the local variables",
        ),
        (
            "ld.local.u32 %r2, [m+16];",
            "0 bytes past the end of `m`, which has 16",
        ),
    ] {
        let text = kernel(&format!(
            ".local .align 4 .b8 l[16]; .local .align 4 .b8 m[16]; st.local.u32 [m], 5;\n{body}"
        ));
        let trap = run_module(&text, 1, 1, &options).0.expect_err("traps");
        assert_eq!(trap.kind, TrapKind::OutOfBounds, "{trap}");
        assert!(trap.message.contains(says), "{trap}");
    }
}
