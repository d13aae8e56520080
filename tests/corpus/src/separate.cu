// SPDX-License-Identifier: Apache-2.0 OR MIT
// corpus: arch=sm_80 flags=-rdc=true suffix=rdc
// Separate compilation: functions and variables that another module defines, weak and internal ones beside them.

extern __device__ int shared_counter;
extern __constant__ float shared_filter[16];
extern __device__ float outside(float x, int n);
extern "C" __device__ void outside_pointer(const int *in, int *out);
__device__ int exported_table[4] = {1, 2, 3, 4};
static __device__ int internal_table[4] = {5, 6, 7, 8};
__device__ __attribute__((weak)) int replaceable(int x) { return x + 1; }

extern "C" __device__ int exported(int x) { return exported_table[x & 3] + internal_table[(x + 1) & 3]; }

__device__ float recurse_outside(float x, int n) { return n <= 0 ? x : recurse_outside(outside(x, n), n - 1); }

extern "C" __global__ void uses_other_module(float *out, int *words)
{
    int i = threadIdx.x;
    out[i] = outside(shared_filter[i & 15], i) + recurse_outside(out[i], 2);
    outside_pointer(words, words + 32);
    atomicAdd(&shared_counter, replaceable(exported(i)));
}
