// SPDX-License-Identifier: Apache-2.0 OR MIT
// corpus: arch=sm_80 also=O1.sm_80
// Prefix sums: Hillis-Steele with two buffers, Blelloch with padding against bank conflicts, and by warps.

extern "C" __global__ void scan_hillis_steele(const int *in, int *out, int n)
{
    extern __shared__ int buffer[];
    int t = threadIdx.x, from = 0, to = 1;
    buffer[t] = t > 0 && t < n ? in[t - 1] : 0;
    __syncthreads();
    for (int d = 1; d < n; d <<= 1) {
        to = 1 - to;
        from = 1 - to;
        if (t >= d)
            buffer[from * n + t] = buffer[to * n + t] + buffer[to * n + t - d];
        else
            buffer[from * n + t] = buffer[to * n + t];
        __syncthreads();
    }
    if (t < n)
        out[t] = buffer[from * n + t];
}

#define PADDED(i) ((i) + ((i) >> 5))

extern "C" __global__ void scan_blelloch(const unsigned *in, unsigned *out, unsigned *totals)
{
    __shared__ unsigned s[PADDED(512)];
    int t = threadIdx.x, base = blockIdx.x * 512;
    s[PADDED(t)] = in[base + t];
    s[PADDED(t + 256)] = in[base + t + 256];
    int step = 1;
    for (int d = 256; d > 0; d >>= 1) {
        __syncthreads();
        if (t < d)
            s[PADDED(step * (2 * t + 2) - 1)] += s[PADDED(step * (2 * t + 1) - 1)];
        step *= 2;
    }
    if (t == 0) {
        totals[blockIdx.x] = s[PADDED(511)];
        s[PADDED(511)] = 0;
    }
    for (int d = 1; d < 512; d *= 2) {
        step >>= 1;
        __syncthreads();
        if (t < d) {
            int left = PADDED(step * (2 * t + 1) - 1), right = PADDED(step * (2 * t + 2) - 1);
            unsigned keep = s[left];
            s[left] = s[right];
            s[right] += keep;
        }
    }
    __syncthreads();
    out[base + t] = s[PADDED(t)];
    out[base + t + 256] = s[PADDED(t + 256)];
}

extern "C" __global__ void scan_warps(const float *in, float *out, int n)
{
    __shared__ float warps[32];
    int i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    float v = i < n ? in[i] : 0.f;
#pragma unroll
    for (int d = 1; d < 32; d <<= 1) {
        float below = __shfl_up_sync(~0u, v, d);
        if (lane >= d)
            v += below;
    }
    if (lane == 31)
        warps[warp] = v;
    __syncthreads();
    float before = 0;
    for (int k = 0; k < warp; ++k)
        before += warps[k];
    if (i < n)
        out[i] = before + v;
}
