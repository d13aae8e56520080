// SPDX-License-Identifier: Apache-2.0 OR MIT
// corpus: arch=sm_80
// Layer normalisation (Welford) and RMS normalisation over rows.

__device__ __forceinline__ void combine(float &mean, float &m2, float &count, float om, float o2, float oc)
{
    float total = count + oc;
    if (total == 0.f)
        return;
    float delta = om - mean;
    mean += delta * oc / total;
    m2 += o2 + delta * delta * count * oc / total;
    count = total;
}

extern "C" __global__ void layernorm(const float *in, const float *gamma, const float *beta, float *out, int cols, float eps)
{
    __shared__ float means[32], squares[32], counts[32];
    const float *row = in + blockIdx.x * cols;
    float mean = 0, m2 = 0, count = 0;
    for (int i = threadIdx.x; i < cols; i += blockDim.x) {
        float v = row[i];
        count += 1.f;
        float d = v - mean;
        mean += d / count;
        m2 += d * (v - mean);
    }
    for (int d = 16; d; d >>= 1)
        combine(mean, m2, count, __shfl_down_sync(~0u, mean, d), __shfl_down_sync(~0u, m2, d),
                __shfl_down_sync(~0u, count, d));
    int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    if (lane == 0)
        means[warp] = mean, squares[warp] = m2, counts[warp] = count;
    __syncthreads();
    mean = m2 = count = 0;
    for (int w = 0; w < blockDim.x / 32; ++w)
        combine(mean, m2, count, means[w], squares[w], counts[w]);
    float scale = rsqrtf(m2 / count + eps);
    for (int i = threadIdx.x; i < cols; i += blockDim.x)
        out[blockIdx.x * cols + i] = (row[i] - mean) * scale * gamma[i] + beta[i];
}

extern "C" __global__ void rmsnorm(const float2 *__restrict__ in, const float2 *__restrict__ gamma, float2 *__restrict__ out, int pairs)
{
    __shared__ float partial[8];
    in += blockIdx.x * pairs;
    out += blockIdx.x * pairs;
    float sum = 0;
    for (int i = threadIdx.x; i < pairs; i += blockDim.x)
        sum += in[i].x * in[i].x + in[i].y * in[i].y;
    for (int d = 16; d; d >>= 1)
        sum += __shfl_xor_sync(~0u, sum, d);
    if (threadIdx.x % 32 == 0)
        partial[threadIdx.x / 32] = sum;
    __syncthreads();
    sum = 0;
    for (int w = 0; w < blockDim.x / 32; ++w)
        sum += partial[w];
    float scale = 1.f / sqrtf(sum / (2 * pairs) + 1e-6f);
    for (int i = threadIdx.x; i < pairs; i += blockDim.x)
        out[i] = make_float2(in[i].x * scale * gamma[i].x, in[i].y * scale * gamma[i].y);
}
