// SPDX-License-Identifier: Apache-2.0 OR MIT
// corpus: arch=sm_80 also=O3.sm_89,O3.sm_120
// Packed half arithmetic, half comparisons and half math functions.

#include <cuda_fp16.h>

extern "C" __global__ void half2_axpy(int pairs, __half a, const __half2 *x, __half2 *y)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < pairs)
        y[i] = __hfma2(__half2half2(a), x[i], y[i]);
}

extern "C" __global__ void half2_mix(const __half2 *x, const __half2 *y, __half2 *z)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    __half2 a = x[i], b = y[i];
    __half2 r = __hmul2(__hadd2(a, b), __hsub2(a, b));
    r = __hmin2(r, __hmax2(a, __habs2(b)));
    r = __hfma2_relu(r, a, b);
    if (__hbgt2(a, b))
        r = __lowhigh2highlow(r);
    z[i] = __halves2half2(__hadd_sat(__low2half(r), __high2half(a)), __hneg(__high2half(r)));
}

extern "C" __global__ void half_functions(const __half *in, __half *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    __half h = in[i];
    __half r = hexp2(h) + hsqrt(__habs(h)) + htanh(h) + hrcp(h + __float2half(4.f));
    r = r + hfloor(h) + hrint(h);
    out[i] = __hisnan(r) ? __float2half(0.f) : r;
}
