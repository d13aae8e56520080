// SPDX-License-Identifier: Apache-2.0 OR MIT
// corpus: arch=sm_80
// System calls of the device: printf (vprintf), assert (__assertfail), malloc and free, trap and breakpoint.

#include <assert.h>
#include <stdio.h>

extern "C" __global__ void say(const float *in, int n)
{
    int i = threadIdx.x;
    if (i < n)
        printf("thread %d of %u: %f %s %lld\n", i, blockDim.x, in[i], "text", (long long)i << 40);
}

extern "C" __global__ void check(const int *in, int limit)
{
    int v = in[threadIdx.x];
    assert(v < limit && "value out of range");
    if (v == -1)
        __trap();
    if (v == -2)
        __brkpt();
}

extern "C" __global__ void allocate(int **out, int n)
{
    int *p = (int *)malloc(n * sizeof(int));
    if (p)
        for (int i = 0; i < n; ++i)
            p[i] = i;
    if (threadIdx.x & 1)
        free(p), p = nullptr;
    out[threadIdx.x] = p;
}

struct Item { int a; virtual __device__ int get() { return a; } __device__ virtual ~Item() {} };
extern "C" __global__ void construct(int *out)
{
    Item *item = new Item[2];
    item[1].a = threadIdx.x;
    out[threadIdx.x] = item[1].get();
    delete[] item;
}
