// SPDX-License-Identifier: Apache-2.0 OR MIT
// corpus: arch=sm_80 also=O3.sm_89,O3.sm_120
// mma.sync fed by ldmatrix from a swizzled, cp.async double-buffered shared tile, all in inline assembly.

#include <cuda_fp16.h>

__device__ __forceinline__ unsigned shared_address(const void *p)
{
    return (unsigned)__cvta_generic_to_shared(p);
}

__device__ __forceinline__ void copy_16(unsigned to, const void *from, bool valid)
{
    int bytes = valid ? 16 : 0;
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(bytes));
}

__device__ __forceinline__ void ldmatrix_x4(unsigned (&r)[4], unsigned at)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(at));
}

__device__ __forceinline__ void ldmatrix_x2_trans(unsigned (&r)[2], unsigned at)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0,%1}, [%2];" : "=r"(r[0]), "=r"(r[1]) : "r"(at));
}

__device__ __forceinline__ void mma_16816(float (&d)[4], const unsigned (&a)[4], const unsigned (&b)[2])
{
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
                 "{%0,%1,%2,%3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

// One block computes a 64x64 tile with four warps; k is a multiple of 32.
extern "C" __global__ void __launch_bounds__(128) mma_pipeline(const half *a, const half *b, float *c, int n, int k)
{
    __shared__ __align__(128) half as[2][64 * 32], bs[2][32 * 64];
    int tid = threadIdx.x, lane = tid & 31, warp = tid >> 5;
    int row0 = blockIdx.y * 64, col0 = blockIdx.x * 64;
    float acc[8][4] = {};

    auto load_stage = [&](int stage, int k0) {
#pragma unroll
        for (int i = 0; i < 2; ++i) {
            int chunk = tid + i * 128;
            int r = chunk / 4, q = chunk % 4;
            copy_16(shared_address(&as[stage][r * 32 + ((q ^ ((r >> 1) & 3)) * 8)]), a + (row0 + r) * k + k0 + q * 8, true);
            r = chunk / 8, q = chunk % 8;
            copy_16(shared_address(&bs[stage][r * 64 + ((q ^ (r & 7)) * 8)]), b + (k0 + r) * n + col0 + q * 8, k0 + r < k);
        }
        asm volatile("cp.async.commit_group;");
    };

    load_stage(0, 0);
    int stages = k / 32;
    for (int s = 0; s < stages; ++s) {
        if (s + 1 < stages) {
            load_stage((s + 1) & 1, (s + 1) * 32);
            asm volatile("cp.async.wait_group 1;");
        } else {
            asm volatile("cp.async.wait_all;");
        }
        __syncthreads();
#pragma unroll
        for (int kk = 0; kk < 2; ++kk) {
            unsigned fa[4];
            int r = warp * 16 + (lane & 15), q = kk * 2 + (lane >> 4);
            ldmatrix_x4(fa, shared_address(&as[s & 1][r * 32 + ((q ^ ((r >> 1) & 3)) * 8)]));
#pragma unroll
            for (int j = 0; j < 8; ++j) {
                unsigned fb[2];
                int br = kk * 16 + (lane & 15);
                ldmatrix_x2_trans(fb, shared_address(&bs[s & 1][br * 64 + ((j ^ (br & 7)) * 8)]));
                mma_16816(acc[j], fa, fb);
            }
        }
        __syncthreads();
    }
#pragma unroll
    for (int j = 0; j < 8; ++j) {
        float *to = c + (row0 + warp * 16 + lane / 4) * n + col0 + j * 8 + (lane & 3) * 2;
        *(float2 *)to = make_float2(acc[j][0], acc[j][1]);
        *(float2 *)(to + 8 * n) = make_float2(acc[j][2], acc[j][3]);
    }
}

extern "C" __global__ void mma_shapes(const unsigned *in, unsigned *out)
{
    int t = threadIdx.x;
    unsigned a0 = in[t], a1 = in[t + 32], b0 = in[t + 64], b1 = in[t + 96];
    int c0 = 0, c1 = 1, c2 = 2, c3 = 3;
    asm volatile("mma.sync.aligned.m16n8k32.row.col.s32.s8.u8.s32.satfinite {%0,%1,%2,%3}, {%4,%5,%4,%5}, {%6,%7}, {%0,%1,%2,%3};"
                 : "+r"(c0), "+r"(c1), "+r"(c2), "+r"(c3)
                 : "r"(a0), "r"(a1), "r"(b0), "r"(b1));
    asm volatile("mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32 {%0,%1,%2,%3}, {%4,%5,%4,%5}, {%6,%7}, {%0,%1,%2,%3};"
                 : "+r"(c0), "+r"(c1), "+r"(c2), "+r"(c3)
                 : "r"(a0), "r"(a1), "r"(b0), "r"(b1));
    asm volatile("mma.sync.aligned.m8n8k128.row.col.s32.b1.b1.s32.xor.popc {%0,%1}, {%2}, {%3}, {%0,%1};"
                 : "+r"(c0), "+r"(c1)
                 : "r"(a0), "r"(b0));
    asm volatile("mma.sp.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0,%1,%2,%3}, {%4,%5}, {%6,%7}, {%0,%1,%2,%3}, %8, 0x0;"
                 : "+r"(c0), "+r"(c1), "+r"(c2), "+r"(c3)
                 : "r"(a0), "r"(a1), "r"(b0), "r"(b1), "r"(0x44444444));
    unsigned m;
    asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(m) : "r"(a0));
    out[t] = c0 ^ c1 ^ c2 ^ c3 ^ m;
}
