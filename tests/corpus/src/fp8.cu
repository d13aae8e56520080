// SPDX-License-Identifier: Apache-2.0 OR MIT
// corpus: arch=sm_90 also=O3.sm_100a,O3.sm_120a
// 8-bit floating point: both formats, conversions in both directions, a quantizer with a per-row scale.

#include <cuda_fp16.h>
#include <cuda_fp8.h>

extern "C" __global__ void fp8_roundtrip(const float *in, __nv_fp8_storage_t *e4m3, __nv_fp8_storage_t *e5m2, float *back, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    __nv_fp8_e4m3 a(in[i]);
    __nv_fp8_e5m2 b(in[i]);
    e4m3[i] = a.__x;
    e5m2[i] = b.__x;
    back[i] = float(a) - float(b);
}

extern "C" __global__ void fp8_quantize(const float4 *in, __nv_fp8x4_e4m3 *out, float *scales, int quads)
{
    __shared__ float peak[32];
    int row = blockIdx.x, t = threadIdx.x;
    float m = 0;
    for (int i = t; i < quads; i += blockDim.x) {
        float4 v = in[row * quads + i];
        m = fmaxf(fmaxf(fmaxf(m, fabsf(v.x)), fmaxf(fabsf(v.y), fabsf(v.z))), fabsf(v.w));
    }
    for (int d = 16; d; d >>= 1)
        m = fmaxf(m, __shfl_xor_sync(~0u, m, d));
    if ((t & 31) == 0)
        peak[t >> 5] = m;
    __syncthreads();
    for (int w = 0; w < blockDim.x / 32; ++w)
        m = fmaxf(m, peak[w]);
    float scale = m > 0 ? 448.f / m : 1.f;
    for (int i = t; i < quads; i += blockDim.x) {
        float4 v = in[row * quads + i];
        out[row * quads + i] = __nv_fp8x4_e4m3(make_float4(v.x * scale, v.y * scale, v.z * scale, v.w * scale));
    }
    if (t == 0)
        scales[row] = 1.f / scale;
}
