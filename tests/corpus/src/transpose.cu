// SPDX-License-Identifier: Apache-2.0 OR MIT
// corpus: arch=sm_80 also=O1.sm_80,O3.sm_75,O3.sm_120
// Matrix transposes: uncoalesced, 32-way bank conflict, padded, and xor-swizzled.

#define TILE 32
#define ROWS 8

extern "C" __global__ void transpose_naive(const float *in, float *out, int width, int height)
{
    int x = blockIdx.x * TILE + threadIdx.x, y = blockIdx.y * TILE + threadIdx.y;
    for (int k = 0; k < TILE; k += ROWS)
        if (x < width && y + k < height)
            out[x * height + y + k] = in[(y + k) * width + x];
}

extern "C" __global__ void transpose_shared(const float *in, float *out, int width, int height)
{
    __shared__ float tile[TILE][TILE];
    int x = blockIdx.x * TILE + threadIdx.x, y = blockIdx.y * TILE + threadIdx.y;
    for (int k = 0; k < TILE; k += ROWS)
        tile[threadIdx.y + k][threadIdx.x] = in[(y + k) * width + x];
    __syncthreads();
    x = blockIdx.y * TILE + threadIdx.x;
    y = blockIdx.x * TILE + threadIdx.y;
    for (int k = 0; k < TILE; k += ROWS)
        out[(y + k) * height + x] = tile[threadIdx.x][threadIdx.y + k];
}

extern "C" __global__ void transpose_padded(const float *in, float *out, int width, int height)
{
    __shared__ float tile[TILE][TILE + 1];
    int x = blockIdx.x * TILE + threadIdx.x, y = blockIdx.y * TILE + threadIdx.y;
#pragma unroll
    for (int k = 0; k < TILE; k += ROWS)
        tile[threadIdx.y + k][threadIdx.x] = in[(y + k) * width + x];
    __syncthreads();
    x = blockIdx.y * TILE + threadIdx.x;
    y = blockIdx.x * TILE + threadIdx.y;
#pragma unroll
    for (int k = 0; k < TILE; k += ROWS)
        out[(y + k) * height + x] = tile[threadIdx.x][threadIdx.y + k];
}

extern "C" __global__ void __launch_bounds__(256) transpose_swizzled(const float *in, float *out, int width, int height)
{
    __shared__ float tile[TILE * TILE];
    int tx = threadIdx.x, ty = threadIdx.y;
    int x = blockIdx.x * TILE + tx, y = blockIdx.y * TILE + ty;
#pragma unroll
    for (int k = 0; k < TILE; k += ROWS)
        tile[(ty + k) * TILE + (tx ^ (ty + k))] = in[(y + k) * width + x];
    __syncthreads();
    x = blockIdx.y * TILE + tx;
    y = blockIdx.x * TILE + ty;
#pragma unroll
    for (int k = 0; k < TILE; k += ROWS)
        out[(y + k) * height + x] = tile[tx * TILE + ((ty + k) ^ tx)];
}
