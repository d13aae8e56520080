// SPDX-License-Identifier: Apache-2.0 OR MIT
// corpus: arch=sm_80 also=O1.sm_80,fast.sm_80
// Row softmax: three passes with shared memory, and online with one warp per row.

extern "C" __global__ void softmax_block(const float *in, float *out, int cols)
{
    extern __shared__ float s[];
    const float *row = in + (size_t)blockIdx.x * cols;
    int t = threadIdx.x;
    float m = -INFINITY;
    for (int i = t; i < cols; i += blockDim.x)
        m = fmaxf(m, row[i]);
    s[t] = m;
    __syncthreads();
    for (int d = blockDim.x / 2; d; d >>= 1) {
        if (t < d)
            s[t] = fmaxf(s[t], s[t + d]);
        __syncthreads();
    }
    m = s[0];
    __syncthreads();
    float sum = 0;
    for (int i = t; i < cols; i += blockDim.x)
        sum += expf(row[i] - m);
    s[t] = sum;
    __syncthreads();
    for (int d = blockDim.x / 2; d; d >>= 1) {
        if (t < d)
            s[t] += s[t + d];
        __syncthreads();
    }
    float scale = 1.f / s[0];
    for (int i = t; i < cols; i += blockDim.x)
        out[(size_t)blockIdx.x * cols + i] = expf(row[i] - m) * scale;
}

extern "C" __global__ void softmax_online(const float *__restrict__ in, float *__restrict__ out, int rows, int cols)
{
    int row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32, lane = threadIdx.x & 31;
    if (row >= rows)
        return;
    float m = -INFINITY, sum = 0;
    for (int i = lane; i < cols; i += 32) {
        float v = in[row * cols + i], next = fmaxf(m, v);
        sum = sum * __expf(m - next) + __expf(v - next);
        m = next;
    }
#pragma unroll
    for (int d = 16; d; d >>= 1) {
        float om = __shfl_xor_sync(~0u, m, d), os = __shfl_xor_sync(~0u, sum, d);
        float next = fmaxf(m, om);
        sum = sum * __expf(m - next) + os * __expf(om - next);
        m = next;
    }
    for (int i = lane; i < cols; i += 32)
        out[row * cols + i] = __fdividef(__expf(in[row * cols + i] - m), sum);
}
