// SPDX-License-Identifier: Apache-2.0 OR MIT
// corpus: arch=sm_80 also=O1.sm_80,O3.sm_120
// Reductions inside a warp: shuffles in every mode, redux, and the block reduction built on them.

__device__ __forceinline__ float warp_sum(float v)
{
    for (int d = 16; d; d >>= 1)
        v += __shfl_xor_sync(0xffffffffu, v, d);
    return v;
}

extern "C" __global__ void block_sum(const float *in, float *out, int n)
{
    __shared__ float partial[32];
    int i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    float v = warp_sum(i < n ? in[i] : 0.f);
    if (lane == 0)
        partial[warp] = v;
    __syncthreads();
    if (warp == 0) {
        v = lane < (blockDim.x + 31) / 32 ? partial[lane] : 0.f;
        v = warp_sum(v);
        if (lane == 0)
            out[blockIdx.x] = v;
    }
}

extern "C" __global__ void warp_redux(const int *in, int *sums, int *minima, unsigned *bits)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int v = in[i];
    int s = __reduce_add_sync(~0u, v);
    int m = __reduce_min_sync(~0u, v);
    unsigned o = __reduce_or_sync(~0u, (unsigned)v) ^ __reduce_and_sync(~0u, (unsigned)v);
    if ((threadIdx.x & 31) == 0) {
        sums[i >> 5] = s;
        minima[i >> 5] = m;
        bits[i >> 5] = o;
    }
}

extern "C" __global__ void shuffle_modes(const int *in, int *out, int width_log2)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int v = in[i];
    int a = __shfl_up_sync(~0u, v, 1, 16);
    int b = __shfl_down_sync(~0u, v, 3);
    int c = __shfl_sync(~0u, v, v & 31);
    long long d = __shfl_xor_sync(~0u, (long long)v * 0x100000001ll, 1 << (width_log2 & 3));
    out[i] = a ^ (b << 1) ^ (c << 2) ^ (int)(d >> 32);
}

extern "C" __global__ void dot_double(const double *a, const double *b, double *out, int n)
{
    double s = 0;
    for (int i = threadIdx.x; i < n; i += 32)
        s = fma(a[i], b[i], s);
    for (int d = 1; d < 32; d <<= 1)
        s += __shfl_down_sync(~0u, s, d);
    if (threadIdx.x == 0)
        *out = s;
}
