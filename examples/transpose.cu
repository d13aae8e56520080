// SPDX-License-Identifier: Apache-2.0 OR MIT
// Compiled by `nvcc -ptx -lineinfo -arch=sm_90 transpose.cu`; transpose_padded.ptx with `-DPADDING=1`.
#ifndef PADDING
#define PADDING 0
#endif

extern "C" __global__ void __launch_bounds__(256)
transpose(float *out, const float *in, int n) {
    __shared__ float tile[32][32 + PADDING];
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
    #pragma unroll 1
    for (int j = 0; j < 32; j += 8)
        tile[threadIdx.y + j][threadIdx.x] = in[(y + j) * n + x];
    __syncthreads();
    x = blockIdx.y * 32 + threadIdx.x, y = blockIdx.x * 32 + threadIdx.y;
    #pragma unroll 1
    for (int j = 0; j < 32; j += 8)
        out[(y + j) * n + x] = tile[threadIdx.x][threadIdx.y + j];
}
