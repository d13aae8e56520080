// SPDX-License-Identifier: Apache-2.0 OR MIT
// corpus: arch=sm_80 also=O3.sm_89,O3.sm_120,fast.sm_80
// Option pricing in float and double, and a kernel that calls most of the math library.

__device__ float normal_cdf(float d)
{
    const float a1 = 0.31938153f, a2 = -0.356563782f, a3 = 1.781477937f, a4 = -1.821255978f, a5 = 1.330274429f;
    float k = 1.f / (1.f + 0.2316419f * fabsf(d));
    float c = 0.39894228f * __expf(-0.5f * d * d) * (k * (a1 + k * (a2 + k * (a3 + k * (a4 + k * a5)))));
    return d > 0 ? 1.f - c : c;
}

extern "C" __global__ void black_scholes(float *call, float *put, const float *price, const float *strike, const float *years, float rate, float volatility, int n)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) {
        float s = price[i], x = strike[i], t = years[i];
        float root = sqrtf(t);
        float d1 = (__logf(s / x) + (rate + 0.5f * volatility * volatility) * t) / (volatility * root);
        float d2 = d1 - volatility * root;
        float n1 = normal_cdf(d1), n2 = normal_cdf(d2), discount = __expf(-rate * t);
        call[i] = s * n1 - x * discount * n2;
        put[i] = x * discount * (1.f - n2) - s * (1.f - n1);
    }
}

extern "C" __global__ void black_scholes_double(double *call, const double *price, const double *strike, double years, double rate, double volatility, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    double root = sqrt(years), d1 = (log(price[i] / strike[i]) + (rate + 0.5 * volatility * volatility) * years) / (volatility * root);
    call[i] = price[i] * normcdf(d1) - strike[i] * exp(-rate * years) * normcdf(d1 - volatility * root);
}

extern "C" __global__ void math_library(const float *in, float *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    float x = in[i], r = 0;
    r += sinf(x) + cosf(x) * tanf(x);
    r += asinf(fminf(1.f, fabsf(x))) + atan2f(x, 2.f);
    r += powf(fabsf(x) + 1.f, 1.5f) + cbrtf(x) + hypotf(x, 3.f);
    r += erff(x) + tgammaf(fabsf(x) * 0.1f + 1.f) + log1pf(fabsf(x)) + expm1f(x * 0.01f);
    r += sinhf(x * 0.1f) + tanhf(x) + exp10f(x * 0.01f);
    r += fmodf(x, 0.7f) + remainderf(x, 0.3f) + ldexpf(x, 2) + floorf(x) + rintf(x) + truncf(x);
    r += __fsqrt_rz(fabsf(x)) + __frcp_ru(x + 100.f) + __fdiv_rd(x, 3.f) + copysignf(1.f, x);
    int e;
    r += frexpf(x, &e) + e + (isnan(x) || isinf(x)) + j0f(x) + normcdff(x);
    out[i] = r;
}
