// SPDX-License-Identifier: Apache-2.0 OR MIT
// corpus: arch=sm_80 also=O1.sm_80
// Calls: noinline functions with every kind of argument, structures by value, recursion, variadic-like chains.

struct Vector { float x, y, z; };
struct __align__(16) Wide { double a; int b; char c[3]; long long d; };

__device__ __noinline__ float horner(float x, int n)
{
    float r = 0;
    while (n-- > 0) {
        r = r * x + n;
        if (r > 1e6f)
            break;
    }
    return r;
}

__device__ __noinline__ Vector cross(Vector a, Vector b)
{
    return {a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}

__device__ __noinline__ Wide mix(Wide w, bool negate, unsigned char scale, short s, unsigned long long q)
{
    w.a = negate ? -w.a : w.a * scale;
    w.b += s;
    w.c[1] ^= (char)q;
    w.d += (long long)q;
    return w;
}

__device__ __noinline__ void swap_through(int *a, int *b)
{
    int t = *a;
    *a = *b;
    *b = t;
}

__device__ __noinline__ unsigned fibonacci(unsigned n)
{
    return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}

__device__ unsigned ackermann_even(unsigned m, unsigned n);
__device__ __noinline__ unsigned ackermann_odd(unsigned m, unsigned n)
{
    if (m == 0)
        return n + 1;
    return n == 0 ? ackermann_even(m - 1, 1) : ackermann_even(m - 1, ackermann_odd(m, n - 1));
}
__device__ __noinline__ unsigned ackermann_even(unsigned m, unsigned n)
{
    return m == 0 ? n + 1 : ackermann_odd(m, n);
}

extern "C" __global__ void call_scalars(float *out, const float *in, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = horner(in[i], n) + horner(in[i] * 0.5f, n - 1);
}

extern "C" __global__ void call_structs(float *out, Vector v, Wide w)
{
    int i = threadIdx.x;
    Vector c = cross(v, {(float)i, 1.f, 2.f});
    Wide m = mix(w, i & 1, (unsigned char)i, (short)-i, 1ull << i);
    out[i] = c.x + c.y + c.z + (float)m.a + m.b + m.c[1] + (float)m.d;
}

extern "C" __global__ void call_pointers(int *data)
{
    int local[2] = {(int)threadIdx.x, 5};
    swap_through(&local[0], &local[1]);
    swap_through(&data[threadIdx.x], &local[0]);
    data[threadIdx.x] += local[0] * 100 + local[1];
}

extern "C" __global__ void call_recursive(unsigned *out)
{
    int i = threadIdx.x;
    out[i] = fibonacci(i % 10) * 1000 + ackermann_odd(i & 1, i % 5);
}
