// SPDX-License-Identifier: Apache-2.0 OR MIT
// corpus: arch=sm_80
// Counter-based random numbers: Philox 4x32-10, then Box-Muller; a xorshift and a 64-bit LCG beside it.

__device__ __forceinline__ uint4 philox(uint4 counter, uint2 key)
{
#pragma unroll
    for (int round = 0; round < 10; ++round) {
        unsigned h0 = __umulhi(0xD2511F53u, counter.x), l0 = 0xD2511F53u * counter.x;
        unsigned h1 = __umulhi(0xCD9E8D57u, counter.z), l1 = 0xCD9E8D57u * counter.z;
        counter = make_uint4(h1 ^ counter.y ^ key.x, l1, h0 ^ counter.w ^ key.y, l0);
        key.x += 0x9E3779B9u;
        key.y += 0xBB67AE85u;
    }
    return counter;
}

extern "C" __global__ void philox_uint4(uint4 *out, unsigned seed, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] = philox(make_uint4(i, 0, 0, 0), make_uint2(seed, 0x1234567u));
}

extern "C" __global__ void philox_normal(float4 *out, unsigned long long seed, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    uint4 r = philox(make_uint4(i, i >> 16, 7, 0), make_uint2((unsigned)seed, (unsigned)(seed >> 32)));
    float s, c, radius = sqrtf(-2.f * logf(((r.x >> 8) + 1) * 5.9604645e-8f));
    sincospif(2.f * r.y * 2.3283064e-10f, &s, &c);
    float radius2 = sqrtf(-2.f * logf(((r.z >> 8) + 1) * 5.9604645e-8f)), s2, c2;
    sincospif(2.f * r.w * 2.3283064e-10f, &s2, &c2);
    out[i] = make_float4(radius * s, radius * c, radius2 * s2, radius2 * c2);
}

extern "C" __global__ void xorshift_lcg(unsigned *state, unsigned long long *lcg, int rounds)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned x = state[i] | 1;
    unsigned long long y = lcg[i];
    for (int k = 0; k < rounds; ++k) {
        x ^= x << 13;
        x ^= x >> 17;
        x ^= x << 5;
        y = y * 6364136223846793005ull + 1442695040888963407ull;
    }
    state[i] = x;
    lcg[i] = y;
}
