// SPDX-License-Identifier: Apache-2.0 OR MIT
// corpus: arch=sm_80
// Fast Fourier transforms: radix-2 in shared memory with bit reversal, and one radix-4 butterfly pass.

__device__ __forceinline__ float2 multiply(float2 a, float2 b)
{
    return make_float2(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x);
}

extern "C" __global__ void fft_radix2(const float2 *in, float2 *out, int log2n, float direction)
{
    extern __shared__ float2 data[];
    int n = 1 << log2n, t = threadIdx.x;
    for (int i = t; i < n; i += blockDim.x)
        data[__brev(i) >> (32 - log2n)] = in[blockIdx.x * n + i];
    for (int half = 1; half < n; half <<= 1) {
        __syncthreads();
        for (int i = t; i < n / 2; i += blockDim.x) {
            int pos = i & (half - 1), top = ((i - pos) << 1) + pos;
            float s, c;
            sincosf(direction * 3.14159265358979f * pos / half, &s, &c);
            float2 u = data[top], v = multiply(data[top + half], make_float2(c, s));
            data[top] = make_float2(u.x + v.x, u.y + v.y);
            data[top + half] = make_float2(u.x - v.x, u.y - v.y);
        }
    }
    __syncthreads();
    for (int i = t; i < n; i += blockDim.x)
        out[blockIdx.x * n + i] = data[i];
}

extern "C" __global__ void fft_radix4_pass(const float2 *__restrict__ in, float2 *__restrict__ out, int quarter, int stride)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= quarter)
        return;
    int pos = i & (stride - 1);
    float angle = -1.5707963267949f * pos / stride;
    float2 w1, w2, w3;
    __sincosf(angle, &w1.y, &w1.x);
    w2 = multiply(w1, w1);
    w3 = multiply(w2, w1);
    float2 a = in[i], b = multiply(in[i + quarter], w1), c = multiply(in[i + 2 * quarter], w2),
           d = multiply(in[i + 3 * quarter], w3);
    float2 ac = {a.x + c.x, a.y + c.y}, am = {a.x - c.x, a.y - c.y};
    float2 bd = {b.x + d.x, b.y + d.y}, bm = {b.y - d.y, d.x - b.x};
    int to = ((i - pos) << 2) + pos;
    out[to] = make_float2(ac.x + bd.x, ac.y + bd.y);
    out[to + stride] = make_float2(am.x + bm.x, am.y + bm.y);
    out[to + 2 * stride] = make_float2(ac.x - bd.x, ac.y - bd.y);
    out[to + 3 * stride] = make_float2(am.x - bm.x, am.y - bm.y);
}
