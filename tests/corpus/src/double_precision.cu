// SPDX-License-Identifier: Apache-2.0 OR MIT
// corpus: arch=sm_80 also=fast.sm_80
// Double precision: all rounding modes, conversions with every integer type, the double math library.

extern "C" __global__ void rounding_modes(const double *a, const double *b, double *out, float *narrow)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    double x = a[i], y = b[i];
    out[i] = __dadd_rn(x, y) + __dadd_ru(x, y) - __dmul_rd(x, y) + __dmul_rz(x, y) + __fma_ru(x, y, 1.0) + __ddiv_rn(x, y) + __dsqrt_rd(fabs(x)) +
             __drcp_rz(y);
    narrow[i] = __fadd_rd((float)x, (float)y) + __fmul_ru((float)x, 3.f) + __fmaf_rz((float)x, (float)y, 1.f) + __double2float_ru(x);
}

extern "C" __global__ void conversions(const double *in, long long *s64, unsigned long long *u64, int *s32, unsigned *u32, short *s16, float *f32, double *back)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    double d = in[i];
    s64[i] = __double2ll_rd(d);
    u64[i] = __double2ull_ru(d) + (unsigned long long)(float)d;
    s32[i] = __double2int_rn(d) ^ __float2int_ru((float)d);
    u32[i] = __double2uint_rz(d) ^ __float2uint_rd((float)d);
    s16[i] = (short)(int)d;
    f32[i] = __ll2float_rz(s64[i]) + __uint2float_ru(u32[i]) + __int2float_rd(s32[i]);
    back[i] = __ll2double_rd(s64[i]) + __uint2double_rn(u32[i]) + __hiloint2double(__double2hiint(d), __double2loint(d) & ~15) + __longlong_as_double(u64[i] & 0x3fffffffffffffffll);
}

extern "C" __global__ void double_library(const double *in, double *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    double x = in[i];
    out[i] = sin(x) + exp(x * 0.1) + log(fabs(x) + 1.0) + pow(fabs(x), 0.3) + atan(x) + erf(x) + cbrt(x) + rsqrt(fabs(x) + 1.0) + fmod(x, 0.37);
}

extern "C" __global__ void jacobi(const double *a, const double *b, const double *x, double *next, int n)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= n)
        return;
    double sum = b[row];
    for (int j = 0; j < n; ++j)
        if (j != row)
            sum -= a[row * n + j] * x[j];
    next[row] = sum / a[row * n + row];
}
