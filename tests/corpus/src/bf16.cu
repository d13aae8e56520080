// SPDX-License-Identifier: Apache-2.0 OR MIT
// corpus: arch=sm_80 also=O3.sm_89,O3.sm_120
// bfloat16 and half conversions, packed and scalar arithmetic.

#include <cuda_bf16.h>
#include <cuda_fp16.h>

extern "C" __global__ void bf16_axpy(int n, float a, const __nv_bfloat16 *x, __nv_bfloat16 *y)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = __float2bfloat16(a * __bfloat162float(x[i]) + __bfloat162float(y[i]));
}

extern "C" __global__ void bf16_packed(const __nv_bfloat162 *x, const __nv_bfloat162 *y, __nv_bfloat162 *z, int pairs)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < pairs) {
        __nv_bfloat162 s = __hfma2(x[i], y[i], __float2bfloat162_rn(0.25f));
        z[i] = __hmax2(s, __hneg2(x[i]));
    }
}

extern "C" __global__ void narrow_conversions(const float *in, __half *h, __nv_bfloat16 *b, short *s, unsigned char *u, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    float v = in[i];
    h[i] = __float2half_rz(v);
    b[i] = __float2bfloat16_rz(v);
    s[i] = __half2short_rn(__float2half_ru(v));
    u[i] = (unsigned char)__float2uint_rz(__saturatef(v * 0.01f) * 255.f);
}
