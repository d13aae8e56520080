// SPDX-License-Identifier: Apache-2.0 OR MIT
// corpus: arch=sm_80 also=O1.sm_80,O3.sm_75,O3.sm_120
// Element-wise addition: the smallest useful kernel, then the same work with 16-byte accesses.

extern "C" __global__ void vector_add(const float *a, const float *b, float *c, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        c[i] = a[i] + b[i];
}

extern "C" __global__ void vector_add_restrict(const float *__restrict__ a, const float *__restrict__ b,
                                               float *__restrict__ c, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        c[i] = a[i] + b[i];
}

extern "C" __global__ void vector_add_float4(const float4 *a, const float4 *b, float4 *c, int quads)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= quads)
        return;
    float4 x = a[i], y = b[i];
    c[i] = make_float4(x.x + y.x, x.y + y.y, x.z + y.z, x.w + y.w);
}

extern "C" __global__ void vector_add_bytes(const signed char *a, const unsigned char *b, short *c, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        c[i] = a[i] + b[i];
}
