// SPDX-License-Identifier: Apache-2.0 OR MIT
// corpus: arch=sm_90
// Launch attributes: .maxntid, .minnctapersm, .maxnreg, .reqntid, cluster dimensions, grid constants.

extern "C" __global__ void __launch_bounds__(128) bounded(float *p) { p[threadIdx.x] *= 2.f; }
extern "C" __global__ void __launch_bounds__(256, 4) bounded_occupancy(float *p) { p[threadIdx.x] *= 3.f; }
extern "C" __global__ void __launch_bounds__(128, 2, 4) bounded_cluster(float *p) { p[threadIdx.x] *= 5.f; }
extern "C" __global__ void __maxnreg__(40) bounded_registers(const float *in, float *out)
{
    float r[24];
#pragma unroll
    for (int i = 0; i < 24; ++i)
        r[i] = in[threadIdx.x * 24 + i];
    float s = 0;
#pragma unroll
    for (int i = 0; i < 24; ++i)
#pragma unroll
        for (int j = 0; j < 24; j += 5)
            s += r[i] * r[j];
    out[threadIdx.x] = s;
}
extern "C" __global__ void __block_size__((32, 4, 1)) exact_block(int *p) { p[threadIdx.y * 32 + threadIdx.x] += blockIdx.x; }
extern "C" __global__ void __cluster_dims__(2, 1, 1) clustered(int *p)
{
    unsigned rank, size;
    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    asm("mov.u32 %0, %%cluster_nctarank;" : "=r"(size));
    p[blockIdx.x * blockDim.x + threadIdx.x] = rank * 100 + size;
}

struct Settings { int scale[64]; float bias; };
extern "C" __global__ void grid_constant(const __grid_constant__ Settings settings, float *out)
{
    out[threadIdx.x] = settings.scale[threadIdx.x & 63] * 2.f + settings.bias;
}
extern "C" __global__ void large_parameters(Settings a, Settings b, char c, short d, double e, float *out)
{
    out[threadIdx.x] = a.scale[threadIdx.x & 63] - b.scale[(threadIdx.x + 1) & 63] + c + d + (float)e;
}
extern "C" __global__ void empty() {}
extern "C" __global__ void early_exit(int *p, int n)
{
    if (threadIdx.x >= n)
        asm volatile("exit;");
    p[threadIdx.x] = n;
}
