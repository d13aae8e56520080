// SPDX-License-Identifier: Apache-2.0 OR MIT
// corpus: arch=sm_90a
// Hopper's asynchronous copies: mbarrier, tensor and linear bulk copies, multicast, reductions, in inline assembly.

#include <cuda.h>

__device__ __forceinline__ unsigned address(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }

__device__ __forceinline__ void barrier_init(unsigned long long *bar, unsigned count)
{
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(address(bar)), "r"(count));
}

__device__ __forceinline__ void barrier_expect(unsigned long long *bar, unsigned bytes)
{
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(address(bar)), "r"(bytes) : "memory");
}

__device__ __forceinline__ void barrier_wait(unsigned long long *bar, unsigned phase)
{
    asm volatile("{\n"
                 ".reg .pred done;\n"
                 "retry_%=:\n"
                 "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1, 0x989680;\n"
                 "@done bra.uni finished_%=;\n"
                 "bra.uni retry_%=;\n"
                 "finished_%=:\n"
                 "}" ::"r"(address(bar)), "r"(phase)
                 : "memory");
}

extern "C" __global__ void __launch_bounds__(128) tma_tile(const __grid_constant__ CUtensorMap map, float *out, int tiles)
{
    __shared__ __align__(128) float tile[2][32 * 32];
    __shared__ __align__(8) unsigned long long bars[2];
    if (threadIdx.x == 0) {
        barrier_init(&bars[0], 1);
        barrier_init(&bars[1], 1);
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
        asm volatile("prefetch.tensormap [%0];" ::"l"(&map) : "memory");
    }
    __syncthreads();
    float sum = 0;
    for (int k = 0; k < tiles; ++k) {
        int s = k & 1;
        if (threadIdx.x == 0) {
            barrier_expect(&bars[s], sizeof(tile[0]));
            asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];" ::"r"(
                             address(tile[s])),
                         "l"(&map), "r"(k * 32), "r"(blockIdx.x * 32), "r"(address(&bars[s]))
                         : "memory");
        }
        barrier_wait(&bars[s], (k >> 1) & 1);
        for (int i = threadIdx.x; i < 1024; i += blockDim.x)
            sum += tile[s][i];
        __syncthreads();
    }
    tile[0][threadIdx.x] = sum;
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    if (threadIdx.x == 0) {
        asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%1, %2}], [%3];" ::"l"(&map), "r"(0), "r"(blockIdx.x * 32),
                     "r"(address(tile[0]))
                     : "memory");
        asm volatile("cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.tile.bulk_group [%0, {%1, %2}], [%3];" ::"l"(&map), "r"(32),
                     "r"(blockIdx.x * 32), "r"(address(tile[0]))
                     : "memory");
        asm volatile("cp.async.bulk.commit_group;");
        asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
    }
    out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

// The linear bulk copy needs no descriptor.
extern "C" __global__ void bulk_copy(const int *in, int *out, int *sums)
{
    __shared__ __align__(16) int data[256];
    __shared__ __align__(8) unsigned long long bar;
    if (threadIdx.x == 0) {
        barrier_init(&bar, 1);
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        barrier_expect(&bar, 1024);
        asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(address(data)),
                     "l"(in + blockIdx.x * 256), "r"(1024), "r"(address(&bar))
                     : "memory");
    }
    barrier_wait(&bar, 0);
    for (int i = threadIdx.x; i < 256; i += blockDim.x)
        data[i] = data[i] * 3 + 1;
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    if (threadIdx.x == 0) {
        asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(out + blockIdx.x * 256), "r"(address(data)), "r"(1024) : "memory");
        asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.s32 [%0], [%1], %2;" ::"l"(sums), "r"(address(data)), "r"(1024) : "memory");
        asm volatile("cp.async.bulk.commit_group;\n\tcp.async.bulk.wait_group 0;" ::: "memory");
    }
}

extern "C" __global__ void tma_shapes(const __grid_constant__ CUtensorMap map, int *out)
{
    __shared__ __align__(128) int data[1024];
    __shared__ __align__(8) unsigned long long bar;
    unsigned d = address(data), b = address(&bar);
    const CUtensorMap *m = &map;
    unsigned long long policy;
    asm volatile("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
    asm volatile("cp.async.bulk.tensor.1d.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint [%0], [%1, {%2}], [%3], %4;" ::"r"(d), "l"(m), "r"(4),
                 "r"(b), "l"(policy)
                 : "memory");
    asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1, {%2, %3, %4}], [%5], %6;" ::"r"(d), "l"(m),
                 "r"(1), "r"(2), "r"(3), "r"(b), "h"((short)3)
                 : "memory");
    asm volatile("cp.async.bulk.tensor.4d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3, %4, %5}], [%6], {%7, %8};" ::"r"(d), "l"(m),
                 "r"(1), "r"(2), "r"(3), "r"(4), "r"(b), "h"((short)1), "h"((short)2)
                 : "memory");
    asm volatile("cp.async.bulk.prefetch.tensor.2d.L2.global [%0, {%1, %2}];" ::"l"(m), "r"(1), "r"(2) : "memory");
    asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0], 1;" ::"r"(b) : "memory");
    unsigned long long state;
    unsigned ready;
    asm volatile("mbarrier.arrive.shared.b64 %0, [%1];" : "=l"(state) : "r"(b) : "memory");
    asm volatile("{ .reg .pred p; mbarrier.test_wait.shared.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }" : "=r"(ready) : "r"(b), "l"(state) : "memory");
    asm volatile("mbarrier.inval.shared.b64 [%0];" ::"r"(b) : "memory");
    asm volatile("griddepcontrol.wait; griddepcontrol.launch_dependents;" ::: "memory");
    asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
    unsigned leader;
    asm volatile("{ .reg .pred p; .reg .b32 lane; elect.sync lane|p, 0xffffffff; selp.u32 %0, lane, -1, p; elect.sync _|p, -1; @p add.u32 %0, %0, 1; }" : "=r"(leader));
    out[threadIdx.x + 32] = leader;
    out[threadIdx.x] = ready + data[threadIdx.x];
}
