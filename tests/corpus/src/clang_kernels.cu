// SPDX-License-Identifier: Apache-2.0 OR MIT
// corpus: compiler=clang arch=sm_80
// Kernels compiled by clang's own CUDA front end and LLVM's NVPTX back end, whose PTX differs in style from nvcc's.

#include "clang_stub.h"

__constant__ float coefficients[8] = {1, 2, 3, 4, 5, 6, 7, 8};
__device__ int counter = 7;
__device__ const char message[] = "oriole\n";
__device__ int *pointer_to_counter = &counter;

struct Quad { float x, y, z, w; };

extern "C" __global__ void saxpy(int n, float a, const float *__restrict__ x, float *__restrict__ y)
{
    int i = BLOCK * THREADS + TID;
    if (i < n)
        y[i] = a * x[i] + y[i];
}

extern "C" __global__ void tiled_product(int n, const float *a, const float *b, float *c)
{
    __shared__ float as[16][16], bs[16][17];
    int row = BLOCK_Y * 16 + TID_Y, col = BLOCK * 16 + TID;
    float sum = 0;
    for (int k = 0; k < n; k += 16) {
        as[TID_Y][TID] = a[row * n + k + TID];
        bs[TID_Y][TID] = b[(k + TID_Y) * n + col];
        sync_block();
        for (int j = 0; j < 16; ++j)
            sum += as[TID_Y][j] * bs[j][TID];
        sync_block();
    }
    c[row * n + col] = sum;
}

__device__ __noinline__ float horner(float x, int n)
{
    float r = 0;
    while (n-- > 0)
        r = r * x + coefficients[n & 7];
    return r;
}

__device__ __noinline__ Quad scale(Quad q, double d, long long s, char c, bool negate)
{
    q.x *= d;
    q.y += s;
    q.z = negate ? -q.z : q.z + c;
    return q;
}

extern "C" __global__ void calls(float *out, int n, Quad q)
{
    int i = BLOCK * THREADS + TID;
    Quad r = scale(q, 1.5, n, 3, n & 1);
    out[i] = horner(out[i], n & 15) + r.x + r.y + r.z + r.w;
    *pointer_to_counter = n;
}

typedef int (*Operation)(int, int);
__device__ __noinline__ int plus(int a, int b) { return a + b; }
__device__ __noinline__ int times(int a, int b) { return a * b; }
__device__ Operation operations[2] = {plus, times};

extern "C" __global__ void indirect(int *data, int which)
{
    data[TID] = operations[which & 1](data[TID], 3) + (which > 5 ? plus : times)(TID, 5);
}

extern "C" __global__ void choose(int *data, int k)
{
    int v = data[TID];
    switch (k) {
    case 0: v += 1; break;
    case 1: v *= 3; break;
    case 2: v ^= 7; break;
    case 3: v -= 9; break;
    case 4: v <<= 2; break;
    case 5: v = ~v; break;
    case 6: v /= k + 2; break;
    default: v %= k; break;
    }
    data[TID] = v;
}

extern "C" __global__ void local_table(float *out, int n)
{
    float t[32];
    for (int i = 0; i < 32; ++i)
        t[i] = out[i] * i;
    float s = 0;
    for (int i = 0; i < n; ++i)
        s += t[(i * 7) & 31];
    out[TID] = s;
}

extern "C" __global__ void warp_sum(const int *in, int *out)
{
    int v = in[BLOCK * THREADS + TID];
    for (int d = 16; d; d >>= 1)
        v += __nvvm_shfl_sync_bfly_i32(~0u, v, d, 31);
    if ((TID & 31) == 0)
        __nvvm_atom_add_gen_i(out, v);
}

extern "C" __global__ void __launch_bounds__(256, 2) scoped(unsigned *out)
{
    asm volatile("{ .reg .pred p; .reg .b32 t; setp.ne.b32 p, %0, 0; selp.b32 t, 3, 4, p; @p st.global.b32 [%1], t; }" ::"r"(TID), "l"(out + TID) : "memory");
}

extern "C" __global__ void widths(double *d, const long long *q, short *h, signed char *c, unsigned long long *u)
{
    d[TID] = (double)q[TID] / (d[TID] + 1.0);
    h[TID] = (short)(h[TID] * 3);
    c[TID] += h[TID];
    u[TID] = u[TID] % 1000003ull + (unsigned long long)(__int128)((__int128)q[TID] * q[TID] >> 64);
}

template <int N> __device__ int unrolled(const int *p)
{
    int s = 0;
#pragma unroll
    for (int i = 0; i < N; ++i)
        s = s * 31 + p[i];
    return s;
}
template <typename T, int N> __global__ void templated(const T *in, T *out) { out[TID] = unrolled<N>(in + TID); }
template __global__ void templated<int, 5>(const int *, int *);
