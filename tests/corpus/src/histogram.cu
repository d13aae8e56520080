// SPDX-License-Identifier: Apache-2.0 OR MIT
// corpus: arch=sm_80 also=O1.sm_80,O3.sm_90,O3.sm_100
// Histograms: atomics on global memory, on shared memory, one private row per warp, and bytes packed in words.

extern "C" __global__ void histogram_global(const unsigned char *data, unsigned *bins, int n)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        atomicAdd(&bins[data[i]], 1u);
}

extern "C" __global__ void histogram_shared(const unsigned char *data, unsigned *bins, int n)
{
    __shared__ unsigned local[256];
    for (int b = threadIdx.x; b < 256; b += blockDim.x)
        local[b] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        atomicAdd(&local[data[i]], 1u);
    __syncthreads();
    for (int b = threadIdx.x; b < 256; b += blockDim.x)
        if (local[b])
            atomicAdd(&bins[b], local[b]);
}

extern "C" __global__ void histogram_per_warp(const uint4 *data, unsigned *bins, int vectors)
{
    __shared__ unsigned rows[8][64];
    int warp = threadIdx.x / 32;
    for (int b = threadIdx.x; b < 8 * 64; b += blockDim.x)
        (&rows[0][0])[b] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < vectors; i += gridDim.x * blockDim.x) {
        uint4 v = data[i];
        unsigned words[4] = {v.x, v.y, v.z, v.w};
#pragma unroll
        for (int k = 0; k < 4; ++k)
#pragma unroll
            for (int b = 0; b < 4; ++b)
                atomicAdd(&rows[warp][(words[k] >> (8 * b + 2)) & 63], 1u);
    }
    __syncthreads();
    if (threadIdx.x < 64) {
        unsigned sum = 0;
        for (int w = 0; w < 8; ++w)
            sum += rows[w][threadIdx.x];
        atomicAdd(&bins[threadIdx.x], sum);
    }
}

extern "C" __global__ void atomic_kinds(int *i32, unsigned *u32, unsigned long long *u64, float *f32, double *f64)
{
    int t = threadIdx.x;
    atomicMin(&i32[0], t - 7);
    atomicMax(&i32[1], t * 3);
    atomicAnd(&u32[0], ~(1u << (t & 31)));
    atomicOr(&u32[1], 1u << (t & 31));
    atomicXor(&u32[2], t);
    atomicInc(&u32[3], 17);
    atomicDec(&u32[4], 9);
    atomicAdd(&u64[0], 1ull << (t & 31));
    atomicMax(&u64[1], (unsigned long long)t << 33);
    atomicAdd(&f32[0], 1.f);
    atomicAdd(&f64[0], 0.5);
    atomicExch(&u32[8 + t], (unsigned)t);
    i32[8 + t] = atomicCAS(&i32[2 + (t & 1)], 0, 9) != -1;
    atomicAdd_block(&i32[4], 1);
    atomicAdd_system(&i32[5], 2);
}
