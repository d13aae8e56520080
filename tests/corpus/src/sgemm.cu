// SPDX-License-Identifier: Apache-2.0 OR MIT
// corpus: arch=sm_80 also=O1.sm_80,O3.sm_90,O3.sm_100
// Single-precision matrix products: naive, tiled through shared memory, and with every kind of edge.

extern "C" __global__ void sgemm_naive(int m, int n, int k, float alpha, const float *a, const float *b, float beta,
                                       float *c)
{
    int col = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row >= m || col >= n)
        return;
    float sum = 0;
    for (int i = 0; i < k; ++i)
        sum += a[row * k + i] * b[i * n + col];
    c[row * n + col] = alpha * sum + beta * c[row * n + col];
}

extern "C" __global__ void sgemm_tiled(int m, int n, int k, const float *a, const float *b, float *c)
{
    __shared__ float as[16][16], bs[16][16];
    int tx = threadIdx.x, ty = threadIdx.y;
    int col = blockIdx.x * 16 + tx, row = blockIdx.y * 16 + ty;
    float sum = 0;
    for (int base = 0; base < k; base += 16) {
        as[ty][tx] = row < m && base + tx < k ? a[row * k + base + tx] : 0.f;
        bs[ty][tx] = col < n && base + ty < k ? b[(base + ty) * n + col] : 0.f;
        __syncthreads();
#pragma unroll
        for (int i = 0; i < 16; ++i)
            sum += as[ty][i] * bs[i][tx];
        __syncthreads();
    }
    if (row < m && col < n)
        c[row * n + col] = sum;
}

extern "C" __global__ void sgemv_rows(int m, int n, const float *__restrict__ a, const float *__restrict__ x,
                                      float *__restrict__ y)
{
    int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x & 31;
    if (row >= m)
        return;
    float sum = 0;
    for (int i = lane; i < n; i += 32)
        sum += a[(size_t)row * n + i] * x[i];
    for (int d = 16; d; d /= 2)
        sum += __shfl_down_sync(~0u, sum, d);
    if (lane == 0)
        y[row] = sum;
}
