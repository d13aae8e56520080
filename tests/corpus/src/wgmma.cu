// SPDX-License-Identifier: Apache-2.0 OR MIT
// corpus: arch=sm_90a
// Warpgroup matrix products: both operands from shared memory, A from registers, several shapes and types.

#include <cuda_fp16.h>

__device__ __forceinline__ unsigned long long descriptor(const void *p)
{
    unsigned long long a = (unsigned)__cvta_generic_to_shared(p);
    return ((a & 0x3FFFF) >> 4) | (1ull << 16) | (64ull << 32) | (1ull << 62);
}

extern "C" __global__ void __launch_bounds__(128) wgmma_m64n16(const half *a, const half *b, float *c, int k)
{
    __shared__ __align__(1024) half as[64 * 64], bs[64 * 16];
    int t = threadIdx.x;
    float d[8] = {};
    for (int base = 0; base < k; base += 64) {
        for (int i = t; i < 64 * 64 / 8; i += 128) {
            int r = i / 8, q = i % 8;
            *(uint4 *)&as[r * 64 + ((q ^ (r & 7)) * 8)] = *(const uint4 *)&a[(blockIdx.x * 64 + r) * k + base + q * 8];
        }
        for (int i = t; i < 16 * 64 / 8; i += 128) {
            int r = i / 8, q = i % 8;
            *(uint4 *)&bs[r * 64 + ((q ^ (r & 7)) * 8)] = *(const uint4 *)&b[r * k + base + q * 8];
        }
        asm volatile("fence.proxy.async;" ::: "memory");
        __syncthreads();
        asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll
        for (int kk = 0; kk < 4; ++kk) {
            asm volatile("{\n"
                         ".reg .pred p;\n"
                         "setp.ne.b32 p, %10, 0;\n"
                         "wgmma.mma_async.sync.aligned.m64n16k16.f32.f16.f16\n"
                         " {%0, %1, %2, %3, %4, %5, %6, %7},\n"
                         " %8, %9, p, 1, 1, 0, 0;\n"
                         "}"
                         : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7])
                         : "l"(descriptor(as + kk * 16)), "l"(descriptor(bs + kk * 16)), "r"(1));
        }
        asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
        asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
        __syncthreads();
    }
    int row = (t / 32) * 16 + (t % 32) / 4, col = (t % 4) * 2;
#pragma unroll
    for (int j = 0; j < 2; ++j) {
        float *to = c + (blockIdx.x * 64 + row) * 16 + j * 8 + col;
        to[0] = d[4 * j], to[1] = d[4 * j + 1];
        to[8 * 16] = d[4 * j + 2], to[8 * 16 + 1] = d[4 * j + 3];
    }
}

extern "C" __global__ void __launch_bounds__(128) wgmma_from_registers(const unsigned *in, int *out)
{
    __shared__ __align__(1024) unsigned char bs[32 * 128];
    int t = threadIdx.x, d[16] = {};
    unsigned a[4] = {in[t], in[t + 128], in[t + 256], in[t + 384]};
    for (int i = t; i < 1024; i += 128)
        ((unsigned *)bs)[i] = in[512 + i];
    asm volatile("fence.proxy.async;" ::: "memory");
    __syncthreads();
    unsigned long long desc = descriptor(bs);
    asm volatile("wgmma.fence.sync.aligned;\n\t"
                 "wgmma.mma_async.sync.aligned.m64n32k32.s32.s8.s8 {%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15}, {%16,%17,%18,%19}, %20, 1;\n\t"
                 "wgmma.commit_group.sync.aligned;\n\t"
                 "wgmma.wait_group.sync.aligned 0;"
                 : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3]), "+r"(d[4]), "+r"(d[5]), "+r"(d[6]), "+r"(d[7]), "+r"(d[8]), "+r"(d[9]), "+r"(d[10]),
                   "+r"(d[11]), "+r"(d[12]), "+r"(d[13]), "+r"(d[14]), "+r"(d[15])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(desc)
                 : "memory");
    for (int i = 0; i < 16; ++i)
        out[t * 16 + i] = d[i];
}

extern "C" __global__ void __launch_bounds__(128) wgmma_fp8(unsigned long long a, unsigned long long b, float *out)
{
    float d[4] = {1, 2, 3, 4};
    unsigned h[2] = {};
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
    asm volatile("wgmma.mma_async.sync.aligned.m64n8k32.f32.e4m3.e5m2 {%0,%1,%2,%3}, %4, %5, 1, -1, 1;" : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "l"(a), "l"(b));
    asm volatile("wgmma.mma_async.sync.aligned.m64n8k16.f16.f16.f16 {%0,%1}, %2, %3, 0, 1, 1, 1, 0;" : "+r"(h[0]), "+r"(h[1]) : "l"(a), "l"(b));
    asm volatile("wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;" ::: "memory");
    asm volatile("stmatrix.sync.aligned.m8n8.x2.shared.b16 [%0], {%1, %2};" ::"r"(threadIdx.x * 16), "r"(h[0]), "r"(h[1]) : "memory");
    out[threadIdx.x] = d[0] + d[1] + d[2] + d[3] + h[0];
}
