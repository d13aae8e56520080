// SPDX-License-Identifier: Apache-2.0 OR MIT
// corpus: arch=sm_80 also=O1.sm_80,O3.sm_90,O3.sm_100,fast.sm_80
// Attention with an online softmax: one query per thread, keys and values staged through shared memory.

template <int Dim, int Block>
__device__ void attention_tile(const float *q, const float *k, const float *v, float *o, int length, float scale, bool causal)
{
    __shared__ float ks[Block][Dim], vs[Block][Dim];
    int row = blockIdx.x * Block + threadIdx.x;
    size_t head = (size_t)blockIdx.y * length * Dim;
    float query[Dim], acc[Dim], m = -1e30f, sum = 0;
#pragma unroll
    for (int d = 0; d < Dim; ++d) {
        query[d] = row < length ? q[head + row * Dim + d] * scale : 0.f;
        acc[d] = 0;
    }
    for (int base = 0; base < length; base += Block) {
        for (int i = threadIdx.x; i < Block * Dim; i += Block) {
            bool valid = base + i / Dim < length;
            ks[i / Dim][i % Dim] = valid ? k[head + base * Dim + i] : 0.f;
            vs[i / Dim][i % Dim] = valid ? v[head + base * Dim + i] : 0.f;
        }
        __syncthreads();
        int last = min(Block, length - base);
        for (int j = 0; j < last; ++j) {
            if (causal && base + j > row)
                break;
            float score = 0;
#pragma unroll
            for (int d = 0; d < Dim; ++d)
                score = fmaf(query[d], ks[j][d], score);
            float next = fmaxf(m, score), keep = exp2f(m - next), p = exp2f(score - next);
            sum = sum * keep + p;
#pragma unroll
            for (int d = 0; d < Dim; ++d)
                acc[d] = acc[d] * keep + p * vs[j][d];
            m = next;
        }
        __syncthreads();
    }
    if (row < length)
#pragma unroll
        for (int d = 0; d < Dim; ++d)
            o[head + row * Dim + d] = acc[d] / sum;
}

extern "C" __global__ void __launch_bounds__(64) attention_16(const float *q, const float *k, const float *v, float *o, int length, float scale)
{
    attention_tile<16, 64>(q, k, v, o, length, scale, false);
}

extern "C" __global__ void __launch_bounds__(32) attention_causal_8(const float *q, const float *k, const float *v, float *o, int length, float scale)
{
    attention_tile<8, 32>(q, k, v, o, length, scale, true);
}
